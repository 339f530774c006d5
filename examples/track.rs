//! Which phases of a program are the same from run to run, and how does each of them change?
//!
//! `cargo run --release --example track -- data/recordings/jacobi-4 data/recordings/jacobi-9
//! data/recordings/jacobi-16 --min-duration 100us`

#[path = "track/findings.rs"]
mod findings;
#[path = "track/json.rs"]
mod json;
#[path = "track/text.rs"]
mod text;

use perfkit::formats::paraver::Cluster;
use perfkit::track::Mode;
use perfkit::track::track::{Object, ObjectId};
use perfkit::track::trend::{Counters, Expect, Flag, TimeChange};
use perfkit::view::track::{Clusters, Picture, View};
use perfkit::view::{Section, Theme};
use perfkit_examples::cli::{self, Failure, Outcome};
use perfkit_examples::drawn::{self, Files};
use perfkit_examples::frames::Axis;
use perfkit_examples::progress::Bar;
use perfkit_examples::recording::parse_time;
use perfkit_examples::series::{self, Options, Series};
use perfkit_examples::{colouring, like, table};
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "usage: track TRACE... [OPTIONS]

Clusters the CPU bursts of recordings, and tracks the clusters from one to the next.

  TRACE...            recordings with events in their order: OTF2 archives, Paraver traces (.prv),
                      Chrome/Kineto JSON, rocprofv3 JSON, streams (.tsv, .ndjson, .bp); with the feature
                      `nsys` exports of Nsight Systems; and tables of bursts with their clusters
                      (.DATA.csv of the established tool), which are not clustered
  --metrics A,B       the axes of the space; default: ipc,instructions where the recording has them,
                      else durations and its first counter
  --eps E|auto        radius of a dense neighbourhood in that space; default: found, one for all
                      frames that share a space
  --min-points N      points of a dense neighbourhood, default 4, or one in 500 points if that is more
  --min-duration T    drops shorter bursts; default: the largest duration below which bursts take at most
                      1 % of the CPU time of each recording
  --windows N         cuts each recording into N windows of time
  --like FILE.xml     metrics, filters, radius and points of the established tool's file, and
                      --mode published; what is given besides goes before it
  --mode M            optimal (default), or published: every step as in the literature and its tools:
                      each frame has its own space, objects are closures of links of 15 %
  --whole             does not split clusters whose call sites another frame tells apart
  --min-confidence C  confidence below which an object is listed, but its trend is not stated,
                      default 0.5
  --top N             objects to list, default 10
  --csv OUT           also writes every metric of every object and frame as a table
  --svg OUT           also draws frames, trends and an animation
  --png OUT           also draws frames and trends
  --html OUT          also writes a page: a slider from frame to frame, trends, every vote
  --recolour DIR      also writes the Paraver traces into the folder with the object of each burst
  --json              one JSON object instead of text";

fn main() -> ExitCode {
    cli::main(USAGE, run)
}

/// What was asked for.
#[derive(Debug, Default)]
struct Asked {
    paths: Vec<PathBuf>,
    options: Options,
    top: usize,
    csv: Option<PathBuf>,
    files: Files,
    recolour: Option<PathBuf>,
    json: bool,
}

