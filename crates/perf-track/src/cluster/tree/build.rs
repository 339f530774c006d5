//! Construction of a [`KdTree`](super::KdTree): splits at the median along the longest side.

use super::{KdTree, LEAF, nodes};
use crate::Points;
use crate::cluster::distance::enclose;
use perf_core::{CancellationChecks, Job, parallel};
use std::cmp::Ordering;

/// Number of points below which one thread builds the rest.
const ALONE: usize = 8_192;
/// Number of points above which cancellation checks are made within a node.
const LONG: usize = 1 << 19;
/// Number of sampled keys that estimate the median.
const SAMPLE: usize = 1_023;

/// Returns how often `count` points are halved.
pub(super) fn levels(count: usize) -> u32 {
    let mut levels = 0;
    while count.div_ceil(1 << levels) > LEAF {
        levels += 1;
    }
    levels
}

/// Builds the tree. If the job is cancelled, the result is incomplete and must not be used.
pub(super) fn build(points: Points<'_>, job: &Job) -> KdTree {
    let (count, dimensions) = (points.len(), points.dimensions());
    let levels = levels(count);
    let mut index: Vec<u32> = (0..count as u32).collect();
    let mut boxes = vec![0.0; nodes(levels) * 2 * dimensions];
    let mut space = vec![(0.0, 0); count];
    let nodes = (&mut boxes[..], levels);
    halve(points, &mut index, nodes, &mut space, job);
    let mut values = Vec::with_capacity(points.values().len());
    for some in index.chunks(CancellationChecks::EACH) {
        if job.is_cancelled() {
            break;
        }
        for &at in some {
            values.extend_from_slice(row(points, at));
        }
    }
    KdTree {
        dimensions,
        levels,
        values,
        index,
        boxes,
    }
}

fn row(points: Points<'_>, at: u32) -> &[f64] {
    let d = points.dimensions();
    &points.values()[at as usize * d..][..d]
}

/// Orders `index` by the leaves below a node and writes the boxes of the node and of all nodes
/// below it.
fn halve(
    points: Points<'_>,
    index: &mut [u32],
    (boxes, levels): (&mut [f64], u32),
    space: &mut [(f64, u32)],
    job: &Job,
) {
    if index.len() > ALONE && job.is_cancelled() {
        return;
    }
    let d = points.dimensions();
    let (corners, boxes) = boxes.split_at_mut(2 * d);
    let (low, high) = corners.split_at_mut(d);
    let all = watched(index, job);
    enclose(all.map(|&at| row(points, at)), low, high);
    if levels == 0 {
        return;
    }
    let extent = |axis: usize| high[axis] - low[axis];
    // Takes the first of the longest sides, so that the result is deterministic.
    let axis = (1..d).fold(0, |longest, axis| {
        if extent(axis) > extent(longest) {
            axis
        } else {
            longest
        }
    });
    // Keys along one axis are contiguous, which is faster than looking each of them up.
    for (key, &at) in space.iter_mut().zip(watched(index, job)) {
        *key = (row(points, at)[axis], at);
    }
    let middle = index.len() / 2;
    select(space, middle, job);
    for (at, key) in index.iter_mut().zip(space.iter()) {
        *at = key.1;
    }
    let (left, right) = index.split_at_mut(middle);
    let (left_space, right_space) = space.split_at_mut(middle);
    let (left_boxes, right_boxes) = boxes.split_at_mut(boxes.len() / 2);
    let levels = levels - 1;
    if left.len() + right.len() > ALONE {
        parallel::join(
            &mut || halve(points, left, (left_boxes, levels), left_space, job),
            &mut || halve(points, right, (right_boxes, levels), right_space, job),
        );
    } else {
        halve(points, left, (left_boxes, levels), left_space, job);
        halve(points, right, (right_boxes, levels), right_space, job);
    }
}

/// Returns all indices, or those before the check that found the job cancelled.
fn watched<'a>(index: &'a [u32], job: &Job) -> impl Iterator<Item = &'a u32> {
    let some = index.chunks(CancellationChecks::EACH);
    let is_long = index.len() > LONG;
    some.take_while(move |_| !is_long || !job.is_cancelled())
        .flatten()
}

type Key = (f64, u32);

fn order(a: &Key, b: &Key) -> Ordering {
    a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
}

/// Moves the key to `middle` that would be there in sorted order, smaller keys before it and larger
/// keys after it. Many keys are first partitioned by an estimate of this key, until few keys are left.
fn select(mut keys: &mut [Key], mut middle: usize, job: &Job) {
    while keys.len() > LONG && !job.is_cancelled() {
        let mut sample: Vec<Key> = keys.iter().step_by(keys.len() / SAMPLE).copied().collect();
        sample.sort_unstable_by(order);
        // Accurate enough: a bad estimate only takes more time.
        let guess = (middle as f64 / keys.len() as f64 * sample.len() as f64) as usize;
        let Some(pivot) = sample.get(guess.min(sample.len() - 1)).copied() else {
            break;
        };
        let below = partition(keys, &pivot, job);
        if middle < below {
            keys = &mut keys[..below];
        } else {
            middle -= below;
            keys = &mut keys[below..];
        }
        // The pivot is the smallest key and would stay in the searched part, so another key must be
        // moved before it.
        if below == 0 {
            break;
        }
    }
    if middle < keys.len() && !job.is_cancelled() {
        keys.select_nth_unstable_by(middle, order);
    }
}

/// Moves the keys below a pivot to the front and returns their number.
fn partition(keys: &mut [Key], pivot: &Key, job: &Job) -> usize {
    let mut below = 0;
    let mut checks = job.checks();
    for at in 0..keys.len() {
        if checks.next(1).is_err() {
            break;
        }
        if order(&keys[at], pivot).is_lt() {
            keys.swap(below, at);
            below += 1;
        }
    }
    below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selects_among_many() {
        let count = 3 * LONG + 5;
        for spread in [1, 2, 1000, count] {
            let key = |at: usize| ((at.wrapping_mul(7_919) % spread) as f64, at as u32);
            let keys: Vec<Key> = (0..count).map(key).collect();
            let mut sorted = keys.clone();
            sorted.sort_unstable_by(order);
            for middle in [0, 1, count / 2, count - 1] {
                let mut keys = keys.clone();
                select(&mut keys, middle, &Job::default());
                assert_eq!(keys[middle], sorted[middle], "{spread} {middle}");
                let least = keys[middle..].iter().min_by(|a, b| order(a, b));
                assert_eq!(least, Some(&sorted[middle]), "{spread} {middle}");
            }
        }
    }
}
