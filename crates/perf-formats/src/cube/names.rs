//! The words of the format for roles, paradigms and kinds, and the properties that keep what has
//! no noun.

use perf_core::{GroupKind, LocationKind, Paradigm, RegionRole};

/// Names of the [properties](perf_core::ProfileMetric::properties) that keep what the format says
/// and no noun of [`perf_core`] does. The writer reads them; attributes of the file have names
/// without `cube.`.
pub mod property {
    /// Of a metric: its data type, such as `UINT32`. Values that fit are written as that.
    pub const DATA_TYPE: &str = "cube.dtype";
    /// Of a metric: its type, where that is neither `INCLUSIVE` nor `EXCLUSIVE`.
    pub const METRIC_TYPE: &str = "cube.type";
    /// Of a metric: its name for people, where it differs.
    pub const DISPLAY_NAME: &str = "cube.disp_name";
    /// Of a metric: where it is described.
    pub const URL: &str = "cube.url";
    /// Of a metric: `GHOST` for one that is not shown.
    pub const VISIBILITY: &str = "cube.viztype";
    /// Of a metric: the CubePL expression of a derived one.
    pub const EXPRESSION: &str = "cube.cubepl";
    /// Of a metric: the CubePL expression that is run once before.
    pub const INIT: &str = "cube.cubeplinit";
    /// Of a metric: `plus`, `minus` or `aggr`, a colon, and the CubePL expression that aggregates.
    pub const AGGREGATION: &str = "cube.cubeplaggr";
    /// Of a call path: `numeric` or `string`, a colon, and the name of a parameter.
    pub const PARAMETER: &str = "cube.parameter";
    /// Of a call path: the line it was called from.
    pub const LINE: &str = "cube.line";
    /// Of a call path: the file it was called from.
    pub const FILE: &str = "cube.mod";
    /// Of a process or location: its rank.
    pub const RANK: &str = "rank";
    /// Attribute of a metric that names the metric of the same quantity in the other scope.
    pub const COUNTERPART: &str = "perfkit.counterpart";
    /// Of a system node: what describes it. Of a profile, followed by a colon and a number: what
    /// describes that region.
    pub const DESCRIPTION: &str = "cube.descr";
    /// Of a metric: what values it has, such as `VOID` for none.
    pub const VALUES: &str = "cube.val";
    /// Of a metric: `false` if the reference library is not to keep rows in memory.
    pub const CACHEABLE: &str = "cube.cacheable";
    /// Of a metric: `false` if it may not be used in remapping.
    pub const CONVERTIBLE: &str = "cube.convertible";
    /// Of a metric: `rowwise` or `locationwise` behind a colon, how its expression is evaluated.
    pub const EVALUATION: &str = "cube.evaluation";
    /// Of a profile, once for each: a folder on the web that texts of the file refer to as `@mirror@`.
    pub const MIRROR: &str = "cube.murl";
    /// Of a profile: `metrics`, `program` or `system` behind a colon, a title of that tree.
    pub const TITLE: &str = "cube.title";
    /// Of a profile, once for each: the name of a member of the archive that is neither the document
    /// nor rows, see [`Cube::member`](crate::cube::Cube::member).
    pub const MEMBER: &str = "cube.member";
    /// Of a profile: the number of a region behind a colon, where that is described.
    pub const REGION_URL: &str = "cube.region_url";

    /// Whether a property of a profile is none of the attributes of the file.
    pub(in crate::cube) fn is_own(name: &str) -> bool {
        let kind = name.split_once(':').map_or(name, |(kind, _)| kind);
        [MIRROR, TITLE, MEMBER, REGION_URL, DESCRIPTION].contains(&kind)
    }
}

/// By their numbers in OTF2, which the format shares the list with. Where several are one role
/// here, the last is written.
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
        // The format has no word for a location of which nothing is known.
        _ => "thread",
    }
}
