//! [`Finding`]: statement about a recording by [`Kind`], with its [`Figure`], its [`Place`] and the
//! next command; [`rank`] orders findings by importance.
//!
//! Each module finds statements about one subject.

pub(super) mod anomalies;
pub(super) mod balance;
pub(super) mod correlations;
pub(super) mod counters;
pub(super) mod devices;
pub(super) mod phases;
pub(super) mod recording_quality;
pub(super) mod series;
mod spread;
pub(super) mod waits;
mod window;

use crate::failure::Outcome;
use crate::pictures;
use crate::table::grouped;
use perfkit::core::Nanos;
use serde::Serialize;
use std::io::Write;

/// Smallest share of repaired calls that precedes all problems in the list.
const MANY_REPAIRS: f64 = 0.1;

/// Subject of a finding.
///
/// Problems precede findings about the recording in the list, and those precede descriptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Kind {
    /// Parts of the recording are missing.
    Loss,
    /// A rank delays other ranks.
    Delay,
    /// One rank works while the others wait.
    SerialSection,
    /// A call of a function is slow on most ranks.
    SlowStep,
    /// Time in MPI beyond waiting for other ranks.
    Transfers,
    /// A part of a training job is slower than its peers.
    TrainingJob,
    /// Ranks or threads compute for unequal times.
    LoadImbalance,
    /// Ranks take longer than the median rank for the same calls.
    SlowRanks,
    /// Time in MPI, SHMEM or other communication.
    Communication,
    /// Time in the initialisation and the end of MPI.
    StartUp,
    /// Time in OpenMP barriers, critical sections and waits for tasks.
    Synchronisation,
    /// Time in input and output.
    InputOutput,
    /// Time in calls of a device runtime such as CUDA.
    DeviceCalls,
    /// Time in which locations are idle.
    IdleTime,
    /// A call path takes unequal times on the ranks or threads.
    UnevenCallPath,
    /// A device has no work.
    DeviceIdle,
    /// A long gap between two pieces of work of a device.
    DeviceGap,
    /// Devices are busy for unequal times.
    DeviceImbalance,
    /// Communication on devices without concurrent computation.
    ExposedCommunication,
    /// Copies and sets of memory on devices without concurrent computation.
    ExposedCopies,
    /// Messages or collectives contradict the clocks.
    ClockViolation,
    /// Calls that take much longer than others of their function.
    AbnormalCalls,
    /// A function became slower during the run.
    Slowdown,
    /// Waits in communication or synchronisation became longer during the run.
    LongerWaits,
    /// Threads are outside all recorded regions.
    OutsideRegions,
    /// The share of communication grows through a series of runs.
    Scaling,
    /// A tracked region becomes worse from one experiment to the next.
    TrackedRegion,
    /// Calls that had to be repaired.
    Repairs,
    /// The call path with the largest exclusive time.
    TopCallPath,
    /// Clusters of CPU bursts.
    Phases,
    /// A counter is distributed unequally over the locations.
    UnevenMetric,
    /// Call paths with times that correlate over the grid.
    Correlation,
}

impl Kind {
    /// Returns `true` if the finding describes the run and states no problem.
    pub fn is_description(self) -> bool {
        matches!(
            self,
            Kind::TopCallPath
                | Kind::Phases
                | Kind::UnevenMetric
                | Kind::Correlation
                | Kind::DeviceCalls
                | Kind::LongerWaits
                | Kind::OutsideRegions
        )
    }

    /// Returns `true` if the finding states a problem of the program.
    pub fn is_problem(self) -> bool {
        self != Kind::Loss && !self.is_description() && !self.is_about_recording()
    }

    /// Returns `true` if the finding is about the recording. It limits the accuracy of other findings.
    pub fn is_about_recording(self) -> bool {
        matches!(self, Kind::ClockViolation | Kind::Repairs)
    }

