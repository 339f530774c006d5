//! [`python`]: finds the Python interpreter for compared tools and generators of input.

use std::path::PathBuf;
use std::process::Command;

/// Returns the Python interpreter that `PERFKIT_PYTHON` names, by default `python3`.
///
/// Returns `package` as the error if the interpreter lacks one of the modules.
pub(crate) fn python(modules: &str, package: &'static str) -> Result<PathBuf, &'static str> {
    let python = std::env::var_os("PERFKIT_PYTHON").map(PathBuf::from);
    let python = python.unwrap_or_else(|| "python3".into());
    let import = format!("import {modules}");
    match Command::new(&python).args(["-c", &import]).output() {
        Ok(output) if output.status.success() => Ok(python),
        _ => Err(package),
    }
}
