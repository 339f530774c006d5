//! [`Diagnostics`]: repairs, losses and notes of a reader, as a [`Finding`] for each [`Rule`] with
//! its [`Weight`]: their count and the first [`Place`]s in the input.

use crate::Merge;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Kind of repair or loss, with a short stable name such as `duplicate-definition`.
///
/// Crates declare their rules as constants, so that tests and tools can look up a rule by value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Rule {
    /// Short, stable name in kebab case.
    pub name: &'static str,
    /// Description in one clause: the defect and its treatment.
    pub what: &'static str,
    /// Severity.
    pub weight: Weight,
}

/// Severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub enum Weight {
    /// Common in recordings of the format and without effect on results. Examples are a flow with
    /// only one end and a wrong count that many tools write. Commands print the count of such rules
    /// in one line.
    Ordinary,
    /// Worth reporting, but the data is unchanged. An example is a wrong count that has no effect.
    Note,
    /// The recording violated a rule of its format and was repaired.
    Repair,
    /// Part of the recording was dropped.
    Loss,
}

impl Weight {
    /// Returns `true` if data was changed or dropped.
    ///
    /// ```
    /// use perf_core::Weight;
    /// assert!(Weight::Repair.is_repair() && Weight::Loss.is_repair());
    /// assert!(!Weight::Note.is_repair() && !Weight::Ordinary.is_repair());
    /// ```
    pub fn is_repair(self) -> bool {
        matches!(self, Weight::Repair | Weight::Loss)
    }
}

/// Position of a defect in the input. All parts but the file are optional.
///
/// ```
/// use perf_core::Place;
/// let place = Place::file("3.evt").at(118).record("Enter");
/// assert_eq!(place.to_string(), "3.evt, byte 118, Enter");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// File, or member of an archive.
    pub file: Arc<str>,
    /// Offset in bytes from the start of the file.
    pub offset: Option<u64>,
    /// Record at that position, such as `Group 0` or `location 3`.
    pub record: Option<Arc<str>>,
}

impl Place {
    /// Creates a place in `file` without an offset.
    pub fn file(file: impl Into<Arc<str>>) -> Self {
        Place {
            file: file.into(),
            ..Place::default()
        }
    }

    /// Sets the offset in bytes.
    pub fn at(mut self, offset: u64) -> Self {
        self.offset = Some(offset);
        self
    }

    /// Sets the record.
    pub fn record(mut self, record: impl Into<Arc<str>>) -> Self {
        self.record = Some(record.into());
        self
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.file)?;
        if let Some(offset) = self.offset {
            write!(f, ", byte {offset}")?;
        }
        if let Some(record) = &self.record {
            write!(f, ", {record}")?;
        }
        Ok(())
    }
}

/// Number of applications of one [`Rule`] and the first places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Finding {
    /// Number of applications.
    pub count: u64,
    /// First places in order of file, offset and record; at most [`Diagnostics::PLACES`].
    pub places: Vec<Place>,
}

/// Repairs and losses of a reader, by rule.
///
/// ```
/// use perf_core::{Diagnostics, Merge, Place, Rule, Weight};
/// const BACKWARDS: Rule = Rule {
///     name: "time-backwards",
///     what: "an event is earlier than the one before; kept at the time of that one",
///     weight: Weight::Repair,
/// };
/// let mut found = Diagnostics::default();
/// found.add(BACKWARDS, Place::file("3.evt").at(118));
/// found.merge(&found.clone());
/// assert_eq!(found.count(BACKWARDS), 2);
/// assert_eq!(found.repairs(), 2);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostics(BTreeMap<Rule, Finding>);

impl Diagnostics {
    /// Largest number of places kept for each rule. Further applications are only counted.
    pub const PLACES: usize = 8;

    /// Counts one application of `rule`.
    pub fn add(&mut self, rule: Rule, place: Place) {
        self.add_many(rule, 1, place);
    }

    /// Counts `count` applications of `rule`, the first of them at `place`.
    pub fn add_many(&mut self, rule: Rule, count: u64, place: Place) {
        if count > 0 {
            let finding = self.0.entry(rule).or_default();
            finding.count = finding.count.saturating_add(count);
            finding.keep(place);
        }
    }

