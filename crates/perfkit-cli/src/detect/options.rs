//! Command line of `detect`: [`Options`] with sources, method, thresholds and outputs, and checks
//! that they apply to the kind of the source.

use super::source::Source;
use crate::clocks::{Clocks, ClocksBy};
use crate::failure::{self, Failure, Outcome};
use crate::options::{General, TRACE, Window, positive, positive_time, time, words};
use crate::pictures::{self, Files};
use clap::Args;
use perfkit::anomaly::calls::{ModelBy, Repair, Runtime};
use perfkit::anomaly::server::Ranking;
use perfkit::core::Nanos;
use std::path::PathBuf;

/// Finds abnormal calls, ranks and functions, and shows the worst calls with their call stacks
#[derive(Args, Clone, Debug)]
pub struct Options {
    #[doc = "Event streams, a folder of them, or one recording with events"]
    #[arg(required = true, value_name = "SOURCE", long_help = format!(
        "Event streams, one or one a rank, or a folder of them: .tsv, .ndjson, .jsonl, also .gz; .bp files of TAU's \
        ADIOS2 plug-in, or a folder of them; or one recording with events: {TRACE}"
    ))]
    pub(crate) files: Vec<PathBuf>,
    /// Method of detection
    #[arg(long, value_name = "METHOD", default_value = "default", value_parser = words(&[
        ("default", Method::Default, "tails of fitted distributions, with a stated rate of false alarms"),
        ("sstd", Method::Sstd, "standard deviations, as in Chimbuko"),
        ("hbos", Method::Hbos, "histograms, as in Chimbuko"),
        ("copod", Method::Copod, "empirical copulas, as in Chimbuko"),
    ]))]
    pub(crate) method: Method,
    /// Expected alarms in a million calls when nothing is wrong, more for functions with rare slow calls; default
    /// method only [default: 10]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) false_alarms: Option<f64>,
    /// Calls that share a model
    #[arg(long = "by", value_name = "WHAT", default_value = "function", value_parser = words(&[
        ("function", ModelBy::Function, "the calls of a function, by the size of messages if it matters"),
        ("path", ModelBy::CallPath, "the calls of a call path"),
    ]))]
    pub(crate) model: ModelBy,
    /// Time of a call that is judged
    #[arg(long, value_name = "WHAT", default_value = "exclusive", value_parser = words(&[
        ("exclusive", Runtime::Exclusive, "time in the call without its callees"),
        ("inclusive", Runtime::Inclusive, "time in the call with its callees"),
    ]))]
    pub(crate) runtime: Runtime,
    /// Neither judge nor learn functions whose names match; repeatable
    #[arg(long, value_name = "GLOB")]
    pub(crate) ignore: Vec<String>,
    /// Threshold for functions whose names match, in the unit of the method: false alarms in a million calls,
    /// deviations (sstd), fraction of the range of scores (hbos, copod); repeatable
    #[arg(long = "threshold", value_name = "GLOB=X", value_parser = threshold)]
    pub(crate) thresholds: Vec<(String, f64)>,
    /// Accept new modes of functions whose names match as normal, for a reason; repeatable
    #[arg(long, value_name = "GLOB=REASON", value_parser = reason)]
    pub(crate) accept: Vec<(String, String)>,
    /// Begin a step at each call of the functions of a recording whose names match, on one thread of each rank [default:
    /// the iterations of the program, if they are found]
    #[arg(long, value_name = "GLOB", conflicts_with = "period")]
    pub(crate) step_at: Option<String>,
    /// Length of a step, above 0 [default: 1s for streams without steps, a hundredth of a recording without iterations]
    #[arg(long, value_name = "T", value_parser = positive_time, allow_negative_numbers = true)]
    pub(crate) period: Option<Nanos>,
    /// Begin of step 0 of streams without steps, the same for all ranks of a run that are read apart [default: the
    /// first event]
    #[arg(long, value_name = "T", value_parser = time, allow_negative_numbers = true)]
    pub(crate) origin: Option<Nanos>,
    /// Time lost, or the statistic of the anomalies in a step, that ranks are ordered by
    #[arg(long = "rank-by", value_name = "WHAT", default_value = "time", value_parser = words(&[
        ("total", Ranking::Total, "their number"),
        ("mean", Ranking::Mean, "mean number a step"),
        ("deviation", Ranking::Deviation, "standard deviation over the steps"),
        ("minimum", Ranking::Minimum, "smallest number in a step"),
        ("maximum", Ranking::Maximum, "largest number in a step"),
        ("time", Ranking::TimeLost, "time lost"),
    ]))]
    pub(crate) ranking: Ranking,
    #[command(flatten)]
    pub(crate) clocks: ClocksBy,
    #[command(flatten)]
    pub(crate) window: Window,
    /// Write all recorded anomalies as CSV, the most severe first
    #[arg(long, value_name = "OUT", help_heading = "Output files")]
    pub(crate) csv: Option<PathBuf>,
    /// Write a record of each anomaly: JSON Lines, or a database if OUT ends in .sqlite or .db
    #[arg(long, value_name = "OUT", help_heading = "Output files")]
    pub(crate) provenance: Option<PathBuf>,
    /// Compare the time lost in each function with that of another run, read from the records that its
    /// --provenance wrote
    #[arg(long, value_name = "STORE")]
    pub(crate) compare: Option<PathBuf>,
    /// Judge the records again by the model at the end
    #[arg(long)]
    pub(crate) prune: bool,
    /// Send results to a parameter server, and judge by the models of all its clients
    #[arg(long, value_name = "URL", requires = "token")]
    pub(crate) server: Option<String>,
    /// File with the token for writers of the server
    #[arg(long, value_name = "FILE", requires = "server")]
    pub(crate) token: Option<PathBuf>,
    /// Name of the run at the server. A detector that starts again on the same files of the same run continues and
    /// counts nothing twice
    #[arg(long, value_name = "NAME", requires = "server")]
    pub(crate) run: Option<String>,
    /// Discard the model of a function that became slower or faster for good, and learn it anew
    #[arg(long)]
    pub(crate) restart: bool,
    /// Wait for more at the end of streams, and print anomalies as they come; files may be created later, by themselves
    /// or in a folder. Without --idle it ends when the writers of all .bp files closed them, and for text never
    #[arg(long)]
    pub(crate) follow: bool,
    /// Stop following after this time without new events, also if all writers closed their files but more may be
    /// created in a folder [default: never]
    #[arg(long, value_name = "T", value_parser = time, requires = "follow")]
    pub(crate) idle: Option<Nanos>,
    /// Replay a recording at this multiple of its original speed, above 0 [default: as fast as possible]
    #[arg(long, value_name = "X", value_parser = positive, allow_negative_numbers = true, conflicts_with = "follow")]
    pub(crate) pace: Option<f64>,
    /// Ranks, functions and calls to list
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) top: usize,
    #[command(flatten)]
    pub(crate) output: Files,
    #[command(flatten)]
    pub(crate) general: General,
}

