//! SHA-256 (FIPS 180-4), for the content policy of pages: a script runs if its digest is in the policy.

/// Roots of the first 64 primes: the fractional parts of their cube roots.
fn constants() -> [u32; 64] {
    let mut out = [0; 64];
    for (slot, prime) in out.iter_mut().zip(primes()) {
        *slot = fraction(u128::from(prime), 3);
    }
    out
}

fn primes() -> impl Iterator<Item = u32> {
    (2..).filter(|number| (2..*number).all(|divisor| number % divisor != 0))
}

/// The first 32 bits of the fractional part of a root: the last 32 of floor(root(value) 2^32), found by
/// bisection in integers.
fn fraction(value: u128, degree: u32) -> u32 {
    // root(value) < 2^8, so the scaled root is below 2^40 and its cube below 2^120.
    let scaled = value << (32 * degree);
    let (mut low, mut high) = (0u128, 1u128 << 40);
    while high - low > 1 {
        let middle = (low + high) / 2;
        match middle.pow(degree) <= scaled {
            true => low = middle,
            false => high = middle,
        }
    }
    low as u32
}

/// The digest of some bytes.
pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    let constants = constants();
    let mut state = [0; 8];
    for (slot, prime) in state.iter_mut().zip(primes()) {
        *slot = fraction(u128::from(prime), 2);
    }
    let mut padded = bytes.to_vec();
    padded.push(0x80);
    padded.resize(padded.len().next_multiple_of(64), 0);
    if padded.len() - bytes.len() < 9 {
        padded.resize(padded.len() + 64, 0);
    }
    let bits = (bytes.len() as u64).wrapping_mul(8).to_be_bytes();
    let end = padded.len() - bits.len();
    padded[end..].copy_from_slice(&bits);
    for block in padded.chunks_exact(64) {
        round(&mut state, block, &constants);
    }
    let mut out = [0; 32];
    for (slot, byte) in out
        .iter_mut()
        .zip(state.iter().flat_map(|word| word.to_be_bytes()))
    {
        *slot = byte;
    }
    out
}

fn round(state: &mut [u32; 8], block: &[u8], constants: &[u32; 64]) {
    let mut words = [0u32; 64];
    for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
        *word = bytes
            .iter()
            .fold(0, |word, byte| word << 8 | u32::from(*byte));
    }
    for at in 16..64 {
        let (a, b) = (words[at - 15], words[at - 2]);
        let small = a.rotate_right(7) ^ a.rotate_right(18) ^ (a >> 3);
        let large = b.rotate_right(17) ^ b.rotate_right(19) ^ (b >> 10);
        let sum = words[at - 16]
            .wrapping_add(small)
            .wrapping_add(words[at - 7]);
        words[at] = sum.wrapping_add(large);
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    for (word, constant) in words.iter().zip(constants) {
        let large = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let choice = (e & f) ^ (!e & g);
        let first = h.wrapping_add(large).wrapping_add(choice);
        let first = first.wrapping_add(*constant).wrapping_add(*word);
        let small = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let second = small.wrapping_add((a & b) ^ (a & c) ^ (b & c));
        (h, g, f, e) = (g, f, e, d.wrapping_add(first));
        (d, c, b, a) = (c, b, a, first.wrapping_add(second));
    }
    for (slot, value) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *slot = slot.wrapping_add(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The examples of FIPS 180-4, and lengths about the end of a block.
    #[test]
    fn published_digests() {
        let cases: [(&[u8], &str); 3] = [
            (
                b"",
                "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            ),
            (
                b"abc",
                "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            ),
            (
                b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
            ),
        ];
        for (text, digest) in cases {
            assert_eq!(hex(&sha256(text)), digest);
        }
        let million = vec![b'a'; 1_000_000];
        assert_eq!(
            hex(&sha256(&million)),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
        );
    }
}
