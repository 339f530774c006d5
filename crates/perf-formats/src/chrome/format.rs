//! [`FORMAT`]: recognises and opens Chrome traces; [`open()`]: opens several files, one for each
//! rank, as one trace; [`read()`]: reads from any reader.

use super::reader;
use crate::json::{Source, unpacked_head};
use crate::read_context::ReadContext;
use crate::timeline::{longest, open_file, open_files};
use crate::{Format, Input, OpenOptions, Recording, Result};
use perf_core::Job;
use std::io::Read;
use std::path::Path;

/// Chrome Trace Event JSON, as listed in [`Formats`](crate::Formats).
pub const FORMAT: Format = Format {
    name: "chrome",
    extensions: &["json", "json.gz"],
    describe: "Chrome Trace Event JSON, as PyTorch Kineto writes it, also compressed with gzip",
    probe,
    open: open_one,
    ranks: Some(|paths, options, job| open(paths, options, job)),
};

fn probe(input: &Input) -> u8 {
    let head = unpacked_head(&input.head);
    let text = head
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(&head)
        .trim_ascii_start();
    let holds = |word: &[u8]| head.windows(word.len()).any(|part| part == word);
    match text.first() {
        Some(b'{') if holds(b"\"traceEvents\"") => 95,
        Some(b'[') if holds(b"\"ph\"") => 90,
        Some(b'{') if holds(b"\"deviceProperties\"") || holds(b"\"schemaVersion\"") => 60,
        Some(b'{') if is_json(input) && !holds(b"\"rocprofiler-sdk-tool\"") => 20,
        _ => 0,
    }
}

fn is_json(input: &Input) -> bool {
    let name = input.path.to_string_lossy();
    name.ends_with(".json") || name.ends_with(".json.gz")
}

fn open_one(path: &Path, options: &OpenOptions, job: &Job) -> Result<Recording> {
    open(&[path], options, job)
}

/// Opens several files, one for each rank, as one trace.
///
/// Files are read in parallel on [`OpenOptions::threads`] threads; the result does not depend on
/// their number.
///
/// ```no_run
/// use perf_core::Job;
/// use perf_formats::{OpenOptions, chrome};
/// let ranks = ["rank-0.json.gz", "rank-1.json.gz"];
/// let recording = chrome::open(&ranks, &OpenOptions::new(), &Job::default())?;
/// println!("{}", recording.diagnostics);
/// # Ok::<(), perf_formats::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`Error::Io`](crate::Error::Io) if the system cannot read,
/// [`Error::Truncated`](crate::Error::Truncated) or [`Error::Malformed`](crate::Error::Malformed)
/// for a file without events, [`Error::Usage`](crate::Error::Usage) if there is no path, and
/// [`Error::Strict`](crate::Error::Strict) if strict reading needs a repair.
pub fn open<P: AsRef<Path> + Sync>(
    paths: &[P],
    options: &OpenOptions,
    job: &Job,
) -> Result<Recording> {
    let options = &ReadContext::new(options, job);
    open_files(paths, options, FORMAT.name, |path, budget| {
        let source = Source::open(path, longest(options))?;
        Ok(vec![reader::read(source, options, budget)?])
    })
}

/// Reads a trace from any reader; `name` is used in messages.
///
/// ```
/// use perf_core::{Job, LocationKind};
/// use perf_formats::{OpenOptions, chrome};
/// let text = r#"[{"ph": "X", "cat": "kernel", "name": "axpy", "pid": 0, "tid": 7, "ts": 1.5, "dur": 2}]"#;
/// let recording = chrome::read("text", text.as_bytes(), &OpenOptions::new(), &Job::default())?;
/// let trace = recording.trace().expect("it is one");
/// let stream = &trace.definitions().system.locations()[0];
/// assert_eq!((stream.name.as_str(), stream.kind), ("stream 7", LocationKind::AcceleratorStream));
/// assert_eq!(trace.range().map(|range| range.len()), Some(2001));
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
        Ok(vec![reader::read(source, options, budget)?])
    })
}
