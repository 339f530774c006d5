//! Choice of the radius for bursts of different durations: the share of the time in noise.

use crate::common;

use common::peer;
use perf_core::Job;
use perf_testdata::clusters;
use perf_testdata::xorshift::Xorshift;
use perf_track::cluster::{Clusterer, Dbscan, EpsChoice, EpsParams, EpsSearch, EpsWhy};
use perf_track::{Error, Labels, Points};

fn choose(values: &[f64], weights: &[f64], params: EpsParams) -> Result<EpsChoice, Error> {
    let search = EpsSearch::new(params.check()?);
    search.choose_weighted(Points::new(values, 2)?, weights, &Job::default())
}

fn four() -> EpsParams {
    EpsSearch::params().min_points(4)
}

fn cluster(values: &[f64], eps: f64) -> Labels {
    let params = Dbscan::params().eps(eps).min_points(4).check();
    let dbscan = Dbscan::new(params.expect("in range"));
    let points = Points::new(values, 2).expect("finite");
    let labels = dbscan.cluster(points, &Job::default());
    labels.expect("not cancelled")
}

/// The strong-scaling series as the established tool scaled it, each experiment separately: noise
/// is below a tenth of the time in all of them, with about as many clusters as with the manual
/// radius (7, 10 and 19 at 0.04).
#[test]
fn noise_takes_little_of_the_time_of_recordings() {
    let mut all = Vec::new();
    for (name, clusters) in [
        ("e2.DATA.csv", 7..=8),
        ("e4.DATA.csv", 10..=12),
        ("e16.DATA.csv", 17..=24),
    ] {
        let Some(peer) = peer::read(name) else { return };
        let choice = choose(&peer.values, &peer.durations, four()).expect("there is a scale");
        println!("{name}: {:?} {}", choice.why, choice.eps);
        assert!(choice.noise_weight < 0.1, "{name}: {}", choice.noise_weight);
        assert!(clusters.contains(&choice.clusters), "{name}: {choice:?}");
        assert!(choice.least <= choice.eps, "{name}");
        let labels = cluster(&peer.values, choice.eps);
        let noise = labels.as_slice().iter().zip(&peer.durations);
        let noise: f64 = noise.filter(|(id, _)| id.is_noise()).map(|(_, t)| t).sum();
        let share = noise / peer.durations.iter().sum::<f64>();
        assert!((share - choice.noise_weight).abs() < 1e-12, "{name}");
        // With any amount of noise allowed, the stable run is chosen.
        let any = choose(&peer.values, &peer.durations, four().noise(1.0)).expect("a scale");
        assert!(matches!(any.why, EpsWhy::Stable { high, .. } if high == any.eps));
        if let EpsWhy::Noise { from, noise } = choice.why {
            assert_eq!(from, any.eps, "{name}");
            assert!(noise > 0.1 && choice.eps > from, "{name}");
        }
        all.push(choice);
    }
    let shared = EpsChoice::shared(&all).expect("three");
    assert!((0.03..0.05).contains(&shared), "{shared}");
    // With one radius for all, noise is small in each too.
    for name in ["e2.DATA.csv", "e4.DATA.csv", "e16.DATA.csv"] {
        let Some(peer) = peer::read(name) else { return };
        let labels = cluster(&peer.values, shared);
        let noise = labels.as_slice().iter().zip(&peer.durations);
        let noise: f64 = noise.filter(|(id, _)| id.is_noise()).map(|(_, t)| t).sum();
        assert!(noise < 0.1 * peer.durations.iter().sum::<f64>(), "{name}");
    }
}

/// Returns phases of many short bursts, and one of a dozen long ones that is far less dense.
fn with_a_sparse_phase(seed: u64) -> (Vec<f64>, Vec<f64>, Vec<u32>) {
    let phases = clusters::phases(3_000, seed);
    let mut weights = vec![1.0; 3_000];
    let (mut values, mut truth) = (phases.values, phases.truth);
    let mut random = Xorshift::new(seed);
    for _ in 0..12 {
        let (x, y) = clusters::normal(&mut random);
        values.extend([1.25 + 0.02 * x, 1.25 + 0.02 * y]);
        weights.push(200.0);
        truth.push(99);
    }
    (values, weights, truth)
}