/// The work: arguments in, text out.
pub(crate) fn run(args: &[OsString], out: &mut dyn Write) -> Outcome {
    let asked = parse(args)?;
    let series = series::track(&asked.paths, &asked.options)?;
    if series.frames.len() == 1 {
        cli::say(
            "note: one frame has nothing to be tracked to: name several recordings, or --windows N",
        );
    }
    let failed = |path: &PathBuf| {
        let path = path.display().to_string();
        move |error: std::io::Error| Failure::Input(format!("{path}: {error}"))
    };
    if let Some(path) = &asked.csv {
        let mut table = Vec::new();
        series.trends.write_csv(&mut table).map_err(failed(path))?;
        std::fs::write(path, table).map_err(failed(path))?;
    }
    if !asked.files.is_empty() {
        let found = drawn::series(&series)?;
        let title = title(&series);
        let scene = || Ok(picture(&found, &title, Theme::light()).scene());
        let sections = || Ok(vec![section(&found, &title)?]);
        // What moves is for SVG alone: a picture would have an empty place.
        if let Some(path) = &asked.files.svg {
            let moving = picture(&found, &title, Theme::light()).moving(true);
            drawn::svg(path, &moving.scene())?;
        }
        let still = Files {
            svg: None,
            ..asked.files.clone()
        };
        still.write(&title, scene, sections)?;
    }
    if let Some(folder) = &asked.recolour {
        recolour(&series, folder)?;
    }
    let report = Report::of(&series, &asked.options)?;
    if asked.json {
        writeln!(out, "{}", report.json(asked.options.mode()))?;
        return Ok(());
    }
    report.text(asked.top, out)
}

fn parse(args: &[OsString]) -> Result<Asked, Failure> {
    use lexopt::prelude::*;
    let mut asked = Asked {
        top: 10,
        ..Asked::default()
    };
    let options = &mut asked.options;
    let mut parser = lexopt::Parser::from_args(args);
    while let Some(arg) = parser.next()? {
        match arg {
            Long("metrics") => {
                options.axes = Axis::list(&parser.value()?.string()?)?;
            }
            Long("eps") => {
                let text = parser.value()?.string()?;
                options.eps = match text.as_str() {
                    "auto" => None,
                    number => Some(number.parse().map_err(|_| {
                        Failure::Usage(format!("--eps {number}: neither a number nor auto"))
                    })?),
                };
            }
            Long("min-points") => {
                options.min_points = Some(cli::number("min-points", &mut parser)?)
            }
            Long("min-duration") => {
                options.min_duration = Some(parse_time(&parser.value()?.string()?)?);
            }
            Long("like") => {
                options.like = Some(like::definition(&PathBuf::from(parser.value()?))?);
            }
            Long("windows") => options.windows = cli::number("windows", &mut parser)?,
            Long("mode") => {
                options.mode = Some(match parser.value()?.string()?.as_str() {
                    "optimal" => Mode::Optimal,
                    "published" => Mode::Published,
                    other => {
                        let text = format!("--mode {other}: neither optimal nor published");
                        return Err(Failure::Usage(text));
                    }
                });
            }
            Long("whole") => options.split = false,
            Long("min-confidence") => {
                options.min_confidence = Some(cli::number("min-confidence", &mut parser)?);
            }
            Long("top") => asked.top = cli::number("top", &mut parser)?,
            Long("csv") => asked.csv = Some(parser.value()?.into()),
            Long("svg") => asked.files.svg = Some(parser.value()?.into()),
            Long("png") => asked.files.png = Some(parser.value()?.into()),
            Long("html") => asked.files.html = Some(parser.value()?.into()),
            Long("recolour") => asked.recolour = Some(parser.value()?.into()),
            Long("json") => asked.json = true,
            Short('h') | Long("help") => return Err(Failure::Help),
            Value(path) => asked.paths.push(path.into()),
            other => return Err(other.unexpected().into()),
        }
    }
    if asked.paths.is_empty() {
        return Err(Failure::Usage("which recordings?".into()));
    }
    Ok(asked)
}

/// What was found, in a sentence.
fn title(series: &Series) -> String {
    let names = series.frames.iter().map(|of| of.frame.name());
    let names: Vec<&str> = names.collect();
    let count = series.tracking.objects.len();
    let objects = table::counted(count, "object");
    match names.as_slice() {
        [first, .., last] => format!("{objects} from {first} to {last}"),
        _ => format!("{objects} in {}", names.join(", ")),
    }
}

