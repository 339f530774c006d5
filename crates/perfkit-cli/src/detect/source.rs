//! What the sources of `detect` are.

use crate::failure::Failure;
use crate::recording::unreadable;
use std::path::{Path, PathBuf};

/// How a source is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Tables and JSON.
    Text,
    /// Files of ADIOS2.
    Adios,
    /// A recording.
    Trace,
}

/// What the sources are, and the files that they stand for: those of a folder of streams.
///
/// # Errors
/// [`Failure::Usage`] for sources of several kinds, and several recordings; [`Failure::Input`] for what
/// cannot be read.
pub(crate) fn find(paths: &[PathBuf], follow: bool) -> Result<(Source, Vec<PathBuf>), Failure> {
    let mut files = Vec::new();
    let mut first: Option<(Source, &Path)> = None;
    for path in paths {
        let inside = streams_in(path);
        let kind = match inside.is_empty() {
            true => kind(path, follow)?,
            false => Source::Text,
        };
        match first {
            Some((Source::Trace, _)) => {
                return Err(Failure::Usage(
                    "recordings are replayed one at a time; several sources must be streams, one a rank"
                        .into(),
                ));
            }
            Some((other, one)) if other != kind => {
                return Err(Failure::Usage(format!(
                    "{} and {} are of different kinds: name them in runs of their own",
                    one.display(),
                    path.display()
                )));
            }
            _ => first = Some((kind, path)),
        }
        match inside.is_empty() {
            true => files.push(path.clone()),
            false => files.extend(inside),
        }
    }
    let kind = first.map(|(kind, _)| kind);
    let kind = kind.ok_or_else(|| Failure::Usage("which source?".into()))?;
    Ok((kind, files))
}

/// Ends of the names of streams of text.
const ENDS: [&str; 6] = [
    ".tsv",
    ".ndjson",
    ".jsonl",
    ".tsv.gz",
    ".ndjson.gz",
    ".jsonl.gz",
];

fn is_text(name: &str) -> bool {
    ENDS.iter().any(|end| name.ends_with(end))
}

/// The streams in a folder that is nothing else, in order of their numbers.
fn streams_in(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() || perfkit::formats::probe(path).is_ok() {
        return Vec::new();
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let mut found: Vec<(String, u64, PathBuf)> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let stem = ENDS.iter().find_map(|end| name.strip_suffix(end))?;
            let start = stem.trim_end_matches(|one: char| one.is_ascii_digit());
            let number = stem.strip_prefix(start).and_then(|text| text.parse().ok());
            Some((start.to_string(), number.unwrap_or(0), entry.path()))
        })
        .collect();
    found.sort();
    found.into_iter().map(|(.., path)| path).collect()
}

/// What a file or folder is. One that is followed may have nothing yet to tell it by but its name.
fn kind(path: &Path, follow: bool) -> Result<Source, Failure> {
    let name = path.to_string_lossy();
    match perfkit::formats::probe(path) {
        Ok(format) => Ok(match format.name {
            "streams" => Source::Text,
            "adios" => Source::Adios,
            _ => Source::Trace,
        }),
        Err(_) if follow && is_text(&name) => Ok(Source::Text),
        Err(_) if follow && (path.is_dir() || name.ends_with(".bp")) => Ok(Source::Adios),
        Err(error) => Err(unreadable(path, error)),
    }
}
