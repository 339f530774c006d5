//! [`Worst`]: worst anomalies of a function so far, which decide if a further anomaly is recorded.

use perf_core::Nanos;

/// Severities and scores of the worst anomalies so far, worst first.
#[derive(Clone, Debug, Default)]
pub(super) struct Worst(Vec<(Nanos, f64)>);

impl Worst {
    /// Returns `true`, and stores the anomaly, if it is among the `most` worst so far. Of equal
    /// anomalies the earlier ones are worse.
    pub(super) fn admit(&mut self, severity: Nanos, score: f64, most: usize) -> bool {
        let place = self.0.partition_point(|(other, their_score)| {
            other
                .cmp(&severity)
                .then(their_score.total_cmp(&score))
                .is_ge()
        });
        if place >= most {
            return false;
        }
        self.0.insert(place, (severity, score));
        self.0.truncate(most);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// An anomaly is admitted if it is among the worst of all earlier ones.
        #[test]
        fn admission_equals_sorting(severities in prop::collection::vec(0_i64..20, 0..80), most in 1_usize..6) {
            let mut worst = Worst::default();
            for (at, severity) in severities.iter().enumerate() {
                let at_least = severities[..at].iter().filter(|other| *other >= severity).count();
                prop_assert_eq!(worst.admit(Nanos(*severity), 1.0, most), at_least < most);
            }
        }
    }
}
