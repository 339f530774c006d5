//! Subcommand `utilisation`: measures the utilisation of the devices of a recording, and the causes of their idle time.

use crate::failure::{Failure, Outcome, input};
use crate::findings::{self, Findings};
use crate::options::{General, Window, file_names};
use crate::output;
use crate::pictures::{self, Files};
use crate::progress::Bar;
use crate::recording::{self, Recording};
use crate::suggest;
use crate::table::{self, counted, grouped};
use clap::Args;
use perfkit::core::{Clock, Column, Event, Nanos, Table, TimeRange, TraceView, fits};
use perfkit::fold::{Cause, Device, DeviceParams, Devices, Hta, HtaParams, Span, Work, WorkRules};
use serde::Serialize;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

/// Prints how busy each device is, and what it waits for when it is idle
///
/// The utilisation is the union of the work on the streams of a device over its span.
#[derive(Args, Clone, Debug)]
pub struct Options {
    #[doc = "Recording with devices; several files are the ranks of one job"]
    #[arg(
        required = true,
        value_name = "FILE",
        long_help = "Recording with devices: Chrome or Kineto JSON, rocprofv3 JSON, OTF2, event \
        streams (.tsv, .ndjson, .bp), export of Nsight Systems (.sqlite). Several files are the ranks of one job, all of \
        one format: Chrome JSON, rocprofv3 or Nsight Systems"
    )]
    files: Vec<PathBuf>,
    /// Measure all devices over the span of the job, not each over its own
    #[arg(long = "job", conflicts_with_all = ["from", "to"])]
    is_job: bool,
    #[command(flatten)]
    window: Window,
    /// Kind of the work whose name matches: compute, communication, copy or set; repeatable, the last one given is
    /// tried first
    #[arg(long = "work", value_name = "KIND=GLOB", value_parser = work)]
    rules: Vec<(Work, String)>,
    /// List the N longest gaps of each device, from the end of one work to the begin of the next, with their causes
    #[arg(long, value_name = "N", default_value_t = 0)]
    gaps: usize,
    /// Print what Holistic Trace Analysis prints: without the last profiler step, rounded inwards to whole
    /// microseconds, without work that no call launched
    #[arg(long)]
    hta: bool,
    /// As --hta, with the last profiler step
    #[arg(long, conflicts_with = "hta")]
    hta_all: bool,
    /// Write the work and idle time of each device as CSV
    #[arg(long, value_name = "OUT", help_heading = "Output files")]
    csv: Option<PathBuf>,
    #[command(flatten)]
    output: Files,
    #[command(flatten)]
    general: General,
}

/// Reads a recording and prints the utilisation of its devices.
///
/// # Errors
/// Returns [`Failure::Usage`] if the options do not apply to the recording, and [`Failure::Input`]
/// if the recording cannot be read.
pub fn run(options: &Options, out: &mut dyn Write) -> Outcome {
    options.general.apply()?;
    let recording = recording::open_ranks(&options.files)?;
    report(&recording, options, out).map_err(findings::explain(&recording.diagnostics))
}

