//! Groups of ranks, and of phases of functions, that are slow in the same way, which are one cause.

use super::{SlowPhase, SlowRank};
use crate::FunctionId;
use perf_core::Nanos;

/// Largest difference of two log factors in a group, relative to the larger one.
pub(super) const FACTORS: f64 = 0.3;
/// Largest difference of the first and of the last steps, relative to their number.
const STEPS: u64 = 10;
/// Number of steps by which they may always differ.
const NEAR: u64 = 3;
/// Largest number of ranges of ranks in a sentence.
const RANGES: usize = 5;
/// Number of ranks that are named if they have nothing simple in common.
const NAMED: usize = 3;

/// Place, factor and time lost of a slow rank or phase.
pub(super) struct Place {
    /// Program and rank, if it is a slow rank, and the function.
    subject: (Option<(u32, u32)>, FunctionId),
    /// First and last step.
    steps: (u64, u64),
    /// `true` if it is still slow in the last step.
    lasts: bool,
    factor: f64,
    lost: Nanos,
}

/// Slow rank or slow phase.
pub(super) trait Slow: Copy {
    fn place(&self) -> Place;
    /// Returns the sum with the following steps of the same rank or function.
    fn joined(&self, next: &Self) -> Self;

    /// Returns `true` for about the same steps and factor.
    fn is_like(&self, other: &Self) -> bool {
        let (own, other) = (self.place(), other.place());
        let ((first, last), (of_first, of_last)) = (own.steps, other.steps);
        let near = NEAR.max(last.saturating_sub(first) / STEPS);
        let (log, of_other) = (own.factor.ln(), other.factor.ln());
        own.lasts == other.lasts
            && first.abs_diff(of_first) <= near
            && last.abs_diff(of_last) <= near
            && (log - of_other).abs() <= FACTORS * log.max(of_other)
    }
}

impl Slow for SlowRank {
    fn place(&self) -> Place {
        Place {
            subject: (Some((self.program, self.rank)), self.function),
            steps: (self.first, self.last),
            lasts: self.lasts,
            factor: self.factor,
            lost: self.lost,
        }
    }

    fn joined(&self, next: &Self) -> Self {
        SlowRank {
            last: next.last,
            lasts: next.lasts,
            alarms: self.alarms.saturating_add(next.alarms),
            alarmed: sum([self.alarmed, next.alarmed]),
            score: self.score.max(next.score),
            ..as_rank(&[self, next])
        }
    }
}

impl Slow for SlowPhase {
    fn place(&self) -> Place {
        Place {
            subject: (None, self.function),
            steps: (self.first, self.last),
            lasts: self.lasts,
            factor: self.factor,
            lost: self.lost,
        }
    }

    fn joined(&self, next: &Self) -> Self {
        let steps = |one: &Self| {
            let all = one.last.saturating_sub(one.first).saturating_add(1);
            one.steps.unwrap_or(all)
        };
        let has_fast = self.steps.is_some() || next.steps.is_some();
        SlowPhase {
            last: next.last,
            lasts: next.lasts,
            steps: has_fast.then(|| steps(self).saturating_add(steps(next))),
            score: self.score.max(next.score),
            ..as_phase(&[self, next])
        }
    }
}

/// Returns the slow ranks or phases with the most time lost first, adjacent ones of one rank and function as one.
pub(super) fn without_borders<T: Slow>(all: &[T]) -> Vec<T> {
    let mut sorted = all.to_vec();
    sorted.sort_by_key(|one| (one.place().subject, one.place().steps));
    let mut joined: Vec<T> = Vec::with_capacity(sorted.len());
    for one in sorted {
        match joined.last_mut() {
            Some(last)
                if last.place().subject == one.place().subject
                    && last.place().steps.1.checked_add(1) == Some(one.place().steps.0) =>
            {
                *last = last.joined(&one);
            }
            _ => joined.push(one),
        }
    }
    joined.sort_by_key(|one| std::cmp::Reverse(one.place().lost));
    joined
}

