//! Conversion of the names of roles, paradigms and kinds in Cube to those of [`perf_core`] and
//! back; [`property`]: names of properties for facts without a field there.

use perf_core::{GroupKind, LocationKind, Paradigm, RegionRole};

/// Names of the [properties](perf_core::ProfileMetric::properties) for contents of the format
/// without a field in [`perf_core`]. The writer reads them. Attributes of the file have names
/// without the prefix `cube.`.
pub mod property {
    /// Metric property: data type, such as `UINT32`. It is used for writing if the values fit.
    pub const DATA_TYPE: &str = "cube.dtype";
    /// Metric property: type, if it is neither `INCLUSIVE` nor `EXCLUSIVE`.
    pub const METRIC_TYPE: &str = "cube.type";
    /// Metric property: display name, if it differs from the name.
    pub const DISPLAY_NAME: &str = "cube.disp_name";
    /// Metric property: address of the description.
    pub const URL: &str = "cube.url";
    /// Metric property: `GHOST` for a hidden metric.
    pub const VISIBILITY: &str = "cube.viztype";
    /// Metric property: CubePL expression of a derived metric.
    pub const EXPRESSION: &str = "cube.cubepl";
    /// Metric property: CubePL expression that initialises the evaluation.
    pub const INIT: &str = "cube.cubeplinit";
    /// Metric property: `plus`, `minus` or `aggr`, a colon, and the CubePL expression for the
    /// aggregation.
    pub const AGGREGATION: &str = "cube.cubeplaggr";
    /// Call path property: `numeric` or `string`, a colon, and the name of a parameter.
    pub const PARAMETER: &str = "cube.parameter";
    /// Call path property: line of the call site.
    pub const LINE: &str = "cube.line";
    /// Call path property: file of the call site.
    pub const FILE: &str = "cube.mod";
    /// Process or location property: its rank.
    pub const RANK: &str = "rank";
    /// Metric attribute: name of the metric for the same quantity in the other scope.
    pub const COUNTERPART: &str = "perfkit.counterpart";
    /// System node property: its description. As a profile property, followed by a colon and a
    /// number: the description of that region.
    pub const DESCRIPTION: &str = "cube.descr";
    /// Metric property: kind of its values, such as `VOID` for none.
    pub const VALUES: &str = "cube.val";
    /// Metric property: `false` if the reference library must not cache rows.
    pub const CACHEABLE: &str = "cube.cacheable";
    /// Metric property: `false` if it must not be used in remapping.
    pub const CONVERTIBLE: &str = "cube.convertible";
    /// Metric property: `rowwise` or `locationwise` after a colon, the evaluation mode of its
    /// expression.
    pub const EVALUATION: &str = "cube.evaluation";
    /// Profile property, one for each: a web address that texts of the file refer to as `@mirror@`.
    pub const MIRROR: &str = "cube.murl";
    /// Profile property: `metrics`, `program` or `system` after a colon, with a title of that tree.
    pub const TITLE: &str = "cube.title";
    /// Profile property, one for each: the name of an archive member that is neither the document
    /// nor rows; see [`Cube::member`](crate::cube::Cube::member).
    pub const MEMBER: &str = "cube.member";
    /// Profile property: the number of a region after a colon, with the address of its description.
    pub const REGION_URL: &str = "cube.region_url";
    /// Profile property: the number of a region after a colon, with its paradigm if
    /// [`Region::paradigm`](perf_core::Region::paradigm) does not have exactly that name.
    pub const PARADIGM: &str = "cube.paradigm";
    /// Profile property: the number of a region after a colon, with its role if
    /// [`Region::role`](perf_core::Region::role) does not have exactly that name, such as
    /// `implicit barrier`.
    pub const ROLE: &str = "cube.role";

    /// Returns `true` if a profile property is not an attribute of the file.
    pub(in crate::cube) fn is_own(name: &str) -> bool {
        let kind = name.split_once(':').map_or(name, |(kind, _)| kind);
        let own = [
            MIRROR,
            TITLE,
            MEMBER,
            REGION_URL,
            DESCRIPTION,
            PARADIGM,
            ROLE,
        ];
        own.contains(&kind)
    }
}

