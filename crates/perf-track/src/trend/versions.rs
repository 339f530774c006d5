//! [`VersionChange`]: change of the time of a tracked region between the runs of two program
//! versions, from a test over runs or threads ([`Sample`]), with its [`VersionParams`] and table.

use super::burst_counts::{BurstCounts, Variation};
use super::trends::Trends;
use crate::tracking::TrackedRegionId;
use crate::{ClusterId, Error, Result};
use perf_core::{Column, Table};
use statrs::distribution::{ContinuousCDF, StudentsT};
use std::collections::BTreeMap;

/// Share of the rate of false alarms for numbers of bursts; the rest is for times. With the default rate and ten runs,
/// it suffices for numbers that do not vary.
const SHARE_OF_COUNTS: f64 = 0.2;

/// Parameters of [`Trends::versions`].
///
/// ```
/// use perf_track::trend::VersionParams;
/// let params = VersionParams::default();
/// assert_eq!((params.false_alarms, params.tolerance), (0.005, 0.01));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VersionParams {
    /// Largest probability, in `0.0..1.0`, that runs of equal versions raise an alarm of either kind for any region.
    /// Default 0.005. See [`VersionChange::is_more_often`] for few runs.
    pub false_alarms: f64,
    /// Relative slowdown up to which no alarm is raised, at least 0. Default 0.01.
    pub tolerance: f64,
    /// Smallest share of the time of a version, in `0.0..=1.0`, of a region that is tested. Default 0.01.
    pub min_share: f64,
}

impl Default for VersionParams {
    fn default() -> Self {
        VersionParams {
            false_alarms: 0.005,
            tolerance: 0.01,
            min_share: 0.01,
        }
    }
}

impl VersionParams {
    /// Returns an upper bound of the probability that `runs` runs of equal versions, several of the old and several of
    /// the new one, raise an alarm: [`false_alarms`](Self::false_alarms), or more for fewer than ten runs, in which a
    /// number of bursts that takes two values at random may have one of them in all runs of a version.
    ///
    /// ```
    /// use perf_track::trend::VersionParams;
    /// let params = VersionParams::default();
    /// assert_eq!(params.rate(10), 0.005);
    /// assert_eq!(params.rate(4), 0.004 + 0.0625);
    /// ```
    pub fn rate(&self, runs: usize) -> f64 {
        let counts = (self.false_alarms * SHARE_OF_COUNTS).max(0.5_f64.powf(runs as f64));
        self.false_alarms * (1.0 - SHARE_OF_COUNTS) + counts
    }
}

/// Independent samples of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub enum Sample {
    /// Runs. The noise between runs is part of the test.
    Runs,
    /// Threads of one run of each version, compared in pairs. The noise between runs is unknown.
    Threads,
}

/// Change of the time of a tracked region between two versions of a program.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct VersionChange {
    /// Tracked region.
    pub region: TrackedRegionId,
    /// Geometric mean of the time of a burst in the new version divided by that in the old version.
    pub factor: f64,
    /// Confidence interval of the factor at 95 %; `None` if there are too few samples.
    pub interval: Option<(f64, f64)>,
    /// Probability of a slowdown of at least this size between equal versions, in `0.0..=1.0`; `None` if
    /// there are too few samples.
    pub probability: Option<f64>,
    /// Smallest factor that would raise an alarm with the observed noise; `None` if there are too few
    /// samples.
    pub detectable: Option<f64>,
    /// Independent samples.
    pub sample: Sample,
    /// Number of samples of the old and of the new version.
    pub samples: [usize; 2],
    /// Bursts of a run of the new version divided by those of a run of the old version.
    pub bursts: f64,
    /// Larger share of the time in clusters of the two versions, in `0.0..=1.0`.
    pub share: f64,
    /// `true` if a burst of the region became slower.
    pub is_slower: bool,
    /// Upper bound of the probability that equal versions have such numbers of bursts, in `0.0..=1.0`; `None` unless
    /// the numbers are equal in all runs of a version, several of each, and larger in the new version.
    pub bursts_probability: Option<f64>,
    /// `true` if the new version executes the region more often and it takes more time in total. All runs of a
    /// version must have equal numbers of bursts, and each version must have several runs: otherwise the
    /// numbers may depend on which bursts a run has in a cluster.
    ///
    /// If the numbers of any tested region vary between runs of one version, they may also be equal by chance. Then
    /// [`bursts_probability`](Self::bursts_probability) must be at most a fifth of
    /// [`VersionParams::false_alarms`]. If none varies, the program is taken to determine them, and equal versions
    /// raise this alarm with at most that probability: 0.001 with five runs of each version, 0.06 with two.
    pub is_more_often: bool,
}

