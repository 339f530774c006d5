//! [`Streams`]: reads events step by step from text files, tab-separated tables or
//! newline-delimited JSON, compressed or growing; [`Follow`]: options for growing files.
//!
//! # Tables (`.tsv`)
//!
//! The first line names the columns, in any order. Columns with other names are ignored.
//!
//! | column | contents |
//! |---|---|
//! | `step` | step of the stream; without it, steps have a [fixed length](Streams::period) |
//! | `ts_us`, `ts_ns`, `ts_ms` or `ts_s` | time in microseconds, nanoseconds, milliseconds or seconds, integer or decimal |
//! | `program`, `rank`, `thread` | location; 0 if it is missing or empty |
//! | `kind` | `ENTRY`, `EXIT`, `SEND`, `RECV`, `COUNTER` or `METADATA` |
//! | `name` | name of the region, counter or metadata |
//! | `tag`, `partner`, `bytes` | properties of a message; the partner is the rank at the other end |
//! | `value` | value of a counter or of metadata; if it is missing, `bytes` is used |
//!
//! # JSON (`.ndjson`, `.jsonl`)
//!
//! Each line has one of these forms:
//!
//! * an object with the columns of a table as keys: `{"step": 0, "ts_us": 12.5, "rank": 3, "kind":
//!   "ENTRY", "name": "main"}`;
//! * a row of 12 values: `[program, rank, thread, event_type, timer, counter, counter_value, _,
//!   tag, partner, bytes, timestamp in us]`. Columns that do not apply contain `"NA"`, `NaN` or
//!   `null`; `event_type`, `timer` and `counter` are names or numbers of names;
//! * an object that assigns names to numbers: `{"event_type 0": "ENTRY", "timer 7": "main"}`.
//!
//! Other lines are skipped and counted with their places.

mod current_line;
mod file;
mod format;
mod lines;
mod rows;
pub mod rules;
mod sources;
mod trace_builder;

use rows::{json, row, syntax, tsv};

pub use format::FORMAT;
pub use sources::files;
pub use trace_builder::TraceBuilder;

use crate::{Error, OpenOptions, Result};
use file::StreamFile;
use lines::Lines;
use perf_core::{Diagnostics, EventSink, EventSource, Job, Limits, Nanos, Place};
use sources::Sources;
use std::io::BufRead;
use std::path::Path;
use std::time::{Duration, Instant};

/// Options for following a growing file.
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
    /// Interval between checks for new data. Default: 100 ms.
    pub poll: Duration,
    /// Time without new data after which the stream ends. Default: never.
    pub idle: Option<Duration>,
    /// Maximum time to wait for files that have not completed a step after another file has, and
    /// for announced data that are missing or incomplete. Default: 2 s.
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
    /// Sets the interval between checks for new data. Default: 100 ms.
    pub fn poll(mut self, every: Duration) -> Self {
        self.poll = every;
        self
    }

    /// Sets the maximum time to wait for late files. Default: 2 s.
    pub fn patience(mut self, time: Duration) -> Self {
        self.patience = time;
        self
    }

    /// Sets the time without new data after which the stream ends. Default: never.
    pub fn idle(mut self, after: impl Into<Option<Duration>>) -> Self {
        self.idle = after.into();
        self
    }
}

/// Events of one or more files, step by step. A step contains the events of all files that belong
/// to it, file by file. Steps of files without step numbers are counted from the
/// [origin](Self::origin).
///
/// While files are [followed](Self::follow), a step ends when each file has an event of a later
/// step, or [`Follow::patience`] after the first file has one. A file without such an event by
/// then is late, and steps do not wait for it until it has caught up. Its steps keep their numbers: steps
/// that the other files have already ended are ended once more with the events of the late file
/// alone, and are [counted](rules::LATE). A rank therefore has the same steps regardless of the
/// time at which its file appears.
///
/// The same holds for the ranks of one file, which may follow each other. The steps of a rank never go back:
/// an event of an earlier step than the rank has reached is [moved](rules::STEP_BACK).
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
    /// Opened files.
    files: Vec<StreamFile>,
    /// Files that may appear during following.
    sources: Option<Sources>,
    /// Limits on resources.
    limits: Limits,
    /// Length of a step for rows without a step number.
    period: Nanos,
    /// Begin of step 0, if it was set.
    origin: Option<Nanos>,
    /// Options for following; `None` for complete files.
    follow: Option<Follow>,
    /// Highest ended step.
    last: Option<u64>,
    /// `true` in strict mode.
    is_strict: bool,
    /// Repairs, losses and notes so far.
    diagnostics: Diagnostics,
}

