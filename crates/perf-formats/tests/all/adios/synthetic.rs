//! Tests with synthetic BP4 files: both byte orders, several writers, invalid files.

use super::*;
use perf_core::Job;

/// A synthetic BP4 file of one step, built from the description of the format.
pub(super) struct Made {
    pub(super) is_big: bool,
    /// Number of writing processes, each with a data file of its own.
    writers: usize,
    /// `true` if variables have the empty path of older writers.
    pub(super) has_path: bool,
    /// Bytes that follow the dimensions of tables.
    characteristics: Vec<u8>,
    variables: Vec<(&'static str, u8, Value)>,
    attributes: Vec<(&'static str, &'static str)>,
}

enum Value {
    One(u32),
    Table(Vec<[u32; 6]>),
    /// One value for each writer.
    Each(Vec<u32>),
    /// Rows of each writer: its data file and the begin of its rows in the whole array. If the
    /// total length is 0, each writer has an array of its own.
    Parts(u64, Vec<(u32, u64, Vec<[u32; 6]>)>),
}

impl Made {
    fn number(&self, bytes: &[u8]) -> Vec<u8> {
        if self.is_big {
            bytes.iter().rev().copied().collect()
        } else {
            bytes.to_vec()
        }
    }
    pub(super) fn u16(&self, value: usize) -> Vec<u8> {
        self.number(&(value as u16).to_le_bytes())
    }
    pub(super) fn u32(&self, value: usize) -> Vec<u8> {
        self.number(&(value as u32).to_le_bytes())
    }
    pub(super) fn u64(&self, value: usize) -> Vec<u8> {
        self.number(&(value as u64).to_le_bytes())
    }
    pub(super) fn text(&self, text: &str) -> Vec<u8> {
        [self.u16(text.len()), text.as_bytes().to_vec()].concat()
    }

    pub(super) fn entry(&self, member: usize, name: &str, kind: u8, sets: &[Vec<u8>]) -> Vec<u8> {
        let layout = if self.has_path {
            vec![0, 0]
        } else {
            vec![b'K', 0]
        };
        let rest = [
            self.u32(member),
            self.text(""),
            self.text(name),
            layout,
            vec![kind],
            self.u64(sets.len()),
            sets.iter()
                .flat_map(|set| [vec![3], self.u32(set.len()), set.clone()].concat())
                .collect(),
        ]
        .concat();
        [self.u32(rest.len()), rest].concat()
    }

    /// Returns the characteristics of a block of rows, which are appended to a data file.
    fn block(
        &self,
        rows: &[[u32; 6]],
        (whole, start): (u64, u64),
        file: u32,
        data: &mut Vec<u8>,
    ) -> Vec<u8> {
        let (whole, start) = (whole as usize, start as usize);
        let columns = if whole == 0 { 0 } else { 6 };
        let dims = [rows.len(), whole, start, 6, columns, 0].map(|len| self.u64(len));
        let dims = [vec![4, 2], self.u16(48), dims.concat()].concat();
        let payload = [
            vec![6],
            self.u64(data.len()),
            vec![7],
            self.u32(file as usize),
        ]
        .concat();
        let numbers = rows.iter().flatten();
        data.extend(numbers.flat_map(|number| self.u32(*number as usize)));
        [dims, self.characteristics.clone(), payload].concat()
    }

    pub(super) fn index(&self, entries: &[Vec<u8>]) -> Vec<u8> {
        let body = entries.concat();
        [self.u32(entries.len()), self.u64(body.len()), body].concat()
    }

