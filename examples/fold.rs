//! The folded timeline of a recording: many streams in few rows.
//!
//! `cargo run --release --example fold -- data/recordings/jacobi-16 --op diff --png fold.png`

use perfkit::core::{CancelToken, Nanos, TimeRange};
use perfkit::fold::{
    Cell, ClassId, Fold, Folder, GroupBy, Groups, Op, RegionGroups, RegionMap, Selection, State,
    Timelines, Usage, Value as Shown,
};
use perfkit::formats::chrome;
use perfkit::view::{Scene, timeline::Picture};
use perfkit_examples::cli::{self, Failure, Outcome, input};
use perfkit_examples::drawn::{self, Files};
use perfkit_examples::findings;
use perfkit_examples::names::near;
use perfkit_examples::progress::Bar;
use perfkit_examples::recording::{self, Recording, parse_time};
use perfkit_examples::table::{counted, shortened};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: fold FILE... [OPTIONS]

Prints the folded timeline of a recording. Several files are several ranks of one job, all of one
format: Chrome JSON, rocprofv3 or Nsight Systems.

  FILE              a recording with events: OTF2 (its anchor, .otf2, or its folder), Paraver (.prv),
                    Chrome/Kineto JSON, rocprofv3 JSON, streams (.tsv, .ndjson, .bp); with the feature
                    `nsys` an export of Nsight Systems
  --by LEVEL        rows: all (default), node, process, device, location
  --op OP           max, min, diff, idle, share, entropy, any=STATE, count=STATE or outliers=K;
                    default: idle for accelerator streams, max for all else
  --exact           count the time in each state instead of sampling each pixel's centre
  --group NAME=GLOB regions whose names match become one state NAME, such as MPI=MPI_*; repeatable
  --depth D         the state is the frame at depth D (0 is the outermost), not the innermost one
  --from T, --to T  the window, in the times `inspect` prints: 1.5s, 20ms, 7us, 12ns
  --columns N       pixels of a row, default 1200
  --png OUT         also draw it
  --svg OUT         the same as SVG
  --html OUT        also write a page in which rows unfold, with the window and messages
  --title TEXT      what stands above the picture
  --chrome OUT      also write it as Chrome JSON, which chrome://tracing, Perfetto and others open
  --json            one JSON object instead of text";

fn main() -> ExitCode {
    cli::main(USAGE, run)
}

/// What was asked for.
#[derive(Debug, Default)]
struct Asked {
    files: Vec<PathBuf>,
    by: GroupBy,
    op: Option<(String, Operation)>,
    exact: bool,
    groups: Vec<(String, String)>,
    depth: Option<usize>,
    from: Option<Nanos>,
    to: Option<Nanos>,
    columns: usize,
    drawn: Files,
    title: Option<String>,
    chrome: Option<PathBuf>,
    json: bool,
}

impl Asked {
    fn names(&self) -> String {
        let names = self.files.iter().map(|it| it.display().to_string());
        names.collect::<Vec<_>>().join(", ")
    }

    /// The recording in a word: the first file, and how many follow.
    fn name(&self) -> String {
        let first = self
            .files
            .first()
            .map_or_else(String::new, |it| drawn::name(it));
        match self.files.len() {
            0 | 1 => first,
            all => format!("{first} and {} more", all - 1),
        }
    }

    /// What stands above the picture.
    fn title(&self, op: &str) -> String {
        let sentence = || format!("{}: {}", self.name(), drawn::words(op));
        self.title.clone().unwrap_or_else(sentence)
    }
}

/// The work: arguments in, text out.
pub(crate) fn run(args: &[OsString], out: &mut dyn Write) -> Outcome {
    let asked = parse(args)?;
    let recording = recording::open_ranks(&asked.files)?;
    let view = View::of(&recording, &asked)?;
    findings::tell(&recording.diagnostics, &view.folder.timelines().repairs());
    let name = asked.name();
    let title = asked.title(&view.op);
    asked.drawn.write(
        &name,
        || view.scene(&title),
        || {
            let (timelines, groups) = (view.folder.timelines(), view.folder.groups().clone());
            let of = (&recording.trace, timelines);
            let window = view.fold.window();
            let section = drawn::timeline(of, (groups, view.chosen), window, (&title, "timeline"))?;
            Ok(vec![section])
        },
    )?;
    if let Some(path) = &asked.chrome {
        view.export(path)?;
    }
    if asked.json {
        writeln!(out, "{}", view.json())?;
    } else {
        writeln!(out, "{}", asked.names())?;
        view.text(out)?;
    }
    Ok(())
}

