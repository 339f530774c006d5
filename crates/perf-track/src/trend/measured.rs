//! [`Measured`]: the metrics of a frame's bursts.

use super::trends::Metric;
use crate::{Bursts, ClusterId, Error, Frame, Result};

/// The bursts of a frame by cluster, with their metrics.
///
/// ```
/// use perf_track::{ClusterId, trend::Measured};
/// let bursts = [ClusterId(1), ClusterId(1), ClusterId(2)];
/// let measured = Measured::new(&bursts)
///     .column("duration", "ns", vec![90.0, 92.0, 11.0])?
///     .column("IPC", "", vec![1.4, 1.5, f64::NAN])?;
/// // One value a burst.
/// assert!(measured.column("misses", "", vec![7.0]).is_err());
/// # Ok::<(), perf_track::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Measured {
    pub(super) labels: Vec<ClusterId>,
    pub(super) columns: Vec<(Metric, Vec<f64>)>,
}

impl Measured {
    /// Bursts of these clusters: those that were tracked, in any order.
    pub fn new(labels: &[ClusterId]) -> Self {
        Measured {
            labels: labels.to_vec(),
            columns: Vec::new(),
        }
    }

    /// Adds a metric; NaN where a burst has none.
    ///
    /// # Errors
    /// Not one value a burst.
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

    /// All bursts of a frame with their clusters: `duration` in ns, and all their metrics. What is
    /// measured goes by clusters, so that noise counts for none.
    ///
    /// # Errors
    /// None: a frame has one label a burst.
    pub fn of_frame(frame: &Frame) -> Result<Self> {
        // `Bursts::push` saw to it that there are fewer than 2^32.
        let rows: Vec<u32> = (0..frame.bursts().len() as u32).collect();
        Measured::of(frame.bursts(), &rows, frame.labels().as_slice())
    }

    /// Some bursts of a recording with their clusters: `duration` in ns, and all their metrics.
    ///
    /// # Errors
    /// Not one label a row, or a row that is not there.
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

    /// Values of the bursts of some clusters.
    pub(super) fn of_clusters(&self, metric: &str, members: &[ClusterId]) -> Option<Vec<f64>> {
        let both = self.values(metric)?.iter().zip(&self.labels);
        let own = both.filter(|(_, label)| members.contains(label));
        Some(own.map(|(value, _)| *value).collect())
    }
}
