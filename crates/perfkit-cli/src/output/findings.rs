//! [`Findings`]: losses, repairs and notes of a reader, and repaired stack frames, as lines of
//! text, on standard error and in JSON.

use crate::failure::Failure;
use crate::messages::{self, Level};
use crate::table::grouped;
use perfkit::core::{Diagnostics, Finding, ReplayCounts, Rule, Weight};
use serde::Serialize;
use std::io::{self, Write};

/// Finding of a reader: a rule and the number of places to which it applied.
#[derive(Clone, Debug, Serialize)]
pub struct Found {
    /// Name of the rule.
    pub rule: &'static str,
    /// `true` for repairs and losses, `false` for notes.
    #[serde(rename = "repair")]
    pub is_repair: bool,
    /// `true` if the finding is usual in recordings of its format and does not change the results.
    #[serde(rename = "ordinary")]
    pub is_ordinary: bool,
    /// Number of places.
    pub count: u64,
    /// Description of the rule.
    pub what: &'static str,
    /// First place to which the rule applied; empty if the finding has no place.
    pub first: String,
}

impl Found {
    /// Returns the finding of a rule.
    pub fn of((rule, finding): (Rule, &Finding)) -> Self {
        let first = finding.places.first().map(ToString::to_string);
        Found {
            rule: rule.name,
            is_repair: rule.weight.is_repair(),
            is_ordinary: rule.weight == Weight::Ordinary,
            count: finding.count,
            what: rule.what,
            // Findings about a whole recording have no place.
            first: first.unwrap_or_default(),
        }
    }

    /// Returns the first word of a line about the finding: `warning` or `note`.
    pub fn word(&self) -> &'static str {
        if self.is_repair { "warning" } else { "note" }
    }
}

/// Findings of a reader and of the replay, for `--json`.
#[derive(Debug, Serialize)]
pub struct Findings {
    /// Findings of the reader.
    findings: Vec<Found>,
    /// Repairs of the replay.
    replay: ReplayCounts,
}

impl Findings {
    /// Collects the findings.
    pub fn new(diagnostics: &Diagnostics, replay: ReplayCounts) -> Self {
        Findings {
            findings: found(diagnostics),
            replay,
        }
    }
}

impl std::fmt::Display for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Found {
            rule,
            count,
            what,
            first,
            ..
        } = self;
        write!(f, "{} x {rule}: {what}", grouped(*count))?;
        if first.is_empty() {
            Ok(())
        } else {
            write!(f, " (first: {first})")
        }
    }
}

/// Returns the findings of a reader by rule.
pub fn found(diagnostics: &Diagnostics) -> Vec<Found> {
    diagnostics.iter().map(Found::of).collect()
}

/// Returns a line for each rule that is not ordinary, and one line for all ordinary rules together.
/// Each line is preceded by its first word, `warning` or `note`.
pub fn lines(diagnostics: &Diagnostics) -> Vec<(&'static str, String)> {
    let (ordinary, others): (Vec<_>, Vec<_>) = found(diagnostics)
        .into_iter()
        .partition(|found| found.is_ordinary);
    let others = others.into_iter();
    let mut lines: Vec<_> = others
        .map(|found| (found.word(), found.to_string()))
        .collect();
    if !ordinary.is_empty() {
        let count = ordinary
            .iter()
            .map(|found| found.count)
            .fold(0, u64::saturating_add);
        let names: Vec<_> = ordinary.iter().map(|found| found.rule).collect();
        let line = format!(
            "{} x ordinary for the format, without effect on the result: {}; `inspect` lists them",
            grouped(count),
            names.join(", ")
        );
        lines.push(("note", line));
    }
    lines
}

