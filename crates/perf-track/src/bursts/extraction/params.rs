//! [`ExtractParams`]: each [`Delimiter`], metric and filter with which bursts are extracted;
//! [`Extract`]: their validated form.

use crate::bursts::formula::{Formula, ZeroDivision};
use crate::{Error, Result};
use perf_core::Nanos;

/// Rule for the begin and end of a burst.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delimiter {
    /// The state `Running` if the recording has one, as recordings of thread states do; otherwise
    /// [`Delimiter::Communication`]. A function that begins or ends within the state does not
    /// divide it; `Delimiter::Calls(vec!["Running".into()])` yields the pieces.
    #[default]
    Auto,
    /// Each call of a region whose name matches one of these patterns (`*` and `?`): a user
    /// function, or a state recorded as a region. Of nested calls, only the outermost is a burst.
    Calls(Vec<String>),
    /// From the end of a communication call to the begin of the next one.
    ///
    /// Communication means MPI or SHMEM, and any region with a point-to-point, collective or
    /// one-sided role; OpenMP barriers divide bursts too. A thread that communicates computes at
    /// all other times from its first event to its last. A thread that never communicates, such as
    /// an OpenMP worker, computes only while a region is open. A burst ends when recording is
    /// switched off or a buffer is flushed, and the next one begins afterwards.
    Communication,
    /// Like [`Delimiter::Communication`], with the regions that match one of these patterns
    /// instead.
    Between(Vec<String>),
    /// From each sample of this metric with a value other than 0 to the next sample of the metric, for
    /// recordings that mark phases by the value of an event. The name may also be a kind of event
    /// without a variant, whose first argument is the value.
    Value(String),
}

/// Range of allowed values of a metric.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::bursts) struct Limits {
    /// Name of the metric.
    pub(in crate::bursts) metric: String,
    /// Lower limit.
    pub(in crate::bursts) low: f64,
    /// Upper limit.
    pub(in crate::bursts) high: f64,
}

/// Requested metric.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::bursts) struct RequestedMetric {
    /// Formula of the metric.
    pub(in crate::bursts) formula: Formula,
    /// `true` if a burst without this metric is incomplete.
    pub(in crate::bursts) is_needed: bool,
}

perf_core::parameters! {
    /// Parameters of [`Extract`]. Set them, then call [`check`](Self::check).
    ///
    /// ```
    /// use perf_core::{Job, Nanos};
    /// use perf_track::{Delimiter, Extract};
    /// let trace = perf_core::samples::cosmo::trace();
    /// // Calls of SPECS as bursts, from one millisecond on.
    /// let extract = Extract::params()
    ///     .delimiter(Delimiter::Calls(vec!["SPECS".into()]))
    ///     .min_duration(Nanos(1_000_000))
    ///     .check()?;
    /// let (bursts, dropped) = extract.extract(trace.view(), &Job::default())?;
    /// assert_eq!(dropped.found.bursts, 40 * 60);
    /// assert_eq!(bursts.len() as u64, dropped.found.bursts);
    /// # Ok::<(), perf_track::Error>(())
    /// ```
    #[derive(Clone, Debug)]
    pub struct ExtractParams {
        /// Sets the rule for the begin and end of a burst; default [`Delimiter::Auto`].
        delimiter: Delimiter = Delimiter::default(),
        /// Adds every other metric of the recording as an optional metric; default `false`.
        all_counters: bool = false,
        /// Drops bursts shorter than this; default 0.
        min_duration: Option<Nanos> = None => |duration: Nanos| Some(duration),
        /// Drops bursts longer than this; default unlimited.
        max_duration: Option<Nanos> = None => |duration: Nanos| Some(duration),
    } and {
        /// Formulas of the metrics, each with `true` if the metric is required.
        metrics: Vec<(String, bool)> = Vec::new(),
        /// Ranges of metrics.
        ranges: Vec<Limits> = Vec::new(),
        /// Rule for divisions by 0.
        zero: ZeroDivision = ZeroDivision::default(),
    }
}

impl ExtractParams {
    /// Adds a required metric as a [`Formula`]. Default: none; bursts always have their duration.
    pub fn metric(mut self, formula: impl Into<String>) -> Self {
        self.metrics.push((formula.into(), true));
        self
    }

    /// Adds an optional metric as a [`Formula`]. Default: none.
    pub fn also(mut self, formula: impl Into<String>) -> Self {
        self.metrics.push((formula.into(), false));
        self
    }

    /// Drops bursts whose `metric` lies outside of `[low, high]`. `metric` is the name of a
    /// requested metric, or `duration` in nanoseconds; the raw value is compared. Default: no
    /// ranges.
    pub fn range(mut self, metric: impl Into<String>, low: f64, high: f64) -> Self {
        let metric = metric.into();
        self.ranges.push(Limits { metric, low, high });
        self
    }

