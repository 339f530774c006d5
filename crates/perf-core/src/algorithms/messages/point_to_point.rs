//! Matching of sends and receives to point-to-point [`Message`]s, separately for each receiving
//! process.

use super::ranks::{Process, Ranks};
use super::{Endpoint, Messages, Unmatched, UnmatchedCause};
use crate::trace::RecordCounts;
use crate::{CommId, Event, Events, Job, LocationId, Result, Trace, Transfer, parallel};
use std::collections::HashMap;

/// Message with both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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

/// Key that two matching ends at a receiving process share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    /// Communicator.
    comm: CommId,
    /// Sending process.
    sender: Process,
    /// Tag.
    tag: u32,
}

/// Send of a location.
#[derive(Clone, Copy, Debug)]
struct Sent {
    /// Index of the event.
    index: usize,
    /// Length in bytes.
    bytes: u64,
    /// Location of the receiver.
    peer: LocationId,
    /// Receiving process.
    receiver: Process,
    /// Communicator.
    comm: CommId,
    /// Tag.
    tag: u32,
}

/// Receive of a location.
#[derive(Clone, Copy, Debug)]
struct Received {
    /// Index of the event.
    index: usize,
    /// Index of the post of a non-blocking receive, otherwise of the event itself.
    post: usize,
    /// Location of the sender.
    peer: LocationId,
    /// Sending process.
    sender: Process,
    /// Communicator.
    comm: CommId,
    /// Tag.
    tag: u32,
}

/// Size in bytes of a send or receive of a location.
pub(super) const END: usize = size_of::<Sent>();
const _: () = assert!(size_of::<Received>() == END);

/// One end at a receiving process, ordered by its key and then by `order`.
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
    /// Length in bytes; 0 for a receive.
    bytes: u64,
}

/// Size in bytes of an end of the process whose messages are matched.
pub(super) const SORTED_END: usize = size_of::<End>();

/// Number of processes for each thread that are matched before their results are collected. It is small, because
/// these messages are held twice while they are collected.
pub(super) const BATCH: usize = 4;

/// Sends and receives of one location.
#[derive(Debug, Default)]
pub(super) struct PointToPoint {
    /// Sends in order of time.
    sends: Vec<Sent>,
    /// Receives in order of time.
    receives: Vec<Received>,
    /// Ends without a partner.
    unmatched: Vec<Unmatched>,
    /// Posted receives that are not complete yet, by request.
    posted: HashMap<u64, Endpoint>,
    /// Index in `sends` of started sends that are not complete yet, by request.
    started: HashMap<u64, usize>,
    /// Indices of cancelled sends.
    cancelled: Vec<usize>,
}

impl PointToPoint {
    /// Allocates space for all ends of a location.
    pub(super) fn with_capacity(counts: RecordCounts) -> Self {
        PointToPoint {
            sends: Vec::with_capacity(counts.sends),
            receives: Vec::with_capacity(counts.receives),
            ..PointToPoint::default()
        }
    }

    pub(super) fn event(&mut self, at: Endpoint, event: Event<'_>, ranks: &Ranks<'_>) {
        match event {
            Event::Send(transfer) => {
                let found = self.peer(at, transfer, ranks);
                // The request no longer belongs to an earlier send, even if this one is lost.
                if let Some(request) = transfer.request {
                    match found {
                        Some(_) => self.started.insert(request, self.sends.len()),
                        None => self.started.remove(&request),
                    };
                }
                let Some((peer, receiver)) = found else {
                    return;
                };
                self.sends.push(Sent {
                    index: at.index,
                    bytes: transfer.bytes,
                    peer,
                    receiver,
                    comm: transfer.comm,
                    tag: transfer.tag,
                });
            }
            Event::Recv(transfer) => {
                let posted = transfer
                    .request
                    .and_then(|request| self.posted.remove(&request));
                let Some((peer, sender)) = self.peer(at, transfer, ranks) else {
                    return;
                };
                self.receives.push(Received {
                    index: at.index,
                    post: posted.unwrap_or(at).index,
                    peer,
                    sender,
                    comm: transfer.comm,
                    tag: transfer.tag,
                });
            }
            Event::RecvPost { request } => {
                if let Some(earlier) = self.posted.insert(request, at) {
                    self.lose(earlier, UnmatchedCause::NoCompletion, None);
                }
            }
            Event::SendComplete { request } => {
                self.started.remove(&request);
            }
            Event::RequestCancelled { request } => {
                if let Some(posted) = self.posted.remove(&request) {
                    self.lose(posted, UnmatchedCause::Cancelled, None);
                } else if let Some(send) = self.started.remove(&request) {
                    self.cancelled.push(send);
                }
            }
            _ => {}
        }
    }

