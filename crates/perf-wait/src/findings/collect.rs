//! Candidates of all analyses.

use super::{Finding, FindingKind};
use crate::Result;
use crate::activity::{Activities, CallId, CallKind};
use crate::delay::DelayCosts;
use crate::stragglers::{StragglerKind, Stragglers};
use crate::waits::{Pattern, WaitState, WaitStates};
use crate::whatif::{Change, WhatIf};
use perf_core::{CallPathId, Job, LocationId, Nanos, RegionId, Ticks, TimeRange};
use std::collections::{BTreeMap, BTreeSet};

/// Most call paths whose balance is replayed.
const MAX_BALANCED: usize = 3;

/// Factor from which a location is slower than its peers.
const MIN_FACTOR: f64 = 1.01;

/// Results of the analyses.
pub(super) struct Sources<'a> {
    pub(super) activities: &'a Activities,
    pub(super) waits: &'a WaitStates,
    pub(super) delays: &'a DelayCosts,
    pub(super) whatif: &'a WhatIf<'a>,
    pub(super) stragglers: &'a Stragglers,
}

/// Exclusive times of each rank by call path, in ticks.
struct Times(BTreeMap<LocationId, Vec<u64>>);

impl Times {
    fn of(whatif: &WhatIf<'_>, ranks: &[LocationId], job: &Job) -> Result<Self> {
        let mut times = BTreeMap::new();
        for rank in ranks {
            job.check()?;
            times.insert(*rank, whatif.path_times(*rank));
        }
        Ok(Times(times))
    }

    /// Returns the time of a location in a call path, and the median of its peers.
    fn own_and_peers(&self, location: LocationId, path: Option<CallPathId>) -> (f64, f64) {
        let time = |times: &Vec<u64>| {
            let ticks = path.and_then(|path| times.get(path.index()));
            ticks.copied().unwrap_or_default() as f64
        };
        let peers = self.0.iter().filter(|(rank, _)| **rank != location);
        let mut peers: Vec<f64> = peers.map(|(_, times)| time(times)).collect();
        peers.sort_by(f64::total_cmp);
        let median = peers.get(peers.len() / 2).copied().unwrap_or_default();
        (self.0.get(&location).map_or(0.0, time), median)
    }
}

impl Times {
    /// Returns the locations that take long in a call path: more than half way from the mean to the maximum.
    fn slow(&self, path: CallPathId) -> Vec<LocationId> {
        let own = |times: &Vec<u64>| times.get(path.index()).copied().unwrap_or_default() as f64;
        let sum: f64 = self.0.values().map(own).sum();
        let mean = sum / self.0.len().max(1) as f64;
        let most = self.0.values().map(own).fold(0.0, f64::max);
        let limit = mean + (most - mean) / 2.0;
        let slow = self.0.iter().filter(|(_, times)| own(times) > limit);
        slow.map(|(location, _)| *location).collect()
    }

    /// Returns the mean time of some locations in a call path, and the median of all others.
    fn slow_and_others(&self, path: CallPathId, slow: &[LocationId]) -> (f64, f64) {
        let own = |times: &Vec<u64>| times.get(path.index()).copied().unwrap_or_default() as f64;
        let (inside, others): (Vec<_>, Vec<_>) = self
            .0
            .iter()
            .partition(|(location, _)| slow.contains(location));
        let sum: f64 = inside.iter().map(|(_, times)| own(times)).sum();
        let mut others: Vec<f64> = others.iter().map(|(_, times)| own(times)).collect();
        others.sort_by(f64::total_cmp);
        let median = others.get(others.len() / 2).copied().unwrap_or_default();
        (sum / inside.len().max(1) as f64, median)
    }
}

/// A location that is waited for, and the wait states that it causes.
#[derive(Default)]
struct HeldUp {
    locations: BTreeSet<LocationId>,
    longest: Option<WaitState>,
}

