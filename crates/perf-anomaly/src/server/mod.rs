//! Shared knowledge of all ranks: a parameter server as a library.
//!
//! Each rank has a [`Client`]. Every few steps ([`Schedule`]) it sends a [`Delta`] with the new
//! knowledge of its detector and statistics of its calls and anomalies. The [`Server`] merges
//! deltas in any order and answers with a [`View`]: the changes since the last view of this client,
//! which combines them to the complete model for the detector. There is no synchronisation: there
//! is no barrier, a view may be late or lost, and a lost delta is sent again and counted once.
//!
//! With many ranks and no server, each rank may have a copy of the server: deltas are merged on
//! their way to a [`Sum`], which each copy adds.
//!
//! An [`Exchange`] transports the messages. [`Local`] serves threads of one process; for others,
//! [`Delta`] and [`View`] have a byte encoding.
//!
//! # How far labels depend on the number of ranks
//!
//! The merged model of [`Tail`](crate::Tail) is the same to the bit for any number of clients and
//! any order of messages, that of [`Sstd`](crate::Sstd) up to rounding. Labels use the knowledge of
//! the last view, so they depend on its age. In the test `labels_of_80_ranks_are_those_of_one`, 80
//! ranks that share their models after each step label 99.8 % of the calls from the second step on
//! like a single detector of all ranks, and 99.1 % of all calls; 99.7 % and 99.0 % if they share
//! every third step. The rest are calls that one of the two could not judge yet. In the first step
//! there is no shared knowledge. [`prune`](crate::provenance::prune) with the final model judges
//! early calls alike for any number of ranks.

mod client;
mod delta;
mod exchange;
mod names;
mod params;
mod position;
mod ranking;
mod schedule;
mod state;
mod statistics;
mod sum;
mod table;
mod view;

pub use client::{Client, Synced};
pub use delta::Delta;
pub use exchange::{Exchange, Local};
pub use names::FunctionName;
pub use params::{CheckedServerParams, ServerParams};
pub use position::Position;
pub use ranking::{RankSummary, Ranking, Ranks};
pub use schedule::Schedule;
pub use state::Server;
pub use statistics::{FunctionStats, StepStats};
pub use sum::Sum;
pub use view::View;
