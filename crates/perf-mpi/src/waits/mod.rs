//! [`waits`] and [`efficiencies`]: wait states and efficiencies of a trace that is distributed over
//! ranks, after these have sent each other the MPI calls that they need.

mod condense;
mod partners;
mod record;
mod windows;

use crate::profile::{Piece, Whole};
use crate::{Error, Part, Ranks, Result, Wire};
use condense::{Condensed, condense};
use partners::Partners;
use perf_core::{
    CallPathId, CallTree, Definitions, Events, Job, LocationId, LocationKind, Nanos, Profile,
    Trace, TraceView,
};
use perf_wait::activity::{Activities, CallId};
use perf_wait::efficiency::{Efficiencies, IdealNetwork, IdealRun, UsefulTime};
use perf_wait::waits::{WaitState, WaitStates};
use std::collections::{BTreeMap, BTreeSet};

/// Wait states of MPI calls in a trace that is distributed over ranks.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Waits {
    /// Exclusive severities by kind, call path and location in nanoseconds, as in [`WaitStates::profile`]. The same on
    /// all ranks.
    pub profile: Profile,
    /// Wait states of the locations of this rank, in order of location, call and kind. The numbers of messages and
    /// collectives are `None`, because no rank has all messages and collectives.
    pub states: Vec<WaitState>,
    /// Number of ends of messages and collectives of all locations that have no partner.
    pub unmatched: u64,
}

/// Finds the wait states of MPI calls. Collective.
///
/// The results equal those of [`WaitStates::of_activities`] for [`Activities::of_mpi`] of the whole trace, if the
/// locations of each rank follow those of the previous rank, as in a [`Part`]. Clocks must agree. Wait states of
/// threads and accelerators are not searched.
///
/// Each rank receives from other ranks the MPI calls that exchange messages with its processes, the calls of all
/// members of the collectives in which its processes take part, and the calls that synchronise or access windows of
/// its processes. Functions and counters are not sent. Reports progress as [`Activities::of_mpi`] does.
///
/// ```no_run
/// use perf_core::Job;
/// use perf_formats::OpenOptions;
/// use perf_mpi::{Ranks, mpi, read, waits};
/// let universe = mpi::initialize().ok_or("MPI was initialised before")?;
/// let ranks = Ranks::new(&universe.world());
/// let part = read(&ranks, "run/traces.otf2".as_ref(), &OpenOptions::new(), &Job::default())?;
/// let found = waits(&ranks, part, &Job::default())?;
/// assert!(found.profile.metric("late sender").is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// - Returns [`Error::Wait`] if the MPI calls of a rank cannot be found.
/// - Returns [`Error::Differs`] if definitions differ between ranks.
/// - Returns [`Error::Cancelled`] if the job is cancelled.
pub fn waits(ranks: &Ranks, part: Part, job: &Job) -> Result<Waits> {
    let shape = shape(part.trace.definitions());
    ranks.same("locations, regions or communicators", &shape)?;
    let own: Vec<u32> = part.own.iter().map(|location| location.0).collect();
    let held = ranks.all_gather(&own)?;
    let calls = Activities::of_mpi(part.view(), job).map_err(Error::from);
    let calls = ranks.agree(calls)?;
    let comms: BTreeSet<u32> = calls.collectives().iter().map(|it| it.comm.0).collect();
    let comms = ranks.all_gather(&Vec::from_iter(comms))?;
    let windows = ranks.agree(windows::used(part.view(), job))?;
    let used: BTreeSet<u32> = windows.values().flatten().copied().collect();
    let used = ranks.all_gather(&Vec::from_iter(used))?;
    let received = {
        let definitions = part.trace.definitions();
        let mut partners = Partners::new(definitions, &held, &comms);
        partners.add_windows(&windows, &used);
        exchange(ranks, part.view(), Some(&partners), job)?
    };
    let found = own_waits(part, &received, calls.paths().clone(), job);
    let (found, piece) = ranks.agree(found)?;
    let mut whole = Whole::new(&found.profile, calls.definitions().regions.len());
    for piece in ranks.all_gather(&piece)? {
        whole.add(&piece)?;
    }
    let (profile, _) = whole.finish(&found.profile, &calls.definitions().regions)?;
    let unmatched = ranks.all_gather(&found.unmatched)?.iter().sum();
    Ok(Waits {
        profile,
        unmatched,
        ..found
    })
}

