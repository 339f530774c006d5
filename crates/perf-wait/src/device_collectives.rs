//! [`DeviceCollectives`]: collective operations of accelerators with the time lost in them, the
//! rank that arrives late and its [`LateReason`], and the exposed communication of each
//! accelerator.
//!
//! A kernel of NCCL or RCCL runs until all ranks of its group have arrived. The ranks that arrive early lose the time up to
//! the last arrival:
//!
//! ```text
//! skew = latest begin - earliest begin
//! lost = sum over ranks of the waiting time in the operation     (`wait at N-to-N`, see `waits`)
//! ```
//!
//! The late rank begins its kernel when the last of these has happened: its host has launched the kernel, the work
//! before it on its stream has ended, and the work of another stream that it waits for has ended. The last of the three
//! is the [reason](LateReason) for the loss.
//!
//! Communication of an accelerator is exposed while none of its streams runs anything else.

use crate::Result;
use crate::activity::{Activities, CallCollective, CallId, CallKind, CallMember, work};
use crate::waits::{Pattern, WaitStates};
use perf_core::{
    CollectiveOp, CommId, Job, LocationGroupId, LocationId, LocationKind, Nanos, RegionRole, Table,
    Ticks, TraceView,
};
use std::collections::BTreeMap;

/// Last thing that a late rank waited for before a collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum LateReason {
    /// The host launched the operation late.
    Host,
    /// A copy or fill ran before the operation.
    Copy,
    /// A kernel ran before the operation.
    Kernel,
    /// Another collective operation ran before it.
    Collective,
    /// The recording does not contain the reason.
    Unknown,
}

impl LateReason {
    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            LateReason::Host => "host",
            LateReason::Copy => "copy",
            LateReason::Kernel => "kernel",
            LateReason::Collective => "collective",
            LateReason::Unknown => "unknown",
        }
    }
}

/// A collective operation of accelerators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DeviceCollective {
    /// Number in [`Activities::collectives`].
    pub collective: u32,
    /// Operation.
    pub op: CollectiveOp,
    /// Communicator; `None` if the recording does not have it.
    pub comm: Option<CommId>,
    /// Number of ranks in the recording.
    pub ranks: usize,
    /// Most bytes that a rank sent, 0 if unknown.
    pub bytes: u64,
    /// First begin.
    pub begin: Ticks,
    /// Time between the first and the last begin.
    pub skew: Nanos,
    /// Stream of the rank that begins last.
    pub late: LocationId,
    /// Last thing that this rank waited for.
    pub reason: LateReason,
    /// Total time that the other ranks wait for the late rank.
    pub lost: Nanos,
    /// Time between the last begin and the one before it.
    pub ahead: Nanos,
}

/// Communication of an accelerator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DeviceCommunication {
    /// Accelerator; `None` for streams without one.
    pub device: Option<LocationGroupId>,
    /// Time with collective operations.
    pub communication: Nanos,
    /// Part of the communication time without any other work.
    pub exposed: Nanos,
    /// Time that the accelerator waits for late ranks in collective operations.
    pub waiting: Nanos,
    /// Time that other accelerators wait for this one, by reason.
    pub caused: BTreeMap<LateReason, Nanos>,
}

/// The collective operations of accelerators.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DeviceCollectives {
    /// Operations in order of their first begin.
    pub operations: Vec<DeviceCollective>,
    /// Communication of each accelerator with collective operations.
    pub devices: Vec<DeviceCommunication>,
}

