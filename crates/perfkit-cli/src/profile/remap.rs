//! Operation `remap` of `profile`: renames regions by rules, or derives metrics by a specification
//! of Cube, from a file or from the archive.

use super::options::Remap;
use super::{prepare, single};
use crate::failure::{Failure, Outcome, input};
use crate::findings;
use crate::messages;
use crate::progress::Bar;
use perfkit::core::{Job, Profile, algebra, fits};
use perfkit::formats::OpenOptions;
use perfkit::formats::cube::{self, Cube};
use std::io::Write;
use std::path::Path;

/// Largest size of a specification in bytes.
const MAX_SPECIFICATION: u64 = 1 << 20;

/// Name of the specification in an archive.
const MEMBER: &str = "remapping.spec";

/// Specification of a remapping.
enum Specification {
    /// New names of regions, and the patterns of names that they replace.
    Regions(Vec<(String, String)>),
    /// Metrics in XML, and the name of the document.
    Metrics(String, String),
}

/// Remaps a profile.
///
/// # Errors
/// Returns [`Failure::Usage`] if an output would replace an input, and [`Failure::Input`] if the
/// profile or the specification cannot be read, or the specification has no rule.
pub(super) fn run(remap: &Remap, out: &mut dyn Write) -> Outcome {
    let files = std::iter::once(&remap.file).chain(&remap.spec);
    let files: Vec<&Path> = files.map(|path| path.as_path()).collect();
    prepare(&remap.output, files.iter().copied())?;
    let specification = match &remap.spec {
        Some(path) => specification(path)?,
        None => contained(&remap.file)?,
    };
    let apply = |profile: &Profile, job: &Job| match &specification {
        Specification::Regions(rules) => {
            for (name, pattern) in rules {
                let mut regions = profile.regions().iter();
                if !regions.any(|region| fits(pattern, &region.name)) {
                    messages::say(&format!("note: `{name} = {pattern}` matches no region"));
                }
            }
            algebra::rename(profile, rules, job).map_err(input)
        }
        Specification::Metrics(text, name) => {
            let done = cube::remap(profile, text, name, &OpenOptions::new(), job);
            let (profile, found) = done.map_err(input)?;
            findings::print(&found, &Default::default());
            Ok(profile)
        }
    };
    single("remap", &files, apply, &remap.output, out)
}

/// Reads the specification that an archive contains.
fn contained(file: &Path) -> Result<Specification, Failure> {
    let none = || {
        let what = "contains no remapping specification; name one with --spec";
        Failure::Input(format!("{}: {what}", file.display()))
    };
    let opened = Cube::open(file, &OpenOptions::new(), &Bar::job());
    let cube = opened.map_err(|_| none())?;
    let bytes = cube.member(MEMBER).map_err(input)?.ok_or_else(none)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let name = format!("{}/{MEMBER}", file.display());
    Ok(Specification::Metrics(text, name))
}

/// Reads a specification.
fn specification(path: &Path) -> Result<Specification, Failure> {
    let failed = |what: String| Failure::Input(format!("--spec {}: {what}", path.display()));
    let size = std::fs::metadata(path).map_err(|error| failed(error.to_string()))?;
    if size.len() > MAX_SPECIFICATION {
        return Err(failed(format!(
            "{} bytes: the limit is {MAX_SPECIFICATION}",
            size.len()
        )));
    }
    let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    if text.trim_start().starts_with('<') {
        return Ok(Specification::Metrics(text, path.display().to_string()));
    }
    let mut rules = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        let text = text.trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let rule = text.split_once('=');
        let rule = rule.map(|(name, pattern)| (name.trim(), pattern.trim()));
        match rule {
            Some((name, pattern)) if !name.is_empty() && !pattern.is_empty() => {
                rules.push((name.to_owned(), pattern.to_owned()));
            }
            _ => {
                return Err(failed(format!(
                    "line {line}: expected `NEW NAME = PATTERN`, such as `MPI = MPI_*`, got `{text}`"
                )));
            }
        }
    }
    if rules.is_empty() {
        let what = "no rule; expected lines such as `MPI = MPI_*`";
        return Err(failed(what.into()));
    }
    Ok(Specification::Regions(rules))
}
