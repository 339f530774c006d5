//! Steps in which a slow rank still runs after its peers have ended.

use super::rank_mix::Levels;
use super::slow_ranks::SlowEntries;
use super::spells::{Entry, OfFunction};
use super::{COMPARED, Peers};
use crate::FunctionId;
use crate::lost_time::step_times::Step;
use perf_core::Nanos;
use std::collections::BTreeMap;
use std::sync::Arc;

impl Peers {
    /// Adds the steps after the last one in which a slow rank was compared, as long as it is slow. Without barriers,
    /// the other ranks end before it. Its functions are compared with their last times on these.
    pub(super) fn add_steps_without_peers(&self, found: &mut SlowEntries, levels: &Arc<Levels>) {
        let (slow, after) = (&found.slow, found.slow.last / self.group() + 1);
        let rank = (slow.program, slow.rank);
        if !slow.lasts || self.open.steps.range(after..).next().is_none() {
            return;
        }
        let usual = self.usual_before(after, found, levels);
        let steps = self
            .open
            .steps
            .range(after..)
            .filter_map(|(number, cells)| {
                let functions = functions_on(rank, cells, &usual);
                let (first, last) = self.steps_of(*number);
                let mut entry = Entry {
                    first,
                    last,
                    ..Entry::default()
                };
                for one in &functions {
                    entry.expected += one.expected;
                    entry.lost += one.lost;
                }
                (!functions.is_empty()).then_some((entry, functions))
            });
        let steps: Vec<(Entry, Vec<OfFunction>)> = steps.collect();
        // The steps that are slow together.
        let half = 0.5 * slow.factor.ln();
        let mut excess = 0.0;
        let sums = steps.iter().map(|(entry, _)| {
            excess += entry.log() - half;
            excess
        });
        let most = sums.zip(1..).filter(|(sum, _)| *sum > 0.0);
        let most = most.max_by(|one, other| one.0.total_cmp(&other.0));
        let count = most.map_or(0, |(_, count)| count);
        let expected: f64 = found.entries.iter().map(|one| one.expected).sum();
        let mut sums = (expected, slow.lost.0 as f64);
        for (entry, functions) in steps.into_iter().take(count) {
            sums = (sums.0 + entry.expected, sums.1 + entry.lost);
            found.slow.last = entry.last;
            found.entries.push(entry);
            found.after.extend(functions);
        }
        if count > 0 {
            let slow = &mut found.slow;
            (slow.factor, slow.lost) = (1.0 + sums.1 / sums.0.max(1.0), Nanos(sums.1 as i64));
        }
    }

    /// Returns the last time of a call of each function on the peers of a slow rank, in nanoseconds.
    fn usual_before(
        &self,
        after: u64,
        found: &SlowEntries,
        levels: &Arc<Levels>,
    ) -> BTreeMap<FunctionId, f64> {
        let rank = (found.slow.program, found.slow.rank);
        let mut usual = BTreeMap::new();
        for (number, cells) in self.open.steps.range(..after).rev().take(COMPARED) {
            let block = self.block(*number, cells, levels);
            for one in block.of_rank(cells, rank, &found.references) {
                let calls = cells
                    .get(&(one.function, rank))
                    .map_or(0, |cell| cell.calls);
                if calls > 0 && found.only.is_none_or(|only| only == one.function) {
                    usual
                        .entry(one.function)
                        .or_insert(one.expected / calls as f64);
                }
            }
        }
        let factors = self.usual_factors(found, levels);
        for (function, time) in &mut usual {
            *time *= factors.get(function).unwrap_or(&1.0);
        }
        usual
    }
}

/// Returns the times of the functions on a rank, given the usual times of their calls.
fn functions_on(
    rank: (u32, u32),
    cells: &Step,
    usual: &BTreeMap<FunctionId, f64>,
) -> Vec<OfFunction> {
    let functions = usual.iter().filter_map(|(function, time)| {
        let cell = cells.get(&(*function, rank))?;
        let expected = time * cell.calls as f64;
        Some(OfFunction {
            function: *function,
            expected,
            lost: cell.time as f64 - expected,
        })
    });
    functions.collect()
}
