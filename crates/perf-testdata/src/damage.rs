//! Damaged copies of files, for readers that must not trust their input.

use crate::wide::Xorshift;

/// `count` damaged copies of `bytes`, the same for a seed: cut off, bits flipped, numbers made
/// huge, parts taken out or repeated.
pub fn all(bytes: &[u8], count: u64, seed: u64) -> impl Iterator<Item = Vec<u8>> + '_ {
    let mut random = Xorshift::new(seed);
    (0..count).map(move |index| one(bytes, index, &mut random))
}

fn one(bytes: &[u8], index: u64, random: &mut Xorshift) -> Vec<u8> {
    let mut damaged = bytes.to_vec();
    let mut place = |size: usize| random.below(size.max(1) as u64) as usize;
    let at = place(bytes.len());
    match index % 6 {
        0 => damaged.truncate(at),
        1 => {
            for _ in 0..=place(4) {
                let at = place(bytes.len());
                if let Some(byte) = damaged.get_mut(at) {
                    *byte ^= 1 << place(8);
                }
            }
        }
        // Counts and sizes of either byte order.
        2 | 3 => {
            let filler = [0xff, 0x7f, 0x80, 0x00][place(4)];
            let end = (at + [1, 2, 4, 8][place(4)]).min(damaged.len());
            damaged[at..end].fill(filler);
        }
        // Digits of text.
        4 => {
            let digit = damaged.iter().skip(at).position(u8::is_ascii_digit);
            if let Some(digit) = digit {
                let many = [b'9'; 20];
                damaged.splice(at + digit..at + digit + 1, many);
            }
        }
        _ => {
            let end = (at + place(64)).min(damaged.len());
            match place(2) {
                0 => drop(damaged.drain(at..end)),
                _ => {
                    let part = bytes[at..end].to_vec();
                    damaged.splice(at..at, part);
                }
            }
        }
    }
    damaged
}
