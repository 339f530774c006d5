//! Chrome traces among the formats of this crate.

use super::reader;
use crate::json::{Source, unpacked_head};
use crate::parallel::Threads;
use crate::timeline::{Part, assemble, rank_of};
use crate::{Content, Error, Format, Input, OpenOptions, Recording, Result};
use std::io::Read;
use std::path::Path;

/// Chrome Trace Event JSON, as [`Formats`](crate::Formats) know it.
pub const FORMAT: Format = Format {
    name: "chrome",
    extensions: &["json", "json.gz"],
    describe: "Chrome Trace Event JSON, as PyTorch Kineto writes it, also packed with gzip",
    probe,
    open: open_one,
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

fn open_one(path: &Path, options: &OpenOptions<'_>) -> Result<Recording> {
    open(&[path], options)
}

/// Opens one file a rank as one trace.
///
/// Files are read side by side on [`OpenOptions::threads`] threads; what is read does not depend on it.
///
/// ```no_run
/// use perf_formats::{OpenOptions, chrome};
/// let ranks = ["rank-0.json.gz", "rank-1.json.gz"];
/// let recording = chrome::open(&ranks, &OpenOptions::new())?;
/// println!("{}", recording.diagnostics);
/// # Ok::<(), perf_formats::Error>(())
/// ```
///
/// # Errors
/// [`Error::Io`], [`Error::Truncated`] and [`Error::Malformed`] for a file that holds no events,
/// [`Error::Usage`] without a path, [`Error::Strict`] in strict mode.
pub fn open<P: AsRef<Path> + Sync>(paths: &[P], options: &OpenOptions<'_>) -> Result<Recording> {
    if paths.is_empty() {
        let what = "no path was given".into();
        return Err(Error::Usage { what });
    }
    let threads = Threads::new(options.get_threads());
    let parts: Result<Vec<Part>> = threads.install(|| {
        threads.map(paths, |path| {
            let path = path.as_ref();
            let source = Source::open(path, longest(options))?;
            let mut part = reader::read(source, options)?;
            part.rank = part.rank.or_else(|| rank_of(path));
            Ok::<_, Error>(part)
        })
    });
    finish(parts?, options)
}

/// Reads from anywhere; `name` is for messages.
///
/// ```
/// use perf_core::LocationKind;
/// use perf_formats::{OpenOptions, chrome};
/// let text = r#"[{"ph": "X", "cat": "kernel", "name": "axpy", "pid": 0, "tid": 7, "ts": 1.5, "dur": 2}]"#;
/// let recording = chrome::read("text", text.as_bytes(), &OpenOptions::new())?;
/// let trace = recording.trace().expect("it is one");
/// let stream = &trace.definitions().system.locations()[0];
/// assert_eq!((stream.name.as_str(), stream.kind), ("stream 7", LocationKind::AcceleratorStream));
/// assert_eq!(trace.range().map(|range| range.len()), Some(2001));
/// # Ok::<(), perf_formats::Error>(())
/// ```
///
/// # Errors
/// As [`open`].
pub fn read(
    name: &str,
    from: impl Read + Send + 'static,
    options: &OpenOptions<'_>,
) -> Result<Recording> {
    let source = Source::read(name, from, longest(options))?;
    finish(vec![reader::read(source, options)?], options)
}

/// Longest event, in bytes: a few of the longest strings.
fn longest(options: &OpenOptions<'_>) -> usize {
    (options.get_limits().string as usize)
        .saturating_mul(4)
        .max(1 << 12)
}

fn finish(parts: Vec<Part>, options: &OpenOptions<'_>) -> Result<Recording> {
    let (trace, found) = assemble(parts, options)?;
    options.judge(&found)?;
    Ok(Recording::new(Content::Trace(trace), FORMAT.name, found))
}
