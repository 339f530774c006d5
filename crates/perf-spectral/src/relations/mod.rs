//! [`Relations`]: pairs of views whose correlation is not chance, each a [`Relation`], found among
//! all pairs with a bounded rate of false discoveries, which [`RelationParams`] sets.
//!
//! R without shift of all pairs is a Gram matrix of filtered, normalised spectra. It is computed in
//! blocks, and only strong pairs are kept. Their p-values come from the phase null
//! (`significance::phase_null`), and at least the probability that the same few cells hold the
//! outliers of both views (`outliers`), which the phase null does not know, and that of the order of
//! the values of views with long tails (`ranks`). Benjamini-Yekutieli
//! controls the false discovery rate over all tested pairs under any dependence between them.

mod chance_bound;
mod discoveries;
mod gram;
mod kinship;
mod order;
mod outliers;
mod ranks;

pub use chance_bound::ChanceBound;
pub use kinship::{Kinship, Tie};

use crate::real::Real;
use crate::significance::PhaseNull;
use crate::spectra::Spectra;
use crate::{AxisFilter, Error, Filter, Result};
use discoveries::{discoveries, step};
use gram::{MAX_STRONG, RowLayout, Rows, Strong, StrongPairs, dot, strong_pairs};
use order::{NEAR, arrange};
use perf_core::{Job, parallel};
use std::collections::BTreeMap;

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
    /// Upper bound of the probability of |R| by chance: that a view of the same magnitudes and random
    /// phases reaches it. If the same one to four cells deviate most in both views, at least the
    /// probability that they coincide, times that of the correlation of all other cells. If both views
    /// have long tails, at least that of their normal scores. If one axis has at least half of the cells,
    /// weak frequencies of smooth views may follow strong ones and are no evidence.
    pub p: f64,
    /// Part of R that comes from the variation along each axis. The parts add up to R.
    pub along: Vec<f64>,
    /// Variation of the view that varies less, relative to the view that varies most among those of
    /// the same tree of metrics, in `0.0..=1.0`. A small part of the time, such as that of late
    /// broadcasts, therefore has a small share.
    pub share: f64,
    /// Index of the first of the earlier relations that this one repeats; `None` if it repeats none.
    /// A relation is repeated by one of the same sign between views that correlate with |R| of at least
    /// 0.9 with its views, and by each between other views of its two functions.
    pub repeats: Option<usize>,
    /// Relation between the call paths of both views; `None` for findings.
    pub tie: Option<Tie>,
}

/// Result of [`Spectra::relations`].
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Relations {
    /// Pairs of views of different functions, of which none calls the other, that correlate. By
    /// descending `r^2` times [`share`](Relation::share), where times come before other quantities,
    /// and two times of opposite variation before others.
    pub found: Vec<Relation>,
    /// Pairs of views that a [`Tie`] connects and that correlate, in the same order. They are selected
    /// among themselves, so that they make no other pair easier to find.
    pub tied: Vec<Relation>,
    /// Number of tested pairs without a tie.
    pub tested: u64,
    /// Number of tested pairs with a tie.
    pub tested_tied: u64,
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
    /// Pairs that are not found because one to four cells carry them: the number of such pairs by the
    /// cell that deviates most in both views. That these cells coincide is not beyond chance.
    pub carried: BTreeMap<usize, usize>,
    /// Largest p-value of a found pair; 0 if none was found.
    pub threshold: f64,
    /// Largest p-value at which a single pair would be found.
    pub needed: f64,
    /// Smallest p-value of all tested pairs with its pair; `None` if no pair is strong.
    pub closest: Option<(usize, usize, f64, f64)>,
}

