//! How busy the devices of a recording are, and why they are not.
//!
//! `cargo run --release --example utilisation -- data/gpu/planted-6x14.json.gz`

use perfkit::core::{Clock, Event, Job, Nanos, TimeRange};
use perfkit::fold::{Cause, Device, DeviceParams, Devices, Hta, HtaParams, Span, Work, WorkRules};
use perfkit_examples::cli::{self, Failure, Outcome, input};
use perfkit_examples::drawn::{self, Files};
use perfkit_examples::findings;
use perfkit_examples::recording::{self, Recording, parse_time};
use perfkit_examples::table::{self, counted, grouped};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "usage: utilisation FILE... [OPTIONS]

Prints how busy each device is: the union of the work on its streams over its span, and what it
waits for when it is idle. Several files are several ranks of one job, all of one format: Chrome JSON,
rocprofv3 or Nsight Systems.

  FILE              a recording with devices: Chrome/Kineto JSON, rocprofv3 JSON, OTF2, streams (.tsv,
                    .ndjson, .bp); with the feature `nsys` an export of Nsight Systems
  --job             all devices over the span of the job, not each over its own
  --from T, --to T  the window instead, in the times `inspect` prints: 1.5s, 20ms, 7us, 12ns; shares are
                    of all of it, also where it reaches beyond the recording
  --work KIND=GLOB  work whose name matches is of KIND: compute, communication, copy or set;
                    repeatable, the last one given is tried first
  --gaps N          also list the N longest gaps of each device, from the end of the last work to the begin
                    of the next, with their causes
  --hta             what Holistic Trace Analysis prints: without the last profiler step, rounded
                    inwards to whole microseconds, without work that no call launched
  --hta-all         the same with the last profiler step
  --png OUT         also draw a row a device: what runs where anything does
  --html OUT        also write a page in which the streams of a device unfold
  --json            one JSON object instead of text";

fn main() -> ExitCode {
    cli::main(USAGE, run)
}

/// What was asked for.
#[derive(Debug, Default)]
struct Asked {
    files: Vec<PathBuf>,
    is_job: bool,
    from: Option<Nanos>,
    to: Option<Nanos>,
    rules: WorkRules,
    gaps: usize,
    hta: Option<HtaParams>,
    drawn: Files,
    json: bool,
}

/// The work: arguments in, text out.
pub(crate) fn run(args: &[OsString], out: &mut dyn Write) -> Outcome {
    let asked = parse(args)?;
    let recording = recording::open_ranks(&asked.files)?;
    report(&recording, &asked, out).map_err(findings::explain(&recording.diagnostics))
}

/// Prints and draws a recording that was read.
fn report(recording: &Recording, asked: &Asked, out: &mut dyn Write) -> Outcome {
    let names: Vec<_> = asked
        .files
        .iter()
        .map(|it| it.display().to_string())
        .collect();
    let names = names.join(", ");
    let view = recording.trace.view();
    let span = span(recording, asked)?;
    let params = DeviceParams::new().span(span).rules(asked.rules.clone());
    let devices =
        Devices::new(view, &params.keep_gaps(asked.gaps > 0), &Job::default()).map_err(input)?;
    if devices
        .devices()
        .iter()
        .all(|device| device.streams.is_empty())
    {
        return Err(Failure::Input(no_work(recording, &names)));
    }
    let hta = match &asked.hta {
        Some(params) => Some(Hta::of(view, params, &Job::default()).map_err(input)?),
        None => None,
    };
    if let (Some(first), false) = (asked.files.first(), asked.drawn.is_empty()) {
        let title = format!("{}: what devices do", drawn::name(first));
        let files = asked.files.iter().map(|it| it.to_string_lossy());
        let files: Vec<_> = files.collect();
        let words = files.iter().map(|it| it.as_ref());
        let command = drawn::fold_command(words.chain(["--by", "device"]));
        let of = (span, &devices);
        draw(recording, of, &asked.drawn, (&title, &command))?;
    }
    let shown = Shown {
        recording,
        devices: &devices,
        hta: hta.as_deref(),
        gaps: asked.gaps,
        span,
    };
    if asked.json {
        writeln!(out, "{}", shown.json())?;
    } else {
        writeln!(out, "{names}")?;
        shown.text(out)?;
    }
    Ok(())
}

/// A row a device, each with what is usual for its streams.
fn draw(
    recording: &Recording,
    (span, devices): (Span, &Devices),
    files: &Files,
    (title, command): (&str, &str),
) -> Outcome {
    let timelines = drawn::timelines(&recording.trace)?;
    // What is drawn is the span of the shares, or all of the recording where each device has its own.
    let window = match span {
        Span::Own => timelines.range(),
        _ => devices
            .devices()
            .first()
            .map_or(timelines.range(), |device| device.window),
    };
    let has_own_spans = span == Span::Own;
    let scene = || {
        let rows = (drawn::device_rows(&timelines)?, None);
        drawn::folded(&timelines, rows, (1200, Some(window)), |picture| {
            picture.titled(title).own_spans(has_own_spans)
        })
    };
    files.write(title, scene, || {
        let of = (&recording.trace, &timelines);
        let rows = (drawn::device_rows(&timelines)?, None);
        let named = (title, "devices");
        drawn::timeline(of, rows, (window, has_own_spans), named, command)
    })
}

