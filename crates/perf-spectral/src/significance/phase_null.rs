//! [`PhaseNull`]: bound of the probability that two spectra correlate by chance, in closed form:
//! the limit of infinitely many surrogates.
//!
//! A surrogate has the magnitudes of a spectrum and random phases. Its correlation without shift
//! with another view is a sum of independent terms, `c cos(phase)` for each pair of opposite
//! frequencies and `+-c` for each frequency that is its own opposite, with `c` the product of both
//! normalised magnitudes. The Chernoff bound of this sum, `P(sum >= r) <= exp(K(t) - r t)` with
//! `K(t) = sum log I0(c t) + sum log cosh(c t)`, holds for every t and is evaluated at its minimum.
//!
//! N surrogates cannot show a p-value below 1 / (N + 1). Control of the false discovery rate over a
//! million pairs needs p-values of 1e-8 and less, which no feasible number of surrogates shows.

/// Number of terms that are evaluated one by one. The others are replaced by equal ones.
const TERMS: usize = 32;

/// Largest t of the bound.
const MAX_T: f64 = 1e12;

/// Terms of a sum with random phases.
#[derive(Clone, Debug, Default)]
pub(crate) struct PhaseNull {
    /// Squares of the amplitudes of terms `c cos(phase)`; scratch.
    squares: Vec<f64>,
    /// Amplitudes of terms `c cos(phase)`.
    waves: Vec<f64>,
    /// Number and amplitude of the equal terms that replace the smaller ones.
    ///
    /// `log I0(sqrt(u))` is concave in u, so equal terms of the same sum of squares have at least
    /// the sum of the logarithms: the bound stays a bound.
    rest: (f64, f64),
    /// Amplitudes of terms `+-c`.
    signs: Vec<f64>,
    /// Sum of the amplitudes of terms without evidence, which are at their maximum.
    spare: f64,
}

impl PhaseNull {
    /// Sets the terms: squared amplitudes of pairs of opposite frequencies, and amplitudes of
    /// frequencies that are their own opposites. Terms below the share `least` of the largest may depend
    /// on the others in any way.
    pub(crate) fn set(
        &mut self,
        squares: impl Iterator<Item = f64>,
        signs: impl Iterator<Item = f64>,
        least: f64,
    ) {
        self.squares.clear();
        self.squares.extend(squares.filter(|square| *square > 0.0));
        self.signs.clear();
        self.signs.extend(signs.filter(|sign| *sign > 0.0));
        self.spare = 0.0;
        if least > 0.0 {
            let waves = self.squares.iter().map(|square| square.sqrt());
            let least = least * waves.chain(self.signs.iter().copied()).fold(0.0, f64::max);
            let mut spare = 0.0;
            let mut is_evidence = |amplitude: f64| {
                let is = amplitude >= least;
                spare += if is { 0.0 } else { amplitude };
                is
            };
            self.squares.retain(|square| is_evidence(square.sqrt()));
            self.signs.retain(|sign| is_evidence(*sign));
            self.spare = spare;
        }
        let count = TERMS.min(self.squares.len());
        if count < self.squares.len() {
            let order = |a: &f64, b: &f64| b.total_cmp(a);
            self.squares.select_nth_unstable_by(count, order);
        }
        self.waves.clear();
        let (large, small) = self.squares.split_at(count);
        self.waves.extend(large.iter().map(|square| square.sqrt()));
        let mean = small.iter().sum::<f64>() / small.len().max(1) as f64;
        self.rest = (small.len() as f64, mean.sqrt());
    }

    /// Returns an upper bound of the probability that the magnitude of the sum reaches `r`.
    pub(crate) fn probability(&self, r: f64) -> f64 {
        let r = (r.abs() - self.spare).max(0.0);
        let (mut low, mut high) = (0.0, 1.0);
        while self.slope(high) < r && high < MAX_T {
            (low, high) = (high, high * 4.0);
        }
        // Any t gives a bound, so a coarse minimum suffices.
        for _ in 0..24 {
            let middle = 0.5 * (low + high);
            if self.slope(middle) < r {
                low = middle;
            } else {
                high = middle;
            }
        }
        let t = 0.5 * (low + high);
        (2.0 * (self.logarithm(t) - r * t).exp()).min(1.0)
    }

    /// Returns `K(t)`.
    fn logarithm(&self, t: f64) -> f64 {
        let waves: f64 = self.waves.iter().map(|c| log_i0(c * t)).sum();
        let rest = self.rest.0 * log_i0(self.rest.1 * t);
        let log_cosh = |x: f64| x + (-2.0 * x).exp().ln_1p() - std::f64::consts::LN_2;
        waves + rest + self.signs.iter().map(|c| log_cosh(c * t)).sum::<f64>()
    }

    /// Returns the derivative of `K(t)`.
    fn slope(&self, t: f64) -> f64 {
        let waves: f64 = self.waves.iter().map(|c| c * ratio(c * t)).sum();
        let rest = self.rest.0 * self.rest.1 * ratio(self.rest.1 * t);
        waves + rest + self.signs.iter().map(|c| c * (c * t).tanh()).sum::<f64>()
    }
}

/// Evaluates a polynomial whose coefficients begin with the constant.
fn polynomial(x: f64, coefficients: &[f64]) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c)
}

