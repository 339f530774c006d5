//! Tests of unusual archives and requests: each has a defined result, and is counted if necessary.

mod discovery;

use perf_core::Job;
use perf_core::*;
use perf_formats::otf2::schema::{self, Record};
use perf_formats::otf2::{
    Arg, ByteOrder, Cut, Encoder, MemoryArchive, NewArchive, Reader, WriteOptions, Writer, cut,
    rules, write,
};
use perf_formats::{Error, OpenOptions, open};
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Returns definitions of `locations` locations, regions `a` and `b`, and an attribute.
fn definitions(locations: u64) -> Definitions {
    let location = |key| Location {
        key,
        ..Location::default()
    };
    let all = (0..locations).map(location).collect();
    let mut definitions = Definitions::default();
    definitions.system = SystemTree::new(vec![], vec![], all, &Limits::default()).unwrap();
    definitions.regions = vec![Region::named("a"), Region::named("b")];
    let name = "answer".to_string();
    definitions.attributes.push(Attribute {
        name,
        ..Attribute::default()
    });
    definitions
}

/// Returns one location that is in `a` from 10 to 90.
fn one_call() -> Trace {
    let region = RegionId(0);
    let mut events = Events::default();
    events.push(Ticks(10), Event::Enter { region }).unwrap();
    events.push(Ticks(90), Event::Leave { region }).unwrap();
    Trace::new(definitions(1), vec![events]).unwrap()
}

fn written(view: TraceView<'_>, options: &WriteOptions) -> MemoryArchive {
    let mut archive = MemoryArchive::default();
    write(view, &mut archive, options, &Job::default()).unwrap();
    archive
}

fn read(archive: &MemoryArchive, options: OpenOptions) -> (Trace, Diagnostics) {
    Reader::new(archive, &options, &Job::default())
        .unwrap()
        .read()
        .unwrap()
}

fn cut_of(reader: &Reader<'_>, selection: &Cut) -> MemoryArchive {
    let mut archive = MemoryArchive::default();
    cut(reader, selection, &mut archive, &Job::default()).unwrap();
    archive
}

/// An event file under construction.
struct File(Encoder);

impl File {
    fn new() -> Self {
        let mut file = File(Encoder::new(ByteOrder::Little));
        file.header();
        file
    }

    fn header(&mut self) {
        self.0.u8(3);
        self.0.u8(0x42);
        self.0.u64(1);
        self.0.u64(2);
    }

    fn time(&mut self, at: u64) {
        self.0.u8(5);
        self.0.u64(at);
    }

    fn event(&mut self, id: u8, numbers: &[u64]) {
        self.0.event(schema::event(id).unwrap(), numbers);
    }

    fn at(&mut self, at: u64, id: u8, numbers: &[u64]) {
        self.time(at);
        self.event(id, numbers);
    }

    /// Adds attribute 0 of type u64.
    fn attribute(&mut self, value: u64) {
        let list = Record {
            id: 6,
            name: "AttributeList",
            has_length: true,
            fields: &[],
        };
        self.0.framed(&list, |payload| {
            payload.v32(1);
            payload.v32(0);
            payload.u8(4);
            payload.v64(value);
        });
    }

    /// Ends the chunk at a multiple of `size` and begins the next one.
    fn next_chunk(&mut self, size: usize) {
        while !self.0.bytes().len().is_multiple_of(size) {
            self.0.u8(0);
        }
        self.header();
    }

    fn end(&mut self) -> Vec<u8> {
        self.0.u8(2);
        self.0.u8(1);
        self.0.bytes().to_vec()
    }
}

/// Appends definition records to those of an archive.
fn with_definitions(archive: &mut MemoryArchive, records: &[(&str, Vec<Arg>)]) {
    let mut out = Encoder::new(ByteOrder::Little);
    let old = archive.get("traces.def").unwrap();
    out.raw(&old[..old.len() - 2]);
    for (name, args) in records {
        out.record(schema::definition_named(name).unwrap(), args);
    }
    out.u8(2);
    out.u8(1);
    archive.insert("traces.def", out.bytes().to_vec());
}

#[test]
fn attributes_that_a_chunk_cuts_off_are_lost_to_any_number_of_threads() {
    const CHUNK: u64 = 256;
    let options = WriteOptions::default().with_chunks(CHUNK, 1 << 20);
    let mut archive = written(one_call().view(), &options);
    let mut file = File::new();
    file.at(10, 12, &[0]);
    file.attribute(42);
    file.next_chunk(CHUNK as usize);
    file.at(90, 13, &[0]);
    archive.insert("traces/0.evt", file.end());
    let (one, found) = read(&archive, OpenOptions::new().threads(1));
    assert_eq!(one.events()[0].with_attributes(), 0);
    assert_eq!(found.count(rules::LOST_ATTRIBUTES), 1);
    let many = read(&archive, OpenOptions::new().threads(4));
    assert_eq!(many, (one, found));
}

