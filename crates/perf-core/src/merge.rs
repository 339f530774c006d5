//! [`Merge`]: results that can be computed in parts.

/// A result that can be computed in parts and put together in any grouping.
///
/// Threads, MPI ranks and a parameter server all rely on these laws, which each implementation
/// tests: `Default` is the identity, and `merge` is associative and commutative (up to rounding
/// where floating point is summed).
///
/// ```
/// use perf_core::{Merge, ReplayCounts};
/// let mut left = ReplayCounts { top: 3, ..Default::default() };
/// left.merge(&ReplayCounts { top: 4, orphan: 1, ..Default::default() });
/// assert_eq!((left.top, left.orphan), (7, 1));
/// ```
pub trait Merge: Default {
    /// Adds what `other` holds to `self`.
    fn merge(&mut self, other: &Self);
}
