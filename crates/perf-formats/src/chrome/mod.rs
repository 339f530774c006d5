//! Reader and writer of Chrome Trace Event JSON, as written by PyTorch's Kineto and many others.
//!
//! A file is an object with `traceEvents`, or a bare array of events. It may be compressed with
//! gzip, also in several members. The text is read through a window, so that memory grows with the
//! retained data and not with the file. An event takes about 280 bytes of text. A call takes 24
//! bytes in the trace, each of its attributes 32 more, and a link 20. During reading, calls, ids
//! and flows take up to 60 bytes more.
//!
//! # Conventions
//!
//! | event | becomes |
//! |---|---|
//! | X of category `kernel`, `gpu_memcpy`, `gpu_memset` (older: `Kernel`, `Memcpy`, `Memset`) | an activity: enter and leave on a stream, which may overlap, see [`intervals`](perf_core::intervals()) |
//! | X of category `gpu_user_annotation`, `cuda_sync` | calls on a location next to the stream, because they are not device work |
//! | X of category `mtia_ccp_events`, or another vendor's `_memcpy` and `_memset` | an activity on a stream |
//! | X of a process `/device:KIND:N`, as XLA names it, on a thread `Stream #N`, or `XLA Ops` if it has no stream | an activity on a stream; other threads of the process are locations next to the stream |
//! | any other X | a call on the thread `tid` of the process `pid` |
//! | B, E | a call, paired on its thread: an end with a name ends the last open call of that name |
//! | i, I, R | an instant, [`Event::Other`](perf_core::Event::Other) with its name as kind |
//! | C | a sample of metrics, one for each series, on a location of the process |
//! | b, n, e (older: S, T, p, F) | calls and instants on one location for each process and category; paired by category, `scope` and `id` or `id2`, also with an end in another process unless the id is local |
//! | s, t, f | a [`Link`](perf_core::Link) between the calls that it connects |
//! | M | names of processes and threads |
//! | P, N, O, D, v, V, c, ... | skipped and counted as [`rules::PHASE`] |
//!
//! * **Device and stream** are `args.device` and `args.stream`. If these are missing, `pid` and
//!   `tid` are used by convention. A stream is one location for each rank, device, context and
//!   number. Stream 0 is the default stream of ROCm, 7 that of CUDA, and -1 means no stream.
//! * **Times** are microseconds as decimal text, numbers or strings. They are converted to whole
//!   nanoseconds without floating point. `displayTimeUnit` concerns only the display. Tick 0 is the
//!   first event. `baseTimeNanoseconds` sets [`Clock::realtime`](perf_core::Clock::realtime).
//! * **Launches**: a call of category `cuda_runtime`, `cuda_driver` or similar and the activity
//!   with the same `args.correlation` become a link, within one rank. If several processes of a
//!   file use the same id, the process that drives the device is selected: see [`rules::SHARED`].
//!   Activities without a launch are kept, and counted as [`rules::UNLINKED`]. Flows that duplicate
//!   such a link are dropped.
//! * **Kinds of regions**: kernels are functions of CUDA or HIP, copies and fills are data
//!   transfers, calls of the runtime are wrappers of it, `user_annotation` is marked by the user,
//!   and `overhead` belongs to the measurement. Names are kept unabridged.
//! * **Members of `args`**: device, stream and context determine the location. `correlation` and
//!   `bytes` become attributes of the enter, and so do `step`, `seq_id`, `model_chunk` and `mb_id`
//!   of a training job. The duration of such a call may be negative; it then becomes the attribute
//!   `duration`, in nanoseconds. The members of a collective operation become the attributes
//!   `collective` (its number in OTF2), `group` (a communicator), `sequence`, `sent` and `received` in
//!   bytes, and `root` (1 on the root). Events with other members are counted as [`rules::ARGUMENTS`].
//! * **Overlapping calls of a thread** that do not nest are moved to a further lane: a location
//!   with the property `lane`.
//!
//! # Several ranks
//!
//! [`open`] reads one file for each rank. The rank is `distributedInfo.rank`, or else the number in
//! the file name, or else the position in the list of paths. Clocks are aligned by
//! `baseTimeNanoseconds`; without it, times are used unchanged. Files that begin far from each
//! other are counted as [`rules::CLOCKS`]. So are files without `baseTimeNanoseconds` if others
//! have it; they are shifted to begin with these.
//!
//! # Damage
//!
//! Damage is counted with the byte and the number of the event: see [`rules`]. A truncated file
//! yields all events before its end.

mod annotations;
mod event;
mod format;
mod phases;
mod reader;
pub mod rules;
mod write;

pub use format::{FORMAT, open, read};
pub use write::{Written, write};
