//! [`Events`]: the events of one location, in columns.

use super::event::{
    AttributeValue, Collective, CollectiveOp, Event, RmaCompletion, RmaOp, Transfer,
};
use crate::{
    CallPathId, CommId, Error, KindId, MetricSetId, RegionId, Result, Ticks, TimeRange, WindowId,
};

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
    records: Vec<Record>,
    args: Vec<u64>,
    /// Attributes by ascending event number.
    attributes: Vec<(usize, AttributeValue)>,
    absent: bool,
}

/// A record: its code, what its code needs of 16 bits, and its arguments in the pool.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Record {
    code: Code,
    len: u16,
    start: u32,
    /// The kind of an `Other`, the operation of a collective or access.
    detail: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Code {
    Send,
    Isend,
    SendComplete,
    RecvPost,
    Recv,
    Irecv,
    RequestTest,
    RequestCancelled,
    CollectiveBegin,
    CollectivePost,
    CollectiveEnd,
    Icollective,
    Rma,
    RmaComplete,
    Metric,
    Measuring,
    Flush,
    Sample,
    Other,
}

/// How many records of some kinds there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RecordCounts {
    pub(crate) sends: usize,
    pub(crate) receives: usize,
    /// Collectives that end.
    pub(crate) collectives: usize,
    /// Remote accesses that start.
    pub(crate) accesses: usize,
}

