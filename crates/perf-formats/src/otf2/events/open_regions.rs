//! [`OpenRegions`]: the regions of a location that are open at the time at which its events are
//! cut, as frames of a call stack or as overlapping activities.

use perf_core::{FrameStack, LocationKind, OpenIntervals, RegionId};

/// Open regions with a value for each: frames of a call stack, or activities that may overlap.
#[derive(Debug)]
pub(in crate::otf2) enum OpenRegions<T> {
    Frames(FrameStack, Vec<T>),
    Work(OpenIntervals<T>),
    /// An accelerator stream that is cut while it is read, before it is known if it overlaps.
    Stream(OpenIntervals<T>),
}

impl<T: Copy> OpenRegions<T> {
    /// Creates an empty set for a location that is known to overlap or not.
    pub(in crate::otf2) fn new(overlaps: bool) -> Self {
        if overlaps {
            OpenRegions::Work(OpenIntervals::default())
        } else {
            OpenRegions::Frames(FrameStack::default(), Vec::new())
        }
    }

    /// Creates an empty set for a location of which only the kind is known.
    pub(in crate::otf2) fn of(kind: LocationKind) -> Self {
        if kind.may_overlap() {
            OpenRegions::Stream(OpenIntervals::default())
        } else {
            OpenRegions::new(false)
        }
    }

    /// Returns the values of the open regions, in the order of their enters.
    pub(in crate::otf2) fn kept(&self) -> Vec<T> {
        match self {
            OpenRegions::Frames(_, kept) => kept.clone(),
            OpenRegions::Work(work) | OpenRegions::Stream(work) => {
                work.iter().map(|(_, kept)| *kept).collect()
            }
        }
    }

    pub(in crate::otf2) fn enter(&mut self, region: RegionId, keep: T) {
        match self {
            OpenRegions::Frames(stack, kept) => {
                stack.enter(region);
                kept.push(keep);
            }
            OpenRegions::Work(work) | OpenRegions::Stream(work) => work.enter(region, keep),
        }
    }

    /// Closes a region. On a stream, closes the innermost open region if it equals the region, which
    /// keeps the order that frames need. If activities overlap, the order does not matter, because
    /// all open ones begin at the cut.
    pub(in crate::otf2) fn leave(&mut self, region: RegionId) {
        match self {
            OpenRegions::Frames(stack, kept) => {
                stack.leave(region, |_, _, _| ());
                kept.truncate(stack.frames().len());
            }
            OpenRegions::Work(work) => drop(work.leave(region)),
            OpenRegions::Stream(work) => drop(work.leave_innermost(region)),
        }
    }
}
