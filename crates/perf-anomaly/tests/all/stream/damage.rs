//! Truncated and damaged streams give consistent results.

use perf_anomaly::calls::{Calls, Repair};
use perf_anomaly::{Copod, Detector, Hbos, Monitor, Report, Sstd, Tail};
use perf_core::{Diagnostics, EventSource, Job};
use perf_formats::adios::Adios;
use perf_formats::streams::Streams;
use perf_formats::{Error, OpenOptions};
use perf_testdata::damage;
use proptest::prelude::*;
use std::io::Cursor;
use std::path::Path;

fn table() -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/streams/miniapp.tsv");
    std::fs::read(path).unwrap()
}

/// Returns the table as lines of JSON, the first with names for numbers.
fn json() -> Vec<u8> {
    let text = String::from_utf8(table()).unwrap();
    let mut out = String::from("{\"event_type 0\":\"ENTRY\",\"event_type 1\":\"EXIT\"}\n");
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split('\t').collect();
    for (at, line) in lines.enumerate() {
        let fields = names.iter().zip(line.split('\t'));
        let field = |(name, value): (&&str, &str)| {
            if value.is_empty() {
                return None;
            }
            Some(match (*name, value) {
                ("kind", "ENTRY") => "\"kind\":0".into(),
                ("kind", "EXIT") => "\"kind\":1.0".into(),
                ("kind" | "name", _) => format!("\"{name}\":{value:?}"),
                ("bytes", _) if value.parse::<f64>().is_err() => format!("\"value\":{value:?}"),
                ("ts_us", _) if at % 2 == 0 => format!("\"ts_us\":{value}.0"),
                _ => format!("\"{name}\":{value}"),
            })
        };
        let all: Vec<String> = fields.filter_map(field).collect();
        out += &format!("{{{}}}\n", all.join(","));
    }
    out.into_bytes()
}

fn monitor(method: usize) -> Monitor {
    let strict = || Sstd::params().check().unwrap();
    let detector: Box<dyn Detector> = match method % 4 {
        0 => Box::new(Tail::default()),
        1 => Box::new(Sstd::new(strict())),
        2 => Box::new(Hbos::new(strict())),
        _ => Box::new(Copod::new(strict())),
    };
    let repair = if method == 0 {
        Repair::Mend
    } else {
        Repair::Strict
    };
    Monitor::new(
        Calls::new(Calls::params().repair(repair).check().unwrap()),
        detector,
    )
}

/// Reads to the end, and checks that the counts are consistent.
fn result(method: usize, mut source: impl EventSource<Error = Error>) -> Result<Report, Error> {
    let mut monitor = monitor(method);
    while source.next_step(&mut monitor, &Job::default())? {}
    let report = monitor.finish().unwrap();
    let (total, health) = (report.losses.total(), report.calls.health());
    assert_eq!(total.calls, health.calls);
    assert!(total.anomalies() + total.not_enough_data <= total.calls);
    let functions = report.losses.worst_functions();
    assert_eq!(
        functions.iter().map(|(_, loss)| loss.calls).sum::<u64>(),
        total.calls
    );
    assert!(total.time.0 >= 0);
    let closed = health.open_at_end + health.implicit + health.renamed + health.too_deep;
    assert!(health.calls * 2 <= health.functions + closed, "{health:?}");
    Ok(report)
}

fn text(method: usize, bytes: &[u8]) -> (Report, Diagnostics) {
    let from = Cursor::new(bytes.to_vec());
    let mut streams = Streams::read("damaged", from, &OpenOptions::new()).unwrap();
    let report = result(method, By(&mut streams)).unwrap_or_else(|error| panic!("{error}"));
    (report, streams.diagnostics().clone())
}

struct By<'a>(&'a mut Streams);

impl EventSource for By<'_> {
    type Error = Error;

    fn next_step(&mut self, sink: &mut dyn perf_core::EventSink, job: &Job) -> Result<bool, Error> {
        self.0.next_step(sink, job)
    }
}

#[test]
fn whole_streams_are_sound_in_both_forms() {
    for bytes in [table(), json()] {
        let (report, found) = text(0, &bytes);
        assert!(found.is_empty(), "{found}");
        assert_eq!(report.calls.health().events(), 592);
    }
}

