//! [`Merged`]: iterates over all events of an archive in order of time, in bounded memory.

mod minimum_tree;
mod queues;
mod sort;
mod stream;

use super::definitions::resolve::Resolved;
use super::events::{Shared, State};
use super::reader::Reader;
use super::rules;
use crate::Result;
use perf_core::{
    AttributeValue, Definitions, Diagnostics, Event, LocationId, Merge as _, Place, Ticks,
};
use queues::Queues;
use sort::Entry;
use std::sync::Arc;
use stream::Stream;

/// Bytes of event files that are decoded ahead, summed over all locations.
const AHEAD: usize = 32 << 20;
/// Minimum and maximum size of a block in bytes. A location holds two blocks.
const BLOCK: (usize, usize) = (2 << 10, 32 << 10);

/// The events of many locations in order of time, as returned by [`Reader::merged`].
///
/// Events at the same time are ordered by location, and those of one location by their position in
/// the file. A location holds the events of two small blocks of its file at a time, so that memory
/// does not grow with the length of the recording.
///
/// This is not an [`Iterator`], because events borrow from their block.
///
/// ```
/// use perf_core::{Event, Job, Ticks};
/// use perf_formats::{OpenOptions, otf2::{MemoryArchive, Reader, write}};
/// # let trace = perf_core::samples::cosmo::trace();
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
    /// Reader of the archive.
    reader: &'r Reader<'r>,
    /// Definitions, with the placeholders created so far.
    resolved: Resolved,
    /// Event files of the locations.
    streams: Vec<Stream>,
    /// Decoded events and the current batch.
    queues: Queues,
    /// The last returned event.
    current: Option<Entry>,
    /// Buffer for encoded bytes.
    buffer: Vec<u8>,
    /// Size of a block in bytes.
    block: usize,
    /// Diagnostics so far.
    found: Diagnostics,
}

impl<'o> Reader<'o> {
    /// Iterates over the selected events in order of time, without holding all of them in memory.
    ///
    /// Undefined ids get placeholders in the order of their first use; see [`Merged::definitions`].
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`](crate::Error::Io) if the system cannot read.
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
    /// Returns the next event with its location and time, or `None` at the end.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`](crate::Error::Io) if the system cannot read,
    /// [`Error::Strict`](crate::Error::Strict) if strict reading needs a repair, and
    /// [`Error::Cancelled`](crate::Error::Cancelled) if the job was cancelled.
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

    /// Calls `visit` for each event until it returns `Break`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`next`](Self::next).
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

    /// Iterates over the attributes of the last event that [`next`](Self::next) returned.
    pub fn attributes(&self) -> impl Iterator<Item = AttributeValue> {
        let entry = self.current.into_iter();
        entry.flat_map(|entry| self.queues.attributes(entry))
    }

    /// Returns the definitions, with placeholders for all undefined ids met so far.
    pub fn definitions(&self) -> &Definitions {
        &self.resolved.definitions
    }

    /// Returns the repairs, losses and notes so far.
    pub fn diagnostics(&self) -> &Diagnostics {
        &self.found
    }

    /// Makes the first event of the next batch the current one.
    #[cold]
    fn next_batch(&mut self) -> Result<()> {
        self.refill()?;
        if self.queues.gather() {
            self.current = self.queues.pop();
        }
        Ok(())
    }

    /// Decodes new blocks in place of those that the last batch consumed.
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
                // All ids of the block are known now; decode it again.
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
