//! Reproduces the two cases of Weber, "Folding methods for event timelines in performance
//! analysis": COSMO-SPECS and GPU streams. The recordings of the slides are not public. Their
//! effects are planted in generated traces, and searched for in recordings of real runs.
//!
//! `cargo run --release --example folding -- --png folding.png`

#[path = "comparison.rs"]
mod comparison;
#[path = "folding/cosmo.rs"]
mod cosmo;
#[path = "folding/gpus.rs"]
mod gpus;

use comparison::{Compared, Options};
use perf_testdata::bundled;
use perfkit::core::samples::cosmo as model;
use perfkit::core::{Job, TimeRange, Trace};
use perfkit::fold::{Fold, Folder, GroupBy, Groups, Op, RegionMap, Result as Folding, Timelines};
use perfkit::view::{Scene, Section, Theme, timeline::Picture};
use perfkit_cli::failure::{self, Failure, Outcome, input};
use perfkit_cli::pictures::{self, failed};
use perfkit_cli::recording;
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

const WHAT: &str =
    "Redoes the two cases of the slides on timeline folding, COSMO-SPECS and GPU streams, on
recordings where what they show is planted, and on real ones.";

fn main() -> ExitCode {
    failure::main(command(), run)
}

fn command() -> clap::Command {
    comparison::command("folding", WHAT)
}

/// Runs the experiment with these arguments and writes its tables.
pub(crate) fn run(args: &[OsString], out: &mut dyn Write) -> Outcome {
    let options = Options::parse(command(), args)?;
    let open = |path: &Path| recording::open(path).map(|found| found.trace);
    let (weather, devices) = (model::trace(), open(&bundled::devices())?);
    let mut tables = vec![
        Some(cosmo::cloud(&weather).map_err(input)?),
        Some(cosmo::growing(&open(&bundled::recording("jacobi-16"))?).map_err(input)?),
        Some(gpus::gpus(&devices).map_err(input)?),
        gpus::corpus(&options)?,
    ];
    let skipped = tables[3].is_none().then(|| "corpus absent".to_string());
    if options.times {
        tables.push(Some(times(&weather).map_err(input)?));
    }
    let title = "A weather model whose cloud ranks grow slower, and six GPUs";
    let of = [&weather, &devices];
    options
        .files
        .write(title, || picture(of, title), || page(of))?;
    comparison::write(&tables, skipped.as_slice(), options.json, out)
}

/// Folds a window with one row for each group.
fn folded(
    timelines: &Timelines,
    by: GroupBy,
    op: Op,
    columns: usize,
    window: TimeRange,
) -> Folding<(Folder, Fold)> {
    let params = Folder::params().columns(columns).op(op).check()?;
    let folder = Folder::new(timelines, Groups::by(timelines, by), params)?;
    let fold = folder.fold(window, &Job::default())?;
    Ok((folder, fold))
}

fn timelines(trace: &Trace) -> Folding<Timelines> {
    Timelines::new(
        trace.view(),
        &RegionMap::by_name(trace.definitions())?,
        &Job::default(),
    )
}

fn times(trace: &Trace) -> Folding<Compared> {
    let timelines = timelines(trace)?;
    let (folder, mut fold) = folded(&timelines, GroupBy::All, Op::Max, 1920, model::SPAN)?;
    let mut scratch = folder.scratch();
    let begin = Instant::now();
    for _ in 0..100 {
        folder.refold(model::SPAN, &mut scratch, &mut fold, &Job::default())?;
    }
    let mut table = Compared::new("Times, on this machine", "published");
    table.row(
        "folding 40 streams into 1920 pixels, ms",
        "not published",
        (10.0 * begin.elapsed().as_secs_f64(), 3),
        "",
    );
    Ok(table)
}

/// Draws both cases, each with the operations that the slides compare.
fn picture([model, gpus]: [&Trace; 2], title: &str) -> Result<Scene, Failure> {
    let mut scenes = vec![pictures::headed(title, 1200, Theme::light())];
    let (of_model, of_gpus) = (
        timelines(model).map_err(input)?,
        timelines(gpus).map_err(input)?,
    );
    for (timelines, by, op, words) in [
        (
            &of_model,
            GroupBy::All,
            Op::Max,
            "max: what most of 40 ranks do",
        ),
        (
            &of_model,
            GroupBy::All,
            Op::Diff,
            "diff: where they differ, and what the fewest do there",
        ),
        (
            &of_gpus,
            GroupBy::Device,
            Op::Max,
            "max: what most of 14 streams do",
        ),
        (
            &of_gpus,
            GroupBy::Device,
            Op::Idle,
            "idle: what those do that do something",
        ),
    ] {
        let (folder, fold) = folded(timelines, by, op, 1000, timelines.range()).map_err(input)?;
        scenes.push(
            Picture::new(&folder, &fold)
                .map_err(failed)?
                .titled(words)
                .scene(),
        );
    }
    let width = scenes.iter().map(|scene| scene.width).max().unwrap_or(0);
    let height = scenes.iter().map(|scene| scene.height).sum();
    let mut all = Scene::new(width, height, Theme::light().paper).titled(title);
    let mut below = 0;
    for scene in &scenes {
        all.place(scene, [0.0, f64::from(below)]);
        below += scene.height;
    }
    Ok(all)
}

/// Returns the sections of both cases, with rows that unfold.
fn page([model, gpus]: [&Trace; 2]) -> Result<Vec<Section>, Failure> {
    let part = |trace, by, name| {
        let timelines = timelines(trace).map_err(input)?;
        let rows = (Groups::by(&timelines, by), None);
        pictures::timeline(
            (trace, &timelines),
            rows,
            (timelines.range(), false),
            name,
            pictures::More::default(),
        )
    };
    let model = part(
        model,
        GroupBy::All,
        ("40 ranks of a weather model", "model"),
    )?;
    let gpus = part(gpus, GroupBy::Device, ("84 streams of six GPUs", "devices"))?;
    Ok([model, gpus].concat())
}
