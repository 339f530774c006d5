//! [`HubParams`]: limits and intervals of a parameter server.

use crate::Result;
use crate::error::within;
use perf_anomaly::server::{CheckedServerParams, Server};
use std::time::Duration;

perf_core::parameters! {
    /// Limits and intervals of a server. [`Hub::params`](super::Hub::params) returns the defaults.
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
        /// Sets the number of messages that may wait, in `1..=2^24`. Default: 16,384. Clients are asked
        /// to send further messages again.
        pub(super) queue: usize = 16_384,
        /// Sets the size of messages that may wait, in bytes, in `2^16..=2^40`. Default: 64 MiB.
        pub(super) bytes: usize = 64 << 20,
        /// Sets the largest number of messages in a transaction, in `1..=2^24`. Default: 2,048.
        pub(super) batch: usize = 2048,
        /// Sets the size of logged deltas, in bytes, after which the complete state is stored. Default:
        /// 64 MiB. If the state is large, the size is at least twice the size of the state. A restarted
        /// server reads the state and the deltas that were logged since.
        pub(super) log: u64 = 64 << 20,
        /// Sets the largest number of clients and of ranks, in `1..=2^24`. Default: 131,072. Each start
        /// of a program is a new client.
        pub(super) clients: usize = 1 << 17,
        /// Sets the largest number of functions, see
        /// [`ServerParams::names`](perf_anomaly::server::ServerParams::names). Default: 65,536.
        pub(super) names: usize = 1 << 16,
        /// Sets the number of steps of each rank in memory, see
        /// [`ServerParams::history`](perf_anomaly::server::ServerParams::history). Default: 64. The
        /// database contains all steps with an anomaly.
        pub(super) history: usize = 64,
        /// Sets the number of deltas after which there is a new view, see
        /// [`ServerParams::publish`](perf_anomaly::server::ServerParams::publish). Default: the number
        /// of clients.
        pub(super) publish: Option<u64> = None => |deltas: impl Into<Option<u64>>| deltas.into(),
        /// Sets whether models stay unchanged. Default: false.
        pub(super) frozen: bool = false,
        /// Sets the time without a message after which a client is forgotten, at least 1 s. Default:
        /// one day. The data of forgotten clients is kept. If a forgotten client repeats its last
        /// message, the message counts twice.
        pub(super) forget: Duration = Duration::from_secs(86_400),
        /// Sets the size limit for records of calls in the database, in bytes. Default: unlimited. If
        /// the limit is exceeded, the least severe records of the older half are dropped, a tenth of
        /// the limit at a time. Dropped records are [counted](super::Overview::dropped). The freed
        /// space in the file is reused.
        pub(super) keep_bytes: Option<u64> = None => |bytes: impl Into<Option<u64>>| bytes.into(),
        /// Keeps records and steps of ranks only for the last `steps` steps of each program. Default:
        /// all steps. Older steps are dropped a tenth of this number at a time.
        pub(super) keep_steps: Option<u64> = None => |steps: impl Into<Option<u64>>| steps.into(),
    }
}

impl HubParams {
    /// Validates the parameters.
    ///
    /// # Errors
    /// Returns [`Error::Parameter`](crate::Error::Parameter) for a parameter out of range.
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

    /// Returns the parameters of the underlying server.
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

/// Validated parameters.
#[derive(Clone, Debug, Default)]
pub struct CheckedHubParams(pub(super) HubParams);
