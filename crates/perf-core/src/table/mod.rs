//! [`Table`]: a result of an analysis as named [`Column`]s with units and typed [`Values`], whose
//! rows can be selected and sorted; [`IntoCell`]: conversion of a value to a cell.

mod cell;
mod columns;
#[cfg(feature = "render")]
mod render;

pub use cell::Cell;
#[cfg(feature = "render")]
pub use render::is_unprintable;

use crate::Nanos;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashMap;

/// Result of an analysis as named, typed columns with units.
///
/// Every analysis provides its results as tables. The feature `render` writes a table as aligned
/// text, CSV or JSON, and other crates show tables on pages. Cells may be missing.
///
/// ```
/// use perf_core::{Cell, Nanos, Table};
/// let table = Table::new("regions", "Exclusive time of each region.")
///     .text("region", ["main", "solve"])
///     .times("exclusive time", [Nanos(40_000), Nanos(60_000)])
///     .floats("share", "%", [40.0, 60.0]);
/// assert_eq!(table.rows(), 2);
/// let longest = table.sorted_by("exclusive time", true).head(1);
/// assert_eq!(longest.cell(0, "region"), Some(Cell::Text("solve")));
/// assert_eq!(longest.text_of(0, "exclusive time"), "60.00 us");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Name, a plural noun.
    name: Cow<'static, str>,
    /// Description, a sentence.
    description: Cow<'static, str>,
    /// Columns from left to right.
    columns: Vec<Column>,
}

/// Named column of a [`Table`]. All its cells have the same type and unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name.
    name: Cow<'static, str>,
    /// Unit; empty for plain numbers and text.
    unit: Cow<'static, str>,
    /// Cells.
    values: Values,
    /// `true` for a column of floating-point numbers if all of them are whole. These are written
    /// without decimals.
    is_whole: bool,
}

/// Cells of a [`Column`]; `None` is a missing cell.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Values {
    /// Booleans.
    Flags(Vec<Option<bool>>),
    /// Counts and ids.
    Unsigned(Vec<Option<u64>>),
    /// Numbers that may be negative.
    Signed(Vec<Option<i64>>),
    /// Finite numbers.
    Floats(Vec<Option<f64>>),
    /// Durations, and points in time since the origin of the recording's clock.
    Times(Vec<Option<Nanos>>),
    /// Texts. Each distinct text is stored once.
    Text {
        /// Index in `names` for each row.
        codes: Vec<Option<u32>>,
        /// Distinct texts in the order of their first row.
        names: Vec<String>,
    },
}

impl Values {
    /// Returns the number of cells.
    pub fn len(&self) -> usize {
        match self {
            Values::Flags(cells) => cells.len(),
            Values::Unsigned(cells) => cells.len(),
            Values::Signed(cells) => cells.len(),
            Values::Floats(cells) => cells.len(),
            Values::Times(cells) => cells.len(),
            Values::Text { codes, .. } => codes.len(),
        }
    }

    /// Returns `true` if there are no cells.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the name of the type: `flag`, `unsigned`, `signed`, `float`, `time` or `text`.
    pub fn type_name(&self) -> &'static str {
        match self {
            Values::Flags(_) => "flag",
            Values::Unsigned(_) => "unsigned",
            Values::Signed(_) => "signed",
            Values::Floats(_) => "float",
            Values::Times(_) => "time",
            Values::Text { .. } => "text",
        }
    }

    /// Returns `true` if the cells are floating-point numbers that are all whole and below 2^53.
    fn is_whole(&self) -> bool {
        let is_whole = |value: &f64| value.fract() == 0.0 && value.abs() < (1_u64 << 53) as f64;
        match self {
            Values::Floats(cells) => cells.iter().flatten().all(is_whole),
            _ => false,
        }
    }

    /// Selects the cells of `rows`, in that order. Rows that do not exist are dropped.
    fn pick(&self, rows: &[usize]) -> Values {
        fn of<T: Copy>(cells: &[T], rows: &[usize]) -> Vec<T> {
            rows.iter()
                .filter_map(|row| cells.get(*row).copied())
                .collect()
        }
        match self {
            Values::Flags(cells) => Values::Flags(of(cells, rows)),
            Values::Unsigned(cells) => Values::Unsigned(of(cells, rows)),
            Values::Signed(cells) => Values::Signed(of(cells, rows)),
            Values::Floats(cells) => Values::Floats(of(cells, rows)),
            Values::Times(cells) => Values::Times(of(cells, rows)),
            Values::Text { codes, names } => Values::Text {
                codes: of(codes, rows),
                names: names.clone(),
            },
        }
    }
}

