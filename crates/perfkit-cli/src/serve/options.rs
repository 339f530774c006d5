//! Command line of `serve`: [`Options`] with recordings and profiles, the rows, rules and counters of
//! timelines, the views of profiles ([`ProfilesBy`]), and the port.

use crate::correlate::{self, ViewsBy};
use crate::failure::Failure;
use crate::fold::{CountersBy, Rows, Rules};
use crate::options::{General, TRACE};
use clap::Args;
use std::path::{Path, PathBuf};

/// Serves timelines and profiles as a local page that is exact at every zoom and for every reference
///
/// The page asks this program for the window and the rows on the screen, and for the views that correlate with the
/// selected one. It is reachable from this machine only, and only with the token in its address.
#[derive(Args, Clone, Debug)]
pub struct Options {
    #[doc = "Recordings with events, each with a timeline of its own, and profiles, each with its views on a grid"]
    #[arg(required = true, value_name = "RECORDING", long_help = format!(
        "Recordings with events, each with a timeline of its own: {TRACE}; and profiles (.cubex, .cube, a TAU folder, \
         .ppk), each with its views on a grid"
    ))]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) rows: Rows,
    #[command(flatten)]
    pub(crate) rules: Rules,
    #[command(flatten)]
    pub(crate) counters: CountersBy,
    /// Port on 127.0.0.1 [default: a free one]
    #[arg(
        long,
        value_name = "PORT",
        default_value_t = 0,
        hide_default_value = true
    )]
    pub(crate) port: u16,
    /// Continue after the page is closed
    #[arg(long)]
    pub(crate) keep: bool,
    // The arguments after it would have its heading.
    #[command(flatten)]
    pub(crate) profiles: ProfilesBy,
    #[command(flatten)]
    pub(crate) general: General,
}

impl Options {
    /// Refuses options that no timeline uses.
    ///
    /// # Errors
    /// Returns [`Failure::Usage`] with the first of them.
    pub(super) fn refuse_timelines(&self) -> Result<(), Failure> {
        let given = self.rows.given().chain(self.rules.given());
        match given.chain(self.counters.given()).find(|(_, is)| *is) {
            None => Ok(()),
            Some((name, _)) => Err(Failure::Usage(format!(
                "{name} applies to timelines, and no file has events: all are shown as views on a grid"
            ))),
        }
    }
}

/// Options of the pages of profiles.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Profiles")]
pub(crate) struct ProfilesBy {
    /// Call path of the first reference, written with ` > `, or its number [default: the one that varies most]
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// Metric of the first reference, such as "exclusive time" [default: the first that is a time]
    #[arg(long, value_name = "M")]
    metric: Option<String>,
    /// Relative difference within which magnitudes of r count as equal, from 0 to below 1: of equal ones the smallest
    /// shift is reported, with 0 always the largest |r| [default: 0.01]
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    tolerance: Option<f64>,
    /// List kin of the reference too, which contain it, are part of it or equal another view
    #[arg(long)]
    kin: bool,
    /// Show views of the metric only
    #[arg(long)]
    same_metric: bool,
    #[command(flatten)]
    views: ViewsBy,
}

impl ProfilesBy {
    /// Returns the options of the views of a profile.
    pub(super) fn of(&self, file: &Path, general: &General) -> correlate::Options {
        correlate::Options {
            file: file.to_owned(),
            more: Vec::new(),
            path: self.path.clone(),
            metric: self.metric.clone(),
            views: self.views.clone(),
            window: Default::default(),
            paper: false,
            tolerance: self.tolerance,
            kin: self.kin,
            rate: None,
            same_metric: self.same_metric,
            surrogates: None,
            top: 0,
            csv: None,
            cube: None,
            write_topology: None,
            files: Default::default(),
            general: general.clone(),
        }
    }

    /// Refuses options that no profile uses.
    ///
    /// # Errors
    /// Returns [`Failure::Usage`] with the first of them.
    pub(super) fn refuse(&self) -> Result<(), Failure> {
        let given = [
            ("--path", self.path.is_some()),
            ("--metric", self.metric.is_some()),
            ("--tolerance", self.tolerance.is_some()),
            ("--kin", self.kin),
            ("--same-metric", self.same_metric),
            ("--scope", self.views.scope.scope.is_some()),
            ("--topology", self.views.rule.is_some()),
            ("--axes", self.views.axes.is_some()),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            None => Ok(()),
            Some((name, _)) => Err(Failure::Usage(format!(
                "{name} applies to profiles, and all files have events: they are shown as timelines; `correlate` and \
                 `inspect` make profiles of them"
            ))),
        }
    }
}
