//! Real series: a solver on 4, 9 and 16 ranks with planted work, and EPOCH on 2, 4 and 16 tasks
//! compared with the results of the established tools.

use super::comparison::{Compared, Options};
use perf_testdata::bundled::recording as bundled;
use perfkit::core::{Job, Nanos};
use perfkit::track::tracking::TrackedRegion;
use perfkit::view::track::{Picture, View};
use perfkit_cli::failure::{Failure, Outcome, input};
use perfkit_cli::phases::burst_tables;
use perfkit_cli::phases::experiments::Axis;
use perfkit_cli::phases::series::{ClusterOptions, Series, track};
use perfkit_cli::pictures::{self, Files, failed};

const TITLE: &str = "The phases of a solver on 4, 9 and 16 ranks";

/// Returns the bundled series.
pub(super) fn solver() -> Result<Series, Failure> {
    let options = ClusterOptions {
        axes: Axis::list("duration,work")?,
        eps: Some(0.04),
        min_duration: Some(Nanos(20_000)),
        ..ClusterOptions::default()
    };
    track(
        &["jacobi-4", "jacobi-9", "jacobi-16"].map(bundled),
        &options,
    )
}

/// Returns the tracked regions that occur in all experiments, the one with the most time first.
fn throughout(series: &Series) -> impl Iterator<Item = &TrackedRegion> {
    let experiments = series.experiments.len();
    series
        .tracking
        .regions
        .iter()
        .filter(move |region| region.experiments() == experiments)
}

/// Compares the scaling of work. All ranks share one grid of cells, so the work of a burst of each
/// phase is inversely proportional to the number of ranks.
pub(super) fn scaling(series: &Series) -> Result<Compared, Failure> {
    let mut table = Compared::new(
        "A real scaling series: a solver on 4, 9 and 16 ranks (jacobi)",
        "planted",
    );
    let all: Vec<_> = throughout(series).collect();
    table.row("phases in all three runs", "3", all.len(), "");
    for region in &all {
        let model = series
            .trends
            .fit(region.id, "work", 0.95, &Job::default())
            .map_err(input)?;
        let about = format!(
            "region {}: work of a burst goes as ranks to the power of",
            region.id.0
        );
        let why = match region.id.0 {
            1 => {
                "it grows from iteration to iteration, and how many of its bursts are in the cluster differs from run to run"
            }
            _ => "",
        };
        table.row(
            about,
            "-1.00",
            (model.map_or(f64::NAN, |model| model.exponent(0)), 3),
            why,
        );
    }
    for experiment in &series.tracking.experiments {
        let why = "on 16 ranks, what microphysics does at first is a cluster of its own";
        let balance = experiment.balance.unwrap_or_default();
        let clusters = balance.clustered().time.0.max(1) as f64;
        let tracked = balance.tracked.time.0 as f64 / clusters;
        table.row(
            format!("{}: tracked % of the time in clusters", experiment.name),
            "100",
            (100.0 * tracked, 1),
            if tracked < 0.995 { why } else { "" },
        );
        table.row(
            format!("{}: tracked % of the CPU time", experiment.name),
            "not planted",
            (100.0 * balance.share(balance.tracked), 1),
            "the rest is noise, bursts below 20 us, and bursts whose work is not counted",
        );
    }
    Ok(table)
}

