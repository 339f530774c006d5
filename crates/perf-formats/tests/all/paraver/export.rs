//! Tests of traces written for Paraver: with a cluster for each burst, and from any recording.

use crate::common::two_tasks;

use perf_core::{
    Definitions, Diagnostics, Event, Events, Job, Limits, Location, LocationGroup, LocationGroupId,
    LocationKind, MetricMode, Region, RegionId, SystemTree, Ticks, Trace, intervals,
    match_messages,
};
use perf_formats::paraver::{
    Cluster, Coloured, Object, Pcf, Reader, Writer, colours, into_trace, name_clusters, recolour,
    write_trace,
};
use perf_formats::{Error, OpenOptions};
use perf_testdata::corpus::corpus;
use two_tasks::{HEADER, PCF};

#[test]
fn bursts_are_coloured_and_nothing_else_changes() {
    let object = |task| Object {
        application: 1,
        task,
        thread: 1,
    };
    let burst = |task, begin, end, cluster| Coloured {
        object: object(task),
        begin: Ticks(begin),
        end: Ticks(end),
        cluster,
    };
    let text = format!(
        "{HEADER}c:1:1:2:1:2\n# kept\n1:1:1:1:1:0:10:1\n2:3:1:2:1:3:7:7:90000001:4\n\
         1:1:1:1:1:10:20:1\n2:3:1:2:1:12:90000001:0\n1:3:1:2:1:12:30:1\n"
    );
    let bursts = [
        burst(2, 12, 30, Cluster::Noise),
        burst(1, 0, 10, Cluster::Id(2)),
        burst(1, 10, 20, Cluster::DurationFiltered),
        burst(1, 20, 20, Cluster::Noise),
    ];
    let paint = |text: &str, bursts: &[Coloured]| {
        let mut reader = Reader::new(
            text.as_bytes(),
            "x.prv",
            &OpenOptions::new(),
            &Job::default(),
        )
        .unwrap();
        let mut writer = Writer::new(Vec::new(), "y.prv");
        let done = recolour(&mut reader, bursts, &mut writer)?;
        Ok::<_, Error>((done, String::from_utf8(writer.finish()?).unwrap()))
    };
    let (done, coloured) = paint(&text, &bursts).unwrap();
    let expected = format!(
        "{HEADER}c:1:1:2:1:2\n# kept\n1:1:1:1:1:0:10:1\n2:1:1:1:1:0:90000001:7\n2:3:1:2:1:3:7:7\n\
         1:1:1:1:1:10:20:1\n2:1:1:1:1:10:90000001:0\n2:1:1:1:1:10:90000001:2\n1:3:1:2:1:12:30:1\n\
         2:3:1:2:1:12:90000001:5\n2:1:1:1:1:20:90000001:0\n2:3:1:2:1:30:90000001:0\n"
    );
    assert_eq!(coloured, expected);
    assert_eq!((done.inserted, done.removed, done.empty), (6, 2, 1));
    // They are read back, except for the one with duration 0.
    let mut reader = Reader::new(
        coloured.as_bytes(),
        "y.prv",
        &OpenOptions::new(),
        &Job::default(),
    )
    .unwrap();
    let back = [bursts[1], bursts[2], bursts[0]];
    assert_eq!(colours(&mut reader).unwrap(), back);
    // Clusters of other tools: consecutive ones, and one that is open at the end.
    let others = "2:1:1:1:1:0:90000001:6:90000001:8\n2:1:1:1:1:4:90000001:7\n1:1:1:1:1:0:9:1\n";
    let others = format!("{HEADER}{others}");
    let mut reader = Reader::new(
        others.as_bytes(),
        "z.prv",
        &OpenOptions::new(),
        &Job::default(),
    )
    .unwrap();
    let two = [
        burst(1, 0, 4, Cluster::Id(3)),
        burst(1, 4, 9, Cluster::Id(2)),
    ];
    assert_eq!(colours(&mut reader).unwrap(), two);
    // Recolouring again yields the same result.
    assert_eq!(paint(&coloured, &bursts).unwrap().1, expected);
    assert!(paint(&text, &[burst(3, 0, 1, Cluster::Noise)]).is_err());
    assert!(paint(&text, &[burst(1, 4, 1, Cluster::Noise)]).is_err());

    let mut pcf = Pcf::parse(PCF.as_bytes());
    name_clusters(&mut pcf, [Cluster::Id(9)]);
    name_clusters(&mut pcf, [Cluster::Id(1), Cluster::Id(2)]);
    assert!(pcf.text().starts_with(PCF.as_bytes()));
    let values: Vec<_> = pcf.values(90_000_001).collect();
    assert_eq!(
        (values[0], values[7], values.len()),
        ((0, "End"), (7, "Cluster 2"), 8)
    );
    // Another type of the block keeps it.
    pcf.set_kind(70_000_002, 0, "own", &[(1, "one".into())]);
    assert_eq!(pcf.value(70_000_001, 2), Some("main"));
    assert_eq!(pcf.value(70_000_002, 1), Some("one"));
    assert_eq!(pcf.kinds().count(), 10);
}

