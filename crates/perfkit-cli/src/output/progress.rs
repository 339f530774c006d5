//! [`Bar`]: progress bar on a terminal, which prints nothing into a pipe.

use crate::messages::{self, Level};
use indicatif::{ProgressBar, ProgressStyle};
use perfkit::core::{Job, Progress};
use std::sync::Mutex;

/// Progress bar of the phase that reported last, on standard error if that is a terminal.
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
                finish(current.take());
                let bar = if messages::prints(Level::Usual) {
                    ProgressBar::new(total).with_style(Self::style())
                } else {
                    ProgressBar::hidden()
                };
                bar.set_message(phase);
                bar.inc(amount);
                *current = Some((phase, bar));
            }
        }
    }
}

/// Removes the bar of a phase; with `--verbose`, prints the duration of the phase.
fn finish(phase: Option<(&'static str, ProgressBar)>) {
    if let Some((name, bar)) = phase {
        messages::detail(&format!("{name}: {:.3} s", bar.elapsed().as_secs_f64()));
        bar.finish_and_clear();
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Ok(last) = self.0.get_mut() {
            finish(last.take());
        }
    }
}
