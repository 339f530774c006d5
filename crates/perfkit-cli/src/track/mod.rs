//! Subcommand `track`: tracks the clusters of CPU bursts through several experiments, prints them,
//! and returns their pictures, page sections and changes for the worse for other commands.

mod experiment_text;
mod json;
mod method;
mod predictions;
mod region_text;
mod region_times;
mod scaling_limits;
mod split_parts;
mod versions;

pub(crate) use predictions::{TOO_WIDE, range};
pub(crate) use region_text::scale_text;

use crate::failure::{self, Failure, Outcome};
use crate::messages;
use crate::options::{General, TRACE};
use crate::output;
use crate::phases::options::ClusterArgs;
use crate::phases::recolour;
use crate::phases::series::{self, ClusterOptions, Series};
use crate::pictures::{self, Files};
use crate::progress::Bar;
use crate::table;
use clap::Args;
use perfkit::formats::paraver::Cluster;
use perfkit::track::tracking::{TrackedRegion, TrackedRegionId};
use perfkit::track::trend::{Counters, Expect, Flag, TimeChange};
use perfkit::view::track::{Clusters, Picture, View};
use perfkit::view::{Section, Theme};
use std::io::Write;
use std::path::PathBuf;

/// Confidence level of the intervals of scaling models.
const LEVEL: f64 = 0.95;

/// Clusters the CPU bursts of several recordings, and tracks the clusters from one to the next
#[derive(Args, Clone, Debug)]
pub struct Options {
    #[doc = "Recordings with events, by number of threads; of equal numbers in the order of the arguments"]
    #[arg(required = true, value_name = "TRACE", long_help = format!(
        "Recordings with events: {TRACE}. If all numbers of threads differ, the recordings are ordered by them; otherwise the \
        order of the arguments counts. Also tables of bursts with their clusters (.DATA.csv of the \
        BSC clustering suite), which are not clustered"
    ))]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    clustering: ClusterArgs,
    /// Divide each recording into N windows of time, 1 or more
    #[arg(long, value_name = "N", default_value_t = 1)]
    windows: usize,
    /// Do not split clusters whose call sites another experiment separates
    #[arg(long)]
    whole: bool,
    /// Confidence, 0 to 1, below which a tracked region is listed without its trend [default: 0.5]
    #[arg(long, value_name = "C", allow_negative_numbers = true)]
    min_confidence: Option<f64>,
    #[command(flatten)]
    method: method::MethodArgs,
    #[command(flatten)]
    versions: versions::VersionArgs,
    /// Tracked regions to list
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
    /// Write every metric of every tracked region and experiment as a table
    #[arg(long, value_name = "OUT", help_heading = "Output files")]
    csv: Option<PathBuf>,
    #[command(flatten)]
    files: Files,
    /// Write the Paraver traces into this folder, with the tracked region of each burst
    #[arg(long, value_name = "DIR", help_heading = "Output files")]
    recolour: Option<PathBuf>,
    #[command(flatten)]
    general: General,
}

impl Options {
    fn clustering(&self) -> Result<ClusterOptions, Failure> {
        let clustering = self.clustering.read()?;
        Ok(ClusterOptions {
            windows: self.windows,
            split: !self.whole,
            min_confidence: self.min_confidence,
            comparison: self.method.read(clustering.mode())?,
            ..clustering
        })
    }
}

