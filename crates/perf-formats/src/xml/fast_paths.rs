//! Fast paths of the [`Xml`] reader: elements that contain only text, [`Leaf`]; the attributes of a
//! tag, [`Values`]; and repeated bytes.

use super::byte_search::{find, name_end};
use super::{Attributes, Tag, Xml, text};
use std::borrow::Cow;
use std::ops::Range;

/// An element that contains only text.
#[derive(Debug)]
pub(crate) struct Leaf<'a> {
    /// Name of the element.
    pub(crate) name: &'a [u8],
    /// Text of the element.
    pub(crate) text: Cow<'a, str>,
    /// End of the element.
    pub(crate) end: usize,
}

/// The attributes of one tag, as (name, value) without quotes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Values<'a>(Vec<(&'a [u8], &'a [u8])>);

impl<'a> Values<'a> {
    /// Reads the attributes of a tag.
    pub(crate) fn read(&mut self, tag: &Tag<'a>) {
        self.0.clear();
        self.0.extend(Attributes(tag.attributes));
    }

    /// Returns the raw value of an attribute.
    pub(crate) fn raw(&self, name: &str) -> Option<&'a [u8]> {
        let [value] = self.each([name]);
        value
    }

    /// Returns an attribute as text, empty if it is missing.
    pub(crate) fn text(&self, name: &str) -> String {
        let raw = self.raw(name);
        raw.map_or_else(String::new, |raw| text(raw).into_owned())
    }

    /// Returns several raw values; of several with the same name, the first is used. The lookup is
    /// fastest if `names` has the order of the tag.
    pub(crate) fn each<const N: usize>(&self, names: [&str; N]) -> [Option<&'a [u8]>; N] {
        let mut values = [None; N];
        for (at, (key, value)) in self.0.iter().enumerate() {
            let is = |name: &&str| name.as_bytes() == *key;
            let slot = if names.get(at).is_some_and(is) {
                Some(at)
            } else {
                names.iter().position(is)
            };
            if let Some(slot) = slot.and_then(|slot| values.get_mut(slot)) {
                slot.get_or_insert(*value);
            }
        }
        values
    }
}

impl<'a> Xml<'a> {
    /// Returns the next element if it contains only text, as `<name>text</name>`, of at most
    /// `longest` raw bytes. Most elements of a long document are of this kind. The element is
    /// consumed by [`skip_to`](Self::skip_to) its end.
    #[inline]
    pub(crate) fn leaf(&self, longest: usize) -> Option<Leaf<'a>> {
        let open = match self.rest() {
            [b'\n', b'<', b'/', ..] => return None,
            [b'\n', b'<', open @ ..] | [b'<', open @ ..] => open,
            other => other.trim_ascii_start().strip_prefix(b"<")?,
        };
        let length = name_end(open)?;
        let (name, body) = open.split_at_checked(length)?;
        let [b'>', body @ ..] = body else { return None };
        if matches!(name, [b'/' | b'!' | b'?', ..] | [.., b'/']) {
            return None;
        }
        let end = find(b'<', body).filter(|end| *end <= longest)?;
        let (raw, close) = body.split_at(end);
        let close = close.strip_prefix(b"</")?;
        let (same, close) = close.split_at_checked(length)?;
        let [b'>', close @ ..] = close else {
            return None;
        };
        if same != name {
            return None;
        }
        let start = self.bytes.len() - body.len();
        let plain = self.utf8.and_then(|all| all.get(start..start + end));
        let is_plain = !(self.has_entities && raw.contains(&b'&'));
        Some(Leaf {
            name,
            text: match plain.filter(|_| is_plain) {
                Some(plain) => Cow::Borrowed(plain),
                None => text(raw),
            },
            end: self.before + self.bytes.len() - close.len(),
        })
    }

    /// Reads and consumes the next opening tag if all its attributes have the usual form `
    /// name="value"`. Name, attributes and end are found in a single pass.
    #[inline]
    pub(crate) fn tag_with(&mut self, values: &mut Values<'a>) -> Option<Tag<'a>> {
        let body = self.rest().strip_prefix(b"<")?;
        let (name, mut rest) = body.split_at_checked(name_end(body)?)?;
        if matches!(name, [] | [b'/' | b'!' | b'?', ..] | [.., b'/']) {
            return None;
        }
        values.0.clear();
        while let [b' ', pair @ ..] = rest {
            let (key, value) = pair.split_at_checked(name_end(pair)?)?;
            let value = value.strip_prefix(b"=\"")?;
            let end = find(b'"', value)?;
            values.0.push((key, value.get(..end)?));
            rest = value.get(end + 1..)?;
        }
        let (is_empty, behind) = match rest {
            [b'>', behind @ ..] => (false, behind),
            [b'/', b'>', behind @ ..] => (true, behind),
            _ => return None,
        };
        let at = self.at();
        self.at = self.bytes.len() - behind.len();
        Some(Tag {
            name,
            attributes: body.get(name.len()..body.len() - rest.len())?,
            is_empty,
            at,
        })
    }

    /// Moves forward to a position.
    pub(crate) fn skip_to(&mut self, at: usize) {
        self.at = at.saturating_sub(self.before);
    }

    /// Returns `true` if the bytes of `range` are repeated at this position.
    pub(crate) fn repeats(&self, range: Range<usize>) -> bool {
        let of = |at: usize| at.checked_sub(self.before);
        let said = || self.bytes.get(of(range.start)?..of(range.end)?);
        said().is_some_and(|said| self.rest().starts_with(said))
    }

    /// Skips blanks.
    pub(crate) fn skip_blanks(&mut self) {
        let rest = self.rest();
        self.at += match rest {
            [b'\n', b'<', ..] => 1,
            [b'<', ..] => 0,
            rest => rest.len() - rest.trim_ascii_start().len(),
        };
    }

    /// Consumes `</name>` if that is next, and returns `true` in this case.
    pub(crate) fn skip_close(&mut self, name: &[u8]) -> bool {
        let close = match self.rest() {
            [b'\n', b'<', b'/', close @ ..] | [b'<', b'/', close @ ..] => close,
            _ => return false,
        };
        let rest = close.strip_prefix(name);
        let rest = rest.and_then(|rest| rest.strip_prefix(b">"));
        if let Some(rest) = rest {
            self.at = self.bytes.len() - rest.len();
        }
        rest.is_some()
    }
}
