//! [`Scribe`]: writes the calls of a row as events of the trace, a [`Layout`]: nested on lanes for
//! a thread, overlapping on one lane for a stream.

use super::arguments::{Argument, Arguments};
use super::names::PAST_LIMIT;
use super::row::{Call, Extra, Instant};
use crate::Result;
use perf_core::{
    AttributeId, AttributeValue, CommId, Event, Events, KindId, Region, RegionId, Ticks, TimeRange,
    Value,
};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// Maximum number of lanes of a thread.
const LANES: usize = 256;

pub(super) const CORRELATION: AttributeId = AttributeId(0);
pub(super) const BYTES: AttributeId = AttributeId(1);

/// Writer of events, which converts times, regions and names of a file to those of the trace.
#[derive(Debug)]
pub(super) struct Scribe<'a> {
    /// Offset from the times of the file to ticks.
    pub(super) shift: i128,
    /// Time window of the events to keep; `None` to keep all events.
    pub(super) window: Option<TimeRange>,
    /// Region of each region number of the file.
    pub(super) regions: &'a [RegionId],
    /// Kinds by text number.
    pub(super) kinds: &'a HashMap<u32, KindId>,
    /// Extra data of the calls.
    pub(super) extras: &'a [Extra],
    /// Additional arguments of the calls.
    pub(super) arguments: &'a Arguments,
    /// Attributes for the arguments.
    pub(super) attributes: &'a [(Argument, AttributeId)],
    /// Communicator of each group of ranks.
    pub(super) groups: &'a [CommId],
}

/// Position of an event: its lane and index.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed {
    /// Lane of the event.
    pub(super) lane: u32,
    /// Index of the event on its lane; [`u32::MAX`] if the event is outside the window.
    index: u32,
}

impl Placed {
    pub(super) fn new(lane: u32, index: Option<u32>) -> Self {
        Placed {
            lane,
            index: index.unwrap_or(u32::MAX),
        }
    }

    pub(super) fn index(self) -> Option<u32> {
        Some(self.index).filter(|index| *index != u32::MAX)
    }
}

/// Result of a layout.
#[derive(Debug, Default)]
pub(super) struct Layout {
    /// Events of each lane.
    pub(super) lanes: Vec<Events>,
    /// Position of the enter of each call.
    pub(super) enters: Vec<Placed>,
    /// Position of each instant; all are on the first lane.
    pub(super) instants: Vec<Placed>,
    /// Number of calls on additional lanes.
    pub(super) overlapping: u64,
    /// Number of calls that were trimmed because no lane was free.
    pub(super) trimmed: u64,
}

/// OTF2's code of the type of references to communicators.
const COMM_TYPE: u8 = 17;

/// Returns OTF2's code of the type of signed or unsigned integers of 64 bits.
fn integer_type(is_negative: bool) -> u8 {
    if is_negative { 8 } else { 4 }
}

