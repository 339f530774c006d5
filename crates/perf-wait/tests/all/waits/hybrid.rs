//! Wait states of threads and accelerators.
//!
//! The numbers come from a separate program that reads the text of `otf2-print` and the JSON, and matches barriers by
//! their order, locks by the order of acquisition and launches by correlation.

use crate::common::corpus;
use perf_core::{AttributeId, CollectiveOp, Job, LocationId, Members, Nanos, Trace, Value};
use perf_wait::activity::Activities;
use perf_wait::critical::{CriticalPath, Extent};
use perf_wait::delay::DelayCosts;
use perf_wait::device_collectives::{DeviceCollective, DeviceCollectives, LateReason};
use perf_wait::efficiency::{Efficiencies, HybridEfficiencies, IdealNetwork};
use perf_wait::findings::{FindingKind, FindingsPlan};
use perf_wait::waits::{Pattern, WaitStates};
use perf_wait::whatif::{Dependency, WhatIf};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Ticks by the key of the location.
type Sums = &'static [(u64, u64)];
/// Ticks by the name of the stream.
type StreamSums = &'static [(&'static str, u64)];

fn read(trace: &Trace) -> (Activities, WaitStates) {
    let activities = Activities::of(trace.view(), &Job::default()).expect("it can be read");
    let waits = WaitStates::of_activities(&activities, &Job::default()).expect("likewise");
    (activities, waits)
}

/// Returns the ticks of a kind by the key of the location.
fn by_key(trace: &Trace, waits: &WaitStates, pattern: Pattern) -> BTreeMap<u64, u64> {
    let mut sums = BTreeMap::new();
    for state in waits.states().iter().filter(|it| it.pattern == pattern) {
        let location = trace.definitions().system.location(state.call.location);
        *sums.entry(location.expect("it exists").key).or_default() += state.ticks;
    }
    sums
}

/// Checks the laws of delays, critical path and replay.
fn check_laws(trace: &Trace, activities: &Activities, waits: &WaitStates) {
    let job = Job::default();
    let delays = DelayCosts::of(trace.view(), activities, waits, &job).expect("there are delays");
    let costs: f64 = delays.costs().iter().map(|it| it.short + it.long).sum();
    let waiting: u64 = waits
        .states()
        .iter()
        .filter(|it| it.pattern.is_waiting())
        .map(|it| it.ticks)
        .sum();
    assert!((costs - waiting as f64).abs() <= waiting as f64 * 1e-6);
    let path = CriticalPath::of(trace.view(), activities, waits, Extent::Run, &job);
    let (begin, end) = activities.range().expect("there are events");
    assert_eq!(path.expect("there is one").ticks(), end.0 - begin.0);
    for state in waits.states() {
        let call = activities.call(state.call).expect("it exists");
        let is_within = state.start >= call.enter && state.start.0 + state.ticks <= call.leave.0;
        assert!(
            is_within || !state.pattern.is_waiting(),
            "{state:?} {call:?}"
        );
    }
}

#[test]
fn threads_wait_as_an_independent_program_finds() {
    let expected: [(&str, [Sums; 3]); 2] = [
        (
            "casita-2_jacobi_blame_cpu_015",
            [
                &[
                    (0, 8544930),
                    (1, 6054864),
                    (4294967296, 6931253),
                    (4294967297, 4064267),
                    (8589934592, 5808407),
                    (8589934593, 25998014),
                    (12884901888, 24782442),
                    (12884901889, 28375748),
                ],
                &[
                    (4294967296, 1198606125),
                    (4294967297, 1205056845),
                    (8589934592, 1198707101),
                    (8589934593, 1204320039),
                    (12884901888, 1198524503),
                    (12884901889, 1204894680),
                ],
                &[
                    (0, 72008),
                    (1, 49180),
                    (4294967296, 74709),
                    (4294967297, 31417),
                    (8589934592, 84353),
                    (8589934593, 39905),
                    (12884901888, 5364),
                    (12884901889, 42544),
                ],
            ],
        ),
        (
            "casita-2_cuda_simple",
            [
                &[
                    (0, 84269),
                    (1, 2570560),
                    (4294967296, 115745),
                    (4294967297, 582360),
                ],
                &[(4294967296, 636008501), (4294967297, 633997478)],
                &[(0, 2247), (4294967296, 31128)],
            ],
        ),
    ];
    for (name, sums) in expected {
        let Some(trace) = corpus(&format!("otf2/{name}/traces.otf2")) else {
            return;
        };
        let (activities, waits) = read(&trace);
        let kinds = [
            Pattern::TeamBarrierWait,
            Pattern::IdleThread,
            Pattern::LockContention,
        ];
        for (kind, expected) in kinds.into_iter().zip(sums) {
            let expected: BTreeMap<u64, u64> = expected.iter().copied().collect();
            assert_eq!(by_key(&trace, &waits, kind), expected, "{name} {kind:?}");
        }
        check_laws(&trace, &activities, &waits);
        let none: &[Dependency] = &[];
        let whatif = WhatIf::of(trace.view(), &activities, none, &Job::default());
        let answer = whatif
            .expect("it can be replayed")
            .ask(&[], &Job::default());
        let answer = answer.expect("it can be replayed");
        assert_eq!(answer.identity, answer.recorded);
        // The MPI calls alone wait as before.
        let mpi = Activities::of_mpi(trace.view(), &Job::default()).expect("it can be read");
        let mpi = WaitStates::of_activities(&mpi, &Job::default()).expect("likewise");
        for kind in Pattern::ALL.into_iter().filter(|kind| !kind.is_local()) {
            assert_eq!(mpi.total(kind), waits.total(kind), "{name} {kind:?}");
        }
    }
}

