//! Causes of lost time in sentences (single calls, slow modes, slow ranks, slow phases) for text and
//! pages; [`Printed`]: those that are new while a stream is followed.

use super::Detected;
use crate::detect::run_time::RunTime;
use crate::failure::Outcome;
use crate::table::counted;
use perfkit::anomaly::lost_time::Cause;
use perfkit::anomaly::provenance::{Entry, Kind, Store};
use perfkit::anomaly::{self, FunctionId, Monitor, Report};
use perfkit::core::Nanos;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;

/// Returns all causes of lost time. The calls are those of the store.
///
/// # Errors
/// Returns the first error of the store.
pub(super) fn all(report: &Report, store: &mut dyn Store) -> anomaly::Result<Vec<Cause>> {
    let mut longest: BTreeMap<(u32, String), (Nanos, u32, u64)> = BTreeMap::new();
    store.each(&mut |entry| {
        if let Entry::Call(record) = entry
            && record.kind == Kind::Anomaly
            && record.severity.0 > 0
        {
            let call = (record.severity, record.rank, record.step);
            let name = (record.program, record.function.clone());
            let known = longest.entry(name).or_insert(call);
            if known.0 < record.severity {
                *known = call;
            }
        }
        Ok(())
    })?;
    Ok(report.causes(|function| {
        let program = report.calls.function_program(function)?;
        let name = (program, report.calls.function_name(function));
        longest
            .get(&name)
            .map(|(_, rank, step)| (program, *rank, *step))
    }))
}

/// Fewest steps in which slow phases are found.
const MIN_STEPS: u64 = 4;
/// Number of steps below which a slow phase is easily missed.
const FEW_STEPS: u64 = 8;

/// Describes why slow phases may be missed in a run of few steps; `None` if there are enough. The steps of a recording
/// can be made shorter.
fn few_steps(steps: u64, has_periods: bool) -> Option<String> {
    let shorter = if has_periods {
        "; --period divides the run into shorter steps"
    } else {
        ""
    };
    let count = counted(steps as usize, "step");
    match steps {
        1..MIN_STEPS => Some(format!(
            "only {count}: slow phases are found in runs of at least {MIN_STEPS} steps{shorter}"
        )),
        MIN_STEPS..FEW_STEPS => Some(format!(
            "only {count}: a slow phase is found beside at least 3 faster steps, otherwise it is a change at most{shorter}"
        )),
        _ => None,
    }
}

/// Comparison with a replay, `true` if the length of steps can be chosen, and sentences about options.
pub(super) type Context<'a> = (Option<&'a Result<RunTime, String>>, bool, &'a [String]);

/// Describes the comparison with a replay, or why there is none; also the time in unknown functions.
fn context(report: &Report, (run_time, has_periods, notes): Context<'_>) -> Vec<String> {
    let unknown = report.lasting.in_unknown_functions();
    let unknown = (unknown.0 > 0).then(|| {
        format!(
            "{unknown} in the state Running outside of functions: the recording does not name the functions that \
             compute, so that only calls beyond experience are reported and ranks are compared"
        )
    });
    let pair = report.lasting.peers().has_two_ranks().then(|| {
        "two ranks of a program are compared with each other: one is named that takes 20 % longer in at least three steps, where it \
         may have more work, or that becomes 10 % slower"
            .to_string()
    });
    let few = few_steps(report.steps, has_periods);
    let unknown = unknown.into_iter().chain(pair).chain(few);
    let unknown = unknown.chain(notes.iter().cloned());
    let replay = run_time.map(|run_time| match run_time {
        Ok(run_time) => run_time.sentence(),
        Err(reason) => format!("not compared with the run time: {reason}"),
    });
    replay.into_iter().chain(unknown).collect()
}

/// Returns sentences for a page: the sum with its comparison with the run time, each on a line, and at most `top` causes.
pub(super) fn sentences(
    report: &Report,
    known: Context<'_>,
    causes: &[Cause],
    top: usize,
) -> Vec<String> {
    let sum = report.lost_time().sentence(&report.losses.total());
    let context = context(report, known);
    let sum = [vec![sum], context].concat().join("\n");
    let more = causes.len().saturating_sub(top);
    let more = (more > 0).then(|| format!("and {}", counted(more, "further cause")));
    let causes = causes.iter().take(top).map(|cause| cause.sentence.clone());
    std::iter::once(sum).chain(causes).chain(more).collect()
}

