//! [`Hbos`]: detector that scores a run time by the rarity of its histogram bin.

use super::Histogram;
use super::histogram::{Bin, Width};
use super::scored::{Scored, Scores, rarity, scored_detector};
use super::{StrictChecked, StrictParams};

/// Labels calls in the rarest bins of a histogram of run times, with the same labels as Chimbuko's
/// HBOS.
///
/// The score of a call is `-log2(p + 78.88e-32)`, where `p` is the fraction of the calls in its
/// bin. The score is about 100 if the run time lies outside of the histogram by more than 5 % of a
/// bin.
///
/// A call is abnormal if its score is at least `T = least + f (most - least)`. Here `least` and
/// `most` are the extreme scores of the occupied bins, and `f` is [`StrictParams::threshold`], 0.99
/// by default. If [`StrictParams::keep_threshold`] is on, which is the default, `T` never
/// decreases; it is initially `log2(1.00001)`.
///
/// If several bins are occupied and have the same count, all calls are therefore abnormal. This
/// happens with a uniform distribution, with two equal modes, and with two different run times.
///
/// ```
/// use perf_anomaly::{Detector, FunctionId, Hbos, Sample};
/// use perf_core::{Job, Nanos};
/// let mut detector = Hbos::default();
/// let calls = [100, 200].map(|us| Sample {
///     function: FunctionId(0),
///     runtime: Nanos(us * 1000),
///     first: false,
/// });
/// let mut judgements = Vec::new();
/// detector.detect(&calls, &mut judgements, &Job::default())?;
/// assert!(judgements.iter().all(|judgement| judgement.label.is_anomaly()));
/// # Ok::<(), perf_anomaly::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Hbos(Scored);

struct ByBin(Vec<f64>);

impl Scores for ByBin {
    fn width(params: &StrictChecked) -> Width {
        Width::Bins(params.bins())
    }

    fn new(histogram: &Histogram) -> Self {
        let total = histogram.total() as f64;
        let counts = histogram.counts().iter();
        ByBin(counts.map(|&count| rarity(count as f64 / total)).collect())
    }

    fn of(&self, histogram: &Histogram, value: f64) -> f64 {
        match histogram.bin(value, 0.05) {
            // A value in no counted bin is as rare as one outside.
            Bin::Inside(bin) => self.0.get(bin).copied().unwrap_or_else(|| rarity(0.0)),
            Bin::Left | Bin::Right => rarity(0.0),
        }
    }

    fn threshold(&self, histogram: &Histogram, part: f64) -> f64 {
        let filled = self.0.iter().zip(histogram.counts());
        let filled = filled
            .filter(|(_, count)| **count > 0)
            .map(|(score, _)| *score);
        let least = filled.clone().fold(f64::INFINITY, f64::min);
        let most = filled.fold(f64::NEG_INFINITY, f64::max);
        least + part * (most - least)
    }

    fn keeps(before: f64, new: f64) -> bool {
        new < before
    }
}

scored_detector!(Hbos, ByBin, "hbos", as_hbos);
