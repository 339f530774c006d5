//! [`Fields`]: typed values of the query string of a request, where unknown or invalid fields are
//! errors.

use std::ops::RangeInclusive;
use std::str::FromStr;

/// Names and values of a query string. Unknown names are errors, so that a misspelt filter does not
/// select everything. Each value is removed when it is read.
#[derive(Debug)]
pub(super) struct Fields(Vec<(String, String)>);

/// Result with an error message for the user.
pub(super) type Parsed<T> = Result<T, String>;

impl Fields {
    /// Parses the text after `?`.
    pub(super) fn parse(query: Option<&str>) -> Parsed<Self> {
        let mut all: Vec<(String, String)> = Vec::new();
        for part in query
            .unwrap_or_default()
            .split('&')
            .filter(|part| !part.is_empty())
        {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let (name, value) = (decoded(name)?, decoded(value)?);
            if all.iter().any(|(known, _)| *known == name) {
                return Err(format!("`{}` is given twice", short(&name)));
            }
            // An empty field of a form is the same as a missing field.
            if !value.is_empty() {
                all.push((name, value));
            }
        }
        Ok(Fields(all))
    }

    /// Takes a text; `None` if the field is missing.
    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        let at = self.0.iter().position(|(known, _)| known == name)?;
        Some(self.0.swap_remove(at).1)
    }

    /// Takes a number or another value that can be parsed; `None` if the field is missing.
    pub(super) fn get<T: FromStr>(&mut self, name: &str) -> Parsed<Option<T>> {
        let Some(text) = self.text(name) else {
            return Ok(None);
        };
        let value = text.parse();
        value
            .map(Some)
            .map_err(|_| format!("`{name}` cannot be `{}`", short(&text)))
    }

    /// Takes a finite number; `None` if the field is missing.
    pub(super) fn real(&mut self, name: &str) -> Parsed<Option<f64>> {
        match self.get::<f64>(name)? {
            Some(number) if !number.is_finite() => Err(format!("`{name}` cannot be `{number}`")),
            number => Ok(number),
        }
    }

    /// Takes a number of at most `most`, with the default `usual`.
    pub(super) fn within(&mut self, name: &str, usual: usize, most: usize) -> Parsed<usize> {
        match self.get(name)? {
            None => Ok(usual),
            Some(number) if number <= most => Ok(number),
            Some(number) => Err(format!("`{name}` is {number}, but the limit is {most}")),
        }
    }

    /// Takes one of the words in `all` and returns the value of the word; `None` if the field is
    /// missing.
    pub(super) fn one_of<T: Copy>(&mut self, name: &str, all: &[(&str, T)]) -> Parsed<Option<T>> {
        let Some(text) = self.text(name) else {
            return Ok(None);
        };
        let found = all.iter().find(|(word, _)| *word == text);
        let found = found.map(|(_, value)| Some(*value));
        found.ok_or_else(|| {
            let words: Vec<_> = all.iter().map(|(word, _)| *word).collect();
            format!(
                "`{name}` is `{}`, expected {}",
                short(&text),
                words.join(", ")
            )
        })
    }

    /// Takes the range of steps from `from` to `to`, both inclusive; a missing end is unlimited.
    pub(super) fn steps(&mut self) -> Parsed<RangeInclusive<u64>> {
        let from = self.get("from")?.unwrap_or(0);
        let to = self.get("to")?.unwrap_or(u64::MAX);
        Ok(from..=to)
    }

    /// Takes at most `most` ranks, written as `program.rank,program.rank`; `rank` alone means
    /// program 0.
    pub(super) fn ranks(&mut self, most: usize) -> Parsed<Vec<(u32, u32)>> {
        let text = self.text("ranks").unwrap_or_default();
        let parts: Vec<_> = text.split(',').filter(|part| !part.is_empty()).collect();
        if parts.len() > most {
            return Err(format!(
                "`ranks` has {} entries, but the limit is {most}",
                parts.len()
            ));
        }
        let rank = |part: &&str| {
            let (program, rank) = part.split_once('.').unwrap_or(("0", part));
            let both = program.parse().ok().zip(rank.parse().ok());
            both.ok_or_else(|| format!("`ranks` has `{}`, expected PROGRAM.RANK", short(part)))
        };
        parts.iter().map(rank).collect()
    }

    /// Checks that there are no further fields.
    pub(super) fn end(self) -> Parsed<()> {
        match self.0.first() {
            None => Ok(()),
            Some((name, _)) => Err(format!("unknown parameter `{}`", short(name))),
        }
    }
}

fn short(text: &str) -> String {
    text.chars().take(40).collect()
}

/// Decodes percent-encoding like `%20`, and `+` as a space.
fn decoded(text: &str) -> Parsed<String> {
    let wrong = || format!("`{}` is not valid percent-encoding", short(text));
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || Some(char::from(bytes.next()?).to_digit(16)? as u8);
                let both = digit().and_then(|high| Some(16 * high + digit()?));
                both.ok_or_else(wrong)?
            }
            other => other,
        });
    }
    String::from_utf8(out).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_read_to_the_end() {
        let query = "rank=3&function=a%20%3Cb%3E+c&ranks=1.2,7&limit=5&empty=&from=4";
        let mut fields = Fields::parse(Some(query)).expect("it is sound");
        assert_eq!(fields.get("rank"), Ok(Some(3_u32)));
        assert_eq!(fields.text("function").as_deref(), Some("a <b> c"));
        assert_eq!(fields.ranks(2), Ok(vec![(1, 2), (0, 7)]));
        assert_eq!(fields.steps(), Ok(4..=u64::MAX));
        assert_eq!(fields.within("limit", 1, 10), Ok(5));
        assert_eq!(fields.end(), Ok(()));
    }

    #[test]
    fn invalid_queries_are_errors() {
        let said = |query: &str| {
            let mut fields = Fields::parse(Some(query))?;
            fields.get::<u32>("rank")?;
            fields.within("limit", 1, 10)?;
            fields.ranks(1)?;
            fields.real("score")?;
            fields.one_of("by", &[("total", 1)])?;
            fields.end()
        };
        for (query, what) in [
            ("rank=x", "`rank` cannot be `x`"),
            ("score=nan", "`score` cannot be `NaN`"),
            ("score=1e999", "`score` cannot be `inf`"),
            ("limit=11", "`limit` is 11, but the limit is 10"),
            ("ranks=1,2", "`ranks` has 2 entries, but the limit is 1"),
            ("ranks=a", "`ranks` has `a`, expected PROGRAM.RANK"),
            ("by=size", "`by` is `size`, expected total"),
            ("rnk=3", "unknown parameter `rnk`"),
            ("rank=1&rank=2", "`rank` is given twice"),
            ("rank=%4", "`%4` is not valid percent-encoding"),
            ("rank=%ff", "`%ff` is not valid percent-encoding"),
        ] {
            assert_eq!(said(query), Err(what.to_string()), "{query}");
        }
        assert_eq!(said(""), Ok(()));
        assert_eq!(said("score=-2.5e3"), Ok(()));
    }
}
