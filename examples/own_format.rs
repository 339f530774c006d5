//! Reads a format of your own.

use perfkit::core::{Definitions, Diagnostics, Event, Events, Location, Place, Region, RegionId};
use perfkit::core::{Rule, SystemTree, Weight};
use perfkit::formats::{Content, Error, Format, Formats, Input};
use perfkit::prelude::*;
use std::path::Path;

const SKIPPED: Rule = Rule {
    name: "jobs-line",
    what: "a line is no job; skipped",
    weight: Weight::Loss,
};

fn probe(input: &Input) -> u8 {
    100 * u8::from(input.head.starts_with(b"#jobs 1"))
}

/// Parses `worker begin end name`, times in microseconds.
fn parse(line: &str) -> Option<(usize, [Ticks; 2], &str)> {
    let [worker, begin, end, name] = line.split(' ').collect::<Vec<_>>().try_into().ok()?;
    let time = |us: &str| Some(Ticks(us.parse::<u64>().ok()?.checked_mul(1_000)?));
    // Check numbers from a file before they determine the size of anything.
    let worker = worker.parse().ok().filter(|worker| *worker < 1_000)?;
    Some((worker, [time(begin)?, time(end)?], name))
}

/// Reads lines of jobs, those of a worker in the order of time.
fn read(path: &Path, options: &OpenOptions, job: &Job) -> Result<Recording, Error> {
    let place = Place::file(path.to_string_lossy());
    let failed = |source| Error::Io {
        place: place.clone(),
        source,
    };
    let text = std::fs::read_to_string(path).map_err(failed)?;
    let (mut definitions, mut found) = (Definitions::default(), Diagnostics::default());
    let mut workers: Vec<Events> = Vec::new();
    for (number, line) in text.lines().enumerate().skip(1) {
        job.advance("read", line.len() as u64 + 1, text.len() as u64);
        job.check()?;
        let Some((worker, [begin, end], name)) = parse(line) else {
            let line = format!("line {}", number + 1);
            found.add(SKIPPED, place.clone().record(line));
            continue;
        };
        let mut regions = definitions.regions.iter();
        let known = regions.position(|region| region.name == name);
        let region = RegionId(known.unwrap_or(definitions.regions.len()) as u32);
        if known.is_none() {
            definitions.regions.push(Region::named(name));
        }
        workers.resize_with(workers.len().max(worker + 1), Events::default);
        workers[worker].push(begin, Event::Enter { region })?;
        workers[worker].push(end, Event::Leave { region })?;
    }
    options.judge(&found)?;
    let name = |key| Location {
        name: format!("worker {key}"),
        key,
        ..Location::default()
    };
    let locations = (0..workers.len() as u64).map(name).collect();
    definitions.system = SystemTree::new(vec![], vec![], locations, options.get_limits())?;
    let trace = Trace::new(definitions, workers)?;
    Ok(Recording::new(Content::Trace(trace), "jobs", found))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::temp_dir().join(format!("perfkit-jobs-{}.txt", std::process::id()));
    let text = "#jobs 1\n0 0 900 compile\n1 400 700 link\nnonsense\n";
    std::fs::write(&path, text)?;
    let format = Format::new("jobs", &["txt"], "lines of jobs", probe, read);
    let formats = Formats::default().with(format);
    let recording = formats.open(&path, &OpenOptions::new(), &Job::default())?;
    let events = recording.trace().map_or(0, Trace::len);
    let skipped = recording.diagnostics.count(SKIPPED);
    println!("{events} events, {skipped} line skipped");
    std::fs::remove_file(&path)?;
    Ok(())
}
