//! What lies over the rows of a page: messages between them, and marks of what is abnormal.

use super::pyramid::Node;
use super::{Marker, View, links};
use crate::Result;
use perf_core::LocationId;
use perf_fold::{Column, Folder, GroupId, Lines};
use serde_json::{Value, json};
use std::collections::HashMap;

/// Most bundles of messages and most markers in a page.
pub(super) const MOST_LINKS: usize = 8_000;
/// Fewer columns than these tell nobody when a message was sent.
const FEWEST_COLUMNS: usize = 64;

impl View<'_> {
    /// Bundles as [from row, column, to row, column, messages, bytes]; columns outside are -1 and one
    /// past the last. They lie between the groups nobody unfolds further or, where those are too many for
    /// lines to be told apart, between groups above.
    pub(super) fn link_values(&self, nodes: &[Node]) -> Result<Value> {
        if self.lines.is_empty() {
            return Ok(Value::Null);
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
            let (lines, columns) = links::bundled(&folder, self.window, &self.lines, MOST_LINKS);
            // The rows at the top may have no lines between them at all.
            if columns >= FEWEST_COLUMNS || depths.peek().is_none_or(|next| *next == 0) {
                return Ok(link_value(&rows, &lines, columns));
            }
        }
        Ok(Value::Null)
    }

    fn folder_of(&self, ids: &[GroupId]) -> Result<Folder> {
        let params = Folder::params().columns(1024).check()?;
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

fn link_value(rows: &[(usize, GroupId)], lines: &Lines, columns: usize) -> Value {
    let column = |column| match column {
        Column::Before => -1,
        Column::At(pixel) => i64::from(pixel),
        Column::After => columns as i64,
    };
    let node = |row: u32| rows.get(row as usize).map(|(node, _)| *node);
    let bundles = lines.bundles.iter().map(|(ends, traffic)| {
        json!([
            node(ends.from_row),
            column(ends.from),
            node(ends.to_row),
            column(ends.to),
            traffic.count,
            traffic.bytes
        ])
    });
    json!({
        "columns": columns,
        "inside": lines.inside.count,
        "elsewhere": lines.elsewhere.count,
        "bundles": bundles.collect::<Vec<_>>(),
    })
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
