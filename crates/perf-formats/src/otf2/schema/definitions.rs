//! Definition records, global and local.

use super::{Count, Field, Kind, Record, Space, field, id, list, optional, record};

const NAME: Field = id("name", Space::String);
const VALUE: Field = field("value", Kind::Value);
const FLAGS: Field = optional("flags", Kind::U32);

const fn byte(name: &'static str) -> Field {
    field(name, Kind::U8)
}

const fn narrow(name: &'static str) -> Field {
    field(name, Kind::U32)
}

const fn own(space: Space) -> Field {
    id("self", space)
}

const fn string(name: &'static str) -> Field {
    id(name, Space::String)
}

/// Fields of a property of a node, group or location. Older archives have only the string.
const fn property(owner: Field) -> [Field; 4] {
    [
        owner,
        NAME,
        string("string_value"),
        optional("value", Kind::Value),
    ]
}

const NODE_PROPERTY: &[Field] = &property(id("owner", Space::SystemTreeNode));
const GROUP_PROPERTY: &[Field] = &property(id("owner", Space::LocationGroup));
const LOCATION_PROPERTY: &[Field] = &property(id("owner", Space::Location));
const IO_FILE: &[Field] = &[own(Space::IoFile), NAME, id("scope", Space::SystemTreeNode)];

/// Records specific to local definition files, by ascending id. From id 10 on, local files contain
/// the records of [`DEFINITIONS`] with local ids.
pub const LOCAL_DEFINITIONS: &[Record] = &[
    // The rest depends on the mode, which the schema cannot express: `count` global ids in mode 0
    // (dense), `count` pairs of local and global id in mode 1 (sparse).
    record(
        5,
        "MappingTable",
        &[byte("kind"), narrow("count"), byte("mode")],
    ),
    record(
        6,
        "ClockOffset",
        &[
            field("time", Kind::Fixed64),
            field("offset", Kind::I64),
            field("deviation", Kind::F64),
        ],
    ),
];

