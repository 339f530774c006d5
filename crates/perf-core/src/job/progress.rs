//! [`Progress`]: receiver of the progress reports of a job.

use std::sync::Arc;

/// Receiver of the progress of long work. The methods are called from any thread, in no particular
/// order.
///
/// An [`Arc`] of a receiver is a receiver too, so that the caller can keep access to it.
///
/// ```
/// use perf_core::{Job, Progress};
/// use std::sync::{Arc, atomic::{AtomicU64, Ordering}};
/// /// The work that is done, in thousandths of the phase.
/// #[derive(Default)]
/// struct Bar { done: AtomicU64, shown: AtomicU64 }
/// impl Progress for Bar {
///     fn advance(&self, _phase: &'static str, amount: u64, total: u64) {
///         let done = self.done.fetch_add(amount, Ordering::Relaxed) + amount;
///         self.shown.store(1000 * done / total.max(1), Ordering::Relaxed);
///     }
/// }
/// let bar = Arc::new(Bar::default());
/// let job = Job::with_progress(Arc::clone(&bar));
/// job.advance("reading", 512, 2048);
/// assert_eq!(bar.shown.load(Ordering::Relaxed), 250);
/// ```
pub trait Progress: Send + Sync {
    /// Receives that `amount` more units of `phase` are done. `total` is the number of units of the
    /// phase, or 0 if it is unknown.
    ///
    /// The unit depends on the phase: bytes for readers, rows for folds.
    fn advance(&self, phase: &'static str, amount: u64, total: u64);
}

impl<P: Progress + ?Sized> Progress for Arc<P> {
    fn advance(&self, phase: &'static str, amount: u64, total: u64) {
        (**self).advance(phase, amount, total);
    }
}
