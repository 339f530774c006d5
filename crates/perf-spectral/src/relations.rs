//! Relations between all views: pairs whose correlation is not chance.
//!
//! R without shift of all pairs is a Gram matrix of filtered, normalised spectra. It is computed in
//! blocks, and only strong pairs are kept. Their p-values come from the phase null
//! ([`phase_null`](crate::phase_null)), and Benjamini-Yekutieli controls the false discovery rate
//! over all tested pairs under any dependence between them.

use crate::phase_null::PhaseNull;
use crate::real::Real;
use crate::spectra::Spectra;
use crate::{AxisFilter, Error, Filter, Kinship, Result};
use perf_core::{CancellationChecks, Job, parallel};
use std::collections::{BTreeMap, BTreeSet};

/// Views with R above this differ by their scale alone.
const SAME: f64 = 1.0 - 1e-9;

/// Number of rows of the Gram matrix that a task computes at once.
const BLOCK: usize = 8;

/// Upper bound on the strong pairs in memory, 24 bytes each.
const MAX_STRONG: usize = 1 << 21;

perf_core::parameters! {
    /// Parameters of relations. Set them, then call [`check`](Self::check).
    ///
    /// ```
    /// use perf_spectral::RelationParams;
    /// assert!(RelationParams::default().rate(0.01).least(0.9).check().is_ok());
    /// assert!(RelationParams::default().rate(0.0).check().is_err());
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct RelationParams {
        /// Sets the expected share of false pairs among those found, above 0 and below 1; default 0.05.
        rate: f64 = 0.05,
        /// Sets the lowest magnitude of R of a pair, in `0.0..=1.0`; default 0.7. Weaker pairs count as
        /// tested, but are never found.
        least: f64 = 0.7,
    }
}

impl RelationParams {
    /// Validates the parameters.
    ///
    /// # Errors
    /// Returns [`Error::Parameter`] for a rate that is not between 0 and 1, or a magnitude that is
    /// not in `0.0..=1.0`.
    pub fn check(self) -> Result<CheckedRelations> {
        let parameter = |what, got| Err(Error::Parameter { what, got });
        if !(self.rate > 0.0 && self.rate < 1.0) {
            return parameter("the false discovery rate", self.rate);
        }
        if !(0.0..=1.0).contains(&self.least) {
            return parameter("the least correlation", self.least);
        }
        Ok(CheckedRelations(self))
    }
}

/// Parameters validated by [`RelationParams::check`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CheckedRelations(RelationParams);

/// Two views that correlate.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Relation {
    /// Number of one view, the first of those identical to it.
    pub one: usize,
    /// Number of the other view, the first of those identical to it.
    pub other: usize,
    /// R without shift, in `-1.0..=1.0`.
    pub r: f64,
    /// Upper bound of the probability that a view of the same magnitudes and random phases reaches
    /// |R|.
    pub p: f64,
    /// Part of R that comes from the variation along each axis. The parts add up to R.
    pub along: Vec<f64>,
    /// Variation of the view that varies less, relative to the view of its metric that varies most,
    /// in `0.0..=1.0`.
    pub share: f64,
    /// Index of the first of the earlier relations that connect both views, directly, over other
    /// views, or over kin; `None` if they do not.
    pub repeats: Option<usize>,
}

/// Result of [`Spectra::relations`].
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Relations {
    /// Pairs that correlate, by descending `r^2` times [`share`](Relation::share).
    pub found: Vec<Relation>,
    /// Number of tested pairs.
    pub tested: u64,
    /// Number of pairs that were not tested because they are kin.
    pub kin: u64,
    /// Magnitude of R that a pair had to reach: [`RelationParams::least`], or a higher one if more
    /// than two million pairs reach that. Weaker pairs count as tested.
    pub least: f64,
    /// Number of distinct views that vary.
    pub distinct: usize,
    /// Number of views that differ from another one at most by a positive factor and the mean.
    pub identical: usize,
    /// Number of views without variation that the filter passes.
    pub constant: usize,
    /// Number of views that were skipped because a value is not finite.
    pub skipped: usize,
    /// Largest p-value of a found pair; 0 if none was found.
    pub threshold: f64,
    /// Largest p-value at which a single pair would be found.
    pub needed: f64,
    /// Smallest p-value of all tested pairs with its pair; `None` if no pair is strong.
    pub closest: Option<(usize, usize, f64, f64)>,
}