impl Column {
    fn new(name: impl Into<Cow<'static, str>>, unit: Cow<'static, str>, values: Values) -> Self {
        Column {
            name: name.into(),
            unit,
            is_whole: values.is_whole(),
            values,
        }
    }

    /// Returns a column of text. Cells are `&str`, `String` or an `Option` of these.
    ///
    /// ```
    /// use perf_core::Column;
    /// let column = Column::text("host", [Some("node1"), None, Some("node1")]);
    /// assert_eq!(column.values().len(), 3);
    /// ```
    pub fn text<T: IntoCell<String>>(
        name: impl Into<Cow<'static, str>>,
        cells: impl IntoIterator<Item = T>,
    ) -> Self {
        let mut names: Vec<String> = Vec::new();
        let mut known: HashMap<String, u32> = HashMap::new();
        let mut code = |text: String| {
            *known.entry(text).or_insert_with_key(|text| {
                names.push(text.clone());
                // A table of 2^32 distinct texts does not fit into memory.
                (names.len() - 1) as u32
            })
        };
        let codes = cells
            .into_iter()
            .map(|cell| cell.into_cell().map(&mut code))
            .collect();
        Column::new(name, "".into(), Values::Text { codes, names })
    }

    /// Returns a column of durations or points in time.
    pub fn times<T: IntoCell<Nanos>>(
        name: impl Into<Cow<'static, str>>,
        cells: impl IntoIterator<Item = T>,
    ) -> Self {
        let cells = cells.into_iter().map(T::into_cell).collect();
        Column::new(name, "ns".into(), Values::Times(cells))
    }

    /// Returns a column of counts, sizes or ids. `unit` is empty for plain counts.
    pub fn unsigned<T: IntoCell<u64>>(
        name: impl Into<Cow<'static, str>>,
        unit: impl Into<Cow<'static, str>>,
        cells: impl IntoIterator<Item = T>,
    ) -> Self {
        let cells = cells.into_iter().map(T::into_cell).collect();
        Column::new(name, unit.into(), Values::Unsigned(cells))
    }

    /// Returns a column of whole numbers that may be negative.
    pub fn signed<T: IntoCell<i64>>(
        name: impl Into<Cow<'static, str>>,
        unit: impl Into<Cow<'static, str>>,
        cells: impl IntoIterator<Item = T>,
    ) -> Self {
        let cells = cells.into_iter().map(T::into_cell).collect();
        Column::new(name, unit.into(), Values::Signed(cells))
    }

    /// Returns a column of numbers. Infinite and NaN values are missing cells. Shares have the unit
    /// `%` and are given in per cent.
    pub fn floats<T: IntoCell<f64>>(
        name: impl Into<Cow<'static, str>>,
        unit: impl Into<Cow<'static, str>>,
        cells: impl IntoIterator<Item = T>,
    ) -> Self {
        let finite = |cell: T| cell.into_cell().filter(|value| value.is_finite());
        let cells = cells.into_iter().map(finite).collect();
        Column::new(name, unit.into(), Values::Floats(cells))
    }

    /// Returns a column of booleans.
    pub fn flags<T: IntoCell<bool>>(
        name: impl Into<Cow<'static, str>>,
        cells: impl IntoIterator<Item = T>,
    ) -> Self {
        let cells = cells.into_iter().map(T::into_cell).collect();
        Column::new(name, "".into(), Values::Flags(cells))
    }

