//! Names that were misspelled: which ones may be meant.

/// The names most like one that is not known, at most `most` of them: those that hold it or that it
/// holds, in any case of letters, else those that few changes lead to.
///
/// ```
/// use perfkit_examples::names::near;
/// let known = ["time", "exclusive time", "visits"];
/// assert_eq!(near("Time", known, 8), ["time", "exclusive time"]);
/// assert_eq!(near("vists", known, 8), ["visits"]);
/// assert!(near("joules", known, 8).is_empty());
/// ```
pub fn near<'a>(
    wanted: &str,
    known: impl IntoIterator<Item = &'a str>,
    most: usize,
) -> Vec<&'a str> {
    let wanted = wanted.to_lowercase();
    let (mut within, mut alike) = (Vec::new(), Vec::new());
    for name in known {
        let own = name.to_lowercase();
        let is_part = own.contains(&wanted) || (!own.is_empty() && wanted.contains(&own));
        if is_part && !wanted.is_empty() {
            within.push(name);
        } else if within.is_empty() {
            let letters = wanted.chars().count().max(own.chars().count());
            let letters = letters.min(LONGEST);
            let changes = changes(&wanted, &own);
            if changes * 3 <= letters {
                alike.push((changes, name));
            }
        }
    }
    if within.is_empty() {
        alike.sort_by_key(|(changes, _)| *changes);
        within = alike.into_iter().map(|(_, name)| name).collect();
    }
    within.truncate(most);
    within
}

/// Letters of a name that are compared.
const LONGEST: usize = 200;

/// The fewest letters to add, drop, replace or swap that lead from one to the other, of the first
/// [`LONGEST`].
fn changes(from: &str, to: &str) -> usize {
    let [from, to] = [from, to].map(|text| text.chars().take(LONGEST).collect::<Vec<_>>());
    let first: Vec<usize> = (0..=to.len()).collect();
    let mut rows = vec![first];
    for (at, letter) in from.iter().enumerate() {
        let mut row = vec![at + 1];
        for (column, other) in to.iter().enumerate() {
            let replaced = rows[at][column] + usize::from(letter != other);
            let mut least = replaced.min(rows[at][column + 1] + 1).min(row[column] + 1);
            let is_swapped = at > 0 && column > 0 && from[at - 1] == *other;
            if is_swapped && to[column - 1] == *letter {
                least = least.min(rows[at - 1][column - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[from.len()][to.len()]
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
    fn changes_are_counted() {
        for (from, to, expected) in [
            ("", "", 0),
            ("abc", "", 3),
            ("", "ab", 2),
            ("kitten", "sitting", 3),
            ("radiation", "radiaton", 1),
            ("work", "wrok", 1),
        ] {
            assert_eq!(changes(from, to), expected, "{from} {to}");
            assert_eq!(changes(to, from), expected, "{to} {from}");
        }
    }
}