/// Filtered, normalised spectra: R of two views is the dot product of their rows.
struct Rows {
    /// Number of the view of each row.
    views: Vec<usize>,
    /// Values of all rows: real parts and imaginary parts of pairs of opposite frequencies, then the
    /// frequencies that are their own opposites.
    values: Vec<f64>,
    /// Number of values of a row.
    len: usize,
    /// Number of pairs of opposite frequencies.
    pairs: usize,
    /// Standard deviation of each view, in its unit.
    deviations: Vec<f64>,
}

impl Rows {
    fn row(&self, at: usize) -> &[f64] {
        &self.values[at * self.len..(at + 1) * self.len]
    }

    /// Returns the probability that two rows correlate as strongly as `r` by chance.
    fn probability(&self, (one, other): (usize, usize), r: f64, null: &mut PhaseNull) -> f64 {
        let (a, b) = (self.row(one), self.row(other));
        let power = |row: &[f64], at: usize| row[at].powi(2) + row[self.pairs + at].powi(2);
        let squares = (0..self.pairs).map(|at| power(a, at) * power(b, at));
        let own = 2 * self.pairs..self.len;
        let signs = own.map(|at| (a[at] * b[at]).abs());
        null.set(squares, signs);
        null.probability(r)
    }
}

/// Strong pair of rows.
#[derive(Clone, Copy, Debug)]
struct Strong {
    /// Index of the row of one view.
    one: u32,
    /// Index of the row of the other view.
    other: u32,
    /// R without shift.
    r: f64,
}

/// Result of [`strong_pairs`].
struct StrongPairs {
    /// Pairs that do not differ by a positive factor alone.
    pairs: Vec<Strong>,
    /// For each row, the first row that differs from it by a positive factor.
    folded: Vec<usize>,
    /// Magnitude of R that pairs had to reach.
    least: f64,
}

impl<T: Real> Spectra<T> {
    /// Finds the pairs of views whose correlation without shift is not chance.
    ///
    /// Views that differ by a positive factor and the mean are folded into the first of them.
    /// Constant views, skipped views and kin are not tested. The p-value of a pair is that of
    /// infinitely many surrogates with random phases, in closed form, because N surrogates show no
    /// p-value below 1 / (N + 1). The Benjamini-Yekutieli procedure selects the pairs, so that at
    /// most the share [`RelationParams::rate`] of them is false in expectation, whatever the
    /// dependence between pairs.
    ///
    /// Time is proportional to the square of the number of views times the number of points; memory
    /// to the size of the spectra in `f64`. Progress is reported in views, in the phase `relations`.
    ///
    /// ```
    /// use perf_core::Job;
    /// use perf_spectral::{AxisFilter, Kinship, Spectra};
    /// // The second view is the opposite of the first one, with a little noise.
    /// let noise = |x: u32| f64::from(x.wrapping_mul(2654435761) >> 16) / 65536.0;
    /// let one: Vec<f64> = (0..64).map(noise).collect();
    /// let two: Vec<f64> = (0..64).map(|x| 0.1 * noise(x + 64) - noise(x)).collect();
    /// let three: Vec<f64> = (128..192).map(noise).collect();
    /// let mut builder = Spectra::<f64>::builder(&[8, 8])?;
    /// builder.extend(&[one, two, three], &Job::default())?;
    /// let spectra = builder.finish();
    /// let found = spectra.relations(&AxisFilter::all(2), &Kinship::unrelated(3), &Default::default(), &Job::default())?;
    /// assert_eq!((found.tested, found.found.len()), (3, 1));
    /// assert_eq!((found.found[0].one, found.found[0].other), (0, 1));
    /// assert!(found.found[0].r < -0.98 && found.found[0].p < 1e-6);
    /// # Ok::<(), perf_spectral::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Length`] for a filter with another number of axes or a kinship of another
    /// number of views, [`Error::Io`] if the file of spectra cannot be read, or
    /// [`Error::Cancelled`] if the job is cancelled.
    pub fn relations(
        &self,
        filter: &(impl Filter + ?Sized),
        kin: &Kinship,
        params: &CheckedRelations,
        job: &Job,
    ) -> Result<Relations> {
        T::relations(self, &filter, kin, params, job)
    }