/// Cause of lost time, for `--json`. Fields that it shares with `/api/causes` of a live server have the same names.
#[derive(Serialize)]
pub(super) struct StatedCause<'a> {
    /// `slow rank`, `slow ranks`, `slow phase`, `slow phases`, `new mode` or `single calls`.
    kind: &'static str,
    /// Time lost, or the time of waiting, in nanoseconds.
    time_lost_ns: Nanos,
    /// `true` for calls that wait for others, whose time is not part of the sum.
    waits: bool,
    /// Program.
    program: u32,
    /// Slow ranks in ascending order; empty for other causes.
    ranks: Vec<u32>,
    /// Function, on a slow rank the one with the most time lost.
    function: String,
    /// All functions, which are several for `slow phases`.
    functions: Vec<String>,
    /// First and last step; `None` for single calls.
    steps: Option<(u64, u64)>,
    /// `true` for ranks and functions that are still slow in their last step.
    lasts: bool,
    /// `true` for ranks that are slow in all of their steps, as far as noise tells, and may have more work.
    always: bool,
    /// Factor by which calls of a slow rank take longer in its other steps, with which it is compared then; otherwise
    /// `None`.
    usual: Option<f64>,
    /// Factor by which calls take longer; `None` for single calls.
    factor: Option<f64>,
    /// Rank and step of the longest single call, if known; `None` for other causes.
    longest: Option<(u32, u64)>,
    /// Counter of which the slow ranks have more; `None` for other causes.
    counter: Option<LargerCounter<'a>>,
    /// Sentence about it.
    sentence: &'a str,
}

/// Counter of which slow ranks have more than all others.
#[derive(Serialize)]
struct LargerCounter<'a> {
    /// Name.
    name: &'a str,
    /// Ratio of the mean of the slow ranks to that of the others.
    ratio: f64,
}

impl Detected {
    /// Returns the causes of lost time, in the order of the text.
    pub(super) fn stated_causes(&self) -> Vec<StatedCause<'_>> {
        let calls = &self.report.calls;
        let stated = self.causes.iter().map(|cause| StatedCause {
            kind: cause.kind,
            time_lost_ns: cause.lost,
            waits: cause.waits,
            program: calls.function_program(cause.function).unwrap_or_default(),
            ranks: {
                let mut ranks: Vec<u32> = cause.ranks.iter().map(|(_, rank)| *rank).collect();
                ranks.sort_unstable();
                ranks
            },
            function: calls.function_name(cause.function),
            functions: cause
                .functions
                .iter()
                .map(|it| calls.function_name(*it))
                .collect(),
            steps: cause.steps,
            lasts: cause.lasts,
            always: cause.always,
            usual: cause.usual,
            factor: cause.factor,
            longest: cause.longest.map(|(_, rank, step)| (rank, step)),
            counter: cause.counter.as_ref().map(|(name, ratio)| LargerCounter {
                name,
                ratio: *ratio,
            }),
            sentence: &cause.sentence,
        });
        stated.collect()
    }

    /// Writes the time lost by cause, and the causes with the most time lost.
    pub(super) fn lasting(&self, out: &mut dyn Write) -> Outcome {
        let (calls, lasting) = (&self.report.calls, &self.report.lasting);
        let total = self.report.losses.total();
        writeln!(out, "{}", self.report.lost_time().sentence(&total))?;
        let all = &self.causes;
        for (at, cause) in all.iter().take(self.shown.top).enumerate() {
            writeln!(out, "  {}. {}", at + 1, cause.sentence)?;
        }
        let more = all.len().saturating_sub(self.shown.top);
        if more > 0 {
            writeln!(out, "  and {}", counted(more, "further cause"))?;
        }
        let known = (
            self.run_time.as_ref(),
            self.step_sentence.is_some(),
            &*self.shown.notes,
        );
        for line in context(&self.report, known) {
            writeln!(out, "  {line}")?;
        }
        for mode in lasting.modes().all() {
            let Some(accepted) = &mode.accepted else {
                continue;
            };
            let name = calls.function_name(mode.function);
            let sentence = mode.sentence(&name, calls.waits(mode.function));
            writeln!(out, "  normal: {sentence} ({})", accepted.reason())?;
        }
        let late = lasting.peers().late();
        if late > 0 {
            let late = counted(late as usize, "call");
            writeln!(
                out,
                "  {late} came too late to be compared with other ranks"
            )?;
        }
        Ok(writeln!(out)?)
    }
}

/// Causes that were printed while a stream was followed, with the time lost then.
#[derive(Debug, Default)]
pub(crate) struct Printed(BTreeMap<(&'static str, Subject), Nanos>);

/// Rank of a single slow rank, and function and shortest run time of another cause, which stay the same while the numbers
/// grow.
type Subject = (Option<(u32, u32)>, Option<FunctionId>, Nanos);

impl Printed {
    /// Returns sentences about the causes that are new, or that have lost twice as much time as when
    /// they were printed.
    pub(crate) fn news(&mut self, monitor: &Monitor) -> Vec<String> {
        let (calls, ranks) = (monitor.calls(), monitor.ranks());
        let lasting = monitor.lasting();
        let causes = lasting.with_found(calls, ranks, |found| found.lasting());
        let mut news = Vec::new();
        for cause in causes {
            let rank = (cause.ranks.len() == 1).then(|| cause.ranks[0]);
            let function = rank.is_none().then_some(cause.function);
            let key = (cause.kind, (rank, function, cause.from));
            let before = self.0.get(&key);
            if before.is_none_or(|before| cause.lost.0 >= before.0.saturating_mul(2)) {
                self.0.insert(key, cause.lost);
                news.push(cause.sentence);
            }
        }
        news
    }
}
