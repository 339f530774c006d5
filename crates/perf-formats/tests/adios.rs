//! BP4 files of TAU's trace plug-in: those that ADIOS2 wrote, made ones, growing, damaged.
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests say what they expect, as tests do"
)]
#![cfg(feature = "adios")]

#[path = "common/seen.rs"]
mod seen;

use perf_core::{CancelToken, EventSource, LocationKind};
use perf_formats::adios::{Adios, rules};
use perf_formats::streams::{Follow, Streams};
use perf_formats::{Error, OpenOptions, open};
use perf_testdata::damage;
use seen::Seen;
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
    let mut seen = Seen::default();
    while source.next_step(&mut seen)? {}
    Ok(seen)
}

/// A file of rank 0 as bundled, in a folder that a test may write.
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
    while table.next_step(&mut expected).unwrap() {}
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
    let recording = open(bundled(), &OpenOptions::new()).unwrap();
    assert_eq!(recording.format, "adios");
    let trace = recording.into_trace().unwrap();
    let locations = trace.definitions().system.locations();
    assert_eq!(locations.len(), 4);
    assert_eq!(locations[1].kind, LocationKind::AcceleratorStream);
    assert_eq!(trace.len(), 592);
    let one = bundled().join("tau-metrics-miniapp-1.bp");
    let one = open(one, &OpenOptions::new())
        .unwrap()
        .into_trace()
        .unwrap();
    assert!(one.len() < trace.len());
}

#[test]
fn a_growing_file_is_followed_until_its_writer_closes_it() {
    let folder = copy("grows");
    let steps = folder.join("md.idx");
    let mut open = fs::read(&steps).unwrap();
    open[38] = 1;
    fs::write(&steps, &open[..128]).unwrap();
    let writer = std::thread::spawn(move || {
        let mut file = fs::OpenOptions::new().write(true).open(steps).unwrap();
        let parts = [(128, 150), (150, 192), (192, 320)];
        for (start, end) in parts {
            std::thread::sleep(Duration::from_millis(20));
            file.seek(SeekFrom::Start(start)).unwrap();
            file.write_all(&open[start as usize..end]).unwrap();
        }
        std::thread::sleep(Duration::from_millis(20));
        file.seek(SeekFrom::Start(38)).unwrap();
        file.write_all(&[0]).unwrap();
    });
    let follow = Follow::default().poll(Duration::from_millis(2));
    let mut source = Adios::open(&[&folder], &OpenOptions::new())
        .unwrap()
        .follow(follow);
    let seen = read(&mut source).unwrap();
    writer.join().unwrap();
    assert_eq!(seen.steps(), [0, 1, 2, 3]);
    assert_eq!(source.diagnostics().count(rules::UNFINISHED), 0);
}

#[test]
fn without_following_the_steps_there_are_are_all() {
    let folder = copy("stays");
    let mut bytes = fs::read(folder.join("md.idx")).unwrap();
    bytes[38] = 1;
    fs::write(folder.join("md.idx"), &bytes[..64 + 128 + 5]).unwrap();
    let mut source = Adios::open(&[&folder], &OpenOptions::new()).unwrap();
    assert_eq!(read(&mut source).unwrap().steps(), [0, 1]);
    // Whoever waits can be stopped, or gives up.
    let token = CancelToken::new();
    token.cancel();
    let options = OpenOptions::new().cancel(token);
    let mut source = Adios::open(&[&folder], &options)
        .unwrap()
        .follow(Follow::default());
    assert_eq!(read(&mut source).unwrap().steps(), [0, 1]);
    let follow = Follow::default().idle(Duration::from_millis(5));
    let mut source = Adios::open(&[&folder], &OpenOptions::new())
        .unwrap()
        .follow(follow);
    assert_eq!(read(&mut source).unwrap().steps(), [0, 1]);
    assert_eq!(source.diagnostics().count(rules::GIVEN_UP), 1);
    // A writer that ended within a record.
    bytes[38] = 0;
    fs::write(folder.join("md.idx"), &bytes[..64 + 128 + 5]).unwrap();
    let mut source = Adios::open(&[&folder], &OpenOptions::new()).unwrap();
    assert_eq!(read(&mut source).unwrap().steps(), [0, 1]);
    assert_eq!(source.diagnostics().count(rules::UNFINISHED), 1);
}