    fn write(&self, folder: &Path) {
        let mut data = vec![vec![0; 64]; self.writers];
        let mut variables = Vec::new();
        let one = |value: &u32| [vec![0], self.u32(*value as usize)].concat();
        for (member, (name, kind, value)) in self.variables.iter().enumerate() {
            let sets = match value {
                Value::One(value) => vec![one(value)],
                Value::Each(values) => values.iter().map(one).collect(),
                Value::Table(rows) => {
                    vec![self.block(rows, (rows.len() as u64, 0), 0, &mut data[0])]
                }
                Value::Parts(whole, parts) => parts
                    .iter()
                    .map(|(file, start, rows)| {
                        self.block(rows, (*whole, *start), *file, &mut data[*file as usize])
                    })
                    .collect(),
            };
            variables.push(self.entry(member, name, *kind, &sets));
        }
        let attributes = self.attributes.iter().enumerate();
        let attributes = attributes.map(|(member, (name, value))| {
            self.entry(member, name, 9, &[[vec![0], self.text(value)].concat()])
        });
        let attributes: Vec<_> = attributes.collect();
        let group = [self.text("TAU"), b"n".to_vec()].concat();
        let groups = [self.u16(group.len()), group].concat().repeat(self.writers);
        let groups = [self.u64(self.writers), self.u64(groups.len()), groups].concat();
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
        for (number, data) in data.iter().enumerate() {
            fs::write(folder.join(format!("data.{number}")), data).unwrap();
        }
    }
}

/// Two calls of a program, in numbers of 32 bits.
pub(super) fn made() -> Made {
    let rows = vec![
        [0, 3, 0, 0, 5, 10],
        [0, 3, 0, 1, 5, 20],
        [0, 3, 0, 0, 5, 20],
        [0, 3, 0, 1, 5, 21],
    ];
    Made {
        is_big: false,
        writers: 1,
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
        // Minimum and maximum of the whole and of two subdivisions.
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
fn long_tables_are_read_in_parts() {
    let folder = scratch("long");
    // About 480 KB, from two ranks in turns.
    let row = |at: u32| [0, at % 2, 0, at / 2 % 2, 5, at];
    let event = |at: u32| {
        let what = ["enter", "exit"][at as usize / 2 % 2];
        format!("{}.0 {} {what} 0:main", at % 2, 1000 * i64::from(at))
    };
    for (is_big, count) in [(false, 20_000), (true, 20_000), (false, 17_001)] {
        let mut made = made();
        made.is_big = is_big;
        made.variables[0].2 = Value::One(count);
        made.variables[1].2 = Value::Table((0..20_000).map(row).collect());
        made.write(&folder);
        let mut source = Adios::open(&[&folder], &OpenOptions::new()).unwrap();
        let seen = read(&mut source).unwrap();
        let ranks = [0, 1].map(|rank| (rank..count).step_by(2).map(event));
        let expected: Vec<String> = ranks.into_iter().flatten().collect();
        assert_eq!(seen.events(), expected, "big {is_big}, {count}");
    }
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

/// The ADIOS2 packages have no MPI support. A file of several processes is therefore built by the
/// rules of the format: one process group, one data file and one block of each variable for each
/// process.
#[test]
fn several_writers_of_one_file_have_blocks_of_their_own() {
    let folder = scratch("writers");
    let rows = |rank: u32, times: &[u32]| -> Vec<[u32; 6]> {
        let row = |(at, time): (usize, &u32)| [0, rank, 0, at as u32 % 2, 5, *time];
        times.iter().enumerate().map(row).collect()
    };
    let parts = [
        (2, rows(5, &[10, 20])),
        (0, rows(3, &[11, 12, 13, 14])),
        (1, rows(4, &[15, 16])),
    ];
    let expected = [
        "3.0 11000 enter 0:main",
        "3.0 12000 exit 0:main",
        "3.0 13000 enter 0:main",
        "3.0 14000 exit 0:main",
        "4.0 15000 enter 0:main",
        "4.0 16000 exit 0:main",
        "5.0 10000 enter 0:main",
        "5.0 20000 exit 0:main",
    ];
    for (is_big, whole) in [(false, 8), (true, 8), (false, 0)] {
        let mut made = made();
        (made.is_big, made.writers) = (is_big, 3);
        made.variables[0].2 = Value::Each(vec![2, 4, 2]);
        // Blocks occur in any order. If each writer has an array of its own, all begin at 0.
        let start = |file: u32| match (whole, file) {
            (0, _) | (_, 0) => 0,
            (_, 1) => 4,
            _ => 6,
        };
        let blocks = parts
            .iter()
            .map(|(file, rows)| (*file, start(*file), rows.clone()));
        made.variables[1].2 = Value::Parts(whole, blocks.collect());
        made.write(&folder);
        let mut source = Adios::open(&[&folder], &OpenOptions::new().strict(true)).unwrap();
        assert_eq!(read(&mut source).unwrap().events(), expected, "{whole}");
        // The data of one writer are lost; those of the others are kept.
        fs::remove_file(folder.join("data.1")).unwrap();
        let mut source = Adios::open(&[&folder], &OpenOptions::new()).unwrap();
        let seen = read(&mut source).unwrap();
        assert_eq!(seen.events(), [&expected[..4], &expected[6..]].concat());
        let found = source.diagnostics();
        assert_eq!(found.count(rules::DAMAGED_TABLE), 1, "{found}");
        assert!(found.to_string().contains("data.1"), "{found}");
        // While the file is being written, the data are not complete yet.
        let steps = fs::read(folder.join("md.idx")).unwrap();
        let mut active = steps.clone();
        active[38] = 1;
        fs::write(folder.join("md.idx"), active).unwrap();
        made.write_data_later(&folder, &steps, &expected);
    }
}

impl Made {
    /// Follows the file while its second data file is written.
    fn write_data_later(&self, folder: &Path, closed: &[u8], expected: &[&str]) {
        let follow = Follow::default()
            .poll(Duration::from_millis(1))
            .patience(Duration::from_secs(20));
        let again = scratch("writers-again");
        self.write(&again);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(20));
                fs::copy(again.join("data.1"), folder.join("data.1")).unwrap();
                std::thread::sleep(Duration::from_millis(20));
                fs::write(folder.join("md.idx"), closed).unwrap();
            });
            let mut source = Adios::following(&[folder], follow, &OpenOptions::new()).unwrap();
            let seen = read(&mut source).unwrap();
            assert_eq!(seen.events(), expected);
            assert_eq!(source.diagnostics().iter().count(), 0);
        });
    }
}

#[test]
fn steps_that_lie_over_one_another_make_no_more_events_than_there_are_bytes() {
    let folder = scratch("over");
    made().write(&folder);
    let steps = fs::read(folder.join("md.idx")).unwrap();
    let record = &steps[64..128];
    let many = [&steps[..64], &record.repeat(500)].concat();
    fs::write(folder.join("md.idx"), many).unwrap();
    let mut source = Adios::open(&[&folder], &OpenOptions::new()).unwrap();
    let seen = read(&mut source).unwrap();
    // The events take 96 bytes, after a header of 64 bytes.
    assert_eq!(seen.events(), CALLS);
    assert_eq!(source.diagnostics().count(rules::DAMAGED_STEP), 499);
}

#[test]
fn events_out_of_order_are_told_with_their_file() {
    let folder = scratch("late");
    let mut made = made();
    made.variables[1].2 = Value::Table(vec![
        [0, 3, 0, 0, 5, 10],
        [0, 3, 0, 1, 5, 20],
        [0, 3, 0, 0, 5, 9],
        [0, 3, 0, 1, 5, 21],
    ]);
    made.write(&folder);
    let error = open(&folder, &OpenOptions::new().strict(true), &Job::default()).unwrap_err();
    let place = error.place().unwrap();
    assert_eq!(*place.file, *folder.to_string_lossy(), "{error}");
    assert!(error.to_string().contains("rank 3, thread 0"), "{error}");
}
