//! A replayed recording is the same stream at any speed.

use perf_anomaly::calls::{Calls, StreamHealth};
use perf_anomaly::provenance::{Kind, Query, Recorder};
use perf_anomaly::{Monitor, Replay, Tail};
use perf_core::{
    Definitions, Event, EventId, EventSink, EventSource, Events, Job, Location, LocationGroup,
    LocationGroupId, MetricId, Nanos, Paradigm, Region, RegionId, RegionRole, StreamEvent,
    StreamId, StreamKey, SystemTree, Ticks, TimeRange, Trace, intervals,
};

/// Sink that keeps all events.
#[derive(Debug, Default, PartialEq)]
struct Kept {
    /// Names of regions.
    regions: Vec<String>,
    /// Names of counters.
    counters: Vec<String>,
    /// Streams.
    streams: Vec<StreamKey>,
    /// Properties of streams.
    facts: Vec<(StreamId, String, String)>,
    /// Step, stream, time and event.
    events: Vec<(u64, StreamId, Nanos, StreamEvent)>,
    /// Number of steps.
    step: u64,
}

impl EventSink for Kept {
    fn region(&mut self, _: u32, name: &str) -> RegionId {
        self.regions.push(name.into());
        RegionId(self.regions.len() as u32 - 1)
    }

    fn counter(&mut self, name: &str) -> MetricId {
        self.counters.push(name.into());
        MetricId(self.counters.len() as u32 - 1)
    }

    fn stream(&mut self, key: StreamKey) -> StreamId {
        self.streams.push(key);
        StreamId(self.streams.len() as u32 - 1)
    }

    fn push(&mut self, stream: StreamId, at: Nanos, event: StreamEvent) {
        self.events.push((self.step, stream, at, event));
    }

    fn metadata(&mut self, stream: StreamId, name: &str, value: &str) {
        self.facts.push((stream, name.into(), value.into()));
    }

    fn end_step(&mut self, step: u64) {
        assert_eq!(step, self.step, "steps count up");
        self.step += 1;
    }
}

fn kept(mut replay: Replay<'_>) -> Kept {
    let mut kept = Kept::default();
    let steps = replay.steps();
    while replay
        .next_step(&mut kept, &Job::default())
        .expect("not cancelled")
    {}
    assert_eq!(kept.step, steps);
    assert!(
        !replay
            .next_step(&mut kept, &Job::default())
            .expect("not cancelled"),
        "it stays at its end"
    );
    kept
}

/// Returns time and event of each event of a location, as the trace has them.
fn of_trace(trace: &Trace, location: usize) -> Vec<(Nanos, Event<'_>)> {
    let clock = trace.definitions().clock;
    let location = trace.view().locations().nth(location).unwrap();
    let all = location.iter();
    all.map(|(at, event)| (clock.nanos(at).unwrap(), event))
        .collect()
}

#[test]
fn every_call_and_message_comes_once_and_in_its_step() {
    let trace = perf_testdata::many_ranks::trace(5, 2_000);
    let period = Nanos(100_000);
    let kept = kept(Replay::new(trace.view(), period));
    assert_eq!(kept.streams.len(), 5);
    let start = trace.view().range().unwrap().start;
    let start = trace.definitions().clock.nanos(start).unwrap();
    for (stream, key) in kept.streams.iter().enumerate() {
        assert_eq!((key.rank, key.thread), (stream as u32, 0));
        let own = kept.events.iter().filter(|one| one.1.index() == stream);
        let own: Vec<_> = own.collect();
        let expected = of_trace(&trace, stream);
        assert_eq!(own.len(), expected.len());
        for ((step, _, at, event), (time, original)) in own.into_iter().zip(expected) {
            assert_eq!((*at, *step), (time, ((time.0 - start.0) / period.0) as u64));
            match (event, original) {
                (StreamEvent::Enter(region), Event::Enter { region: id })
                | (StreamEvent::Exit(region), Event::Leave { region: id }) => {
                    let name = trace.definitions().region_name(id);
                    assert_eq!(kept.regions[region.index()], name);
                }
                (StreamEvent::Send(peer), Event::Send(transfer))
                | (StreamEvent::Receive(peer), Event::Recv(transfer)) => {
                    assert_eq!(
                        (peer.rank, peer.tag, peer.bytes),
                        (transfer.peer, transfer.tag, transfer.bytes)
                    );
                }
                other => panic!("{other:?}"),
            }
        }
    }
    let host = ("Hostname".to_string(), "node0000".to_string());
    let hosts = kept
        .facts
        .iter()
        .filter(|(_, name, value)| *name == host.0 && *value == host.1);
    assert_eq!(hosts.count(), 5);
}