#[test]
fn a_step_that_is_cut_off_is_skipped_and_counted() {
    let folder = copy("cut");
    let data = fs::read(folder.join("data.0")).unwrap();
    fs::write(folder.join("data.0"), &data[..data.len() - 5000]).unwrap();
    let mut source = Adios::open(&[&folder], &OpenOptions::new()).unwrap();
    let seen = read(&mut source).unwrap();
    assert_eq!(seen.steps(), [0, 1, 2, 3]);
    assert!(seen.events().len() > 150, "{}", seen.events().len());
    assert_eq!(source.diagnostics().count(rules::DAMAGED_STEP), 1);
    let mut strict = Adios::open(&[&folder], &OpenOptions::new().strict(true)).unwrap();
    let error = read(&mut strict).unwrap_err().to_string();
    assert!(
        error.contains("unnamed"),
        "the first thing that is wrong: {error}"
    );
}

#[test]
fn damage_makes_no_reader_panic() {
    let folder = copy("damage");
    for (seed, member) in ["md.idx", "md.0", "data.0"].into_iter().enumerate() {
        let whole = fs::read(folder.join(member)).unwrap();
        for bytes in damage::all(&whole, 300, seed as u64 + 1) {
            fs::write(folder.join(member), bytes).unwrap();
            if let Ok(mut source) = Adios::open(&[&folder], &OpenOptions::new()) {
                // Any answer is good, and so is any error.
                let _ = read(&mut source);
            }
        }
        fs::write(folder.join(member), whole).unwrap();
    }
}

#[test]
fn other_formats_of_adios_are_told_by_name() {
    let folder = scratch("other");
    let bp5 = folder.join("five.bp");
    fs::create_dir(&bp5).unwrap();
    let mut header = b"ADIOS-BP v2.9.1 Index Table\0".to_vec();
    header.resize(64, 0);
    header[37] = 5;
    fs::write(bp5.join("md.idx"), &header).unwrap();
    let error = open(&bp5, &OpenOptions::new()).unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }));
    assert!(error.to_string().contains("version 5"), "{error}");
    let bp3 = folder.join("three.bp");
    fs::write(&bp3, [3, 0, 0, 0, 0, 0, 0, 0]).unwrap();
    let error = open(&bp3, &OpenOptions::new()).unwrap_err().to_string();
    assert!(
        error.contains("three.bp") && error.contains("BP3"),
        "{error}"
    );
    header[..4].copy_from_slice(b"none");
    fs::write(bp5.join("md.idx"), &header).unwrap();
    let error = open(&bp5, &OpenOptions::new()).unwrap_err().to_string();
    assert!(
        error.contains("md.idx, byte 0: expected `ADIOS-BP v`"),
        "{error}"
    );
    let error = Adios::open(&[folder.join("absent")], &OpenOptions::new()).unwrap_err();
    assert!(matches!(error, Error::Io { .. }), "{error}");
}

/// A BP4 file of one step, made from the description of the format.
struct Made {
    is_big: bool,
    /// Whether variables have the empty path of older writers.
    has_path: bool,
    /// What is put after the dimensions of tables.
    characteristics: Vec<u8>,
    variables: Vec<(&'static str, u8, Value)>,
    attributes: Vec<(&'static str, &'static str)>,
}

enum Value {
    One(u32),
    Table(Vec<[u32; 6]>),
}

impl Made {
    fn number(&self, bytes: &[u8]) -> Vec<u8> {
        match self.is_big {
            true => bytes.iter().rev().copied().collect(),
            false => bytes.to_vec(),
        }
    }
    fn u16(&self, value: usize) -> Vec<u8> {
        self.number(&(value as u16).to_le_bytes())
    }
    fn u32(&self, value: usize) -> Vec<u8> {
        self.number(&(value as u32).to_le_bytes())
    }
    fn u64(&self, value: usize) -> Vec<u8> {
        self.number(&(value as u64).to_le_bytes())
    }
    fn text(&self, text: &str) -> Vec<u8> {
        [self.u16(text.len()), text.as_bytes().to_vec()].concat()
    }

