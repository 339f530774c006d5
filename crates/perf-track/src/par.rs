//! Parallel loops, and their serial twins. Either way the results are in order.

use crate::Result;

/// `work` on each item, all results or the first error by position.
#[cfg(feature = "parallel")]
pub(crate) fn map<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> Result<R> + Send + Sync,
) -> Result<Vec<R>> {
    use rayon::prelude::*;
    // Collected before errors are looked at, so that the one reported does not depend on threads.
    let results: Vec<Result<R>> = items.par_iter().map(work).collect();
    results.into_iter().collect()
}

/// `work` on each item, all results or the first error by position.
#[cfg(not(feature = "parallel"))]
pub(crate) fn map<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> Result<R> + Send + Sync,
) -> Result<Vec<R>> {
    items.iter().map(work).collect()
}