impl Streams {
    /// Opens files. Of the options, strict mode and the limits on strings and definitions are used.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`] if the system cannot read.
    pub fn open<P: AsRef<Path>>(paths: &[P], options: &OpenOptions) -> Result<Self> {
        let mut streams = Streams::empty(options);
        for path in paths {
            let limit = streams.limits.string as usize;
            let lines = Lines::open(path.as_ref(), limit)?;
            streams.add(lines);
        }
        Ok(streams)
    }

    /// Follows files that may not exist yet, and folders in which files may appear. Files of
    /// folders are recognised by their extensions `.tsv`, `.ndjson` and `.jsonl`. New files are
    /// searched at the interval [`Follow::poll`].
    ///
    /// Existing files take part in each step, as with [`follow`](Self::follow). A file that appears
    /// later is late: its steps keep their numbers. The stream ends when no file had new data and
    /// none appeared for [`Follow::idle`]. Named files that did not appear by then are
    /// [counted](rules::ABSENT). Compressed files of a folder are [skipped and
    /// counted](rules::PACKED).
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`] if the system cannot read, and [`Error::Unsupported`] for a named
    /// compressed file.
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
            // Steps of files without step numbers are counted from a common origin.
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

    /// Reads a stream from any reader; `name` is used in messages.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`] if reading fails.
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

    /// Sets the length of a step for rows without a step number. Default: 1 s.
    pub fn period(mut self, period: Nanos) -> Self {
        self.period = period;
        for file in &mut self.files {
            file.set_period(period);
        }
        self
    }

    /// Sets the begin of step 0 for rows without a step number. Default: the first event of all
    /// files that have one when the first step ends. Programs that each read some files of one run
    /// must set the same origin to obtain the same steps. An explicit origin is also needed if a
    /// late file has events before those of the initial files.
    pub fn origin(mut self, origin: Nanos) -> Self {
        self.origin = Some(origin);
        for file in &mut self.files {
            file.set_origin(origin);
        }
        self
    }

    /// Waits for more data at the ends of the files.
    ///
    /// A step ends when an event of a later one arrives, or at the end of the stream: no data
    /// arrived for [`Follow::idle`], or the job of [`next_step`](EventSource::next_step) was
    /// cancelled.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Unsupported`] for a compressed file.
    pub fn follow(mut self, follow: Follow) -> Result<Self> {
        for file in &mut self.files {
            file.lines().grow()?;
        }
        self.follow = Some(follow);
        Ok(self)
    }

    /// Returns `true` if an event so far had no step number, so that the [period](Self::period)
    /// determined it.
    pub fn used_period(&self) -> bool {
        self.files.iter().any(StreamFile::used_period)
    }

    /// Returns the diagnostics of skipped and repaired lines so far.
    pub fn diagnostics(&self) -> &Diagnostics {
        &self.diagnostics
    }
}

/// Timers of waiting.
#[derive(Debug)]
struct Waits {
    /// Options for following.
    follow: Follow,
    /// Time of the last new data.
    quiet: Instant,
    /// Time at which the first file completed the step.
    ready: Option<Instant>,
}

/// Action if some files have no data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    Wait,
    /// Continue without them.
    GoOn,
    /// End the stream with the available data.
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
    /// Calls `work` for each file until all files that are waited for have data.
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
            // If only late files can still get data, the step is complete.
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

    /// Sets the origin of steps to the first event of all files.
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
            // The steps of a rank keep their numbers, however late its file is.
            (Some(late), _) => late,
            // A row that goes back in its own file is added to the next step, or to a repetition of
            // the last one.
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
