//! What the events of one location are read with.

use crate::otf2::kinds::Kinds;
use crate::otf2::local::LocalDefinitions;
use crate::otf2::maps::{Maps, NONE};
use crate::otf2::resolve::Resolved;
use crate::otf2::schema::Space;
use perf_core::TimeRange;
use std::sync::Arc;

/// What belongs to one location: its local definitions, put together with the global ones.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) local: LocalDefinitions,
    /// Dense regions by local id, where a mapping table makes them differ from the global ones.
    regions: Option<Vec<u32>>,
}

impl Shared {
    pub(crate) fn new(resolved: &Resolved, local: LocalDefinitions) -> Self {
        let map = &resolved.maps.regions;
        let regions = local.maps(Space::Region).then(|| {
            let ids = local.low_ids(Space::Region);
            ids.iter().map(|id| map.get(*id).unwrap_or(NONE)).collect()
        });
        Shared { local, regions }
    }

    pub(crate) fn context<'r>(
        &'r self,
        file: Arc<str>,
        resolved: &'r Resolved,
        kinds: &'r Kinds,
        window: TimeRange,
    ) -> Context<'r> {
        let all = resolved.maps.regions.low();
        Context {
            file,
            resolved,
            local: &self.local,
            regions: self.regions.as_deref().unwrap_or(all),
            kinds,
            window,
        }
    }
}

/// What the events of one location are read with.
#[derive(Debug)]
pub(crate) struct Context<'r> {
    pub(crate) file: Arc<str>,
    pub(super) resolved: &'r Resolved,
    pub(crate) local: &'r LocalDefinitions,
    /// Dense regions by local id; [`NONE`] where the long way must be taken.
    pub(super) regions: &'r [u32],
    pub(super) kinds: &'r Kinds,
    pub(super) window: TimeRange,
}

impl<'r> Context<'r> {
    pub(super) fn maps(&self) -> &'r Maps {
        &self.resolved.maps
    }
}
