//! [`Plan`]: converts the events of a trace, with their attributes, to encoded OTF2 event records.

use super::definitions::{metric_ids, value_types};
use super::encode::{Encoder, NONE};
use crate::otf2::schema::event_ids;
use crate::otf2::schema::{self, Kind, Record, Space, internal};
use perf_core::{
    AttributeValue, Collective, Definitions, Event, LocationId, RmaCompletion, RmaOp, Transfer,
};

/// Conversion plan, created once from the definitions.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    /// Definitions of the trace.
    definitions: &'a Definitions,
    /// Id of each metric set in the archive.
    metric_ids: Vec<u64>,
    /// Value types of each metric set.
    metric_types: Vec<Vec<u8>>,
    /// For each kind of generic event, the record with its name, if it can be written.
    kinds: Vec<Option<&'static Record>>,
}

/// Marker for an event that cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dropped;

impl<'a> Plan<'a> {
    pub(super) fn new(definitions: &'a Definitions) -> Self {
        let types = definitions.metric_sets.iter();
        let kinds = definitions.kinds.iter();
        Plan {
            definitions,
            metric_ids: metric_ids(definitions),
            metric_types: types.map(|set| value_types(set, definitions)).collect(),
            kinds: kinds
                .map(|name| schema::event_named(name).filter(|record| has_definitions(record)))
                .collect(),
        }
    }

    /// Appends the record of an event.
    pub(super) fn event(&self, event: Event<'_>, out: &mut Encoder) -> Result<(), Dropped> {
        match event {
            Event::Enter { region } => bare(out, event_ids::ENTER, region.0.into()),
            Event::Leave { region } => bare(out, event_ids::LEAVE, region.0.into()),
            Event::Send(transfer) => {
                transfer_record(out, transfer, event_ids::MPI_SEND, event_ids::MPI_ISEND)
            }
            Event::Recv(transfer) => {
                transfer_record(out, transfer, event_ids::MPI_RECV, event_ids::MPI_IRECV)
            }
            Event::SendComplete { request } => bare(out, event_ids::MPI_ISEND_COMPLETE, request),
            Event::RecvPost { request } => bare(out, event_ids::MPI_IRECV_REQUEST, request),
            Event::RequestTest { request } => bare(out, event_ids::MPI_REQUEST_TEST, request),
            Event::RequestCancelled { request } => {
                bare(out, event_ids::MPI_REQUEST_CANCELLED, request)
            }
            Event::CollectiveBegin => record(out, event_ids::MPI_COLLECTIVE_BEGIN, &[]),
            Event::CollectivePost { request } => {
                record(out, event_ids::COLLECTIVE_REQUEST, &[request])
            }
            Event::CollectiveEnd(end) => {
                let Collective {
                    op,
                    comm,
                    root,
                    sent,
                    received,
                    request,
                } = end;
                let root = root.map_or(NONE, u64::from);
                let (op, comm) = (u64::from(op.code()), u64::from(comm.0));
                let all = [op, comm, root, sent, received, request.unwrap_or_default()];
                match request {
                    Some(_) => record(out, event_ids::COLLECTIVE_COMPLETE, &all),
                    None => record(out, event_ids::MPI_COLLECTIVE_END, &all[..5]),
                }
            }
            Event::Rma {
                op,
                window,
                remote,
                bytes,
                matching,
            } => {
                let (window, remote) = (window.0.into(), remote.into());
                match op {
                    RmaOp::Put => {
                        record(out, event_ids::RMA_PUT, &[window, remote, bytes, matching])
                    }
                    RmaOp::Get => {
                        record(out, event_ids::RMA_GET, &[window, remote, bytes, matching])
                    }
                    RmaOp::Atomic { code, received } => {
                        let code = code.into();
                        record(
                            out,
                            event_ids::RMA_ATOMIC,
                            &[window, remote, code, bytes, received, matching],
                        )
                    }
                    _ => Err(Dropped),
                }
            }
            Event::RmaComplete {
                by,
                window,
                matching,
            } => {
                let id = match by {
                    RmaCompletion::Blocking => event_ids::RMA_OP_COMPLETE_BLOCKING,
                    RmaCompletion::NonBlocking => event_ids::RMA_OP_COMPLETE_NON_BLOCKING,
                    RmaCompletion::Test => event_ids::RMA_OP_TEST,
                    _ => event_ids::RMA_OP_COMPLETE_REMOTE,
                };
                record(out, id, &[window.0.into(), matching])
            }
            Event::Metric { set, values } => {
                let id = *self.metric_ids.get(set.index()).ok_or(Dropped)?;
                let types = self.metric_types.get(set.index()).ok_or(Dropped)?;
                if types.len() != values.len() || values.len() > usize::from(u8::MAX) {
                    return Err(Dropped);
                }
                let pairs = types.iter().zip(values);
                let mut numbers = vec![id, values.len() as u64];
                numbers.extend(pairs.flat_map(|(code, bits)| [u64::from(*code), *bits]));
                record(out, event_ids::METRIC, &numbers)
            }
            Event::Measuring { on } => record(
                out,
                event_ids::MEASUREMENT_ON_OFF,
                &[if on { 1 } else { 2 }],
            ),
            Event::Flush { until } => record(out, event_ids::BUFFER_FLUSH, &[until.0]),
            // Unwind distance 1: the sample was taken in the frame itself. Generator 0 is the one
            // of this writer.
            Event::Sample { context } => {
                record(out, event_ids::CONTEXT_SAMPLE, &[context.0.into(), 1, 0])
            }
            Event::Other { kind, args } => {
                let known = self.kinds.get(kind.index()).copied().flatten();
                let known = known.ok_or(Dropped)?;
                let args = self.with_keys(known, args)?;
                out.event(known, &args);
                Ok(())
            }
            _ => Err(Dropped),
        }
    }

