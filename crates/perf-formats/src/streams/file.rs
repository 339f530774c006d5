//! [`StreamFile`]: the rows of one file, with one line ahead.

use super::json::{Line, Names};
use super::lines::Lines;
use super::row::{Row, Wrong};
use super::rules;
use super::tsv::Header;
use crate::{Error, Result};
use perf_core::{Diagnostics, EventSink, Nanos};

/// How the lines of a file are written.
#[derive(Clone, Debug)]
enum Syntax {
    Tsv(Header),
    Json(Names),
}

/// The rows of one file. The line after those that were pushed has been read, so that the step it
/// belongs to is known.
#[derive(Debug)]
pub(super) struct StreamFile {
    lines: Lines,
    syntax: Syntax,
    definitions: u32,
    /// Length of a step where the rows do not say which they belong to.
    period: Nanos,
    first: Option<Nanos>,
    /// The step of the line ahead; `None` at the end.
    ahead: Option<u64>,
    current: u64,
}

impl StreamFile {
    pub(super) fn new(
        mut lines: Lines,
        definitions: u32,
        period: Nanos,
        found: &mut Diagnostics,
    ) -> Result<Self> {
        let is_any = lines.advance(found)?;
        let text = std::str::from_utf8(lines.line()).unwrap_or_default();
        let header = Header::read(text);
        let is_json = text.starts_with(['{', '[']);
        let syntax = match (header, is_json || !is_any) {
            (Some(header), _) => Syntax::Tsv(header),
            (None, true) => Syntax::Json(Names::default()),
            (None, false) => {
                return Err(Error::Malformed {
                    place: lines.place(),
                    expected: "a header with ts_us and kind, or a line of JSON".into(),
                    got: text.chars().take(80).collect(),
                });
            }
        };
        let mut file = StreamFile {
            lines,
            syntax,
            definitions,
            period,
            first: None,
            ahead: None,
            current: 0,
        };
        // The first line of JSON is an event already.
        let is_ahead = is_any && is_json && file.look(found).is_some();
        if is_any && !is_ahead {
            file.read_ahead(found)?;
        }
        Ok(file)
    }

    /// Whether a row did not say to which step it belongs.
    pub(super) fn used_period(&self) -> bool {
        self.first.is_some()
    }

    /// The step of the next row; `None` at the end.
    pub(super) fn ahead(&self) -> Option<u64> {
        self.ahead
    }

    /// Pushes the rows of `step`, and those before it.
    pub(super) fn push_step(
        &mut self,
        step: u64,
        sink: &mut dyn EventSink,
        found: &mut Diagnostics,
    ) -> Result<u64> {
        let mut count = 0;
        self.current = step;
        while self.ahead.is_some_and(|ahead| ahead <= step) {
            if self.ahead.is_some_and(|ahead| ahead < step) {
                found.add(rules::STEP_BACK, self.lines.place());
            }
            if let Ok(Some(row)) = self.syntax.parse(self.lines.line(), self.definitions) {
                row.push(sink);
                count += 1;
            }
            self.read_ahead(found)?;
        }
        Ok(count)
    }

    fn read_ahead(&mut self, found: &mut Diagnostics) -> Result<()> {
        self.ahead = None;
        while self.lines.advance(found)? {
            if self.look(found).is_some() {
                break;
            }
        }
        Ok(())
    }

    /// Finds out the step of the line ahead, if it is a row.
    fn look(&mut self, found: &mut Diagnostics) -> Option<u64> {
        let line = self.lines.line();
        if line.is_empty() {
            return None;
        }
        let row = match self.syntax.parse(line, self.definitions) {
            Ok(row) => row?,
            Err(Some(wrong)) => {
                let (rule, record) = match wrong {
                    Wrong::Kind(kind) => (rules::UNKNOWN_KIND, format!("kind `{kind}`")),
                    Wrong::Field(expected, got) => (
                        rules::MALFORMED,
                        format!("expected {expected}, got `{got}`"),
                    ),
                };
                found.add(rule, self.lines.place().record(record));
                return None;
            }
            Err(None) => {
                found.add(rules::DEFINITIONS, self.lines.place());
                return None;
            }
        };
        let step = match row.step {
            Some(step) => step,
            // Metadata without a time belong to what goes on.
            None if row.kind == super::row::Kind::Metadata => self.current,
            None => {
                let at = row.at;
                let first = *self.first.get_or_insert(at);
                let since = at.0.saturating_sub(first.0) / self.period.0.max(1);
                u64::try_from(since).unwrap_or_default().max(self.current)
            }
        };
        self.ahead = Some(step);
        self.ahead
    }
}

impl Syntax {
    /// The row of a line; `None` where it is none but no error either, and `Err(None)` for names
    /// past the limit.
    fn parse<'a>(
        &mut self,
        line: &'a [u8],
        definitions: u32,
    ) -> Result<Option<Row<'a>>, Option<Wrong>> {
        let text = std::str::from_utf8(line).map_err(|error| {
            Some(Wrong::Field(
                "UTF-8",
                format!("something else after {} bytes", error.valid_up_to()),
            ))
        })?;
        match self {
            Syntax::Tsv(header) => header.row(text).map(Some).map_err(Some),
            Syntax::Json(names) => match names.line(text, definitions) {
                Ok(Line::Row(row)) => Ok(Some(row)),
                Ok(Line::Names(_)) => Ok(None),
                Ok(Line::TooMany(_)) => Err(None),
                Err(wrong) => Err(Some(wrong)),
            },
        }
    }
}
