//! [`LostTime`]: time lost in a run, by cause; [`Lasting`]: losses by more than single calls, which
//! are new modes, slow ranks and slow phases.
//!
//! A [detector](crate::Detector) finds single calls that are abnormal for their function. Most time
//! is lost in other ways, in which no call is abnormal:
//!
//! | lost by | type | compared with |
//! |---|---|---|
//! | single calls | [`Losses`] | the other calls of the function |
//! | a slow run time that repeats | [`NewMode`] | the expected run time when it appeared |
//! | a slow rank | [`SlowRank`] | the median rank in the same step |
//! | a slow phase of a function | [`SlowPhase`] | other steps |
//!
//! [`LostTime`] adds the four up. No call counts twice: abnormal calls and calls of new modes are not
//! part of the means of ranks and steps, and a rank is compared with the median rank of the same
//! step, whether or not the step is slow.

mod causes;
mod groups;
mod modes;
mod own_speed;
mod peers;
mod rank_speed;
mod run_times;
mod sentences;
mod slowness;
mod step_sums;
mod step_times;
mod table;

pub use causes::{Cause, Found, LargerCounters};
pub use modes::NewModes;
pub(crate) use modes::calls::{OfClient, merged};
pub use modes::new_mode::{Accepted, Beginning, NewMode};
pub(crate) use modes::shared::{InShared, shared};
pub(crate) use modes::times::RankModes;
pub use modes::times::{ModeStep, ModeTimes};
pub(crate) use own_speed::{Withdrawn, at_own_speed};
pub use peers::Peers;
pub use slowness::{PhaseStep, SlowAlarms, SlowPhase, SlowRank, SlowStep, Slowness};
pub use step_sums::FunctionSteps;
pub use step_times::StepTimes;

use crate::calls::Calls;
use crate::server::RankSummary;
use crate::{FunctionId, Judgement, Loss, Losses, Sample};
use modes::{RunCall, Runs};
use perf_core::{Nanos, fits};
use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};

/// Time lost in a run, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct LostTime {
    /// Exclusive time of all calls.
    pub of: Nanos,
    /// Time lost by single abnormal calls, without those that wait for others, those in new modes, and those that take
    /// as long as the other calls of a slow rank or phase.
    pub calls: Nanos,
    /// Time lost by new modes.
    pub modes: Nanos,
    /// Time lost by slow ranks.
    pub ranks: Nanos,
    /// Part of it on ranks that are slow in all of their steps, as far as noise tells. They may have more work.
    pub always: Nanos,
    /// Time lost by slow phases.
    pub phases: Nanos,
    /// Time by which abnormal calls and new modes of functions that wait for others take longer. It is no time
    /// lost, because its cause is: one rank that loses a second makes all others wait for a second.
    pub waiting: Nanos,
}

