//! Standard numbers and names of event types, states, MPI calls and counters, the same in every
//! trace, with conversions between them and look-up of roles; also parsing of labels.

use perf_core::{CollectiveOp, Paradigm, RegionRole};

/// Type of the active hardware counter set.
pub(super) const COUNTER_SET: u32 = 41_999_999;
/// Types of MPI calls: point-to-point, collective, other, one-sided, I/O.
pub(super) const CALLS: std::ops::RangeInclusive<u32> = 50_000_001..=50_000_005;
/// Type of collective calls.
pub(super) const COLLECTIVE: u32 = 50_000_002;
/// Types for the properties of a collective call: bytes sent, bytes received, root, communicator.
pub(super) const COLLECTIVE_FACTS: std::ops::RangeInclusive<u32> = 50_100_001..=50_100_004;
/// Base type of the function at level n, from 1, of the call path of an MPI call.
pub(super) const CALLER: u32 = 70_000_000;
/// Base type of the line at level n, from 1, of the call path of an MPI call.
pub(super) const CALLER_LINE: u32 = 80_000_000;
/// Deepest level of callers.
pub(super) const LEVELS: u32 = 99;
/// Base type of the function at depth n, from 0, of a sampled call path.
pub(super) const SAMPLED: u32 = 30_000_000;
/// Base type of the line at depth n, from 0, of a sampled call path.
pub(super) const SAMPLED_LINE: u32 = 30_000_100;
/// Type of outlined OpenMP functions.
pub(super) const OUTLINED: u32 = 60_000_018;
/// Type of user functions.
pub(super) const FUNCTION: u32 = 60_000_019;
/// Type of task functions.
pub(super) const TASK: u32 = 60_000_023;
/// Offset from the type of a function to that of its line.
pub(super) const TO_LINE: u32 = 100;
/// Type for the flush of the measurement buffer.
pub(super) const FLUSH: u32 = 40_000_003;
/// Type for switching the measurement on and off.
pub(super) const TRACING: u32 = 40_000_012;
/// Type for the cluster of a burst.
pub(super) const CLUSTER: u32 = 90_000_001;

/// State 1, Running.
pub(super) const RUNNING: u32 = 1;

/// Names of the standard states.
pub(super) const STATES: [&str; 32] = [
    "Idle",
    "Running",
    "Not created",
    "Waiting a message",
    "Blocking Send",
    "Synchronization",
    "Test/Probe",
    "Scheduling and Fork/Join",
    "Wait/WaitAll",
    "Blocked",
    "Immediate Send",
    "Immediate Receive",
    "I/O",
    "Group Communication",
    "Tracing Disabled",
    "Others",
    "Send Receive",
    "Memory transfer",
    "Profiling",
    "On-line analysis",
    "Remote memory access",
    "Atomic memory operation",
    "Memory ordering operation",
    "Distributed locking",
    "Overhead",
    "One-sided op",
    "Startup latency",
    "Waiting links",
    "Data copy",
    "RTT",
    "Allocating memory",
    "Freeing memory",
];

/// Standard colours of these states: red, green, blue.
pub(super) const COLOURS: [[u8; 3]; 32] = [
    [117, 195, 255],
    [0, 0, 255],
    [255, 255, 255],
    [255, 0, 0],
    [255, 0, 174],
    [179, 0, 0],
    [0, 255, 0],
    [255, 255, 0],
    [235, 0, 0],
    [0, 162, 0],
    [255, 0, 255],
    [100, 100, 177],
    [172, 174, 41],
    [255, 144, 26],
    [2, 255, 177],
    [192, 224, 0],
    [66, 66, 66],
    [255, 0, 96],
    [169, 169, 169],
    [169, 0, 0],
    [0, 109, 255],
    [200, 61, 68],
    [200, 66, 0],
    [0, 41, 0],
    [139, 121, 177],
    [116, 116, 116],
    [200, 50, 89],
    [255, 171, 98],
    [0, 68, 189],
    [52, 43, 0],
    [255, 46, 0],
    [100, 216, 32],
];

