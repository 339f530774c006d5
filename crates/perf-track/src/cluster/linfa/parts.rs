//! k-means and Gaussian mixtures of linfa: a given number of parts, and no noise.

use super::{array, at_least, failed, numbered};
use crate::cluster::Clusterer;
use crate::{Labels, Points, Result};
use linfa::traits::{Fit, Predict};
use linfa::{DatasetBase, ParamGuard};
use perf_core::Job;

/// k-means of linfa, started by k-means++ from a fixed seed, the best of ten runs.
///
/// Cancelling stops it before it starts, not within: see the [module](crate::cluster::linfa).
#[derive(Clone, Debug, PartialEq)]
pub struct LinfaKMeans {
    clusters: usize,
}

impl LinfaKMeans {
    /// How many clusters, at least 1.
    ///
    /// # Errors
    /// None.
    pub fn new(clusters: usize) -> Result<Self> {
        Ok(LinfaKMeans {
            clusters: at_least("clusters", clusters, 1, "at least 1")?,
        })
    }
}

impl Clusterer for LinfaKMeans {
    /// # Errors
    /// Less points than clusters, and what linfa says.
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

/// A mixture of Gaussians of any covariance, fitted by linfa: each point to the likeliest.
///
/// Cancelling stops it before it starts, not within: see the [module](crate::cluster::linfa).
#[derive(Clone, Debug, PartialEq)]
pub struct LinfaMixture {
    clusters: usize,
}

impl LinfaMixture {
    /// How many Gaussians, at least 1.
    ///
    /// # Errors
    /// None.
    pub fn new(clusters: usize) -> Result<Self> {
        Ok(LinfaMixture {
            clusters: at_least("clusters", clusters, 1, "at least 1")?,
        })
    }
}

impl Clusterer for LinfaMixture {
    /// # Errors
    /// Less points than clusters, points that span no volume, and what linfa says.
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
