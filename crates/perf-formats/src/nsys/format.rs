//! Nsight Systems recordings among the formats of this crate.

use super::reader;
use crate::parallel::Threads;
use crate::timeline::{Part, assemble, rank_of};
use crate::{Content, Error, Format, Input, OpenOptions, Recording, Result};
use std::path::Path;

/// SQLite exports of Nsight Systems, as [`Formats`](crate::Formats) know it.
pub const FORMAT: Format = Format {
    name: "nsys",
    extensions: &["sqlite"],
    describe: "SQLite export of NVIDIA Nsight Systems",
    probe,
    open: open_one,
};

fn probe(input: &Input) -> u8 {
    if input.head.starts_with(b"SQLite format 3\0") {
        80
    } else {
        0
    }
}

fn open_one(path: &Path, options: &OpenOptions<'_>) -> Result<Recording> {
    open(&[path], options)
}

/// Opens exports as one trace: each process of each file is a rank.
///
/// Where a file has one process its rank is the number in its name, after `rank`, `worker` or `proc`.
///
/// ```no_run
/// use perf_formats::{OpenOptions, nsys};
/// let recording = nsys::open(&["report.sqlite"], &OpenOptions::new())?;
/// println!("{}", recording.diagnostics);
/// # Ok::<(), perf_formats::Error>(())
/// ```
///
/// # Errors
/// [`Error::Io`], [`Error::Malformed`] for a file that is no such database, [`Error::Usage`] without
/// a path, [`Error::Strict`] in strict mode.
pub fn open<P: AsRef<Path> + Sync>(paths: &[P], options: &OpenOptions<'_>) -> Result<Recording> {
    if paths.is_empty() {
        let what = "no path was given".into();
        return Err(Error::Usage { what });
    }
    let threads = Threads::new(options.get_threads());
    let parts: Result<Vec<Vec<Part>>> = threads.install(|| {
        threads.map(paths, |path| {
            let path = path.as_ref();
            let mut parts = reader::read(path, options)?;
            if let [only] = parts.as_mut_slice() {
                only.rank = rank_of(path);
            }
            Ok::<_, Error>(parts)
        })
    });
    let parts = parts?.into_iter().flatten().collect();
    let (trace, found) = assemble(parts, options)?;
    options.judge(&found)?;
    Ok(Recording::new(Content::Trace(trace), FORMAT.name, found))
}