    /// Returns the location and process of the other end. If the definitions do not contain the
    /// other end, reports this end as unmatched.
    fn peer(
        &mut self,
        at: Endpoint,
        transfer: Transfer,
        ranks: &Ranks<'_>,
    ) -> Option<(LocationId, Process)> {
        let peer = ranks.peer(at.location, transfer.comm, transfer.peer);
        let found = peer.and_then(|peer| Some((peer, ranks.process(peer)?)));
        if found.is_none() {
            self.lose(at, UnmatchedCause::UnknownPeer, None);
        }
        found
    }

    /// Completes location `id` with these events: reports open posted receives and cancelled sends
    /// as unmatched.
    pub(super) fn finish(&mut self, id: LocationId, events: &Events) {
        let posted = std::mem::take(&mut self.posted);
        for end in posted.into_values() {
            self.lose(end, UnmatchedCause::NoCompletion, None);
        }
        self.started = HashMap::new();
        self.cancelled.sort_unstable();
        // In descending order, so that the remaining indices stay valid.
        while let Some(cancelled) = self.cancelled.pop() {
            let send = self.sends.swap_remove(cancelled);
            let end = endpoint(id, send.index, events);
            self.lose(end, UnmatchedCause::Cancelled, Some(send.peer));
        }
    }

    fn lose(&mut self, end: Endpoint, cause: UnmatchedCause, peer: Option<LocationId>) {
        self.unmatched.push(Unmatched { end, cause, peer });
    }
}

/// Returns an event as an end of a communication.
fn endpoint(location: LocationId, index: usize, events: &Events) -> Endpoint {
    Endpoint {
        time: events.time(index).unwrap_or_default(),
        location,
        index,
    }
}

/// Pairs the sends and receives of all locations, which come in ascending order.
///
/// Each receiving process is matched separately, because both ends of a message contain the
/// receiving process.
pub(super) fn pair(
    all: Vec<(LocationId, PointToPoint)>,
    trace: &Trace,
    ranks: &Ranks<'_>,
    found: &mut Messages,
    job: &Job,
) -> Result<()> {
    let arriving = Arriving::of(&all, ranks, job)?;
    let count = |of: fn(&PointToPoint) -> usize| all.iter().map(|it| of(&it.1)).sum::<usize>();
    let most = count(|it| it.sends.len()).min(count(|it| it.receives.len()));
    found.messages.reserve_exact(most);
    let batch = BATCH * parallel::current_threads();
    let mut start = 0;
    while start < ranks.count() {
        let end = ranks.count().min(start + batch);
        let parts = parallel::try_map(end - start, |number| {
            job.check()?;
            arriving.pair(start + number, &all, trace, job)
        })?;
        for (messages, unmatched) in parts {
            found.messages.extend(messages);
            found.unmatched.extend(unmatched);
        }
        start = end;
    }
    for (_, own) in all {
        found.unmatched.extend(own.unmatched);
    }
    Ok(())
}

/// Sends by receiving process, and the locations of each process. A location is given by its index in
/// the list of all locations.
struct Arriving {
    /// Each send as its location and its index among the sends of the location, grouped by receiving
    /// process.
    sends: Vec<(u32, u32)>,
    /// Index after the last of the sends to each process.
    ends: Vec<usize>,
    /// Pairs of a process and one of its locations, sorted.
    locations: Vec<(Process, u32)>,
    /// Process of each location.
    processes: Vec<Process>,
}

