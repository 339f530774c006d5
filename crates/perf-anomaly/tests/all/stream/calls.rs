//! Conversion of events to calls, case by case.

use perf_anomaly::calls::{Calls, CallsParams, ModelBy, Repair, Runtime};
use perf_core::{EventSink, Nanos, Peer, RegionId, StreamEvent, StreamId, StreamKey, Value};

fn key(thread: u32) -> StreamKey {
    StreamKey {
        program: 0,
        rank: 0,
        thread,
    }
}

fn calls(params: CallsParams) -> Calls {
    Calls::new(params.check().expect("values in range"))
}

fn enter(calls: &mut Calls, stream: StreamId, at: i64, name: &str) {
    let region = calls.region(0, name);
    calls.push(stream, Nanos(at), StreamEvent::Enter(region));
}

fn exit(calls: &mut Calls, stream: StreamId, at: i64, name: &str) {
    let region = calls.region(0, name);
    calls.push(stream, Nanos(at), StreamEvent::Exit(region));
}

fn counter(calls: &mut Calls, stream: StreamId, at: i64, name: &str, value: u64) {
    let counter = calls.counter(name);
    calls.push(
        stream,
        Nanos(at),
        StreamEvent::Counter(counter, Value::U64(value)),
    );
}

fn send(calls: &mut Calls, stream: StreamId, at: i64) {
    calls.push(
        stream,
        Nanos(at),
        StreamEvent::Send(Peer {
            rank: 1,
            tag: 2,
            bytes: 8,
        }),
    );
}

/// Parent [99, 191], child [120, 180]; a counter on another thread belongs to neither.
#[test]
fn messages_and_counters_belong_to_the_innermost_call() {
    let mut calls = calls(Calls::params());
    let (thread, other) = (calls.stream(key(0)), calls.stream(key(1)));
    // The three kinds come one after the other, as in a step of a TAU stream.
    enter(&mut calls, thread, 99, "parent");
    enter(&mut calls, thread, 120, "child");
    exit(&mut calls, thread, 180, "child");
    exit(&mut calls, thread, 191, "parent");
    for at in [100, 120, 130, 140, 180] {
        counter(&mut calls, thread, at, "c", 1);
    }
    counter(&mut calls, other, 130, "c", 1);
    for at in [110, 150, 160, 190] {
        send(&mut calls, thread, at);
    }
    calls.end_step(0);
    let [child, parent] = calls.batch().calls() else {
        panic!()
    };
    let times = |call| {
        calls
            .messages(call)
            .iter()
            .map(|(at, ..)| at.0)
            .collect::<Vec<_>>()
    };
    let counts = |call| {
        calls
            .counters(call)
            .iter()
            .map(|(at, ..)| at.0)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (times(child), times(parent)),
        (vec![150, 160], vec![110, 190])
    );
    assert_eq!(
        (counts(child), counts(parent)),
        (vec![120, 130, 140, 180], vec![100])
    );
    assert_eq!((child.messages, child.counters), (2, 4));
    assert_eq!(
        (parent.messages, parent.counters, parent.children),
        (2, 1, 1)
    );
    assert_eq!(
        (parent.exclusive, parent.inclusive()),
        (Nanos(32), Nanos(92))
    );
    // The counter on the other thread waits for a call there, and at the end has none.
    assert_eq!(calls.health().outside, 0);
    calls.finish();
    assert_eq!(calls.health().outside, 1);
    assert!(calls.health().is_sound());
}

#[test]
fn wrong_exits_and_names_are_counted_and_never_fatal() {
    for repair in [Repair::Mend, Repair::Strict] {
        let mut calls = calls(Calls::params().repair(repair));
        let thread = calls.stream(key(0));
        exit(&mut calls, thread, 1, "f");
        enter(&mut calls, thread, 2, "f");
        exit(&mut calls, thread, 3, "g");
        exit(&mut calls, thread, 4, "f");
        calls.push(thread, Nanos(5), StreamEvent::Enter(RegionId(99)));
        let unknown = StreamEvent::Counter(perf_core::MetricId(9), Value::U64(0));
        calls.push(thread, Nanos(5), unknown);
        calls.push(StreamId(7), Nanos(5), StreamEvent::Enter(RegionId(0)));
        calls.end_step(0);
        let health = calls.health();
        assert_eq!(
            (health.empty_stack, health.wrong_exit, health.calls),
            (1, 1, 1)
        );
        assert_eq!((health.unknown_region, health.unknown_counter), (1, 1));
        assert_eq!(health.unknown_stream, 1);
        assert_eq!(calls.batch().calls()[0].exit, Nanos(4));
        let names: Vec<_> = health.faults().map(|(name, _)| name).collect();
        assert!(names.contains(&"exit-on-empty-stack"), "{names:?}");
    }
}

