//! Tests of the command in one program, because each test program is linked on its own.

mod clusters;
mod command;
mod convert;
mod correlate;
mod detect;
mod devices_golden;
mod golden;
mod outputs;
mod pictures;
mod profiles;
mod report;
mod threads;
mod timelines;
mod versions;
mod waits;
