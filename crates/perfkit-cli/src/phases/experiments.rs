//! [`gather_all`]: reads recordings as CPU bursts ([`Gathered`]), by [`Wanted`] metrics ([`Axis`])
//! and minimum duration, which it chooses if they are not set.

use crate::failure::{Failure, input};
use crate::options::Window;
use crate::phases::burst_tables;
use crate::phases::dropped_bursts;
use crate::progress::Bar;
use crate::recording::{self, Recording};
use crate::suggest::hint;
use perfkit::core::{Clock, Diagnostics, LocationId, Nanos, Trace, Unify};
use perfkit::formats::paraver;
use perfkit::formats::paraver::clustered::{Data, Definition};
use perfkit::track::{
    Bursts, Dropped, DurationCut, Error, Extract, Formula, Labels, Mode, Unfiltered,
};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Axis of the space of the points.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Formula of the metric.
    pub formula: String,
    /// `true` if the coordinate is the logarithm of the metric.
    pub log: bool,
    /// Weight of the axis.
    pub factor: f64,
    /// Range of the metric, outside of which bursts are dropped; `None` to keep all.
    pub range: Option<(f64, f64)>,
}

impl Axis {
    /// Creates an axis of a metric. Ratios are used directly, and other metrics, which span orders
    /// of magnitude, by their logarithm.
    pub fn of(formula: impl Into<String>) -> Self {
        let formula = formula.into();
        Axis {
            log: !(formula.eq_ignore_ascii_case("ipc") || formula.contains('/')),
            formula,
            factor: 1.0,
            range: None,
        }
    }

    /// Parses a list of axes, separated by commas.
    ///
    /// # Errors
    /// Returns [`Failure::Usage`] for an empty list.
    pub fn list(text: &str) -> Result<Vec<Self>, Failure> {
        let names = text.split(',').map(str::trim);
        let axes: Vec<Self> = names
            .filter(|name| !name.is_empty())
            .map(Axis::of)
            .collect();
        if axes.is_empty() {
            Err(Failure::Usage("--metrics: which?".into()))
        } else {
            Ok(axes)
        }
    }

    /// Returns the name of the metric.
    ///
    /// # Errors
    /// Returns [`Failure::Usage`] for an invalid formula.
    pub fn name(&self) -> Result<String, Failure> {
        let formula = Formula::parse(&self.formula).map_err(usage)?;
        Ok(formula.name().to_owned())
    }
}

/// Parameters of the extraction of bursts.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Axes of the space. If the list is empty, the axes are IPC and instructions if the recording
    /// has both, otherwise duration and the first counter of the recording. The choice for the first
    /// recording applies to all.
    pub axes: Vec<Axis>,
    /// Definition of the BSC clustering suite that replaces the axes.
    pub like: Option<Definition>,
    /// Minimum duration of bursts. If it is `None`, the first recording sets it to the largest
    /// duration below which bursts take at most 1 % of the CPU time.
    pub min_duration: Option<Nanos>,
    /// Mode of the clustering: published or optimal.
    pub mode: Mode,
    /// Rule that decides which regions are one function.
    pub unify: Unify,
    /// Window that bursts must lie in.
    pub window: Window,
    /// `true` if the minimum duration was chosen from the bursts.
    pub is_chosen: bool,
}

/// Bursts of a recording with their origin.
#[derive(Debug)]
pub struct Gathered {
    /// Name of the recording.
    pub name: String,
    /// Path of the recording.
    pub path: PathBuf,
    /// Bursts of all kinds.
    pub bursts: Bursts,
    /// Bursts and samples that were dropped.
    pub dropped: Dropped,
    /// Cluster of each burst, if the file contains it.
    pub labels: Option<Labels>,
    /// Repairs and losses of the reader.
    pub diagnostics: Diagnostics,
    /// Paraver thread of each thread of the bursts; `None` if the recording is not a Paraver trace.
    pub objects: Vec<Option<paraver::Object>>,
    /// Clock of the recording.
    pub clock: Clock,
}

