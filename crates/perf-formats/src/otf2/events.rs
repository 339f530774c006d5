//! [`Decoder`]: decodes the bytes of the event file of one location into columns of events, and
//! continues after damaged bytes.
//!
//! The decoder takes one block of bytes at a time: a complete chunk if all of its events are kept, or a
//! small part of a chunk if locations are merged. It stops before a record that the end of the block
//! cuts; the next block must begin with that record.

pub(super) mod column_reader;
mod context;
pub(super) mod event_conversion;
mod ids;
pub(super) mod open_regions;
pub(super) mod raw_events;
mod resync;
mod state;

pub(crate) use context::{Context, Shared};
pub(crate) use state::{State, Stop};

use super::definitions::chunk_header;
use super::definitions::id_maps::NONE;
use super::rules;
use super::schema::{self, Space, event_ids, internal};
use super::wire::{ByteOrder, Cursor, Read, typed};
use ids::{Ids, Misses};
use perf_core::{
    AttributeId, AttributeValue, Event, Events, Place, RegionId, Rule, Ticks, TimeRange,
};
use resync::Search;
use std::sync::Arc;

/// A timestamp is checked against the ones that follow if its distance to the previous one exceeds
/// this multiple of the mean distance in the chunk. Few timestamps do.
const USUAL: u64 = 64;
/// Length of a timestamp record in bytes: its id and 8 bytes of ticks.
const TIMESTAMP_LEN: usize = 9;
/// Largest length of a region id in bytes.
const MAX_REGION_LEN: u8 = 4;
/// Bytes that one iteration of the fast path may read: a timestamp, and an enter with its id, its
/// length and a region id, rounded up to a power of two.
const FAST_LEN: usize = 16;
/// Bit by which the ids of enter and leave differ.
const LEAVE_BIT: u8 = event_ids::ENTER ^ event_ids::LEAVE;

/// Decoder for the events of one location.
#[derive(Debug)]
pub(crate) struct Decoder<'c> {
    /// Context of the location.
    context: &'c Context<'c>,
    /// Decoding state.
    pub(crate) state: State,
    /// Arguments of the current event.
    args: Vec<u64>,
    /// Values of the current metric event.
    values: Vec<u64>,
    /// Undefined ids in this block.
    misses: Misses,
    /// Undefined ids of the current event.
    fresh: Vec<(Space, u64)>,
    /// Number of calling-context enters and leaves in this block, and the offset of the first.
    contexts: (u64, u64),
}

impl<'c> Decoder<'c> {
    /// Creates a decoder that continues from `state`.
    pub(crate) fn new(context: &'c Context<'c>, state: State) -> Self {
        Decoder {
            context,
            state,
            args: Vec::new(),
            values: Vec::new(),
            misses: Misses::new(),
            fresh: Vec::new(),
            contexts: (0, 0),
        }
    }

    /// Begins a chunk from byte `start` to `end` of the file, whose header is at the start of
    /// `data`. Returns the number of events that the header declares, or the stop of the chunk if
    /// no record follows. A damaged header is counted, and the records after it are still read.
    ///
    /// `next_first` is the corrected time of the first event of the next chunk.
    pub(crate) fn begin_chunk(
        &mut self,
        data: &[u8],
        (start, end): (u64, u64),
        next_first: Option<u64>,
    ) -> Result<Option<u64>, Stop> {
        let mut cursor = Cursor::new(data, self.state.order);
        let header = chunk_header(&mut cursor, self.state.order);
        let count = header.ok().and_then(|(first, last)| {
            // Some writers leave the numbers of the header empty; such a header declares no count.
            let count = last.checked_sub(first)?.checked_add(1)?;
            (first > 0 && count <= end.saturating_sub(start) / 2).then_some(count)
        });
        self.state.declared = count;
        self.state.seen = 0;
        self.state.next_first = next_first;
        cursor.jump(internal::CHUNK_HEADER_LEN);
        let first = match cursor.u8("a time") {
            Ok(internal::TIMESTAMP) => cursor.u64("a time").ok(),
            _ => None,
        };
        let first = first.map(|first| self.context.local.correct(first).0);
        let usual = || {
            let range = next_first.or(self.context.end)?.checked_sub(first?)?;
            Some((range / count?).saturating_mul(USUAL))
        };
        self.state.far = usual().map_or(self.context.far, |usual| usual.min(self.context.far));
        match header {
            Err(damage) if damage.short => Err(Stop::Cut),
            Err(_) => {
                self.note(rules::DAMAGED_CHUNK, start);
                Ok(count)
            }
            Ok(_) => Ok(count),
        }
    }

