//! [`Bp5`]: implementation of [`StepIndex`] for BP5, which the engine `BPFile` writes since ADIOS2
//! 2.9: reads the steps of a folder from `md.idx`, `md.0` and `mmd.0`.
//!
//! `md.idx` has a [`Header`] and [records](records) of steps, with positions in `md.0` and in the
//! data files `data.N`. `md.0` contains the variables and attributes of each step as
//! [records of FFS](metadata), whose [formats](ffs) are in `mmd.0`. A step is written in the order
//! data, formats, metadata, record, so a step with a record is complete.

mod array;
mod ffs;
mod metadata;
mod pointers;
mod records;

use super::bp_file::{Ahead, Step, StepIndex};
use super::header::Header;
use super::member::{Claims, Member};
use crate::{Error, Result};
use ffs::Formats;
use perf_core::{Place, Rule};
use records::{Next, Record, Records};
use std::path::Path;

/// Positions in the header of the minor version, the flag of an active writer and the order of
/// axes.
const MINOR: u64 = 38;
const ACTIVE: u64 = 39;
const COLUMN_MAJOR: u64 = 40;
/// The minor version that exists since ADIOS2 2.8; the library reads no other one.
const KNOWN_MINOR: u8 = 2;

/// Index of the steps of a BP5 file.
#[derive(Debug)]
pub(in crate::adios) struct Bp5 {
    /// Records of the steps, `md.idx`.
    records: Records,
    /// Metadata of the steps, `md.0`.
    index: Member,
    /// Formats of the metadata, `mmd.0`.
    formats: Formats,
    /// `true` for big-endian files.
    is_big: bool,
    /// Repairs of the header.
    repaired: Vec<(Rule, Place)>,
    /// Number of the next step.
    next: u64,
    /// Bytes of the metadata that steps have claimed.
    claims: Claims,
}

impl Bp5 {
    /// Opens the index of a folder.
    pub(in crate::adios) fn open(path: &Path, header: Header) -> Result<Self> {
        let unsupported = |at: u64, what: String| {
            let place = header.steps.place(at);
            Err(Error::Unsupported { place, what })
        };
        let minor = header.byte(MINOR);
        if minor != KNOWN_MINOR {
            let what = format!("minor version {minor} of BP5 (version {KNOWN_MINOR} is read)");
            return unsupported(MINOR, what);
        }
        if header.byte(COLUMN_MAJOR) == b'y' {
            return unsupported(COLUMN_MAJOR, "an array in column-major order".into());
        }
        Ok(Bp5 {
            index: Member::open(&path.join("md.0"))?,
            formats: Formats::new(path, header.is_big),
            is_big: header.is_big,
            repaired: header.repaired,
            records: Records::new(header.steps, header.is_big),
            next: 0,
            claims: Claims::default(),
        })
    }

    /// Returns the record of the next step.
    fn record(&mut self) -> Result<Record> {
        match self.records.next()? {
            Next::Step(record) => Ok(record),
            Next::Damaged(error) => Err(error),
            Next::End(_) => Err(Error::Truncated {
                place: self.place(),
                expected: "the record of a step".into(),
            }),
        }
    }
}

impl StepIndex for Bp5 {
    fn look(&mut self) -> Result<Ahead> {
        // A writer clears the flag before it ends, so the flag is read before the records.
        let is_active = self.is_active()?;
        Ok(match (self.records.next()?, is_active) {
            (Next::Step(_) | Next::Damaged(_), _) => Ahead::Step(self.next),
            (Next::End(_), true) => Ahead::Waiting,
            (Next::End(is_cut), false) => Ahead::End(is_cut),
        })
    }

    fn is_active(&mut self) -> Result<bool> {
        self.records.flag(ACTIVE)
    }

    fn place(&self) -> Place {
        let place = self.records.place();
        place.record(format!("step {}", self.next))
    }

    fn step(&mut self) -> Result<Step> {
        let record = self.record()?;
        let part = record.start..record.start.saturating_add(record.len);
        let place = self.place();
        self.claims.claim(self.next, part, &self.index, &place)?;
        let what = "the metadata of a step";
        let bytes = self.index.read(record.start, record.len, what)?;
        let place = self.index.place(record.start);
        let (variables, attributes) = metadata::MetadataReader {
            index: &self.index,
            start: record.start,
            parts: &record.parts,
            formats: &mut self.formats,
        }
        .read(&bytes, self.is_big)?;
        Ok(Step {
            variables,
            attributes,
            place,
        })
    }

    fn skip(&mut self) {
        self.records.skip();
        self.next += 1;
    }

    fn take_findings(&mut self) -> Vec<(Rule, Place)> {
        std::mem::take(&mut self.repaired)
    }
}
