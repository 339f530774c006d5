//! Replay in which the threads of each team share the work before each barrier equally, and the
//! time that this saves.

use super::WhatIf;
use crate::Result;
use crate::activity::{CallId, CallKind};
use crate::graph::ActivityId;
use perf_core::{Job, LocationId, Nanos};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Bursts of a thread with their time in the call paths that are balanced.
struct Thread {
    bursts: Vec<ActivityId>,
    times: Vec<Nanos>,
}

impl WhatIf<'_> {
    /// Returns the time that is saved if the threads of each team share their exclusive time in some call paths before
    /// each barrier equally. Threads may take different numbers of locks before a barrier, so that single bursts have no
    /// peers.
    pub(crate) fn saved_by_balancing_teams(&self, inside: &[bool], job: &Job) -> Result<Nanos> {
        let mut durations = self.durations.clone();
        let mut threads: BTreeMap<LocationId, Thread> = BTreeMap::new();
        let mut checks = job.checks();
        for collective in self.activities.collectives() {
            let members = || collective.members.iter().map(|it| it.call);
            let kinds = |it| self.activities.kind(it) == CallKind::TeamBarrier;
            if !members().all(kinds) {
                continue;
            }
            for call in members() {
                if let Entry::Vacant(thread) = threads.entry(call.location) {
                    let bursts = self.places.bursts_of(self.activities, call.location);
                    thread.insert(Thread {
                        bursts: bursts.map(|it| it.0).collect(),
                        times: self.burst_times(call.location, inside, job)?,
                    });
                }
            }
            let mut parts = Vec::with_capacity(collective.members.len());
            for call in members() {
                let Some(thread) = threads.get(&call.location) else {
                    continue;
                };
                let bursts = self.before_barrier(call);
                checks.next(bursts.len())?;
                let times = thread.times.get(bursts.clone()).unwrap_or_default();
                let sum: i128 = times.iter().map(|it| i128::from(it.0)).sum();
                parts.push((thread, bursts, sum));
            }
            let mean = parts.iter().map(|it| it.2).sum::<i128>() / parts.len().max(1) as i128;
            for (thread, bursts, sum) in parts {
                for (at, id) in bursts
                    .clone()
                    .zip(thread.bursts.get(bursts.clone()).unwrap_or_default())
                {
                    let own = thread.times.get(at).copied().unwrap_or_default();
                    let more = match sum {
                        // A thread without such work does it last.
                        0 if at + 1 == bursts.end => mean as f64,
                        0 => 0.0,
                        _ => own.0 as f64 * (mean as f64 / sum as f64 - 1.0),
                    };
                    let time = durations.get(*id).saturating_add(Nanos(more as i64));
                    durations.set(*id, time.max(Nanos(0)));
                }
            }
        }
        self.saved(&durations, job)
    }

    /// Returns the numbers of the bursts of a thread between the last begin or end of a team and a barrier.
    fn before_barrier(&self, barrier: CallId) -> std::ops::Range<usize> {
        let own = self.activities.locations().get(barrier.location.index());
        let calls = own.map_or(&[][..], |own| own.calls.as_slice());
        let end = barrier.index as usize;
        let before = calls.get(..end).unwrap_or_default().iter();
        let is_border = |kind| {
            matches!(
                kind,
                CallKind::TeamBarrier | CallKind::Idle | CallKind::Fork
            )
        };
        let start = before.rev().take_while(|call| !is_border(call.kind));
        end - start.count()..end + 1
    }
}
