//! Tests with synthetic BP5 files: both byte orders, several writers, flushed parts and growing files.

use super::*;

/// A field of a structure: name, type, length and offset.
type Field = (&'static str, &'static str, u32, u32);

/// Fields of the variables before the array of messages was defined, and that array.
const VARIABLES: [Field; 5] = [
    ("BitFieldCount", "integer", 8, 0),
    ("BitField", "integer[BitFieldCount]", 8, 8),
    ("DataBlockSize", "integer", 8, 16),
    ("BPg_timer_event_count", "unsigned integer", 8, 24),
    ("BPG_8_8_event_timestamps", "MetaArrayMM8", 64, 32),
];
const MORE: Field = ("BPl_some_other_value", "integer", 4, 96);
const ARRAY: [Field; 8] = [
    ("Dims", "integer", 8, 0),
    ("BlockCount", "integer", 8, 8),
    ("DBCount", "integer", 8, 16),
    ("Shape", "integer[Dims]", 8, 24),
    ("Count", "integer[DBCount]", 8, 32),
    ("Offset", "integer[DBCount]", 8, 40),
    ("DataBlockLocation", "integer[BlockCount]", 8, 48),
    ("MinMax", "char[16][BlockCount]", 1, 56),
];
const ATTRIBUTES: [Field; 4] = [
    ("PrimAttrCount", "integer", 8, 0),
    ("PrimAttrs", "PrimAttr[PrimAttrCount]", 24, 8),
    ("StrAttrCount", "integer", 8, 16),
    ("StrAttrs", "StrAttr[StrAttrCount]", 24, 24),
];
const TEXT_ATTRIBUTE: [Field; 3] = [
    ("name", "string", 8, 0),
    ("ElementCount", "integer", 8, 8),
    ("Values", "string[ElementCount]", 8, 16),
];

/// Fields of attributes in the first and in the second step, if each attribute has a field.
const ATTRIBUTE_FIELDS: [&[Field]; 2] = [
    &[
        ("BPg_8_14_timer 5", "string", 8, 0),
        ("BPg_8_14_event_type 0", "string", 8, 8),
    ],
    &[
        ("BPg_8_14_event_type 1", "string", 8, 0),
        ("BPg_8_14_MetaData:3:0:Node", "string", 8, 8),
        ("BPg_8_4_number", "integer", 8, 16),
        ("BPg_8_14_nothing", "string", 8, 24),
    ],
];

/// Rows of a writer in a step, in parts that were flushed one after the other.
type Parts = Vec<Vec<[u64; 6]>>;

/// A synthetic BP5 file, built from the description of the format.
pub(super) struct Made5 {
    is_big: bool,
    /// Numbers of the data files of the writers.
    writers: Vec<u64>,
    /// Steps, each with the rows of each writer.
    steps: Vec<Vec<Parts>>,
    /// Type of the array of rows.
    array: &'static str,
    /// Name of the format of attributes.
    pub(super) attributes: &'static str,
}

/// The files of a [`Made5`].
pub(super) struct Files {
    /// Header and records of `md.idx`: the end of each.
    pub(super) records: Vec<usize>,
    /// Name and bytes of each file.
    pub(super) files: Vec<(String, Vec<u8>)>,
}

impl Files {
    pub(super) fn write(&self, folder: &Path) {
        fs::create_dir_all(folder).unwrap();
        for (name, bytes) in &self.files {
            fs::write(folder.join(name), bytes).unwrap();
        }
    }

    /// Returns the bytes of `md.idx` while the writer is active, up to a record.
    fn active(&self, records: usize) -> Vec<u8> {
        let mut bytes = self.files[0].1[..self.records[records]].to_vec();
        bytes[39] = 1;
        bytes
    }
}

impl Made5 {
    fn number(&self, bytes: &[u8]) -> Vec<u8> {
        if self.is_big {
            bytes.iter().rev().copied().collect()
        } else {
            bytes.to_vec()
        }
    }
    fn u32(&self, value: u32) -> Vec<u8> {
        self.number(&value.to_le_bytes())
    }
    fn u64s(&self, values: &[u64]) -> Vec<u8> {
        let values = values.iter();
        values
            .flat_map(|value| self.number(&value.to_le_bytes()))
            .collect()
    }