/// Prints and draws the utilisation of the devices of a recording.
fn report(recording: &Recording, options: &Options, out: &mut dyn Write) -> Outcome {
    let names = file_names(&options.files);
    let view = recording.trace.view();
    let span = span(recording, options)?;
    let rules = options.rules.iter();
    let rules = rules.fold(WorkRules::default(), |rules, (work, glob)| {
        rules.before(*work, glob)
    });
    let params = DeviceParams::new().span(span).rules(rules.clone());
    let devices =
        Devices::new(view, &params.keep_gaps(options.gaps > 0), &Bar::job()).map_err(input)?;
    if devices
        .devices()
        .iter()
        .all(|device| device.streams.is_empty())
    {
        return Err(Failure::Input(no_work(recording, &names)));
    }
    check_work(view, &devices, &rules)?;
    let hta = HtaParams::default().include_last_profiler_step(options.hta_all);
    let hta = if options.hta || options.hta_all {
        Some(Hta::of(view, &hta, &Bar::job()).map_err(input)?)
    } else {
        None
    };
    if let (Some(first), false) = (options.files.first(), options.output.is_empty()) {
        let over = match span {
            Span::Job => " over the span of the job",
            _ => "",
        };
        let title = format!("{}: timeline of the devices{over}", pictures::name(first));
        let files = options.files.iter().map(|it| it.to_string_lossy());
        let files: Vec<_> = files.collect();
        let words = files.iter().map(|it| it.as_ref());
        let command = pictures::fold_command(words.chain(["--by", "device"]));
        let of = (span, &devices);
        draw(recording, of, &options.output, (&title, &command))?;
    }
    let shown = Shown {
        recording,
        devices: &devices,
        hta: hta.as_deref(),
        gaps: options.gaps,
        span,
    };
    output::csv(options.csv.as_ref(), || Ok(shown.table()))?;
    if options.general.json {
        output::json(out, &shown.json())?;
    } else {
        writeln!(out, "{names}")?;
        shown.text(out)?;
    }
    Ok(())
}

/// Draws one row for each device, with the default operations.
fn draw(
    recording: &Recording,
    (span, devices): (Span, &Devices),
    files: &Files,
    (title, command): (&str, &str),
) -> Outcome {
    let timelines = pictures::timelines(&recording.trace)?;
    // The window is the span of the shares, or the whole recording if each device has its own span.
    let window = match span {
        Span::Own => timelines.range(),
        _ => devices
            .devices()
            .first()
            .map_or(timelines.range(), |device| device.window),
    };
    let has_own_spans = span == Span::Own;
    let scene = || {
        let rows = (pictures::device_rows(&timelines)?, None);
        pictures::folded(&timelines, rows, (1200, Some(window)), |picture| {
            picture.titled(title).own_spans(has_own_spans)
        })
    };
    files.write(title, scene, || {
        let of = (&recording.trace, &timelines);
        let rows = (pictures::device_rows(&timelines)?, None);
        let named = (title, "devices");
        let more = pictures::More::command(command);
        pictures::timeline(of, rows, (window, has_own_spans), named, more)
    })
}

fn work(rule: &str) -> Result<(Work, String), String> {
    let (kind, glob) = rule.split_once('=').ok_or("expected KIND=GLOB")?;
    let work = Work::ALL.into_iter().find(|work| work.name() == kind);
    let work = work.ok_or("KIND is none of compute, communication, copy, set")?;
    Ok((work, glob.into()))
}

/// Largest number of suggested names in the message about a pattern without a match.
const MAX_NAMES: usize = 4;

/// Largest number of letters of each suggested name.
const MAX_NAME: usize = 60;

/// Checks that each pattern of `--work` matches work of a device.
///
/// # Errors
/// Returns [`Failure::Usage`] with similar names for a pattern without a match.
fn check_work(view: TraceView<'_>, devices: &Devices, rules: &WorkRules) -> Outcome {
    let regions = &view.definitions().regions;
    let mut is_work = vec![false; regions.len()];
    if rules.own().next().is_some() {
        let streams = devices.devices().iter().flat_map(|it| &it.streams);
        for location in streams.filter_map(|it| view.trace().location(it.location)) {
            let events = location.all();
            for index in 0..events.len() {
                if let Some(Event::Enter { region }) = events.event(index)
                    && let Some(is_work) = is_work.get_mut(region.index())
                {
                    *is_work = true;
                }
            }
        }
    }
    let names = regions.iter().zip(is_work).filter(|(_, is_work)| *is_work);
    let names: BTreeSet<&str> = names.map(|(region, _)| region.name.as_str()).collect();
    for (work, glob) in rules.own() {
        if names.iter().any(|name| fits(glob, name)) {
            continue;
        }
        let word = glob.replace(['*', '?'], "");
        let near = suggest::near(&word, names.iter().copied(), MAX_NAMES);
        let short = |name: &&str| format!("`{}`", table::shortened(name, MAX_NAME));
        let near: Vec<_> = near.iter().map(short).collect();
        let (work, head) = (work.name(), "no work on any device matches");
        return Err(Failure::Usage(if near.is_empty() {
            format!("--work {work}={glob}: {head}")
        } else {
            format!(
                "--work {work}={glob}: {head}; did you mean {}?",
                near.join(" or ")
            )
        }));
    }
    Ok(())
}

