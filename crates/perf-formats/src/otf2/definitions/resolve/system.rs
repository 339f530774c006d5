//! Resolution of the OTF2 system tree: machine nodes, processes (location groups) and locations,
//! including locations with files but without a definition.

use super::forest::cut_cycles;
use super::{Resolved, Resolver, Row, Table};
use crate::Result;
use crate::otf2::archive::anchor::Anchor;
use crate::otf2::codes;
use crate::otf2::definitions::id_maps::IdMap;
use crate::otf2::rules;
use crate::otf2::schema::Space;
use crate::otf2::wire::typed;
use perf_core::{
    GroupKind, Location, LocationGroup, LocationGroupId, LocationKind, SystemNode, SystemNodeId,
    SystemTree, Value,
};

const DOMAINS: [&str; 9] = [
    "machine",
    "shared memory",
    "NUMA",
    "socket",
    "cache",
    "core",
    "processing unit",
    "accelerator device",
    "networking device",
];

impl<'a> Resolver<'a> {
    /// Resolves the system tree. Locations are numbered by ascending key, so that of several events
    /// at one time the one with the lower key comes first.
    ///
    /// `keys` are the locations with files. Those without a definition become locations as well,
    /// unless the definitions are complete.
    pub(super) fn system(
        &mut self,
        keys: &[u64],
        anchor: &Anchor,
        resolved: &mut Resolved,
    ) -> Result<()> {
        let (nodes, node_ids) = self.nodes();
        let groups = self.groups(&node_ids, resolved);
        let mut locations = Vec::new();
        let mut table = self.take(Space::Location);
        let keys = if self.names_all_locations(&table, keys, anchor) {
            for key in keys.iter().filter(|key| !table.contains_key(key)) {
                let place = self.file.place(0).record(format!("location {key}"));
                self.found.add(rules::STALE_FILES, place);
            }
            &[]
        } else {
            keys
        };
        let mut all: Vec<u64> = table.keys().chain(keys).copied().collect();
        all.sort_unstable();
        all.dedup();
        let mut ids = Vec::new();
        for key in all {
            ids.push((key, locations.len() as u32));
            let Some(row) = table.remove(&key) else {
                let place = self.file.place(0).record(format!("location {key}"));
                self.found.add(rules::UNDEFINED_LOCATION, place);
                locations.push(Location {
                    name: format!("location {key}"),
                    kind: LocationKind::Unknown,
                    key,
                    ..Location::default()
                });
                resolved.declared.push(None);
                continue;
            };
            let kind = codes::location_kind(row.byte(2));
            if kind == LocationKind::Unknown {
                self.unknown(&row, row.byte(2));
            }
            resolved.declared.push(row.number(3));
            let group = self.refer(&row, 4, &resolved.maps.groups);
            locations.push(Location {
                name: self.text(&row, 1),
                kind,
                group: group.map(LocationGroupId),
                key,
                ..Location::default()
            });
        }
        resolved.maps.locations = IdMap::new(&ids);
        resolved.definitions.system = SystemTree::new(nodes, groups, locations, self.limits)?;
        Ok(())
    }

    /// Returns `true` if the definitions are evidently complete, so that files without a definition
    /// belong to another run in the same folder.
    fn names_all_locations(&self, table: &Table<'a>, keys: &[u64], anchor: &Anchor) -> bool {
        // A damaged record can turn into one of an unknown kind.
        let damages = [
            rules::TRUNCATED,
            rules::DAMAGED_CHUNK,
            rules::DAMAGED_RECORD,
            rules::UNKNOWN_RECORD,
        ];
        let is_damaged = damages.iter().any(|rule| self.found.count(*rule) > 0);
        // A location with a damaged key declares events but has no files.
        let has_files = |(key, row): (&u64, &Row<'a>)| {
            row.number(3) == Some(0) || keys.binary_search(key).is_ok()
        };
        // A damaged key may also equal the key of another location.
        let named = self.file.records().filter(|row| row.name() == "Location");
        !table.is_empty()
            && table.len() == named.count()
            && table.len() as u64 >= anchor.locations
            && !is_damaged
            && table.iter().all(has_files)
    }

