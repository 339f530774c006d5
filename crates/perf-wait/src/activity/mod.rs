//! [`Activities`]: every [`Call`] of a trace that communicates or waits, with messages, collectives
//! and links between calls, and the labels of locations.
//!
//! All analyses of this crate work on this model. Each location is a sequence of calls of MPI, of teams of threads and
//! of accelerators, with computation in between. A message connects the call that sent it, the call that posted its
//! receive and the calls that completed both. A collective connects one call of each member.
//!
//! | element | rule |
//! |---|---|
//! | call | outermost frame of an MPI region ([`Region::is_mpi`](perf_core::Region::is_mpi)) |
//! | record outside of MPI calls | call of no length, in the innermost open frame |
//! | call path | regions of one name, file and line are one function ([`Unify::Location`](perf_core::Unify::Location)). Without accelerators the call tree is that of [`Profile::from_trace`](perf_core::Profile::from_trace) |
//! | barrier of a team | frame of a barrier of OpenMP. Frames of one function and process that all overlap are one barrier. A thread arrives at its enter, or at the end of the last task that it executes within |
//! | access epoch of a window | from `MPI_Win_start` to `MPI_Win_complete`. Its targets are those of its accesses. Epochs belong to the exposures (`MPI_Win_post` to `MPI_Win_wait`) of a target by their order if there are as many, otherwise to the last one posted before the epoch ends |
//! | lock of a window | records of the acquisition and release, in order of releases. Shared locks do not exclude each other |
//! | fence of a window | collective operation on the window that synchronises processes. The n-th of all processes belong together |
//! | fork | record of a fork, or the enter of a parallel region in recordings without these |
//! | idle thread | time outside of parallel regions and implicit tasks, up to the next one, if another thread forks within it |
//! | team of Extrae | parallel regions are events of the thread that forks, and outlined functions are frames on all threads of the team. From the end of its outlined function to the end of the region a thread is in a barrier, and afterwards idle, also after the last region. Time before a thread is created is idle |
//! | lock | from the enter of the frame to the record of the acquisition; waits for the release before it |
//! | launch, synchronisation | outermost frame of the runtime of an accelerator: by the links of the recording, or by name |
//! | work of an accelerator | time between two calls: each stream has a [gap](CallKind::DeviceGap) before each work and one at the end, which may have no length |
//! | collective operation of accelerators | kernel of NCCL or RCCL. Group, number and bytes are attributes of the kernel or of a call around its launch; without a number, operations of a group are matched by their order |
//! | collective operation of an annotated MPI call | where the recording has no events of collective operations, as in Chrome JSON: attributes of the call |
//! | receive of a blocking call | posted and completed in the call that contains the post |
//! | send without a recorded completion | completed in the next wait of the location, where there is one |

mod annotated_collectives;
mod arrow_messages;
mod build;
mod collective_attributes;
mod devices;
mod epochs;
mod fences;
mod kind;
mod regions;
mod requests;
mod scan;
mod threads;

pub(crate) use devices::work;
pub use kind::CallKind;

use crate::{CallPlace, Result};
use perf_core::{
    CallPathId, CallTree, Clock, CollectiveOp, CommId, Definitions, Job, LocationId, Nanos,
    Profile, ProfileMetric, RegionId, ReplayCounts, SparseRows, SystemTree, Ticks, Unmatched,
};
use std::borrow::Cow;
use std::sync::Arc;

/// A call of a location: of MPI, of a team of threads or of an accelerator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Call path, or [`NO_PATH`].
    path: CallPathId,
    /// Role of the call.
    pub kind: CallKind,
    /// Time at which the call was entered.
    pub enter: Ticks,
    /// Time at which the call was left.
    pub leave: Ticks,
}

/// Number that no call path has, in place of an option: there are as many calls as there is memory.
const NO_PATH: CallPathId = CallPathId(u32::MAX);

const _: () = assert!(size_of::<Call>() == 24 && size_of::<CallMessage>() == 48);

impl Call {
    /// Returns the call path; `None` for a record outside of any frame.
    pub fn path(&self) -> Option<CallPathId> {
        Some(self.path).filter(|path| *path != NO_PATH)
    }

    /// Replaces the call path.
    fn set_path(&mut self, path: Option<CallPathId>) {
        self.path = path.unwrap_or(NO_PATH);
    }
}

