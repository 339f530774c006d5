//! Results of `detect`: ranks, functions and the worst calls, as text and as JSON.

mod comparison;
mod not_judged;
mod places;
mod records;

use crate::failure::{Failure, Outcome, input};
use crate::findings::{self, Found};
use crate::table::{self, counted, grouped, shortened};
use comparison::Compared;
use perfkit::anomaly::calls::Calls;
use perfkit::anomaly::provenance::{
    CallRecord, Kind, Order, Pruned, Query, Record, Reduction, Store,
};
use perfkit::anomaly::server::{RankSummary, Ranking};
use perfkit::anomaly::{Change, Error, Loss, Monitor, Report};
use perfkit::core::{Column, Diagnostics, Job, Nanos, Table, Weight};
use perfkit::view::anomaly::Anomalies;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Options of the output.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    /// Files of the source.
    pub(crate) files: Vec<PathBuf>,
    /// Name of the detection method.
    pub(crate) method: &'static str,
    /// Order of the ranks.
    pub(crate) ranking: Ranking,
    /// Store of the records, if there is one.
    pub(crate) provenance: Option<PathBuf>,
    /// `true` if records are judged again by the final model.
    pub(crate) prune: bool,
    /// Number of ranks, functions and calls to list.
    pub(crate) top: usize,
    /// `true` if a picture or page is written.
    pub(crate) draws: bool,
}

/// Results of a run of the detection.
#[derive(Debug)]
pub(crate) struct Detected {
    /// Options of the output.
    shown: Shown,
    /// Calls, losses and changes of the monitor.
    report: Report,
    /// Summaries of the ranks, in the chosen order.
    ranks: Vec<RankSummary>,
    /// Program, name and losses of each function.
    functions: Vec<(u32, String, Loss)>,
    /// `true` if there are several programs.
    many: bool,
    /// Worst calls.
    worst: Vec<Record>,
    /// Numbers of recorded and dropped calls, and their sizes.
    reduction: Reduction,
    /// Result of judging the records again; `None` without `prune`.
    pruned: Option<Pruned>,
    /// Store of the records.
    store: Box<dyn Store>,
    /// Comparison with another run, if there is one.
    compared: Option<Compared>,
    /// Repairs and losses of the reader.
    diagnostics: Diagnostics,
    /// First store error, if any.
    failed: Option<Error>,
    /// Anomalies for drawing, if a picture or page is written.
    drawn: Option<Anomalies>,
}

/// Describes a function that became slower or faster.
pub(crate) fn changed(calls: &Calls, change: &Change) -> String {
    let how = if change.is_slower() {
        "slowed"
    } else {
        "sped up"
    };
    let name = calls.function_name(change.function);
    let (name, from, to) = (shortened(&name, 60), change.from, change.to);
    format!("{name} {how} from {from} to {to} at step {}", change.step)
}

impl Detected {
    /// Ends the stream, reads the worst anomalies from the store, and judges them again if `prune`
    /// is set.
    ///
    /// # Errors
    /// Returns [`Failure::Input`] if the store cannot be written.
    pub(crate) fn new(
        shown: Shown,
        monitor: Monitor,
        diagnostics: Diagnostics,
    ) -> Result<Self, Failure> {
        let (mut report, failed) = match monitor.finish() {
            Ok(report) => (report, None),
            Err(unfinished) => match unfinished.report {
                Some(report) => (*report, Some(unfinished.error)),
                None => return Err(input(unfinished.error)),
            },
        };
        let pruned = if shown.prune && failed.is_none() {
            report.prune(&Job::default()).map_err(input)?
        } else {
            None
        };
        let drawn = if shown.draws && failed.is_none() {
            Some(Anomalies::of(&mut report).map_err(crate::pictures::failed)?)
        } else {
            None
        };
        let Some((mut store, reduction)) = report.store.take() else {
            return Err(Failure::Input("nothing was recorded".into()));
        };
        let query = Query {
            kind: Some(Kind::Anomaly),
            order: Order::Severity,
            limit: Some(shown.top),
            ..Query::default()
        };
        let (worst, failed) = match store.query(&query) {
            Ok(worst) => (worst, failed),
            Err(error) => (Vec::new(), failed.or(Some(error))),
        };
        let functions = report.losses.worst_functions().into_iter();
        let row = |(id, loss)| {
            let program = report.calls.function_program(id).unwrap_or_default();
            (program, report.calls.function_name(id), loss)
        };
        let functions: Vec<_> = functions.map(row).collect();
        let streams = report.calls.streams().iter();
        let programs = streams.filter_map(|id| Some(report.calls.stream_key(*id)?.program));
        let programs: std::collections::BTreeSet<u32> = programs.collect();
        Ok(Detected {
            ranks: report.ranks.ranked(shown.ranking),
            functions,
            many: programs.len() > 1,
            worst,
            reduction,
            pruned,
            store,
            compared: None,
            diagnostics,
            failed,
            drawn,
            report,
            shown,
        })
    }

