//! [`groups`] of ranks that are slow in the same way, which are one cause.

use super::SlowRank;
use perf_core::Nanos;

/// Fewest ranks of a group.
const RANKS: usize = 3;
/// Largest difference of the log factors of two ranks of a group, relative to the larger one.
const FACTORS: f64 = 0.3;
/// Largest difference of the first and of the last steps, relative to their number.
const STEPS: u64 = 10;
/// Number of steps by which they may always differ.
const NEAR: u64 = 3;
/// Largest number of ranges of ranks in a sentence.
const RANGES: usize = 5;

/// Returns the slow ranks in groups, in the order of the rank of each that comes first. Ranks that are slow in the same
/// function, in about the same steps and by about the same factor are one group if there are at least three.
pub(super) fn groups(ranks: &[SlowRank]) -> Vec<Vec<&SlowRank>> {
    let mut groups: Vec<Vec<&SlowRank>> = Vec::new();
    for slow in ranks {
        let of = groups.iter_mut().find(|group| {
            let other = |one: &&SlowRank| one.rank != slow.rank;
            is_alike(group[0], slow) && group.iter().all(other)
        });
        match of {
            Some(group) => group.push(slow),
            None => groups.push(vec![slow]),
        }
    }
    let mut split = Vec::new();
    for group in groups {
        if group.len() < RANKS {
            split.extend(group.into_iter().map(|slow| vec![slow]));
        } else {
            split.push(group);
        }
    }
    split
}

/// Returns `true` if two ranks are slow in the same way.
fn is_alike(one: &SlowRank, other: &SlowRank) -> bool {
    let near = NEAR.max(one.last.saturating_sub(one.first) / STEPS);
    let (log, of_other) = (one.factor.ln(), other.factor.ln());
    (one.program, one.function, one.lasts) == (other.program, other.function, other.lasts)
        && one.first.abs_diff(other.first) <= near
        && one.last.abs_diff(other.last) <= near
        && (log - of_other).abs() <= FACTORS * log.max(of_other)
}

/// Returns a group as one slow rank, with sums of its times: the first rank of the group, and factors that follow from the
/// sums.
pub(super) fn summed(group: &[&SlowRank]) -> SlowRank {
    let sum = |of: &dyn Fn(&SlowRank) -> Nanos| {
        let times = group.iter().map(|slow| of(slow).0);
        Nanos(times.fold(0, i64::saturating_add))
    };
    let factor = |of: &dyn Fn(&SlowRank) -> (f64, Nanos)| {
        let (lost, expected) = group.iter().fold((0.0, 0.0), |(lost, expected), slow| {
            let (factor, time) = of(slow);
            (
                lost + time.0 as f64,
                expected + time.0 as f64 / (factor - 1.0).max(1e-9),
            )
        });
        1.0 + lost / f64::max(expected, 1.0)
    };
    SlowRank {
        first: group
            .iter()
            .map(|slow| slow.first)
            .min()
            .unwrap_or_default(),
        last: group.iter().map(|slow| slow.last).max().unwrap_or_default(),
        factor: factor(&|slow| (slow.factor, slow.lost)),
        lost: sum(&|slow| slow.lost),
        function_factor: factor(&|slow| (slow.function_factor, slow.function_lost)),
        function_lost: sum(&|slow| slow.function_lost),
        ..*group[0]
    }
}

/// Returns the numbers of ranks as ranges, such as `5, 6, 9 to 12`, or the first ones of the group if there are many
/// ranges.
pub(super) fn numbers(group: &[&SlowRank]) -> String {
    let mut ranks: Vec<u32> = group.iter().map(|slow| slow.rank).collect();
    ranks.sort_unstable();
    let ranges = ranks.chunk_by(|one, other| other - one == 1);
    let ranges = ranges.flat_map(|range| match range {
        [first, .., last] if range.len() > 2 => vec![format!("{first} to {last}")],
        few => few.iter().map(u32::to_string).collect(),
    });
    let ranges: Vec<String> = ranges.collect();
    if ranges.len() > RANGES {
        let worst = group.iter().take(RANKS).map(|slow| slow.rank.to_string());
        return format!("such as {}", worst.collect::<Vec<_>>().join(", "));
    }
    ranges.join(", ")
}
