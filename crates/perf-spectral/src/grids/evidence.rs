//! [`Evidence`] for candidate grids: the share of the variance of views along their axes, and its
//! probability for random views by a beta distribution.
//!
//! The N - 1 frequencies of a random view have equal variances. The share of m of them in all is
//! therefore beta-distributed, with parameters m / 2 and (N - 1 - m) / 2: exactly for normal
//! values, closely for others. `-log10` of its upper tail compares shares of different m.
//!
//! The share of the frequencies along one axis is the variance of the means over all processes of
//! equal coordinate, so no transform is necessary.

use super::candidates::{Candidates, Part};
use super::views::Views;
use crate::Result;
use perf_core::Job;
use std::collections::BTreeMap;
use std::f64::consts::{LN_10, PI, TAU};

/// Largest share that counts. Views without noise would have infinite evidence.
const MAX_SHARE: f64 = 0.999;

/// Number of intervals of a table of the tail.
const INTERVALS: usize = 160;

/// Numbers of low frequencies of smooth views.
const SMOOTH: [usize; 4] = [1, 2, 4, 8];

/// Evidence of all candidates.
#[derive(Debug)]
pub(super) struct Evidence {
    /// All axes, with all their frequencies or the lowest one.
    parts: Vec<Part>,
    /// Sets of parts, as indices of `parts`, with the tail for their number of frequencies.
    sets: Vec<(Vec<usize>, usize)>,
    /// Tails by number of frequencies.
    tails: Vec<Tail>,
    /// Sets of the parts of each candidate; the last one is that of all frequencies of all axes.
    grids: Vec<Vec<usize>>,
    /// Cosine and sine of the lowest frequency of axes, by length.
    waves: BTreeMap<usize, Vec<[f64; 2]>>,
    /// Processes in the order of their nodes.
    by_node: Vec<u32>,
    /// Number of processes.
    processes: usize,
}

