//! Input from the BSC clustering suite: its parameters as options, and its tables as bursts.

use crate::failure::{Failure, input};
use crate::phases::experiments::{Axis, Gathered, Wanted, name, usage};
use perfkit::core::{Clock, Diagnostics, Limits, Merge, Nanos};
use perfkit::formats::paraver::clustered::{self, Data, Definition, Role, Source};
use perfkit::formats::paraver::{Cluster, Object, Pcf};
use perfkit::track::{
    Amount, Burst, Bursts, ClusterId, Column, Dropped, Formula, Kind, Labels, Thread,
};
use std::collections::BTreeMap;
use std::path::Path;

const INSTRUCTIONS: u32 = 42_000_050;
const CYCLES: u32 = 42_000_059;

/// Reads the parameters of a clustering.
///
/// # Errors
/// Returns [`Failure::Input`] with the place and cause, also for algorithms other than DBSCAN.
pub fn definition(path: &Path) -> Result<Definition, Failure> {
    let failed = |error| Failure::Input(format!("{}: {error}", path.display()));
    let text = std::fs::read(path).map_err(failed)?;
    let found = Definition::parse(&text, &path.to_string_lossy()).map_err(input)?;
    if !found.algorithm.name.eq_ignore_ascii_case("dbscan") {
        return Err(Failure::Input(format!(
            "{}: the algorithm is {}, not DBSCAN",
            path.display(),
            found.algorithm.name
        )));
    }
    Ok(found)
}

/// Returns the radius and the number of points of a neighbourhood in a definition, if given.
pub fn density(definition: &Definition) -> (Option<f64>, Option<usize>) {
    let get = |name: &str| definition.algorithm.parameters.get(name).copied();
    (
        get("epsilon"),
        get("min_points").map(|least| least as usize),
    )
}

/// Returns the axes of a definition, with the names of counters from the `.pcf` of a trace.
pub fn axes(definition: &Definition, trace: &Path) -> Vec<Axis> {
    let stem = if trace.extension().is_some_and(|end| end == "gz") {
        trace.with_extension("")
    } else {
        trace.to_owned()
    };
    let pcf = std::fs::read(stem.with_extension("pcf")).unwrap_or_default();
    let pcf = Pcf::parse(&pcf);
    let counter = |kind: u32| format!("\"{}\"", pcf.counter(kind).replace('"', ""));
    let axis = |axis: &clustered::Axis| Axis {
        formula: match axis.source {
            Source::Single(INSTRUCTIONS) => "instructions".into(),
            Source::Single(CYCLES) => "cycles".into(),
            Source::Single(kind) => counter(kind),
            Source::Mixed(INSTRUCTIONS, '/', CYCLES) => "ipc".into(),
            Source::Mixed(a, operation, b) => {
                format!("{} {operation} {}", counter(a), counter(b))
            }
            _ => axis.name.clone(),
        },
        log: axis.log,
        factor: axis.factor,
        range: match (axis.low, axis.high) {
            (None, None) => None,
            (low, high) => Some((
                low.unwrap_or(f64::NEG_INFINITY),
                high.unwrap_or(f64::INFINITY),
            )),
        },
    };
    let duration = definition.use_duration.then(|| Axis {
        log: definition.apply_log,
        ..Axis::of("duration")
    });
    let all = definition.axes.iter().map(axis);
    duration.into_iter().chain(all).collect()
}

/// Returns the name that this crate uses for a metric of a table.
fn metric(name: &str) -> String {
    match name {
        "PAPI_TOT_INS" => "instructions".into(),
        "PAPI_TOT_CYC" => "cycles".into(),
        "IPC" => "ipc".into(),
        other => other.to_owned(),
    }
}

/// Drops the complete bursts of a table that are shorter than `min`.
pub fn drop_short(mut table: Gathered, min: Nanos) -> Result<Gathered, Failure> {
    let mut kinds = table.bursts.kinds().to_vec();
    let mut labels = table.labels.as_ref().map(|of| of.as_slice().to_vec());
    for (row, (burst, kind)) in table.bursts.rows().iter().zip(&mut kinds).enumerate() {
        let duration = Nanos(burst.end.0 - burst.begin.0);
        if *kind == Kind::Complete && duration < min {
            *kind = Kind::Duration;
            table.dropped.duration.add(duration);
            table.dropped.complete.bursts -= 1;
            table.dropped.complete.time.0 -= duration.0;
            if let Some(labels) = &mut labels {
                labels[row] = ClusterId::NOISE;
            }
        }
    }
    table.bursts.set_kinds(kinds).map_err(input)?;
    table.labels = labels.map(Labels::new);
    Ok(table)
}

