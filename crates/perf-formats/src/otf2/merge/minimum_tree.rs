//! [`MinTree`]: tree of minimums, which finds the streams with an event before a given time.

use std::ops::Range;

/// A time for each of many streams, and the minimum of any range of them.
///
/// A stream without a time has [`NEVER`](Self::NEVER). The cost of finding the streams before a
/// time is proportional to their number; they are returned in ascending order. Updating a stream
/// stops where the minimum stays the same.
#[derive(Clone, Debug)]
pub(crate) struct MinTree {
    /// Node `i` has the children `2i` and `2i + 1`. The leaf of stream `s` is node `nodes.len() / 2
    /// + s`.
    nodes: Vec<u64>,
}

impl MinTree {
    pub(crate) const NEVER: u64 = u64::MAX;

    /// Creates a tree of `streams` streams without a time.
    pub(crate) fn new(streams: usize) -> Self {
        MinTree {
            nodes: vec![Self::NEVER; 2 * streams.next_power_of_two()],
        }
    }

    fn node(&self, node: usize) -> u64 {
        self.nodes[node]
    }

    /// Returns the minimum time of all streams.
    pub(crate) fn least(&self) -> u64 {
        self.node(1)
    }

    /// Sets the time of a stream.
    pub(crate) fn set(&mut self, stream: usize, time: u64) {
        let mut node = self.nodes.len() / 2 + stream;
        let mut least = time;
        while let Some(slot) = self.nodes.get_mut(node) {
            if node == 0 || *slot == least {
                break;
            }
            *slot = least;
            least = least.min(self.node(node ^ 1));
            node /= 2;
        }
    }

    /// Returns the lowest stream with the minimum time.
    pub(crate) fn first(&self) -> usize {
        let (leaves, least) = (self.nodes.len() / 2, self.least());
        let mut node = 1;
        while node < leaves {
            node *= 2;
            node += usize::from(self.node(node) != least);
        }
        node - leaves
    }

    /// Adds the streams of a range whose times are at most `last` to `found`.
    pub(crate) fn until(&self, last: u64, streams: Range<usize>, found: &mut Vec<u32>) {
        self.visit(1, 0..self.nodes.len() / 2, last, &streams, found);
    }

    fn visit(
        &self,
        node: usize,
        under: Range<usize>,
        last: u64,
        streams: &Range<usize>,
        found: &mut Vec<u32>,
    ) {
        let apart = under.end <= streams.start || streams.end <= under.start;
        if apart || self.node(node) > last {
            return;
        }
        if under.len() <= 1 {
            found.push(under.start as u32);
            return;
        }
        let middle = under.start + under.len() / 2;
        self.visit(2 * node, under.start..middle, last, streams, found);
        self.visit(2 * node + 1, middle..under.end, last, streams, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_finds_what_a_search_finds(
            sets in prop::collection::vec((0usize..9, prop::option::of(0u64..9)), 0..40),
            last in 0u64..9, from in 0usize..10, len in 0usize..10,
        ) {
            let mut times = [MinTree::NEVER; 9];
            let mut tree = MinTree::new(times.len());
            for (stream, time) in sets {
                let time = time.unwrap_or(MinTree::NEVER);
                times[stream] = time;
                tree.set(stream, time);
                let least = times.iter().min().copied().unwrap();
                prop_assert_eq!(tree.least(), least);
                prop_assert_eq!(times.iter().position(|time| *time == least), Some(tree.first()));
            }
            let mut found = Vec::new();
            tree.until(last, from..from + len, &mut found);
            let inside = (0..9).filter(|at| (from..from + len).contains(at) && times[*at] <= last);
            prop_assert_eq!(found, inside.map(|at| at as u32).collect::<Vec<_>>());
        }
    }
}
