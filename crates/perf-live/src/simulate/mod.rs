//! Simulation of any number of ranks from a recording of a few, to test the load on a server.
//!
//! A [`Tape`] holds the messages of each rank of a recording, step by step. [`run`] lets any number
//! of ranks play it, each as a separate client, over few connections, and counts sent and
//! acknowledged data for comparison with the server.

mod connection;
mod players;
mod run;
mod tape;
mod update;

pub use run::{Figures, Load, run};
pub use tape::Tape;