fn span(recording: &Recording, options: &Options) -> Result<Span, Failure> {
    let whole = recording.trace.range();
    Ok(match (options.window.from, options.window.to, whole) {
        (None, None, _) if options.is_job => Span::Job,
        (None, None, _) | (.., None) => Span::Own,
        (from, to, Some(range)) => {
            let clock = recording.trace.definitions().clock;
            // The range includes its last event.
            let end = perfkit::core::Ticks(range.end.0.saturating_add(1));
            let all = TimeRange { end, ..range };
            Span::Window(recording::window(all, clock, from, to)?)
        }
    })
}

/// Largest number of rows in the message about a recording without work.
const MAX_ROWS: usize = 12;

/// Describes the rows of a recording without recognised work of a device, for the error message.
fn no_work(recording: &Recording, names: &str) -> String {
    let trace = &recording.trace;
    let system = &trace.definitions().system;
    let mut rows = Vec::new();
    for view in trace.view().locations() {
        let Some(location) = system.location(view.id()) else {
            continue;
        };
        let events = view.all();
        let is_call = |index: &usize| matches!(events.event(*index), Some(Event::Enter { .. }));
        let calls = (0..events.len()).filter(is_call).count();
        let categories = location.properties.get("categories");
        let categories = categories.map_or(String::new(), |of| format!(", of category {of}"));
        let label = system.label(view.id());
        rows.push((
            calls,
            format!("{label}: {}{categories}", counted(calls, "call")),
        ));
    }
    rows.sort_by_key(|(calls, _)| std::cmp::Reverse(*calls));
    let more = rows.len().saturating_sub(MAX_ROWS);
    let count = counted(rows.len(), "row");
    let lines = rows.into_iter().take(MAX_ROWS).map(|(_, line)| line);
    let mut lines: Vec<String> = lines.collect();
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    let head = format!("{names}: no work of any device is recognised");
    if lines.is_empty() {
        format!("{head}, and nothing else is recorded")
    } else {
        format!(
            "{head} in {count}, which `inspect` and `fold` show:\n  {}",
            lines.join("\n  ")
        )
    }
}

/// Results for output.
struct Shown<'a> {
    /// Recording.
    recording: &'a Recording,
    /// Devices with their activities.
    devices: &'a Devices,
    /// Results for comparison with Holistic Trace Analysis, if selected by an option.
    hta: Option<&'a [Hta]>,
    /// Number of gaps to list for each device.
    gaps: usize,
    /// Denominator of all shares.
    span: Span,
}