/// Largest share of the CPU time that the default minimum duration drops.
const DROPPED: f64 = 0.01;

/// Bursts of a recording before the filter of short ones.
struct Read {
    /// The whole table of the BSC clustering suite, or a recording whose `bursts` and `dropped` are still empty.
    of: Gathered,
    /// Bursts of a recording; `None` for a table.
    unfiltered: Option<Unfiltered>,
}

/// Reads recordings, or tables of bursts of the BSC clustering suite. Sets the axes and the minimum duration in `wanted`
/// if they are not set, with one minimum duration for all recordings: the largest below which bursts take at most 1 % of
/// the CPU time of each recording. Tables alone have no minimum, because they were filtered when they were written.
/// Prints the dropped bursts and the findings of the reader to standard error.
///
/// # Errors
/// Returns [`Failure::Input`] if a recording cannot be read or no burst of it remains, and [`Failure::Usage`] if it does
/// not have a metric.
pub fn gather_all(paths: &[PathBuf], wanted: &mut Wanted) -> Result<Vec<Gathered>, Failure> {
    let mut all = Vec::new();
    for path in paths {
        all.push(if Data::is_one(path) {
            if wanted.window.from.or(wanted.window.to).is_some() {
                let what =
                    "--from and --to are for recordings with events, not for tables of bursts";
                return Err(Failure::Usage(format!("{}: {what}", path.display())));
            }
            Read {
                of: burst_tables::table(path, wanted)?,
                unfiltered: None,
            }
        } else {
            read(path, &recording::open_by(path, wanted.unify)?, wanted)?
        });
    }
    filtered(all, wanted)
}

/// Extracts the bursts of opened recordings like [`gather_all`].
///
/// # Errors
/// Returns the errors of [`gather_all`].
pub fn gather_opened(
    opened: &[(&Path, &Recording)],
    wanted: &mut Wanted,
) -> Result<Vec<Gathered>, Failure> {
    let all = opened.iter();
    let all: Result<Vec<_>, _> = all
        .map(|(path, recording)| read(path, recording, wanted))
        .collect();
    filtered(all?, wanted)
}

/// Drops short bursts, after choosing the minimum duration if it is not set.
fn filtered(all: Vec<Read>, wanted: &mut Wanted) -> Result<Vec<Gathered>, Failure> {
    if wanted.min_duration.is_none() {
        let mut cuts = Vec::new();
        for bursts in all.iter().filter_map(|one| one.unfiltered.as_ref()) {
            cuts.push(bursts.cut(DROPPED).map_err(input)?);
        }
        wanted.min_duration = Some(DurationCut::shared(&cuts));
        wanted.is_chosen = !cuts.is_empty();
    }
    let min = wanted.min_duration.unwrap_or_default();
    let all = all.into_iter().map(|one| match one.unfiltered {
        None => reported(burst_tables::drop_short(one.of, min)?),
        Some(unfiltered) => {
            let (bursts, dropped) = unfiltered.above(min);
            reported(Gathered {
                bursts,
                dropped,
                ..one.of
            })
        }
    });
    all.collect()
}

/// Reads one recording like [`gather_all`].
///
/// # Errors
/// Returns the errors of [`gather_all`].
pub fn gather(path: &Path, wanted: &mut Wanted) -> Result<Gathered, Failure> {
    let mut all = gather_all(&[path.to_owned()], wanted)?;
    Ok(all.remove(0))
}

/// Prints the dropped bursts and the findings of the reader to standard error.
///
/// # Errors
/// Returns [`Failure::Input`] if no burst remains.
fn reported(found: Gathered) -> Result<Gathered, Failure> {
    dropped_bursts::print(&found.name, &found.dropped, &found.diagnostics);
    if found.dropped.complete.bursts == 0 {
        return Err(Failure::Input(format!(
            "{}: no burst is left: {}",
            found.name,
            dropped_bursts::sentence(&found.dropped)
        )));
    }
    Ok(found)
}

