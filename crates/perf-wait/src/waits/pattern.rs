//! [`Pattern`]: the kinds of wait states; [`Flow`]: the data flow of collective operations.

use perf_core::CollectiveOp;

/// Kind of a wait state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Pattern {
    /// A receive waits for a send that begins later.
    LateSender,
    /// A late sender although a message that was sent earlier is received later. Part of [`Pattern::LateSender`].
    WrongOrder,
    /// A send waits for a receive that is posted later.
    LateReceiver,
    /// Members of a barrier wait for the last one.
    BarrierWait,
    /// Members of a barrier leave it later than the first one. Not waiting time.
    BarrierCompletion,
    /// Members of an operation from all to all wait for the last one.
    NxNWait,
    /// Members of an operation from all to all leave it later than the first one. Not waiting time.
    NxNCompletion,
    /// Members of an operation from one to all wait for the root.
    LateBroadcast,
    /// The root of an operation from all to one waits for the last sender.
    EarlyReduce,
    /// Members of a prefix operation wait for those of lower rank.
    EarlyScan,
    /// Processes leave `MPI_Init` later than the first one. Not waiting time.
    InitCompletion,
    /// Processes wait in `MPI_Finalize` for the last one.
    FinalizeWait,
    /// Ranks wait at a fence of a window for the last one.
    FenceWait,
    /// Accesses to a window wait until it is posted.
    LatePost,
    /// A rank waits for accesses to its window that complete later.
    EarlyWait,
    /// A rank completes its accesses to a window long after the last one. Part of [`Pattern::EarlyWait`].
    LateComplete,
    /// A rank waits for a lock of a window that another one holds.
    WindowLock,
    /// Threads of a team wait in a barrier for the last one.
    TeamBarrierWait,
    /// Threads wait for the next parallel region.
    IdleThread,
    /// A thread waits for a lock that another one holds.
    LockContention,
    /// A host waits for work of an accelerator.
    HostWait,
    /// An accelerator without work waits for the next launch.
    DeviceIdle,
    /// Work of a stream waits for a collective operation on another one, or the other way round.
    StreamWait,
    /// Work waits for earlier work of its stream after its launch. Not waiting time.
    Queueing,
}

impl Pattern {
    /// All kinds.
    pub const ALL: [Pattern; 24] = [
        Pattern::LateSender,
        Pattern::WrongOrder,
        Pattern::LateReceiver,
        Pattern::BarrierWait,
        Pattern::BarrierCompletion,
        Pattern::NxNWait,
        Pattern::NxNCompletion,
        Pattern::LateBroadcast,
        Pattern::EarlyReduce,
        Pattern::EarlyScan,
        Pattern::InitCompletion,
        Pattern::FinalizeWait,
        Pattern::FenceWait,
        Pattern::LatePost,
        Pattern::EarlyWait,
        Pattern::LateComplete,
        Pattern::WindowLock,
        Pattern::TeamBarrierWait,
        Pattern::IdleThread,
        Pattern::LockContention,
        Pattern::HostWait,
        Pattern::DeviceIdle,
        Pattern::StreamWait,
        Pattern::Queueing,
    ];

