//! [`Files`]: options for picture and page files, and their writing; drawing that subcommands
//! share: folded timelines, page sections, tracking results, titles and units.

use crate::clocks;
use crate::failure::{Failure, Outcome, input, message};
use crate::output;
use crate::phases::experiments;
use crate::phases::series::Series;
use crate::progress::Bar;
use clap::Args;
use clap::builder::{PathBufValueParser, TypedValueParser};
use perfkit::core::{
    Column, Job, LocationKind, Messages, Nanos, TimeRange, Trace, Unify, match_messages,
};
use perfkit::fold::{
    Counter, Counters, FoldParams, Folder, GroupBy, GroupId, Groups, Line, Op, RegionGroups,
    RegionMap, Timelines,
};
use perfkit::track::{Bursts, ClusterId, ScaledExperiment};
use perfkit::view::track::Clusters;
use perfkit::view::{Anchor, Error, Mark, Page, Scene, Section, Theme, Unit, timeline};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// Options for the files to which a result is drawn.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Output files")]
pub struct Files {
    /// Write a page with the results and their pictures, in one file that needs no network
    #[arg(long, value_name = "OUT", value_parser = named("html"))]
    pub html: Option<PathBuf>,
    /// Draw the main result as a PNG picture
    #[arg(long, value_name = "OUT", value_parser = named("png"))]
    pub png: Option<PathBuf>,
    /// Draw the main result as an SVG picture
    #[arg(long, value_name = "OUT", value_parser = named("svg"))]
    pub svg: Option<PathBuf>,
}

/// Returns a parser of paths that refuses the extension of another kind of output file. Each kind has
/// its own option, and several can be written at a time.
fn named(kind: &'static str) -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(move |path| {
        let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
        let mut others = ["html", "png", "svg"].into_iter().filter(|it| *it != kind);
        match others.find(|other| extension == *other) {
            Some(other) => Err(format!("--{other} writes a file of this kind")),
            None => Ok(path),
        }
    })
}

impl Files {
    /// Returns `true` if no file is written.
    pub fn is_empty(&self) -> bool {
        self.html.is_none() && self.png.is_none() && self.svg.is_none()
    }

    /// Returns all files.
    pub fn all(&self) -> impl Iterator<Item = &PathBuf> {
        [&self.html, &self.png, &self.svg].into_iter().flatten()
    }

    /// Draws and writes the selected files. Picture files show `scene`; the page has a title and `sections`.
    ///
    /// # Errors
    /// Returns the errors of drawing, and [`Failure::Input`] if a file cannot be written.
    pub fn write(
        &self,
        title: &str,
        scene: impl Fn() -> Result<Scene, Failure>,
        sections: impl FnOnce() -> Result<Vec<Section>, Failure>,
    ) -> Outcome {
        if let Some(path) = &self.png {
            png(path, &scene()?)?;
        }
        if let Some(path) = &self.svg {
            svg(path, &scene()?)?;
        }
        if let Some(path) = &self.html {
            html(path, Page::new(title), sections()?)?;
        }
        Ok(())
    }
}

/// Writes a picture as PNG.
///
/// # Errors
/// Returns [`Failure::Usage`] if the picture is too large, and [`Failure::Input`] if the file
/// cannot be written.
pub fn png(path: &Path, scene: &Scene) -> Outcome {
    let bytes = scene.png().map_err(failed)?;
    output::whole(path, |to| Ok(to.write_all(&bytes)?))
}

/// Writes a picture as SVG.
///
/// # Errors
/// Returns [`Failure::Input`] if the file cannot be written.
pub fn svg(path: &Path, scene: &Scene) -> Outcome {
    output::whole(path, |to| Ok(to.write_all(scene.svg().as_bytes())?))
}

/// Writes a page as HTML.
///
/// # Errors
/// Returns [`Failure::Input`] if the file cannot be written.
pub fn html(path: &Path, page: Page, sections: Vec<Section>) -> Outcome {
    let page = sections.into_iter().fold(page, Page::with);
    output::whole(path, |to| {
        Ok(to.write_all(page.html(&Job::default()).map_err(failed)?.as_bytes())?)
    })
}

/// Converts a drawing error. An excessive size is a usage error, because sizes come from the
/// arguments. Any other error is an input error.
pub fn failed(error: Error) -> Failure {
    match error {
        Error::TooLarge { .. } => Failure::Usage(error.to_string()),
        other => Failure::Input(message(other)),
    }
}

