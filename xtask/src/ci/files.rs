//! Folders and what is in them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Every file below a folder, with what is in it.
pub(super) fn contents(folder: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        for path in entries(&folder)? {
            if path.is_dir() {
                open.push(path);
            } else {
                let bytes = std::fs::read(&path).map_err(|error| at(&path, &error))?;
                found.insert(path, bytes);
            }
        }
    }
    Ok(found)
}

/// Size of all files below a folder. One that is gone or cannot be read counts as empty: other programs
/// may be at work there.
pub(super) fn bytes_below(folder: &Path) -> u64 {
    let Ok(listing) = std::fs::read_dir(folder) else {
        return 0;
    };
    let size = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(file) if file.is_dir() => bytes_below(&entry.path()),
        Ok(file) => file.len(),
        Err(_) => 0,
    };
    listing.flatten().map(size).sum()
}

/// The packages right below a folder.
pub(super) fn folders_of(folder: &Path) -> Result<Vec<String>, String> {
    let with_manifest = |path: &PathBuf| path.join("Cargo.toml").is_file();
    let names = entries(folder)?.into_iter().filter(with_manifest);
    Ok(names
        .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
        .collect())
}

/// The files and folders right below a folder, sorted.
pub(super) fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let listing = std::fs::read_dir(folder).map_err(|error| at(folder, &error))?;
    let mut paths = Vec::new();
    for entry in listing {
        paths.push(entry.map_err(|error| at(folder, &error))?.path());
    }
    paths.sort();
    Ok(paths)
}

/// An error of the file system with the path it is about.
pub(crate) fn at(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}
