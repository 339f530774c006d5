//! [`Adios`]: reader of the streams of events that TAU's trace plug-in writes through ADIOS2 as BP
//! files, one for each rank, complete or growing.
//!
//! | format | files | engine of ADIOS2 | growing |
//! |---|---|---|---|
//! | BP3 | a file with a footer, and data files in `FILE.dir` | `BP3`; files of ADIOS 1 | steps are visible after the writer closed the file |
//! | BP4 | a folder: `md.idx`, `md.0`, `data.N` | `BP4`, and `BPFile` before ADIOS2 2.9 | yes |
//! | BP5 | a folder: `md.idx`, `md.0`, `mmd.0`, `data.N` | `BP5`, and `BPFile` since ADIOS2 2.9 | yes |
//!
//! | variable of a step | contents |
//! |---|---|
//! | `event_timestamps` | program, rank, thread, event type, timer, time in microseconds |
//! | `counter_values` | program, rank, thread, counter, value, time |
//! | `comm_timestamps` | program, rank, thread, event type, tag, partner, bytes, time |
//! | `timer_event_count`, `counter_event_count`, `comm_count` | number of valid rows of these tables; a table without rows is not written |
//!
//! Names are attributes: `timer N`, `counter N`, `event_type N` (`ENTRY`, `EXIT`, `SEND` and
//! `RECV`, in any order), `program_name N`, `MetaData:rank:thread:name`. Each file numbers its own
//! program 0. Files with the same program name are one program here; others get numbers of their
//! own, in the order of the files.
//!
//! The supported part of these formats is the one that such streams need: tables of integers,
//! single values and texts, in either byte order, with any number of steps, blocks, writers and data
//! files. Compressed variables and Fortran arrays are [`Error::Unsupported`].
//!
//! The engine `SST` sends steps over the network and stores nothing but a contact file, which is
//! [`Error::Unsupported`]. A reader would need the connection handling, the messages and the data
//! transport of the ADIOS2 version of the writer. Instead, select the engine `BP5` or `BP4` and
//! [follow](Adios::following) its files.

mod bp;
#[cfg(test)]
mod corpus_tests;
mod followed_file;
mod format;
mod names;
pub mod rules;
mod step_events;
mod table;
mod tau;

use bp::{bp_file, bp3, header, primitives, variables};

pub use format::FORMAT;

use crate::streams::Follow;
use crate::{Error, OpenOptions, Result};
use bp_file::is_damage;
use followed_file::{FollowedFile, Next};
use names::Programs;
use perf_core::{Diagnostics, EventSink, EventSource, Job, Place};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tau::{Scratch, Tables};

/// Events of one or more BP files, step by step. A step contains the events of all files, file by
/// file.
///
/// While files are [followed](Self::follow), a step waits up to [`Follow::patience`] for files that
/// do not have it yet. A file without the step by then is late, and further steps do not wait for it.
/// Its steps keep their numbers: steps that the other files have already ended are ended once more
/// with the events of the late file alone, and are [counted](rules::LATE). While a file is being
/// written, its announced data may be missing or incomplete for as long as [`Follow::patience`].
///
/// ```no_run
/// use perf_core::{EventSource, Job};
/// use perf_formats::{OpenOptions, adios::Adios, streams::{Follow, TraceBuilder}};
/// // A folder of files, which may come later: tau-metrics-app-0.bp, tau-metrics-app-1.bp, ..
/// let mut source = Adios::following(&["run"], Follow::default(), &OpenOptions::new())?;
/// let mut trace = TraceBuilder::default();
/// while source.next_step(&mut trace, &Job::default())? {}
/// println!("{}", source.diagnostics());
/// # Ok::<(), perf_formats::Error>(())
/// ```
#[derive(Debug)]
pub struct Adios {
    /// Requested paths, if files may appear later.
    roots: Vec<PathBuf>,
    /// Opened and expected files.
    files: Vec<FollowedFile>,
    /// Paths of the opened files.
    known: HashSet<PathBuf>,
    /// Numbers of the programs.
    programs: Programs,
    /// Options for following; `None` for complete files.
    follow: Option<Follow>,
    /// Limit on definitions.
    definitions: u32,
    /// `true` in strict mode.
    is_strict: bool,
    /// Repairs, losses and notes so far.
    diagnostics: Diagnostics,
    /// Highest step that was returned.
    last: Option<u64>,
    /// Error of the first unsupported step or missing file. It is returned at the end if no rows
    /// of any step could be read.
    refused: Option<Error>,
    /// `true` after rows of a step could be read.
    has_read: bool,
    /// Memory that is reused in each step.
    scratch: Scratch,
}