/// Returns paradigm and role of the region for a state. Communication states count as MPI because they become regions
/// only if the trace has no corresponding MPI calls, as in traces of simulators.
pub(super) fn nature(state: u32) -> (Paradigm, RegionRole) {
    match state {
        1 => (Paradigm::User, RegionRole::Unknown),
        3 | 4 | 6 | 8 | 10 | 11 | 16 => (Paradigm::Mpi, RegionRole::PointToPoint),
        13 => (Paradigm::Mpi, RegionRole::Collective),
        25 => (Paradigm::Mpi, RegionRole::Rma),
        5 => (Paradigm::Unknown, RegionRole::Barrier),
        7 => (Paradigm::OpenMp, RegionRole::Unknown),
        12 => (Paradigm::Measurement, RegionRole::FileIo),
        14 | 18 | 19 => (Paradigm::Measurement, RegionRole::Unknown),
        17 | 28 => (Paradigm::Unknown, RegionRole::DataTransfer),
        _ => (Paradigm::Unknown, RegionRole::Unknown),
    }
}

/// Kind of an MPI call: the type of its events minus 50,000,000.
const P2P: u8 = 1;
const COLL: u8 = 2;
const OTHER: u8 = 3;
const RMA: u8 = 4;

/// MPI calls by their value, from 1: name without `MPI_`, and kind. Values are unique across kinds.
const MPI: [(&str, u8); 83] = [
    ("Send", P2P),
    ("Recv", P2P),
    ("Isend", P2P),
    ("Irecv", P2P),
    ("Wait", P2P),
    ("Waitall", P2P),
    ("Bcast", COLL),
    ("Barrier", COLL),
    ("Reduce", COLL),
    ("Allreduce", COLL),
    ("Alltoall", COLL),
    ("Alltoallv", COLL),
    ("Gather", COLL),
    ("Gatherv", COLL),
    ("Scatter", COLL),
    ("Scatterv", COLL),
    ("Allgather", COLL),
    ("Allgatherv", COLL),
    ("Comm_rank", OTHER),
    ("Comm_size", OTHER),
    ("Comm_create", OTHER),
    ("Comm_dup", OTHER),
    ("Comm_split", OTHER),
    ("Comm_group", OTHER),
    ("Comm_free", OTHER),
    ("Comm_remote_group", OTHER),
    ("Comm_remote_size", OTHER),
    ("Comm_test_inter", OTHER),
    ("Comm_compare", OTHER),
    ("Scan", COLL),
    ("Init", OTHER),
    ("Finalize", OTHER),
    ("Bsend", P2P),
    ("Ssend", P2P),
    ("Rsend", P2P),
    ("Ibsend", P2P),
    ("Issend", P2P),
    ("Irsend", P2P),
    ("Test", OTHER),
    ("Cancel", P2P),
    ("Sendrecv", P2P),
    ("Sendrecv_replace", P2P),
    ("Cart_create", OTHER),
    ("Cart_shift", OTHER),
    ("Cart_coords", OTHER),
    ("Cart_get", OTHER),
    ("Cart_map", OTHER),
    ("Cart_rank", OTHER),
    ("Cart_sub", OTHER),
    ("Cartdim_get", OTHER),
    ("Dims_create", OTHER),
    ("Graph_get", OTHER),
    ("Graph_map", OTHER),
    ("Graph_create", OTHER),
    ("Graph_neighbors", OTHER),
    ("Graphdims_get", OTHER),
    ("Graph_neighbors_count", OTHER),
    ("Topo_test", OTHER),
    ("Waitany", P2P),
    ("Waitsome", P2P),
    ("Probe", P2P),
    ("Iprobe", P2P),
    ("Win_create", RMA),
    ("Win_free", RMA),
    ("Put", RMA),
    ("Get", RMA),
    ("Accumulate", RMA),
    ("Win_fence", RMA),
    ("Win_start", RMA),
    ("Win_complete", RMA),
    ("Win_post", RMA),
    ("Win_wait", RMA),
    ("Win_test", RMA),
    ("Win_lock", RMA),
    ("Win_unlock", RMA),
    ("Pack", OTHER),
    ("Unpack", OTHER),
    ("Op_create", OTHER),
    ("Op_free", OTHER),
    ("Reduce_scatter", COLL),
    ("Attr_delete", OTHER),
    ("Attr_get", OTHER),
    ("Attr_put", OTHER),
];

