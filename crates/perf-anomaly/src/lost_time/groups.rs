//! Groups of ranks, and of phases of functions, that are slow in the same way, which are one cause.

use super::{SlowPhase, SlowRank};
use perf_core::Nanos;

/// Fewest elements of a group.
const LEAST: usize = 3;
/// Largest difference of two log factors in a group, relative to the larger one.
const FACTORS: f64 = 0.3;
/// Largest difference of the first and of the last steps, relative to their number.
const STEPS: u64 = 10;
/// Number of steps by which they may always differ.
const NEAR: u64 = 3;
/// Largest number of ranges of ranks in a sentence.
const RANGES: usize = 5;

/// Steps in which a rank or a function is slow, and its factor.
struct Slow {
    first: u64,
    last: u64,
    lasts: bool,
    factor: f64,
}

impl Slow {
    /// Returns `true` for about the same steps and factor.
    fn is_like(&self, other: &Slow) -> bool {
        let near = NEAR.max(self.last.saturating_sub(self.first) / STEPS);
        let (log, of_other) = (self.factor.ln(), other.factor.ln());
        self.lasts == other.lasts
            && self.first.abs_diff(other.first) <= near
            && self.last.abs_diff(other.last) <= near
            && (log - of_other).abs() <= FACTORS * log.max(of_other)
    }
}

/// Returns elements in groups of at least [`LEAST`], or alone, in the order of the first element of each. An element is
/// in a group if `fits` returns `true` for each of its elements.
fn grouped<T>(all: &[T], fits: impl Fn(&T, &T) -> bool) -> Vec<Vec<&T>> {
    let mut groups: Vec<Vec<&T>> = Vec::new();
    for one in all {
        let of = groups.iter_mut();
        let mut of = of.filter(|group| group.iter().all(|other| fits(other, one)));
        match of.next() {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    let mut split = Vec::new();
    for group in groups {
        if group.len() < LEAST {
            split.extend(group.into_iter().map(|one| vec![one]));
        } else {
            split.push(group);
        }
    }
    split
}

/// Returns the slow ranks in groups of those that are slow in the same function, in about the same steps and by about the
/// same factor.
pub(super) fn of_ranks(ranks: &[SlowRank]) -> Vec<Vec<&SlowRank>> {
    let slow = |one: &SlowRank| Slow {
        first: one.first,
        last: one.last,
        lasts: one.lasts,
        factor: one.factor,
    };
    grouped(ranks, |one, other| {
        let is_same = (one.program, one.function) == (other.program, other.function);
        let is_same = is_same && one.usual.is_some() == other.usual.is_some();
        is_same
            && one.always == other.always
            && one.rank != other.rank
            && slow(one).is_like(&slow(other))
    })
}

/// Returns the slow phases in groups of those in about the same steps with about the same factor.
pub(super) fn of_phases(phases: &[SlowPhase]) -> Vec<Vec<&SlowPhase>> {
    let slow = |one: &SlowPhase| Slow {
        first: one.first,
        last: one.last,
        lasts: one.lasts,
        factor: one.factor,
    };
    grouped(phases, |one, other| {
        let have_all_steps = one.steps.is_none() && other.steps.is_none();
        have_all_steps && one.function != other.function && slow(one).is_like(&slow(other))
    })
}

/// Returns the factor of several times lost, given with the factor of each.
fn factor_of(lost: impl Iterator<Item = (f64, Nanos)>) -> f64 {
    let (lost, expected) = lost.fold((0.0, 0.0), |(lost, expected), (factor, time)| {
        let of = time.0 as f64 / (factor - 1.0).max(1e-9);
        (lost + time.0 as f64, expected + of)
    });
    1.0 + lost / f64::max(expected, 1.0)
}

fn sum(times: impl Iterator<Item = Nanos>) -> Nanos {
    Nanos(times.fold(0, |sum, time| sum.saturating_add(time.0)))
}

/// Returns a group as one slow rank with sums of its times, and factors that follow from them: the first one of the
/// group, which lost the most time, with its steps.
pub(super) fn as_rank(group: &[&SlowRank]) -> SlowRank {
    let all = || group.iter().copied();
    let compared_with_own = all().filter(|slow| slow.usual.is_some()).count();
    SlowRank {
        usual: group[0]
            .usual
            .filter(|_| 2 * compared_with_own > group.len()),
        always: all().all(|slow| slow.always),
        factor: factor_of(all().map(|slow| (slow.factor, slow.lost))),
        lost: sum(all().map(|slow| slow.lost)),
        function_factor: factor_of(all().map(|slow| (slow.function_factor, slow.function_lost))),
        function_lost: sum(all().map(|slow| slow.function_lost)),
        ..*group[0]
    }
}

/// Returns a group as one slow phase in the same way.
pub(super) fn as_phase(group: &[&SlowPhase]) -> SlowPhase {
    let all = || group.iter().copied();
    SlowPhase {
        factor: factor_of(all().map(|slow| (slow.factor, slow.lost))),
        lost: sum(all().map(|slow| slow.lost)),
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
        let worst = group.iter().take(LEAST).map(|slow| slow.rank.to_string());
        return format!("such as {}", worst.collect::<Vec<_>>().join(", "));
    }
    ranges.join(", ")
}
