//! All events of an archive in order of time, in bounded memory.

use super::definitions::chunk_header;
use super::events::{Context, Decoder, Shared, State, Stop};
use super::reader::Reader;
use super::resolve::Resolved;
use super::rules;
use super::schema::internal;
use super::source::Shape;
use super::tree::LoserTree;
use super::wire::Cursor;
use crate::Result;
use perf_core::{
    AttributeValue, Definitions, Diagnostics, Event, Events, LocationId, Merge as _, Place, Ticks,
};
use std::sync::Arc;

/// Bytes of event files that are decoded ahead, over all locations.
const AHEAD: usize = 32 << 20;
/// Fewest and most bytes a location.
const BLOCK: (usize, usize) = (4 << 10, 64 << 10);

/// The events of many locations in order of time: what [`Reader::merged`] gives.
///
/// Events at the same time come by ascending location, those of one location in the order of its
/// file. A location holds the events of one small block of its file at a time, so that memory does
/// not grow with the length of the recording.
///
/// Not an [`Iterator`], because events borrow from the block they lie in.
#[derive(Debug)]
pub struct Merged<'r> {
    reader: &'r Reader<'r>,
    /// With the placeholders made so far.
    resolved: Resolved,
    streams: Vec<Stream>,
    tree: LoserTree,
    /// The stream of the event that was given last.
    current: Option<usize>,
    buffer: Vec<u8>,
    block: usize,
    found: Diagnostics,
}

/// One location.
#[derive(Debug)]
struct Stream {
    id: LocationId,
    file: Arc<str>,
    shape: Shape,
    shared: Shared,
    state: State,
    /// The chunk that is read, and the first byte that is not decoded.
    chunk: u64,
    at: u64,
    events: Events,
    next: usize,
    done: bool,
}

impl<'o> Reader<'o> {
    /// Walks through the events asked for in order of time, without holding them.
    ///
    /// Ids that nobody defined get placeholders in the order in which they come up; see
    /// [`Merged::definitions`].
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) where the system cannot read.
    pub fn merged(&self) -> Result<Merged<'_>> {
        let wanted = self.wanted();
        let (least, most) = BLOCK;
        let mut merged = Merged {
            reader: self,
            resolved: self.resolved.clone(),
            streams: Vec::with_capacity(wanted.len()),
            tree: LoserTree::new(Vec::new()),
            current: None,
            buffer: Vec::new(),
            block: (AHEAD / wanted.len().max(1)).clamp(least, most),
            found: self.found.clone(),
        };
        for id in wanted {
            let key = self.key(id)?;
            let member = self.source.events(key);
            let Some((shape, guessed)) = self.source.shape(&member, self.known())? else {
                let place = Place::file(member).record(format!("location {key}"));
                merged.found.add(rules::MISSING_EVENTS, place);
                continue;
            };
            let file: Arc<str> = member.into();
            if guessed {
                merged
                    .found
                    .add(rules::CHUNK_SIZE, Place::file(file.clone()));
            }
            let local = self.local(key, &mut merged.found)?;
            let shared = Shared::new(&self.resolved, local);
            let window = self.options.get_window();
            let mut stream = Stream {
                id,
                shape,
                state: State::new(shape.order, 0, window),
                chunk: 0,
                at: 0,
                events: Events::default(),
                next: 0,
                done: false,
                shared,
                file,
            };
            let first = {
                let context = stream.context(self, &merged.resolved);
                self.chunks_in(&context, shape, window)?
            };
            stream.chunk = first.start;
            stream.at = shape.span(first.start).0;
            stream.done = first.is_empty();
            merged.streams.push(stream);
        }
        let mut keys = Vec::with_capacity(merged.streams.len());
        for at in 0..merged.streams.len() {
            keys.push(merged.peek(at)?);
        }
        merged.tree = LoserTree::new(keys);
        Ok(merged)
    }
}

