//! [`align`]: assigns ranks to the parts of a recording, sorts them by rank, and compares their
//! clocks; [`rank_of`]: the rank in a file name.

use super::part::Part;
use super::rules;
use perf_core::Place;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// Maximum time between the first events of files with a common clock, in nanoseconds.
const APART: i128 = 10_000_000_000;

/// Returns the rank in a file name: the number after `rank`, otherwise after `worker`, otherwise after `proc`. `None`
/// if there is no such number.
pub(crate) fn rank_of(path: &Path) -> Option<u64> {
    let name = path.file_name()?.to_string_lossy().to_lowercase();
    let after = |at: usize| {
        let rest = name.get(at..)?.trim_start_matches(['-', '_', '.', '=']);
        let digits = rest.find(|c: char| !c.is_ascii_digit());
        rest.get(..digits.unwrap_or(rest.len()))?.parse().ok()
    };
    let number = |word: &str| {
        let mut found = name.match_indices(word);
        found.find_map(|(at, _)| after(at + word.len()))
    };
    ["rank", "worker", "proc"].into_iter().find_map(number)
}

/// Nanoseconds from 1970 to 2001. Larger times must be counted from 1970.
pub(super) const YEAR_2001: i128 = 1_000_000_000_000_000_000;

/// Assigns a rank to each part if there are several, sorts them by rank, and compares their clocks.
/// Helper processes have no rank and come last.
pub(super) fn align(parts: &mut [Part]) {
    parts.sort_by_key(|part| part.is_helper);
    let count = parts.partition_point(|part| !part.is_helper);
    let (ranks, helpers) = parts.split_at_mut(count);
    for part in helpers {
        part.rank = None;
    }
    if ranks.len() > 1 {
        give_ranks(ranks);
        ranks.sort_by_key(|part| part.rank);
        compare_clocks(ranks);
    }
}

fn give_ranks(parts: &mut [Part]) {
    let mut taken = BTreeSet::new();
    let mut highest = parts.iter().filter_map(|part| part.rank).max();
    let mut next = move || {
        highest = Some(highest.map_or(0, |rank| rank.saturating_add(1)));
        highest
    };
    let (named, others): (Vec<_>, Vec<_>) = parts.iter_mut().partition(|part| part.rank.is_some());
    for part in named {
        if part.rank.is_some_and(|rank| !taken.insert(rank)) {
            let place = Place::file(Arc::clone(&part.file));
            part.found.add(rules::RANK, place);
            part.rank = next();
        }
    }
    for part in others {
        part.rank = next();
    }
}

/// Reports the files whose clock evidently differs from the clock of the other files. A file without a base time is
/// shifted to begin with the earliest file that has one, unless its times are counted from 1970.
fn compare_clocks(parts: &mut [Part]) {
    let hosts: BTreeSet<_> = parts.iter().filter_map(|part| part.host.clone()).collect();
    let with_base = parts.iter().filter(|part| part.base.is_some());
    let known = with_base.filter_map(begin).min();
    let is_odd = |part: &Part| match known {
        // Older files have no base time and count from 1970.
        Some(_) => part.base.is_none() && begin(part).is_none_or(|begin| begin < YEAR_2001),
        // A clock without a base is local to its host.
        None => hosts.len() > 1,
    };
    let odd: Vec<bool> = parts.iter().map(is_odd).collect();
    for (part, _) in parts.iter_mut().zip(&odd).filter(|(_, is_odd)| **is_odd) {
        let shift = known.zip(part.first);
        let shift = shift.map(|(known, first)| known - i128::from(first));
        part.base = shift
            .and_then(|shift| i64::try_from(shift).ok())
            .or(part.base);
    }
    let origin = parts.iter().filter_map(begin).min();
    for (part, is_odd) in parts.iter_mut().zip(odd) {
        let since = begin(part).zip(origin);
        let late = since.map(|(begin, origin)| begin - origin);
        if is_odd || late.is_some_and(|late| late > APART) {
            let place = Place::file(Arc::clone(&part.file));
            part.found.add(rules::CLOCKS, place);
        }
    }
}

/// Returns the time of the first event on the common clock in nanoseconds; `None` if there are no events.
pub(super) fn begin(part: &Part) -> Option<i128> {
    Some(i128::from(part.first?) + i128::from(part.base.unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_in_names() {
        for (name, rank) in [
            ("rank-70.Mar_25.pt.trace.json.gz", Some(70)),
            ("sampled_rank_3.json", Some(3)),
            ("Rank0.json", Some(0)),
            ("worker2_step_12.1694128201554.pt.trace.json", Some(2)),
            ("pax_proc2.json", Some(2)),
            ("rank_traces_rank_12.json", Some(12)),
            ("trace.json", None),
            ("frank.json", None),
        ] {
            assert_eq!(rank_of(Path::new(name)), rank, "{name}");
        }
    }
}
