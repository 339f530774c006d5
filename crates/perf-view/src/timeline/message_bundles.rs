//! [`Bundles`]: messages between the rows of a timeline, bundled for a page; [`Marker`]: time,
//! location and label of an abnormal call.

use perf_core::{LocationId, Ticks, TimeRange};
use perf_fold::{Folder, Line};
use std::collections::{BTreeMap, HashMap};

/// Marker of an abnormal call in a timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// Time of the marker.
    pub at: Ticks,
    /// Location of the marker.
    pub location: LocationId,
    /// Description in a few words.
    pub label: String,
}

impl Marker {
    /// Creates a marker.
    pub fn new(at: Ticks, location: LocationId, label: impl Into<String>) -> Self {
        Marker {
            at,
            location,
            label: label.into(),
        }
    }
}

/// Returns the topmost row of each location.
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

/// Messages between rows, bundled so that there is at most one line for each pair of positions.
#[derive(Debug, Default)]
pub(super) struct Bundles {
    /// Number of columns of the window by which messages are bundled; `None` if each message is a
    /// separate bundle.
    pub(super) columns: Option<u32>,
    /// Bundles. They are sorted by their positions if `columns` is set.
    pub(super) all: Vec<Bundle>,
    /// Number of messages with both ends in one row.
    pub(super) inside: u64,
    /// Number of messages with an end on a location that is in no row.
    pub(super) elsewhere: u64,
}

/// Bundle of messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bundle {
    /// Row of the sender.
    pub(super) from: u32,
    /// Row of the receiver.
    pub(super) to: u32,
    /// One message of the bundle, with its exact times.
    pub(super) message: Line,
    /// Number of messages.
    pub(super) count: u64,
    /// Sum of the bytes of all messages.
    pub(super) bytes: u64,
}

/// Bundles the messages of a window for a page.
///
/// If there are at most `most` messages, each message is a separate bundle. Otherwise messages that
/// share a column at both ends are bundled. The number of columns is the largest of 1,024, 512, 256
/// and so on that gives at most `most` bundles, but at least 16.
pub(super) fn bundled(folder: &Folder, window: TimeRange, lines: &[Line], most: usize) -> Bundles {
    let rows = rows(folder);
    // There may be millions of messages, so the row of a location is looked up by its number.
    let locations = rows.keys().map(|location| location.index() + 1);
    let mut row_of = vec![None; locations.max().unwrap_or(0)];
    for (location, row) in &rows {
        row_of[location.index()] = Some(*row);
    }
    let row = |location: LocationId| row_of.get(location.index()).copied().flatten();
    let is_over = |line: &Line| {
        (line.sent < window.start && line.received < window.start)
            || (line.sent >= window.end && line.received >= window.end)
    };
    let seen = || lines.iter().filter(|line| !is_over(line));
    let between = |line: &Line| match (row(line.from), row(line.to)) {
        (Some(from), Some(to)) if from != to => Some(Bundle {
            from,
            to,
            message: *line,
            count: 1,
            bytes: line.bytes,
        }),
        _ => None,
    };
    let mut found = Bundles::default();
    let mut is_many = false;
    for line in seen() {
        match between(line) {
            Some(_) if is_many => {}
            Some(one) => {
                found.all.push(one);
                is_many = found.all.len() > most;
            }
            None if row(line.from).is_some() && row(line.to).is_some() => found.inside += 1,
            None => found.elsewhere += 1,
        }
    }
    if !is_many {
        return found;
    }
    found.all.clear();
    let bundles_of = |columns, most| bundles_of(seen().filter_map(between), window, columns, most);
    let mut columns = MOST_COLUMNS;
    while columns > FEWEST_COLUMNS {
        if let Some(all) = bundles_of(columns, most) {
            found.all = all;
            break;
        }
        columns /= 2;
    }
    if found.all.is_empty() {
        found.all = bundles_of(columns, usize::MAX).unwrap_or_default();
    }
    found.columns = Some(columns);
    found
}

/// Number of columns for the finest bundles.
const MOST_COLUMNS: u32 = 1024;
/// Number of columns for the coarsest bundles.
const FEWEST_COLUMNS: u32 = 16;

/// Bundles messages that share a column at both ends. Returns `None` if there are more than `most`
/// bundles.
fn bundles_of(
    between: impl Iterator<Item = Bundle>,
    window: TimeRange,
    columns: u32,
    most: usize,
) -> Option<Vec<Bundle>> {
    let column = |at: Ticks| match at {
        at if at < window.start => -1,
        at if at >= window.end => i64::from(columns),
        at => {
            let (offset, length) = (at.0 - window.start.0, window.len().max(1));
            // A division of 128 bits takes several times as long.
            let column = match offset.checked_mul(u64::from(columns)) {
                Some(scaled) => u128::from(scaled / length),
                None => u128::from(offset) * u128::from(columns) / u128::from(length),
            };
            i64::try_from(column).unwrap_or(i64::MAX)
        }
    };
    let mut bundles: BTreeMap<_, Bundle> = BTreeMap::new();
    for one in between {
        let (sent, received) = (column(one.message.sent), column(one.message.received));
        bundles
            .entry((one.from, sent, one.to, received))
            .and_modify(|bundle| {
                bundle.count += one.count;
                bundle.bytes = bundle.bytes.saturating_add(one.bytes);
                bundle.message = std::cmp::min_by_key(bundle.message, one.message, order);
            })
            .or_insert(one);
        if bundles.len() > most {
            return None;
        }
    }
    Some(bundles.into_values().collect())
}

/// Returns a pseudo-random sort key of a message. The message with the smallest key represents its
/// bundle.
///
/// If the earliest message represented its bundle, lines would gather at the borders of the
/// columns, as if all ranks sent at the same time.
fn order(line: &Line) -> (u64, Ticks, Ticks) {
    let mixed = line.sent.0 ^ line.received.0.rotate_left(32);
    let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ (mixed >> 32), line.sent, line.received)
}
