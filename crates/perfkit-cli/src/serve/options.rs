//! Command line of `serve`: [`Options`] with recordings, rows, rules and counters of their
//! timelines, and the port.

use crate::fold::{CountersBy, Rows, Rules};
use crate::options::{General, TRACE};
use clap::Args;
use std::path::PathBuf;

/// Serves timelines as a local page that is exact at every zoom
///
/// The page asks this program for the window and the rows on the screen. It is reachable from this machine only, and
/// only with the token in its address.
#[derive(Args, Clone, Debug)]
pub struct Options {
    #[doc = "Recordings with events; each has a timeline of its own"]
    #[arg(required = true, value_name = "RECORDING", long_help = format!(
        "Recordings with events, each with a timeline of its own: {TRACE}"
    ))]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) rows: Rows,
    #[command(flatten)]
    pub(crate) rules: Rules,
    #[command(flatten)]
    pub(crate) counters: CountersBy,
    /// Port on 127.0.0.1 [default: a free one]
    #[arg(
        long,
        value_name = "PORT",
        default_value_t = 0,
        hide_default_value = true
    )]
    pub(crate) port: u16,
    /// Continue after the page is closed
    #[arg(long)]
    pub(crate) keep: bool,
    #[command(flatten)]
    pub(crate) general: General,
}