/// Returns `log I0(x)` of the modified Bessel function for `x >= 0`, to 2e-7 (Abramowitz and
/// Stegun, 9.8.1 and 9.8.2).
fn log_i0(x: f64) -> f64 {
    if x < 3.75 {
        let y = (x / 3.75).powi(2);
        return polynomial(
            y,
            &[
                1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.0360768, 0.0045813,
            ],
        )
        .ln();
    }
    let scaled = polynomial(
        3.75 / x,
        &[
            0.39894228,
            0.01328592,
            0.00225319,
            -0.00157565,
            0.00916281,
            -0.02057706,
            0.02635537,
            -0.01647633,
            0.00392377,
        ],
    );
    x + scaled.ln() - 0.5 * x.ln()
}

/// Returns `I1(x) / I0(x)` for `x >= 0` (Abramowitz and Stegun, 9.8.1 to 9.8.4).
fn ratio(x: f64) -> f64 {
    if x < 3.75 {
        let y = (x / 3.75).powi(2);
        let one = polynomial(
            y,
            &[
                0.5, 0.87890594, 0.51498869, 0.15084934, 0.02658733, 0.00301532, 0.00032411,
            ],
        );
        return x * one / log_i0(x).exp();
    }
    let one = polynomial(
        3.75 / x,
        &[
            0.39894228,
            -0.03988024,
            -0.00362018,
            0.00163801,
            -0.01031555,
            0.02282967,
            -0.02895312,
            0.01787654,
            -0.00420059,
        ],
    );
    let zero = (log_i0(x) - x + 0.5 * x.ln()).exp();
    (one / zero).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn null(waves: &[f64], signs: &[f64]) -> PhaseNull {
        let mut null = PhaseNull::default();
        null.set(waves.iter().map(|c| c * c), signs.iter().copied(), 0.0);
        null
    }

    /// Returns the share of random phases that reach each value.
    fn simulated(waves: &[f64], signs: &[f64], values: &[f64]) -> Vec<f64> {
        const COUNT: usize = 200_000;
        let mut state = 1u64;
        let mut random = move || {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut reached = vec![0; values.len()];
        for _ in 0..COUNT {
            let wave = |c: &f64| c * (std::f64::consts::TAU * random()).cos();
            let mut sum: f64 = waves.iter().map(wave).sum();
            sum += signs
                .iter()
                .map(|c| if random() < 0.5 { *c } else { -c })
                .sum::<f64>();
            for (reached, value) in reached.iter_mut().zip(values) {
                *reached += usize::from(sum.abs() >= *value);
            }
        }
        let share = |reached: usize| reached as f64 / COUNT as f64;
        reached.into_iter().map(share).collect()
    }

    #[test]
    fn bounds_what_surrogates_show() {
        let equal = vec![1.0 / 12.0; 12];
        let falling: Vec<f64> = (1..80).map(|k| 0.3 / f64::from(k).powf(1.5)).collect();
        for (waves, signs) in [
            (equal.as_slice(), &[][..]),
            (&falling, &[0.1, 0.05]),
            (&[0.5, 0.3], &[0.2]),
            (&[], &[0.25; 4]),
            (&[1.0], &[]),
        ] {
            let null = null(waves, signs);
            let most: f64 = waves.iter().chain(signs).sum();
            let values = [0.3, 0.5, 0.7, 0.9].map(|share| share * most);
            for (value, share) in values.iter().zip(simulated(waves, signs, &values)) {
                let bound = null.probability(*value);
                // Three standard errors of the simulation.
                let error = 3.0 * (share / 200_000.0).sqrt();
                assert!(bound >= share - error, "{waves:?} {value}: {bound} {share}");
                // The bound is within a factor of 12 of probabilities that can be simulated.
                if share > 1e-4 {
                    assert!(bound <= 12.0 * share, "{waves:?} {value}: {bound} {share}");
                }
            }
        }
    }

    #[test]
    fn small_probabilities_have_no_floor() {
        let many = null(&[0.02; 50], &[]);
        assert!(many.probability(0.95) < 1e-30);
        // One wave can be in phase by chance.
        assert!(null(&[1.0], &[]).probability(0.999) > 0.02);
        assert_eq!(null(&[], &[]).probability(0.0), 1.0);
    }

    #[test]
    fn weak_terms_may_depend_on_strong_ones() {
        let waves = [0.9, 0.06, 0.02, 0.01];
        let mut some = PhaseNull::default();
        some.set(waves.iter().map(|c| c * c), [0.01].into_iter(), 0.05);
        // The strong terms must reach what the others leave.
        let strong = null(&waves[..2], &[]).probability(0.97 - 0.04);
        assert!((some.probability(0.97) / strong - 1.0).abs() < 1e-9);
        assert!(strong > null(&waves, &[0.01]).probability(0.97));
        assert_eq!(some.probability(0.03), 1.0);
    }

    #[test]
    fn bessel_functions_agree_with_their_series() {
        for x in [0.0f64, 0.1, 1.0, 3.7, 3.8, 10.0, 30.0] {
            let (mut term, mut zero, mut one) = (1.0, 0.0, 0.0);
            for k in 0..200 {
                zero += term;
                one += term * (x / 2.0) / f64::from(k + 1);
                term *= (x / 2.0).powi(2) / f64::from(k + 1).powi(2);
            }
            assert!((log_i0(x) - zero.ln()).abs() < 1e-6, "{x}");
            assert!((ratio(x) - one / zero).abs() < 1e-6, "{x}");
        }
    }
}
