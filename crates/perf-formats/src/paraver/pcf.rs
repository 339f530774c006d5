//! [`Pcf`]: the companion file `.pcf` of a trace with the names of states, event types and values.

use super::{names, rules};
use perf_core::{Diagnostics, Place};
use std::collections::BTreeMap;

/// Names of the states, event types and values of a trace.
///
/// The text is stored verbatim, so that writing reproduces the file, including parts that this
/// crate does not interpret.
///
/// ```
/// use perf_formats::paraver::Pcf;
/// let text = "STATES\n1    Running\n\nEVENT_TYPE\n9   50000001    MPI Point-to-point\n\
///             VALUES\n41   MPI_Sendrecv\n0   Outside MPI\n";
/// let pcf = Pcf::parse(text.as_bytes());
/// assert_eq!(pcf.state(1), Some("Running"));
/// assert_eq!(pcf.kind(50000001).map(|kind| kind.label.as_str()), Some("MPI Point-to-point"));
/// assert_eq!(pcf.value(50000001, 41), Some("MPI_Sendrecv"));
/// assert_eq!(pcf.text(), text.as_bytes());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pcf {
    /// Text of the file.
    text: Vec<u8>,
    /// Names of the states.
    states: BTreeMap<u64, String>,
    /// Event types by number.
    kinds: BTreeMap<u32, EventKind>,
    /// Names of the values of each block.
    values: Vec<BTreeMap<u64, String>>,
    /// Position of each block in the text.
    blocks: Vec<std::ops::Range<usize>>,
    /// Numbers of unrecognised lines.
    strange: Vec<u64>,
}

/// An event type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventKind {
    /// Number of the colour gradient; 7 for hardware counters.
    pub gradient: u32,
    /// Name of the type.
    pub label: String,
    /// Block of the type, from 0; types of the same block share their values.
    pub block: usize,
}

/// Colour gradient of hardware counters.
pub(super) const COUNTERS: u32 = 7;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    /// A section that is not interpreted.
    Other,
    States,
    Kinds,
    Values,
}

