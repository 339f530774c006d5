//! [`strong_pairs`]: Gram matrix of filtered, normalised spectra ([`Rows`]), of which only strong
//! pairs are kept.

use crate::real::Real;
use crate::significance::PhaseNull;
use crate::spectra::{Spectra, View};
use crate::{Filter, Result};
use perf_core::{CancellationChecks, Job, parallel};

/// Views with R above this differ by their scale alone.
const SAME: f64 = 1.0 - 1e-9;

/// Ratio of the variance of R to that of independent cells, above which a pair is smooth.
pub(super) const SMOOTH: f64 = 2.0;

/// Share of the largest term of R below which a frequency of a smooth pair on one axis may be a
/// harmonic of stronger ones.
const HARMONIC: f64 = 0.05;

/// Number of rows of the Gram matrix that a task computes at once.
const BLOCK: usize = 8;

/// Upper bound on the strong pairs in memory, 24 bytes each.
pub(super) const MAX_STRONG: usize = 1 << 21;

/// Filtered, normalised spectra: R of two views is the dot product of their rows.
pub(super) struct Rows {
    /// Number of the view of each row.
    pub(super) views: Vec<usize>,
    /// Values of all rows: real parts and imaginary parts of pairs of opposite frequencies, then the
    /// frequencies that are their own opposites.
    pub(super) values: Vec<f64>,
    /// Number of values of a row.
    len: usize,
    /// Number of pairs of opposite frequencies.
    pairs: usize,
    /// Number of cells.
    cells: usize,
    /// `true` if one axis has at least half of the cells.
    is_line: bool,
    /// Standard deviation of each view, in its unit.
    pub(super) deviations: Vec<f64>,
}

impl Rows {
    pub(super) fn row(&self, at: usize) -> &[f64] {
        &self.values[at * self.len..(at + 1) * self.len]
    }

    /// Returns the products of the powers of two rows at pairs of opposite frequencies.
    fn squares(&self, one: usize, other: usize) -> impl Iterator<Item = f64> {
        let (a, b) = (self.row(one), self.row(other));
        let power = |row: &[f64], at: usize| row[at].powi(2) + row[self.pairs + at].powi(2);
        (0..self.pairs).map(move |at| power(a, at) * power(b, at))
    }

    /// Returns `true` if the variance of R of two rows under random phases exceeds that of independent
    /// cells, which is 1 / cells.
    pub(super) fn is_smooth(&self, one: usize, other: usize) -> bool {
        let own = self.row(one).iter().zip(self.row(other));
        let signs: f64 = own.skip(2 * self.pairs).map(|(a, b)| (a * b).powi(2)).sum();
        let variance = 0.5 * self.squares(one, other).sum::<f64>() + signs;
        variance * self.cells as f64 >= SMOOTH
    }

    /// Returns the probability that two rows correlate as strongly as `r` by chance.
    ///
    /// A smooth view of one axis has a few strong frequencies, and skewed values have harmonics of them,
    /// whose phases follow. If the strong ones agree by chance, so do all others. The weak ones are
    /// therefore no evidence there.
    pub(super) fn probability(
        &self,
        (one, other): (usize, usize),
        r: f64,
        null: &mut PhaseNull,
    ) -> f64 {
        let (a, b) = (self.row(one), self.row(other));
        let squares = self.squares(one, other);
        let own = 2 * self.pairs..self.len;
        let signs = own.map(|at| (a[at] * b[at]).abs());
        let has_harmonics = self.is_line && self.is_smooth(one, other);
        let least = if has_harmonics { HARMONIC } else { 0.0 };
        null.set(squares, signs, least);
        null.probability(r)
    }
}

/// Strong pair of rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strong {
    /// Index of the row of one view.
    pub(super) one: u32,
    /// Index of the row of the other view.
    pub(super) other: u32,
    /// R without shift.
    pub(super) r: f64,
}

/// Result of [`strong_pairs`].
pub(super) struct StrongPairs {
    /// Pairs that do not differ by a positive factor alone.
    pub(super) pairs: Vec<Strong>,
    /// For each row, the first row that differs from it by a positive factor.
    pub(super) folded: Vec<usize>,
    /// Magnitude of R that pairs had to reach.
    pub(super) least: f64,
}

