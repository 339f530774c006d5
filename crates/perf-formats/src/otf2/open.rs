//! [`Open`]: the regions that are open at the cut of a location.

use perf_core::{FrameStack, LocationKind, OpenIntervals, RegionId};

/// Open regions with a value for each: frames of a call stack, or activities that may overlap.
#[derive(Debug)]
pub(super) enum Open<T> {
    Frames(FrameStack, Vec<T>),
    Work(OpenIntervals<T>),
    /// An accelerator stream that is cut while it is read, before it is known if it overlaps.
    Stream(OpenIntervals<T>),
}

impl<T: Copy> Open<T> {
    /// Creates an empty set for a location that is known to overlap or not.
    pub(super) fn new(overlaps: bool) -> Self {
        if overlaps {
            Open::Work(OpenIntervals::default())
        } else {
            Open::Frames(FrameStack::default(), Vec::new())
        }
    }

    /// Creates an empty set for a location of which only the kind is known.
    pub(super) fn of(kind: LocationKind) -> Self {
        if kind.may_overlap() {
            Open::Stream(OpenIntervals::default())
        } else {
            Open::new(false)
        }
    }

    /// Returns the values of the open regions, in the order of their enters.
    pub(super) fn kept(&self) -> Vec<T> {
        match self {
            Open::Frames(_, kept) => kept.clone(),
            Open::Work(work) | Open::Stream(work) => work.iter().map(|(_, kept)| *kept).collect(),
        }
    }

    pub(super) fn enter(&mut self, region: RegionId, keep: T) {
        match self {
            Open::Frames(stack, kept) => {
                stack.enter(region);
                kept.push(keep);
            }
            Open::Work(work) | Open::Stream(work) => work.enter(region, keep),
        }
    }

    /// Closes a region. On a stream it is the innermost one if that is of the region, which keeps
    /// the order that frames need. If activities overlap, the order does not matter, because all
    /// open ones begin at the cut.
    pub(super) fn leave(&mut self, region: RegionId) {
        match self {
            Open::Frames(stack, kept) => {
                stack.leave(region, |_, _, _| ());
                kept.truncate(stack.frames().len());
            }
            Open::Work(work) => drop(work.leave(region)),
            Open::Stream(work) => drop(work.leave_innermost(region)),
        }
    }
}