#[test]
fn any_prefix_gives_a_result() {
    for bytes in [table(), json()] {
        let mut before = 0;
        for cut in (0..=100).chain((101..bytes.len()).step_by(331)) {
            let (report, found) = text(cut % 4, &bytes[..cut]);
            let events = report.calls.health().events();
            assert!(events >= before, "more of a stream has no fewer events");
            let is_line = cut == 0 || bytes[cut - 1] == b'\n';
            assert_eq!(found.is_empty(), is_line, "{cut}: {found}");
            before = events;
        }
        assert!(before > 500);
    }
}

#[test]
fn damaged_streams_give_a_result() {
    for (seed, bytes) in [table(), json()].into_iter().enumerate() {
        for (method, damaged) in damage::all(&bytes, 400, seed as u64 + 5).enumerate() {
            text(method % 4, &damaged);
        }
        // Damage from the first byte on.
        for at in 0..100 {
            let mut damaged = bytes.clone();
            for byte in [0, b'\t', b'\n', b'{', b'9', 0x1f, 0xff] {
                damaged[at] = byte;
                let (report, _) = text(0, &damaged);
                let events = report.calls.health().events();
                // The first line of JSON maps names to the numbers that all others use. A truncated
                // header does not state where counters have their values.
                let least = if byte == b'\n' { 400 } else { 580 };
                let is_kept = events > least || bytes.starts_with(b"{");
                assert!(is_kept, "byte {at} is {byte}: {events}");
            }
        }
    }
}

#[test]
fn damaged_files_of_tau_give_a_result() {
    let from =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/streams/tau-metrics-miniapp-1.bp");
    let folder = std::env::temp_dir().join(format!("perfkit-damage-{}.bp", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let members = ["md.idx", "md.0", "data.0"];
    for member in members {
        std::fs::copy(from.join(member), folder.join(member)).unwrap();
    }
    let read = |method: usize| {
        let source = Adios::open(&[&folder], &OpenOptions::new())?;
        result(method, source)
    };
    let events = read(0).unwrap().calls.health().events();
    for (seed, member) in members.into_iter().enumerate() {
        let whole = std::fs::read(folder.join(member)).unwrap();
        for cut in 0..=100.min(whole.len()) {
            std::fs::write(folder.join(member), &whole[..cut]).unwrap();
            let report = read(cut).unwrap_or_else(|error| panic!("{member} {cut}: {error}"));
            assert!(report.calls.health().events() <= events);
        }
        for (method, damaged) in damage::all(&whole, 120, seed as u64).enumerate() {
            std::fs::write(folder.join(member), damaged).unwrap();
            // Another version of the format, an unsupported form of tables, or no header at all.
            if let Err(error) = read(method) {
                let is_header = member == "md.idx" && matches!(error, Error::Malformed { .. });
                let is_told = is_header || matches!(error, Error::Unsupported { .. });
                assert!(is_told, "{member}: {error}");
            }
        }
        std::fs::write(folder.join(member), whole).unwrap();
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Random bytes, reordered lines, and truncation anywhere.
    #[test]
    fn any_prefix_of_a_damaged_stream_gives_a_result(
        cut in 0_usize..40_000,
        bytes in prop::collection::vec((0_usize..40_000, any::<u8>()), 0..30),
        lines in prop::collection::vec((0_usize..600, 0_usize..600), 0..6),
        is_json: bool,
        method in 0_usize..4,
    ) {
        let mut stream = if is_json { json() } else { table() };
        for (at, byte) in bytes {
            if let Some(old) = stream.get_mut(at) {
                *old = byte;
            }
        }
        let mut all: Vec<&[u8]> = stream.split_inclusive(|byte| *byte == b'\n').collect();
        for (a, b) in lines {
            if a.max(b) < all.len() {
                all.swap(a, b);
            }
        }
        let mut stream = all.concat();
        stream.truncate(cut);
        let from = Cursor::new(stream);
        let mut streams = Streams::read("damaged", from, &OpenOptions::new()).unwrap();
        // Only input without any valid beginning is rejected.
        if let Err(error) = result(method, By(&mut streams)) {
            prop_assert!(matches!(error, Error::Malformed { .. }), "{}", error);
        }
    }
}
