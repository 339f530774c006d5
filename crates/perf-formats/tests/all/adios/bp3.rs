//! Tests with synthetic BP3 files: both byte orders, data in one or several files, the forms of
//! ADIOS 1, and damage.

use super::synthetic::{Made, made};
use super::*;

/// Type of an unsigned integer of 32 bits, and of a text.
const NUMBER: u8 = 52;
const TEXT: u8 = 9;

/// A synthetic BP3 file, built from the description of the format.
struct Made3 {
    /// Encoding of numbers.
    numbers: Made,
    /// Rows of each step.
    steps: Vec<Vec<[u32; 6]>>,
    /// `true` for values in `FILE.dir/FILE.0`.
    has_sub_files: bool,
    /// `true` for the statistics, paths and lengths of ADIOS 1.
    is_old: bool,
    /// Additional characteristics of tables.
    characteristics: Vec<u8>,
}

impl Made3 {
    /// Returns the index of variables or attributes.
    fn index(&self, entries: &[Vec<u8>]) -> Vec<u8> {
        let mut index = self.numbers.index(entries);
        if self.is_old {
            // The length lacks the last bytes.
            let len = index.len() - 12 - 7;
            index.splice(4..12, self.numbers.u64(len));
        }
        index
    }

    /// Returns the file and its data file.
    fn bytes(&self) -> (Vec<u8>, Vec<u8>) {
        let to = &self.numbers;
        let mut data = b"data".to_vec();
        let (mut counts, mut tables, mut groups) = (Vec::new(), Vec::new(), Vec::new());
        for (step, rows) in self.steps.iter().enumerate() {
            let time = [vec![8], to.u32(step + 1)].concat();
            counts.push([vec![0], to.u32(rows.len()), time.clone()].concat());
            let dims = [rows.len(), rows.len(), 0, 6, 6, 0].map(|len| to.u64(len));
            let payload = [vec![6], to.u64(data.len()), vec![7], to.u32(0)].concat();
            let statistics = if self.is_old {
                // Minimum, maximum, number, sum, sum of squares, all finite.
                [
                    vec![9],
                    to.u32(0b101_1111),
                    vec![10; 1 + 4 + 4 + 4 + 8 + 8 + 1],
                ]
                .concat()
            } else {
                Vec::new()
            };
            let dims = [vec![4, 2], to.u16(48), dims.concat()].concat();
            let more = self.characteristics.clone();
            tables.push([dims, payload, statistics, time, more].concat());
            data.extend(
                rows.iter()
                    .flatten()
                    .flat_map(|number| to.u32(*number as usize)),
            );
            let rank_and_name = [to.u32(0), to.text("step")].concat();
            let offset = to.u64(0);
            let group = [to.text("TAU"), b"n".to_vec(), rank_and_name];
            let group = [group.concat(), to.u32(step + 1), offset].concat();
            groups.push([to.u16(group.len()), group].concat());
        }
        if self.is_old {
            // ADIOS 1 writes empty steps at the end.
            let last = groups.last().cloned();
            groups.extend(last);
        }
        let variables = [
            to.entry(0, "timer_event_count", NUMBER, &counts),
            to.entry(1, "event_timestamps", NUMBER, &tables),
        ];
        let attributes = [
            ("timer 5", "main"),
            ("event_type 0", "ENTRY"),
            ("event_type 1", "EXIT"),
        ];
        let mut attributes: Vec<Vec<u8>> = attributes
            .iter()
            .enumerate()
            .map(|(member, (name, value))| {
                to.entry(member, name, TEXT, &[[vec![0], to.text(value)].concat()])
            })
            .collect();
        if self.is_old {
            // An attribute of the library that is named like one of the plug-in.
            let value = [vec![0], to.text("EXIT")].concat();
            let rest = [
                to.u32(9),
                to.text(""),
                to.text("event_type 0"),
                to.text("/__adios__"),
            ];
            let set = [vec![1], to.u32(value.len()), value].concat();
            let rest = [rest.concat(), vec![TEXT], to.u64(1), set].concat();
            attributes.push([to.u32(rest.len()), rest].concat());
        }
        let len = groups.concat().len();
        let groups = [to.u64(groups.len()), to.u64(len), groups.concat()].concat();
        let sections = [groups, self.index(&variables), self.index(&attributes)];
        let mut file = if self.has_sub_files {
            Vec::new()
        } else {
            data.clone()
        };
        let mut footer = b"ADIOS-BP v2.9.1\0".to_vec();
        footer.resize(28, 0);
        for section in sections {
            footer.extend(to.u64(file.len()));
            file.extend(section);
        }
        let flag = if self.has_sub_files { 3 } else { 0 };
        footer.extend([to.is_big.into(), 0, flag, 3]);
        (file.into_iter().chain(footer).collect(), data)
    }