impl Sources<'_> {
    /// Returns the run time and all candidates, of each kind the `most` that cost most.
    pub(super) fn findings(&self, most: usize, job: &Job) -> Result<(Nanos, Vec<Finding>)> {
        let recorded = self.whatif.ask(&[], job)?.recorded;
        let mut found = self.delays(recorded, most, job)?;
        found.extend(self.steps(recorded, most));
        found.push(self.transfers(recorded, job)?);
        Ok((recorded, found))
    }

    fn ranks(&self) -> Vec<LocationId> {
        Change::ranks(self.activities)
    }

    /// Locations with a delay, of which the call path with the largest cost counts.
    fn delays(&self, recorded: Nanos, most: usize, job: &Job) -> Result<Vec<Finding>> {
        let mut costs: BTreeMap<(LocationId, Option<CallPathId>), f64> = BTreeMap::new();
        for cost in self.delays.costs() {
            *costs.entry((cost.location, cost.path)).or_default() += cost.short + cost.long;
        }
        let mut costs: Vec<_> = costs.into_iter().collect();
        costs.sort_by(|a, b| b.1.total_cmp(&a.1));
        let clock = self.activities.clock();
        let (ranks, held_up) = (self.ranks(), self.held_up());
        let times = Times::of(self.whatif, &ranks, job)?;
        // A replay changes a location as a whole: its largest delay stands for it.
        let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
        let mut balanced = BTreeSet::new();
        for &((location, path), ticks) in &costs {
            job.check()?;
            if found.len() >= most {
                break;
            }
            // Time in MPI beyond waiting is that of transfers; another distribution of work does not change it.
            if path.is_some_and(|path| self.is_mpi(path)) {
                continue;
            }
            if let Some(path) = path {
                let slow = times.slow(path);
                if slow.len() > 1 && slow.contains(&location) {
                    if balanced.len() < MAX_BALANCED && balanced.insert(path) {
                        let own = costs
                            .iter()
                            .filter(|((own, at), _)| *at == Some(path) && slow.contains(own));
                        let cost = own.map(|(_, ticks)| ticks).sum();
                        seen.extend(&slow);
                        found.push(self.imbalance(
                            (path, slow, cost),
                            (&times, &held_up),
                            recorded,
                            job,
                        )?);
                    }
                    continue;
                }
            }
            let (own, peers) = times.own_and_peers(location, path);
            let is_serial = own > 0.0 && peers == 0.0;
            if !is_serial && (own < peers * MIN_FACTOR || !seen.insert(location)) {
                continue;
            }
            let cost = clock.total(ticks as u128);
            let saved = match is_serial {
                true => Nanos(cost.0 / i64::try_from(ranks.len()).unwrap_or(i64::MAX).max(1)),
                // The replay may gain from other bursts of the location as well.
                false => self
                    .whatif
                    .ask(&[Change::LikePeers { location }], job)?
                    .saved()
                    .min(cost),
            };
            let held = held_up.get(&location);
            found.push(Finding {
                kind: match is_serial {
                    true => FindingKind::Serial { location, path },
                    false => FindingKind::Delay { location, path },
                },
                locations: vec![location],
                saved,
                share: share(saved, recorded),
                cost,
                held_up: held.map_or(0, |it| it.locations.len()),
                factor: (peers > 0.0).then(|| own / peers),
                own: Some(clock.total(own as u128)),
                peers: Some(clock.total(peers as u128)),
                longest: held.and_then(|it| it.longest),
                window: held
                    .and_then(|it| it.longest)
                    .and_then(|it| self.window(&it)),
            });
        }
        Ok(found)
    }

    /// Returns `true` if a call path ends in a call of MPI.
    fn is_mpi(&self, path: CallPathId) -> bool {
        let path = self.activities.paths().paths().get(path.index());
        let regions = &self.activities.definitions().regions;
        let region = path.and_then(|path| regions.get(path.region.index()));
        region.is_some_and(perf_core::Region::is_mpi)
    }

    /// Several locations that take long in a call path.
    fn imbalance(
        &self,
        (path, slow, ticks): (CallPathId, Vec<LocationId>, f64),
        (times, held_up): (&Times, &BTreeMap<LocationId, HeldUp>),
        recorded: Nanos,
        job: &Job,
    ) -> Result<Finding> {
        let cost = self.activities.clock().total(ticks as u128);
        let saved = self.whatif.saved_by_balancing(path, job)?.min(cost);
        let held: Vec<&HeldUp> = slow.iter().filter_map(|it| held_up.get(it)).collect();
        let waiting: BTreeSet<LocationId> = held
            .iter()
            .flat_map(|it| &it.locations)
            .filter(|it| !slow.contains(it))
            .copied()
            .collect();
        let longest = held
            .iter()
            .filter_map(|it| it.longest)
            .max_by_key(|it| it.ticks);
        let (own, peers) = times.slow_and_others(path, &slow);
        let clock = self.activities.clock();
        Ok(Finding {
            kind: FindingKind::Imbalance { path },
            locations: slow,
            saved,
            share: share(saved, recorded),
            cost,
            held_up: waiting.len(),
            factor: (peers > 0.0).then(|| own / peers),
            own: Some(clock.total(own as u128)),
            peers: Some(clock.total(peers as u128)),
            longest,
            window: longest.and_then(|it| self.window(&it)),
        })
    }

    /// Returns the locations that each location holds up.
    fn held_up(&self) -> BTreeMap<LocationId, HeldUp> {
        let mut found: BTreeMap<LocationId, HeldUp> = BTreeMap::new();
        for state in self
            .waits
            .states()
            .iter()
            .filter(|it| it.pattern.is_waiting())
        {
            let Some(CallId { location, .. }) = state.cause else {
                continue;
            };
            let held = found.entry(location).or_default();
            if state.call.location != location {
                held.locations.insert(state.call.location);
            }
            if held
                .longest
                .is_none_or(|longest| longest.ticks < state.ticks)
            {
                held.longest = Some(*state);
            }
        }
        found
    }

    /// Returns the window of a wait state with as much time before it.
    fn window(&self, state: &WaitState) -> Option<TimeRange> {
        let begin = self.activities.range()?.0;
        let start = Ticks(state.start.0.saturating_sub(state.ticks)).max(begin);
        let end = state.start.0.saturating_add(state.ticks).saturating_add(1);
        TimeRange::new(start, Ticks(end))
    }

    /// Steps that are slow on most locations.
    fn steps(&self, recorded: Nanos, most: usize) -> Vec<Finding> {
        let slow = self.stragglers.stragglers.iter();
        let slow = slow.filter(|it| it.kind == StragglerKind::Step);
        let ranks = i64::try_from(self.ranks().len()).unwrap_or(i64::MAX).max(1);
        let finding = |it: &crate::stragglers::Straggler| {
            let saved = Nanos(it.lost.0 / ranks);
            Some(Finding {
                kind: FindingKind::SlowStep {
                    function: RegionId(it.function),
                    step: it.step?,
                },
                locations: Vec::new(),
                saved,
                share: share(saved, recorded),
                cost: it.lost,
                held_up: 0,
                factor: Some(it.factor),
                own: None,
                peers: None,
                longest: None,
                window: None,
            })
        };
        slow.filter_map(finding).take(most).collect()
    }

    /// Time of MPI calls beyond their waiting, without the begin and end of MPI.
    fn transfers(&self, recorded: Nanos, job: &Job) -> Result<Finding> {
        let saved = self.whatif.saved_without_transfers(job)?;
        let is_transfer = |kind: CallKind| !matches!(kind, CallKind::Init | CallKind::Finalize);
        let calls = self
            .activities
            .calls()
            .filter(|(_, call)| is_transfer(call.kind));
        let all: u128 = calls
            .map(|(_, call)| u128::from(call.leave.saturating_since(call.enter)))
            .sum();
        let waits = self.waits.states().iter();
        let waits =
            waits.filter(|it| it.pattern.is_waiting() && it.pattern != Pattern::FinalizeWait);
        let waiting: u128 = waits.map(|it| u128::from(it.ticks)).sum();
        Ok(Finding {
            kind: FindingKind::Transfers,
            locations: Vec::new(),
            saved,
            share: share(saved, recorded),
            cost: self.activities.clock().total(all.saturating_sub(waiting)),
            held_up: 0,
            factor: None,
            own: None,
            peers: None,
            longest: None,
            window: None,
        })
    }
}

fn share(saved: Nanos, recorded: Nanos) -> f64 {
    match recorded.0 {
        0 => 0.0,
        recorded => saved.0 as f64 / recorded as f64,
    }
}
