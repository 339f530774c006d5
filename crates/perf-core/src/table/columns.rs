//! Methods of [`Table`] that add a column of one type.

use super::{Column, IntoCell, Table};
use crate::Nanos;
use std::borrow::Cow;

/// Methods that call the constructor of [`Column`] of the same name. `unit` stands for columns whose
/// unit is an argument.
macro_rules! columns {
    ($($(#[$doc:meta])* $name:ident: $cell:ty $(, $unit:ident)?;)*) => {
        impl Table {$(
            $(#[$doc])*
            ///
            /// # Panics
            /// Panics if the column does not have the same number of cells as the other columns.
            #[must_use]
            pub fn $name<T: IntoCell<$cell>>(
                self,
                name: impl Into<Cow<'static, str>>,
                $($unit: impl Into<Cow<'static, str>>,)?
                cells: impl IntoIterator<Item = T>,
            ) -> Self {
                self.with(Column::$name(name, $($unit,)? cells))
            }
        )*}
    };
}

columns! {
    /// Adds a column of text. Cells are `&str`, `String` or an `Option` of these.
    text: String;
    /// Adds a column of durations or points in time.
    times: Nanos;
    /// Adds a column of counts, sizes or ids. `unit` is empty for plain counts.
    unsigned: u64, unit;
    /// Adds a column of whole numbers that may be negative.
    signed: i64, unit;
    /// Adds a column of numbers. Infinite and NaN values are missing cells. Shares have the unit `%`
    /// and are given in per cent.
    floats: f64, unit;
    /// Adds a column of booleans.
    flags: bool;
}
