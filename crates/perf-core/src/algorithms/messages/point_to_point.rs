//! Matching of the sends and receives of point-to-point messages.

use super::ranks::{Process, Ranks};
use super::{Endpoint, Messages, Unmatched, UnmatchedCause};
use crate::trace::RecordCounts;
use crate::{CommId, Event, Job, LocationId, Result, Trace, Transfer};
use std::collections::HashMap;

/// Message with both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Message {
    /// Event of a blocking send, or start of a non-blocking send.
    pub sender: Endpoint,
    /// Receive.
    pub receiver: Endpoint,
    /// Communicator.
    pub comm: CommId,
    /// Tag.
    pub tag: u32,
    /// Length in bytes, as recorded by the sender.
    pub bytes: u64,
}

/// Key that two matching ends share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    /// Communicator.
    comm: CommId,
    /// Sending process.
    sender: Process,
    /// Receiving process.
    receiver: Process,
    /// Tag.
    tag: u32,
}

/// One end, ordered by its key and then by `order`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct End {
    /// Key of the message.
    key: Key,
    /// Position among ends of the same key: the post of a non-blocking receive, otherwise the end
    /// itself.
    order: Endpoint,
    /// The end.
    end: Endpoint,
    /// Location of the other end.
    peer: LocationId,
    /// Length in bytes.
    bytes: u64,
}

/// Size of an end in bytes.
pub(super) const END: usize = size_of::<End>();

#[derive(Debug, Default)]
pub(super) struct PointToPoint {
    /// Sends of all locations.
    sends: Vec<End>,
    /// Receives of all locations.
    receives: Vec<End>,
    /// Ends without a partner.
    unmatched: Vec<Unmatched>,
    /// Posted receives of this location that are not complete yet, by request.
    posted: HashMap<u64, Endpoint>,
    /// Index in `sends` of started sends of this location that are not complete yet, by request.
    started: HashMap<u64, usize>,
    /// Indices of cancelled sends.
    cancelled: Vec<usize>,
}

impl PointToPoint {
    /// Allocates space for all ends.
    pub(super) fn with_capacity(counts: RecordCounts) -> Self {
        PointToPoint {
            sends: Vec::with_capacity(counts.sends),
            receives: Vec::with_capacity(counts.receives),
            ..PointToPoint::default()
        }
    }

    pub(super) fn start(&mut self) {
        self.posted.clear();
        self.started.clear();
    }

    pub(super) fn event(&mut self, at: Endpoint, event: Event<'_>, ranks: &Ranks<'_>) {
        match event {
            Event::Send(transfer) => {
                if let Some(request) = transfer.request {
                    self.started.insert(request, self.sends.len());
                }
                let ours = ranks.process(at.location);
                match end(at, at, transfer, ranks, |peer| (ours, peer)) {
                    Ok(end) => self.sends.push(end),
                    Err(unmatched) => {
                        transfer
                            .request
                            .map(|request| self.started.remove(&request));
                        self.unmatched.push(unmatched);
                    }
                }
            }
            Event::Recv(transfer) => {
                let posted = transfer
                    .request
                    .and_then(|request| self.posted.remove(&request));
                let ours = ranks.process(at.location);
                match end(at, posted.unwrap_or(at), transfer, ranks, |peer| {
                    (peer, ours)
                }) {
                    Ok(end) => self.receives.push(end),
                    Err(unmatched) => self.unmatched.push(unmatched),
                }
            }
            Event::RecvPost { request } => {
                if let Some(earlier) = self.posted.insert(request, at) {
                    self.lose(earlier, UnmatchedCause::NoCompletion);
                }
            }
            Event::SendComplete { request } => {
                self.started.remove(&request);
            }
            Event::RequestCancelled { request } => {
                if let Some(posted) = self.posted.remove(&request) {
                    self.lose(posted, UnmatchedCause::Cancelled);
                } else if let Some(send) = self.started.remove(&request) {
                    self.cancelled.push(send);
                }
            }
            _ => {}
        }
    }

    pub(super) fn finish(&mut self) {
        let posted = std::mem::take(&mut self.posted);
        for end in posted.into_values() {
            self.lose(end, UnmatchedCause::NoCompletion);
        }
    }

    fn lose(&mut self, end: Endpoint, cause: UnmatchedCause) {
        self.unmatched.push(Unmatched {
            end,
            cause,
            peer: None,
        });
    }

    pub(super) fn pair(mut self, trace: &Trace, found: &mut Messages, job: &Job) -> Result<()> {
        self.cancelled.sort_unstable();
        while let Some(cancelled) = self.cancelled.pop() {
            // In descending order, so that the remaining indices stay valid.
            let send = self.sends.swap_remove(cancelled);
            let (end, cause) = (send.end, UnmatchedCause::Cancelled);
            found.unmatched.push(Unmatched {
                end,
                cause,
                peer: Some(send.peer),
            });
        }
        job.sort_by(&mut self.sends, Ord::cmp)?;
        job.sort_by(&mut self.receives, Ord::cmp)?;
        let (mut sends, mut receives) = (
            self.sends.iter().peekable(),
            self.receives.iter().peekable(),
        );
        let most = sends.len().min(receives.len());
        found.messages.reserve_exact(most);
        let mut checks = job.checks();
        loop {
            checks.next(1)?;
            let order = match (sends.peek(), receives.peek()) {
                (Some(send), Some(receive)) => send.key.cmp(&receive.key),
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (None, None) => break,
            };
            let send = sends.next_if(|_| order.is_le());
            let receive = receives.next_if(|_| order.is_ge());
            match (send, receive) {
                (Some(send), Some(receive)) => found.messages.push(Message {
                    sender: send.end,
                    receiver: receive.end,
                    comm: send.key.comm,
                    tag: send.key.tag,
                    bytes: send.bytes,
                }),
                (Some(send), None) => alone(send, UnmatchedCause::NoReceive, trace, found),
                (None, Some(receive)) => alone(receive, UnmatchedCause::NoSend, trace, found),
                (None, None) => break,
            }
        }
        found.unmatched.append(&mut self.unmatched);
        Ok(())
    }
}

fn alone(end: &End, cause: UnmatchedCause, trace: &Trace, found: &mut Messages) {
    let cause = if is_absent(trace, end.peer) {
        UnmatchedCause::PeerAbsent
    } else {
        cause
    };
    found.unmatched.push(Unmatched {
        end: end.end,
        cause,
        peer: Some(end.peer),
    });
}

fn is_absent(trace: &Trace, location: LocationId) -> bool {
    let events = trace.events().get(location.index());
    events.is_none_or(|events| events.is_absent())
}

fn end(
    at: Endpoint,
    order: Endpoint,
    transfer: Transfer,
    ranks: &Ranks<'_>,
    sides: impl FnOnce(Process) -> (Process, Process),
) -> std::result::Result<End, Unmatched> {
    let Some(peer) = ranks.peer(at.location, transfer.comm, transfer.peer) else {
        let cause = UnmatchedCause::UnknownPeer;
        return Err(Unmatched {
            end: at,
            cause,
            peer: None,
        });
    };
    let (sender, receiver) = sides(ranks.process(peer));
    Ok(End {
        key: Key {
            comm: transfer.comm,
            sender,
            receiver,
            tag: transfer.tag,
        },
        order,
        end: at,
        peer,
        bytes: transfer.bytes,
    })
}