/// Values of a packed spectrum that a filter passes, in the order of a row.
pub(super) struct RowLayout<T> {
    /// Weight of each place of a packed spectrum.
    weights: Vec<T>,
    /// Place of each value of a row in a packed spectrum.
    pub(super) order: Vec<usize>,
    /// Factor of each value of a row.
    factors: Vec<f64>,
    /// Number of pairs of opposite frequencies.
    pairs: usize,
    /// Number of cells.
    cells: usize,
    /// `true` if one axis has at least half of the cells.
    is_line: bool,
}

impl<T: Real> RowLayout<T> {
    /// Returns no rows, of this layout.
    pub(super) fn empty(&self) -> Rows {
        Rows {
            views: Vec::new(),
            values: Vec::new(),
            len: self.order.len(),
            pairs: self.pairs,
            cells: self.cells,
            is_line: self.is_line,
            deviations: Vec::new(),
        }
    }
}

impl<T: Real> Spectra<T> {
    /// Returns the layout of rows under a filter.
    pub(super) fn row_layout(&self, filter: &dyn Filter, job: &Job) -> Result<RowLayout<T>> {
        self.plan.check_filter(filter)?;
        let weights = self.plan.weights(filter, job)?;
        let layout = &self.plan.layout;
        let passes = |at: &usize| weights[*at].wide() > 0.0;
        let all = || {
            layout
                .runs()
                .flat_map(|run| (0..run.len).map(move |at| (run, at)))
        };
        let re: Vec<usize> = all().map(|(run, at)| run.re + at).filter(passes).collect();
        let im: Vec<usize> = all().map(|(run, at)| run.im + at).filter(passes).collect();
        let own: Vec<usize> = layout.owns().into_iter().flatten().filter(passes).collect();
        let pairs = re.len();
        let order = [re, im, own].concat();
        let factors = order.iter().enumerate().map(|(at, place)| {
            let count = if at < 2 * pairs { 2.0 } else { 1.0 };
            (count * weights[*place].wide()).sqrt()
        });
        let longest = self.plan.dims().iter().copied().max();
        Ok(RowLayout {
            factors: factors.collect(),
            weights,
            order,
            pairs,
            cells: self.plan.len(),
            is_line: 2 * longest.unwrap_or(0) >= self.plan.len(),
        })
    }

    /// Returns the filtered, normalised spectrum of a view as a row; `None` if it does not vary.
    pub(super) fn row_of(
        &self,
        layout: &RowLayout<T>,
        view: &View,
        spectrum: &[T],
        job: &Job,
    ) -> Result<Option<Vec<f64>>> {
        let power = self.plan.power(&layout.weights, spectrum, job)?;
        let is_varying = power > 0.0 && self.varies(view, power);
        let norm = power.sqrt();
        let places = layout.order.iter().zip(&layout.factors);
        let values = places.map(|(place, f)| f * spectrum[*place].wide() / norm);
        Ok(is_varying.then(|| values.collect()))
    }

    /// Returns the filtered, normalised spectra of the distinct views that vary.
    pub(super) fn rows(&self, layout: &RowLayout<T>, job: &Job) -> Result<Rows> {
        let mut rows = layout.empty();
        for (number, view) in self.views().iter().enumerate() {
            job.check()?;
            let (Some(slot), None) = (view.slot, view.same_as) else {
                continue;
            };
            let row = self.at(slot, job, |_, spectrum| {
                self.row_of(layout, view, spectrum, job)
            })??;
            if let Some(row) = row {
                let cells = self.plan.len().saturating_sub(view.missing).max(1);
                rows.views.push(number);
                rows.values.extend(row);
                let deviation = view.scale * (view.varying / cells as f64).sqrt();
                rows.deviations.push(deviation);
            }
        }
        Ok(rows)
    }
}

