//! [`CurrentLine`]: the current line of a file, with look-ahead if the line is doubtful.

use super::json::Line;
use super::lines::{Lines, Polled};
use super::row::Wrong;
use super::syntax::Syntax;
use crate::Result;
use perf_core::{Diagnostics, Place};
use std::collections::VecDeque;

/// Current line and the look-ahead.
#[derive(Debug)]
pub(super) struct CurrentLine {
    /// Lines of the file.
    lines: Lines,
    /// Limit on definitions.
    definitions: u32,
    /// Copy of the current line; `None` if `lines` still holds it, because nothing was read ahead.
    line: Option<Kept>,
    /// Lines that were read ahead.
    after: VecDeque<Kept>,
}

/// A buffered line.
#[derive(Debug)]
struct Kept {
    /// Bytes of the line.
    line: Vec<u8>,
    /// Place of the line.
    place: Place,
    /// `true` if the line has its end.
    is_whole: bool,
}

impl CurrentLine {
    pub(super) fn new(lines: Lines, definitions: u32) -> Self {
        CurrentLine {
            lines,
            definitions,
            line: None,
            after: VecDeque::new(),
        }
    }

    pub(super) fn lines(&mut self) -> &mut Lines {
        &mut self.lines
    }

    /// Iterates over the lines that were read ahead.
    pub(super) fn after(&self) -> impl Iterator<Item = &[u8]> {
        self.after.iter().map(|kept| &kept.line[..])
    }

    /// Advances to the next line, if it is available.
    pub(super) fn advance(&mut self, found: &mut Diagnostics) -> Result<Polled> {
        self.line = self.after.pop_front();
        match &self.line {
            Some(kept) => Ok(Polled::Line(kept.is_whole)),
            None => self.lines.poll(found),
        }
    }

    /// Reads ahead until `count` lines are buffered or the file ends. Returns `false` if the file
    /// may grow and has fewer lines so far.
    pub(super) fn read_on(&mut self, count: usize, found: &mut Diagnostics) -> Result<bool> {
        while self.after.len() < count {
            if self.line.is_none() {
                self.line = Some(self.copy(true));
            }
            match self.lines.poll(found)? {
                Polled::Line(is_whole) => {
                    let line = self.copy(is_whole);
                    self.after.push_back(line);
                }
                Polled::Later => return Ok(false),
                Polled::End => break,
            }
        }
        Ok(true)
    }

    fn copy(&self, is_whole: bool) -> Kept {
        Kept {
            line: self.lines.line().to_vec(),
            place: self.lines.place(),
            is_whole,
        }
    }

    /// Keeps the current line for another attempt when more data are available.
    pub(super) fn put_back(&mut self) {
        let kept = self.line.take().unwrap_or_else(|| self.copy(true));
        self.after.push_front(kept);
    }

    pub(super) fn place(&self) -> Place {
        match &self.line {
            Some(kept) => kept.place.clone(),
            None => self.lines.place(),
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match &self.line {
            Some(kept) => &kept.line,
            None => self.lines.line(),
        }
    }

    /// Parses the current line. Returns `None` if the line is empty or `syntax` is `None`.
    pub(super) fn parse(&self, syntax: &mut Option<Syntax>) -> Option<Result<Line<'_>, Wrong>> {
        let line = self.bytes();
        let syntax = syntax.as_mut().filter(|_| !line.is_empty())?;
        Some(syntax.parse(line, self.definitions))
    }
}
