//! [`KdTree`]: layout of a balanced k-d tree over points in any number of dimensions; [`View`]:
//! access to its nodes, points and boxes.

mod build;
mod query;

pub use query::Near;
pub(crate) use query::Nearest;

use crate::cluster::distance::Bounds;
use crate::{Error, Points, Result};
use perf_core::Job;

/// Largest number of points of a leaf.
const LEAF: usize = 12;

/// Balanced k-d tree over points for exact nearest-neighbour and range-count queries.
///
/// Equal distances are ordered by the indices of the points, so that results do not depend on the
/// order within the tree. Takes one copy of the points and about as much again for the boxes of its
/// nodes.
///
/// ```
/// use perf_core::Job;
/// use perf_track::{Points, cluster::KdTree};
/// let values = [0.0, 0.0, 3.0, 4.0, 1.0, 0.0];
/// let tree = KdTree::new(Points::new(&values, 2)?, &Job::default())?;
/// let near = tree.nearest(&[2.9, 4.0])?.expect("there are points");
/// assert_eq!(near.index, 1);
/// assert_eq!(tree.count_within(&[0.0, 0.0], 5.0)?, 3);
/// assert_eq!(tree.k_nearest(&[0.0, 0.0], 2)?[1].distance, 1.0);
/// # Ok::<(), perf_track::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct KdTree {
    /// Number of dimensions.
    dimensions: usize,
    /// Number of times the points are halved until a leaf is reached.
    levels: u32,
    /// Coordinates in the order of the leaves.
    values: Vec<f64>,
    /// Original index of each point.
    index: Vec<u32>,
    /// Low and high corner of each node, in the order of a depth-first walk.
    boxes: Vec<f64>,
}

/// Node of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// Index of the box of the node.
    pub(crate) id: usize,
    /// Position of the first point.
    pub(crate) start: usize,
    /// Position after the last point.
    pub(crate) end: usize,
    /// Number of levels below.
    below: u32,
}

impl Node {
    pub(crate) fn len(self) -> usize {
        self.end - self.start
    }

    pub(crate) fn range(self) -> std::ops::Range<usize> {
        self.start..self.end
    }

    pub(crate) fn is_leaf(self) -> bool {
        self.below == 0
    }

    /// Returns the two halves of an inner node.
    pub(crate) fn halves(self) -> (Node, Node) {
        let middle = self.start + self.len() / 2;
        let below = self.below - 1;
        let left = Node {
            id: self.id + 1,
            start: self.start,
            end: middle,
            below,
        };
        let right = Node {
            id: self.id + nodes(self.below) / 2 + 1,
            start: middle,
            end: self.end,
            below,
        };
        (left, right)
    }
}

/// Returns the number of nodes of a tree with `levels` levels below its root.
fn nodes(levels: u32) -> usize {
    (2 << levels) - 1
}

impl KdTree {
    /// Builds a tree over these points.
    ///
    /// ```
    /// use perf_core::Job;
    /// use perf_track::{Points, cluster::KdTree};
    /// let (job, points) = (Job::default(), Points::new(&[0.0, 3.0], 1)?);
    /// assert_eq!(KdTree::new(points, &job)?.len(), 2);
    /// job.cancel();
    /// assert!(KdTree::new(points, &job).is_err());
    /// # Ok::<(), perf_track::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::Cancelled`] if the job is cancelled.
    pub fn new(points: Points<'_>, job: &Job) -> Result<Self> {
        let tree = build::build(points, job);
        // A tree with unordered points must not be returned.
        job.check()?;
        Ok(tree)
    }

    /// Returns the memory in bytes for building a tree over this many points: the points, their
    /// indices, the boxes of the nodes, and 16 bytes for each point that are freed afterwards.
    ///
    /// ```
    /// use perf_track::cluster::KdTree;
    /// assert_eq!(KdTree::memory(0, 2), 32);
    /// assert!(KdTree::memory(1_000_000, 2) < 50_000_000);
    /// ```
    pub fn memory(points: usize, dimensions: usize) -> usize {
        let point = dimensions * size_of::<f64>() + size_of::<u32>() + size_of::<(f64, u32)>();
        points * point + nodes(build::levels(points)) * 2 * dimensions * size_of::<f64>()
    }

    /// Returns the number of points.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Returns `true` if there are no points.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// Returns the number of coordinates of each point.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Returns the index of the point at each position of the tree.
    pub(crate) fn indices(&self) -> &[u32] {
        &self.index
    }

    pub(crate) fn root(&self) -> Node {
        Node {
            id: 0,
            start: 0,
            end: self.len(),
            below: self.levels,
        }
    }

    /// Returns the number of nodes.
    pub(crate) fn nodes(&self) -> usize {
        nodes(self.levels)
    }

    /// Returns a view of the tree with a number of dimensions that the compiler knows; 0 stands for
    /// any number.
    pub(crate) fn view<const D: usize>(&self) -> View<'_, D> {
        debug_assert!(D == 0 || D == self.dimensions);
        View { tree: self }
    }

    fn same_dimensions(&self, point: &[f64]) -> Result<()> {
        if point.len() == self.dimensions {
            return Ok(());
        }
        Err(Error::Length {
            what: "coordinates of a point",
            expected: self.dimensions,
            got: point.len(),
        })
    }
}

/// View of a tree whose number of dimensions the compiler knows unless `D` is 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a, const D: usize> {
    /// The tree.
    pub(crate) tree: &'a KdTree,
}

impl<'a, const D: usize> View<'a, D> {
    #[inline(always)]
    fn dimensions(self) -> usize {
        if D == 0 { self.tree.dimensions } else { D }
    }

    /// Returns the point at a position of the tree.
    #[inline(always)]
    pub(crate) fn point(self, place: usize) -> &'a [f64] {
        let d = self.dimensions();
        &self.tree.values[place * d..][..d]
    }

    #[inline(always)]
    pub(crate) fn bounds(self, node: Node) -> Bounds<'a> {
        let d = self.dimensions();
        let corners = &self.tree.boxes[node.id * 2 * d..][..2 * d];
        let (low, high) = corners.split_at(d);
        Bounds { low, high }
    }
}

/// Calls a function of a [`View`] compiled for two or three dimensions, the most frequent numbers;
/// each instance costs seconds of compilation.
macro_rules! by_dimension {
    ($tree:expr, $view:ident => $call:expr) => {
        match $tree.dimensions() {
            2 => {
                let $view = $tree.view::<2>();
                $call
            }
            3 => {
                let $view = $tree.view::<3>();
                $call
            }
            _ => {
                let $view = $tree.view::<0>();
                $call
            }
        }
    };
}
pub(crate) use by_dimension;
