//! [`Damage`] of the bytes of a file, chosen at random for testing readers: truncation, flipped
//! bits, huge counts, missing or repeated parts.
//!
//! [`all`] serves tests, [`plan`] programs that know the boundaries of records and name each
//! damage, [`one_byte`] tests that measure the effect of the smallest damage.

use crate::xorshift::Xorshift;
use std::ops::Range;

/// One way to damage bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Damage {
    /// No damage, the reference for the others.
    None,
    /// All bytes from this offset on are missing.
    Cut(usize),
    /// Bits of some bytes are flipped: offset and mask.
    Flip(Vec<(usize, u8)>),
    /// A number is replaced by another one.
    Number(Range<usize>, Vec<u8>),
    /// A part is repeated this many times: 0 times to remove it, or often enough for an absurd
    /// nesting.
    Repeat(Range<usize>, usize),
}

impl Damage {
    /// Returns the damaged bytes.
    #[must_use]
    pub fn apply(&self, bytes: &[u8]) -> Vec<u8> {
        let mut damaged = bytes.to_vec();
        match self {
            Damage::None => {}
            Damage::Cut(at) => damaged.truncate(*at),
            Damage::Flip(flips) => {
                for (at, mask) in flips {
                    if let Some(byte) = damaged.get_mut(*at) {
                        *byte ^= mask;
                    }
                }
            }
            Damage::Number(range, number) => {
                if range.end <= damaged.len() {
                    damaged.splice(range.clone(), number.iter().copied());
                }
            }
            Damage::Repeat(range, times) => {
                if let Some(part) = bytes.get(range.clone()) {
                    damaged.splice(range.clone(), part.repeat(*times));
                }
            }
        }
        damaged
    }
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Damage::None => f.write_str("as it is"),
            Damage::Cut(at) => write!(f, "cut at {at}"),
            Damage::Flip(flips) => {
                f.write_str("flipped")?;
                for (at, mask) in flips {
                    write!(f, " {at}^{mask:02x}")?;
                }
                Ok(())
            }
            Damage::Repeat(range, times) => {
                write!(
                    f,
                    "{}..{} stands there {times} times",
                    range.start, range.end
                )
            }
            Damage::Number(range, number) => {
                write!(f, "{}..{} becomes ", range.start, range.end)?;
                match std::str::from_utf8(number) {
                    Ok(text) if text.is_ascii() && !text.contains(char::is_control) => {
                        write!(f, "`{text}`")
                    }
                    _ => write!(f, "{number:02x?}"),
                }
            }
        }
    }
}

/// Upper bound on the size of a repeated part in [`plan`], in bytes.
const MAX_REPEATED: usize = 1 << 20;
/// Upper bound on the size of a repeated part in [`all`], which creates many copies.
const MAX_REPEATED_IN_ALL: usize = 1 << 14;

/// Returns a number from 0 to `most` - 1, or 0 if `most` is 0.
pub fn below(random: &mut Xorshift, most: usize) -> usize {
    random.below(most as u64) as usize
}

/// Returns `count` damaged copies of `bytes`, reproducible for a seed: in turn truncated, flipped,
/// with parts missing or repeated, and with inflated numbers.
pub fn all(bytes: &[u8], count: u64, seed: u64) -> impl Iterator<Item = Vec<u8>> + '_ {
    let mut random = Xorshift::new(seed);
    let numbers = Numbers::of(bytes);
    (0..count).map(move |index| {
        let random = &mut random;
        let damage = match index % 4 {
            0 => Damage::Cut(below(random, bytes.len())),
            1 => flipped(bytes, random),
            2 => repeated(bytes, &[], MAX_REPEATED_IN_ALL, random),
            _ => {
                let inflated = numbers.inflated(bytes, random);
                inflated.unwrap_or_else(|| flipped(bytes, random))
            }
        };
        damage.apply(bytes)
    })
}

/// Returns damage of one byte: a flipped bit, another value, a missing or an additional byte.
pub fn one_byte(bytes: &[u8], random: &mut Xorshift) -> Damage {
    let at = below(random, bytes.len());
    match below(random, 4) {
        0 => Damage::Flip(vec![(at, 1 << below(random, 8))]),
        1 => Damage::Number(at..at + 1, vec![below(random, 256) as u8]),
        2 => Damage::Number(at..at + 1, Vec::new()),
        _ => Damage::Number(at..at, vec![below(random, 256) as u8]),
    }
}

