//! Work that overlaps, on lanes in which it does not.

use perf_core::Ticks;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// Which lanes are free, and when others will be. Each step takes the logarithm of their number.
#[derive(Debug, Default)]
pub(crate) struct Lanes {
    open: BinaryHeap<Reverse<(Ticks, usize)>>,
    free: BTreeSet<usize>,
    count: usize,
}

impl Lanes {
    /// The lowest lane on which nothing is open at `start`, for something until `end`. Begins must
    /// not descend.
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
