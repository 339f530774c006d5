//! Reader of Nsight Systems recordings, the SQLite databases that `nsys export --type sqlite`
//! writes.
//!
//! An export is an SQLite database with times as integers in nanoseconds. Its schema changes
//! between releases, and empty tables are omitted. The reader therefore checks which tables and
//! columns exist, and treats missing ones as empty. Both generations are supported: with
//! `META_DATA_EXPORT` (schema 3, which also has `greenContextId`) and with `EXPORT_META_DATA`
//! (before).
//!
//! # Conventions
//!
//! | table | becomes |
//! |---|---|
//! | `CUPTI_ACTIVITY_KIND_KERNEL` | an activity, named by `shortName`, or else `demangledName`, `mangledName`; the next of these is [`Region::canonical`](perf_core::Region::canonical), so that instances of a template are separate regions |
//! | `CUPTI_ACTIVITY_KIND_MEMCPY`, `_MEMSET` | an activity named as in Kineto, such as `Memcpy HtoD (Pageable -> Device)`, with its bytes |
//! | `CUPTI_ACTIVITY_KIND_RUNTIME`, `_DRIVER` | a call on a thread |
//! | `NVTX_EVENTS` | push-pop ranges: user-marked calls on a thread; start-end ranges: calls on a location of the process; marks: instants |
//! | `CUPTI_ACTIVITY_KIND_SYNCHRONIZATION` | calls on a location next to the stream, because they are not device work |
//! | `StringIds` | names |
//! | `PROCESSES`, `ThreadNames`, `TARGET_INFO_GPU`, `TARGET_INFO_SYSTEM_ENV` | names of processes, threads, devices, the host |
//! | `TARGET_INFO_SESSION_START_TIME` | [`Clock::realtime`](perf_core::Clock::realtime) |
//! | the metadata of the export | properties |
//! | all other tables with a column `start`, `timestamp` or `rawTimestamp` | skipped, with their rows counted as [`rules::TABLE`] |
//!
//! * **Processes** are identified by `globalPid`. If several have device activities, each is a
//!   rank. Activities without a process are counted as [`rules::NO_PROCESS`]. A **stream** is one
//!   location for each process, device, context (with its green context) and number, because the
//!   number alone is not unique.
//! * **Launches**: a call of the runtime and the activity with its `correlationId`, within one
//!   process.
//! * **Missing values** are `NULL`, or their representation in old exports: 0 for ids, 0 or -1 for
//!   the end of a range, and empty text.
//! * The thread of a call is the lower part of its `globalTid`, the process the upper part.
//!
//! # Untrusted databases
//!
//! The file is opened read-only and as immutable: no file is created next to it, and the contents
//! of a write-ahead log are ignored. Only plain tables are read, never views. More rows than the
//! file can hold are an error. A row with a value of a wrong type or range is skipped and counted
//! with table, column and row. Damage ends a table; the rows before it are kept. The tables of a
//! truncated database are read as far as possible.

mod database;
mod event_tables;
mod format;
mod names;
mod reader;
pub mod rules;

pub use format::{FORMAT, open};
