//! Conversion of the entries of a store to lines of JSON and back, with `serde` functions for some
//! of their fields.
//!
//! Fields are in the order of the fields of the types, times are integers in nanoseconds, and empty
//! fields are skipped. The bytes of an entry are the same in all versions of this crate; [`Stored`]
//! documents the differences from the default output of `serde_json`.

use super::record::{Entry, ModelRecord, Record, RunRecord, StreamRecord};
use serde::{Deserialize, Serialize};
use serde_json::ser::{CharEscape, CompactFormatter, Formatter};
use std::borrow::Cow;
use std::io::{self, Write};

/// Version of the format of lines.
const FORMAT: u64 = 1;

/// Formatter that writes small numbers as Rust does, such as `1e-5`, and all control characters
/// except line breaks and tabs as numeric escapes.
struct Stored;

impl Formatter for Stored {
    fn write_f64<W: ?Sized + Write>(&mut self, to: &mut W, value: f64) -> io::Result<()> {
        write!(to, "{value:?}")
    }

    fn write_char_escape<W: ?Sized + Write>(
        &mut self,
        to: &mut W,
        escape: CharEscape,
    ) -> io::Result<()> {
        match escape {
            CharEscape::Backspace => to.write_all(b"\\u0008"),
            CharEscape::FormFeed => to.write_all(b"\\u000c"),
            other => CompactFormatter.write_char_escape(to, other),
        }
    }
}

/// Entry with its type. Records are not wrapped, because their kind is their type.
#[derive(Serialize)]
struct Typed<'a, T> {
    r#type: &'a str,
    /// Version of the format, in the entry of a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<u64>,
    /// Entry.
    #[serde(flatten)]
    entry: &'a T,
    /// Facts of a model as text for people, which is ignored when the entry is parsed.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

impl Serialize for Entry {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        fn typed<'a, T>(r#type: &'a str, entry: &'a T) -> Typed<'a, T> {
            Typed {
                r#type,
                format: None,
                entry,
                text: None,
            }
        }
        match self {
            Entry::Run(run) => Typed {
                format: Some(FORMAT),
                ..typed("run", run)
            }
            .serialize(to),
            Entry::Stream(stream) => typed("stream", stream).serialize(to),
            Entry::Model(model) => Typed {
                text: Some(model.text().join("; ")),
                ..typed("model", model)
            }
            .serialize(to),
            Entry::Call(record) => record.serialize(to),
        }
    }
}

/// Appends an entry as one line, without a line break.
pub(super) fn write(entry: &Entry, to: &mut String) {
    let mut bytes = std::mem::take(to).into_bytes();
    let mut json = serde_json::Serializer::with_formatter(&mut bytes, Stored);
    let written = entry.serialize(&mut json);
    debug_assert!(written.is_ok(), "writing to memory: {written:?}");
    // All output is valid UTF-8.
    *to = String::from_utf8(bytes).unwrap_or_default();
}

/// Parses the entry of a line, or describes the error and its place.
pub(super) fn read(line: &str) -> Result<Entry, String> {
    #[derive(Deserialize)]
    struct Type<'a> {
        #[serde(borrow)]
        r#type: Cow<'a, str>,
    }
    #[derive(Deserialize)]
    struct Format {
        /// Version of the format.
        format: u64,
    }
    fn parse<'a, T: Deserialize<'a>>(line: &'a str) -> Result<T, String> {
        serde_json::from_str(line).map_err(|error| {
            // The input is a single line.
            let place = format!(" at line {} column {}", error.line(), error.column());
            let message = error.to_string();
            match message.strip_suffix(&place) {
                Some(message) => format!("{message}, column {}", error.column()),
                None => message,
            }
        })
    }
    if !line.trim_start().starts_with('{') {
        return Err("expected an object".into());
    }
    Ok(match &*parse::<Type<'_>>(line)?.r#type {
        "run" => {
            let Format { format } = parse(line)?;
            if format != FORMAT {
                return Err(format!(
                    "the format is of version {format}, expected {FORMAT}"
                ));
            }
            Entry::Run(parse::<RunRecord>(line)?)
        }
        "stream" => Entry::Stream(parse::<StreamRecord>(line)?),
        "model" => Entry::Model(parse::<ModelRecord>(line)?),
        "anomaly" | "normal" => Entry::Call(Box::new(parse::<Record>(line)?)),
        other => {
            let start: String = other.chars().take(40).collect();
            return Err(format!("no entry has the type `{start}`"));
        }
    })
}