    pub(crate) fn all_relations(
        &self,
        filter: &dyn Filter,
        kin: &Kinship,
        CheckedRelations(params): &CheckedRelations,
        job: &Job,
    ) -> Result<Relations> {
        let (expected, got) = (self.views().len(), kin.len());
        if expected != got {
            let what = "views of a kinship";
            return Err(Error::Length {
                what,
                expected,
                got,
            });
        }
        let (mut rows, order) = self.rows(filter, job)?;
        let StrongPairs {
            mut pairs,
            folded,
            least,
        } = strong_pairs(&rows, params.least, MAX_STRONG, job)?;
        let skipped = self.views().iter().filter(|view| view.is_skipped()).count();
        let is_leader = |row: usize| folded[row] == row;
        let leaders: Vec<usize> = (0..rows.views.len())
            .filter(|row| is_leader(*row))
            .collect();
        // Views of each leader: those with an identical spectrum, and those of a scaled one.
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); rows.views.len()];
        for (view, info) in self.views().iter().enumerate() {
            let first = info.same_as.unwrap_or(view);
            if let Ok(row) = rows.views.binary_search(&first) {
                members[folded[row]].push(view);
            }
        }
        let varying: usize = members.iter().map(Vec::len).sum();
        let mut relations = Relations {
            distinct: leaders.len(),
            identical: varying - leaders.len(),
            constant: self.views().len() - skipped - varying,
            skipped,
            least,
            ..Relations::default()
        };
        let are_kin = |one: usize, other: usize| {
            let any = |first: usize, others: &[usize]| {
                others.iter().any(|other| kin.are_kin(first, *other))
            };
            let (a, b) = (members[one].as_slice(), members[other].as_slice());
            let first = |all: &[usize]| all.first().copied().unwrap_or_default();
            any(first(a), b) || any(first(b), a)
        };
        let mut checks = job.checks();
        for (at, one) in leaders.iter().enumerate() {
            checks.next(leaders.len() - at)?;
            let others = leaders.get(at + 1..).unwrap_or_default();
            let related = others.iter().filter(|other| are_kin(*one, **other)).count();
            relations.kin += related as u64;
            relations.tested += (others.len() - related) as u64;
        }
        pairs.retain(|pair| {
            let (one, other) = (pair.one as usize, pair.other as usize);
            is_leader(one) && is_leader(other) && !are_kin(one, other)
        });
        const PIECE: usize = 256;
        let pieces: Vec<&[Strong]> = pairs.chunks(PIECE).collect();
        let tested = parallel::try_map(pieces.len(), |at| -> Result<Vec<(f64, Strong)>> {
            job.check()?;
            let mut null = PhaseNull::default();
            let mut p = |pair: &Strong| {
                let rows_of = (pair.one as usize, pair.other as usize);
                (rows.probability(rows_of, pair.r, &mut null), *pair)
            };
            Ok(pieces[at].iter().map(&mut p).collect())
        })?;
        let mut tested: Vec<(f64, Strong)> = tested.into_iter().flatten().collect();
        let key = |(_, pair): &(f64, Strong)| (pair.one, pair.other);
        tested.sort_by(|a, b| a.0.total_cmp(&b.0).then(key(a).cmp(&key(b))));
        relations.closest = tested.first().map(|(p, pair)| {
            let view = |row: u32| rows.views[row as usize];
            (view(pair.one), view(pair.other), pair.r, *p)
        });
        let step = step(relations.tested, params.rate);
        relations.needed = step;
        tested.truncate(discoveries(tested.iter().map(|(p, _)| *p), step));
        relations.threshold = tested.last().map_or(0.0, |(p, _)| *p);
        // The largest variation of each metric.
        let mut largest = BTreeMap::new();
        for (view, deviation) in rows.views.iter().zip(&rows.deviations) {
            let most: &mut f64 = largest.entry(kin.metric(*view)).or_default();
            *most = most.max(*deviation);
        }
        let share = |row: usize| {
            let most = largest.get(&kin.metric(rows.views[row]));
            most.map_or(0.0, |most| rows.deviations[row] / most)
        };
        let axes = self.plan.dims().len();
        let along = axis_weights(self, &order, axes, job)?;
        let found = tested.into_iter().map(|(p, pair)| {
            let (one, other) = (pair.one as usize, pair.other as usize);
            let products = rows.row(one).iter().zip(rows.row(other));
            let products: Vec<f64> = products.map(|(a, b)| a * b).collect();
            let part = |weights: &Vec<f64>| dot(weights, &products);
            Relation {
                one: rows.views[one],
                other: rows.views[other],
                r: pair.r,
                p,
                along: along.iter().map(part).collect(),
                share: share(one).min(share(other)),
                repeats: None,
            }
        });
        relations.found = found.collect();
        rows.values = Vec::new();
        arrange(&mut relations.found, kin);
        Ok(relations)
    }

    /// Returns the filtered, normalised spectra of the distinct views that vary, and the place of
    /// each value in a packed spectrum.
    fn rows(&self, filter: &dyn Filter, job: &Job) -> Result<(Rows, Vec<usize>)> {
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
        let factors: Vec<f64> = order
            .iter()
            .enumerate()
            .map(|(at, place)| {
                let count = if at < 2 * pairs { 2.0 } else { 1.0 };
                (count * weights[*place].wide()).sqrt()
            })
            .collect();
        let mut rows = Rows {
            views: Vec::new(),
            values: Vec::new(),
            len: order.len(),
            pairs,
            deviations: Vec::new(),
        };
        for (number, view) in self.views().iter().enumerate() {
            job.check()?;
            let (Some(slot), None) = (view.slot, view.same_as) else {
                continue;
            };
            let row = self.at(slot, job, |_, spectrum| -> Result<Option<Vec<f64>>> {
                let power = self.plan.power(&weights, spectrum, job)?;
                let is_varying = power > 0.0 && self.varies(view, power);
                let norm = power.sqrt();
                let places = order.iter().zip(&factors);
                let values = places.map(|(place, f)| f * spectrum[*place].wide() / norm);
                Ok(is_varying.then(|| values.collect()))
            })??;
            if let Some(row) = row {
                let cells = self.plan.len().saturating_sub(view.missing).max(1);
                rows.views.push(number);
                rows.values.extend(row);
                let deviation = view.scale * (view.varying / cells as f64).sqrt();
                rows.deviations.push(deviation);
            }
        }
        Ok((rows, order))
    }
}

