//! Shared code of the cluster tests: reference implementations, random points and labels of an
//! established tool.

#![allow(dead_code, reason = "each test uses its part")]
#![allow(missing_docs, reason = "tests only")]

pub(crate) mod peer;

use perf_testdata::clusters::unit;
use perf_testdata::xorshift::Xorshift;
use perf_track::{ClusterId, Labels};

pub(crate) fn squared(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum()
}

/// Returns for each point the indices of those within eps, itself included.
pub(crate) fn neighbours(values: &[f64], d: usize, eps: f64) -> Vec<Vec<usize>> {
    let points: Vec<&[f64]> = values.chunks_exact(d).collect();
    let within = |a: &&[f64]| {
        let found = points.iter().enumerate();
        let found = found.filter(|(_, b)| squared(a, b) <= eps * eps);
        found.map(|(at, _)| at).collect()
    };
    points.iter().map(within).collect()
}

/// Returns core flags and labels by the definition: core points, their components, and border
/// points assigned to the core neighbour of lowest index.
pub(crate) fn naive(values: &[f64], d: usize, eps: f64, least: usize) -> (Vec<bool>, Labels) {
    let around = neighbours(values, d, eps);
    let core: Vec<bool> = around.iter().map(|near| near.len() >= least).collect();
    let mut label = vec![0; around.len()];
    let mut clusters = 0;
    for seed in 0..around.len() {
        if !core[seed] || label[seed] != 0 {
            continue;
        }
        clusters += 1;
        let mut open = vec![seed];
        while let Some(at) = open.pop() {
            if label[at] == 0 {
                label[at] = clusters;
                open.extend(around[at].iter().filter(|&&next| core[next]));
            }
        }
    }
    for at in 0..around.len() {
        if !core[at] {
            let owner = around[at].iter().find(|&&near| core[near]);
            label[at] = owner.map_or(0, |&near| label[near]);
        }
    }
    (core, labels(&label))
}

/// Returns labels of the visit in order: each new cluster takes all of its first ball.
pub(crate) fn visit(values: &[f64], d: usize, eps: f64, least: usize) -> Labels {
    let around = neighbours(values, d, eps);
    // `None` is not yet visited, 0 is noise.
    let mut label: Vec<Option<u32>> = vec![None; around.len()];
    let mut clusters = 0;
    for seed in 0..around.len() {
        if label[seed].is_some() {
            continue;
        }
        if around[seed].len() < least {
            label[seed] = Some(0);
            continue;
        }
        clusters += 1;
        for &near in &around[seed] {
            label[near] = Some(clusters);
        }
        let mut open = around[seed].clone();
        while let Some(at) = open.pop() {
            if around[at].len() < least {
                continue;
            }
            for &near in &around[at] {
                if label[near].is_none_or(|known| known == 0) {
                    if label[near].is_none() {
                        open.push(near);
                    }
                    label[near] = Some(clusters);
                }
            }
        }
    }
    let all: Vec<u32> = label.into_iter().map(Option::unwrap_or_default).collect();
    labels(&all)
}

pub(crate) fn labels(ids: &[u32]) -> Labels {
    Labels::new(ids.iter().map(|&id| ClusterId(id)).collect())
}

/// Returns random points of several kinds: uniform, clouds, a lattice with points exactly eps
/// apart, and groups of equal points.
pub(crate) fn random(seed: u64, count: usize, d: usize, eps: f64) -> Vec<f64> {
    let mut random = Xorshift::new(seed);
    let kind = random.below(4);
    let mut values = Vec::with_capacity(count * d);
    for _ in 0..count {
        match kind {
            0 => values.extend((0..d).map(|_| unit(&mut random) * 5.0 * eps)),
            1 => {
                let centre = random.below(4) as f64 * 4.0 * eps;
                let spread = 1.5 * eps;
                values.extend(
                    (0..d).map(|_| centre + spread * (unit(&mut random) + unit(&mut random) - 1.0)),
                );
            }
            2 => values.extend((0..d).map(|_| random.below(5) as f64 * eps)),
            _ => {
                let place = random.below(6) as f64 * 0.7 * eps;
                let shift = random.below(3) as f64 * 0.3 * eps;
                values.extend((0..d).map(|axis| if axis == 0 { place + shift } else { place }));
            }
        }
    }
    values
}
