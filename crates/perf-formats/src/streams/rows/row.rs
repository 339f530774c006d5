//! [`Row`]: event parsed from one line of a table or JSON stream, and parsers of its times and
//! numbers.

use perf_core::{EventSink, Nanos, Peer, StreamEvent, StreamKey, Value};
use std::borrow::Cow;

/// Kind of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::streams) enum Kind {
    Enter,
    Exit,
    Send,
    Receive,
    Counter,
    Metadata,
}

impl Kind {
    pub(in crate::streams) fn named(name: &str) -> Option<Self> {
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
pub(in crate::streams) struct Row<'a> {
    /// Step number, if the row has one.
    pub(in crate::streams) step: Option<u64>,
    /// Time of the event.
    pub(in crate::streams) at: Nanos,
    /// Stream of the event.
    pub(in crate::streams) key: StreamKey,
    /// Kind of the event.
    pub(in crate::streams) kind: Kind,
    /// Name of the region, counter or metadata.
    pub(in crate::streams) name: Cow<'a, str>,
    /// Message properties.
    pub(in crate::streams) peer: Peer,
    /// Value of the counter.
    pub(in crate::streams) value: Value,
    /// Value of metadata.
    pub(in crate::streams) text: Cow<'a, str>,
}

/// Reason why a line is not a valid row.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::streams) enum Wrong {
    /// The expected content, and the content found.
    Field(&'static str, String),
    /// The kind of event is unknown.
    Kind(String),
}

impl Row<'_> {
    pub(in crate::streams) fn push(&self, sink: &mut dyn EventSink) {
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

/// Returns the unit of a column of times in nanoseconds; `None` for other names.
pub(in crate::streams) fn unit(name: &str) -> Option<i64> {
    Some(match name {
        "ts_s" => 1_000_000_000,
        "ts_ms" => 1_000_000,
        "ts_us" => 1_000,
        "ts_ns" => 1,
        _ => return None,
    })
}

/// Parses a decimal number in units of `scale` nanoseconds, such as `12.5` or `1.25e1`
/// microseconds, exactly. Digits below a nanosecond are truncated.
pub(in crate::streams) fn time(text: &str, scale: i64) -> Option<Nanos> {
    if let (Ok(units), false) = (text.parse::<i64>(), text.starts_with('+')) {
        return units.checked_mul(scale).map(Nanos);
    }
    let (nanos, _) = decimal(text, scale.unsigned_abs())?;
    i64::try_from(nanos).ok().map(Nanos)
}

/// Parses an integer in any decimal notation, such as `-3`, `3.0` or `1.5e3`.
pub(in crate::streams) fn whole(text: &str) -> Option<i128> {
    let (number, is_exact) = decimal(text, 1)?;
    is_exact.then_some(number)
}

/// Parses a decimal number, multiplied by `scale` and truncated. The flag is `true` if no fraction
/// was lost.
fn decimal(text: &str, scale: u64) -> Option<(i128, bool)> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (sign, digits) = match mantissa.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, mantissa),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() {
        return None;
    }
    let fraction = fraction.trim_end_matches('0');
    let mut number = 0_i128;
    for digit in whole.bytes().chain(fraction.bytes()) {
        let digit = digit.is_ascii_digit().then(|| i128::from(digit - b'0'))?;
        number = number.checked_mul(10)?.checked_add(digit)?;
    }
    number = number.checked_mul(i128::from(scale))?;
    let power = i64::from(exponent) - i64::try_from(fraction.len()).ok()?;
    let mut is_exact = true;
    // More steps than the digits of any number have no effect.
    for _ in 0..power.unsigned_abs().min(64) {
        if power > 0 {
            number = number.checked_mul(10)?;
        } else {
            is_exact &= number % 10 == 0;
            number /= 10;
        }
    }
    Some((sign * number, is_exact))
}

/// Parses a number as the narrowest type that represents it.
pub(in crate::streams) fn number(text: &str) -> Option<Value> {
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
        assert_eq!(time("1.5e9", 1000), Some(Nanos(1_500_000_000_000)));
        assert_eq!(time("1.5591e15", 1000), time("1559100000000000", 1000));
        assert_eq!(time("12e-4", 1000), Some(Nanos(1)));
        assert_eq!(time("0e999", 1), Some(Nanos(0)));
        for wrong in [
            "",
            ".5",
            "1e19",
            "1e",
            "e3",
            "1.5e9x",
            "9223372036854775807",
            "1.-2",
            "--1",
            "+1",
            "1e99999999999",
        ] {
            assert_eq!(time(wrong, 1000), None, "{wrong}");
        }
    }

    #[test]
    fn whole_numbers_come_in_any_notation() {
        for (text, number) in [
            ("3.0", 3),
            ("3.", 3),
            ("-30e-1", -3),
            ("1.5E9", 1_500_000_000),
            ("0.5e1", 5),
            ("18446744073709551615.0", i128::from(u64::MAX)),
            ("1e0", 1),
        ] {
            assert_eq!(whole(text), Some(number), "{text}");
        }
        for wrong in ["3.5", "1e-1", "0.1", "1e40", "", "x", "NaN", "1.5e"] {
            assert_eq!(whole(wrong), None, "{wrong}");
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
