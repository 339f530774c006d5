//! Output of a [`Table`] as aligned text, CSV and JSON.

use super::{Cell, Table};
use comfy_table::{CellAlignment, ContentArrangement, presets};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, SerializeStruct, Serializer};
use std::io::{self, Write};

/// Returns `true` for characters that must not reach a terminal in a name: line breaks and tabs break the alignment,
/// other control characters begin commands of the terminal, and direction marks reverse the rest of the line.
///
/// ```
/// assert!(perf_core::is_unprintable('\u{1b}') && perf_core::is_unprintable('\u{202e}'));
/// assert!(!perf_core::is_unprintable('\u{e9}'));
/// ```
pub fn is_unprintable(letter: char) -> bool {
    let is_mark = matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    letter.is_control() || is_mark
}

impl Table {
    /// Formats the table as lines of aligned text. There are two spaces before each column. Text is
    /// aligned left; numbers with their units are aligned right.
    ///
    /// ```
    /// use perf_core::{Nanos, Table};
    /// let table = Table::new("regions", "Visits of each region.")
    ///     .text("region", ["main", "solve"])
    ///     .unsigned("visits", "", [1u64, 1200]);
    /// assert_eq!(table.to_text(), "  region  visits\n  main         1\n  solve    1 200\n");
    /// ```
    pub fn to_text(&self) -> String {
        let mut text = comfy_table::Table::new();
        text.load_style(presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Disabled)
            .set_header(self.columns.iter().map(|column| column.name()));
        for row in 0..self.rows() {
            let cell = |text: String| text.replace(is_unprintable, " ");
            text.add_row(self.columns.iter().map(|column| cell(column.text_of(row))));
        }
        for (at, column) in self.columns.iter().enumerate() {
            if let Some(styled) = text.column_mut(at) {
                styled.set_padding((2, 0));
                styled.set_cell_alignment(match column.values() {
                    super::Values::Text { .. } => CellAlignment::Left,
                    _ => CellAlignment::Right,
                });
            }
        }
        let mut lines = String::new();
        for line in text.lines() {
            lines.push_str(line.trim_end());
            lines.push('\n');
        }
        lines
    }

    /// Writes the table as CSV with one line of headings, such as `exclusive time [ns]`. Times are
    /// whole nanoseconds, other numbers have all their digits, and missing cells are empty.
    ///
    /// ```
    /// use perf_core::{Nanos, Table};
    /// let table = Table::new("regions", "").text("region", ["a, b"])
    ///     .times("time", [Nanos(1_500)]);
    /// let mut csv = Vec::new();
    /// table.write_csv(&mut csv)?;
    /// assert_eq!(csv, b"region,time [ns]\n\"a, b\",1500\n");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the error of `out`.
    pub fn write_csv(&self, out: impl Write) -> io::Result<()> {
        let mut out = csv::WriterBuilder::new().flexible(true).from_writer(out);
        out.write_record(self.columns.iter().map(|column| column.heading()))?;
        for row in 0..self.rows() {
            let cells = self.columns.iter().map(|column| match column.cell(row) {
                Cell::Missing => String::new(),
                Cell::Flag(value) => value.to_string(),
                Cell::Unsigned(value) => value.to_string(),
                Cell::Signed(value) => value.to_string(),
                Cell::Float(value) => value.to_string(),
                Cell::Time(value) => value.0.to_string(),
                Cell::Text(text) => text.to_string(),
            });
            out.write_record(cells)?;
        }
        out.flush()
    }

    /// Writes the table as one JSON object with the fields `name`, `description`, `columns` and
    /// `rows`. Each column has a name, a type and a unit. Each row is an object with one cell for
    /// each column. Times are whole nanoseconds, and missing cells are `null`.
    ///
    /// ```
    /// use perf_core::Table;
    /// let table = Table::new("ranks", "").unsigned("rank", "", [3u64]);
    /// let mut json = Vec::new();
    /// table.write_json(&mut json)?;
    /// let text = String::from_utf8(json).expect("JSON is UTF-8");
    /// assert!(text.contains(r#""rows":[{"rank":3}]"#));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the error of `out`.
    pub fn write_json(&self, out: impl Write) -> io::Result<()> {
        Ok(serde_json::to_writer(out, self)?)
    }
}

