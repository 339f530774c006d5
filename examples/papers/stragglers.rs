//! Reproduces the what-if analysis of "Understanding Stragglers in Large Model Training Using
//! What-if Analysis" (OSDI 2025): the slowdown of a training job, and the part of it that each
//! stage, rank and operation causes. Generated pipelines have known answers; the two published jobs
//! are in the corpus.
//!
//! `cargo run --release --example stragglers -- --png stragglers.png`

#[path = "comparison.rs"]
mod comparison;
#[path = "stragglers/pipeline.rs"]
mod pipeline;
#[path = "stragglers/published.rs"]
mod published;

use comparison::{Compared, Options};
use perfkit::core::Job;
use perfkit::view::{Bars, Scene, Section, Unit};
use perfkit::wait::training::TrainingJob;
use perfkit_cli::failure::{self, Failure, Outcome, input};
use pipeline::Slow;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

const WHAT: &str = "Redoes the what-if analysis of training jobs on generated pipelines with a slow part, and on the two
jobs that were published.";

fn main() -> ExitCode {
    failure::main(command(), run)
}

fn command() -> clap::Command {
    comparison::command("stragglers", WHAT)
}

/// Runs the experiment with these arguments and writes its tables.
pub(crate) fn run(args: &[OsString], out: &mut dyn Write) -> Outcome {
    let options = Options::parse(command(), args)?;
    let mut tables = Vec::new();
    for slow in Slow::ALL {
        tables.push(Some(pipeline::compared(slow).map_err(input)?));
    }
    let of_corpus = published::jobs(&options)?;
    let skipped = of_corpus.is_empty().then(|| "corpus absent".to_string());
    tables.extend(of_corpus.into_iter().map(Some));
    if options.times {
        tables.push(Some(times().map_err(input)?));
    }
    let title = "Time that each part of a pipeline with a slow worker loses";
    options.files.write(title, || picture(title), page)?;
    comparison::write(&tables, skipped.as_slice(), options.json, out)
}

fn times() -> perfkit::wait::Result<Compared> {
    let training = TrainingJob::of(pipeline::operations(Slow::Worker), &Job::default())?;
    let begin = Instant::now();
    training.slowdowns(&Job::default())?;
    let mut table = Compared::new("Times, on this machine", "published");
    table.row(
        format!(
            "slowdowns of {} operations, ms",
            training.operations().len()
        ),
        "not stated",
        (1e3 * begin.elapsed().as_secs_f64(), 2),
        "",
    );
    Ok(table)
}

/// Draws the time that each part loses.
fn picture(title: &str) -> Result<Scene, Failure> {
    let mut bars = Bars::new(Unit::Nanos).titled(title);
    let training = TrainingJob::of(pipeline::operations(Slow::Worker), &Job::default());
    let training = training.map_err(input)?;
    for culprit in training.culprits(&Job::default()).map_err(input)? {
        bars.push(culprit.group.to_string(), culprit.lost.0 as f64);
    }
    Ok(bars.scene())
}

/// Returns the slowdowns of the pipeline with a slow worker as sections of a page.
fn page() -> Result<Vec<Section>, Failure> {
    let training = TrainingJob::of(pipeline::operations(Slow::Worker), &Job::default());
    let found = training.and_then(|it| it.slowdowns(&Job::default()));
    let found = found.map_err(input)?;
    Ok(vec![
        Section::table("parts", "Slowdown by part", &found.groups_table()),
        Section::table("steps", "Steps", &found.steps_table()),
    ])
}
