//! Subcommand `bursts`: CPU bursts of a recording, their durations and metrics, and the bursts that filters drop.

use crate::clocks::ClocksBy;
use crate::failure::{Failure, Outcome, input};
use crate::findings::{self, Found};
use crate::options::{General, TRACE, Window, time};
use crate::output;
use crate::phases::dropped_bursts::{self, share};
use crate::phases::experiments::{self, usual};
use crate::pictures::{self, Files};
use crate::progress::Bar;
use crate::recording;
use crate::table::{self, counted, grouped};
use clap::Args;
use perfkit::core::{Diagnostics, Job, Nanos, Table};
use perfkit::track::{
    Amount, Burst, Bursts, ClusterId, Delimiter, Dimension, Dropped, Extract, Scale,
};
use perfkit::view::number;
use perfkit::view::track::{Clusters, Picture, View};
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;

/// Lists the CPU bursts of a recording, one line for each thread, and the bursts that filters drop
#[derive(Args, Clone, Debug)]
pub struct Options {
    #[doc = "Recording with events"]
    #[arg(value_name = "TRACE", long_help = format!("Recording with events: {TRACE}"))]
    file: PathBuf,
    /// Metrics that each burst must have, separated by commas: counters, ipc, instructions, cycles, duration, or
    /// formulas such as `TLB = misses / instructions` [default: ipc,instructions where the recording has them, else
    /// duration and its first counter]
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    metrics: Vec<String>,
    /// Take each call of a matching region as a burst [default: running states where they are recorded, else the
    /// time between calls of communication]
    #[arg(long, value_name = "GLOB")]
    calls: Option<String>,
    /// Drop bursts shorter than this time: 20us, 1ms
    #[arg(long, value_name = "T", value_parser = time, default_value = "0s")]
    min_duration: Nanos,
    #[command(flatten)]
    window: Window,
    #[command(flatten)]
    clocks: ClocksBy,
    /// Write all bursts as a table
    #[arg(long, value_name = "OUT", help_heading = "Output files")]
    csv: Option<PathBuf>,
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    general: General,
}

/// Reads a recording and prints its bursts.
///
/// # Errors
/// Returns [`Failure::Usage`] if the options do not apply to the recording, and [`Failure::Input`]
/// if the recording cannot be read.
pub fn run(options: &Options, out: &mut dyn Write) -> Outcome {
    options.general.apply()?;
    let (file, files) = (&options.file, &options.files);
    let mut params = Extract::params().min_duration(options.min_duration);
    if let Some(pattern) = &options.calls {
        params = params.delimiter(Delimiter::Calls(vec![pattern.clone()]));
    }
    let metrics = options.metrics.iter().map(|name| name.trim().to_owned());
    let mut metrics: Vec<String> = metrics.collect();
    let recording::Recording {
        trace, diagnostics, ..
    } = recording::open_by(file, options.clocks.clocks)?;
    let explain = findings::explain(&diagnostics);
    if metrics.is_empty() {
        metrics = usual(&trace).map_err(&explain)?;
    }
    for metric in metrics {
        params = params.metric(metric);
    }
    let usage = |error: perfkit::track::Error| Failure::Usage(error.to_string());
    let extract = params.check().map_err(usage)?;
    let view = trace.view().between(options.window.of(&trace)?);
    let found = extract.extract(view, &Bar::job());
    let found = found.map_err(|error| experiments::failed(error, &experiments::name(file), &trace));
    let (bursts, dropped) = found.map_err(explain)?;
    dropped_bursts::print(&experiments::name(file), &dropped, &diagnostics);
    let report = Report {
        bursts: &bursts,
        dropped: &dropped,
        diagnostics: &diagnostics,
    };
    output::csv(options.csv.as_ref(), || Ok(report.table()))?;
    if !files.is_empty() {
        report.draw(&experiments::name(file), files)?;
    }
    if options.general.json {
        return output::json(out, &report.json());
    }
    writeln!(out, "{}", file.display())?;
    report.text(out)
}

