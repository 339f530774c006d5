//! [`FORMAT`]: recognises and opens TAU profiles.

use super::Tau;
use super::packed::MAGIC;
use super::tables::key_of;
use crate::bytes::GZIP;
use crate::{Content, Format, Input, OpenOptions, Recording, Result};
use perf_core::Job;
use std::path::Path;

/// TAU profiles, as listed in [`Formats`](crate::Formats).
pub const FORMAT: Format = Format {
    name: "tau",
    extensions: &["ppk"],
    describe: "Profiles of TAU: profile.N.C.T files, MULTI__ folders, packed ones of ParaProf",
    probe,
    open,
    ranks: None,
};

fn probe(input: &Input) -> u8 {
    if let Some(names) = &input.folder {
        let any = |is: fn(&str) -> bool| names.iter().any(|name| is(name));
        return if any(|name| key_of(Path::new(name)).is_some()) {
            90
        } else if any(|name| name.starts_with("MULTI__")) {
            85
        } else {
            0
        };
    }
    match &input.head {
        head if head.starts_with(&MAGIC) => 100,
        head if head.starts_with(&GZIP) && input.has_extension("ppk") => 90,
        _ if key_of(&input.path).is_some() && input.path.exists() => 80,
        _ if input.has_extension("ppk") && input.path.exists() => 40,
        _ => 0,
    }
}

fn open(path: &Path, options: &OpenOptions, job: &Job) -> Result<Recording> {
    let (profile, diagnostics) = Tau::open(path, options, job)?.into_parts();
    Ok(Recording::new(
        Content::Profile(profile),
        FORMAT.name,
        diagnostics,
    ))
}
