//! [`ServerParams`]: limits of a server, and the number of deltas between its views.

use crate::Result;
use crate::error::within;

perf_core::parameters! {
    /// Parameters of a server, created by [`Server::params`](super::Server::params).
    ///
    /// ```
    /// use perf_anomaly::server::Server;
    /// // A view for every 64 deltas, the last 100 steps of each rank.
    /// assert!(Server::params().publish(64).history(100).check().is_ok());
    /// assert!(Server::params().names(0).check().is_err());
    /// ```
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ServerParams {
        /// Sets the number of deltas after which a new view is built. Default: the number of clients,
        /// so that a view is built once each client has sent a delta. In the first round views are
        /// built more often.
        pub(super) publish: Option<u64> = None => |deltas: impl Into<Option<u64>>| deltas.into(),
        /// Sets the number of calls of a function above which the counts in a model of
        /// [`Tail`](crate::Tail) are halved, see [`Model::forget`](crate::Model::forget). Default:
        /// 1,048,576.
        pub(super) memory: u64 = 1 << 20,
        /// Sets the number of last steps that are kept for each rank. Default: 64. Sums over steps are
        /// exact for any value.
        pub(super) history: usize = 64,
        /// Sets the largest number of functions. Default: 1,048,576. Further functions are dropped and
        /// [counted](super::Server::refused).
        pub(super) names: usize = 1 << 20,
        /// Sets the largest number of ranks, and of clients. Default: 1,048,576. Further ranks and
        /// clients are dropped and [counted](super::Server::refused).
        pub(super) ranks: usize = 1 << 20,
        /// Sets the session, a number other than 0. It must differ from the session of an earlier
        /// server at the same address, unless this server continues [from the
        /// bytes](super::Server::decode) of the earlier one. Default: 1.
        pub(super) session: u64 = 1,
    } and {
        /// `true` if models do not change.
        pub(super) is_frozen: bool = false,
    }
}

impl ServerParams {
    /// Keeps models unchanged, so that a run is judged by the model of an earlier run. Default:
    /// false.
    pub fn frozen(mut self, is_frozen: bool) -> Self {
        self.is_frozen = is_frozen;
        self
    }

    /// Validates the parameters.
    ///
    /// # Errors
    /// Returns [`Error::Parameter`](crate::Error::Parameter) unless `publish`, `history`, `names`
    /// and `ranks` are from 1 to 2^30, `memory` from 1024 to 2^53, and `session` is not 0.
    pub fn check(self) -> Result<CheckedServerParams> {
        let most = 1 << 30;
        let many = |number: usize| (1..=most).contains(&(number as u64));
        let publish = self.publish.unwrap_or(1);
        let is_memory = (1024..=1 << 53).contains(&self.memory);
        within(
            (1..=most).contains(&publish),
            "publish",
            publish,
            "1 to 2^30",
        )?;
        within(is_memory, "memory", self.memory, "1024 to 2^53")?;
        within(many(self.history), "history", self.history, "1 to 2^30")?;
        within(many(self.names), "names", self.names, "1 to 2^30")?;
        within(many(self.ranks), "ranks", self.ranks, "1 to 2^30")?;
        within(self.session > 0, "session", self.session, "not 0")?;
        Ok(CheckedServerParams(self))
    }
}

/// Validated [`ServerParams`].
#[derive(Clone, Debug, Default)]
pub struct CheckedServerParams(pub(super) ServerParams);