#[test]
fn chunks_too_small_for_anything_are_refused() {
    let trace = one_call();
    for (events, definitions) in [(10, 1 << 20), (1 << 20, 19), (0, 0)] {
        let options = WriteOptions::default().with_chunks(events, definitions);
        let mut archive = MemoryArchive::default();
        let outcome = write(trace.view(), &mut archive, &options, &Job::default());
        assert!(matches!(outcome, Err(Error::Usage { .. })));
    }
    // The declaration in the anchor is ignored when its archive is cut.
    let mut archive = written(trace.view(), &WriteOptions::default());
    let anchor = archive.get_mut("traces.otf2").unwrap();
    anchor[12..20].copy_from_slice(&10_u64.to_le_bytes());
    anchor[20..28].copy_from_slice(&3_u64.to_le_bytes());
    let part = cut_of(
        &Reader::new(&archive, &OpenOptions::new(), &Job::default()).unwrap(),
        &Cut::new(),
    );
    let (part, found) = read(&part, OpenOptions::new().strict(true));
    assert_eq!(part.events(), trace.events());
    assert_eq!(found.repairs(), 0);
}

#[test]
fn a_location_is_written_once() {
    let trace = one_call();
    let id = LocationId(0);
    let archive = written(trace.view().only(&[id, id]), &WriteOptions::default());
    let (again, found) = read(&archive, OpenOptions::new());
    assert_eq!(again.events(), trace.events());
    assert_eq!(found.repairs(), 0, "{found}");

    let mut archive = MemoryArchive::default();
    let mut writer = Writer::new(&mut archive, trace.definitions(), WriteOptions::default());
    writer
        .location(trace.location(id).unwrap(), &Job::default())
        .unwrap();
    let twice = writer.location(trace.location(id).unwrap(), &Job::default());
    assert!(matches!(twice, Err(Error::Usage { .. })));
}

#[test]
fn a_location_defined_twice_is_read_once() {
    let mut archive = written(one_call().view(), &WriteOptions::default());
    let location = |group| {
        let none = || Arg::N(0);
        ("Location", vec![none(), none(), none(), none(), group])
    };
    with_definitions(&mut archive, &[location(Arg::N(0))]);
    let (trace, found) = read(&archive, OpenOptions::new());
    assert_eq!(trace.definitions().system.locations().len(), 1);
    assert_eq!(found.count(rules::DUPLICATE_DEFINITION), 1);
}

#[test]
fn a_cut_enters_and_leaves_calling_contexts() {
    let mut archive = written(one_call().view(), &WriteOptions::default());
    let context = |id: u64, region: u64, parent: u64| {
        let args = [id, region, u64::from(u32::MAX), parent];
        ("CallingContext", args.map(Arg::N).to_vec())
    };
    with_definitions(
        &mut archive,
        &[context(0, 0, u64::from(u32::MAX)), context(1, 1, 0)],
    );
    let mut file = File::new();
    file.at(10, 66, &[0, 1]);
    file.at(20, 12, &[0]);
    file.at(30, 66, &[1, 1]);
    file.at(70, 67, &[1]);
    file.at(80, 13, &[0]);
    file.at(90, 67, &[0]);
    archive.insert("traces/0.evt", file.end());
    let reader = Reader::new(&archive, &OpenOptions::new(), &Job::default()).unwrap();
    let (_, found) = reader.read().unwrap();
    assert_eq!(found.count(rules::CALLING_CONTEXT), 4);
    let window = TimeRange::new(Ticks(40), Ticks(75)).unwrap();
    let part = cut_of(&reader, &Cut::new().window(window));
    let part = Reader::new(part, &OpenOptions::new(), &Job::default()).unwrap();
    let mut ids = Vec::new();
    let each = part.records(LocationId(0), |event| {
        ids.push((event.time, event.id, event.fields().unwrap()[0]));
        ControlFlow::Continue(())
    });
    each.unwrap();
    let expected = [
        (40, 66, 0),
        (40, 12, 0),
        (40, 66, 1),
        (70, 67, 1),
        (74, 13, 0),
        (74, 67, 0),
    ];
    assert_eq!(ids, expected);
}

