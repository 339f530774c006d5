//! [`Names`]: parses a line of newline-delimited JSON to a [`Line`]: a [`Row`] from an array of 12
//! columns or an object, or definitions of numbered names, which it keeps.

use super::row::{Kind, Row, Wrong, number, time, unit, whole};
use super::scan::{Field, Scalar, fields};
use super::tsv::{integer, signed, small, wrong};
use perf_core::{Nanos, Peer, StreamKey, Value};
use std::borrow::Cow;
use std::collections::HashMap;

/// Names that previous lines assigned to numbers.
#[derive(Clone, Debug, Default)]
pub(in crate::streams) struct Names {
    /// Names of event types.
    kinds: HashMap<u64, String>,
    /// Names of timers.
    timers: HashMap<u64, String>,
    /// Names of counters.
    counters: HashMap<u64, String>,
}

/// Contents of a line.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::streams) enum Line<'a> {
    Row(Row<'a>),
    /// Definitions of this many names.
    Names(u64),
    /// This many names exceed the limit.
    TooMany(u64),
}

fn is_event(fields: &[Field<'_>]) -> bool {
    let is_of_event = |key: &str| matches!(key, "timestamp" | "kind") || unit(key).is_some();
    fields.iter().any(|(key, _)| is_of_event(key))
}

impl Names {
    /// Parses a line; at most `limit` names of each kind are kept.
    pub(in crate::streams) fn line<'a>(
        &mut self,
        line: &'a str,
        limit: u32,
    ) -> Result<Line<'a>, Wrong> {
        let (is_array, fields) = fields(line)?;
        if is_array || is_event(&fields) {
            self.event_of(is_array, &fields).map(Line::Row)
        } else {
            self.define(&fields, limit)
        }
    }

    /// Parses a line as a row with the known names, or returns `None`.
    pub(in crate::streams) fn row<'a>(&self, line: &'a str) -> Option<Row<'a>> {
        let (is_array, fields) = fields(line).ok()?;
        let is_row = is_array || is_event(&fields);
        is_row.then(|| self.event_of(is_array, &fields).ok())?
    }

    fn event_of<'a>(&self, is_array: bool, fields: &[Field<'a>]) -> Result<Row<'a>, Wrong> {
        if is_array {
            self.columns(fields)
        } else {
            self.event(fields)
        }
    }

    /// Parses a row of `program, rank, thread, event_type, timer, counter, counter_value, event,
    /// tag, partner, bytes, timestamp`.
    fn columns<'a>(&self, fields: &[Field<'a>]) -> Result<Row<'a>, Wrong> {
        let [
            (_, program),
            (_, rank),
            (_, thread),
            (_, event_type),
            (_, timer),
            (_, counter),
            (_, counter_value),
            _,
            (_, tag),
            (_, partner),
            (_, bytes),
            (_, timestamp),
        ] = fields
        else {
            let got = format!("{} columns", fields.len());
            return Err(Wrong::Field("a row of 12 columns", got));
        };
        let mut row = blank();
        row.key = StreamKey {
            program: small(program.text(), "a program")?,
            rank: small(rank.text(), "a rank")?,
            thread: small(thread.text(), "a thread")?,
        };
        row.at = at_time(timestamp.text(), 1000)?;
        if event_type.is_nothing() && !counter.is_nothing() {
            row.kind = Kind::Counter;
            row.name = named(&self.counters, counter)?;
            let value = counter_value.text();
            row.value = number(value).ok_or_else(|| wrong("a value", value))?;
            return Ok(row);
        }
        let kind = named(&self.kinds, event_type)?;
        row.kind = Kind::named(&kind).ok_or_else(|| Wrong::Kind(kind.into_owned()))?;
        match row.kind {
            Kind::Send | Kind::Receive => {
                row.peer = Peer {
                    rank: small(partner.text(), "a rank")?,
                    tag: signed(tag.text(), "a tag")?,
                    bytes: integer(bytes.text(), "a number of bytes")?,
                };
            }
            _ => row.name = named(&self.timers, timer)?,
        }
        Ok(row)
    }

    fn event<'a>(&self, fields: &[Field<'a>]) -> Result<Row<'a>, Wrong> {
        let mut row = blank();
        let mut at = None;
        let mut kind = None;
        let mut name = None;
        let mut value = None;
        for (key, field) in fields.iter().filter(|(_, field)| !field.is_nothing()) {
            let text = field.text();
            match &**key {
                "step" => row.step = Some(integer(text, "a step")?),
                "timestamp" => at = Some(at_time(text, 1000)?),
                "program" => row.key.program = small(text, "a program")?,
                "rank" => row.key.rank = small(text, "a rank")?,
                "thread" => row.key.thread = small(text, "a thread")?,
                "kind" | "event_type" => kind = Some(named(&self.kinds, field)?),
                "name" => name = Some(field),
                "tag" => row.peer.tag = signed(text, "a tag")?,
                "partner" => row.peer.rank = small(text, "a rank")?,
                "bytes" => row.peer.bytes = integer(text, "a number of bytes")?,
                "value" => value = Some(field),
                other => {
                    if let Some(unit) = unit(other) {
                        at = Some(at_time(text, unit)?);
                    }
                }
            }
        }
        let kind = kind.unwrap_or_default();
        row.kind = Kind::named(&kind).ok_or_else(|| Wrong::Kind(kind.into_owned()))?;
        match row.kind {
            Kind::Send | Kind::Receive => {}
            Kind::Counter => {
                let text = value.map_or("", Scalar::text);
                row.value = match value {
                    Some(_) => number(text).ok_or_else(|| wrong("a value", text))?,
                    None => Value::U64(row.peer.bytes),
                };
            }
            Kind::Metadata => row.text = owned(value),
            Kind::Enter | Kind::Exit => {}
        }
        let names = match row.kind {
            Kind::Counter => &self.counters,
            _ => &self.timers,
        };
        row.name = match (row.kind, name) {
            (Kind::Enter | Kind::Exit | Kind::Counter, Some(name)) => named(names, name)?,
            (Kind::Enter | Kind::Exit | Kind::Counter, None) => return Err(wrong("a name", "")),
            (_, name) => owned(name),
        };
        row.at = match at {
            Some(at) => at,
            None if row.kind == Kind::Metadata => Nanos(0),
            None => return Err(wrong("a time", "")),
        };
        Ok(row)
    }

    fn define<'a>(&mut self, fields: &[Field<'a>], limit: u32) -> Result<Line<'a>, Wrong> {
        let (mut known, mut refused) = (0, 0);
        for (key, name) in fields {
            let of = |what: &str| key.strip_prefix(what)?.trim().parse::<u64>().ok();
            let (names, id) = if let Some(id) = of("timer ") {
                (&mut self.timers, id)
            } else if let Some(id) = of("event_type ") {
                (&mut self.kinds, id)
            } else if let Some(id) = of("counter ") {
                (&mut self.counters, id)
            } else {
                return Err(wrong("an event or names such as `timer 3`", key));
            };
            if names.len() >= limit as usize {
                refused += 1;
                continue;
            }
            names.insert(id, name.text().into());
            known += 1;
        }
        Ok(match refused {
            0 => Line::Names(known),
            refused => Line::TooMany(refused),
        })
    }
}

