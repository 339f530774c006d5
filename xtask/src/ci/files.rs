//! Listing of folders, and reading and measuring of the files below them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Returns every file below a folder with its content.
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

/// Returns the size of all files below a folder. A file that was removed or cannot be read counts
/// as empty, because other programs may be working in the folder.
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

/// Returns the names of the folders directly below a folder that contain a package, sorted.
pub(super) fn folders_of(folder: &Path) -> Result<Vec<String>, String> {
    let with_manifest = |path: &PathBuf| path.join("Cargo.toml").is_file();
    let names = entries(folder)?.into_iter().filter(with_manifest);
    Ok(names
        .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
        .collect())
}

/// Returns the files and folders directly below a folder, sorted.
pub(super) fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let listing = std::fs::read_dir(folder).map_err(|error| at(folder, &error))?;
    let mut paths = Vec::new();
    for entry in listing {
        paths.push(entry.map_err(|error| at(folder, &error))?.path());
    }
    paths.sort();
    Ok(paths)
}

/// Formats an error of the file system with its path.
pub(crate) fn at(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}
