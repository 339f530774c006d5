//! Ranks that run the same functions, with some slow calls.
#![allow(dead_code, reason = "each test uses some of it")]

use perf_anomaly::provenance::{Entry, Memory, Recorder, Store};
use perf_anomaly::server::{Client, Delta, Exchange, View};
use perf_anomaly::{Monitor, Result, Watch};
use perf_core::Nanos;
use std::io::{BufRead, BufReader};
use std::process::Child;
use std::sync::{Arc, Mutex};

/// Returns the address on which a server process listens, from its output.
pub(crate) fn listening(server: &mut Child) -> String {
    let mut line = String::new();
    BufReader::new(server.stdout.take().expect("a pipe"))
        .read_line(&mut line)
        .expect("it says where it listens");
    let url = line.trim().strip_prefix("listening on ");
    url.expect("it listens").to_string()
}

/// Pseudo-random number generator: xorshift.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }
}

pub(crate) const FUNCTIONS: [&str; 4] =
    ["solve", "exchange", "<img src=x onerror=alert(1)>", "write"];

/// Number of calls of a rank in a step.
pub(crate) const CALLS: u64 = 40;

/// Rank that monitors itself.
pub(crate) struct Rank {
    /// Watch of the rank.
    pub(crate) watch: Watch<Monitor>,
    /// Random numbers.
    random: Random,
    /// Current time.
    at: i64,
    /// Run times in percent of the usual ones.
    pub(crate) percent: i64,
}

impl Rank {
    pub(crate) fn new<E: Exchange + 'static>(
        program: u32,
        rank: u32,
        client: Client<E>,
        store: Box<dyn Store>,
    ) -> Self {
        let recorder = Recorder::new(Default::default(), store);
        let monitor = Monitor::default().record(recorder).share(client);
        Rank {
            watch: Watch::new(monitor, program, rank).period(Nanos(0)),
            random: Random::new(u64::from(rank) + 7),
            at: 0,
            percent: 100,
        }
    }

    /// Runs a step of [`CALLS`] calls, the slow ones of which are deterministic.
    pub(crate) fn step(&mut self) {
        let outer = self.watch.region("main");
        self.watch.enter(0, outer, Nanos(self.at));
        for k in 1..CALLS {
            let name = FUNCTIONS[(k % 4) as usize];
            let region = self.watch.region(name);
            self.watch.enter(0, region, Nanos(self.at));
            let slow = if self.random.below(150) == 0 { 30 } else { 1 };
            self.at += slow * (20_000 + self.random.below(4000) as i64) * self.percent / 100;
            self.watch.exit(0, region, Nanos(self.at));
            self.at += 100;
        }
        self.watch.exit(0, outer, Nanos(self.at));
        self.at += 1000;
        self.watch.end_step();
    }

    pub(crate) fn error(&mut self) -> Option<perf_anomaly::Error> {
        self.watch.sink_mut().take_error()
    }

    /// Returns the number of anomalies so far.
    pub(crate) fn anomalies(&self) -> u64 {
        self.watch.sink().losses().total().anomalies()
    }
}

/// Exchange that keeps sent deltas.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tape(pub(crate) Arc<Mutex<Vec<Delta>>>);

impl Exchange for Tape {
    fn send(&mut self, delta: &Delta) -> Result<()> {
        self.0.lock().expect("nobody panics").push(delta.clone());
        Ok(())
    }

    fn receive(&mut self) -> Result<Option<View>> {
        Ok(None)
    }
}

/// Returns deltas of a rank without answers, and its recorded entries.
pub(crate) fn recorded(
    program: u32,
    rank: u32,
    client: u64,
    steps: usize,
) -> (Vec<Delta>, Vec<Entry>) {
    let tape = Tape::default();
    let sharing = Client::new(client, tape.clone()).in_flight(usize::MAX);
    let mut one = Rank::new(program, rank, sharing, Box::new(Memory::new()));
    for _ in 0..steps {
        one.step();
    }
    let report = one
        .watch
        .into_sink()
        .finish()
        .expect("memory does not fail");
    let (mut store, _) = report.store.expect("there is a recorder");
    let mut entries = Vec::new();
    let each = store.each(&mut |entry| {
        entries.push(entry);
        Ok(())
    });
    each.expect("memory does not fail");
    let deltas = tape.0.lock().expect("nobody panics").clone();
    (deltas, entries)
}
