//! [`ExtractParams`]: what a burst is, and which metrics it has.

use super::formula::{Formula, ZeroDivision};
use crate::{Error, Result};
use perf_core::Nanos;

/// What begins and ends a burst.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delimiter {
    /// The state `Running` where the recording has one, as recordings of thread states do; else
    /// [`Delimiter::Communication`]. A function that begins or ends within the state does not
    /// divide it; `Delimiter::Calls(vec!["Running".into()])` has the pieces.
    #[default]
    Auto,
    /// Each call of a region whose name fits one of these patterns (`*` and `?`): a user function,
    /// or a state that was recorded as a region. Of nested calls the outermost one.
    Calls(Vec<String>),
    /// From the end of a call of communication to the begin of the next one.
    ///
    /// Communication is what is MPI or SHMEM, and any region that is point-to-point, collective or
    /// one-sided by its role; barriers of OpenMP divide bursts as well. A thread that communicates
    /// computes whenever it does not, from its first event to its last; one that never does, as a
    /// worker of OpenMP, computes only while a region is open. Recording that is switched off and
    /// a buffer that is written out end a burst, and the next one begins after it.
    Communication,
    /// As [`Delimiter::Communication`] with the regions that fit one of these patterns instead.
    Between(Vec<String>),
    /// From each sample of this metric that is not 0 to its next sample. For recordings that mark
    /// phases by the value of an event. Also the name of a kind of event without a noun, whose
    /// first number is the value.
    Value(String),
}

/// The range a metric must lie in.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Limits {
    pub(super) metric: String,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// A metric that was asked for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Asked {
    pub(super) formula: Formula,
    /// Whether a burst without it counts as incomplete.
    pub(super) is_needed: bool,
}

/// Parameters of [`Extract`]: set them, then [`check`](Self::check).
///
/// ```
/// use perf_core::{Job, Nanos};
/// use perf_track::{Delimiter, Extract};
/// let trace = perf_testdata::cosmo::trace();
/// // Calls of SPECS as bursts, those of a millisecond and more.
/// let extract = Extract::params()
///     .delimiter(Delimiter::Calls(vec!["SPECS".into()]))
///     .min_duration(Nanos(1_000_000))
///     .check()?;
/// let (bursts, dropped) = extract.extract(trace.view(), &Job::default())?;
/// assert_eq!(dropped.found.bursts, 40 * 60);
/// assert_eq!(bursts.len() as u64, dropped.found.bursts);
/// # Ok::<(), perf_track::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ExtractParams {
    delimiter: Delimiter,
    metrics: Vec<(String, bool)>,
    all_counters: bool,
    min_duration: Option<Nanos>,
    max_duration: Option<Nanos>,
    ranges: Vec<Limits>,
    zero: ZeroDivision,
}

impl ExtractParams {
    /// What begins and ends a burst, default [`Delimiter::Auto`].
    pub fn delimiter(mut self, delimiter: Delimiter) -> Self {
        self.delimiter = delimiter;
        self
    }

    /// Adds a metric that each burst must have, as a [`Formula`]. Default: none, a burst has its
    /// duration all the same.
    pub fn metric(mut self, formula: impl Into<String>) -> Self {
        self.metrics.push((formula.into(), true));
        self
    }

    /// Adds a metric, as a [`Formula`], that bursts may lack. Default: none.
    pub fn also(mut self, formula: impl Into<String>) -> Self {
        self.metrics.push((formula.into(), false));
        self
    }

    /// Adds every metric of the recording that was not asked for, default false. Bursts may lack
    /// them.
    pub fn all_counters(mut self, all: bool) -> Self {
        self.all_counters = all;
        self
    }

    /// Bursts shorter than this are left out, default 0.
    pub fn min_duration(mut self, duration: Nanos) -> Self {
        self.min_duration = Some(duration);
        self
    }

    /// Bursts longer than this are left out, default none are.
    pub fn max_duration(mut self, duration: Nanos) -> Self {
        self.max_duration = Some(duration);
        self
    }

    /// Bursts whose `metric` lies out of `[low, high]` are left out. `metric` is the name of one
    /// asked for, or `duration` in nanoseconds; the value is the raw one. Default: no ranges.
    pub fn range(mut self, metric: impl Into<String>, low: f64, high: f64) -> Self {
        let metric = metric.into();
        self.ranges.push(Limits { metric, low, high });
        self
    }

    /// What a division by 0 gives, default [`ZeroDivision::Missing`].
    pub fn zero_division(mut self, zero: ZeroDivision) -> Self {
        self.zero = zero;
        self
    }

