//! [`Alignment`]: sequences of clusters with gaps, so that corresponding bursts share a column; its
//! consensus, pivots and simultaneity of clusters.

use super::{Sequences, SpmdScore};
use crate::{ClusterId, Error, Result};

/// Sequences of clusters in columns. Each thread has at most one burst in a column, and the bursts of
/// a thread are in order of time. Memory is proportional to the number of bursts.
///
/// ```
/// use perf_track::{Alignment, ClusterId};
/// let (one, two) = (Some(ClusterId(1)), Some(ClusterId(2)));
/// let alignment = Alignment::from_rows(&[vec![one, two, one], vec![one, None, one]])?;
/// assert_eq!(alignment.column(1), [(ClusterId(2), 1)]);
/// // Cluster 1 is in two columns on all threads; cluster 2 in one, on half of them.
/// let score = alignment.score(&[0.0, 0.8, 0.2]);
/// assert_eq!((score.clusters[1].score, score.clusters[2].score), (1.0, 0.5));
/// assert!((score.global - 0.9).abs() < 1e-12);
/// # Ok::<(), perf_track::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Alignment {
    /// Sequences without gaps.
    sequences: Sequences,
    /// Column of each burst of each different sequence, ascending.
    places: Vec<Vec<u32>>,
    /// First entry of each column in `entries`, and the end of the last.
    starts: Vec<usize>,
    /// Clusters of each column in ascending order, each with the number of threads that have it in the
    /// column.
    entries: Vec<(ClusterId, u32)>,
}

impl Alignment {
    /// Creates an alignment from rows, one for each thread. All rows must have the same length.
    ///
    /// # Errors
    /// Returns [`Error::Length`] if a row differs in length from the first.
    pub fn from_rows(rows: &[Vec<Option<ClusterId>>]) -> Result<Self> {
        let columns = rows.first().map_or(0, Vec::len);
        // Threads with the same sequence may have different gaps here, so that the sequence of each
        // thread is stored.
        let mut sequences = Vec::with_capacity(rows.len());
        let mut places = Vec::with_capacity(rows.len());
        for row in rows {
            if row.len() != columns {
                return Err(Error::Length {
                    what: "columns of a row",
                    expected: columns,
                    got: row.len(),
                });
            }
            let there = row.iter().enumerate();
            let there = there.filter_map(|(column, id)| Some((column as u32, (*id)?)));
            let (columns, clusters): (Vec<u32>, Vec<ClusterId>) = there.unzip();
            places.push(columns);
            sequences.push(clusters);
        }
        Ok(Self::new(Sequences::apart(sequences), places, columns))
    }

    /// Creates an alignment. `places` holds the column of each burst of each different sequence.
    pub(super) fn new(sequences: Sequences, places: Vec<Vec<u32>>, columns: usize) -> Self {
        let mut weights = vec![0_u32; places.len()];
        for which in sequences.which() {
            if let Some(weight) = weights.get_mut(*which as usize) {
                *weight += 1;
            }
        }
        let mut all: Vec<(u32, ClusterId, u32)> = Vec::new();
        for ((sequence, places), weight) in sequences.all().iter().zip(&places).zip(&weights) {
            let each = places.iter().zip(sequence);
            all.extend(each.map(|(column, cluster)| (*column, *cluster, *weight)));
        }
        all.sort_unstable();
        let mut starts = vec![0];
        let mut entries: Vec<(ClusterId, u32)> = Vec::new();
        let mut last = None;
        for (column, cluster, weight) in all {
            if last == Some((column, cluster)) {
                if let Some(entry) = entries.last_mut() {
                    entry.1 += weight;
                }
                continue;
            }
            last = Some((column, cluster));
            while starts.len() <= column as usize {
                starts.push(entries.len());
            }
            entries.push((cluster, weight));
        }
        while starts.len() <= columns {
            starts.push(entries.len());
        }
        Alignment {
            sequences,
            places,
            starts,
            entries,
        }
    }