/// Returns the name of a recording for titles: the name of its file or folder without the extension of
/// its format.
pub fn name(path: &Path) -> String {
    let name = experiments::name(path);
    let ends = [
        ".gz", ".json", ".jsonl", ".ndjson", ".tsv", ".sqlite", ".cubex", ".cube", ".ppk", ".bp",
    ];
    let cut = |name: String, end: &&str| match name.strip_suffix(*end) {
        Some(rest) if !rest.is_empty() => rest.to_string(),
        _ => name,
    };
    ends.iter().fold(name, cut)
}

/// Returns the timelines of a trace with one state for each function.
///
/// # Errors
/// Returns [`Failure::Input`] if the calls of the trace cannot be replayed.
pub fn timelines(trace: &Trace) -> Result<Timelines, Failure> {
    timelines_by(trace, Unify::default())
}

/// Returns the timelines of a trace. `unify` is the rule that decides which regions are one function.
///
/// # Errors
/// Returns the errors of [`timelines`].
pub fn timelines_by(trace: &Trace, unify: Unify) -> Result<Timelines, Failure> {
    let map = RegionGroups::new()
        .unify(unify)
        .plan(trace.definitions())
        .map_err(input)?;
    Timelines::new(trace.view(), &map, &Bar::job()).map_err(input)
}

/// Describes an operation as the end of a sentence.
pub fn words(op: &str) -> String {
    match op.split_once('=') {
        Some(("any", state)) => format!("any stream in {state}"),
        Some(("count", state)) => format!("number of streams in {state}"),
        Some((_, most)) => format!("at most {most} streams that differ from the rest"),
        None => String::from(match op {
            "max" => "state of most streams",
            "min" => "state of the fewest streams",
            "diff" => "cells in which streams differ",
            "idle" => "state of the active streams",
            "share" => "state with the most time",
            "entropy" => "entropy of the states",
            _ => "timeline of the streams",
        }),
    }
}

/// Returns a row for the streams of each device, without rows for threads and for annotations.
///
/// # Errors
/// Returns the errors of grouping.
pub fn device_rows(timelines: &Timelines) -> Result<Groups, Failure> {
    let groups = Groups::by(timelines, GroupBy::Device);
    let is_device = |id: &&GroupId| {
        let group = groups.get(**id);
        group.is_some_and(|group| group.kind == LocationKind::AcceleratorStream)
    };
    let rows: Vec<GroupId> = groups.rows().iter().filter(is_device).copied().collect();
    groups.with_rows(&rows).map_err(input)
}

/// Draws the fold of a window, by default of the whole recording. Without an operation, each kind of
/// row has its default operation. `picture` adapts the picture before it is drawn.
///
/// # Errors
/// Returns the errors of folding and drawing.
pub fn folded(
    timelines: &Timelines,
    (groups, op): (Groups, Option<Op>),
    (columns, window): (usize, Option<TimeRange>),
    picture: impl Fn(timeline::Picture<'_>) -> timeline::Picture<'_>,
) -> Result<Scene, Failure> {
    let params = Folder::params().columns(columns).instants(true);
    let params = op.map_or(params.clone(), |op| params.op(op));
    let folder = Folder::new(timelines, groups, params.check().map_err(input)?).map_err(input)?;
    let fold = folder
        .fold(window.unwrap_or(timelines.range()), &Job::default())
        .map_err(input)?;
    let found = timeline::Picture::new(&folder, &fold).map_err(failed)?;
    Ok(picture(found).scene())
}

/// Draws the timelines of all locations below one another, and below them the folds of all locations
/// with max, min and diff.
///
/// # Errors
/// Returns the errors of folding and drawing.
pub fn ranks(timelines: &Timelines, title: &str) -> Result<Scene, Failure> {
    let of = (Groups::by(timelines, GroupBy::Location), Some(Op::Max));
    let all = folded(timelines, of, (1440, None), |one| one.titled(title))?;
    let mut folds = Vec::new();
    for (words, op) in [
        ("max: state of most ranks", Op::Max),
        ("min: state of the fewest", Op::Min),
        ("diff: cells in which ranks differ", Op::Diff),
    ] {
        let of = (Groups::by(timelines, GroupBy::All), Some(op));
        folds.push(folded(timelines, of, (400, None), |one| {
            one.titled(words).legend(false)
        })?);
    }
    Ok(together(title, &all, &folds, Theme::light()))
}

/// Joins words to a command line, quoted for a shell.
pub fn shell<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./=,+:@%".contains(letter);
    let quoted = |word: &str| {
        if !word.is_empty() && word.chars().all(is_plain) {
            word.to_string()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    };
    let words: Vec<String> = words.into_iter().map(quoted).collect();
    words.join(" ")
}

/// Returns the `fold` command that writes a page of a timeline, without the options of the window.
/// Words are quoted for a shell.
pub fn fold_command<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    format!("perfkit fold {} --html closer.html", shell(words))
}

