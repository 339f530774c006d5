//! Recordings to tracked objects: bursts, points in one space, clusters, objects, trends.

use crate::cli::{Failure, input};
use crate::progress::Bar;
use crate::recording;
use perfkit::core::{CancelToken, Nanos, Trace};
use perfkit::track::cluster::{Clusterer, Dbscan, EpsSearch};
use perfkit::track::track::{Mode, Observation, Tracking, Windows, split_by_callers, windows};
use perfkit::track::trend::{Measured, Trends};
use perfkit::track::{
    Align, Bursts, ClusterId, Dimension, Error, Extract, Formula, Frame, Labels, Scale, ScaleMode,
    Scaled,
};
use std::path::{Path, PathBuf};

/// How recordings are tracked.
#[derive(Clone, Debug)]
pub struct Options {
    /// The metrics that are the axes of the space; empty for IPC and instructions where the recording
    /// has them, else durations and its first counter.
    pub metrics: Vec<String>,
    /// Radius of a neighbourhood; `None` finds one for each frame.
    pub eps: Option<f64>,
    /// Points of a dense neighbourhood.
    pub min_points: usize,
    /// Shorter bursts are left out.
    pub min_duration: Nanos,
    /// As published, or optimal.
    pub mode: Mode,
    /// Cuts each recording into this many windows.
    pub windows: usize,
    /// Whether clusters that mix call sites are split where another frame tells them apart.
    pub split: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            metrics: Vec::new(),
            eps: None,
            min_points: 4,
            min_duration: Nanos(1_000_000),
            mode: Mode::Optimal,
            windows: 1,
            split: true,
        }
    }
}

/// One frame, clustered.
#[derive(Debug)]
pub struct Clustered {
    /// Bursts of all kinds, and the cluster of each after splitting.
    pub frame: Frame,
    /// Which burst each point is.
    pub rows: Vec<u32>,
    /// The cluster of each point.
    pub labels: Vec<ClusterId>,
    /// Which clusters those past the first ones are parts of.
    pub parts: Vec<ClusterId>,
    /// Radius that was used.
    pub eps: f64,
}

/// A series of frames with what tracking found.
#[derive(Debug)]
pub struct Series {
    /// The frames.
    pub frames: Vec<Clustered>,
    /// Their points in one space.
    pub scaled: Scaled,
    /// The objects.
    pub tracking: Tracking,
    /// How they change.
    pub trends: Trends,
    /// The axes of the space.
    pub metrics: Vec<String>,
}

/// Reads recordings and tracks them.
///
/// # Errors
/// [`Failure::Input`] for recordings, [`Failure::Usage`] for metrics that they do not have and
/// parameters that make no sense.
pub fn track(paths: &[PathBuf], options: &Options) -> Result<Series, Failure> {
    let (metrics, bursts) = read(paths, options)?;
    let (bar, cancel) = (Bar::new(), CancelToken::new());
    let mut scale = Scale::params().mode(match options.mode {
        Mode::Published => ScaleMode::PerFrame,
        _ => ScaleMode::Joint,
    });
    let named = |metric: &String| Formula::parse(metric).map(|of| of.name().to_owned());
    let ratios: Vec<bool> = metrics.iter().map(|metric| is_ratio(metric)).collect();
    let metrics: Result<Vec<String>, Error> = metrics.iter().map(named).collect();
    let metrics = metrics.map_err(usage)?;
    for (metric, is_ratio) in metrics.iter().zip(ratios) {
        scale = scale.dimension(Dimension::new(metric.as_str()).log(!is_ratio));
    }
    let every: Vec<&Bursts> = bursts.iter().map(|(_, bursts)| bursts).collect();
    let scaled = scale.check().map_err(usage)?.fit(&every).map_err(input)?;
    let names: Vec<&str> = bursts.iter().map(|(name, _)| name.as_str()).collect();
    let mut radii = radii(&names, &scaled, options)?.into_iter();
    let mut frames = Vec::new();
    for ((name, bursts), scaled) in bursts.into_iter().zip(&scaled.frames) {
        let points = scaled.points().map_err(input)?;
        let eps = radii.next().unwrap_or_default();
        let dbscan = Dbscan::params().eps(eps).min_points(options.min_points);
        let dbscan = Dbscan::new(dbscan.check().map_err(usage)?);
        let found = dbscan.cluster(points, &bar, &cancel).map_err(input)?;
        let durations = bursts.durations();
        let rows = scaled.rows().to_vec();
        let time: Vec<f64> = rows.iter().map(|&row| durations[row as usize]).collect();
        let found = found.by_weight(&time).map_err(input)?;
        let all = scaled
            .spread(found.as_slice(), &bursts, ClusterId::NOISE)
            .map_err(input)?;
        frames.push(Clustered {
            frame: Frame::new(name, bursts, Labels::new(all)).map_err(input)?,
            labels: found.as_slice().to_vec(),
            rows,
            parts: Vec::new(),
            eps,
        });
    }
    let tracking = objects(&mut frames, &scaled, options)?;
    let measured = frames.iter().map(|clustered| {
        let bursts = clustered.frame.bursts();
        Measured::of(bursts, &clustered.rows, &clustered.labels)
    });
    let measured = measured.collect::<Result<Vec<_>, _>>().map_err(input)?;
    let trends = Trends::of(&tracking, measured).map_err(input)?;
    Ok(Series {
        frames,
        scaled,
        tracking,
        trends,
        metrics,
    })
}

