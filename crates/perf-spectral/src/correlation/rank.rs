//! [`Ranking`]: all or chosen views as [`Match`]es in order of their correlation with a reference,
//! exhaustively or with pruning, with the same result.

use crate::correlation::{CheckedRank, RankParams, Score};
use crate::correlation::{Correlation, Reference};
use crate::real::Real;
use crate::spectra::Spectra;
use crate::{AxisFilter, Filter, Peak, Result};
use perf_core::{Job, parallel};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// One view of a [`Ranking`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Match {
    /// Number of the view.
    pub view: usize,
    /// R over all shifts.
    pub correlation: Correlation,
    /// Peak by which the view is ranked.
    pub peak: Peak,
    /// Pearson's r, without filter and shift, if requested; 0 if a view does not vary.
    pub pearson: Option<f64>,
    /// Number of cells of the view that hold no location.
    pub missing: usize,
}

impl Match {
    /// Returns r_f with its sign.
    pub fn r(&self) -> f64 {
        self.peak.r
    }
}

/// Views ordered by their correlation with a reference.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Ranking {
    /// Matches, best first and then by ascending view number.
    pub matches: Vec<Match>,
    /// Number of inverse transforms that were computed.
    pub transforms: usize,
    /// Candidate views that were skipped because some of their values are not finite.
    pub skipped: Vec<usize>,
}

/// Number of views whose bound is computed, or whose transform is run, before the next are chosen.
/// It is fixed, so that pruning does not depend on threads.
const BATCH: usize = 8;

/// Orders by descending score, then by view.
fn order(a: &(f64, usize), b: &(f64, usize)) -> std::cmp::Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
}

impl<T: Real> Spectra<T> {
    /// Ranks all other views by their correlation with view `reference`. Skipped views are listed
    /// separately.
    ///
    /// # Errors
    /// Returns [`Error::UnknownView`](crate::Error::UnknownView) or
    /// [`Error::Skipped`](crate::Error::Skipped) if the reference does not exist or is skipped,
    /// [`Error::Length`](crate::Error::Length) for a filter with another number of axes,
    /// [`Error::Io`](crate::Error::Io) if the file cannot be read, or
    /// [`Error::Cancelled`](crate::Error::Cancelled) if the job is cancelled.
    pub fn rank(
        &self,
        reference: usize,
        filter: &(impl Filter + ?Sized),
        params: &CheckedRank,
        job: &Job,
    ) -> Result<Ranking> {
        let candidates: Vec<usize> = (0..self.views().len())
            .filter(|view| *view != reference)
            .collect();
        self.rank_among(reference, &candidates, filter, params, job)
    }

    /// Ranks chosen views like [`rank`](Self::rank).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`rank`](Self::rank).
    pub fn rank_among(
        &self,
        reference: usize,
        candidates: &[usize],
        filter: &(impl Filter + ?Sized),
        params: &CheckedRank,
        job: &Job,
    ) -> Result<Ranking> {
        T::rank(self, reference, candidates, &filter, params, job)
    }

    /// Ranks chosen views like [`rank_among`](Self::rank_among), with a reference from other
    /// spectra of the same shape: from another rank of a parallel program, or from another file.
    /// `reference` is prepared with the filter; `plain`, which Pearson's r needs, with
    /// [`AxisFilter::all`]. Either is `None` if [`reference`](Self::reference) returned `None`.
    ///
    /// ```
    /// use perf_core::Job;
    /// use perf_spectral::{AxisFilter, RankParams, Spectra};
    /// let spectra = |views: &[Vec<f64>]| {
    ///     let mut builder = Spectra::<f64>::builder(&[4])?;
    ///     builder.extend(views, &Job::default())?;
    ///     Ok::<_, perf_spectral::Error>(builder.finish())
    /// };
    /// let (one, two) = (vec![1.0, 2.0, 4.0, 3.0], vec![2.0, 4.0, 3.0, 1.0]);
    /// let (here, there) = (spectra(&[two.clone()])?, spectra(&[one.clone()])?);
    /// let (all, params) = (AxisFilter::all(1), RankParams::default().check()?);
    /// let reference = there.spectrum(0)?.expect("it varies");
    /// let reference = here.plan().reference(&reference, &all)?;
    /// let found = here.rank_with(Some(&reference), Some(&reference), &[0], &params, &Job::default())?;
    /// assert_eq!(found.matches[0].correlation, spectra(&[one, two])?.rank(0, &all, &params, &Job::default())?.matches[0].correlation);
    /// # Ok::<(), perf_spectral::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::UnknownView`](crate::Error::UnknownView) for a view that does not exist,
    /// [`Error::Length`](crate::Error::Length) for a reference of another shape,
    /// [`Error::Io`](crate::Error::Io) if the file cannot be read, or
    /// [`Error::Cancelled`](crate::Error::Cancelled) if the job is cancelled.
    pub fn rank_with(
        &self,
        reference: Option<&Reference<T>>,
        plain: Option<&Reference<T>>,
        candidates: &[usize],
        params: &CheckedRank,
        job: &Job,
    ) -> Result<Ranking> {
        let prepared = (reference, plain);
        T::rank_with(self, prepared, candidates, params, job)
    }