impl Evidence {
    pub(super) fn of(candidates: &Candidates, processes: usize) -> Self {
        let mut found = Evidence {
            parts: Vec::new(),
            sets: Vec::new(),
            tails: Vec::new(),
            grids: Vec::new(),
            waves: BTreeMap::new(),
            by_node: candidates.by_node.clone(),
            processes,
        };
        let (mut part_of, mut set_of, mut tail_of) =
            (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for grid in &candidates.grids {
            // Sets of the first axes, then of one more at a time. The last one is always the set of
            // all axes with all their frequencies.
            let mut sets: Vec<Vec<usize>> = vec![Vec::new()];
            for part in grid.parts() {
                let choices = part.lowest().into_iter().chain([part]);
                let choices: Vec<usize> = choices
                    .map(|part| {
                        *part_of.entry(part).or_insert_with(|| {
                            found.parts.push(part);
                            found.parts.len() - 1
                        })
                    })
                    .collect();
                let longer = choices.iter().flat_map(|part| {
                    let longer = sets.iter().map(|set| [set, &[*part][..]].concat());
                    longer.collect::<Vec<_>>()
                });
                let longer: Vec<_> = longer.collect();
                sets.extend(longer);
            }
            let sets = sets.into_iter().filter(|set| !set.is_empty()).map(|set| {
                *set_of.entry(set.clone()).or_insert_with(|| {
                    let parts = set.iter().filter_map(|part| found.parts.get(*part));
                    let count: usize = parts.map(Part::frequencies).sum();
                    let tail = *tail_of.entry(count).or_insert_with(|| {
                        found.tails.push(Tail::new(count, processes - 1));
                        found.tails.len() - 1
                    });
                    found.sets.push((set, tail));
                    found.sets.len() - 1
                })
            });
            let sets = sets.collect();
            found.grids.push(sets);
        }
        for part in found.parts.iter().filter(|part| part.is_lowest) {
            let turn = TAU / part.len as f64;
            let wave = |at| [(turn * at as f64).cos(), (turn * at as f64).sin()];
            let wave = || (0..part.len).map(wave).collect();
            found.waves.entry(part.len).or_insert_with(wave);
        }
        found
    }

    /// Returns the mean evidence of each candidate over the views, with the processes in another
    /// order.
    pub(super) fn means(&self, views: &Views, order: &[u32], job: &Job) -> Result<Vec<f64>> {
        let mut sums = vec![0.0; self.grids.len()];
        let mut permuted = vec![0.0; self.processes];
        let mut of_set = vec![0.0; self.sets.len()];
        let mut checks = job.checks();
        for view in views.iter() {
            checks.next(self.processes * self.parts.len())?;
            gather(view, order, &mut permuted);
            let shares = self.part_shares(&permuted);
            for (found, (set, tail)) in of_set.iter_mut().zip(&self.sets) {
                let share = set.iter().filter_map(|part| shares.get(*part)).sum();
                let tail = self.tails.get(*tail);
                *found = tail.map_or(0.0, |tail| tail.evidence(share));
            }
            for (sum, sets) in sums.iter_mut().zip(&self.grids) {
                let found = sets.iter().filter_map(|set| of_set.get(*set));
                let best = found.copied().fold(0.0, f64::max);
                // The best of several sets is larger by chance.
                *sum += (best - (sets.len() as f64).log10()).max(0.0);
            }
        }
        for sum in &mut sums {
            *sum /= views.len() as f64;
        }
        Ok(sums)
    }

    /// Returns the mean share of the variance along the axes of each candidate.
    pub(super) fn shares(&self, views: &Views) -> Vec<f64> {
        let mut sums = vec![0.0; self.grids.len()];
        for view in views.iter() {
            let shares = self.part_shares(view);
            for (sum, sets) in sums.iter_mut().zip(&self.grids) {
                let all = sets.last().and_then(|set| self.sets.get(*set));
                let parts = all.into_iter().flat_map(|(parts, _)| parts);
                *sum += parts.filter_map(|part| shares.get(*part)).sum::<f64>();
            }
        }
        sums.iter().map(|sum| sum / views.len() as f64).collect()
    }

    /// Returns the share of the variance of a normalised view in each part.
    fn part_shares(&self, view: &[f64]) -> Vec<f64> {
        let mut by_node = Vec::new();
        if !self.by_node.is_empty() {
            by_node.resize(view.len(), 0.0);
            gather(view, &self.by_node, &mut by_node);
        }
        let mut sums = Vec::new();
        let mut summed = None;
        let share = |part: &Part| {
            let view = if part.by_node { &by_node } else { view };
            // The lowest frequency of an axis comes directly before all of them.
            let axis = (part.by_node, part.stride, part.len);
            if summed != Some(axis) {
                summed = Some(axis);
                sums.clear();
                sums.resize(part.len, 0.0);
                for block in view.chunks_exact(part.stride * part.len) {
                    let lines = block.chunks_exact(part.stride);
                    for (sum, line) in sums.iter_mut().zip(lines) {
                        *sum += line.iter().sum::<f64>();
                    }
                }
            }
            let squares: f64 = if part.is_lowest {
                let turn = TAU / part.len as f64;
                let along = |wave: fn(f64) -> f64| {
                    let sums = sums.iter().enumerate();
                    sums.map(|(at, sum)| sum * wave(turn * at as f64))
                        .sum::<f64>()
                };
                let power = along(f64::cos).powi(2) + along(f64::sin).powi(2);
                2.0 * power / part.len as f64
            } else {
                sums.iter().map(|sum| sum * sum).sum()
            };
            squares * part.len as f64 / view.len() as f64
        };
        self.parts.iter().map(share).collect()
    }

    /// Returns the mean evidence for views that are smooth functions of the process number: that of
    /// a few low frequencies, of a closed or an open line.
    pub(super) fn smooth(&self, views: &Views, job: &Job) -> Result<f64> {
        let count = self.processes;
        let most = SMOOTH.into_iter().filter(|low| 4 * low < count);
        let most: Vec<usize> = most.collect();
        let tails: Vec<Tail> = most
            .iter()
            .map(|low| Tail::new(2 * low, count - 1))
            .collect();
        let trials = (2 * most.len()).max(1) as f64;
        let mut sum = 0.0;
        for view in views.iter() {
            let share = |wave: &dyn Fn(f64) -> f64| {
                let values = view.iter().enumerate();
                let sum: f64 = values.map(|(at, value)| value * wave(at as f64)).sum();
                2.0 * sum * sum / count as f64
            };
            let (mut closed, mut open, mut from) = (0.0, 0.0, 0);
            let mut best = 0.0f64;
            for (low, tail) in most.iter().zip(&tails) {
                job.check()?;
                for k in from + 1..=*low {
                    let turn = TAU * k as f64 / count as f64;
                    closed += share(&|at| (turn * at).cos()) + share(&|at| (turn * at).sin());
                }
                for k in 2 * from + 1..=2 * low {
                    let turn = PI * k as f64 / count as f64;
                    open += share(&|at| (turn * (at + 0.5)).cos());
                }
                from = *low;
                best = best.max(tail.evidence(closed)).max(tail.evidence(open));
            }
            sum += (best - trials.log10()).max(0.0);
        }
        Ok(sum / views.len() as f64)
    }
}

/// Puts the values of a view in another order.
fn gather(view: &[f64], order: &[u32], to: &mut [f64]) {
    for (to, at) in to.iter_mut().zip(order) {
        *to = view.get(*at as usize).copied().unwrap_or_default();
    }
}

/// `-log10` of the probability that the share of some frequencies of a random view reaches a value.
///
/// It is tabulated because a search evaluates millions of values. A library is of no use: the
/// probabilities of large grids are below the smallest number, so their logarithm is needed.
#[derive(Clone, Debug)]
struct Tail {
    /// Mean share of a random view; 1 if all frequencies are among the selected ones.
    mean: f64,
    /// Values at the ends of the intervals; empty if the mean is 1.
    values: Vec<f64>,
}

impl Tail {
    /// Creates the table for `selected` of `all` frequencies.
    fn new(selected: usize, all: usize) -> Self {
        if selected == 0 || selected >= all {
            return Tail {
                mean: 1.0,
                values: Vec::new(),
            };
        }
        let (a, b) = (selected as f64 / 2.0, (all - selected) as f64 / 2.0);
        let values = (0..=INTERVALS).map(|at| {
            // Intervals are narrow where the share is small, because its distribution is narrow.
            let depth = (at as f64 / INTERVALS as f64).powi(4) * max_depth();
            (-log_tail(-(-depth).exp_m1(), a, b) / LN_10).max(0.0)
        });
        Tail {
            mean: selected as f64 / all as f64,
            values: values.collect(),
        }
    }

