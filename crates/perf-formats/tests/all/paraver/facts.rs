//! Compares the Paraver traces of the corpus with the counts of a simple reader and the results of
//! the BSC tools.

use flate2::read::MultiGzDecoder;
use perf_core::{
    Collective, CollectiveOp, Event, Job, LocationId, Metric, Paradigm, Ticks, Trace,
    match_messages,
};
use perf_formats::paraver::{Reader, Record, Writer, object_of, read_trace};
use perf_formats::{OpenOptions, open};
use perf_testdata::corpus::corpus;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// All traces of the corpus.
fn traces() -> Vec<PathBuf> {
    let Some(root) = corpus("paraver") else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for folder in std::fs::read_dir(root).unwrap() {
        let folder = folder.unwrap().path();
        for file in folder.read_dir().into_iter().flatten() {
            let path = file.unwrap().path();
            let name = path.to_string_lossy().into_owned();
            if name.ends_with(".prv") || name.ends_with(".prv.gz") {
                all.push(path);
            }
        }
    }
    all.sort();
    assert!(all.len() >= 13, "{all:?}");
    all
}

fn text(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap();
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return bytes;
    }
    let mut text = Vec::new();
    let mut unpacked = MultiGzDecoder::new(bytes.as_slice());
    unpacked.read_to_end(&mut text).unwrap();
    text
}

fn trace(path: &Path) -> Trace {
    let (trace, found) = read_trace(path, &OpenOptions::new(), &Job::default()).unwrap();
    assert_eq!(found.repairs(), 0, "{}: {found}", path.display());
    trace
}

/// Counts by line type, by state and by event type, with lines split at colons like in awk.
#[derive(Debug, Default, PartialEq)]
struct Counts {
    lines: BTreeMap<char, usize>,
    states: BTreeMap<u64, (usize, u64)>,
    events: BTreeMap<u64, (usize, u64)>,
    bytes: u64,
}

fn naive(text: &str) -> Counts {
    let mut counts = Counts::default();
    for line in text.lines().skip(1) {
        let kind = line.chars().next().unwrap_or(' ');
        *counts.lines.entry(kind).or_default() += 1;
        let fields: Vec<&str> = line.split(':').collect();
        let number = |index: usize| fields[index].parse::<u64>().unwrap();
        match kind {
            '1' => {
                let state = counts.states.entry(number(7)).or_default();
                *state = (state.0 + 1, state.1 + number(6) - number(5));
            }
            '2' => {
                for at in (6..fields.len()).step_by(2) {
                    let event = counts.events.entry(number(at)).or_default();
                    *event = (event.0 + 1, event.1.wrapping_add(number(at + 1)));
                }
            }
            '3' => counts.bytes += number(13),
            _ => {}
        }
    }
    counts
}

fn ours(text: &[u8], options: &OpenOptions) -> Counts {
    let mut reader = Reader::new(text, "x", options, &Job::default()).unwrap();
    let mut counts = Counts::default();
    while let Some(batch) = reader.next_batch().unwrap() {
        for record in batch.iter() {
            let kind = match record {
                Record::State {
                    begin, end, state, ..
                } => {
                    let count = counts.states.entry(state.into()).or_default();
                    *count = (count.0 + 1, count.1 + end.0 - begin.0);
                    '1'
                }
                Record::Events { pairs, .. } => {
                    for pair in pairs {
                        let count = counts.events.entry(pair.kind.into()).or_default();
                        *count = (count.0 + 1, count.1.wrapping_add(pair.bits()));
                    }
                    '2'
                }
                Record::Communication(message) => {
                    counts.bytes += message.size;
                    '3'
                }
                Record::Communicator { .. } => 'c',
                Record::Comment(_) => '#',
                Record::Blank => ' ',
                other => panic!("{other:?}"),
            };
            *counts.lines.entry(kind).or_default() += 1;
        }
    }
    counts
}

#[test]
fn every_record_is_counted() {
    for path in traces() {
        let text = text(&path);
        let expected = naive(str::from_utf8(&text).unwrap());
        for threads in [1, 3] {
            let options = OpenOptions::new().strict(true).threads(threads);
            assert_eq!(ours(&text, &options), expected, "{}", path.display());
        }
    }
}

