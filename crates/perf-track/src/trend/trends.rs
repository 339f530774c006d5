//! [`Trends`]: summary of every metric of every tracked region in every experiment, and scaling
//! models fitted to them over the tasks and other parameters.

use super::{Measured, Summary};
use crate::scaling::{Measurements, ScalingModel, positive};
use crate::tracking::{TrackedRegionId, Tracking};
use crate::{ClusterId, Error, Result};
use perf_core::Job;

/// Name and unit of a metric.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Metric {
    /// Name, such as `IPC`.
    pub name: String,
    /// Unit; empty for a ratio or a count.
    pub unit: String,
}

/// Every metric of every tracked region in every experiment.
///
/// ```
/// use perf_track::trend::{Measured, Trends};
/// # use perf_core::Job;
/// # use perf_track::tracking::{Observation, Tracking};
/// # use perf_track::{ClusterId, Points};
/// # let id = [ClusterId(1); 2];
/// # let runs = [(4_u32, 8e9_f64), (8, 4e9), (16, 2e9)];
/// # let points: Vec<[f64; 2]> = runs.iter().map(|run| [run.1 * f64::from(run.0); 2]).collect();
/// # let mut experiments = Vec::new();
/// # for (run, points) in runs.iter().zip(&points) {
/// #     experiments.push(Observation::new("", run.0, Points::new(points, 1)?, &id, &[run.1 / 2e9; 2])?);
/// # }
/// # let tracking = Tracking::of(&experiments, &Default::default(), &Job::default())?;
/// // One phase on 4, 8 and 16 tasks, which divide its work.
/// let experiment = |run: &(u32, f64)| Measured::new(&id).column("instructions", "", vec![run.1; 2]);
/// let measured = runs.iter().map(experiment).collect::<Result<_, _>>()?;
/// let trends = Trends::of(&tracking, measured)?;
/// let region = tracking.regions[0].id;
/// let each: Vec<f64> = trends.series(region, "instructions")?.iter().flatten().map(|one| one.mean).collect();
/// assert_eq!(each, [8e9, 4e9, 2e9]);
/// let all = trends.series_by_tasks(region, "instructions")?;
/// assert!(all.iter().flatten().all(|one| one.mean == 32e9));
/// let model = trends.fit(region, "instructions", 0.95, &Job::default())?.expect("three numbers of tasks");
/// assert!((model.exponent(0) + 1.0).abs() < 1e-9);
/// assert_eq!(trends.next_scale(), Some(vec![32.0]));
/// # Ok::<(), perf_track::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Trends {
    /// Metrics of all experiments.
    pub(super) metrics: Vec<Metric>,
    /// Name and number of tasks of each experiment.
    pub(super) experiments: Vec<(String, u32)>,
    /// Clusters of each tracked region in each experiment.
    pub(super) members: Vec<Vec<Vec<ClusterId>>>,
    /// Measured bursts of each experiment.
    pub(super) measured: Vec<Measured>,
    /// Summaries by tracked region, experiment and metric.
    pub(super) table: Vec<Option<Summary>>,
    /// `true` if the threads of a process share the iterations of loops.
    shares_loops: bool,
    /// Names of the parameters of scaling models.
    pub(super) parameters: Vec<String>,
    /// Value of each parameter in each experiment.
    pub(super) scales: Vec<Vec<f64>>,
}

impl Trends {
    /// Computes summaries of the measured bursts of each experiment. The experiments are in the order
    /// of `tracking`. A metric need not be in all experiments.
    ///
    /// # Errors
    /// Returns an error if there is not one list of bursts for each experiment.
    pub fn of(tracking: &Tracking, measured: Vec<Measured>) -> Result<Self> {
        if measured.len() != tracking.experiments.len() {
            return Err(Error::Length {
                what: "measured experiments",
                expected: tracking.experiments.len(),
                got: measured.len(),
            });
        }
        let mut metrics: Vec<Metric> = Vec::new();
        for (metric, _) in measured.iter().flat_map(|experiment| &experiment.columns) {
            if metrics.iter().all(|known| known.name != metric.name) {
                metrics.push(metric.clone());
            }
        }
        let members: Vec<_> = tracking.regions.iter().map(|o| o.members.clone()).collect();
        let mut table = Vec::with_capacity(members.len() * measured.len() * metrics.len());
        for region in &members {
            for (experiment, clusters) in measured.iter().zip(region) {
                for metric in &metrics {
                    let values = experiment.of_clusters(&metric.name, clusters);
                    table.push(values.and_then(|values| Summary::of(&values)));
                }
            }
        }
        let experiments = tracking.experiments.iter();
        let tasks = experiments
            .clone()
            .map(|of| vec![f64::from(of.tasks.max(1))]);
        Ok(Trends {
            scales: tasks.collect(),
            parameters: vec!["tasks".to_owned()],
            metrics,
            experiments: experiments
                .map(|experiment| (experiment.name.clone(), experiment.tasks))
                .collect(),
            members,
            measured,
            table,
            shares_loops: false,
        })
    }

