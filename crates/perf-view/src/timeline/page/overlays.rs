//! Messages between rows and markers of abnormal calls, as page data that the script draws over the
//! rows.

use super::View;
use super::pyramid::Node;
use crate::Result;
use crate::timeline::message_bundles::{self, Bundles};
use perf_core::{Clock, LocationId};
use perf_fold::{Folder, GroupId, MessageSizes, SizeClass};
use serde::Serialize;
use std::collections::HashMap;

/// Maximum number of message bundles, and of markers, in a page.
pub(super) const MOST_LINKS: usize = 8_000;
/// Smallest number of columns for bundles between rows of one depth. If fewer columns would be
/// needed, lines connect rows at a higher level of folding instead.
const FEWEST_COLUMNS: u32 = 64;

/// Row of the sender, time of sending, row of the receiver, time of receiving, number of messages,
/// and their bytes. The times are those of one message, in nanoseconds since the start of the
/// window.
type Link = (usize, i64, usize, i64, u64, u64);

/// Row, time in nanoseconds since the start of the window, and label of a marker.
pub(super) type Mark<'a> = (usize, i64, &'a str);

/// Number of a row in the page, and its group.
pub(super) type Shown = (usize, GroupId);

/// Messages of a page.
#[derive(Debug, Serialize)]
pub(super) struct Links {
    /// Number of columns of the bundles; `None` if each message has its own line.
    columns: Option<u32>,
    /// Bundles of messages.
    bundles: Vec<Link>,
}

impl Links {
    /// Returns the lines of a page that begins at `start` nanoseconds. `rows` are the rows of the bundles.
    pub(super) fn of(rows: &[Shown], found: &Bundles, clock: Clock, start: i64) -> Self {
        // The ends of messages are within the recording, so their times can be converted.
        let time = |at| clock.nanos(at).unwrap_or_default().0.saturating_sub(start);
        let node = |row: u32| rows[row as usize].0;
        let bundles = found.all.iter().map(|bundle| {
            let (from, to) = (node(bundle.from), node(bundle.to));
            let (sent, received) = (time(bundle.message.sent), time(bundle.message.received));
            (from, sent, to, received, bundle.count, bundle.bytes)
        });
        Links {
            columns: found.columns,
            bundles: bundles.collect(),
        }
    }
}

/// Class of the lengths of messages, and of the messages in it: number, bytes, bytes of those that
/// are not early, sum and longest of their times in nanoseconds, and number of early ones.
pub(super) type Size = (u32, u64, u64, u64, i64, i64, u64);

/// Returns the messages by length, the shortest first.
pub(super) fn sizes(found: &MessageSizes, clock: Clock) -> Vec<Size> {
    let nanos = |ticks: u64| clock.total(u128::from(ticks)).0;
    let classes = found.classes.iter();
    let row = |(class, of): (&u32, &SizeClass)| {
        let (time, longest) = (nanos(of.time), nanos(of.longest));
        let bytes = (of.bytes, of.timed_bytes);
        (*class, of.count, bytes.0, bytes.1, time, longest, of.early)
    };
    classes.map(row).collect()
}

impl View<'_> {
    /// Returns the messages of the page by length, unless the script can compute them from `links`:
    /// if each message has a line of its own and none is in `hidden`.
    pub(super) fn sizes(&self, links: Option<&Links>, hidden: [u64; 2]) -> Option<Vec<Size>> {
        let is_complete = hidden == [0; 2] && links.is_some_and(|links| links.columns.is_none());
        (!is_complete).then(|| {
            let found = MessageSizes::of(self.window, self.lines.iter().copied());
            sizes(&found, self.timelines.clock())
        })
    }

    /// Returns the messages of the page, or `None` if there are none. Also returns the numbers of
    /// messages that are not drawn: those within one row and those with an end in no row.
    ///
    /// Lines connect the rows that cannot be unfolded further. If these rows have too many messages
    /// for distinguishable lines, the lines connect rows at a higher level of folding.
    pub(super) fn link_values(
        &self,
        nodes: &[Node],
        start: i64,
    ) -> Result<(Option<Links>, [u64; 2])> {
        if self.lines.is_empty() {
            return Ok((None, [0; 2]));
        }
        let is_single = nodes.get(1).is_none_or(|node| node.parent.is_some());
        let deepest = nodes.iter().map(|node| depth(nodes, node)).max();
        let mut depths = (0..=deepest.unwrap_or(0)).rev().peekable();
        while let Some(at) = depths.next() {
            let shown = |(_, node): &(usize, &Node)| {
                let found = depth(nodes, node);
                found == at || (found < at && node.children.is_empty())
            };
            let rows: Vec<Shown> = nodes
                .iter()
                .enumerate()
                .filter(shown)
                .map(|(at, node)| (at, node.group))
                .collect();
            let ids: Vec<_> = rows.iter().map(|(_, group)| *group).collect();
            let folder = self.folder_of(&ids)?;
            let found = message_bundles::bundled(&folder, self.window, &self.lines, MOST_LINKS);
            let is_fine = found
                .columns
                .is_none_or(|columns| columns >= FEWEST_COLUMNS);
            // The search stops before depth 0 unless the page would be too large, because there may be
            // no lines between the top rows.
            let is_small = is_single || found.all.len() <= 2 * MOST_LINKS;
            if is_fine || depths.peek().is_none_or(|next| *next == 0 && is_small) {
                let hidden = [found.inside, found.elsewhere];
                let clock = self.timelines.clock();
                return Ok((Some(Links::of(&rows, &found, clock, start)), hidden));
            }
        }
        Ok((None, [0; 2]))
    }

    fn folder_of(&self, ids: &[GroupId]) -> Result<Folder> {
        let params = Folder::params().columns(1).check()?;
        Ok(Folder::new(
            self.timelines,
            self.groups.with_rows(ids)?,
            params,
        )?)
    }

    /// Returns the first markers in the window, at most [`MOST_LINKS`].
    pub(super) fn marker_values(&self, leaves: &Leaves, start: i64) -> Vec<Mark<'_>> {
        let clock = self.timelines.clock();
        let inside = self
            .markers
            .iter()
            .filter(|marker| self.window.contains(marker.at));
        let marks = inside.filter_map(|marker| {
            let node = leaves.0.get(&marker.location)?;
            let at = clock.nanos(marker.at)?.0 - start;
            Some((*node, at, marker.label.as_str()))
        });
        marks.take(MOST_LINKS).collect()
    }
}

fn depth(nodes: &[Node], node: &Node) -> usize {
    let parents = std::iter::successors(node.parent, |at| nodes.get(*at)?.parent);
    parents.count()
}

/// Node of each location, which is the most unfolded group that contains the location.
pub(super) struct Leaves(HashMap<LocationId, usize>);

impl Leaves {
    pub(super) fn of(nodes: &[Node], folder: &Folder) -> Self {
        let mut found = HashMap::new();
        let last = nodes.iter().enumerate();
        for (at, node) in last.filter(|(_, node)| node.children.is_empty()) {
            let group = folder.groups().get(node.group);
            let streams = group.map_or(&[][..], |group| &group.streams);
            let timelines = folder.timelines();
            for location in streams
                .iter()
                .filter_map(|stream| timelines.location(*stream))
            {
                found.entry(location).or_insert(at);
            }
        }
        Leaves(found)
    }
}
