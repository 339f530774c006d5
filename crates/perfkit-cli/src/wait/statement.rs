//! [`Statement`]: finding of `wait` in words, with its evidence, its window and the next command;
//! [`Command`]: command lines on the files of a recording.

use super::{Analysis, Training};
use crate::options::{Window, time_option};
use crate::pictures::shell;
use crate::table::shortened;
use perfkit::core::{CallPathId, Clock, LocationId, Nanos, RegionId};
use perfkit::wait::findings::{Finding, FindingKind};
use serde::Serialize;
use std::collections::BTreeMap;

/// Kind of a finding about a host that leaves accelerators without work.
pub(crate) const LATE_LAUNCHES: &str = "late launches";

/// Largest number of functions in the evidence of slow transfers.
const MAX_FUNCTIONS: usize = 3;

/// Longest name of a function in evidence. Those of templates have thousands of characters.
const MAX_NAME: usize = 80;

/// Commands on the files of a recording.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    /// Files of the recording.
    files: Vec<String>,
    /// `true` if the clocks are corrected; the commands then include `--clocks correct`.
    is_corrected: bool,
    /// Analysed window; the commands include it.
    window: Window,
}

impl Command {
    /// Creates commands on files with corrected or recorded clocks.
    pub(crate) fn new(files: Vec<String>, is_corrected: bool) -> Self {
        Command {
            files,
            is_corrected,
            window: Window::default(),
        }
    }

    /// Restricts the commands to a window.
    pub(crate) fn within(self, window: Window) -> Self {
        Command { window, ..self }
    }

    /// Returns the command line of a subcommand with options after the files.
    pub(crate) fn of(&self, subcommand: &str, options: &[&str]) -> String {
        let clocks: &[&str] = if self.is_corrected {
            &["--clocks", "correct"]
        } else {
            &[]
        };
        let words = ["perfkit", subcommand].into_iter();
        let words = words.chain(self.files.iter().map(String::as_str));
        let window = self.window.outside_of(options);
        shell(
            words
                .chain(options.iter().copied())
                .chain(window.iter().map(String::as_str))
                .chain(clocks.iter().copied()),
        )
    }

    /// Returns the command that draws a window with a row for each process.
    fn fold(&self, window: Option<(Nanos, Nanos)>) -> String {
        let (from, to) = window.map_or_else(Default::default, |(from, to)| {
            (time_option(from.0), time_option(to.0))
        });
        let mut options = vec!["--by", "process"];
        if window.is_some() {
            options.extend(["--from", from.as_str(), "--to", to.as_str()]);
        }
        options.extend(["--html", "closer.html"]);
        self.of("fold", &options)
    }
}

/// Finding in words.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Statement {
    /// Kind in one or two words.
    pub(crate) kind: &'static str,
    /// Finding as a sentence.
    pub(crate) sentence: String,
    /// Measurements that support the finding.
    pub(crate) evidence: String,
    /// Name of the location, if the finding is about one.
    pub(crate) location: Option<String>,
    /// Call path, if the finding is about one.
    pub(crate) call_path: Option<String>,
    /// Run time that a fix would save.
    #[serde(rename = "saved_ns")]
    pub(crate) saved: Nanos,
    /// Saved share of the run time, in `0.0..=1.0`.
    pub(crate) share: f64,
    /// Factor by which the location is slower than its peers, if known.
    pub(crate) factor: Option<f64>,
    /// Waiting time that the cause leads to, or time lost, over all ranks.
    #[serde(rename = "cost_ns")]
    pub(crate) cost: Nanos,
    /// Largest error of each wait state of the finding that corrected clocks leave; `None` if the clocks were not
    /// corrected or the error is unbounded.
    #[serde(rename = "clock_error_ns", skip_serializing_if = "Option::is_none")]
    pub(crate) clock_error: Option<Nanos>,
    /// Start and end of the window that shows the finding.
    #[serde(rename = "window_ns")]
    pub(crate) window: Option<(Nanos, Nanos)>,
    /// Next command to run.
    pub(crate) command: String,
}

