//! [`Sources::findings`]: collects candidates for findings (delays, late ranks, slow steps,
//! transfers) from the results of all analyses, each with the run time that a fix would save.

use super::balance::PathDelays;
use super::times::{HeldUpBy, Peers, Times};
use super::{Finding, FindingKind, bad_calls};
use crate::Result;
use crate::activity::{Activities, CallId, CallKind};
use crate::delay::DelayCosts;
use crate::device_collectives::{DeviceCollective, DeviceCollectives};
use crate::running_state::{self, is_running};
use crate::stragglers::{Straggler, StragglerKind, Stragglers};
use crate::waits::{Pattern, WaitState, WaitStates};
use crate::whatif::{Change, WhatIf};
use perf_core::{
    CallPathId, Job, LocationGroupId, LocationId, Nanos, RegionId, Ticks, TimeRange, TraceView,
};
use std::collections::{BTreeMap, BTreeSet};

/// Most call paths whose balance is replayed.
const MAX_BALANCED: usize = 3;

/// Most ranks whose call of a slow step its window includes.
const MAX_STEP_WINDOWS: usize = 16;

/// Factor from which a location is slower than its peers.
const MIN_FACTOR: f64 = 1.01;

/// Results of the analyses.
pub(super) struct Sources<'a> {
    pub(super) view: TraceView<'a>,
    pub(super) activities: &'a Activities,
    pub(super) waits: &'a WaitStates,
    pub(super) delays: &'a DelayCosts,
    pub(super) whatif: &'a WhatIf<'a>,
    pub(super) stragglers: &'a Stragglers,
    pub(super) exchanges: &'a DeviceCollectives,
    /// Smallest share of the run time that a fix must save.
    pub(super) min_share: f64,
}

/// Waiting that the delays of a location in a call path cause, in ticks.
pub(super) type Cost = ((LocationId, Option<CallPathId>, HeldUpBy), f64);

/// A location that is waited for, and the wait states that it causes.
#[derive(Default)]
pub(super) struct HeldUp {
    pub(super) locations: BTreeSet<LocationId>,
    pub(super) longest: Option<WaitState>,
}

/// Wait states by the location that causes them.
pub(super) type HeldUps = BTreeMap<(LocationId, HeldUpBy), HeldUp>;

