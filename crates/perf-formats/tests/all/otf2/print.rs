//! Checks written archives with `otf2-print -Werror`, if that tool is installed.

use perf_core::Job;
use perf_core::*;
use perf_formats::OpenOptions;
use perf_formats::otf2::{Cut, NewArchive, Reader, SAMPLE_COMPLETED, WriteOptions, cut, write};
use std::process::Command;

/// Returns a wide trace with one of each element that the writer supports.
fn everything() -> Trace {
    let (mut definitions, mut events, _) = perf_testdata::many_ranks::trace(16, 5_000).into_parts();
    let first = Some(LocationId(0));
    let comm = |name: &str, members, parent| Communicator {
        name: name.into(),
        members,
        parent,
    };
    let own = comm("self", perf_core::Members::Own, None);
    let sides = perf_core::Members::Between(vec![first], vec![Some(LocationId(1))]);
    definitions.comms.push(own);
    definitions
        .comms
        .push(comm("inter", sides, Some(CommId(0))));
    let window = Window {
        name: "window".into(),
        comm: Some(CommId(0)),
    };
    definitions.windows.push(window);
    for (name, value_type) in [("count", ValueType::U64), ("rate", ValueType::F64)] {
        let name = name.into();
        definitions.metrics.push(Metric {
            name,
            value_type,
            ..Default::default()
        });
    }
    let members = vec![MetricId(0), MetricId(1)];
    definitions.metric_sets = vec![
        MetricSet {
            members: members.clone(),
            scope: None,
            is_shared: false,
        },
        MetricSet {
            members: vec![MetricId(0)],
            scope: Some(LocationId(2)),
            is_shared: false,
        },
        MetricSet {
            members,
            scope: None,
            is_shared: false,
        },
    ];
    let attribute = Attribute {
        name: "answer".into(),
        ..Default::default()
    };
    definitions.attributes.push(attribute);
    let axis = |name: &str, periodic| CartDimension {
        name: name.into(),
        size: 4,
        periodic,
    };
    definitions.topologies.push(CartTopology {
        name: "grid".into(),
        comm: Some(CommId(0)),
        dimensions: vec![axis("x", true), axis("y", false)],
        coordinates: (0..16)
            .map(|rank| (rank, vec![rank / 4, rank % 4]))
            .collect(),
        ..Default::default()
    });
    definitions.contexts.child(None, RegionId(0)).unwrap();
    let property = ("OTF2::MPI_COMMUNICATION_COMPLETE".into(), "true".into());
    definitions.properties.push(property);
    definitions.kinds = vec!["ThreadFork".into(), "of another format".into()];

    let end = Collective {
        op: CollectiveOp::Bcast,
        comm: CommId(0),
        root: Some(1),
        sent: 4,
        received: 5,
        request: None,
    };
    let transfer = Transfer {
        peer: 1,
        comm: CommId(0),
        tag: 3,
        bytes: 9,
        request: Some(77),
    };
    let (window, matching) = (WindowId(0), 5);
    let list = [
        Event::Metric {
            set: MetricSetId(0),
            values: &[7, 1.5f64.to_bits()],
        },
        Event::Metric {
            set: MetricSetId(1),
            values: &[7],
        },
        Event::Sample {
            context: CallPathId(0),
        },
        Event::Send(transfer),
        Event::SendComplete { request: 77 },
        Event::RecvPost { request: 78 },
        Event::RequestTest { request: 78 },
        Event::RequestCancelled { request: 78 },
        Event::CollectiveBegin,
        Event::CollectiveEnd(end),
        Event::CollectivePost { request: 4 },
        Event::CollectiveEnd(Collective {
            root: None,
            request: Some(4),
            ..end
        }),
        Event::Rma {
            op: RmaOp::Get,
            window,
            remote: 3,
            bytes: 80,
            matching,
        },
        Event::RmaComplete {
            by: RmaCompletion::NonBlocking,
            window,
            matching,
        },
        Event::Measuring { on: false },
        Event::Flush {
            until: Ticks(1 << 40),
        },
        Event::Other {
            kind: KindId(0),
            args: &[3, 2],
        },
    ];
    let mut now = events[0].times().last().unwrap().0;
    for event in list {
        now += 10;
        events[0].push(Ticks(now), event).unwrap();
        let value = Value::U64(42);
        events[0].push_attribute(AttributeValue {
            attribute: AttributeId(0),
            type_code: 4,
            value,
        });
    }
    events[3] = Events::absent();
    Trace::new(definitions, events).unwrap()
}

fn scratch(name: &str) -> std::path::PathBuf {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    drop(std::fs::remove_dir_all(&folder));
    folder
}

/// Returns `true` if the tool is installed. In a complete test run, it must be.
fn has_otf2_print() -> bool {
    let is_there = Command::new("otf2-print").arg("--version").output().is_ok();
    let is_ci = std::env::var("CI").is_ok_and(|value| value == "true");
    assert!(is_there || !is_ci, "otf2-print is not installed");
    if !is_there {
        println!("skipped: otf2-print is not installed");
    }
    is_there
}

