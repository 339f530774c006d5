//! [`locate`]: finds an archive on disk, [`Located`], from the path of its anchor or of one of its
//! folders; also finds its anchor and the name of its files in any [`Archive`].

use super::{Archive, DiskArchive};
use crate::{Error, Result};
use perf_core::Place;
use std::path::{Path, PathBuf};

/// Location of an archive: folder, anchor name and name of its other files.
#[derive(Debug)]
pub(crate) struct Located {
    /// Folder of the anchor.
    pub(crate) folder: DiskArchive,
    /// File name of the anchor, which may be missing.
    pub(crate) anchor: String,
    /// Common name of definitions and event files, usually the part before `.otf2`.
    pub(crate) name: String,
}

/// Finds an archive from the path of its anchor, of the folder that holds it, or of the folder of
/// its event files.
pub(crate) fn locate(path: &Path) -> Result<Located> {
    // Normalises the path: a trailing slash would make opening a plain file fail.
    let path: PathBuf = path.components().collect();
    let text = path.to_string_lossy().into_owned();
    let failed = |source| Error::Io {
        place: Place::file(text.as_str()),
        source,
    };
    let not_utf8 = || Error::Malformed {
        place: Place::file(text.as_str()),
        expected: "a file name in UTF-8".into(),
        got: "another".into(),
    };
    if path.is_dir() {
        let folder = DiskArchive::new(&path);
        if is_event_folder(&folder) {
            let (parent, name) = split(&path).map_or_else(
                // Resolves paths without a name, such as `.`.
                || split(&path.canonicalize().map_err(failed)?).ok_or_else(not_utf8),
                Ok,
            )?;
            let here = DiskArchive::new(parent);
            let anchor = format!("{name}.otf2");
            if !here.path(&anchor).is_file()
                && let Ok(real) = path.canonicalize()
                && let Some((parent, name)) = split(&real)
                && parent.join(format!("{name}.otf2")).is_file()
            {
                return Ok(Located {
                    folder: DiskArchive::new(parent),
                    anchor: format!("{name}.otf2"),
                    name,
                });
            }
            return Ok(Located {
                folder: here,
                anchor,
                name,
            });
        }
        return match find_anchor(&folder) {
            Ok(anchor) => Ok(named(folder, anchor)),
            Err(error) => match find_folder(&path) {
                Some(name) if !has_anchor(&folder) => Ok(Located {
                    folder,
                    anchor: format!("{name}.otf2"),
                    name,
                }),
                _ => Err(error.in_file(&text)),
            },
        };
    }
    let (parent, file) = split(&path).ok_or_else(not_utf8)?;
    let folder = DiskArchive::new(parent);
    let stem = file.strip_suffix(".otf2").unwrap_or(&file);
    let is_here = is_beside(&folder, stem);
    if let Err(source) = std::fs::metadata(&path) {
        // The other files may exist without the anchor.
        return if is_here {
            Ok(Located {
                folder,
                anchor: format!("{stem}.otf2"),
                name: stem.to_string(),
            })
        } else {
            Err(failed(source))
        };
    }
    if !is_here
        && let Ok(real) = path.canonicalize()
        && real != path
        && let Some((parent, file)) = split(&real)
    {
        // A symbolic link to an anchor leads to the files next to its target.
        let there = DiskArchive::new(parent);
        if is_beside(&there, file.strip_suffix(".otf2").unwrap_or(&file)) {
            return Ok(named(there, file));
        }
    }
    Ok(named(folder, file))
}

/// Splits a path into its folder and its name.
fn split(path: &Path) -> Option<(PathBuf, String)> {
    let name = path.file_name()?.to_str()?.to_string();
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    Some((parent.unwrap_or(Path::new(".")).to_path_buf(), name))
}

/// Creates the location of an archive from its anchor. The other files may have another name.
fn named(folder: DiskArchive, anchor: String) -> Located {
    let mut name = name_of(&folder, &anchor);
    if !is_beside(&folder, &name)
        && let Some(other) = find_folder(&folder.root)
    {
        name = other;
    }
    Located {
        folder,
        anchor,
        name,
    }
}