#[test]
fn a_wrong_exit_pops_to_the_matching_call() {
    let mut calls = calls(Calls::params());
    let thread = calls.stream(key(0));
    enter(&mut calls, thread, 0, "main");
    enter(&mut calls, thread, 10, "solve");
    enter(&mut calls, thread, 20, "dot");
    exit(&mut calls, thread, 50, "main");
    calls.end_step(0);
    let batch = calls.batch().calls();
    let early: Vec<_> = batch
        .iter()
        .map(|call| call.flags.closed_by_outer())
        .collect();
    assert_eq!(early, [true, true, false]);
    assert_eq!(batch[2].exclusive, Nanos(10));
    let health = calls.stream_health(thread).expect("it is there");
    assert_eq!((health.nearest, health.implicit), (1, 2));
}

/// `work` was left under a wrong name: the region entered next is one that `main` calls.
#[test]
fn an_exit_under_a_wrong_name_is_found_by_later_events() {
    let mut calls = calls(Calls::params());
    let thread = calls.stream(key(0));
    enter(&mut calls, thread, 0, "main");
    for (at, name) in [(10, "next"), (20, "work"), (30, "next")] {
        enter(&mut calls, thread, at, name);
        let left = if at == 20 { "alien" } else { name };
        exit(&mut calls, thread, at + 5, left);
    }
    exit(&mut calls, thread, 90, "main");
    calls.finish();
    let batch = calls.batch().calls();
    assert_eq!(batch.len(), 4);
    assert!(batch.iter().all(|call| call.depth <= 1));
    let renamed: Vec<_> = batch
        .iter()
        .filter(|call| call.flags.closed_by_other_name())
        .collect();
    assert_eq!((renamed.len(), renamed[0].exit), (1, Nanos(25)));
    assert_eq!(calls.health().renamed, 1);
    assert_eq!(batch[3].exclusive, Nanos(75));
}

#[test]
fn open_calls_are_closed_and_marked_at_the_end() {
    let open = |repair| {
        let mut calls = calls(Calls::params().repair(repair));
        let thread = calls.stream(key(0));
        enter(&mut calls, thread, 0, "main");
        enter(&mut calls, thread, 10, "solve");
        send(&mut calls, thread, 70);
        calls.end_step(0);
        assert!(calls.batch().is_empty());
        assert_eq!(calls.open(thread).count(), 2);
        calls.finish();
        let ends = calls
            .batch()
            .calls()
            .iter()
            .map(|call| (call.exit.0, call.flags.closed_at_end()));
        (ends.collect::<Vec<_>>(), calls.health().open_at_end)
    };
    assert_eq!(open(Repair::Mend), (vec![(70, true), (70, true)], 2));
    assert_eq!(open(Repair::Strict), (vec![], 2));
}

#[test]
fn time_that_goes_back_is_sorted_in_a_step_and_held_between_steps() {
    let mut calls = calls(Calls::params());
    let thread = calls.stream(key(0));
    enter(&mut calls, thread, 50, "b");
    exit(&mut calls, thread, 60, "b");
    enter(&mut calls, thread, 10, "a");
    exit(&mut calls, thread, 90, "a");
    enter(&mut calls, thread, 100, "c");
    calls.end_step(0);
    let a = calls.batch().calls()[1];
    assert_eq!((a.exclusive, a.children), (Nanos(70), 1));
    // Indices of events are those of the sorted step.
    assert_eq!(calls.event_id(&a), "0:0:0");
    exit(&mut calls, thread, 95, "c");
    counter(&mut calls, thread, 96, "x", 1);
    calls.end_step(1);
    let c = calls.batch().calls()[0];
    assert_eq!((c.entry, c.exit, c.step), (Nanos(100), Nanos(100), 0));
    let health = calls.health();
    assert_eq!(
        (health.out_of_order, health.late, health.backwards),
        (1, 1, 1)
    );
}

#[test]
fn messages_of_the_end_of_a_step_may_belong_to_a_call_of_the_next() {
    let mut calls = calls(Calls::params());
    let thread = calls.stream(key(0));
    enter(&mut calls, thread, 0, "main");
    send(&mut calls, thread, 30);
    calls.end_step(0);
    enter(&mut calls, thread, 20, "inner");
    exit(&mut calls, thread, 40, "inner");
    send(&mut calls, thread, 10);
    calls.end_step(1);
    assert_eq!(calls.batch().calls()[0].messages, 1);
    exit(&mut calls, thread, 50, "main");
    calls.end_step(2);
    assert_eq!(calls.batch().calls()[0].messages, 1);
    assert_eq!(calls.messages(&calls.batch().calls()[0])[0].0, Nanos(10));
}