/// Tracks the clusters of recordings and prints the tracked regions.
///
/// # Errors
/// Returns [`Failure::Usage`] if the options do not apply to the recording, and [`Failure::Input`]
/// if the recording cannot be read.
pub fn run(options: &Options, out: &mut dyn Write) -> Outcome {
    options.general.apply()?;
    let clustering = options.clustering()?;
    let versions = options
        .versions
        .read(options.paths.len(), options.windows)?;
    if options.recolour.is_some() {
        different_names(&options.paths)?;
    }
    let series = series::track(&options.paths, &clustering)?;
    if series.experiments.len() == 1 {
        messages::say(
            "note: one experiment has nothing to be tracked to: name several recordings, or --windows N",
        );
    }
    let failed = |path: &PathBuf| {
        let path = path.display().to_string();
        move |error: std::io::Error| Failure::Input(format!("{path}: {error}"))
    };
    if let Some(path) = &options.csv {
        let mut table = Vec::new();
        let trends = series.trends.table();
        trends.write_csv(&mut table).map_err(failed(path))?;
        std::fs::write(path, table).map_err(failed(path))?;
    }
    if !options.files.is_empty() {
        let found = drawn(&series, &clustering)?;
        let title = title(&series);
        let scene = || Ok(picture(&found, &title, Theme::light()).scene());
        let sections = || Ok(vec![section(&found, &title)?]);
        // Only SVG can show the animation.
        if let Some(path) = &options.files.svg {
            let moving = picture(&found, &title, Theme::light()).moving(true);
            pictures::svg(path, &moving.scene())?;
        }
        let still = Files {
            svg: None,
            ..options.files.clone()
        };
        still.write(&title, scene, sections)?;
    }
    if let Some(folder) = &options.recolour {
        recolour(&series, folder)?;
    }
    let report = Report {
        versions: versions.map(|of| of.compare(&series)).transpose()?,
        ..Report::of(&series, &clustering)?
    };
    if options.general.json {
        output::json(out, &report.json(clustering.mode())?)?;
    } else {
        report.text(options.top, out)?;
    }
    report.versions.map_or(Ok(()), versions::Compared::outcome)
}

/// Returns the title of pictures and pages.
fn title(series: &Series) -> String {
    let names = series.experiments.iter().map(|of| of.experiment.name());
    let names: Vec<&str> = names.collect();
    let count = series.tracking.regions.len();
    let regions = table::counted(count, "tracked region");
    match names.as_slice() {
        [first, .., last] => format!("{regions} from {first} to {last}"),
        _ => format!("{regions} in {}", names.join(", ")),
    }
}

/// Returns the tracked regions for drawing.
///
/// # Errors
/// Returns [`Failure::Usage`] if the options do not apply to the recording, and [`Failure::Input`]
/// if the recording cannot be read.
pub fn found(options: &Options) -> Result<Clusters, Failure> {
    let clustering = options.clustering()?;
    drawn(&series::track(&options.paths, &clustering)?, &clustering)
}

/// Returns the tracked regions for drawing, with their scaling models and flagged changes.
///
/// # Errors
/// Returns [`Failure::Input`] if metrics cannot be compared.
pub(crate) fn drawn(series: &Series, clustering: &ClusterOptions) -> Result<Clusters, Failure> {
    Report::of(series, clustering)?.facts(pictures::series(series)?)
}

/// Returns the picture of the experiments and trends.
pub fn picture<'a>(found: &'a Clusters, title: &str, theme: Theme) -> Picture<'a> {
    Picture::new(found).titled(title).theme(theme)
}

/// Returns the tracked regions as a section of a page.
///
/// # Errors
/// Returns [`Failure::Input`] if drawing fails.
pub fn section(found: &Clusters, title: &str) -> Result<Section, Failure> {
    let view = View::new(found).named(title, "phases");
    let section = view.section(&Bar::job());
    section.map_err(pictures::failed)
}

/// Returns the changes of metrics by which tracked regions become worse by more than 5 %.
///
/// # Errors
/// Returns [`Failure::Input`] if metrics cannot be compared.
pub(crate) fn flags(series: &Series, clustering: &ClusterOptions) -> Result<Vec<Flag>, Failure> {
    Ok(Report::of(series, clustering)?.flags)
}

/// Returns an error if two recordings have the same file name, because their copies would have it too.
fn different_names(paths: &[PathBuf]) -> Outcome {
    for (at, path) in paths.iter().enumerate() {
        let mut earlier = paths[..at].iter();
        if let Some(name) = path.file_name()
            && earlier.any(|other| other.file_name() == Some(name))
        {
            return Err(Failure::Usage(format!(
                "--recolour: two recordings are called {}",
                name.to_string_lossy()
            )));
        }
    }
    Ok(())
}

