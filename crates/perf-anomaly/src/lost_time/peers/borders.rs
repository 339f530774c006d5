//! First and last steps of slow ranks and phases that were found in groups of steps.

use super::Peers;
use super::blocks::Block;
use super::own_steps::relative_to;
use super::rank_mix::{Levels, typical_times};
use super::slow_ranks::{SlowEntries, compared};
use super::spells::Entry;
use crate::FunctionId;
use crate::lost_time::slowness::{PhaseStep, SlowPhase, SlowStep};
use crate::lost_time::step_times::Step;
use perf_core::Nanos;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Borders of slow steps, and the slow steps outside of the groups in which they were found.
#[derive(Debug)]
struct Borders {
    first: u64,
    last: u64,
    /// Slow steps outside of the groups.
    more: Vec<Entry>,
    /// Expected time of the steps of the groups that are not slow, in nanoseconds.
    less: f64,
}

/// Returns the index at which values change most: the two means before and after it have the least squared error.
fn change(values: &[f64]) -> Option<usize> {
    let all: f64 = values.iter().sum();
    let mut before = 0.0;
    // The squared error is least where the squared sums are largest.
    let splits = values.iter().enumerate().skip(1).map(|(at, _)| {
        before += values[at - 1];
        let after = all - before;
        let gain = before * before / at as f64 + after * after / (values.len() - at) as f64;
        (gain, at)
    });
    let best = splits.max_by(|one, other| one.0.total_cmp(&other.0));
    best.map(|(_, at)| at)
}

/// Returns the borders of slow steps that were found in the groups of steps from `first` to `last`, given the entries
/// of single steps.
fn borders(entries: &[Entry], (first, last): (u64, u64), group: u64, lasts: bool) -> Borders {
    let within = |from: u64, until: u64| -> Vec<&Entry> {
        let steps = from..=until;
        let all = entries.iter().filter(|one| steps.contains(&one.first));
        all.collect()
    };
    let at_change = |part: &[&Entry], near: RangeInclusive<u64>| {
        let logs: Vec<f64> = part.iter().map(|one| one.log()).collect();
        let at = change(&logs)?;
        let is_near = near.contains(&part[at].first);
        is_near.then(|| (part[at - 1].first, part[at].first))
    };
    let (reach, after) = (group.saturating_mul(2), last.saturating_add(1));
    let end = last.min(first.saturating_add(reach - 1));
    let part = within(first.saturating_sub(reach), end);
    let near = first.saturating_sub(group)..=first.saturating_add(group);
    // A rank that is slow since its first step has no step before.
    let has_before = part.iter().any(|one| one.first < first);
    let begin = at_change(&part, near).filter(|_| has_before);
    let begin = begin.map_or(first, |(_, step)| step);
    let start = begin.max(after.saturating_sub(reach));
    let part = within(start, last.saturating_add(reach));
    let near = after.saturating_sub(group)..=after.saturating_add(group);
    let end = at_change(&part, near).filter(|_| !lasts);
    let end = end.map_or(last, |(step, _)| step);
    let is_slow = |one: &Entry| (begin..=end).contains(&one.first);
    let is_in_groups = |one: &Entry| (first..=last).contains(&one.first);
    let all = entries.iter();
    let more = all.clone().filter(|one| is_slow(one) && !is_in_groups(one));
    let less = all.filter(|one| !is_slow(one) && is_in_groups(one));
    Borders {
        first: begin,
        last: end,
        more: more.copied().collect(),
        less: less.map(|one| one.expected).sum(),
    }
}

impl Peers {
    /// Returns the single steps near the borders of groups of steps; empty if steps are not grouped.
    fn near(&self, first: u64, last: u64) -> impl Iterator<Item = (u64, &Step)> {
        let (reach, all) = (self.group().saturating_mul(2), self.single.as_ref());
        let near = first.saturating_sub(reach)..=last.saturating_add(reach);
        let inner = first.saturating_add(reach)..=last.saturating_sub(reach);
        let steps = all
            .into_iter()
            .flat_map(move |all| all.steps.range(near.clone()));
        let steps = steps.filter(move |(step, _)| !inner.contains(step));
        steps.map(|(step, cells)| (*step, &**cells))
    }

