//! Tests of wait states and efficiencies of recordings of which each rank holds a part.

use crate::archives::{NAMES, path, same_profile, whole};
use crate::{Outcome, Test, equal};
use perf_core::{
    Collective, CollectiveOp, CommId, Communicator, Definitions, Event, Events, GroupKind, Job,
    KindId, Limits, Location, LocationGroup, LocationGroupId, LocationId, LocationKind, Members,
    Region, RegionId, RmaOp, SystemTree, Ticks, Trace, Transfer, Window, WindowId,
};
use perf_formats::OpenOptions;
use perf_mpi::{Part, Ranks, Waits, efficiencies, read, waits};
use perf_testdata::xorshift::Xorshift;
use perf_wait::activity::Activities;
use perf_wait::efficiency::{Efficiencies, IdealNetwork};
use perf_wait::waits::{Pattern, WaitState, WaitStates};

pub(crate) const TESTS: &[(&str, Test)] = &[
    ("wait_states_are_those_of_one_process", recorded),
    (
        "wait_states_of_random_programs_are_those_of_one_process",
        random,
    ),
    ("wait_states_of_windows_are_those_of_one_process", windows),
    ("efficiencies_are_those_of_one_process", equal_efficiencies),
    ("efficiencies_without_mpi_calls_are_errors", without_calls),
];

/// Returns a wait state with its cause, as one process has it, without the numbers of messages and collectives.
fn without_numbers(state: &WaitState) -> WaitState {
    WaitState {
        message: None,
        collective: None,
        ..*state
    }
}

/// Compares the wait states of all ranks. Fails on all ranks alike, so that they stay together.
fn compare(ranks: &Ranks, part: Part, whole: &Trace) -> Outcome {
    let own = part.own.clone();
    let found = waits(ranks, part, &Job::default())?;
    let outcome = equal_waits(&found, &own, whole).map_err(|error| error.to_string());
    let outcomes = ranks.all_gather(&outcome.err())?;
    outcomes
        .into_iter()
        .flatten()
        .next()
        .map_or(Ok(()), |error| Err(error.into()))
}

fn equal_waits(found: &Waits, own: &[LocationId], whole: &Trace) -> Outcome {
    let job = Job::default();
    let activities = Activities::of_mpi(whole.view(), &job)?;
    let expected = WaitStates::of_activities(&activities, &job)?;
    same_profile(&found.profile, expected.profile())?;
    let states = expected.states().iter();
    let states: Vec<WaitState> = states
        .filter(|state| own.contains(&state.call.location))
        .map(without_numbers)
        .collect();
    equal("number of wait states", &found.states.len(), &states.len())?;
    for (found, expected) in found.states.iter().zip(&states) {
        equal("a wait state", found, expected)?;
    }
    let unmatched = activities.unmatched().len() as u64;
    equal("ends without a partner", &found.unmatched, &unmatched)
}

fn recorded(ranks: &Ranks) -> Outcome {
    let mut count = 0;
    for name in NAMES {
        let part = read(ranks, &path(name), &OpenOptions::new(), &Job::default())?;
        let whole = whole(name)?;
        count += WaitStates::of(whole.view(), &Job::default())?
            .states()
            .len();
        compare(ranks, part, &whole)?;
    }
    equal("recordings have wait states", &(count > 100), &true)
}

/// Returns the part of a trace that holds some locations.
fn part(trace: &Trace, own: Vec<LocationId>) -> Result<Part, perf_core::Error> {
    let (definitions, mut events, _) = trace.clone().into_parts();
    for (location, events) in (0..).map(LocationId).zip(&mut events) {
        if !own.contains(&location) {
            *events = Events::default();
        }
    }
    let trace = Trace::new(definitions, events)?;
    Ok(Part::new(trace, own))
}

/// Returns a random program of processes with some threads. Its messages and collectives are incomplete in places,
/// some are outside of MPI calls, and leaves are missing.
fn program(seed: u64, processes: u32, threads: u32) -> Trace {
    let mut random = Xorshift::new(seed);
    let count = processes * threads;
    let group = |index: u32| LocationGroup {
        name: format!("MPI Rank {index}"),
        kind: GroupKind::Process,
        ..LocationGroup::default()
    };
    let location = |index: u32| Location {
        key: u64::from(index),
        kind: LocationKind::CpuThread,
        group: Some(LocationGroupId(index / threads)),
        ..Location::default()
    };
    let groups = (0..processes).map(group).collect();
    let locations = (0..count).map(location).collect();
    let mut definitions = Definitions::default();
    definitions.system =
        SystemTree::new(vec![], groups, locations, &Limits::default()).expect("it is a tree");
    definitions.regions = REGIONS.map(Region::named).to_vec();
    let world: Vec<u32> = (0..processes).collect();
    let (first, rest) = world.split_at(processes as usize / 2);
    let members = |of: &[u32]| {
        let heads = of.iter().map(|it| Some(LocationId(it * threads)));
        heads.collect::<Vec<_>>()
    };
    let all = [
        Members::Ranks(members(&world)),
        Members::Ranks(members(rest)),
        Members::Between(members(first), members(rest)),
        Members::Own,
    ];
    definitions.comms = all
        .map(|members| Communicator {
            members,
            ..Communicator::default()
        })
        .to_vec();
    let events = (0..count).map(|_| events(&mut random, processes));
    Trace::new(definitions, events.collect()).expect("one column a location")
}

