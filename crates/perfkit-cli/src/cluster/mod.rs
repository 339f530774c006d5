//! Subcommand `cluster` with its [`Options`]: clusters the CPU bursts of a recording by their
//! metrics, and writes the trace with the cluster of each burst.

mod json;
mod picture;
mod text;

use crate::failure::{Failure, Outcome, input};
use crate::options::{General, TRACE};
use crate::output;
use crate::phases::clustering::{Input, partitions};
use crate::phases::experiments::{Axis, Gathered, gather, usage};
use crate::phases::options::ClusterArgs;
use crate::phases::recolour;
use crate::phases::series::{drop_small, times};
use crate::pictures::Files;
use crate::progress::Bar;
use clap::Args;
use perfkit::core::Nanos;
use perfkit::formats::paraver::Cluster;
use perfkit::track::cluster::{EpsChoice, RefineNode, Refinement};
use perfkit::track::tracking::CodePosition;
use perfkit::track::{
    Amount, Bursts, ClusterId, Labels, Mode, Scaled, Sequences, SpmdScorer, TimeBalance,
    time_shares,
};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Clusters the CPU bursts of a recording by their metrics
#[derive(Args, Clone, Debug)]
pub struct Options {
    #[doc = "Recording with events, or table of bursts (.DATA.csv)"]
    #[arg(value_name = "TRACE", long_help = format!("Recording with events: {TRACE}; or table of bursts (.DATA.csv)"))]
    file: PathBuf,
    #[command(flatten)]
    clustering: ClusterArgs,
    /// Instead of one radius, go from a small one up, as long as threads are not in the same clusters at the same
    /// time (aggregative cluster refinement)
    #[arg(long)]
    refine: bool,
    /// List the radii that were tried
    #[arg(long)]
    sweep: bool,
    /// Write the points as a table
    #[arg(long, value_name = "OUT", help_heading = "Output files")]
    csv: Option<PathBuf>,
    #[command(flatten)]
    files: Files,
    /// Write a Paraver trace (.prv) with the cluster of each burst
    #[arg(long, value_name = "OUT", help_heading = "Output files")]
    recolour: Option<PathBuf>,
    #[command(flatten)]
    general: General,
}

/// Reads a recording and prints the clusters of its bursts.
///
/// # Errors
/// Returns [`Failure::Usage`] if the options do not apply to the recording, and [`Failure::Input`]
/// if the recording cannot be read.
pub fn run(options: &Options, out: &mut dyn Write) -> Outcome {
    options.general.apply()?;
    if options.refine && options.clustering.has_eps() {
        return Err(Failure::Usage(
            "--refine finds the radii itself: no --eps".into(),
        ));
    }
    let found = Found::of(options)?;
    output::csv(options.csv.as_ref(), || Ok(found.table()))?;
    if !options.files.is_empty() {
        found.draw(&options.files)?;
    }
    if let Some(path) = &options.recolour {
        found.recolour(path)?;
    }
    if options.general.json {
        return output::json(out, &found.json());
    }
    writeln!(out, "{}", options.file.display())?;
    found.text(options.sweep, out)
}

/// Origin of the radius.
enum How {
    /// The radius is an option.
    Given,
    /// The radius was chosen from the distances between the points.
    Chosen(EpsChoice),
    /// The radii are those of a refinement, in their order. The second part has the nodes of the
    /// resulting tree.
    Refined(Vec<f64>, Vec<RefineNode>),
}

/// Bursts of a recording with their points and clusters.
struct Found {
    /// Bursts of the recording with their origin.
    from: Gathered,
    /// Points in the space of the axes.
    scaled: Scaled,
    /// Cluster of each burst.
    labels: Labels,
    /// Names of the axes.
    metrics: Vec<String>,
    /// Mode of the clustering: published or optimal.
    mode: Mode,
    /// Origin of the radius.
    how: How,
    /// Radius of a neighbourhood.
    eps: f64,
    /// Number of points of a dense neighbourhood.
    min_points: usize,
    /// Second radius and number of points, with which the noise of the first clustering was clustered.
    rest: Option<(f64, usize)>,
    /// Minimum duration of the bursts.
    min_duration: Nanos,
    /// `true` if the minimum duration was chosen from the bursts.
    is_chosen: bool,
    /// Division of the CPU time by class of bursts.
    balance: TimeBalance,
    /// Main position of each cluster in the program, with its share of the time of the cluster.
    positions: Vec<Option<(CodePosition, f64)>>,
    /// SPMD score of each cluster, noise first, and of the whole clustering.
    score: perfkit::track::SpmdScore,
}

