//! Detection on all ranks of a program: what each learns reaches all, without a server.
//!
//! A [`Client`](perf_anomaly::server::Client) of `perf-anomaly` talks to a parameter server through an
//! [`Exchange`](perf_anomaly::server::Exchange). Here every rank has a copy of that server. Clients hand
//! their deltas in; a *round* gathers the deltas of all ranks on each of them, and each merges them in the
//! order of the clients' numbers. Copies that merge the same in the same order are the same to the bit, so
//! that nobody has to send a model: what travels are deltas.
//!
//! | rounds | when | labels |
//! |---|---|---|
//! | [`Background`] | a thread, each so many milliseconds, by non-blocking collectives; the program never waits | depend on when views came, as with any parameter server |
//! | [`Lockstep`] | when all ranks [say so](Lockstep::round), as after each step of a program in step anyway | the same however clients are spread over ranks |
//!
//! In both, what is known in the end is the same: [`Model::merge`](perf_anomaly::Model::merge) says how far the
//! order of merges matters for each detector. A round costs each rank the merging of all deltas, a few
//! microseconds a function and rank; for thousands of ranks that all touch hundreds of functions in each
//! round use longer periods.

mod background;
mod lockstep;
mod post;
mod replica;

pub use background::{Background, Finished, Pace};
pub use lockstep::Lockstep;
pub use post::Post;
