//! Output of the bursts that filters drop: as a table, as a sentence, and on standard error.

use crate::findings;
use crate::messages;
use crate::table::{self, grouped};
use perfkit::core::{Diagnostics, Nanos, Table};
use perfkit::track::{Amount, Dropped};
use std::io::{self, Write};

/// Returns the dropped bursts by reason.
pub fn reasons(dropped: &Dropped) -> Vec<(String, Amount)> {
    let mut all = vec![("duration".to_owned(), dropped.duration)];
    let missing = dropped.missing.iter();
    all.extend(missing.map(|(names, amount)| (format!("without {}", names.join(", ")), *amount)));
    let ranges = dropped.ranges.iter();
    all.extend(ranges.map(|(name, amount)| (format!("range of {name}"), *amount)));
    all.push(("cut".into(), dropped.cut));
    all.push(("interrupted".into(), dropped.interrupted));
    all.retain(|(_, amount)| amount.bursts > 0);
    all
}

/// Returns the other counts of the extraction that are above 0.
pub fn counted(dropped: &Dropped) -> Vec<(&'static str, u64)> {
    let mut all = vec![
        ("calls of no duration", dropped.empty),
        ("counters that fell within a burst", dropped.resets),
        (
            "samples about something else than their thread",
            dropped.foreign,
        ),
        ("divisions by 0", dropped.divisions_by_zero),
        ("threads whose events are missing", dropped.absent_threads),
        ("threads without a burst", dropped.idle_threads),
    ];
    all.retain(|(_, count)| *count > 0);
    all
}

/// Returns the share of `part` in `all`; 0 if `all` is 0.
pub fn share(part: Nanos, all: Nanos) -> f64 {
    match all.0 {
        0 => 0.0,
        all => part.0 as f64 / all as f64,
    }
}

/// Describes all dropped bursts in one sentence.
pub fn sentence(dropped: &Dropped) -> String {
    let reasons = reasons(dropped);
    if dropped.found.bursts == 0 && reasons.is_empty() {
        return match dropped.absent_threads {
            0 => "no thread of the recording computes".into(),
            absent => format!("the events of {absent} threads are missing"),
        };
    }
    let each = reasons.iter().map(|(why, amount)| {
        let how = match why.as_str() {
            "duration" => "too short (--min-duration)".to_owned(),
            other => other.to_owned(),
        };
        format!("{} {how}", grouped(amount.bursts))
    });
    let each: Vec<String> = each.collect();
    let all = grouped(dropped.found.bursts);
    format!("of {all} bursts {}", each.join(", "))
}

/// Prints the dropped bursts of a recording and the findings of its reader to standard error.
pub fn print(name: &str, dropped: &Dropped, diagnostics: &Diagnostics) {
    if !reasons(dropped).is_empty() {
        messages::say(&format!("note: {name}: dropped: {}", sentence(dropped)));
    }
    for (word, line) in findings::lines(diagnostics) {
        messages::say(&format!("{word}: {name}: {line}"));
    }
}

/// Writes a table of the dropped bursts and the other counts of the extraction. Writes nothing if there are none.
///
/// # Errors
/// Returns the write errors of `out`.
pub fn write(dropped: &Dropped, out: &mut dyn Write) -> io::Result<()> {
    let reasons = reasons(dropped);
    if !reasons.is_empty() {
        writeln!(out)?;
        let amounts = || reasons.iter().map(|(_, amount)| amount);
        let shares = amounts().map(|amount| 100.0 * share(amount.time, dropped.found.time));
        let table = Table::new("dropped", "Bursts that filters dropped.")
            .text("dropped by", reasons.iter().map(|(why, _)| why.as_str()))
            .unsigned("bursts", "", amounts().map(|amount| amount.bursts))
            .times("time", amounts().map(|amount| amount.time))
            .floats("share of CPU time", "%", shares);
        table::print(out, &table, 60)?;
    }
    for (what, count) in counted(dropped) {
        writeln!(out, "  {} {what}", grouped(count))?;
    }
    Ok(())
}
