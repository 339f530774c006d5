//! [`parse`]: parses the text file of one thread for one metric: its functions, user events and
//! metadata.

use super::rules;
use super::tables::{Entry, EventEntry, Names};
use crate::read_context::ReadContext;
use crate::xml::{Token, Xml, text};
use crate::{Error, Result};
use perf_core::{Diagnostics, Place};

/// Contents of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct File {
    /// Name of the metric, if the file contains it.
    pub(super) metric: Option<String>,
    /// Entries with (exclusive, inclusive).
    pub(super) entries: Vec<(Entry, f64, f64)>,
    /// User events of the file.
    pub(super) events: Vec<EventEntry>,
    /// Metadata of the file.
    pub(super) metadata: Vec<(String, String)>,
}

struct Lines<'a> {
    /// Bytes of the file.
    bytes: &'a [u8],
    /// Read position.
    at: usize,
    /// Name for errors.
    name: &'a str,
    /// Maximum length of a line in bytes.
    longest: u32,
}

impl<'a> Lines<'a> {
    fn place(&self, at: usize) -> Place {
        Place::file(self.name).at(at as u64)
    }

    /// Returns the next non-blank line and its offset, or `None` at the end.
    fn next(&mut self) -> Result<Option<(&'a [u8], usize)>> {
        loop {
            // After the last line, which may have no line end, nothing is left.
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            if rest.is_empty() {
                return Ok(None);
            }
            let at = self.at;
            let end = rest.iter().position(|byte| *byte == b'\n');
            let line = &rest[..end.unwrap_or(rest.len())];
            self.at += line.len() + 1;
            if line.len() > self.longest as usize {
                return Err(Error::Limit {
                    place: self.place(at),
                    what: "length of a line in bytes",
                    got: line.len() as u64,
                    limit: self.longest.into(),
                });
            }
            let line = line.trim_ascii();
            if !line.is_empty() {
                return Ok(Some((line, at)));
            }
        }
    }

    fn expect(&mut self, expected: &str) -> Result<(&'a [u8], usize)> {
        self.next()?.ok_or_else(|| Error::Truncated {
            place: self.place(self.bytes.len()),
            expected: expected.into(),
        })
    }

    fn malformed(&self, at: usize, expected: &str, line: &[u8]) -> Error {
        let got = String::from_utf8_lossy(&line[..line.len().min(80)]);
        Error::Malformed {
            place: self.place(at),
            expected: expected.into(),
            got: format!("{got:?}"),
        }
    }

    /// Parses `<count> <word>`.
    fn count(&self, line: &[u8], at: usize, word: &str) -> Result<(u64, String)> {
        let line_text = String::from_utf8_lossy(line);
        let parts = line_text.split_once(' ');
        let parts = parts.and_then(|(count, rest)| Some((count.parse().ok()?, rest.trim())));
        match parts.filter(|(_, rest)| rest.starts_with(word)) {
            Some((count, rest)) => Ok((count, rest.to_string())),
            None => Err(self.malformed(at, &format!("a count and `{word}`"), line)),
        }
    }
}

pub(super) fn parse(
    bytes: &[u8],
    name: &str,
    names: &mut Names,
    options: &ReadContext,
    found: &mut Diagnostics,
) -> Result<File> {
    let mut lines = Lines {
        bytes,
        at: 0,
        name,
        longest: options.get_limits().string,
    };
    let mut file = File::default();
    let (line, at) = lines.expect("a count and `templated_functions`")?;
    let (functions, title) = lines.count(line, at, "templated_functions")?;
    let metric = title.strip_prefix("templated_functions_MULTI_");
    file.metric = metric.filter(|name| !name.is_empty()).map(String::from);
    header(&mut lines, &mut file)?;
    for _ in 0..functions {
        let (line, at) = lines.expect("a function")?;
        let parsed = function(line);
        let Some((name, numbers, groups)) = parsed else {
            let expected = "\"name\" calls subrs excl incl profilecalls GROUP=\"...\"";
            return Err(lines.malformed(at, expected, line));
        };
        let limit = options.get_limits().definitions;
        if file.entries.len() >= limit as usize {
            return Err(Error::Limit {
                place: lines.place(at),
                what: "number of functions",
                got: functions,
                limit: limit.into(),
            });
        }
        let mut negative = 0;
        let [calls, subroutines, exclusive, inclusive] = numbers.map(|number| {
            negative += u64::from(number < 0.0);
            number.max(0.0)
        });
        found.add_many(rules::NEGATIVE, negative, lines.place(at));
        let function = names.function(&name, &groups);
        let entry = Entry {
            function,
            calls,
            subroutines,
        };
        file.entries.push((entry, exclusive, inclusive));
    }
    let Some((line, at)) = lines.next()? else {
        return Ok(file);
    };
    let (aggregates, _) = lines.count(line, at, "aggregates")?;
    for _ in 0..aggregates {
        lines.expect("an aggregate")?;
    }
    events(&mut lines, &mut file, names, found)?;
    Ok(file)
}

