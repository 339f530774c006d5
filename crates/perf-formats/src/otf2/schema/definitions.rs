//! [`DEFINITIONS`] and [`LOCAL_DEFINITIONS`]: tables of the OTF2 definition records, global and
//! local, each with its id, name, and names and kinds of fields.

use super::{Count, Field, Kind, Record, Space};

/// Records specific to local definition files, by ascending id. From id 10 on, local files contain
/// the records of [`DEFINITIONS`] with local ids.
pub const LOCAL_DEFINITIONS: &[Record] = records! {
    // The rest depends on the mode, which the schema cannot express: `count` global ids in mode 0
    // (dense), `count` pairs of local and global id in mode 1 (sparse).
    5 MappingTable { kind: u8, count: u32, mode: u8 }
    6 ClockOffset { time: fixed64, offset: i64, deviation: f64 }
};

/// Global definition records, by ascending id.
pub const DEFINITIONS: &[Record] = records! {
    5 ClockProperties { resolution: u64, offset: u64, length: u64; realtime: u64 }
    6 Paradigm { self: u8, name: String, class: u8 }
    7 ParadigmProperty { paradigm: u8, property: u8, value: value }
    8 IoParadigm {
        self: u8, identification: String, name: String, class: u8, flags: u32,
        properties: [u8; property: u8, value: value]
    }
    10 String { self: String, text: text }
    11 Attribute { self: Attribute, name: String, type: u8; description: String }
    12 SystemTreeNode { self: SystemTreeNode, name: String, class: String, parent: SystemTreeNode }
    13 LocationGroup {
        self: LocationGroup, name: String, type: u8, parent: SystemTreeNode;
        creator: LocationGroup
    }
    14 Location { self: Location, name: String, type: u8, events: u64, group: LocationGroup }
    15 Region {
        self: Region, name: String, description: String, old_type: u8, file: String, begin: u32,
        end: u32; canonical: String, role: u8, paradigm: u8, flags: u32
    }
    16 Callsite { self: Callsite, file: String, line: u32, entered: Region, left: Region }
    17 Callpath { self: Callpath, parent: Callpath, region: Region }
    // The meaning of a member depends on the type of the group: a location, a region, a metric, or
    // an index into the group of all communicating locations.
    18 Group {
        self: Group, name: String, old_type: u8, members: [u32; member: u64]; type: u8,
        paradigm: u8, flags: u32
    }
    19 MetricMember {
        self: MetricMember, name: String, description: String, type: u8, mode: u8, value_type: u8,
        base: u8, exponent: i64, unit: String
    }
    20 MetricClass {
        self: Metric, members: [u8; member: MetricMember], occurrence: u8; recorder_kind: u8
    }
    // The scope is a location, location group, system node or group, depending on its kind.
    21 MetricInstance {
        self: Metric, class: Metric, recorder: Location, scope_kind: u8, scope: u64
    }
    22 Comm { self: Comm, name: String, group: Group, parent: Comm; flags: u32 }
    23 Parameter { self: Parameter, name: String, type: u8 }
    24 RmaWin { self: RmaWin, name: String, comm: Comm; flags: u32 }
    25 MetricClassRecorder { metric: Metric, location: Location }
    // Older archives have only the string of a property.
    26 SystemTreeNodeProperty {
        owner: SystemTreeNode, name: String, string_value: String; value: value
    }
    27 SystemTreeNodeDomain { node: SystemTreeNode, domain: u8 }
    28 LocationGroupProperty {
        owner: LocationGroup, name: String, string_value: String; value: value
    }
    29 LocationProperty { owner: Location, name: String, string_value: String; value: value }
    30 CartDimension { self: CartDimension, name: String, size: u32, periodic: u8 }
    31 CartTopology {
        self: CartTopology, name: String, comm: Comm, dimensions: [u8; dimension: CartDimension]
    }
    32 CartCoordinate { topology: CartTopology, rank: u32, coordinates: [u8; coordinate: u32] }
    33 SourceCodeLocation { self: SourceCodeLocation, file: String, line: u32 }
    34 CallingContext {
        self: CallingContext, region: Region, source: SourceCodeLocation, parent: CallingContext
    }
    35 CallingContextProperty { calling_context: CallingContext, name: String, value: value }
    36 InterruptGenerator {
        self: InterruptGenerator, name: String, mode: u8, base: u8, exponent: i64, period: u64
    }
    37 IoFileProperty { file: IoFile, name: String, value: value }
    38 IoRegularFile { self: IoFile, name: String, scope: SystemTreeNode }
    39 IoDirectory { self: IoFile, name: String, scope: SystemTreeNode }
    40 IoHandle {
        self: IoHandle, name: String, file: IoFile, paradigm: u8, flags: u32, comm: Comm,
        parent: IoHandle
    }
    41 IoPreCreatedHandleState { handle: IoHandle, mode: u8, status_flags: u32 }
    42 CallpathParameter { callpath: Callpath, parameter: Parameter, value: value }
    43 InterComm {
        self: Comm, name: String, group_a: Group, group_b: Group, common: Comm, flags: u32
    }
};
