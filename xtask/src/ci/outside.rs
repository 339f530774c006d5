//! Step `outside`: builds the examples, and builds and runs the crates of `perfkit new`, outside of the workspace.

use super::files::entries;
use super::{Gate, at, program};
use crate::{Outcome, cargo, execute, output_of, root, target_folder};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Lower bound on the number of short examples.
const MIN_EXAMPLES: usize = 12;

/// Kinds of crates that `perfkit new` writes, each with the recording that its program reads.
const KINDS: [(&str, &str); 3] = [
    ("experiment", "data/recordings/jacobi-16"),
    ("detector", "data/recordings/nwchem-md-4"),
    ("format", "crates/perfkit-cli/templates/sample.txt"),
];

/// Builds the short examples in a package that depends on `perfkit` alone, and builds and runs the crates that
/// `perfkit new` writes.
pub(super) fn outside(_: &mut Gate) -> Outcome {
    let folder = target_folder()?.join("outside");
    let examples = folder.join("examples-alone");
    let count = copy_examples(&examples)?;
    build(&examples, &folder, &["build", "--quiet", "--examples"])?;
    println!("   {count} examples build outside of the workspace");
    let perfkit = program("perfkit")?;
    for (kind, recording) in KINDS {
        let package = folder.join(kind);
        remove(&package)?;
        output_of(
            Command::new(&perfkit)
                .args(["new", kind, kind])
                .current_dir(&folder),
        )?;
        build(&package, &folder, &["build", "--quiet"])?;
        let mut command = Command::new(folder.join("target/debug").join(kind));
        let printed = output_of(command.arg(root().join(recording)))?;
        match printed.lines().count() {
            0 => return Err(format!("the new {kind} prints nothing")),
            lines => println!("   a new {kind} builds and prints {lines} lines"),
        }
    }
    Ok(())
}

/// Runs Cargo in a package with the dependency versions of this workspace. All packages share a
/// target folder.
fn build(package: &Path, folder: &Path, arguments: &[&str]) -> Outcome {
    let lock = package.join("Cargo.lock");
    std::fs::copy(root().join("Cargo.lock"), &lock).map_err(|error| at(&lock, &error))?;
    let mut command = cargo(arguments);
    command.arg("--offline").current_dir(package);
    // Without debug information the builds take less disk space.
    command.env("CARGO_PROFILE_DEV_DEBUG", "false");
    execute(command.env("CARGO_TARGET_DIR", folder.join("target")))
}

/// Writes a package with the programs directly in the folder `examples`, and returns their number.
fn copy_examples(package: &Path) -> Result<usize, String> {
    remove(package)?;
    let write = |file: &str, text: &str| {
        let file = package.join(file);
        let folder = file.parent().unwrap_or(package);
        let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&file, text));
        written.map_err(|error| at(&file, &error))
    };
    // A path in single quotes is a TOML string without escapes.
    let library = root().join("crates/perfkit").display().to_string();
    let manifest = format!(
        "[package]\nname = \"examples-alone\"\nedition = \"2024\"\n\n\
         [dependencies]\nperfkit = {{ path = '{library}' }}\n\n[workspace]\n"
    );
    write("Cargo.toml", &manifest)?;
    write("src/lib.rs", "")?;
    let is_program = |path: &PathBuf| path.extension().is_some_and(|end| end == "rs");
    let programs = entries(&root().join("examples"))?;
    let programs: Vec<PathBuf> = programs.into_iter().filter(is_program).collect();
    for path in &programs {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let text = std::fs::read_to_string(path).map_err(|error| at(path, &error))?;
        write(&format!("examples/{name}"), &text)?;
    }
    match programs.len() {
        count @ MIN_EXAMPLES.. => Ok(count),
        count => Err(format!("{count} short examples, at least {MIN_EXAMPLES}")),
    }
}

/// Removes a folder of an earlier run.
fn remove(folder: &Path) -> Outcome {
    if folder.exists() {
        std::fs::remove_dir_all(folder).map_err(|error| at(folder, &error))
    } else {
        Ok(())
    }
}
