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
mod names;
pub mod rules;
mod tau;

pub use format::FORMAT;

use crate::streams::Follow;
use crate::{Error, OpenOptions, Result};
use bp4::{Ahead, Bp4};
use names::{Names, Programs};
use perf_core::{CancelToken, Diagnostics, EventSink, EventSource, Place};
use std::path::Path;
use std::time::Instant;
use tau::Tables;

/// Events of one or more BP4 files, step by step: a step has the events of all files, file by file.
///
/// ```no_run
/// use perf_core::EventSource;
/// use perf_formats::{OpenOptions, adios::Adios, streams::{Follow, TraceBuilder}};
/// // A folder of files: tau-metrics-app-0.bp, tau-metrics-app-1.bp, ..
/// let mut source = Adios::open(&["run"], &OpenOptions::new())?.follow(Follow::default());
/// let mut trace = TraceBuilder::default();
/// while source.next_step(&mut trace)? {}
/// println!("{}", source.diagnostics());
/// # Ok::<(), perf_formats::Error>(())
/// ```
#[derive(Debug)]
pub struct Adios {
    files: Vec<OneFile>,
    programs: Programs,
    follow: Option<Follow>,
    definitions: u32,
    is_strict: bool,
    cancel: CancelToken,
    diagnostics: Diagnostics,
}

#[derive(Debug)]
struct OneFile {
    file: Bp4,
    names: Names,
    /// The step that comes next; `None` at the end.
    ahead: Option<u64>,
    is_looked: bool,
}

impl Adios {
    /// Opens BP4 files, and all of them in folders of such. Of the options, strictness, the limit for
    /// definitions and the token that cancels are used.
    ///
    /// # Errors
    /// [`Error::Io`] where the system cannot read, [`Error::Unsupported`] for other formats of
    /// ADIOS, [`Error::Malformed`] and [`Error::Truncated`] for what is none.
    pub fn open<P: AsRef<Path>>(paths: &[P], options: &OpenOptions<'_>) -> Result<Self> {
        let mut files = Vec::new();
        for path in paths {
            for path in format::files(path.as_ref())? {
                files.push(OneFile {
                    file: Bp4::open(&path)?,
                    names: Names::default(),
                    ahead: None,
                    is_looked: false,
                });
            }
        }
        Ok(Adios {
            files,
            programs: Programs::default(),
            follow: None,
            definitions: options.get_limits().definitions,
            is_strict: options.is_strict(),
            cancel: options.token().clone(),
            diagnostics: Diagnostics::default(),
        })
    }

    /// Calls the program of all files this number, whatever its name.
    pub fn program(mut self, number: u32) -> Self {
        self.programs.all = Some(number);
        self
    }

    /// Waits for more while the files are being written, all for the slowest of them: until the writers close them, nothing came
    /// for as long as [`Follow::idle`] says, or the token of the options was cancelled. Without it
    /// the steps there are now are all.
    pub fn follow(mut self, follow: Follow) -> Self {
        self.follow = Some(follow);
        self
    }

    /// What was skipped or mended so far.
    pub fn diagnostics(&self) -> &Diagnostics {
        &self.diagnostics
    }

    /// Finds out which step of each file comes next. All are waited for together.
    fn look(&mut self) -> Result<()> {
        let quiet = Instant::now();
        loop {
            let mut is_waiting = false;
            for one in self.files.iter_mut().filter(|one| !one.is_looked) {
                let ahead = one.file.look()?;
                is_waiting |= ahead == Ahead::Waiting;
                if let Ahead::End(true) = ahead {
                    self.diagnostics.add(rules::UNFINISHED, one.file.place());
                }
                one.is_looked = ahead != Ahead::Waiting;
                one.ahead = match ahead {
                    Ahead::Step(step) => Some(step),
                    Ahead::Waiting | Ahead::End(_) => None,
                };
            }
            let Some(follow) = self.follow.filter(|_| is_waiting) else {
                return Ok(());
            };
            if self.cancel.is_cancelled() {
                return Ok(());
            }
            if follow.idle.is_some_and(|idle| quiet.elapsed() >= idle) {
                for one in self.files.iter_mut().filter(|one| !one.is_looked) {
                    one.is_looked = true;
                    self.diagnostics.add(rules::GIVEN_UP, one.file.place());
                }
                return Ok(());
            }
            std::thread::sleep(follow.poll);
        }
    }

    /// Pushes the next step of a file. One that is damaged is skipped; its names are kept as far as
    /// they can be read.
    fn push(&mut self, index: usize, sink: &mut dyn EventSink) -> Result<()> {
        let Some(one) = self.files.get_mut(index) else {
            return Ok(());
        };
        one.is_looked = false;
        let place = one.file.place();
        let step = one.file.step();
        one.file.skip();
        let tables = step.and_then(|step| {
            one.names
                .learn(&step, self.definitions, &mut self.diagnostics);
            Tables::read(&mut one.file, &step, &mut self.diagnostics)
        });
        match tables {
            Ok(tables) => tables.push(
                &mut one.names,
                &mut self.programs,
                sink,
                &mut self.diagnostics,
            ),
            Err(error @ (Error::Truncated { .. } | Error::Malformed { .. })) if !self.is_strict => {
                let why: Place = place.record(error.to_string());
                self.diagnostics.add(rules::DAMAGED_STEP, why);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

impl EventSource for Adios {
    type Error = Error;

    fn next_step(&mut self, sink: &mut dyn EventSink) -> Result<bool> {
        self.look()?;
        let Some(step) = self.files.iter().filter_map(|one| one.ahead).min() else {
            return Ok(false);
        };
        for index in 0..self.files.len() {
            if self
                .files
                .get(index)
                .is_some_and(|one| one.ahead == Some(step))
            {
                self.push(index, sink)?;
            }
        }
        if self.is_strict {
            crate::options::judge(&self.diagnostics)?;
        }
        sink.end_step(step);
        Ok(true)
    }
}
