//! Conversion of raw XML characters to text and numbers, with entities resolved, and escaping of
//! text for writing.

use std::borrow::Cow;

/// Parses a number, ignoring surrounding blanks.
#[cfg(feature = "cube")]
pub(crate) fn number<T: std::str::FromStr>(raw: &[u8]) -> Option<T> {
    std::str::from_utf8(raw.trim_ascii()).ok()?.parse().ok()
}

/// Parses an id, ignoring surrounding blanks.
#[cfg(feature = "cube")]
pub(crate) fn id(raw: &[u8]) -> Option<u64> {
    let few = raw.iter().take(19);
    let digits = few.copied().try_fold(0_u64, |sum, byte: u8| {
        let digit = byte.wrapping_sub(b'0');
        (digit < 10).then_some(sum * 10 + u64::from(digit))
    });
    // Nineteen digits always fit a `u64`.
    match digits {
        Some(id) if (1..20).contains(&raw.len()) => Some(id),
        _ => number(raw),
    }
}

/// Resolves the entities of a text. Invalid entities are kept verbatim, and bytes that are not
/// UTF-8 are replaced. Most text is borrowed.
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

/// Escapes text for use in a document or an attribute. Characters that XML cannot represent are
/// replaced.
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