    /// Returns the decoding context of the location.
    pub(crate) fn context(&self) -> &'c Context<'c> {
        self.context
    }

    /// Returns the name of the event file.
    pub(crate) fn file(&self) -> &Arc<str> {
        &self.context.file
    }

    /// Counts the damage, if any, for a chunk that stopped at byte `at`.
    pub(crate) fn note_stop(&mut self, stop: Stop, is_last: bool, at: u64) {
        if matches!(stop, Stop::Block | Stop::Window) {
            return;
        }
        let at = self.state.lost.take().map_or(at, |(lost, _)| lost);
        let State { declared, seen, .. } = self.state;
        let lost = declared.map_or(0, |declared| declared.saturating_sub(seen));
        let place = Place::file(self.context.file.clone()).at(at);
        self.state.found.add_many(rules::LOST_EVENTS, lost, place);
        match stop {
            Stop::Chunk | Stop::Cut if is_last => self.note(rules::TRUNCATED, at),
            Stop::Cut | Stop::Damage => self.note(rules::DAMAGED_CHUNK, at),
            Stop::File if !is_last => self.note(rules::DAMAGED_CHUNK, at),
            _ => {}
        }
    }

    /// Decodes `data`, which begins with a record at byte `base` of the file. `whole` means that
    /// the chunk ends with it. Returns the number of decoded bytes and the reason for stopping.
    pub(crate) fn run(
        &mut self,
        data: &[u8],
        base: u64,
        whole: bool,
        out: &mut Events,
    ) -> (usize, Stop) {
        let (at, stop) = self.decode_block(data, base, whole, out);
        self.count_misses();
        let (contexts, offset) = std::mem::take(&mut self.contexts);
        if contexts > 0 {
            let place = Place::file(self.context.file.clone()).at(offset);
            let found = &mut self.state.found;
            found.add_many(rules::CALLING_CONTEXT, contexts, place);
        }
        (at, stop)
    }

    fn decode_block(
        &mut self,
        data: &[u8],
        base: u64,
        whole: bool,
        out: &mut Events,
    ) -> (usize, Stop) {
        let mut at = 0;
        loop {
            if let Some((_, stop)) = self.state.lost {
                match self.search(data, at, whole) {
                    Search::Found(next) => {
                        self.resumed(base + next as u64);
                        at = next;
                    }
                    Search::More(next) => return (next, Stop::Block),
                    Search::Nothing => return (at, stop),
                }
            }
            let before = out.len();
            at = self.fast(data, at, out);
            if self.context.window == TimeRange::ALL {
                self.state.seen += (out.len() - before) as u64;
            }
            if at >= data.len() {
                if !whole {
                    return (at, Stop::Block);
                }
                self.drop_pending(base + at as u64);
                return (at, Stop::Chunk);
            }
            let mut cursor = Cursor::new(data, self.state.order);
            cursor.jump(at);
            match self.record(&mut cursor, base, whole, out) {
                Ok(None) => at = cursor.at(),
                Ok(Some(stop)) => {
                    self.drop_pending(base + at as u64);
                    if stop == Stop::Window || self.is_end(data, at, whole) {
                        return (cursor.at(), stop);
                    }
                    self.lose(base + at as u64, stop);
                    at += 1;
                }
                Err(damage) if damage.short && !whole => return (at, Stop::Block),
                Err(damage) => {
                    self.drop_pending(base + at as u64);
                    let stop = if damage.short {
                        Stop::Cut
                    } else {
                        Stop::Damage
                    };
                    self.lose(base + at as u64, stop);
                    at += 1;
                }
            }
        }
    }

