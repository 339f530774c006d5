//! [`Clusters`]: what is shown of clusters and objects, without any drawing.

use super::axes::SpaceAxis;
use super::coarse::{self, Cells, Cloud};
use crate::chart::range;
use crate::{Error, Result};
use perf_track::trend::Summary;
use perf_track::{ClusterId, Scaled, TimeBalance};
use std::collections::HashMap;

/// Frames of points with the object of each, what links the objects, and how they change: what pictures
/// and pages of clusters are drawn from.
///
/// ```
/// use perf_core::{Job, Nanos};
/// use perf_track::{Burst, Bursts, ClusterId, Dimension, Scale, Thread};
/// use perf_view::{Page, track::{Clusters, View}};
/// let mut bursts = Bursts::new(["work"]);
/// let thread = bursts.add_thread(Thread::default())?;
/// for at in 0..8 {
///     let (begin, end) = (Nanos(10 * at), Nanos(10 * at + 5));
///     let work = [1e6, 9e6][at as usize % 2];
///     bursts.push(Burst { thread, begin, end, ..Burst::default() }, &[work])?;
/// }
/// let scaled = Scale::params().dimension(Dimension::new("work").log(true)).check()?.fit(&[&bursts], &Job::default())?;
/// let labels: Vec<ClusterId> = (0..8).map(|at| ClusterId(at % 2 + 1)).collect();
/// let mut clusters = Clusters::of_frame("run 7", &scaled, &labels)?;
/// clusters.metric("duration", "ns", &bursts.durations())?;
/// let section = View::new(&clusters).section(&Job::default())?;
/// assert!(Page::new("Clusters").with(section).html(&Job::default())?.contains("run 7"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Clusters {
    pub(super) axes: Vec<SpaceAxis>,
    pub(super) frames: Vec<Frame>,
    pub(super) objects: Vec<Shown>,
    pub(super) metrics: Vec<Metric>,
    pub(super) pairs: Vec<Compared>,
    /// The cluster of each point, frame by frame.
    labels: Vec<Vec<ClusterId>>,
    /// What objects are called: `object`, or `cluster` where there is one frame alone.
    pub(super) noun: &'static str,
}

/// A frame.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub(super) name: String,
    pub(super) tasks: u32,
    /// Coordinates, point after point.
    pub(super) places: Vec<f64>,
    /// The object of each point, 0 for none.
    pub(super) objects: Vec<u32>,
    /// The division of its CPU time, if that is known.
    pub(super) balance: Option<TimeBalance>,
}

/// An object.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    /// From 1.
    pub(super) id: u32,
    /// Its clusters in each frame.
    pub(super) members: Vec<Vec<u32>>,
    /// Share of the CPU time, or where that is not known of the time or number of the points, in each
    /// frame.
    pub(super) share: Vec<f64>,
    pub(super) confidence: Option<f64>,
    pub(super) events: Vec<String>,
    pub(super) links: Vec<Match>,
    /// The mean of its points in each frame, and how many they are.
    pub(super) centres: Vec<Option<(Vec<f64>, usize)>>,
}

/// Why two clusters are one object.
#[derive(Clone, Debug)]
pub(super) struct Match {
    /// Frame and cluster.
    pub(super) from: (usize, u32),
    pub(super) to: (usize, u32),
    pub(super) kind: &'static str,
    pub(super) confidence: f64,
    pub(super) evidence: f64,
    pub(super) votes: Vec<(&'static str, f64)>,
}

/// A metric of every object in every frame.
#[derive(Clone, Debug)]
pub(super) struct Metric {
    pub(super) name: String,
    pub(super) unit: String,
    /// By object, then frame.
    pub(super) series: Vec<Vec<Option<Summary>>>,
}

/// Two frames that were compared: matrices of a row a cluster of the earlier one, NaN for no opinion.
#[derive(Clone, Debug)]
pub(super) struct Compared {
    pub(super) from: usize,
    pub(super) to: usize,
    /// Clusters that are left out of the matrices: those of least time.
    pub(super) left_out: [usize; 2],
    /// Name and values: shares of nearest neighbours both ways, the evidence, then every vote.
    pub(super) matrices: Vec<(&'static str, Vec<Vec<f64>>)>,
}

impl Clusters {
    /// One frame that was clustered and not tracked: its clusters are the objects. Metrics are
    /// [added](Self::metric).
    ///
    /// # Errors
    /// [`Error::Mismatch`] if there is not one label a point of the first frame.
    pub fn of_frame(
        name: impl Into<String>,
        scaled: &Scaled,
        labels: &[ClusterId],
    ) -> Result<Self> {
        let objects = vec![numbers(labels)];
        let mut found = Self::empty(vec![(name.into(), 0)], scaled, &[labels], objects)?;
        found.noun = "cluster";
        let most = labels.iter().map(|id| id.0).max().unwrap_or(0);
        // No more clusters than points, whatever numbers they have.
        for id in 1..=most.min(labels.len() as u32) {
            let mut shown = found.shown(id);
            if shown.centres.iter().all(Option::is_none) {
                continue;
            }
            shown.members = vec![vec![id]];
            let count = shown
                .centres
                .first()
                .and_then(|of| of.as_ref())
                .map_or(0, |of| of.1);
            shown.share = vec![count as f64 / labels.len().max(1) as f64];
            found.objects.push(shown);
        }
        Ok(found)
    }

    /// Adds the division of the CPU time of one frame that was not tracked. Metrics are added after it.
    pub fn balanced(mut self, balance: TimeBalance) -> Self {
        if let Some(frame) = self.frames.first_mut() {
            frame.balance = Some(balance);
        }
        self
    }

