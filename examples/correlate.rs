//! Which call paths vary over the machine as this one does, apart from what is already known?
//!
//! `cargo run --release --example correlate -- data/recordings/jacobi-64 --metric "exclusive time"
//! --path "Working > radiation" --topology 4x4x4 --axes 1,0,0`

use perfkit::core::{
    CallPathId, CancelToken, CartMembers, LocationId, Metric, MetricId, Profile, ProfileMetric,
    Scope, Severities, ValueType,
};
use perfkit::spectral::{AxisFilter, AxisPower, Match, Missing, RankParams, Spectra, stored_rows};
use perfkit::topology::{AxisOrder, Place, Ranks, Shape, Topology, balanced, coordinates_in};
use perfkit_examples::cli::{self, Failure, Outcome, input};
use perfkit_examples::progress::Bar;
use perfkit_examples::recording;
use perfkit_examples::table::{self, shortened};
use serde_json::json;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: correlate FILE --path PATH [OPTIONS]

Lists the severity views of a profile by their correlation with one of them.

  FILE             a profile (.cubex, .cube, a TAU folder, .ppk) or an OTF2 archive
  --path PATH      the call path to compare with, written with ` > `, or its number
  --metric M       its metric; default: the first one
  --topology RULE  where locations lie: cube:NAME (a grid of the file), 7x7x7 (processes in order,
                   first axis fastest), node,process,thread, or table:FILE (a line a location, in
                   order, with its coordinates); default: the first grid of the file, else a
                   balanced one of three axes
  --axes 1,0,..    the weight of variation along each axis, from 0 to 1; default: all 1
  --same-metric    compare with views of the same metric only
  --top N          views to list, default 20
  --csv OUT        also write all views as a table
  --cube OUT       also write the profile as .cubex with the correlations as metrics of it
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
    same_metric: bool,
    top: usize,
    csv: Option<PathBuf>,
    cube: Option<PathBuf>,
    json: bool,
}

/// Where locations lie.
#[derive(Debug)]
enum Rule {
    Named(String),
    Lengths(Vec<usize>),
    Places(Vec<Place>),
    Table(PathBuf),
}

/// The work: arguments in, text out.
pub(crate) fn run(args: &[OsString], out: &mut dyn Write) -> Outcome {
    let asked = parse(args)?;
    let profile = recording::profile(&asked.file)?;
    let list = List::of(&profile, &asked)?;
    if let Some(path) = &asked.csv {
        let failed = |error| Failure::Input(format!("{}: {error}", path.display()));
        list.csv(&mut std::fs::File::create(path).map_err(failed)?)
            .map_err(failed)?;
    }
    if let Some(path) = &asked.cube {
        list.cube(path)?;
    }
    if asked.json {
        writeln!(out, "{}", list.json(asked.top))?;
    } else {
        writeln!(out, "{}", asked.file.display())?;
        list.text(asked.top, out)?;
    }
    Ok(())
}