/// Roles by their OTF2 codes, which the format shares. If several names map to one role, the last
/// is written.
const ROLES: [(&str, RegionRole); 40] = [
    ("unknown", RegionRole::Unknown),
    ("function", RegionRole::Function),
    ("wrapper", RegionRole::Wrapper),
    ("loop", RegionRole::Loop),
    ("code", RegionRole::Other(4)),
    ("parallel", RegionRole::Parallel),
    ("sections", RegionRole::Other(6)),
    ("section", RegionRole::Other(7)),
    ("workshare", RegionRole::Other(8)),
    ("single", RegionRole::Other(9)),
    ("single sblock", RegionRole::Other(10)),
    ("master", RegionRole::Other(11)),
    ("critical", RegionRole::Other(12)),
    ("critical sblock", RegionRole::Other(13)),
    ("atomic", RegionRole::Other(14)),
    ("implicit barrier", RegionRole::Barrier),
    ("barrier", RegionRole::Barrier),
    ("flush", RegionRole::Other(17)),
    ("ordered", RegionRole::Other(18)),
    ("ordered sblock", RegionRole::Other(19)),
    ("task", RegionRole::Task),
    ("task create", RegionRole::Other(21)),
    ("task wait", RegionRole::Other(22)),
    ("one2all", RegionRole::Collective),
    ("all2one", RegionRole::Collective),
    ("all2all", RegionRole::Collective),
    ("other collective", RegionRole::Collective),
    ("file_io", RegionRole::FileIo),
    ("file io", RegionRole::FileIo),
    ("point2point", RegionRole::PointToPoint),
    ("rma", RegionRole::Rma),
    ("data transfer", RegionRole::DataTransfer),
    ("artificial", RegionRole::Other(31)),
    ("thread create", RegionRole::Other(32)),
    ("thread wait", RegionRole::Other(33)),
    ("allocate", RegionRole::Other(35)),
    ("deallocate", RegionRole::Other(36)),
    ("reallocate", RegionRole::Other(37)),
    ("file_io metadata", RegionRole::Other(38)),
    ("file io metadata", RegionRole::Other(38)),
];

const PARADIGMS: [(&str, Paradigm); 15] = [
    ("unknown", Paradigm::Unknown),
    ("user", Paradigm::User),
    ("compiler", Paradigm::Compiler),
    ("omp", Paradigm::OpenMp),
    ("openmp", Paradigm::OpenMp),
    ("mpi", Paradigm::Mpi),
    ("cuda", Paradigm::Cuda),
    ("measurement", Paradigm::Measurement),
    ("pthread", Paradigm::Pthread),
    ("shmem", Paradigm::Shmem),
    ("openacc", Paradigm::OpenAcc),
    ("opencl", Paradigm::OpenCl),
    ("sampling", Paradigm::Sampling),
    ("hip", Paradigm::Hip),
    ("kokkos", Paradigm::Kokkos),
];

fn value<T: Copy>(table: &[(&str, T)], name: &str) -> Option<T> {
    let found = table.iter().find(|(known, _)| *known == name);
    found.map(|(_, value)| *value)
}

fn word<T: Copy + PartialEq>(table: &[(&'static str, T)], of: T) -> &'static str {
    let found = table.iter().rev().find(|(_, value)| *value == of);
    found.map_or("unknown", |(name, _)| *name)
}

pub(super) fn role(name: &str) -> RegionRole {
    value(&ROLES, name).unwrap_or_default()
}

pub(super) fn of_role(role: RegionRole) -> &'static str {
    word(&ROLES, role)
}

pub(super) fn paradigm(name: &str) -> Paradigm {
    value(&PARADIGMS, name).unwrap_or_default()
}

pub(super) fn of_paradigm(paradigm: Paradigm) -> &'static str {
    word(&PARADIGMS, paradigm)
}

pub(super) fn group_kind(name: &str) -> GroupKind {
    match name {
        "process" => GroupKind::Process,
        "accelerator" => GroupKind::Accelerator,
        _ => GroupKind::Unknown,
    }
}

pub(super) fn of_group_kind(kind: GroupKind) -> &'static str {
    match kind {
        GroupKind::Process => "process",
        GroupKind::Accelerator => "accelerator",
        _ => "metrics",
    }
}

pub(super) fn location_kind(name: &str) -> LocationKind {
    match name {
        "thread" => LocationKind::CpuThread,
        "gpu" => LocationKind::AcceleratorStream,
        "metric" => LocationKind::Metric,
        _ => LocationKind::Unknown,
    }
}

pub(super) fn of_location_kind(kind: LocationKind) -> &'static str {
    match kind {
        LocationKind::AcceleratorStream => "gpu",
        LocationKind::Metric => "metric",
        // The format has no name for an unknown kind of location.
        _ => "thread",
    }
}
