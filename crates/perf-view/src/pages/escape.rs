//! Escaping of untrusted text for HTML, SVG and JSON in scripts, and shortening of names.
//!
//! Names come from the binaries of users and may contain templates, quotes or control characters.
//! All text passes through this module or through templates that escape it.

use std::collections::BTreeMap;
use std::ops::Range;

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

/// Shortens a name to `most` characters by replacing its middle with two dots.
///
/// A C++ function is first reduced to its name without namespaces and parameters, followed by its
/// first template argument that is no built-in type or number. The scripts of the pages shorten names
/// in the same way: `assets/page/shortened.json` has examples with which both are tested.
///
/// ```
/// use perf_view::shortened;
/// assert_eq!(shortened("MPI_Wait", 10), "MPI_Wait");
/// assert_eq!(shortened("a_rather_long_name", 9), "a_ra..ame");
/// let kernel = "void at::native::reduce_kernel<512, 1, at::native::MeanOps<float> >(float*)";
/// assert_eq!(shortened(kernel, 36), "reduce_kernel<MeanOps>");
/// ```
pub fn shortened(name: &str, most: usize) -> String {
    if name.chars().count() <= most {
        return name.to_string();
    }
    let bare = bare_function(name);
    let name = bare.as_deref().unwrap_or(name);
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

/// Shortens names to at most `most` characters each as [`shortened`] does, but different names stay
/// different: where several would have one form, the first characters in which they differ are shown
/// after the beginning of the name. Names that differ in no way that fits stay alike.
///
/// The scripts of the pages shorten names in the same way: `assets/page/apart.json` has examples with
/// which both are tested.
///
/// ```
/// use perf_view::shortened_apart;
/// let names = ["solve_system_of_first_order_equations", "solve_system_of_other_order_equations"];
/// assert_eq!(shortened_apart(names, 20), ["solve..of_first_or..", "solve..of_other_or.."]);
/// ```
pub fn shortened_apart<'a>(names: impl IntoIterator<Item = &'a str>, most: usize) -> Vec<String> {
    let names: Vec<&str> = names.into_iter().collect();
    let mut short: Vec<String> = names.iter().map(|name| shortened(name, most)).collect();
    let mut open: Vec<(Vec<usize>, usize)> = vec![((0..names.len()).collect(), usize::MAX)];
    while let Some((group, size)) = open.pop() {
        let mut alike: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for at in group {
            alike.entry(short[at].clone()).or_default().push(at);
        }
        for same in alike.into_values() {
            let common = same.iter().map(|at| shared(names[same[0]], names[*at]));
            // Equal names share all characters. A group that the last round has not split stays.
            let Some(start) = common
                .min()
                .filter(|at| *at < usize::MAX && same.len() < size)
            else {
                continue;
            };
            for at in &same {
                short[*at] = with_difference(names[*at], start, most);
            }
            let size = same.len();
            open.push((same, size));
        }
    }
    short
}

/// Returns the number of characters that two names have in common at their beginning; the largest
/// number for equal names.
fn shared(one: &str, other: &str) -> usize {
    let mut pairs = one.chars().zip(other.chars());
    match pairs.position(|(one, other)| one != other) {
        _ if one == other => usize::MAX,
        Some(at) => at,
        None => one.chars().count().min(other.chars().count()),
    }
}

/// Returns the beginning of a name and the characters around `start`, at most `most` in all.
fn with_difference(name: &str, start: usize, most: usize) -> String {
    let letters: Vec<char> = name.chars().collect();
    // In fewer letters there is no place for both.
    if letters.len() <= most || most < 8 {
        return shortened(name, most);
    }
    let kept = most - 4;
    let (head, part) = (kept / 3, kept - kept / 3);
    let from = start.saturating_sub(part / 3).min(letters.len() - part);
    let text = |range: Range<usize>| letters.get(range).unwrap_or_default().iter();
    if from <= head {
        return text(0..most - 2).chain(&['.', '.']).collect();
    }
    let bare = bare_function(name).unwrap_or_else(|| name.to_string());
    let end = if from + part < letters.len() {
        ".."
    } else {
        ""
    };
    let head: String = bare.chars().take(head).collect();
    format!(
        "{head}..{}{end}",
        text(from..from + part).collect::<String>()
    )
}

