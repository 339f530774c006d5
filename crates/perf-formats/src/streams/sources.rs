//! [`Sources`]: files and folders of streams, some of which may not exist yet.

use super::format::FORMAT;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Followed files and folders, and the files that were opened.
#[derive(Debug, Default)]
pub(super) struct Sources {
    /// Requested files and folders.
    roots: Vec<PathBuf>,
    /// Opened files.
    known: HashSet<PathBuf>,
}

impl Sources {
    pub(super) fn new<P: AsRef<Path>>(paths: &[P]) -> Self {
        Sources {
            roots: paths.iter().map(|path| path.as_ref().into()).collect(),
            known: HashSet::new(),
        }
    }

    /// Returns the files that have appeared since the last call, in the order of the roots.
    pub(super) fn appeared(&mut self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for root in &self.roots {
            if root.is_dir() {
                found.extend(files(root));
            } else if root.exists() {
                found.push(root.clone());
            }
        }
        found.retain(|path| self.known.insert(path.clone()));
        found
    }

    /// Returns `true` if a file was named explicitly, and not found in a folder.
    pub(super) fn is_named(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| root == path)
    }

    /// Iterates over the named files that have not appeared.
    pub(super) fn absent(&self) -> impl Iterator<Item = &Path> {
        let roots = self.roots.iter().map(PathBuf::as_path);
        roots.filter(|root| !root.is_dir() && !self.known.contains(*root))
    }
}

/// Returns the streams in a folder, compressed or not, recognised by their extensions. They are
/// sorted by name; numbers at the ends of names are compared as numbers. The result is empty if
/// `folder` is not a folder.
///
/// ```
/// let none = perf_formats::streams::files("no-such-folder");
/// assert!(none.is_empty());
/// ```
pub fn files(folder: impl AsRef<Path>) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<(String, u64, PathBuf)> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let plain = name.strip_suffix(".gz").unwrap_or(&name);
            let stem = FORMAT.extensions.iter().find_map(|one| {
                let stem = plain.strip_suffix(one)?;
                stem.strip_suffix('.')
            })?;
            let start = stem.trim_end_matches(|one: char| one.is_ascii_digit());
            let number = stem.strip_prefix(start).and_then(|text| text.parse().ok());
            Some((start.to_string(), number.unwrap_or(0), entry.path()))
        })
        .collect();
    found.sort();
    found.into_iter().map(|(.., path)| path).collect()
}
