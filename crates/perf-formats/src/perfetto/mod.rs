//! Perfetto traces: written, for the viewer of that name and its trace processor.
//!
//! A file is a list of `TracePacket` messages in protobuf, all of one packet sequence. Tracks are
//! described by `TrackDescriptor`, what happens on them by `TrackEvent`.
//!
//! | in the trace | in the file |
//! |---|---|
//! | a group that is no accelerator | a track with a `ProcessDescriptor` |
//! | an accelerator | a track below that of the process which drives it |
//! | a CPU thread | a track with a `ThreadDescriptor` |
//! | a stream, and any other location | a track below that of its group; work of a stream that overlaps goes to further tracks of it, its *lanes* |
//! | a call, work | `TYPE_SLICE_BEGIN` and `TYPE_SLICE_END` |
//! | a metric of a location | a track with a `CounterDescriptor`, and `TYPE_COUNTER` |
//! | a link | a flow from slice to slice |
//! | a message | `TYPE_INSTANT` at both ends, and a flow between them |
//! | other events with a name | `TYPE_INSTANT` |
//! | an attribute of an enter | a `DebugAnnotation` of the slice |
//!
//! Names are interned. Times are nanoseconds since the first event; a `ClockSnapshot` dates them where
//! the clock knows of real time. The same trace always gives the same bytes. Numbers of processes and
//! threads are those of groups and locations in the trace, since the viewer wants them unique.

mod proto;
mod track;
mod write;

pub use write::{Written, write};
