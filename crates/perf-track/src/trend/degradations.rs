//! [`Trends::flags`]: metrics of tracked regions that degraded between consecutive experiments,
//! each as a [`Flag`], compared with the expected behaviour ([`Expect`]).

use super::Summary;
use super::trends::Trends;
use crate::tracking::TrackedRegionId;
use crate::{Error, Result};

/// Expected behaviour of a metric between experiments.
///
/// ```
/// use perf_track::trend::Expect;
/// // Expectations for strong scaling.
/// let expected = [Expect::higher("IPC"), Expect::lower("L3 misses"), Expect::divided("duration")];
/// assert_ne!(expected[0], Expect::higher("frequency"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expect {
    /// Name of the metric.
    metric: String,
    /// `true` if the metric is multiplied by the number of tasks.
    by_tasks: bool,
    /// `true` if higher values are better.
    higher_is_better: bool,
}

impl Expect {
    /// Expects that the metric does not decrease, such as instructions per cycle.
    pub fn higher(metric: impl Into<String>) -> Self {
        Expect {
            metric: metric.into(),
            by_tasks: false,
            higher_is_better: true,
        }
    }

    /// Expects that the metric does not increase, such as cache misses or, in weak scaling, time.
    pub fn lower(metric: impl Into<String>) -> Self {
        Expect {
            metric: metric.into(),
            by_tasks: false,
            higher_is_better: false,
        }
    }

    /// Expects that the metric is divided among the tasks, such as time and instructions in strong
    /// scaling: its product with the number of tasks must not increase. Instructions whose product
    /// increases are replicated.
    pub fn divided(metric: impl Into<String>) -> Self {
        Expect {
            metric: metric.into(),
            by_tasks: true,
            higher_is_better: false,
        }
    }
}

/// Degradation of a metric of a tracked region.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Flag {
    /// Tracked region.
    pub region: TrackedRegionId,
    /// Name of the metric.
    pub metric: String,
    /// `true` if the metric was multiplied by the number of tasks.
    pub by_tasks: bool,
    /// Earlier experiment.
    pub from: usize,
    /// Next experiment in which the region is seen.
    pub to: usize,
    /// Mean of the later experiment divided by the mean of the earlier experiment.
    pub factor: f64,
    /// `|ln factor|` in units of its standard error; infinite if neither experiment varies.
    pub sigmas: f64,
}

/// Number of standard errors up to which a change may be chance.
const SIGMAS: f64 = 2.0;

impl Trends {
    /// Returns the metrics that degraded by more than a tolerance (0.05 for 5 %), and by more than 2
    /// standard errors of the means, between consecutive experiments in which a region is seen. Flags
    /// are ordered by region, then expectation, then experiment.
    ///
    /// # Errors
    /// Returns an error for a metric that does not exist, or a tolerance that is negative or not
    /// finite.
    pub fn flags(&self, expected: &[Expect], tolerance: f64) -> Result<Vec<Flag>> {
        if !(tolerance.is_finite() && tolerance >= 0.0) {
            return Err(Error::Parameter {
                name: "tolerance",
                value: tolerance.to_string(),
                range: "finite and at least 0",
            });
        }
        let mut flags = Vec::new();
        for region in 1..=self.members.len() as u32 {
            for expect in expected {
                let region = TrackedRegionId(region);
                let series = if expect.by_tasks {
                    self.series_by_tasks(region, &expect.metric)?
                } else {
                    self.series(region, &expect.metric)?
                };
                let seen = series.iter().enumerate();
                let seen: Vec<(usize, &Summary)> = seen
                    .filter_map(|(experiment, summary)| Some((experiment, summary.as_ref()?)))
                    .collect();
                for pair in seen.windows(2) {
                    let [(from, a), (to, b)] = pair else { continue };
                    let factor = b.mean / a.mean;
                    if !(factor.is_finite() && factor > 0.0) {
                        continue;
                    }
                    let worse = if expect.higher_is_better {
                        1.0 / factor
                    } else {
                        factor
                    };
                    let sigmas = factor.ln().abs() / (error(a) + error(b)).sqrt();
                    if worse > 1.0 + tolerance && sigmas > SIGMAS {
                        flags.push(Flag {
                            region,
                            metric: expect.metric.clone(),
                            by_tasks: expect.by_tasks,
                            from: *from,
                            to: *to,
                            factor,
                            sigmas,
                        });
                    }
                }
            }
        }
        Ok(flags)
    }
}

/// Returns the square of the relative standard error of a mean.
fn error(of: &Summary) -> f64 {
    (of.deviation / of.mean).powi(2) / of.count.max(1) as f64
}