impl Adios {
    /// Opens BP files, and all BP files in folders. Of the options, strict mode and the limit on
    /// definitions are used.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`] if the system cannot read, [`Error::Unsupported`] for other formats of
    /// ADIOS, and [`Error::Malformed`] or [`Error::Truncated`] for invalid files. Outside of strict
    /// mode, a BP3 file without a footer is an error if it is the only file, and is skipped and
    /// [counted](rules::NO_FOOTER) otherwise.
    pub fn open<P: AsRef<Path>>(paths: &[P], options: &OpenOptions) -> Result<Self> {
        let mut source = Self::new(options);
        let mut skipped = None;
        for path in paths {
            for path in format::files(path.as_ref())? {
                let is_single = path.is_file();
                match FollowedFile::open(path) {
                    Ok(file) => source.files.push(file),
                    // The writer was stopped before it closed the file.
                    Err(error) if is_single && is_damage(&error) && !source.is_strict => {
                        let place = error.place().cloned().unwrap_or_default();
                        let why = place.record(error.to_string());
                        source.diagnostics.add(rules::NO_FOOTER, why);
                        skipped.get_or_insert(error);
                    }
                    // The writer was stopped before the first step.
                    Err(Error::Truncated { place, .. }) if !source.is_strict => {
                        source.diagnostics.add(rules::HEADER, place);
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        match skipped {
            Some(error) if source.files.is_empty() => Err(error),
            _ => Ok(source),
        }
    }

    /// Follows BP files that may not exist yet, and folders in which files may appear. A missing
    /// or incomplete header is waited for, and so is the footer of a BP3 file.
    ///
    /// With [`Follow::idle`], the stream ends when no data arrived for that time; closed files do
    /// not end it as long as further files may appear. Otherwise, it ends when all files are
    /// closed.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Unsupported`] for other formats of ADIOS.
    pub fn following<P: AsRef<Path>>(
        paths: &[P],
        follow: Follow,
        options: &OpenOptions,
    ) -> Result<Self> {
        let mut source = Self::new(options);
        source.roots = paths.iter().map(|path| path.as_ref().into()).collect();
        source.follow = Some(follow);
        source.scan()?;
        Ok(source)
    }

    fn new(options: &OpenOptions) -> Self {
        Adios {
            roots: Vec::new(),
            files: Vec::new(),
            known: HashSet::new(),
            programs: Programs::default(),
            follow: None,
            definitions: options.get_limits().definitions,
            is_strict: options.is_strict(),
            diagnostics: Diagnostics::default(),
            last: None,
            refused: None,
            has_read: false,
            scratch: Scratch::default(),
        }
    }

    /// Adds files that have appeared.
    fn scan(&mut self) -> Result<()> {
        for root in &self.roots {
            for path in format::files_by_now(root)? {
                if self.known.insert(path.clone()) {
                    self.files.push(FollowedFile::later(path));
                }
            }
        }
        Ok(())
    }

    /// Assigns this number to the program of all files, regardless of its name. Default: the number
    /// in the file, or a free one if two names have the same number.
    pub fn program(mut self, number: u32) -> Self {
        self.programs.all = Some(number);
        self
    }

    /// Waits for more data while the files are being written: until the writers close them, no data
    /// arrived for [`Follow::idle`], or the job of [`next_step`](EventSource::next_step) was
    /// cancelled. Without this option, only the existing steps are read. For files that may not
    /// exist yet, see [`following`](Self::following).
    pub fn follow(mut self, follow: Follow) -> Self {
        self.follow = Some(follow);
        self
    }

    /// Returns the diagnostics of skipped and repaired data so far.
    pub fn diagnostics(&self) -> &Diagnostics {
        &self.diagnostics
    }

    /// Returns `true` if files may appear in a followed folder.
    fn may_grow(&self) -> bool {
        self.roots.iter().any(|root| !self.known.contains(root))
    }

    /// Determines the next step of each file. All files are waited for together.
    fn look(&mut self, job: &Job) -> Result<()> {
        let quiet = Instant::now();
        let mut ready = None;
        loop {
            self.scan()?;
            for one in self.files.iter_mut().filter(|one| one.next.is_none()) {
                one.look(self.follow, &mut self.diagnostics)?;
            }
            let Some(follow) = self.follow else {
                return Ok(());
            };
            let is_any = self.files.iter().any(|one| one.step().is_some());
            let is_waiting = if self.files.is_empty() {
                true
            } else {
                let is_awaited = self.files.iter().any(|one| one.is_awaited(is_any));
                is_awaited || (!is_any && follow.idle.is_some() && self.may_grow())
            };
            if !is_waiting || job.is_cancelled() {
                return Ok(());
            }
            let since = is_any.then(|| *ready.get_or_insert_with(Instant::now));
            if since.is_some_and(|since| since.elapsed() >= follow.patience) {
                let late = self.files.iter_mut().filter(|one| one.next.is_none());
                late.for_each(|one| one.is_late = true);
                return Ok(());
            }
            if !is_any && follow.idle.is_some_and(|idle| quiet.elapsed() >= idle) {
                for one in self.files.iter_mut().filter(|one| one.next.is_none()) {
                    self.diagnostics.add(rules::GIVEN_UP, one.place());
                    one.next = Some(Next::End);
                }
                return Ok(());
            }
            std::thread::sleep(follow.poll);
        }
    }

    /// Pushes the next step of a file. A damaged step is skipped; its names are kept as far as they
    /// are readable.
    fn push(&mut self, index: usize, sink: &mut dyn EventSink) -> Result<()> {
        let Some((one, file)) = self.files.get_mut(index).and_then(FollowedFile::parts) else {
            return Ok(());
        };
        let place = file.index.place();
        let step = match one.index.take() {
            Some(step) => Ok(step),
            None => file.index.step(),
        };
        file.index.skip();
        let tables = step.and_then(|step| {
            one.names
                .learn(&step, self.definitions, &mut self.diagnostics);
            Tables::read(file, &step, self.is_strict, &mut self.diagnostics)
        });
        match tables {
            Ok(mut tables) => {
                self.has_read |= tables.has_rows();
                if let Some(error) = tables.missing_file() {
                    self.refused.get_or_insert(error);
                }
                tables.push(
                    file,
                    &mut self.scratch,
                    &mut one.names,
                    &mut self.programs,
                    sink,
                    &mut self.diagnostics,
                )?;
            }
            Err(error) => {
                // A step in a form different from the previous ones is damaged. If no other step
                // has rows, the file has an unsupported form.
                let is_other = matches!(error, Error::Unsupported { .. });
                let is_damage =
                    is_damage(&error) || (is_other && (self.has_read || self.follow.is_none()));
                if !is_damage || self.is_strict {
                    return Err(error);
                }
                let why: Place = place.record(error.to_string());
                self.diagnostics.add(rules::DAMAGED_STEP, why);
                if is_other || matches!(error, Error::Io { .. }) {
                    self.refused.get_or_insert(error);
                }
            }
        }
        Ok(())
    }

    /// Pushes all steps of a file up to `step`.
    fn push_until(&mut self, index: usize, step: u64, sink: &mut dyn EventSink) -> Result<()> {
        while let Some(one) = self.files.get_mut(index) {
            let Some(own) = one.step().filter(|own| *own <= step) else {
                break;
            };
            one.next = None;
            let is_late = self.last.is_some_and(|last| own <= last);
            if is_late {
                let place = one.place();
                self.diagnostics.add(rules::LATE, place);
            }
            self.push(index, sink)?;
            if let Some(one) = self.files.get_mut(index).filter(|_| is_late) {
                one.look(self.follow, &mut self.diagnostics)?;
            }
        }
        Ok(())
    }
}

impl EventSource for Adios {
    type Error = Error;

    fn next_step(&mut self, sink: &mut dyn EventSink, job: &Job) -> Result<bool> {
        self.look(job)?;
        let ahead = self.files.iter().filter_map(FollowedFile::step);
        let Some(step) = ahead.min() else {
            return match self.refused.take() {
                Some(error) if !self.has_read => Err(error),
                _ => Ok(false),
            };
        };
        // The steps of a rank keep their numbers, however late its file is.
        for index in 0..self.files.len() {
            self.push_until(index, step, sink)?;
        }
        self.last = self.last.max(Some(step));
        if self.is_strict {
            crate::options::judge(&self.diagnostics)?;
        }
        sink.end_step(step);
        Ok(true)
    }
}