/// Measures the efficiencies of the POP methodology. Collective.
///
/// The result is the same on all ranks and equals [`Efficiencies::of`] of the whole trace.
///
/// The replay on an ideal network runs on rank 0. Rank 0 needs memory for the MPI calls of all locations, but not for
/// their functions and counters.
///
/// ```no_run
/// use perf_core::Job;
/// use perf_formats::OpenOptions;
/// use perf_mpi::{Ranks, efficiencies, mpi, read};
/// use perf_wait::efficiency::IdealNetwork;
/// let universe = mpi::initialize().ok_or("MPI was initialised before")?;
/// let ranks = Ranks::new(&universe.world());
/// let part = read(&ranks, "run/traces.otf2".as_ref(), &OpenOptions::new(), &Job::default())?;
/// let found = efficiencies(&ranks, part.view(), &IdealNetwork::default(), &Job::default())?;
/// assert!(found.parallel_efficiency() <= 1.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// On all ranks:
///
/// - Returns [`Error::Wait`] on rank 0, and [`Error::Elsewhere`] on other ranks, if the trace has no MPI calls or its
///   calls cannot be replayed.
/// - Returns [`Error::Differs`] if definitions differ between ranks.
/// - Returns [`Error::Cancelled`] if the job is cancelled.
pub fn efficiencies(
    ranks: &Ranks,
    view: TraceView<'_>,
    network: &IdealNetwork,
    job: &Job,
) -> Result<Efficiencies> {
    let definitions = view.definitions();
    let shape = shape(definitions);
    ranks.same("locations, regions or communicators", &shape)?;
    let received = exchange(ranks, view, None, job)?;
    let replayed = if ranks.is_root() {
        replay(definitions, &received, network, job).map(Some)
    } else {
        Ok(None)
    };
    let replayed = ranks.agree(replayed)?;
    let Run { runtime, ideal } = ranks.broadcast(0, replayed.as_ref())?;
    let own: Vec<LocationId> = view
        .ids()
        .filter(|it| ideal.locations.contains(it))
        .collect();
    let useful = UsefulTime::of(view, &own, job).map_err(Error::from);
    let useful: Vec<Useful> = ranks.agree(useful)?.into_iter().map(Useful).collect();
    let mut processes: Vec<UsefulTime> = Vec::new();
    for of_rank in ranks.all_gather(&useful)? {
        processes.extend(of_rank.into_iter().map(|it| it.0));
    }
    processes.sort_by_key(|it| it.location);
    Ok(Efficiencies {
        runtime,
        processes,
        ideal,
    })
}

/// Returns the numbers of locations, regions and communicators, which must be equal on all ranks.
fn shape(definitions: &Definitions) -> [usize; 3] {
    let locations = definitions.system.locations().len();
    [
        locations,
        definitions.regions.len(),
        definitions.comms.len(),
    ]
}

/// Sends the calls of the locations of this rank to the ranks that need them, and returns the calls of other ranks that
/// this rank needs. Without `partners`, rank 0 receives all calls, including its own. Collective.
fn exchange(
    ranks: &Ranks,
    view: TraceView<'_>,
    partners: Option<&Partners<'_>>,
    job: &Job,
) -> Result<Vec<Condensed>> {
    let mut out: Vec<Vec<Condensed>> = vec![Vec::new(); ranks.size()];
    let mut collect = || {
        let definitions = view.definitions();
        for location in view.locations() {
            job.check()?;
            let kind = definitions.system.location(location.id()).map(|it| it.kind);
            // As in `Activities::of_mpi`, streams of accelerators have no MPI calls.
            if !matches!(kind, Some(LocationKind::CpuThread | LocationKind::Unknown)) {
                continue;
            }
            let each = condense(location, definitions, partners, ranks.size(), job)?;
            for (rank, (calls, to)) in each.into_iter().zip(&mut out).enumerate() {
                // This rank already has all events of its own locations.
                if partners.is_none() || (rank != ranks.rank() && !calls.numbers.is_empty()) {
                    to.push(calls);
                }
            }
        }
        Ok(())
    };
    ranks.agree(collect())?;
    let out: Vec<Vec<u8>> = out.iter().map(Wire::to_bytes).collect();
    let mut found = Vec::new();
    for (rank, bytes) in ranks.all_to_all(&out)?.iter().enumerate() {
        let calls = Vec::<Condensed>::from_bytes(bytes).map_err(|error| error.sent_by(rank));
        found.push(calls);
    }
    let found: Result<Vec<Vec<Condensed>>> = found.into_iter().collect();
    Ok(ranks.agree(found)?.concat())
}