/// The radius of a neighbourhood in each frame: in a space that all share it is one, the largest of
/// those found, since where bursts are few a smaller one takes phases apart.
fn radii(names: &[&str], scaled: &Scaled, options: &Options) -> Result<Vec<f64>, Failure> {
    if let Some(eps) = options.eps {
        return Ok(vec![eps; names.len()]);
    }
    let search = EpsSearch::params().min_points(options.min_points);
    let search = EpsSearch::new(search.check().map_err(usage)?);
    let mut found = Vec::new();
    for (name, scaled) in names.iter().zip(&scaled.frames) {
        let points = scaled.points().map_err(input)?;
        let choice = search.choose(points, &Bar::new(), &CancelToken::new());
        let failed = |error| Failure::Input(format!("{name}: {error}; give --eps"));
        found.push(choice.map_err(failed)?.eps);
    }
    if options.mode == Mode::Optimal {
        let largest = found.iter().copied().fold(0.0, f64::max);
        found.fill(largest);
    }
    Ok(found)
}

fn objects(
    frames: &mut [Clustered],
    scaled: &Scaled,
    options: &Options,
) -> Result<Tracking, Failure> {
    let (bar, cancel) = (Bar::new(), CancelToken::new());
    let align = Align::params().check().map_err(usage)?;
    let mut seen = Vec::new();
    for (clustered, scaled) in frames.iter().zip(&scaled.frames) {
        let points = scaled.points().map_err(input)?;
        let rows = &clustered.rows;
        let one = Observation::of(&clustered.frame, points, rows).map_err(input)?;
        let one = one.align(clustered.frame.bursts(), rows, &align, &bar, &cancel);
        seen.push(one.map_err(input)?);
    }
    if options.split && options.mode == Mode::Optimal {
        let parts = split_by_callers(&seen).map_err(input)?;
        let mut split = Vec::new();
        for (one, parts) in seen.into_iter().zip(&parts) {
            split.push(one.with_labels(&parts.labels).map_err(input)?);
        }
        seen = split;
        for ((clustered, parts), scaled) in frames.iter_mut().zip(parts).zip(&scaled.frames) {
            let bursts = clustered.frame.bursts().clone();
            let labels = parts.labels.as_slice();
            let all = scaled
                .spread(labels, &bursts, ClusterId::NOISE)
                .map_err(input)?;
            let name = clustered.frame.name().to_owned();
            clustered.labels = labels.to_vec();
            clustered.parts = parts.of;
            clustered.frame = Frame::new(name, bursts, Labels::new(all)).map_err(input)?;
        }
    }
    let params = Tracking::params()
        .mode(options.mode)
        .check()
        .map_err(usage)?;
    Tracking::of(&seen, &params, &bar, &cancel).map_err(input)
}

/// The bursts of a frame, and its name.
type Named = (String, Bursts);

/// The axes, and the bursts of each frame.
fn read(paths: &[PathBuf], options: &Options) -> Result<(Vec<String>, Vec<Named>), Failure> {
    let mut metrics = options.metrics.clone();
    let mut frames = Vec::new();
    for path in paths {
        let recording = recording::open(path)?;
        let trace = &recording.trace;
        if metrics.is_empty() {
            metrics = usual(trace)?;
        }
        let bursts = extract(trace, &metrics, options)?;
        let name = name(path);
        if options.windows == 1 {
            frames.push((name, bursts));
            continue;
        }
        let cut = windows(&bursts, Windows::Count(options.windows)).map_err(usage)?;
        for (index, (bursts, _)) in cut.into_iter().enumerate() {
            frames.push((format!("{name} {}/{}", index + 1, options.windows), bursts));
        }
    }
    Ok((metrics, frames))
}

/// IPC and instructions where the recording has them, else durations and its first counter.
///
/// # Errors
/// None but that nothing can be extracted at all.
pub fn usual(trace: &Trace) -> Result<Vec<String>, Failure> {
    let known = ["ipc", "instructions"].map(String::from).to_vec();
    if extract(trace, &known, &Options::default()).is_ok() {
        return Ok(known);
    }
    let mut metrics = vec!["duration".to_owned()];
    let counter = trace.definitions().metrics.first();
    // Names of counters are any text, those of formulas are words or stand in quotes.
    metrics.extend(counter.map(|metric| format!("\"{}\"", metric.name.replace('"', ""))));
    Ok(metrics)
}

fn extract(trace: &Trace, metrics: &[String], options: &Options) -> Result<Bursts, Failure> {
    let mut params = Extract::params()
        .min_duration(options.min_duration)
        .all_counters(true);
    for metric in metrics {
        params = params.metric(metric.as_str());
    }
    let extract = params.check().map_err(usage)?;
    let found = extract.extract(trace.view(), &Bar::new(), &CancelToken::new());
    found
        .map(|(bursts, _)| bursts)
        .map_err(|error| match error {
            Error::UnknownMetric { .. } => usage(error),
            other => input(other),
        })
}

/// Whether a metric is a ratio, which stays as it is; all else spans orders of magnitude.
pub fn is_ratio(metric: &str) -> bool {
    metric.eq_ignore_ascii_case("ipc") || metric.contains('/')
}

/// The name of a file or folder without its extension; of an anchor file that of its folder.
fn name(path: &Path) -> String {
    let is_anchor = path
        .extension()
        .is_some_and(|extension| extension == "otf2");
    let named = match path.parent().and_then(Path::file_name) {
        Some(folder) if is_anchor => Some(folder),
        _ => path.file_name(),
    };
    let text = named.map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let end = text.find(".prv").unwrap_or(text.len());
    text[..end].to_owned()
}

fn usage(error: Error) -> Failure {
    Failure::Usage(error.to_string())
}
