//! [`Cursor`]: parser of JSON values, each a [`Token`], in the window of a text, which can also
//! move past a broken element of an array.

use memchr::memchr2;

/// Longest key recognised at the begin of an element, in bytes.
const MAX_KEY: usize = 256;

/// Reason why a value could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The text in the window ends within the value.
    More,
    /// Invalid JSON: the token that was expected.
    Bad(&'static str),
}

/// A value, as a slice of the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// The value is missing.
    #[default]
    Missing,
    /// A string without its quotes, with escapes unresolved.
    Text(&'a [u8]),
    /// A number, `true`, `null`, or a nonstandard word such as `NaN`.
    Bare(&'a [u8]),
    /// An object or array, including its brackets.
    Nested(&'a [u8]),
}

impl<'a> Token<'a> {
    /// Returns the text of a string or number, and `None` for `null`.
    pub(crate) fn scalar(self) -> Option<&'a [u8]> {
        match self {
            Token::Bare(b"null") | Token::Missing | Token::Nested(_) => None,
            Token::Text(text) | Token::Bare(text) => Some(text),
        }
    }

    /// Like [`scalar`](Self::scalar), but empty if there is none.
    pub(crate) fn bytes(self) -> &'a [u8] {
        self.scalar().unwrap_or_default()
    }
}

