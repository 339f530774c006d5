//! [`Open`]: regions that are open on a location which is cut.

use perf_core::{FrameStack, LocationKind, OpenIntervals, RegionId};

/// Open regions, with a value kept for each: frames, or work that may overlap.
#[derive(Debug)]
pub(super) enum Open<T> {
    Frames(FrameStack, Vec<T>),
    Work(OpenIntervals<T>),
    /// An accelerator stream that is cut while it is read, before anybody knows if it overlaps.
    Stream(OpenIntervals<T>),
}

impl<T: Copy> Open<T> {
    /// Nothing is open on a location of which it is known if it overlaps.
    pub(super) fn new(overlaps: bool) -> Self {
        match overlaps {
            true => Open::Work(OpenIntervals::default()),
            false => Open::Frames(FrameStack::default(), Vec::new()),
        }
    }

    /// Nothing is open on a location of which only the kind is known.
    pub(super) fn of(kind: LocationKind) -> Self {
        match kind.may_overlap() {
            true => Open::Stream(OpenIntervals::default()),
            false => Open::new(false),
        }
    }

    /// Returns what is kept, in the order in which it was entered.
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

    /// Closes a region. On a stream it is the innermost one if that is of the region, which keeps the order that
    /// frames need. Where work overlaps, the order does not matter, as all that is open begins at the cut.
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