    /// Sets `true` if the threads of a process share the iterations of loops, as OpenMP programs do. The
    /// bursts of a region on each thread then become fewer with more threads, which
    /// [`series_by_tasks`](Self::series_by_tasks) and [`fit_of_threads`](Self::fit_of_threads) account
    /// for. Default `false`: each thread executes a region as often with any number of tasks.
    pub fn shares_loops(mut self, shares_loops: bool) -> Self {
        self.shares_loops = shares_loops;
        self
    }

    /// Names the number of tasks in models. Default `tasks`; such as `threads` if a process has several.
    pub fn scale_name(mut self, name: impl Into<String>) -> Self {
        if let Some(first) = self.parameters.first_mut() {
            *first = name.into();
        }
        self
    }

    /// Adds a parameter of scaling models, with its value in each experiment, such as the problem size. The
    /// number of tasks is always the first parameter; a parameter with one value has no effect.
    ///
    /// # Errors
    /// Returns [`Error::Length`] if there is not one value for each experiment, and [`Error::Parameter`] for a
    /// value that is not positive and finite.
    pub fn parameter(mut self, name: impl Into<String>, values: &[f64]) -> Result<Self> {
        if values.len() != self.experiments.len() {
            return Err(Error::Length {
                what: "values of a parameter",
                expected: self.experiments.len(),
                got: values.len(),
            });
        }
        positive(values)?;
        self.parameters.push(name.into());
        for (scale, value) in self.scales.iter_mut().zip(values) {
            scale.push(*value);
        }
        Ok(self)
    }

    /// Returns the names of the parameters of scaling models: the number of tasks, then the
    /// [added](Self::parameter) ones.
    pub fn parameters(&self) -> &[String] {
        &self.parameters
    }

    /// Returns the value of each parameter in each experiment.
    pub fn scales(&self) -> &[Vec<f64>] {
        &self.scales
    }

    /// Returns the metrics of all experiments, each with its unit in the first experiment that has it.
    pub fn metrics(&self) -> &[Metric] {
        &self.metrics
    }

    /// Returns the number of experiments.
    pub fn experiments(&self) -> usize {
        self.experiments.len()
    }

    /// Returns the number of processes that computed in each experiment.
    pub fn tasks(&self) -> Vec<u32> {
        self.experiments
            .iter()
            .map(|experiment| experiment.1)
            .collect()
    }

    pub(super) fn metric(&self, name: &str) -> Result<usize> {
        let found = self.metrics.iter().position(|metric| metric.name == name);
        found.ok_or_else(|| {
            let known: Vec<&str> = self.metrics.iter().map(|m| m.name.as_str()).collect();
            Error::UnknownMetric {
                name: name.to_owned(),
                known: known.join(", "),
            }
        })
    }

    pub(super) fn region(&self, region: TrackedRegionId) -> Result<usize> {
        let index = (region.0 as usize).checked_sub(1);
        index
            .filter(|&index| index < self.members.len())
            .ok_or(Error::Unknown {
                what: "region",
                id: region.0 as usize,
                count: self.members.len(),
            })
    }

    pub(super) fn at(&self, region: usize, experiment: usize, metric: usize) -> Option<&Summary> {
        let row = region * self.experiments.len() + experiment;
        self.table.get(row * self.metrics.len() + metric)?.as_ref()
    }

    /// Returns a metric of a tracked region in each experiment. `None` for an experiment in which the
    /// region is not seen or no burst of the region has the metric.
    ///
    /// # Errors
    /// Returns an error if the tracked region or metric does not exist.
    pub fn series(&self, region: TrackedRegionId, metric: &str) -> Result<Vec<Option<Summary>>> {
        let (region, metric) = (self.region(region)?, self.metric(metric)?);
        let experiments = 0..self.experiments.len();
        Ok(experiments
            .map(|experiment| self.at(region, experiment, metric).copied())
            .collect())
    }