#[test]
fn threads_that_stay_in_a_barrier_until_the_next_fork_are_idle() {
    let Some(trace) = corpus("otf2/eztrace-heat4-ompt/eztrace_log.otf2") else {
        return;
    };
    let (activities, waits) = read(&trace);
    let idle = by_key(&trace, &waits, Pattern::IdleThread);
    // All workers, and no thread that forks.
    assert_eq!(idle.len(), 8);
    assert!(
        ![0, 536870911, 1073741822, 1610612733]
            .iter()
            .any(|key| idle.contains_key(key))
    );
    check_laws(&trace, &activities, &waits);
}

#[test]
fn accelerators_wait_as_an_independent_program_finds() {
    let expected: [(&str, StreamSums, u64, u64); 3] = [
        (
            "param/dlrm_kineto/worker4_step_12.1694128201547.pt.trace.json",
            &[
                ("stream 22", 1589000),
                ("stream 24", 1103000),
                ("stream 7", 5150000),
                ("stream 84", 633000),
            ],
            3847000,
            19983000,
        ),
        (
            "hta/tests/data/nccl_parser_config/nccl_data.json.gz",
            &[("stream 40", 3578847), ("stream 7", 503117205)],
            0,
            95425872,
        ),
        (
            "tracelens/tests/traces/mi300/facebook_timesformer-base-finetuned-k400__1016002.json.gz",
            &[("stream 0", 270045177)],
            96039020,
            20304804745,
        ),
    ];
    for (name, idle, host, queueing) in expected {
        let Some(trace) = corpus(&format!("gpu/{name}")) else {
            return;
        };
        let (activities, waits) = read(&trace);
        let mut found: BTreeMap<&str, u64> = BTreeMap::new();
        let states = waits.states().iter();
        for state in states.filter(|it| it.pattern == Pattern::DeviceIdle) {
            let location = trace.definitions().system.location(state.call.location);
            *found.entry(&location.expect("it exists").name).or_default() += state.ticks;
        }
        assert_eq!(found, idle.iter().copied().collect(), "{name}");
        assert_eq!(waits.total(Pattern::HostWait), host, "{name}");
        assert_eq!(waits.total(Pattern::Queueing), queueing, "{name}");
        check_laws(&trace, &activities, &waits);
    }
}

#[test]
fn late_launches_are_the_first_finding_where_the_device_is_idle() {
    let Some(trace) = corpus("gpu/param/linear_kineto.json.gz") else {
        return;
    };
    let (activities, waits) = read(&trace);
    let job = Job::default();
    let delays = DelayCosts::of(trace.view(), &activities, &waits, &job).expect("likewise");
    let plan = FindingsPlan::default();
    let found = plan.find(trace.view(), &activities, &waits, &delays, &job);
    let found = found.expect("it can be replayed");
    let first = &found.findings[0];
    println!("{}", first.text(trace.definitions(), &activities));
    let FindingKind::HostWork { path, .. } = first.kind else {
        panic!("{first:?}");
    };
    let name = activities.paths().name(path, &trace.definitions().regions);
    assert_eq!(name, "aten::linear > aten::addmm > cudaFree");
    assert_eq!(first.cost, Nanos(1_498_634_000));
}

