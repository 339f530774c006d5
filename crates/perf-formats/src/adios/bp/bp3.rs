//! [`Bp3`]: implementation of [`StepIndex`] for BP3: reads the steps of a file, with their
//! variables, from the indexes that the footer at its end locates. ADIOS 1 writes BP3, and ADIOS2
//! does so on request.
//!
//! A file ends with a footer of 56 bytes, which gives the positions of the indexes of process
//! groups, variables and attributes. Each index covers all steps; a block of a variable names its
//! step. The footer is written when the writer closes the file. The values are in the same file, or
//! in `FILE.dir/FILE.N`.

use super::bp_file::{Ahead, Step, StepIndex};
use super::data_files::DataFiles;
use super::member::Member;
use super::primitives::Fields;
use super::variables::{self, Variable};
use crate::adios::rules;
use crate::{Error, Result};
use perf_core::{Place, Rule};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Length of the footer in bytes.
const FOOTER: u64 = 56;
/// Start of the footer.
const NAME: &[u8] = b"ADIOS-BP v";
/// Positions in the footer of the starts of the three indexes.
const STARTS: usize = 28;
/// Position in the footer of the byte order.
const ORDER: usize = 52;
/// Position in the footer of the flag of values in other files.
const SUB_FILES: usize = 54;
/// Position in the footer of the version of the format.
const VERSION: usize = 55;

/// Index of the steps of a BP3 file.
#[derive(Debug)]
pub(in crate::adios) struct Bp3 {
    /// Place of the index of variables.
    place: Place,
    /// Variables of each step, with the number of the step from 0.
    steps: Vec<(u64, Vec<Variable>)>,
    /// Attributes, which belong to no step in this format.
    attributes: Vec<Variable>,
    /// Index in `steps` of the next step.
    next: usize,
    /// Repairs and losses.
    findings: Vec<(Rule, Place)>,
}

/// Returns `true` if a file ends with a footer of BP3.
pub(in crate::adios) fn has_footer(path: &Path) -> bool {
    let footer = Member::open(path).and_then(|mut file| footer(&mut file));
    footer.is_ok_and(|(_, footer)| footer.starts_with(NAME))
}

/// Returns the footer of a file and its position.
fn footer(file: &mut Member) -> Result<(u64, Vec<u8>)> {
    let what = "the footer of BP3, which the writer appends when it closes the file";
    let at = file.len()?.saturating_sub(FOOTER);
    Ok((at, file.read(at, FOOTER, what)?))
}

/// Returns the path to which the number of a data file is appended: `FILE.dir/FILE.`.
fn sub_files(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default();
    let [mut folder, mut file] = [name.to_os_string(), name.to_os_string()];
    folder.push(".dir");
    file.push(".");
    path.with_file_name(folder).join(file)
}

impl Bp3 {
    /// Opens the index of a file, and its data files.
    pub(in crate::adios) fn open(path: &Path) -> Result<(Self, DataFiles)> {
        let mut file = Member::open(path)?;
        let (end, footer) = footer(&mut file)?;
        let byte = |at: usize| footer[at];
        let (version, order) = (byte(VERSION), byte(ORDER));
        let mut findings = Vec::new();
        let mut repaired = |field: String| {
            findings.push((rules::HEADER, file.place(end).record(field)));
        };
        match (footer.starts_with(NAME), version) {
            (true, 3) => {}
            (true, _) => {
                return Err(Error::Unsupported {
                    place: file.place(end + VERSION as u64),
                    what: format!("version {version} of the BP format in one file"),
                });
            }
            (false, 3) => repaired("the name of the format".into()),
            (false, _) => {
                return Err(Error::Malformed {
                    place: file.place(end),
                    expected: "the footer of BP3, which the writer appends when it closes the file"
                        .into(),
                    got: "other bytes".into(),
                });
            }
        }
        if order > 1 {
            repaired(format!("the byte order {order}"));
        }
        let is_big = order == 1;
        let data = if byte(SUB_FILES) == 0 {
            DataFiles::one(path, is_big)
        } else {
            DataFiles::numbered(&sub_files(path), is_big)
        };
        let index = Bp3::read(&mut file, &footer, end, is_big, findings)?;
        Ok((index, data))
    }

