//! Tests of the command, one program: each program is linked by itself.

mod clusters;
mod command;
mod convert;
mod correlate;
mod detect;
mod devices_golden;
mod golden;
mod pictures;
mod report;
mod threads;
mod waits;
