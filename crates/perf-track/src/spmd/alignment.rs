//! [`Alignment`]: sequences with gaps, so that what belongs together stands in one column.

use super::{Sequences, SpmdScore};
use crate::{ClusterId, Error, Result};

/// Sequences of clusters in columns: of a thread at most one burst is in a column, and its bursts
/// are in the order of time. Takes memory in proportion to the bursts.
///
/// ```
/// use perf_track::{Alignment, ClusterId};
/// let (one, two) = (Some(ClusterId(1)), Some(ClusterId(2)));
/// let alignment = Alignment::from_rows(&[vec![one, two, one], vec![one, None, one]])?;
/// assert_eq!(alignment.column(1), [(ClusterId(2), 1)]);
/// // Cluster 1 is in 2 columns, in both on all threads; cluster 2 in one, on half of them.
/// let score = alignment.score(&[0.0, 0.8, 0.2]);
/// assert_eq!((score.clusters[1].score, score.clusters[2].score), (1.0, 0.5));
/// assert!((score.global - 0.9).abs() < 1e-12);
/// # Ok::<(), perf_track::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Alignment {
    sequences: Sequences,
    /// For each different sequence the column of each of its bursts, ascending.
    places: Vec<Vec<u32>>,
    /// Where the entries of each column begin in `entries`, and of the last one end.
    starts: Vec<usize>,
    /// Clusters of a column, ascending, with the number of threads that have it there.
    entries: Vec<(ClusterId, u32)>,
}

impl Alignment {
    /// An alignment made elsewhere or by hand: one row a thread, all of one length.
    ///
    /// # Errors
    /// [`Error::Length`] for a row of another length than the first.
    pub fn from_rows(rows: &[Vec<Option<ClusterId>>]) -> Result<Self> {
        let columns = rows.first().map_or(0, Vec::len);
        // Threads of one sequence may have different gaps here, so that each is one of its own.
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

    /// `places` has the column of each burst of each different sequence.
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

    /// How many threads there are.
    pub fn threads(&self) -> usize {
        self.sequences.len()
    }

    /// How many columns there are.
    pub fn columns(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// The sequences, without gaps.
    pub fn sequences(&self) -> &Sequences {
        &self.sequences
    }

    /// The clusters of a column, ascending, each with the number of threads that have it there.
    pub fn column(&self, column: usize) -> &[(ClusterId, u32)] {
        let range = self.starts.get(column).zip(self.starts.get(column + 1));
        let range = range.and_then(|(start, end)| self.entries.get(*start..*end));
        range.unwrap_or_default()
    }

    /// How many threads have a gap in a column.
    pub fn gaps(&self, column: usize) -> usize {
        let there: u32 = self.column(column).iter().map(|(_, threads)| threads).sum();
        self.threads() - there as usize
    }

    /// The column of each burst of a thread, ascending.
    pub fn places(&self, thread: usize) -> Option<&[u32]> {
        let which = *self.sequences.which().get(thread)?;
        self.places.get(which as usize).map(Vec::as_slice)
    }

    /// A thread's clusters with gaps.
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

    /// The sequence of the whole: of each column that at least half of the threads are in, the
    /// cluster most of them have there, the lower one of two as frequent.
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

    /// The columns in which all that compute compute the same, with that cluster, which is not
    /// noise.
    pub fn pivots(&self) -> Vec<(usize, ClusterId)> {
        let alone = |column: usize| match self.column(column) {
            [(cluster, _)] if !cluster.is_noise() => Some((column, *cluster)),
            _ => None,
        };
        (0..self.columns()).filter_map(alone).collect()
    }

    /// How often clusters stand in one column: entry `[i][k]` is 100 times the columns with both
    /// cluster `i` and `k`, by the columns with `i`; 0 where there are none. Noise is entry 0, and
    /// there are `clusters` more.
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

    /// How much all threads compute the same at the same time. `shares` has the share of the time
    /// of each cluster, noise first, as [`time_shares`](crate::time_shares) gives them; clusters
    /// past its end do not count.
    pub fn score(&self, shares: &[f64]) -> SpmdScore {
        SpmdScore::new(self, shares)
    }
}
