//! [`read`]: each rank its locations of an archive.

use crate::blocks::weighted;
use crate::{Ranks, Result};
use perf_core::{Diagnostics, Job, LocationId, Trace, TraceView};
use perf_formats::OpenOptions;
use perf_formats::otf2::Reader;
use std::path::Path;

/// The part of a recording that a rank has: all definitions, and the events of its locations alone.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Part {
    /// The trace; locations of other ranks have no events in it.
    pub trace: Trace,
    /// The locations of this rank, ascending: those of rank 0 come first, then those of rank 1.
    pub own: Vec<LocationId>,
    /// What was repaired, lost or noted, in the definitions and in the events of own locations.
    pub found: Diagnostics,
}

impl Part {
    /// The locations of this rank.
    pub fn view(&self) -> TraceView<'_> {
        self.trace.view().only(&self.own)
    }
}

/// Reads an OTF2 archive, of whose events each rank reads those of a block of locations. Blocks have
/// about as many events each as the archive declares. All ranks must see the files. Collective.
///
/// ```no_run
/// use perf_core::Job;
/// use perf_mpi::{Ranks, mpi, read};
/// use perf_formats::OpenOptions;
/// let universe = mpi::initialize().ok_or("MPI was initialised before")?;
/// let ranks = Ranks::new(&universe.world());
/// let part = read(&ranks, "run/traces.otf2".as_ref(), &OpenOptions::new(), &Job::default())?;
/// let events = ranks.all_gather(&part.view().len())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Those of [`Reader::open`] and [`Reader::read`], on all ranks; [`Error::Differs`](crate::Error::Differs) where
/// events name what nobody defined, so that ranks would number it each in its own way.
pub fn read(ranks: &Ranks, path: &Path, options: &OpenOptions, job: &Job) -> Result<Part> {
    let opened = Reader::open(path, options, job).map_err(Into::into);
    let reader = ranks.agree(opened)?;
    let system = &reader.definitions().system;
    let all = system.location_ids().zip(system.locations());
    let wanted = all.filter(|(_, location)| options.wants(location.key));
    let wanted: Vec<(LocationId, u64)> = wanted.map(|(id, place)| (id, place.key)).collect();
    // Declared numbers may be anything: they only decide who reads what.
    let weights: Vec<u64> = wanted
        .iter()
        .map(|(id, _)| reader.declared_events(*id).unwrap_or_default() | 1)
        .collect();
    let blocks = weighted(&weights, ranks.size());
    let block = &wanted[blocks[ranks.rank()].clone()];
    let keys = block.iter().map(|(_, key)| *key).collect();
    let own = block.iter().map(|(id, _)| *id).collect();
    let (trace, found) = ranks.agree(reader.only(keys).read().map_err(Into::into))?;
    let part = Part { trace, own, found };
    let counts = {
        let definitions = part.trace.definitions();
        let system = &definitions.system;
        vec![
            system.locations().len(),
            definitions.regions.len(),
            definitions.metrics.len(),
            definitions.comms.len(),
            definitions.contexts.paths().len(),
        ]
    };
    ranks.same("what their events refer to", &counts)?;
    Ok(part)
}
