//! Which phases of a program are the same from run to run, and how does each of them change?
//!
//! `cargo run --release --example track -- data/recordings/jacobi-4 data/recordings/jacobi-9
//! data/recordings/jacobi-16 --min-duration 100us`

#[path = "track/json.rs"]
mod json;

use perfkit::formats::paraver::Cluster;
use perfkit::track::track::{Event, Object};
use perfkit::track::trend::{Counters, Expect, Flag, TimeChange};
use perfkit::track::{Amount, Mode};
use perfkit_examples::cli::{self, Failure, Outcome};
use perfkit_examples::frames::Axis;
use perfkit_examples::recording::parse_time;
use perfkit_examples::scatter::{picture, short};
use perfkit_examples::series::{self, Options, Series};
use perfkit_examples::table::{self, grouped};
use perfkit_examples::{colouring, left_out, like, radius};
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "usage: track TRACE... [OPTIONS]

Clusters the CPU bursts of recordings, and tracks the clusters from one to the next.

  TRACE...            recordings in their order: OTF2 archives, Paraver traces, and tables of bursts
                      with their clusters (.DATA.csv of the established tool), which are not clustered
  --metrics A,B       the axes of the space; default: ipc,instructions where the recording has them,
                      else durations and its first counter
  --eps E|auto        radius of a dense neighbourhood in that space; default: found, one for all
                      frames that share a space
  --min-points N      points of a dense neighbourhood, default 4
  --min-duration T    leaves shorter bursts out, default 1ms
  --windows N         cuts each recording into N windows of time
  --like FILE.xml     metrics, filters, radius and points of the established tool's file, and
                      --mode published; what is given besides goes before it
  --mode M            optimal (default), or published: every step as in the literature and its tools:
                      each frame has its own space, objects are closures of links of 15 %
  --whole             does not split clusters whose call sites another frame tells apart
  --top N             objects to list, default 10
  --csv OUT           also writes every metric of every object and frame as a table
  --svg OUT           also draws frames, trends and an animation
  --png OUT           also draws frames and trends
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
    svg: Option<PathBuf>,
    png: Option<PathBuf>,
    recolour: Option<PathBuf>,
    json: bool,
}

/// The work: arguments in, text out.
pub(crate) fn run(args: &[OsString], out: &mut dyn Write) -> Outcome {
    let asked = parse(args)?;
    let series = series::track(&asked.paths, &asked.options)?;
    let failed = |path: &PathBuf| {
        let path = path.display().to_string();
        move |error: std::io::Error| Failure::Input(format!("{path}: {error}"))
    };
    if let Some(path) = &asked.csv {
        let mut table = Vec::new();
        series.trends.write_csv(&mut table).map_err(failed(path))?;
        std::fs::write(path, table).map_err(failed(path))?;
    }
    let title = format!(
        "{} objects in {} frames",
        series.tracking.objects.len(),
        series.frames.len()
    );
    if let Some(path) = &asked.svg {
        std::fs::write(path, picture(&series, &title).svg()).map_err(failed(path))?;
    }
    if let Some(path) = &asked.png {
        let canvas = picture(&series, &title).canvas();
        let canvas = canvas.map_err(|error| Failure::Usage(error.to_string()))?;
        canvas.save(path).map_err(failed(path))?;
    }
    if let Some(folder) = &asked.recolour {
        recolour(&series, folder)?;
    }
    let report = Report::of(&series)?;
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
                options.axes = Axis::list(&parser.value()?.string()?);
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
            Long("min-points") => options.min_points = Some(parser.value()?.parse()?),
            Long("min-duration") => {
                options.min_duration = Some(parse_time(&parser.value()?.string()?)?);
            }
            Long("like") => {
                options.like = Some(like::definition(&PathBuf::from(parser.value()?))?);
            }
            Long("windows") => options.windows = parser.value()?.parse()?,
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
            Long("top") => asked.top = parser.value()?.parse()?,
            Long("csv") => asked.csv = Some(parser.value()?.into()),
            Long("svg") => asked.svg = Some(parser.value()?.into()),
            Long("png") => asked.png = Some(parser.value()?.into()),
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
}