    fn entry(&self, member: usize, name: &str, kind: u8, set: &[u8]) -> Vec<u8> {
        let layout = match self.has_path {
            true => vec![0, 0],
            false => vec![b'K', 0],
        };
        let rest = [
            self.u32(member),
            self.text(""),
            self.text(name),
            layout,
            vec![kind],
            self.u64(1),
            vec![3],
            self.u32(set.len()),
            set.to_vec(),
        ]
        .concat();
        [self.u32(rest.len()), rest].concat()
    }

    fn index(&self, entries: &[Vec<u8>]) -> Vec<u8> {
        let body = entries.concat();
        [self.u32(entries.len()), self.u64(body.len()), body].concat()
    }

    fn write(&self, folder: &Path) {
        let mut data = vec![0; 64];
        let mut variables = Vec::new();
        for (member, (name, kind, value)) in self.variables.iter().enumerate() {
            let set = match value {
                Value::One(value) => [vec![0], self.u32(*value as usize)].concat(),
                Value::Table(rows) => {
                    let dims = [rows.len(), rows.len(), 0, 6, 6, 0].map(|len| self.u64(len));
                    let dims = [vec![4, 2], self.u16(48), dims.concat()].concat();
                    let payload = [vec![6], self.u64(data.len())].concat();
                    let numbers = rows
                        .iter()
                        .flatten()
                        .map(|number| self.u32(*number as usize));
                    data.extend(numbers.flatten());
                    [dims, self.characteristics.clone(), payload].concat()
                }
            };
            variables.push(self.entry(member, name, *kind, &set));
        }
        let attributes = self.attributes.iter().enumerate();
        let attributes = attributes.map(|(member, (name, value))| {
            self.entry(member, name, 9, &[vec![0], self.text(value)].concat())
        });
        let attributes: Vec<_> = attributes.collect();
        let group = [self.text("TAU"), b"n".to_vec()].concat();
        let groups = [self.u16(group.len()), group].concat();
        let groups = [self.u64(1), self.u64(groups.len()), groups].concat();
        let sections = [groups, self.index(&variables), self.index(&attributes)];
        let mut index = vec![0; 64];
        let mut record = [self.u64(1), self.u64(0)].concat();
        for section in sections {
            record.extend(self.u64(index.len()));
            index.extend(section);
        }
        record.extend(self.u64(index.len()));
        record.resize(64, 0);
        let mut steps = b"ADIOS-BP v2.5.0 Index Table\0".to_vec();
        steps.resize(64, 0);
        steps[36] = self.is_big.into();
        steps[37] = 4;
        fs::write(folder.join("md.idx"), [steps, record].concat()).unwrap();
        fs::write(folder.join("md.0"), index).unwrap();
        fs::write(folder.join("data.0"), data).unwrap();
    }
}

/// Two calls of a program, in numbers of 32 bits.
fn made() -> Made {
    let rows = vec![
        [0, 3, 0, 0, 5, 10],
        [0, 3, 0, 1, 5, 20],
        [0, 3, 0, 0, 5, 20],
        [0, 3, 0, 1, 5, 21],
    ];
    Made {
        is_big: false,
        has_path: false,
        characteristics: Vec::new(),
        variables: vec![
            ("timer_event_count", 52, Value::One(4)),
            ("event_timestamps", 52, Value::Table(rows)),
        ],
        attributes: vec![
            ("timer 5", "main"),
            ("event_type 0", "ENTRY"),
            ("event_type 1", "EXIT"),
        ],
    }
}

const CALLS: [&str; 4] = [
    "3.0 10000 enter 0:main",
    "3.0 20000 exit 0:main",
    "3.0 20000 enter 0:main",
    "3.0 21000 exit 0:main",
];

#[test]
fn either_byte_order_layout_and_width_of_numbers_is_read() {
    let folder = scratch("made");
    for (is_big, has_path) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut made = made();
        (made.is_big, made.has_path) = (is_big, has_path);
        // Smallest and largest of the whole and of two parts.
        let (zero, one) = (made.u32(0), made.u32(1));
        made.characteristics = [
            vec![12],
            made.u16(2),
            [zero.clone(), one.clone()].concat(),
            vec![0],
            made.u64(2),
            [made.u16(2), made.u16(1)].concat(),
            [zero.clone(), one.clone(), zero, one].concat(),
        ]
        .concat();
        made.write(&folder);
        let mut source = Adios::open(&[&folder], &OpenOptions::new().strict(true)).unwrap();
        assert_eq!(
            read(&mut source).unwrap().events(),
            CALLS,
            "big {is_big}, path {has_path}"
        );
    }
}

