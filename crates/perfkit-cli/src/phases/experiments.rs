//! Recordings as bursts: which metrics, what was left out, and what to say where nothing is left.

use crate::failure::{Failure, input};
use crate::phases::definition;
use crate::phases::skipped;
use crate::progress::Bar;
use crate::recording;
use perfkit::core::{Clock, Diagnostics, LocationId, Nanos, Trace, Unify};
use perfkit::formats::paraver;
use perfkit::formats::paraver::clustered::{Data, Definition};
use perfkit::track::{Bursts, Dropped, DurationCut, Error, Extract, Formula, Labels, Mode};
use std::path::{Path, PathBuf};

/// A metric that is an axis of the space.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// How it is computed.
    pub formula: String,
    /// Whether its logarithm is the coordinate.
    pub log: bool,
    /// How much it weighs.
    pub factor: f64,
    /// Bursts out of this range are left out.
    pub range: Option<(f64, f64)>,
}

impl Axis {
    /// An axis of a metric: ratios as they are, all else, which spans orders of magnitude, by its
    /// logarithm.
    pub fn of(formula: impl Into<String>) -> Self {
        let formula = formula.into();
        Axis {
            log: !(formula.eq_ignore_ascii_case("ipc") || formula.contains('/')),
            formula,
            factor: 1.0,
            range: None,
        }
    }

    /// The axes of a list with commas.
    ///
    /// # Errors
    /// [`Failure::Usage`] for a list of none.
    pub fn list(text: &str) -> Result<Vec<Self>, Failure> {
        let names = text.split(',').map(str::trim);
        let axes: Vec<Self> = names
            .filter(|name| !name.is_empty())
            .map(Axis::of)
            .collect();
        match axes.is_empty() {
            true => Err(Failure::Usage("--metrics: which?".into())),
            false => Ok(axes),
        }
    }

    /// What the metric is called.
    ///
    /// # Errors
    /// [`Failure::Usage`] for a formula that is none.
    pub fn name(&self) -> Result<String, Failure> {
        let formula = Formula::parse(&self.formula).map_err(usage)?;
        Ok(formula.name().to_owned())
    }
}

/// What bursts are made of.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The axes; empty for IPC and instructions where the recording has them, else durations and its
    /// first counter. What is chosen for the first recording holds for all.
    pub axes: Vec<Axis>,
    /// Instead of them, those of a definition of the established tool.
    pub like: Option<Definition>,
    /// Shorter bursts are dropped. If it is `None`, the first recording sets it to the largest
    /// duration below which bursts take at most 1 % of the CPU time.
    pub min_duration: Option<Nanos>,
    /// As published, or ours.
    pub mode: Mode,
    /// The rule that decides which regions are one function.
    pub unify: Unify,
    /// Whether the minimum duration was chosen from the bursts.
    pub is_chosen: bool,
}

/// A recording as bursts.
#[derive(Debug)]
pub struct Gathered {
    /// Its name.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
    /// Its bursts.
    pub bursts: Bursts,
    /// What was left out.
    pub dropped: Dropped,
    /// The cluster of each burst, where the file has them.
    pub labels: Option<Labels>,
    /// What the reader found.
    pub diagnostics: Diagnostics,
    /// The thread in a trace of Paraver of each thread of the bursts.
    pub objects: Vec<Option<paraver::Object>>,
    /// Its clock.
    pub clock: Clock,
}

/// Largest share of the CPU time that a minimum duration drops where none is given.
const DROPPED: f64 = 0.01;

/// Reads recordings, as [`gather`] does, with one minimum duration for all of them: where none is
/// given, in no recording more than 1 % of the CPU time is in shorter bursts. To find it, several
/// recordings are read twice, since together they may not fit in memory.
///
/// # Errors
/// Those of [`gather`].
pub fn gather_all(paths: &[PathBuf], wanted: &mut Wanted) -> Result<Vec<Gathered>, Failure> {
    if paths.len() > 1 && wanted.min_duration.is_none() {
        let mut cuts = Vec::new();
        for path in paths.iter().filter(|path| !Data::is_one(path)) {
            cuts.push(cut(
                &recording::open_by(path, wanted.unify)?.trace,
                &name(path),
            )?);
        }
        wanted.min_duration = Some(DurationCut::shared(&cuts));
        wanted.is_chosen = !cuts.is_empty();
    }
    paths.iter().map(|path| gather(path, wanted)).collect()
}

/// The minimum duration of the bursts of a trace.
fn cut(trace: &Trace, name: &str) -> Result<DurationCut, Failure> {
    let extract = Extract::default();
    let (bursts, _) = extracted(&extract, trace, name)?;
    DurationCut::of(&bursts, DROPPED).map_err(input)
}