/// Flips bits of up to four bytes.
fn flipped(bytes: &[u8], random: &mut Xorshift) -> Damage {
    let flips = (0..=below(random, 4)).map(|_| {
        let at = below(random, bytes.len());
        let mask = match below(random, 3) {
            0 => 0xff,
            _ => 1 << below(random, 8),
        };
        (at, mask)
    });
    Damage::Flip(flips.collect())
}

/// Repeats a part between two nearby boundaries, or at any place.
fn repeated(bytes: &[u8], boundaries: &[usize], most: usize, random: &mut Xorshift) -> Damage {
    let first = below(random, boundaries.len());
    let (start, end) = match boundaries.get(first) {
        Some(start) if below(random, 4) > 0 => {
            let last = first + 1 + below(random, 3);
            // The part behind the last boundary ends with the file.
            (*start, boundaries.get(last).copied().unwrap_or(bytes.len()))
        }
        _ => {
            let start = below(random, bytes.len());
            (start, (start + 1 + below(random, 64)).min(bytes.len()))
        }
    };
    let length = end.saturating_sub(start).max(1);
    let times = [0, 0, 2, 3, 200, 20_000][below(random, 6)];
    Damage::Repeat(start..start.max(end), times.min(most / length))
}

/// Returns cuts at `boundaries` and at random places, flips, numbers, and parts missing or repeated: at most `count` of
/// each kind.
pub fn plan(
    bytes: &[u8],
    boundaries: &[usize],
    count: usize,
    random: &mut Xorshift,
) -> Vec<Damage> {
    if bytes.is_empty() {
        return Vec::new();
    }
    let mut all: Vec<Damage> = boundaries.iter().map(|at| Damage::Cut(*at)).collect();
    for _ in 0..count {
        all.push(Damage::Cut(below(random, bytes.len())));
    }
    all.extend((0..count).map(|_| flipped(bytes, random)));
    all.extend((0..count).map(|_| repeated(bytes, boundaries, MAX_REPEATED, random)));
    let numbers = Numbers::of(bytes);
    all.extend((0..count).filter_map(|_| numbers.inflated(bytes, random)));
    all
}

/// Positions of numbers that may be counts.
struct Numbers {
    /// Runs of digits.
    decimal: Vec<Range<usize>>,
    /// Small numbers of 32 or 64 bits in either byte order.
    binary: Vec<(usize, usize, bool)>,
    /// Bytes that may hold the length of the following data.
    short: Vec<usize>,
}

/// Upper bound on the places of one kind.
const PLACES: usize = 1 << 16;

