//! Recordings: the effect of a server, and the labels of Chimbuko's own detectors.

use super::comparison::{Compared, Options};
use super::{Method, kept, monitor, recorder, shared};
use perf_testdata::bundled::recording as bundled;
use perfkit::anomaly::{Monitor, Replay, Result as Detected};
use perfkit::core::{EventSource, Job, LocationId, Nanos};
use perfkit::formats::{OpenOptions, streams::Streams};
use perfkit_cli::failure::{Failure, input};
use perfkit_cli::recording;

/// Returns the number of anomalies of a recording, with one monitor for each rank. All monitors
/// advance step by step.
fn replayed(mut all: Vec<Monitor>) -> Result<u64, Failure> {
    let trace = recording::open(&bundled("nwchem-md-4"))?.trace;
    let ids: Vec<[LocationId; 1]> = trace
        .definitions()
        .system
        .location_ids()
        .map(|id| [id])
        .collect();
    let period = Nanos(
        trace
            .view()
            .range()
            .map_or(1, |range| range.len() as i64 / 100),
    );
    let mut replays: Vec<_> = ids
        .iter()
        .map(|id| Replay::new(trace.view().only(id), period))
        .collect();
    let mut goes_on = true;
    while goes_on {
        goes_on = false;
        for (replay, one) in replays.iter_mut().zip(&mut all) {
            goes_on |= replay.next_step(one, &Job::default()).map_err(input)?;
        }
    }
    Ok(all.iter().map(|one| one.losses().total().anomalies()).sum())
}

pub(super) fn server() -> Result<Compared, Failure> {
    let title = "What a server changes: anomalies of NWChem on 4 ranks by SSTD at 6 sigma";
    let mut table = Compared::new(title, "published");
    let alone: Detected<Vec<Monitor>> = (0..4).map(|_| monitor(Method::Sstd)).collect();
    let alone = replayed(alone.map_err(input)?)?;
    let with = replayed(shared(Method::Sstd, 4).map_err(input)?)?;
    let share = 100.0 * with as f64 / alone.max(1) as f64;
    let why = "another run: the published one has 1.5 million events in 7 steps, nwchem-md-4 has 86 thousand in 100";
    table.row(
        "anomalies without and with",
        "2252, 1868",
        format!("{alone}, {with}"),
        why,
    );
    table.row(
        "with, in % of without",
        "82.9",
        (share, 1),
        "a rank alone and all together know different calls, and do not label the same ones",
    );
    Ok(table)
}

/// Compares with the labels of Chimbuko v7.0's own detectors on streams of real runs.
pub(super) fn labels(options: &Options) -> Result<Option<Compared>, Failure> {
    let methods = [
        (Method::Sstd, "SSTD"),
        (Method::Hbos, "HBOS"),
        (Method::Copod, "COPOD"),
    ];
    let mut table = Compared::new("Labels of its detectors on TAU streams", "v7.0");
    let (mut is_there, mut factors) = (false, Vec::new());
    for (stream, published) in [
        ("lammps-0", ["355", "203", "1560"]),
        ("heat2d-0", ["5", "100", "47"]),
        ("edge-twomodes-0", ["0", "100", "100"]),
    ] {
        let Some(file) = options.corpus(&format!("chimbuko/{stream}.tsv.gz")) else {
            continue;
        };
        is_there = true;
        for ((method, name), published) in methods.into_iter().zip(published) {
            let mut streams = Streams::open(&[&file], &OpenOptions::new()).map_err(input)?;
            let mut one = monitor(method)
                .map_err(input)?
                .record(recorder().map_err(input)?);
            while streams
                .next_step(&mut one, &Job::default())
                .map_err(input)?
            {}
            let count = one.losses().total().anomalies();
            table.row(
                format!("{stream}, {name}: anomalies"),
                published,
                count as usize,
                "",
            );
            if stream == "lammps-0" {
                factors.push((name, kept(one)?.factor().unwrap_or(f64::NAN)));
            }
        }
    }
    for ((name, factor), published) in factors.into_iter().zip(["2.2", "2.5", "0.5"]) {
        let why = "v7.0 writes the whole model into each record (10 calls on either side), perfkit refers to it by number";
        table.row(
            format!("lammps-0, {name}: data reduction"),
            published,
            (factor, 1),
            why,
        );
    }
    Ok(is_there.then_some(table))
}
