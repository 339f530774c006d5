//! [`NewMode`]: a slow run time that repeats, with its [`Beginning`]; [`Accepted`]: reasons why one is
//! normal; [`Event`]: a mode with its calls by rank and step.

use super::calls::ModeCalls;
use super::runs::RunCall;
use super::times::ModeTimes;
use crate::lost_time::own_speed::{InMeans, differ};
use crate::lost_time::run_times::{Slow, Wide};
use crate::lost_time::step_sums::StepSums;
use crate::{FunctionId, Judgement, Sample};
use perf_core::{Merge, Nanos};
use std::collections::{BTreeMap, VecDeque};

/// Number of calls that a mode would have had before its first one, at its later share of all calls, up
/// to which it may have been there since the start, and from which it was not.
const MISSING: (f64, f64) = (1.0, 3.0);

/// Largest number of bins of a mode: a factor of 8.
const MOST_BINS: usize = 48;
/// Factor between a run time and the usual one from which it may be one of a mode.
const LONGER: f64 = 1.25;
/// Smallest factor between the longest and the shortest run time of a mode that no single factor describes.
pub(in crate::lost_time) const WIDE: f64 = 2.5;
/// Share of all calls of a function from which a mode is normal.
const USUAL_SHARE: f64 = 0.5;
/// The same share for a wide mode that was there since the start: run times that vary so much are usual. For functions
/// that do not wait, it holds from this number of calls on.
const USUAL_WIDE: (f64, u64) = (0.15, 500);
/// Largest number of ranks that are counted for a mode.
const RANKS: usize = 1 << 16;
/// Bits of the fraction of a floating-point number that select a bin: 16 bins for each factor of 2.
const FRACTION: u32 = 4;

/// Reason for which a mode is normal.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub enum Accepted {
    /// It has half of the calls of its function since this step. A wide mode that was there since the start has 15 % of
    /// them: run times that vary so much are usual.
    UsualSince(u64),
    /// A rule of the user accepts it for this reason.
    Rule(String),
}

impl Accepted {
    /// Returns the reason, such as `usual since step 12`.
    ///
    /// ```
    /// use perf_anomaly::lost_time::Accepted;
    /// assert_eq!(Accepted::UsualSince(12).reason(), "usual since step 12");
    /// ```
    pub fn reason(&self) -> String {
        match self {
            Accepted::UsualSince(step) => format!("usual since step {step}"),
            Accepted::Rule(reason) => reason.clone(),
        }
    }
}

/// Beginning of a mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub enum Beginning {
    /// The mode was there since the first calls of the function.
    Start,
    /// The mode was not there before its first call.
    Appeared,
    /// There are too few calls before its first one to know whether it was there.
    Unknown,
}

/// Slow run time that repeats, in addition to the usual one.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct NewMode {
    /// Function.
    pub function: FunctionId,
    /// Shortest run time of the mode, within 6 %.
    pub from: Nanos,
    /// Longest run time of the mode, within 6 %.
    pub to: Nanos,
    /// Mean usual run time of the ranks on which its calls are.
    pub usual: Nanos,
    /// Step of its first call. A mode that was there since the [start](Self::beginning) has that of the
    /// first call of its function.
    pub first: u64,
    /// Number of calls of the function before that.
    pub before: u64,
    /// Number of calls of the function until the last call of the mode.
    pub of: u64,
    /// Step of its last call.
    pub last: u64,
    /// Number of calls.
    pub calls: u64,
    /// Sum of their run times.
    pub time: Nanos,
    /// Number of the calls that are alarms by themselves.
    pub alarms: u64,
    /// Time lost: run time minus the expected one, summed over the calls until the mode is accepted.
    pub lost: Nanos,
    /// Part of the time lost in calls that are alarms by themselves.
    pub alarmed: Nanos,
    /// Number of ranks with such calls.
    pub ranks: usize,
    /// Reason for which the mode is normal; `None` for a mode that loses time.
    pub accepted: Option<Accepted>,
}

impl NewMode {
    /// Returns the beginning, from the number of calls that the mode would have had before its first one.
    pub fn beginning(&self) -> Beginning {
        let after = self.of.saturating_sub(self.before).max(1);
        let missing = self.before as f64 * self.calls as f64 / after as f64;
        match missing {
            few if few <= MISSING.0 => Beginning::Start,
            many if many >= MISSING.1 => Beginning::Appeared,
            _ => Beginning::Unknown,
        }
    }