/// Returns the name of an MPI call for its value.
pub(super) fn mpi_name(value: u64) -> Option<String> {
    let index = usize::try_from(value.checked_sub(1)?).ok()?;
    MPI.get(index).map(|(name, _)| format!("MPI_{name}"))
}

/// Returns type and value for the events of an MPI call. A call without a standard number has no value, and its type is
/// derived from its name and role.
pub(super) fn mpi_call(name: &str, role: RegionRole) -> (u32, Option<u64>) {
    let short = name.strip_prefix("MPI_").unwrap_or(name);
    let at = MPI.iter().position(|(known, _)| *known == short);
    if let Some((index, (_, kind))) = at.and_then(|at| Some((at, MPI.get(at)?))) {
        return (50_000_000 + u32::from(*kind), Some(index as u64 + 1));
    }
    let kind = match role {
        _ if short.starts_with("File_") => 5,
        RegionRole::FileIo => 5,
        _ if short.starts_with("Win_") => u32::from(RMA),
        RegionRole::Rma => u32::from(RMA),
        RegionRole::Collective | RegionRole::Barrier => u32::from(COLL),
        RegionRole::PointToPoint => u32::from(P2P),
        _ => u32::from(OTHER),
    };
    (50_000_000 + kind, None)
}

/// Returns the state of a thread during an MPI call, as Extrae assigns it.
pub(super) fn mpi_state(name: &str, kind: u32) -> u32 {
    match name.strip_prefix("MPI_").unwrap_or(name) {
        "Send" | "Bsend" | "Ssend" | "Rsend" => 4,
        "Recv" => 3,
        "Isend" | "Ibsend" | "Issend" | "Irsend" => 10,
        "Irecv" => 11,
        "Wait" | "Waitall" | "Waitany" | "Waitsome" => 8,
        "Test" | "Testall" | "Testany" | "Testsome" | "Probe" | "Iprobe" => 6,
        "Sendrecv" | "Sendrecv_replace" => 16,
        "Barrier" => 5,
        _ if kind == COLLECTIVE => 13,
        _ if kind == 50_000_005 => 12,
        _ if kind == 50_000_004 => 25,
        _ => 15,
    }
}

/// Returns the operation of a blocking collective call by its name; `None` for other calls.
pub(super) fn collective(name: &str) -> Option<CollectiveOp> {
    Some(match name.strip_prefix("MPI_")? {
        "Barrier" => CollectiveOp::Barrier,
        "Bcast" => CollectiveOp::Bcast,
        "Gather" => CollectiveOp::Gather,
        "Gatherv" => CollectiveOp::Gatherv,
        "Scatter" => CollectiveOp::Scatter,
        "Scatterv" => CollectiveOp::Scatterv,
        "Allgather" => CollectiveOp::Allgather,
        "Allgatherv" => CollectiveOp::Allgatherv,
        "Alltoall" => CollectiveOp::Alltoall,
        "Alltoallv" => CollectiveOp::Alltoallv,
        "Alltoallw" => CollectiveOp::Alltoallw,
        "Allreduce" => CollectiveOp::Allreduce,
        "Reduce" => CollectiveOp::Reduce,
        "Reduce_scatter" => CollectiveOp::ReduceScatter,
        "Scan" => CollectiveOp::Scan,
        "Exscan" => CollectiveOp::Exscan,
        _ => return None,
    })
}

