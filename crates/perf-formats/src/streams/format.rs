//! [`FORMAT`]: recognises and opens streams of events as text.

use super::{Streams, TraceBuilder, json, lines, tsv};
use crate::{Content, Format, Input, OpenOptions, Recording, Result};
use perf_core::{EventSource, Job};
use std::path::Path;

/// Streams of events as text, as listed in [`Formats`](crate::Formats).
pub const FORMAT: Format = Format {
    name: "streams",
    extensions: &["tsv", "ndjson", "jsonl"],
    describe: "Streams of events: tab-separated tables and newline-delimited JSON, also compressed with gzip",
    probe,
    open,
    ranks: None,
};

fn probe(input: &Input) -> u8 {
    let line = lines::first_line(&input.head);
    let Ok(text) = std::str::from_utf8(&line) else {
        return 0;
    };
    if let Some((_, is_repaired)) = tsv::Header::repaired(text) {
        return if is_repaired { 60 } else { 90 };
    }
    let is_json = text.starts_with(['{', '[']);
    if is_json && json::Names::default().line(text, 16).is_ok() {
        return 80;
    }
    // The first line may be longer than the head.
    if is_json && input.has_extension("ndjson") {
        return 40;
    }
    0
}

fn open(path: &Path, options: &OpenOptions, job: &Job) -> Result<Recording> {
    let mut streams = Streams::open(&[path], options)?;
    let mut builder = TraceBuilder::of(path, options.get_limits());
    while streams.next_step(&mut builder, job)? {
        job.advance("read", 0, 0);
        job.check()?;
        builder.check(options.get_limits())?;
    }
    builder.check(options.get_limits())?;
    let (trace, mut diagnostics) = builder.finish(options)?;
    perf_core::Merge::merge(&mut diagnostics, streams.diagnostics());
    options.judge(&diagnostics)?;
    Ok(Recording::new(
        Content::Trace(trace),
        FORMAT.name,
        diagnostics,
    ))
}