/// Returns elements in groups in the order of the first element of each. An element is in a group if `fits` returns
/// `true` for the first one, which lost the most time.
fn grouped<T>(all: &[T], fits: impl Fn(&T, &T) -> bool) -> Vec<Vec<&T>> {
    let mut groups: Vec<Vec<&T>> = Vec::new();
    for one in all {
        let of = groups.iter_mut();
        let mut of = of.filter(|group| group.first().is_some_and(|other| fits(other, one)));
        match of.next() {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    groups
}

/// Returns the slow ranks in groups of those that are slow in the same function, in about the same steps and by about the
/// same factor.
pub(super) fn of_ranks(ranks: &[SlowRank]) -> Vec<Vec<&SlowRank>> {
    grouped(ranks, |one, other| {
        let is_same = (one.program, one.function) == (other.program, other.function);
        is_same && one.rank != other.rank && one.is_like(other)
    })
}

/// Returns the slow phases in groups of those in about the same steps with about the same factor.
pub(super) fn of_phases(phases: &[SlowPhase]) -> Vec<Vec<&SlowPhase>> {
    grouped(phases, |one, other| {
        let have_all_steps = one.steps.is_none() && other.steps.is_none();
        have_all_steps && one.function != other.function && one.is_like(other)
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

fn sum(times: impl IntoIterator<Item = Nanos>) -> Nanos {
    let times = times.into_iter();
    Nanos(times.fold(0, |sum, time| sum.saturating_add(time.0)))
}

/// Returns a group as one slow rank with sums of its times, and factors that follow from them: the first one of the
/// group, which lost the most time, with its steps. It is always slow if the ranks are that lost most of the time.
pub(super) fn as_rank(group: &[&SlowRank]) -> SlowRank {
    let all = || group.iter().copied();
    let compared_with_own = all().filter(|slow| slow.usual.is_some()).count();
    let lost = sum(all().map(|slow| slow.lost));
    let always = sum(all().filter(|slow| slow.always).map(|slow| slow.lost));
    SlowRank {
        usual: group[0]
            .usual
            .filter(|_| 2 * compared_with_own > group.len()),
        always: always.0 > lost.0 / 2,
        factor: factor_of(all().map(|slow| (slow.factor, slow.lost))),
        lost,
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

/// Describes ranks of a program with `of` ranks: as ranges, such as `5, 6, 9 to 12`, by their distance if it is the same
/// for all, such as `all even ones`, `every 4th from 2 to 62` and `8 blocks of 3, one every 8 ranks from 0`, or the first ones.
pub(super) fn numbers(mut ranks: Vec<u32>, of: usize) -> String {
    ranks.sort_unstable();
    let ranges: Vec<&[u32]> = ranks.chunk_by(|one, other| other - one == 1).collect();
    if let [first, second, .., last] = ranges[..] {
        let (length, stride) = (first.len(), second[0] - first[0]);
        let mut pairs = ranges.windows(2);
        let is_regular =
            pairs.all(|pair| pair[1][0] - pair[0][0] == stride && pair[1].len() == length);
        let (begin, end) = (first[0], last[0]);
        let has_all = begin < 2 && u64::from(end) + 2 >= of as u64;
        match (is_regular, length, stride) {
            (true, 1, 2) if has_all && begin == 0 => return "all even ones".into(),
            (true, 1, 2) if has_all => return "all odd ones".into(),
            (true, 1, stride) if ranges.len() > NAMED => {
                return format!("every {} from {begin} to {end}", ordinal(stride));
            }
            (true, length, stride) if ranges.len() > RANGES => {
                let count = ranges.len();
                return format!(
                    "{count} blocks of {length}, one every {stride} ranks from {begin}"
                );
            }
            _ => {}
        }
    }
    if ranges.len() > RANGES {
        let first: Vec<String> = ranks.iter().take(NAMED).map(u32::to_string).collect();
        return format!("{} and {} more", first.join(", "), ranks.len() - NAMED);
    }
    let ranges = ranges.into_iter().flat_map(|range| match range {
        [first, .., last] if range.len() > 2 => vec![format!("{first} to {last}")],
        few => few.iter().map(u32::to_string).collect(),
    });
    ranges.collect::<Vec<_>>().join(", ")
}

/// Returns a number as an ordinal, such as `2nd`.
fn ordinal(number: u32) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_described_by_what_they_have_in_common() {
        let described = |ranks: &mut dyn Iterator<Item = u32>| numbers(ranks.collect(), 64);
        assert_eq!(described(&mut (0..64).step_by(2)), "all even ones");
        assert_eq!(described(&mut (1..64).step_by(2)), "all odd ones");
        assert_eq!(described(&mut (0..32).step_by(2)), "every 2nd from 0 to 30");
        assert_eq!(
            described(&mut (2..64).step_by(4).rev()),
            "every 4th from 2 to 62"
        );
        assert_eq!(described(&mut (16..48)), "16 to 47");
        let blocks = (0..64).filter(|rank| rank % 8 < 3);
        assert_eq!(
            described(&mut { blocks }),
            "8 blocks of 3, one every 8 ranks from 0"
        );
        assert_eq!(described(&mut [9, 5, 10, 6].into_iter()), "5, 6, 9, 10");
        assert_eq!(described(&mut [9, 1, 5].into_iter()), "1, 5, 9");
        let few = [42, 6, 22, 30, 1, 11, 50];
        assert_eq!(described(&mut few.into_iter()), "1, 6, 11 and 4 more");
    }

    fn phase(function: u32, (first, last): (u64, u64), factor: f64, lost: i64) -> SlowPhase {
        SlowPhase {
            function: FunctionId(function),
            first,
            last,
            steps: None,
            lasts: last == 200,
            factor,
            lost: Nanos(lost),
            score: 9.0,
        }
    }

    /// The step before a slow phase, which is partly slow, is part of it. No time is lost from the sum.
    #[test]
    fn adjacent_phases_of_a_function_are_one() {
        let all = [
            phase(1, (100, 200), 1.3, 3000),
            phase(2, (98, 99), 1.2, 700),
            phase(1, (20, 30), 1.3, 500),
            phase(1, (99, 99), 1.2, 20),
        ];
        let joined = without_borders(&all);
        let steps: Vec<_> = joined
            .iter()
            .map(|one| (one.function.0, (one.first, one.last, one.lasts)))
            .collect();
        let expected = [
            (1, (99, 200, true)),
            (2, (98, 99, false)),
            (1, (20, 30, false)),
        ];
        assert_eq!(steps, expected);
        assert_eq!(sum(joined.iter().map(|one| one.lost)), Nanos(4220));
        assert!(
            (joined[0].factor - 1.299).abs() < 1e-3,
            "{}",
            joined[0].factor
        );
        // Fast steps in one of them are none of the slow ones.
        let mut all = [phase(1, (1, 10), 1.5, 300), phase(1, (11, 12), 1.5, 100)];
        all[0].steps = Some(3);
        assert_eq!(without_borders(&all)[0].steps, Some(5));
    }

    /// Two functions that are slow in about the same steps by about the same factor are one cause, and no others.
    #[test]
    fn two_phases_alike_are_a_group() {
        let all = [
            phase(1, (29, 51), 1.15, 3000),
            phase(2, (32, 51), 1.19, 2000),
            phase(3, (10, 51), 1.19, 1000),
            phase(4, (30, 51), 1.5, 900),
        ];
        let groups = of_phases(&all).into_iter();
        let groups = groups.map(|group| group.iter().map(|one| one.function.0).collect());
        assert_eq!(
            groups.collect::<Vec<Vec<u32>>>(),
            [vec![1, 2], vec![3], vec![4]]
        );
    }
}