impl<T: Real> Spectra<T> {
    /// Finds the pairs of views whose correlation without shift is not chance.
    ///
    /// Views that differ by a positive factor and the mean are folded into the first of them.
    /// Constant views, skipped views and kin are not tested. Pairs with a [`Tie`] are tested apart from
    /// the others, because their correlations are expected, and would fill the list. The p-value of a pair is that of
    /// infinitely many surrogates with random phases, in closed form, because N surrogates show no
    /// p-value below 1 / (N + 1). The Benjamini-Yekutieli procedure selects the pairs, so that at
    /// most the share [`RelationParams::rate`] of them is false in expectation, whatever the
    /// dependence between pairs.
    ///
    /// Random phases make an outlier a wave, so that two views whose outliers lie in the same cell
    /// would be beyond chance. The p-value is therefore at least 1 / cells if the same cell deviates
    /// most in both views and the other cells do not correlate, and likewise for two to four cells. Two
    /// views with long tails are also tested by normal scores, since their outliers may come in groups.
    ///
    /// Time is proportional to the square of the number of views times the number of points; memory
    /// to twice the size of the spectra in `f64`. Progress is reported in views, in the phase `relations`.
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
        let layout = self.row_layout(filter, job)?;
        let mut rows = self.rows(&layout, job)?;
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
        // Groups of identical views are connected if the first view of one is with any of the other.
        let views_of = |one: usize, other: usize| {
            let (a, b) = (members[one].as_slice(), members[other].as_slice());
            let first = |of: &[usize]| of.first().copied().unwrap_or_default();
            let (of_one, of_other) = (first(a), first(b));
            let one_with = b.iter().map(move |other| (of_one, *other));
            one_with.chain(a.iter().map(move |one| (*one, of_other)))
        };
        let tie = |one: usize, other: usize| {
            let all = views_of(one, other).filter_map(|(a, b)| kin.tie(a, b));
            all.min()
        };
        let group = |one: usize, other: usize| {
            if views_of(one, other).any(|(a, b)| kin.are_kin(a, b)) {
                return Group::Kin;
            }
            tie(one, other).map_or(Group::Free, |_| Group::Tied)
        };
        let mut checks = job.checks();
        for (at, one) in leaders.iter().enumerate() {
            checks.next(leaders.len() - at)?;
            for other in &leaders[at + 1..] {
                *match group(*one, *other) {
                    Group::Kin => &mut relations.kin,
                    Group::Tied => &mut relations.tested_tied,
                    Group::Free => &mut relations.tested,
                } += 1;
            }
        }
        pairs.retain(|pair| is_leader(pair.one as usize) && is_leader(pair.other as usize));
        let view = |row: u32| rows.views[row as usize];
        // Views that repeat each other, kin included.
        let mut near: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for pair in pairs.iter().filter(|pair| pair.r.abs() >= NEAR) {
            near.entry(view(pair.one))
                .or_default()
                .push(view(pair.other));
            near.entry(view(pair.other))
                .or_default()
                .push(view(pair.one));
        }
        let (mut free, mut tied) = (Vec::new(), Vec::new());
        for pair in pairs {
            match group(pair.one as usize, pair.other as usize) {
                Group::Kin => {}
                Group::Tied => tied.push(pair),
                Group::Free => free.push(pair),
            }
        }
        // Both groups count in each of them, which bounds the share of false pairs over both.
        relations.needed = step(relations.tested + relations.tested_tied, params.rate);
        let carried = &mut relations.carried;
        let free = self.discovered((&layout, &rows), &free, relations.needed, carried, job)?;
        let tied = self.discovered((&layout, &rows), &tied, relations.needed, carried, job)?;
        let closest = free.closest;
        relations.closest = closest.map(|(p, pair)| (view(pair.one), view(pair.other), pair.r, p));
        relations.threshold = free.found.last().map_or(0.0, |(p, _)| *p);
        let axes = self.plan.dims().len();
        let along = axis_weights(self, &layout.order, axes, job)?;
        let describe = Describe::new(&rows, kin, &along);
        let of = |pairs: Vec<(f64, Strong)>| pairs.iter().map(|it| describe.relation(it)).collect();
        (relations.found, relations.tied) = (of(free.found), of(tied.found));
        rows.values = Vec::new();
        arrange(&mut relations.found, kin, &near);
        arrange(&mut relations.tied, kin, &near);
        let row = |view: usize| rows.views.binary_search(&view).unwrap_or_default();
        for it in &mut relations.tied {
            it.tie = tie(row(it.one), row(it.other));
        }
        Ok(relations)
    }

    /// Selects the pairs that are not chance. Counts those that few cells carry in `carried`.
    fn discovered(
        &self,
        (layout, rows): (&RowLayout<T>, &Rows),
        pairs: &[Strong],
        step: f64,
        carried: &mut BTreeMap<usize, usize>,
        job: &Job,
    ) -> Result<Discovered> {
        let mut tested = probabilities(rows, pairs, job)?;
        let key = |(_, pair): &(f64, Strong)| (pair.one, pair.other);
        let sort = |pairs: &mut [(f64, Strong)]| {
            pairs.sort_by(|a, b| a.0.total_cmp(&b.0).then(key(a).cmp(&key(b))));
        };
        sort(&mut tested);
        // Bounds raise p-values only, so no pair beyond these can be found.
        let mut raised = discoveries(tested.iter().map(|(p, _)| *p), step);
        let outliers = self.raise(layout, rows, &mut tested[..raised], job)?;
        // The closest pair is reported if none is found: others are raised until none can be closer.
        let least = |pairs: &[(f64, Strong)]| pairs.iter().fold(f64::INFINITY, |p, it| p.min(it.0));
        while raised < tested.len().min(CLOSEST) && tested[raised].0 < least(&tested[..raised]) {
            let until = tested.len().min(raised + AT_ONCE);
            self.raise(layout, rows, &mut tested[raised..until], job)?;
            raised = until;
        }
        sort(&mut tested[..raised]);
        let closest = tested.first().copied();
        let mut cells: BTreeMap<_, usize> = outliers.into_iter().collect();
        sort(&mut tested);
        tested.truncate(discoveries(tested.iter().map(|(p, _)| *p), step));
        for found in &tested {
            cells.remove(&key(found));
        }
        for cell in cells.into_values() {
            *carried.entry(cell).or_default() += 1;
        }
        Ok(Discovered {
            found: tested,
            closest,
        })
    }
}

