//! [`PathDelays`] of the ranks or threads in a call path, and the findings made from them:
//! imbalance, and delays that move between locations, unless they are noise.

use super::collect::{Cost, HeldUp, HeldUps, Sources, share};
use super::times::{HeldUpBy, Peers, Times, mean_and_most, slow, slow_and_others};
use super::{Finding, FindingKind, MIN_STEADY};
use crate::Result;
use perf_core::{CallPathId, Job, LocationId, Nanos};
use std::collections::BTreeSet;

/// Factor between the time that balancing each call saves and the excess of the slowest rank, above which delays move
/// from rank to rank.
const MIN_MOVING: f64 = 2.0;

/// Standard deviation of the times of single calls up to which unequal times that move from rank to rank may be noise.
const MAX_NOISE: f64 = 0.08;

/// Delays of ranks in a call path, or of the threads of a process in a function.
pub(super) struct PathDelays {
    /// Locations that take long.
    pub(super) slow: Vec<LocationId>,
    /// `true` if few calls explain the time of each of them.
    pub(super) is_of_calls: bool,
    /// Waiting that all locations cause, in ticks.
    cost: f64,
    /// Waiting that the slow locations cause, in ticks.
    of_slow: f64,
    /// `true` if the delays move from location to location.
    pub(super) moves: bool,
}

impl PathDelays {
    /// Returns `true` if the delays are neither those of one location nor of few calls.
    pub(super) fn may_move(&self) -> bool {
        let is_of_slow = 2.0 * self.of_slow >= self.cost;
        !is_of_slow || (self.slow.len() > 1 && !self.is_of_calls)
    }
}

