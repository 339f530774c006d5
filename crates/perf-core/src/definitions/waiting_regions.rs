//! [`Region::waits`]: functions that wait for others, from the programming model and role that a recording
//! states, otherwise from the name.

use super::glob::fits;
use super::regions::{Paradigm, Region, RegionRole};

/// Codes of OTF2 for roles of OpenMP and threads that wait: critical section, wait for tasks, wait for
/// threads.
const WAITING_ROLES: [u8; 3] = [12, 22, 33];

impl Region {
    /// Returns `true` if the region waits for other ranks, threads or devices, communicates, or belongs to
    /// the measurement: it takes longer where other work takes less time. Unless the recording states a
    /// programming model or role that decides, the name does.
    ///
    /// ```
    /// use perf_core::{Region, RegionRole};
    /// assert!(Region::named("pmpi_barrier_").waits() && !Region::named("solve").waits());
    /// let exchange = Region { role: RegionRole::PointToPoint, ..Region::named("exchange") };
    /// assert!(exchange.waits());
    /// ```
    pub fn waits(&self) -> bool {
        use {Paradigm as P, RegionRole as R};
        match (self.paradigm, self.role) {
            (_, R::Barrier | R::Collective | R::PointToPoint | R::Rma) => true,
            (_, R::Other(role)) if WAITING_ROLES.contains(&role) => true,
            (P::Mpi | P::Shmem | P::Pthread, _) => true,
            (P::Measurement, role) => role != R::FileIo,
            // Some tools record their wrappers of MPI and OpenMP as functions of the user.
            (P::User | P::Compiler, R::Function | R::Loop) => is_known(short(&self.name)),
            _ => is_waiting_name(short(&self.name)),
        }
    }
}

/// Patterns of the names of functions that wait, in lower case.
const WAITING: [&str; 58] = [
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
    "std::*mutex*::*lock*",
    "std::*_lock<*",
    "std::lock_guard<*",
    "std::condition_variable*::wait*",
    "std::*thread::join",
    "std::*future*::wait*",
    "wait4",
    "waitpid",
    // Devices, and collective operations of their libraries.
    "cu*synchronize*",
    "hip*synchronize*",
    "ze*synchronize*",
    "*.synchronize",
    "*::synchronize",
    "*_synchronize",
    "synchronize",
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
];

/// Words for OpenMP and its runtimes: those of GNU (gomp), and of LLVM and Intel (kmp).
const OPENMP: [&str; 6] = ["omp", "openmp", "gomp", "kmp", "kmpc", "ompt"];

/// Words for that which waits in OpenMP and its runtimes.
const WAITING_IN_OPENMP: [&str; 5] = ["barrier", "taskwait", "wait", "acquire", "idle"];

/// Names of the states in which a thread waits, as Paraver's traces call them, in lower case.
const WAITING_STATES: [&str; 17] = [
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
    WAITING.iter().any(|pattern| fits(pattern, &name))
        || waits_for_device(&name)
        || is_of_openmp(&name)
}

/// Returns `true` for constructs of OpenMP that wait, such as `!$omp implicit barrier @a.c:9`, and for such
/// functions of its runtimes, such as `__kmp_join_barrier`. Critical sections wait where they begin; the code in them
/// (`sblock`) does not.
fn is_of_openmp(name: &str) -> bool {
    let mut words = name.split(|it: char| !it.is_alphanumeric());
    let is_openmp = words.any(|word| OPENMP.contains(&word));
    let words: Vec<_> = words.collect();
    let has = |word: &str| words.contains(&word);
    is_openmp
        && (WAITING_IN_OPENMP.iter().any(|word| has(word))
            || has("critical") && !has("end") && !has("sblock")
            || has("lock") && (has("set") || has("mutex")))
}

/// Returns `true` if a name of which nothing else is known is that of an operation that waits.
fn is_waiting_name(name: &str) -> bool {
    let letters: String = name.chars().filter(|it| it.is_alphanumeric()).collect();
    let letters = letters.to_lowercase();
    let last = name.rsplit(|it: char| !it.is_alphanumeric()).next();
    is_known(name)
        || WAITING_STATES.contains(&&*name.to_lowercase())
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
            "mpi_wait_",
            "pmpi_barrier_",
            "ncclAllReduce",
            "#pragma omp barrier",
            "GOMP_barrier",
            "kmp_barrier",
            "gaspi_wait",
            "pthread_cond_wait",
            "sleep",
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
            "!$omp critical @a.c:9",
            "!$omp wait_critical",
            "GOMP_critical_name_start",
            "__kmp_acquire_ticket_lock",
            "gomp_mutex_lock_slow",
            "omp_set_nest_lock",
            "zeEventHostSynchronize",
            "torch.cuda.synchronize",
            "std::mutex::lock()",
            "std::unique_lock<std::mutex>::lock()",
            "std::condition_variable::wait(std::unique_lock<std::mutex>&)",
            "std::thread::join()",
        ];
        for name in waiting {
            assert!(Region::named(name).waits(), "{name}");
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
            "computeBarrierHeight",
            "compute_barrier_height",
            "resynchronizeTables",
            "!$omp critical sblock @a.c:9",
            "GOMP_critical_end",
            "omp_unset_lock",
            "omp_init_lock",
            "std::clock",
        ];
        for name in working {
            assert!(!Region::named(name).waits(), "{name}");
        }
        // A function of the program is no state.
        let idle = Region {
            paradigm: Paradigm::User,
            role: RegionRole::Function,
            ..Region::named("Idle")
        };
        assert!(!idle.waits() && Region::named("Idle").waits());
    }
}
