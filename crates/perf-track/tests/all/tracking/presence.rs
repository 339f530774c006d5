//! Occurrence of tracked regions: start-up, and experiments that have them in no cluster.

use perf_core::{Job, Nanos};
use perf_track::tracking::{Event, Observation, Occurrence, TrackedRegion, Tracking};
use perf_track::{Burst, Bursts, ClusterId, Experiment, Kind, Labels, Points, Thread};

const THREADS: u32 = 4;

/// Bursts that each thread computes one after the other.
#[derive(Clone, Copy)]
struct Phase {
    /// Call site.
    site: &'static str,
    /// Position in space.
    at: f64,
    /// Cluster.
    cluster: u32,
    /// Kind of the bursts.
    kind: Kind,
    /// Number of bursts of each thread.
    times: usize,
    /// Number of threads with these bursts, the first ones.
    threads: u32,
}

fn phase(site: &'static str, at: f64, cluster: u32, times: usize) -> Phase {
    Phase {
        site,
        at,
        cluster,
        kind: Kind::Complete,
        times,
        threads: THREADS,
    }
}

fn experiment(phases: &[Phase], threads: u32) -> (Experiment, Vec<f64>, Vec<u32>) {
    let mut bursts = Bursts::default();
    let (mut labels, mut kinds, mut points, mut rows) = (vec![], vec![], vec![], vec![]);
    for process in 0..threads {
        let of = Thread {
            process,
            ..Thread::default()
        };
        let thread = bursts.add_thread(of).expect("few threads");
        let mut begin = 0;
        for phase in phases.iter().filter(|phase| process < phase.threads) {
            let chain = bursts.add_chain(&[phase.site]).expect("few chains");
            for turn in 0..phase.times {
                let burst = Burst {
                    thread,
                    begin: Nanos(begin),
                    end: Nanos(begin + 900),
                    before: Some(chain),
                    after: None,
                    ..Burst::default()
                };
                bursts.push(burst, &[]).expect("in order");
                begin += 1_000;
                labels.push(ClusterId(phase.cluster));
                kinds.push(phase.kind);
                if phase.kind == Kind::Complete {
                    rows.push(labels.len() as u32 - 1);
                    points.extend([phase.at + 0.001 * turn as f64, phase.at]);
                }
            }
        }
    }
    bursts.set_kinds(kinds).expect("one a burst");
    let experiment = Experiment::new("", bursts, Labels::new(labels)).expect("one label a burst");
    (experiment, points, rows)
}

fn track(experiments: &[&[Phase]], recording: Option<usize>) -> Tracking {
    track_scaled(experiments, recording, false)
}

/// Tracks experiments, with `scaled` each on twice the threads of the previous one.
fn track_scaled(experiments: &[&[Phase]], recording: Option<usize>, scaled: bool) -> Tracking {
    let made: Vec<_> = experiments
        .iter()
        .enumerate()
        .map(|(at, phases)| experiment(phases, if scaled { THREADS << at } else { THREADS }))
        .collect();
    let seen = made.iter().map(|(experiment, points, rows)| {
        let points = Points::new(points, 2).expect("finite");
        let seen = Observation::of(experiment, points, rows).expect("its rows");
        match recording {
            Some(recording) => seen.part_of(recording),
            None => seen,
        }
    });
    let params = Tracking::params().check().expect("the defaults");
    let seen: Vec<_> = seen.collect();
    Tracking::of(&seen, &params, &Job::default()).expect("nobody cancels")
}

/// Returns the tracked region of a cluster of the last experiment.
fn region(tracking: &Tracking, cluster: u32) -> &TrackedRegion {
    let has = |region: &&TrackedRegion| {
        let last = region.members.last();
        last.is_some_and(|last| last.contains(&ClusterId(cluster)))
    };
    tracking.regions.iter().find(has).expect("it is tracked")
}

const A: Phase = Phase {
    site: "a",
    at: 0.1,
    cluster: 1,
    kind: Kind::Complete,
    times: 12,
    threads: THREADS,
};

