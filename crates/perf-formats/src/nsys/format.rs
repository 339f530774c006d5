//! Nsight Systems recordings among the formats of this crate.

use super::reader;
use crate::reading::Reading;
use crate::timeline::open_files;
use crate::{Format, Input, OpenOptions, Recording, Result};
use perf_core::Job;
use std::path::Path;

/// SQLite exports of Nsight Systems, as [`Formats`](crate::Formats) know it.
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

/// Opens exports as one trace: each process of each file is a rank, but for those that run nothing
/// on a device where another one does, such as launchers.
///
/// Where a file has one such process its rank is the number in its name, after `rank`, `worker` or
/// `proc`.
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
/// [`Error::Io`](crate::Error::Io), [`Error::Malformed`](crate::Error::Malformed) for a file that is
/// no such database, [`Error::Usage`](crate::Error::Usage) without a path,
/// [`Error::Strict`](crate::Error::Strict) in strict mode.
pub fn open<P: AsRef<Path> + Sync>(
    paths: &[P],
    options: &OpenOptions,
    job: &Job,
) -> Result<Recording> {
    let options = &Reading::new(options, job);
    open_files(paths, options, FORMAT.name, |path, granted| {
        reader::read(path, options, granted)
    })
}
