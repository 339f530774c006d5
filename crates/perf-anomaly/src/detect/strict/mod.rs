//! The strict detectors, which reproduce Chimbuko's: [`Sstd`], [`Hbos`] and [`Copod`], their
//! parameters ([`StrictParams`]), and their models with the parts that were not sent yet
//! ([`Known`]).

mod copod;
mod hbos;
mod histogram;
mod overlap;
mod scored;
mod sstd;

pub use copod::Copod;
pub use hbos::Hbos;
pub use histogram::{Bin, Histogram};
pub use sstd::Sstd;

use super::{Functions, rules::Rules};
use crate::error::within;
use crate::{FunctionId, Judgement, Result, Sample};
use perf_core::{Cancelled, Job, Merge};

perf_core::parameters! {
    /// Parameters of the strict detectors [`Sstd`](crate::Sstd), [`Hbos`](crate::Hbos) and
    /// [`Copod`](crate::Copod). The defaults are those of Chimbuko v7.0.
    ///
    /// Created by [`Sstd::params`](crate::Sstd::params), [`Hbos::params`](crate::Hbos::params) and
    /// [`Copod::params`](crate::Copod::params).
    ///
    /// ```
    /// use perf_anomaly::{Detector, Hbos, Sstd};
    /// // Twelve standard deviations, as in launch scripts of the original.
    /// let sstd = Sstd::new(Sstd::params().sigma(12.0).check()?);
    /// assert_eq!(sstd.name(), "sstd");
    /// assert!(Hbos::params().bins(0).check().is_err());
    /// # Ok::<(), perf_anomaly::Error>(())
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct StrictParams {
        /// Sets the largest distance of a normal call from the mean in standard deviations, for SSTD;
        /// default 6. Launch scripts of the original use 12.
        sigma: f64 = 6.0,
        /// Labels the first call of a function on a stream as normal and does not learn it, in SSTD;
        /// default true.
        skip_first: bool = true,
        /// Sets the lowest score of an abnormal call in HBOS and COPOD, as a fraction of the range of
        /// scores of the model; default 0.99.
        threshold: f64 = 0.99,
        /// Sets the number of bins of a histogram in HBOS; default 200.
        bins: u16 = 200,
        /// Keeps an earlier threshold of HBOS and COPOD if it is higher than the new one; default true.
        /// COPOD does not keep thresholds of at most `-log2(1.00001)`.
        keep_threshold: bool = true,
    }
}

/// Validated [`StrictParams`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StrictChecked(pub(crate) StrictParams);

impl StrictParams {
    /// Validates the parameters.
    ///
    /// # Errors
    /// Returns [`Error::Parameter`](crate::Error::Parameter) unless `sigma` is positive,
    /// `threshold` is between 0 and 1 and `bins` is at least 2.
    pub fn check(self) -> Result<StrictChecked> {
        check_sigma(self.sigma)?;
        check_part(self.threshold)?;
        within(self.bins >= 2, "bins", self.bins, "at least 2")?;
        Ok(StrictChecked(self))
    }
}

impl StrictChecked {
    /// Returns names and values of the options of SSTD, for the metadata of a run.
    pub(crate) fn options_of_sstd(&self) -> Vec<(String, String)> {
        vec![
            ("sigma".into(), self.0.sigma.to_string()),
            ("skip first".into(), self.0.skip_first.to_string()),
        ]
    }

    /// Returns names and values of the options of HBOS and COPOD.
    pub(crate) fn options_of_histograms(&self) -> Vec<(String, String)> {
        vec![
            ("threshold".into(), self.0.threshold.to_string()),
            ("bins".into(), self.0.bins.to_string()),
            ("keep threshold".into(), self.0.keep_threshold.to_string()),
        ]
    }

    pub(crate) fn sigma(&self) -> f64 {
        self.0.sigma
    }

    pub(crate) fn skips_first(&self) -> bool {
        self.0.skip_first
    }

    pub(crate) fn threshold(&self) -> f64 {
        self.0.threshold
    }

    pub(crate) fn bins(&self) -> u16 {
        self.0.bins
    }

    pub(crate) fn keeps_threshold(&self) -> bool {
        self.0.keep_threshold
    }
}

pub(crate) fn check_sigma(sigma: f64) -> Result<()> {
    within(sigma > 0.0, "sigma", sigma, "positive")
}

pub(crate) fn check_part(part: f64) -> Result<()> {
    within((0.0..=1.0).contains(&part), "threshold", part, "0 to 1")
}

/// Model of each function, and the part of it that has not been sent yet.
#[derive(Clone, Debug)]
pub(crate) struct Known<T> {
    /// Complete model.
    pub(crate) functions: Functions<T>,
    /// Part that has not been sent yet; `None` if nothing has been sent.
    unsent: Option<Functions<T>>,
}

impl<T> Default for Known<T> {
    fn default() -> Self {
        Known {
            functions: Functions::default(),
            unsent: None,
        }
    }
}

impl<T: Merge + Clone> Known<T> {
    /// Applies a change to the model of a function, and to the part that has not been sent.
    #[inline]
    pub(crate) fn change(&mut self, function: FunctionId, change: impl Fn(&mut T)) {
        change(self.functions.entry(function, T::default));
        if let Some(unsent) = &mut self.unsent {
            change(unsent.entry(function, T::default));
        }
    }

    pub(crate) fn take(&mut self) -> Functions<T> {
        match self.unsent.replace(Functions::default()) {
            Some(unsent) => unsent,
            None => self.functions.clone(),
        }
    }

    pub(crate) fn adopt(&mut self, view: &Functions<T>) {
        let known = std::mem::replace(&mut self.functions, view.clone());
        let unsent = self.unsent.get_or_insert(known);
        self.functions.merge(unsent);
    }

    pub(crate) fn forget(&mut self, function: FunctionId) {
        // The part that has not been sent must be kept.
        self.unsent.get_or_insert_with(|| self.functions.clone());
        if let Some(known) = self.functions.get_mut(function) {
            *known = T::default();
        }
    }

    pub(crate) fn restore(&mut self, snapshot: &Functions<T>) {
        self.functions = snapshot.clone();
        self.unsent = Some(Functions::default());
    }
}

/// Returns the samples of functions that are not ignored, by function and then in their order. The
/// second number is the index of the sample.
pub(crate) fn by_function<'a>(
    samples: &'a [Sample],
    rules: &Rules,
    job: &Job,
) -> std::result::Result<Vec<(FunctionId, usize, &'a Sample)>, Cancelled> {
    let mut sorted: Vec<_> = samples
        .iter()
        .enumerate()
        .filter(|(_, sample)| !rules.ignored(sample.function))
        .map(|(index, sample)| (sample.function, index, sample))
        .collect();
    job.sort_by(&mut sorted, |a, b| (a.0, a.1).cmp(&(b.0, b.1)))?;
    Ok(sorted)
}

/// Appends `samples.len()` copies of `fill` to `judgements` and returns them.
pub(crate) fn room<'a>(
    judgements: &'a mut Vec<Judgement>,
    samples: &[Sample],
    fill: Judgement,
) -> &'a mut [Judgement] {
    let before = judgements.len();
    judgements.resize(before + samples.len(), fill);
    &mut judgements[before..]
}
