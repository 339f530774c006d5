//! Tables of trends: summaries of metrics, scaling models with predictions, causes of changes of
//! time, and degradations.

use super::trends::{Metric, Trends};
use super::{Counters, Flag, Summary, TimeChange};
use crate::Result;
use crate::scaling::{Prediction, ScalingModel};
use crate::tracking::TrackedRegionId;
use perf_core::{Column, Job, Table};

/// Scaling model of a metric of a region, and its prediction for the next scale.
struct Modelled<'a> {
    /// Index of the region.
    region: usize,
    /// Metric.
    metric: &'a Metric,
    /// Model.
    model: ScalingModel,
    /// Prediction.
    next: Option<Prediction>,
}

impl Trends {
    /// Returns the summaries as a table with a row for each tracked region, experiment and metric.
    ///
    /// | column | type | meaning |
    /// |---|---|---|
    /// | `tracked region` | unsigned | number |
    /// | `experiment`, `tasks` | text, unsigned | name and number of processes |
    /// | `clusters` | text | numbers of the clusters, `1, 3` |
    /// | `metric`, `unit` | text | metric, and the unit of the columns from `mean` on |
    /// | `bursts`, `missing` | unsigned | bursts with and without a value |
    /// | `mean`, `deviation` | float | mean and standard deviation of a sample |
    /// | `minimum`, `low whisker`, `q1`, `median`, `q3`, `high whisker`, `maximum` | float | box plot, see [`Summary`] |
    /// | `mean times tasks` | float | constant if the work is divided among the tasks |
    ///
    /// ```
    /// use perf_core::Cell;
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
    /// // One region on 4, 8 and 16 tasks, which divide its work.
    /// let experiment = |run: &(u32, f64)| Measured::new(&id).column("instructions", "", vec![run.1; 2]);
    /// let measured = runs.iter().map(experiment).collect::<Result<_, _>>()?;
    /// let trends = Trends::of(&tracking, measured)?;
    /// let table = trends.table();
    /// assert_eq!(table.rows(), 3);
    /// assert_eq!(table.cell(1, "mean"), Some(Cell::Float(4e9)));
    /// assert_eq!(table.cell(1, "mean times tasks"), Some(Cell::Float(32e9)));
    /// let models = trends.scaling_models(0.95, &Job::default())?;
    /// assert_eq!(models.text_of(0, "exponent"), "-1.00");
    /// assert_eq!(models.text_of(0, "predicted scale"), "tasks = 32");
    /// # Ok::<(), perf_track::Error>(())
    /// ```
    pub fn table(&self) -> Table {
        let mut rows: Vec<(usize, usize, &Metric, &Summary)> = Vec::new();
        for region in 0..self.members.len() {
            for experiment in 0..self.experiments.len() {
                let metrics = self.metrics.iter().enumerate();
                rows.extend(metrics.filter_map(|(at, metric)| {
                    Some((region, experiment, metric, self.at(region, experiment, at)?))
                }));
            }
        }
        let clusters = rows.iter().map(|row| {
            let members = self
                .members
                .get(row.0)
                .and_then(|experiments| experiments.get(row.1));
            members.map(|ids| crate::tracking::clusters(ids))
        });
        let tasks = |experiment: usize| {
            self.experiments
                .get(experiment)
                .map(|experiment| experiment.1)
        };
        let floats = |name: &'static str, of: fn(&Summary) -> f64| {
            Column::floats(name, "", rows.iter().map(|row| of(row.3)))
        };
        let by_tasks = rows
            .iter()
            .map(|row| Some(row.3.mean * f64::from(tasks(row.1)?)));
        Table::new(
            "trends",
            "Metrics of the tracked regions in each experiment.",
        )
        .unsigned("tracked region", "", rows.iter().map(|row| row.0 + 1))
        .text(
            "experiment",
            rows.iter().map(|row| self.experiment_name(row.1)),
        )
        .unsigned("tasks", "", rows.iter().map(|row| tasks(row.1)))
        .text("clusters", clusters)
        .text("metric", rows.iter().map(|row| row.2.name.as_str()))
        .text("unit", rows.iter().map(|row| row.2.unit.as_str()))
        .unsigned("bursts", "", rows.iter().map(|row| row.3.count))
        .unsigned("missing", "", rows.iter().map(|row| row.3.missing))
        .with(floats("mean", |it| it.mean))
        .with(floats("deviation", |it| it.deviation))
        .with(floats("minimum", |it| it.min))
        .with(floats("low whisker", |it| it.low))
        .with(floats("q1", |it| it.q1))
        .with(floats("median", |it| it.median))
        .with(floats("q3", |it| it.q3))
        .with(floats("high whisker", |it| it.high))
        .with(floats("maximum", |it| it.max))
        .floats("mean times tasks", "", by_tasks)
    }

    /// Returns the scaling models of all metrics of all tracked regions as a table, with intervals of
    /// the confidence `level`, between 0 and 1. Metrics without a model are skipped, see
    /// [`fit`](Self::fit).
    ///
    /// | column | type | meaning |
    /// |---|---|---|
    /// | `tracked region`, `metric`, `unit` | | as in [`table`](Self::table) |
    /// | `model` | text | the model as an expression of the parameters |
    /// | `form` | text | `constant`, `power law` or `normal form` |
    /// | `exponent` | float | mean power of the first parameter that varies: -1 if doubling it halves the metric |
    /// | `exponent low`, `exponent high` | float | interval of the power of a power law, missing without degrees of freedom |
    /// | `confidence level` | float, % | probability of the intervals |
    /// | `error` | float, % | relative error of scales that were left out of the fit; missing for two scales |
    /// | `r squared` | float | share of the variance of the logarithms that the model explains |
    /// | `points`, `degrees of freedom` | unsigned | experiments, and those minus the coefficients and powers |
    /// | `predicted scale` | text | scale of the prediction, see [`next_scale`](Self::next_scale) |
    /// | `predicted`, `predicted low`, `predicted high` | float | predicted metric, and its interval, missing without degrees of freedom |
    ///
    /// # Errors
    /// Returns the errors of [`fit`](Self::fit).
    pub fn scaling_models(&self, level: f64, job: &Job) -> Result<Table> {
        let next = self.next_scale();
        let mut rows: Vec<Modelled<'_>> = Vec::new();
        for region in 1..=self.members.len() {
            for metric in &self.metrics {
                let id = TrackedRegionId(region as u32);
                let Some(model) = self.fit(id, &metric.name, level, job)? else {
                    continue;
                };
                let prediction = next.as_ref().map(|scale| model.predict(scale));
                rows.push(Modelled {
                    region,
                    metric,
                    model,
                    next: prediction.transpose()?,
                });
            }
        }
        let varies = |at: &usize| {
            let first = self.scales.first().map(|scale| scale[*at]);
            self.scales.iter().any(|scale| Some(scale[*at]) != first)
        };
        let first = (0..self.parameters.len()).find(varies).unwrap_or(0);
        let floats = |name: &'static str, of: &dyn Fn(&Modelled<'_>) -> Option<f64>| {
            Column::floats(name, "", rows.iter().map(of))
        };
        let level = rows.iter().map(|row| 100.0 * row.model.level);
        let errors = rows.iter().map(|row| Some(100.0 * row.model.error?));
        let scale = next.as_ref().map(|next| {
            let all = self.parameters.iter().zip(next);
            let all: Vec<String> = all
                .map(|(name, value)| format!("{name} = {value}"))
                .collect();
            all.join(", ")
        });
        let exponent = |row: &Modelled<'_>| row.model.exponent(first);
        let interval = |row: &Modelled<'_>| row.model.exponent_interval(first);
        Ok(Table::new(
            "scaling models",
            "Metrics of the tracked regions as functions of the scale.",
        )
        .unsigned("tracked region", "", rows.iter().map(|row| row.region))
        .text("metric", rows.iter().map(|row| row.metric.name.as_str()))
        .text("unit", rows.iter().map(|row| row.metric.unit.as_str()))
        .text("model", rows.iter().map(|row| row.model.to_string()))
        .text("form", rows.iter().map(|row| row.model.form.name()))
        .with(floats("exponent", &|row| Some(exponent(row))))
        .with(floats("exponent low", &|row| Some(interval(row)?.0)))
        .with(floats("exponent high", &|row| Some(interval(row)?.1)))
        .floats("confidence level", "%", level)
        .floats("error", "%", errors)
        .with(floats("r squared", &|row| Some(row.model.r_squared)))
        .unsigned("points", "", rows.iter().map(|row| row.model.points))
        .unsigned(
            "degrees of freedom",
            "",
            rows.iter().map(|row| row.model.free),
        )
        .text("predicted scale", rows.iter().map(|_| scale.clone()))
        .with(floats("predicted", &|row| Some(row.next?.value)))
        .with(floats("predicted low", &|row| Some(row.next?.interval?.0)))
        .with(floats("predicted high", &|row| Some(row.next?.interval?.1))))
    }

    /// Returns the causes of changes of the mean duration as a table, with a row for each tracked
    /// region and each two consecutive experiments in which the region is seen.
    ///
    /// | column | type | meaning |
    /// |---|---|---|
    /// | `tracked region`, `experiment`, `later experiment` | | region and experiments |
    /// | `duration factor` | float | later mean duration of a burst divided by the earlier mean duration |
    /// | `factor of instructions`, `factor of IPC`, `factor of frequency` | float | factors of the duration due to each cause; their product is the duration factor |
    /// | `factor of bursts` | float | later number of bursts divided by the earlier number |
    /// | `bursts`, `bursts without counters` | unsigned | bursts of both experiments with all counters, and bursts that lack a counter |
    ///
    /// ```
    /// use perf_track::trend::{Counters, Measured, Trends};
    /// # use perf_core::Job;
    /// # use perf_track::tracking::{Observation, Tracking};
    /// # use perf_track::{ClusterId, Points};
    /// # let id = [ClusterId(1); 2];
    /// # let runs = [(4_u32, 8e9_f64), (8, 4e9)];
    /// # let points: Vec<[f64; 2]> = runs.iter().map(|run| [run.1 * f64::from(run.0); 2]).collect();
    /// # let mut experiments = Vec::new();
    /// # for (run, points) in runs.iter().zip(&points) {
    /// #     experiments.push(Observation::new("", run.0, Points::new(points, 1)?, &id, &[run.1 / 2e9; 2])?);
    /// # }
    /// # let tracking = Tracking::of(&experiments, &Default::default(), &Job::default())?;
    /// // Half of the instructions take half of the time.
    /// let experiment = |run: &(u32, f64)| {
    ///     let measured = Measured::new(&id).column("duration", "s", vec![run.1 / 2e9; 2])?;
    ///     measured.column("instructions", "", vec![run.1; 2])?.column("IPC", "", vec![1.5; 2])
    /// };
    /// let measured = runs.iter().map(experiment).collect::<Result<_, _>>()?;
    /// let trends = Trends::of(&tracking, measured)?;
    /// let table = trends.time_changes(&Counters::with_ipc("duration", "instructions", "IPC"))?;
    /// assert_eq!(table.text_of(0, "duration factor"), "0.500");
    /// assert_eq!(table.text_of(0, "factor of IPC"), "1");
    /// # Ok::<(), perf_track::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if a metric does not exist.
    pub fn time_changes(&self, counters: &Counters) -> Result<Table> {
        let mut rows: Vec<(usize, usize, usize, TimeChange)> = Vec::new();
        for (region, members) in self.members.iter().enumerate() {
            let seen = members.iter().enumerate();
            let seen = seen.filter(|(_, members)| !members.is_empty());
            let seen: Vec<usize> = seen.map(|(experiment, _)| experiment).collect();
            for (from, to) in seen.iter().zip(seen.iter().skip(1)) {
                let id = TrackedRegionId(region as u32 + 1);
                if let Some(change) = self.change(id, *from, *to, counters)? {
                    rows.push((region + 1, *from, *to, change));
                }
            }
        }
        let floats = |name: &'static str, of: fn(&TimeChange) -> f64| {
            Column::floats(name, "", rows.iter().map(|row| of(&row.3)))
        };
        Ok(Table::new(
            "time changes",
            "Causes of changes of the mean duration of bursts.",
        )
        .unsigned("tracked region", "", rows.iter().map(|row| row.0))
        .text(
            "experiment",
            rows.iter().map(|row| self.experiment_name(row.1)),
        )
        .text(
            "later experiment",
            rows.iter().map(|row| self.experiment_name(row.2)),
        )
        .with(floats("duration factor", |it| it.time.exp()))
        .with(floats("factor of instructions", |it| it.factors()[0]))
        .with(floats("factor of IPC", |it| it.factors()[1]))
        .with(floats("factor of frequency", |it| it.factors()[2]))
        .with(floats("factor of bursts", |it| it.bursts.exp()))
        .unsigned("bursts", "", rows.iter().map(|row| row.3.counted))
        .unsigned(
            "bursts without counters",
            "",
            rows.iter().map(|row| row.3.missing),
        ))
    }

    /// Returns flags, from [`flags`](Self::flags), as a table.
    ///
    /// | column | type | meaning |
    /// |---|---|---|
    /// | `tracked region`, `metric` | unsigned, text | region, and degraded metric |
    /// | `times tasks` | flag | the metric was multiplied by the number of tasks |
    /// | `experiment`, `later experiment` | text | experiments that were compared |
    /// | `factor` | float | later mean divided by the earlier mean |
    /// | `standard errors` | float | size of the change in standard errors, missing if neither experiment varies |
    ///
    /// ```
    /// use perf_core::Cell;
    /// use perf_track::trend::{Expect, Measured, Trends};
    /// # use perf_core::Job;
    /// # use perf_track::tracking::{Observation, Tracking};
    /// # use perf_track::{ClusterId, Points};
    /// # let id = [ClusterId(1); 2];
    /// # let runs = [(4_u32, 8e9_f64), (8, 4e9)];
    /// # let points: Vec<[f64; 2]> = runs.iter().map(|run| [run.1 * f64::from(run.0); 2]).collect();
    /// # let mut experiments = Vec::new();
    /// # for (run, points) in runs.iter().zip(&points) {
    /// #     let name = format!("{} tasks", run.0);
    /// #     experiments.push(Observation::new(name, run.0, Points::new(points, 1)?, &id, &[run.1 / 2e9; 2])?);
    /// # }
    /// # let tracking = Tracking::of(&experiments, &Default::default(), &Job::default())?;
    /// // The instructions are divided, and IPC decreases.
    /// let experiment = |run: &(u32, f64)| {
    ///     let measured = Measured::new(&id).column("instructions", "", vec![run.1; 2])?;
    ///     measured.column("IPC", "", vec![6.0 / f64::from(run.0); 2])
    /// };
    /// let trends = Trends::of(&tracking, runs.iter().map(experiment).collect::<Result<_, _>>()?)?;
    /// let flags = trends.flags(&[Expect::divided("instructions"), Expect::higher("IPC")], 0.05)?;
    /// let table = trends.flag_table(&flags);
    /// assert_eq!((table.rows(), table.cell(0, "metric")), (1, Some(Cell::Text("IPC"))));
    /// assert_eq!(table.text_of(0, "later experiment"), "8 tasks");
    /// assert_eq!(table.cell(0, "factor"), Some(Cell::Float(0.5)));
    /// # Ok::<(), perf_track::Error>(())
    /// ```
    pub fn flag_table(&self, flags: &[Flag]) -> Table {
        Table::new("flags", "Degraded metrics of tracked regions.")
            .unsigned("tracked region", "", flags.iter().map(|it| it.region.0))
            .text("metric", flags.iter().map(|it| it.metric.as_str()))
            .flags("times tasks", flags.iter().map(|it| it.by_tasks))
            .text(
                "experiment",
                flags.iter().map(|it| self.experiment_name(it.from)),
            )
            .text(
                "later experiment",
                flags.iter().map(|it| self.experiment_name(it.to)),
            )
            .floats("factor", "", flags.iter().map(|it| it.factor))
            .floats("standard errors", "", flags.iter().map(|it| it.sigmas))
    }

    fn experiment_name(&self, experiment: usize) -> &str {
        &self.experiments[experiment].0
    }
}
