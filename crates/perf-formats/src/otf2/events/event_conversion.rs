//! Conversion of decoded OTF2 records to an [`Event`] of `perf-core`; [`Kinds`] and [`names`]:
//! numbers and names of the records without an event type of their own.

use crate::otf2::schema::{EVENTS, Record, event_ids};
use perf_core::{
    CallPathId, Collective, CollectiveOp, CommId, Event, KindId, MetricSetId, RegionId,
    RmaCompletion, RmaOp, Ticks, Transfer, WindowId,
};

/// Name for records of unknown kinds.
pub(crate) const UNKNOWN: &str = "Unknown";

/// Returns the names of the records without an event type of their own, by [`KindId`].
///
/// All of them are listed in every recording, so that ids do not depend on the order of reading.
pub(crate) fn names() -> Vec<String> {
    let other = EVENTS.iter().filter(|record| !has_noun(record.id));
    let names = other.map(|record| record.name).chain([UNKNOWN]);
    names.map(str::to_string).collect()
}

/// Returns `true` if records of `id` have an event type of their own.
pub(crate) fn has_noun(id: u8) -> bool {
    matches!(
        id,
        event_ids::BUFFER_FLUSH..=event_ids::MPI_COLLECTIVE_END
            | event_ids::METRIC
            | event_ids::RMA_PUT..=event_ids::RMA_OP_COMPLETE_REMOTE
            | event_ids::CONTEXT_ENTER..=event_ids::CONTEXT_SAMPLE
            | event_ids::COLLECTIVE_REQUEST
            | event_ids::COLLECTIVE_COMPLETE
    )
}

/// The kind of each record id.
#[derive(Clone, Debug)]
pub(crate) struct Kinds([u32; 256]);

impl Kinds {
    pub(crate) fn new() -> Self {
        let other = EVENTS.iter().filter(|record| !has_noun(record.id));
        let unknown = other.clone().count() as u32;
        let mut kinds = [unknown; 256];
        for (kind, record) in (0..).zip(other) {
            if let Some(slot) = kinds.get_mut(usize::from(record.id)) {
                *slot = kind;
            }
        }
        Kinds(kinds)
    }

    pub(crate) fn of(&self, id: u8) -> KindId {
        KindId(self.0[usize::from(id)])
    }
}

/// Returns the OTF2 name of the record that an event was read from. `kinds` are the names of
/// [`Definitions::kinds`](perf_core::Definitions::kinds).
///
/// Enters and leaves of calling contexts are named like those of their regions.
///
/// ```
/// use perf_core::{Event, RegionId};
/// use perf_formats::otf2::record_name;
/// assert_eq!(record_name(&Event::Enter { region: RegionId(3) }, &[]), "Enter");
/// ```
pub fn record_name<'k>(event: &Event<'_>, kinds: &'k [String]) -> &'k str {
    match event {
        Event::Enter { .. } => "Enter",
        Event::Leave { .. } => "Leave",
        Event::Send(transfer) if transfer.request.is_some() => "MpiIsend",
        Event::Send(_) => "MpiSend",
        Event::SendComplete { .. } => "MpiIsendComplete",
        Event::RecvPost { .. } => "MpiIrecvRequest",
        Event::Recv(transfer) if transfer.request.is_some() => "MpiIrecv",
        Event::Recv(_) => "MpiRecv",
        Event::RequestTest { .. } => "MpiRequestTest",
        Event::RequestCancelled { .. } => "MpiRequestCancelled",
        Event::CollectiveBegin => "MpiCollectiveBegin",
        Event::CollectivePost { .. } => "NonBlockingCollectiveRequest",
        Event::CollectiveEnd(end) if end.request.is_some() => "NonBlockingCollectiveComplete",
        Event::CollectiveEnd(_) => "MpiCollectiveEnd",
        Event::Rma { op: RmaOp::Get, .. } => "RmaGet",
        Event::Rma {
            op: RmaOp::Atomic { .. },
            ..
        } => "RmaAtomic",
        Event::Rma { .. } => "RmaPut",
        Event::RmaComplete { by, .. } => match by {
            RmaCompletion::NonBlocking => "RmaOpCompleteNonBlocking",
            RmaCompletion::Test => "RmaOpTest",
            RmaCompletion::Remote => "RmaOpCompleteRemote",
            _ => "RmaOpCompleteBlocking",
        },
        Event::Metric { .. } => "Metric",
        Event::Measuring { .. } => "MeasurementOnOff",
        Event::Flush { .. } => "BufferFlush",
        Event::Sample { .. } => "CallingContextSample",
        Event::Other { kind, .. } => kinds.get(kind.index()).map_or(UNKNOWN, String::as_str),
        _ => UNKNOWN,
    }
}

