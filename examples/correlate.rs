//! Which call paths vary over the machine as this one does, apart from what is already known?
//!
//! `cargo run --release --example correlate -- data/recordings/jacobi-64 --metric "exclusive time"
//! --path "Working > radiation" --topology 4x4x4 --axes 1,0,0`

#[path = "correlate/drawn.rs"]
mod drawn;
#[path = "correlate/grid.rs"]
mod grid;
#[path = "correlate/list.rs"]
mod list;
#[path = "correlate/results.rs"]
mod results;

use grid::Rule;
use list::List;
use perfkit::core::{CallPathId, MetricId, Profile};
use perfkit::view::{Scene, Section, Theme};
use perfkit_examples::cli::{self, Failure, Outcome};
use perfkit_examples::drawn::Files;
use perfkit_examples::names::near;
use perfkit_examples::{findings, output, recording};
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "usage: correlate FILE --path PATH [OPTIONS]

Lists the severity views of a profile by their correlation with one of them.

  FILE             a profile (.cubex, .cube, a TAU folder, .ppk), or a recording with events, whose calls
                   make one: OTF2 archive, Paraver trace (.prv), Chrome/Kineto JSON, rocprofv3 JSON,
                   streams (.tsv, .ndjson, .bp); with the feature `nsys` an export of Nsight Systems
  --path PATH      the call path to compare with, written with ` > `, or its number
  --metric M       its metric; default: the first one
  --topology RULE  where locations lie: cube:NAME (a grid of the file, by name or number), 7x7x7
                   (processes in order, first axis fastest), node,process,thread, table:FILE (a
                   line a location, in order, with its coordinates), or metadata:NAME (a property
                   with coordinates, such as BGP Coords); default: the first grid of the file with
                   several axes, else its first, else a balanced one of three axes, which is a
                   guess. A default grid on which fewer than 8 cells hold locations is refused, and
                   a guessed one with unequal numbers of locations in its cells
  --axes 1,0,..    the weight of variation along each axis, from 0 to 1: 1,1,.. filters nothing away
                   and 0,0,.. everything; default: all 1
  --paper          order by the largest r over all shifts, as the text of the paper says; opposites are
                   then low in the list; default: by the largest |r|
  --tolerance S    share within which magnitudes of r count as equal, from 0 to below 1, default 0.01: of
                   equal ones the smallest shift is reported; with 0 always the largest |r|
  --same-metric    compare with views of the same metric only
  --surrogates N   also tell how likely each correlation is by chance, from N random references of
                   the same spectrum; takes N transforms a view
  --top N          views to list, default 20
  --memory GIB     memory budget of spectra and surrogates, default 4: more is refused
  --csv OUT        also write all views as a table
  --cube OUT       also write the profile as .cubex, with the largest and the smallest correlation of
                   each call path as two metrics (\"correlation of M\", \"anticorrelation of M\")
  --png OUT        also draw both grids, that of the path and of what correlates most, as the weights of
                   --axes let them pass
  --html OUT       also write a page: cubes to turn, and the list for this choice of axes and for others
  --json           one JSON object instead of text";

fn main() -> ExitCode {
    cli::main(USAGE, run)
}

/// What was asked for.
#[derive(Debug, Default)]
struct Asked {
    file: PathBuf,
    metric: Option<String>,
    path: String,
    rule: Option<Rule>,
    axes: Option<Vec<f64>>,
    paper: bool,
    tolerance: Option<f64>,
    same_metric: bool,
    surrogates: Option<usize>,
    top: usize,
    /// Memory budget of the spectra, in GiB.
    memory: f64,
    csv: Option<PathBuf>,
    cube: Option<PathBuf>,
    files: Files,
    json: bool,
}

/// The work: arguments in, text out.
pub(crate) fn run(args: &[OsString], out: &mut dyn Write) -> Outcome {
    let asked = parse(args)?;
    for written in asked.csv.iter().chain(&asked.cube).chain(asked.files.all()) {
        cli::spare(&asked.file, written)?;
    }
    let opened = recording::profile(&asked.file)?;
    findings::tell(&opened.diagnostics, &opened.counts);
    let list = List::of(&opened.profile, &asked)?;
    for note in list.notes(asked.top) {
        cli::say(&format!("note: {note}"));
    }
    if let Some(path) = &asked.csv {
        output::whole(path, |to| Ok(list.csv(to)?))?;
    }
    if let Some(path) = &asked.cube {
        let archive = (opened.format == "cube").then_some(asked.file.as_path());
        output::whole(path, |to| {
            let lost = results::write(&opened.profile, &list, archive, to)?;
            findings::tell(&lost, &Default::default());
            Ok(())
        })?;
    }
    let title = title(&asked);
    let scene = || list.scene(&title, Theme::light());
    let sections = || {
        let chances = list.chances_section(drawn::TOP);
        Ok([list.section(&title)?].into_iter().chain(chances).collect())
    };
    asked.files.write(&title, scene, sections)?;
    if asked.json {
        let mut object = list.json(asked.top);
        object["findings"] = findings::json(&opened.diagnostics);
        object["mended_frames"] = findings::mended_json(&opened.counts);
        writeln!(out, "{object}")?;
    } else {
        writeln!(out, "{}", asked.file.display())?;
        list.text(asked.top, out)?;
    }
    Ok(())
}

fn title(asked: &Asked) -> String {
    let name = perfkit_examples::drawn::name(&asked.file);
    format!("{name}: what varies as {} does", asked.path)
}

/// The part of a page, with a heading.
#[allow(dead_code, reason = "for the report of the tour")]
pub(crate) fn section(args: &[OsString], heading: &str) -> Result<Section, Failure> {
    let asked = parse(args)?;
    let opened = recording::profile(&asked.file)?;
    List::of(&opened.profile, &asked)?.section(heading)
}

/// The picture on light and on dark paper.
#[allow(dead_code, reason = "for the report of the tour")]
pub(crate) fn scenes(args: &[OsString], title: &str) -> Result<[Scene; 2], Failure> {
    let asked = parse(args)?;
    let opened = recording::profile(&asked.file)?;
    let list = List::of(&opened.profile, &asked)?;
    Ok([
        list.scene(title, Theme::light())?,
        list.scene(title, Theme::dark())?,
    ])
}

fn parse(args: &[OsString]) -> Result<Asked, Failure> {
    use lexopt::prelude::*;
    let mut asked = Asked {
        top: 20,
        memory: 4.0,
        ..Asked::default()
    };
    let (mut file, mut path) = (None, None);
    let mut parser = lexopt::Parser::from_args(args);
    while let Some(arg) = parser.next()? {
        match arg {
            Long("metric") => asked.metric = Some(parser.value()?.string()?),
            Long("path") => path = Some(parser.value()?.string()?),
            Long("topology") => asked.rule = Some(parser.value()?.string()?.parse()?),
            Long("axes") => asked.axes = Some(numbers(&parser.value()?.string()?, ',', "--axes")?),
            Long("paper") => asked.paper = true,
            Long("tolerance") => asked.tolerance = Some(cli::number("tolerance", &mut parser)?),
            Long("same-metric") => asked.same_metric = true,
            Long("surrogates") => asked.surrogates = Some(cli::number("surrogates", &mut parser)?),
            Long("top") => asked.top = cli::number("top", &mut parser)?,
            Long("memory") => {
                let memory = cli::number("memory", &mut parser)?;
                asked.memory = positive("--memory", memory)?;
            }
            Long("csv") => asked.csv = Some(parser.value()?.into()),
            Long("cube") => asked.cube = Some(parser.value()?.into()),
            Long("png") => asked.files.png = Some(parser.value()?.into()),
            Long("html") => asked.files.html = Some(parser.value()?.into()),
            Long("json") => asked.json = true,
            Short('h') | Long("help") => return Err(Failure::Help),
            Value(path) if file.is_none() => file = Some(PathBuf::from(path)),
            other => return Err(other.unexpected().into()),
        }
    }
    asked.file = file.ok_or_else(|| Failure::Usage("which file?".into()))?;
    asked.path = path.ok_or_else(|| Failure::Usage("which call path? give --path".into()))?;
    Ok(asked)
}

fn numbers<T: std::str::FromStr>(text: &str, between: char, what: &str) -> Result<Vec<T>, Failure> {
    let wrong = |_| {
        Failure::Usage(format!(
            "{what} {text}: not numbers with `{between}` between"
        ))
    };
    text.split(between)
        .map(|word| word.trim().parse().map_err(wrong))
        .collect()
}

fn positive(option: &str, value: f64) -> Result<f64, Failure> {
    let is_valid = value.is_finite() && value > 0.0;
    let error = || Failure::Usage(format!("{option} {value}: not a number above 0"));
    is_valid.then_some(value).ok_or_else(error)
}

fn metric(profile: &Profile, name: Option<&str>) -> Result<MetricId, Failure> {
    let Some(name) = name else {
        let first = (!profile.metrics().is_empty()).then_some(MetricId(0));
        return first.ok_or_else(|| Failure::Input("the profile has no metric".into()));
    };
    profile.metric(name).ok_or_else(|| {
        let names = || {
            let metrics = profile.metrics().iter();
            metrics.map(|metric| metric.metric.name.as_str())
        };
        let mut alike = near(name, names(), 12);
        if alike.is_empty() {
            alike = names().take(12).collect();
        }
        let shown: Vec<_> = alike.iter().map(|name| format!("`{name}`")).collect();
        let more = match profile.metrics().len() - shown.len() {
            0 => String::new(),
            more => format!("; {more} others"),
        };
        let shown = shown.join(", ");
        Failure::Input(format!(
            "--metric {name}: there is none of that name, but {shown}{more}"
        ))
    })
}

/// A call path by number or by the names of its regions.
fn call_path(profile: &Profile, text: &str) -> Result<CallPathId, Failure> {
    let count = profile.calls().paths().len();
    let ids = || (0..count).filter_map(CallPathId::from_index);
    let name = |at| profile.calls().name(at, profile.regions());
    if let Ok(number) = text.parse::<u32>() {
        let known = (number as usize) < count;
        return known.then_some(CallPathId(number)).ok_or_else(|| {
            let what = match count.checked_sub(1) {
                Some(last) => format!("numbers go from 0 to {last}"),
                None => "the profile has none".into(),
            };
            Failure::Input(format!(
                "--path {number}: there is no such call path; {what}"
            ))
        });
    }
    let same: Vec<_> = ids().filter(|path| name(*path) == text).take(3).collect();
    match same.as_slice() {
        [path] => return Ok(*path),
        [] => {}
        [path, others @ ..] => {
            // Files may tell call sites apart that have the same names.
            let others: Vec<_> = others.iter().map(|path| path.0.to_string()).collect();
            let (first, others) = (path.0, others.join(", "));
            cli::say(&format!(
                "note: --path {text} is call path {first}, and {others} is of that name too"
            ));
            return Ok(*path);
        }
    }
    let names: Vec<String> = ids().map(name).collect();
    // Whole paths that hold the text or are like it, else those that end in what it ends in.
    let last = text.rsplit(" > ").next().unwrap_or(text);
    let named = |part: &str| near(part, names.iter().map(String::as_str), 3);
    let mut alike = named(text);
    if alike.is_empty() {
        alike = named(last);
    }
    if alike.is_empty() {
        let ends = names.iter().filter_map(|name| name.rsplit(" > ").next());
        let ends = near(last, ends, 1);
        let is_end = |name: &&str| ends.iter().any(|end| name.ends_with(end));
        alike = names
            .iter()
            .map(String::as_str)
            .filter(is_end)
            .take(3)
            .collect();
    }
    let shown = alike.iter().filter_map(|alike| {
        let at = names.iter().position(|name| name == alike)?;
        Some(format!("{at} `{alike}`"))
    });
    let first = names.first().map_or("", String::as_str);
    let hint = match alike.is_empty() {
        true => format!("there are {count}, numbered from 0 on, where 0 is `{first}`"),
        false => format!("but {}", shown.collect::<Vec<_>>().join(", ")),
    };
    Err(Failure::Input(format!(
        "--path {text}: there is no such call path; {hint}"
    )))
}
