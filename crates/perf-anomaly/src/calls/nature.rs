//! [`Nature`]: kind of a function for comparisons between ranks and steps, from the programming model
//! and role that a recording states, otherwise from the name.

use perf_core::{Paradigm, Region, RegionRole, fits};

/// Kind of a function for comparisons between ranks and steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Nature {
    /// Does work of its own.
    #[default]
    Computes,
    /// Waits for other ranks, threads or devices, or belongs to the measurement. It takes longer on fast
    /// ranks.
    Waits,
    /// Time in which a thread computes in unknown functions. Ranks can be compared in a step, but any two
    /// calls may do different work.
    UnknownFunctions,
}

/// Name of the state in which a thread computes, as Paraver's traces call it.
const RUNNING: &str = "Running";

/// Returns `true` for the state of a thread that computes.
pub(crate) fn is_running(region: &Region) -> bool {
    let is_state = (region.paradigm, region.role) == (Paradigm::User, RegionRole::Unknown);
    is_state && region.name == RUNNING
}

/// Returns the region for time in which a thread computes within a function.
pub(crate) fn within(function: &str) -> Region {
    Region {
        paradigm: Paradigm::User,
        role: RegionRole::Function,
        ..Region::named(format!("{RUNNING} in {function}"))
    }
}

/// Codes of OTF2 for roles of OpenMP and threads that wait: critical section, wait for tasks, wait for
/// threads.
const WAITING_ROLES: [u8; 3] = [12, 22, 33];

impl Nature {
    /// Returns the nature of a function of which only the name is known.
    pub(crate) fn of_name(name: &str) -> Self {
        Nature::of(&Region::named(name))
    }

    /// Returns the nature of a region. Of streams only the name is known.
    pub(crate) fn of(region: &Region) -> Self {
        use {Paradigm as P, RegionRole as R};
        if is_running(region) {
            return Nature::UnknownFunctions;
        }
        let waits = match (region.paradigm, region.role) {
            (_, R::Barrier | R::Collective | R::PointToPoint | R::Rma) => true,
            (_, R::Other(role)) if WAITING_ROLES.contains(&role) => true,
            (P::Mpi | P::Shmem | P::Pthread, _) => true,
            (P::Measurement, role) => role != R::FileIo,
            // Some tools record their wrappers of MPI and OpenMP as functions of the user.
            (P::User | P::Compiler, R::Function | R::Loop) => is_known(short(&region.name)),
            _ => is_waiting_name(short(&region.name)),
        };
        if waits {
            Nature::Waits
        } else {
            Nature::Computes
        }
    }
}

/// Patterns of the names of functions that wait, in lower case.
const WAITING: [&str; 77] = [
    // MPI in C, Fortran and C++, and its profiling interface.
    "mpi_*",
    "pmpi_*",
    "mpi::*",
    // One-sided and partitioned memory: SHMEM, GASPI, GASNet, UPC, ARMCI, Global Arrays, coarrays.
    "shmem*",
    "pshmem*",
    "gaspi_*",
    "pgaspi_*",
    "gasnet*",
    "upc_*wait*",
    "upc_*barrier*",
    "upc_*lock*",
    "armci_*",
    "ga_*sync*",
    "_gfortran_caf_sync*",
    "_gfortran_caf_lock*",
    // Constructs of OpenMP, and the runtimes of LLVM and Intel (kmp) and of GNU (gomp).
    "*omp*barrier*",
    "*openmp*barrier*",
    "*omp*taskwait*",
    "*openmp*taskwait*",
    "!$omp critical @*",
    "*kmp*barrier*",
    "*kmp*wait*",
    "*kmp*critical*",
    "*kmp*lock*",
    "*gomp*wait*",
    "*gomp*critical_start*",
    "*gomp*lock*",
    "omp_set_lock*",
    "omp_set_nest_lock*",
    // Threads and the operating system.
    "*pthread_*wait*",
    "*pthread_*lock*",
    "*pthread_join*",
    "*futex*",
    "*lll_lock*",
    "sem_*wait*",
    "poll",
    "ppoll",
    "epoll_*wait*",
    "select",
    "pselect*",
    "sleep",
    "usleep",
    "*nanosleep",
    "sched_yield",
    "wait4",
    "waitpid",
    // Devices, and collective operations of their libraries.
    "*synchronize*",
    "context sync*",
    "stream sync*",
    "event sync*",
    "stream wait*",
    "clfinish*",
    "clwaitforevents*",
    "acc_*wait*",
    "acc wait*",
    "nccl*",
    "rccl*",
    "c10d::*",
    "gloo:*",
    "record_param_comms*",
    // States of Paraver.
    "flush",
    "idle",
    "not created",
    "blocked",
    "waiting a message",
    "waiting links",
    "blocking send",
    "immediate send",
    "immediate receive",
    "send receive",
    "synchronization",
    "test/probe",
    "wait/waitall",
    "group communication",
    "scheduling and fork/join",
    "one-sided op",
    "tracing disabled",
];

/// Collective operations in names, without separators.
const COLLECTIVES: [&str; 6] = [
    "allreduce",
    "allgather",
    "reducescatter",
    "alltoall",
    "collectivepermute",
    "sendrecv",
];

