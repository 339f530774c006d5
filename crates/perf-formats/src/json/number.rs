//! Exact conversion of decimal text to integers without floating point: times to nanoseconds,
//! [`nanos`], and numbers of 64 bits, [`integer`].

/// Number of decimal digits that always fit a `u64`.
const FEW: usize = 18;

/// Returns a decimal number times 10^`scale` as an integer, rounded to the nearest with halves away
/// from zero. A `scale` of 3 converts microseconds to nanoseconds.
///
/// Returns `None` if the text is not a finite decimal number or is out of range. Floating point is
/// avoided: at the current epoch, a double of microseconds has a resolution of a quarter of a
/// microsecond.
#[inline]
pub(crate) fn nanos(text: &[u8], scale: i32) -> Option<i64> {
    let (is_negative, digits) = sign(text);
    let point = digits.iter().position(|byte| !byte.is_ascii_digit());
    let (before, rest) = digits.split_at(point.unwrap_or(digits.len()));
    let after = match rest.split_first() {
        None => &[][..],
        Some((b'.', after)) => after,
        Some(_) => return exact(digits, is_negative, scale),
    };
    let places = usize::try_from(scale).ok()?;
    if before.is_empty() || before.len() + places > FEW || after.len() > places {
        return exact(digits, is_negative, scale);
    }
    let mut value = before
        .iter()
        .fold(0, |value, byte| 10 * value + i64::from(byte - b'0'));
    for place in 0..places {
        let digit = match after.get(place) {
            None => 0,
            Some(byte) if byte.is_ascii_digit() => i64::from(byte - b'0'),
            Some(_) => return exact(digits, is_negative, scale),
        };
        value = 10 * value + digit;
    }
    Some(if is_negative { -value } else { value })
}

fn sign(text: &[u8]) -> (bool, &[u8]) {
    match text.split_first() {
        Some((b'-', digits)) => (true, digits),
        Some((b'+', digits)) => (false, digits),
        _ => (false, text),
    }
}

/// Like [`nanos`], for any number of digits and with an exponent.
#[cold]
fn exact(digits: &[u8], is_negative: bool, scale: i32) -> Option<i64> {
    let is_mark = |byte: &u8| matches!(byte, b'e' | b'E');
    let (mantissa, exponent) = match digits.iter().position(is_mark) {
        None => (digits, 0),
        Some(at) => {
            let (mantissa, exponent) = digits.split_at(at);
            (mantissa, small(exponent.get(1..)?)?)
        }
    };
    let point = mantissa.iter().position(|byte| *byte == b'.');
    let (before, after) = match point {
        None => (mantissa, &[][..]),
        Some(at) => (mantissa.get(..at)?, mantissa.get(at + 1..)?),
    };
    if before.is_empty() && after.is_empty() {
        return None;
    }
    // Number of leading digits that belong to the integer part of the result.
    let wanted = before.len() as i64 + exponent + i64::from(scale);
    let (mut value, mut index) = (0_i128, 0_i64);
    for byte in before.iter().chain(after) {
        if !byte.is_ascii_digit() {
            return None;
        }
        let digit = i128::from(byte - b'0');
        if index < wanted {
            value = 10 * value + digit;
            if value > i128::from(u64::MAX) {
                return None;
            }
        } else if index == wanted {
            value += i128::from(digit >= 5);
        }
        index += 1;
    }
    // Trailing zeros that are not in the text.
    while index < wanted && value != 0 {
        value *= 10;
        if value > i128::from(u64::MAX) {
            return None;
        }
        index += 1;
    }
    i64::try_from(if is_negative { -value } else { value }).ok()
}

/// Parses an exponent, clamped to a magnitude far beyond the useful range.
fn small(text: &[u8]) -> Option<i64> {
    const FAR: i64 = 1 << 40;
    let (is_negative, digits) = sign(text);
    if digits.is_empty() {
        return None;
    }
    let mut value = 0_i64;
    for byte in digits {
        if !byte.is_ascii_digit() {
            return None;
        }
        value = (10 * value + i64::from(byte - b'0')).min(FAR);
    }
    Some(if is_negative { -value } else { value })
}

/// Parses an integer, also from a string or with a fraction of zeros. Returns its bits, and `true`
/// if it is negative: `i64` if it is negative, `u64` otherwise.
pub(crate) fn integer(text: &[u8]) -> Option<(u64, bool)> {
    let text = std::str::from_utf8(text).ok()?;
    let text = match text.split_once('.') {
        Some((whole, zeros)) if zeros.bytes().all(|byte| byte == b'0') => whole,
        _ => text,
    };
    if text.starts_with('-') {
        let value: i64 = text.parse().ok()?;
        return Some((value.cast_unsigned(), value < 0));
    }
    Some((text.parse().ok()?, false))
}

/// Parses a non-negative integer.
pub(crate) fn whole(text: &[u8]) -> Option<u64> {
    integer(text).and_then(|(value, is_negative)| (!is_negative).then_some(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn microseconds_become_nanoseconds_exactly() {
        for (text, expected) in [
            ("0", Some(0)),
            ("1", Some(1000)),
            ("-1.5", Some(-1500)),
            ("1365627863588.761", Some(1_365_627_863_588_761)),
            ("1617494078123456.789", Some(1_617_494_078_123_456_789)),
            ("1.7e15", Some(1_700_000_000_000_000_000)),
            ("1E-3", Some(1)),
            ("0.0005", Some(1)),
            ("0.0004999999", Some(0)),
            ("-0.0005", Some(-1)),
            (".5", Some(500)),
            ("5.", Some(5000)),
            ("9223372036854775.807", Some(i64::MAX)),
            ("-9223372036854775.808", Some(i64::MIN)),
            ("9223372036854775.808", None),
            ("1e400", None),
            ("0e99999999999999999999", Some(0)),
            ("1e-99999999999999999999", Some(0)),
            ("NaN", None),
            ("Infinity", None),
            ("-", None),
            ("", None),
            (".", None),
            ("12x", None),
            ("1.2.3", None),
            ("1e", None),
            ("1 ", None),
            ("0x10", None),
        ] {
            assert_eq!(nanos(text.as_bytes(), 3), expected, "{text}");
        }
        assert_eq!(nanos(b"12", 0), Some(12));
        assert_eq!(nanos(b"12.5", 0), Some(13));
    }

    #[test]
    fn whole_numbers_of_both_signs() {
        assert_eq!(
            integer(b"10159970886766084423"),
            Some((10_159_970_886_766_084_423, false))
        );
        assert_eq!(integer(b"-1"), Some((u64::MAX, true)));
        assert_eq!(integer(b"7.0"), Some((7, false)));
        for text in ["", "-", "1.5", "1e3", "99999999999999999999", "NaN"] {
            assert_eq!(integer(text.as_bytes()), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn both_ways_are_one(whole in 0u64..10_000_000_000_000_000, fraction in 0u32..1000, digits in 0usize..4) {
            let fraction = format!("{fraction:03}");
            let text = match digits {
                0 => format!("{whole}"),
                digits => format!("{whole}.{}", &fraction[..digits]),
            };
            let fast = nanos(text.as_bytes(), 3);
            prop_assert_eq!(fast, exact(text.as_bytes(), false, 3));
            let parts: i128 = fraction[..digits].parse().unwrap_or(0);
            let value = i128::from(whole) * 1000 + parts * 10i128.pow(3 - digits as u32);
            prop_assert_eq!(fast, i64::try_from(value).ok());
        }
    }
}