    /// Finds the first and the last step of slow ranks.
    pub(super) fn find_borders_of_ranks(
        &self,
        ranks: &mut [SlowEntries],
        steps: &mut Vec<SlowStep>,
        levels: &Levels,
    ) {
        let mut blocks: BTreeMap<u64, Block> = BTreeMap::new();
        for SlowEntries {
            slow,
            entries,
            references,
            only,
            ..
        } in ranks
        {
            if only.is_some() {
                continue;
            }
            let rank = (slow.program, slow.rank);
            let mut own = Vec::new();
            for (step, cells) in self.near(slow.first, slow.last) {
                let block = blocks
                    .entry(step)
                    .or_insert_with(|| Block::new((step, step), cells, &self.functions, levels));
                let of = |rank: &(u32, u32)| {
                    let at = block.ranks.binary_search_by_key(rank, |one| one.0).ok();
                    at.map(|at| &block.ranks[at].1)
                };
                let others: Vec<&[Entry]> = references
                    .iter()
                    .filter_map(of)
                    .map(std::slice::from_ref)
                    .collect();
                match of(&rank) {
                    Some(entry) if references.is_empty() => own.push(*entry),
                    Some(entry) if others.len() == references.len() => {
                        own.push(compared(entry, &others));
                    }
                    _ => {}
                }
            }
            if own.is_empty() {
                continue;
            }
            if let Some(usual) = slow.usual {
                own = relative_to(&own, usual.ln());
            }
            let found = borders(&own, (slow.first, slow.last), self.group(), slow.lasts);
            (slow.first, slow.last) = (found.first, found.last);
            let expected: f64 = entries.iter().map(|one| one.expected).sum::<f64>() - found.less;
            let more = found.more.iter();
            let (expected, lost) = more.fold((expected, slow.lost.0 as f64), |sum, one| {
                (sum.0 + one.expected, sum.1 + one.lost)
            });
            (slow.factor, slow.lost) = (1.0 + lost / expected.max(1.0), Nanos(lost as i64));
            steps.extend(found.more.iter().map(|one| SlowStep {
                program: slow.program,
                rank: slow.rank,
                first: one.first,
                last: one.last,
                lost: Nanos(one.lost as i64),
            }));
        }
    }

    /// Finds the first and the last step of slow phases.
    pub(super) fn find_borders_of_phases(
        &self,
        phases: &mut [SlowPhase],
        steps: &mut Vec<PhaseStep>,
        functions: &BTreeMap<FunctionId, Vec<Entry>>,
        levels: &Levels,
    ) {
        for slow in phases.iter_mut().filter(|slow| slow.steps.is_none()) {
            let function = slow.function;
            let all = (function, (0, 0))..=(function, (u32::MAX, u32::MAX));
            let near = self.near(slow.first, slow.last);
            let near = near.map(|(step, cells)| {
                let calls = cells.range(all.clone()).map(|(_, cell)| cell.calls);
                (step, cells, calls.sum::<u64>() as f64)
            });
            let near: Vec<_> = near.filter(|one| one.2 > 0.0).collect();
            let coarse = functions.get(&function).into_iter().flatten();
            let coarse = coarse.filter(|one| (slow.first..=slow.last).contains(&one.first));
            let calls: f64 = coarse.map(|one| one.expected).sum();
            let usual = slow.lost.0 as f64 / ((slow.factor - 1.0) * calls);
            if near.is_empty() || !usual.is_normal() {
                continue;
            }
            let times = typical_times(function, near.iter().map(|one| one.1), levels);
            let entries = near
                .iter()
                .zip(times)
                .map(|((step, _, calls), time)| Entry {
                    first: *step,
                    last: *step,
                    expected: usual * calls,
                    lost: (time - usual) * calls,
                    variance: 0.0,
                    worst: None,
                });
            let entries: Vec<Entry> = entries.collect();
            let found = borders(&entries, (slow.first, slow.last), self.group(), slow.lasts);
            (slow.first, slow.last) = (found.first, found.last);
            let more = found.more.iter();
            let sums = (usual * calls - found.less, slow.lost.0 as f64);
            let (expected, lost) =
                more.fold(sums, |sum, one| (sum.0 + one.expected, sum.1 + one.lost));
            (slow.factor, slow.lost) = (1.0 + lost / expected.max(1.0), Nanos(lost as i64));
            steps.extend(found.more.iter().map(|one| PhaseStep {
                function,
                first: one.first,
                last: one.last,
                lost: Nanos(one.lost as i64),
            }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn borders_are_those_of_single_steps() {
        let entry = |step: u64| Entry {
            first: step,
            last: step,
            expected: 100.0,
            lost: if (61..=80).contains(&step) {
                50.0
            } else {
                (step % 3) as f64
            },
            ..Entry::default()
        };
        let entries: Vec<Entry> = (50..95).map(entry).collect();
        let found = borders(&entries, (60, 79), 5, false);
        assert_eq!((found.first, found.last), (61, 80));
        assert_eq!((found.more.len(), found.less), (1, 100.0));
        let found = borders(&entries[11..], (61, 94), 5, true);
        assert_eq!((found.first, found.last), (61, 94));
    }
}
