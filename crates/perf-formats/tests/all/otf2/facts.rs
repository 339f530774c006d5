//! Compares every archive of the corpus with its facts: counts by type and location, sums of
//! corrected times, leaves by rule.

use perf_core::{Close, Event, Job, Location, RegionId, Ticks, Trace, Visitor, replay};
use perf_formats::otf2::{Reader, record_name};
use perf_formats::{OpenOptions, open};
use perf_testdata::corpus::corpus;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

type Counts = BTreeMap<String, u64>;

fn counts(facts: &Value) -> Counts {
    let facts = facts.as_object().into_iter().flatten();
    let facts = facts.map(|(name, count)| (name.clone(), count.as_u64().unwrap()));
    facts.collect()
}

/// Quotes sums of times, which exceed the numbers of a JSON library; as text they keep all digits.
fn quote_sums(text: &str) -> String {
    let mut parts = text.split("\"time_sum\": ");
    let mut quoted = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_digit()).unwrap();
        let (sum, rest) = part.split_at(end);
        quoted += &format!("\"time_sum\": \"{sum}\"{rest}");
    }
    quoted
}

fn record_counts(trace: &Trace, location: usize) -> Counts {
    let mut counts = Counts::new();
    let events = &trace.events()[location];
    for index in 0..events.len() {
        let event = events.event(index).unwrap();
        let name = record_name(&event, &trace.definitions().kinds);
        *counts.entry(name.to_string()).or_default() += 1;
    }
    counts
}

#[derive(Default)]
struct Depth(usize);

impl Visitor for Depth {
    fn enter(&mut self, _: Ticks, _: RegionId, depth: usize) {
        self.0 = self.0.max(depth + 1);
    }
    fn leave(&mut self, _: Ticks, _: RegionId, _: usize, _: Close) {}
}

fn check_location(trace: &Trace, reader: &Reader<'_>, facts: &Value) {
    let key = facts["location"].as_u64().unwrap();
    let definitions = trace.definitions();
    let id = definitions.system.by_key(key).unwrap();
    let location: &Location = definitions.system.location(id).unwrap();
    assert_eq!(location.name, facts["name"].as_str().unwrap());
    let group = definitions.system.group(location.group.unwrap()).unwrap();
    assert_eq!(group.name, facts["group"].as_str().unwrap());
    let kind = match facts["type"].as_str().unwrap() {
        "CPU_THREAD" => "CpuThread",
        "GPU" | "ACCELERATOR_STREAM" => "AcceleratorStream",
        "METRIC" => "Metric",
        other => other,
    };
    assert_eq!(format!("{:?}", location.kind), kind);
    let declared = reader.declared_events(id);
    assert_eq!(declared, facts["declared_events"].as_u64());

    let events = &trace.events()[id.index()];
    assert!(!events.is_absent());
    assert_eq!(events.len() as u64, facts["events"].as_u64().unwrap());
    assert_eq!(record_counts(trace, id.index()), counts(&facts["counts"]));
    let times = events.times();
    assert_eq!(times.first().map(|at| at.0), facts["first_time"].as_u64());
    assert_eq!(times.last().map(|at| at.0), facts["last_time"].as_u64());
    let sum: u128 = times.iter().map(|at| u128::from(at.0)).sum();
    assert_eq!(sum.to_string(), facts["time_sum"].as_str().unwrap());

    let mut depth = Depth::default();
    let leaves = replay(trace.location(id).unwrap(), &mut depth, &Job::default()).unwrap();
    let expected = counts(&facts["leaves"]);
    let expected = |name: &str| expected.get(name).copied().unwrap_or_default();
    assert_eq!(leaves.top, expected("top"));
    assert_eq!(leaves.nearest, expected("nearest"));
    assert_eq!(leaves.implicit_closes, expected("implicit_closes"));
    assert_eq!(leaves.renamed, expected("renamed"));
    assert_eq!(leaves.orphan, expected("orphan"));
    assert_eq!(leaves.open_at_end, facts["open_at_end"].as_u64().unwrap());
    assert_eq!(depth.0 as u64, facts["max_depth"].as_u64().unwrap());

    let local = reader.local_definitions(id).unwrap();
    let tables = facts["mapping_tables"].as_u64().unwrap();
    assert_eq!(local.mapping_tables() as u64, tables);
    let offsets = facts["clock_offsets"].as_u64().unwrap();
    assert_eq!(local.clock_offsets() as u64, offsets);
}

