//! Number of modes: a single mode is one cluster, and separate modes are found.

use perf_core::Job;
use perf_testdata::clusters::{normal, unit};
use perf_testdata::repeats;
use perf_testdata::xorshift::Xorshift;
use perf_track::cluster::{Agreement, Clusterer, Dbscan, EpsChoice, EpsSearch};
use perf_track::{ClusterId, Labels, Points};

/// Points with the true mode of each, from 1.
struct Planted {
    /// Coordinates in row-major order.
    values: Vec<f64>,
    /// Number of axes.
    dimensions: usize,
    /// Smallest radius, as [`perf_track::Scaled::resolution`] returns it.
    floor: f64,
    /// True mode of each point.
    truth: Vec<ClusterId>,
}

impl Planted {
    fn new(dimensions: usize) -> Self {
        let (values, truth) = (Vec::new(), Vec::new());
        Planted {
            values,
            dimensions,
            floor: 0.0,
            truth,
        }
    }

    fn add(&mut self, mode: u32, points: usize, mut point: impl FnMut() -> [f64; 2]) {
        for _ in 0..points {
            let point = point();
            self.values.extend(&point[..self.dimensions]);
            self.truth.push(ClusterId(mode));
        }
    }

    /// Scales each axis from its 1 % to its 99 % quantile, as [`perf_track::Scale`] does.
    fn scaled(mut self) -> Self {
        for axis in 0..self.dimensions {
            let of_axis = || self.values.iter().skip(axis).step_by(self.dimensions);
            let mut sorted: Vec<f64> = of_axis().copied().collect();
            sorted.sort_by(f64::total_cmp);
            let hundredth = sorted.len() / 100;
            let (low, high) = (sorted[hundredth], sorted[sorted.len() - 1 - hundredth]);
            let axis = self.values.iter_mut().skip(axis).step_by(self.dimensions);
            axis.for_each(|value| *value = (*value - low) / (high - low));
        }
        self
    }

    /// Returns the choice, and the adjusted Rand index of its clusters and the modes.
    fn found(&self) -> (EpsChoice, f64) {
        let points = Points::new(&self.values, self.dimensions).expect("finite");
        let min_points = Dbscan::min_points_for(points.len());
        let search = EpsSearch::params()
            .min_points(min_points)
            .floor(self.floor)
            .check();
        let search = EpsSearch::new(search.expect("in range"));
        let weights = vec![1.0; points.len()];
        let choice = search.choose_weighted(points, &weights, &Job::default());
        let choice = choice.expect("there are points");
        let params = Dbscan::params().eps(choice.eps).min_points(min_points);
        let dbscan = Dbscan::new(params.check().expect("in range"));
        let labels = dbscan.cluster(points, &Job::default());
        let agreement = Agreement::new(
            &labels.expect("nobody cancels"),
            &Labels::new(self.truth.clone()),
        );
        (choice, agreement.expect("as many").adjusted_rand())
    }
}

/// Shape of a mode: two coordinates from random numbers.
type Shape = fn(&mut Xorshift) -> [f64; 2];

const SHAPES: [(&str, Shape); 6] = [
    ("normal", |random| normal(random).into()),
    ("correlated", |random| {
        let (x, y) = normal(random);
        [x, 0.95 * x + 0.31 * y]
    }),
    ("lognormal", |random| {
        let (x, y) = normal(random);
        [(0.5 * x).exp(), (0.5 * y).exp()]
    }),
    ("uniform", |random| [unit(random), unit(random)]),
    ("exponential", |random| {
        [-(1.0 - unit(random)).ln(), normal(random).0]
    }),
    ("heavy tails", |random| {
        let chi = normal(random).0.powi(2) + normal(random).1.powi(2) + normal(random).0.powi(2);
        let (x, y) = normal(random);
        [x / (chi / 3.0).sqrt(), y / (chi / 3.0).sqrt()]
    }),
];

struct Tally {
    /// Name of the series.
    name: String,
    /// Number of seeds.
    seeds: u64,
    /// Number of seeds with the right number of clusters.
    right: u64,
    /// Largest number of clusters.
    most: usize,
    /// Mean fraction of noise.
    noise: f64,
    /// Mean adjusted Rand index.
    rand: f64,
}

