//! Tests the reaction of each reader to low limits: the first table of `docs/hardening.md`, cell by cell.
//!
//! For each cell the test searches for the smallest limit with which a recording is read
//! completely. A limit lower by one, and every lower one down to zero, must give the result in the
//! table. Recordings of an empty cell must also be readable with a limit of zero.

#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps fails where it should"
)]

mod low;

use low::{Cell, Generated};
use low::{DEFINITIONS, DEPTH, MEMORY, STRING};

/// Recording, limit, conversion of the limit to the number in error messages, and result of lower
/// limits.
type Line = (&'static str, low::Limit, fn(u64) -> u64, Cell);

const SAME: fn(u64) -> u64 = |limit| limit;
/// The call paths and parts of the machine are nested in other elements.
const ELEMENTS: fn(u64) -> u64 = |depth| depth + 8;
/// A line of a Paraver file names every task, so it is longer than a string.
const LINES: fn(u64) -> u64 = |string| 64 * string;
/// Limit of concatenated texts.
const TEXTS: fn(u64) -> u64 = |string| 256 * string;

/// Bundled streams of TAU.
const BP4: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../data/streams/tau-metrics-miniapp-0.bp"
);

/// Empty cell of the table.
const NOTHING: Cell = Cell::Nothing;

const fn error(what: &'static [&'static str]) -> Cell {
    Cell::Error(what)
}

const fn rule(name: &'static str) -> Cell {
    Cell::Rule(name)
}

