//! [`Encoder`]: adaptive range coder for small numbers and the bits below them, after LZMA; the
//! script of a page has the decoder.
//!
//! Numbers of 4 bits are coded by binary decisions with adaptive probabilities, whose contexts the
//! caller chooses. Other bits are stored as they are, in a second stream.

/// Number of bits of a probability.
const BITS: u32 = 11;

/// Adaptation of a probability to each decision: by 1 / 2^5 of the distance.
const RATE: u32 = 5;

/// Smallest range before the next byte is written.
const LEAST: u32 = 1 << 24;

/// Number of contexts of the 4-bit numbers.
pub(super) const CONTEXTS: usize = 16;

/// Encoder of one sequence.
pub(super) struct Encoder {
    /// Probabilities that a decision is 0, by context and by the decisions before.
    probabilities: [[u16; 16]; CONTEXTS],
    /// Lower end of the interval, with a carry above 32 bits.
    low: u64,
    /// Width of the interval.
    range: u32,
    /// Last byte that a carry may still change; `None` before the first byte.
    cache: Option<u8>,
    /// Number of bytes 255 after it.
    pending: usize,
    /// Coded numbers.
    ranges: Vec<u8>,
    /// Stored bits.
    raw: Vec<u8>,
    /// Stored bits that do not fill a byte, and their number.
    bits: (u64, u32),
}

impl Encoder {
    pub(super) fn new() -> Self {
        Encoder {
            probabilities: [[1 << (BITS - 1); 16]; CONTEXTS],
            low: 0,
            range: u32::MAX,
            cache: None,
            pending: 0,
            ranges: Vec::new(),
            raw: Vec::new(),
            bits: (0, 0),
        }
    }

    /// Codes a number from 0 to 15.
    pub(super) fn symbol(&mut self, context: usize, number: usize) {
        let mut node = 1;
        for bit in (0..4).rev() {
            let is_one = number >> bit & 1 == 1;
            let probability = &mut self.probabilities[context % CONTEXTS][node];
            let bound = (self.range >> BITS) * u32::from(*probability);
            if is_one {
                self.low += u64::from(bound);
                self.range -= bound;
                *probability -= *probability >> RATE;
            } else {
                self.range = bound;
                *probability += ((1 << BITS) - *probability) >> RATE;
            }
            node = 2 * node + usize::from(is_one);
            while self.range < LEAST {
                self.range <<= 8;
                self.shift();
            }
        }
    }

    /// Stores the lowest `count` bits of a number, at most 32.
    pub(super) fn plain(&mut self, number: u64, count: u32) {
        let (bits, have) = &mut self.bits;
        *bits = *bits << count | number & ((1 << count) - 1);
        *have += count;
        while *have >= 8 {
            *have -= 8;
            self.raw.push((*bits >> *have) as u8);
            *bits &= (1 << *have) - 1;
        }
    }

    /// Moves the highest byte of the lower end out.
    fn shift(&mut self) {
        if self.low >> 24 != 0xff {
            let carry = (self.low >> 32) as u8;
            if let Some(cache) = self.cache {
                self.ranges.push(cache.wrapping_add(carry));
            }
            for _ in 0..std::mem::take(&mut self.pending) {
                self.ranges.push(0xff_u8.wrapping_add(carry));
            }
            self.cache = Some((self.low >> 24) as u8);
        } else {
            self.pending += 1;
        }
        self.low = (self.low & 0x00ff_ffff) << 8;
    }

    /// Returns the coded numbers and the stored bits. The decoder reads zeros beyond their ends.
    pub(super) fn finish(mut self) -> (Vec<u8>, Vec<u8>) {
        for _ in 0..5 {
            self.shift();
        }
        while self.ranges.last() == Some(&0) {
            self.ranges.pop();
        }
        let (bits, have) = self.bits;
        if have > 0 {
            self.raw.push((bits << (8 - have)) as u8);
        }
        (self.ranges, self.raw)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Decoder of the page, in the same words.
    pub(in crate::topology) struct Decoder<'a> {
        probabilities: [[u16; 16]; CONTEXTS],
        ranges: &'a [u8],
        raw: &'a [u8],
        range: u32,
        code: u32,
        bits: (u64, u32),
    }

    impl<'a> Decoder<'a> {
        pub(in crate::topology) fn new(ranges: &'a [u8], raw: &'a [u8]) -> Self {
            let mut decoder = Decoder {
                probabilities: [[1 << (BITS - 1); 16]; CONTEXTS],
                ranges,
                raw,
                range: u32::MAX,
                code: 0,
                bits: (0, 0),
            };
            for _ in 0..4 {
                decoder.code = decoder.code << 8 | u32::from(next(&mut decoder.ranges));
            }
            decoder
        }

        pub(in crate::topology) fn symbol(&mut self, context: usize) -> usize {
            let mut node = 1;
            for _ in 0..4 {
                let probability = &mut self.probabilities[context % CONTEXTS][node];
                let bound = (self.range >> BITS) * u32::from(*probability);
                node *= 2;
                if self.code < bound {
                    self.range = bound;
                    *probability += ((1 << BITS) - *probability) >> RATE;
                } else {
                    self.code -= bound;
                    self.range -= bound;
                    *probability -= *probability >> RATE;
                    node += 1;
                }
                while self.range < LEAST {
                    self.range <<= 8;
                    self.code = self.code << 8 | u32::from(next(&mut self.ranges));
                }
            }
            node - 16
        }

        pub(in crate::topology) fn plain(&mut self, count: u32) -> u64 {
            let (bits, have) = &mut self.bits;
            while *have < count {
                *bits = *bits << 8 | u64::from(next(&mut self.raw));
                *have += 8;
            }
            *have -= count;
            let value = *bits >> *have;
            *bits &= (1 << *have) - 1;
            value
        }
    }

    fn next(bytes: &mut &[u8]) -> u8 {
        let Some((first, rest)) = bytes.split_first() else {
            return 0;
        };
        *bytes = rest;
        *first
    }

    #[test]
    fn numbers_come_back() {
        // Runs of one number drive probabilities to their ends, where carries occur.
        for skew in [1, 3, 60] {
            let mut state = 1u64;
            let mut random = |below: u64| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
                (state >> 33) % below
            };
            let all: Vec<(usize, usize, u64, u32)> = (0..20_000)
                .map(|_| {
                    let number = if random(skew) == 0 { random(16) } else { 15 };
                    let count = random(23) as u32;
                    let context = random(CONTEXTS as u64) as usize;
                    (context, number as usize, random(1 << 31), count)
                })
                .collect();
            let mut encoder = Encoder::new();
            for (context, number, bits, count) in &all {
                encoder.symbol(*context, *number);
                encoder.plain(*bits, *count);
            }
            let (ranges, raw) = encoder.finish();
            let mut decoder = Decoder::new(&ranges, &raw);
            for (context, number, bits, count) in &all {
                assert_eq!(decoder.symbol(*context), *number);
                assert_eq!(decoder.plain(*count), bits & ((1 << count) - 1));
            }
            if skew == 60 {
                // Each number has 0.19 bits of information.
                assert!(ranges.len() < 20_000 * 4 / 8 / 8, "{}", ranges.len());
            }
        }
        assert_eq!(Encoder::new().finish().1, [0u8; 0]);
    }
}
