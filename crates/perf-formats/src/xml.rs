//! A lenient reader of XML, for profiles that are nearly XML: attributes without quotes, bare `&`
//! in text, and closing tags that do not match occur in files of CubeLib and TAU.

use memchr::{memchr, memchr2, memmem};
#[cfg(feature = "cube")]
use std::borrow::Cow;

/// What stands next in a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// `<name ...>` or `<name .../>`.
    Open(Tag<'a>),
    /// `</name>`.
    Close(&'a [u8]),
    /// Characters between tags, with entities as they stand.
    Text(&'a [u8]),
    /// Characters of a CDATA section.
    Verbatim(&'a [u8]),
}

/// An opening tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag<'a> {
    pub(crate) name: &'a [u8],
    attributes: &'a [u8],
    /// Whether it closes itself.
    pub(crate) is_empty: bool,
    /// Where it begins.
    pub(crate) at: usize,
}

/// The document ends within a tag, comment or section that began here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unfinished(pub(crate) usize);

/// Walks through a document.
#[derive(Clone, Debug)]
pub(crate) struct Xml<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Xml<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Xml { bytes, at: 0 }
    }

    /// Offset of the next token.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// The next token; `None` at the end. Comments, declarations and instructions are skipped.
    pub(crate) fn next(&mut self) -> Result<Option<Token<'a>>, Unfinished> {
        loop {
            let rest = self.rest();
            if rest.is_empty() {
                return Ok(None);
            }
            if rest[0] != b'<' {
                let end = memchr(b'<', rest);
                let text = &rest[..end.unwrap_or(rest.len())];
                self.at += text.len();
                return Ok(Some(Token::Text(text)));
            }
            if rest.starts_with(b"<!--") {
                self.until(4, b"-->")?;
            } else if rest.starts_with(b"<![CDATA[") {
                return Ok(Some(Token::Verbatim(self.until(9, b"]]>")?)));
            } else if rest.starts_with(b"<?") {
                self.until(2, b"?>")?;
            } else if rest.starts_with(b"<!") {
                self.until(2, b">")?;
            } else if rest.starts_with(b"</") {
                let name = self.until(2, b">")?;
                return Ok(Some(Token::Close(name.trim_ascii())));
            } else {
                return self.tag().map(|tag| Some(Token::Open(tag)));
            }
        }
    }

    fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// What stands between here, `skip` bytes on, and `end`; goes behind it.
    fn until(&mut self, skip: usize, end: &[u8]) -> Result<&'a [u8], Unfinished> {
        let start = self.at;
        let body = self.rest().get(skip..).unwrap_or_default();
        let found = memmem::find(body, end);
        let length = found.ok_or(Unfinished(start))?;
        self.at += skip + length + end.len();
        Ok(&body[..length])
    }

    fn tag(&mut self) -> Result<Tag<'a>, Unfinished> {
        let start = self.at;
        let body = self.rest().get(1..).unwrap_or_default();
        // A `>` within quotes is no end. A quote counts only behind `=`, since unquoted values
        // may hold one.
        let (mut at, mut end) = (0, None);
        while let Some(found) = memchr2(b'>', b'=', &body[at..]) {
            at += found + 1;
            if body[at - 1] == b'>' {
                end = Some(at - 1);
                break;
            }
            let value = body[at..].trim_ascii_start();
            if let Some(quote @ (b'"' | b'\'')) = value.first() {
                at = body.len() - value.len() + 1;
                match memchr(*quote, &body[at..]) {
                    Some(close) => at += close + 1,
                    None => break,
                }
            }
        }
        let length = end.ok_or(Unfinished(start))?;
        self.at += length + 2;
        let mut body = &body[..length];
        let is_empty = body.ends_with(b"/");
        if is_empty {
            body = &body[..length - 1];
        }
        let end = body.iter().position(u8::is_ascii_whitespace);
        let (name, attributes) = body.split_at(end.unwrap_or(body.len()));
        Ok(Tag {
            name,
            attributes,
            is_empty,
            at: start,
        })
    }
}

impl<'a> Tag<'a> {
    /// An attribute as it stands, without its quotes.
    pub(crate) fn raw(&self, name: &str) -> Option<&'a [u8]> {
        let mut rest = self.attributes;
        loop {
            rest = rest.trim_ascii_start();
            let equals = memchr(b'=', rest)?;
            let key = rest[..equals].trim_ascii_end();
            rest = rest[equals + 1..].trim_ascii_start();
            let value = match rest.first() {
                Some(quote @ (b'"' | b'\'')) => {
                    let body = &rest[1..];
                    let end = memchr(*quote, body);
                    let end = end.unwrap_or(body.len());
                    rest = body.get(end + 1..).unwrap_or_default();
                    &body[..end]
                }
                _ => {
                    let end = rest.iter().position(u8::is_ascii_whitespace);
                    let (value, after) = rest.split_at(end.unwrap_or(rest.len()));
                    rest = after;
                    value
                }
            };
            if key == name.as_bytes() {
                return Some(value);
            }
        }
    }

    /// An attribute as text.
    pub(crate) fn get(&self, name: &str) -> Option<String> {
        self.raw(name).map(text)
    }

    /// An attribute as a number.
    pub(crate) fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        let value = std::str::from_utf8(self.raw(name)?).ok()?;
        value.trim().parse().ok()
    }
}

/// Characters with their entities resolved. What is no entity stays as it is, and bytes that are
/// not UTF-8 are replaced.
pub(crate) fn text(raw: &[u8]) -> String {
    let raw = String::from_utf8_lossy(raw);
    if !raw.contains('&') {
        return raw.into_owned();
    }
    let mut text = String::with_capacity(raw.len());
    let mut rest: &str = &raw;
    while let Some(start) = rest.find('&') {
        text.push_str(&rest[..start]);
        rest = &rest[start..];
        // The longest entity is `&#x10FFFF;`.
        let end = rest.bytes().take(12).position(|byte| byte == b';');
        let entity = end.and_then(|end| Some((entity(&rest[1..end])?, end)));
        match entity {
            Some((character, end)) => {
                text.push(character);
                rest = &rest[end + 1..];
            }
            None => {
                text.push('&');
                rest = &rest[1..];
            }
        }
    }
    text.push_str(rest);
    text
}

fn entity(name: &str) -> Option<char> {
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)?
        }
    })
}

/// Text as it may stand in a document, in an attribute as well. Characters that XML has no way to
/// write are replaced.
#[cfg(feature = "cube")]
pub(crate) fn escape(text: &str) -> Cow<'_, str> {
    let is_odd = |c: char| matches!(c, '&' | '<' | '>' | '"' | '\r') || is_control(c);
    if !text.contains(is_odd) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\r' => escaped.push_str("&#13;"),
            other if is_control(other) => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    Cow::Owned(escaped)
}

#[cfg(feature = "cube")]
fn is_control(character: char) -> bool {
    character < ' ' && !matches!(character, '\t' | '\n' | '\r')
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
                Token::Text(raw) => text(raw),
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
        let mut xml = Xml::new(document.as_bytes());
        let Ok(Some(Token::Open(tag))) = xml.next() else {
            panic!("a tag comes first");
        };
        assert_eq!(tag.number::<u32>("x"), Some(1));
        assert_eq!(tag.get("y").as_deref(), Some("2>"));
        assert_eq!(tag.get("z").as_deref(), Some("<"));
        assert_eq!(tag.get("w"), None);
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
