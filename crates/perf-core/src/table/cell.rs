//! [`Cell`]: one value of a table, and its formatting as text.

use super::Values;
use crate::Nanos;
use crate::text::in_groups;
use std::cmp::Ordering;

/// Cell of a [`Table`](crate::Table).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(untagged))]
#[non_exhaustive]
pub enum Cell<'a> {
    /// No value.
    Missing,
    /// Boolean.
    Flag(bool),
    /// Count, size or id.
    Unsigned(u64),
    /// Signed whole number.
    Signed(i64),
    /// Finite number.
    Float(f64),
    /// Duration or point in time.
    Time(Nanos),
    /// Text.
    Text(&'a str),
}

impl<'a> Cell<'a> {
    pub(super) fn of(values: &'a Values, row: usize) -> Self {
        let cell = match values {
            Values::Flags(cells) => cells.get(row).copied().flatten().map(Cell::Flag),
            Values::Unsigned(cells) => cells.get(row).copied().flatten().map(Cell::Unsigned),
            Values::Signed(cells) => cells.get(row).copied().flatten().map(Cell::Signed),
            Values::Floats(cells) => cells.get(row).copied().flatten().map(Cell::Float),
            Values::Times(cells) => cells.get(row).copied().flatten().map(Cell::Time),
            Values::Text { codes, names } => {
                let code = codes.get(row).copied().flatten();
                let name = code.and_then(|code| names.get(code as usize));
                name.map(|name| Cell::Text(name))
            }
        };
        cell.unwrap_or(Cell::Missing)
    }

    /// Returns the value as a number: a time in nanoseconds, a flag as 0 or 1. Returns `None` for
    /// text and missing cells.
    pub fn number(&self) -> Option<f64> {
        match self {
            Cell::Missing | Cell::Text(_) => None,
            Cell::Flag(value) => Some(f64::from(u8::from(*value))),
            Cell::Unsigned(value) => Some(*value as f64),
            Cell::Signed(value) => Some(*value as f64),
            Cell::Float(value) => Some(*value),
            Cell::Time(value) => Some(value.0 as f64),
        }
    }

    /// Formats the cell for display, followed by its unit. Shares in per cent have one decimal,
    /// other fractions three significant digits. Whole numbers are grouped by three digits, times
    /// have a suitable unit, and a missing cell is `-`.
    ///
    /// ```
    /// use perf_core::{Cell, Nanos};
    /// assert_eq!(Cell::Float(12.345).text("%"), "12.3 %");
    /// assert_eq!(Cell::Unsigned(1_234_567).text("B"), "1 234 567 B");
    /// assert_eq!(Cell::Time(Nanos(1_500)).text("ns"), "1.50 us");
    /// assert_eq!(Cell::Missing.text("%"), "-");
    /// ```
    pub fn text(&self, unit: &str) -> String {
        let number = match self {
            Cell::Missing => return "-".into(),
            Cell::Text(text) => return (*text).into(),
            Cell::Time(time) => return time.to_string(),
            Cell::Flag(true) => return "yes".into(),
            Cell::Flag(false) => return "no".into(),
            Cell::Unsigned(value) => in_groups(&value.to_string()),
            Cell::Signed(value) => in_groups(&value.to_string()),
            Cell::Float(value) if unit == "%" => return percent(*value),
            Cell::Float(value) => significant(*value),
        };
        match unit {
            "" => number,
            unit => format!("{number} {unit}"),
        }
    }

    /// Compares cells of one column. Cells of different types compare as equal.
    pub(super) fn compare(&self, other: &Cell<'_>) -> Ordering {
        match (self, other) {
            (Cell::Flag(one), Cell::Flag(other)) => one.cmp(other),
            (Cell::Unsigned(one), Cell::Unsigned(other)) => one.cmp(other),
            (Cell::Signed(one), Cell::Signed(other)) => one.cmp(other),
            (Cell::Float(one), Cell::Float(other)) => one.total_cmp(other),
            (Cell::Time(one), Cell::Time(other)) => one.cmp(other),
            (Cell::Text(one), Cell::Text(other)) => one.cmp(other),
            _ => Ordering::Equal,
        }
    }
}

/// Formats a number with three significant digits. Numbers outside of `1e-4..1e15` are in
/// scientific notation.
fn significant(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 {
        return "0".into();
    }
    if !(1e-4..1e15).contains(&size) {
        return format!("{value:.2e}");
    }
    // Rounding may carry: 9.996 is printed as 10.0.
    let rounded: f64 = format!("{value:.2e}").parse().unwrap_or(value);
    let magnitude = rounded.abs().log10().floor() as i32;
    match usize::try_from(2 - magnitude) {
        Ok(digits) => format!("{value:.digits$}"),
        Err(_) => in_groups(&format!("{value:.0}")),
    }
}

/// Formats a share with one decimal, so that the decimals of a column are aligned. A small share is not printed as 0.
fn percent(value: f64) -> String {
    match value {
        0.0 => "0 %".into(),
        0.0..0.05 => "< 0.1 %".into(),
        -0.05..0.0 => "> -0.1 %".into(),
        _ => format!("{value:.1} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_significant_digits() {
        for (value, text) in [
            (0.0, "0"),
            (1.0, "1.00"),
            (9.996, "10.0"),
            (99.96, "100"),
            (0.099_96, "0.100"),
            (-0.5, "-0.500"),
            (123_456.7, "123 457"),
            (-1_234.0, "-1 234"),
            (1e-5, "1.00e-5"),
            (2.5e15, "2.50e15"),
        ] {
            assert_eq!(Cell::Float(value).text(""), text);
        }
        for (share, text) in [
            (0.0, "0 %"),
            (0.049, "< 0.1 %"),
            (-0.01, "> -0.1 %"),
            (0.05, "0.1 %"),
            (99.96, "100.0 %"),
        ] {
            assert_eq!(Cell::Float(share).text("%"), text);
        }
        assert_eq!(Cell::Signed(-1_234).text("B"), "-1 234 B");
        assert_eq!(Cell::Unsigned(999).text(""), "999");
    }
}
