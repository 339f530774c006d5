//! [`FORMAT`]: recognises and opens Cube profiles.

use super::read::is_document;
use super::{Cube, tar};
use crate::bytes::GZIP;
use crate::{Content, Format, Input, OpenOptions, Recording, Result};
use perf_core::Job;
use std::path::Path;

/// Cube profiles, as listed in [`Formats`](crate::Formats).
pub const FORMAT: Format = Format {
    name: "cube",
    extensions: &["cubex", "cube"],
    describe: "Call-path profiles of Score-P, Scalasca and others (CUBE4, Cube3)",
    probe,
    open,
    ranks: None,
};

fn probe(input: &Input) -> u8 {
    if input.folder.is_some() {
        return 0;
    }
    let name = input.path.file_name().map(|name| name.to_string_lossy());
    let name = name.unwrap_or_default();
    let is_named = [".cubex", ".cube", ".cubex.gz", ".cube.gz"]
        .iter()
        .any(|end| name.ends_with(end));
    let looks = match &input.head {
        head if tar::is_tar(head) => true,
        head if head.starts_with(&GZIP) => is_named,
        head => is_document(head) && head.windows(5).any(|window| window == b"<cube"),
    };
    match (looks, is_named) {
        (true, true) => 100,
        (true, false) => 60,
        // A tar archive with its magic number beyond the head, or a damaged file.
        (false, true) => 70,
        (false, false) => 0,
    }
}

fn open(path: &Path, options: &OpenOptions, job: &Job) -> Result<Recording> {
    let (profile, diagnostics) = Cube::open(path, options, job)?.into_parts();
    Ok(Recording::new(
        Content::Profile(profile),
        FORMAT.name,
        diagnostics,
    ))
}
