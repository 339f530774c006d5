//! Random series that no parameter was tuned on: the fraction that tracking finds.

use crate::planted;

use perf_testdata::xorshift::Xorshift;
use perf_track::tracking::{Mode, Tracking};
use planted::{Phase, Planted, moved, order, phase, track, unit};

/// Returns random phases at least 0.08 apart.
fn scattered(random: &mut Xorshift, count: usize) -> Vec<Phase> {
    const CALLERS: [&str; 4] = ["solve", "exchange", "pack", "write"];
    let mut phases: Vec<Phase> = Vec::new();
    while phases.len() < count {
        let centre = [0.05 + 0.9 * unit(random), 0.05 + 0.9 * unit(random)];
        let apart = |other: &Phase| {
            let (x, y) = (other.centre[0] - centre[0], other.centre[1] - centre[1]);
            x * x + y * y > 0.08 * 0.08
        };
        if phases.iter().all(apart) {
            let caller = CALLERS[random.below(4) as usize];
            let bursts = 20 + random.below(80) as usize;
            let one = phase(phases.len(), centre);
            phases.push(Phase {
                bursts,
                caller,
                ..one
            });
        }
    }
    phases
}

/// Returns three experiments: all phases move together and each a little separately; each
/// experiment may lack a phase, and clusters are renumbered.
fn series(seed: u64) -> Vec<Planted> {
    let mut random = Xorshift::new(0x9e37_79b9 ^ (seed * 7_919));
    let count = 6 + random.below(14) as usize;
    let mut phases = scattered(&mut random, count);
    if random.below(2) == 0 {
        // Without callers.
        phases.iter_mut().for_each(|phase| phase.caller = "");
    }
    let mut shift = || 0.1 * (unit(&mut random) - 0.5);
    let shift = [shift(), shift()];
    let mut experiments = Vec::new();
    for experiment in 0..3_u64 {
        let own = |random: &mut Xorshift| 0.03 * (unit(random) - 0.5);
        for phase in &mut phases {
            phase.centre = phase.centre.map(|value| value + own(&mut random));
        }
        phases = if experiment > 0 {
            moved(&phases, shift)
        } else {
            phases
        };
        let gone = random.below(2 * count as u64) as usize;
        let there: Vec<usize> = order(count, seed * 31 + experiment)
            .into_iter()
            .filter(|&at| at != gone)
            .collect();
        let clusters: Vec<Vec<Phase>> = there.iter().map(|&at| vec![phases[at].clone()]).collect();
        experiments.push(Planted::new(seed * 101 + experiment, &clusters));
    }
    experiments
}

/// Counts the pairs of clusters in two experiments that are the same phase, those of them that
/// share a tracked region, and all pairs that share one.
fn found_and_right(tracking: &Tracking, experiments: &[Planted]) -> [usize; 3] {
    let mut counts = [0; 3];
    let object_of = |experiment: usize, cluster: usize| {
        let mut regions = tracking.regions.iter();
        regions.position(|region| {
            let mut members = region.members[experiment].iter();
            members.any(|id| id.index() == Some(cluster))
        })
    };
    for (a, first) in experiments.iter().enumerate() {
        for (b, second) in experiments.iter().enumerate().skip(a + 1) {
            for (i, truth) in first.truth.iter().enumerate() {
                for (j, other) in second.truth.iter().enumerate() {
                    let (of, with) = (object_of(a, i), object_of(b, j));
                    let together = of.is_some() && of == with;
                    let same = truth == other;
                    counts[0] += usize::from(same);
                    counts[1] += usize::from(same && together);
                    counts[2] += usize::from(together);
                }
            }
        }
    }
    counts
}

#[test]
fn tracking_finds_most_regions_of_untuned_series() {
    let mut sums = [[0; 3]; 2];
    for seed in 1..=60 {
        let experiments = series(seed);
        for (sum, mode) in sums.iter_mut().zip([Mode::Optimal, Mode::Published]) {
            let tracking = track(&experiments, Tracking::params().mode(mode));
            let counts = found_and_right(&tracking, &experiments);
            sum.iter_mut()
                .zip(counts)
                .for_each(|(sum, count)| *sum += count);
        }
    }
    let shares = sums.map(|[same, found, together]| {
        [found as f64 / same as f64, found as f64 / together as f64]
    });
    println!("optimal and published, found and right: {shares:.4?} of {sums:?}");
    let [[found, right], [_, published_right]] = shares;
    assert!(found > 0.97 && right > 0.97, "{shares:?}");
    assert!(right > published_right, "{shares:?}");
}

/// Justifies the default of `min_confidence`: regions below it are wrong several times as often as
/// those above.
#[test]
fn regions_of_little_confidence_are_more_often_wrong() {
    // Correct regions and all regions, below and above.
    let mut counts = [[0; 2]; 2];
    for seed in 1..=60 {
        let experiments = series(seed);
        let tracking = track(&experiments, Tracking::params());
        for region in tracking.regions.iter().filter(|of| of.experiments() > 1) {
            let members = region.members.iter().zip(&experiments);
            let truth = members.flat_map(|(ids, experiment)| {
                let index = ids.iter().filter_map(|id| id.index());
                index.flat_map(|index| experiment.truth[index].clone())
            });
            let truth: std::collections::BTreeSet<usize> = truth.collect();
            let above = usize::from(region.confidence >= 0.5);
            assert!(!region.is_reliable || above == 1);
            counts[above][0] += usize::from(truth.len() == 1);
            counts[above][1] += 1;
        }
    }
    println!("right of all, below and above: {counts:?}");
    let wrong = counts.map(|[right, all]| 1.0 - f64::from(right as u32) / f64::from(all as u32));
    assert!(wrong[0] > 3.0 * wrong[1] && wrong[1] < 0.05, "{wrong:?}");
}
