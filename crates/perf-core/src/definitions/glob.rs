//! [`fits`]: matches a text against a pattern with `*` and `?`.

/// Returns `true` if the whole of `text` matches `pattern`, in which `*` stands for any number of
/// characters and `?` for one character.
///
/// ```
/// use perf_core::fits;
/// assert!(fits("MPI_*", "MPI_Wait") && !fits("MPI_*", "PMPI_Wait"));
/// ```
///
/// On a mismatch only the last `*` is extended by one character; earlier `*` never need to change.
/// The time is therefore at most proportional to the product of both lengths.
pub fn fits(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut p, mut t) = (0, 0);
    let mut star = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(c) if *c == '?' || *c == text[t] => {
                p += 1;
                t += 1;
            }
            _ => match star {
                Some((at, taken)) => {
                    star = Some((at, taken + 1));
                    p = at + 1;
                    t = taken + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn patterns_fit_whole_names() {
        for (pattern, text, expected) in [
            ("MPI_*", "MPI_Wait", true),
            ("MPI_*", "PMPI_Wait", false),
            ("*_kernel", "jacobi_kernel", true),
            ("*a*b", "xaybzab", true),
            ("*a*b", "xaybza", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("ä?", "äö", true),
        ] {
            assert_eq!(fits(pattern, text), expected, "{pattern} on {text}");
        }
    }
}
