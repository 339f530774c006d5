//! Readers and writers for recordings of parallel programs. Files are read into the types of
//! [`perf_core`] and written from them.
//!
//! | format | reads, writes | status | read as |
//! |---|---|---|---|
//! | [OTF2](otf2), versions 1.x to 3.x | reads and writes | usable | [`Trace`](perf_core::Trace) |
//! | [Paraver](paraver) `.prv`, with `.pcf` and `.row` | reads and writes | usable | [`Trace`](perf_core::Trace) |
//! | [CUBE4](cube) `.cubex`, versions 4.0 to 4.7 | reads and writes | usable | [`Profile`](perf_core::Profile) |
//! | [Cube3](cube) `.cube` | reads | usable | [`Profile`](perf_core::Profile) |
//! | [TAU](tau) text profiles and `.ppk` | reads | usable | [`Profile`](perf_core::Profile) |
//! | [Streams](streams) of events, tab-separated or newline-delimited JSON | reads | tables usable, JSON experimental | events as they happen, or [`Trace`](perf_core::Trace) |
//! | [Chrome Trace Event JSON](chrome), as PyTorch Kineto writes it | reads and writes | usable | [`Trace`](perf_core::Trace) |
//! | [rocprofv3 JSON](rocprof) | reads | usable | [`Trace`](perf_core::Trace) |
//! | Nsight Systems, `.sqlite` (feature `nsys`) | reads | usable, tables before schema 3 experimental | [`Trace`](perf_core::Trace) |
//! | Perfetto protobuf (feature `perfetto`) | writes | experimental | - |
//! | [BP3, BP4 and BP5](adios) of TAU's trace plug-in | reads | BP3 usable, BP4 and BP5 experimental | events as they happen, or [`Trace`](perf_core::Trace) |
//!
//! *Usable* formats do what their documentation says and are tested with recordings of real tools.
//! *Experimental* formats are tested with synthetic recordings only.
//!
//! [`open`] detects the format of a path and reads it. [`OpenOptions`] select the events to read,
//! the number of threads, and whether a damaged recording is an error or is repaired and counted.
//! [`open_ranks`] opens several files, one for each rank, as one trace on one clock. The modules of
//! the formats offer more: [`otf2::Reader`] iterates over all events in order of time without
//! holding them in memory, and [`otf2::Archive`] reads from any source of bytes.
//!
//! ```
//! use perf_core::Job;
//! use perf_formats::{Formats, OpenOptions};
//! # #[cfg(feature = "chrome")] {
//! let file = std::env::temp_dir().join(format!("perf-formats-doc-{}.json", std::process::id()));
//! let text = r#"{"traceEvents": [{"ph": "X", "name": "solve", "pid": 0, "tid": 1, "ts": 1.5, "dur": 2}, {"#;
//! std::fs::write(&file, text)?;
//!
//! // The file is truncated: the events before the end are read, and the truncation is counted.
//! let recording = perf_formats::open(&file, &OpenOptions::new(), &Job::default())?;
//! assert_eq!((recording.format, recording.trace().map(|trace| trace.len())), ("chrome", Some(2)));
//! assert!(recording.diagnostics.repairs() > 0);
//!
//! // In strict mode, the truncation is an error with its place.
//! let strict = perf_formats::open(&file, &OpenOptions::new().strict(true), &Job::default());
//! assert!(strict.expect_err("it is cut").place().is_some());
//! # std::fs::remove_file(&file)?;
//! # }
//! // Further formats can be added to the list.
//! assert!(Formats::default().iter().all(|format| format.name != "mine"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Method
//!
//! [`probe()`] shows each format the first 512 bytes of a file, or the names in a folder. Each
//! format returns its confidence, from 0 to 100, and the most confident format reads the input. A
//! reader splits the bytes into records by the grammar of its format. It replaces the identifiers
//! of the file by dense ones, unifies definitions that several ranks share, and corrects
//! timestamps: between two clock offsets `(t_0, o_0)` and `(t_1, o_1)` of an OTF2 location, time
//! `t` becomes
//!
//! ```text
//! t + o_0 + rint((o_1 - o_0) (t - t_0) / (t_1 - t_0))
//! ```
//!
//! A violation of the format is either repaired and counted under a [`Rule`](perf_core::Rule) of
//! the format's own module (`rules`), or returned as an [`Error`] with its place. Parts are read in
//! parallel and joined in the order of the file.
//!
//! # Cost
//!
//! Traces are held in columns of 12 bytes for each enter or leave. Profiles are loaded row by row
//! on request, and text is streamed. [`otf2::Reader::estimate`] predicts the memory of an archive
//! before it is read, and [`Limits::memory`](perf_core::Limits::memory) bounds it. Files are read
//! on all cores, by location and by chunk, unless [`OpenOptions::threads`] sets another number; the
//! result does not depend on it.
//!
//! # Pitfalls
//!
//! * Check [`Recording::diagnostics`]: repairs are counted there and not reported otherwise.
//! * A [window](OpenOptions::window) drops the events before its begin: calls that span the window
//!   are unknown.
//! * Memory is unlimited by default. Set [`Limits`](perf_core::Limits) before reading untrusted
//!   files.
//! * Regions of the same name, source file and line are one function over all ranks ([`Unify`]). If
//!   a recording has neither file nor line, functions of the same name are one.
//!
//! Input is not trusted: no file makes a reader panic, loop without end, or allocate memory out of
//! proportion to its size. Unreadable input is an [`Error`] that names the file, the byte and the
//! record.
//!
//! # Features
//!
//! * `otf2` (default): OTF2 archives.
//! * `paraver` (default): Paraver traces.
//! * `cube` (default): Cube profiles.
//! * `tau` (default): TAU profiles.
//! * `streams` (default): streams of events as text.
//! * `adios` (default): streams that TAU writes through ADIOS2.
//! * `chrome` (default): Chrome Trace Event JSON.
//! * `rocprof` (default): JSON of rocprofv3.
//! * `nsys`: SQLite exports of Nsight Systems. Compiles the C sources of SQLite.
//! * `perfetto`: Perfetto traces.
//! * `parallel` (default): reads on all cores. The result is the same without it.
#![doc(html_root_url = "../")]

