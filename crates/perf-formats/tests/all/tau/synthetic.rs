//! Tests with profiles built byte by byte: packed ones, and folders with contexts, threads and user
//! events.

use super::{Folder, open, text};
use flate2::Compression;
use flate2::write::GzEncoder;
use perf_core::{CallPathId, Job, Limits, LocationId, MetricId, Profile};
use perf_formats::tau::{Key, Tau, rules};
use perf_formats::{Error, OpenOptions};
use std::io::Write;

/// A byte stream in the encoding of ParaProf.
#[derive(Default)]
struct Packed(Vec<u8>);

impl Packed {
    fn integers(mut self, numbers: &[i32]) -> Self {
        numbers
            .iter()
            .for_each(|number| self.0.extend(number.to_be_bytes()));
        self
    }

    fn floats(mut self, numbers: &[f64]) -> Self {
        numbers
            .iter()
            .for_each(|number| self.0.extend(number.to_be_bytes()));
        self
    }

    fn texts(mut self, texts: &[&str]) -> Self {
        for text in texts {
            self.0.extend((text.len() as u16).to_be_bytes());
            self.0.extend(text.as_bytes());
        }
        self
    }
}

/// Returns two threads in descending order, with two metrics, a call path and a user event.
fn packed(version: i32) -> Vec<u8> {
    let mut all = Packed(b"\0P\0P\0K".to_vec()).integers(&[version, 1]);
    if version >= 2 {
        // The size of the header, three bytes of a newer version, metadata of all threads and of
        // one.
        all = all.integers(&[99, 3]);
        all.0.extend([1, 2, 3]);
        all = all.integers(&[1]).texts(&["Host", "h"]);
        all = all
            .integers(&[1, 7, 1, 2, 1])
            .texts(&["BGP Coords", "(1,2,3)"]);
    }
    all = all.integers(&[2]).texts(&["TIME", "PAPI_FP_OPS"]);
    all = all.integers(&[2]).texts(&["TAU_USER", "TAU_CALLPATH"]);
    all = all.integers(&[3]);
    all = all.texts(&["main"]).integers(&[1, 0]);
    all = all.texts(&["f"]).integers(&[0]);
    all = all.texts(&["main => f"]).integers(&[2, 0, 1]);
    all = all.integers(&[1]).texts(&["size"]);
    all = all.integers(&[2]);
    all = all.integers(&[7, 1, 2, 3]);
    all = all
        .integers(&[0])
        .floats(&[1.0, 3.0, 10.0, 15.0, 100.0, 150.0]);
    all = all.integers(&[1]).floats(&[3.0, 0.0, 5.0, 5.0, 50.0, 50.0]);
    all = all.integers(&[2]).floats(&[3.0, 0.0, 5.0, 5.0, 50.0, 50.0]);
    all = all.integers(&[1, 0, 4]).floats(&[1.0, 9.0, 4.0, 80.0]);
    all = all.integers(&[0, 0, 0, 1]);
    all = all.integers(&[0]).floats(&[1.0, 0.0, 7.0, 7.0, -1.0, 8.0]);
    all.integers(&[0]).0
}

fn unpack(bytes: Vec<u8>) -> Result<Tau, Error> {
    Tau::from_packed(bytes, "made.ppk", &OpenOptions::new(), &Job::default())
}

fn row(profile: &Profile, metric: &str, path: u32) -> Vec<f64> {
    let metric = profile.metric(metric).unwrap();
    let row = profile.row(metric, CallPathId(path)).unwrap();
    row.map_or_else(Vec::new, |row| row.to_f64())
}

pub(super) fn path(profile: &Profile, name: &str) -> u32 {
    let count = profile.calls().paths().len() as u32;
    let named = |at: &u32| profile.calls().name(CallPathId(*at), profile.regions()) == name;
    (0..count).find(named).unwrap()
}