/// Returns `true` if the operation has a root.
pub(super) fn is_rooted(op: CollectiveOp) -> bool {
    matches!(
        op,
        CollectiveOp::Bcast
            | CollectiveOp::Gather
            | CollectiveOp::Gatherv
            | CollectiveOp::Scatter
            | CollectiveOp::Scatterv
            | CollectiveOp::Reduce
    )
}

/// Returns the role of the region of an MPI call, by the type of its events.
pub(super) fn role_of(kind: u32, name: &str) -> RegionRole {
    match kind {
        _ if name == "MPI_Barrier" => RegionRole::Barrier,
        50_000_001 => RegionRole::PointToPoint,
        COLLECTIVE => RegionRole::Collective,
        50_000_004 => RegionRole::Rma,
        50_000_005 => RegionRole::FileIo,
        _ => RegionRole::Function,
    }
}

/// PAPI counters by the low 16 bits of their code. The type of a counter is this number plus [`FIRST_PAPI`].
const PAPI: [(u32, &str); 20] = [
    (0, "PAPI_L1_DCM"),
    (1, "PAPI_L1_ICM"),
    (2, "PAPI_L2_DCM"),
    (3, "PAPI_L2_ICM"),
    (4, "PAPI_L3_DCM"),
    (5, "PAPI_L3_ICM"),
    (6, "PAPI_L1_TCM"),
    (7, "PAPI_L2_TCM"),
    (8, "PAPI_L3_TCM"),
    (20, "PAPI_TLB_DM"),
    (43, "PAPI_BR_CN"),
    (46, "PAPI_BR_MSP"),
    (50, "PAPI_TOT_INS"),
    (52, "PAPI_FP_INS"),
    (53, "PAPI_LD_INS"),
    (54, "PAPI_SR_INS"),
    (55, "PAPI_BR_INS"),
    (59, "PAPI_TOT_CYC"),
    (60, "PAPI_LST_INS"),
    (107, "PAPI_REF_CYC"),
];

const FIRST_PAPI: u32 = 42_000_000;

/// Returns `true` if the number of a type is in a range of hardware counters: PAPI presets, native
/// or uncore counters.
pub(super) fn is_counter(kind: u32) -> bool {
    matches!(kind, 42_000_000..=42_999_999 | 44_000_000..=44_999_999 | 46_000_000..=46_999_999)
}

/// Returns the name of a counter for its type.
pub(super) fn papi_name(kind: u32) -> Option<&'static str> {
    let low = kind.checked_sub(FIRST_PAPI)?;
    let found = PAPI.iter().find(|(number, _)| *number == low);
    found.map(|(_, name)| *name)
}

/// Returns the type of a counter for its name.
pub(super) fn papi_type(name: &str) -> Option<u32> {
    let found = PAPI.iter().find(|(_, known)| *known == name);
    found.map(|(number, _)| FIRST_PAPI + number)
}

/// Splits the label of a counter into name and description: `PAPI_TOT_INS [Instr completed]`, with
/// parentheses around the brackets, or in the form of old tools, `(PAPI_TOT_INS) Instr completed`.
pub(super) fn split_label(label: &str) -> (&str, &str) {
    let old = label
        .strip_prefix('(')
        .and_then(|rest| rest.split_once(')'));
    if let Some((name, rest)) = old.filter(|(name, _)| !name.is_empty() && !name.contains(' ')) {
        return (name, rest.trim());
    }
    match label.split_once([' ', '\t']) {
        Some((name, rest)) => {
            let rest = rest.trim().trim_start_matches(['(', '[']);
            (name, rest.trim_end_matches([')', ']']))
        }
        None => (label, ""),
    }
}

