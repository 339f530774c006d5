//! [`ScaleParams`]: metrics that are axes ([`Dimension`]), with their logarithms, weights,
//! [`Shift`]s and the [`ScaleMode`] of their ranges; [`Scale`]: their validated form.

use crate::{Error, Result};

/// Shift of the values of an experiment before they are compared.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Shift {
    /// [`Shift::Fit`] for a logarithmic axis, [`Shift::None`] for a linear axis, because metrics
    /// scale by a factor with the number of tasks, which is a shift of the logarithm.
    #[default]
    Auto,
    /// No shift.
    None,
    /// Shift that maximises the overlap of the times of the bursts, see
    /// [`Scale::fit`](super::Scale::fit).
    Fit,
    /// Given shifts, one for each experiment, in units of the axis; on a logarithmic axis the
    /// logarithm of a factor.
    Fixed(Vec<f64>),
}

/// Axis of the space of the points.
///
/// ```
/// use perf_track::{Dimension, Scale, Shift};
/// // Twice the weight of others, and not shifted between experiments.
/// let axis = Dimension::new("IPC").factor(2.0).shift(Shift::None);
/// assert!(Scale::params().dimension(axis).check().is_ok());
/// assert!(Scale::params().dimension(Dimension::new("IPC").factor(0.0)).check().is_err());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Dimension {
    /// Name of the metric.
    pub(super) metric: String,
    /// `true` for a logarithmic axis.
    pub(super) log: bool,
    /// Weight in distances.
    pub(super) factor: f64,
    /// Shift between experiments.
    pub(super) shift: Shift,
}

impl Dimension {
    /// Creates an axis from a metric of the bursts by name, or `duration`.
    pub fn new(metric: impl Into<String>) -> Self {
        Dimension {
            metric: metric.into(),
            log: false,
            factor: 1.0,
            shift: Shift::Auto,
        }
    }

    /// Sets whether the natural logarithm is the coordinate; default `false`. Intended for metrics that
    /// span orders of magnitude, such as instructions and durations.
    pub fn log(mut self, log: bool) -> Self {
        self.log = log;
        self
    }

    /// Sets the weight of the axis in distances; default 1, above 0.
    pub fn factor(mut self, factor: f64) -> Self {
        self.factor = factor;
        self
    }

    /// Sets the shift between experiments in [`ScaleMode::Joint`]; default [`Shift::Auto`].
    pub fn shift(mut self, shift: Shift) -> Self {
        self.shift = shift;
        self
    }
}

/// Method for the range of an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ScaleMode {
    /// One range for all experiments, between two quantiles, after a shift of each experiment.
    #[default]
    Joint,
    /// From the smallest to the largest value of each experiment separately, as in the established
    /// clustering tools. A displacement of all clusters cancels out, but a single outlier moves all
    /// clusters.
    PerExperiment,
}

perf_core::parameters! {
    /// Parameters of [`Scale`]. Set them, then call [`check`](Self::check).
    #[derive(Clone, Debug)]
    pub struct ScaleParams {
        /// Sets the method for ranges; default [`ScaleMode::Joint`].
        mode: ScaleMode = ScaleMode::default(),
        /// Sets the fraction of bursts on either side that lie outside of the range in
        /// [`ScaleMode::Joint`]; default 0.01, in `0.0..0.5`. Bursts outside are not dropped; their
        /// coordinates lie outside of `[0, factor]`.
        quantile: Option<f64> = None => |quantile: f64| Some(quantile),
        /// Sets the fraction of the time by which the overlap with a fitted shift must at least exceed
        /// the overlap without a shift; default 0.05, in `0.0..=1.0`. Otherwise there is no shift.
        margin: Option<f64> = None => |margin: f64| Some(margin),
    } and {
        /// Axes.
        dimensions: Vec<Dimension> = Vec::new(),
    }
}

impl ScaleParams {
    /// Adds an axis. At least one is required.
    pub fn dimension(mut self, dimension: Dimension) -> Self {
        self.dimensions.push(dimension);
        self
    }

