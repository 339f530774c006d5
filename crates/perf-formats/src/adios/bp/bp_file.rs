//! [`BpFile`]: opens a BP file of any version and reads it step by step; [`StepIndex`]: the
//! interface that BP3, BP4 and BP5 implement, which returns each [`Step`].

use super::bp3::{self, Bp3};
use super::bp4::Bp4;
use super::bp5::Bp5;
use super::data_files::DataFiles;
use super::header::{HEADER, Header, STEPS};
use super::variables::Variable;
use crate::{Error, Result};
use perf_core::{Place, Rule};
use std::fmt::Debug;
use std::io;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::path::Path;

/// Index of the steps of a file, which depends on the version of the format.
pub(in crate::adios) trait StepIndex:
    Debug + Send + Sync + UnwindSafe + RefUnwindSafe
{
    /// Checks for the next step.
    fn look(&mut self) -> Result<Ahead>;

    /// Returns `true` if the writer has not closed the file.
    fn is_active(&mut self) -> Result<bool>;

    /// Returns the place of the next step.
    fn place(&self) -> Place;

    /// Reads the next step, without advancing to the step after it.
    fn step(&mut self) -> Result<Step>;

    /// Advances to the step after the next one.
    fn skip(&mut self);

    /// Returns the repairs and losses since the last call.
    fn take_findings(&mut self) -> Vec<(Rule, Place)>;
}

/// State after the last step that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::adios) enum Ahead {
    /// The step with this number, from 0, is next.
    Step(u64),
    /// There is no further step yet, but the writer is active.
    Waiting,
    /// There is no further step, and no active writer. `true` if the index ends within a record.
    End(bool),
}

/// The index of a step.
#[derive(Debug)]
pub(in crate::adios) struct Step {
    /// Variables of the step.
    pub(in crate::adios) variables: Vec<Variable>,
    /// Attributes of the step.
    pub(in crate::adios) attributes: Vec<Variable>,
    /// Position of the step in the index.
    pub(in crate::adios) place: Place,
}

/// A BP file.
#[derive(Debug)]
pub(in crate::adios) struct BpFile {
    /// Index of its steps.
    pub(in crate::adios) index: Box<dyn StepIndex>,
    /// Files with its tables.
    pub(in crate::adios) data: DataFiles,
}

/// Returns `true` if the error means incomplete data, which is possible for a while in a file that
/// is being written.
pub(in crate::adios) fn is_damage(error: &Error) -> bool {
    match error {
        Error::Truncated { .. } | Error::Malformed { .. } => true,
        Error::Io { source, .. } => source.kind() == io::ErrorKind::NotFound,
        _ => false,
    }
}

impl BpFile {
    /// Opens a file of BP3, or a folder of BP4 or BP5.
    pub(in crate::adios) fn open(path: &Path) -> Result<Self> {
        if path.is_file() {
            let (index, data) = Bp3::open(path)?;
            return Ok(BpFile {
                index: Box::new(index),
                data,
            });
        }
        let header = Header::read(path)?;
        let data = DataFiles::numbered(&path.join("data."), header.is_big);
        let index: Box<dyn StepIndex> = if header.version == 4 {
            Box::new(Bp4::open(path, header)?)
        } else {
            Box::new(Bp5::open(path, header)?)
        };
        Ok(BpFile { index, data })
    }

    /// Returns `true` if the parts exist that a writer creates at the begin of BP4 and BP5 and at
    /// the end of BP3, so that errors in them are permanent.
    pub(in crate::adios) fn has_header(path: &Path) -> bool {
        if path.is_file() {
            return bp3::has_footer(path);
        }
        let header = std::fs::metadata(path.join(STEPS));
        header.is_ok_and(|found| found.len() >= HEADER) && path.join("md.0").exists()
    }

    /// Reads the index of the next step, if all of its data exist.
    pub(in crate::adios) fn whole_step(&mut self) -> Result<Step> {
        let step = self.index.step()?;
        for variable in &step.variables {
            let blocks = variable.blocks.iter().filter(|one| !one.dims.is_empty());
            for block in blocks.filter(|one| one.operator.is_none()) {
                let len = block.len(variable.kind);
                let data = self.data.get(block.file)?;
                if block.payload.saturating_add(len) > data.len()? {
                    return Err(Error::Truncated {
                        place: data.place(block.payload),
                        expected: "the rows of a table".into(),
                    });
                }
            }
        }
        Ok(step)
    }
}
