//! [`Records`]: compact storage of the events other than enter and leave.

use super::event::{Collective, CollectiveOp, Event, RmaCompletion, RmaOp, Transfer};
use super::events::limited;
use crate::{CallPathId, CommId, Error, KindId, MetricSetId, Result, Ticks, WindowId};

/// Records of one location: a table of records, and a pool of their arguments.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Records {
    /// Records in order.
    table: Vec<Record>,
    /// Arguments of all records.
    args: Vec<u64>,
}

/// Record, which consists of a code, 32 bits of detail, and arguments in the pool.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Record {
    /// Kind of event.
    code: Code,
    /// Number of arguments.
    len: u16,
    /// Index of the first argument.
    start: u32,
    /// Kind of an `Other`, or operation of a collective or access.
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

/// Number of records of some kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RecordCounts {
    /// Sends.
    pub(crate) sends: usize,
    /// Receives.
    pub(crate) receives: usize,
    /// Ends of collectives.
    pub(crate) collectives: usize,
    /// Starts of remote accesses.
    pub(crate) accesses: usize,
}

/// Encoding of a missing root of a collective.
const NO_ROOT: u64 = u64::MAX;
const RECORDS: &str = "records of a location";
const ARGUMENTS: &str = "arguments of a location";

impl Records {
    /// Reserves space for `more(length)` further elements in each table. If the allocation fails,
    /// nothing happens.
    pub(super) fn reserve(&mut self, more: impl Fn(usize) -> usize) {
        let _ = self.table.try_reserve_exact(more(self.table.len()));
        let _ = self.args.try_reserve_exact(more(self.args.len()));
    }

    pub(super) fn clear(&mut self) {
        self.table.clear();
        self.args.clear();
    }

    pub(super) fn shrink_to_fit(&mut self) {
        self.table.shrink_to_fit();
        self.args.shrink_to_fit();
    }

    /// Returns the size in bytes.
    pub(super) fn memory(&self) -> usize {
        self.table.capacity() * size_of::<Record>() + self.args.capacity() * size_of::<u64>()
    }

    /// Returns the number of records of the kinds that have two ends.
    pub(super) fn counts(&self) -> RecordCounts {
        let mut counts = RecordCounts::default();
        for record in &self.table {
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

    /// Appends all records of `later` and returns the number of the first appended record.
    pub(super) fn append(&mut self, later: &Records) -> Result<u32> {
        let first = limited(RECORDS, self.table.len())?;
        let args = limited(ARGUMENTS, self.args.len())?;
        limited(RECORDS, self.table.len() + later.table.len())?;
        limited(ARGUMENTS, self.args.len() + later.args.len())?;
        self.table.extend(later.table.iter().map(|record| Record {
            start: record.start + args,
            ..*record
        }));
        self.args.extend_from_slice(&later.args);
        Ok(first)
    }

    /// Adds an event other than enter and leave, and returns its number.
    pub(super) fn push(&mut self, event: Event<'_>) -> Result<u32> {
        match event {
            Event::Enter { .. } | Event::Leave { .. } => Ok(0),
            Event::Send(transfer) => self.add_transfer([Code::Send, Code::Isend], transfer),
            Event::Recv(transfer) => self.add_transfer([Code::Recv, Code::Irecv], transfer),
            Event::SendComplete { request } => self.add(Code::SendComplete, 0, &[request]),
            Event::RecvPost { request } => self.add(Code::RecvPost, 0, &[request]),
            Event::RequestTest { request } => self.add(Code::RequestTest, 0, &[request]),
            Event::RequestCancelled { request } => self.add(Code::RequestCancelled, 0, &[request]),
            Event::CollectivePost { request } => self.add(Code::CollectivePost, 0, &[request]),
            Event::CollectiveBegin => self.add(Code::CollectiveBegin, 0, &[]),
            Event::CollectiveEnd(end) => {
                let args = [
                    u64::from(end.comm.0),
                    end.root.map_or(NO_ROOT, u64::from),
                    end.sent,
                    end.received,
                ];
                let codes = [Code::CollectiveEnd, Code::Icollective];
                self.add_requested(codes, u32::from(end.op.code()), args, end.request)
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
                let (window, remote) = (u64::from(window.0), u64::from(remote));
                let args = [window, remote, bytes, matching, received];
                self.add(Code::Rma, detail, &args[..len])
            }
            Event::RmaComplete {
                by,
                window,
                matching,
            } => self.add(
                Code::RmaComplete,
                by as u32,
                &[u64::from(window.0), matching],
            ),
            Event::Metric { set, values } => self.add(Code::Metric, set.0, values),
            Event::Measuring { on } => self.add(Code::Measuring, u32::from(on), &[]),
            Event::Flush { until } => self.add(Code::Flush, 0, &[until.0]),
            Event::Sample { context } => self.add(Code::Sample, context.0, &[]),
            Event::Other { kind, args } => self.add(Code::Other, kind.0, args),
        }
    }

    fn add_transfer(&mut self, codes: [Code; 2], transfer: Transfer) -> Result<u32> {
        let args = [
            u64::from(transfer.peer),
            u64::from(transfer.comm.0),
            u64::from(transfer.tag),
            transfer.bytes,
        ];
        self.add_requested(codes, 0, args, transfer.request)
    }

    /// Adds a record. It has the first of two codes if there is no request; otherwise it has the
    /// second code and the request as an additional argument.
    fn add_requested(
        &mut self,
        [blocking, not]: [Code; 2],
        detail: u32,
        [a, b, c, d]: [u64; 4],
        request: Option<u64>,
    ) -> Result<u32> {
        match request {
            None => self.add(blocking, detail, &[a, b, c, d]),
            Some(request) => self.add(not, detail, &[a, b, c, d, request]),
        }
    }

    fn add(&mut self, code: Code, detail: u32, args: &[u64]) -> Result<u32> {
        let id = limited(RECORDS, self.table.len())?;
        let start = limited(ARGUMENTS, self.args.len())?;
        let len = u16::try_from(args.len()).map_err(|_| Error::TooMany {
            what: "arguments of an event",
            limit: u64::from(u16::MAX),
        })?;
        self.args.extend_from_slice(args);
        self.table.push(Record {
            code,
            len,
            start,
            detail,
        });
        Ok(id)
    }

    /// Returns record `id` as an event, or `None` if there is no such record.
    pub(super) fn event(&self, id: usize) -> Option<Event<'_>> {
        let record = *self.table.get(id)?;
        let start = record.start as usize;
        let args = self.args.get(start..start + usize::from(record.len))?;
        // Kinds differ in their number of arguments, and each kind reads only its own.
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
            root: (arg(1) != NO_ROOT).then_some(arg(1) as u32),
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
