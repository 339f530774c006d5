//! [`Queues`]: holds two decoded blocks of events of each location, and returns the events of all
//! locations in order of time, batch by batch.

use super::minimum_tree::MinTree;
use super::sort::{Entry, sort};
use crate::Result;
use perf_core::{AttributeValue, Event, Events, LocationId, Ticks};

/// Minimum and maximum number of events of a batch. The range keeps the search for streams cheap
/// and the batch within the second-level cache.
const BATCH: (usize, usize) = (1 << 15, 1 << 18);
const EACH: usize = 16;
/// Span of the first batch in ticks. It is short; the following spans adapt.
const SPAN: u64 = 1 << 12;

/// Decoded events of many streams, and the batch that is being returned.
///
/// A stream that contributes to batches holds two decoded blocks, so that about one block of each
/// stream is left when one of them needs data. A batch contains all events from the earliest one up
/// to a time to which all streams are decoded. They are gathered in order of streams and then
/// sorted by time. Only the streams that contribute are touched.
///
/// Including decoding, 20 million events take 49 ns each from 1,024 locations and 89 ns from
/// 10,000; a loser tree took 101 ns and 190 ns. From 16 locations it is 27 ns instead of 36 ns.
#[derive(Debug)]
pub(super) struct Queues {
    /// Queue of each stream.
    queues: Vec<Queue>,
    /// Time of the next event of each stream.
    nexts: MinTree,
    /// Time of the last decoded event of each stream that is not fully read.
    ends: MinTree,
    /// Number of streams that are not fully read.
    open: usize,
    /// Streams that contribute to the batch.
    taking: Vec<u32>,
    /// Number of events in the batch for each stream of `taking`.
    counts: Vec<u32>,
    /// Events of the batch, in order of time.
    batch: Vec<Entry>,
    /// Scratch memory for sorting.
    spare: Vec<Entry>,
    /// Number of returned events of the batch.
    given: usize,
    /// Intended number of events of a batch.
    target: usize,
    /// Time at the start of the batch.
    base: u64,
    /// Maximum span of the next batch in ticks.
    span: u64,
}

/// A stream with two blocks of events. Events from `next` on are not in a batch yet.
#[derive(Debug)]
struct Queue {
    /// Location of the stream.
    id: LocationId,
    /// Current block.
    now: Events,
    /// Next block.
    ahead: Events,
    /// Index of the next event that is in no batch.
    next: usize,
    /// `true` after the last block was decoded.
    done: bool,
}

impl Queues {
    pub(super) fn new(ids: impl ExactSizeIterator<Item = LocationId>) -> Self {
        let len = ids.len();
        let queue = |id| Queue {
            id,
            now: Events::default(),
            ahead: Events::default(),
            next: 0,
            done: false,
        };
        Queues {
            queues: ids.map(queue).collect(),
            nexts: MinTree::new(len),
            ends: MinTree::new(len),
            open: len,
            taking: (0..).take(len).collect(),
            counts: Vec::new(),
            batch: Vec::new(),
            spare: Vec::new(),
            given: 0,
            target: len.saturating_mul(EACH).clamp(BATCH.0, BATCH.1),
            base: 0,
            span: SPAN,
        }
    }

