//! [`Maps`]: maps from the sparse ids of a recording to the dense ids of `perf-core`, an [`IdMap`]
//! for each kind of definition; [`Unresolved`]: ids in events without a definition.

use crate::otf2::schema::Space;
use std::collections::{BTreeSet, HashMap};

/// Marks an id without a dense counterpart.
pub(crate) const NONE: u32 = u32::MAX;

/// Map from the sparse ids of one space to dense ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct IdMap {
    /// Dense ids of the low ids; [`NONE`] marks a gap.
    low: Vec<u32>,
    /// Dense ids of the other ids.
    high: HashMap<u64, u32>,
}

impl IdMap {
    /// Creates the map from pairs of a sparse and a dense id, in ascending order.
    pub(crate) fn new(ids: &[(u64, u32)]) -> Self {
        // In most recordings, ids count up from 0. The table may be four times as long as there are
        // ids; ids beyond it are hashed.
        let most = 4 * ids.len() as u64 + 64;
        let split = ids.partition_point(|(id, _)| *id < most);
        let (low, high) = ids.split_at(split);
        let len = low.last().map_or(0, |(id, _)| *id as usize + 1);
        let mut map = IdMap {
            low: vec![NONE; len],
            high: high.iter().copied().collect(),
        };
        for (id, dense) in low {
            if let Some(slot) = map.low.get_mut(*id as usize) {
                *slot = *dense;
            }
        }
        map
    }

    #[inline]
    pub(crate) fn get(&self, id: u64) -> Option<u32> {
        let low = usize::try_from(id).ok().and_then(|id| self.low.get(id));
        match low {
            Some(dense) if *dense != NONE => Some(*dense),
            _ => self.high.get(&id).copied(),
        }
    }

    pub(crate) fn insert(&mut self, id: u64, dense: u32) {
        let slot = usize::try_from(id).ok().and_then(|id| self.low.get_mut(id));
        match slot {
            Some(slot) => *slot = dense,
            None => {
                self.high.insert(id, dense);
            }
        }
    }

    /// Moves inserted ids into the table of low ids, as far as the table may grow for them.
    pub(crate) fn settle(&mut self) {
        let is_known = |dense: &&u32| **dense != NONE;
        let count = self.high.len() + self.low.iter().filter(is_known).count();
        let most = 4 * count as u64 + 64;
        let low = |id: &u64| *id < most;
        let Some(last) = self.high.keys().copied().filter(low).max() else {
            return;
        };
        self.low.resize(self.low.len().max(last as usize + 1), NONE);
        let IdMap { low, high } = self;
        high.retain(|id, dense| {
            let slot = usize::try_from(*id).ok().and_then(|id| low.get_mut(id));
            let is_high = slot.is_none();
            if let Some(slot) = slot {
                *slot = *dense;
            }
            is_high
        });
    }

    /// Returns `true` if the map is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.low.is_empty() && self.high.is_empty()
    }

    /// Returns the table of low ids.
    pub(crate) fn low(&self) -> &[u32] {
        &self.low
    }
}

/// Maps of all spaces that have a type in `perf-core`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Maps {
    /// Regions.
    pub(crate) regions: IdMap,
    /// Communicators.
    pub(crate) comms: IdMap,
    /// Metrics.
    pub(crate) metrics: IdMap,
    /// Windows of one-sided communication.
    pub(crate) windows: IdMap,
    /// Attributes.
    pub(crate) attributes: IdMap,
    /// Calling contexts.
    pub(crate) contexts: IdMap,
    /// Locations.
    pub(crate) locations: IdMap,
    /// Location groups.
    pub(crate) groups: IdMap,
    /// Region of each calling context, by its dense id.
    pub(crate) context_regions: Vec<u32>,
}

impl Maps {
    /// Returns the map of a space, or `None` if its ids stay unchanged.
    #[inline]
    pub(crate) fn of(&self, space: Space) -> Option<&IdMap> {
        Some(match space {
            Space::Region => &self.regions,
            Space::Comm => &self.comms,
            Space::Metric => &self.metrics,
            Space::RmaWin => &self.windows,
            Space::Attribute => &self.attributes,
            Space::CallingContext => &self.contexts,
            Space::Location => &self.locations,
            Space::LocationGroup => &self.groups,
            _ => return None,
        })
    }

    pub(crate) fn of_mut(&mut self, space: Space) -> Option<&mut IdMap> {
        Some(match space {
            Space::Region => &mut self.regions,
            Space::Comm => &mut self.comms,
            Space::Metric => &mut self.metrics,
            Space::RmaWin => &mut self.windows,
            Space::Attribute => &mut self.attributes,
            Space::CallingContext => &mut self.contexts,
            _ => return None,
        })
    }
}

/// Undefined ids that events refer to.
///
/// While locations are read in parallel, the order in which undefined ids are met is not
/// deterministic. They are therefore collected. When all are known, placeholders are created in
/// ascending order, and the locations that refer to them are decoded again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unresolved(BTreeSet<(Space, u64)>);

impl Unresolved {
    pub(crate) fn add(&mut self, space: Space, id: u64) {
        self.0.insert((space, id));
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = (Space, u64)> {
        self.0.iter().copied()
    }

    /// Adds the ids of `other`.
    pub(crate) fn merge(&mut self, other: &Unresolved) {
        self.0.extend(other.ids());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sparse_ids_cost_no_table() {
        let map = IdMap::new(&[(0, 5), (3, 6), (1 << 40, 7), (u64::MAX - 1, 8)]);
        assert_eq!(map.low().len(), 4);
        let found = [0, 1, 3, 4, 1 << 40, u64::MAX - 1].map(|id| map.get(id));
        assert_eq!(found, [Some(5), None, Some(6), None, Some(7), Some(8)]);
    }

    #[test]
    fn ids_that_come_later_settle_in_the_table() {
        let mut map = IdMap::new(&[(0, 0)]);
        for id in (50..150).rev().chain([1 << 40]) {
            map.insert(id, id as u32 + 1);
        }
        map.settle();
        assert_eq!(map.low().len(), 150);
        assert_eq!(map.high.len(), 1);
        let found = [0, 1, 50, 149, 150, 1 << 40].map(|id| map.get(id));
        assert_eq!(found, [Some(0), None, Some(51), Some(150), None, Some(1)]);
    }
}