    /// Returns the number of applications of `rule`.
    pub fn count(&self, rule: Rule) -> u64 {
        self.0.get(&rule).map_or(0, |finding| finding.count)
    }

    /// Returns the number of repairs and losses, without notes.
    pub fn repairs(&self) -> u64 {
        self.iter()
            .filter(|(rule, _)| rule.weight.is_repair())
            .fold(0, |sum, (_, finding)| sum.saturating_add(finding.count))
    }

    /// Returns `true` if there are no findings.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the rules by name, with their findings.
    pub fn iter(&self) -> impl Iterator<Item = (Rule, &Finding)> {
        self.0.iter().map(|(rule, finding)| (*rule, finding))
    }
}

/// Serializes a list of `{"rule": .., "finding": ..}`, ordered by the name of the rule.
#[cfg(feature = "serde")]
impl serde::Serialize for Diagnostics {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(serde::Serialize)]
        struct Entry<'a> {
            /// The rule.
            rule: Rule,
            /// Its findings.
            finding: &'a Finding,
        }
        serializer.collect_seq(self.iter().map(|(rule, finding)| Entry { rule, finding }))
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Place {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(serde::Serialize)]
        struct Plain<'a> {
            /// File.
            file: &'a str,
            /// Offset in bytes.
            offset: Option<u64>,
            /// Record at that offset.
            record: Option<&'a str>,
        }
        let plain = Plain {
            file: &self.file,
            offset: self.offset,
            record: self.record.as_deref(),
        };
        plain.serialize(serializer)
    }
}

impl Finding {
    /// Keeps the places sorted, so that the result does not depend on the order in which threads
    /// report.
    fn keep(&mut self, place: Place) {
        if let Err(at) = self.places.binary_search(&place)
            && at < Diagnostics::PLACES
        {
            self.places.insert(at, place);
            self.places.truncate(Diagnostics::PLACES);
        }
    }
}

impl Merge for Diagnostics {
    fn merge(&mut self, other: &Self) {
        for (rule, theirs) in &other.0 {
            let ours = self.0.entry(*rule).or_default();
            ours.count = ours.count.saturating_add(theirs.count);
            for place in &theirs.places {
                ours.keep(place.clone());
            }
        }
    }
}

/// Writes one line for each rule: `12 x duplicate-definition: ... (first: a.def, byte 40)`.
impl std::fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, (rule, finding)) in self.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{} x {}: {}", finding.count, rule.name, rule.what)?;
            if let Some(first) = finding.places.first() {
                write!(f, " (first: {first})")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RULES: [Rule; 4] = [
        rule("0", Weight::Ordinary),
        rule("a", Weight::Note),
        rule("b", Weight::Repair),
        rule("c", Weight::Loss),
    ];

    const fn rule(name: &'static str, weight: Weight) -> Rule {
        Rule {
            name,
            what: "found",
            weight,
        }
    }

    fn some() -> impl Strategy<Value = Diagnostics> {
        prop::collection::vec((0usize..4, 0u64..40), 0..40).prop_map(|entries| {
            let mut all = Diagnostics::default();
            for (rule, offset) in entries {
                all.add(RULES[rule], Place::file("f").at(offset));
            }
            all
        })
    }

    fn merged(a: &Diagnostics, b: &Diagnostics) -> Diagnostics {
        let mut sum = a.clone();
        sum.merge(b);
        sum
    }

    proptest! {
        #[test]
        fn merge_is_associative_and_commutative(a in some(), b in some(), c in some()) {
            prop_assert_eq!(merged(&a, &b), merged(&b, &a));
            prop_assert_eq!(merged(&merged(&a, &b), &c), merged(&a, &merged(&b, &c)));
            prop_assert_eq!(merged(&a, &Diagnostics::default()), a);
        }
    }

    #[test]
    fn notes_are_no_repairs() {
        let mut all = Diagnostics::default();
        for rule in RULES {
            all.add(rule, Place::file("f"));
        }
        assert_eq!(all.repairs(), 2);
    }
}
