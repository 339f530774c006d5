//! Tests that one damaged byte affects only its record and a few others, and that no event is
//! invented.

#![cfg(feature = "chrome")]
use crate::common::archives;

use perf_core::{Diagnostics, Events, Job, Trace};
use perf_formats::otf2::{MemoryArchive, Reader, WriteOptions};
use perf_formats::{OpenOptions, chrome};
use perf_testdata::corpus::corpus;
use perf_testdata::damage;
use perf_testdata::many_ranks;
use perf_testdata::xorshift::Xorshift;
use std::collections::HashMap;
use std::io::Read;

/// Returns the number of events by kind and time.
fn census(events: &Events, trace: &Trace) -> HashMap<(u64, String), i64> {
    let mut all = HashMap::new();
    for (index, at) in events.times().iter().enumerate() {
        let event = events.event(index).unwrap();
        let name = match event {
            perf_core::Event::Enter { region } | perf_core::Event::Leave { region } => {
                trace.definitions().regions[region.index()].name.clone()
            }
            _ => String::new(),
        };
        let kind = format!("{event:?}");
        let kind = if name.is_empty() {
            kind
        } else {
            format!("{} {name}", kind.split(' ').next().unwrap_or_default())
        };
        *all.entry((at.0, kind)).or_default() += 1;
    }
    all
}

/// Returns the number of events of `whole` that are not in `part`, and the reverse.
fn difference(
    whole: &HashMap<(u64, String), i64>,
    part: &HashMap<(u64, String), i64>,
) -> (i64, i64) {
    let lost = |a: &HashMap<_, i64>, b: &HashMap<_, i64>| -> i64 {
        let left = |(key, count): (&(u64, String), &i64)| {
            (count - b.get(key).copied().unwrap_or_default()).max(0)
        };
        a.iter().map(left).sum()
    };
    (lost(whole, part), lost(part, whole))
}

/// Sums over many damaged copies of one recording.
#[derive(Debug, Default)]
struct Sums {
    cases: i64,
    events: i64,
    lost: i64,
    made_up: i64,
    worst: i64,
    failed: i64,
    silent: i64,
}

impl Sums {
    fn lost_percent(&self) -> f64 {
        100.0 * self.lost as f64 / (self.cases * self.events).max(1) as f64
    }

    fn add(&mut self, (lost, made_up): (i64, i64), found: &Diagnostics, before: &Diagnostics) {
        self.cases += 1;
        self.lost += lost;
        self.made_up += made_up;
        self.worst = self.worst.max(lost);
        if lost > 2 && found.repairs() == before.repairs() {
            self.silent += 1;
        }
    }
}

fn read(members: &MemoryArchive) -> perf_formats::Result<(Trace, Diagnostics)> {
    Reader::new(members, &OpenOptions::new().threads(1), &Job::default())?.read()
}

fn archives() -> Vec<(String, MemoryArchive)> {
    let trace = many_ranks::trace(2, 6_000);
    let options = WriteOptions::default().with_chunks(1 << 14, 1 << 16);
    let names = [
        "pipit-pingpong",
        "tracer-stencil4d-32",
        "casita-4_mpi_ls_barr",
        "casita-2_cuda_simple",
        "eztrace-heat4",
        "apex-json-converter",
    ];
    archives::with_corpus(&trace, &options, &names)
}

