//! What lies over the rows of a page: messages between them, and marks of what is abnormal.

use super::links::{self, Bundles};
use super::pyramid::Node;
use super::{Marker, View};
use crate::Result;
use perf_core::LocationId;
use perf_fold::{Folder, GroupId};
use serde_json::{Value, json};
use std::collections::HashMap;

/// Most bundles of messages and most markers in a page.
pub(super) const MOST_LINKS: usize = 8_000;
/// Fewest columns of bundles between these rows: in fewer, lines move up to rows that fold more.
const FEWEST_COLUMNS: u32 = 64;

impl View<'_> {
    /// Returns the messages of the page, or null if there are none.
    ///
    /// A line is `[from row, sent, to row, received, messages, bytes]`, with the times of one message
    /// in nanoseconds since `start`. Lines lie between the rows that unfold no further or, if these are
    /// too many for lines to be told apart, between rows above.
    pub(super) fn link_values(&self, nodes: &[Node], start: i64) -> Result<(Value, [u64; 2])> {
        if self.lines.is_empty() {
            return Ok((Value::Null, [0; 2]));
        }
        let deepest = nodes.iter().map(|node| depth(nodes, node)).max();
        let mut depths = (0..=deepest.unwrap_or(0)).rev().peekable();
        while let Some(at) = depths.next() {
            let shown = |(_, node): &(usize, &Node)| {
                let found = depth(nodes, node);
                found == at || (found < at && node.children.is_empty())
            };
            let rows: Vec<(usize, GroupId)> = nodes
                .iter()
                .enumerate()
                .filter(shown)
                .map(|(at, node)| (at, node.group))
                .collect();
            let ids: Vec<_> = rows.iter().map(|(_, group)| *group).collect();
            let folder = self.folder_of(&ids)?;
            let found = links::bundled(&folder, self.window, &self.lines, MOST_LINKS);
            let is_fine = found
                .columns
                .is_none_or(|columns| columns >= FEWEST_COLUMNS);
            // The rows at the top may have no lines between them at all.
            if is_fine || depths.peek().is_none_or(|next| *next == 0) {
                let hidden = [found.inside, found.elsewhere];
                return Ok((self.link_value(&rows, &found, start), hidden));
            }
        }
        Ok((Value::Null, [0; 2]))
    }

    fn link_value(&self, rows: &[(usize, GroupId)], found: &Bundles, start: i64) -> Value {
        let clock = self.timelines.clock();
        let time = |at| clock.nanos(at).unwrap_or_default().0.saturating_sub(start);
        let node = |row: u32| rows.get(row as usize).map(|(node, _)| *node);
        let bundles = found.all.iter().map(|bundle| {
            json!([
                node(bundle.from),
                time(bundle.message.sent),
                node(bundle.to),
                time(bundle.message.received),
                bundle.count,
                bundle.bytes
            ])
        });
        json!({"columns": found.columns, "bundles": bundles.collect::<Vec<_>>()})
    }

    fn folder_of(&self, ids: &[GroupId]) -> Result<Folder> {
        let params = Folder::params().columns(1).check()?;
        Ok(Folder::new(
            self.timelines,
            self.groups.with_rows(ids)?,
            params,
        )?)
    }

    /// Markers as [node, nanoseconds since the start, label].
    pub(super) fn marker_values(&self, leaves: &Leaves, start: i64) -> Vec<Value> {
        let clock = self.timelines.clock();
        let inside = self
            .markers
            .iter()
            .filter(|marker| self.window.contains(marker.at));
        let value = |marker: &Marker| {
            let node = leaves.0.get(&marker.location)?;
            let at = clock.nanos(marker.at)?.0 - start;
            Some(json!([node, at, marker.label]))
        };
        inside.filter_map(value).take(MOST_LINKS).collect()
    }
}

fn depth(nodes: &[Node], node: &Node) -> usize {
    let parents = std::iter::successors(node.parent, |at| nodes.get(*at)?.parent);
    parents.count()
}

/// The node of each location: the group nobody unfolds further.
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
