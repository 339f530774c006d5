//! [`SpmdScore`]: degree to which all threads execute the same cluster at the same time, with the
//! score of each cluster ([`ClusterScore`]); [`time_shares`]: share of each cluster in the time.

use super::Alignment;
use crate::{Bursts, ClusterId, Error, Kind, Labels, Result};

/// Score of one cluster.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ClusterScore {
    /// Number of the cluster; noise has a separate entry.
    pub cluster: ClusterId,
    /// Mean fraction of threads that have the cluster, in `0.0..=1.0`, over the columns in which the
    /// cluster occurs; 0 if it occurs in no column.
    pub score: f64,
    /// Number of columns in which the cluster occurs.
    pub columns: usize,
    /// Fraction of the time of the cluster.
    pub share: f64,
}

impl ClusterScore {
    /// Returns the contribution of the cluster to the total score.
    pub fn weighted(&self) -> f64 {
        self.share * self.score
    }
}

/// Degree to which all threads execute the same cluster at the same time, in `0.0..=1.0`.
///
/// In column `c` of an alignment of `T` threads, `n_k(c)` threads have cluster `k`. The score of the
/// cluster is the mean of `n_k(c) / T` over the columns with `n_k(c) > 0`. The total score is the sum
/// over the clusters, weighted by their fraction of the time. A gap lowers the scores of all clusters
/// in its column.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct SpmdScore {
    /// Total score.
    pub global: f64,
    /// Clusters, noise first, then by number.
    pub clusters: Vec<ClusterScore>,
}

impl SpmdScore {
    pub(super) fn new(alignment: &Alignment, shares: &[f64]) -> Self {
        let mut found = vec![(0_u64, 0_usize); shares.len()];
        for column in 0..alignment.columns() {
            for (cluster, threads) in alignment.column(column) {
                if let Some(found) = found.get_mut(cluster.0 as usize) {
                    found.0 += u64::from(*threads);
                    found.1 += 1;
                }
            }
        }
        let threads = alignment.threads().max(1) as f64;
        let clusters = found.iter().zip(shares).enumerate();
        let clusters: Vec<ClusterScore> = clusters
            .map(|(id, (&(members, columns), &share))| ClusterScore {
                cluster: ClusterId(id as u32),
                score: match columns {
                    0 => 0.0,
                    _ => members as f64 / columns as f64 / threads,
                },
                columns,
                share,
            })
            .collect();
        SpmdScore {
            global: clusters.iter().map(ClusterScore::weighted).sum(),
            clusters,
        }
    }
}

/// Returns the fraction of the time of all complete bursts for each cluster, noise first.
///
/// ```
/// use perf_core::Nanos;
/// use perf_track::{Burst, Bursts, ClusterId, Labels, Thread, time_shares};
/// let mut bursts = Bursts::new(["instructions"]);
/// let thread = bursts.add_thread(Thread::default())?;
/// for (begin, end) in [(0, 90), (100, 109), (200, 290)] {
///     let burst = Burst { thread, begin: Nanos(begin), end: Nanos(end), ..Burst::default() };
///     bursts.push(burst, &[1e6])?;
/// }
/// let labels = Labels::new(vec![ClusterId(1), ClusterId::NOISE, ClusterId(1)]);
/// let shares = time_shares(&bursts, &labels)?;
/// assert!((shares[0] - 9.0 / 189.0).abs() < 1e-12 && (shares[1] - 180.0 / 189.0).abs() < 1e-12);
/// # Ok::<(), perf_track::Error>(())
/// ```
///
/// # Errors
/// Returns an error if there is not one label for each burst, or for a cluster number above the
/// number of bursts.
pub fn time_shares(bursts: &Bursts, labels: &Labels) -> Result<Vec<f64>> {
    if labels.len() != bursts.len() {
        return Err(Error::Length {
            what: "labels of bursts",
            expected: bursts.len(),
            got: labels.len(),
        });
    }
    let mut times = vec![0.0; labels.numbered()? + 1];
    let each = bursts.durations().into_iter().zip(bursts.kinds());
    for ((time, kind), label) in each.zip(labels.as_slice()) {
        if *kind == Kind::Complete
            && let Some(sum) = times.get_mut(label.0 as usize)
        {
            *sum += time;
        }
    }
    let total: f64 = times.iter().sum();
    if total > 0.0 {
        times.iter_mut().for_each(|time| *time /= total);
    }
    Ok(times)
}
