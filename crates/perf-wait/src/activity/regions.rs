//! [`Regions`]: [`CallKind`] of each region of a trace (MPI, teams of threads, Extrae,
//! accelerators), mostly by name; operations of collective kernels by name; [`LockEvent`]: lock
//! records of OTF2.

use super::CallKind;
use super::scan::ExtraeEvent;
use perf_core::{
    CollectiveOp, Definitions, Event, LinkKind, Paradigm, Region, RegionId, RegionRole, TraceView,
    Unify,
};

/// Facts about each region that the scan needs for every frame.
#[derive(Debug)]
pub(super) struct Regions {
    /// Representative of each region: regions of one function share it.
    functions: Vec<RegionId>,
    /// Role of each region; `None` for a region that is not a call.
    kinds: Vec<Option<CallKind>>,
    /// `true` for each region whose frames are parallel regions or implicit tasks of a team.
    teams: Vec<bool>,
    /// `true` for each region whose frames are explicit tasks.
    tasks: Vec<bool>,
    /// `true` for each region whose frames are no activity of the thread: it does not exist yet, is idle, or writes
    /// the recording.
    inactive: Vec<bool>,
    /// `true` for each region that is a state of the thread in a recording of Extrae.
    states: Vec<bool>,
    /// Events of Extrae about OpenMP, by kind; empty without parallel regions of Extrae.
    extrae: Vec<Option<ExtraeEvent>>,
    /// `true` if the trace has parallel regions of Extrae.
    pub(super) is_extrae: bool,
    /// `true` if the trace has records of forks. Otherwise a parallel region forks where it is
    /// entered.
    pub(super) has_forks: bool,
    /// `true` if calls of threads and accelerators are included.
    pub(super) is_hybrid: bool,
}

impl Regions {
    /// Finds the roles of MPI calls, and with `is_hybrid` those of threads and accelerators.
    pub(super) fn new(view: TraceView<'_>, is_hybrid: bool) -> Self {
        let definitions = view.definitions();
        let kind = |region: &Region| {
            let local = || is_hybrid.then(|| local_kind(region)).flatten();
            CallKind::of_region(region).or_else(local)
        };
        let events = definitions.kinds.iter().map(|it| ExtraeEvent::of(it));
        let events: Vec<Option<ExtraeEvent>> = events.collect();
        let is_extrae = is_hybrid && events.contains(&Some(ExtraeEvent::Parallel));
        let is_team =
            |region: &Region| is_hybrid && (team(region) || (is_extrae && is_outlined(region)));
        let is_task = |region: &Region| {
            let is_named = is_hybrid && is_task(region);
            is_named || (is_extrae && region.role == RegionRole::Task)
        };
        let mut regions = Regions {
            functions: Unify::default().representatives(&definitions.regions),
            kinds: definitions.regions.iter().map(kind).collect(),
            teams: definitions.regions.iter().map(is_team).collect(),
            tasks: definitions.regions.iter().map(is_task).collect(),
            inactive: Vec::new(),
            states: Vec::new(),
            extrae: Vec::new(),
            is_extrae,
            is_hybrid,
            has_forks: false,
        };
        if is_extrae {
            regions.inactive = definitions.regions.iter().map(is_inactive).collect();
            regions.states = definitions.regions.iter().map(is_state).collect();
            regions.extrae = events;
        }
        if is_hybrid {
            regions.add_launches(view);
            regions.has_forks = is_extrae || (regions.teams.contains(&true) && has_forks(view));
        }
        regions
    }

    /// Classifies regions without a role whose calls launch work as launches, regardless of their
    /// names.
    fn add_launches(&mut self, view: TraceView<'_>) {
        for link in view.trace().links() {
            if link.kind != LinkKind::Launch {
                continue;
            }
            let events = view.trace().events().get(link.from.location.index());
            let event = events.and_then(|events| events.event(link.from.index as usize));
            if let Some(Event::Enter { region }) = event
                && let Some(kind) = self.kinds.get_mut(region.index())
            {
                kind.get_or_insert(CallKind::Launch);
            }
        }
    }

    pub(super) fn kind(&self, region: RegionId) -> Option<CallKind> {
        self.kinds.get(region.index()).copied().flatten()
    }

    pub(super) fn is_team(&self, region: RegionId) -> bool {
        // A region without a definition has no role.
        self.teams.get(region.index()).copied().unwrap_or_default()
    }

    /// Returns `true` for explicit tasks of OpenMP.
    pub(super) fn is_task(&self, region: RegionId) -> bool {
        self.tasks.get(region.index()).copied().unwrap_or_default()
    }

    /// Returns `true` if frames of a region are no activity of the thread.
    pub(super) fn is_inactive(&self, region: RegionId) -> bool {
        self.inactive
            .get(region.index())
            .copied()
            .unwrap_or_default()
    }

    /// Returns `true` for a state of the thread in a recording of Extrae.
    pub(super) fn is_state(&self, region: RegionId) -> bool {
        self.states.get(region.index()).copied().unwrap_or_default()
    }

    /// Returns the event of Extrae about OpenMP of a kind.
    pub(super) fn extrae(&self, kind: usize) -> Option<ExtraeEvent> {
        self.extrae.get(kind).copied().flatten()
    }

    pub(super) fn function(&self, region: RegionId) -> RegionId {
        let known = self.functions.get(region.index()).copied();
        known.unwrap_or(region)
    }
}

/// Returns `true` for the outlined functions of parallel regions in recordings of Extrae.
fn is_outlined(region: &Region) -> bool {
    region.paradigm == Paradigm::OpenMp && region.role == RegionRole::Function
}