const TAG: u32 = 0b11 << 30;
const ENTER: u32 = 0;
const LEAVE: u32 = 1 << 30;
const RECORD: u32 = 2 << 30;
const NOBODY: u64 = u64::MAX;

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
        let (records, args) = (more(self.records.len()), more(self.args.len()));
        let attributes = more(self.attributes.len());
        // As in `reserve`: who cannot have it goes on without.
        let _ = self.records.try_reserve_exact(records);
        let _ = self.args.try_reserve_exact(args);
        let _ = self.attributes.try_reserve_exact(attributes);
    }

    /// Takes all events out and keeps the memory for others.
    pub fn clear(&mut self) {
        self.times.clear();
        self.words.clear();
        self.records.clear();
        self.args.clear();
        self.attributes.clear();
        self.absent = false;
    }

    /// Gives back memory that holds nothing.
    pub fn shrink_to_fit(&mut self) {
        self.times.shrink_to_fit();
        self.words.shrink_to_fit();
        self.records.shrink_to_fit();
        self.args.shrink_to_fit();
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
            + self.records.capacity() * size_of::<Record>()
            + self.args.capacity() * size_of::<u64>()
            + self.attributes.capacity() * size_of::<(usize, AttributeValue)>()
    }

    /// How many records there are of those that have two ends.
    pub(crate) fn record_counts(&self) -> RecordCounts {
        let mut counts = RecordCounts::default();
        for record in &self.records {
            match record.code {
                Code::Send | Code::Isend => counts.sends += 1,
                Code::Recv | Code::Irecv => counts.receives += 1,
                Code::CollectiveEnd | Code::Icollective => counts.collectives += 1,
                Code::Rma => counts.accesses += 1,
                _ => {}
            }
        }
        counts
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
            other => RECORD | self.record(other)?,
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
        let records = limited("records of a location", self.records.len())?;
        let args = limited("arguments of a location", self.args.len())?;
        limited(
            "records of a location",
            self.records.len() + later.records.len(),
        )?;
        limited(
            "arguments of a location",
            self.args.len() + later.args.len(),
        )?;
        self.times.extend_from_slice(&later.times);
        self.words
            .extend(later.words.iter().map(|word| match word & TAG {
                RECORD => word + records,
                _ => *word,
            }));
        self.records
            .extend(later.records.iter().map(|record| Record {
                start: record.start + args,
                ..*record
            }));
        self.args.extend_from_slice(&later.args);
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
            _ => self.decode(low as usize),
        }
    }

    /// Attributes of event `index`.
    pub fn attributes(&self, index: usize) -> impl Iterator<Item = AttributeValue> {
        let from = self.attributes.partition_point(|(event, _)| *event < index);
        let rest = self.attributes.get(from..).unwrap_or_default();
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

    fn record(&mut self, event: Event<'_>) -> Result<u32> {
        let few: [u64; 6];
        let (code, detail, args): (Code, u32, &[u64]) = match event {
            Event::Enter { .. } | Event::Leave { .. } => return Ok(0),
            Event::Send(transfer) => {
                few = transfer_args(transfer);
                let code = if transfer.request.is_some() {
                    Code::Isend
                } else {
                    Code::Send
                };
                (code, 0, &few[..4 + usize::from(transfer.request.is_some())])
            }
            Event::Recv(transfer) => {
                few = transfer_args(transfer);
                let code = if transfer.request.is_some() {
                    Code::Irecv
                } else {
                    Code::Recv
                };
                (code, 0, &few[..4 + usize::from(transfer.request.is_some())])
            }
            Event::SendComplete { request } => {
                few = [request, 0, 0, 0, 0, 0];
                (Code::SendComplete, 0, &few[..1])
            }
            Event::RecvPost { request } => {
                few = [request, 0, 0, 0, 0, 0];
                (Code::RecvPost, 0, &few[..1])
            }
            Event::RequestTest { request } => {
                few = [request, 0, 0, 0, 0, 0];
                (Code::RequestTest, 0, &few[..1])
            }
            Event::RequestCancelled { request } => {
                few = [request, 0, 0, 0, 0, 0];
                (Code::RequestCancelled, 0, &few[..1])
            }
            Event::CollectivePost { request } => {
                few = [request, 0, 0, 0, 0, 0];
                (Code::CollectivePost, 0, &few[..1])
            }
            Event::CollectiveBegin => (Code::CollectiveBegin, 0, &[]),
            Event::CollectiveEnd(end) => {
                let root = end.root.map_or(NOBODY, u64::from);
                let request = end.request.unwrap_or_default();
                few = [
                    u64::from(end.comm.0),
                    root,
                    end.sent,
                    end.received,
                    request,
                    0,
                ];
                let non_blocking = end.request.is_some();
                let code = if non_blocking {
                    Code::Icollective
                } else {
                    Code::CollectiveEnd
                };
                (
                    code,
                    u32::from(end.op.code()),
                    &few[..4 + usize::from(non_blocking)],
                )
            }
            Event::Rma {
                op,
                window,
                remote,
                bytes,
                matching,
            } => {
                let (detail, received, len) = match op {
                    RmaOp::Put => (0, 0, 4),
                    RmaOp::Get => (1, 0, 4),
                    RmaOp::Atomic { code, received } => (2 + u32::from(code), received, 5),
                };
                few = [
                    u64::from(window.0),
                    u64::from(remote),
                    bytes,
                    matching,
                    received,
                    0,
                ];
                (Code::Rma, detail, &few[..len])
            }
            Event::RmaComplete {
                by,
                window,
                matching,
            } => {
                few = [u64::from(window.0), matching, 0, 0, 0, 0];
                (Code::RmaComplete, by as u32, &few[..2])
            }
            Event::Metric { set, values } => (Code::Metric, set.0, values),
            Event::Measuring { on } => (Code::Measuring, u32::from(on), &[]),
            Event::Flush { until } => {
                few = [until.0, 0, 0, 0, 0, 0];
                (Code::Flush, 0, &few[..1])
            }
            Event::Sample { context } => (Code::Sample, context.0, &[]),
            Event::Other { kind, args } => (Code::Other, kind.0, args),
        };
        let id = limited("records of a location", self.records.len())?;
        let start = limited("arguments of a location", self.args.len())?;
        let len = u16::try_from(args.len()).map_err(|_| Error::TooMany {
            what: "arguments of an event",
            limit: u64::from(u16::MAX),
        })?;
        self.args.extend_from_slice(args);
        self.records.push(Record {
            code,
            len,
            start,
            detail,
        });
        Ok(id)
    }

    fn decode(&self, id: usize) -> Option<Event<'_>> {
        let record = *self.records.get(id)?;
        let start = record.start as usize;
        let args = self.args.get(start..start + usize::from(record.len))?;
        let arg = |index: usize| args.get(index).copied().unwrap_or_default();
        let request = arg(0);
        let transfer = |request: Option<u64>| Transfer {
            peer: arg(0) as u32,
            comm: CommId(arg(1) as u32),
            tag: arg(2) as u32,
            bytes: arg(3),
            request,
        };
        let collective = |request: Option<u64>| Collective {
            op: CollectiveOp::from_code(record.detail as u8),
            comm: CommId(arg(0) as u32),
            root: (arg(1) != NOBODY).then_some(arg(1) as u32),
            sent: arg(2),
            received: arg(3),
            request,
        };
        Some(match record.code {
            Code::Send => Event::Send(transfer(None)),
            Code::Isend => Event::Send(transfer(Some(arg(4)))),
            Code::Recv => Event::Recv(transfer(None)),
            Code::Irecv => Event::Recv(transfer(Some(arg(4)))),
            Code::SendComplete => Event::SendComplete { request },
            Code::RecvPost => Event::RecvPost { request },
            Code::RequestTest => Event::RequestTest { request },
            Code::RequestCancelled => Event::RequestCancelled { request },
            Code::CollectiveBegin => Event::CollectiveBegin,
            Code::CollectivePost => Event::CollectivePost { request },
            Code::CollectiveEnd => Event::CollectiveEnd(collective(None)),
            Code::Icollective => Event::CollectiveEnd(collective(Some(arg(4)))),
            Code::Rma => Event::Rma {
                op: match record.detail {
                    0 => RmaOp::Put,
                    1 => RmaOp::Get,
                    atomic => RmaOp::Atomic {
                        code: (atomic - 2) as u8,
                        received: arg(4),
                    },
                },
                window: WindowId(arg(0) as u32),
                remote: arg(1) as u32,
                bytes: arg(2),
                matching: arg(3),
            },
            Code::RmaComplete => Event::RmaComplete {
                by: match record.detail {
                    0 => RmaCompletion::Blocking,
                    1 => RmaCompletion::NonBlocking,
                    2 => RmaCompletion::Test,
                    _ => RmaCompletion::Remote,
                },
                window: WindowId(arg(0) as u32),
                matching: arg(1),
            },
            Code::Metric => Event::Metric {
                set: MetricSetId(record.detail),
                values: args,
            },
            Code::Measuring => Event::Measuring {
                on: record.detail != 0,
            },
            Code::Flush => Event::Flush {
                until: Ticks(arg(0)),
            },
            Code::Sample => Event::Sample {
                context: CallPathId(record.detail),
            },
            Code::Other => Event::Other {
                kind: KindId(record.detail),
                args,
            },
        })
    }
}

fn transfer_args(transfer: Transfer) -> [u64; 6] {
    [
        u64::from(transfer.peer),
        u64::from(transfer.comm.0),
        u64::from(transfer.tag),
        transfer.bytes,
        transfer.request.unwrap_or_default(),
        0,
    ]
}

/// `value` if it fits the 30 bits beside the tag.
fn limited<T: TryInto<u32>>(what: &'static str, value: T) -> Result<u32> {
    let value = value.try_into().ok().filter(|value| *value <= Events::MOST);
    value.ok_or(Error::TooMany {
        what,
        limit: u64::from(Events::MOST),
    })
}
