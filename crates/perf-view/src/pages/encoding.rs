//! Compact encoding of data in pages: base64, run lengths, numbers of variable length, and names
//! that share beginnings.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Encodes bytes as base64.
pub(crate) fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Encodes names as the number of UTF-16 units that each shares with the one before, and its rest.
#[cfg(feature = "topology")]
pub(crate) fn front_coded<'a>(names: impl Iterator<Item = &'a str>) -> Vec<(usize, &'a str)> {
    let mut last = "";
    let code = |name: &'a str| {
        let both = name.chars().zip(last.chars());
        let shared = both.take_while(|(one, other)| one == other);
        let (bytes, units) = shared.fold((0, 0), |(bytes, units), (one, _)| {
            (bytes + one.len_utf8(), units + one.len_utf16())
        });
        last = name;
        (units, &name[bytes..])
    };
    names.map(code).collect()
}

/// Encodes pairs of bytes by run length.
///
/// Each run consists of its length, followed by the pair. The length is a little-endian base-128
/// number: 7 bits in each byte, with the eighth bit set if another byte follows.
#[cfg(feature = "fold")]
pub(crate) fn runs(pairs: impl IntoIterator<Item = [u8; 2]>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut run: Option<([u8; 2], u64)> = None;
    for pair in pairs {
        match &mut run {
            Some((same, length)) if *same == pair => *length += 1,
            _ => {
                put(run.replace((pair, 1)), &mut out);
            }
        }
    }
    put(run, &mut out);
    out
}

#[cfg(feature = "fold")]
fn put(run: Option<([u8; 2], u64)>, out: &mut Vec<u8>) {
    let Some((pair, length)) = run else {
        return;
    };
    varint(length, out);
    out.extend(pair);
}

/// Appends a little-endian base-128 number.
#[cfg(feature = "fold")]
pub(crate) fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value > 127 {
        out.push((value & 127) as u8 | 128);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(all(test, feature = "fold"))]
mod tests {
    use super::*;

    #[cfg(feature = "topology")]
    #[test]
    fn names_share_beginnings() {
        let names = ["main > a", "main > ä", "main > ä", "main", "𝄞x", "𝄞y"];
        let coded = front_coded(names.into_iter());
        let rests = [
            (0, "main > a"),
            (7, "ä"),
            (8, ""),
            (4, ""),
            (0, "𝄞x"),
            (2, "y"),
        ];
        assert_eq!(coded, rests);
    }

    #[test]
    fn runs_are_short() {
        let pairs = std::iter::repeat_n([3, 255], 300).chain([[4, 1], [4, 2]]);
        assert_eq!(runs(pairs), [0xac, 2, 3, 255, 1, 4, 1, 1, 4, 2]);
        assert!(runs([]).is_empty());
    }
}
