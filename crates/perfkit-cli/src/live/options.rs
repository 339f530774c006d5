//! Command line of `live`: its subcommands, and the options of `serve` and `replay`.

use clap::{Args, Subcommand};
use perf_live::program::{Listen, ServeOptions};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Serves the anomalies of all ranks of a run while it goes on, in a database and as a page
#[derive(Args, Clone, Debug)]
pub struct Options {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Clone, Debug, Subcommand)]
pub(super) enum Command {
    Serve(Serve),
    Replay(Replay),
    #[cfg(feature = "simulate")]
    Simulate(super::simulate::Simulate),
}

/// Address and names of the page.
#[derive(Args, Clone, Debug)]
pub(super) struct Address {
    /// Address; port 0 for a free one. Beyond the machine nothing is encrypted, and whoever reaches it may read
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:5560")]
    listen: SocketAddr,
    /// Further host name under which the page may be requested; repeatable
    #[arg(long = "host", value_name = "NAME")]
    hosts: Vec<String>,
}

impl From<&Address> for Listen {
    fn from(address: &Address) -> Self {
        Listen {
            address: Some(address.listen),
            hosts: address.hosts.clone(),
        }
    }
}

/// Receives the results of ranks, keeps them in a database, and shows them
#[derive(Args, Clone, Debug)]
pub(super) struct Serve {
    /// Database, created if it is absent
    pub(super) file: PathBuf,
    #[command(flatten)]
    listen: Address,
    /// File with the token of writers; the variable PERFKIT_LIVE_TOKEN takes precedence [default: FILE.token, which is
    /// created]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Publish a view after N deltas [default: as many as there are clients]
    #[arg(long, value_name = "N")]
    publish: Option<u64>,
    /// Steps of a rank in memory [default: 64]
    #[arg(long, value_name = "N")]
    history: Option<usize>,
    /// Upper bound on clients [default: 131072]
    #[arg(long, value_name = "N")]
    clients: Option<usize>,
    /// Upper bound on waiting messages [default: 16384]
    #[arg(long, value_name = "N")]
    queue: Option<usize>,
    /// Seconds of silence after which a client is forgotten; its results stay [default: 86400]
    #[arg(long, value_name = "T", value_parser = seconds)]
    forget: Option<Duration>,
    /// Upper bound on the bytes of records; of the older half the least severe are deleted first [default: no bound]
    #[arg(long, value_name = "N")]
    keep_bytes: Option<u64>,
    /// Keep records and steps of ranks of the last N steps [default: of all]
    #[arg(long, value_name = "N")]
    keep_steps: Option<u64>,
}

impl Serve {
    pub(super) fn options(&self) -> ServeOptions {
        ServeOptions {
            listen: (&self.listen).into(),
            token_file: self.token_file.clone(),
            publish: self.publish,
            history: self.history,
            clients: self.clients,
            queue: self.queue,
            forget: self.forget,
            keep_bytes: self.keep_bytes,
            keep_steps: self.keep_steps,
        }
    }
}

/// Shows the database of a run that is over; nothing is written
#[derive(Args, Clone, Debug)]
pub(super) struct Replay {
    /// Database
    pub(super) file: PathBuf,
    #[command(flatten)]
    pub(super) listen: Address,
}

pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds")?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}