/// Global definition records, by ascending id.
pub const DEFINITIONS: &[Record] = &[
    record(
        5,
        "ClockProperties",
        &[
            field("resolution", Kind::U64),
            field("offset", Kind::U64),
            field("length", Kind::U64),
            optional("realtime", Kind::U64),
        ],
    ),
    record(6, "Paradigm", &[byte("self"), NAME, byte("class")]),
    record(
        7,
        "ParadigmProperty",
        &[byte("paradigm"), byte("property"), VALUE],
    ),
    record(
        8,
        "IoParadigm",
        &[
            byte("self"),
            string("identification"),
            NAME,
            byte("class"),
            narrow("flags"),
            list("properties", Count::U8, &[byte("property"), VALUE]),
        ],
    ),
    record(
        10,
        "String",
        &[own(Space::String), field("text", Kind::Text)],
    ),
    record(
        11,
        "Attribute",
        &[
            own(Space::Attribute),
            NAME,
            byte("type"),
            optional("description", Kind::Id(Space::String)),
        ],
    ),
    record(
        12,
        "SystemTreeNode",
        &[
            own(Space::SystemTreeNode),
            NAME,
            string("class"),
            id("parent", Space::SystemTreeNode),
        ],
    ),
    record(
        13,
        "LocationGroup",
        &[
            own(Space::LocationGroup),
            NAME,
            byte("type"),
            id("parent", Space::SystemTreeNode),
            optional("creator", Kind::Id(Space::LocationGroup)),
        ],
    ),
    record(
        14,
        "Location",
        &[
            own(Space::Location),
            NAME,
            byte("type"),
            field("events", Kind::U64),
            id("group", Space::LocationGroup),
        ],
    ),
    record(
        15,
        "Region",
        &[
            own(Space::Region),
            NAME,
            string("description"),
            byte("old_type"),
            string("file"),
            narrow("begin"),
            narrow("end"),
            optional("canonical", Kind::Id(Space::String)),
            optional("role", Kind::U8),
            optional("paradigm", Kind::U8),
            FLAGS,
        ],
    ),
    record(
        16,
        "Callsite",
        &[
            own(Space::Callsite),
            string("file"),
            narrow("line"),
            id("entered", Space::Region),
            id("left", Space::Region),
        ],
    ),
    record(
        17,
        "Callpath",
        &[
            own(Space::Callpath),
            id("parent", Space::Callpath),
            id("region", Space::Region),
        ],
    ),
    record(
        18,
        "Group",
        &[
            own(Space::Group),
            NAME,
            byte("old_type"),
            // The meaning of a member depends on the type of the group: a location, a region, a
            // metric, or an index into the group of all communicating locations.
            list("members", Count::U32, &[field("member", Kind::U64)]),
            optional("type", Kind::U8),
            optional("paradigm", Kind::U8),
            FLAGS,
        ],
    ),
    record(
        19,
        "MetricMember",
        &[
            own(Space::MetricMember),
            NAME,
            string("description"),
            byte("type"),
            byte("mode"),
            byte("value_type"),
            byte("base"),
            field("exponent", Kind::I64),
            string("unit"),
        ],
    ),
    record(
        20,
        "MetricClass",
        &[
            own(Space::Metric),
            list("members", Count::U8, &[id("member", Space::MetricMember)]),
            byte("occurrence"),
            optional("recorder_kind", Kind::U8),
        ],
    ),
    record(
        21,
        "MetricInstance",
        &[
            own(Space::Metric),
            id("class", Space::Metric),
            id("recorder", Space::Location),
            byte("scope_kind"),
            // A location, location group, system node or group, depending on the kind.
            field("scope", Kind::U64),
        ],
    ),
    record(
        22,
        "Comm",
        &[
            own(Space::Comm),
            NAME,
            id("group", Space::Group),
            id("parent", Space::Comm),
            FLAGS,
        ],
    ),
    record(
        23,
        "Parameter",
        &[own(Space::Parameter), NAME, byte("type")],
    ),
    record(
        24,
        "RmaWin",
        &[own(Space::RmaWin), NAME, id("comm", Space::Comm), FLAGS],
    ),
    record(
        25,
        "MetricClassRecorder",
        &[id("metric", Space::Metric), id("location", Space::Location)],
    ),
    record(26, "SystemTreeNodeProperty", NODE_PROPERTY),
    record(
        27,
        "SystemTreeNodeDomain",
        &[id("node", Space::SystemTreeNode), byte("domain")],
    ),
    record(28, "LocationGroupProperty", GROUP_PROPERTY),
    record(29, "LocationProperty", LOCATION_PROPERTY),
    record(
        30,
        "CartDimension",
        &[
            own(Space::CartDimension),
            NAME,
            narrow("size"),
            byte("periodic"),
        ],
    ),
    record(
        31,
        "CartTopology",
        &[
            own(Space::CartTopology),
            NAME,
            id("comm", Space::Comm),
            list(
                "dimensions",
                Count::U8,
                &[id("dimension", Space::CartDimension)],
            ),
        ],
    ),
    record(
        32,
        "CartCoordinate",
        &[
            id("topology", Space::CartTopology),
            narrow("rank"),
            list("coordinates", Count::U8, &[narrow("coordinate")]),
        ],
    ),
    record(
        33,
        "SourceCodeLocation",
        &[
            own(Space::SourceCodeLocation),
            string("file"),
            narrow("line"),
        ],
    ),
    record(
        34,
        "CallingContext",
        &[
            own(Space::CallingContext),
            id("region", Space::Region),
            id("source", Space::SourceCodeLocation),
            id("parent", Space::CallingContext),
        ],
    ),
    record(
        35,
        "CallingContextProperty",
        &[id("calling_context", Space::CallingContext), NAME, VALUE],
    ),
    record(
        36,
        "InterruptGenerator",
        &[
            own(Space::InterruptGenerator),
            NAME,
            byte("mode"),
            byte("base"),
            field("exponent", Kind::I64),
            field("period", Kind::U64),
        ],
    ),
    record(
        37,
        "IoFileProperty",
        &[id("file", Space::IoFile), NAME, VALUE],
    ),
    record(38, "IoRegularFile", IO_FILE),
    record(39, "IoDirectory", IO_FILE),
    record(
        40,
        "IoHandle",
        &[
            own(Space::IoHandle),
            NAME,
            id("file", Space::IoFile),
            byte("paradigm"),
            narrow("flags"),
            id("comm", Space::Comm),
            id("parent", Space::IoHandle),
        ],
    ),
    record(
        41,
        "IoPreCreatedHandleState",
        &[
            id("handle", Space::IoHandle),
            byte("mode"),
            narrow("status_flags"),
        ],
    ),
    record(
        42,
        "CallpathParameter",
        &[
            id("callpath", Space::Callpath),
            id("parameter", Space::Parameter),
            VALUE,
        ],
    ),
    record(
        43,
        "InterComm",
        &[
            own(Space::Comm),
            NAME,
            id("group_a", Space::Group),
            id("group_b", Space::Group),
            id("common", Space::Comm),
            field("flags", Kind::U32),
        ],
    ),
];
