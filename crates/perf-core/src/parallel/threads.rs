//! [`Threads`] and [`Pool`]: configurable numbers of threads; [`Workspaces`]: reusable buffers for tasks.

use super::try_map;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Number of threads for a piece of work.
#[derive(Clone, Copy, Debug)]
pub struct Threads(usize);

impl Threads {
    /// Selects `count` threads, or one for each core if `count` is 0. Without the feature
    /// `parallel` there is one thread.
    pub fn new(count: usize) -> Self {
        if cfg!(feature = "parallel") {
            Threads(count)
        } else {
            Threads(1)
        }
    }

    /// Returns the number of threads, at least 1.
    pub fn count(self) -> usize {
        match self.0 {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            some => some,
        }
    }

    /// Returns a pool, for work in many steps. The threads exist until the pool is dropped.
    pub fn pool(self) -> Pool {
        Pool::new(self.0)
    }

    /// Runs `work` in a context whose parallel loops use these threads.
    ///
    /// ```
    /// use perf_core::parallel::{Threads, current_threads};
    /// assert_eq!(Threads::new(1).install(current_threads), 1);
    /// ```
    pub fn install<R: Send>(self, work: impl FnOnce() -> R + Send) -> R {
        self.pool().install(work)
    }

    /// Returns the results of `work` for each item, in the order of the items. The work runs on the
    /// calling thread if there is one thread, otherwise as in [`try_map`].
    ///
    /// # Errors
    /// Returns the error of the first item that fails.
    pub fn try_map<T: Sync, R: Send, E: Send>(
        self,
        items: &[T],
        work: impl Fn(&T) -> Result<R, E> + Sync,
    ) -> Result<Vec<R>, E> {
        match self.0 {
            1 => items.iter().map(work).collect(),
            _ => try_map(items.len(), |number| work(&items[number])),
        }
    }
}

/// Pool of threads, see [`Threads::pool`].
#[derive(Debug)]
pub struct Pool(#[cfg(feature = "parallel")] Option<rayon::ThreadPool>);

impl Pool {
    /// Starts `count` threads. For 0, and if the system cannot create threads, the current pool is used. The current
    /// pool is also used if it has `count` threads.
    #[cfg(feature = "parallel")]
    fn new(count: usize) -> Self {
        let build = || rayon::ThreadPoolBuilder::new().num_threads(count).build();
        let is_other = count > 0 && count != super::current_threads();
        Pool(is_other.then(build).and_then(Result::ok))
    }

    /// Uses the calling thread.
    #[cfg(not(feature = "parallel"))]
    fn new(_: usize) -> Self {
        Pool()
    }

    /// Runs `work` in a context whose parallel loops use these threads.
    pub fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        #[cfg(feature = "parallel")]
        if let Some(pool) = &self.0 {
            return pool.install(work);
        }
        work()
    }
}

/// Pool of workspaces that tasks borrow. It contains as many workspaces as were ever in use at the
/// same time.
#[derive(Debug)]
pub struct Workspaces<S>(Mutex<Vec<S>>);

impl<S> Workspaces<S> {
    /// Creates an empty pool.
    pub fn new() -> Self {
        Self::of(Vec::new())
    }

    /// Creates a pool of existing workspaces.
    pub fn of(spaces: Vec<S>) -> Self {
        Workspaces(Mutex::new(spaces))
    }

    /// Runs `work` with a workspace; `new` creates one if all are in use.
    pub fn with<R>(&self, new: impl FnOnce() -> S, work: impl FnOnce(&mut S) -> R) -> R {
        let space = self.lock().pop();
        let mut space = space.unwrap_or_else(new);
        let result = work(&mut space);
        self.lock().push(space);
        result
    }

    fn lock(&self) -> MutexGuard<'_, Vec<S>> {
        // A workspace has no state between tasks, so a poisoned lock is harmless.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S> Default for Workspaces<S> {
    fn default() -> Self {
        Self::new()
    }
}
