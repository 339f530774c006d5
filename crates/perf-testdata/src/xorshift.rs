//! [`Xorshift`]: seeded random number generator.

/// Marsaglia's xorshift64*: small, seeded, and portable.
#[derive(Clone, Debug)]
pub struct Xorshift(u64);

impl Xorshift {
    /// Creates a generator with a nonzero state.
    pub fn new(seed: u64) -> Self {
        Xorshift(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Returns the next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Returns a number from 0 to `most` - 1; 0 for `most` 0.
    pub fn below(&mut self, most: u64) -> u64 {
        (self.next_u64() >> 32)
            .checked_rem(most)
            .unwrap_or_default()
    }
}
