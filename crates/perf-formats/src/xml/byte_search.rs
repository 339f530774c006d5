//! [`find`] and [`name_end`]: fast search of an XML text for a byte, and for the end of the name of
//! a tag or attribute.

use memchr::memchr;

const ONES: u64 = u64::MAX / 255;

/// Marks the highest bit of each byte of `word` that equals `byte`. Bytes after the first match may
/// be marked wrongly.
const fn hits(word: u64, byte: u8) -> u64 {
    let other = word ^ (ONES * byte as u64);
    other.wrapping_sub(ONES) & !other & (ONES << 7)
}

/// Finds the first occurrence of a byte. Most searches in a document end within a few bytes;
/// examining eight at a time is then cheaper than a call of memchr.
pub(super) fn find(byte: u8, within: &[u8]) -> Option<usize> {
    /// Number of words after which memchr is faster.
    const NEAR: usize = 4;
    let (words, _) = within.as_chunks::<8>();
    for (at, word) in words.iter().take(NEAR).enumerate() {
        let hits = hits(u64::from_le_bytes(*word), byte);
        if hits != 0 {
            return Some(at * 8 + hits.trailing_zeros() as usize / 8);
        }
    }
    let near = words.len().min(NEAR) * 8;
    let far = memchr(byte, within.get(near..)?)?;
    Some(near + far)
}

/// Finds the end of the name of a tag or attribute: before `>`, `=`, a blank or a control
/// character.
#[cfg(feature = "cube")]
pub(super) fn name_end(within: &[u8]) -> Option<usize> {
    let (words, rest) = within.as_chunks::<8>();
    for (at, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let low = word.wrapping_sub(ONES * 0x21) & !word & (ONES << 7);
        let hits = hits(word, b'>') | hits(word, b'=') | low;
        if hits != 0 {
            return Some(at * 8 + hits.trailing_zeros() as usize / 8);
        }
    }
    let end = rest
        .iter()
        .position(|byte| matches!(byte, 0..=b' ' | b'>' | b'='))?;
    Some(within.len() - rest.len() + end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn eight_at_a_time_finds_what_one_at_a_time_does(
            bytes in prop::collection::vec(prop_oneof![any::<u8>(), 0x1f..0x42_u8], 0..80),
            byte in prop_oneof![any::<u8>(), 0x1f..0x42_u8],
        ) {
            prop_assert_eq!(find(byte, &bytes), bytes.iter().position(|own| *own == byte));
            #[cfg(feature = "cube")]
            {
                let end = bytes.iter().position(|own| *own <= 0x20 || *own == b'>' || *own == b'=');
                prop_assert_eq!(name_end(&bytes), end);
            }
        }
    }
}
