//! [`FORMAT`]: recognises and opens OTF2 archives.

use super::archive::discovery::{find_folder, is_event_folder};
use super::{Anchor, DiskArchive, Reader};
use crate::{Content, Format, Input, OpenOptions, Recording, Result};
use perf_core::Job;
use std::path::Path;

/// OTF2, as listed in [`Formats`](crate::Formats).
pub const FORMAT: Format = Format {
    name: "otf2",
    extensions: &["otf2"],
    describe: "OTF2 traces of Score-P, EZTrace, APEX and others",
    probe,
    open,
    ranks: None,
};

fn probe(input: &Input) -> u8 {
    if let Some(names) = &input.folder {
        let any = |end: &str| names.iter().any(|name| name.ends_with(end));
        return if any(".otf2") {
            90
        } else if is_event_folder(&DiskArchive::new(&input.path)) {
            40
        } else if any(".def") {
            // Aborted runs leave these files without an anchor.
            40
        } else if find_folder(&input.path).is_some() {
            20
        } else {
            0
        };
    }
    if Anchor::is_anchor(&input.head) {
        return 100;
    }
    let is_lost = input.head.is_empty() && !input.path.exists();
    if is_lost {
        // The anchor is missing, but the other files of the archive may exist.
        let stem = input.path.with_extension("");
        let is_left = stem.is_dir() || stem.with_extension("def").is_file();
        return if input.has_extension("otf2") && is_left {
            30
        } else {
            0
        };
    }
    if input.has_extension("otf2") { 50 } else { 0 }
}

fn open(path: &Path, options: &OpenOptions, job: &Job) -> Result<Recording> {
    let reader = Reader::open(path, options, job)?;
    let (trace, diagnostics) = reader.read()?;
    Ok(Recording::new(
        Content::Trace(trace),
        FORMAT.name,
        diagnostics,
    ))
}
