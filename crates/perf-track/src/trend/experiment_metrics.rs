//! [`Measured`]: cluster, thread and metrics of each burst of an experiment, as the input of
//! trends.

use super::trends::Metric;
use crate::{Bursts, ClusterId, Error, Experiment, Result};

/// Bursts of an experiment by cluster, with their metrics.
///
/// ```
/// use perf_track::{ClusterId, trend::Measured};
/// let bursts = [ClusterId(1), ClusterId(1), ClusterId(2)];
/// let measured = Measured::new(&bursts)
///     .column("duration", "ns", vec![90.0, 92.0, 11.0])?
///     .column("IPC", "", vec![1.4, 1.5, f64::NAN])?;
/// // One value for each burst.
/// assert!(measured.column("misses", "", vec![7.0]).is_err());
/// # Ok::<(), perf_track::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Measured {
    /// Cluster of each burst.
    pub(super) labels: Vec<ClusterId>,
    /// Thread of each burst; empty if unknown.
    pub(super) threads: Vec<u32>,
    /// Metrics with their values.
    pub(super) columns: Vec<(Metric, Vec<f64>)>,
}

impl Measured {
    /// Creates a list of bursts without metrics from the cluster of each burst. Only the tracked bursts
    /// are needed, in any order.
    pub fn new(labels: &[ClusterId]) -> Self {
        Measured {
            labels: labels.to_vec(),
            threads: Vec::new(),
            columns: Vec::new(),
        }
    }

    /// Sets the thread of each burst, by a number that is the same in all experiments. Without it, all bursts
    /// belong to one thread.
    ///
    /// # Errors
    /// Returns an error if there is not one thread for each burst.
    pub fn threads(mut self, threads: Vec<u32>) -> Result<Self> {
        if threads.len() != self.labels.len() {
            return Err(Error::Length {
                what: "threads of bursts",
                expected: self.labels.len(),
                got: threads.len(),
            });
        }
        self.threads = threads;
        Ok(self)
    }

    /// Adds a metric with its value for each burst; NaN for a burst without the metric.
    ///
    /// # Errors
    /// Returns an error if there is not one value for each burst.
    pub fn column(
        mut self,
        name: impl Into<String>,
        unit: impl Into<String>,
        values: Vec<f64>,
    ) -> Result<Self> {
        if values.len() != self.labels.len() {
            return Err(Error::Length {
                what: "values of a metric",
                expected: self.labels.len(),
                got: values.len(),
            });
        }
        let metric = Metric {
            name: name.into(),
            unit: unit.into(),
        };
        self.columns.push((metric, values));
        Ok(self)
    }

    /// Takes all bursts of an experiment with their clusters, with the metric `duration` in ns and all
    /// other metrics. Noise has no effect, because summaries are by cluster.
    ///
    /// # Errors
    /// Never fails, because an experiment has one label for each burst.
    pub fn of_experiment(experiment: &Experiment) -> Result<Self> {
        // `Bursts::push` ensures that there are fewer than 2^32 bursts.
        let rows: Vec<u32> = (0..experiment.bursts().len() as u32).collect();
        Measured::of(experiment.bursts(), &rows, experiment.labels().as_slice())
    }

    /// Takes the bursts `rows` of a recording with their clusters, with the metric `duration` in ns and
    /// all other metrics.
    ///
    /// # Errors
    /// Returns an error if there is not one label for each row, or a row does not exist.
    pub fn of(bursts: &Bursts, rows: &[u32], labels: &[ClusterId]) -> Result<Self> {
        if labels.len() != rows.len() {
            return Err(Error::Length {
                what: "labels of bursts",
                expected: rows.len(),
                got: labels.len(),
            });
        }
        let pick = |values: &[f64]| -> Result<Vec<f64>> {
            let value = |&row: &u32| {
                values.get(row as usize).copied().ok_or(Error::Unknown {
                    what: "burst",
                    id: row as usize,
                    count: values.len(),
                })
            };
            rows.iter().map(value).collect()
        };
        let mut measured =
            Measured::new(labels).column("duration", "ns", pick(&bursts.durations())?)?;
        let threads = rows
            .iter()
            .filter_map(|&row| bursts.rows().get(row as usize));
        measured = measured.threads(threads.map(|burst| burst.thread).collect())?;
        for column in bursts
            .columns()
            .iter()
            .filter(|column| column.name != "duration")
        {
            let values = pick(&column.values)?;
            measured = measured.column(&column.name, &column.unit, values)?;
        }
        Ok(measured)
    }

    pub(super) fn values(&self, metric: &str) -> Option<&[f64]> {
        let found = self.columns.iter().find(|(known, _)| known.name == metric);
        found.map(|(_, values)| values.as_slice())
    }

    /// Returns the values of the bursts of `members`; `None` if the metric does not exist.
    pub(super) fn of_clusters(&self, metric: &str, members: &[ClusterId]) -> Option<Vec<f64>> {
        let both = self.values(metric)?.iter().zip(&self.labels);
        let own = both.filter(|(_, label)| members.contains(label));
        Some(own.map(|(value, _)| *value).collect())
    }
}
