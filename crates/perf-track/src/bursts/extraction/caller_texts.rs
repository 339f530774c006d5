//! [`caller_text`]: text of a caller, with file and line; [`outside_text`]: text of a place between
//! parallel functions.

use perf_core::{Definitions, RegionId};

/// Returns the text of a caller: its name, with its source file and line if they are known.
pub(super) fn caller_text(definitions: &Definitions, id: RegionId) -> String {
    let Some(region) = definitions.regions.get(id.index()) else {
        return definitions.region_name(id).into_owned();
    };
    match (&region.file, region.lines) {
        (Some(file), Some((line, _))) => format!("{} {file}:{line}", region.name),
        (Some(file), None) => format!("{} {file}", region.name),
        (None, Some((line, _))) => format!("{}:{line}", region.name),
        (None, None) => region.name.clone(),
    }
}

/// Position of a burst on a thread that executes no parallel function at the time.
pub(crate) const OUTSIDE: &str = "outside parallel functions";

/// Returns the text of the part of a thread between two parallel functions.
pub(super) fn outside_text(definitions: &Definitions, functions: [Option<RegionId>; 2]) -> String {
    let name = |id: RegionId| definitions.region_name(id).into_owned();
    match functions.map(|function| function.map(name)) {
        [Some(last), Some(next)] if last == next => format!("{OUTSIDE}, between calls of {next}"),
        [Some(last), Some(next)] => format!("{OUTSIDE}, between {last} and {next}"),
        [Some(last), None] => format!("{OUTSIDE}, after {last}"),
        [None, Some(next)] => format!("{OUTSIDE}, before {next}"),
        [None, None] => OUTSIDE.to_owned(),
    }
}