    /// Returns the name, such as `exclusive time`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the unit, such as `ns`, `B` or `%`; empty for plain numbers and text.
    pub fn unit(&self) -> &str {
        &self.unit
    }

    /// Returns the cells.
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// Returns the cell of a row, or [`Cell::Missing`] beyond the last row.
    pub fn cell(&self, row: usize) -> Cell<'_> {
        Cell::of(&self.values, row)
    }

    /// Returns the cell of a row as text with its unit, such as `12.43 ms`, `40.0 %`, `12 345 678`
    /// or `-`.
    pub fn text_of(&self, row: usize) -> String {
        match self.cell(row) {
            Cell::Float(value) if self.is_whole => Cell::Signed(value as i64).text(&self.unit),
            cell => cell.text(&self.unit),
        }
    }

    /// Returns the name followed by the unit in brackets, for formats whose cells have no unit,
    /// such as `exclusive time [ns]`.
    pub fn heading(&self) -> String {
        match self.unit() {
            "" => self.name.to_string(),
            unit => format!("{} [{unit}]", self.name),
        }
    }
}

/// Conversion of a value, or of an `Option` of a value, to a cell of a [`Column`].
pub trait IntoCell<T> {
    /// Returns the value, or `None` for a missing cell.
    fn into_cell(self) -> Option<T>;
}

macro_rules! into_cell {
    ($($from:ty => $to:ty),+ $(,)?) => { $(
        impl IntoCell<$to> for $from {
            fn into_cell(self) -> Option<$to> {
                Some(self.into())
            }
        }
        impl IntoCell<$to> for Option<$from> {
            fn into_cell(self) -> Option<$to> {
                self.map(Into::into)
            }
        }
    )+ };
}

into_cell!(
    &str => String, String => String, Nanos => Nanos, bool => bool,
    u64 => u64, u32 => u64, i64 => i64, i32 => i64, f64 => f64, f32 => f64,
);

impl IntoCell<u64> for usize {
    fn into_cell(self) -> Option<u64> {
        u64::try_from(self).ok()
    }
}

impl IntoCell<u64> for Option<usize> {
    fn into_cell(self) -> Option<u64> {
        self.and_then(usize::into_cell)
    }
}