    pub(crate) fn ranked_with(
        &self,
        (reference, plain): (Option<&Reference<T>>, Option<&Reference<T>>),
        candidates: &[usize],
        params: &CheckedRank,
        job: &Job,
    ) -> Result<Ranking> {
        for given in [reference, plain].into_iter().flatten() {
            given.check(self.plan.dims())?;
        }
        let mut ranking = self.unmeasured(reference, candidates, params, job)?;
        if params.0.pearson {
            self.add_pearson(plain, &mut ranking.matches, job)?;
        }
        Ok(ranking)
    }

    pub(crate) fn ranked(
        &self,
        reference: usize,
        candidates: &[usize],
        filter: &dyn Filter,
        params: &CheckedRank,
        job: &Job,
    ) -> Result<Ranking> {
        let prepared = T::reference(self, reference, filter, job)?;
        let mut ranking = self.unmeasured(prepared.as_ref(), candidates, params, job)?;
        if params.0.pearson {
            let all = AxisFilter::all(self.plan.dims().len());
            let plain = T::reference(self, reference, &all, job)?;
            self.add_pearson(plain.as_ref(), &mut ranking.matches, job)?;
        }
        Ok(ranking)
    }

    /// Computes the list without Pearson's r.
    fn unmeasured(
        &self,
        reference: Option<&Reference<T>>,
        candidates: &[usize],
        params: &CheckedRank,
        job: &Job,
    ) -> Result<Ranking> {
        let (mut chosen, mut skipped) = (Vec::with_capacity(candidates.len()), Vec::new());
        for view in candidates {
            if self.view(*view)?.is_skipped() {
                skipped.push(*view)
            } else {
                chosen.push(*view)
            }
        }
        let mut ranking = match reference {
            Some(prepared) => self.list(prepared, &chosen, params, job)?,
            None => Ranking {
                matches: self.nothing(&chosen, &params.0),
                ..Ranking::default()
            },
        };
        ranking.skipped = skipped;
        Ok(ranking)
    }

    /// Returns the list for a reference without variation: all correlations are 0.
    fn nothing(&self, candidates: &[usize], params: &RankParams) -> Vec<Match> {
        if params.least > 0.0 {
            return Vec::new();
        }
        let mut views = candidates.to_vec();
        views.sort_unstable();
        views.truncate(params.top);
        let matches = views
            .into_iter()
            .map(|view| self.matched(view, Correlation::default(), params.score));
        matches.collect()
    }

    fn matched(&self, view: usize, correlation: Correlation, score: Score) -> Match {
        let peak = match score {
            Score::Magnitude => correlation.best(),
            Score::Paper => correlation.max,
        };
        Match {
            view,
            correlation,
            peak,
            pearson: None,
            missing: self.views().get(view).map_or(0, |view| view.missing),
        }
    }