impl Numbers {
    fn of(bytes: &[u8]) -> Self {
        let head = bytes.get(..bytes.len().min(4096)).unwrap_or_default();
        let is_text = !head.contains(&0);
        let mut numbers = Numbers {
            decimal: Vec::new(),
            binary: Vec::new(),
            short: Vec::new(),
        };
        let mut at = 0;
        while let Some(start) = bytes.iter().skip(at).position(u8::is_ascii_digit) {
            let start = at + start;
            let rest = bytes.get(start..).unwrap_or_default();
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit());
            at = start + digits.count();
            // Bytes of binary numbers may look like digits.
            if is_text || at - start > 1 {
                numbers.decimal.push(start..at);
            }
        }
        if !is_text {
            for at in 0..bytes.len().saturating_sub(8) {
                for width in [4, 8] {
                    for little in [true, false] {
                        let is_count = value(bytes, at, width, little)
                            .is_some_and(|value| (1..=1 << 20).contains(&value));
                        if is_count {
                            numbers.binary.push((at, width, little));
                        }
                    }
                }
                if matches!(bytes.get(at), Some(1..=8)) {
                    numbers.short.push(at);
                }
            }
        }
        thin(&mut numbers.decimal);
        thin(&mut numbers.binary);
        thin(&mut numbers.short);
        numbers
    }

    fn inflated(&self, bytes: &[u8], random: &mut Xorshift) -> Option<Damage> {
        let kinds = [self.decimal.len(), self.binary.len(), self.short.len()];
        let kinds: Vec<usize> = (0..3).filter(|kind| kinds[*kind] > 0).collect();
        let kind = kinds.get(below(random, kinds.len()))?;
        match kind {
            0 => {
                let range = self.decimal.get(below(random, self.decimal.len()))?.clone();
                let same = "9".repeat(range.len());
                let texts = [
                    same.as_str(),
                    "99999999",
                    "2147483648",
                    "4294967295",
                    "9223372036854775807",
                    "18446744073709551615",
                    "340282366920938463463374607431768211456",
                    "-1",
                    "0",
                ];
                let text = texts.get(below(random, texts.len()))?;
                Some(Damage::Number(range, text.as_bytes().to_vec()))
            }
            1 => {
                let (at, width, little) = *self.binary.get(below(random, self.binary.len()))?;
                let old = value(bytes, at, width, little)?;
                let values = [
                    u64::MAX,
                    u64::MAX >> 1,
                    u64::from(u32::MAX),
                    1 << 31,
                    1 << 24,
                    old * 1000,
                    old + 1,
                ];
                let new = *values.get(below(random, values.len()))?;
                let new = match (width, little) {
                    (4, true) => (new as u32).to_le_bytes().to_vec(),
                    (4, false) => (new as u32).to_be_bytes().to_vec(),
                    (_, true) => new.to_le_bytes().to_vec(),
                    (_, false) => new.to_be_bytes().to_vec(),
                };
                Some(Damage::Number(at..at + width, new))
            }
            _ => {
                // A byte count and the number itself, as wide as possible; or a length.
                let at = *self.short.get(below(random, self.short.len()))?;
                let width = usize::from(*bytes.get(at)?);
                let (old, new) = match below(random, 4) {
                    0 => (
                        1 + width,
                        vec![8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
                    ),
                    1 => (1 + width, vec![4, 0xff, 0xff, 0xff, 0x7f]),
                    2 => (1, vec![0xff, 0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0]),
                    _ => (1, vec![0xfe]),
                };
                let end = (at + old).min(bytes.len());
                Some(Damage::Number(at..end, new))
            }
        }
    }
}

fn value(bytes: &[u8], at: usize, width: usize, little: bool) -> Option<u64> {
    let bytes = bytes.get(at..at + width)?;
    let add = |value: u64, byte: &u8| (value << 8) | u64::from(*byte);
    Some(if little {
        bytes.iter().rev().fold(0, add)
    } else {
        bytes.iter().fold(0, add)
    })
}

/// Reduces a list to at most [`PLACES`] elements.
fn thin<T>(all: &mut Vec<T>) {
    thin_to(all, PLACES);
}

/// Reduces a list to at most `most` elements, evenly spread.
pub fn thin_to<T>(all: &mut Vec<T>, most: usize) {
    let count = all.len();
    if count > most {
        let mut at = 0;
        all.retain(|_| {
            at += 1;
            // Keeps an element whenever the scaled index passes a whole number on the way from 0 to
            // `most`.
            at * most / count > (at - 1) * most / count
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_the_same_for_a_seed_and_differ_from_the_original() {
        let text = b"<count>12345</count><name>solve</name>".repeat(20);
        let binary: Vec<u8> = (0..2_000_u32)
            .flat_map(|it| (it % 300).to_le_bytes())
            .collect();
        for bytes in [&text[..], &binary] {
            let copies: Vec<_> = all(bytes, 400, 5).collect();
            assert!(copies.iter().eq(&all(bytes, 400, 5).collect::<Vec<_>>()));
            let changed = copies.iter().filter(|copy| **copy != bytes).count();
            assert!(changed > 380, "{changed}");
            let longest = copies.iter().map(Vec::len).max().unwrap_or_default();
            assert!(longest <= bytes.len() + MAX_REPEATED_IN_ALL, "{longest}");
        }
        assert_eq!(all(&[], 8, 1).filter(|copy| copy.is_empty()).count(), 8);
    }

    #[test]
    fn numbers_of_text_are_inflated() {
        let copies = all(b"count=7;", 4_000, 1);
        let largest = b"count=18446744073709551615;";
        assert!(copies.into_iter().any(|copy| copy == largest));
    }

    #[test]
    fn one_byte_changes_the_length_by_one_at_most() {
        let mut random = Xorshift::new(3);
        for _ in 0..500 {
            let damaged = one_byte(b"0123456789", &mut random).apply(b"0123456789");
            assert!((9..=11).contains(&damaged.len()));
        }
    }
}