    /// Appends the attribute list of an event. Returns the number of attributes that cannot be
    /// written.
    pub(super) fn attributes(&self, values: &[AttributeValue], out: &mut Encoder) -> u64 {
        let mut list = Vec::new();
        for value in values {
            if let Some(bits) = self.attribute_bits(value) {
                list.push((value.attribute.0, value.type_code, bits));
            }
        }
        if !list.is_empty() {
            const ATTRIBUTES: Record = Record {
                id: internal::ATTRIBUTES,
                name: "AttributeList",
                has_length: true,
                fields: &[],
            };
            out.framed(&ATTRIBUTES, |payload| {
                payload.v32(list.len() as u64);
                for (attribute, code, bits) in &list {
                    payload.v32(u64::from(*attribute));
                    payload.u8(*code);
                    payload.value(*code, *bits);
                }
            });
        }
        (values.len() - list.len()) as u64
    }

    /// Returns the bits of a value, or `None` for a reference to a definition that a trace does not
    /// keep.
    fn attribute_bits(&self, value: &AttributeValue) -> Option<u64> {
        if value.attribute.index() >= self.definitions.attributes.len() {
            return None;
        }
        let bits = value.value.to_bits();
        match Space::of_type(value.type_code) {
            None => (1..=10).contains(&value.type_code).then_some(bits),
            Some(Space::Location) => self.key(bits),
            Some(space) => is_kept(space).then_some(bits),
        }
    }

    /// Returns the numbers of an event with location ids replaced by keys.
    fn with_keys(&self, record: &Record, args: &[u64]) -> Result<Vec<u64>, Dropped> {
        let mut args = args.to_vec();
        for (field, arg) in record.fields.iter().zip(&mut args) {
            if field.kind == Kind::Id(Space::Location) {
                *arg = self.key(*arg).ok_or(Dropped)?;
            }
        }
        Ok(args)
    }

    fn key(&self, location: u64) -> Option<u64> {
        let id = LocationId(u32::try_from(location).ok()?);
        Some(self.definitions.system.location(id)?.key)
    }
}

/// Returns `true` if a trace keeps definitions of this space, so that references to them can be
/// written.
fn is_kept(space: Space) -> bool {
    matches!(
        space,
        Space::Region
            | Space::Comm
            | Space::RmaWin
            | Space::Attribute
            | Space::Location
            | Space::LocationGroup
            | Space::CallingContext
    )
}

fn has_definitions(record: &Record) -> bool {
    record.fields.iter().all(|field| match field.kind {
        Kind::Id(space) => is_kept(space),
        Kind::List { of, .. } => of.iter().all(|field| !matches!(field.kind, Kind::Id(_))),
        _ => true,
    })
}

fn bare(out: &mut Encoder, id: u8, number: u64) -> Result<(), Dropped> {
    out.u8(id);
    // Regions have 32 bits, requests and tasks 64.
    match id {
        event_ids::ENTER | event_ids::LEAVE => out.v32(number),
        _ => out.v64(number),
    }
    Ok(())
}

fn record(out: &mut Encoder, id: u8, numbers: &[u64]) -> Result<(), Dropped> {
    out.event(schema::event(id).ok_or(Dropped)?, numbers);
    Ok(())
}

fn transfer_record(
    out: &mut Encoder,
    transfer: Transfer,
    plain: u8,
    with_request: u8,
) -> Result<(), Dropped> {
    let Transfer {
        peer,
        comm,
        tag,
        bytes,
        request,
    } = transfer;
    let (peer, comm, tag) = (u64::from(peer), u64::from(comm.0), u64::from(tag));
    match request {
        Some(request) => record(out, with_request, &[peer, comm, tag, bytes, request]),
        None => record(out, plain, &[peer, comm, tag, bytes]),
    }
}
