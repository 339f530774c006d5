//! An implausible time affects only its own event.

use perf_anomaly::calls::{Call, Calls, CallsParams, Repair};
use perf_anomaly::{Monitor, Sstd, Tail, Watch};
use perf_core::{EventSink, Nanos, StreamEvent, StreamKey, Value};
use proptest::prelude::*;

const SECOND: i64 = 1_000_000_000;
/// Current time on a real clock.
const ORIGIN: i64 = 1_559_662_194 * SECOND;

fn sink(params: CallsParams) -> Calls {
    Calls::new(params.check().unwrap())
}

/// Returns calls of `work` in `main`, 40 in each step of 1 s: time and `true` for an exit, event by
/// event.
fn regular(steps: i64) -> Vec<(i64, bool)> {
    (0..40 * steps)
        .flat_map(|at| {
            let begin = ORIGIN + at * SECOND / 40;
            [(begin, false), (begin + 10_000_000 + at % 7 * 1000, true)]
        })
        .collect()
}

/// Pushes enters and exits of `work`, `of_step` in each step, and returns all completed calls.
fn run(events: &[(i64, bool)], of_step: usize, params: CallsParams) -> (Vec<Call>, Calls) {
    let mut calls = sink(params);
    let stream = calls.stream(StreamKey::default());
    let work = calls.region(0, "work");
    let mut all = Vec::new();
    for (step, events) in events.chunks(of_step).enumerate() {
        for (at, is_exit) in events {
            let event = if *is_exit {
                StreamEvent::Exit(work)
            } else {
                StreamEvent::Enter(work)
            };
            calls.push(stream, Nanos(*at), event);
        }
        calls.end_step(step as u64);
        all.extend_from_slice(calls.batch().calls());
    }
    calls.finish();
    all.extend_from_slice(calls.batch().calls());
    (all, calls)
}

/// A single wrong event, anywhere and of any kind, leaves the run time of all other calls
/// unchanged.
#[test]
fn one_wrong_time_affects_one_call() {
    let events = regular(5);
    let usual = run(&events, 80, Calls::params()).0;
    let last = events.len() - 1;
    let places = [
        0,
        1,
        2,
        41,
        78,
        79,
        80,
        81,
        157,
        158,
        159,
        160,
        last - 2,
        last - 1,
        last,
    ];
    let wrong = [
        0,
        5,
        -7 * SECOND,
        ORIGIN + 3600 * SECOND,
        ORIGIN + 100 * 86_400 * SECOND,
        i64::MAX,
        i64::MIN + 1,
    ];
    for place in places {
        for time in wrong {
            let mut damaged = events.clone();
            damaged[place].0 = time;
            let (calls, sink) = run(&damaged, 80, Calls::params());
            let health = sink.health();
            let what = format!("event {place} at {time}: {health:?}");
            assert_eq!(calls.len(), usual.len(), "{what}");
            let same = calls.iter().zip(&usual);
            let differ: Vec<_> = same
                .filter(|(one, other)| one.inclusive() != other.inclusive())
                .map(|(one, _)| (one.number, one.inclusive().0))
                .collect();
            assert!(differ.len() <= 1, "{what}: {differ:?}");
            // An hour after the last event, or before all others, may be correct; other times are
            // not.
            let is_hour = time == ORIGIN + 3600 * SECOND && place == last;
            let most = if is_hour { 3600 * SECOND } else { SECOND };
            assert!(
                differ.iter().all(|(_, time)| *time <= most),
                "{what}: {differ:?}"
            );
            assert_eq!(health.wrong_time, u64::from(!is_hour), "{what}");
            assert_eq!((health.late, health.clock_back), (0, 0), "{what}");
        }
    }
}

#[test]
fn a_real_gap_stays_wherever_it_is() {
    let events = regular(4);
    for gap in [30 * SECOND, 3600 * SECOND, 30 * 86_400 * SECOND] {
        for place in [3, 40, 79, 80, 81, 159, 160, 200] {
            let mut paused = events.clone();
            paused[place..].iter_mut().for_each(|event| event.0 += gap);
            let (calls, sink) = run(&paused, 80, Calls::params());
            assert!(sink.health().is_sound(), "{place}: {:?}", sink.health());
            let sum: i64 = calls.iter().map(|call| call.inclusive().0).sum();
            let usual: i64 = run(&events, 80, Calls::params())
                .0
                .iter()
                .map(|it| it.inclusive().0)
                .sum();
            let inside = if events[place].1 { gap } else { 0 };
            assert_eq!(sum, usual + inside, "{place}");
        }
    }
    // At the ends a single event may be that far away, but not beyond the limit.
    for (place, gap, is_real) in [
        (events.len() - 1, 3600 * SECOND, true),
        (events.len() - 1, 2 * 86_400 * SECOND, false),
        (1, 3600 * SECOND, true),
        (1, 2 * 86_400 * SECOND, false),
    ] {
        let mut paused = events.clone();
        paused[place..].iter_mut().for_each(|event| event.0 += gap);
        let (calls, sink) = run(&paused, 80, Calls::params());
        assert_eq!(sink.health().is_sound(), is_real, "{place} {gap}");
        let longest = calls.iter().map(|call| call.inclusive().0).max().unwrap();
        assert_eq!(longest >= gap, is_real, "{place} {gap}");
    }
}

