//! Sorting that can be stopped.

use crate::{CancelToken, Cancelled, Looks};
use std::cmp::Ordering;

impl CancelToken {
    /// Sorts as [`slice::sort_unstable_by`] does, and stops soon after somebody cancelled.
    ///
    /// Up to 2^16 items are sorted in place; more in pieces of that many, which are then merged: as much memory
    /// again for that time. What is equal may change places, in the same way each time.
    ///
    /// ```
    /// use perf_core::CancelToken;
    /// let mut times: Vec<u64> = (0..200_000).map(|at| at * 7919 % 200_003).collect();
    /// CancelToken::new().sort_by(&mut times, Ord::cmp)?;
    /// assert!(times.is_sorted());
    /// # Ok::<(), perf_core::Cancelled>(())
    /// ```
    ///
    /// # Errors
    /// [`Cancelled`]; the items are then all there, in some order.
    pub fn sort_by<T: Copy>(
        &self,
        items: &mut Vec<T>,
        mut compare: impl FnMut(&T, &T) -> Ordering,
    ) -> Result<(), Cancelled> {
        for run in items.chunks_mut(Looks::EACH) {
            self.check()?;
            run.sort_unstable_by(&mut compare);
        }
        let mut width = Looks::EACH;
        let mut merged = Vec::new();
        while width < items.len() {
            merged.clear();
            merged.reserve_exact(items.len());
            for pair in items.chunks(width.saturating_mul(2)) {
                let (left, right) = pair.split_at(width.min(pair.len()));
                self.merge(left, right, &mut merged, &mut compare)?;
            }
            std::mem::swap(items, &mut merged);
            width = width.saturating_mul(2);
        }
        Ok(())
    }

    /// Adds two sorted lists to `into`, equal ones of the left first.
    fn merge<T: Copy>(
        &self,
        mut left: &[T],
        mut right: &[T],
        into: &mut Vec<T>,
        compare: &mut impl FnMut(&T, &T) -> Ordering,
    ) -> Result<(), Cancelled> {
        if let (Some(last), Some(first)) = (left.last(), right.first())
            && compare(last, first).is_gt()
        {
            let mut done = 0_usize;
            while let (Some((a, rest_a)), Some((b, rest_b))) =
                (left.split_first(), right.split_first())
            {
                if done.is_multiple_of(Looks::EACH) {
                    self.check()?;
                }
                done += 1;
                if compare(a, b).is_le() {
                    into.push(*a);
                    left = rest_a;
                } else {
                    into.push(*b);
                    right = rest_b;
                }
            }
        }
        for piece in left.chunks(Looks::EACH).chain(right.chunks(Looks::EACH)) {
            self.check()?;
            into.extend_from_slice(piece);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers in no order, many of them several times.
    fn numbers(count: u32) -> Vec<(u32, u32)> {
        let number = |at: u32| at.wrapping_mul(2_654_435_761) >> 12;
        (0..count).map(|at| (number(at), at)).collect()
    }

    #[test]
    fn sorts_like_the_standard_library() {
        let run = Looks::EACH as u32;
        for count in [0, 1, 1000, run - 1, run, run + 1, 3 * run, 5 * run + 17] {
            let (mut own, mut theirs) = (numbers(count), numbers(count));
            CancelToken::new().sort_by(&mut own, Ord::cmp).unwrap();
            theirs.sort_unstable();
            assert_eq!(own, theirs, "{count}");
            // Sorted ones stay, and those that are the wrong way round turn.
            CancelToken::new().sort_by(&mut own, Ord::cmp).unwrap();
            assert_eq!(own, theirs, "{count}, sorted");
            own.reverse();
            CancelToken::new().sort_by(&mut own, Ord::cmp).unwrap();
            assert_eq!(own, theirs, "{count}, reversed");
        }
    }

    #[test]
    fn stops_at_every_look_and_loses_nothing() {
        let all = numbers(3 * Looks::EACH as u32);
        let token = CancelToken::after(u64::MAX);
        token.sort_by(&mut all.clone(), Ord::cmp).unwrap();
        let looks = token.looks().unwrap();
        assert!(looks >= 9, "{looks}");
        for most in 0..looks {
            let mut some = all.clone();
            let token = CancelToken::after(most);
            assert_eq!(token.sort_by(&mut some, Ord::cmp), Err(Cancelled));
            some.sort_unstable();
            let mut whole = all.clone();
            whole.sort_unstable();
            assert_eq!(some, whole, "{most}");
        }
    }
}
