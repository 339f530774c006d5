//! Algorithms of the library linfa-clustering as [`Clusterer`](super::Clusterer)s (feature `linfa`).
//!
//! The algorithms report no progress. Cancellation takes effect before they start or between two calls
//! of the library, never within a call, and a call for 100,000 points may take seconds. Programs that
//! must end soon after cancellation can cluster a [sample](super::stratified), or use
//! [`Dbscan`](super::Dbscan) or [`Hdbscan`](super::Hdbscan). Randomised algorithms use a fixed seed, so
//! that the same points get the same labels.

mod density;
mod partition;

pub use density::{LinfaDbscan, LinfaOptics};
pub use partition::{LinfaKMeans, LinfaMixture};

use crate::{ClusterId, Error, Labels, Points, Result};
use ndarray::ArrayView2;

fn array(points: Points<'_>) -> Result<ArrayView2<'_, f64>> {
    let shape = (points.len(), points.dimensions());
    ArrayView2::from_shape(shape, points.values()).map_err(|error| failed("linfa", error))
}

fn failed(backend: &'static str, error: impl std::fmt::Display) -> Error {
    Error::Backend {
        backend,
        why: error.to_string(),
    }
}

/// Renumbers clusters (from 0; `None` for noise) by their first points.
fn numbered(clusters: impl Iterator<Item = Option<usize>>) -> Labels {
    let mut numbers = std::collections::BTreeMap::new();
    let ids = clusters.map(|cluster| match cluster {
        Some(cluster) => {
            let next = numbers.len() as u32 + 1;
            ClusterId(*numbers.entry(cluster).or_insert(next))
        }
        None => ClusterId::NOISE,
    });
    Labels::new(ids.collect())
}

/// Returns an error unless the square of a radius has full precision.
fn check_eps(name: &'static str, eps: f64) -> Result<f64> {
    if (1e-150..=1e150).contains(&eps) {
        return Ok(eps);
    }
    Err(Error::Parameter {
        name,
        value: eps.to_string(),
        range: "from 1e-150 to 1e150",
    })
}

fn at_least(name: &'static str, value: usize, least: usize, range: &'static str) -> Result<usize> {
    if value >= least {
        return Ok(value);
    }
    Err(Error::Parameter {
        name,
        value: value.to_string(),
        range,
    })
}
