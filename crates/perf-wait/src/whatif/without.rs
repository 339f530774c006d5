//! [`WhatIf::without`]: replays a program without the time that locations lost in given windows
//! ([`Excess`]).

use super::{Answer, WhatIf};
use crate::Result;
use crate::graph::ActivityId;
use perf_core::{Job, LocationId, Nanos};
use std::collections::HashMap;

/// Distributes the time lost in a window over activities in proportion to their parts of the window, and at most
/// those.
pub(crate) fn distribute<T>(mut parts: Vec<(T, i64)>, time: Nanos) -> Vec<(T, i64)> {
    let all: i64 = parts.iter().map(|(_, part)| part).sum();
    let share = (time.0.max(0) as f64 / all.max(1) as f64).min(1.0);
    for (_, part) in &mut parts {
        *part = (share * *part as f64).round() as i64;
    }
    parts
}

/// Time that a location lost in a window, such as in a slow call, or on a slow rank in some steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Excess {
    /// The location.
    pub location: LocationId,
    /// Start of the window, in nanoseconds of the clock of the trace.
    pub from: Nanos,
    /// End of the window.
    pub to: Nanos,
    /// Time lost in the window.
    pub time: Nanos,
}

/// Answer to the question how long a run would take without lost time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct WithoutExcess {
    /// Run times with and without the lost time.
    pub answer: Answer,
    /// Part of the lost time that the replay omits: computation, or operations of a training job. The rest was
    /// inside of calls of MPI, of teams of threads and of accelerators, in other calls, or exceeds its window.
    pub computed: Nanos,
}

impl WhatIf<'_> {
    /// Replays the program without lost time. The computation in each window is shortened in proportion, by at
    /// most its own length.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Cancelled`](crate::Error::Cancelled) if the job is cancelled.
    pub fn without(&self, lost: &[Excess], job: &Job) -> Result<WithoutExcess> {
        let clock = self.activities.clock();
        let mut durations = self.durations.clone();
        let mut locations: HashMap<LocationId, Vec<(ActivityId, i64, i64)>> = HashMap::new();
        let mut computed = 0_i64;
        let mut checks = job.checks();
        for excess in lost {
            let bursts = locations.entry(excess.location).or_insert_with(|| {
                let bursts = self.places.bursts_of(self.activities, excess.location);
                let bursts = bursts.filter_map(|(id, burst)| {
                    let (start, end) = (clock.nanos(burst.start)?, clock.nanos(burst.end)?);
                    Some((id, start.0, end.0))
                });
                bursts.collect()
            });
            let first = bursts.partition_point(|(_, _, end)| *end <= excess.from.0);
            let inside = &bursts[first..];
            let inside = inside
                .iter()
                .take_while(|(_, start, _)| *start < excess.to.0);
            let inside = inside.map(|(id, start, end)| {
                let overlap = (*end).min(excess.to.0) - (*start).max(excess.from.0);
                (*id, overlap.clamp(0, durations.get(*id).0))
            });
            let parts = distribute(inside.collect(), excess.time);
            checks.next(1 + parts.len())?;
            for (id, less) in parts {
                computed = computed.saturating_add(less);
                durations.set(id, durations.get(id).saturating_sub(Nanos(less)));
            }
        }
        Ok(WithoutExcess {
            answer: Answer {
                recorded: self.recorded()?,
                identity: self.identity,
                runtime: self.runtime(&durations, job)?,
            },
            computed: Nanos(computed),
        })
    }
}
