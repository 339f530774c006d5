//! [`about`]: summary of a metric of a profile, with the spread of its severities over locations; the
//! order of metrics in a list.

use perfkit::core::{Combine, MetricId, Profile, Severities};
use std::collections::BTreeMap;

/// Metric with its severities.
#[derive(Debug)]
pub(crate) struct About {
    /// The metric.
    pub(crate) id: MetricId,
    /// Number of metrics above this metric in the tree of metrics.
    pub(crate) depth: usize,
    /// Number of call paths that have a row of the metric.
    pub(crate) rows: usize,
    /// Severities by location over all call paths; `None` if the metric cannot be combined or read.
    pub(crate) severities: Option<Spread>,
    /// Reason why the metric cannot be read; `None` if it can.
    pub(crate) failed: Option<String>,
}

/// Distribution of severities over the locations.
#[derive(Debug)]
pub(crate) struct Spread {
    /// Combined severity of all locations.
    pub(crate) total: f64,
    /// Smallest severity.
    pub(crate) min: f64,
    /// Mean severity.
    pub(crate) mean: f64,
    /// Largest severity.
    pub(crate) max: f64,
}

/// Summarises a metric over all call paths.
pub(crate) fn about(profile: &Profile, id: MetricId) -> About {
    let metric = &profile.metrics()[id.index()];
    let mut depth = 0;
    let mut above = metric.metric.parent;
    while let Some(parent) = above.and_then(|id| profile.metrics().get(id.index())) {
        // Ends the loop for a metric that is part of itself.
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

/// Returns the distribution of a metric over the locations, combined over all call paths. `None` if
/// the metric cannot be combined.
fn spread(profile: &Profile, id: MetricId) -> perfkit::core::Result<Option<Spread>> {
    let combine = profile.metrics()[id.index()].combine;
    if !matches!(combine, Combine::Sum | Combine::Minimum | Combine::Maximum) {
        // Evaluates an expression for one call path to find errors in it.
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

/// Returns all metrics, each followed by its parts. Metrics that are parts of themselves come last.
pub(super) fn in_tree_order(profile: &Profile) -> Vec<MetricId> {
    let count = profile.metrics().len();
    let ids = || (0..count).filter_map(MetricId::from_index);
    let mut parts: BTreeMap<Option<MetricId>, Vec<MetricId>> = BTreeMap::new();
    for id in ids() {
        let parent = profile.metrics()[id.index()].metric.parent;
        let parent = parent.filter(|id| id.index() < count);
        parts.entry(parent).or_default().push(id);
    }
    let mut order = Vec::with_capacity(count);
    let mut stack = parts.remove(&None).unwrap_or_default();
    stack.reverse();
    while let Some(id) = stack.pop() {
        order.push(id);
        let own = parts.remove(&Some(id)).unwrap_or_default();
        stack.extend(own.into_iter().rev());
    }
    order.extend(parts.into_values().flatten());
    order
}
