//! A recording replayed is the same stream, however fast it goes.

#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests say what they expect, as tests do"
)]

use perf_anomaly::Replay;
use perf_anomaly::calls::{Calls, StreamHealth};
use perf_core::{
    CancelToken, Event, EventSink, EventSource, MetricId, Nanos, RegionId, StreamEvent, StreamId,
    StreamKey, Ticks, TimeRange, Trace,
};

/// A sink that keeps everything.
#[derive(Debug, Default, PartialEq)]
struct Kept {
    regions: Vec<String>,
    counters: Vec<String>,
    streams: Vec<StreamKey>,
    facts: Vec<(StreamId, String, String)>,
    events: Vec<(u64, StreamId, Nanos, StreamEvent)>,
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
    while replay.next_step(&mut kept).expect("nobody cancels") {}
    assert_eq!(kept.step, steps);
    assert!(
        !replay.next_step(&mut kept).expect("nobody cancels"),
        "it stays at its end"
    );
    kept
}

/// Time and event of each location, as the trace has them.
fn of_trace(trace: &Trace, location: usize) -> Vec<(Nanos, Event<'_>)> {
    let clock = trace.definitions().clock;
    let location = trace.view().locations().nth(location).unwrap();
    let all = location.iter();
    all.map(|(at, event)| (clock.nanos(at).unwrap(), event))
        .collect()
}

#[test]
fn every_call_and_message_comes_once_and_in_its_step() {
    let trace = perf_testdata::wide::trace(5, 2_000);
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
    let trace = perf_testdata::cosmo::trace();
    let fast = kept(Replay::new(trace.view(), Nanos(50_000_000)));
    // As fast as a machine goes: the recording is of seconds.
    let paced = kept(Replay::new(trace.view(), Nanos(50_000_000)).pace(1e6));
    assert_eq!(fast, paced);
    let nonsense = kept(Replay::new(trace.view(), Nanos(50_000_000)).pace(f64::NAN));
    assert_eq!(fast, nonsense);
    let calls = |period| {
        let mut calls = Calls::new(Calls::params().check().unwrap());
        let mut replay = Replay::new(trace.view(), period);
        let mut all = Vec::new();
        while replay.next_step(&mut calls).expect("nobody cancels") {
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
fn what_is_in_view_is_replayed() {
    let trace = perf_testdata::wide::trace(4, 1_000);
    let all = trace.view().range().unwrap();
    let window = TimeRange::new(Ticks(all.start.0 + all.len() / 4), all.end).unwrap();
    let view = trace.view().between(window);
    // What measures is no event of a stream.
    let is_streamed = |(_, event): &(Ticks, Event<'_>)| !matches!(event, Event::Measuring { .. });
    let all = view.locations().flat_map(|location| location.iter());
    let count = all.filter(is_streamed).count();
    let kept = kept(Replay::new(view, Nanos(10_000)));
    assert_eq!(kept.events.len(), count);
    assert!(count > 1_000 && count < 4_000);
    // Nothing in view is nothing to replay.
    let empty = Trace::new(perf_testdata::wide::definitions(0), Vec::new()).unwrap();
    let mut sink = Kept::default();
    assert_eq!(Replay::new(empty.view(), Nanos(1)).steps(), 0);
    assert!(
        !Replay::new(empty.view(), Nanos(1))
            .next_step(&mut sink)
            .expect("nobody cancels")
    );
}

#[test]
fn waiting_can_be_cancelled() {
    let trace = perf_testdata::wide::trace(2, 1_000);
    let token = CancelToken::new();
    // At this pace the first step takes days.
    let replay = Replay::new(trace.view(), Nanos(1_000_000));
    let mut replay = replay.pace(1e-12).cancel(token.clone());
    let other = token.clone();
    let thread = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(30));
        other.cancel();
    });
    assert!(replay.next_step(&mut Kept::default()).is_err());
    thread.join().expect("it cancels");
    assert!(token.is_cancelled());
}

/// Archives as Score-P and Paraver traces as Extrae write them, as far as the corpus has them.
#[test]
fn recordings_of_accelerators_tell_which_streams_are_theirs() {
    let Some(path) = perf_testdata::corpus::corpus("otf2/casita-2_cuda_simple") else {
        return println!("skipped: corpus absent");
    };
    let options = perf_formats::OpenOptions::new();
    let opened = perf_formats::open(&path, &options).expect("it is an archive");
    let trace = opened.into_trace().expect("it is a trace");
    let mut calls = Calls::new(Calls::params().check().unwrap());
    let mut replay = Replay::new(trace.view(), Nanos(10_000_000));
    let mut count = 0;
    while replay.next_step(&mut calls).expect("nobody cancels") {
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