impl<'s> Report<'s> {
    fn of(series: &'s Series) -> Result<Self, Failure> {
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
        })
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

    fn text(&self, top: usize, out: &mut dyn Write) -> Outcome {
        self.frames(out)?;
        self.radii(out)?;
        self.left_out(out)?;
        self.objects(top, out)?;
        if self.series.frames.len() < 2 {
            writeln!(
                out,
                "\none frame: there is nothing to track it to; give more recordings, or --windows N"
            )?;
            return Ok(());
        }
        self.why(top, out)?;
        self.changes(top, out)?;
        self.laws(top, out)?;
        self.worse(top, out)?;
        self.words(top, out)
    }

    fn frames(&self, out: &mut dyn Write) -> Outcome {
        writeln!(
            out,
            "frames, in the space of {}",
            self.series.metrics.join(" and ")
        )?;
        let frames = self.series.frames.iter().zip(&self.series.tracking.frames);
        let rows = frames.map(|(clustered, found)| {
            let all = found.clustered_time + found.noise_time;
            vec![
                found.name.clone(),
                found.tasks.to_string(),
                clustered.rows.len().to_string(),
                clustered
                    .eps
                    .map_or_else(|| "read".into(), |eps| format!("{eps:.3}")),
                (found.clusters - clustered.parts.len()).to_string(),
                clustered.parts.len().to_string(),
                percent(found.noise_time / all.max(f64::MIN_POSITIVE)),
                found
                    .score
                    .map_or_else(String::new, |score| format!("{score:.2}")),
                percent(found.coverage),
            ]
        });
        let head = [
            "frame",
            "tasks",
            "bursts",
            "eps",
            "clusters",
            "split off",
            "noise",
            "SPMD",
            "tracked",
        ];
        table::write(out, &head, &rows.collect::<Vec<_>>())?;
        Ok(())
    }

    /// How the radius was found.
    fn radii(&self, out: &mut dyn Write) -> Outcome {
        let found = self.series.frames.iter();
        let found: Vec<_> = found
            .filter_map(|of| Some((of.frame.name(), of.choice.as_ref()?)))
            .collect();
        if found.is_empty() {
            return Ok(());
        }
        let one = match self.series.frames.first().and_then(|of| of.eps) {
            Some(eps) if self.series.frames.iter().all(|of| of.eps == Some(eps)) => {
                format!(": the largest is taken for all, {eps:.4}")
            }
            _ => String::new(),
        };
        let frames = self.series.tracking.frames.iter();
        for frame in frames.filter(|of| of.noise_time > 0.1 * (of.noise_time + of.clustered_time)) {
            let all = frame.noise_time + frame.clustered_time;
            writeln!(
                out,
                "  {} of the time of {} is in no cluster: a larger --eps takes more of it in",
                percent(frame.noise_time / all),
                frame.name
            )?;
        }
        writeln!(
            out,
            "\nradius of a neighbourhood, as found for each frame{one}"
        )?;
        for (name, choice) in found {
            writeln!(out, "  {name}: {}", radius::sentence(choice))?;
        }
        Ok(())
    }

    /// Bursts of a frame that are no points, by the axis that keeps them from it.
    fn no_points(&self, frame: usize) -> Vec<(&str, Amount)> {
        let scaled = self.series.scaled.frames.get(frame);
        let amounts = scaled.map_or(&[][..], |scaled| &scaled.left_out);
        let all = self.series.metrics.iter().map(String::as_str).zip(amounts);
        let some = all.filter(|(_, amount)| amount.bursts > 0);
        some.map(|(name, amount)| (name, *amount)).collect()
    }

    /// What filters and axes left out of each recording.
    fn left_out(&self, out: &mut dyn Write) -> Outcome {
        let mut rows = Vec::new();
        for of in &self.series.recordings {
            for (why, amount) in left_out::reasons(&of.dropped) {
                let share = left_out::share(amount.time, of.dropped.found.time);
                let time = amount.time.to_string();
                rows.push(vec![
                    of.name.clone(),
                    why,
                    grouped(amount.bursts),
                    time,
                    percent(share),
                ]);
            }
        }
        for frame in 0..self.series.frames.len() {
            for (metric, amount) in self.no_points(frame) {
                let why = format!("no finite value or logarithm of {metric}");
                let (bursts, time) = (grouped(amount.bursts), amount.time.to_string());
                rows.push(vec![
                    self.name(frame).to_owned(),
                    why,
                    bursts,
                    time,
                    String::new(),
                ]);
            }
        }
        if rows.is_empty() {
            return Ok(());
        }
        writeln!(out)?;
        let head = ["left out of", "by", "bursts", "time", "share"];
        table::write(out, &head, &rows)?;
        Ok(())
    }

    fn objects(&self, top: usize, out: &mut dyn Write) -> Outcome {
        let objects = &self.series.tracking.objects;
        writeln!(
            out,
            "\nobjects by share of the time: clusters in each frame"
        )?;
        let rows = objects.iter().take(top).map(|object| {
            let mut row = vec![object.id.to_string()];
            for (members, share) in object.members.iter().zip(&object.share) {
                row.push(ids(members));
                row.push(if members.is_empty() {
                    String::new()
                } else {
                    percent(*share)
                });
            }
            row.push(format!("{:.2}", object.confidence));
            row
        });
        let rows: Vec<Vec<String>> = rows.collect();
        let mut head = vec!["object"];
        for frame in &self.series.tracking.frames {
            head.extend([frame.name.as_str(), "time"]);
        }
        head.push("confidence");
        table::write(out, &head, &rows)?;
        if objects.len() > top {
            writeln!(out, "  and {} more", objects.len() - top)?;
        }
        for object in objects.iter().take(top) {
            for event in &object.events {
                writeln!(out, "  object {} {}", object.id, self.event(event))?;
            }
        }
        for (frame, clustered) in self.series.frames.iter().enumerate() {
            let first = self.series.tracking.frames[frame].clusters - clustered.parts.len();
            for (index, of) in clustered.parts.iter().enumerate() {
                let name = self.name(frame);
                let id = first + index + 1;
                writeln!(
                    out,
                    "  {name}: cluster {id} was split off {of} by its callers"
                )?;
            }
        }
        for frame in self
            .series
            .tracking
            .frames
            .iter()
            .filter(|f| !f.untracked.is_empty())
        {
            writeln!(out, "  {}: untracked {}", frame.name, ids(&frame.untracked))?;
        }
        Ok(())
    }

    /// The weakest link of each object, and what every evaluator says of it.
    fn why(&self, top: usize, out: &mut dyn Write) -> Outcome {
        let linked = self.series.tracking.objects.iter().take(top);
        if linked.clone().all(|object| object.links.is_empty()) {
            return Ok(());
        }
        writeln!(out, "\nwhy: the weakest link of each object")?;
        for object in self.series.tracking.objects.iter().take(top) {
            let weakest = object
                .links
                .iter()
                .min_by(|a, b| a.confidence.total_cmp(&b.confidence));
            let Some(link) = weakest else { continue };
            let votes = link
                .votes
                .iter()
                .map(|(who, value)| format!("{who} {value:.2}"));
            let (from, to) = (self.name(link.from.0), self.name(link.to.0));
            writeln!(
                out,
                "  object {}: {} of {from} to {} of {to}, {:.2}: {}",
                object.id,
                link.from.1,
                link.to.1,
                link.confidence,
                votes.collect::<Vec<_>>().join(", ")
            )?;
        }
        Ok(())
    }

    fn event(&self, event: &Event) -> String {
        match event {
            Event::Birth { frame } => format!("begins in {}", self.name(*frame)),
            Event::Death { frame } => format!("ends after {}", self.name(*frame)),
            Event::Split { frame, from, into } => {
                format!("splits in {}: {from} into {}", self.name(*frame), ids(into))
            }
            Event::Merge { frame, from, into } => {
                format!("merges in {}: {} into {into}", self.name(*frame), ids(from))
            }
            Event::Gap { frame, hidden_in } => {
                let name = self.name(*frame);
                match hidden_in {
                    Some(host) => format!("is hidden in {name}: within cluster {host}"),
                    None => format!("is missing from {name}"),
                }
            }
            _ => String::new(),
        }
    }

    fn changes(&self, top: usize, out: &mut dyn Write) -> Outcome {
        let Some((work, _)) = &self.counters else {
            return Ok(());
        };
        let by_ipc = work == "instructions";
        let mut rows = Vec::new();
        for object in self.series.tracking.objects.iter().take(top) {
            for (from, to) in Self::steps(object) {
                let Some(change) = self.change(object, from, to) else {
                    continue;
                };
                let [more, slower, clock] = change.factors();
                let mut row = vec![
                    object.id.to_string(),
                    format!("{} -> {}", self.name(from), self.name(to)),
                    format!("{:.3}", change.time.exp()),
                    format!("{more:.3}"),
                    format!("{slower:.3}"),
                ];
                if by_ipc {
                    row.push(format!("{clock:.3}"));
                }
                rows.push(row);
            }
        }
        if rows.is_empty() {
            return Ok(());
        }
        writeln!(
            out,
            "\nfactors of the time of a burst: their product is that of the time"
        )?;
        let mut head = vec!["object", "from -> to", "time", work.as_str()];
        if by_ipc {
            head.extend(["IPC", "frequency"]);
        } else {
            head.push("rate");
        }
        table::write(out, &head, &rows)?;
        Ok(())
    }

    fn laws(&self, top: usize, out: &mut dyn Write) -> Outcome {
        let mut rows = Vec::new();
        for object in self.series.tracking.objects.iter().take(top) {
            for metric in self.metrics() {
                let Ok(Some(law)) = self.series.trends.fit(object.id, metric, 0.95) else {
                    continue;
                };
                let range = |interval: Option<(f64, f64)>, text: fn(f64) -> String| {
                    interval
                        .map_or_else(String::new, |(a, b)| format!("{} to {}", text(a), text(b)))
                };
                let next = self
                    .series
                    .trends
                    .next_tasks()
                    .map(|tasks| law.predict(tasks));
                let [value, interval] = next.map_or_else(Default::default, |next| {
                    [short(next.value), range(next.interval, short)]
                });
                rows.push(vec![
                    object.id.to_string(),
                    metric.to_owned(),
                    format!("{:+.2}", law.exponent),
                    range(law.interval, |v| format!("{v:+.2}")),
                    value,
                    interval,
                ]);
            }
        }
        let Some(next) = self.series.trends.next_tasks().filter(|_| !rows.is_empty()) else {
            return Ok(());
        };
        writeln!(
            out,
            "\npower laws over tasks, with 95 % intervals, and what they say of {next:.0}"
        )?;
        let head = [
            "object", "metric", "exponent", "interval", "next", "interval",
        ];
        table::write(out, &head, &rows)?;
        Ok(())
    }

    /// Durations and the axes of the space.
    fn metrics(&self) -> Vec<&str> {
        let axes = self.series.metrics.iter().map(String::as_str);
        let mut metrics = vec!["duration"];
        metrics.extend(axes.filter(|name| *name != "duration"));
        metrics
    }

    /// The objects that are in all frames, in words.
    fn words(&self, top: usize, out: &mut dyn Write) -> Outcome {
        let (report, series) = (self, self.series);
        let mut is_first = true;
        let last = series.frames.len().saturating_sub(1);
        let first = report.name(0);
        let whole = series
            .tracking
            .objects
            .iter()
            .take(top)
            .filter(|o| o.frames() == series.frames.len());
        for object in whole {
            let Some(change) = report.change(object, 0, last) else {
                continue;
            };
            let Some((work, _)) = &report.counters else {
                continue;
            };
            let law = series.trends.fit(object.id, work, 0.95).ok().flatten();
            let Some(law) = law else { continue };
            let [_, slower, clock] = change.factors();
            let rate = slower * clock;
            if std::mem::take(&mut is_first) {
                writeln!(out, "\nin words")?;
            }
            writeln!(
                out,
                "  object {} ({} of the time in {}): {work} goes as tasks to the power of {:.2}, {}; \
             {}.",
                object.id,
                percent(object.share.last().copied().unwrap_or_default()),
                report.name(last),
                law.exponent,
                match law.exponent {
                    ..-0.9 => "so the tasks divide it",
                    -0.9..-0.1 => "so a part of it is replicated",
                    _ => "so more tasks do not divide it",
                },
                match rate {
                    1.05.. => format!(
                        "a unit of it takes {:.0} % longer than in {first}",
                        100.0 * rate - 100.0
                    ),
                    ..0.95 => format!(
                        "a unit of it takes {:.0} % less than in {first}",
                        100.0 - 100.0 * rate
                    ),
                    _ => format!("a unit of it takes as long as in {first}, within 5 %"),
                }
            )?;
        }
        Ok(())
    }
    fn worse(&self, top: usize, out: &mut dyn Write) -> Outcome {
        let flags: Vec<&Flag> = self
            .flags
            .iter()
            .filter(|flag| flag.object.0 as usize <= top)
            .collect();
        if flags.is_empty() {
            return Ok(());
        }
        writeln!(out, "\nworse by more than 5 %")?;
        for flag in flags {
            let by_tasks = if flag.by_tasks { " times tasks" } else { "" };
            writeln!(
                out,
                "  object {}: {}{by_tasks} x {:.2} from {} to {}",
                flag.object,
                flag.metric,
                flag.factor,
                self.name(flag.from),
                self.name(flag.to),
            )?;
        }
        Ok(())
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
