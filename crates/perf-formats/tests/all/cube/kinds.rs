//! Tests of every data type, in both byte orders, dense and sparse, uncompressed and compressed.

use super::archive_bytes::{archive, member, read};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use perf_core::{CallPathId, LocationId, MetricId, Scope, Severities, Value};
use std::io::Write;

/// A number and its size in bytes.
#[derive(Clone, Copy)]
struct Part(usize, u64);

fn float(value: f64) -> Part {
    Part(8, value.to_bits())
}

/// Storage of a metric.
#[derive(Clone, Copy, Debug)]
struct How {
    is_big: bool,
    is_dense: bool,
    is_packed: bool,
}

impl How {
    fn all() -> impl Iterator<Item = How> {
        (0..8).map(|bits| How {
            is_big: bits & 1 != 0,
            is_dense: bits & 2 != 0,
            is_packed: bits & 4 != 0,
        })
    }

    fn bytes(self, Part(size, bits): Part) -> Vec<u8> {
        let mut bytes = bits.to_le_bytes()[..size].to_vec();
        if self.is_big {
            bytes.reverse();
        }
        bytes
    }

    /// Returns the members `0.index` and `0.data` for three call paths; `None` is a missing row.
    fn members(self, rows: &[Option<Vec<Part>>; 3]) -> [Vec<u8>; 2] {
        let width = rows.iter().flatten().map(Vec::len).max().unwrap();
        let size: usize = rows
            .iter()
            .flatten()
            .next()
            .unwrap()
            .iter()
            .map(|part| part.0)
            .sum();
        let mut index = b"CUBEX.INDEX".to_vec();
        index.extend(self.bytes(Part(4, 1)));
        index.extend([0, 0, if self.is_dense { 3 } else { 1 }]);
        let stored: Vec<(usize, Option<&Vec<Part>>)> = if self.is_dense {
            (0..).zip(rows.iter().map(Option::as_ref)).collect()
        } else {
            (0..)
                .zip(rows.iter().map(Option::as_ref))
                .filter(|(_, row)| row.is_some())
                .collect()
        };
        if !self.is_dense {
            index.extend(self.bytes(Part(4, stored.len() as u64)));
            for (number, _) in &stored {
                index.extend(self.bytes(Part(4, *number as u64)));
            }
        }
        let mut data = Vec::new();
        let rows = stored.iter().map(|(_, row)| match row {
            Some(row) => row.iter().flat_map(|part| self.bytes(*part)).collect(),
            None => vec![0; size],
        });
        let rows: Vec<Vec<u8>> = rows.collect();
        assert!(width > 0 && rows.iter().all(|row| row.len() == size));
        if self.is_packed {
            data.extend(b"ZCUBEX.DATA");
            data.extend(self.bytes(Part(8, rows.len() as u64)));
            // The last row comes first in the file, and the table is not ordered either.
            let mut streams = Vec::new();
            let mut table = Vec::new();
            for (at, row) in rows.iter().enumerate().rev() {
                let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
                encoder.write_all(row).unwrap();
                let packed = encoder.finish().unwrap();
                let sizes = [at * size, streams.len(), packed.len()];
                table.push(sizes.map(|size| self.bytes(Part(8, size as u64))).concat());
                streams.extend(packed);
            }
            table.rotate_left(1);
            data.extend(table.concat());
            data.extend(streams);
        } else {
            data.extend(b"CUBEX.DATA");
            data.extend(rows.concat());
        }
        [member("0.index", &index), member("0.data", &data)]
    }
}

fn anchor(kind: &str, name: &str) -> String {
    format!(
        "<cube version=\"4.8\"><metrics><metric id=\"0\" type=\"{kind}\"><uniq_name>m</uniq_name>\
         <dtype>{name}</dtype></metric></metrics><program><region id=\"0\"><name>r</name></region>\
         <cnode id=\"0\" calleeId=\"0\"><cnode id=\"1\" calleeId=\"0\"/><cnode id=\"2\" calleeId=\"0\"/>\
         </cnode></program><system><systemtreenode Id=\"0\"><locationgroup Id=\"0\">\
         <location Id=\"0\"/><location Id=\"1\"/></locationgroup></systemtreenode></system></cube>"
    )
}

