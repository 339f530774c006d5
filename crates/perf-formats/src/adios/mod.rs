//! Streams that TAU's trace plug-in writes through ADIOS2: folders of the format BP4, one a rank,
//! also while they grow.
//!
//! | variable of a step | what it is |
//! |---|---|
//! | `event_timestamps` | program, rank, thread, event type, timer, time in microseconds |
//! | `counter_values` | program, rank, thread, counter, value, time |
//! | `comm_timestamps` | program, rank, thread, event type, tag, partner, bytes, time |
//! | `timer_event_count`, `counter_event_count`, `comm_count` | how many rows of them count; a table without rows is not written |
//!
//! Names are attributes: `timer N`, `counter N`, `event_type N` (`ENTRY`, `EXIT`, `SEND` and `RECV`,
//! in any order), `program_name N`, `MetaData:rank:thread:name`. Each file calls its own program 0:
//! those whose program has one name are one program here, others get numbers of their own, in the
//! order of the files.
//!
//! Of BP4 this reads what such streams need: tables of whole numbers, single values and texts, in
//! either byte order, of any number of blocks and data files. Compressed variables, arrays of
//! Fortran and the formats BP3 and BP5 are [`Error::Unsupported`]; so are streams that are not
//! files, as of the engine SST.

mod bp4;
mod fields;
mod format;
mod index;
mod lanes;
mod member;
mod names;
mod one;
pub mod rules;
mod table;
mod tau;

pub use format::FORMAT;

use crate::streams::Follow;
use crate::{Error, OpenOptions, Result};
use names::Programs;
use one::{Next, OneFile};
use perf_core::{Diagnostics, EventSink, EventSource, Job, Place};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tau::{Scratch, Tables};

/// Events of one or more BP4 files, step by step: a step has the events of all files, file by file.
///
/// While files are [followed](Self::follow), a step waits for [`Follow::patience`] for those that do not have it
/// yet. Who is late then is not waited for any more. Its steps keep their numbers: those that the other files
/// have ended already are ended once more with its events alone, and are [counted](rules::LATE). What is announced and not there,
/// or not whole, is looked for as long as the file is being written, but not for longer than that.
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
    /// What was asked for, where files may come later.
    roots: Vec<PathBuf>,
    files: Vec<OneFile>,
    /// Their paths.
    known: HashSet<PathBuf>,
    programs: Programs,
    follow: Option<Follow>,
    definitions: u32,
    is_strict: bool,
    diagnostics: Diagnostics,
    /// The highest step that was given.
    last: Option<u64>,
    /// Why the first step that could not be read was none of this reader, as long as no step could.
    refused: Option<Error>,
    has_read: bool,
    scratch: Scratch,
}

impl Adios {
    /// Opens BP4 files, and all of them in folders of such. Of the options, strictness and the limit for
    /// definitions are used.
    ///
    /// # Errors
    /// [`Error::Io`] where the system cannot read, [`Error::Unsupported`] for other formats of
    /// ADIOS, [`Error::Malformed`] and [`Error::Truncated`] for what is none.
    pub fn open<P: AsRef<Path>>(paths: &[P], options: &OpenOptions) -> Result<Self> {
        let mut source = Self::new(options);
        for path in paths {
            for path in format::files(path.as_ref())? {
                match OneFile::open(path) {
                    Ok(file) => source.files.push(file),
                    // Whoever wrote it was stopped before the first step.
                    Err(Error::Truncated { place, .. }) if !source.is_strict => {
                        source.diagnostics.add(rules::HEADER, place);
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(source)
    }

    /// Follows BP4 files that may not be there yet, and folders to which files may be added. A header that is missing or
    /// not whole is waited for.
    ///
    /// With [`Follow::idle`] the end comes when nothing new came for so long, although the writers of all files that
    /// are there closed them, as long as further files may appear. Without it the end comes when all are closed.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for other formats of ADIOS.
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

    /// Adds files that have come.
    fn scan(&mut self) -> Result<()> {
        for root in &self.roots {
            for path in format::files_by_now(root)? {
                if self.known.insert(path.clone()) {
                    self.files.push(OneFile::later(path));
                }
            }
        }
        Ok(())
    }

    /// Calls the program of all files this number, whatever its name. Default: the number that the file
    /// gives it, or a free one where two names have the same.
    pub fn program(mut self, number: u32) -> Self {
        self.programs.all = Some(number);
        self
    }

    /// Waits for more while the files are being written: until the writers close them, nothing came for as
    /// long as [`Follow::idle`] says, or the job of [`next_step`](EventSource::next_step) was cancelled. Without it the steps
    /// there are now are all. For files that may not be there yet see [`following`](Self::following).
    pub fn follow(mut self, follow: Follow) -> Self {
        self.follow = Some(follow);
        self
    }

    /// What was skipped or mended so far.
    pub fn diagnostics(&self) -> &Diagnostics {
        &self.diagnostics
    }

    /// Returns `true` if files may appear in a folder that is followed.
    fn may_grow(&self) -> bool {
        self.roots.iter().any(|root| !self.known.contains(root))
    }

    /// Finds out which step of each file comes next. All are waited for together.
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
            let is_waiting = match self.files.is_empty() {
                true => true,
                false => {
                    let is_awaited = self.files.iter().any(|one| one.is_awaited(is_any));
                    is_awaited || (!is_any && follow.idle.is_some() && self.may_grow())
                }
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

    /// Pushes the next step of a file. One that is damaged is skipped; its names are kept as far as
    /// they can be read.
    fn push(&mut self, index: usize, sink: &mut dyn EventSink) -> Result<()> {
        let Some((one, file)) = self.files.get_mut(index).and_then(OneFile::parts) else {
            return Ok(());
        };
        if let Some(place) = file.take_mended() {
            self.diagnostics.add(rules::HEADER, place);
        }
        let place = file.place();
        let step = match one.index.take() {
            Some(step) => Ok(step),
            None => file.step(),
        };
        file.skip();
        let tables = step.and_then(|step| {
            one.names
                .learn(&step, self.definitions, &mut self.diagnostics);
            Tables::read(file, &step, self.is_strict, &mut self.diagnostics)
        });
        match tables {
            Ok(tables) => {
                self.has_read = true;
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
                // A step in another form than those before is a damaged one; if there is no other, it
                // is what the file is.
                let is_other = matches!(error, Error::Unsupported { .. });
                let is_damage = bp4::is_damage(&error)
                    || (is_other && (self.has_read || self.follow.is_none()));
                if !is_damage || self.is_strict {
                    return Err(error);
                }
                let why: Place = place.record(error.to_string());
                self.diagnostics.add(rules::DAMAGED_STEP, why);
                if is_other {
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
        let ahead = self.files.iter().filter_map(OneFile::step);
        let Some(step) = ahead.min() else {
            return match self.refused.take() {
                Some(error) if !self.has_read => Err(error),
                _ => Ok(false),
            };
        };
        // The steps of a rank are its own, however late its file is.
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
