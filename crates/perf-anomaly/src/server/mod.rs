//! What all ranks know together: a parameter server as a library.
//!
//! Each rank has a [`Client`]. Every few steps ([`Schedule`]) it sends a [`Delta`]: what its detector
//! learned since the last one, and what its calls and anomalies were. The [`Server`] merges deltas in
//! any order and answers with a [`View`], what is new since the last one of this client, which it puts
//! together to the whole that the detector then works with. Nobody
//! waits for anybody: there is no barrier, a view may come late or not at all, and a delta that did
//! not get through is sent again and counted once.
//!
//! Where there are many ranks and no server, each may have a copy of one: deltas are merged on their way to
//! a [`Sum`], which each copy adds.
//!
//! How messages travel is an [`Exchange`]'s matter. [`Local`] is one for threads of a process; for
//! others, [`Delta`] and [`View`] have bytes.
//!
//! # How far labels depend on the number of ranks
//!
//! The merged model of [`Tail`](crate::Tail) is the same to the bit for any number of clients and any
//! order of messages, that of [`Sstd`](crate::Sstd) up to rounding. What was labelled on the way is
//! labelled with the knowledge of the last view, so it depends on how old that is: in the test
//! `labels_of_80_ranks_are_those_of_one`, 80 ranks that share their models after each step label 99.8 %
//! of the calls from the second step on as one detector does that sees all of them, 99.1 % of all calls, and
//! 99.7 % and 99.0 % when they share every third step; the rest are calls of which one of both could not say
//! anything yet. In the first step nobody knows of anybody else. What was judged too early is judged alike for any number of ranks by
//! [`prune`](crate::provenance::prune) with the final model.

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