    /// Counts the undefined ids of a block, each with the place of its first use.
    fn count_misses(&mut self) {
        if self.misses.is_empty() {
            return;
        }
        let State {
            unresolved, found, ..
        } = &mut self.state;
        for ((space, id), (count, offset)) in std::mem::take(&mut self.misses) {
            let place =
                super::definitions::resolve::unresolved_place(&self.context.file, space, id);
            found.add_many(rules::UNRESOLVED_ID, count, place.at(offset));
            unresolved.add(space, id);
        }
    }

    /// Drops and counts attributes that no event follows in their chunk. Chunks are decoded
    /// independently, so that an event of the next chunk cannot receive them.
    fn drop_pending(&mut self, offset: u64) {
        if !self.state.pending.is_empty() {
            self.state.pending.clear();
            if self.state.keep {
                self.note(rules::LOST_ATTRIBUTES, offset);
            }
        }
    }

    /// Fast path for timestamps, enters and leaves without special cases, which are nearly all
    /// records. Returns the position of the first other record.
    fn fast(&mut self, data: &[u8], at: usize, out: &mut Events) -> usize {
        if !self.state.pending.is_empty() || self.state.order != ByteOrder::Little {
            at
        } else if self.context.window == TimeRange::ALL {
            self.fast_in::<true>(data, at, out)
        } else {
            self.fast_in::<false>(data, at, out)
        }
    }

    /// Fast path; with `ALL`, the window is all of time and needs no check.
    #[inline]
    fn fast_in<const ALL: bool>(&mut self, data: &[u8], mut at: usize, out: &mut Events) -> usize {
        let regions = self.context.regions;
        let window = self.context.window;
        let segment = self.state.segment;
        let is_right = segment.is_none();
        let mut now = Ticks(self.state.time);
        let mut keep = self.state.keep;
        let far = self.state.far;
        let mut seen = 0;
        // One length check covers all reads of an iteration.
        while let Some(bytes) = data
            .get(at..)
            .and_then(|rest| rest.first_chunk::<FAST_LEN>())
        {
            let (id, len, value, from) = if bytes[0] == internal::TIMESTAMP {
                let [
                    _,
                    t0,
                    t1,
                    t2,
                    t3,
                    t4,
                    t5,
                    t6,
                    t7,
                    id,
                    len,
                    v0,
                    v1,
                    v2,
                    v3,
                    _,
                ] = *bytes;
                let raw = u64::from_le_bytes([t0, t1, t2, t3, t4, t5, t6, t7]);
                let time = Ticks(if is_right { raw } else { segment.apply(raw) });
                // A timestamp that goes back also counts as far ahead, because the difference wraps
                // around.
                if !segment.holds(raw) || time.0.wrapping_sub(now.0) > far {
                    break;
                }
                now = time;
                if !ALL {
                    keep = window.contains(now);
                    if now >= window.end {
                        at += TIMESTAMP_LEN;
                        break;
                    }
                }
                (id, len, [v0, v1, v2, v3], TIMESTAMP_LEN)
            } else {
                let [id, len, v0, v1, v2, v3, ..] = *bytes;
                (id, len, [v0, v1, v2, v3], 0)
            };
            at += from;
            if id & !LEAVE_BIT != event_ids::ENTER || len > MAX_REGION_LEN {
                break;
            }
            // The shift uses 64 bits: in 32 bits, a length of 4 would overflow.
            let mask = (1_u64 << (8 * u32::from(len))) - 1;
            let local = u64::from(u32::from_le_bytes(value)) & mask;
            let Some(region) = regions
                .get(local as usize)
                .filter(|region| **region != NONE)
            else {
                break;
            };
            at += 2 + usize::from(len);
            if ALL || keep {
                out.push_call(now, id & LEAVE_BIT != 0, RegionId(*region));
            }
            if !ALL {
                seen += 1;
            }
        }
        self.state.seen += seen;
        self.state.time = now.0;
        self.state.keep = keep;
        at
    }

