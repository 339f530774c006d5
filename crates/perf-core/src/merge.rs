//! [`Merge`]: trait of results that can be computed in parts and merged.

/// Result that can be computed in parts and merged in any grouping.
///
/// `Default` is the identity, and `merge` is associative and commutative, up to the rounding of
/// floating-point sums. Threads, MPI ranks and the parameter server rely on these laws, which each
/// implementation tests.
///
/// ```
/// use perf_core::{Merge, ReplayCounts};
/// let mut left = ReplayCounts { top: 3, ..Default::default() };
/// left.merge(&ReplayCounts { top: 4, orphan: 1, ..Default::default() });
/// assert_eq!((left.top, left.orphan), (7, 1));
/// ```
pub trait Merge: Default {
    /// Adds the content of `other` to `self`.
    fn merge(&mut self, other: &Self);
}
