//! [`Transform`]: fitted axes of a space of points ([`TransformAxis`]), with shift and range by
//! experiment ([`ExperimentAxis`]), which convert the metrics of a burst to coordinates and back.

/// Parameters of an axis for one experiment.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ExperimentAxis {
    /// Displacement of the values of the experiment from those of the first one, in units of the
    /// axis; on a logarithmic axis the logarithm of a factor.
    pub shift: f64,
    /// Fraction of the time that overlaps between the experiment and the first one with this shift; 1
    /// if no shift was fitted.
    pub overlap: f64,
    /// Fraction of the time that overlaps without the shift; 1 if no shift was fitted.
    pub overlap_unshifted: f64,
    /// Value (after the logarithm and the shift) that becomes 0.
    pub low: f64,
    /// Value (after the logarithm and the shift) that becomes the factor of the axis.
    pub high: f64,
}

impl ExperimentAxis {
    /// Returns `true` if all values are equal, with which all coordinates are 0.
    pub fn is_constant(&self) -> bool {
        self.high <= self.low
    }
}

/// One axis of a [`Transform`].
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct TransformAxis {
    /// Name of the metric.
    pub metric: String,
    /// Unit of the metric.
    pub unit: String,
    /// `true` if the natural logarithm is taken first.
    pub log: bool,
    /// Length to which the range is scaled.
    pub factor: f64,
    /// Parameters for each experiment.
    pub experiments: Vec<ExperimentAxis>,
}

/// Conversion between metrics and coordinates. With `y` the metric or its natural logarithm, the
/// coordinate is `x = factor (y - shift - low) / (high - low)`, where `low` and `high` belong to the
/// experiment or, in [`ScaleMode::Joint`](super::ScaleMode::Joint), are common to all experiments. On a
/// constant axis `x = 0`.
///
/// ```
/// use perf_track::{ExperimentAxis, Transform, TransformAxis};
/// // Logarithmic from 1 to 10.
/// let experiment = ExperimentAxis { shift: 0.0, overlap: 1.0, overlap_unshifted: 1.0, low: 0.0, high: 10f64.ln() };
/// let (metric, experiments) = ("instructions".into(), vec![experiment]);
/// let axis = TransformAxis { metric, unit: String::new(), log: true, factor: 1.0, experiments };
/// let transform = Transform::new(vec![axis]);
/// let at = transform.apply(0, &[100.0]).expect("it has a logarithm");
/// assert!((at[0] - 2.0).abs() < 1e-12);
/// assert!((transform.invert(0, &at).expect("there is one experiment")[0] - 100.0).abs() < 1e-9);
/// assert_eq!(transform.apply(0, &[-1.0]), None);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Transform {
    /// Axes.
    pub(super) axes: Vec<TransformAxis>,
}

impl Transform {
    /// Creates a transform from axes whose ranges were computed elsewhere, such as over the bursts
    /// of several ranks of a parallel program.
    pub fn new(axes: Vec<TransformAxis>) -> Self {
        Transform { axes }
    }

    /// Returns the axes.
    pub fn axes(&self) -> &[TransformAxis] {
        &self.axes
    }

    /// Converts metrics of an experiment to coordinates, one for each dimension. `None` for an
    /// experiment that does not exist, a wrong number of values, or a value that is not finite or
    /// has no logarithm.
    pub fn apply(&self, experiment: usize, metrics: &[f64]) -> Option<Vec<f64>> {
        if metrics.len() != self.axes.len() {
            return None;
        }
        let each = self.axes.iter().zip(metrics);
        each.map(|(axis, &value)| {
            let of = axis.experiments.get(experiment)?;
            let y = if axis.log { value.ln() } else { value };
            y.is_finite().then(|| axis.place(of, y))
        })
        .collect()
    }

    /// Converts coordinates to metrics, one for each dimension. `None` for an experiment that does
    /// not exist or a wrong number of coordinates.
    pub fn invert(&self, experiment: usize, coordinates: &[f64]) -> Option<Vec<f64>> {
        if coordinates.len() != self.axes.len() {
            return None;
        }
        let each = self.axes.iter().zip(coordinates);
        each.map(|(axis, x)| {
            let of = axis.experiments.get(experiment)?;
            let span = if of.is_constant() {
                0.0
            } else {
                of.high - of.low
            };
            let y = x / axis.factor * span + of.low + of.shift;
            Some(if axis.log { y.exp() } else { y })
        })
        .collect()
    }
}

impl TransformAxis {
    /// Returns the coordinate of a value after the logarithm.
    pub(super) fn place(&self, of: &ExperimentAxis, y: f64) -> f64 {
        if of.is_constant() {
            return 0.0;
        }
        self.factor * (y - of.shift - of.low) / (of.high - of.low)
    }
}