/// Returns the numbers of repaired stack frames of a trace by cause.
pub fn replay_repairs(counts: &ReplayCounts) -> [(&'static str, u64); 4] {
    [
        ("leaves that closed inner frames", counts.nearest),
        ("leaves under another name", counts.renamed),
        ("leaves with nothing open", counts.orphan),
        ("frames open at the end", counts.open_at_end),
    ]
}

/// Writes the [`lines`] and one line for each kind of repaired stack frames. Writes nothing without findings.
///
/// # Errors
/// Returns the write errors of `out`.
pub fn write(
    diagnostics: &Diagnostics,
    counts: &ReplayCounts,
    out: &mut dyn Write,
) -> io::Result<()> {
    for (word, line) in lines(diagnostics) {
        writeln!(out, "{word}: {line}")?;
    }
    for (what, count) in replay_repairs(counts) {
        if count > 0 {
            writeln!(out, "warning: {} x {what}", grouped(count))?;
        }
    }
    Ok(())
}

/// Writes the entries `repairs` and `notes` of a summary, each with its findings.
///
/// # Errors
/// Returns the error of `out`.
pub(crate) fn write_entries(
    diagnostics: &Diagnostics,
    counts: &ReplayCounts,
    out: &mut dyn Write,
) -> io::Result<()> {
    let repairs = diagnostics.repairs() + counts.repairs();
    writeln!(out, "  repairs     {}", grouped(repairs))?;
    let (repaired, noted): (Vec<_>, Vec<_>) = found(diagnostics)
        .into_iter()
        .partition(|found| found.is_repair);
    for found in repaired {
        writeln!(out, "              {found}")?;
    }
    for (what, count) in replay_repairs(counts) {
        if count > 0 {
            writeln!(out, "              {} x {what}", grouped(count))?;
        }
    }
    let notes = noted.iter().map(|found| found.count).sum();
    writeln!(out, "  notes       {}", grouped(notes))?;
    for found in noted {
        writeln!(out, "              {found}")?;
    }
    Ok(())
}

/// Writes the findings like [`write()`], but to standard error.
pub fn print(diagnostics: &Diagnostics, counts: &ReplayCounts) {
    let mut text = Vec::new();
    // Writing to memory cannot fail.
    let _ = write(diagnostics, counts, &mut text);
    for line in String::from_utf8_lossy(&text).lines() {
        messages::say(line);
    }
}

/// Returns a function that adds the repairs and losses of a recording to an error, because they may have caused it.
pub fn explain(diagnostics: &Diagnostics) -> impl Fn(Failure) -> Failure + use<> {
    let mut lines = String::new();
    for found in found(diagnostics).iter().filter(|found| found.is_repair) {
        lines.push_str(&format!("\n{}: {found}", found.word()));
    }
    move |failure| match failure {
        // They are warnings, which `--quiet` excludes.
        failure if !messages::prints(Level::Usual) => failure,
        Failure::Input(message) => Failure::Input(message + &lines),
        Failure::Usage(message) => Failure::Usage(message + &lines),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfkit::core::Place;

    #[test]
    fn ordinary_findings_are_one_line() {
        let rule = |name, weight| Rule {
            name,
            what: "as it is",
            weight,
        };
        let mut diagnostics = Diagnostics::default();
        diagnostics.add_many(rule("loose", Weight::Ordinary), 12, Place::file("a"));
        diagnostics.add_many(rule("spare", Weight::Ordinary), 1_000, Place::file("a"));
        diagnostics.add(rule("worth", Weight::Note), Place::file("a"));
        let mut out = Vec::new();
        write(&diagnostics, &ReplayCounts::default(), &mut out).unwrap();
        let expected = "note: 1 x worth: as it is (first: a)\n\
                        note: 1 012 x ordinary for the format, without effect on the result: loose, spare; \
                        `inspect` lists them\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        assert_eq!(found(&diagnostics).len(), 3);
        let json = serde_json::to_value(found(&diagnostics)).unwrap();
        assert_eq!(
            (&json[0]["ordinary"], &json[2]["ordinary"]),
            (&true.into(), &false.into())
        );
    }

    #[test]
    fn repairs_warn_and_notes_do_not() {
        const LOST: Rule = Rule {
            name: "lost",
            what: "a row is missing; zero",
            weight: Weight::Loss,
        };
        const ODD: Rule = Rule {
            name: "odd",
            what: "a checksum is wrong; read all the same",
            weight: Weight::Note,
        };
        let mut diagnostics = Diagnostics::default();
        diagnostics.add_many(LOST, 1200, Place::file("a.cubex").at(7));
        diagnostics.add(ODD, Place::file("b.cubex"));
        let counts = ReplayCounts {
            orphan: 2,
            ..ReplayCounts::default()
        };
        let mut out = Vec::new();
        write(&diagnostics, &counts, &mut out).unwrap();
        let expected = "warning: 1 200 x lost: a row is missing; zero (first: a.cubex, byte 7)\n\
                        note: 1 x odd: a checksum is wrong; read all the same (first: b.cubex)\n\
                        warning: 2 x leaves with nothing open\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        let failure = explain(&diagnostics)(Failure::Input("nothing is left".into()));
        let Failure::Input(message) = failure else {
            panic!("it is about the input");
        };
        let expected = "nothing is left\n\
                        warning: 1 200 x lost: a row is missing; zero (first: a.cubex, byte 7)";
        assert_eq!(message, expected);
        let json = serde_json::to_value(Findings::new(&diagnostics, counts)).unwrap();
        assert_eq!(json["findings"][0]["count"], 1200);
        assert_eq!(json["replay"]["orphan"], 2);
    }
}
