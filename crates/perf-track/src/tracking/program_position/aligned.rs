//! [`AlignedBursts`]: assignment of bursts to the columns of an alignment.

use crate::{Alignment, ClusterId, Error, Result};

/// [`Alignment`] of bursts instead of clusters, which stays valid when clusters are split. Each row
/// is one thread; its cells are points of an [`Observation`](crate::tracking::Observation) or gaps.
///
/// ```
/// use perf_track::{Alignment, ClusterId, tracking::AlignedBursts};
/// // Rank 0 computes clusters 1 and 2, rank 1 skips the first.
/// let (one, two) = (Some(ClusterId(1)), Some(ClusterId(2)));
/// let alignment = Alignment::from_rows(&[vec![one, two], vec![None, two]])?;
/// let bursts = AlignedBursts::of(&alignment, &[vec![0, 1], vec![2]])?;
/// assert_eq!(bursts.rows(), [[Some(0), Some(1)], [None, Some(2)]]);
/// # Ok::<(), perf_track::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct AlignedBursts {
    /// Points of each thread; `None` for gaps.
    rows: Vec<Vec<Option<u32>>>,
}

impl AlignedBursts {
    /// Creates an alignment from rows of points and gaps, all of the same length.
    ///
    /// # Errors
    /// Returns an error if rows differ in length.
    pub fn new(rows: Vec<Vec<Option<u32>>>) -> Result<Self> {
        let columns = rows.first().map_or(0, Vec::len);
        match rows.iter().find(|row| row.len() != columns) {
            Some(row) => Err(Error::Length {
                what: "columns of a row",
                expected: columns,
                got: row.len(),
            }),
            None => Ok(AlignedBursts { rows }),
        }
    }

    /// Creates an alignment of bursts from an alignment of clusters and the points from which that
    /// alignment was computed: for each thread its points in order of time.
    ///
    /// # Errors
    /// Returns an error if there is not one list of points for each thread, or if the length of a
    /// list differs from the number of bursts of its thread in the alignment.
    pub fn of(alignment: &Alignment, points: &[Vec<u32>]) -> Result<Self> {
        let length = |what, expected, got| {
            if expected == got {
                Ok(())
            } else {
                Err(Error::Length {
                    what,
                    expected,
                    got,
                })
            }
        };
        length("threads of an alignment", alignment.threads(), points.len())?;
        let mut rows = Vec::with_capacity(points.len());
        for (thread, points) in points.iter().enumerate() {
            let places = alignment.places(thread).unwrap_or(&[]);
            length("points of an aligned thread", places.len(), points.len())?;
            let mut row = vec![None; alignment.columns()];
            for (&place, &point) in places.iter().zip(points) {
                if let Some(cell) = row.get_mut(place as usize) {
                    *cell = Some(point);
                }
            }
            rows.push(row);
        }
        Ok(AlignedBursts { rows })
    }

    /// Returns the points of each thread; `None` for gaps.
    pub fn rows(&self) -> &[Vec<Option<u32>>] {
        &self.rows
    }

    /// Returns the alignment of the clusters of the points.
    pub(in crate::tracking) fn labelled(&self, labels: &[ClusterId]) -> Result<Alignment> {
        let label = |point: &Option<u32>| labels.get((*point)? as usize).copied();
        let rows = self.rows.iter().map(|row| row.iter().map(label).collect());
        Alignment::from_rows(&rows.collect::<Vec<Vec<_>>>())
    }
}

/// Returns the clusters of each column of an alignment as indices, without noise.
pub(in crate::tracking) fn sets(alignment: &Alignment) -> Vec<Vec<usize>> {
    let set = |column| {
        let clusters = alignment.column(column).iter();
        clusters.filter_map(|(id, _)| id.index()).collect()
    };
    (0..alignment.columns()).map(set).collect()
}