    /// Returns the anomalies for drawing; `None` if no picture is written or the store failed.
    pub(crate) fn drawn(&self) -> Option<&Anomalies> {
        self.drawn.as_ref()
    }

    /// Returns the number of steps.
    pub(crate) fn step_count(&self) -> u64 {
        self.report.steps
    }

    /// Returns the worst calls, the worst first.
    pub(crate) fn worst(&self) -> &[Record] {
        &self.worst
    }

    /// Returns the functions with their losses, by falling time lost.
    pub(crate) fn functions_lost(&self) -> Vec<(&str, &Loss)> {
        let functions = self.functions.iter();
        functions
            .map(|(_, name, loss)| (name.as_str(), loss))
            .collect()
    }

    /// Returns the functions that became slower or faster for good.
    pub(crate) fn changed_functions(&self) -> Vec<(String, Change)> {
        let drift = self.report.drift.as_ref();
        let changes = drift.map_or(&[][..], |drift| drift.changes()).iter();
        let calls = &self.report.calls;
        changes
            .map(|change| (calls.function_name(change.function), *change))
            .collect()
    }

    /// Compares the records with those of another run.
    ///
    /// # Errors
    /// Returns [`Failure::Input`] if a store cannot be read.
    pub(crate) fn compare(&mut self, with: &Path, other: &mut dyn Store) -> Outcome {
        self.compared = Some(Compared::new(with, other, &mut *self.store)?);
        Ok(())
    }

    /// Returns the first store error, if any.
    ///
    /// # Errors
    /// Returns [`Failure::Input`] with the first store error.
    pub(crate) fn outcome(self) -> Outcome {
        self.failed.map_or(Ok(()), |error| Err(input(error)))
    }