    /// Returns the factor between the mean run time and the usual one.
    pub fn factor(&self) -> f64 {
        let mean = self.time.0 as f64 / self.calls.max(1) as f64;
        mean / (self.usual.0.max(1) as f64)
    }

    /// Returns `true` if the run times differ by so much that no single factor describes them.
    pub(in crate::lost_time) fn is_wide(&self) -> bool {
        self.to.0 as f64 >= WIDE * self.from.0 as f64
    }
}

/// Mode and the ranks on which it occurred.
#[derive(Clone, Debug)]
pub(in crate::lost_time) struct Event {
    pub(in crate::lost_time) mode: NewMode,
    /// Bins of its run times relative to the usual ones of each rank.
    pub(in crate::lost_time) bins: (usize, usize),
    /// First and last of them with calls, and the end of these bins, if the mode is wide; otherwise `None`.
    pub(in crate::lost_time) seen: Option<(usize, usize)>,
    /// First of them when the mode was found, which identifies it among those of the function.
    pub(in crate::lost_time) id: u32,
    /// Usual run time when the mode was first noticed, relative to the ranks that do not differ, in nanoseconds.
    pub(in crate::lost_time) usual: i64,
    /// Usual run time of most ranks relative to that of the first ones, to which the bins are relative.
    pub(in crate::lost_time) most: f64,
    /// Time lost on each rank, by program and number.
    pub(in crate::lost_time) ranks: BTreeMap<(u32, u32), RankLoss>,
    /// End of the bins that a server knows.
    pub(in crate::lost_time) end: usize,
    /// Number of calls that were taken from it because they are the speed of their rank.
    pub(in crate::lost_time) released: u64,
}

/// Time that slow calls of a function lost on a rank, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(in crate::lost_time) struct RankLoss {
    /// Calls.
    pub(in crate::lost_time) calls: ModeCalls,
    /// Time lost by step, without that of alarms.
    pub(in crate::lost_time) steps: StepSums,
    /// Time lost by alarms, by step.
    alarms: StepSums,
}

/// Slow call.
#[derive(Clone, Copy, Debug)]
pub(in crate::lost_time) struct SlowCall {
    pub(in crate::lost_time) step: u64,
    /// Run time in nanoseconds.
    pub(in crate::lost_time) time: i64,
    /// Time lost in nanoseconds.
    pub(in crate::lost_time) lost: i64,
    /// Time lost against the expected time in nanoseconds, if the call is an alarm.
    pub(in crate::lost_time) alarmed: Option<i64>,
}

impl SlowCall {
    /// Returns the time lost without that of an alarm.
    pub(in crate::lost_time) fn rest(&self) -> i64 {
        self.lost.saturating_sub(self.alarmed.unwrap_or(0))
    }
}

/// Returns the bin of a run time.
#[inline]
pub(in crate::lost_time) fn bin(time: i64) -> usize {
    ((time.max(1) as f64).to_bits() >> (52 - FRACTION)) as usize
}

/// Returns the lower edge of a bin.
pub(in crate::lost_time) fn edge(bin: usize) -> i64 {
    f64::from_bits((bin as u64) << (52 - FRACTION)) as i64
}

/// Returns the time lost on a rank for modification; `None` if there are too many ranks.
pub(in crate::lost_time) fn loss_of(
    ranks: &mut BTreeMap<(u32, u32), RankLoss>,
    rank: (u32, u32),
) -> Option<&mut RankLoss> {
    if ranks.len() >= RANKS && !ranks.contains_key(&rank) {
        return None;
    }
    Some(ranks.entry(rank).or_default())
}

impl RankLoss {
    pub(in crate::lost_time) fn add(&mut self, call: &SlowCall) {
        self.calls.add(&ModeCalls::of(call));
        if call.rest() != 0 {
            self.steps.add(call.step, call.rest());
        }
        self.add_alarm(call.step, call.alarmed.unwrap_or(0));
    }

    /// Removes a call. Returns its times, or all that is left with the last call.
    fn remove(&mut self, call: &SlowCall) -> ModeCalls {
        let taken = self.calls.remove(&ModeCalls::of(call));
        self.steps.add(call.step, call.rest().saturating_neg());
        self.add_alarm(call.step, call.alarmed.unwrap_or(0).saturating_neg());
        taken
    }

    fn add_alarm(&mut self, step: u64, alarmed: i64) {
        if alarmed != 0 {
            self.alarms.add(step, alarmed);
        }
    }

