//! Changes of the time lost in modes, and slow calls outside of modes, that [`NewModes`] keeps for a server.

use super::NewModes;
use crate::FunctionId;
use crate::lost_time::modes::times::ModeTimes;
use std::collections::BTreeSet;

impl NewModes {
    /// Keeps changes of the time lost by rank and step from now on.
    pub(crate) fn keep_changes(&mut self) {
        self.changes = Some(ModeTimes::default());
    }

    /// Returns the changes of the time lost by rank and step since the last call.
    pub(crate) fn take_changes(&mut self) -> ModeTimes {
        let changes = self.changes.as_mut().map(std::mem::take);
        let mut changes = changes.unwrap_or_default();
        let functions = &self.functions;
        let changed = &mut self.changed;
        self.pending.retain(|function| {
            let times = functions.get(*function);
            let Some(ranks) = times.and_then(|times| times.late_ranks()) else {
                return true;
            };
            if !ranks.is_empty() {
                changed.entry(*function).or_default().extend(ranks);
            }
            false
        });
        for (function, ranks) in std::mem::take(&mut self.changed) {
            self.add_slow(function, &ranks, &mut changes);
        }
        changes
    }

    /// Returns the times of [`steps`](Self::steps) of a rank, and its slow calls outside of modes.
    pub(crate) fn all_of(&self, rank: (u32, u32)) -> ModeTimes {
        let mut all = self.times(|one| one == rank);
        for (function, _) in self.functions.iter() {
            self.add_slow(function, &BTreeSet::from([rank]), &mut all);
        }
        all
    }

    /// Adds the slow calls outside of modes of a function on ranks to changes.
    fn add_slow(
        &self,
        function: FunctionId,
        ranks: &BTreeSet<(u32, u32)>,
        changes: &mut ModeTimes,
    ) {
        let times = self.functions.get(function);
        if let Some(times) = times.filter(|_| !self.private.contains(&function)) {
            let slow = times.slow_on(ranks);
            changes.slow_mut().set(function, slow, times.run_times());
        }
    }

    /// Sends no slow calls of a function to a server, because a rule accepts its modes.
    pub(crate) fn keep_private(&mut self, function: FunctionId) {
        self.private.insert(function);
    }
}
