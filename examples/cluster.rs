//! Which CPU bursts of a recording behave alike?
//!
//! `cargo run --release --example cluster -- data/recordings/jacobi-16 --min-duration 100us`

use perfkit::core::{CancelToken, LocationId, Nanos, Trace};
use perfkit::formats::OpenOptions;
use perfkit::formats::paraver;
use perfkit::track::cluster::{Border, Clusterer, Dbscan, EpsSearch, RefineMode, Refinement};
use perfkit::track::{
    Align, Bursts, ClusterId, Dimension, Error, Extract, Kind, Labels, Points, Scale, ScaleMode,
    Scaled, Sequences, SpmdScorer, ZeroDivision, time_shares,
};
use perfkit_examples::cli::{self, Failure, Outcome, input};
use perfkit_examples::plot::{Anchor, FAINT, INK, Mark, Plot};
use perfkit_examples::progress::Bar;
use perfkit_examples::recording::{self, parse_time};
use perfkit_examples::scatter::{colour, short};
use perfkit_examples::series::{is_ratio, usual};
use perfkit_examples::table::{self, grouped};
use serde_json::json;
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: cluster TRACE [OPTIONS]

Clusters the CPU bursts of a recording by their metrics.

  TRACE             an OTF2 archive or a Paraver trace
  --metrics A,B     the axes: counters, ipc, instructions, duration, or formulas; default:
                    ipc,instructions where the recording has them, else duration and its first
                    counter
  --eps E|auto      radius of a dense neighbourhood; default: found from the points
  --min-points N    points of a dense neighbourhood, default 4
  --refine          instead of one radius: from a small one up, as long as threads are not in
                    the same clusters at the same time (aggregative cluster refinement)
  --min-duration T  leaves shorter bursts out, default 1ms
  --mode M          joint (default): an axis runs between two quantiles; or published: from the
                    least to the largest value, with the borders and zeros of the literature's tools
  --csv OUT         also writes the points as a table
  --svg OUT         also draws them
  --png OUT         also draws them
  --recolour OUT    also writes a Paraver trace OUT (.prv) with the cluster of each burst
  --json            one JSON object instead of text";

fn main() -> ExitCode {
    cli::main(USAGE, run)
}

/// What was asked for.
#[derive(Debug)]
struct Asked {
    file: PathBuf,
    metrics: Vec<String>,
    eps: Option<f64>,
    min_points: usize,
    min_duration: Nanos,
    published: bool,
    refine: bool,
    csv: Option<PathBuf>,
    svg: Option<PathBuf>,
    png: Option<PathBuf>,
    recolour: Option<PathBuf>,
    json: bool,
}

/// The work: arguments in, text out.
pub(crate) fn run(args: &[OsString], out: &mut dyn Write) -> Outcome {
    let asked = parse(args)?;
    let trace = recording::open(&asked.file)?.trace;
    let found = Found::of(&trace, &asked)?;
    let written = |path: &Path, bytes: &[u8]| {
        let failed = |error| Failure::Input(format!("{}: {error}", path.display()));
        std::fs::write(path, bytes).map_err(failed)
    };
    if let Some(path) = &asked.csv {
        written(path, found.csv().as_bytes())?;
    }
    if let Some(path) = &asked.svg {
        written(path, found.plot().svg().as_bytes())?;
    }
    if let Some(path) = &asked.png {
        let canvas = found.plot().canvas();
        let canvas = canvas.map_err(|error| Failure::Usage(error.to_string()))?;
        let failed = |error| Failure::Input(format!("{}: {error}", path.display()));
        canvas.save(path).map_err(failed)?;
    }
    if let Some(path) = &asked.recolour {
        found.recolour(&trace, &asked.file, path)?;
    }
    if asked.json {
        writeln!(out, "{}", found.json())?;
        return Ok(());
    }
    writeln!(out, "{}", asked.file.display())?;
    found.text(out)
}

