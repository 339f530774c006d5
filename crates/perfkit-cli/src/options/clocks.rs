//! Option `--clocks` ([`Clocks`]): correction of a recording whose clocks disagree ([`correct`]),
//! and counts and descriptions of violated clock conditions.
//!
//! The clock condition states that no message arrives before it is sent.

use crate::failure::{Failure, input};
use crate::options::words;
use crate::progress::Bar;
use crate::recording::Recording;
use crate::table::grouped;
use clap::Args;
use perfkit::core::{
    Clock, ClockCount, ClockViolations, Diagnostics, Place, Rule, SystemTree, Trace, Weight,
    match_messages,
};
use perfkit::wait::clocks::{ClockEstimate, ClockModel, Corrected, Repair};
use std::path::Path;

/// Share of violated conditions above which times of different ranks are not comparable.
const MANY: f64 = 0.01;

/// Treatment of clocks that disagree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clocks {
    /// Times stay as recorded.
    #[default]
    Keep,
    /// Times are corrected, so that no message arrives before it is sent.
    Correct,
    /// Times are corrected if more than 1 % of the conditions are violated, so that times of
    /// different ranks cannot be compared.
    Auto,
}

/// Option that decides what happens to clocks that disagree.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct ClocksBy {
    /// Times of ranks whose clocks disagree; `inspect` counts messages that arrive before they are sent
    #[arg(long, value_name = "RULE", default_value = "keep", value_parser = words(&[
        ("keep", Clocks::Keep, "as they are recorded"),
        ("correct", Clocks::Correct, "corrected by offset and drift, estimated from messages and collectives"),
    ]))]
    pub clocks: Clocks,
}

/// Option as [`ClocksBy`] for analyses that compare times of different ranks.
#[derive(Args, Clone, Copy, Debug)]
pub struct ClocksOfWaits {
    /// Times of ranks whose clocks disagree
    #[arg(long, value_name = "RULE", default_value = "auto", value_parser = words(&[
        ("auto", Clocks::Auto, "corrected if more than 1 % of the messages and collectives contradict them"),
        ("keep", Clocks::Keep, "as they are recorded"),
        ("correct", Clocks::Correct, "corrected by offset and drift, estimated from messages and collectives"),
    ]))]
    pub clocks: Clocks,
}

/// Rule of the diagnostics under which a correction of the clocks is counted.
const CORRECTED: Rule = Rule {
    name: "clocks-corrected",
    what: "messages and collectives contradicted the clocks; all times are corrected",
    weight: Weight::Note,
};

/// Corrects the clocks of a recording if the option `clocks` selects the correction and the clocks
/// disagree. A note in the diagnostics describes the correction.
///
/// # Errors
/// Returns [`Failure::Input`] if the corrected events are out of order.
pub fn apply(clocks: Clocks, recording: Recording, path: &Path) -> Result<Recording, Failure> {
    let is_kept = match clocks {
        Clocks::Keep => true,
        Clocks::Correct => false,
        Clocks::Auto => !are_many(&violations(&recording.trace)?),
    };
    if is_kept {
        return Ok(recording);
    }
    let Some(correction) = correct(&recording.trace)? else {
        return Ok(recording);
    };
    let mut diagnostics = recording.diagnostics;
    let place = Place::file(path.to_string_lossy()).record(correction.words);
    diagnostics.add_many(CORRECTED, violated(&correction.before), place);
    Ok(Recording {
        trace: correction.trace,
        format: recording.format,
        diagnostics,
    })
}

/// Rule of the diagnostics under which clocks that disagree are counted if times stay as recorded.
const KEPT: Rule = Rule {
    name: "clocks-kept",
    what: "messages and collectives contradict the clocks; times are as recorded, and corrected for replays only (--clocks correct: everywhere)",
    weight: Weight::Note,
};

/// Adds a note to the diagnostics if the clocks of a trace disagree so much that a replay corrects them.
pub fn note_kept(trace: &Trace, path: &Path, diagnostics: &mut Diagnostics) {
    // A trace whose messages cannot be matched is not replayed either.
    if let Ok(found) = violations(trace)
        && are_many(&found)
    {
        let place = Place::file(path.to_string_lossy());
        diagnostics.add_many(KEPT, violated(&found), place);
    }
}

/// Trace with corrected clocks.
#[derive(Debug)]
pub struct Correction {
    /// Trace with corrected times.
    pub trace: Trace,
    /// Violations of the recorded times.
    pub before: ClockViolations,
    /// Description of the correction with its uncertainty, for output.
    pub words: String,
}

/// Corrects the clocks of a trace; `None` if no condition is violated.
///
/// # Errors
/// Returns [`Failure::Input`] if the corrected events are out of order.
pub fn correct(trace: &Trace) -> Result<Option<Correction>, Failure> {
    let job = Bar::job();
    let estimate = ClockEstimate::of(trace.view(), ClockModel::Auto, &job).map_err(input)?;
    if !estimate.violations.is_any() {
        return Ok(None);
    }
    let corrected = estimate
        .correct(trace, Repair::Logical, &job)
        .map_err(input)?;
    let words = words_of(&estimate, &corrected, trace.definitions().clock);
    Ok(Some(Correction {
        trace: corrected.trace,
        before: estimate.violations,
        words,
    }))
}

