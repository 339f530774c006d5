//! [`Spread`]: comparison of a time between all ranks or threads, with the excess of the slowest
//! and the names of the slowest.

use super::list;
use crate::report::exclusive_times::Times;

/// Largest relative distance from the largest time at which members are listed among the slowest.
const SLOWEST_WITHIN: f64 = 0.1;
/// Largest number of members that are named.
const MAX_LISTED: usize = 6;

/// Excess time of the slowest member over the others.
#[derive(Clone, Debug)]
pub(super) struct Spread {
    /// Largest value.
    pub(super) max: f64,
    /// Mean value.
    pub(super) mean: f64,
    /// Members within [`SLOWEST_WITHIN`] of the largest value, in descending order of their values.
    pub(super) slowest: Vec<usize>,
    /// Sum over all threads of the difference from the largest value in nanoseconds.
    pub(super) saving: f64,
}

impl Spread {
    /// Compares the values of the members, given per thread in nanoseconds. `None` with fewer than two members or only
    /// zeros.
    pub(super) fn of(values: &[f64], times: &Times) -> Option<Self> {
        let max = values.iter().copied().fold(0.0, f64::max);
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        if values.len() < 2 || mean <= 0.0 {
            return None;
        }
        let mut slowest: Vec<usize> = (0..values.len()).collect();
        slowest.retain(|at| values[*at] >= (1.0 - SLOWEST_WITHIN) * max);
        slowest.sort_by(|one, other| values[*other].total_cmp(&values[*one]).then(one.cmp(other)));
        let threads = times.members.iter().map(|member| member.threads as f64);
        let saving = values
            .iter()
            .zip(threads)
            .map(|(value, threads)| (max - value) * threads);
        Some(Spread {
            max,
            mean,
            slowest,
            saving: saving.sum(),
        })
    }

    /// Returns the ratio of the largest to the mean value.
    pub(super) fn ratio(&self) -> f64 {
        self.max / self.mean
    }

    /// Returns the members to name: all of the slowest if they are few, otherwise the slowest of all.
    pub(super) fn named(&self) -> &[usize] {
        match self.slowest.len() {
            0..=MAX_LISTED => &self.slowest,
            _ => &self.slowest[..1],
        }
    }

    /// Describes the slowest members that [`named`](Self::named) does not return; empty if there are none.
    pub(super) fn unnamed(&self, times: &Times) -> String {
        match self.slowest.len() - self.named().len() {
            0 => String::new(),
            more => format!(
                " ({more} more of {} {} are within {:.0} % of it)",
                times.members.len(),
                plural(times.noun),
                100.0 * SLOWEST_WITHIN
            ),
        }
    }

    /// Returns `true` if all time is that of one member.
    pub(super) fn is_of_one(&self, members: usize) -> bool {
        self.max >= 0.999 * self.mean * members as f64
    }
}

/// Returns the plural of the noun for a member.
pub(super) fn plural(noun: &str) -> &'static str {
    match noun {
        "process" => "processes",
        "rank" => "ranks",
        _ => "threads",
    }
}

/// Returns the names of members, of which there are few: `rank 5`, `ranks 5, 6 and 9`.
pub(super) fn names(of: &[usize], times: &Times) -> String {
    let mut of = of.to_vec();
    of.sort_unstable();
    let shown = of.iter().filter_map(|at| times.members.get(*at));
    let words: Vec<String> = shown
        .map(|member| {
            member
                .rank
                .map_or_else(|| member.name.clone(), |rank| rank.to_string())
        })
        .collect();
    let noun = match of.len() {
        1 => times.noun,
        _ => plural(times.noun),
    };
    // Names that contain commas are separated by semicolons.
    if words.len() > 1 && words.iter().any(|word| word.contains(',')) {
        return format!("{noun} {}", words.join("; "));
    }
    // The name `Master thread` needs no noun in front of it.
    let is_stated = words
        .iter()
        .all(|word| word.to_lowercase().contains(times.noun));
    if is_stated {
        list(&words)
    } else {
        format!("{noun} {}", list(&words))
    }
}