#[test]
fn efficiencies_of_threads_and_devices_are_products() {
    for name in ["casita-2_jacobi_blame_cpu_015", "casita-2_cuda_simple"] {
        let Some(trace) = corpus(&format!("otf2/{name}/traces.otf2")) else {
            return;
        };
        let found = HybridEfficiencies::of(trace.view(), &Job::default()).expect("there are calls");
        for (row, value) in [
            ("hybrid", found.hybrid_efficiency()),
            ("process", found.process_efficiency()),
            ("thread", found.thread_efficiency()),
            ("thread balance", found.thread_load_balance()),
            (
                "thread communication",
                found.thread_communication_efficiency(),
            ),
            ("offload", found.offload_efficiency()),
            ("device", found.device_efficiency()),
            ("device balance", found.device_load_balance()),
            (
                "device communication",
                found.device_communication_efficiency(),
            ),
            (
                "device orchestration",
                found.device_orchestration_efficiency(),
            ),
        ] {
            println!("{name} {row} {value:.4}");
            assert!(value > 0.0 && value <= 1.000001, "{row} {value}");
        }
        let product = found.device_load_balance()
            * found.device_communication_efficiency()
            * found.device_orchestration_efficiency();
        assert!((product - found.device_efficiency()).abs() < 1e-12);
        assert_eq!((found.processes.len(), found.devices.len()), (2, 2));
        // The useful time of processes is the same as that of the MPI efficiencies.
        let mpi = Efficiencies::of(trace.view(), &IdealNetwork::default(), &Job::default());
        let mpi = mpi.expect("it can be replayed");
        println!("{name} MPI {:.4}", mpi.parallel_efficiency());
        assert!((mpi.parallel_efficiency() - found.process_efficiency()).abs() < 1e-3);
    }
}

/// Returns the files of four of eight ranks of a training job.
fn four_files() -> Option<Vec<PathBuf>> {
    let names = [
        "worker0_step_12.1694128201545",
        "worker2_step_12.1694128201554",
        "worker4_step_12.1694128201547",
        "worker6_step_12.1694128201553",
    ];
    let path = |name| {
        let relative = format!("gpu/param/dlrm_kineto/{name}.pt.trace.json");
        perf_testdata::corpus::corpus(&relative)
    };
    names.into_iter().map(path).collect()
}

/// Reads the ranks of a job.
fn job_of(paths: &[PathBuf]) -> Trace {
    let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
    let options = perf_formats::OpenOptions::new();
    let recording = perf_formats::chrome::open(&paths, &options, &Job::default());
    let trace = recording.expect("it can be read").into_trace();
    trace.expect("it has events")
}

/// Reads four of eight ranks of a training job.
fn four_ranks() -> Option<Trace> {
    four_files().map(|files| job_of(&files))
}

#[test]
fn broadcasts_of_accelerators_wait_like_reductions_to_all() {
    let Some(files) = four_files() else {
        return;
    };
    // The same kernels under another name: the root is not recorded.
    let folder = std::env::temp_dir().join(format!("perf-wait-broadcasts-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    let renamed = files.iter().map(|file| {
        let text = std::fs::read_to_string(file).expect("it can be read");
        let text = text
            .replace("AllReduce", "Broadcast")
            .replace("allreduce", "broadcast")
            .replace("all_reduce", "broadcast");
        let to = folder.join(file.file_name().expect("it has a name"));
        std::fs::write(&to, text).expect("it can be written");
        to
    });
    let renamed: Vec<PathBuf> = renamed.collect();
    let operations = |files: &[PathBuf]| {
        let trace = job_of(files);
        let (activities, waits) = read(&trace);
        check_laws(&trace, &activities, &waits);
        let found = DeviceCollectives::of(trace.view(), &activities, &waits, &Job::default());
        found.expect("it can be read").operations
    };
    let (recorded, broadcasts) = (operations(&files), operations(&renamed));
    std::fs::remove_dir_all(&folder).expect("it can be removed");
    assert_eq!(recorded.len(), broadcasts.len());
    for (own, other) in recorded.iter().zip(&broadcasts) {
        let op = match own.op {
            CollectiveOp::Allreduce => CollectiveOp::Bcast,
            op => op,
        };
        assert_eq!((op, own.late, own.lost), (other.op, other.late, other.lost));
    }
    assert!(
        broadcasts
            .iter()
            .any(|it| it.op == CollectiveOp::Bcast && it.lost > Nanos(0))
    );
}