    pub(in crate::lost_time) fn merge(&mut self, other: &RankLoss) {
        self.calls.add(&other.calls);
        self.steps.merge(&other.steps);
        self.alarms.merge(&other.alarms);
    }
}

impl Event {
    /// Returns `true` for a bin of the mode.
    #[inline]
    pub(in crate::lost_time) fn has(&mut self, bin: usize) -> bool {
        if !(self.bins.0..self.bins.1).contains(&bin) {
            return false;
        }
        if let Some(seen) = &mut self.seen
            && !(seen.0..seen.1).contains(&bin)
        {
            *seen = (bin.min(seen.0), seen.1.max(bin + 1));
            (self.mode.from, self.mode.to) = self.times();
        }
        true
    }

    /// Returns `true` for a near bin to which the mode then [extends](Self::extended). `between` returns the number of calls
    /// in a range of bins.
    #[inline]
    pub(in crate::lost_time) fn extends(
        &mut self,
        bin: usize,
        between: impl Fn(usize, usize) -> u64,
    ) -> bool {
        let (from, until) = self.bins;
        let reach = (until - from) / 2;
        let is_near = bin + reach >= from && bin < until + reach;
        if !is_near || self.seen.is_some() || self.is_usual() {
            return false;
        }
        let Some(bins) = Self::extended(self.bins, bin, between) else {
            return false;
        };
        self.bins = bins;
        (self.mode.from, self.mode.to) = self.times();
        true
    }

    /// Returns the bins of a mode that extends to a near bin, if the number of calls falls from the outer half of the
    /// mode to the bins between; `None` in the valley between the mode and other calls, and beyond.
    pub(in crate::lost_time) fn extended(
        (from, until): (usize, usize),
        bin: usize,
        between: impl Fn(usize, usize) -> u64,
    ) -> Option<(usize, usize)> {
        let half = (until - from) / 2;
        let (own, beside, bins) = if bin < from {
            ((from, from + half), (bin, from), (bin, until))
        } else {
            ((until - half, until), (until, bin + 1), (from, bin + 1))
        };
        let reach = beside.1 - beside.0;
        if reach > half || bins.1 - bins.0 > MOST_BINS {
            return None;
        }
        let (own, beside) = (between(own.0, own.1), between(beside.0, beside.1));
        (beside * half as u64 <= own * reach as u64).then_some(bins)
    }

    /// Returns `true` for a bin of times longer than the usual one, which may be in the mode.
    pub(in crate::lost_time) fn is_longer(&self, bin: usize) -> bool {
        edge(bin) as f64 > LONGER * self.usual as f64
    }

    pub(in crate::lost_time) fn is_usual(&self) -> bool {
        matches!(self.mode.accepted, Some(Accepted::UsualSince(_)))
    }

    /// Returns the shortest and the longest run time on most ranks.
    fn times(&self) -> (Nanos, Nanos) {
        let time = |bin| Nanos((edge(bin) as f64 * self.most) as i64);
        let (from, until) = self.seen.unwrap_or(self.bins);
        (time(from), time(until))
    }

    /// Returns `true` for bins that adjoin those of a wide mode, or are among them.
    pub(in crate::lost_time) fn is_wide_beside(&self, (from, until): (usize, usize)) -> bool {
        let is_beside = from <= self.bins.1 && self.bins.0 <= until;
        self.seen.is_some() && is_beside && !self.is_usual()
    }

    /// Makes the mode wide.
    pub(in crate::lost_time) fn widen(&mut self, wide: &Wide) {
        let union =
            |one: (usize, usize), other: (usize, usize)| (one.0.min(other.0), one.1.max(other.1));
        let own = self.seen.unwrap_or(self.bins);
        self.seen = wide.seen.map(|other| union(own, other)).or(self.seen);
        self.bins = union(self.bins, wide.bins);
        (self.mode.from, self.mode.to) = self.times();
    }

    /// Returns the end of the bins of the mode on most ranks.
    fn until(&self) -> usize {
        bin(self.mode.to.0)
    }

    /// Returns the mode with its run times and its number.
    pub(in crate::lost_time) fn named(mut self) -> Self {
        (self.mode.from, self.mode.to) = self.times();
        (self.id, self.end) = (bin(self.mode.from.0) as u32, self.until());
        self
    }

