//! [`ServerParams`]: limits of a server, and the number of deltas between its views.

use crate::Result;
use crate::error::within;

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
    /// Number of deltas between views; `None` for the number of clients.
    pub(super) publish: Option<u64>,
    /// Number of calls of a function at which its counts are halved.
    pub(super) memory: u64,
    /// Number of steps kept for each rank.
    pub(super) history: usize,
    /// Largest number of functions.
    pub(super) names: usize,
    /// Largest number of ranks and of clients.
    pub(super) ranks: usize,
    /// `true` if models do not change.
    pub(super) is_frozen: bool,
    /// Session.
    pub(super) session: u64,
}

impl Default for ServerParams {
    fn default() -> Self {
        ServerParams {
            publish: None,
            memory: 1 << 20,
            history: 64,
            names: 1 << 20,
            ranks: 1 << 20,
            is_frozen: false,
            session: 1,
        }
    }
}

impl ServerParams {
    /// Sets the number of deltas after which a new view is built. Default: the number of clients,
    /// so that a view is built once each client has sent a delta. In the first round views are
    /// built more often.
    pub fn publish(mut self, deltas: impl Into<Option<u64>>) -> Self {
        self.publish = deltas.into();
        self
    }

    /// Sets the number of calls of a function above which the counts in a model of
    /// [`Tail`](crate::Tail) are halved, see [`Model::forget`](crate::Model::forget). Default:
    /// 1,048,576.
    pub fn memory(mut self, calls: u64) -> Self {
        self.memory = calls;
        self
    }

    /// Sets the number of last steps that are kept for each rank. Default: 64. Sums over steps are
    /// exact for any value.
    pub fn history(mut self, steps: usize) -> Self {
        self.history = steps;
        self
    }

    /// Sets the largest number of functions. Default: 1,048,576. Further functions are dropped and
    /// [counted](super::Server::refused).
    pub fn names(mut self, names: usize) -> Self {
        self.names = names;
        self
    }

    /// Sets the largest number of ranks, and of clients. Default: 1,048,576. Further ranks and
    /// clients are dropped and [counted](super::Server::refused).
    pub fn ranks(mut self, ranks: usize) -> Self {
        self.ranks = ranks;
        self
    }

    /// Keeps models unchanged, so that a run is judged by the model of an earlier run. Default:
    /// false.
    pub fn frozen(mut self, is_frozen: bool) -> Self {
        self.is_frozen = is_frozen;
        self
    }

    /// Sets the session, a number other than 0. It must differ from the session of an earlier
    /// server at the same address, unless this server continues [from the
    /// bytes](super::Server::decode) of the earlier one. Default: 1.
    pub fn session(mut self, session: u64) -> Self {
        self.session = session;
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
