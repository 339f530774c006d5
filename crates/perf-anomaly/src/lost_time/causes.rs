//! [`Cause`]: cause of lost time with a sentence about it; [`Found`]: slow ranks, slow phases and new modes, from
//! which the causes follow.

use super::groups::{as_phase, as_rank, of_phases, of_ranks, without_borders};
use super::sentences::lost;
use super::{Accepted, Lasting, NewMode, Slowness};
use crate::calls::Calls;
use crate::server::Ranks;
use crate::{FunctionId, Loss};
use perf_core::text::{counted, grouped};
use perf_core::{Merge, Nanos};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Cause of lost time.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Cause {
    /// `slow rank`, `slow ranks` if several are slow in the same way, `slow phase` or
    /// `slow phases`, `new mode` or `single calls`.
    pub kind: &'static str,
    /// Time lost, or the time of waiting.
    pub lost: Nanos,
    /// `true` for calls that wait for others, whose time is not part of the sum of the time lost.
    pub waits: bool,
    /// Time by which causes are ordered. That of a slow rank includes its own slow calls. That of calls that wait for
    /// others is the time that one rank would have to lose so that half of the waiting follows.
    pub order: Nanos,
    /// Programs and numbers of slow ranks, the one with the most time lost first; empty for other causes.
    pub ranks: Vec<(u32, u32)>,
    /// Function, on a slow rank the one with the most time lost.
    pub function: FunctionId,
    /// All functions: several of `slow phases`, the one with the most time lost first.
    pub functions: Vec<FunctionId>,
    /// Shortest run time of a mode; 0 for other causes.
    pub from: Nanos,
    /// First and last step; `None` for single calls.
    pub steps: Option<(u64, u64)>,
    /// `true` for ranks and functions that are still slow in their last step.
    pub lasts: bool,
    /// Factor by which calls of a slow rank take longer than those of other ranks in its other steps, with which it is
    /// compared then; `None` if it is compared with other ranks, and for other causes.
    pub usual: Option<f64>,
    /// `true` for ranks that are slow in all of their steps, as far as noise tells, and may have more work; of several ranks, for those that
    /// lost most of the time.
    pub always: bool,
    /// Factor by which calls take longer than those of other ranks, in other steps, or than usual; `None` for single
    /// calls.
    pub factor: Option<f64>,
    /// Program, rank and step of the longest single call, if known; `None` for other causes.
    pub longest: Option<(u32, u32, u64)>,
    /// Name of a counter of which the slow ranks have more than all others, and the ratio; `None` for other causes.
    pub counter: Option<(String, f64)>,
    /// Sentence about it.
    pub sentence: String,
}

/// Function that returns the counters that are larger on each of some ranks of a program than on all ranks that are not
/// slow, with the ratio of their means. Its arguments are the program, the ranks, and all slow ranks in ascending order.
pub type LargerCounters<'a> = &'a dyn Fn(u32, &[u32], &[u32]) -> Vec<(String, f64)>;

/// Slow ranks, slow phases and new modes, with what is needed to describe them.
///
/// ```
/// use perf_anomaly::lost_time::{Found, Lasting};
/// use perf_anomaly::{FunctionId, Loss};
/// use perf_core::Nanos;
/// let lasting = Lasting::default();
/// let found = Found {
///     slowness: lasting.peers().slowness(),
///     modes: lasting.modes().all().cloned().collect(),
///     name: &|_| "solve".into(),
///     in_steps: &|_, _| Loss::default(),
///     waits: &|_| false,
///     larger_counters: &|_, _, _| Vec::new(),
///     ranks: 1,
///     has_programs: false,
/// };
/// let mut loss = Loss::default();
/// (loss.calls, loss.too_slow, loss.time) = (2000, 1, Nanos(5_000_000));
/// let causes = found.all(&[(FunctionId(0), loss)], |_| Some((0, 3, 7)));
/// assert_eq!(causes[0].sentence, "1 slow call of 2 000 of solve on rank 3 in step 7: 5.00 ms lost");
/// ```
pub struct Found<'a> {
    /// Slow ranks and slow phases.
    pub slowness: Slowness,
    /// All modes.
    pub modes: Vec<NewMode>,
    /// Returns the name of a function.
    pub name: &'a dyn Fn(FunctionId) -> String,
    /// Returns the loss of a rank, given by program and number, in its abnormal calls of some steps.
    pub in_steps: &'a dyn Fn((u32, u32), RangeInclusive<u64>) -> Loss,
    /// Returns `true` for a function that waits for others.
    pub waits: &'a dyn Fn(FunctionId) -> bool,
    /// Returns the counters of slow ranks.
    pub larger_counters: LargerCounters<'a>,
    /// Number of ranks.
    pub ranks: usize,
    /// `true` to name the programs of ranks.
    pub has_programs: bool,
}