#[test]
fn several_wrong_times_in_a_row_and_a_clock_that_is_set_back() {
    let events = regular(6);
    let usual: Vec<i64> = run(&events, 80, Calls::params())
        .0
        .iter()
        .map(|it| it.inclusive().0)
        .collect();
    let mut damaged = events.clone();
    for place in [100, 101, 102] {
        damaged[place].0 += 77 * 86_400 * SECOND;
    }
    let (calls, sink) = run(&damaged, 80, Calls::params());
    assert_eq!(sink.health().wrong_time, 3);
    let same = calls
        .iter()
        .zip(&usual)
        .filter(|(one, usual)| one.inclusive().0 == **usual);
    assert_eq!(same.count(), usual.len() - 2);
    // The program restarts with another clock.
    let mut again = events.clone();
    again[240..].iter_mut().for_each(|event| event.0 -= ORIGIN);
    let (calls, sink) = run(&again, 80, Calls::params());
    assert_eq!((sink.health().clock_back, sink.health().wrong_time), (1, 0));
    assert!(
        calls
            .iter()
            .map(|it| it.inclusive().0)
            .eq(usual.iter().copied())
    );
    // Three wrong events at the end of a step cannot be distinguished from a gap; later events
    // decide.
    let mut damaged = events.clone();
    damaged[157..160]
        .iter_mut()
        .for_each(|event| event.0 += 3600 * SECOND);
    let (calls, sink) = run(&damaged, 80, Calls::params());
    assert_eq!((sink.health().clock_back, sink.health().late), (1, 0));
    let same = calls
        .iter()
        .zip(&usual)
        .filter(|(one, usual)| one.inclusive().0 == **usual);
    assert!(same.count() + 2 >= usual.len());
}

/// A step with few events waits for the next one only.
#[test]
fn waiting_events_keep_step_and_index_and_wait_for_one_step() {
    let mut calls = sink(Calls::params());
    let (stream, other) = (
        calls.stream(StreamKey::default()),
        calls.stream(StreamKey {
            thread: 1,
            ..StreamKey::default()
        }),
    );
    let (main, work) = (calls.region(0, "main"), calls.region(0, "work"));
    for at in 0..40 {
        calls.push(stream, Nanos(at * 10), StreamEvent::Enter(work));
        calls.push(stream, Nanos(at * 10 + 5), StreamEvent::Exit(work));
    }
    calls.push(stream, Nanos(100 * SECOND), StreamEvent::Enter(main));
    calls.end_step(0);
    assert_eq!((calls.batch().len(), calls.open(stream).count()), (40, 0));
    assert_eq!(calls.pending(), 1);
    calls.push(other, Nanos(101 * SECOND), StreamEvent::Enter(main));
    calls.end_step(1);
    let open: Vec<_> = calls
        .open(stream)
        .map(|call| calls.event_id(call))
        .collect();
    assert_eq!(open, ["0:0:80"]);
    calls.finish();
    // No event was pushed since: the rest belongs to that step.
    assert_eq!(calls.batch().step(), 1);
    assert!(calls.health().faults().eq([("open-at-end", 2)]));
}

/// Implausible times of messages and counters after the last exit do not end a call.
#[test]
fn a_wrong_time_of_a_message_or_counter_ends_no_call_and_stops_no_counter() {
    let mut calls = sink(Calls::params());
    let stream = calls.stream(StreamKey::default());
    let main = calls.region(0, "main");
    let (heap, load) = (calls.counter("heap"), calls.counter("monitoring: load"));
    let count = |calls: &mut Calls, counter, at, value| {
        calls.push(
            stream,
            Nanos(at),
            StreamEvent::Counter(counter, Value::U64(value)),
        );
    };
    calls.push(stream, Nanos(10), StreamEvent::Enter(main));
    count(&mut calls, heap, 20, 1);
    count(&mut calls, heap, i64::MAX, 2);
    count(&mut calls, load, i64::MAX, 3);
    calls.end_step(0);
    count(&mut calls, heap, 50, 4);
    count(&mut calls, load, 60, 5);
    calls.end_step(1);
    calls.finish();
    let [call] = calls.batch().calls() else {
        panic!()
    };
    assert_eq!((call.exit, call.counters), (Nanos(50), 3));
    assert_eq!(calls.health().wrong_time, 1);
    let state = calls.node_state(0, 0).unwrap();
    assert_eq!(state.values(), [(load, Nanos(60), Value::U64(5))]);
    assert_eq!(state.at(), Some(Nanos(60)));
}

