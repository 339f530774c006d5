//! [`Clusters`]: experiments with their points, tracked regions, links and metrics, as input of
//! pictures and pages; created here from a single experiment without tracking.

use super::merged_points::{self, Cells, Cloud};
use super::space_axis::SpaceAxis;
use super::timeline::Timeline;
use crate::chart::range;
use crate::{Error, Result};
use perf_track::trend::Summary;
use perf_track::{ClusterId, Scaled, TimeBalance};
use std::collections::HashMap;

/// Experiments with their points, the tracked region of each point, the links between clusters, and
/// the trends of tracked regions. This is the input of pictures and pages of clusters.
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
/// let mut clusters = Clusters::of_experiment("run 7", &scaled, &labels)?;
/// clusters.metric("duration", "ns", &bursts.durations())?;
/// let section = View::new(&clusters).section(&Job::default())?;
/// assert!(Page::new("Clusters").with(section).html(&Job::default())?.contains("run 7"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Clusters {
    /// Axes of the space of points.
    pub(super) axes: Vec<SpaceAxis>,
    /// Experiments with their points.
    pub(super) experiments: Vec<Experiment>,
    /// Tracked regions, or clusters if there is one experiment.
    pub(super) regions: Vec<Shown>,
    /// Metrics of the tracked regions.
    pub(super) metrics: Vec<Metric>,
    /// Pairs of experiments that were compared.
    pub(super) pairs: Vec<Compared>,
    /// Cluster of each point, by experiment.
    labels: Vec<Vec<ClusterId>>,
    /// Word for a tracked region in pictures and pages: `region`, or `cluster` for an experiment
    /// that was not tracked.
    pub(super) noun: &'static str,
    /// Most important results, as sentences.
    pub(super) lead: Vec<String>,
    /// Plural noun for the scale of an experiment, such as `tasks` or `threads`.
    pub(super) scale: String,
}

/// Experiment.
#[derive(Clone, Debug)]
pub(super) struct Experiment {
    /// Name of the experiment.
    pub(super) name: String,
    /// Number of tasks; 0 for an experiment that was not tracked.
    pub(super) tasks: u32,
    /// Coordinates, point after point.
    pub(super) places: Vec<f64>,
    /// Tracked region of each point, 0 for none.
    pub(super) regions: Vec<u32>,
    /// Division of the CPU time into classes, if it is known.
    pub(super) balance: Option<TimeBalance>,
    /// Regions of each thread over time, if they are known.
    pub(super) timeline: Option<Timeline>,
}

/// Tracked region.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    /// Number of the tracked region, from 1.
    pub(super) id: u32,
    /// Clusters of the tracked region in each experiment.
    pub(super) members: Vec<Vec<u32>>,
    /// Share of the CPU time in each experiment. If the CPU time is not known, the share of the
    /// time of the points, or of their number.
    pub(super) share: Vec<f64>,
    /// Confidence of the tracking; `None` for clusters that were not tracked.
    pub(super) confidence: Option<f64>,
    /// Descriptions of events, such as splits and gaps.
    pub(super) events: Vec<String>,
    /// Place in the program; empty if it is not known.
    pub(super) position: String,
    /// Sentences about the region, such as scaling models.
    pub(super) facts: Vec<String>,
    /// Links between the clusters of the tracked region.
    pub(super) links: Vec<Match>,
    /// Mean and number of the points of the tracked region in each experiment; `None` for an
    /// experiment without points.
    pub(super) centres: Vec<Option<(Vec<f64>, usize)>>,
}