impl std::fmt::Debug for Found<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Found")
            .field("slowness", &self.slowness)
            .field("modes", &self.modes)
            .finish_non_exhaustive()
    }
}

impl Cause {
    /// Returns single calls of a function with a sentence, without time lost.
    fn of(function: FunctionId, sentence: String) -> Self {
        Cause {
            kind: "single calls",
            lost: Nanos(0),
            waits: false,
            order: Nanos(0),
            ranks: Vec::new(),
            function,
            functions: vec![function],
            from: Nanos(0),
            steps: None,
            lasts: false,
            usual: None,
            always: false,
            factor: None,
            longest: None,
            counter: None,
            sentence,
        }
    }
}

impl Found<'_> {
    /// Returns the slow ranks, slow phases and new modes that lose time.
    pub fn lasting(&self) -> Vec<Cause> {
        let slow_ranks = without_borders(&self.slowness.ranks);
        let slow_phases = without_borders(&self.slowness.phases);
        let ranks = of_ranks(&slow_ranks).into_iter().map(|group| {
            let slow = as_rank(&group);
            let counter = self.larger_counter(&group, &slow);
            let (sentence, own) = self.slow_ranks(&group, &slow, counter.as_ref());
            Cause {
                kind: if group.len() == 1 {
                    "slow rank"
                } else {
                    "slow ranks"
                },
                lost: slow.lost,
                order: Nanos(slow.lost.0.saturating_add(own.0)),
                ranks: group.iter().map(|one| (one.program, one.rank)).collect(),
                steps: Some((slow.first, slow.last)),
                lasts: slow.lasts,
                usual: slow.usual,
                always: slow.always,
                factor: Some(slow.factor),
                counter,
                ..Cause::of(slow.function, sentence)
            }
        });
        let phases = of_phases(&slow_phases).into_iter().map(|group| {
            let slow = as_phase(&group);
            Cause {
                kind: if group.len() == 1 {
                    "slow phase"
                } else {
                    "slow phases"
                },
                lost: slow.lost,
                order: slow.lost,
                functions: group.iter().map(|one| one.function).collect(),
                steps: Some((slow.first, slow.last)),
                lasts: slow.lasts,
                factor: Some(slow.factor),
                ..Cause::of(slow.function, self.slow_phases(&group, &slow))
            }
        });
        let modes = self.modes.iter().filter(|mode| mode.accepted.is_none());
        let modes = modes.map(|mode| {
            let waits = (self.waits)(mode.function);
            Cause {
                kind: "new mode",
                lost: mode.lost,
                waits,
                order: self.order(waits, mode.lost),
                from: mode.from,
                steps: Some((mode.first, mode.last)),
                factor: Some(mode.factor()),
                ..Cause::of(
                    mode.function,
                    mode.sentence(&(self.name)(mode.function), waits),
                )
            }
        });
        ranks.chain(phases).chain(modes).collect()
    }

    /// Returns all causes in descending order of [`order`](Cause::order). `losses` are the losses of functions in
    /// abnormal calls; `longest` returns the program, rank and step of the longest of those of a function, if known.
    pub fn all(
        &self,
        losses: &[(FunctionId, Loss)],
        longest: impl Fn(FunctionId) -> Option<(u32, u32, u64)>,
    ) -> Vec<Cause> {
        let mut all = self.lasting();
        // Calls of modes, slow ranks and slow phases are part of their sentences.
        let mut in_others: BTreeMap<FunctionId, (i64, u64)> = BTreeMap::new();
        let modes = self.modes.iter();
        let modes = modes.filter(|mode| !matches!(mode.accepted, Some(Accepted::UsualSince(_))));
        let modes = modes.map(|mode| (mode.function, mode.alarmed.0, mode.alarms));
        let slow = self.slowness.alarms.iter();
        let slow = slow.map(|one| (one.function, one.lost.0, one.calls));
        for (function, time, alarms) in modes.chain(slow) {
            let of = in_others.entry(function).or_default();
            *of = (of.0.saturating_add(time), of.1.saturating_add(alarms));
        }
        for (function, loss) in losses {
            // A function without other causes has no loss in them.
            let (of_others, alarms) = in_others.get(function).copied().unwrap_or_default();
            let waits = loss.waiting > loss.time;
            let time = Nanos(loss.in_slow_calls().0.saturating_sub(of_others).max(0));
            if time.0 == 0 {
                continue;
            }
            let count = loss.too_slow.saturating_sub(alarms);
            // The longest of all may be one of another cause.
            let longest = (alarms == 0).then(|| longest(*function)).flatten();
            let at = longest.map_or_else(String::new, |place| self.place(count, place));
            let of = grouped(loss.calls);
            let name = self.short_name(*function);
            let calls = counted(count as usize, "slow call");
            let lost = lost(waits);
            all.push(Cause {
                kind: "single calls",
                lost: time,
                waits,
                order: self.order(waits, time),
                longest,
                ..Cause::of(
                    *function,
                    format!("{calls} of {of} of {name}{at}: {time} {lost}"),
                )
            });
        }
        all.sort_by_key(|cause| std::cmp::Reverse(cause.order));
        all
    }

    fn order(&self, waits: bool, lost: Nanos) -> Nanos {
        let others = i64::try_from(self.ranks).unwrap_or(i64::MAX) - 1;
        if others > 0 && waits {
            Nanos(lost.0 / others.saturating_mul(2))
        } else {
            lost
        }
    }
}