fn parse(args: &[OsString]) -> Result<Asked, Failure> {
    use lexopt::prelude::*;
    let mut asked = Asked::default();
    let mut parser = lexopt::Parser::from_args(args);
    while let Some(arg) = parser.next()? {
        match arg {
            Long("job") => asked.is_job = true,
            Long("from") => asked.from = Some(parse_time(&parser.value()?.string()?)?),
            Long("to") => asked.to = Some(parse_time(&parser.value()?.string()?)?),
            Long("work") => {
                let rule = parser.value()?.string()?;
                let (work, glob) = work(&rule)?;
                asked.rules = asked.rules.before(work, glob);
            }
            Long("gaps") => asked.gaps = cli::number("gaps", &mut parser)?,
            Long("hta") => asked.hta = Some(HtaParams::default()),
            Long("hta-all") => {
                asked.hta = Some(HtaParams::default().include_last_profiler_step(true));
            }
            Long("png") => asked.drawn.png = Some(parser.value()?.into()),
            Long("html") => asked.drawn.html = Some(parser.value()?.into()),
            Long("json") => asked.json = true,
            Short('h') | Long("help") => return Err(Failure::Help),
            Value(path) => asked.files.push(PathBuf::from(path)),
            other => return Err(other.unexpected().into()),
        }
    }
    match asked.files.is_empty() {
        true => Err(Failure::Usage("which file?".into())),
        false => Ok(asked),
    }
}

fn work(rule: &str) -> Result<(Work, &str), Failure> {
    let wrong = || Failure::Usage(format!("`{rule}` is not KIND=GLOB"));
    let (kind, glob) = rule.split_once('=').ok_or_else(wrong)?;
    let work = Work::ALL.into_iter().find(|work| work.name() == kind);
    Ok((work.ok_or_else(wrong)?, glob))
}

fn span(recording: &Recording, asked: &Asked) -> Result<Span, Failure> {
    let whole = recording.trace.range();
    Ok(match (asked.from, asked.to, whole) {
        (None, None, _) if asked.is_job => Span::Job,
        (None, None, _) | (.., None) => Span::Own,
        (from, to, Some(range)) => {
            let clock = recording.trace.definitions().clock;
            // A range holds its last event.
            let end = perfkit::core::Ticks(range.end.0.saturating_add(1));
            let all = TimeRange { end, ..range };
            Span::Window(recording::window(all, clock, from, to)?)
        }
    })
}

/// Most rows that the message about a recording without work lists.
const MAX_ROWS: usize = 12;

/// Describes the rows of a recording of which no work of a device was recognised.
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
    match lines.is_empty() {
        true => format!("{head}, and nothing else is recorded"),
        false => format!(
            "{head} in {count}, which `inspect` and `fold` show:\n  {}",
            lines.join("\n  ")
        ),
    }
}

/// What is printed.
struct Shown<'a> {
    recording: &'a Recording,
    devices: &'a Devices,
    hta: Option<&'a [Hta]>,
    gaps: usize,
    /// The span that all shares are of.
    span: Span,
}