/// Evidence that links two clusters.
#[derive(Clone, Debug)]
pub(super) struct Match {
    /// Experiment and cluster of one end.
    pub(super) from: (usize, u32),
    /// Experiment and cluster of the other end.
    pub(super) to: (usize, u32),
    /// Name of the kind of link.
    pub(super) kind: &'static str,
    /// Confidence of the link.
    pub(super) confidence: f64,
    /// Combined evidence of all evaluators.
    pub(super) evidence: f64,
    /// Name and vote of each evaluator.
    pub(super) votes: Vec<(&'static str, f64)>,
}

/// Metric of every tracked region in every experiment.
#[derive(Clone, Debug)]
pub(super) struct Metric {
    /// Name of the metric.
    pub(super) name: String,
    /// Unit of the metric.
    pub(super) unit: String,
    /// Statistics by tracked region, then by experiment.
    pub(super) series: Vec<Vec<Option<Summary>>>,
}

/// Comparison of two experiments.
#[derive(Clone, Debug)]
pub(super) struct Compared {
    /// Index of the earlier experiment.
    pub(super) from: usize,
    /// Index of the later experiment.
    pub(super) to: usize,
    /// Numbers of clusters of both experiments that the matrices do not contain. These are the
    /// clusters with the least time.
    pub(super) left_out: [usize; 2],
    /// Names and values of the matrices: evidence, nearest neighbours in both directions, then the
    /// votes of each evaluator. Rows are clusters of the earlier experiment. NaN stands for no
    /// vote.
    pub(super) matrices: Vec<(&'static str, Vec<Vec<f64>>)>,
}

impl Clusters {
    /// Creates a value for one experiment that was clustered but not tracked. Its clusters take the
    /// place of tracked regions, and metrics can be [added](Self::metric).
    ///
    /// # Errors
    ///
    /// - Returns [`Error::Mismatch`] if the numbers of labels and points of the experiment differ.
    /// - Returns [`Error::Empty`] if the space has no axis.
    /// - Returns [`Error::Track`] if the points of the experiment cannot be read.
    pub fn of_experiment(
        name: impl Into<String>,
        scaled: &Scaled,
        labels: &[ClusterId],
    ) -> Result<Self> {
        let regions = vec![numbers(labels)];
        let mut found = Self::empty(vec![(name.into(), 0)], scaled, &[labels], regions)?;
        found.noun = "cluster";
        let most = labels.iter().map(|id| id.0).max().unwrap_or(0);
        // A cluster number from a file may be arbitrarily large. Numbers above the number of points
        // are ignored, because there cannot be more clusters than points.
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
            found.regions.push(shown);
        }
        Ok(found)
    }

    /// Sets the division of the CPU time of a single experiment into classes. Call this before
    /// metrics are added.
    pub fn balanced(mut self, balance: TimeBalance) -> Self {
        if let Some(experiment) = self.experiments.first_mut() {
            experiment.balance = Some(balance);
        }
        self
    }

    /// Adds a metric of the points of a single experiment, with one value for each point.
    ///
    /// The metric `duration` also sets the share of each cluster. It is a share of the CPU time if
    /// the [division](Self::balanced) of this time is known, otherwise of the time of all points.
    /// Without this metric it is a share of the number of points.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Mismatch`] if the numbers of values and points differ.
    pub fn metric(&mut self, name: &str, unit: &str, values: &[f64]) -> Result<()> {
        let regions = self
            .experiments
            .first()
            .map_or(&[][..], |experiment| &experiment.regions);
        same("values of a metric", regions.len(), values.len())?;
        let of = |id: u32| {
            let own = regions
                .iter()
                .zip(values)
                .filter(|(region, _)| **region == id);
            let own: Vec<f64> = own.map(|(_, value)| *value).collect();
            vec![Summary::of(&own)]
        };
        let series = self.regions.iter().map(|region| of(region.id)).collect();
        if name == "duration" {
            let mut times = HashMap::new();
            for (region, value) in regions.iter().zip(values) {
                *times.entry(*region).or_insert(0.0) += value.max(0.0);
            }
            let points = regions.iter().zip(values);
            let points: f64 = points.map(|(_, value)| value.max(0.0)).sum();
            let balance = self
                .experiments
                .first()
                .and_then(|experiment| experiment.balance);
            let all = balance.map_or(points, |of| of.total.time.0 as f64);
            for region in self
                .regions
                .iter_mut()
                .filter(|_| all > 0.0 && all.is_finite())
            {
                // A region without points took no time.
                let own = times.get(&region.id).copied().unwrap_or_default();
                region.share = vec![own / all];
            }
        }
        self.metrics.push(Metric {
            name: name.into(),
            unit: unit.into(),
            series,
        });
        Ok(())
    }

    /// Sets the word for a cluster or tracked region in pictures and pages. Default `cluster` for
    /// an experiment that was not tracked, `region` for tracked experiments.
    pub fn called(mut self, noun: &'static str) -> Self {
        self.noun = noun;
        self
    }

    /// Adds sentences about a tracked region or cluster, which a page shows when the region is selected: scaling
    /// models, predictions or changes. No effect if there is no such region.
    pub fn facts(mut self, region: u32, facts: impl IntoIterator<Item = String>) -> Self {
        if let Some(shown) = self.regions.iter_mut().find(|shown| shown.id == region) {
            shown.facts.extend(facts);
        }
        self
    }

