//! Random smooth views with planted pairs, and the count of true and false discoveries among them.

use perf_core::Job;
use perf_spectral::{AxisFilter, Kinship, RelationParams, Relations, Spectra};
use std::f64::consts::TAU;

/// Cells along both axes of the grid.
const SIDE: usize = 16;

/// Highest frequency of the smooth views.
const HIGHEST: i32 = 4;

/// Pseudo-random numbers from a seed (SplitMix64).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x5555)
    }

    /// Returns a number in `0.0..1.0`.
    pub(crate) fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((value ^ (value >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns a normally distributed number.
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (TAU * self.unit()).cos()
    }
}

/// Returns a random smooth view: waves of falling power with normal coefficients.
pub(crate) fn smooth(random: &mut Random) -> Vec<f64> {
    let table: Vec<(f64, f64)> = (0..SIDE)
        .map(|at| (TAU * at as f64 / SIDE as f64).sin_cos())
        .collect();
    let mut view = vec![0.0; SIDE * SIDE];
    for k in 0..=HIGHEST {
        for l in -HIGHEST..=HIGHEST {
            if (k, l) <= (0, 0) {
                continue;
            }
            let amplitude = (-f64::from(k * k + l * l) / 16.0).exp();
            let (a, b) = (amplitude * random.normal(), amplitude * random.normal());
            for (cell, value) in view.iter_mut().enumerate() {
                let phase = k * (cell / SIDE) as i32 + l * (cell % SIDE) as i32;
                let (sin, cos) = table[phase.rem_euclid(SIDE as i32) as usize];
                *value += a * cos + b * sin;
            }
        }
    }
    view
}

/// Returns relations among `views` random smooth views. The first `2 * planted` views are pairs of
/// neighbours, of which every other one is opposite, with noise of a tenth of their variation.
pub(crate) fn relations(views: usize, planted: usize, seed: u64) -> Relations {
    let mut random = Random::new(seed);
    let mut all: Vec<Vec<f64>> = (0..views).map(|_| smooth(&mut random)).collect();
    for pair in 0..planted {
        let sign = if pair.is_multiple_of(2) { 1.0 } else { -1.0 };
        let noise = smooth(&mut random);
        let cells = all[2 * pair].iter().zip(&noise);
        all[2 * pair + 1] = cells
            .map(|(value, noise)| sign * value + 0.1 * noise)
            .collect();
    }
    let job = Job::default();
    let mut builder = Spectra::<f64>::builder(&[SIDE, SIDE]).expect("a shape");
    builder.extend(&all, &job).expect("finite values");
    let params = RelationParams::default().check().expect("valid");
    let spectra = builder.finish();
    let kin = Kinship::unrelated(views);
    spectra
        .relations(&AxisFilter::all(2), &kin, &params, &job)
        .expect("it is not cancelled")
}

/// Returns the number of found planted pairs and of false pairs.
pub(crate) fn counts(found: &Relations, planted: usize) -> (usize, usize) {
    let is_planted =
        |one: usize, other: usize| one.is_multiple_of(2) && other == one + 1 && one < 2 * planted;
    let (right, wrong): (Vec<_>, Vec<_>) = found
        .found
        .iter()
        .partition(|it| is_planted(it.one.min(it.other), it.one.max(it.other)));
    (right.len(), wrong.len())
}
