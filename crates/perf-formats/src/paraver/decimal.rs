//! [`Cursor`]: parses the decimal numbers and colons of the lines of a `.prv`, eight digits at a
//! time.

/// Read position in a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    /// Text to parse.
    text: &'a [u8],
    /// Position in the text.
    at: usize,
    /// `true` if all numbers so far have the format of the writer, without leading zeros.
    pub(super) is_plain: bool,
}

/// Description of the expected element.
pub(super) type Expected = &'static str;

const ZEROS: u64 = 0x3030_3030_3030_3030;
const POWERS: [u64; 9] = [
    1,
    10,
    100,
    1_000,
    10_000,
    100_000,
    1_000_000,
    10_000_000,
    100_000_000,
];

/// Returns the number for eight bytes from 0 to 9. The first digit is in the lowest byte.
#[inline(always)]
fn eight(digits: u64) -> u64 {
    // Neighbouring digits are combined in pairs: 10a+b, then 100ab+cd, then 10,000abcd+efgh.
    let pairs = (digits.wrapping_mul(10) + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100) + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    (fours.wrapping_mul(10_000) + (fours >> 32)) & 0xffff_ffff
}

/// Parses up to eight digits at the start of a word of text. Returns the number and the count of
/// digits.
#[inline(always)]
fn digits(word: u64) -> (u64, u32) {
    let word = word ^ ZEROS;
    // Sets the high bit of each byte above 9. Only such bytes produce a carry, so the lowest marked
    // byte is correct.
    let others = (word.wrapping_add(0x7676_7676_7676_7676) | word) & 0x8080_8080_8080_8080;
    let count = others.trailing_zeros() / 8;
    match count {
        0 => (0, 0),
        // Shift out the bytes after the digits; this fills in leading zeros.
        _ => (eight(word << (64 - 8 * count)), count),
    }
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a [u8], at: usize) -> Self {
        Cursor {
            text,
            at,
            is_plain: true,
        }
    }

    /// Moves to another position.
    pub(super) fn jump(&mut self, at: usize) {
        self.at = at;
    }

    /// Returns a cursor at another position.
    #[inline(always)]
    pub(super) fn behind(self, at: usize) -> Self {
        Cursor { at, ..self }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    #[inline(always)]
    pub(super) fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    #[inline(always)]
    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let is_there = self.peek() == Some(byte);
        self.at += usize::from(is_there);
        is_there
    }

    #[inline(always)]
    pub(super) fn colon(&mut self) -> Result<(), Expected> {
        if self.eat(b':') { Ok(()) } else { Err("`:`") }
    }

    /// Parses an unsigned number.
    #[inline(always)]
    pub(super) fn number(&mut self, expected: Expected) -> Result<u64, Expected> {
        let Some(word) = self.word() else {
            return self.slow(0, 0, expected);
        };
        let (value, count) = digits(word);
        if word as u8 == b'0' && count > 1 {
            self.is_plain = false;
        }
        self.at += count as usize;
        match count {
            0 => Err(expected),
            // Event types have exactly eight digits.
            8 if self.peek().is_some_and(|byte| byte.is_ascii_digit()) => {
                self.more(value, expected)
            }
            _ => Ok(value),
        }
    }

    /// Parses a number of 32 bits and the colon after it. Has a fast path for the usual single digit.
    #[inline(always)]
    pub(super) fn field(&mut self, expected: Expected) -> Result<u32, Expected> {
        if let Some([digit @ b'0'..=b'9', b':']) = self.pair() {
            self.at += 2;
            return Ok(u32::from(digit - b'0'));
        }
        let value = self.small(expected)?;
        self.colon()?;
        Ok(value)
    }

    #[inline(always)]
    fn pair(&self) -> Option<[u8; 2]> {
        self.text.get(self.at..)?.first_chunk::<2>().copied()
    }

    /// Parses the digits after the first eight.
    #[inline(always)]
    fn more(&mut self, high: u64, expected: Expected) -> Result<u64, Expected> {
        let Some(word) = self.word() else {
            return self.slow(high, 8, expected);
        };
        let (low, count) = digits(word);
        self.at += count as usize;
        let scale = POWERS[count as usize];
        // The value is less than 10^16, so this cannot overflow.
        let value = high * scale + low;
        match count {
            8 => self.slow(value, 16, expected),
            _ => Ok(value),
        }
    }

    #[inline(always)]
    fn word(&self) -> Option<u64> {
        let bytes = self.text.get(self.at..)?.first_chunk::<8>()?;
        Some(u64::from_le_bytes(*bytes))
    }

    /// Parses digit by digit, at the end of the text and beyond sixteen digits. `high` is the value of
    /// the `before` digits parsed so far.
    #[cold]
    fn slow(&mut self, high: u64, before: usize, expected: Expected) -> Result<u64, Expected> {
        let (start, mut value) = (self.at, high);
        while let Some(digit) = self.peek().filter(u8::is_ascii_digit) {
            let next = value.checked_mul(10);
            let next = next.and_then(|value| value.checked_add(u64::from(digit - b'0')));
            value = next.ok_or("a number of 64 bits")?;
            self.at += 1;
        }
        let count = self.at - start;
        if before == 0 {
            if count == 0 {
                return Err(expected);
            }
            self.is_plain &= count == 1 || self.text.get(start) != Some(&b'0');
        }
        Ok(value)
    }

    /// Parses an unsigned number of 32 bits.
    #[inline(always)]
    pub(super) fn small(&mut self, expected: Expected) -> Result<u32, Expected> {
        let start = self.at;
        let value = self.number(expected)?;
        u32::try_from(value).map_err(|_| {
            self.at = start;
            "a number of 32 bits"
        })
    }

    /// Parses a number with an optional sign. Returns `true` if it is negative, and its bits.
    #[inline(always)]
    pub(super) fn signed(&mut self, expected: Expected) -> Result<(bool, u64), Expected> {
        if self.peek() != Some(b'-') {
            return Ok((false, self.number(expected)?));
        }
        let start = self.at;
        self.at += 1;
        let size = self.number(expected)?;
        if size > 1 << 63 {
            self.at = start;
            return Err("a number of 64 bits");
        }
        // `-0` is not the plain format of 0.
        self.is_plain &= size != 0;
        Ok((size != 0, size.wrapping_neg()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn number(text: &str) -> (Result<u64, Expected>, usize, bool) {
        let mut cursor = Cursor::new(text.as_bytes(), 0);
        let value = cursor.number("digits");
        (value, cursor.at(), cursor.is_plain)
    }

    proptest! {
        #[test]
        fn numbers_are_what_the_standard_library_reads(
            text in "[0-9]{0,24}", after in "[:\n x/-]{0,1}[0-9:]{0,12}",
        ) {
            let whole = format!("{text}{after}");
            let end = whole.find(|c: char| !c.is_ascii_digit()).unwrap_or(whole.len());
            let (value, at, is_plain) = number(&whole);
            let naive = whole.get(..end).and_then(|digits| digits.parse::<u64>().ok());
            prop_assert_eq!(value.ok(), naive);
            if naive.is_some() {
                prop_assert_eq!(at, end);
                prop_assert_eq!(is_plain, end == 1 || !whole.starts_with('0'));
            }
        }

        #[test]
        fn signed_numbers_keep_sign_and_bits(value: i64, after in "[:\n]{0,1}[0-9:]{0,9}") {
            let text = format!("{value}{after}");
            let mut cursor = Cursor::new(text.as_bytes(), 0);
            if after.starts_with([':', '\n']) || after.is_empty() {
                let got = cursor.signed("a value");
                prop_assert_eq!(got, Ok((value < 0, value.cast_unsigned())));
                prop_assert!(cursor.is_plain);
            }
        }
    }

    #[test]
    fn the_largest_numbers_fit_and_no_larger() {
        assert_eq!(number("18446744073709551615:").0, Ok(u64::MAX));
        assert!(number("18446744073709551616:").0.is_err());
        let mut cursor = Cursor::new(b"-9223372036854775809", 0);
        assert!(cursor.signed("a value").is_err());
        assert_eq!(cursor.at(), 0);
    }
}
