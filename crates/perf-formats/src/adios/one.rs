//! [`OneFile`]: a file among others, and which step of it comes next.

use super::bp4::{Ahead, Bp4, Step, is_damage};
use super::names::Names;
use super::rules;
use crate::Result;
use crate::streams::Follow;
use perf_core::{Diagnostics, Place};
use std::path::PathBuf;
use std::time::Instant;

/// A BP4 file, which may not be there yet.
#[derive(Debug)]
pub(super) struct OneFile {
    path: PathBuf,
    file: Option<Bp4>,
    pub(super) own: Own,
    /// What comes next; `None` as long as nobody knows.
    pub(super) next: Option<Next>,
    /// Whether nobody waits for it any more.
    pub(super) is_late: bool,
    /// Since when the next step is announced, but not whole.
    since: Option<Instant>,
}

/// What was read of a file.
#[derive(Debug, Default)]
pub(super) struct Own {
    pub(super) names: Names,
    /// The index of the next step, if it was read.
    pub(super) index: Option<Step>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// A step of this number.
    Step(u64),
    /// Nothing, ever.
    End,
}

impl OneFile {
    /// A file that is there.
    pub(super) fn open(path: PathBuf) -> Result<Self> {
        let file = Bp4::open(&path)?;
        Ok(OneFile {
            file: Some(file),
            ..Self::later(path)
        })
    }

    /// A file that is opened once it is there.
    pub(super) fn later(path: PathBuf) -> Self {
        OneFile {
            path,
            file: None,
            own: Own::default(),
            next: None,
            is_late: false,
            since: None,
        }
    }

    /// Where the next step is.
    pub(super) fn place(&self) -> Place {
        match &self.file {
            Some(file) => file.place(),
            None => Place::file(self.path.to_string_lossy().into_owned()),
        }
    }

    /// What was read, and the file it is of.
    pub(super) fn parts(&mut self) -> Option<(&mut Own, &mut Bp4)> {
        Some((&mut self.own, self.file.as_mut()?))
    }

    /// The step that comes next, if it is there.
    pub(super) fn step(&self) -> Option<u64> {
        match self.next {
            Some(Next::Step(step)) => Some(step),
            _ => None,
        }
    }

    /// Whether it may have more, and is waited for: who is late is not, where others have something.
    pub(super) fn is_awaited(&self, is_any: bool) -> bool {
        self.next.is_none() && !(is_any && self.is_late)
    }

    /// Looks for what comes next, once.
    pub(super) fn look(&mut self, follow: Option<Follow>, found: &mut Diagnostics) -> Result<()> {
        let Some(follow) = follow else {
            return self.look_once(found);
        };
        let file = match &mut self.file {
            Some(file) => file,
            none => match Bp4::open(&self.path) {
                Ok(file) => none.insert(file),
                // A header is written at once, but not with the file.
                Err(error) if is_damage(&error) && !self.has_whole_header() => return Ok(()),
                Err(error) => return Err(error),
            },
        };
        let is_active = match file.look().and_then(|ahead| Ok((ahead, file.is_active()?))) {
            Ok((Ahead::Step(_), is_active)) => is_active,
            Ok((Ahead::Waiting, _)) => return Ok(()),
            Ok((Ahead::End(_), _)) => return self.look_once(found),
            // Somebody writes it anew.
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
                // Whoever reads it says what is wrong with it.
            }
            Err(_) => {}
        }
        self.since = None;
        self.look_once(found)
    }

    /// Whether there is a header, so that waiting for one is of no use.
    fn has_whole_header(&self) -> bool {
        Bp4::has_header(&self.path)
    }

    /// What there is now is all there will be.
    fn look_once(&mut self, found: &mut Diagnostics) -> Result<()> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        self.next = Some(match file.look()? {
            Ahead::Step(step) => {
                self.is_late = false;
                Next::Step(step)
            }
            Ahead::Waiting => Next::End,
            Ahead::End(is_cut) => {
                if is_cut {
                    found.add(rules::UNFINISHED, file.place());
                }
                Next::End
            }
        });
        Ok(())
    }
}
