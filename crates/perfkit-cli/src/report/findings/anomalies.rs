//! Findings of the report about abnormal calls, slow ranks, and functions that became slower during
//! the run, with their section of the page.

use super::{Finding, Kind, count, percent, time, verb};
use crate::detect::{self, Detected};
use crate::failure::Failure;
use crate::options::time_option;
use crate::recording::Recording;
use crate::report::Part;
use crate::report::exclusive_times::{Class, RUNNING, Times};
use crate::report::sources::Source;
use crate::table::{grouped, shortened};
use perfkit::anomaly::Loss;
use perfkit::core::Region;

/// Smallest share of the time lost in abnormal calls that is a finding.
const MIN_LOST_SHARE: f64 = 0.005;
/// Smallest factor by which a function that became slower is a finding.
const MIN_SLOWDOWN: f64 = 1.1;
/// Smallest share of the time lost by a slowdown that is a finding.
const MIN_SLOWDOWN_SHARE: f64 = 0.005;
/// Smallest part of the run before a slowdown, which is needed to know the usual time.
const MIN_BEFORE: f64 = 0.05;
/// Largest number of slowdowns that are reported.
const MAX_SLOWDOWNS: usize = 3;
/// Smallest share of the time lost by slow ranks that is a finding.
const MIN_SLOW_RANKS_SHARE: f64 = 0.005;
/// Largest number of slow ranks that are named.
const MAX_NAMED_RANKS: usize = 4;
/// Time before and after a call in its window, as a multiple of the run time of the call.
const AROUND: i64 = 2;

/// Searches the calls of a trace for anomalies, and returns the findings with their section of the page.
///
/// # Errors
/// Returns [`Failure::Input`] if the trace cannot be replayed.
pub(in crate::report) fn part(
    source: &Source,
    recording: &Recording,
    times: &Times,
) -> Result<Part, Failure> {
    let mut part = Part::default();
    if recording.trace.is_empty() {
        part.skip("abnormal calls", "the trace has no events");
        return Ok(part);
    }
    let found = detect::judge(&source.paths, recording)?;
    abnormal(source, &found, times, &mut part);
    slow_ranks(source, (&found, times), &mut part);
    slowdowns(source, recording, (&found, times), &mut part);
    if let Some(drawn) = found.drawn().filter(|drawn| !drawn.records().is_empty()) {
        let heading = format!("{}: abnormal calls", source.name);
        part.sections.push(detect::section(drawn, &heading)?);
    }
    found.outcome()?;
    Ok(part)
}

fn abnormal(source: &Source, found: &Detected, times: &Times, part: &mut Part) {
    let functions = found.functions_lost();
    let functions: Vec<_> = functions
        .iter()
        .filter(|(name, _)| *name != RUNNING)
        .collect();
    let mut total = Loss::default();
    for (_, loss) in &functions {
        total.calls += loss.calls;
        total.too_slow += loss.too_slow;
        total.time.0 = total.time.0.saturating_add(loss.time.0);
    }
    let share = times.share(total.time.0 as f64);
    let calls = grouped(total.calls);
    if total.too_slow == 0 || share < MIN_LOST_SHARE {
        let lost = match total.too_slow {
            0 => format!("none of {calls} calls is abnormal"),
            some => format!(
                "{} of {calls} calls {} {} of the time, less than {}",
                grouped(some),
                verb(some, "lose"),
                percent(share),
                percent(MIN_LOST_SHARE)
            ),
        };
        part.pass(match found.slow_waits() {
            0 => lost,
            waits => format!(
                "{lost}; {} of other functions {} for others longer than usual",
                count(waits, "call", "calls"),
                verb(waits, "wait")
            ),
        });
        return;
    }
    let worst = found
        .worst()
        .iter()
        .find(|worst| functions.iter().any(|(name, _)| *name == worst.function));
    let most = functions.first();
    let function = most.map_or_else(String::new, |(name, loss)| {
        let lost = loss.time.0 as f64 / total.time.0.max(1) as f64;
        format!(", {} of that in {}", percent(lost), shortened(name, 60))
    });
    let example = worst.map_or_else(String::new, |worst| {
        let expected = worst
            .expected
            .map_or_else(String::new, |usual| format!(" instead of {usual}"));
        format!(
            " The worst is {} on rank {} at {}: {}{expected}.",
            shortened(worst.sized_function(), 60),
            worst.rank,
            worst.call.entry,
            worst.runtime
        )
    });
    let sentence = format!(
        "{} of {calls} {} much longer than others of their function and {} {}, {} of the time ({} x duration){function}.{example}",
        count(total.too_slow, "call", "calls"),
        verb(total.too_slow, "take"),
        verb(total.too_slow, "lose"),
        total.time,
        percent(share),
        count(times.threads as u64, "CPU thread", "CPU threads"),
    );
    let figure = ("time lost", total.time.0 as f64, "ns");
    let finding = Finding::new(
        Kind::AbnormalCalls,
        &source.name,
        Some(share),
        times.denominator(),
        figure,
        sentence,
    );
    let window = worst.map(|worst| {
        let around = AROUND.saturating_mul(worst.runtime.0);
        let end = worst.call.entry.0.saturating_add(worst.runtime.0);
        [
            worst.call.entry.0.saturating_sub(around).max(0),
            end.saturating_add(around),
        ]
    });
    let command = match window {
        Some(window) => {
            let window = window.map(time_option);
            let window = [
                "--from",
                &window[0],
                "--to",
                &window[1],
                "--html",
                "closer.html",
            ];
            source.command(&["fold"], &[&["--by", "location"][..], &window].concat())
        }
        None => source.command(&["detect"], &["--html", "closer.html"]),
    };
    part.findings.push(finding.next(command).at(|place| {
        let Some(worst) = worst else { return };
        place.rank = Some(u64::from(worst.rank));
        place.location = Some(format!("rank {}, thread {}", worst.rank, worst.thread));
        place.call_path = Some(worst.path());
        place.from_ns = Some(worst.call.entry.0);
        place.to_ns = worst
            .call
            .exit
            .map(|exit| exit.0)
            .or(Some(worst.call.entry.0.saturating_add(worst.runtime.0)));
    }));
}