/// Bursts of a recording and the counts to print.
struct Report<'a> {
    /// Complete bursts with their metrics.
    bursts: &'a Bursts,
    /// Bursts that filters drop, by reason.
    dropped: &'a Dropped,
    /// Repairs and losses of the reader.
    diagnostics: &'a Diagnostics,
}

/// Returns the minimum, the three quartiles and the maximum of the finite values; `None` if there are none.
fn quarters(mut values: Vec<f64>) -> Option<[f64; 5]> {
    values.retain(|value| value.is_finite());
    values.sort_unstable_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    Some([0, 1, 2, 3, 4].map(|quarter| values[(last * quarter + 2) / 4]))
}

impl Report<'_> {
    /// Returns the kept bursts of each thread.
    fn amounts(&self) -> Vec<Amount> {
        let mut amounts = vec![Amount::default(); self.bursts.threads().len()];
        for row in self.bursts.complete() {
            let burst = self.bursts.rows()[row as usize];
            amounts[burst.thread as usize].add(Nanos(burst.end.0 - burst.begin.0));
        }
        amounts
    }

    /// Returns a sentence about the thread whose kept bursts take the most time, if the threads are not balanced.
    fn busiest(&self) -> Option<String> {
        /// Ratio of the time of the busiest thread to the mean above which the threads are not balanced.
        const UNEQUAL: f64 = 1.2;
        let times = self.amounts().into_iter().map(|of| of.time.0 as f64);
        let times: Vec<f64> = times.collect();
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        let (at, most) = (0..).zip(&times).max_by(|a, b| a.1.total_cmp(b.1))?;
        let name = &self.bursts.threads().get::<usize>(at)?.name;
        (*most > UNEQUAL * mean).then(|| {
            format!(
                "the kept bursts of {name} take {}, {:.1} times the mean of all threads",
                number::time(*most),
                most / mean
            )
        })
    }

    /// Returns a row for each thread.
    fn threads(&self) -> Table {
        let amounts = self.amounts();
        let names = self.bursts.threads().iter().map(|it| it.name.as_str());
        let all = self.dropped.complete.time;
        let share = |it: &Amount| 100.0 * share(it.time, all);
        Table::new(
            "threads",
            "Bursts that have all metrics and pass all filters.",
        )
        .text("thread", names)
        .unsigned("kept bursts", "", amounts.iter().map(|it| it.bursts))
        .times("kept time", amounts.iter().map(|it| it.time))
        .floats("share of kept time", "%", amounts.iter().map(share))
    }

    /// Returns a row for each metric of the complete bursts, their duration first.
    fn metrics(&self) -> Table {
        let complete = self.bursts.complete();
        let of =
            |values: &[f64]| quarters(complete.iter().map(|&row| values[row as usize]).collect());
        let durations = of(&self.bursts.durations()).map(|five| ("duration", "ns", five));
        let columns = self.bursts.columns().iter();
        let columns = columns.filter(|column| column.name != "duration");
        let columns = columns.filter_map(|column| {
            let five = of(&column.values)?;
            Some((column.name.as_str(), column.unit.as_str(), five))
        });
        let rows: Vec<_> = durations.into_iter().chain(columns).collect();
        let table = Table::new("metrics", "Quartiles over the bursts that are kept.")
            .text("metric", rows.iter().map(|row| row.0))
            .text("unit", rows.iter().map(|row| row.1));
        let names = ["minimum", "q1", "median", "q3", "maximum"];
        names
            .into_iter()
            .enumerate()
            .fold(table, |table, (at, name)| {
                table.floats(name, "", rows.iter().map(|row| row.2[at]))
            })
    }

    fn text(&self, out: &mut dyn Write) -> Outcome {
        let Dropped {
            found, complete, ..
        } = self.dropped;
        writeln!(
            out,
            "{} of {} in {}; {} of them, {:.1} % of the CPU time, have all metrics and pass all filters",
            counted(found.bursts as usize, "burst"),
            counted(self.bursts.threads().len(), "thread"),
            match self.bursts.processes() {
                1 => "1 process".to_owned(),
                many => format!("{many} processes"),
            },
            grouped(complete.bursts),
            100.0 * share(complete.time, found.time),
        )?;
        if let Some(sentence) = self.busiest() {
            writeln!(out, "{sentence}")?;
        }
        writeln!(out)?;
        table::print(out, &self.threads(), 60)?;
        writeln!(out)?;
        table::print(out, &self.metrics(), 60)?;
        dropped_bursts::write(self.dropped, out)?;
        Ok(())
    }

    fn json(&self) -> impl Serialize {
        #[derive(Serialize)]
        struct Document<'a> {
            processes: usize,
            threads: Table,
            metrics: Table,
            extraction: &'a Dropped,
            findings: Vec<Found>,
        }
        Document {
            processes: self.bursts.processes(),
            threads: self.threads(),
            metrics: self.metrics(),
            extraction: self.dropped,
            findings: findings::found(self.diagnostics),
        }
    }

    /// Draws the bursts as points: duration on the x axis, the first metric on the y axis, and one
    /// colour for each thread.
    fn draw(&self, name: &str, files: &Files) -> Outcome {
        let mut scale = Scale::params().dimension(Dimension::new("duration").log(true));
        let mut metrics = self.bursts.columns().iter();
        if let Some(column) = metrics.find(|column| column.name != "duration") {
            scale = scale.dimension(Dimension::new(&column.name));
        }
        let scaled = scale
            .check()
            .and_then(|scale| scale.fit(&[self.bursts], &Job::default()));
        let scaled = scaled.map_err(input)?;
        let Some(experiment) = scaled.experiments.first() else {
            return Ok(());
        };
        let thread = |row: &u32| {
            let burst = self.bursts.rows().get(*row as usize);
            ClusterId(burst.map_or(0, |burst| burst.thread + 1))
        };
        let labels: Vec<ClusterId> = experiment.rows().iter().map(thread).collect();
        let found = Clusters::of_experiment(name, &scaled, &labels).map_err(pictures::failed)?;
        let mut found = found.called("thread");
        pictures::metrics(&mut found, self.bursts, experiment)?;
        let names = self.bursts.threads().iter().zip(1..);
        let found = names.fold(found, |found, (thread, number)| {
            found.position(number, thread.name.clone())
        });
        let title = format!("{name}: bursts of each thread");
        let scene = || Ok(Picture::new(&found).titled(&title).scene());
        files.write(&title, scene, || {
            let view = View::new(&found).named(&title, "bursts");
            let section = view.section(&Bar::job());
            Ok(vec![section.map_err(pictures::failed)?])
        })
    }

    /// Returns a row for each burst, including the bursts that filters drop.
    fn table(&self) -> Table {
        let bursts = self.bursts;
        let rows = || bursts.rows().iter();
        let thread = |row: &Burst| &bursts.threads()[row.thread as usize];
        let chain = |id: Option<_>| id.map(|id| bursts.chain(id).join(" < "));
        let kinds = bursts.kinds().iter().map(|kind| format!("{kind:?}"));
        let table = Table::new(
            "bursts",
            "All bursts; the kind of those that filters drop is the reason.",
        )
        .unsigned("process", "", rows().map(|row| thread(row).process as u64))
        .text("thread", rows().map(|row| thread(row).name.as_str()))
        .times("begin", rows().map(|row| row.begin))
        .times("end", rows().map(|row| row.end))
        .text("kind", kinds)
        .text("before", rows().map(|row| chain(row.before)))
        .text("after", rows().map(|row| chain(row.after)));
        bursts.columns().iter().fold(table, |table, column| {
            let values = column.values.iter().copied();
            table.floats(column.name.clone(), column.unit.clone(), values)
        })
    }
}
