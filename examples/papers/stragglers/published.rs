//! The two training jobs of the artifact of the paper, from the corpus.

use super::comparison::{Compared, Options};
use perfkit::core::Job;
use perfkit::wait::training::{Slowdowns, TrainingJob};
use perfkit_cli::failure::{Failure, input};
use perfkit_cli::recording;
use serde_json::Value;

/// Returns a table for each job; none without the corpus.
pub(super) fn jobs(options: &Options) -> Result<Vec<Compared>, Failure> {
    let Some(path) = options.corpus("stragglers/facts.json") else {
        return Ok(Vec::new());
    };
    let text = std::fs::read_to_string(path).map_err(input)?;
    let facts: Value = serde_json::from_str(&text).map_err(input)?;
    let mut tables = Vec::new();
    for (name, facts) in facts["traces"].as_object().into_iter().flatten() {
        let file = facts["file"].as_str().unwrap_or_default();
        let Some(path) = options.corpus(&format!("stragglers/{file}")) else {
            continue;
        };
        let trace = recording::open(&path)?.trace;
        let training = TrainingJob::of_trace(trace.view(), &Job::default()).map_err(input)?;
        if let Some(training) = training {
            let found = training.slowdowns(&Job::default()).map_err(input)?;
            tables.push(compared(name, facts, &found));
        }
    }
    Ok(tables)
}

/// Compares the slowdowns of a job with the published ones.
fn compared(name: &str, facts: &Value, found: &Slowdowns) -> Compared {
    let size = &facts["job"]["world_size"];
    let mut table = Compared::new(
        format!("{name}: a training job on {size} GPUs"),
        "published",
    );
    let published = |value: &Value, digits: usize| {
        let number = value.as_f64();
        number.map_or_else(|| "not stated".into(), |it| format!("{it:.digits$}"))
    };
    let mut row = |what: String, theirs: &Value, ours: f64, digits: usize| {
        table.row(what, published(theirs, digits), (ours, digits), "");
    };
    let seconds = |time: fn(&perfkit::wait::training::StepTimes) -> i64| {
        found.steps.iter().map(time).sum::<i64>() as f64 / 1e9
    };
    row(
        "all steps as replayed, s".into(),
        &facts["sum_replayed"],
        seconds(|it| it.replayed.0),
        2,
    );
    row(
        "all steps with equal durations, s".into(),
        &facts["sum_ideal"],
        seconds(|it| it.ideal.0),
        2,
    );
    row("slowdown".into(), &facts["slowdown"], found.total, 4);
    for (stage, slowdown) in &found.stages {
        row(
            format!("  of stage {stage}"),
            &facts["by_stage"][stage.to_string()],
            *slowdown,
            4,
        );
    }
    for (rank, slowdown) in &found.data_ranks {
        let theirs = &facts["by_dp_rank"][rank.to_string()];
        row(
            format!("  of data-parallel rank {rank}"),
            theirs,
            *slowdown,
            4,
        );
    }
    for (kind, slowdown) in &found.operations {
        row(
            format!("  of {kind}"),
            &facts["by_operation"][kind],
            *slowdown,
            4,
        );
    }
    for (what, theirs, ours) in [
        (
            "share of the slowest 3 % of the workers",
            &facts["Mw"],
            found.worker_share,
        ),
        (
            "share of the last stage",
            &facts["Ms"],
            found.last_stage_share,
        ),
    ] {
        row(what.into(), theirs, ours.unwrap_or(f64::NAN), 4);
    }
    table
}
