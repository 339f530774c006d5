//! Choice of the radius for phases of different density and size, in two and three dimensions.

use perf_core::Job;
use perf_testdata::clusters::{normal, unit};
use perf_testdata::repeats;
use perf_testdata::xorshift::Xorshift;
use perf_track::cluster::{Agreement, Clusterer, Dbscan, EpsSearch};
use perf_track::{ClusterId, Labels, Points};

/// Points with the true phase of each; 0 is noise.
struct Planted {
    /// Coordinates in row-major order.
    values: Vec<f64>,
    /// Number of axes.
    dimensions: usize,
    /// Phase of each point.
    truth: Vec<ClusterId>,
}

impl Planted {
    fn new(dimensions: usize) -> Self {
        Planted {
            values: Vec::new(),
            dimensions,
            truth: Vec::new(),
        }
    }

    /// Adds normal points of a width about a centre.
    fn add(
        &mut self,
        phase: usize,
        (centre, width): (&[f64], f64),
        points: usize,
        random: &mut Xorshift,
    ) {
        for _ in 0..points {
            let centre = centre.iter().take(self.dimensions);
            self.values
                .extend(centre.map(|x| x + width * normal(random).0));
            self.truth.push(ClusterId(phase as u32));
        }
    }

    /// Returns the number of clusters of the chosen radius, and their adjusted Rand index with the phases.
    fn found(&self) -> (usize, f64) {
        let points = Points::new(&self.values, self.dimensions).expect("finite");
        let min_points = Dbscan::min_points_for(points.len());
        let search = EpsSearch::params().min_points(min_points).check();
        let search = EpsSearch::new(search.expect("in range"));
        let weights = vec![1.0; points.len()];
        let choice = search.choose_weighted(points, &weights, &Job::default());
        let params = Dbscan::params()
            .eps(choice.expect("a scale").eps)
            .min_points(min_points);
        let dbscan = Dbscan::new(params.check().expect("in range"));
        let labels = dbscan
            .cluster(points, &Job::default())
            .expect("not cancelled");
        let agreement = Agreement::new(&labels, &Labels::new(self.truth.clone()));
        (
            labels.clusters(),
            agreement.expect("as many").adjusted_rand(),
        )
    }
}

/// Phases of 16 to 640 points whose widths differ by up to a factor of six, and a share of noise.
fn different(seed: u64, dimensions: usize, phases: usize, noise: f64) -> Planted {
    let mut random = Xorshift::new(seed * 7_919 + (dimensions * 13 + phases) as u64);
    let mut places: Vec<(Vec<f64>, f64)> = Vec::new();
    while places.len() < phases {
        let centre: Vec<f64> = (0..dimensions).map(|_| unit(&mut random)).collect();
        let width = 0.004 * 6_f64.powf(unit(&mut random));
        let is_far = |(other, of): &(Vec<f64>, f64)| {
            let squares = centre.iter().zip(other).map(|(a, b)| (a - b).powi(2));
            squares.sum::<f64>().sqrt() > 6.0 * (width + of)
        };
        if places.iter().all(is_far) {
            places.push((centre, width));
        }
    }
    let mut planted = Planted::new(dimensions);
    for (phase, (centre, width)) in places.iter().enumerate() {
        let points = (16.0 * 40_f64.powf(unit(&mut random))) as usize;
        planted.add(phase + 1, (centre, *width), points, &mut random);
    }
    for _ in 0..(planted.truth.len() as f64 * noise) as usize {
        let centre: Vec<f64> = (0..dimensions).map(|_| unit(&mut random)).collect();
        planted.add(0, (&centre, 0.0), 1, &mut random);
    }
    planted
}

/// Five phases of 480 points, and four pairs of phases with few points near each other.
fn pairs(seed: u64, dimensions: usize, few: usize) -> Planted {
    let mut random = Xorshift::new(seed * 15_485_863 + few as u64);
    let mut planted = Planted::new(dimensions);
    for phase in 0..5 {
        let centre = [0.25 * phase as f64, 0.2 + 0.4 * unit(&mut random), 0.3];
        planted.add(phase + 1, (&centre, 0.006), 480, &mut random);
    }
    for pair in 0..4 {
        let y = 0.75 + 0.2 * unit(&mut random);
        for half in 0..2 {
            let centre = [0.25 * pair as f64 + 0.12 + 0.06 * half as f64, y, 0.3];
            planted.add(6 + 2 * pair + half, (&centre, 0.006), few, &mut random);
        }
    }
    planted
}

/// Four phases, and one whose work increases with each of 50 iterations on a few threads: a row of fragments.
fn growing(seed: u64, dimensions: usize, (threads, growth): (usize, f64)) -> Planted {
    let mut random = Xorshift::new(seed * 104_729 + threads as u64);
    let mut planted = Planted::new(dimensions);
    let mut works: Vec<f64> = Vec::new();
    while works.len() < 4 {
        let work = unit(&mut random);
        if works.iter().all(|other| (other - work).abs() > 0.1) {
            works.push(work);
        }
    }
    for (phase, work) in works.iter().enumerate() {
        for _ in 0..800 {
            let rest = [work + 0.004 * normal(&mut random).0, 0.1 * phase as f64];
            planted.add(phase + 1, (&[*work, rest[0], rest[1]], 0.0), 1, &mut random);
        }
    }
    for iteration in 0..50 {
        let work = (5.5 + (1.0 + growth * f64::from(iteration)).ln()) / 5.0;
        for _ in 0..threads {
            let time = work + 0.3 + 0.003 * normal(&mut random).0;
            planted.add(5, (&[work, time, 0.7], 0.0), 1, &mut random);
        }
    }
    planted
}

/// Asserts that in nearly all series the clusters are the phases.
fn assert_found(name: &str, phases: usize, least: f64, planted: impl Fn(u64) -> Planted) {
    let seeds = repeats(20, 5);
    let found: Vec<(usize, f64)> = (1..=seeds).map(|seed| planted(seed).found()).collect();
    let rand = found.iter().map(|of| of.1).sum::<f64>() / seeds as f64;
    let off: usize = found.iter().map(|of| of.0.abs_diff(phases)).sum();
    println!("{name}: ARI {rand:.3}, {off} clusters too many or too few in {seeds} series");
    assert!(rand > least, "{name}: {rand}");
    assert!(off <= seeds as usize, "{name}: {found:?}");
}

#[test]
fn clusters_are_phases_of_different_density_and_size() {
    for dimensions in [2, 3] {
        for phases in [3, 6, 12] {
            for noise in [0.0, 0.03] {
                let name = format!("{phases} phases, {dimensions}-D, noise {noise}");
                assert_found(&name, phases, 0.97, |seed| {
                    different(seed, dimensions, phases, noise)
                });
            }
        }
    }
}

#[test]
fn phases_of_few_points_are_not_joined() {
    for dimensions in [2, 3] {
        for few in [8, 16, 32, 56] {
            let name = format!("pairs of {few} points, {dimensions}-D");
            assert_found(&name, 13, 0.99, |seed| pairs(seed, dimensions, few));
        }
    }
}

#[test]
fn a_phase_that_grows_does_not_fall_apart() {
    for dimensions in [2, 3] {
        for threads in [4, 8] {
            for growth in [0.1, 0.4] {
                let name = format!("{threads} threads, growth {growth}, {dimensions}-D");
                assert_found(&name, 5, 0.99, |seed| {
                    growing(seed, dimensions, (threads, growth))
                });
            }
        }
    }
}
