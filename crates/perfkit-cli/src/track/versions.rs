//! Option `--versions` of `track`: comparison of the time of each tracked region in two versions of
//! a program, as text and table, which fails if a region became slower.

use super::{Report, percent};
use crate::failure::{Failure, Outcome};
use crate::phases::experiments::usage;
use crate::phases::series::Series;
use crate::table::{self, counted};
use clap::Args;
use perfkit::core::Table;
use perfkit::track::ClusterId;
use perfkit::track::tracking::TrackedRegion;
use perfkit::track::trend::{Sample, Trends, VersionChange, VersionParams};
use std::io::Write;

/// Relative slowdown, in per cent, up to which one run of each version raises no alarm.
const TOLERANCE_OF_ONE_RUN: f64 = 5.0;

/// Options of the comparison of versions.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct VersionArgs {
    /// Find regions that became slower or are executed more often between two versions, and exit with code 3 if there is
    /// one: the first N recordings are runs of the old version, the others of the new one [default: the first half]
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true)]
    versions: Option<Option<usize>>,
    /// Largest probability that equal versions, with ten runs or more, raise an alarm of either kind [default: 0.005]
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
        let count =
            |test: fn(&VersionChange) -> bool| self.changes.iter().filter(|of| test(of)).count();
        let slower = count(|of| of.is_slower);
        let often = count(|of| of.is_more_often && !of.is_slower);
        let verb = if often == 1 { "is" } else { "are" };
        match (slower, often) {
            (0, 0) => Ok(()),
            (0, often) => Err(Failure::Found(format!(
                "{} {verb} executed more often",
                counted(often, "region")
            ))),
            (slower, 0) => Err(Failure::Found(format!(
                "{} became slower",
                counted(slower, "region")
            ))),
            (slower, often) => Err(Failure::Found(format!(
                "{} became slower, and {often} {verb} executed more often",
                counted(slower, "region")
            ))),
        }
    }

    /// Describes a change for the worse.
    fn sentence(&self, at: usize) -> String {
        let change = &self.changes[at];
        let place = self.places[at].as_ref();
        let place = place.map_or_else(String::new, |place| format!(", {place},"));
        let more = |factor: f64| format!("{:.1} %", 100.0 * (factor - 1.0));
        let range = change.interval.map_or_else(String::new, |(low, high)| {
            format!(" (95 % interval {} to {})", more(low), more(high))
        });
        let slower = format!("became slower by {}{range}", more(change.factor));
        let often = format!("is executed {:.2} times as often", change.bursts);
        let what = match (change.is_slower, change.is_more_often) {
            (true, true) => format!("{slower} and {often}"),
            (true, false) => slower,
            _ => often,
        };
        let share = 100.0 * change.share;
        format!(
            "region {}{place} {what}; it takes {share:.1} % of the time",
            change.region
        )
    }
}

impl Report<'_> {
    /// Writes the regions that became slower, and the comparison of each region.
    pub(super) fn version_changes(&self, out: &mut dyn Write) -> Outcome {
        let Some(of) = &self.versions else {
            return Ok(());
        };
        let mut worse: Vec<usize> = (0..of.changes.len()).collect();
        worse.retain(|&at| of.changes[at].is_slower || of.changes[at].is_more_often);
        let loss = |at: usize| {
            let change = &of.changes[at];
            (change.factor * change.bursts - 1.0) * change.share
        };
        worse.sort_by(|&a, &b| loss(b).total_cmp(&loss(a)).then(a.cmp(&b)));
        for &at in &worse {
            writeln!(out, "{}", of.sentence(at))?;
        }
        let tested = of.changes.iter().filter(|of| of.probability.is_some());
        let tested = counted(tested.count(), "region");
        if worse.is_empty() {
            writeln!(out, "no region became slower")?;
        }
        let [old, new] = of.runs;
        for sentence in self.in_one_version(old, of.params.min_share) {
            writeln!(out, "{sentence}")?;
        }
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
            let detectable = of.changes.iter().filter_map(|of| of.detectable);
            let detectable = detectable.fold(1.0, f64::max);
            writeln!(
                out,
                "equal versions raise an alarm of either kind in at most {} % of comparisons, and a slowdown of {:.1} % of \
                 any tested region raises one",
                table::short(100.0 * of.params.rate(old + new)),
                100.0 * (detectable - 1.0)
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
        let judged = all().map(
            |it| match (it.is_slower, it.is_more_often, it.probability) {
                (true, true, _) => "slower, more often",
                (true, ..) => "slower",
                (_, true, _) => "more often",
                (.., Some(_)) => "",
                (.., None) => "too few samples",
            },
        );
        let table = Table::new(
            "versions",
            "Change of each tracked region between versions.",
        )
        .unsigned("region", "", all().map(|it| it.region.0))
        .floats("share of time", "%", all().map(|it| 100.0 * it.share))
        .text("factor", all().map(|it| fixed(it.factor)))
        .text("95 % interval", all().map(|it| range(it.interval)))
        .floats("probability", "", all().map(|it| it.probability))
        .text("detectable from", all().map(|it| it.detectable.map(fixed)))
        .floats("factor of bursts", "", all().map(|it| it.bursts))
        .text("", judged);
        table::print(out, &table, 60)?;
        writeln!(out)?;
        Ok(())
    }

    /// Describes the regions that only one version has, with their largest share of the CPU time of a run. They
    /// are compared with nothing.
    fn in_one_version(&self, old: usize, min_share: f64) -> Vec<String> {
        let sentence = |region: &TrackedRegion| {
            let (before, after) = region.members.split_at_checked(old)?;
            let is_in = |runs: &[Vec<ClusterId>]| runs.iter().any(|members| !members.is_empty());
            let share = region.share.iter().copied().fold(0.0, f64::max);
            let what = match (is_in(before), is_in(after)) {
                (true, false) => "is in no run of the new version",
                (false, true) => "is in no run of the old version",
                _ => return None,
            };
            let place = region.position();
            let place = place.map_or_else(String::new, |place| format!(", {place},"));
            (share >= min_share).then(|| {
                let share = percent(share);
                format!("not compared: region {}{place} {what}; it takes {share} of the time of the other", region.id)
            })
        };
        self.series
            .tracking
            .regions
            .iter()
            .filter_map(sentence)
            .collect()
    }
}
