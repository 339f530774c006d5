//! [`check`]: refuses a command line that writes two results to one file, or a result over an input.

use crate::failure::{Failure, Outcome, spare};
use clap::{Arg, ArgMatches, Command};
use std::path::{Path, PathBuf};

/// Name of the value of options that write a file.
const OUTPUT: &str = "OUT";

/// Checks the output files of a command line before anything is written.
///
/// # Errors
/// Returns [`Failure::Usage`] if two outputs are one file, or an output is one of the recordings.
pub(crate) fn check(mut command: &Command, mut matches: &ArgMatches) -> Outcome {
    while let Some((name, inner)) = matches.subcommand()
        && let Some(subcommand) = command.find_subcommand(name)
    {
        (command, matches) = (subcommand, inner);
    }
    let is_output = |arg: &Arg| {
        let names = arg.get_value_names().unwrap_or_default();
        names.first().is_some_and(|name| *name == OUTPUT)
    };
    let (outputs, others): (Vec<&Arg>, Vec<&Arg>) =
        command.get_arguments().partition(|it| is_output(it));
    let mut written: Vec<(String, PathBuf)> = Vec::new();
    for arg in outputs {
        let name = match arg.get_long() {
            Some(long) => format!("--{long}"),
            None => OUTPUT.into(),
        };
        for path in paths(arg, matches) {
            let real = identity(&path);
            if let Some((first, _)) = written.iter().find(|it| Some(&it.1) == real.as_ref()) {
                return Err(Failure::Usage(format!(
                    "{first} and {name} both write {}: give each a file of its own",
                    path.display()
                )));
            }
            written.extend(real.map(|real| (name.clone(), real)));
        }
    }
    for read in others.iter().filter(|arg| arg.is_positional()) {
        for read in paths(read, matches) {
            for (_, written) in &written {
                spare(&read, written)?;
            }
        }
    }
    Ok(())
}

/// Returns the values of an argument as paths.
fn paths(arg: &Arg, matches: &ArgMatches) -> Vec<PathBuf> {
    let values = matches.try_get_raw(arg.get_id().as_str()).ok().flatten();
    values.into_iter().flatten().map(PathBuf::from).collect()
}

/// Returns the path of an output without links and `..`; `None` for a pipe or device, which takes several outputs.
fn identity(path: &Path) -> Option<PathBuf> {
    if let Ok(real) = std::fs::canonicalize(path) {
        return (real.is_file() || real.is_dir()).then_some(real);
    }
    let folder = path.parent().filter(|it| *it != Path::new(""));
    let folder = std::fs::canonicalize(folder.unwrap_or(Path::new("."))).ok();
    Some(match (folder, path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path.into(),
    })
}