/// Reads a recording, or a table of bursts of the established tool. Sets the axes if there are none,
/// and says on standard error what was left out and what the reader found.
///
/// # Errors
/// [`Failure::Input`] for recordings and where no burst is left, [`Failure::Usage`] for metrics that
/// they do not have.
pub fn gather(path: &Path, wanted: &mut Wanted) -> Result<Gathered, Failure> {
    let found = match Data::is_one(path) {
        true => definition::table(path, wanted)?,
        false => recorded(path, wanted)?,
    };
    skipped::tell(&found.name, &found.dropped, &found.diagnostics);
    if found.dropped.complete.bursts == 0 {
        return Err(Failure::Input(format!(
            "{}: no burst is left: {}",
            found.name,
            skipped::sentence(&found.dropped)
        )));
    }
    Ok(found)
}

fn recorded(path: &Path, wanted: &mut Wanted) -> Result<Gathered, Failure> {
    let recording = recording::open_by(path, wanted.unify)?;
    let trace = &recording.trace;
    if let Some(definition) = &wanted.like {
        wanted.axes = definition::axes(definition, path);
    } else if wanted.axes.is_empty() {
        wanted.axes = usual(trace)?.iter().map(Axis::of).collect();
    }
    let name = name(path);
    if wanted.min_duration.is_none() {
        wanted.min_duration = Some(cut(trace, &name)?.min);
        wanted.is_chosen = true;
    }
    let mut params = Extract::params()
        .min_duration(wanted.min_duration.unwrap_or_default())
        .all_counters(true);
    for axis in &wanted.axes {
        params = params.metric(axis.formula.as_str());
        if let Some((low, high)) = axis.range {
            params = params.range(axis.name()?, low, high);
        }
    }
    let extract = wanted.mode.extract(params).check().map_err(usage)?;
    let (bursts, dropped) = extracted(&extract, trace, &name)?;
    let system = &trace.definitions().system;
    let object = |id: LocationId| system.location(id).and_then(paraver::object_of);
    Ok(Gathered {
        objects: bursts
            .threads()
            .iter()
            .map(|of| object(of.location))
            .collect(),
        clock: trace.definitions().clock,
        name,
        path: path.to_owned(),
        bursts,
        dropped,
        labels: None,
        diagnostics: recording.diagnostics,
    })
}

fn extracted(extract: &Extract, trace: &Trace, name: &str) -> Result<(Bursts, Dropped), Failure> {
    let found = extract.extract(trace.view(), &Bar::job());
    found.map_err(|error| match error {
        Error::UnknownMetric { .. } | Error::NoRegion { .. } => {
            Failure::Usage(format!("{name}: {error}"))
        }
        other => input(other),
    })
}

/// IPC and instructions where bursts of the recording have them, else durations and the first
/// counter that any burst has.
///
/// # Errors
/// None but that nothing can be extracted at all.
pub fn usual(trace: &Trace) -> Result<Vec<String>, Failure> {
    let known = ["ipc", "instructions"].map(String::from).to_vec();
    let mut params = Extract::params();
    for name in &known {
        params = params.metric(name.as_str());
    }
    let extract = params.check().map_err(usage)?;
    if let Ok((_, dropped)) = extracted(&extract, trace, "")
        && dropped.complete.bursts > 0
    {
        return Ok(known);
    }
    let extract = Extract::params().all_counters(true).check();
    let (bursts, _) = extracted(&extract.map_err(usage)?, trace, "")?;
    let has_values = |values: &[f64]| values.iter().any(|value| value.is_finite() && *value > 0.0);
    let mut columns = bursts.columns().iter();
    let counter = columns.find(|column| has_values(&column.values));
    let mut metrics = vec!["duration".to_owned()];
    // Names of counters are any text, those of formulas are words or stand in quotes.
    metrics.extend(counter.map(|of| format!("\"{}\"", of.name.replace('"', ""))));
    Ok(metrics)
}

/// The name of a file or folder without its extension; of an anchor file that of its folder.
pub fn name(path: &Path) -> String {
    let is_anchor = path
        .extension()
        .is_some_and(|extension| extension == "otf2");
    let named = match path.parent().and_then(Path::file_name) {
        Some(folder) if is_anchor => Some(folder),
        _ => path.file_name(),
    };
    let text = named.map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let ends = [".prv", ".DATA.csv"]
        .iter()
        .filter_map(|end| text.find(end));
    text[..ends.min().unwrap_or(text.len())].to_owned()
}

/// An error of the libraries that is about what was options for.
pub fn usage(error: Error) -> Failure {
    Failure::Usage(error.to_string())
}