    /// Validates the parameters.
    ///
    /// # Errors
    /// Returns [`Error::NoDimensions`] without axes, or [`Error::Parameter`] for a factor, quantile
    /// or margin out of range, a fixed shift that is not finite, or a metric that is used for two
    /// axes.
    pub fn check(self) -> Result<Scale> {
        let wrong = |name, value: String, range| Err(Error::Parameter { name, value, range });
        if self.dimensions.is_empty() {
            return Err(Error::NoDimensions);
        }
        for (index, dimension) in self.dimensions.iter().enumerate() {
            let Dimension {
                metric,
                factor,
                shift,
                ..
            } = dimension;
            if !(factor.is_finite() && *factor > 0.0) {
                return wrong(
                    "factor of an axis",
                    format!("{metric}: {factor}"),
                    "above 0",
                );
            }
            if self
                .dimensions
                .iter()
                .take(index)
                .any(|d| d.metric == *metric)
            {
                return wrong("metric of an axis", metric.clone(), "given once");
            }
            if let Shift::Fixed(shifts) = shift
                && let Some(shift) = shifts.iter().find(|shift| !shift.is_finite())
            {
                return wrong("shift of an axis", format!("{metric}: {shift}"), "finite");
            }
        }
        let quantile = self.quantile.unwrap_or(0.01);
        if !(0.0..0.5).contains(&quantile) {
            return wrong(
                "quantile",
                quantile.to_string(),
                "at least 0, less than 0.5",
            );
        }
        let margin = self.margin.unwrap_or(0.05);
        if !(0.0..=1.0).contains(&margin) {
            return wrong("margin", margin.to_string(), "from 0 to 1");
        }
        Ok(Scale {
            dimensions: self.dimensions,
            mode: self.mode,
            quantile,
            margin,
        })
    }
}

/// Converts bursts to points, with parameters validated by [`ScaleParams::check`].
///
/// ```
/// use perf_core::{Job, Nanos};
/// use perf_track::{Burst, Bursts, Dimension, Scale, Thread};
/// // Instructions halve when the number of tasks doubles; the ratio does not change.
/// let experiment = |tasks: u32| {
///     let mut bursts = Bursts::new(["instructions", "ipc"]);
///     for task in 0..tasks {
///         let thread = bursts.add_thread(Thread { process: task, ..Default::default() })?;
///         let at = |ms: i64| Nanos(ms * 1_000_000);
///         for (begin, end, instructions, ipc) in [(0, 60, 8e9, 1.9), (60, 90, 4e8, 0.5)] {
///             let burst = Burst { thread, begin: at(begin), end: at(end), ..Default::default() };
///             bursts.push(burst, &[instructions / f64::from(tasks), ipc])?;
///         }
///     }
///     Ok::<_, perf_track::Error>(bursts)
/// };
/// let (few, many) = (experiment(2)?, experiment(4)?);
/// let scale = Scale::params()
///     .dimension(Dimension::new("instructions").log(true))
///     .dimension(Dimension::new("ipc"))
///     .check()?;
/// let scaled = scale.fit(&[&few, &many], &Job::default())?;
/// let axis = &scaled.transform.axes()[0];
/// assert!((axis.experiments[1].shift + 2_f64.ln()).abs() < 1e-6);
/// // In the common space the first bursts of both experiments coincide.
/// let (a, b) = (scaled.experiments[0].points()?, scaled.experiments[1].points()?);
/// assert!((a.get(0).unwrap()[0] - b.get(0).unwrap()[0]).abs() < 1e-6);
/// // And back.
/// let raw = scaled.transform.invert(1, b.get(0).unwrap()).expect("there is such an experiment");
/// assert!((raw[0] / 2e9 - 1.0).abs() < 1e-12);
/// # Ok::<(), perf_track::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Scale {
    /// Axes.
    pub(super) dimensions: Vec<Dimension>,
    /// Method for the ranges.
    pub(super) mode: ScaleMode,
    /// Quantile of the ranges.
    pub(super) quantile: f64,
    /// Margin of a fitted shift.
    pub(super) margin: f64,
}

impl Scale {
    /// Returns parameters with their default values.
    pub fn params() -> ScaleParams {
        ScaleParams::default()
    }
}