impl Arriving {
    fn of(all: &[(LocationId, PointToPoint)], ranks: &Ranks<'_>, job: &Job) -> Result<Self> {
        let mut ends = vec![0; ranks.count()];
        for (_, own) in all {
            job.check()?;
            for send in &own.sends {
                ends[send.receiver.index()] += 1;
            }
        }
        // Converts the counts to the index of the next send to each process. After the last send, this is
        // the end.
        let mut total = 0;
        for end in &mut ends {
            total += std::mem::replace(end, total);
        }
        let mut sends = vec![(0, 0); total];
        for ((_, own), location) in all.iter().zip(0..) {
            job.check()?;
            for (send, number) in own.sends.iter().zip(0..) {
                let next = &mut ends[send.receiver.index()];
                sends[*next] = (location, number);
                *next += 1;
            }
        }
        let processes = all.iter().map(|it| ranks.process(it.0));
        let processes: Vec<Process> = processes.map(Option::unwrap_or_default).collect();
        let mut locations: Vec<(Process, u32)> = processes.iter().copied().zip(0..).collect();
        locations.sort_unstable();
        Ok(Arriving {
            sends,
            ends,
            locations,
            processes,
        })
    }

    /// Pairs the messages that a process receives.
    fn pair(
        &self,
        process: usize,
        all: &[(LocationId, PointToPoint)],
        trace: &Trace,
        job: &Job,
    ) -> Result<(Vec<Message>, Vec<Unmatched>)> {
        let start = process.checked_sub(1).map_or(0, |before| self.ends[before]);
        let own = &self.sends[start..self.ends[process]];
        let from = self.locations.partition_point(|it| it.0.index() < process);
        let to = self.locations.partition_point(|it| it.0.index() <= process);
        let locations = self.locations[from..to]
            .iter()
            .map(|it| &all[it.1 as usize]);
        let events = |id: LocationId| &trace.events()[id.index()];
        let mut sends = Vec::with_capacity(own.len());
        for (place, number) in own {
            let (id, of) = &all[*place as usize];
            let send = of.sends[*number as usize];
            let end = endpoint(*id, send.index, events(*id));
            sends.push(End {
                key: Key {
                    comm: send.comm,
                    sender: self.processes[*place as usize],
                    tag: send.tag,
                },
                order: end,
                end,
                peer: send.peer,
                bytes: send.bytes,
            });
        }
        let count = locations.clone().map(|(_, own)| own.receives.len()).sum();
        let mut receives = Vec::with_capacity(count);
        for (id, of) in locations {
            receives.extend(of.receives.iter().map(|receive| End {
                key: Key {
                    comm: receive.comm,
                    sender: receive.sender,
                    tag: receive.tag,
                },
                order: endpoint(*id, receive.post, events(*id)),
                end: endpoint(*id, receive.index, events(*id)),
                peer: receive.peer,
                bytes: 0,
            }));
        }
        job.sort_by(&mut sends, Ord::cmp)?;
        job.sort_by(&mut receives, Ord::cmp)?;
        let mut messages = Vec::with_capacity(sends.len().min(receives.len()));
        let mut unmatched = Vec::new();
        let (mut sends, mut receives) = (sends.iter().peekable(), receives.iter().peekable());
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
                (Some(send), Some(receive)) => messages.push(Message {
                    sender: send.end,
                    receiver: receive.end,
                    comm: send.key.comm,
                    tag: send.key.tag,
                    bytes: send.bytes,
                }),
                (Some(send), None) => unmatched.push(alone(send, UnmatchedCause::NoReceive, trace)),
                (None, Some(receive)) => {
                    unmatched.push(alone(receive, UnmatchedCause::NoSend, trace));
                }
                (None, None) => break,
            }
        }
        Ok((messages, unmatched))
    }
}

fn alone(end: &End, cause: UnmatchedCause, trace: &Trace) -> Unmatched {
    let cause = if is_absent(trace, end.peer) {
        UnmatchedCause::PeerAbsent
    } else {
        cause
    };
    Unmatched {
        end: end.end,
        cause,
        peer: Some(end.peer),
    }
}

fn is_absent(trace: &Trace, location: LocationId) -> bool {
    let events = trace.events().get(location.index());
    events.is_none_or(|events| events.is_absent())
}
