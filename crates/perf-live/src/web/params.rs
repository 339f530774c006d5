//! [`WebParams`]: access, limits and timeouts of the HTTP interface.

use crate::Result;
use crate::error::within;
use std::net::SocketAddr;
use std::time::Duration;

perf_core::parameters! {
    /// Access, limits and timeouts of the HTTP interface: see
    /// [`Service::params`](super::Service::params).
    ///
    /// ```
    /// use perf_live::web::Service;
    /// use std::time::Duration;
    /// let params = Service::params().token("0123456789abcdef").patience(Duration::from_secs(5));
    /// // The token is never printed.
    /// assert!(!format!("{params:?}").contains("0123456789abcdef"));
    /// assert!(params.check().is_ok() && Service::params().check().is_err());
    /// ```
    #[derive(Clone, PartialEq, Eq)]
    pub struct WebParams {
        /// Sets the address to listen on. Default: a free port of the loopback interface, which is not
        /// reachable from other machines.
        pub(super) address: SocketAddr = SocketAddr::from(([127, 0, 0, 1], 0)),
        /// Sets the token that clients must send to write. It needs at least 16 visible ASCII
        /// characters and has no default. Readers need no token.
        pub(super) token: String = String::new() => |token: impl Into<String>| token.into(),
        /// Sets the size of the largest message in bytes. Default: 8 MiB; at least 1 KiB, at most 1
        /// GiB.
        pub(super) body: usize = 8 << 20,
        /// Sets the largest total size of all messages and views in transit, in bytes. Default: 128
        /// MiB; at least [`body`](Self::body), at most 1 TiB.
        pub(super) bodies: usize = 128 << 20,
        /// Sets the largest number of connections. Further connections are closed at once. Default:
        /// 16,384; at least 1, at most 2^20.
        pub(super) connections: usize = 16_384,
        /// Sets the timeout for the head of a request, including the wait for the request. A connection
        /// that is silent for longer is closed; clients then open another connection. Default: 15 s; at
        /// least 10 ms, at most one day.
        pub(super) head: Duration = Duration::from_secs(15),
        /// Sets the timeout for receiving a body, and for sending to a peer that accepts no data.
        /// Default: 30 s; at least 10 ms, at most one day.
        pub(super) patience: Duration = Duration::from_secs(30),
        /// Sets the shortest interval between events for a page. Default: 250 ms; at least 100 ms, at
        /// most one day.
        pub(super) tick: Duration = Duration::from_millis(250),
        /// Sets the largest number of pages that receive events. Default: 64; at most 2^20.
        pub(super) pages: usize = 64,
    } and {
        /// Additional host names.
        pub(super) hosts: Vec<String> = Vec::new(),
    }
}

/// The output omits the token and the limits.
impl std::fmt::Debug for WebParams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut all = f.debug_struct("WebParams");
        all.field("address", &self.address);
        all.field("hosts", &self.hosts).finish_non_exhaustive()
    }
}

/// Upper bound on times, because clocks have a limited range.
const DAY: Duration = Duration::from_secs(86_400);

impl WebParams {
    /// Adds a host name under which requests are accepted, in addition to addresses and
    /// `localhost`. Requests with other names are rejected, which protects against DNS rebinding.
    /// Default: none.
    pub fn host(mut self, name: impl Into<String>) -> Self {
        self.hosts.push(name.into());
        self
    }

    /// Validates the parameters.
    ///
    /// # Errors
    /// Returns [`Error::Parameter`](crate::Error::Parameter) for a parameter out of range.
    pub fn check(self) -> Result<CheckedWebParams> {
        let is_visible = self.token.bytes().all(|byte| byte.is_ascii_graphic());
        let is_token = self.token.len() >= 16 && is_visible;
        let length = format!("{} bytes long", self.token.len());
        within(
            is_token,
            "token",
            length,
            "at least 16 visible ASCII characters",
        )?;
        let is_body = (1 << 10..=1 << 30).contains(&self.body);
        within(is_body, "body", self.body, "2^10 to 2^30")?;
        let are_bodies = (self.body..=1 << 40).contains(&self.bodies);
        within(
            are_bodies,
            "bodies",
            self.bodies,
            "at least `body`, at most 2^40",
        )?;
        let is_many = (1..=1 << 20).contains(&self.connections);
        within(is_many, "connections", self.connections, "1 to 2^20")?;
        let is_few = self.pages <= 1 << 20;
        within(is_few, "pages", self.pages, "at most 2^20")?;
        for (name, time, least, range) in [
            ("tick", self.tick, 100, "100 ms to a day"),
            ("head", self.head, 10, "10 ms to a day"),
            ("patience", self.patience, 10, "10 ms to a day"),
        ] {
            let is_time = (Duration::from_millis(least)..=DAY).contains(&time);
            within(is_time, name, format!("{time:?}"), range)?;
        }
        Ok(CheckedWebParams(self))
    }
}

/// Validated parameters, the result of [`WebParams::check`].
#[derive(Clone, Debug)]
pub struct CheckedWebParams(pub(super) WebParams);