/// Published results of the established tools on 2, 4 and 16 tasks, for bursts of at least 1 ms,
/// eps 0.04 and 4 points.
struct Known {
    /// Number of tasks.
    tasks: u32,
    /// Number of clusters, as printed.
    clusters: &'static str,
    noise: &'static str,
    score: &'static str,
    /// Dominant cluster: number of bursts, and the milliseconds, 1e9 instructions and IPC of a
    /// burst.
    dominant: [&'static str; 4],
}

const KNOWN: [Known; 3] = [
    Known {
        tasks: 2,
        clusters: "7",
        noise: "8.7",
        score: "0.983",
        dominant: ["22", "878", "3.46", "1.88"],
    },
    Known {
        tasks: 4,
        clusters: "10",
        noise: "0.8",
        score: "0.923",
        dominant: ["44", "434", "1.73", "1.90"],
    },
    Known {
        tasks: 16,
        clusters: "19",
        noise: "0.06",
        score: "0.739",
        dominant: ["160", "104", "0.412", "1.88"],
    },
];

/// Compares a plasma code, clustered and tracked from its traces with the published parameters of
/// each step.
pub(super) fn epoch(options: &Options) -> Result<Option<Compared>, Failure> {
    let traces =
        [2, 4, 16].map(|tasks| options.corpus(&format!("paraver/epoch/epoch_{tasks}proc.prv.gz")));
    let traces: Option<Vec<_>> = traces.into_iter().collect();
    let (Some(traces), Some(definition)) =
        (traces, options.corpus("paraver/reference/epoch1ms.xml"))
    else {
        return Ok(None);
    };
    let options = ClusterOptions {
        like: Some(burst_tables::definition(&definition)?),
        ..ClusterOptions::default()
    };
    let series = track(&traces, &options)?;
    let mut table = Compared::new(
        "EPOCH on 2, 4 and 16 tasks, every step as published",
        "BSC tools",
    );
    for ((known, clustered), found) in KNOWN
        .iter()
        .zip(&series.experiments)
        .zip(&series.tracking.experiments)
    {
        let about = |what: &str| format!("{} tasks: {what}", known.tasks);
        let all = found.clustered_time + found.noise_time;
        table.row(about("clusters"), known.clusters, found.clusters, "");
        table.row(
            about("% of the time in noise"),
            known.noise,
            (100.0 * found.noise_time / all, 2),
            "",
        );
        table.row(
            about("SPMD score"),
            known.score,
            (found.score.unwrap_or(f64::NAN), 4),
            "",
        );
        let first: Vec<usize> = clustered
            .rows
            .iter()
            .zip(&clustered.labels)
            .filter(|one| one.1.0 == 1)
            .map(|one| *one.0 as usize)
            .collect();
        let bursts = clustered.experiment.bursts();
        let mean = |values: &[f64]| {
            first.iter().filter_map(|row| values.get(*row)).sum::<f64>() / first.len() as f64
        };
        let column = |name: &str| {
            let column = bursts.columns().iter().find(|column| column.name == name);
            column.map_or(f64::NAN, |column| mean(&column.values))
        };
        let [count, time, instructions, ipc] = known.dominant;
        table.row(
            about("bursts of the dominant cluster"),
            count,
            first.len(),
            "",
        );
        table.row(
            about("  ms a burst"),
            time,
            (mean(&bursts.durations()) / 1e6, 1),
            "",
        );
        table.row(
            about("  1e9 instructions a burst"),
            instructions,
            (column("instructions") / 1e9, 3),
            "",
        );
        table.row(about("  instructions a cycle"), ipc, (column("ipc"), 3), "");
    }
    let why = "published for a longer series that contains these three";
    table.row(
        "regions, by distance and sequences",
        "8",
        series.tracking.regions.len(),
        why,
    );
    let optimal = ClusterOptions {
        eps: Some(0.04),
        min_points: Some(4),
        min_duration: Some(Nanos(1_000_000)),
        axes: Axis::list("ipc,instructions")?,
        ..ClusterOptions::default()
    };
    let optimal = track(&traces, &optimal)?;
    let why = "one space for all runs; callers tell apart what clusters on 2 tasks mix, and what begins or ends is a region, too";
    table.row(
        "regions, by optimal assignment",
        "not published",
        optimal.tracking.regions.len(),
        why,
    );
    table.row(
        "  regions in all three runs",
        "not published",
        throughout(&optimal).count(),
        "",
    );
    Ok(Some(table))
}

/// Draws the experiments of the solver and the trends of its phases.
pub(super) fn draw(files: &Files, series: &Series) -> Outcome {
    if files.is_empty() {
        return Ok(());
    }
    let found = pictures::series(series)?;
    let scene = || Ok(Picture::new(&found).titled(TITLE).scene());
    let section = || {
        View::new(&found)
            .named(TITLE, "phases")
            .section(&Job::default())
    };
    files.write(TITLE, scene, || Ok(vec![section().map_err(failed)?]))
}
