//! Streams of events as text: tab-separated tables and newline-delimited JSON, of one or many
//! ranks, packed with gzip or growing.
//!
//! # Tables (`.tsv`)
//! The first line names the columns, in any order; columns of other names are ignored.
//!
//! | column | what it is |
//! |---|---|
//! | `step` | step of the stream; without it, steps are [as long as one says](Streams::period) |
//! | `ts_us` or `ts_ns` | time in microseconds or nanoseconds, whole or decimal |
//! | `program`, `rank`, `thread` | who; 0 where it is missing or empty |
//! | `kind` | `ENTRY`, `EXIT`, `SEND`, `RECV`, `COUNTER` or `METADATA` |
//! | `name` | region, counter or fact |
//! | `tag`, `partner`, `bytes` | of a message; the partner is the rank at the other end |
//! | `value` | of a counter or fact; without it, `bytes` has it |
//!
//! # JSON (`.ndjson`, `.jsonl`)
//! Each line is one of these:
//!
//! * an object with the columns of a table as keys:
//!   `{"step": 0, "ts_us": 12.5, "rank": 3, "kind": "ENTRY", "name": "main"}`;
//! * a row of 12: `[program, rank, thread, event_type, timer, counter, counter_value, _, tag,
//!   partner, bytes, timestamp in us]`, where `"NA"`, `NaN` or `null` stand in columns that do not
//!   apply, and `event_type`, `timer` and `counter` are names or the numbers of names;
//! * an object that gives numbers names: `{"event_type 0": "ENTRY", "timer 7": "main"}`.
//!
//! Lines that are none of these are skipped, and counted with their places.

mod ahead;
mod file;
mod format;
mod json;
mod lines;
mod row;
pub mod rules;
mod scan;
mod sources;
mod syntax;
mod trace;
mod tsv;

pub use format::FORMAT;
pub use sources::files;
pub use trace::TraceBuilder;

use crate::{Error, OpenOptions, Result};
use file::StreamFile;
use lines::Lines;
use perf_core::{Diagnostics, EventSink, EventSource, Job, Limits, Nanos, Place};
use sources::Sources;
use std::io::BufRead;
use std::path::Path;
use std::time::{Duration, Instant};

/// How a file is followed that still grows.
///
/// ```
/// use perf_formats::streams::Follow;
/// use std::time::Duration;
/// let follow = Follow::default().poll(Duration::from_millis(20)).idle(Duration::from_secs(30));
/// assert_eq!((follow.idle, follow.patience), (Some(Duration::from_secs(30)), Duration::from_secs(2)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Follow {
    /// How often one looks whether there is more. Default: 100 ms.
    pub poll: Duration,
    /// How long nothing may come before that is taken for the end. Default: for ever.
    pub idle: Option<Duration>,
    /// How long a step of several files waits for those that do not have it yet, or may have more of it,
    /// once others have it; and what is announced and not there or not whole. Default: 2 s.
    pub patience: Duration,
}

impl Default for Follow {
    fn default() -> Self {
        Follow {
            poll: Duration::from_millis(100),
            idle: None,
            patience: Duration::from_secs(2),
        }
    }
}

impl Follow {
    /// Looks whether there is more this often. Default: 100 ms.
    pub fn poll(mut self, every: Duration) -> Self {
        self.poll = every;
        self
    }

    /// Waits so long for who is late. Default: 2 s.
    pub fn patience(mut self, time: Duration) -> Self {
        self.patience = time;
        self
    }

    /// Takes it for the end when nothing came for so long. Default: never.
    pub fn idle(mut self, after: impl Into<Option<Duration>>) -> Self {
        self.idle = after.into();
        self
    }
}

/// Events of one or more files, step by step: a step has the events of all files that belong to it,
/// file by file. Steps of files that do not say theirs are counted from the [origin](Self::origin).
///
/// While files are [followed](Self::follow), a step ends when each of them has shown an event of a later
/// one, or [`Follow::patience`] after the first of them has. Who was quiet until then is not waited for
/// until it has caught up. Its steps keep their numbers: those that the other files have ended already are ended
/// once more with its events alone, and are [counted](rules::LATE). A rank thus has the same steps whenever
/// its file appears.
///
/// ```
/// use perf_core::{Job, EventSource};
/// use perf_formats::{OpenOptions, streams::{Streams, TraceBuilder}};
/// let table = "step\tts_us\tkind\tname\n0\t5\tENTRY\tmain\n1\t9\tEXIT\tmain\n";
/// let mut streams = Streams::read("table", table.as_bytes(), &OpenOptions::new())?;
/// let mut trace = TraceBuilder::default();
/// let mut steps = 0;
/// while streams.next_step(&mut trace, &Job::default())? {
///     steps += 1;
/// }
/// assert_eq!((steps, trace.build()?.len()), (2, 2));
/// # Ok::<(), perf_formats::Error>(())
/// ```
#[derive(Debug)]
pub struct Streams {
    files: Vec<StreamFile>,
    /// Files that may appear while others are followed.
    sources: Option<Sources>,
    limits: Limits,
    period: Nanos,
    /// When step 0 begins, if it was given.
    origin: Option<Nanos>,
    follow: Option<Follow>,
    /// The highest step that ended.
    last: Option<u64>,
    is_strict: bool,
    diagnostics: Diagnostics,
}