impl Trends {
    /// Compares the metric `metric`, usually the duration, of each tracked region in the runs of two versions of a program. The first `old`
    /// experiments are runs of the old version, the others runs of the new version.
    ///
    /// Bursts of one run are not independent: they share the machine, the frequency and the placement of
    /// ranks. The value of a run is therefore a single number, the mean over threads of the mean logarithm
    /// of the time of a burst. The values of both versions are compared by Student's t test for equal
    /// variances. The limit of the probability is four fifths of [`VersionParams::false_alarms`] divided by the number
    /// of tested regions (Bonferroni), which holds for any dependence between regions. The other fifth is for numbers
    /// of bursts; see [`VersionChange::is_more_often`]. With one run of each
    /// version, the test is over threads in pairs, which does not know the noise between runs.
    ///
    /// ```
    /// use perf_core::Job;
    /// use perf_track::tracking::{Observation, Tracking};
    /// use perf_track::trend::{Measured, Trends, VersionParams};
    /// use perf_track::{ClusterId, Points};
    ///
    /// // Three runs of each version: the second region takes 10 % longer.
    /// let ids = [ClusterId(1), ClusterId(2)];
    /// let noise = [0.999, 1.001, 1.0, 0.9995, 1.002, 0.998];
    /// let (mut seen, mut measured) = (Vec::new(), Vec::new());
    /// for (run, noise) in noise.into_iter().enumerate() {
    ///     let slower = if run < 3 { 1.0 } else { 1.1 };
    ///     let time = vec![8.0 * noise, 2.0 * slower / noise];
    ///     seen.push(Observation::new("", 1, Points::new(&[0.1, 0.9], 1)?, &ids, &time)?);
    ///     measured.push(Measured::new(&ids).column("duration", "s", time)?);
    /// }
    /// let tracking = Tracking::of(&seen, &Default::default(), &Job::default())?;
    /// let trends = Trends::of(&tracking, measured)?;
    /// let changes = trends.versions(3, "duration", &VersionParams::default())?;
    /// assert_eq!(changes.iter().filter(|change| change.is_slower).count(), 1);
    /// assert!((changes[1].factor - 1.1).abs() < 0.005);
    /// # Ok::<(), perf_track::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if one version has no run, the metric does not exist, or a parameter is out of range.
    pub fn versions(
        &self,
        old: usize,
        metric: &str,
        params: &VersionParams,
    ) -> Result<Vec<VersionChange>> {
        self.metric(metric)?;
        check(old, self.experiments.len(), params)?;
        let totals: Vec<f64> = (0..self.experiments.len())
            .map(|run| self.clustered_time(run, metric))
            .collect();
        let mut found = Vec::new();
        for (index, members) in self.members.iter().enumerate() {
            let runs: Vec<Option<Run>> = (0..self.experiments.len())
                .map(|run| self.run(run, metric, &members[run]))
                .collect();
            let share = |range: std::ops::Range<usize>| {
                let time: f64 = runs[range.clone()].iter().flatten().map(|of| of.sum).sum();
                time / totals[range].iter().sum::<f64>()
            };
            let share = share(0..old).max(share(old..runs.len()));
            if share >= params.min_share
                && let Some(mut comparison) = Comparison::of(&runs, old)
            {
                comparison.change.region = TrackedRegionId(index as u32 + 1);
                comparison.change.share = share;
                found.push(comparison);
            }
        }
        let tests = found.iter().filter(|of| of.student.is_some()).count();
        let limits = Limits {
            slower: params.false_alarms * (1.0 - SHARE_OF_COUNTS) / tests.max(1) as f64,
            more_often: params.false_alarms * SHARE_OF_COUNTS,
            tolerance: params.tolerance,
        };
        let counts: Vec<&BurstCounts> = found.iter().map(|of| &of.counts).collect();
        let variation = Variation::of(&counts);
        let judged = found.into_iter().map(|of| of.judged(&limits, &variation));
        Ok(judged.collect())
    }

    fn clustered_time(&self, run: usize, metric: &str) -> f64 {
        let (Some(values), labels) = (
            self.measured[run].values(metric),
            &self.measured[run].labels,
        ) else {
            return 0.0;
        };
        let both = values.iter().zip(labels);
        both.filter(|(value, label)| value.is_finite() && **label != ClusterId::NOISE)
            .map(|(value, _)| value)
            .sum()
    }