    /// Returns the name, which is that of the metric in profiles.
    pub fn name(self) -> &'static str {
        match self {
            Pattern::LateSender => "late sender",
            Pattern::WrongOrder => "late sender, wrong order",
            Pattern::LateReceiver => "late receiver",
            Pattern::BarrierWait => "wait at barrier",
            Pattern::BarrierCompletion => "barrier completion",
            Pattern::NxNWait => "wait at N-to-N",
            Pattern::NxNCompletion => "N-to-N completion",
            Pattern::LateBroadcast => "late broadcast",
            Pattern::EarlyReduce => "early reduce",
            Pattern::EarlyScan => "early scan",
            Pattern::InitCompletion => "init completion",
            Pattern::FinalizeWait => "wait at finalize",
            Pattern::FenceWait => "wait at fence",
            Pattern::LatePost => "late post",
            Pattern::EarlyWait => "early wait",
            Pattern::LateComplete => "late complete",
            Pattern::WindowLock => "lock of window",
            Pattern::TeamBarrierWait => "wait at team barrier",
            Pattern::IdleThread => "idle thread",
            Pattern::LockContention => "lock contention",
            Pattern::HostWait => "host waits for device",
            Pattern::DeviceIdle => "device waits for host",
            Pattern::StreamWait => "stream waits for stream",
            Pattern::Queueing => "queueing on device",
        }
    }

    /// Returns the unique name of the metric of Scalasca with the same definition, where it has one.
    pub fn scalasca_name(self) -> Option<&'static str> {
        let name = match self {
            Pattern::LateSender => "mpi_latesender",
            Pattern::WrongOrder => "mpi_latesender_wo",
            Pattern::LateReceiver => "mpi_latereceiver",
            Pattern::BarrierWait => "mpi_barrier_wait",
            Pattern::BarrierCompletion => "mpi_barrier_completion",
            Pattern::NxNWait => "mpi_wait_nxn",
            Pattern::NxNCompletion => "mpi_nxn_completion",
            Pattern::LateBroadcast => "mpi_latebroadcast",
            Pattern::EarlyReduce => "mpi_earlyreduce",
            Pattern::EarlyScan => "mpi_earlyscan",
            Pattern::InitCompletion => "mpi_init_completion",
            Pattern::FinalizeWait => "mpi_finalize_wait",
            Pattern::FenceWait => "mpi_rma_wait_at_fence",
            Pattern::LatePost => "mpi_rma_sync_late_post",
            Pattern::EarlyWait => "mpi_rma_early_wait",
            Pattern::LateComplete => "mpi_rma_late_complete",
            Pattern::WindowLock => "mpi_rma_sync_lock_competition",
            Pattern::TeamBarrierWait
            | Pattern::IdleThread
            | Pattern::LockContention
            | Pattern::HostWait
            | Pattern::DeviceIdle
            | Pattern::StreamWait
            | Pattern::Queueing => return None,
        };
        Some(name)
    }

    /// Returns a sentence that describes the metric.
    pub fn description(self) -> &'static str {
        match self {
            Pattern::LateSender => "time in receives before the matching send begins",
            Pattern::WrongOrder => {
                "late sender although a message that was sent earlier is received later"
            }
            Pattern::LateReceiver => "time in sends before the matching receive is posted",
            Pattern::BarrierWait => "time in barriers before the last member begins",
            Pattern::BarrierCompletion => "time in barriers after the first member has left",
            Pattern::NxNWait => "time in N-to-N operations before the last member begins",
            Pattern::NxNCompletion => "time in N-to-N operations after the first member has left",
            Pattern::LateBroadcast => "time in 1-to-N operations before the root begins",
            Pattern::EarlyReduce => {
                "time of the root in N-to-1 operations before the last sender begins"
            }
            Pattern::EarlyScan => "time in prefix operations before all lower ranks begin",
            Pattern::InitCompletion => "time in MPI_Init after the first process has left",
            Pattern::FinalizeWait => "time in MPI_Finalize before the last process enters",
            Pattern::FenceWait => "time in fences of windows before the last rank begins",
            Pattern::LatePost => "time in accesses to windows before the last of them is posted",
            Pattern::EarlyWait => {
                "time in waits for accesses to a window before the last one completes"
            }
            Pattern::LateComplete => {
                "early wait after the last access of the rank that completes late"
            }
            Pattern::WindowLock => {
                "time before the rank that holds the lock of a window releases it"
            }
            Pattern::TeamBarrierWait => {
                "time in barriers before the last thread of the team enters"
            }
            Pattern::IdleThread => "time of threads before the next parallel region is forked",
            Pattern::LockContention => "time before a lock that another thread holds is released",
            Pattern::HostWait => "time in synchronising calls before the work on the device ends",
            Pattern::DeviceIdle => "time without work on the device before the next launch",
            Pattern::StreamWait => {
                "time of a stream before a collective operation or other work of another stream ends"
            }
            Pattern::Queueing => "time between a launch and the end of earlier work of the stream",
        }
    }

    /// Returns `true` for waiting between threads of a process, or between hosts and accelerators.
    pub fn is_local(self) -> bool {
        matches!(
            self,
            Pattern::TeamBarrierWait
                | Pattern::IdleThread
                | Pattern::LockContention
                | Pattern::HostWait
                | Pattern::DeviceIdle
                | Pattern::StreamWait
                | Pattern::Queueing
        )
    }

    /// Returns `true` for waiting time, and `false` for a part of another kind and for completion times.
    pub fn is_waiting(self) -> bool {
        !matches!(
            self,
            Pattern::WrongOrder
                | Pattern::LateComplete
                | Pattern::BarrierCompletion
                | Pattern::NxNCompletion
                | Pattern::InitCompletion
                | Pattern::Queueing
        )
    }
}

/// Data flow of a collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// No data, all wait for all.
    Barrier,
    /// From all to all.
    All,
    /// From the root to all.
    FromRoot,
    /// From all to the root.
    ToRoot,
    /// From each member to those of higher rank.
    Prefix,
    /// None that implies waiting.
    Unknown,
}

impl Flow {
    /// Number of `MPI_Reduce_scatter_block` in OTF2.
    const REDUCE_SCATTER_BLOCK: u8 = 19;

    /// Returns the data flow of an operation. `Alltoallv` and `Alltoallw` may exchange nothing between two members.
    pub(crate) fn of(op: CollectiveOp) -> Self {
        match op {
            CollectiveOp::Barrier => Flow::Barrier,
            CollectiveOp::Bcast | CollectiveOp::Scatter | CollectiveOp::Scatterv => Flow::FromRoot,
            CollectiveOp::Reduce | CollectiveOp::Gather | CollectiveOp::Gatherv => Flow::ToRoot,
            CollectiveOp::Scan | CollectiveOp::Exscan => Flow::Prefix,
            CollectiveOp::Other(Self::REDUCE_SCATTER_BLOCK) => Flow::All,
            op if op.is_all_to_all() => Flow::All,
            _ => Flow::Unknown,
        }
    }
}
