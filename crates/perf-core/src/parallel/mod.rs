//! Parallel loops and sorting for all crates, on the threads of rayon or serially, with results
//! that do not depend on the number of threads.
//!
//! With the feature `parallel` the loops run on the threads of the current rayon pool, otherwise on
//! the calling thread. In both cases results are in the order of their numbers. If several tasks
//! fail, the error with the lowest number is returned; the exception is [`try_for_each_chunk`]. No
//! result therefore depends on the number of threads.
//!
//! Loops receive their tasks as `dyn` functions, so the code of rayon is compiled once instead of
//! once for each closure. The indirect call is negligible, because a task takes microseconds or
//! more.
//!
//! ```
//! use perf_core::{Cancelled, Job, parallel};
//! let job = Job::default();
//! let squares = parallel::try_map(4, |number| {
//!     job.check()?;
//!     Ok::<_, Cancelled>(number * number)
//! })?;
//! assert_eq!(squares, [0, 1, 4, 9]);
//! // A failed task ends the loop, and so does a cancelled job.
//! assert_eq!(parallel::try_map(4, |number| if number > 1 { Err(number) } else { Ok(()) }), Err(2));
//! job.cancel();
//! assert!(parallel::fill(1_000, 0, |number| number, &job).is_err());
//! # Ok::<(), Cancelled>(())
//! ```

mod threads;

pub use threads::{Pool, Threads, Workspaces};

use crate::{CancellationChecks, Cancelled, Job};
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::atomic::{self, AtomicUsize};
use std::sync::{Mutex, PoisonError};

/// Smallest number of elements of a task of [`fill`].
const MIN_TASK: usize = 1_024;
/// Number of tasks of [`fill`] for each thread, which is enough to balance the load.
const TASKS_PER_THREAD: usize = 8;

/// Runs `task` with each number below `count`.
#[cfg(feature = "parallel")]
fn run(count: usize, task: &(dyn Fn(usize) + Sync)) {
    use rayon::prelude::*;
    (0..count).into_par_iter().with_max_len(1).for_each(task);
}

/// Runs `task` with each number below `count`.
#[cfg(not(feature = "parallel"))]
fn run(count: usize, task: &(dyn Fn(usize) + Sync)) {
    (0..count).for_each(task);
}

/// Returns the number of tasks that can run concurrently on the current pool; 1 without the feature
/// `parallel`.
pub fn current_threads() -> usize {
    #[cfg(feature = "parallel")]
    return rayon::current_num_threads();
    #[cfg(not(feature = "parallel"))]
    return 1;
}

/// Returns the number of the current thread in its pool, from 0; also 0 outside of a pool and without
/// the feature `parallel`. A task on another thread of the pool sees another number.
///
/// ```
/// use perf_core::parallel::{Threads, map, thread_number};
/// let numbers = Threads::new(2).install(|| map(100, |_| thread_number()));
/// assert!(numbers.iter().all(|number| *number < 2));
/// ```
pub fn thread_number() -> usize {
    #[cfg(feature = "parallel")]
    return rayon::current_thread_index().unwrap_or(0);
    #[cfg(not(feature = "parallel"))]
    return 0;
}

/// Runs both functions, concurrently if a thread is free.
#[cfg(feature = "parallel")]
pub fn join(a: &mut (dyn FnMut() + Send), b: &mut (dyn FnMut() + Send)) {
    rayon::join(a, b);
}

/// Runs both functions, one after the other.
#[cfg(not(feature = "parallel"))]
#[inline]
pub fn join(a: &mut (dyn FnMut() + Send), b: &mut (dyn FnMut() + Send)) {
    a();
    b();
}

/// Returns the results of `work` for each number below `count`, each in a separate task.
pub fn map<R: Send>(count: usize, work: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let places: Vec<Mutex<Option<R>>> = (0..count).map(|_| Mutex::new(None)).collect();
    run(count, &|number| {
        let result = work(number);
        *places[number]
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(result);
    });
    // A task has no result only if it panicked, and then the loop propagates the panic.
    let results = places.into_iter();
    let results =
        results.filter_map(|place| place.into_inner().unwrap_or_else(PoisonError::into_inner));
    results.collect()
}

