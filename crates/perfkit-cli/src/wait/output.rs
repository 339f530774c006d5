//! [`Document`]: results of `wait` about one recording, as JSON and as text.

use super::statement::{Command, Statement};
use super::what_if::Answers;
use super::{Analysed, Analysis, tables};
use crate::clocks;
use crate::failure::Outcome;
use crate::findings::Findings;
use crate::recording::Recording;
use crate::table::{self, counted, grouped};
use perfkit::core::{ClockViolations, Nanos, ReplayCounts, Table};
use perfkit::wait::activity::{CallCollective, CallKind};
use serde::Serialize;
use std::io::Write;

/// Largest number of characters of a call path in a table.
const MAX_NAME: usize = 60;
/// Smallest relative error of the replay that is reported.
const MIN_REPLAY_ERROR: f64 = 0.001;

/// Results about one recording.
#[derive(Debug, Serialize)]
pub(crate) struct Document {
    /// Name of the format.
    format: &'static str,
    /// Reason why there are no results; `None` if there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    nothing: Option<String>,
    /// Run time; `None` without results.
    #[serde(rename = "run_time_ns")]
    runtime: Option<Nanos>,
    /// Number of processes.
    processes: Option<usize>,
    /// Number of messages.
    messages: Option<usize>,
    /// Number of collectives.
    collectives: Option<usize>,
    /// Violations of the clock condition; after a correction, those that remain.
    clocks: Table,
    /// Correction of the clocks, if there was one.
    clocks_corrected: Option<String>,
    /// Findings in descending order of the time that a fix would save.
    pub(crate) findings: Vec<Statement>,
    /// Wait states by kind.
    pub(crate) wait_states: Table,
    /// Useful time, waiting and time on the critical path by rank.
    pub(crate) ranks: Table,
    /// Root causes of waiting.
    pub(crate) root_causes: Table,
    /// Call paths of the critical path.
    pub(crate) critical_path: Table,
    /// Efficiencies of the ranks.
    pub(crate) efficiencies: Table,
    /// Efficiencies of threads and accelerators.
    pub(crate) hybrid: Table,
    /// Communication of accelerators with collective operations.
    pub(crate) exchanges: Table,
    /// Noun for a member of the run: `rank`, or `thread` without MPI.
    #[serde(skip)]
    noun: &'static str,
    /// Number of accelerator streams with calls.
    #[serde(skip)]
    streams: usize,
    /// Number of barriers of teams of threads among the collectives.
    #[serde(skip)]
    team_barriers: usize,
    /// Longest time before the first work of an accelerator, as a sentence; `None` if it is short.
    #[serde(skip)]
    start_up: Option<String>,
    /// Answers to what-if questions.
    what_if: Table,
    /// Number of operations of a training job.
    operations: usize,
    /// Replayed and ideal times of the steps of a training job.
    steps: Table,
    /// Slowdowns of the steps, ranks and operations of a training job.
    parts: Table,
    /// Relative error of the replay without changes.
    #[serde(skip)]
    replay_error: f64,
    /// Sentences about clocks that disagree.
    #[serde(skip)]
    warnings: Vec<String>,
    /// Repairs and losses of the reader.
    recording: Findings,
}

impl Document {
    /// Collects the results, with tables of at most `top` root causes and call paths.
    pub(super) fn new(
        recording: &Recording,
        found: &Analysed,
        violations: &ClockViolations,
        command: &Command,
        top: usize,
    ) -> Self {
        let clock = recording.trace.definitions().clock;
        let none = || Table::new("", "");
        let mut document = Document {
            format: recording.format,
            nothing: None,
            runtime: None,
            processes: None,
            messages: None,
            collectives: None,
            clocks: violations.table(clock),
            clocks_corrected: clocks::correction(&recording.diagnostics),
            findings: Vec::new(),
            wait_states: none(),
            ranks: none(),
            root_causes: none(),
            critical_path: none(),
            efficiencies: none(),
            hybrid: none(),
            exchanges: none(),
            noun: "rank",
            streams: 0,
            team_barriers: 0,
            start_up: None,
            what_if: none(),
            operations: 0,
            steps: none(),
            parts: none(),
            replay_error: 0.0,
            warnings: warnings(recording, violations, command),
            recording: Findings::new(&recording.diagnostics, ReplayCounts::default()),
        };
        match found {
            Analysed::Training(training) => {
                document.runtime = Some(training.findings.runtime);
                document.operations = training.operations;
                document.findings = training.statements(command);
                document.steps = training.slowdowns.steps_table();
                document.parts = training.slowdowns.groups_table();
            }
            Analysed::Nothing { reason, hint } => {
                document.nothing = Some(if hint.is_empty() {
                    reason.clone()
                } else {
                    format!("{reason}; {hint}")
                });
            }
            Analysed::Found(analysis) => document.fill(analysis, command, top),
        }
        document
    }

    fn fill(&mut self, analysis: &Analysis, command: &Command, top: usize) {
        let activities = &analysis.activities;
        self.runtime = Some(analysis.findings.runtime);
        self.processes = Some(analysis.ranks.len());
        self.streams = analysis.streams();
        self.start_up = analysis.start_up();
        self.messages = Some(activities.messages().len());
        self.collectives = Some(activities.collectives().len());
        let is_of_team = |it: &&CallCollective| {
            let first = it.members.first().and_then(|it| activities.call(it.call));
            first.is_some_and(|call| call.kind == CallKind::TeamBarrier)
        };
        self.team_barriers = activities.collectives().iter().filter(is_of_team).count();
        self.findings = analysis.statements(command);
        self.wait_states = tables::kinds(analysis);
        self.ranks = tables::ranks(analysis);
        self.root_causes = tables::root_causes(analysis).head(top);
        self.critical_path = analysis.path.table(activities).head(top);
        if let Some(efficiencies) = &analysis.efficiencies {
            self.efficiencies = efficiencies.table();
        } else {
            self.noun = "thread";
        }
        if let Some(hybrid) = &analysis.hybrid {
            self.hybrid = hybrid.table();
        }
        if !analysis.exchanges.operations.is_empty() {
            self.exchanges = analysis.exchanges.devices_table(activities);
        }
    }

