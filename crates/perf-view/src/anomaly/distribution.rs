//! [`Distribution`]: histogram of the run times of a function, with the ranges of normal run times; [`RunTimes`]: the
//! same for pages with data from another source.

use super::json::DistributionData;
use perf_anomaly::{Copod, Detector, FunctionId, Hbos, Histogram, Model, Sstd, Tail};
use serde::{Serialize, Serializer};

/// Run times of a function that a model knows, for the chart `distribution` of [`PARTS`](super::PARTS). It is
/// serialized as the distribution of a function in [`Anomalies::json`](super::Anomalies::json).
///
/// ```
/// use perf_anomaly::{Detector, FunctionId, Sample, Tail};
/// use perf_core::Nanos;
/// use perf_view::anomaly::RunTimes;
/// let mut tail = Tail::default();
/// let call = |k: i64| Sample { function: FunctionId(0), runtime: Nanos(50_000 + k * 37 % 1000), first: false };
/// tail.learn(&(0..1_000).map(call).collect::<Vec<_>>());
/// let known = RunTimes::of(&tail.snapshot(), FunctionId(0)).expect("it was called");
/// let json = serde_json::to_string(&known).expect("numbers and names");
/// assert!(json.starts_with("{\"bins\":[["), "{json}");
/// assert!(RunTimes::of(&tail.snapshot(), FunctionId(1)).is_none());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RunTimes(Distribution);

impl RunTimes {
    /// Returns the run times of a function with the ranges that are normal for a detector with default parameters;
    /// `None` if the model does not contain the function or has no run times.
    pub fn of(model: &Model, function: FunctionId) -> Option<Self> {
        let mut detector: Box<dyn Detector> = match model {
            Model::Tail(_) => Box::new(Tail::default()),
            Model::Sstd(_) => Box::new(Sstd::default()),
            Model::Hbos(_) => Box::new(Hbos::default()),
            Model::Copod(_) => Box::new(Copod::default()),
            _ => return None,
        };
        detector.restore(model).ok()?;
        let found = Distribution::of(model, &*detector, function)?;
        (!found.bins.is_empty()).then_some(RunTimes(found))
    }
}

impl Serialize for RunTimes {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        DistributionData::of(&self.0).serialize(to)
    }
}

/// Run times of a function, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Distribution {
    /// Lower bound, upper bound and number of calls of each bin.
    pub(super) bins: Vec<([f64; 2], u64)>,
    /// Ranges of normal run times, shortest first. Empty if the detector does not define normal run
    /// times by ranges.
    pub(super) normal: Vec<[f64; 2]>,
    /// Parts of `normal` that recorded run times cover. Outside of these parts a threshold is
    /// extrapolated.
    pub(super) seen: Vec<[f64; 2]>,
    /// Median, 99th percentile and longest run time; `None` without bins.
    pub(super) quantiles: Option<[f64; 3]>,
    /// Facts that the detector reports about the function, as names and numbers.
    pub(super) facts: Vec<(String, f64)>,
}

/// Maximum number of bins.
const BINS: usize = 160;
/// Constant that HBOS adds to a probability before taking the logarithm.
const HBOS: f64 = 78.88e-32;

impl Distribution {
    pub(super) fn of(model: &Model, detector: &dyn Detector, id: FunctionId) -> Option<Self> {
        let facts = detector.describe(id);
        if facts.is_empty() {
            return None;
        }
        let (bins, normal) = match model {
            Model::Tail(functions) => {
                let sketch = functions.get(id)?;
                let bins = sketch
                    .counts()
                    .map(|(range, count)| ([range.start, range.end], count));
                (bins.collect(), modes(&facts))
            }
            Model::Hbos(functions) => {
                let scored = functions.get(id)?;
                let bins = bins(scored.histogram());
                let normal = likely(&bins, scored.threshold());
                (bins, normal)
            }
            Model::Copod(functions) => (bins(functions.get(id)?.histogram()), Vec::new()),
            _ => (Vec::new(), Vec::new()),
        };
        Some(Distribution {
            seen: seen(&normal, &bins),
            quantiles: quantiles(&bins),
            bins: fewer(bins),
            normal,
            facts,
        })
    }

    /// Returns the shortest and the longest run time of the bins, or `None` without bins.
    pub(super) fn range(&self) -> Option<[f64; 2]> {
        let (first, last) = (self.bins.first()?, self.bins.last()?);
        Some([first.0[0], last.0[1]])
    }
}

/// Returns the middle of the bins of the median and of the 99th percentile, and the end of the last bin.
fn quantiles(bins: &[([f64; 2], u64)]) -> Option<[f64; 3]> {
    let calls: u64 = bins.iter().map(|bin| bin.1).sum();
    let at = |share: f64| {
        let wanted = (share * calls as f64) as u64;
        let mut before = 0;
        let found = bins.iter().find(|bin| {
            before += bin.1;
            before > wanted
        });
        found.or(bins.last()).map(|bin| bin.0[0].midpoint(bin.0[1]))
    };
    Some([at(0.5)?, at(0.99)?, bins.last()?.0[1]])
}

