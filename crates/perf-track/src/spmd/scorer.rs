//! [`SpmdScorer`]: the SPMD score as the criterion of a refinement of clusters.

use super::{Align, Alignment, Sequences, time_shares};
use crate::cluster::Score;
use crate::{Bursts, ClusterId, Error, Labels, Result};
use perf_core::Job;

/// Scores clusters of bursts by the SPMD score, which is the published [`Score`] of aggregative
/// cluster refinement.
///
/// ```
/// use perf_core::{Job, Nanos};
/// use perf_track::cluster::Refinement;
/// use perf_track::{Align, Burst, Bursts, Points, SpmdScorer, Thread};
/// // Two threads alternate a long and a short step; the second one is slightly slower.
/// let mut bursts = Bursts::new(["steps"]);
/// let (mut rows, mut values) = (Vec::new(), Vec::new());
/// for thread in 0..2 {
///     bursts.add_thread(Thread { process: thread, ..Default::default() })?;
///     for step in 0..20_i64 {
///         let (begin, end) = (Nanos(10 * step), Nanos(10 * step + 1 + 8 * (step % 2)));
///         values.push(f64::from(thread) * 0.1 + (step % 2) as f64);
///         rows.push(bursts.len() as u32);
///         bursts.push(Burst { thread, begin, end, ..Default::default() }, &[1.0])?;
///     }
/// }
/// values.iter_mut().enumerate().for_each(|(at, value)| *value += 0.001 * (at % 7) as f64);
/// let scorer = SpmdScorer::new(&bursts, &rows, Align::default());
/// let refinement = Refinement::new(Refinement::params().min_points(4).check()?);
/// let points = Points::new(&values, 1)?;
/// let refined = refinement.run(points, &bursts.durations(), &scorer, &Job::default())?;
/// // Steps that differ between the two threads are still one phase.
/// assert_eq!(refined.labels.sizes()?, [20, 20]);
/// # Ok::<(), perf_track::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SpmdScorer<'a> {
    /// Bursts of the experiment.
    bursts: &'a Bursts,
    /// Burst of each point.
    rows: &'a [u32],
    /// Method of alignment.
    align: Align,
}

impl<'a> SpmdScorer<'a> {
    /// Creates a scorer for labels of points. `rows` holds the burst of each point. Complete bursts
    /// that are no points count as noise.
    pub fn new(bursts: &'a Bursts, rows: &'a [u32], align: Align) -> Self {
        SpmdScorer {
            bursts,
            rows,
            align,
        }
    }

    /// Returns the aligned sequences of all threads, and the fraction of each cluster in the time.
    fn aligned(&self, labels: &Labels, job: &Job) -> Result<(Alignment, Vec<f64>)> {
        if labels.len() != self.rows.len() {
            return Err(Error::Length {
                what: "labels of points",
                expected: self.rows.len(),
                got: labels.len(),
            });
        }
        let mut all = vec![ClusterId::NOISE; self.bursts.len()];
        for (&row, &label) in self.rows.iter().zip(labels.as_slice()) {
            let count = all.len();
            let slot = all.get_mut(row as usize).ok_or(Error::Unknown {
                what: "burst",
                id: row as usize,
                count,
            })?;
            *slot = label;
        }
        let all = Labels::new(all);
        let sequences = Sequences::of(self.bursts, &all)?;
        let shares = time_shares(self.bursts, &all)?;
        let alignment = self
            .align
            .align(&sequences, &shares, &job.without_progress())?;
        Ok((alignment, shares))
    }
}

impl Score for SpmdScorer<'_> {
    fn scores(&self, labels: &Labels, job: &Job) -> Result<Vec<f64>> {
        let (alignment, shares) = self.aligned(labels, job)?;
        let clusters = alignment.score(&shares).clusters;
        Ok(clusters.iter().skip(1).map(|of| of.score).collect())
    }

    fn simultaneous(&self, labels: &Labels, job: &Job) -> Result<Vec<Vec<ClusterId>>> {
        let (alignment, _) = self.aligned(labels, job)?;
        let column = |column| alignment.column(column).iter().map(|(id, _)| *id).collect();
        Ok((0..alignment.columns()).map(column).collect())
    }
}
