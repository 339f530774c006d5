//! Options that several subcommands share: [`General`], the time [`Window`] and [`UnifyBy`] for
//! functions of one name; parsers of times, numbers, patterns and words.

pub mod clocks;
pub(crate) mod outputs;
pub mod scope;
pub mod suggest;

use crate::failure::{Failure, Outcome};
use crate::messages::{self, Level};
use crate::recording;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use perfkit::core::{Nanos, TimeRange, Trace, Unify};
use std::path::PathBuf;

/// Options of every subcommand that reads recordings.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "General options")]
pub struct General {
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
    /// Threads of the analysis, 1 to 1024; results do not depend on their number [default: all
    /// processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Read a truncated Paraver trace as far as it goes; the truncation is counted
    #[arg(long)]
    pub lenient: bool,
    /// Print no notes, warnings and progress bars; errors remain
    #[arg(long, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print the duration of each phase of the work on standard error
    #[arg(long)]
    pub verbose: bool,
}

impl General {
    /// Sets the amount of messages and the number of threads.
    ///
    /// # Errors
    /// Returns [`Failure::Usage`] if the threads of the process were already started.
    pub fn apply(&self) -> Outcome {
        messages::set_level(match (self.quiet, self.verbose) {
            (true, _) => Level::Quiet,
            (_, true) => Level::Verbose,
            _ => Level::Usual,
        });
        recording::set_lenient(self.lenient);
        let Some(threads) = self.threads else {
            return Ok(());
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.into());
        let failed = |error| Failure::Usage(format!("--threads {threads}: {error}"));
        pool.build_global().map_err(failed)
    }
}

/// Options that select a window of time.
#[derive(Args, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Begin of the window, in the times `inspect` prints: 1.5s, 20ms, 7us, 12ns; a bare number is in
    /// seconds [default: begin of the recording]
    #[arg(long, value_name = "T", value_parser = time, allow_hyphen_values = true)]
    pub from: Option<Nanos>,
    /// End of the window, exclusive [default: end of the recording]
    #[arg(long, value_name = "T", value_parser = time, allow_hyphen_values = true)]
    pub to: Option<Nanos>,
}

impl Window {
    /// Returns `true` if one of the options is given.
    pub fn is_given(self) -> bool {
        self.from.is_some() || self.to.is_some()
    }

    /// Returns the options in the syntax of the command line, to follow other options. A window of the other options,
    /// which is smaller, takes precedence.
    pub fn outside_of(self, options: &[&str]) -> Vec<String> {
        if options.contains(&"--from") {
            return Vec::new();
        }
        let options = [("--from", self.from), ("--to", self.to)];
        let given = options
            .into_iter()
            .filter_map(|(name, at)| Some((name, at?)));
        given
            .flat_map(|(name, at)| [name.to_owned(), exact_time(at)])
            .collect()
    }

    /// Returns the window in a trace: all times if no option is given, or the trace has no events.
    ///
    /// # Errors
    /// Returns [`Failure::Usage`] if nothing lies in the window.
    pub fn of(self, trace: &Trace) -> Result<TimeRange, Failure> {
        match (self.from, self.to, trace.range()) {
            (None, None, _) | (.., None) => Ok(TimeRange::ALL),
            (from, to, Some(range)) => {
                recording::window(range, trace.definitions().clock, from, to)
            }
        }
    }
}

/// Option that decides which regions are one function.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct UnifyBy {
    /// Regions that count as one function
    #[arg(long, value_name = "RULE", default_value = "location", value_parser = words(&[
        ("name", Unify::Name, "regions of one name"),
        ("location", Unify::Location, "regions of one name, file and line"),
        ("never", Unify::Never, "each definition of the recording is a function"),
    ]))]
    pub unify: Unify,
}

/// Formats with events, for help texts.
pub const TRACE: &str = "OTF2 (its anchor, .otf2, or its folder), Paraver (.prv), Chrome or Kineto JSON, rocprofv3 \
    JSON, event streams (.tsv, .ndjson, .bp), export of Nsight Systems (.sqlite)";

/// Parses a time: `1.5s`, `20ms`, `7us`, `12ns`; a bare number is in seconds.
///
/// # Errors
/// Returns a message if the text is not a time.
pub fn time(text: &str) -> Result<Nanos, String> {
    recording::parse_time(text).map_err(|failure| match failure {
        Failure::Usage(what)
        | Failure::Input(what)
        | Failure::Found(what)
        | Failure::Help(what)
        | Failure::MissingSubcommand(what) => what,
        Failure::Output(error) => error.to_string(),
    })
}

/// Formats a time in the largest unit of the options `--from` and `--to` that makes it an integer.
fn exact_time(time: Nanos) -> String {
    let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];
    let whole = units.into_iter().find(|(_, unit)| time.0 % unit == 0);
    let (name, unit) = whole.unwrap_or(("ns", 1));
    format!("{}{name}", time.0 / unit)
}

/// Formats a time in nanoseconds in the syntax of the options `--from` and `--to`. Times of at least
/// a millisecond are rounded to microseconds.
///
/// ```
/// use perfkit_cli::options::time_option;
/// assert_eq!(time_option(999_999), "999999ns");
/// assert_eq!(time_option(12_345_678), "12.346ms");
/// ```
pub fn time_option(nanos: i64) -> String {
    match nanos {
        _ if nanos.abs() < 1_000_000 => format!("{nanos}ns"),
        _ => format!("{}ms", (nanos as f64 / 1e3).round() / 1e3),
    }
}

/// Parses a time above 0.
///
/// # Errors
/// Returns a message if the text is not a time, or the time is not above 0.
pub fn positive_time(text: &str) -> Result<Nanos, String> {
    match time(text)? {
        time if time.0 > 0 => Ok(time),
        _ => Err("must be above 0".into()),
    }
}

/// Parses a finite number above 0.
///
/// # Errors
/// Returns a message for any other text.
pub fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && number > 0.0 => Ok(number),
        _ => Err("not a number above 0".into()),
    }
}

/// Parses `NAME=GLOB`, such as `MPI=MPI_*`.
///
/// # Errors
/// Returns a message if there is no `=`.
pub fn named_glob(text: &str) -> Result<(String, String), String> {
    let (name, glob) = text.split_once('=').ok_or("expected NAME=GLOB")?;
    Ok((name.into(), glob.into()))
}

/// Returns the parser of an option whose values are words. `all` has each word with its meaning and a help text. A word
/// with an empty help text is accepted but not listed.
pub fn words<T: Clone + Send + Sync + 'static>(
    all: &[(&'static str, T, &'static str)],
) -> impl TypedValueParser<Value = T> + use<T> {
    let all = all.to_vec();
    let shown = all.iter().map(|(name, _, help)| {
        if help.is_empty() {
            PossibleValue::new(name).hide(true)
        } else {
            PossibleValue::new(name).help(help)
        }
    });
    PossibleValuesParser::new(shown.collect::<Vec<_>>()).try_map(move |word| {
        let found = all.iter().find(|(name, ..)| *name == word);
        found
            .map(|(_, meaning, _)| meaning.clone())
            .ok_or("no such value")
    })
}

/// Returns the names of files, separated by commas.
pub fn file_names(files: &[PathBuf]) -> String {
    let names = files.iter().map(|file| file.display().to_string());
    names.collect::<Vec<_>>().join(", ")
}
