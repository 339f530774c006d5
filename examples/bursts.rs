//! The CPU bursts of a recording: how many, how long, with which metrics, and what was left out.
//!
//! `cargo run --release --example bursts -- data/recordings/jacobi-16 --metrics work`

use perfkit::core::{Diagnostics, Job, Nanos};
use perfkit::track::{Amount, Bursts, ClusterId, Delimiter, Dimension, Dropped, Extract, Scale};
use perfkit::view::track::{Clusters, Picture, View};
use perfkit_examples::cli::{self, Failure, Outcome, input};
use perfkit_examples::drawn::{self, Files};
use perfkit_examples::findings;
use perfkit_examples::frames::{self, usual};
use perfkit_examples::left_out::{self, share};
use perfkit_examples::progress::Bar;
use perfkit_examples::recording::{self, parse_time};
use perfkit_examples::table::{self, counted, grouped, short};
use serde_json::json;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: bursts TRACE [OPTIONS]

Lists the CPU bursts of a recording, a line a thread, and what filters leave out.

  TRACE             a recording with events: OTF2 archive, Paraver trace (.prv), Chrome/Kineto JSON,
                    rocprofv3 JSON, streams (.tsv, .ndjson, .bp); with the feature `nsys` an export of
                    Nsight Systems
  --metrics A,B     metrics each burst must have: counters, ipc, instructions, cycles, duration, or
                    formulas such as `TLB = misses / instructions`; default: ipc,instructions where
                    the recording has them, else duration and its first counter
  --calls GLOB      a burst is a call of a region; default: running states where they are recorded,
                    else the time between calls of communication
  --min-duration T  leaves shorter bursts out, in the times `inspect` prints; default 0
  --csv OUT         also writes all bursts as a table
  --png OUT         also draws them by duration and their first metric, a colour a thread
  --html OUT        the same as a page, with all metrics
  --json            one JSON object instead of text";

fn main() -> ExitCode {
    cli::main(USAGE, run)
}

/// The work: arguments in, text out.
pub(crate) fn run(args: &[OsString], out: &mut dyn Write) -> Outcome {
    use lexopt::prelude::*;
    let mut params = Extract::params();
    let (mut file, mut metrics, mut csv, mut as_json) = (None, Vec::new(), None, false);
    let mut files = Files::default();
    let mut parser = lexopt::Parser::from_args(args);
    while let Some(arg) = parser.next()? {
        match arg {
            Long("metrics") => {
                let text = parser.value()?.string()?;
                metrics = text.split(',').map(|name| name.trim().to_owned()).collect();
            }
            Long("calls") => {
                let pattern = parser.value()?.string()?;
                params = params.delimiter(Delimiter::Calls(vec![pattern]));
            }
            Long("min-duration") => {
                params = params.min_duration(parse_time(&parser.value()?.string()?)?);
            }
            Long("csv") => csv = Some(PathBuf::from(parser.value()?)),
            Long("png") => files.png = Some(parser.value()?.into()),
            Long("html") => files.html = Some(parser.value()?.into()),
            Long("json") => as_json = true,
            Short('h') | Long("help") => return Err(Failure::Help),
            Value(path) if file.is_none() => file = Some(PathBuf::from(path)),
            other => return Err(other.unexpected().into()),
        }
    }
    let file = file.ok_or_else(|| Failure::Usage("which recording?".into()))?;
    let recording::Recording {
        trace, diagnostics, ..
    } = recording::open(&file)?;
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
    left_out::tell(&frames::name(&file), &dropped, &diagnostics);
    let report = Report {
        bursts: &bursts,
        dropped: &dropped,
        diagnostics: &diagnostics,
    };
    if let Some(path) = &csv {
        report.csv(path)?;
    }
    if !files.is_empty() {
        report.draw(&frames::name(&file), &files)?;
    }
    if as_json {
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
        left_out::write(self.dropped, out)?;
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
            "left_out": left_out::json(self.dropped),
            "counted": left_out::counted_json(self.dropped),
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
        let found = Clusters::of_frame(name, &scaled, &labels).map_err(drawn::failed)?;
        let mut found = found.called("thread");
        drawn::metrics(&mut found, self.bursts, frame)?;
        let title = format!("{name}: bursts of each thread");
        let scene = || Ok(Picture::new(&found).titled(&title).scene());
        files.write(&title, scene, || {
            let view = View::new(&found).named(&title, "bursts");
            let section = view.section(&Bar::job());
            Ok(vec![section.map_err(drawn::failed)?])
        })
    }

    fn csv(&self, path: &Path) -> Outcome {
        let mut text = String::from("process,thread,begin_ns,end_ns,kind,before,after");
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        for column in self.bursts.columns() {
            text += &format!(",{}", quoted(&column.name));
        }
        text.push('\n');
        for (row, burst) in self.bursts.rows().iter().enumerate() {
            let thread = &self.bursts.threads()[burst.thread as usize];
            let chain = |id| match id {
                Some(id) => quoted(&self.bursts.chain(id).join(" < ")),
                None => String::new(),
            };
            let (name, kind) = (quoted(&thread.name), self.bursts.kinds()[row]);
            let (begin, end) = (burst.begin.0, burst.end.0);
            let (before, after) = (chain(burst.before), chain(burst.after));
            text += &format!(
                "{},{name},{begin},{end},{kind:?},{before},{after}",
                thread.process
            );
            for column in self.bursts.columns() {
                let value = column.values[row];
                text.push(',');
                if !value.is_nan() {
                    text += &value.to_string();
                }
            }
            text.push('\n');
        }
        let failed = |error| Failure::Input(format!("{}: {error}", path.display()));
        std::fs::write(path, text).map_err(failed)
    }
}