#[test]
fn pace_and_length_of_steps_change_no_call() {
    let trace = perf_core::samples::cosmo::trace();
    let fast = kept(Replay::new(trace.view(), Nanos(50_000_000)));
    // At full speed: the recording takes seconds.
    let paced = kept(Replay::new(trace.view(), Nanos(50_000_000)).pace(1e6));
    assert_eq!(fast, paced);
    let nonsense = kept(Replay::new(trace.view(), Nanos(50_000_000)).pace(f64::NAN));
    assert_eq!(fast, nonsense);
    let calls = |period| {
        let mut calls = Calls::default();
        let mut replay = Replay::new(trace.view(), period);
        let mut all = Vec::new();
        while replay
            .next_step(&mut calls, &Job::default())
            .expect("not cancelled")
        {
            let batch = calls.batch();
            let each = batch.calls().iter();
            all.extend(each.map(|one| (one.stream, one.number, one.exclusive)));
        }
        all.extend(
            calls
                .finish()
                .calls()
                .iter()
                .map(|one| (one.stream, one.number, one.exclusive)),
        );
        all.sort_unstable();
        let health: StreamHealth = calls.health();
        (all, health)
    };
    let whole = calls(Nanos(i64::MAX));
    assert_eq!(whole.0.len() * 2, trace.len());
    assert!(whole.1.is_sound());
    for period in [1_000_000, 7_777_777, 1_000_000_000] {
        assert_eq!(calls(Nanos(period)), whole, "{period}");
    }
}

#[test]
fn only_locations_in_view_are_replayed() {
    let trace = perf_testdata::many_ranks::trace(4, 1_000);
    let all = trace.view().range().unwrap();
    let window = TimeRange::new(Ticks(all.start.0 + all.len() / 4), all.end).unwrap();
    let view = trace.view().between(window);
    // Events of the measurement system are not part of a stream.
    let is_streamed = |(_, event): &(Ticks, Event<'_>)| !matches!(event, Event::Measuring { .. });
    let all = view.locations().flat_map(|location| location.iter());
    let count = all.filter(is_streamed).count();
    let kept = kept(Replay::new(view, Nanos(10_000)));
    assert_eq!(kept.events.len(), count);
    assert!(count > 1_000 && count < 4_000);
    // An empty view replays no events.
    let empty = Trace::new(perf_testdata::many_ranks::definitions(0), Vec::new()).unwrap();
    let mut sink = Kept::default();
    assert_eq!(Replay::new(empty.view(), Nanos(1)).steps(), 0);
    assert!(
        !Replay::new(empty.view(), Nanos(1))
            .next_step(&mut sink, &Job::default())
            .expect("not cancelled")
    );
}

/// Recordings list processes in any order, such as node by node, and may lack some. Numbers of processes of
/// the operating system are no ranks.
#[test]
fn ranks_are_those_that_the_recording_states() {
    let ranks = |names: [&str; 3]| -> Vec<u32> {
        let process = |name: &str| LocationGroup {
            name: name.into(),
            ..LocationGroup::default()
        };
        let thread = |at: u32| Location {
            key: at.into(),
            group: Some(LocationGroupId(at)),
            ..Location::default()
        };
        let groups = names.map(process).into();
        let threads = (0..3).map(thread).collect();
        let system = SystemTree::new(vec![], groups, threads, &Default::default());
        let mut definitions = Definitions::default();
        definitions.system = system.expect("it fits");
        definitions.regions = vec![Region::named("f")];
        let calls = |begin: u64| {
            let mut events = Events::default();
            events.push_call(Ticks(begin), false, RegionId(0));
            events.push_call(Ticks(begin + 10), true, RegionId(0));
            events
        };
        let trace = Trace::new(definitions, (0..3).map(calls).collect());
        let trace = trace.expect("a column a location");
        let kept = kept(Replay::new(trace.view(), Nanos(1_000)));
        let mut enters: Vec<_> = kept.events.iter().collect();
        enters.sort_by_key(|(_, _, at, _)| *at);
        let enters = enters
            .into_iter()
            .filter(|it| matches!(it.3, StreamEvent::Enter(_)));
        enters
            .map(|(_, id, ..)| kept.streams[id.index()].rank)
            .collect()
    };
    assert_eq!(ranks(["MPI Rank 4", "MPI Rank 1", "MPI Rank 3"]), [4, 1, 3]);
    assert_eq!(ranks(["pid 4711", "pid 81", "pid 82"]), [0, 1, 2]);
    assert_eq!(ranks(["MPI Rank 1", "MPI Rank 1", "MPI Rank 0"]), [0, 1, 2]);
}

#[test]
fn waiting_can_be_cancelled() {
    let trace = perf_testdata::many_ranks::trace(2, 1_000);
    let job = Job::default();
    // At this pace the first step takes days.
    let replay = Replay::new(trace.view(), Nanos(1_000_000));
    let mut replay = replay.pace(1e-12);
    let other = job.clone();
    let thread = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(30));
        other.cancel();
    });
    assert!(replay.next_step(&mut Kept::default(), &job).is_err());
    thread.join().expect("it cancels");
    assert!(job.is_cancelled());
}