impl Scribe<'_> {
    pub(super) fn tick(&self, at: i64) -> Ticks {
        let tick = i128::from(at) + self.shift;
        Ticks(u64::try_from(tick.max(0)).unwrap_or(u64::MAX))
    }

    pub(super) fn push(
        &self,
        events: &mut Events,
        at: i64,
        event: Event<'_>,
        extra: u32,
    ) -> Result<Option<u32>> {
        let at = self.tick(at);
        if self.window.is_some_and(|window| !window.contains(at)) {
            return Ok(None);
        }
        let index = events.len();
        events.push(at, event)?;
        let extra = (extra as usize).checked_sub(1);
        if let Some(extra) = extra.and_then(|extra| self.extras.get(extra)) {
            let own = [(CORRELATION, extra.correlation()), (BYTES, extra.bytes())];
            let own = own.into_iter().filter_map(|(id, value)| Some((id, value?)));
            let others = self.arguments.list(extra.arguments);
            let others = others.filter_map(|(name, (bits, is_negative))| {
                let (_, id) = self.attributes.iter().find(|it| it.0 == name)?;
                if name == Argument::Group {
                    let comm = self.groups.get(usize::try_from(bits).ok()?)?;
                    return Some((*id, (u64::from(comm.0), false), COMM_TYPE));
                }
                Some((*id, (bits, is_negative), integer_type(is_negative)))
            });
            let own = own.map(|(id, value)| (id, value, integer_type(value.1)));
            for (attribute, (bits, is_negative), type_code) in own.chain(others) {
                events.push_attribute(AttributeValue {
                    attribute,
                    type_code,
                    value: if is_negative {
                        Value::I64(bits.cast_signed())
                    } else {
                        Value::U64(bits)
                    },
                });
            }
        }
        Ok(u32::try_from(index).ok())
    }

    fn region(&self, call: &Call) -> RegionId {
        let known = self.regions.get(call.region as usize).copied();
        known.unwrap_or_default()
    }

    /// Lays out the calls of a thread, each on the first lane on which it nests.
    ///
    /// Calls are sorted by begin, longer calls first. Equal calls keep their order in the file.
    pub(super) fn nest(&self, calls: &mut [Call], instants: &mut [Instant]) -> Result<Layout> {
        calls.sort_by_key(|call| (call.start, Reverse(call.end)));
        instants.sort_by_key(|instant| instant.at);
        let mut layout = Layout::default();
        let mut notes = instants.iter().peekable();
        let mut lanes = vec![Lane::default()];
        if let Some(first) = lanes.first_mut() {
            first.events.reserve(2 * calls.len() + instants.len());
        }
        for call in calls.iter() {
            let mut chosen = None;
            for (number, lane) in lanes.iter_mut().enumerate() {
                while let Some((end, region)) = lane
                    .open
                    .last()
                    .copied()
                    .filter(|(end, _)| *end <= call.start)
                {
                    if number == 0 {
                        self.notes(
                            &mut notes,
                            &mut lane.events,
                            end.saturating_add(1),
                            &mut layout,
                        )?;
                    }
                    self.push(&mut lane.events, end, Event::Leave { region }, 0)?;
                    lane.open.pop();
                }
                if lane.open.last().is_none_or(|(end, _)| *end >= call.end) {
                    chosen = Some(number);
                    break;
                }
            }
            let number = match chosen {
                Some(number) => number,
                None if lanes.len() < LANES => {
                    lanes.push(Lane::default());
                    lanes.len() - 1
                }
                None => {
                    layout.trimmed += 1;
                    LANES - 1
                }
            };
            layout.overlapping += u64::from(number > 0);
            let region = self.region(call);
            let Some(lane) = lanes.get_mut(number) else {
                continue;
            };
            let around = lane.open.last().map_or(call.end, |(end, _)| *end);
            if number == 0 {
                self.notes(&mut notes, &mut lane.events, call.start, &mut layout)?;
            }
            let enter = self.push(
                &mut lane.events,
                call.start,
                Event::Enter { region },
                call.extra,
            )?;
            layout.enters.push(Placed::new(number as u32, enter));
            lane.open.push((call.end.min(around), region));
        }
        for (number, lane) in lanes.iter_mut().enumerate() {
            while let Some((end, region)) = lane.open.pop() {
                if number == 0 {
                    self.notes(
                        &mut notes,
                        &mut lane.events,
                        end.saturating_add(1),
                        &mut layout,
                    )?;
                }
                self.push(&mut lane.events, end, Event::Leave { region }, 0)?;
            }
        }
        if let Some(first) = lanes.first_mut() {
            for note in notes {
                let index = self.note(&mut first.events, note)?;
                layout.instants.push(Placed::new(0, index));
            }
        }
        layout.lanes = lanes.into_iter().map(|lane| lane.events).collect();
        Ok(layout)
    }

    /// Writes the instants before `until`. Callers choose `until` so that instants at the time of an enter or leave are
    /// inside the call.
    fn notes<'i>(
        &self,
        notes: &mut std::iter::Peekable<impl Iterator<Item = &'i Instant>>,
        events: &mut Events,
        until: i64,
        layout: &mut Layout,
    ) -> Result<()> {
        while let Some(note) = notes.next_if(|note| note.at < until) {
            let index = self.note(events, note)?;
            layout.instants.push(Placed::new(0, index));
        }
        Ok(())
    }

    fn note(&self, events: &mut Events, note: &Instant) -> Result<Option<u32>> {
        let kind = self.kinds[&note.name];
        let event = Event::Other { kind, args: &[] };
        self.push(events, note.at, event, note.extra)
    }

    /// Lays out the activities of a stream, which may overlap, on a single lane.
    ///
    /// Activities are sorted by begin, shorter activities first. Equal activities keep their order in the file.
    pub(super) fn stream(&self, calls: &mut [Call], copies: &mut Copies<'_>) -> Result<Layout> {
        calls.sort_by_key(|call| (call.start, call.end));
        let mut layout = Layout::default();
        let mut events = Events::default();
        events.reserve(2 * calls.len());
        let mut open = BinaryHeap::new();
        copies.ends.clear();
        for (order, call) in calls.iter().enumerate() {
            while let Some(Reverse((end, _, region))) = open.peek().copied() {
                if end > call.start {
                    break;
                }
                open.pop();
                self.push(&mut events, end, Event::Leave { region }, 0)?;
            }
            let region = copies.of(self.region(call), call.end)?;
            let event = Event::Enter { region };
            let enter = self.push(&mut events, call.start, event, call.extra)?;
            layout.enters.push(Placed::new(0, enter));
            open.push(Reverse((call.end, order, region)));
        }
        while let Some(Reverse((end, _, region))) = open.pop() {
            self.push(&mut events, end, Event::Leave { region }, 0)?;
        }
        layout.lanes.push(events);
        Ok(layout)
    }
}

