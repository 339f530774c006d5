//! [`Histogram`]: counts in bins of equal width over the range of the data, with merging, statistics and byte
//! encoding, for the strict detectors; [`Bin`]: place of a value.

use super::overlap::spread;
use crate::Result;
use crate::format_version::{Reader, Writer};
use perf_core::Merge;

/// Distance of the first edge below the smallest value, in bins: lower edges are exclusive.
const SHIFT: f64 = 1e-6;
/// Largest number of bins derived from a width. If Scott's width would yield more bins, Chimbuko
/// stops with an error; here the width is increased.
const MOST_BINS: f64 = 50_000.0;
/// Largest absolute value; sums of powers of larger values may overflow.
const LARGEST: f64 = 1e90;
/// Upper bound of the total count, far more than the calls of a thousand years.
const MOST_COUNTS: u64 = 1 << 53;

/// Rule for the width of bins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Width {
    /// This number of bins over the range.
    Bins(u16),
    /// Scott's rule, `3.5 s n^(-1/3)`.
    #[default]
    Scott,
}

/// Bin of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub enum Bin {
    /// Below the first bin.
    Left,
    /// In the bin of this index.
    Inside(usize),
    /// Above the last bin.
    Right,
}

/// Counts in bins of equal width from the smallest to the largest value; lower edges are exclusive,
/// upper ones inclusive.
///
/// A merge creates new bins over the union of both ranges, and distributes the count of each old
/// bin over them in proportion to the overlap, in whole counts. The total is kept; each merge blurs
/// the shape slightly. Merging is commutative, but associative only in the total.
///
/// ```
/// use perf_anomaly::{Bin, Histogram};
/// let histogram = Histogram::from_counts(vec![1, 2, 0, 4], 0.1, 0.1, 0.1, 0.5).expect("they fit");
/// assert_eq!(histogram.bin(0.2, 0.0), Bin::Inside(0));
/// assert_eq!(histogram.bin(0.20001, 0.0), Bin::Inside(1));
/// assert_eq!(histogram.bin(0.6, 0.05), Bin::Right);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Histogram {
    /// Count of each bin.
    counts: Vec<u64>,
    /// Lower edge of the first bin.
    start: f64,
    /// Width of a bin.
    width: f64,
    /// Smallest value.
    min: f64,
    /// Largest value.
    max: f64,
    /// Rule for the width.
    #[cfg_attr(feature = "serde", serde(skip))]
    rule: Width,
}

impl Histogram {
    /// Returns the heap memory in bytes.
    pub(crate) fn heap(&self) -> usize {
        self.counts.capacity() * size_of::<u64>()
    }

    /// Creates a histogram from `counts` in bins of `width`, for values from `min` to `max`. The
    /// first bin begins at `start`.
    ///
    /// Returns `None` unless `min` lies in the first bin, `max` is the upper edge of the last one
    /// (within 1e-8 of a bin), all numbers are within 1e90, and the total count is below 2^53.
    pub fn from_counts(
        counts: Vec<u64>,
        start: f64,
        width: f64,
        min: f64,
        max: f64,
    ) -> Option<Self> {
        let end = start + counts.len() as f64 * width;
        let total = counts
            .iter()
            .try_fold(0_u64, |sum, count| sum.checked_add(*count));
        // Written so that NaN yields false.
        let sound = !counts.is_empty()
            && total.is_some_and(|total| total < MOST_COUNTS)
            && [start, width, min, max]
                .iter()
                .all(|value| value.abs() <= LARGEST)
            && width > 0.0
            && start <= min
            && min <= start + width
            && min <= max
            && (end - max).abs() <= 1e-8 * width;
        sound.then_some(Histogram {
            counts,
            start,
            width,
            min,
            max,
            rule: Width::Scott,
        })
    }

    /// Creates a histogram of `values` with bins of the width of Scott's rule, `3.5 s n^(-1/3)`, or
    /// wider bins if that would need more than 50,000. Values whose magnitude exceeds 1e90 are
    /// dropped. The histogram is empty without values.
    pub fn scott(values: &[f64]) -> Self {
        Self::new(values, Width::Scott)
    }