/// Summarises frames (number and total duration by region), and messages, collectives and metrics.
fn summary(
    trace: &Trace,
) -> (
    std::collections::BTreeMap<String, (usize, u64)>,
    [usize; 4],
    u64,
) {
    struct Sum<'a> {
        trace: &'a Trace,
        open: Vec<Ticks>,
        all: std::collections::BTreeMap<String, (usize, u64)>,
        samples: usize,
        counted: u64,
        last: std::collections::HashMap<u32, u64>,
    }
    impl perf_core::Visitor for Sum<'_> {
        fn enter(&mut self, at: Ticks, _: perf_core::RegionId, _: usize) {
            self.open.push(at);
        }
        fn leave(&mut self, at: Ticks, region: perf_core::RegionId, _: usize, _: perf_core::Close) {
            let name = self.trace.definitions().region_name(region).into_owned();
            let sum = self.all.entry(name).or_default();
            *sum = (sum.0 + 1, sum.1 + at.0 - self.open.pop().unwrap().0);
        }
        fn event(&mut self, _: Ticks, event: Event<'_>, _: usize) {
            match event {
                Event::Sample { .. } => self.samples += 1,
                Event::Metric { set, values } => {
                    let definitions = self.trace.definitions();
                    let members = &definitions.metric_sets[set.index()].members;
                    for (metric, value) in members.iter().zip(values) {
                        let of = &definitions.metrics[metric.index()];
                        if of.value_type == perf_core::ValueType::F64 {
                            continue;
                        }
                        let before = match of.mode {
                            MetricMode::Accumulated => {
                                self.last.insert(metric.0, *value).unwrap_or(0)
                            }
                            _ => 0,
                        };
                        self.counted = self.counted.wrapping_add(value.wrapping_sub(before));
                    }
                }
                _ => {}
            }
        }
    }
    let mut sum = Sum {
        trace,
        open: Vec::new(),
        all: Default::default(),
        samples: 0,
        counted: 0,
        last: Default::default(),
    };
    for location in trace.view().locations() {
        sum.last.clear();
        perf_core::replay(location, &mut sum, &Job::default()).unwrap();
    }
    let met = match_messages(trace.view(), &Job::default()).unwrap();
    let members = met.collectives.iter().map(|one| one.members.len()).sum();
    let counts = [
        met.messages.len(),
        met.collectives.len(),
        members,
        sum.samples,
    ];
    (sum.all, counts, sum.counted)
}

/// Writes a trace and reads it back.
fn there_and_back(trace: &Trace) -> (Trace, Diagnostics) {
    let mut text = Vec::new();
    let written = write_trace(trace.view(), &mut text, "x.prv", &Job::default()).unwrap();
    let options = OpenOptions::new().strict(true);
    let reader = Reader::new(text.as_slice(), "x.prv", &options, &Job::default()).unwrap();
    let (back, _) = into_trace(reader, &written.pcf, &written.row).unwrap();
    (back, written.diagnostics)
}