fn parse(args: &[OsString]) -> Result<Asked, Failure> {
    use lexopt::prelude::*;
    let mut asked = Asked {
        file: PathBuf::new(),
        metrics: Vec::new(),
        eps: None,
        min_points: 4,
        min_duration: Nanos(1_000_000),
        published: false,
        refine: false,
        csv: None,
        svg: None,
        png: None,
        recolour: None,
        json: false,
    };
    let mut file = None;
    let mut parser = lexopt::Parser::from_args(args);
    while let Some(arg) = parser.next()? {
        match arg {
            Long("metrics") => {
                let text = parser.value()?.string()?;
                asked.metrics = text.split(',').map(|name| name.trim().to_owned()).collect();
            }
            Long("eps") => {
                let text = parser.value()?.string()?;
                let wrong = |_| Failure::Usage(format!("--eps {text}: neither a number nor auto"));
                asked.eps = match text.as_str() {
                    "auto" => None,
                    number => Some(number.parse().map_err(wrong)?),
                };
            }
            Long("refine") => asked.refine = true,
            Long("min-points") => asked.min_points = parser.value()?.parse()?,
            Long("min-duration") => asked.min_duration = parse_time(&parser.value()?.string()?)?,
            Long("mode") => {
                asked.published = match parser.value()?.string()?.as_str() {
                    "joint" => false,
                    "published" => true,
                    other => {
                        let text = format!("--mode {other}: neither joint nor published");
                        return Err(Failure::Usage(text));
                    }
                };
            }
            Long("csv") => asked.csv = Some(parser.value()?.into()),
            Long("svg") => asked.svg = Some(parser.value()?.into()),
            Long("png") => asked.png = Some(parser.value()?.into()),
            Long("recolour") => asked.recolour = Some(parser.value()?.into()),
            Long("json") => asked.json = true,
            Short('h') | Long("help") => return Err(Failure::Help),
            Value(path) if file.is_none() => file = Some(PathBuf::from(path)),
            other => return Err(other.unexpected().into()),
        }
    }
    if asked.refine && asked.eps.is_some() {
        return Err(Failure::Usage(
            "--refine finds the radii itself: no --eps".into(),
        ));
    }
    asked.file = file.ok_or_else(|| Failure::Usage("which recording?".into()))?;
    Ok(asked)
}

fn usage(error: Error) -> Failure {
    Failure::Usage(error.to_string())
}

/// Clusters of one radius: the one asked for, or the one found.
fn one_radius(
    points: Points<'_>,
    asked: &Asked,
    bar: &Bar,
    cancel: &CancelToken,
) -> Result<(f64, Labels), Failure> {
    let eps = match asked.eps {
        Some(eps) => eps,
        None => {
            let search = EpsSearch::params().min_points(asked.min_points);
            let search = EpsSearch::new(search.check().map_err(usage)?);
            search.choose(points, bar, cancel).map_err(input)?.eps
        }
    };
    let dbscan = Dbscan::params().eps(eps).min_points(asked.min_points);
    let dbscan = match asked.published {
        true => dbscan.border(Border::PeerCompatible),
        false => dbscan,
    };
    let dbscan = Dbscan::new(dbscan.check().map_err(usage)?);
    Ok((eps, dbscan.cluster(points, bar, cancel).map_err(input)?))
}

/// Bursts, their points and clusters.
struct Found {
    bursts: Bursts,
    scaled: Scaled,
    /// The cluster of each burst.
    labels: Labels,
    metrics: Vec<String>,
    eps: f64,
    min_points: usize,
    /// Score of each cluster, noise first, and of the whole.
    score: perfkit::track::SpmdScore,
}

