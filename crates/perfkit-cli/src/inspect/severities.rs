//! What a profile has of a metric, over all call paths.

use perfkit::core::{Combine, MetricId, Profile, Severities};

/// A metric and its severities.
#[derive(Debug)]
pub(crate) struct About {
    /// Which one.
    pub(crate) id: MetricId,
    /// How many metrics it is part of, one within the other.
    pub(crate) depth: usize,
    /// Call paths that have a row of it.
    pub(crate) rows: usize,
    /// Over all call paths, by location; `None` for what nothing combines, or cannot be read.
    pub(crate) severities: Option<Spread>,
    /// Why it cannot be read.
    pub(crate) failed: Option<String>,
}

/// Severities of locations.
#[derive(Debug)]
pub(crate) struct Spread {
    /// Of all locations, as the metric combines them.
    pub(crate) total: f64,
    /// The smallest.
    pub(crate) min: f64,
    /// Their mean.
    pub(crate) mean: f64,
    /// The largest.
    pub(crate) max: f64,
}

/// Looks at a metric of all call paths.
pub(crate) fn about(profile: &Profile, id: MetricId) -> About {
    let metric = &profile.metrics()[id.index()];
    let mut depth = 0;
    let mut above = metric.metric.parent;
    while let Some(parent) = above.and_then(|id| profile.metrics().get(id.index())) {
        // A metric that is part of itself is no reason to go on for ever.
        if depth > profile.metrics().len() {
            break;
        }
        depth += 1;
        above = parent.metric.parent;
    }
    let (severities, failed) = match spread(profile, id) {
        Ok(spread) => (spread, None),
        Err(error) => (None, Some(crate::failure::message(error))),
    };
    About {
        id,
        depth,
        rows: profile.paths(id).len(),
        severities,
        failed,
    }
}

/// A metric of all call paths by location.
fn spread(profile: &Profile, id: MetricId) -> perfkit::core::Result<Option<Spread>> {
    let combine = profile.metrics()[id.index()].combine;
    if !matches!(combine, Combine::Sum | Combine::Minimum | Combine::Maximum) {
        // An expression that cannot be evaluated is found out by evaluating it.
        for path in profile.paths(id).into_iter().take(1) {
            profile.row(id, path)?;
        }
        let root = profile.calls().children(None).next();
        root.map(|root| profile.row(id, root)).transpose()?;
        return Ok(None);
    }
    let values = profile.over_paths(id)?;
    let fold = |of: fn(f64, f64) -> f64, none| values.iter().copied().fold(none, of);
    let sum: f64 = values.iter().sum();
    let total = combine.total(&Severities::F64(values.clone())).as_f64();
    Ok(Some(Spread {
        total,
        min: fold(f64::min, f64::INFINITY),
        mean: sum / values.len().max(1) as f64,
        max: fold(f64::max, f64::NEG_INFINITY),
    }))
}