impl LostTime {
    /// Returns the time lost by cause. `of` is the exclusive time of all calls, `losses` the sum of their losses;
    /// `waits` returns `true` for functions that wait for others.
    pub fn new<'a>(
        (of, losses): (Nanos, &Loss),
        slowness: &Slowness,
        modes: impl IntoIterator<Item = &'a NewMode>,
        waits: impl Fn(FunctionId) -> bool,
    ) -> Self {
        let sum = |times: &mut dyn Iterator<Item = Nanos>| {
            Nanos(times.fold(0, |sum, time| sum.saturating_add(time.0)))
        };
        let in_slow = sum(&mut slowness.alarms.iter().map(|one| one.lost));
        // Time in modes and in their alarms: of functions that do work, and of those that wait.
        let (mut in_modes, mut alarmed) = ([0_i64; 2], [in_slow.0, 0]);
        for mode in modes {
            let of = usize::from(waits(mode.function));
            if mode.accepted.is_none() {
                in_modes[of] = in_modes[of].saturating_add(mode.lost.0);
            }
            // Alarms of modes that the user accepts are no loss either.
            if !matches!(mode.accepted, Some(Accepted::UsualSince(_))) {
                alarmed[of] = alarmed[of].saturating_add(mode.alarmed.0);
            }
        }
        let always = slowness.ranks.iter().filter(|slow| slow.always);
        let single = |time: Nanos, alarmed: i64| time.0.saturating_sub(alarmed).max(0);
        LostTime {
            of,
            calls: Nanos(single(losses.time, alarmed[0])),
            modes: Nanos(in_modes[0]),
            waiting: Nanos(single(losses.waiting, alarmed[1]).saturating_add(in_modes[1])),
            ranks: sum(&mut slowness.ranks.iter().map(|slow| slow.lost)),
            always: sum(&mut always.map(|slow| slow.lost)),
            phases: sum(&mut slowness.phases.iter().map(|slow| slow.lost)),
        }
    }

    /// Returns the sum of all causes, without waiting.
    pub fn total(&self) -> Nanos {
        let all = [self.calls, self.modes, self.ranks, self.phases];
        Nanos(all.iter().fold(0, |sum, one| sum.saturating_add(one.0)))
    }

    /// Returns the share of all time that was lost; `None` without calls.
    pub fn share(&self) -> Option<f64> {
        self.share_of(self.total())
    }

    fn share_of(&self, time: Nanos) -> Option<f64> {
        (self.of.0 > 0).then(|| time.0 as f64 / self.of.0 as f64)
    }
}

/// New modes, slow ranks and slow phases of the calls of a [`Monitor`](crate::Monitor).
#[derive(Clone, Debug, Default)]
pub struct Lasting {
    /// New modes.
    modes: NewModes,
    /// Comparison of ranks and steps.
    peers: Peers,
    /// Exclusive time of all calls, in nanoseconds.
    time: i64,
    /// Part of it in unknown functions, in nanoseconds.
    unknown: i64,
    /// Number of functions so far.
    functions: usize,
    /// Patterns of functions whose new modes are normal, with reasons.
    rules: Vec<(String, String)>,
    /// Number of modes to which the rules were applied.
    ruled: usize,
    /// Rows of the last batch that are calls of modes, or were cut at the end of their stream, in ascending order.
    skipped: Vec<usize>,
    /// Runs of slow calls.
    runs: Runs,
    /// Slow calls that turned out to be the speed of their rank in the last batch.
    at_own_speed: Vec<RunCall>,
    /// `true` if a server compares ranks too.
    is_shared: bool,
    /// Number of steps in which ranks are compared, unless there are many; 0 is 1.
    group: u64,
    /// Steps that are compared; `None` for all.
    compared: Option<RangeInclusive<u64>>,
}

impl Lasting {
    /// Returns the new modes.
    pub fn modes(&self) -> &NewModes {
        &self.modes
    }

    /// Returns the comparison of ranks and steps.
    pub fn peers(&self) -> &Peers {
        &self.peers
    }

    /// Returns the exclusive time of calls that stand for unknown functions, such as the state `Running` of
    /// Paraver's traces outside of functions. Of such calls only those beyond experience are reported, and ranks are
    /// compared.
    pub fn in_unknown_functions(&self) -> Nanos {
        Nanos(self.unknown)
    }

    /// Returns the time lost by cause; `losses` and `calls` are those of the same monitor.
    pub fn lost_time(&self, losses: &Losses, calls: &Calls) -> LostTime {
        LostTime::new(
            (Nanos(self.time), &losses.total()),
            &self.peers.slowness(),
            self.modes.all(),
            |function| calls.waits(function),
        )
    }

    /// Returns the time that each rank lost by all causes, given the losses of the ranks in single calls. Slow
    /// phases lost an equal part on each rank, and none if there are several programs. Waiting for others is no time
    /// lost.
    pub fn lost_by_rank(&self, ranks: &[RankSummary], calls: &Calls) -> Vec<Nanos> {
        let modes = self.modes.steps();
        let modes = modes.filter(|one| !calls.waits(one.function));
        self.peers.slowness().lost_by_rank(modes, ranks)
    }