impl Table {
    /// Returns a table without columns.
    ///
    /// `name` is a plural noun that distinguishes the table from other tables of a result, such as
    /// `call paths`. `description` is a sentence for readers.
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        description: impl Into<Cow<'static, str>>,
    ) -> Self {
        Table {
            name: name.into(),
            description: description.into(),
            columns: Vec::new(),
        }
    }

    /// Adds a column on the right.
    ///
    /// # Panics
    /// Panics if the column does not have the same number of cells as the other columns.
    #[must_use]
    pub fn with(mut self, column: Column) -> Self {
        if let Some(first) = self.columns.first() {
            let (expected, got) = (first.values.len(), column.values.len());
            assert_eq!(
                expected, got,
                "cells of column `{}` of table `{}`",
                column.name, self.name
            );
        }
        self.columns.push(column);
        self
    }

    /// Returns the name, a plural noun.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the description, a sentence.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Returns the columns from left to right.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Returns the first column of this name, or `None` if there is no such column.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.len())
    }

    /// Returns a cell, or `None` if there is no such row or column.
    pub fn cell(&self, row: usize, column: &str) -> Option<Cell<'_>> {
        let column = self.column(column)?;
        (row < column.values.len()).then(|| column.cell(row))
    }

    /// Returns a cell as text with its unit, or an empty text if there is no such row or column.
    pub fn text_of(&self, row: usize, column: &str) -> String {
        self.column(column)
            .filter(|column| row < column.values.len())
            .map_or_else(String::new, |column| column.text_of(row))
    }

    /// Returns the rows at these positions, in that order. Positions that do not exist are dropped.
    #[must_use]
    pub fn pick(&self, rows: &[usize]) -> Table {
        let column = |column: &Column| Column {
            values: column.values.pick(rows),
            ..column.clone()
        };
        Table {
            columns: self.columns.iter().map(column).collect(),
            ..self.clone()
        }
    }

    /// Returns the first `rows` rows, or all if there are fewer.
    #[must_use]
    pub fn head(&self, rows: usize) -> Table {
        let rows: Vec<usize> = (0..self.rows().min(rows)).collect();
        self.pick(&rows)
    }

    /// Returns the rows sorted by a column, the largest first if `descending`. Equal cells keep
    /// their order and missing cells come last. Without a column of that name the order is
    /// unchanged.
    #[must_use]
    pub fn sorted_by(&self, column: &str, descending: bool) -> Table {
        let mut rows: Vec<usize> = (0..self.rows()).collect();
        if let Some(column) = self.column(column) {
            rows.sort_by(|one, other| {
                let (one, other) = (column.cell(*one), column.cell(*other));
                match (one, other) {
                    (Cell::Missing, Cell::Missing) => Ordering::Equal,
                    (Cell::Missing, _) => Ordering::Greater,
                    (_, Cell::Missing) => Ordering::Less,
                    _ if descending => other.compare(&one),
                    _ => one.compare(&other),
                }
            });
        }
        self.pick(&rows)
    }

    /// Returns the columns of these names, in that order. Names that do not exist are dropped.
    ///
    /// ```
    /// use perf_core::Table;
    /// let table = Table::new("ranks", "").unsigned("rank", "", [0u64, 1])
    ///     .unsigned("visits", "", [7u64, 9]);
    /// assert_eq!(table.select(&["visits"]).columns().len(), 1);
    /// ```
    #[must_use]
    pub fn select(&self, names: &[&str]) -> Table {
        Table {
            columns: names
                .iter()
                .filter_map(|name| self.column(name).cloned())
                .collect(),
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rows_stay_together_when_sorted(cells in prop::collection::vec(prop::option::of(0u64..9), 0..40)) {
            let table = Table::new("rows", "")
                .unsigned("value", "", cells.clone())
                .unsigned("row", "", 0..cells.len());
            for descending in [false, true] {
                let sorted = table.sorted_by("value", descending);
                prop_assert_eq!(sorted.rows(), cells.len());
                let mut expected: Vec<usize> = (0..cells.len()).collect();
                expected.sort_by_key(|row| (cells[*row].is_none(), match cells[*row] {
                    Some(value) if descending => u64::MAX - value,
                    value => value.unwrap_or(0),
                }));
                for (at, row) in expected.into_iter().enumerate() {
                    prop_assert_eq!(sorted.cell(at, "row"), Some(Cell::Unsigned(row as u64)));
                }
            }
        }
    }

    #[test]
    fn text_is_stored_once() {
        let column = Column::text("name", ["a", "b", "a"]);
        let Values::Text { codes, names } = column.values() else {
            panic!("text");
        };
        assert_eq!(
            (codes.as_slice(), names.len()),
            (&[Some(0), Some(1), Some(0)][..], 2)
        );
    }

    #[test]
    #[should_panic(expected = "cells of column `b` of table `t`")]
    fn columns_have_equal_lengths() {
        let _ = Table::new("t", "")
            .flags("a", [true])
            .flags("b", [true, false]);
    }

    #[test]
    fn missing_rows_and_columns_are_dropped() {
        let table = Table::new("t", "").floats("a", "%", [f64::NAN, 2.0]);
        assert_eq!(table.cell(0, "a"), Some(Cell::Missing));
        assert_eq!((table.cell(2, "a"), table.cell(0, "b")), (None, None));
        assert_eq!(table.text_of(2, "a"), "");
        assert_eq!(table.head(9).rows(), 2);
        assert_eq!(table.pick(&[1, 5]).rows(), 1);
        assert_eq!(table.sorted_by("none", true), table);
    }
}