#[cfg(feature = "adios")]
pub mod adios;
#[cfg(any(
    feature = "cube",
    feature = "tau",
    feature = "paraver",
    feature = "streams",
    feature = "chrome",
    feature = "rocprof"
))]
#[cfg_attr(
    not(any(feature = "cube", feature = "tau")),
    allow(
        dead_code,
        reason = "companions of Paraver traces are read whole, streams line by line"
    )
)]
mod bytes;
#[cfg(feature = "chrome")]
pub mod chrome;
#[cfg(feature = "cube")]
pub mod cube;
mod error;
mod formats;
#[cfg(any(feature = "chrome", feature = "rocprof"))]
#[cfg_attr(
    not(feature = "chrome"),
    allow(
        dead_code,
        reason = "recordings of ROCm are read alone, and their numbers are whole"
    )
)]
mod json;
#[cfg(any(feature = "chrome", feature = "paraver", feature = "perfetto"))]
mod lanes;
#[cfg(feature = "nsys")]
pub mod nsys;
mod options;
#[cfg(feature = "otf2")]
pub mod otf2;
#[cfg(feature = "paraver")]
pub mod paraver;
#[cfg(feature = "perfetto")]
pub mod perfetto;
#[cfg(any(
    feature = "otf2",
    feature = "paraver",
    feature = "cube",
    feature = "tau",
    feature = "chrome",
    feature = "rocprof",
    feature = "nsys"
))]
mod read_context;
#[cfg(feature = "rocprof")]
pub mod rocprof;
#[allow(
    unused_macros,
    unused_imports,
    reason = "without formats there are no rules"
)]
mod rule_table;
#[cfg(feature = "streams")]
pub mod streams;
#[cfg(feature = "tau")]
pub mod tau;
#[cfg(any(feature = "chrome", feature = "rocprof"))]
#[cfg_attr(
    not(feature = "chrome"),
    allow(
        dead_code,
        reason = "recordings of ROCm have neither counters nor flows"
    )
)]
mod timeline;
#[cfg(any(feature = "otf2", feature = "streams"))]
mod timestamps;
mod unsupported;
#[cfg(any(feature = "cube", feature = "paraver", feature = "tau"))]
#[cfg_attr(
    not(feature = "cube"),
    allow(dead_code, reason = "metadata of TAU have no attributes")
)]
mod xml;

pub use error::{Error, Result};
pub use formats::{Content, Format, Formats, Input, Ranks, Recording, open, open_ranks, probe};
pub use options::OpenOptions;
pub use perf_core::Unify;
