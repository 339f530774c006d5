//! [`track`]: reads a series of recordings, clusters their bursts, and tracks the clusters to a
//! [`Series`] with trends, by [`ClusterOptions`].

use crate::failure::{Failure, input};
use crate::options::Window;
use crate::phases::burst_tables;
use crate::phases::clustering::{Input, Partition, partitions};
use crate::phases::experiments::{Axis, Gathered, Wanted, gather_all, gather_opened, usage};
use crate::progress::Bar;
use crate::recording::{Recording, order_by_threads};
use perfkit::core::{Nanos, Unify};
use perfkit::formats::paraver::clustered::Definition;
use perfkit::track::cluster::Dbscan;
use perfkit::track::tracking::{
    Callers, Observation, Threshold, TrackChecked, TrackParams, Tracking, Windows,
    regroup_by_position, windows,
};
use perfkit::track::trend::{Measured, Trends};
use perfkit::track::{
    Align, Bursts, ClusterId, Dimension, Experiment, Labels, Mode, Scale, Scaled, ScaledExperiment,
    drop_small_clusters,
};
use std::path::{Path, PathBuf};

/// Parameters of clustering and tracking.
#[derive(Clone, Debug)]
pub struct ClusterOptions {
    /// Axes of the space. If the list is empty, the axes are IPC and instructions if the recording
    /// has both, otherwise duration and the first counter of the recording.
    pub axes: Vec<Axis>,
    /// Definition of the BSC clustering suite, used for all parameters without an option.
    pub like: Option<Definition>,
    /// Radius of a neighbourhood; `None` chooses one for each experiment.
    pub eps: Option<f64>,
    /// Number of points of a dense neighbourhood; `None` chooses it by the number of points.
    pub min_points: Option<usize>,
    /// Minimum duration of bursts; `None` for the largest minimum that drops at most 1 % of the CPU
    /// time.
    pub min_duration: Option<Nanos>,
    /// Share of the clustered time, in `0.0..=1.0`, below which clusters are dropped; `None` for that of `like`,
    /// or 0.
    pub min_share: Option<f64>,
    /// Mode of the clustering; `None` for published with `like` and for optimal without.
    pub mode: Option<Mode>,
    /// Rule that decides which regions are one function.
    pub unify: Unify,
    /// Window that bursts must lie in.
    pub window: Window,
    /// Number of windows into which each recording is divided, default 1.
    pub windows: usize,
    /// `true` if clusters that mix call sites are split when an experiment separates the call sites;
    /// only in the optimal mode.
    pub split: bool,
    /// Confidence below which no trend is reported for a tracked region; `None` for the default of
    /// [`Tracking::params`].
    pub min_confidence: Option<f64>,
    /// Parameters of the comparison of clusters.
    pub comparison: Comparison,
}

/// Parameters of the comparison of clusters of two experiments; `None` for the default of the mode.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// `true` if bursts are classified by distance.
    pub distance: Option<bool>,
    /// `true` if callers are compared.
    pub callers: Option<bool>,
    /// `true` if numbers of bursts are compared.
    pub density: Option<bool>,
    /// `true` if alignments are used.
    pub sequences: Option<bool>,
    /// Level of callers, 1 for the innermost; `None` for whole chains.
    pub caller_level: Option<usize>,
    /// Links that count in the published mode.
    pub threshold: Option<Threshold>,
    /// Smallest SPMD score for which an alignment is used in the published mode.
    pub min_score: Option<f64>,
}

impl Comparison {
    fn set(&self, mut params: TrackParams) -> TrackParams {
        if let Some(yes) = self.distance {
            params = params.use_distance(yes);
        }
        if let Some(yes) = self.callers {
            params = params.use_callers(yes);
        }
        if let Some(yes) = self.density {
            params = params.use_density(yes);
        }
        if let Some(yes) = self.sequences {
            params = params.use_sequences(yes);
        }
        if let Some(threshold) = self.threshold {
            params = params.threshold(threshold);
        }
        if let Some(score) = self.min_score {
            params = params.min_score(score);
        }
        params
    }
}