/// Describes a correction: model, uncertainty, moved events and remaining violations.
fn words_of(estimate: &ClockEstimate, corrected: &Corrected, clock: Clock) -> String {
    let time = |ticks: f64| clock.total(ticks.max(0.0) as u128);
    let model = match estimate.model {
        ClockModel::Drift => "offset and drift",
        _ => "offset",
    };
    let largest = estimate.locations.iter().map(|it| it.offset.abs());
    let largest = time(largest.fold(0.0, f64::max));
    let mut text = format!("by {model} of up to {largest}");
    let all = || estimate.locations.iter().filter_map(|it| it.uncertainty);
    if let Some(most) = all().reduce(f64::max) {
        text += &format!(", +-{}", time(most));
    }
    let unbounded = estimate.locations.len() - all().count();
    if unbounded > 0 {
        let locations = match unbounded {
            1 => "1 location is".to_string(),
            more => format!("{more} locations are"),
        };
        text += &format!("; {locations} bounded from one side only");
    }
    if corrected.moved > 0 {
        let (moved, farthest) = (grouped(corrected.moved), time(corrected.farthest as f64));
        text += &format!("; {moved} events moved by up to {farthest} to restore their order");
    }
    let remaining = violated(&corrected.violations);
    if remaining > 0 {
        text += &format!("; {} violations remain", grouped(remaining));
    }
    text
}

/// Returns the number of violated conditions.
pub fn violated(found: &ClockViolations) -> u64 {
    found
        .messages
        .violated
        .saturating_add(found.collectives.violated)
}

/// Returns `true` if more than 1 % of the conditions are violated, so that wait states are
/// meaningless.
pub fn are_many(found: &ClockViolations) -> bool {
    let checked = found
        .messages
        .checked
        .saturating_add(found.collectives.checked);
    violated(found) as f64 > MANY * checked as f64
}

/// Counts the violations of a trace.
///
/// # Errors
/// Returns [`Failure::Input`] if the messages of the trace cannot be matched.
pub fn violations(trace: &Trace) -> Result<ClockViolations, Failure> {
    let found = match_messages(trace.view(), &Bar::job()).map_err(input)?;
    Ok(found.clock_violations())
}

/// Describes the pair of processes with the largest violation; `None` without violations.
pub fn worst_pair(found: &ClockViolations, system: &SystemTree) -> Option<String> {
    let worst = found.pairs.iter().max_by_key(|pair| pair.count.largest)?;
    let process = |id| {
        let group = system.process(id).and_then(|group| system.group(group));
        group.map_or_else(|| system.label(id), |group| group.name.clone())
    };
    let (sender, receiver) = (process(worst.sender), process(worst.receiver));
    Some(format!("{sender} to {receiver}"))
}

/// Returns the [`sentences`] about the violations of a trace.
pub fn of(found: &ClockViolations, trace: &Trace) -> Vec<String> {
    let definitions = trace.definitions();
    sentences(found, definitions.clock, &definitions.system)
}

/// Returns sentences about messages and collectives that contradict the clocks; empty if no
/// condition is violated.
pub fn sentences(found: &ClockViolations, clock: Clock, system: &SystemTree) -> Vec<String> {
    let pair = worst_pair(found, system).map_or_else(String::new, |pair| format!(", {pair}"));
    let kinds = [
        (found.messages, "messages arrive before they are sent", pair),
        (
            found.collectives,
            "all-to-all collectives are left before all members have entered them",
            String::new(),
        ),
    ];
    let violated = kinds.into_iter().filter(|it| it.0.violated > 0);
    let sentence = |(count, what, pair): (ClockCount, &str, String)| {
        let (violated, checked) = (grouped(count.violated), grouped(count.checked));
        let largest = clock.total(u128::from(count.largest));
        format!(
            "{violated} of {checked} {what} (largest: {largest}{pair}): the clocks of the ranks disagree"
        )
    };
    violated.map(sentence).collect()
}

/// Returns the sentences of [`of`] with full stops. If there are any, the last one names the option or command
/// `remedy` that corrects the clocks; `None` if they are corrected already.
pub fn remarks(found: &ClockViolations, trace: &Trace, remedy: Option<&str>) -> Vec<String> {
    let mut remarks = of(found, trace);
    remarks.iter_mut().for_each(|sentence| sentence.push('.'));
    let remedy = remedy.filter(|_| !remarks.is_empty());
    remarks.extend(remedy.map(|remedy| {
        format!("Times of different ranks are comparable after a correction: `{remedy}`.")
    }));
    remarks
}

/// Returns the description of the clock correction of an opened recording; `None` if the clocks
/// were kept.
pub fn correction(diagnostics: &Diagnostics) -> Option<String> {
    let mut all = diagnostics.iter().filter(|(rule, _)| *rule == CORRECTED);
    let place = all.next()?.1.places.first()?;
    Some(place.record.as_deref()?.to_owned())
}