fn parse(args: &[OsString]) -> Result<Asked, Failure> {
    use lexopt::prelude::*;
    let mut asked = Asked {
        top: 20,
        ..Asked::default()
    };
    let (mut file, mut path) = (None, None);
    let mut parser = lexopt::Parser::from_args(args);
    while let Some(arg) = parser.next()? {
        match arg {
            Long("metric") => asked.metric = Some(parser.value()?.string()?),
            Long("path") => path = Some(parser.value()?.string()?),
            Long("topology") => asked.rule = Some(rule(&parser.value()?.string()?)?),
            Long("axes") => asked.axes = Some(numbers(&parser.value()?.string()?, ',', "--axes")?),
            Long("same-metric") => asked.same_metric = true,
            Long("top") => asked.top = parser.value()?.parse()?,
            Long("csv") => asked.csv = Some(parser.value()?.into()),
            Long("cube") => asked.cube = Some(parser.value()?.into()),
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

fn rule(text: &str) -> Result<Rule, Failure> {
    if let Some(name) = text.strip_prefix("cube:") {
        return Ok(Rule::Named(name.into()));
    }
    if let Some(file) = text.strip_prefix("table:") {
        return Ok(Rule::Table(file.into()));
    }
    if text.starts_with(|letter: char| letter.is_ascii_digit()) {
        return Ok(Rule::Lengths(numbers(text, 'x', "--topology")?));
    }
    let place = |name: &str| match name.trim() {
        "node" => Ok(Place::Node),
        "process" => Ok(Place::Process),
        "thread" => Ok(Place::Thread),
        _ => Err(Failure::Usage(format!(
            "--topology {text}: `{name}` is no level of the machine"
        ))),
    };
    Ok(Rule::Places(
        text.split(',').map(place).collect::<Result<_, _>>()?,
    ))
}

/// Lays the locations of a profile over a grid.
fn topology(profile: &Profile, rule: Option<&Rule>) -> Result<Topology, Failure> {
    let system = profile.system();
    let usage = |error: perfkit::topology::Error| Failure::Usage(error.to_string());
    let cart = |cart: &perfkit::core::CartTopology| {
        let ranks = match cart.of {
            CartMembers::Groups => Ranks::Groups,
            CartMembers::Nodes => Ranks::Nodes,
            _ => Ranks::Locations,
        };
        Topology::from_cart(cart, ranks, system).map_err(input)
    };
    match rule {
        Some(Rule::Named(name)) => {
            let known = profile.topologies();
            let found = known.iter().find(|cart| cart.name == *name);
            let names: Vec<_> = known.iter().map(|cart| cart.name.as_str()).collect();
            let missing = || {
                let names = match names.is_empty() {
                    true => "it has none".into(),
                    false => format!("but: {}", names.join(", ")),
                };
                Failure::Input(format!("there is no grid `{name}` in the file; {names}"))
            };
            cart(found.ok_or_else(missing)?)
        }
        Some(Rule::Lengths(lens)) => {
            let shape = Shape::of(lens).map_err(usage)?;
            Ok(Topology::by_process(shape, AxisOrder::FirstFastest, system))
        }
        Some(Rule::Places(places)) => Topology::from_system(system, places).map_err(usage),
        Some(Rule::Table(file)) => table_of(file, system.locations().len()),
        None => match profile.topologies().first() {
            Some(first) => cart(first),
            None => {
                let shape = Shape::of(&balanced(system.groups().len().max(1), 3)).map_err(usage)?;
                Ok(Topology::by_process(shape, AxisOrder::FirstFastest, system))
            }
        },
    }
}

/// Coordinates from a file: a line a location, in order. The grid is as large as they need.
fn table_of(file: &Path, locations: usize) -> Result<Topology, Failure> {
    let wrong = |what: String| Failure::Input(format!("{}: {what}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    let mut all = Vec::new();
    for (at, line) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
    {
        let numbers = coordinates_in(line);
        let numbers = numbers.ok_or_else(|| wrong(format!("line {}: no coordinates", at + 1)))?;
        let axes = all.first().map_or(numbers.len(), Vec::len);
        if numbers.len() != axes {
            let count = numbers.len();
            let what = format!("{count} coordinates, {axes} in the lines before");
            return Err(wrong(format!("line {}: {what}", at + 1)));
        }
        all.push(numbers);
    }
    if all.len() > locations {
        let lines = all.len();
        return Err(wrong(format!("{lines} lines, but {locations} locations")));
    }
    let axes = all.iter().map(Vec::len).max().unwrap_or_default();
    let along = |axis: usize| all.iter().filter_map(move |at: &Vec<usize>| at.get(axis));
    let lens: Vec<usize> = (0..axes)
        .map(|axis| along(axis).max().map_or(1, |most| most.saturating_add(1)))
        .collect();
    let shape = Shape::of(&lens).map_err(|error| wrong(error.to_string()))?;
    let entries = all.iter().enumerate().filter_map(|(at, coordinates)| {
        Some((LocationId::from_index(at)?, coordinates.as_slice()))
    });
    Ok(Topology::from_table(shape, locations, entries))
}

/// The ordered list, and what it was made of.
#[derive(Debug)]
struct List<'a> {
    profile: &'a Profile,
    topology: Topology,
    axes: Vec<f64>,
    power: AxisPower,
    reference: (MetricId, CallPathId),
    rows: Vec<(MetricId, CallPathId)>,
    spectra: Spectra<f64>,
    matches: Vec<Match>,
}

impl<'a> List<'a> {
    fn of(profile: &'a Profile, asked: &Asked) -> Result<Self, Failure> {
        let metric = metric(profile, asked.metric.as_deref())?;
        let reference = (metric, call_path(profile, &asked.path)?);
        let topology = topology(profile, asked.rule.as_ref())?;
        let lens = topology.shape().lens();
        let axes = asked.axes.clone().unwrap_or_else(|| vec![1.0; lens.len()]);
        let usage = |error: perfkit::spectral::Error| Failure::Usage(error.to_string());
        let filter = AxisFilter::new(&axes).map_err(usage)?;
        let metrics: Vec<MetricId> = match asked.same_metric {
            true => vec![metric],
            false => (0..profile.metrics().len())
                .filter_map(MetricId::from_index)
                .collect(),
        };
        let mut rows = stored_rows(profile, &metrics);
        let own = rows.iter().position(|row| *row == reference);
        let own = own.unwrap_or_else(|| {
            rows.push(reference);
            rows.len() - 1
        });
        let (bar, cancel) = (Bar::new(), CancelToken::new());
        let mut builder = Spectra::<f64>::builder(&lens).map_err(usage)?;
        builder
            .add_rows(profile, &topology, &rows, Missing::Fill, &bar, &cancel)
            .map_err(input)?;
        let spectra = builder.finish();
        let params = RankParams::default().check().map_err(usage)?;
        let others: Vec<usize> = (0..rows.len()).filter(|view| *view != own).collect();
        let ranking = spectra
            .rank_among(own, &others, &filter, &params, &bar, &cancel)
            .map_err(usage)?;
        let power = spectra.axis_power(own).map_err(usage)?;
        let matches = ranking.matches;
        Ok(List {
            profile,
            topology,
            axes,
            power,
            reference,
            rows,
            spectra,
            matches,
        })
    }

    fn name(&self, (metric, path): (MetricId, CallPathId)) -> (String, String) {
        let metric = self.profile.metrics().get(metric.index());
        let metric = metric.map_or_else(String::new, |metric| metric.metric.name.clone());
        (
            metric,
            self.profile.calls().name(path, self.profile.regions()),
        )
    }

    fn row(&self, found: &Match) -> (MetricId, CallPathId) {
        self.rows.get(found.view).copied().unwrap_or(self.reference)
    }

    fn dims(&self) -> Vec<serde_json::Value> {
        let axes = self.topology.shape().axes().iter();
        axes.map(|axis| json!({ "name": axis.name, "len": axis.len, "periodic": axis.periodic }))
            .collect()
    }

    fn json(&self, top: usize) -> serde_json::Value {
        let (metric, path) = self.name(self.reference);
        let plan = self.spectra.plan();
        let views = self.matches.iter().take(top).map(|found| {
            let (metric, path) = self.name(self.row(found));
            let correlation = found.correlation;
            json!({
                "metric": metric,
                "path": path,
                "r": found.r(),
                "max": correlation.max.r,
                "max_shift": plan.shift(correlation.max),
                "min": correlation.min.r,
                "min_shift": plan.shift(correlation.min),
                "zero": correlation.zero,
                "pearson": found.pearson,
                "missing": found.missing,
            })
        });
        let check = self.topology.check();
        json!({
            "reference": { "metric": metric, "path": path },
            "axes": self.axes,
            "dims": self.topology.shape().lens(),
            "axis_names": self.dims(),
            "axis_power": self.power.share,
            "suggested_axes": self.power.rest().f(),
            "cells_missing": check.missing,
            "locations_unplaced": check.unplaced,
            "views": views.collect::<Vec<_>>(),
        })
    }

    /// The list as text.
    fn text(&self, top: usize, out: &mut dyn Write) -> Outcome {
        let (metric, path) = self.name(self.reference);
        let lens: Vec<String> = self
            .topology
            .shape()
            .lens()
            .iter()
            .map(usize::to_string)
            .collect();
        let check = self.topology.check();
        writeln!(out, "  reference   {metric} of {path}")?;
        writeln!(
            out,
            "  topology    {}, {} of {} locations placed, {} cells empty",
            format!("{} {}", lens.join(" x "), self.topology.name()).trim_end(),
            check.placed,
            check.locations,
            check.missing
        )?;
        let percent = |share: &f64| format!("{:.0} %", 100.0 * share);
        let shares: Vec<String> = self.power.share.iter().map(percent).collect();
        writeln!(out, "  its power   {} along the axes", shares.join(", "))?;
        if self.power.share.iter().all(|share| *share == 0.0) {
            writeln!(
                out,
                "  note        the reference is the same everywhere, so that nothing follows it"
            )?;
        }
        let text = |f: &[f64]| f.iter().map(f64::to_string).collect::<Vec<_>>().join(",");
        let rest = text(self.power.rest().f());
        writeln!(
            out,
            "  filter      {} (what lies behind: --axes {rest})",
            text(&self.axes)
        )?;
        let rows = self.matches.iter().take(top).map(|found| {
            let (metric, path) = self.name(self.row(found));
            let shift: Vec<String> = self
                .spectra
                .plan()
                .shift(found.peak)
                .iter()
                .map(usize::to_string)
                .collect();
            let pearson = found
                .pearson
                .map_or_else(String::new, |r| format!("{r:+.3}"));
            vec![
                format!("  {}", shortened(&path, 56)),
                metric,
                format!("{:+.3}", found.r()),
                shift.join(","),
                format!("{:+.3}", found.correlation.zero),
                pearson,
            ]
        });
        let head = [
            "  call path",
            "metric",
            "r",
            "shift",
            "unshifted",
            "Pearson",
        ];
        table::write(out, &head, &rows.collect::<Vec<_>>())?;
        Ok(())
    }

    /// All views as a table with a head, separated by commas.
    fn csv(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        let plan = self.spectra.plan();
        let shift = |peak| {
            let shift = plan
                .shift(peak)
                .iter()
                .map(usize::to_string)
                .collect::<Vec<_>>();
            shift.join(" ")
        };
        writeln!(
            out,
            "metric,path,r,max,max_shift,min,min_shift,zero,pearson"
        )?;
        for found in &self.matches {
            let (metric, path) = self.name(self.row(found));
            let correlation = found.correlation;
            writeln!(
                out,
                "{},{},{},{},{},{},{},{},{}",
                quoted(&metric),
                quoted(&path),
                found.r(),
                correlation.max.r,
                shift(correlation.max),
                correlation.min.r,
                shift(correlation.min),
                correlation.zero,
                found.pearson.unwrap_or_default(),
            )?;
        }
        Ok(())
    }

    /// The profile with one more metric for each that was compared: r_f of a call path, at the
    /// first location, so that its sum over locations is r_f.
    fn cube(&self, file: &Path) -> Outcome {
        let mut by_metric: BTreeMap<MetricId, Vec<(CallPathId, Severities)>> = BTreeMap::new();
        let locations = self.profile.system().locations().len();
        for found in &self.matches {
            let (metric, path) = self.row(found);
            let mut row = vec![0.0; locations];
            if let Some(first) = row.first_mut() {
                *first = found.r();
            }
            by_metric
                .entry(metric)
                .or_default()
                .push((path, Severities::F64(row)));
        }
        let mut profile = self.profile.clone();
        let (metric, path) = self.name(self.reference);
        for (of, rows) in by_metric {
            let (name, _) = self.name((of, self.reference.1));
            let about = ProfileMetric {
                metric: Metric {
                    name: format!("correlation of {name}"),
                    description: format!("r_f with {metric} of {path}, axes {:?}", self.axes),
                    unit: "1".into(),
                    value_type: ValueType::F64,
                    ..Default::default()
                },
                scope: Scope::Exclusive,
                ..Default::default()
            };
            (profile, _) = profile.with_metric(about, rows).map_err(input)?;
        }
        let failed = |error: std::io::Error| Failure::Input(format!("{}: {error}", file.display()));
        let to = std::io::BufWriter::new(std::fs::File::create(file).map_err(failed)?);
        perfkit::formats::cube::write(&profile, to, &Default::default()).map_err(input)?;
        Ok(())
    }
}

fn metric(profile: &Profile, name: Option<&str>) -> Result<MetricId, Failure> {
    let Some(name) = name else {
        let first = (!profile.metrics().is_empty()).then_some(MetricId(0));
        return first.ok_or_else(|| Failure::Input("the profile has no metric".into()));
    };
    profile.metric(name).ok_or_else(|| {
        let names = profile
            .metrics()
            .iter()
            .map(|metric| metric.metric.name.as_str());
        let names = names.collect::<Vec<_>>().join(", ");
        Failure::Input(format!(
            "--metric {name}: there is none of that name, but: {names}"
        ))
    })
}

/// A call path by number or by the names of its regions.
fn call_path(profile: &Profile, text: &str) -> Result<CallPathId, Failure> {
    let count = profile.calls().paths().len();
    let missing = || {
        let name = |at| profile.calls().name(at, profile.regions());
        let all = (0..count).filter_map(CallPathId::from_index).map(name);
        let alike = all.filter(|name| name.contains(text)).take(3);
        let alike = alike.collect::<Vec<_>>().join("`, `");
        let hint = match alike.is_empty() {
            true => format!("there are {count}, from number 0 on"),
            false => format!("but `{alike}`"),
        };
        Failure::Input(format!("--path {text}: there is no such call path; {hint}"))
    };
    if let Ok(number) = text.parse::<u32>() {
        let known = (number as usize) < count;
        return known.then_some(CallPathId(number)).ok_or_else(missing);
    }
    let named = |path: &CallPathId| profile.calls().name(*path, profile.regions()) == text;
    (0..count)
        .filter_map(CallPathId::from_index)
        .find(named)
        .ok_or_else(missing)
}
