//! Files that are damaged, foreign, or not writable.

use super::*;
use perf_core::Job;

/// A model with the largest number: its store can be copied, but not behind another one.
#[test]
fn models_without_a_number_are_no_others() {
    let store = |id: u64| -> Box<dyn Store> {
        let mut store = Memory::new();
        let model = format!(
            r#"{{"type":"model","id":{id},"program":0,"function":"f","step":0,"detector":"tail","facts":{{}}}}"#
        );
        let model = model.parse::<Entry>().expect("it is one");
        store.put(&model).expect("there is room");
        Box::new(store)
    };
    let mut into = Memory::new();
    assert!(
        merge(&mut [store(u64::MAX)], &mut into, &Job::default()).is_ok_and(|count| count == 1)
    );
    let refused = merge(&mut [store(u64::MAX), store(1)], &mut into, &Job::default())
        .expect_err("no number is left");
    assert!(matches!(refused, Error::Entry(_)), "{refused}");
    let refused = merge(
        &mut [store(7), store(u64::MAX), store(7)],
        &mut into,
        &Job::default(),
    );
    assert!(refused.is_err());
}

#[test]
fn unreadable_lines_are_counted_and_skipped() {
    let path = scratch("damaged.jsonl");
    let store = Box::new(Lines::create(&path).expect("tests may write here"));
    let _ = accelerated(monitor(Calls::params(), Recorder::params(), store));
    let text = std::fs::read_to_string(&path).expect("it was just written");
    let lines: Vec<&str> = text.lines().collect();
    // Every prefix of the file is a valid store.
    for end in (0..text.len()).step_by(97) {
        std::fs::write(&path, &text.as_bytes()[..end]).expect("tests may write here");
        let mut store = Lines::open(&path).expect("it is there");
        let mut entries = 0;
        let mut count = |_: Entry| {
            entries += 1;
            Ok(())
        };
        store.each(&mut count).expect("it can be read");
        let whole = text[..end].matches('\n').count();
        let unreadable = store.unreadable().map_or(0, |(count, _)| count as usize);
        assert!(entries >= whole && entries + unreadable <= whole + 1);
    }
    // Entries after a truncated line are read.
    let cut = &text[..text.len() - 20];
    std::fs::write(&path, cut).expect("tests may write here");
    let mut store = Lines::open(&path).expect("it is there");
    store
        .put(&Entry::Stream(Default::default()))
        .expect("tests may write here");
    let mut last = None;
    store
        .each(&mut |entry| {
            last = Some(entry);
            Ok(())
        })
        .expect("it can be read");
    assert_eq!(last, Some(Entry::Stream(Default::default())));
    let (count, what) = store.unreadable().expect("a line was cut off");
    assert_eq!(count, 1);
    assert!(
        what.starts_with(&format!("line {}: ", lines.len())),
        "{what}"
    );
    // Errors name a missing field, or the place of a value of the wrong type.
    for (line, expected) in [
        ("[]", "line 1: expected an object"),
        (r#"{"type":"dog"}"#, "line 1: no entry has the type `dog`"),
        (
            r#"{"type":"stream","program":0,"rank":0}"#,
            "line 1: missing field `thread`, column 38",
        ),
        (
            r#"{"type":"run","format":9}"#,
            "line 1: the format is of version 9, expected 1",
        ),
        (
            r#"{"type":"stream","program":-1}"#,
            "line 1: invalid value: integer `-1`, expected u32, column 29",
        ),
    ] {
        std::fs::write(&path, line).expect("tests may write here");
        let mut store = open(&path).expect("it is there");
        store.each(&mut |_| Ok(())).expect("it can be read");
        assert_eq!(store.unreadable(), Some((1, expected.to_string())));
    }
    let error = open(scratch("nowhere.jsonl")).expect_err("there is none");
    assert!(
        matches!(&error, Error::Store { file, .. } if file.ends_with("nowhere.jsonl")),
        "{error}"
    );
}

#[cfg(feature = "sqlite")]
#[test]
fn databases_of_others_are_left_alone() {
    use perf_anomaly::provenance::Sqlite;
    let path = scratch("other.sqlite");
    let _ = std::fs::remove_file(&path);
    let other = rusqlite::Connection::open(&path).expect("tests may write here");
    other
        .execute_batch("create table t (a)")
        .expect("tests may write here");
    let error = open(&path).expect_err("it is somebody else's").to_string();
    assert!(
        error.ends_with("the database holds no provenance"),
        "{error}"
    );
    std::fs::write(&path, b"SQLite format 3\0 and then nothing").expect("tests may write here");
    assert!(open(&path).is_err());
    assert!(Sqlite::open(scratch("nowhere.sqlite")).is_err());
    // A view may never terminate, and a trigger may have any effect.
    for (name, sql) in [
        (
            "entry",
            "drop table entry; create view entry as with recursive n(id) as (select 1 union all select id + 1 from n) select id, '' body from n",
        ),
        (
            "louder",
            "create trigger louder after insert on call begin delete from entry; end",
        ),
    ] {
        let path = scratch("stranger.sqlite");
        let _ = std::fs::remove_file(&path);
        let mut store = Sqlite::create(&path).expect("tests may write here");
        store
            .within(|database| database.execute_batch(sql))
            .expect("it is sound");
        store.commit().expect("it can be written");
        drop(store);
        let error = open(&path).expect_err("it is no store").to_string();
        let expected = format!("{name:?} is not the table that a recorder makes");
        assert!(error.ends_with(&expected), "{error}");
    }
    // An existing store is opened by its first bytes.
    let path = scratch("mine.sqlite");
    Sqlite::create(&path)
        .expect("tests may write here")
        .commit()
        .expect("nothing to do");
    let mut store = open(&path).expect("it was just made");
    assert_eq!(store.query(&Query::default()).expect("it is empty"), []);
}

#[test]
fn a_file_that_may_only_be_read_is_read_and_not_written() {
    let path = scratch("readonly.jsonl");
    // An earlier test run may have left it.
    let _ = std::fs::remove_file(&path);
    let store = Box::new(Lines::create(&path).expect("tests may write here"));
    let _ = accelerated(monitor(Calls::params(), Recorder::params(), store));
    // Its last line is truncated: reading does not repair it.
    let text = std::fs::read_to_string(&path).expect("it was just written");
    std::fs::write(&path, &text[..text.len() - 9]).expect("tests may write here");
    let mut permissions = std::fs::metadata(&path).expect("it is there").permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&path, permissions.clone()).expect("it is ours");
    let mut store = open(&path).expect("it may be read");
    assert!(!records(&mut *store, Kind::Anomaly).is_empty());
    drop(store);
    let left = std::fs::read_to_string(&path).expect("it is there");
    assert_eq!(left, text[..text.len() - 9]);
    #[allow(
        clippy::permissions_set_readonly_false,
        reason = "it is in the folder of this test"
    )]
    permissions.set_readonly(false);
    std::fs::set_permissions(&path, permissions).expect("it is ours");
}