    fn structure(&self, name: &str, size: u32, fields: &[Field]) -> Vec<u8> {
        let start = 28 + 16 * fields.len() as u32;
        let mut texts = Vec::new();
        let mut text = |text: &str| {
            let at = start + texts.len() as u32;
            texts.extend(text.bytes().chain([0]));
            self.u32(at)
        };
        let name = text(name);
        let mut table = Vec::new();
        for (name, kind, len, offset) in fields {
            let names = [text(name), text(kind)].concat();
            table.extend([names, self.u32(*len), self.u32(*offset)].concat());
        }
        let len = (28 + table.len() + texts.len()) as u16;
        let head = [
            len.to_be_bytes().to_vec(),
            vec![2, self.is_big.into()],
            name,
            self.u32(fields.len() as u32),
            self.u32(size),
            vec![8, 28, 2, 0, 0, 0, 0, 8, 0, 0, 0, 0],
        ];
        [head.concat(), table, texts].concat()
    }

    /// Returns an entry of `mmd.0`.
    fn format(&self, identifier: u8, structures: &[Vec<u8>]) -> Vec<u8> {
        let info = structures.concat();
        let len = (8 + info.len()) as u16;
        let inner = structures.len() as u8 - 1;
        let head = [len.to_be_bytes().to_vec(), vec![0, 2, inner, 0, 0, 0]].concat();
        let lengths = self.u64s(&[12, u64::from(len)]);
        [lengths, vec![identifier; 12], head, info].concat()
    }

    fn encoded(&self, identifier: u8, record: &[u8]) -> Vec<u8> {
        let len = self.u64s(&[record.len() as u64]);
        [&[identifier; 12][..], &len, &[0; 4], record].concat()
    }

    /// Returns the variables of a writer. The parts follow each other in its data.
    fn variables(&self, step: usize, parts: &Parts) -> Vec<u8> {
        let parts: Vec<_> = parts.iter().filter(|rows| !rows.is_empty()).collect();
        let all: u64 = parts.iter().map(|rows| rows.len() as u64).sum();
        let (blocks, size) = (parts.len() as u64, if step == 0 { 96 } else { 104 });
        let is_set = if blocks == 0 { 1 } else { 3 };
        // Pointers: bits, shape, lengths, begins, positions.
        let at = |index: u64| size + 8 * index;
        let fields = self.u64s(&[1, at(0), 0, all]);
        let array = [2, blocks, 2 * blocks, at(1), at(3), at(3 + 2 * blocks)];
        let array = self.u64s(&[&array[..], &[at(3 + 4 * blocks), 0]].concat());
        let mut record = [fields, array].concat();
        record.resize(size as usize, 7);
        record.extend(self.u64s(&[is_set, all, 6]));
        let each = parts.iter();
        record.extend(each.flat_map(|rows| self.u64s(&[rows.len() as u64, 6])));
        let mut before = 0;
        let starts = parts.iter().flat_map(|rows| {
            before += rows.len() as u64;
            self.u64s(&[before - rows.len() as u64, 0])
        });
        record.extend(starts.collect::<Vec<u8>>());
        let mut position = 0;
        let positions = parts.iter().flat_map(|rows| {
            position += 48 * rows.len() as u64;
            self.u64s(&[position - 48 * rows.len() as u64])
        });
        record.extend(positions.collect::<Vec<u8>>());
        self.encoded(if step == 0 { 1 } else { 2 }, &record)
    }

    /// Returns `true` if each attribute has a field.
    fn has_attribute_fields(&self) -> bool {
        self.attributes == "Attributes"
    }

    /// Returns the attributes of a step with a field for each, followed by a number and a null pointer.
    fn attribute_fields(&self, step: usize, attributes: &[(&str, &str)]) -> Vec<u8> {
        let (mut record, mut texts) = (Vec::new(), Vec::new());
        let size = 8 * ATTRIBUTE_FIELDS[step].len();
        for (_, value) in attributes {
            record.extend(self.u64s(&[(size + texts.len()) as u64]));
            texts.extend(value.bytes().chain([0]));
        }
        record.resize(size, 0);
        self.encoded(4 + step as u8, &[record, texts].concat())
    }