#[test]
fn our_recordings_come_back_from_paraver() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/recordings");
    for name in ["jacobi-4", "jacobi-9", "nwchem-md-4"] {
        let path = format!("{root}/{name}");
        let trace = perf_formats::open(path, &OpenOptions::new(), &Job::default()).unwrap();
        let trace = trace.into_trace().unwrap();
        let (back, found) = there_and_back(&trace);
        let (regions, counts, counted) = summary(&trace);
        let (mut again, back_counts, back_counted) = summary(&back);
        // States that only Paraver has.
        let ran = again.remove("Running").unwrap();
        assert!(ran.0 > 0, "{name}");
        again.remove("Idle");
        let is_kept =
            |name: &String| !matches!(again.get(name), Some(other) if *other == regions[name]);
        let lost: Vec<_> = regions.keys().filter(|name| is_kept(name)).collect();
        assert!(
            lost.is_empty(),
            "{name}: {lost:?} {regions:?} {again:?} {found}"
        );
        assert_eq!(
            (back_counts, back_counted),
            (counts, counted),
            "{name}: {found}"
        );
        let locations = |trace: &Trace| trace.definitions().system.locations().len();
        assert_eq!(locations(&back), locations(&trace));
    }
}

#[test]
fn traces_of_paraver_come_back_from_paraver() {
    for name in [
        "epoch/epoch_2proc.prv.gz",
        "lulesh/lulesh_4+4_with_uncores_sockets1+2.chop_5it.prv",
        "par_labs/boada_lab3_for_row_mandel-omp_8_DYNAMIC_10.prv",
    ] {
        let Some(path) = corpus(&format!("paraver/{name}")) else {
            return;
        };
        let trace = perf_formats::open(path, &OpenOptions::new(), &Job::default()).unwrap();
        let trace = trace.into_trace().unwrap();
        let (back, found) = there_and_back(&trace);
        let ((mut regions, counts, counted), (mut again, others, back_counted)) =
            (summary(&trace), summary(&back));
        assert_eq!((others, back_counted), (counts, counted), "{name}: {found}");
        regions.remove("Idle");
        again.remove("Idle");
        assert_eq!(again, regions, "{name}: {found}");
    }
}

/// Returns a process with a host thread and a stream with overlapping kernels.
fn host_and_stream() -> Trace {
    let mut definitions = Definitions::default();
    let location = |key, name: &str, kind| Location {
        key,
        name: name.into(),
        group: Some(LocationGroupId(0)),
        kind,
        ..Location::default()
    };
    let locations = vec![
        location(0, "host", LocationKind::CpuThread),
        location(1, "stream", LocationKind::AcceleratorStream),
    ];
    let group = LocationGroup {
        name: "rank 0".into(),
        ..LocationGroup::default()
    };
    let system = SystemTree::new(vec![], vec![group], locations, &Limits::default());
    definitions.system = system.unwrap();
    for name in ["main", "first", "second", "MPI_Send"] {
        definitions.regions.push(Region::named(name));
    }
    let of = |all: &[(u64, i32)]| {
        let mut events = Events::default();
        for (at, what) in all {
            let region = RegionId(what.unsigned_abs() - 1);
            let event = if *what > 0 {
                Event::Enter { region }
            } else {
                Event::Leave { region }
            };
            events.push(Ticks(*at), event).unwrap();
        }
        events
    };
    let host = of(&[(0, 1), (50, -1)]);
    // The second begins before the first ends; a third with the name of the first begins as the
    // second ends; one has duration 0.
    let stream = of(&[
        (3, 2),
        (5, 3),
        (9, -2),
        (15, 2),
        (15, -3),
        (20, 2),
        (20, -2),
        (25, -2),
        (30, 3),
    ]);
    Trace::new(definitions, vec![host, stream]).unwrap()
}