/// Converts a record to an event. `args` are its fields, with dense ids.
///
/// `values` is a scratch buffer for the values of a metric. `contexts` maps calling contexts to
/// their regions, and `correct` is the clock correction of the location.
pub(crate) fn event<'a>(
    record: &Record,
    args: &'a [u64],
    values: &'a mut Vec<u64>,
    kinds: &Kinds,
    contexts: impl Fn(u32) -> RegionId,
    correct: impl Fn(u64) -> Ticks,
) -> Event<'a> {
    // Records differ in their number of arguments, and older versions have fewer.
    let arg = |at: usize| args.get(at).copied().unwrap_or_default();
    let narrow = |at: usize| arg(at) as u32;
    let request = arg(0);
    let transfer = |request: Option<u64>| Transfer {
        peer: narrow(0),
        comm: CommId(narrow(1)),
        tag: narrow(2),
        bytes: arg(3),
        request,
    };
    let collective = |request: Option<u64>| Collective {
        op: CollectiveOp::from_code(arg(0) as u8),
        comm: CommId(narrow(1)),
        root: Some(narrow(2)).filter(|root| *root != u32::MAX),
        sent: arg(3),
        received: arg(4),
        request,
    };
    let access = |op: RmaOp| Event::Rma {
        op,
        window: WindowId(narrow(0)),
        remote: narrow(1),
        bytes: arg(2),
        matching: arg(3),
    };
    let complete = |by: RmaCompletion| Event::RmaComplete {
        by,
        window: WindowId(narrow(0)),
        matching: arg(1),
    };
    match record.id {
        event_ids::BUFFER_FLUSH => Event::Flush {
            until: correct(arg(0)),
        },
        event_ids::MEASUREMENT_ON_OFF => Event::Measuring { on: arg(0) == 1 },
        event_ids::ENTER => Event::Enter {
            region: RegionId(narrow(0)),
        },
        event_ids::LEAVE => Event::Leave {
            region: RegionId(narrow(0)),
        },
        event_ids::MPI_SEND => Event::Send(transfer(None)),
        event_ids::MPI_ISEND => Event::Send(transfer(Some(arg(4)))),
        event_ids::MPI_ISEND_COMPLETE => Event::SendComplete { request },
        event_ids::MPI_IRECV_REQUEST => Event::RecvPost { request },
        event_ids::MPI_RECV => Event::Recv(transfer(None)),
        event_ids::MPI_IRECV => Event::Recv(transfer(Some(arg(4)))),
        event_ids::MPI_REQUEST_TEST => Event::RequestTest { request },
        event_ids::MPI_REQUEST_CANCELLED => Event::RequestCancelled { request },
        event_ids::MPI_COLLECTIVE_BEGIN => Event::CollectiveBegin,
        event_ids::MPI_COLLECTIVE_END => Event::CollectiveEnd(collective(None)),
        event_ids::METRIC => {
            values.clear();
            // The arguments are the metric, the count, and then type and bits of each value.
            values.extend(args.iter().skip(3).step_by(2));
            Event::Metric {
                set: MetricSetId(narrow(0)),
                values,
            }
        }
        event_ids::RMA_PUT => access(RmaOp::Put),
        event_ids::RMA_GET => access(RmaOp::Get),
        event_ids::RMA_ATOMIC => Event::Rma {
            op: RmaOp::Atomic {
                code: arg(2) as u8,
                received: arg(4),
            },
            window: WindowId(narrow(0)),
            remote: narrow(1),
            bytes: arg(3),
            matching: arg(5),
        },
        event_ids::RMA_OP_COMPLETE_BLOCKING => complete(RmaCompletion::Blocking),
        event_ids::RMA_OP_COMPLETE_NON_BLOCKING => complete(RmaCompletion::NonBlocking),
        event_ids::RMA_OP_TEST => complete(RmaCompletion::Test),
        event_ids::RMA_OP_COMPLETE_REMOTE => complete(RmaCompletion::Remote),
        event_ids::CONTEXT_ENTER => Event::Enter {
            region: contexts(narrow(0)),
        },
        event_ids::CONTEXT_LEAVE => Event::Leave {
            region: contexts(narrow(0)),
        },
        event_ids::CONTEXT_SAMPLE => Event::Sample {
            context: CallPathId(narrow(0)),
        },
        event_ids::COLLECTIVE_REQUEST => Event::CollectivePost { request },
        event_ids::COLLECTIVE_COMPLETE => Event::CollectiveEnd(collective(Some(arg(5)))),
        id => Event::Other {
            kind: kinds.of(id),
            args,
        },
    }
}

#[cfg(test)]
mod tests {
    use crate::OpenOptions;
    use crate::otf2::{MemoryArchive, Reader, write};
    use perf_core::{
        Definitions, Event, Events, Job, Location, RmaOp, SystemTree, Ticks, Trace, Window,
        WindowId,
    };

    #[test]
    fn an_atomic_comes_back_with_all_its_fields() {
        let (code, received) = (7, 8);
        let atomic = Event::Rma {
            op: RmaOp::Atomic { code, received },
            window: WindowId(0),
            remote: 3,
            bytes: 16,
            matching: 99,
        };
        let mut definitions = Definitions::default();
        let locations = vec![Location::default()];
        let limits = Default::default();
        definitions.system = SystemTree::new(vec![], vec![], locations, &limits).unwrap();
        definitions.windows.push(Window::default());
        let mut events = Events::default();
        events.push(Ticks(1), atomic).unwrap();
        let trace = Trace::new(definitions, vec![events]).unwrap();
        let mut archive = MemoryArchive::default();
        let options = Default::default();
        let lost = write(trace.view(), &mut archive, &options, &Default::default()).unwrap();
        assert!(lost.is_empty(), "{lost}");
        let reader = Reader::new(&archive, &OpenOptions::new(), &Job::default()).unwrap();
        let (back, _) = reader.read().unwrap();
        let events = back.events().first().unwrap();
        assert_eq!(events.event(0), Some(atomic));
        assert_eq!(crate::otf2::record_name(&atomic, &[]), "RmaAtomic");
    }
}
