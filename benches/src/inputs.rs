//! Inputs of the benches, all generated.

use perfkit::core::{CancelToken, Trace};
use perfkit::fold::{Folder, GroupBy, Groups, RegionMap, Timelines};
use perfkit::formats::otf2::{MemoryArchive, WriteOptions, write};

/// A wide trace.
pub fn trace(ranks: u32, events: usize) -> Trace {
    perf_testdata::wide::trace(ranks, events)
}

/// The archive of a wide trace, in memory.
///
/// # Panics
/// Never: writing to memory does not fail.
pub fn archive(ranks: u32, events: usize) -> MemoryArchive {
    let mut archive = MemoryArchive::default();
    let trace = trace(ranks, events);
    write(
        trace.view(),
        &mut archive,
        &WriteOptions::default(),
        &(),
        &CancelToken::new(),
    )
    .expect("writing to memory does not fail");
    archive
}

/// A folder of a wide trace that folds `columns` cells of one row a location.
///
/// # Panics
/// Never: the parameters are valid.
pub fn folder(ranks: u32, events: usize, columns: usize) -> Folder {
    let trace = trace(ranks, events);
    let map = RegionMap::by_name(trace.definitions()).expect("there are few regions");
    let timelines = Timelines::new(trace.view(), &map).expect("every class is known");
    let groups = Groups::by(&timelines, GroupBy::Location);
    let params = Folder::params()
        .columns(columns)
        .check()
        .expect("there are columns");
    Folder::new(&timelines, groups, params).expect("the groups are those of the timelines")
}

/// The bundled recording of 64 ranks: 157,696 events, few call paths, as real programs have.
///
/// # Panics
/// If the recording is not where the repository has it.
pub fn recorded() -> Trace {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../data/recordings/jacobi-64");
    let recording = perfkit::open(path).expect("it is in the repository");
    recording.into_trace().expect("it is a trace")
}