impl DeviceCollectives {
    /// Finds the collective operations of a trace whose wait states are known.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Cancelled`](crate::Error::Cancelled) if the job is cancelled.
    pub fn of(
        view: TraceView<'_>,
        activities: &Activities,
        waits: &WaitStates,
        job: &Job,
    ) -> Result<Self> {
        let (clock, system) = (activities.clock(), &activities.definitions().system);
        let nanos = |ticks: u64| clock.total(u128::from(ticks));
        let device = |location| system.location(location).and_then(|it| it.group);
        let mut lost: BTreeMap<u32, u64> = BTreeMap::new();
        let mut waiting: BTreeMap<Option<LocationGroupId>, u64> = BTreeMap::new();
        for state in waits
            .states()
            .iter()
            .filter(|it| it.pattern == Pattern::NxNWait)
        {
            if let Some(number) = state
                .collective
                .filter(|_| is_device(activities, state.call))
            {
                *lost.entry(number).or_default() += state.ticks;
                *waiting.entry(device(state.call.location)).or_default() += state.ticks;
            }
        }
        let mut devices = communication(view, activities, job)?;
        let mut operations = Vec::new();
        for (number, it) in (0..).zip(activities.collectives()) {
            job.check()?;
            let Some((first, late)) = arrivals(activities, it) else {
                continue;
            };
            let reason = reason(activities, late.call);
            // Nobody waited in the other operations.
            let lost = nanos(lost.get(&number).copied().unwrap_or_default());
            if let Some(own) = devices.get_mut(&device(late.call.location)) {
                let caused = own.caused.entry(reason).or_default();
                *caused = caused.saturating_add(lost);
            }
            operations.push(DeviceCollective {
                collective: number,
                op: it.op,
                comm: Some(it.comm).filter(|comm| comm.0 != u32::MAX),
                ranks: it.members.len(),
                bytes: it
                    .members
                    .iter()
                    .map(|it| it.sent)
                    .max()
                    .unwrap_or_default(),
                begin: first,
                skew: nanos(late.begin.saturating_since(first)),
                late: late.call.location,
                reason,
                lost,
                ahead: nanos(ahead(it, late)),
            });
        }
        for (device, own) in &mut devices {
            // A device that never waited is not in the map.
            own.waiting = nanos(waiting.get(device).copied().unwrap_or_default());
        }
        Ok(DeviceCollectives {
            operations,
            devices: devices.into_values().collect(),
        })
    }

    /// Returns the operations as a table.
    pub fn table(&self, activities: &Activities) -> Table {
        let definitions = activities.definitions();
        let rows = || self.operations.iter();
        let group = |it: &DeviceCollective| {
            let comm = it.comm.and_then(|comm| definitions.comms.get(comm.index()));
            comm.map(|comm| comm.name.clone())
        };
        Table::new(
            "device collectives",
            "Collective operations of accelerators, and the ranks that arrive late.",
        )
        .text(
            "operation",
            rows().map(|it| format!("{:?}", it.op).to_lowercase()),
        )
        .text("group", rows().map(group))
        .unsigned("ranks", "", rows().map(|it| it.ranks as u64))
        .unsigned("sent", "B", rows().map(|it| it.bytes))
        .times("skew", rows().map(|it| it.skew))
        .text("late", rows().map(|it| definitions.system.label(it.late)))
        .text("reason", rows().map(|it| it.reason.name()))
        .times("lost", rows().map(|it| it.lost))
    }

    /// Returns the communication of the accelerators as a table.
    pub fn devices_table(&self, activities: &Activities) -> Table {
        let system = &activities.definitions().system;
        let rows = || self.devices.iter();
        let name = |it: &DeviceCommunication| {
            let group = it.device.and_then(|device| system.group(device));
            group.map(|group| group.name.clone())
        };
        let caused =
            |it: &DeviceCommunication, reason| it.caused.get(&reason).copied().unwrap_or_default();
        let mut table = Table::new(
            "communication of devices",
            "Communication of accelerators, and what late arrivals cost.",
        )
        .text("device", rows().map(name))
        .times("communication", rows().map(|it| it.communication))
        .times("exposed", rows().map(|it| it.exposed))
        .times("waiting", rows().map(|it| it.waiting));
        for reason in [
            LateReason::Host,
            LateReason::Copy,
            LateReason::Kernel,
            LateReason::Collective,
            LateReason::Unknown,
        ] {
            let name = format!("caused by {}", reason.name());
            table = table.times(name, rows().map(|it| caused(it, reason)));
        }
        table
    }
}

fn is_device(activities: &Activities, call: CallId) -> bool {
    activities.kind(call) == CallKind::DeviceCollective
}

/// Returns the first begin of an operation of accelerators, and the member that begins last.
fn arrivals<'a>(
    activities: &Activities,
    collective: &'a CallCollective,
) -> Option<(Ticks, &'a CallMember)> {
    let members = || collective.members.iter();
    let first = members().map(|it| it.begin).min()?;
    let late = members().max_by_key(|it| (it.begin, std::cmp::Reverse(it.call)))?;
    is_device(activities, late.call).then_some((first, late))
}

