//! [`LinfaKMeans`] and [`LinfaMixture`]: clustering by linfa into a given number of clusters, without noise.

use super::{array, at_least, failed, numbered};
use crate::cluster::Clusterer;
use crate::{Labels, Points, Result};
use linfa::traits::{Fit, Predict};
use linfa::{DatasetBase, ParamGuard};
use perf_core::Job;

/// k-means of linfa, initialised by k-means++ from a fixed seed. The result is the best of ten runs.
///
/// Cancellation takes effect only before the clustering starts, see the [module](crate::cluster::linfa).
#[derive(Clone, Debug, PartialEq)]
pub struct LinfaKMeans {
    /// Number of clusters.
    clusters: usize,
}

impl LinfaKMeans {
    /// Creates a clusterer for a number of clusters, at least 1.
    ///
    /// # Errors
    /// Returns [`Error::Parameter`](crate::Error::Parameter) for 0 clusters.
    pub fn new(clusters: usize) -> Result<Self> {
        Ok(LinfaKMeans {
            clusters: at_least("clusters", clusters, 1, "at least 1")?,
        })
    }
}

impl Clusterer for LinfaKMeans {
    /// # Errors
    /// Returns an error for fewer points than clusters, and the errors of linfa.
    fn cluster(&self, points: Points<'_>, job: &Job) -> Result<Labels> {
        job.check()?;
        enough("linfa k-means", points, self.clusters)?;
        let data = DatasetBase::from(array(points)?);
        let params = linfa_clustering::KMeans::params(self.clusters);
        let params = params
            .check()
            .map_err(|error| failed("linfa k-means", error))?;
        let model = params
            .fit(&data)
            .map_err(|error| failed("linfa k-means", error))?;
        Ok(numbered(
            model.predict(&data).iter().map(|&cluster| Some(cluster)),
        ))
    }
}

/// Mixture of Gaussians with full covariances, fitted by linfa. Each point belongs to the most
/// likely component.
///
/// Cancellation takes effect only before the clustering starts, see the [module](crate::cluster::linfa).
#[derive(Clone, Debug, PartialEq)]
pub struct LinfaMixture {
    /// Number of components.
    clusters: usize,
}

impl LinfaMixture {
    /// Creates a clusterer for a number of Gaussians, at least 1.
    ///
    /// # Errors
    /// Returns [`Error::Parameter`](crate::Error::Parameter) for 0 Gaussians.
    pub fn new(clusters: usize) -> Result<Self> {
        Ok(LinfaMixture {
            clusters: at_least("clusters", clusters, 1, "at least 1")?,
        })
    }
}

impl Clusterer for LinfaMixture {
    /// # Errors
    /// Returns an error for fewer points than clusters or points that span no volume, and the
    /// errors of linfa.
    fn cluster(&self, points: Points<'_>, job: &Job) -> Result<Labels> {
        job.check()?;
        enough("linfa Gaussian mixture", points, self.clusters)?;
        let data = DatasetBase::from(array(points)?.to_owned());
        let params = linfa_clustering::GaussianMixtureModel::params(self.clusters);
        let params = params
            .check()
            .map_err(|error| failed("linfa Gaussian mixture", error))?;
        let model = params
            .fit(&data)
            .map_err(|error| failed("linfa Gaussian mixture", error))?;
        Ok(numbered(
            model.predict(&data).iter().map(|&cluster| Some(cluster)),
        ))
    }
}

fn enough(backend: &'static str, points: Points<'_>, clusters: usize) -> Result<()> {
    if points.len() >= clusters {
        return Ok(());
    }
    let why = format!("{} points for {clusters} clusters", points.len());
    Err(failed(backend, why))
}
