//! Code for the vectors of the processor it runs on.

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use pulp::Simd;
use pulp::{Arch, WithSimd};

/// `work` with the widest vectors; `None` on processors that have none wider than two numbers. There
/// the transforms of rustfft are as good, and each kernel is compiled once less.
#[inline(always)]
pub(crate) fn dispatch<W: WithSimd>(work: W) -> Option<W::Output> {
    match Arch::new() {
        #[cfg(target_arch = "x86_64")]
        Arch::V4(s) => Some(Simd::vectorize(s, work)),
        #[cfg(target_arch = "x86_64")]
        Arch::V3(s) => Some(Simd::vectorize(s, work)),
        #[cfg(target_arch = "aarch64")]
        Arch::Neon(s) => Some(Simd::vectorize(s, work)),
        _ => None,
    }
}

/// Whether [`dispatch`] does anything.
pub(crate) fn has_vectors() -> bool {
    !matches!(Arch::new(), Arch::Scalar)
}
