//! Increase of the chosen DBSCAN radius (eps) until at most a given share of the weight of the
//! points is left in noise ([`noise_weight`]).

use super::{EpsSearch, EpsStep};
use crate::{Labels, Points, Result};
use perf_core::Job;
use std::collections::BTreeMap;

/// Clusters for one eps, and the share of noise.
pub(super) struct Tried {
    /// Radius.
    pub(super) eps: f64,
    /// Cluster of each point.
    pub(super) labels: Labels,
    /// Fraction of the weight that is noise, in `0.0..=1.0`.
    pub(super) noise: f64,
}

impl EpsSearch {
    /// Returns the smallest eps above `base`, in or beyond the sweep, that leaves no more noise than
    /// allowed, and the additional steps. `None` if the base already does so, or if a larger eps would
    /// join more weight of clusters than it takes in from noise.
    pub(super) fn take_in(
        &self,
        (points, weights): (Points<'_>, &[f64]),
        base: &Tried,
        sweep: &[EpsStep],
        job: &Job,
    ) -> Result<Option<Tried>> {
        let wanted = self.0.noise();
        if base.noise <= wanted {
            return Ok(None);
        }
        let steps = (2.0 * self.0.octaves()).round() as i32;
        let above = sweep.iter().map(|step| step.eps);
        let above = above.filter(|&eps| eps > base.eps * (1.0 + 1e-9));
        let last = sweep.last().map_or(base.eps, |step| step.eps);
        let beyond = (1..=steps).map(|step| last * 2.0_f64.powf(f64::from(step) / 2.0));
        let mut below = base.eps;
        for eps in above.chain(beyond).filter(|&eps| eps <= 1e150) {
            let tried = self.tried((points, weights), eps, job)?;
            job.advance("eps sweep", 1, 0);
            if tried.labels.clusters() < 2 {
                return Ok(None);
            }
            if tried.noise <= wanted {
                let tried = self.least((points, weights), below, tried, job)?;
                let tied = self.tied(&base.labels, &tried.labels, weights)?;
                return Ok((tied <= base.noise - tried.noise).then_some(tried));
            }
            below = eps;
        }
        Ok(None)
    }

    /// Bisects between `below`, which leaves too much noise, and `tried`, which does not, to the smallest
    /// sufficient eps within a 16th of an octave. Steps of half an octave could join clusters that a
    /// smaller eps separates.
    fn least(
        &self,
        (points, weights): (Points<'_>, &[f64]),
        mut below: f64,
        mut tried: Tried,
        job: &Job,
    ) -> Result<Tried> {
        while tried.eps / below > 2.0_f64.powf(1.0 / 16.0) {
            let middle = (below * tried.eps).sqrt();
            let between = self.tried((points, weights), middle, job)?;
            if between.noise <= self.0.noise() && between.labels.clusters() >= 2 {
                tried = between;
            } else {
                below = middle;
            }
        }
        Ok(tried)
    }

    pub(super) fn tried(
        &self,
        (points, weights): (Points<'_>, &[f64]),
        eps: f64,
        job: &Job,
    ) -> Result<Tried> {
        let labels = self.cluster(points, eps, job)?;
        let noise = noise_weight(&labels, weights);
        Ok(Tried { eps, labels, noise })
    }

    /// Returns the fraction of the weight in clusters of `before` that `after` joins with a heavier
    /// cluster. Clusters with less than twice the points of a neighbourhood are ignored, because they
    /// are usually fragments of a sparse phase.
    fn tied(&self, before: &Labels, after: &Labels, weights: &[f64]) -> Result<f64> {
        let sizes = before.sizes()?;
        let mut parts: BTreeMap<(usize, usize), f64> = BTreeMap::new();
        let pairs = before.as_slice().iter().zip(after.as_slice());
        for ((from, to), weight) in pairs.zip(weights) {
            if let (Some(from), Some(to)) = (from.index(), to.index())
                && sizes[from] >= 2 * self.0.min_points()
            {
                *parts.entry((to, from)).or_default() += weight;
            }
        }
        let mut heaviest: BTreeMap<usize, f64> = BTreeMap::new();
        for (&(to, _), &weight) in &parts {
            let most = heaviest.entry(to).or_default();
            *most = most.max(weight);
        }
        let all: f64 = parts.values().sum();
        let kept: f64 = heaviest.values().sum();
        Ok((all - kept) / weights.iter().sum::<f64>().max(f64::MIN_POSITIVE))
    }
}

/// Returns the fraction of the weight that is in no cluster, in `0.0..=1.0`.
pub(super) fn noise_weight(labels: &Labels, weights: &[f64]) -> f64 {
    let all = labels.as_slice().iter().zip(weights);
    let noise = all
        .filter(|(id, _)| id.is_noise())
        .map(|(_, weight)| weight);
    // The empty sum is 0, not -0.
    let noise = noise.fold(0.0, |sum, weight| sum + weight);
    noise / weights.iter().sum::<f64>().max(f64::MIN_POSITIVE)
}