#[test]
fn every_trace_is_written_as_it_stood() {
    for path in traces() {
        let text = text(&path);
        for threads in [1, 2] {
            let options = OpenOptions::new().threads(threads);
            let mut reader = Reader::open(&path, &options, &Job::default()).unwrap();
            let mut writer = Writer::new(Vec::new(), "copy.prv");
            // Headers in the usual format are reproduced from their parts.
            assert_eq!(
                reader.header_text().strip_suffix(b"\n").unwrap(),
                reader.header().to_string().as_bytes()
            );
            writer.header(reader.header()).unwrap();
            let mut by_line = Writer::new(Vec::new(), "lines.prv");
            by_line.text(reader.header_text()).unwrap();
            while let Some(batch) = reader.next_batch().unwrap() {
                writer.batch(batch).unwrap();
                for record in batch.iter() {
                    by_line.line(record).unwrap();
                }
            }
            let same = writer.finish().unwrap() == text;
            assert!(same, "{}", path.display());
            assert!(by_line.finish().unwrap() == text, "{}", path.display());
        }
    }
}

#[test]
fn every_trace_opens_strictly_and_for_any_number_of_threads() {
    for path in traces() {
        let strict = OpenOptions::new().strict(true).threads(1);
        let one = open(&path, &strict, &Job::default()).unwrap();
        assert_eq!(one.format, "paraver");
        let many = open(&path, &OpenOptions::new().threads(3), &Job::default()).unwrap();
        assert!(one == many, "{}", path.display());
        println!(
            "{}: {} events\n{}",
            path.display(),
            one.trace().unwrap().len(),
            one.diagnostics
        );
    }
}

/// Returns the frames of a region: thread, begin and end.
fn frames(trace: &Trace, name: &str) -> Vec<(LocationId, u64, u64)> {
    let regions = &trace.definitions().regions;
    let mut all = Vec::new();
    for location in trace.view().locations() {
        let mut begin = None;
        for (at, event) in location.iter() {
            match event {
                Event::Enter { region } if regions[region.index()].name == name => begin = Some(at),
                Event::Leave { region } if regions[region.index()].name == name => {
                    all.push((location.id(), begin.take().unwrap().0, at.0));
                }
                _ => {}
            }
        }
    }
    all
}

#[test]
fn running_is_as_often_as_the_tools_say() {
    for (name, bursts, seconds) in [
        ("epoch/epoch_2proc", 3_494, 11.5),
        ("epoch/epoch_4proc", 7_508, 6.1),
        ("epoch/epoch_16proc", 30_712, 2.3),
    ] {
        let Some(path) = corpus(&format!("paraver/{name}.prv.gz")) else {
            return;
        };
        let trace = trace(&path);
        assert_eq!(frames(&trace, "Running").len(), bursts, "{name}");
        let clock = trace.definitions().clock;
        let end = trace.range().unwrap().end;
        let ran = clock.nanos(end).unwrap().seconds();
        assert!((ran - seconds).abs() < 0.06, "{name}: {ran}");
        // As in the header, except for the instant after the last event.
        let duration: u64 = trace.definitions().properties[1].1.parse().unwrap();
        assert!(end.0 - 1 <= duration, "{name}");
        for location in trace.view().locations() {
            let counts = perf_core::replay(location, &mut Nothing, &Job::default()).unwrap();
            assert_eq!(counts.repairs(), 0, "{name}: {counts:?}");
        }
    }
}

struct Nothing;

impl perf_core::Visitor for Nothing {
    fn enter(&mut self, _: Ticks, _: perf_core::RegionId, _: usize) {}
    fn leave(&mut self, _: Ticks, _: perf_core::RegionId, _: usize, _: perf_core::Close) {}
}

#[test]
fn openmp_bursts_are_as_many_as_the_tools_say() {
    let Some(path) = corpus("paraver/imagemagick_omp/omp8.prv.gz") else {
        return;
    };
    let trace = trace(&path);
    let running = frames(&trace, "Running");
    let long = running
        .iter()
        .filter(|(_, begin, end)| end - begin >= 100_000);
    // The tools count 27,033, because one has no counters at its end.
    assert_eq!(long.count(), 27_034);
    assert_eq!(trace.definitions().system.locations().len(), 8);
}

