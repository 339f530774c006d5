//! Option `--versions` of `track`: comparison of the time of each tracked region in two versions of
//! a program.

use super::Report;
use crate::failure::{Failure, Outcome};
use crate::phases::experiments::usage;
use crate::phases::series::Series;
use crate::table::{self, counted};
use clap::Args;
use perfkit::core::Table;
use perfkit::track::trend::{Sample, Trends, VersionChange, VersionParams};
use std::io::Write;

/// Relative slowdown, in per cent, up to which one run of each version raises no alarm.
const TOLERANCE_OF_ONE_RUN: f64 = 5.0;

/// Options of the comparison of versions.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct VersionArgs {
    /// Find regions that became slower between two versions, and exit with code 3 if there is one: the first N
    /// recordings are runs of the old version, the others of the new one [default: the first half]
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true)]
    versions: Option<Option<usize>>,
    /// Largest probability that equal versions raise an alarm [default: 0.005]
    #[arg(
        long,
        value_name = "P",
        requires = "versions",
        allow_negative_numbers = true
    )]
    false_alarms: Option<f64>,
    /// Slowdown in per cent up to which no alarm is raised [default: 1, or 5 for one run of each version]
    #[arg(
        long,
        value_name = "PERCENT",
        requires = "versions",
        allow_negative_numbers = true
    )]
    tolerance: Option<f64>,
}

impl VersionArgs {
    /// Returns the comparison of `recordings` recordings; `None` without the option.
    ///
    /// # Errors
    /// Returns [`Failure::Usage`] if one version has no recording, or recordings are divided into windows.
    pub(super) fn read(
        &self,
        recordings: usize,
        windows: usize,
    ) -> Result<Option<Versions>, Failure> {
        let Some(old) = self.versions else {
            return Ok(None);
        };
        let usage = |what: String| Err(Failure::Usage(what));
        if windows != 1 {
            return usage(
                "--versions: windows of one run are not runs; leave out --windows".into(),
            );
        }
        if old.is_none() && !recordings.is_multiple_of(2) {
            return usage(format!(
                "--versions: {} cannot be halved; --versions=N names the number of the old version",
                counted(recordings, "recording")
            ));
        }
        let old = old.unwrap_or(recordings / 2);
        if old == 0 || old >= recordings {
            return usage(format!(
                "--versions={old}: both versions need a recording, of {}",
                counted(recordings, "recording")
            ));
        }
        let mut params = VersionParams::default();
        if recordings == 2 {
            params.tolerance = TOLERANCE_OF_ONE_RUN / 100.0;
        }
        if let Some(percent) = self.tolerance {
            params.tolerance = percent / 100.0;
        }
        if let Some(rate) = self.false_alarms {
            params.false_alarms = rate;
        }
        Ok(Some(Versions { old, params }))
    }
}

/// Two versions and the parameters of their comparison.
#[derive(Clone, Copy, Debug)]
pub(super) struct Versions {
    /// Number of recordings of the old version, which come first.
    old: usize,
    /// Parameters.
    params: VersionParams,
}

impl Versions {
    /// Compares the time of each tracked region.
    ///
    /// # Errors
    /// Returns [`Failure::Usage`] for a parameter out of range.
    pub(super) fn compare(self, series: &Series) -> Result<Compared, Failure> {
        let found = series.trends.versions(self.old, "duration", &self.params);
        let changes = found.map_err(usage)?;
        let place = |change: &VersionChange| {
            let region = series.tracking.region(change.region)?;
            Some(region.position()?.to_string())
        };
        Ok(Compared {
            places: changes.iter().map(place).collect(),
            runs: [self.old, series.experiments.len() - self.old],
            params: self.params,
            changes,
        })
    }
}

/// Changes between two versions.
#[derive(Clone, Debug)]
pub(super) struct Compared {
    /// Change of each region.
    changes: Vec<VersionChange>,
    /// Place of each region in the program, if known.
    places: Vec<Option<String>>,
    /// Number of runs of the old and of the new version.
    runs: [usize; 2],
    /// Parameters of the comparison.
    params: VersionParams,
}

