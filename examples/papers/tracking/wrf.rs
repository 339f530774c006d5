//! WRF on 128 and 256 tasks: the cross-classification of the paper, and the tracked regions that
//! follow from it.

use super::Bursts;
use super::comparison::Compared;
use perfkit::core::Job;
use perfkit::track::tracking::{Mode, Threshold, TrackParams, Tracking};
use perfkit::track::{ClusterId, Result as Tracked};

/// For each cluster of one experiment: clusters of the other one, with the percentage of bursts
/// nearest to them.
type Cross = [&'static [(u32, f64)]; 6];

/// Fig. 3: from 128 to 256 tasks. The paper does not print the values of clusters after column 6.
const THERE: Cross = [
    &[(1, 100.0)],
    &[(2, 78.08)],
    &[(1, 67.58), (3, 32.42)],
    &[(3, 0.2), (6, 99.8)],
    &[(5, 100.0)],
    &[(3, 100.0)],
];
const BACK: Cross = [
    &[(1, 0.78), (3, 99.22)],
    &[(2, 45.93)],
    &[(3, 47.27), (6, 52.73)],
    &[(4, 100.0)],
    &[(5, 100.0)],
    &[(4, 100.0)],
];
/// Line of the call before the bursts of clusters 1 to 5, in both runs.
const LINES: [&str; 5] = ["4939", "4111 and 6060", "6474", "2472", "6474"];

/// Returns bursts with the published nearest neighbours: 20 000 for each cluster. Each share of
/// them has a position of its own, with one burst of the other experiment. Unpublished shares are
/// distributed over four more clusters.
fn as_printed() -> [Bursts; 2] {
    let [mut a, mut b] = [Bursts::default(), Bursts::default()];
    let mut site = 0;
    for (cross, is_back) in [(&THERE, false), (&BACK, true)] {
        for (from, row) in (1..).zip(cross) {
            let rest = 100.0 - row.iter().map(|one| one.1).sum::<f64>();
            let others = (7..11)
                .map(|to| (to, rest / 4.0))
                .filter(|one| one.1 > 1e-9);
            for (to, percent) in row.iter().copied().chain(others) {
                let count = (200.0 * percent).round() as usize;
                let (own, other) = if is_back {
                    (&mut b, &mut a)
                } else {
                    (&mut a, &mut b)
                };
                own.at(site, count, from);
                other.at(site, 1, to);
                site += 1;
            }
        }
    }
    for cluster in 7..11 {
        a.at(site, 100, cluster);
        b.at(site, 100, cluster);
        site += 1;
    }
    for experiment in [&mut a, &mut b] {
        let line = |label: &ClusterId| LINES.get(label.0 as usize - 1).map(|_| label.0 - 1);
        experiment.callers = Some((LINES.to_vec(), experiment.labels.iter().map(line).collect()));
    }
    [a, b]
}

pub(super) fn wrf() -> Tracked<Compared> {
    let [a, b] = as_printed();
    let seen = [a.seen(128)?, b.seen(256)?];
    let track = |params: TrackParams| {
        Tracking::of(
            &seen,
            &params.mode(Mode::Published).check()?,
            &Job::default(),
        )
    };
    let tracking = track(Tracking::params())?;
    let mut table = Compared::new(
        "WRF on 128 and 256 tasks: % of the bursts of a cluster nearest to each cluster",
        "published",
    );
    let row = |all: &[(u32, f64)]| {
        let all = all
            .iter()
            .map(|(to, percent)| format!("{to}: {percent:.2}"));
        all.collect::<Vec<_>>().join(", ")
    };
    for (about, cross, side) in [("128 into 256", THERE, 0), ("256 into 128", BACK, 1)] {
        for (from, published) in (1..).zip(cross) {
            let found = tracking.pair(0, 1).map(|pair| &pair.cross[side]);
            let of = |to| {
                found
                    .and_then(|cross| cross.get(ClusterId(from), ClusterId(to)))
                    .unwrap_or(0.0)
            };
            // One burst in 20 000 only marks a position for the other experiment.
            let measured: Vec<_> = (1..7)
                .map(|to| (to, 100.0 * of(to)))
                .filter(|one| one.1 > 0.05)
                .collect();
            let why = if from == 2 {
                "columns beyond 6 are not printed"
            } else {
                ""
            };
            table.row(
                format!("{about}, cluster {from}"),
                row(published),
                row(&measured),
                why,
            );
        }
    }
    for (about, params) in [
        ("links of at least 15 %", Tracking::params()),
        (
            "largest links alone",
            Tracking::params().threshold(Threshold::First),
        ),
        ("15 %, and callers", Tracking::params().use_callers(true)),
    ] {
        let mut regions = shown(&track(params)?, 6);
        regions.sort();
        table.row(
            format!("regions by {about}"),
            "not published",
            regions.join("; "),
            "every link counts and groups are closed, so that one wrong link ties much together",
        );
    }
    Ok(table)
}

/// Returns the clusters of each tracked region in each experiment, up to the cluster number `most`.
fn shown(tracking: &Tracking, most: u32) -> Vec<String> {
    let regions = tracking.regions.iter().map(|region| {
        let experiments = region.members.iter().map(|members| {
            let ids = members
                .iter()
                .filter(|id| id.0 <= most)
                .map(|id| id.0.to_string());
            ids.collect::<Vec<_>>().join("+")
        });
        experiments.collect::<Vec<_>>().join(" = ")
    });
    regions
        .filter(|text| text.chars().any(|letter| letter.is_ascii_digit()))
        .collect()
}