/// Adds a finding about the ranks that take longer than the median rank for the same calls.
fn slow_ranks(source: &Source, (found, times): (&Detected, &Times), part: &mut Part) {
    let slow = found.slow_ranks();
    let lost: f64 = slow.iter().map(|(one, _)| one.lost.0 as f64).sum();
    let share = times.share(lost);
    let Some((worst, function)) = slow.first().filter(|_| share >= MIN_SLOW_RANKS_SHARE) else {
        part.pass(format!(
            "ranks that take longer than the median rank for the same calls lose less than {} of the time",
            percent(MIN_SLOW_RANKS_SHARE)
        ));
        return;
    };
    // A rank may be slow several times.
    let mut ranks: Vec<u32> = Vec::new();
    for (one, _) in slow.iter().filter(|(one, _)| one.program == worst.program) {
        if !ranks.contains(&one.rank) {
            ranks.push(one.rank);
        }
    }
    let first = slow
        .iter()
        .map(|(one, _)| one.first)
        .min()
        .unwrap_or_default();
    let begin = found.step_begin(first);
    let since = match begin.map_or(0.0, |(_, before)| before) {
        before if before < MIN_BEFORE => String::new(),
        before => format!(" after the first {} of the run", percent(before)),
    };
    let named = ranks.iter().take(MAX_NAMED_RANKS).map(u32::to_string);
    let named = named.collect::<Vec<_>>().join(", ");
    let subject = match ranks.len() {
        1 => format!("Rank {named} takes"),
        few if few <= MAX_NAMED_RANKS => format!("Ranks {named} take"),
        many => format!("{} ranks ({named}, ...) take", grouped(many as u64)),
    };
    let factor = slow.iter().map(|(one, _)| one.factor).fold(1.0, f64::max);
    let sentence = format!(
        "{subject} up to {factor:.2} times as long as the median rank for the same calls{since}, mostly in {}; they lose {}, {} of \
         the time ({} x duration).",
        shortened(function, 60),
        time(lost),
        percent(share),
        count(times.threads as u64, "CPU thread", "CPU threads"),
    );
    let finding = Finding::new(
        Kind::SlowRanks,
        &source.name,
        Some(share),
        times.denominator(),
        ("time lost", lost, "ns"),
        sentence,
    );
    let at = begin.map(|(at, _)| at);
    let command = source.command(&["detect"], &["--html", "closer.html"]);
    part.findings.push(finding.next(command).at(|place| {
        place.rank = Some(u64::from(worst.rank));
        place.location = Some(format!("rank {}", worst.rank));
        place.call_path = Some(function.clone());
        place.from_ns = at.filter(|_| !since.is_empty()).map(|at| at.0);
    }));
}

