//! [`Recording`] (trace), [`Profiled`] (profile) and [`Any`]: opened for all subcommands by the
//! rules of a [`Reading`] for functions, clock correction and time window.

use crate::clocks::{self, Clocks};
use crate::failure::{Failure, input};
use crate::options::Window;
use crate::progress::Bar;
use crate::suggest::{did_you_mean, near};
use perfkit::core::{
    Clock, Diagnostics, Nanos, Place, Profile, ReplayCounts, Rule, Ticks, TimeRange, Trace, Unify,
    Weight, clip,
};
use perfkit::formats::{Content, OpenOptions};
use std::collections::BTreeSet;
use std::fs::DirEntry;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Largest number of names in a folder that are compared with the name of a missing file.
const MAX_NAMES: usize = 10_000;

/// `true` if truncated recordings are read as far as they go.
static LENIENT: AtomicBool = AtomicBool::new(false);

/// Sets whether truncated recordings are read as far as they go.
pub fn set_lenient(lenient: bool) {
    LENIENT.store(lenient, Ordering::Relaxed);
}

/// Trace with the findings of its reader.
#[derive(Debug)]
pub struct Recording {
    /// Events and definitions.
    pub trace: Trace,
    /// Name of the format.
    pub format: &'static str,
    /// Repairs and losses of the reader.
    pub diagnostics: Diagnostics,
}

/// Trace or profile.
#[derive(Debug)]
pub enum Any {
    /// Trace, with events.
    Trace(Box<Recording>),
    /// Profile, with severities.
    Profile(Profiled),
}

/// Treatment of a recording when it is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Rule that decides which regions are one function.
    pub unify: Unify,
    /// Treatment of clocks that disagree.
    pub clocks: Clocks,
    /// Window that is cut out of a trace.
    pub window: Window,
}

impl From<Unify> for Reading {
    fn from(unify: Unify) -> Self {
        Reading {
            unify,
            ..Reading::default()
        }
    }
}

impl From<Clocks> for Reading {
    fn from(clocks: Clocks) -> Self {
        Reading {
            clocks,
            ..Reading::default()
        }
    }
}

impl From<Window> for Reading {
    fn from(window: Window) -> Self {
        Reading {
            window,
            ..Reading::default()
        }
    }
}

impl From<(Clocks, Window)> for Reading {
    fn from((clocks, window): (Clocks, Window)) -> Self {
        Reading {
            clocks,
            window,
            ..Reading::default()
        }
    }
}

/// Rule of the diagnostics under which calls are counted that a window shortens.
const CALLS_CUT: Rule = Rule {
    name: "calls-cut",
    what: "calls cross an edge of the window --from, --to; their part in the window remains",
    weight: Weight::Note,
};

/// Rule of the diagnostics under which communication is counted that crosses an edge of a window.
const COMMUNICATION_CUT: Rule = Rule {
    name: "communication-cut",
    what: "messages, collective operations and remote accesses cross an edge of the window --from, --to; their ends outside count as at the edge",
    weight: Weight::Note,
};

/// Opens any recording, with a progress bar on a terminal.
///
/// # Errors
/// Returns [`Failure::Input`] with the place and cause.
pub fn any(path: &Path) -> Result<Any, Failure> {
    any_by(path, Reading::default())
}

/// Opens any recording like [`any`], with rules for functions and clocks.
///
/// # Errors
/// Returns [`Failure::Input`] with the place and cause.
pub fn any_by(path: &Path, reading: impl Into<Reading>) -> Result<Any, Failure> {
    let Reading {
        unify,
        clocks,
        window,
    } = reading.into();
    let lenient = LENIENT.load(Ordering::Relaxed);
    let options = OpenOptions::new().unify(unify).lenient(lenient);
    let opened = perfkit::formats::open(path, &options, &Bar::job())
        .map_err(|error| unreadable(path, error))?;
    let (format, diagnostics) = (opened.format, opened.diagnostics);
    match opened.content {
        Content::Trace(trace) => {
            let recording = Recording {
                trace,
                format,
                diagnostics,
            };
            let recording = clocks::apply(clocks, recording, path)?;
            let recording = within(window, recording, path)?;
            Ok(Any::Trace(Box::new(recording)))
        }
        Content::Profile(_) if window.is_given() => Err(Failure::Usage(format!(
            "--from and --to are for recordings with events, and {} is a profile",
            path.display()
        ))),
        Content::Profile(profile) => Ok(Any::Profile(Profiled {
            profile,
            format,
            diagnostics,
            counts: ReplayCounts::default(),
        })),
        _ => Err(Failure::Input(format!(
            "{}: holds neither a trace nor a profile",
            path.display()
        ))),
    }
}

