//! [`Stream`]: converts the records of one thread to events, instant by instant.

mod frames;

use super::deferred_events::{DeferredEvent, UnselectedCollective};
use super::definitions::{Class, Frame, Tables};
use super::locations::Comms;
use crate::Result;
use crate::paraver::names;
use crate::paraver::record::{Object, Pair};
use crate::paraver::rules;
use perf_core::{
    Collective, Diagnostics, Event, Events, MetricId, MetricSetId, Place, RegionId, Ticks,
    TimeRange,
};

/// Number of pairs of a line that are searched for a related pair. Related pairs are close to each other at the start
/// of the line, and a line may have millions of pairs.
const BESIDE: usize = 256;

/// State of a thread.
///
/// All records of one instant are gathered before they are applied, because events and states of an instant come in
/// arbitrary order. Events are then emitted in this order: metrics, which belong to the operation that ends; samples;
/// leaves; callers of the MPI call that begins; enters; all others.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// Paraver object of the thread.
    object: Object,
    /// Events of the thread.
    pub(super) events: Events,
    /// Events that are inserted after all records are processed.
    pub(super) late: Vec<DeferredEvent>,
    /// Collectives that are not kept but are needed to determine the roots of the kept ones.
    pub(super) unkept: Vec<UnselectedCollective>,
    /// CPU of the last record.
    pub(super) cpu: u32,
    /// `true` if any event of the thread is kept.
    pub(super) is_wanted: bool,
    /// Time of the current instant.
    now: u64,
    /// `true` if the instant has records that are not yet applied.
    is_pending: bool,
    /// Latest time of a record.
    pub(super) last: u64,
    /// `true` if a record was earlier than its predecessor, which invalidates the events of the
    /// thread.
    pub(super) is_unordered: bool,
    /// Events of the instant.
    pairs: Vec<Pair>,
    /// Ends of the lines in `pairs`.
    lines: Vec<usize>,
    /// States that begin at the instant, with their ends.
    begun: Vec<(u32, u64)>,
    /// Function frames that should be open, with their types.
    functions: Vec<(u32, RegionId)>,
    /// Open MPI call.
    call: Option<Call>,
    /// Region and end of the current state.
    state: Option<(RegionId, u64)>,
    /// Open function frames, outermost first.
    open: Vec<RegionId>,
    /// Number of the open function frames, from the outermost, that stay open at the instant.
    kept: usize,
    /// Region of the innermost frame, which belongs to an MPI call or a state.
    inner: Option<RegionId>,
    /// Begin of the current flush.
    flush: Option<u64>,
    /// Last used metric set.
    last_set: Option<MetricSetId>,
}

/// An open MPI call.
#[derive(Clone, Copy, Debug)]
struct Call {
    /// Type of the call.
    kind: u32,
    /// Region of the call.
    region: RegionId,
    /// Collective operation of the call.
    collective: Option<Collective>,
}

/// State shared by all threads.
pub(super) struct Shared<'a, 'p> {
    /// Definitions under construction.
    pub(super) tables: Tables<'p>,
    /// Communicators of the trace.
    pub(super) comms: Comms,
    /// Diagnostics of the conversion.
    pub(super) found: &'a mut Diagnostics,
    /// Name of the file, for diagnostics.
    pub(super) name: &'a str,
    /// Window of events to keep.
    pub(super) window: TimeRange,
    /// Maximum depth of the call stack.
    pub(super) depth: usize,
    /// Reusable buffers.
    pub(super) scratch: Scratch,
}

/// Reusable buffers.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// Metrics that are read together.
    members: Vec<MetricId>,
    /// Values of these metrics.
    values: Vec<u64>,
    /// Caller frames by level.
    callers: Vec<(u32, Frame)>,
    /// Sampled frames by depth.
    sampled: Vec<(u32, Frame)>,
    /// Frames of a call path.
    frames: Vec<Frame>,
    /// Types and values of generic events.
    others: Vec<(u32, u64)>,
    /// Properties of collectives.
    facts: Vec<Pair>,
    /// Frames that begin and end at the instant.
    instant: Vec<RegionId>,
}

impl Stream {
    /// Creates the state of a thread without records.
    pub(super) fn new(object: Object, is_wanted: bool) -> Self {
        Stream {
            object,
            is_wanted,
            ..Stream::default()
        }
    }

    /// Processes a state record.
    pub(super) fn state(
        &mut self,
        begin: u64,
        end: u64,
        state: u32,
        place: impl Fn() -> Place,
        shared: &mut Shared<'_, '_>,
    ) -> Result<()> {
        self.advance(begin, shared)?;
        if end < begin {
            shared.found.add(rules::NEGATIVE_STATE, place());
        }
        if self.state.is_some_and(|(_, end)| end > self.now) {
            shared.found.add(rules::OVERLAPPING_STATE, place());
        }
        self.begun.push((state, end.max(self.now)));
        Ok(())
    }

