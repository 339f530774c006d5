//! Lines of one location.

use super::export::Time;
use super::export_names::{Is, Names};
use super::export_plan::Plan;
use super::names;
use super::record::{Batch, OnCpu, Pair, Record};
use super::rules;
use crate::Result;
use perf_core::{
    CallPathId, Close, Diagnostics, Endpoint, Event, LocationView, MetricId, MetricMode,
    MetricSetId, Place, RegionId, Ticks, Value, ValueType, Visitor,
};
use std::collections::HashMap;

/// Lines of one location while it is replayed.
#[derive(Debug)]
pub(super) struct Lines<'a, 'n, 'd> {
    view: LocationView<'a>,
    at: OnCpu,
    time: &'a Time,
    plan: &'a Plan,
    names: &'n mut Names<'d>,
    batch: Batch,
    /// The other time of an end of a message: when a send was complete, when a receive was called.
    ends: HashMap<Endpoint, Ticks>,
    now: Option<Ticks>,
    pairs: Vec<Pair>,
    lines: Vec<Vec<Pair>>,
    has_metrics: bool,
    frames: Vec<(RegionId, Ticks)>,
    calls: Vec<(u32, u64, u32)>,
    /// States that begin and end at the instant.
    instant: Vec<u32>,
    /// The state that is on, since when, and its place in the batch.
    state: Option<(u32, Ticks, usize)>,
    is_new_state: bool,
    accumulated: HashMap<MetricId, u64>,
    posted: HashMap<u64, Ticks>,
    started: HashMap<u64, Endpoint>,
    lost: u64,
    nested: u64,
    fractions: u64,
    failed: Option<crate::Error>,
}

impl<'a, 'n, 'd> Lines<'a, 'n, 'd> {
    pub(super) fn new(
        view: LocationView<'a>,
        at: OnCpu,
        time: &'a Time,
        plan: &'a Plan,
        names: &'n mut Names<'d>,
    ) -> Self {
        Lines {
            view,
            at,
            time,
            plan,
            names,
            batch: Batch::default(),
            ends: HashMap::new(),
            now: None,
            pairs: Vec::new(),
            lines: Vec::new(),
            has_metrics: false,
            frames: Vec::new(),
            calls: Vec::new(),
            instant: Vec::new(),
            state: None,
            is_new_state: true,
            accumulated: HashMap::new(),
            posted: HashMap::new(),
            started: HashMap::new(),
            lost: 0,
            nested: 0,
            fractions: 0,
            failed: None,
        }
    }

    /// The lines, and the other times of the ends of messages.
    pub(super) fn finish(
        mut self,
        found: &mut Diagnostics,
    ) -> Result<(Batch, HashMap<Endpoint, Ticks>)> {
        self.settle();
        if let (Some((.., index)), Some(now)) = (self.state.take(), self.now) {
            self.end_state(index, now);
        }
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let place = || Place::file("").record(format!("location {}", self.view.id()));
        found.add_many(rules::NOT_WRITTEN, self.lost, place());
        found.add_many(rules::NESTED_IN_CALL, self.nested, place());
        found.add_many(rules::FRACTION, self.fractions, place());
        Ok((self.batch, self.ends))
    }

    fn move_to(&mut self, at: Ticks) {
        if self.now != Some(at) {
            self.settle();
            self.now = Some(at);
        }
    }

    fn end_state(&mut self, index: usize, end: Ticks) {
        let end = self.time.of(end).0;
        if let Some(entry) = self.batch.entries.get_mut(index) {
            entry.payload = end;
        }
    }

    /// Writes the instant that was gathered: states, then events.
    fn settle(&mut self) {
        let Some(now) = self.now else {
            return;
        };
        let wanted = match (self.calls.last(), self.innermost_state()) {
            (Some((.., state)), _) => *state,
            (None, Some(state)) => state,
            (None, None) if self.frames.is_empty() => 0,
            (None, None) => names::RUNNING,
        };
        let is_new = std::mem::take(&mut self.is_new_state);
        let is_other = self.state.is_none_or(|(state, ..)| state != wanted);
        if (is_new || is_other)
            && let Some((.., index)) = self.state.take()
        {
            self.end_state(index, now);
        }
        for state in std::mem::take(&mut self.instant) {
            self.push_state(state, now);
        }
        // Nothing follows the last instant.
        let is_last = self.view.times().last() == Some(&now);
        if self.state.is_none() && !is_last {
            let index = self.batch.len();
            self.push_state(wanted, now);
            self.state = Some((wanted, now, index));
        }
        self.lines.push(std::mem::take(&mut self.pairs));
        self.has_metrics = false;
        let time = self.time.of(now);
        for pairs in std::mem::take(&mut self.lines) {
            if pairs.is_empty() {
                continue;
            }
            let pairs = pairs.as_slice();
            let at = self.at;
            let pushed = self.batch.push(Record::Events { at, time, pairs });
            self.failed = self.failed.take().or(pushed.err());
        }
    }

    fn push_state(&mut self, state: u32, now: Ticks) {
        let begin = self.time.of(now);
        let pushed = self.batch.push(Record::State {
            at: self.at,
            begin,
            end: begin,
            state: self.names.state(state),
        });
        self.failed = self.failed.take().or(pushed.err());
    }

