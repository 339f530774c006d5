//! Tests of Perfetto traces with an independent decoder of the bytes.

#![cfg(feature = "perfetto")]
use perf_core::{
    Clock, Close, Definitions, Event, Events, Job, KindId, Location, LocationKind, Metric,
    MetricId, MetricSet, MetricSetId, Region, RegionId, SystemTree, Ticks, TimeRange, Trace,
    TraceView, ValueType, Visitor, intervals, replay,
};
use perf_formats::perfetto;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A field of a message.
#[derive(Clone, Copy, Debug)]
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Field<'a> {
    fn number(self) -> u64 {
        match self {
            Field::Number(number) => number,
            Field::Bytes(_) => panic!("a number is wanted"),
        }
    }

    fn bytes(self) -> &'a [u8] {
        match self {
            Field::Bytes(bytes) => bytes,
            Field::Number(_) => panic!("bytes are wanted"),
        }
    }

    fn text(self) -> String {
        String::from_utf8(self.bytes().to_vec()).unwrap()
    }
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first().unwrap();
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return value;
        }
    }
    panic!("a varint of more than ten bytes");
}

/// Returns all fields of a message, in order.
fn fields(mut bytes: &[u8]) -> Vec<(u64, Field<'_>)> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let value = match key & 7 {
            0 => Field::Number(varint(&mut bytes)),
            1 => {
                let (value, rest) = bytes.split_at(8);
                bytes = rest;
                Field::Number(u64::from_le_bytes(value.try_into().unwrap()))
            }
            2 => {
                let length = varint(&mut bytes) as usize;
                let (value, rest) = bytes.split_at(length);
                bytes = rest;
                Field::Bytes(value)
            }
            other => panic!("wire type {other}"),
        };
        found.push((key >> 3, value));
    }
    found
}

fn one<'a>(fields: &[(u64, Field<'a>)], number: u64) -> Option<Field<'a>> {
    let mut own = fields.iter().filter(|(own, _)| *own == number);
    let found = own.next().map(|(_, value)| *value);
    assert!(own.next().is_none(), "field {number} is there twice");
    found
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Track {
    name: String,
    parent: Option<u64>,
    process: Option<u64>,
    thread: Option<Pair>,
    is_counter: bool,
}

/// A process and its thread, or a track and a time.
type Pair = (u64, u64);

/// A slice: name, begin, end.
type Slice = (String, u64, u64);

#[derive(Debug, Default)]
struct Walked {
    tracks: BTreeMap<u64, Track>,
    slices: BTreeMap<u64, Vec<Slice>>,
    instants: Vec<(u64, String, u64)>,
    samples: Vec<(u64, u64, i64)>,
    flows: BTreeMap<u64, (Vec<Pair>, Vec<Pair>)>,
    annotations: Vec<(String, u64)>,
    clocks: Vec<(u64, u64)>,
}

fn walk(file: &[u8]) -> Walked {
    let mut walked = Walked::default();
    let mut names: HashMap<u64, String> = HashMap::new();
    let mut open: HashMap<u64, Vec<(String, u64)>> = HashMap::new();
    let mut last: HashMap<u64, u64> = HashMap::new();
    for (index, (number, packet)) in fields(file).into_iter().enumerate() {
        assert_eq!(number, 1, "a trace is packets");
        let packet = fields(packet.bytes());
        assert_eq!(one(&packet, 10).unwrap().number(), 1, "one sequence");
        if index == 0 {
            assert_eq!(one(&packet, 13).unwrap().number(), 1, "which begins here");
        }
        if let Some(snapshot) = one(&packet, 6) {
            for (_, clock) in fields(snapshot.bytes()) {
                let clock = fields(clock.bytes());
                let number = |field| one(&clock, field).unwrap().number();
                walked.clocks.push((number(1), number(2)));
            }
        }
        if let Some(track) = one(&packet, 60) {
            let fields_of = fields(track.bytes());
            let uuid = one(&fields_of, 1).unwrap().number();
            let mut found = Track {
                name: one(&fields_of, 2).map(Field::text).unwrap_or_default(),
                parent: one(&fields_of, 5).map(Field::number),
                is_counter: one(&fields_of, 8).is_some(),
                ..Track::default()
            };
            if let Some(process) = one(&fields_of, 3) {
                let process = fields(process.bytes());
                found.process = one(&process, 1).map(Field::number);
                found.name = one(&process, 6).unwrap().text();
            }
            if let Some(thread) = one(&fields_of, 4) {
                let thread = fields(thread.bytes());
                let number = |field| one(&thread, field).unwrap().number();
                found.thread = Some((number(1), number(2)));
                found.name = one(&thread, 5).unwrap().text();
            }
            assert!(
                walked.tracks.insert(uuid, found).is_none(),
                "a track is described once"
            );
        }
        if let Some(data) = one(&packet, 12) {
            for (number, name) in fields(data.bytes()) {
                assert_eq!(number, 2);
                let name = fields(name.bytes());
                let iid = one(&name, 1).unwrap().number();
                assert!(names.insert(iid, one(&name, 2).unwrap().text()).is_none());
            }
        }
        let Some(event) = one(&packet, 11) else {
            continue;
        };
        let at = one(&packet, 8).unwrap().number();
        let event = fields(event.bytes());
        let track = one(&event, 11).unwrap().number();
        assert!(
            walked.tracks.contains_key(&track),
            "described before it is used"
        );
        let name = one(&event, 10).map(|iid| names[&iid.number()].clone());
        if name.is_some() {
            assert_eq!(one(&packet, 13).unwrap().number(), 2);
        }
        let kind = one(&event, 9).unwrap().number();
        if matches!(kind, 1 | 2) {
            let before = last.insert(track, at);
            assert!(
                before.is_none_or(|before| before <= at),
                "a track is in order"
            );
        }
        match kind {
            1 => open.entry(track).or_default().push((name.unwrap(), at)),
            2 => {
                let (name, begin) = open.get_mut(&track).unwrap().pop().unwrap();
                walked
                    .slices
                    .entry(track)
                    .or_default()
                    .push((name, begin, at));
            }
            3 => walked.instants.push((track, name.unwrap(), at)),
            4 => walked
                .samples
                .push((track, at, one(&event, 30).unwrap().number().cast_signed())),
            other => panic!("type {other}"),
        }
        for (number, value) in &event {
            match number {
                47 => walked
                    .flows
                    .entry(value.number())
                    .or_default()
                    .0
                    .push((track, at)),
                48 => walked
                    .flows
                    .entry(value.number())
                    .or_default()
                    .1
                    .push((track, at)),
                4 => {
                    let annotation = fields(value.bytes());
                    let name = one(&annotation, 10).unwrap().text();
                    walked
                        .annotations
                        .push((name, one(&annotation, 3).unwrap().number()));
                }
                _ => {}
            }
        }
    }
    assert!(open.values().all(Vec::is_empty), "each begin has its end");
    walked
}