/// Reads the bursts of a table with their clusters. Times of a table have no unit and are taken as
/// nanoseconds.
///
/// # Errors
/// Returns [`Failure::Input`] with the place and cause, and [`Failure::Usage`] if the table does
/// not have a metric.
pub fn table(path: &Path, wanted: &mut Wanted) -> Result<Gathered, Failure> {
    let data = Data::open(path, &Limits::default()).map_err(input)?;
    let raw = data.columns.iter().filter(|of| of.role == Role::Raw);
    if wanted.axes.is_empty() {
        let names = raw.map(|column| metric(&column.name));
        wanted.axes = names
            .map(|name| {
                let plain = name.chars().all(|c| c.is_alphanumeric() || c == '_');
                if plain {
                    Axis::of(name)
                } else {
                    Axis::of(format!("\"{}\"", name.replace('"', "")))
                }
            })
            .collect();
    }
    let mut bursts = Bursts::default();
    let mut threads: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    for row in &data.rows {
        threads.insert((row.task, row.thread), 0);
    }
    let mut objects = Vec::new();
    for (&(task, thread), number) in &mut threads {
        let of = Thread {
            process: task,
            name: format!("{}.{}", task + 1, thread + 1),
            ..Thread::default()
        };
        *number = bursts.add_thread(of).map_err(input)?;
        objects.push(Some(Object {
            application: 1,
            task: task + 1,
            thread: thread + 1,
        }));
    }
    let mut dropped = Dropped::default();
    let (mut kinds, mut labels) = (Vec::new(), Vec::new());
    for row in &data.rows {
        let nanos = |at: u64| Nanos(i64::try_from(at).unwrap_or(i64::MAX));
        let (begin, end) = (nanos(row.begin.0), nanos(row.end.0));
        let thread = threads.get(&(row.task, row.thread)).copied();
        let burst = Burst {
            thread: thread.unwrap_or_default(),
            begin,
            end,
            ..Burst::default()
        };
        bursts.push(burst, &[]).map_err(input)?;
        let mut one = Amount::default();
        one.add(Nanos(end.0 - begin.0));
        dropped.found.merge(&one);
        let (kind, amount) = match row.cluster {
            Cluster::MissingData => {
                let names = vec!["a counter".to_owned()];
                (Kind::Missing, dropped.missing.entry(names).or_default())
            }
            Cluster::DurationFiltered => (Kind::Duration, &mut dropped.duration),
            Cluster::RangeFiltered => {
                let name = "a metric".to_owned();
                (Kind::Range, dropped.ranges.entry(name).or_default())
            }
            Cluster::ThresholdFiltered => (Kind::Share, &mut dropped.complete),
            _ => (Kind::Complete, &mut dropped.complete),
        };
        amount.merge(&one);
        kinds.push(kind);
        labels.push(match (kind, row.cluster) {
            (Kind::Complete, Cluster::Id(id)) => ClusterId(id),
            _ => ClusterId::NOISE,
        });
    }
    for column in data.columns.iter().filter(|of| of.role != Role::Normalised) {
        let name = metric(&column.name);
        if bursts.column(&name).is_err() {
            let (unit, values) = (String::new(), column.values.clone());
            let column = Column { name, unit, values };
            bursts.add_column(column).map_err(input)?;
        }
    }
    bursts.set_kinds(kinds).map_err(input)?;
    for axis in &wanted.axes {
        let formula = Formula::parse(&axis.formula).map_err(usage)?;
        if formula.name() != "duration" && bursts.column(formula.name()).is_err() {
            let known: Vec<&str> = bursts.columns().iter().map(|of| of.name.as_str()).collect();
            return Err(Failure::Usage(format!(
                "{}: there is no metric {:?}; there are {}",
                path.display(),
                formula.name(),
                known.join(", ")
            )));
        }
    }
    Ok(Gathered {
        name: name(path),
        path: path.to_owned(),
        bursts,
        dropped,
        labels: Some(Labels::new(labels)),
        diagnostics: Diagnostics::default(),
        objects,
        clock: Clock::default(),
    })
}