impl Pcf {
    /// Parses a `.pcf`. This cannot fail: unrecognised lines stay in the text.
    pub fn parse(text: &[u8]) -> Self {
        let mut pcf = Pcf {
            text: text.to_vec(),
            ..Pcf::default()
        };
        let mut section = Section::Other;
        let (mut offset, mut number) = (0, 0);
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            let start = offset;
            offset += line.len();
            number += 1;
            let trimmed = line.trim_ascii();
            if trimmed.is_empty() || trimmed.first() == Some(&b'#') {
                continue;
            }
            if let Some(next) = keyword(trimmed) {
                match next {
                    Section::Kinds => {
                        pcf.blocks.push(start..offset);
                        pcf.values.push(BTreeMap::new());
                    }
                    // `VALUES` belong to the preceding types.
                    Section::Values if section == Section::Kinds => pcf.extend_block(offset),
                    Section::Values => pcf.strange.push(number),
                    _ => {}
                }
                section = next;
                continue;
            }
            let understood = match section {
                // Colours, options and other contents.
                Section::Other => true,
                Section::States => numbered(trimmed)
                    .map(|(value, label)| drop(pcf.states.insert(value, label)))
                    .is_some(),
                Section::Kinds => pcf.add_kind(trimmed),
                Section::Values => numbered(trimmed)
                    .zip(pcf.values.last_mut())
                    .map(|((value, label), list)| drop(list.insert(value, label)))
                    .is_some(),
            };
            if !understood {
                pcf.strange.push(number);
            } else if matches!(section, Section::Kinds | Section::Values) {
                pcf.extend_block(offset);
            }
        }
        pcf
    }

    fn extend_block(&mut self, end: usize) {
        if let Some(block) = self.blocks.last_mut() {
            block.end = end;
        }
    }

    fn add_kind(&mut self, line: &[u8]) -> bool {
        let Some((gradient, rest)) = numbered(line) else {
            return false;
        };
        let Some((kind, label)) = numbered(rest.as_bytes()) else {
            return false;
        };
        let (Ok(gradient), Ok(kind)) = (u32::try_from(gradient), u32::try_from(kind)) else {
            return false;
        };
        let block = self.blocks.len().saturating_sub(1);
        let kind_of = EventKind {
            gradient,
            label,
            block,
        };
        self.kinds.insert(kind, kind_of);
        true
    }

    /// Returns the text of the file.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Returns the name of a state.
    pub fn state(&self, state: u32) -> Option<&str> {
        self.states.get(&u64::from(state)).map(String::as_str)
    }

    /// Iterates over states and their names, ascending.
    pub fn states(&self) -> impl Iterator<Item = (u64, &str)> {
        self.states
            .iter()
            .map(|(state, name)| (*state, name.as_str()))
    }

    /// Returns an event type. If it is listed twice, the second entry is used.
    pub fn kind(&self, kind: u32) -> Option<&EventKind> {
        self.kinds.get(&kind)
    }

    /// Iterates over the event types, ascending.
    pub fn kinds(&self) -> impl Iterator<Item = (u32, &EventKind)> {
        self.kinds.iter().map(|(kind, of)| (*kind, of))
    }

    /// Returns the name of a value of a type; `value` is its bit pattern.
    pub fn value(&self, kind: u32, value: u64) -> Option<&str> {
        let list = self.values.get(self.kinds.get(&kind)?.block)?;
        list.get(&value).map(String::as_str)
    }

    /// Iterates over the values of a type and their names, ascending by bit pattern.
    pub fn values(&self, kind: u32) -> impl Iterator<Item = (u64, &str)> {
        let list = self
            .kinds
            .get(&kind)
            .and_then(|of| self.values.get(of.block));
        let list = list.into_iter().flatten();
        list.map(|(value, name)| (*value, name.as_str()))
    }

    /// Returns the name of a counter as a metric: its label without the part in brackets, or the
    /// name of the PAPI counter.
    ///
    /// ```
    /// use perf_formats::paraver::Pcf;
    /// let pcf = Pcf::parse(b"EVENT_TYPE\n7  42000059 MY_CYC [Total cycles]\n");
    /// assert_eq!(pcf.counter(42_000_059), "MY_CYC");
    /// assert_eq!(pcf.counter(42_000_050), "PAPI_TOT_INS");
    /// assert_eq!(pcf.counter(42_999_999), "counter 42999999");
    /// ```
    pub fn counter(&self, kind: u32) -> String {
        self.described(kind).0
    }

    /// Returns the name of a counter with its description.
    pub(super) fn described(&self, kind: u32) -> (String, &str) {
        let label = self.kind(kind).map(|of| of.label.as_str());
        let (name, description) = match label.filter(|label| !label.is_empty()) {
            Some(label) => names::split_label(label),
            None => (names::papi_name(kind).unwrap_or_default(), ""),
        };
        match name {
            "" => (format!("counter {kind}"), description),
            name => (name.to_owned(), description),
        }
    }

    pub(super) fn report(&self, name: &str, found: &mut Diagnostics) {
        for line in &self.strange {
            let place = Place::file(name).record(format!("line {line}"));
            found.add(rules::STRANGE_LINE, place);
        }
    }

    /// Replaces the block of a type by a new block for this type alone. Appends the new block if the type has none.
    /// Other types of the old block keep the old block.
    pub fn set_kind(&mut self, kind: u32, gradient: u32, label: &str, values: &[(u64, String)]) {
        let mut block = format!("EVENT_TYPE\n{gradient}    {kind}    {label}\n");
        if !values.is_empty() {
            block.push_str("VALUES\n");
        }
        for (value, name) in values {
            block.push_str(&format!("{value}      {name}\n"));
        }
        let mut text = Vec::with_capacity(self.text.len() + block.len() + 2);
        let old = self.kinds.get(&kind).map(|of| of.block);
        let shared =
            old.is_some_and(|old| self.kinds.values().filter(|of| of.block == old).count() > 1);
        match old.and_then(|old| self.blocks.get(old).cloned()) {
            Some(range) if !shared => {
                text.extend_from_slice(&self.text[..range.start]);
                text.extend_from_slice(block.as_bytes());
                text.extend_from_slice(&self.text[range.end..]);
            }
            Some(range) => {
                // Only the line of the type is removed; the new block follows the old one.
                text.extend_from_slice(&self.text[..range.start]);
                let old = &self.text[range.clone()];
                for line in old.split_inclusive(|byte| *byte == b'\n') {
                    let second = numbered(line.trim_ascii());
                    let second = second.and_then(|(_, rest)| numbered(rest.as_bytes()));
                    if second.is_none_or(|(number, _)| number != u64::from(kind)) {
                        text.extend_from_slice(line);
                    }
                }
                text.extend_from_slice(b"\n\n");
                text.extend_from_slice(block.as_bytes());
                text.extend_from_slice(&self.text[range.end..]);
            }
            None => {
                text.extend_from_slice(&self.text);
                if text.last().is_some_and(|byte| *byte != b'\n') {
                    text.push(b'\n');
                }
                if !text.is_empty() && !text.ends_with(b"\n\n") {
                    text.push(b'\n');
                }
                text.extend_from_slice(block.as_bytes());
                text.extend_from_slice(b"\n\n");
            }
        }
        *self = Pcf::parse(&text);
    }
}

/// Returns the section that a line begins.
fn keyword(line: &[u8]) -> Option<Section> {
    Some(match line {
        b"STATES" => Section::States,
        b"EVENT_TYPE" => Section::Kinds,
        b"VALUES" => Section::Values,
        _ => {
            let is_name = |byte: &u8| byte.is_ascii_uppercase() || *byte == b'_';
            let is_keyword = line.len() > 5 && line.contains(&b'_') && line.iter().all(is_name);
            return is_keyword.then_some(Section::Other);
        }
    })
}

/// Parses a number and the text after it. Negative numbers are returned as 64-bit patterns.
fn numbered(line: &[u8]) -> Option<(u64, String)> {
    let end = line.iter().position(|byte| byte.is_ascii_whitespace());
    let (number, rest) = line.split_at(end.unwrap_or(line.len()));
    let number = str::from_utf8(number).ok()?;
    let number = if number.starts_with('-') {
        number.parse::<i64>().ok()?.cast_unsigned()
    } else {
        number.parse().ok()?
    };
    let label = String::from_utf8_lossy(rest.trim_ascii()).into_owned();
    Some((number, label))
}