    /// Returns the heading of a finding.
    pub fn title(self) -> &'static str {
        match self {
            Kind::Loss => "Incomplete recording",
            Kind::Delay => "Delay",
            Kind::SerialSection => "Serial section",
            Kind::SlowStep => "Slow step",
            Kind::Transfers => "Transfers",
            Kind::TrainingJob => "Training job",
            Kind::LoadImbalance => "Load imbalance",
            Kind::SlowRanks => "Slow ranks",
            Kind::Communication => "Communication",
            Kind::StartUp => "Start and end of MPI",
            Kind::Synchronisation => "OpenMP synchronisation",
            Kind::InputOutput => "Input and output",
            Kind::DeviceCalls => "Calls of the device runtime",
            Kind::IdleTime => "Idle time",
            Kind::UnevenCallPath => "Uneven call path",
            Kind::DeviceIdle => "Idle devices",
            Kind::DeviceGap => "Longest gap of a device",
            Kind::DeviceImbalance => "Uneven devices",
            Kind::ExposedCommunication => "Exposed communication",
            Kind::ExposedCopies => "Exposed copies",
            Kind::ClockViolation => "Clock violations",
            Kind::AbnormalCalls => "Abnormal calls",
            Kind::Slowdown => "Slowdown during the run",
            Kind::LongerWaits => "Waits become longer",
            Kind::OutsideRegions => "Outside recorded regions",
            Kind::Scaling => "Scaling",
            Kind::TrackedRegion => "Tracked region",
            Kind::Repairs => "Repaired calls",
            Kind::TopCallPath => "Largest exclusive time",
            Kind::Phases => "Phases",
            Kind::UnevenMetric => "Uneven counter",
            Kind::Correlation => "Correlation",
        }
    }
}

/// Main number of a finding.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// Quantity, such as `possible saving`.
    pub name: &'static str,
    /// Value.
    pub value: f64,
    /// Unit: `ns`, `1` for ratios, or the unit of the metric.
    pub unit: String,
}

/// Place of a finding, of which some parts may be unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Place {
    /// Name of the recording.
    pub recording: String,
    /// Rank in its program.
    pub rank: Option<u64>,
    /// Name of the rank, thread or device.
    pub location: Option<String>,
    /// Call path, its regions separated by ` > `.
    pub call_path: Option<String>,
    /// Start in nanoseconds of the clock of the recording.
    pub from_ns: Option<i64>,
    /// End in nanoseconds of the clock of the recording.
    pub to_ns: Option<i64>,
}

impl Place {
    /// Returns the known parts, separated by commas; empty if none is known.
    pub fn text(&self) -> String {
        let mut parts: Vec<String> = self.location.iter().cloned().collect();
        parts.extend(self.call_path.clone());
        if let (Some(from), Some(to)) = (self.from_ns, self.to_ns) {
            parts.push(format!("{} to {}", Nanos(from), Nanos(to)));
        }
        parts.join(", ")
    }
}

/// Statement about a recording.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Position in the list, from 1 on.
    pub rank: usize,
    /// Subject.
    pub kind: Kind,
    /// Statement as a sentence, with the denominator of each share.
    pub sentence: String,
    /// Main number.
    pub figure: Figure,
    /// Affected share of the time, in `0.0..=1.0`; `None` if the finding is not about time.
    pub share: Option<f64>,
    /// Denominator of the share.
    pub share_of: &'static str,
    /// Place.
    pub place: Place,
    /// Next command to run.
    pub command: String,
    /// Share that decides the position. A cause that explains a symptom has the share of the
    /// symptom.
    #[serde(skip)]
    pub(in crate::report) weight: f64,
}

