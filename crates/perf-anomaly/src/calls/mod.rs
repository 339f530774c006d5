//! Events in, completed calls out: [`Calls`].
//!
//! [`Calls`] is an [`EventSink`](perf_core::EventSink). At the end of each step it turns the events
//! of the step into a [`Batch`] of completed calls, and can then tell of each of them the stack it
//! ran on, what was called before and after it on the same stream, its messages and its counters.
//!
//! Nothing is fatal: wrong, missing and disordered events are mended and counted as
//! [`StreamHealth`]. Memory depends on the number of streams, functions and call paths and on the
//! length of a step, not on that of the stream.

mod call;
mod context;
mod gpu;
mod health;
mod memory;
mod names;
mod node;
mod order;
mod params;
mod paths;
mod repair;
mod sink;
mod stream;

pub use call::{Batch, Call, CallFlags, CallKey};
pub use context::Context;
pub use gpu::{GpuLink, Launch};
pub use health::StreamHealth;
pub use node::NodeState;
pub(crate) use params::CORRELATION;
pub use params::{CallsParams, CheckedCallsParams, ModelBy, Repair, Runtime};
pub use sink::Calls;
pub(crate) use sink::NESTED;
