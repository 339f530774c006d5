//! [`Events`]: the events of one location, stored as columns.

use super::event::{AttributeValue, Event};
use super::records::{RecordCounts, Records};
use crate::{Error, RegionId, Result, Ticks, TimeRange};

/// Events of one location in order of time, with 12 bytes for each enter and leave.
///
/// There are two columns: the time, and a word of 32 bits. The two high bits of the word
/// distinguish enter, leave and record. The other 30 bits are the region or the number of the
/// record. Records are all events other than enter and leave; they are stored in a separate table
/// with a pool of arguments.
///
/// ```
/// use perf_core::{Event, Events, RegionId, Ticks};
/// let mut events = Events::default();
/// events.push(Ticks(5), Event::Enter { region: RegionId(1) })?;
/// events.push(Ticks(9), Event::Leave { region: RegionId(1) })?;
/// assert_eq!(events.len(), 2);
/// assert_eq!(events.event(1), Some(Event::Leave { region: RegionId(1) }));
/// assert!(events.push(Ticks(8), Event::CollectiveBegin).is_err(), "time went back");
/// # Ok::<(), perf_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Events {
    /// Time of each event.
    times: Vec<Ticks>,
    /// Tag and region or record number of each event.
    words: Vec<u32>,
    /// All events other than enter and leave.
    records: Records,
    /// Attributes in ascending order of event index.
    attributes: Vec<(usize, AttributeValue)>,
    /// `true` if the events are missing.
    absent: bool,
}

const TAG: u32 = 0b11 << 30;
const ENTER: u32 = 0;
const LEAVE: u32 = 1 << 30;
const RECORD: u32 = 2 << 30;

impl Events {
    /// Largest region id and number of records of a location: 2^30 - 1.
    pub const MAX_ID: u32 = !TAG;

    /// Creates the events of a location whose event file is missing.
    pub fn absent() -> Self {
        Events {
            absent: true,
            ..Events::default()
        }
    }

    /// Returns `true` if the events are missing from the recording. This is not the same as a
    /// location without events.
    pub fn is_absent(&self) -> bool {
        self.absent
    }

    /// Reserves space for `events` more events. The allocation may fail for a count from a damaged
    /// file. In this case nothing happens, and the columns grow as events are added.
    ///
    /// ```
    /// use perf_core::{Events, RegionId, Ticks};
    /// let mut events = Events::default();
    /// events.reserve(usize::MAX / 16);
    /// events.push_enter(Ticks(1), RegionId(0));
    /// assert_eq!(events.len(), 1);
    /// ```
    pub fn reserve(&mut self, events: usize) {
        // Space in only one column is useless, so either both columns are reserved or none.
        if self.times.try_reserve(events).is_ok() && self.words.try_reserve(events).is_err() {
            self.times.shrink_to_fit();
        }
    }

    /// Reserves space for further records when `done` of `total` bytes of a recording have been
    /// read, so that the tables need not grow by doubling. The space is in proportion to the
    /// remaining bytes, plus one sixteenth. If the allocation fails, nothing happens.
    ///
    /// ```
    /// use perf_core::{Event, Events, Ticks};
    /// let value = |at| (Ticks(at), Event::Metric { set: Default::default(), values: &[7; 6] });
    /// let mut events = Events::default();
    /// events.reserve(100);
    /// events.push(value(0).0, value(0).1)?;
    /// events.reserve_records(20, 2000);
    /// let memory = events.memory();
    /// for at in 1..100 {
    ///     events.push(value(at).0, value(at).1)?;
    /// }
    /// assert_eq!(events.memory(), memory);
    /// # Ok::<(), perf_core::Error>(())
    /// ```
    pub fn reserve_records(&mut self, done: u64, total: u64) {
        let more = |len: usize| {
            let all = len as u128 * u128::from(total) / u128::from(done.max(1));
            let all = usize::try_from(all + all / 16).unwrap_or(usize::MAX);
            all.saturating_sub(len)
        };
        self.records.reserve(more);
        // As in `reserve`, a failed allocation is ignored.
        let _ = self
            .attributes
            .try_reserve_exact(more(self.attributes.len()));
    }

    /// Removes all events and keeps the memory for reuse.
    pub fn clear(&mut self) {
        self.times.clear();
        self.words.clear();
        self.records.clear();
        self.attributes.clear();
        self.absent = false;
    }

    /// Frees unused memory.
    pub fn shrink_to_fit(&mut self) {
        self.times.shrink_to_fit();
        self.words.shrink_to_fit();
        self.records.shrink_to_fit();
        self.attributes.shrink_to_fit();
    }

    /// Returns the number of events.
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Returns `true` if there are no events.
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// Returns the column of times, in ascending order.
    pub fn times(&self) -> &[Ticks] {
        &self.times
    }

    /// Returns the size of the columns in bytes.
    pub fn memory(&self) -> usize {
        self.times.capacity() * size_of::<Ticks>()
            + self.words.capacity() * size_of::<u32>()
            + self.records.memory()
            + self.attributes.capacity() * size_of::<(usize, AttributeValue)>()
    }

    /// Returns the number of records of the kinds that have two ends.
    pub(crate) fn record_counts(&self) -> RecordCounts {
        self.records.counts()
    }

