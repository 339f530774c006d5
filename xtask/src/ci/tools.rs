//! [`install`]: installs the tools that `cargo xtask ci` needs at pinned versions, and parses
//! versions.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use super::files::at;
use crate::{cargo, execute, output_of, root, target_folder};

/// Locked during an installation, because two threads may need the same program.
static INSTALLATION: Mutex<()> = Mutex::new(());

/// Installs a program from crates.io unless this version is installed, and returns its path. Debug
/// builds are used because they take half the time to build, and the programs run only for a second.
/// All programs share a target folder, so that common dependencies are compiled once.
pub(crate) fn install(program: &str, wanted: &str) -> Result<PathBuf, String> {
    let _alone = INSTALLATION.lock().unwrap_or_else(PoisonError::into_inner);
    let path = tools_folder()?.join(program);
    let installed = |path: &Path| {
        let mut command = Command::new(path);
        // Call the program as cargo does, because some subcommands require their name as the first
        // argument.
        command.args(program.strip_prefix("cargo-"));
        let text = output_of(command.arg("--version")).ok()?;
        text.split_whitespace().last().map(String::from)
    };
    if installed(&path).as_deref() != Some(wanted) {
        println!("   installing {program} {wanted}");
        let arguments = ["install", "--quiet", "--locked", "--debug", "--force"];
        let mut command = cargo(&arguments);
        command.args([program, "--version", wanted]);
        command.env("CARGO_TARGET_DIR", target_folder()?.join("tools"));
        execute(&mut command)?;
    }
    match installed(&path) {
        Some(found) if found == wanted => Ok(path),
        Some(found) => Err(format!("{program} is {found}, not {wanted}")),
        None => Err(format!(
            "{program} was installed, but is not in cargo's bin"
        )),
    }
}

/// Returns the folder into which `cargo install` puts programs.
fn tools_folder() -> Result<PathBuf, String> {
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cargo"));
    let folder = std::env::var_os("CARGO_INSTALL_ROOT")
        .or_else(|| std::env::var_os("CARGO_HOME"))
        .filter(|folder: &OsString| !folder.is_empty())
        .map(PathBuf::from)
        .or_else(home);
    Ok(folder.ok_or("no home folder")?.join("bin"))
}

/// Returns the version of a package in `Cargo.lock`.
pub(super) fn locked_version(package: &str) -> Result<String, String> {
    let path = root().join("Cargo.lock");
    let text = std::fs::read_to_string(&path).map_err(|error| at(&path, &error))?;
    let mut lines = text.lines();
    let name = format!("name = \"{package}\"");
    lines
        .find(|line| *line == name)
        .and_then(|_| lines.next())
        .and_then(|line| line.strip_prefix("version = \""))
        .and_then(|line| line.strip_suffix('"'))
        .map(String::from)
        .ok_or_else(|| format!("Cargo.lock has no {package}"))
}

/// Parses a version into numbers, so that 1.100 is greater than 1.90, and 1.90 equals 1.90.0.
pub(super) fn version(text: &str) -> [u64; 3] {
    let mut numbers = [0; 3];
    for (number, part) in numbers.iter_mut().zip(text.split('.')) {
        *number = part.parse().unwrap_or(0);
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_as_numbers() {
        assert!(version("1.100") > version("1.90"));
        assert_eq!(version("1.90"), version("1.90.0"));
        assert!(version("1.90.1") > version("1.90"));
    }

    #[test]
    fn the_lock_file_knows_the_runner() {
        let found = locked_version("gungraun-runner");
        assert_eq!(found, locked_version("gungraun"));
        assert!(found.is_ok());
        assert!(locked_version("no-such-crate").is_err());
    }
}
