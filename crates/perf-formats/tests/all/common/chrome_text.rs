//! Helpers for synthetic Chrome traces: reading and summarising them.

#![cfg(feature = "chrome")]
#![allow(dead_code, reason = "each test uses some of it")]

use perf_core::{Job, LocationKind, Trace, Visitor, intervals, replay};
use perf_formats::chrome;
use perf_formats::{OpenOptions, Recording};
use std::io::Cursor;

pub(crate) fn with(
    bytes: impl Into<Vec<u8>>,
    options: &OpenOptions,
) -> perf_formats::Result<Recording> {
    with_job(bytes, options, &Job::default())
}

pub(crate) fn with_job(
    bytes: impl Into<Vec<u8>>,
    options: &OpenOptions,
    job: &Job,
) -> perf_formats::Result<Recording> {
    chrome::read("made", Cursor::new(bytes.into()), options, job)
}

pub(crate) fn read(text: &str) -> Recording {
    with(text, &OpenOptions::new()).unwrap()
}

/// Returns the only violated rule and its count.
pub(crate) fn only(recording: &Recording) -> (&'static str, u64) {
    let found: Vec<_> = recording.diagnostics.iter().collect();
    assert_eq!(found.len(), 1, "{}", recording.diagnostics);
    (found[0].0.name, found[0].1.count)
}

pub(crate) fn trace(recording: &Recording) -> &Trace {
    recording.trace().unwrap()
}

/// Returns name, begin and end of all calls, by location.
pub(crate) fn calls(trace: &Trace) -> Vec<(String, u64, u64)> {
    struct Frames<'a>(&'a Trace, Vec<(u32, u64)>, Vec<(String, u64, u64)>);
    impl Visitor for Frames<'_> {
        fn enter(&mut self, at: perf_core::Ticks, region: perf_core::RegionId, _: usize) {
            self.1.push((region.0, at.0));
        }
        fn leave(
            &mut self,
            at: perf_core::Ticks,
            region: perf_core::RegionId,
            _: usize,
            _: perf_core::Close,
        ) {
            let (_, start) = self.1.pop().unwrap();
            let name = self.0.definitions().region_name(region).into_owned();
            self.2.push((name, start, at.0));
        }
    }
    let mut all = Vec::new();
    for view in trace.view().locations() {
        let location = trace.definitions().system.location(view.id()).unwrap();
        if location.kind == LocationKind::AcceleratorStream {
            intervals(
                view,
                |call| {
                    let name = trace.definitions().region_name(call.region).into_owned();
                    all.push((name, call.start.0, call.end.0));
                },
                &Job::default(),
            )
            .unwrap();
        } else {
            let mut frames = Frames(trace, Vec::new(), Vec::new());
            assert_eq!(
                replay(view, &mut frames, &Job::default())
                    .unwrap()
                    .repairs(),
                0
            );
            all.append(&mut frames.2);
        }
    }
    all.sort();
    all
}

pub(crate) fn call(name: &str, start: u64, end: u64) -> (String, u64, u64) {
    (name.to_owned(), start, end)
}

pub(crate) const A: &str = r#"{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":2}"#;