#[test]
fn monitoring_counters_tell_of_the_node() {
    let mut calls = calls(Calls::params().watch([("freq", "MHz")]));
    let thread = calls.stream(key(0));
    enter(&mut calls, thread, 0, "main");
    counter(&mut calls, thread, 5, "monitoring: load", 3);
    counter(&mut calls, thread, 7, "freq", 2000);
    counter(&mut calls, thread, 6, "freq", 1000);
    counter(&mut calls, thread, 8, "bytes", 1);
    exit(&mut calls, thread, 9, "main");
    calls.end_step(0);
    assert_eq!(calls.batch().calls()[0].counters, 1);
    let state = calls.node_state(0, 0).expect("it is there");
    let fields = state
        .values()
        .iter()
        .map(|(id, at, value)| (calls.node_field(*id).expect("it is there"), at.0, *value));
    let expected = [("load", 5, Value::U64(3)), ("MHz", 7, Value::U64(2000))];
    assert_eq!(fields.collect::<Vec<_>>(), expected);
    assert_eq!(state.at(), Some(Nanos(7)));
}

/// Work of an accelerator and its launch are connected in either order; a launch may have several
/// work items, and those without a partner are dropped in the end.
#[test]
fn accelerators_are_tied_to_their_launches() {
    for late in [false, true] {
        let mut calls = calls(Calls::params().pending(8));
        let (host, gpu) = (calls.stream(key(0)), calls.stream(key(5)));
        calls.metadata(gpu, "CUDA Stream", "7");
        assert!(calls.is_gpu(gpu) && !calls.is_gpu(host));
        for step in 0..2 {
            if (step == 0) != late {
                enter(&mut calls, host, 10, "main");
                enter(&mut calls, host, 12, "launch");
                counter(&mut calls, host, 13, "Correlation ID", 77);
                exit(&mut calls, host, 14, "launch");
            } else {
                // The second call begins when the first one ends: the second id belongs to it.
                enter(&mut calls, gpu, 20, "kernel");
                counter(&mut calls, gpu, 20, "Correlation ID", 77);
                exit(&mut calls, gpu, 30, "kernel");
                enter(&mut calls, gpu, 30, "copy");
                counter(&mut calls, gpu, 30, "Correlation ID", 77);
                exit(&mut calls, gpu, 40, "copy");
            }
            calls.end_step(step);
        }
        let links = calls.batch().links();
        assert_eq!(links.len(), 2, "late {late}");
        assert_eq!(links[0].work.stream, gpu);
        assert_eq!(links[0].launch.call.stream, host);
        let names: Vec<_> = calls
            .path(links[1].launch.path)
            .iter()
            .map(|id| calls.region_name(*id).expect("it is there").1)
            .collect();
        assert_eq!(names, ["main", "launch"]);
        assert_eq!(
            calls
                .launch(links[1].work)
                .expect("it is there")
                .correlation,
            77
        );
        assert_eq!(calls.health().extra_correlation, 0);
        for id in 100..120 {
            enter(&mut calls, gpu, 50 + id, "kernel");
            counter(&mut calls, gpu, 50 + id, "Correlation ID", id as u64);
            exit(&mut calls, gpu, 50 + id, "kernel");
        }
        calls.end_step(2);
        assert_eq!(calls.health().unmatched_gpu, 12);
        calls.finish();
        assert_eq!(calls.health().unmatched_gpu, 20);
        assert_eq!(calls.health().unmatched_launch, 0);
    }
}

#[test]
fn models_are_shared_by_ranks_and_may_be_of_a_call_path() {
    let run = |model| {
        let mut calls = calls(Calls::params().model_by(model).runtime(Runtime::Inclusive));
        for rank in [1, 0] {
            let stream = calls.stream(StreamKey {
                program: 0,
                rank,
                thread: 0,
            });
            enter(&mut calls, stream, 0, "a");
            enter(&mut calls, stream, 1, "dot");
            exit(&mut calls, stream, 2, "dot");
            exit(&mut calls, stream, 3, "a");
            enter(&mut calls, stream, 4, "dot");
            exit(&mut calls, stream, 6, "dot");
        }
        calls.end_step(0);
        let samples = calls.batch().samples().iter();
        let said = samples.map(|sample| {
            (
                calls.function_name(sample.function),
                sample.runtime.0,
                sample.first,
            )
        });
        let ranks = calls
            .batch()
            .calls()
            .iter()
            .map(|call| calls.stream_key(call.stream).expect("it is there").rank);
        assert_eq!(ranks.collect::<Vec<_>>(), [0, 0, 0, 1, 1, 1]);
        said.take(3).collect::<Vec<_>>()
    };
    let own = |name: &str, time, first| (name.to_owned(), time, first);
    assert_eq!(
        run(ModelBy::Function),
        [own("dot", 1, true), own("a", 3, true), own("dot", 2, false)]
    );
    assert_eq!(
        run(ModelBy::CallPath),
        [
            own("a / dot", 1, true),
            own("a", 3, true),
            own("dot", 2, true)
        ]
    );
}

