//! [`Lanes`]: assigns overlapping activities to lanes in which they do not overlap, each to the
//! lowest free lane.

use perf_core::Ticks;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// Free lanes, and the end times of the occupied ones. Each step takes time logarithmic in the
/// number of lanes.
#[derive(Debug, Default)]
pub(crate) struct Lanes {
    /// End time and number of each occupied lane.
    open: BinaryHeap<Reverse<(Ticks, usize)>>,
    /// Free lanes.
    free: BTreeSet<usize>,
    /// Number of lanes so far.
    count: usize,
}

impl Lanes {
    /// Occupies the lowest free lane from `start` to `end` and returns it. Successive values of
    /// `start` must not decrease.
    pub(crate) fn take(&mut self, start: Ticks, end: Ticks) -> usize {
        while let Some(Reverse((until, lane))) = self.open.peek().copied() {
            if until > start {
                break;
            }
            self.open.pop();
            self.free.insert(lane);
        }
        let lane = self.free.pop_first().unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        });
        self.open.push(Reverse((end, lane)));
        lane
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_free_lane_is_taken() {
        let mut lanes = Lanes::default();
        let mut take = |start, end| lanes.take(Ticks(start), Ticks(end));
        let spans = [(0, 10), (2, 4), (3, 3), (3, 5), (4, 9), (10, 10), (10, 12)];
        let taken = spans.map(|(start, end)| take(start, end));
        assert_eq!(taken, [0, 1, 2, 2, 1, 0, 0]);
    }
}
