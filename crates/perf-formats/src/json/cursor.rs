//! [`Cursor`]: one value of the text that is in the window.

use memchr::memchr2;

/// Why a value could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// What is in the window ends within it.
    More,
    /// It is not JSON: what should be there.
    Bad(&'static str),
}

/// A value as it stands in the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// There is none.
    #[default]
    Missing,
    /// A string without its quotes, its escapes as they are.
    Text(&'a [u8]),
    /// A number, `true`, `null`, or what stands in for one: `NaN`.
    Bare(&'a [u8]),
    /// An object or array with its brackets.
    Nested(&'a [u8]),
}

impl<'a> Token<'a> {
    /// The text of a string or number; `null` is none.
    pub(crate) fn scalar(self) -> Option<&'a [u8]> {
        match self {
            Token::Bare(b"null") | Token::Missing | Token::Nested(_) => None,
            Token::Text(text) | Token::Bare(text) => Some(text),
        }
    }

    /// As [`scalar`](Self::scalar), empty where there is none.
    pub(crate) fn bytes(self) -> &'a [u8] {
        self.scalar().unwrap_or_default()
    }
}

/// Reads values off the start of a text.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Commas that should not be there, or should and are not.
    pub(crate) commas: u32,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Cursor {
            bytes,
            at: 0,
            commas: 0,
        }
    }

    /// How far it is.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// The text from `start` to where it is.
    pub(crate) fn since(&self, start: usize) -> &'a [u8] {
        self.bytes.get(start..self.at).unwrap_or_default()
    }

    /// The next byte that is no white space, which stays next.
    #[inline]
    pub(crate) fn peek(&mut self) -> Result<u8, Stop> {
        while let Some(byte) = self.bytes.get(self.at) {
            if *byte > b' ' {
                return Ok(*byte);
            }
            self.at += 1;
        }
        Err(Stop::More)
    }

    /// The next value.
    #[inline]
    pub(crate) fn value(&mut self) -> Result<Token<'a>, Stop> {
        match self.peek()? {
            b'"' => self.string().map(Token::Text),
            b'{' | b'[' => self.nested().map(Token::Nested),
            _ => self.bare().map(Token::Bare),
        }
    }

    /// A string, of which the opening quote is next.
    #[inline]
    fn string(&mut self) -> Result<&'a [u8], Stop> {
        let start = self.at + 1;
        let mut from = start;
        loop {
            let rest = self.bytes.get(from..).ok_or(Stop::More)?;
            let step = memchr2(b'"', b'\\', rest).ok_or(Stop::More)?;
            let found = from + step;
            if rest.get(step) == Some(&b'"') {
                self.at = found + 1;
                return Ok(self.bytes.get(start..found).unwrap_or_default());
            }
            from = found + 2;
        }
    }

    /// A number or word.
    #[inline]
    fn bare(&mut self) -> Result<&'a [u8], Stop> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let is_inside =
            |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.' | b'_');
        let length = rest.iter().position(|byte| !is_inside(byte));
        let length = length.ok_or(Stop::More)?;
        if length == 0 {
            return Err(Stop::Bad("a value"));
        }
        self.at += length;
        Ok(rest.get(..length).unwrap_or_default())
    }

    /// An object or array whole, however deep. Only brackets are counted, not told apart.
    fn nested(&mut self) -> Result<&'a [u8], Stop> {
        let start = self.at;
        let mut depth = 0_usize;
        loop {
            match *self.bytes.get(self.at).ok_or(Stop::More)? {
                b'{' | b'[' => depth += 1,
                b'}' | b']' => {
                    depth -= 1;
                    if depth == 0 {
                        self.at += 1;
                        return Ok(self.bytes.get(start..self.at).unwrap_or_default());
                    }
                }
                b'"' => {
                    self.string()?;
                    continue;
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    /// The members of an object, each with the cursor at its value, which must be read.
    #[inline]
    pub(crate) fn object(
        &mut self,
        mut member: impl FnMut(&'a [u8], &mut Self) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        if self.peek()? != b'{' {
            return Err(Stop::Bad("an object"));
        }
        self.at += 1;
        let mut comma = true;
        loop {
            match self.peek()? {
                b'"' => {
                    self.commas += u32::from(!comma);
                    let key = self.string()?;
                    if self.peek()? != b':' {
                        return Err(Stop::Bad("`:`"));
                    }
                    self.at += 1;
                    member(key, self)?;
                    comma = false;
                    // What nearly always follows, without another turn.
                    if self.bytes.get(self.at) == Some(&b',') {
                        self.at += 1;
                        comma = true;
                    }
                }
                b',' => {
                    self.at += 1;
                    self.commas += u32::from(comma);
                    comma = true;
                }
                b'}' => {
                    let is_empty = self.bytes.get(self.at.wrapping_sub(1)) == Some(&b'{');
                    self.commas += u32::from(comma && !is_empty && self.has_comma());
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(Stop::Bad("a key, `,` or `}`")),
            }
        }
    }

    /// Whether the last byte before this one that is no white space is a comma.
    fn has_comma(&self) -> bool {
        let before = self.bytes.get(..self.at).unwrap_or_default();
        before.trim_ascii_end().last() == Some(&b',')
    }

    /// The elements of an array, each read by `element`.
    pub(crate) fn array(
        &mut self,
        mut element: impl FnMut(&mut Self) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        if self.peek()? != b'[' {
            return Err(Stop::Bad("an array"));
        }
        self.at += 1;
        loop {
            match self.peek()? {
                b']' => {
                    self.at += 1;
                    return Ok(());
                }
                b',' => self.at += 1,
                _ => element(self)?,
            }
        }
    }

    /// Goes to the end of what is broken: of the object that begins here, or to where one may
    /// begin. A string with a line feed in it tells of a missing quote, which turns strings inside
    /// out: then the end is the first bracket with a comma and another object behind it. Where neither is
    /// found in so many bytes, it goes to where an object may begin.
    ///
    /// How many bytes were looked at; `None` if nothing begins in the window any more.
    pub(crate) fn recover(&mut self, most: usize) -> Result<Option<usize>, Stop> {
        if self.peek()? != b'{' {
            self.at += 1;
            return Ok(self.next_start());
        }
        let start = self.at;
        let limit = start.saturating_add(most);
        let (mut depth, mut is_string) = (0_usize, false);
        while self.at < limit {
            let byte = *self.bytes.get(self.at).ok_or(Stop::More)?;
            self.at += 1;
            match byte {
                b'\\' if is_string => self.at += 1,
                b'"' => is_string = !is_string,
                b'\n' if is_string => break,
                b'{' if !is_string => depth += 1,
                b'}' if !is_string => {
                    depth -= 1;
                    if depth == 0 {
                        return Ok(Some(self.at - start));
                    }
                }
                _ => {}
            }
        }
        let seen = self.at - start;
        self.at = start;
        let more = match self.boundary(limit)? {
            true => self.at - start,
            false => {
                self.at = start + 1;
                match self.next_start() {
                    Some(_) => most,
                    None => return Ok(None),
                }
            }
        };
        Ok(Some(seen.saturating_add(more)))
    }

    /// Goes to the next place where an object may begin, and says how far that was; `None` if there is none
    /// in the window.
    pub(crate) fn next_start(&mut self) -> Option<usize> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let is_start = |byte: &u8| matches!(byte, b'{' | b'}' | b']' | b',');
        let step = rest.iter().position(is_start)?;
        self.at += step;
        Some(step)
    }

    /// Goes behind the next `}` that a comma and a `{` follow. `false` where none is before `limit`.
    fn boundary(&mut self, limit: usize) -> Result<bool, Stop> {
        while self.at < limit {
            let end = limit.min(self.bytes.len());
            let rest = self.bytes.get(self.at..end).ok_or(Stop::More)?;
            let Some(found) = memchr::memchr(b'}', rest) else {
                return if end == limit {
                    Ok(false)
                } else {
                    Err(Stop::More)
                };
            };
            self.at += 1 + found;
            let end = self.at;
            if self.peek()? == b',' {
                self.at += 1;
                if self.peek()? == b'{' {
                    self.at = end;
                    return Ok(true);
                }
            }
            self.at = end;
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> Result<(Vec<String>, u32), Stop> {
        let mut cursor = Cursor::new(text.as_bytes());
        let mut keys = Vec::new();
        cursor.object(|key, cursor| {
            keys.push(String::from_utf8_lossy(key).into_owned());
            cursor.value().map(|_| ())
        })?;
        Ok((keys, cursor.commas))
    }

    #[test]
    fn objects_with_sloppy_commas() {
        let all = ["a", "b"].map(String::from).to_vec();
        for (text, commas) in [
            (r#"{"a":1,"b":[{"c":"}"},"]"]}"#, 0),
            (r#" { "a" : -1.5e3 , "b" : null } "#, 0),
            (r#"{"a":NaN,"b":"\"",}"#, 1),
            (r#"{"a":1,,"b":{} , }"#, 2),
            (r#"{"a":1 "b":2}"#, 1),
        ] {
            assert_eq!(keys(text), Ok((all.clone(), commas)), "{text}");
        }
        assert_eq!(keys("{}"), Ok((vec![], 0)));
        assert_eq!(keys("{ }"), Ok((vec![], 0)));
    }

    #[test]
    fn what_is_cut_wants_more_and_what_is_wrong_is_told() {
        let text = r#"{"a": [1, "x\"y"], "b": 12}"#;
        for cut in 0..text.len() {
            assert_eq!(keys(&text[..cut]), Err(Stop::More), "{cut}");
        }
        for text in ["{1:2}", "{\"a\" 1}", "{\"a\":}", "[1]", "{\"a\":1]"] {
            assert!(matches!(keys(text), Err(Stop::Bad(_))), "{text}");
        }
    }

    #[test]
    fn a_missing_quote_costs_one_object() {
        let text = "{\"a\": \"b, \"c\": {\"x\": 1}}\n, {\"d\": 2}";
        let mut cursor = Cursor::new(text.as_bytes());
        assert!(cursor.recover(usize::MAX).is_ok());
        assert_eq!(&text[cursor.at()..], "\n, {\"d\": 2}");
        // Where the end is not to be found it is where an object may begin.
        let mut cursor = Cursor::new(text.as_bytes());
        assert!(cursor.recover(4).is_ok());
        assert_eq!(&text[cursor.at()..], ", \"c\": {\"x\": 1}}\n, {\"d\": 2}");
    }

    #[test]
    fn nesting_is_counted_and_not_recursed() {
        let deep = "[".repeat(1 << 20) + &"]".repeat(1 << 20);
        let mut cursor = Cursor::new(deep.as_bytes());
        assert!(matches!(cursor.value(), Ok(Token::Nested(all)) if all.len() == 2 << 20));
    }
}
