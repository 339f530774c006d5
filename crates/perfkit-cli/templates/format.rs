//! Read a recording of a format of your own.
//!
//! `cargo run --release -- sample.txt`

use perfkit::core::SystemTree;
use perfkit::core::{Definitions, Diagnostics, Event, Events, Location, Place, Region, RegionId};
use perfkit::formats::{Content, Error, Format, Formats, Input};
use perfkit::prelude::*;
use std::path::Path;

/// Returns the confidence, 0 to 100, that a file is of this format.
fn probe(input: &Input) -> u8 {
    100 * u8::from(input.head.starts_with(b"#jobs 1"))
}

/// Reads a file with a job on each line, in the order of time: begin and end in microseconds.
fn read(path: &Path, options: &OpenOptions, job: &Job) -> Result<Recording, Error> {
    let place = Place::file(path.to_string_lossy());
    let wrong = |line: &str| Error::Malformed {
        place: place.clone(),
        expected: "begin and end of a job".into(),
        got: line.into(),
    };
    let text = std::fs::read_to_string(path).map_err(|error| wrong(&error.to_string()))?;
    let time = |us: &str| Some(Ticks(us.parse::<u64>().ok()?.checked_mul(1_000)?));
    let (mut events, region) = (Events::default(), RegionId(0));
    for line in text.lines().skip(1) {
        job.check()?;
        let (begin, end) = line.split_once(' ').ok_or_else(|| wrong(line))?;
        let begin = time(begin).ok_or_else(|| wrong(line))?;
        events.push(begin, Event::Enter { region })?;
        events.push(
            time(end).ok_or_else(|| wrong(line))?,
            Event::Leave { region },
        )?;
    }
    let mut definitions = Definitions::default();
    definitions.regions.push(Region::named("job"));
    let worker = vec![Location::default()];
    definitions.system = SystemTree::new(vec![], vec![], worker, options.get_limits())?;
    let trace = Trace::new(definitions, vec![events])?;
    Ok(Recording::new(
        Content::Trace(trace),
        "jobs",
        Diagnostics::default(),
    ))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args()
        .nth(1)
        .ok_or("the first argument is a recording")?;
    let format = Format::new("jobs", &["txt"], "lines of jobs", probe, read);
    let formats = Formats::default().with(format);
    let recording = formats.open(path.as_ref(), &OpenOptions::new(), &Job::default())?;
    let trace = recording.into_trace().ok_or("holds no trace")?;
    println!("{} jobs", trace.len() / 2);
    Ok(())
}
