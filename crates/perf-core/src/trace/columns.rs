//! [`Events`]: the events of one location, in columns.

use super::event::{AttributeValue, Event};
use super::records::{RecordCounts, Records};
use crate::{Error, RegionId, Result, Ticks, TimeRange};

/// The events of one location in order of time, 12 bytes for each enter and leave.
///
/// Two columns hold all of it: the time, and a word whose two high bits say enter, leave or
/// record, with the region or the number of the record in the other 30. Records, everything but
/// enter and leave, lie in a table of their own with a pool of arguments.
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
    times: Vec<Ticks>,
    words: Vec<u32>,
    records: Records,
    /// Attributes by ascending event number.
    attributes: Vec<(usize, AttributeValue)>,
    absent: bool,
}

const TAG: u32 = 0b11 << 30;
const ENTER: u32 = 0;
const LEAVE: u32 = 1 << 30;
const RECORD: u32 = 2 << 30;

impl Events {
    /// The highest region id and number of records a location can hold: 2^30 - 1.
    pub const MOST: u32 = !TAG;

    /// Events of a location whose event file is missing: nobody knows what it did.
    pub fn absent() -> Self {
        Events {
            absent: true,
            ..Events::default()
        }
    }

    /// Whether the events are missing from the recording, which is not the same as none.
    pub fn is_absent(&self) -> bool {
        self.absent
    }

    /// Room for `events` more, so that pushing them does not reallocate. Where there is not so much, as for a
    /// number that a file with holes only claims, nothing happens, and room is made as events come.
    ///
    /// ```
    /// use perf_core::{Events, RegionId, Ticks};
    /// let mut events = Events::default();
    /// events.reserve(usize::MAX / 16);
    /// events.push_enter(Ticks(1), RegionId(0));
    /// assert_eq!(events.len(), 1);
    /// ```
    pub fn reserve(&mut self, events: usize) {
        // Both or none: one column alone is of no use.
        if self.times.try_reserve(events).is_ok() && self.words.try_reserve(events).is_err() {
            self.times.shrink_to_fit();
        }
    }

    /// Room for the records to come when `done` of `total` bytes of a recording are there, so that tables of
    /// records and arguments need not grow by doubling: as many for each byte, and a sixteenth more. Where
    /// there is not so much memory, nothing happens.
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
        // As in `reserve`: who cannot have it goes on without.
        let _ = self
            .attributes
            .try_reserve_exact(more(self.attributes.len()));
    }

    /// Takes all events out and keeps the memory for others.
    pub fn clear(&mut self) {
        self.times.clear();
        self.words.clear();
        self.records.clear();
        self.attributes.clear();
        self.absent = false;
    }

    /// Gives back memory that holds nothing.
    pub fn shrink_to_fit(&mut self) {
        self.times.shrink_to_fit();
        self.words.shrink_to_fit();
        self.records.shrink_to_fit();
        self.attributes.shrink_to_fit();
    }

    /// Number of events.
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// The column of times, ascending.
    pub fn times(&self) -> &[Ticks] {
        &self.times
    }

    /// Bytes of memory the columns take.
    pub fn memory(&self) -> usize {
        self.times.capacity() * size_of::<Ticks>()
            + self.words.capacity() * size_of::<u32>()
            + self.records.memory()
            + self.attributes.capacity() * size_of::<(usize, AttributeValue)>()
    }

    /// How many records there are of those that have two ends.
    pub(crate) fn record_counts(&self) -> RecordCounts {
        self.records.counts()
    }

    /// Adds an enter: the hot path of a reader that has checked what it adds.
    ///
    /// `region` must be at most [`MOST`](Self::MOST), and `at` not before the last event;
    /// [`push`](Self::push) checks both.
    #[inline]
    pub fn push_enter(&mut self, at: Ticks, region: RegionId) {
        debug_assert!(region.0 <= Self::MOST && self.times.last().is_none_or(|last| *last <= at));
        self.times.push(at);
        self.words.push(ENTER | (region.0 & !TAG));
    }

    /// Adds a leave, on the terms of [`push_enter`](Self::push_enter).
    #[inline]
    pub fn push_leave(&mut self, at: Ticks, region: RegionId) {
        debug_assert!(region.0 <= Self::MOST && self.times.last().is_none_or(|last| *last <= at));
        self.times.push(at);
        self.words.push(LEAVE | (region.0 & !TAG));
    }

    /// Adds a leave or else an enter, on the terms of [`push_enter`](Self::push_enter), without a
    /// branch: which of the two comes next is what no processor can guess.
    #[inline]
    pub fn push_call(&mut self, at: Ticks, is_leave: bool, region: RegionId) {
        debug_assert!(region.0 <= Self::MOST && self.times.last().is_none_or(|last| *last <= at));
        const { assert!(ENTER == 0 && LEAVE == 1 << 30) };
        self.times.push(at);
        self.words
            .push((u32::from(is_leave) << 30) | (region.0 & !TAG));
    }

    /// Adds an event.
    ///
    /// # Errors
    /// [`Error::Backwards`] if it is earlier than the last one, [`Error::TooMany`] past
    /// [`MOST`](Self::MOST) regions or records, or 65,535 arguments of one event.
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

    /// Gives the last event an attribute. Ignored where there is no event yet.
    pub fn push_attribute(&mut self, value: AttributeValue) {
        if let Some(last) = self.len().checked_sub(1) {
            self.attributes.push((last, value));
        }
    }

    /// Adds all events of `later`, which must not begin before these end.
    ///
    /// # Errors
    /// As [`push`](Self::push).
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

    /// The time of event `index`.
    pub fn time(&self, index: usize) -> Option<Ticks> {
        self.times.get(index).copied()
    }

    /// Event `index`.
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

    /// Attributes of event `index`.
    pub fn attributes(&self, index: usize) -> impl Iterator<Item = AttributeValue> {
        let from = self.attributes.partition_point(|(event, _)| *event < index);
        let rest = &self.attributes[from..];
        rest.iter()
            .take_while(move |(event, _)| *event == index)
            .map(|(_, value)| *value)
    }

    /// Number of events that carry attributes.
    pub fn with_attributes(&self) -> usize {
        self.attributes.chunk_by(|a, b| a.0 == b.0).count()
    }

    /// The numbers of the events inside `window`.
    pub fn range(&self, window: TimeRange) -> std::ops::Range<usize> {
        let start = self.times.partition_point(|at| *at < window.start);
        let end = self.times.partition_point(|at| *at < window.end);
        start..end.max(start)
    }
}

/// `value` if it fits the 30 bits beside the tag.
pub(super) fn limited<T: TryInto<u32>>(what: &'static str, value: T) -> Result<u32> {
    let value = value.try_into().ok().filter(|value| *value <= Events::MOST);
    value.ok_or(Error::TooMany {
        what,
        limit: u64::from(Events::MOST),
    })
}
