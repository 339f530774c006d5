//! Tests of the streams of the corpus in BP3, BP4 and BP5 against their facts.

use super::*;
use perf_core::{EventSink, MetricId, Nanos, RegionId, StreamEvent, StreamId, StreamKey};
use perf_testdata::corpus::corpus;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Returns the folder of the streams and the facts of each stream.
fn facts() -> Option<(PathBuf, Vec<(String, Value)>)> {
    let folder = corpus("streams")?;
    let text = fs::read_to_string(folder.join("facts.json")).unwrap();
    // The sums exceed 64 bits; they are compared as text.
    let mut parts = text.split("\"timestamp_sum\": ");
    let mut quoted = parts.next().unwrap().to_string();
    for part in parts {
        let (sum, rest) = part.split_once(',').unwrap();
        quoted += &format!("\"timestamp_sum\": \"{sum}\",{rest}");
    }
    let facts: Value = serde_json::from_str(&quoted).unwrap();
    let files = facts["files"].as_object().unwrap().clone();
    Some((folder, files.into_iter().collect()))
}

/// A sink that counts.
#[derive(Debug, Default)]
struct Counts {
    regions: Vec<(u32, String)>,
    metrics: BTreeSet<String>,
    streams: Vec<StreamKey>,
    used: BTreeSet<StreamKey>,
    metadata: BTreeSet<(StreamKey, String)>,
    /// Number of functions, counters and messages of each ended step.
    steps: Vec<(u64, [u64; 3])>,
    now: [u64; 3],
    enters: BTreeMap<u32, u64>,
    exits: u64,
    sends: u64,
    receives: u64,
    bytes: u64,
    times: Vec<i64>,
}

impl Counts {
    fn of(path: &Path, options: &OpenOptions) -> (Self, String) {
        let mut source = Adios::open(&[path], options).unwrap();
        let mut counts = Counts::default();
        while source.next_step(&mut counts, &Job::default()).unwrap() {}
        (counts, source.diagnostics().to_string())
    }

    /// Returns the calls by name of the function.
    fn calls(&self) -> BTreeMap<&str, u64> {
        let mut calls = BTreeMap::new();
        for (region, count) in &self.enters {
            let (_, name) = &self.regions[*region as usize];
            *calls.entry(name.as_str()).or_default() += count;
        }
        calls
    }
}

impl EventSink for Counts {
    fn region(&mut self, program: u32, name: &str) -> RegionId {
        let key = (program, name.to_string());
        let at = self.regions.iter().position(|known| *known == key);
        RegionId(at.unwrap_or_else(|| {
            self.regions.push(key);
            self.regions.len() - 1
        }) as u32)
    }
    fn counter(&mut self, name: &str) -> MetricId {
        self.metrics.insert(name.into());
        MetricId(0)
    }
    fn stream(&mut self, key: StreamKey) -> StreamId {
        self.streams.push(key);
        StreamId(self.streams.len() as u32 - 1)
    }
    fn push(&mut self, stream: StreamId, at: Nanos, event: StreamEvent) {
        self.used.insert(self.streams[stream.index()]);
        self.times.push(at.0 / 1000);
        let kind = match event {
            StreamEvent::Enter(region) => {
                *self.enters.entry(region.0).or_default() += 1;
                0
            }
            StreamEvent::Exit(_) => {
                self.exits += 1;
                0
            }
            StreamEvent::Counter(..) => 1,
            StreamEvent::Send(peer) => {
                self.sends += 1;
                self.bytes += peer.bytes;
                2
            }
            StreamEvent::Receive(peer) => {
                self.receives += 1;
                self.bytes += peer.bytes;
                2
            }
            other => panic!("{other:?}"),
        };
        self.now[kind] += 1;
    }
    fn metadata(&mut self, stream: StreamId, name: &str, _: &str) {
        let key = self.streams[stream.index()];
        self.metadata.insert((key, name.into()));
    }
    fn end_step(&mut self, step: u64) {
        self.steps.push((step, std::mem::take(&mut self.now)));
    }
}

