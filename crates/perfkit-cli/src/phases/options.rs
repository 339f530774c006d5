//! [`ClusterArgs`]: options of the clustering that `cluster` and `track` share, converted to the
//! parameters of the method.

use super::burst_tables;
use super::experiments::Axis;
use super::series::ClusterOptions;
use crate::failure::Failure;
use crate::options::{Window, positive, time, words};
use clap::Args;
use perfkit::core::Nanos;
use perfkit::track::Mode;
use std::path::PathBuf;

/// Parameters of the clustering.
#[derive(Args, Clone, Debug, Default)]
pub struct ClusterArgs {
    #[command(flatten)]
    window: Window,
    /// Axes of the space, separated by commas: counters, ipc, instructions, cycles, duration, or formulas
    /// [default: ipc,instructions where the recording has them, else duration and its first counter]
    #[arg(long, value_name = "A,B")]
    metrics: Option<String>,
    /// Radius of a dense neighbourhood in the normalised space, above 0, or auto [default: auto, found from
    /// the points]
    #[arg(long, value_name = "E", value_parser = eps, allow_negative_numbers = true)]
    eps: Option<Eps>,
    /// Points of a dense neighbourhood [default: 4, or one in 500 points if that is more; among the noise of
    /// 2 or 3 threads their number]
    #[arg(long, value_name = "N")]
    min_points: Option<usize>,
    /// Drop bursts shorter than this time: 20us, 1ms [default: the largest duration below which bursts take
    /// at most 1 % of the CPU time of each recording]
    #[arg(long, value_name = "T", value_parser = time)]
    min_duration: Option<Nanos>,
    /// Drop clusters below this share of the clustered time, in percent, 0 to 100 [default: 0]
    #[arg(long, value_name = "PERCENT", value_parser = percent, allow_negative_numbers = true)]
    min_share: Option<f64>,
    /// Take metrics, filters, radius and points from this file of the BSC clustering suite, and set --mode
    /// published; other options take precedence
    #[arg(long, value_name = "FILE.xml")]
    like: Option<PathBuf>,
    /// Steps of the method [default: optimal]
    #[arg(long, value_name = "MODE", value_parser = words(&[
        ("optimal", Mode::Optimal, "axes run between two quantiles; experiments share one space"),
        ("published", Mode::Published, "every step as in the literature and its tools"),
        ("joint", Mode::Optimal, ""),
    ]))]
    mode: Option<Mode>,
}

/// Value of the option for the radius.
#[derive(Clone, Copy, Debug)]
enum Eps {
    /// The radius is chosen from the points.
    Auto,
    /// The radius is this number.
    Given(f64),
}

fn eps(text: &str) -> Result<Eps, String> {
    match text {
        "auto" => Ok(Eps::Auto),
        number => match positive(number) {
            Ok(number) => Ok(Eps::Given(number)),
            Err(_) => Err("neither a number above 0 nor auto".into()),
        },
    }
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok();
    let number = number.filter(|number| (0.0..=100.0).contains(number));
    number.ok_or_else(|| "not a number from 0 to 100".into())
}

impl ClusterArgs {
    /// Returns `true` if a radius is given.
    pub fn has_eps(&self) -> bool {
        matches!(self.eps, Some(Eps::Given(_)))
    }

    /// Returns the options of the method; reads the file of `--like`.
    ///
    /// # Errors
    /// Returns [`Failure::Usage`] for a list without metrics, and [`Failure::Input`] if a file
    /// cannot be read.
    pub fn read(&self) -> Result<ClusterOptions, Failure> {
        let axes = self.metrics.as_deref().map(Axis::list).transpose()?;
        let like = self
            .like
            .as_deref()
            .map(burst_tables::definition)
            .transpose()?;
        Ok(ClusterOptions {
            axes: axes.unwrap_or_default(),
            like,
            eps: match self.eps {
                Some(Eps::Given(eps)) => Some(eps),
                Some(Eps::Auto) | None => None,
            },
            min_points: self.min_points,
            min_duration: self.min_duration,
            min_share: self.min_share.map(|percent| percent / 100.0),
            mode: self.mode,
            window: self.window,
            ..ClusterOptions::default()
        })
    }
}
