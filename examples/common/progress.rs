//! A progress bar on a terminal, nothing in a pipe.

use indicatif::{ProgressBar, ProgressStyle};
use perfkit::core::{Job, Progress};
use std::sync::Mutex;

/// Shows the phase that reported last. On standard error, and only on a terminal.
#[derive(Debug, Default)]
pub struct Bar(Mutex<Option<(&'static str, ProgressBar)>>);

impl Bar {
    /// Returns a job whose progress is shown by a bar that appears with the first report.
    pub fn job() -> Job {
        Job::with_progress(Self::default())
    }

    fn style() -> ProgressStyle {
        let style = ProgressStyle::with_template("{msg:<16} {wide_bar} {percent:>3} %");
        style.unwrap_or_else(|_| ProgressStyle::default_bar())
    }
}

impl Progress for Bar {
    fn advance(&self, phase: &'static str, amount: u64, total: u64) {
        let Ok(mut current) = self.0.lock() else {
            return;
        };
        match current.as_mut() {
            Some((name, bar)) if *name == phase => bar.inc(amount),
            _ => {
                if let Some((_, done)) = current.take() {
                    done.finish_and_clear();
                }
                let bar = ProgressBar::new(total).with_style(Self::style());
                bar.set_message(phase);
                bar.inc(amount);
                *current = Some((phase, bar));
            }
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Ok(Some((_, bar))) = self.0.get_mut().map(Option::take) {
            bar.finish_and_clear();
        }
    }
}
