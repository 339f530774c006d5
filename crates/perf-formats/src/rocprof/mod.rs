//! JSON of `rocprofv3`, the profiler of ROCm: read.
//!
//! A file is an object with `rocprofiler-sdk-tool`, an array with an entry a process. It is read
//! through a window, packed with gzip or not; times are whole nanoseconds.
//!
//! # What is read as what
//!
//! | record | becomes |
//! |---|---|
//! | `kernel_dispatch` | work on a stream of the agent, named by `kernel_symbols` |
//! | `memory_copy` | work on a stream of the GPU that it goes to, or else comes from, with its bytes |
//! | `scratch_memory` | calls on a location beside the queue: no work |
//! | `hip_api`, `hsa_api`, `rccl_api`, `rocdecode_api`, `rocjpeg_api`, ... | calls of the thread, named by `strings` |
//! | `memory_allocation` | calls of the thread, with their bytes |
//! | `marker_api` | calls of the thread, marked by the user, with the text of the marker; an instant where it has no length |
//! | counters, samples, and sections that nobody knows | not kept, counted as [`rules::SECTION`] |
//!
//! * **Agents** are CPUs (type 1) and GPUs (type 2). A GPU has the number it has among the GPUs, or
//!   else its handle, and its product name.
//! * **Streams**: a location an agent, queue and stream, since the same stream may run on several
//!   queues. Stream 0 is real. Recordings with hundreds of streams of one event each are read best
//!   by device.
//! * **Launches**: a call and the work with its internal correlation id become a
//!   [`Link`](perf_core::Link).
//! * Several entries, or several files, are ranks in that order unless the name of the file tells.

mod format;
mod reader;
mod records;
pub mod rules;

pub use format::{FORMAT, open, read};
