//! Recordings to tracked objects: bursts, points in one space, clusters, objects, trends.

use crate::cli::{Failure, input};
use crate::frames::{Axis, Gathered, Wanted, gather, usage};
use crate::like;
use crate::progress::Bar;
use crate::table::counted;
use perfkit::core::{CancelToken, Nanos};
use perfkit::formats::paraver::clustered::Definition;
use perfkit::track::cluster::{Clusterer, Dbscan, EpsChoice, EpsSearch};
use perfkit::track::track::{Observation, Tracking, Windows, split_by_callers, windows};
use perfkit::track::trend::{Measured, Trends};
use perfkit::track::{
    Align, Bursts, ClusterId, Dimension, Error, Frame, Labels, Mode, Points, Scale, Scaled,
    ScaledFrame, drop_small_clusters,
};
use std::path::PathBuf;

/// How recordings are tracked.
#[derive(Clone, Debug)]
pub struct Options {
    /// The axes of the space; empty for IPC and instructions where the recording has them, else
    /// durations and its first counter.
    pub axes: Vec<Axis>,
    /// Parameters of the established clustering, for all that is not said otherwise.
    pub like: Option<Definition>,
    /// Radius of a neighbourhood; `None` finds one for each frame.
    pub eps: Option<f64>,
    /// Points of a dense neighbourhood, 4 if nothing is said.
    pub min_points: Option<usize>,
    /// Shorter bursts are left out, 1 ms if nothing is said.
    pub min_duration: Option<Nanos>,
    /// As published, or optimal: that as a rule, as published with `like`.
    pub mode: Option<Mode>,
    /// Cuts each recording into this many windows.
    pub windows: usize,
    /// Whether clusters that mix call sites are split where another frame tells them apart.
    pub split: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            axes: Vec::new(),
            like: None,
            eps: None,
            min_points: None,
            min_duration: None,
            mode: None,
            windows: 1,
            split: true,
        }
    }
}

impl Options {
    /// As published, or optimal.
    pub fn mode(&self) -> Mode {
        let usual = match self.like {
            Some(_) => Mode::Published,
            None => Mode::Optimal,
        };
        self.mode.unwrap_or(usual)
    }

    /// Radius of a neighbourhood, if it is known.
    pub fn eps(&self) -> Option<f64> {
        let like = self.like.as_ref().and_then(|like| like::density(like).0);
        self.eps.or(like)
    }

    /// Points of a dense neighbourhood.
    pub fn min_points(&self) -> usize {
        let like = self.like.as_ref().and_then(|like| like::density(like).1);
        self.min_points.or(like).unwrap_or(4)
    }

    /// What bursts are made of.
    pub fn wanted(&self) -> Wanted {
        let like = self.like.as_ref().map(|like| like.min_duration);
        let usual = like.unwrap_or(Nanos(1_000_000));
        Wanted {
            axes: self.axes.clone(),
            like: self.like.clone().filter(|_| self.axes.is_empty()),
            min_duration: self.min_duration.unwrap_or(usual),
            mode: self.mode(),
        }
    }

    /// The points of frames in the space of these axes.
    ///
    /// # Errors
    /// [`Failure::Usage`] for metrics that the bursts do not have.
    pub fn scale(&self, axes: &[Axis], frames: &[&Bursts]) -> Result<Scaled, Failure> {
        let mut scale = self.mode().scale(Scale::params());
        for axis in axes {
            let dimension = Dimension::new(axis.name()?).log(axis.log);
            scale = scale.dimension(dimension.factor(axis.factor));
        }
        let scale = scale.check().map_err(usage)?;
        let scaled = scale.fit_with(frames, &Bar::new(), &CancelToken::new());
        scaled.map_err(input)
    }

