//! [`Transform`]: from metrics to coordinates and back.

/// What a frame adds to an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct FrameAxis {
    /// How far the values of the frame lie from those of the first one, in units of the axis; of a
    /// logarithmic axis the logarithm of a factor.
    pub shift: f64,
    /// Share of the time of the frame and the first one that overlaps with this shift, and
    /// without; 1 where nothing was fitted.
    pub overlap: f64,
    /// As `overlap`, without the shift.
    pub overlap_unshifted: f64,
    /// The value (after the logarithm and the shift) that becomes 0.
    pub low: f64,
    /// The value that becomes the factor of the axis.
    pub high: f64,
}

impl FrameAxis {
    /// Whether all values are one, which has the coordinate 0.
    pub fn is_constant(&self) -> bool {
        self.high <= self.low
    }
}

/// One axis of a [`Transform`].
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct TransformAxis {
    /// The metric.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// Whether its natural logarithm is taken first.
    pub log: bool,
    /// What the range is stretched to.
    pub factor: f64,
    /// What holds for each frame.
    pub frames: Vec<FrameAxis>,
}

/// From metrics to coordinates and back: with `y` the metric or its natural logarithm,
/// `x = factor (y - shift - low) / (high - low)`, where `low` and `high` are those of the frame or,
/// in [`ScaleMode::Joint`](super::ScaleMode::Joint), the same for all. An axis that is constant has `x = 0`.
///
/// ```
/// use perf_track::{FrameAxis, Transform, TransformAxis};
/// // From 1 to 10 by the logarithm.
/// let frame = FrameAxis { shift: 0.0, overlap: 1.0, overlap_unshifted: 1.0, low: 0.0, high: 10f64.ln() };
/// let (metric, frames) = ("instructions".into(), vec![frame]);
/// let axis = TransformAxis { metric, unit: String::new(), log: true, factor: 1.0, frames };
/// let transform = Transform::new(vec![axis]);
/// let at = transform.apply(0, &[100.0]).expect("it has a logarithm");
/// assert!((at[0] - 2.0).abs() < 1e-12);
/// assert!((transform.invert(0, &at).expect("there is one frame")[0] - 100.0).abs() < 1e-9);
/// assert_eq!(transform.apply(0, &[-1.0]), None);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Transform {
    pub(super) axes: Vec<TransformAxis>,
}

impl Transform {
    /// A transform of these axes: for who found their ranges otherwise, such as over bursts that several
    /// ranks of a parallel program hold.
    pub fn new(axes: Vec<TransformAxis>) -> Self {
        Transform { axes }
    }

    /// The axes.
    pub fn axes(&self) -> &[TransformAxis] {
        &self.axes
    }

    /// The coordinates of metrics of a frame, one a dimension. `None` for a frame that is not
    /// there, not one value a dimension, or a value that is not finite or has no logarithm.
    pub fn apply(&self, frame: usize, metrics: &[f64]) -> Option<Vec<f64>> {
        if metrics.len() != self.axes.len() {
            return None;
        }
        let each = self.axes.iter().zip(metrics);
        each.map(|(axis, &value)| {
            let of = axis.frames.get(frame)?;
            let y = if axis.log { value.ln() } else { value };
            y.is_finite().then(|| axis.place(of, y))
        })
        .collect()
    }

    /// The metrics of coordinates, one a dimension. `None` for a frame that is not there or not
    /// one coordinate a dimension.
    pub fn invert(&self, frame: usize, coordinates: &[f64]) -> Option<Vec<f64>> {
        if coordinates.len() != self.axes.len() {
            return None;
        }
        let each = self.axes.iter().zip(coordinates);
        each.map(|(axis, x)| {
            let of = axis.frames.get(frame)?;
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
    /// The coordinate of a value after the logarithm.
    pub(super) fn place(&self, of: &FrameAxis, y: f64) -> f64 {
        if of.is_constant() {
            return 0.0;
        }
        self.factor * (y - of.shift - of.low) / (of.high - of.low)
    }
}