fn tally(name: String, count: usize, planted: impl Fn(u64) -> Planted) -> Tally {
    let seeds = repeats(20, 6);
    let (mut right, mut most, mut noise, mut rand) = (0, 0, 0.0_f64, 0.0);
    for seed in 1..=seeds {
        let (choice, agreement) = planted(seed).scaled().found();
        right += u64::from(choice.clusters == count);
        most = most.max(choice.clusters);
        noise = noise.max(choice.noise);
        rand += agreement / seeds as f64;
    }
    println!("{name:44} {right:2} of {seeds} at most {most:3} noise {noise:.3} ARI {rand:.3}");
    Tally {
        name,
        seeds,
        right,
        most,
        noise,
        rand,
    }
}

#[test]
fn one_mode_is_one_cluster() {
    let mut all = Vec::new();
    for (shape, point) in SHAPES {
        for points in [60, 500, 2_000] {
            for dimensions in [1, 2] {
                all.push(tally(
                    format!("{shape}, {points}, {dimensions}-D"),
                    1,
                    |seed| {
                        let mut random = Xorshift::new(seed);
                        let mut one = Planted::new(dimensions);
                        one.add(1, points, || point(&mut random));
                        one
                    },
                ));
            }
        }
    }
    // A clock with eight ticks within the deviation, and the radius of two ticks that it requires.
    for points in [500, 8_000] {
        all.push(tally(format!("coarse clock, {points}"), 1, |seed| {
            let mut random = Xorshift::new(seed);
            let mut one = Planted::new(2);
            one.add(1, points, || {
                let (x, y) = normal(&mut random);
                [x, (8.0 * y).round() / 8.0]
            });
            // The axis is about 4.7 deviations long.
            one.floor = 0.25 / 4.7;
            one
        }));
    }
    for of in all {
        assert!(
            // Uniform points on a line have gaps by chance that look like those between modes.
            of.right * 4 >= 3 * of.seeds && of.most <= 4,
            "{}: {}, {}",
            of.name,
            of.right,
            of.most
        );
        // Sixty points with a long tail leave up to sixteen outside of the radius.
        let most = if of.name.contains(", 60,") { 0.3 } else { 0.1 };
        assert!(of.noise <= most, "{}: {}", of.name, of.noise);
    }
}

#[test]
fn modes_that_lie_apart_are_found() {
    let mut all = Vec::new();
    // Modes of a shape on a grid, `apart` times their width from each other.
    let grid = |count: usize,
                sizes: &dyn Fn(usize) -> usize,
                widths: &dyn Fn(usize) -> f64,
                shape: Shape,
                seed: u64| {
        let mut random = Xorshift::new(seed);
        let mut modes = Planted::new(2);
        for mode in 0..count {
            let centre = [
                10.0 * (mode % 3) as f64,
                10.0 * (mode / 3) as f64 + 2.0 * (mode % 2) as f64,
            ];
            modes.add(mode as u32 + 1, sizes(mode), || {
                let [x, y] = shape(&mut random);
                [centre[0] + widths(mode) * x, centre[1] + widths(mode) * y]
            });
        }
        modes
    };
    for (shape, point) in &SHAPES[..5] {
        for count in [2, 3, 4, 6] {
            for points in [120, 600] {
                all.push(tally(format!("{count} {shape}, {points}"), count, |seed| {
                    grid(count, &|_| points / count, &|_| 1.0, *point, seed)
                }));
            }
        }
    }
    for points in [200, 2_000] {
        all.push(tally(format!("2 of 90 and 10 %, {points}"), 2, |seed| {
            grid(
                2,
                &|mode| [9 * points / 10, points / 10][mode],
                &|_| 1.0,
                SHAPES[0].1,
                seed,
            )
        }));
        all.push(tally(
            format!("3 of densities 1, 9, 25, {points}"),
            3,
            |seed| {
                grid(
                    3,
                    &|_| points / 3,
                    &|mode| [1.0, 0.33, 0.2][mode],
                    SHAPES[0].1,
                    seed,
                )
            },
        ));
        all.push(tally(format!("2 bars, {points}"), 2, |seed| {
            let mut random = Xorshift::new(seed);
            let mut bars = Planted::new(2);
            for bar in 0..2 {
                bars.add(bar + 1, points / 2, || {
                    [
                        unit(&mut random),
                        f64::from(bar) + 0.05 * normal(&mut random).0,
                    ]
                });
            }
            bars
        }));
    }
    for of in all {
        assert!(
            // Forty lognormal points in each mode are split in 3 of 20 series, two of them among the first six.
            of.right + repeats(3, 2) >= of.seeds,
            "{}: {} of {}, at most {}",
            of.name,
            of.right,
            of.seeds,
            of.most
        );
        assert!(of.rand > 0.9, "{}: {}", of.name, of.rand);
    }
}