/// Largest number of rows of a picture, and of members into which a row of a page unfolds. More rows
/// are joined to blocks.
pub const MOST_ROWS: usize = 128;

/// Number of blocks of a picture, whose rows cannot be unfolded.
const PICTURE_BLOCKS: usize = 64;

/// Number of blocks of a page, which fit on a screen with their labels.
const PAGE_BLOCKS: usize = 32;

/// Joins rows that do not fit in a picture to blocks of neighbours.
pub fn in_blocks(groups: Groups) -> Groups {
    groups.in_blocks(MOST_ROWS, PICTURE_BLOCKS)
}

/// Joins rows that do not fit on a screen to blocks of neighbours, for a page that unfolds them.
pub fn in_page_blocks(groups: Groups) -> Groups {
    groups.in_blocks(MOST_ROWS, PAGE_BLOCKS)
}

/// Commands and rules of a page with a timeline.
#[derive(Clone, Debug, Default)]
pub struct More<'a> {
    /// Command that writes a page of another window, see
    /// [`View::command`](timeline::View::command); empty if the trace is not from a file.
    pub command: String,
    /// Command that serves an exact page.
    pub serve: Option<String>,
    /// Rules of the folds, if they are not the default.
    pub rules: Option<FoldParams>,
    /// Messages of the trace, if they are matched already.
    pub messages: Option<&'a Messages>,
    /// Counters below the rows; `None` for all counters of the trace.
    pub counters: Option<Vec<Counter>>,
    /// Call stacks of locations.
    pub calls: Calls<'a>,
}

/// Call stacks of a page with a timeline.
#[derive(Clone, Copy, Debug, Default)]
pub enum Calls<'a> {
    /// A frame is the function of its region.
    #[default]
    Functions,
    /// A frame is the state of its region.
    By(&'a RegionMap),
    /// None.
    Hidden,
}

impl More<'_> {
    /// Returns the command that writes a page of another window, with the default rules.
    pub fn command(command: &str) -> Self {
        More {
            command: command.into(),
            ..More::default()
        }
    }
}

/// Returns the section of a page with a timeline and the messages of the trace. A second section
/// follows if messages or collectives show that clocks disagree.
///
/// `has_own_spans` selects the span of busy shares, see
/// [`View::own_spans`](timeline::View::own_spans).
///
/// # Errors
/// Returns the errors of folding and drawing.
pub fn timeline(
    (trace, timelines): (&Trace, &Timelines),
    (groups, op): (Groups, Option<Op>),
    (window, has_own_spans): (TimeRange, bool),
    (heading, id): (&str, &str),
    more: More<'_>,
) -> Result<Vec<Section>, Failure> {
    let usual = [Op::Max, Op::Idle, Op::Diff, Op::Min, Op::Entropy];
    let usual = usual.into_iter().filter(|one| Some(*one) != op);
    let ops: Vec<Op> = op.into_iter().chain(usual).collect();
    let found = match more.messages {
        Some(found) => Cow::Borrowed(found),
        None => Cow::Owned(match_messages(trace.view(), &Bar::job()).map_err(input)?),
    };
    let counters = match more.counters {
        Some(counters) => counters,
        None => Counters::new(trace.view(), &Bar::job()).map_err(input)?.all,
    };
    let functions = match more.calls {
        Calls::Functions => Some(
            RegionGroups::new()
                .plan(trace.definitions())
                .map_err(input)?,
        ),
        _ => None,
    };
    let map = match more.calls {
        Calls::By(map) => Some(map),
        _ => functions.as_ref(),
    };
    let view = timeline::View::new(timelines, in_page_blocks(groups))
        .named(heading, id)
        .window(window)
        .own_spans(has_own_spans)
        .ops(&ops)
        .lines(Line::of(&found))
        .counters(counters)
        .budget(3 << 19);
    let view = match map {
        Some(map) => view.calls(trace.view(), map),
        None => view,
    };
    let view = match more.command.as_str() {
        "" => view,
        command => view.command(command),
    };
    let view = match more.serve {
        Some(command) => view.serve(command),
        None => view,
    };
    let view = match more.rules {
        Some(rules) => view.rules(rules),
        None => view,
    };
    let section = view.section(&Bar::job());
    let mut sections = vec![section.map_err(failed)?];
    // The command may ask for corrected clocks already.
    let can_correct = !more.command.is_empty() && !more.command.contains("--clocks");
    let remedy = can_correct.then(|| format!("{} --clocks correct", more.command));
    let said = clocks::remarks(&found.clock_violations(), trace, remedy.as_deref());
    if !said.is_empty() {
        let said: Vec<&str> = said.iter().map(String::as_str).collect();
        sections.push(Section::text(&format!("{id}-clocks"), "Clocks", &said));
    }
    Ok(sections)
}

