//! Tests of the command in one program, because each test program is linked on its own.

mod by_rank;
mod clusters;
mod command;
mod convert;
mod correlate;
mod detect;
mod devices_golden;
mod fold_options;
mod golden;
mod pictures;
mod profile_algebra;
mod report;
mod scope;
#[cfg(feature = "serve")]
mod serve;
mod threads;
mod versions;
mod waits;
