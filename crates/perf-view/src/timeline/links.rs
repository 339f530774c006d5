//! What lies over the rows: messages as lines, and marks of what is abnormal.

use perf_core::{LocationId, Ticks, TimeRange};
use perf_fold::{Folder, Line, Lines};
use std::collections::HashMap;

/// A mark at a place of a timeline: a call that is abnormal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// When.
    pub at: Ticks,
    /// On which location.
    pub location: LocationId,
    /// What there is, in a few words.
    pub label: String,
}

impl Marker {
    /// Puts one together.
    pub fn new(at: Ticks, location: LocationId, label: impl Into<String>) -> Self {
        Marker {
            at,
            location,
            label: label.into(),
        }
    }
}

/// The topmost row of each location.
pub(super) fn rows(folder: &Folder) -> HashMap<LocationId, u32> {
    let (timelines, groups) = (folder.timelines(), folder.groups());
    let mut rows = HashMap::new();
    for (row, id) in (0..).zip(groups.rows()) {
        let streams = groups.get(*id).map_or(&[][..], |group| &group.streams);
        for location in streams
            .iter()
            .filter_map(|stream| timelines.location(*stream))
        {
            rows.entry(location).or_insert(row);
        }
    }
    rows
}

/// Messages for a page: bundled between the groups nobody unfolds further, in columns of the whole
/// window. As many columns as keep the bundles few.
pub(super) fn bundled(
    folder: &Folder,
    window: TimeRange,
    lines: &[Line],
    most: usize,
) -> (Lines, usize) {
    let mut columns = folder.checked().columns();
    loop {
        let found = Folder::params()
            .columns(columns)
            .check()
            .and_then(|checked| Folder::new(folder.timelines(), folder.groups().clone(), checked));
        let lines = found.map(|folder| folder.lines(window, lines.iter().copied()));
        match lines {
            Ok(lines) if lines.bundles.len() <= most || columns <= 16 => return (lines, columns),
            // A fold that is not possible has no lines either.
            Err(_) => return (Lines::default(), columns),
            Ok(_) => columns /= 2,
        }
    }
}