/// Writes the trace of each recording with the tracked region of each burst.
fn recolour(series: &Series, folder: &std::path::Path) -> Outcome {
    let failed = |error| Failure::Input(format!("{}: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(failed)?;
    for (number, recording) in series.recordings.iter().enumerate() {
        let mut bursts = Vec::new();
        for (at, clustered) in series.experiments.iter().enumerate() {
            if clustered.recording != number {
                continue;
            }
            let colours = series.tracking.colours(at).map_err(failure::input)?;
            let filtered = series.tracking.regions.iter().filter(|of| of.is_filtered);
            let small: Vec<_> = filtered.flat_map(|of| of.members[at].clone()).collect();
            let labels = clustered.experiment.labels().as_slice();
            let of = |row: usize| {
                let label = labels[row];
                match colours.get(label.0 as usize).copied().flatten() {
                    Some(region) => Cluster::Id(region.0),
                    None if small.contains(&label) => Cluster::ThresholdFiltered,
                    None => Cluster::Noise,
                }
            };
            let trace = (recording.objects.as_slice(), recording.clock);
            bursts.extend(recolour::coloured(
                clustered.experiment.bursts(),
                trace,
                of,
            )?);
        }
        let name = recording.path.file_name().unwrap_or_default();
        let to = folder.join(name);
        recolour::write(recording, &to, &bursts)?;
    }
    Ok(())
}

/// Results of a series for output.
struct Report<'s> {
    /// Series with its tracked regions.
    series: &'s Series,
    /// Metric that measures the work, and the counters that divide changes of time into factors. `None`
    /// if there is no such metric.
    counters: Option<(String, Counters)>,
    /// Flagged changes of tracked regions.
    flags: Vec<Flag>,
    /// Changes between two versions; `None` without the option.
    versions: Option<versions::Compared>,
    /// Confidence below which no trend of a tracked region is reported.
    min_confidence: f64,
}

impl<'s> Report<'s> {
    fn of(series: &'s Series, clustering: &ClusterOptions) -> Result<Self, Failure> {
        let has = |name: &str| {
            series
                .trends
                .metrics()
                .iter()
                .any(|metric| metric.name == name)
        };
        let work = if has("instructions") && has("ipc") {
            let counters = Counters::with_ipc("duration", "instructions", "ipc");
            Some(("instructions".to_owned(), counters))
        } else {
            // Any other counter measures the work. It has a rate in place of IPC and no frequency.
            let work = series
                .metrics
                .iter()
                .find(|name| *name != "duration" && !name.contains('/'));
            work.map(|work| {
                (
                    work.clone(),
                    Counters::with_cycles("duration", work, "duration"),
                )
            })
        };
        let mut expected = vec![Expect::divided("duration")];
        if let Some((work, _)) = &work {
            expected.push(Expect::divided(work));
        }
        if has("ipc") {
            expected.push(Expect::higher("ipc"));
        }
        let flags = series.trends.flags(&expected, 0.05);
        Ok(Report {
            series,
            counters: work,
            flags: flags.map_err(failure::input)?,
            versions: None,
            min_confidence: clustering.tracking()?.min_confidence(),
        })
    }

    fn is_reliable(&self, region: TrackedRegionId) -> bool {
        let found = self.series.tracking.region(region);
        found.is_some_and(|region| region.is_reliable)
    }

    fn change(&self, region: &TrackedRegion, from: usize, to: usize) -> Option<TimeChange> {
        let (_, counters) = self.counters.as_ref()?;
        self.series
            .trends
            .change(region.id, from, to, counters)
            .ok()
            .flatten()
    }

    /// Returns the pairs of experiments that contain a tracked region, without experiments in between
    /// that contain it.
    fn steps(region: &TrackedRegion) -> Vec<(usize, usize)> {
        let seen = region
            .members
            .iter()
            .enumerate()
            .filter(|(_, m)| !m.is_empty());
        let seen: Vec<usize> = seen.map(|(experiment, _)| experiment).collect();
        seen.windows(2).map(|pair| (pair[0], pair[1])).collect()
    }

    fn name(&self, experiment: usize) -> &str {
        self.series
            .experiments
            .get(experiment)
            .map_or("", |experiment| experiment.experiment.name())
    }
}

fn ids(ids: &[perfkit::track::ClusterId]) -> String {
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    ids.join("+")
}

fn percent(share: f64) -> String {
    let share = if share.is_finite() { share } else { 0.0 };
    format!("{:.1} %", 100.0 * share)
}
