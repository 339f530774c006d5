//! [`Records`]: reads `md.idx` of BP5: a [`Record`] for each step with its position in `md.0`, and
//! the [`Parts`] of the data files that each writer filled in the step.

use super::super::header::HEADER;
use super::super::member::Member;
use super::super::primitives::Fields;
use crate::{Error, Result};
use perf_core::Place;

/// Length of the type and length of a record in bytes.
const HEAD: u64 = 9;
/// Length of a number in bytes.
const NUMBER: u64 = 8;

/// Types of records.
const STEP: u8 = b's';
const WRITERS: u8 = b'w';

/// The record of a step.
#[derive(Clone, Debug)]
pub(super) struct Record {
    /// Position of the step in `md.0`.
    pub(super) start: u64,
    /// Length of the step in `md.0`.
    pub(super) len: u64,
    /// Parts of the data of each writer in this step.
    pub(super) parts: Vec<Parts>,
}

/// Parts of the data of a writer in a step. Several parts occur if the writer flushed within the
/// step.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    /// Number of the data file of the writer.
    pub(super) file: u32,
    /// Flushed parts, in order.
    flushed: Vec<Flushed>,
    /// Position of the last part in the data file.
    last: u64,
}

/// A part of the data of a writer that was flushed within the step.
#[derive(Clone, Copy, Debug)]
struct Flushed {
    /// Offset of its end in the data of the step.
    end: u64,
    /// Length in bytes.
    len: u64,
    /// Position in the data file.
    position: u64,
}

impl Parts {
    /// Returns the position in the data file of a block at an offset in the data of the step, and
    /// the number of bytes up to the end of its part, if that is known.
    pub(super) fn position(&self, offset: u64) -> (u64, Option<u64>) {
        let part = self.flushed.partition_point(|part| part.end <= offset);
        match self.flushed.get(part) {
            Some(Flushed { end, len, position }) => {
                let rest = end - offset;
                (
                    position.saturating_add(len.saturating_sub(rest)),
                    Some(rest),
                )
            }
            None => {
                let before = self.flushed.last().map_or(0, |part| part.end);
                (self.last.saturating_add(offset - before), None)
            }
        }
    }
}

/// The next record of a step.
#[derive(Debug)]
pub(super) enum Next {
    /// A valid record.
    Step(Record),
    /// A damaged record.
    Damaged(Error),
    /// The file ends before the next record. `true` if it ends within the record.
    End(bool),
}

/// Reader of the records of a file.
#[derive(Debug)]
pub(super) struct Records {
    /// Index of steps, `md.idx`.
    file: Member,
    /// `true` for big-endian files.
    is_big: bool,
    /// Position of the next record.
    at: u64,
    /// Position of the record after the next.
    after: u64,
    /// Numbers of the data files of the writers.
    writers: Vec<u32>,
}

impl Records {
    /// Creates a reader of the records after the header.
    pub(super) fn new(file: Member, is_big: bool) -> Self {
        Records {
            file,
            is_big,
            at: HEADER,
            after: HEADER,
            writers: Vec::new(),
        }
    }

    /// Returns the place of the next record.
    pub(super) fn place(&self) -> Place {
        self.file.place(self.at)
    }

    /// Returns `true` if the byte of the header at `offset` is not 0.
    pub(super) fn flag(&mut self, offset: u64) -> Result<bool> {
        self.file.flag(offset)
    }

    /// Skips the next step.
    pub(super) fn skip(&mut self) {
        self.at = self.after;
    }

