//! Formatting as text: a [`Table`], grouped and short numbers, counts with their noun, and
//! shortened names.

use perfkit::core::{Cell, Column, Table, Values};
use std::io::{self, Write};

/// Writes a table with texts of at most `most` characters.
///
/// # Errors
/// Returns the error of `out`.
pub fn print(out: &mut dyn Write, table: &Table, most: usize) -> io::Result<()> {
    let short = |column: &Column| match column.values() {
        Values::Text { .. } => {
            let cells = (0..column.values().len()).map(|row| match column.cell(row) {
                Cell::Text(text) => Some(shortened(text, most)),
                _ => None,
            });
            Column::text(column.name().to_owned(), cells)
        }
        _ => column.clone(),
    };
    let short = table.columns().iter().map(short);
    let table = short.fold(Table::new("", ""), Table::with);
    out.write_all(table.to_text().as_bytes())
}

/// Groups the digits of a number by three: `12345678` as `12 345 678`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// Returns `text` if it has at most `most` characters; otherwise replaces its middle by `...`. Does not
/// shorten below 5 characters.
pub fn shortened(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most || most < 5 {
        return text.to_string();
    }
    let head = (most - 3) / 3;
    let tail = most - 3 - head;
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(count - tail).collect();
    format!("{start}...{end}")
}

/// Formats a count with its noun: `1 row`, `2 rows`.
pub fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(count as u64))
}

/// Formats a number with three significant digits and a prefix for powers of 1000, such as `1.25M`.
pub fn short(value: f64) -> String {
    let units = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")];
    let size = value.abs();
    let found = units.iter().find(|unit| size >= unit.0);
    let (scaled, unit) = found.map_or((value, ""), |unit| (value / unit.0, unit.1));
    let digits = match scaled.abs() {
        0.0..10.0 => 2,
        10.0..100.0 => 1,
        _ => 0,
    };
    format!("{scaled:.digits$}{unit}")
}