    /// Returns the numbers of dropped events and records, by name: events that were lost before
    /// they became calls, and anomalies and changes without a record.
    fn left_out(&self) -> [(&'static str, u64); 8] {
        let health = self.report.calls.health();
        let lost = self.diagnostics.iter();
        let lost = lost.filter(|(rule, _)| rule.weight == Weight::Loss);
        let drift = self.report.drift.as_ref();
        let reduction = &self.reduction;
        [
            ("reader", lost.map(|(_, found)| found.count).sum()),
            ("events", self.report.left_out + health.ignored()),
            ("filtered", reduction.filtered),
            ("not_among_worst", reduction.not_among_worst),
            ("over_budget", reduction.over_budget),
            ("records_lost", reduction.lost),
            ("changes", drift.map_or(0, |drift| drift.left_out())),
            (
                "compared",
                self.compared.as_ref().map_or(0, |one| one.unreadable),
            ),
        ]
    }

    /// Writes the results as text.
    ///
    /// # Errors
    /// Returns the write errors of `out`.
    pub(crate) fn text(&self, out: &mut dyn Write) -> Outcome {
        let total = self.report.losses.total();
        let health = self.report.calls.health();
        let files: Vec<_> = self
            .shown
            .files
            .iter()
            .map(|one| one.display().to_string())
            .collect();
        writeln!(out, "{}", files.join(" "))?;
        writeln!(
            out,
            "  {} events, {} calls of {} on {} in {}, judged by {}",
            grouped(health.events()),
            grouped(total.calls),
            counted(self.functions.len(), "function"),
            counted(self.ranks.len(), "rank"),
            counted(self.report.steps as usize, "step"),
            self.shown.method
        )?;
        writeln!(
            out,
            "  {} too slow{}, {} lost; {} too fast; not enough data on {} calls",
            grouped(total.too_slow),
            match total.beyond_experience {
                0 => String::new(),
                beyond => format!(" ({} of them beyond experience)", grouped(beyond)),
            },
            total.time,
            grouped(total.too_fast),
            grouped(total.not_enough_data)
        )?;
        writeln!(out, "\nranks, by {}", ranking_name(self.shown.ranking))?;
        let ranks = || self.ranks.iter().take(self.shown.top);
        let names = ranks().map(|rank| self.of_program(rank.program, rank.rank.to_string()));
        let number =
            |name, of: fn(&RankSummary) -> Option<f64>| Column::floats(name, "", ranks().map(of));
        // Columns of counts, although the statistics are floating-point numbers.
        let whole = |name, of: fn(&RankSummary) -> Option<f64>| {
            Column::unsigned(
                name,
                "",
                ranks().map(|rank| of(rank).map(|count| count as u64)),
            )
        };
        let table = Table::new("ranks", "Anomalies of each rank, in all and in a step.")
            .with(Column::text("rank", names))
            .with(Column::unsigned(
                "calls",
                "",
                ranks().map(|rank| rank.loss.calls),
            ))
            .with(Column::unsigned(
                "anomalies",
                "",
                ranks().map(|rank| rank.loss.anomalies()),
            ))
            .with(number("mean by step", |rank| Some(rank.anomalies.mean())))
            .with(number("deviation", |rank| Some(rank.anomalies.std_dev())))
            .with(whole("least", |rank| rank.anomalies.min()))
            .with(whole("most", |rank| rank.anomalies.max()))
            .with(Column::times(
                "time lost",
                ranks().map(|rank| rank.loss.time),
            ));
        table::print(out, &table, 60)?;
        self.functions(out)?;
        self.places(out)?;
        self.changes(out)?;
        if let Some(compared) = &self.compared {
            compared.text(out, self.shown.top)?;
        }
        self.calls(out)?;
        self.not_judged(out)?;
        self.rest(out)
    }

    /// Appends the program to a description if there are several programs.
    fn of_program(&self, program: u32, what: String) -> String {
        if self.many {
            format!("{what} of program {program}")
        } else {
            what
        }
    }

    /// Writes a table of the functions that have anomalies.
    fn functions(&self, out: &mut dyn Write) -> Outcome {
        let abnormal = self
            .functions
            .iter()
            .filter(|(.., loss)| loss.anomalies() > 0);
        let rows: Vec<_> = abnormal.take(self.shown.top).collect();
        if rows.is_empty() {
            return Ok(());
        }
        writeln!(out, "\nfunctions, by time lost")?;
        let names = rows.iter();
        let names = names.map(|(program, name, _)| self.of_program(*program, shortened(name, 48)));
        let count = |name, of: fn(&Loss) -> u64| {
            Column::unsigned(name, "", rows.iter().map(|(.., loss)| of(loss)))
        };
        let times = rows.iter().map(|(.., loss)| loss.time);
        let table = Table::new("functions", "Anomalies of each function.")
            .with(Column::text("function", names))
            .with(count("calls", |loss| loss.calls))
            .with(count("too slow", |loss| loss.too_slow))
            .with(count("too fast", |loss| loss.too_fast))
            .with(count("not enough data", |loss| loss.not_enough_data))
            .with(Column::times("time lost", times));
        Ok(table::print(out, &table, 80)?)
    }

    /// Writes the functions that became slower or faster.
    fn changes(&self, out: &mut dyn Write) -> Outcome {
        let drift = self.report.drift.as_ref();
        let changes = drift.map_or(&[][..], |drift| drift.changes());
        if changes.is_empty() {
            return Ok(());
        }
        writeln!(out, "\nchanges")?;
        for change in changes.iter().take(self.shown.top) {
            writeln!(out, "  {}", changed(&self.report.calls, change))?;
        }
        let more = changes.len().saturating_sub(self.shown.top);
        if more > 0 {
            writeln!(out, "  and {more} more")?;
        }
        Ok(())
    }

    /// Writes the worst calls with their stacks.
    fn calls(&self, out: &mut dyn Write) -> Outcome {
        if !self.worst.is_empty() {
            writeln!(out, "\nworst calls")?;
        }
        for (at, record) in self.worst.iter().enumerate() {
            let expected = record
                .expected
                .map_or("nothing".into(), |one| one.to_string());
            let host = record
                .host
                .as_deref()
                .map_or(String::new(), |host| format!(" on {host}"));
            writeln!(
                out,
                "  {}. rank {}, thread {}{host}, step {}, from {}: {} took {}, {}; expected {expected}, score {:.1}",
                at + 1,
                self.of_program(record.program, record.rank.to_string()),
                record.thread,
                record.step,
                record.call.entry,
                shortened(&record.call.function, 60),
                record.runtime,
                record.label,
                record.score
            )?;
            for (depth, call) in record.stack.iter().chain([&record.call]).enumerate() {
                let name = shortened(&call.function, 70);
                writeln!(out, "     {}{name}", "  ".repeat(depth.min(20)))?;
            }
            if let Some(launch) = &record.launch {
                let names = launch.path.iter().map(|name| shortened(name, 70));
                let path = names.collect::<Vec<_>>().join(" > ");
                let thread = launch.thread;
                writeln!(
                    out,
                    "     launched at {} on thread {thread} by {path}",
                    launch.entry
                )?;
            }
            for (what, calls) in [("before", &record.before), ("after", &record.after)] {
                if !calls.is_empty() {
                    writeln!(out, "     {what}: {}", neighbours(calls))?;
                }
            }
            if !record.messages.is_empty() {
                let count = record.messages.len();
                let bytes: u64 = record.messages.iter().map(|one| one.bytes).sum();
                let count = counted(count, "message");
                writeln!(out, "     {count} of {} bytes", grouped(bytes))?;
            }
        }
        Ok(())
    }

    fn rest(&self, out: &mut dyn Write) -> Outcome {
        writeln!(out)?;
        if let Some(path) = &self.shown.provenance {
            let Reduction {
                raw_bytes,
                kept_bytes,
                recorded,
                normals,
                lost,
                ..
            } = self.reduction;
            let is_whole = self.failed.is_none() && lost == 0;
            let ratio = match self.reduction.factor() {
                Some(factor) => format!(", 1 in {factor:.0}"),
                None => String::new(),
            };
            writeln!(
                out,
                "{} {}: {}, {}; {} bytes of {} of events{ratio}",
                if is_whole {
                    "written to"
                } else {
                    "only partly written to"
                },
                path.display(),
                counted(recorded as usize, "anomaly").replace("anomalys", "anomalies"),
                counted(normals as usize, "normal execution"),
                grouped(kept_bytes),
                grouped(raw_bytes),
            )?;
            if !is_whole {
                let error = self.failed.as_ref();
                let why = error.map_or(String::new(), |error| format!(": {error}"));
                writeln!(out, "  {} lost{why}", counted(lost as usize, "record"))?;
            }
        }
        if let Some(pruned) = self.pruned {
            writeln!(
                out,
                "judged again at the end: {} stay, {} are normal after all",
                grouped(pruned.kept),
                grouped(pruned.normal_after_all)
            )?;
        }
        let left_out: Vec<_> = self
            .left_out()
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(name, count)| format!("{} {}", grouped(count), name.replace('_', " ")))
            .collect();
        if !left_out.is_empty() {
            writeln!(out, "left out: {}", left_out.join(", "))?;
        }
        let faults: Vec<_> = self
            .report
            .calls
            .health()
            .faults()
            .map(|(name, count)| format!("{} {name}", grouped(count)))
            .collect();
        if !faults.is_empty() {
            writeln!(out, "mended: {}", faults.join(", "))?;
        }
        for (rule, finding) in self.diagnostics.iter() {
            let (count, what) = (grouped(finding.count), rule.what);
            writeln!(out, "reader: {count} x {what}")?;
        }
        Ok(())
    }

