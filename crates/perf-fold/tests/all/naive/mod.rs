//! Reference implementation of timelines and folds: from events to cells, one tick and one stream
//! at a time.

#![allow(dead_code, reason = "each test file uses a part of it")]

use perf_core::{
    Close, Definitions, Event, Job, LocationView, RegionId, Ticks, TimeRange, Trace, Visitor,
    replay,
};
use perf_fold::{Boundary, ClassId, Classes, Op, RegionMap, State, StateMap, Timelines, Value};
use std::collections::BTreeMap;

/// Log of one location: each change with the stack after it.
#[derive(Default)]
pub(crate) struct Log {
    /// Stack after each enter and leave.
    stacks: Vec<(Ticks, Vec<RegionId>)>,
    /// Recording switched on or off.
    measuring: Vec<(Ticks, bool)>,
    /// Begin and end of each buffer flush.
    flushes: Vec<(Ticks, Ticks)>,
    /// First and last event.
    life: Option<(Ticks, Ticks)>,
    /// Current stack.
    stack: Vec<RegionId>,
}

impl Visitor for Log {
    fn enter(&mut self, at: Ticks, region: RegionId, _: usize) {
        self.stack.push(region);
        self.stacks.push((at, self.stack.clone()));
    }

    fn leave(&mut self, at: Ticks, _: RegionId, _: usize, _: Close) {
        self.stack.pop();
        self.stacks.push((at, self.stack.clone()));
    }

    fn event(&mut self, at: Ticks, event: Event<'_>, _: usize) {
        match event {
            Event::Measuring { on } => self.measuring.push((at, on)),
            Event::Flush { until } => self.flushes.push((at, until)),
            _ => {}
        }
    }
}

impl Log {
    pub(crate) fn of(location: LocationView<'_>, definitions: &Definitions) -> Self {
        let mut log = Log::default();
        if location.overlaps(definitions, &Job::default()).unwrap() {
            log.overlapping(location)
        } else {
            replay(location, &mut log, &Job::default()).unwrap();
        }
        let times = location.times();
        log.life = times.first().copied().zip(times.last().copied());
        log
    }

    /// Replays overlapping regions: each leave closes the first open call of its region.
    fn overlapping(&mut self, location: LocationView<'_>) {
        for (index, (at, event)) in location.iter().enumerate() {
            match event {
                Event::Enter { region } => self.stack.push(region),
                Event::Leave { region } => {
                    let fits = self.stack.iter().position(|open| *open == region);
                    match fits {
                        Some(open) => drop(self.stack.remove(open)),
                        None => drop(self.stack.pop()),
                    }
                }
                other => {
                    self.event(at, other, index);
                    continue;
                }
            }
            self.stacks.push((at, self.stack.clone()));
        }
    }

    /// Returns the state by linear search over the whole log.
    pub(crate) fn state(&self, map: &RegionMap, at: Ticks, boundary: Boundary) -> State {
        let passed = |time: Ticks| match boundary {
            Boundary::AtOrBefore => time <= at,
            Boundary::Strict => time < at,
        };
        let alive = self
            .life
            .is_some_and(|(first, last)| passed(first) && !passed(last));
        let off = self.measuring.iter().rev().find(|(time, _)| passed(*time));
        let lost = |flush: &(Ticks, Ticks)| passed(flush.0) && !passed(flush.1);
        if !alive || off.is_some_and(|(_, on)| !on) || self.flushes.iter().any(lost) {
            return State::Absent;
        }
        let stack = self.stacks.iter().rev().find(|(time, _)| passed(*time));
        let stack = stack.map_or(&[][..], |(_, stack)| stack);
        if stack.is_empty() {
            return State::Idle;
        }
        map.class(stack).map_or(State::Idle, State::Class)
    }
}

/// Logs of all locations of a trace.
pub(crate) struct Naive {
    /// Log of each location.
    pub(crate) logs: Vec<Log>,
    /// State map.
    pub(crate) map: RegionMap,
}

