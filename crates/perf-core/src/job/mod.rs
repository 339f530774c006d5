//! [`Job`]: handle through which long work reports its progress and makes cancellation checks,
//! which fail with [`Cancelled`].

mod checks;
mod progress;
mod sort;
mod watched;

pub use checks::CancellationChecks;
pub use progress::Progress;
pub use watched::Watched;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Handle of long work: receives its progress, and carries its cancellation flag.
///
/// Every function that may take long has a `&Job` as its last argument. It reports its progress
/// through the job, and returns an error soon after the job is cancelled. [`Job::default`] reports
/// no progress and is cancelled only by [`cancel`](Self::cancel).
///
/// Clones share the cancellation flag and the receiver of progress, so that one thread can stop the
/// work of another thread.
///
/// Work checks for cancellation every [2^16 small units](CancellationChecks), such as events or numbers, or every few
/// milliseconds. It aims to return within 100 ms; `docs/cost.md` lists the exceptions.
///
/// ```
/// use perf_core::{Definitions, Error, Job, Trace, match_messages};
/// let trace = Trace::new(Definitions::default(), vec![])?;
/// let job = Job::default();
/// assert!(match_messages(trace.view(), &job).is_ok());
/// // Another thread may hold the clone.
/// job.clone().cancel();
/// assert!(matches!(match_messages(trace.view(), &job), Err(Error::Cancelled(_))));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Job {
    /// Cancellation flag, shared by clones.
    flag: Arc<Flag>,
    /// Receiver of progress.
    progress: Option<Arc<dyn Progress>>,
}

#[derive(Debug, Default)]
struct Flag {
    /// `true` once the job was cancelled.
    is_cancelled: AtomicBool,
    /// Counter of checks, for tests.
    counter: Option<Counter>,
}

/// Counts cancellation checks, and cancels after a number of them.
#[derive(Debug)]
struct Counter {
    /// Number of checks made.
    made: AtomicU64,
    /// Number of checks that succeed.
    allowed: u64,
}

/// The job was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cancelled")]
pub struct Cancelled;

impl Job {
    /// Creates a job that reports no progress and is not cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a job that reports its progress to `progress`.
    ///
    /// Pass a clone of an [`Arc`] to keep access to the receiver.
    pub fn with_progress(progress: impl Progress + 'static) -> Self {
        Job::default().reporting_to(progress)
    }

    /// Creates a job that cancels itself after `checks` successful cancellation checks.
    ///
    /// It is meant for tests that stop work at a defined place, independent of the speed of the
    /// machine. With `u64::MAX` the job only counts checks.
    ///
    /// ```
    /// use perf_core::Job;
    /// let job = Job::stopping_after(2);
    /// assert!(job.check().is_ok() && job.check().is_ok() && job.check().is_err());
    /// assert_eq!(job.checks_made(), Some(3));
    /// ```
    pub fn stopping_after(checks: u64) -> Self {
        let counter = Some(Counter {
            made: AtomicU64::new(0),
            allowed: checks,
        });
        Job {
            flag: Arc::new(Flag {
                is_cancelled: AtomicBool::default(),
                counter,
            }),
            progress: None,
        }
    }

    /// Returns the number of cancellation checks made so far if the job was created by
    /// [`stopping_after`](Self::stopping_after), and `None` otherwise.
    pub fn checks_made(&self) -> Option<u64> {
        let counter = self.flag.counter.as_ref();
        counter.map(|counter| counter.made.load(Ordering::Relaxed))
    }

    /// Returns a job that shares the cancellation flag of this job but reports no progress.
    ///
    /// Use it for a part of larger work if the whole work reports the progress.
    ///
    /// ```
    /// use perf_core::Job;
    /// let whole = Job::default();
    /// let part = whole.without_progress();
    /// whole.cancel();
    /// assert!(part.is_cancelled());
    /// ```
    pub fn without_progress(&self) -> Self {
        Job {
            flag: Arc::clone(&self.flag),
            progress: None,
        }
    }

    /// Returns a job that shares the cancellation flag of this job and reports its progress to
    /// `progress`.
    pub fn reporting_to(&self, progress: impl Progress + 'static) -> Self {
        Job {
            flag: Arc::clone(&self.flag),
            progress: Some(Arc::new(progress)),
        }
    }

    /// Reports that `amount` more units of `phase` are done. `total` is the number of units of the
    /// phase, or 0 if it is unknown.
    pub fn advance(&self, phase: &'static str, amount: u64, total: u64) {
        if let Some(progress) = &self.progress {
            progress.advance(phase, amount, total);
        }
    }

    /// Stops all work that has this job or a clone of it.
    pub fn cancel(&self) {
        self.flag.is_cancelled.store(true, Ordering::Relaxed);
    }

    /// Returns `true` if the job was [cancelled](Self::cancel).
    pub fn is_cancelled(&self) -> bool {
        if let Some(counter) = &self.flag.counter
            && counter.made.fetch_add(1, Ordering::Relaxed) >= counter.allowed
        {
            self.cancel();
        }
        self.flag.is_cancelled.load(Ordering::Relaxed)
    }

    /// Makes a cancellation check.
    ///
    /// # Errors
    ///
    /// Returns [`Cancelled`] if the job was [cancelled](Self::cancel).
    pub fn check(&self) -> Result<(), Cancelled> {
        if self.is_cancelled() {
            Err(Cancelled)
        } else {
            Ok(())
        }
    }

    /// Returns a counter that makes a cancellation check every 2^16 small units of work.
    pub fn checks(&self) -> CancellationChecks<'_> {
        CancellationChecks::new(self)
    }
}

impl fmt::Debug for Job {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Job")
            .field("flag", &self.flag)
            .field("reports", &self.progress.is_some())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Sum(AtomicU64);

    impl Progress for Sum {
        fn advance(&self, phase: &'static str, amount: u64, total: u64) {
            assert_eq!((phase, total), ("read", 7));
            self.0.fetch_add(amount, Ordering::Relaxed);
        }
    }

    #[test]
    fn clones_share_flag_and_progress() {
        let sum = Arc::new(Sum::default());
        let job = Job::with_progress(Arc::clone(&sum));
        let (clone, silent) = (job.clone(), job.without_progress());
        job.advance("read", 3, 7);
        clone.advance("read", 4, 7);
        silent.advance("other", 9, 9);
        assert_eq!(sum.0.load(Ordering::Relaxed), 7);
        assert!(job.check().is_ok());
        silent.cancel();
        assert!(job.is_cancelled() && clone.is_cancelled());
        assert_eq!(clone.check(), Err(Cancelled));
        assert!(!Job::new().is_cancelled(), "jobs are independent");
    }

    #[test]
    fn only_counting_jobs_count() {
        let job = Job::stopping_after(1);
        assert_eq!(job.checks_made(), Some(0));
        assert!(!job.is_cancelled());
        // Parts without progress count too.
        assert!(job.without_progress().is_cancelled());
        assert_eq!(job.clone().checks_made(), Some(2));
        assert!(Job::default().check().is_ok());
        assert_eq!(Job::default().checks_made(), None);
    }

    #[test]
    fn jobs_cross_threads() {
        fn is_shared<T: Send + Sync + 'static>(_: &T) {}
        let job = Job::default();
        is_shared(&job);
        let other = job.clone();
        std::thread::spawn(move || other.cancel()).join().unwrap();
        assert!(job.is_cancelled());
    }
}