/// Returns `true` for states in which a thread of Extrae does not run the program.
fn is_inactive(region: &Region) -> bool {
    let is_named = |name| region.name.eq_ignore_ascii_case(name);
    region.paradigm == Paradigm::Measurement
        || (is_state(region) && (is_named("Idle") || is_named("Not created")))
}

/// Returns `true` for the states of threads in recordings of Extrae. All other frames are functions and tasks.
fn is_state(region: &Region) -> bool {
    let is_code = matches!(region.role, RegionRole::Function | RegionRole::Task);
    !is_code && region.paradigm != Paradigm::Mpi
}

/// Returns `true` if the trace has records of forks.
fn has_forks(view: TraceView<'_>) -> bool {
    let kinds = &view.definitions().kinds;
    let is_fork = |event| match event {
        Event::Other { kind, .. } => kinds.get(kind.index()).is_some_and(|name| is_fork(name)),
        _ => false,
    };
    let mut locations = view.locations();
    locations.any(|location| location.iter().any(|(_, event)| is_fork(event)))
}

/// Returns `true` for the records of forks in OTF2.
pub(super) fn is_fork(kind: &str) -> bool {
    matches!(kind, "ThreadFork" | "OmpFork")
}

/// Event on a lock, by the name of its kind in OTF2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LockEvent {
    Acquire,
    Release,
}

impl LockEvent {
    /// Returns the event of a record with its lock.
    pub(super) fn of(definitions: &Definitions, kind: usize, args: &[u64]) -> Option<(Self, u64)> {
        let name = definitions.kinds.get(kind)?;
        let event = match name.as_str() {
            "ThreadAcquireLock" | "OmpAcquireLock" => LockEvent::Acquire,
            "ThreadReleaseLock" | "OmpReleaseLock" => LockEvent::Release,
            _ => return None,
        };
        // The order of acquisition comes last, and the lock before it.
        Some((event, *args.get(args.len().checked_sub(2)?)?))
    }
}

/// Returns the name of a construct of OpenMP without its prefix; `None` for any other region.
fn construct(region: &Region) -> Option<&str> {
    let name = region.name.as_str();
    let rest = name
        .strip_prefix("!$omp ")
        .or_else(|| name.strip_prefix("OpenMP "));
    rest.or((region.paradigm == Paradigm::OpenMp).then_some(name))
}

fn team(region: &Region) -> bool {
    let is_named = construct(region)
        .is_some_and(|name| name.starts_with("parallel") || name.starts_with("implicit task"));
    is_named || (region.paradigm == Paradigm::OpenMp && region.role == RegionRole::Parallel)
}

/// Returns `true` for explicit tasks of OpenMP: `task @file.c:12` or `explicit task`, but not `taskwait`.
fn is_task(region: &Region) -> bool {
    construct(region).is_some_and(|name| {
        let rest = name
            .strip_prefix("explicit task")
            .or(name.strip_prefix("task"));
        rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_alphanumeric()))
    })
}

/// Returns `true` for parallel regions, apart from implicit tasks.
pub(super) fn is_parallel(region: &Region) -> bool {
    let is_task = construct(region).is_some_and(|name| name.starts_with("implicit task"));
    team(region) && !is_task
}

/// Returns `true` for kernels of NCCL and RCCL.
pub(super) fn is_collective_kernel(name: &str) -> bool {
    KERNELS.iter().any(|prefix| name.starts_with(prefix))
}

/// Returns the operation of a kernel of NCCL; `None` if its name does not contain the operation.
pub(super) fn kernel_operation(name: &str) -> Option<CollectiveOp> {
    let rest = KERNELS
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))?;
    CollectiveOp::of_name(rest)
}

/// Prefixes of the names of kernels of NCCL and RCCL.
const KERNELS: [&str; 4] = ["ncclDevKernel_", "ncclKernel_", "ncclKernel", "rcclKernel_"];

/// Returns the operation of a call of a host that starts a collective operation.
pub(super) fn host_operation(name: &str) -> Option<CollectiveOp> {
    let rest = ["nccl:", "c10d::"]
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))?;
    CollectiveOp::of_name(rest)
}

/// Calls of the runtimes of accelerators: prefixes of their names.
const RUNTIMES: [&str; 6] = ["cuda", "cu", "hip", "cl", "musa", "ze"];

/// Returns the role of a region of threads or accelerators.
fn local_kind(region: &Region) -> Option<CallKind> {
    if let Some(name) = construct(region) {
        return name.contains("barrier").then_some(CallKind::TeamBarrier);
    }
    let rest = RUNTIMES.iter().find_map(|prefix| {
        let rest = region.name.strip_prefix(prefix)?;
        let is_name = |it: char| it.is_ascii_alphanumeric() || it == '_';
        (rest.starts_with(|first: char| first.is_ascii_uppercase()) && rest.chars().all(is_name))
            .then_some(rest)
    })?;
    let is_copy = rest.starts_with("Memcpy") || rest.starts_with("Memset");
    let waits = rest.contains("Synchronize")
        || matches!(rest, "Finish" | "WaitForEvents" | "HostSynchronize")
        || (rest.starts_with("Memcpy") && !rest.contains("Async"));
    match (
        waits,
        is_copy || rest.contains("Launch") || rest.starts_with("Enqueue"),
    ) {
        (true, _) => Some(CallKind::Synchronise),
        (false, true) => Some(CallKind::Launch),
        (false, false) => None,
    }
}