/// Returns `true` if definitions or event files of this name exist.
fn is_beside(archive: &dyn Archive, name: &str) -> bool {
    archive.size(&format!("{name}.def")).is_ok()
        || archive.members(name).is_ok_and(|all| !all.is_empty())
}

/// Returns the common name of the files that belong to an anchor: its own name, or the name of the
/// only definitions without an anchor of their own.
pub(crate) fn name_of(archive: &dyn Archive, anchor: &str) -> String {
    let own = anchor.strip_suffix(".otf2").unwrap_or(anchor);
    if is_beside(archive, own) {
        return own.to_string();
    }
    let members = archive.members("").unwrap_or_default();
    let has = |name: String| members.contains(&name);
    let mut free = members
        .iter()
        .filter_map(|member| member.strip_suffix(".def"))
        .filter(|name| !has(format!("{name}.otf2")));
    match (free.next(), free.next()) {
        (Some(only), None) => only.to_string(),
        _ => own.to_string(),
    }
}

fn has_anchor(folder: &DiskArchive) -> bool {
    let members = folder.members("").unwrap_or_default();
    members.iter().any(|name| name.ends_with(".otf2"))
}

/// Returns `true` if a member is a file of one location: `7.evt` or `7.def`.
fn is_of_location(member: &str) -> bool {
    let file = member.rsplit_once('/').map_or(member, |(_, file)| file);
    let stem = file.strip_suffix(".evt").or(file.strip_suffix(".def"));
    stem.is_some_and(|stem| stem.parse::<u64>().is_ok())
}

/// Returns `true` if a folder contains only files of locations. If the name of an archive is a
/// number, its definitions lie next to a folder of that name.
pub(crate) fn is_event_folder(folder: &DiskArchive) -> bool {
    let members = folder.members("").unwrap_or_default();
    let is_archive = |member: &String| {
        let name = member.strip_suffix(".def");
        name.is_some_and(|name| folder.path(name).is_dir())
    };
    !members.is_empty()
        && members.iter().all(|member| is_of_location(member))
        && !members.iter().any(is_archive)
}

/// Returns the first folder in `path`, by name, that contains event files or local definitions.
pub(crate) fn find_folder(path: &Path) -> Option<String> {
    let mut names: Vec<String> = std::fs::read_dir(path)
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| path.join(name).is_dir())
        .collect();
    names.sort_unstable();
    let folder = DiskArchive::new(path);
    names.into_iter().find(|name| {
        let members = folder.members(name).unwrap_or_default();
        members.iter().any(|member| is_of_location(member))
    })
}

/// Returns the name of the anchor of an archive. Aborted runs leave no anchor; its name is then
/// derived from the global definitions, or from the folder of event files if that has a usual name.
pub(crate) fn find_anchor(archive: &dyn Archive) -> Result<String> {
    let failed = |source| Error::Io {
        place: Place::file(""),
        source,
    };
    let members = archive.members("").map_err(failed)?;
    let ends = |with: &'static str| members.iter().filter(move |name| name.ends_with(with));
    let mut anchors = ends(".otf2");
    match (anchors.next(), anchors.next()) {
        (Some(only), None) => return Ok(only.clone()),
        (Some(first), Some(second)) => {
            return Err(Error::Malformed {
                place: Place::file(""),
                expected: "one anchor (.otf2)".into(),
                got: format!("several, such as {first} and {second}; specify one of them"),
            });
        }
        (None, _) => {}
    }
    if let Some(definitions) = ends(".def").next() {
        let name = definitions.strip_suffix(".def").unwrap_or(definitions);
        return Ok(format!("{name}.otf2"));
    }
    for name in ["traces", "eztrace_log", "APEX"] {
        if !archive.members(name).map_err(failed)?.is_empty() {
            return Ok(format!("{name}.otf2"));
        }
    }
    Err(Error::Malformed {
        place: Place::file(""),
        expected: "an anchor (.otf2)".into(),
        got: "none".into(),
    })
}
