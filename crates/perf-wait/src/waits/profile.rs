//! Conversion of wait states to a [`Profile`] with one metric for each [`Pattern`], by call path
//! and location.

use super::{Pattern, WaitState};
use crate::activity::{Activities, Call};
use crate::{Error, Result};
use perf_core::{
    CallPathId, Job, Metric, MetricId, Profile, ProfileMetric, Scope, SparseRows, Value, ValueType,
    parallel,
};
use std::collections::BTreeMap;

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
            Pattern::LateComplete => metric_of(Pattern::EarlyWait),
            other => other.is_waiting().then_some(WAITING),
        };
        let mut metric = metric(pattern.name(), pattern.description(), parent);
        let scalasca = pattern.scalasca_name();
        let scalasca = scalasca.map(|name| ("scalasca".to_owned(), name.to_owned()));
        metric.properties.extend(scalasca);
        metrics.push(metric);
    }
    let locations: Vec<&[WaitState]> = states
        .chunk_by(|a, b| a.call.location == b.call.location)
        .collect();
    let sums = parallel::try_map(locations.len(), |number| {
        let mut sums: BTreeMap<(MetricId, CallPathId), u64> = BTreeMap::new();
        let mut checks = job.checks();
        for state in locations[number] {
            checks.next(1)?;
            let path = activities.call(state.call).and_then(Call::path);
            let (Some(path), Some(own)) = (path, metric_of(state.pattern)) else {
                continue;
            };
            let waiting = state.pattern.is_waiting().then_some(WAITING);
            for metric in [Some(own), waiting].into_iter().flatten() {
                let sum = sums.entry((metric, path)).or_default();
                *sum = sum.saturating_add(state.ticks);
            }
        }
        let location = locations[number].first().map(|it| it.call.location);
        let sums = sums
            .into_iter()
            .zip(std::iter::repeat(location.unwrap_or_default()));
        let sums = sums.map(|(((metric, path), ticks), location)| (metric, path, location, ticks));
        Ok::<Vec<_>, Error>(sums.collect())
    })?;
    let mut sums = sums.concat();
    parallel::sort(&mut sums, job)?;
    let mut checks = job.checks();
    let definitions = activities.definitions();
    let locations = definitions.system.locations().len();
    let mut rows = SparseRows::new(locations, vec![ValueType::U64; metrics.len()]);
    for (metric, path, location, ticks) in sums {
        checks.next(1)?;
        let nanos = definitions.clock.total(u128::from(ticks)).0.unsigned_abs();
        rows.push(metric, path, location, Value::U64(nanos));
    }
    activities.profile(metrics, rows, job)
}
