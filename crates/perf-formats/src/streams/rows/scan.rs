//! Scanner for flat lines of JSON: an array or an object of strings, numbers and nulls.
//!
//! Old writers put a bare `NaN` into columns that do not apply, which is not valid JSON, so a JSON
//! library cannot be used.

use super::row::Wrong;
use super::tsv::wrong;
use std::borrow::Cow;

/// A scalar value.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::streams) enum Scalar<'a> {
    Text(Cow<'a, str>),
    /// A number in its original notation.
    Number(&'a str),
    /// `null`, `NaN` or `"NA"`.
    Nothing,
}

impl<'a> Scalar<'a> {
    pub(in crate::streams) fn text(&self) -> &str {
        match self {
            Scalar::Text(text) => text,
            Scalar::Number(text) => text,
            Scalar::Nothing => "",
        }
    }

    pub(in crate::streams) fn is_nothing(&self) -> bool {
        *self == Scalar::Nothing
    }
}

/// Name and value; the values of an array have no name.
pub(in crate::streams) type Field<'a> = (Cow<'a, str>, Scalar<'a>);

/// Returns the fields of a line, and `true` if it is an array.
pub(in crate::streams) fn fields(line: &str) -> Result<(bool, Vec<Field<'_>>), Wrong> {
    let mut scanner = Scanner { rest: line.trim() };
    let is_array = scanner.rest.starts_with('[');
    let fields = if is_array {
        scanner.array()?
    } else {
        scanner.object()?
    };
    if scanner.rest.is_empty() {
        Ok((is_array, fields))
    } else {
        Err(wrong("the end of the line", scanner.rest))
    }
}

/// Read position in a line.
struct Scanner<'a> {
    /// Remaining text.
    rest: &'a str,
}

impl<'a> Scanner<'a> {
    fn array(&mut self) -> Result<Vec<Field<'a>>, Wrong> {
        let mut fields = Vec::new();
        self.expect("[")?;
        if self.take("]") {
            return Ok(fields);
        }
        loop {
            fields.push(("".into(), self.scalar()?));
            if self.take("]") {
                return Ok(fields);
            }
            self.expect(",")?;
        }
    }

    fn object(&mut self) -> Result<Vec<Field<'a>>, Wrong> {
        let mut fields = Vec::new();
        self.expect("{")?;
        if self.take("}") {
            return Ok(fields);
        }
        loop {
            let key = self.string()?;
            self.expect(":")?;
            fields.push((key, self.scalar()?));
            if self.take("}") {
                return Ok(fields);
            }
            self.expect(",")?;
        }
    }

    fn take(&mut self, token: &str) -> bool {
        match self.rest.trim_start().strip_prefix(token) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, token: &'static str) -> Result<(), Wrong> {
        if self.take(token) {
            Ok(())
        } else {
            Err(wrong(token, self.rest))
        }
    }

    fn scalar(&mut self) -> Result<Scalar<'a>, Wrong> {
        if self.rest.starts_with('"') {
            let text = self.string()?;
            return Ok(match &*text {
                "NA" | "NaN" => Scalar::Nothing,
                _ => Scalar::Text(text),
            });
        }
        let end = self
            .rest
            .find([',', ']', '}', ' ', '\t', '[', '{', '"', ':']);
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        match word {
            "null" | "NaN" => Ok(Scalar::Nothing),
            _ if word.starts_with(|c: char| c == '-' || c.is_ascii_digit()) => {
                Ok(Scalar::Number(word))
            }
            _ => Err(wrong("a string, a number or null", word)),
        }
    }

    fn string(&mut self) -> Result<Cow<'a, str>, Wrong> {
        let Some(inside) = self.rest.strip_prefix('"') else {
            return Err(wrong("a string", self.rest));
        };
        let mut text = String::new();
        let mut at = 0;
        loop {
            // An escape at the end is shorter than it should be.
            let rest = inside.get(at..).unwrap_or_default();
            let Some(step) = rest.find(['"', '\\']) else {
                return Err(wrong("the end of a string", rest));
            };
            let (plain, rest) = rest.split_at(step);
            let Some(escape) = rest.strip_prefix('\\') else {
                let end = at + step;
                self.rest = &inside[end + 1..];
                if text.is_empty() {
                    // The string had no escapes, or they yielded nothing.
                    return Ok(inside[end - step..end].into());
                }
                text.push_str(plain);
                return Ok(text.into());
            };
            text.push_str(plain);
            let (c, length) = unescape(escape)?;
            text.push(c);
            at += step + 1 + length;
        }
    }
}

/// Returns the character of an escape sequence, and its length after the backslash.
fn unescape(escape: &str) -> Result<(char, usize), Wrong> {
    let fail = || wrong("an escape of JSON", escape);
    let c = match escape.chars().next() {
        Some(c @ ('"' | '\\' | '/')) => c,
        Some('b') => '\u{8}',
        Some('f') => '\u{c}',
        Some('n') => '\n',
        Some('r') => '\r',
        Some('t') => '\t',
        Some('u') => {
            let unit = |at: usize| {
                let digits = escape.get(at..at + 4)?;
                u32::from_str_radix(digits, 16).ok()
            };
            let first = unit(1).ok_or_else(fail)?;
            if !(0xd800..0xdc00).contains(&first) {
                return Ok((char::from_u32(first).ok_or_else(fail)?, 5));
            }
            // A surrogate pair of UTF-16 stands for one character.
            let second = match escape.get(5..7) {
                Some("\\u") => unit(7).filter(|unit| (0xdc00..0xe000).contains(unit)),
                _ => None,
            };
            let second = second.ok_or_else(fail)?;
            let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            return Ok((char::from_u32(code).ok_or_else(fail)?, 11));
        }
        _ => return Err(fail()),
    };
    Ok((c, 1))
}