    fn write(&self, folder: &Path) -> PathBuf {
        let path = folder.join("tau-metrics-app-0.bp");
        let (file, data) = self.bytes();
        fs::write(&path, file).unwrap();
        if self.has_sub_files {
            let folder = folder.join("tau-metrics-app-0.bp.dir");
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("profiling.json"), "[]").unwrap();
            fs::write(folder.join("tau-metrics-app-0.bp.0"), data).unwrap();
        }
        path
    }
}

/// Three steps, the second without rows.
fn made3() -> Made3 {
    let mut numbers = made();
    numbers.has_path = true;
    let first = vec![[0, 3, 0, 0, 5, 10], [0, 3, 0, 1, 5, 20]];
    let last = vec![[0, 3, 0, 0, 5, 20], [0, 3, 0, 1, 5, 21]];
    Made3 {
        numbers,
        steps: vec![first, Vec::new(), last],
        has_sub_files: false,
        is_old: false,
        characteristics: Vec::new(),
    }
}

const LINES: [&str; 7] = [
    "3.0 10000 enter 0:main",
    "3.0 20000 exit 0:main",
    "end 0",
    "end 1",
    "3.0 20000 enter 0:main",
    "3.0 21000 exit 0:main",
    "end 2",
];

#[test]
fn either_form_and_byte_order_of_bp3_is_read() {
    let folder = scratch("bp3-forms");
    for form in 0..8 {
        let mut made = made3();
        made.numbers.is_big = form & 1 == 1;
        made.has_sub_files = form & 2 == 2;
        made.is_old = form & 4 == 4;
        let path = made.write(&folder);
        // The folder contains one file; the data folder is not another one.
        for path in [&path, &folder] {
            let mut source = Adios::open(&[path], &OpenOptions::new().strict(true)).unwrap();
            assert_eq!(read(&mut source).unwrap().lines, LINES, "form {form}");
        }
        assert_eq!(perf_formats::probe(&path).unwrap().name, "adios");
    }
}

#[test]
fn a_bp3_file_without_the_extension_is_recognised_by_its_footer() {
    let folder = scratch("bp3-name");
    let path = made3().write(&folder);
    let other = folder.join("trace.data");
    fs::rename(path, &other).unwrap();
    let recording = open(&other, &OpenOptions::new(), &Job::default()).unwrap();
    assert_eq!(recording.format, "adios");
    assert_eq!(recording.into_trace().unwrap().len(), 4);
}

#[test]
fn the_operator_of_a_compressed_table_is_named() {
    let folder = scratch("bp3-operator");
    let mut made = made3();
    made.characteristics = [vec![11, 5], b"blosc".to_vec(), vec![1, 2, 3]].concat();
    let path = made.write(&folder);
    let error = open(&path, &OpenOptions::new(), &Job::default()).unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }), "{error}");
    assert!(
        error.to_string().contains("compressed with `blosc`"),
        "{error}"
    );
}