    /// Returns the time that functions lost in new modes, in slow phases and on slow ranks, in calls that are no alarms.
    /// Waiting for others is no time lost.
    pub fn lost_by_function(&self, calls: &Calls) -> BTreeMap<FunctionId, Nanos> {
        let slowness = self.peers.slowness();
        let phases = slowness.phase_steps.into_iter();
        let phases = phases.map(|one| (one.function, one.lost));
        let modes = self.modes.steps();
        let modes = modes.filter(|one| !calls.waits(one.function));
        let modes = modes.map(|one| (one.function, one.lost));
        let mut lost: BTreeMap<FunctionId, Nanos> = BTreeMap::new();
        for (function, time) in phases.chain(modes).chain(slowness.rank_functions) {
            let sum = lost.entry(function).or_default();
            sum.0 = sum.0.saturating_add(time.0);
        }
        lost
    }

    /// Returns the time that each rank waited for others longer than usual, in nanoseconds: in abnormal calls, which
    /// `ranks` have, and in new modes. The sum is [`LostTime::waiting`], apart from accepted modes.
    ///
    /// ```
    /// use perf_anomaly::Monitor;
    /// use perf_anomaly::server::RankSummary;
    /// use perf_core::Nanos;
    /// let report = Monitor::default().finish()?;
    /// let mut rank = RankSummary::default();
    /// rank.loss.waiting = Nanos(700);
    /// assert_eq!(report.lasting.waiting_by_rank(&[rank], &report.calls), [Nanos(700)]);
    /// # Ok::<(), perf_anomaly::Error>(())
    /// ```
    pub fn waiting_by_rank(&self, ranks: &[RankSummary], calls: &Calls) -> Vec<Nanos> {
        let waiting = self.waiting_by(calls, |one| (one.program, one.rank));
        let of = |rank: &RankSummary| {
            // Most ranks wait in single calls only.
            let in_modes = waiting.get(&(rank.program, rank.rank)).copied();
            let in_modes = in_modes.unwrap_or_default();
            Nanos(rank.loss.waiting.0.saturating_add(in_modes.0).max(0))
        };
        ranks.iter().map(of).collect()
    }

    /// Returns the time that calls of new modes waited for others longer than usual, by function, in calls that are no
    /// alarms. That of alarms is [`Loss::waiting`] of the function.
    ///
    /// ```
    /// use perf_anomaly::Monitor;
    /// let report = Monitor::default().finish()?;
    /// assert!(report.lasting.waiting_by_function(&report.calls).is_empty());
    /// # Ok::<(), perf_anomaly::Error>(())
    /// ```
    pub fn waiting_by_function(&self, calls: &Calls) -> BTreeMap<FunctionId, Nanos> {
        self.waiting_by(calls, |one| one.function)
    }

    /// Returns the waiting time of calls of new modes that are no alarms, by a key.
    fn waiting_by<K: Ord>(
        &self,
        calls: &Calls,
        key: impl Fn(&ModeStep) -> K,
    ) -> BTreeMap<K, Nanos> {
        let mut waiting: BTreeMap<K, Nanos> = BTreeMap::new();
        for one in self.modes.steps().filter(|one| calls.waits(one.function)) {
            let sum = waiting.entry(key(&one)).or_default();
            sum.0 = sum.0.saturating_add(one.lost.0);
        }
        waiting
    }

    /// Sets the number of steps in which ranks are compared.
    pub(crate) fn group(&mut self, steps: u64) {
        self.group = steps;
        self.peers = std::mem::take(&mut self.peers).grouped(steps);
    }

    /// Returns the number of steps in which ranks are compared, unless there are many; 0 is 1.
    pub(crate) fn steps_of_group(&self) -> u64 {
        self.group
    }