/// Parses the line of column names and the metadata after it, which are almost XML.
fn header(lines: &mut Lines<'_>, file: &mut File) -> Result<()> {
    let start = lines.at;
    // The file may end after the line of templates, see `Lines::next`.
    let rest = lines.bytes.get(start..).unwrap_or_default();
    let find = |what: &[u8], within: &[u8]| {
        let mut windows = within.windows(what.len());
        windows.position(|window| window == what)
    };
    let line_end = rest.iter().position(|byte| *byte == b'\n');
    let line = &rest[..line_end.unwrap_or(rest.len())];
    if !line.trim_ascii().starts_with(b"#") && !line.trim_ascii().starts_with(b"Name") {
        return Err(lines.malformed(start, "# Name Calls Subrs Excl Incl ProfileCalls", line));
    }
    let Some(open) = find(b"<metadata>", line) else {
        lines.at = start + line.len() + 1;
        return Ok(());
    };
    const END: &[u8] = b"</metadata>";
    // Values may contain line breaks.
    let end = rest.get(open..).and_then(|from| find(END, from));
    let end = end.map(|end| open + end).ok_or_else(|| Error::Truncated {
        place: lines.place(lines.bytes.len()),
        expected: "</metadata>".into(),
    })?;
    let mut xml = Xml::new(&rest[open..end]);
    let (mut name, mut value) = (String::new(), String::new());
    let mut inside: &[u8] = b"";
    // An unterminated tag ends the metadata.
    while let Ok(Some(token)) = xml.next() {
        match token {
            Token::Open(tag) => inside = tag.name,
            Token::Text(raw) | Token::Verbatim(raw) => match inside {
                b"name" => name.push_str(&text(raw)),
                b"value" => value.push_str(&text(raw)),
                _ => {}
            },
            Token::Close(b"attribute") => {
                let entry = (std::mem::take(&mut name), std::mem::take(&mut value));
                if entry.0 == "Metric Name" && !entry.1.is_empty() {
                    file.metric = Some(entry.1.clone());
                }
                file.metadata.push(entry);
            }
            Token::Close(_) => inside = b"",
        }
    }
    let after = &rest[end + END.len()..];
    let line_end = after.iter().position(|byte| *byte == b'\n');
    lines.at = start + end + END.len() + line_end.map_or(after.len(), |end| end + 1);
    Ok(())
}

/// Parses name, first four numbers, and groups of a line. Names may contain quotes and the text
/// `GROUP=`, so the last of each is used.
fn function(line: &[u8]) -> Option<(String, [f64; 4], String)> {
    let line = String::from_utf8_lossy(line);
    let (before, groups) = match line.rsplit_once("GROUP=") {
        Some((before, groups)) if before.contains('"') => (before, groups),
        _ => (&*line, ""),
    };
    // `GROUP=` is part of a name and no groups follow: the quote after it ends the name.
    let (before, groups) = if groups.starts_with('"') || groups.is_empty() {
        (before, groups.trim().trim_matches('"'))
    } else {
        (&*line, "")
    };
    let (name, numbers) = before.strip_prefix('"')?.rsplit_once('"')?;
    let numbers = four(numbers)?;
    Some((name.into(), numbers, groups.into()))
}

fn four(text: &str) -> Option<[f64; 4]> {
    let mut numbers = text.split_ascii_whitespace().map(str::parse);
    let mut next = || {
        numbers
            .next()?
            .ok()
            .filter(|number: &f64| number.is_finite())
    };
    Some([next()?, next()?, next()?, next()?])
}

fn events(
    lines: &mut Lines<'_>,
    file: &mut File,
    names: &mut Names,
    found: &mut Diagnostics,
) -> Result<()> {
    let Some((line, at)) = lines.next()? else {
        return Ok(());
    };
    let (events, _) = lines.count(line, at, "userevents")?;
    if events > 0 {
        lines.next()?;
    }
    for index in 0..events {
        let parsed = lines.next()?.and_then(|(line, _)| {
            let line = String::from_utf8_lossy(line).into_owned();
            let (name, numbers) = line.strip_prefix('"')?.rsplit_once('"')?;
            let mut numbers = numbers.split_ascii_whitespace().map(str::parse);
            let mut next = || numbers.next()?.ok();
            let event = EventEntry {
                event: names.event(name),
                count: next()?,
                max: next()?,
                min: next()?,
                mean: next()?,
                sum_of_squares: next()?,
            };
            Some(event)
        });
        let Some(event) = parsed else {
            let place = lines.place(lines.at.min(lines.bytes.len()));
            found.add_many(rules::TRUNCATED_EVENTS, events - index, place);
            break;
        };
        file.events.push(event);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_group_and_quote_count() {
        let line = br#""say "GROUP=x" twice" 2 0 1.5E1 2E1 0 GROUP="A | B" "#;
        let (name, numbers, groups) = function(line.trim_ascii()).unwrap();
        assert_eq!(name, r#"say "GROUP=x" twice"#);
        assert_eq!(numbers, [2.0, 0.0, 15.0, 20.0]);
        assert_eq!(groups, "A | B");
        let (name, ..) = function(br#""[GROUP=MIN] x" 1 2 3 4 5"#).unwrap();
        assert_eq!(name, "[GROUP=MIN] x");
        assert!(function(br#""x" 1 2 3"#).is_none());
        assert!(function(br#"x 1 2 3 4 5"#).is_none());
    }
}