    /// Handles a timestamp; `from` is the cursor after it. A timestamp far ahead of its neighbours
    /// is replaced by the previous one.
    fn set_time(&mut self, raw: u64, offset: u64, from: &Cursor<'_>, whole: bool) -> Read<()> {
        if !self.state.segment.holds(raw) {
            self.state.segment = self.context.local.clock().segment(raw);
        }
        let time = self.state.segment.apply(raw);
        if time < self.state.time {
            self.note(rules::TIME_BACKWARDS, offset);
        } else if time - self.state.time <= self.state.far {
            self.state.time = time;
        } else {
            match self.judge(time, from, whole)? {
                Some(instead) => {
                    self.note(rules::TIME_JUMP, offset);
                    self.state.time = instead;
                }
                None => self.state.time = time,
            }
        }
        self.state.started = true;
        let window = self.context.window;
        let now = Ticks(self.state.time);
        self.state.keep = window == TimeRange::ALL || window.contains(now);
        Ok(())
    }

    /// Counts a finding in this file.
    #[cold]
    pub(crate) fn note(&mut self, rule: Rule, offset: u64) {
        let place = Place::file(self.context.file.clone()).at(offset);
        self.state.found.add(rule, place);
    }

    /// Decodes one record of any kind.
    fn record(
        &mut self,
        cursor: &mut Cursor<'_>,
        base: u64,
        whole: bool,
        out: &mut Events,
    ) -> Read<Option<Stop>> {
        let at = cursor.at();
        let offset = base + at as u64;
        if self.state.time >= self.context.window.end.0 && self.context.window != TimeRange::ALL {
            return Ok(Some(Stop::Window));
        }
        let id = cursor.u8("a record")?;
        match id {
            internal::END_OF_CHUNK => return Ok(Some(Stop::Chunk)),
            internal::END_OF_BUFFER | internal::END_OF_FILE => return Ok(Some(Stop::File)),
            internal::TIMESTAMP => {
                let raw = cursor.u64("a time")?;
                self.set_time(raw, offset, cursor, whole)?;
                return Ok(None);
            }
            internal::ATTRIBUTES => {
                let payload = cursor.payload()?;
                let mut list = Cursor::new(payload, self.state.order);
                if self.attributes(&mut list).is_err() {
                    self.note(rules::DAMAGED_RECORD, offset);
                }
                return Ok(None);
            }
            internal::CHUNK_HEADER => return cursor.wrong("an event"),
            _ => {}
        }
        let known = schema::event(id);
        let is_bare = known.is_some_and(|record| !record.has_length);
        if is_bare {
            self.fields(id, cursor, offset)?;
            if !self.fresh.is_empty() {
                self.confirm_ids(cursor, whole)?;
            }
        } else {
            let mut fields = cursor.record()?;
            let read = self.fields(id, &mut fields, offset);
            // Later versions append fields and define further kinds of records. Accept them only if
            // valid records follow.
            if known.is_none() || read.is_err() || !fields.is_empty() {
                self.confirm(cursor, whole, known.is_none().then_some(id))?;
            }
            if read.is_err() {
                self.state.pending.clear();
                self.state.seen += 1;
                self.note(rules::DAMAGED_RECORD, offset);
                return Ok(None);
            }
            if !self.fresh.is_empty() {
                self.confirm_ids(cursor, whole)?;
            }
        }
        self.state.seen += 1;
        self.add(id, out, offset);
        Ok(None)
    }

