//! Which CPU bursts of a recording behave alike?
//!
//! `cargo run --release --example cluster -- data/recordings/jacobi-16 --min-duration 100us`

#[path = "cluster/json.rs"]
mod json;
#[path = "cluster/picture.rs"]
mod picture;
#[path = "cluster/text.rs"]
mod text;

use perfkit::core::Nanos;
use perfkit::formats::paraver::Cluster;
use perfkit::track::cluster::{EpsChoice, RefineNode, Refinement};
use perfkit::track::{
    Amount, Bursts, ClusterId, Labels, Mode, Scaled, Sequences, SpmdScorer, TimeBalance,
    time_shares,
};
use perfkit_examples::cli::{self, Failure, Outcome, input};
use perfkit_examples::drawn::Files;
use perfkit_examples::frames::{Axis, Gathered, gather, usage};
use perfkit_examples::partition::{Input, partitions};
use perfkit_examples::progress::Bar;
use perfkit_examples::recording::parse_time;
use perfkit_examples::series::{Options, drop_small, times};
use perfkit_examples::{colouring, like};
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: cluster TRACE [OPTIONS]

Clusters the CPU bursts of a recording by their metrics.

  TRACE             a recording with events: OTF2 archive, Paraver trace (.prv), Chrome/Kineto JSON,
                    rocprofv3 JSON, streams (.tsv, .ndjson, .bp); with the feature `nsys` an export of
                    Nsight Systems; or a table of bursts (.DATA.csv)
  --metrics A,B     the axes: counters, ipc, instructions, duration, or formulas; default:
                    ipc,instructions where the recording has them, else duration and its first
                    counter
  --eps E|auto      radius of a dense neighbourhood; default: found from the points
  --min-points N    points of a dense neighbourhood, default 4, or one in 500 points if that is more
  --refine          instead of one radius: from a small one up, as long as threads are not in
                    the same clusters at the same time (aggregative cluster refinement)
  --min-duration T  drops shorter bursts; default: the largest duration below which bursts take at most
                    1 % of the CPU time
  --like FILE.xml   metrics, filters, radius and points of the established tool's file, and
                    --mode published; what is given besides goes before it
  --mode M          optimal (default): an axis runs between two quantiles; or published: every step
                    as in the literature and its tools
  --sweep           also lists the radii that were tried
  --csv OUT         also writes the points as a table
  --svg OUT         also draws them
  --png OUT         also draws them
  --html OUT        also writes a page of them, with axes and metrics to choose
  --recolour OUT    also writes a Paraver trace OUT (.prv) with the cluster of each burst
  --json            one JSON object instead of text";

fn main() -> ExitCode {
    cli::main(USAGE, run)
}

/// What was asked for.
#[derive(Debug, Default)]
struct Asked {
    file: PathBuf,
    options: Options,
    refine: bool,
    sweep: bool,
    csv: Option<PathBuf>,
    files: Files,
    recolour: Option<PathBuf>,
    json: bool,
}

/// The work: arguments in, text out.
pub(crate) fn run(args: &[OsString], out: &mut dyn Write) -> Outcome {
    let asked = parse(args)?;
    let found = Found::of(&asked)?;
    let written = |path: &Path, bytes: &[u8]| {
        let failed = |error| Failure::Input(format!("{}: {error}", path.display()));
        std::fs::write(path, bytes).map_err(failed)
    };
    if let Some(path) = &asked.csv {
        written(path, found.csv().as_bytes())?;
    }
    if !asked.files.is_empty() {
        found.draw(&asked.files)?;
    }
    if let Some(path) = &asked.recolour {
        found.recolour(path)?;
    }
    if asked.json {
        writeln!(out, "{}", found.json())?;
        return Ok(());
    }
    writeln!(out, "{}", asked.file.display())?;
    found.text(asked.sweep, out)
}

fn parse(args: &[OsString]) -> Result<Asked, Failure> {
    use lexopt::prelude::*;
    let mut asked = Asked::default();
    let options = &mut asked.options;
    let mut file = None;
    let mut parser = lexopt::Parser::from_args(args);
    while let Some(arg) = parser.next()? {
        match arg {
            Long("metrics") => options.axes = Axis::list(&parser.value()?.string()?)?,
            Long("eps") => {
                let text = parser.value()?.string()?;
                let wrong = |_| Failure::Usage(format!("--eps {text}: neither a number nor auto"));
                options.eps = match text.as_str() {
                    "auto" => None,
                    number => Some(number.parse().map_err(wrong)?),
                };
            }
            Long("refine") => asked.refine = true,
            Long("sweep") => asked.sweep = true,
            Long("min-points") => {
                options.min_points = Some(cli::number("min-points", &mut parser)?)
            }
            Long("min-duration") => {
                options.min_duration = Some(parse_time(&parser.value()?.string()?)?);
            }
            Long("like") => {
                options.like = Some(like::definition(&PathBuf::from(parser.value()?))?);
            }
            Long("mode") => {
                options.mode = Some(match parser.value()?.string()?.as_str() {
                    "optimal" | "joint" => Mode::Optimal,
                    "published" => Mode::Published,
                    other => {
                        let text = format!("--mode {other}: neither optimal nor published");
                        return Err(Failure::Usage(text));
                    }
                });
            }
            Long("csv") => asked.csv = Some(parser.value()?.into()),
            Long("svg") => asked.files.svg = Some(parser.value()?.into()),
            Long("png") => asked.files.png = Some(parser.value()?.into()),
            Long("html") => asked.files.html = Some(parser.value()?.into()),
            Long("recolour") => asked.recolour = Some(parser.value()?.into()),
            Long("json") => asked.json = true,
            Short('h') | Long("help") => return Err(Failure::Help),
            Value(path) if file.is_none() => file = Some(PathBuf::from(path)),
            other => return Err(other.unexpected().into()),
        }
    }
    if asked.refine && options.eps.is_some() {
        return Err(Failure::Usage(
            "--refine finds the radii itself: no --eps".into(),
        ));
    }
    asked.file = file.ok_or_else(|| Failure::Usage("which recording?".into()))?;
    Ok(asked)
}