fn parse(args: &[OsString]) -> Result<Asked, Failure> {
    use lexopt::prelude::*;
    let mut asked = Asked {
        by: GroupBy::All,
        columns: 1200,
        ..Asked::default()
    };
    let mut parser = lexopt::Parser::from_args(args);
    while let Some(arg) = parser.next()? {
        match arg {
            Long("by") => asked.by = level(&parser.value()?.string()?)?,
            Long("op") => {
                let name = parser.value()?.string()?;
                let operation = Operation::parse(&name)?;
                asked.op = Some((name, operation));
            }
            Long("exact") => asked.exact = true,
            Long("group") => {
                let rule = parser.value()?.string()?;
                let wrong = || Failure::Usage(format!("`{rule}` is not NAME=GLOB"));
                let (name, glob) = rule.split_once('=').ok_or_else(wrong)?;
                asked.groups.push((name.into(), glob.into()));
            }
            Long("depth") => asked.depth = Some(parser.value()?.parse()?),
            Long("from") => asked.from = Some(parse_time(&parser.value()?.string()?)?),
            Long("to") => asked.to = Some(parse_time(&parser.value()?.string()?)?),
            Long("columns") => asked.columns = parser.value()?.parse()?,
            Long("png") => asked.drawn.png = Some(parser.value()?.into()),
            Long("svg") => asked.drawn.svg = Some(parser.value()?.into()),
            Long("html") => asked.drawn.html = Some(parser.value()?.into()),
            Long("title") => asked.title = Some(parser.value()?.string()?),
            Long("chrome") => asked.chrome = Some(parser.value()?.into()),
            Long("json") => asked.json = true,
            Short('h') | Long("help") => return Err(Failure::Help),
            Value(path) => asked.files.push(PathBuf::from(path)),
            other => return Err(other.unexpected().into()),
        }
    }
    if asked.files.is_empty() {
        return Err(Failure::Usage("which file?".into()));
    }
    let params = Folder::params().columns(asked.columns);
    params
        .check()
        .map_err(|error| Failure::Usage(error.to_string()))?;
    Ok(asked)
}

fn level(name: &str) -> Result<GroupBy, Failure> {
    Ok(match name {
        "all" => GroupBy::All,
        "node" => GroupBy::Node,
        "process" => GroupBy::Process,
        "device" => GroupBy::Device,
        "location" => GroupBy::Location,
        _ => {
            return Err(Failure::Usage(format!(
                "--by {name}: not all, node, process, device or location"
            )));
        }
    })
}

/// An operation as it was asked for: states are names until the recording is read.
#[derive(Debug)]
enum Operation {
    Known(Op),
    Any(String),
    Count(String),
}

impl Operation {
    fn parse(name: &str) -> Result<Self, Failure> {
        let wrong = || Failure::Usage(format!("--op {name}: no such operation, see --help"));
        Ok(Operation::Known(match name.split_once('=') {
            Some(("any", state)) => return Ok(Operation::Any(state.into())),
            Some(("count", state)) => return Ok(Operation::Count(state.into())),
            Some(("outliers", most)) => Op::Outliers(most.parse().map_err(|_| wrong())?),
            Some(_) => return Err(wrong()),
            None => match name {
                "max" => Op::Max,
                "min" => Op::Min,
                "diff" => Op::Diff,
                "idle" => Op::Idle,
                "share" => Op::Share,
                "entropy" => Op::Entropy,
                _ => return Err(wrong()),
            },
        }))
    }

    fn find(&self, timelines: &Timelines) -> Result<Op, Failure> {
        let state = |name: &String| {
            let classes = timelines.classes();
            let known = || classes.names().iter().map(String::as_str);
            let alike = || match near(name, known(), 8) {
                none if none.is_empty() => known().take(8).collect(),
                alike => alike,
            };
            classes.id(name).ok_or_else(|| {
                let alike = alike().join("`, `");
                Failure::Usage(format!("--op: there is no state `{name}`, but `{alike}`"))
            })
        };
        Ok(match self {
            Operation::Known(op) => *op,
            Operation::Any(name) => Op::Any(state(name)?),
            Operation::Count(name) => Op::Count(state(name)?),
        })
    }
}

