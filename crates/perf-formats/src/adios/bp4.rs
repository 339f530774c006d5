//! [`Bp4`]: a folder of a BP4 file, read step by step.
//!
//! `md.idx` has a header of 64 bytes and a record of 64 bytes for each step, which gives the
//! position of the index of the step in `md.0`. The index gives the positions of the values in
//! `data.N`. A step is written in the order data, index, record, so a step with a record is
//! complete.

use super::index::{self, Variable};
use super::member::Member;
use super::primitives::{Damage, Fields};
use crate::{Error, Result};
use perf_core::Place;
use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Names of its members.
pub(super) const STEPS: &str = "md.idx";
const INDEX: &str = "md.0";
/// Lengths of the header and of the record of a step.
const HEADER: u64 = 64;
const RECORD: u64 = 64;
/// Positions in the header of the byte order, the version of the format and the flag of an active
/// writer.
const ORDER: usize = 36;
const VERSION: usize = 37;
const ACTIVE: usize = 38;

/// A folder that contains a BP4 file.
#[derive(Debug)]
pub(super) struct Bp4 {
    /// Path of the folder.
    path: PathBuf,
    /// Index of steps, `md.idx`.
    steps: Member,
    /// Index of variables, `md.0`.
    index: Member,
    /// Opened data files, by number.
    data: HashMap<u32, Member>,
    /// `true` for big-endian files.
    pub(super) is_big: bool,
    /// Description of a damaged header field whose value was replaced by the only possible one.
    repaired: Option<String>,
    /// Next record to read.
    next: u64,
    /// Number of bytes of tables read so far.
    pub(super) taken: u64,
    /// `true` if tables have claimed more bytes than exist.
    pub(super) is_spent: bool,
    /// Bytes of the index that steps have claimed, and the last step counted in them.
    claimed: u64,
    /// Last step that is counted in `claimed`.
    counted: Option<u64>,
}

/// State after the last step that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ahead {
    /// The step with this number, from 0, is next.
    Step(u64),
    /// There is no further step yet, but the writer is active.
    Waiting,
    /// There is no further step, and no active writer. `true` if the index ends within a record.
    End(bool),
}

/// The index of a step.
#[derive(Debug)]
pub(super) struct Step {
    /// Variables of the step.
    pub(super) variables: Vec<Variable>,
    /// Attributes of the step.
    pub(super) attributes: Vec<Variable>,
    /// Position of the step in the index.
    pub(super) place: Place,
}

/// Returns `true` if the error means incomplete data, which is possible for a while in a file that
/// is being written.
pub(super) fn is_damage(error: &Error) -> bool {
    match error {
        Error::Truncated { .. } | Error::Malformed { .. } => true,
        Error::Io { source, .. } => source.kind() == io::ErrorKind::NotFound,
        _ => false,
    }
}

