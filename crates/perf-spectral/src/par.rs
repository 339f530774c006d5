//! Parallel loops, and their serial twins. Either way the results are in order.

use crate::Result;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// `work` on each number below `count`, all results or the first error by number.
pub(crate) fn map<R: Send + Sync>(
    count: usize,
    work: impl Fn(usize) -> Result<R> + Send + Sync,
) -> Result<Vec<R>> {
    // Collected before errors are looked at, so that the one reported does not depend on threads.
    let results: Vec<OnceLock<Result<R>>> = (0..count).map(|_| OnceLock::new()).collect();
    each(count, &|at| {
        if let Some(result) = results.get(at) {
            result.get_or_init(|| work(at));
        }
    });
    let results = results.into_iter().filter_map(OnceLock::into_inner);
    results.collect()
}

/// `work` on each number below `count`. Behind a pointer, so that the parallel loop is compiled once.
#[cfg(feature = "parallel")]
fn each(count: usize, work: &(dyn Fn(usize) + Sync)) {
    use rayon::prelude::*;
    // One item a job: each is a whole spectrum.
    let items = (0..count).into_par_iter().with_max_len(1);
    items.for_each(work);
}

/// `work` on each number below `count`.
#[cfg(not(feature = "parallel"))]
fn each(count: usize, work: &(dyn Fn(usize) + Sync)) {
    (0..count).for_each(work);
}

/// How many jobs can run at once.
pub(crate) fn lanes() -> usize {
    #[cfg(feature = "parallel")]
    return rayon::current_num_threads();
    #[cfg(not(feature = "parallel"))]
    return 1;
}

/// Working space that jobs take and give back: there are as many as ever ran at once.
#[derive(Debug)]
pub(crate) struct Pool<S>(Mutex<Vec<S>>);

impl<S> Pool<S> {
    pub(crate) fn new() -> Self {
        Pool(Mutex::new(Vec::new()))
    }

    /// `work` with a space, a new one if all are in use.
    pub(crate) fn with<R>(&self, new: impl FnOnce() -> S, work: impl FnOnce(&mut S) -> R) -> R {
        let space = self.lock().pop();
        let mut space = space.unwrap_or_else(new);
        let result = work(&mut space);
        self.lock().push(space);
        result
    }

    fn lock(&self) -> MutexGuard<'_, Vec<S>> {
        // A space holds no state between jobs.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
