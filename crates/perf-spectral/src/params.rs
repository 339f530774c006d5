//! [`RankParams`]: what is ranked, by what, and how long the list may be.

use crate::{Error, Result, TOLERANCE};

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
///
/// ```
/// use perf_core::Job;
/// use perf_spectral::{RankParams, Score, Spectra};
/// let ramp: Vec<f64> = (0..16).map(f64::from).collect();
/// let down: Vec<f64> = ramp.iter().map(|value| -value).collect();
/// let mut builder = Spectra::<f64>::builder(&[16])?;
/// builder.extend(&[&ramp, &down], &Job::default())?;
/// let spectra = builder.finish();
/// let all = perf_spectral::AxisFilter::all(1);
/// let best = |score| -> perf_spectral::Result<f64> {
///     let params = RankParams::default().top(1).score(score).check()?;
///     Ok(spectra.rank(0, &all, &params, &Job::default())?.matches[0].r())
/// };
/// assert!(best(Score::Magnitude)? < -0.999);
/// assert!(RankParams::default().least(1.5).check().is_err());
/// # Ok::<(), perf_spectral::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RankParams {
    pub(crate) top: usize,
    pub(crate) least: f64,
    pub(crate) score: Score,
    pub(crate) prune: bool,
    pub(crate) pearson: bool,
    pub(crate) tolerance: f64,
}

impl Default for RankParams {
    fn default() -> Self {
        RankParams {
            top: usize::MAX,
            least: 0.0,
            score: Score::default(),
            prune: true,
            pearson: true,
            tolerance: TOLERANCE,
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

    /// Share of the largest magnitude within which magnitudes count as equal, default [`TOLERANCE`], from 0 to
    /// below 1. Of equal ones the smallest shift is reported, see [`Correlation::best`](crate::Correlation::best).
    /// With 0 the larger of the maximum and the minimum is reported. [`Score::Paper`] does not use it.
    pub fn tolerance(mut self, share: f64) -> Self {
        self.tolerance = share;
        self
    }

    /// Checks them.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a least score outside of 0 to 1, or a tolerance outside of 0 to below 1.
    pub fn check(self) -> Result<CheckedRank> {
        check_tolerance(self.tolerance)?;
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

/// Returns an error unless the tolerance is from 0 to below 1.
pub(crate) fn check_tolerance(share: f64) -> Result<()> {
    match (0.0..1.0).contains(&share) {
        true => Ok(()),
        false => Err(Error::Parameter {
            what: "the tolerance of equal correlations",
            got: share,
        }),
    }
}

/// Parameters that [`RankParams::check`] let pass.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CheckedRank(pub(crate) RankParams);

impl CheckedRank {
    /// The longest list.
    pub fn longest(&self) -> usize {
        self.0.top
    }

    /// No list below `score` any more: for who has found enough that is at least as good.
    pub fn raise(&mut self, score: f64) {
        self.0.least = self.0.least.max(score.min(1.0));
    }

    /// The same without a top or a least score.
    pub(crate) fn all(mut self) -> Self {
        (self.0.top, self.0.least) = (usize::MAX, 0.0);
        self
    }

    /// Share within which magnitudes count as equal.
    pub fn tolerance(&self) -> f64 {
        self.0.tolerance
    }

    /// What views are ranked by.
    pub fn score(&self) -> Score {
        self.0.score
    }
}
