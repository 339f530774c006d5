//! Generates an OTF2 archive, or reads, merges or folds one, and prints one line: counts of the
//! results, then time and memory.
//!
//! `cargo xtask compare otf2` runs it together with libotf2; `data/peers/README.md` describes the
//! line.

use perfkit::core::{Event, Job, LocationId, LocationView, Ticks, TimeRange, Trace};
use perfkit::fold::{Folder, GroupBy, Groups, RegionMap, Timelines};
use perfkit::formats::OpenOptions;
use perfkit::formats::otf2::{NewArchive, Reader, WriteOptions, Writer};
use perfkit_benches::{Meter, Outcome, peak_memory};
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "usage: perfkit-bench-otf2 generate FOLDER --locations N --events M
       perfkit-bench-otf2 decode|merge|fold|refold ANCHOR [--threads T]

generate  writes an archive of N locations with M events each
decode    reads all events into columns
merge     walks through all events in order of time
fold      opens, makes timelines and folds 1920 columns of one row a location
refold    the same, and then folds zoomed windows; the costs are those of one refold";

fn main() -> ExitCode {
    perfkit_benches::main(USAGE, run)
}

fn run(args: &[String]) -> Outcome<String> {
    let [mode, path, rest @ ..] = args else {
        return Err("a mode and a path, please".into());
    };
    let number = |name: &str, otherwise: usize| -> Outcome<usize> {
        match rest.iter().position(|word| word == name) {
            Some(at) => Ok(rest.get(at + 1).ok_or("a number is missing")?.parse()?),
            None => Ok(otherwise),
        }
    };
    let (path, threads) = (Path::new(path), number("--threads", 0)?);
    if threads > 0 {
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build_global()?;
    }
    match mode.as_str() {
        "generate" => generate(
            path,
            number("--locations", 1024)?,
            number("--events", 20_000)?,
        ),
        "decode" => decode(path, threads),
        "merge" => merge(path),
        "fold" => fold(path, threads),
        "refold" => refold(path, threads),
        _ => Err(format!("unknown mode {mode}").into()),
    }
}

fn generate(folder: &Path, locations: usize, events: usize) -> Outcome<String> {
    let meter = Meter::start();
    let ranks = u32::try_from(locations)?;
    let definitions = perf_testdata::many_ranks::definitions(ranks);
    let mut sink = NewArchive::new(folder)?;
    let mut writer = Writer::new(&mut sink, &definitions, WriteOptions::default());
    for rank in 0..ranks {
        let events = perf_testdata::many_ranks::events(rank, ranks, events);
        writer.location(
            LocationView::whole(LocationId(rank), &events),
            &Job::default(),
        )?;
    }
    let lost = writer.finish()?;
    if !lost.is_empty() {
        return Err(lost.to_string().into());
    }
    Ok(format!("events={} {}", locations * events, meter.costs()))
}

fn open(anchor: &Path, threads: usize) -> Outcome<Trace> {
    let options = OpenOptions::new().threads(threads);
    let (trace, _) = Reader::open(anchor, &options, &Job::default())?.read()?;
    Ok(trace)
}

fn decode(anchor: &Path, threads: usize) -> Outcome<String> {
    let meter = Meter::start();
    let trace = open(anchor, threads)?;
    let costs = meter.costs();
    let (mut frames, mut sum) = (0u64, 0u64);
    for location in trace.view().locations() {
        for (at, event) in location.iter() {
            if matches!(event, Event::Enter { .. } | Event::Leave { .. }) {
                frames += 1;
                sum = sum.wrapping_add(at.0);
            }
        }
    }
    Ok(format!(
        "events={} frames={frames} time_sum={sum} {costs}",
        trace.len()
    ))
}

fn merge(anchor: &Path) -> Outcome<String> {
    let meter = Meter::start();
    let reader = Reader::open(anchor, &OpenOptions::new(), &Job::default())?;
    let mut stream = reader.merged()?;
    let (mut events, mut frames, mut sum) = (0u64, 0u64, 0u64);
    let mut last = Ticks(0);
    while let Some((_, at, event)) = stream.next()? {
        if at < last {
            return Err("the stream is not in order".into());
        }
        last = at;
        events += 1;
        if matches!(event, Event::Enter { .. } | Event::Leave { .. }) {
            frames += 1;
            sum = sum.wrapping_add(at.0);
        }
    }
    Ok(format!(
        "events={events} frames={frames} time_sum={sum} {}",
        meter.costs()
    ))
}

fn timelines(anchor: &Path, threads: usize) -> Outcome<(usize, Folder)> {
    let trace = open(anchor, threads)?;
    let map = RegionMap::by_name(trace.definitions())?;
    let timelines = Timelines::new(trace.view(), &map, &Job::default())?;
    let groups = Groups::by(&timelines, GroupBy::Location);
    let params = Folder::params().columns(1920).check()?;
    Ok((trace.len(), Folder::new(&timelines, groups, params)?))
}

fn fold(anchor: &Path, threads: usize) -> Outcome<String> {
    let meter = Meter::start();
    let (events, folder) = timelines(anchor, threads)?;
    let fold = folder.fold(folder.timelines().range(), &Job::default())?;
    let costs = meter.costs();
    let painted = fold
        .cells()
        .iter()
        .filter(|cell| cell.picture().is_some())
        .count();
    Ok(format!(
        "events={events} cells={} painted={painted} {costs}",
        fold.cells().len()
    ))
}

fn refold(anchor: &Path, threads: usize) -> Outcome<String> {
    const TIMES: u64 = 20;
    let (_, folder) = timelines(anchor, threads)?;
    let all = folder.timelines().range();
    let (mut fold, mut scratch) = (folder.empty(), folder.scratch());
    folder.refold(all, &mut scratch, &mut fold, &Job::default())?;
    let (mut cpu, mut wall) = (0.0, 0.0);
    for step in 0..TIMES {
        // Each window is half as long as the trace and begins a little later than the previous one.
        let start = Ticks(all.start.0 + all.len() / 2 * step / TIMES);
        let end = Ticks(start.0 + all.len() / 2);
        let window = TimeRange::new(start, end).ok_or("it ends after it starts")?;
        let (from, cpu_from) = (std::time::Instant::now(), cpu_time::ProcessTime::now());
        folder.refold(window, &mut scratch, &mut fold, &Job::default())?;
        wall += from.elapsed().as_secs_f64() / TIMES as f64;
        cpu += cpu_from.elapsed().as_secs_f64() / TIMES as f64;
    }
    let cells = fold.cells().len();
    let peak = peak_memory().unwrap_or_default();
    Ok(format!(
        "cells={cells} cpu_s={cpu:.6} wall_s={wall:.6} rss_kb={peak}"
    ))
}