impl Shown<'_> {
    fn clock(&self) -> Clock {
        self.recording.trace.definitions().clock
    }

    fn nanos(&self, ticks: u64) -> i64 {
        self.clock().total(u128::from(ticks)).0
    }

    /// Returns a row for each device.
    fn table(&self) -> Table {
        let all = || self.devices.devices().iter();
        let time = |ticks: u64| Nanos(self.nanos(ticks));
        let percent = |share: f64| 100.0 * share;
        let table = Table::new(
            "devices",
            "Work and idle time of each device over its span.",
        )
        .unsigned("rank", "", all().map(|it| it.rank))
        .text("device", all().map(|it| it.name.as_str()))
        .unsigned("streams", "", all().map(|it| it.streams.len() as u64))
        .unsigned("work", "", all().map(|it| it.events))
        .times("from", all().map(|it| self.clock().nanos(it.window.start)))
        .times("span", all().map(|it| time(it.utilisation.span)))
        .times("busy", all().map(|it| time(it.utilisation.busy)))
        .floats(
            "utilisation",
            "%",
            all().map(|it| percent(it.utilisation.utilisation())),
        )
        .floats(
            "overlap",
            "%",
            all().map(|it| percent(it.utilisation.overlap_share())),
        );
        let table = Work::ALL.iter().fold(table, |table, work| {
            let name = format!("busy: {}", work.name());
            table.times(name, all().map(|it| time(it.busy(*work))))
        });
        Cause::ALL.iter().fold(table, |table, cause| {
            let name = format!("idle: {}", cause.name());
            table.times(name, all().map(|it| time(it.idle(*cause))))
        })
    }

    fn json(&self) -> impl Serialize {
        #[derive(Serialize)]
        struct Document {
            format: &'static str,
            utilisation: f64,
            span: &'static str,
            devices: Table,
            work: Table,
            overlap: Table,
            idle: Table,
            streams: Table,
            gaps: Table,
            hta: Option<Table>,
            #[serde(flatten)]
            findings: Findings,
        }
        let definitions = self.recording.trace.definitions();
        let [devices, work, overlap, idle, streams, gaps] = self.devices.tables(definitions);
        Document {
            format: self.recording.format,
            utilisation: self.devices.utilisation(),
            span: match self.span {
                Span::Job => "job",
                Span::Window(_) => "window",
                _ => "device",
            },
            devices,
            work,
            overlap,
            idle,
            streams,
            gaps: self.longest_gaps(gaps),
            hta: self.hta.map(Hta::table),
            findings: Findings::new(&self.recording.diagnostics, self.devices.repairs()),
        }
    }

    /// Keeps only the rows of the longest gaps of each device. `all` has a row for each part of each gap.
    fn longest_gaps(&self, all: Table) -> Table {
        let mut rows = Vec::new();
        let mut first = 0;
        for device in self.devices.devices() {
            let kept = longest(device, self.gaps);
            for gap in &device.gaps {
                let parts = first..first + gap.parts().count();
                first = parts.end;
                if kept.iter().any(|one| one.range == gap.range) {
                    rows.extend(parts);
                }
            }
        }
        all.pick(&rows)
    }

    fn text(&self, out: &mut dyn Write) -> Outcome {
        let devices = self.devices.devices();
        let all = 100.0 * self.devices.utilisation();
        let streams: usize = devices.iter().map(|device| device.streams.len()).sum();
        writeln!(
            out,
            "  {} with {}, {} pieces of work, {all:.3} % busy",
            counted(devices.len(), "device"),
            counted(streams, "stream"),
            grouped(self.devices.events()),
        )?;
        let from = |window: TimeRange| self.clock().nanos(window.start).unwrap_or_default();
        let to = |window: TimeRange| self.clock().nanos(window.end).unwrap_or_default();
        let span = match (self.span, devices.first().map(|device| device.window)) {
            (Span::Job, Some(job)) => format!(
                "the job's span, from the first begin of work on any device, {}, to the last end, {}",
                from(job),
                to(job)
            ),
            (Span::Window(window), _) => {
                format!("the window from {} to {}", from(window), to(window))
            }
            _ => "the device's span, from the first begin of its work to the last end".into(),
        };
        writeln!(out, "  shares are of {span}")?;
        let name = |device: &Device| match device.rank {
            Some(rank) => format!("rank {rank}, device {}", device.name),
            None => format!("device {}", device.name),
        };
        let all = || devices.iter();
        let names = || Column::text("", all().map(name));
        let percent = |name: String, of: &dyn Fn(&Device) -> f64| {
            Column::floats(name, "%", all().map(|device| 100.0 * of(device)))
        };
        let time = |name, of: fn(&Device) -> u64| {
            Column::times(name, all().map(|device| Nanos(self.nanos(of(device)))))
        };
        let share =
            |device: &Device, ticks: u64| ticks as f64 / device.utilisation.span.max(1) as f64;
        let table = Table::new("devices", "Work of each device.")
            .with(names())
            .unsigned("streams", "", all().map(|device| device.streams.len()))
            .unsigned("work", "", all().map(|device| device.events))
            .with(time("span", |device| device.utilisation.span))
            .with(time("busy", |device| device.utilisation.busy))
            .with(percent("busy".into(), &|device| {
                device.utilisation.utilisation()
            }))
            .with(percent("overlap".into(), &|device| {
                device.utilisation.overlap_share()
            }));
        let table = Work::ALL.iter().fold(table, |table, work| {
            table.with(percent(work.name().into(), &|device| {
                share(device, device.busy(*work))
            }))
        });
        table::print(out, &table, 60)?;
        writeln!(out, "  idle, % of the span, waiting for")?;
        let table = Table::new("idle", "Idle time of each device by its cause.").with(names());
        let table = Cause::ALL.iter().fold(table, |table, cause| {
            let name = cause.name().replace('_', " ");
            table.with(percent(name, &|device| share(device, device.idle(*cause))))
        });
        table::print(out, &table, 60)?;
        for device in devices.iter().filter(|_| self.gaps > 0) {
            if device.gaps.is_empty() {
                writeln!(out, "  no gaps of {}", name(device))?
            } else {
                writeln!(out, "  longest gaps of {}", name(device))?
            }
            for gap in longest(device, self.gaps) {
                let start = self.clock().nanos(gap.range.start).unwrap_or_default();
                let length = Nanos(self.nanos(gap.range.len()));
                let causes = gap.parts().map(|(cause, range)| {
                    if range == gap.range {
                        cause.name().to_owned()
                    } else {
                        format!("{} {}", cause.name(), Nanos(self.nanos(range.len())))
                    }
                });
                let causes: Vec<_> = causes.collect();
                writeln!(out, "    {length:>12} from {start}, {}", causes.join(", "))?;
            }
        }
        self.hta_text(out)?;
        // Repairs and losses of the reader are always printed.
        let mut found = Vec::new();
        findings::write(
            &self.recording.diagnostics,
            &self.devices.repairs(),
            &mut found,
        )?;
        for line in String::from_utf8_lossy(&found).lines() {
            writeln!(out, "  {line}")?;
        }
        Ok(())
    }

    fn hta_text(&self, out: &mut dyn Write) -> Outcome {
        let Some(hta) = self.hta else {
            return Ok(());
        };
        writeln!(out, "  by the rules of Holistic Trace Analysis, in us")?;
        let micros = |name, of: fn(&Hta) -> i64| {
            Column::signed(name, "", hta.iter().map(|it| of(it).div_euclid(1_000)))
        };
        let ranks = hta
            .iter()
            .map(|it| it.rank.map(|rank| format!("rank {rank}")));
        let busy = hta.iter().map(|it| 100.0 * it.utilisation());
        let table = Table::new("hta", "Time of each rank by Holistic Trace Analysis.")
            .text("", ranks)
            .with(micros("idle", |it| it.idle))
            .with(micros("compute", |it| it.compute))
            .with(micros("non-compute", |it| it.non_compute))
            .with(micros("kernel time", |it| it.total))
            .floats("busy", "%", busy)
            .unsigned("work", "", hta.iter().map(|it| it.events))
            .unsigned("dropped", "", hta.iter().map(|it| it.left_out));
        Ok(table::print(out, &table, 60)?)
    }
}

/// Returns the `count` longest gaps of a device, longest first. Of equally long gaps the earlier is first.
fn longest(device: &Device, count: usize) -> Vec<perfkit::fold::Gap> {
    let mut gaps = device.gaps.clone();
    gaps.sort_by_key(|gap| (std::cmp::Reverse(gap.range.len()), gap.range.start));
    gaps.truncate(count);
    gaps
}