#[test]
fn corrupt_numbers_of_streams_are_refused() {
    let mut calls = calls(Calls::params().only_rank(3).streams(2));
    let ok = calls.stream(StreamKey {
        program: 0,
        rank: 3,
        thread: 0,
    });
    for (program, rank, thread) in [(2_000_000, 3, 0), (0, 4, 0), (0, 3, 1_000_001)] {
        let bad = calls.stream(StreamKey {
            program,
            rank,
            thread,
        });
        enter(&mut calls, bad, 0, "f");
    }
    enter(&mut calls, ok, 0, "f");
    exit(&mut calls, ok, 1, "f");
    calls.end_step(0);
    let health = calls.health();
    assert_eq!(
        (health.corrupt_stream, health.corrupt_event, health.calls),
        (3, 3, 1)
    );
    assert!(Calls::params().pending(0).check().is_err());
}

/// Memory does not grow with the number of steps, for any defects.
#[test]
fn memory_depends_on_the_longest_step() {
    let mut calls = calls(Calls::params().depth(50).paths(20).pending(10).notes(16));
    let (thread, gpu) = (calls.stream(key(0)), calls.stream(key(1)));
    calls.metadata(gpu, "CUDA Device", "0");
    let mut most = 0;
    for step in 0..2_000 {
        for (k, name) in ["a", "b", "c", "b"].into_iter().enumerate() {
            let at = step * 100 + 10 * k as i64;
            // Exits are missing, so the stack grows.
            enter(&mut calls, thread, at, name);
            send(&mut calls, thread, at + 1);
            enter(&mut calls, gpu, at, name);
            counter(&mut calls, gpu, at, "Correlation ID", at as u64);
            exit(&mut calls, gpu, at + 5, name);
        }
        // There are no calls on this thread: its counters wait in vain.
        let lonely = calls.stream(key(2));
        counter(&mut calls, lonely, step, "x", 1);
        calls.end_step(step as u64);
        if step < 200 {
            most = most.max(calls.memory());
        }
        assert!(calls.memory() <= most, "step {step}");
        assert!(calls.pending() <= 20);
    }
    let health = calls.health();
    assert!(health.too_deep > 0 && health.path_limit > 0, "{health:?}");
    assert!(health.unmatched_gpu > 7_900 - 10);
}

/// Two programs of a workflow each have a rank 0, and a function of the same name.
#[test]
fn programs_are_distinguished() {
    let mut calls = calls(Calls::params());
    for program in [0, 3] {
        let stream = calls.stream(StreamKey {
            program,
            ..StreamKey::default()
        });
        let region = calls.region(program, "solve");
        calls.push(stream, Nanos(5), StreamEvent::Enter(region));
        calls.push(stream, Nanos(9), StreamEvent::Exit(region));
    }
    calls.end_step(7);
    let batch = calls.batch();
    let ids: Vec<_> = batch
        .calls()
        .iter()
        .map(|call| calls.event_id(call))
        .collect();
    assert_eq!(ids, ["0:7:0", "3:0:7:0"]);
    let models: Vec<_> = batch
        .samples()
        .iter()
        .map(|sample| sample.function)
        .collect();
    assert_ne!(models[0], models[1]);
    let programs = models.iter().map(|model| calls.function_program(*model));
    assert_eq!(programs.collect::<Vec<_>>(), [Some(0), Some(3)]);
}

/// On an accelerator thread of TAU, calls nest and may still overlap.
#[test]
fn calls_of_accelerators_end_alone() {
    let mut calls = calls(Calls::params());
    let gpu = calls.stream(key(5));
    calls.metadata(gpu, "CUDA Device", "0");
    for (at, name, is_exit) in [
        (0, ".TAU application", false),
        (10, "kernel", false),
        (20, "copy", false),
        (30, "kernel", true),
        (50, "copy", true),
        (60, "other", true),
        (90, ".TAU application", true),
    ] {
        if is_exit {
            exit(&mut calls, gpu, at, name)
        } else {
            enter(&mut calls, gpu, at, name)
        }
    }
    calls.end_step(0);
    let times: Vec<_> = calls
        .batch()
        .calls()
        .iter()
        .map(|call| (call.inclusive().0, call.flags.closed_early()))
        .collect();
    assert_eq!(times, [(20, false), (30, false), (90, false)]);
    assert_eq!(
        calls.health().faults().collect::<Vec<_>>(),
        [("exit-of-other-region", 1)]
    );
}
