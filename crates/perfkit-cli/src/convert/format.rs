//! [`Format`]: formats that `convert` writes, chosen by name or by file extension, and the files
//! that belong to each.

use crate::failure::Failure;
use crate::options::words;
use clap::builder::TypedValueParser;
use perfkit::formats::otf2::WriteOptions;
use std::path::{Path, PathBuf};

/// Format that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// OTF2 archive.
    Otf2,
    /// Paraver trace.
    Paraver,
    /// Chrome JSON.
    Chrome,
    /// Perfetto trace.
    Perfetto,
    /// Cube profile.
    Cube,
    /// Table of values separated by commas.
    Csv,
}

/// Names of the formats with their help texts.
const FORMATS: [(&str, Format, &str); 6] = [
    ("otf2", Format::Otf2, "OTF2 archive: a folder"),
    (
        "paraver",
        Format::Paraver,
        "Paraver trace: .prv or .prv.gz, .pcf and .row",
    ),
    (
        "chrome",
        Format::Chrome,
        "Chrome JSON, which chrome://tracing and Perfetto open",
    ),
    ("perfetto", Format::Perfetto, "Perfetto trace"),
    (
        "cube",
        Format::Cube,
        "Cube profile, of a trace that of its calls",
    ),
    (
        "csv",
        Format::Csv,
        "table: the events of a trace, the severities of a profile",
    ),
];

/// File extensions of the formats.
const EXTENSIONS: [(&str, Format); 8] = [
    (".otf2", Format::Otf2),
    (".prv", Format::Paraver),
    (".prv.gz", Format::Paraver),
    (".json", Format::Chrome),
    (".pftrace", Format::Perfetto),
    (".perfetto-trace", Format::Perfetto),
    (".cubex", Format::Cube),
    (".csv", Format::Csv),
];

/// Returns the parser of `--format`.
pub(super) fn parser() -> impl TypedValueParser<Value = Format> {
    words(&FORMATS)
}

impl Format {
    pub(super) fn name(self) -> &'static str {
        let found = FORMATS.iter().find(|(_, format, _)| *format == self);
        found.map_or("", |(name, ..)| name)
    }

    /// Returns the format of a path by its extension. A path without an extension is the folder of an OTF2 archive.
    ///
    /// # Errors
    /// Returns [`Failure::Usage`] for any other extension.
    pub(super) fn of(path: &Path) -> Result<Self, Failure> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let found = EXTENSIONS.iter().find(|(end, _)| name.ends_with(end));
        match found {
            Some((_, format)) => Ok(*format),
            None if path.extension().is_none() => Ok(Format::Otf2),
            None => {
                let known = EXTENSIONS.map(|(end, _)| end).join(", ");
                Err(Failure::Usage(format!(
                    "{}: no format has this extension; there are {known}; or give --format",
                    path.display()
                )))
            }
        }
    }

    /// Returns the files that are written for a path.
    pub(super) fn files(self, path: &Path) -> Vec<PathBuf> {
        match self {
            Format::Paraver => std::iter::once(path.to_path_buf())
                .chain(companions(path))
                .collect(),
            _ => vec![path.to_path_buf()],
        }
    }
}

/// Returns the files with the names and objects of a Paraver trace; empty for any other file.
pub(super) fn companions(path: &Path) -> Vec<PathBuf> {
    let text = path.to_string_lossy();
    let plain = text.strip_suffix(".gz").unwrap_or(&text);
    match plain.strip_suffix(".prv") {
        Some(stem) => ["pcf", "row"]
            .map(|end| PathBuf::from(format!("{stem}.{end}")))
            .into(),
        None => Vec::new(),
    }
}

/// Returns the folder of an OTF2 archive and options with its name. A path that ends in `.otf2` is the anchor file in
/// the folder.
pub(super) fn archive(path: &Path) -> (PathBuf, WriteOptions) {
    let options = WriteOptions::default();
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    if path.extension().is_some_and(|end| end == "otf2") {
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        (folder.to_path_buf(), options.with_name(stem))
    } else {
        (path.to_path_buf(), options)
    }
}
