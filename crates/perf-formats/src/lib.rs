//! Readers and writers of the recordings of parallel programs: files in, the nouns of
//! [`perf_core`] out, and back.
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
//! | [BP4](adios) of TAU's trace plug-in | reads | experimental | events as they happen, or [`Trace`](perf_core::Trace) |
//!
//! *Usable* does what its documentation says, tested on recordings of real tools; *experimental* is tested on what was
//! made for it alone.
//!
//! [`open`] finds out the format of a path and reads it. [`OpenOptions`] say what to read of it,
//! on how many cores, and whether a damaged recording is an error or is repaired and counted.
//! [`open_ranks`] opens several files, a rank each, as one trace on one clock.
//! Each format can do more through a module of its own: [`otf2::Reader`] walks through all events
//! in order of time without holding them, and [`otf2::Archive`] takes bytes from anywhere.
//!
//! ```
//! use perf_core::Job;
//! use perf_formats::{Formats, OpenOptions};
//! # #[cfg(feature = "chrome")] {
//! let file = std::env::temp_dir().join(format!("perf-formats-doc-{}.json", std::process::id()));
//! let text = r#"{"traceEvents": [{"ph": "X", "name": "solve", "pid": 0, "tid": 1, "ts": 1.5, "dur": 2}, {"#;
//! std::fs::write(&file, text)?;
//! // The file is cut: what came before is there, and the cut is counted.
//! let recording = perf_formats::open(&file, &OpenOptions::new(), &Job::default())?;
//! assert_eq!((recording.format, recording.trace().map(|trace| trace.len())), ("chrome", Some(2)));
//! assert!(recording.diagnostics.repairs() > 0);
//! // Strictly, it is an error with its place.
//! let strict = perf_formats::open(&file, &OpenOptions::new().strict(true), &Job::default());
//! assert!(strict.expect_err("it is cut").place().is_some());
//! # std::fs::remove_file(&file)?;
//! # }
//! // A format of your own joins the list.
//! assert!(Formats::default().iter().all(|format| format.name != "mine"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How
//! [`probe()`] shows each format the first 512 bytes of a file, or the names in a folder; each says how sure it is that
//! this is its own, from 0 to 100, and the surest reads it. A reader splits bytes into records by the grammar of its
//! format, gives dense ids to what the file numbers as it likes, unifies what ranks defined alike, and corrects
//! times: between two clock offsets `(t_0, o_0)` and `(t_1, o_1)` of an OTF2 location, time `t` becomes
//!
//! ```text
//! t + o_0 + rint((o_1 - o_0) (t - t_0) / (t_1 - t_0))
//! ```
//!
//! What breaks a rule of the format is mended and counted by a [`Rule`](perf_core::Rule) of the format's own module
//! (`rules`), or is an [`Error`] that says where. Parts are read side by side and put together in the order of the file.
//!
//! # Cost
//! Traces are held in columns of 12 bytes an enter or leave, profiles row by row as they are asked for, and
//! text is streamed. [`otf2::Reader::estimate`] tells the memory of an archive before it is read, and
//! [`Limits::memory`](perf_core::Limits::memory) bounds it. Files are read on all cores, by location and by chunk, unless
//! [`OpenOptions::threads`] says otherwise; what is read does not depend on it.
//!
//! # What to mind
//! * Look at [`Recording::diagnostics`]: a repair is counted, not shouted.
//! * A [window](OpenOptions::window) leaves out what began before it: calls that span it are unknown.
//! * Memory is unlimited by default. Who opens files of strangers sets [`Limits`](perf_core::Limits).
//! * Regions of one name, source file and line are one function over all ranks ([`Unify`]). Where a recording
//!   has neither file nor line, functions of one name are one.
//!
//! Input is not trusted: no file makes a reader panic, loop for ever or allocate more than its
//! bytes warrant. What cannot be read is an [`Error`] that says file, byte and record.
//!
//! # Features
//! * `otf2` (default): OTF2 archives.
//! * `paraver` (default): Paraver traces.
//! * `cube` (default): Cube profiles.
//! * `tau` (default): TAU profiles.
//! * `streams` (default): streams of events as text.
//! * `adios` (default): streams that TAU writes through ADIOS2.
//! * `chrome` (default): Chrome Trace Event JSON.
//! * `rocprof` (default): JSON of rocprofv3.
//! * `nsys`: SQLite exports of Nsight Systems. Compiles the C of SQLite.
//! * `perfetto`: Perfetto traces.
//! * `parallel` (default): reads on all cores. What is read is the same without it.
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
mod foreign;
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
mod probe;
#[cfg(any(
    feature = "otf2",
    feature = "paraver",
    feature = "cube",
    feature = "tau",
    feature = "chrome",
    feature = "rocprof",
    feature = "nsys"
))]
mod reading;
#[cfg(feature = "rocprof")]
pub mod rocprof;
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
#[cfg(any(feature = "cube", feature = "paraver", feature = "tau"))]
#[cfg_attr(
    not(feature = "cube"),
    allow(dead_code, reason = "metadata of TAU have no attributes")
)]
mod xml;

pub use error::{Error, Result};
pub use options::OpenOptions;
pub use perf_core::Unify;
pub use probe::{Content, Format, Formats, Input, Ranks, Recording, open, open_ranks, probe};
