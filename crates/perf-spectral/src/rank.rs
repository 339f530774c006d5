//! Ranking: one view against all others, exhaustively or pruned, with the same answer.

use crate::par;
use crate::real::Real;
use crate::reference::{Bound, Correlation, Reference};
use crate::spectra::Spectra;
use crate::{AxisFilter, Error, Filter, Peak, Result};
use perf_core::{CancelToken, Progress};

/// What views are ranked by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Score {
    /// `|r_f|`: strong anti-correlation ranks as high as strong correlation.
    #[default]
    Magnitude,
    /// R at `argmax R`, as the text of the paper says. It is never negative, so a perfect inverse of
    /// the reference ranks low.
    Paper,
}

/// Parameters of a ranking: set them, then [`check`](Self::check).
#[derive(Clone, Debug, PartialEq)]
pub struct RankParams {
    top: usize,
    least: f64,
    score: Score,
    prune: bool,
    pearson: bool,
}

impl Default for RankParams {
    fn default() -> Self {
        RankParams {
            top: usize::MAX,
            least: 0.0,
            score: Score::default(),
            prune: true,
            pearson: true,
        }
    }
}

impl RankParams {
    /// The longest list, default all.
    pub fn top(mut self, views: usize) -> Self {
        self.top = views;
        self
    }

    /// The least score of a view in the list, 0 to 1, default 0.
    pub fn least(mut self, score: f64) -> Self {
        self.least = score;
        self
    }

    /// What views are ranked by, default [`Score::Magnitude`].
    pub fn score(mut self, score: Score) -> Self {
        self.score = score;
        self
    }

    /// Whether transforms are left out that the magnitude bound shows to be too low for the list,
    /// default true. The list is the same.
    pub fn prune(mut self, prune: bool) -> Self {
        self.prune = prune;
        self
    }

    /// Whether Pearson's r is computed beside, default true: one more pass over each spectrum in
    /// the list.
    pub fn pearson(mut self, pearson: bool) -> Self {
        self.pearson = pearson;
        self
    }

    /// Checks them.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a least score outside of 0 to 1.
    pub fn check(self) -> Result<CheckedRank> {
        if (0.0..=1.0).contains(&self.least) {
            Ok(CheckedRank(self))
        } else {
            Err(Error::Parameter {
                what: "the least score",
                got: self.least,
            })
        }
    }
}

/// Parameters that [`RankParams::check`] let pass.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedRank(RankParams);

/// One view of a [`Ranking`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Match {
    /// The view.
    pub view: usize,
    /// R over all shifts.
    pub correlation: Correlation,
    /// The peak it is ranked by.
    pub peak: Peak,
    /// Pearson's r, without filter and shift; not a number if it was not asked for.
    pub pearson: f64,
    /// Cells that hold no location, in the view.
    pub missing: usize,
}

impl Match {
    /// r_f, with its sign.
    pub fn r(&self) -> f64 {
        self.peak.r
    }
}

/// Views ordered by their correlation with a reference.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Ranking {
    /// Best first; of equal ones the lower view number.
    pub matches: Vec<Match>,
    /// Inverse transforms that it took.
    pub transforms: usize,
}

/// Views whose bound is looked at, or whose transform is run, before the next are chosen. Fixed, so
/// that what is pruned does not depend on threads.
const BATCH: usize = 8;

/// Orders scores best first, then views.
fn order(a: &(f64, usize), b: &(f64, usize)) -> std::cmp::Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
}

impl<T: Real> Spectra<T> {
    /// All other views by their correlation with view `reference`.
    ///
    /// # Errors
    /// [`Error::UnknownView`], [`Error::Length`] for a filter with another number of axes, [`Error::Io`].
    pub fn rank(
        &self,
        reference: usize,
        filter: &(impl Filter + ?Sized),
        params: &CheckedRank,
    ) -> Result<Ranking> {
        let candidates: Vec<usize> = (0..self.views().len())
            .filter(|view| *view != reference)
            .collect();
        self.rank_among(
            reference,
            &candidates,
            filter,
            params,
            &(),
            &CancelToken::new(),
        )
    }

    /// As [`rank`](Self::rank), among chosen views. Reports views of the phase `correlate`, and can
    /// be stopped.
    ///
    /// # Errors
    /// As [`rank`](Self::rank), and [`Error::Cancelled`].
    pub fn rank_among(
        &self,
        reference: usize,
        candidates: &[usize],
        filter: &(impl Filter + ?Sized),
        params: &CheckedRank,
        progress: &dyn Progress,
        cancel: &CancelToken,
    ) -> Result<Ranking> {
        for view in candidates {
            self.view(*view)?;
        }
        let prepared = self.reference(reference, filter)?;
        let mut ranking = match &prepared {
            Some(prepared) => self.list(prepared, candidates, params, progress, cancel)?,
            None => Ranking {
                matches: self.nothing(candidates, &params.0),
                transforms: 0,
            },
        };
        if params.0.pearson {
            self.add_pearson(reference, &mut ranking.matches)?;
        }
        Ok(ranking)
    }

