//! Writer of Perfetto traces, for the Perfetto viewer and its trace processor.
//!
//! A file is a list of `TracePacket` messages in protobuf, all in one packet sequence. Tracks are
//! described by `TrackDescriptor`, their events by `TrackEvent`.
//!
//! | in the trace | in the file |
//! |---|---|
//! | a group other than an accelerator | a track with a `ProcessDescriptor` |
//! | an accelerator | a track below that of the process that drives it |
//! | a CPU thread | a track with a `ThreadDescriptor` |
//! | a stream, and any other location | a track below that of its group; overlapping activities of a stream are distributed to further tracks, its *lanes* |
//! | a call, an activity | `TYPE_SLICE_BEGIN` and `TYPE_SLICE_END` |
//! | a metric of a location | a track with a `CounterDescriptor`, and `TYPE_COUNTER` |
//! | a link | a flow from slice to slice |
//! | a message | `TYPE_INSTANT` at both ends, and a flow between them |
//! | other events with a name | `TYPE_INSTANT` |
//! | an attribute of an enter | a `DebugAnnotation` of the slice |
//!
//! Names are interned. Times are nanoseconds since the first event. A `ClockSnapshot` relates them to wall-clock time
//! if the trace contains it. The output is reproducible. Processes and threads are numbered like groups and locations
//! of the trace, because the viewer requires unique numbers.

mod proto;
mod track;
mod write;

pub use write::{Written, write};