#[test]
fn a_damaged_byte_of_an_event_file_costs_few_events() {
    let mut random = Xorshift::new(0x5eed);
    for (name, whole) in archives() {
        let (trace, before) = read(&whole).unwrap();
        let longest = whole.iter().filter(|(name, _)| name.ends_with(".evt"));
        let (member, bytes) = longest.max_by_key(|(_, bytes)| bytes.len()).unwrap();
        let key: u64 = member.rsplit_once('/').unwrap().1[..]
            .trim_end_matches(".evt")
            .parse()
            .unwrap();
        let system = &trace.definitions().system;
        let location = system.locations().iter().position(|one| one.key == key);
        let location = location.unwrap();
        let truth = census(&trace.events()[location], &trace);
        let mut sums = Sums {
            events: trace.events()[location].len() as i64,
            ..Sums::default()
        };
        let cases = 240.min(40_000_000 / bytes.len().max(1)).max(24);
        for _ in 0..cases {
            let mut members = whole.clone();
            let changed = damage::one_byte(bytes, &mut random).apply(bytes);
            members.insert(member, changed);
            let (damaged, found) = read(&members).unwrap();
            let seen = census(&damaged.events()[location], &damaged);
            let (lost, made_up) = difference(&truth, &seen);
            sums.add((lost, made_up), &found, &before);
        }
        println!("{name}: {:.3} % lost, {sums:?}", sums.lost_percent());
        // In addition to the record itself, those that share its timestamp or are held at it.
        assert!(sums.lost <= 4 * sums.cases, "{name}: {sums:?}");
        assert!(sums.made_up <= 2 * sums.cases, "{name}: {sums:?}");
        assert_eq!(sums.silent, 0, "{name}: {sums:?}");
    }
}

fn text(path: &std::path::Path) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap();
    let mut text = Vec::new();
    if bytes.starts_with(&[0x1f, 0x8b]) {
        flate2::read::MultiGzDecoder::new(&bytes[..])
            .read_to_end(&mut text)
            .map(drop)
            .unwrap()
    } else {
        text = bytes
    }
    text
}

fn all_events(trace: &Trace) -> HashMap<(u64, String), i64> {
    let mut all = HashMap::new();
    for events in trace.events() {
        for (key, count) in census(events, trace) {
            *all.entry(key).or_default() += count;
        }
    }
    all
}

#[test]
fn a_damaged_byte_of_json_costs_few_events() {
    let mut random = Xorshift::new(0x5eed);
    let mut texts = Vec::new();
    for name in [
        "gpu/hta/tests/data/trace_filter/sampled_rank-0.json.gz",
        "gpu/param/dlrm_kineto/worker0_step_12.1694128201545.pt.trace.json",
        "gpu/tracelens/tests/traces/mi210/gpu_only_trace/gpu_only_trace.json.gz",
        "gpu/xplane/jax08-gemm-mi300.trace.json.gz",
    ] {
        if let Some(path) = corpus(name) {
            texts.push((name, text(&path)));
        }
    }
    for (name, text) in texts {
        let open = |text: &[u8]| {
            let text = std::io::Cursor::new(text.to_vec());
            chrome::read(
                "text",
                text,
                &OpenOptions::new().threads(1),
                &Job::default(),
            )
        };
        let Ok(whole) = open(&text) else { continue };
        let before = whole.diagnostics.clone();
        let whole = whole.into_trace().unwrap();
        let truth = all_events(&whole);
        let mut sums = Sums {
            events: whole.len() as i64,
            ..Sums::default()
        };
        for _ in 0..200.min(60_000_000 / text.len()).max(20) {
            let changed = damage::one_byte(&text, &mut random).apply(&text);
            match open(&changed) {
                Ok(damaged) => {
                    let found = damaged.diagnostics.clone();
                    let damaged = damaged.into_trace().unwrap();
                    let seen = all_events(&damaged);
                    let (lost, made_up) = difference(&truth, &seen);
                    sums.add((lost, made_up), &found, &before);
                }
                Err(error) => {
                    sums.add((sums.events, 0), &before, &before);
                    sums.failed += 1;
                    println!("{name}: {error}");
                }
            }
        }
        println!("{name}: {:.3} % lost, {sums:?}", sums.lost_percent());
        assert!(sums.worst <= 10, "{name}: {sums:?}");
        assert!(sums.lost <= 2 * sums.cases, "{name}: {sums:?}");
        assert!(sums.made_up <= 2 * sums.cases, "{name}: {sums:?}");
        assert_eq!((sums.failed, sums.silent), (0, 0), "{name}: {sums:?}");
    }
}