    /// Finds the radius of a neighbourhood among points, which take so much time.
    ///
    /// # Errors
    /// [`Failure::Input`] that says how many points there are, where they give none.
    pub fn search(
        &self,
        name: &str,
        frame: &ScaledFrame,
        time: &[f64],
    ) -> Result<EpsChoice, Failure> {
        let points = frame.points().map_err(input)?;
        let others: u64 = frame.left_out.iter().map(|amount| amount.bursts).sum();
        let search = EpsSearch::params().min_points(self.min_points());
        let search = EpsSearch::new(search.check().map_err(usage)?);
        let found = search.choose_weighted(points, time, &Bar::new(), &CancelToken::new());
        found.map_err(|error| match error {
            Error::NoScale => {
                let others = match others {
                    0 => String::new(),
                    some => {
                        format!("{some} bursts more have no finite value or logarithm of an axis; ")
                    }
                };
                Failure::Input(format!(
                    "{name}: {}, of which a neighbourhood needs {}, give no radius: too few, or \
                     nearly all at the same few places; {others}give --eps, --metrics or \
                     --min-duration",
                    counted(points.len(), "point"),
                    self.min_points()
                ))
            }
            other => input(other),
        })
    }

    /// Clusters of points with a radius, numbered by time.
    ///
    /// # Errors
    /// [`Failure::Usage`] for parameters that make no sense.
    pub fn cluster(&self, points: Points<'_>, eps: f64, time: &[f64]) -> Result<Labels, Failure> {
        let params = Dbscan::params().eps(eps).min_points(self.min_points());
        let dbscan = Dbscan::new(self.mode().dbscan(params).check().map_err(usage)?);
        let found = dbscan.cluster(points, &Bar::new(), &CancelToken::new());
        found.map_err(input)?.by_weight(time).map_err(input)
    }

    /// Aligns sequences of bursts.
    ///
    /// # Errors
    /// None: the parameters are valid.
    pub fn align(&self) -> Result<Align, Failure> {
        self.mode().align(Align::params()).check().map_err(usage)
    }
}

/// One frame, clustered.
#[derive(Debug)]
pub struct Clustered {
    /// Bursts of all kinds, and the cluster of each after splitting.
    pub frame: Frame,
    /// Which recording it is of: index into [`Series::recordings`].
    pub recording: usize,
    /// Which burst each point is.
    pub rows: Vec<u32>,
    /// The cluster of each point.
    pub labels: Vec<ClusterId>,
    /// Which clusters those past the first ones are parts of.
    pub parts: Vec<ClusterId>,
    /// Radius that was used; `None` where clusters were read.
    pub eps: Option<f64>,
    /// How a radius was found for it, where none was given.
    pub choice: Option<EpsChoice>,
}

