//! Causes of lost time in sentences (single calls, slow modes, slow ranks, slow phases) for text and
//! pages; [`Printed`]: those that are new while a stream is followed.

use super::Detected;
use crate::detect::run_time::RunTime;
use crate::failure::Outcome;
use crate::table::{counted, grouped, shortened};
use perfkit::anomaly::calls::Calls;
use perfkit::anomaly::lost_time::{
    Accepted, Beginning, Lasting, LostTime, NewMode, SlowPhase, SlowRank,
};
use perfkit::anomaly::provenance::Record;
use perfkit::anomaly::server::Ranks;
use perfkit::anomaly::{Loss, Monitor, Report};
use perfkit::core::{Merge, Nanos};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;

/// Longest name of a function in a sentence.
const NAME: usize = 60;
/// Factor from which on a mode is described by its mean time.
const FAR: f64 = 100.0;

/// Returns a factor as the excess in per cent, or from 2 on as the factor, and the word that compares it.
fn slower(factor: f64) -> (String, &'static str) {
    if factor < 1.995 {
        (format!("{:.0} % slower", 100.0 * (factor - 1.0)), "than")
    } else {
        (format!("{} times as slow", times(factor)), "as")
    }
}

/// Returns a factor with one decimal, and from 100 on without.
fn times(factor: f64) -> String {
    match factor {
        large if large >= 100.0 => grouped(large.round() as u64),
        small => format!("{small:.1}"),
    }
}

/// Returns steps in words.
fn steps(first: u64, last: u64, lasts: bool) -> String {
    match (first == last, lasts) {
        (_, true) => format!("since step {first}"),
        (true, false) => format!("in step {first}"),
        (false, false) => format!("in steps {first} to {last}"),
    }
}

/// Describes a slow rank, and the time lost in its abnormal calls that take longer than its other calls and
/// count as single calls. Also returns that time.
fn slow_rank(slow: &SlowRank, calls: &Calls, many: bool, ranks: &Ranks) -> (String, Nanos) {
    let program = if many {
        format!(" of program {}", slow.program)
    } else {
        String::new()
    };
    let name = calls.function_name(slow.function);
    let mut own = Loss::default();
    let slow_steps = ranks
        .steps(slow.program, slow.rank)
        .filter(|one| (slow.first..=slow.last).contains(&one.step));
    slow_steps.for_each(|one| own.merge(&one.loss));
    let time = Nanos(own.time.0.saturating_sub(slow.alarmed.0).max(0));
    let own = match own.too_slow.saturating_sub(slow.alarms) {
        0 => String::new(),
        count => format!(
            ", and {time} in its {}",
            counted(count as usize, "slow call")
        ),
    };
    let (slower, than) = slower(slow.factor);
    let sentence = format!(
        "rank {}{program} is {slower} {than} its peers {}, most of it in {}: {} lost{own}",
        slow.rank,
        steps(slow.first, slow.last, slow.lasts),
        shortened(&name, NAME),
        slow.lost
    );
    (sentence, time)
}

/// Describes a slow phase.
fn slow_phase(slow: &SlowPhase, calls: &Calls) -> String {
    let (slower, than) = slower(slow.factor);
    format!(
        "{} is {slower} {} {than} in other steps: {} lost",
        shortened(&calls.function_name(slow.function), NAME),
        steps(slow.first, slow.last, slow.lasts),
        slow.lost
    )
}

/// Describes a mode.
fn slow_mode(mode: &NewMode, calls: &Calls) -> String {
    let beginning = match mode.beginning() {
        Beginning::Start => "since the start".into(),
        Beginning::Appeared => format!("appeared in step {}", mode.first),
        _ => format!("first seen in step {}", mode.first),
    };
    // A factor to a usual time of a tick or less says nothing.
    let at = match mode.factor() {
        factor if factor < FAR => format!("{}x", times(factor)),
        _ => {
            let mean = Nanos(mode.time.0 / mode.calls.max(1) as i64);
            format!("{mean} (usually {})", mode.usual)
        }
    };
    format!(
        "a mode at {at} of {} {beginning}: {} on {}, {} lost so far",
        shortened(&calls.function_name(mode.function), NAME),
        counted(mode.calls as usize, "call"),
        counted(mode.ranks, "rank"),
        mode.lost
    )
}

/// Cause of lost time.
struct Cause {
    /// Kind and subject, which stay the same while the numbers grow.
    key: (u8, u64, i64),
    /// Kind of the cause.
    kind: &'static str,
    /// Time lost.
    lost: Nanos,
    /// Time by which causes are ordered: with that of the own slow calls of a slow rank.
    order: Nanos,
    /// Sentence about it.
    sentence: String,
}