/// Archives of Score-P and Paraver traces of Extrae, as far as the corpus has them.
#[test]
fn accelerator_streams_of_recordings_are_recognised() {
    let Some(path) = perf_testdata::corpus::corpus("otf2/casita-2_cuda_simple") else {
        return;
    };
    let options = perf_formats::OpenOptions::new();
    let opened = perf_formats::open(&path, &options, &Job::default()).expect("it is an archive");
    let trace = opened.into_trace().expect("it is a trace");
    let mut calls = Calls::default();
    let mut replay = Replay::new(trace.view(), Nanos(10_000_000));
    let mut count = 0;
    while replay
        .next_step(&mut calls, &Job::default())
        .expect("not cancelled")
    {
        count += calls.batch().len();
    }
    count += calls.finish().len();
    assert!(count > 0);
    let gpu = |id: &&StreamId| calls.is_gpu(**id);
    assert!(calls.streams().iter().filter(gpu).count() >= 1);
    // They belong to the rank that uses them.
    let key = |id: &StreamId| calls.stream_key(*id).unwrap().rank;
    let hosts: Vec<u32> = calls
        .streams()
        .iter()
        .filter(|id| !calls.is_gpu(**id))
        .map(key)
        .collect();
    assert!(
        calls
            .streams()
            .iter()
            .filter(gpu)
            .all(|id| hosts.contains(&key(id)))
    );
}

/// Returns launch, region, begin and end of each piece of work, from the links and intervals of the
/// trace.
fn linked(trace: &Trace) -> Vec<(i64, String, i64, i64)> {
    let definitions = trace.definitions();
    let nanos = |at: Ticks| definitions.clock.nanos(at).unwrap().0;
    let mut found = Vec::new();
    for location in trace.view().locations() {
        intervals(
            location,
            |call| {
                let here = |event: EventId| {
                    (event.location, event.index as usize) == (location.id(), call.enter)
                };
                for link in trace.links().iter().filter(|link| here(link.to)) {
                    let from = trace.location(link.from.location).unwrap();
                    let at = from.all().time(link.from.index as usize).unwrap();
                    let name = definitions.region_name(call.region).into_owned();
                    found.push((nanos(at), name, nanos(call.start), nanos(call.end)));
                }
            },
            &Job::default(),
        )
        .unwrap();
    }
    found.sort_unstable();
    found
}

/// Returns the same of the calls of a replay.
fn tied(trace: &Trace, mut replay: Replay<'_>) -> (Vec<(i64, String, i64, i64)>, Calls) {
    let mut calls = Calls::default();
    let mut found = Vec::new();
    let mut look = |calls: &Calls| {
        for call in calls
            .batch()
            .calls()
            .iter()
            .filter(|call| calls.is_gpu(call.stream))
        {
            assert_eq!((call.depth, calls.stack(call).len()), (0, 0));
            assert_eq!(call.exclusive, call.inclusive());
            if let Some(launch) = calls.launch(call.key()) {
                let (_, name) = calls.region_name(call.region).unwrap();
                found.push((launch.entry.0, name.into(), call.entry.0, call.exit.0));
            }
        }
    };
    while replay
        .next_step(&mut calls, &Job::default())
        .expect("not cancelled")
    {
        look(&calls);
    }
    calls.finish();
    look(&calls);
    found.sort_unstable();
    assert_eq!(found.len(), trace.links().len());
    (found, calls)
}

