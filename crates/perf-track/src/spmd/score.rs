//! [`SpmdScore`]: how much all threads compute the same at the same time.

use super::Alignment;
use crate::{Bursts, ClusterId, Error, Kind, Labels, Result};

/// The score of one cluster.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ClusterScore {
    /// The cluster; noise is one of its own.
    pub cluster: ClusterId,
    /// Mean over the columns in which it appears of the share of threads that have it there, from
    /// 0 to 1; 0 where it appears in none.
    pub score: f64,
    /// The columns in which it appears.
    pub columns: usize,
    /// Its share of the time.
    pub share: f64,
}

impl ClusterScore {
    /// What it adds to the score of the whole.
    pub fn weighted(&self) -> f64 {
        self.share * self.score
    }
}

/// How much all threads compute the same at the same time, from 0 to 1.
///
/// For a column `c` of an alignment of `T` threads, `n_k(c)` of which have cluster `k` there, the
/// score of the cluster is the mean of `n_k(c) / T` over the columns with `n_k(c) > 0`, and that of
/// the whole the sum over the clusters, weighted by their share of the time. A gap counts against
/// all clusters of its column.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct SpmdScore {
    /// The score of the whole.
    pub global: f64,
    /// The clusters, noise first, then by number.
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

/// The share of each cluster, noise first, in the time of all complete bursts.
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
/// Not one label a burst, or a cluster of a number above that of the bursts.
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