/// Converts the error of opening a recording. A path that does not exist gets the names that resemble it. An empty
/// file or folder, such as after a run without output, gets a specific error instead of an unknown format.
pub fn unreadable(path: &Path, error: perfkit::formats::Error) -> Failure {
    if path.try_exists().is_ok_and(|exists| !exists) {
        return Failure::Input(missing(path));
    }
    let is_empty = match std::fs::read_dir(path) {
        Ok(mut inside) => inside.next().is_none(),
        Err(_) => std::fs::metadata(path).is_ok_and(|about| about.len() == 0),
    };
    match (is_empty, path.is_dir()) {
        (false, _) => match error {
            perfkit::formats::Error::UnknownFormat { .. } => Failure::Input(format!(
                "{error}; `perfkit inspect --help` lists the readable files"
            )),
            other => input(other),
        },
        (true, true) => Failure::Input(format!("{}: the folder is empty", path.display())),
        (true, false) => Failure::Input(format!("{}: the file is empty", path.display())),
    }
}

/// Describes a path that does not exist: its first missing part, and the names in its folder that resemble this part.
fn missing(path: &Path) -> String {
    let mut part = path;
    let folder = loop {
        match part.parent() {
            Some(folder) if folder == Path::new("") => break Path::new("."),
            Some(folder) if folder.exists() => break folder,
            Some(folder) => part = folder,
            None => break Path::new("."),
        }
    };
    let names = std::fs::read_dir(folder).into_iter().flatten().flatten();
    // Only a folder can take the place of a missing folder.
    let fits = |entry: &DirEntry| part == path || entry.path().is_dir();
    let names = names.filter(fits);
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let names: BTreeSet<String> = names.take(MAX_NAMES).collect();
    let wanted = part.file_name().unwrap_or(part.as_os_str());
    let wanted = wanted.to_string_lossy();
    let near = near(&wanted, names.iter().map(String::as_str), 3);
    let near: Vec<_> = near
        .into_iter()
        .map(|name| format!("`{}`", part.with_file_name(name).display()))
        .collect();
    let hint = did_you_mean(&near);
    let what = if part == path {
        "no such file or folder".to_owned()
    } else {
        format!("there is no folder {}", part.display())
    };
    format!("{}: {what}{hint}", path.display())
}

/// Opens a recording as a trace, with a progress bar on a terminal.
///
/// # Errors
/// Returns [`Failure::Input`] with the place and cause, also for a profile.
pub fn open(path: &Path) -> Result<Recording, Failure> {
    open_by(path, Reading::default())
}

/// Opens a recording as a trace like [`open`], with rules for functions and clocks.
///
/// # Errors
/// Returns [`Failure::Input`] with the place and cause.
pub fn open_by(path: &Path, reading: impl Into<Reading>) -> Result<Recording, Failure> {
    match any_by(path, reading)? {
        Any::Trace(recording) => Ok(*recording),
        Any::Profile(_) => Err(Failure::Input(format!(
            "{}: a profile, without events; `inspect`, `correlate` and `profile` read it",
            path.display()
        ))),
    }
}

/// Call-path profile with the findings of its reader.
#[derive(Debug)]
pub struct Profiled {
    /// Severities by metric, call path and location.
    pub profile: Profile,
    /// Name of the format.
    pub format: &'static str,
    /// Repairs and losses of the reader.
    pub diagnostics: Diagnostics,
    /// Numbers of repaired stack frames; 0 if the profile was not computed from a trace.
    pub counts: ReplayCounts,
}

/// Opens any recording as a call-path profile. The profile of a trace is computed from its events.
///
/// # Errors
/// Returns [`Failure::Input`] with the place and cause.
pub fn profile(path: &Path) -> Result<Profiled, Failure> {
    profile_by(path, Reading::default())
}

/// Opens a recording like [`profile`], with rules for functions and clocks and a window of a trace.
///
/// # Errors
/// Returns the errors of [`profile`], and [`Failure::Usage`] for a window of a profile.
pub fn profile_by(path: &Path, reading: impl Into<Reading>) -> Result<Profiled, Failure> {
    let reading = reading.into();
    profiled(any_by(path, reading)?, reading.unify)
}