impl Training {
    /// Returns the findings in words.
    pub(crate) fn statements(&self, command: &Command) -> Vec<Statement> {
        let definitions = self.activities.definitions();
        let statement = |finding: &Finding| {
            let window = window(finding, definitions.clock);
            Statement {
                kind: "training job",
                sentence: finding.text(definitions, &self.activities),
                evidence: format!(
                    "with the durations of this part as recorded and all others ideal, the steps take {} longer in total",
                    finding.cost
                ),
                location: None,
                call_path: None,
                saved: finding.saved,
                share: finding.share,
                factor: finding.factor,
                cost: finding.cost,
                clock_error: None,
                window,
                command: command.fold(window),
            }
        };
        self.findings.findings.iter().map(statement).collect()
    }
}

/// Returns the window of a finding in nanoseconds.
fn window(finding: &Finding, clock: Clock) -> Option<(Nanos, Nanos)> {
    let window = finding.window?;
    Some((clock.nanos(window.start)?, clock.nanos(window.end)?))
}

impl Analysis {
    /// Returns the findings in words.
    pub(crate) fn statements(&self, command: &Command) -> Vec<Statement> {
        // Work of accelerators is skipped: a host that waits for a busy accelerator is normal.
        let all = self.findings.findings.iter();
        all.filter(|finding| !matches!(finding.kind, FindingKind::DeviceWork { .. }))
            .map(|finding| self.statement(finding, command))
            .collect()
    }

    fn statement(&self, finding: &Finding, command: &Command) -> Statement {
        let window = window(finding, self.activities.clock());
        let place = match finding.kind {
            FindingKind::Delay { location, path } | FindingKind::Serial { location, path } => {
                Some((location, path))
            }
            FindingKind::Imbalance { path } => {
                finding.locations.first().map(|first| (*first, Some(path)))
            }
            FindingKind::LateRank { location, .. } => Some((location, None)),
            FindingKind::BadCalls { location, path, .. }
            | FindingKind::HostWork { location, path } => Some((location, Some(path))),
            _ => None,
        };
        let path = match finding.kind {
            FindingKind::MovingImbalance { path } => Some(path),
            _ => place.and_then(|(_, path)| path),
        };
        let (kind, evidence, next) = match finding.kind {
            FindingKind::Delay { .. } => ("delay", self.delay(finding), command.fold(window)),
            FindingKind::BadCalls { .. } => {
                let evidence = self.longest_wait(finding).unwrap_or_default();
                ("long call", evidence, command.fold(window))
            }
            FindingKind::Imbalance { .. } => {
                ("load imbalance", self.delay(finding), command.fold(window))
            }
            FindingKind::MovingImbalance { .. } => (
                "moving imbalance",
                self.delay(finding),
                command.fold(window),
            ),
            FindingKind::Serial { .. } => {
                ("serial section", self.delay(finding), command.fold(window))
            }
            FindingKind::SlowStep { .. } => {
                let cost = format!("{} of it over all ranks", finding.cost);
                ("slow step", cost, command.fold(window))
            }
            FindingKind::Transfers => {
                let next = command.of("wait", &["--what-if", "MPI_* x 0.5"]);
                ("transfers", self.transfers(), next)
            }
            FindingKind::LateRank { .. } => ("late rank", String::new(), command.fold(window)),
            FindingKind::HostWork { .. } => (
                LATE_LAUNCHES,
                self.longest_wait(finding).unwrap_or_default(),
                command.of("utilisation", &[]),
            ),
            _ => ("other", String::new(), command.fold(window)),
        };
        Statement {
            kind,
            sentence: finding.text(self.activities.definitions(), &self.activities),
            evidence,
            location: place.map(|(location, _)| self.label(location).to_owned()),
            call_path: path.map(|path| self.path_name(path)),
            saved: finding.saved,
            share: finding.share,
            factor: finding.factor,
            cost: finding.cost,
            clock_error: finding.longest.and_then(|it| self.clock_error(&it)),
            window,
            command: next,
        }
    }

    /// Returns the name of a call path.
    pub(crate) fn path_name(&self, path: CallPathId) -> String {
        let regions = &self.activities.definitions().regions;
        self.activities.paths().name(path, regions)
    }

