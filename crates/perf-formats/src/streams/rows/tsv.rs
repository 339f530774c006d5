//! [`Header`]: columns of a tab-separated table, repaired if damaged, by which its lines are parsed
//! to a [`Row`].

use super::row::{Kind, Row, Wrong, number, time, unit, whole};
use perf_core::{Nanos, Peer, StreamKey, Value};

/// Meaning of the columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::streams) struct Header {
    /// Columns in the order of the header.
    columns: Vec<Column>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Step,
    /// A time in units of this many nanoseconds.
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

/// Columns of the usual header; the last is often omitted.
const USUAL: [&str; 11] = [
    "step", "ts_us", "program", "rank", "thread", "kind", "name", "tag", "partner", "bytes",
    "value",
];

impl Column {
    fn named(name: &str) -> Self {
        match name {
            "step" => Column::Step,
            "program" => Column::Program,
            "rank" => Column::Rank,
            "thread" => Column::Thread,
            "kind" => Column::Kind,
            "name" => Column::Name,
            "tag" => Column::Tag,
            "partner" => Column::Partner,
            "bytes" => Column::Bytes,
            "value" => Column::Value,
            _ => unit(name).map_or(Column::Unknown, Column::Time),
        }
    }
}

/// Returns `true` for a name that is another one with a wrong part, such as `t_us` for `ts_us`. Other names are columns of
/// another meaning.
fn is_damaged(name: &str, usual: &str) -> bool {
    let equal = |(own, other): &(u8, u8)| own == other;
    let first = name.bytes().zip(usual.bytes()).take_while(equal).count();
    let last = name.bytes().rev().zip(usual.bytes().rev());
    let last = last.take_while(equal).count();
    name.len().abs_diff(usual.len()) <= 1 && 2 * (first + last) >= usual.len()
}

impl Header {
    /// Returns the header if it has a time and a kind, otherwise `None`.
    fn checked(self) -> Option<Self> {
        let is_time = |column: &Column| matches!(column, Column::Time(_));
        let is_whole = self.columns.iter().any(is_time) && self.columns.contains(&Column::Kind);
        is_whole.then_some(self)
    }

    /// Returns the usual header.
    pub(in crate::streams) fn usual() -> Self {
        let names = USUAL.iter().map(|name| Column::named(name));
        Header {
            columns: names.collect(),
        }
    }

    /// Parses a header; the flag is `true` if it was repaired. Damaged names are repaired if at
    /// least half of the columns equal those of the usual header. Returns `None` without a time or
    /// a kind.
    pub(in crate::streams) fn repaired(line: &str) -> Option<(Self, bool)> {
        let mut columns: Vec<Column> = line.split('\t').map(Column::named).collect();
        let usual = Self::usual().columns;
        let same = columns
            .iter()
            .zip(&usual)
            .filter(|(own, other)| own == other);
        let mut is_repaired = false;
        if columns.len() + 1 >= usual.len() && 2 * same.count() >= usual.len() {
            let names = line.split('\t').zip(USUAL);
            for ((own, other), (name, usual)) in columns.iter_mut().zip(usual).zip(names) {
                if *own == Column::Unknown && is_damaged(name, usual) {
                    is_repaired = true;
                    *own = other;
                }
            }
        }
        Some((Header { columns }.checked()?, is_repaired))
    }

    /// Returns `true` if all names of the header are known columns.
    pub(in crate::streams) fn is_known(&self) -> bool {
        !self.columns.contains(&Column::Unknown)
    }

    /// Returns `true` if the header has as many columns as the usual one; the last may be missing.
    pub(in crate::streams) fn is_whole(&self) -> bool {
        self.columns.len() + 1 >= USUAL.len()
    }

    /// Returns `true` if the header is a prefix of the usual header and `line` has more columns.
    pub(in crate::streams) fn is_cut(&self, line: &str) -> bool {
        Self::usual().columns.starts_with(&self.columns)
            && line.split('\t').count() > self.columns.len()
    }

    /// Parses a line. Missing or empty columns are 0 or empty, but an event needs a kind and,
    /// except for metadata, a time.
    pub(in crate::streams) fn row<'a>(&self, line: &'a str) -> Result<Row<'a>, Wrong> {
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

pub(in crate::streams) fn wrong(expected: &'static str, got: &str) -> Wrong {
    // A line can be long; its beginning is sufficient for the message.
    Wrong::Field(expected, got.chars().take(40).collect())
}

/// Parses an integer, also as `3.0` or `3e0`: some tools convert all columns to floating point.
pub(in crate::streams) fn integer(field: &str, what: &'static str) -> Result<u64, Wrong> {
    let parsed = field.parse().ok();
    let exact = || u64::try_from(whole(field)?).ok();
    parsed.or_else(exact).ok_or_else(|| wrong(what, field))
}

pub(in crate::streams) fn small(field: &str, what: &'static str) -> Result<u32, Wrong> {
    let parsed = field.parse().ok();
    let exact = || u32::try_from(whole(field)?).ok();
    parsed.or_else(exact).ok_or_else(|| wrong(what, field))
}

/// Parses a tag, which may be negative: wildcards and internal messages of libraries use such tags.
pub(in crate::streams) fn signed(field: &str, what: &'static str) -> Result<u32, Wrong> {
    let parsed = field.parse::<u32>().ok();
    let exact = || {
        let number = whole(field)?;
        let negative = || i32::try_from(number).ok().map(i32::cast_unsigned);
        u32::try_from(number).ok().or_else(negative)
    };
    parsed.or_else(exact).ok_or_else(|| wrong(what, field))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_come_in_any_order() {
        let (header, is_repaired) =
            Header::repaired("kind\tname\tsurprise\tts_us\trank\tbytes").unwrap();
        assert!(!is_repaired);
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
        assert_eq!(Header::repaired("kind\tname"), None);
        // One or two names of the usual header are damaged.
        let damaged = USUAL
            .join("\t")
            .replace("ts_us", "t_us")
            .replace("rank", "r?nk");
        assert_eq!(Header::repaired(&damaged), Some((Header::usual(), true)));
        // Columns of another meaning are ignored, wherever they are.
        let more = USUAL.join("\t").replace("value", "extra");
        let (header, is_repaired) = Header::repaired(&more).unwrap();
        assert!(!is_repaired && !header.is_known());
        let seconds = USUAL.join("\t").replace("ts_us", "ts_s");
        let (header, _) = Header::repaired(&seconds).unwrap();
        let row = header.row("0\t1.5\t0\t0\t0\tENTRY\tmain").unwrap();
        assert_eq!(row.at, Nanos(1_500_000_000));
        assert_eq!(
            Header::repaired(&USUAL.join("\t")),
            Some((Header::usual(), false))
        );
    }
}
