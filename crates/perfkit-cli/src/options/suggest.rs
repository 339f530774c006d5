//! [`near`] and [`hint`]: known names that resemble a misspelt one, for error messages.

/// Largest number of compared letters of a name. Names have any length, and the edit distance takes
/// quadratic time.
const MAX_LETTERS: usize = 200;

/// Similarity above which a name is suggested, in `0.0..=1.0`.
const MIN_SIMILARITY: f64 = 0.6;

/// Returns at most `most` known names that resemble an unknown name, most similar first. Names that
/// contain the unknown name precede names of small edit distance. If there are none of both, returns
/// names that the unknown name contains. Upper and lower case are not distinguished.
///
/// ```
/// use perfkit_cli::suggest::near;
/// let known = ["time", "exclusive time", "visits"];
/// assert_eq!(near("Time", known, 8), ["time", "exclusive time"]);
/// assert_eq!(near("vists", known, 8), ["visits"]);
/// assert_eq!(near("all visits", known, 8), ["visits"]);
/// assert!(near("joules", known, 8).is_empty());
/// ```
pub fn near<'a>(
    wanted: &str,
    known: impl IntoIterator<Item = &'a str>,
    most: usize,
) -> Vec<&'a str> {
    let wanted = wanted.to_lowercase();
    let (mut likely, mut parts) = (Vec::new(), Vec::new());
    for name in known {
        let own = name.to_lowercase();
        let similarity = strsim::normalized_damerau_levenshtein(start(&wanted), start(&own));
        if !wanted.is_empty() && own.contains(&wanted) {
            likely.push((1.0 + similarity, name));
        } else if similarity > MIN_SIMILARITY {
            likely.push((similarity, name));
        } else if !own.is_empty() && wanted.contains(&own) {
            parts.push((similarity, name));
        }
    }
    let mut found = if likely.is_empty() { parts } else { likely };
    found.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    found.truncate(most);
    found.into_iter().map(|(_, name)| name).collect()
}

/// Returns the first [`MAX_LETTERS`] of a name.
fn start(name: &str) -> &str {
    let end = name.char_indices().nth(MAX_LETTERS);
    &name[..end.map_or(name.len(), |(end, _)| end)]
}

/// Returns the end of a message that suggests names; empty without names.
pub(crate) fn did_you_mean(names: &[String]) -> String {
    match names {
        [] => String::new(),
        names => format!("; did you mean {}?", names.join(", ")),
    }
}

/// Returns the end of a message about an unknown name: similar names, or the first known names if no name is
/// similar.
///
/// ```
/// use perfkit_cli::suggest::hint;
/// assert_eq!(hint("vists", ["time", "visits"]), "; did you mean `visits`?");
/// assert_eq!(hint("joules", ["time", "visits"]), "; there are `time`, `visits`");
/// assert_eq!(hint("joules", []), "; there are none");
/// ```
pub fn hint<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    const MAX_NAMES: usize = 8;
    let known: Vec<&str> = known.into_iter().collect();
    let quoted = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        names.join(", ")
    };
    let meant = near(wanted, known.iter().copied(), MAX_NAMES);
    if !meant.is_empty() {
        return format!("; did you mean {}?", quoted(&meant));
    }
    match known.len() {
        0 => "; there are none".into(),
        count if count > MAX_NAMES => {
            let more = count - MAX_NAMES;
            format!(
                "; there are {} and {more} more",
                quoted(&known[..MAX_NAMES])
            )
        }
        _ => format!("; there are {}", quoted(&known)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_is_not_near_a_short_one() {
        let long = "kernel ".repeat(200);
        assert!(near("zzz", [long.as_str()], 8).is_empty());
        assert_eq!(near("Kernel", [long.as_str()], 8), [long.as_str()]);
    }

    #[test]
    fn the_most_similar_is_first() {
        assert_eq!(near("wrok", ["worm", "work", "wind"], 8)[0], "work");
    }
}
