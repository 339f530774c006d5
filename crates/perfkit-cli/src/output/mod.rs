//! Output of subcommands: findings, messages, progress, pictures and text tables; here only [`whole`], which
//! completes a file or leaves it unchanged, [`csv`] and [`json`].

pub mod findings;
pub mod messages;
pub mod pictures;
mod printable;
pub mod progress;
pub mod table;

use crate::failure::{Failure, Outcome};
use perfkit::core::Table;
pub(crate) use printable::Printable;
use serde::Serialize;
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Size in bytes of the blocks in which a file is written. The system keeps the file in memory in pieces of
/// that size, and reading large pieces takes half the time.
const BLOCK: usize = 1 << 20;

/// Writes a file under a temporary name and renames it when it is complete. No other program can read an
/// incomplete file, and an existing file is kept if writing fails. A pipe or terminal is written directly.
///
/// # Errors
/// Returns [`Failure::Usage`] for the name `-`, which other programs take for standard output,
/// [`Failure::Input`] with the path if the system cannot write or rename the file, and the errors of
/// `write`.
pub fn whole(path: &Path, write: impl FnOnce(&mut dyn Write) -> Outcome) -> Outcome {
    let failed = |error: std::io::Error| Failure::Input(format!("{}: {error}", path.display()));
    let told = |failure| match failure {
        // The error is about this file, not about standard output.
        Failure::Output(error) => failed(error),
        other => other,
    };
    if path == Path::new("-") {
        let what = "-: expected the name of a file; /dev/stdout is standard output, and ./- a file of this name";
        return Err(Failure::Usage(what.into()));
    }
    // Replaces the target of a link, not the link itself.
    let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.into());
    let name = real.file_name().filter(|_| !real.is_dir());
    let Some(name) = name else {
        let what = format!("{}: a folder, expected the name of a file", path.display());
        return Err(Failure::Input(what));
    };
    if real.exists() && !real.is_file() {
        // A pipe or terminal cannot be renamed.
        let mut to = BufWriter::new(File::create(&real).map_err(failed)?);
        write(&mut to).map_err(told)?;
        return to.flush().map_err(failed);
    }
    let mut part = OsString::from(".");
    part.push(name);
    part.push(format!(".{}.part", std::process::id()));
    let part = real.with_file_name(part);
    let fill = || {
        let mut to = BufWriter::with_capacity(BLOCK, File::create(&part).map_err(failed)?);
        write(&mut to).map_err(told)?;
        let file = to
            .into_inner()
            .map_err(|error| failed(error.into_error()))?;
        file.sync_all().map_err(failed)?;
        std::fs::rename(&part, &real).map_err(failed)
    };
    let done = fill();
    if done.is_err() {
        // The file may not exist.
        let _ = std::fs::remove_file(&part);
    }
    done
}

/// Writes a table as CSV, if a path is given.
///
/// # Errors
/// Returns the errors of [`whole`] and of `table`.
pub fn csv(path: Option<&PathBuf>, table: impl FnOnce() -> Result<Table, Failure>) -> Outcome {
    match path {
        Some(path) => {
            let table = table()?;
            whole(path, |to| Ok(table.write_csv(to)?))
        }
        None => Ok(()),
    }
}

/// Writes a result as one JSON object on one line.
///
/// # Errors
/// Returns [`Failure::Output`] if `out` cannot be written.
pub fn json(out: &mut dyn Write, result: &impl Serialize) -> Outcome {
    serde_json::to_writer(&mut *out, result).map_err(std::io::Error::from)?;
    Ok(writeln!(out)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_whole_or_as_it_was() {
        let folder = std::env::temp_dir().join(format!("perfkit-whole-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a.csv");
        whole(&path, |to| Ok(to.write_all(b"first")?)).unwrap();
        let broken = whole(&path, |to| {
            to.write_all(b"second")?;
            Err(Failure::Input("no more".into()))
        });
        assert!(matches!(broken, Err(Failure::Input(_))));
        assert_eq!(std::fs::read(&path).unwrap(), b"first");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
        for nowhere in [folder.join("none/a.csv"), folder.clone(), "/".into()] {
            let refused = whole(&nowhere, |_| Ok(()));
            assert!(matches!(refused, Err(Failure::Input(_))), "{nowhere:?}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_dash_is_no_file() {
        let written = whole(Path::new("-"), |_| Ok(()));
        assert!(matches!(written, Err(Failure::Usage(text)) if text.contains("/dev/stdout")));
    }
}