    /// The list where the reference has no variation: all are 0.
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
            Score::Magnitude => correlation.best_within(T::TIE),
            Score::Paper => correlation.max,
        };
        Match {
            view,
            correlation,
            peak,
            pearson: f64::NAN,
            missing: self.views().get(view).map_or(0, |view| view.missing),
        }
    }

    fn list(
        &self,
        reference: &Reference<T>,
        candidates: &[usize],
        params: &CheckedRank,
        progress: &dyn Progress,
        cancel: &CancelToken,
    ) -> Result<Ranking> {
        let CheckedRank(params) = params;
        let total = candidates.len() as u64;
        // Views that share a spectrum are one.
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
        progress.advance("correlate", constant.len() as u64, total);
        let views = |at: usize| distinct.get(at).map_or(&[][..], |(_, all)| all);
        let prunes = params.prune && (params.top < candidates.len() || params.least > 0.0);
        let mut scored: Vec<(f64, usize)> = Vec::new();
        let mut found: Vec<Option<Correlation>> = vec![None; distinct.len()];
        let mut transforms = 0;
        // The score that a view must reach to be in the list: the k-th best known so far.
        let floor = |scored: &mut Vec<(f64, usize)>| -> f64 {
            if params.top == 0 {
                return f64::INFINITY;
            }
            if scored.len() < params.top {
                return params.least;
            }
            scored.sort_unstable_by(order);
            scored
                .get(params.top - 1)
                .map_or(params.least, |last| last.0.max(params.least))
        };
        let mut todo: Vec<(f64, usize)> = (0..distinct.len()).map(|at| (1.0, at)).collect();
        let mut reach = params.least;
        if prunes {
            let bounds: Vec<Bound> = par::map(distinct.len(), |at| {
                cancel.check()?;
                self.bound(reference, distinct[at].0)
            })?;
            let mut known = Vec::new();
            for (at, bound) in bounds.iter().enumerate() {
                todo[at].0 = bound.most + T::SLACK;
                let least = match params.score {
                    Score::Magnitude => bound.zero.abs(),
                    Score::Paper => bound.zero.max(0.0),
                };
                known.extend(
                    views(at)
                        .iter()
                        .map(|view| ((least - T::SLACK).max(0.0), *view)),
                );
            }
            reach = floor(&mut known);
            todo.sort_unstable_by(order);
        }
        // Exhaustively there is nothing to choose, so all run at once.
        let batch = if prunes { BATCH } else { todo.len().max(1) };
        for some in todo.chunks(batch) {
            let run: Vec<usize> = some
                .iter()
                .filter(|(most, _)| !prunes || *most >= reach)
                .map(|(_, at)| *at)
                .collect();
            let results = par::map(run.len(), |at| {
                cancel.check()?;
                let result = self.correlate(reference, distinct[run[at]].0)?;
                progress.advance("correlate", views(run[at]).len() as u64, total);
                Ok(result)
            })?;
            transforms += run.len();
            for (at, result) in run.into_iter().zip(results) {
                for view in views(at) {
                    let peak = self.matched(*view, result, params.score).peak;
                    scored.push((peak.r.abs(), *view));
                }
                found[at] = Some(result);
            }
            reach = reach.max(floor(&mut scored));
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
        })
    }

    fn add_pearson(&self, reference: usize, matches: &mut [Match]) -> Result<()> {
        let all = AxisFilter::all(self.plan.dims().len());
        let prepared = self.reference(reference, &all)?;
        let found = par::map(matches.len(), |at| match &prepared {
            Some(prepared) => Ok(self.bound(prepared, matches[at].view)?.zero),
            None => Ok(0.0),
        })?;
        for (one, r) in matches.iter_mut().zip(found) {
            one.pearson = r;
        }
        Ok(())
    }
}

impl CheckedRank {
    /// The longest list.
    pub(crate) fn longest(&self) -> usize {
        self.0.top
    }

    /// No list below `score` any more.
    pub(crate) fn raise(&mut self, score: f64) {
        self.0.least = self.0.least.max(score.min(1.0));
    }

    /// The same without a top or a least score.
    pub(crate) fn all(mut self) -> Self {
        (self.0.top, self.0.least) = (usize::MAX, 0.0);
        self
    }

    /// What views are ranked by.
    pub fn score(&self) -> Score {
        self.0.score
    }
}