#[test]
fn otf2_print_takes_what_we_write() {
    if !has_otf2_print() {
        return;
    }
    let trace = everything();
    let window = TimeRange::new(Ticks(100_000), Ticks(900_000)).unwrap();
    let only = [LocationId(5), LocationId(0)];
    let views = [
        ("whole", trace.view()),
        ("cut", trace.view().between(window).only(&only)),
    ];
    for (name, view) in views {
        let folder = scratch(name);
        let options = WriteOptions::default().with_chunks(1 << 18, 1 << 18);
        let mut sink = NewArchive::new(&folder).unwrap();
        let lost = write(view, &mut sink, &options, &Job::default()).unwrap();
        let samples = u64::from(name == "whole");
        assert_eq!(lost.repairs(), samples, "{lost}");
        assert_eq!(lost.count(SAMPLE_COMPLETED), samples, "{lost}");
        if name == "whole" {
            // The library rejects an archive with a missing event file.
            let (evt, other) = (folder.join("traces/3.evt"), folder.join("traces/3.def"));
            assert!(!evt.exists());
            std::fs::copy(other, evt).unwrap();
        }
        let anchor = folder.join("traces.otf2");
        let print = Command::new("otf2-print")
            .arg("-Werror")
            .arg(&anchor)
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&print.stderr);
        assert!(print.status.success(), "{name}: {errors}");
        let text = String::from_utf8_lossy(&print.stdout);
        let events = text.lines().filter(|line| {
            let mut words = line.split_whitespace();
            let known = words.next().is_some_and(|word| {
                word.chars().all(|c| c.is_ascii_uppercase() || c == '_') && word != "ADDITIONAL"
            });
            let number = |word: Option<&str>| word.is_some_and(|word| word.parse::<u64>().is_ok());
            known && number(words.next()) && number(words.next())
        });
        let events = events.count();
        if name == "whole" {
            assert_eq!(events, trace.len());
            assert!(
                text.contains("(\"rate\" <1>; DOUBLE; 1.5)"),
                "metrics keep their types"
            );
            assert!(text.contains("UINT64; 42"), "attributes are written");
        } else {
            // At least the events of the view; enters and leaves that balance the cut are added.
            assert!(
                events >= view.len() && events <= view.len() + 4 * 8,
                "{events}"
            );
        }
    }
}

#[test]
fn what_cannot_be_written_is_counted() {
    let (definitions, mut events, _) = everything().into_parts();
    let last = events[1].times().last().copied().unwrap();
    let strange = Event::Other {
        kind: KindId(1),
        args: &[],
    };
    events[1].push(last, strange).unwrap();
    events[1]
        .push(
            last,
            Event::Enter {
                region: RegionId(9_999),
            },
        )
        .unwrap();
    let string = AttributeValue {
        attribute: AttributeId(0),
        type_code: 11,
        value: Value::U64(0),
    };
    events[1].push_attribute(string);
    let trace = Trace::new(definitions, events).unwrap();
    let mut archive = perf_formats::otf2::MemoryArchive::default();
    let options = WriteOptions::default();
    let lost = write(trace.view(), &mut archive, &options, &Job::default()).unwrap();
    assert_eq!(lost.count(perf_formats::otf2::EVENT_NOT_WRITTEN), 1);
    assert_eq!(lost.count(perf_formats::otf2::ATTRIBUTE_NOT_WRITTEN), 1);
    assert_eq!(lost.count(perf_formats::otf2::REGION_NAMED), 1);
}

#[test]
fn files_that_are_there_stay() {
    let folder = scratch("twice");
    let trace = perf_testdata::many_ranks::trace(1, 10);
    let options = WriteOptions::default();
    for time in 0..2 {
        let mut sink = NewArchive::new(&folder).unwrap();
        let outcome = write(trace.view(), &mut sink, &options, &Job::default());
        assert_eq!(outcome.is_ok(), time == 0);
    }
}

#[test]
fn a_record_longer_than_a_chunk_is_an_error() {
    let trace = perf_testdata::many_ranks::trace(1, 10);
    let mut archive = perf_formats::otf2::MemoryArchive::default();
    let options = WriteOptions::default().with_chunks(30, 1 << 20);
    let outcome = write(trace.view(), &mut archive, &options, &Job::default());
    assert!(matches!(outcome, Err(perf_formats::Error::Limit { .. })));
}

#[test]
fn otf2_print_takes_what_we_cut() {
    if !has_otf2_print() {
        return;
    }
    // Archives that the tool accepts unchanged.
    for name in [
        "pipit-pingpong",
        "sstmacro-otf2",
        "casita-2_cuda_simple",
        "syn-cosmo",
    ] {
        let Some(path) = perf_testdata::corpus::corpus(&format!("otf2/{name}")) else {
            return;
        };
        let reader = Reader::open(&path, &OpenOptions::new(), &Job::default()).unwrap();
        let range = reader.read().unwrap().0.range().unwrap();
        let third = range.len() / 3;
        let window =
            TimeRange::new(Ticks(range.start.0 + third), Ticks(range.end.0 - third)).unwrap();
        let folder = scratch(&format!("cut-{name}"));
        let mut sink = NewArchive::new(&folder).unwrap();
        let kept = reader.definitions().system.location_ids().take(2).collect();
        let selection = Cut::new().window(window).locations(kept).name("part");
        cut(&reader, &selection, &mut sink, &Job::default()).unwrap();
        let print = Command::new("otf2-print")
            .args(["-Werror", "--silent"])
            .arg(folder.join("part.otf2"))
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&print.stderr);
        assert!(print.status.success(), "{name}: {errors}");
    }
}
