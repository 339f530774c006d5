//! [`Row`]: one event as a line has it.

use perf_core::{EventSink, Nanos, Peer, StreamEvent, StreamKey, Value};
use std::borrow::Cow;

/// What a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Enter,
    Exit,
    Send,
    Receive,
    Counter,
    Metadata,
}

impl Kind {
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "ENTRY" => Kind::Enter,
            "EXIT" => Kind::Exit,
            "SEND" => Kind::Send,
            "RECV" => Kind::Receive,
            "COUNTER" => Kind::Counter,
            "METADATA" => Kind::Metadata,
            _ => return None,
        })
    }
}

/// One event.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row<'a> {
    pub(super) step: Option<u64>,
    pub(super) at: Nanos,
    pub(super) key: StreamKey,
    pub(super) kind: Kind,
    pub(super) name: Cow<'a, str>,
    pub(super) peer: Peer,
    pub(super) value: Value,
    /// The value of metadata.
    pub(super) text: Cow<'a, str>,
}

/// Why a line is no row.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Wrong {
    /// What was expected, and what is there.
    Field(&'static str, String),
    /// The kind is none of a stream.
    Kind(String),
}

impl Row<'_> {
    pub(super) fn push(&self, sink: &mut dyn EventSink) {
        let stream = sink.stream(self.key);
        let event = match self.kind {
            Kind::Enter => StreamEvent::Enter(sink.region(self.key.program, &self.name)),
            Kind::Exit => StreamEvent::Exit(sink.region(self.key.program, &self.name)),
            Kind::Send => StreamEvent::Send(self.peer),
            Kind::Receive => StreamEvent::Receive(self.peer),
            Kind::Counter => StreamEvent::Counter(sink.counter(&self.name), self.value),
            Kind::Metadata => return sink.metadata(stream, &self.name, &self.text),
        };
        sink.push(stream, self.at, event);
    }
}

/// A decimal number of units of `scale` nanoseconds, such as `12.5` microseconds, exactly; digits
/// below a nanosecond are cut off.
pub(super) fn time(text: &str, scale: i64) -> Option<Nanos> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let mut nanos = whole.parse::<i64>().ok()?.checked_mul(scale)?;
    let mut unit = scale;
    for digit in fraction.bytes() {
        unit /= 10;
        nanos = nanos.checked_add(i64::from(digit - b'0') * unit)?;
    }
    Some(Nanos(sign * nanos))
}

/// A number as the narrowest value that holds it.
pub(super) fn number(text: &str) -> Option<Value> {
    if let Ok(value) = text.parse() {
        return Some(Value::U64(value));
    }
    if let Ok(value) = text.parse() {
        return Some(Value::I64(value));
    }
    text.parse().ok().map(Value::F64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact() {
        assert_eq!(
            time("1559662194845602", 1000),
            Some(Nanos(1_559_662_194_845_602_000))
        );
        assert_eq!(time("-3.0625", 1000), Some(Nanos(-3062)));
        assert_eq!(time("7", 1), Some(Nanos(7)));
        for wrong in ["", ".5", "1e3", "9223372036854775807", "1.-2", "--1", "+1"] {
            assert_eq!(time(wrong, 1000), None, "{wrong}");
        }
    }

    #[test]
    fn numbers_keep_their_type() {
        assert_eq!(number("18446744073709551615"), Some(Value::U64(u64::MAX)));
        assert_eq!(number("-4"), Some(Value::I64(-4)));
        assert_eq!(number("2.5"), Some(Value::F64(2.5)));
        assert_eq!(number("x"), None);
    }
}
