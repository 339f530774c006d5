//! What a reader skipped, repaired or noted: as lines, on standard error and in JSON.

use crate::failure::Failure;
use crate::messages;
use crate::table::grouped;
use perfkit::core::{
    Clock, ClockCount, ClockViolations, Diagnostics, Finding, ReplayCounts, Rule, Weight,
};
use serde_json::json;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// What was found by one rule.
#[derive(Clone, Debug)]
pub struct Found {
    /// The rule.
    pub rule: Rule,
    /// How often it was applied.
    pub count: u64,
    /// The first place; empty where there is none.
    pub first: String,
}

impl Found {
    fn of((rule, finding): (Rule, &Finding)) -> Self {
        let first = finding.places.first().map(ToString::to_string);
        Found {
            rule,
            count: finding.count,
            first: first.unwrap_or_default(),
        }
    }

    /// Whether something was changed or left out, and not only noted.
    pub fn is_repair(&self) -> bool {
        self.rule.weight.is_repair()
    }

    /// Whether it is usual in recordings of its format and changes no answer.
    pub fn is_ordinary(&self) -> bool {
        self.rule.weight == Weight::Ordinary
    }

    /// What a line about it begins with.
    pub fn word(&self) -> &'static str {
        if self.is_repair() { "warning" } else { "note" }
    }
}

impl std::fmt::Display for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Found { rule, count, first } = self;
        write!(f, "{} x {}: {}", grouped(*count), rule.name, rule.what)?;
        match first.is_empty() {
            true => Ok(()),
            false => write!(f, " (first: {first})"),
        }
    }
}

/// What was found, by rule.
pub fn found(diagnostics: &Diagnostics) -> Vec<Found> {
    diagnostics.iter().map(Found::of).collect()
}

/// Lines about what was found: one a rule, each with the word that it begins with, and one for all rules that
/// are ordinary.
pub fn lines(diagnostics: &Diagnostics) -> Vec<(&'static str, String)> {
    let (ordinary, others): (Vec<_>, Vec<_>) =
        found(diagnostics).into_iter().partition(Found::is_ordinary);
    let others = others.into_iter();
    let mut lines: Vec<_> = others
        .map(|found| (found.word(), found.to_string()))
        .collect();
    if !ordinary.is_empty() {
        let count = ordinary
            .iter()
            .map(|found| found.count)
            .fold(0, u64::saturating_add);
        let names: Vec<_> = ordinary.iter().map(|found| found.rule.name).collect();
        let line = format!(
            "{} x ordinary for the format, without effect on the result: {}; `inspect` lists them",
            grouped(count),
            names.join(", ")
        );
        lines.push(("note", line));
    }
    lines
}

/// What was found as a list of objects.
pub fn json(diagnostics: &Diagnostics) -> serde_json::Value {
    let all = found(diagnostics).into_iter().map(|found| {
        json!({
            "rule": found.rule.name,
            "repair": found.is_repair(),
            "ordinary": found.is_ordinary(),
            "count": found.count,
            "what": found.rule.what,
            "first": found.first,
        })
    });
    all.collect()
}

/// Frames of a trace that had to be mended, by what was wrong with them.
pub fn mended(counts: &ReplayCounts) -> [(&'static str, u64); 4] {
    [
        ("leaves that closed inner frames", counts.nearest),
        ("leaves under another name", counts.renamed),
        ("leaves with nothing open", counts.orphan),
        ("frames open at the end", counts.open_at_end),
    ]
}

/// The same as an object.
pub fn mended_json(counts: &ReplayCounts) -> serde_json::Value {
    json!(mended(counts).into_iter().collect::<BTreeMap<_, _>>())
}

/// Sentences about messages and collectives that contradict the clocks; none where no condition is violated.
pub fn clocks(found: &ClockViolations, clock: Clock) -> Vec<String> {
    let kinds = [
        (found.messages, "messages arrive before they are sent"),
        (
            found.collectives,
            "all-to-all collectives are left before all members have entered them",
        ),
    ];
    let violated = kinds.into_iter().filter(|(count, _)| count.violated > 0);
    let sentence = |(count, what): (ClockCount, &str)| {
        let (violated, checked) = (grouped(count.violated), grouped(count.checked));
        let largest = clock.total(u128::from(count.largest));
        format!(
            "{violated} of {checked} {what} (largest: {largest}): the clocks of the ranks disagree"
        )
    };
    violated.map(sentence).collect()
}

/// The same counts as an object.
pub fn clocks_json(found: &ClockViolations, clock: Clock) -> serde_json::Value {
    let count = |count: ClockCount| {
        json!({
            "checked": count.checked,
            "violated": count.violated,
            "largest_ns": clock.total(u128::from(count.largest)).0,
        })
    };
    json!({
        "disagree": found.is_any(),
        "messages": count(found.messages),
        "collectives": count(found.collectives),
        "pairs": found.pairs.len(),
    })
}

/// Writes the [`lines`] and one for each kind of mended frames; none where all is well.
///
/// # Errors
/// What `out` fails with.
pub fn write(
    diagnostics: &Diagnostics,
    counts: &ReplayCounts,
    out: &mut dyn Write,
) -> io::Result<()> {
    for (word, line) in lines(diagnostics) {
        writeln!(out, "{word}: {line}")?;
    }
    for (what, count) in mended(counts) {
        if count > 0 {
            writeln!(out, "warning: {} x {what}", grouped(count))?;
        }
    }
    Ok(())
}

/// As [`write()`], to standard error.
pub fn tell(diagnostics: &Diagnostics, counts: &ReplayCounts) {
    let mut text = Vec::new();
    // Writing to memory cannot fail.
    let _ = write(diagnostics, counts, &mut text);
    for line in String::from_utf8_lossy(&text).lines() {
        messages::say(line);
    }
}

/// Adds the repairs and losses of a recording to an error that may follow from them.
pub fn explain(diagnostics: &Diagnostics) -> impl Fn(Failure) -> Failure + use<> {
    let mut lines = String::new();
    for found in found(diagnostics).iter().filter(|found| found.is_repair()) {
        lines.push_str(&format!("\n{}: {found}", found.word()));
    }
    move |failure| match failure {
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
        assert_eq!(json(&diagnostics)[0]["ordinary"], true);
        assert_eq!(json(&diagnostics)[2]["ordinary"], false);
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
        assert_eq!(json(&diagnostics)[0]["count"], 1200);
        let failure = explain(&diagnostics)(Failure::Input("nothing is left".into()));
        let Failure::Input(message) = failure else {
            panic!("it is about the input");
        };
        let expected = "nothing is left\n\
                        warning: 1 200 x lost: a row is missing; zero (first: a.cubex, byte 7)";
        assert_eq!(message, expected);
        assert_eq!(mended_json(&counts)["leaves with nothing open"], 2);
    }
}
