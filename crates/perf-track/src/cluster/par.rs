//! Parallel loops, and their serial twins. Either way the results are in order.

use crate::Result;

/// `work` on each number below `count`, all results or the first error by number.
#[cfg(feature = "parallel")]
pub(crate) fn map<R: Send>(
    count: usize,
    work: impl Fn(usize) -> Result<R> + Send + Sync,
) -> Result<Vec<R>> {
    use rayon::prelude::*;
    // Collected before errors are looked at, so that the one reported does not depend on threads.
    let results: Vec<Result<R>> = (0..count).into_par_iter().map(work).collect();
    results.into_iter().collect()
}

/// `work` on each number below `count`, all results or the first error by number.
#[cfg(not(feature = "parallel"))]
pub(crate) fn map<R: Send>(
    count: usize,
    work: impl Fn(usize) -> Result<R> + Send + Sync,
) -> Result<Vec<R>> {
    (0..count).map(work).collect()
}

/// `work` on each number below `count`, for small work: many numbers a job.
#[cfg(feature = "parallel")]
pub(crate) fn collect<R: Send>(count: usize, work: impl Fn(usize) -> R + Send + Sync) -> Vec<R> {
    use rayon::prelude::*;
    let all = (0..count).into_par_iter().with_min_len(1024);
    all.map(work).collect()
}

/// `work` on each number below `count`, for small work: many numbers a job.
#[cfg(not(feature = "parallel"))]
pub(crate) fn collect<R: Send>(count: usize, work: impl Fn(usize) -> R + Send + Sync) -> Vec<R> {
    (0..count).map(work).collect()
}

/// `work` on each number below `count`, each a job of its own.
#[cfg(feature = "parallel")]
pub(crate) fn jobs<R: Send>(count: usize, work: impl Fn(usize) -> R + Send + Sync) -> Vec<R> {
    use rayon::prelude::*;
    let all = (0..count).into_par_iter().with_max_len(1);
    all.map(work).collect()
}

/// `work` on each number below `count`, each a job of its own.
#[cfg(not(feature = "parallel"))]
pub(crate) fn jobs<R: Send>(count: usize, work: impl Fn(usize) -> R + Send + Sync) -> Vec<R> {
    (0..count).map(work).collect()
}

/// `work` on each item with its number, each a job of its own.
#[cfg(feature = "parallel")]
pub(crate) fn each<T: Send>(items: Vec<T>, work: impl Fn(usize, T) + Send + Sync) {
    use rayon::prelude::*;
    let all = items.into_par_iter().enumerate().with_max_len(1);
    all.for_each(|(number, item)| work(number, item));
}

/// `work` on each item with its number, each a job of its own.
#[cfg(not(feature = "parallel"))]
pub(crate) fn each<T: Send>(items: Vec<T>, work: impl Fn(usize, T) + Send + Sync) {
    for (number, item) in items.into_iter().enumerate() {
        work(number, item);
    }
}

/// How many jobs can run at once.
pub(crate) fn lanes() -> usize {
    #[cfg(feature = "parallel")]
    return rayon::current_num_threads();
    #[cfg(not(feature = "parallel"))]
    return 1;
}

/// Both, maybe at once.
#[cfg(feature = "parallel")]
pub(crate) fn join<A: Send, B: Send>(
    a: impl FnOnce() -> A + Send,
    b: impl FnOnce() -> B + Send,
) -> (A, B) {
    rayon::join(a, b)
}

/// Both, one after the other.
#[cfg(not(feature = "parallel"))]
pub(crate) fn join<A: Send, B: Send>(
    a: impl FnOnce() -> A + Send,
    b: impl FnOnce() -> B + Send,
) -> (A, B) {
    (a(), b())
}

/// Sorts what has no equals.
#[cfg(feature = "parallel")]
pub(crate) fn sort<T: Ord + Send>(items: &mut [T]) {
    use rayon::prelude::*;
    items.par_sort_unstable();
}

/// Sorts what has no equals.
#[cfg(not(feature = "parallel"))]
pub(crate) fn sort<T: Ord + Send>(items: &mut [T]) {
    items.sort_unstable();
}

/// The pieces of at most `piece` of `total` things: how many, and which things the piece has.
pub(crate) fn pieces(total: usize, piece: usize) -> usize {
    total.div_ceil(piece.max(1))
}

/// Things of piece number `index` of [`pieces`].
pub(crate) fn piece_of(total: usize, piece: usize, index: usize) -> std::ops::Range<usize> {
    let start = index * piece.max(1);
    start..(start + piece.max(1)).min(total)
}
