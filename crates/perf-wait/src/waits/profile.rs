//! Wait states as a [`Profile`].

use super::{Pattern, WaitState};
use crate::Result;
use crate::activity::Activities;
use perf_core::{
    CallPathId, Job, LocationId, Metric, MetricId, Profile, ProfileMetric, Scope, SparseRows,
    Value, ValueType,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Sum of all kinds that are waiting time.
const WAITING: MetricId = MetricId(0);

/// Returns the metric of a kind.
fn metric_of(pattern: Pattern) -> Option<MetricId> {
    let place = Pattern::ALL.iter().position(|it| *it == pattern)?;
    MetricId::from_index(place + 1)
}

fn metric(name: &str, description: &str, parent: Option<MetricId>) -> ProfileMetric {
    ProfileMetric {
        metric: Metric {
            name: name.into(),
            unit: "ns".into(),
            description: description.into(),
            parent,
            ..Metric::default()
        },
        scope: Scope::Exclusive,
        ..ProfileMetric::default()
    }
}

/// Returns the severities of wait states in nanoseconds.
pub(super) fn profile(activities: &Activities, states: &[WaitState], job: &Job) -> Result<Profile> {
    let mut metrics = vec![metric(
        "waiting",
        "time spent waiting for other locations",
        None,
    )];
    for pattern in Pattern::ALL {
        let parent = match pattern {
            Pattern::WrongOrder => metric_of(Pattern::LateSender),
            other => other.is_waiting().then_some(WAITING),
        };
        let mut metric = metric(pattern.name(), pattern.description(), parent);
        let scalasca = pattern.scalasca_name();
        let scalasca = scalasca.map(|name| ("scalasca".to_owned(), name.to_owned()));
        metric.properties.extend(scalasca);
        metrics.push(metric);
    }
    let mut sums: BTreeMap<(MetricId, CallPathId, LocationId), u64> = BTreeMap::new();
    let mut checks = job.checks();
    for state in states {
        checks.next(1)?;
        let path = activities.call(state.call).and_then(|call| call.path);
        let (Some(path), Some(own)) = (path, metric_of(state.pattern)) else {
            continue;
        };
        let waiting = state.pattern.is_waiting().then_some(WAITING);
        for metric in [Some(own), waiting].into_iter().flatten() {
            let sum = sums.entry((metric, path, state.call.location)).or_default();
            *sum = sum.saturating_add(state.ticks);
        }
    }
    let definitions = activities.definitions();
    let locations = definitions.system.locations().len();
    let mut rows = SparseRows::new(locations, vec![ValueType::U64; metrics.len()]);
    for ((metric, path, location), ticks) in sums {
        checks.next(1)?;
        let nanos = definitions.clock.total(u128::from(ticks)).0.unsigned_abs();
        rows.push(metric, path, location, Value::U64(nanos));
    }
    let paths = activities.paths();
    let rows = rows.finish(paths.paths().len(), job)?;
    let system = definitions.system.clone();
    let regions = definitions.regions.clone();
    Ok(Profile::new(
        system,
        regions,
        paths.clone(),
        metrics,
        Arc::new(rows),
    )?)
}
