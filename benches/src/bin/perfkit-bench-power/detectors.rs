//! [`DETECTORS`]: the compared detectors, those of perfkit, ECOD and an isolation forest, each
//! behind the trait [`Peer`], which learns calls and judges others.

use extended_isolation_forest::{Forest, ForestOptions};
use perfkit::anomaly::{Copod, Detector, Hbos, Sample, Sstd, Tail};
use perfkit::core::Job;

/// Detector that learns calls, and judges others without a change of its knowledge.
pub(crate) trait Peer {
    /// Learns calls.
    fn learn(&mut self, calls: &[Sample]);

    /// Returns the scores of calls, higher for rarer ones, and `true` for calls that are abnormal.
    fn judge(&self, calls: &[Sample]) -> Vec<(f64, bool)>;
}

/// Name and constructor of a detector.
pub(crate) type Entry = (&'static str, fn() -> Box<dyn Peer>);

/// Number of the detectors that differ in more than their threshold.
pub(crate) const KINDS: usize = 6;
/// The detectors; the first one is the default of perfkit. The last ones are SSTD at other numbers of
/// deviations.
pub(crate) const DETECTORS: [Entry; KINDS + 2] = [
    ("default", || Box::new(Streaming(Tail::default()))),
    ("SSTD", || Box::new(Streaming(Sstd::default()))),
    ("HBOS", || Box::new(Streaming(Hbos::default()))),
    ("COPOD", || Box::new(Streaming(Copod::default()))),
    ("ECOD", || Box::new(Ecod::default())),
    ("isolation forest", || Box::new(Isolation(None))),
    ("SSTD, 5", || deviations(5.0)),
    ("SSTD, 3", || deviations(3.0)),
];

/// Returns SSTD with a threshold in standard deviations.
fn deviations(sigma: f64) -> Box<dyn Peer> {
    let params = Sstd::params().sigma(sigma).check();
    Box::new(Streaming(Sstd::new(params.expect("a positive number"))))
}

/// Detector of perfkit, which judges and learns at the same time.
struct Streaming<D>(D);

impl<D: Detector + Clone> Peer for Streaming<D> {
    fn learn(&mut self, calls: &[Sample]) {
        for batch in calls.chunks(1000) {
            self.0
                .detect(batch, &mut Vec::new(), &Job::default())
                .expect("not cancelled");
        }
    }

    fn judge(&self, calls: &[Sample]) -> Vec<(f64, bool)> {
        let mut judgements = Vec::new();
        self.0
            .clone()
            .detect(calls, &mut judgements, &Job::default())
            .expect("not cancelled");
        let judgements = judgements.iter();
        judgements
            .map(|one| (one.score, one.label.is_anomaly()))
            .collect()
    }
}

/// ECOD of one variable (Li et al., 2022): a call is abnormal if at most one call in a thousand is
/// at least as far out.
#[derive(Default)]
struct Ecod(Vec<i64>);

impl Peer for Ecod {
    fn learn(&mut self, calls: &[Sample]) {
        self.0 = calls.iter().map(|call| call.runtime.0).collect();
        self.0.sort_unstable();
    }

    fn judge(&self, calls: &[Sample]) -> Vec<(f64, bool)> {
        let judge = |call: &Sample| {
            let at_most = self.0.partition_point(|one| *one <= call.runtime.0);
            let below = self.0.partition_point(|one| *one < call.runtime.0);
            let outer = (at_most.min(self.0.len() - below) + 1) as f64;
            let share = outer / self.0.len() as f64;
            (-share.log10(), share <= 1e-3)
        };
        calls.iter().map(judge).collect()
    }
}

/// Isolation forest of a library, with the sizes and the threshold of scikit-learn: 100 trees of 256
/// calls, and a score above 0.5.
struct Isolation(Option<Forest<f64, 1>>);

impl Peer for Isolation {
    fn learn(&mut self, calls: &[Sample]) {
        let points: Vec<_> = calls.iter().map(|call| [call.runtime.0 as f64]).collect();
        let options = ForestOptions {
            n_trees: 100,
            sample_size: points.len().min(256),
            max_tree_depth: None,
            extension_level: 0,
        };
        self.0 = Forest::from_slice(&points, &options).ok();
    }

    fn judge(&self, calls: &[Sample]) -> Vec<(f64, bool)> {
        let judge = |call: &Sample| {
            let score = match &self.0 {
                Some(forest) => forest.score(&[call.runtime.0 as f64]),
                None => 0.0,
            };
            (score, score > 0.5)
        };
        calls.iter().map(judge).collect()
    }
}
