//! Tables of text.

use perfkit::core::{Cell, Column, Table, Values};
use std::io::{self, Write};

/// Writes rows in columns: the first column to the left, numbers to the right.
///
/// ```
/// let mut out = Vec::new();
/// perfkit_cli::table::write(&mut out, &["region", "visits"], &[
///     vec!["main".into(), "1".into()],
///     vec!["solve".into(), "120".into()],
/// ])?;
/// assert_eq!(String::from_utf8(out).expect("text"), "  region  visits\n  main         1\n  solve      120\n");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// What `out` fails with.
pub fn write(out: &mut dyn Write, head: &[&str], rows: &[Vec<String>]) -> io::Result<()> {
    let length = |text: &str| text.chars().count();
    let mut widths: Vec<usize> = head.iter().map(|name| length(name)).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(length(cell));
        }
    }
    let head: Vec<String> = head.iter().map(|name| (*name).to_string()).collect();
    for row in std::iter::once(&head).chain(rows) {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            line.push_str("  ");
            if column == 0 {
                line.push_str(&format!("{cell:<width$}"));
            } else {
                line.push_str(&format!("{cell:>width$}"));
            }
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

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

/// `12345678` as `12 345 678`.
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

/// At most `most` characters of `text`, the middle left out.
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

/// `1 row`, `2 rows`.
pub fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(count as u64))
}

/// A number with three digits and a prefix for powers of 1000.
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