impl Bp4 {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let mut steps = Member::open(&path.join(STEPS))?;
        let header = steps.read(0, HEADER, "the header of an index of steps")?;
        let byte = |at: usize| header.get(at).copied().unwrap_or_default();
        let version = byte(VERSION);
        let mut repaired = None;
        if !header.starts_with(b"ADIOS-BP v") {
            repaired = Some("the name of the format".to_string());
        }
        if repaired.is_some() && version != 4 {
            return Err(Error::Malformed {
                place: steps.place(0),
                expected: "`ADIOS-BP v`".into(),
                got: String::from_utf8_lossy(&header[..10]).into_owned(),
            });
        }
        if version != 4 {
            return Err(Error::Unsupported {
                place: steps.place(VERSION as u64),
                what: format!(
                    "version {version} of the BP format (set the engine of the plug-in to BP4)"
                ),
            });
        }
        let is_big = match byte(ORDER) {
            0 => false,
            1 => true,
            // No other byte order has been written for a long time.
            other => {
                repaired = Some(format!("the byte order {other}"));
                false
            }
        };
        Ok(Bp4 {
            index: Member::open(&path.join(INDEX))?,
            path: path.into(),
            steps,
            data: HashMap::new(),
            is_big,
            repaired,
            next: 0,
            taken: 0,
            is_spent: false,
            claimed: 0,
            counted: None,
        })
    }

    /// Returns a repaired header field, once.
    pub(super) fn take_repaired(&mut self) -> Option<Place> {
        let repaired = self.repaired.take()?;
        Some(self.steps.place(0).record(repaired))
    }

    /// Returns `true` if a header and an index exist, so that errors in them are permanent.
    pub(super) fn has_header(path: &Path) -> bool {
        let header = std::fs::metadata(path.join(STEPS));
        header.is_ok_and(|found| found.len() >= HEADER) && path.join(INDEX).exists()
    }

    /// Checks for the next step.
    pub(super) fn look(&mut self) -> Result<Ahead> {
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

    /// Returns `true` if the writer is active.
    pub(super) fn is_active(&mut self) -> Result<bool> {
        let what = "the header of an index of steps";
        let active = self.steps.read(ACTIVE as u64, 1, what)?;
        Ok(active.first().is_some_and(|active| *active != 0))
    }

    /// Reads the index of the next step, if all of its data exist.
    pub(super) fn whole_step(&mut self) -> Result<Step> {
        let step = self.step()?;
        for variable in &step.variables {
            for block in variable.blocks.iter().filter(|one| !one.dims.is_empty()) {
                let rows = block.dims.iter().map(|[local, ..]| *local);
                let count = rows.fold(1_u64, u64::saturating_mul);
                let len = count.saturating_mul(variable.kind.size());
                let data = self.data(block.file)?;
                if block.payload.saturating_add(len) > data.len()? && !block.is_transformed {
                    return Err(Error::Truncated {
                        place: data.place(block.payload),
                        expected: "the rows of a table".into(),
                    });
                }
            }
        }
        Ok(step)
    }

    /// Skips the next step without reading it.
    pub(super) fn skip(&mut self) {
        self.next += 1;
    }

    /// Returns the place of the record of the next step.
    pub(super) fn place(&self) -> Place {
        let place = self.steps.place(HEADER + self.next * RECORD);
        place.record(format!("step {}", self.next))
    }

    /// Reads the index of the next step.
    pub(super) fn step(&mut self) -> Result<Step> {
        let place = self.place();
        let at = HEADER + self.next * RECORD;
        let record = self.steps.read(at, RECORD, "the record of a step")?;
        let damaged = |damage: Damage| Error::Malformed {
            place: place.clone(),
            expected: damage.expected.into(),
            got: "something else".into(),
        };
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
        self.claim(groups..end, &place)?;
        let bytes = self
            .index
            .read(groups, end - groups, "the index of a step")?;
        let index = self.index.place(groups);
        let name = Arc::clone(&self.index.name);
        let damaged = |damage: Damage| Error::Malformed {
            place: Place::file(Arc::clone(&name)).at(groups + damage.at as u64),
            expected: damage.expected.into(),
            got: "something else, or the end".into(),
        };
        let section = |start: u64| {
            let mut fields = Fields::new(&bytes, self.is_big);
            let skipped = fields.bytes(start - groups, "an index of a step");
            skipped.map(|_| fields).map_err(damaged)
        };
        if index::is_column_major(&mut section(groups)?).map_err(damaged)? {
            return Err(Error::Unsupported {
                place: index,
                what: "an array in column-major order".into(),
            });
        }
        Ok(Step {
            variables: index::read(&mut section(variables)?).map_err(damaged)?,
            attributes: index::read(&mut section(attributes)?).map_err(damaged)?,
            place: index,
        })
    }

    /// Adds a part of the index to the claimed bytes. Steps with a common index would otherwise
    /// take the time of the whole index each. A step that is read again because it was incomplete
    /// counts once.
    fn claim(&mut self, part: Range<u64>, place: &Place) -> Result<()> {
        if self.counted != Some(self.next) {
            self.counted = Some(self.next);
            self.claimed = self.claimed.saturating_add(part.end - part.start);
        }
        let there = self.index.len()?;
        // A truncated index is reported separately.
        if self.claimed <= there || part.end > there {
            Ok(())
        } else {
            Err(Error::Malformed {
                place: place.clone(),
                expected: format!("at most {there} bytes in all steps together"),
                got: format!("{} bytes", self.claimed),
            })
        }
    }

    /// Returns the number of bytes of the opened data files.
    pub(super) fn data_len(&self) -> Result<u64> {
        let mut members = self.data.values();
        members.try_fold(0_u64, |sum, member| Ok(sum.saturating_add(member.len()?)))
    }

    pub(super) fn data(&mut self, number: u32) -> Result<&mut Member> {
        use std::collections::hash_map::Entry;
        match self.data.entry(number) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(new) => {
                let member = Member::open(&self.path.join(format!("data.{number}")))?;
                Ok(new.insert(member))
            }
        }
    }
}
