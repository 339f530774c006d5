//! [`FORMAT`]: recognises and opens SQLite exports of Nsight Systems; [`open()`]: opens several
//! exports as one trace.

use super::reader;
use crate::read_context::ReadContext;
use crate::timeline::open_files;
use crate::{Format, Input, OpenOptions, Recording, Result};
use perf_core::Job;
use std::path::Path;

/// SQLite exports of Nsight Systems, as listed in [`Formats`](crate::Formats).
pub const FORMAT: Format = Format {
    name: "nsys",
    extensions: &["sqlite"],
    describe: "SQLite export of NVIDIA Nsight Systems",
    probe,
    open: open_one,
    ranks: Some(|paths, options, job| open(paths, options, job)),
};

fn probe(input: &Input) -> u8 {
    if input.head.starts_with(b"SQLite format 3\0") {
        80
    } else {
        0
    }
}

fn open_one(path: &Path, options: &OpenOptions, job: &Job) -> Result<Recording> {
    open(&[path], options, job)
}

/// Opens exports as one trace. Each process of each file is a rank, except processes without device
/// activities next to one with some, such as launchers.
///
/// If a file has a single such process, its rank is the number in the file name after `rank`,
/// `worker` or `proc`.
///
/// ```no_run
/// use perf_core::Job;
/// use perf_formats::{OpenOptions, nsys};
/// let recording = nsys::open(&["report.sqlite"], &OpenOptions::new(), &Job::default())?;
/// println!("{}", recording.diagnostics);
/// # Ok::<(), perf_formats::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`Error::Io`](crate::Error::Io) if the system cannot read,
/// [`Error::Malformed`](crate::Error::Malformed) for another kind of file,
/// [`Error::Usage`](crate::Error::Usage) if there is no path, and
/// [`Error::Strict`](crate::Error::Strict) if strict reading needs a repair.
pub fn open<P: AsRef<Path> + Sync>(
    paths: &[P],
    options: &OpenOptions,
    job: &Job,
) -> Result<Recording> {
    let options = &ReadContext::new(options, job);
    open_files(paths, options, FORMAT.name, |path, budget| {
        reader::read(path, options, budget)
    })
}