fn written(view: TraceView<'_>) -> (Vec<u8>, perfetto::Written) {
    let write = || {
        let mut file = Vec::new();
        let written = perfetto::write(view, &mut file, &Job::default()).unwrap();
        (file, written)
    };
    let (file, told) = write();
    assert!(write().0 == file, "the same bytes each time");
    (file, told)
}

struct Frames<'t> {
    trace: &'t Trace,
    open: Vec<(RegionId, u64)>,
    slices: Vec<Slice>,
}

impl Visitor for Frames<'_> {
    fn enter(&mut self, at: Ticks, region: RegionId, _depth: usize) {
        self.open.push((region, at.0));
    }

    fn leave(&mut self, at: Ticks, _region: RegionId, _depth: usize, _why: Close) {
        let (region, begin) = self.open.pop().unwrap();
        let name = self.trace.definitions().region_name(region).into_owned();
        self.slices.push((name, begin, at.0));
    }
}

/// Returns the slices of a view by location, computed from the trace and sorted.
fn slices(view: TraceView<'_>) -> Vec<Vec<Slice>> {
    let trace = view.trace();
    let mut all = Vec::new();
    for location in view.locations() {
        let mut own = Vec::new();
        if location
            .overlaps(trace.definitions(), &Job::default())
            .unwrap()
        {
            intervals(
                location,
                |call| {
                    let name = trace.definitions().region_name(call.region).into_owned();
                    own.push((name, call.start.0, call.end.0));
                },
                &Job::default(),
            )
            .unwrap();
        } else {
            let mut frames = Frames {
                trace,
                open: vec![],
                slices: vec![],
            };
            replay(location, &mut frames, &Job::default()).unwrap();
            own = frames.slices;
        }
        own.sort();
        all.push(own);
    }
    all.sort();
    all
}

/// Returns the slices of a file by location; those of the lanes of a stream are combined.
fn found(walked: &Walked) -> Vec<Vec<Slice>> {
    let mut all: BTreeMap<(String, Option<u64>, Option<Pair>), Vec<Slice>> = BTreeMap::new();
    for (uuid, track) in &walked.tracks {
        if track.process.is_some() || track.is_counter {
            continue;
        }
        let name = track.name.split(", lane ").next().unwrap().to_owned();
        let own = walked.slices.get(uuid).cloned().unwrap_or_default();
        all.entry((name, track.parent, track.thread))
            .or_default()
            .extend(own);
    }
    let mut all: Vec<_> = all.into_values().collect();
    all.iter_mut().for_each(|own| own.sort());
    all.sort();
    all
}

