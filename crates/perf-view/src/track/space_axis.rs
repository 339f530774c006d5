//! [`SpaceAxis`]: axis of the space of points, with the conversion from coordinates to metric
//! values, round values for ticks, and units of metrics.

use crate::{Axis, Unit};
use perf_track::TransformAxis;

/// Longest name of a unit, in characters, that is written after each number.
const BESIDE: usize = 3;

/// Returns the name of a metric. It is followed by the unit if the unit is too long to be written
/// after each number.
pub(super) fn with_unit(name: &str, unit: &str) -> String {
    if unit.chars().count() > BESIDE && unit != "bytes" {
        format!("{name} [{unit}]")
    } else {
        name.to_string()
    }
}

/// Returns the unit with this name for formatting numbers. A unit with a long name is not written
/// after numbers.
pub(super) fn unit(name: &str) -> Unit {
    match name {
        // OTF2 uses `#` as the unit of counts.
        "" | "#" => Unit::Number,
        "ns" => Unit::Nanos,
        "B" | "bytes" => Unit::Bytes,
        long if long.chars().count() > BESIDE => Unit::Number,
        other => Unit::Other(other.into()),
    }
}

/// Axis of the space of points. A coordinate `x` of an experiment stands for the value `a + b x`,
/// or for the exponential of this value if the axis is logarithmic.
#[derive(Clone, Debug)]
pub(super) struct SpaceAxis {
    /// Name of the metric.
    pub(super) name: String,
    /// Unit of the metric.
    pub(super) unit: String,
    /// `true` if the axis is logarithmic.
    pub(super) log: bool,
    /// `[a, b]` for each experiment.
    pub(super) experiments: Vec<[f64; 2]>,
}

impl SpaceAxis {
    pub(super) fn of(axis: &TransformAxis) -> Self {
        let experiments = axis.experiments.iter().map(|experiment| {
            let span = if experiment.is_constant() || axis.factor == 0.0 {
                0.0
            } else {
                (experiment.high - experiment.low) / axis.factor
            };
            [experiment.low + experiment.shift, span]
        });
        SpaceAxis {
            name: axis.metric.clone(),
            unit: axis.unit.clone(),
            log: axis.log,
            experiments: experiments.collect(),
        }
    }

    /// Returns the name of the axis. A logarithmic axis is marked as such.
    pub(super) fn title(&self) -> String {
        if self.log {
            format!("{}, logarithmic", with_unit(&self.name, &self.unit))
        } else {
            with_unit(&self.name, &self.unit)
        }
    }

    /// Returns the value at a coordinate of an experiment.
    pub(super) fn value(&self, experiment: usize, coordinate: f64) -> f64 {
        // An experiment without a range of its own has normalised coordinates.
        let [a, b] = self
            .experiments
            .get(experiment)
            .copied()
            .unwrap_or([0.0, 1.0]);
        let y = a + b * coordinate;
        if self.log { y.exp() } else { y }
    }

    /// Returns round values of an experiment between two coordinates, as coordinates and labels.
    pub(super) fn ticks(
        &self,
        experiment: usize,
        [low, high]: [f64; 2],
        most: usize,
    ) -> Vec<(f64, String)> {
        let unit = unit(&self.unit);
        // An experiment without a range of its own has normalised coordinates.
        let [a, b] = self
            .experiments
            .get(experiment)
            .copied()
            .unwrap_or([0.0, 1.0]);
        if b == 0.0 {
            return vec![(0.0, unit.write(self.value(experiment, 0.0)))];
        }
        let ends = [self.value(experiment, low), self.value(experiment, high)];
        let back = |value: f64| (if self.log { value.ln() } else { value } - a) / b;
        let values = if self.log && ends[0] > 0.0 && ends[1] > 3.0 * ends[0] {
            factors(ends, most)
                .into_iter()
                .map(|value| (value, unit.write(value)))
                .collect()
        } else {
            Axis::over(ends, unit).ticks(most)
        };
        values
            .into_iter()
            .map(|(value, label)| (back(value), label))
            .filter(|(at, _)| at.is_finite())
            .collect()
    }
}

/// Returns round values of a range over several decades. The factors in each decade are the densest
/// of 1-2-5, 1-3 and 1 with at most `most` values. If even 1 gives more values, decades are
/// skipped.
pub(super) fn factors([low, high]: [f64; 2], most: usize) -> Vec<f64> {
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let all = |steps: &[f64], every: i32| -> Vec<f64> {
        let decades = (first..=last).filter(|decade| decade % every.max(1) == 0);
        let values = decades.flat_map(|decade| {
            let scale = 10.0_f64.powi(decade);
            steps.iter().map(move |step| step * scale)
        });
        values.filter(|v| *v >= low && *v <= high).collect()
    };
    for steps in [&[1.0, 2.0, 5.0][..], &[1.0, 3.0], &[1.0]] {
        let found = all(steps, 1);
        if found.len() <= most.max(2) {
            return found;
        }
    }
    all(&[1.0], (last - first) / most.max(1) as i32 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_values_whatever_the_axis() {
        let axis = SpaceAxis {
            name: "instructions".into(),
            unit: String::new(),
            log: true,
            experiments: vec![[0.0, 10.0_f64.ln()], [2.0_f64.ln(), 10.0_f64.ln()]],
        };
        let labels = |experiment, ends| -> Vec<String> {
            let ticks = axis.ticks(experiment, ends, 5);
            ticks.into_iter().map(|tick| tick.1).collect()
        };
        assert_eq!(
            labels(0, [0.0, 2.0]),
            ["1.00", "3.00", "10.0", "30.0", "100"]
        );
        assert!((3..=5).contains(&labels(0, [0.0, 9.0]).len()));
        // The second experiment is shifted by a factor of 2, so the same value has another
        // coordinate.
        let place = |experiment: usize| {
            axis.ticks(experiment, [0.0, 2.0], 5)
                .into_iter()
                .find(|t| t.1 == "10.0")
        };
        let (first, second) = (place(0).expect("a tick").0, place(1).expect("a tick").0);
        assert!((first - 1.0).abs() < 1e-9 && (second - 0.698_97).abs() < 1e-5);
        let constant = SpaceAxis {
            experiments: vec![[3.0_f64.ln(), 0.0]],
            ..axis
        };
        assert_eq!(constant.ticks(0, [-1.0, 1.0], 5), [(0.0, "3.00".into())]);
    }
}
