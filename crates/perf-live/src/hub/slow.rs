//! [`Slow`]: what lasts longer than single calls and loses time, and all causes of lost time, from the statistics of
//! the parameter server with the names of their functions.

use crate::store::DatabaseReader;
use perf_anomaly::lost_time::{
    Cause, Found, LostTime, ModeStep, NewMode, PhaseStep, SlowPhase, SlowRank, Slowness,
};
use perf_anomaly::server::{FunctionName, FunctionStats, RankSummary, ReportedChange};
use perf_anomaly::{FunctionId, Loss, describe_changes};
use perf_core::{Merge, Nanos};
use std::collections::BTreeMap;

/// Ranks, phases and modes that are slow, each with its function, and the causes of lost time. Lists begin with the
/// most time lost; waiting for others comes after its possible causes.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Slow {
    /// Slow ranks, each with the function in which it lost the most time.
    pub ranks: Vec<(SlowRank, FunctionName)>,
    /// Slow phases of functions.
    pub phases: Vec<(SlowPhase, FunctionName)>,
    /// Time that they lost by step.
    pub phase_steps: Vec<PhaseStep>,
    /// New modes of functions.
    pub modes: Vec<(NewMode, FunctionName)>,
    /// Time that each rank, given by program and number, lost by all causes; if no time was lost, that of its calls that
    /// wait for others.
    pub lost_by_rank: BTreeMap<(u32, u32), Nanos>,
    /// Time lost by cause.
    pub lost: LostTime,
    /// Sentence about it.
    pub sentence: String,
    /// Causes with sentences, among them the single calls of functions, and the names of their functions.
    pub causes: Vec<(Cause, Vec<FunctionName>)>,
    /// Sentences about functions that became slower or faster, with their changes in the order of steps: first functions
    /// that work, then those that wait for others.
    pub changes: Vec<(String, Vec<ReportedChange>, FunctionName)>,
    /// Number of calls that arrived too late to be compared.
    pub late: u64,
}

impl Slow {
    /// Describes what was found. `ranks` are all ranks, `names` those of the functions with the lowest numbers,
    /// `functions` the statistics of all, and `reported` the changes of functions. The database contains the steps of
    /// ranks and the records of calls; without it, slow calls of slow ranks and places of calls are not stated.
    pub(super) fn of(
        slowness: Slowness,
        (modes, mode_steps): (Vec<NewMode>, Vec<ModeStep>),
        reported: &[ReportedChange],
        ranks: &[RankSummary],
        (names, functions): (&[FunctionName], &[(FunctionId, FunctionStats)]),
        compares: &dyn Fn(FunctionId) -> bool,
        stored: Option<&DatabaseReader>,
    ) -> Self {
        let name = |function: FunctionId| names.get(function.0 as usize).cloned();
        let mut all = Loss::default();
        let (mut losses, mut of) = (Vec::new(), 0.0);
        for (function, stats) in functions {
            all.merge(&stats.loss);
            of += stats.exclusive.sum();
            if stats.loss.in_slow_calls().0 > 0 {
                losses.push((*function, stats.loss));
            }
        }
        let first = names.first().map(|name| name.program);
        let text_of = |function| name(function).map_or_else(String::new, |it| it.name.to_string());
        let found = Found {
            slowness,
            modes,
            name: &text_of,
            in_steps: &|rank, steps| {
                let known = stored.and_then(|stored| stored.in_steps(rank, &steps).ok());
                known.unwrap_or_default()
            },
            waits: &|function| !compares(function),
            larger_counters: &|_, _, _| Vec::new(),
            ranks: ranks.len(),
            has_programs: names.iter().any(|name| Some(name.program) != first),
        };
        // The conversion saturates.
        let of = Nanos(of as i64);
        let waits = |function| !compares(function);
        let lost = LostTime::new((of, &all), &found.slowness, &found.modes, waits);
        let mode_steps = mode_steps.into_iter();
        let is_lost = lost.total().0 > 0;
        let mode_steps = mode_steps.filter(|one| compares(one.function) == is_lost);
        let mut by_rank = found.slowness.lost_by_rank(mode_steps, ranks);
        if !is_lost {
            let waiting = ranks.iter().map(|rank| rank.loss.waiting.0);
            let both = by_rank.iter_mut().zip(waiting);
            both.for_each(|(sum, waiting)| sum.0 = sum.0.saturating_add(waiting));
        }
        let numbers = ranks.iter().map(|one| (one.program, one.rank));
        let longest = |function| stored?.longest(&name(function)?).ok().flatten();
        let causes = found.all(&losses, longest).into_iter();
        let causes = causes.filter_map(|cause| {
            name(cause.function)?;
            let names = cause.functions.iter().filter_map(|it| name(*it)).collect();
            Some((cause, names))
        });
        let causes = causes.collect();
        let sentence = ReportedChange::sentence;
        let changes = describe_changes(reported, waits, text_of, sentence).into_iter();
        let changes = changes.filter_map(|(places, sentence)| {
            let all: Vec<_> = places
                .iter()
                .filter_map(|at| reported.get(*at))
                .copied()
                .collect();
            let name = name(all.first()?.change.function)?;
            Some((sentence, all, name))
        });
        let changes = changes.collect();
        let Found {
            slowness, modes, ..
        } = found;
        Slow {
            ranks: named(slowness.ranks, |slow| name(slow.function)),
            phases: named(slowness.phases, |slow| name(slow.function)),
            phase_steps: slowness.phase_steps,
            modes: named(modes, |mode| name(mode.function)),
            sentence: lost.sentence(&all),
            lost_by_rank: numbers.zip(by_rank).collect(),
            lost,
            causes,
            changes,
            late: slowness.late,
        }
    }

    /// Describes recorded abnormal calls of a database without a server.
    pub(super) fn of_records(
        functions: &[(FunctionName, FunctionStats)],
        ranks: &[RankSummary],
        stored: &DatabaseReader,
    ) -> Self {
        let names: Vec<FunctionName> = functions.iter().map(|one| one.0.clone()).collect();
        let numbered = (0..).map(FunctionId).zip(functions);
        let functions: Vec<_> = numbered.map(|(id, one)| (id, one.1)).collect();
        let nothing = (Slowness::default(), (Vec::new(), Vec::new()));
        let losses: BTreeMap<_, _> = functions.iter().map(|(id, one)| (*id, one.loss)).collect();
        let compares = |function| {
            let loss = losses.get(&function);
            loss.is_none_or(|loss| loss.waiting <= loss.time)
        };
        let functions = (&*names, &*functions);
        let mut slow = Self::of(
            nothing.0,
            nothing.1,
            &[],
            ranks,
            functions,
            &compares,
            Some(stored),
        );
        slow.sentence = format!("{} lost in recorded abnormal calls", slow.lost.calls);
        slow
    }
}

/// Adds the names of functions, without entries whose function has none.
fn named<T>(all: Vec<T>, name: impl Fn(&T) -> Option<FunctionName>) -> Vec<(T, FunctionName)> {
    let all = all.into_iter();
    all.filter_map(|one| name(&one).map(|name| (one, name)))
        .collect()
}
