//! Random run times, and samples of the event streams of the corpus.

#![allow(dead_code, reason = "each test uses a part")]

use flate2::read::GzDecoder;
use perf_anomaly::{FunctionId, Sample};
use perf_core::Nanos;
use perf_testdata::corpus::corpus;
use perf_testdata::wide::Xorshift;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Read;

/// The text of a compressed file of the corpus.
pub(crate) fn read(relative: &str) -> Option<String> {
    let file = std::fs::File::open(corpus(relative)?).expect("it exists");
    let mut text = String::new();
    GzDecoder::new(file)
        .read_to_string(&mut text)
        .expect("it is gzip of text");
    Some(text)
}

/// A completed call of a stream of the corpus, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Call {
    pub(crate) thread: u32,
    pub(crate) entry: u64,
    pub(crate) exit: u64,
    pub(crate) exclusive: u64,
}

/// The calls completed in a step, and as samples of their exclusive times.
#[derive(Debug, Default)]
pub(crate) struct Step {
    pub(crate) calls: Vec<Call>,
    pub(crate) samples: Vec<Sample>,
}

#[derive(Debug)]
struct Open<'a> {
    name: &'a str,
    entry: u64,
    children: u64,
}

/// The calls of a stream of the corpus, as the textbook call stack gives them: a step in which events
/// of a thread are out of order is sorted by time, an exit that does not fit is dropped and leaves
/// the call open, and calls still open at the end are left out.
pub(crate) fn steps(text: &str) -> Vec<Step> {
    let mut rows: BTreeMap<u64, Vec<(u64, u32, bool, &str)>> = BTreeMap::new();
    for line in text.lines().skip(1) {
        let columns: Vec<_> = line.split('\t').collect();
        let number = |at: usize| columns[at].parse().expect("a number");
        let row = |enter| (number(1), number(4) as u32, enter, columns[6]);
        match columns[5] {
            "ENTRY" => rows.entry(number(0)).or_default().push(row(true)),
            "EXIT" => rows.entry(number(0)).or_default().push(row(false)),
            _ => {}
        }
    }
    let mut ids = HashMap::new();
    let mut seen = HashSet::new();
    let mut stacks: HashMap<u32, Vec<Open<'_>>> = HashMap::new();
    rows.into_values()
        .map(|mut events| {
            let mut last = HashMap::new();
            let disorder = |(at, thread, ..): &(u64, u32, bool, &str)| {
                let before = last.insert(*thread, *at);
                before.is_some_and(|before| *at < before)
            };
            if events.iter().any(disorder) {
                events.sort_by_key(|event| event.0);
            }
            let mut step = Step::default();
            for (at, thread, enter, name) in events {
                let stack = stacks.entry(thread).or_default();
                if enter {
                    stack.push(Open {
                        name,
                        entry: at,
                        children: 0,
                    });
                    continue;
                }
                let fits = |open: &mut Open<'_>| open.name == name && open.entry <= at;
                let Some(open) = stack.pop_if(fits) else {
                    continue;
                };
                let inclusive = at - open.entry;
                if let Some(parent) = stack.last_mut() {
                    parent.children += inclusive;
                }
                let exclusive = inclusive - open.children;
                let next = ids.len() as u32;
                let function = FunctionId(*ids.entry(name).or_insert(next));
                step.calls.push(Call {
                    thread,
                    entry: open.entry,
                    exit: at,
                    exclusive,
                });
                step.samples.push(Sample {
                    function,
                    runtime: Nanos(exclusive as i64 * 1000),
                    first: seen.insert((thread, function)),
                });
            }
            step
        })
        .collect()
}

/// Random run times.
#[derive(Debug)]
pub(crate) struct Random(Xorshift);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random(Xorshift::new(seed))
    }

    /// Above 0, below 1.
    pub(crate) fn unit(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    pub(crate) fn below(&mut self, most: u64) -> u64 {
        self.0.below(most)
    }

    /// Standard normal, by Box and Muller.
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.unit().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }
}

/// A call of one function, not the first, of a run time in nanoseconds.
pub(crate) fn call(function: u32, runtime: f64) -> Sample {
    Sample {
        function: FunctionId(function),
        runtime: Nanos(runtime.max(0.0) as i64),
        first: false,
    }
}
