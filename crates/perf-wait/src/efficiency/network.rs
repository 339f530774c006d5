//! [`IdealNetworkParams`] and the checked [`IdealNetwork`]: eager limit and rules for collectives
//! of a replay without latency and with infinite bandwidth, which [`IdealNetwork::replay`] runs.

use crate::Result;

/// Members of a broadcast that wait for each other in the replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BroadcastRule {
    /// All members wait for all others, as Dimemas replays it.
    #[default]
    Barrier,
    /// Members wait for the root alone, as MPI permits.
    Root,
}

/// Parameters of [`IdealNetwork`]: set them, then [`check`](Self::check).
///
/// ```
/// use perf_wait::efficiency::IdealNetwork;
/// let network = IdealNetwork::params().eager_limit(1 << 20).check()?;
/// assert_eq!(network.eager_limit(), 1 << 20);
/// # Ok::<(), perf_wait::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct IdealNetworkParams(IdealNetwork);

impl IdealNetworkParams {
    /// Sets the length in bytes from which a send is a rendezvous, default 32,768.
    pub fn eager_limit(mut self, bytes: u64) -> Self {
        self.0.eager_limit = bytes;
        self
    }

    /// Sets the rule that `MPI_Init` is a barrier over all processes, default `true`.
    pub fn init_is_barrier(mut self, is_barrier: bool) -> Self {
        self.0.init_is_barrier = is_barrier;
        self
    }

    /// Sets the rule that `MPI_Finalize` is a barrier over all processes, default `false`.
    pub fn finalize_is_barrier(mut self, is_barrier: bool) -> Self {
        self.0.finalize_is_barrier = is_barrier;
        self
    }

    /// Sets the members of a broadcast that wait for each other, default [`BroadcastRule::Barrier`].
    pub fn broadcast(mut self, rule: BroadcastRule) -> Self {
        self.0.broadcast = rule;
        self
    }

    /// Checks the parameters.
    ///
    /// # Errors
    ///
    /// None at present; all values are valid.
    pub fn check(self) -> Result<IdealNetwork> {
        Ok(self.0)
    }
}

/// A network without latency and with infinite bandwidth, and its rules.
///
/// 1. A burst is all time outside of MPI calls, from the first event of the trace to the last one of the process.
/// 2. An MPI call takes no time apart from waiting. A call without a message or collective takes none.
/// 3. Sends and receives are posted when the process enters the call that contains their record.
/// 4. A receive ends at the later of its own time and the post of the send. A send of at least
///    [`eager_limit`](Self::eager_limit) bytes ends at the later of its own time and the post of the receive; shorter
///    ones take no time. `MPI_Sendrecv` posts both at its entry.
/// 5. Each collective is a barrier over its communicator, except a broadcast with [`BroadcastRule::Root`].
/// 6. `MPI_Init` is a barrier over all processes; other calls for administration do not synchronise.
/// 7. The run time is the latest end of a process.
///
/// With the defaults, the replay agrees with Dimemas to 0.01 us for EPOCH on 2, 4 and 16 processes. That program has no
/// non-blocking messages, reductions to a root, one-sided communication, MPI I/O or threads: for these, the rules have
/// not been compared with Dimemas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdealNetwork {
    pub(super) eager_limit: u64,
    pub(super) init_is_barrier: bool,
    pub(super) finalize_is_barrier: bool,
    pub(super) broadcast: BroadcastRule,
}

impl Default for IdealNetwork {
    fn default() -> Self {
        IdealNetwork {
            eager_limit: 32_768,
            init_is_barrier: true,
            finalize_is_barrier: false,
            broadcast: BroadcastRule::Barrier,
        }
    }
}

impl IdealNetwork {
    /// Returns the default parameters.
    pub fn params() -> IdealNetworkParams {
        IdealNetworkParams(IdealNetwork::default())
    }

    /// Returns the length in bytes from which a send is a rendezvous.
    pub fn eager_limit(&self) -> u64 {
        self.eager_limit
    }
}
