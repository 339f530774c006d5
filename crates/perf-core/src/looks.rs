//! [`Looks`]: when to look at a [`CancelToken`].

use crate::{CancelToken, Cancelled};
use std::ops::Range;

/// Looks at a [`CancelToken`], if there is one, before the first and then before each [`EACH`](Self::EACH)th
/// small piece of work, such as an event, a number or a distance.
///
/// ```
/// use perf_core::{CancelToken, Cancelled, Looks};
/// let token = CancelToken::new();
/// let sum = |values: &[f64]| {
///     let (mut sum, mut looks) = (0.0, Looks::new(&token));
///     for piece in looks.pieces(0..values.len()) {
///         sum += values[piece?].iter().sum::<f64>();
///     }
///     Ok(sum)
/// };
/// assert_eq!(sum(&[1.0; 200_000]), Ok(200_000.0));
/// token.cancel();
/// assert_eq!(sum(&[1.0]), Err(Cancelled));
/// ```
#[derive(Debug)]
pub struct Looks<'a> {
    cancel: Option<&'a CancelToken>,
    left: usize,
}

impl<'a> Looks<'a> {
    /// Small pieces of work between two looks: they take a millisecond or two.
    pub const EACH: usize = 1 << 16;

    /// At a token, or at none.
    pub fn new(cancel: impl Into<Option<&'a CancelToken>>) -> Self {
        Looks {
            cancel: cancel.into(),
            left: 0,
        }
    }

    /// So many more small pieces come.
    ///
    /// # Errors
    /// [`Cancelled`] if it was time to look, and somebody cancelled.
    #[inline(always)]
    pub fn next(&mut self, work: usize) -> Result<(), Cancelled> {
        match self.left.checked_sub(work) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => self.look(work),
        }
    }

    #[cold]
    fn look(&mut self, work: usize) -> Result<(), Cancelled> {
        self.left = Self::EACH.saturating_sub(work);
        self.cancel.map_or(Ok(()), CancelToken::check)
    }

    /// A range in pieces of up to [`EACH`](Self::EACH), with looks between them: [`Cancelled`] in the place of one if
    /// somebody did.
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
    fn it_is_looked_at_first_and_by_the_work_done() {
        const EACH: usize = Looks::EACH;
        for (work, times, expected) in [
            (1, 1, 1),
            (1, EACH, 1),
            (1, EACH + 1, 2),
            (EACH / 2, 4, 2),
            (EACH + 1, 5, 5),
            (usize::MAX, 3, 3),
            (0, 9, 0),
        ] {
            let token = CancelToken::after(u64::MAX);
            let mut looks = Looks::new(&token);
            for _ in 0..times {
                looks.next(work).expect("nobody cancels");
            }
            assert_eq!(token.looks(), Some(expected), "{times} times {work}");
        }
        assert_eq!(Looks::new(None).next(usize::MAX), Ok(()));
    }

    #[test]
    fn pieces_are_the_range() {
        const EACH: usize = Looks::EACH;
        for range in [0..0, 5..5, 7..8, 3..EACH + 3, 3..EACH + 4, 0..4 * EACH - 1] {
            let token = CancelToken::after(u64::MAX);
            let mut looks = Looks::new(&token);
            let pieces: Result<Vec<_>, _> = looks.pieces(range.clone()).collect();
            let pieces = pieces.expect("nobody cancels");
            assert!(pieces.iter().all(|piece| piece.len() <= EACH));
            assert!(pieces.iter().cloned().flatten().eq(range));
            assert_eq!(token.looks(), Some(pieces.len() as u64));
        }
        let token = CancelToken::after(2);
        let mut looks = Looks::new(&token);
        let mut pieces = looks.pieces(0..9 * EACH);
        assert!(pieces.next().is_some_and(|one| one.is_ok()));
        assert!(pieces.next().is_some_and(|one| one.is_ok()));
        assert_eq!(pieces.next(), Some(Err(Cancelled)));
    }
}
