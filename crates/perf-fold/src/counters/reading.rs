//! Conversion of the metric samples of a trace to [`Counter`]s: a step function of values or rates
//! for each location.

use super::counter::Counter;
use super::series::{Series, Steps};
use crate::{Error, Result};
use perf_core::{
    Clock, Event, Job, LocationId, LocationView, MetricId, MetricMode, Ticks, TraceView, Value,
    parallel,
};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Samples by the described location and the metric.
type Samples = BTreeMap<(LocationId, MetricId), Vec<(Ticks, Value)>>;

/// Returns the counters of a view.
pub(super) fn counters(view: TraceView<'_>, job: &Job) -> Result<Vec<Counter>> {
    let definitions = view.definitions();
    if definitions.metric_sets.is_empty() {
        // Samples refer to sets, so the events need not be read.
        return Ok(Vec::new());
    }
    let locations: Vec<_> = view.locations().collect();
    let found = parallel::try_map(locations.len(), |at| {
        let found = samples(view, &locations[at], job)?;
        job.advance("counters", 1, locations.len() as u64);
        Ok::<_, Error>(found)
    })?;
    let mut all = Samples::new();
    for (key, mut samples) in found.into_iter().flatten() {
        all.entry(key).or_default().append(&mut samples);
    }
    let end = view
        .range()
        .map_or(Ticks(0), |range| Ticks(range.end.0.saturating_sub(1)));
    let clock = definitions.clock;
    let mut counters: Vec<Counter> = Vec::new();
    let mut order = Vec::new();
    let mut numbers: HashMap<(&str, &str, MetricMode), usize> = HashMap::new();
    for ((location, id), mut samples) in all {
        job.check()?;
        let Some(metric) = definitions.metrics.get(id.index()) else {
            continue;
        };
        // Several locations may record the samples of one location.
        samples.sort_by_key(|(at, _)| *at);
        let (steps, resets) = steps(&samples, metric.mode, (clock, end));
        let key = (metric.name.as_str(), metric.unit.as_str(), metric.mode);
        let number = *numbers.entry(key).or_insert_with(|| {
            counters.push(Counter {
                name: metric.name.clone(),
                unit: unit(&metric.unit, metric.mode),
                series: Vec::new(),
                resets: 0,
                clock,
            });
            order.push(id);
            counters.len() - 1
        });
        let Some(counter) = counters.get_mut(number) else {
            continue;
        };
        counter.resets += resets;
        counter.series.push(Series {
            location,
            label: definitions.system.label(location),
            samples: samples.len() as u64,
            steps: Arc::new(steps),
            divisor: None,
        });
    }
    let mut sorted: Vec<_> = order.into_iter().zip(counters).collect();
    sorted.sort_by_key(|(id, _)| *id);
    Ok(sorted.into_iter().map(|(_, counter)| counter).collect())
}

/// Returns the unit of the values of a counter: a rate counts by second.
fn unit(unit: &str, mode: MetricMode) -> String {
    // OTF2 and Paraver write `#` for a plain number.
    let unit = if unit == "#" { "" } else { unit };
    match mode {
        MetricMode::Accumulated | MetricMode::Relative => format!("{unit}/s"),
        _ => unit.to_owned(),
    }
}

fn samples(view: TraceView<'_>, location: &LocationView<'_>, job: &Job) -> Result<Samples> {
    let definitions = view.definitions();
    let mut found = Samples::new();
    let mut checks = job.checks();
    for (at, event) in location.iter() {
        checks.next(1)?;
        let Event::Metric { set, values } = event else {
            continue;
        };
        let Some(set) = definitions.metric_sets.get(set.index()) else {
            continue;
        };
        let about = match set.scope {
            Some(scope) if !set.is_shared => scope,
            _ => location.id(),
        };
        for (id, bits) in set.members.iter().zip(values) {
            if let Some(metric) = definitions.metrics.get(id.index()) {
                let value = Value::from_bits(metric.value_type, *bits);
                found.entry((about, *id)).or_default().push((at, value));
            }
        }
    }
    Ok(found)
}

/// Returns the steps of samples in order of time, and the number of decreases of an increasing
/// counter. The last value of a counter that is no rate holds until `end`.
fn steps(
    samples: &[(Ticks, Value)],
    mode: MetricMode,
    (clock, end): (Clock, Ticks),
) -> (Steps, u64) {
    let mut steps = Steps::default();
    let mut resets = 0;
    let per_second = clock.ticks_per_second() as f64;
    let mut last: Option<(Ticks, Value)> = None;
    let mut pending = 0.0;
    for (at, value) in samples {
        match mode {
            MetricMode::Accumulated => {
                let since = last.map(|(before, old)| (before, increment(old, *value)));
                match since {
                    // The last of several samples at one time counts.
                    Some((before, _)) if before == *at => {}
                    Some((before, Some(increment))) => {
                        let ticks = at.saturating_since(before) as f64;
                        steps.until(*at, increment * per_second / ticks);
                    }
                    Some((_, None)) => {
                        resets += 1;
                        steps.until(*at, f64::NAN);
                    }
                    None => steps.until(*at, f64::NAN),
                }
            }
            MetricMode::Relative => {
                pending += value.as_f64();
                match last {
                    Some((before, _)) if before < *at => {
                        let ticks = at.saturating_since(before) as f64;
                        let sum = std::mem::take(&mut pending);
                        steps.until(*at, sum * per_second / ticks);
                    }
                    // Increments of the same time belong to the next interval. Those of the first
                    // sample have no begin.
                    Some(_) => {}
                    None => {
                        pending = 0.0;
                        steps.until(*at, f64::NAN);
                    }
                }
            }
            _ => match last {
                Some((_, before)) => steps.until(*at, before.as_f64()),
                None => steps.until(*at, f64::NAN),
            },
        }
        last = Some((*at, *value));
    }
    if !matches!(mode, MetricMode::Accumulated | MetricMode::Relative)
        && let Some((_, value)) = last
    {
        steps.until(end, value.as_f64());
    }
    (steps, resets)
}

/// Returns the increase from one value to the next, or `None` for a decrease. Integers are subtracted
/// before they are rounded.
fn increment(old: Value, new: Value) -> Option<f64> {
    match (old, new) {
        (Value::U64(old), Value::U64(new)) => new.checked_sub(old).map(|it| it as f64),
        (Value::I64(old), Value::I64(new)) => {
            let by = i128::from(new) - i128::from(old);
            (by >= 0).then_some(by as f64)
        }
        (old, new) => Some(new.as_f64() - old.as_f64()).filter(|by| *by >= 0.0),
    }
}
