//! [`Slowness`]: each [`SlowRank`] and its [`SlowStep`]s, and each [`SlowPhase`] and its [`PhaseStep`]s, with
//! the time that they lose.

use super::ModeStep;
use crate::FunctionId;
use crate::server::RankSummary;
use perf_core::Nanos;
use std::collections::BTreeMap;

/// Time that a slow rank lost in a step, or in a group of steps of a long run.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct SlowStep {
    /// Program.
    pub program: u32,
    /// Rank in the program.
    pub rank: u32,
    /// First step.
    pub first: u64,
    /// Last step.
    pub last: u64,
    /// Time lost in calls that are no alarms, above zero.
    pub lost: Nanos,
}

/// Time that a slow phase lost in a step, or in a group of steps of a long run, on all ranks.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct PhaseStep {
    /// Function.
    pub function: FunctionId,
    /// First step.
    pub first: u64,
    /// Last step.
    pub last: u64,
    /// Time lost in calls that are no alarms, above zero. With the [alarms](Slowness::alarms), the times of the
    /// steps of a phase add up to that of the phase.
    pub lost: Nanos,
}

/// Slow ranks and slow phases with their steps.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Slowness {
    /// Slow ranks, the one with the most time lost first.
    pub ranks: Vec<SlowRank>,
    /// Time that they lost by step.
    pub rank_steps: Vec<SlowStep>,
    /// Time that they lost by function, in calls that are no alarms.
    pub rank_functions: BTreeMap<FunctionId, Nanos>,
    /// Slow phases, the one with the most time lost first.
    pub phases: Vec<SlowPhase>,
    /// Time that they lost by step.
    pub phase_steps: Vec<PhaseStep>,
    /// Abnormal calls that are part of slow ranks and phases, because they take as long as the other calls
    /// of their rank.
    pub alarms: Vec<SlowAlarms>,
    /// Number of calls that arrived too late to be compared; see [`Peers::late`](super::Peers::late).
    pub late: u64,
}

impl Slowness {
    /// Returns the time that each rank lost by all causes, given the time lost in new modes, and the losses of the
    /// ranks in single calls. Slow phases lost an equal part on each rank, and none if there are several programs.
    ///
    /// ```
    /// use perf_anomaly::lost_time::Slowness;
    /// use perf_anomaly::server::RankSummary;
    /// use perf_core::Nanos;
    /// let mut rank = RankSummary::default();
    /// rank.loss.time = Nanos(700);
    /// assert_eq!(Slowness::default().lost_by_rank([], &[rank]), [Nanos(700)]);
    /// ```
    pub fn lost_by_rank(
        &self,
        modes: impl IntoIterator<Item = ModeStep>,
        ranks: &[RankSummary],
    ) -> Vec<Nanos> {
        let mut lost: BTreeMap<(u32, u32), i64> = BTreeMap::new();
        let mut add = |rank, time: Nanos| {
            let sum: &mut i64 = lost.entry(rank).or_default();
            *sum = sum.saturating_add(time.0);
        };
        let slow = self.rank_steps.iter();
        slow.for_each(|one| add((one.program, one.rank), one.lost));
        let modes = modes.into_iter();
        modes.for_each(|one| add((one.program, one.rank), one.lost));
        let is_one = ranks
            .windows(2)
            .all(|pair| pair[0].program == pair[1].program);
        let phases: i64 = self.phase_steps.iter().map(|one| one.lost.0).sum();
        let part = if is_one {
            phases / ranks.len().max(1) as i64
        } else {
            0
        };
        let of = |rank: &RankSummary| {
            // Most ranks lose time in single calls only.
            let slow = lost.get(&(rank.program, rank.rank)).copied();
            let slow = slow.unwrap_or_default().saturating_add(part);
            Nanos(rank.loss.time.0.saturating_add(slow).max(0))
        };
        ranks.iter().map(of).collect()
    }
}

/// Abnormal calls of a function that are part of slow ranks and slow phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct SlowAlarms {
    /// Function.
    pub function: FunctionId,
    /// Number of calls.
    pub calls: u64,
    /// Time that they lost.
    pub lost: Nanos,
}

/// Rank that is slower than its peers in consecutive steps.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct SlowRank {
    /// Program.
    pub program: u32,
    /// Rank in the program.
    pub rank: u32,
    /// Number of the other rank in a program of two, with which it is compared; otherwise `None`.
    pub peer: Option<u32>,
    /// Factor by which its calls take longer in its other steps, with which it is compared then; `None` if it is compared
    /// with other ranks.
    pub usual: Option<f64>,
    /// First slow step.
    pub first: u64,
    /// Last slow step.
    pub last: u64,
    /// `true` if the rank is still slow in its last step.
    pub lasts: bool,
    /// `true` if the rank is slow in all or almost all of its steps: the other steps do not differ from them beyond the
    /// noise. It may then have more work.
    pub always: bool,
    /// Factor by which its calls take longer than those of the median rank, or of the fast ones of few, or than in its
    /// other steps.
    pub factor: f64,
    /// Time lost.
    pub lost: Nanos,
    /// Number of its abnormal calls that take as long as its other calls.
    pub alarms: u64,
    /// Part of the time lost in these calls.
    pub alarmed: Nanos,
    /// Distance from the peers in standard errors.
    pub score: f64,
    /// Function with the most time lost on this rank in these steps.
    pub function: FunctionId,
    /// Factor by which the calls of this function take longer. Of steps whose calls can arrive no more, only those
    /// count in which it lost the most time.
    pub function_factor: f64,
    /// Time lost in this function, in the same steps. It may exceed that of all functions, if others are faster.
    pub function_lost: Nanos,
}

/// Function that is slower on most ranks in consecutive steps.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct SlowPhase {
    /// Function.
    pub function: FunctionId,
    /// First slow step.
    pub first: u64,
    /// Last slow step.
    pub last: u64,
    /// Number of slow steps, if steps between them are as fast as others; `None` if all of them are slow.
    pub steps: Option<u64>,
    /// `true` if the function is still slow in its last step.
    pub lasts: bool,
    /// Factor by which the calls take longer than in other steps.
    pub factor: f64,
    /// Time lost, on all ranks.
    pub lost: Nanos,
    /// Distance from other steps in standard errors.
    pub score: f64,
}
