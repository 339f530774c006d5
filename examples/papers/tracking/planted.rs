//! Twelve planted phases in two experiments, and the number of them that each evaluator recognises.

use super::Bursts;
use super::comparison::Compared;
use perf_testdata::clusters::{PHASES, phases};
use perfkit::core::Job;
use perfkit::track::cluster::{Clusterer, Dbscan};
use perfkit::track::tracking::{Mode, Tracking};
use perfkit::track::{Points, Result as Tracked};
use std::time::Instant;

/// Change from one experiment to the next.
#[derive(Clone, Copy, PartialEq)]
enum Change {
    None,
    Displaced,
    Outlier,
    Swapped,
    Ends,
}

const CHANGES: [(Change, &str); 5] = [
    (Change::None, "nothing moves"),
    (Change::Displaced, "all move by (0.3, -0.25)"),
    (Change::Outlier, "one burst lies far away"),
    (Change::Swapped, "two change places"),
    (Change::Ends, "one ends, one begins"),
];

/// Returns twelve phases of 3000 bursts, clustered separately in each experiment, and the true
/// phase of each cluster.
fn experiment(number: u64, change: Change) -> Tracked<(Bursts, Vec<u32>)> {
    let mut made = phases(3000, number + 1);
    let is_second = number == 1;
    let [x, y] = if is_second && change == Change::Displaced {
        [0.3, -0.25]
    } else {
        [0.0; 2]
    };
    if is_second && change == Change::Outlier {
        made.values.extend([2.5, 2.5]);
        made.truth.push(0);
    }
    let swap = is_second && change == Change::Swapped;
    let without = match (change, is_second) {
        (Change::Ends, false) => 9,
        (Change::Ends, true) => 3,
        _ => u32::MAX,
    };
    // Swap phases 1 and 2, which are identified by their callers.
    let is = |truth: u32| match truth {
        1 | 2 if swap => 3 - truth,
        other => other,
    };
    let kept = made
        .values
        .chunks_exact(2)
        .zip(&made.truth)
        .filter(|one| *one.1 != without);
    let (points, truth): (Vec<[f64; 2]>, Vec<u32>) = kept
        .map(|(at, truth)| ([at[0] + x, at[1] + y], is(*truth)))
        .unzip();
    let points = points.concat();
    let dbscan = Dbscan::new(Dbscan::params().eps(0.02).min_points(10).check()?);
    let labels = dbscan.cluster(Points::new(&points, 2)?, &Job::default())?;
    let labels = labels.by_weight(&vec![1.0; truth.len()])?;
    let most = |cluster: u32| {
        let of = |phase: u32| {
            labels
                .as_slice()
                .iter()
                .zip(&truth)
                .filter(|one| one.0.0 == cluster && *one.1 == phase)
                .count()
        };
        (0..=PHASES as u32)
            .max_by_key(|phase| of(*phase))
            .unwrap_or(0)
    };
    let is_what = (1..=labels.clusters() as u32).map(most).collect();
    const NAMES: [&str; PHASES + 1] = [
        "", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l",
    ];
    let callers = truth
        .iter()
        .map(|phase| (*phase > 0).then_some(*phase))
        .collect();
    let labels = labels.as_slice().to_vec();
    Ok((
        Bursts {
            points,
            labels,
            callers: Some((NAMES.to_vec(), callers)),
        },
        is_what,
    ))
}

/// Compares the number of phases that are exactly one tracked region in both experiments.
pub(super) fn planted(times: bool) -> Tracked<Compared> {
    let mut table = Compared::new(
        "Planted: regions that are one phase in both experiments, of twelve phases",
        "planted",
    );
    let published = || Tracking::params().mode(Mode::Published);
    let evaluators = [
        ("published, distance", published()),
        (
            "published, distance and callers",
            published().use_callers(true),
        ),
        (
            "optimal, without callers",
            Tracking::params().use_callers(false),
        ),
        ("optimal", Tracking::params()),
    ];
    let begin = Instant::now();
    for (change, about) in CHANGES {
        let ((one, first), (other, second)) = (experiment(0, change)?, experiment(1, change)?);
        // In the published method each experiment is scaled to 0 to 1 separately; the alternative
        // scales both together.
        let own = [one.stretched(), other.stretched()];
        let (own, joint) = (
            [own[0].seen(128)?, own[1].seen(256)?],
            [one.seen(128)?, other.seen(256)?],
        );
        for (name, params) in &evaluators {
            let params = params.clone().check()?;
            let seen = if params.mode() == Mode::Published {
                &own
            } else {
                &joint
            };
            let tracking = Tracking::of(seen, &params, &Job::default())?;
            let right = tracking.regions.iter().filter(|region| {
                let experiments = region.members.iter().zip([&first, &second]);
                let truths = experiments
                    .flat_map(|(members, is)| members.iter().filter_map(|id| is.get(id.index()?)));
                let all: Vec<u32> = truths.copied().collect();
                let lone = change == Change::Ends && [3, 9].contains(&all[0]);
                all.iter().all(|one| *one == all[0]) && all.len() == if lone { 1 } else { 2 }
            });
            let why = match (change, *name) {
                (Change::Outlier, "published, distance") => {
                    "each experiment goes from 0 to 1 by itself: one burst that lies far away displaces all others"
                }
                (Change::Swapped, "published, distance" | "optimal, without callers") => {
                    "only callers tell that two changed places"
                }
                (Change::Ends, name) if name.starts_with("published") => {
                    "what is nearest always exists: a phase that ended is tied to another, and one that begins alike"
                }
                _ => "",
            };
            table.row(
                format!("{about}: {name}"),
                PHASES.to_string(),
                right.count(),
                why,
            );
        }
    }
    if times {
        let each = begin.elapsed().as_secs_f64() / 20.0;
        table.row(
            "clustering and tracking two experiments, s",
            "0.24",
            (each, 3),
            "0.24 s: the established tools on the same machine, 128 and 256 tasks, complete run",
        );
    }
    Ok(table)
}
