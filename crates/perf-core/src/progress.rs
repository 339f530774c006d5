//! [`Progress`] and [`CancelToken`]: long work reports and stops.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Where long work reports how far it is. Called from any thread, in no particular order.
///
/// `()` is the progress that nobody watches.
pub trait Progress: Sync {
    /// `amount` more units of `phase` are done, of `total` in all (0 where nobody knows).
    /// The unit is the phase's own: bytes for readers, rows for folds.
    fn advance(&self, phase: &'static str, amount: u64, total: u64);
}

impl Progress for () {
    fn advance(&self, _phase: &'static str, _amount: u64, _total: u64) {}
}

/// Tells long work to stop. Clones share one flag.
///
/// ```
/// use perf_core::CancelToken;
/// let token = CancelToken::new();
/// assert!(token.check().is_ok());
/// token.clone().cancel();
/// assert!(token.check().is_err());
/// ```
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<AtomicBool>);

/// The work was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cancelled")]
pub struct Cancelled;

impl CancelToken {
    /// A token nobody has cancelled yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks all work that holds a clone of this token to stop.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether [`cancel`](Self::cancel) was called.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// For `?` in loops.
    ///
    /// # Errors
    /// [`Cancelled`] once [`cancel`](Self::cancel) was called.
    pub fn check(&self) -> Result<(), Cancelled> {
        if self.is_cancelled() {
            Err(Cancelled)
        } else {
            Ok(())
        }
    }
}
