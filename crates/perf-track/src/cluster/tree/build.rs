//! Building a [`KdTree`](super::KdTree): halves at the middle point along the longest side.

use super::{KdTree, LEAF, nodes};
use crate::Points;
use crate::cluster::distance::enclose;
use crate::par;

/// Below this many points one thread builds the rest.
const ALONE: usize = 8_192;

pub(super) fn build(points: Points<'_>) -> KdTree {
    let (count, dimensions) = (points.len(), points.dimensions());
    let mut levels = 0;
    while count.div_ceil(1 << levels) > LEAF {
        levels += 1;
    }
    let mut index: Vec<u32> = (0..count as u32).collect();
    let mut boxes = vec![0.0; nodes(levels) * 2 * dimensions];
    let mut space = vec![(0.0, 0); count];
    halve(points, &mut index, &mut boxes, &mut space, levels);
    let mut values = Vec::with_capacity(points.values().len());
    for &at in &index {
        values.extend_from_slice(row(points, at));
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

/// Orders `index` by the leaves below a node and writes the boxes of the node and all below it.
fn halve(
    points: Points<'_>,
    index: &mut [u32],
    boxes: &mut [f64],
    space: &mut [(f64, u32)],
    levels: u32,
) {
    let d = points.dimensions();
    let (corners, boxes) = boxes.split_at_mut(2 * d);
    let (low, high) = corners.split_at_mut(d);
    enclose(index.iter().map(|&at| row(points, at)), low, high);
    if levels == 0 {
        return;
    }
    let extent = |axis: usize| high[axis] - low[axis];
    // The first of the longest sides: an order that does not depend on the iterator.
    let axis = (1..d).fold(0, |longest, axis| {
        if extent(axis) > extent(longest) {
            axis
        } else {
            longest
        }
    });
    // Along one axis the keys lie side by side: faster than looking each of them up.
    for (key, &at) in space.iter_mut().zip(index.iter()) {
        *key = (row(points, at)[axis], at);
    }
    let middle = index.len() / 2;
    space.select_nth_unstable_by(middle, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    for (at, key) in index.iter_mut().zip(space.iter()) {
        *at = key.1;
    }
    let (left, right) = index.split_at_mut(middle);
    let (left_space, right_space) = space.split_at_mut(middle);
    let (left_boxes, right_boxes) = boxes.split_at_mut(boxes.len() / 2);
    let levels = levels - 1;
    if left.len() + right.len() > ALONE {
        par::join(
            &mut || halve(points, left, left_boxes, left_space, levels),
            &mut || halve(points, right, right_boxes, right_space, levels),
        );
    } else {
        halve(points, left, left_boxes, left_space, levels);
        halve(points, right, right_boxes, right_space, levels);
    }
}