    /// Checks them.
    ///
    /// # Errors
    /// [`Error::Formula`] for a metric that is none, [`Error::Parameter`] for two metrics of one
    /// name, durations or ranges without anything between, an empty list of patterns, and
    /// [`Error::UnknownMetric`] for a range of a metric that was not asked for.
    pub fn check(self) -> Result<Extract> {
        let mut asked: Vec<Asked> = Vec::with_capacity(self.metrics.len());
        for (text, is_needed) in self.metrics {
            let formula = Formula::parse(&text)?;
            if asked.iter().any(|a| a.formula.name() == formula.name()) {
                return Err(Error::Parameter {
                    name: "name of a metric",
                    value: formula.name().to_owned(),
                    range: "asked for once",
                });
            }
            asked.push(Asked { formula, is_needed });
        }
        let low = self.min_duration.unwrap_or_default();
        let high = self.max_duration.unwrap_or(Nanos(i64::MAX));
        if low.0 < 0 || high < low {
            return Err(Error::Parameter {
                name: "duration of bursts",
                value: format!("{low} to {high}"),
                range: "from 0 on, the least first",
            });
        }
        for Limits { metric, low, high } in &self.ranges {
            if low > high || low.is_nan() || high.is_nan() {
                return Err(Error::Parameter {
                    name: "range of a metric",
                    value: format!("{metric}: {low} to {high}"),
                    range: "two numbers, the least first",
                });
            }
            let is_known = metric == "duration" || asked.iter().any(|a| a.formula.name() == metric);
            // A counter that `all_counters` brings is known once there is a recording.
            if !is_known && !self.all_counters {
                let known: Vec<&str> = asked.iter().map(|a| a.formula.name()).collect();
                return Err(Error::UnknownMetric {
                    name: metric.clone(),
                    known: [known.as_slice(), &["duration"]].concat().join(", "),
                });
            }
        }
        if let Delimiter::Calls(patterns) | Delimiter::Between(patterns) = &self.delimiter
            && patterns.is_empty()
        {
            return Err(Error::Parameter {
                name: "patterns of regions",
                value: "none".into(),
                range: "at least one",
            });
        }
        Ok(Extract {
            delimiter: self.delimiter,
            asked,
            all_counters: self.all_counters,
            durations: (low, high),
            ranges: self.ranges,
            zero: self.zero,
        })
    }
}

/// Finds the bursts of a recording: parameters that [`ExtractParams::check`] let pass.
///
/// The names a [`Formula`] may use are, in this order: metrics asked for before it; `duration` in
/// nanoseconds; `sent_before`, `received_before`, `sent_after`, `received_after`, the bytes of the
/// call of communication before and after the burst; metrics of the recording, by their name or
/// its first word; and `instructions`, `cycles` and `ipc`, whatever the recording calls them.
///
/// The value of a counter within a burst `[begin, end]` follows from its mode. Relative: the sum
/// of the samples in `(begin, end]`, so that samples at an instant that one burst ends and the
/// next begins belong to the first. Accumulated: the last value at or before the end less the
/// last at or before the begin; there must be a sample in `(begin, end]`, and where the counter
/// falls, as by a wrap or a reset, there is no value. Absolute: the last value at or before the end.
///
/// The callers of a call are those that were sampled as it was entered. Where none were, they are
/// the regions that were open, the call itself being the innermost: without the lines of a call
/// stack its name is what tells calls apart. The call before a burst is the last that had ended
/// when the burst began, the call after it the first entered from its end on.
///
/// ```
/// use perf_core::{Job, Nanos};
/// use perf_track::{Delimiter, Extract};
/// // 40 ranks whose calls of MPI are recorded, and functions of the program.
/// let trace = perf_testdata::cosmo::trace();
/// let extract = Extract::params().metric("duration").min_duration(Nanos(1_000)).check()?;
/// let (bursts, dropped) = extract.extract(trace.view(), &Job::default())?;
/// assert_eq!(bursts.processes(), 40);
/// assert_eq!(dropped.found.bursts as usize, bursts.len());
/// assert_eq!(bursts.column("duration")?.values, bursts.durations());
///
/// let functions = Delimiter::Calls(vec!["SPECS".into()]);
/// let extract = Extract::params().delimiter(functions).check()?;
/// let (bursts, _) = extract.extract(trace.view(), &Job::default())?;
/// assert!(!bursts.is_empty());
/// # Ok::<(), perf_track::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Extract {
    pub(super) delimiter: Delimiter,
    pub(super) asked: Vec<Asked>,
    pub(super) all_counters: bool,
    pub(super) durations: (Nanos, Nanos),
    pub(super) ranges: Vec<Limits>,
    pub(super) zero: ZeroDivision,
}

impl Default for Extract {
    /// Returns the default parameters: all bursts, with their duration alone.
    fn default() -> Self {
        Extract {
            delimiter: Delimiter::default(),
            asked: Vec::new(),
            all_counters: false,
            durations: (Nanos(0), Nanos(i64::MAX)),
            ranges: Vec::new(),
            zero: ZeroDivision::default(),
        }
    }
}

impl Extract {
    /// Parameters with their defaults.
    pub fn params() -> ExtractParams {
        ExtractParams::default()
    }
}
