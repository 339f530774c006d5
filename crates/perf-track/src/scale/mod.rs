//! [`Scale::fit`]: converts the bursts of several experiments to points in one space ([`Scaled`]),
//! by logarithms, shifts and ranges; [`ScaledExperiment`]: the points of one experiment and their
//! bursts.

mod params;
mod ranges_and_shifts;
mod table;
mod transform;

pub use params::{Dimension, Scale, ScaleMode, ScaleParams, Shift};
pub use transform::{ExperimentAxis, Transform, TransformAxis};

use crate::bursts::Amount;
use crate::{Bursts, ClusterId, Error, Experiment, Kind, Labels, Points, Result};
use perf_core::{Job, Nanos};

/// Points of one experiment.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ScaledExperiment {
    /// Burst of each point.
    rows: Vec<u32>,
    /// Coordinates in row-major order.
    values: Vec<f64>,
    /// Number of dimensions.
    dimensions: usize,
    /// Complete bursts that are no points, because a metric has no logarithm or is not finite, by the
    /// first such axis.
    pub left_out: Vec<Amount>,
}

impl ScaledExperiment {
    /// Returns the points.
    ///
    /// # Errors
    /// Returns the errors of [`Points::new`].
    pub fn points(&self) -> Result<Points<'_>> {
        Points::new(&self.values, self.dimensions)
    }

    /// Returns the burst of each point as an index into [`Bursts::rows`], ascending.
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// Marks complete bursts that are no points, because a metric has no logarithm or is not finite,
    /// as [`Kind::Missing`]. Such bursts are neither noise nor part of a thread's sequence.
    ///
    /// ```
    /// use perf_core::{Job, Nanos};
    /// use perf_track::{Burst, Bursts, Dimension, Kind, Scale, Thread};
    /// let mut bursts = Bursts::new(["flops"]);
    /// let thread = bursts.add_thread(Thread::default())?;
    /// for (begin, end, flops) in [(Nanos(0), Nanos(5), 7.0), (Nanos(9), Nanos(12), 0.0)] {
    ///     bursts.push(Burst { thread, begin, end, ..Burst::default() }, &[flops])?;
    /// }
    /// let scale = Scale::params().dimension(Dimension::new("flops").log(true)).check()?;
    /// let scaled = scale.fit(&[&bursts], &Job::default())?;
    /// scaled.experiments[0].mark_left_out(&mut bursts)?;
    /// assert_eq!(bursts.kinds(), [Kind::Complete, Kind::Missing]);
    /// # Ok::<(), perf_track::Error>(())
    /// ```
    ///
    /// # Errors
    /// Never fails for the bursts from which the points were computed.
    pub fn mark_left_out(&self, bursts: &mut Bursts) -> Result<()> {
        let mut kinds = bursts.kinds().to_vec();
        for row in bursts.complete() {
            if self.rows.binary_search(&row).is_err()
                && let Some(kind) = kinds.get_mut(row as usize)
            {
                *kind = Kind::Missing;
            }
        }
        bursts.set_kinds(kinds)
    }

    /// Converts a list with one entry for each point, such as labels, to a list with one entry for
    /// each burst. Bursts that are no points get `otherwise`.
    ///
    /// # Errors
    /// Returns [`Error::Length`] if there is not one entry for each point.
    pub fn spread<T: Clone>(
        &self,
        of_points: &[T],
        bursts: &Bursts,
        otherwise: T,
    ) -> Result<Vec<T>> {
        if of_points.len() != self.rows.len() {
            return Err(Error::Length {
                what: "values of points",
                expected: self.rows.len(),
                got: of_points.len(),
            });
        }
        let mut of_bursts = vec![otherwise; bursts.len()];
        for (row, value) in self.rows.iter().zip(of_points) {
            if let Some(slot) = of_bursts.get_mut(*row as usize) {
                *slot = value.clone();
            }
        }
        Ok(of_bursts)
    }

    /// Creates a [`Experiment`] from these bursts and the clusters of their points, renumbered by
    /// descending time. Bursts that are no points are noise.
    ///
    /// ```
    /// use perf_core::{Job, Nanos};
    /// use perf_track::cluster::{Clusterer, Dbscan};
    /// use perf_track::{Burst, Bursts, ClusterId, Dimension, Scale, Thread};
    /// let mut bursts = Bursts::new(["flops"]);
    /// let thread = bursts.add_thread(Thread::default())?;
    /// for at in 0..12 {
    ///     // Eight short bursts of 1 flop, then four long ones of 9.
    ///     let (length, flops) = if at < 8 { (5, 1.0) } else { (90, 9.0) };
    ///     let (begin, end) = (Nanos(100 * at), Nanos(100 * at + length));
    ///     bursts.push(Burst { thread, begin, end, ..Burst::default() }, &[flops])?;
    /// }
    /// let scale = Scale::params().dimension(Dimension::new("flops").log(true)).check()?;
    /// let scaled = scale.fit(&[&bursts], &Job::default())?;
    /// let dbscan = Dbscan::new(Dbscan::params().eps(0.1).min_points(4).check()?);
    /// let labels = dbscan.cluster(scaled.experiments[0].points()?, &Job::default())?;
    /// let experiment = scaled.experiments[0].experiment("run 7", bursts, &labels)?;
    /// assert_eq!(experiment.labels().sizes()?, [4, 8]);
    /// assert_eq!(experiment.labels().as_slice()[0], ClusterId(2));
    /// # Ok::<(), perf_track::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if there is not one label for each point, or if the burst of a point does
    /// not exist.
    pub fn experiment(
        &self,
        name: impl Into<String>,
        bursts: Bursts,
        labels: &Labels,
    ) -> Result<Experiment> {
        let durations = bursts.durations();
        let time = |row: &u32| durations.get(*row as usize).copied();
        let times: Vec<f64> = self.rows.iter().filter_map(time).collect();
        let labels = labels.by_weight(&times)?;
        let all = self.spread(labels.as_slice(), &bursts, ClusterId::NOISE)?;
        Experiment::new(name, bursts, Labels::new(all))
    }
}

