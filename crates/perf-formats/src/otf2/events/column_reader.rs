//! [`Reader::read`]: reads the selected events of an archive into a [`Trace`], with locations and
//! chunks in parallel, within the memory budget.

use crate::otf2::archive::files::{Shape, Source};
use crate::otf2::definitions::chunk_header;
use crate::otf2::definitions::id_maps::Unresolved;
use crate::otf2::definitions::resolve::Resolved;
use crate::otf2::events::{Context, Decoder, Shared, State, Stop};
use crate::otf2::reader::Reader;
use crate::otf2::rules;
use crate::otf2::schema::internal;
use crate::otf2::wire::Cursor;
use crate::{Error, Result};
use perf_core::parallel::Threads;
use perf_core::{Diagnostics, Events, LocationId, Merge, Place, Ticks, TimeRange, Trace};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Result of reading one location.
#[derive(Debug, Default)]
struct Part {
    /// Decoded events.
    events: Events,
    /// Diagnostics of the location.
    found: Diagnostics,
    /// Undefined ids of the location.
    unresolved: Unresolved,
}

/// Shared state of all locations during a read.
struct Pass<'p> {
    /// Definitions with the placeholders so far.
    resolved: &'p Resolved,
    /// Number of reading threads.
    threads: Threads,
    /// Total size of all files in bytes.
    total: u64,
    /// Bytes of columns so far, including those that are being filled.
    memory: AtomicU64,
}

/// Returns the number of chunks of a location that are decoded in parallel.
pub(in crate::otf2) fn at_once(threads: Threads) -> u64 {
    2 * threads.count() as u64
}

/// Returns `true` if a location is to be read by all threads together: it exceeds the share of one
/// thread in `total` bytes, and has enough chunks for all threads.
pub(in crate::otf2) fn by_chunk(shape: Shape, total: u64, threads: Threads) -> bool {
    let count = threads.count() as u64;
    count > 1 && shape.chunks() >= count && shape.size.saturating_mul(count) > total
}

