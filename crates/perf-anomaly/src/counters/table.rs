//! [`Counters`]: bounded table of the statistics of counters by program, rank and counter, and its encoding.

use super::{CounterStats, CounterSummary};
use crate::format_version::{Reader, Writer};
use crate::server::{FunctionName, tree};
use crate::{FunctionId, Result};
use perf_core::Merge;
use std::collections::{BTreeMap, BTreeSet};

/// Largest number of counters of programs. Values of further ones are dropped and counted.
pub(crate) const MAX_COUNTERS: usize = 4096;
/// Largest number of counters of ranks with statistics of their own. The values of further ones are in statistics of all
/// these ranks: counts, means and extremes over all ranks stay exact.
const MAX_CELLS: usize = 1 << 17;

/// Smallest difference of the highest and the lowest rank that is stated, as a share of the larger value.
const MIN_DIFFERENCE: f64 = 0.01;

/// Statistics of counters of ranks.
///
/// Memory and messages are bounded. There are at most 4,096 counters; values of further ones are
/// [dropped](Self::dropped) and counted. There are at most 131,072 counters of ranks, such as 32 counters of 4,096 ranks;
/// further ones are known over all ranks only.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counters {
    /// Statistics by program and rank, and by counter.
    ranks: BTreeMap<(u32, u32), BTreeMap<u32, CounterStats>>,
    /// Statistics of the other ranks by program and counter.
    rest: BTreeMap<(u32, u32), CounterStats>,
    /// Programs and counters in these.
    known: BTreeSet<(u32, u32)>,
    /// Number of counters of ranks.
    cells: usize,
    /// Number of values without statistics.
    dropped: u64,
}