/// What tracking finds, to be drawn.
#[allow(dead_code, reason = "for the report of the tour")]
pub(crate) fn found(args: &[OsString]) -> Result<Clusters, Failure> {
    let asked = parse(args)?;
    drawn::series(&series::track(&asked.paths, &asked.options)?)
}

/// Frames and trends.
pub(crate) fn picture<'a>(found: &'a Clusters, title: &str, theme: Theme) -> Picture<'a> {
    Picture::new(found).titled(title).theme(theme)
}

/// The part of a page.
pub(crate) fn section(found: &Clusters, title: &str) -> Result<Section, Failure> {
    let view = View::new(found).named(title, "phases");
    let section = view.section(&Bar::job());
    section.map_err(drawn::failed)
}

/// Writes the trace of each recording with the object of each burst.
fn recolour(series: &Series, folder: &std::path::Path) -> Outcome {
    let failed = |error| Failure::Input(format!("{}: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(failed)?;
    for (number, recording) in series.recordings.iter().enumerate() {
        let mut bursts = Vec::new();
        for (at, clustered) in series.frames.iter().enumerate() {
            if clustered.recording != number {
                continue;
            }
            let colours = series.tracking.colours(at).map_err(cli::input)?;
            let filtered = series.tracking.objects.iter().filter(|of| of.is_filtered);
            let small: Vec<_> = filtered.flat_map(|of| of.members[at].clone()).collect();
            let labels = clustered.frame.labels().as_slice();
            let of = |row: usize| {
                let label = labels.get(row).copied().unwrap_or_default();
                match colours.get(label.0 as usize).copied().flatten() {
                    Some(object) => Cluster::Id(object.0),
                    None if small.contains(&label) => Cluster::ThresholdFiltered,
                    None => Cluster::Noise,
                }
            };
            let trace = (recording.objects.as_slice(), recording.clock);
            bursts.extend(colouring::coloured(clustered.frame.bursts(), trace, of)?);
        }
        let name = recording.path.file_name().unwrap_or_default();
        let to = folder.join(name);
        let written: Vec<_> = series.recordings[..number]
            .iter()
            .filter(|other| other.path.file_name() == Some(name))
            .collect();
        if !written.is_empty() {
            return Err(Failure::Usage(format!(
                "--recolour: two recordings are called {}",
                name.to_string_lossy()
            )));
        }
        colouring::write(recording, &to, &bursts)?;
    }
    Ok(())
}

/// What is said about a series.
struct Report<'s> {
    series: &'s Series,
    /// The metric that is the work, and what time is made of.
    counters: Option<(String, Counters)>,
    flags: Vec<Flag>,
    /// Confidence below which nothing is stated about an object.
    min_confidence: f64,
}

impl<'s> Report<'s> {
    fn of(series: &'s Series, options: &Options) -> Result<Self, Failure> {
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
            // Any other counter as the work: a rate in place of IPC, and no frequency.
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
            flags: flags.map_err(cli::input)?,
            min_confidence: options.tracking()?.min_confidence(),
        })
    }

    fn is_reliable(&self, object: ObjectId) -> bool {
        let found = self.series.tracking.object(object);
        found.is_some_and(|object| object.is_reliable)
    }

    fn change(&self, object: &Object, from: usize, to: usize) -> Option<TimeChange> {
        let (_, counters) = self.counters.as_ref()?;
        self.series
            .trends
            .change(object.id, from, to, counters)
            .ok()
            .flatten()
    }

    /// Frames in which an object is seen, and in which it is seen next.
    fn steps(object: &Object) -> Vec<(usize, usize)> {
        let seen = object
            .members
            .iter()
            .enumerate()
            .filter(|(_, m)| !m.is_empty());
        let seen: Vec<usize> = seen.map(|(frame, _)| frame).collect();
        seen.windows(2).map(|pair| (pair[0], pair[1])).collect()
    }

    fn name(&self, frame: usize) -> &str {
        self.series
            .frames
            .get(frame)
            .map_or("", |frame| frame.frame.name())
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