impl Reader<'_> {
    /// Reads the selected events into columns. The result, including the diagnostics, is the same
    /// for any number of threads.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`] if the system cannot read, [`Error::Limit`] if the events exceed the
    /// memory budget, [`Error::Strict`] if strict reading needs a repair, and [`Error::Cancelled`]
    /// if the job was cancelled.
    pub fn read(&self) -> Result<(Trace, Diagnostics)> {
        let threads = Threads::new(self.options.get_threads());
        threads.install(|| self.read_all(threads))
    }

    fn read_all(&self, threads: Threads) -> Result<(Trace, Diagnostics)> {
        let wanted = self.wanted();
        let total = self.check_memory()?;
        let pass = |resolved| Pass {
            resolved,
            threads,
            total,
            memory: AtomicU64::new(0),
        };
        let first = pass(&self.resolved);
        let mut parts = self.parts(&wanted, &first)?;

        // Locations with undefined ids are read again after all placeholders exist.
        let mut unresolved = Unresolved::default();
        let mut again = Vec::new();
        for (at, part) in parts.iter().enumerate() {
            if !part.unresolved.is_empty() {
                unresolved.merge(&part.unresolved);
                again.push(at);
            }
        }
        let mut resolved = None;
        if !again.is_empty() {
            self.check_placeholders(&self.resolved, &unresolved)?;
            let mut more = self.resolved.clone();
            more.add_placeholders(&unresolved)?;
            let second = pass(&more);
            let ids: Vec<LocationId> = again
                .iter()
                .filter_map(|at| wanted.get(*at).copied())
                .collect();
            let mut reread = self.parts(&ids, &second)?;
            for at in again.into_iter().rev() {
                // Keep the diagnostics of the first pass, which include the undefined ids.
                if let (Some(part), Some(new)) = (parts.get_mut(at), reread.pop()) {
                    part.events = new.events;
                }
            }
            resolved = Some(more);
        }

        let definitions = resolved
            .as_ref()
            .unwrap_or(&self.resolved)
            .definitions
            .clone();
        let mut found = self.found.clone();
        let mut events: Vec<Events> = Vec::new();
        events.resize_with(definitions.system.locations().len(), Events::absent);
        for (id, part) in wanted.into_iter().zip(parts) {
            found.merge(&part.found);
            self.check_counts(id, &part.events, &mut found);
            if let Some(slot) = events.get_mut(id.index()) {
                *slot = part.events;
            }
        }
        self.options.judge(&found)?;
        Ok((Trace::new(definitions, events)?, found))
    }

    /// Reads all locations. Those that exceed the share of one thread are read first, one after the
    /// other, by all threads together, so that only one location at a time has chunks in memory
    /// twice. The others are read in parallel.
    fn parts(&self, wanted: &[LocationId], pass: &Pass<'_>) -> Result<Vec<Part>> {
        let mut parts = Vec::new();
        parts.resize_with(wanted.len(), || None);
        if pass.threads.count() > 1 {
            for (id, part) in wanted.iter().zip(&mut parts) {
                let member = self.source.events(self.key(*id)?);
                let shape = self.source.shape(&member, self.known())?;
                if shape.is_some_and(|(shape, _)| by_chunk(shape, pass.total, pass.threads)) {
                    *part = Some(self.location(*id, true, pass)?);
                }
            }
        }
        let each = wanted.iter().zip(&parts);
        let rest: Vec<LocationId> = each
            .filter(|(_, part)| part.is_none())
            .map(|(id, _)| *id)
            .collect();
        let mut rest = pass
            .threads
            .try_map(&rest, |id| self.location(*id, false, pass))?
            .into_iter();
        let parts = parts.into_iter();
        Ok(parts
            .map(|part| part.or_else(|| rest.next()).unwrap_or_default())
            .collect())
    }

    /// Returns the selected locations.
    pub(crate) fn wanted(&self) -> Vec<LocationId> {
        let system = &self.definitions().system;
        let ids = system.location_ids().zip(system.locations());
        let wanted = ids.filter(|(_, location)| self.options.wants(location.key));
        wanted.map(|(id, _)| id).collect()
    }

    /// Compares the estimate with the memory budget; returns the size of all files in bytes.
    fn check_memory(&self) -> Result<u64> {
        let limit = self.options.get_limits().memory;
        let estimate = self.estimate()?;
        if estimate.memory > limit && self.options.get_window() == TimeRange::ALL {
            return Err(self.too_much(estimate.memory));
        }
        Ok(estimate.bytes)
    }

    fn too_much(&self, memory: u64) -> Error {
        Error::Limit {
            place: Place::file(self.source.anchor()),
            what: "memory for events in bytes",
            got: memory,
            limit: self.options.get_limits().memory,
        }
    }

    /// Checks that placeholders for further undefined ids fit the memory budget.
    pub(crate) fn check_placeholders(
        &self,
        before: &Resolved,
        unresolved: &Unresolved,
    ) -> Result<()> {
        let limit = self.options.get_limits().definitions;
        let got = before.undefined + unresolved.len() as u64;
        if got > u64::from(limit) {
            return Err(Error::Limit {
                place: Place::file(self.source.anchor()),
                what: "the number of undefined ids",
                got,
                limit: limit.into(),
            });
        }
        Ok(())
    }

    /// Counts deviations of numbers of events and of times from the declared ones.
    fn check_counts(&self, id: LocationId, events: &Events, found: &mut Diagnostics) {
        let Ok(key) = self.key(id) else { return };
        let place = || Place::file(self.source.events(key)).record(format!("location {key}"));
        let whole = self.options.get_window() == TimeRange::ALL && !events.is_absent();
        let declared = self.declared_events(id);
        if whole && declared.is_some_and(|declared| declared != events.len() as u64) {
            found.add(rules::DECLARED_EVENTS, place());
        }
        if let Some((start, length)) = self.resolved.span {
            let end = start.saturating_add(length);
            let before = events.times().partition_point(|at| at.0 < start);
            let inside = events.times().partition_point(|at| at.0 <= end);
            let outside = before + events.len() - inside;
            found.add_many(rules::OUTSIDE_CLOCK, outside as u64, place());
        }
    }

    /// Reads a location, by all threads together or by this one.
    fn location(&self, id: LocationId, by_chunk: bool, pass: &Pass<'_>) -> Result<Part> {
        let key = self.key(id)?;
        let member = self.source.events(key);
        let mut part = Part::default();
        let Some((shape, guessed)) = self.source.shape(&member, self.known())? else {
            let record = format!("location {key}");
            let place = Place::file(member).record(record);
            part.found.add(rules::MISSING_EVENTS, place);
            part.events = Events::absent();
            return Ok(part);
        };
        if guessed {
            let place = Place::file(member.as_str());
            part.found.add(rules::CHUNK_SIZE, place);
        }
        let local = self.local(key, &mut part.found)?;
        let window = self.options.get_window();
        let file = Arc::from(member.as_str());
        let shared = Shared::new(pass.resolved, local);
        let context = shared.context(file, pass.resolved, &self.kinds, window);
        let chunks = self.chunks_in(&context, shape, window)?;
        if window == TimeRange::ALL && shape.chunks() > 1 {
            // The reservation is limited by the bytes of the file, as in each chunk. Without it, a
            // growing column would be in memory twice.
            let count = self.count(&context.file, shape)?.min(shape.size / 4);
            part.events
                .reserve(usize::try_from(count).unwrap_or_default());
            self.grow(pass, 0, part.events.memory())?;
        }
        if by_chunk && chunks.end - chunks.start > 1 {
            self.side_by_side(&context, shape, chunks, pass, &mut part)?;
        } else {
            let mut decoder = Decoder::new(&context, State::new(shape.order, 0, window));
            self.source.with_buffer(|buffer| {
                for chunk in chunks {
                    let stop =
                        self.chunk(&mut decoder, shape, chunk, &mut part.events, buffer, pass)?;
                    if stop == Stop::Window {
                        break;
                    }
                    if chunk == 0 {
                        self.reserve_records(&mut part.events, shape, 1, pass)?;
                    }
                }
                Ok::<(), Error>(())
            })?;
            part.found.merge(&decoder.state.found);
            part.unresolved = decoder.state.unresolved;
        }
        let used = part.events.memory();
        part.events.shrink_to_fit();
        self.grow(pass, used, part.events.memory())?;
        Ok(part)
    }

    /// Reserves memory for all records of a file, extrapolated from the chunks read so far, if all
    /// of it is selected.
    fn reserve_records(
        &self,
        events: &mut Events,
        shape: Shape,
        chunks: u64,
        pass: &Pass<'_>,
    ) -> Result<()> {
        if self.options.get_window() != TimeRange::ALL || chunks >= shape.chunks() {
            return Ok(());
        }
        let before = events.memory();
        let (_, done) = shape.span(chunks.saturating_sub(1));
        events.reserve_records(done, shape.size);
        self.grow(pass, before, events.memory())
    }

    /// Accounts for columns that grew from `before` to `after` bytes.
    fn grow(&self, pass: &Pass<'_>, before: usize, after: usize) -> Result<()> {
        let (before, after) = (before as u64, after as u64);
        if after < before {
            pass.memory.fetch_sub(before - after, Ordering::Relaxed);
            return Ok(());
        }
        let more = after - before;
        let memory = more + pass.memory.fetch_add(more, Ordering::Relaxed);
        if memory > self.options.get_limits().memory {
            return Err(self.too_much(memory));
        }
        Ok(())
    }

    /// Decodes several chunks in parallel and joins them in order.
    ///
    /// Each chunk is decoded as if nothing preceded it. That is correct unless its first time lies
    /// before the last one so far; in that case it is decoded again with the known state.
    fn side_by_side(
        &self,
        context: &Context<'_>,
        shape: Shape,
        chunks: Range<u64>,
        pass: &Pass<'_>,
        part: &mut Part,
    ) -> Result<()> {
        let mut time = 0;
        let mut next = chunks.start;
        while next < chunks.end {
            // A few chunks for each thread at a time limit the data that is in memory twice.
            let until = (next + at_once(pass.threads)).min(chunks.end);
            let group: Vec<u64> = (next..until).collect();
            let decode = |chunk: u64, time: u64| {
                let mut events = Events::default();
                let window = self.options.get_window();
                let mut decoder = Decoder::new(context, State::new(shape.order, time, window));
                let stop = self.source.with_buffer(|buffer| {
                    self.chunk(&mut decoder, shape, chunk, &mut events, buffer, pass)
                })?;
                Ok::<_, Error>((events, stop, decoder.state))
            };
            let decoded = pass.threads.try_map(&group, |chunk| decode(*chunk, 0))?;
            for (chunk, mut done) in group.into_iter().zip(decoded) {
                let first = self.first_time(context, shape, chunk)?;
                let is_doubtful = done.2.is_doubtful || first.is_none_or(|first| first < time);
                if is_doubtful && time > 0 {
                    self.grow(pass, done.0.memory(), 0)?;
                    done = decode(chunk, time)?;
                }
                let (events, stop, state) = done;
                let before = part.events.memory();
                if part.events.append(&events).is_err() {
                    let (start, _) = shape.span(chunk);
                    let place = Place::file(context.file.clone()).at(start);
                    part.found.add(rules::LONG_EVENT, place);
                }
                self.grow(pass, events.memory(), 0)?;
                self.grow(pass, before, part.events.memory())?;
                part.found.merge(&state.found);
                part.unresolved.merge(&state.unresolved);
                time = time.max(state.time);
                if stop == Stop::Window {
                    return Ok(());
                }
            }
            if next == 0 {
                self.reserve_records(&mut part.events, shape, until, pass)?;
            }
            next = until;
        }
        Ok(())
    }

    /// Decodes one chunk, block by block.
    fn chunk(
        &self,
        decoder: &mut Decoder<'_>,
        shape: Shape,
        chunk: u64,
        out: &mut Events,
        buffer: &mut Vec<u8>,
        pass: &Pass<'_>,
    ) -> Result<Stop> {
        let member = decoder.file().clone();
        let (start, end) = shape.span(chunk);
        let is_last = chunk + 1 == shape.chunks();
        let mut at = start;
        let mut least = Source::block_len();
        let mut memory = out.memory();
        loop {
            self.source.block(&member, at, end, least, buffer)?;
            // Fewer bytes than expected: the file shrank meanwhile.
            let whole = at + buffer.len() as u64 >= end || buffer.len() < least;
            let mut data = buffer.as_slice();
            if at == start {
                let next = self.first_time(decoder.context(), shape, chunk + 1)?;
                let declared = match decoder.begin_chunk(data, (start, end), next) {
                    Ok(declared) => declared,
                    Err(stop) => {
                        decoder.note_stop(stop, is_last, start);
                        return Ok(stop);
                    }
                };
                if self.options.get_window() == TimeRange::ALL {
                    // The declared count is limited by the bytes of the chunk: an event takes at
                    // least two bytes, and nearly all take four or more.
                    let most = (end - start) / 4;
                    let count = declared.unwrap_or_default().min(most);
                    out.reserve(usize::try_from(count).unwrap_or_default());
                }
                // The chunk of a damaged file may be shorter than its header.
                data = data.get(internal::CHUNK_HEADER_LEN..).unwrap_or_default();
                at += internal::CHUNK_HEADER_LEN as u64;
            }
            let (done, stop) = decoder.run(data, at, whole, out);
            self.options.advance(done as u64, pass.total)?;
            self.grow(pass, memory, out.memory())?;
            memory = out.memory();
            at += done as u64;
            if stop == Stop::Block {
                // A record is longer than a block: read a larger one.
                if done == 0 {
                    least = least.saturating_mul(2);
                }
                continue;
            }
            decoder.note_stop(stop, is_last, at);
            return Ok(stop);
        }
    }

    /// Returns the corrected time at which a chunk begins, or `None` if it does not begin with a
    /// timestamp.
    pub(crate) fn first_time(
        &self,
        context: &Context<'_>,
        shape: Shape,
        chunk: u64,
    ) -> Result<Option<u64>> {
        const LEN: usize = internal::CHUNK_HEADER_LEN + 9;
        let (start, end) = shape.span(chunk);
        if end - start < LEN as u64 {
            return Ok(None);
        }
        let mut head = [0; LEN];
        let got = self.source.read_at(&context.file, start, &mut head)?;
        let head = &head[..got];
        let mut cursor = Cursor::new(head, shape.order);
        let time = |cursor: &mut Cursor<'_>| {
            chunk_header(cursor, shape.order)?;
            match cursor.u8("a time")? {
                internal::TIMESTAMP => cursor.u64("a time"),
                _ => cursor.wrong("a time"),
            }
        };
        let time = time(&mut cursor).ok();
        Ok(time.map(|time| context.local.correct(time).0))
    }

    /// Returns the chunks that may contain events of a window, by their first times. If these are
    /// out of order or missing, returns all chunks.
    pub(crate) fn chunks_in(
        &self,
        context: &Context<'_>,
        shape: Shape,
        window: TimeRange,
    ) -> Result<Range<u64>> {
        let all = 0..shape.chunks();
        if window == TimeRange::ALL || all.end <= 1 {
            return Ok(all);
        }
        let mut firsts = Vec::new();
        for chunk in all.clone() {
            let Some(first) = self.first_time(context, shape, chunk)? else {
                return Ok(all);
            };
            firsts.push(Ticks(first));
        }
        if !firsts.is_sorted() {
            return Ok(all);
        }
        // Events at the first time of a chunk may also lie at the end of the previous chunk.
        let start = firsts.partition_point(|first| *first < window.start);
        // The first time of a chunk may be damaged, so one more chunk is included.
        let end = firsts.partition_point(|first| *first < window.end) + 1;
        let start = (start as u64).saturating_sub(1);
        Ok(start..(end as u64).clamp(start, all.end))
    }
}