impl Counters {
    /// Returns `true` if no value was counted or dropped.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty() && self.dropped == 0
    }

    /// Returns the number of values that were dropped because they are invalid (no numbers, negative
    /// numbers of PAPI events, or the values of failed counters, which are all bits or the sign bit), or because there are
    /// more than 4,096 counters.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Returns the counters over all ranks, those of which ranks [differ](CounterSummary::difference) most first. `name`
    /// returns the name of a counter of a program; counters without a name are skipped.
    pub(crate) fn summaries(
        &self,
        name: impl Fn(u32, u32) -> Option<FunctionName>,
    ) -> Vec<CounterSummary> {
        let mut all: BTreeMap<(u32, u32), CounterSummary> = BTreeMap::new();
        for (program, counter) in &self.known {
            if let Some(name) = name(*program, *counter) {
                let rest = self.rest.get(&(*program, *counter)).copied();
                let summary = CounterSummary {
                    name,
                    ranks: 0,
                    has_more_ranks: rest.is_some(),
                    stats: rest.unwrap_or_default(),
                    highest: None,
                    difference: 0.0,
                };
                all.insert((*program, *counter), summary);
            }
        }
        for ((program, rank), counters) in &self.ranks {
            for (counter, stats) in counters {
                if let Some(summary) = all.get_mut(&(*program, *counter)) {
                    summary.add(*rank, stats);
                }
            }
        }
        // The comparison of ranks depends on the values of all ranks.
        let mut lowest: BTreeMap<(u32, u32), f64> = BTreeMap::new();
        for ((program, rank), counters) in &self.ranks {
            for (counter, stats) in counters {
                let key = (*program, *counter);
                let Some(summary) = all.get_mut(&key) else {
                    continue;
                };
                let own = summary.compared(stats);
                let least = lowest.entry(key).or_insert(own);
                *least = least.min(own);
                let most = summary.highest.map(|(_, stats)| summary.compared(&stats));
                if most.is_none_or(|most| own > most) {
                    summary.highest = Some((*rank, *stats));
                }
            }
        }
        for (key, summary) in &mut all {
            let most = summary.highest.map(|(_, stats)| summary.compared(&stats));
            if let (Some(most), Some(least)) = (most, lowest.get(key)) {
                let difference = (most - least) / most.abs().max(least.abs());
                // Ranks that all have 0 do not differ.
                if difference > MIN_DIFFERENCE {
                    summary.difference = difference;
                } else {
                    summary.highest = None;
                }
            }
        }
        let mut all: Vec<CounterSummary> = all.into_values().collect();
        all.sort_by(CounterSummary::by_interest);
        all
    }

    /// Returns the counters that are larger on each of some ranks of a program than on each rank that is not slow, with
    /// the ratio of their means over these ranks: the means of values, or the increases if they accumulate. `slow` are all
    /// slow ranks in ascending order.
    pub(crate) fn larger_on(&self, program: u32, ranks: &[u32], slow: &[u32]) -> Vec<(u32, f64)> {
        let first = ranks
            .first()
            .and_then(|rank| self.ranks.get(&(program, *rank)));
        let known = first.into_iter().flat_map(BTreeMap::keys);
        let larger = known.filter_map(|counter| {
            let own = ranks
                .iter()
                .map(|rank| self.ranks.get(&(program, *rank))?.get(counter));
            let own: Vec<&CounterStats> = own.collect::<Option<_>>()?;
            let accumulates = own.iter().all(|stats| stats.accumulates());
            let value = |stats: &CounterStats| {
                if accumulates {
                    stats.growth
                } else {
                    stats.values.mean()
                }
            };
            let least = own.iter().map(|stats| value(stats));
            let least = least.fold(f64::INFINITY, f64::min);
            let (mut others, mut count) = (0.0, 0_u32);
            for ((_, rank), counters) in self.ranks.range((program, 0)..=(program, u32::MAX)) {
                if let (Some(stats), Err(_)) = (counters.get(counter), slow.binary_search(rank)) {
                    let value = value(stats);
                    if value >= least {
                        return None;
                    }
                    (others, count) = (others + value, count + 1);
                }
            }
            let mean = own.iter().map(|stats| value(stats)).sum::<f64>() / own.len() as f64;
            let of_others = others / f64::from(count);
            (of_others > 0.0).then(|| (*counter, mean / of_others))
        });
        larger.collect()
    }

    /// Adds values of a counter of a rank; `None` for ranks without statistics of their own.
    pub(crate) fn add(
        &mut self,
        (program, rank): (u32, Option<u32>),
        counter: u32,
        stats: &CounterStats,
    ) {
        if stats.values.count() == 0 {
            return;
        }
        let own = rank.and_then(|rank| self.ranks.get_mut(&(program, rank)));
        if let Some(known) = own.and_then(|own| own.get_mut(&counter)) {
            return known.merge(stats);
        }
        let key = (program, counter);
        if !self.known.contains(&key) {
            if self.known.len() >= MAX_COUNTERS {
                return self.drop_values(stats.values.count());
            }
            self.known.insert(key);
        }
        match rank {
            Some(rank) if self.cells < MAX_CELLS => {
                let own = self.ranks.entry((program, rank)).or_default();
                own.insert(counter, *stats);
                self.cells += 1;
            }
            _ => self.rest.entry(key).or_default().merge(stats),
        }
    }

    /// Counts values that are not in the statistics.
    pub(crate) fn drop_values(&mut self, count: u64) {
        self.dropped = self.dropped.saturating_add(count);
    }

    /// Adds the values of another table; `number` returns the number of a counter in this table.
    pub(crate) fn add_all(&mut self, other: &Counters, number: impl Fn(u32, u32) -> Option<u32>) {
        self.drop_values(other.dropped);
        for ((program, rank), counters) in &other.ranks {
            for (counter, stats) in counters {
                match number(*program, *counter) {
                    Some(counter) => self.add((*program, Some(*rank)), counter, stats),
                    None => self.drop_values(stats.values.count()),
                }
            }
        }
        for ((program, counter), stats) in &other.rest {
            match number(*program, *counter) {
                Some(counter) => self.add((*program, None), counter, stats),
                None => self.drop_values(stats.values.count()),
            }
        }
    }

    /// Returns the table with other numbers of counters.
    pub(crate) fn renumbered(&self, number: impl Fn(FunctionId) -> Option<FunctionId>) -> Self {
        let mut all = Counters::default();
        all.add_all(self, |_, counter| Some(number(FunctionId(counter))?.0));
        all
    }

    /// Moves the values of a rank of another table to this one.
    pub(crate) fn take_rank(&mut self, other: &mut Counters, (program, rank): (u32, u32)) {
        for (counter, stats) in other.ranks.remove(&(program, rank)).unwrap_or_default() {
            other.cells -= 1;
            self.add((program, Some(rank)), counter, &stats);
        }
    }

    /// Moves the values that belong to no rank of another table to this one.
    pub(crate) fn take_rest(&mut self, other: &mut Counters) {
        for ((program, counter), stats) in std::mem::take(&mut other.rest) {
            self.add((program, None), counter, &stats);
        }
        self.drop_values(std::mem::take(&mut other.dropped));
    }

    /// Returns the table with the values of its first rank as those of another rank, or empty without ranks.
    ///
    /// This is for simulated ranks.
    pub fn moved(&self, (program, rank): (u32, u32)) -> Self {
        let mut all = Counters::default();
        for (counter, stats) in self.ranks.values().next().into_iter().flatten() {
            all.add((program, Some(rank)), *counter, stats);
        }
        all
    }

    /// Returns the numbers of all counters with their programs.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = (u32, u32)> {
        self.known.iter().copied()
    }

    /// Returns `true` if all numbers are below `end`.
    pub(crate) fn is_below(&self, end: u64) -> bool {
        self.known.iter().all(|(_, one)| u64::from(*one) < end)
    }

    /// Returns the memory in bytes.
    pub(crate) fn memory(&self) -> usize {
        tree(self.cells, size_of::<(u32, CounterStats)>())
            + tree(
                self.ranks.len(),
                size_of::<((u32, u32), BTreeMap<(), ()>)>(),
            )
            + tree(self.rest.len(), size_of::<((u32, u32), CounterStats)>())
            + tree(self.known.len(), size_of::<(u32, u32)>())
    }

    /// Writes the table; one byte if it is empty.
    pub(crate) fn write(&self, to: &mut Writer) {
        to.u8(u8::from(!self.is_empty()));
        if self.is_empty() {
            return;
        }
        to.u32(self.ranks.len() as u32);
        for ((program, rank), counters) in &self.ranks {
            to.varint((*program).into());
            to.varint((*rank).into());
            to.u32(counters.len() as u32);
            for (counter, stats) in counters {
                to.varint((*counter).into());
                stats.write(to);
            }
        }
        to.u32(self.rest.len() as u32);
        for ((program, counter), stats) in &self.rest {
            to.varint((*program).into());
            to.varint((*counter).into());
            stats.write(to);
        }
        to.varint(self.dropped);
    }

    /// Reads the table; empty from messages of earlier versions.
    pub(crate) fn read_if_present(from: &mut Reader<'_>) -> Result<Self> {
        let mut all = Counters::default();
        if !from.context.has_counters || from.u8("the flag for counters")? == 0 {
            return Ok(all);
        }
        for _ in 0..from.count(6, "a number of ranks that fits the remaining bytes")? {
            let key = (from.varint32("a program")?, Some(from.varint32("a rank")?));
            let expected = "a number of counters that fits the remaining bytes";
            for _ in 0..from.count(1 + CounterStats::LEAST, expected)? {
                let counter = from.varint32("a counter")?;
                all.add(key, counter, &CounterStats::read(from)?);
            }
        }
        let expected = "a number of counters that fits the remaining bytes";
        for _ in 0..from.count(2 + CounterStats::LEAST, expected)? {
            let program = from.varint32("a program")?;
            let counter = from.varint32("a counter")?;
            all.add((program, None), counter, &CounterStats::read(from)?);
        }
        all.drop_values(from.varint("a number of dropped values")?);
        Ok(all)
    }
}

impl Merge for Counters {
    fn merge(&mut self, other: &Self) {
        self.add_all(other, |_, counter| Some(counter));
    }
}
