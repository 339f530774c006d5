//! [`Moments`]: count, extremes and mean to kurtosis of values in one pass, mergeable up to rounding.

use crate::Result;
use crate::format_version::{Reader, Writer};
use perf_core::Merge;

/// Count, sum, extremes and the first four moments of values in any unit.
///
/// Central sums `M_p = sum (x - mean)^p` are updated in one pass and merged in pairs with the
/// formulas of Pebay (2008, Sandia report SAND2008-6212, equations 2.1 to 3.1). A merge of parts
/// equals the direct sums up to rounding, with a relative error of at most 1e-12 for parts of
/// similar spread.
///
/// ```
/// use perf_anomaly::Moments;
/// use perf_core::Merge;
/// let (left, right): (Moments, Moments) = ([1.0, 2.0].into_iter().collect(), [6.0].into_iter().collect());
/// let mut all = left;
/// all.merge(&right);
/// assert_eq!((all.count(), all.mean(), all.sum()), (3, 3.0, 9.0));
/// assert_eq!((all.min(), all.max()), (Some(1.0), Some(6.0)));
/// assert_eq!(all.variance(), 7.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Moments {
    /// Number of values.
    count: u64,
    /// Mean.
    mean: f64,
    /// Sum of squared deviations from the mean.
    m2: f64,
    /// Sum of cubed deviations from the mean.
    m3: f64,
    /// Sum of fourth powers of deviations from the mean.
    m4: f64,
    /// Sum of the values.
    sum: f64,
    /// Minimum; infinity without values.
    min: f64,
    /// Maximum; negative infinity without values.
    max: f64,
}

impl Default for Moments {
    fn default() -> Self {
        Moments {
            count: 0,
            mean: 0.0,
            m2: 0.0,
            m3: 0.0,
            m4: 0.0,
            sum: 0.0,
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
        }
    }
}

impl Moments {
    /// Creates moments of no values.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the moments of `count` equal values.
    pub(crate) fn repeated(value: f64, count: u64) -> Self {
        match count {
            0 => Self::default(),
            count => Moments {
                count: count.min(MAX_COUNT),
                mean: value,
                sum: value * count as f64,
                min: value,
                max: value,
                ..Self::default()
            },
        }
    }

    /// Increases the sum by `more` for the same number of values. The mean changes accordingly; the
    /// spread does not change.
    pub(crate) fn shifted(mut self, more: f64) -> Self {
        if self.count > 0 {
            self.sum += more;
            self.mean += more / self.count as f64;
        }
        self
    }

