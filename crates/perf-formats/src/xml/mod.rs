//! [`Xml`]: tolerant tokeniser of XML for profiles that are nearly XML, which returns each
//! [`Token`]: an opening [`Tag`] with its attributes, a text, or a closing tag.
//!
//! Attributes without quotes, bare `&` in text and mismatched closing tags occur in files of CubeLib
//! and TAU. quick-xml reports such input as errors. Frequent kinds of elements are read by fast paths
//! without a token for each part (`fast_paths`): a profile with 1 MB of XML is opened in about 2 ms
//! (`docs/benchmarks.md`). The events and attributes of quick-xml took 7 ms for each MB of a
//! similar file on a similar machine.

mod byte_search;
#[cfg(feature = "cube")]
mod fast_paths;
mod text;

#[cfg(feature = "cube")]
pub(crate) use fast_paths::{Leaf, Values};
pub(crate) use text::text;
#[cfg(feature = "cube")]
pub(crate) use text::{escape, id, number};

use byte_search::find;
use memchr::{memchr, memmem};

/// Next token of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// `<name ...>` or `<name .../>`.
    Open(Tag<'a>),
    /// `</name>`.
    Close(&'a [u8]),
    /// Text between tags, with entities unresolved.
    Text(&'a [u8]),
    /// Text of a CDATA section.
    Verbatim(&'a [u8]),
}

/// An opening tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag<'a> {
    /// Name of the element.
    pub(crate) name: &'a [u8],
    /// Raw attributes.
    attributes: &'a [u8],
    /// `true` for a self-closing tag.
    pub(crate) is_empty: bool,
    /// Offset of the tag.
    pub(crate) at: usize,
}

/// Bytes that neither end the name of a tag nor begin a value.
const IS_LETTER: [bool; 256] = {
    let mut table = [true; 256];
    let ends = *b">= \t\n\r\x0c";
    let mut at = 0;
    while at < ends.len() {
        table[ends[at] as usize] = false;
        at += 1;
    }
    table
};

/// The document ends within a tag, comment or section that begins at this offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unfinished(pub(crate) usize);

/// Tokeniser of a document.
#[derive(Clone, Debug)]
pub(crate) struct Xml<'a> {
    /// Bytes of the part.
    bytes: &'a [u8],
    /// Number of bytes of the document before this part.
    before: usize,
    /// Position in the part.
    at: usize,
    /// The part as text if it is valid UTF-8, so that texts need no further validation.
    #[cfg(feature = "cube")]
    utf8: Option<&'a str>,
    /// `true` if the part may contain entities.
    #[cfg(feature = "cube")]
    has_entities: bool,
}

impl<'a> Xml<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Xml::part(bytes, 0)
    }

    /// Creates a tokeniser for a part of a document that follows `before` bytes. Offsets are those
    /// of the document.
    pub(crate) fn part(bytes: &'a [u8], before: usize) -> Self {
        Xml {
            bytes,
            before,
            at: 0,
            #[cfg(feature = "cube")]
            utf8: std::str::from_utf8(bytes).ok(),
            #[cfg(feature = "cube")]
            has_entities: memchr(b'&', bytes).is_some(),
        }
    }

    /// Returns the offset of the next token.
    pub(crate) fn at(&self) -> usize {
        self.before + self.at
    }

    /// Returns the next token, or `None` at the end. Comments, declarations and instructions are
    /// skipped.
    pub(crate) fn next(&mut self) -> Result<Option<Token<'a>>, Unfinished> {
        loop {
            let rest = self.rest();
            match rest {
                [] => return Ok(None),
                [b'<', b'/', body @ ..] => {
                    let length = find(b'>', body).ok_or(Unfinished(self.at()))?;
                    self.at += length + 3;
                    return Ok(Some(Token::Close(body[..length].trim_ascii())));
                }
                [b'<', b'!' | b'?', ..] => {
                    if let Some(section) = self.aside()? {
                        return Ok(Some(Token::Verbatim(section)));
                    }
                }
                [b'<', ..] => return self.tag().map(|tag| Some(Token::Open(tag))),
                _ => {
                    // Usually only a newline.
                    let length = match rest.get(1) {
                        Some(b'<') => 1,
                        _ => memchr(b'<', rest).unwrap_or(rest.len()),
                    };
                    let text = &rest[..length];
                    self.at += text.len();
                    return Ok(Some(Token::Text(text)));
                }
            }
        }
    }

    fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// Skips a comment, a declaration or an instruction, or returns the content of a CDATA section.
    #[cold]
    fn aside(&mut self) -> Result<Option<&'a [u8]>, Unfinished> {
        const KINDS: [(&[u8], &[u8]); 4] = [
            (b"<!--", b"-->"),
            (b"<![CDATA[", b"]]>"),
            (b"<?", b"?>"),
            (b"<!", b">"),
        ];
        let rest = self.rest();
        for (start, end) in KINDS {
            if let Some(body) = rest.strip_prefix(start) {
                let length = memmem::find(body, end).ok_or(Unfinished(self.at()))?;
                self.at += start.len() + length + end.len();
                return Ok((start.len() == 9).then(|| &body[..length]));
            }
        }
        Ok(None)
    }

    fn tag(&mut self) -> Result<Tag<'a>, Unfinished> {
        let start = self.at();
        let body = &self.rest()[1..];
        // A `>` inside quotes does not end the tag. A quote counts only after `=`, because unquoted
        // values may contain one.
        let (mut end, mut name) = (0, None);
        loop {
            while body.get(end).is_some_and(|byte| IS_LETTER[*byte as usize]) {
                end += 1;
            }
            match body.get(end) {
                Some(b'>') => break,
                Some(b'=') => {
                    let value = body[end + 1..].trim_ascii_start();
                    end = body.len() - value.len();
                    if let Some(quote @ (b'"' | b'\'')) = value.first() {
                        let close = find(*quote, &value[1..]).ok_or(Unfinished(start))?;
                        end += close + 2;
                    }
                }
                Some(_) => {
                    name.get_or_insert(end);
                    end += 1;
                }
                None => return Err(Unfinished(start)),
            }
        }
        self.at += end + 2;
        let body = &body[..end];
        let is_empty = body.ends_with(b"/");
        let body = body.strip_suffix(b"/").unwrap_or(body);
        let (name, attributes) = body.split_at(name.unwrap_or(body.len()).min(body.len()));
        Ok(Tag {
            name,
            attributes,
            is_empty,
            at: start,
        })
    }
}