fn blank<'a>() -> Row<'a> {
    Row {
        step: None,
        at: Nanos(0),
        key: StreamKey::default(),
        kind: Kind::Enter,
        name: "".into(),
        peer: Peer::default(),
        value: Value::U64(0),
        text: "".into(),
    }
}

fn owned<'a>(scalar: Option<&Scalar<'a>>) -> Cow<'a, str> {
    match scalar {
        Some(Scalar::Text(text)) => text.clone(),
        Some(Scalar::Number(text)) => (*text).into(),
        Some(Scalar::Nothing) | None => "".into(),
    }
}

/// Returns the name in a field, or the name for the number in it.
fn named<'a>(names: &HashMap<u64, String>, field: &Scalar<'a>) -> Result<Cow<'a, str>, Wrong> {
    match field {
        Scalar::Text(text) => Ok(text.clone()),
        Scalar::Number(text) => {
            let id = whole(text).and_then(|id| u64::try_from(id).ok());
            let name = id.and_then(|id| names.get(&id));
            let name = name.ok_or_else(|| wrong("the number of a defined name", text))?;
            Ok(name.clone().into())
        }
        Scalar::Nothing => Err(wrong("a name", "nothing")),
    }
}

fn at_time(text: &str, scale: i64) -> Result<Nanos, Wrong> {
    time(text, scale).ok_or_else(|| wrong("a time", text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn row<'a>(names: &mut Names, line: &'a str) -> Row<'a> {
        match names.line(line, 100).unwrap() {
            Line::Row(row) => row,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn rows_of_numbers_and_of_names() {
        let mut names = Names::default();
        let define = r#"{"event_type 1": "ENTRY", "timer 7": "main", "counter 0": "heap"}"#;
        assert_eq!(names.line(define, 100), Ok(Line::Names(3)));
        let enter = r#"[0, 3, 1, 1, 7, "NA", "NA", 55, null, NaN, NaN, 1500]"#;
        let enter = row(&mut names, enter);
        assert_eq!((enter.kind, &*enter.name), (Kind::Enter, "main"));
        assert_eq!((enter.at, enter.key.rank), (Nanos(1_500_000), 3));
        let send = r#"[0,3,1,"SEND",null,null,null,56,12.0,4.0,1024.0,1501]"#;
        assert_eq!(
            row(&mut names, send).peer,
            Peer {
                rank: 4,
                tag: 12,
                bytes: 1024
            }
        );
        let heap = "[0,3,1,NaN,NaN,0,2.5,57,NaN,NaN,NaN,1502]";
        let heap = row(&mut names, heap);
        assert_eq!((heap.value, &*heap.name), (Value::F64(2.5), "heap"));
    }

    #[test]
    fn objects_have_the_columns_of_tables() {
        let mut names = Names::default();
        let line =
            r#"{"step":2,"ts_us":12.5,"rank":1,"kind":"EXIT","name":"a \"b\"\u00e9\ud83d\ude00"}"#;
        let exit = row(&mut names, line);
        assert_eq!((exit.step, exit.at), (Some(2), Nanos(12_500)));
        assert_eq!(exit.name, "a \"b\"é😀");
        let line = r#"{"kind":"METADATA","name":"Hostname","value":"n1"}"#;
        assert_eq!(row(&mut names, line).text, "n1");
    }

    #[test]
    fn what_is_no_event_is_told() {
        let mut names = Names::default();
        for line in [
            "",
            "[",
            "{}x",
            "[1,2]",
            "[[1]]",
            r#"{"kind":"ENTRY","ts_us":1}"#,
            r#"{"timer x":1}"#,
            r#"{"kind":"ENTRY","ts_us":1,"name":"\ud800"}"#,
            r#"{"kind":"ENTRY","name":"\"#,
            "[0,0,0,9,0,0,0,0,0,0,0,0]",
            r#"{"a":true}"#,
        ] {
            assert!(names.line(line, 100).is_err(), "{line}");
        }
        let refused = names.line(r#"{"timer 1":"a","timer 2":"b"}"#, 1);
        assert_eq!(refused, Ok(Line::TooMany(1)));
    }

    proptest! {
        #[test]
        fn any_line_is_read_or_refused(line in "\\PC{0,60}|[\\[\\]{}\",:0-9a-z \\\\]{0,60}") {
            let _ = Names::default().line(&line, 10);
        }
    }
}