/// Detection method.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Method {
    /// Default method, which bounds the rate of false alarms.
    Default,
    /// Deviation from the mean in standard deviations.
    Sstd,
    /// Histogram-based outlier score.
    Hbos,
    /// Copula-based outlier detection.
    Copod,
}

impl Method {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Method::Default => "default",
            Method::Sstd => "sstd",
            Method::Hbos => "hbos",
            Method::Copod => "copod",
        }
    }
}

fn threshold(text: &str) -> Result<(String, f64), String> {
    let rule = text.rsplit_once('=');
    let rule = rule.and_then(|(glob, x)| Some((glob.to_string(), x.parse().ok()?)));
    rule.ok_or_else(|| "expected GLOB=X, where X is a number".into())
}

fn reason(text: &str) -> Result<(String, String), String> {
    let rule = text.split_once('=');
    let rule = rule.filter(|(glob, reason)| !glob.is_empty() && !reason.trim().is_empty());
    let rule = rule.map(|(glob, reason)| (glob.to_string(), reason.trim().to_string()));
    rule.ok_or_else(|| "expected GLOB=REASON".into())
}

/// Converts an error about parameters to a usage error, because all parameters come from the
/// arguments.
pub(crate) fn usage(error: perfkit::anomaly::Error) -> Failure {
    Failure::Usage(error.to_string())
}

