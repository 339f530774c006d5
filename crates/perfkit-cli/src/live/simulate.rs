//! Command line of `live simulate`: options of the load generator.

use super::options::seconds;
use crate::options::TRACE;
use clap::Args;
use perf_live::program::SimulateOptions;
use perf_live::simulate::Load;
use std::path::PathBuf;
use std::time::Duration;

/// Plays a recording to a server by many simulated ranks, and prints the rates and latencies
#[derive(Args, Clone, Debug)]
pub(super) struct Simulate {
    /// Address of the server, such as http://127.0.0.1:5560
    pub(super) url: String,
    #[doc = "Recording with events that the ranks play"]
    #[arg(long, value_name = "RECORDING", long_help = format!("Recording with events that the ranks play: {TRACE}"))]
    from: PathBuf,
    /// File with the token of writers; the variable PERFKIT_LIVE_TOKEN takes precedence
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Simulated ranks
    #[arg(long, value_name = "N", default_value_t = 80)]
    ranks: u32,
    /// Updates of each rank
    #[arg(long, value_name = "N", default_value_t = 60)]
    updates: u64,
    /// Seconds between two updates of a rank, 0 for no wait
    #[arg(long, value_name = "T", default_value = "1", value_parser = seconds)]
    period: Duration,
    /// Steps of the recording
    #[arg(long, value_name = "N", default_value_t = 100)]
    steps: u64,
    /// Connections of all ranks
    #[arg(long, value_name = "N", default_value_t = 256)]
    connections: usize,
    /// Threads of the connections
    #[arg(long, value_name = "N", default_value_t = 1)]
    threads: usize,
    /// Each rank requests the view with each N-th update, 0 for never
    #[arg(long, value_name = "N", default_value_t = 10)]
    views: u64,
    /// Number of the program of the ranks
    #[arg(long, value_name = "N", default_value_t = 0)]
    program: u32,
    /// Do not send records of anomalies
    #[arg(long)]
    no_records: bool,
}

impl Simulate {
    pub(super) fn options(&self) -> SimulateOptions {
        SimulateOptions {
            recording: self.from.clone(),
            token_file: self.token_file.clone(),
            steps: self.steps,
            load: Load {
                ranks: self.ranks,
                updates: self.updates,
                period: self.period,
                connections: self.connections,
                threads: self.threads,
                views: self.views,
                program: self.program,
                records: !self.no_records,
            },
        }
    }
}
