//! Formatting of a [`ScalingModel`] as text.

use super::{Factor, ScalingModel, Term};
use std::fmt::{Display, Formatter, Result};

/// Writes a model as an expression, such as `0.12 + 3.4e-5 * tasks^(1/2) * log2(tasks)`.
impl Display for ScalingModel {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        if self.constant > 0.0 || self.terms.is_empty() {
            number(self.constant, out)?;
        }
        for (at, term) in self.terms.iter().enumerate() {
            if at > 0 || self.constant > 0.0 {
                write!(out, " + ")?;
            }
            self.term(term, out)?;
        }
        Ok(())
    }
}

impl ScalingModel {
    fn term(&self, term: &Term, out: &mut Formatter<'_>) -> Result {
        number(term.coefficient, out)?;
        for (name, factor) in self.parameters.iter().zip(&term.factors) {
            let Factor { power, log_power } = *factor;
            if power != 0.0 {
                write!(out, " * {name}")?;
                exponent(power, out)?;
            }
            match log_power {
                0 => {}
                1 => write!(out, " * log2({name})")?,
                _ => write!(out, " * log2({name})^{log_power}")?,
            }
        }
        Ok(())
    }
}

/// Writes a power of the grid as a fraction, another one with two decimals, and 1 not at all.
fn exponent(power: f64, out: &mut Formatter<'_>) -> Result {
    if (power - 1.0).abs() < 1e-9 {
        return Ok(());
    }
    for denominator in [1.0, 2.0, 3.0, 4.0] {
        let numerator = power * denominator;
        if (numerator - numerator.round()).abs() < 1e-9 {
            let numerator = numerator.round();
            return match denominator as u32 {
                1 => write!(out, "^{numerator}"),
                denominator => write!(out, "^({numerator}/{denominator})"),
            };
        }
    }
    write!(out, "^{power:.2}")
}

/// Writes a number with three significant digits.
fn number(value: f64, out: &mut Formatter<'_>) -> Result {
    let size = value.abs();
    if value == 0.0 {
        return write!(out, "0");
    }
    if !(1e-3..1e5).contains(&size) {
        let text = format!("{value:.2e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        let digits = without_zeros(digits);
        return write!(out, "{digits}e{power}");
    }
    let digits = (2 - size.log10().floor() as i32).max(0) as usize;
    write!(out, "{}", without_zeros(&format!("{value:.digits$}")))
}

/// The number without the zeros that end its fraction.
fn without_zeros(text: &str) -> &str {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text
    }
}
