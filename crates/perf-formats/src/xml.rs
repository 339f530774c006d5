//! A lenient reader of XML, for profiles that are nearly XML: attributes without quotes, bare `&`
//! in text, and closing tags that do not match occur in files of CubeLib and TAU.

use memchr::{memchr, memmem};
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

/// The document ends within a tag, comment or section that began here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unfinished(pub(crate) usize);

/// Walks through a document.
#[derive(Clone, Debug)]
pub(crate) struct Xml<'a> {
    bytes: &'a [u8],
    at: usize,
    /// All of it, if it is UTF-8 without entities: then texts are what they stand for.
    #[cfg(feature = "cube")]
    plain: Option<&'a str>,
}

impl<'a> Xml<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Xml {
            bytes,
            at: 0,
            #[cfg(feature = "cube")]
            plain: match memchr(b'&', bytes) {
                None => std::str::from_utf8(bytes).ok(),
                Some(_) => None,
            },
        }
    }

    /// Offset of the next token.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// The next token; `None` at the end. Comments, declarations and instructions are skipped.
    pub(crate) fn next(&mut self) -> Result<Option<Token<'a>>, Unfinished> {
        loop {
            let rest = self.rest();
            match rest {
                [] => return Ok(None),
                [b'<', b'/', body @ ..] => {
                    let length = memchr(b'>', body).ok_or(Unfinished(self.at))?;
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
                    // Mostly the end of a line.
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

    /// An element that has characters and nothing else, as `<name>text</name>`, if that stands
    /// next: its name and its text, of at most `longest` bytes as they stand. Goes behind it. Most
    /// elements of a long document are of this kind.
    #[cfg(feature = "cube")]
    pub(crate) fn plain_element(&mut self, longest: usize) -> Option<(&'a [u8], Cow<'a, str>)> {
        let open = match self.rest() {
            [b'\n', b'<', open @ ..] | [b'<', open @ ..] => open,
            other => other.trim_ascii_start().strip_prefix(b"<")?,
        };
        let is_name = |byte: &u8| byte.is_ascii_lowercase() || *byte == b'_';
        let length = open.iter().position(|byte| !is_name(byte))?;
        let (name, body) = open.split_at(length);
        let [b'>', body @ ..] = body else { return None };
        let end = memchr(b'<', body).filter(|end| *end <= longest)?;
        let (raw, close) = body.split_at(end);
        let [b'<', b'/', close @ ..] = close else {
            return None;
        };
        if close.get(length) != Some(&b'>') || close.get(..length) != Some(name) {
            return None;
        }
        let start = self.bytes.len() - body.len();
        self.at = self.bytes.len() - close.len() + length + 1;
        let plain = self.plain.and_then(|all| all.get(start..start + end));
        Some((name, plain.map_or_else(|| text(raw), Cow::Borrowed)))
    }

    fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// Goes behind a comment, a declaration or an instruction, or gives what a CDATA section holds.
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
                let length = memmem::find(body, end).ok_or(Unfinished(self.at))?;
                self.at += start.len() + length + end.len();
                return Ok((start.len() == 9).then(|| &body[..length]));
            }
        }
        Ok(None)
    }

    fn tag(&mut self) -> Result<Tag<'a>, Unfinished> {
        let start = self.at;
        let body = self.rest().get(1..).unwrap_or_default();
        // A `>` within quotes is no end. A quote counts only behind `=`, since unquoted values
        // may hold one.
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
                        let close = memchr(*quote, &value[1..]).ok_or(Unfinished(start))?;
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

/// Attributes as they stand, without their quotes.
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

impl<'a> Tag<'a> {
    /// An attribute as it stands, without its quotes.
    pub(crate) fn raw(&self, name: &str) -> Option<&'a [u8]> {
        let mut all = Attributes(self.attributes);
        let (_, value) = all.find(|(key, _)| *key == name.as_bytes())?;
        Some(value)
    }

    /// Several attributes as they stand, in one walk; the first of a name counts.
    #[cfg(feature = "cube")]
    pub(crate) fn each<const N: usize>(&self, names: [&str; N]) -> [Option<&'a [u8]>; N] {
        let mut values = [None; N];
        for (key, value) in Attributes(self.attributes) {
            let mut slots = names.iter().zip(&mut values);
            if let Some((_, slot)) = slots.find(|(name, _)| name.as_bytes() == key) {
                slot.get_or_insert(value);
            }
        }
        values
    }

    /// An attribute as text.
    pub(crate) fn get(&self, name: &str) -> Option<String> {
        self.raw(name).map(|raw| text(raw).into_owned())
    }
}

/// Characters as a number, with blanks around it or not.
#[cfg(feature = "cube")]
pub(crate) fn number<T: std::str::FromStr>(raw: &[u8]) -> Option<T> {
    std::str::from_utf8(raw.trim_ascii()).ok()?.parse().ok()
}

/// Characters as an id, with blanks around it or not.
#[cfg(feature = "cube")]
pub(crate) fn id(raw: &[u8]) -> Option<u64> {
    let few = raw.iter().take(19);
    let digits = few.copied().try_fold(0_u64, |sum, byte: u8| {
        let digit = byte.wrapping_sub(b'0');
        (digit < 10).then_some(sum * 10 + u64::from(digit))
    });
    // Nineteen digits always fit.
    match digits {
        Some(id) if (1..20).contains(&raw.len()) => Some(id),
        _ => number(raw),
    }
}

/// Characters with their entities resolved. What is no entity stays as it is, and bytes that are
/// not UTF-8 are replaced. Most text is borrowed.
pub(crate) fn text(raw: &[u8]) -> Cow<'_, str> {
    let has_entities = raw.contains(&b'&');
    let raw = match std::str::from_utf8(raw) {
        Ok(plain) => Cow::Borrowed(plain),
        Err(_) => String::from_utf8_lossy(raw),
    };
    if !has_entities {
        return raw;
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
    Cow::Owned(text)
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
        let mut xml = Xml::new(document.as_bytes());
        let Ok(Some(Token::Open(tag))) = xml.next() else {
            panic!("a tag comes first");
        };
        assert_eq!(tag.raw("x"), Some(&b"1"[..]));
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