#[test]
fn an_end_mark_before_the_last_chunk_is_no_end() {
    const CHUNK: u64 = 256;
    let options = WriteOptions::default().with_chunks(CHUNK, 1 << 20);
    let mut archive = written(one_call().view(), &options);
    let mut file = File::new();
    file.at(10, 12, &[0]);
    file.end();
    file.next_chunk(CHUNK as usize);
    file.at(90, 13, &[0]);
    archive.insert("traces/0.evt", file.end());
    let reader = Reader::new(&archive, &OpenOptions::new(), &Job::default()).unwrap();
    let all = reader.records(LocationId(0), |_| ControlFlow::Continue(()));
    assert!(matches!(all, Err(Error::Malformed { .. })));
    let mut sink = MemoryArchive::default();
    let part = cut(&reader, &Cut::new(), &mut sink, &Job::default());
    assert!(matches!(part, Err(Error::Malformed { .. })));
    // A visitor that stops early does not meet the damage.
    let one = reader.records(LocationId(0), |_| ControlFlow::Break(()));
    assert!(one.is_ok());
}

#[test]
fn windows_are_written_without_communicators() {
    let (mut definitions, events, _) = one_call().into_parts();
    let name = "window".to_string();
    definitions.windows.push(Window { name, comm: None });
    let trace = Trace::new(definitions, events).unwrap();
    let archive = written(trace.view(), &WriteOptions::default());
    let (again, _) = read(&archive, OpenOptions::new().strict(true));
    assert_eq!(again.definitions().windows, trace.definitions().windows);
}

#[test]
fn a_window_without_a_tick_holds_nothing() {
    let trace = one_call();
    for at in [10, 80, 90] {
        let empty = TimeRange {
            start: Ticks(at),
            end: Ticks(at),
        };
        let archive = written(trace.view().between(empty), &WriteOptions::default());
        assert!(read(&archive, OpenOptions::new()).0.is_empty());
        let whole = written(trace.view(), &WriteOptions::default());
        let reader = Reader::new(whole, &OpenOptions::new(), &Job::default()).unwrap();
        let part = cut_of(&reader, &Cut::new().window(empty));
        assert!(read(&part, OpenOptions::new()).0.is_empty());
    }
}

/// A placeholder for each id would take far more memory than the file has bytes.
#[test]
fn ids_that_nobody_defined_are_counted_and_share_a_placeholder_in_the_end() {
    const IDS: u64 = 100_000;
    let options = WriteOptions::default().with_chunks(1 << 24, 1 << 20);
    let mut archive = written(one_call().view(), &options);
    let mut file = File::new();
    file.time(10);
    for id in 0..IDS {
        file.event(12, &[id]);
        file.event(13, &[id]);
    }
    archive.insert("traces/0.evt", file.end());
    let (trace, found) = read(&archive, OpenOptions::new().threads(1));
    assert_eq!(found.count(rules::UNRESOLVED_ID), 2 * (IDS - 2));
    let finding = found
        .iter()
        .find(|(rule, _)| *rule == rules::UNRESOLVED_ID)
        .unwrap();
    assert_eq!(
        finding.1.places[0].record.as_deref(),
        Some("region 2"),
        "the first place is that of the first sighting"
    );
    assert_ne!(
        finding.1.places[0].record, finding.1.places[1].record,
        "an id has one place"
    );
    let regions = &trace.definitions().regions;
    assert_eq!(regions.len(), 2 + (1 << 16) + 1);
    assert_eq!(regions[70].name, "region 70");
    assert_eq!(regions.last().unwrap().name, "region 65538 and others");
    let last = trace.events()[0].event(2 * IDS as usize - 1).unwrap();
    let region = RegionId(2 + (1 << 16));
    assert_eq!(last, Event::Leave { region });
    let reader = Reader::new(&archive, &OpenOptions::new(), &Job::default()).unwrap();
    let mut merged = reader.merged().unwrap();
    let mut events = 0;
    while merged.next().unwrap().is_some() {
        events += 1;
    }
    assert_eq!(events, 2 * IDS);
}