/// Upper bound on the pairs whose p-values are raised to report the closest one if none is found.
const CLOSEST: usize = 64;
/// Number of them that are raised at once.
const AT_ONCE: usize = 8;

/// Returns the probabilities of pairs under random phases.
fn probabilities(rows: &Rows, pairs: &[Strong], job: &Job) -> Result<Vec<(f64, Strong)>> {
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
    Ok(tested.into_iter().flatten().collect())
}

/// Groups of pairs that are tested apart.
#[derive(Clone, Copy, Debug)]
enum Group {
    /// One view contains the other; not tested.
    Kin,
    /// A [`Tie`] connects the views.
    Tied,
    /// The views have nothing in common.
    Free,
}

/// Pairs that are not chance.
struct Discovered {
    /// p-values and pairs, by ascending p-value.
    found: Vec<(f64, Strong)>,
    /// Smallest p-value of all pairs, with its pair.
    closest: Option<(f64, Strong)>,
}

/// Properties that relations are described by.
struct Describe<'a> {
    /// Spectra of the views.
    rows: &'a Rows,
    /// Kinship of the views.
    kin: &'a Kinship,
    /// `W_i^2` of each axis at the places of a row.
    along: &'a [Vec<f64>],
    /// Largest variation of each tree of metrics.
    largest: BTreeMap<usize, f64>,
}

impl<'a> Describe<'a> {
    fn new(rows: &'a Rows, kin: &'a Kinship, along: &'a [Vec<f64>]) -> Self {
        let mut largest = BTreeMap::new();
        for (view, deviation) in rows.views.iter().zip(&rows.deviations) {
            let most: &mut f64 = largest.entry(kin.root(*view)).or_default();
            *most = most.max(*deviation);
        }
        Describe {
            rows,
            kin,
            along,
            largest,
        }
    }

    /// Returns the variation of a row relative to the largest of its tree of metrics.
    fn share(&self, row: usize) -> f64 {
        let most = self.largest.get(&self.kin.root(self.rows.views[row]));
        most.map_or(0.0, |most| self.rows.deviations[row] / most)
    }

    fn relation(&self, (p, pair): &(f64, Strong)) -> Relation {
        let (one, other) = (pair.one as usize, pair.other as usize);
        let products = self.rows.row(one).iter().zip(self.rows.row(other));
        let products: Vec<f64> = products.map(|(a, b)| a * b).collect();
        Relation {
            one: self.rows.views[one],
            other: self.rows.views[other],
            r: pair.r,
            p: *p,
            along: self.along.iter().map(|it| dot(it, &products)).collect(),
            share: self.share(one).min(self.share(other)),
            repeats: None,
            tie: None,
        }
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