#[test]
fn counters_are_those_of_the_clustering_suite() {
    for (reference, name) in [
        ("e2", "epoch_2proc"),
        ("e4", "epoch_4proc"),
        ("e16", "epoch_16proc"),
    ] {
        let Some(path) = corpus(&format!("paraver/epoch/{name}.prv.gz")) else {
            return;
        };
        let trace = trace(&path);
        let bursts = bursts(&trace);
        let table = corpus(&format!("paraver/reference/{reference}.DATA.csv")).unwrap();
        let table = std::fs::read_to_string(table).unwrap();
        let mut lines = table.lines();
        let head: Vec<&str> = lines.next().unwrap().split(',').map(str::trim).collect();
        let mut rows = 0;
        for line in lines {
            let cells: Vec<&str> = line.split(',').map(str::trim).collect();
            let number = |index: usize| cells[index].parse::<u64>().unwrap();
            let key = (number(1), number(2), number(3));
            let (end, counters) = &bursts[&key];
            assert_eq!((*end, end - key.2), (number(4), number(5)), "{line}");
            for (column, title) in head.iter().enumerate() {
                if let Some(counter) = title.strip_prefix("x_") {
                    assert_eq!(counters[counter], number(column), "{title}: {line}");
                }
            }
            rows += 1;
        }
        assert!(rows > 100, "{rows}");
    }
}

/// Values by the name of the counter.
type Counters = BTreeMap<String, u64>;

/// Returns for each running state (task, thread, begin) its end and the counters read there.
fn bursts(trace: &Trace) -> BTreeMap<(u64, u64, u64), (u64, Counters)> {
    let definitions = trace.definitions();
    let mut all = BTreeMap::new();
    for location in trace.view().locations() {
        let of = &definitions.system.locations()[location.id().index()];
        let object = object_of(of).unwrap();
        let (mut begin, mut last) = (0, (Ticks(0), BTreeMap::new()));
        for (at, event) in location.iter() {
            match event {
                Event::Metric { set, values } => {
                    if last.0 != at {
                        last = (at, BTreeMap::new());
                    }
                    let members = &definitions.metric_sets[set.index()].members;
                    for (metric, value) in members.iter().zip(values) {
                        let Metric { name, .. } = &definitions.metrics[metric.index()];
                        *last.1.entry(name.clone()).or_default() += value;
                    }
                }
                Event::Enter { region } if definitions.region_name(region) == "Running" => {
                    begin = at.0;
                }
                Event::Leave { region } if definitions.region_name(region) == "Running" => {
                    let key = (object.task - 1, object.thread - 1);
                    let key = (key.0.into(), key.1.into(), begin);
                    // Counters precede the leave of their burst.
                    let read = if last.0 == at {
                        last.1.clone()
                    } else {
                        BTreeMap::new()
                    };
                    all.insert(key, (at.0, read));
                }
                _ => {}
            }
        }
    }
    all
}

#[test]
fn callers_precede_their_calls() {
    let Some(path) = corpus("paraver/epoch/epoch_16proc.prv.gz") else {
        return;
    };
    let trace = trace(&path);
    let definitions = trace.definitions();
    let (mut samples, mut before_calls) = (0, 0);
    for location in trace.view().locations() {
        let events: Vec<_> = location.iter().collect();
        for (index, (at, event)) in events.iter().enumerate() {
            if let Event::Sample { context } = event {
                samples += 1;
                if let Some((time, Event::Enter { region })) = events.get(index + 1) {
                    let region = &definitions.regions[region.index()];
                    before_calls += usize::from(time == at && region.is_mpi());
                }
                assert!(definitions.contexts.path(*context).len() <= 3);
            }
        }
    }
    // Each MPI call except those that Extrae records without callers.
    assert_eq!((samples, before_calls), (30_648, 30_648));
    // A line of the .pcf: 85 (deck.F90, epoch2d).
    let known = definitions.regions.iter().any(|region| {
        region.file.as_deref() == Some("deck.F90") && region.name == "__deck_MOD_read_deck"
    });
    assert!(known);
}

