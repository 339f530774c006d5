//! [`Job::sort_by`]: sorting that can be cancelled.

use crate::{CancellationChecks, Cancelled, Job};
use std::cmp::Ordering;

impl Job {
    /// Sorts like [`slice::sort_unstable_by`], with cancellation checks.
    ///
    /// Up to 2^16 items are sorted in place. Longer lists are sorted in pieces of that size and
    /// merged, which doubles the memory. Equal items may be reordered, in a reproducible way.
    ///
    /// ```
    /// use perf_core::Job;
    /// let mut times: Vec<u64> = (0..200_000).map(|at| at * 7919 % 200_003).collect();
    /// Job::default().sort_by(&mut times, Ord::cmp)?;
    /// assert!(times.is_sorted());
    /// # Ok::<(), perf_core::Cancelled>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Cancelled`] if the job is cancelled. All items are then present, in an unspecified order.
    pub fn sort_by<T: Copy>(
        &self,
        items: &mut Vec<T>,
        mut compare: impl FnMut(&T, &T) -> Ordering,
    ) -> Result<(), Cancelled> {
        for run in items.chunks_mut(CancellationChecks::EACH) {
            self.check()?;
            run.sort_unstable_by(&mut compare);
        }
        let mut width = CancellationChecks::EACH;
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

    /// Merges two sorted lists into `into`; equal items of the left list come first.
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
                if done.is_multiple_of(CancellationChecks::EACH) {
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
        for piece in left
            .chunks(CancellationChecks::EACH)
            .chain(right.chunks(CancellationChecks::EACH))
        {
            self.check()?;
            into.extend_from_slice(piece);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns unsorted numbers, many of them repeated.
    fn numbers(count: u32) -> Vec<(u32, u32)> {
        let number = |at: u32| at.wrapping_mul(2_654_435_761) >> 12;
        (0..count).map(|at| (number(at), at)).collect()
    }

    #[test]
    fn sorts_like_the_standard_library() {
        let run = CancellationChecks::EACH as u32;
        for count in [0, 1, 1000, run - 1, run, run + 1, 3 * run, 5 * run + 17] {
            let (mut own, mut theirs) = (numbers(count), numbers(count));
            Job::default().sort_by(&mut own, Ord::cmp).unwrap();
            theirs.sort_unstable();
            assert_eq!(own, theirs, "{count}");
            // Sorted lists are unchanged, and reversed ones are reversed.
            Job::default().sort_by(&mut own, Ord::cmp).unwrap();
            assert_eq!(own, theirs, "{count}, sorted");
            own.reverse();
            Job::default().sort_by(&mut own, Ord::cmp).unwrap();
            assert_eq!(own, theirs, "{count}, reversed");
        }
    }

    #[test]
    fn stops_at_every_check_and_loses_nothing() {
        let all = numbers(3 * CancellationChecks::EACH as u32);
        let job = Job::stopping_after(u64::MAX);
        job.sort_by(&mut all.clone(), Ord::cmp).unwrap();
        let checks = job.checks_made().unwrap();
        assert!(checks >= 9, "{checks}");
        for most in 0..checks {
            let mut some = all.clone();
            let job = Job::stopping_after(most);
            assert_eq!(job.sort_by(&mut some, Ord::cmp), Err(Cancelled));
            some.sort_unstable();
            let mut whole = all.clone();
            whole.sort_unstable();
            assert_eq!(some, whole, "{most}");
        }
    }
}