    /// Sets the steps in which ranks and steps are compared.
    pub(crate) fn compare_between(&mut self, steps: RangeInclusive<u64>) {
        self.compared = Some(steps);
    }

    /// Accepts the new modes of functions whose name matches a pattern as normal, for a reason.
    pub(crate) fn accept(&mut self, pattern: String, reason: String) {
        self.rules.push((pattern, reason));
    }

    /// Keeps changes of the time lost in modes for a server.
    pub(crate) fn share(&mut self) {
        self.modes.keep_changes();
        self.is_shared = true;
    }

    /// Returns the modes for modification.
    pub(crate) fn modes_mut(&mut self) -> &mut NewModes {
        &mut self.modes
    }

    /// Returns the rows of the last batch that are not compared with other ranks and steps: calls of modes and those that
    /// were cut at the end of their stream, in ascending order.
    pub(crate) fn skipped(&self) -> &[usize] {
        &self.skipped
    }

    /// Returns a row of the last batch as part of the means of ranks and steps; `None` if it is none.
    pub(crate) fn in_means(
        &self,
        calls: &Calls,
        row: usize,
        judgement: &Judgement,
    ) -> Option<Withdrawn> {
        let batch = calls.batch();
        let (call, sample) = (batch.calls().get(row)?, batch.samples().get(row)?);
        let key = calls.stream_key(call.stream)?;
        let compared = self.compared.as_ref();
        let is_part = !sample.first
            && !judgement.label.is_anomaly()
            && self.skipped.binary_search(&row).is_err()
            && calls.computes(sample.function)
            && compared.is_none_or(|steps| steps.contains(&batch.step()));
        is_part.then_some(Withdrawn {
            rank: (key.program, key.rank),
            step: batch.step(),
            function: sample.function,
            time: sample.runtime,
        })
    }

    /// Takes calls back that are abnormal after all.
    pub(crate) fn withdraw(&mut self, calls: &[Withdrawn]) {
        self.peers.withdraw(calls);
    }

    /// Returns the slow calls that turned out to be the speed of their rank in the last batch. Those that are not yet
    /// part of the means of ranks and steps belong to them.
    pub(crate) fn at_own_speed(&self) -> &[RunCall] {
        &self.at_own_speed
    }

    /// Begins another batch.
    pub(crate) fn begin(&mut self) {
        self.skipped.clear();
        self.at_own_speed.clear();
    }

    /// Adds rows of the last batch, which belong to one stream, with their judgements.
    pub(crate) fn add(
        &mut self,
        calls: &Calls,
        rank: (u32, u32),
        rows: Range<usize>,
        judgements: &[Judgement],
    ) {
        let batch = calls.batch();
        let step = batch.step();
        let (samples, start) = (&batch.samples()[rows.clone()], rows.start);
        for function in self.functions..calls.function_count() {
            let function = FunctionId(function as u32);
            if calls.is_unknown(function) {
                self.modes.ignore(function);
                self.peers.ignore_phases(function);
            }
            if !self.rules.is_empty() {
                self.keep_private(calls, function);
            }
        }
        self.functions = calls.function_count();
        let has_unknown = calls.has_unknown_functions();
        for (sample, call) in samples.iter().zip(&batch.calls()[rows]) {
            let time = call.exclusive.0.max(0);
            self.time = self.time.saturating_add(time);
            if has_unknown && calls.is_unknown(sample.function) {
                self.unknown = self.unknown.saturating_add(time);
            }
        }
        let natures = (
            |function| calls.waits(function),
            |function| calls.computes(function),
        );
        let in_modes = self
            .modes
            .add_to((rank, step), samples, judgements, natures);
        let mut skipped = in_modes.clone();
        // The end of a stream or of a window cuts calls.
        let own = batch.calls()[start..]
            .iter()
            .take(samples.len())
            .enumerate();
        let cut = own.filter(|(_, call)| call.flags.closed_at_end());
        skipped.extend(cut.map(|(at, _)| at));
        skipped.sort_unstable();
        skipped.dedup();
        self.skipped.extend(skipped.iter().map(|at| start + at));
        // A server has these calls already.
        if !self.is_shared {
            self.peers.withdraw(self.modes.withdrawn());
        }
        self.runs.withdraw(self.modes.withdrawn(), self.is_shared);
        let compared = self.compared.as_ref();
        if compared.is_some_and(|steps| !steps.contains(&step)) {
            return;
        }
        let takes_part = |function| calls.computes(function);
        self.peers
            .add(rank, step, (samples, judgements), &skipped, takes_part);
        self.add_runs(calls, (rank, step), (samples, judgements), &in_modes);
    }

