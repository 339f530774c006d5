//! [`WhatIf::without`]: replays a program without the time that locations lost in given windows
//! ([`Excess`]).

use super::{Answer, WhatIf};
use crate::Result;
use crate::graph::ActivityId;
use perf_core::{Job, LocationId, Nanos};
use std::collections::HashMap;

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
    /// Part of the lost time that was computation. The rest was inside of calls of MPI, of teams of threads
    /// and of accelerators, or exceeds its window.
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
            let inside: Vec<(ActivityId, i64)> = inside
                .map(|(id, start, end)| {
                    let overlap = (*end).min(excess.to.0) - (*start).max(excess.from.0);
                    (*id, overlap.clamp(0, durations.get(*id).0))
                })
                .collect();
            checks.next(1 + inside.len())?;
            let all: i64 = inside.iter().map(|(_, overlap)| overlap).sum();
            let share = (excess.time.0.max(0) as f64 / all.max(1) as f64).min(1.0);
            for (id, overlap) in inside {
                let less = (share * overlap as f64).round() as i64;
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
