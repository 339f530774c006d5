//! Subcommand `new`: writes a new crate that uses the library.

use crate::failure::{Failure, Outcome};
use clap::{Args, ValueEnum};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Writes a crate that is the start of a tool of your own
///
/// The crate is a folder NAME in the working directory, with a short program that builds and runs. It depends on the
/// library perfkit alone.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Kind of the program
    kind: Kind,
    /// Name of the crate and of its folder, which must be new
    #[arg(value_name = "NAME")]
    name: String,
    /// Folder of the library perfkit [default: that of the checkout; else the published version]
    #[arg(long, value_name = "FOLDER")]
    perfkit: Option<PathBuf>,
}

/// Kind of the program of a new crate.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    /// An analysis of a recording
    Experiment,
    /// A detector of abnormal calls
    Detector,
    /// A reader of a format
    Format,
}

impl Kind {
    /// Returns the source code of the program.
    fn program(self) -> &'static str {
        match self {
            Kind::Experiment => include_str!("../templates/experiment.rs"),
            Kind::Detector => include_str!("../templates/detector.rs"),
            Kind::Format => include_str!("../templates/format.rs"),
        }
    }

    /// Returns the name and text of the sample recording of the program, if there is one.
    fn sample(self) -> Option<(&'static str, &'static str)> {
        match self {
            Kind::Experiment | Kind::Detector => None,
            Kind::Format => Some(("sample.txt", include_str!("../templates/sample.txt"))),
        }
    }
}

/// Words that cannot be names of crates because the language or this library uses them.
const RESERVED: [&str; 7] = ["perfkit", "core", "std", "alloc", "self", "super", "crate"];

/// Writes the crate and prints the next commands.
///
/// # Errors
/// Returns [`Failure::Usage`] if the name is invalid or the given folder does not contain the
/// library, and [`Failure::Input`] if the new folder exists or cannot be written.
pub fn run(options: &Options, out: &mut dyn Write) -> Outcome {
    let name = &options.name;
    check(name)?;
    let library = library(options.perfkit.as_deref())?;
    let folder = Path::new(name);
    let failed = |error: std::io::Error| Failure::Input(format!("{name}: {error}"));
    std::fs::create_dir(folder).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => Failure::Input(format!(
            "{name} exists and is not replaced: choose another name"
        )),
        _ => failed(error),
    })?;
    std::fs::create_dir(folder.join("src")).map_err(failed)?;
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [dependencies]\nperfkit = {library}\n\n\
         # A workspace of its own, also in a folder of another one.\n[workspace]\n"
    );
    let mut files = vec![
        ("Cargo.toml", manifest.as_str()),
        ("src/main.rs", options.kind.program()),
    ];
    files.extend(options.kind.sample());
    for (file, text) in &files {
        std::fs::write(folder.join(file), text).map_err(failed)?;
        writeln!(out, "wrote {name}/{file}")?;
    }
    let recording = options.kind.sample().map_or("RECORDING", |(file, _)| file);
    writeln!(
        out,
        "\nnext:\n  cd {name}\n  cargo run --release -- {recording}"
    )?;
    Ok(())
}

/// Checks that Cargo accepts the name of a crate.
fn check(name: &str) -> Outcome {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(is_word);
    if is_name && !RESERVED.contains(&name) {
        Ok(())
    } else {
        Err(Failure::Usage(format!(
            "`{name}` is no name of a crate: take letters, digits, `-` and `_`, a letter first"
        )))
    }
}

/// Returns the value of the dependency in the manifest: the given folder, otherwise the checkout
/// around the working directory, otherwise the checkout in which this command was built, otherwise
/// the version of this command.
fn library(given: Option<&Path>) -> Result<String, Failure> {
    let is_library = |folder: &Path| {
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
        manifest.lines().any(|line| line == "name = \"perfkit\"")
    };
    let here = std::env::current_dir().unwrap_or_default();
    let around = here.ancestors().map(|folder| folder.join("crates/perfkit"));
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../perfkit");
    let found = match given {
        Some(folder) if is_library(folder) => Some(folder.to_path_buf()),
        Some(folder) => {
            let folder = folder.display();
            let message = format!("{folder} is not the library perfkit: give its `crates/perfkit`");
            return Err(Failure::Usage(message));
        }
        None => around.chain([built]).find(|folder| is_library(folder)),
    };
    let Some(folder) = found else {
        return Ok(format!("\"{}\"", env!("CARGO_PKG_VERSION")));
    };
    let failed = |error| Failure::Input(format!("{}: {error}", folder.display()));
    let folder = std::fs::canonicalize(&folder).map_err(failed)?;
    // Strings of JSON are valid strings of TOML.
    let path = serde_json::to_string(&folder.to_string_lossy());
    let path = path.map_err(|error| Failure::Input(error.to_string()))?;
    Ok(format!("{{ path = {path} }}"))
}
