//! [`Open`]: what is open on a location, for who cuts it.

use perf_core::{FrameStack, LocationKind, OpenIntervals, RegionId};

/// What is open, with what is kept of each: frames, or work that may overlap.
#[derive(Debug)]
pub(super) enum Open<T> {
    Frames(FrameStack, Vec<T>),
    Work(OpenIntervals<T>),
}

impl<T: Copy> Open<T> {
    pub(super) fn of(kind: LocationKind) -> Self {
        match kind.may_overlap() {
            true => Open::Work(OpenIntervals::default()),
            false => Open::Frames(FrameStack::default(), Vec::new()),
        }
    }

    /// What is kept, in the order in which it was entered.
    pub(super) fn kept(&self) -> Vec<T> {
        match self {
            Open::Frames(_, kept) => kept.clone(),
            Open::Work(work) => work.iter().map(|(_, kept)| *kept).collect(),
        }
    }

    pub(super) fn enter(&mut self, region: RegionId, keep: T) {
        match self {
            Open::Frames(stack, kept) => {
                stack.enter(region);
                kept.push(keep);
            }
            Open::Work(work) => work.enter(region, keep),
        }
    }

    pub(super) fn leave(&mut self, region: RegionId) {
        match self {
            Open::Frames(stack, kept) => {
                stack.leave(region, |_, _, _| ());
                kept.truncate(stack.frames().len());
            }
            Open::Work(work) => drop(work.leave(region)),
        }
    }
}
