//! From bursts to points: logarithms, shifts between frames, ranges.

mod fit;
mod params;
mod table;
mod transform;

pub use params::{Dimension, Scale, ScaleMode, ScaleParams, Shift};
pub use transform::{FrameAxis, Transform, TransformAxis};

use crate::bursts::Amount;
use crate::{Bursts, ClusterId, Error, Frame, Kind, Labels, Points, Result};
use perf_core::{Job, Nanos};

/// The points of one frame.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ScaledFrame {
    rows: Vec<u32>,
    values: Vec<f64>,
    dimensions: usize,
    /// Complete bursts that are no point, since a metric has no logarithm or is not finite, by
    /// the first such axis.
    pub left_out: Vec<Amount>,
}

impl ScaledFrame {
    /// The points.
    ///
    /// # Errors
    /// Those of [`Points::new`].
    pub fn points(&self) -> Result<Points<'_>> {
        Points::new(&self.values, self.dimensions)
    }

    /// Which burst each point is: its index in [`Bursts::rows`], ascending.
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// Bursts that are complete and no point, since a metric has no logarithm or is not finite,
    /// become [`Kind::Missing`]: they are neither noise nor part of a thread's sequence.
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
    /// scaled.frames[0].mark_left_out(&mut bursts)?;
    /// assert_eq!(bursts.kinds(), [Kind::Complete, Kind::Missing]);
    /// # Ok::<(), perf_track::Error>(())
    /// ```
    ///
    /// # Errors
    /// None for the bursts that the frame was made of.
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

    /// Something a point, such as its label, as something a burst; bursts that are no point get
    /// `otherwise`.
    ///
    /// # Errors
    /// Not one a point.
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

    /// The frame of these bursts with the clusters of their points: numbered by falling time, so that
    /// cluster 1 takes the most. Bursts that are no point are noise.
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
    /// let labels = dbscan.cluster(scaled.frames[0].points()?, &Job::default())?;
    /// let frame = scaled.frames[0].frame("run 7", bursts, &labels)?;
    /// assert_eq!(frame.labels().sizes()?, [4, 8]);
    /// assert_eq!(frame.labels().as_slice()[0], ClusterId(2));
    /// # Ok::<(), perf_track::Error>(())
    /// ```
    ///
    /// # Errors
    /// Not one label a point, or a point of a burst that is not there.
    pub fn frame(&self, name: impl Into<String>, bursts: Bursts, labels: &Labels) -> Result<Frame> {
        let durations = bursts.durations();
        let time = |row: &u32| durations.get(*row as usize).copied();
        let times: Vec<f64> = self.rows.iter().filter_map(time).collect();
        let labels = labels.by_weight(&times)?;
        let all = self.spread(labels.as_slice(), &bursts, ClusterId::NOISE)?;
        Frame::new(name, bursts, Labels::new(all))
    }
}

/// Frames in a common space.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Scaled {
    /// The points of each frame.
    pub frames: Vec<ScaledFrame>,
    /// How metrics became coordinates.
    pub transform: Transform,
}

/// Share of the time whose bursts may be too short for the clock.
const UNRESOLVED: f64 = 0.01;
/// Largest resolution of an axis of factor 1: more would tie clusters together.
const MAX_RESOLUTION: f64 = 0.125;

impl Scaled {
    /// The distance in the space of the points within which two bursts of a frame may have the same
    /// duration: two ticks of the [clock](Bursts::tick) on each axis that is a duration, at most an
    /// eighth of the range of the axis. On a logarithmic axis it is that of the shortest bursts but
    /// for those that take 1 % of the time together. 0 for a frame that is not there.
    ///
    /// A [radius](crate::cluster::EpsParams::floor) below it makes each tick of the clock a cluster.
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
    pub fn resolution(&self, frame: usize, bursts: &Bursts) -> f64 {
        let Some(points) = self.frames.get(frame) else {
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
            let of = axis.frames.get(frame).filter(|of| !of.is_constant())?;
            let ticks = match axis.log {
                true => 2.0 * tick / shortest?.max(tick),
                false => 2.0 * tick,
            };
            Some(axis.factor.abs() * (ticks / (of.high - of.low)).min(MAX_RESOLUTION))
        };
        axes.filter_map(resolution).fold(0.0, f64::max)
    }
}