#[test]
fn packed_profiles_of_both_versions() {
    for version in [1, 2] {
        let tau = unpack(packed(version)).unwrap();
        let keys: Vec<_> = tau.threads().iter().map(|thread| thread.key).collect();
        let key = |node, context, thread| Key {
            node,
            context,
            thread,
        };
        assert_eq!(keys, [key(0, 0, 0), key(7, 1, 2)]);
        assert_eq!(tau.functions()[2].groups, ["TAU_USER", "TAU_CALLPATH"]);
        // Packed user events store the minimum before the maximum.
        let event = tau.threads()[1].events[0];
        assert_eq!(
            (event.count, event.min, event.max, event.mean),
            (4.0, 1.0, 9.0, 4.0)
        );
        let profile = tau.profile();
        let (main, f) = (path(profile, "main"), path(profile, "main > f"));
        assert_eq!(row(profile, "TIME", main), [7.0, 15.0]);
        assert_eq!(row(profile, "exclusive PAPI_FP_OPS", main), [0.0, 100.0]);
        assert_eq!(row(profile, "PAPI_FP_OPS", f), [0.0, 50.0]);
        assert_eq!(row(profile, "calls", f), [0.0, 3.0]);
        assert_eq!(tau.diagnostics().count(rules::NEGATIVE), 1);
        let own = &profile.system().locations()[1].properties;
        let coordinates = (version == 2).then_some("(1,2,3)");
        assert_eq!(own.get("BGP Coords"), coordinates);
        let host = ("Host".to_string(), "h".to_string());
        assert_eq!(profile.properties().contains(&host), version == 2);
        let group = profile.system().process(LocationId(1)).unwrap();
        assert!(
            profile
                .system()
                .group(group)
                .unwrap()
                .name
                .contains("context 1")
        );
    }
    let mut longer = packed(2);
    longer.extend([0; 5]);
    assert_eq!(
        unpack(longer).unwrap().diagnostics().count(rules::TRAILING),
        5
    );
    let mut newer = packed(2);
    newer[10..14].copy_from_slice(&3_i32.to_be_bytes());
    assert!(matches!(unpack(newer), Err(Error::Unsupported { .. })));
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn damaged_packed_profiles_say_where() {
    let whole = packed(2);
    for end in 0..whole.len() {
        let error = unpack(whole[..end].to_vec()).map(|_| ()).unwrap_err();
        let place = error.place().unwrap();
        assert_eq!(&*place.file, "made.ppk");
        assert!(
            place.offset.is_some_and(|at| at <= end as u64),
            "{end}: {error}"
        );
    }
    // Invalid numbers, and one that is too large, each reported with its place.
    let floats = whole.len() - 4 - 48;
    for (at, bytes) in [
        (floats, f64::NAN.to_be_bytes()),
        (floats + 16, f64::INFINITY.to_be_bytes()),
    ] {
        let mut broken = whole.clone();
        broken[at..at + 8].copy_from_slice(&bytes);
        let error = unpack(broken).map(|_| ()).unwrap_err();
        assert_eq!(error.place().unwrap().offset, Some(at as u64), "{error}");
    }
    for value in [-1, 3, i32::MAX] {
        let mut broken = whole.clone();
        broken[floats - 4..floats].copy_from_slice(&value.to_be_bytes());
        let error = unpack(broken).map(|_| ()).unwrap_err();
        assert!(matches!(error, Error::Malformed { .. }), "{error}");
    }
    // The key of the second thread, which comes first, is replaced by that of the other one.
    let at = whole
        .windows(12)
        .position(|key| key == [0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0, 2]);
    let last = whole
        .windows(12)
        .rposition(|key| key == [0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0, 2]);
    let (Some(facts), Some(key)) = (at, last) else {
        panic!("the key stands in the facts and before its functions");
    };
    assert!(facts < key);
    let mut twice = whole.clone();
    twice[key..key + 12].fill(0);
    let error = unpack(twice).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("0, 0, 0 again"), "{error}");
    assert!(
        error
            .place()
            .unwrap()
            .offset
            .is_some_and(|at| at > key as u64)
    );
    // Compressed with gzip: truncated at any byte, and with a wrong checksum.
    let packed = gzip(&whole);
    assert_eq!(unpack(packed.clone()).unwrap().threads().len(), 2);
    for end in 2..packed.len() {
        let error = unpack(packed[..end].to_vec()).map(|_| ()).unwrap_err();
        assert!(error.place().is_some(), "{end}: {error}");
        assert!(error.to_string().contains("made.ppk"), "{end}: {error}");
    }
    let mut sum = packed;
    let at = sum.len() - 8;
    sum[at] ^= 1;
    let error = unpack(sum).map(|_| ()).unwrap_err();
    assert!(matches!(error, Error::Malformed { .. }), "{error}");
}

const EVENTS: &str = "2 userevents\n# eventname numevents max min mean sumsqr\n\
                      \"[GROUP=MIN_MARKER] a : b\" 3 9 1 4.5E0 90\n\"x \"y\" z\" 1 2 2 2 4\n";

