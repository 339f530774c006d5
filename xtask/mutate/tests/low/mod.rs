//! Reads recordings with decreasing limits.

mod generated;

pub(crate) use generated::Generated;

use perfkit::core::{Diagnostics, Job, Limits, Place};
use perfkit::formats::paraver::clustered::{Data, Definition};
use perfkit::formats::{Content, Error, OpenOptions};
use std::path::Path;

/// Name of a limit, the largest value that is tried, and a function that sets it.
pub(crate) type Limit = (&'static str, u64, fn(u64) -> Limits);

pub(crate) const MEMORY: Limit = ("memory", 1 << 32, |bytes| {
    Limits::default().with_memory(bytes)
});
pub(crate) const DEPTH: Limit = ("depth", 4096, |depth| {
    Limits::default().with_depth(depth as u32)
});
pub(crate) const DEFINITIONS: Limit = ("definitions", 1 << 24, |count| {
    Limits::default().with_definitions(count as u32)
});
pub(crate) const STRING: Limit = ("string", 1 << 20, |bytes| {
    Limits::default().with_string(bytes as u32)
});

/// Content of a cell of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cell {
    /// The limit has no effect.
    Nothing,
    /// An error with one of these beginnings. The largest limit that is too low gives the first
    /// one.
    Error(&'static [&'static str]),
    /// Repairs or losses that are counted under this rule.
    Rule(&'static str),
}

/// Result of reading.
#[derive(Debug, PartialEq)]
enum What {
    Recording(Box<Content>),
    Data(Data),
    Definition(Definition),
}

fn read(path: &Path, limits: Limits) -> Result<(What, Diagnostics), Error> {
    let nothing = Diagnostics::default();
    let end = path.extension().and_then(|end| end.to_str());
    match end {
        Some("csv") => Ok((What::Data(Data::open(path, &limits)?), nothing)),
        Some("xml") => {
            let document = std::fs::read(path).unwrap();
            let definition = Definition::parse_within(&document, "clustering.xml", &limits)?;
            Ok((What::Definition(definition), nothing))
        }
        _ => {
            let options = OpenOptions::new().threads(1).limits(limits);
            let found = perfkit::formats::open(path, &options, &Job::default())?;
            Ok((What::Recording(Box::new(found.content)), found.diagnostics))
        }
    }
}

/// Checks that a recording behaves as the table states. `told` converts a limit to the number in
/// error messages.
pub(crate) fn look(
    path: &Path,
    (_, most, limits): Limit,
    told: fn(u64) -> u64,
    cell: Cell,
) -> Result<(), String> {
    let whole = read(path, Limits::default()).map_err(|error| format!("by default: {error}"))?;
    let is_whole = |limit: u64| read(path, limits(limit)).is_ok_and(|found| found == whole);
    // Search for the smallest limit with which the recording is read completely.
    let (mut low, mut least) = (0, most);
    while low < least {
        let middle = low + (least - low) / 2;
        if is_whole(middle) {
            least = middle;
        } else {
            low = middle + 1;
        }
    }
    if !is_whole(least) {
        return Err(format!("with {least}: something else than by default"));
    }
    let Some(below) = least.checked_sub(1) else {
        return match cell {
            Cell::Nothing => Ok(()),
            _ => Err("no limit is too low".into()),
        };
    };
    for limit in [below, least / 2, least / 7, 1, 0] {
        let is_first = limit == below;
        if limit >= least {
            continue;
        }
        let outcome = judge(read(path, limits(limit)), told(limit), cell, is_first);
        outcome.map_err(|what| format!("{limit} of {least}: {what}"))?;
    }
    Ok(())
}

fn judge(
    outcome: Result<(What, Diagnostics), Error>,
    told: u64,
    cell: Cell,
    is_first: bool,
) -> Result<(), String> {
    match (outcome, cell) {
        (
            Err(Error::Limit {
                place,
                what,
                got,
                limit,
            }),
            Cell::Error(all),
        ) => {
            let is_one = |words: &&str| what.starts_with(words);
            let is_expected = if is_first {
                all.first().is_some_and(is_one)
            } else {
                all.iter().any(is_one)
            };
            let is_told = got > limit && (limit == told || !is_first);
            if is_expected && is_told && is_place(&place, what) {
                Ok(())
            } else {
                Err(format!("{place}: {what} is {got}, not more than {limit}"))
            }
        }
        (Ok((_, found)), Cell::Rule(rule)) => {
            if found.iter().any(|(it, _)| it.name == rule) {
                Ok(())
            } else {
                Err(format!("{rule} is not among: {found}"))
            }
        }
        // With a still lower limit so little may remain that the recording is not readable.
        (Err(error), Cell::Rule(_)) if !is_first && error.place().is_some() => Ok(()),
        (Err(error), _) => Err(format!("an error: {error}")),
        (Ok((_, found)), _) => Err(format!("read with: {found}")),
    }
}

/// Returns `true` if the location has a file and a position in it. Limits for a whole file need no
/// position.
fn is_place(place: &Place, what: &str) -> bool {
    let is_inside = place.offset.is_some() || place.record.is_some();
    let is_of_all = ["memory", "bytes of events", "uncompressed size in bytes"];
    !place.file.is_empty() && (is_inside || is_of_all.iter().any(|all| what.starts_with(all)))
}