    fn evidence(&self, share: f64) -> f64 {
        // Below the mean the evidence is less than what several sets take off.
        if share <= self.mean {
            return 0.0;
        }
        let depth = -(-share.clamp(0.0, MAX_SHARE)).ln_1p();
        let at = (depth / max_depth()).sqrt().sqrt() * INTERVALS as f64;
        let index = at as usize;
        let low = self.values.get(index).copied();
        let high = self.values.get(index + 1).copied();
        match (low, high) {
            (Some(low), Some(high)) => low + (high - low) * (at - index as f64),
            (Some(low), None) => low,
            _ => self.values.last().copied().unwrap_or_default(),
        }
    }
}

/// Returns `-ln(1 - share)` of the largest share.
fn max_depth() -> f64 {
    -(1.0 - MAX_SHARE).ln()
}

/// Returns the logarithm of `P(share >= x)` of a beta distribution with parameters a and b.
fn log_tail(x: f64, a: f64, b: f64) -> f64 {
    // The upper tail is the lower tail of the complement.
    let (y, p, q) = (1.0 - x, b, a);
    if y >= 1.0 {
        return 0.0;
    }
    let log_factor = log_gamma(p + q) - log_gamma(p) - log_gamma(q) + p * y.ln() + q * (-y).ln_1p();
    if y < (p + 1.0) / (p + q + 2.0) {
        log_factor + (fraction(y, p, q) / p).ln()
    } else {
        let other = log_factor.exp() * fraction(1.0 - y, q, p) / q;
        (-other.min(1.0 - f64::EPSILON)).ln_1p()
    }
}

/// Returns the continued fraction of the incomplete beta function (Abramowitz and Stegun, 26.5.8),
/// by Lentz's method.
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    const MAX_TERMS: usize = 2_000;
    let safe = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / safe(1.0 - (a + b) * x / (a + 1.0));
    let mut found = d;
    for term in 1..MAX_TERMS {
        let m = term as f64;
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = found;
        for factor in [even, odd] {
            d = 1.0 / safe(1.0 + factor * d);
            c = safe(1.0 + factor / c);
            found *= c * d;
        }
        if (found - before).abs() <= 1e-12 * found.abs() {
            break;
        }
    }
    found
}

/// Returns the logarithm of the gamma function of a positive number, by Stirling's series.
fn log_gamma(x: f64) -> f64 {
    let (mut x, mut shift) = (x, 0.0);
    while x < 10.0 {
        shift += x.ln();
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    let series = (1.0 / 12.0 - y * (1.0 / 360.0 - y * (1.0 / 1260.0 - y / 1680.0))) / x;
    (x - 0.5) * x.ln() - x + 0.5 * TAU.ln() + series - shift
}