#[test]
fn a_missing_data_file_of_bp3_is_named() {
    let folder = scratch("bp3-missing");
    let mut made = made3();
    made.has_sub_files = true;
    let path = made.write(&folder);
    fs::remove_file(folder.join("tau-metrics-app-0.bp.dir/tau-metrics-app-0.bp.0")).unwrap();
    // Nothing else can be read, so the missing file is an error.
    let error = open(&path, &OpenOptions::new(), &Job::default()).unwrap_err();
    assert!(matches!(error, Error::Io { .. }), "{error}");
    let name = "tau-metrics-app-0.bp.dir/tau-metrics-app-0.bp.0";
    assert!(error.to_string().contains(name), "{error}");
    // The other ranks are read, and the tables are counted.
    let whole = scratch("bp3-missing-other");
    let other = made3().write(&whole);
    let mut source = Adios::open(&[&path, &other], &OpenOptions::new()).unwrap();
    assert_eq!(read(&mut source).unwrap().events().len(), 4);
    let found = source.diagnostics();
    assert_eq!(found.count(rules::DAMAGED_TABLE), 2, "{found}");
    assert!(found.to_string().contains(name), "{found}");
}

#[test]
fn a_truncated_bp3_file_does_not_hide_the_other_ranks() {
    let folder = scratch("bp3-cut");
    let path = made3().write(&folder);
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    // A single file without a footer has nothing to read.
    let error = Adios::open(&[&path], &OpenOptions::new()).unwrap_err();
    assert!(
        error.to_string().contains("tau-metrics-app-0.bp, byte"),
        "{error}"
    );
    fs::write(folder.join("tau-metrics-app-1.bp"), bytes).unwrap();
    let mut source = Adios::open(&[&folder], &OpenOptions::new()).unwrap();
    assert_eq!(read(&mut source).unwrap().lines, LINES);
    let found = source.diagnostics();
    assert_eq!(found.count(rules::NO_FOOTER), 1, "{found}");
    assert!(
        found.to_string().contains("tau-metrics-app-0.bp"),
        "{found}"
    );
    assert!(Adios::open(&[&folder], &OpenOptions::new().strict(true)).is_err());
}

#[test]
fn damaged_bp3_files_give_a_located_error_or_a_count() {
    let folder = scratch("bp3-damage");
    let mut made = made3();
    for is_old in [false, true] {
        made.is_old = is_old;
        let path = made.write(&folder);
        let whole = fs::read(&path).unwrap();
        let check = |bytes: &[u8], what: &str| -> bool {
            fs::write(&path, bytes).unwrap();
            let opened = Adios::open(&[&path], &OpenOptions::new());
            let outcome = opened.and_then(|mut source| {
                let seen = read(&mut source)?;
                Ok((seen.lines == LINES, source.diagnostics().is_empty()))
            });
            match outcome {
                Ok((is_same, is_quiet)) => is_same || !is_quiet,
                Err(error) => {
                    assert!(error.place().is_some(), "{what}: {error}");
                    true
                }
            }
        };
        for cut in 0..whole.len() {
            assert!(check(&whole[..cut], "cut"), "cut at {cut}");
        }
        let mut unseen = 0;
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x11;
            unseen += usize::from(!check(&bytes, "flip"));
        }
        // Flipped times, names and order of rows are valid values.
        assert!(unseen < whole.len() / 4, "{unseen} of {}", whole.len());
        for (number, bytes) in damage::all(&whole, 1000, 5).enumerate() {
            check(&bytes, &format!("damage {number}"));
        }
    }
}

/// Blocks of steps that no process group has are damage: they do not end four billion steps.
#[test]
fn steps_beyond_the_process_groups_are_skipped_and_counted() {
    let folder = scratch("bp3-steps");
    let made = made3();
    let path = made.write(&folder);
    let whole = fs::read(&path).unwrap();
    let time = [vec![8], made.numbers.u32(3)].concat();
    let at = whole.windows(5).rposition(|bytes| *bytes == time).unwrap();
    let mut bytes = whole;
    bytes.splice(at..at + 5, [8, 0xff, 0xff, 0xff, 0xff]);
    fs::write(&path, bytes).unwrap();
    let mut source = Adios::open(&[&path], &OpenOptions::new()).unwrap();
    let seen = read(&mut source).unwrap();
    assert_eq!(seen.steps(), [0, 1, 2]);
    assert_eq!(seen.events().len(), 2);
    let found = source.diagnostics();
    assert_eq!(found.count(rules::DAMAGED_INDEX), 1, "{found}");
    assert!(
        found
            .to_string()
            .contains("`event_timestamps` in step 4294967295 of 3"),
        "{found}"
    );
}
