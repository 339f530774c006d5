//! Candidates for the grid of a profile: the textbook definition, planted grids and noise.

use perf_core::{
    CallTree, GroupKind, Job, Limits, Location, LocationGroup, LocationId, MetricId, Profile,
    ProfileMetric, Region, RegionId, Rows, Severities, SystemNode, SystemNodeId, SystemTree,
};
use perf_core::{LocationGroupId, LocationKind};
use perf_spectral::{Assignment, Error, GridParams, GridVerdict, Grids};
use std::f64::consts::TAU;
use std::sync::Arc;

/// Random numbers of a fixed sequence.
struct Noise(u64);

impl Noise {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns a number of mean 0 and variance 1.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }
}

/// Creates a profile with one process for each value; process i is on node `node(i)`.
fn profile_on(views: &[Vec<f64>], node: impl Fn(usize) -> Option<u32>) -> Profile {
    profile_with(views, node, |at| at)
}

/// Creates a profile as [`profile_on`]; process i has rank `rank(i)`.
fn profile_with(
    views: &[Vec<f64>],
    node: impl Fn(usize) -> Option<u32>,
    rank: impl Fn(usize) -> usize,
) -> Profile {
    let count = views.first().map_or(0, Vec::len);
    let nodes = (0..count)
        .filter_map(&node)
        .max()
        .map_or(0, |most| most + 1);
    let nodes = (0..nodes).map(|_| SystemNode::default()).collect();
    let group = |at: usize| LocationGroup {
        kind: GroupKind::Process,
        parent: node(at).map(SystemNodeId),
        name: format!("rank {}", rank(at)),
        ..Default::default()
    };
    let location = |rank: usize| Location {
        key: rank as u64,
        group: LocationGroupId::from_index(rank),
        kind: LocationKind::CpuThread,
        ..Default::default()
    };
    let groups = (0..count).map(group).collect();
    let locations = (0..count).map(location).collect();
    let system = SystemTree::new(nodes, groups, locations, &Limits::default()).expect("a system");
    let (mut calls, mut rows, mut regions) = (CallTree::default(), Rows::default(), Vec::new());
    for (at, view) in views.iter().enumerate() {
        regions.push(Region::named(format!("f{at}")));
        let path = calls.child(None, RegionId(at as u32)).expect("a path");
        rows.insert(MetricId(0), path, Severities::F64(view.clone()));
    }
    let metrics = vec![ProfileMetric::default()];
    Profile::new(system, regions, calls, metrics, Arc::new(rows)).expect("a profile")
}

fn profile(views: &[Vec<f64>]) -> Profile {
    profile_on(views, |_| None)
}

fn searched(profile: &Profile) -> Grids {
    let params = GridParams::default().check().expect("defaults");
    Grids::of(profile, &params, &Job::default()).expect("it is searched")
}

fn coordinates(lens: &[usize], mut rank: usize) -> Vec<usize> {
    let mut at: Vec<usize> = lens
        .iter()
        .rev()
        .map(|len| {
            let own = rank % len;
            rank /= len;
            own
        })
        .collect();
    at.reverse();
    at
}

/// Returns views with roles by position: the number of neighbours and waves along the axes.
fn planted(lens: &[usize], noise: f64, random: &mut Noise) -> Vec<Vec<f64>> {
    let count: usize = lens.iter().product();
    let view = |number: usize, random: &mut Noise| -> Vec<f64> {
        let phases: Vec<f64> = lens.iter().map(|_| TAU * random.unit()).collect();
        let value = |rank: usize, random: &mut Noise| {
            let at = coordinates(lens, rank);
            let parts = at.iter().zip(lens).zip(&phases);
            let role = parts.map(|((at, len), phase)| match number % 2 {
                0 => f64::from(u8::from(*at > 0) + u8::from(at + 1 < *len)),
                _ => (TAU * *at as f64 / *len as f64 + phase).sin(),
            });
            role.sum::<f64>() + noise * random.normal()
        };
        (0..count).map(|rank| value(rank, random)).collect()
    };
    (0..8).map(|number| view(number, random)).collect()
}

