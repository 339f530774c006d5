//! [`open_files`]: reads several files, one for each rank, in parallel and combines their parts
//! into one recording, for all GPU formats; [`open_file`]: for one file.

use super::{MemoryBudget, Part, assemble, rank_of};
use crate::read_context::ReadContext;
use crate::{Content, Error, Recording, Result};
use perf_core::parallel::Threads;
use std::path::Path;

/// Reads files in parallel and combines them into one recording.
pub(crate) fn open_files<P: AsRef<Path> + Sync>(
    paths: &[P],
    options: &ReadContext,
    format: &'static str,
    read: impl Fn(&Path, &MemoryBudget) -> Result<Vec<Part>> + Sync,
) -> Result<Recording> {
    if paths.is_empty() {
        let what = "no path was given".into();
        return Err(Error::Usage { what });
    }
    let budget = MemoryBudget::new(options.get_limits());
    let threads = Threads::new(options.get_threads());
    let parts: Result<Vec<Vec<Part>>> = threads.install(|| {
        threads.try_map(paths, |path| {
            let path = path.as_ref();
            let mut parts = read(path, &budget)?;
            set_helpers(&mut parts);
            let mut own = parts.iter_mut().filter(|part| !part.is_helper);
            if let (Some(only), None) = (own.next(), own.next()) {
                only.rank = only.rank.or_else(|| rank_of(path));
            }
            Ok::<_, Error>(parts)
        })
    });
    let parts = parts?.into_iter().enumerate();
    let parts = parts.flat_map(|(source, parts)| {
        parts.into_iter().map(move |mut part| {
            part.source = source;
            part
        })
    });
    assembled(parts.collect(), options, format)
}

/// Creates the recording of one file.
pub(crate) fn open_file(
    options: &ReadContext,
    format: &'static str,
    read: impl FnOnce(&MemoryBudget) -> Result<Vec<Part>>,
) -> Result<Recording> {
    let mut parts = read(&MemoryBudget::new(options.get_limits()))?;
    set_helpers(&mut parts);
    assembled(parts, options, format)
}

fn assembled(parts: Vec<Part>, options: &ReadContext, format: &'static str) -> Result<Recording> {
    let (trace, found) = assemble(parts, options)?;
    options.judge(&found)?;
    Ok(Recording::new(Content::Trace(trace), format, found))
}

/// Marks helper processes. If a process of the file has device activities, a process without them is not a rank but a
/// helper, such as a launcher or monitor.
fn set_helpers(parts: &mut [Part]) {
    if parts.iter().any(Part::has_work) {
        for part in parts {
            part.is_helper = !part.has_work();
        }
    }
}

/// Returns the maximum length of the text of an event in bytes: four strings of maximum length, at least 4 KiB.
pub(crate) fn longest(options: &ReadContext) -> usize {
    (options.get_limits().string as usize)
        .saturating_mul(4)
        .max(1 << 12)
}
