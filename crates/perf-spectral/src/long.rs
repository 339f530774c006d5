//! Plans of rustfft for the lengths that have no vectors of their own.

use crate::real::Real;
use rustfft::algorithm::{BluesteinsAlgorithm, Dft, MixedRadix, Radix4};
use rustfft::{Fft, FftDirection};
use std::sync::Arc;

/// Up to this length the sum that defines it is as good.
const SHORT: usize = 16;

/// A forward transform of any length, from a few algorithms: the planner of rustfft chooses among all it
/// has, which take over a minute to compile.
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
        // A prime: as a convolution of a length that is a power of two.
        None => {
            let inner = Radix4::new((2 * len - 1).next_power_of_two(), forward);
            Arc::new(BluesteinsAlgorithm::new(len, Arc::new(inner)))
        }
    }
}

/// Two factors: the power of two and the rest, or the smallest prime and the rest.
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
