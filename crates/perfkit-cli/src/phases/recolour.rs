//! Output of Paraver traces with a cluster or a tracked region for each burst.

use crate::failure::{Failure, input};
use crate::phases::experiments::Gathered;
use crate::table::grouped;
use perfkit::core::{Clock, Job, Nanos};
use perfkit::formats::OpenOptions;
use perfkit::formats::paraver::{Cluster, Coloured, Object, recolour_files};
use perfkit::track::{Bursts, Kind};
use std::path::Path;

/// Assigns a cluster to each burst. A complete burst gets the cluster that `of` returns for its row.
/// The cluster of any other burst follows from its kind.
///
/// # Errors
/// Returns [`Failure::Usage`] if the bursts are not from a Paraver trace.
pub fn coloured(
    bursts: &Bursts,
    (objects, clock): (&[Option<Object>], Clock),
    of: impl Fn(usize) -> Cluster,
) -> Result<Vec<Coloured>, Failure> {
    let mut coloured = Vec::with_capacity(bursts.len());
    let rows = bursts.rows().iter().zip(bursts.kinds());
    for (row, (burst, kind)) in rows.enumerate() {
        let object = objects.get(burst.thread as usize).copied().flatten();
        let Some(object) = object else {
            return Err(Failure::Usage("--recolour is for traces of Paraver".into()));
        };
        let ticks = |at: Nanos| clock.ticks(at).unwrap_or_default();
        coloured.push(Coloured {
            object,
            begin: ticks(burst.begin),
            end: ticks(burst.end),
            cluster: match kind {
                Kind::Complete => of(row),
                Kind::Duration => Cluster::DurationFiltered,
                Kind::Range => Cluster::RangeFiltered,
                Kind::Share => Cluster::ThresholdFiltered,
                _ => Cluster::MissingData,
            },
        });
    }
    Ok(coloured)
}

/// Writes the trace of a recording again with the clusters of the bursts.
///
/// # Errors
/// Returns [`Failure::Input`] with the place and cause, and [`Failure::Usage`] if the output would
/// replace the trace or the recording is not a Paraver trace.
pub fn write(from: &Gathered, to: &Path, bursts: &[Coloured]) -> Result<(), Failure> {
    let name = from.path.to_string_lossy();
    if !(name.ends_with(".prv") || name.ends_with(".prv.gz")) {
        return Err(Failure::Usage("--recolour is for traces of Paraver".into()));
    }
    let done = recolour_files(&from.path, to, bursts, &OpenOptions::new(), &Job::default());
    let (done, _) = done.map_err(|error| match error {
        perfkit::formats::Error::Usage { what } => Failure::Usage(what),
        other => input(other),
    })?;
    for (count, what) in [
        (done.copied, "lines that are no records were copied"),
        (
            done.removed,
            "events of an earlier colouring were taken out",
        ),
        (done.empty, "bursts last no time and have no colour"),
    ] {
        if count > 0 {
            let count = grouped(count);
            crate::messages::say(&format!("note: {}: {count} {what}", to.display()));
        }
    }
    Ok(())
}