/// Returns `true` if other findings contain a finding about slow ranks: those about `waiting`, which state its
/// cost, and for ranks that are slow in the whole run those about unequal times.
pub(in crate::report) fn repeats(
    finding: &Finding,
    waiting: &[Finding],
    others: &[Finding],
) -> bool {
    let is_cause = |other: &&Finding| {
        matches!(
            other.kind,
            Kind::Delay | Kind::LoadImbalance | Kind::SerialSection
        )
    };
    let is_unequal = |other: &&Finding| {
        let is_of_source = other.place.recording == finding.place.recording;
        is_of_source && matches!(other.kind, Kind::LoadImbalance | Kind::UnevenCallPath)
    };
    let function = finding.place.call_path.as_deref().unwrap_or_default();
    let is_same = |other: &Finding| {
        let path = other.place.call_path.as_deref().unwrap_or_default();
        let last = path.rsplit(" > ").next();
        other.place.rank == finding.place.rank || last == Some(function)
    };
    let is_whole_run = finding.place.from_ns.is_none();
    finding.kind == Kind::SlowRanks
        && (waiting.iter().filter(is_cause).any(is_same)
            || is_whole_run && others.iter().filter(is_unequal).any(is_same))
}

fn slowdowns(
    source: &Source,
    recording: &Recording,
    (found, times): (&Detected, &Times),
    part: &mut Part,
) {
    let mut slower = Vec::new();
    let mut alternating = Vec::new();
    for (name, changes, calls) in found.changed_functions() {
        let (Some(first), Some(last)) = (changes.first(), changes.last()) else {
            continue;
        };
        let factor = last.to.0 as f64 / first.from.0.max(1) as f64;
        // The calls of a change are those since the change before it.
        let mut after = calls;
        let lost = changes.iter().map(|change| {
            after = after.saturating_sub(change.calls);
            change.to.0.saturating_sub(change.from.0) as f64 * after as f64
        });
        let lost: f64 = lost.sum();
        let before = found
            .step_begin(first.step)
            .map_or(0.0, |(_, before)| before);
        let is_known = name != RUNNING && before >= MIN_BEFORE;
        if !is_known || times.share(lost) < MIN_SLOWDOWN_SHARE {
            continue;
        }
        // A function with phases has a change at each end of a phase.
        if !changes.iter().all(|change| change.is_slower()) {
            alternating.push(name);
        } else if factor >= MIN_SLOWDOWN {
            slower.push((lost, factor, name, *first, last.to));
        }
    }
    alternating.sort();
    alternating.dedup();
    if !alternating.is_empty() {
        let names = alternating.iter().take(MAX_SLOWDOWNS);
        let names: Vec<String> = names.map(|name| shortened(name, 60)).collect();
        part.pass(format!(
            "{} both slower and faster in the course of the run, as functions with phases do: {}{}",
            match alternating.len() {
                1 => "1 function becomes".into(),
                more => format!("{} functions become", grouped(more as u64)),
            },
            names.join(", "),
            match alternating.len().saturating_sub(MAX_SLOWDOWNS) {
                0 => String::new(),
                more => format!(" and {more} more"),
            }
        ));
    }
    if slower.is_empty() {
        part.pass(format!(
            "functions that stay more than {:.0} % slower lose less than {} of the time",
            100.0 * (MIN_SLOWDOWN - 1.0),
            percent(MIN_SLOWDOWN_SHARE)
        ));
    }
    slower.sort_by(|one, other| other.0.total_cmp(&one.0));
    for (lost, factor, name, change, to) in slower.into_iter().take(MAX_SLOWDOWNS) {
        let share = times.share(lost);
        let begin = found.step_begin(change.step);
        let times_as_long = if factor < 100.0 {
            format!("{factor:.2}")
        } else {
            grouped(factor as u64)
        };
        let sentence = format!(
            "Calls of {} usually take {} in the first {} of the run and {} since, x {times_as_long}; about {} or {} of the time ({} x \
             duration) is due to it.",
            shortened(&name, 60),
            change.from,
            percent(begin.map_or(0.0, |(_, before)| before)),
            to,
            time(lost),
            percent(share),
            count(times.threads as u64, "CPU thread", "CPU threads"),
        );
        let kind = match Class::of(&region(recording, &name)) {
            Class::Computing | Class::InputOutput | Class::DeviceCalls => Kind::Slowdown,
            _ => Kind::LongerWaits,
        };
        let figure = ("factor", factor, "1");
        let finding = Finding::new(
            kind,
            &source.name,
            Some(share),
            times.denominator(),
            figure,
            sentence,
        );
        let at = begin.map(|(at, _)| at);
        let command = source.command(&["detect"], &["--html", "closer.html"]);
        part.findings.push(finding.next(command).at(|place| {
            place.call_path = Some(name.clone());
            place.from_ns = at.map(|at| at.0);
        }));
    }
}

/// Returns the region of a function by its name.
fn region(recording: &Recording, name: &str) -> Region {
    let mut regions = recording.trace.definitions().regions.iter();
    let found = regions.find(|region| region.name == name);
    found.cloned().unwrap_or_else(|| Region::named(name))
}
