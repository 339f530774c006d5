//! Subcommand `serve`: timelines of recordings, and views of profiles, as a local page that is exact at every zoom and
//! for every reference.

mod options;
mod pages;
mod profiles;
mod server;

pub use options::Options;
pub use pages::{Answer, Pages, Request};
pub use server::Server;

use crate::failure::{Failure, Outcome};
use crate::output;
use serde::Serialize;
use std::io::Write;

/// Result of `--json`.
#[derive(Serialize)]
struct Address {
    /// Address of the page, with its token.
    url: String,
}

/// Opens the recordings, prints the address of the page, and answers its requests until the page is
/// closed, or with `--keep` until the process ends.
///
/// # Errors
/// Returns [`Failure::Usage`] if the options do not apply to a recording, and [`Failure::Input`] if a
/// recording cannot be read or the port is taken.
pub fn run(options: &Options, out: &mut dyn Write) -> Outcome {
    options.general.apply()?;
    let pages = Pages::open(options)?;
    let server = Server::start(pages, options.port, options.keep)
        .map_err(|error| no_server(options.port, &error))?;
    let url = server.url();
    if options.general.json {
        output::json(out, &Address { url })?;
    } else {
        writeln!(out, "{url}")?;
        let end = if options.keep {
            "Ctrl-C ends the server."
        } else {
            "Closing the page or Ctrl-C ends the server."
        };
        writeln!(out, "Open this address in a browser of this machine. {end}")?;
    }
    out.flush()?;
    server.wait();
    Ok(())
}

/// Returns the failure of a server that cannot listen on a port; 0 is a free one.
fn no_server(port: u16, error: &std::io::Error) -> Failure {
    match port {
        0 => Failure::Input(format!("no server on 127.0.0.1: {error}")),
        _ => Failure::Input(format!(
            "--port {port}: {error}; choose another port, or omit --port for a free one"
        )),
    }
}