    /// Processes an event record.
    pub(super) fn pairs(
        &mut self,
        time: u64,
        pairs: &[Pair],
        shared: &mut Shared<'_, '_>,
    ) -> Result<()> {
        self.advance(time, shared)?;
        self.pairs.extend_from_slice(pairs);
        self.lines.push(self.pairs.len());
        Ok(())
    }

    /// Advances to a time and applies the records gathered before it.
    fn advance(&mut self, time: u64, shared: &mut Shared<'_, '_>) -> Result<()> {
        self.last = self.last.max(time);
        if time < self.last {
            self.is_unordered = true;
            return Ok(());
        }
        if time > self.now || !self.is_pending {
            self.settle(shared)?;
            if let Some((_, end)) = self.state.filter(|(_, end)| *end < time) {
                self.now = end;
                self.apply(shared)?;
            }
            self.now = time;
            self.is_pending = true;
        }
        Ok(())
    }

    /// Applies the remaining records and closes the last state.
    pub(super) fn finish(&mut self, shared: &mut Shared<'_, '_>) -> Result<()> {
        self.settle(shared)?;
        if let Some((_, end)) = self.state {
            self.now = self.now.max(end);
            self.apply(shared)?;
        }
        if let Some(begin) = self.flush.take() {
            self.keep_other(begin, names::FLUSH, 1, shared)?;
        }
        self.events.shrink_to_fit();
        Ok(())
    }

    fn settle(&mut self, shared: &mut Shared<'_, '_>) -> Result<()> {
        if std::mem::take(&mut self.is_pending) {
            self.apply(shared)
        } else {
            Ok(())
        }
    }

    fn push(&mut self, event: Event<'_>, shared: &Shared<'_, '_>) -> Result<()> {
        if self.is_kept(self.now, shared.window) {
            self.events.push(Ticks(self.now), event)?;
        }
        Ok(())
    }

    /// Returns `true` if events of the thread at this time are kept.
    fn is_kept(&self, time: u64, window: TimeRange) -> bool {
        self.is_wanted && (window == TimeRange::ALL || window.contains(Ticks(time)))
    }

    /// Adds an event that is inserted at its time after all other events are known.
    pub(super) fn push_late(&mut self, late: DeferredEvent, window: TimeRange) {
        if self.is_kept(late.time, window) {
            self.late.push(late);
        }
    }

    /// Ends a collective. A rooted collective is counted even if it is not kept, because collectives of the whole trace
    /// are numbered to find their roots.
    fn end_collective(&mut self, end: Collective, window: TimeRange) {
        if self.is_kept(self.now, window) {
            self.late.push(DeferredEvent {
                time: self.now,
                is_end: true,
                event: Event::CollectiveEnd(end),
            });
        } else if names::is_rooted(end.op) {
            self.unkept.push(UnselectedCollective {
                time: self.now,
                comm: end.comm,
                root: end.root,
            });
        }
    }

    fn keep_other(
        &mut self,
        time: u64,
        kind: u32,
        bits: u64,
        shared: &mut Shared<'_, '_>,
    ) -> Result<()> {
        let kind = shared.tables.kept(kind);
        if time == self.now {
            return self.push(
                Event::Other {
                    kind,
                    args: &[bits],
                },
                shared,
            );
        }
        // A flush without an end is known only at the end of the thread: its event is added there,
        // with the time of the begin.
        self.push(
            Event::Other {
                kind,
                args: &[bits, time],
            },
            shared,
        )
    }

