//! All events of an archive in order of time, in bounded memory.

mod queues;
mod sort;
mod stream;

use super::events::{Shared, State};
use super::reader::Reader;
use super::resolve::Resolved;
use super::rules;
use crate::Result;
use perf_core::{
    AttributeValue, Definitions, Diagnostics, Event, LocationId, Merge as _, Place, Ticks,
};
use queues::Queues;
use sort::Entry;
use std::sync::Arc;
use stream::Stream;

/// Bytes of event files that are decoded ahead, over all locations.
const AHEAD: usize = 32 << 20;
/// Fewest and most bytes of a block. A location has two.
const BLOCK: (usize, usize) = (2 << 10, 32 << 10);

/// The events of many locations in order of time: what [`Reader::merged`] gives.
///
/// Events at the same time come by ascending location, those of one location in the order of its
/// file. A location holds the events of two small blocks of its file at a time, so that memory does
/// not grow with the length of the recording.
///
/// Not an [`Iterator`], because events borrow from the block they lie in.
///
/// ```
/// use perf_core::{Event, Job, Ticks};
/// use perf_formats::{OpenOptions, otf2::{MemoryArchive, Reader, write}};
/// # let trace = perf_testdata::cosmo::trace();
/// # let mut archive = MemoryArchive::default();
/// # write(trace.view(), &mut archive, &Default::default(), &Job::default())?;
/// let reader = Reader::new(archive, &OpenOptions::new(), &Job::default())?;
/// let (mut events, mut last, mut enters) = (reader.merged()?, Ticks(0), 0);
/// while let Some((_, at, event)) = events.next()? {
///     assert!(at >= last);
///     last = at;
///     enters += usize::from(matches!(event, Event::Enter { .. }));
/// }
/// assert_eq!(2 * enters, trace.len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Merged<'r> {
    reader: &'r Reader<'r>,
    /// With the placeholders made so far.
    resolved: Resolved,
    streams: Vec<Stream>,
    queues: Queues,
    /// The event that was given last.
    current: Option<Entry>,
    buffer: Vec<u8>,
    block: usize,
    found: Diagnostics,
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
            queues: Queues::new(std::iter::empty()),
            current: None,
            buffer: Vec::new(),
            block: (AHEAD / 2 / wanted.len().max(1)).clamp(least, most),
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
        merged.queues = Queues::new(merged.streams.iter().map(|stream| stream.id));
        merged.refill()?;
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
        self.current = self.queues.pop();
        if self.current.is_none() {
            self.next_batch()?;
        }
        Ok(self.current.and_then(|entry| self.queues.event(entry)))
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
        let entry = self.current.into_iter();
        entry.flat_map(|entry| self.queues.attributes(entry))
    }

    /// What events refer to, with placeholders for all ids so far that nobody defined.
    pub fn definitions(&self) -> &Definitions {
        &self.resolved.definitions
    }

    /// What was repaired, lost or noted so far.
    pub fn diagnostics(&self) -> &Diagnostics {
        &self.found
    }

    /// The first event of another batch becomes the current one.
    #[cold]
    fn next_batch(&mut self) -> Result<()> {
        self.refill()?;
        if self.queues.gather() {
            self.current = self.queues.pop();
        }
        Ok(())
    }

    /// Decodes ahead what the last batch took.
    fn refill(&mut self) -> Result<()> {
        let Merged {
            reader,
            resolved,
            streams,
            queues,
            buffer,
            block,
            found,
            ..
        } = self;
        queues.refill(|at, events| {
            let Some(stream) = streams.get_mut(at).filter(|stream| !stream.done) else {
                return Ok(true);
            };
            let (buffer, block) = (&mut *buffer, *block);
            let before = stream.state.clone();
            let decoded = stream.decode(reader, resolved, before, (block, buffer), events)?;
            let (mut amount, mut state) = decoded;
            let notes = std::mem::take(&mut state.found);
            let unresolved = std::mem::take(&mut state.unresolved);
            if !unresolved.is_empty() {
                // The block is decoded again, now that all its ids are known.
                events.clear();
                reader.check_placeholders(resolved, &unresolved)?;
                resolved.add_placeholders(&unresolved)?;
                let before = stream.state.clone();
                let decoded = stream.decode(reader, resolved, before, (block, buffer), events)?;
                (amount, state) = decoded;
                state.found = Diagnostics::default();
            }
            stream.state = state;
            stream.go_on(amount);
            reader.options.advance(amount.bytes, 0)?;
            if !notes.is_empty() {
                found.merge(&notes);
                reader.options.judge(found)?;
            }
            Ok(stream.done)
        })
    }
}
