//! [`Context`]: input of the decoder of one location apart from the bytes: definitions, maps of ids,
//! time window and bounds on plausible times; [`Shared`]: local definitions for its creation.

use crate::otf2::definitions::id_maps::{Maps, NONE};
use crate::otf2::definitions::local::LocalDefinitions;
use crate::otf2::definitions::resolve::Resolved;
use crate::otf2::event_conversion::Kinds;
use crate::otf2::schema::Space;
use perf_core::TimeRange;
use std::sync::Arc;

/// Fraction of a second: timestamps further apart than 1/10,000 s are checked against the ones that
/// follow.
const FAR: u64 = 10_000;
/// Longest plausible pause before the last timestamp of a location, in seconds (one day), for
/// recordings whose clock properties give no length.
const GAP: u64 = 86_400;

/// Local definitions of one location, combined with the global ones.
#[derive(Debug)]
pub(crate) struct Shared {
    /// Local definitions of the location.
    pub(crate) local: LocalDefinitions,
    /// Dense regions by local id, if a mapping table makes them differ from the global ones.
    regions: Option<Vec<u32>>,
}

impl Shared {
    pub(crate) fn new(resolved: &Resolved, local: LocalDefinitions) -> Self {
        let map = &resolved.maps.regions;
        let regions = local.maps(Space::Region).then(|| {
            let ids = local.low_ids(Space::Region);
            // Ids without a definition have no region.
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
        // The clock properties are off by some percent in real archives, so twice the range is
        // accepted.
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

/// Context for decoding the events of one location.
#[derive(Debug)]
pub(crate) struct Context<'r> {
    /// Name of the event file.
    pub(crate) file: Arc<str>,
    /// Resolved global definitions.
    pub(super) resolved: &'r Resolved,
    /// Local definitions of the location.
    pub(crate) local: &'r LocalDefinitions,
    /// Dense regions by local id; [`NONE`] if the id needs the full lookup.
    pub(super) regions: &'r [u32],
    /// Kind of each record id.
    pub(super) kinds: &'r Kinds,
    /// Window of events to keep.
    pub(super) window: TimeRange,
    /// Largest distance in ticks that is accepted without checking the timestamps that follow.
    pub(super) far: u64,
    /// End of the range of the clock properties.
    pub(super) end: Option<u64>,
    /// End of twice the range of the clock properties; a later timestamp is implausible.
    pub(super) latest: Option<u64>,
    /// Longest plausible pause before the last timestamp in ticks, used if `latest` is unknown.
    pub(super) gap: u64,
}

impl<'r> Context<'r> {
    pub(super) fn maps(&self) -> &'r Maps {
        &self.resolved.maps
    }
}
