//! [`Summary`]: mean, dispersion and box plot of a metric over the bursts of a tracked region in
//! one experiment.

/// Mean, dispersion and box plot of a metric over bursts.
///
/// ```
/// use perf_track::trend::Summary;
/// let all = Summary::of(&[1.0, 2.0, 3.0, 4.0, 100.0, f64::NAN]).expect("there are some");
/// assert_eq!((all.count, all.missing), (5, 1));
/// assert_eq!((all.mean, all.median, all.q1, all.q3), (22.0, 3.0, 2.0, 4.0));
/// // The whisker ends at the largest value within 1.5 boxes of the box.
/// assert_eq!((all.low, all.high, all.max), (1.0, 4.0, 100.0));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Summary {
    /// Number of bursts with a value.
    pub count: usize,
    /// Number of bursts without a value.
    pub missing: usize,
    /// Sum of the values.
    pub sum: f64,
    /// Mean.
    pub mean: f64,
    /// Sample standard deviation (divided by the count minus 1); 0 for a single value.
    pub deviation: f64,
    /// Minimum.
    pub min: f64,
    /// First quartile, with linear interpolation.
    pub q1: f64,
    /// Median.
    pub median: f64,
    /// Third quartile.
    pub q3: f64,
    /// Maximum.
    pub max: f64,
    /// Smallest value not more than 1.5 (q3 - q1) below q1: the lower whisker of a box plot.
    pub low: f64,
    /// Largest value not more than 1.5 (q3 - q1) above q3: the upper whisker of a box plot.
    pub high: f64,
}

impl Summary {
    /// Computes the summary of values. Values that are not finite count as missing. `None` if there
    /// are no other values.
    pub fn of(values: &[f64]) -> Option<Self> {
        let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        // Sums of sorted values do not depend on the order of bursts.
        sorted.sort_unstable_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let count = sorted.len();
        let sum: f64 = sorted.iter().sum();
        let mean = sum / count as f64;
        let squares: f64 = sorted.iter().map(|v| (v - mean) * (v - mean)).sum();
        let (q1, q3) = (quantile(&sorted, 0.25), quantile(&sorted, 0.75));
        let reach = 1.5 * (q3 - q1);
        let inside = || {
            sorted
                .iter()
                .copied()
                .filter(|&v| v >= q1 - reach && v <= q3 + reach)
        };
        Some(Summary {
            count,
            missing: values.len() - count,
            sum,
            mean,
            deviation: (squares / (count.max(2) - 1) as f64).sqrt(),
            min,
            q1,
            median: quantile(&sorted, 0.5),
            q3,
            max,
            low: inside().next().unwrap_or(min),
            high: inside().next_back().unwrap_or(max),
        })
    }

    /// Multiplies all values by a positive factor, such as the number of tasks: the product is
    /// constant if the tasks divide the work, and increases if they replicate it.
    pub fn scaled(self, factor: f64) -> Self {
        Summary {
            sum: self.sum * factor,
            mean: self.mean * factor,
            deviation: self.deviation * factor,
            min: self.min * factor,
            q1: self.q1 * factor,
            median: self.median * factor,
            q3: self.q3 * factor,
            max: self.max * factor,
            low: self.low * factor,
            high: self.high * factor,
            ..self
        }
    }
}

/// Returns a quantile of sorted values with linear interpolation (type 7 of Hyndman and Fan, The
/// American Statistician 50, 1996).
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * sorted.len().saturating_sub(1) as f64;
    let (below, part) = (place.floor() as usize, place.fract());
    let at = |index: usize| sorted.get(index).copied();
    let low = at(below).unwrap_or(f64::NAN);
    at(below + 1).map_or(low, |high| low + part * (high - low))
}