impl Found {
    fn of(trace: &Trace, asked: &Asked) -> Result<Self, Failure> {
        let (bar, cancel) = (Bar::new(), CancelToken::new());
        let metrics = match asked.metrics.is_empty() {
            true => usual(trace)?,
            false => asked.metrics.clone(),
        };
        let mut params = Extract::params().min_duration(asked.min_duration);
        let mut scale = Scale::params();
        if asked.published {
            params = params.zero_division(ZeroDivision::Zero);
            scale = scale.mode(ScaleMode::PerFrame);
        }
        for metric in &metrics {
            params = params.metric(metric.as_str());
        }
        let extract = params.check().map_err(usage)?;
        let bursts = extract.extract(trace.view(), &bar, &cancel);
        let (bursts, _) = bursts.map_err(|error| match error {
            Error::UnknownMetric { .. } => usage(error),
            other => input(other),
        })?;
        for (column, formula) in bursts.columns().iter().zip(&metrics) {
            let dimension = Dimension::new(column.name.as_str()).log(!is_ratio(formula));
            scale = scale.dimension(dimension);
        }
        let metrics = bursts
            .columns()
            .iter()
            .map(|column| column.name.clone())
            .collect();
        let scaled = scale
            .check()
            .map_err(usage)?
            .fit(&[&bursts])
            .map_err(input)?;
        let frame = &scaled.frames[0];
        let points = frame.points().map_err(input)?;
        let align = Align::params().check().map_err(usage)?;
        let durations = bursts.durations();
        let times = frame.rows().iter().map(|&row| durations[row as usize]);
        let times: Vec<f64> = times.collect();
        let (eps, labels) = if asked.refine {
            let mode = match asked.published {
                true => RefineMode::Published,
                false => RefineMode::ScaleFree,
            };
            let params = Refinement::params().min_points(asked.min_points).mode(mode);
            let scorer = SpmdScorer::new(&bursts, frame.rows(), align, cancel.clone());
            let refinement = Refinement::new(params.check().map_err(usage)?);
            let refined = refinement.run(points, &times, &scorer, &bar, &cancel);
            let refined = refined.map_err(input)?;
            (
                refined.eps.last().copied().unwrap_or_default(),
                refined.labels,
            )
        } else {
            let (eps, labels) = one_radius(points, asked, &bar, &cancel)?;
            (eps, labels.by_weight(&times).map_err(input)?)
        };
        let labels = frame.spread(labels.as_slice(), &bursts, ClusterId::NOISE);
        let labels = Labels::new(labels.map_err(input)?);
        let sequences = Sequences::of(&bursts, &labels).map_err(input)?;
        let shares = time_shares(&bursts, &labels).map_err(input)?;
        let alignment = align
            .align(&sequences, &shares, &bar, &cancel)
            .map_err(input)?;
        let score = alignment.score(&shares);
        Ok(Found {
            bursts,
            scaled,
            labels,
            metrics,
            eps,
            min_points: asked.min_points,
            score,
        })
    }

    /// How many bursts each cluster has, noise first, and the means of their metrics.
    fn clusters(&self) -> Vec<(usize, Vec<f64>)> {
        let columns = self.bursts.columns();
        let mut all = vec![(0, vec![0.0; columns.len()]); self.labels.clusters() + 1];
        for row in self.bursts.complete() {
            let row = row as usize;
            let (size, sums) = &mut all[self.labels.as_slice()[row].0 as usize];
            *size += 1;
            for (sum, column) in sums.iter_mut().zip(columns) {
                *sum += column.values[row];
            }
        }
        for (size, sums) in &mut all {
            sums.iter_mut()
                .for_each(|sum| *sum /= (*size).max(1) as f64);
        }
        all
    }

    fn text(&self, out: &mut dyn Write) -> Outcome {
        let clusters = self.clusters();
        let bursts: usize = clusters.iter().map(|cluster| cluster.0).sum();
        writeln!(
            out,
            "{} bursts, {} clusters, eps {:.4}, {} points; SPMD score {:.3}\n",
            grouped(bursts as u64),
            self.labels.clusters(),
            self.eps,
            self.min_points,
            self.score.global,
        )?;
        let rows = self.score.clusters.iter().zip(&clusters).skip(1);
        let noise = self.score.clusters.iter().zip(&clusters).take(1);
        let rows = rows.chain(noise).map(|(score, (size, means))| {
            let mut row = vec![
                score.cluster.to_string(),
                grouped(*size as u64),
                format!("{:.1} %", 100.0 * score.share),
                format!("{:.3}", score.score),
            ];
            row.extend(means.iter().map(|mean| short(*mean)));
            row
        });
        let mut head = vec!["cluster", "bursts", "time", "SPMD"];
        head.extend(self.metrics.iter().map(String::as_str));
        table::write(out, &head, &rows.collect::<Vec<_>>())?;
        Ok(())
    }

