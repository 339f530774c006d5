//! Findings of the report about the recording itself: losses, repairs and clocks.

use super::{Finding, Kind, count, percent, time};
use crate::failure::{Failure, input};
use crate::findings::{self, Found};
use crate::progress::Bar;
use crate::report::Part;
use crate::report::sources::Source;
use crate::table::grouped;
use perfkit::core::{ClockViolations, Diagnostics, ReplayCounts, Trace, Weight, match_messages};

/// Smallest share of repaired calls that is a finding.
const MIN_REPAIRED_SHARE: f64 = 0.01;
/// Denominator of the share of absent locations.
const LOCATIONS: &str = "locations";
/// Denominator of the share of a clock violation.
const DURATION: &str = "duration";

/// Returns the findings about losses and repairs. `diagnostics` are those of the reader, and `counts` those of the
/// replay.
pub(in crate::report) fn repairs(
    source: &Source,
    diagnostics: &Diagnostics,
    counts: &ReplayCounts,
) -> Part {
    let mut part = Part::default();
    let lost = diagnostics.iter();
    let lost = lost.filter(|(rule, _)| rule.weight == Weight::Loss);
    let lost: Vec<_> = lost.map(Found::of).collect();
    let inspect = || source.command(&["inspect"], &[]);
    for found in &lost {
        let figure = ("losses", found.count as f64, "1");
        let sentence = format!("{found}. What is lost is in none of the figures.");
        let finding = Finding::new(Kind::Loss, &source.name, None, "", figure, sentence);
        part.findings.push(finding.next(inspect()));
    }
    let calls = counts.top + counts.repairs();
    let share = counts.repairs() as f64 / calls.max(1) as f64;
    let repaired = findings::replay_repairs(counts)
        .into_iter()
        .filter(|(_, count)| *count > 0);
    let repaired: Vec<String> = repaired
        .map(|(what, count)| format!("{what} {}", grouped(count)))
        .collect();
    if share >= MIN_REPAIRED_SHARE {
        let sentence = format!(
            "{} of {} had to be repaired ({}). Times of their call paths are estimates.",
            percent(share),
            count(calls, "call", "calls"),
            repaired.join(", ")
        );
        let figure = ("repaired calls", counts.repairs() as f64, "1");
        let finding = Finding::new(
            Kind::Repairs,
            &source.name,
            Some(share),
            "calls",
            figure,
            sentence,
        );
        part.findings.push(finding.next(inspect()));
    } else if lost.is_empty() {
        part.pass(match counts.repairs() {
            0 => "no losses, and no calls had to be repaired".into(),
            some => format!(
                "no losses; {} of {} calls had to be repaired, less than {}",
                grouped(some),
                grouped(calls),
                percent(MIN_REPAIRED_SHARE)
            ),
        });
    }
    part
}

/// Returns the findings about absent locations and clocks of a trace. `correction` describes the clock correction that
/// the findings about waiting use, if any.
pub(in crate::report) fn trace(
    source: &Source,
    trace: &Trace,
    correction: Option<&str>,
) -> Result<Part, Failure> {
    let mut part = Part::default();
    let absent = trace
        .events()
        .iter()
        .filter(|events| events.is_absent())
        .count();
    let locations = trace.events().len();
    if absent > 0 {
        let share = absent as f64 / locations.max(1) as f64;
        let sentence = format!(
            "The events of {absent} of {locations} locations are missing; all figures are of the others.",
        );
        let figure = ("absent locations", absent as f64, "1");
        let finding = Finding::new(
            Kind::Loss,
            &source.name,
            Some(share),
            LOCATIONS,
            figure,
            sentence,
        );
        part.findings
            .push(finding.next(source.command(&["inspect"], &[])));
    }
    let found = match_messages(trace.view(), &Bar::job()).map_err(input)?;
    let found = found.clock_violations();
    clocks((source, trace), &found, correction, &mut part);
    Ok(part)
}

fn clocks(
    (source, trace): (&Source, &Trace),
    found: &ClockViolations,
    correction: Option<&str>,
    part: &mut Part,
) {
    let clock = trace.definitions().clock;
    let checked = found.messages.checked + found.collectives.checked;
    if !found.is_any() {
        match checked {
            0 => part.skip(
                "clocks",
                "no message or collective between two locations is matched",
            ),
            _ => part.pass(format!(
                "none of {} messages and collectives contradicts them",
                grouped(checked)
            )),
        }
        return;
    }
    let nanos = |ticks: u64| clock.total(u128::from(ticks)).0 as f64;
    let largest = nanos(found.messages.largest.max(found.collectives.largest));
    let duration = trace.range().map_or(0.0, |range| nanos(range.len()));
    let share = (duration > 0.0).then(|| (largest / duration).min(1.0));
    let mut kinds = Vec::new();
    for (count, what) in [
        (found.messages, "messages arrive before they are sent"),
        (
            found.collectives,
            "collectives are left before all members have entered them",
        ),
    ] {
        if count.violated > 0 {
            kinds.push(format!(
                "{} of {} {what}",
                grouped(count.violated),
                grouped(count.checked)
            ));
        }
    }
    let corrected = correction.map_or_else(String::new, |words| {
        format!(" Findings about waiting are of corrected clocks ({words}).")
    });
    let sentence = format!(
        "{}, by up to {}{}. Times on different ranks are not comparable below that; times on one rank are.{corrected}",
        kinds.join(", and "),
        time(largest),
        share.map_or_else(String::new, |share| format!(
            " ({} of the duration)",
            percent(share)
        )),
    );
    let figure = ("largest violation", largest, "ns");
    let finding = Finding::new(
        Kind::ClockViolation,
        &source.name,
        share,
        DURATION,
        figure,
        sentence,
    );
    let worst = crate::clocks::worst_pair(found, &trace.definitions().system);
    part.findings.push(
        finding
            .next(match correction {
                Some(_) => source.command(&["wait"], &["--clocks", "correct"]),
                None => source.command(&["inspect"], &[]),
            })
            .at(|place| place.location = worst),
    );
}