    /// Adds the answers to what-if questions.
    pub(super) fn with_answers(mut self, answers: Answers) -> Self {
        if !answers.is_empty() {
            self.what_if = answers.table();
            self.replay_error = answers.replay_error();
        }
        self
    }

    /// Writes the results as text.
    ///
    /// # Errors
    /// Returns [`Failure::Output`](crate::failure::Failure::Output) if `out` cannot be written.
    pub(super) fn text(&self, out: &mut dyn Write) -> Outcome {
        for warning in &self.warnings {
            writeln!(out, "warning: {warning}")?;
        }
        if let Some(words) = &self.clocks_corrected {
            writeln!(
                out,
                "clocks: they disagree, and are corrected {words} (--clocks keep: as recorded)"
            )?;
        }
        if let Some(reason) = &self.nothing {
            writeln!(out, "  {reason}")?;
            return Ok(());
        }
        let runtime = self.runtime.unwrap_or_default();
        match (self.processes, self.messages, self.collectives) {
            (Some(processes), Some(messages), Some(collectives)) => writeln!(
                out,
                "  {}{} in {runtime}",
                self.locations_in_words(processes),
                self.operations_in_words(messages, collectives),
            )?,
            _ => writeln!(
                out,
                "  a training job with {} in {}, replayed in {runtime}",
                counted(self.operations, "operation"),
                counted(self.steps.rows(), "step"),
            )?,
        }
        self.statements(out)?;
        if self.what_if.rows() > 0 {
            writeln!(out, "\nrun time with other durations")?;
            table::print(out, &self.what_if, MAX_NAME)?;
            if self.replay_error >= MIN_REPLAY_ERROR {
                let percent = 100.0 * self.replay_error;
                writeln!(
                    out,
                    "  the replay of the recorded durations misses the recorded run time by {percent:.1} %"
                )?;
            }
        }
        for (heading, table) in [
            (
                "wait states, summed over all locations; parts and completion times are no waiting time",
                &self.wait_states,
            ),
            (
                "root causes: delays by the waiting that they cause, directly and through other waits",
                &self.root_causes,
            ),
            (
                "critical path: balancing a call path saves its imbalance at most",
                &self.critical_path,
            ),
            ("efficiencies of the POP methodology", &self.efficiencies),
            ("efficiencies of threads and accelerators", &self.hybrid),
            ("collective operations of accelerators", &self.exchanges),
            (
                "parts of the training job, as recorded while all others are ideal",
                &self.parts,
            ),
            ("steps of the training job", &self.steps),
        ] {
            if table.rows() > 0 {
                writeln!(out, "\n{heading}")?;
                table::print(out, table, MAX_NAME)?;
            }
        }
        Ok(())
    }

    /// Counts ranks or threads, and the accelerator streams next to them.
    fn locations_in_words(&self, processes: usize) -> String {
        let streams = counted(self.streams, "accelerator stream");
        match (processes, self.streams) {
            (0, _) => streams,
            (_, 0) => counted(processes, self.noun),
            _ => format!("{} and {streams}", counted(processes, self.noun)),
        }
    }

    /// Counts messages, collectives and barriers of teams. Recordings without MPI need not have any.
    fn operations_in_words(&self, messages: usize, collectives: usize) -> String {
        let others = collectives.saturating_sub(self.team_barriers);
        let is_mpi = self.noun == "rank";
        let counts = [
            (messages, "message", is_mpi),
            (others, "collective", is_mpi),
            (self.team_barriers, "team barrier", false),
        ];
        let counts = counts.into_iter().filter(|it| it.0 > 0 || it.2);
        let counts: Vec<String> = counts.map(|it| counted(it.0, it.1)).collect();
        match &counts[..] {
            [] => String::new(),
            [one] => format!(" with {one}"),
            [first @ .., last] => format!(" with {} and {last}", first.join(", ")),
        }
    }

    fn statements(&self, out: &mut dyn Write) -> Outcome {
        if self.findings.is_empty() {
            writeln!(
                out,
                "\nfindings: nothing that would save 1 % of the run time or more"
            )?;
            if let Some(start_up) = &self.start_up {
                writeln!(out, "  {start_up}")?;
            }
            return Ok(());
        }
        writeln!(out, "\nfindings, by the run time that a fix would save")?;
        for (at, finding) in self.findings.iter().enumerate() {
            writeln!(out, "\n{}. {}", grouped(at as u64 + 1), finding.sentence)?;
            if !finding.evidence.is_empty() {
                writeln!(out, "   evidence: {}", finding.evidence)?;
            }
            if let Some((from, to)) = finding.window {
                writeln!(out, "   window:   {from} to {to}")?;
            }
            writeln!(out, "   next:     {}", finding.command)?;
        }
        Ok(())
    }
}

/// Returns sentences about clocks that disagree. If there are many violations, the last sentence states the consequence
/// and the remedy.
pub(super) fn warnings(
    recording: &Recording,
    violations: &ClockViolations,
    command: &Command,
) -> Vec<String> {
    let mut sentences = clocks::of(violations, &recording.trace);
    if clocks::are_many(violations) {
        let remedy = command.of("wait", &["--clocks", "correct"]);
        sentences.push(format!(
            "wait states, findings and efficiencies compare times of different ranks, and are wrong here; correct the clocks: {remedy}"
        ));
    }
    sentences
}
