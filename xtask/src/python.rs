//! The Python that runs what is written in it.

use std::path::PathBuf;
use std::process::Command;

/// The Python that `PERFKIT_PYTHON` names (`python3` if it is not set), if it has these modules;
/// else `package`, which has them.
pub(crate) fn python(modules: &str, package: &'static str) -> Result<PathBuf, &'static str> {
    let python = std::env::var_os("PERFKIT_PYTHON").map(PathBuf::from);
    let python = python.unwrap_or_else(|| "python3".into());
    let import = format!("import {modules}");
    match Command::new(&python).args(["-c", &import]).output() {
        Ok(output) if output.status.success() => Ok(python),
        _ => Err(package),
    }
}