    /// Returns the next event of the batch, or `None` at its end.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Entry> {
        let entry = self.batch.get(self.given).copied();
        self.given += usize::from(entry.is_some());
        entry
    }

    #[inline]
    pub(super) fn event(&self, entry: Entry) -> Option<(LocationId, Ticks, Event<'_>)> {
        let queue = self.queues.get(entry.stream as usize)?;
        let (events, index) = queue.find(entry.index as usize);
        let event = events.event(index)?;
        Some((queue.id, Ticks(self.base.wrapping_add(entry.offset)), event))
    }

    pub(super) fn attributes(&self, entry: Entry) -> impl Iterator<Item = AttributeValue> {
        let queue = self.queues.get(entry.stream as usize);
        let events = queue.map(|queue| {
            let (events, index) = queue.find(entry.index as usize);
            events.attributes(index)
        });
        events.into_iter().flatten()
    }

    /// Drops the events of the last batch and decodes new blocks in their place. `fill` decodes the
    /// next block of a stream into empty events, and returns `true` if it was the last one.
    pub(super) fn refill(
        &mut self,
        mut fill: impl FnMut(usize, &mut Events) -> Result<bool>,
    ) -> Result<()> {
        for stream in &self.taking {
            let stream = *stream as usize;
            let Some(queue) = self.queues.get_mut(stream) else {
                continue;
            };
            let was_done = queue.done;
            let filled = queue.refill(|events| fill(stream, events));
            self.open -= usize::from(queue.done && !was_done);
            filled?;
            let end = queue.end().filter(|_| !queue.done);
            self.ends.set(stream, end.unwrap_or(MinTree::NEVER));
            let next = queue.time().unwrap_or(MinTree::NEVER);
            self.nexts.set(stream, next);
        }
        self.taking.clear();
        Ok(())
    }

    /// Gathers the next batch; returns `false` if all streams have ended.
    pub(super) fn gather(&mut self) -> bool {
        self.given = 0;
        self.base = self.nexts.least();
        // All events before the horizon are decoded. At the horizon itself, only those of streams
        // up to `most` are usable: later streams come after data that stream `most` has yet to
        // read.
        let (horizon, most) = self.horizon();
        loop {
            let last = self.base.saturating_add(self.span - 1);
            let is_short = last < horizon;
            let (last, split) = if is_short {
                (last, self.queues.len())
            } else {
                (horizon, most.saturating_add(1).min(self.queues.len()))
            };
            self.taking.clear();
            self.counts.clear();
            self.batch.clear();
            self.nexts.until(last, 0..split, &mut self.taking);
            let up_to_most = self.taking.len();
            if let Some(before) = last.checked_sub(1) {
                let rest = split..self.queues.len();
                self.nexts.until(before, rest, &mut self.taking);
            }
            if self.fits(last, up_to_most) {
                self.adapt(is_short);
                break;
            }
            self.span = (self.span / 4).max(1);
        }
        for (stream, count) in self.taking.iter().zip(&self.counts) {
            if let Some(queue) = self.queues.get_mut(*stream as usize) {
                queue.next += *count as usize;
            }
        }
        if self.taking.len() > 1 {
            sort(&mut self.batch, &mut self.spare);
        }
        !self.batch.is_empty()
    }

    /// Gathers the events of all streams in `taking`, up to and including `last` for the first
    /// `up_to_most` of them, and before `last` for the others. Returns `false` if the batch is far
    /// too large.
    fn fits(&mut self, last: u64, up_to_most: usize) -> bool {
        for (at, stream) in self.taking.iter().enumerate() {
            let before = self.batch.len();
            let last = last.saturating_sub(u64::from(at >= up_to_most));
            if let Some(queue) = self.queues.get(*stream as usize) {
                queue.take(self.base, last, *stream, &mut self.batch);
            }
            self.counts.push((self.batch.len() - before) as u32);
            // Events of one tick cannot be separated; the size of the decoded blocks bounds their
            // number.
            if self.batch.len() > 2 * self.target && self.span > 1 {
                return false;
            }
        }
        true
    }

    /// Adapts the span of the next batch to the number of events in this one.
    fn adapt(&mut self, is_short: bool) {
        let len = self.batch.len().max(1);
        if is_short || len > self.target {
            let wanted = u128::from(self.span) * self.target as u128 / len as u128;
            let wanted = u64::try_from(wanted).unwrap_or(u64::MAX);
            let most = self.span.saturating_mul(4);
            self.span = wanted.clamp((self.span / 4).max(1), most);
        }
    }

    /// Returns the time to which all streams are decoded, and the last stream that is complete at
    /// that time.
    fn horizon(&self) -> (u64, usize) {
        if self.open == 0 {
            return (u64::MAX, usize::MAX);
        }
        let horizon = self.ends.least();
        if horizon < MinTree::NEVER {
            return (horizon, self.ends.first());
        }
        // Only events at the maximum time cannot be distinguished from the end of a stream.
        let first = self.queues.iter().position(|queue| !queue.done);
        (horizon, first.unwrap_or(usize::MAX))
    }
}

impl Queue {
    /// Returns the block of event `index`, counted from the first of `now`, and its index there.
    #[inline]
    fn find(&self, index: usize) -> (&Events, usize) {
        match index.checked_sub(self.now.len()) {
            None => (&self.now, index),
            Some(index) => (&self.ahead, index),
        }
    }

    fn time(&self) -> Option<u64> {
        let (events, index) = self.find(self.next);
        events.time(index).map(|time| time.0)
    }

    fn end(&self) -> Option<u64> {
        let last = self.ahead.times().last().or(self.now.times().last());
        last.map(|time| time.0)
    }

    /// Drops the returned events, and decodes until there are two blocks.
    fn refill(&mut self, mut fill: impl FnMut(&mut Events) -> Result<bool>) -> Result<()> {
        loop {
            while self.next >= self.now.len() && !self.now.is_empty() {
                self.next -= self.now.len();
                self.turn();
            }
            if self.now.is_empty() && !self.ahead.is_empty() {
                self.turn();
            }
            if self.done || !self.ahead.is_empty() {
                return Ok(());
            }
            self.done = fill(&mut self.ahead)?;
        }
    }

    /// Makes the next block the current one.
    fn turn(&mut self) {
        std::mem::swap(&mut self.now, &mut self.ahead);
        self.ahead.clear();
    }

    /// Adds the events up to `last` to a batch.
    fn take(&self, base: u64, last: u64, stream: u32, batch: &mut Vec<Entry>) {
        let len = self.now.len();
        let ahead = self.next.saturating_sub(len);
        let blocks = [(&self.now, self.next, 0), (&self.ahead, ahead, len)];
        for (events, from, before) in blocks {
            // If the next event is in the second block, the first one has none left.
            let times = events.times().get(from..).unwrap_or_default();
            let first = (before + from) as u32;
            let inside = times.iter().take_while(|time| time.0 <= last);
            batch.extend((first..).zip(inside).map(|(index, time)| Entry {
                offset: time.0.wrapping_sub(base),
                stream,
                index,
            }));
        }
    }
}

#[cfg(test)]
#[path = "queues_tests.rs"]
mod tests;