/// Overlapping work, with one or several names, that begins or ends together, or has zero length.
#[test]
fn work_of_accelerators_overlaps_and_knows_its_launch() {
    let pieces = [
        (Some(0), 0, "kernel", 0, 20),
        (Some(1), 0, "kernel", 5, 30),
        (None, 0, "copy", 5, 5),
        (Some(2), 0, "copy", 5, 25),
        (Some(3), 0, "reduce", 5, 6),
        (Some(4), 0, "kernel", 20, 40),
        (Some(5), 1, "kernel", 20, 40),
        (Some(6), 1, "sync", 40, 40),
        (Some(7), 1, "set", 40, 40),
        (Some(8), 1, "kernel", 40, 41),
    ];
    for trace in [
        perf_core::samples::device::build(&pieces),
        perf_core::samples::device::trace(),
        perf_testdata::planted::trace(),
    ] {
        for steps in [1, 3, 50] {
            let (found, calls) = tied(&trace, Replay::in_steps(trace.view(), steps));
            assert_eq!(found, linked(&trace), "{steps} steps");
            let health = calls.health();
            assert!(health.is_sound(), "{health:?}");
        }
    }
}

/// Both ends of a launch are in view, or the other end does not wait.
#[test]
fn launches_out_of_view_are_not_missed() {
    let trace = perf_core::samples::device::trace();
    let hosts = [perf_core::LocationId(0)];
    let devices = [perf_core::LocationId(1), perf_core::LocationId(2)];
    let window = TimeRange::new(Ticks(15), Ticks(101)).unwrap();
    for view in [
        trace.view().only(&hosts),
        trace.view().only(&devices),
        trace.view().between(window),
    ] {
        let mut calls = Calls::default();
        let mut replay = Replay::in_steps(view, 2);
        while replay
            .next_step(&mut calls, &Job::default())
            .expect("not cancelled")
        {}
        calls.finish();
        let health = calls.health();
        assert_eq!((health.unmatched_gpu, health.unmatched_launch), (0, 0));
    }
}

/// A step may have more launches than are kept between steps, without losing work.
#[test]
fn a_step_may_have_any_number_of_launches() {
    let many = 3000;
    let pieces: Vec<perf_core::samples::device::Piece> = (0..many)
        .map(|at| (Some(at), 0, "kernel", 10_000 + 2 * at, 10_001 + 2 * at))
        .collect();
    let trace = perf_core::samples::device::build(&pieces);
    let mut calls = Calls::new(Calls::params().pending(10).check().unwrap());
    let mut replay = Replay::in_steps(trace.view(), 1);
    while replay
        .next_step(&mut calls, &Job::default())
        .expect("not cancelled")
    {}
    assert_eq!(calls.batch().links().len() as u64, many);
    assert_eq!(calls.health().unmatched_gpu, 0);
}

/// Anomalies of work contain their launch, and those without a launch do not wait.
#[test]
fn anomalies_of_accelerators_carry_their_launch_at_once() {
    for launched in [true, false] {
        let pieces: Vec<perf_core::samples::device::Piece> = (0..2000_u64)
            .map(|at| {
                let long = if at == 1900 {
                    900_000
                } else {
                    100_000 + at % 7 * 1000
                };
                let begin = 1_000_000 * (at + 1);
                (launched.then_some(at), 0, "kernel", begin, begin + long)
            })
            .collect();
        let trace = perf_core::samples::device::build(&pieces);
        let tail = Box::new(Tail::default());
        let calls = Calls::new(Calls::params().context(0).check().unwrap());
        let recorder = Recorder::default();
        let mut monitor = Monitor::new(calls, tail).record(recorder);
        let mut replay = Replay::in_steps(trace.view(), 100);
        let mut recorded = None;
        while replay
            .next_step(&mut monitor, &Job::default())
            .expect("not cancelled")
        {
            let count = monitor.reduction().unwrap().recorded;
            if count > 0 {
                recorded.get_or_insert(monitor.batch().step());
            }
        }
        let report = monitor.finish().unwrap();
        let (mut store, _) = report.store.unwrap();
        let query = Query {
            kind: Some(Kind::Anomaly),
            ..Query::default()
        };
        let records = store.query(&query).unwrap();
        assert_eq!(records.len(), 1, "{:?}", report.losses.total());
        assert_eq!(recorded, Some(records[0].step), "it waits for nothing");
        let launch = records[0]
            .launch
            .as_ref()
            .map(|launch| (launch.entry, launch.path.clone()));
        let expected = (Nanos(1900), vec!["cudaLaunchKernel".to_string()]);
        assert_eq!(launch, launched.then_some(expected));
        assert_eq!(records[0].accelerator.len(), 1);
    }
}