    fn innermost_state(&self) -> Option<u32> {
        let (region, _) = self.frames.last()?;
        match self.names.is(*region) {
            Is::State(state) => Some(state),
            _ => None,
        }
    }

    fn pair(&mut self, kind: u32, value: u64) {
        self.pairs.push(Pair::new(kind, value));
    }

    fn context(&mut self, context: CallPathId, is_caller: bool) {
        let path = self.names.definitions.contexts.path(context);
        for (level, region) in (1_u32..=names::LEVELS).zip(path.into_iter().rev()) {
            let (function, line) = match is_caller {
                true => (names::CALLER + level, names::CALLER_LINE + level),
                false => (names::SAMPLED + level - 1, names::SAMPLED_LINE + level - 1),
            };
            let (value, at_line) = self.names.code(function, line, region);
            self.pair(function, value);
            self.pair(line, at_line.unwrap_or_default());
        }
    }

    fn metrics(&mut self, set: MetricSetId, values: &[u64]) {
        let definitions = self.names.definitions;
        let Some(set) = definitions.metric_sets.get(set.index()) else {
            self.lost += 1;
            return;
        };
        if std::mem::replace(&mut self.has_metrics, true) {
            let pairs = std::mem::take(&mut self.pairs);
            self.lines.push(pairs);
        }
        for (id, bits) in set.members.iter().zip(values) {
            let of = definitions.metrics.get(id.index());
            let Some((metric, kind)) = of.zip(self.names.metric(*id)) else {
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

    fn endpoint(&self, time: Ticks, index: usize) -> Endpoint {
        Endpoint {
            time,
            location: self.view.id(),
            index,
        }
    }
}

impl Visitor for Lines<'_, '_, '_> {
    fn enter(&mut self, at: Ticks, region: RegionId, _: usize) {
        self.move_to(at);
        self.nested += u64::from(!self.calls.is_empty());
        self.frames.push((region, at));
        match self.names.is(region) {
            Is::State(_) => self.is_new_state = true,
            Is::Call(kind, value, state) => {
                self.is_new_state = true;
                self.calls.push((kind, value, state));
                let value = self.names.value(kind, value, region);
                self.pair(kind, value);
            }
            Is::Function => {
                let line = names::FUNCTION + names::TO_LINE;
                let (value, at_line) = self.names.code(names::FUNCTION, line, region);
                self.pair(names::FUNCTION, value);
                if let Some(value) = at_line {
                    // Function and line are looked for in one line, each pair of them in its own.
                    self.pair(line, value);
                    let pairs = std::mem::take(&mut self.pairs);
                    self.lines.push(pairs);
                }
            }
        }
    }

    fn leave(&mut self, at: Ticks, region: RegionId, _: usize, _: Close) {
        self.move_to(at);
        let entered = self.frames.pop().map(|(_, at)| at);
        match self.names.is(region) {
            Is::State(state) => {
                if entered == Some(at) {
                    self.instant.push(state);
                } else {
                    self.is_new_state = true;
                }
            }
            Is::Call(kind, ..) => {
                self.is_new_state = true;
                self.calls.pop();
                self.pair(kind, 0);
                // The call around this one goes on.
                if let Some((kind, value, _)) = self.calls.last().copied() {
                    self.pair(kind, value);
                }
            }
            Is::Function => self.pair(names::FUNCTION, 0),
        }
    }

    fn event(&mut self, at: Ticks, event: Event<'_>, index: usize) {
        self.move_to(at);
        match event {
            Event::Metric { set, values } => self.metrics(set, values),
            Event::Sample { context } => {
                let next = self.view.all();
                let is_caller = match next.event(index + 1) {
                    Some(Event::Enter { region }) => {
                        next.time(index + 1) == Some(at)
                            && matches!(self.names.is(region), Is::Call(..))
                    }
                    _ => false,
                };
                self.context(context, is_caller);
            }
            Event::Send(transfer) => {
                if let Some(request) = transfer.request {
                    let end = self.endpoint(at, index);
                    self.started.insert(request, end);
                }
            }
            Event::SendComplete { request } => {
                if let Some(send) = self.started.remove(&request) {
                    self.ends.insert(send, at);
                }
            }
            Event::RecvPost { request } => drop(self.posted.insert(request, at)),
            Event::Recv(transfer) => {
                let posted = transfer
                    .request
                    .and_then(|request| self.posted.remove(&request));
                // A blocking receive was called where its call began.
                let mut frames = self.frames.iter().rev();
                let call =
                    frames.find(|(region, _)| matches!(self.names.is(*region), Is::Call(..)));
                let called = posted.or(call.map(|(_, at)| *at));
                if let Some(called) = called {
                    let end = self.endpoint(at, index);
                    self.ends.insert(end, called);
                }
            }
            Event::CollectiveBegin => {
                match self.plan.collectives.get(&(self.view.id(), index)).copied() {
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
                let kind = self.names.bare(names::TRACING);
                self.pair(kind, on.into());
            }
            Event::Flush { .. } => self.lost += 1,
            Event::Other { kind, args } => match (self.names.kind(kind), args) {
                (Some(kind), [value]) => {
                    let kind = self.names.bare(kind);
                    self.pair(kind, *value);
                }
                _ => self.lost += 1,
            },
            Event::RequestTest { .. } => {}
            _ => self.lost += 1,
        }
    }
}