/// Returns slow ranks, slow phases and new modes.
fn found(lasting: &Lasting, calls: &Calls, many: bool, ranks: &Ranks) -> Vec<Cause> {
    let peers = lasting.peers();
    let slow_ranks = peers.slow_ranks().into_iter().map(|slow| {
        let (sentence, own) = slow_rank(&slow, calls, many, ranks);
        Cause {
            key: (0, slow.program.into(), slow.rank.into()),
            kind: "slow rank",
            lost: slow.lost,
            order: Nanos(slow.lost.0.saturating_add(own.0)),
            sentence,
        }
    });
    let phases = peers.slow_phases().into_iter().map(|slow| Cause {
        key: (1, slow.function.0.into(), 0),
        kind: "slow phase",
        lost: slow.lost,
        order: slow.lost,
        sentence: slow_phase(&slow, calls),
    });
    let modes = lasting.modes().found().map(|mode| Cause {
        key: (2, mode.function.0.into(), mode.from.0),
        kind: "new mode",
        lost: mode.lost,
        order: mode.lost,
        sentence: slow_mode(mode, calls),
    });
    slow_ranks.chain(phases).chain(modes).collect()
}

/// Returns a time with its causes, such as `9.00 ms in single calls`.
fn causes(lost: &LostTime) -> String {
    let all = [
        (lost.calls, "in single calls"),
        (lost.modes, "in slow modes"),
        (lost.ranks, "on slow ranks"),
        (lost.phases, "in slow phases"),
    ];
    let mut all: Vec<_> = all.into_iter().filter(|(time, _)| time.0 > 0).collect();
    all.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
    let all: Vec<_> = all
        .iter()
        .map(|(time, at)| format!("{time} {at}"))
        .collect();
    all.join(", ")
}

/// Returns the sum of the lost time and its share. `all` counts the calls that were not judged, so that a
/// result without lost time is not taken for a healthy program.
fn headline(lost: &LostTime, all: &Loss) -> String {
    let unjudged = match all.not_enough_data {
        few if few <= all.calls / 2 => String::new(),
        many => format!(
            ", but {} of {} calls could not be judged",
            grouped(many),
            grouped(all.calls)
        ),
    };
    match lost.share() {
        Some(share) if lost.total().0 > 0 => format!(
            "{} lost, {} of {} in the calls of all ranks: {}{unjudged}",
            lost.total(),
            match 100.0 * share {
                share if share < 0.05 => "less than 0.1 %".into(),
                share => format!("{share:.1} %"),
            },
            lost.of,
            causes(lost)
        ),
        _ if all.calls == 0 => {
            "nothing is known about lost time: there are no complete calls".into()
        }
        _ if all.not_enough_data >= all.calls => format!(
            "nothing is known about lost time: no call could be judged, because there are too few calls of each \
             function in {}",
            lost.of
        ),
        _ => format!(
            "no time lost of {} in the calls of all ranks: no slow calls, slow modes, slow ranks or slow phases{unjudged}",
            lost.of
        ),
    }
}

/// Returns the place of the longest of some abnormal calls of a function, if `records`, the worst first,
/// include one.
fn place(count: u64, name: &str, records: &[Record], many: bool) -> String {
    let mut records = records.iter();
    let longest = records.find(|one| one.function == name && one.severity.0 > 0);
    let Some(longest) = longest else {
        return String::new();
    };
    let which = match count {
        1 => "",
        _ => ", the longest",
    };
    let program = if many {
        format!(" of program {}", longest.program)
    } else {
        String::new()
    };
    format!(
        "{which} on rank {}{program} in step {}",
        longest.rank, longest.step
    )
}

/// Returns all causes of lost time, the one with the most time first. Some of the abnormal calls are in
/// `records`, the worst first.
fn all(report: &Report, many: bool, records: &[Record]) -> Vec<Cause> {
    let (calls, lasting) = (&report.calls, &report.lasting);
    let mut all = found(lasting, calls, many, &report.ranks);
    // Calls of modes, slow ranks and slow phases are part of their sentences.
    let mut in_others: BTreeMap<_, (i64, u64)> = BTreeMap::new();
    let modes = lasting.modes().all();
    let modes = modes.filter(|mode| !matches!(mode.accepted, Some(Accepted::UsualSince(_))));
    let modes = modes.map(|mode| (mode.function, mode.alarmed.0, mode.alarms));
    let slow = lasting.peers().slowness().alarms.into_iter();
    let slow = slow.map(|one| (one.function, one.lost.0, one.calls));
    for (function, time, alarms) in modes.chain(slow) {
        let of = in_others.entry(function).or_default();
        *of = (of.0 + time, of.1 + alarms);
    }
    for (function, loss) in report.losses.worst_functions() {
        // A function without other causes has no loss in them.
        let (of_others, alarms) = in_others.get(&function).copied().unwrap_or_default();
        let time = Nanos(loss.time.0.saturating_sub(of_others).max(0));
        if time.0 > 0 {
            let name = calls.function_name(function);
            let count = loss.too_slow.saturating_sub(alarms);
            // The longest of all may be one of another cause.
            let at = match alarms {
                0 => place(count, &name, records, many),
                _ => String::new(),
            };
            let name = shortened(&name, NAME);
            let count = counted(count as usize, "slow call");
            let of = grouped(loss.calls);
            all.push(Cause {
                key: (3, function.0.into(), 0),
                kind: "single calls",
                lost: time,
                order: time,
                sentence: format!("{count} of {of} of {name}{at}: {time} lost"),
            });
        }
    }
    all.sort_by_key(|cause| std::cmp::Reverse(cause.order));
    all
}