/// Finds the pairs of rows with a magnitude of R of at least `least`. Whenever they exceed `most`,
/// half of `most` are kept, the strongest, and `least` is raised.
pub(super) fn strong_pairs(
    rows: &Rows,
    mut least: f64,
    most: usize,
    job: &Job,
) -> Result<StrongPairs> {
    let count = rows.views.len();
    let mut folded: Vec<usize> = (0..count).collect();
    let mut strong: Vec<Strong> = Vec::new();
    // A few blocks at a time, so that their pairs are in order and bounded.
    const AT_ONCE: usize = 32;
    let blocks: Vec<usize> = (0..count).step_by(BLOCK).collect();
    for some in blocks.chunks(AT_ONCE) {
        let found = parallel::try_map(some.len(), |at| -> Result<Vec<Strong>> {
            let from = some[at];
            let block = from..(from + BLOCK).min(count);
            let mut found = Vec::new();
            let mut checks = job.checks();
            for other in from + 1..count {
                checks.next(rows.len * BLOCK)?;
                let r = dots(rows, block.clone(), other);
                let above = block.clone().zip(r).filter(|(one, _)| *one < other);
                let above = above.filter(|(_, r)| r.abs() >= least || *r >= SAME);
                found.extend(above.map(|(one, r)| Strong {
                    one: one as u32,
                    other: other as u32,
                    r: r.clamp(-1.0, 1.0),
                }));
            }
            Ok(found)
        })?;
        for pair in found.into_iter().flatten() {
            if pair.r < SAME {
                strong.push(pair);
                continue;
            }
            // Rows come in ascending order, so the first of both is known.
            let (one, other) = (folded[pair.one as usize], pair.other as usize);
            folded[other] = folded[other].min(one);
        }
        if strong.len() > most {
            let order = |a: &Strong, b: &Strong| b.r.abs().total_cmp(&a.r.abs());
            let (_, middle, _) = strong.select_nth_unstable_by(most / 2, order);
            least = least.max(middle.r.abs());
            strong.truncate(most / 2);
        }
        let done = some.iter().map(|from| BLOCK.min(count - from) as u64);
        job.advance("relations", done.sum(), count as u64);
    }
    Ok(StrongPairs {
        pairs: strong,
        folded,
        least,
    })
}

/// Returns the dot products of a block of rows and another row.
fn dots(rows: &Rows, block: std::ops::Range<usize>, other: usize) -> [f64; BLOCK] {
    let mut sums = [0.0; BLOCK];
    let other = rows.row(other);
    for from in (0..rows.len).step_by(CancellationChecks::EACH) {
        let to = (from + CancellationChecks::EACH).min(rows.len);
        for (sum, one) in sums.iter_mut().zip(block.clone()) {
            *sum += dot(&rows.row(one)[from..to], &other[from..to]);
        }
    }
    sums
}

/// Returns the dot product of two slices of equal length, in an order that does not depend on the
/// processor.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (mut sums, (a, b)) = ([0.0; 8], (a.chunks_exact(8), b.chunks_exact(8)));
    let rest: f64 = a
        .remainder()
        .iter()
        .zip(b.remainder())
        .map(|(a, b)| a * b)
        .sum();
    for (a, b) in a.zip(b) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    rest + sums.iter().sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::{Rows, Strong, strong_pairs};
    use perf_core::Job;

    #[test]
    fn the_strongest_pairs_remain_in_bounded_memory() {
        // Directions in a plane, 1 degree apart: R is the cosine of the angle.
        const COUNT: usize = 60;
        let angle = |at: usize| (at as f64).to_radians();
        let mut values: Vec<f64> = (0..COUNT)
            .flat_map(|at| [angle(at).cos(), angle(at).sin()])
            .collect();
        // The last row equals the first one.
        values.extend([1.0, 0.0]);
        let rows = Rows {
            views: (0..=COUNT).collect(),
            values,
            len: 2,
            pairs: 1,
            cells: 2,
            is_line: false,
            deviations: vec![1.0; COUNT + 1],
        };
        let all = strong_pairs(&rows, 0.5, usize::MAX, &Job::default()).unwrap();
        assert_eq!(
            (all.least, all.pairs.len()),
            (0.5, COUNT * (COUNT + 1) / 2 - 1)
        );
        let some = strong_pairs(&rows, 0.5, 200, &Job::default()).unwrap();
        assert!(
            some.pairs.len() <= 200 && some.least > 0.5,
            "{}",
            some.least
        );
        assert!(some.pairs.iter().all(|pair| pair.r >= some.least));
        let above = |pair: &&Strong| pair.r > some.least;
        let count = some.pairs.iter().filter(above).count();
        assert_eq!(count, all.pairs.iter().filter(above).count());
        assert_eq!((some.folded[COUNT], all.folded[COUNT]), (0, 0));
    }
}