    fn attributes(&self, step: usize, attributes: &[(&str, &str)]) -> Vec<u8> {
        if self.has_attribute_fields() {
            return self.attribute_fields(step, attributes);
        }
        let count = attributes.len() as u64;
        let lists = 32 + 24 * count;
        let mut texts = Vec::new();
        let mut text = |text: &str| {
            let at = lists + 8 * count + texts.len() as u64;
            texts.extend(text.bytes().chain([0]));
            at
        };
        let (mut entries, mut values) = (Vec::new(), Vec::new());
        for (at, (name, value)) in attributes.iter().enumerate() {
            let name = text(&format!(">{name}"));
            entries.extend(self.u64s(&[name, 1, lists + 8 * at as u64]));
            values.extend(self.u64s(&[text(value)]));
        }
        let head = self.u64s(&[0, 0, count, 32]);
        self.encoded(3, &[head, entries, values, texts].concat())
    }

    pub(super) fn files(&self) -> Files {
        let array = self.structure(self.array, 64, &ARRAY);
        let mut fields = VARIABLES;
        fields[4].1 = self.array;
        let top = |fields: &[Field], size| self.structure("MetaData", size, fields);
        let second = [&fields[..], &[MORE]].concat();
        let texts = self.structure("StrAttr", 24, &TEXT_ATTRIBUTE);
        let mut formats = vec![
            self.format(1, &[top(&fields, 96), array.clone()]),
            self.format(
                3,
                &[self.structure(self.attributes, 32, &ATTRIBUTES), texts],
            ),
            self.format(2, &[top(&second, 104), array]),
        ];
        if self.has_attribute_fields() {
            formats.extend(
                [4, 5]
                    .into_iter()
                    .zip(ATTRIBUTE_FIELDS)
                    .map(|(number, fields)| {
                        let size = 8 * fields.len() as u32;
                        self.format(number, &[self.structure(self.attributes, size, fields)])
                    }),
            );
        }
        let mut steps = b"ADIOS-BP v2.<.1 Index Table\0".to_vec();
        steps.resize(64, 0);
        (steps[36], steps[37], steps[38], steps[40]) = (self.is_big.into(), 5, 2, b'n');
        let count = self.writers.len() as u64;
        let writers = [&[count, count, count][..], &self.writers].concat();
        steps.extend(
            [
                vec![b'w'],
                self.u64s(&[8 * (3 + count)]),
                self.u64s(&writers),
            ]
            .concat(),
        );
        let mut records = vec![steps.len()];
        let (mut index, mut data) = (Vec::new(), vec![Vec::new(); self.writers.len()]);
        for (number, step) in self.steps.iter().enumerate() {
            let flushes = step.iter().map(|parts| parts.len() - 1).max().unwrap() as u64;
            let mut places = Vec::new();
            for (parts, file) in step.iter().zip(&self.writers) {
                let data: &mut Vec<u8> = &mut data[*file as usize];
                for (part, rows) in parts.iter().enumerate() {
                    // Parts are not contiguous.
                    data.resize(data.len() + 16, 0xee);
                    let rows: Vec<u64> = rows.iter().flatten().copied().collect();
                    let rows = self.u64s(&rows);
                    places.push(data.len() as u64);
                    if part + 1 < parts.len() {
                        places.push(rows.len() as u64);
                    }
                    data.extend(rows);
                }
            }
            let metadata: Vec<_> = step
                .iter()
                .map(|parts| self.variables(number, parts))
                .collect();
            let mut attributes = vec![Vec::new(); step.len()];
            attributes[0] = match number {
                0 => self.attributes(0, &[("timer 5", "main"), ("event_type 0", "ENTRY")]),
                1 => self.attributes(1, &[("event_type 1", "EXIT"), ("MetaData:3:0:Node", "n1")]),
                _ => Vec::new(),
            };
            let blocks = [metadata, attributes].concat();
            let lengths: Vec<u64> = blocks.iter().map(|block| block.len() as u64).collect();
            let body = [self.u64s(&lengths), blocks.concat()].concat();
            let start = index.len() as u64;
            index.extend([self.u64s(&[body.len() as u64]), body].concat());
            let record = [start, index.len() as u64 - start, flushes];
            let record = [&record[..], &places].concat();
            let len = 8 * record.len() as u64;
            steps.extend([vec![b's'], self.u64s(&[len]), self.u64s(&record)].concat());
            records.push(steps.len());
        }
        let mut files = vec![
            ("md.idx".to_string(), steps),
            ("md.0".to_string(), index),
            ("mmd.0".to_string(), formats.concat()),
        ];
        let data = data.into_iter().enumerate();
        files.extend(data.map(|(number, data)| (format!("data.{number}"), data)));
        Files { records, files }
    }
}

