//! Short examples as packages of their own, as somebody has them who copies one.

use super::Gate;
use crate::{Outcome, cargo, execute, root, target_folder};
use std::path::{Path, PathBuf};

/// Upper bound on the lines of a short example.
const MAX_LINES: usize = 80;
/// Lower bound on the number of short examples.
const MIN_EXAMPLES: usize = 12;

/// Copies each short example into a fresh package whose only dependency is `perfkit`, and builds them all.
pub(super) fn outside(_: &mut Gate) -> Outcome {
    let folder = target_folder()?.join("outside");
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    // Members that an earlier run left would be built, too.
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(failed)?;
    }
    let examples = short_examples()?;
    for path in &examples {
        copy(path, &folder)?;
    }
    let workspace =
        "[workspace]\nresolver = \"3\"\nmembers = [\"*\"]\n\n[profile.dev]\ndebug = false\n";
    std::fs::write(folder.join("Cargo.toml"), workspace).map_err(failed)?;
    // The same versions of dependencies as here.
    std::fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock")).map_err(failed)?;
    let manifest = folder.join("Cargo.toml").display().to_string();
    let arguments = [
        "build",
        "--quiet",
        "--workspace",
        "--manifest-path",
        &manifest,
    ];
    execute(cargo(&arguments).env("CARGO_TARGET_DIR", folder.join("target")))?;
    println!(
        "   {} examples build as packages of their own",
        examples.len()
    );
    Ok(())
}

/// Returns the programs directly in `examples`, each of at most [`MAX_LINES`] lines.
///
/// The tour is no short example: it is the report of the command on the bundled recordings.
fn short_examples() -> Result<Vec<PathBuf>, String> {
    let folder = root().join("examples");
    let entries =
        std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| error.to_string())?.path();
        if path.extension().is_some_and(|end| end == "rs") && !path.ends_with("tour.rs") {
            paths.push(path);
        }
    }
    paths.sort();
    for path in &paths {
        let text = read(path)?;
        let lines = text.lines().count();
        if lines > MAX_LINES {
            return Err(format!(
                "{}: {lines} lines, at most {MAX_LINES}",
                path.display()
            ));
        }
    }
    match paths.len() {
        MIN_EXAMPLES.. => Ok(paths),
        few => Err(format!("{few} short examples, at least {MIN_EXAMPLES}")),
    }
}

fn copy(example: &Path, folder: &Path) -> Outcome {
    let name = example.file_stem().unwrap_or_default().to_string_lossy();
    let package = folder.join(&*name);
    let perfkit = root().join("crates/perfkit");
    let manifest = format!(
        "[package]\nname = \"{name}\"\nedition = \"2024\"\n\n[dependencies]\nperfkit = {{ path = {:?} }}\n",
        perfkit.display().to_string()
    );
    let failed = |error: std::io::Error| format!("{}: {error}", package.display());
    std::fs::create_dir_all(package.join("src")).map_err(failed)?;
    std::fs::write(package.join("Cargo.toml"), manifest).map_err(failed)?;
    std::fs::write(package.join("src/main.rs"), read(example)?).map_err(failed)
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}