#[test]
fn messages_and_collectives_meet() {
    for (name, messages, tasks) in [
        ("epoch/epoch_2proc.prv.gz", 1_156, 2),
        ("epoch/epoch_16proc.prv.gz", 10_556, 16),
    ] {
        let Some(path) = corpus(&format!("paraver/{name}")) else {
            return;
        };
        let trace = trace(&path);
        let found = match_messages(trace.view(), &Job::default()).unwrap();
        assert_eq!(found.messages.len(), messages, "{name}");
        assert_eq!(found.causes(), BTreeMap::new(), "{name}");
        let counts = naive(str::from_utf8(&text(&path)).unwrap());
        let bytes: u64 = found.messages.iter().map(|message| message.bytes).sum();
        assert_eq!(bytes, counts.bytes);
        // All tasks take part in each of them, and each broadcast has a root.
        assert_eq!(
            found.collectives.len() * tasks,
            counts.events[&50_100_001].0
        );
        for one in &found.collectives {
            assert_eq!(one.members.len(), tasks, "{name}");
            let is_rooted = matches!(one.op, CollectiveOp::Bcast | CollectiveOp::Reduce);
            assert_eq!(one.root.is_some(), is_rooted, "{name}: {one:?}");
        }
        let sent: u64 = found
            .collectives
            .iter()
            .flat_map(|one| &one.members)
            .map(|m| m.sent)
            .sum();
        assert_eq!(sent, counts.events[&50_100_001].1);
    }
}

#[test]
fn a_window_of_a_trace_has_the_collectives_of_the_whole() {
    let Some(path) = corpus("paraver/epoch/epoch_4proc.prv.gz") else {
        return;
    };
    let whole = trace(&path);
    let range = whole.view().range().unwrap();
    let ends = |trace: &Trace| -> Vec<(LocationId, Ticks, Collective)> {
        let mut all = Vec::new();
        for location in trace.view().locations() {
            all.extend(location.iter().filter_map(|(at, event)| match event {
                Event::CollectiveEnd(end) => Some((location.id(), at, end)),
                _ => None,
            }));
        }
        all
    };
    let all = ends(&whole);
    assert!(all.iter().filter(|(.., end)| end.root.is_some()).count() > 20);
    let at = |share: f64| Ticks(range.start.0 + (share * range.end.0 as f64) as u64);
    for (start, end) in [(0.0, 0.3), (0.3, 0.6), (0.05, 0.051), (0.6, 1.1)] {
        let window = perf_core::TimeRange::new(at(start), at(end)).unwrap();
        let options = OpenOptions::new().window(window);
        let (part, _) =
            perf_formats::paraver::read_trace(&path, &options, &Job::default()).unwrap();
        let mut expected = all.clone();
        expected.retain(|(_, at, _)| window.contains(*at));
        assert_eq!(ends(&part), expected, "{window:?}");
    }
}

#[test]
fn several_applications_are_apart() {
    let file = "paraver/lulesh/lulesh_4+4_with_uncores_sockets1+2.chop_5it.prv";
    let Some(path) = corpus(file) else {
        return;
    };
    let trace = trace(&path);
    let locations = trace.definitions().system.locations();
    let objects: Vec<_> = locations.iter().filter_map(object_of).collect();
    let of = |application: u32| {
        let mut all = objects.iter();
        all.by_ref()
            .filter(|object| object.application == application)
            .count()
    };
    assert_eq!((of(1), of(2), objects.len()), (8, 12, 20));
    assert_eq!(
        match_messages(trace.view(), &Job::default())
            .unwrap()
            .messages
            .len(),
        484
    );
    assert_eq!(frames(&trace, "Running").len(), 2_140);
    // Every second thread is a pseudo-application with counters only.
    let paradigms: Vec<Paradigm> = trace
        .definitions()
        .regions
        .iter()
        .map(|r| r.paradigm)
        .collect();
    assert!(paradigms.contains(&Paradigm::Mpi));
}

#[test]
fn samples_and_functions_of_a_sampled_run_are_read() {
    let Some(path) = corpus("paraver/namd/444.namd.prv") else {
        return;
    };
    let trace = trace(&path);
    let samples = |(_, event): &(Ticks, Event<'_>)| matches!(event, Event::Sample { .. });
    let location = trace.location(LocationId(0)).unwrap();
    assert_eq!(location.iter().filter(samples).count(), 27_829);
    assert_eq!(frames(&trace, "main").len(), 38);
}

#[test]
fn companions_open_the_trace_beside_them() {
    for end in ["pcf", "row", "prv.gz"] {
        let Some(path) = corpus(&format!("paraver/epoch/epoch_2proc.{end}")) else {
            return;
        };
        let recording = open(&path, &OpenOptions::new(), &Job::default()).unwrap();
        assert_eq!(recording.trace().unwrap().events().len(), 2, "{end}");
    }
    // A companion without its trace is not readable.
    let alone = corpus("paraver/par_labs/boada_lab3_for_point_mandel-omp_8_STATIC.pcf").unwrap();
    assert!(open(alone, &OpenOptions::new(), &Job::default()).is_err());
}
