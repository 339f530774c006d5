//! Recordings and facts of the corpus.

use perf_core::{Job, Trace};
use perf_formats::{OpenOptions, open};
use serde_json::Value;
use std::path::Path;

/// Reads the trace at a path.
pub(crate) fn trace(path: &Path) -> Trace {
    let recording = open(path, &OpenOptions::new(), &Job::default()).expect("it can be read");
    recording.into_trace().expect("it is a trace")
}

/// Reads a trace of the corpus; `None` if the corpus is absent.
pub(crate) fn corpus(relative: &str) -> Option<Trace> {
    let path = perf_testdata::corpus::corpus(relative);
    if path.is_none() {
        println!("skipped: corpus absent");
    }
    path.map(|path| trace(&path))
}

/// Reads a file of facts of the corpus; `None` if the corpus is absent.
pub(crate) fn facts(relative: &str) -> Option<Value> {
    let path = perf_testdata::corpus::corpus(relative);
    if path.is_none() {
        println!("skipped: corpus absent");
    }
    let bytes = std::fs::read(path?).expect("facts can be read");
    Some(serde_json::from_slice(&bytes).expect("facts are JSON"))
}
