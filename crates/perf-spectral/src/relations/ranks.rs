//! Bound of the probability that two views correlate because their outliers lie close together.
//!
//! The phase null holds for normal values, and for views of two groups of cells. It does not for values
//! with long tails: in smooth views outliers come in groups of neighbours, which coincide far more often
//! than the single cells that `outliers` knows. A pair of views with long tails is therefore also tested
//! by normal scores: the values are replaced by those of a normal distribution in the same order, for
//! which the phase null holds.

use super::gram::{RowLayout, Rows, Strong, dot};
use super::outliers::{gathered, used};
use crate::Result;
use crate::real::Real;
use crate::significance::PhaseNull;
use crate::spectra::Spectra;
use perf_core::{Job, parallel};

/// Excess kurtosis above which values have long tails. It is 0 for a normal distribution, 6 for an
/// exponential one, and negative for two groups of which the smaller one has a quarter of the cells.
const LONG_TAIL: f64 = 3.0;

impl<T: Real> Spectra<T> {
    /// Raises the p-values of pairs of views with long tails to those of their normal scores.
    pub(super) fn raise_to_ranks(
        &self,
        layout: &RowLayout<T>,
        rows: &Rows,
        pairs: &mut [(f64, Strong)],
        job: &Job,
    ) -> Result<()> {
        let is_used = used(rows, pairs.iter().map(|(_, pair)| pair));
        let scores = parallel::try_map(rows.views.len(), |row| {
            if is_used[row] {
                self.normal_scores(layout, rows.views[row], job)
            } else {
                Ok(None)
            }
        })?;
        let kurtosis: Vec<f64> = scores
            .iter()
            .flatten()
            .map(|(kurtosis, _)| *kurtosis)
            .collect();
        let scores = scores.into_iter().map(|it| it.map(|(_, row)| row));
        let (scores, at_row) = gathered(layout.empty(), scores.collect());
        let bounds = parallel::try_map(pairs.len(), |at| -> Result<f64> {
            job.check()?;
            let pair = &pairs[at].1;
            let sides = (at_row[pair.one as usize], at_row[pair.other as usize]);
            let (Some(one), Some(other)) = sides else {
                return Ok(0.0);
            };
            // Outliers of smooth views come in groups, so that any tail counts.
            let is_short = kurtosis[one].min(kurtosis[other]) <= LONG_TAIL;
            if is_short && !scores.is_smooth(one, other) {
                return Ok(0.0);
            }
            let r = dot(scores.row(one), scores.row(other)).clamp(-1.0, 1.0);
            if r * pair.r <= 0.0 {
                return Ok(1.0);
            }
            Ok(scores.probability((one, other), r, &mut PhaseNull::default()))
        })?;
        for ((p, _), bound) in pairs.iter_mut().zip(bounds) {
            *p = p.max(bound);
        }
        Ok(())
    }

    /// Returns the excess kurtosis of a view and the row of its normal scores; `None` for shorter tails
    /// than those of a normal distribution.
    fn normal_scores(
        &self,
        layout: &RowLayout<T>,
        view: usize,
        job: &Job,
    ) -> Result<Option<(f64, Vec<f64>)>> {
        let about = &self.views()[view];
        let row = self.with_values(view, job, |scratch, values| {
            let kurtosis = excess_kurtosis(values);
            if kurtosis <= 0.0 {
                return Ok(None);
            }
            let mut order: Vec<usize> = (0..values.len()).collect();
            order.sort_unstable_by(|a, b| values[*a].wide().total_cmp(&values[*b].wide()));
            let old = values.clone();
            // Equal values get equal scores. Values have rounding errors.
            let is_equal = |a: usize, b: usize| (old[a].wide() - old[b].wide()).abs() < T::TIE;
            let groups = order.chunk_by(|a, b| is_equal(*a, *b));
            let mut below = 0;
            for group in groups {
                let middle = below as f64 + 0.5 * group.len() as f64;
                let score = T::of(normal(middle / old.len() as f64));
                group.iter().for_each(|cell| values[*cell] = score);
                below += group.len();
            }
            let mut spectrum = vec![T::default(); values.len()];
            self.plan.forward(values, &mut spectrum, scratch)?;
            let row = self.row_of(layout, about, &spectrum, job)?;
            Ok(row.map(|row| (kurtosis, row)))
        })?;
        Ok(row.flatten())
    }
}

/// Returns the excess kurtosis of values whose mean is 0.
fn excess_kurtosis<T: Real>(values: &[T]) -> f64 {
    let mean = |power: i32| {
        let sum: f64 = values.iter().map(|value| value.wide().powi(power)).sum();
        sum / values.len() as f64
    };
    mean(4) / mean(2).powi(2) - 3.0
}

/// Returns the normally distributed number of a probability between 0 and 1, to 5e-4 (Abramowitz and
/// Stegun, 26.2.23).
fn normal(p: f64) -> f64 {
    let t = (-2.0 * p.min(1.0 - p).ln()).sqrt();
    let above = 2.515517 + t * (0.802853 + t * 0.010328);
    let below = 1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308));
    (t - above / below).copysign(p - 0.5)
}

#[cfg(test)]
mod tests {
    use super::{excess_kurtosis, normal};

    #[test]
    fn outliers_make_long_tails() {
        // One cell of four is high: 1 / (q (1 - q)) - 6 with q = 1 / 4.
        assert!((excess_kurtosis(&[3.0, -1.0, -1.0, -1.0]) + 2.0 / 3.0).abs() < 1e-12);
        let mut values = [-1.0; 64];
        values[5] = 63.0;
        assert!(excess_kurtosis(&values) > 50.0);
    }

    #[test]
    fn normal_scores_are_those_of_tables() {
        for (p, score) in [
            (0.5, 0.0),
            (0.975, 1.95996),
            (0.001, -3.09023),
            (0.2, -0.84162),
        ] {
            assert!((normal(p) - score).abs() < 5e-4, "{p}: {}", normal(p));
        }
    }
}
