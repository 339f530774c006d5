//! CPU bursts of a recording: their number, durations and metrics, and the bursts that filters drop.

use crate::failure::{Failure, Outcome, input};
use crate::findings;
use crate::options::{General, TRACE, time};
use crate::output;
use crate::phases::experiments::{self, usual};
use crate::phases::skipped::{self, share};
use crate::pictures::{self, Files};
use crate::progress::Bar;
use crate::recording;
use crate::table::{self, counted, grouped, short};
use clap::Args;
use perfkit::core::{Column, Diagnostics, Job, Nanos, Table};
use perfkit::track::{
    Amount, Burst, Bursts, ClusterId, Delimiter, Dimension, Dropped, Extract, Scale,
};
use perfkit::view::track::{Clusters, Picture, View};
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;

/// Lists the CPU bursts of a recording, a line a thread, and the bursts that filters drop
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
/// [`Failure::Usage`] for options that do not fit the recording, [`Failure::Input`] for one that cannot be read.
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
    } = recording::open(file)?;
    let explain = findings::explain(&diagnostics);
    if metrics.is_empty() {
        metrics = usual(&trace).map_err(&explain)?;
    }
    for metric in metrics {
        params = params.metric(metric);
    }
    let usage = |error: perfkit::track::Error| Failure::Usage(error.to_string());
    let extract = params.check().map_err(usage)?;
    let found = extract.extract(trace.view(), &Bar::job());
    let found = found.map_err(|error| match error {
        perfkit::track::Error::UnknownMetric { .. } | perfkit::track::Error::NoRegion { .. } => {
            usage(error)
        }
        other => input(other),
    });
    let (bursts, dropped) = found.map_err(explain)?;
    skipped::tell(&experiments::name(file), &dropped, &diagnostics);
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
        writeln!(out, "{}", report.json())?;
        return Ok(());
    }
    writeln!(out, "{}", file.display())?;
    report.text(out)
}

struct Report<'a> {
    bursts: &'a Bursts,
    dropped: &'a Dropped,
    diagnostics: &'a Diagnostics,
}

/// The quarters of some values: least, first quarter, median, third quarter, largest.
fn quarters(mut values: Vec<f64>) -> Option<[f64; 5]> {
    values.retain(|value| value.is_finite());
    values.sort_unstable_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    Some([0, 1, 2, 3, 4].map(|quarter| values[(last * quarter + 2) / 4]))
}

