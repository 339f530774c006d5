//! [`FORMAT`]: recognises and opens JSON of rocprofv3; [`open()`]: opens several files, one for
//! each rank, as one trace; [`read()`]: reads from any reader.

use super::reader;
use crate::json::{Source, unpacked_head};
use crate::read_context::ReadContext;
use crate::timeline::{longest, open_file, open_files};
use crate::{Format, Input, OpenOptions, Recording, Result};
use perf_core::Job;
use std::io::Read;
use std::path::Path;

/// JSON of rocprofv3, as listed in [`Formats`](crate::Formats).
pub const FORMAT: Format = Format {
    name: "rocprof",
    extensions: &["json", "json.gz"],
    describe: "JSON of rocprofv3, the profiler of ROCm, also compressed with gzip",
    probe,
    open: open_one,
    ranks: Some(|paths, options, job| open(paths, options, job)),
};

fn probe(input: &Input) -> u8 {
    let word = b"\"rocprofiler-sdk-tool\"";
    let head = unpacked_head(&input.head);
    let is_own = head.windows(word.len()).any(|part| part == word);
    if is_own { 97 } else { 0 }
}

fn open_one(path: &Path, options: &OpenOptions, job: &Job) -> Result<Recording> {
    open(&[path], options, job)
}

/// Opens several files, one for each rank, as one trace. Each process of a file is a rank, except
/// processes without device activity if another one has some.
///
/// ```no_run
/// use perf_core::Job;
/// use perf_formats::{OpenOptions, rocprof};
/// let recording = rocprof::open(&["908_results.json"], &OpenOptions::new(), &Job::default())?;
/// println!("{}", recording.diagnostics);
/// # Ok::<(), perf_formats::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`Error::Io`](crate::Error::Io) if the system cannot read,
/// [`Error::Truncated`](crate::Error::Truncated) or [`Error::Malformed`](crate::Error::Malformed)
/// for another kind of file, [`Error::Usage`](crate::Error::Usage) if there is no path, and
/// [`Error::Strict`](crate::Error::Strict) if strict reading needs a repair.
pub fn open<P: AsRef<Path> + Sync>(
    paths: &[P],
    options: &OpenOptions,
    job: &Job,
) -> Result<Recording> {
    let options = &ReadContext::new(options, job);
    open_files(paths, options, FORMAT.name, |path, budget| {
        reader::read(Source::open(path, longest(options))?, options, budget)
    })
}

/// Reads a recording from any reader; `name` is used in messages.
///
/// ```
/// use perf_core::Job;
/// use perf_formats::{OpenOptions, rocprof};
/// let text = r#"{"rocprofiler-sdk-tool": [{
///     "agents": [{"id": {"handle": 9}, "type": 2, "logical_node_type_id": 0, "name": "gfx90a"}],
///     "kernel_symbols": [{"kernel_id": 3, "formatted_kernel_name": "axpy"}],
///     "buffer_records": {"kernel_dispatch": [{
///         "start_timestamp": 100, "end_timestamp": 140, "stream_id": {"handle": 0},
///         "dispatch_info": {"agent_id": {"handle": 9}, "queue_id": {"handle": 1}, "kernel_id": 3}
///     }]}
/// }]}"#;
/// let recording = rocprof::read("text", text.as_bytes(), &OpenOptions::new(), &Job::default())?;
/// let trace = recording.trace().expect("it is one");
/// assert_eq!(trace.definitions().system.groups()[0].name, "GPU 0");
/// assert_eq!(trace.definitions().regions[0].name, "axpy");
/// # Ok::<(), perf_formats::Error>(())
/// ```
///
/// # Errors
///
/// Returns the errors of [`open`].
pub fn read(
    name: &str,
    from: impl Read + Send + 'static,
    options: &OpenOptions,
    job: &Job,
) -> Result<Recording> {
    let options = &ReadContext::new(options, job);
    let source = Source::read(name, from, longest(options))?;
    open_file(options, FORMAT.name, |budget| {
        reader::read(source, options, budget)
    })
}