#[test]
fn events_of_two_bytes_stop_at_the_limit_of_memory() {
    #[derive(Default)]
    struct Bytes(std::sync::atomic::AtomicU64);
    impl Progress for Bytes {
        fn advance(&self, _: &'static str, amount: u64, _: u64) {
            let order = std::sync::atomic::Ordering::Relaxed;
            self.0.fetch_add(amount, order);
        }
    }
    const EVENTS: u64 = 2 << 20;
    let options = WriteOptions::default().with_chunks(1 << 24, 1 << 20);
    let mut archive = written(one_call().view(), &options);
    let mut file = File::new();
    file.time(10);
    for _ in 0..EVENTS {
        file.event(24, &[0]);
    }
    let mut bytes = file.end();
    bytes[10..18].copy_from_slice(&EVENTS.to_le_bytes());
    let size = bytes.len() as u64;
    archive.insert("traces/0.evt", bytes);
    let options = OpenOptions::new().threads(1);
    let reader = Reader::new(&archive, &options, &Job::default()).unwrap();
    let (trace, _) = reader.read().unwrap();
    assert!(trace.memory() as u64 <= reader.estimate().unwrap().memory);

    // A window disables the estimate, but the limit remains.
    let read = Arc::new(Bytes::default());
    let job = Job::with_progress(read.clone());
    let options = options
        .window(TimeRange::new(Ticks(0), Ticks(100)))
        .limits(Limits::default().with_memory(8 << 20));
    let outcome = Reader::new(&archive, &options, &job).unwrap().read();
    assert!(matches!(outcome, Err(Error::Limit { .. })));
    let read = read.0.load(std::sync::atomic::Ordering::Relaxed);
    assert!(read < size / 2, "it stops early");
}

/// Activities of an accelerator stream: the first ends while the second is active.
fn overlapping() -> Trace {
    let mut definitions = definitions(1);
    let stream = Location {
        kind: LocationKind::AcceleratorStream,
        ..Location::default()
    };
    definitions.system = SystemTree::new(vec![], vec![], vec![stream], &Limits::default()).unwrap();
    let mut events = Events::default();
    for (at, is_leave, region) in [(0, false, 0), (5, false, 1), (10, true, 0), (100, true, 1)] {
        events.push_call(Ticks(at), is_leave, RegionId(region));
    }
    Trace::new(definitions, vec![events]).unwrap()
}

#[test]
fn windows_keep_work_that_is_open_beside_other_work() {
    let trace = overlapping();
    let whole = written(trace.view(), &WriteOptions::default());
    let options = OpenOptions::new();
    let reader = Reader::new(&whole, &options, &Job::default()).unwrap();
    let work = |trace: &Trace| {
        let mut found = Vec::new();
        let counts = intervals(
            trace.location(LocationId(0)).unwrap(),
            |it| {
                found.push((it.region.0, it.start.0, it.end.0));
            },
            &Job::default(),
        )
        .unwrap();
        assert_eq!(counts.repairs(), 0);
        found
    };
    for (start, end, expected) in [
        (20, 60, vec![(1, 20, 59)]),
        (20, 200, vec![(1, 20, 100)]),
        (7, 60, vec![(0, 7, 10), (1, 7, 59)]),
        (7, 9, vec![(1, 7, 8), (0, 7, 8)]),
    ] {
        let window = TimeRange::new(Ticks(start), Ticks(end)).unwrap();
        let part = written(trace.view().between(window), &WriteOptions::default());
        let (part, _) = read(&part, OpenOptions::new());
        let cut = cut_of(&reader, &Cut::new().window(window));
        let (cut, _) = read(&cut, OpenOptions::new());
        for part in [part, cut] {
            let mut found = work(&part);
            found.sort_unstable();
            let mut expected = expected.clone();
            expected.sort_unstable();
            assert_eq!(found, expected, "from {start} to {end}");
        }
    }
}

#[test]
fn events_before_the_origin_keep_their_wall_clock_time() {
    let region = RegionId(0);
    let mut events = Events::default();
    events.push(Ticks(400), Event::Enter { region }).unwrap();
    events.push(Ticks(1500), Event::Leave { region }).unwrap();
    let mut definitions = definitions(1);
    definitions.clock = Clock::new(1_000_000_000, Ticks(1000)).unwrap();
    definitions.clock.realtime = Some(1_700_000_000_000_000_000);
    let trace = Trace::new(definitions, vec![events]).unwrap();
    let (again, _) = read(
        &written(trace.view(), &WriteOptions::default()),
        OpenOptions::new(),
    );
    let wall = |trace: &Trace, at: u64| {
        let clock = trace.definitions().clock;
        clock.realtime.unwrap() as i64 + clock.nanos(Ticks(at)).unwrap().0
    };
    for at in [400, 1000, 1500] {
        assert_eq!(wall(&again, at), wall(&trace, at), "{at}");
    }
}

