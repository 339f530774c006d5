//! Recordings and facts of the corpus.

use perf_core::{Job, LocationId, Ticks, Trace};
use perf_formats::{OpenOptions, open};
use perf_wait::clocks::{ClockEstimate, ClockModel, ClockOffset, Repair};
use serde_json::Value;
use std::path::Path;

/// Reads the trace at a path.
pub(crate) fn trace(path: &Path) -> Trace {
    let recording = open(path, &OpenOptions::new(), &Job::default()).expect("it can be read");
    recording.into_trace().expect("it is a trace")
}

/// Reads a trace of the corpus; `None` if the corpus is absent.
pub(crate) fn corpus(relative: &str) -> Option<Trace> {
    Some(trace(&perf_testdata::corpus::corpus(relative)?))
}

/// Reads a file of facts of the corpus; `None` if the corpus is absent.
pub(crate) fn facts(relative: &str) -> Option<Value> {
    let path = perf_testdata::corpus::corpus(relative)?;
    let bytes = std::fs::read(path).expect("facts can be read");
    Some(serde_json::from_slice(&bytes).expect("facts are JSON"))
}

/// Moves the clocks of a bundled recording by the ticks that are published for it.
pub(crate) fn shifted(trace: &Trace, facts: &Value, name: &str) -> Trace {
    let notes = facts["traces"][format!("{name}@shift")]["notes"].as_array();
    let mut notes = notes.expect("notes").iter().filter_map(Value::as_str);
    let note = notes
        .find(|note| note.starts_with("clock shift"))
        .expect("a note");
    let estimate = ClockEstimate::of(trace.view(), ClockModel::Offset, &Job::default());
    let mut estimate = estimate.expect("it can be estimated");
    estimate.origin = Ticks(0);
    estimate.locations = (0..)
        .map(LocationId)
        .zip(shifts(note))
        .map(|(location, offset)| ClockOffset {
            location,
            offset,
            ..ClockOffset::default()
        })
        .collect();
    let corrected = estimate.correct(trace, Repair::Keep, &Job::default());
    corrected.expect("times stay in order").trace
}

/// Numbers between brackets in the note about clock shifts.
pub(crate) fn shifts(note: &str) -> Vec<f64> {
    let list = note
        .split('[')
        .nth(1)
        .and_then(|rest| rest.split(']').next());
    list.expect("a list")
        .split(", ")
        .map(|it| it.parse().expect("a number"))
        .collect()
}
