//! Numbers and names in sentences: digits in groups of three, counts with their noun, and shortened names.

/// Groups the digits of a number by three.
///
/// ```
/// assert_eq!(perf_core::text::grouped(12_345_678), "12 345 678");
/// ```
pub fn grouped(number: u64) -> String {
    in_groups(&number.to_string())
}

/// Inserts a space between groups of three digits of a whole number.
pub(crate) fn in_groups(number: &str) -> String {
    let digits = number.trim_start_matches('-');
    let mut text = number[..number.len() - digits.len()].to_string();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// Returns a count with its noun.
///
/// ```
/// use perf_core::text::counted;
/// assert_eq!((counted(1, "row"), counted(2, "row")), ("1 row".into(), "2 rows".into()));
/// assert_eq!((counted(2, "anomaly"), counted(2, "delay")), ("2 anomalies".into(), "2 delays".into()));
/// ```
pub fn counted(count: usize, noun: &str) -> String {
    let is_vowel = |letter: char| "aeiou".contains(letter);
    let stem = noun.strip_suffix('y');
    let nouns = match stem.filter(|stem| !stem.ends_with(is_vowel)) {
        _ if count == 1 => noun.to_string(),
        Some(stem) => format!("{stem}ies"),
        None => format!("{noun}s"),
    };
    format!("{} {nouns}", grouped(count as u64))
}

/// Returns `text` if it has at most `most` characters; otherwise replaces its middle by `...`. Does not
/// shorten below 5 characters.
///
/// ```
/// use perf_core::text::shortened;
/// assert_eq!(shortened("MPI_Wait", 8), "MPI_Wait");
/// assert_eq!(shortened("solve_equations", 12), "sol...ations");
/// ```
pub fn shortened(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most || most < 5 {
        return text.to_string();
    }
    let head = (most - 3) / 3;
    let tail = most - 3 - head;
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(count - tail).collect();
    format!("{start}...{end}")
}