    /// Adds a value.
    pub fn push(&mut self, value: f64) {
        let before = self.count as f64;
        // Merged counts are below 2^53, and single calls never add as many again.
        self.count += 1;
        let n = self.count as f64;
        let delta = value - self.mean;
        let step = delta / n;
        let step2 = step * step;
        let spread = delta * step * before;
        self.mean += step;
        self.m4 +=
            spread * step2 * (n * n - 3.0 * n + 3.0) + 6.0 * step2 * self.m2 - 4.0 * step * self.m3;
        self.m3 += spread * step * (n - 2.0) - 3.0 * step * self.m2;
        self.m2 += spread;
        self.sum += value;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the sum of the values.
    pub fn sum(&self) -> f64 {
        self.sum
    }

    /// Returns the mean of the values, 0 without values.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Returns the minimum; `None` without values.
    pub fn min(&self) -> Option<f64> {
        (self.count > 0).then_some(self.min)
    }

    /// Returns the maximum; `None` without values.
    pub fn max(&self) -> Option<f64> {
        (self.count > 0).then_some(self.max)
    }

    /// Returns the sample variance, `M2 / (n - 1)`; 0 for fewer than two values.
    pub fn variance(&self) -> f64 {
        match self.count {
            0 | 1 => 0.0,
            count => self.m2 / (count - 1) as f64,
        }
    }

    /// Returns the square root of the [`variance`](Self::variance).
    pub fn std_dev(&self) -> f64 {
        self.variance().sqrt()
    }

    /// Returns the skewness `(M3 / n) / s^3` with `s^2 = M2 / n`, which is independent of the unit.
    /// 0 if all values are equal.
    pub fn skewness(&self) -> f64 {
        self.standard(self.m3, 3)
    }

    /// Returns the excess kurtosis `(M4 / n) / s^4 - 3`: 0 for a normal distribution, and if all
    /// values are equal.
    pub fn kurtosis(&self) -> f64 {
        if self.m2 > 0.0 {
            self.standard(self.m4, 4) - 3.0
        } else {
            0.0
        }
    }

    /// Returns a central moment in units of the spread. Divides by one power at a time, because the
    /// power itself may overflow for some units.
    fn standard(&self, moment: f64, order: u32) -> f64 {
        if self.m2 <= 0.0 {
            return 0.0;
        }
        let n = self.count as f64;
        let spread = (self.m2 / n).sqrt();
        (0..order).fold(moment / n, |value, _| value / spread)
    }

    /// Returns `true` if the values are at most `limit` in size, and the central sums are possible for at most 2^53 such
    /// values, so that merges of valid moments do not overflow for a limit up to 1e60.
    pub(crate) fn is_within(&self, limit: f64) -> bool {
        let values = [self.mean, self.min, self.max];
        let all = 2.0 * MAX_COUNT as f64;
        let spread = 2.0 * limit;
        let mut power = all * spread;
        let mut sums = [self.m2, self.m3, self.m4].into_iter();
        values.iter().all(|value| value.abs() <= limit)
            && self.sum.abs() <= all * limit
            && sums.all(|sum| {
                power *= spread;
                sum.abs() <= power
            })
    }

    fn bits(&self) -> [u64; 8] {
        let powers = [self.mean, self.m2, self.m3, self.m4].map(f64::to_bits);
        let [mean, m2, m3, m4] = powers;
        let [sum, min, max] = [self.sum, self.min, self.max].map(f64::to_bits);
        [self.count, mean, m2, m3, m4, sum, min, max]
    }

    /// Encodes the moments: the count, a flag byte for abbreviated fields, and the numbers in the
    /// order of the fields. Decoding restores every bit.
    ///
    /// Sums and extremes that are whole numbers are varints; the maximum is relative to the
    /// minimum. If all values are equal, one value is stored. The encoding takes one byte without
    /// values, 5 bytes for one call of some microseconds, and about 45 bytes for many calls.
    pub(crate) fn encode(&self, to: &mut Writer) {
        to.varint(self.count);
        if self.count == 0 {
            return;
        }
        if self.bits() == Self::repeated(self.min, self.count).bits() {
            let short = is_short(self.min);
            to.u8(SAME | if short { SHORT_MIN } else { 0 });
            return number(self.min, short, to);
        }
        let is_mean_known = self.mean.to_bits() == (self.sum / self.count as f64).to_bits();
        let is_range_short = is_short(self.min) && is_short(self.max);
        let mut flags = 0;
        for (is_set, flag) in [
            (is_mean_known, KNOWN_MEAN),
            (is_short(self.sum), SHORT_SUM),
            (is_range_short, SHORT_MIN),
        ] {
            flags |= if is_set { flag } else { 0 };
        }
        to.u8(flags);
        if !is_mean_known {
            to.f64(self.mean);
        }
        for value in [self.m2, self.m3, self.m4] {
            to.f64(value);
        }
        number(self.sum, is_short(self.sum), to);
        number(self.min, is_range_short, to);
        if is_range_short {
            to.varint((self.max as i64).abs_diff(self.min as i64))
        } else {
            to.f64(self.max)
        }
    }

    pub(crate) fn decode(from: &mut Reader<'_>) -> Result<Self> {
        const EXPECTED: &str = "numbers of moments";
        let before = *from;
        let count = from.varint(EXPECTED)?;
        if count == 0 {
            return Ok(Self::default());
        }
        if count > MAX_COUNT {
            return Err(before.error(0, "a count of less than 2^53").into());
        }
        let flags = from.u8(EXPECTED)?;
        if flags & SAME != 0 {
            let value = take(from, flags & SHORT_MIN != 0)?;
            let moments = Self::repeated(value, count);
            return if flags & !(SAME | SHORT_MIN) == 0 && moments.sum.is_finite() {
                Ok(moments)
            } else {
                Err(from.error(1, "moments of finite values").into())
            };
        }
        let given = match flags & KNOWN_MEAN {
            0 => Some(from.f64(EXPECTED)?),
            _ => None,
        };
        let powers = from.array::<24>(EXPECTED)?;
        let power = |at: usize| {
            let bytes = powers.get(at..).and_then(|rest| rest.first_chunk::<8>());
            bytes.map_or(f64::NAN, |bytes| f64::from_le_bytes(*bytes))
        };
        let [m2, m3, m4] = [power(0), power(8), power(16)];
        let sum = take(from, flags & SHORT_SUM != 0)?;
        let is_range_short = flags & SHORT_MIN != 0;
        let min = take(from, is_range_short)?;
        let max = if is_range_short {
            let more = from.varint(EXPECTED)?;
            let max = (min as i64).checked_add_unsigned(more);
            max.map_or(f64::NAN, |max| max as f64)
        } else {
            from.f64(EXPECTED)?
        };
        let mean = given.unwrap_or(sum / count as f64);
        let moments = Moments {
            count,
            mean,
            m2,
            m3,
            m4,
            sum,
            min,
            max,
        };
        let all = [mean, m2, m3, m4, sum, min, max];
        let is_sound = flags & !(KNOWN_MEAN | SHORT_SUM | SHORT_MIN) == 0
            && all.iter().all(|value| value.is_finite())
            && min <= max
            && m2 >= 0.0;
        if is_sound {
            Ok(moments)
        } else {
            Err(from.error(1, "moments of finite values").into())
        }
    }
}

/// Largest count after a merge. It is far more than the calls of a thousand years, and all counts
/// up to it are exact as `f64`.
const MAX_COUNT: u64 = (1 << 53) - 1;

/// Flags of abbreviated fields.
const SAME: u8 = 1;
const KNOWN_MEAN: u8 = 2;
const SHORT_SUM: u8 = 4;
const SHORT_MIN: u8 = 8;

/// Returns `true` if a number is a whole number that a varint restores exactly.
pub(crate) fn is_short(value: f64) -> bool {
    let whole = value as i64;
    whole as f64 == value
        && whole.unsigned_abs() < 1 << 53
        && (whole != 0 || value.is_sign_positive())
}

/// Writes a number as a varint or as its bits.
pub(crate) fn number(value: f64, is_short: bool, to: &mut Writer) {
    if is_short {
        to.signed(value as i64)
    } else {
        to.f64(value)
    }
}

/// Reads a number of [`number`].
pub(crate) fn take(from: &mut Reader<'_>, is_short: bool) -> Result<f64> {
    const EXPECTED: &str = "a number of moments";
    Ok(if is_short {
        from.signed(EXPECTED)? as f64
    } else {
        from.f64(EXPECTED)?
    })
}

impl Merge for Moments {
    fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = *other;
            return;
        }
        let (a, b) = (self.count as f64, other.count as f64);
        let n = a + b;
        let delta = other.mean - self.mean;
        let step = delta / n;
        let step2 = step * step;
        let spread = delta * step * a * b;
        self.m4 += other.m4
            + spread * step2 * (a * a - a * b + b * b)
            + 6.0 * step2 * (a * a * other.m2 + b * b * self.m2)
            + 4.0 * step * (a * other.m3 - b * self.m3);
        self.m3 += other.m3 + spread * step * (a - b) + 3.0 * step * (a * other.m2 - b * self.m2);
        self.m2 += other.m2 + spread;
        self.mean += step * b;
        self.count = self.count.saturating_add(other.count).min(MAX_COUNT);
        self.sum += other.sum;
        // Extremes are never NaN, so the check for NaN in `f64::min` is not needed.
        if other.min < self.min {
            self.min = other.min;
        }
        if other.max > self.max {
            self.max = other.max;
        }
    }
}

