//! [`Axis`]: range of values along a line of pixels, with ticks at round numbers; [`Unit`]: unit of
//! its numbers.

use crate::number;

/// Unit of the numbers of an axis.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unit {
    /// Nanoseconds, written with a prefix that fits the value.
    Nanos,
    /// Bytes.
    Bytes,
    /// Fraction of 1, written as a percentage.
    Share,
    /// Number without a unit.
    #[default]
    Number,
    /// Any other unit, written with SI prefixes.
    Other(String),
}

impl Unit {
    /// Formats a value with its unit.
    ///
    /// ```
    /// use perf_view::Unit;
    /// assert_eq!(Unit::Nanos.write(2_500_000.0), "2.50 ms");
    /// assert_eq!(Unit::Other("Hz".into()).write(2.5e9), "2.50 GHz");
    /// ```
    pub fn write(&self, value: f64) -> String {
        match self {
            Unit::Nanos => number::time(value),
            Unit::Bytes => number::bytes(value),
            Unit::Share => number::percent(value),
            Unit::Number => number::short(value, ""),
            Unit::Other(unit) => number::short(value, unit),
        }
    }
}

/// Range of values along a line of pixels.
///
/// ```
/// use perf_view::{Axis, Unit};
/// let axis = Axis::over([3.0, 97.0], Unit::Number);
/// assert_eq!(axis.ticks(5).iter().map(|tick| tick.0).collect::<Vec<_>>(), [20.0, 40.0, 60.0, 80.0]);
/// assert_eq!(axis.share(50.0), 0.5);
/// // The labels have as many digits as are needed to distinguish ticks.
/// let axis = Axis::over([2.0, 2.02], Unit::Number);
/// assert_eq!(axis.ticks(4)[1].1, "2.005");
/// // A single tick is avoided if more are wanted.
/// assert_eq!(Axis::over([245.6, 254.6], Unit::Number).ticks(4).len(), 5);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Value at the first end.
    pub low: f64,
    /// Value at the other end, above `low`.
    pub high: f64,
    /// Unit of the values.
    pub unit: Unit,
}

impl Axis {
    /// Creates an axis between two values. A range without width is widened by 0.5 on each side. If
    /// `low` is not finite, the range is 0 to 1.
    pub fn over([low, high]: [f64; 2], unit: Unit) -> Self {
        let (low, high) = match (low.is_finite(), high.is_finite()) {
            (true, true) if low < high => (low, high),
            (true, _) => (low - 0.5, low + 0.5),
            _ => (0.0, 1.0),
        };
        Axis { low, high, unit }
    }

    /// Creates an axis around all finite values, with a margin of 4 %.
    pub fn around(values: impl IntoIterator<Item = f64>, unit: Unit) -> Self {
        let finite = values.into_iter().filter(|value| value.is_finite());
        let start = (f64::INFINITY, f64::NEG_INFINITY);
        let (low, high) = finite.fold(start, |(low, high), v| (low.min(v), high.max(v)));
        let margin = 0.04 * (high - low);
        Self::over([low - margin, high + margin], unit)
    }

    /// Returns the position of a value along the axis: 0 at `low`, 1 at `high`.
    pub fn share(&self, value: f64) -> f64 {
        (value - self.low) / (self.high - self.low)
    }

    /// Returns about `most` round values inside the range with their labels. If there would be
    /// fewer than two values and `most` is larger than 1, the next finer step is used.
    pub fn ticks(&self, most: usize) -> Vec<(f64, String)> {
        let span = self.high - self.low;
        let base = match self.unit {
            // Byte values are round in powers of two.
            Unit::Bytes => 2.0_f64,
            _ => 10.0,
        };
        let rough = span / most.max(1) as f64;
        let decade = base.powf(rough.log(base).floor());
        let factors: &[f64] = match self.unit {
            Unit::Bytes => &[1.0, 2.0],
            _ => &[1.0, 2.0, 5.0, 10.0],
        };
        let steps: Vec<f64> = factors.iter().map(|f| f * decade).collect();
        let fit = steps.iter().position(|step| *step >= rough * 0.999);
        let step = fit.map_or(rough, |at| steps[at]);
        if !(step > 0.0 && step.is_finite()) {
            return Vec::new();
        }
        let inside = |step: f64| {
            let first = (self.low / step).ceil();
            let count = ((self.high / step).floor() - first).clamp(-1.0, 1000.0) as i64 + 1;
            (first, count)
        };
        // A single label does not show the scale of the axis.
        let finer = fit.and_then(|at| steps.get(at.checked_sub(1)?).copied());
        let step = match finer {
            Some(finer) if most > 1 && inside(step).1 < 2 => finer,
            _ => step,
        };
        let (first, count) = inside(step);
        let values = (0..count).map(|at| (first + at as f64) * step);
        // Rounding errors must not turn the tick at 0 into a tiny number.
        let values = values.map(|value| {
            if value.abs() < step * 1e-9 {
                0.0
            } else {
                value
            }
        });
        values
            .map(|value| (value, self.label(value, step)))
            .collect()
    }

    /// Formats a label with the prefix that all ticks of the axis share.
    fn prefixed(&self, value: f64, step: f64, unit: &str) -> String {
        let (scale, prefix) = number::prefix(self.low.abs().max(self.high.abs()), unit);
        let places = (-(step / scale).log10() - 1e-9).ceil().clamp(0.0, 9.0) as usize;
        if value == 0.0 {
            "0".into()
        } else {
            format!("{:.places$} {prefix}{unit}", value / scale)
                .trim_end()
                .to_string()
        }
    }

    /// Formats a tick label with as many digits as the step needs to distinguish ticks.
    fn label(&self, value: f64, step: f64) -> String {
        let (scale, unit) = match &self.unit {
            Unit::Nanos => number::time_unit(step, self.low.abs().max(self.high.abs())),
            Unit::Share => (0.01, "%"),
            Unit::Bytes => return self.unit.write(value),
            Unit::Number => return self.prefixed(value, step, ""),
            Unit::Other(unit) => return self.prefixed(value, step, unit),
        };
        let places = (-(step / scale).log10() - 1e-9).ceil().clamp(0.0, 9.0) as usize;
        format!("{} {unit}", number::grouped(value / scale, places))
    }
}