#[test]
fn contexts_threads_events_and_groups() {
    let with = |metric: &str, events: bool| {
        let functions = [
            ("main", 10.0, 30.0),
            ("f", 20.0, 20.0),
            ("main => f", 20.0, 20.0),
        ];
        let text = text(metric, &functions);
        let text = text.replace("\"f\" 1 0 20 20 0", "\"f\" 2.0E0 0 2.00E1 20 0");
        let text = text.replace("TAU_USER", "TAU_USER | MPI|TAU_DEFAULT");
        if events {
            text + EVENTS
        } else {
            text + "0 userevents\n"
        }
    };
    let mut files = Vec::new();
    for key in ["0.0.0", "0.0.1", "0.1.0", "1.0.0", "10.0.0", "2.0.0"] {
        files.push((format!("MULTI__P_WALL/profile.{key}"), with("P_WALL", true)));
        // Ranks 1 and 10 have no file of the second metric, which repeats the events.
        if !key.starts_with('1') {
            files.push((format!("MULTI__X_OPS/profile.{key}"), with("X_OPS", true)));
        }
    }
    let files: Vec<_> = files
        .iter()
        .map(|(name, text)| (name.as_str(), text.clone()))
        .collect();
    let folder = Folder::new("contexts", &files);
    let tau = open(&folder.0);
    let keys = tau.threads().iter().map(|thread| thread.key);
    let keys: Vec<_> = keys
        .map(|key| (key.node, key.context, key.thread))
        .collect();
    assert_eq!(
        keys,
        [
            (0, 0, 0),
            (0, 0, 1),
            (0, 1, 0),
            (1, 0, 0),
            (2, 0, 0),
            (10, 0, 0)
        ]
    );
    assert_eq!(tau.diagnostics().count(rules::MISSING_FILE), 2);
    let profile = tau.profile();
    // Two threads of one process, then one of each.
    assert_eq!(profile.system().groups().len(), 5);
    let f = path(profile, "main > f");
    assert_eq!(row(profile, "P_WALL", f), [20.0; 6]);
    assert_eq!(row(profile, "X_OPS", f), [20.0, 20.0, 20.0, 0.0, 20.0, 0.0]);
    // The function repeats its call path and is not a root as well.
    let paths = profile.paths(MetricId(0));
    assert_eq!(paths.len(), 2, "{paths:?}");
    assert_eq!(
        tau.functions()[1].groups,
        ["TAU_USER", "MPI", "TAU_DEFAULT"]
    );
    for thread in tau.threads() {
        assert_eq!(thread.events.len(), 2);
        assert_eq!((thread.events[0].max, thread.events[0].min), (9.0, 1.0));
        assert_eq!(thread.entries[1].calls, 2.0);
    }
    assert_eq!(tau.events(), ["[GROUP=MIN_MARKER] a : b", "x \"y\" z"]);
}

#[test]
fn headers_and_metadata_are_no_proper_xml() {
    let head = |metadata: &str| {
        format!(
            "1 templated_functions\n# Name Calls Subrs Excl Incl ProfileCalls{metadata}\n\
             \"a \"GROUP=b\" => c\" 1 0 2E-3 1.5e1 0 GROUP=\"A\" \n0 aggregates\n"
        )
    };
    let metadata = "<metadata><attribute><name>Metric Name</name><value>WALL</value></attribute>\
                    <attribute><name>Command</name><value>a & b <c\n d=\"1\"> &lt;</value></attribute>\
                    <attribute><name>BGP Coords</name><value>(0,1,2)</value></attribute></metadata>";
    let read =
        |text: &str| Tau::from_text(text.as_bytes(), "t", &OpenOptions::new(), &Job::default());
    let plain = read(&head(" #")).unwrap();
    assert_eq!(plain.metrics(), ["Time"]);
    for open in [" # ", "", " SumExclSqr # "] {
        let tau = read(&head(&format!("{open}{metadata}"))).unwrap();
        assert_eq!(tau.metrics(), ["WALL"]);
        let facts = &tau.threads()[0].metadata;
        assert_eq!(facts.len(), 3, "{open}: {facts:?}");
        assert!(facts.contains(&("BGP Coords".into(), "(0,1,2)".into())));
        let entry = tau.threads()[0].values[0];
        assert_eq!(entry, (0.002, 15.0));
        assert_eq!(tau.functions()[0].name, "a \"GROUP=b\" => c");
    }
    let named = Folder::new(
        "named",
        &[("profile.0.0.0", head(&format!(" # {metadata}")))],
    );
    assert_eq!(open(&named.0).metrics(), ["WALL"]);
    let cut = head(&format!(" # {metadata}")).replace("</metadata>", "");
    let error = read(&cut).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("</metadata>"), "{error}");
    assert!(
        error.place().is_some_and(|place| place.offset.is_some()),
        "{error}"
    );
}

#[test]
fn groups_take_no_more_than_the_memory_budget_and_depth_is_told_with_its_function() {
    // A group with a name of 1,000 bytes, and a function that lists it 400 times.
    let all = Packed(b"\0P\0P\0K".to_vec()).integers(&[1, 1, 1]);
    let all = all.texts(&["TIME"]).integers(&[1]);
    let all = all.texts(&[&"g".repeat(1000)]).integers(&[1]);
    let all = all.texts(&["a => b"]).integers(&[400]).integers(&[0; 400]);
    // No user events, and a thread without data.
    let bytes = all.integers(&[0, 1, 0, 0, 0, 0, 0]).0;
    let with = |limits| {
        Tau::from_packed(
            bytes.clone(),
            "made.ppk",
            &OpenOptions::new().limits(limits),
            &Job::default(),
        )
    };
    assert_eq!(
        with(Limits::default()).unwrap().functions()[0].groups.len(),
        400
    );
    let error = with(Limits::default().with_string(1000)).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Limit {
                got: 257_000,
                limit: 256_000,
                ..
            }
        ),
        "{error}"
    );
    let error = with(Limits::default().with_depth(1)).unwrap_err();
    let place = error.place().unwrap();
    assert_eq!(
        (&*place.file, place.record.as_deref()),
        ("made.ppk", Some("a => b"))
    );
}
