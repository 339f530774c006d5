//! What the strict detectors share: parameters, and a model that is learned before it is asked.

use super::{Functions, rules::Rules};
use crate::error::within;
use crate::{FunctionId, Judgement, Result, Sample};
use perf_core::{Cancelled, Job, Merge};

/// Parameters of the strict detectors; the defaults are those of Chimbuko v7.0.
///
/// Made by [`Sstd::params`](crate::Sstd::params), [`Hbos::params`](crate::Hbos::params) and
/// [`Copod::params`](crate::Copod::params).
///
/// ```
/// use perf_anomaly::{Detector, Hbos, Sstd};
/// // Twelve deviations, as launch scripts of the original have it.
/// let sstd = Sstd::new(Sstd::params().sigma(12.0).check()?);
/// assert_eq!(sstd.name(), "sstd");
/// assert!(Hbos::params().bins(0).check().is_err());
/// # Ok::<(), perf_anomaly::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct StrictParams {
    sigma: f64,
    skip_first: bool,
    threshold: f64,
    bins: u16,
    keep_threshold: bool,
}

impl Default for StrictParams {
    fn default() -> Self {
        StrictParams {
            sigma: 6.0,
            skip_first: true,
            threshold: 0.99,
            bins: 200,
            keep_threshold: true,
        }
    }
}

/// [`StrictParams`] that were checked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StrictChecked(pub(crate) StrictParams);

impl StrictParams {
    /// SSTD: most deviations from the mean, default 6. Launch scripts of the original use 12.
    pub fn sigma(mut self, deviations: f64) -> Self {
        self.sigma = deviations;
        self
    }

    /// SSTD: whether the first call of a function on a stream is normal and not learned, default
    /// true.
    pub fn skip_first(mut self, skip: bool) -> Self {
        self.skip_first = skip;
        self
    }

    /// HBOS and COPOD: the score from which on a call is abnormal, as part of the range of scores of
    /// the model, default 0.99.
    pub fn threshold(mut self, part: f64) -> Self {
        self.threshold = part;
        self
    }

    /// HBOS: bins of a histogram, default 200.
    pub fn bins(mut self, bins: u16) -> Self {
        self.bins = bins;
        self
    }

    /// HBOS and COPOD: whether the threshold never falls, default true.
    pub fn keep_threshold(mut self, keep: bool) -> Self {
        self.keep_threshold = keep;
        self
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// [`Error::Parameter`](crate::Error::Parameter) unless `sigma` is positive, `threshold` between 0 and 1 and `bins` at
    /// least 2.
    pub fn check(self) -> Result<StrictChecked> {
        check_sigma(self.sigma)?;
        check_part(self.threshold)?;
        within(self.bins >= 2, "bins", self.bins, "at least 2")?;
        Ok(StrictChecked(self))
    }
}

impl StrictChecked {
    /// Names and values of what SSTD takes, for the metadata of a run.
    pub(crate) fn options_of_sstd(&self) -> Vec<(String, String)> {
        vec![
            ("sigma".into(), self.0.sigma.to_string()),
            ("skip first".into(), self.0.skip_first.to_string()),
        ]
    }

    /// Names and values of what HBOS and COPOD take.
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

/// What is known of each function, and what of it nobody was told yet.
#[derive(Clone, Debug)]
pub(crate) struct Known<T> {
    pub(crate) known: Functions<T>,
    /// `None` as long as nobody was told anything: it is all of `known`.
    untold: Option<Functions<T>>,
}

impl<T> Default for Known<T> {
    fn default() -> Self {
        Known {
            known: Functions::default(),
            untold: None,
        }
    }
}

impl<T: Merge + Clone> Known<T> {
    /// Changes what is known of a function, and what is to be told.
    #[inline]
    pub(crate) fn change(&mut self, function: FunctionId, change: impl Fn(&mut T)) {
        change(self.known.entry(function, T::default));
        if let Some(untold) = &mut self.untold {
            change(untold.entry(function, T::default));
        }
    }

    pub(crate) fn take(&mut self) -> Functions<T> {
        match self.untold.replace(Functions::default()) {
            Some(untold) => untold,
            None => self.known.clone(),
        }
    }

    pub(crate) fn adopt(&mut self, view: &Functions<T>) {
        let known = std::mem::replace(&mut self.known, view.clone());
        let untold = self.untold.get_or_insert(known);
        self.known.merge(untold);
    }

    pub(crate) fn forget(&mut self, function: FunctionId) {
        // What nobody was told yet is still to be told.
        self.untold.get_or_insert_with(|| self.known.clone());
        if let Some(known) = self.known.get_mut(function) {
            *known = T::default();
        }
    }

    pub(crate) fn restore(&mut self, snapshot: &Functions<T>) {
        self.known = snapshot.clone();
        self.untold = Some(Functions::default());
    }
}

/// The samples that are not ignored, by function and in order, as the batch detectors take them.
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

/// Room for the judgements of `samples` at the end of `judgements`.
pub(crate) fn room<'a>(
    judgements: &'a mut Vec<Judgement>,
    samples: &[Sample],
    fill: Judgement,
) -> &'a mut [Judgement] {
    let before = judgements.len();
    judgements.resize(before + samples.len(), fill);
    &mut judgements[before..]
}
