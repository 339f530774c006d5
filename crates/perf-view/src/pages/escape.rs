//! Escaping of untrusted text for pages and pictures, and shortening of names.
//!
//! Names come from the binaries of users and may contain templates, quotes or control characters.
//! All text passes through this module or through templates that escape it.

/// Escapes text for SVG and HTML, between tags or inside of a quoted attribute. Characters that XML
/// cannot represent become the replacement character U+FFFD.
///
/// ```
/// use perf_view::escaped;
/// assert_eq!(escaped("vector<int>::at(\"&\")\u{1}"), "vector&lt;int&gt;::at(&quot;&amp;&quot;)\u{fffd}");
/// ```
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(' '),
            other => out.push(legible(other)),
        }
    }
    out
}

/// Replaces characters that XML cannot represent and characters that control the writing direction.
///
/// Direction marks are meant for whole documents. In a name they would reverse the text after the
/// name.
pub(crate) fn legible(letter: char) -> char {
    match letter {
        '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{7f}'..='\u{9f}' => {
            char::REPLACEMENT_CHARACTER
        }
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            char::REPLACEMENT_CHARACTER
        }
        '\u{fffe}' | '\u{ffff}' => char::REPLACEMENT_CHARACTER,
        other => other,
    }
}

/// Returns JSON that is safe inside of a script element. It can neither end the element, nor begin
/// a comment or a tag, nor break a line of the script.
pub(crate) fn json_in_script(value: &serde_json::Value) -> String {
    let text = value.to_string();
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            // These characters occur in strings only, where the escape is equivalent.
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(letter)));
            }
            other => out.push(other),
        }
    }
    out
}

/// Shortens a name to `most` characters by replacing its middle with two dots. Template instances
/// often differ at their ends, so both ends are kept.
///
/// ```
/// use perf_view::shortened;
/// assert_eq!(shortened("MPI_Wait", 10), "MPI_Wait");
/// assert_eq!(shortened("a_rather_long_name", 9), "a_ra..ame");
/// ```
pub fn shortened(name: &str, most: usize) -> String {
    let count = name.chars().count();
    if count <= most {
        return name.to_string();
    }
    let kept = most.saturating_sub(2);
    let (head, tail) = (kept.div_ceil(2), kept / 2);
    let head = name.chars().take(head);
    head.chain("..".chars())
        .chain(name.chars().skip(count - tail))
        .take(most)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn json_cannot_leave_its_element() {
        let name = "</script><!--<script>&\u{2028}\"\\";
        let text = json_in_script(&json!({ name: name }));
        assert!(!text.contains(['<', '>', '&', '\u{2028}']));
        let back: serde_json::Value = serde_json::from_str(&text).expect("it is JSON still");
        assert_eq!(back[name], name);
    }
}
