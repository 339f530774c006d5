//! [`Runs`]: consecutive slow calls of a function on a rank, which are the speed of the rank and no mode.

use crate::lost_time::modes::NewModes;
use crate::lost_time::own_speed::Withdrawn;
use crate::{FunctionId, Judgement, Label, Sample};
use std::collections::{BTreeMap, BTreeSet};

/// Fewest calls of a run.
const CALLS: usize = 3;
/// Largest number of calls of a run that is not yet the speed of its rank.
const MOST_CALLS: usize = 64;
/// Largest number of runs.
const MOST_RUNS: usize = 1 << 16;
/// Number of runs of slow calls that occur by chance in as many functions with a mode.
const BY_CHANCE: f64 = 0.01;

/// Number of calls in a mode, and of all calls, that are assumed in addition to those outside of runs: without any,
/// the share of the mode is a fifth.
const PRIOR: (f64, f64) = (0.5, 2.5);

/// Slow call of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunCall {
    /// The call.
    pub(in crate::lost_time) call: Withdrawn,
    /// Time lost if it is an alarm, in nanoseconds.
    pub(in crate::lost_time) alarmed: Option<i64>,
    /// `true` if it is part of the means of ranks and steps.
    pub(in crate::lost_time) in_means: bool,
    /// `true` if it is known to be in a mode.
    in_mode: bool,
}

/// Consecutive slow calls of a function on a rank.
#[derive(Clone, Debug, Default)]
struct Run {
    /// Calls until they are the speed of the rank.
    calls: Vec<RunCall>,
    /// `true` if slow calls are the speed of the rank.
    is_speed: bool,
}

/// Runs of slow calls by rank and function.
///
/// A function that is slower in some steps, or on a rank, gives a mode first: its calls have a new run time. But a
/// mode has some of the calls, so that a run of several calls one after the other on a rank is unlikely. If it
/// is, given the share of the mode in the other calls, the calls of the run are the speed of the rank: they are taken
/// from the mode, and ranks and steps are compared with them.
#[derive(Clone, Debug, Default)]
pub(in crate::lost_time) struct Runs {
    /// Runs by program and rank, and function.
    ranks: BTreeMap<(u32, u32), BTreeMap<FunctionId, Run>>,
    /// Number of calls of runs that may be in a mode, by function.
    held: BTreeMap<FunctionId, u64>,
    /// Number of runs.
    count: usize,
}

impl Runs {
    /// Adds the calls of a rank in a step that take part. Those at the indices `in_modes`, in ascending order, are in
    /// modes. Returns the calls that turn out to be the speed of the rank. `ranks` returns the number of ranks that
    /// call a function.
    pub(in crate::lost_time) fn add(
        &mut self,
        (rank, step): ((u32, u32), u64),
        (samples, judgements): (&[Sample], &[Judgement]),
        in_modes: &[usize],
        (modes, ranks): (&NewModes, impl Fn(FunctionId) -> usize),
        takes_part: impl Fn(FunctionId) -> bool,
    ) -> Vec<RunCall> {
        let mut released = Vec::new();
        let slow = modes.last_slow();
        if slow.is_empty() && !self.ranks.contains_key(&rank) {
            return released;
        }
        let at_own_speed = modes.last_at_own_speed();
        let mut own = self.ranks.remove(&rank).unwrap_or_default();
        for (at, (sample, judgement)) in samples.iter().zip(judgements).enumerate() {
            let function = sample.function;
            if sample.first || judgement.label == Label::Ignored {
                continue;
            }
            let in_mode = in_modes.binary_search(&at).is_ok();
            if !in_mode && slow.binary_search(&at).is_err() {
                if let Some(run) = own.remove(&function) {
                    self.forget(function, &run.calls);
                }
                continue;
            }
            if !takes_part(function) {
                continue;
            }
            if !own.contains_key(&function) {
                if self.count >= MOST_RUNS {
                    continue;
                }
                self.count += 1;
            }
            let is_alarm = judgement.label.is_slow();
            let call = RunCall {
                call: Withdrawn {
                    rank,
                    step,
                    function,
                    time: sample.runtime,
                },
                alarmed: is_alarm.then(|| judgement.severity(sample).0),
                in_means: !in_mode && (!is_alarm || at_own_speed.binary_search(&at).is_ok()),
                in_mode,
            };
            let run = own.entry(function).or_default();
            if run.is_speed {
                released.push(call);
                continue;
            }
            run.calls.push(call);
            *self.held.entry(function).or_default() += u64::from(call.may_be_in_mode());
            let all = ranks(function);
            if self.is_speed(function, &run.calls, modes, all) {
                let calls = std::mem::take(&mut run.calls);
                run.is_speed = true;
                self.release(function, &calls);
                released.extend(calls);
            } else if run.calls.len() >= MOST_CALLS {
                let run = own.remove(&function).unwrap_or_default();
                self.forget(function, &run.calls);
            }
        }
        if !own.is_empty() {
            self.ranks.insert(rank, own);
        }
        released
    }

