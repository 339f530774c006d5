//! Bursts of random traces compared with a reference implementation that searches each separately
//! and walks over all events for its counters.

use perf_core::{
    Close, Definitions, Event, Events, Job, Location, Metric, MetricId, MetricMode, MetricSet,
    MetricSetId, Paradigm, Region, RegionId, SystemTree, Ticks, Trace, ValueType, Visitor,
    open_frames, replay,
};
use perf_testdata::xorshift::Xorshift;
use perf_track::{Bursts, Delimiter, Extract};

const TALKS: RegionId = RegionId(2);
const CALLED: RegionId = RegionId(1);

/// Returns a trace with regions `main`, `solve`, `MPI_Wait` and a relative and an accumulated
/// counter, sampled at random.
fn trace(seed: u64) -> Trace {
    let mut random = Xorshift::new(seed);
    let mut definitions = Definitions::default();
    let location = |key| Location {
        key,
        ..Location::default()
    };
    let locations: Vec<Location> = (0..3).map(location).collect();
    definitions.system =
        SystemTree::new(vec![], vec![], locations, &Default::default()).expect("it is valid");
    let mpi = Region {
        paradigm: Paradigm::Mpi,
        ..Region::named("MPI_Wait")
    };
    definitions.regions = vec![Region::named("main"), Region::named("solve"), mpi];
    let modes = [MetricMode::Relative, MetricMode::Accumulated];
    for (index, mode) in modes.into_iter().enumerate() {
        definitions.metrics.push(Metric {
            name: ["delta", "total"][index].into(),
            mode,
            value_type: ValueType::U64,
            ..Metric::default()
        });
        definitions.metric_sets.push(MetricSet {
            members: vec![MetricId(index as u32)],
            scope: None,
            is_shared: false,
        });
    }
    let column = |random: &mut Xorshift| {
        let mut events = Events::default();
        let (mut at, mut total) = (0, 0);
        for _ in 0..random.below(120) {
            at += random.below(4);
            let region = RegionId(random.below(3) as u32);
            let values;
            let event = match random.below(10) {
                0..3 => Event::Enter { region },
                3..6 => Event::Leave { region },
                6 => Event::Measuring {
                    on: random.below(3) > 0,
                },
                which => {
                    let set = MetricSetId((which % 2) as u32);
                    total += random.below(50);
                    // The counter sometimes wraps.
                    total *= u64::from(random.below(15) > 0);
                    values = [if set.0 == 0 { random.below(100) } else { total }];
                    Event::Metric {
                        set,
                        values: &values,
                    }
                }
            };
            events.push(Ticks(at), event).expect("it is valid");
        }
        events
    };
    let events = (0..3).map(|_| column(&mut random)).collect();
    Trace::new(definitions, events).expect("it is valid")
}

/// Begin, end and the two counters of a burst.
type Row = (u64, u64, Option<f64>, Option<f64>);

fn counters(events: &Events, begin: u64, end: u64) -> (Option<f64>, Option<f64>) {
    let samples = |set: u32| {
        let all = (0..events.len()).filter_map(move |index| match events.event(index)? {
            Event::Metric { set: of, values } if of.0 == set => {
                Some((events.time(index)?.0, values[0]))
            }
            _ => None,
        });
        all.collect::<Vec<(u64, u64)>>()
    };
    let inside = |at: u64| at > begin && at <= end;
    let delta: Vec<u64> = samples(0)
        .iter()
        .filter(|s| inside(s.0))
        .map(|s| s.1)
        .collect();
    let delta = (!delta.is_empty()).then(|| delta.iter().sum::<u64>() as f64);
    let total = samples(1);
    let base = total.iter().rfind(|sample| sample.0 <= begin);
    let mut rising: Vec<u64> = base.map(|sample| sample.1).into_iter().collect();
    rising.extend(
        total
            .iter()
            .filter(|sample| inside(sample.0))
            .map(|sample| sample.1),
    );
    let total = match base {
        Some(base) if rising.len() > 1 && rising.is_sorted() => {
            rising.last().map(|last| (last - base.1) as f64)
        }
        _ => None,
    };
    (delta, total)
}

fn with_counters(events: &Events, spans: Vec<(u64, u64)>) -> Vec<Row> {
    let spans = spans.into_iter();
    spans
        .map(|(begin, end)| {
            let (delta, total) = counters(events, begin, end);
            (begin, end, delta, total)
        })
        .collect()
}