/// Returns rows of one function of a rank, alternately enters and exits.
fn rows(rank: u64, times: &[u64]) -> Vec<[u64; 6]> {
    let row = |(at, time): (usize, &u64)| [0, rank, 0, at as u64 % 2, 5, *time];
    times.iter().enumerate().map(row).collect()
}

/// One writer with three steps: the second adds a variable and the name of exits, the last has two
/// parts.
pub(super) fn made5() -> Made5 {
    Made5 {
        is_big: false,
        writers: vec![0],
        steps: vec![
            vec![vec![Vec::new()]],
            vec![vec![rows(3, &[10, 20])]],
            vec![vec![rows(3, &[30, 40]), rows(3, &[50, 60])]],
        ],
        array: "MetaArrayMM8",
        attributes: "GenericAttributes",
    }
}

pub(super) const LINES: [&str; 10] = [
    "end 0",
    "3 Node is n1",
    "3.0 10000 enter 0:main",
    "3.0 20000 exit 0:main",
    "end 1",
    "3.0 30000 enter 0:main",
    "3.0 40000 exit 0:main",
    "3.0 50000 enter 0:main",
    "3.0 60000 exit 0:main",
    "end 2",
];

pub(super) fn opened(folder: &Path) -> perf_formats::Result<(Seen, Adios)> {
    let mut source = Adios::open(&[folder], &OpenOptions::new())?;
    let seen = read(&mut source)?;
    Ok((seen, source))
}

#[test]
fn bp5_is_read_in_either_byte_order() {
    let folder = scratch("bp5");
    for is_big in [false, true] {
        let mut made = made5();
        made.is_big = is_big;
        made.files().write(&folder);
        let mut source = Adios::open(&[&folder], &OpenOptions::new().strict(true)).unwrap();
        assert_eq!(read(&mut source).unwrap().lines, LINES, "big {is_big}");
    }
}

/// With `UseOneTimeAttributes=false`, each attribute is a field of a format.
#[test]
fn attributes_of_bp5_may_be_fields() {
    let folder = scratch("bp5-attribute-fields");
    for is_big in [false, true] {
        let mut made = made5();
        (made.is_big, made.attributes) = (is_big, "Attributes");
        made.files().write(&folder);
        let mut source = Adios::open(&[&folder], &OpenOptions::new().strict(true)).unwrap();
        assert_eq!(read(&mut source).unwrap().lines, LINES, "big {is_big}");
    }
}

#[test]
fn writers_of_one_bp5_file_have_blocks_of_their_own() {
    let folder = scratch("bp5-writers");
    let mut made = made5();
    // The second writer has no rows in the first step, the third shares the first data file.
    made.writers = vec![0, 1, 0];
    made.steps = vec![
        vec![vec![rows(0, &[10])], vec![Vec::new()], vec![rows(2, &[12])]],
        vec![
            vec![rows(0, &[20])],
            vec![rows(1, &[21])],
            vec![rows(2, &[22])],
        ],
    ];
    made.files().write(&folder);
    let (seen, source) = opened(&folder).unwrap();
    let expected = [
        "0.0 10000 enter 0:main",
        "2.0 12000 enter 0:main",
        "0.0 20000 enter 0:main",
        "1.0 21000 enter 0:main",
        "2.0 22000 enter 0:main",
    ];
    assert_eq!(seen.events(), expected);
    assert!(source.diagnostics().is_empty());
    fs::remove_file(folder.join("data.1")).unwrap();
    let (seen, source) = opened(&folder).unwrap();
    assert_eq!(seen.events(), [&expected[..3], &expected[4..]].concat());
    let found = source.diagnostics().to_string();
    assert!(found.contains("data.1"), "{found}");
}