impl Lasting {
    /// Passes the slow ranks, slow phases and modes to `describe`, with the names of `calls` and the losses of `ranks` in
    /// abnormal calls, but without counters, which [`Report::causes`](crate::Report::causes) has too.
    ///
    /// ```
    /// use perf_anomaly::Monitor;
    /// let report = Monitor::default().finish()?;
    /// let causes = report.lasting.with_found(&report.calls, &report.ranks, |found| found.lasting());
    /// assert_eq!(causes, []);
    /// # Ok::<(), perf_anomaly::Error>(())
    /// ```
    pub fn with_found<T>(
        &self,
        calls: &Calls,
        ranks: &Ranks,
        describe: impl FnOnce(&Found<'_>) -> T,
    ) -> T {
        self.with_counters((calls, ranks), &|_, _, _| Vec::new(), describe)
    }

    /// Passes them to `describe` with a function that returns the counters that are larger on slow ranks.
    pub(crate) fn with_counters<T>(
        &self,
        (calls, ranks): (&Calls, &Ranks),
        larger_counters: LargerCounters<'_>,
        describe: impl FnOnce(&Found<'_>) -> T,
    ) -> T {
        describe(&Found {
            slowness: self.peers().slowness(),
            modes: self.modes().all().cloned().collect(),
            name: &|function| calls.function_name(function),
            in_steps: &|(program, rank), steps| {
                let mut sum = Loss::default();
                let own = ranks.steps(program, rank);
                let own = own.filter(|one| steps.contains(&one.step));
                own.for_each(|one| sum.merge(&one.loss));
                sum
            },
            waits: &|function| calls.waits(function),
            larger_counters,
            ranks: ranks.count(),
            has_programs: calls.has_programs(),
        })
    }
}