/// Returns the share of the variance in the frequencies along some axes, by the definition of the
/// transform.
///
/// `parts` states for each axis if it counts: not at all, with its lowest frequency, or with all.
fn share(view: &[f64], lens: &[usize], parts: &[usize]) -> f64 {
    let count = view.len();
    let power = |k: &[usize]| {
        let (mut re, mut im) = (0.0, 0.0);
        for (rank, value) in view.iter().enumerate() {
            let at = coordinates(lens, rank);
            let turns = at.iter().zip(k).zip(lens);
            let turns: f64 = turns
                .map(|((at, k), len)| (at * k) as f64 / *len as f64)
                .sum();
            re += value * (TAU * turns).cos();
            im += value * (TAU * turns).sin();
        }
        re * re + im * im
    };
    let (mut all, mut along) = (0.0, 0.0);
    for number in 1..count {
        let k = coordinates(lens, number);
        let power = power(&k);
        all += power;
        let set: Vec<usize> = (0..k.len()).filter(|axis| k[*axis] > 0).collect();
        if let [axis] = set.as_slice() {
            let is_lowest = k[*axis] == 1 || k[*axis] + 1 == lens[*axis];
            along += match parts[*axis] {
                0 => 0.0,
                1 if !is_lowest => 0.0,
                _ => power,
            };
        }
    }
    along / all
}

/// Returns `-log10 P(share >= x)` by integration of the density of a beta distribution.
fn evidence(x: f64, selected: usize, all: usize) -> f64 {
    let (a, b) = (selected as f64 / 2.0, (all - selected) as f64 / 2.0);
    // With x = sin(t)^2 the density is finite at both ends.
    let density = |t: f64| t.sin().powf(2.0 * a - 1.0) * t.cos().powf(2.0 * b - 1.0);
    let integral = |from: f64| {
        let steps = 4_000;
        let width = (std::f64::consts::FRAC_PI_2 - from) / f64::from(steps);
        (0..steps)
            .map(|at| density(from + (f64::from(at) + 0.5) * width))
            .sum::<f64>()
            * width
    };
    -(integral(x.sqrt().asin()) / integral(0.0)).log10()
}

#[test]
fn evidence_is_that_of_the_textbook() {
    for (seed, noise) in [(1, 0.3), (2, 1.0), (3, 5.0)] {
        let mut random = Noise(seed);
        let views = planted(&[4, 3, 2], noise, &mut random);
        let found = searched(&profile(&views));
        assert_eq!((found.processes, found.views, found.distinct), (24, 8, 8));
        assert_eq!(found.untried, 0);
        // 24 = 2^3 x 3 has 6 factorisations into 2, 9 into 3 and 4 into 4 numbers.
        assert_eq!(found.candidates.len(), 19);
        for grid in &found.candidates {
            let lens = &grid.lens;
            let (mut mean, mut along) = (0.0, 0.0);
            for view in &views {
                // Each axis counts not at all, with its lowest frequency, or with all of them.
                let choices: usize = lens.iter().map(|_| 3).product();
                let sets = (1..choices).map(|number| coordinates(&vec![3; lens.len()], number));
                let sets: Vec<_> = sets
                    .filter(|set| {
                        set.iter()
                            .zip(lens)
                            .all(|(part, len)| *part != 1 || *len >= 5)
                    })
                    .collect();
                let trials = sets.len() as f64;
                let found = sets.iter().map(|set| {
                    let counts = set.iter().zip(lens).map(|(part, len)| match part {
                        0 => 0,
                        1 => 2,
                        _ => len - 1,
                    });
                    evidence(share(view, lens, set), counts.sum(), 23)
                });
                mean += (found.fold(0.0, f64::max) - trials.log10()).max(0.0) / 8.0;
                along += share(view, lens, &vec![2; lens.len()]) / 8.0;
            }
            let error = (grid.evidence - mean).abs();
            assert!(
                error < 0.01 + 0.002 * mean,
                "{lens:?}: {} {mean}",
                grid.evidence
            );
            assert!((grid.share - along).abs() < 1e-9, "{lens:?}");
            let count: usize = lens.iter().map(|len| len - 1).sum();
            assert_eq!(grid.chance, count as f64 / 23.0);
        }
        assert!(
            found
                .candidates
                .is_sorted_by(|a, b| a.evidence >= b.evidence)
        );
    }
}

