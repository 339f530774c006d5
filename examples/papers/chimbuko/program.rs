//! Generated program on any number of ranks.

use perf_testdata::clusters::{normal, unit};
use perf_testdata::xorshift::Xorshift;
use perfkit::anomaly::Monitor;
use perfkit::core::{EventSink, Nanos, StreamEvent, StreamKey};

/// Program of eight functions with 24 calls for each rank and step. Each function has its own usual
/// time, and one of 500 calls takes 8 to 160 times as long.
pub(super) struct Program {
    random: Vec<Xorshift>,
    at: Vec<i64>,
}

const NAMES: [&str; 8] = [
    "advance", "assemble", "exchange", "filter", "gather", "limit", "reduce", "solve",
];
pub(super) const CALLS: usize = 24;

impl Program {
    pub(super) fn new(ranks: u32) -> Self {
        let random = (0..u64::from(ranks))
            .map(|rank| Xorshift::new(rank + 1))
            .collect();
        Program {
            random,
            at: vec![0; ranks as usize],
        }
    }

    /// Adds the calls of the next step of a rank.
    pub(super) fn push(&mut self, rank: u32, into: &mut Monitor) {
        let (random, at) = (&mut self.random[rank as usize], &mut self.at[rank as usize]);
        let stream = into.stream(StreamKey {
            program: 0,
            rank,
            thread: 0,
        });
        for (call, name) in (0..CALLS).zip(NAMES.iter().cycle()) {
            let usual = 2e4 * (1 + call % NAMES.len()) as f64 * (0.2 * normal(random).0).exp();
            let slow = if random.below(500) == 0 {
                8.0 * 20_f64.powf(unit(random))
            } else {
                1.0
            };
            let region = into.region(0, name);
            into.push(stream, Nanos(*at), StreamEvent::Enter(region));
            *at += (slow * usual) as i64;
            into.push(stream, Nanos(*at), StreamEvent::Exit(region));
            *at += 100;
        }
    }
}
