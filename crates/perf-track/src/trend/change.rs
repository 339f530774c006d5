//! [`TimeChange`]: why an object takes longer or shorter than before.

use super::trends::Trends;
use crate::tracking::ObjectId;
use crate::{ClusterId, Result};

/// The metrics that make up the time of a burst.
///
/// ```
/// use perf_track::trend::Counters;
/// let counted = Counters::with_cycles("duration", "PAPI_TOT_INS", "PAPI_TOT_CYC");
/// assert_ne!(counted, Counters::with_ipc("duration", "PAPI_TOT_INS", "IPC"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counters {
    time: String,
    instructions: String,
    cycles: Cycles,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Cycles {
    Counted(String),
    FromIpc(String),
}

impl Counters {
    /// Durations, instructions and cycles, each by the name of its metric.
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

    /// Durations, instructions and instructions a cycle, from which the cycles follow.
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

/// Why the mean duration of an object's bursts changed: natural logarithms of ratios, the later by the
/// earlier frame.
///
/// With T, I and C the sums of time, instructions and cycles, IPC = I / C and frequency f = C / T, time is
/// T = I / (IPC f). So `ln T2/T1 = ln I2/I1 - ln IPC2/IPC1 - ln f2/f1`, exactly, for sums and for means a
/// burst alike. Only bursts with all three counters take part.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct TimeChange {
    /// Of the mean duration of a burst.
    pub time: f64,
    /// Of the mean instructions of a burst: more of them take longer.
    pub instructions: f64,
    /// Of instructions a cycle: more take less time.
    pub ipc: f64,
    /// Of cycles a time: more take less time.
    pub frequency: f64,
    /// Of the number of bursts, which the means leave out.
    pub bursts: f64,
    /// Bursts of both frames that took part, and those that lack a counter.
    pub counted: usize,
    /// Bursts of both frames that lack a counter.
    pub missing: usize,
}

impl TimeChange {
    /// The factors of the duration that are due to instructions, IPC and frequency. Their product is
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
    time: f64,
    instructions: f64,
    cycles: f64,
    bursts: usize,
    missing: usize,
}

impl Trends {
    /// Why an object's bursts take longer or shorter in one frame than in another. `None` if the
    /// object is not seen in both, or no burst of one of them has all counters.
    ///
    /// # Errors
    /// An object or metric that is not there.
    pub fn change(
        &self,
        object: ObjectId,
        from: usize,
        to: usize,
        counters: &Counters,
    ) -> Result<Option<TimeChange>> {
        let object = self.object(object)?;
        let (Cycles::Counted(cycles) | Cycles::FromIpc(cycles)) = &counters.cycles;
        for name in [&counters.time, &counters.instructions, cycles] {
            self.metric(name)?;
        }
        let sums = |frame: usize| {
            let members = self.members.get(object)?.get(frame)?;
            self.sums(frame, members, counters)
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

    fn sums(&self, frame: usize, members: &[ClusterId], counters: &Counters) -> Option<Sums> {
        let measured = self.measured.get(frame)?;
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
        // Sorted, so that the sums do not depend on the order of bursts.
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