impl Report<'_> {
    /// Each thread: its name, how many complete bursts, and their time.
    fn threads(&self) -> Vec<(&str, Amount)> {
        let mut amounts = vec![Amount::default(); self.bursts.threads().len()];
        for row in self.bursts.complete() {
            let burst = self.bursts.rows()[row as usize];
            amounts[burst.thread as usize].add(Nanos(burst.end.0 - burst.begin.0));
        }
        let names = self
            .bursts
            .threads()
            .iter()
            .map(|thread| thread.name.as_str());
        names.zip(amounts).collect()
    }

    /// Each metric of the complete bursts, their duration first.
    fn metrics(&self) -> Vec<(&str, &str, [f64; 5])> {
        let complete = self.bursts.complete();
        let of =
            |values: &[f64]| quarters(complete.iter().map(|&row| values[row as usize]).collect());
        let durations = of(&self.bursts.durations()).map(|five| ("duration", "ns", five));
        let columns = self
            .bursts
            .columns()
            .iter()
            .filter(|column| column.name != "duration");
        let columns = columns.filter_map(|column| {
            Some((
                column.name.as_str(),
                column.unit.as_str(),
                of(&column.values)?,
            ))
        });
        durations.into_iter().chain(columns).collect()
    }

    fn text(&self, out: &mut dyn Write) -> Outcome {
        let Dropped {
            found, complete, ..
        } = self.dropped;
        writeln!(
            out,
            "{} of {} in {}; {} of them, {:.1} % of the CPU time, have all metrics and pass all filters\n",
            counted(found.bursts as usize, "burst"),
            counted(self.bursts.threads().len(), "thread"),
            match self.bursts.processes() {
                1 => "1 process".to_owned(),
                many => format!("{many} processes"),
            },
            grouped(complete.bursts),
            100.0 * share(complete.time, found.time),
        )?;
        let rows = self.threads().into_iter().map(|(name, amount)| {
            let time = amount.time.to_string();
            let share = format!("{:.1} %", 100.0 * share(amount.time, complete.time));
            vec![name.to_owned(), grouped(amount.bursts), time, share]
        });
        table::write(
            out,
            &["thread", "kept bursts", "kept time", "share of kept time"],
            &rows.collect::<Vec<_>>(),
        )?;
        writeln!(out)?;
        let rows = self.metrics().into_iter().map(|(name, unit, five)| {
            let name = if unit.is_empty() {
                name.to_owned()
            } else {
                format!("{name} [{unit}]")
            };
            let values = five.iter().map(|value| short(*value));
            std::iter::once(name).chain(values).collect()
        });
        let head = ["metric", "least", "1/4", "median", "3/4", "largest"];
        table::write(out, &head, &rows.collect::<Vec<_>>())?;
        skipped::write(self.dropped, out)?;
        Ok(())
    }

    fn json(&self) -> serde_json::Value {
        let Dropped {
            found, complete, ..
        } = self.dropped;
        let threads = self.threads().into_iter().map(|(name, amount)| {
            let share = share(amount.time, complete.time);
            json!({"name": name, "bursts": amount.bursts, "time_ns": amount.time.0, "share_of_time": share})
        });
        let metrics = self
            .metrics()
            .into_iter()
            .map(|(name, unit, five)| json!({"name": name, "unit": unit, "quartiles": five}));
        json!({
            "found": {"bursts": found.bursts, "time_ns": found.time.0},
            "bursts": complete.bursts,
            "time_ns": complete.time.0,
            "processes": self.bursts.processes(),
            "threads": threads.collect::<Vec<_>>(),
            "metrics": metrics.collect::<Vec<_>>(),
            "left_out": skipped::json(self.dropped),
            "counted": skipped::counted_json(self.dropped),
            "findings": findings::json(self.diagnostics),
        })
    }

    /// Duration across, the first metric up, a colour a thread.
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
        let Some(frame) = scaled.frames.first() else {
            return Ok(());
        };
        let thread = |row: &u32| {
            let burst = self.bursts.rows().get(*row as usize);
            ClusterId(burst.map_or(0, |burst| burst.thread + 1))
        };
        let labels: Vec<ClusterId> = frame.rows().iter().map(thread).collect();
        let found = Clusters::of_frame(name, &scaled, &labels).map_err(pictures::failed)?;
        let mut found = found.called("thread");
        pictures::metrics(&mut found, self.bursts, frame)?;
        let title = format!("{name}: bursts of each thread");
        let scene = || Ok(Picture::new(&found).titled(&title).scene());
        files.write(&title, scene, || {
            let view = View::new(&found).named(&title, "bursts");
            let section = view.section(&Bar::job());
            Ok(vec![section.map_err(pictures::failed)?])
        })
    }

    /// Returns a row for each burst, also for those that filters drop.
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
        .with(Column::unsigned(
            "process",
            "",
            rows().map(|row| thread(row).process as u64),
        ))
        .with(Column::text(
            "thread",
            rows().map(|row| thread(row).name.as_str()),
        ))
        .with(Column::times("begin", rows().map(|row| row.begin)))
        .with(Column::times("end", rows().map(|row| row.end)))
        .with(Column::text("kind", kinds))
        .with(Column::text("before", rows().map(|row| chain(row.before))))
        .with(Column::text("after", rows().map(|row| chain(row.after))));
        bursts.columns().iter().fold(table, |table, column| {
            let values = column.values.iter().copied();
            table.with(Column::floats(
                column.name.clone(),
                column.unit.clone(),
                values,
            ))
        })
    }
}
