//! Rules for repairs, losses and notes of reading and writing that the
//! [`Diagnostics`](perf_core::Diagnostics) of Cube profiles count.

use perf_core::{Rule, Weight};

const fn rule(name: &'static str, weight: Weight, what: &'static str) -> Rule {
    Rule { name, what, weight }
}

/// The checksum of a member is wrong, as written by CubeWriter 4.8.
pub const CHECKSUM: Rule = rule(
    "checksum",
    Weight::Note,
    "the checksum of a member of the archive is wrong; read anyway",
);
/// Two members have the same name.
pub const DUPLICATE_MEMBER: Rule = rule(
    "duplicate-member",
    Weight::Repair,
    "two members of the archive have the same name; the last one is kept",
);
/// Opening and closing tags do not match.
pub const BAD_NESTING: Rule = rule(
    "bad-nesting",
    Weight::Repair,
    "a closing tag does not match the innermost element; the elements inside are closed too",
);
/// The numbers of locations have gaps.
pub const SPARSE_LOCATIONS: Rule = rule(
    "sparse-locations",
    Weight::Ordinary,
    "ids of locations have gaps; columns are assigned in order of the ids",
);
/// A data type is unknown.
pub const UNKNOWN_TYPE: Rule = rule(
    "unknown-type",
    Weight::Repair,
    "a metric has an unknown data type; read as DOUBLE, as the reference library does",
);
/// A reference has no target.
pub const UNRESOLVED: Rule = rule(
    "unresolved",
    Weight::Loss,
    "an element refers to an undefined id; dropped",
);
/// Coordinates do not match the axes.
pub const BAD_COORDINATES: Rule = rule(
    "bad-coordinates",
    Weight::Loss,
    "coordinates do not fit the axes of their topology; dropped",
);
/// A topology covers several kinds of elements.
pub const MIXED_TOPOLOGY: Rule = rule(
    "mixed-topology",
    Weight::Note,
    "a topology has coordinates of several kinds of elements; split into one topology for each \
     kind",
);
/// Rows are in the index but not in the data.
pub const MISSING_ROWS: Rule = rule(
    "missing-rows",
    Weight::Loss,
    "the data end before all rows of the index; the missing rows are zero",
);
/// Compressed rows have no entry.
pub const MISSING_ENTRIES: Rule = rule(
    "missing-entries",
    Weight::Loss,
    "the table of compressed rows has no entry for a row of the index; the row is zero",
);
/// A compressed row has several entries.
pub const DUPLICATE_ENTRIES: Rule = rule(
    "duplicate-entries",
    Weight::Repair,
    "the table of compressed rows has several entries for one row; the last one is kept",
);
/// Entries have no compressed row.
pub const STRAY_ENTRIES: Rule = rule(
    "stray-entries",
    Weight::Loss,
    "the table of compressed rows has an entry for a row that the index does not contain; dropped",
);
/// Row numbers exceed the number of call paths.
pub const BAD_ROWS: Rule = rule(
    "bad-rows",
    Weight::Loss,
    "the index contains a row twice or a row of no call path; dropped",
);
/// Rows have fewer values than there are locations.
pub const SHORT_ROW: Rule = rule(
    "short-row",
    Weight::Repair,
    "a row has fewer values than there are locations; the missing ones are zero",
);
/// A metric has an index without data, or data without an index.
pub const HALF_METRIC: Rule = rule(
    "half-metric",
    Weight::Loss,
    "a metric has data without an index or an index without data; its values are zero",
);
/// A derived metric is not supported.
pub const DERIVED: Rule = rule(
    "derived-metric",
    Weight::Loss,
    "the expression of a derived metric is not supported; it is kept as a property, without values",
);
/// Iterations are clustered.
pub const CLUSTERING: Rule = rule(
    "clustering",
    Weight::Loss,
    "iterations are clustered; the clusters are not expanded to iterations",
);
/// Writing: a topology over ranks of a communicator.
pub const TOPOLOGY_NOT_WRITTEN: Rule = rule(
    "topology-not-written",
    Weight::Loss,
    "a topology over ranks of a communicator cannot be expressed in the format; dropped",
);
/// Writing: a free member of the original archive is lost.
pub const MEMBER_NOT_WRITTEN: Rule = rule(
    "member-not-written",
    Weight::Loss,
    "an additional member of the original archive is unavailable or has the name of a row file; \
     dropped",
);
/// Writing: a free member has a size that the reference library mishandles, and is padded.
pub const MEMBER_LENGTHENED: Rule = rule(
    "member-lengthened",
    Weight::Ordinary,
    "the size of an additional member is a multiple of 512, which the reference library \
     mishandles; a line break is appended",
);
/// Writing: a missing part of the system tree is added.
pub const SYSTEM_COMPLETED: Rule = rule(
    "system-completed",
    Weight::Note,
    "locations without a process or processes without a node were assigned to an added one",
);