#[derive(Debug, Default)]
struct Lane {
    /// Events of the lane.
    events: Events,
    /// End and region of the open calls, outermost first.
    open: Vec<(i64, RegionId)>,
}

/// Additional regions with the same name, for activities that lie inside another activity of that name. They make the
/// pairing of enters and leaves unambiguous: the first enter of each region belongs to its first leave.
#[derive(Debug)]
pub(super) struct Copies<'a> {
    /// Regions of the trace.
    pub(super) regions: &'a mut Vec<Region>,
    /// Copies by original region and number of the copy.
    pub(super) known: &'a mut HashMap<(RegionId, usize), RegionId>,
    /// Remaining budget in bytes for copies of texts of regions.
    pub(super) room: &'a mut u64,
    /// Number of copies that got a shared name because the budget is used up.
    pub(super) left_out: &'a mut u64,
    /// Last end of each copy of a region on this stream, in descending order.
    pub(super) ends: HashMap<RegionId, Vec<i64>>,
}

impl Copies<'_> {
    /// Returns the first copy of a region whose activities have all ended by `end`.
    fn of(&mut self, region: RegionId, end: i64) -> Result<RegionId> {
        let ends = self.ends.entry(region).or_default();
        let copy = ends.partition_point(|last| *last > end);
        match ends.get_mut(copy) {
            Some(last) => *last = end,
            None => ends.push(end),
        }
        if copy == 0 {
            return Ok(region);
        }
        if let Some(known) = self.known.get(&(region, copy)) {
            return Ok(*known);
        }
        let id = RegionId::from_index(self.regions.len()).filter(|id| id.0 <= Events::MAX_ID);
        let id = id.ok_or(perf_core::Error::TooMany {
            what: "regions",
            limit: u64::from(Events::MAX_ID),
        })?;
        let own = self.copy(region);
        self.regions.push(own);
        self.known.insert((region, copy), id);
        Ok(id)
    }

    /// Returns a copy of a region. Names may be long and there may be as many copies as activities, so that a copy
    /// beyond the budget gets a shared name.
    fn copy(&mut self, region: RegionId) -> Region {
        let Some(region) = self.regions.get(region.index()) else {
            return Region::default();
        };
        let bytes = region.name.len() + region.canonical.len();
        if let Some(rest) = self.room.checked_sub(bytes as u64) {
            *self.room = rest;
            return region.clone();
        }
        *self.left_out += 1;
        Region {
            paradigm: region.paradigm,
            role: region.role,
            ..Region::named(PAST_LIMIT)
        }
    }
}
