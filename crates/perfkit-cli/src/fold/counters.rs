//! [`CountersBy`]: options `--counter` and `--across` of `fold` and `serve`, which select the
//! counters below a timeline.

use super::states::unknown;
use crate::failure::{Failure, input};
use crate::options::words;
use clap::Args;
use perfkit::core::{Job, Trace};
use perfkit::fold::{Across, Counter, Counters};

/// Counters below a timeline.
#[derive(Args, Clone, Debug)]
pub struct CountersBy {
    /// Show a counter below the rows: its name, a pattern with * and ?, a ratio such as
    /// PAPI_TOT_INS/PAPI_TOT_CYC, or LABEL=RATIO; repeatable [default in pages: all counters]
    #[arg(long = "counter", value_name = "NAME", help_heading = HEADING)]
    names: Vec<String>,
    /// Value of all locations together
    #[arg(long, value_name = "HOW", default_value = "mean", help_heading = HEADING, value_parser = words(&[
        ("mean", Across::Mean, "mean over the locations"),
        ("sum", Across::Sum, "sum over the locations"),
        ("max", Across::Max, "largest of the locations"),
    ]))]
    pub(crate) across: Across,
}

const HEADING: &str = "Counters";

impl CountersBy {
    /// Returns each option, and `true` if it is not the default.
    #[cfg(feature = "serve")]
    pub(crate) fn given(&self) -> impl Iterator<Item = (&'static str, bool)> {
        let across = self.across != Across::default();
        [("--counter", !self.names.is_empty()), ("--across", across)].into_iter()
    }

    /// Returns the counters that the options select, none by default.
    ///
    /// # Errors
    /// Returns [`Failure::Usage`] for a counter that the trace does not have.
    pub(crate) fn chosen(&self, all: &Counters) -> Result<Vec<Counter>, Failure> {
        let mut chosen: Vec<Counter> = Vec::new();
        for name in &self.names {
            let before = chosen.len();
            match (all.find(name), name.split_once('=')) {
                (Some(found), _) => chosen.push(found),
                (None, Some((label, ratio))) => {
                    let found = all
                        .find(ratio)
                        .ok_or_else(|| unknown(all, "--counter", ratio))?;
                    let name = label.to_owned();
                    let mut found = found;
                    found.name = name;
                    chosen.push(found);
                }
                (None, None) => chosen.extend(all.matching(name).cloned()),
            }
            if chosen.len() == before {
                return Err(unknown(all, "--counter", name));
            }
        }
        Ok(chosen)
    }

    /// Returns the counters of a trace and those that the options select.
    ///
    /// # Errors
    /// Returns the errors of [`chosen`](Self::chosen).
    pub(crate) fn of(&self, trace: &Trace, job: &Job) -> Result<(Counters, Vec<Counter>), Failure> {
        let all = Counters::new(trace.view(), job).map_err(input)?;
        let chosen = self.chosen(&all)?;
        Ok((all, chosen))
    }

    /// Returns the counters of a page: those that the options select, or all.
    pub(crate) fn of_page(all: &Counters, chosen: &[Counter]) -> Vec<Counter> {
        if chosen.is_empty() {
            all.all.clone()
        } else {
            chosen.to_vec()
        }
    }
}
