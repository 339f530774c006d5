//! [`Lines`]: converts each [`Step`] of a thread at one instant to type-value pairs of `.prv` event
//! lines: calls, functions, samples, metrics, collectives and generic events.

use super::collectives::Plan;
use super::event_types::{Is, Names};
use super::steps::Step;
use crate::paraver::names;
use crate::paraver::record::Pair;
use crate::paraver::rules;
use perf_core::{
    CallPathId, Diagnostics, Event, LocationView, MetricId, MetricMode, MetricSetId, Place,
    RegionId, Ticks, Value, ValueType,
};
use std::collections::HashMap;

/// State shared by all threads.
#[derive(Debug)]
pub(super) struct Shared<'n, 'd> {
    /// Matches of messages and collectives.
    pub(super) plan: &'n Plan,
    /// Types and values, and which of them are used.
    pub(super) names: &'n mut Names<'d>,
}

/// Builder for the event lines of one thread, one instant at a time.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    /// View of the location.
    view: LocationView<'a>,
    /// Events of the instant.
    pairs: Vec<Pair>,
    /// Ends of the lines in `pairs`, except the last.
    ends: Vec<usize>,
    /// `true` if the instant has metrics.
    has_metrics: bool,
    /// Types and values of the open MPI calls.
    calls: Vec<(u32, u64)>,
    /// Last value of each accumulated metric.
    accumulated: HashMap<MetricId, u64>,
    /// Number of events that were not written.
    lost: u64,
    /// Number of frames inside MPI calls.
    nested: u64,
    /// Number of values that are not integers.
    fractions: u64,
}

impl<'a> Lines<'a> {
    pub(super) fn new(view: LocationView<'a>) -> Self {
        Lines {
            view,
            pairs: Vec::new(),
            ends: Vec::new(),
            has_metrics: false,
            calls: Vec::new(),
            accumulated: HashMap::new(),
            lost: 0,
            nested: 0,
            fractions: 0,
        }
    }

    /// Begins an instant.
    pub(super) fn clear(&mut self) {
        self.pairs.clear();
        self.ends.clear();
        self.has_metrics = false;
    }

    /// Iterates over the non-empty lines of the instant.
    pub(super) fn lines(&self) -> impl Iterator<Item = &[Pair]> {
        let mut start = 0;
        let ends = self.ends.iter().copied().chain([self.pairs.len()]);
        let lines = ends.map(move |end| {
            let line = &self.pairs[start..end];
            start = end;
            line
        });
        lines.filter(|line| !line.is_empty())
    }

    /// Reports the dropped and changed events.
    pub(super) fn report(&self, name: &str, found: &mut Diagnostics) {
        let place = || Place::file(name).record(format!("location {}", self.view.id()));
        found.add_many(rules::NOT_WRITTEN, self.lost, place());
        found.add_many(rules::NESTED_IN_CALL, self.nested, place());
        found.add_many(rules::FRACTION, self.fractions, place());
    }

    /// Ends the current line; further pairs begin a new one.
    fn end_line(&mut self) {
        self.ends.push(self.pairs.len());
    }

    fn pair(&mut self, kind: u32, value: u64) {
        self.pairs.push(Pair::new(kind, value));
    }

    fn context(&mut self, context: CallPathId, is_caller: bool, names: &mut Names<'_>) {
        let path = names.definitions.contexts.path(context);
        for (level, region) in (1_u32..=names::LEVELS).zip(path.into_iter().rev()) {
            let (function, line) = if is_caller {
                (names::CALLER + level, names::CALLER_LINE + level)
            } else {
                (names::SAMPLED + level - 1, names::SAMPLED_LINE + level - 1)
            };
            let (value, at_line) = names.code(function, line, region);
            self.pair(function, value);
            self.pair(line, at_line.unwrap_or_default());
        }
    }

