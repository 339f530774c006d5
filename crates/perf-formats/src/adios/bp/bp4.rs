//! [`Bp4`]: implementation of [`StepIndex`] for BP4: reads the steps of a folder, with their
//! variables, from `md.idx` and `md.0`.
//!
//! `md.idx` has a [`Header`] and a record of 64 bytes for each step, which gives the position of the
//! index of the step in `md.0`. The index gives the positions of the values in `data.N`. A step is
//! written in the order data, index, record, so a step with a record is complete.

use super::bp_file::{Ahead, Step, StepIndex};
use super::header::{HEADER, Header};
use super::member::{Claims, Member};
use super::primitives::Fields;
use super::variables;
use crate::{Error, Result};
use perf_core::{Place, Rule};
use std::path::Path;

/// Length of the record of a step.
const RECORD: u64 = 64;
/// Position in the header of the flag of an active writer.
const ACTIVE: u64 = 38;

/// Index of the steps of a BP4 file.
#[derive(Debug)]
pub(in crate::adios) struct Bp4 {
    /// Index of steps, `md.idx`.
    steps: Member,
    /// Index of variables, `md.0`.
    index: Member,
    /// `true` for big-endian files.
    is_big: bool,
    /// Repairs of the header.
    repaired: Vec<(Rule, Place)>,
    /// Next record to read.
    next: u64,
    /// Bytes of the index that steps have claimed.
    claims: Claims,
}

impl Bp4 {
    /// Opens the index of a folder.
    pub(in crate::adios) fn open(path: &Path, header: Header) -> Result<Self> {
        Ok(Bp4 {
            index: Member::open(&path.join("md.0"))?,
            is_big: header.is_big,
            repaired: header.repaired,
            steps: header.steps,
            next: 0,
            claims: Claims::default(),
        })
    }
}

impl StepIndex for Bp4 {
    fn look(&mut self) -> Result<Ahead> {
        let at = HEADER + self.next * RECORD;
        // A writer clears the flag before it ends, so the flag is read before the length.
        let is_active = self.is_active()?;
        let rest = self.steps.len()?.saturating_sub(at);
        Ok(match (rest >= RECORD, is_active) {
            (true, _) => Ahead::Step(self.next),
            (false, true) => Ahead::Waiting,
            (false, false) => Ahead::End(rest > 0),
        })
    }

    fn is_active(&mut self) -> Result<bool> {
        self.steps.flag(ACTIVE)
    }

    fn place(&self) -> Place {
        let place = self.steps.place(HEADER + self.next * RECORD);
        place.record(format!("step {}", self.next))
    }

    fn step(&mut self) -> Result<Step> {
        let place = self.place();
        let at = HEADER + self.next * RECORD;
        let record = self.steps.read(at, RECORD, "the record of a step")?;
        let damaged = |damage| self.steps.malformed(at, damage);
        let mut fields = Fields::new(&record, self.is_big);
        let mut numbers = [0; 6];
        for number in &mut numbers {
            *number = fields.u64("the record of a step").map_err(damaged)?;
        }
        let [_, _, groups, variables, attributes, end] = numbers;
        let is_ordered = groups <= variables && variables <= attributes && attributes <= end;
        if !is_ordered {
            return Err(Error::Malformed {
                place,
                expected: "ascending offsets of groups, variables, attributes and the end".into(),
                got: format!("{groups}, {variables}, {attributes}, {end}"),
            });
        }
        self.claims
            .claim(self.next, groups..end, &self.index, &place)?;
        let bytes = self
            .index
            .read(groups, end - groups, "the index of a step")?;
        let index = self.index.place(groups);
        let damaged = |damage| self.index.malformed(groups, damage);
        let section = |start: u64| {
            let mut fields = Fields::new(&bytes, self.is_big);
            let skipped = fields.bytes(start - groups, "an index of a step");
            skipped.map(|_| fields).map_err(damaged)
        };
        let found = variables::groups(&mut section(groups)?).map_err(damaged)?;
        if found.is_column_major {
            return Err(Error::Unsupported {
                place: index,
                what: "an array in column-major order".into(),
            });
        }
        Ok(Step {
            variables: variables::read(&mut section(variables)?).map_err(damaged)?,
            attributes: variables::read(&mut section(attributes)?).map_err(damaged)?,
            place: index,
        })
    }

    fn skip(&mut self) {
        self.next += 1;
    }

    fn take_findings(&mut self) -> Vec<(Rule, Place)> {
        std::mem::take(&mut self.repaired)
    }
}