    /// Reads the next record of a step, and the records of writers before it.
    pub(super) fn next(&mut self) -> Result<Next> {
        loop {
            let end = self.file.len()?;
            let rest = end.saturating_sub(self.at);
            if rest < HEAD {
                return Ok(Next::End(rest > 0));
            }
            let head = self.numbers(self.at + 1, 1)?;
            let kind = self.file.read(self.at, 1, "the type of a record")?;
            let len = head[0];
            let kind = kind[0];
            let body = rest - HEAD;
            // The third number of a step and the first of writers determine the length.
            let known = if body < 3 * NUMBER {
                None
            } else {
                let first = self.numbers(self.at + HEAD, 3)?;
                self.length(kind, &first)
            };
            let is_whole = len <= body;
            self.after = self.at.saturating_add(HEAD).saturating_add(len);
            match (kind, known) {
                (STEP | WRITERS, None) if !is_whole => return Ok(Next::End(true)),
                (STEP | WRITERS, Some(known)) if known == len => {
                    if !is_whole {
                        return Ok(Next::End(true));
                    }
                    let numbers = self.numbers(self.at + HEAD, len / NUMBER)?;
                    if kind == STEP {
                        return Ok(Next::Step(self.step(&numbers)));
                    }
                    let files = numbers[3..].iter();
                    // Missing data files are reported when they are used.
                    let files = files.map(|file| u32::try_from(*file).unwrap_or(u32::MAX));
                    self.writers = files.collect();
                    self.at = self.after;
                }
                _ => return Ok(Next::Damaged(self.damaged(kind, len, known, end)?)),
            }
        }
    }

    /// Returns the length of a record of a type that begins with these numbers.
    fn length(&self, kind: u8, first: &[u64]) -> Option<u64> {
        let (count, each) = match (kind, first) {
            (STEP, [_, _, flushes]) => {
                let each = flushes.checked_mul(2)?.checked_add(1)?;
                (self.writers.len() as u64, each)
            }
            (WRITERS, [writers, ..]) => (*writers, 1),
            _ => return None,
        };
        let numbers = count.checked_mul(each)?.checked_add(3)?;
        numbers.checked_mul(NUMBER)
    }

    /// Returns the error of a damaged record, and determines the position of the next one: the
    /// first of the possible positions at which a record begins or the file ends.
    fn damaged(&mut self, kind: u8, len: u64, known: Option<u64>, end: u64) -> Result<Error> {
        let mut after = None;
        for len in [Some(len), known].into_iter().flatten() {
            let at = self.at.saturating_add(HEAD).saturating_add(len);
            let is_record = at.saturating_add(HEAD) <= end
                && matches!(self.file.read(at, 1, "a record")?[..], [STEP | WRITERS]);
            if at == end || is_record {
                after = Some(at);
                break;
            }
        }
        self.after = after.unwrap_or(end);
        let rest = match after {
            Some(_) => "",
            None => "; the position of the next record is unknown, so the rest is skipped",
        };
        Ok(Error::Malformed {
            place: self.place(),
            expected: "the record of a step (`s`) or of writers (`w`), and its length".into(),
            got: format!("the type {kind} and the length {len}{rest}"),
        })
    }

    /// Converts the numbers of the record of a step. There must be as many as [`length`](Self::length) gives.
    fn step(&self, numbers: &[u64]) -> Record {
        let parts = &numbers[3..];
        let each = parts.len() / self.writers.len().max(1);
        let parts = self.writers.iter().zip(parts.chunks(each.max(1)));
        let parts = parts.map(|(file, numbers)| {
            let (pairs, last) = numbers.as_chunks();
            let mut end = 0_u64;
            let flushed = pairs.iter().map(|&[position, len]| {
                end = end.saturating_add(len);
                Flushed { end, len, position }
            });
            Parts {
                file: *file,
                flushed: flushed.collect(),
                last: last[0],
            }
        });
        Record {
            start: numbers[0],
            len: numbers[1],
            parts: parts.collect(),
        }
    }

    /// Reads `count` numbers.
    fn numbers(&mut self, at: u64, count: u64) -> Result<Vec<u64>> {
        let what = "a number of a record";
        let bytes = self.file.read(at, count.saturating_mul(NUMBER), what)?;
        let mut fields = Fields::new(&bytes, self.is_big);
        let mut numbers = Vec::new();
        while !fields.is_empty() {
            let number = fields.u64(what);
            numbers.push(number.map_err(|damage| self.file.malformed(at, damage))?);
        }
        Ok(numbers)
    }
}