/// Refuses options that do not apply to the kind of the source.
pub(crate) fn means_something(options: &Options, kind: Source) -> Outcome {
    let wrong = |what: &str| Err(Failure::Usage(what.into()));
    if options.false_alarms.is_some() && options.method != Method::Default {
        return wrong("--false-alarms is for the default method");
    }
    match kind {
        Source::Trace if options.follow => wrong("--follow is for streams, not for recordings"),
        Source::Text | Source::Adios if options.pace.is_some() => {
            wrong("--pace is for recordings; streams are read as fast as they come")
        }
        Source::Text | Source::Adios if options.clocks.clocks == Clocks::Correct => {
            wrong("--clocks correct is for recordings; streams are judged as they come")
        }
        Source::Text | Source::Adios if options.window.is_given() => {
            wrong("--from and --to are for recordings; streams are judged from their first event")
        }
        Source::Text | Source::Adios if options.step_at.is_some() => {
            wrong("--step-at is for recordings")
        }
        Source::Trace if options.origin.is_some() => wrong("--origin is for streams"),
        Source::Adios if options.period.is_some() || options.origin.is_some() => {
            wrong("--period and --origin are of no use: .bp files say their steps")
        }
        _ => Ok(()),
    }
}

/// Refuses sources that do not exist, unless they are followed, and sources that an output would
/// replace.
pub(crate) fn spare_sources(options: &Options, kind: Source) -> Outcome {
    if let (Some(other), Some(written)) = (&options.compare, &options.provenance) {
        failure::spare(other, written)?;
    }
    for file in &options.files {
        if !options.follow || kind == Source::Trace {
            let found = std::fs::metadata(file);
            found.map_err(|error| Failure::Input(format!("{}: {error}", file.display())))?;
        }
        for written in options
            .provenance
            .iter()
            .chain(&options.csv)
            .chain(options.output.all())
        {
            failure::spare(file, written)?;
        }
    }
    Ok(())
}

/// Returns the heading of pictures and pages.
pub(crate) fn title(options: &Options) -> String {
    let names = options.files.iter().map(|file| pictures::name(file));
    let names: Vec<String> = names.take(3).collect();
    format!("{}: abnormal calls", names.join(", "))
}

/// Returns the options as facts of the provenance records. The monitor adds thresholds and ignored functions.
pub(crate) fn facts(options: &Options, repair: Repair) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("program", "detect".to_string()),
        ("method", options.method.name().into()),
        ("model by", format!("{:?}", options.model)),
        ("run time", format!("{:?}", options.runtime)),
        ("repair", format!("{repair:?}")),
    ];
    let period = options.period.map(|period| period.to_string());
    let origin = options.origin.map(|origin| origin.to_string());
    let pace = options.pace.map(|pace| pace.to_string());
    let step_at = options.step_at.clone();
    for (name, value) in [
        ("period", period),
        ("step at", step_at),
        ("origin", origin),
        ("pace", pace),
    ] {
        facts.extend(value.map(|value| (name, value)));
    }
    for (name, is_so) in [
        ("prune", options.prune),
        ("restart", options.restart),
        ("follow", options.follow),
    ] {
        facts.extend(is_so.then(|| (name, is_so.to_string())));
    }
    let files = options.files.iter();
    facts.extend(files.map(|file| ("source", file.display().to_string())));
    facts
}
