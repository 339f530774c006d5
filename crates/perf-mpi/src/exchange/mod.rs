//! Distributed anomaly detection: statistics that each rank learns are merged on all ranks, without a server process.
//!
//! A [`Client`](perf_anomaly::server::Client) of `perf-anomaly` communicates with a parameter
//! server through an [`Exchange`](perf_anomaly::server::Exchange). Here every rank has a copy of
//! that server. In a *round*, the deltas of clients are merged on their way up a tree of ranks, and
//! their sum comes down to all copies. The work of a rank in a round does not grow with the number
//! of ranks: it merges the messages of its neighbours in the tree and adds one sum. Statistics of
//! single ranks are sent to rank 0 and stay there.
//!
//! | type | a round takes place | requires | labels |
//! |---|---|---|---|
//! | [`Background`] | in a thread, at fixed intervals; the program never waits | `Threading::Multiple` | depend on when model updates arrive, as with any parameter server |
//! | [`Polled`] | when the program [polls](Polled::poll); it never waits | nothing | depend on when model updates arrive |
//! | [`Lockstep`] | when all ranks [call it](Lockstep::round), for example after each step | nothing | are the same for any distribution of clients over ranks |
//!
//! Deltas are the leaves of a binary tree over clients, ordered by the first appearance and then
//! the number of the client. The order of merging does not depend on the ranks that hold the
//! clients. With [`Lockstep`] the merged knowledge is therefore identical for any number of ranks,
//! with each detector. Otherwise it depends on the deltas that are merged in each round, as far as
//! [`Model::merge`](perf_anomaly::Model::merge) depends on the order; for the default detector it
//! does not.

mod background;
mod lockstep;
mod mailbox;
mod pace;
mod polled;
mod rounds;

pub use background::Background;
pub use lockstep::Lockstep;
pub use mailbox::Mailbox;
pub use pace::{Finished, Pace};
pub use polled::Polled;
