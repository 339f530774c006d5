//! Generates Kineto recordings, or computes the utilisation of the devices of GPU recordings, and
//! prints one line: results of each device, then time and memory.

use perfkit::core::{GroupKind, Job, TimeRange, Trace, intervals};
use perfkit::fold::{DeviceParams, Devices, Hta, HtaParams, Utilisation};
use perfkit::formats::{OpenOptions, open, open_ranks};
use perfkit_benches::{Meter, Outcome};
use std::collections::BTreeMap;
use std::fs::File;
use std::process::ExitCode;

const USAGE: &str = "usage: perfkit-bench-gpu generate FILE SIZE [RANK]
       perfkit-bench-gpu busy FILE...
       perfkit-bench-gpu hta FILE

generate  writes about SIZE bytes of text in the manner of Kineto; 60M and 2G are sizes too
busy      reads one file a rank, and tells events, work and busy nanoseconds of each device
hta       tells microseconds by the rules of Holistic Trace Analysis, with all profiler steps; finds the
          utilisation of each device, too";

fn main() -> ExitCode {
    perfkit_benches::main(USAGE, run)
}

fn run(args: &[String]) -> Outcome<String> {
    match args {
        [mode, path, size, rest @ ..] if mode == "generate" => {
            let rank = rest.first().map_or(Ok(0), |rank| rank.parse())?;
            generate(path, bytes(size)?, rank)
        }
        [mode, paths @ ..] if mode == "busy" && !paths.is_empty() => busy(paths),
        [mode, path] if mode == "hta" => hta(path),
        _ => Err("a mode and a path, please".into()),
    }
}

/// Parses a number with the optional suffix `K`, `M` or `G`.
fn bytes(text: &str) -> Outcome<u64> {
    let (digits, unit) = match text.as_bytes().last() {
        Some(b'K') => (&text[..text.len() - 1], 1 << 10),
        Some(b'M') => (&text[..text.len() - 1], 1 << 20),
        Some(b'G') => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    Ok(digits.parse::<u64>()? * unit)
}

fn generate(path: &str, size: u64, rank: u32) -> Outcome<String> {
    let meter = Meter::start();
    let made = perf_testdata::kineto::write(&mut File::create(path)?, rank, size)?;
    Ok(format!(
        "bytes={} events={} work={} busy_ns={} {}",
        made.bytes,
        made.events,
        made.work,
        made.busy,
        meter.costs()
    ))
}

fn busy(paths: &[String]) -> Outcome<String> {
    let meter = Meter::start();
    let recording = open_ranks(paths, &OpenOptions::new(), &Job::default())?;
    let found = recording.diagnostics.clone();
    let trace = recording.into_trace().ok_or("no trace")?;
    let mut line = format!("events={} kept_bytes={}", trace.len(), trace.memory());
    for (device, (work, busy)) in devices(&trace) {
        let device = device.replace(' ', "");
        line += &format!(" {device}:work={work} {device}:busy_ns={busy}");
    }
    let (bad, costs) = (found.repairs(), meter.costs());
    let mut bytes = 0;
    for path in paths {
        bytes += std::fs::metadata(path)?.len();
    }
    Ok(format!("{line} bytes={bytes} repairs={bad} {costs}"))
}

fn hta(path: &str) -> Outcome<String> {
    let meter = Meter::start();
    let trace = open(path, &OpenOptions::new(), &Job::default())?
        .into_trace()
        .ok_or("no trace")?;
    let devices = Devices::new(trace.view(), &DeviceParams::new(), &Job::default())?;
    let params = HtaParams::default().include_last_profiler_step(true);
    let ranks = Hta::of(trace.view(), &params, &Job::default())?;
    let [found] = ranks.as_slice() else {
        return Err("not one rank".into());
    };
    if devices.events() != found.events + found.left_out {
        return Err("some work is neither counted nor left out".into());
    }
    let micros = |nanos: i64| nanos / 1_000;
    Ok(format!(
        "events={} busy_us={} compute_us={} non_compute_us={} span_us={} {}",
        trace.len(),
        micros(found.busy()),
        micros(found.compute),
        micros(found.non_compute),
        micros(found.total),
        meter.costs()
    ))
}

/// Returns the work and the busy time of each device.
fn devices(trace: &Trace) -> BTreeMap<String, (u64, u64)> {
    let system = &trace.definitions().system;
    let mut spans: BTreeMap<&str, Vec<TimeRange>> = BTreeMap::new();
    for view in trace.view().locations() {
        let Some(location) = system
            .location(view.id())
            .filter(|it| it.kind.may_overlap())
        else {
            continue;
        };
        let group = location.group.and_then(|id| system.group(id));
        let device = group.filter(|group| group.kind == GroupKind::Accelerator);
        let spans = spans
            .entry(device.map_or("", |group| &group.name))
            .or_default();
        intervals(
            view,
            |call| {
                spans.extend(TimeRange::new(call.start, call.end));
            },
            &Job::default(),
        )
        .expect("not cancelled");
    }
    let count = |(device, spans): (&str, Vec<TimeRange>)| {
        let work = spans.len() as u64;
        let busy = Utilisation::of(spans, TimeRange::ALL).busy;
        (device.to_owned(), (work, busy))
    };
    spans.into_iter().map(count).collect()
}
