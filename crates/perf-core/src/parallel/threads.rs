//! [`Threads`] and [`Pool`], for work that has a number of threads of its own, and [`Workspaces`].

use super::try_map;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Number of threads that work is given.
#[derive(Clone, Copy, Debug)]
pub struct Threads(usize);

impl Threads {
    /// Creates a number of `count` threads, or of as many as there are cores if it is 0. Without the feature `parallel`
    /// it is 1.
    pub fn new(count: usize) -> Self {
        match cfg!(feature = "parallel") {
            true => Threads(count),
            false => Threads(1),
        }
    }

    /// Returns the number of threads, at least 1.
    pub fn count(self) -> usize {
        match self.0 {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            some => some,
        }
    }

    /// Returns threads that stay until they are dropped, for work in many steps.
    pub fn pool(self) -> Pool {
        Pool::new(self.0)
    }

    /// Runs `work`, whose loops then use these threads.
    pub fn install<R: Send>(self, work: impl FnOnce() -> R + Send) -> R {
        self.pool().install(work)
    }

    /// Returns the results of `work` for each item, in order: on the calling thread if there is one thread, and as
    /// [`try_map`] otherwise.
    ///
    /// # Errors
    /// Returns the error of the first item that has one.
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

/// Threads that stay, see [`Threads::pool`].
#[derive(Debug)]
pub struct Pool(#[cfg(feature = "parallel")] Option<rayon::ThreadPool>);

impl Pool {
    /// Starts `count` threads. For 0 and 1, and if the system grants none, the current pool is used.
    #[cfg(feature = "parallel")]
    fn new(count: usize) -> Self {
        let build = || rayon::ThreadPoolBuilder::new().num_threads(count).build();
        Pool((count > 1).then(build).and_then(Result::ok))
    }

    /// Uses the calling thread.
    #[cfg(not(feature = "parallel"))]
    fn new(_: usize) -> Self {
        Pool()
    }

    /// Runs `work`, whose loops then use these threads.
    pub fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        #[cfg(feature = "parallel")]
        if let Some(pool) = &self.0 {
            return pool.install(work);
        }
        work()
    }
}

/// Workspaces that tasks take and give back: as many as ever ran at once.
#[derive(Debug)]
pub struct Workspaces<S>(Mutex<Vec<S>>);

impl<S> Workspaces<S> {
    /// Creates an empty list.
    pub fn new() -> Self {
        Self::of(Vec::new())
    }

    /// Creates a list of workspaces that are ready.
    pub fn of(spaces: Vec<S>) -> Self {
        Workspaces(Mutex::new(spaces))
    }

    /// Runs `work` with a workspace, which `new` makes if all are in use.
    pub fn with<R>(&self, new: impl FnOnce() -> S, work: impl FnOnce(&mut S) -> R) -> R {
        let space = self.lock().pop();
        let mut space = space.unwrap_or_else(new);
        let result = work(&mut space);
        self.lock().push(space);
        result
    }

    fn lock(&self) -> MutexGuard<'_, Vec<S>> {
        // A workspace holds no state between tasks.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S> Default for Workspaces<S> {
    fn default() -> Self {
        Self::new()
    }
}
