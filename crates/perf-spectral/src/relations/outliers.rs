//! Bound of the probability that two views correlate because their outliers lie in the same cells.
//!
//! The phase null spreads an outlier over all cells. Two views that differ from their mean in one
//! cell each therefore correlate far beyond that null if the cells coincide, although one of as many
//! pairs as there are cells does so by chance. Under a random order of the cells of one view, its k
//! largest deviations lie in the cells of the other's with the probability `1 / C(cells, k)`. If they
//! do, the other cells must correlate on their own, which the phase null tests.

use super::gram::{RowLayout, Rows, Strong, dot};
use crate::Result;
use crate::fft::Scratch;
use crate::real::Real;
use crate::significance::PhaseNull;
use crate::spectra::Spectra;
use perf_core::{Job, parallel};

/// Largest number of cells that carry a pair.
const MAX_CELLS: usize = 4;

/// Row of a pair, as [`Strong`] has it.
pub(super) type PairKey = (u32, u32);

impl<T: Real> Spectra<T> {
    /// Raises the p-values of pairs to the bounds of their outliers. Returns the raised pairs, each
    /// with the cell that deviates most.
    pub(super) fn raise_to_outliers(
        &self,
        layout: &RowLayout<T>,
        rows: &Rows,
        pairs: &mut [(f64, Strong)],
        job: &Job,
    ) -> Result<Vec<(PairKey, usize)>> {
        let is_used = used(rows, pairs.iter().map(|(_, pair)| pair));
        let cells = parallel::try_map(rows.views.len(), |row| {
            if is_used[row] {
                self.outlier_cells(rows.views[row], job)
            } else {
                Ok(Vec::new())
            }
        })?;
        let mut raised: Vec<(PairKey, usize)> = Vec::new();
        for count in 1..=MAX_CELLS {
            let set = |row: u32| {
                let mut set = cells[row as usize].get(..count)?.to_vec();
                set.sort_unstable();
                Some(set)
            };
            let alike: Vec<usize> = (0..pairs.len())
                .filter(|at| {
                    let pair = &pairs[*at].1;
                    set(pair.one).is_some_and(|one| Some(one) == set(pair.other))
                })
                .collect();
            let is_used = used(rows, alike.iter().map(|at| &pairs[*at].1));
            let rest = parallel::try_map(rows.views.len(), |row| {
                if is_used[row] {
                    self.without(layout, rows.views[row], &cells[row][..count], job)
                } else {
                    Ok(None)
                }
            })?;
            let (rest, at_row) = gathered(layout.empty(), rest);
            let bounds = parallel::try_map(alike.len(), |at| -> Result<f64> {
                job.check()?;
                let pair = &pairs[alike[at]].1;
                let occupied =
                    self.plan.len() - self.views()[rows.views[pair.one as usize]].missing;
                let sides = (at_row[pair.one as usize], at_row[pair.other as usize]);
                let mut p = 1.0;
                if let (Some(one), Some(other)) = sides {
                    let r = dot(rest.row(one), rest.row(other)).clamp(-1.0, 1.0);
                    // Other cells that correlate with the opposite sign do not support the pair.
                    if r * pair.r > 0.0 {
                        p = rest.probability((one, other), r, &mut PhaseNull::default());
                    }
                }
                Ok(p / combinations(occupied, count))
            })?;
            for (at, bound) in alike.into_iter().zip(bounds) {
                let (p, pair) = &mut pairs[at];
                if bound > *p {
                    *p = bound;
                    raised.push(((pair.one, pair.other), cells[pair.one as usize][0]));
                }
            }
        }
        Ok(raised)
    }

    /// Calls `work` with the values of a view without its mean, and a workspace.
    pub(super) fn with_values<R>(
        &self,
        view: usize,
        job: &Job,
        work: impl FnOnce(&mut Scratch<T>, &mut Vec<T>) -> Result<R>,
    ) -> Result<Option<R>> {
        let Some(slot) = self.views()[view].slot else {
            return Ok(None);
        };
        self.at(slot, job, |scratch, spectrum| {
            let mut values = vec![T::default(); spectrum.len()];
            self.plan.inverse(spectrum, &mut values, scratch)?;
            work(scratch, &mut values).map(Some)
        })?
    }

    /// Returns the cells of a view that deviate most from the mean of the cells after them, in this
    /// order.
    fn outlier_cells(&self, view: usize, job: &Job) -> Result<Vec<usize>> {
        let occupied = self.plan.len() - self.views()[view].missing;
        let cells = self.with_values(view, job, |_, values| {
            let mut cells = Vec::new();
            let (mut sum, mut mean) = (0.0, 0.0);
            // Three cells remain at least, of which two may differ.
            for taken in 1..=MAX_CELLS.min(occupied.saturating_sub(3)) {
                let away = |at: &usize| (values[*at].wide() - mean).abs();
                let others = (0..values.len()).filter(|at| !cells.contains(at));
                let first = |a: &usize, b: &usize| away(a).total_cmp(&away(b)).then(b.cmp(a));
                let Some(cell) = others.max_by(first) else {
                    break;
                };
                cells.push(cell);
                sum -= values[cell].wide();
                mean = sum / (occupied - taken) as f64;
            }
            Ok(cells)
        })?;
        Ok(cells.unwrap_or_default())
    }

    /// Returns the row of a view whose `cells` are set to the mean of the others; `None` if these do
    /// not vary.
    fn without(
        &self,
        layout: &RowLayout<T>,
        view: usize,
        cells: &[usize],
        job: &Job,
    ) -> Result<Option<Vec<f64>>> {
        let about = &self.views()[view];
        let occupied = self.plan.len() - about.missing;
        let row = self.with_values(view, job, |scratch, values| {
            // The values of all cells add up to 0.
            let sum: f64 = cells.iter().map(|cell| values[*cell].wide()).sum();
            let mean = -sum / (occupied - cells.len()) as f64;
            for cell in cells {
                values[*cell] = T::of(mean);
            }
            let mut spectrum = vec![T::default(); values.len()];
            self.plan.forward(values, &mut spectrum, scratch)?;
            self.row_of(layout, about, &spectrum, job)
        })?;
        Ok(row.flatten())
    }
}

/// Returns `true` for each row that a pair has.
pub(super) fn used<'a>(rows: &Rows, pairs: impl Iterator<Item = &'a Strong>) -> Vec<bool> {
    let mut used = vec![false; rows.views.len()];
    for pair in pairs {
        used[pair.one as usize] = true;
        used[pair.other as usize] = true;
    }
    used
}

/// Returns the rows that exist, and the number of each of them.
pub(super) fn gathered(mut rows: Rows, found: Vec<Option<Vec<f64>>>) -> (Rows, Vec<Option<usize>>) {
    let mut numbers = Vec::with_capacity(found.len());
    for (at, row) in found.into_iter().enumerate() {
        numbers.push(row.is_some().then_some(rows.views.len()));
        if let Some(row) = row {
            rows.views.push(at);
            rows.values.extend(row);
        }
    }
    (rows, numbers)
}

/// Returns the number of sets of `count` of `all` cells.
fn combinations(all: usize, count: usize) -> f64 {
    let factors = (0..count).map(|at| (all - at) as f64 / (at + 1) as f64);
    factors.product()
}

#[cfg(test)]
mod tests {
    use super::combinations;

    #[test]
    fn combinations_are_binomial_coefficients() {
        assert_eq!(combinations(64, 1), 64.0);
        assert_eq!(combinations(64, 2), 2016.0);
        assert_eq!(combinations(8, 4), 70.0);
    }
}