impl Finding {
    /// Creates a finding of the recording `of`. The share decides its position.
    pub(in crate::report) fn new(
        kind: Kind,
        of: &str,
        share: Option<f64>,
        share_of: &'static str,
        figure: (&'static str, f64, &str),
        sentence: String,
    ) -> Self {
        let (name, value, unit) = figure;
        Finding {
            rank: 0,
            kind,
            sentence: capital(&sentence),
            figure: Figure {
                name,
                value,
                unit: unit.into(),
            },
            share,
            share_of,
            place: Place {
                recording: of.into(),
                ..Place::default()
            },
            command: String::new(),
            weight: share.unwrap_or_default(),
        }
    }

    /// Sets the next command.
    pub(in crate::report) fn next(mut self, command: String) -> Self {
        self.command = command;
        self
    }

    /// Changes the place.
    pub(in crate::report) fn at(mut self, change: impl FnOnce(&mut Place)) -> Self {
        change(&mut self.place);
        self
    }

    /// Writes the finding as a numbered paragraph. `names` adds the name of the recording.
    pub(in crate::report) fn text(&self, names: bool, out: &mut dyn Write) -> Outcome {
        let (rank, title) = (self.rank, self.kind.title());
        let of = if names {
            format!(" [{}]", self.place.recording)
        } else {
            String::new()
        };
        writeln!(out, "{rank}. {title}{of}: {}", self.sentence)?;
        let place = self.place.text();
        if !place.is_empty() {
            writeln!(out, "   place: {place}")?;
        }
        writeln!(out, "   next:  {}", self.command)?;
        Ok(())
    }
}

/// Orders and numbers findings: problems by falling share of the affected time, then findings about the
/// recording, then descriptions. Losses and many repairs come first because they qualify all other findings.
pub(in crate::report) fn rank(findings: &mut [Finding]) {
    let class = |finding: &Finding| match finding.kind {
        Kind::Loss => 0,
        Kind::Repairs if finding.weight >= MANY_REPAIRS => 0,
        kind if kind.is_about_recording() => 2,
        kind if kind.is_description() => 3,
        _ => 1,
    };
    findings.sort_by(|one, other| {
        let by_weight = other.weight.total_cmp(&one.weight);
        let by_class = class(one).cmp(&class(other));
        by_class.then(by_weight).then(one.kind.cmp(&other.kind))
    });
    for (at, finding) in findings.iter_mut().enumerate() {
        finding.rank = at + 1;
    }
}

/// Returns a sentence with its first letter in upper case. Names of functions are unchanged.
fn capital(sentence: &str) -> String {
    let nouns = [
        "rank",
        "ranks",
        "process",
        "processes",
        "thread",
        "threads",
        "device",
        "stage",
        "data-parallel",
    ];
    let is_noun = nouns.contains(&sentence.split(' ').next().unwrap_or_default());
    if is_noun {
        pictures::capitalised(sentence)
    } else {
        sentence.into()
    }
}

/// Returns a share in percent with three significant digits.
pub(in crate::report) fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    match percent.abs() {
        _ if !percent.is_finite() => "0 %".into(),
        0.0..0.001 => "0 %".into(),
        0.001..1.0 => format!("{percent:.2} %"),
        1.0..99.95 => format!("{percent:.1} %"),
        _ => format!("{percent:.0} %"),
    }
}

/// Formats a time in nanoseconds. The digits of long times are grouped.
pub(in crate::report) fn time(nanos: f64) -> String {
    if (1e12..9.3e18).contains(&nanos) {
        return format!("{} s", grouped((nanos / 1e9).round() as u64));
    }
    Nanos(nanos.round() as i64).to_string()
}

/// Returns a verb in the third person for a count: `loses` for 1 and `lose` for more.
pub(in crate::report) fn verb(number: u64, stem: &str) -> String {
    match number {
        1 => format!("{stem}s"),
        _ => stem.into(),
    }
}

/// Returns a count with a noun in the singular or plural.
pub(in crate::report) fn count(number: u64, one: &str, more: &str) -> String {
    format!(
        "{} {}",
        grouped(number),
        if number == 1 { one } else { more }
    )
}

/// Returns a list of words with commas and `and`.
pub(in crate::report) fn list(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_precede_descriptions_and_losses_precede_all() {
        let of = |kind, share| {
            let figure = ("time", 1.0, "ns");
            Finding::new(kind, "run", share, "time", figure, String::new())
        };
        let mut all = [
            of(Kind::TopCallPath, Some(0.9)),
            of(Kind::AbnormalCalls, Some(0.1)),
            of(Kind::ClockViolation, Some(0.5)),
            of(Kind::Loss, None),
            of(Kind::LoadImbalance, Some(0.3)),
        ];
        rank(&mut all);
        let kinds = all.each_ref().map(|finding| (finding.rank, finding.kind));
        let expected = [
            (1, Kind::Loss),
            (2, Kind::LoadImbalance),
            (3, Kind::AbnormalCalls),
            (4, Kind::ClockViolation),
            (5, Kind::TopCallPath),
        ];
        assert_eq!(kinds, expected);
    }

    #[test]
    fn long_times_are_grouped() {
        assert_eq!(time(194_125_044e6), "194 125 s");
        assert_eq!(time(1.5e9), "1.500 s");
    }

    #[test]
    fn shares_have_three_digits() {
        for (share, text) in [
            (0.0, "0 %"),
            (0.000_5, "0.05 %"),
            (0.123_4, "12.3 %"),
            (0.999_6, "100 %"),
            (f64::NAN, "0 %"),
        ] {
            assert_eq!(percent(share), text);
        }
    }
}