impl Naive {
    pub(crate) fn of(trace: &Trace) -> Self {
        let log = |location: LocationView<'_>| Log::of(location, trace.definitions());
        Naive {
            logs: trace.view().locations().map(log).collect(),
            map: RegionMap::by_name(trace.definitions()).unwrap(),
        }
    }

    pub(crate) fn timelines(&self, trace: &Trace) -> Timelines {
        Timelines::new(trace.view(), &self.map, &Job::default()).unwrap()
    }

    pub(crate) fn classes(&self) -> &Classes {
        self.map.classes()
    }

    pub(crate) fn states(&self, streams: &[u32], at: Ticks, boundary: Boundary) -> Vec<State> {
        let state = |stream: &u32| self.logs[*stream as usize].state(&self.map, at, boundary);
        streams.iter().map(state).collect()
    }

    /// Returns (state, weight, first stream) by sampling at one time.
    pub(crate) fn sampled(&self, streams: &[u32], at: Ticks, boundary: Boundary) -> Weights {
        let mut weights = Weights::new();
        for (stream, state) in streams.iter().zip(self.states(streams, at, boundary)) {
            let entry = weights.entry(state).or_insert((0, *stream));
            entry.0 += 1;
        }
        weights
    }

    /// Returns (state, weight, first stream) by sampling each tick of `[start, end)`.
    pub(crate) fn exact(&self, streams: &[u32], pixel: TimeRange) -> Weights {
        let mut weights = Weights::new();
        for tick in pixel.start.0..pixel.end.0 {
            for (state, (weight, first)) in self.sampled(streams, Ticks(tick), Boundary::AtOrBefore)
            {
                let entry = weights.entry(state).or_insert((0, first));
                entry.0 += weight;
                entry.1 = entry.1.min(first);
            }
        }
        weights
    }
}

pub(crate) type Weights = BTreeMap<State, (u64, u32)>;

/// Counts absent streams as idle.
pub(crate) fn as_idle(weights: &Weights) -> Weights {
    let mut all = Weights::new();
    for (state, (weight, first)) in weights {
        let state = if *state == State::Absent {
            State::Idle
        } else {
            *state
        };
        let entry = all.entry(state).or_insert((0, *first));
        entry.0 += weight;
        entry.1 = entry.1.min(*first);
    }
    all
}

/// Applies the published operations as defined in section 3 of the paper. Ties go to the first
/// stream.
pub(crate) fn operate(op: Op, weights: &Weights) -> Value {
    let most = |busy_only: bool| {
        let states = weights
            .iter()
            .filter(|(state, _)| !busy_only || **state != State::Idle);
        states
            .max_by_key(|(state, (weight, first))| {
                (
                    *weight,
                    std::cmp::Reverse(*first),
                    std::cmp::Reverse(**state),
                )
            })
            .map(|(state, _)| *state)
    };
    let least = weights
        .iter()
        .min_by_key(|(state, (weight, first))| (*weight, *first, **state))
        .map(|(state, _)| *state);
    let shown = |state: Option<State>| match state {
        Some(State::Class(class)) => Value::Class(class),
        _ => Value::Idle,
    };
    match op {
        Op::Max | Op::Share => shown(most(false)),
        Op::Min => shown(least),
        Op::Idle => shown(most(true)),
        Op::Diff if weights.len() < 2 => Value::Uniform,
        Op::Diff => match least {
            Some(State::Class(class)) => Value::Differs(class),
            _ => Value::DiffersIdle,
        },
        Op::Any(class) if weights.contains_key(&State::Class(class)) => Value::Class(class),
        Op::Any(_) => Value::Idle,
        other => panic!("no textbook version of {other:?}"),
    }
}

/// Returns all operations, over a few classes.
pub(crate) fn operations() -> Vec<Op> {
    let mut all = vec![Op::Max, Op::Min, Op::Diff, Op::Idle, Op::Share, Op::Entropy];
    for class in [ClassId(0), ClassId(1), ClassId(77)] {
        all.extend([Op::Count(class), Op::Any(class), Op::Outliers(class.0)]);
    }
    all
}