    /// Returns the value of a run; `None` if no burst of the region has a positive value.
    fn run(&self, run: usize, metric: &str, members: &[ClusterId]) -> Option<Run> {
        let measured = self.measured.get(run)?;
        let mut logs: BTreeMap<u32, (f64, usize)> = BTreeMap::new();
        let mut sum = 0.0;
        for (at, value) in measured.values(metric)?.iter().enumerate() {
            if members.contains(measured.labels.get(at)?) && value.is_finite() && *value > 0.0 {
                // Bursts without a thread count for the first one.
                let thread = measured.threads.get(at).copied().unwrap_or_default();
                let own = logs.entry(thread).or_default();
                *own = (own.0 + value.ln(), own.1 + 1);
                sum += value;
            }
        }
        let bursts = logs.values().map(|own| own.1).sum();
        let threads = logs.into_iter();
        let threads: BTreeMap<u32, f64> = threads
            .map(|(thread, (sum, count))| (thread, sum / count as f64))
            .collect();
        (!threads.is_empty()).then_some(Run {
            threads,
            bursts,
            sum,
        })
    }

    /// Returns changes between versions as a table with a row for each tested region.
    ///
    /// | column | type | meaning |
    /// |---|---|---|
    /// | `tracked region` | unsigned | number |
    /// | `share of the time` | float, % | larger share of the two versions |
    /// | `factor`, `factor low`, `factor high` | float | new time of a burst divided by the old time, and its 95 % interval |
    /// | `probability` | float | probability of such a slowdown between equal versions |
    /// | `detectable factor` | float | smallest factor that would raise an alarm |
    /// | `samples` | text | `runs` or `threads` |
    /// | `old samples`, `new samples` | unsigned | number of samples of each version |
    /// | `factor of bursts` | float | new number of bursts of a run divided by the old number |
    /// | `probability of bursts` | float | upper bound of the probability of such numbers in equal versions |
    /// | `slower` | flag | true if a burst of the region became slower |
    /// | `more often` | flag | true if the region is executed more often |
    pub fn version_table(changes: &[VersionChange]) -> Table {
        let floats = |name: &'static str, of: &dyn Fn(&VersionChange) -> Option<f64>| {
            Column::floats(name, "", changes.iter().map(of))
        };
        let counts = |name: &'static str, at: usize| {
            Column::unsigned(name, "", changes.iter().map(move |it| it.samples[at]))
        };
        let samples = changes.iter().map(|it| match it.sample {
            Sample::Runs => "runs",
            Sample::Threads => "threads",
        });
        Table::new(
            "versions",
            "Change of each tracked region between versions.",
        )
        .unsigned("tracked region", "", changes.iter().map(|it| it.region.0))
        .floats(
            "share of the time",
            "%",
            changes.iter().map(|it| 100.0 * it.share),
        )
        .with(floats("factor", &|it| Some(it.factor)))
        .with(floats("factor low", &|it| Some(it.interval?.0)))
        .with(floats("factor high", &|it| Some(it.interval?.1)))
        .with(floats("probability", &|it| it.probability))
        .with(floats("detectable factor", &|it| it.detectable))
        .text("samples", samples)
        .with(counts("old samples", 0))
        .with(counts("new samples", 1))
        .with(floats("factor of bursts", &|it| Some(it.bursts)))
        .with(floats("probability of bursts", &|it| it.bursts_probability))
        .flags("slower", changes.iter().map(|it| it.is_slower))
        .flags("more often", changes.iter().map(|it| it.is_more_often))
    }
}

/// Bursts of a region in one run.
#[derive(Clone, Debug)]
struct Run {
    /// Mean logarithm of the time of a burst of each thread.
    threads: BTreeMap<u32, f64>,
    /// Number of bursts.
    bursts: usize,
    /// Sum of the time.
    sum: f64,
}

fn check(old: usize, runs: usize, params: &VersionParams) -> Result<()> {
    let is_between = |value: f64| (0.0..1.0).contains(&value);
    let fail = |name, value: String, range| Err(Error::Parameter { name, value, range });
    if old == 0 || old >= runs {
        return fail(
            "runs of the old version",
            old.to_string(),
            "at least 1, and less than the number of experiments",
        );
    }
    if !(is_between(params.false_alarms) && params.false_alarms > 0.0) {
        let value = params.false_alarms.to_string();
        return fail("rate of false alarms", value, "above 0 and below 1");
    }
    if !(params.tolerance.is_finite() && params.tolerance >= 0.0) {
        return fail(
            "tolerance",
            params.tolerance.to_string(),
            "finite and at least 0",
        );
    }
    if !(0.0..=1.0).contains(&params.min_share) {
        return fail(
            "share of the time",
            params.min_share.to_string(),
            "from 0 to 1",
        );
    }
    Ok(())
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the sum of squares about the mean.
fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

/// Limits of alarms.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// Probability of a slowdown below which it is an alarm.
    slower: f64,
    /// Probability of numbers of bursts up to which they are an alarm, if numbers vary between runs.
    more_often: f64,
    /// Relative increase of the time up to which there is no alarm.
    tolerance: f64,
}