/// Read position in a text.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    /// Text in the window.
    bytes: &'a [u8],
    /// Position in the text.
    at: usize,
    /// Number of superfluous and missing commas.
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

    /// Returns the position.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Returns the text from `start` to the position.
    pub(crate) fn since(&self, start: usize) -> &'a [u8] {
        &self.bytes[start..self.at]
    }

    /// Skips white space and returns the next byte without consuming it.
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

    /// Reads the next value.
    #[inline]
    pub(crate) fn value(&mut self) -> Result<Token<'a>, Stop> {
        match self.peek()? {
            b'"' => self.string().map(Token::Text),
            b'{' | b'[' => self.nested().map(Token::Nested),
            _ => self.bare().map(Token::Bare),
        }
    }

    /// Reads a string, starting at its opening quote.
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
                return Ok(&self.bytes[start..found]);
            }
            from = found + 2;
        }
    }

    /// Reads a number or word.
    #[inline]
    fn bare(&mut self) -> Result<&'a [u8], Stop> {
        let rest = &self.bytes[self.at..];
        let is_inside =
            |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.' | b'_');
        let length = rest.iter().position(|byte| !is_inside(byte));
        let length = length.ok_or(Stop::More)?;
        if length == 0 {
            return Err(Stop::Bad("a value"));
        }
        self.at += length;
        Ok(&rest[..length])
    }

    /// Reads an object or array of any depth. Brackets are counted without checking their type.
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
                        return Ok(&self.bytes[start..self.at]);
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

    /// Reads an object. `member` is called for each key, with the cursor at the value, which it
    /// must read.
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
                    // Fast path for the usual case: the comma follows immediately.
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

    /// Returns `true` if the last byte before the position, ignoring white space, is a comma.
    fn has_comma(&self) -> bool {
        let before = &self.bytes[..self.at];
        before.trim_ascii_end().last() == Some(&b',')
    }

    /// Reads an array; `element` must read each element.
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

    /// Moves past a broken element of an array, to the comma or bracket after it.
    ///
    /// A missing bracket or quote moves the apparent end of the element. However, no object can
    /// follow a comma inside an object, and no quote can occur unescaped inside a string. A comma,
    /// a `{` and a key with its colon therefore begin the next element, unless they belong to a
    /// list inside the element whose objects begin with another key than the element. If no end is
    /// found within `most` bytes, the cursor moves to the next possible begin of an object.
    ///
    /// Returns the number of examined bytes, or `None` if the window contains no further begin.
    pub(crate) fn recover(&mut self, most: usize) -> Result<Option<usize>, Stop> {
        let is_object = self.peek()? == b'{';
        let start = self.at;
        let limit = start.saturating_add(most);
        let own_key = self.key_of_object(start);
        // The opening bracket may be the missing part.
        let mut open = if is_object { Vec::new() } else { vec![b'{'] };
        let (mut is_string, mut comma) = (false, None);
        while self.at < limit {
            let byte = *self.bytes.get(self.at).ok_or(Stop::More)?;
            let at = self.at;
            self.at += 1;
            match byte {
                0..=b' ' => continue,
                b'{' => {
                    let is_listed = !is_string && open.last() == Some(&b'[');
                    if let Some(comma) = comma
                        && let Some(key) = self.key_of_object(at)?
                        && (!is_listed || own_key == Ok(Some(key)))
                    {
                        self.at = comma;
                        return Ok(Some(at - start));
                    }
                    if !is_string {
                        open.push(byte);
                    }
                }
                b'[' if !is_string => open.push(byte),
                b'\\' if is_string => self.at += 1,
                b'"' => is_string = !is_string,
                b'}' if !is_string => {
                    let opened = open.iter().rposition(|open| *open == b'{');
                    open.truncate(opened.unwrap_or_default());
                    if open.is_empty() {
                        if self.is_end_of_element()? {
                            return Ok(Some(self.at - start));
                        }
                        open.push(b'{');
                    }
                }
                b']' if !is_string => match open.iter().rposition(|open| *open == b'[') {
                    Some(opened) => open.truncate(opened),
                    None if !is_object => {
                        self.at = at;
                        return Ok(Some(at - start));
                    }
                    None => {}
                },
                _ => {}
            }
            comma = (byte == b',').then_some(at);
        }
        self.at = start + 1;
        Ok(self.next_start().map(|_| most))
    }

    /// Returns the first key of the object that begins at `at`, up to [`MAX_KEY`] bytes; `None` if
    /// there is no key or no colon.
    fn key_of_object(&self, at: usize) -> Result<Option<&'a [u8]>, Stop> {
        let mut cursor = Cursor {
            at: at.saturating_add(1),
            ..self.clone()
        };
        if cursor.peek()? != b'"' {
            return Ok(None);
        }
        let start = cursor.at + 1;
        let rest = &self.bytes[start..];
        let key = rest.get(..MAX_KEY).unwrap_or(rest);
        let Some(len) = memchr2(b'"', b'\\', key) else {
            return if key.len() < MAX_KEY {
                Err(Stop::More)
            } else {
                Ok(None)
            };
        };
        cursor.at = start + len + 1;
        let is_key = rest.get(len) == Some(&b'"') && cursor.peek()? == b':';
        Ok(rest.get(..len).filter(|_| is_key))
    }

    /// Returns `true` if the text after a bracket can follow an element: the end of the array, or a
    /// comma and another object.
    fn is_end_of_element(&self) -> Result<bool, Stop> {
        let mut cursor = self.clone();
        Ok(match cursor.peek()? {
            b']' => true,
            b',' => {
                cursor.at += 1;
                matches!(cursor.peek()?, b'{' | b']' | b',')
            }
            _ => false,
        })
    }

    /// Returns `true` if the next bracket ends an array that is a member of an object or the whole
    /// text: no object follows it.
    pub(crate) fn is_end_of_array(&self) -> Result<bool, Stop> {
        let mut cursor = self.clone();
        cursor.at += 1;
        if cursor.peek()? == b',' {
            cursor.at += 1;
        }
        Ok(cursor.peek()? != b'{')
    }

    /// Moves to the next possible begin of an object and returns the distance; `None` if there is
    /// none in the window.
    pub(crate) fn next_start(&mut self) -> Option<usize> {
        // After an escape at the end of the window, the position is beyond it.
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let is_start = |byte: &u8| matches!(byte, b'{' | b'}' | b']' | b',');
        let step = rest.iter().position(is_start)?;
        self.at += step;
        Some(step)
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
        assert_eq!(&text[cursor.at()..], ", {\"d\": 2}");
        // If the end is not found, the cursor moves to the next possible begin of an object.
        let mut cursor = Cursor::new(text.as_bytes());
        assert!(cursor.recover(4).is_ok());
        assert_eq!(&text[cursor.at()..], ", \"c\": {\"x\": 1}}\n, {\"d\": 2}");
    }

    #[test]
    fn a_damaged_bracket_costs_one_object() {
        let next = r#", {"ph": "X"}, 1]"#;
        for broken in [
            r#"{"ph": "X", "args": {"a": 1)}"#,
            r#"{"ph": "X", "args": {"a": 1})"#,
            r#"{"ph": "X", "args": ("a": 1}}"#,
            r#"{"ph": "X", "args": ("a": [1, 2]}, "dur": 2}"#,
            r#"{"ph": "X", "args": {"a": [1, 2)}}"#,
            r#"{"ph": "X", "args": {"a": (1, 2]}}"#,
            r#"{"ph": "X", "args": {"a": [{"b": 1}, {"b": 2}, {"b": 3)]}}"#,
            r#"{"ph": "X", "args": {"a": [{"b": 1}, {"b" 2}, {"b": 3}]}}"#,
            r#"{"ph": "X", "name": "[a, "args": {"a": [1, 2]}}"#,
            r#"{"ph": "X", "name": "a}"#,
            r#"("ph": "X", "args": {"a": [1, 2]}}"#,
            r#""ph": "X", "args": {"a": [{"b": 1}, {"b": 2}]}}"#,
        ] {
            let text = format!("{broken}{next}");
            let mut cursor = Cursor::new(text.as_bytes());
            assert!(matches!(cursor.recover(1 << 12), Ok(Some(_))), "{broken}");
            assert_eq!(&text[cursor.at()..], next, "{broken}");
        }
    }

    #[test]
    fn nesting_is_counted_and_not_recursed() {
        let deep = "[".repeat(1 << 20) + &"]".repeat(1 << 20);
        let mut cursor = Cursor::new(deep.as_bytes());
        assert!(matches!(cursor.value(), Ok(Token::Nested(all)) if all.len() == 2 << 20));
    }
}
