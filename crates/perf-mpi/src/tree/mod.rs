//! Parts of all ranks as one, along a tree of messages.
//!
//! Ranks form a binomial tree: rank `r` hears of those up to `r + 2^k`, where `2^k` is the lowest bit of `r`, and
//! tells rank `r - 2^k`. What goes up are parts, what comes down is the whole: each rank sends and receives as
//! many messages as it has neighbours in the tree, the number of bits of the number of ranks at most.
//!
//! Which parts are merged with which does not follow from who has them: parts have *places*, and are merged as
//! the leaves of a binary tree over places ([`Plan`]). Where merging rounds, the whole is then the same to the
//! bit however places are spread over ranks; where a rank has neighbouring places, as it should, it sends one part.

mod mail;
mod plan;
mod round;

pub(crate) use mail::Way;
pub(crate) use plan::{Part, Plan};
pub(crate) use round::{Heard, Round, Told};

use std::ops::Range;
use std::time::Duration;

/// How a thread waits that has nothing else to do: it looks again at once for a while, and then now and then, since
/// the rank that it waits for may want its core.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Patience(u32);

impl Patience {
    /// Looks at once.
    const LOOKS: u32 = 500;

    pub(crate) fn wait(&mut self) {
        self.0 = self.0.saturating_add(1);
        match self.0 < Self::LOOKS {
            true => std::thread::yield_now(),
            false => std::thread::sleep(Duration::from_micros(50)),
        }
    }
}

/// The neighbours of a rank in the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Family {
    pub(crate) parent: Option<usize>,
    pub(crate) children: Vec<usize>,
    /// The ranks of which it hears, itself among them.
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