/// A series of frames with what tracking found.
#[derive(Debug)]
pub struct Series {
    /// The recordings; their bursts are those of the frames.
    pub recordings: Vec<Gathered>,
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
    let mut wanted = options.wanted();
    let mut recordings = Vec::new();
    for path in paths {
        recordings.push(gather(path, &mut wanted)?);
    }
    let metrics: Result<Vec<String>, Failure> = wanted.axes.iter().map(Axis::name).collect();
    let mut cut = cut(&mut recordings, options)?;
    let every: Vec<&Bursts> = cut.iter().map(|cut| &cut.bursts).collect();
    let scaled = options.scale(&wanted.axes, &every)?;
    for (cut, scaled) in cut.iter_mut().zip(&scaled.frames) {
        scaled.mark_left_out(&mut cut.bursts).map_err(input)?;
    }
    let radii = radii(&cut, &scaled, options)?;
    let mut frames = Vec::new();
    for ((mut cut, scaled), (eps, choice)) in cut.into_iter().zip(&scaled.frames).zip(radii) {
        let rows = scaled.rows().to_vec();
        let time = times(&cut.bursts, scaled);
        let mut found = match (&cut.labels, eps) {
            (None, Some(eps)) => {
                let points = scaled.points().map_err(input)?;
                options.cluster(points, eps, &time)?
            }
            (labels, _) => {
                let all = labels.as_ref().map_or(&[][..], Labels::as_slice);
                let of = |row: &u32| all.get(*row as usize).copied().unwrap_or_default();
                Labels::new(rows.iter().map(of).collect())
            }
        };
        if let Some(like) = options.like.as_ref().filter(|like| like.min_share > 0.0) {
            found = drop_small(&mut cut.bursts, scaled, &found, like.min_share)?;
        }
        let all = scaled
            .spread(found.as_slice(), &cut.bursts, ClusterId::NOISE)
            .map_err(input)?;
        frames.push(Clustered {
            frame: Frame::new(cut.name, cut.bursts, Labels::new(all)).map_err(input)?,
            recording: cut.recording,
            labels: found.as_slice().to_vec(),
            rows,
            parts: Vec::new(),
            eps,
            choice,
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
        recordings,
        frames,
        scaled,
        tracking,
        trends,
        metrics: metrics?,
    })
}

/// How long the bursts last that are points.
pub fn times(bursts: &Bursts, scaled: &ScaledFrame) -> Vec<f64> {
    let durations = bursts.durations();
    let rows = scaled.rows().iter();
    rows.filter_map(|&row| durations.get(row as usize).copied())
        .collect()
}

/// Clusters of points without those that take less than a share of the time.
///
/// # Errors
/// None but that labels are not one a point.
pub fn drop_small(
    bursts: &mut Bursts,
    scaled: &ScaledFrame,
    found: &Labels,
    share: f64,
) -> Result<Labels, Failure> {
    let all = scaled.spread(found.as_slice(), bursts, ClusterId::NOISE);
    let all = Labels::new(all.map_err(input)?);
    let (kept, _) = drop_small_clusters(bursts, &all, share).map_err(input)?;
    let of = |&row: &u32| kept.as_slice().get(row as usize).copied();
    Ok(Labels::new(scaled.rows().iter().filter_map(of).collect()))
}

/// The bursts of a frame before they are points.
struct Cut {
    name: String,
    recording: usize,
    bursts: Bursts,
    labels: Option<Labels>,
}

/// Takes the bursts out of recordings, each as a frame or as several windows.
fn cut(recordings: &mut [Gathered], options: &Options) -> Result<Vec<Cut>, Failure> {
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

/// The radius of a neighbourhood in each frame, and how one was found for it.
type Radius = (Option<f64>, Option<EpsChoice>);

/// In a space that all frames share the radius is one.
fn radii(cut: &[Cut], scaled: &Scaled, options: &Options) -> Result<Vec<Radius>, Failure> {
    let mut found: Vec<Radius> = Vec::new();
    let mut failed = None;
    for (cut, scaled) in cut.iter().zip(&scaled.frames) {
        found.push(match (&cut.labels, options.eps()) {
            (Some(_), _) => (None, None),
            (None, Some(eps)) => (Some(eps), None),
            (None, None) => {
                match options.search(&cut.name, scaled, &times(&cut.bursts, scaled)) {
                    Ok(choice) => (Some(choice.eps), Some(choice)),
                    // A frame of few bursts takes the radius of the others.
                    Err(error) => {
                        failed.get_or_insert(error);
                        (Some(0.0), None)
                    }
                }
            }
        });
    }
    let choices = found.iter().filter_map(|of| of.1.as_ref());
    let shared = EpsChoice::shared(choices).filter(|_| options.mode().shares_a_space());
    if let Some(shared) = shared {
        let own = found.iter_mut().filter_map(|of| of.0.as_mut());
        own.for_each(|eps| *eps = shared);
    }
    match failed.filter(|_| found.iter().any(|of| of.0 == Some(0.0))) {
        Some(error) => Err(error),
        None => Ok(found),
    }
}

fn objects(
    frames: &mut [Clustered],
    scaled: &Scaled,
    options: &Options,
) -> Result<Tracking, Failure> {
    let (bar, cancel) = (Bar::new(), CancelToken::new());
    let align = options.align()?;
    let mut seen = Vec::new();
    for (clustered, scaled) in frames.iter().zip(&scaled.frames) {
        let points = scaled.points().map_err(input)?;
        let rows = &clustered.rows;
        let one = Observation::of(&clustered.frame, points, rows).map_err(input)?;
        let one = one.align(clustered.frame.bursts(), rows, &align, &bar, &cancel);
        seen.push(one.map_err(input)?);
    }
    if options.split && options.mode() == Mode::Optimal {
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
    let params = options.mode().track(Tracking::params());
    let params = params.check().map_err(usage)?;
    Tracking::of(&seen, &params, &bar, &cancel).map_err(input)
}