/// A call by its location and number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CallId {
    /// Location of the call.
    pub location: LocationId,
    /// Number of the call among those of the location.
    pub index: u32,
}

/// A message with the calls that took part in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallMessage {
    sender: LocationId,
    receiver: LocationId,
    send: u32,
    /// Call that completed the send, or [`UNKNOWN`].
    sent: u32,
    post: u32,
    receive: u32,
    /// Time of the record of the send.
    pub send_time: Ticks,
    /// Communicator.
    pub comm: CommId,
    /// Tag.
    pub tag: u32,
    /// Length in bytes.
    pub bytes: u64,
}

/// Number that no call has, in place of an option.
const UNKNOWN: u32 = u32::MAX;

impl CallMessage {
    /// Returns the call that contains the record of the send.
    pub fn send(&self) -> CallId {
        let (location, index) = (self.sender, self.send);
        CallId { location, index }
    }

    /// Returns the call that completed the send: that of the [`send`](Self::send) itself if it is blocking, `None` if it is
    /// unknown.
    pub fn sent(&self) -> Option<CallId> {
        let (location, index) = (self.sender, self.sent);
        (index != UNKNOWN).then_some(CallId { location, index })
    }

    /// Returns the call that posted the receive.
    pub fn post(&self) -> CallId {
        let (location, index) = (self.receiver, self.post);
        CallId { location, index }
    }

    /// Returns the call that completed the receive.
    pub fn receive(&self) -> CallId {
        let (location, index) = (self.receiver, self.receive);
        CallId { location, index }
    }
}

/// Part of one member in a [`CallCollective`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallMember {
    /// Call of the member.
    pub call: CallId,
    /// Time of the record of the begin.
    pub begin: Ticks,
    /// Time of the record of the end.
    pub end: Ticks,
    /// Bytes that the member sent.
    pub sent: u64,
    /// Bytes that the member received.
    pub received: u64,
}

/// A collective operation with the calls of its members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallCollective {
    /// Operation.
    pub op: CollectiveOp,
    /// Communicator.
    pub comm: CommId,
    /// Place of the root among the members, where the operation has one and it is known.
    pub root: Option<usize>,
    /// Members in order of location.
    pub members: Vec<CallMember>,
    /// Number of members the communicator has, where known. Larger than the number of members if some have no
    /// record.
    pub size: Option<usize>,
}

/// A call that does not end before another one is entered: idle threads wait for a fork, work of an accelerator for
/// its launch, hosts for work, and acquisitions of locks for a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CallLink {
    /// Call that waits.
    pub call: CallId,
    /// Call whose enter it waits for. The enter of a [`CallKind::DeviceGap`] is the end of the work before it.
    pub on: CallId,
    /// Time at which the waiting begins if the call waits.
    pub since: Ticks,
}

/// The calls of one location.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocationCalls {
    /// Calls in order of time.
    pub calls: Vec<Call>,
    /// Times of the first and last event; `None` without events.
    pub range: Option<(Ticks, Ticks)>,
}

/// The calls of a trace with their messages and collectives.
///
/// ```
/// use perf_core::{CommId, Communicator, Definitions, Event, Events, Job, Location, LocationId, Members};
/// use perf_core::{Region, RegionId, SystemTree, Ticks, Trace, Transfer};
/// use perf_wait::activity::Activities;
/// let mut definitions = Definitions::default();
/// let rank = |key| Location { key, ..Default::default() };
/// definitions.system = SystemTree::new(vec![], vec![], vec![rank(0), rank(1)], &Default::default())?;
/// let world = Members::Ranks(vec![Some(LocationId(0)), Some(LocationId(1))]);
/// definitions.comms.push(Communicator { members: world, ..Default::default() });
/// definitions.regions = vec![Region::named("MPI_Send"), Region::named("MPI_Recv")];
/// let to = |peer| Transfer { peer, comm: CommId(0), tag: 7, bytes: 80, request: None };
/// let call = |enter, at, leave, region, event| {
///     let mut events = Events::default();
///     events.push(Ticks(enter), Event::Enter { region: RegionId(region) })?;
///     events.push(Ticks(at), event)?;
///     events.push(Ticks(leave), Event::Leave { region: RegionId(region) })?;
///     Ok::<_, perf_core::Error>(events)
/// };
/// let sender = call(50, 51, 60, 0, Event::Send(to(1)))?;
/// let receiver = call(10, 62, 63, 1, Event::Recv(to(0)))?;
/// let trace = Trace::new(definitions, vec![sender, receiver])?;
///
/// let found = Activities::of(trace.view(), &Job::default())?;
/// let message = found.messages()[0];
/// let (send, receive) = (found.call(message.send()), found.call(message.receive()));
/// // The receiver entered its call 40 ticks before the sender entered the one that sends.
/// assert_eq!((send.unwrap().enter, receive.unwrap().enter), (Ticks(50), Ticks(10)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Activities {
    definitions: Definitions,
    paths: CallTree,
    locations: Vec<LocationCalls>,
    messages: Vec<CallMessage>,
    collectives: Vec<CallCollective>,
    links: Vec<CallLink>,
    unmatched: Vec<Unmatched>,
    repairs: ReplayCounts,
}

