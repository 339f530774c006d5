//! [`Trends::change`]: change in the duration of a tracked region between two experiments as
//! factors of instructions, IPC and frequency ([`TimeChange`]), from the metrics named by
//! [`Counters`].

use super::trends::Trends;
use crate::tracking::TrackedRegionId;
use crate::{ClusterId, Result};

/// Metrics that determine the time of a burst.
///
/// ```
/// use perf_track::trend::Counters;
/// let counted = Counters::with_cycles("duration", "PAPI_TOT_INS", "PAPI_TOT_CYC");
/// assert_ne!(counted, Counters::with_ipc("duration", "PAPI_TOT_INS", "IPC"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counters {
    /// Name of the duration.
    time: String,
    /// Name of the instructions.
    instructions: String,
    /// Source of the cycles.
    cycles: Cycles,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Cycles {
    /// Name of the metric of cycles.
    Counted(String),
    /// Name of the metric of instructions per cycle.
    FromIpc(String),
}

impl Counters {
    /// Uses durations, instructions and cycles, each by the name of its metric.
    pub fn with_cycles(
        time: impl Into<String>,
        instructions: impl Into<String>,
        cycles: impl Into<String>,
    ) -> Self {
        Counters {
            time: time.into(),
            instructions: instructions.into(),
            cycles: Cycles::Counted(cycles.into()),
        }
    }

    /// Uses durations, instructions and instructions per cycle, from which the cycles follow.
    pub fn with_ipc(
        time: impl Into<String>,
        instructions: impl Into<String>,
        ipc: impl Into<String>,
    ) -> Self {
        Counters {
            time: time.into(),
            instructions: instructions.into(),
            cycles: Cycles::FromIpc(ipc.into()),
        }
    }
}

/// Causes of a change in the mean duration of a tracked region's bursts: natural logarithms of
/// ratios, later over earlier experiment.
///
/// With T, I and C the sums of time, instructions and cycles, IPC = I / C and frequency f = C / T,
/// time is T = I / (IPC f). Hence `ln T2/T1 = ln I2/I1 - ln IPC2/IPC1 - ln f2/f1` exactly, for sums
/// and for means. Only bursts with positive and finite values of all three metrics count.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct TimeChange {
    /// Change of the mean duration of a burst.
    pub time: f64,
    /// Change of the mean instructions of a burst. More instructions take more time.
    pub instructions: f64,
    /// Change of the instructions per cycle. More instructions per cycle take less time.
    pub ipc: f64,
    /// Change of the cycles per time. A higher frequency takes less time.
    pub frequency: f64,
    /// Change of the number of bursts, which has no effect on the means.
    pub bursts: f64,
    /// Number of bursts of both experiments that count.
    pub counted: usize,
    /// Number of bursts of both experiments that lack a counter.
    pub missing: usize,
}

impl TimeChange {
    /// Returns the factors of the duration due to instructions, IPC and frequency. Their product is
    /// the factor of the duration.
    pub fn factors(&self) -> [f64; 3] {
        [
            self.instructions.exp(),
            (-self.ipc).exp(),
            (-self.frequency).exp(),
        ]
    }
}

/// Sums over bursts.
#[derive(Default)]
struct Sums {
    /// Total time.
    time: f64,
    /// Total instructions.
    instructions: f64,
    /// Total cycles.
    cycles: f64,
    /// Number of bursts with all counters.
    bursts: usize,
    /// Number of bursts that lack a counter.
    missing: usize,
}

impl Trends {
    /// Computes the causes of the change of the mean duration between two experiments. `None` if the
    /// tracked region is not seen in both, or if no burst of an experiment has all counters.
    ///
    /// # Errors
    /// Returns an error if the tracked region or a metric does not exist.
    pub fn change(
        &self,
        region: TrackedRegionId,
        from: usize,
        to: usize,
        counters: &Counters,
    ) -> Result<Option<TimeChange>> {
        let region = self.region(region)?;
        let (Cycles::Counted(cycles) | Cycles::FromIpc(cycles)) = &counters.cycles;
        for name in [&counters.time, &counters.instructions, cycles] {
            self.metric(name)?;
        }
        let sums = |experiment: usize| {
            let members = self.members.get(region)?.get(experiment)?;
            self.sums(experiment, members, counters)
        };
        let (Some(a), Some(b)) = (sums(from), sums(to)) else {
            return Ok(None);
        };
        let count = |sums: &Sums| sums.bursts as f64;
        let bursts = (count(&b) / count(&a)).ln();
        let ratio = |of: fn(&Sums) -> f64| (of(&b) / of(&a)).ln();
        Ok(Some(TimeChange {
            time: ratio(|sums| sums.time) - bursts,
            instructions: ratio(|sums| sums.instructions) - bursts,
            ipc: ratio(|sums| sums.instructions / sums.cycles),
            frequency: ratio(|sums| sums.cycles / sums.time),
            bursts,
            counted: a.bursts + b.bursts,
            missing: a.missing + b.missing,
        }))
    }

    fn sums(&self, experiment: usize, members: &[ClusterId], counters: &Counters) -> Option<Sums> {
        let measured = self.measured.get(experiment)?;
        let (Cycles::Counted(third) | Cycles::FromIpc(third)) = &counters.cycles;
        let time = measured.of_clusters(&counters.time, members)?;
        let instructions = measured.of_clusters(&counters.instructions, members)?;
        let third = measured.of_clusters(third, members)?;
        let mut rows = Vec::new();
        let mut sums = Sums::default();
        for ((time, instructions), third) in time.into_iter().zip(instructions).zip(third) {
            let cycles = match counters.cycles {
                Cycles::Counted(_) => third,
                Cycles::FromIpc(_) => instructions / third,
            };
            let row = [time, instructions, cycles];
            if row.iter().all(|value| value.is_finite() && *value > 0.0) {
                rows.push(row);
            } else {
                sums.missing += 1;
            }
        }
        // The rows are sorted so that the sums do not depend on the order of bursts.
        rows.sort_by(|a, b| {
            let mut pairs = a.iter().zip(b).map(|(a, b)| a.total_cmp(b));
            pairs
                .find(|order| order.is_ne())
                .unwrap_or(std::cmp::Ordering::Equal)
        });
        for [time, instructions, cycles] in rows {
            sums.time += time;
            sums.instructions += instructions;
            sums.cycles += cycles;
            sums.bursts += 1;
        }
        (sums.bursts > 0).then_some(sums)
    }
}
