//! Views that are independent of each other, and how often they pass for related ones; used by tests
//! and by the example `chance_errors`.

use super::smooth_views::Random;
use perf_core::Job;
use perf_spectral::{AxisFilter, Kinship, NullParams, Spectra};
use std::f64::consts::TAU;

/// Kind of random views.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// Normal values.
    Normal,
    /// Exponential values.
    Exponential,
    /// Normal values, of which one cell is 20 standard deviations higher.
    HotRank,
    /// Number of neighbours that a cell of an open grid has, 3 to 6, in random places.
    Counts,
    /// Waves of low frequencies.
    Smooth,
    /// Exponentials of waves of low frequencies.
    SmoothSkewed,
}

/// All kinds.
pub(crate) const KINDS: [Kind; 6] = [
    Kind::Normal,
    Kind::Exponential,
    Kind::HotRank,
    Kind::Counts,
    Kind::Smooth,
    Kind::SmoothSkewed,
];

/// Returns random waves of falling power on a grid.
fn waves(dims: &[usize], random: &mut Random) -> Vec<f64> {
    let cells: usize = dims.iter().product();
    let mut view = vec![0.0; cells];
    for _ in 0..12 {
        let amplitude = random.normal();
        let mut phase = vec![TAU * random.unit(); cells];
        for (axis, len) in dims.iter().enumerate() {
            let step: usize = dims[axis + 1..].iter().product();
            // 0, 1, 1 and rarely 2 periods.
            let k = (random.normal() * 0.8).round();
            for (cell, phase) in phase.iter_mut().enumerate() {
                *phase += TAU * k * (cell / step % len) as f64 / *len as f64;
            }
        }
        let cells = view.iter_mut().zip(phase);
        cells.for_each(|(value, phase)| *value += amplitude * phase.cos());
    }
    view
}

/// Returns a random view.
pub(crate) fn view(kind: Kind, dims: &[usize], random: &mut Random) -> Vec<f64> {
    let cells: usize = dims.iter().product();
    let normal =
        |random: &mut Random| -> Vec<f64> { (0..cells).map(|_| random.normal()).collect() };
    match kind {
        Kind::Normal => normal(random),
        Kind::Exponential => (0..cells).map(|_| -(1.0 - random.unit()).ln()).collect(),
        Kind::HotRank => {
            let mut view = normal(random);
            view[(random.unit() * cells as f64) as usize] += 20.0;
            view
        }
        Kind::Counts => {
            let mut count = || {
                3.0 + (0..3)
                    .map(|_| f64::from(u8::from(random.unit() < 0.5)))
                    .sum::<f64>()
            };
            (0..cells).map(|_| count()).collect()
        }
        Kind::Smooth => waves(dims, random),
        Kind::SmoothSkewed => {
            let view = waves(dims, random);
            let square = view.iter().map(|value| value * value).sum::<f64>();
            let deviation = (square / cells as f64).sqrt().max(1e-3);
            view.iter()
                .map(|value| (1.5 * value / deviation).exp())
                .collect()
        }
    }
}

/// Returns the share of `pairs` of independent views whose p-value from 99 surrogates, over all
/// shifts, is at most 0.05.
pub(crate) fn false_share(kind: Kind, dims: &[usize], pairs: usize, seed: u64) -> f64 {
    let mut random = Random::new(seed);
    let (all, job) = (AxisFilter::all(dims.len()), Job::default());
    let low = (0..pairs).filter(|pair| {
        let mut builder = Spectra::<f64>::builder(dims).expect("a shape");
        let views = [view(kind, dims, &mut random), view(kind, dims, &mut random)];
        builder.extend(&views, &job).expect("finite values");
        let null = NullParams::default().seed(*pair as u64).check();
        let found = builder
            .finish()
            .confidence(0, &[1], &all, &null.expect("valid"), &job);
        found.expect("it runs").p[0] <= 0.05
    });
    low.count() as f64 / pairs as f64
}

/// Returns the number of pairs that relations find among independent views.
pub(crate) fn false_relations(kind: Kind, dims: &[usize], views: usize, seed: u64) -> usize {
    let mut random = Random::new(seed);
    let (all, job) = (AxisFilter::all(dims.len()), Job::default());
    let views: Vec<Vec<f64>> = (0..views).map(|_| view(kind, dims, &mut random)).collect();
    let mut builder = Spectra::<f64>::builder(dims).expect("a shape");
    builder.extend(&views, &job).expect("finite values");
    let kin = Kinship::unrelated(views.len());
    let found = builder
        .finish()
        .relations(&all, &kin, &Default::default(), &job);
    found.expect("it runs").found.len()
}
