//! [`dispatch`]: run-time selection of the widest vector instructions of the processor.

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use pulp::Simd;
use pulp::{Arch, WithSimd};

/// Runs `work` with the widest vector instructions of the processor. Returns `None` on processors
/// without vectors wider than two numbers. rustfft is as fast there, and each kernel is compiled
/// once less.
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

/// Returns `true` if [`dispatch`] finds vector instructions.
pub(crate) fn has_vectors() -> bool {
    !matches!(Arch::new(), Arch::Scalar)
}
