//! Tests of archives on disk that are found by any of their paths.

use super::*;

/// Returns a separate folder with an archive in it.
fn on_disk(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("edges")
        .join(name);
    drop(fs::remove_dir_all(&folder));
    let mut sink = NewArchive::new(&folder).unwrap();
    let options = WriteOptions::default();
    let trace = one_call();
    write(trace.view(), &mut sink, &options, &Job::default()).unwrap();
    folder
}

/// Asserts that both ways to open a path return the single call.
fn finds(path: &Path, repairs: u64) {
    let options = OpenOptions::new();
    let recording = open(path, &options, &Job::default()).unwrap();
    assert_eq!(
        recording.diagnostics.repairs(),
        repairs,
        "{}",
        path.display()
    );
    assert_eq!(recording.trace().unwrap().events(), one_call().events());
    let reader = Reader::open(path, &options, &Job::default()).unwrap();
    assert_eq!(reader.read().unwrap().0.len(), 2);
    let members = MemoryArchive::read(path).unwrap();
    assert_eq!(read(&members, options).0.len(), 2);
}

#[test]
fn an_archive_is_found_from_any_of_its_paths() {
    let folder = on_disk("paths");
    finds(&folder, 0);
    finds(&folder.join("traces.otf2"), 0);
    finds(&folder.join("traces.otf2/"), 0);
    finds(&folder.join("traces"), 0);
    finds(&folder.join("traces/"), 0);

    // Without an anchor, and without definitions.
    fs::remove_file(folder.join("traces.otf2")).unwrap();
    finds(&folder.join("traces"), 1);
    fs::remove_file(folder.join("traces.def")).unwrap();
    let reader =
        Reader::open(&folder.join("traces"), &OpenOptions::new(), &Job::default()).unwrap();
    assert_eq!(reader.name(), "traces");
    assert_eq!(reader.read().unwrap().0.len(), 2);
}

/// Without an anchor, files of an earlier run in the same folder are distinguished from those of
/// locations with lost definitions.
#[test]
fn files_that_whole_definitions_do_not_name_are_stale() {
    let mut events = one_call().events().to_vec();
    events.extend(events.clone());
    let trace = Trace::new(definitions(2), events).unwrap();
    let mut archive = written(trace.view(), &WriteOptions::default());
    for stale in ["7", "9"] {
        for of in ["evt", "def"] {
            let bytes = archive.get(&format!("traces/0.{of}")).unwrap().to_vec();
            archive.insert(format!("traces/{stale}.{of}"), bytes);
        }
    }
    let counts = |archive: &MemoryArchive| {
        let (trace, found) = read(archive, OpenOptions::new());
        let count = |rule| found.count(rule);
        let rules = [rules::STALE_FILES, rules::UNDEFINED_LOCATION];
        (trace.len(), rules.map(count))
    };
    assert_eq!(counts(&archive), (4, [0, 0]));
    archive.remove("traces.otf2");
    assert_eq!(counts(&archive), (4, [2, 0]));

    // Definitions that are truncated, damaged or missing.
    let whole = archive.get("traces.def").unwrap().to_vec();
    let mut damaged = archive.clone();
    damaged.insert("traces.def", whole[..whole.len() - 2].to_vec());
    assert_eq!(counts(&damaged), (8, [0, 2]));
    damaged.remove("traces.def");
    assert_eq!(counts(&damaged), (8, [0, 4]));
    // Another kind of record in place of location 1, and another key: 0, which is used, or 5, which
    // has no files.
    let reader = Reader::new(&archive, &OpenOptions::new(), &Job::default()).unwrap();
    let locations = reader.definition_file().records();
    let locations = locations.filter(|it| it.name() == "Location");
    let at = locations.last().unwrap().offset as usize;
    assert_eq!(whole[at + 2..at + 4], [1, 1], "a key of one byte");
    for (offset, byte, undefined) in [(0, 200, 3), (3, 0, 3), (3, 5, 3)] {
        let mut bytes = whole.clone();
        bytes[at + offset] = byte;
        damaged.insert("traces.def", bytes);
        assert_eq!(counts(&damaged), (8, [0, undefined]), "{offset} {byte}");
    }
}

#[test]
fn a_renamed_anchor_finds_its_files() {
    let folder = on_disk("renamed");
    fs::rename(folder.join("traces.otf2"), folder.join("mine.otf2")).unwrap();
    finds(&folder, 0);
    finds(&folder.join("mine.otf2"), 0);
    fs::rename(folder.join("mine.otf2"), folder.join("mine")).unwrap();
    finds(&folder.join("mine"), 0);
    // Definitions that belong to another anchor are ignored.
    fs::copy(folder.join("mine"), folder.join("traces.otf2")).unwrap();
    fs::rename(folder.join("mine"), folder.join("mine.otf2")).unwrap();
    let other = Reader::open(
        &folder.join("traces.otf2"),
        &OpenOptions::new(),
        &Job::default(),
    )
    .unwrap();
    assert_eq!(other.name(), "traces");
}

#[cfg(unix)]
#[test]
fn a_link_to_an_anchor_finds_the_files_beside_that() {
    let folder = on_disk("linked");
    let elsewhere = folder.join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let link = elsewhere.join("link.otf2");
    std::os::unix::fs::symlink(folder.join("traces.otf2"), &link).unwrap();
    finds(&link, 0);
    let link = elsewhere.join("events");
    std::os::unix::fs::symlink(folder.join("traces"), &link).unwrap();
    finds(&link, 0);
}

#[test]
fn an_anchor_alone_is_an_error() {
    let folder = on_disk("alone");
    fs::remove_file(folder.join("traces.def")).unwrap();
    fs::remove_dir_all(folder.join("traces")).unwrap();
    let anchor = folder.join("traces.otf2");
    let text = |error: Error| error.to_string();
    let error = Reader::open(&anchor, &OpenOptions::new(), &Job::default()).unwrap_err();
    assert!(matches!(error, Error::Malformed { .. }), "{error}");
    let error = text(error);
    assert!(error.contains(&*anchor.to_string_lossy()), "{error}");

    // Errors for damage contain the archive, and those for missing files the message of the system.
    fs::write(&anchor, "\x03B").unwrap();
    let error = text(Reader::open(&anchor, &OpenOptions::new(), &Job::default()).unwrap_err());
    assert!(error.contains(&*anchor.to_string_lossy()), "{error}");
    let missing = folder.join("none.otf2");
    let words = fs::metadata(&missing).unwrap_err().to_string();
    for error in [
        open(&missing, &OpenOptions::new(), &Job::default()).unwrap_err(),
        Reader::open(&missing, &OpenOptions::new(), &Job::default()).unwrap_err(),
    ] {
        let error = text(error);
        assert!(error.ends_with(&words), "{error}");
    }
}
