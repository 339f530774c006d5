//! Benjamini-Yekutieli procedure: control of the false discovery rate under any dependence.

/// Returns the largest p-value of a single discovery of the Benjamini-Yekutieli procedure,
/// `rate / (tests (1 + 1/2 + .. + 1/tests))`.
pub(super) fn step(tests: u64, rate: f64) -> f64 {
    let tests = tests.max(1) as f64;
    // Asymptotic expansion of the harmonic number, which exceeds it by at most 8 %.
    let harmonic = tests.ln() + 0.577_215_664_901_532_9 + 0.5 / tests;
    rate / (tests * harmonic)
}

/// Returns the number of discoveries of the procedure: the largest k whose k-th smallest p-value is
/// at most k steps.
pub(super) fn discoveries(ascending: impl Iterator<Item = f64>, step: f64) -> usize {
    let passes = |(at, p): (usize, f64)| (p <= (at + 1) as f64 * step).then_some(at + 1);
    ascending.enumerate().filter_map(passes).last().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{discoveries, step};

    #[test]
    fn discoveries_are_those_of_the_textbook() {
        let p = [0.001, 0.004, 0.004, 0.02, 0.03, 0.5];
        // Harmonic number of 6: 2.45. Limits 0.0034 k: 0.0034, 0.0068, 0.0102, 0.0136, 0.017, 0.02.
        assert!((step(6, 0.05) - 0.05 / 14.7).abs() < 1e-5);
        assert_eq!(discoveries(p.into_iter(), step(6, 0.05)), 3);
        assert_eq!(discoveries(p.into_iter(), step(6, 0.5)), 5);
        assert_eq!(discoveries(p.into_iter(), step(1_000_000, 0.05)), 0);
        assert_eq!(discoveries([].into_iter(), step(0, 0.05)), 0);
    }
}