    /// Reads the indexes, which end at `end`.
    fn read(
        file: &mut Member,
        footer: &[u8],
        end: u64,
        is_big: bool,
        mut findings: Vec<(Rule, Place)>,
    ) -> Result<Self> {
        let mut fields = Fields::new(&footer[STARTS..], is_big);
        let mut start = || {
            let start = fields.u64("the position of an index");
            start.map_err(|damage| file.malformed(end + STARTS as u64, damage))
        };
        let [groups, variables, attributes] = [start()?, start()?, start()?];
        if !(groups <= variables && variables <= attributes && attributes <= end) {
            return Err(Error::Malformed {
                place: file.place(end + STARTS as u64),
                expected: "ascending offsets of groups, variables, attributes and the footer"
                    .into(),
                got: format!("{groups}, {variables}, {attributes}, {end}"),
            });
        }
        let mut section = |start: u64, end: u64| file.read(start, end - start, "an index of BP3");
        let sections = [
            section(groups, variables)?,
            section(variables, attributes)?,
            section(attributes, end)?,
        ];
        let [first, second, third] = &sections;
        let found = variables::groups(&mut Fields::new(first, is_big));
        let found = found.map_err(|damage| file.malformed(groups, damage))?;
        if found.is_column_major {
            return Err(Error::Unsupported {
                place: file.place(groups),
                what: "an array in column-major order".into(),
            });
        }
        let mut all = |bytes: &[u8], start: u64| {
            let mut damaged = Vec::new();
            let read = variables::read_all(&mut Fields::new(bytes, is_big), &mut damaged);
            let places = damaged.into_iter().map(|damage| {
                let place = file.place(start + damage.at as u64);
                let expected = format!("expected {}", damage.expected);
                (rules::DAMAGED_INDEX, place.record(expected))
            });
            findings.extend(places);
            read
        };
        let all_variables = all(second, variables);
        let attributes = all(third, attributes);
        let place = file.place(variables);
        Ok(Bp3 {
            steps: by_step(all_variables, found.last_step, &place, &mut findings),
            place,
            attributes,
            next: 0,
            findings,
        })
    }
}

/// Distributes the blocks of variables to their steps, up to the last one. Steps without variables
/// are dropped: ADIOS 1 writes some after the last.
fn by_step(
    variables: Vec<Variable>,
    last: u32,
    place: &Place,
    findings: &mut Vec<(Rule, Place)>,
) -> Vec<(u64, Vec<Variable>)> {
    let mut steps: BTreeMap<u64, Vec<Variable>> = BTreeMap::new();
    for Variable { name, kind, blocks } in variables {
        let mut other = None;
        for block in blocks {
            // Steps are numbered from 1.
            let Some(step) = block.time.checked_sub(1).filter(|_| block.time <= last) else {
                other.get_or_insert(block.time);
                continue;
            };
            let step = steps.entry(step.into()).or_default();
            // The blocks of a variable follow each other.
            match step.last_mut().filter(|one| Arc::ptr_eq(&one.name, &name)) {
                Some(one) => one.blocks.push(block),
                None => step.push(Variable {
                    name: Arc::clone(&name),
                    kind,
                    blocks: vec![block],
                }),
            }
        }
        if let Some(other) = other {
            let what = format!("`{name}` in step {other} of {last}");
            findings.push((rules::DAMAGED_INDEX, place.clone().record(what)));
        }
    }
    steps.into_iter().collect()
}

impl StepIndex for Bp3 {
    fn look(&mut self) -> Result<Ahead> {
        let next = self.steps.get(self.next);
        Ok(next.map_or(Ahead::End(false), |(step, _)| Ahead::Step(*step)))
    }

    fn is_active(&mut self) -> Result<bool> {
        Ok(false)
    }

    fn place(&self) -> Place {
        match self.steps.get(self.next) {
            Some((step, _)) => self.place.clone().record(format!("step {step}")),
            None => self.place.clone(),
        }
    }

    fn step(&mut self) -> Result<Step> {
        let step = self.steps.get(self.next);
        let is_first = self.next == 0;
        Ok(Step {
            variables: step.map_or_else(Vec::new, |(_, variables)| variables.clone()),
            attributes: if is_first {
                self.attributes.clone()
            } else {
                Vec::new()
            },
            place: self.place(),
        })
    }

    fn skip(&mut self) {
        self.next += 1;
    }

    fn take_findings(&mut self) -> Vec<(Rule, Place)> {
        std::mem::take(&mut self.findings)
    }
}
