//! [`Header`]: the first 64 bytes of `md.idx`, which BP4 and BP5 have in common: version and byte
//! order, repaired if damaged.

use super::member::Member;
use crate::{Error, Result};
use perf_core::{Place, Rule};
use std::path::Path;

/// Name of the index of steps in a folder of BP4 or BP5.
pub(in crate::adios) const STEPS: &str = "md.idx";
/// Length of the header in bytes.
pub(in crate::adios) const HEADER: u64 = 64;

/// Start of all headers.
const NAME: &[u8] = b"ADIOS-BP v";
/// Position of the byte order.
const ORDER: usize = 36;
/// Position of the version of the format.
const VERSION: usize = 37;

/// Header of an index of steps.
#[derive(Debug)]
pub(in crate::adios) struct Header {
    /// Index of steps.
    pub(in crate::adios) steps: Member,
    /// Bytes of the header.
    bytes: Vec<u8>,
    /// Version of the format.
    pub(in crate::adios) version: u8,
    /// `true` for big-endian files.
    pub(in crate::adios) is_big: bool,
    /// Damaged fields whose values were replaced by the only possible ones.
    pub(in crate::adios) repaired: Vec<(Rule, Place)>,
}

impl Header {
    /// Reads the header of a folder.
    ///
    /// # Errors
    ///
    /// Fails if the header is missing, truncated or of another format, and for versions other than
    /// 4 and 5.
    pub(in crate::adios) fn read(folder: &Path) -> Result<Self> {
        let mut steps = Member::open(&folder.join(STEPS))?;
        let bytes = steps.read(0, HEADER, "the header of an index of steps")?;
        let byte = |at: usize| bytes[at];
        let version = byte(VERSION);
        let is_known = matches!(version, 4 | 5);
        let mut repaired = Vec::new();
        if !bytes.starts_with(NAME) {
            if !is_known {
                return Err(Error::Malformed {
                    place: steps.place(0),
                    expected: "`ADIOS-BP v`".into(),
                    got: String::from_utf8_lossy(&bytes[..NAME.len()]).into_owned(),
                });
            }
            repaired.push("the name of the format".to_string());
        }
        if !is_known {
            return Err(Error::Unsupported {
                place: steps.place(VERSION as u64),
                what: format!("version {version} of the BP format (BP3, BP4 and BP5 are read)"),
            });
        }
        // No other byte order has been written for a long time.
        let order = byte(ORDER);
        if order > 1 {
            repaired.push(format!("the byte order {order}"));
        }
        let place = |field| (crate::adios::rules::HEADER, steps.place(0).record(field));
        Ok(Header {
            version,
            is_big: order == 1,
            repaired: repaired.into_iter().map(place).collect(),
            steps,
            bytes,
        })
    }

    /// Returns a byte of the header.
    pub(in crate::adios) fn byte(&self, at: u64) -> u8 {
        let at = usize::try_from(at).ok();
        at.and_then(|at| self.bytes.get(at)).copied().unwrap_or(0)
    }
}
