//! Rules for repairs, losses and notes of reading and writing that the
//! [`Diagnostics`](perf_core::Diagnostics) of Cube profiles count.

crate::rule_table::rule_table! {
    /// The checksum of a member is wrong, as written by CubeWriter 4.8.
    CHECKSUM: Note = "checksum",
        "the checksum of a member of the archive is wrong; read anyway";
    DUPLICATE_MEMBER: Repair = "duplicate-member",
        "two members of the archive have the same name; the last one is kept";
    BAD_NESTING: Repair = "bad-nesting",
        "a closing tag does not match the innermost element; the elements inside are closed too";
    SPARSE_LOCATIONS: Ordinary = "sparse-locations",
        "ids of locations have gaps; columns are assigned in order of the ids";
    UNKNOWN_TYPE: Repair = "unknown-type",
        "a metric has an unknown data type; read as DOUBLE, as the reference library does";
    UNRESOLVED: Loss = "unresolved",
        "an element refers to an undefined id; dropped";
    BAD_COORDINATES: Loss = "bad-coordinates",
        "coordinates do not fit the axes of their topology; dropped";
    MIXED_TOPOLOGY: Note = "mixed-topology",
        "a topology has coordinates of several kinds of elements; split into one topology for \
         each kind";
    MISSING_ROWS: Loss = "missing-rows",
        "the data end before all rows of the index; the missing rows are zero";
    MISSING_ENTRIES: Loss = "missing-entries",
        "the table of compressed rows has no entry for a row of the index; the row is zero";
    DUPLICATE_ENTRIES: Repair = "duplicate-entries",
        "the table of compressed rows has several entries for one row; the last one is kept";
    STRAY_ENTRIES: Loss = "stray-entries",
        "the table of compressed rows has an entry for a row that the index does not contain; \
         dropped";
    BAD_ROWS: Loss = "bad-rows",
        "the index contains a row twice or a row of no call path; dropped";
    SHORT_ROW: Repair = "short-row",
        "a row has fewer values than there are locations; the missing ones are zero";
    HALF_METRIC: Loss = "half-metric",
        "a metric has data without an index or an index without data; its values are zero";
    DERIVED: Loss = "derived-metric",
        "the expression of a derived metric is not supported; it is kept as a property, without \
         values";
    CLUSTERING: Loss = "clustering",
        "iterations are clustered; the clusters are not expanded to iterations";
    TOPOLOGY_NOT_WRITTEN: Loss = "topology-not-written",
        "a topology over ranks of a communicator cannot be expressed in the format; dropped";
    MEMBER_NOT_WRITTEN: Loss = "member-not-written",
        "an additional member of the original archive is unavailable or has the name of a row \
         file; dropped";
    /// Writing: a free member has a size that the reference library mishandles, and is padded.
    MEMBER_LENGTHENED: Ordinary = "member-lengthened",
        "the size of an additional member is a multiple of 512, which the reference library \
         mishandles; a line break is appended";
    /// Writing: a missing part of the system tree is added.
    SYSTEM_COMPLETED: Note = "system-completed",
        "locations without a process or processes without a node were assigned to an added one";
}