impl Found {
    fn of(command: &Options) -> Result<Self, Failure> {
        let job = Bar::job();
        let options = &command.clustering.read()?;
        let mut wanted = options.wanted();
        let mut from = gather(&command.file, &mut wanted)?;
        let scaled = options.scale(&wanted.axes, &[&from.bursts])?;
        let experiment = &scaled.experiments[0];
        experiment.mark_left_out(&mut from.bursts).map_err(input)?;
        let points = experiment.points().map_err(input)?;
        let align = options.align()?;
        let times = times(&from.bursts, experiment);
        let mut min_points = options.min_points(points.len());
        let (eps, mut found, how, rest) = if command.refine {
            let mut params = Refinement::params().min_points(min_points);
            if options.mode() == Mode::Published && options.min_points.is_none() {
                let threads = from.bursts.threads().len();
                params = params.for_threads(threads);
                min_points = (threads / 4).max(2);
            }
            let scorer = SpmdScorer::new(&from.bursts, experiment.rows(), align);
            let params = options.mode().refine(params).check().map_err(usage)?;
            let refined = Refinement::new(params).run(points, &times, &scorer, &job);
            let refined = refined.map_err(input)?;
            let last = refined.eps.last().copied().unwrap_or_default();
            (
                last,
                refined.labels,
                How::Refined(refined.eps, refined.tree),
                None,
            )
        } else {
            let of = Input {
                name: &from.name,
                bursts: &from.bursts,
                // Clusters from a table are computed again.
                labels: None,
            };
            let found = partitions(&[of], &scaled, options)?.swap_remove(0);
            let how = found.choice.map_or(How::Given, How::Chosen);
            let eps = found.eps.unwrap_or_default();
            (eps, found.labels, how, found.rest)
        };
        if let Some(share) = options.min_share() {
            found = drop_small(&mut from.bursts, experiment, &found, share)?;
        }
        let labels = experiment.spread(found.as_slice(), &from.bursts, ClusterId::NOISE);
        let labels = Labels::new(labels.map_err(input)?);
        let sequences = Sequences::of(&from.bursts, &labels).map_err(input)?;
        let shares = time_shares(&from.bursts, &labels).map_err(input)?;
        let alignment = align.align(&sequences, &shares, &job);
        let score = alignment.map_err(input)?.score(&shares);
        let metrics: Result<_, Failure> = wanted.axes.iter().map(Axis::name).collect();
        let balance = TimeBalance::of(&from.bursts, &labels, |_| false).map_err(input)?;
        let positions = CodePosition::of_clusters(&from.bursts, &labels).map_err(input)?;
        Ok(Found {
            positions,
            rest,
            min_duration: wanted.min_duration.unwrap_or_default(),
            is_chosen: wanted.is_chosen,
            balance,
            from,
            scaled,
            labels,
            metrics: metrics?,
            mode: options.mode(),
            how,
            eps,
            min_points,
            score,
        })
    }

    fn bursts(&self) -> &Bursts {
        &self.from.bursts
    }

    /// Returns the values of the metrics of all axes for each burst. Durations have no column and
    /// are computed.
    fn values(&self) -> Vec<Vec<f64>> {
        let values = |name: &String| match self.bursts().column(name) {
            Ok(column) => column.values.clone(),
            Err(_) => self.bursts().durations(),
        };
        self.metrics.iter().map(values).collect()
    }

    /// Returns the number and time of the bursts of each cluster, noise first, with the means of
    /// their metrics.
    fn clusters(&self) -> Vec<(Amount, Vec<f64>)> {
        let columns = self.values();
        let none = (Amount::default(), vec![0.0; columns.len()]);
        let mut all = vec![none; self.labels.clusters() + 1];
        for row in self.bursts().complete() {
            let row = row as usize;
            let (size, sums) = &mut all[self.labels.as_slice()[row].0 as usize];
            let burst = self.bursts().rows()[row];
            size.add(Nanos(burst.end.0.saturating_sub(burst.begin.0)));
            for (sum, column) in sums.iter_mut().zip(&columns) {
                *sum += column[row];
            }
        }
        for (size, sums) in &mut all {
            sums.iter_mut()
                .for_each(|sum| *sum /= size.bursts.max(1) as f64);
        }
        all
    }

    /// Writes the trace again with the cluster of each burst, and a file with the cluster names.
    fn recolour(&self, to: &Path) -> Outcome {
        let of = |row: usize| match self.labels.as_slice().get(row) {
            Some(id) if !id.is_noise() => Cluster::Id(id.0),
            _ => Cluster::Noise,
        };
        let trace = (self.from.objects.as_slice(), self.from.clock);
        let bursts = recolour::coloured(self.bursts(), trace, of)?;
        recolour::write(&self.from, to, &bursts)
    }
}
