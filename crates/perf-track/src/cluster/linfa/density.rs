//! DBSCAN and OPTICS of linfa.

use super::{array, at_least, check_eps, failed, numbered};
use crate::cluster::{Clusterer, Dbscan};
use crate::{Labels, Points, Result};
use linfa::ParamGuard;
use linfa::traits::Transformer;
use perf_core::Job;

/// DBSCAN of linfa: the same core points and clusters as [`Dbscan`](crate::cluster::Dbscan), a
/// border point to the first cluster that reaches it.
///
/// Cancelling stops it before it starts, not within: see the [module](crate::cluster::linfa).
#[derive(Clone, Debug, PartialEq)]
pub struct LinfaDbscan {
    eps: f64,
    min_points: usize,
}

impl LinfaDbscan {
    /// Radius, and points within it that make a point core, itself included.
    ///
    /// # Errors
    /// A radius out of 1e-150..1e150, or less than 2 points.
    pub fn new(eps: f64, min_points: usize) -> Result<Self> {
        Ok(LinfaDbscan {
            eps: check_eps("eps", eps)?,
            min_points: at_least("min_points", min_points, 2, "at least 2")?,
        })
    }
}

impl Clusterer for LinfaDbscan {
    fn cluster(&self, points: Points<'_>, job: &Job) -> Result<Labels> {
        job.check()?;
        if points.is_empty() {
            return Ok(Labels::default());
        }
        let params = linfa_clustering::Dbscan::params(self.min_points).tolerance(self.eps);
        let params = params
            .check()
            .map_err(|error| failed("linfa DBSCAN", error))?;
        let clusters = params.transform(&array(points)?);
        Ok(numbered(clusters.into_iter()))
    }
}

/// OPTICS of linfa (Ankerst et al. 1999): the points in an order in which clusters are valleys of
/// the reachability distance, cut at one level.
///
/// Cancelling stops it before it starts, not within: see the [module](crate::cluster::linfa).
#[derive(Clone, Debug, PartialEq)]
pub struct LinfaOptics {
    max_eps: f64,
    min_points: usize,
    cut: f64,
}

impl LinfaOptics {
    /// Largest radius that is looked at, points within it that make a point core, and the level
    /// (at most that radius) below which reachability makes a cluster: as DBSCAN with that eps would,
    /// but for border points.
    ///
    /// # Errors
    /// A radius out of 1e-150..1e150, a cut above it, or less than 2 points.
    pub fn new(max_eps: f64, min_points: usize, cut: f64) -> Result<Self> {
        let max_eps = check_eps("max_eps", max_eps)?;
        if cut > max_eps {
            return Err(crate::Error::Parameter {
                name: "cut",
                value: cut.to_string(),
                range: "at most max_eps",
            });
        }
        Ok(LinfaOptics {
            max_eps,
            min_points: at_least("min_points", min_points, 2, "at least 2")?,
            cut: check_eps("cut", cut)?,
        })
    }
}

impl Clusterer for LinfaOptics {
    fn cluster(&self, points: Points<'_>, job: &Job) -> Result<Labels> {
        job.check()?;
        if points.is_empty() {
            return Ok(Labels::default());
        }
        let params = linfa_clustering::Optics::params(self.min_points).tolerance(self.max_eps);
        let params = params
            .check()
            .map_err(|error| failed("linfa OPTICS", error))?;
        let order = params.transform(array(points)?);
        // ExtractDBSCAN-Clustering of Ankerst et al., figure 8. linfa gives the first point of each
        // stretch its own core distance where theirs is undefined: these are the first core points
        // of their clusters at the largest radius.
        let whole = Dbscan::params()
            .eps(self.max_eps)
            .min_points(self.min_points);
        let whole = Dbscan::new(whole.check()?).scan(points, &job.without_progress())?;
        let mut begun = vec![false; whole.labels().clusters() + 1];
        let (mut clusters, mut current, mut next) = (vec![None; points.len()], None, 0);
        let within = |distance: &Option<f64>| distance.is_some_and(|value| value <= self.cut);
        for sample in order.iter() {
            let at = sample.index();
            let is_core = whole.core().get(at) == Some(&true);
            let id = whole.labels().as_slice()[at].0 as usize;
            let begins = is_core && !std::mem::replace(&mut begun[id], true);
            if begins || !within(sample.reachability_distance()) {
                current = within(sample.core_distance()).then_some(next);
                next += usize::from(current.is_some());
            }
            if let Some(cluster) = clusters.get_mut(at) {
                *cluster = current;
            }
        }
        Ok(numbered(clusters.into_iter()))
    }
}
