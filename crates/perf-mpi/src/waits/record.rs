//! [`Record`]: event of an MPI call with its time, encoded for other ranks and appended to the
//! events there.

use super::windows::WindowRecord;
use crate::{Reader, Result, Wire};
use perf_core::{
    Collective, CollectiveOp, CommId, Event, Events, KindId, RegionId, Ticks, Transfer,
};

/// Event of an MPI call with its time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Record {
    /// Time.
    pub(super) at: Ticks,
    /// Event.
    pub(super) event: Recorded,
}

/// Event without a borrow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Recorded {
    /// Enter, leave, event of a message or collective, or [`TIME_MARK`].
    Event(Event<'static>),
    /// Record of a window.
    Window(WindowRecord),
}

impl From<Event<'static>> for Recorded {
    fn from(event: Event<'static>) -> Self {
        Recorded::Event(event)
    }
}

impl Record {
    /// Appends the event. `kinds` has the kind of each of [`WINDOW_RECORDS`](super::windows::WINDOW_RECORDS).
    pub(super) fn push(&self, events: &mut Events, kinds: &[KindId]) -> Result<()> {
        match &self.event {
            Recorded::Event(event) => events.push(self.at, *event)?,
            Recorded::Window(record) => record.push(self.at, events, kinds)?,
        }
        Ok(())
    }
}

/// Returns an event of a message or collective without its borrow; `None` for other events.
pub(super) fn communication(event: Event<'_>) -> Option<Event<'static>> {
    Some(match event {
        Event::Send(transfer) => Event::Send(transfer),
        Event::SendComplete { request } => Event::SendComplete { request },
        Event::RecvPost { request } => Event::RecvPost { request },
        Event::Recv(transfer) => Event::Recv(transfer),
        Event::RequestCancelled { request } => Event::RequestCancelled { request },
        Event::CollectiveBegin => Event::CollectiveBegin,
        Event::CollectivePost { request } => Event::CollectivePost { request },
        Event::CollectiveEnd(collective) => Event::CollectiveEnd(collective),
        _ => return None,
    })
}

// Codes of the events.
const ENTER: u8 = 0;
const LEAVE: u8 = 1;
const SEND: u8 = 2;
const SEND_COMPLETE: u8 = 3;
const RECV_POST: u8 = 4;
const RECV: u8 = 5;
const CANCELLED: u8 = 6;
const COLLECTIVE_BEGIN: u8 = 7;
const COLLECTIVE_POST: u8 = 8;
const COLLECTIVE_END: u8 = 9;
/// Code of an event that only marks a time.
const MARK: u8 = 10;
const WINDOW: u8 = 11;

/// Event that marks the first and the last time of a location.
pub(super) const TIME_MARK: Event<'static> = Event::Measuring { on: true };

/// Peer, communicator and tag, number of bytes, and request of a message.
type TransferWords = ([u32; 3], u64, Option<u64>);

fn words(of: &Transfer) -> TransferWords {
    ([of.peer, of.comm.0, of.tag], of.bytes, of.request)
}

fn transfer(([peer, comm, tag], bytes, request): TransferWords) -> Transfer {
    Transfer {
        peer,
        comm: CommId(comm),
        tag,
        bytes,
        request,
    }
}

impl Wire for Record {
    const LEAST: usize = 8 + 1;

    fn write(&self, to: &mut Vec<u8>) {
        self.at.0.write(to);
        let event = match self.event {
            Recorded::Event(event) => event,
            Recorded::Window(record) => {
                WINDOW.write(to);
                return record.write(to);
            }
        };
        match event {
            Event::Enter { region } => (ENTER, region.0).write(to),
            Event::Leave { region } => (LEAVE, region.0).write(to),
            Event::Send(it) => {
                SEND.write(to);
                words(&it).write(to);
            }
            Event::SendComplete { request } => (SEND_COMPLETE, request).write(to),
            Event::RecvPost { request } => (RECV_POST, request).write(to),
            Event::Recv(it) => {
                RECV.write(to);
                words(&it).write(to);
            }
            Event::RequestCancelled { request } => (CANCELLED, request).write(to),
            Event::CollectiveBegin => COLLECTIVE_BEGIN.write(to),
            Event::CollectivePost { request } => (COLLECTIVE_POST, request).write(to),
            Event::CollectiveEnd(it) => {
                (COLLECTIVE_END, it.op.code()).write(to);
                (it.comm.0, it.root).write(to);
                (it.sent, it.received, it.request).write(to);
            }
            _ => MARK.write(to),
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self> {
        let at = Ticks(Wire::read(from)?);
        let event = match u8::read(from)? {
            ENTER => Event::Enter {
                region: RegionId(Wire::read(from)?),
            },
            LEAVE => Event::Leave {
                region: RegionId(Wire::read(from)?),
            },
            SEND => Event::Send(transfer(Wire::read(from)?)),
            SEND_COMPLETE => Event::SendComplete {
                request: Wire::read(from)?,
            },
            RECV_POST => Event::RecvPost {
                request: Wire::read(from)?,
            },
            RECV => Event::Recv(transfer(Wire::read(from)?)),
            CANCELLED => Event::RequestCancelled {
                request: Wire::read(from)?,
            },
            COLLECTIVE_BEGIN => Event::CollectiveBegin,
            COLLECTIVE_POST => Event::CollectivePost {
                request: Wire::read(from)?,
            },
            COLLECTIVE_END => {
                let op = CollectiveOp::from_code(Wire::read(from)?);
                let (comm, root): (u32, Option<u32>) = Wire::read(from)?;
                let (sent, received, request) = Wire::read(from)?;
                Event::CollectiveEnd(Collective {
                    op,
                    comm: CommId(comm),
                    root,
                    sent,
                    received,
                    request,
                })
            }
            MARK => TIME_MARK,
            WINDOW => {
                let event = Recorded::Window(Wire::read(from)?);
                return Ok(Record { at, event });
            }
            _ => return Err(from.error(1, "the kind of an event").into()),
        };
        let event = event.into();
        Ok(Record { at, event })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_as_they_were_written() {
        let message = Transfer {
            peer: 3,
            comm: CommId(1),
            tag: 7,
            bytes: 1 << 40,
            request: Some(9),
        };
        let region = RegionId(5);
        let collective = Collective {
            op: CollectiveOp::Allreduce,
            comm: CommId(2),
            root: None,
            sent: 8,
            received: 16,
            request: None,
        };
        let events = [
            Event::Enter { region },
            Event::Send(message),
            Event::SendComplete { request: 9 },
            Event::RecvPost { request: 9 },
            Event::Recv(message),
            Event::RequestCancelled { request: 9 },
            Event::CollectiveBegin,
            Event::CollectivePost { request: 9 },
            Event::CollectiveEnd(collective),
            Event::Leave { region },
            TIME_MARK,
        ];
        let events = events.map(Recorded::from).into_iter();
        let windows = WindowRecord::samples().map(Recorded::Window);
        for event in events.chain(windows) {
            let record = Record {
                at: Ticks(70),
                event,
            };
            let bytes = record.to_bytes();
            assert_eq!(Record::from_bytes(&bytes).expect("it was written"), record);
            for end in 0..bytes.len() {
                assert!(Record::from_bytes(&bytes[..end]).is_err(), "{event:?}");
            }
        }
    }
}
