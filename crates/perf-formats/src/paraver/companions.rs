//! [`FORMAT`]: recognises and opens Paraver traces; [`read_companion`]: reads a file of the same name with another extension.

use super::header::find_magic;
use super::read_trace;
use crate::bytes::{Bytes, GZIP};
use crate::{Content, Format, Input, OpenOptions, Recording, Result};
use flate2::read::MultiGzDecoder;
use perf_core::{Job, Limits};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Paraver traces, as listed in [`Formats`](crate::Formats).
pub const FORMAT: Format = Format {
    name: "paraver",
    extensions: &["prv", "prv.gz"],
    describe: "Paraver traces (.prv, .prv.gz) of Extrae and others, with .pcf and .row beside them",
    probe,
    open,
    ranks: None,
};

fn probe(input: &Input) -> u8 {
    if input.folder.is_some() {
        return 0;
    }
    if find_magic(&input.head).is_some() {
        return 100;
    }
    if input.head.starts_with(&GZIP) {
        let mut head = Vec::new();
        let mut unpacked = MultiGzDecoder::new(input.head.as_slice()).take(128);
        // The head is cut off within the compressed stream, so an error at its end is expected.
        let _ = unpacked.read_to_end(&mut head);
        return match find_magic(&head) {
            Some(_) => 100,
            None if is_trace(&input.path) => 50,
            None => 0,
        };
    }
    if is_companion(&input.path) && trace_of(&input.path).is_some() {
        90
    } else if input.has_extension("prv") && input.path.exists() {
        50
    } else {
        0
    }
}

fn open(path: &Path, options: &OpenOptions, job: &Job) -> Result<Recording> {
    let path = if is_companion(path) {
        trace_of(path).unwrap_or_else(|| path.to_path_buf())
    } else {
        path.to_path_buf()
    };
    let (trace, diagnostics) = read_trace(path, options, job)?;
    Ok(Recording::new(
        Content::Trace(trace),
        FORMAT.name,
        diagnostics,
    ))
}

fn is_trace(path: &Path) -> bool {
    let name = path.to_string_lossy();
    name.ends_with(".prv") || name.ends_with(".prv.gz")
}

fn is_companion(path: &Path) -> bool {
    path.extension()
        .is_some_and(|end| end == "pcf" || end == "row")
}

/// Returns the path without `.prv`, `.prv.gz`, `.pcf` or `.row`.
pub(super) fn stem(path: &Path) -> PathBuf {
    let path = if path.extension().is_some_and(|end| end == "gz") {
        path.with_extension("")
    } else {
        path.to_path_buf()
    };
    let is_known = path
        .extension()
        .is_some_and(|end| end == "prv" || end == "pcf" || end == "row");
    if is_known {
        path.with_extension("")
    } else {
        path
    }
}

/// Appends `.end` to the path, regardless of its dots.
pub(super) fn with(stem: &Path, end: &str) -> PathBuf {
    let mut name = stem.as_os_str().to_os_string();
    name.push(".");
    name.push(end);
    name.into()
}

/// Returns the trace next to a companion file, if it exists.
fn trace_of(companion: &Path) -> Option<PathBuf> {
    let stem = stem(companion);
    let ends = ["prv", "prv.gz"].into_iter();
    ends.map(|end| with(&stem, end)).find(|path| path.is_file())
}

/// Reads the companion file of a trace with another extension, plain or compressed, and returns its name and contents.
/// `None` if the file does not exist.
pub(super) fn read_companion(
    trace: &Path,
    extension: &str,
    limits: &Limits,
    job: &Job,
) -> Result<Option<(String, Vec<u8>)>> {
    let stem = stem(trace);
    for end in [extension.to_string(), format!("{extension}.gz")] {
        let path = with(&stem, &end);
        if path.is_file() {
            let bytes = Bytes::open(&path, limits, job)?;
            let name = path.to_string_lossy().into_owned();
            return Ok(Some((name, bytes.into_memory(job)?.to_vec())));
        }
    }
    Ok(None)
}