    /// Counts a value that is not in its enumeration. Value 0 means unknown in the format and is
    /// not counted.
    pub(super) fn unknown(&mut self, row: &Row<'a>, value: u8) {
        if value != 0 {
            self.note(rules::UNKNOWN_VALUE, row.offset, || {
                format!("{} {}, value {value}", row.record.name, row.get(0))
            });
        }
    }

    fn nodes(&mut self) -> (Vec<SystemNode>, IdMap) {
        let table = self.take(Space::SystemTreeNode);
        let ids: Vec<(u64, u32)> = table.keys().copied().zip(0..).collect();
        let ids = IdMap::new(&ids);
        let mut nodes = Vec::new();
        let mut parents = Vec::new();
        for row in table.values() {
            let parent = self.refer(row, 3, &ids);
            if let Some(target) = row.id(3).and_then(|id| table.get(&id)) {
                self.forward(row, target);
            }
            parents.push(parent.map(|id| id as usize));
            nodes.push(SystemNode {
                name: self.text(row, 1),
                class: self.text(row, 2),
                ..SystemNode::default()
            });
        }
        let rows: Vec<(u64, u64)> = table.iter().map(|(id, row)| (*id, row.offset)).collect();
        for at in cut_cycles(&mut parents, self.limits.depth) {
            if let Some((id, offset)) = rows.get(at) {
                self.note(rules::CYCLE, *offset, || format!("SystemTreeNode {id}"));
            }
        }
        for (node, parent) in nodes.iter_mut().zip(&parents) {
            node.parent = parent.and_then(SystemNodeId::from_index);
        }
        self.node_properties(&ids, &mut nodes);
        (nodes, ids)
    }

    fn node_properties(&mut self, ids: &IdMap, nodes: &mut [SystemNode]) {
        for row in std::mem::take(&mut self.loose) {
            let pair = match row.record.name {
                "SystemTreeNodeProperty" => {
                    let value = match (row.id(2), row.value(3)) {
                        (Some(id), _) => self.string(id, &row),
                        (None, Some((11, id))) => self.string(id, &row),
                        (None, Some((code, bits))) => show(typed(code, bits)),
                        (None, None) => String::new(),
                    };
                    (self.text(&row, 1), value)
                }
                "SystemTreeNodeDomain" => {
                    let domain = DOMAINS.get(usize::from(row.byte(1)));
                    let name = domain.map(ToString::to_string);
                    let name = name.unwrap_or_else(|| row.byte(1).to_string());
                    ("domain".to_string(), name)
                }
                _ => {
                    self.loose.push(row);
                    continue;
                }
            };
            let owner = self.refer(&row, 0, ids);
            if let Some(node) = owner.and_then(|id| nodes.get_mut(id as usize)) {
                node.properties.push(pair);
            }
        }
    }

    fn groups(&mut self, nodes: &IdMap, resolved: &mut Resolved) -> Vec<LocationGroup> {
        let table = self.take(Space::LocationGroup);
        let ids: Vec<(u64, u32)> = table.keys().copied().zip(0..).collect();
        let ids = IdMap::new(&ids);
        let mut groups = Vec::new();
        for row in table.values() {
            let kind = codes::group_kind(row.byte(2));
            if kind == GroupKind::Unknown {
                self.unknown(row, row.byte(2));
            }
            let parent = self.refer(row, 3, nodes);
            let creator = self.refer(row, 4, &ids);
            groups.push(LocationGroup {
                name: self.text(row, 1),
                kind,
                parent: parent.map(SystemNodeId),
                creator: creator.map(LocationGroupId),
                ..LocationGroup::default()
            });
        }
        resolved.maps.groups = ids;
        groups
    }
}

fn show(value: Value) -> String {
    match value {
        Value::U64(value) => value.to_string(),
        Value::I64(value) => value.to_string(),
        Value::F64(value) => value.to_string(),
    }
}
