//! [`Spectra::pairs`] and [`Spectra::correlate_pairs`]: correlation of all pairs of views, in order
//! of their score, or of chosen pairs, as [`PairMatch`]es.

use crate::correlation::CheckedRank;
use crate::correlation::Match;
use crate::real::Real;
use crate::spectra::Spectra;
use crate::{Error, Filter, Result};
use perf_core::{Job, parallel};

/// Two views and their correlation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct PairMatch {
    /// Number of the reference view.
    pub reference: usize,
    /// Other view and its correlation.
    pub found: Match,
}

impl<T: Real> Spectra<T> {
    /// Correlates all pairs of views, with the lower number as the reference, and orders them by
    /// correlation. The pruning bound tightens as better pairs are found; the list equals that of
    /// an exhaustive search. Without a top or a least score it contains every pair of views that
    /// are not skipped.
    ///
    /// Progress is reported in pairs, in the phase `pairs`.
    ///
    /// # Errors
    /// Returns [`Error::Length`] for a filter with another number of axes, [`Error::Io`] if the
    /// file cannot be read, or [`Error::Cancelled`] if the job is cancelled.
    pub fn pairs(
        &self,
        filter: &(impl Filter + ?Sized),
        params: &CheckedRank,
        job: &Job,
    ) -> Result<Vec<PairMatch>> {
        T::pairs(self, &filter, params, job)
    }

    pub(crate) fn all_pairs(
        &self,
        filter: &dyn Filter,
        params: &CheckedRank,
        job: &Job,
    ) -> Result<Vec<PairMatch>> {
        let count = self.views().len();
        let total = (count * count.saturating_sub(1) / 2) as u64;
        let mut best: Vec<PairMatch> = Vec::new();
        let mut params = params.clone();
        for reference in 0..count {
            job.check()?;
            let others: Vec<usize> = (reference + 1..count).collect();
            if self.view(reference)?.is_skipped() {
                job.advance("pairs", others.len() as u64, total);
                continue;
            }
            let list = self.ranked(reference, &others, filter, &params, &job.without_progress())?;
            let found = list.matches.into_iter();
            best.extend(found.map(|found| PairMatch { reference, found }));
            best.sort_by(|a, b| {
                let by_score = b.found.r().abs().total_cmp(&a.found.r().abs());
                let key = |pair: &PairMatch| (pair.reference, pair.found.view);
                by_score.then(key(a).cmp(&key(b)))
            });
            best.truncate(params.longest());
            if best.len() == params.longest()
                && let Some(last) = best.last()
            {
                params.raise(last.found.r().abs());
            }
            job.advance("pairs", others.len() as u64, total);
        }
        Ok(best)
    }

    /// Correlates chosen pairs (reference, view), in the order given, such as the views of the same
    /// call path in two profiles, see [`same_paths`](crate::same_paths). Progress is reported in
    /// pairs, in the phase `pairs`.
    ///
    /// # Errors
    /// Returns [`Error::UnknownView`] for a view that does not exist, [`Error::Skipped`] for one
    /// that is skipped, [`Error::Length`] for a filter with another number of axes, [`Error::Io`]
    /// if the file cannot be read, or [`Error::Cancelled`] if the job is cancelled.
    pub fn correlate_pairs(
        &self,
        pairs: &[(usize, usize)],
        filter: &(impl Filter + ?Sized),
        params: &CheckedRank,
        job: &Job,
    ) -> Result<Vec<PairMatch>> {
        T::chosen_pairs(self, pairs, &filter, params, job)
    }

    pub(crate) fn chosen_pairs(
        &self,
        pairs: &[(usize, usize)],
        filter: &dyn Filter,
        params: &CheckedRank,
        job: &Job,
    ) -> Result<Vec<PairMatch>> {
        let all = params.clone().all();
        parallel::try_map(pairs.len(), |at| -> Result<_> {
            let (reference, view) = pairs[at];
            let list = self.ranked(reference, &[view], filter, &all, &job.without_progress())?;
            job.advance("pairs", 1, pairs.len() as u64);
            let found = list.matches.first().copied();
            let name = self.view(view)?.name.clone();
            let found = found.ok_or(Error::Skipped { view, name })?;
            Ok(PairMatch { reference, found })
        })
    }
}