fn check_definitions(reader: &Reader<'_>, facts: &Value) {
    let got = reader.definition_counts().into_iter();
    let got: Counts = got.map(|(name, count)| (name.to_string(), count)).collect();
    assert_eq!(got, counts(&facts["definitions"]));

    let anchor = reader.anchor().unwrap();
    let expected = &facts["anchor"];
    let (major, minor, bugfix) = anchor.version;
    assert_eq!(format!("{major}.{minor}.{bugfix}"), expected["version"]);
    assert_eq!(anchor.locations, expected["locations"]);
    assert_eq!(anchor.definitions, expected["global_defs"]);
    assert_eq!(anchor.event_chunk, expected["chunk_events"]);
    assert_eq!(anchor.definition_chunk, expected["chunk_defs"]);
    assert_eq!(anchor.creator, expected["creator"]);
    assert_eq!(anchor.machine, expected["machine"]);
    assert_eq!(anchor.description, expected["description"]);
    for (key, value) in expected["properties"].as_object().into_iter().flatten() {
        let value = value.as_str().unwrap().to_string();
        assert!(anchor.properties.contains(&(key.clone(), value)), "{key}");
    }

    let clock = &reader.definitions().clock;
    assert_eq!(clock.ticks_per_second(), facts["clock"]["resolution"]);
    assert_eq!(clock.origin().0, facts["clock"]["offset"]);
}

fn check(name: &str, path: &Path, facts: &Value) {
    let reader = Reader::open(path, &OpenOptions::new(), &Job::default()).unwrap();
    check_definitions(&reader, facts);
    let recording = open(path, &OpenOptions::new(), &Job::default()).unwrap();
    assert_eq!(recording.format, "otf2");
    let trace = recording.trace().unwrap();
    assert_eq!(trace.len(), facts["n_events"].as_u64().unwrap() as usize);
    let definitions = trace.definitions();
    let locations = definitions.system.locations().len();
    assert_eq!(locations as u64, facts["n_locations"].as_u64().unwrap());

    let mut totals = Counts::new();
    let mut enters = Counts::new();
    let mut with_attributes = 0;
    for (location, events) in trace.events().iter().enumerate() {
        for (name, count) in record_counts(trace, location) {
            *totals.entry(name).or_default() += count;
        }
        for index in 0..events.len() {
            if let Some(Event::Enter { region }) = events.event(index) {
                let name = definitions.region_name(region).into_owned();
                *enters.entry(name).or_default() += 1;
            }
        }
        with_attributes += events.with_attributes();
    }
    assert_eq!(totals, counts(&facts["event_totals"]));
    // The facts list the forty regions with the most enters.
    let most = counts(&facts["region_enters"]);
    assert_eq!(most.len(), enters.len().min(40));
    for (region, count) in most {
        assert_eq!(enters.get(&region), Some(&count), "{region}");
    }
    let expected = facts["events_with_attributes"].as_u64().unwrap();
    assert_eq!(with_attributes as u64, expected);
    let range = trace.range().unwrap();
    assert_eq!(range.start.0, facts["first_time"]);
    assert_eq!(range.end.0 - 1, facts["last_time"]);
    for location in facts["locations"].as_array().unwrap() {
        check_location(trace, &reader, location);
    }
    println!(
        "{name}: {} regions of {}",
        definitions.regions.len(),
        facts["regions_defined"]
    );
    println!("{}", recording.diagnostics);
}

#[test]
fn archives_of_the_corpus_give_their_facts() {
    let Some(facts) = corpus("otf2/facts.json") else {
        return;
    };
    let root = facts.parent().unwrap();
    let text = quote_sums(&std::fs::read_to_string(&facts).unwrap());
    let facts: Value = serde_json::from_str(&text).unwrap();
    let archives = facts["archives"].as_object().unwrap();
    assert_eq!(archives.len(), 18);
    for (name, archive) in archives {
        println!("{name}");
        let anchor = root.join(name).join(archive["anchor"].as_str().unwrap());
        check(name, &anchor, &archive["facts"]);
        // The folder is equivalent to the anchor in it.
        let by_folder =
            Reader::open(&root.join(name), &OpenOptions::new(), &Job::default()).unwrap();
        assert_eq!(format!("{}.otf2", by_folder.name()), archive["anchor"]);
    }
}
