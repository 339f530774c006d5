//! Choice of a rustfft algorithm for lengths without vector kernels, without rustfft's planner.

use crate::real::Real;
use rustfft::algorithm::{BluesteinsAlgorithm, Dft, MixedRadix, Radix4};
use rustfft::{Fft, FftDirection};
use std::sync::Arc;

/// Largest length that is computed by direct summation, which is as fast as other algorithms there.
const SHORT: usize = 16;

/// Returns a forward transform of any length. The planner of rustfft is not used, because it
/// instantiates all algorithms of rustfft, which takes over a minute to compile.
pub(crate) fn plan<T: Real>(len: usize) -> Arc<dyn Fft<T>> {
    let forward = FftDirection::Forward;
    if len.is_power_of_two() {
        return Arc::new(Radix4::new(len, forward));
    }
    if len <= SHORT {
        return Arc::new(Dft::new(len, forward));
    }
    match split(len) {
        Some([one, two]) => Arc::new(MixedRadix::new(plan(one), plan(two))),
        // A prime is computed as a convolution whose length is a power of two.
        None => {
            let inner = Radix4::new((2 * len - 1).next_power_of_two(), forward);
            Arc::new(BluesteinsAlgorithm::new(len, Arc::new(inner)))
        }
    }
}

/// Splits a length into two factors: the power of two and the rest, or the smallest odd prime and
/// the rest. Returns `None` for an odd prime.
fn split(len: usize) -> Option<[usize; 2]> {
    let twos = 1 << len.trailing_zeros();
    if twos > 1 {
        return Some([twos, len / twos]);
    }
    let prime = (3..)
        .step_by(2)
        .take_while(|at| at * at <= len)
        .find(|at| len.is_multiple_of(*at))?;
    Some([prime, len / prime])
}
