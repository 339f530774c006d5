//! Quantiles of Student's t distribution.
//!
//! Two short functions instead of a statistics library: nothing else of one would be used.

/// The t for which a variable of `freedom` degrees lies between -t and t with probability `level`
/// (between 0 and 1, both excluded).
pub(crate) fn two_sided(level: f64, freedom: f64) -> f64 {
    // P(|T| > t) = I(v / (v + t^2); v/2, 1/2) falls from 1 to 0 as t grows.
    let outside = |t: f64| incomplete_beta(freedom / (freedom + t * t), freedom / 2.0, 0.5);
    let (mut low, mut high) = (0.0, 1.0);
    while outside(high) > 1.0 - level && high < 1e300 {
        high *= 2.0;
    }
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if outside(middle) > 1.0 - level {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// The regularised incomplete beta function I(x; a, b) by its continued fraction (DLMF 8.17.22),
/// evaluated from the front with the modified method of Lentz.
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // It converges fast only on this side of the mean.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, b, a);
    }
    let front =
        (a * x.ln() + b * (1.0 - x).ln() + ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b)).exp();
    let not_zero = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let mut denominator = 1.0 / not_zero(1.0 - (a + b) * x / (a + 1.0));
    let (mut numerator, mut fraction) = (1.0, denominator);
    for step in 1..500 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for term in [even, odd] {
            denominator = 1.0 / not_zero(1.0 + term * denominator);
            numerator = not_zero(1.0 + term / numerator);
            change = denominator * numerator;
            fraction *= change;
        }
        if (change - 1.0).abs() < 1e-16 {
            break;
        }
    }
    front * fraction / a
}

/// The logarithm of the gamma function for positive x: Stirling's series (DLMF 5.11.1) past 10,
/// reached by the recurrence.
fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut below) = (x, 0.0);
    while x < 10.0 {
        below += x.ln();
        x += 1.0;
    }
    let square = x * x;
    let series = (1.0 / 12.0
        - (1.0 / 360.0
            - (1.0 / 1260.0 - (1.0 / 1680.0 - 1.0 / (1188.0 * square)) / square) / square)
            / square)
        / x;
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series - below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_in_printed_tables() {
        for (level, freedom, expected) in [
            (0.95, 1.0, 12.706_2),
            (0.95, 2.0, 4.302_65),
            (0.95, 10.0, 2.228_14),
            (0.95, 100.0, 1.983_97),
            (0.99, 3.0, 5.840_91),
            (0.90, 5.0, 2.015_05),
            (0.50, 1.0, 1.0),
        ] {
            let t = two_sided(level, freedom);
            assert!((t / expected - 1.0).abs() < 3e-6, "{level} {freedom}: {t}");
        }
    }

    #[test]
    fn closed_forms() {
        // One degree of freedom is Cauchy's distribution, two have a root.
        for level in [0.1, 0.5, 0.9, 0.99, 0.999] {
            let one = (std::f64::consts::FRAC_PI_2 * level).tan();
            assert!((two_sided(level, 1.0) / one - 1.0).abs() < 1e-10);
            let two = level * (2.0 / (1.0 - level * level)).sqrt();
            assert!((two_sided(level, 2.0) / two - 1.0).abs() < 1e-10);
        }
    }
}
