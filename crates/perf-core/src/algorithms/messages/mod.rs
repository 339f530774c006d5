//! [`match_messages`]: pairs the two ends of each message, collective and remote access of a
//! trace; [`Messages`]: the pairs, and the ends without a partner ([`Unmatched`]) with the cause.
//!
//! * Messages match first in, first out for each (communicator, sender, receiver, tag), according
//!   to MPI's non-overtaking rule. A non-blocking receive is ordered by the time when it was
//!   *posted*, not when it completed. The request id connects both events.
//! * The n-th collectives of all ranks of a communicator belong together. All threads of a process
//!   are counted together, in order of begin. If ranks disagree on the n-th operation, the most
//!   common operation is used and the other ranks are unmatched.
//! * A remote access and its completion share a window and a matching id on one location.
//!
//! Ends without a partner are listed with the cause. They are never dropped and never cause an
//! error.

mod clock_violations;
mod collectives;
mod end_counts;
mod point_to_point;
mod ranks;
mod remote_access;

pub use clock_violations::{ClockCount, ClockPair, ClockViolations};
pub use collectives::{CollectiveInstance, CollectiveMember};
pub use point_to_point::Message;
pub use remote_access::RemoteAccess;

use crate::{Error, Event, Job, LocationId, LocationView, Result, Ticks, TraceView, parallel};
use std::collections::BTreeMap;

/// One end of a communication: an event of a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    /// Time of the event.
    pub time: Ticks,
    /// Location of the event.
    pub location: LocationId,
    /// Index of the event on its location.
    pub index: usize,
}

/// Reason why an end has no partner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum UnmatchedCause {
    /// The receiver has no matching receive.
    NoReceive,
    /// The sender has no matching send.
    NoSend,
    /// A receive was posted, but its completion is not recorded.
    NoCompletion,
    /// The request was cancelled.
    Cancelled,
    /// The recording does not identify the other rank.
    UnknownPeer,
    /// The events of the other location are missing.
    PeerAbsent,
    /// A collective has an end without a begin, or a begin without an end.
    HalfCollective,
    /// Most other ranks executed another operation as their n-th collective.
    OtherCollective,
    /// A remote access has no completion.
    AccessNotComplete,
    /// The completion of a remote access has no start.
    AccessNotStarted,
}

/// End without a partner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Unmatched {
    /// The recorded end.
    pub end: Endpoint,
    /// Reason why its partner is missing.
    pub cause: UnmatchedCause,
    /// Location of the missing end, if known.
    pub peer: Option<LocationId>,
}

/// Result of [`match_messages`]. Lists are in order of time, location and event.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Messages {
    /// Messages with both ends.
    pub messages: Vec<Message>,
    /// Collective operations with their members.
    pub collectives: Vec<CollectiveInstance>,
    /// Remote accesses with their completion.
    pub accesses: Vec<RemoteAccess>,
    /// Ends without a partner.
    pub unmatched: Vec<Unmatched>,
}

impl Messages {
    /// Returns an upper bound on the memory in bytes for matching the messages of a view, including
    /// the result, from the number of records of each kind. An end takes 32 bytes until it is
    /// matched, and a send 8 more. The ends of a process take another 72 bytes each while they are
    /// sorted; each thread sorts one process at a time. The messages of four processes for each
    /// thread are held twice while they are collected. The bound assumes that no process is sent
    /// more than twice as many messages as it has receives. It does not cover ends whose other
    /// rank is unknown, and operations that never end.
    ///
    /// ```
    /// # use perf_core::{Definitions, Event, Events, Location, SystemTree, Ticks, Trace, Transfer};
    /// use perf_core::Messages;
    /// # let mut definitions = Definitions::default();
    /// # definitions.system = SystemTree::new(vec![], vec![], vec![Location::default()], &Default::default())?;
    /// # let mut events = Events::default();
    /// # let transfer = Transfer { peer: 0, comm: Default::default(), tag: 7, bytes: 80, request: None };
    /// # events.push(Ticks(3), Event::Send(transfer))?;
    /// # events.push(Ticks(4), Event::Recv(transfer))?;
    /// # let trace = Trace::new(definitions, vec![events])?;
    /// // One message: its two ends, and the match.
    /// assert_eq!(Messages::estimate(trace.view()), 2 * 32 + 8 + 2 * 72 + 2 * 64);
    /// # Ok::<(), perf_core::Error>(())
    /// ```
    pub fn estimate(view: TraceView<'_>) -> usize {
        end_counts::EndCounts::of(view.trace()).memory()
    }

    /// Returns the number of ends without a partner, by cause.
    pub fn causes(&self) -> BTreeMap<UnmatchedCause, usize> {
        let mut causes = BTreeMap::new();
        for unmatched in &self.unmatched {
            *causes.entry(unmatched.cause).or_default() += 1;
        }
        causes
    }
}

