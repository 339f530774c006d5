//! [`Nature`]: kind of a function for comparisons between ranks and steps, from the programming model
//! and role that a recording states, otherwise from the name; [`Communication`]: share of its calls that
//! communicate.

use super::Batch;
use crate::FunctionId;
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
    /// Function of MPI that returns without waiting for other ranks, or accesses files. Its ranks are not compared, because
    /// it does not compute.
    Local,
    /// Time in which a thread computes in unknown functions. Ranks can be compared in a step, but any two
    /// calls may do different work.
    UnknownFunctions,
}

/// Patterns of names of functions of MPI that do not wait for other ranks, in lower case.
const LOCAL: [&str; 21] = [
    "mpi_file_*",
    "mpi_isend*",
    "mpi_ibsend*",
    "mpi_issend*",
    "mpi_irsend*",
    "mpi_irecv*",
    "mpi_iprobe*",
    "mpi_bsend*",
    "mpi_pack*",
    "mpi_unpack*",
    "mpi_type_*",
    "mpi_wtime*",
    "mpi_wtick*",
    "mpi_comm_rank*",
    "mpi_comm_size*",
    "mpi_get_count*",
    "mpi_alloc_mem*",
    "mpi_free_mem*",
    "mpi_reduce_local*",
    "mpi_*_init*",
    "mpi_initialized*",
];

/// Returns `true` for the name of a function of MPI that does not wait for other ranks.
fn is_local(name: &str) -> bool {
    let name = name.to_lowercase();
    let name = name.strip_prefix('p').unwrap_or(&name);
    LOCAL.iter().any(|pattern| fits(pattern, name))
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

impl Nature {
    /// Returns the nature of a function of which only the name is known.
    pub(crate) fn of_name(name: &str) -> Self {
        Nature::of(&Region::named(name))
    }

    /// Returns the nature of a region. Of streams only the name is known.
    pub(crate) fn of(region: &Region) -> Self {
        if is_running(region) {
            return Nature::UnknownFunctions;
        }
        if region.waits() && is_local(&region.name) {
            Nature::Local
        } else if region.waits() {
            Nature::Waits
        } else {
            Nature::Computes
        }
    }
}

/// Number of calls of each function, and of those that send or receive messages themselves.
#[derive(Clone, Debug, Default)]
pub(super) struct Communication(Vec<(u64, u64)>);

impl Communication {
    /// Adds the calls of a batch.
    pub(super) fn add(&mut self, batch: &Batch) {
        for (sample, call) in batch.samples().iter().zip(batch.calls()) {
            let at = sample.function.0 as usize;
            if self.0.len() <= at {
                self.0.resize(at + 1, (0, 0));
            }
            self.0[at].0 += 1;
            self.0[at].1 += u64::from(call.messages > 0);
        }
    }

    /// Returns `true` if at least half of the calls of a function send or receive messages.
    pub(super) fn is_most_of(&self, function: FunctionId) -> bool {
        let known = self.0.get(function.0 as usize).copied();
        let (calls, communicating) = known.unwrap_or_default();
        2 * communicating >= calls.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(of("MPI_File_write_at", P::Mpi, R::FileIo), Nature::Local);
        assert_eq!(Nature::of_name("pmpi_irecv_"), Nature::Local);
        assert_eq!(Nature::of_name("MPI_Test"), Nature::Waits);
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