/// Describes the comparison with a replay, or why there is none, and without it the time lost in MPI; also the
/// time in unknown functions.
fn context(report: &Report, run_time: Option<&Result<RunTime, String>>) -> Vec<String> {
    let unknown = report.lasting.in_unknown_functions();
    let unknown = (unknown.0 > 0).then(|| {
        format!(
            "{unknown} in the state Running outside of functions: the recording does not name the functions that \
             compute, so that only calls beyond experience are reported and ranks are compared"
        )
    });
    let reason = match run_time {
        Some(Ok(run_time)) => {
            return std::iter::once(run_time.sentence())
                .chain(unknown)
                .collect();
        }
        Some(Err(reason)) => Some(format!("not compared with the run time: {reason}")),
        None => None,
    };
    // Calls such as `MPI_Irecv` return at once.
    let waits = |name: &str| {
        let name = name.strip_prefix('P').unwrap_or(name);
        name.starts_with("MPI_") && !name.starts_with("MPI_I")
    };
    let functions = report.losses.worst_functions().into_iter();
    let lost = functions.filter(|(function, _)| {
        let name = report.calls.function_name(*function);
        name.rsplit(" / ").next().is_some_and(waits)
    });
    let lost: i64 = lost.map(|(_, loss)| loss.time.0).sum();
    let in_mpi = (lost > 0).then(|| {
        let lost = Nanos(lost);
        format!("{lost} of it in MPI calls, which mostly wait for partners: look for the cause on other ranks")
    });
    reason.into_iter().chain(in_mpi).chain(unknown).collect()
}

/// Returns sentences for a page: the sum with its comparison with the run time, and at most `top` causes.
pub(super) fn sentences(
    report: &Report,
    run_time: Option<&Result<RunTime, String>>,
    many: bool,
    records: &[Record],
    top: usize,
) -> Vec<String> {
    let causes = all(report, many, records).into_iter().take(top);
    let causes = causes.map(|cause| cause.sentence);
    let sum = headline(&report.lost_time(), &report.losses.total());
    let sum = [vec![sum], context(report, run_time)].concat().join("; ");
    std::iter::once(sum).chain(causes).collect()
}

/// Cause of lost time, for `--json`.
#[derive(Serialize)]
pub(super) struct StatedCause {
    /// `slow rank`, `slow phase`, `new mode` or `single calls`.
    kind: &'static str,
    /// Time lost in nanoseconds.
    time_lost_ns: Nanos,
    /// Sentence about it.
    sentence: String,
}

impl Detected {
    /// Returns the causes of lost time, in the order of the text.
    pub(super) fn causes(&self) -> Vec<StatedCause> {
        let all = all(&self.report, self.many, &self.worst).into_iter();
        let stated = all.map(|cause| StatedCause {
            kind: cause.kind,
            time_lost_ns: cause.lost,
            sentence: cause.sentence,
        });
        stated.collect()
    }

    /// Writes the time lost by cause, and the causes with the most time lost.
    pub(super) fn lasting(&self, out: &mut dyn Write) -> Outcome {
        let (calls, lasting) = (&self.report.calls, &self.report.lasting);
        let total = self.report.losses.total();
        writeln!(out, "{}", headline(&self.report.lost_time(), &total))?;
        let all = all(&self.report, self.many, &self.worst);
        for (at, cause) in all.iter().take(self.shown.top).enumerate() {
            writeln!(out, "  {}. {}", at + 1, cause.sentence)?;
        }
        let more = all.len().saturating_sub(self.shown.top);
        if more > 0 {
            writeln!(out, "  and {}", counted(more, "further cause"))?;
        }
        for line in context(&self.report, self.run_time.as_ref()) {
            writeln!(out, "  {line}")?;
        }
        for mode in lasting.modes().all() {
            let why = match &mode.accepted {
                None => continue,
                Some(Accepted::Rule(reason)) => reason.clone(),
                Some(Accepted::UsualSince(step)) => {
                    format!("it has half of all calls since step {step}")
                }
                Some(_) => "it was accepted".into(),
            };
            writeln!(out, "  normal: {} ({why})", slow_mode(mode, calls))?;
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
pub(crate) struct Printed(BTreeMap<(u8, u64, i64), Nanos>);

impl Printed {
    /// Returns sentences about the causes that are new, or that have lost twice as much time as when
    /// they were printed.
    pub(crate) fn news(&mut self, monitor: &Monitor, many: bool) -> Vec<String> {
        let (lasting, calls) = (monitor.lasting(), monitor.calls());
        let mut news = Vec::new();
        for cause in found(lasting, calls, many, monitor.ranks()) {
            let before = self.0.get(&cause.key);
            if before.is_none_or(|before| cause.lost.0 >= before.0.saturating_mul(2)) {
                self.0.insert(cause.key, cause.lost);
                news.push(cause.sentence);
            }
        }
        news
    }
}
