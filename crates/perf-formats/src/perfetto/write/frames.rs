//! [`Frames`]: visitor that writes the calls of a location without overlaps as slices, and its
//! other events; [`Counter`]: visitor that counts such calls.

use super::{SLICE_END, Writer};
use crate::Error;
use perf_core::{Close, Event, LocationView, RegionId, Ticks, Visitor};

/// Counts the stack frames that a replay opens.
#[derive(Default)]
pub(super) struct Counter(pub(super) usize);

impl Visitor for Counter {
    fn enter(&mut self, _at: Ticks, _region: RegionId, _depth: usize) {
        self.0 += 1;
    }

    fn leave(&mut self, _at: Ticks, _region: RegionId, _depth: usize, _why: Close) {}
}

/// Writes stack frames as slices when they open and close.
pub(super) struct Frames<'f, 'l, 'a, 'w> {
    /// Writer of the packets.
    pub(super) writer: &'f mut Writer<'a, 'w>,
    /// View of the location.
    pub(super) location: LocationView<'l>,
    /// Track of the location.
    pub(super) track: u64,
    /// Number of stack frames that are open before the window.
    pub(super) before: usize,
    /// Indices of the enters in the window.
    pub(super) enters: std::vec::IntoIter<usize>,
    /// First error, if any.
    pub(super) failed: Option<Error>,
}

impl Frames<'_, '_, '_, '_> {
    fn spill(&mut self) {
        if let Err(error) = self.writer.spill() {
            self.failed.get_or_insert(error);
        }
    }
}

impl Visitor for Frames<'_, '_, '_, '_> {
    fn enter(&mut self, at: Ticks, region: RegionId, _depth: usize) {
        let enter = match self.before {
            0 => self.enters.next(),
            _ => {
                self.before -= 1;
                None
            }
        };
        self.writer
            .begin(self.location, self.track, at, region, enter);
        self.spill();
    }

    fn leave(&mut self, at: Ticks, _region: RegionId, _depth: usize, _why: Close) {
        self.writer.event(self.track, at, SLICE_END, None, |_| {});
        self.spill();
    }

    fn event(&mut self, _at: Ticks, event: Event<'_>, index: usize) {
        self.writer.note(self.location, self.track, event, index);
        self.spill();
    }
}