/// A fold with what is said about its rows.
#[derive(Debug)]
struct View {
    folder: Folder,
    fold: Fold,
    usage: Vec<Usage>,
    op: String,
    /// The operation, where one was asked for.
    chosen: Option<Op>,
}

impl View {
    fn of(recording: &Recording, asked: &Asked) -> Result<Self, Failure> {
        let trace = &recording.trace;
        let definitions = trace.definitions();
        let mut groups = RegionGroups::new();
        for (name, glob) in &asked.groups {
            groups = groups.name(name, glob);
        }
        let map: RegionMap = groups.plan(definitions).map_err(input)?;
        let map = asked.depth.map_or(map.clone(), |depth| map.at_depth(depth));
        let (bar, cancel) = (Bar::new(), CancelToken::new());
        let timelines = Timelines::with(trace.view(), &map, &bar, &cancel).map_err(input)?;
        let mut params = Folder::params().columns(asked.columns).instants(true);
        let chosen = match &asked.op {
            Some((_, operation)) => Some(operation.find(&timelines)?),
            None => None,
        };
        if let Some(op) = chosen {
            params = params.op(op);
        }
        if asked.exact {
            params = params.selection(Selection::Exact);
        }
        let usage_error = |error: perfkit::fold::Error| Failure::Usage(error.to_string());
        let groups = Groups::by(&timelines, asked.by);
        let folder = Folder::new(&timelines, groups, params.check().map_err(usage_error)?)
            .map_err(usage_error)?;
        let all = timelines.range();
        if all.is_empty() {
            return Err(Failure::Input(format!(
                "{}: no region is entered",
                asked.names()
            )));
        }
        let window = recording::window(all, definitions.clock, asked.from, asked.to)?;
        let mut fold = folder.empty();
        let mut scratch = folder.scratch();
        folder
            .refold_with(window, &mut scratch, &mut fold, &bar, &cancel)
            .map_err(input)?;
        let usage = folder.usage_with(window, &bar, &cancel).map_err(input)?;
        let op = asked
            .op
            .as_ref()
            .map_or("by kind", |(name, _)| name)
            .to_string();
        Ok(View {
            folder,
            fold,
            usage,
            op,
            chosen,
        })
    }

    fn times(&self, window: TimeRange) -> (Nanos, Nanos) {
        let clock = self.folder.timelines().clock();
        let nanos = |at| clock.nanos(at).unwrap_or_default();
        (nanos(window.start), nanos(window.end))
    }

    /// The share of a row's cells that paint each state.
    fn shares(&self, cells: &[Cell]) -> Vec<(ClassId, f64)> {
        let mut counts: BTreeMap<ClassId, usize> = BTreeMap::new();
        for class in cells.iter().filter_map(Cell::picture) {
            *counts.entry(class).or_default() += 1;
        }
        let all = cells.len().max(1) as f64;
        let mut shares: Vec<_> = counts
            .into_iter()
            .map(|(class, count)| (class, count as f64 / all))
            .collect();
        shares.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        shares
    }

    fn json(&self) -> serde_json::Value {
        let classes = self.fold.classes();
        let rows = self.fold.rows().zip(&self.usage).map(|(row, usage)| {
            let shares = self.shares(row.cells()).into_iter();
            let states: BTreeMap<_, _> = shares
                .map(|(class, share)| (classes.name(class), share))
                .collect();
            let numbers = row.cells().iter().filter_map(|cell| cell.value.number());
            let count = numbers.clone().count();
            let mean = numbers.map(f64::from).sum::<f64>() / count.max(1) as f64;
            json!({
                "group": row.label(),
                "kind": format!("{:?}", row.group().kind),
                "streams": row.streams(),
                "utilisation": usage.utilisation.utilisation(),
                "overlap": usage.utilisation.overlap_share(),
                "mean_concurrency": usage.utilisation.mean_concurrency(),
                "cells_idle": row.idle_cells(),
                "states": states,
                "time_shares": usage.named_classes(classes).collect::<BTreeMap<_, _>>(),
                "time_idle": usage.share_of(State::Idle),
                "time_absent": usage.share_of(State::Absent),
                "mean": (count > 0).then_some(mean),
            })
        });
        let (start, end) = self.times(self.fold.window());
        json!({
            "op": self.op,
            "start_ns": start.0,
            "end_ns": end.0,
            "columns": self.fold.columns(),
            "rows": rows.collect::<Vec<_>>(),
        })
    }