/// Last words of the names of operations that wait for others, such as `forward-recv`.
const LAST_WORDS: [&str; 8] = [
    "send", "recv", "isend", "irecv", "barrier", "wait", "waitall", "join",
];

/// Longest name of a function that waits, in bytes. Longer names have types of templates.
const LONGEST: usize = 200;

/// Returns a name without types of arguments and without the source that TAU adds; empty if it is too long.
fn short(name: &str) -> &str {
    let end = name.find(['(', '[']).unwrap_or(name.len());
    let short = name.get(..end).unwrap_or_default().trim();
    if short.len() > LONGEST { "" } else { short }
}

/// Returns `true` if a name is that of a library function, construct or state that waits.
fn is_known(name: &str) -> bool {
    let name = name.to_lowercase();
    WAITING.iter().any(|pattern| fits(pattern, &name)) || waits_for_device(&name)
}

/// Returns `true` if a name of which nothing else is known is that of an operation that waits.
fn is_waiting_name(name: &str) -> bool {
    let letters: String = name.chars().filter(|it| it.is_alphanumeric()).collect();
    let letters = letters.to_lowercase();
    let last = name.rsplit(|it: char| !it.is_alphanumeric()).next();
    is_known(name)
        || COLLECTIVES.iter().any(|word| letters.contains(word))
        || last.is_some_and(|last| LAST_WORDS.contains(&&*last.to_lowercase()))
}

/// Returns `true` for copies and releases of memory of CUDA and HIP that wait for the device. Those in a
/// stream return at once.
fn waits_for_device(name: &str) -> bool {
    let runtimes = ["cuda", "hip", "cu"];
    let rest = runtimes.iter().find_map(|prefix| name.strip_prefix(prefix));
    rest.is_some_and(|rest| {
        let is_waiting = ["memcpy", "free", "memfree"].iter();
        let mut is_waiting = is_waiting.map(|kind| rest.starts_with(kind));
        is_waiting.any(|it| it) && !rest.contains("async") && !rest.contains("host")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_that_wait_are_known_by_their_names() {
        let waiting = [
            "MPI_Recv()",
            "PMPI_Wait",
            "mpi_barrier_",
            "MPI_WAITALL",
            "MPI::Comm::Recv",
            "shmem_barrier_all",
            "gaspi_notify_waitsome",
            "OpenMP implicit barrier",
            "!$omp implicit barrier @a.c:9",
            "OpenMP_Sync_Region_Barrier_Implicit parallel [{a.c} {9,1}]",
            "__kmp_join_barrier(int)",
            "kmp_flag_64<false, true>::wait",
            "GOMP_taskwait",
            "gomp_team_barrier_wait_end",
            "pthread_cond_timedwait",
            "__lll_lock_wait",
            "sem_timedwait",
            "poll",
            "cudaStreamSynchronize_v3020",
            "cuMemcpyDtoH_v2",
            "hipDeviceSynchronize",
            "cudaFree_v3020",
            "Event Sync",
            "ncclDevKernel_AllReduce_Sum_f32",
            "all-reduce-start.7",
            "grads-reduce-scatter",
            "embedding-grads-all-reduce",
            "backward-recv",
            "Synchronization",
        ];
        for name in waiting {
            assert_eq!(Nature::of_name(name), Nature::Waits, "{name}");
        }
        let working = [
            "solve",
            "!$omp for @a.c:9",
            "mpirun",
            "ompute",
            "cudaMemcpyAsync_v3020",
            "cudaLaunchKernel",
            "cudaFreeHost",
            "void LAMMPS_NS::Pair::compute(int) [{pair.cpp} {1,1}]",
            "forward-compute",
            "aten::select",
            "pollution",
        ];
        for name in working {
            assert_eq!(Nature::of_name(name), Nature::Computes, "{name}");
        }
    }

    /// The role and programming model of a recording count before the name.
    #[test]
    fn roles_and_paradigms_count_before_names() {
        let of = |name: &str, paradigm, role| {
            let region = Region {
                paradigm,
                role,
                ..Region::named(name)
            };
            Nature::of(&region)
        };
        use {Paradigm as P, RegionRole as R};
        assert_eq!(of("exchange", P::Unknown, R::PointToPoint), Nature::Waits);
        assert_eq!(of("exchange", P::Mpi, R::Unknown), Nature::Waits);
        assert_eq!(of("region 7", P::OpenMp, R::Other(22)), Nature::Waits);
        assert_eq!(
            of("allreduce_forces", P::Compiler, R::Function),
            Nature::Computes
        );
        for wrapper in ["MPI_Send", "OpenMP implicit barrier"] {
            assert_eq!(of(wrapper, P::User, R::Function), Nature::Waits);
        }
        assert_eq!(of("I/O", P::Measurement, R::FileIo), Nature::Computes);
        assert_eq!(Nature::of(&within("solve")), Nature::Computes);
        let state = of("Running", P::User, R::Unknown);
        assert_eq!(state, Nature::UnknownFunctions);
    }
}