    /// Notes calls of earlier steps that turned out to be in a mode. They are no more part of the means, unless a
    /// server has them (`stays`).
    pub(in crate::lost_time) fn withdraw(&mut self, calls: &[Withdrawn], stays: bool) {
        for call in calls {
            let own = self.ranks.get_mut(&call.rank);
            let run = own.and_then(|own| own.get_mut(&call.function));
            let of_run = run.into_iter().flat_map(|run| &mut run.calls);
            let mut same = of_run.filter(|one| {
                one.in_means && one.call.step == call.step && one.call.time == call.time
            });
            if let Some(one) = same.next() {
                *self.held.entry(call.function).or_default() += u64::from(!one.may_be_in_mode());
                (one.in_mode, one.in_means) = (true, stays);
            }
        }
    }

    /// Returns `true` if a run is unlikely for a mode: at the share that modes have in the calls outside of runs.
    fn is_speed(
        &self,
        function: FunctionId,
        run: &[RunCall],
        modes: &NewModes,
        ranks: usize,
    ) -> bool {
        let is_in_mode = |one: &&RunCall| {
            one.in_mode || one.alarmed.is_some() && modes.is_in_mode(function, one.call.time)
        };
        let in_mode = run.iter().filter(is_in_mode).count();
        if in_mode < CALLS || 2 * in_mode < run.len() {
            return false;
        }
        let share = modes.share(function);
        let held = self.held.get(&function).copied().unwrap_or_default();
        let of_ranks = share.ranks.clamp(1, ranks.max(1)) as f64 / ranks.max(1) as f64;
        let others = (share.since as f64 * of_ranks - held as f64).max(0.0);
        let outside = (share.in_modes.saturating_sub(held) as f64).min(others);
        let chance = (outside + PRIOR.0) / (others + PRIOR.1);
        in_mode as f64 * chance.ln() <= (BY_CHANCE / share.calls.max(1) as f64).ln()
    }

    /// Returns the calls of the runs of functions that have no modes any more: they are the speed of their ranks too.
    pub(in crate::lost_time) fn release_all(
        &mut self,
        functions: &BTreeSet<FunctionId>,
    ) -> Vec<RunCall> {
        let mut released = Vec::new();
        for function in functions {
            self.held.remove(function);
            for own in self.ranks.values_mut() {
                if let Some(run) = own.get_mut(function) {
                    released.append(&mut run.calls);
                    run.is_speed = true;
                }
            }
        }
        released
    }

    fn release(&mut self, function: FunctionId, calls: &[RunCall]) {
        let held = calls.iter().filter(|one| one.may_be_in_mode()).count() as u64;
        if let Some(all) = self.held.get_mut(&function) {
            *all = all.saturating_sub(held);
        }
    }

    fn forget(&mut self, function: FunctionId, calls: &[RunCall]) {
        self.release(function, calls);
        self.count -= 1;
    }
}

impl RunCall {
    /// Returns its program and rank.
    pub(crate) fn rank(&self) -> (u32, u32) {
        self.call.rank
    }

    fn may_be_in_mode(&self) -> bool {
        self.in_mode || self.alarmed.is_some()
    }
}