/// Pairs the two ends of each message, collective and remote access.
///
/// All locations of the trace are read, because the order of messages cannot be determined from a
/// part of the locations. The result contains all messages, collectives and accesses with at least
/// one end in the view. Progress is reported in locations, in the phase `messages`.
///
/// Takes O(n log n) time in the number of messages, and the memory of [`Messages::estimate`].
///
/// ```
/// use perf_core::{match_messages, CommId, Communicator, Event, Events, Job, Location, LocationId, Members};
/// use perf_core::{Definitions, SystemTree, Ticks, Trace, Transfer};
/// let mut definitions = Definitions::default();
/// let rank = |key| Location { key, ..Default::default() };
/// definitions.system = SystemTree::new(vec![], vec![], vec![rank(0), rank(1)], &Default::default())?;
/// let world = Members::Ranks(vec![Some(LocationId(0)), Some(LocationId(1))]);
/// definitions.comms.push(Communicator { members: world, ..Default::default() });
/// let to = |peer| Transfer { peer, comm: CommId(0), tag: 7, bytes: 80, request: None };
/// let (mut first, mut second) = (Events::default(), Events::default());
/// first.push(Ticks(3), Event::Send(to(1)))?;
/// first.push(Ticks(4), Event::Send(to(1)))?;
/// second.push(Ticks(9), Event::Recv(to(0)))?;
/// let trace = Trace::new(definitions, vec![first, second])?;
///
/// let found = match_messages(trace.view(), &Job::default())?;
/// assert_eq!((found.messages[0].sender.time, found.messages[0].receiver.time), (Ticks(3), Ticks(9)));
/// assert_eq!(found.unmatched[0].end.time, Ticks(4));
/// # Ok::<(), perf_core::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`Error::Cancelled`](crate::Error::Cancelled) if the job is cancelled.
pub fn match_messages(view: TraceView<'_>, job: &Job) -> Result<Messages> {
    let trace = view.trace();
    let ranks = ranks::Ranks::new(trace.definitions());
    let locations: Vec<LocationView<'_>> = trace.view().locations().collect();
    let total = trace.events().len() as u64;
    let scanned = parallel::try_map(locations.len(), |number| {
        let ends = Ends::of(locations[number], &ranks, job)?;
        job.advance("messages", 1, total);
        Ok::<_, Error>(ends)
    })?;
    let mut found = Messages::default();
    job.check()?;
    let mut points = Vec::with_capacity(scanned.len());
    let mut collectives = collectives::Collectives::default();
    let mut remote = remote_access::Remote::default();
    for (location, ends) in locations.iter().zip(scanned) {
        points.push((location.id(), ends.points));
        collectives.append(ends.collectives);
        remote.append(ends.remote);
    }
    point_to_point::pair(points, trace, &ranks, &mut found, job)?;
    collectives.gather(&mut found, job)?;
    remote.gather(&mut found);
    found.keep(view, job)?;
    Ok(found)
}

/// Ends of messages, collectives and remote accesses of one location.
struct Ends {
    points: point_to_point::PointToPoint,
    collectives: collectives::Collectives,
    remote: remote_access::Remote,
}

impl Ends {
    /// Collects the ends of a location.
    fn of(location: LocationView<'_>, ranks: &ranks::Ranks<'_>, job: &Job) -> Result<Self> {
        job.check()?;
        let (events, id) = (location.all(), location.id());
        let counts = events.record_counts();
        let mut ends = Ends {
            points: point_to_point::PointToPoint::with_capacity(counts),
            collectives: collectives::Collectives::with_capacity(counts),
            remote: remote_access::Remote::with_capacity(counts),
        };
        let mut checks = job.checks();
        for (index, (time, event)) in location.iter().enumerate() {
            checks.next(1)?;
            if matches!(event, Event::Enter { .. } | Event::Leave { .. }) {
                continue;
            }
            let at = Endpoint {
                time,
                location: id,
                index,
            };
            ends.points.event(at, event, ranks);
            ends.collectives.event(at, event, ranks);
            ends.remote.event(at, event, ranks);
        }
        ends.points.finish(id, events);
        ends.collectives.finish();
        ends.remote.finish();
        Ok(ends)
    }
}

impl Messages {
    fn keep(&mut self, view: TraceView<'_>, job: &Job) -> Result<()> {
        let mut seen = vec![false; view.definitions().system.locations().len()];
        for id in view.ids() {
            if let Some(seen) = seen.get_mut(id.index()) {
                *seen = true;
            }
        }
        let inside = |end: Endpoint| {
            let range = view.location(end.location).map(|location| location.range());
            seen[end.location.index()] && range.is_some_and(|range| range.contains(&end.index))
        };
        // Once the job is cancelled all entries are kept, because the result is discarded.
        let (mut checks, mut is_over) = (job.checks(), false);
        let mut wanted = |is_inside: &dyn Fn() -> bool| {
            is_over |= checks.next(1).is_err();
            is_over || is_inside()
        };
        self.messages
            .retain(|it| wanted(&|| inside(it.sender) || inside(it.receiver)));
        self.collectives.retain(|instance| {
            let mut members = instance.members.iter();
            members.any(|it| wanted(&|| inside(it.begin) || inside(it.end)))
        });
        self.accesses
            .retain(|it| wanted(&|| inside(it.start) || inside(it.end)));
        self.unmatched.retain(|it| wanted(&|| inside(it.end)));
        parallel::sort_by(&mut self.messages, |a, b| a.sender.cmp(&b.sender), job)?;
        job.sort_by(&mut self.accesses, |a, b| a.start.cmp(&b.start))?;
        job.sort_by(&mut self.unmatched, Ord::cmp)?;
        Ok(())
    }
}