#[test]
fn ranks_that_arrive_late_at_collectives_of_accelerators_are_found() {
    let Some(trace) = four_ranks() else {
        return;
    };
    let (activities, waits) = read(&trace);
    let job = Job::default();
    let found = DeviceCollectives::of(trace.view(), &activities, &waits, &job);
    let found = found.expect("it can be read");
    let rank = |it: &DeviceCollective| {
        let location = trace.definitions().system.location(it.late);
        let rank = location.and_then(|it| it.properties.get("rank").map(str::to_owned));
        rank.expect("it has one")
    };
    let micros = |time: Nanos| time.0 / 1_000;
    let operations = found.operations.iter();
    let operations: Vec<_> = operations
        .map(|it| (it.op, micros(it.skew), rank(it), micros(it.lost), it.reason))
        .collect();
    let of = |op, skew, rank: &str, lost, reason| (op, skew, rank.to_owned(), lost, reason);
    use CollectiveOp::{Allreduce, Alltoall};
    use LateReason::{Collective, Host};
    let expected = [
        of(Alltoall, 4367, "6", 6000, Host),
        of(Alltoall, 592, "2", 1110, Host),
        of(Alltoall, 5, "4", 12, Host),
        of(Alltoall, 1, "0", 1, Collective),
        of(Allreduce, 150, "4", 375, Host),
        of(Alltoall, 451, "4", 1280, Host),
        of(Allreduce, 533, "4", 1568, Host),
        of(Allreduce, 885, "4", 2582, Host),
    ];
    assert_eq!(operations, expected);
    let exposed: Vec<i64> = found.devices.iter().map(|it| micros(it.exposed)).collect();
    assert_eq!(exposed, [5537, 3217, 6550, 3289]);
    assert_eq!(found.table(&activities).rows(), 8);
    assert_eq!(found.devices_table(&activities).rows(), 4);
    check_laws(&trace, &activities, &waits);

    let delays = DelayCosts::of(trace.view(), &activities, &waits, &job).expect("likewise");
    let plan = FindingsPlan::default();
    let findings = plan.find(trace.view(), &activities, &waits, &delays, &job);
    let findings = findings.expect("it can be replayed").findings;
    for it in &findings {
        println!("{}", it.text(trace.definitions(), &activities));
    }
    let FindingKind::LateRank { location, reason } = findings[0].kind else {
        panic!("{:?}", findings[0]);
    };
    let label = trace.definitions().system.label(location);
    assert_eq!((label.as_str(), reason), ("rank 4, GPU 4, stream 84", Host));
}

#[test]
fn groups_and_bytes_of_collectives_are_kept() {
    let Some(trace) = corpus("gpu/hta/tests/data/nccl_parser_config/nccl_data.json.gz") else {
        return;
    };
    let definitions = trace.definitions();
    let name = |id: AttributeId| definitions.attributes[id.index()].name.as_str();
    let mut found = Vec::new();
    for events in trace.events() {
        for index in 0..events.len() {
            let values: BTreeMap<&str, Value> = events
                .attributes(index)
                .map(|it| (name(it.attribute), it.value))
                .collect();
            if values.contains_key("collective") {
                found.push(values);
            }
        }
    }
    // 21 operations, each as a call of the host and as a kernel.
    assert_eq!(found.len(), 42);
    let allreduce = found.iter().find(|it| it["collective"] == Value::U64(11));
    let allreduce = allreduce.expect("there is one");
    assert_eq!(allreduce["sent"], Value::U64(2_049_000 * 4));
    assert_eq!(allreduce["received"], allreduce["sent"]);
    let Value::U64(group) = allreduce["group"] else {
        panic!("{allreduce:?}");
    };
    let comm = &definitions.comms[group as usize];
    assert_eq!(comm.name, "process group 0");
    assert_eq!(
        comm.members,
        Members::Ranks(vec![Some(LocationId(0)), None])
    );
}

#[test]
fn devices_without_launches_do_not_keep_the_run_as_long() {
    let Some(trace) = corpus("otf2/casita-1_xeonphi_jacobi_01/traces.otf2") else {
        return;
    };
    let job = Job::default();
    let (activities, waits) = read(&trace);
    let delays = DelayCosts::of(trace.view(), &activities, &waits, &job).expect("there are delays");
    let plan = FindingsPlan::default();
    let found = plan.find(trace.view(), &activities, &waits, &delays, &job);
    let found = found.expect("it can be replayed");
    // Two threads share 9.976 s of overhead of one of them.
    let first = &found.findings[0];
    assert!(
        matches!(first.kind, FindingKind::Serial { .. }),
        "{first:?}"
    );
    assert!(
        (first.saved.0 - 4_988_000_000).abs() < 5_000_000,
        "{first:?}"
    );
}
