//! [`Series`]: a counter of one location as a step function of time, and its values in columns of
//! time as [`CounterCell`]s.

use crate::states::sampling;
use perf_core::{LocationId, Ticks, TimeRange};
use std::sync::Arc;

/// Step function: value `i` holds from time `i` to time `i + 1`. There is one more time than there
/// are values. NaN stands for no value.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Steps {
    /// Times in ascending order.
    pub(crate) times: Vec<Ticks>,
    /// Values between the times.
    pub(crate) values: Vec<f64>,
}

impl Steps {
    /// Adds a value that holds from the end of the last value to `until`. The first call only sets the
    /// begin.
    pub(crate) fn until(&mut self, until: Ticks, value: f64) {
        if self.times.last().is_some_and(|last| *last < until) {
            self.values.push(value);
            self.times.push(until);
        } else if self.times.is_empty() {
            self.times.push(until);
        }
    }

    /// Returns the steps that touch `window`, cut to it.
    pub(crate) fn pieces(&self, window: TimeRange) -> impl Iterator<Item = (TimeRange, f64)> + '_ {
        let passed = self.times.partition_point(|time| *time <= window.start);
        let ends = self.times.windows(2).zip(&self.values);
        let touching = ends.skip(passed.saturating_sub(1));
        touching.map_while(move |(ends, value)| {
            let start = ends[0].max(window.start);
            let end = ends[1].min(window.end);
            (start < window.end).then_some((TimeRange { start, end }, *value))
        })
    }

    /// Returns the value at a time, or `None` without a value.
    fn at(&self, at: Ticks) -> Option<f64> {
        let passed = self.times.partition_point(|time| *time <= at);
        let value = self.values.get(passed.checked_sub(1)?).copied();
        value.filter(|value| !value.is_nan())
    }

    /// Returns integral, covered time, least and largest value of each interval between `edges`.
    fn sums(&self, edges: &[Ticks]) -> Vec<Sum> {
        let mut sums = vec![Sum::default(); edges.len().saturating_sub(1)];
        let (Some(first), Some(last)) = (edges.first(), edges.last()) else {
            return sums;
        };
        let window = TimeRange {
            start: *first,
            end: *last,
        };
        let mut column = 0;
        for (piece, value) in self.pieces(window) {
            if value.is_nan() {
                continue;
            }
            let mut at = piece.start;
            while at < piece.end {
                while edges.get(column + 1).is_some_and(|edge| *edge <= at) {
                    column += 1;
                }
                let (Some(sum), Some(edge)) = (sums.get_mut(column), edges.get(column + 1)) else {
                    break;
                };
                let end = piece.end.min(*edge);
                sum.add(value, end.saturating_since(at) as f64);
                at = end;
            }
        }
        // A column between two ticks has the value at its tick.
        for (sum, ends) in sums.iter_mut().zip(edges.windows(2)) {
            if ends[0] == ends[1]
                && let Some(value) = self.at(ends[0])
            {
                sum.add(value, 1.0);
            }
        }
        sums
    }
}

/// Sum over one interval.
#[derive(Clone, Copy, Debug)]
struct Sum {
    /// Integral of the value over the covered time.
    integral: f64,
    /// Covered time in ticks.
    time: f64,
    /// Least value.
    least: f64,
    /// Largest value.
    largest: f64,
}

impl Default for Sum {
    fn default() -> Self {
        Sum {
            integral: 0.0,
            time: 0.0,
            least: f64::INFINITY,
            largest: f64::NEG_INFINITY,
        }
    }
}

impl Sum {
    fn add(&mut self, value: f64, time: f64) {
        self.integral += value * time;
        self.time += time;
        self.least = self.least.min(value);
        self.largest = self.largest.max(value);
    }
}

/// Values of a counter in one column. All are NaN where the counter has no value.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct CounterCell {
    /// Mean over the time in which the counter has a value. For a ratio: the ratio of both integrals
    /// over the column.
    pub mean: f64,
    /// Least value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
}

impl CounterCell {
    /// Cell without a value.
    pub(crate) const EMPTY: CounterCell = CounterCell {
        mean: f64::NAN,
        min: f64::NAN,
        max: f64::NAN,
    };
}

/// Counter of one location over time.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Series {
    /// Location that the counter describes.
    pub location: LocationId,
    /// Label of the location.
    pub label: String,
    /// Number of samples.
    pub samples: u64,
    /// Values; for a ratio the dividend.
    pub(crate) steps: Arc<Steps>,
    /// Divisor of a ratio.
    pub(crate) divisor: Option<Arc<Steps>>,
}

impl Series {
    /// Returns the steps of the counter that touch `window` as intervals and values, cut to the
    /// window. Intervals without a value are skipped. A ratio has the steps of its dividend; the
    /// value of each is the ratio over the interval.
    pub fn steps(&self, window: TimeRange) -> Vec<(TimeRange, f64)> {
        let pieces = self
            .steps
            .pieces(window)
            .filter(|(_, value)| !value.is_nan());
        let Some(divisor) = &self.divisor else {
            return pieces.collect();
        };
        let ratio = |(piece, value): (TimeRange, f64)| {
            let sum = divisor.sums(&[piece.start, piece.end]);
            let below = sum.first().filter(|sum| sum.integral != 0.0)?;
            Some((piece, value * piece.len() as f64 / below.integral))
        };
        pieces.filter_map(ratio).collect()
    }

    /// Returns the values in `columns` columns of equal width, with the edges of
    /// [`Fold::edges`](crate::Fold::edges).
    pub fn cells(&self, window: TimeRange, columns: usize) -> Vec<CounterCell> {
        let mut edges = Vec::new();
        sampling::edges(window, columns, &mut edges);
        self.between(&edges)
    }

    /// Returns the values in the columns between ascending times.
    fn between(&self, edges: &[Ticks]) -> Vec<CounterCell> {
        let own = self.steps.sums(edges);
        let Some(divisor) = &self.divisor else {
            let cell = |sum: &Sum| match sum.time {
                time if time > 0.0 => CounterCell {
                    mean: sum.integral / time,
                    min: sum.least,
                    max: sum.largest,
                },
                _ => CounterCell::EMPTY,
            };
            return own.iter().map(cell).collect();
        };
        let below = divisor.sums(edges);
        let cell = |(own, below): (&Sum, &Sum)| {
            let ratio = own.integral / below.integral;
            if own.time > 0.0 && ratio.is_finite() {
                CounterCell {
                    mean: ratio,
                    min: ratio,
                    max: ratio,
                }
            } else {
                CounterCell::EMPTY
            }
        };
        own.iter().zip(&below).map(cell).collect()
    }

    /// Returns the mean, least and largest value over a window.
    pub fn over(&self, window: TimeRange) -> CounterCell {
        let all = self.between(&[window.start, window.end]);
        all.first().copied().unwrap_or(CounterCell::EMPTY)
    }
}
