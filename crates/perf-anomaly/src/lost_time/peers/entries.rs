//! [`Entries`]: entries of closed and open blocks.

use super::Peers;
use super::rank_mix::{Levels, typical_times};
use super::spells::Entry;
use crate::FunctionId;
use crate::lost_time::own_speed::OwnAlarms;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Entries of all blocks in ascending order of step.
#[derive(Debug, Default)]
pub(super) struct Entries {
    /// Entries by program and rank.
    pub(super) ranks: BTreeMap<(u32, u32), Vec<Entry>>,
    /// Expected times of these entries with the usual differences of the rank, in nanoseconds; empty if blocks are closed.
    pub(super) own: BTreeMap<(u32, u32), Vec<f64>>,
    /// Entries by function.
    pub(super) functions: BTreeMap<FunctionId, Vec<Entry>>,
    /// Abnormal calls that are part of the means.
    pub(super) own_alarms: OwnAlarms,
    /// Differences of functions between ranks.
    pub(super) levels: Arc<Levels>,
}

impl Peers {
    /// Returns the entries of closed and open blocks.
    pub(super) fn entries(&self) -> Entries {
        let ranks = self.ranks.iter();
        let functions = self.functions.iter();
        let functions = functions.map(|(function, times)| (*function, &times.series));
        let mut all = Entries {
            own: BTreeMap::new(),
            ranks: ranks
                .map(|(rank, series)| (*rank, series.entries().to_vec()))
                .collect(),
            functions: functions
                .map(|(function, series)| (function, series.entries().to_vec()))
                .collect(),
            own_alarms: self.own_alarms.clone(),
            levels: self.levels(),
        };
        let mut mixed = BTreeSet::new();
        for (number, cells) in &self.open.steps {
            let block = self.block(*number, cells, &all.levels);
            for (rank, entry, own) in &block.ranks {
                all.ranks.entry(*rank).or_default().push(*entry);
                // Closed blocks do not keep the differences.
                if self.closed == 0 {
                    all.own.entry(*rank).or_default().push(*own);
                }
            }
            for (function, entry, ranks) in &block.functions {
                all.functions.entry(*function).or_default().push(*entry);
                if self.lacks_ranks(*function, *ranks) {
                    mixed.insert(*function);
                }
            }
            for (rank, function, alarms) in &block.own_alarms {
                let (first, _) = self.steps_of(*number);
                all.own_alarms.add(*rank, first, *function, *alarms);
            }
        }
        for function in mixed {
            let entries = all.functions.entry(function).or_default();
            self.compare_within_ranks(function, entries, &all.levels);
        }
        all
    }

    /// Returns `true` if some ranks that call a function are not among `ranks` ones.
    pub(super) fn lacks_ranks(&self, function: FunctionId, ranks: usize) -> bool {
        let all = self.functions.get(&function);
        all.is_some_and(|times| ranks < times.ranks.len())
    }

    /// Compares the open blocks of a function within ranks.
    fn compare_within_ranks(&self, function: FunctionId, entries: &mut [Entry], levels: &Levels) {
        let steps = self.open.steps.values().map(|step| &**step);
        let typical = typical_times(function, steps, levels);
        let first = |number: &u64| self.steps_of(*number).0;
        let typical: BTreeMap<u64, f64> = self.open.steps.keys().map(first).zip(typical).collect();
        let (open, _) = self.steps_of(self.closed);
        for entry in entries.iter_mut().filter(|entry| entry.first >= open) {
            if let Some(time) = typical.get(&entry.first) {
                entry.lost = time * entry.expected;
            }
        }
    }
}