#[test]
fn streams_of_the_corpus_have_the_events_that_the_library_reads() {
    let Some((folder, files)) = facts() else {
        return;
    };
    assert_eq!(files.len(), 14);
    for (name, facts) in &files {
        let (seen, notes) = Counts::of(&folder.join(name), &OpenOptions::new());
        // A writer that was killed is the only thing to report.
        let is_closed = facts["active"] != 1;
        assert_eq!(notes.is_empty(), is_closed, "{name}: {notes}");
        assert!(is_closed || notes.contains("unclosed"), "{name}: {notes}");
        let sum: i128 = seen.times.iter().map(|time| i128::from(*time)).sum();
        assert_eq!(facts["timestamp_sum"], sum.to_string(), "{name}");
        let steps: Vec<Value> = facts["per_step"]
            .as_array()
            .unwrap()
            .iter()
            .map(|step| json!([step["function"], step["counter"], step["comm"]]))
            .collect();
        let found: Vec<Value> = seen.steps.iter().map(|(_, counts)| json!(counts)).collect();
        assert_eq!(found, steps, "{name}");
        assert!(
            seen.steps
                .iter()
                .map(|(step, _)| *step)
                .eq(0..steps.len() as u64)
        );
        assert_eq!(facts["steps"], steps.len(), "{name}");
        if facts["check"] == "library only" {
            continue;
        }
        let expected = |key: &str| &facts[key];
        let enters: u64 = seen.enters.values().sum();
        let events = json!({ "ENTRY": enters, "EXIT": seen.exits });
        assert_eq!(*expected("function_events"), events, "{name}");
        let counters: u64 = seen.steps.iter().map(|(_, counts)| counts[1]).sum();
        assert_eq!(*expected("counter_events"), counters, "{name}");
        let messages = match seen.sends + seen.receives {
            0 => json!({}),
            _ => json!({ "SEND": seen.sends, "RECV": seen.receives }),
        };
        assert_eq!(*expected("comm_events"), messages, "{name}");
        assert_eq!(*expected("comm_bytes"), seen.bytes, "{name}");
        let calls = seen.calls();
        assert_eq!(*expected("functions_called"), calls.len(), "{name}");
        for (function, count) in facts["top_functions"].as_object().unwrap() {
            // The facts count enters and exits.
            assert_eq!(count, 2 * calls[function.as_str()], "{name}: {function}");
        }
        let programs: BTreeSet<u32> = seen.used.iter().map(|key| key.program).collect();
        assert_eq!(*expected("program_ids"), json!(programs), "{name}");
        let ranks: BTreeSet<(u32, u32)> = seen
            .used
            .iter()
            .map(|key| (key.program, key.rank))
            .collect();
        assert_eq!(*expected("ranks"), ranks.len(), "{name}");
        assert_eq!(*expected("threads"), seen.used.len(), "{name}");
        assert_eq!(*expected("metadata"), seen.metadata.len(), "{name}");
        assert!(seen.metrics.len() as u64 <= facts["counters"].as_u64().unwrap());
        assert_eq!(
            *expected("first_us"),
            *seen.times.iter().min().unwrap(),
            "{name}"
        );
        assert_eq!(
            *expected("last_us"),
            *seen.times.iter().max().unwrap(),
            "{name}"
        );
    }
}

/// The writers of the same run wrote the same events in several formats.
#[test]
fn the_formats_of_one_run_have_the_same_events() {
    let Some(folder) = corpus("streams") else {
        return;
    };
    let events = |paths: &[&str]| -> Vec<String> {
        let paths: Vec<PathBuf> = paths.iter().map(|path| folder.join(path)).collect();
        let mut source = Adios::open(&paths, &OpenOptions::new()).unwrap();
        let seen = read(&mut source).unwrap();
        let mut events: Vec<String> = seen.events().into_iter().map(String::from).collect();
        events.sort_unstable();
        events
    };
    let zero = events(&["bp3-real/tau-metrics-0.bp"]);
    assert_eq!(zero.len(), 3264);
    for same in [
        "bp5/heat2d-0.bp",
        "bp4/heat2d-0.bp",
        // A data file has an index of its own.
        "bp3-real/tau-metrics-0.bp.dir/tau-metrics-0.bp.0",
    ] {
        assert!(events(&[same]) == zero, "{same}");
    }
    let one = events(&["bp3-real/tau-metrics-1.bp"]);
    for same in ["bp5/heat2d-1-steps.bp", "bp3/heat2d-1-steps.bp"] {
        assert!(events(&[same]) == one, "{same}");
    }
    let two = events(&["bp3-real/tau-metrics-2.bp"]);
    assert!(events(&["bp5/heat2d-2-flush.bp"]) == two);
    // Files of several formats are ranks of one run.
    let mixed = ["bp5/heat2d-0.bp", "bp3/heat2d-1-steps.bp"];
    let mut both = [zero, one].concat();
    both.sort_unstable();
    assert!(events(&mixed) == both);
}

