//! Detection on all ranks of a program: what each learns reaches all, without a server.
//!
//! A [`Client`](perf_anomaly::server::Client) of `perf-anomaly` talks to a parameter server through an
//! [`Exchange`](perf_anomaly::server::Exchange). Here every rank has a copy of that server. Clients hand
//! their deltas in; in a *round* deltas are merged on their way up a tree of ranks, and their sum comes down to
//! all copies. What a rank does in a round does not grow with the number of ranks: it merges what its neighbours in
//! the tree send, and adds one sum. What is known of single ranks goes to rank 0 and stays there.
//!
//! | rounds | when | needs | labels |
//! |---|---|---|---|
//! | [`Background`] | a thread, each so many milliseconds; the program never waits | `Threading::Multiple` | depend on when views came, as with any parameter server |
//! | [`Polled`] | whenever the program [polls](Polled::poll); it never waits | nothing | the same |
//! | [`Lockstep`] | when all ranks [say so](Lockstep::round), as after each step of a program in step anyway | nothing | the same however clients are spread over ranks |
//!
//! Deltas are merged as leaves of a tree over clients, in the order in which these came up and of their numbers,
//! wherever they are: in step all that is known is the same to the bit for any number of ranks, with each
//! detector. Otherwise it depends on which deltas came in which round, as far as
//! [`Model::merge`](perf_anomaly::Model::merge) says, which for the default detector is not at all.

mod background;
mod finished;
mod lockstep;
mod polled;
mod post;
mod rounds;

pub use background::Background;
pub use finished::{Finished, Pace};
pub use lockstep::Lockstep;
pub use polled::Polled;
pub use post::Post;