impl Default for ClusterOptions {
    fn default() -> Self {
        ClusterOptions {
            axes: Vec::new(),
            like: None,
            eps: None,
            min_points: None,
            min_duration: None,
            min_share: None,
            mode: None,
            unify: Unify::default(),
            window: Window::default(),
            windows: 1,
            split: true,
            min_confidence: None,
            comparison: Comparison::default(),
        }
    }
}

impl ClusterOptions {
    /// Returns the mode of the clustering.
    pub fn mode(&self) -> Mode {
        let usual = match self.like {
            Some(_) => Mode::Published,
            None => Mode::Optimal,
        };
        self.mode.unwrap_or(usual)
    }

    /// Returns the radius of a neighbourhood, if it is an option or part of the definition.
    pub fn eps(&self) -> Option<f64> {
        let like = self
            .like
            .as_ref()
            .and_then(|like| burst_tables::density(like).0);
        self.eps.or(like)
    }

    /// Returns the number of points of a dense neighbourhood among `points` points.
    pub fn min_points(&self, points: usize) -> usize {
        let like = self
            .like
            .as_ref()
            .and_then(|like| burst_tables::density(like).1);
        let usual = match self.mode() {
            Mode::Published => 4,
            _ => Dbscan::min_points_for(points),
        };
        self.min_points.or(like).unwrap_or(usual)
    }

    /// Returns the share of the clustered time below which clusters are dropped; `None` if all are kept.
    pub fn min_share(&self) -> Option<f64> {
        let like = self.like.as_ref().map(|like| like.min_share);
        self.min_share.or(like).filter(|share| *share > 0.0)
    }

    /// Returns the parameters of the extraction of bursts.
    pub fn wanted(&self) -> Wanted {
        let like = self.like.as_ref().map(|like| like.min_duration);
        Wanted {
            axes: self.axes.clone(),
            like: self.like.clone().filter(|_| self.axes.is_empty()),
            min_duration: self.min_duration.or(like),
            mode: self.mode(),
            unify: self.unify,
            window: self.window,
            is_chosen: false,
        }
    }

    /// Returns the points of experiments in the space of the axes.
    ///
    /// # Errors
    /// Returns [`Failure::Usage`] if the bursts do not have a metric.
    pub fn scale(&self, axes: &[Axis], experiments: &[&Bursts]) -> Result<Scaled, Failure> {
        let mut scale = self.mode().scale(Scale::params());
        for axis in axes {
            let dimension = Dimension::new(axis.name()?).log(axis.log);
            scale = scale.dimension(dimension.factor(axis.factor));
        }
        let scale = scale.check().map_err(usage)?;
        let scaled = scale.fit(experiments, &Bar::job());
        scaled.map_err(input)
    }

    /// Returns the parameters of tracking.
    ///
    /// # Errors
    /// Returns [`Failure::Usage`] for a confidence out of range.
    pub fn tracking(&self) -> Result<TrackChecked, Failure> {
        let mut params = self.comparison.set(self.mode().track(Tracking::params()));
        if let Some(least) = self.min_confidence {
            params = params.min_confidence(least);
        }
        params.check().map_err(usage)
    }

    /// Creates the alignment of sequences of bursts.
    ///
    /// # Errors
    /// Returns no error at present, because the parameters are valid.
    pub fn align(&self) -> Result<Align, Failure> {
        self.mode().align(Align::params()).check().map_err(usage)
    }
}

/// Experiment with its clusters.
#[derive(Debug)]
pub struct Clustered {
    /// Bursts of all kinds with the cluster of each burst after splitting.
    pub experiment: Experiment,
    /// Index of the recording in [`Series::recordings`].
    pub recording: usize,
    /// Index of the burst of each point.
    pub rows: Vec<u32>,
    /// Cluster of each point.
    pub labels: Vec<ClusterId>,
    /// Original cluster of each cluster that was created by splitting.
    pub parts: Vec<ClusterId>,
    /// Points that were noise and joined the cluster of their program position.
    pub rescued: Vec<u32>,
    /// Points that moved to the cluster of their program position.
    pub moved: Vec<u32>,
    /// Clusters of the points before splitting.
    pub partition: Partition,
}