    /// Creates a histogram of `values` in `bins` bins over their range; at least 1 bin. Values
    /// whose magnitude exceeds 1e90 are dropped. The histogram is empty without values.
    pub fn with_bins(values: &[f64], bins: u16) -> Self {
        Self::new(values, Width::Bins(bins.max(1)))
    }

    /// Creates a histogram of `values` in bins of about `width`, or in 50,000 wider bins if `width`
    /// would need more or is invalid. Values whose magnitude exceeds 1e90 are dropped. The
    /// histogram is empty without values.
    pub fn with_width(values: &[f64], width: f64) -> Self {
        Self::make(values, Width::Scott, |_, _| width)
    }

    pub(crate) fn new(values: &[f64], rule: Width) -> Self {
        Self::make(values, rule, |min, max| match rule {
            Width::Bins(bins) => of_bins(bins, min, max),
            Width::Scott => {
                let n = counted(values).count() as f64;
                let mean = counted(values).sum::<f64>() / n;
                let squares = counted(values).map(|value| (value - mean).powi(2));
                scott(squares.sum::<f64>() / n, n)
            }
        })
    }

    fn make(values: &[f64], rule: Width, width: impl Fn(f64, f64) -> f64) -> Self {
        let Some(first) = counted(values).next() else {
            return Self::default();
        };
        let min = counted(values).fold(first, f64::min);
        let max = counted(values).fold(first, f64::max);
        if min == max {
            let width = hair(first);
            return Histogram {
                counts: vec![counted(values).count() as u64],
                start: first - width,
                width,
                min,
                max,
                rule,
            };
        }
        let mut width = width(min, max);
        let most = match rule {
            Width::Bins(bins) => f64::from(bins),
            Width::Scott => MOST_BINS,
        };
        // Written so that NaN yields false.
        if !(width > 0.0 && width <= LARGEST && (max - min) / width <= most) {
            width = ((max - min) / most).max(hair(max));
        }
        let start = min - SHIFT * width;
        // The last upper edge is the largest value.
        let bins = ((max - start) / width).ceil();
        let mut histogram = Histogram {
            counts: vec![0; bins as usize],
            start,
            width: (max - start) / bins,
            min,
            max,
            rule,
        };
        let last = histogram.counts.len().saturating_sub(1);
        for value in counted(values) {
            // If rounding leaves no margin below the smallest value, it belongs to the first bin.
            let bin = match histogram.bin(value, 0.0) {
                Bin::Left => 0,
                Bin::Inside(bin) => bin,
                Bin::Right => last,
            };
            if let Some(count) = histogram.counts.get_mut(bin) {
                *count += 1;
            }
        }
        histogram
    }

