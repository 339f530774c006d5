//! [`CancellationChecks`]: makes a cancellation check after a fixed amount of work.

use crate::{Cancelled, Job};
use std::ops::Range;

/// Makes a cancellation check of a [`Job`] before the first small unit of work and then after every
/// [`EACH`](Self::EACH) units. A unit is, for example, an event, a number or a distance.
///
/// [`Job::checks`] creates this type.
///
/// ```
/// use perf_core::{Cancelled, Job};
/// let job = Job::default();
/// let sum = |values: &[f64]| {
///     let (mut sum, mut checks) = (0.0, job.checks());
///     for piece in checks.pieces(0..values.len()) {
///         sum += values[piece?].iter().sum::<f64>();
///     }
///     Ok(sum)
/// };
/// assert_eq!(sum(&[1.0; 200_000]), Ok(200_000.0));
/// job.cancel();
/// assert_eq!(sum(&[1.0]), Err(Cancelled));
/// ```
#[derive(Debug)]
pub struct CancellationChecks<'a> {
    /// Job that is checked.
    job: &'a Job,
    /// Units of work until the next check.
    left: usize,
}

impl<'a> CancellationChecks<'a> {
    /// Number of small units of work between two checks. This work takes one or two milliseconds.
    pub const EACH: usize = 1 << 16;

    pub(super) fn new(job: &'a Job) -> Self {
        CancellationChecks { job, left: 0 }
    }

    /// Announces the next `work` small units of work, and makes a cancellation check if one is due.
    ///
    /// # Errors
    ///
    /// Returns [`Cancelled`] if a check was made and the job is cancelled.
    #[inline(always)]
    pub fn next(&mut self, work: usize) -> Result<(), Cancelled> {
        match self.left.checked_sub(work) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => self.check(work),
        }
    }

    #[cold]
    fn check(&mut self, work: usize) -> Result<(), Cancelled> {
        self.left = Self::EACH.saturating_sub(work);
        self.job.check()
    }

    /// Splits a range into pieces of up to [`EACH`](Self::EACH) elements, with a check before each
    /// piece if one is due.
    ///
    /// Returns [`Cancelled`] in place of a piece if the job is cancelled.
    pub fn pieces(
        &mut self,
        range: Range<usize>,
    ) -> impl Iterator<Item = Result<Range<usize>, Cancelled>> + use<'_, 'a> {
        let end = range.end;
        range.step_by(Self::EACH).map(move |from| {
            let piece = from..end.min(from.saturating_add(Self::EACH));
            self.next(piece.len())?;
            Ok(piece)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_come_first_and_by_the_work_done() {
        const EACH: usize = CancellationChecks::EACH;
        for (work, times, expected) in [
            (1, 1, 1),
            (1, EACH, 1),
            (1, EACH + 1, 2),
            (EACH / 2, 4, 2),
            (EACH + 1, 5, 5),
            (usize::MAX, 3, 3),
            (0, 9, 0),
        ] {
            let job = Job::stopping_after(u64::MAX);
            let mut checks = job.checks();
            for _ in 0..times {
                checks.next(work).expect("not cancelled");
            }
            assert_eq!(job.checks_made(), Some(expected), "{times} times {work}");
        }
    }

    #[test]
    fn pieces_are_the_range() {
        const EACH: usize = CancellationChecks::EACH;
        for range in [0..0, 5..5, 7..8, 3..EACH + 3, 3..EACH + 4, 0..4 * EACH - 1] {
            let job = Job::stopping_after(u64::MAX);
            let mut checks = job.checks();
            let pieces: Result<Vec<_>, _> = checks.pieces(range.clone()).collect();
            let pieces = pieces.expect("not cancelled");
            assert!(pieces.iter().all(|piece| piece.len() <= EACH));
            assert!(pieces.iter().cloned().flatten().eq(range));
            assert_eq!(job.checks_made(), Some(pieces.len() as u64));
        }
        let job = Job::stopping_after(2);
        let mut checks = job.checks();
        let mut pieces = checks.pieces(0..9 * EACH);
        assert!(pieces.next().is_some_and(|one| one.is_ok()));
        assert!(pieces.next().is_some_and(|one| one.is_ok()));
        assert_eq!(pieces.next(), Some(Err(Cancelled)));
    }
}
