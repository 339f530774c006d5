//! Nsight Systems recordings, as `nsys export --type sqlite` writes them: read.
//!
//! An export is an SQLite database with integer nanoseconds. Its schema drifts from release to
//! release, and tables without rows are not there: tables and columns are looked for, and what is
//! missing is empty. Both generations are read, with `META_DATA_EXPORT` (schema 3, which also has
//! `greenContextId`) and with `EXPORT_META_DATA` (before).
//!
//! # What is read as what
//!
//! | table | becomes |
//! |---|---|
//! | `CUPTI_ACTIVITY_KIND_KERNEL` | work, named by `shortName`, or else `demangledName`, `mangledName`; the next of these is [`Region::canonical`](perf_core::Region::canonical), so that instances of a template are regions of their own |
//! | `CUPTI_ACTIVITY_KIND_MEMCPY`, `_MEMSET` | work named as Kineto does, such as `Memcpy HtoD (Pageable -> Device)`, with its bytes |
//! | `CUPTI_ACTIVITY_KIND_RUNTIME`, `_DRIVER` | a call on a thread |
//! | `NVTX_EVENTS` | ranges pushed and popped: calls on a thread, marked by the user; started and ended: calls on a location of the process; marks: instants |
//! | `CUPTI_ACTIVITY_KIND_SYNCHRONIZATION` | calls on a location beside the stream: it is no work |
//! | `StringIds` | names |
//! | `PROCESSES`, `ThreadNames`, `TARGET_INFO_GPU`, `TARGET_INFO_SYSTEM_ENV` | names of processes, threads, devices, the host |
//! | `TARGET_INFO_SESSION_START_TIME` | [`Clock::realtime`](perf_core::Clock::realtime) |
//! | the metadata of the export | properties |
//! | all other tables with a column `start`, `timestamp` or `rawTimestamp` | not kept, their rows counted as [`rules::TABLE`] |
//!
//! * **Processes** are told apart by `globalPid`: each with work is a rank of its own if there are
//!   several. Work that does not name one is counted as [`rules::NO_PROCESS`]. A
//!   **stream** is one location a process, device, context (with its green context) and number, since
//!   the number alone is not unique.
//! * **Launches**: a call of the runtime and the work with its `correlationId`, within one process.
//! * **Nothing** is `NULL`, or what old exports write for it: 0 for ids, 0 or -1 for the end of a range,
//!   a text without letters.
//! * The thread of a call is the lower part of its `globalTid`, the process the upper part.
//!
//! # Untrusted databases
//! The file is opened for reading alone, as one that nobody writes to: nothing is written beside it,
//! and what is only in a write-ahead log is not seen. Only plain tables are read, never views. More
//! rows than the file can hold are an error. A value of a wrong type or out of range costs its row,
//! which is counted with table, column and row; damage ends a table, with what came before kept. Of a
//! database that was cut the tables are read as far as they go.

mod database;
mod format;
mod names;
mod reader;
mod rows;
pub mod rules;

pub use format::{FORMAT, open};
