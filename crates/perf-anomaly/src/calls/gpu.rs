//! [`Gpu`]: connects the work on accelerators to the calls of one rank that launched it
//! ([`Launch`]), by correlation id, and returns the pairs as [`GpuLink`]s.

use super::StreamHealth;
use super::call::CallKey;
use perf_core::{CallPathId, Nanos, RegionId};
use std::collections::{HashMap, VecDeque};

/// Call that launched work on an accelerator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Launch {
    /// Identity of the call.
    pub call: CallKey,
    /// Region.
    pub region: RegionId,
    /// Call path, which includes its callers.
    pub path: CallPathId,
    /// Time of the enter.
    pub entry: Nanos,
    /// Step of the enter.
    pub step: u64,
    /// Index of the enter among the enters and exits of its rank in that step, from 0.
    pub index: u32,
    /// Correlation id shared with the work.
    pub correlation: u64,
}

/// Work on an accelerator connected to its launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct GpuLink {
    /// Work, which is a call on an accelerator stream.
    pub work: CallKey,
    /// Call that launched the work.
    pub launch: Launch,
}

/// Launches and work of one rank: waiting for their partner, or connected. Queues are in order of
/// arrival.
#[derive(Clone, Debug, Default)]
pub(super) struct Gpu {
    /// Launches by correlation id, each with `true` if work was connected to it.
    launches: HashMap<u64, (Launch, bool)>,
    /// Correlation ids of the launches in order.
    launch_order: VecDeque<u64>,
    /// Work without a launch by correlation id.
    waiting: HashMap<u64, VecDeque<CallKey>>,
    /// Work without a launch in order.
    waiting_order: VecDeque<(u64, CallKey)>,
    /// Launch of each connected work.
    matched: HashMap<CallKey, Launch>,
    /// Connected work in order.
    matched_order: VecDeque<CallKey>,
}

impl Gpu {
    pub(super) fn launch_of(&self, work: CallKey) -> Option<&Launch> {
        self.matched.get(&work)
    }

    /// Adds a launch and connects waiting work to it.
    pub(super) fn launch(
        &mut self,
        launch: Launch,
        links: &mut Vec<GpuLink>,
        health: &mut StreamHealth,
    ) {
        let id = launch.correlation;
        let waiting = self.waiting.remove(&id).unwrap_or_default();
        for work in &waiting {
            self.tie(*work, launch, links);
        }
        let before = self.launches.insert(id, (launch, !waiting.is_empty()));
        match before {
            Some((_, used)) => health.unmatched_launch += u64::from(!used),
            None => self.launch_order.push_back(id),
        }
    }

    /// Adds work, and connects it to its launch if the launch is known; otherwise the work waits.
    pub(super) fn work(&mut self, work: CallKey, correlation: u64, links: &mut Vec<GpuLink>) {
        if let Some((launch, used)) = self.launches.get_mut(&correlation) {
            *used = true;
            let launch = *launch;
            return self.tie(work, launch, links);
        }
        self.waiting.entry(correlation).or_default().push_back(work);
        self.waiting_order.push_back((correlation, work));
    }

    fn tie(&mut self, work: CallKey, launch: Launch, links: &mut Vec<GpuLink>) {
        links.push(GpuLink { work, launch });
        self.matched.insert(work, launch);
        self.matched_order.push_back(work);
    }

    /// Drops the oldest launches, waiting work and connected pairs beyond the limit. This is done
    /// between steps, so that a step may contain any number of launches.
    pub(super) fn forget(&mut self, limit: usize, health: &mut StreamHealth) {
        while self.launch_order.len() > limit {
            let oldest = self.launch_order.pop_front();
            if let Some((_, false)) = oldest.and_then(|id| self.launches.remove(&id)) {
                health.unmatched_launch += 1;
            }
        }
        while self.waiting_order.len() > limit {
            let Some((id, oldest)) = self.waiting_order.pop_front() else {
                break;
            };
            if let Some(waiting) = self.waiting.get_mut(&id) {
                // Both queues hold the work of one id in the same order.
                if waiting.front() == Some(&oldest) {
                    waiting.pop_front();
                    health.unmatched_gpu += 1;
                }
                if waiting.is_empty() {
                    self.waiting.remove(&id);
                }
            }
        }
        while self.matched_order.len() > limit {
            if let Some(oldest) = self.matched_order.pop_front() {
                self.matched.remove(&oldest);
            }
        }
    }

    /// Drops all launches and waiting work at the end of the stream, and counts those without a
    /// partner.
    pub(super) fn finish(&mut self, health: &mut StreamHealth) {
        let unused = self.launches.values().filter(|(_, used)| !used).count();
        health.unmatched_launch += unused as u64;
        health.unmatched_gpu += self.waiting.values().map(VecDeque::len).sum::<usize>() as u64;
        self.launches.clear();
        self.launch_order.clear();
        self.waiting.clear();
        self.waiting_order.clear();
    }
}