impl Extend<f64> for Moments {
    fn extend<T: IntoIterator<Item = f64>>(&mut self, values: T) {
        values.into_iter().for_each(|value| self.push(value));
    }
}

impl FromIterator<f64> for Moments {
    fn from_iter<T: IntoIterator<Item = f64>>(values: T) -> Self {
        let mut moments = Moments::default();
        moments.extend(values);
        moments
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn counts_have_an_end() {
        let mut all = Moments::default();
        all.push(7.0);
        for _ in 0..70 {
            all.merge(&all.clone());
            all.push(7.0);
        }
        // Merging saturates there, and a push adds one.
        assert_eq!(all.count(), MAX_COUNT + 1);
        for (count, is_read) in [(MAX_COUNT, true), (MAX_COUNT + 1, false), (u64::MAX, false)] {
            let mut to = Writer::default();
            to.u8(9);
            to.varint(count);
            to.u8(SAME | SHORT_MIN);
            to.signed(7);
            let mut from = Reader::new(&to.0);
            from.u8("a byte before").expect("it is there");
            let read = Moments::decode(&mut from).map_err(|error| error.to_string());
            if is_read {
                assert_eq!(
                    read.map(|one| (one.count(), one.mean())),
                    Ok((MAX_COUNT, 7.0))
                )
            } else {
                assert_eq!(
                    read,
                    Err("byte 1: expected a count of less than 2^53".into())
                )
            }
        }
    }

    proptest! {
        #[test]
        fn bytes_come_back_to_the_bit(values in prop::collection::vec(prop_oneof![
            (0_i64..5_000_000).prop_map(|value| value as f64),
            -1e6..1e6_f64,
            Just(-0.0),
            Just(7.0),
            Just(9e15),
            Just(1e300),
            any::<i64>().prop_map(|value| value as f64),
        ], 0..20), extra in 0_usize..3) {
            let moments: Moments = values.iter().flat_map(|value| vec![*value; 1 + extra]).collect();
            prop_assume!(moments.m4.is_finite() && moments.sum.is_finite() && moments.m3.is_finite());
            let mut to = Writer::default();
            moments.encode(&mut to);
            let mut from = Reader::new(&to.0);
            let read = Moments::decode(&mut from).expect("it was just written");
            prop_assert_eq!(read.bits(), moments.bits());
            prop_assert!(from.end().is_ok());
            for end in 0..to.0.len() {
                prop_assert!(Moments::decode(&mut Reader::new(&to.0[..end])).is_err());
            }
        }
    }

    #[test]
    fn usual_moments_are_short() {
        let bytes = |values: &[f64]| {
            let moments: Moments = values.iter().copied().collect();
            let mut to = Writer::default();
            moments.encode(&mut to);
            to.0.len()
        };
        assert_eq!((bytes(&[]), bytes(&[12_345.0])), (1, 5));
        assert_eq!(bytes(&[12_345.0; 50]), 5);
        assert_eq!(bytes(&[12_345.0, 14_001.0, 13_000.0]), 34);
    }
}