    /// Adds an enter without checks, for readers that have already validated it.
    ///
    /// `region` must be at most [`MAX_ID`](Self::MAX_ID), and `at` not before the last event;
    /// [`push`](Self::push) checks both.
    #[inline]
    pub fn push_enter(&mut self, at: Ticks, region: RegionId) {
        debug_assert!(region.0 <= Self::MAX_ID && self.times.last().is_none_or(|last| *last <= at));
        self.times.push(at);
        self.words.push(ENTER | (region.0 & !TAG));
    }

    /// Adds a leave under the conditions of [`push_enter`](Self::push_enter).
    #[inline]
    pub fn push_leave(&mut self, at: Ticks, region: RegionId) {
        debug_assert!(region.0 <= Self::MAX_ID && self.times.last().is_none_or(|last| *last <= at));
        self.times.push(at);
        self.words.push(LEAVE | (region.0 & !TAG));
    }

    /// Adds a leave or an enter under the conditions of [`push_enter`](Self::push_enter), without a
    /// branch, because the kind of the next event is unpredictable.
    #[inline]
    pub fn push_call(&mut self, at: Ticks, is_leave: bool, region: RegionId) {
        debug_assert!(region.0 <= Self::MAX_ID && self.times.last().is_none_or(|last| *last <= at));
        const { assert!(ENTER == 0 && LEAVE == 1 << 30) };
        self.times.push(at);
        self.words
            .push((u32::from(is_leave) << 30) | (region.0 & !TAG));
    }

    /// Adds an event.
    ///
    /// # Errors
    /// Returns [`Error::Backwards`] if the event is earlier than the last event, or
    /// [`Error::TooMany`] beyond [`MAX_ID`](Self::MAX_ID) regions or records, or 65,535 arguments of
    /// one event.
    pub fn push(&mut self, at: Ticks, event: Event<'_>) -> Result<()> {
        if let Some(last) = self.times.last()
            && at < *last
        {
            return Err(Error::Backwards {
                location: 0,
                index: self.len(),
                at: at.0,
                last: last.0,
            });
        }
        let word = match event {
            Event::Enter { region } => ENTER | limited("regions", region.0)?,
            Event::Leave { region } => LEAVE | limited("regions", region.0)?,
            other => RECORD | self.records.push(other)?,
        };
        self.times.push(at);
        self.words.push(word);
        Ok(())
    }

    /// Adds an attribute to the last event. Without events the attribute is ignored.
    pub fn push_attribute(&mut self, value: AttributeValue) {
        if let Some(last) = self.len().checked_sub(1) {
            self.attributes.push((last, value));
        }
    }

    /// Appends all events of `later`, which must not begin before the last of the existing events.
    ///
    /// # Errors
    /// Returns the errors of [`push`](Self::push).
    pub fn append(&mut self, later: &Events) -> Result<()> {
        if let (Some(last), Some(first)) = (self.times.last(), later.times.first())
            && first < last
        {
            let (at, last) = (first.0, last.0);
            let (location, index) = (0, self.len());
            return Err(Error::Backwards {
                location,
                index,
                at,
                last,
            });
        }
        let events = self.len();
        let records = self.records.append(&later.records)?;
        self.times.extend_from_slice(&later.times);
        self.words
            .extend(later.words.iter().map(|word| match word & TAG {
                RECORD => word + records,
                _ => *word,
            }));
        let moved = later.attributes.iter();
        self.attributes
            .extend(moved.map(|(event, value)| (events + event, *value)));
        Ok(())
    }

    /// Returns the time of event `index`, or `None` if there is no such event.
    pub fn time(&self, index: usize) -> Option<Ticks> {
        self.times.get(index).copied()
    }

    /// Returns event `index`, or `None` if there is no such event.
    #[inline]
    pub fn event(&self, index: usize) -> Option<Event<'_>> {
        let word = *self.words.get(index)?;
        let low = word & !TAG;
        match word & TAG {
            ENTER => Some(Event::Enter {
                region: RegionId(low),
            }),
            LEAVE => Some(Event::Leave {
                region: RegionId(low),
            }),
            _ => self.records.event(low as usize),
        }
    }

    /// Returns the attributes of event `index`.
    pub fn attributes(&self, index: usize) -> impl Iterator<Item = AttributeValue> {
        let from = self.attributes.partition_point(|(event, _)| *event < index);
        let rest = &self.attributes[from..];
        rest.iter()
            .take_while(move |(event, _)| *event == index)
            .map(|(_, value)| *value)
    }

    /// Returns the number of events that carry attributes.
    pub fn with_attributes(&self) -> usize {
        self.attributes.chunk_by(|a, b| a.0 == b.0).count()
    }

    /// Returns the indices of the events inside `window`.
    pub fn range(&self, window: TimeRange) -> std::ops::Range<usize> {
        let start = self.times.partition_point(|at| *at < window.start);
        let end = self.times.partition_point(|at| *at < window.end);
        start..end.max(start)
    }
}

/// Converts `value` if it fits in the 30 bits after the tag, otherwise returns an error.
pub(super) fn limited<T: TryInto<u32>>(what: &'static str, value: T) -> Result<u32> {
    let value = value
        .try_into()
        .ok()
        .filter(|value| *value <= Events::MAX_ID);
    value.ok_or(Error::TooMany {
        what,
        limit: u64::from(Events::MAX_ID),
    })
}
