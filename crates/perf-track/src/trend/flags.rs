//! [`Flag`]: what got worse from one frame to the next.

use super::Summary;
use super::trends::Trends;
use crate::tracking::ObjectId;
use crate::{Error, Result};

/// What a metric is expected to do from frame to frame.
///
/// ```
/// use perf_track::trend::Expect;
/// // What strong scaling asks for.
/// let expected = [Expect::higher("IPC"), Expect::lower("L3 misses"), Expect::divided("duration")];
/// assert_ne!(expected[0], Expect::higher("frequency"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expect {
    metric: String,
    by_tasks: bool,
    higher_is_better: bool,
}

impl Expect {
    /// It should not fall, as instructions a cycle.
    pub fn higher(metric: impl Into<String>) -> Self {
        Expect {
            metric: metric.into(),
            by_tasks: false,
            higher_is_better: true,
        }
    }

    /// It should not grow, as the misses of a cache or, where the problem grows with the tasks (weak
    /// scaling), time.
    pub fn lower(metric: impl Into<String>) -> Self {
        Expect {
            metric: metric.into(),
            by_tasks: false,
            higher_is_better: false,
        }
    }

    /// It should be divided among the tasks, as time and instructions where the problem stays the same
    /// (strong scaling): times the tasks it should not grow. Instructions that do are replicated.
    pub fn divided(metric: impl Into<String>) -> Self {
        Expect {
            metric: metric.into(),
            by_tasks: true,
            higher_is_better: false,
        }
    }
}

/// A metric of an object got worse.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Flag {
    /// The object.
    pub object: ObjectId,
    /// The metric.
    pub metric: String,
    /// Whether it was multiplied by the tasks.
    pub by_tasks: bool,
    /// The earlier frame.
    pub from: usize,
    /// The next one in which the object is seen.
    pub to: usize,
    /// The mean of the later frame by that of the earlier.
    pub factor: f64,
    /// `|ln factor|` in units of its standard error; infinite where neither frame varies.
    pub sigmas: f64,
}

/// Changes of less than this many standard errors may be chance.
const SIGMAS: f64 = 2.0;

impl Trends {
    /// What got worse by more than a tolerance (0.05 for 5 %) between frames in which an object is seen
    /// one after the other, and by more than 2 standard errors of the means. By object, then as
    /// expected, then by frame.
    ///
    /// # Errors
    /// A metric that is not there, or a tolerance that is negative or not finite.
    pub fn flags(&self, expected: &[Expect], tolerance: f64) -> Result<Vec<Flag>> {
        if !(tolerance.is_finite() && tolerance >= 0.0) {
            return Err(Error::Parameter {
                name: "tolerance",
                value: tolerance.to_string(),
                range: "finite and not below 0",
            });
        }
        let mut flags = Vec::new();
        for object in 1..=self.members.len() as u32 {
            for expect in expected {
                let object = ObjectId(object);
                let series = match expect.by_tasks {
                    true => self.series_by_tasks(object, &expect.metric)?,
                    false => self.series(object, &expect.metric)?,
                };
                let seen = series.iter().enumerate();
                let seen: Vec<(usize, &Summary)> = seen
                    .filter_map(|(frame, summary)| Some((frame, summary.as_ref()?)))
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
                            object,
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

/// The square of the relative standard error of a mean.
fn error(of: &Summary) -> f64 {
    (of.deviation / of.mean).powi(2) / of.count.max(1) as f64
}
