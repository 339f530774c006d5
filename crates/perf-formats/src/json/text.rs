//! [`decode`]: converts the raw bytes of a JSON string to text, with escapes resolved and invalid
//! parts replaced; [`encode`]: appends a text as JSON string.

/// Decodes a string. The flag is `true` if invalid text was replaced.
///
/// Control characters stay escaped, as `\u0007`, so that a name fits one line.
pub(crate) fn decode(raw: &[u8]) -> (String, bool) {
    let mut text = String::with_capacity(raw.len());
    let mut is_repaired = false;
    let mut rest = raw;
    while !rest.is_empty() {
        let plain = rest
            .iter()
            .position(|byte| *byte == b'\\' || *byte < b' ' || *byte == 0x7f);
        let (plain, special) = rest.split_at(plain.unwrap_or(rest.len()));
        let lossy = String::from_utf8_lossy(plain);
        is_repaired |= matches!(lossy, std::borrow::Cow::Owned(_));
        text.push_str(&lossy);
        rest = match special.split_first() {
            None => break,
            Some((b'\\', escape)) => {
                let (c, used) = unescape(escape);
                is_repaired |= c.is_none();
                push(&mut text, c.unwrap_or(char::REPLACEMENT_CHARACTER));
                // An escape at the end of a damaged text is shorter than it should be.
                escape.get(used..).unwrap_or_default()
            }
            Some((control, after)) => {
                push(&mut text, char::from(*control));
                after
            }
        };
    }
    (text, is_repaired)
}

fn push(text: &mut String, c: char) {
    if c.is_ascii_control() {
        text.push_str(&format!("\\u{:04x}", u32::from(c)))
    } else {
        text.push(c)
    }
}

/// Returns the character of an escape sequence, and its length in bytes after the backslash.
fn unescape(escape: &[u8]) -> (Option<char>, usize) {
    let unit = |at: usize| {
        let digits = std::str::from_utf8(escape.get(at..at + 4)?).ok()?;
        u32::from_str_radix(digits, 16).ok()
    };
    let c = match escape.first() {
        Some(c @ (b'"' | b'\\' | b'/')) => char::from(*c),
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => {
            let Some(first) = unit(1) else {
                return (None, 1);
            };
            if !(0xd800..0xdc00).contains(&first) {
                return (char::from_u32(first), 5);
            }
            // A surrogate pair of UTF-16 stands for one character.
            let second = match escape.get(5..7) {
                Some(b"\\u") => unit(7).filter(|unit| (0xdc00..0xe000).contains(unit)),
                _ => None,
            };
            let Some(second) = second else {
                return (None, 5);
            };
            let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            return (char::from_u32(code), 11);
        }
        _ => return (None, 0),
    };
    (Some(c), 1)
}

/// Appends a string with quotes and escapes.
pub(crate) fn encode(text: &str, to: &mut Vec<u8>) {
    to.push(b'"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => to.extend([b'\\', byte]),
            0..b' ' | 0x7f => to.extend(format!("\\u{byte:04x}").into_bytes()),
            _ => to.push(byte),
        }
    }
    to.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_and_what_is_no_text() {
        for (raw, text, is_repaired) in [
            (&b"plain"[..], "plain", false),
            (
                br#"a \"b\" \\ \/ \u00e9 \ud83d\ude00"#,
                "a \"b\" \\ / \u{e9} \u{1f600}",
                false,
            ),
            (
                b"bell\x07tab\\tend\x7f",
                "bell\\u0007tab\\u0009end\\u007f",
                false,
            ),
            (b"\xff\xfe", "\u{fffd}\u{fffd}", true),
            (br"\ud800x", "\u{fffd}x", true),
            (br"\q", "\u{fffd}q", true),
            (br"\u12", "\u{fffd}12", true),
        ] {
            assert_eq!(decode(raw), (text.to_owned(), is_repaired));
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        for text in [
            "",
            "a\"b\\c",
            "void f<int>(char*)",
            "\u{e9}\u{1f600}",
            "bell\\u0007",
        ] {
            let mut written = Vec::new();
            encode(text, &mut written);
            let inner = &written[1..written.len() - 1];
            assert_eq!(decode(inner), (text.to_owned(), false));
        }
    }
}