impl Streams {
    /// Opens files. Of the options, strictness and the limits for strings and definitions are used.
    ///
    /// # Errors
    /// [`Error::Io`] where the system cannot read.
    pub fn open<P: AsRef<Path>>(paths: &[P], options: &OpenOptions) -> Result<Self> {
        let mut streams = Streams::empty(options);
        for path in paths {
            let limit = streams.limits.string as usize;
            let lines = Lines::open(path.as_ref(), limit)?;
            streams.add(lines);
        }
        Ok(streams)
    }

    /// Follows files that may not be there yet, and folders in which files may appear. Files of folders are known by
    /// their names: `.tsv`, `.ndjson` and `.jsonl`. New ones are looked for as often as [`Follow::poll`] says.
    ///
    /// The files that are there take part in each step, as with [`follow`](Self::follow). A file that appears later is
    /// late: its steps keep their numbers. The end comes when no file had anything new, and none appeared, for as
    /// long as [`Follow::idle`] says; files that were named and did not appear are [counted](rules::ABSENT) then. Packed files
    /// of a folder are [skipped and counted](rules::PACKED).
    ///
    /// # Errors
    /// [`Error::Io`] where the system cannot read, [`Error::Unsupported`] for a packed file that is named.
    ///
    /// ```no_run
    /// use perf_core::{EventSource, Job};
    /// use perf_formats::{OpenOptions, streams::{Follow, Streams, TraceBuilder}};
    /// let mut source = Streams::following(&["run"], Follow::default(), &OpenOptions::new())?;
    /// let mut trace = TraceBuilder::default();
    /// while source.next_step(&mut trace, &Job::default())? {}
    /// # Ok::<(), perf_formats::Error>(())
    /// ```
    pub fn following<P: AsRef<Path>>(
        paths: &[P],
        follow: Follow,
        options: &OpenOptions,
    ) -> Result<Self> {
        let mut streams = Streams::empty(options);
        streams.sources = Some(Sources::new(paths));
        streams.follow = Some(follow);
        streams.add_appeared()?;
        Ok(streams)
    }

    /// Opens files that have appeared, and returns their number.
    fn add_appeared(&mut self) -> Result<u64> {
        let Some(sources) = &mut self.sources else {
            return Ok(0);
        };
        let mut count = 0;
        for path in sources.appeared() {
            let is_named = sources.is_named(&path);
            let mut lines = Lines::open(&path, self.limits.string as usize)?;
            match lines.grow() {
                Err(Error::Unsupported { place, .. }) if !is_named => {
                    self.diagnostics.add(rules::PACKED, place);
                    continue;
                }
                outcome => outcome?,
            }
            let mut file = StreamFile::new(lines, self.limits.definitions, self.period);
            // Steps of files that do not say theirs are counted from the same time.
            let known = self.files.iter().filter_map(StreamFile::origin).min();
            let known = known.filter(|_| self.last.is_some());
            if let Some(origin) = self.origin.or(known) {
                file.set_origin(origin);
            }
            if let Some(last) = self.last {
                file.end_step(last);
            }
            file.is_late = self.last.is_some();
            self.files.push(file);
            count += 1;
        }
        Ok(count)
    }

    /// Reads from anywhere; `name` is for messages.
    ///
    /// # Errors
    /// [`Error::Io`] where it cannot be read.
    pub fn read(
        name: &str,
        from: impl BufRead + Send + 'static,
        options: &OpenOptions,
    ) -> Result<Self> {
        let mut streams = Streams::empty(options);
        let limit = streams.limits.string as usize;
        let lines = Lines::new(Box::new(from), name.into(), limit);
        streams.add(lines.map_err(|source| Error::Io {
            place: perf_core::Place::file(name),
            source,
        })?);
        Ok(streams)
    }

    fn add(&mut self, lines: Lines) {
        let file = StreamFile::new(lines, self.limits.definitions, self.period);
        self.files.push(file);
    }

    fn empty(options: &OpenOptions) -> Self {
        Streams {
            files: Vec::new(),
            sources: None,
            limits: *options.get_limits(),
            period: Nanos(1_000_000_000),
            origin: None,
            follow: None,
            last: None,
            is_strict: options.is_strict(),
            diagnostics: Diagnostics::default(),
        }
    }

    /// How long a step is where the rows do not say to which they belong. Default: 1 s.
    pub fn period(mut self, period: Nanos) -> Self {
        self.period = period;
        for file in &mut self.files {
            file.set_period(period);
        }
        self
    }

    /// Begin of step 0 where the rows do not say to which step they belong. Default: the first event of the files
    /// that have one when the first step ends. Programs that read the files of one run each by itself need
    /// the same origin for the same steps; so does a file with events before those of the files that were there
    /// first.
    pub fn origin(mut self, origin: Nanos) -> Self {
        self.origin = Some(origin);
        for file in &mut self.files {
            file.set_origin(origin);
        }
        self
    }

