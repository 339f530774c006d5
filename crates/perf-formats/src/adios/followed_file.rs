//! [`FollowedFile`]: a BP file, which may still grow or not exist yet, with its next step.

use super::bp_file::{Ahead, BpFile, Step, is_damage};
use super::names::Names;
use super::rules;
use crate::Result;
use crate::streams::Follow;
use perf_core::{Diagnostics, Place};
use std::path::PathBuf;
use std::time::Instant;

/// A BP file, which may not exist yet.
#[derive(Debug)]
pub(super) struct FollowedFile {
    /// Path of the file.
    path: PathBuf,
    /// File, if it is open.
    file: Option<BpFile>,
    /// Contents read so far.
    pub(super) own: Own,
    /// Next step; `None` if it is not known yet.
    pub(super) next: Option<Next>,
    /// `true` if the file is not waited for any more.
    pub(super) is_late: bool,
    /// Time since when the next step is announced but incomplete.
    since: Option<Instant>,
}

/// State of an opened file.
#[derive(Debug, Default)]
pub(super) struct Own {
    /// Names defined by the steps so far.
    pub(super) names: Names,
    /// Index of the next step, if it was read.
    pub(super) index: Option<Step>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The step with this number.
    Step(u64),
    /// End of the file.
    End,
}

impl FollowedFile {
    /// Opens an existing file.
    pub(super) fn open(path: PathBuf) -> Result<Self> {
        let file = BpFile::open(&path)?;
        Ok(FollowedFile {
            file: Some(file),
            ..Self::later(path)
        })
    }

    /// Creates a file that is opened when it appears.
    pub(super) fn later(path: PathBuf) -> Self {
        FollowedFile {
            path,
            file: None,
            own: Own::default(),
            next: None,
            is_late: false,
            since: None,
        }
    }

    /// Returns the place of the next step.
    pub(super) fn place(&self) -> Place {
        match &self.file {
            Some(file) => file.index.place(),
            None => Place::file(self.path.to_string_lossy().into_owned()),
        }
    }

    /// Returns the state and the file, if it is open.
    pub(super) fn parts(&mut self) -> Option<(&mut Own, &mut BpFile)> {
        Some((&mut self.own, self.file.as_mut()?))
    }

    /// Returns the next step, if it exists.
    pub(super) fn step(&self) -> Option<u64> {
        match self.next {
            Some(Next::Step(step)) => Some(step),
            _ => None,
        }
    }

    /// Returns `true` if the file may have more steps and is waited for. A late file is not waited
    /// for if `is_any` other file has a step.
    pub(super) fn is_awaited(&self, is_any: bool) -> bool {
        self.next.is_none() && !(is_any && self.is_late)
    }

    /// Checks for the next step, once.
    pub(super) fn look(&mut self, follow: Option<Follow>, found: &mut Diagnostics) -> Result<()> {
        let Some(follow) = follow else {
            return self.look_once(found);
        };
        let file = match &mut self.file {
            Some(file) => file,
            none => match BpFile::open(&self.path) {
                Ok(file) => none.insert(file),
                // A header is written at once, but after the file was created.
                Err(error) if is_damage(&error) && !self.has_whole_header() => return Ok(()),
                Err(error) => return Err(error),
            },
        };
        let index = &mut file.index;
        let is_active = match index
            .look()
            .and_then(|ahead| Ok((ahead, index.is_active()?)))
        {
            Ok((Ahead::Step(_), is_active)) => is_active,
            Ok((Ahead::Waiting, _)) => return Ok(()),
            Ok((Ahead::End(_), _)) => return self.look_once(found),
            // The writer is recreating the file.
            Err(error) if is_damage(&error) => return Ok(()),
            Err(error) => return Err(error),
        };
        match file.whole_step() {
            Ok(step) => self.own.index = Some(step),
            Err(error) if is_damage(&error) && is_active => {
                let since = *self.since.get_or_insert_with(Instant::now);
                if since.elapsed() < follow.patience {
                    return Ok(());
                }
                // Reading the step will report the error.
            }
            Err(_) => {}
        }
        self.since = None;
        self.look_once(found)
    }

    /// Returns `true` if there is a header, so that waiting for one is pointless.
    fn has_whole_header(&self) -> bool {
        BpFile::has_header(&self.path)
    }

    /// Determines the next step of a file that does not grow.
    fn look_once(&mut self, found: &mut Diagnostics) -> Result<()> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        for (rule, place) in file.index.take_findings() {
            found.add(rule, place);
        }
        self.next = Some(match file.index.look()? {
            Ahead::Step(step) => {
                self.is_late = false;
                Next::Step(step)
            }
            Ahead::Waiting => {
                found.add(rules::UNCLOSED, file.index.place());
                Next::End
            }
            Ahead::End(is_cut) => {
                if is_cut {
                    found.add(rules::UNFINISHED, file.index.place());
                }
                Next::End
            }
        });
        Ok(())
    }
}
