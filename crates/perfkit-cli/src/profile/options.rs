//! Command line of `profile`: [`Options`] with an [`Operation`] and its operands, and the options
//! of the result.

use super::model::Model;
use crate::options::General;
use crate::scope::ScopeBy;
use clap::builder::{PathBufValueParser, TypedValueParser};
use clap::{ArgGroup, Args, Subcommand};
use std::path::PathBuf;

/// Computes a profile from one or several profiles: difference, mean, merge, extremes, and other call trees
///
/// Metrics, call paths and locations are matched by name; machine nodes do not matter. Additive values that a profile
/// does not have count as 0, but a profile without the metric takes no part in means and extremes, and has no
/// difference. The result is printed, and written with -o as a .cubex that every other subcommand reads.
#[derive(Args, Clone, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct Options {
    #[command(subcommand)]
    pub(super) operation: Operation,
}

/// Operation with its operands.
#[derive(Subcommand, Clone, Debug)]
pub(super) enum Operation {
    /// Subtracts the second profile from the first one; drops metrics that are not additive, or that one of them lacks
    Diff(Two),
    /// Computes the mean of all profiles, such as repeated runs; minimum and maximum metrics take the extreme
    Mean(Many),
    /// Joins the metrics of all profiles; a metric that several profiles have is that of the first one
    Merge(Many),
    /// Takes the smallest value of all profiles, for each metric, call path and location
    Min(Many),
    /// Takes the largest value of all profiles, for each metric, call path and location
    Max(Many),
    /// Keeps parts of the call tree, or removes parts, whose values become exclusive ones of the caller
    Cut(Cut),
    /// Models each call path as a function of processes, problem size or other parameters of the profiles
    Model(Model),
    /// Renames and groups regions, or derives metrics by a specification of Score-P or Scalasca
    Remap(Remap),
}

/// Operands of a difference.
#[derive(Args, Clone, Debug)]
pub(super) struct Two {
    /// Profile, or recording with events, whose calls make a profile
    pub(super) file: PathBuf,
    /// Profile to subtract
    pub(super) subtrahend: PathBuf,
    /// Compare the values of all locations together, for profiles of different numbers of processes
    #[arg(long)]
    pub(super) collapse: bool,
    #[command(flatten)]
    pub(super) output: Output,
}

/// Operands of an operation on several profiles.
#[derive(Args, Clone, Debug)]
pub(super) struct Many {
    /// Profiles, or recordings with events, whose calls make profiles; at least two
    #[arg(required = true, num_args = 2.., value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
    /// Compare the values of all locations together, for profiles of different numbers of processes
    #[arg(long)]
    pub(super) collapse: bool,
    #[command(flatten)]
    pub(super) output: Output,
}

/// Operand and call paths of a cut.
#[derive(Args, Clone, Debug)]
#[group(skip)]
#[command(group = ArgGroup::new("call paths").args(["root", "prune"]).required(true).multiple(true))]
pub(super) struct Cut {
    /// Profile, or recording with events, whose calls make a profile
    pub(super) file: PathBuf,
    /// Call path to keep with those below it, as a root; written with ` > `, or its number; may be repeated
    #[arg(long, value_name = "PATH")]
    pub(super) root: Vec<String>,
    /// Call path to remove with those below it: its values become exclusive ones of its caller; may be repeated
    #[arg(long, value_name = "PATH")]
    pub(super) prune: Vec<String>,
    #[command(flatten)]
    pub(super) output: Output,
}

/// Operand and specification of a remapping.
#[derive(Args, Clone, Debug)]
pub(super) struct Remap {
    /// Profile, or recording with events, whose calls make a profile
    pub(super) file: PathBuf,
    /// File with a line `NEW NAME = PATTERN` for each rule, such as `MPI = MPI_*`; the first rule that matches the name
    /// of a region applies; # begins a comment. Or a remapping specification of Cube, an XML document with a tree of
    /// metrics in CubePL [default: the specification that the .cubex contains]
    #[arg(long, value_name = "SPEC")]
    pub(super) spec: Option<PathBuf>,
    #[command(flatten)]
    pub(super) output: Output,
}

/// Options of the result.
#[derive(Args, Clone, Debug)]
pub(super) struct Output {
    /// Metric that orders the call paths, such as "exclusive time" [default: the first that is a time]
    #[arg(long, value_name = "M")]
    pub(super) metric: Option<String>,
    #[command(flatten)]
    pub(super) scope: ScopeBy,
    /// Call paths to list
    #[arg(long, value_name = "N", default_value = "10")]
    pub(super) top: usize,
    /// Write the result as .cubex
    #[arg(short, long, value_name = "OUT", help_heading = "Output files", value_parser = cubex())]
    pub(super) output: Option<PathBuf>,
    /// Write the severities of the result as a table
    #[arg(long, value_name = "OUT", help_heading = "Output files")]
    pub(super) csv: Option<PathBuf>,
    #[command(flatten)]
    pub(super) general: General,
}

/// Returns a parser of paths that refuses the extension of another kind of file.
fn cubex() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| {
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        match extension.to_ascii_lowercase().as_str() {
            "" | "cubex" => Ok(path),
            other => Err(format!("the result is written as .cubex, not as .{other}")),
        }
    })
}
