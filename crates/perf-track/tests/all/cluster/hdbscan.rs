//! HDBSCAN compared with its definition, over all pairs.

use crate::common;

use common::{random, squared};
use perf_core::Job;
use perf_testdata::clusters;
use perf_track::Points;
use perf_track::cluster::{Agreement, Clusterer, Hdbscan, Hierarchy};
use proptest::prelude::*;

fn scan(values: &[f64], d: usize, size: usize, least: usize) -> Hierarchy {
    let params = Hdbscan::params().min_cluster_size(size).min_points(least);
    let hdbscan = Hdbscan::new(params.check().expect("in range"));
    let points = Points::new(values, d).expect("finite");
    let found = hdbscan.scan(points, &Job::default());
    found.expect("not cancelled")
}

/// Edge: squared mutual reachability distance, lower and higher end.
type Edge = (f64, usize, usize);

/// Returns the minimum spanning tree by Kruskal's method over all pairs, ascending.
fn spanning(points: &[&[f64]], least: usize) -> Vec<Edge> {
    let core: Vec<f64> = points
        .iter()
        .map(|a| {
            let mut all: Vec<f64> = points.iter().map(|b| squared(a, b)).collect();
            all.sort_by(f64::total_cmp);
            all[least - 1]
        })
        .collect();
    let mut edges = Vec::new();
    for b in 0..points.len() {
        for a in 0..b {
            let distance = squared(points[a], points[b]);
            edges.push((distance.max(core[a]).max(core[b]), a, b));
        }
    }
    edges.sort_by(|x, y| x.0.total_cmp(&y.0).then((x.1, x.2).cmp(&(y.1, y.2))));
    let mut part: Vec<usize> = (0..points.len()).collect();
    edges.retain(|&(_, a, b)| {
        let (from, to) = (part[b], part[a]);
        part.iter_mut()
            .filter(|part| **part == from)
            .for_each(|part| *part = to);
        from != to
    });
    edges
}

/// Reference implementation by the definition: removes the longest edge and examines the two sides.
/// Returns the points of each of the best clusters within a part of the tree that appears at
/// `birth`, and their mass; `root` excludes the part itself.
struct Naive {
    /// Minimum cluster size.
    size: usize,
    /// Length of the shortest edge.
    shortest: f64,
}

impl Naive {
    fn cluster(
        &self,
        points: Vec<usize>,
        edges: Vec<Edge>,
        birth: f64,
        root: bool,
    ) -> (f64, Vec<Vec<usize>>) {
        let own = |mass: f64, all: Vec<usize>| {
            if root {
                (0.0, Vec::new())
            } else {
                (mass, vec![all])
            }
        };
        let all = points.clone();
        let (mut points, mut edges, mut mass) = (points, edges, 0.0);
        while let Some((squared, a, _)) = edges.pop() {
            let rise = 1.0 / squared.sqrt().max(self.shortest) - birth;
            let mut side = vec![a];
            let mut at = 0;
            while at < side.len() {
                for &(_, x, y) in &edges {
                    for (x, y) in [(x, y), (y, x)] {
                        if x == side[at] && !side.contains(&y) {
                            side.push(y);
                        }
                    }
                }
                at += 1;
            }
            let (one, other): (Vec<usize>, Vec<usize>) =
                points.iter().partition(|point| side.contains(point));
            let within = |side: &[usize]| -> Vec<Edge> {
                edges
                    .iter()
                    .filter(|edge| side.contains(&edge.1))
                    .copied()
                    .collect()
            };
            match (one.len() >= self.size, other.len() >= self.size) {
                (true, true) => {
                    mass += rise * points.len() as f64;
                    let birth = birth + rise;
                    let (ours, theirs) = (within(&one), within(&other));
                    let (left, mut best) = self.cluster(one, ours, birth, false);
                    let (right, more) = self.cluster(other, theirs, birth, false);
                    best.extend(more);
                    // With less mass than the parts below it, it is only a parent.
                    if !root && mass >= (left + right) * (1.0 - 1e-9) {
                        return (mass, vec![all]);
                    }
                    return (left + right, best);
                }
                (false, false) => {
                    mass += rise * points.len() as f64;
                    return own(mass, all);
                }
                (true, false) => {
                    mass += rise * other.len() as f64;
                    edges = within(&one);
                    points = one;
                }
                (false, true) => {
                    mass += rise * one.len() as f64;
                    edges = within(&other);
                    points = other;
                }
            }
        }
        own(mass, all)
    }
}

