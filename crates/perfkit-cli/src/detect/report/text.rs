//! Output of `detect` as text: ranks, functions, changes and the worst calls.

use super::places::{more, with_waiting};
use super::{Detected, changes, recurring_alarms};
use crate::failure::Outcome;
use crate::findings;
use crate::table::{self, counted, grouped, shortened};
use perfkit::anomaly::Loss;
use perfkit::anomaly::provenance::{CallRecord, Reduction};
use perfkit::anomaly::server::{RankSummary, Ranking};
use perfkit::core::{Column, Nanos, Table};
use std::collections::BTreeSet;
use std::io::Write;

/// Largest number of files after the first one that are listed.
const MOST_FILES: usize = 15;

impl Detected {
    /// Writes the results as text.
    ///
    /// # Errors
    /// Returns the write errors of `out`.
    pub(crate) fn text(&self, out: &mut dyn Write) -> Outcome {
        self.lasting(out)?;
        let total = self.report.losses.total();
        let health = self.report.calls.health();
        let losses = self.report.losses.worst_functions().into_iter();
        let functions: BTreeSet<_> = losses
            .map(|(id, _)| self.report.calls.function_region(id))
            .collect();
        let files: Vec<_> = self
            .shown
            .files
            .iter()
            .map(|one| one.display().to_string())
            .collect();
        match files.as_slice() {
            [first, rest @ ..] if rest.len() > MOST_FILES => {
                writeln!(out, "{first} and {}", counted(rest.len(), "further file"))?
            }
            all => writeln!(out, "{}", all.join(" "))?,
        }
        writeln!(
            out,
            "  {} events, {} calls of {} on {} in {}{}, judged by {}",
            grouped(health.events()),
            grouped(total.calls),
            counted(functions.len(), "function"),
            counted(self.ranks.len(), "rank"),
            counted(self.report.steps as usize, "step"),
            self.step_length
                .map_or(String::new(), |length| format!(" of {length}")),
            self.shown.method
        )?;
        if let Some(steps) = &self.step_sentence {
            writeln!(out, "  {steps}")?;
        }
        if let Some(stages) = self.stages {
            writeln!(
                out,
                "  each pipeline stage is a rank: stage s of process p is rank {stages} p + s"
            )?;
        }
        writeln!(
            out,
            "  {} too slow{}, by {} in all; {} too fast; not enough data on {} calls{}",
            grouped(total.too_slow),
            self.of_slow_calls(),
            total.in_slow_calls(),
            grouped(total.too_fast),
            grouped(total.not_enough_data),
            match self.report.unjudged.time() {
                Nanos(0) => String::new(),
                time => format!(" ({time})"),
            }
        )?;
        self.not_judged_time(out)?;
        self.by_rank(out)?;
        self.functions(out)?;
        self.counters(out)?;
        self.recurring(out)?;
        self.places(out)?;
        self.changes(out)?;
        if let Some(compared) = &self.compared {
            compared.text(out, self.shown.top)?;
        }
        self.calls(out)?;
        self.long_calls(out)?;
        self.not_judged(out)?;
        self.rest(out)
    }

    /// Returns how many of the slow calls are of a special kind, in parentheses.
    fn of_slow_calls(&self) -> String {
        let total = self.report.losses.total();
        let kinds = [
            (total.beyond_experience, "beyond experience"),
            (
                self.report.found_at_end() as u64,
                "found at the end of the run",
            ),
        ];
        let kinds = kinds.iter().filter(|(count, _)| *count > 0);
        let kinds = kinds.map(|(count, kind)| format!("{} of them {kind}", grouped(*count)));
        match kinds.collect::<Vec<_>>().as_slice() {
            [] => String::new(),
            all => format!(" ({})", all.join(", ")),
        }
    }

    /// Writes a table of the ranks, if a rank has anomalies or lost time.
    fn by_rank(&self, out: &mut dyn Write) -> Outcome {
        let mut times = self.lost_by_rank.iter().chain(&self.waiting_by_rank);
        let is_spared = times.all(|time| time.0 == 0);
        if is_spared && self.ranks.iter().all(|rank| rank.loss.anomalies() == 0) {
            return Ok(());
        }
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
            .text("rank", names)
            .unsigned("calls", "", ranks().map(|rank| rank.loss.calls))
            .unsigned("anomalies", "", ranks().map(|rank| rank.loss.anomalies()))
            .with(number("mean by step", |rank| Some(rank.anomalies.mean())))
            .with(number("deviation", |rank| Some(rank.anomalies.std_dev())))
            .with(whole("least", |rank| rank.anomalies.min()))
            .with(whole("most", |rank| rank.anomalies.max()))
            .times(
                "in slow calls",
                ranks().map(|rank| rank.loss.in_slow_calls()),
            );
        let table = with_waiting(
            table,
            "waiting",
            self.waiting_by_rank.iter().copied().take(self.shown.top),
        )
        .times(
            "time lost",
            self.lost_by_rank.iter().copied().take(self.shown.top),
        );
        table::print(out, &table, 60)?;
        more(out, self.ranks.len(), self.shown.top, "rank")
    }

