//! Queries on a [`KdTree`]: the nearest point or the `k` nearest points, each as [`Near`], and the
//! number of points within a radius.

use super::{KdTree, Node, View, by_dimension};
use crate::Result;
use crate::cluster::distance::squared;

/// Neighbour of a point.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Near {
    /// Index of the point.
    pub index: u32,
    /// Euclidean distance.
    pub distance: f64,
}

/// The k nearest points found so far, ordered by distance and index. The list is sorted because k is
/// small.
#[derive(Debug)]
pub(crate) struct Nearest {
    /// Largest number of points.
    most: usize,
    /// Squared distance and index.
    pub(crate) found: Vec<(f64, u32)>,
}

impl Nearest {
    pub(crate) fn new(most: usize) -> Self {
        Nearest {
            most,
            found: Vec::new(),
        }
    }

    /// Returns the distance beyond which points are ignored.
    #[inline(always)]
    fn limit(&self) -> f64 {
        match self.found.last() {
            Some(last) if self.found.len() == self.most => last.0,
            _ => f64::INFINITY,
        }
    }

    #[inline(always)]
    fn offer(&mut self, distance: f64, index: u32) {
        if self.found.len() == self.most {
            match self.found.last() {
                Some(&last) if (distance, index) < last => {}
                _ => return,
            }
            self.found.pop();
        }
        let at = self
            .found
            .partition_point(|&known| known < (distance, index));
        self.found.insert(at, (distance, index));
    }
}

impl<const D: usize> View<'_, D> {
    /// Finds the nearest points below `node`, except the one at position `without`.
    pub(crate) fn nearest(self, node: Node, point: &[f64], without: usize, into: &mut Nearest) {
        if node.is_leaf() {
            for place in node.range() {
                let distance = squared(point, self.point(place));
                if distance <= into.limit() && place != without {
                    into.offer(distance, self.tree.index[place]);
                }
            }
            return;
        }
        let (left, right) = node.halves();
        let gaps = (self.bounds(left).gap(point), self.bounds(right).gap(point));
        let (near, far) = if gaps.0 <= gaps.1 {
            ((left, gaps.0), (right, gaps.1))
        } else {
            ((right, gaps.1), (left, gaps.0))
        };
        for (node, gap) in [near, far] {
            // Equal distances matter, because the lower index is nearer.
            if gap <= into.limit() {
                self.nearest(node, point, without, into);
            }
        }
    }

    /// Counts the points below `node` whose squared distance is at most `limit`. Stops once `most` points
    /// are found. Boxes completely within the limit count as a whole, so that the result may exceed
    /// `most`.
    pub(crate) fn count(self, node: Node, point: &[f64], limit: f64, most: usize) -> usize {
        let bounds = self.bounds(node);
        if node.len() == 0 || bounds.gap(point) > limit {
            return 0;
        }
        if bounds.reach(point) <= limit {
            return node.len();
        }
        if node.is_leaf() {
            let within = |place: &usize| squared(point, self.point(*place)) <= limit;
            return node.range().filter(within).count();
        }
        let (left, right) = node.halves();
        let count = self.count(left, point, limit, most);
        if count >= most {
            return count;
        }
        count + self.count(right, point, limit, most - count)
    }
}

impl KdTree {
    /// Returns the nearest point, in a tie the point of lowest index. `None` without points.
    ///
    /// # Errors
    /// Returns an error if the number of coordinates differs from that of the points.
    pub fn nearest(&self, point: &[f64]) -> Result<Option<Near>> {
        Ok(self.k_nearest(point, 1)?.first().copied())
    }

    /// Returns the `k` nearest points ordered by distance, then index; all points if there are fewer. A
    /// point of the tree at the same place as `point` counts.
    ///
    /// # Errors
    /// Returns an error if the number of coordinates differs from that of the points.
    pub fn k_nearest(&self, point: &[f64], k: usize) -> Result<Vec<Near>> {
        self.same_dimensions(point)?;
        if k == 0 || self.is_empty() {
            return Ok(Vec::new());
        }
        let mut nearest = Nearest::new(k);
        by_dimension!(self, view => view.nearest(self.root(), point, usize::MAX, &mut nearest));
        let found = nearest.found.into_iter();
        Ok(found
            .map(|(squared, index)| Near {
                index,
                distance: squared.sqrt(),
            })
            .collect())
    }

    /// Returns the number of points within `radius` (closed ball, by squared distances).
    ///
    /// # Errors
    /// Returns an error if the number of coordinates differs from that of the points.
    pub fn count_within(&self, point: &[f64], radius: f64) -> Result<usize> {
        self.same_dimensions(point)?;
        let limit = radius * radius;
        Ok(by_dimension!(self, view => view.count(self.root(), point, limit, usize::MAX)))
    }
}