    /// Applies all records of the instant `now`.
    fn apply(&mut self, shared: &mut Shared<'_, '_>) -> Result<()> {
        let mut scratch = std::mem::take(&mut shared.scratch);
        scratch.callers.clear();
        scratch.sampled.clear();
        scratch.others.clear();
        scratch.facts.clear();
        scratch.instant.clear();
        self.kept = self.open.len();
        let mut restart = false;
        let was_call = self.call.is_some();
        let mut entered = false;
        let mut ended = None;

        let pairs = std::mem::take(&mut self.pairs);
        let lines = std::mem::take(&mut self.lines);
        let mut start = 0;
        for end in &lines {
            let line = &pairs[start..*end];
            start = *end;
            scratch.members.clear();
            scratch.values.clear();
            for pair in line {
                match shared.tables.class(pair.kind) {
                    Class::Counter(metric) => {
                        shared.tables.sign(metric, *pair);
                        scratch.members.push(metric);
                        scratch.values.push(pair.bits());
                    }
                    Class::Call => {
                        // The call ends, or another one replaces it.
                        let is_own = self.call.is_some_and(|call| call.kind == pair.kind);
                        if let Some(call) = self.call.take_if(|_| is_own || pair.bits() != 0) {
                            if std::mem::take(&mut entered) {
                                scratch.instant.push(call.region)
                            } else {
                                (restart, ended) = (true, call.collective)
                            }
                        }
                        if pair.bits() != 0 {
                            self.call = Some(Call {
                                kind: pair.kind,
                                region: shared.tables.call(pair.kind, pair.bits())?,
                                collective: None,
                            });
                            entered = true;
                        }
                    }
                    Class::Function => self.function(*pair, line, &mut scratch, shared)?,
                    Class::FunctionLine => {
                        let kind = pair.kind - names::TO_LINE;
                        if !line.iter().take(BESIDE).any(|other| other.kind == kind) {
                            scratch.others.push((pair.kind, pair.bits()));
                        }
                    }
                    Class::Caller(level, is_line) => {
                        frames::note(&mut scratch.callers, level, is_line, pair.bits());
                    }
                    Class::Sampled(level, is_line) => {
                        frames::note(&mut scratch.sampled, level, is_line, pair.bits());
                    }
                    Class::Collective => scratch.facts.push(*pair),
                    Class::Flush => self.flush(*pair, &mut scratch, shared.window),
                    Class::Tracing => {
                        let on = pair.bits() != 0;
                        self.push(Event::Measuring { on }, shared)?;
                    }
                    Class::Other(_) => scratch.others.push((pair.kind, pair.bits())),
                }
            }
            if !scratch.members.is_empty() {
                self.metrics(&scratch.members, &scratch.values, shared)?;
            }
        }
        (self.pairs, self.lines) = (pairs, lines);
        self.pairs.clear();
        self.lines.clear();

        if let Some(end) = ended {
            self.end_collective(end, shared.window);
        }
        let sampled = self.context(true, &mut scratch, shared)?;
        if let Some(context) = sampled {
            self.push(Event::Sample { context }, shared)?;
        }
        restart |= self.states(&mut scratch, was_call, shared)?;
        // The properties of a collective usually come with the begin of the call; some tools write
        // them slightly later.
        let is_known = self.call.is_none_or(|call| call.collective.is_some());
        let collective = if is_known || scratch.facts.is_empty() {
            None
        } else {
            self.collective(&mut scratch.facts, shared)
        };
        self.frames(restart, entered, collective, &mut scratch, shared)?;

        // Other values of the instant take effect after its frames.
        for pair in &scratch.facts {
            scratch.others.push((pair.kind, pair.bits()));
        }
        for (kind, bits) in &scratch.others {
            let kind = match shared.tables.class(*kind) {
                Class::Other(id) => id,
                _ => shared.tables.kept(*kind),
            };
            let args = &[*bits];
            self.push(Event::Other { kind, args }, shared)?;
        }
        shared.scratch = scratch;
        Ok(())
    }

    fn metrics(
        &mut self,
        members: &[MetricId],
        values: &[u64],
        shared: &mut Shared<'_, '_>,
    ) -> Result<()> {
        let is_last = |id: &MetricSetId| {
            let set = shared.tables.sets.get(id.index());
            set.is_some_and(|set| set.members == members)
        };
        let set = match self.last_set.filter(is_last) {
            Some(set) => set,
            None => shared.tables.set(members)?,
        };
        self.last_set = Some(set);
        self.push(Event::Metric { set, values }, shared)
    }

    /// Applies the states of the instant. Returns `true` if the innermost frame begins anew.
    fn states(
        &mut self,
        scratch: &mut Scratch,
        was_call: bool,
        shared: &mut Shared<'_, '_>,
    ) -> Result<bool> {
        self.state = self.state.filter(|(_, end)| *end > self.now);
        let mut is_new = false;
        let begun = std::mem::take(&mut self.begun);
        for (state, end) in &begun {
            let region = shared.tables.state(*state)?;
            let in_call = self.call.is_some();
            if *end == self.now {
                if !in_call {
                    scratch.instant.push(region);
                }
            } else {
                self.state = Some((region, *end));
                is_new = !in_call;
            }
            if in_call && was_call {
                let place = Place::file(shared.name).record(self.object.to_string());
                shared.found.add(rules::STATE_IN_CALL, place);
            }
        }
        self.begun = begun;
        self.begun.clear();
        Ok(is_new)
    }
}