    /// Appends the program to a description if there are several programs.
    pub(super) fn of_program(&self, program: u32, what: String) -> String {
        if self.many {
            format!("{what} of program {program}")
        } else {
            what
        }
    }

    /// Writes a table of the functions that have anomalies, new modes or slow phases.
    fn functions(&self, out: &mut dyn Write) -> Outcome {
        let times = self.lost_by_function.iter().copied();
        let times = times.zip(self.waiting_by_function.iter().copied());
        let all = self.functions.iter().zip(times);
        let mut rows: Vec<_> = all
            .filter(|((.., loss), (lost, waiting))| {
                loss.anomalies() > 0 || lost.0 > 0 || waiting.0 > 0
            })
            .collect();
        rows.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
        let all = rows.len();
        rows.truncate(self.shown.top);
        if rows.is_empty() {
            return Ok(());
        }
        writeln!(out, "\nfunctions, by time lost")?;
        let names = rows
            .iter()
            .map(|((program, name, _), _)| self.of_program(*program, shortened(name, 48)));
        let count = |name, of: fn(&Loss) -> u64| {
            Column::unsigned(name, "", rows.iter().map(|((.., loss), _)| of(loss)))
        };
        let in_calls = rows.iter().map(|((.., loss), _)| loss.in_slow_calls());
        let waiting = rows.iter().map(|(_, (_, waiting))| *waiting);
        let times = rows.iter().map(|(_, (lost, _))| *lost);
        let table = Table::new("functions", "Anomalies of each function.")
            .text("function", names)
            .with(count("calls", |loss| loss.calls))
            .with(count("too slow", |loss| loss.too_slow))
            .with(count("too fast", |loss| loss.too_fast))
            .with(count("not enough data", |loss| loss.not_enough_data))
            .times("in slow calls", in_calls);
        let table = with_waiting(table, "waiting", waiting).times("time lost", times);
        table::print(out, &table, 80)?;
        more(out, all, self.shown.top, "function")
    }

    /// Writes the functions whose slow calls recur.
    fn recurring(&self, out: &mut dyn Write) -> Outcome {
        let sentences =
            recurring_alarms::sentences(&self.report, &self.shown.thresholds, self.shown.top);
        if let [heading, functions @ ..] = &sentences[..] {
            writeln!(out, "\n{heading}")?;
            for function in functions {
                writeln!(out, "  {function}")?;
            }
        }
        Ok(())
    }

    /// Writes the functions that became slower or faster.
    fn changes(&self, out: &mut dyn Write) -> Outcome {
        let changes = changes(&self.report);
        if changes.is_empty() {
            return Ok(());
        }
        writeln!(out, "\nchanges")?;
        for change in changes.iter().take(self.shown.top) {
            writeln!(out, "  {change}")?;
        }
        more(out, changes.len(), self.shown.top, "change")
    }

    /// Writes the worst calls with their stacks.
    fn calls(&self, out: &mut dyn Write) -> Outcome {
        if !self.worst.is_empty() {
            writeln!(out, "\nworst calls")?;
        }
        for (at, record) in self.worst.iter().enumerate() {
            let messages = record.messages.iter();
            let bytes = messages.fold(0_u64, |sum, one| sum.saturating_add(one.bytes));
            let least = match record.left_out.messages {
                0 => "",
                _ => "at least ",
            };
            let name = record.sized_function();
            let sizes = match bytes {
                some if some > 0 && name == record.call.function => format!(
                    " from calls with messages of all sizes (this one: {least}{} bytes)",
                    grouped(some)
                ),
                _ => String::new(),
            };
            let expected = match record.expected {
                Some(one) => format!("{one}{sizes}"),
                None => "nothing".into(),
            };
            let waits = if record.waits {
                ", waiting for others"
            } else {
                ""
            };
            let host = record
                .host
                .as_deref()
                .map_or(String::new(), |host| format!(" on {host}"));
            writeln!(
                out,
                "  {}. rank {}, thread {}{host}, step {}, from {}: {} took {}, {}{waits}; expected {expected}, score {:.1}",
                at + 1,
                self.of_program(record.program, record.rank.to_string()),
                record.thread,
                record.step,
                record.call.entry,
                shortened(name, 60),
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
                let count = counted(record.messages.len(), "message");
                writeln!(out, "     {count} of {least}{} bytes", grouped(bytes))?;
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
                counted(recorded as usize, "anomaly"),
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
                counted(pruned.recorded as usize, "anomaly"),
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
            writeln!(out, "dropped: {}", left_out.join(", "))?;
        }
        let faults: Vec<_> = self
            .report
            .calls
            .health()
            .faults()
            .map(|(name, count)| format!("{} {name}", grouped(count)))
            .collect();
        if !faults.is_empty() {
            writeln!(out, "repaired: {}", faults.join(", "))?;
        }
        for found in findings::found(&self.diagnostics) {
            let (count, what) = (grouped(found.count), found.what);
            let first = match found.first.as_str() {
                "" => String::new(),
                place => format!(" (first: {place})"),
            };
            writeln!(out, "reader: {count} x {what}{first}")?;
        }
        Ok(())
    }
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