#[test]
fn counts_are_believed_before_shapes() {
    let folder = scratch("counts");
    for (count, rows, rule) in [(2, 2, rules::LEFTOVER), (9, 4, rules::COUNT)] {
        let mut made = made();
        made.variables[0].2 = Value::One(count);
        made.write(&folder);
        let mut source = Adios::open(&[&folder], &OpenOptions::new()).unwrap();
        assert_eq!(read(&mut source).unwrap().events(), CALLS[..rows]);
        assert_eq!(source.diagnostics().count(rule), 1);
    }
    let mut made = made();
    made.variables[0].2 = Value::One(0);
    made.write(&folder);
    let mut source = Adios::open(&[&folder], &OpenOptions::new().strict(true)).unwrap();
    assert!(read(&mut source).unwrap().events().is_empty());
}

#[test]
fn what_is_no_event_is_skipped_and_counted() {
    let folder = scratch("wrong");
    let mut made = made();
    made.variables[1].2 = Value::Table(vec![
        [0, 3, 0, 0, 5, 10],
        [2_000_000, 3, 0, 0, 5, 11],
        [0, 3, 1_000_000, 0, 5, 12],
        [0, 3, 0, 7, 5, 13],
    ]);
    made.attributes.push(("MetaData:x:0:Hostname", "n"));
    made.attributes
        .push(("MetaData:0:3:0:Old: form", "\"quoted\""));
    made.write(&folder);
    let mut source = Adios::open(&[&folder], &OpenOptions::new()).unwrap();
    let seen = read(&mut source).unwrap();
    assert_eq!(seen.events(), CALLS[..1]);
    assert_eq!(seen.facts(), ["3 Old: form is quoted"]);
    let found = source.diagnostics();
    assert_eq!(found.count(rules::CORRUPT), 2);
    assert_eq!(found.count(rules::UNNAMED), 1);
    assert_eq!(found.count(rules::METADATA), 1);
    made.characteristics = vec![11, 1, 2, 3];
    made.write(&folder);
    let mut source = Adios::open(&[&folder], &OpenOptions::new()).unwrap();
    let error = read(&mut source).unwrap_err().to_string();
    assert!(
        error.contains("data.0, byte") && error.contains("compressed"),
        "{error}"
    );
}

#[test]
fn programs_of_several_files_are_told_apart_by_name() {
    let folder = scratch("programs");
    for (file, name) in [("a-10.bp", "ocean"), ("a-9.bp", "ocean"), ("b-0.bp", "ice")] {
        fs::create_dir(folder.join(file)).unwrap();
        let mut made = made();
        made.attributes.push(("program_name 0", name));
        made.write(&folder.join(file));
    }
    let mut source = Adios::open(&[&folder], &OpenOptions::new()).unwrap();
    let seen = read(&mut source).unwrap();
    let programs: Vec<bool> = seen
        .events()
        .iter()
        .map(|line| line.contains(" 1:main"))
        .collect();
    assert_eq!(programs, [[false; 8].as_slice(), &[true; 4]].concat());
    let mut source = Adios::open(&[&folder], &OpenOptions::new())
        .unwrap()
        .program(7);
    let seen = read(&mut source).unwrap();
    assert!(seen.events().iter().all(|line| line.contains(" 7:main")));
}
