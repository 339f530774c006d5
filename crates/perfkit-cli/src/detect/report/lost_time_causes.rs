//! Causes of lost time in sentences (single calls, slow modes, slow ranks, slow phases) for text and
//! pages; [`Printed`]: those that are new while a stream is followed.

use super::Detected;
use crate::detect::run_time::RunTime;
use crate::failure::Outcome;
use crate::table::counted;
use perfkit::anomaly::lost_time::Cause;
use perfkit::anomaly::provenance::Record;
use perfkit::anomaly::{FunctionId, Monitor, Report};
use perfkit::core::Nanos;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;

/// Returns all causes of lost time. Some of the abnormal calls are in
/// `records`, the worst first.
fn all(report: &Report, records: &[Record]) -> Vec<Cause> {
    let (calls, ranks) = (&report.calls, &report.ranks);
    let longest = |function| {
        let (name, program) = (
            calls.function_name(function),
            calls.function_program(function),
        );
        let mut own = records.iter().filter(|one| Some(one.program) == program);
        let longest = own.find(|one| one.function == name && one.severity.0 > 0)?;
        Some((longest.program, longest.rank, longest.step))
    };
    report.lasting.with_found(calls, ranks, |found| {
        found.all(&report.losses.worst_functions(), longest)
    })
}

/// Describes the comparison with a replay, or why there is none; also the time in unknown functions.
fn context(
    report: &Report,
    (run_time, notes): (Option<&Result<RunTime, String>>, &[String]),
) -> Vec<String> {
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
    let unknown = unknown.into_iter().chain(pair).chain(notes.iter().cloned());
    let replay = run_time.map(|run_time| match run_time {
        Ok(run_time) => run_time.sentence(),
        Err(reason) => format!("not compared with the run time: {reason}"),
    });
    replay.into_iter().chain(unknown).collect()
}

/// Returns sentences for a page: the sum with its comparison with the run time, and at most `top` causes.
pub(super) fn sentences(
    report: &Report,
    known: (Option<&Result<RunTime, String>>, &[String]),
    records: &[Record],
    top: usize,
) -> Vec<String> {
    let causes = all(report, records);
    let sum = report.lost_time().sentence(&report.losses.total());
    let context = context(report, known);
    let sum = [vec![sum], context].concat().join("; ");
    let causes = causes.into_iter().take(top);
    let causes = causes.map(|cause| cause.sentence);
    std::iter::once(sum).chain(causes).collect()
}

/// Cause of lost time, for `--json`.
#[derive(Serialize)]
pub(super) struct StatedCause {
    /// `slow rank`, `slow ranks`, `slow phase`, `slow phases`, `new mode` or `single calls`.
    kind: &'static str,
    /// Time lost, or the time of waiting, in nanoseconds.
    time_lost_ns: Nanos,
    /// `true` for calls that wait for others, whose time is not part of the sum.
    waits: bool,
    /// Sentence about it.
    sentence: String,
}

impl Detected {
    /// Returns the causes of lost time, in the order of the text.
    pub(super) fn causes(&self) -> Vec<StatedCause> {
        let all = all(&self.report, &self.worst).into_iter();
        let stated = all.map(|cause| StatedCause {
            kind: cause.kind,
            time_lost_ns: cause.lost,
            waits: cause.waits,
            sentence: cause.sentence,
        });
        stated.collect()
    }

    /// Writes the time lost by cause, and the causes with the most time lost.
    pub(super) fn lasting(&self, out: &mut dyn Write) -> Outcome {
        let (calls, lasting) = (&self.report.calls, &self.report.lasting);
        let total = self.report.losses.total();
        writeln!(out, "{}", self.report.lost_time().sentence(&total))?;
        let all = all(&self.report, &self.worst);
        for (at, cause) in all.iter().take(self.shown.top).enumerate() {
            writeln!(out, "  {}. {}", at + 1, cause.sentence)?;
        }
        let more = all.len().saturating_sub(self.shown.top);
        if more > 0 {
            writeln!(out, "  and {}", counted(more, "further cause"))?;
        }
        for line in context(&self.report, (self.run_time.as_ref(), &self.shown.notes)) {
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
