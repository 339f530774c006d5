//! Results of two runs with three phases, one of which has a name that pages must escape.

use perf_core::{Job, Nanos};
use perf_track::tracking::{Observation, Tracking};
use perf_track::trend::{Measured, Trends};
use perf_track::{Burst, Bursts, ClusterId, Dimension, Experiment, Labels, Scale, Thread};
use perf_view::track::Clusters;

/// Phases: work of a burst, and the caller before it.
const PHASES: [(f64, &str); 3] = [
    (6.4e9, "solve"),
    (8.0e8, "exchange"),
    (1.5e8, "<img src=x onerror=alert(1)>"),
];

/// Returns bursts of some tasks, each of which repeats three phases; one burst of each task is an
/// outlier.
pub fn bursts(tasks: u32, steps: u32) -> Bursts {
    let mut bursts = Bursts::with_units([("work", ""), ("rate", "")]);
    for process in 0..tasks {
        let thread = Thread {
            process,
            ..Thread::default()
        };
        let thread = bursts.add_thread(thread).expect("few threads");
        for step in 0..steps {
            let (work, caller) = PHASES[step as usize % 3];
            let noise = 1.0 + 0.002 * f64::from((step * 37 + process * 11) % 13);
            let work = if step == 4 {
                3.1e7
            } else {
                work * noise / f64::from(tasks)
            };
            let begin = Nanos(i64::from(step) * 10_000_000_000);
            let end = Nanos(begin.0 + work as i64);
            let before = bursts.add_chain(&[caller]).expect("few callers");
            let burst = Burst {
                thread,
                begin,
                end,
                before: Some(before),
                ..Burst::default()
            };
            bursts
                .push(burst, &[work, 1.0 + noise])
                .expect("a good burst");
        }
    }
    bursts
}

/// Returns the phase of each burst, found by its work.
fn labels(bursts: &Bursts, tasks: u32) -> Vec<ClusterId> {
    let work = &bursts.column("work").expect("it has one").values;
    let of = |work: &f64| {
        let near = |phase: &(f64, &str)| (work * f64::from(tasks) / phase.0 - 1.0).abs() < 0.1;
        ClusterId(PHASES.iter().position(near).map_or(0, |at| at as u32 + 1))
    };
    work.iter().map(of).collect()
}

/// Returns two tracked experiments.
pub fn clusters(names: [&str; 2], steps: u32) -> Clusters {
    let tasks = [4, 8];
    let all = tasks.map(|tasks| bursts(tasks, steps));
    let scale = Scale::params()
        .dimension(Dimension::new("work").log(true))
        .dimension(Dimension::new("rate"));
    let scaled = scale
        .check()
        .expect("good")
        .fit(&[&all[0], &all[1]], &Job::default())
        .expect("it fits");
    let of: Vec<Vec<ClusterId>> = all.iter().zip(tasks).map(|(b, t)| labels(b, t)).collect();
    let experiments: Vec<Experiment> = all
        .iter()
        .zip(&of)
        .zip(names)
        .map(|((bursts, of), name)| {
            Experiment::new(name, bursts.clone(), Labels::new(of.clone())).expect("a label a burst")
        })
        .collect();
    let seen: Vec<_> = experiments
        .iter()
        .zip(&scaled.experiments)
        .map(|(experiment, of)| {
            let points = of.points().expect("finite");
            Observation::of(experiment, points, of.rows()).expect("points of the experiment")
        })
        .collect();
    let params = Tracking::params().check().expect("good");
    let tracking = Tracking::of(&seen, &params, &Job::default()).expect("it tracks");
    assert_eq!(tracking.regions.len(), 3);
    let measured = experiments.iter().zip(&scaled.experiments).zip(&of);
    let measured = measured.map(|((experiment, points), of)| {
        Measured::of(experiment.bursts(), points.rows(), of).expect("same length")
    });
    let trends = Trends::of(&tracking, measured.collect()).expect("two experiments");
    let of: Vec<&[ClusterId]> = of.iter().map(Vec::as_slice).collect();
    Clusters::of(&tracking, &trends, &scaled, &of).expect("they belong together")
}