/// Experiments in a common space.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Scaled {
    /// Points of each experiment.
    pub experiments: Vec<ScaledExperiment>,
    /// Conversion of metrics to coordinates.
    pub transform: Transform,
}

/// Largest fraction of the time in bursts that are too short for the clock.
const UNRESOLVED: f64 = 0.01;
/// Largest resolution of an axis of factor 1. A larger resolution would join clusters.
const MAX_RESOLUTION: f64 = 0.125;

impl Scaled {
    /// Returns the distance in the space of the points within which two bursts of an experiment may
    /// have the same duration: two ticks of the [clock](Bursts::tick) on the axis of the duration, at
    /// most an eighth of the range of the axis. On a logarithmic axis the distance is computed for the
    /// shortest burst, without the short bursts that together take 1 % of the time. 0 without an axis of
    /// the duration, or for an experiment that does not exist.
    ///
    /// A [radius](crate::cluster::EpsParams::floor) below this distance makes each tick of the clock a
    /// cluster.
    ///
    /// ```
    /// use perf_core::{Job, Nanos};
    /// use perf_track::{Burst, Bursts, Dimension, Scale, Thread};
    /// let mut bursts = Bursts::default();
    /// let thread = bursts.add_thread(Thread::default())?;
    /// for (begin, length) in [(0, 20), (40, 20), (80, 60), (200, 200)] {
    ///     // A clock of microseconds.
    ///     let (begin, end) = (Nanos(1_000 * begin), Nanos(1_000 * (begin + length)));
    ///     bursts.push(Burst { thread, begin, end, ..Burst::default() }, &[])?;
    /// }
    /// assert_eq!(bursts.tick(), Nanos(20_000));
    /// let scale = Scale::params().dimension(Dimension::new("duration")).check()?;
    /// let scaled = scale.fit(&[&bursts], &Job::default())?;
    /// assert_eq!(scaled.resolution(0, &bursts), 0.125);
    /// # Ok::<(), perf_track::Error>(())
    /// ```
    pub fn resolution(&self, experiment: usize, bursts: &Bursts) -> f64 {
        let Some(points) = self.experiments.get(experiment) else {
            return 0.0;
        };
        let tick = bursts.tick().0 as f64;
        let durations = bursts.durations();
        let of = |row: &u32| durations.get(*row as usize).copied();
        let mut durations: Vec<f64> = points.rows().iter().filter_map(of).collect();
        durations.sort_unstable_by(f64::total_cmp);
        let most = UNRESOLVED * durations.iter().sum::<f64>();
        let mut sum = 0.0;
        let shortest = durations.iter().find(|duration| {
            sum += **duration;
            sum > most
        });
        let axes = self.transform.axes().iter();
        let axes = axes.filter(|axis| axis.metric == "duration");
        let resolution = |axis: &TransformAxis| {
            let of = axis
                .experiments
                .get(experiment)
                .filter(|of| !of.is_constant())?;
            let ticks = if axis.log {
                2.0 * tick / shortest?.max(tick)
            } else {
                2.0 * tick
            };
            Some(axis.factor.abs() * (ticks / (of.high - of.low)).min(MAX_RESOLUTION))
        };
        axes.filter_map(resolution).fold(0.0, f64::max)
    }
}