impl Sources<'_> {
    /// Returns the run time and all candidates, of each kind the `most` that cost most.
    pub(super) fn findings(&self, most: usize, job: &Job) -> Result<(Nanos, Vec<Finding>)> {
        let recorded = self.whatif.recorded()?;
        let mut found = self.delays(recorded, most, job)?;
        found.extend(self.steps(recorded, most, job)?);
        found.extend(self.late_ranks(recorded));
        found.push(self.transfers(recorded, job)?);
        for finding in &mut found {
            self.add_caller(finding);
        }
        Ok((recorded, found))
    }

    /// Returns the time that a fix saves, at most a bound. The replay is omitted if the bound is too small for a finding.
    pub(super) fn saved(
        &self,
        bound: Nanos,
        recorded: Nanos,
        replay: impl FnOnce() -> Result<Nanos>,
    ) -> Result<Nanos> {
        if share(bound, recorded) < self.min_share {
            Ok(bound)
        } else {
            Ok(replay()?.min(bound))
        }
    }

    fn ranks(&self) -> Vec<LocationId> {
        Change::ranks(self.activities)
    }

    /// Locations with a delay, of which the call path with the largest cost counts.
    fn delays(&self, recorded: Nanos, most: usize, job: &Job) -> Result<Vec<Finding>> {
        let mut costs: BTreeMap<(LocationId, Option<CallPathId>, HeldUpBy), f64> = BTreeMap::new();
        for cost in self.delays.costs() {
            let key = (cost.location, cost.path, HeldUpBy::of(cost.pattern));
            *costs.entry(key).or_default() += cost.short + cost.long;
        }
        let mut costs: Vec<Cost> = costs.into_iter().collect();
        costs.sort_by(|a, b| b.1.total_cmp(&a.1));
        let clock = self.activities.clock();
        let held_up = self.held_up();
        let times = Times::of(self.activities, self.whatif, job)?;
        // Delays of peers in each call path or function.
        let mut of_paths: BTreeMap<Peers, PathDelays> = BTreeMap::new();
        // The replay of the largest delay of a location changes the location as a whole, that of others one call path.
        let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
        // Threads of all processes mostly wait for the same functions: the largest cost stands for them.
        let mut serial = BTreeSet::new();
        let mut hosts = BTreeSet::new();
        let (mut balanced, mut imbalanced) = (BTreeSet::new(), BTreeSet::new());
        let mut moving = BTreeSet::new();
        for ((location, path, by), ticks) in costs.iter().copied() {
            job.check()?;
            // Bounds take no place of findings that a fix reaches.
            let of_devices = found.iter().filter(|it: &&Finding| it.kind.is_of_device());
            let of_devices = of_devices.count();
            if found.len() - of_devices >= most {
                break;
            }
            if of_devices >= most && matches!(by, HeldUpBy::Device | HeldUpBy::Host) {
                continue;
            }
            // Time in MPI beyond waiting is that of transfers; another distribution of work does not change it.
            // Ranks and threads that wait for work of an accelerator wait for the device, not for a thread.
            let by = match by {
                HeldUpBy::Host | HeldUpBy::Device => by,
                _ if times.is_stream(location) => HeldUpBy::Device,
                _ => by,
            };
            let is_of_cpu = by == HeldUpBy::Rank || by.is_of_threads();
            if is_of_cpu && path.is_some_and(|path| self.is_mpi(path)) {
                continue;
            }
            if let (Some(peers), Some(path)) = (times.peers_in(location, path, by), path) {
                let of_path = of_paths
                    .entry(peers)
                    .or_insert_with(|| self.path_delays(peers, path, &costs, &times));
                let key = peers.key();
                let at = (peers, path);
                if of_path.may_move() && balanced.len() < MAX_BALANCED && balanced.insert(key) {
                    let finding = self.moving(at, of_path, (&times, &held_up), recorded, job)?;
                    of_path.moves = finding.is_some();
                    if of_path.moves {
                        moving.insert(key);
                    }
                    found.extend(finding.filter(|it| !self.is_noise(it, at, &times)));
                }
                if moving.contains(&key) {
                    continue;
                }
                let is_slow = of_path.slow.len() > 1 && of_path.slow.contains(&location);
                if is_slow && !of_path.is_of_calls {
                    if imbalanced.insert(key) {
                        let finding =
                            self.imbalance(at, of_path, (&times, &held_up), recorded, job)?;
                        if !self.is_noise(&finding, at, &times) {
                            seen.extend(finding.locations.iter().map(|slow| (*slow, by)));
                            found.push(finding);
                        }
                    }
                    continue;
                }
            }
            let cost = clock.total(ticks as u128);
            let held = held_up.get(&(location, by));
            let mut finding = Finding {
                kind: FindingKind::Delay { location, path },
                locations: vec![location],
                saved: Nanos(0),
                share: 0.0,
                cost,
                held_up: held.map_or(0, |it| it.locations.len()),
                factor: None,
                own: None,
                peers: None,
                longest: held.and_then(|it| it.longest),
                caller: None,
                window: held
                    .and_then(|it| it.longest)
                    .and_then(|it| self.window(&it)),
            };
            match (by, path) {
                (HeldUpBy::Device, Some(path)) => {
                    finding.kind = FindingKind::DeviceWork { location, path };
                    finding.saved = self.saved(cost, recorded, || {
                        self.whatif.saved_without(&[location], Some(path), job)
                    })?;
                }
                (HeldUpBy::Host, Some(path)) => {
                    // Launches come from many call paths: the largest stands for all of the process.
                    let system = &self.activities.definitions().system;
                    let process = system.process(location);
                    if !hosts.insert(process) {
                        continue;
                    }
                    let all = costs.iter().filter(|it| it.0.2 == HeldUpBy::Host);
                    let own = all.filter(|it| system.process(it.0.0) == process);
                    finding.cost = clock.total(own.map(|it| it.1).sum::<f64>() as u128);
                    finding.kind = FindingKind::HostWork { location, path };
                    let threads = times.threads(process);
                    let later = finding.cost.saturating_sub(self.start_up(process));
                    finding.saved = self.saved(later, recorded, || {
                        self.whatif.saved_without(&threads, None, job)
                    })?;
                }
                (HeldUpBy::Host | HeldUpBy::Device, None) => continue,
                _ => {
                    let (own, median, peers) = times.own_and_peers(location, path, by);
                    // Delays that no thread waits for directly are part of those that one does.
                    if by.is_of_threads() && (own == 0.0 || finding.held_up == 0) {
                        continue;
                    }
                    // Outside of all functions a thread that is not idle computes for a moment at most.
                    let is_outside = path.is_some_and(|path| self.is_outside(path));
                    let is_alone = by == HeldUpBy::Fork && is_outside;
                    let is_serial = own > 0.0 && (median == 0.0 || is_alone);
                    // Work of several threads makes others idle through the ranks and teams that wait for it.
                    if by == HeldUpBy::Fork && !is_serial {
                        continue;
                    }
                    finding.own = Some(clock.total(own as u128));
                    let median_of_peers = Some(clock.total(median as u128));
                    finding.peers = median_of_peers.filter(|_| !is_alone);
                    if !is_serial && own < median * MIN_FACTOR {
                        continue;
                    }
                    if is_serial && by.is_of_threads() && !serial.insert(path) {
                        continue;
                    }
                    let of = (by == HeldUpBy::Rank).then_some(location);
                    let scaled = |factor: f64| {
                        path.map_or(Ok(Nanos(0)), |path| {
                            self.whatif.saved_by_scaling(path, of, factor, job)
                        })
                    };
                    if is_serial {
                        finding.kind = FindingKind::Serial { location, path };
                        finding.saved = self.saved(clock.total(own as u128), recorded, || {
                            scaled(1.0 / (peers + 1) as f64)
                        })?;
                    } else {
                        // The first replay gains from other call paths of the location as well.
                        let is_first = seen.insert((location, by));
                        if !is_first && by != HeldUpBy::Rank {
                            continue;
                        }
                        let excess = clock.total((own - median) as u128);
                        finding.saved = self.saved(cost.min(excess), recorded, || {
                            if !is_first {
                                return scaled(median / own);
                            }
                            let change = Change::LikePeers { location };
                            Ok(self.whatif.ask(&[change], job)?.saved())
                        })?;
                        finding.factor = Some(own / median);
                        let bad = path
                            .and_then(|path| self.bad_calls((location, path), by, own - median));
                        if let (Some(bad), Some(path)) = (bad, path) {
                            bad.describe(&mut finding, path, self, job)?;
                        }
                    }
                }
            }
            finding.share = share(finding.saved, recorded);
            found.push(finding);
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

    /// Returns the function whose calls the time in a call path belongs to, as [`PeerSums`](crate::stragglers::PeerSums)
    /// counts them.
    pub(super) fn function_of_calls(&self, path: CallPathId) -> Option<RegionId> {
        let (paths, definitions) = (self.activities.paths(), self.activities.definitions());
        let around = running_state::function(paths, definitions, path);
        Some(paths.get(around.unwrap_or(path))?.region)
    }

    /// Returns the few calls of a location in a call path that make up its excess over its peers. The numbers of states
    /// that threads of a team pass through have nothing in common.
    pub(super) fn bad_calls(
        &self,
        (location, path): (LocationId, CallPathId),
        by: HeldUpBy,
        excess: f64,
    ) -> Option<bad_calls::BadCalls<'_>> {
        let function = self.function_of_calls(path)?;
        let regions = &self.activities.definitions().regions;
        let is_state = regions.get(function.index()).is_some_and(is_running);
        if by.is_of_threads() && is_state {
            return None;
        }
        bad_calls::of(self, location, path, excess)
    }

    /// Returns the time that streams wait for their first work from a process. Every run has such a start-up.
    fn start_up(&self, process: Option<LocationGroupId>) -> Nanos {
        let system = &self.activities.definitions().system;
        let first = self.waits.states().iter().filter(|it| {
            let cause = it.cause.map(|cause| system.process(cause.location));
            it.pattern == Pattern::DeviceIdle && it.call.index == 0 && cause == Some(process)
        });
        let ticks = first.map(|it| u128::from(it.ticks)).sum();
        self.activities.clock().total(ticks)
    }

    /// Returns the locations that each location holds up.
    fn held_up(&self) -> HeldUps {
        let mut found = HeldUps::new();
        for state in self
            .waits
            .states()
            .iter()
            .filter(|it| it.pattern.is_waiting())
        {
            let Some(CallId { location, .. }) = state.cause else {
                continue;
            };
            let by = HeldUpBy::of(state.pattern);
            let held = found.entry((location, by)).or_default();
            if state.call.location != location {
                held.locations.insert(state.call.location);
            }
            let is_start_up = by == HeldUpBy::Host && state.call.index == 0;
            let is_longer = |longest: WaitState| longest.ticks < state.ticks;
            if !is_start_up && held.longest.is_none_or(is_longer) {
                held.longest = Some(*state);
            }
        }
        found
    }

    /// Returns the window of a wait state with as much time before it.
    pub(super) fn window(&self, state: &WaitState) -> Option<TimeRange> {
        let begin = self.activities.range()?.0;
        let start = Ticks(state.start.0.saturating_sub(state.ticks)).max(begin);
        let end = state.start.0.saturating_add(state.ticks).saturating_add(1);
        TimeRange::new(start, Ticks(end))
    }

    /// Accelerators that arrive last at collective operations, by reason.
    fn late_ranks(&self, recorded: Nanos) -> Vec<Finding> {
        let mut found: BTreeMap<_, Vec<&DeviceCollective>> = BTreeMap::new();
        for it in &self.exchanges.operations {
            found.entry((it.late, it.reason)).or_default().push(it);
        }
        let finding = |((location, reason), operations): (_, Vec<&DeviceCollective>)| {
            let sum = |time: fn(&DeviceCollective) -> Nanos| {
                let times = operations.iter().map(|it| time(it));
                times.fold(Nanos(0), Nanos::saturating_add)
            };
            let saved = sum(|it| it.ahead);
            let longest = operations.iter().max_by_key(|it| it.lost)?;
            let collective = self
                .activities
                .collectives()
                .get(longest.collective as usize)?;
            let end = collective.members.iter().map(|it| it.end).max()?;
            Some(Finding {
                kind: FindingKind::LateRank { location, reason },
                locations: vec![location],
                own: None,
                peers: None,
                longest: None,
                caller: None,
                saved,
                share: share(saved, recorded),
                cost: sum(|it| it.lost),
                held_up: operations
                    .iter()
                    .map(|it| it.ranks)
                    .max()?
                    .saturating_sub(1),
                factor: None,
                window: TimeRange::new(longest.begin, Ticks(end.0.saturating_add(1))),
            })
        };
        found.into_iter().filter_map(finding).collect()
    }

    /// Steps that are slow on most locations.
    fn steps(&self, recorded: Nanos, most: usize, job: &Job) -> Result<Vec<Finding>> {
        let slow = self.stragglers.stragglers.iter();
        let regions = &self.activities.definitions().regions;
        let has_teams = self
            .activities
            .calls()
            .any(|(_, call)| call.kind == CallKind::Fork);
        // The n-th states of threads of a team have nothing in common.
        let is_comparable =
            |function: u32| !has_teams || !regions.get(function as usize).is_some_and(is_running);
        let slow = slow.filter(|it| it.kind == StragglerKind::Step && is_comparable(it.function));
        let ranks = self.ranks();
        let count = i64::try_from(ranks.len()).unwrap_or(i64::MAX).max(1);
        let shown = ranks.len().div_ceil(MAX_STEP_WINDOWS).max(1);
        let shown: Vec<LocationId> = ranks.into_iter().step_by(shown).collect();
        let finding = |(it, step): (&Straggler, u64)| {
            let saved = Nanos(it.lost.0 / count);
            let mut window: Option<TimeRange> = None;
            if share(saved, recorded) >= self.min_share {
                for rank in &shown {
                    let own = bad_calls::window(self, *rank, it.function, step, job)?;
                    window = match (window, own) {
                        (Some(all), Some(own)) => {
                            TimeRange::new(all.start.min(own.start), all.end.max(own.end))
                        }
                        (all, own) => all.or(own),
                    };
                }
            }
            Ok(Finding {
                kind: FindingKind::SlowStep {
                    function: RegionId(it.function),
                    step,
                },
                locations: Vec::new(),
                own: None,
                peers: None,
                longest: None,
                caller: None,
                saved,
                share: share(saved, recorded),
                cost: it.lost,
                held_up: 0,
                factor: Some(it.factor),
                window,
            })
        };
        let slow = slow.filter_map(|it| Some((it, it.step?)));
        slow.take(most).map(finding).collect()
    }

    /// Time of MPI calls beyond their waiting, without the begin and end of MPI.
    fn transfers(&self, recorded: Nanos, job: &Job) -> Result<Finding> {
        let saved = self.whatif.saved_without_transfers(job)?;
        let is_transfer = |kind: CallKind| {
            !kind.is_local() && !matches!(kind, CallKind::Init | CallKind::Finalize)
        };
        let calls = self
            .activities
            .calls()
            .filter(|(_, call)| is_transfer(call.kind));
        let all: u128 = calls
            .map(|(_, call)| u128::from(call.leave.saturating_since(call.enter)))
            .sum();
        let waits = self.waits.states().iter();
        let waits = waits.filter(|it| {
            it.pattern.is_waiting() && it.pattern != Pattern::FinalizeWait && !it.pattern.is_local()
        });
        let waiting: u128 = waits.map(|it| u128::from(it.ticks)).sum();
        Ok(Finding {
            kind: FindingKind::Transfers,
            locations: Vec::new(),
            own: None,
            peers: None,
            longest: None,
            caller: None,
            saved,
            share: share(saved, recorded),
            cost: self.activities.clock().total(all.saturating_sub(waiting)),
            held_up: 0,
            factor: None,
            window: None,
        })
    }
}

/// Returns a time as a share of the recorded run time.
pub(super) fn share(saved: Nanos, recorded: Nanos) -> f64 {
    match recorded.0 {
        0 => 0.0,
        recorded => saved.0 as f64 / recorded as f64,
    }
}