#[test]
fn planted_grids_are_proposed() {
    let grids: [&[usize]; 7] = [
        &[3, 3, 3],
        &[4, 4, 4],
        &[8, 8],
        &[6, 5],
        &[5, 6],
        &[5, 5, 5],
        &[12, 4],
    ];
    for lens in grids {
        let mut proposed = 0;
        for seed in 0..20 {
            let views = planted(lens, 0.5, &mut Noise(seed));
            let found = searched(&profile(&views));
            let first = &found.candidates[0];
            assert_eq!(
                first.lens,
                lens,
                "seed {seed}: {:?}",
                &found.candidates[..2]
            );
            assert_eq!(first.assignment, Assignment::Order);
            assert_eq!(found.p, 0.01);
            assert!(matches!(
                found.verdict,
                GridVerdict::Proposed | GridVerdict::Ambiguous
            ));
            proposed += usize::from(found.proposal().is_some());
        }
        // Long axes have many divisors, and thus close rivals.
        let least = if lens == [12, 4] { 10 } else { 20 };
        assert!(proposed >= least, "{lens:?}: {proposed}");
    }
}

#[test]
fn nothing_is_proposed_in_noise() {
    let proposed = (0..100).filter(|seed| {
        let mut random = Noise(1_000 + seed);
        let count = [16, 27, 36, 48, 64][*seed as usize % 5];
        let mut view = |number: usize| -> Vec<f64> {
            // Normal values, and values with a long tail.
            let values = (0..count).map(|_| random.normal());
            values
                .map(|value| {
                    if number.is_multiple_of(2) {
                        value
                    } else {
                        (2.0 * value).exp()
                    }
                })
                .collect()
        };
        let views: Vec<_> = (0..6).map(&mut view).collect();
        searched(&profile(&views)).proposal().is_some()
    });
    let proposed = proposed.count();
    assert!(proposed <= 5, "{proposed} of 100");
}

#[test]
fn structure_without_a_grid_is_not_a_grid() {
    for seed in 0..20 {
        let mut random = Noise(seed);
        let mut views = |value: &mut dyn FnMut(usize, &mut Noise) -> f64| -> Profile {
            let view = |_| (0..64).map(|rank| value(rank, &mut random)).collect();
            profile(&(0..6).map(view).collect::<Vec<Vec<f64>>>())
        };
        let mut sum = 0.0;
        let walk = searched(&views(&mut |rank, random| {
            sum = if rank == 0 {
                0.0
            } else {
                sum + random.normal()
            };
            sum
        }));
        assert_eq!(walk.verdict, GridVerdict::Smooth, "{seed}");
        let ramp = searched(&views(&mut |rank, random| {
            rank as f64 + 5.0 * random.normal()
        }));
        assert!(ramp.proposal().is_none(), "{seed}");
        // One rank with a role of its own lies on every grid.
        let root = searched(&views(&mut |rank, random| {
            f64::from(u8::from(rank == 0)) + 0.01 * random.normal()
        }));
        assert!(root.proposal().is_none(), "{seed}");
        // Halves, and odd ranks: several grids explain them.
        let halves = searched(&views(&mut |rank, random| {
            (rank / 32) as f64 + 0.2 * random.normal()
        }));
        assert!(halves.proposal().is_none() && halves.p <= 0.01, "{seed}");
        let odd = searched(&views(&mut |rank, random| {
            (rank % 2) as f64 + 0.2 * random.normal()
        }));
        // Roles in no order that repeat after half of the ranks.
        let roles: Vec<f64> = (0..32)
            .map(|at| f64::from(at * (at + 7) % 11 % 3))
            .collect();
        let twice = searched(&views(&mut |rank, random| {
            roles[rank % 32] + 0.2 * random.normal()
        }));
        assert_eq!(twice.verdict, GridVerdict::Twofold, "{seed}");
        assert_eq!(odd.verdict, GridVerdict::Ambiguous, "{seed}");
    }
}

