//! Runs `perfkit-bench-anomaly ranks`: ranks with a detector each share models through one server;
//! prints the CPU time of a step of a rank and of an update of the server.

use cpu_time::ThreadTime;
use perf_testdata::xorshift::Xorshift;
use perfkit::anomaly::calls::Calls;
use perfkit::anomaly::server::{Client, Delta, Exchange, Server, View};
use perfkit::anomaly::{Detector, Tail};
use perfkit::core::{EventSink, Job, Nanos, RegionId, StreamEvent, StreamId, StreamKey};
use std::sync::{Arc, Mutex};

/// Measurements of a server in this process.
#[derive(Debug)]
struct Served {
    server: Server,
    seconds: f64,
    deltas: u64,
    sent: usize,
    views: u64,
    answered: usize,
}

/// Exchange of bytes with a server whose time is measured separately.
#[derive(Debug)]
struct Measured {
    served: Arc<Mutex<Served>>,
    /// Version of the last view that was received.
    last: u64,
    /// Answer that has not been received yet.
    answer: Option<Vec<u8>>,
}

impl Exchange for Measured {
    fn send(&mut self, delta: &Delta) -> perfkit::anomaly::Result<()> {
        let message = delta.encode();
        let mut served = self.served.lock().expect("nobody panics");
        let started = ThreadTime::now();
        let view = served.server.take(&Delta::decode(&message)?)?;
        let answer = (view.number != self.last).then(|| view.encode());
        served.seconds += started.elapsed().as_secs_f64();
        served.deltas += 1;
        served.sent += message.len();
        served.views += u64::from(answer.is_some());
        served.answered += answer.as_ref().map_or(0, Vec::len);
        self.last = view.number;
        self.answer = answer;
        Ok(())
    }

    fn receive(&mut self) -> perfkit::anomaly::Result<Option<View>> {
        self.answer
            .take()
            .map(|bytes| View::decode(&bytes))
            .transpose()
    }
}

/// Rank with its own detector.
struct Rank {
    calls: Calls,
    stream: StreamId,
    regions: Vec<RegionId>,
    detector: Tail,
    client: Client<Measured>,
    random: Xorshift,
    at: i64,
}

impl Rank {
    fn new(rank: u32, functions: usize, served: &Arc<Mutex<Served>>) -> Self {
        let mut calls = Calls::default();
        let stream = calls.stream(StreamKey {
            rank,
            ..StreamKey::default()
        });
        let name = |at| format!("function_{at}");
        let regions = (0..functions)
            .map(|at| calls.region(0, &name(at)))
            .collect();
        let measured = Measured {
            served: Arc::clone(served),
            last: 0,
            answer: None,
        };
        Rank {
            calls,
            stream,
            regions,
            detector: Tail::default(),
            client: Client::new(rank.into(), measured),
            random: Xorshift::new(u64::from(rank) + 1),
            at: 0,
        }
    }

    fn step(&mut self, number: u64) {
        for _ in 0..10 {
            for (place, region) in self.regions.iter().enumerate() {
                self.at += 100;
                let enter = StreamEvent::Enter(*region);
                self.calls.push(self.stream, Nanos(self.at), enter);
                let usual = 10_000 * (1 + place as i64 % 8);
                self.at += usual + self.random.below(3_000) as i64;
                let exit = StreamEvent::Exit(*region);
                self.calls.push(self.stream, Nanos(self.at), exit);
            }
        }
        self.calls.end_step(number);
        let mut judgements = Vec::new();
        let samples = self.calls.batch().samples();
        self.detector
            .detect(samples, &mut judgements, &Job::default())
            .expect("not cancelled");
        let synced = self
            .client
            .step(&self.calls, &judgements, &mut self.detector);
        synced.expect("the server takes it");
    }
}

/// Prints the measurements for these numbers of ranks, functions and steps.
pub(super) fn measure(ranks: usize, functions: usize, steps: usize) {
    let served = Arc::new(Mutex::new(Served {
        server: Server::default(),
        seconds: 0.0,
        deltas: 0,
        sent: 0,
        views: 0,
        answered: 0,
    }));
    let rank = |rank| Rank::new(rank as u32, functions, &served);
    let mut all: Vec<Rank> = (0..ranks).map(rank).collect();
    let begin = steps / 2;
    let mut started = ThreadTime::now();
    for step in 0..steps {
        if step == begin {
            let mut served = served.lock().expect("nobody panics");
            (served.seconds, served.deltas, served.sent) = (0.0, 0, 0);
            (served.views, served.answered) = (0, 0);
            started = ThreadTime::now();
        }
        all.iter_mut().for_each(|rank| rank.step(step as u64));
    }
    let seconds = started.elapsed().as_secs_f64();
    let served = served.lock().expect("nobody panics");
    let each = |sum: f64, count: u64| sum / count.max(1) as f64;
    println!(
        "ranks ranks={ranks} functions={functions} rank_step_us={:.1} server_update_us={:.1} delta_bytes={:.0} view_bytes={:.0} rss_kb={}",
        each(
            1e6 * (seconds - served.seconds),
            (ranks * (steps - begin)) as u64
        ),
        each(1e6 * served.seconds, served.deltas),
        each(served.sent as f64, served.deltas),
        each(served.answered as f64, served.views),
        perfkit_benches::peak_memory().unwrap_or_default()
    );
}
