//! [`FORMAT`]: recognises and opens streams in BP files; [`files`]: lists the BP files at a path.

use super::Adios;
use super::bp_file::is_damage;
use super::{bp3, header};
use crate::streams::TraceBuilder;
use crate::{Content, Error, Format, Input, OpenOptions, Recording, Result};
use perf_core::{EventSource, Job, Place};
use std::path::{Path, PathBuf};

/// Streams in BP files, as listed in [`Formats`](crate::Formats).
pub const FORMAT: Format = Format {
    name: "adios",
    extensions: &["bp"],
    describe: "Streams of TAU's ADIOS2 trace plug-in in BP3, BP4 or BP5 format: a file or folder for each rank, or a folder of these",
    probe,
    open,
    ranks: None,
};

fn probe(input: &Input) -> u8 {
    match &input.folder {
        Some(names) if names.iter().any(|name| name == header::STEPS) => 90,
        Some(names) if names.iter().any(|name| name.ends_with(".bp")) => 70,
        Some(_) => 0,
        // The contact file is recognised to report it as unsupported.
        None if is_sst(input) => 95,
        None if input.head.is_empty() => 0,
        None if bp3::has_footer(&input.path) => 90,
        None if input.has_extension("bp") => 60,
        None => 0,
    }
}

/// Returns `true` for the contact file of the SST engine.
fn is_sst(input: &Input) -> bool {
    input.head.starts_with(b"#ADIOS2-SST")
}

/// Returns the BP files at a path that exist so far, for following. The result is empty if there
/// are none yet.
///
/// # Errors
///
/// Returns [`Error::Unsupported`] for other formats of ADIOS.
pub(super) fn files_by_now(path: &Path) -> Result<Vec<PathBuf>> {
    if path.extension().is_some_and(|found| found == "bp") {
        return Ok(vec![path.into()]);
    }
    match files(path) {
        Err(Error::UnknownFormat { .. }) => Ok(Vec::new()),
        Err(error) if is_damage(&error) => Ok(Vec::new()),
        outcome => outcome,
    }
}

/// Returns the BP files at a path, in order of their numbers.
///
/// # Errors
///
/// Fails if there are none, and for the contact file of the SST engine.
pub(super) fn files(path: &Path) -> Result<Vec<PathBuf>> {
    let input = Input::look(path)?;
    let place = || Place::file(path.to_string_lossy().into_owned());
    let Some(names) = &input.folder else {
        if is_sst(&input) {
            return Err(Error::Unsupported {
                place: place(),
                what: "a contact file of the SST engine, which sends events over the network and \
                       stores none (set the engine of the plug-in to BP4 or BP5)"
                    .into(),
            });
        }
        let found = std::fs::metadata(path);
        return match found {
            Ok(_) => Ok(vec![path.into()]),
            Err(source) => Err(Error::Io {
                place: place(),
                source,
            }),
        };
    };
    if names.iter().any(|name| name == header::STEPS) {
        return Ok(vec![path.into()]);
    }
    let mut found: Vec<(&str, u64, PathBuf)> = Vec::new();
    for name in names.iter().filter(|name| name.ends_with(".bp")) {
        let stem = name.strip_suffix(".bp").unwrap_or(name);
        let digits = stem.trim_end_matches(|one: char| one.is_ascii_digit());
        let number = stem
            .strip_prefix(digits)
            .and_then(|number| number.parse().ok());
        found.push((digits, number.unwrap_or(0), path.join(name)));
    }
    found.sort();
    if found.is_empty() {
        return Err(Error::UnknownFormat {
            place: place(),
            tried: "adios (a BP3 file, a folder with `md.idx`, or a folder of these with names in \
                    `.bp`)"
                .into(),
        });
    }
    Ok(found.into_iter().map(|(.., path)| path).collect())
}

fn open(path: &Path, options: &OpenOptions, job: &Job) -> Result<Recording> {
    let mut source = Adios::open(&[path], options)?;
    let mut builder = TraceBuilder::of(path, options.get_limits());
    while source.next_step(&mut builder, job)? {
        job.advance("read", 0, 0);
        job.check()?;
        builder.check(options.get_limits())?;
    }
    builder.check(options.get_limits())?;
    let (trace, mut diagnostics) = builder.finish(options)?;
    perf_core::Merge::merge(&mut diagnostics, source.diagnostics());
    options.judge(&diagnostics)?;
    Ok(Recording::new(
        Content::Trace(trace),
        FORMAT.name,
        diagnostics,
    ))
}