/// Returns a trace of one thread that computes in 100 bursts, every second one in the function `solve`.
/// One burst of each kind takes ten thousand times as long as the others.
fn with_states() -> Trace {
    let regions = [
        ("Running", RegionRole::Unknown),
        ("solve", RegionRole::Function),
    ];
    let regions = regions.map(|(name, role)| Region {
        paradigm: Paradigm::User,
        role,
        ..Region::named(name)
    });
    let mut events = Events::default();
    let mut at = 0;
    for burst in 0..300 {
        let within = burst % 2 == 1;
        for (region, is_leave) in [(1, false), (0, false), (0, true), (1, true)] {
            if within || region == 0 {
                events.push_call(Ticks(at), is_leave, RegionId(region));
            }
            if (region, is_leave) == (0, false) {
                at += match burst {
                    290 | 291 => 6_000_000,
                    298.. => 10_000_000_000,
                    _ => 1_000_000 + 1000 * (burst % 7),
                };
            }
        }
    }
    let thread = Location::default();
    let system = SystemTree::new(vec![], vec![], vec![thread], &Default::default());
    let mut definitions = Definitions::default();
    definitions.system = system.expect("it fits");
    definitions.regions = regions.to_vec();
    Trace::new(definitions, vec![events]).expect("a column a location")
}

/// The state in which a thread computes is judged within functions, and not judged where the functions are
/// unknown.
#[test]
fn states_are_judged_by_the_function_around_them() {
    let trace = with_states();
    let mut monitor = Monitor::default();
    let mut replay = Replay::in_steps(trace.view(), 10);
    while replay
        .next_step(&mut monitor, &Job::default())
        .expect("not cancelled")
    {}
    let report = monitor.finish().expect("no store");
    let worst = report.losses.worst_functions();
    let loss = |name: &str| {
        let mut all = worst.iter();
        let of = all.find(|(function, _)| report.calls.function_name(*function) == name);
        of.map(|(_, loss)| (loss.calls, loss.too_slow, loss.not_enough_data))
    };
    // Of unknown functions, only the call beyond experience is reported.
    assert_eq!(loss("Running"), Some((150, 1, 149)));
    let within = loss("Running in solve").expect("it is called");
    assert_eq!((within.0, within.1), (150, 2));
    let unknown = report.lasting.in_unknown_functions();
    assert!(
        (10_153_000_000..10_156_000_000).contains(&unknown.0),
        "{unknown}"
    );
    assert_eq!(report.lasting.peers().slow_phases(), []);
    assert_eq!(report.lasting.modes().all().count(), 0);
}

/// The stages of a pipeline do the same work on other layers, so that they are compared like ranks.
#[test]
fn pipeline_stages_are_ranks() {
    let keys = |names: [&str; 6]| {
        let process = |name: &str| LocationGroup {
            name: name.into(),
            ..LocationGroup::default()
        };
        let thread = |(at, name): (u32, &str)| Location {
            key: at.into(),
            name: name.into(),
            group: Some(LocationGroupId(at / 3)),
            ..Location::default()
        };
        let groups = ["DP rank [0]", "DP rank [1]"].map(process).into();
        let threads = (0..).zip(names).map(thread).collect();
        let system = SystemTree::new(vec![], groups, threads, &Default::default());
        let mut definitions = Definitions::default();
        definitions.system = system.expect("it fits");
        let columns = vec![Events::default(); 6];
        let trace = Trace::new(definitions, columns).expect("a column a location");
        let replay = Replay::new(trace.view(), Nanos(1));
        let keys = replay.streams().map(|(key, _)| (key.rank, key.thread));
        (keys.collect::<Vec<_>>(), replay.stages())
    };
    let two = [
        "PP rank 0, compute",
        "PP rank 0, misc",
        "PP rank 1, compute",
    ];
    let (found, stages) = keys([two[0], two[1], two[2], two[0], two[1], two[2]]);
    assert_eq!(stages, Some(2));
    assert_eq!(found, [(0, 0), (0, 1), (1, 0), (2, 0), (2, 1), (3, 0)]);
    // A location without a stage, and a number that cannot be.
    for other in ["misc", "PP rank x", "PP rank 4000000000"] {
        let (found, stages) = keys([two[0], two[1], two[2], two[0], two[1], other]);
        assert_eq!(stages, None, "{other}");
        assert_eq!(found[3..], [(1, 0), (1, 1), (1, 2)]);
    }
    // One stage only.
    assert_eq!(keys([two[0]; 6]).1, None);
}