/// Checks rows of call paths 0 and 2, with two values each, against the expected ones.
fn check(name: &str, values: [Vec<Part>; 4], expected: &[Severities; 2]) {
    let [a, b, c, d] = values;
    let rows = [Some([a, b].concat()), None, Some([c, d].concat())];
    for how in How::all() {
        let [index, data] = how.members(&rows);
        let anchor = member("anchor.xml", anchor("EXCLUSIVE", name).as_bytes());
        let cube = read(archive(&[index, anchor, data])).unwrap();
        let row = |path| cube.profile().row(MetricId(0), CallPathId(path)).unwrap();
        for (path, expected) in [(0, &expected[0]), (2, &expected[1])] {
            assert_eq!(row(path).as_deref(), Some(expected), "{name}, {how:?}");
        }
        assert_eq!(row(1).is_some(), how.is_dense, "{name}, {how:?}");
        assert!(cube.diagnostics().is_empty(), "{name}, {how:?}");
    }
}

#[test]
fn numbers_of_every_width() {
    for (names, size) in [
        (&["UINT8", "UNSIGNED CHAR"][..], 1),
        (&["UINT16", "UNSIGNED SHORT INT"], 2),
        (&["UINT32", "UNSIGNED INT"], 4),
        (&["UINT64", "UNSIGNED INTEGER"], 8),
    ] {
        let most = u64::MAX >> (64 - 8 * size);
        let part = |value| vec![Part(size, value)];
        let values = [part(1), part(most), part(0), part(most / 3)];
        let rows = [
            Severities::U64(vec![1, most]),
            Severities::U64(vec![0, most / 3]),
        ];
        for name in names {
            check(name, values.clone(), &rows);
        }
    }
    for (names, size) in [
        (&["INT8", "CHAR"][..], 1),
        (&["INT16", "SHORT INT"], 2),
        (&["INT32", "INT"], 4),
        (&["INT64", "INTEGER"], 8),
    ] {
        let least = i64::MIN >> (64 - 8 * size);
        let part = |value: i64| vec![Part(size, value as u64)];
        let values = [part(-1), part(least), part(5), part(!least)];
        let rows = [
            Severities::I64(vec![-1, least]),
            Severities::I64(vec![5, !least]),
        ];
        for name in names {
            check(name, values.clone(), &rows);
        }
    }
    for name in ["DOUBLE", "FLOAT", "MINDOUBLE", "MAXDOUBLE", "NDOUBLES(1)"] {
        let part = |value| vec![float(value)];
        let values = [part(0.1), part(-2.5), part(1e300), part(f64::INFINITY)];
        let rows = [
            Severities::F64(vec![0.1, -2.5]),
            Severities::F64(vec![1e300, f64::INFINITY]),
        ];
        check(name, values, &rows);
    }
}