impl Serialize for Table {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        struct Columns<'a>(&'a Table);
        impl Serialize for Columns<'_> {
            fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
                #[derive(serde::Serialize)]
                struct Head<'a> {
                    /// Name of the column.
                    name: &'a str,
                    r#type: &'a str,
                    /// Unit of the column.
                    unit: &'a str,
                }
                to.collect_seq(self.0.columns.iter().map(|column| Head {
                    name: column.name(),
                    r#type: column.values().type_name(),
                    unit: column.unit(),
                }))
            }
        }
        struct Rows<'a>(&'a Table);
        impl Serialize for Rows<'_> {
            fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
                let mut rows = to.serialize_seq(Some(self.0.rows()))?;
                for row in 0..self.0.rows() {
                    rows.serialize_element(&Row(self.0, row))?;
                }
                rows.end()
            }
        }
        struct Row<'a>(&'a Table, usize);
        impl Serialize for Row<'_> {
            fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
                let mut cells = to.serialize_map(Some(self.0.columns.len()))?;
                for column in &self.0.columns {
                    cells.serialize_entry(column.name(), &column.cell(self.1))?;
                }
                cells.end()
            }
        }
        let mut table = serializer.serialize_struct("Table", 4)?;
        table.serialize_field("name", self.name())?;
        table.serialize_field("description", self.description())?;
        table.serialize_field("columns", &Columns(self))?;
        table.serialize_field("rows", &Rows(self))?;
        table.end()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Nanos, Table};

    fn table() -> Table {
        Table::new("cells", "Cells of every type.")
            .text("name", [Some("a\"b\nc"), None])
            .times("time", [Some(Nanos(-7)), None])
            .unsigned("count", "", [Some(u64::MAX), None])
            .signed("step", "", [Some(i64::MIN), None])
            .floats("share", "%", [0.1, f64::INFINITY])
            .flags("known", [Some(true), None])
    }

    #[test]
    fn every_type_is_written_whole() {
        let mut csv = Vec::new();
        table().write_csv(&mut csv).unwrap();
        let csv = String::from_utf8(csv).unwrap();
        let expected = "name,time [ns],count,step,share [%],known\n\
            \"a\"\"b\nc\",-7,18446744073709551615,-9223372036854775808,0.1,true\n,,,,,\n";
        assert_eq!(csv, expected);
        let json = serde_json::to_value(table()).unwrap();
        assert_eq!(json["rows"][0]["time"], -7);
        assert_eq!(json["rows"][0]["count"], u64::MAX);
        assert_eq!(json["rows"][0]["share"], 0.1);
        assert!(
            json["rows"][1]
                .as_object()
                .unwrap()
                .values()
                .all(|cell| cell.is_null())
        );
        assert_eq!(json["columns"][4]["unit"], "%");
        assert_eq!(json["columns"][1]["type"], "time");
        assert_eq!(table().to_text().lines().count(), 3);
    }

    #[test]
    fn whole_columns_have_no_decimals_and_shares_have_one() {
        let table = Table::new("numbers", "")
            .floats("whole", "", [8.0, 1_200.0])
            .floats("mixed", "", [8.0, 0.5])
            .floats("share", "%", [0.584, 52.9]);
        let text = "  whole  mixed   share\n      8   8.00   0.6 %\n  1 200  0.500  52.9 %\n";
        assert_eq!(table.to_text(), text);
    }

    #[test]
    fn an_empty_table_has_headings_alone() {
        let table = table().head(0);
        let mut csv = Vec::new();
        table.write_csv(&mut csv).unwrap();
        assert_eq!(csv.iter().filter(|byte| **byte == b'\n').count(), 1);
        assert_eq!(table.to_text().lines().count(), 1);
        assert_eq!(Table::new("none", "").to_text().trim(), "");
    }

    #[test]
    fn a_full_disk_is_an_error() {
        struct Full;
        impl std::io::Write for Full {
            fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
                Err(std::io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let full = |result: std::io::Result<()>| result.unwrap_err().kind();
        assert_eq!(
            full(table().write_csv(Full)),
            std::io::ErrorKind::StorageFull
        );
        assert_eq!(
            full(table().write_json(Full)),
            std::io::ErrorKind::StorageFull
        );
    }
}
