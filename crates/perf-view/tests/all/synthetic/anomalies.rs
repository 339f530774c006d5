//! Results of four ranks, one of which sometimes waits for two others.

use perf_anomaly::provenance::{Memory, Recorder};
use perf_anomaly::{Monitor, Report, Tail, calls::Calls};
use perf_core::{EventSink, Nanos, Peer, StreamEvent, StreamKey};

const HOSTILE: &str = "</script><img src=x onerror=alert(1)>&\"'";

/// Returns the report of 4 ranks with 100 steps of ten calls. Rank 2 sometimes waits for two
/// others, more often after step 50.
pub fn report(detector: Box<dyn perf_anomaly::Detector>) -> Report {
    let calls = Calls::default();
    let params = Recorder::params().check().expect("good");
    let recorder = Recorder::new(params, Box::new(Memory::new()));
    let mut sink = Monitor::new(calls, detector).record(recorder);
    let regions = ["main", "solve", HOSTILE, "MPI_Wait"].map(|name| sink.region(0, name));
    let [main, solve, hostile, wait] = regions;
    let streams: Vec<_> = (0..4)
        .map(|rank| {
            sink.stream(StreamKey {
                rank,
                ..StreamKey::default()
            })
        })
        .collect();
    for (rank, stream) in streams.iter().enumerate() {
        sink.push(*stream, Nanos(0), StreamEvent::Enter(main));
        assert!(rank < 4);
    }
    for step in 0..100_i64 {
        for (rank, stream) in streams.iter().enumerate() {
            for at in 0..10 {
                let mut now = step * 10_000_000 + at * 1_000_000 + 1_000;
                let mut push = |after: i64, event| {
                    now += after;
                    sink.push(*stream, Nanos(now), event);
                };
                let noise = (step * 37 + at * 101 + rank as i64 * 13) % 997;
                let is_slow =
                    rank == 2 && at == 5 && step > 20 && step % if step < 50 { 10 } else { 5 } == 0;
                push(0, StreamEvent::Enter(solve));
                push(10_000 + noise, StreamEvent::Enter(hostile));
                push(5_000 + noise, StreamEvent::Exit(hostile));
                push(0, StreamEvent::Enter(wait));
                push(
                    100,
                    StreamEvent::Send(Peer {
                        rank: 1,
                        tag: 7,
                        bytes: 4_096,
                    }),
                );
                push(
                    if is_slow { 390_000 } else { 0 },
                    StreamEvent::Receive(Peer {
                        rank: 3,
                        tag: 7,
                        bytes: 64,
                    }),
                );
                push(20_000 + 3 * noise, StreamEvent::Exit(wait));
                push(1_000, StreamEvent::Exit(solve));
            }
        }
        sink.end_step(step as u64);
    }
    for stream in &streams {
        sink.push(*stream, Nanos(1_000_000_000), StreamEvent::Exit(main));
    }
    sink.finish().expect("it ends well")
}

/// Returns the default detector.
pub fn tail() -> Box<dyn perf_anomaly::Detector> {
    Box::new(Tail::default())
}