    fn json(&self) -> serde_json::Value {
        let clusters = self.clusters();
        let each = self.score.clusters.iter().zip(&clusters).skip(1);
        let each = each.map(|(score, (size, means))| {
            let metrics: serde_json::Map<_, _> = self
                .metrics
                .iter()
                .cloned()
                .zip(means.iter().map(|mean| json!(mean)))
                .collect();
            json!({
                "id": score.cluster.0,
                "size": size,
                "share_of_time": score.share,
                "metrics": metrics,
                "spmd_score": score.score,
            })
        });
        let noise = clusters.first().map_or(0, |cluster| cluster.0);
        json!({
            "bursts": clusters.iter().map(|cluster| cluster.0).sum::<usize>(),
            "clusters": each.collect::<Vec<_>>(),
            "noise": noise,
            "eps": self.eps,
            "min_points": self.min_points,
            "spmd_score": self.score.global,
        })
    }

    fn csv(&self) -> String {
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        let mut text = String::from("process,thread,begin_ns,end_ns,cluster");
        self.metrics
            .iter()
            .for_each(|name| text += &format!(",{}", quoted(name)));
        text.push('\n');
        for row in self.bursts.complete() {
            let burst = self.bursts.rows()[row as usize];
            let thread = &self.bursts.threads()[burst.thread as usize];
            let cluster = self.labels.as_slice()[row as usize].0;
            let (process, name) = (thread.process, quoted(&thread.name));
            text += &format!(
                "{process},{name},{},{},{cluster}",
                burst.begin.0, burst.end.0
            );
            for column in self.bursts.columns() {
                text += &format!(",{}", column.values[row as usize]);
            }
            text.push('\n');
        }
        text
    }

    /// The first two axes, a point a burst; one axis alone over time.
    fn plot(&self) -> Plot {
        const LEFT: f64 = 80.0;
        const TOP: f64 = 40.0;
        const SIDE: f64 = 520.0;
        let frame = &self.scaled.frames[0];
        let axes = self.scaled.transform.axes();
        let place = |row: u32| {
            let value = |axis: usize| {
                let value = self
                    .bursts
                    .columns()
                    .get(axis)
                    .map(|c| c.values[row as usize]);
                let log = axes.get(axis).is_some_and(|axis| axis.log);
                value.map(|value| if log { value.ln() } else { value })
            };
            let time = self.bursts.rows()[row as usize].begin.seconds();
            match (value(0), value(1)) {
                (Some(x), Some(y)) => [x, y],
                (Some(y), None) => [time, y],
                _ => [time, 0.0],
            }
        };
        let names = match self.metrics.as_slice() {
            [x, y, ..] => [x.as_str(), y.as_str()],
            [y] => ["time [s]", y.as_str()],
            [] => ["time [s]", ""],
        };
        let is_log = |side: usize| match axes.len() {
            0 | 1 => side == 1 && axes.first().is_some_and(|axis| axis.log),
            _ => axes[side].log,
        };
        let points: Vec<([f64; 2], ClusterId)> = frame
            .rows()
            .iter()
            .map(|&row| (place(row), self.labels.as_slice()[row as usize]))
            .collect();
        let span = |side: usize| {
            let values = points.iter().map(|(at, _)| at[side]);
            let (low, high) = values.fold((f64::MAX, f64::MIN), |(low, high), value| {
                (low.min(value), high.max(value))
            });
            let room = 0.04 * (high - low).max(1e-9);
            (low - room, high + room)
        };
        let spans = [span(0), span(1)];
        let share =
            |side: usize, value: f64| (value - spans[side].0) / (spans[side].1 - spans[side].0);
        let text = |at: [f64; 2], anchor, text: &str| Mark::Text(at, anchor, INK, text.to_owned());
        let bottom = TOP + SIDE;
        let mut marks = vec![
            Mark::Line([LEFT, bottom, LEFT + SIDE, bottom], INK),
            Mark::Line([LEFT, TOP, LEFT, bottom], INK),
            text([LEFT + SIDE / 2.0, bottom + 36.0], Anchor::Middle, names[0]),
            text([LEFT, TOP - 16.0], Anchor::Middle, names[1]),
        ];
        for step in [0.05, 0.35, 0.65, 0.95] {
            let value = |side: usize| {
                let value = spans[side].0 + step * (spans[side].1 - spans[side].0);
                short(if is_log(side) { value.exp() } else { value })
            };
            let (x, y) = (LEFT + SIDE * step, bottom - SIDE * step);
            marks.push(text([x, bottom + 14.0], Anchor::Middle, &value(0)));
            marks.push(text([LEFT - 8.0, y], Anchor::End, &value(1)));
        }
        let paint = |id: ClusterId| match id.is_noise() {
            true => FAINT,
            false => colour(Some(perfkit::track::track::ObjectId(id.0))),
        };
        for ([x, y], id) in &points {
            let at = [
                LEFT + SIDE * share(0, *x),
                bottom - SIDE * share(1, *y),
                2.5,
            ];
            marks.push(Mark::Circle(at, paint(*id)));
        }
        for (index, score) in self.score.clusters.iter().skip(1).take(24).enumerate() {
            let (x, y) = (LEFT + SIDE + 24.0, TOP + 18.0 * index as f64);
            marks.push(Mark::Circle([x, y, 4.0], paint(score.cluster)));
            let label = format!(
                "{}: {:.1} % of the time",
                score.cluster,
                100.0 * score.share
            );
            marks.push(text([x + 10.0, y], Anchor::Start, &label));
        }
        Plot {
            width: (LEFT + SIDE) as u32 + 200,
            height: bottom as u32 + 56,
            marks,
        }
    }