#[test]
fn lines_that_cannot_be_read_stay_when_records_are_revised() {
    let path = scratch("revised.jsonl");
    let store = Box::new(Lines::create(&path).expect("tests may write here"));
    let (store, _) = accelerated(monitor(Calls::params(), Recorder::params(), store));
    drop(store);
    let text = std::fs::read_to_string(&path).expect("it was just written");
    let mut bytes = b"{\"type\":\"from a later version\",\"x\":1}\n".to_vec();
    bytes.extend(text.as_bytes());
    bytes.extend(b"\xff\xfe not text\n{\"type\":\"anomaly\",\"cut");
    std::fs::write(&path, &bytes).expect("tests may write here");
    let mut store = Lines::open(&path).expect("it is there");
    let removed = store
        .revise(&mut |record| match record.kind {
            Kind::Anomaly => Revision::Remove,
            _ => Revision::Keep,
        })
        .expect("it can be written");
    assert_eq!(removed, 2);
    assert_eq!(store.unreadable().map(|(count, _)| count), Some(3));
    let left = std::fs::read(&path).expect("it is there");
    let lines: Vec<&[u8]> = left.split(|byte| *byte == b'\n').collect();
    assert!(lines[0].starts_with(b"{\"type\":\"from a later version\""));
    assert!(lines.contains(&b"\xff\xfe not text".as_slice()));
    assert!(lines.contains(&b"{\"type\":\"anomaly\",\"cut".as_slice()));
    assert_eq!(
        text.lines().count() + 3 - 2,
        lines.len() - 1,
        "two records less"
    );
    // Appending continues after it.
    store
        .put(&Entry::Stream(Default::default()))
        .expect("tests may write here");
    store.commit().expect("tests may write here");
    let more = std::fs::read(&path).expect("it is there");
    assert!(more.starts_with(&left) && more.len() > left.len());
}

#[test]
fn lines_that_are_too_long_are_counted_and_left_out() {
    let path = scratch("long.jsonl");
    let short = Entry::Stream(Default::default()).to_string();
    let long = format!("{}{short}", " ".repeat(3 * short.len()));
    std::fs::write(&path, format!("{short}\n{long}\n{short}\n")).expect("tests may write here");
    let read = |most: u64| {
        let mut store = Lines::open(&path).expect("it is there").longest(most);
        let mut count = 0;
        let each = store.each(&mut |_| {
            count += 1;
            Ok(())
        });
        each.expect("it can be read");
        (count, store.unreadable().map(|(count, _)| count))
    };
    assert_eq!(read(1 << 20), (3, None));
    let (count, unreadable) = read(short.len() as u64 + 1);
    assert_eq!(count, 2);
    assert!(unreadable.is_some_and(|count| count > 0));
}
