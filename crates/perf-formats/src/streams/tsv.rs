//! Tab-separated rows, with a header that names the columns.

use super::row::{Kind, Row, Wrong, number, time};
use perf_core::{Nanos, Peer, StreamKey, Value};

/// Which column is what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    columns: Vec<Column>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Step,
    /// A time in units of so many nanoseconds.
    Time(i64),
    Program,
    Rank,
    Thread,
    Kind,
    Name,
    Tag,
    Partner,
    Bytes,
    Value,
    Unknown,
}

impl Header {
    /// Reads the header; `None` if it has no time or no kind.
    pub(super) fn read(line: &str) -> Option<Self> {
        let columns: Vec<Column> = line
            .split('\t')
            .map(|name| match name {
                "step" => Column::Step,
                "ts_us" => Column::Time(1000),
                "ts_ns" => Column::Time(1),
                "program" => Column::Program,
                "rank" => Column::Rank,
                "thread" => Column::Thread,
                "kind" => Column::Kind,
                "name" => Column::Name,
                "tag" => Column::Tag,
                "partner" => Column::Partner,
                "bytes" => Column::Bytes,
                "value" => Column::Value,
                _ => Column::Unknown,
            })
            .collect();
        let has_time = columns
            .iter()
            .any(|column| matches!(column, Column::Time(_)));
        (has_time && columns.contains(&Column::Kind)).then_some(Header { columns })
    }

    /// Reads a line. Columns that are missing or empty are 0.
    pub(super) fn row<'a>(&self, line: &'a str) -> Result<Row<'a>, Wrong> {
        let mut row = Row {
            step: None,
            at: Nanos(0),
            key: StreamKey::default(),
            kind: Kind::Enter,
            name: "".into(),
            peer: Peer::default(),
            value: Value::U64(0),
            text: "".into(),
        };
        let mut kind = None;
        let mut at = None;
        let mut value = None;
        let mut bytes = "";
        let mut fields = line.split('\t');
        for column in &self.columns {
            let field = fields.next().unwrap_or_default();
            match column {
                Column::Time(scale) if !field.is_empty() => {
                    let parsed = time(field, *scale);
                    at = Some(parsed.ok_or_else(|| wrong("a time", field))?);
                }
                Column::Kind => kind = Some(field),
                Column::Name => row.name = field.into(),
                _ if field.is_empty() => {}
                Column::Step => row.step = Some(integer(field, "a step")?),
                Column::Program => row.key.program = small(field, "a program")?,
                Column::Rank => row.key.rank = small(field, "a rank")?,
                Column::Thread => row.key.thread = small(field, "a thread")?,
                Column::Tag => row.peer.tag = signed(field, "a tag")?,
                Column::Partner => row.peer.rank = small(field, "a rank")?,
                Column::Bytes => bytes = field,
                Column::Value => value = Some(field),
                Column::Time(_) | Column::Unknown => {}
            }
        }
        let kind = kind.unwrap_or_default();
        row.kind = Kind::named(kind).ok_or_else(|| Wrong::Kind(kind.into()))?;
        match row.kind {
            Kind::Counter => {
                let value = value.unwrap_or(bytes);
                row.value = number(value).ok_or_else(|| wrong("a value", value))?;
            }
            Kind::Metadata => row.text = value.unwrap_or(bytes).into(),
            Kind::Send | Kind::Receive if !bytes.is_empty() => {
                row.peer.bytes = integer(bytes, "a number of bytes")?;
            }
            _ => {}
        }
        row.at = match at {
            Some(at) => at,
            None if row.kind == Kind::Metadata => Nanos(0),
            None => return Err(wrong("a time", "")),
        };
        Ok(row)
    }
}

pub(super) fn wrong(expected: &'static str, got: &str) -> Wrong {
    // A line can be long; its beginning tells enough.
    Wrong::Field(expected, got.chars().take(40).collect())
}

pub(super) fn integer(field: &str, what: &'static str) -> Result<u64, Wrong> {
    field.parse().map_err(|_| wrong(what, field))
}

pub(super) fn small(field: &str, what: &'static str) -> Result<u32, Wrong> {
    field.parse().map_err(|_| wrong(what, field))
}

/// Tags may be negative: those of wildcards and of libraries' own messages.
pub(super) fn signed(field: &str, what: &'static str) -> Result<u32, Wrong> {
    let parsed = field.parse::<u32>().ok();
    let negative = || field.parse::<i32>().ok().map(i32::cast_unsigned);
    parsed.or_else(negative).ok_or_else(|| wrong(what, field))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_come_in_any_order() {
        let header = Header::read("kind\tname\tsurprise\tts_us\trank\tbytes").unwrap();
        let row = header.row("COUNTER\theap\t?\t12.5\t3\t-7").unwrap();
        assert_eq!(row.at, Nanos(12_500));
        assert_eq!((row.key.rank, row.key.thread), (3, 0));
        assert_eq!(row.value, Value::I64(-7));
        assert_eq!(
            header.row("HALT\tx\t\t1\t0\t"),
            Err(Wrong::Kind("HALT".into()))
        );
        assert!(matches!(
            header.row("EXIT\tx\t\t\t0\t"),
            Err(Wrong::Field("a time", _))
        ));
        assert!(matches!(
            header.row("EXIT\tx\t\t1\t-2\t"),
            Err(Wrong::Field("a rank", _))
        ));
        assert_eq!(Header::read("kind\tname"), None);
    }
}