impl<'r> Merged<'r> {
    /// The next event: where, when and what. `None` at the end.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) where the system cannot read, [`Error::Strict`](crate::Error::Strict) if strict reading was asked
    /// for and something had to be repaired, [`Error::Cancelled`](crate::Error::Cancelled).
    #[inline]
    #[allow(
        clippy::should_implement_trait,
        reason = "events borrow from the stream"
    )]
    pub fn next(&mut self) -> Result<Option<(LocationId, Ticks, Event<'_>)>> {
        if let Some(at) = self.current.take() {
            let key = self.step(at)?;
            self.tree.replace(key);
        }
        let Some(at) = self.tree.winner() else {
            return Ok(None);
        };
        self.current = Some(at);
        let Some(stream) = self.streams.get(at) else {
            return Ok(None);
        };
        let (time, event) = (
            stream.events.time(stream.next),
            stream.events.event(stream.next),
        );
        Ok(time
            .zip(event)
            .map(|(time, event)| (stream.id, time, event)))
    }

    /// Gives each event, until `visit` says not to go on.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub fn for_each(
        mut self,
        mut visit: impl FnMut(LocationId, Ticks, Event<'_>) -> std::ops::ControlFlow<()>,
    ) -> Result<()> {
        while let Some((location, at, event)) = self.next()? {
            if visit(location, at, event).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// The attributes of the event that [`next`](Self::next) gave last.
    pub fn attributes(&self) -> impl Iterator<Item = AttributeValue> {
        let stream = self.current.and_then(|at| self.streams.get(at));
        let events = stream.map(|stream| stream.events.attributes(stream.next));
        events.into_iter().flatten()
    }

    /// What events refer to, with placeholders for all ids so far that nobody defined.
    pub fn definitions(&self) -> &Definitions {
        &self.resolved.definitions
    }

    /// What was repaired, lost or noted so far.
    pub fn diagnostics(&self) -> &Diagnostics {
        &self.found
    }

    /// Goes on by one event in a stream; the time of the next one.
    #[inline]
    fn step(&mut self, at: usize) -> Result<Option<u64>> {
        if let Some(stream) = self.streams.get_mut(at) {
            stream.next += 1;
            if let Some(time) = stream.events.time(stream.next) {
                return Ok(Some(time.0));
            }
        }
        self.peek(at)
    }

    /// The time of the next event of a stream, of which blocks are decoded until there is one.
    fn peek(&mut self, at: usize) -> Result<Option<u64>> {
        loop {
            let Some(stream) = self.streams.get(at) else {
                return Ok(None);
            };
            if let Some(time) = stream.events.time(stream.next) {
                return Ok(Some(time.0));
            }
            if stream.done {
                return Ok(None);
            }
            self.fill(at)?;
        }
    }

    /// Decodes one more block of a stream.
    fn fill(&mut self, at: usize) -> Result<()> {
        let Merged {
            reader,
            resolved,
            streams,
            buffer,
            block,
            found,
            ..
        } = self;
        let Some(stream) = streams.get_mut(at) else {
            return Ok(());
        };
        stream.next = 0;
        let before = stream.state.clone();
        let (mut amount, mut state) = stream.decode(reader, resolved, before, *block, buffer)?;
        let notes = std::mem::take(&mut state.found);
        let unresolved = std::mem::take(&mut state.unresolved);
        if !unresolved.is_empty() {
            // The block is decoded again, now that all its ids are known.
            reader.check_placeholders(&unresolved)?;
            resolved.add_placeholders(&unresolved)?;
            let before = stream.state.clone();
            (amount, state) = stream.decode(reader, resolved, before, *block, buffer)?;
            state.found = Diagnostics::default();
        }
        stream.state = state;
        stream.go_on(amount);
        let amount = amount.bytes;
        reader.options.advance(amount, 0)?;
        if !notes.is_empty() {
            found.merge(&notes);
            reader.options.judge(found)?;
        }
        Ok(())
    }
}

impl Stream {
    fn context<'c>(&'c self, reader: &'c Reader<'_>, resolved: &'c Resolved) -> Context<'c> {
        let window = reader.options.get_window();
        let file = self.file.clone();
        self.shared.context(file, resolved, &reader.kinds, window)
    }

    /// Decodes a block of about `block` bytes into the events of the stream.
    fn decode(
        &mut self,
        reader: &Reader<'_>,
        resolved: &Resolved,
        state: State,
        block: usize,
        buffer: &mut Vec<u8>,
    ) -> Result<(Step, State)> {
        let mut events = std::mem::take(&mut self.events);
        events.clear();
        let (start, end) = self.shape.span(self.chunk);
        let is_last = self.chunk + 1 >= self.shape.chunks();
        let mut least = block;
        let mut at = self.at;
        let context = self.context(reader, resolved);
        let mut decoder = Decoder::new(&context, state);
        let stop = loop {
            reader.source.block(&self.file, at, end, least, buffer)?;
            let whole = at + buffer.len() as u64 >= end || buffer.len() < least;
            let mut data = buffer.as_slice();
            if at == start {
                let mut cursor = Cursor::new(data, self.shape.order);
                if let Err(damage) = chunk_header(&mut cursor, self.shape.order) {
                    let is_cut = damage.short && is_last;
                    break if is_cut { Stop::Cut } else { Stop::Damage };
                }
                data = cursor.rest();
                at += internal::CHUNK_HEADER_LEN as u64;
            }
            let (done, stop) = decoder.run(data, at, whole, &mut events);
            at += done as u64;
            if stop == Stop::Block && done == 0 {
                // A record longer than a block is read whole.
                least = least.saturating_mul(2);
                continue;
            }
            break stop;
        };
        decoder.note_stop(stop, is_last, at);
        let state = decoder.state;
        self.events = events;
        let bytes = at - self.at;
        Ok((Step { bytes, stop }, state))
    }

    /// Goes on behind a block.
    fn go_on(&mut self, step: Step) {
        self.at += step.bytes;
        match step.stop {
            Stop::Block => {}
            Stop::Window => self.done = true,
            _ => {
                self.done = self.chunk + 1 >= self.shape.chunks();
                self.chunk += 1;
                self.at = self.shape.span(self.chunk).0;
            }
        }
    }
}

/// What a block came to.
#[derive(Clone, Copy, Debug)]
struct Step {
    bytes: u64,
    stop: Stop,
}
