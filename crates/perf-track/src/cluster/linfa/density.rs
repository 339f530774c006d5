//! [`LinfaDbscan`] and [`LinfaOptics`]: density-based clustering by linfa.

use super::{array, at_least, check_eps, failed, numbered};
use crate::cluster::{Clusterer, Dbscan};
use crate::{Labels, Points, Result};
use linfa::ParamGuard;
use linfa::traits::Transformer;
use perf_core::Job;

/// DBSCAN of linfa, with the same core points and clusters as [`Dbscan`](crate::cluster::Dbscan). A
/// border point belongs to the first cluster that reaches it.
///
/// Cancellation takes effect only before the clustering starts, see the [module](crate::cluster::linfa).
#[derive(Clone, Debug, PartialEq)]
pub struct LinfaDbscan {
    /// Radius.
    eps: f64,
    /// Minimum number of points.
    min_points: usize,
}

impl LinfaDbscan {
    /// Creates a clusterer from a radius and the number of points within it that make a point core,
    /// itself included.
    ///
    /// # Errors
    /// Returns [`Error::Parameter`](crate::Error::Parameter) for a radius outside of 1e-150..1e150,
    /// or fewer than 2 points.
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

/// OPTICS of linfa (Ankerst et al. 1999): orders the points so that clusters are valleys of the
/// reachability distance, and cuts the valleys at one level.
///
/// Cancellation takes effect only before the clustering starts, see the [module](crate::cluster::linfa).
#[derive(Clone, Debug, PartialEq)]
pub struct LinfaOptics {
    /// Largest radius.
    max_eps: f64,
    /// Minimum number of points.
    min_points: usize,
    /// Level of the cut.
    cut: f64,
}

impl LinfaOptics {
    /// Creates a clusterer from the largest radius, the number of points within it that make a
    /// point core, and the level (at most this radius) below which reachability makes a cluster.
    /// The clusters are those of DBSCAN with the level as eps, except for border points.
    ///
    /// # Errors
    /// Returns [`Error::Parameter`](crate::Error::Parameter) for a radius outside of 1e-150..1e150,
    /// a level above the radius, or fewer than 2 points.
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
        // ExtractDBSCAN-Clustering of Ankerst et al., figure 8. linfa assigns the first point of
        // each run its own core distance, which the paper leaves undefined: these are the first
        // core points of their clusters at the largest radius.
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