    fn metrics(&mut self, set: MetricSetId, values: &[u64], names: &Names<'_>) {
        let definitions = names.definitions;
        let Some(set) = definitions.metric_sets.get(set.index()) else {
            self.lost += 1;
            return;
        };
        if std::mem::replace(&mut self.has_metrics, true) {
            self.end_line();
        }
        for (id, bits) in set.members.iter().zip(values) {
            let of = definitions.metrics.get(id.index());
            let Some((metric, kind)) = of.zip(names.metric(*id)) else {
                self.lost += 1;
                continue;
            };
            let before = match metric.mode {
                MetricMode::Accumulated => self.accumulated.insert(*id, *bits).unwrap_or(0),
                _ => 0,
            };
            self.pairs.push(match metric.value_type {
                ValueType::U64 => Pair::new(kind, bits.wrapping_sub(before)),
                ValueType::I64 => Pair::signed(kind, bits.wrapping_sub(before).cast_signed()),
                ValueType::F64 => {
                    let read = |bits| Value::from_bits(ValueType::F64, bits).as_f64();
                    let value = read(*bits) - read(before);
                    self.fractions += u64::from(value.fract() != 0.0);
                    Pair::signed(kind, value.round() as i64)
                }
            });
        }
    }

    fn enter(&mut self, region: RegionId, names: &mut Names<'_>) {
        self.nested += u64::from(!self.calls.is_empty());
        match names.is(region) {
            Is::State(_) => {}
            Is::Call(kind, value, _) => {
                self.calls.push((kind, value));
                let value = names.value(kind, value, region);
                self.pair(kind, value);
            }
            Is::Function => {
                let line = names::FUNCTION + names::TO_LINE;
                let (value, at_line) = names.code(names::FUNCTION, line, region);
                self.pair(names::FUNCTION, value);
                if let Some(value) = at_line {
                    // A reader expects function and line of one frame in a single line of the file,
                    // so each such pair has its own line.
                    self.pair(line, value);
                    self.end_line();
                }
            }
        }
    }

    fn leave(&mut self, region: RegionId, names: &Names<'_>) {
        match names.is(region) {
            Is::State(_) => {}
            Is::Call(kind, ..) => {
                self.calls.pop();
                self.pair(kind, 0);
                // The enclosing call continues.
                if let Some((kind, value)) = self.calls.last().copied() {
                    self.pair(kind, value);
                }
            }
            Is::Function => self.pair(names::FUNCTION, 0),
        }
    }

    /// Returns `true` if the sample `index` has the callers of an MPI call that begins with the next event.
    fn is_caller(&self, now: Ticks, index: usize, names: &Names<'_>) -> bool {
        let all = self.view.all();
        match all.event(index + 1) {
            Some(Event::Enter { region }) => {
                all.time(index + 1) == Some(now) && matches!(names.is(region), Is::Call(..))
            }
            _ => false,
        }
    }

    /// Converts one step of the thread to pairs of the instant.
    pub(super) fn step(&mut self, now: Ticks, step: Step<'a>, shared: &mut Shared<'_, '_>) {
        let names = &mut *shared.names;
        let (event, index) = match step {
            Step::Enter(region) => return self.enter(region, names),
            Step::Leave(region) => return self.leave(region, names),
            Step::Event(event, index) => (event, index),
        };
        match event {
            Event::Metric { set, values } => self.metrics(set, values, names),
            Event::Sample { context } => {
                let is_caller = self.is_caller(now, index, names);
                self.context(context, is_caller, names);
            }
            // Messages are written as communications.
            Event::Send(_)
            | Event::SendComplete { .. }
            | Event::RecvPost { .. }
            | Event::Recv(_)
            | Event::RequestTest { .. } => {}
            Event::CollectiveBegin => {
                let key = (self.view.id(), index);
                match shared.plan.collectives.get(&key).copied() {
                    Some(facts) => {
                        self.pair(50_100_001, facts.sent);
                        self.pair(50_100_002, facts.received);
                        if facts.is_root {
                            self.pair(50_100_003, 1);
                        }
                        self.pair(50_100_004, facts.comm);
                    }
                    None => self.lost += 1,
                }
            }
            Event::CollectiveEnd(end) if end.request.is_none() => {}
            Event::Measuring { on } => {
                let kind = names.bare(names::TRACING);
                self.pair(kind, on.into());
            }
            Event::Other { kind, args } => match (names.kind(kind), args) {
                (Some(kind), [value]) => {
                    let kind = names.bare(kind);
                    self.pair(kind, *value);
                }
                _ => self.lost += 1,
            },
            _ => self.lost += 1,
        }
    }
}