    /// Returns all results for `--json`.
    pub(crate) fn json(&self) -> impl Serialize {
        let calls = &self.report.calls;
        let total = self.report.losses.total();
        let abnormal = |table: Table| {
            let is_abnormal = |row: &usize| {
                let anomalies = table.cell(*row, "anomalies");
                anomalies.and_then(|cell| cell.number()) > Some(0.0)
            };
            table.pick(&(0..table.rows()).filter(is_abnormal).collect::<Vec<_>>())
        };
        let [by_function, paths, _, steps] = self.report.losses.tables(calls);
        let drift = self.report.drift.as_ref();
        Document {
            method: self.shown.method,
            events: calls.health().events(),
            calls: total.calls,
            steps: self.report.steps,
            anomalies: total.anomalies(),
            too_slow: total.too_slow,
            beyond_experience: total.beyond_experience,
            too_fast: total.too_fast,
            not_enough_data: total.not_enough_data,
            time_lost_ns: total.time,
            by_function,
            by_rank: RankSummary::table(&self.ranks),
            by_path: abnormal(paths).head(MAX_PATHS),
            by_step: abnormal(steps),
            worst: &self.worst,
            not_judged: self.not_judged_table(),
            changes: Change::table(drift.map_or(&[], |drift| drift.changes()), calls),
            compared: self.compared.as_ref().map(Compared::json),
            left_out: self.left_out().into_iter().collect(),
            health: calls.health().counts().collect(),
            findings: findings::found(&self.diagnostics),
            raw_bytes: self.reduction.raw_bytes,
            kept_bytes: self.reduction.kept_bytes,
            recorded: self.reduction.recorded,
            pruned: self.pruned.map(|pruned| pruned.normal_after_all),
            error: self.failed.as_ref().map(ToString::to_string),
        }
    }
}

