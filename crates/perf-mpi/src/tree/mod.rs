//! Merging of the parts of all ranks along a binomial tree of messages; here only [`Family`], the
//! neighbours of a rank, and [`Patience`], the pauses between polls.
//!
//! Ranks form a binomial tree. If `2^k` is the lowest set bit of `r`, rank `r` sends to rank
//! `r - 2^k` and receives from the ranks `r + 1`, `r + 2`, `r + 4`, ... below `r + 2^k`. Rank 0 only
//! receives. Parts are sent up the tree, and the merged result is sent down. Each rank sends and
//! receives one message for each neighbour in the tree, of which there are at most as many as the
//! number of ranks has bits.
//!
//! The order of merging does not depend on the ranks that hold the parts. Parts have *places*, and
//! are merged as the leaves of a binary tree over places ([`Plan`]). The result is therefore
//! identical for any distribution of places over ranks, even if merging has rounding errors. Ranks
//! should have consecutive places, because they then send few parts.

mod nonblocking;
mod plan;
mod round;

pub(crate) use nonblocking::Way;
pub(crate) use plan::{Part, Plan};
pub(crate) use round::{Outcome, Round, Status};

use std::ops::Range;
use std::time::Duration;

/// Waiting strategy of a thread that has nothing else to do. It first polls continuously, and then
/// at intervals, because the awaited rank may need the core.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Patience(u32);

impl Patience {
    /// Number of polls without a pause.
    const LOOKS: u32 = 500;

    pub(crate) fn wait(&mut self) {
        self.0 = self.0.saturating_add(1);
        if self.0 < Self::LOOKS {
            std::thread::yield_now()
        } else {
            std::thread::sleep(Duration::from_micros(50))
        }
    }
}

/// Neighbours of a rank in the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Family {
    /// Rank to which parts are sent; `None` for rank 0.
    pub(crate) parent: Option<usize>,
    /// Ranks from which parts are received.
    pub(crate) children: Vec<usize>,
    /// Ranks whose parts arrive at this rank, including itself.
    pub(crate) all: Range<usize>,
}

impl Family {
    pub(crate) fn new(rank: usize, size: usize) -> Self {
        let span = match rank {
            0 => size.checked_next_power_of_two().unwrap_or(size),
            rank => 1 << rank.trailing_zeros(),
        };
        let steps = (0..usize::BITS).map(|bit| 1_usize << bit);
        let steps = steps.take_while(|step| *step < span && rank + step < size);
        Family {
            parent: (rank > 0).then(|| rank - span),
            children: steps.map(|step| rank + step).collect(),
            all: rank..rank.saturating_add(span).min(size),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rank_has_one_parent_that_hears_of_it() {
        for size in 1..70 {
            let families: Vec<Family> = (0..size).map(|rank| Family::new(rank, size)).collect();
            assert_eq!(families[0].all, 0..size);
            let mut children = vec![0; size];
            for (rank, family) in families.iter().enumerate() {
                assert!(family.children.len() <= size.ilog2() as usize + 1);
                let mut heard = 1;
                for child in &family.children {
                    assert_eq!(families[*child].parent, Some(rank));
                    children[*child] += 1;
                    heard += families[*child].all.len();
                }
                assert_eq!(heard, family.all.len(), "{rank} of {size}");
            }
            assert_eq!(children.iter().sum::<usize>(), size - 1);
            assert!(children.iter().skip(1).all(|times| *times == 1));
        }
    }
}