/// Returns the results of tracking for drawing.
///
/// # Errors
/// Returns [`Failure`] if the parts of the series are inconsistent.
pub fn series(series: &Series) -> Result<Clusters, Failure> {
    let labels: Vec<&[ClusterId]> = series
        .experiments
        .iter()
        .map(|of| of.labels.as_slice())
        .collect();
    let found = Clusters::of(&series.tracking, &series.trends, &series.scaled, &labels);
    let mut found = found.map_err(failed)?;
    for (at, of) in series.experiments.iter().enumerate() {
        let drawn = found.timeline(at, of.experiment.bursts(), &of.rows, &Bar::job());
        found = drawn.map_err(failed)?;
    }
    Ok(found)
}

/// Adds the durations and all metrics of the bursts that are points of an experiment to `clusters`.
///
/// # Errors
/// Returns [`Failure`] if points and bursts are inconsistent.
pub fn metrics(clusters: &mut Clusters, bursts: &Bursts, experiment: &ScaledExperiment) -> Outcome {
    let of = |values: &[f64]| -> Vec<f64> {
        let row = |row: &u32| values[*row as usize];
        experiment.rows().iter().map(row).collect()
    };
    let mut add = |name: &str, unit: &str, values: &[f64]| {
        clusters.metric(name, unit, &of(values)).map_err(failed)
    };
    add("duration", "ns", &bursts.durations())?;
    let columns = bursts.columns().iter();
    for column in columns.filter(|column| column.name != "duration") {
        add(&column.name, &column.unit, &column.values)?;
    }
    Ok(())
}

/// Returns the unit in which values of a metric are printed, and the factor that converts values from
/// the unit `name` to it.
pub fn unit(name: &str) -> (Unit, f64) {
    match name {
        "ns" => (Unit::Nanos, 1.0),
        "usec" | "us" => (Unit::Nanos, 1e3),
        "sec" | "s" => (Unit::Nanos, 1e9),
        "bytes" | "B" => (Unit::Bytes, 1.0),
        _ => (Unit::Number, 1.0),
    }
}

/// Returns a column of values in the unit `name`. Times are those of a table, in nanoseconds, unless one
/// is past their range of 292 years; they are then numbers of seconds. Values that are not finite are
/// missing.
pub fn column(
    title: impl Into<Cow<'static, str>>,
    name: &str,
    values: impl IntoIterator<Item = Option<f64>>,
) -> Column {
    let (unit, factor) = unit(name);
    let scaled = |value: Option<f64>| Some(value? * factor).filter(|value| value.is_finite());
    let values: Vec<Option<f64>> = values.into_iter().map(scaled).collect();
    // The conversion of floating-point numbers to integers saturates.
    let is_time = |value: &f64| value.abs() < i64::MAX as f64;
    match unit {
        Unit::Nanos if values.iter().flatten().all(is_time) => {
            let nanos = |value: Option<f64>| value.map(|value| Nanos(value.round() as i64));
            Column::times(title, values.into_iter().map(nanos))
        }
        Unit::Nanos => {
            let seconds = values.into_iter().map(|value| value.map(|it| it / 1e9));
            Column::floats(title, "s", seconds)
        }
        Unit::Bytes => Column::floats(title, "B", values),
        _ => Column::floats(title, name.to_owned(), values),
    }
}

/// Creates a scene that consists of a title.
pub fn headed(title: &str, width: u32, theme: Theme) -> Scene {
    let mut head = Scene::new(width, 34, theme.paper);
    let mark = Mark::Title([16.0, 20.0], Anchor::Start, theme.ink, title.into());
    head.push(mark);
    head
}

/// Arranges several pictures in one: the first at full width, the others side by side below it.
pub fn together(title: &str, first: &Scene, others: &[Scene], theme: Theme) -> Scene {
    const GAP: f64 = 4.0;
    let below: f64 = others
        .iter()
        .map(|scene| f64::from(scene.width) + GAP)
        .sum();
    let high = others.iter().map(|scene| scene.height).max().unwrap_or(0);
    let width = f64::from(first.width).max(below);
    let mut all = Scene::new(width as u32, first.height + high, theme.paper);
    let said = std::iter::once(first)
        .chain(others)
        .map(|scene| scene.title.as_str());
    let said: Vec<&str> = said.filter(|words| !words.is_empty()).collect();
    all.title = format!("{title}. {}", said.join(". "));
    all.place(first, [0.0, 0.0]);
    let mut left = 0.0;
    for scene in others {
        all.place(scene, [left, f64::from(first.height)]);
        left += f64::from(scene.width) + GAP;
    }
    all
}

/// Returns a text with an upper-case first letter.
pub fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(letters).collect()
}