#[test]
fn work_that_overlaps_is_on_threads_of_its_own() {
    let trace = host_and_stream();
    let (back, found) = there_and_back(&trace);
    assert_eq!(found.repairs(), 0, "{found}");
    let names: Vec<&str> = back
        .definitions()
        .system
        .locations()
        .iter()
        .map(|location| location.name.as_str())
        .collect();
    assert_eq!(names, ["host", "stream", "stream (2)"]);
    let mut calls = Vec::new();
    for location in back.view().locations() {
        intervals(
            location,
            |call| {
                let name = back.definitions().region_name(call.region).into_owned();
                if !["Running", "Idle"].contains(&name.as_str()) {
                    calls.push((location.id().0, name, call.start.0, call.end.0));
                }
            },
            &Job::default(),
        )
        .unwrap();
    }
    calls.sort();
    let call = |location, name: &str, start, end| (location, name.to_string(), start, end);
    let expected = [
        call(0, "main", 0, 50),
        call(1, "first", 3, 9),
        call(1, "first", 15, 20),
        call(1, "first", 20, 25),
        call(1, "second", 30, 30),
        call(2, "second", 5, 15),
    ];
    assert_eq!(calls, expected);
    // States of the threads: an empty lane is idle.
    let mut text = Vec::new();
    write_trace(trace.view(), &mut text, "x.prv", &Job::default()).unwrap();
    let text = String::from_utf8(text).unwrap();
    let states: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("1:3:"))
        .collect();
    assert_eq!(states, ["1:3:1:1:3:5:15:1"]);
    let states: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("1:2:"))
        .collect();
    let idle = [
        "1:2:1:1:2:3:9:1",
        "1:2:1:1:2:9:15:0",
        "1:2:1:1:2:15:25:1",
        "1:2:1:1:2:25:30:0",
    ];
    assert_eq!(states, idle);
}

#[test]
fn a_window_is_written_with_what_is_open_at_its_ends() {
    let trace = host_and_stream();
    let window = perf_core::TimeRange::new(Ticks(4), Ticks(18)).unwrap();
    let mut text = Vec::new();
    let view = trace.view().between(window);
    write_trace(view, &mut text, "x.prv", &Job::default()).unwrap();
    let text = String::from_utf8(text).unwrap();
    let lines: Vec<&str> = text.lines().skip(1).collect();
    let expected = [
        "1:1:1:1:1:4:18:1",
        "2:1:1:1:1:4:60000019:1",
        "1:2:1:1:2:4:9:1",
        "2:2:1:1:2:4:60000019:2",
        "1:3:1:1:3:5:15:1",
        "2:3:1:1:3:5:60000019:3",
        "1:2:1:1:2:9:15:0",
        "2:2:1:1:2:9:60000019:0",
        "1:2:1:1:2:15:18:1",
        "2:2:1:1:2:15:60000019:2",
        "2:3:1:1:3:15:60000019:0",
        "2:1:1:1:1:18:60000019:0",
        "2:2:1:1:2:18:60000019:0",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn lines_are_written_as_they_come_about() {
    /// A writer that accepts some bytes, then none.
    struct Full(usize);
    impl std::io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            match self.0.checked_sub(bytes.len()) {
                Some(left) => self.0 = left,
                None => return Err(std::io::Error::other("it is full")),
            }
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let root = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../data/recordings/jacobi-4"
    );
    let trace = perf_formats::open(root, &OpenOptions::new(), &Job::default()).unwrap();
    let trace = trace.into_trace().unwrap();
    for room in [0, 300_000] {
        let written = write_trace(trace.view(), Full(room), "x.prv", &Job::default());
        let error = written.unwrap_err().to_string();
        assert!(
            error.contains("it is full") && error.contains("x.prv"),
            "{error}"
        );
    }
    // Cancelled in the middle: partial output and an error.
    let job = perf_core::Job::default();
    struct Stop(perf_core::Job);
    impl perf_core::Progress for Stop {
        fn advance(&self, phase: &str, _: u64, _: u64) {
            if phase == "lines" {
                self.0.cancel();
            }
        }
    }
    let job = job.reporting_to(Stop(job.clone()));
    let written = write_trace(trace.view(), std::io::sink(), "x.prv", &job);
    assert!(matches!(written, Err(Error::Cancelled(_))), "{written:?}");
}
