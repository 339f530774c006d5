//! Tables of transforms and points.

use super::{ExperimentAxis, ScaledExperiment, Transform};
use perf_core::{Column, Table};

impl Transform {
    /// Returns the axes as a table with a row for each axis and experiment. `names` are the names
    /// of the experiments; further experiments are called by their numbers.
    ///
    /// | column | type | meaning |
    /// |---|---|---|
    /// | `metric`, `unit` | text | metric of the axis |
    /// | `logarithm` | flag | the natural logarithm of the metric is taken first |
    /// | `factor` | float | length of the axis |
    /// | `experiment` | text | name |
    /// | `shift` | float | displacement of the experiment from the first one, in units of the axis |
    /// | `overlap`, `overlap unshifted` | float, % | share of the time that overlaps with and without the shift |
    /// | `low`, `high` | float | values, after the logarithm and the shift, that become 0 and the factor |
    ///
    /// ```
    /// use perf_core::Cell;
    /// use perf_track::{ExperimentAxis, Transform, TransformAxis};
    /// let experiment = ExperimentAxis { shift: 0.0, overlap: 1.0, overlap_unshifted: 1.0, low: 0.0, high: 2.0 };
    /// let (metric, unit) = ("duration".to_string(), "ns".to_string());
    /// let axis = TransformAxis { metric, unit, log: true, factor: 1.0, experiments: vec![experiment] };
    /// let table = Transform::new(vec![axis]).table(&["8 tasks"]);
    /// assert_eq!(table.cell(0, "metric"), Some(Cell::Text("duration")));
    /// assert_eq!(table.text_of(0, "overlap"), "100 %");
    /// ```
    pub fn table<N: AsRef<str>>(&self, names: &[N]) -> Table {
        let rows = || {
            let axes = self.axes().iter();
            axes.flat_map(|axis| {
                axis.experiments
                    .iter()
                    .enumerate()
                    .map(move |it| (axis, it))
            })
        };
        let name = |at: usize| {
            let name = names.get(at).map(|name| name.as_ref().to_string());
            name.unwrap_or_else(|| at.to_string())
        };
        let floats = |name: &'static str, unit: &'static str, of: fn(&ExperimentAxis) -> f64| {
            Column::floats(
                name,
                unit,
                rows().map(|(_, (_, experiment))| of(experiment)),
            )
        };
        Table::new("axes", "Axes of the space of the points.")
            .text("metric", rows().map(|(axis, _)| axis.metric.as_str()))
            .text("unit", rows().map(|(axis, _)| axis.unit.as_str()))
            .flags("logarithm", rows().map(|(axis, _)| axis.log))
            .floats("factor", "", rows().map(|(axis, _)| axis.factor))
            .text("experiment", rows().map(|(_, (at, _))| name(at)))
            .with(floats("shift", "", |experiment| experiment.shift))
            .with(floats("overlap", "%", |experiment| {
                100.0 * experiment.overlap
            }))
            .with(floats("overlap unshifted", "%", |experiment| {
                100.0 * experiment.overlap_unshifted
            }))
            .with(floats("low", "", |experiment| experiment.low))
            .with(floats("high", "", |experiment| experiment.high))
    }
}

impl ScaledExperiment {
    /// Returns the points as a table: `burst`, the number of the burst in [`Bursts::rows`](crate::Bursts::rows),
    /// and a column with the coordinates of each axis, named after its metric.
    ///
    /// ```
    /// use perf_core::{Cell, Job, Nanos};
    /// use perf_track::{Burst, Bursts, Dimension, Scale, Thread};
    /// let mut bursts = Bursts::default();
    /// let thread = bursts.add_thread(Thread::default())?;
    /// for (begin, end) in [(0, 90), (100, 110)] {
    ///     bursts.push(Burst { thread, begin: Nanos(begin), end: Nanos(end), ..Burst::default() }, &[])?;
    /// }
    /// let scale = Scale::params().dimension(Dimension::new("duration")).check()?;
    /// let scaled = scale.fit(&[&bursts], &Job::default())?;
    /// let table = scaled.experiments[0].table(&scaled.transform);
    /// assert_eq!(table.cell(1, "burst"), Some(Cell::Unsigned(1)));
    /// assert_eq!(table.cell(1, "duration"), Some(Cell::Float(0.0)));
    /// # Ok::<(), perf_track::Error>(())
    /// ```
    pub fn table(&self, transform: &Transform) -> Table {
        let table = Table::new("points", "Coordinates of CPU bursts.").unsigned(
            "burst",
            "",
            self.rows().iter().copied(),
        );
        let axes = transform.axes().iter().take(self.dimensions).enumerate();
        axes.fold(table, |table, (at, axis)| {
            let values = self.values.iter().skip(at).step_by(self.dimensions.max(1));
            table.floats(axis.metric.clone(), "", values.copied())
        })
    }
}
