//! Tests of BP files from TAU's trace plug-in: written by ADIOS2, synthetic, growing, damaged.
#![cfg(feature = "adios")]

use crate::common::event_log;

mod bp3;
mod bp5;
mod bp5_damage;
mod corpus;
mod follow;
mod synthetic;

use event_log::Seen;
use perf_core::{EventSource, Job, LocationKind};
use perf_formats::adios::{Adios, rules};
use perf_formats::streams::{Follow, Streams};
use perf_formats::{Error, OpenOptions, open};
use perf_testdata::damage;
use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

fn bundled() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/streams")
}

fn scratch(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("perfkit-adios-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn read(source: &mut Adios) -> perf_formats::Result<Seen> {
    read_in(source, &Job::default())
}

fn read_in(source: &mut Adios, job: &Job) -> perf_formats::Result<Seen> {
    let mut seen = Seen::default();
    while source.next_step(&mut seen, job)? {}
    Ok(seen)
}

/// Copies a bundled file of rank 0 into a folder that a test may modify.
fn copy(name: &str) -> PathBuf {
    let folder = scratch(name);
    for member in ["md.idx", "md.0", "data.0"] {
        let from = bundled().join("tau-metrics-miniapp-0.bp").join(member);
        fs::copy(from, folder.join(member)).unwrap();
    }
    folder
}

#[test]
fn what_adios2_wrote_has_the_events_of_the_table_beside_it() {
    let mut source = Adios::open(&[bundled()], &OpenOptions::new()).unwrap();
    let seen = read(&mut source).unwrap();
    let table = bundled().join("miniapp.tsv");
    let mut table = Streams::open(&[table], &OpenOptions::new()).unwrap();
    let mut expected = Seen::default();
    while table.next_step(&mut expected, &Job::default()).unwrap() {}
    assert_eq!(expected.events().len(), 592);
    assert_eq!(seen.events(), expected.events());
    assert_eq!(seen.steps(), [0, 1, 2, 3]);
    // The row of a timer without a name.
    let found = source.diagnostics();
    assert_eq!(
        (found.count(rules::UNNAMED), found.iter().count()),
        (1, 1),
        "{found}"
    );
    let facts = seen.facts();
    assert!(facts.contains(&"0 Hostname is node0"), "{facts:?}");
    assert!(facts.contains(&"1 Local Time is 2019-06-04T15:29:54:00"));
    assert_eq!(facts.len(), 10);
}

#[test]
fn a_folder_of_files_opens_as_a_trace() {
    let recording = open(bundled(), &OpenOptions::new(), &Job::default()).unwrap();
    assert_eq!(recording.format, "adios");
    let trace = recording.into_trace().unwrap();
    let locations = trace.definitions().system.locations();
    assert_eq!(locations.len(), 4);
    assert_eq!(locations[1].kind, LocationKind::AcceleratorStream);
    assert_eq!(trace.len(), 592);
    let one = bundled().join("tau-metrics-miniapp-1.bp");
    let one = open(one, &OpenOptions::new(), &Job::default())
        .unwrap()
        .into_trace()
        .unwrap();
    assert!(one.len() < trace.len());
}

#[test]
fn damage_makes_no_reader_panic() {
    let folder = copy("damage");
    for (seed, member) in ["md.idx", "md.0", "data.0"].into_iter().enumerate() {
        let whole = fs::read(folder.join(member)).unwrap();
        for bytes in damage::all(&whole, 300, seed as u64 + 1) {
            fs::write(folder.join(member), bytes).unwrap();
            if let Ok(mut source) = Adios::open(&[&folder], &OpenOptions::new()) {
                // Any result or error is acceptable; only a panic is not.
                let _ = read(&mut source);
            }
        }
        fs::write(folder.join(member), whole).unwrap();
    }
}

#[test]
fn unsupported_versions_are_reported_by_name() {
    let folder = scratch("other");
    let six = folder.join("six.bp");
    fs::create_dir(&six).unwrap();
    let mut header = b"ADIOS-BP v2.9.1 Index Table\0".to_vec();
    header.resize(64, 0);
    header[37] = 6;
    let opened = |path: &Path| open(path, &OpenOptions::new(), &Job::default()).unwrap_err();
    for (at, value, expected) in [
        (37, 6, "byte 37: version 6 of the BP format"),
        (37, 5, "byte 38: minor version 0 of BP5"),
    ] {
        header[at] = value;
        fs::write(six.join("md.idx"), &header).unwrap();
        let error = opened(&six);
        assert!(matches!(error, Error::Unsupported { .. }), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
    (header[37], header[38], header[40]) = (5, 2, b'y');
    fs::write(six.join("md.idx"), &header).unwrap();
    let error = opened(&six).to_string();
    assert!(error.contains("column-major"), "{error}");
    let three = folder.join("three.bp");
    fs::write(&three, [3, 0, 0, 0, 0, 0, 0, 0]).unwrap();
    let error = opened(&three);
    assert!(matches!(error, Error::Truncated { .. }), "{error}");
    let error = error.to_string();
    assert!(
        error.contains("three.bp, byte 0") && error.contains("the footer of BP3"),
        "{error}"
    );
    header[37] = 6;
    header[..4].copy_from_slice(b"none");
    fs::write(six.join("md.idx"), &header).unwrap();
    let error = opened(&six).to_string();
    assert!(
        error.contains("md.idx, byte 0: expected `ADIOS-BP v`"),
        "{error}"
    );
    let sst = folder.join("tau-metrics-0.sst");
    fs::write(&sst, "#ADIOS2-SST v0\n0xabc").unwrap();
    let error = opened(&sst);
    assert!(matches!(error, Error::Unsupported { .. }), "{error}");
    assert!(error.to_string().contains("SST"), "{error}");
    let error = Adios::open(&[folder.join("absent")], &OpenOptions::new()).unwrap_err();
    assert!(matches!(error, Error::Io { .. }), "{error}");
}

/// Readable parts of truncated or damaged files are read, and the rest is counted.
#[test]
fn any_prefix_and_any_damage_gives_a_result() {
    let folder = copy("prefix");
    for member in ["md.idx", "md.0", "data.0"] {
        let whole = fs::read(folder.join(member)).unwrap();
        let more = (100..whole.len()).step_by(97);
        for cut in (0..=100.min(whole.len())).chain(more) {
            fs::write(folder.join(member), &whole[..cut]).unwrap();
            let mut source = Adios::open(&[&folder], &OpenOptions::new())
                .unwrap_or_else(|error| panic!("{member} {cut}: {error}"));
            let seen = read(&mut source).unwrap_or_else(|error| panic!("{member} {cut}: {error}"));
            let is_less = seen.events().len() < 296;
            // A prefix of complete steps is not damage.
            let is_whole = member == "md.idx" && cut >= 64 && (cut - 64) % 64 == 0;
            assert!(
                !is_less || is_whole || !source.diagnostics().is_empty(),
                "{member} {cut}"
            );
        }
        for (seed, bytes) in damage::all(&whole, 300, 77).enumerate() {
            // Another version is an unsupported format.
            let is_other = member == "md.idx" && bytes.get(37).is_some_and(|version| *version != 4);
            fs::write(folder.join(member), bytes).unwrap();
            let opened = Adios::open(&[&folder], &OpenOptions::new());
            let outcome = opened.and_then(|mut source| read(&mut source));
            if let Err(error) = outcome {
                let is_unsupported = matches!(error, Error::Unsupported { .. });
                assert!(is_other || is_unsupported, "{member} {seed}: {error}");
            }
        }
        fs::write(folder.join(member), whole).unwrap();
    }
}