    /// Returns the count of each bin.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Returns the number of values.
    pub fn total(&self) -> u64 {
        let counts = self.counts.iter();
        counts.fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Returns `true` if there are no bins.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Returns the smallest value, 0 without values.
    pub fn min(&self) -> f64 {
        self.min
    }

    /// Returns the largest value, 0 without values.
    pub fn max(&self) -> f64 {
        self.max
    }

    /// Returns the width of a bin.
    pub fn bin_width(&self) -> f64 {
        self.width
    }

    /// Returns the midpoint of a bin, which represents its values.
    pub fn middle(&self, bin: usize) -> f64 {
        self.start + (bin as f64 + 0.5) * self.width
    }

    /// Returns the lower and upper edge of a bin. The upper edge of the last bin is the largest
    /// value.
    pub(crate) fn edges(&self, bin: usize) -> (f64, f64) {
        let lower = self.start + bin as f64 * self.width;
        if bin + 1 == self.counts.len() {
            (lower, self.max)
        } else {
            (lower, lower + self.width)
        }
    }

    /// Returns the bin of a value. Values up to `tolerance` bins outside of the range are in the
    /// first or last bin.
    pub fn bin(&self, value: f64, tolerance: f64) -> Bin {
        let last = self.counts.len().saturating_sub(1);
        let outside = tolerance * self.width;
        if self.counts.is_empty() || value <= self.start - outside {
            return Bin::Left;
        } else if value > self.max + outside {
            return Bin::Right;
        } else if value <= self.start {
            return Bin::Inside(0);
        } else if value >= self.max {
            return Bin::Inside(last);
        }
        let bin = ((value - self.start) / self.width).floor();
        // Edges are computed by multiplication, and belong to the bin below.
        let below = value <= self.start + bin * self.width;
        Bin::Inside((bin as usize - usize::from(below && bin > 0.0)).min(last))
    }

    /// Returns the number of values at or below `value`: the empirical distribution times the
    /// total. Values are assumed to be distributed evenly within a bin. `below` is the result of
    /// [`Self::sums`].
    pub(crate) fn at_most(&self, value: f64, below: &[u64]) -> f64 {
        let all = below.last().copied().unwrap_or_default() as f64;
        if self.min == self.max {
            return if value >= self.max { all } else { 0.0 };
        }
        let (bin, value) = match self.bin(value, 0.0) {
            Bin::Left => return 0.0,
            Bin::Inside(bin) => (bin, value),
            Bin::Right => (self.counts.len() - 1, self.max),
        };
        let (lower, upper) = self.edges(bin);
        let count = self.counts[bin] as f64;
        let sum = below[bin] as f64;
        sum + (value - lower) / (upper - lower) * count
    }

    /// Returns the cumulative counts below each bin, and the total.
    pub(crate) fn sums(&self) -> Vec<u64> {
        let mut sum = 0_u64;
        let mut sums = vec![0];
        sums.extend(self.counts.iter().map(|count| {
            sum = sum.saturating_add(*count);
            sum
        }));
        sums
    }

    /// Returns the fraction of the values at or below `value`, in `0.0..=1.0`. It is linear within
    /// a bin, and 0 for an empty histogram.
    pub fn distribution(&self, value: f64) -> f64 {
        match self.total() {
            0 => 0.0,
            total => self.at_most(value, &self.sums()) / total as f64,
        }
    }

    /// Returns the histogram of the negated values.
    pub fn negated(&self) -> Self {
        let mut negated = self.clone();
        negated.counts.reverse();
        (negated.min, negated.max) = (-self.max, -self.min);
        negated.start = negated.min - SHIFT * self.width;
        negated
    }

    /// Returns the skewness of the midpoints of the bins, times `n / (n - 1)`. NaN for equal
    /// values.
    pub fn skewness(&self) -> f64 {
        let (mut n, mut x, mut x2, mut x3) = (0.0, 0.0, 0.0, 0.0);
        for (bin, &count) in self.counts.iter().enumerate() {
            let (value, count) = (self.middle(bin), count as f64);
            x3 += count * value.powf(3.0);
            x2 += count * value.powf(2.0);
            x += count * value;
            n += count;
        }
        let (x, x2, x3) = (x / n, x2 / n, x3 / n);
        let variance = x2 - x * x;
        let third = x3 - 3.0 * x2 * x + 2.0 * x.powf(3.0);
        n / (n - 1.0) * third / variance.powf(1.5)
    }

    /// Returns the median, within half a bin.
    pub(crate) fn median(&self) -> f64 {
        let half = self.total().div_ceil(2);
        let mut sum = 0_u64;
        let bin = self.counts.iter().position(|count| {
            sum = sum.saturating_add(*count);
            sum >= half
        });
        bin.map_or(0.0, |bin| self.middle(bin).clamp(self.min, self.max))
    }

    pub(crate) fn encode(&self, to: &mut Writer) {
        for value in [self.start, self.width, self.min, self.max] {
            to.f64(value);
        }
        to.u16(match self.rule {
            Width::Scott => 0,
            Width::Bins(bins) => bins,
        });
        to.u32(self.counts.len() as u32);
        for count in &self.counts {
            to.varint(*count);
        }
    }

    pub(crate) fn decode(from: &mut Reader<'_>) -> Result<Self> {
        let mut values = [0.0; 4];
        for value in &mut values {
            *value = from.f64("edges of a histogram")?;
        }
        let rule = match from.u16("a number of bins")? {
            0 => Width::Scott,
            bins => Width::Bins(bins),
        };
        let bins = from.count(1, "a number of bins that fits the remaining bytes")?;
        let mut counts = Vec::with_capacity(bins);
        let mut total = 0_u64;
        for _ in 0..bins {
            let count = from.varint("the count of a bin")?;
            total = match total.checked_add(count) {
                Some(total) if total < MOST_COUNTS => total,
                _ => {
                    return Err(from
                        .error(1, "counts that are less than 2^53 in sum")
                        .into());
                }
            };
            counts.push(count);
        }
        let [start, width, min, max] = values;
        let histogram = if counts.is_empty() {
            Some(Self::default())
        } else {
            Self::from_counts(counts, start, width, min, max)
        };
        let histogram = histogram.ok_or_else(|| from.error(0, "a histogram with fitting edges"))?;
        Ok(Histogram { rule, ..histogram })
    }
}

impl Merge for Histogram {
    fn merge(&mut self, other: &Self) {
        if other.is_empty() {
            return;
        }
        if self.is_empty() {
            *self = other.clone();
            return;
        }
        let min = self.min.min(other.min);
        let max = self.max.max(other.max);
        let mut width = match other.rule {
            Width::Bins(bins) => of_bins(bins, min, max),
            Width::Scott => scott_of(self, other),
        };
        let too_fine = |width: f64| width <= 0.0 || (max - min) / width > MOST_BINS;
        if too_fine(width) {
            width = self.width.min(other.width);
            if too_fine(width) {
                width = ((max - min) / MOST_BINS).max(hair(max));
            }
        }
        let mut start = min - SHIFT * width;
        if start == max {
            // All values are equal, and rounding removed the margin below them.
            start = min - width;
            if start == max {
                width = if min == 0.0 { 1e-6 } else { 1e-6 * min.abs() };
                start = min - width;
            }
        }
        let bins = ((max - start) / width).ceil().max(1.0);
        let mut merged = Histogram {
            counts: vec![0; bins as usize],
            start,
            width: (max - start) / bins,
            min,
            max,
            rule: other.rule,
        };
        for source in [&*self, other] {
            spread(source, &mut merged);
        }
        *self = merged;
    }
}

impl Histogram {
    pub(crate) fn counts_mut(&mut self) -> &mut [u64] {
        &mut self.counts
    }
}

/// Returns the values that a histogram accepts.
fn counted(values: &[f64]) -> impl Iterator<Item = f64> {
    let values = values.iter().copied();
    values.filter(|value| value.abs() <= LARGEST)
}

/// Returns the width for `bins` bins, with a margin for the shifted first edge and for rounding.
fn of_bins(bins: u16, min: f64, max: f64) -> f64 {
    (max - min) / (f64::from(bins) - SHIFT - 0.001)
}

fn scott(variance: f64, n: f64) -> f64 {
    3.5 * variance.sqrt() / n.powf(1.0 / 3.0)
}

/// Returns Scott's width for the values of both histograms, represented by the midpoints of the
/// bins.
fn scott_of(one: &Histogram, other: &Histogram) -> f64 {
    let (mut n, mut x, mut x2) = (0.0, 0.0, 0.0);
    for histogram in [one, other] {
        for (bin, &count) in histogram.counts.iter().enumerate() {
            let (value, count) = (histogram.middle(bin), count as f64);
            n += count;
            x += count * value;
            x2 += count * value * value;
        }
    }
    let (x, x2) = (x / n, x2 / n);
    scott((x2 - x * x).max(0.0), n)
}

/// Returns the width of the only bin of equal values.
fn hair(value: f64) -> f64 {
    match 1e-12 * value.abs() {
        0.0 => 1e-12,
        width => width,
    }
}