#[test]
fn ids_that_are_not_defined_are_limited_in_sum() {
    let trace = one_call();
    let archive = written(trace.view(), &WriteOptions::default());
    let (mut events, count) = (Events::default(), 100_000);
    for at in 0..count {
        events.push_enter(Ticks(at), RegionId(at as u32));
        events.push_leave(Ticks(at), RegionId(at as u32));
    }
    // The definitions of another archive, which has only two regions.
    let mut definitions = definitions(1);
    definitions.regions = (0..count).map(|at| Region::named(at.to_string())).collect();
    let many = Trace::new(definitions, vec![events]).unwrap();
    let many = written(many.view(), &WriteOptions::default());
    let mut mixed = many.clone();
    mixed.insert("traces.def", archive.get("traces.def").unwrap().to_vec());
    let limits = Limits::default().with_definitions(60_000);
    for (limits, is_enough) in [(limits, false), (Limits::default(), true)] {
        let options = OpenOptions::new().limits(limits).threads(1);
        let reader = Reader::new(&mixed, &options, &Job::default()).unwrap();
        assert_eq!(reader.read().is_ok(), is_enough);
        let mut merged = reader.merged().unwrap();
        let outcome = loop {
            match merged.next() {
                Ok(Some(_)) => {}
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        if is_enough {
            outcome.unwrap()
        } else {
            assert!(matches!(outcome, Err(Error::Limit { limit: 60_000, .. })))
        }
    }
}

#[test]
fn a_part_of_the_locations_reads_strictly_and_keeps_its_ranks() {
    let trace = perf_testdata::many_ranks::trace(4, 100);
    let id = LocationId(2);
    let Members::Ranks(all) = &trace.definitions().comms[0].members else {
        panic!("ranks are listed");
    };
    let rank = all.iter().position(|rank| *rank == Some(id)).unwrap();
    let some = written(trace.view().only(&[id]), &WriteOptions::default());
    let whole = written(trace.view(), &WriteOptions::default());
    let reader = Reader::new(whole, &OpenOptions::new(), &Job::default()).unwrap();
    let part = cut_of(&reader, &Cut::new().locations(vec![id]));
    for archive in [some, part] {
        let (again, found) = read(&archive, OpenOptions::new().strict(true));
        assert_eq!(found.count(rules::ABSENT_MEMBER), 1, "{found}");
        let Members::Ranks(ranks) = &again.definitions().comms[0].members else {
            panic!("ranks are listed");
        };
        assert_eq!(ranks.len(), all.len());
        assert_eq!(ranks[rank], Some(LocationId(0)));
        assert_eq!(ranks.iter().flatten().count(), 1);
        // An undefined member stays undefined, without further findings.
        let again = written(again.view(), &WriteOptions::default());
        let (_, found) = read(&again, OpenOptions::new().strict(true));
        assert_eq!(found.count(rules::ABSENT_MEMBER), 0, "{found}");
    }
}

#[test]
fn definitions_have_fields_and_strings() {
    let trace = one_call();
    let archive = written(trace.view(), &WriteOptions::default());
    let reader = Reader::new(&archive, &OpenOptions::new(), &Job::default()).unwrap();
    let records: Vec<_> = reader.definition_file().records().collect();
    let mut names = Vec::new();
    for record in &records {
        let fields = record.fields().unwrap();
        // Encoding the decoded fields returns the original bytes.
        let mut bytes = Encoder::new(record.order);
        bytes.record(record.record().unwrap(), &fields);
        assert!(bytes.bytes().ends_with(record.payload), "{}", record.name());
        if let ("Region", [_, Arg::N(name), ..]) = (record.name(), fields.as_slice()) {
            names.push(reader.string(*name).unwrap());
        }
    }
    assert_eq!(names, ["a", "b"]);
    assert_eq!(reader.string(9_999), None);

    // The ids of local definitions denote other records.
    let mut local = Encoder::new(ByteOrder::Little);
    let old = archive.get("traces/0.def").unwrap();
    local.raw(&old[..old.len() - 2]);
    let offset = schema::local_definition(6).unwrap();
    local.record(offset, &[Arg::N(7), Arg::N(8), Arg::N(0)]);
    local.u8(2);
    local.u8(1);
    let mut archive = archive.clone();
    archive.insert("traces/0.def", local.bytes().to_vec());
    let reader = Reader::new(&archive, &OpenOptions::new(), &Job::default()).unwrap();
    let file = reader.local_file(LocationId(0)).unwrap().unwrap();
    let record = file.records().next().unwrap();
    assert_eq!(record.name(), "ClockOffset");
    assert_eq!(record.fields().unwrap()[1], Arg::N(8));
}
