//! [`read`]: reads an OTF2 archive in parallel, each rank the definitions and the events of a block
//! of locations, as its [`Part`].

use crate::blocks::weighted;
use crate::{Ranks, Result};
use perf_core::{Diagnostics, Job, LocationId, Trace, TraceView};
use perf_formats::OpenOptions;
use perf_formats::otf2::Reader;
use std::path::Path;

/// Part of a recording that a rank holds: all definitions, and the events of its own locations.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Part {
    /// Trace in which the locations of other ranks have no events.
    pub trace: Trace,
    /// Own locations, ascending. Those of rank 0 come first, then those of rank 1, and so on.
    pub own: Vec<LocationId>,
    /// Repairs, losses and remarks in the definitions and in the events of own locations.
    pub found: Diagnostics,
}

impl Part {
    /// Returns the part of a trace that this rank holds. `own` must ascend, and other locations should have no events.
    pub fn new(trace: Trace, own: Vec<LocationId>) -> Self {
        Part {
            trace,
            own,
            found: Diagnostics::default(),
        }
    }

    /// Returns a view of the own locations.
    pub fn view(&self) -> TraceView<'_> {
        self.trace.view().only(&self.own)
    }
}

/// Reads an OTF2 archive. Each rank reads the events of a block of locations.
///
/// The blocks have similar numbers of events, according to the numbers that the archive declares.
/// All ranks need access to the files. Collective.
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
/// # Errors
///
/// On all ranks:
///
/// - Returns [`Error::Formats`](crate::Error::Formats) if [`Reader::open`] or [`Reader::read`]
///   fails on any rank; other ranks than the failing one return
///   [`Error::Elsewhere`](crate::Error::Elsewhere).
/// - Returns [`Error::Differs`](crate::Error::Differs) if events refer to undefined items: each
///   rank would add definitions for them with other numbers.
pub fn read(ranks: &Ranks, path: &Path, options: &OpenOptions, job: &Job) -> Result<Part> {
    let opened = Reader::open(path, options, job).map_err(Into::into);
    let reader = ranks.agree(opened)?;
    let system = &reader.definitions().system;
    let all = system.location_ids().zip(system.locations());
    let wanted = all.filter(|(_, location)| options.wants(location.key));
    let wanted: Vec<(LocationId, u64)> = wanted.map(|(id, place)| (id, place.key)).collect();
    // Declared numbers are not trusted: they only influence the division of work.
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
    ranks.same("the definitions that events refer to", &counts)?;
    Ok(part)
}
