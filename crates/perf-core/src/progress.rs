//! [`Progress`] and [`CancelToken`]: long work reports and stops.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Where long work reports how far it is. Called from any thread, in no particular order.
///
/// `()` is the progress that nobody watches.
///
/// ```
/// use perf_core::{CancelToken, Definitions, Profile, Progress, Trace};
/// use std::sync::atomic::{AtomicU64, Ordering};
/// /// How much is done, in a thousandth of the phase.
/// #[derive(Default)]
/// struct Bar { done: AtomicU64, shown: AtomicU64 }
/// impl Progress for Bar {
///     fn advance(&self, _phase: &'static str, amount: u64, total: u64) {
///         let done = self.done.fetch_add(amount, Ordering::Relaxed) + amount;
///         self.shown.store(1000 * done / total.max(1), Ordering::Relaxed);
///     }
/// }
/// let bar = Bar::default();
/// let trace = Trace::new(Definitions::default(), vec![])?;
/// Profile::from_trace(trace.view(), &bar, &CancelToken::new())?;
/// // No location, no work.
/// assert_eq!(bar.shown.load(Ordering::Relaxed), 0);
/// bar.advance("reading", 512, 2048);
/// assert_eq!(bar.shown.load(Ordering::Relaxed), 250);
/// # Ok::<(), perf_core::Error>(())
/// ```
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
/// [`Looks`](crate::Looks) says when. Work looks at it every 2^16 events or numbers, or as many cells as a few milliseconds take: it aims to
/// return within 100 ms. What is known to be later is listed in `docs/cost.md`.
///
/// ```
/// use perf_core::CancelToken;
/// let token = CancelToken::new();
/// assert!(token.check().is_ok());
/// token.clone().cancel();
/// assert!(token.check().is_err());
/// ```
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<Flag>);

#[derive(Debug, Default)]
struct Flag {
    is_cancelled: AtomicBool,
    counted: Option<Counted>,
}

/// How often somebody looked, and how often that goes well.
#[derive(Debug)]
struct Counted {
    seen: AtomicU64,
    most: u64,
}

/// The work was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cancelled")]
pub struct Cancelled;

impl CancelToken {
    /// A token nobody has cancelled yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A token that counts how often work looks at it, and is cancelled by the look after `looks` of them:
    /// for tests of where work can be stopped, whatever the machine. `u64::MAX` only counts.
    ///
    /// ```
    /// use perf_core::CancelToken;
    /// let token = CancelToken::after(2);
    /// assert!(token.check().is_ok() && token.check().is_ok() && token.check().is_err());
    /// assert_eq!(token.looks(), Some(3));
    /// ```
    pub fn after(looks: u64) -> Self {
        CancelToken(Arc::new(Flag {
            is_cancelled: AtomicBool::default(),
            counted: Some(Counted {
                seen: AtomicU64::new(0),
                most: looks,
            }),
        }))
    }

    /// How often somebody looked at a token made by [`after`](Self::after); `None` for others.
    pub fn looks(&self) -> Option<u64> {
        let counted = self.0.counted.as_ref();
        counted.map(|looks| looks.seen.load(Ordering::Relaxed))
    }

    /// Asks all work that holds a clone of this token to stop.
    pub fn cancel(&self) {
        self.0.is_cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether [`cancel`](Self::cancel) was called.
    pub fn is_cancelled(&self) -> bool {
        if let Some(looks) = &self.0.counted
            && looks.seen.fetch_add(1, Ordering::Relaxed) >= looks.most
        {
            self.cancel();
        }
        self.0.is_cancelled.load(Ordering::Relaxed)
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
