//! Subcommand `profile`: computes a profile from others (difference, mean, merge, extremes, cut),
//! prints its summary and writes it.

mod model;
mod options;
mod remap;
mod summary;

pub use options::Options;

use crate::correlate::call_path;
use crate::failure::{self, Failure, Outcome, input};
use crate::findings;
use crate::inspect::severity_table;
use crate::output;
use crate::progress::Bar;
use crate::recording;
use options::{Operation, Output};
use perfkit::core::algebra::{self, Combined};
use perfkit::core::{Job, Profile};
use perfkit::formats::cube;
use std::io::Write;
use std::path::{Path, PathBuf};
use summary::{Operand, Summary};

/// Computes a profile, prints its summary, and writes it on request.
///
/// # Errors
/// Returns [`Failure::Usage`] if an output would replace an input, and [`Failure::Input`] if a
/// profile or a specification cannot be read or a call path does not exist.
pub fn run(options: &Options, out: &mut dyn Write) -> Outcome {
    match &options.operation {
        Operation::Diff(two) => {
            let files = [two.file.clone(), two.subtrahend.clone()];
            let apply = |profiles: &[Profile], job: &Job| match profiles {
                [one, other] => algebra::difference(one, other, job),
                _ => algebra::mean(profiles, job),
            };
            several(("diff", two.collapse), &files, apply, &two.output, out)
        }
        Operation::Mean(many) => {
            let kind = ("mean", many.collapse);
            several(kind, &many.files, algebra::mean, &many.output, out)
        }
        Operation::Merge(many) => {
            let kind = ("merge", many.collapse);
            several(kind, &many.files, algebra::merge, &many.output, out)
        }
        Operation::Min(many) => {
            let kind = ("min", many.collapse);
            several(kind, &many.files, algebra::minimum, &many.output, out)
        }
        Operation::Max(many) => {
            let kind = ("max", many.collapse);
            several(kind, &many.files, algebra::maximum, &many.output, out)
        }
        Operation::Cut(cut) => {
            let paths = |profile: &Profile, names: &[String], option: &str| {
                let path = |name: &String| call_path(profile, name, option);
                names.iter().map(path).collect::<Result<Vec<_>, _>>()
            };
            let apply = |profile: &Profile, job: &Job| {
                let roots = paths(profile, &cut.root, "--root")?;
                let pruned = paths(profile, &cut.prune, "--prune")?;
                let kept = algebra::cut(profile, &roots, &pruned, job).map_err(input)?;
                if kept.calls().paths().is_empty() {
                    return Err(Failure::Usage("no call path remains after --prune".into()));
                }
                Ok(kept)
            };
            single("cut", &[&cut.file], apply, &cut.output, out)
        }
        Operation::Model(of) => model::run(of, out),
        Operation::Remap(of) => remap::run(of, out),
    }
}

/// Computes a profile from several ones.
fn several(
    (name, is_collapsed): (&'static str, bool),
    files: &[PathBuf],
    apply: impl Fn(&[Profile], &Job) -> perfkit::core::Result<Combined>,
    output: &Output,
    out: &mut dyn Write,
) -> Outcome {
    prepare(output, files.iter().map(PathBuf::as_path))?;
    let (mut profiles, mut locations) = (Vec::new(), Vec::new());
    for file in files {
        let opened = recording::profile(file)?;
        findings::print(&opened.diagnostics, &opened.counts);
        let profile = opened.profile;
        locations.push(profile.system().locations().len());
        profiles.push(if is_collapsed {
            algebra::collapse(&profile).map_err(input)?
        } else {
            profile
        });
    }
    // The totals of the operands have the units of the result.
    let profiles = algebra::in_common_units(&profiles).map_err(input)?;
    let combined = apply(&profiles, &Bar::job()).map_err(input)?;
    let operands = files.iter().zip(&profiles).zip(&combined.moved);
    let operands = operands
        .map(|((file, profile), moved)| Operand::new(file, profile, moved))
        .collect();
    let mut summary = Summary::of(name, &combined.profile, Some(&combined), operands, output)?;
    summary.locations = locations;
    finish(&combined.profile, &summary, output, out)
}

/// Computes a profile from one profile, which is the first of `files`.
fn single(
    name: &'static str,
    files: &[&Path],
    apply: impl Fn(&Profile, &Job) -> Result<Profile, Failure>,
    output: &Output,
    out: &mut dyn Write,
) -> Outcome {
    prepare(output, files.iter().copied())?;
    let Some(file) = files.first() else {
        return Ok(());
    };
    let opened = recording::profile(file)?;
    findings::print(&opened.diagnostics, &opened.counts);
    let profile = apply(&opened.profile, &Bar::job())?;
    let operand = Operand::new(file, &opened.profile, &[]);
    let summary = Summary::of(name, &profile, None, vec![operand], output)?;
    finish(&profile, &summary, output, out)
}

/// Applies the general options, and checks that no output replaces an input.
fn prepare<'a>(output: &Output, files: impl Iterator<Item = &'a Path> + Clone) -> Outcome {
    output.general.apply()?;
    for written in output.output.iter().chain(&output.csv) {
        for read in files.clone() {
            failure::spare(read, written)?;
        }
    }
    Ok(())
}

/// Writes the requested files and the summary.
fn finish(
    profile: &Profile,
    summary: &Summary<'_>,
    output: &Output,
    out: &mut dyn Write,
) -> Outcome {
    if let Some(path) = &output.output {
        output::whole(path, |to| {
            let options = cube::WriteOptions::new();
            let lost = cube::write(profile, to, &options, &Bar::job()).map_err(input)?;
            findings::print(&lost, &Default::default());
            Ok(())
        })?;
    }
    let table = || match output.scope.scope {
        Some(scope) => severity_table(&profile.in_scope(scope).0, profile.regions()),
        None => severity_table(profile, profile.regions()),
    };
    output::csv(output.csv.as_ref(), table)?;
    if output.general.json {
        output::json(out, &summary.json(output.top))
    } else {
        summary.text(output.top, out)
    }
}
