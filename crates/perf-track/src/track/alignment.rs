//! [`Alignment`] of the ranks' sequences of bursts, as evidence for tracking.

use super::matrix::Matrix;
use crate::{ClusterId, Error, Result};

/// Sequences of bursts aligned to columns: bursts of different ranks in one column are the same
/// step of the program.
///
/// It holds points, not clusters, so that it stays true when clusters are split.
///
/// ```
/// use perf_track::{ClusterId, track::Alignment};
/// // Rank 0 computes clusters 1 and 2, rank 1 leaves the first out.
/// let gapped = [vec![Some(ClusterId(1)), Some(ClusterId(2))], vec![None, Some(ClusterId(2))]];
/// let alignment = Alignment::from_sequences(&gapped, &[vec![0, 1], vec![2]])?;
/// assert_eq!(alignment.columns(), [vec![0], vec![1, 2]]);
/// # Ok::<(), perf_track::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Alignment {
    sequences: usize,
    columns: Vec<Vec<u32>>,
}

impl Alignment {
    /// An alignment from its rows, one a rank, whose cells are points or gaps.
    ///
    /// # Errors
    /// Rows of different lengths.
    pub fn new(rows: &[Vec<Option<u32>>]) -> Result<Self> {
        let width = rows.first().map_or(0, Vec::len);
        let mut columns = vec![Vec::new(); width];
        for row in rows {
            if row.len() != width {
                return Err(Error::Length {
                    what: "columns of an aligned sequence",
                    expected: width,
                    got: row.len(),
                });
            }
            for (column, cell) in columns.iter_mut().zip(row) {
                column.extend(*cell);
            }
        }
        Ok(Alignment {
            sequences: rows.len(),
            columns,
        })
    }

    /// An alignment from aligned sequences of clusters with gaps: `points` has the points of each
    /// sequence in order, one for each cell that is no gap.
    ///
    /// # Errors
    /// Not one list of points a sequence, not one point a cell, rows of different lengths.
    pub fn from_sequences(gapped: &[Vec<Option<ClusterId>>], points: &[Vec<u32>]) -> Result<Self> {
        let length = |what, expected, got| match expected == got {
            true => Ok(()),
            false => Err(Error::Length {
                what,
                expected,
                got,
            }),
        };
        length("points of aligned sequences", gapped.len(), points.len())?;
        let mut rows = Vec::with_capacity(gapped.len());
        for (cells, points) in gapped.iter().zip(points) {
            let filled = cells.iter().flatten().count();
            length("points of an aligned sequence", filled, points.len())?;
            let mut next = points.iter().copied();
            let row = cells.iter().map(|cell| cell.and_then(|_| next.next()));
            rows.push(row.collect());
        }
        Alignment::new(&rows)
    }

    /// How many sequences are aligned.
    pub fn sequences(&self) -> usize {
        self.sequences
    }

    /// The points of each column.
    pub fn columns(&self) -> &[Vec<u32>] {
        &self.columns
    }

    /// How often each cluster occurs in each column, by cluster.
    pub(crate) fn count(&self, labels: &[ClusterId]) -> Steps {
        let step = |points: &Vec<u32>| {
            let label = |point: &u32| labels.get(*point as usize).copied();
            let mut ids: Vec<ClusterId> = points.iter().filter_map(label).collect();
            ids.sort_unstable();
            let mut counts: Vec<(ClusterId, u32)> = Vec::new();
            for id in ids {
                match counts.last_mut() {
                    Some((last, count)) if *last == id => *count += 1,
                    _ => counts.push((id, 1)),
                }
            }
            counts
        };
        Steps {
            sequences: self.sequences,
            columns: self.columns.iter().map(step).collect(),
        }
    }
}

/// How often each cluster occurs in each column of an alignment; noise counts as a cluster.
#[derive(Clone, Debug)]
pub(crate) struct Steps {
    sequences: usize,
    pub(crate) columns: Vec<Vec<(ClusterId, u32)>>,
}

impl Steps {
    /// `score_k`: the mean over columns where k occurs of the share of sequences in which it does;
    /// 0 for clusters that do not occur. Entry 0 is noise.
    pub(crate) fn scores(&self, clusters: usize) -> Vec<f64> {
        let mut sums = vec![(0u64, 0u64); clusters + 1];
        for (id, count) in self.columns.iter().flatten() {
            if let Some(sum) = sums.get_mut(id.0 as usize) {
                *sum = (sum.0 + u64::from(*count), sum.1 + 1);
            }
        }
        let sequences = self.sequences.max(1) as f64;
        let mean =
            |(count, columns): (u64, u64)| count as f64 / (columns.max(1) as f64 * sequences);
        sums.into_iter().map(mean).collect()
    }

    /// The share of the columns with one cluster (rows) that also have another.
    pub(crate) fn simultaneity(&self, clusters: usize) -> Matrix {
        let mut together = Matrix::filled(clusters, clusters, 0.0);
        for column in &self.columns {
            let present = || column.iter().filter_map(|(id, _)| id.index());
            for a in present() {
                for b in present() {
                    together.add(a, b, 1.0);
                }
            }
        }
        Matrix::from_fn(clusters, clusters, |a, b| {
            together.at(a, b) / together.at(a, a).max(1.0)
        })
    }

    /// The clusters of each column, without noise.
    pub(crate) fn sets(&self) -> Vec<Vec<usize>> {
        let set = |column: &Vec<(ClusterId, u32)>| {
            let ids = column.iter().filter_map(|(id, _)| id.index());
            ids.collect()
        };
        self.columns.iter().map(set).collect()
    }
}
