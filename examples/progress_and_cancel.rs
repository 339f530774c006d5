//! Shows the progress of an analysis and cancels it.

use perfkit::core::Progress;
use perfkit::formats::open;
use perfkit::prelude::{Job, OpenOptions};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// State of the progress bar, which the window draws 30 times a second.
#[derive(Default)]
struct Bar {
    done: AtomicU64,
    total: AtomicU64,
}

impl Progress for Bar {
    fn advance(&self, _phase: &'static str, amount: u64, total: u64) {
        self.done.fetch_add(amount, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let bar = Arc::new(Bar::default());
    let job = Job::with_progress(bar.clone());
    let read = || open("data/recordings/jacobi-64", &OpenOptions::new(), &job);
    let recording = std::thread::scope(|scope| {
        let work = scope.spawn(read);
        // The window continues here. A click on its button calls `job.cancel()`.
        work.join()
    });
    let recording = recording.map_err(|_| "the reader panicked")??;
    let (done, total) = (
        bar.done.load(Ordering::Relaxed),
        bar.total.load(Ordering::Relaxed),
    );
    println!("{:.0} % of the bytes", 100.0 * done as f64 / total as f64);
    println!(
        "{} events",
        recording.trace().map_or(0, |trace| trace.len())
    );

    job.cancel();
    match read() {
        Ok(_) => println!("it was read again"),
        Err(error) => println!("{error}"),
    }
    Ok(())
}
