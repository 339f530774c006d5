//! Load test for a server: any number of simulated ranks that play a recording of a few ranks.
//!
//! A [`Tape`] contains the messages of each rank of a recording, step by step. [`run()`] lets any
//! number of ranks play the tape. Each rank is a separate client, and the ranks share few
//! connections. Sent and acknowledged data is counted and compared with the data of the server.

mod connection;
mod players;
mod run;
mod tape;
mod update;

pub use run::{Figures, Load, run};
pub use tape::Tape;