const TABLE: &[Line] = &[
    ("otf2", MEMORY, SAME, error(&["memory for events in bytes"])),
    ("deep", DEPTH, SAME, rule("cycle")),
    (
        "otf2",
        DEFINITIONS,
        SAME,
        error(&["the number of definitions of one kind"]),
    ),
    ("otf2", STRING, SAME, rule("long-text")),
    (
        "random.prv",
        MEMORY,
        SAME,
        error(&["memory for threads in bytes", "bytes of events in memory"]),
    ),
    ("functions.prv", DEPTH, SAME, rule("deep-function")),
    (
        "random.prv",
        DEFINITIONS,
        SAME,
        error(&["number of threads"]),
    ),
    ("pairs.prv", DEFINITIONS, SAME, rule("unknown-member")),
    (
        "line.prv",
        STRING,
        LINES,
        error(&["length of a line in bytes"]),
    ),
    ("functions.prv", STRING, SAME, rule("too-long-names")),
    (
        "gzip.cubex",
        MEMORY,
        SAME,
        error(&["uncompressed size in bytes"]),
    ),
    (
        "packed.cube",
        MEMORY,
        SAME,
        error(&["uncompressed size in bytes"]),
    ),
    (
        "calls.cubex",
        DEPTH,
        ELEMENTS,
        error(&["nesting of elements"]),
    ),
    (
        "machine.cubex",
        DEPTH,
        SAME,
        error(&["depth of the machine", "nesting of elements"]),
    ),
    (
        "calls.cube",
        DEPTH,
        ELEMENTS,
        error(&["nesting of elements"]),
    ),
    (
        "sparse.cubex",
        DEFINITIONS,
        SAME,
        error(&[
            "call paths",
            "regions",
            "metrics",
            "number of members",
            "locations",
            "processes",
            "system nodes",
        ]),
    ),
    (
        "document.cube",
        DEFINITIONS,
        SAME,
        error(&[
            "regions",
            "call paths",
            "metrics",
            "locations",
            "processes",
            "system nodes",
        ]),
    ),
    (
        "sparse.cubex",
        STRING,
        SAME,
        error(&["length of a text in bytes"]),
    ),
    (
        "document.cube",
        STRING,
        SAME,
        error(&["length of a text in bytes"]),
    ),
    (
        "header.cubex",
        STRING,
        SAME,
        error(&["length of a header in bytes", "length of a text in bytes"]),
    ),
    ("tau", MEMORY, SAME, NOTHING),
    ("tau", DEPTH, SAME, error(&["depth of a call path"])),
    ("tau", DEFINITIONS, SAME, error(&["number of functions"])),
    ("tau", STRING, SAME, error(&["length of a line in bytes"])),
    (
        "packed.ppk",
        MEMORY,
        SAME,
        error(&["uncompressed size in bytes"]),
    ),
    (
        "version2.ppk",
        DEPTH,
        SAME,
        error(&["depth of a call path"]),
    ),
    (
        "version2.ppk",
        DEFINITIONS,
        SAME,
        error(&[
            "functions",
            "groups of a function",
            "metrics",
            "groups",
            "facts",
            "threads",
            "user events",
            "bytes to skip",
        ]),
    ),
    (
        "groups.ppk",
        STRING,
        TEXTS,
        error(&["names of groups in bytes"]),
    ),
    (
        "rows.tsv",
        MEMORY,
        SAME,
        error(&["memory for events in bytes"]),
    ),
    ("rows.tsv", DEPTH, SAME, NOTHING),
    ("rows.tsv", DEFINITIONS, SAME, NOTHING),
    ("rows.tsv", STRING, SAME, rule("long-line")),
    (
        "rows.ndjson",
        MEMORY,
        SAME,
        error(&["memory for events in bytes"]),
    ),
    ("rows.ndjson", DEPTH, SAME, NOTHING),
    (
        "rows.ndjson",
        DEFINITIONS,
        SAME,
        rule("too-many-definitions"),
    ),
    ("rows.ndjson", STRING, SAME, rule("long-line")),
    (BP4, MEMORY, SAME, error(&["memory for events in bytes"])),
    (BP4, DEPTH, SAME, NOTHING),
    (BP4, DEFINITIONS, SAME, rule("too-many-definitions")),
    (BP4, STRING, SAME, NOTHING),
    (
        "phases.json",
        MEMORY,
        SAME,
        error(&["memory for events in bytes"]),
    ),
    ("phases.json", DEPTH, SAME, NOTHING),
    (
        "phases.json",
        DEFINITIONS,
        SAME,
        rule("too-many-definitions"),
    ),
    ("phases.json", STRING, SAME, rule("long-name")),
    ("event.json", STRING, SAME, rule("long-event")),
    (
        "tool.json",
        MEMORY,
        SAME,
        error(&["memory for events in bytes"]),
    ),
    ("tool.json", DEPTH, SAME, NOTHING),
    ("tool.json", DEFINITIONS, SAME, rule("too-many-definitions")),
    ("tool.json", STRING, SAME, rule("long-name")),
    #[cfg(feature = "nsys")]
    (
        "report.sqlite",
        MEMORY,
        SAME,
        error(&["memory for strings in bytes", "memory for events in bytes"]),
    ),
    #[cfg(feature = "nsys")]
    ("report.sqlite", DEPTH, SAME, NOTHING),
    #[cfg(feature = "nsys")]
    (
        "report.sqlite",
        DEFINITIONS,
        SAME,
        rule("too-many-definitions"),
    ),
    #[cfg(feature = "nsys")]
    ("report.sqlite", STRING, SAME, rule("long-name")),
    (
        "x.DATA.csv",
        MEMORY,
        SAME,
        error(&["memory for bursts in bytes"]),
    ),
    ("x.DATA.csv", DEPTH, SAME, NOTHING),
    ("x.DATA.csv", DEFINITIONS, SAME, NOTHING),
    (
        "x.DATA.csv",
        STRING,
        SAME,
        error(&["length of a line in bytes"]),
    ),
    ("clustering.xml", MEMORY, SAME, NOTHING),
    (
        "clustering.xml",
        DEPTH,
        SAME,
        error(&["nesting of elements"]),
    ),
    (
        "clustering.xml",
        DEFINITIONS,
        SAME,
        error(&["parameters of an algorithm", "metrics of a clustering"]),
    ),
    (
        "clustering.xml",
        STRING,
        SAME,
        error(&[
            "length of an attribute in bytes",
            "length of a text in bytes",
        ]),
    ),
];

#[test]
fn limits_are_kept_to_the_unit() {
    let made = Generated::new("limits").unwrap();
    let mut wrong = Vec::new();
    for (name, limit, told, cell) in TABLE {
        if let Err(what) = low::look(&made.0.join(name), *limit, *told, *cell) {
            wrong.push(format!("{name}, {}: {what}", limit.0));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
