//! [`BackgroundChecks`]: background thread of `cargo xtask ci`, which installs tools, checks features
//! and builds the fuzzers while other steps run.
//!
//! This work needs no result of another step. The other steps leave a processor idle while the last crates of a build are
//! compiled, the last tests of a program run, or a browser waits. The thread needs only one processor, because each of its
//! builds is a chain of few crates.

use super::features::combinations;
use super::{CARGO_DENY, Gate, install};
use crate::api::CARGO_PUBLIC_API;
use crate::fuzz::CARGO_FUZZ;
use crate::{Outcome, is_installed};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Thread that installs tools, checks the features of each crate and then builds the fuzzers. Its builds have target
/// folders of their own, since cargo locks the folder that it builds in.
#[derive(Default)]
pub(super) struct BackgroundChecks {
    /// Ends the thread after its current build.
    stop: Arc<AtomicBool>,
    /// Result of the step `features`; `None` if the thread was not started, or its result was taken.
    thread: Option<JoinHandle<Outcome>>,
}

impl BackgroundChecks {
    /// Starts the thread if the step `features` is run together with the step `test`.
    pub(super) fn start(gate: &Gate) -> Self {
        let mut background = Self::default();
        if !gate.is_chosen("test") || !gate.is_chosen("features") {
            return background;
        }
        let tools = [
            ("licences", "cargo-deny", CARGO_DENY),
            ("api", "cargo-public-api", CARGO_PUBLIC_API),
            ("fuzz", "cargo-fuzz", CARGO_FUZZ),
        ];
        let tools = tools.into_iter().filter(|(step, ..)| gate.is_chosen(step));
        let tools: Vec<_> = tools.collect();
        let packages = gate.packages();
        let is_fuzzed = gate.is_chosen("fuzz") && is_installed("c++");
        let stop = Arc::clone(&background.stop);
        background.thread = Some(std::thread::spawn(move || {
            for (_, program, version) in tools {
                if stop.load(Ordering::Relaxed) {
                    return Ok(());
                }
                // A step that needs the program tries again, and reports its own error.
                let _ = install(program, version);
            }
            combinations(&packages, &stop)?;
            if is_fuzzed && !stop.load(Ordering::Relaxed) {
                // The step `fuzz` builds again, and reports its own error.
                let _ = crate::fuzz::build();
            }
            Ok(())
        }));
        background
    }

    /// Stops the thread, and waits for the end of its current build.
    pub(super) fn stop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // The gate has stopped at an earlier failure, which it reports.
            let _ = thread.join();
        }
    }
}

/// Step `features`: waits for the thread, or checks the features now if there is none.
pub(super) fn features(gate: &mut Gate) -> Outcome {
    match gate.background.thread.take() {
        Some(thread) => thread.join().map_err(|_| "its thread ended")?,
        None => combinations(&gate.packages(), &AtomicBool::new(false)),
    }
}
