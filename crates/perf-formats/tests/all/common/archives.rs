//! Archives in memory for tests of damage: a written one, those of the corpus, and random numbers.

#![cfg(feature = "otf2")]
#![allow(dead_code, reason = "each test program uses a part of it")]

use perf_core::{Job, SystemTree, Trace};
use perf_formats::otf2::{MemoryArchive, WriteOptions, write};
use perf_testdata::corpus::corpus;

/// Writes a trace as an archive.
pub(crate) fn written(trace: &Trace, options: &WriteOptions) -> MemoryArchive {
    let mut archive = MemoryArchive::default();
    write(trace.view(), &mut archive, options, &Job::default()).unwrap();
    archive
}

/// Returns the trace as an archive called `own`, and the named archives of the corpus if it is
/// available.
pub(crate) fn with_corpus(
    own: &Trace,
    options: &WriteOptions,
    names: &[&str],
) -> Vec<(String, MemoryArchive)> {
    let mut all = vec![("own".to_string(), written(own, options))];
    for name in names {
        if let Some(path) = corpus(&format!("otf2/{name}")) {
            all.push(((*name).to_string(), MemoryArchive::read(&path).unwrap()));
        }
    }
    all
}

/// Returns locations with these keys, without a machine.
pub(crate) fn locations(keys: std::ops::Range<u64>) -> SystemTree {
    let location = |key| perf_core::Location {
        key,
        ..Default::default()
    };
    let all = keys.map(location).collect();
    SystemTree::new(vec![], vec![], all, &Default::default()).unwrap()
}