impl Shown<'_> {
    fn clock(&self) -> Clock {
        self.recording.trace.definitions().clock
    }

    fn nanos(&self, ticks: u64) -> i64 {
        self.clock().total(u128::from(ticks)).0
    }

    fn device(&self, device: &Device) -> Json {
        let found = device.utilisation;
        let both = |one, other| self.nanos(device.both(one, other));
        let work = Work::ALL.map(|work| {
            let value = json!({
                "events": device.count(work),
                "busy_ns": self.nanos(device.busy(work)),
            });
            (work.name(), value)
        });
        let idle = Cause::ALL.map(|cause| (cause.name(), self.nanos(device.idle(cause))));
        let start = self.clock().nanos(device.window.start).unwrap_or_default();
        let mut value = json!({
            "rank": device.rank,
            "device": device.name,
            "streams": device.streams.len(),
            "events": device.events,
            "events_of_no_length": device.instants,
            "events_without_launch": device.unlinked,
            "start_ns": start.0,
            "busy_ns": self.nanos(found.busy),
            "span_ns": self.nanos(found.span),
            "utilisation": found.utilisation(),
            "overlap": found.overlap_share(),
            "overlap_ns": self.nanos(found.overlap),
            "work": BTreeMap::from(work),
            "compute_with_communication_ns": both(Work::Compute, Work::Communication),
            "compute_with_copy_ns": both(Work::Compute, Work::Copy),
            "idle_ns": BTreeMap::from(idle),
        });
        if self.gaps > 0 {
            let gaps = longest(device, self.gaps).into_iter().map(|gap| {
                let start = self.clock().nanos(gap.range.start).unwrap_or_default();
                let causes = gap.parts().map(|(cause, range)| {
                    json!({"cause": cause.name(), "length_ns": self.nanos(range.len())})
                });
                json!({
                    "start_ns": start.0,
                    "length_ns": self.nanos(gap.range.len()),
                    "causes": causes.collect::<Vec<_>>(),
                })
            });
            value["gaps"] = gaps.collect();
        }
        value
    }

    fn json(&self) -> Json {
        let devices: Vec<_> = self
            .devices
            .devices()
            .iter()
            .map(|it| self.device(it))
            .collect();
        let diagnostics = &self.recording.diagnostics;
        let found = diagnostics.iter();
        let found: BTreeMap<_, _> = found.map(|(rule, it)| (rule.name, it.count)).collect();
        let mut value = json!({
            "format": self.recording.format,
            "utilisation": self.devices.utilisation(),
            "span": match self.span {
                Span::Job => "job",
                Span::Window(_) => "window",
                _ => "device",
            },
            "devices": devices,
            "diagnostics": found,
            "findings": findings::json(diagnostics),
            "mended_frames": findings::mended_json(&self.devices.repairs()),
        });
        if let Some(hta) = self.hta {
            let ranks = hta.iter().map(|it| {
                json!({
                    "rank": it.rank,
                    "idle_ns": it.idle,
                    "compute_ns": it.compute,
                    "non_compute_ns": it.non_compute,
                    "kernel_ns": it.total,
                    "utilisation": it.utilisation(),
                    "events": it.events,
                    "left_out": it.left_out,
                    "profiler_steps": it.steps,
                })
            });
            value["hta"] = ranks.collect();
        }
        value
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
        let percent = |share: f64| format!("{:.3}", 100.0 * share);
        let rows = devices.iter().map(|device| {
            let found = device.utilisation;
            let share = |work| percent(device.busy(work) as f64 / found.span.max(1) as f64);
            vec![
                name(device),
                device.streams.len().to_string(),
                device.events.to_string(),
                Nanos(self.nanos(found.span)).to_string(),
                Nanos(self.nanos(found.busy)).to_string(),
                percent(found.utilisation()),
                percent(found.overlap_share()),
                share(Work::Compute),
                share(Work::Communication),
                share(Work::Copy),
            ]
        });
        let head = [
            "",
            "streams",
            "work",
            "span",
            "busy",
            "busy %",
            "overlap %",
            "compute %",
            "comm. %",
            "copy %",
        ];
        table::write(out, &head, &rows.collect::<Vec<_>>())?;
        writeln!(out, "  idle, % of the span, waiting for")?;
        let rows = devices.iter().map(|device| {
            let span = device.utilisation.span.max(1) as f64;
            let idle = Cause::ALL.map(|cause| percent(device.idle(cause) as f64 / span));
            std::iter::once(name(device))
                .chain(idle)
                .collect::<Vec<_>>()
        });
        let head = [
            "",
            "late host",
            "launch",
            "copy",
            "comm.",
            "kernel",
            "empty queue",
            "unknown",
        ];
        table::write(out, &head, &rows.collect::<Vec<_>>())?;
        for device in devices.iter().filter(|_| self.gaps > 0) {
            writeln!(out, "  longest gaps of {}", name(device))?;
            for gap in longest(device, self.gaps) {
                let start = self.clock().nanos(gap.range.start).unwrap_or_default();
                let length = Nanos(self.nanos(gap.range.len()));
                let causes = gap.parts().map(|(cause, range)| match range == gap.range {
                    true => cause.name().to_owned(),
                    false => format!("{} {}", cause.name(), Nanos(self.nanos(range.len()))),
                });
                let causes: Vec<_> = causes.collect();
                writeln!(out, "    {length:>12} from {start}, {}", causes.join(", "))?;
            }
        }
        self.hta_text(out)?;
        // What the reader left out or mended, so that nothing goes in silence.
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
        let micros = |nanos: i64| format!("{}", nanos.div_euclid(1_000));
        let rows = hta.iter().map(|it| {
            vec![
                it.rank.map_or("-".into(), |rank| format!("rank {rank}")),
                micros(it.idle),
                micros(it.compute),
                micros(it.non_compute),
                micros(it.total),
                format!("{:.3}", 100.0 * it.utilisation()),
                it.events.to_string(),
                it.left_out.to_string(),
            ]
        });
        let head = [
            "",
            "idle",
            "compute",
            "non-compute",
            "kernel time",
            "busy %",
            "work",
            "left out",
        ];
        Ok(table::write(out, &head, &rows.collect::<Vec<_>>())?)
    }
}

/// The longest gaps of a device, the earlier of equals first.
fn longest(device: &Device, count: usize) -> Vec<perfkit::fold::Gap> {
    let mut gaps = device.gaps.clone();
    gaps.sort_by_key(|gap| (std::cmp::Reverse(gap.range.len()), gap.range.start));
    gaps.truncate(count);
    gaps
}