/// Values of one experiment before the range is applied.
struct Raw {
    /// Burst of each point.
    rows: Vec<u32>,
    /// Values in row-major order.
    values: Vec<f64>,
    /// Duration of the burst of each point.
    times: Vec<f64>,
    /// Bursts that are no points, by axis.
    left_out: Vec<Amount>,
}

impl Raw {
    fn axis(&self, axis: usize, dimensions: usize) -> impl Iterator<Item = f64> + '_ {
        self.values
            .iter()
            .skip(axis)
            .step_by(dimensions.max(1))
            .copied()
    }
}

impl Scale {
    /// Converts the complete bursts of several experiments to points in one space.
    ///
    /// A burst is not converted, and is counted in [`ScaledExperiment::left_out`], if a metric is not
    /// finite, or is not positive on a logarithmic axis. On an axis with equal values all coordinates
    /// are 0.
    ///
    /// [`ScaleMode::PerExperiment`]: the range of each experiment is from its smallest to its largest
    /// value.
    ///
    /// [`ScaleMode::Joint`]: a shift is fitted on each axis that requests a shift, for each experiment
    /// after the first experiment with points. The time of an experiment's bursts is a density along
    /// the axis, normalised to 1 and smoothed. The fitted shift has the largest overlap
    /// `sum min(a, b)` with the first experiment with points; in a tie it is the smallest such shift.
    /// Unless this overlap exceeds the overlap without a shift by at least [`ScaleParams::margin`],
    /// there is no shift. A shift that suits most of the time displaces the other bursts; the transform
    /// reports all shifts. The common range is between two quantiles of the bursts, with equal weight
    /// for each experiment; if both quantiles are equal, from the smallest to the largest value.
    ///
    /// # Errors
    /// Returns [`Error::UnknownMetric`] for a metric that an experiment does not have,
    /// [`Error::Length`] if there is not one fixed shift for each experiment, or
    /// [`Error::Cancelled`] if the job is cancelled. Progress is reported in axes, in the phase
    /// `scale`.
    ///
    /// ```
    /// use perf_core::Job;
    /// use perf_track::{Bursts, Dimension, Error, Scale};
    /// let scale = Scale::params().dimension(Dimension::new("flops")).check()?;
    /// let (bursts, job) = (Bursts::new(["flops"]), Job::default());
    /// assert_eq!(scale.fit(&[&bursts], &job)?.experiments.len(), 1);
    /// job.cancel();
    /// assert!(matches!(scale.fit(&[&bursts], &job), Err(Error::Cancelled(_))));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    pub fn fit(&self, experiments: &[&Bursts], job: &Job) -> Result<Scaled> {
        job.check()?;
        for dimension in &self.dimensions {
            if let Shift::Fixed(shifts) = &dimension.shift
                && shifts.len() != experiments.len()
            {
                return Err(Error::Length {
                    what: "shifts of experiments",
                    expected: experiments.len(),
                    got: shifts.len(),
                });
            }
        }
        let raw: Vec<Raw> =
            perf_core::parallel::try_map(experiments.len(), |at| self.raw(experiments[at], job))?;
        let unit = |metric: &str| match experiments.first().and_then(|f| f.column(metric).ok()) {
            Some(column) => column.unit.clone(),
            None if metric == "duration" => "ns".into(),
            None => String::new(),
        };
        let mut axes: Vec<TransformAxis> = Vec::with_capacity(self.dimensions.len());
        for (index, dimension) in self.dimensions.iter().enumerate() {
            axes.push(TransformAxis {
                metric: dimension.metric.clone(),
                unit: unit(&dimension.metric),
                log: dimension.log,
                factor: dimension.factor,
                experiments: self.axis(index, dimension, &raw, job)?,
            });
            job.advance("scale", 1, self.dimensions.len() as u64);
        }
        let dimensions = axes.len();
        let experiments = raw.into_iter().enumerate().map(|(experiment, raw)| {
            let mut values = raw.values;
            let mut checks = job.checks();
            for row in values.chunks_exact_mut(dimensions) {
                checks.next(dimensions)?;
                for (value, axis) in row.iter_mut().zip(&axes) {
                    if let Some(of) = axis.experiments.get(experiment) {
                        *value = axis.place(of, *value);
                    }
                }
            }
            Ok(ScaledExperiment {
                rows: raw.rows,
                values,
                dimensions,
                left_out: raw.left_out,
            })
        });
        Ok(Scaled {
            experiments: experiments.collect::<Result<_>>()?,
            transform: Transform { axes: axes.clone() },
        })
    }

    /// Returns the metrics of an experiment's complete bursts, after the logarithm.
    fn raw(&self, bursts: &Bursts, job: &Job) -> Result<Raw> {
        let durations = bursts.durations();
        let mut columns = Vec::with_capacity(self.dimensions.len());
        for dimension in &self.dimensions {
            columns.push(match bursts.column(&dimension.metric) {
                Ok(column) => column.values.as_slice(),
                Err(_) if dimension.metric == "duration" => &durations,
                Err(error) => return Err(error),
            });
        }
        let mut raw = Raw {
            rows: Vec::new(),
            values: Vec::new(),
            times: Vec::new(),
            left_out: vec![Amount::default(); self.dimensions.len()],
        };
        let mut checks = job.checks();
        for row in bursts.complete() {
            checks.next(self.dimensions.len())?;
            let start = raw.values.len();
            let time = durations[row as usize];
            let each = self.dimensions.iter().zip(&columns);
            let values = each.map(|(dimension, column)| {
                let value = column[row as usize];
                if dimension.log { value.ln() } else { value }
            });
            raw.values.extend(values);
            let added = &raw.values[start..];
            if let Some(axis) = added.iter().position(|value| !value.is_finite()) {
                raw.values.truncate(start);
                raw.left_out[axis].add(Nanos(time as i64));
                continue;
            }
            raw.rows.push(row);
            raw.times.push(time);
        }
        Ok(raw)
    }

    /// Computes shift and range of an axis for each experiment.
    fn axis(
        &self,
        axis: usize,
        dimension: &Dimension,
        experiments: &[Raw],
        job: &Job,
    ) -> Result<Vec<ExperimentAxis>> {
        let dimensions = self.dimensions.len();
        let mut of: Vec<Vec<f64>> = Vec::with_capacity(experiments.len());
        for raw in experiments {
            job.check()?;
            of.push(raw.axis(axis, dimensions).collect());
        }
        let plain = |(low, high)| ExperimentAxis {
            shift: 0.0,
            overlap: 1.0,
            overlap_unshifted: 1.0,
            low,
            high,
        };
        if self.mode == ScaleMode::PerExperiment {
            let ranges = of
                .iter()
                .map(|values| plain(ranges_and_shifts::extremes(values)));
            return Ok(ranges.collect());
        }
        let fits = match dimension.shift {
            Shift::Fit => true,
            Shift::Auto => dimension.log,
            Shift::None | Shift::Fixed(_) => false,
        };
        let mut found: Vec<ExperimentAxis> = of.iter().map(|_| plain((0.0, 0.0))).collect();
        // The first experiment that has bursts is the reference for the others.
        let base = of.iter().position(|values| !values.is_empty()).unwrap_or(0);
        for (index, experiment) in found.iter_mut().enumerate() {
            if let Shift::Fixed(shifts) = &dimension.shift {
                // Experiments without a given shift are not shifted.
                experiment.shift = shifts.get(index).copied().unwrap_or_default();
            } else if fits
                && index > base
                && let (Some(first), Some(base), Some(own), Some(raw)) = (
                    of.get(base),
                    experiments.get(base),
                    of.get(index),
                    experiments.get(index),
                )
            {
                let (first, own) = (
                    (first.as_slice(), base.times.as_slice()),
                    (own.as_slice(), raw.times.as_slice()),
                );
                let fitted = ranges_and_shifts::shift(first, own, self.margin, job)?;
                experiment.shift = fitted.shift;
                experiment.overlap = fitted.overlap;
                experiment.overlap_unshifted = fitted.unshifted;
            }
        }
        let shifted: Vec<Vec<f64>> = of
            .iter()
            .zip(&found)
            .map(|(values, experiment)| values.iter().map(|y| y - experiment.shift).collect())
            .collect();
        let (low, high) = ranges_and_shifts::range(&shifted, self.quantile, job)?;
        for experiment in &mut found {
            (experiment.low, experiment.high) = (low, high);
        }
        Ok(found)
    }
}