/// Returns `true` for values that are skipped.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Conversion of names and values to an object.
pub(super) mod facts {
    use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
    use serde::{Serialize, Serializer};
    use std::fmt;
    use std::marker::PhantomData;

    pub(crate) fn serialize<T: Serialize, S: Serializer>(
        facts: &[(String, T)],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_map(facts.iter().map(|(name, value)| (name, value)))
    }

    struct Facts<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for Facts<T> {
        type Value = Vec<(String, T)>;

        fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
            to.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut facts = Vec::new();
            while let Some(fact) = map.next_entry()? {
                facts.push(fact);
            }
            Ok(facts)
        }
    }

    pub(crate) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<(String, T)>, D::Error> {
        from.deserialize_map(Facts(PhantomData))
    }
}

/// Conversion of numbers; `null` is read as NaN.
pub(super) mod number {
    use serde::{Deserialize, Deserializer};

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        Ok(Option::deserialize(from)?.unwrap_or(f64::NAN))
    }
}

/// Conversion of names and numbers to an object.
pub(super) mod numbers {
    pub(crate) use super::facts::serialize;
    use serde::Deserializer;

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<(String, f64)>, D::Error> {
        let facts: Vec<(String, Option<f64>)> = super::facts::deserialize(from)?;
        let number = |(name, value): (String, Option<f64>)| (name, value.unwrap_or(f64::NAN));
        Ok(facts.into_iter().map(number).collect())
    }
}

/// Conversion of the value of a counter to a number.
pub(super) mod value {
    use perf_core::Value;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Variants are tried in this order: a non-negative whole number is unsigned.
    #[derive(Serialize, Deserialize)]
    #[serde(untagged, expecting = "expected a number")]
    enum Number {
        U64(u64),
        I64(i64),
        F64(Option<f64>),
    }

    pub(crate) fn serialize<S: Serializer>(value: &Value, to: S) -> Result<S::Ok, S::Error> {
        let number = match *value {
            Value::U64(value) => Number::U64(value),
            Value::I64(value) => Number::I64(value),
            Value::F64(value) => Number::F64(Some(value)),
        };
        number.serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Value, D::Error> {
        Ok(match Number::deserialize(from)? {
            Number::U64(value) => Value::U64(value),
            Number::I64(value) => Value::I64(value),
            Number::F64(value) => Value::F64(value.unwrap_or(f64::NAN)),
        })
    }
}

/// Conversion of the direction of a message to `send` or `receive`.
pub(super) mod direction {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Direction {
        Send,
        Receive,
    }

    pub(crate) fn serialize<S: Serializer>(is_sent: &bool, to: S) -> Result<S::Ok, S::Error> {
        if *is_sent {
            Direction::Send.serialize(to)
        } else {
            Direction::Receive.serialize(to)
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
        Ok(matches!(Direction::deserialize(from)?, Direction::Send))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provenance::{CounterRecord, Kind};
    use perf_core::{Nanos, Value};
    use proptest::prelude::*;

    proptest! {
            /// Numbers and texts are written according to `Debug` and the rules of JSON.
            #[test]
            fn numbers_and_texts_come_back(bits in any::<u64>(), name in ".*", signed in any::<i64>()) {
                let number = f64::from_bits(bits);
                let mut record = Record { kind: Kind::Anomaly, score: number, ..Record::default() };
                record.host = Some(name.clone());
                let counter = |value| CounterRecord { at: Nanos(1), name: name.clone(), value };
                let values = [Value::F64(number), Value::U64(bits), Value::I64(signed)];
                record.counters = values.map(counter).into();
                let mut line = String::new();
                write(&Entry::Call(Box::new(record)), &mut line);
                let expected = if number.is_finite() {
    format!("{number:?}")
    } else {
    "null".into()
    };
                let has = line.contains(&format!(r#""score":{expected},"#));
                prop_assert!(has);
                let mut again = String::new();
                write(&read(&line).map_err(TestCaseError::fail)?, &mut again);
                prop_assert_eq!(line, again);
            }
        }
}
