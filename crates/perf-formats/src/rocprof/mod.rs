//! Reader of the JSON of `rocprofv3`, the profiler of ROCm.
//!
//! A file is an object with `rocprofiler-sdk-tool`, an array with one entry for each process. It is
//! read through a window, compressed with gzip or not. Times are integers in nanoseconds.
//!
//! # Conventions
//!
//! | record | becomes |
//! |---|---|
//! | `kernel_dispatch` | an activity on a stream of the agent, named by `kernel_symbols` |
//! | `memory_copy` | an activity on a stream of the destination GPU (otherwise of the source GPU), with its bytes |
//! | `scratch_memory` | calls on a location next to the queue, because they are not device work |
//! | `hip_api`, `hsa_api`, `rccl_api`, `rocdecode_api`, `rocjpeg_api`, ... | calls of the thread, named by `strings` |
//! | `memory_allocation` | calls of the thread, with their bytes |
//! | `marker_api` | user-marked calls of the thread, with the text of the marker; an instant if the duration is 0 |
//! | counters, samples, and unknown sections | skipped and counted as [`rules::SECTION`] |
//!
//! * **Agents** are CPUs (type 1) and GPUs (type 2). The name of a GPU consists of its number among the GPUs, or of its
//!   handle if it has no number, and of its product name.
//! * **Streams**: one location for each agent, queue and stream, because a stream may run on
//!   several queues. Stream 0 is a real stream. Recordings with hundreds of streams of one event
//!   each are best viewed by device.
//! * **Launches**: a call and the activity with its internal correlation id become a
//!   [`Link`](perf_core::Link).
//! * Several entries or files are ranks in that order, unless the file names contain ranks.

mod format;
mod reader;
mod records;
pub mod rules;

pub use format::{FORMAT, open, read};
