//! [`members`]: reads the tar headers of a `.cubex`, and returns its members by name, each with its
//! position ([`Member`]).
//!
//! Several threads read rows from the file by offset, so only the headers are read here. The `tar`
//! crate provides members sequentially as streams, and rejects a header with a wrong checksum; here
//! such a header is counted and accepted.

use super::rules;
use crate::bytes::Bytes;
use crate::read_context::ReadContext;
use crate::{Error, Result};
use perf_core::Diagnostics;
use std::collections::BTreeMap;

pub(super) const BLOCK: u64 = 512;

/// Position of the bytes of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Member {
    /// Offset of the first byte.
    pub(super) start: u64,
    /// Size in bytes.
    pub(super) size: u64,
}

/// Returns `true` if a file begins like a tar archive.
pub(super) fn is_tar(head: &[u8]) -> bool {
    head.get(257..262) == Some(b"ustar")
}

/// Returns the members of an archive by name.
///
/// After a member whose size is a multiple of 512, CubeLib writes one more block of zeros than the
/// format specifies. Blocks of zeros therefore do not end the archive, and are skipped up to the
/// end of the file.
pub(super) fn members(
    bytes: &Bytes,
    options: &ReadContext,
    found: &mut Diagnostics,
) -> Result<BTreeMap<String, Member>> {
    let mut members = BTreeMap::new();
    let mut at = 0;
    // Attributes for the next member from an extended header.
    let mut extended = Extended::default();
    while bytes.len().saturating_sub(at) >= BLOCK {
        let header = bytes.read(at, BLOCK, "a header")?;
        if header.iter().all(|byte| *byte == 0) {
            at += BLOCK;
            continue;
        }
        let malformed = |expected: &str, got: String| Error::Malformed {
            place: bytes.place(at),
            expected: expected.into(),
            got,
        };
        if !is_tar(&header) {
            let got = "other bytes".into();
            return Err(malformed("the header of a tar member", got));
        }
        let mut size = number(&header[124..136])
            .ok_or_else(|| malformed("the size of a member", show(&header[124..136])))?;
        let sum: u64 = (0..).zip(&header).map(checksum).sum();
        if number(&header[148..156]) != Some(sum) {
            found.add(rules::CHECKSUM, bytes.place(at));
        }
        let start = at + BLOCK;
        let kind = header[156];
        if let (b'0' | 0, Some(real)) = (kind, extended.size) {
            size = real;
        }
        let end = start.checked_add(size).filter(|end| *end <= bytes.len());
        let Some(end) = end else {
            return Err(Error::Truncated {
                place: bytes.place(bytes.len()).record(name(&header, &extended)),
                expected: format!("the end of the member, at byte {start} + {size}"),
            });
        };
        let longest = u64::from(options.get_limits().string);
        match kind {
            b'0' | 0 => {
                let place = bytes.place(at);
                let member = Member { start, size };
                let name = name(&header, &extended);
                if members.insert(name, member).is_some() {
                    found.add(rules::DUPLICATE_MEMBER, place);
                }
                extended = Extended::default();
            }
            b'x' | b'L' if size > longest => {
                return Err(Error::Limit {
                    place: bytes.place(at),
                    what: "length of a header in bytes",
                    got: size,
                    limit: longest,
                });
            }
            b'x' => extended.read(&bytes.read(start, size, "an extended header")?),
            b'L' => extended.name = Some(until_zero(&bytes.read(start, size, "a long name")?)),
            // Global attributes, which concern all following members.
            b'g' => {}
            // Folders, links and newer types contain no part of a profile. An extended header
            // before such an entry belongs to that entry.
            _ => extended = Extended::default(),
        }
        let count = members.len() as u64;
        if count > u64::from(options.get_limits().definitions) {
            return Err(Error::Limit {
                place: bytes.place(at),
                what: "number of members",
                got: count,
                limit: options.get_limits().definitions.into(),
            });
        }
        at = end.next_multiple_of(BLOCK);
    }
    Ok(members)
}

/// The checksum is computed with blanks in its own field.
fn checksum((at, byte): (usize, &u8)) -> u64 {
    if (148..156).contains(&at) {
        32
    } else {
        u64::from(*byte)
    }
}

/// Parses octal digits, or base 256 after a first byte of 0x80.
fn number(field: &[u8]) -> Option<u64> {
    if field.first() == Some(&0x80) {
        let zeros = field.len().checked_sub(8)?;
        let (high, low) = field.split_at(zeros);
        let is_small = high.iter().skip(1).all(|byte| *byte == 0);
        return is_small.then(|| low.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)));
    }
    let digits = until_zero(field);
    let digits = digits.trim();
    if digits.is_empty() {
        return Some(0);
    }
    u64::from_str_radix(digits, 8).ok()
}

fn until_zero(field: &[u8]) -> String {
    let end = field.iter().position(|byte| *byte == 0);
    String::from_utf8_lossy(&field[..end.unwrap_or(field.len())]).into_owned()
}

fn show(field: &[u8]) -> String {
    format!("{:?}", String::from_utf8_lossy(field))
}

fn name(header: &[u8], extended: &Extended) -> String {
    if let Some(name) = &extended.name {
        return name.clone();
    }
    let name = until_zero(&header[..100]);
    let prefix = until_zero(&header[345..500]);
    let name = if prefix.is_empty() {
        name
    } else {
        format!("{prefix}/{name}")
    };
    name.trim_start_matches("./").to_string()
}

/// Attributes for the next member from extended headers.
#[derive(Clone, Debug, Default)]
struct Extended {
    /// Name of the next member.
    name: Option<String>,
    /// Size of the next member.
    size: Option<u64>,
}

impl Extended {
    /// Reads records `NN key=value\n`, where NN is the length of the whole record.
    fn read(&mut self, mut records: &[u8]) {
        while let Some(space) = records.iter().position(|byte| *byte == b' ') {
            let length = std::str::from_utf8(&records[..space]);
            let length = length.ok().and_then(|text| text.parse::<usize>().ok());
            let Some(record) = length.and_then(|length| records.get(space + 1..length)) else {
                return;
            };
            let record = String::from_utf8_lossy(record);
            match record.trim_end_matches('\n').split_once('=') {
                Some(("size", value)) => self.size = value.parse().ok(),
                Some(("path", value)) => self.name = Some(value.to_string()),
                _ => {}
            }
            records = &records[length.unwrap_or(records.len())..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_octal_or_base_256() {
        assert_eq!(number(b"00000001750\0"), Some(1000));
        assert_eq!(number(b"       1750 "), Some(1000));
        assert_eq!(number(b"\x80\0\0\0\0\0\0\x02\0\0\0\0"), Some(1 << 33));
        assert_eq!(number(b"\x80\x01\0\0\0\0\0\0\0\0\0\0"), None);
        assert_eq!(number(b"12x"), None);
    }

    #[test]
    fn extended_records_are_read() {
        let mut extended = Extended::default();
        extended.read(b"19 size=8589934592\n12 path=abc\n");
        assert_eq!(extended.size, Some(1 << 33));
        assert_eq!(extended.name.as_deref(), Some("abc"));
        for damaged in [&b"99 size=1\n"[..], b"0 =", b" ", b"5 a=\xff\n"] {
            Extended::default().read(damaged);
        }
    }
}