#[test]
fn a_folder_of_bp3_files_opens_as_a_trace() {
    let Some(folder) = corpus("streams/bp3-real") else {
        return;
    };
    let recording = open(&folder, &OpenOptions::new(), &Job::default()).unwrap();
    assert_eq!(recording.format, "adios");
    let trace = recording.into_trace().unwrap();
    // Six ranks with two threads each.
    assert_eq!(trace.definitions().system.locations().len(), 12);
    for bp5 in ["heat2d-0.bp", "heat2d-3-unclosed.bp"] {
        let path = folder.join("../bp5").join(bp5);
        let recording = open(path, &OpenOptions::new(), &Job::default()).unwrap();
        assert!(!recording.into_trace().unwrap().is_empty());
    }
}

/// Copies a file or folder, and returns the paths of all copied files.
fn copy_all(from: &Path, to: &Path, files: &mut Vec<PathBuf>) {
    if from.is_dir() {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let name = entry.unwrap().file_name();
            copy_all(&from.join(&name), &to.join(&name), files);
        }
    } else {
        fs::write(to, fs::read(from).unwrap()).unwrap();
        files.push(to.into());
    }
}

#[test]
fn damaged_files_of_the_corpus_give_a_located_error_or_a_count() {
    let Some(folder) = corpus("streams") else {
        return;
    };
    for (name, parts) in [
        ("bp3-real/tau-metrics-3.bp", &["", ".dir"][..]),
        ("bp5/heat2d-2-flush.bp", &[""]),
    ] {
        let to = scratch("corpus-damage").join("tau-metrics-3.bp");
        let mut files = Vec::new();
        for part in parts {
            let with = |path: &Path| PathBuf::from(format!("{}{part}", path.display()));
            let data = PathBuf::from(format!("{}{part}", to.display()));
            copy_all(&with(&folder.join(name)), &data, &mut files);
        }
        // The data folder names its files after the file.
        let opened = || {
            let mut source = Adios::open(&[&to], &OpenOptions::new())?;
            let seen = read(&mut source)?;
            Ok((seen.events().len(), source.diagnostics().is_empty()))
        };
        let (all, _) = opened().unwrap();
        assert!(all > 2000, "{name}: {all}");
        for file in &files {
            if file.ends_with("profiling.json") {
                continue;
            }
            let whole = fs::read(file).unwrap();
            let check = |bytes: &[u8], is_cut: bool| {
                fs::write(file, bytes).unwrap();
                let outcome: perf_formats::Result<(usize, bool)> = opened();
                match outcome {
                    Ok((events, is_quiet)) => {
                        assert!(!is_cut || events <= all, "{}", file.display());
                        // All that was read is there if nothing is reported, except for the
                        // end of a growing index.
                        let is_index = file.ends_with("md.idx");
                        let is_less = is_cut && events < all;
                        assert!(!is_less || !is_quiet || is_index, "{}", file.display());
                    }
                    Err(error) => {
                        let is_header = !file.ends_with("md.0") && !file.ends_with("data.0");
                        let is_unsupported = matches!(error, Error::Unsupported { .. });
                        assert!(is_header || is_unsupported, "{error}");
                        assert!(error.place().is_some(), "{error}");
                    }
                }
            };
            for cut in (0..whole.len()).step_by(whole.len() / 60 + 1) {
                check(&whole[..cut], true);
            }
            for bytes in damage::all(&whole, 120, 11) {
                check(&bytes, false);
            }
            fs::write(file, whole).unwrap();
        }
    }
}