/// Series of experiments with the results of tracking.
#[derive(Debug)]
pub struct Series {
    /// Recordings without their bursts, which have been moved to the experiments.
    pub recordings: Vec<Gathered>,
    /// Experiments in their order.
    pub experiments: Vec<Clustered>,
    /// Points of all experiments in one space.
    pub scaled: Scaled,
    /// Tracked regions.
    pub tracking: Tracking,
    /// Trends of the tracked regions.
    pub trends: Trends,
    /// Names of the axes.
    pub metrics: Vec<String>,
    /// Minimum duration of the bursts.
    pub min_duration: Nanos,
    /// `true` if the minimum duration was chosen from the bursts.
    pub is_chosen: bool,
}

/// Reads recordings and tracks them.
///
/// # Errors
/// Returns [`Failure::Input`] if a recording cannot be read, and [`Failure::Usage`] if a recording
/// does not have a metric or a parameter is out of range.
pub fn track(paths: &[PathBuf], options: &ClusterOptions) -> Result<Series, Failure> {
    let mut wanted = options.wanted();
    let recordings = gather_all(paths, &mut wanted)?;
    track_bursts(recordings, &wanted, options)
}

/// Tracks opened recordings, each with its path.
///
/// # Errors
/// Returns the errors of [`track`].
pub fn track_opened(
    opened: &[(&Path, &Recording)],
    options: &ClusterOptions,
) -> Result<Series, Failure> {
    let mut wanted = options.wanted();
    let recordings = gather_opened(opened, &mut wanted)?;
    track_bursts(recordings, &wanted, options)
}

fn track_bursts(
    mut recordings: Vec<Gathered>,
    wanted: &Wanted,
    options: &ClusterOptions,
) -> Result<Series, Failure> {
    order_by_threads(&mut recordings, |one| one.bursts.threads().len());
    let metrics: Result<Vec<String>, Failure> = wanted.axes.iter().map(Axis::name).collect();
    let mut cut = cut(&mut recordings, options)?;
    let every: Vec<&Bursts> = cut.iter().map(|cut| &cut.bursts).collect();
    let scaled = options.scale(&wanted.axes, &every)?;
    for (cut, scaled) in cut.iter_mut().zip(&scaled.experiments) {
        scaled.mark_left_out(&mut cut.bursts).map_err(input)?;
    }
    let inputs = cut.iter().map(|cut| Input {
        name: &cut.name,
        bursts: &cut.bursts,
        labels: cut.labels.as_ref(),
    });
    let found = partitions(&inputs.collect::<Vec<_>>(), &scaled, options)?;
    let mut experiments = Vec::new();
    for ((mut cut, scaled), partition) in cut.into_iter().zip(&scaled.experiments).zip(found) {
        let rows = scaled.rows().to_vec();
        let mut found = partition.labels.clone();
        if let Some(share) = options.min_share() {
            found = drop_small(&mut cut.bursts, scaled, &found, share)?;
        }
        let all = scaled
            .spread(found.as_slice(), &cut.bursts, ClusterId::NOISE)
            .map_err(input)?;
        experiments.push(Clustered {
            experiment: Experiment::new(cut.name, cut.bursts, Labels::new(all)).map_err(input)?,
            recording: cut.recording,
            labels: found.as_slice().to_vec(),
            rows,
            parts: Vec::new(),
            rescued: Vec::new(),
            moved: Vec::new(),
            partition,
        });
    }
    let tracking = regions(&mut experiments, &scaled, options)?;
    let measured = experiments.iter().map(|clustered| {
        let bursts = clustered.experiment.bursts();
        Measured::of(bursts, &clustered.rows, &clustered.labels)
    });
    let measured = measured.collect::<Result<Vec<_>, _>>().map_err(input)?;
    let has_threads = |of: &Clustered| of.experiment.threads() > of.experiment.tasks();
    let trends = Trends::of(&tracking, measured).map_err(input)?;
    let is_threaded = experiments.iter().any(has_threads);
    let trends =
        trends
            .shares_loops(is_threaded)
            .scale_name(if is_threaded { "threads" } else { "tasks" });
    Ok(Series {
        recordings,
        experiments,
        scaled,
        tracking,
        trends,
        metrics: metrics?,
        min_duration: wanted.min_duration.unwrap_or_default(),
        is_chosen: wanted.is_chosen,
    })
}

/// Returns the durations of the bursts that are points.
pub fn times(bursts: &Bursts, scaled: &ScaledExperiment) -> Vec<f64> {
    let durations = bursts.durations();
    let rows = scaled.rows().iter();
    rows.filter_map(|&row| durations.get(row as usize).copied())
        .collect()
}

