//! Reads the BP4 files of a folder into events and prints one line: number and checksums of the
//! events, then time and memory.
//!
//! `cargo xtask compare adios` runs it together with another reader; `data/peers/README.md`
//! describes the line.

use perfkit::core::{
    EventSink, EventSource, Job, MetricId, Nanos, RegionId, StreamEvent, StreamId, StreamKey,
};
use perfkit::formats::{OpenOptions, adios::Adios};
use perfkit_benches::{Meter, Outcome};
use std::process::ExitCode;

const USAGE: &str = "usage: perfkit-bench-adios FOLDER";

/// Counts events, and sums their times in microseconds and the lengths of their names.
#[derive(Default)]
struct Sums {
    events: u64,
    stamps: u64,
    letters: u64,
    regions: Vec<String>,
    streams: u32,
}

impl EventSink for Sums {
    fn region(&mut self, _: u32, name: &str) -> RegionId {
        let known = self.regions.iter().position(|known| known == name);
        RegionId(known.unwrap_or_else(|| {
            self.regions.push(name.into());
            self.regions.len() - 1
        }) as u32)
    }

    fn counter(&mut self, _: &str) -> MetricId {
        MetricId(0)
    }

    fn stream(&mut self, _: StreamKey) -> StreamId {
        self.streams += 1;
        StreamId(self.streams - 1)
    }

    fn push(&mut self, _: StreamId, at: Nanos, event: StreamEvent) {
        self.events += 1;
        self.stamps = self.stamps.wrapping_add(at.0.unsigned_abs() / 1000);
        if let StreamEvent::Enter(region) | StreamEvent::Exit(region) = event {
            let name = self.regions.get(region.index());
            self.letters += name.map_or(0, |name| name.len() as u64);
        }
    }

    fn metadata(&mut self, _: StreamId, _: &str, _: &str) {}

    fn end_step(&mut self, _: u64) {}
}

fn main() -> ExitCode {
    perfkit_benches::main(USAGE, run)
}

fn run(args: &[String]) -> Outcome<String> {
    let [folder] = args else {
        return Err("a folder, please".into());
    };
    let meter = Meter::start();
    let mut source = Adios::open(&[folder], &OpenOptions::new())?;
    let mut sums = Sums::default();
    while source.next_step(&mut sums, &Job::default())? {}
    let Sums {
        events,
        stamps,
        letters,
        ..
    } = sums;
    let costs = meter.costs();
    Ok(format!(
        "events={events} stamps={stamps} letters={letters} {costs}"
    ))
}