/// Returns `W_i^2` of each axis at the places of a row.
fn axis_weights<T: Real>(
    spectra: &Spectra<T>,
    order: &[usize],
    axes: usize,
    job: &Job,
) -> Result<Vec<Vec<f64>>> {
    let of = |axis: usize| {
        let f: Vec<f64> = (0..axes)
            .map(|at| f64::from(u8::from(at == axis)))
            .collect();
        let weights = spectra.plan.weights(&AxisFilter::new(&f)?, job)?;
        Ok(order.iter().map(|place| weights[*place].wide()).collect())
    };
    (0..axes).map(of).collect()
}

/// Finds the pairs of rows with a magnitude of R of at least `least`. Whenever they exceed `most`,
/// half of `most` are kept, the strongest, and `least` is raised.
fn strong_pairs(rows: &Rows, mut least: f64, most: usize, job: &Job) -> Result<StrongPairs> {
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
fn dot(a: &[f64], b: &[f64]) -> f64 {
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

/// Returns the largest p-value of a single discovery of the Benjamini-Yekutieli procedure,
/// `rate / (tests (1 + 1/2 + .. + 1/tests))`.
fn step(tests: u64, rate: f64) -> f64 {
    let tests = tests.max(1) as f64;
    // Asymptotic expansion of the harmonic number, which exceeds it by at most 8 %.
    let harmonic = tests.ln() + 0.577_215_664_901_532_9 + 0.5 / tests;
    rate / (tests * harmonic)
}

/// Returns the number of discoveries of the procedure: the largest k whose k-th smallest p-value is
/// at most k steps.
fn discoveries(ascending: impl Iterator<Item = f64>, step: f64) -> usize {
    let passes = |(at, p): (usize, f64)| (p <= (at + 1) as f64 * step).then_some(at + 1);
    ascending.enumerate().filter_map(passes).last().unwrap_or(0)
}

/// Sorts relations by `r^2` times the share, and marks those between views that earlier relations
/// connect, directly, over other views, or over kin.
fn arrange(found: &mut [Relation], kin: &Kinship) {
    /// Upper bound on the relations that are compared with later ones.
    const MAX_FIRSTS: usize = 1000;
    let weight = |it: &Relation| it.r * it.r * it.share;
    found.sort_by(|a, b| {
        let by_weight = weight(b).total_cmp(&weight(a));
        by_weight.then((a.one, a.other).cmp(&(b.one, b.other)))
    });
    // Views of earlier relations, with the first relation of the group that connects them.
    let mut known: Vec<(usize, usize)> = Vec::new();
    for (at, relation) in found.iter_mut().enumerate() {
        let groups = |view: usize, known: &[(usize, usize)]| -> BTreeSet<usize> {
            let near = known.iter();
            let near = near.filter(|(other, _)| view == *other || kin.are_kin(view, *other));
            near.map(|(_, group)| *group).collect()
        };
        let (one, other) = (relation.one, relation.other);
        let (of_one, of_other) = (groups(one, &known), groups(other, &known));
        relation.repeats = of_one.intersection(&of_other).next().copied();
        if relation.repeats.is_none() && known.len() < 2 * MAX_FIRSTS {
            let joined: BTreeSet<usize> = of_one.union(&of_other).copied().collect();
            let first = joined.first().copied().unwrap_or(at);
            for (_, group) in &mut known {
                if joined.contains(group) {
                    *group = first;
                }
            }
            known.extend([(one, first), (other, first)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Rows, discoveries, step, strong_pairs};
    use perf_core::Job;

    #[test]
    fn discoveries_are_those_of_the_textbook() {
        let p = [0.001, 0.004, 0.004, 0.02, 0.03, 0.5];
        // Harmonic number of 6: 2.45. Limits 0.0034 k: 0.0034, 0.0068, 0.0102, 0.0136, 0.017, 0.02.
        assert!((step(6, 0.05) - 0.05 / 14.7).abs() < 1e-5);
        assert_eq!(discoveries(p.into_iter(), step(6, 0.05)), 3);
        assert_eq!(discoveries(p.into_iter(), step(6, 0.5)), 5);
        assert_eq!(discoveries(p.into_iter(), step(1_000_000, 0.05)), 0);
        assert_eq!(discoveries([].into_iter(), step(0, 0.05)), 0);
    }

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
        let above = |pair: &&super::Strong| pair.r > some.least;
        let count = some.pairs.iter().filter(above).count();
        assert_eq!(count, all.pairs.iter().filter(above).count());
        assert_eq!((some.folded[COUNT], all.folded[COUNT]), (0, 0));
    }
}