/// Comparison of the runs of a region.
#[derive(Clone, Debug)]
struct Comparison {
    /// Change without the judgement.
    change: VersionChange,
    /// Numbers of bursts.
    counts: BurstCounts,
    /// Distribution of the change in standard errors; `None` without a degree of freedom.
    student: Option<StudentsT>,
    /// Standard error of the logarithm of the factor.
    error: f64,
}

impl Comparison {
    /// Compares the runs of a region, of which the first `first_new` are those of the old version. `None` if a version
    /// does not have the region.
    fn of(runs: &[Option<Run>], first_new: usize) -> Option<Self> {
        let (before, after) = runs.split_at_checked(first_new)?;
        let [counts, new_counts] = [before, after].map(|runs| {
            let counts = runs
                .iter()
                .map(|run| run.as_ref().map_or(0, |run| run.bursts));
            counts.collect::<Vec<usize>>()
        });
        let counts = BurstCounts::new(counts, new_counts);
        let [old, new] = [before, after].map(|runs| runs.iter().flatten().collect::<Vec<_>>());
        let first = *old.first()?;
        // Threads that are missing in a run would change its mean.
        let mut common: Vec<u32> = first.threads.keys().copied().collect();
        let has = |thread: &u32, run: &&Run| run.threads.contains_key(thread);
        common.retain(|thread| old.iter().chain(&new).all(|run| has(thread, run)));
        if common.is_empty() || new.is_empty() {
            return None;
        }
        let of_threads = |run: &Run| -> Vec<f64> {
            let threads = common.iter();
            threads
                .filter_map(|thread| run.threads.get(thread).copied())
                .collect()
        };
        let values =
            |runs: &[&Run]| -> Vec<f64> { runs.iter().map(|run| mean(&of_threads(run))).collect() };
        let (before, after) = (values(&old), values(&new));
        let change = mean(&after) - mean(&before);
        let [m, n] = [old.len(), new.len()];
        let (sample, samples, free, error) = if m + n > 2 {
            let variance = (squares(&before) + squares(&after)) / (m + n - 2) as f64;
            let error = (variance * (1.0 / m as f64 + 1.0 / n as f64)).sqrt();
            (Sample::Runs, [m, n], m + n - 2, error)
        } else {
            let pairs = of_threads(first)
                .into_iter()
                .zip(new.iter().flat_map(|run| of_threads(run)));
            let pairs: Vec<f64> = pairs.map(|(old, new)| new - old).collect();
            let (count, free) = (pairs.len(), pairs.len().saturating_sub(1));
            let error = (squares(&pairs) / (free.max(1) * count) as f64).sqrt();
            (Sample::Threads, [count; 2], free, error)
        };
        Some(Comparison {
            change: VersionChange {
                region: TrackedRegionId(0),
                factor: change.exp(),
                interval: None,
                probability: None,
                detectable: None,
                sample,
                samples,
                bursts: counts.factor(),
                share: 0.0,
                is_slower: false,
                bursts_probability: None,
                is_more_often: false,
            },
            counts,
            student: StudentsT::new(0.0, 1.0, free as f64).ok(),
            error,
        })
    }

    /// Returns the change with its interval and judgement.
    fn judged(self, limits: &Limits, variation: &Variation) -> VersionChange {
        let mut change = self.change;
        change.bursts_probability = variation.probability(&self.counts);
        let is_beyond_chance =
            |probability| variation.is_none() || probability <= limits.more_often;
        change.is_more_often = change.bursts_probability.is_some_and(is_beyond_chance)
            && change.factor * change.bursts > 1.0 + limits.tolerance;
        let Some(student) = self.student else {
            return change;
        };
        let (log, error) = (change.factor.ln(), self.error);
        let half = student.inverse_cdf(0.975) * error;
        change.interval = Some(((log - half).exp(), (log + half).exp()));
        let probability = if error > 0.0 {
            student.cdf(-log / error)
        } else if log == 0.0 {
            0.5
        } else {
            // Without noise, any change is certain.
            f64::from(u8::from(log < 0.0))
        };
        change.probability = Some(probability);
        let least = (student.inverse_cdf(1.0 - limits.slower) * error).exp();
        change.detectable = Some(least.max(1.0 + limits.tolerance));
        change.is_slower = change.factor > 1.0 + limits.tolerance && probability < limits.slower;
        change
    }
}