#[test]
fn unsupported_parts_of_bp5_are_named() {
    let folder = scratch("bp5-other");
    let mut compressed = made5();
    compressed.array = "MetaArrayOpMM8";
    for (number, name) in [(7, "`zfp`"), (99, "`operator 99`")] {
        let mut files = compressed.files();
        files.files[3].1.fill(number);
        files.write(&folder);
        let error = opened(&folder).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("compressed with") && text.contains(name),
            "{text}"
        );
    }
    let mut made = made5();
    made.attributes = "SomeAttributes";
    made.files().write(&folder);
    let error = opened(&folder).map(|(_, source)| source.diagnostics().to_string());
    let text = match error {
        Ok(text) => text,
        Err(error) => error.to_string(),
    };
    assert!(
        text.contains("attributes in the format `SomeAttributes`"),
        "{text}"
    );
    // A format that is not described, and a missing file of formats.
    let files = made5().files();
    files.write(&folder);
    let first = files.files[2].1.len() / 4;
    fs::write(folder.join("mmd.0"), &files.files[2].1[..first]).unwrap();
    let (_, source) = opened(&folder).unwrap();
    let found = source.diagnostics();
    assert_eq!(found.count(rules::DAMAGED_STEP), 3, "{found}");
    assert!(found.to_string().contains("unknown format 0101"), "{found}");
    for missing in ["mmd.0", "data.0"] {
        files.write(&folder);
        fs::remove_file(folder.join(missing)).unwrap();
        let error = opened(&folder).unwrap_err();
        assert!(matches!(error, Error::Io { .. }), "{error}");
        assert!(error.to_string().contains(missing), "{error}");
    }
}

#[test]
fn a_growing_bp5_file_is_followed() {
    let made = made5();
    let files = made.files();
    let root = scratch("bp5-grows");
    let file = root.join("tau-metrics-app-0.bp");
    let (seen, source) = follow::followed(&root, || {
        follow::pause();
        fs::create_dir_all(&file).unwrap();
        fs::write(file.join("md.idx"), &files.active(0)[..30]).unwrap();
        follow::pause();
        fs::write(file.join("md.idx"), files.active(0)).unwrap();
        follow::pause();
        for (name, bytes) in &files.files[1..] {
            // The last step is not complete in any file.
            let len = bytes.len() - if name == "mmd.0" { 0 } else { 20 };
            fs::write(file.join(name), &bytes[..len]).unwrap();
        }
        for record in 1..=3 {
            follow::pause();
            fs::write(file.join("md.idx"), files.active(record)).unwrap();
        }
        follow::pause();
        for (name, bytes) in &files.files[1..] {
            fs::write(file.join(name), bytes).unwrap();
        }
        follow::pause();
        files.write(&file);
    });
    assert_eq!(seen.lines, LINES);
    let found = source.diagnostics();
    assert!(found.is_empty(), "{found}");
}

/// A detector that is restarted, and one that reads a folder in which a file appears late, number
/// the steps of each rank alike.
#[test]
fn readers_of_one_run_agree_on_the_steps_of_each_rank() {
    let root = scratch("bp5-agree");
    let ranks: Vec<Files> = (0..2)
        .map(|rank| {
            let mut made = made5();
            for (number, step) in made.steps.iter_mut().enumerate() {
                let time = 100 * (number as u64 + 1);
                // The second step names exits.
                let times = &[time, time + 1 + rank][..1 + usize::from(number > 0)];
                *step = vec![vec![rows(rank, times)]];
            }
            made.files()
        })
        .collect();
    let name = |rank: usize| root.join(format!("tau-metrics-app-{rank}.bp"));
    // The steps of each event, as each reader sees them.
    let steps = |seen: &Seen| {
        let (mut lines, mut step) = (Vec::new(), Vec::new());
        for line in &seen.lines {
            match line.strip_prefix("end ") {
                Some(end) => lines.extend(step.drain(..).map(|line| format!("{end} {line}"))),
                None => step.push(line.clone()),
            }
        }
        lines.sort_unstable();
        lines
    };
    ranks[0].write(&name(0));
    fs::write(name(0).join("md.idx"), ranks[0].active(2)).unwrap();
    let (late, source) = follow::followed(&root, || {
        std::thread::sleep(Duration::from_millis(150));
        ranks[1].write(&name(1));
        follow::pause();
        ranks[0].write(&name(0));
    });
    assert!(source.diagnostics().count(rules::LATE) > 0);
    let (again, source) = opened(&root).unwrap();
    assert_eq!(source.diagnostics().count(rules::LATE), 0);
    assert_eq!(steps(&again).len(), 12);
    assert_eq!(steps(&late), steps(&again));
}

#[test]
fn an_unclosed_bp5_file_is_read_and_noted() {
    let folder = scratch("bp5-unclosed");
    let files = made5().files();
    files.write(&folder);
    fs::write(folder.join("md.idx"), files.active(2)).unwrap();
    let (seen, source) = opened(&folder).unwrap();
    assert_eq!(seen.lines, LINES[..5]);
    let found = source.diagnostics();
    assert_eq!((found.count(rules::UNCLOSED), found.iter().count()), (1, 1));
}