    fn text(&self, out: &mut dyn Write) -> Outcome {
        let (start, end) = self.times(self.fold.window());
        let streams: usize = self.fold.rows().map(|row| row.streams()).sum();
        let rows = self.folder.groups().rows().len();
        writeln!(
            out,
            "  {streams} streams in {}, {start} to {end}, op {}",
            counted(rows, "row"),
            self.op
        )?;
        let numbers = self
            .fold
            .cells()
            .iter()
            .filter_map(|cell| cell.value.number());
        let mut letters = Letters {
            largest: numbers.fold(0.0, f32::max),
            ..Letters::default()
        };
        let label = self
            .fold
            .rows()
            .map(|row| row.label().chars().count())
            .max();
        let label = label.unwrap_or_default().min(32);
        for (row, usage) in self.fold.rows().zip(&self.usage) {
            let strip: String = thinned(row.cells(), 80)
                .map(|cell| letters.of(cell.value))
                .collect();
            let busy = 100.0 * usage.utilisation.utilisation();
            let name = shortened(row.label(), 32);
            writeln!(out, "  {name:<label$} |{strip}| {busy:5.1} % busy")?;
        }
        let all = self.shares(self.fold.cells());
        for (class, share) in all {
            if let Some(letter) = letters.given.get(&class) {
                let (name, share) = (self.fold.classes().name(class), 100.0 * share);
                writeln!(out, "    {letter} {name:<40} {share:5.1} % of cells")?;
            }
        }
        for (sign, what) in [
            ('.', "in no region"),
            ('=', "all equal"),
            ('#', "other states"),
        ] {
            if letters.seen.contains(&sign) {
                writeln!(out, "    {sign} {what}")?;
            }
        }
        if letters.largest > 0.0 {
            writeln!(out, "    0 to 9: a digit is {:.2}", letters.largest / 9.0)?;
        }
        Ok(())
    }

    /// Writes the fold as Chrome JSON.
    fn export(&self, path: &Path) -> Outcome {
        let failed = |error: String| Failure::Input(format!("{}: {error}", path.display()));
        let trace = self.fold.to_trace().map_err(input)?;
        let file = std::fs::File::create(path).map_err(|error| failed(error.to_string()))?;
        let mut file = std::io::BufWriter::new(file);
        chrome::write(trace.view(), &mut file, &Bar::new(), &CancelToken::new())
            .map_err(|error| failed(error.to_string()))?;
        file.flush().map_err(|error| failed(error.to_string()))
    }

    fn scene(&self, title: &str) -> Result<Scene, Failure> {
        let picture = Picture::new(&self.folder, &self.fold).map_err(drawn::failed)?;
        Ok(picture.titled(title).scene())
    }
}

/// `count` cells of a row, evenly spaced.
fn thinned(cells: &[Cell], count: usize) -> impl Iterator<Item = &Cell> {
    (0..count).filter_map(move |at| cells.get((2 * at + 1) * cells.len() / (2 * count)))
}

/// Letters for states, in the order in which they appear, and digits for numbers.
#[derive(Debug, Default)]
struct Letters {
    given: BTreeMap<ClassId, char>,
    /// The number that is written as 9.
    largest: f32,
    seen: BTreeSet<char>,
}

impl Letters {
    fn of(&mut self, value: Shown) -> char {
        let sign = match (value.picture(), value) {
            (Some(class), _) => {
                let letters = ('A'..='Z').chain('a'..='z');
                let next = letters.clone().nth(self.given.len()).unwrap_or('#');
                *self.given.entry(class).or_insert(next)
            }
            (None, Shown::Uniform) => '=',
            (None, Shown::Number(number)) => {
                let share = number / self.largest.max(f32::MIN_POSITIVE);
                char::from_digit((9.0 * share).round() as u32, 10).unwrap_or('9')
            }
            _ => '.',
        };
        self.seen.insert(sign);
        sign
    }
}