    /// Returns the number of the mode and the end of its bins, by which a server knows its range, if they have changed.
    pub(in crate::lost_time) fn new_range(&self) -> Option<(u32, usize)> {
        let range = (bin(self.mode.from.0) as u32, self.until());
        let is_counted = self.mode.accepted.is_none();
        (is_counted && range != (self.id, self.end)).then_some(range)
    }

    /// Gives the mode the number of its range.
    pub(in crate::lost_time) fn renumber(&mut self) {
        (self.id, self.end) = self.new_range().unwrap_or((self.id, self.end));
    }

    /// Adds earlier calls. Returns those that are part of means.
    pub(in crate::lost_time) fn extend(&mut self, all: Slow) -> VecDeque<InMeans> {
        let mode = &mut self.mode;
        mode.calls += all.calls;
        mode.time.0 = mode.time.0.saturating_add(all.time);
        mode.alarms += all.alarms;
        mode.alarmed.0 = mode.alarmed.0.saturating_add(all.alarmed);
        if let Some((first, last)) = all.steps {
            (mode.first, mode.last) = (mode.first.min(first), mode.last.max(last));
        }
        if let Some(before) = all.before {
            mode.before = mode.before.min(before);
        }
        if mode.accepted.is_none() {
            mode.lost.0 = mode.lost.0.saturating_add(all.lost);
            let usual = mode.time.0.saturating_sub(mode.lost.0);
            mode.usual.0 = usual / mode.calls.max(1) as i64;
        }
        for (rank, loss) in all.ranks {
            if let Some(own) = loss_of(&mut self.ranks, rank) {
                own.merge(&loss);
            }
        }
        self.mode.ranks = self.ranks.len();
        all.in_means
    }

    /// Adds a call, with the usual run time of the ranks that do not differ relative to that of its rank, and that of
    /// its rank in nanoseconds, if known. Returns `false` if most calls of the function are in the mode since the
    /// start.
    pub(in crate::lost_time) fn add(
        &mut self,
        (rank, step): ((u32, u32), u64),
        (calls, waits): (u64, bool),
        (sample, judgement, (scale, usual)): (&Sample, &Judgement, (f64, Option<i64>)),
        mut changes: Option<&mut ModeTimes>,
    ) -> bool {
        let mode = &mut self.mode;
        mode.calls += 1;
        mode.of = calls;
        mode.time.0 = mode.time.0.saturating_add(sample.runtime.0);
        (mode.first, mode.last) = (mode.first.min(step), mode.last.max(step));
        let own = loss_of(&mut self.ranks, rank);
        let alarmed = judgement.severity(sample).0;
        if !matches!(mode.accepted, Some(Accepted::UsualSince(_))) {
            mode.alarms += u64::from(judgement.label.is_slow());
            mode.alarmed.0 = mode.alarmed.0.saturating_add(alarmed);
        }
        if mode.accepted.is_none() {
            let shortest = (edge(self.bins.0) as f64 / scale) as i64;
            let is_of_rank =
                |time: &i64| *time < sample.runtime.0.min(shortest) && differ(*time, self.usual);
            let relative = (self.usual as f64 / scale) as i64;
            let usual = usual.filter(is_of_rank).unwrap_or(relative);
            let lost = sample.runtime.0.saturating_sub(usual).max(0);
            mode.lost.0 = mode.lost.0.saturating_add(lost);
            let usual = mode.time.0.saturating_sub(mode.lost.0);
            mode.usual.0 = usual / mode.calls.max(1) as i64;
            if let Some(own) = own {
                let call = SlowCall {
                    step,
                    time: sample.runtime.0,
                    lost,
                    alarmed: judgement.label.is_slow().then_some(alarmed),
                };
                own.add(&call);
                if let Some(changes) = &mut changes {
                    changes.add(rank, mode.function, step, call.rest());
                    let calls = own.calls.of_mode(mode, bin(mode.to.0));
                    changes.set_calls(rank, (mode.function, self.id), calls);
                }
            }
            // Longer waiting since a step is no new speed, which ranks and phases have.
            let is_of_start = mode.beginning() == Beginning::Start;
            let is_wide = self.seen.is_some() || mode.is_wide();
            let share = if is_wide && is_of_start && (waits || calls >= USUAL_WIDE.1) {
                USUAL_WIDE.0
            } else {
                USUAL_SHARE
            };
            let is_usual = mode.calls as f64 >= share * calls as f64;
            if is_usual && (is_of_start || !waits) {
                if let Some(changes) = changes {
                    self.take_back(changes);
                }
                self.mode.accepted = Some(Accepted::UsualSince(step));
            }
        } else if matches!(mode.accepted, Some(Accepted::Rule(_)))
            && judgement.label.is_slow()
            && let Some(own) = own
        {
            own.calls.add_alarm(alarmed);
            own.add_alarm(step, alarmed);
            if let Some(changes) = changes {
                changes.add(rank, mode.function, step, alarmed.saturating_neg());
                changes.set_calls(rank, (mode.function, self.id), own.calls.accepted());
            }
        }
        self.mode.ranks = self.ranks.len();
        !self.is_usual() || self.mode.before > 0
    }