impl Activities {
    /// Definitions of the trace.
    pub fn definitions(&self) -> &Definitions {
        &self.definitions
    }

    /// Clock of the trace.
    pub fn clock(&self) -> Clock {
        self.definitions.clock
    }

    /// Call paths of all frames.
    pub fn paths(&self) -> &CallTree {
        &self.paths
    }

    /// Calls of each location, by [`LocationId`].
    pub fn locations(&self) -> &[LocationCalls] {
        &self.locations
    }

    /// Messages between two calls, in order of sending time.
    pub fn messages(&self) -> &[CallMessage] {
        &self.messages
    }

    /// Collective operations, in order of the first begin.
    pub fn collectives(&self) -> &[CallCollective] {
        &self.collectives
    }

    /// Calls of threads and accelerators that wait for others, in order of the waiting call.
    pub fn links(&self) -> &[CallLink] {
        &self.links
    }

    /// Returns `true` if there are calls of threads or accelerators.
    pub fn is_hybrid(&self) -> bool {
        self.calls().any(|(_, call)| call.kind.is_local())
    }

    /// Returns the locations with MPI calls. Without MPI, returns the locations with calls that are not accelerator
    /// streams.
    pub fn ranks(&self) -> Vec<LocationId> {
        let all = || (0..).map(LocationId).zip(&self.locations);
        let of = |is_rank: &dyn Fn(CallKind) -> bool| {
            let ranks = all().filter(|(_, own)| own.calls.iter().any(|call| is_rank(call.kind)));
            ranks.map(|it| it.0).collect::<Vec<_>>()
        };
        let ranks = of(&|kind| !kind.is_local());
        if ranks.is_empty() {
            of(&|kind| !kind.is_device())
        } else {
            ranks
        }
    }

    /// Ends of messages and collectives without a partner.
    pub fn unmatched(&self) -> &[Unmatched] {
        &self.unmatched
    }

    /// Repairs that were necessary to nest the frames.
    pub fn repairs(&self) -> ReplayCounts {
        self.repairs
    }

    /// Returns a call; `None` if it does not exist.
    pub fn call(&self, id: CallId) -> Option<&Call> {
        let location = self.locations.get(id.location.index())?;
        location.calls.get(id.index as usize)
    }

    /// Returns the region of a call, which is the first one of its function; `None` for a record outside of any frame.
    pub fn region(&self, call: &Call) -> Option<RegionId> {
        Some(self.paths.get(call.path()?)?.region)
    }