/// Returns labels by the definition; the whole is never a cluster.
fn naive(values: &[f64], d: usize, size: usize, least: usize) -> Vec<u32> {
    let points: Vec<&[f64]> = values.chunks_exact(d).collect();
    let mut label = vec![0; points.len()];
    if points.len() < size || points.len() < least {
        return label;
    }
    let edges = spanning(&points, least);
    let shortest = edges
        .iter()
        .map(|edge| edge.0)
        .find(|&squared| squared > 0.0);
    let naive = Naive {
        size,
        shortest: shortest.map_or(1.0, |squared| squared.sqrt() / 2.0),
    };
    let all: Vec<usize> = (0..points.len()).collect();
    let (_, clusters) = naive.cluster(all, edges, 0.0, true);
    let mut next = 0;
    let mut clusters = clusters;
    clusters
        .iter_mut()
        .for_each(|cluster| cluster.sort_unstable());
    clusters.sort();
    for cluster in clusters {
        next += 1;
        for point in cluster {
            label[point] = next;
        }
    }
    label
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn equals_the_definition(
        seed in any::<u64>(),
        count in 0_usize..70,
        d in 1_usize..=5,
        size in 2_usize..8,
        least in 1_usize..8,
    ) {
        let values = random(seed, count, d, 0.3);
        let found = scan(&values, d, size, least);
        let expected = common::labels(&naive(&values, d, size, least));
        prop_assert_eq!(found.labels(), &expected);
        for (strength, label) in found.strength().iter().zip(found.labels().as_slice()) {
            prop_assert!((0.0..=1.0).contains(strength));
            prop_assert!(!label.is_noise() || *strength == 0.0);
        }
        prop_assert_eq!(found.stability().len(), found.labels().clusters());
    }
}

#[test]
fn phases_are_found_without_a_radius() {
    let phases = clusters::phases(20_000, 4);
    let found = scan(&phases.values, 2, 100, 10);
    assert_eq!(found.labels().clusters(), clusters::PHASES);
    let truth = common::labels(&phases.truth);
    let agreement = Agreement::new(found.labels(), &truth).expect("as many");
    assert!(
        agreement.adjusted_rand() > 0.9,
        "{}",
        agreement.adjusted_rand()
    );
}

#[test]
fn heaps_of_equal_points_and_one_cluster_of_all() {
    let mut values = vec![1.0; 400];
    values.extend([7.0; 300]);
    let found = scan(&values, 1, 5, 5);
    assert_eq!(found.labels().sizes().expect("dense"), [400, 300]);
    assert!(found.stability().iter().all(|mass| mass.is_finite()));
    let one = Hdbscan::params().single(true).check().expect("in range");
    let points = Points::new(&values[..300], 1).expect("finite");
    let labels = Hdbscan::new(one).cluster(points, &Job::default());
    assert_eq!(
        labels.expect("not cancelled").sizes().expect("dense"),
        [300]
    );
    let none = scan(&values[..300], 1, 5, 5);
    assert_eq!(none.labels().noise(), 300);
    // Distances whose squares overflow.
    let far = [-1e200, 1e200, 3e200, f64::MAX, -f64::MAX, 0.0];
    assert_eq!(scan(&far, 1, 2, 2).labels().len(), 6);
    assert!(Hdbscan::params().min_cluster_size(1).check().is_err());
    assert!(Hdbscan::params().min_points(0).check().is_err());
}

#[cfg(feature = "parallel")]
#[test]
fn the_number_of_threads_changes_nothing() {
    let phases = clusters::phases(5_000, 8);
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.expect("threads start")
            .install(|| scan(&phases.values, 2, 20, 10))
    };
    let one = with(1);
    for threads in [2, 3, 8] {
        assert_eq!(one, with(threads));
    }
}