    /// Waits for more at the ends of the files.
    ///
    /// The end of a step is known when an event of a later one comes, or when it is over: nothing
    /// came for as long as [`Follow::idle`] says, or the job of [`next_step`](EventSource::next_step) was cancelled.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a file that is packed.
    pub fn follow(mut self, follow: Follow) -> Result<Self> {
        for file in &mut self.files {
            file.lines().grow()?;
        }
        self.follow = Some(follow);
        Ok(self)
    }

    /// Whether an event so far did not say to which step it belongs, so that the
    /// [period](Self::period) decided.
    pub fn used_period(&self) -> bool {
        self.files.iter().any(StreamFile::used_period)
    }

    /// What was skipped or mended so far.
    pub fn diagnostics(&self) -> &Diagnostics {
        &self.diagnostics
    }
}

/// Since when one waits, and for what.
#[derive(Debug)]
struct Waits {
    follow: Follow,
    /// Since when nothing came.
    quiet: Instant,
    /// Since when some have what others have not.
    ready: Option<Instant>,
}

/// What to do when some files have nothing to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    Wait,
    /// Go on without them.
    GoOn,
    /// What there is now is all.
    Stop,
}

impl Waits {
    fn turn(&mut self, is_ready: bool, job: &Job) -> Turn {
        if job.is_cancelled() {
            return Turn::Stop;
        }
        if is_ready {
            let since = *self.ready.get_or_insert_with(Instant::now);
            if since.elapsed() >= self.follow.patience {
                return Turn::GoOn;
            }
        } else if self
            .follow
            .idle
            .is_some_and(|idle| self.quiet.elapsed() >= idle)
        {
            return Turn::Stop;
        }
        std::thread::sleep(self.follow.poll);
        Turn::Wait
    }
}

impl Streams {
    /// Lets `work` read what it can of each file, and again until no file is open that one waits for.
    fn all(
        &mut self,
        mut work: impl FnMut(&mut StreamFile, &mut Diagnostics) -> Result<u64>,
        job: &Job,
    ) -> Result<()> {
        let mut waits = self.follow.map(|follow| Waits {
            follow,
            quiet: Instant::now(),
            ready: None,
        });
        loop {
            let mut count = self.add_appeared()?;
            for file in &mut self.files {
                count += work(file, &mut self.diagnostics)?;
                if self.is_strict {
                    crate::options::judge(&self.diagnostics)?;
                }
            }
            let is_waiting = self
                .files
                .iter()
                .any(|file| file.is_open() && !file.is_late);
            let is_ready = self.files.iter().any(|file| file.step().is_some());
            // If only those have something that nobody waits for, that is all there is.
            let is_any_open = self.sources.is_some() || self.files.iter().any(StreamFile::is_open);
            let (true, Some(waits)) = (is_waiting || (is_any_open && !is_ready), &mut waits) else {
                return Ok(());
            };
            if count > 0 {
                waits.quiet = Instant::now();
            }
            match waits.turn(is_ready, job) {
                Turn::Wait => {}
                Turn::GoOn => {
                    let open = self.files.iter_mut().filter(|file| file.is_open());
                    open.for_each(|file| file.is_late = true);
                    return Ok(());
                }
                Turn::Stop => {
                    if let Some(sources) = self.sources.take() {
                        for path in sources.absent() {
                            let place = Place::file(path.to_string_lossy().into_owned());
                            self.diagnostics.add(rules::ABSENT, place);
                        }
                    }
                    self.files.iter_mut().for_each(|file| file.lines().stop());
                }
            }
        }
    }

    /// Steps that rows do not say are counted from the first of all files.
    fn set_origin(&mut self) {
        let known = self.files.iter().filter_map(StreamFile::origin).min();
        if let (Some(origin), None, None) = (known, self.last, self.origin) {
            self.files
                .iter_mut()
                .for_each(|file| file.set_origin(origin));
        }
    }
}

impl EventSource for Streams {
    type Error = Error;

    fn next_step(&mut self, sink: &mut dyn EventSink, job: &Job) -> Result<bool> {
        self.all(|file, found| file.look(found).map(|()| 0), job)?;
        self.set_origin();
        let ahead = self.files.iter().filter_map(StreamFile::step);
        let Some(first) = ahead.clone().min() else {
            return Ok(false);
        };
        let late = self.files.iter().filter_map(StreamFile::late_step).min();
        let step = match (late, self.last) {
            // The steps of a rank are its own, however late its file is.
            (Some(late), _) => late,
            // A row that goes back in its own file comes with the next step, or once more with the last.
            (None, Some(last)) if first <= last => {
                ahead.filter(|step| *step > last).min().unwrap_or(last)
            }
            (None, _) => first,
        };
        for file in &self.files {
            if late.is_some() && file.late_step() == late {
                self.diagnostics.add(rules::LATE, file.place());
            }
        }
        self.all(|file, found| file.push(step, sink, found), job)?;
        for file in &mut self.files {
            file.end_step(step);
        }
        self.last = self.last.max(Some(step));
        sink.end_step(step);
        Ok(true)
    }
}
