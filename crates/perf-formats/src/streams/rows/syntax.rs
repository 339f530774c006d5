//! [`Syntax`]: the syntax of a file, table or JSON, guessed from its first lines, by which each
//! line is parsed.

use super::json::{Line, Names};
use super::row::{Row, Wrong};
use super::tsv::Header;

/// Syntax of the lines of a file.
#[derive(Clone, Debug)]
pub(in crate::streams) enum Syntax {
    Tsv(Header),
    Json(Names),
}

/// Guess of the syntax from the first lines.
#[derive(Clone, Debug)]
pub(in crate::streams) enum Guess {
    /// A certain syntax, and `true` if the line is a header.
    Sure(Syntax, bool),
    /// A damaged header that could be repaired.
    Repaired(Syntax),
    Unknown,
}

impl PartialEq for Guess {
    fn eq(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

impl Syntax {
    /// Guesses the syntax from the first line only.
    pub(in crate::streams) fn guess(first: &str) -> Guess {
        match Header::repaired(first) {
            Some((header, false)) if header.is_known() && header.is_whole() => {
                return Guess::Sure(Syntax::Tsv(header), true);
            }
            // The following lines must decide on unknown names.
            Some(_) => return Guess::Unknown,
            None => {}
        }
        let mut names = Names::default();
        if is_json(first) && names.line(first, 16).is_ok() {
            Guess::Sure(Syntax::Json(Names::default()), false)
        } else {
            Guess::Unknown
        }
    }

    /// Guesses the syntax from the lines after the first, which is neither a valid header nor
    /// readable JSON.
    pub(in crate::streams) fn guess_by(first: &str, rest: &[&[u8]]) -> Guess {
        let text = |line: &&[u8]| String::from_utf8_lossy(line).into_owned();
        let rest: Vec<String> = rest.iter().map(text).collect();
        let most = |count: usize| 2 * count > rest.len() && count > 0;
        let is_table = Header::repaired(first).is_some();
        let count = rest.iter().filter(|line| is_json(line)).count();
        if (is_json(first) && !is_table) || most(count) {
            return Guess::Sure(Syntax::Json(Names::default()), false);
        }
        let usual = Header::usual();
        let rows = |header: &Header| rest.iter().filter(|line| header.row(line).is_ok()).count();
        match Header::repaired(first) {
            Some((header, _)) if most(rest.iter().filter(|line| header.is_cut(line)).count()) => {
                Guess::Repaired(Syntax::Tsv(usual))
            }
            Some((header, is_repaired)) if rows(&header) >= rows(&usual) => {
                if is_repaired {
                    Guess::Repaired(Syntax::Tsv(header))
                } else {
                    Guess::Sure(Syntax::Tsv(header), true)
                }
            }
            _ if most(rows(&usual)) => Guess::Repaired(Syntax::Tsv(usual)),
            _ => Guess::Unknown,
        }
    }

    /// Parses a line.
    pub(in crate::streams) fn parse<'a>(
        &mut self,
        line: &'a [u8],
        definitions: u32,
    ) -> Result<Line<'a>, Wrong> {
        let text = text(line)?;
        match self {
            Syntax::Tsv(header) => header.row(text).map(Line::Row),
            Syntax::Json(names) => names.line(text, definitions),
        }
    }

    /// Parses a line as a row with the known names, or returns `None`.
    pub(in crate::streams) fn row<'a>(&self, line: &'a [u8]) -> Option<Row<'a>> {
        let text = text(line).ok()?;
        match self {
            Syntax::Tsv(header) => header.row(text).ok(),
            Syntax::Json(names) => names.row(text),
        }
    }
}

fn text(line: &[u8]) -> Result<&str, Wrong> {
    std::str::from_utf8(line).map_err(|error| {
        let got = format!("something else after {} bytes", error.valid_up_to());
        Wrong::Field("UTF-8", got)
    })
}
