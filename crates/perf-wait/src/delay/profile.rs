//! Conversion of delay costs to a [`Profile`] with short-term and long-term costs of each
//! [`Pattern`] as metrics, by call path and location.

use super::DelayCost;
use crate::Result;
use crate::activity::Activities;
use crate::waits::Pattern;
use perf_core::{
    CallPathId, Job, LocationId, Metric, MetricId, Profile, ProfileMetric, Scope, SparseRows,
    Value, ValueType,
};
use std::collections::BTreeMap;

/// Sum of all costs.
const DELAY: MetricId = MetricId(0);

fn metric(name: String, description: String, parent: Option<MetricId>) -> ProfileMetric {
    ProfileMetric {
        metric: Metric {
            name,
            unit: "ns".into(),
            description,
            value_type: ValueType::F64,
            parent,
            ..Metric::default()
        },
        scope: Scope::Exclusive,
        ..ProfileMetric::default()
    }
}

/// Returns the costs in nanoseconds. Each kind has a metric of short-term and one of long-term costs.
pub(super) fn profile(activities: &Activities, costs: &[DelayCost], job: &Job) -> Result<Profile> {
    let all = "waiting time that delays cause".to_owned();
    let mut metrics = vec![metric("delay".into(), all, None)];
    let kinds: Vec<Pattern> = Pattern::ALL
        .into_iter()
        .filter(|it| it.is_waiting())
        .collect();
    for kind in &kinds {
        for (term, cause) in [
            ("", "directly"),
            (", long-term", "through other wait states"),
        ] {
            let name = format!("{} delay{term}", kind.name());
            let description = format!("time of `{}` that delays cause {cause}", kind.name());
            metrics.push(metric(name, description, Some(DELAY)));
        }
    }
    let definitions = activities.definitions();
    let per_tick = 1e9 / definitions.clock.ticks_per_second() as f64;
    let mut sums: BTreeMap<(MetricId, CallPathId, LocationId), f64> = BTreeMap::new();
    for cost in costs {
        let place = kinds.iter().position(|kind| *kind == cost.pattern);
        let first = place.and_then(|place| MetricId::from_index(1 + 2 * place));
        let (Some(path), Some(short)) = (cost.path, first) else {
            continue;
        };
        let parts = [(short, cost.short), (MetricId(short.0 + 1), cost.long)];
        for (metric, ticks) in parts {
            for metric in [metric, DELAY] {
                *sums.entry((metric, path, cost.location)).or_default() += ticks * per_tick;
            }
        }
    }
    let locations = definitions.system.locations().len();
    let mut rows = SparseRows::new(locations, vec![ValueType::F64; metrics.len()]);
    for ((metric, path, location), nanos) in sums {
        rows.push(metric, path, location, Value::F64(nanos));
    }
    activities.profile(metrics, rows, job)
}