/// Returns an opened recording as a call-path profile. The profile of a trace is computed from its
/// events.
///
/// # Errors
/// Returns [`Failure::Input`] if the profile cannot be computed.
pub fn profiled(opened: Any, unify: Unify) -> Result<Profiled, Failure> {
    match opened {
        Any::Profile(profiled) => Ok(profiled),
        Any::Trace(recording) => {
            let view = recording.trace.view();
            let made = Profile::from_trace_by(view, unify, &Bar::job());
            let (profile, counts) = made.map_err(input)?;
            Ok(Profiled {
                profile,
                format: recording.format,
                diagnostics: recording.diagnostics,
                counts,
            })
        }
    }
}

/// Opens several files as one trace in which each file is a rank. A single file may have any format
/// with events. Several files must be Chrome JSON, rocprofv3 or Nsight Systems.
///
/// # Errors
/// Returns [`Failure::Input`] with the place and cause.
pub fn open_ranks(paths: &[PathBuf]) -> Result<Recording, Failure> {
    open_ranks_by(paths, Reading::default())
}

/// Opens several files like [`open_ranks`], with rules for functions and clocks.
///
/// # Errors
/// Returns [`Failure::Input`] with the place and cause.
pub fn open_ranks_by(paths: &[PathBuf], reading: impl Into<Reading>) -> Result<Recording, Failure> {
    let reading = reading.into();
    if let [only] = paths {
        return open_by(only, reading);
    }
    let options = OpenOptions::new();
    let opened =
        perfkit::formats::open_ranks(paths, &options, &Bar::job()).map_err(
            |error| match error {
                perfkit::formats::Error::Usage { what } => Failure::Usage(what),
                other => match paths.iter().find(|path| !path.exists()) {
                    Some(path) => unreadable(path, other),
                    None => input(other),
                },
            },
        )?;
    let (format, diagnostics) = (opened.format, opened.diagnostics.clone());
    let trace = opened.into_trace();
    let trace = trace.ok_or_else(|| Failure::Input("the files hold no trace".into()))?;
    let recording = Recording {
        trace,
        format,
        diagnostics,
    };
    let first = paths.first().map_or(Path::new(""), PathBuf::as_path);
    let recording = clocks::apply(reading.clocks, recording, first)?;
    within(reading.window, recording, first)
}

/// Cuts a window out of a recording. The diagnostics count the calls and the communication that cross its edges.
fn within(window: Window, recording: Recording, path: &Path) -> Result<Recording, Failure> {
    if !window.is_given() {
        return Ok(recording);
    }
    let range = window.of(&recording.trace)?;
    let part = clip(&recording.trace, range, &Bar::job()).map_err(input)?;
    if part.trace.is_empty() {
        let what = "nothing lies in that window: no function is open, and there is no event";
        return Err(Failure::Usage(format!("{}: {what}", path.display())));
    }
    let clock = recording.trace.definitions().clock;
    let time = |at| clock.nanos(at).unwrap_or_default().to_string();
    let window = format!("window {} to {}", time(range.start), time(range.end));
    let mut diagnostics = recording.diagnostics;
    let communication = part.messages + part.collectives + part.accesses;
    for (rule, count) in [(CALLS_CUT, part.calls), (COMMUNICATION_CUT, communication)] {
        if count > 0 {
            let place = Place::file(path.to_string_lossy()).record(window.as_str());
            diagnostics.add_many(rule, count, place);
        }
    }
    Ok(Recording {
        trace: part.trace,
        format: recording.format,
        diagnostics,
    })
}

/// Parses a time such as `1.5s`, `20ms`, `7us` or `12ns`; a bare number is in seconds.
///
/// # Errors
/// Returns [`Failure::Usage`] for any other text.
pub fn parse_time(text: &str) -> Result<Nanos, Failure> {
    let units = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("", 1e9)];
    let wrong = || {
        Failure::Usage(format!(
            "`{text}` is no time, write 1.5s, 20ms, 7us or 12ns"
        ))
    };
    let (number, scale) = units
        .iter()
        .find_map(|(unit, scale)| Some((text.strip_suffix(unit)?, scale)))
        .ok_or_else(wrong)?;
    // Integers are parsed as integers because a float has only 53 bits.
    if let (Ok(whole), true) = (number.trim().parse::<i64>(), *scale >= 1.0) {
        let nanos = whole.checked_mul(*scale as i64).ok_or_else(wrong)?;
        return Ok(Nanos(nanos));
    }
    let value: f64 = number.trim().parse().map_err(|_| wrong())?;
    let nanos = (value * scale).round();
    if nanos.abs() < 9.2e18 {
        Ok(Nanos(nanos as i64))
    } else {
        Err(wrong())
    }
}