    /// The trace again with the cluster of each burst, and its names beside it.
    fn recolour(&self, trace: &Trace, from: &Path, to: &Path) -> Outcome {
        let definitions = trace.definitions();
        let object = |id: LocationId| definitions.system.location(id).and_then(paraver::object_of);
        let mut coloured = Vec::new();
        let rows = self.bursts.rows().iter().zip(self.bursts.kinds());
        for ((burst, kind), id) in rows.zip(self.labels.as_slice()) {
            let thread = &self.bursts.threads()[burst.thread as usize];
            let Some(object) = object(thread.location) else {
                return Err(Failure::Usage("--recolour is for traces of Paraver".into()));
            };
            let ticks = |at: Nanos| definitions.clock.ticks(at).unwrap_or_default();
            coloured.push(paraver::Coloured {
                object,
                begin: ticks(burst.begin),
                end: ticks(burst.end),
                cluster: match kind {
                    Kind::Complete if id.is_noise() => paraver::Cluster::Noise,
                    Kind::Complete => paraver::Cluster::Id(id.0),
                    Kind::Duration => paraver::Cluster::DurationFiltered,
                    Kind::Range => paraver::Cluster::RangeFiltered,
                    Kind::Share => paraver::Cluster::ThresholdFiltered,
                    _ => paraver::Cluster::MissingData,
                },
            });
        }
        let failed = |error: std::io::Error| Failure::Input(format!("{}: {error}", to.display()));
        let stem = match from.extension().is_some_and(|end| end == "gz") {
            true => from.with_extension(""),
            false => from.to_owned(),
        };
        cli::spare(from, to)?;
        cli::spare(&stem.with_extension("pcf"), &to.with_extension("pcf"))?;
        let mut reader = paraver::Reader::open(from, &OpenOptions::new()).map_err(input)?;
        let file = BufWriter::new(File::create(to).map_err(failed)?);
        let mut writer = paraver::Writer::new(file, &to.to_string_lossy());
        paraver::recolour(&mut reader, &coloured, &mut writer).map_err(input)?;
        let mut file = writer.finish().map_err(input)?;
        file.flush().map_err(failed)?;
        let text = std::fs::read(stem.with_extension("pcf")).unwrap_or_default();
        let mut pcf = paraver::Pcf::parse(&text);
        let ids = (1..=self.labels.clusters() as u32).map(paraver::Cluster::Id);
        paraver::name_clusters(&mut pcf, ids);
        std::fs::write(to.with_extension("pcf"), pcf.text()).map_err(failed)?;
        if let Ok(row) = std::fs::read(stem.with_extension("row")) {
            std::fs::write(to.with_extension("row"), row).map_err(failed)?;
        }
        Ok(())
    }
}
