//! Library behind the command `perfkit`, also used by its tests and by the tour of the examples.
//!
//! Each subcommand is a module with `Options`, which is its command line, and a function `run`, which
//! writes to a [`Write`](std::io::Write). [`command::run`] runs a whole command line:
//!
//! ```
//! let mut out = Vec::new();
//! perfkit_cli::command::run(&["inspect".into(), "--help".into()], &mut out).unwrap_err();
//! ```

pub mod bursts;
pub mod cluster;
pub mod command;
pub mod convert;
pub mod correlate;
pub mod detect;
pub mod failure;
pub mod fold;
pub mod inspect;
#[cfg(feature = "live")]
pub mod live;
pub mod new_crate;
pub mod options;
pub mod output;
pub mod phases;
pub mod profile;
pub mod recording;
pub mod report;
#[cfg(feature = "serve")]
pub mod serve;
pub mod track;
pub mod utilisation;
pub mod wait;

pub use options::{clocks, scope, suggest};
pub use output::{findings, messages, pictures, progress, table};