    /// Fails if an event with undefined ids is not followed by valid records; its ids are then not
    /// counted.
    #[cold]
    fn confirm_ids(&mut self, after: &Cursor<'_>, whole: bool) -> Read<()> {
        let confirmed = self.confirm(after, whole, None);
        for key in std::mem::take(&mut self.fresh) {
            if confirmed.is_err()
                && let std::collections::hash_map::Entry::Occupied(mut seen) =
                    self.misses.entry(key)
            {
                match seen.get_mut() {
                    (1, _) => drop(seen.remove()),
                    (count, _) => *count -= 1,
                }
            }
        }
        confirmed
    }

    /// Decodes the fields of an event into `args`.
    fn fields(&mut self, id: u8, fields: &mut Cursor<'_>, offset: u64) -> Read<()> {
        self.args.clear();
        self.fresh.clear();
        let known = schema::event(id);
        if let Some(record) = known {
            let mut ids = Ids {
                context: self.context,
                misses: &mut self.misses,
                fresh: &mut self.fresh,
                offset,
                // Undefined ids outside the window are not reported.
                quiet: !self.state.keep,
            };
            // Arguments of generic events may be undefined references; typed events need a valid
            // id.
            let may_lack = !event_conversion::has_noun(id);
            let mut map = |space: Space, id: u64| {
                if may_lack && id == space.undefined() {
                    id
                } else {
                    ids.dense(space, id)
                }
            };
            return fields.numbers(record.fields, &mut self.args, &mut map);
        }
        self.args.push(id.into());
        Ok(())
    }

    /// Adds a decoded event to `out` if it lies in the window.
    fn add(&mut self, id: u8, out: &mut Events, offset: u64) {
        let known = schema::event(id);
        if known.is_none() {
            let place = Place::file(self.context.file.clone()).at(offset);
            let place = place.record(format!("record {id}"));
            self.state.found.add(rules::UNKNOWN_RECORD, place);
        }
        if !self.state.keep {
            self.state.pending.clear();
            return;
        }
        if matches!(id, event_ids::CONTEXT_ENTER | event_ids::CONTEXT_LEAVE) {
            let (count, first) = self.contexts;
            self.contexts = (count + 1, if count == 0 { offset } else { first });
        }
        let context = self.context;
        let regions = &context.maps().context_regions;
        let event = match known {
            Some(record) => event_conversion::event(
                record,
                &self.args,
                &mut self.values,
                context.kinds,
                |path| RegionId(regions.get(path as usize).copied().unwrap_or_default()),
                |time| context.local.correct(time),
            ),
            None => Event::Other {
                kind: context.kinds.of(id),
                args: &self.args,
            },
        };
        if out.push(Ticks(self.state.time), event).is_err() {
            self.state.pending.clear();
            self.note(rules::LONG_EVENT, offset);
            return;
        }
        for attribute in self.state.pending.drain(..) {
            out.push_attribute(attribute);
        }
    }

    /// Decodes an attribute list, which belongs to the next event.
    fn attributes(&mut self, list: &mut Cursor<'_>) -> Read<()> {
        let count = list.v32("the number of attributes")?;
        let mut ids = Ids {
            context: self.context,
            misses: &mut self.misses,
            fresh: &mut self.fresh,
            offset: 0,
            quiet: !self.state.keep,
        };
        for _ in 0..count {
            let id = list.id(Space::Attribute, "an attribute")?;
            let type_code = list.u8("the type of an attribute")?;
            let mut bits = list.value(type_code)?;
            if let Some(space) = Space::of_type(type_code) {
                bits = ids.reference(space, bits);
            }
            let attribute = AttributeId(ids.dense(Space::Attribute, id) as u32);
            self.state.pending.push(AttributeValue {
                attribute,
                type_code,
                value: typed(type_code, bits),
            });
        }
        Ok(())
    }
}
