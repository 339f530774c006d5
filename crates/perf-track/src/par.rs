//! Parallel loops, and their serial twins. Either way the results are in order.
//!
//! Work is handed to one loop and one fork as `dyn` functions: whatever of rayon stands behind them
//! is compiled once, not once for each closure and each number of dimensions. A call through a
//! pointer for each task costs nothing beside what a task does.

use crate::Result;
use perf_core::{CancellationChecks, Job};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Numbers that [`collect`] gives to a task, at least.
const FEW: usize = 1_024;
/// Tasks of [`collect`] for each lane: enough that none waits long for the last one.
const SHARES: usize = 8;
/// `task` with each number below `count`.
#[cfg(feature = "parallel")]
fn run(count: usize, task: &(dyn Fn(usize) + Sync)) {
    use rayon::prelude::*;
    let all = (0..count).into_par_iter().with_max_len(1);
    all.for_each(task);
}

/// `task` with each number below `count`.
#[cfg(not(feature = "parallel"))]
fn run(count: usize, task: &(dyn Fn(usize) + Sync)) {
    (0..count).for_each(task);
}

/// Number of tasks that can run at once.
pub(crate) fn lanes() -> usize {
    #[cfg(feature = "parallel")]
    return rayon::current_num_threads();
    #[cfg(not(feature = "parallel"))]
    return 1;
}

/// Both, maybe at once.
#[cfg(feature = "parallel")]
pub(crate) fn join(a: &mut (dyn FnMut() + Send), b: &mut (dyn FnMut() + Send)) {
    rayon::join(a, b);
}

/// Both, one after the other.
#[cfg(not(feature = "parallel"))]
pub(crate) fn join(a: &mut (dyn FnMut() + Send), b: &mut (dyn FnMut() + Send)) {
    a();
    b();
}

/// Sorts points by the key of their cell, then by their index.
pub(crate) fn sort(keyed: &mut Vec<(u64, u32)>, job: &Job) -> Result<()> {
    let lanes = lanes().min(keyed.len().div_ceil(CancellationChecks::EACH));
    if lanes > 1 {
        // A stretch each; what follows merges them.
        let stretch = keyed.len().div_ceil(lanes);
        let sorted = map(pieces(keyed.len(), stretch), |lane| {
            let mut own = keyed[piece_of(keyed.len(), stretch, lane)].to_vec();
            job.sort_by(&mut own, Ord::cmp)?;
            Ok(own)
        })?;
        *keyed = sorted.concat();
    }
    Ok(job.sort_by(keyed, Ord::cmp)?)
}

/// `work` on each number below `count`, each a job of its own.
pub(crate) fn jobs<R: Send>(count: usize, work: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let places: Vec<Mutex<Option<R>>> = (0..count).map(|_| Mutex::new(None)).collect();
    run(count, &|number| {
        let result = work(number);
        *places[number]
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(result);
    });
    let results = places.into_iter();
    // A job without a result has panicked, and the loop with it.
    let results =
        results.filter_map(|place| place.into_inner().unwrap_or_else(PoisonError::into_inner));
    results.collect()
}

/// `work` on each number below `count`, each a job of its own: all results, or the first error by
/// number, whichever thread met one first.
pub(crate) fn map<R: Send>(
    count: usize,
    work: impl Fn(usize) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    jobs(count, work).into_iter().collect()
}

/// `work` on each item with its number, each a job of its own.
pub(crate) fn each<T: Send>(items: Vec<T>, work: impl Fn(usize, T) + Sync) {
    let items: Vec<Mutex<Option<T>>> = items
        .into_iter()
        .map(|item| Mutex::new(Some(item)))
        .collect();
    run(items.len(), &|number| {
        let item = items[number]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(item) = item {
            work(number, item);
        }
    });
}

/// `work` on each number below `count`, for small work: many numbers a job. `empty` is what the
/// list has before. Stops soon after the job is cancelled.
pub(crate) fn collect<R: Clone + Send>(
    count: usize,
    empty: R,
    job: &Job,
    work: impl Fn(usize) -> R + Sync,
) -> Result<Vec<R>> {
    let mut all = vec![empty; count];
    let piece = count
        .div_ceil(SHARES * lanes())
        .clamp(FEW, CancellationChecks::EACH);
    let fill = |number: usize, places: &mut [R]| {
        if job.is_cancelled() {
            return;
        }
        for (place, number) in places.iter_mut().zip(number * piece..) {
            *place = work(number);
        }
    };
    match count <= piece {
        true => fill(0, &mut all),
        false => each(all.chunks_mut(piece).collect(), fill),
    }
    // What is left out is nothing that anyone sees.
    job.check()?;
    Ok(all)
}

/// The pieces of at most `piece` of `total` things: how many, and which things the piece has.
pub(crate) fn pieces(total: usize, piece: usize) -> usize {
    total.div_ceil(piece.max(1))
}

/// Things of piece number `index` of [`pieces`].
pub(crate) fn piece_of(total: usize, piece: usize, index: usize) -> Range<usize> {
    let start = index * piece.max(1);
    start..(start + piece.max(1)).min(total)
}