    /// Sets the result of a division by 0; default [`ZeroDivision::Missing`].
    pub fn zero_division(mut self, zero: ZeroDivision) -> Self {
        self.zero = zero;
        self
    }

    /// Validates the parameters.
    ///
    /// # Errors
    /// Returns [`Error::Formula`] for an invalid formula, [`Error::Parameter`] for two metrics of
    /// the same name, empty durations or ranges, or an empty list of patterns, and
    /// [`Error::UnknownMetric`] for a range of a metric that was not requested.
    pub fn check(self) -> Result<Extract> {
        let mut requested: Vec<RequestedMetric> = Vec::with_capacity(self.metrics.len());
        for (text, is_needed) in self.metrics {
            let formula = Formula::parse(&text)?;
            if requested.iter().any(|a| a.formula.name() == formula.name()) {
                return Err(Error::Parameter {
                    name: "name of a metric",
                    value: formula.name().to_owned(),
                    range: "given only once",
                });
            }
            requested.push(RequestedMetric { formula, is_needed });
        }
        let low = self.min_duration.unwrap_or_default();
        let high = self.max_duration.unwrap_or(Nanos(i64::MAX));
        if low.0 < 0 || high < low {
            return Err(Error::Parameter {
                name: "duration of bursts",
                value: format!("{low} to {high}"),
                range: "at least 0, in ascending order",
            });
        }
        for Limits { metric, low, high } in &self.ranges {
            if low > high || low.is_nan() || high.is_nan() {
                return Err(Error::Parameter {
                    name: "range of a metric",
                    value: format!("{metric}: {low} to {high}"),
                    range: "two numbers in ascending order",
                });
            }
            let is_known =
                metric == "duration" || requested.iter().any(|a| a.formula.name() == metric);
            // Counters that `all_counters` adds are known only once there is a recording.
            if !is_known && !self.all_counters {
                let known: Vec<&str> = requested.iter().map(|a| a.formula.name()).collect();
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
            requested,
            all_counters: self.all_counters,
            durations: (low, high),
            ranges: self.ranges,
            zero: self.zero,
        })
    }
}

/// Extracts the bursts of a recording, with parameters validated by [`ExtractParams::check`].
///
/// The names in a [`Formula`] are resolved in this order: metrics requested before it; `duration`
/// in nanoseconds; `sent_before`, `received_before`, `sent_after` and `received_after`, the bytes
/// of the communication call before and after the burst; metrics of the recording, by name or by
/// its first word; and `instructions`, `cycles` and `ipc`, independent of their names in the
/// recording.
///
/// The value of a counter within a burst `[begin, end]` depends on the mode of the counter:
///
/// * Relative: the sum of the samples in `(begin, end]`, so that samples at an instant where one burst
///   ends and the next begins belong to the first burst.
/// * Accumulated: the last value at or before the end minus the last value at or before the begin.
///   There must be a sample in `(begin, end]`. There is no value if the counter decreases because of a
///   wrap or reset.
/// * Absolute: the last value at or before the end.
///
/// The callers of a call are the callers sampled when the call was entered. Without samples they are
/// the open regions with the call itself as the innermost, because the name of the call distinguishes
/// calls if there are no line numbers. The call before a burst is the last call that had ended when the
/// burst began; the call after a burst is the first call entered at or after the end of the burst.
///
/// ```
/// use perf_core::{Job, Nanos};
/// use perf_track::{Delimiter, Extract};
/// // 40 ranks with MPI calls and functions of the program.
/// let trace = perf_core::samples::cosmo::trace();
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
    /// Rule for begin and end.
    pub(in crate::bursts) delimiter: Delimiter,
    /// Requested metrics.
    pub(in crate::bursts) requested: Vec<RequestedMetric>,
    /// `true` to add all metrics of the recording.
    pub(in crate::bursts) all_counters: bool,
    /// Shortest and longest duration.
    pub(in crate::bursts) durations: (Nanos, Nanos),
    /// Ranges of metrics.
    pub(in crate::bursts) ranges: Vec<Limits>,
    /// Rule for divisions by 0.
    pub(in crate::bursts) zero: ZeroDivision,
}

impl Default for Extract {
    /// Returns the default parameters: all bursts, with no metric but the duration.
    fn default() -> Self {
        Extract {
            delimiter: Delimiter::default(),
            requested: Vec::new(),
            all_counters: false,
            durations: (Nanos(0), Nanos(i64::MAX)),
            ranges: Vec::new(),
            zero: ZeroDivision::default(),
        }
    }
}

impl Extract {
    /// Returns parameters with their default values.
    pub fn params() -> ExtractParams {
        ExtractParams::default()
    }
}
