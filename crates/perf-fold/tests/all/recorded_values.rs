//! Timelines and counters from recorded values: event kinds, thresholds, call stacks and rates.

use perf_core::{
    Definitions, Event, Events, Job, KindId, Location, LocationId, LocationKind, Metric, MetricId,
    MetricMode, MetricSet, MetricSetId, Region, RegionId, SystemTree, Ticks, TimeRange, Trace,
    ValueType,
};
use perf_fold::{Across, Counter, Counters, Folder, GroupBy, Groups, RegionMap, State, Timelines};
use proptest::prelude::*;

fn range(start: u64, end: u64) -> TimeRange {
    TimeRange {
        start: Ticks(start),
        end: Ticks(end),
    }
}

fn trace(
    kinds: &[LocationKind],
    metrics: &[(&str, MetricMode, ValueType)],
    events: &[Vec<(u64, Event<'_>)>],
) -> Trace {
    let mut definitions = Definitions::default();
    definitions.kinds.push("step (7)".into());
    definitions.regions = ["main", "solve", "MPI_Send"].map(Region::named).to_vec();
    let locations = (0..).zip(kinds).map(|(key, kind)| Location {
        key,
        kind: *kind,
        name: format!("thread {key}"),
        ..Location::default()
    });
    definitions.system =
        SystemTree::new(vec![], vec![], locations.collect(), &Default::default()).unwrap();
    for (number, (name, mode, value_type)) in metrics.iter().enumerate() {
        definitions.metrics.push(Metric {
            name: (*name).into(),
            mode: *mode,
            value_type: *value_type,
            ..Metric::default()
        });
        definitions.metric_sets.push(MetricSet {
            members: vec![MetricId(number as u32)],
            ..MetricSet::default()
        });
    }
    let columns = events.iter().map(|events| {
        let mut column = Events::default();
        for (at, event) in events {
            column.push(Ticks(*at), *event).unwrap();
        }
        column
    });
    Trace::new(definitions, columns.collect()).unwrap()
}

fn sample(set: u32, values: &[u64]) -> Event<'_> {
    Event::Metric {
        set: MetricSetId(set),
        values,
    }
}

fn only(mode: MetricMode, samples: &[(u64, u64)]) -> Counter {
    let values: Vec<[u64; 1]> = samples.iter().map(|(_, value)| [*value]).collect();
    let events = samples.iter().zip(&values);
    let events = events
        .map(|((at, _), value)| (*at, sample(0, value)))
        .collect();
    let metrics = [("count", mode, ValueType::U64)];
    let trace = trace(&[LocationKind::CpuThread], &metrics, &[events]);
    let counters = Counters::new(trace.view(), &Job::default()).unwrap();
    counters.all.into_iter().next().unwrap()
}

#[test]
fn rates_are_increments_by_the_time_between_samples() {
    let found = only(
        MetricMode::Accumulated,
        &[(0, 10), (10, 30), (10, 30), (40, 60), (50, 5)],
    );
    assert_eq!(found.unit, "/s");
    // The counter decreased once; there the rate is unknown.
    assert_eq!(found.resets, 1);
    let steps = found.series[0].steps(range(0, 100));
    assert_eq!(steps, [(range(0, 10), 2e9), (range(10, 40), 1e9)]);
    // The mean over a column weighs with time.
    let cells = found.series[0].cells(range(0, 40), 2);
    assert_eq!(
        (cells[0].mean, cells[0].min, cells[0].max),
        (1.5e9, 1e9, 2e9)
    );
    assert!(found.series[0].over(range(45, 50)).mean.is_nan());
}

#[test]
fn increments_of_one_time_belong_to_one_interval() {
    let found = only(
        MetricMode::Relative,
        &[(5, 1000), (10, 20), (20, 10), (20, 4), (30, 6)],
    );
    let steps = found.series[0].steps(range(0, 100));
    assert_eq!(
        steps,
        [
            (range(5, 10), 4e9),
            (range(10, 20), 1e9),
            (range(20, 30), 1e9)
        ]
    );
}

#[test]
fn values_hold_until_the_next_sample_and_the_end() {
    let main = RegionId(0);
    let metrics = [("power", MetricMode::Absolute, ValueType::U64)];
    let (one, two) = ([100], [300]);
    let trace = trace(
        &[LocationKind::CpuThread, LocationKind::Metric],
        &metrics,
        &[
            vec![
                (0, Event::Enter { region: main }),
                (40, Event::Leave { region: main }),
            ],
            vec![(10, sample(0, &one)), (20, sample(0, &two))],
        ],
    );
    let job = Job::default();
    let counters = Counters::new(trace.view(), &job).unwrap();
    let power = counters.find("power").unwrap();
    assert_eq!(
        power.series[0].steps(range(0, 100)),
        [(range(10, 20), 100.0), (range(20, 40), 300.0)]
    );
    // The source of the samples has a row of its own.
    let states = Timelines::of_counter(trace.view(), &power, &[200.0], &job).unwrap();
    assert_eq!(states.classes().names(), ["power < 200", "power >= 200"]);
    let groups = Groups::by(&states, GroupBy::Location);
    assert_eq!((groups.rows().len(), groups.left_out().len()), (2, 0));
    let name = |at| {
        states
            .classes()
            .state_name(states.state(1, Ticks(at), Default::default()))
    };
    assert_eq!(
        [5, 10, 19, 20, 39, 40].map(name),
        [
            "absent",
            "power < 200",
            "power < 200",
            "power >= 200",
            "power >= 200",
            "absent"
        ]
    );
    assert_eq!(
        states.state(0, Ticks(20), Default::default()),
        State::Absent
    );
}

#[test]
fn values_of_an_event_kind_hold_until_the_next() {
    let step = |args| Event::Other {
        kind: KindId(0),
        args,
    };
    let main = RegionId(0);
    let trace = trace(
        &[LocationKind::CpuThread],
        &[],
        &[vec![
            (0, Event::Enter { region: main }),
            (10, step(&[u64::MAX])),
            (20, step(&[3])),
            (20, step(&[4])),
            (30, step(&[0])),
            (40, Event::Leave { region: main }),
        ]],
    );
    let name = |value| (value == 4).then(|| "fourth".to_owned());
    let found = Timelines::of_events(trace.view(), KindId(0), name, &Job::default()).unwrap();
    let segments: Vec<_> = found
        .segments(0, range(0, 100))
        .map(|(range, state)| {
            (
                range.start.0,
                range.end.0,
                found.classes().state_name(state),
            )
        })
        .collect();
    assert_eq!(
        segments,
        [
            (0, 10, "idle"),
            (10, 20, "value -1"),
            (20, 30, "fourth"),
            (30, 40, "idle")
        ]
    );
}

#[test]
fn the_call_stack_has_a_stream_for_each_depth() {
    let [main, solve, send] = [0, 1, 2].map(RegionId);
    let (enter, leave) = (
        |at, region| (at, Event::Enter { region }),
        |at, region| (at, Event::Leave { region }),
    );
    let trace = trace(
        &[LocationKind::CpuThread],
        &[],
        &[vec![
            enter(0, main),
            enter(10, solve),
            enter(12, send),
            leave(15, send),
            leave(30, solve),
            enter(40, send),
            leave(50, send),
            leave(60, main),
        ]],
    );
    let job = Job::default();
    let map = RegionMap::by_name(trace.definitions()).unwrap();
    let stack = Timelines::call_stack(trace.view(), LocationId(0), &map, &job).unwrap();
    let at = |at| {
        let name = |depth| {
            stack
                .classes()
                .state_name(stack.state(depth, Ticks(at), Default::default()))
        };
        [name(0), name(1), name(2)]
    };
    assert_eq!(at(5), ["main", "idle", "idle"]);
    assert_eq!(at(13), ["main", "solve", "MPI_Send"]);
    assert_eq!(at(20), ["main", "solve", "idle"]);
    assert_eq!(at(45), ["main", "MPI_Send", "idle"]);
    let none = Timelines::call_stack(trace.view(), LocationId(9), &map, &job).unwrap();
    assert!(none.is_empty());
    // Rows and windows work as for any timelines.
    let groups = Groups::by(&stack, GroupBy::Location);
    let folder = Folder::new(&stack, groups, Default::default()).unwrap();
    let fold = folder.fold(range(0, 60), &job).unwrap();
    let labels: Vec<_> = fold.rows().map(|row| row.label().to_owned()).collect();
    assert_eq!(labels, ["depth 0", "depth 1", "depth 2"]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

    /// Increment of a counter over a window, tick by tick.
    #[test]
    fn columns_keep_the_sum_of_a_counter(
        samples in prop::collection::vec((1u64..40, 0u64..1000), 2..30),
        window in (0u64..300, 1u64..300),
        columns in 1usize..40,
    ) {
        let mut all = Vec::new();
        let (mut at, mut value) = (0, 0);
        for (step, increment) in samples {
            (at, value) = (at + step, value + increment);
            all.push((at, value));
        }
        let found = only(MetricMode::Accumulated, &all);
        let window = range(window.0, window.0 + window.1);
        let (mut naive, mut covered) = (0.0, 0.0);
        for tick in window.start.0..window.end.0 {
            let next = all.windows(2).find(|pair| pair[0].0 <= tick && tick < pair[1].0);
            if let Some([before, after]) = next {
                naive += (after.1 - before.1) as f64 / (after.0 - before.0) as f64;
                covered += 1.0;
            }
        }
        let over = found.series[0].over(window);
        if covered == 0.0 {
            prop_assert!(over.mean.is_nan());
        } else {
            prop_assert!((over.mean / 1e9 - naive / covered).abs() < 1e-9 * (1.0 + naive));
        }
        // The columns have the same sum, weighted with the time that has a value.
        let mut edges = Vec::new();
        for at in 0..=columns as u64 {
            edges.push(window.start.0 + at * window.len() / columns as u64);
        }
        let cells = found.combined(window, columns, Across::Mean);
        let first = all[0].0;
        let last = all[all.len() - 1].0;
        let sum: f64 = cells.iter().zip(edges.windows(2)).filter(|(cell, _)| !cell.mean.is_nan()).map(|(cell, ends)| {
            let time = ends[1].min(last).saturating_sub(ends[0].max(first));
            cell.mean / 1e9 * time as f64
        }).sum();
        prop_assert!((sum - naive).abs() < 1e-6 * (1.0 + naive), "{sum} {naive}");
    }
}
