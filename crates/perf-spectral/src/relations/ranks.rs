//! Bound of the probability that two smooth views correlate because their outliers lie close together.
//!
//! The phase null holds for normal values. In views of independent cells the bound of `outliers`
//! suffices for skewed values. In smooth ones outliers come in groups of neighbours, which coincide far
//! more often than single cells. A smooth pair is therefore also tested by normal scores: the values
//! are replaced by those of a normal distribution in the same order, for which the phase null holds.

use super::gram::{RowLayout, Rows, Strong, dot};
use super::outliers::{gathered, used};
use crate::Result;
use crate::real::Real;
use crate::significance::PhaseNull;
use crate::spectra::Spectra;
use perf_core::{Job, parallel};

/// Ratio of the variance of R under random phases to that of views of independent cells, above which
/// a pair is smooth.
const SMOOTH: f64 = 2.0;

impl<T: Real> Spectra<T> {
    /// Raises the p-values of smooth pairs to those of their normal scores.
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
        let (scores, at_row) = gathered(layout.empty(), scores);
        let bounds = parallel::try_map(pairs.len(), |at| -> Result<f64> {
            job.check()?;
            let pair = &pairs[at].1;
            let sides = (at_row[pair.one as usize], at_row[pair.other as usize]);
            let (Some(one), Some(other)) = sides else {
                return Ok(0.0);
            };
            let cells = self.plan.len() as f64;
            // R of independent cells has the variance 1 / cells.
            if scores.variance(one, other) * cells < SMOOTH {
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

    /// Returns the row of the normal scores of a view; `None` if they do not vary.
    fn normal_scores(
        &self,
        layout: &RowLayout<T>,
        view: usize,
        job: &Job,
    ) -> Result<Option<Vec<f64>>> {
        let about = &self.views()[view];
        let row = self.with_values(view, job, |scratch, values| {
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
            self.row_of(layout, about, &spectrum, job)
        })?;
        Ok(row.flatten())
    }
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
    use super::normal;

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
