//! Tests of the command in one program, because each test program is linked on its own.

#[cfg(feature = "serve")]
mod clocks;
mod clusters;
mod command;
mod convert;
mod correlate;
mod detect;
mod devices_golden;
mod fold_options;
mod golden;
mod outputs;
mod pictures;
mod profiles;
mod report;
#[cfg(feature = "serve")]
mod serve;
mod threads;
mod versions;
mod waits;
mod windows;
