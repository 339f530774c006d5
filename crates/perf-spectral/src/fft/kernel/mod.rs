//! Kernels for transforms along one axis: short lengths, prime factors, and the real axis in both
//! directions; rustfft for all other lengths.

pub(crate) mod butterfly;
pub(crate) mod dispatch;
pub(crate) mod points;
pub(crate) mod prefetch;
pub(crate) mod prime;
pub(crate) mod real_forward;
#[expect(
    clippy::needless_range_loop,
    reason = "indices of small arrays are the subscripts of the formulas"
)]
pub(crate) mod real_inverse;
pub(crate) mod rustfft_plan;
