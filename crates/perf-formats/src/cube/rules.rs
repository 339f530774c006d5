//! What the reader repairs, skips or notes, and what the writer leaves out: the rules that
//! [`Diagnostics`](perf_core::Diagnostics) of Cube profiles count.

use perf_core::{Rule, Weight};

const fn rule(name: &'static str, weight: Weight, what: &'static str) -> Rule {
    Rule { name, what, weight }
}

/// The checksum of a member is wrong, as CubeWriter 4.8 wrote it.
pub const CHECKSUM: Rule = rule(
    "checksum",
    Weight::Note,
    "the checksum of a member of the archive is wrong; read all the same",
);
/// Two members have one name.
pub const DUPLICATE_MEMBER: Rule = rule(
    "duplicate-member",
    Weight::Repair,
    "two members of the archive have one name; the last is kept",
);
/// Tags that do not match.
pub const BAD_NESTING: Rule = rule(
    "bad-nesting",
    Weight::Repair,
    "a tag is closed that is not the innermost one; those within it are closed too",
);
/// Columns that are numbered with gaps.
pub const SPARSE_LOCATIONS: Rule = rule(
    "sparse-locations",
    Weight::Ordinary,
    "ids of locations have gaps; columns are taken in order of the ids",
);
/// A type that is not known.
pub const UNKNOWN_TYPE: Rule = rule(
    "unknown-type",
    Weight::Repair,
    "a metric has an unknown type; taken as DOUBLE, as the reference library does",
);
/// A reference to nothing.
pub const UNRESOLVED: Rule = rule(
    "unresolved",
    Weight::Loss,
    "something refers to an id that is not defined; left out",
);
/// Coordinates that do not fit the axes.
pub const BAD_COORDINATES: Rule = rule(
    "bad-coordinates",
    Weight::Loss,
    "coordinates do not fit the axes of their topology; left out",
);
/// One topology over several kinds of things.
pub const MIXED_TOPOLOGY: Rule = rule(
    "mixed-topology",
    Weight::Note,
    "a topology has coordinates of several kinds of things; taken as one topology a kind",
);
/// Rows that the index has and the data have not.
pub const MISSING_ROWS: Rule = rule(
    "missing-rows",
    Weight::Loss,
    "the data end before the rows that the index names; these are zero",
);
/// Packed rows without an entry.
pub const MISSING_ENTRIES: Rule = rule(
    "missing-entries",
    Weight::Loss,
    "the table of packed rows has no entry for a row that the index names; it is zero",
);
/// Several entries for one packed row.
pub const DUPLICATE_ENTRIES: Rule = rule(
    "duplicate-entries",
    Weight::Repair,
    "the table of packed rows has several entries for one row; the last is kept",
);
/// Entries for no packed row.
pub const STRAY_ENTRIES: Rule = rule(
    "stray-entries",
    Weight::Loss,
    "the table of packed rows has an entry for no row that the index names; left out",
);
/// Row numbers past the call paths.
pub const BAD_ROWS: Rule = rule(
    "bad-rows",
    Weight::Loss,
    "the index names rows that no call path has, or one twice; left out",
);
/// Rows shorter than the number of locations.
pub const SHORT_ROW: Rule = rule(
    "short-row",
    Weight::Repair,
    "a row has fewer values than there are locations; the rest are zero",
);
/// An index without data, or data without an index.
pub const HALF_METRIC: Rule = rule(
    "half-metric",
    Weight::Loss,
    "a metric has data without an index or an index without data; it is zero",
);
/// A derived metric that is not evaluated.
pub const DERIVED: Rule = rule(
    "derived-metric",
    Weight::Loss,
    "the expression of a derived metric is not supported; it is kept as a property, without values",
);
/// Iterations that were clustered.
pub const CLUSTERING: Rule = rule(
    "clustering",
    Weight::Loss,
    "iterations are clustered, which is not expanded; clusters stand for them",
);
/// A topology over ranks of a communicator.
pub const TOPOLOGY_NOT_WRITTEN: Rule = rule(
    "topology-not-written",
    Weight::Loss,
    "a topology over ranks of a communicator has no place in the format; left out",
);
/// A free member of the archive the profile was read from.
pub const MEMBER_NOT_WRITTEN: Rule = rule(
    "member-not-written",
    Weight::Loss,
    "a free member of the archive that was read is not at hand, or has a name that rows have; left out",
);
/// A free member of a size that the reference library does not expect.
pub const MEMBER_LENGTHENED: Rule = rule(
    "member-lengthened",
    Weight::Ordinary,
    "the size of a free member is a multiple of 512; a line break is put behind it for the reference library",
);
/// A part of the machine that had to be made up.
pub const SYSTEM_COMPLETED: Rule = rule(
    "system-completed",
    Weight::Note,
    "locations without a process or processes without a node were put into one",
);