#[test]
fn devices_with_lanes_and_launches() {
    let pieces = [
        (Some(0), 0, "a", 0, 10),
        (Some(1), 0, "b", 5, 20),
        (Some(2), 0, "Memcpy HtoD", 6, 8),
        (None, 0, "c", 9, 9),
        (Some(4), 1, "a", 3, 30),
    ];
    let trace = perf_core::samples::device::build(&pieces);
    let (file, told) = written(trace.view());
    let walked = walk(&file);
    let mut expected = slices(trace.view());
    expected.push(vec![]);
    expected.sort();
    // The device itself is a track without slices.
    assert_eq!(found(&walked), expected);
    let lanes = walked
        .tracks
        .values()
        .filter(|track| track.name.contains("lane"));
    assert_eq!(lanes.count(), 2, "three are open at 6");
    assert_eq!((told.flows, walked.flows.len()), (4, 4));
    for (from, to) in walked.flows.values() {
        assert_eq!((from.len(), to.len()), (1, 1));
    }
    assert_eq!(walked.annotations, [("bytes".to_owned(), 4096)]);
    assert_eq!(told.slices, 9);
    assert_eq!(told.tracks as usize, walked.tracks.len());
    assert!(walked.clocks.is_empty());
    // Streams are below their device, the device below its process.
    let stream = walked
        .tracks
        .values()
        .find(|track| track.name == "stream 1")
        .unwrap();
    let device = &walked.tracks[&stream.parent.unwrap()];
    assert_eq!(device.name, "device 0");
    assert!(walked.tracks[&device.parent.unwrap()].process.is_some());
}

#[test]
fn threads_messages_metrics_and_marks() {
    let mut definitions = Definitions::default();
    definitions.regions = ["main", "solve \"x\"\n\u{7}"].map(Region::named).to_vec();
    definitions.kinds = vec!["mark".into()];
    definitions.metrics = vec![Metric {
        name: "heat".into(),
        unit: "K".into(),
        value_type: ValueType::I64,
        ..Metric::default()
    }];
    definitions.metric_sets = vec![MetricSet {
        members: vec![MetricId(0)],
        ..MetricSet::default()
    }];
    let mut clock = Clock::new(1_000_000_000, Ticks(100)).unwrap();
    clock.realtime = Some(5_000);
    definitions.clock = clock;
    let location = |key| Location {
        key,
        name: format!("thread {key}"),
        kind: LocationKind::CpuThread,
        ..Location::default()
    };
    definitions.system = SystemTree::new(
        vec![],
        vec![],
        vec![location(0), location(1)],
        &Default::default(),
    )
    .unwrap();
    let mut columns = Vec::new();
    for rank in 0..2u64 {
        let mut events = Events::default();
        let mut push = |at, event: Event<'_>| events.push(Ticks(at), event).unwrap();
        push(
            50 + rank,
            Event::Enter {
                region: RegionId(0),
            },
        );
        push(
            60,
            Event::Enter {
                region: RegionId(1),
            },
        );
        push(
            65,
            Event::Other {
                kind: KindId(0),
                args: &[],
            },
        );
        push(
            70,
            Event::Metric {
                set: MetricSetId(0),
                values: &[(-7i64).cast_unsigned()],
            },
        );
        push(75, Event::CollectiveBegin);
        push(
            80,
            Event::Leave {
                region: RegionId(1),
            },
        );
        push(
            150,
            Event::Leave {
                region: RegionId(0),
            },
        );
        columns.push(events);
    }
    let trace = Trace::new(definitions, columns).unwrap();
    let (file, told) = written(trace.view());
    let walked = walk(&file);
    let shifted = |at: u64| at - 50;
    let mut expected = slices(trace.view());
    for slice in expected.iter_mut().flatten() {
        (slice.1, slice.2) = (shifted(slice.1), shifted(slice.2));
    }
    assert_eq!(found(&walked), expected);
    assert_eq!((told.instants, told.samples, told.left_out), (2, 2, 2));
    assert_eq!(
        walked
            .samples
            .iter()
            .map(|it| (it.1, it.2))
            .collect::<BTreeSet<_>>(),
        [(20, -7)].into()
    );
    assert!(
        walked
            .instants
            .iter()
            .all(|it| it.1 == "mark" && it.2 == 15)
    );
    // 50 ticks before the origin, which is at 5,000 ns.
    assert_eq!(walked.clocks, [(6, 0), (1, 4_950)]);

    // Frames that are open before a window are shown in it without an enter.
    let window = TimeRange::new(Ticks(62), Ticks(90)).unwrap();
    let view = trace.view().between(window);
    let walked = walk(&written(view).0);
    let begins: Vec<u64> = walked.slices.values().flatten().map(|it| it.1).collect();
    assert_eq!(begins.len(), 4);
}

#[test]
fn whole_recordings() {
    let trace = perf_core::samples::cosmo::trace();
    let (file, told) = written(trace.view());
    let walked = walk(&file);
    assert_eq!(told.slices, 9_640);
    assert_eq!(found(&walked), slices(trace.view()));
    let threads = walked
        .tracks
        .values()
        .filter(|track| track.thread.is_some());
    let numbers: BTreeSet<_> = threads.map(|track| track.thread).collect();
    assert_eq!(numbers.len(), 40, "each thread has a number of its own");
}