impl Compared {
    /// Returns the changes as a table.
    pub(super) fn table(&self) -> Table {
        Trends::version_table(&self.changes)
    }

    /// Returns [`Failure::Found`] if a region became slower.
    pub(super) fn outcome(self) -> Outcome {
        match self.changes.iter().filter(|of| of.is_slower).count() {
            0 => Ok(()),
            count => Err(Failure::Found(format!(
                "{} became slower",
                counted(count, "region")
            ))),
        }
    }

    /// Describes a change.
    fn sentence(&self, at: usize) -> String {
        let change = &self.changes[at];
        let place = self.places[at].as_ref();
        let place = place.map_or_else(String::new, |place| format!(", {place},"));
        let percent = |factor: f64| format!("{:.1} %", 100.0 * (factor - 1.0));
        let range = change.interval.map_or_else(String::new, |(low, high)| {
            format!(" (95 % interval {} to {})", percent(low), percent(high))
        });
        format!(
            "region {}{place} became slower by {}{range}; it takes {:.1} % of the time",
            change.region,
            percent(change.factor),
            100.0 * change.share
        )
    }
}

impl Report<'_> {
    /// Writes the regions that became slower, and the comparison of each region.
    pub(super) fn version_changes(&self, out: &mut dyn Write) -> Outcome {
        let Some(of) = &self.versions else {
            return Ok(());
        };
        let mut slower: Vec<usize> = (0..of.changes.len()).collect();
        slower.retain(|&at| of.changes[at].is_slower);
        let loss = |at: usize| (of.changes[at].factor - 1.0) * of.changes[at].share;
        slower.sort_by(|&a, &b| loss(b).total_cmp(&loss(a)).then(a.cmp(&b)));
        for &at in &slower {
            writeln!(out, "{}", of.sentence(at))?;
        }
        let tested = of.changes.iter().filter(|of| of.probability.is_some());
        let tested = counted(tested.count(), "region");
        if slower.is_empty() {
            writeln!(out, "no region became slower")?;
        }
        let [old, new] = of.runs;
        let rate = 100.0 * of.params.false_alarms;
        let tolerance = 100.0 * of.params.tolerance;
        write!(
            out,
            "tested: {tested} with at least {:.0} % of the time, for more than {tolerance} %, over {} of the old and {} of \
             the new version; ",
            100.0 * of.params.min_share,
            counted(old, "run"),
            counted(new, "run"),
        )?;
        if of.changes.iter().any(|of| of.sample == Sample::Runs) {
            writeln!(
                out,
                "equal versions raise an alarm in at most {rate} % of comparisons"
            )?;
        } else {
            writeln!(
                out,
                "one run of each version does not show the noise between runs: the test is over threads, and its rate of \
                 false alarms is unknown. Give several runs of each version"
            )?;
        }
        writeln!(
            out,
            "\ntime of a burst in the new version, divided by that in the old version"
        )?;
        let all = || of.changes.iter();
        let range = |interval: Option<(f64, f64)>| {
            interval.map(|(low, high)| format!("{low:.4} to {high:.4}"))
        };
        let fixed = |value: f64| format!("{value:.4}");
        let judged = all().map(|it| match (it.is_slower, it.probability) {
            (true, _) => "slower",
            (_, Some(_)) => "",
            (_, None) => "too few samples",
        });
        let table = Table::new(
            "versions",
            "Change of each tracked region between versions.",
        )
        .unsigned("region", "", all().map(|it| it.region.0))
        .floats("time", "%", all().map(|it| 100.0 * it.share))
        .text("factor", all().map(|it| fixed(it.factor)))
        .text("95 % interval", all().map(|it| range(it.interval)))
        .floats("probability", "", all().map(|it| it.probability))
        .text("detectable from", all().map(|it| it.detectable.map(fixed)))
        .floats("bursts", "", all().map(|it| it.bursts))
        .text("", judged);
        table::print(out, &table, 60)?;
        writeln!(out)?;
        Ok(())
    }
}
