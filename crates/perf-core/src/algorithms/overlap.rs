//! Detection of accelerator streams whose regions overlap instead of nesting; [`OverlapCache`]: the
//! results by location.

use crate::{
    Cancelled, Close, Definitions, Event, Events, FrameStack, Job, LocationId, LocationKind,
    Paradigm, RegionId,
};
use std::collections::HashSet;
use std::sync::OnceLock;

impl LocationKind {
    /// Returns `true` if regions on a location of this kind may overlap without a call relation.
    ///
    /// Work on one accelerator stream may overlap: a kernel can begin before its predecessor has
    /// ended. [`LocationView::overlaps`](crate::LocationView::overlaps) decides from the events of
    /// a location.
    pub fn may_overlap(self) -> bool {
        self == LocationKind::AcceleratorStream
    }
}

/// Searches for an overlap on a location; see
/// [`LocationView::overlaps`](crate::LocationView::overlaps).
pub(crate) fn is_seen(
    definitions: &Definitions,
    location: LocationId,
    events: &Events,
    job: &Job,
) -> Result<bool, Cancelled> {
    let location = definitions.system.location(location);
    if !location.is_some_and(|location| location.kind.may_overlap()) {
        return Ok(false);
    }
    let is_work = |region: RegionId| {
        let region = definitions.regions.get(region.index());
        region.is_some_and(|region| is_device_work(region.paradigm))
    };
    let (mut stack, mut checks) = (FrameStack::default(), job.checks());
    // Regions that the leave of an outer region closed. Their own leave may still follow, and then
    // they overlap.
    let mut early: HashSet<RegionId> = HashSet::new();
    for index in 0..events.len() {
        checks.next(1)?;
        match events.event(index) {
            Some(Event::Enter { region }) => {
                if stack.frames().last().is_some_and(|top| is_work(*top)) && is_work(region) {
                    return Ok(true);
                }
                stack.enter(region);
            }
            Some(Event::Leave { region }) => {
                let before = stack.counts();
                stack.leave(region, |closed, _, why| {
                    if why == Close::Implicit {
                        early.insert(closed);
                    }
                });
                let after = stack.counts();
                let is_open = (after.renamed, after.orphan) == (before.renamed, before.orphan);
                if !is_open && early.contains(&region) {
                    return Ok(true);
                }
            }
            _ => {}
        }
    }
    Ok(false)
}

/// Returns `true` for paradigms whose regions on a stream are kernels and copies. These do not call
/// other regions.
fn is_device_work(paradigm: Paradigm) -> bool {
    matches!(paradigm, Paradigm::Cuda | Paradigm::Hip | Paradigm::OpenCl)
}

/// Cached results for each location of a trace, computed on first use.
#[derive(Clone, Debug, Default)]
pub(crate) struct OverlapCache(Vec<OnceLock<bool>>);

impl OverlapCache {
    pub(crate) fn new(locations: usize) -> Self {
        OverlapCache(vec![OnceLock::new(); locations])
    }

    pub(crate) fn of(&self, location: LocationId) -> Option<&OnceLock<bool>> {
        self.0.get(location.index())
    }
}

/// All caches are equal, because a cache does not belong to the value of the trace that contains
/// it.
impl PartialEq for OverlapCache {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