impl Sources<'_> {
    /// Returns `true` if delays that move from location to location cost no more than the noise of single calls explains.
    ///
    /// The largest of n times with noise is on average less than `sqrt(2 ln n)` standard deviations above their mean.
    pub(super) fn is_noise(
        &self,
        finding: &Finding,
        (peers, path): (Peers, CallPathId),
        times: &Times<'_>,
    ) -> bool {
        let moves = matches!(finding.kind, FindingKind::MovingImbalance { .. });
        let is_steady = !moves && finding.factor.is_none_or(|it| it >= MIN_STEADY);
        let function = self.function_of_calls(path).map(|it| it.0);
        let functions = &self.stragglers.functions;
        let noise = functions.iter().find(|it| Some(it.function) == function);
        let Some(noise) = noise.map(|it| it.noise).filter(|it| *it <= MAX_NOISE) else {
            return false;
        };
        let (sum, count) = times
            .of_peers(peers)
            .into_iter()
            .filter(|it| it.1 > 0.0)
            .fold((0.0, 0_usize), |(sum, count), it| (sum + it.1, count + 1));
        let count = count.max(2) as f64;
        let chance = noise * (2.0 * count.ln()).sqrt() * sum / count;
        let chance = self.activities.clock().total(chance as u128);
        !is_steady && finding.saved <= chance
    }

    /// Returns the delays of peers in a call path.
    pub(super) fn path_delays(
        &self,
        peers: Peers,
        path: CallPathId,
        costs: &[Cost],
        times: &Times<'_>,
    ) -> PathDelays {
        let all = times.of_peers(peers);
        let slow = slow(&all);
        let (_, others) = slow_and_others(&all, &slow);
        let is_of_calls = all.iter().filter(|it| slow.contains(&it.0)).all(|it| {
            self.bad_calls((it.0, path), peers.held_up_by(), it.1 - others)
                .is_some()
        });
        let is_path = |of: &CallPathId| match peers {
            Peers::Ranks(path) => *of == path,
            Peers::Threads(_, function) => times.function(*of) == Some(function),
        };
        let own = costs.iter().filter(|((_, of, by), _)| {
            *by == peers.held_up_by() && of.as_ref().is_some_and(is_path)
        });
        let (mut cost, mut of_slow) = (0.0, 0.0);
        for ((location, ..), ticks) in own {
            cost += ticks;
            of_slow += if slow.contains(location) { *ticks } else { 0.0 };
        }
        PathDelays {
            slow,
            is_of_calls,
            cost,
            of_slow,
            moves: false,
        }
    }

    /// Returns the time that balancing the time of peers saves, those in all processes included.
    fn saved_by_balancing(
        &self,
        peers: Peers,
        times: &Times<'_>,
        bound: Nanos,
        recorded: Nanos,
        job: &Job,
    ) -> Result<Nanos> {
        self.saved(bound, recorded, || match peers {
            Peers::Ranks(path) => self.whatif.saved_by_balancing(path, job),
            Peers::Threads(_, function) => {
                let inside = times.ends_in(function);
                self.whatif.saved_by_balancing_teams(&inside, job)
            }
        })
    }

    /// Returns the finding of delays that move from location to location, if balancing each call saves much more than
    /// equal times of all of them would.
    pub(super) fn moving(
        &self,
        (peers, path): (Peers, CallPathId),
        delays: &PathDelays,
        (times, held_up): (&Times<'_>, &HeldUps),
        recorded: Nanos,
        job: &Job,
    ) -> Result<Option<Finding>> {
        let clock = self.activities.clock();
        let cost = clock.total(delays.cost as u128);
        let saved = self.saved_by_balancing(peers, times, cost, recorded, job)?;
        let all = times.of_peers(peers);
        let (mean, most) = mean_and_most(&all);
        let steady = clock.total((most - mean) as u128);
        // The longest wait tells a team of threads from ranks.
        let held = all
            .iter()
            .filter_map(|it| held_up.get(&(it.0, HeldUpBy::Thread)));
        let longest = held.filter_map(|it| it.longest).max_by_key(|it| it.ticks);
        let longest = longest.filter(|_| peers.held_up_by() == HeldUpBy::Thread);
        Ok(
            (saved.0 as f64 > MIN_MOVING * steady.0 as f64).then(|| Finding {
                kind: FindingKind::MovingImbalance { path },
                locations: Vec::new(),
                saved,
                share: share(saved, recorded),
                cost,
                held_up: 0,
                factor: (mean > 0.0).then(|| most / mean),
                own: Some(clock.total(most as u128)),
                peers: Some(clock.total(mean as u128)),
                longest,
                caller: None,
                window: longest.and_then(|it| self.window(&it)),
            }),
        )
    }

    /// Several locations that take long in a call path.
    pub(super) fn imbalance(
        &self,
        (peers, path): (Peers, CallPathId),
        delays: &PathDelays,
        (times, held_up): (&Times<'_>, &HeldUps),
        recorded: Nanos,
        job: &Job,
    ) -> Result<Finding> {
        let clock = self.activities.clock();
        let slow = delays.slow.clone();
        let cost = clock.total(delays.of_slow as u128);
        let saved = self.saved_by_balancing(peers, times, cost, recorded, job)?;
        let held = slow.iter();
        let held: Vec<&HeldUp> = held
            .filter_map(|it| held_up.get(&(*it, peers.held_up_by())))
            .collect();
        let waiting = held.iter().flat_map(|it| &it.locations);
        let waiting: BTreeSet<&LocationId> = waiting.filter(|it| !slow.contains(it)).collect();
        let longest = held.iter().filter_map(|it| it.longest);
        let longest = longest.max_by_key(|it| it.ticks);
        let (own, others) = slow_and_others(&times.of_peers(peers), &slow);
        Ok(Finding {
            kind: FindingKind::Imbalance { path },
            saved,
            share: share(saved, recorded),
            cost,
            held_up: waiting.len(),
            factor: (others > 0.0).then(|| own / others),
            own: Some(clock.total(own as u128)),
            peers: Some(clock.total(others as u128)),
            longest,
            caller: None,
            window: longest.and_then(|it| self.window(&it)),
            locations: slow,
        })
    }
}
