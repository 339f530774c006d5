//! Chrome Trace Event JSON, as PyTorch's Kineto and many others write it: read and written.
//!
//! A file is an object with `traceEvents`, or a bare array of events, packed with gzip or not (also
//! in several members). It is read through a window: memory grows with what is kept and not with the
//! file. Text takes some 280 bytes an event. What stays of a call is 24 bytes, 32 more for each of
//! its attributes and 20 for a link; while it is read, calls, ids and flows take up to 60 more.
//!
//! # What is read as what
//!
//! | event | becomes |
//! |---|---|
//! | X of category `kernel`, `gpu_memcpy`, `gpu_memset` (older: `Kernel`, `Memcpy`, `Memset`) | work: enter and leave on a stream, which may overlap, see [`intervals`](perf_core::intervals()) |
//! | X of category `gpu_user_annotation`, `cuda_sync` | calls on a location beside the stream: it is no work |
//! | X of category `mtia_ccp_events`, or a device of another maker's `_memcpy` and `_memset` | work, likewise |
//! | X of a process `/device:KIND:N`, as XLA names it, on a thread `Stream #N`, or `XLA Ops` where it has no stream | work, likewise; other threads of it are locations beside the stream |
//! | any other X | a call on the thread `tid` of the process `pid` |
//! | B, E | a call, paired on its thread: an end with a name ends the last open call of that name |
//! | i, I, R | an instant, [`Event::Other`](perf_core::Event::Other) with its name as kind |
//! | C | a sample of metrics, one a series, on a location of the process |
//! | b, n, e (older: S, T, p, F) | calls and instants on a location a process and category; paired by category, `scope` and `id` or `id2`, also with an end in another process unless the id is a local one |
//! | s, t, f | a [`Link`](perf_core::Link) between the calls it leads to |
//! | M | names of processes and threads |
//! | P, N, O, D, v, V, c, ... | not kept, counted as [`rules::PHASE`] |
//!
//! * **Device and stream** are `args.device` and `args.stream`; `pid` and `tid` stand in where these
//!   are missing, by convention alone. A stream is one location a rank, device, context and number. Stream
//!   0 is the default one of ROCm, 7 that of CUDA, and -1 means that there is none.
//! * **Times** are microseconds as decimal text, numbers or strings, and become whole nanoseconds
//!   without passing through floating point. `displayTimeUnit` is for display alone. Tick 0 is the
//!   first event. `baseTimeNanoseconds` gives [`Clock::realtime`](perf_core::Clock::realtime).
//! * **Launches**: a call of category `cuda_runtime`, `cuda_driver` or the like and the work with the
//!   same `args.correlation` become a link, within one rank. Where several processes of a file have one
//!   id, that of the process that drives the device is meant: see [`rules::SHARED`]. Work without a
//!   launch is kept, and counted as [`rules::UNLINKED`]. Flows that say the same are not said again.
//! * **Kinds of regions**: kernels are functions of CUDA or HIP, copies and fills data transfers, calls
//!   of the runtime wrappers of it, `user_annotation` is marked by the user, `overhead` is the
//!   measurement's. Names are kept whole.
//! * **Kept of `args`**: device, stream and context say where, `correlation` and `bytes` are attributes
//!   of the enter, and so are `step`, `seq_id`, `model_chunk` and `mb_id` of a training job. The duration of such
//!   a call may be negative; it is then the attribute `duration`, in nanoseconds. The arguments of a collective
//!   operation become the attributes `collective` (its number in OTF2), `group` (a communicator), `sequence`, `sent` and
//!   `received` in bytes. Events with other ones are counted as [`rules::ARGUMENTS`].
//! * **Calls of a thread that overlap** without nesting go to a further lane of it: a location with the
//!   property `lane`.
//!
//! # Several ranks
//! [`open`] takes a file a rank. The rank is `distributedInfo.rank`, or else the number in the name of
//! the file, or else that in the order of the paths. Clocks are aligned by `baseTimeNanoseconds`;
//! without it times are taken as they are. Files that begin far from each other are counted as
//! [`rules::CLOCKS`], and so are those without it where others have it, which begin with these.
//!
//! # Damage
//! What is wrong with a file is counted with the byte and the number of the event: see [`rules`]. A file
//! that is cut gives all events before the cut.

mod event;
mod facts;
mod format;
mod phases;
mod reader;
pub mod rules;
mod write;

pub use format::{FORMAT, open, read};
pub use write::{Written, write};