/// The values of one frame before they get their range: `y` row after row.
struct Raw {
    rows: Vec<u32>,
    values: Vec<f64>,
    /// Duration of the bursts of `rows`.
    times: Vec<f64>,
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
    /// The complete bursts of frames as points in one space.
    ///
    /// A burst whose metric is not finite, or not above 0 where its logarithm is asked for, is no
    /// point and is counted. An axis on which all are equal has the coordinate 0 for all.
    ///
    /// [`ScaleMode::PerFrame`]: range of each frame from its least to its largest value.
    ///
    /// [`ScaleMode::Joint`]: for each frame but the first a shift is fitted on each axis that asks for
    /// one. With the time of a frame's bursts as a density along the axis, each frame's adding up
    /// to 1 and smoothed, the shift is that with the largest overlap `sum min(a, b)` with the
    /// first frame, if the overlap without shift is less by [`ScaleParams::margin`]; of shifts
    /// that overlap equally the smallest one. Where the majority of the time scales, minorities
    /// that do not are displaced by the shift; the transform says what was done. Then the range of
    /// all frames is that between two quantiles of the bursts, each frame weighing the same; where
    /// both are one value, from the least to the largest.
    ///
    /// # Errors
    /// Returns [`Error::UnknownMetric`] for a dimension that a frame does not have, [`Error::Length`] where fixed shifts
    /// are not one a frame, and [`Error::Cancelled`] if the job is cancelled. Progress is reported in axes of the phase
    /// `scale`.
    ///
    /// ```
    /// use perf_core::Job;
    /// use perf_track::{Bursts, Dimension, Error, Scale};
    /// let scale = Scale::params().dimension(Dimension::new("flops")).check()?;
    /// let (bursts, job) = (Bursts::new(["flops"]), Job::default());
    /// assert_eq!(scale.fit(&[&bursts], &job)?.frames.len(), 1);
    /// job.cancel();
    /// assert!(matches!(scale.fit(&[&bursts], &job), Err(Error::Cancelled(_))));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    pub fn fit(&self, frames: &[&Bursts], job: &Job) -> Result<Scaled> {
        job.check()?;
        for dimension in &self.dimensions {
            if let Shift::Fixed(shifts) = &dimension.shift
                && shifts.len() != frames.len()
            {
                return Err(Error::Length {
                    what: "shifts of frames",
                    expected: frames.len(),
                    got: shifts.len(),
                });
            }
        }
        let raw: Vec<Raw> =
            perf_core::parallel::try_map(frames.len(), |at| self.raw(frames[at], job))?;
        let unit = |metric: &str| match frames.first().and_then(|f| f.column(metric).ok()) {
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
                frames: self.axis(index, dimension, &raw, job)?,
            });
            job.advance("scale", 1, self.dimensions.len() as u64);
        }
        let dimensions = axes.len();
        let frames = raw.into_iter().enumerate().map(|(frame, raw)| {
            let mut values = raw.values;
            let mut checks = job.checks();
            for row in values.chunks_exact_mut(dimensions) {
                checks.next(dimensions)?;
                for (value, axis) in row.iter_mut().zip(&axes) {
                    if let Some(of) = axis.frames.get(frame) {
                        *value = axis.place(of, *value);
                    }
                }
            }
            Ok(ScaledFrame {
                rows: raw.rows,
                values,
                dimensions,
                left_out: raw.left_out,
            })
        });
        Ok(Scaled {
            frames: frames.collect::<Result<_>>()?,
            transform: Transform { axes: axes.clone() },
        })
    }

    /// The metrics of a frame's complete bursts, after the logarithm.
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

    /// What each frame adds to an axis.
    fn axis(
        &self,
        axis: usize,
        dimension: &Dimension,
        frames: &[Raw],
        job: &Job,
    ) -> Result<Vec<FrameAxis>> {
        let dimensions = self.dimensions.len();
        let mut of: Vec<Vec<f64>> = Vec::with_capacity(frames.len());
        for raw in frames {
            job.check()?;
            of.push(raw.axis(axis, dimensions).collect());
        }
        let plain = |(low, high)| FrameAxis {
            shift: 0.0,
            overlap: 1.0,
            overlap_unshifted: 1.0,
            low,
            high,
        };
        if self.mode == ScaleMode::PerFrame {
            let ranges = of.iter().map(|values| plain(fit::extremes(values)));
            return Ok(ranges.collect());
        }
        let fits = match dimension.shift {
            Shift::Fit => true,
            Shift::Auto => dimension.log,
            Shift::None | Shift::Fixed(_) => false,
        };
        let mut found: Vec<FrameAxis> = of.iter().map(|_| plain((0.0, 0.0))).collect();
        // The first frame that has bursts is what the others are compared with.
        let base = of.iter().position(|values| !values.is_empty()).unwrap_or(0);
        for (index, frame) in found.iter_mut().enumerate() {
            if let Shift::Fixed(shifts) = &dimension.shift {
                // Frames beyond the shifts that were given stay in their place.
                frame.shift = shifts.get(index).copied().unwrap_or_default();
            } else if fits
                && index > base
                && let (Some(first), Some(base), Some(own), Some(raw)) = (
                    of.get(base),
                    frames.get(base),
                    of.get(index),
                    frames.get(index),
                )
            {
                let (first, own) = (
                    (first.as_slice(), base.times.as_slice()),
                    (own.as_slice(), raw.times.as_slice()),
                );
                let fitted = fit::shift(first, own, self.margin, job)?;
                frame.shift = fitted.shift;
                frame.overlap = fitted.overlap;
                frame.overlap_unshifted = fitted.unshifted;
            }
        }
        let shifted: Vec<Vec<f64>> = of
            .iter()
            .zip(&found)
            .map(|(values, frame)| values.iter().map(|y| y - frame.shift).collect())
            .collect();
        let (low, high) = fit::range(&shifted, self.quantile, job)?;
        for frame in &mut found {
            (frame.low, frame.high) = (low, high);
        }
        Ok(found)
    }
}