/// Finds the wait states of the locations of this rank, and the piece of the profile that they contribute. `paths` has
/// the call paths of these locations.
fn own_waits(
    part: Part,
    received: &[Condensed],
    mut paths: CallTree,
    job: &Job,
) -> Result<(Waits, Piece)> {
    let count = paths.paths().len();
    let (mut definitions, mut events, _) = part.trace.into_parts();
    let kinds = windows::kinds(&mut definitions);
    for calls in received {
        *slot(&mut events, calls.location)? = calls.events(&kinds)?;
    }
    let trace = Trace::new(definitions, events)?;
    let activities = Activities::of_mpi(trace.view(), job)?;
    let found = WaitStates::of_activities(&activities, job)?;
    // The received calls may add call paths that the locations of this rank do not have.
    let mut numbers: Vec<CallPathId> = Vec::with_capacity(activities.paths().paths().len());
    for path in activities.paths().paths() {
        let parent = path.parent.and_then(|it| numbers.get(it.index()).copied());
        numbers.push(paths.child(parent, path.region)?);
    }
    let piece = Piece::of_paths(found.profile(), &paths, count, &numbers, &part.own)?;
    let calls: BTreeMap<LocationId, &[u32]> = received
        .iter()
        .map(|calls| (calls.location, &calls.numbers[..]))
        .collect();
    let number = |id: CallId| match calls.get(&id.location) {
        Some(numbers) => numbers.get(id.index as usize).map(|index| CallId {
            index: *index,
            ..id
        }),
        None => Some(id),
    };
    let is_own = |id: LocationId| part.own.binary_search(&id).is_ok();
    let states = found.states().iter().filter(|it| is_own(it.call.location));
    let states = states.map(|state| WaitState {
        cause: state.cause.and_then(number),
        message: None,
        collective: None,
        ..*state
    });
    let unmatched = activities.unmatched().iter();
    let unmatched = unmatched.filter(|it| is_own(it.end.location)).count() as u64;
    let waits = Waits {
        states: states.collect(),
        profile: found.profile().clone(),
        unmatched,
    };
    Ok((waits, piece))
}

/// Returns the events of a location, or [`Error::Differs`] if there is no such location.
fn slot(events: &mut [Events], location: LocationId) -> Result<&mut Events> {
    events
        .get_mut(location.index())
        .ok_or(Error::Differs { what: "locations" })
}

/// Measured run time and replay on an ideal network.
struct Run {
    runtime: Nanos,
    ideal: IdealRun,
}

/// Replays the calls of all locations.
fn replay(
    definitions: &Definitions,
    received: &[Condensed],
    network: &IdealNetwork,
    job: &Job,
) -> Result<Run> {
    let mut events = vec![Events::default(); definitions.system.locations().len()];
    let mut definitions = definitions.clone();
    let kinds = windows::kinds(&mut definitions);
    for calls in received {
        *slot(&mut events, calls.location)? = calls.events(&kinds)?;
    }
    let trace = Trace::new(definitions, events)?;
    let activities = Activities::of_mpi(trace.view(), job)?;
    let ideal = network.replay(&activities, job)?;
    let range = activities.range().unwrap_or_default();
    let ticks = range.1.saturating_since(range.0);
    Ok(Run {
        runtime: activities.clock().total(u128::from(ticks)),
        ideal,
    })
}

impl Wire for Run {
    const LEAST: usize = 2 * 8 + 3 * 8;

    fn write(&self, to: &mut Vec<u8>) {
        let numbers = |of: &[Nanos]| of.iter().map(|it| it.0).collect::<Vec<i64>>();
        (self.runtime.0, self.ideal.runtime.0).write(to);
        let locations: Vec<u32> = self.ideal.locations.iter().map(|it| it.0).collect();
        locations.write(to);
        numbers(&self.ideal.computation).write(to);
        numbers(&self.ideal.end).write(to);
    }

    fn read(from: &mut crate::Reader<'_>) -> Result<Self> {
        let times = |of: Vec<i64>| of.into_iter().map(Nanos).collect::<Vec<Nanos>>();
        let (runtime, ideal): (i64, i64) = Wire::read(from)?;
        let locations: Vec<u32> = Wire::read(from)?;
        Ok(Run {
            runtime: Nanos(runtime),
            ideal: IdealRun {
                runtime: Nanos(ideal),
                locations: locations.into_iter().map(LocationId).collect(),
                computation: times(Wire::read(from)?),
                end: times(Wire::read(from)?),
            },
        })
    }
}

/// [`UsefulTime`] that can be sent to other ranks.
struct Useful(UsefulTime);

impl Wire for Useful {
    const LEAST: usize = 4 + 8 + 2;

    fn write(&self, to: &mut Vec<u8>) {
        let UsefulTime {
            location,
            time,
            instructions,
            cycles,
        } = self.0;
        (location.0, time.0).write(to);
        (instructions, cycles).write(to);
    }

    fn read(from: &mut crate::Reader<'_>) -> Result<Self> {
        let (location, time): (u32, i64) = Wire::read(from)?;
        let (instructions, cycles) = Wire::read(from)?;
        Ok(Useful(UsefulTime {
            location: LocationId(location),
            time: Nanos(time),
            instructions,
            cycles,
        }))
    }
}