/// Returns the window between two times of the clock. Without `from` or `to`, the window begins or
/// ends with `all`. The window may exceed the recording, because shares refer to the whole window.
///
/// # Errors
/// Returns [`Failure::Usage`] if the window is empty, does not overlap `all`, or begins before the
/// clock.
pub fn window(
    all: TimeRange,
    clock: Clock,
    from: Option<Nanos>,
    to: Option<Nanos>,
) -> Result<TimeRange, Failure> {
    let text = |at: Ticks| {
        let nanos = clock.nanos(at);
        nanos.map_or_else(String::new, |at| at.to_string())
    };
    if let (Some(from), Some(to)) = (from, to)
        && from >= to
    {
        return Err(Failure::Usage(format!(
            "--from {from} is not before --to {to}"
        )));
    }
    let begins = clock.nanos(Ticks(0)).unwrap_or_default();
    if let Some(early) = from.filter(|from| *from < begins) {
        let (early, begins) = (early.to_string(), text(Ticks(0)));
        return Err(Failure::Usage(format!(
            "the clock of the recording begins at {begins}, {early} is before that"
        )));
    }
    let tick = |at: Option<Nanos>, otherwise: Ticks| match at {
        Some(at) => first_tick(clock, at),
        None => otherwise,
    };
    let range = TimeRange::new(tick(from, all.start), tick(to, all.end));
    let touches = |range: &TimeRange| {
        let both = range.intersect(all);
        both.is_some_and(|both| !both.is_empty())
    };
    range.filter(touches).ok_or_else(|| {
        let (start, end) = (text(all.start), text(all.end));
        Failure::Usage(format!(
            "nothing lies in that window; the recording runs from {start} to {end}"
        ))
    })
}

/// Returns the first tick at or after a time, so that a printed time selects its event again. Returns
/// tick 0 for times before the clock begins.
fn first_tick(clock: Clock, at: Nanos) -> Ticks {
    match clock.ticks(at) {
        Some(tick) if clock.nanos(tick).is_some_and(|nanos| nanos < at) => Ticks(tick.0 + 1),
        Some(tick) => tick,
        None if at.0 < 0 => Ticks(0),
        None => Ticks(u64::MAX),
    }
}

/// Orders the runs of a series by their number of threads if all numbers differ, because a shell lists
/// `run_16` before `run_2`. Otherwise the order stays.
pub(crate) fn order_by_threads<T>(runs: &mut [T], threads: impl Fn(&T) -> usize) {
    let sizes: BTreeSet<usize> = runs.iter().map(&threads).collect();
    if sizes.len() == runs.len() {
        runs.sort_by_key(threads);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_times_find_their_events() {
        let clock = Clock::new(2_095_147_102, Ticks(1_000)).unwrap();
        for tick in (1_000..100_000).step_by(37) {
            let nanos = clock.nanos(Ticks(tick)).unwrap();
            let found = first_tick(clock, nanos);
            assert!(found <= Ticks(tick) && clock.nanos(found) == Some(nanos));
        }
    }

    #[test]
    fn windows_may_reach_beyond_the_recording_but_not_miss_it() {
        let all = TimeRange::new(Ticks(100), Ticks(200)).unwrap();
        let window = |from, to| {
            let found = window(all, Clock::default(), from, to).ok();
            found.map(|range| (range.start.0, range.end.0))
        };
        assert_eq!(window(None, None), Some((100, 200)));
        assert_eq!(window(Some(Nanos(0)), Some(Nanos(900))), Some((0, 900)));
        assert_eq!(window(Some(Nanos(150)), None), Some((150, 200)));
        for (from, to) in [(200, 900), (0, 100), (150, 150), (180, 120), (-5, 150)] {
            assert_eq!(window(Some(Nanos(from)), Some(Nanos(to))), None);
        }
    }

    #[test]
    fn times_have_units() {
        for (text, nanos) in [
            ("1.5s", 1_500_000_000),
            ("2", 2_000_000_000),
            ("20ms", 20_000_000),
            ("-7us", -7_000),
            ("12ns", 12),
        ] {
            assert!(
                matches!(parse_time(text), Ok(Nanos(parsed)) if parsed == nanos),
                "{text}"
            );
        }
        for text in ["", "ms", "1 h", "1e30s", "nan"] {
            assert!(parse_time(text).is_err(), "{text}");
        }
    }
}