#[test]
fn regions_that_were_noise_before_are_not_born() {
    let later = [A, phase("b", 0.9, 2, 6)];
    for (kind, noise, dropped) in [(Kind::Complete, 24, 0), (Kind::Duration, 0, 24)] {
        let hidden = Phase {
            kind,
            ..phase("b", 0.7, 0, 6)
        };
        let before = [A, hidden];
        let tracking = track(&[&before, &later, &later], None);
        let expected = |experiment| Event::Unclustered {
            experiment,
            noise,
            dropped,
        };
        assert_eq!(region(&tracking, 2).events, [expected(0)]);
        // The same for a region that ends.
        let ended = track(&[&later, &later, &before], None);
        let ends = ended.regions.iter().find(|of| of.experiments() == 2);
        assert_eq!(ends.expect("it is tracked").events, [expected(2)]);
    }
}

#[test]
fn regions_absent_before_are_born() {
    let later = [A, phase("b", 0.9, 2, 6)];
    // None of its bursts, too few of them, and those of another call site.
    let other = phase("c", 0.9, 0, 6);
    let few = phase("b", 0.9, 0, 2);
    for before in [vec![A], vec![A, few], vec![A, other]] {
        let tracking = track(&[&before, &later], None);
        assert_eq!(
            region(&tracking, 2).events,
            [Event::Birth { experiment: 1 }]
        );
    }
}

/// A region on few threads of a small run and on all threads of a large one has no trend, but one on the
/// first thread of each run has.
#[test]
fn regions_on_few_threads_have_no_trend() {
    let on = |threads: u32| {
        let partial = Phase {
            threads,
            ..phase("b", 0.9, 2, 6)
        };
        let serial = Phase {
            threads: 1,
            ..phase("c", 0.5, 3, 6)
        };
        let all = Phase {
            threads: u32::MAX,
            ..A
        };
        [all, partial, serial]
    };
    let (few, many) = (on(1), on(8));
    let tracking = track_scaled(&[&few, &many], None, true);
    let seen = |cluster| region(&tracking, cluster).occurrence;
    assert_eq!(seen(1), Occurrence::Repeated);
    assert_eq!(seen(2), Occurrence::FewThreads);
    assert_eq!(seen(3), Occurrence::Repeated);
    let tracking = track_scaled(&[&many, &many], None, true);
    assert_eq!(region(&tracking, 2).occurrence, Occurrence::Repeated);
}

/// A region that one thread of many repeats is not repeated.
#[test]
fn repetition_is_that_of_most_threads() {
    let straggler = Phase {
        threads: 1,
        ..phase("checkpoint", 0.7, 4, 1)
    };
    let all = [A, phase("checkpoint", 0.7, 4, 1), straggler];
    let tracking = track(&[&all, &all], None);
    assert_eq!(region(&tracking, 4).occurrence, Occurrence::Once);
}

#[test]
fn start_up_and_single_calls_have_no_trend() {
    let all = [
        phase("start", 0.5, 3, 3),
        A,
        phase("checkpoint", 0.7, 4, 1),
        phase("b", 0.9, 2, 6),
    ];
    let tracking = track(&[&all, &all, &all], None);
    let seen = |cluster| {
        let region = region(&tracking, cluster);
        (region.experiments(), region.occurrence, region.is_reliable)
    };
    assert_eq!(seen(1), (3, Occurrence::Repeated, true));
    assert_eq!(seen(2), (3, Occurrence::Repeated, true));
    assert_eq!(seen(3), (3, Occurrence::StartUp, false));
    assert_eq!(seen(4), (3, Occurrence::Once, false));
    // A region that occurs once in each window of a recording is repeated.
    let windows = track(&[&all, &all, &all], Some(0));
    assert_eq!(region(&windows, 4).occurrence, Occurrence::Repeated);
    // Without repeated regions there is no main loop.
    let once = [phase("a", 0.1, 1, 1), phase("b", 0.9, 2, 1)];
    let tracking = track(&[&once, &once], None);
    let all = tracking.regions.iter();
    assert!(
        all.map(|of| of.occurrence)
            .all(|of| of == Occurrence::Repeated)
    );
}