#[cfg(feature = "paraver")]
impl<'a> Tag<'a> {
    /// Iterates over names and values of its attributes, with entities unresolved.
    pub(crate) fn attributes(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        Attributes(self.attributes)
    }
}

/// Iterator over raw attributes, without their quotes.
#[derive(Clone, Copy, Debug)]
struct Attributes<'a>(&'a [u8]);

impl<'a> Iterator for Attributes<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.0.trim_ascii_start();
        let equals = rest.iter().position(|byte| *byte == b'=')?;
        let key = rest[..equals].trim_ascii_end();
        let rest = rest[equals + 1..].trim_ascii_start();
        let value = match rest.first() {
            Some(quote @ (b'"' | b'\'')) => {
                let body = &rest[1..];
                let end = body.iter().position(|byte| byte == quote);
                let end = end.unwrap_or(body.len());
                // Nothing follows a value whose quote is not closed.
                self.0 = body.get(end + 1..).unwrap_or_default();
                &body[..end]
            }
            _ => {
                let end = rest.iter().position(u8::is_ascii_whitespace);
                let (value, after) = rest.split_at(end.unwrap_or(rest.len()));
                self.0 = after;
                value
            }
        };
        Some((key, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(document: &str) -> Vec<String> {
        let mut xml = Xml::new(document.as_bytes());
        let mut seen = Vec::new();
        while let Some(token) = xml.next().unwrap() {
            seen.push(match token {
                Token::Open(tag) => format!("<{}", text(tag.name)),
                Token::Close(name) => format!("/{}", text(name)),
                Token::Text(raw) => text(raw).into_owned(),
                Token::Verbatim(raw) => String::from_utf8_lossy(raw).into_owned(),
            });
        }
        seen
    }

    #[test]
    fn what_is_nearly_xml_is_read() {
        let document = "<?xml?><!-- <no> --><a x=1 y = \"2>\" z='&lt;'>b & c &amp; &#65;&nope;\
                        <![CDATA[<&amp;]]></a ><e/>";
        let expected = ["<a", "b & c & A&nope;", "<&amp;", "/a", "<e"];
        assert_eq!(tokens(document), expected);
    }

    #[cfg(feature = "cube")]
    #[test]
    fn attributes_are_found_by_name() {
        let mut xml = Xml::new(b"<a x=1 y = \"2>\" z='&lt;'>");
        let Ok(Some(Token::Open(tag))) = xml.next() else {
            panic!("a tag comes first");
        };
        let mut values = Values::default();
        values.read(&tag);
        assert_eq!(values.raw("x"), Some(&b"1"[..]));
        assert_eq!(values.text("y"), "2>");
        assert_eq!(values.text("z"), "<");
        assert_eq!(values.raw("w"), None);
    }

    #[test]
    fn an_end_within_a_tag_is_found() {
        for document in ["<a", "<!-- ", "</a", "<![CDATA[ ]]", "<a b=\">"] {
            assert_eq!(Xml::new(document.as_bytes()).next(), Err(Unfinished(0)));
        }
    }

    #[cfg(feature = "cube")]
    #[test]
    fn escaped_text_is_read_back() {
        for sample in ["plain", "<a href=\"b\">&amp;\r\n", "\u{e9}"] {
            assert_eq!(text(escape(sample).as_bytes()), sample);
        }
    }
}