    /// Adds a metric of the points of one frame that was not tracked: a value a point. By `duration` objects
    /// have their share of the CPU time, if its [division](Self::balanced) is known, or of the time of the
    /// points, instead of that of the number of points.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if there is not one value a point.
    pub fn metric(&mut self, name: &str, unit: &str, values: &[f64]) -> Result<()> {
        let objects = self.frames.first().map_or(&[][..], |frame| &frame.objects);
        same("values of a metric", objects.len(), values.len())?;
        let of = |id: u32| {
            let own = objects
                .iter()
                .zip(values)
                .filter(|(object, _)| **object == id);
            let own: Vec<f64> = own.map(|(_, value)| *value).collect();
            vec![Summary::of(&own)]
        };
        let series = self.objects.iter().map(|object| of(object.id)).collect();
        if name == "duration" {
            let mut times = HashMap::new();
            for (object, value) in objects.iter().zip(values) {
                *times.entry(*object).or_insert(0.0) += value.max(0.0);
            }
            let points = objects.iter().zip(values);
            let points: f64 = points.map(|(_, value)| value.max(0.0)).sum();
            let balance = self.frames.first().and_then(|frame| frame.balance);
            let all = balance.map_or(points, |of| of.total.time.0 as f64);
            for object in self
                .objects
                .iter_mut()
                .filter(|_| all > 0.0 && all.is_finite())
            {
                let own = times.get(&object.id).copied().unwrap_or_default();
                object.share = vec![own / all];
            }
        }
        self.metrics.push(Metric {
            name: name.into(),
            unit: unit.into(),
            series,
        });
        Ok(())
    }

    /// The same with another word for `object` or `cluster`: what points were put together by.
    pub fn called(mut self, noun: &'static str) -> Self {
        self.noun = noun;
        self
    }

    /// How many objects there are.
    pub fn objects(&self) -> usize {
        self.objects.len()
    }

    /// How many points there are in all frames.
    pub fn points(&self) -> usize {
        self.frames.iter().map(|frame| frame.objects.len()).sum()
    }

    pub(super) fn empty(
        names: Vec<(String, u32)>,
        scaled: &Scaled,
        labels: &[&[ClusterId]],
        objects: Vec<Vec<u32>>,
    ) -> Result<Self> {
        same("frames of labels", names.len(), labels.len())?;
        if names.is_empty() || scaled.transform.axes().is_empty() {
            return Err(Error::Empty {
                what: "no frame or no axis",
            });
        }
        let dimensions = scaled.transform.axes().len();
        let mut frames = Vec::new();
        for (((name, tasks), of), objects) in names.into_iter().zip(&scaled.frames).zip(objects) {
            let points = of.points()?;
            same("labels of points", points.len(), objects.len())?;
            same("axes of points", dimensions, points.dimensions())?;
            frames.push(Frame {
                name,
                tasks,
                places: points.values().to_vec(),
                objects,
                balance: None,
            });
        }
        Ok(Clusters {
            axes: scaled.transform.axes().iter().map(SpaceAxis::of).collect(),
            frames,
            objects: Vec::new(),
            metrics: Vec::new(),
            pairs: Vec::new(),
            labels: labels.iter().map(|labels| labels.to_vec()).collect(),
            noun: "object",
        })
    }

    /// An object with its centres and nothing else.
    pub(super) fn shown(&self, id: u32) -> Shown {
        let dimensions = self.axes.len();
        let centre = |frame: &Frame| {
            let points = frame.places.chunks_exact(dimensions).zip(&frame.objects);
            let own = points.filter(|(_, object)| **object == id);
            let start = (vec![0.0; dimensions], 0usize);
            let (sum, count) = own.fold(start, |(mut sum, count), (at, _)| {
                sum.iter_mut()
                    .zip(at)
                    .for_each(|(sum, value)| *sum += value);
                (sum, count + 1)
            });
            let mean = sum.iter().map(|sum| sum / count.max(1) as f64).collect();
            (count > 0).then_some((mean, count))
        };
        Shown {
            id,
            members: Vec::new(),
            share: Vec::new(),
            confidence: None,
            events: Vec::new(),
            links: Vec::new(),
            centres: self.frames.iter().map(centre).collect(),
        }
    }

    /// Ends of each axis, common to all frames.
    pub(super) fn ranges(&self) -> Vec<[f64; 2]> {
        let dimensions = self.axes.len();
        let of = |axis: usize| {
            let all = self.frames.iter().flat_map(|frame| &frame.places);
            range(all.skip(axis).step_by(dimensions).copied())
        };
        (0..dimensions).map(of).collect()
    }

    /// Points, or what stands for them, at most about `most`.
    pub(super) fn cells(&self, ranges: &[[f64; 2]], most: usize) -> (Vec<Cells>, Option<usize>) {
        let clouds = self.frames.iter().map(|frame| Cloud {
            places: &frame.places,
            objects: &frame.objects,
        });
        let clouds: Vec<Cloud<'_>> = clouds.collect();
        coarse::cells(&clouds, self.axes.len(), ranges, most)
    }

    /// How many points of a frame are in no cluster.
    pub(super) fn noise(&self, frame: usize) -> usize {
        let labels = self.labels.get(frame).map_or(&[][..], Vec::as_slice);
        labels.iter().filter(|id| id.is_noise()).count()
    }
}

pub(super) fn same(what: &'static str, expected: usize, got: usize) -> Result<()> {
    match expected == got {
        true => Ok(()),
        false => Err(Error::Mismatch {
            what,
            expected,
            got,
        }),
    }
}

pub(super) fn numbers(ids: &[ClusterId]) -> Vec<u32> {
    ids.iter().map(|id| id.0).collect()
}