const REGIONS: [&str; 7] = [
    "main",
    "solve",
    "MPI_Init",
    "MPI_Send",
    "MPI_Recv",
    "MPI_Waitall",
    "MPI_Allreduce",
];

fn events(random: &mut Xorshift, processes: u32) -> Events {
    let mut events = Events::default();
    let mut at = random.below(30);
    let mut push = |random: &mut Xorshift, event| {
        at += random.below(6);
        events.push(Ticks(at), event).expect("times ascend");
    };
    for _ in 0..120 {
        let below = |random: &mut Xorshift, most: u32| random.below(u64::from(most)) as u32;
        let region = RegionId(below(random, REGIONS.len() as u32));
        push(random, Event::Enter { region });
        let comm = CommId(below(random, 4));
        for _ in 0..random.below(4) {
            let request = (random.below(2) == 0).then(|| random.below(5));
            let message = Transfer {
                peer: below(random, processes),
                comm,
                tag: below(random, 2),
                bytes: random.below(100_000),
                request,
            };
            let collective = Collective {
                op: [CollectiveOp::Barrier, CollectiveOp::Bcast][random.below(2) as usize],
                comm,
                root: (random.below(2) == 0).then_some(0),
                sent: random.below(2) * 8,
                received: random.below(2) * 8,
                request,
            };
            let request = random.below(5);
            let event = match random.below(10) {
                0 | 1 => Event::Send(message),
                2 | 3 => Event::Recv(message),
                4 => Event::RecvPost { request },
                5 => Event::SendComplete { request },
                6 => Event::CollectivePost { request },
                7 => Event::RequestCancelled { request },
                8 => Event::CollectiveBegin,
                _ => Event::CollectiveEnd(collective),
            };
            push(random, event);
        }
        // Some frames stay open until an outer one ends.
        if random.below(8) > 0 {
            push(random, Event::Leave { region });
        }
    }
    events
}

/// Calls on windows. The first record that a call needs has the same place in [`KINDS`].
const WINDOW_CALLS: [&str; 8] = [
    "MPI_Win_post",
    "MPI_Win_start",
    "MPI_Win_complete",
    "MPI_Win_wait",
    "MPI_Win_lock",
    "MPI_Win_unlock",
    "MPI_Win_fence",
    "MPI_Put",
];

const KINDS: [&str; 7] = [
    "RmaGroupSync",
    "RmaGroupSync",
    "RmaGroupSync",
    "RmaGroupSync",
    "RmaAcquireLock",
    "RmaReleaseLock",
    "RmaCollectiveEnd",
];

/// Returns a random program with one-sided communication on two windows, one of which only the second half of the
/// processes have.
fn window_program(seed: u64, processes: u32, threads: u32) -> Trace {
    let mut random = Xorshift::new(seed);
    let (mut definitions, events, _) = program(seed, processes, threads).into_parts();
    let first = definitions.regions.len() as u32;
    definitions.regions.extend(WINDOW_CALLS.map(Region::named));
    definitions.windows = [0, 1]
        .map(|comm| Window {
            comm: Some(CommId(comm)),
            ..Window::default()
        })
        .to_vec();
    definitions.kinds = KINDS.map(String::from).to_vec();
    definitions.kinds.push("RmaCollectiveBegin".into());
    let events = (0..events.len()).map(|_| window_events(&mut random, first, processes));
    Trace::new(definitions, events.collect()).expect("one column a location")
}