/// Returns the full text of a label. Extrae abbreviates long labels by two dots in the middle and
/// adds the full text in brackets: `__mpi_ro..init [__mpi_MOD_init]`. Brackets after an unabridged
/// text are kept, such as addresses of functions or template arguments.
pub(super) fn full_label(label: &str) -> &str {
    let is_full = |(short, full): &(&str, &str)| {
        // Three dots are the variadic arguments of a C function, not an abbreviation.
        short == full || (short.contains("..") && !short.contains("..."))
    };
    let pair = label
        .strip_suffix(']')
        .and_then(|rest| rest.split_once(" ["));
    pair.filter(is_full).map_or(label, |(_, full)| full)
}

/// Parses line and file of a label such as `85 (deck.F90, epoch2d)`. Unknown parts are `None`.
pub(super) fn line_and_file(label: &str) -> (Option<u32>, Option<&str>) {
    let Some((line, rest)) = full_label(label).split_once(" (") else {
        return (None, None);
    };
    let inner = rest.strip_suffix(')').unwrap_or(rest);
    let file = inner.split(", ").next().unwrap_or_default();
    let is_file = !matches!(file, "" | "." | "Unresolved" | "_NOT_Found");
    let line = line.parse().ok().filter(|line| *line > 0);
    (line, is_file.then_some(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_have_the_numbers_that_traces_have() {
        // As in the .pcf files of real traces.
        for (name, kind, value) in [
            ("MPI_Isend", 50_000_001, 3),
            ("MPI_Waitall", 50_000_001, 6),
            ("MPI_Sendrecv", 50_000_001, 41),
            ("MPI_Bcast", 50_000_002, 7),
            ("MPI_Allreduce", 50_000_002, 10),
            ("MPI_Comm_rank", 50_000_003, 19),
            ("MPI_Comm_free", 50_000_003, 25),
            ("MPI_Init", 50_000_003, 31),
            ("MPI_Cart_create", 50_000_003, 43),
        ] {
            assert_eq!(mpi_call(name, RegionRole::Unknown), (kind, Some(value)));
            assert_eq!(mpi_name(value).as_deref(), Some(name));
        }
        assert_eq!(mpi_name(0), None);
        let file = mpi_call("MPI_File_open", RegionRole::Function);
        assert_eq!(file, (50_000_005, None));
    }

    #[test]
    fn labels_are_taken_apart() {
        assert_eq!(
            split_label("PAPI_TOT_INS ([Instr completed])"),
            ("PAPI_TOT_INS", "Instr completed")
        );
        assert_eq!(
            split_label("(PAPI_TOT_INS) Instr completed"),
            ("PAPI_TOT_INS", "Instr completed")
        );
        assert_eq!(split_label("(odd) "), ("odd", ""));
        assert_eq!(split_label("PAPI_TOT_INS"), ("PAPI_TOT_INS", ""));
        for (label, full) in [
            ("__mpi_ro..init [__mpi_MOD_init]", "__mpi_MOD_init"),
            (
                "mandelbr..omp_fn.0 [mandelbrot._omp_fn.0]",
                "mandelbrot._omp_fn.0",
            ),
            ("main [main]", "main"),
            ("main", "main"),
            (
                "field [0x007f05a0-0x007f060f]",
                "field [0x007f05a0-0x007f060f]",
            ),
            ("f(T) [with T = int]", "f(T) [with T = int]"),
        ] {
            assert_eq!(full_label(label), full);
        }
        assert_eq!(
            line_and_file("85 (deck.F90, epoch2d)"),
            (Some(85), Some("deck.F90"))
        );
        // A long file name: the full text, including the line, is in brackets.
        assert_eq!(
            line_and_file("77 (redblack..dule.f90) [77 (redblack_module.f90, epoch2d)]"),
            (Some(77), Some("redblack_module.f90"))
        );
        assert_eq!(line_and_file("0 (Unresolved)"), (None, None));
        assert_eq!(line_and_file("0 (., libc-2.28.so)"), (None, None));
    }
}
