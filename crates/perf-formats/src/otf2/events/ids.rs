//! [`Ids`]: converts the ids in the events of one location to the dense ids of the trace, and
//! collects undefined ones.

use super::Context;
use crate::otf2::schema::Space;
use std::collections::HashMap;

/// Undefined ids, each with its number of uses and the place of the first.
pub(super) type Misses = HashMap<(Space, u64), (u64, u64)>;

/// Converter from local to dense ids.
pub(super) struct Ids<'i, 'c> {
    /// Context of the location.
    pub(super) context: &'i Context<'c>,
    /// Undefined ids of the block.
    pub(super) misses: &'i mut Misses,
    /// Undefined ids of the current event.
    pub(super) fresh: &'i mut Vec<(Space, u64)>,
    /// Offset of the event in the file.
    pub(super) offset: u64,
    /// `true` if undefined ids are not reported.
    pub(super) quiet: bool,
}

impl Ids<'_, '_> {
    /// Returns the dense id of a local one. Ids of spaces without a type in `perf-core` become
    /// global.
    #[inline]
    pub(super) fn dense(&mut self, space: Space, id: u64) -> u64 {
        let global = self.context.local.global(space, id);
        match self.context.maps().of(space) {
            None => global,
            Some(map) => match map.get(global) {
                Some(dense) => dense.into(),
                None => self.miss(space, global),
            },
        }
    }

    /// Like [`dense`](Self::dense), but keeps undefined references.
    pub(super) fn reference(&mut self, space: Space, id: u64) -> u64 {
        if id == space.undefined() {
            return id;
        }
        let global = self.context.local.global(space, id);
        let dense = self.context.maps().of(space).map(|map| map.get(global));
        match dense {
            None => global,
            Some(dense) => dense.map_or(space.undefined(), u64::from),
        }
    }

    #[cold]
    fn miss(&mut self, space: Space, id: u64) -> u64 {
        // Locations and location groups get no placeholders, because events do not need dense ids
        // for them.
        if matches!(space, Space::Location | Space::LocationGroup) {
            return id;
        }
        self.fresh.push((space, id));
        if self.quiet {
            return id;
        }
        let seen = self.misses.entry((space, id));
        seen.or_insert((0, self.offset)).0 += 1;
        0
    }
}