    fn list(
        &self,
        reference: &Reference<T>,
        candidates: &[usize],
        params: &CheckedRank,
        job: &Job,
    ) -> Result<Ranking> {
        let CheckedRank(params) = params;
        let total = candidates.len() as u64;
        // Views that share a spectrum are transformed once.
        let mut distinct: Vec<(usize, Vec<usize>)> = Vec::new();
        let mut slots = std::collections::HashMap::new();
        let mut constant = Vec::new();
        for view in candidates {
            match self.views().get(*view).and_then(|view| view.slot) {
                None => constant.push(*view),
                Some(slot) => {
                    let at = *slots.entry(slot).or_insert(distinct.len());
                    match distinct.get_mut(at) {
                        Some((_, all)) => all.push(*view),
                        None => distinct.push((*view, vec![*view])),
                    }
                }
            }
        }
        job.advance("correlate", constant.len() as u64, total);
        let views = |at: usize| distinct.get(at).map_or(&[][..], |(_, all)| all);
        let prunes = params.prune && (params.top < candidates.len() || params.least > 0.0);
        let mut found: Vec<Option<Correlation>> = vec![None; distinct.len()];
        let mut transforms = 0;
        let run = |some: &[usize]| {
            parallel::try_map(some.len(), |at| -> Result<_> {
                job.check()?;
                let (view, tolerance) = (distinct[some[at]].0, params.tolerance);
                let result = T::correlate(self, reference, view, tolerance, job)?;
                job.advance("correlate", views(some[at]).len() as u64, total);
                Ok(result)
            })
        };
        if prunes {
            // Lower bound of each score.
            let mut least = vec![0.0; distinct.len()];
            let mut reach = if params.top == 0 {
                f64::INFINITY
            } else {
                params.least
            };
            // Upper bounds in a max-heap, first from the stored block powers, then from the
            // spectra.
            let upper = |most: f64| (most + T::SLACK).to_bits();
            let mut heap: BinaryHeap<(u64, Reverse<usize>, bool)> = (0..distinct.len())
                .map(|at| {
                    (
                        upper(self.coarse(reference, distinct[at].0)),
                        Reverse(at),
                        false,
                    )
                })
                .collect();
            while heap
                .peek()
                .is_some_and(|(most, ..)| f64::from_bits(*most) >= reach)
            {
                let mut some = (Vec::new(), Vec::new());
                while some.0.len() + some.1.len() < BATCH
                    && let Some((most, Reverse(at), is_bound)) = heap.pop()
                    && f64::from_bits(most) >= reach
                {
                    if is_bound {
                        some.1.push(at)
                    } else {
                        some.0.push(at)
                    }
                }
                let bounds = parallel::try_map(some.0.len(), |at| -> Result<_> {
                    job.check()?;
                    T::bound(self, reference, distinct[some.0[at]].0, job)
                })?;
                for (at, bound) in some.0.iter().zip(bounds) {
                    let zero = match params.score {
                        Score::Magnitude => bound.zero.abs(),
                        Score::Paper => bound.zero,
                    };
                    least[*at] = (zero - T::SLACK).max(0.0);
                    heap.push((upper(bound.most), Reverse(*at), true));
                }
                transforms += some.1.len();
                for (at, result) in some.1.iter().zip(run(&some.1)?) {
                    let peak = self.matched(distinct[*at].0, result, params.score).peak;
                    least[*at] = peak.r.abs();
                    found[*at] = Some(result);
                }
                // Score that a view must reach to be in the list: the k-th best known so far.
                let mut known: Vec<f64> = Vec::new();
                for (at, least) in least
                    .iter()
                    .enumerate()
                    .filter(|(_, least)| **least > reach)
                {
                    known.extend(views(at).iter().map(|_| *least));
                }
                if params.top > 0 && known.len() >= params.top {
                    let at = params.top - 1;
                    let (_, last, _) = known.select_nth_unstable_by(at, |a, b| b.total_cmp(a));
                    reach = reach.max(*last);
                }
            }
        } else {
            // Every view is in the list, so all transforms run at once.
            let all: Vec<usize> = (0..distinct.len()).collect();
            transforms = all.len();
            found = run(&all)?.into_iter().map(Some).collect();
        }
        let mut matches: Vec<Match> = Vec::new();
        for (at, result) in found.iter().enumerate() {
            if let Some(result) = result {
                let all = views(at).iter();
                matches.extend(all.map(|view| self.matched(*view, *result, params.score)));
            }
        }
        let zero = Correlation::default();
        matches.extend(
            constant
                .iter()
                .map(|view| self.matched(*view, zero, params.score)),
        );
        matches.retain(|found| found.peak.r.abs() >= params.least);
        matches.sort_by(|a, b| order(&(a.peak.r.abs(), a.view), &(b.peak.r.abs(), b.view)));
        matches.truncate(params.top);
        Ok(Ranking {
            matches,
            transforms,
            skipped: Vec::new(),
        })
    }

    fn add_pearson(
        &self,
        plain: Option<&Reference<T>>,
        matches: &mut [Match],
        job: &Job,
    ) -> Result<()> {
        let found = parallel::try_map(matches.len(), |at| -> Result<_> {
            job.check()?;
            match plain {
                Some(prepared) => Ok(T::bound(self, prepared, matches[at].view, job)?.zero),
                None => Ok(0.0),
            }
        })?;
        for (one, r) in matches.iter_mut().zip(found) {
            one.pearson = Some(r);
        }
        Ok(())
    }
}