#[test]
fn a_sparse_phase_that_takes_much_of_the_time_is_a_cluster() {
    for seed in 1..=8 {
        let (values, weights, truth) = with_a_sparse_phase(seed);
        let stable = choose(&values, &weights, four().noise(1.0)).expect("there is a scale");
        let choice = choose(&values, &weights, four()).expect("there is a scale");
        println!(
            "{seed}: {} to {:?} {}",
            stable.noise_weight, choice.why, choice.eps
        );
        assert!(choice.noise_weight <= 0.1, "{seed}: {choice:?}");
        let labels = cluster(&values, choice.eps);
        // No phase is joined to another.
        for phase in (1..=clusters::PHASES as u32).chain([99]) {
            let of = |wanted: bool| {
                let all = labels.as_slice().iter().zip(&truth);
                let some = all.filter(|(id, truth)| {
                    !id.is_noise() && **truth != 0 && (**truth == phase) == wanted
                });
                some.map(|(id, _)| id.0)
                    .collect::<std::collections::BTreeSet<u32>>()
            };
            assert!(!of(true).is_empty(), "{seed}: {phase}");
            assert!(of(true).is_disjoint(&of(false)), "{seed}: {phase}");
        }
    }
}

#[test]
fn unrelated_points_stay_noise() {
    for seed in 1..=8 {
        // Long bursts everywhere, a third of the time.
        let phases = clusters::phases(3_000, seed);
        let (mut values, mut weights) = (phases.values, vec![1.0; 3_000]);
        let mut random = Xorshift::new(seed);
        for at in 0..15 {
            let (column, row) = (f64::from(at % 5), f64::from(at / 5));
            values.extend([2.0 + column + 0.3 * clusters::unit(&mut random), row]);
            weights.push(100.0);
        }
        let stable = choose(&values, &weights, four().noise(1.0)).expect("there is a scale");
        let choice = choose(&values, &weights, four()).expect("there is a scale");
        assert_eq!((choice.eps, choice.why), (stable.eps, stable.why), "{seed}");
        assert!(choice.noise_weight > 0.3 && choice.clusters >= clusters::PHASES);
        // It requires no smaller radius, because none is better.
        assert_eq!(choice.least, choice.eps);
    }
}

#[test]
fn equal_weights_change_nothing_where_noise_is_little() {
    let phases = clusters::phases(6_000, 5);
    let params = EpsSearch::params();
    let weighted = choose(&phases.values, &[2.5; 6_000], params.clone()).expect("a scale");
    let search = EpsSearch::new(params.check().expect("in range"));
    let points = Points::new(&phases.values, 2).expect("finite");
    let plain = search.choose(points, &Job::default()).expect("a scale");
    assert_eq!((weighted.eps, weighted.why), (plain.eps, plain.why));
    assert!((weighted.noise_weight - plain.noise).abs() < 1e-12);
    assert!(weighted.least <= weighted.eps);
}

#[test]
fn invalid_parameters_are_errors() {
    let values = [0.0, 0.0, 1.0, 1.0];
    for weights in [&[1.0][..], &[1.0, f64::NAN], &[1.0, -1.0]] {
        assert!(choose(&values, weights, four()).is_err(), "{weights:?}");
    }
    assert!(four().noise(1.5).check().is_err());
    assert!(four().noise(f64::NAN).check().is_err());
    assert_eq!(EpsChoice::shared([]), None);
    // Bursts with zero duration have no share of the time.
    let phases = clusters::phases(600, 5);
    let none = choose(&phases.values, &[0.0; 600], four()).expect("there is a scale");
    assert_eq!(none.noise_weight, 0.0);
}

/// An experiment with two modes near each other, and one whose sparse long bursts need a larger
/// radius.
#[test]
fn noise_of_one_experiment_ties_no_modes_of_another() {
    for seed in 1..=20 {
        let mut random = Xorshift::new(seed);
        let mut near = Vec::new();
        for at in 0..600 {
            let (x, y) = clusters::normal(&mut random);
            near.extend([0.01 * x + 0.15 * f64::from(at % 2), 0.01 * y]);
        }
        let (mut sparse, mut weights) = (Vec::new(), Vec::new());
        for at in 0..616 {
            let (x, y) = clusters::normal(&mut random);
            let (centre, width, weight) = match at {
                0..300 => (0.0, 0.01, 1.0),
                300..600 => (3.0, 0.01, 1.0),
                _ => (6.0, 0.2, 200.0),
            };
            sparse.extend([centre + width * x, width * y]);
            weights.push(weight);
        }
        let one = choose(&near, &[1.0; 600], four()).expect("there is a scale");
        let other = choose(&sparse, &weights, four()).expect("there is a scale");
        assert_eq!(one.clusters, 2, "{seed}: {one:?}");
        assert!(other.least > one.ties, "{seed}: {other:?}");
        let shared = EpsChoice::shared([&one, &other]).expect("two");
        assert_eq!(cluster(&near, shared).clusters(), 2, "{seed}: {shared}");
    }
}
