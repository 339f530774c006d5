//! [`Source`]: the kinds of input of `detect`; [`find`]: the common kind of several paths and their
//! files, with a wait for the first files of a followed folder.

use crate::failure::{Failure, Outcome};
use crate::recording::unreadable;
use perfkit::core::Nanos;
use perfkit::formats::streams::{self, Follow};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Kind of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Streams of text: tables and JSON.
    Text,
    /// Files of ADIOS2.
    Adios,
    /// Trace.
    Trace,
}

/// Returns the kind of the sources, and their files. A folder of streams is replaced by its
/// streams, unless it is followed, because further streams may appear in it.
///
/// # Errors
/// Returns [`Failure::Usage`] for sources of several kinds and for several recordings, and
/// [`Failure::Input`] if a source cannot be read.
pub(crate) fn find(
    paths: &[PathBuf],
    follow: Option<Follow>,
) -> Result<(Source, Vec<PathBuf>), Failure> {
    let mut files = Vec::new();
    let mut first: Option<(Source, &Path)> = None;
    for path in paths {
        // Further streams may appear in a followed folder.
        let inside = match follow {
            None => streams_in(path),
            Some(_) => Vec::new(),
        };
        let kind = if inside.is_empty() {
            kind(path, follow)?
        } else {
            Source::Text
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
        if inside.is_empty() {
            files.push(path.clone())
        } else {
            files.extend(inside)
        }
    }
    let kind = first.map(|(kind, _)| kind);
    let kind = kind.ok_or_else(|| Failure::Usage("which source?".into()))?;
    once(&files)?;
    Ok((kind, files))
}

/// Refuses files that are given twice: all calls would count twice. Files of a stream that do not exist yet
/// are compared by their path.
fn once(files: &[PathBuf]) -> Outcome {
    let mut known = BTreeSet::new();
    for file in files {
        if !known.insert(file.canonicalize().unwrap_or_else(|_| file.clone())) {
            let file = file.display();
            return Err(Failure::Usage(format!(
                "{file} is given twice: name each stream once"
            )));
        }
    }
    Ok(())
}

/// Returns the streams in a folder without other files, in the order of their numbers.
fn streams_in(path: &Path) -> Vec<PathBuf> {
    match perfkit::formats::probe(path) {
        Ok(_) => Vec::new(),
        Err(_) => streams::files(path),
    }
}

/// Waits for the first files of a followed folder, and returns its kind.
fn folder_kind(path: &Path, follow: Follow) -> Result<Source, Failure> {
    let since = Instant::now();
    loop {
        if let Ok(format) = perfkit::formats::probe(path) {
            return Ok(kind_of(format.name));
        }
        if !streams::files(path).is_empty() {
            return Ok(Source::Text);
        }
        if let Some(idle) = follow.idle.filter(|idle| since.elapsed() >= *idle) {
            let nanos = i64::try_from(idle.as_nanos()).unwrap_or(i64::MAX);
            return Err(absent(path, Nanos(nanos)));
        }
        std::thread::sleep(follow.poll);
    }
}

/// Returns the error for a source that did not appear in time.
pub(crate) fn absent(path: &Path, idle: Nanos) -> Failure {
    let path = path.display();
    Failure::Input(format!("{path}: no stream appeared within {idle}"))
}

fn kind_of(format: &str) -> Source {
    match format {
        "streams" => Source::Text,
        "adios" => Source::Adios,
        _ => Source::Trace,
    }
}

/// Returns the kind of a file or folder. If a followed file is still empty, its extension decides.
fn kind(path: &Path, follow: Option<Follow>) -> Result<Source, Failure> {
    let name = path.to_string_lossy();
    let is_text = || {
        let ends = streams::FORMAT.extensions.iter();
        let plain = name.strip_suffix(".gz").unwrap_or(&name);
        ends.clone().any(|end| plain.ends_with(&format!(".{end}")))
    };
    match (perfkit::formats::probe(path), follow) {
        (Ok(format), _) => Ok(kind_of(format.name)),
        (Err(_), Some(_)) if is_text() && !path.is_dir() => Ok(Source::Text),
        (Err(_), Some(_)) if name.ends_with(".bp") => Ok(Source::Adios),
        (Err(_), Some(follow)) if path.is_dir() => folder_kind(path, follow),
        (Err(error), _) => Err(unreadable(path, error)),
    }
}
