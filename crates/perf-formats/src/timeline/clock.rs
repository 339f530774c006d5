//! Which rank a file is of, and how the clocks of several fit together.

use super::part::Part;
use super::rules;
use perf_core::Place;
use std::path::Path;
use std::sync::Arc;

/// How far the first events of files may lie apart that share a clock, in nanoseconds.
const APART: i128 = 10_000_000_000;

/// The rank in the name of a file: the number after `rank`, or else after `worker` or `proc`.
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

/// Gives each part a rank where there are several, sorts them by it, and looks at their clocks.
pub(super) fn align(parts: &mut [Part]) {
    let several = parts.len() > 1;
    let mut taken = std::collections::BTreeSet::new();
    let mut highest = parts.iter().filter_map(|part| part.rank).max();
    let mut next = move || {
        highest = Some(highest.map_or(0, |rank| rank.saturating_add(1)));
        highest
    };
    let named: Vec<bool> = parts.iter().map(|part| part.rank.is_some()).collect();
    for part in parts.iter_mut().filter(|_| several) {
        if let Some(rank) = part.rank
            && !taken.insert(rank)
        {
            part.found
                .add(rules::RANK, Place::file(Arc::clone(&part.file)));
            part.rank = next();
        }
    }
    for (part, _) in parts
        .iter_mut()
        .zip(named)
        .filter(|(_, named)| several && !named)
    {
        part.rank = next();
    }
    parts.sort_by_key(|part| part.rank);
    let origin = parts.iter().filter_map(begin).min();
    let with_base = parts.iter().filter(|part| part.base.is_some()).count();
    let is_mixed = with_base > 0 && with_base < parts.len();
    for part in parts.iter_mut().filter(|_| several) {
        let late = begin(part)
            .zip(origin)
            .map(|(begin, origin)| begin - origin);
        let is_odd = is_mixed && part.base.is_none();
        if is_odd || late.is_some_and(|late| late > APART) {
            part.found
                .add(rules::CLOCKS, Place::file(Arc::clone(&part.file)));
        }
    }
}

/// The time of the first event on the clock that all files should share.
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