fn is_recording(events: &Events, before: usize) -> bool {
    let last = (0..before)
        .rev()
        .find_map(|index| match events.event(index) {
            Some(Event::Measuring { on }) => Some(on),
            _ => None,
        });
    last.unwrap_or(true)
}

/// Classifies the time before each event as computing or not; maximal computing intervals are
/// bursts.
fn between(events: &Events) -> Vec<Row> {
    let entered = |region| {
        (0..events.len()).any(|index| events.event(index) == Some(Event::Enter { region }))
    };
    let communicates = entered(TALKS);
    let computes = |before: usize| {
        let open = open_frames(events, before);
        let somewhere = communicates || !open.is_empty();
        somewhere && !open.contains(&TALKS) && is_recording(events, before)
    };
    let (mut spans, mut begin) = (Vec::new(), None);
    for index in 0..=events.len() {
        let known = events.times();
        let last = index.saturating_sub(1);
        let Some(at) = known.get(last).copied() else {
            break;
        };
        match (begin, computes(index)) {
            (None, true) => begin = Some(at.0),
            (Some(from), false) => {
                spans.push((from, at.0));
                begin = None;
            }
            _ => {}
        }
    }
    if let (Some(from), Some(last)) = (begin, events.times().last()) {
        spans.push((from, last.0));
    }
    spans.retain(|(from, to)| from < to);
    with_counters(events, spans)
}

/// Returns the outermost frames of the region during which recording was on.
fn calls(trace: &Trace, location: usize) -> Vec<Row> {
    #[derive(Default)]
    struct Frames {
        /// Begins of the open frames.
        open: Vec<u64>,
        /// Completed frames.
        spans: Vec<(u64, u64)>,
        /// `true` if recording was interrupted since the begin.
        interrupted: bool,
        /// `true` while recording is on.
        recording: bool,
    }
    impl Visitor for Frames {
        fn enter(&mut self, at: Ticks, region: RegionId, _: usize) {
            if region == CALLED {
                if self.open.is_empty() {
                    self.interrupted = !self.recording;
                }
                self.open.push(at.0);
            }
        }
        fn leave(&mut self, at: Ticks, region: RegionId, _: usize, why: Close) {
            if region == CALLED
                && let Some(begin) = self.open.pop()
                && self.open.is_empty()
                && why != Close::End
                && !self.interrupted
            {
                self.spans.push((begin, at.0));
            }
        }
        fn event(&mut self, _: Ticks, event: Event<'_>, _: usize) {
            if let Event::Measuring { on } = event {
                self.interrupted = true;
                self.recording = on;
            }
        }
    }
    let location = trace.view().locations().nth(location).expect("it is valid");
    let mut frames = Frames {
        recording: true,
        ..Frames::default()
    };
    replay(location, &mut frames, &Job::default()).expect("not cancelled");
    frames.spans.retain(|(from, to)| from < to);
    with_counters(location.all(), frames.spans)
}

fn found(trace: &Trace, delimiter: Delimiter) -> (Bursts, Vec<Vec<Row>>) {
    let extract = Extract::params()
        .delimiter(delimiter)
        .also("delta")
        .also("total");
    let extract = extract.check().expect("it is valid");
    let (bursts, _) = extract
        .extract(trace.view(), &Job::default())
        .expect("it is valid");
    let mut rows = vec![Vec::new(); trace.events().len()];
    let value = |column: usize, row: usize| {
        let value = bursts.columns()[column].values[row];
        (!value.is_nan()).then_some(value)
    };
    for (index, row) in bursts.rows().iter().enumerate() {
        let location = bursts.threads()[row.thread as usize].location;
        rows[location.0 as usize].push((
            row.begin.0 as u64,
            row.end.0 as u64,
            value(0, index),
            value(1, index),
        ));
    }
    (bursts, rows)
}

#[test]
fn fast_is_naive() {
    let (mut bursts, mut with_total) = (0, 0);
    for seed in 0..400 {
        let trace = trace(seed);
        let (_, rows) = found(&trace, Delimiter::Communication);
        for (events, rows) in trace.events().iter().zip(&rows) {
            assert_eq!(*rows, between(events), "seed {seed}");
            bursts += rows.len();
            with_total += rows.iter().filter(|row| row.3.is_some()).count();
        }
        let (_, rows) = found(&trace, Delimiter::Calls(vec!["solve".into()]));
        for (location, rows) in rows.iter().enumerate() {
            assert_eq!(
                *rows,
                calls(&trace, location),
                "seed {seed}, location {location}"
            );
            bursts += rows.len();
        }
    }
    assert!(bursts > 2_000 && with_total > 300, "{bursts} {with_total}");
}
