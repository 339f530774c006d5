//! Traces written for Paraver: with a cluster for each burst, and from any recording.

#![cfg(feature = "paraver")]
#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps fails where it should"
)]

#[path = "common/two_tasks.rs"]
mod two_tasks;

use perf_core::{Diagnostics, Event, MetricMode, Ticks, Trace, match_messages};
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
        let mut reader = Reader::new(text.as_bytes(), "x.prv", &OpenOptions::new()).unwrap();
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
    // They are read back, but for the one that lasts no time.
    let mut reader = Reader::new(coloured.as_bytes(), "y.prv", &OpenOptions::new()).unwrap();
    let back = [bursts[1], bursts[2], bursts[0]];
    assert_eq!(colours(&mut reader).unwrap(), back);
    // Those of other tools, too: on and on, and open at the end.
    let others = "2:1:1:1:1:0:90000001:6:90000001:8\n2:1:1:1:1:4:90000001:7\n1:1:1:1:1:0:9:1\n";
    let others = format!("{HEADER}{others}");
    let mut reader = Reader::new(others.as_bytes(), "z.prv", &OpenOptions::new()).unwrap();
    let two = [
        burst(1, 0, 4, Cluster::Id(3)),
        burst(1, 4, 9, Cluster::Id(2)),
    ];
    assert_eq!(colours(&mut reader).unwrap(), two);
    // Once more is the same.
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
    // A type that shares its block leaves it to the others.
    pcf.set_kind(70_000_002, 0, "own", &[(1, "one".into())]);
    assert_eq!(pcf.value(70_000_001, 2), Some("main"));
    assert_eq!(pcf.value(70_000_002, 1), Some("one"));
    assert_eq!(pcf.kinds().count(), 10);
}

/// Frames: how often and how long in all, by region; and messages, collectives and metrics.
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
        perf_core::replay(location, &mut sum);
    }
    let met = match_messages(trace.view());
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
    let written = write_trace(trace.view(), &mut text, "x.prv", &(), &Default::default()).unwrap();
    let options = OpenOptions::new().strict(true);
    let reader = Reader::new(text.as_slice(), "x.prv", &options).unwrap();
    let (back, _) = into_trace(reader, &written.pcf, &written.row).unwrap();
    (back, written.diagnostics)
}

#[test]
fn our_recordings_come_back_from_paraver() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/recordings");
    for name in ["jacobi-4", "jacobi-9", "nwchem-md-4"] {
        let path = format!("{root}/{name}");
        let trace = perf_formats::open(path, &OpenOptions::new()).unwrap();
        let trace = trace.into_trace().unwrap();
        let (back, found) = there_and_back(&trace);
        let (regions, counts, counted) = summary(&trace);
        let (mut again, back_counts, back_counted) = summary(&back);
        // What Paraver has besides.
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
            println!("skipped: corpus absent");
            return;
        };
        let trace = perf_formats::open(path, &OpenOptions::new()).unwrap();
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