fn window_events(random: &mut Xorshift, first: u32, processes: u32) -> Events {
    let mut events = Events::default();
    let mut at = random.below(30);
    for _ in 0..150 {
        let call = random.below(WINDOW_CALLS.len() as u64) as u32;
        let region = RegionId(first + call);
        let window = random.below(8) / 6;
        let remote = random.below(u64::from(processes));
        at += random.below(6);
        events.push_enter(Ticks(at), region);
        for _ in 0..random.below(3) {
            // Some records are in calls of another kind.
            let wrong = random.below(WINDOW_CALLS.len() as u64) as u32;
            let kind = if random.below(10) == 0 { wrong } else { call };
            at += random.below(6);
            let args = match kind {
                0..4 => vec![2, window, 0],
                4 => vec![window, remote % 2, 0, random.below(2)],
                5 => vec![window, remote % 2, 0],
                _ => vec![0, 1 + random.below(3), window, 0, 0, 0],
            };
            if kind == 6 {
                let begin = Event::Other {
                    kind: KindId(KINDS.len() as u32),
                    args: &[],
                };
                events.push(Ticks(at), begin).expect("times ascend");
                at += random.below(9);
            }
            let event = match kind {
                7 => Event::Rma {
                    op: RmaOp::Get,
                    window: WindowId(window as u32),
                    remote: remote as u32,
                    bytes: 8,
                    matching: 0,
                },
                kind => Event::Other {
                    kind: KindId(kind),
                    args: &args,
                },
            };
            events.push(Ticks(at), event).expect("times ascend");
        }
        if random.below(12) > 0 {
            at += random.below(6);
            events.push_leave(Ticks(at), region);
        }
    }
    events
}

/// Tests one-sided communication between processes on several ranks.
fn windows(ranks: &Ranks) -> Outcome {
    let mut totals = [0; 4];
    let patterns = [
        Pattern::FenceWait,
        Pattern::LatePost,
        Pattern::LateComplete,
        Pattern::WindowLock,
    ];
    for seed in 0..60 {
        let trace = window_program(seed, 4 + (seed % 3) as u32, 1 + (seed % 2) as u32);
        let locations = trace.definitions().system.locations().len();
        let own = ranks.block(locations);
        let own: Vec<LocationId> = own.filter_map(LocationId::from_index).collect();
        let job = Job::default();
        let part = part(&trace, own)?;
        let network = IdealNetwork::default();
        let found = efficiencies(ranks, part.view(), &network, &job);
        let expected = Efficiencies::of(trace.view(), &network, &job);
        match (found, expected) {
            (Ok(found), Ok(expected)) => equal("efficiencies", &found, &expected)?,
            (found, expected) => equal("error", &found.is_err(), &expected.is_err())?,
        }
        compare(ranks, part, &trace).map_err(|error| format!("seed {seed}: {error}"))?;
        let found = WaitStates::of(trace.view(), &job)?;
        for (total, pattern) in totals.iter_mut().zip(patterns) {
            *total += u64::from(found.total(pattern) > 0);
        }
    }
    equal(
        &format!("programs with each kind {totals:?}"),
        &totals.iter().all(|it| *it > 1),
        &true,
    )
}

/// Tests incomplete programs whose threads are on several ranks.
fn random(ranks: &Ranks) -> Outcome {
    let mut states = 0;
    for seed in 0..60 {
        let trace = program(seed, 4 + (seed % 3) as u32, 1 + (seed % 2) as u32);
        let locations = trace.definitions().system.locations().len();
        let own = ranks.block(locations);
        let own = own.filter_map(LocationId::from_index).collect();
        compare(ranks, part(&trace, own)?, &trace)?;
        states += WaitStates::of(trace.view(), &Job::default())?
            .states()
            .len();
    }
    equal("programs have wait states", &(states > 1000), &true)
}

fn equal_efficiencies(ranks: &Ranks) -> Outcome {
    let job = Job::default();
    let network = IdealNetwork::params().eager_limit(1 << 12).check()?;
    for name in NAMES {
        let part = read(ranks, &path(name), &OpenOptions::new(), &job)?;
        for network in [&network, &IdealNetwork::default()] {
            let found = efficiencies(ranks, part.view(), network, &job)?;
            let expected = Efficiencies::of(whole(name)?.view(), network, &job)?;
            equal("efficiencies", &found, &expected)?;
        }
    }
    Ok(())
}

fn without_calls(ranks: &Ranks) -> Outcome {
    let trace = perf_core::samples::device::trace();
    let network = IdealNetwork::default();
    let own = ranks.block(trace.definitions().system.locations().len());
    let own: Vec<LocationId> = own.filter_map(LocationId::from_index).collect();
    let part = part(&trace, own)?;
    let error = efficiencies(ranks, part.view(), &network, &Job::default());
    let error = error.err().map(|it| it.to_string()).unwrap_or_default();
    equal(&error, &error.contains("MPI calls"), &true)
}