/// Largest number of call paths in JSON.
const MAX_PATHS: usize = 100;

/// Result of `--json`.
#[derive(Serialize)]
struct Document<'a, C> {
    /// Name of the detection method.
    method: &'static str,
    /// Number of events.
    events: u64,
    /// Number of calls.
    calls: u64,
    /// Number of steps.
    steps: u64,
    /// Number of anomalies.
    anomalies: u64,
    /// Number of calls that are too slow.
    too_slow: u64,
    /// Number of anomalies beyond all calls that the model has seen.
    beyond_experience: u64,
    /// Number of calls that are too fast.
    too_fast: u64,
    /// Number of calls that were not judged because the model had not enough data.
    not_enough_data: u64,
    /// Time lost in abnormal calls.
    time_lost_ns: Nanos,
    /// Losses by function.
    by_function: Table,
    /// Anomalies by rank.
    by_rank: Table,
    /// Losses by call path.
    by_path: Table,
    /// Losses by step.
    by_step: Table,
    /// Worst calls.
    worst: &'a [Record],
    /// Longest calls that were not judged.
    not_judged: Table,
    /// Functions that became slower or faster.
    changes: Table,
    /// Comparison with another run, if there is one.
    compared: Option<C>,
    /// Numbers of dropped events and records, by reason.
    left_out: BTreeMap<&'static str, u64>,
    /// Numbers of repaired and ignored events, by kind.
    health: BTreeMap<&'static str, u64>,
    /// Repairs and losses of the reader.
    findings: Vec<Found>,
    /// Size of all events in bytes.
    raw_bytes: u64,
    /// Size of the kept text in bytes.
    kept_bytes: u64,
    /// Number of kept anomalies.
    recorded: u64,
    /// Number of records removed by the final model; `None` without `prune`.
    pruned: Option<u64>,
    /// First store error, if any.
    error: Option<String>,
}

fn ranking_name(ranking: Ranking) -> &'static str {
    match ranking {
        Ranking::Mean => "anomalies a step",
        Ranking::Deviation => "deviation of their anomalies a step",
        Ranking::Minimum => "least anomalies in a step",
        Ranking::Maximum => "most anomalies in a step",
        Ranking::TimeLost => "time lost",
        _ => "anomalies",
    }
}

/// Returns the names of calls, with `x 3` for three consecutive calls of one function.
fn neighbours(calls: &[CallRecord]) -> String {
    let runs = calls.chunk_by(|one, other| one.function == other.function);
    let runs = runs.filter_map(|run| {
        let name = shortened(&run.first()?.function, 40);
        Some(match run.len() {
            1 => name,
            count => format!("{name} x {count}"),
        })
    });
    runs.collect::<Vec<_>>().join(", ")
}
