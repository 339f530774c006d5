//! [`HubParams`]: what a server keeps, and how much it lets wait.

use crate::Result;
use crate::error::within;
use perf_anomaly::server::{CheckedServerParams, Server};
use std::time::Duration;

/// What a server keeps, and how much it lets wait: see [`Hub::params`](super::Hub::params).
///
/// ```
/// use perf_live::hub::Hub;
/// use std::time::Duration;
/// let params = Hub::params().keep_steps(10_000).keep_bytes(1 << 30).forget(Duration::from_secs(3600));
/// assert!(params.check().is_ok());
/// assert!(Hub::params().queue(0).check().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubParams {
    pub(super) queue: usize,
    pub(super) bytes: usize,
    pub(super) batch: usize,
    pub(super) log: u64,
    pub(super) clients: usize,
    pub(super) names: usize,
    pub(super) history: usize,
    pub(super) publish: Option<u64>,
    pub(super) frozen: bool,
    pub(super) forget: Duration,
    pub(super) keep_bytes: Option<u64>,
    pub(super) keep_steps: Option<u64>,
}

impl Default for HubParams {
    fn default() -> Self {
        HubParams {
            queue: 16_384,
            bytes: 64 << 20,
            batch: 2048,
            log: 64 << 20,
            clients: 1 << 17,
            names: 1 << 16,
            history: 64,
            publish: None,
            frozen: false,
            forget: Duration::from_secs(86_400),
            keep_bytes: None,
            keep_steps: None,
        }
    }
}

impl HubParams {
    /// Messages that may wait. Default: 16,384. Who comes then is told to come again.
    pub fn queue(mut self, messages: usize) -> Self {
        self.queue = messages;
        self
    }

    /// Bytes of messages that may wait. Default: 64 MiB.
    pub fn bytes(mut self, bytes: usize) -> Self {
        self.bytes = bytes;
        self
    }

    /// Messages that are stored at once. Default: 2,048.
    pub fn batch(mut self, messages: usize) -> Self {
        self.batch = messages;
        self
    }

    /// Bytes of deltas after which the state is stored as a whole. Default: 64 MiB; more where the state
    /// itself is larger. A server that starts anew reads the state and the deltas since.
    pub fn log(mut self, bytes: u64) -> Self {
        self.log = bytes;
        self
    }

    /// Most clients, each start of a program being another one, and most ranks. Default: 131,072.
    pub fn clients(mut self, clients: usize) -> Self {
        self.clients = clients;
        self
    }

    /// Most functions, see [`ServerParams::names`](perf_anomaly::server::ServerParams::names).
    /// Default: 65,536.
    pub fn names(mut self, names: usize) -> Self {
        self.names = names;
        self
    }

    /// Steps a rank that are kept in memory, see
    /// [`ServerParams::history`](perf_anomaly::server::ServerParams::history). Default: 64. The database
    /// has all steps that had an anomaly.
    pub fn history(mut self, steps: usize) -> Self {
        self.history = steps;
        self
    }

    /// After how many deltas there is a new view, see
    /// [`ServerParams::publish`](perf_anomaly::server::ServerParams::publish). Default: after as many as
    /// there are clients.
    pub fn publish(mut self, deltas: impl Into<Option<u64>>) -> Self {
        self.publish = deltas.into();
        self
    }

    /// Whether models stay as they are. Default: false.
    pub fn frozen(mut self, is_frozen: bool) -> Self {
        self.frozen = is_frozen;
        self
    }

    /// Clients that said nothing for so long are forgotten. Default: a day; at least a second. What they told
    /// stays. Should one of them send its last message again after that, it counts twice.
    pub fn forget(mut self, after: Duration) -> Self {
        self.forget = after;
        self
    }

    /// Most bytes of records of calls in the database. Default: no limit. Of the older half the least severe
    /// ones go first, a tenth of the limit at a time; they are [counted](super::Overview::dropped). What
    /// they leave in the file is used again.
    pub fn keep_bytes(mut self, bytes: impl Into<Option<u64>>) -> Self {
        self.keep_bytes = bytes.into();
        self
    }

    /// Of each program, records and steps of ranks are kept of its last so many steps. Default: of all. They
    /// go a tenth of that number at a time.
    pub fn keep_steps(mut self, steps: impl Into<Option<u64>>) -> Self {
        self.keep_steps = steps.into();
        self
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// [`Error::Parameter`](crate::Error::Parameter) for one out of its range.
    pub fn check(self) -> Result<CheckedHubParams> {
        let many = |number: usize| (1..=1 << 24).contains(&number);
        within(many(self.queue), "queue", self.queue, "1 to 2^24")?;
        let is_size = (1 << 16..=1 << 40).contains(&self.bytes);
        within(is_size, "bytes", self.bytes, "2^16 to 2^40")?;
        within(many(self.batch), "batch", self.batch, "1 to 2^24")?;
        let is_log = (1 << 10..=1 << 40).contains(&self.log);
        within(is_log, "log", self.log, "2^10 to 2^40")?;
        within(many(self.clients), "clients", self.clients, "1 to 2^24")?;
        let is_long = self.forget >= Duration::from_secs(1);
        within(
            is_long,
            "forget",
            format!("{:?}", self.forget),
            "at least 1 s",
        )?;
        let bytes = self.keep_bytes.unwrap_or(1 << 16);
        let is_size = (1 << 16..=1 << 50).contains(&bytes);
        within(is_size, "keep_bytes", bytes, "2^16 to 2^50")?;
        let steps = self.keep_steps.unwrap_or(1);
        within(
            (1..=1 << 50).contains(&steps),
            "keep_steps",
            steps,
            "1 to 2^50",
        )?;
        self.server(1)?;
        Ok(CheckedHubParams(self))
    }

    /// What the server as such is made with.
    pub(super) fn server(&self, session: u64) -> Result<CheckedServerParams> {
        let params = Server::params()
            .session(session)
            .history(self.history)
            .names(self.names)
            .ranks(self.clients)
            .publish(self.publish)
            .frozen(self.frozen);
        Ok(params.check()?)
    }
}

/// Parameters that were checked.
#[derive(Clone, Debug, Default)]
pub struct CheckedHubParams(pub(super) HubParams);
