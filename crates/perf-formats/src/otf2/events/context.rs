//! What the events of one location are read with.

use crate::otf2::kinds::Kinds;
use crate::otf2::local::LocalDefinitions;
use crate::otf2::maps::{Maps, NONE};
use crate::otf2::resolve::Resolved;
use crate::otf2::schema::Space;
use perf_core::TimeRange;
use std::sync::Arc;

/// Timestamps that are further apart than this part of a second are compared with those that follow.
const FAR: u64 = 10_000;
/// Seconds before the last timestamp of a location that are too long for a pause, where the clock
/// properties do not say how long the recording is: a day.
const GAP: u64 = 86_400;

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
        let clock = resolved.definitions.clock;
        // The clock properties are off by some percent in real archives.
        let latest = resolved.span.and_then(|(start, length)| {
            let latest = start.saturating_add(length.saturating_mul(2));
            (length > 0).then_some(latest)
        });
        Context {
            file,
            resolved,
            far: clock.ticks_per_second() / FAR,
            end: resolved
                .span
                .map(|(start, length)| start.saturating_add(length)),
            latest,
            gap: clock.ticks_per_second().saturating_mul(GAP),
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
    /// Distance in ticks from which on a timestamp is compared with those that follow, at most.
    pub(super) far: u64,
    /// The end of the range of the clock properties.
    pub(super) end: Option<u64>,
    /// The end of twice the range of the clock properties: no timestamp should be later.
    pub(super) latest: Option<u64>,
    /// Longest pause before the last timestamp in ticks, where `latest` is not known.
    pub(super) gap: u64,
}

impl<'r> Context<'r> {
    pub(super) fn maps(&self) -> &'r Maps {
        &self.resolved.maps
    }
}