#[test]
fn tuples_of_every_kind() {
    for (name, width) in [
        ("RATE", 2),
        ("COMPLEX", 2),
        ("NDOUBLES(4)", 4),
        ("HISTOGRAM(3)", 5),
        ("SCALE_FUNC", 27),
    ] {
        let tuple = |at: u32| {
            (0..width)
                .map(|part| f64::from(at * 100 + part))
                .collect::<Vec<_>>()
        };
        let parts = |at| tuple(at).into_iter().map(float).collect::<Vec<_>>();
        let row = |first| Severities::Tuples {
            width: width as usize,
            values: [tuple(first), tuple(first + 1)].concat(),
        };
        check(name, [0, 1, 2, 3].map(parts), &[row(0), row(2)]);
    }
    // A count of four bytes, then four floats without padding.
    let atomic = |count: u32, rest: [f64; 4]| {
        let mut parts = vec![Part(4, count.into())];
        parts.extend(rest.map(float));
        parts
    };
    let values = [
        atomic(2, [1.0, 3.0, 4.0, 10.0]),
        atomic(0, [0.0; 4]),
        atomic(u32::MAX, [-1.0, 0.5, 7.0, 8.0]),
        atomic(1, [9.0, 9.0, 9.0, 81.0]),
    ];
    let row = |values: Vec<f64>| Severities::Tuples { width: 5, values };
    let rows = [
        row(vec![2.0, 1.0, 3.0, 4.0, 10.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
        row(vec![
            f64::from(u32::MAX),
            -1.0,
            0.5,
            7.0,
            8.0,
            1.0,
            9.0,
            9.0,
            9.0,
            81.0,
        ]),
    ];
    check("TAU_ATOMIC", values, &rows);
}

/// Descendants of a call path are combined as specified by the data type.
#[test]
fn each_type_adds_up_in_its_way() {
    let inclusive = |name: &str, values: [Vec<Part>; 4]| {
        let [a, b, c, d] = values;
        let how = How {
            is_big: false,
            is_dense: false,
            is_packed: false,
        };
        let [index, data] = how.members(&[Some([a, b].concat()), None, Some([c, d].concat())]);
        let anchor = member("anchor.xml", anchor("EXCLUSIVE", name).as_bytes());
        let cube = read(archive(&[index, data, anchor])).unwrap();
        let row = cube
            .profile()
            .scoped(MetricId(0), CallPathId(0), Scope::Inclusive);
        let total = |scope| cube.total(MetricId(0), CallPathId(0), scope).unwrap();
        (row.unwrap().unwrap(), total(Scope::Inclusive))
    };
    let one = |value| vec![float(value)];
    let values = || [one(5.0), one(-1.0), one(2.0), one(3.0)];
    let (row, total) = inclusive("MINDOUBLE", values());
    assert_eq!((row.to_f64(), total), (vec![2.0, -1.0], -1.0));
    let (row, total) = inclusive("MAXDOUBLE", values());
    assert_eq!((row.to_f64(), total), (vec![5.0, 3.0], 5.0));
    let (row, total) = inclusive("DOUBLE", values());
    assert_eq!((row.to_f64(), total), (vec![7.0, 2.0], 9.0));
    let atomic = |count: u32, rest: [f64; 4]| {
        let mut parts = vec![Part(4, count.into())];
        parts.extend(rest.map(float));
        parts
    };
    let (row, _) = inclusive(
        "TAU_ATOMIC",
        [
            atomic(2, [1.0, 3.0, 4.0, 10.0]),
            atomic(0, [0.0; 4]),
            atomic(1, [0.5, 0.5, 0.5, 0.25]),
            atomic(1, [9.0, 9.0, 9.0, 81.0]),
        ],
    );
    let tuple = |at| row.tuple(LocationId(at)).unwrap().to_vec();
    assert_eq!(tuple(0), [3.0, 0.5, 3.0, 4.5, 10.25]);
    assert_eq!(tuple(1), [1.0, 9.0, 9.0, 9.0, 81.0]);
    // Minimum, maximum, one bin.
    let bins = |values: [f64; 3]| values.map(float).to_vec();
    let (row, _) = inclusive(
        "HISTOGRAM(1)",
        [
            bins([0.0, 1.0, 4.0]),
            bins([2.0, 3.0, 1.0]),
            bins([-1.0, 0.5, 2.0]),
            bins([2.5, 9.0, 1.0]),
        ],
    );
    assert_eq!(row.tuple(LocationId(0)), Some(&[-1.0, 1.0, 6.0][..]));
    assert_eq!(row.tuple(LocationId(1)), Some(&[2.0, 9.0, 2.0][..]));
}

/// Exclusive hardware counters are negative if a child counts more than its parent.
#[test]
fn unsigned_differences_are_signed() {
    let counts = |values: [u64; 2]| Some(values.map(|value| Part(8, value)).to_vec());
    let how = How {
        is_big: true,
        is_dense: true,
        is_packed: false,
    };
    let rows = [counts([10, 5]), counts([4, 6]), counts([6, 2])];
    let [index, data] = how.members(&rows);
    let anchor = member("anchor.xml", anchor("INCLUSIVE", "UINT64").as_bytes());
    let cube = read(archive(&[index, data, anchor])).unwrap();
    let own = cube
        .profile()
        .scoped(MetricId(0), CallPathId(0), Scope::Exclusive);
    assert_eq!(*own.unwrap().unwrap(), Severities::I64(vec![0, -3]));
    let total = cube.profile().total(MetricId(0), CallPathId(1)).unwrap();
    assert_eq!(total, Value::U64(10));
}