/// How clusters were found.
enum How {
    /// With a radius that was given.
    Given,
    /// With one that was found.
    Chosen(EpsChoice),
    /// With several, one after the other: which, and what they made.
    Refined(Vec<f64>, Vec<RefineNode>),
}

/// Bursts, their points and clusters.
struct Found {
    from: Gathered,
    scaled: Scaled,
    /// The cluster of each burst.
    labels: Labels,
    metrics: Vec<String>,
    mode: Mode,
    how: How,
    eps: f64,
    min_points: usize,
    /// Second radius and number of points, for what the first ones leave in noise.
    rest: Option<(f64, usize)>,
    min_duration: Nanos,
    is_chosen: bool,
    balance: TimeBalance,
    /// Score of each cluster, noise first, and of the whole.
    score: perfkit::track::SpmdScore,
}

impl Found {
    fn of(asked: &Asked) -> Result<Self, Failure> {
        let job = Bar::job();
        let options = &asked.options;
        let mut wanted = options.wanted();
        let mut from = gather(&asked.file, &mut wanted)?;
        let scaled = options.scale(&wanted.axes, &[&from.bursts])?;
        let frame = &scaled.frames[0];
        frame.mark_left_out(&mut from.bursts).map_err(input)?;
        let points = frame.points().map_err(input)?;
        let align = options.align()?;
        let times = times(&from.bursts, frame);
        let mut min_points = options.min_points(points.len());
        let (eps, mut found, how, rest) = if asked.refine {
            let mut params = Refinement::params().min_points(min_points);
            if options.mode() == Mode::Published && options.min_points.is_none() {
                let threads = from.bursts.threads().len();
                params = params.for_threads(threads);
                min_points = (threads / 4).max(2);
            }
            let scorer = SpmdScorer::new(&from.bursts, frame.rows(), align);
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
                // Clusters that a table brings are found anew.
                labels: None,
            };
            let found = partitions(&[of], &scaled, options)?.swap_remove(0);
            let how = found.choice.map_or(How::Given, How::Chosen);
            let eps = found.eps.unwrap_or_default();
            (eps, found.labels, how, found.rest)
        };
        if let Some(like) = options.like.as_ref().filter(|like| like.min_share > 0.0) {
            found = drop_small(&mut from.bursts, frame, &found, like.min_share)?;
        }
        let labels = frame.spread(found.as_slice(), &from.bursts, ClusterId::NOISE);
        let labels = Labels::new(labels.map_err(input)?);
        let sequences = Sequences::of(&from.bursts, &labels).map_err(input)?;
        let shares = time_shares(&from.bursts, &labels).map_err(input)?;
        let alignment = align.align(&sequences, &shares, &job);
        let score = alignment.map_err(input)?.score(&shares);
        let metrics: Result<_, Failure> = wanted.axes.iter().map(Axis::name).collect();
        let balance = TimeBalance::of(&from.bursts, &labels, |_| false).map_err(input)?;
        Ok(Found {
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

    /// The values of the metrics; durations are in none of the columns.
    fn values(&self) -> Vec<Vec<f64>> {
        let values = |name: &String| match self.bursts().column(name) {
            Ok(column) => column.values.clone(),
            Err(_) => self.bursts().durations(),
        };
        self.metrics.iter().map(values).collect()
    }

    /// Bursts and time of each cluster, noise first, and the means of their metrics.
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

    /// The trace again with the cluster of each burst, and its names beside it.
    fn recolour(&self, to: &Path) -> Outcome {
        let of = |row: usize| match self.labels.as_slice().get(row) {
            Some(id) if !id.is_noise() => Cluster::Id(id.0),
            _ => Cluster::Noise,
        };
        let trace = (self.from.objects.as_slice(), self.from.clock);
        let bursts = colouring::coloured(self.bursts(), trace, of)?;
        colouring::write(&self.from, to, &bursts)
    }
}