    /// Describes the evidence of a delay: the times of the location and of its peers, and the longest wait.
    fn delay(&self, finding: &Finding) -> String {
        let mut parts = Vec::new();
        let mean = if finding.locations.len() > 1 {
            " in their mean"
        } else {
            ""
        };
        if let (Some(own), Some(peers)) = (finding.own, finding.peers) {
            let moves = matches!(finding.kind, FindingKind::MovingImbalance { .. });
            parts.push(match peers.0 {
                _ if moves => {
                    let is_of_threads = finding.longest.is_some_and(|it| it.pattern.is_local());
                    let noun = if is_of_threads { "thread" } else { "rank" };
                    format!("{own} in it on the slowest {noun}, against a mean of {peers}")
                }
                0 => format!("{own} in it, and most of its peers spend none"),
                _ => format!("{own} in it{mean}, against a median of {peers} of the others"),
            });
        }
        parts.extend(self.longest_wait(finding));
        parts.join("; ")
    }

    /// Describes the longest wait state that the cause of a finding leads to, if known.
    fn longest_wait(&self, finding: &Finding) -> Option<String> {
        let state = finding.longest?;
        let name = self.call_name(state.call.location, state.call.index);
        let place = match shortened(&name, MAX_NAME) {
            name if name.is_empty() => String::new(),
            name => format!(" in {name}"),
        };
        let error = self.clock_error(&state).map_or_else(String::new, |error| {
            format!("; the clocks leave +-{error} in each wait")
        });
        let caller = finding.caller.map_or_else(String::new, |caller| {
            format!(", before a call by {}", self.code(caller))
        });
        Some(format!(
            "the longest wait is that of {}{place}, {} ({}){caller}{error}",
            self.label(state.call.location),
            self.time(state.ticks),
            state.pattern.name()
        ))
    }

    /// Returns the name of a function with its file and line.
    fn code(&self, region: RegionId) -> String {
        let definitions = self.activities.definitions();
        let name = definitions.region_name(region);
        let region = definitions.regions.get(region.index());
        let place = region.and_then(|it| Some((it.file.as_ref()?, it.lines?.0)));
        let place = place.map_or_else(String::new, |(file, line)| format!(" ({file}:{line})"));
        format!("{}{place}", shortened(&name, MAX_NAME))
    }

    /// Returns the name of the function of a call.
    fn call_name(&self, location: LocationId, index: u32) -> String {
        let call = perfkit::wait::activity::CallId { location, index };
        let call = self.activities.call(call);
        call.map_or_else(String::new, |call| {
            self.activities.call_name(call).into_owned()
        })
    }

    /// Describes the MPI functions with the most time without waiting.
    fn transfers(&self) -> String {
        let mut times: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        let calls = self.activities.calls();
        for (_, call) in calls.filter(|(_, call)| !call.kind.is_local()) {
            let name = self.activities.call_name(call).into_owned();
            let (time, count) = times.entry(name).or_default();
            *time = time.saturating_add(call.leave.saturating_since(call.enter));
            *count += 1;
        }
        for state in self
            .waits
            .states()
            .iter()
            .filter(|it| it.pattern.is_waiting())
        {
            let name = self.call_name(state.call.location, state.call.index);
            if let Some((time, _)) = times.get_mut(&name) {
                *time = time.saturating_sub(state.ticks);
            }
        }
        // Start and end of MPI are not transfers.
        let is_setup = |name: &str| name.starts_with("MPI_Init") || name == "MPI_Finalize";
        let mut times: Vec<_> = times.into_iter().filter(|it| !is_setup(&it.0)).collect();
        times.sort_by_key(|(_, (time, _))| std::cmp::Reverse(*time));
        let part = |(name, (time, count)): &(String, (u64, u64))| {
            let calls = crate::table::counted(*count as usize, "call");
            format!("{} in {calls} of {name}", self.time(*time))
        };
        let parts = times.iter().take(MAX_FUNCTIONS).map(part);
        parts.collect::<Vec<_>>().join(", ")
    }
}