    /// Returns the number of threads.
    pub fn threads(&self) -> usize {
        self.sequences.len()
    }

    /// Returns the number of columns.
    pub fn columns(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Returns the sequences without gaps.
    pub fn sequences(&self) -> &Sequences {
        &self.sequences
    }

    /// Returns the clusters of a column in ascending order, each with the number of threads that
    /// have it in the column. Empty for a column that does not exist.
    pub fn column(&self, column: usize) -> &[(ClusterId, u32)] {
        let range = self.starts.get(column).zip(self.starts.get(column + 1));
        let range = range.and_then(|(start, end)| self.entries.get(*start..*end));
        range.unwrap_or_default()
    }

    /// Returns the number of threads with a gap in a column.
    pub fn gaps(&self, column: usize) -> usize {
        let there: u32 = self.column(column).iter().map(|(_, threads)| threads).sum();
        self.threads() - there as usize
    }

    /// Returns the column of each burst of a thread, ascending; `None` if the thread does not exist.
    pub fn places(&self, thread: usize) -> Option<&[u32]> {
        let which = *self.sequences.which().get(thread)?;
        self.places.get(which as usize).map(Vec::as_slice)
    }

    /// Returns the cluster of a thread in each column, `None` for a gap; `None` if the thread does not
    /// exist.
    pub fn row(&self, thread: usize) -> Option<Vec<Option<ClusterId>>> {
        let mut row = vec![None; self.columns()];
        let sequence = self.sequences.get(thread)?;
        for (column, cluster) in self.places(thread)?.iter().zip(sequence) {
            if let Some(slot) = row.get_mut(*column as usize) {
                *slot = Some(*cluster);
            }
        }
        Some(row)
    }

    /// Returns the consensus: the most frequent cluster of each column that contains at least half of
    /// the threads; in a tie the lower cluster.
    pub fn consensus(&self) -> Vec<ClusterId> {
        let columns = (0..self.columns()).filter(|column| 2 * self.gaps(*column) <= self.threads());
        let most = |column| {
            let clusters = self.column(column).iter().rev();
            clusters
                .max_by_key(|(_, threads)| *threads)
                .map(|(cluster, _)| *cluster)
        };
        columns.filter_map(most).collect()
    }

    /// Returns the pivots: columns in which all threads without a gap have the same cluster other than
    /// noise, each with this cluster.
    pub fn pivots(&self) -> Vec<(usize, ClusterId)> {
        let alone = |column: usize| match self.column(column) {
            [(cluster, _)] if !cluster.is_noise() => Some((column, *cluster)),
            _ => None,
        };
        (0..self.columns()).filter_map(alone).collect()
    }

    /// Returns the simultaneity of clusters: entry `[i][k]` is 100 times the number of columns with
    /// both clusters `i` and `k`, divided by the number of columns with `i`; 0 if no column has `i`.
    /// Entry 0 is noise, and `clusters` is the number of further entries.
    pub fn simultaneity(&self, clusters: usize) -> Vec<Vec<f64>> {
        let mut both = vec![vec![0.0; clusters + 1]; clusters + 1];
        for column in 0..self.columns() {
            let found = self.column(column);
            for (i, _) in found {
                for (k, _) in found {
                    let row = both.get_mut(i.0 as usize);
                    if let Some(entry) = row.and_then(|row| row.get_mut(k.0 as usize)) {
                        *entry += 1.0;
                    }
                }
            }
        }
        for (i, row) in both.iter_mut().enumerate() {
            let own = row[i];
            if own > 0.0 {
                row.iter_mut().for_each(|entry| *entry *= 100.0 / own);
            }
        }
        both
    }

    /// Computes the SPMD score of the alignment. `shares` holds the fraction of the time of each
    /// cluster, noise first, as returned by [`time_shares`](crate::time_shares). Clusters without an
    /// entry are skipped.
    pub fn score(&self, shares: &[f64]) -> SpmdScore {
        SpmdScore::new(self, shares)
    }
}