/// Returns the results of `work` for each number below `count`, each in a separate task.
///
/// # Errors
/// Returns the error of the lowest number, regardless of the order in which threads fail. Tasks
/// with higher numbers that have not begun by then are skipped.
pub fn try_map<R: Send, E: Send>(
    count: usize,
    work: impl Fn(usize) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let failed = AtomicUsize::new(usize::MAX);
    let results = map(count, |number| {
        // Tasks below the lowest failure so far always run, because one of them may fail too.
        if number > failed.load(atomic::Ordering::Relaxed) {
            return None;
        }
        let result = work(number);
        if result.is_err() {
            failed.fetch_min(number, atomic::Ordering::Relaxed);
        }
        Some(result)
    });
    results.into_iter().flatten().collect()
}

/// Runs `work` on each item with its number, each in a separate task.
pub fn for_each<T: Send>(items: Vec<T>, work: impl Fn(usize, T) + Sync) {
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

/// Returns the results of `work` for each number below `count`. A task processes many numbers.
/// `default` initialises the list.
///
/// The job is checked once for each task of at most [`CancellationChecks::EACH`] numbers.
///
/// # Errors
/// Returns [`Cancelled`] if the job is cancelled.
pub fn fill<R: Clone + Send>(
    count: usize,
    default: R,
    work: impl Fn(usize) -> R + Sync,
    job: &Job,
) -> Result<Vec<R>, Cancelled> {
    let mut all = vec![default; count];
    let size = count
        .div_ceil(TASKS_PER_THREAD * current_threads())
        .clamp(MIN_TASK, CancellationChecks::EACH);
    let task = |number: usize, places: &mut [R]| {
        if job.is_cancelled() {
            return;
        }
        for (place, number) in places.iter_mut().zip(number * size..) {
            *place = work(number);
        }
    };
    if count <= size {
        task(0, &mut all)
    } else {
        for_each(all.chunks_mut(size).collect(), task)
    }
    // Elements of skipped tasks are never returned.
    job.check()?;
    Ok(all)
}

/// Runs `work` on chunks of at most `size` columns of each row of a row-major table, with the row,
/// the first column of the chunk, and its cells. Does not allocate.
///
/// # Errors
/// Returns one of the errors of `work`. If several differ, the choice depends on the threads.
#[cfg(feature = "parallel")]
pub fn try_for_each_chunk<T: Send, E: Send>(
    cells: &mut [T],
    columns: usize,
    size: usize,
    work: impl Fn(usize, usize, &mut [T]) -> Result<(), E> + Sync,
) -> Result<(), E> {
    use rayon::prelude::*;
    let rows = cells.par_chunks_mut(columns.max(1)).enumerate();
    rows.try_for_each(|(row, cells)| {
        let chunks = cells.par_chunks_mut(size.max(1)).enumerate();
        chunks.try_for_each(|(index, cells)| work(row, index * size, cells))
    })
}

/// Runs `work` on chunks of at most `size` columns of each row of a row-major table, with the row,
/// the first column of the chunk, and its cells. Does not allocate.
///
/// # Errors
/// Returns the first error of `work`.
#[cfg(not(feature = "parallel"))]
pub fn try_for_each_chunk<T: Send, E: Send>(
    cells: &mut [T],
    columns: usize,
    size: usize,
    work: impl Fn(usize, usize, &mut [T]) -> Result<(), E> + Sync,
) -> Result<(), E> {
    for (row, cells) in cells.chunks_mut(columns.max(1)).enumerate() {
        for (index, cells) in cells.chunks_mut(size.max(1)).enumerate() {
            work(row, index * size, cells)?;
        }
    }
    Ok(())
}

/// Sorts a list like [`sort_by`], by the order of its elements.
///
/// # Errors
/// As [`sort_by`].
pub fn sort<T: Ord + Copy + Send + Sync>(list: &mut Vec<T>, job: &Job) -> Result<(), Cancelled> {
    sort_by(list, Ord::cmp, job)
}

/// Sorts a list. Threads sort pieces of it and merge them, which doubles the memory.
///
/// Equal elements may be reordered, in a way that does not depend on the number of threads.
///
/// # Errors
/// Returns [`Cancelled`] if the job is cancelled. The elements are then in an unspecified order.
pub fn sort_by<T: Copy + Send + Sync>(
    list: &mut Vec<T>,
    compare: impl Fn(&T, &T) -> Ordering + Sync,
    job: &Job,
) -> Result<(), Cancelled> {
    if current_threads() == 1 || list.len() <= CancellationChecks::EACH {
        return job.sort_by(list, compare);
    }
    let runs = list.chunks_mut(CancellationChecks::EACH).collect();
    for_each(runs, |_, run: &mut [T]| {
        if !job.is_cancelled() {
            run.sort_unstable_by(&compare);
        }
    });
    job.check()?;
    let mut width = CancellationChecks::EACH;
    let mut merged = Vec::new();
    while width < list.len() {
        let mut borders = (width..list.len()).step_by(width);
        if borders.all(|at| compare(&list[at - 1], &list[at]).is_le()) {
            break;
        }
        if merged.is_empty() {
            merged.extend_from_slice(list);
        }
        let mut pieces = Vec::new();
        let mut free = merged.as_mut_slice();
        for pair in list.chunks(width.saturating_mul(2)) {
            let (left, mut right) = pair.split_at(width.min(pair.len()));
            let parts = left.chunks(CancellationChecks::EACH);
            let nexts = left.iter().skip(CancellationChecks::EACH);
            let nexts = nexts.step_by(CancellationChecks::EACH).map(Some);
            for (part, next) in parts.zip(nexts.chain([None])) {
                // Elements of the right list that come before the next part of the left one.
                let count = next.map_or(right.len(), |next| {
                    right.partition_point(|it| compare(it, next).is_lt())
                });
                let (own, rest) = right.split_at(count);
                let (into, later) = free.split_at_mut(part.len() + count);
                pieces.push((part, own, into));
                (right, free) = (rest, later);
            }
        }
        for_each(pieces, |_, (left, right, into)| {
            if !job.is_cancelled() {
                merge(left, right, into, &compare);
            }
        });
        job.check()?;
        std::mem::swap(list, &mut merged);
        width = width.saturating_mul(2);
    }
    Ok(())
}

/// Merges two sorted lists into one of their joint length; equal elements of the left list come
/// first.
fn merge<T: Copy>(
    mut left: &[T],
    mut right: &[T],
    into: &mut [T],
    compare: &impl Fn(&T, &T) -> Ordering,
) {
    let mut into = into.iter_mut();
    while let (Some((a, rest_a)), Some((b, rest_b))) = (left.split_first(), right.split_first()) {
        let Some(place) = into.next() else { return };
        if compare(a, b).is_le() {
            (*place, left) = (*a, rest_a);
        } else {
            (*place, right) = (*b, rest_b);
        }
    }
    for (place, it) in into.zip(left.iter().chain(right)) {
        *place = *it;
    }
}

/// Returns the number of chunks of at most `size` elements in `total` elements.
#[inline]
pub fn chunk_count(total: usize, size: usize) -> usize {
    total.div_ceil(size.max(1))
}

/// Returns the range of elements of chunk `number`, which must be below [`chunk_count`].
#[inline]
pub fn chunk(total: usize, size: usize, number: usize) -> Range<usize> {
    let start = number * size.max(1);
    start..(start + size.max(1)).min(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a test on pools of one, two and eight threads, and on the calling thread.
    fn on_pools(test: impl Fn() + Sync + Send) {
        for threads in [1, 2, 8] {
            Threads::new(threads).install(&test);
        }
    }

    #[test]
    fn results_are_in_order() {
        on_pools(|| {
            assert_eq!(map(1_000, |number| number), (0..1_000).collect::<Vec<_>>());
            let filled = fill(100_000, 0, |number| number, &Job::default());
            assert_eq!(filled, Ok((0..100_000).collect::<Vec<_>>()));
            assert_eq!(map(0, |number| number), [0; 0]);
        });
    }

    #[test]
    fn the_error_of_the_lowest_number_is_returned() {
        on_pools(|| {
            for _ in 0..50 {
                let fails = |number: usize| if number % 7 == 5 { Err(number) } else { Ok(()) };
                assert_eq!(try_map(500, fails), Err(5));
            }
        });
    }

    #[test]
    fn each_item_is_given_once() {
        on_pools(|| {
            let sum = AtomicUsize::new(0);
            for_each((0..1_000).collect(), |number, item: usize| {
                assert_eq!(number, item);
                sum.fetch_add(item, atomic::Ordering::Relaxed);
            });
            assert_eq!(sum.into_inner(), 499_500);
        });
    }

    #[test]
    fn chunks_cover_the_rows() {
        on_pools(|| {
            let mut cells = vec![(0, 0); 3 * 10];
            let filled = try_for_each_chunk(&mut cells, 10, 4, |row, first, cells| {
                assert!(cells.len() <= 4);
                for (cell, column) in cells.iter_mut().zip(first..) {
                    *cell = (row, column);
                }
                Ok::<_, ()>(())
            });
            assert_eq!(filled, Ok(()));
            assert!((0..30).all(|at| cells[at] == (at / 10, at % 10)));
            let failed =
                try_for_each_chunk(&mut cells, 10, 4, |row, first, _| match (row, first) {
                    (1, 8) => Err("stopped"),
                    _ => Ok(()),
                });
            assert_eq!(failed, Err("stopped"));
            assert_eq!((chunk_count(10, 4), chunk(10, 4, 2)), (3, 8..10));
        });
    }

    #[test]
    fn sorting_equals_that_of_std_and_stops() {
        let mut state = 1_u64;
        let list: Vec<u64> = (0..300_000)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                state >> 50
            })
            .collect();
        let mut expected = list.clone();
        expected.sort_unstable();
        on_pools(|| {
            let mut list = list.clone();
            assert_eq!(sort(&mut list, &Job::default()), Ok(()));
            assert_eq!(list, expected);
            let job = Job::default();
            job.cancel();
            assert_eq!(sort(&mut list, &job), Err(Cancelled));
            // Elements that compare equal are in one order on all pools.
            let by_key = |a: &(u64, usize), b: &(u64, usize)| (a.0 / 64).cmp(&(b.0 / 64));
            let mut pairs: Vec<(u64, usize)> = list.iter().copied().zip(0..).collect();
            let mut serial = pairs.clone();
            assert_eq!(sort_by(&mut pairs, by_key, &Job::default()), Ok(()));
            assert_eq!(Job::default().sort_by(&mut serial, by_key), Ok(()));
            assert_eq!(pairs, serial);
            assert!(fill(10, 0, |number| number, &job).is_err());
        });
    }

    #[test]
    fn both_halves_of_a_join_run() {
        on_pools(|| {
            let (mut a, mut b) = (0, 0);
            join(&mut || a += 1, &mut || b += 2);
            assert_eq!((a, b), (1, 2));
        });
    }

    #[test]
    fn workspaces_are_used_again() {
        let spaces = Workspaces::new();
        let made = AtomicUsize::new(0);
        for _ in 0..10 {
            spaces.with(|| made.fetch_add(1, atomic::Ordering::Relaxed), |_| ());
        }
        assert_eq!(made.into_inner(), 1);
    }

    #[test]
    fn threads_map_in_order_with_any_count() {
        for count in [0, 1, 3] {
            let threads = Threads::new(count);
            assert!(threads.count() >= 1);
            let found =
                threads.install(|| threads.try_map(&[1, 2, 3], |item| Ok::<_, ()>(item * 2)));
            assert_eq!(found, Ok(vec![2, 4, 6]));
            assert_eq!(
                threads.try_map(&[1, 2, 3], |item: &i32| Err::<(), _>(*item)),
                Err(1)
            );
        }
    }
}
