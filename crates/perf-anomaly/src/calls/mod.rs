//! Conversion of enter and exit events to completed calls with their context ([`Calls`]), repair of
//! the events, and links from accelerator work to its launches.
//!
//! [`Calls`] is an [`EventSink`](perf_core::EventSink). At the end of each step it converts the
//! events of the step to a [`Batch`] of completed calls. It can then return the stack of each of
//! them, the calls before and after it on the same stream, its messages and its counters.
//!
//! No defect is fatal: wrong, missing and unordered events are repaired and counted in
//! [`StreamHealth`]. Memory depends on the number of streams, functions and call paths and on the
//! length of a step, not on the length of the stream.

mod call;
mod context;
mod counter_values;
mod gpu;
mod health;
mod names;
mod nature;
mod node;
mod params;
mod sink;
mod stream;

pub use call::{Batch, Call, CallFlags, CallKey};
pub use context::Context;
pub use gpu::{GpuLink, Launch};
pub use health::StreamHealth;
pub(crate) use nature::{is_running, within};
pub use node::NodeState;
pub(crate) use params::CORRELATION;
pub use params::{CallsParams, CheckedCallsParams, ModelBy, Repair, Runtime};
pub use sink::Calls;
pub(crate) use sink::NESTED;
