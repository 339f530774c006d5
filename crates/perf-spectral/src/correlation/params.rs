//! [`RankParams`], and validated as [`CheckedRank`]: [`Score`], length and tolerance of a list of
//! views that is sorted by correlation.

use crate::{Error, Result, TOLERANCE};

/// Score by which views are ranked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Score {
    /// `|r_f|`: strong anti-correlation ranks as high as strong correlation.
    #[default]
    Magnitude,
    /// R at `argmax R`, as in the text of the paper. It is never negative, so a perfect inverse of
    /// the reference ranks low.
    Paper,
}

perf_core::parameters! {
    /// Parameters of a ranking. Set them, then call [`check`](Self::check).
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
        /// Sets the largest length of the list; default all.
        pub(crate) top: usize = usize::MAX,
        /// Sets the lowest score of a view in the list, in `0.0..=1.0`; default 0.
        pub(crate) least: f64 = 0.0,
        /// Sets the score by which views are ranked; default [`Score::Magnitude`].
        pub(crate) score: Score = Score::default(),
        /// Skips transforms that the magnitude bound excludes from the list; default true. The list is
        /// the same either way.
        pub(crate) prune: bool = true,
        /// Computes Pearson's r too; default true. It takes one more pass over each spectrum in the
        /// list.
        pub(crate) pearson: bool = true,
        /// Sets the relative difference from the largest magnitude within which magnitudes count as
        /// equal, in `0.0..1.0`; default [`TOLERANCE`]. Among equal ones the smallest shift is
        /// reported, see [`Correlation::best`](crate::Correlation::best). With 0 the larger of the
        /// maximum and the minimum is reported. [`Score::Paper`] ignores it.
        pub(crate) tolerance: f64 = TOLERANCE,
    }
}

impl RankParams {
    /// Validates the parameters.
    ///
    /// # Errors
    /// Returns [`Error::Parameter`] if the least score is outside of 0 to 1, or the tolerance is
    /// negative or not below 1.
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

/// Returns an error unless the tolerance is in `0.0..1.0`.
pub(crate) fn check_tolerance(share: f64) -> Result<()> {
    if (0.0..1.0).contains(&share) {
        Ok(())
    } else {
        Err(Error::Parameter {
            what: "the tolerance of equal correlations",
            got: share,
        })
    }
}

/// Parameters validated by [`RankParams::check`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CheckedRank(pub(crate) RankParams);

impl CheckedRank {
    /// Returns the largest length of the list.
    pub fn longest(&self) -> usize {
        self.0.top
    }

    /// Raises the least score to `score`, once enough views with at least that score have been
    /// found.
    pub fn raise(&mut self, score: f64) {
        self.0.least = self.0.least.max(score.min(1.0));
    }

    /// Returns the same parameters without a top or a least score.
    pub(crate) fn all(mut self) -> Self {
        (self.0.top, self.0.least) = (usize::MAX, 0.0);
        self
    }

    /// Returns the relative difference within which magnitudes count as equal.
    pub fn tolerance(&self) -> f64 {
        self.0.tolerance
    }

    /// Returns the score by which views are ranked.
    pub fn score(&self) -> Score {
        self.0.score
    }
}
