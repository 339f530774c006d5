//! [`MethodArgs`]: options of `track` for the comparison of clusters of two experiments, such as
//! evaluators and thresholds.

use crate::failure::Failure;
use crate::options::words;
use crate::phases::series::Comparison;
use clap::Args;
use perfkit::track::Mode;
use perfkit::track::tracking::Threshold;

/// Evaluator that the option `--evaluators` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named {
    /// Nearest bursts of the other experiment.
    Distance,
    /// Callers of the calls around bursts.
    Callers,
    /// Number of bursts.
    Density,
    /// Alignment of the sequences of bursts.
    Sequences,
}

/// Options of the comparison of clusters.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct MethodArgs {
    /// Evaluators that compare clusters, separated by commas [default: distance,callers,sequences; in --mode
    /// published distance,sequences]
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = words(&[
        ("distance", Named::Distance, "nearest bursts of the other experiment"),
        ("callers", Named::Callers, "callers of the calls around bursts"),
        ("density", Named::Density, "number of bursts (only --mode published)"),
        ("sequences", Named::Sequences, "alignment of the sequences of bursts"),
    ]))]
    evaluators: Vec<Named>,
    /// Compare callers at this level, 1 or more, and use the evaluator callers; needs --mode published
    #[arg(long, value_name = "N")]
    caller_level: Option<usize>,
    /// Smallest link between clusters in per cent, any for 1, or first for the largest link of each cluster;
    /// needs --mode published [default: 15]
    #[arg(long, value_name = "P", value_parser = threshold)]
    threshold: Option<Threshold>,
    /// Smallest SPMD score, 0 to 1, with which sequences are used; needs --mode published [default: 0.9]
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    min_score: Option<f64>,
}

fn threshold(text: &str) -> Result<Threshold, String> {
    match text {
        "any" => Ok(Threshold::Any),
        "first" => Ok(Threshold::First),
        number => match number.parse() {
            Ok(percent @ 1..=100) => Ok(Threshold::Percent(percent)),
            _ => Err("neither a whole number from 1 to 100, nor any, nor first".into()),
        },
    }
}

impl MethodArgs {
    /// Returns the parameters of the comparison.
    ///
    /// # Errors
    /// Returns [`Failure::Usage`] if an option does not apply to the mode.
    pub(super) fn read(&self, mode: Mode) -> Result<Comparison, Failure> {
        let only_published = [
            ("--caller-level", self.caller_level.is_some()),
            ("--threshold", self.threshold.is_some()),
            ("--min-score", self.min_score.is_some()),
            (
                "--evaluators density",
                self.evaluators.contains(&Named::Density),
            ),
        ];
        let wrong = only_published.iter().find(|(_, is_given)| *is_given);
        if let Some((option, _)) = wrong
            && mode != Mode::Published
        {
            return Err(Failure::Usage(format!("{option}: needs --mode published")));
        }
        let use_of = |named| {
            let is_named = self.evaluators.contains(&named);
            (!self.evaluators.is_empty()).then_some(is_named)
        };
        let callers = use_of(Named::Callers);
        if self.caller_level.is_some() && callers == Some(false) {
            let what = "--caller-level: --evaluators has no callers";
            return Err(Failure::Usage(what.into()));
        }
        Ok(Comparison {
            distance: use_of(Named::Distance),
            callers: self.caller_level.map(|_| true).or(callers),
            density: use_of(Named::Density),
            sequences: use_of(Named::Sequences),
            caller_level: self.caller_level,
            threshold: self.threshold,
            min_score: self.min_score,
        })
    }
}
