//! [`Moments`]: mean to kurtosis in one pass, exact when merged.

use crate::Result;
use crate::encode::{Reader, Writer};
use perf_core::Merge;

/// Count, sum, extremes and the first four moments of values of any unit.
///
/// Central sums `M_p = sum (x - mean)^p` are updated in one pass and merged in pairs by the formulas
/// of Pebay (2008, Sandia report SAND2008-6212, equations 2.1 to 3.1), so that a merge of parts equals
/// the direct sums up to rounding: within 1e-12 of them relative for parts of like spread.
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
pub struct Moments {
    count: u64,
    mean: f64,
    m2: f64,
    m3: f64,
    m4: f64,
    sum: f64,
    min: f64,
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
    /// Bytes of [`encode`](Self::encode).
    pub(crate) const BYTES: usize = 64;

    /// No values yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same value `count` times.
    pub(crate) fn repeated(value: f64, count: u64) -> Self {
        match count {
            0 => Self::default(),
            count => Moments {
                count,
                mean: value,
                sum: value * count as f64,
                min: value,
                max: value,
                ..Self::default()
            },
        }
    }

    /// The same number of values, whose sum is another one by `more`: the mean follows, the spread stays
    /// as it was.
    pub(crate) fn shifted(mut self, more: f64) -> Self {
        if self.count > 0 {
            self.sum += more;
            self.mean += more / self.count as f64;
        }
        self
    }

    /// One more value.
    pub fn push(&mut self, value: f64) {
        let before = self.count as f64;
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

    /// How many values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Sum of the values.
    pub fn sum(&self) -> f64 {
        self.sum
    }

    /// Mean of the values, 0 of none.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Smallest value.
    pub fn min(&self) -> Option<f64> {
        (self.count > 0).then_some(self.min)
    }

    /// Largest value.
    pub fn max(&self) -> Option<f64> {
        (self.count > 0).then_some(self.max)
    }

    /// Variance of the sample, `M2 / (n - 1)`; 0 of fewer than two values.
    pub fn variance(&self) -> f64 {
        match self.count {
            0 | 1 => 0.0,
            count => self.m2 / (count - 1) as f64,
        }
    }

    /// Square root of the [`variance`](Self::variance).
    pub fn std_dev(&self) -> f64 {
        self.variance().sqrt()
    }

    /// Skewness `(M3 / n) / s^3` with `s^2 = M2 / n`: without unit, whatever the unit of the values.
    /// 0 where all values are equal.
    pub fn skewness(&self) -> f64 {
        self.standard(self.m3, 3)
    }

    /// Excess kurtosis `(M4 / n) / s^4 - 3`: 0 for a normal distribution, and where all values are
    /// equal.
    pub fn kurtosis(&self) -> f64 {
        match self.m2 > 0.0 {
            true => self.standard(self.m4, 4) - 3.0,
            false => 0.0,
        }
    }

    /// A central moment in units of the spread. Divided by one power at a time: the third power of
    /// a spread in nanoseconds given in seconds is far from overflow, that of any unit is not.
    fn standard(&self, moment: f64, order: u32) -> f64 {
        if self.m2 <= 0.0 {
            return 0.0;
        }
        let n = self.count as f64;
        let spread = (self.m2 / n).sqrt();
        (0..order).fold(moment / n, |value, _| value / spread)
    }

    pub(crate) fn encode(&self, to: &mut Writer) {
        to.u64(self.count);
        for value in [self.mean, self.m2, self.m3, self.m4] {
            to.f64(value);
        }
        for value in [self.sum, self.min, self.max] {
            to.f64(value);
        }
    }

    pub(crate) fn decode(from: &mut Reader<'_>) -> Result<Self> {
        const EXPECTED: &str = "eight numbers of moments";
        let count = from.u64(EXPECTED)?;
        let mut values = [0.0; 7];
        for value in &mut values {
            *value = from.f64(EXPECTED)?;
        }
        let [mean, m2, m3, m4, sum, min, max] = values;
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
        let sound = match count {
            0 => moments == Self::default(),
            _ => values.iter().all(|value| value.is_finite()) && min <= max && m2 >= 0.0,
        };
        match sound {
            true => Ok(moments),
            false => Err(from.error(Self::BYTES, "moments of finite values")),
        }
    }
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
        self.count = self.count.saturating_add(other.count);
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
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
