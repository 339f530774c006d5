//! Command line of `correlate`: [`Options`] with profiles, reference, surrogates and output files; [`ViewsBy`] with
//! grid, weights of axes and memory, which other commands share.

use super::axes::Axes;
use super::grid::Rule;
use crate::options::{General, TRACE, Window, positive};
use crate::pictures::Files;
use crate::scope::ScopeBy;
use clap::Args;
use clap::builder::ArgPredicate;
use std::path::PathBuf;
use std::str::FromStr;

/// Correlates the severity views of a profile with that of one call path, or all of them, over a grid of locations
///
/// Weights of the axes remove the variation along an axis, such as that of a known imbalance, before views are
/// compared.
#[derive(Args, Clone, Debug)]
pub struct Options {
    #[doc = "Profile, or recording with events, whose calls make a profile"]
    #[arg(long_help = format!(
        "Profile (.cubex, .cube, a TAU folder, .ppk), or recording with events, whose calls make a profile: {TRACE}"
    ))]
    pub(crate) file: PathBuf,
    /// Further profiles, such as runs of other sizes: with --path, a table of each correlation over all profiles
    #[arg(value_name = "MORE", requires = "path")]
    pub(crate) more: Vec<PathBuf>,
    /// Call path to compare with, written with ` > `, or its number [default: all pairs of views are compared without
    /// shift, and those that correlate beyond chance are printed as sentences]
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Option<String>,
    /// Metric of the call path, such as "exclusive time" [default: the first that is a time]; without --path, metric
    /// of all compared views [default: all metrics]
    #[arg(long, value_name = "M")]
    pub(crate) metric: Option<String>,
    #[command(flatten)]
    pub(crate) views: ViewsBy,
    #[command(flatten)]
    pub(crate) window: Window,
    /// Order by the largest r over all shifts, as the text of the paper does, which puts opposites low in the
    /// list [default: by the largest |r|]
    #[arg(long, requires = "path")]
    pub(crate) paper: bool,
    /// Relative difference within which magnitudes of r count as equal, from 0 to below 1: of equal ones the smallest
    /// shift is reported, with 0 always the largest |r| [default: 0.01]
    #[arg(
        long,
        value_name = "S",
        allow_negative_numbers = true,
        requires = "path"
    )]
    pub(crate) tolerance: Option<f64>,
    /// List all views: also kin, which contain the reference, are part of it or equal another view, and views that do
    /// not vary; without --path, also test pairs of which one view contains the other
    #[arg(long)]
    pub(crate) kin: bool,
    /// Expected share of false pairs among those found without --path, between 0 and 1 [default: 0.05]
    #[arg(long, value_name = "SHARE", conflicts_with = "path")]
    pub(crate) rate: Option<f64>,
    /// Compare with views of the same metric only
    #[arg(long, requires = "path")]
    pub(crate) same_metric: bool,
    /// Estimate the probability of each correlation by chance from N random references with the values of
    /// the reference and nearly its spectrum; takes N transforms a view
    #[arg(long, value_name = "N", requires = "path")]
    pub(crate) surrogates: Option<usize>,
    /// Pairs to list, or views with --path, where the default is 20
    #[arg(
        long,
        value_name = "N",
        default_value = "8",
        default_value_if("path", ArgPredicate::IsPresent, "20")
    )]
    pub(crate) top: usize,
    /// Write all views as a table
    #[arg(long, value_name = "OUT", help_heading = "Output files")]
    pub(crate) csv: Option<PathBuf>,
    /// Write the profile as .cubex with the largest and the smallest correlation of each call path as two metrics,
    /// "correlation of M" and "anticorrelation of M"
    #[arg(
        long,
        value_name = "OUT",
        help_heading = "Output files",
        requires = "path"
    )]
    pub(crate) cube: Option<PathBuf>,
    /// Write the profile as .cubex with the grid as its first topology, which other programs show and later runs use
    #[arg(long, value_name = "OUT", help_heading = "Output files")]
    pub(crate) write_topology: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) files: Files,
    #[command(flatten)]
    pub(crate) general: General,
}

/// Options of the views of a profile: their scope, their grid, the weights of its axes, and the memory of their
/// spectra.
#[derive(Args, Clone, Debug)]
pub struct ViewsBy {
    #[command(flatten)]
    pub(crate) scope: ScopeBy,
    /// Grid of the locations: cube:NAME, 7x7x7, node,process,thread, table:FILE, metadata:NAME or detect
    ///
    /// cube:NAME is a grid of the file, by name or number; 7x7x7 holds the processes by rank, last axis fastest;
    /// node,process,thread are levels of the machine; table:FILE has a line for each location, in the order of ranks,
    /// with its coordinates; metadata:NAME is a property with coordinates, such as `BGP Coords`; detect is the way to write the
    /// number of processes as a product, or node x process, along whose axes the views vary most against chance.
    ///
    /// Default: the first grid of the file with several axes, else a detected one that is clearly better than others,
    /// else the first of the file, else a row of the processes in order. A default grid on which fewer than 8 cells hold
    /// locations is refused, and one that is not of the file with unequal numbers of locations in its cells.
    #[arg(long = "topology", value_name = "RULE", value_parser = Rule::from_str)]
    pub(crate) rule: Option<Rule>,
    /// Weight of the variation along each axis, 0 to 1: 1,1,.. removes nothing, 0,0,.. everything; or NAME=WEIGHT pairs
    /// for some axes of the grid; or names of the axes to keep [default: all 1]
    #[arg(long, value_name = "W,W,..", value_parser = Axes::from_str, allow_hyphen_values = true, overrides_with = "axes")]
    pub(crate) axes: Option<Axes>,
    /// Memory budget of spectra and surrogates in GiB, above 0: more is refused
    #[arg(long, value_name = "GIB", default_value = "4", value_parser = positive)]
    pub(crate) memory: f64,
}