    /// Adds the calls of a rank to the runs of slow calls, and those that turn out to be the speed of their rank to the
    /// means. `in_modes` are the indices of those in modes.
    fn add_runs(
        &mut self,
        calls: &Calls,
        place: ((u32, u32), u64),
        judged: (&[Sample], &[Judgement]),
        in_modes: &[usize],
    ) {
        let ranks = |function| self.peers.ranks_of(function);
        let rules = &self.rules;
        let is_accepted = |function| {
            let name = calls.function_name(function);
            rules.iter().any(|(pattern, _)| fits(pattern, &name))
        };
        let takes_part = |function| {
            let is_known = calls.computes(function) && !calls.is_unknown(function);
            is_known && (rules.is_empty() || !is_accepted(function))
        };
        let modes = (&self.modes, ranks);
        let mut at_own_speed = self.runs.add(place, judged, in_modes, modes, takes_part);
        let without_modes = self.modes.release(&at_own_speed);
        let others = self.runs.release_all(&without_modes);
        self.modes.are_at_own_speed(&others);
        at_own_speed.extend(others);
        self.peers.add_run(&at_own_speed);
        self.at_own_speed.extend(at_own_speed);
    }

    /// Sends no slow calls of a function to a server if a rule accepts its modes.
    #[cold]
    fn keep_private(&mut self, calls: &Calls, function: FunctionId) {
        let name = calls.function_name(function);
        if self.rules.iter().any(|(pattern, _)| fits(pattern, &name)) {
            self.modes.keep_private(function);
        }
    }

    /// Ends a part of a step, or the step.
    pub(crate) fn end(&mut self, calls: &Calls, is_step: bool) {
        let known = self.modes.all().count();
        let new: Vec<_> = self.modes.all().skip(self.ruled).collect();
        let mut accepted = Vec::new();
        for mode in new {
            let name = calls.function_name(mode.function);
            let mut rules = self.rules.iter();
            let rule = rules.find(|(pattern, _)| fits(pattern, &name));
            accepted.extend(rule.map(|(_, reason)| (mode.function, reason.clone())));
        }
        for (function, reason) in accepted {
            self.modes.accept(function, &reason);
        }
        self.ruled = known;
        if is_step {
            self.peers.end_step();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Monitor;
    use perf_core::{EventSink, Nanos, StreamEvent, StreamKey};

    /// A call that the end of its stream cuts is not compared with complete ones.
    #[test]
    fn calls_that_are_cut_are_not_compared() {
        let mut monitor = Monitor::default();
        let stream = monitor.stream(StreamKey::default());
        let solve = monitor.region(0, "solve");
        for at in 0..40 {
            monitor.push(stream, Nanos(1000 * at), StreamEvent::Enter(solve));
            monitor.push(stream, Nanos(1000 * at + 500), StreamEvent::Exit(solve));
        }
        monitor.push(stream, Nanos(40_000), StreamEvent::Enter(solve));
        let report = monitor.finish().expect("no store");
        assert_eq!(report.losses.total().calls, 41);
        assert_eq!(report.lasting.skipped(), [40]);
    }
}