    /// Takes a call from the mode, with the usual run time of the ranks that do not differ relative to that of its rank.
    pub(in crate::lost_time) fn release(&mut self, one: &RunCall, scale: f64) {
        let (call, alarmed) = (&one.call, one.alarmed);
        let Some(own) = self.ranks.get_mut(&call.rank) else {
            return;
        };
        let usual = (self.usual as f64 / scale) as i64;
        let lost = call.time.0.saturating_sub(usual).max(0);
        let slow = SlowCall {
            step: call.step,
            time: call.time.0,
            lost,
            alarmed,
        };
        let taken = own.remove(&slow);
        if own.calls.calls == 0 {
            self.ranks.remove(&call.rank);
        }
        self.released = self.released.saturating_add(taken.calls);
        let mode = &mut self.mode;
        mode.calls = mode.calls.saturating_sub(taken.calls);
        mode.time.0 = mode.time.0.saturating_sub(taken.time.0);
        mode.lost.0 = mode.lost.0.saturating_sub(taken.lost.0);
        mode.alarms = mode.alarms.saturating_sub(taken.alarms);
        mode.alarmed.0 = mode.alarmed.0.saturating_sub(taken.alarmed.0);
        mode.ranks = self.ranks.len();
        let first = self.ranks.values().map(|own| own.calls.first).min();
        mode.first = first.unwrap_or(mode.first);
    }

    /// Removes all calls.
    pub(in crate::lost_time) fn dissolve(&mut self) {
        self.ranks.clear();
        let mode = &mut self.mode;
        (mode.calls, mode.alarms, mode.ranks) = (0, 0, 0);
        (mode.time, mode.lost, mode.alarmed) = (Nanos(0), Nanos(0), Nanos(0));
    }

    /// Adds the time lost by rank and step of some ranks to changes. Of a mode that a rule accepts, alarms lost no time
    /// either: it is below zero, so that it cancels that of the alarms as single calls.
    pub(in crate::lost_time) fn add_to(
        &self,
        changes: &mut ModeTimes,
        is_wanted: impl Fn((u32, u32)) -> bool,
    ) {
        let mode = &self.mode;
        for (rank, loss) in self.ranks.iter().filter(|(rank, _)| is_wanted(**rank)) {
            let calls = match mode.accepted {
                None => loss.calls.of_mode(mode, self.until()),
                Some(Accepted::Rule(_)) => loss.calls.accepted(),
                Some(Accepted::UsualSince(_)) => return,
            };
            self.add_steps(changes, (*rank, loss), false);
            changes.set_calls(*rank, (mode.function, self.id), calls);
        }
    }

    /// Takes back what [`add_to`](Self::add_to) adds, before the mode changes or becomes normal.
    pub(in crate::lost_time) fn take_back(&self, changes: &mut ModeTimes) {
        for (rank, loss) in &self.ranks {
            self.add_steps(changes, (*rank, loss), true);
            changes.set_calls(*rank, (self.mode.function, self.id), ModeCalls::default());
        }
    }

    /// Adds the times of the steps of a rank to changes, or takes them back.
    fn add_steps(
        &self,
        changes: &mut ModeTimes,
        (rank, loss): ((u32, u32), &RankLoss),
        takes_back: bool,
    ) {
        let (sums, is_negative) = match self.mode.accepted {
            None => (&loss.steps, false),
            Some(Accepted::Rule(_)) => (&loss.alarms, true),
            Some(Accepted::UsualSince(_)) => return,
        };
        for (step, _, lost) in sums.iter() {
            let lost = if is_negative == takes_back {
                lost
            } else {
                lost.saturating_neg()
            };
            changes.add(rank, self.mode.function, step, lost);
        }
    }
}