/// Returns the ticks between the begin of the last member and of the one before it.
fn ahead(collective: &CallCollective, late: &CallMember) -> u64 {
    let others = collective.members.iter().filter(|it| it.call != late.call);
    let before = others.map(|it| it.begin).max();
    before.map_or(0, |before| late.begin.saturating_since(before))
}

/// Returns the last thing that an operation waited for.
fn reason(activities: &Activities, call: CallId) -> LateReason {
    let gap = call
        .index
        .checked_sub(1)
        .map(|index| CallId { index, ..call });
    let Some(gap) = gap else {
        return LateReason::Unknown;
    };
    let links = activities.links();
    let from = links.partition_point(|link| link.call < gap);
    let links = links[from..].iter();
    let on = links
        .take_while(|link| link.call == gap)
        .map(|link| link.on);
    // The work before it on the stream ends where the gap begins.
    let begin = activities.enter(call);
    let last = on.chain([gap]).filter(|on| activities.enter(*on) <= begin);
    let Some(last) = last.max_by_key(|on| (activities.enter(*on), *on != gap)) else {
        return LateReason::Unknown;
    };
    if !activities.kind(last).is_device() {
        return LateReason::Host;
    }
    let before = last
        .index
        .checked_sub(1)
        .map(|index| CallId { index, ..last });
    let Some(work) = before.and_then(|before| activities.call(before)) else {
        return LateReason::Unknown;
    };
    let regions = &activities.definitions().regions;
    let role = activities
        .region(work)
        .and_then(|it| regions.get(it.index()));
    let role = role.map(|it| it.role);
    match (work.kind, role) {
        (CallKind::DeviceCollective, _) => LateReason::Collective,
        (_, Some(RegionRole::DataTransfer)) => LateReason::Copy,
        _ => LateReason::Kernel,
    }
}

/// Begins and ends of work.
type Intervals = Vec<(Ticks, Ticks)>;

/// Returns the communication of each accelerator with collective operations.
fn communication(
    view: TraceView<'_>,
    activities: &Activities,
    job: &Job,
) -> Result<BTreeMap<Option<LocationGroupId>, DeviceCommunication>> {
    let definitions = activities.definitions();
    // Collective operations and other work.
    let mut all: BTreeMap<Option<LocationGroupId>, (Intervals, Intervals)> = BTreeMap::new();
    for (id, own) in (0..).map(LocationId).zip(activities.locations()) {
        job.check()?;
        let Some(location) = definitions.system.location(id) else {
            continue;
        };
        if location.kind != LocationKind::AcceleratorStream || own.calls.is_empty() {
            continue;
        }
        let Some(stream) = view.location(id) else {
            continue;
        };
        let (collectives, others) = all.entry(location.group).or_default();
        let calls = own.calls.iter();
        let calls = calls.filter(|call| call.kind == CallKind::DeviceCollective);
        collectives.extend(calls.map(|call| (call.enter, call.leave)));
        let is_collective = |start: Ticks| {
            let after = own.calls.partition_point(|call| call.enter <= start);
            let mut before = own.calls[..after].iter().rev();
            let mut same = before.by_ref().take_while(|call| call.enter == start);
            same.any(|call| call.kind == CallKind::DeviceCollective)
        };
        let work = work(stream, job)?.into_iter();
        others.extend(
            work.filter(|it| !is_collective(it.start))
                .map(|it| (it.start, it.end)),
        );
    }
    let nanos = |ticks: u64| definitions.clock.total(u128::from(ticks));
    let found = all.into_iter().filter(|(_, (own, _))| !own.is_empty());
    let found = found.map(|(device, (mut collectives, mut others))| {
        let communication = union(&mut collectives);
        let busy = union(&mut others);
        let mut both = [collectives, others].concat();
        let own = DeviceCommunication {
            device,
            communication: nanos(communication),
            exposed: nanos(union(&mut both).saturating_sub(busy)),
            ..DeviceCommunication::default()
        };
        (device, own)
    });
    Ok(found.collect())
}

/// Returns the ticks that intervals cover.
pub(crate) fn union(intervals: &mut [(Ticks, Ticks)]) -> u64 {
    intervals.sort_unstable();
    let (mut sum, mut end) = (0, Ticks(0));
    for (start, own) in intervals {
        sum += own.saturating_since((*start).max(end));
        end = end.max(*own);
    }
    sum
}