/// Returns the clusters of points, with clusters below a share of the time changed to noise.
///
/// # Errors
/// Returns [`Failure`] if the number of labels differs from the number of points.
pub fn drop_small(
    bursts: &mut Bursts,
    scaled: &ScaledExperiment,
    found: &Labels,
    share: f64,
) -> Result<Labels, Failure> {
    let all = scaled.spread(found.as_slice(), bursts, ClusterId::NOISE);
    let all = Labels::new(all.map_err(input)?);
    let (kept, _) = drop_small_clusters(bursts, &all, share).map_err(input)?;
    let of = |&row: &u32| kept.as_slice().get(row as usize).copied();
    Ok(Labels::new(scaled.rows().iter().filter_map(of).collect()))
}

/// Bursts of an experiment before clustering.
struct Cut {
    /// Name of the experiment.
    name: String,
    /// Index of the recording.
    recording: usize,
    /// Bursts of all kinds.
    bursts: Bursts,
    /// Cluster of each burst, if the file contains it.
    labels: Option<Labels>,
}

/// Moves the bursts out of recordings. Each recording becomes one experiment or several windows.
fn cut(recordings: &mut [Gathered], options: &ClusterOptions) -> Result<Vec<Cut>, Failure> {
    let mut all = Vec::new();
    for (recording, of) in recordings.iter_mut().enumerate() {
        let (bursts, labels) = (std::mem::take(&mut of.bursts), of.labels.take());
        if options.windows == 1 {
            all.push(Cut {
                name: of.name.clone(),
                recording,
                bursts,
                labels,
            });
            continue;
        }
        let cut = windows(&bursts, Windows::Count(options.windows)).map_err(usage)?;
        for (index, (bursts, rows)) in cut.into_iter().enumerate() {
            let labels = labels.as_ref().map(|labels| {
                let of = |row: &u32| labels.as_slice().get(*row as usize).copied();
                Labels::new(rows.iter().filter_map(of).collect())
            });
            all.push(Cut {
                name: format!("{} {}/{}", of.name, index + 1, options.windows),
                recording,
                bursts,
                labels,
            });
        }
    }
    Ok(all)
}

fn regions(
    experiments: &mut [Clustered],
    scaled: &Scaled,
    options: &ClusterOptions,
) -> Result<Tracking, Failure> {
    let job = Bar::job();
    let align = options.align()?;
    let mut seen = Vec::new();
    for (clustered, scaled) in experiments.iter().zip(&scaled.experiments) {
        let points = scaled.points().map_err(input)?;
        let rows = &clustered.rows;
        let one = Observation::of(&clustered.experiment, points, rows).map_err(input)?;
        let mut one = one.part_of(clustered.recording);
        if let Some(level) = options.comparison.caller_level {
            let callers =
                Callers::level(clustered.experiment.bursts(), rows, level).map_err(usage)?;
            one = one.with_callers(callers, None).map_err(input)?;
        }
        let one = one.align(clustered.experiment.bursts(), rows, &align, &job);
        seen.push(one.map_err(input)?);
    }
    if options.split && options.mode() == Mode::Optimal {
        let parts = regroup_by_position(&seen).map_err(input)?;
        let mut split = Vec::new();
        for (one, parts) in seen.into_iter().zip(&parts) {
            split.push(one.with_parts(parts).map_err(input)?);
        }
        seen = split;
        for ((clustered, parts), scaled) in
            experiments.iter_mut().zip(parts).zip(&scaled.experiments)
        {
            let bursts = clustered.experiment.bursts().clone();
            let labels = parts.labels.as_slice();
            let all = scaled
                .spread(labels, &bursts, ClusterId::NOISE)
                .map_err(input)?;
            let name = clustered.experiment.name().to_owned();
            clustered.labels = labels.to_vec();
            clustered.parts = parts.of;
            (clustered.rescued, clustered.moved) = (parts.rescued, parts.moved);
            clustered.experiment =
                Experiment::new(name, bursts, Labels::new(all)).map_err(input)?;
        }
    }
    let params = options.tracking()?;
    Tracking::of(&seen, &params, &job).map_err(input)
}
