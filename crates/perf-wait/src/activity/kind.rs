//! [`CallKind`]: the role of a call of MPI, of threads or of accelerators; that of MPI functions by
//! their name.

use perf_core::Region;

/// Role of a call of MPI, of threads or of accelerators.
///
/// ```
/// use perf_wait::activity::CallKind;
/// assert_eq!(CallKind::of("MPI_Sendrecv_replace"), CallKind::SendReceive);
/// assert_eq!(CallKind::of("mpi_waitall_"), CallKind::WaitAll);
/// assert_eq!(CallKind::of("MPI_Recv()"), CallKind::Receive);
/// assert!(CallKind::of("MPI_Waitsome").completes_several());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum CallKind {
    /// `MPI_Init` or `MPI_Init_thread`.
    Init,
    /// `MPI_Finalize`.
    Finalize,
    /// Blocking send of standard mode.
    Send,
    /// Blocking send of synchronous mode.
    SynchronousSend,
    /// Blocking send of buffered or ready mode, which does not wait for the receiver.
    BufferedSend,
    /// Blocking receive.
    Receive,
    /// Send and receive in one call.
    SendReceive,
    /// Start of a non-blocking send.
    StartSend,
    /// Start of a non-blocking receive.
    StartReceive,
    /// Wait for one request.
    Wait,
    /// Wait for all of several requests.
    WaitAll,
    /// Wait for one or some of several requests.
    WaitAny,
    /// Test of requests, which returns at once.
    Test,
    /// Fence of a window of one-sided communication.
    Fence,
    /// Access to a window of one-sided communication.
    WindowAccess,
    /// `MPI_Win_post`: exposes a window to other ranks.
    WindowPost,
    /// `MPI_Win_start`: begins accesses to the windows of other ranks.
    WindowStart,
    /// `MPI_Win_complete`: ends the accesses.
    WindowComplete,
    /// `MPI_Win_wait`: waits for the accesses of other ranks.
    WindowWait,
    /// `MPI_Win_lock`.
    WindowLock,
    /// `MPI_Win_unlock`.
    WindowUnlock,
    /// Barrier of a team of threads.
    TeamBarrier,
    /// Fork of a team of threads. Of no length, or until the thread that forks begins to work in the team where the
    /// recording has that time.
    Fork,
    /// Time of a thread outside of parallel regions, until the next one begins or the process ends.
    Idle,
    /// End of the thread that forks teams, of no length.
    ProcessEnd,
    /// Wait for a lock, from the enter of the construct until the lock is acquired.
    Acquire,
    /// Release of a lock, of no length.
    Release,
    /// Call that launches work on an accelerator.
    Launch,
    /// Call of a host that waits for work of an accelerator.
    Synchronise,
    /// Gap of an accelerator stream before work, or a gap of zero duration after its last work.
    DeviceGap,
    /// Collective operation on an accelerator.
    DeviceCollective,
    /// Any other call, collective operations included.
    #[default]
    Other,
}

impl CallKind {
    /// Returns the role of the MPI function of this name.
    ///
    /// Names of the Fortran interface (`mpi_send_`), of the profiling interface (`PMPI_Send`) and of TAU (`MPI_Send()`)
    /// are those of the C function.
    pub fn of(name: &str) -> Self {
        // TAU appends `()` to the names of functions.
        let name = name.trim_end_matches("()").trim_end_matches('_');
        let name = name.to_ascii_lowercase();
        let name = name.strip_prefix('p').unwrap_or(&name);
        let Some(name) = name.strip_prefix("mpi_") else {
            return CallKind::Other;
        };
        match name {
            "init" | "init_thread" => CallKind::Init,
            "finalize" => CallKind::Finalize,
            "send" => CallKind::Send,
            "ssend" => CallKind::SynchronousSend,
            "bsend" | "rsend" => CallKind::BufferedSend,
            "recv" | "mrecv" => CallKind::Receive,
            "sendrecv" | "sendrecv_replace" => CallKind::SendReceive,
            "isend" | "issend" | "ibsend" | "irsend" | "start" | "startall" => CallKind::StartSend,
            "irecv" | "imrecv" => CallKind::StartReceive,
            "wait" => CallKind::Wait,
            "waitall" => CallKind::WaitAll,
            "waitany" | "waitsome" => CallKind::WaitAny,
            "test" | "testall" | "testany" | "testsome" => CallKind::Test,
            "win_fence" => CallKind::Fence,
            "win_post" => CallKind::WindowPost,
            "win_start" => CallKind::WindowStart,
            "win_complete" => CallKind::WindowComplete,
            "win_wait" => CallKind::WindowWait,
            "win_lock" => CallKind::WindowLock,
            "win_unlock" => CallKind::WindowUnlock,
            "put" | "get" | "rput" | "rget" | "accumulate" | "raccumulate" | "get_accumulate"
            | "rget_accumulate" | "fetch_and_op" | "compare_and_swap" => CallKind::WindowAccess,
            _ => CallKind::Other,
        }
    }

    /// Returns the role of a region of MPI, by its paradigm or name; `None` for any other region.
    ///
    /// ```
    /// use perf_core::Region;
    /// use perf_wait::activity::CallKind;
    /// assert_eq!(CallKind::of_region(&Region::named("mpi_recv_")), Some(CallKind::Receive));
    /// assert_eq!(CallKind::of_region(&Region::named("solve")), None);
    /// ```
    pub fn of_region(region: &Region) -> Option<Self> {
        let is_mpi = region.is_mpi() || region.name.to_ascii_lowercase().starts_with("mpi_");
        is_mpi.then(|| CallKind::of(&region.name))
    }

    /// Returns `true` for calls of threads and accelerators, which are no MPI calls.
    pub fn is_local(self) -> bool {
        use CallKind::*;
        matches!(
            self,
            TeamBarrier
                | Fork
                | Idle
                | ProcessEnd
                | Acquire
                | Release
                | Launch
                | Synchronise
                | DeviceGap
                | DeviceCollective
        )
    }

    /// Returns `true` for calls of the streams of accelerators.
    pub fn is_device(self) -> bool {
        matches!(self, CallKind::DeviceGap | CallKind::DeviceCollective)
    }

    /// Returns `true` for calls that return only after the message they receive has arrived.
    pub fn is_blocking_receive(self) -> bool {
        matches!(self, CallKind::Receive | CallKind::SendReceive)
    }

    /// Returns `true` for calls that return only after the message they send may be overwritten.
    pub fn is_blocking_send(self) -> bool {
        use CallKind::*;
        matches!(self, Send | SynchronousSend | BufferedSend | SendReceive)
    }

    /// Returns `true` for calls that wait for requests.
    pub fn is_wait(self) -> bool {
        matches!(self, CallKind::Wait | CallKind::WaitAll | CallKind::WaitAny)
    }

    /// Returns `true` for waits that may complete several requests.
    pub fn completes_several(self) -> bool {
        matches!(self, CallKind::WaitAll | CallKind::WaitAny)
    }
}
