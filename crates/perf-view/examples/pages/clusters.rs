//! Pages of clusters of bursts and their tracking.

use super::{HOSTILE, Outcome, noise, save};
use perf_core::{Job, Nanos};
use perf_track::tracking::{Observation, Tracking};
use perf_track::trend::{Measured, Trends};
use perf_track::{Burst, Bursts, ClusterId, Dimension, Experiment, Labels, Scale, Thread};
use perf_view::{Page, Theme, track};
use std::error::Error;
use std::path::Path;
use std::time::Instant;

/// Work of a burst, its rate and the name of each phase, on 4 tasks. The last phase occurs with
/// more than 4 tasks only.
const PHASES: [(f64, f64, &str); 4] = [
    (6.4e9, 2.1, "solve"),
    (2.0e9, 1.2, "assemble"),
    (2.2e8, 1.6, HOSTILE[2]),
    (5.0e8, 0.6, "output"),
];

/// Returns the bursts of some tasks and the phase of each burst, 0 for outliers.
fn bursts(tasks: u32, steps: usize) -> Result<(Bursts, Vec<ClusterId>), Box<dyn Error>> {
    let mut bursts = Bursts::with_units([("instructions", ""), ("ipc", "")]);
    let mut labels = Vec::new();
    for process in 0..tasks {
        let thread = bursts.add_thread(Thread {
            process,
            ..Thread::default()
        })?;
        for step in 0..steps {
            let phases = if tasks > 4 { 4 } else { 3 };
            let cell = process as usize * steps + step;
            let (work, rate, name) = PHASES[step % phases];
            let alone = step % 97 == 96;
            let wide = if alone { 3.0 } else { 0.15 };
            // The work is divided among the tasks; the second phase slows down with more tasks, and
            // the third is replicated.
            let share = if step % phases == 2 {
                1.0
            } else {
                f64::from(tasks) / 4.0
            };
            let slow = if step % phases == 1 {
                (4.0 / f64::from(tasks)).powf(0.3)
            } else {
                1.0
            };
            let work = work / share * (wide * noise(cell, 1)).exp();
            let rate = rate * slow * (0.7 * wide * noise(cell, 2)).exp();
            let begin = Nanos(step as i64 * 20_000_000_000);
            let end = Nanos(begin.0 + (work / rate / 2.5) as i64);
            let before = Some(bursts.add_chain(&[name])?);
            let burst = Burst {
                thread,
                begin,
                end,
                before,
                ..Burst::default()
            };
            bursts.push(burst, &[work, rate])?;
            labels.push(ClusterId(if alone {
                0
            } else {
                step as u32 % phases as u32 + 1
            }));
        }
    }
    Ok((bursts, labels))
}

/// Tracks runs with increasing numbers of tasks.
fn through(runs: &[(&str, u32)], steps: usize) -> Result<track::Clusters, Box<dyn Error>> {
    let all: Result<Vec<_>, _> = runs
        .iter()
        .map(|(_, tasks)| bursts(*tasks, steps))
        .collect();
    let all = all?;
    let scale = Scale::params()
        .dimension(Dimension::new("instructions").log(true))
        .dimension(Dimension::new("ipc"));
    let every: Vec<&Bursts> = all.iter().map(|(bursts, _)| bursts).collect();
    let scaled = scale.check()?.fit(&every, &Job::default())?;
    let mut seen = Vec::new();
    let mut measured = Vec::new();
    for ((name, _), ((bursts, labels), of)) in runs.iter().zip(all.iter().zip(&scaled.experiments))
    {
        let experiment = Experiment::new(*name, bursts.clone(), Labels::new(labels.clone()))?;
        seen.push(Observation::of(&experiment, of.points()?, of.rows())?);
        measured.push(Measured::of(bursts, of.rows(), labels)?);
    }
    let job = Job::default();
    let tracking = Tracking::of(&seen, &Default::default(), &job)?;
    let trends = Trends::of(&tracking, measured)?;
    let labels: Vec<&[ClusterId]> = all.iter().map(|(_, labels)| labels.as_slice()).collect();
    Ok(track::Clusters::of(&tracking, &trends, &scaled, &labels)?)
}

const RUNS: [(&str, u32); 4] = [
    ("4 tasks", 4),
    ("8 tasks", 8),
    ("16 <tasks>", 16),
    ("32 tasks", 32),
];

/// Writes pages of clusters in four runs, and of 2.4 million bursts in two runs.
pub(super) fn tracked(out: &Path) -> Outcome {
    let found = through(&RUNS, 120)?;
    let begin = Instant::now();
    let section = track::View::new(&found).section(&Job::default())?;
    let page =
        Page::new("Four runs, synthetic").lead("Three phases, and a fourth from 8 tasks on.");
    save(
        out,
        "track.html",
        begin,
        page.with(section).html(&Job::default())?.as_bytes(),
    )?;
    for (name, theme) in [
        ("track.png", Theme::light()),
        ("track-dark.png", Theme::dark()),
    ] {
        let begin = Instant::now();
        let picture = track::Picture::new(&found)
            .titled("Phases from 4 to 32 tasks")
            .theme(theme);
        save(out, name, begin, &picture.scene().png()?)?;
        if theme == Theme::light() {
            save(
                out,
                "track.svg",
                begin,
                picture.clone().moving(true).scene().svg().as_bytes(),
            )?;
            let matrices = picture
                .matrices(0, 1)
                .ok_or("experiments that were compared")?;
            save(out, "track-matrices.png", begin, &matrices.png()?)?;
            let trend = picture.trend("ipc").ok_or("a metric")?;
            save(out, "track-trend.png", begin, &trend.png()?)?;
        }
    }
    let found = through(&[("64 tasks", 64), ("128 tasks", 128)], 12_500)?;
    let begin = Instant::now();
    let section = track::View::new(&found).section(&Job::default())?;
    let page = Page::new("2,400,000 bursts").with(section);
    save(
        out,
        "track-many.html",
        begin,
        page.html(&Job::default())?.as_bytes(),
    )
}