    /// Returns a metric of a tracked region multiplied by the number of tasks of each experiment.
    /// If the products of instructions are constant, the tasks divide the work; if the products
    /// increase, the tasks replicate the work.
    ///
    /// # Errors
    /// Returns an error if the tracked region or metric does not exist.
    pub fn series_by_tasks(
        &self,
        region: TrackedRegionId,
        metric: &str,
    ) -> Result<Vec<Option<Summary>>> {
        let repeats = self.repeats(region)?;
        let series = self
            .series(region, metric)?
            .into_iter()
            .zip(&self.experiments);
        let scaled = series.zip(repeats).map(|((summary, experiment), repeats)| {
            Some(summary?.scaled(f64::from(experiment.1) * repeats))
        });
        Ok(scaled.collect())
    }

    /// Returns the number of bursts of a tracked region on each thread, relative to the first experiment in
    /// which it is seen. Returns 1 unless threads [share](Self::shares_loops) loops, and while the number
    /// changes by less than half, because bursts in noise change it too.
    fn repeats(&self, region: TrackedRegionId) -> Result<Vec<f64>> {
        const SAME: std::ops::RangeInclusive<f64> = 1.0 / 1.5..=1.5;
        let index = self.region(region)?;
        let bursts = |experiment: usize| {
            let metrics = 0..self.metrics.len();
            let counts =
                metrics.filter_map(|metric| Some(self.at(index, experiment, metric)?.count));
            counts.max().map(|count| count as f64)
        };
        let each: Vec<Option<f64>> = (0..self.experiments.len())
            .map(|experiment| {
                Some(bursts(experiment)? / f64::from(self.experiments[experiment].1.max(1)))
            })
            .collect();
        let first = each.iter().flatten().next().copied().unwrap_or(1.0);
        let relative = each.into_iter().map(|each| {
            let ratio = each.map_or(1.0, |each| each / first);
            if !self.shares_loops || SAME.contains(&ratio) {
                1.0
            } else {
                ratio
            }
        });
        Ok(relative.collect())
    }

    /// Fits a model like [`fit`](Self::fit) to the sum of a metric over all bursts of a thread. Differs
    /// from `fit` only if threads [share](Self::shares_loops) loops.
    ///
    /// # Errors
    /// Returns the errors of [`fit`](Self::fit).
    pub fn fit_of_threads(
        &self,
        region: TrackedRegionId,
        metric: &str,
        level: f64,
        job: &Job,
    ) -> Result<Option<ScalingModel>> {
        let repeats = self.repeats(region)?;
        self.model(region, metric, &repeats, (level, job))
    }

    /// Fits the scaling model of the means of a metric over the [parameters](Self::parameters), with
    /// intervals at the confidence `level`, such as 0.95. `None` if the region is seen at fewer than two
    /// different scales, or a mean is not positive.
    ///
    /// # Errors
    /// Returns an error if the tracked region or metric does not exist, and the errors of
    /// [`ScalingModel::fit`].
    pub fn fit(
        &self,
        region: TrackedRegionId,
        metric: &str,
        level: f64,
        job: &Job,
    ) -> Result<Option<ScalingModel>> {
        let once = vec![1.0; self.experiments.len()];
        self.model(region, metric, &once, (level, job))
    }

    fn model(
        &self,
        region: TrackedRegionId,
        metric: &str,
        repeats: &[f64],
        (level, job): (f64, &Job),
    ) -> Result<Option<ScalingModel>> {
        let mut data = Measurements::new(self.parameters.iter().cloned());
        let series = self.series(region, metric)?;
        for ((summary, scale), repeats) in series.into_iter().zip(&self.scales).zip(repeats) {
            if let Some(summary) = summary {
                data.push(scale, summary.mean * repeats)?;
            }
        }
        ScalingModel::fit(&data, level, job)
    }

    /// Returns the scale for which models predict: that of the last experiment, with the first parameter that
    /// varies doubled from its largest value. `None` if no parameter varies.
    pub fn next_scale(&self) -> Option<Vec<f64>> {
        let mut next = self.scales.last()?.clone();
        let varies = |at: &usize| self.scales.iter().any(|scale| scale[*at] != next[*at]);
        let first = (0..next.len()).find(varies)?;
        let largest = self.scales.iter().map(|scale| scale[first]);
        next[first] = 2.0 * largest.fold(0.0, f64::max);
        Some(next)
    }
}