/// Extracts the bursts of a recording.
fn read(path: &Path, recording: &Recording, wanted: &mut Wanted) -> Result<Read, Failure> {
    let trace = &recording.trace;
    if let Some(definition) = &wanted.like {
        wanted.axes = burst_tables::axes(definition, path);
    } else if wanted.axes.is_empty() {
        wanted.axes = usual(trace)?.iter().map(Axis::of).collect();
    }
    let name = name(path);
    let mut params = Extract::params().all_counters(true);
    for axis in &wanted.axes {
        params = params.metric(axis.formula.as_str());
        if let Some((low, high)) = axis.range {
            params = params.range(axis.name()?, low, high);
        }
    }
    let extract = wanted.mode.extract(params).check().map_err(usage)?;
    let view = trace.view().between(wanted.window.of(trace)?);
    let unfiltered = extract.unfiltered(view, &Bar::job());
    let unfiltered = unfiltered.map_err(|error| failed(error, &name, trace))?;
    let system = &trace.definitions().system;
    let object = |id: LocationId| system.location(id).and_then(paraver::object_of);
    let threads = unfiltered.bursts().threads().iter();
    let gathered = Gathered {
        objects: threads.map(|of| object(of.location)).collect(),
        clock: trace.definitions().clock,
        name,
        path: path.to_owned(),
        bursts: Bursts::default(),
        dropped: Dropped::default(),
        labels: None,
        diagnostics: recording.diagnostics.clone(),
    };
    Ok(Read {
        of: gathered,
        unfiltered: Some(unfiltered),
    })
}

/// Converts an error of an extraction. Names that a recording does not have are errors of usage.
pub(crate) fn failed(error: Error, recording: &str, trace: &Trace) -> Failure {
    match error {
        Error::UnknownMetric { name, known } => Failure::Usage(format!(
            "{recording}: no metric `{name}`{}",
            hint(&name, known.split(", "))
        )),
        Error::NoRegion { pattern } => {
            let regions = trace.definitions().regions.iter();
            let names: BTreeSet<&str> = regions.map(|region| &*region.name).collect();
            Failure::Usage(format!(
                "{recording}: no region matches `{pattern}`{}",
                hint(&pattern, names)
            ))
        }
        other => input(other),
    }
}

/// Returns IPC and instructions if bursts of the recording have them, otherwise duration and the
/// first counter with a positive value.
///
/// # Errors
/// Returns [`Failure`] if bursts cannot be extracted.
pub fn usual(trace: &Trace) -> Result<Vec<String>, Failure> {
    let known = ["ipc", "instructions"].map(String::from).to_vec();
    let mut params = Extract::params();
    for name in &known {
        params = params.metric(name.as_str());
    }
    let extract = params.check().map_err(usage)?;
    if let Ok((_, dropped)) = extract.extract(trace.view(), &Bar::job())
        && dropped.complete.bursts > 0
    {
        return Ok(known);
    }
    let extract = Extract::params().all_counters(true).check();
    let found = extract.map_err(usage)?.extract(trace.view(), &Bar::job());
    let (bursts, _) = found.map_err(input)?;
    let has_values = |values: &[f64]| values.iter().any(|value| value.is_finite() && *value > 0.0);
    let mut columns = bursts.columns().iter();
    let counter = columns.find(|column| has_values(&column.values));
    let mut metrics = vec!["duration".to_owned()];
    // Names of counters are arbitrary text; in formulas they have to be words or quoted.
    metrics.extend(counter.map(|of| format!("\"{}\"", of.name.replace('"', ""))));
    Ok(metrics)
}

/// Returns the name of a file or folder without the extensions `.prv` and `.DATA.csv`. For an OTF2
/// anchor file, returns the name of its folder.
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

/// Converts an error of the libraries to a usage error.
pub fn usage(error: Error) -> Failure {
    Failure::Usage(error.to_string())
}
