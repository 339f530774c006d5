//! [`Row`]: the companion file `.row` of a trace with the labels of CPUs, nodes and threads.

use super::rules;
use perf_core::{Diagnostics, Place};

/// Labels of CPUs, nodes, threads and other levels.
///
/// ```
/// use perf_formats::paraver::Row;
/// let row = Row::parse(b"LEVEL NODE SIZE 1\ns01r2b02\n\nLEVEL THREAD SIZE 2\na\nb\n");
/// assert_eq!(row.label("THREAD", 2), Some("b"));
/// assert_eq!(row.labels("NODE").len(), 1);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Text of the file.
    text: Vec<u8>,
    /// Labels by level.
    levels: Vec<(String, Vec<String>)>,
    /// Numbers of unrecognised lines.
    strange: Vec<u64>,
}

impl Row {
    /// Parses a `.row`. This cannot fail: unrecognised lines stay in the text.
    pub fn parse(text: &[u8]) -> Self {
        let mut row = Row {
            text: text.to_vec(),
            ..Row::default()
        };
        let mut left = 0;
        for (number, line) in (1..).zip(text.split_inclusive(|byte| *byte == b'\n')) {
            let trimmed = String::from_utf8_lossy(line.trim_ascii_end());
            let mut words = trimmed.split_ascii_whitespace();
            if left == 0 && words.next() == Some("LEVEL") {
                let name = words.next().unwrap_or_default().to_string();
                let size = words.nth(1).and_then(|size| size.parse::<u64>().ok());
                match size {
                    Some(size) => left = size,
                    None => row.strange.push(number),
                }
                row.levels.push((name, Vec::new()));
                continue;
            }
            if left > 0 {
                left -= 1;
                if let Some((_, labels)) = row.levels.last_mut() {
                    labels.push(trimmed.into_owned());
                }
            } else if !trimmed.trim().is_empty() {
                row.strange.push(number);
            }
        }
        row
    }

    /// Creates a `.row` from levels and their labels.
    pub fn new(levels: Vec<(String, Vec<String>)>) -> Self {
        let mut text = String::new();
        for (index, (name, labels)) in levels.iter().enumerate() {
            let gap = if index > 0 { "\n" } else { "" };
            text.push_str(&format!("{gap}LEVEL {name} SIZE {}\n", labels.len()));
            for label in labels {
                text.push_str(label);
                text.push('\n');
            }
        }
        Row {
            text: text.into_bytes(),
            levels,
            strange: Vec::new(),
        }
    }

    /// Returns the text of the file.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Returns the labels of a level, such as `THREAD`, or an empty slice if there is no such
    /// level.
    pub fn labels(&self, level: &str) -> &[String] {
        let found = self.levels.iter().find(|(name, _)| name == level);
        found.map_or(&[], |(_, labels)| labels)
    }

    /// Returns label `number`, from 1, of a level.
    pub fn label(&self, level: &str, number: u64) -> Option<&str> {
        let index = usize::try_from(number.checked_sub(1)?).ok()?;
        self.labels(level).get(index).map(String::as_str)
    }

    /// Reports lines that do not fit their level.
    pub(super) fn report(&self, name: &str, found: &mut Diagnostics) {
        for line in &self.strange {
            let place = Place::file(name).record(format!("line {line}"));
            found.add(rules::STRANGE_LINE, place);
        }
    }
}