#[test]
fn nodes_are_a_candidate() {
    type Case = (fn(usize) -> (usize, usize), Assignment, [usize; 2]);
    let mut random = Noise(5);
    let mut effects = |count: usize| -> Vec<f64> { (0..count).map(|_| random.normal()).collect() };
    // Slow nodes and slow cores, processes in order, round robin, and in no order.
    let places: [Case; 3] = [
        (|rank| (rank / 6, rank % 6), Assignment::Order, [5, 6]),
        (|rank| (rank % 5, rank / 5), Assignment::Order, [6, 5]),
        (
            |rank| (rank * 7 % 30 / 6, rank * 7 % 30 % 6),
            Assignment::System,
            [5, 6],
        ),
    ];
    for (place, assignment, lens) in places {
        let views: Vec<Vec<f64>> = (0..6)
            .map(|_| {
                let (nodes, cores, noise) = (effects(5), effects(6), effects(30));
                let value = |rank: usize| {
                    let (node, core) = place(rank);
                    // Processes of a node in another order than in the view do not matter.
                    let core = if assignment == Assignment::System {
                        0
                    } else {
                        core
                    };
                    nodes[node] + cores[core] + 0.3 * noise[rank]
                };
                (0..30).map(value).collect()
            })
            .collect();
        let profile = profile_on(&views, |rank| Some(place(rank).0 as u32));
        let found = searched(&profile);
        let grid = &found.candidates[0];
        assert_eq!((grid.assignment, &grid.lens[..]), (assignment, &lens[..]));
        assert!(grid.is_machine);
        let topology = grid.topology(&profile).expect("a topology");
        assert_eq!(topology.shape().lens(), lens);
        assert!(topology.check().is_perfect());
        let machines = found.candidates.iter().filter(|grid| grid.is_machine);
        assert_eq!(machines.count(), 1);
    }
}

/// Processes that a recording lists node by node, with ranks in turn, have the grid of their ranks.
#[test]
fn the_order_of_a_recording_does_not_matter() {
    let views = planted(&[4, 4, 4], 0.3, &mut Noise(11));
    let rank = |at: usize| at % 32 * 2 + at / 32;
    let listed = |view: &Vec<f64>| (0..64).map(|at| view[rank(at)]).collect();
    let listed: Vec<Vec<f64>> = views.iter().map(listed).collect();
    let node = |at: usize| Some(at as u32 / 32);
    let found = searched(&profile_with(&listed, node, rank));
    let block = searched(&profile_on(&views, |rank| Some(rank as u32 % 2)));
    assert_eq!(found, block);
    let grid = found.proposal().expect("a grid");
    assert_eq!(grid.lens, [4, 4, 4]);
    let topology = grid.topology(&profile_with(&listed, node, rank));
    let cell = topology.expect("a shape").cell(LocationId(33));
    assert_eq!(cell, Some(3));
}

#[test]
fn profiles_without_candidates_say_so() {
    let mut random = Noise(1);
    for count in [1, 4, 7, 13] {
        let view: Vec<f64> = (0..count).map(|_| random.normal()).collect();
        let found = searched(&profile(&[view]));
        assert_eq!(found.verdict, GridVerdict::NoCandidates, "{count}");
        assert!(found.proposal().is_none() && found.p == 1.0);
    }
    // Constant, infinite and repeated views.
    let wave: Vec<f64> = (0..16).map(|rank| f64::from(rank % 4)).collect();
    let twice = wave.iter().map(|value| 5.0 - 2.0 * value).collect();
    let mut broken = wave.clone();
    broken[3] = f64::NAN;
    let found = searched(&profile(&[vec![1.0; 16], wave, twice, broken]));
    assert_eq!((found.views, found.distinct), (1, 1));
    assert_eq!(found.table().rows(), found.candidates.len());
    // The search of many processes takes the most compact grids.
    let found = GridParams::default()
        .surrogates(1)
        .level(0.5)
        .views(1)
        .check()
        .expect("fine");
    let view: Vec<f64> = (0..5_040).map(|_| random.normal()).collect();
    let many = Grids::of(&profile(&[view]), &found, &Job::default()).expect("it is searched");
    assert!(many.untried > 0 && many.candidates.len() <= 1_500);
    let job = Job::default();
    job.cancel();
    let stopped = Grids::of(&profile(&[vec![1.0; 8]]), &found, &job);
    assert!(matches!(stopped, Err(Error::Cancelled(_))), "{stopped:?}");
}

#[test]
fn threads_do_not_change_the_result() {
    let profile = profile(&planted(&[4, 4, 4], 2.0, &mut Noise(3)));
    let of = |threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .expect("a pool");
        pool.install(|| searched(&profile))
    };
    assert_eq!(of(1), of(2));
    assert_eq!(of(1), of(8));
}