/// The comparison with the original needs the original times.
#[test]
fn strict_repair_believes_all_times() {
    let mut events = regular(2);
    events[60].0 += 3600 * SECOND;
    let (_, sink) = run(&events, 80, Calls::params().repair(Repair::Strict));
    assert_eq!(
        (sink.health().wrong_time, sink.health().out_of_order),
        (0, 1)
    );
    for params in [
        Calls::params().jump(Nanos(0)),
        Calls::params().gap(Nanos(-1)),
    ] {
        assert!(params.check().is_err());
    }
}

#[test]
fn one_wrong_time_ends_no_step_and_poisons_no_model() {
    let tail = || Box::new(Tail::default());
    let events = regular(30);
    for place in [0, 1, 700, 1599, 1600, events.len() - 1] {
        for wrong in [i64::MAX, ORIGIN + 400 * 86_400 * SECOND, 0] {
            let monitor = Monitor::new(sink(Calls::params()), tail());
            let mut watch = Watch::new(monitor, 0, 0).origin(Nanos(ORIGIN));
            let work = watch.region("work");
            for (index, (at, is_exit)) in events.iter().enumerate() {
                let at = Nanos(if index == place { wrong } else { *at });
                if *is_exit {
                    watch.exit(0, work, at)
                } else {
                    watch.enter(0, work, at)
                }
            }
            watch.end_step();
            let what = format!("event {place} at {wrong}");
            assert_eq!(watch.wrong_steps(), u64::from(wrong != 0), "{what}");
            assert_eq!((watch.step(), watch.empty_steps()), (30, 0), "{what}");
            let report = watch.into_sink().finish().unwrap();
            let total = report.losses.total();
            assert_eq!(total.calls, 1200, "{what}");
            assert!(
                total.anomalies() <= 1 && total.time.0 < SECOND,
                "{what}: {total:?}"
            );
            assert_eq!(report.losses.steps().count(), 30, "{what}");
        }
    }
}

/// Two far events agree: the program was idle.
#[test]
fn steps_follow_a_program_that_was_quiet_for_long() {
    let mut watch = Watch::new(sink(Calls::params()), 0, 0);
    let work = watch.region("work");
    watch.enter(0, work, Nanos(5));
    watch.exit(0, work, Nanos(9));
    watch.enter(0, work, Nanos(500 * SECOND));
    assert_eq!(watch.step(), 0);
    watch.enter(1, work, Nanos(499 * SECOND));
    watch.exit(0, work, Nanos(500 * SECOND + 7));
    assert_eq!(
        (watch.step(), watch.empty_steps(), watch.wrong_steps()),
        (499, 498, 0)
    );
    watch.tick(Nanos(700 * SECOND));
    assert_eq!(watch.step(), 700);
    // An explicit clock reading is accepted.
    watch.enter(0, work, Nanos(900 * SECOND));
    assert_eq!(watch.step(), 700);
    watch.tick(Nanos(900 * SECOND + 1));
    assert_eq!((watch.step(), watch.wrong_steps()), (900, 0));
    // A single far event, and the end.
    watch.exit(0, work, Nanos(5_000 * SECOND));
    assert_eq!(watch.end_step(), 900);
    assert_eq!(watch.wrong_steps(), 1);
}

#[test]
fn a_strict_method_is_not_poisoned_either() {
    let mut events = regular(10);
    events[333].0 += 50 * 86_400 * SECOND;
    let strict = Sstd::default();
    let mut monitor = Monitor::new(sink(Calls::params()), Box::new(strict));
    let stream = monitor.stream(StreamKey::default());
    let work = monitor.region(0, "work");
    for (step, events) in events.chunks(80).enumerate() {
        for (at, is_exit) in events {
            let event = if *is_exit {
                StreamEvent::Exit(work)
            } else {
                StreamEvent::Enter(work)
            };
            monitor.push(stream, Nanos(*at), event);
        }
        monitor.end_step(step as u64);
    }
    let report = monitor.finish().unwrap();
    assert!(report.losses.total().time.0 < SECOND);
}

proptest! {
    /// For any times, each call has a non-negative run time, and no call is lost.
    #[test]
    fn any_times_give_calls(
        times in prop::collection::vec((any::<i64>(), 0..6_u8, any::<bool>()), 0..200),
        of_step in 1_usize..50,
    ) {
        let mut at = 0_i64;
        let events: Vec<(i64, bool)> = times
            .into_iter()
            .map(|(wild, kind, is_exit)| {
                at += 1000;
                (if kind == 0 { wild } else { at }, is_exit)
            })
            .collect();
        let (calls, sink) = run(&events, of_step, Calls::params());
        prop_assert!(calls.iter().all(|call| call.inclusive().0 >= 0 && call.exclusive.0 >= 0));
        let enters = events.iter().filter(|event| !event.1).count();
        prop_assert_eq!(calls.len(), enters);
        prop_assert_eq!(sink.health().functions, events.len() as u64);
        prop_assert_eq!(sink.pending(), 0);
        let ids: std::collections::HashSet<_> = calls.iter().map(|call| sink.event_id(call)).collect();
        prop_assert_eq!(ids.len(), calls.len());
    }
}