    /// Sets the place of a tracked region or cluster in the program, or the name of a thread. No effect if there is no
    /// such region.
    pub fn position(mut self, region: u32, position: String) -> Self {
        if let Some(shown) = self.regions.iter_mut().find(|shown| shown.id == region) {
            shown.position = position;
        }
        self
    }

    /// Adds sentences to the begin of the section of a page: the most important results.
    pub fn lead(mut self, sentences: impl IntoIterator<Item = String>) -> Self {
        self.lead.extend(sentences);
        self
    }

    /// Returns the number of tracked regions or clusters.
    pub fn regions(&self) -> usize {
        self.regions.len()
    }

    /// Returns the number of points of all experiments.
    pub fn points(&self) -> usize {
        self.experiments
            .iter()
            .map(|experiment| experiment.regions.len())
            .sum()
    }

    pub(super) fn empty(
        names: Vec<(String, u32)>,
        scaled: &Scaled,
        labels: &[&[ClusterId]],
        regions: Vec<Vec<u32>>,
    ) -> Result<Self> {
        same("experiments of labels", names.len(), labels.len())?;
        if names.is_empty() || scaled.transform.axes().is_empty() {
            return Err(Error::Empty {
                what: "no experiment or no axis",
            });
        }
        let dimensions = scaled.transform.axes().len();
        let mut experiments = Vec::new();
        for (((name, tasks), of), regions) in
            names.into_iter().zip(&scaled.experiments).zip(regions)
        {
            let points = of.points()?;
            same("labels of points", points.len(), regions.len())?;
            same("axes of points", dimensions, points.dimensions())?;
            experiments.push(Experiment {
                name,
                tasks,
                places: points.values().to_vec(),
                regions,
                balance: None,
                timeline: None,
            });
        }
        Ok(Clusters {
            axes: scaled.transform.axes().iter().map(SpaceAxis::of).collect(),
            experiments,
            regions: Vec::new(),
            metrics: Vec::new(),
            pairs: Vec::new(),
            labels: labels.iter().map(|labels| labels.to_vec()).collect(),
            noun: "region",
            lead: Vec::new(),
            scale: "tasks".into(),
        })
    }

    /// Returns a tracked region of which only the centres are set.
    pub(super) fn shown(&self, id: u32) -> Shown {
        let dimensions = self.axes.len();
        let centre = |experiment: &Experiment| {
            let points = experiment
                .places
                .chunks_exact(dimensions)
                .zip(&experiment.regions);
            let own = points.filter(|(_, region)| **region == id);
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
            position: String::new(),
            facts: Vec::new(),
            links: Vec::new(),
            centres: self.experiments.iter().map(centre).collect(),
        }
    }

    /// Returns the range of each axis over all experiments.
    pub(super) fn ranges(&self) -> Vec<[f64; 2]> {
        let dimensions = self.axes.len();
        let of = |axis: usize| {
            let all = self
                .experiments
                .iter()
                .flat_map(|experiment| &experiment.places);
            range(all.skip(axis).step_by(dimensions).copied())
        };
        (0..dimensions).map(of).collect()
    }

    /// Returns the points, merged to about `most` cells, and the number of steps along an axis if
    /// points were merged.
    pub(super) fn cells(&self, ranges: &[[f64; 2]], most: usize) -> (Vec<Cells>, Option<usize>) {
        let clouds = self.experiments.iter().map(|experiment| Cloud {
            places: &experiment.places,
            regions: &experiment.regions,
        });
        let clouds: Vec<Cloud<'_>> = clouds.collect();
        merged_points::cells(&clouds, self.axes.len(), ranges, most)
    }

    /// Returns the number of points of an experiment that are in no cluster.
    pub(super) fn noise(&self, experiment: usize) -> usize {
        let labels = self.labels.get(experiment).map_or(&[][..], Vec::as_slice);
        labels.iter().filter(|id| id.is_noise()).count()
    }
}

pub(super) fn same(what: &'static str, expected: usize, got: usize) -> Result<()> {
    if expected == got {
        Ok(())
    } else {
        Err(Error::Mismatch {
            what,
            expected,
            got,
        })
    }
}

pub(super) fn numbers(ids: &[ClusterId]) -> Vec<u32> {
    ids.iter().map(|id| id.0).collect()
}
