//! [`ServerParams`]: what a server keeps, and when it tells.

use crate::Result;
use crate::error::within;

/// What a server keeps: see [`Server::params`](super::Server::params).
///
/// ```
/// use perf_anomaly::server::Server;
/// // A view for every 64 deltas, the last 100 steps of each rank.
/// assert!(Server::params().publish(64).history(100).check().is_ok());
/// assert!(Server::params().names(0).check().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerParams {
    pub(super) publish: Option<u64>,
    pub(super) memory: u64,
    pub(super) history: usize,
    pub(super) names: usize,
    pub(super) ranks: usize,
    pub(super) is_frozen: bool,
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
    /// After how many deltas the view is made anew. Default: after as many as there are clients, so
    /// that each round makes one view, however many ranks there are.
    pub fn publish(mut self, deltas: impl Into<Option<u64>>) -> Self {
        self.publish = deltas.into();
        self
    }

    /// Calls of a function at which a view of [`Tail`](crate::Tail) counts the past half, see
    /// [`Model::forget`](crate::Model::forget). Default: 1,048,576.
    pub fn memory(mut self, calls: u64) -> Self {
        self.memory = calls;
        self
    }

    /// How many of its last steps are kept a rank. Default: 64. What is summed over steps is exact
    /// whatever is kept.
    pub fn history(mut self, steps: usize) -> Self {
        self.history = steps;
        self
    }

    /// Most functions. Default: 1,048,576. What comes past the limit is left out and
    /// [counted](super::Server::refused).
    pub fn names(mut self, names: usize) -> Self {
        self.names = names;
        self
    }

    /// Most ranks, and most clients. Default: 1,048,576. What comes past the limit is left out and
    /// counted likewise.
    pub fn ranks(mut self, ranks: usize) -> Self {
        self.ranks = ranks;
        self
    }

    /// Whether models stay as they are: a run is judged by what another one showed. Default: false.
    pub fn frozen(mut self, is_frozen: bool) -> Self {
        self.is_frozen = is_frozen;
        self
    }

    /// The session, which must differ from that of a server that ran before under the same address,
    /// unless this one goes on [from its bytes](super::Server::decode). Default: 1.
    pub fn session(mut self, session: u64) -> Self {
        self.session = session;
        self
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// [`Error::Parameter`](crate::Error::Parameter) for one out of its range.
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

/// Parameters that were checked.
#[derive(Clone, Debug, Default)]
pub struct CheckedServerParams(pub(super) ServerParams);