/// Returns a C++ function without return type, namespaces and parameters, and with one template
/// argument; `None` for all other names.
fn bare_function(name: &str) -> Option<String> {
    let name = name.replace("(anonymous namespace)::", "");
    let name = name.strip_prefix("void ").unwrap_or(&name);
    let (head, rest) = name.split_at(name.find(['<', '('])?);
    let last = |path: &str| path.rsplit("::").next().unwrap_or(path).to_string();
    let base = last(head);
    // `operator<` and types of results are not taken for functions.
    if base.is_empty() || head.contains([' ', '{']) || base.starts_with("operator") {
        return None;
    }
    if rest.starts_with('(') {
        return Some(base);
    }
    let mut depth = 0;
    let close = rest.find(|letter| {
        depth += i32::from(letter == '<') - i32::from(letter == '>');
        depth == 0
    })?;
    let behind = rest[close + 1..].trim_start();
    if !(behind.is_empty() || behind.starts_with('(')) {
        return None;
    }
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "_:".contains(letter);
    let words = rest.split(|letter| !is_part(letter)).map(last);
    let argument = words.into_iter().find(|word| {
        let is_name = word.starts_with(|first: char| first.is_ascii_alphabetic());
        is_name && word.len() > 5 && !["double", "signed", "unsigned"].contains(&word.as_str())
    });
    Some(argument.map_or(base.clone(), |argument| format!("{base}<{argument}>")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn long_functions_of_cpp_keep_their_name() {
        let sqrt = "void at::native::vectorized_elementwise_kernel<4, \
            at::native::sqrt_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}, \
            at::detail::Array<char*, 2> >(int, at::detail::Array<char*, 2>)";
        for (name, expected) in [
            (sqrt, "vectorized_elementwise_kernel<sqrt_kernel_cuda>"),
            (
                "ncclKernel_AllReduce(ncclDevComm*, unsigned long)",
                "ncclKernel_AllReduce",
            ),
            (
                "void at::(anonymous namespace)::fill<float, 4>(int)",
                "fill",
            ),
            ("void f<unsigned int, sumOps>()", "f<sumOps>"),
        ] {
            assert_eq!(bare_function(name).as_deref(), Some(expected), "{name}");
        }
        for other in [
            "std::enable_if<true, int>::type f(int)",
            "int main(int, char**)",
            "a<b",
            "std::ostream::operator<<(int)",
            "<script>",
            "solve [solver.f90]",
        ] {
            assert_eq!(bare_function(other), None, "{other}");
        }
    }

    #[test]
    fn names_are_shortened_as_in_the_scripts_of_pages() {
        let cases = include_str!("../../assets/page/shortened.json");
        let cases: Vec<(String, usize, String)> = serde_json::from_str(cases).expect("cases");
        assert!(cases.len() > 10);
        for (name, most, expected) in cases {
            assert_eq!(shortened(&name, most), expected, "{name} {most}");
        }
    }

    #[test]
    fn different_names_stay_different_as_in_the_scripts_of_pages() {
        let cases = include_str!("../../assets/page/apart.json");
        let cases: Vec<(Vec<String>, usize, Vec<String>)> =
            serde_json::from_str(cases).expect("cases");
        for (names, most, expected) in cases {
            let found = shortened_apart(names.iter().map(String::as_str), most);
            assert_eq!(found, expected, "{most}");
            assert!(found.iter().all(|it| it.chars().count() <= most));
        }
    }

    #[test]
    fn json_cannot_leave_its_element() {
        let name = "</script><!--<script>&\u{2028}\"\\";
        let text = json_in_script(&json!({ name: name }));
        assert!(!text.contains(['<', '>', '&', '\u{2028}']));
        let back: serde_json::Value = serde_json::from_str(&text).expect("it is JSON still");
        assert_eq!(back[name], name);
    }
}