    /// Returns the name of the region of a call, empty for a record outside of any frame.
    pub fn call_name(&self, call: &Call) -> Cow<'_, str> {
        let region = self.region(call);
        region.map_or(Cow::Borrowed(""), |it| self.definitions.region_name(it))
    }

    /// Returns the time at which a call was entered, 0 if it does not exist.
    pub(crate) fn enter(&self, id: CallId) -> Ticks {
        self.call(id).map_or(Ticks(0), |call| call.enter)
    }

    /// Returns the role of a call.
    pub(crate) fn kind(&self, id: CallId) -> CallKind {
        self.call(id).map_or(CallKind::Other, |call| call.kind)
    }

    /// Returns all calls with their ids, location by location.
    pub fn calls(&self) -> impl Iterator<Item = (CallId, &Call)> {
        let locations = (0..).map(LocationId).zip(&self.locations);
        locations.flat_map(|(location, own)| {
            let ids = (0..).map(move |index| CallId { location, index });
            ids.zip(&own.calls)
        })
    }

    /// Returns the calls before and after the computation that begins at a time, on the first location with one.
    pub(crate) fn around(&self, begin: Ticks) -> Option<(CallId, Option<CallId>)> {
        let mut locations = (0..).map(LocationId).zip(&self.locations);
        locations.find_map(|(location, own)| {
            let after = own.calls.partition_point(|call| call.leave <= begin);
            let before = after.checked_sub(1)?;
            let id = |index: usize| {
                let index = u32::try_from(index).ok()?;
                Some(CallId { location, index }).filter(|id| self.call(*id).is_some())
            };
            (own.calls[before].leave == begin).then_some((id(before)?, id(after)))
        })
    }

    /// Returns the times of the first and last event of the trace; `None` without events.
    pub fn range(&self) -> Option<(Ticks, Ticks)> {
        let ranges = self.locations.iter().filter_map(|it| it.range);
        ranges.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }

    /// Returns the conversion of a time to nanoseconds since the first event of the trace.
    pub(crate) fn since_begin(&self) -> impl Fn(Ticks) -> Nanos + use<> {
        let (clock, begin) = (self.clock(), self.range().map_or(Ticks(0), |range| range.0));
        move |at| clock.total(u128::from(at.saturating_since(begin)))
    }

    /// Returns a profile of its locations and call paths with these metrics and rows.
    pub(crate) fn profile(
        &self,
        metrics: Vec<ProfileMetric>,
        rows: SparseRows,
        job: &Job,
    ) -> Result<Profile> {
        let rows = rows.finish(self.paths.paths().len(), job)?;
        let system = self.definitions.system.clone();
        let regions = self.definitions.regions.clone();
        let profile = Profile::new(system, regions, self.paths.clone(), metrics, Arc::new(rows))?;
        Ok(profile)
    }

    /// Returns a readable name of each location: `rank 3` if each process has one location with MPI calls, otherwise
    /// the label of the system tree, without the process where the name of the location says it as well. The numbers are those of [`Change::ranks`](crate::whatif::Change::ranks).
    pub fn labels(&self) -> Vec<String> {
        let system = &self.definitions.system;
        let mut labels: Vec<String> = (0..)
            .map(LocationId)
            .zip(&self.locations)
            .map(|(id, _)| label(system, id))
            .collect();
        let ranks = crate::whatif::Change::ranks(self);
        let mut processes: Vec<_> = ranks.iter().map(|id| system.process(*id)).collect();
        processes.sort_unstable();
        processes.dedup();
        let is_rank = |(rank, id): (u64, &LocationId)| {
            let stated = system.process(*id).and_then(|id| system.stated_rank(id));
            stated.is_none_or(|stated| stated == rank)
        };
        if processes.len() == ranks.len() && (0..).zip(&ranks).all(is_rank) {
            for (rank, id) in ranks.iter().enumerate() {
                labels[id.index()] = format!("rank {rank}");
            }
        }
        labels
    }

    /// Returns the place of a call, for messages.
    pub fn place(&self, id: CallId) -> Option<CallPlace> {
        let call = self.call(id)?;
        Some(CallPlace {
            region: self.call_name(call).into_owned(),
            location: id.location,
            enter: call.enter,
            time: self.clock().nanos(call.enter),
        })
    }
}

/// Returns the label of a location, without its process if both have the same name, or the number of the location
/// begins with that of the process: `THREAD 1.1.4` of `TASK 1.1`.
fn label(system: &SystemTree, id: LocationId) -> String {
    let own = system.location(id);
    let process = own.and_then(|own| system.group(own.group?));
    let (Some(own), Some(process)) = (own, process) else {
        return system.label(id);
    };
    let number = |name: &str| name.rsplit(' ').next().unwrap_or_default().to_owned();
    let is_inside = number(&own.name)
        .strip_prefix(&number(&process.name))
        .is_some_and(|rest| rest.starts_with('.'));
    if is_inside || own.name == process.name {
        own.name.clone()
    } else {
        system.label(id)
    }
}