/// Clips each range to the bins that it overlaps.
fn seen(normal: &[[f64; 2]], bins: &[([f64; 2], u64)]) -> Vec<[f64; 2]> {
    let part = |[from, to]: &[f64; 2]| {
        let within = |bin: &&([f64; 2], u64)| bin.0[1] > *from && bin.0[0] < *to;
        let first = bins.iter().find(within)?;
        let last = bins.iter().rev().find(within)?;
        Some([from.max(first.0[0]), to.min(last.0[1])])
    };
    normal.iter().filter_map(part).collect()
}

/// Returns the ranges that the default detector considers normal, one for each mode.
fn modes(facts: &[(String, f64)]) -> Vec<[f64; 2]> {
    let of = |end: &str| -> Vec<f64> {
        let found = facts
            .iter()
            .filter(|(name, _)| name.starts_with("mode ") && name.ends_with(end));
        found.map(|(_, value)| *value).collect()
    };
    let pairs = of(" from").into_iter().zip(of(" to"));
    pairs.map(|(from, to)| [from, to]).collect()
}

/// Converts a histogram in microseconds to bins in nanoseconds. Empty bins are skipped.
fn bins(histogram: &Histogram) -> Vec<([f64; 2], u64)> {
    let half = 500.0 * histogram.bin_width();
    let counts = histogram.counts().iter().enumerate();
    counts
        .map(|(at, count)| {
            let middle = 1e3 * histogram.middle(at);
            ([(middle - half).max(0.0), middle + half], *count)
        })
        .filter(|(_, count)| *count > 0)
        .collect()
}

/// Returns the ranges of bins whose score `-log2(p)` is below the threshold.
fn likely(bins: &[([f64; 2], u64)], threshold: f64) -> Vec<[f64; 2]> {
    let total: u64 = bins.iter().map(|bin| bin.1).sum();
    let score = |count: u64| -(count as f64 / total.max(1) as f64 + HBOS).log2();
    let mut normal: Vec<[f64; 2]> = Vec::new();
    for (range, count) in bins.iter().filter(|bin| score(bin.1) < threshold) {
        debug_assert!(*count > 0);
        match normal.last_mut() {
            Some(last) if range[0] <= last[1] * 1.000_001 => last[1] = range[1],
            _ => normal.push(*range),
        }
    }
    normal
}

/// Merges neighbouring bins until there are at most [`BINS`].
fn fewer(mut bins: Vec<([f64; 2], u64)>) -> Vec<([f64; 2], u64)> {
    while bins.len() > BINS {
        let pair = |pair: &[([f64; 2], u64)]| {
            let (first, last) = (pair.first()?, pair.last()?);
            let count = pair.iter().map(|bin| bin.1).sum();
            Some(([first.0[0], last.0[1]], count))
        };
        // Bins that lie far apart are merged only if no other bins remain, because gaps between
        // modes must stay visible.
        let mut merged = Vec::with_capacity(bins.len() / 2 + 1);
        let mut at = 0;
        let mut joined = false;
        while let Some(first) = bins.get(at) {
            let next = bins
                .get(at + 1)
                .filter(|next| next.0[0] <= first.0[1] * 1.1 + 1.0);
            let width = 1 + usize::from(next.is_some());
            joined |= width == 2;
            merged.extend(bins.get(at..at + width).and_then(pair));
            at += width;
        }
        bins = merged;
        if !joined {
            bins = bins.chunks(2).filter_map(pair).collect();
        }
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_bins_hold_as_many_calls_and_keep_gaps() {
        let mut bins: Vec<_> = (0..700)
            .map(|at| ([f64::from(at) + 100.0, f64::from(at) + 101.0], 2))
            .collect();
        bins.push(([90_000.0, 91_000.0], 1));
        let few = fewer(bins);
        assert!(few.len() <= BINS);
        assert_eq!(few.iter().map(|bin| bin.1).sum::<u64>(), 1_401);
        assert_eq!(few.last(), Some(&([90_000.0, 91_000.0], 1)));
    }

    #[test]
    fn quantiles_are_those_of_the_calls() {
        let bins: Vec<_> = (0..100)
            .map(|at| ([f64::from(at), f64::from(at) + 1.0], 2))
            .collect();
        assert_eq!(quantiles(&bins), Some([50.5, 99.5, 100.0]));
        assert_eq!(quantiles(&[]), None);
    }

    #[test]
    fn ranges_of_two_modes_come_from_their_facts() {
        let facts = [
            ("calls", 9.0),
            ("mode 1 from", 2.0),
            ("mode 1 median", 3.0),
            ("mode 1 to", 4.0),
            ("mode 2 from", 7.0),
            ("mode 2 to", 8.0),
        ];
        let facts = facts.map(|(name, value)| (name.to_string(), value));
        assert_eq!(modes(&facts), [[2.0, 4.0], [7.0, 8.0]]);
        // A tail is extrapolated; only the range of recorded run times is shaded.
        let few = [([2.0, 3.0], 30), ([3.0, 4.0], 2), ([9.0, 9.5], 1)];
        assert_eq!(
            seen(&[[0.0, 8.0], [8.5, 90.0]], &few),
            [[2.0, 4.0], [9.0, 9.5]]
        );
        assert!(seen(&[[20.0, 30.0]], &few).is_empty());
        let bins = [([0.0, 1.0], 40), ([1.0, 2.0], 59), ([5.0, 6.0], 1)];
        assert_eq!(likely(&bins, 3.0), [[0.0, 2.0]]);
    }
}
