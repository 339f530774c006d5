//! Resolution of OTF2 communicators with the members of their groups, of windows for one-sided
//! communication, and of Cartesian grids.

use super::{Resolved, Resolver, Row, Table};
use crate::otf2::definitions::id_maps::IdMap;
use crate::otf2::rules;
use crate::otf2::schema::Space;
use perf_core::{CartDimension, CartTopology, CommId, Communicator, LocationId, Members, Window};
use std::collections::HashMap;

/// Type of a group of all communicating locations of a paradigm.
pub(super) const COMM_LOCATIONS: u8 = 4;
/// Type of a group of indices into the communicating locations.
const COMM_GROUP: u8 = 5;
/// Type of the group of a location itself.
const COMM_SELF: u8 = 6;
/// Type of a group of locations.
const LOCATIONS: u8 = 1;
/// Member value for an absent location.
const ABSENT: u64 = u64::MAX;
/// Flag: members are locations, not indices.
const GLOBAL_MEMBERS: u64 = 1;

/// Groups by id, with cached properties that many communicators need.
struct Groups<'a> {
    /// Group records by id.
    rows: Table<'a>,
    /// Cached properties by group id.
    heads: HashMap<u64, Head>,
}

/// Fields around the members of a group. Finding them takes time linear in the length of the list.
#[derive(Clone, Copy)]
struct Head {
    /// Number of members.
    members: u64,
    /// Type of the group.
    kind: u8,
    /// Paradigm of the group.
    paradigm: u8,
    /// Flags of the group.
    flags: u64,
}

impl<'a> Groups<'a> {
    fn get(&mut self, id: u64) -> Option<(Row<'a>, Head)> {
        let row = *self.rows.get(&id)?;
        let head = self.heads.entry(id).or_insert_with(|| Head {
            members: row.list(3).len() as u64,
            kind: group_type(&row),
            paradigm: group_paradigm(&row),
            flags: row.get(6),
        });
        Some((row, *head))
    }
}

/// Returns the type of a group. The first versions used other numbers.
pub(super) fn group_type(row: &Row<'_>) -> u8 {
    match row.number(4) {
        Some(kind) => kind as u8,
        None => match row.byte(2) {
            4 => COMM_GROUP,
            5 => COMM_SELF,
            6 => COMM_LOCATIONS,
            other => other,
        },
    }
}

/// Returns the paradigm of a group. The first versions supported only MPI.
pub(super) fn group_paradigm(row: &Row<'_>) -> u8 {
    row.number(5).map_or(4, |paradigm| paradigm as u8)
}

impl<'a> Resolver<'a> {
    pub(super) fn comms(&mut self, resolved: &mut Resolved) {
        let mut groups = Groups {
            rows: self.take(Space::Group),
            heads: HashMap::new(),
        };
        let table = self.take(Space::Comm);
        let ids: Vec<(u64, u32)> = table.keys().copied().zip(0..).collect();
        let ids = IdMap::new(&ids);
        for row in table.values() {
            let locations = &resolved.maps.locations;
            let (members, parent) = if row.record.name == "InterComm" {
                let a = self.members(row, 2, &mut groups, locations);
                let b = self.members(row, 3, &mut groups, locations);
                let members = match (a, b) {
                    (Members::Ranks(a), Members::Ranks(b)) => Members::Between(a, b),
                    _ => Members::Unknown,
                };
                (members, self.refer(row, 4, &ids))
            } else {
                let members = self.members(row, 2, &mut groups, locations);
                (members, self.refer(row, 3, &ids))
            };
            let parent_row = parent.and(row.id(if row.record.name == "InterComm" { 4 } else { 3 }));
            if let Some(target) = parent_row.and_then(|id| table.get(&id)) {
                self.forward(row, target);
            }
            resolved.definitions.comms.push(Communicator {
                name: self.text(row, 1),
                members,
                parent: parent.map(CommId),
            });
        }
        resolved.maps.comms = ids;
    }

    /// Returns the ranks of the group that a field names.
    fn members(
        &mut self,
        row: &Row<'a>,
        field: usize,
        groups: &mut Groups<'a>,
        locations: &IdMap,
    ) -> Members {
        let Some(id) = row.id(field) else {
            return Members::Unknown;
        };
        let about = || format!("{} {}", row.record.name, row.get(0));
        let Some((group, head)) = groups.get(id) else {
            self.note(rules::UNRESOLVED_DEFINITION, row.offset, about);
            return Members::Unknown;
        };
        self.forward(row, &group);
        let count = head.members;
        if count > self.members_left {
            self.note(rules::LONG_LISTS, row.offset, about);
            return Members::Unknown;
        }
        self.members_left -= count;
        let list = group.list(3);
        let (mut absent, mut wrong) = (0, false);
        let mut location = |key: &u64| {
            let found = locations.get(*key).map(LocationId);
            absent += u64::from(found.is_none() && *key != ABSENT);
            found
        };
        let global = head.flags & GLOBAL_MEMBERS != 0;
        let ranks: Vec<Option<LocationId>> = match head.kind {
            COMM_SELF => return Members::Own,
            LOCATIONS | COMM_LOCATIONS => list.iter().map(location).collect(),
            COMM_GROUP if global => list.iter().map(location).collect(),
            COMM_GROUP => {
                let all = self.comm_locations.get(&head.paradigm);
                let all = all.map_or(&[][..], Vec::as_slice);
                let mut at = |index: &u64| {
                    let key = usize::try_from(*index).ok().and_then(|at| all.get(at));
                    wrong |= key.is_none() && *index != ABSENT;
                    key.and_then(&mut location)
                };
                list.iter().map(&mut at).collect()
            }
            other => {
                self.unknown(&group, other);
                return Members::Unknown;
            }
        };
        let about = || format!("Group {id}");
        if wrong {
            self.note(rules::UNRESOLVED_DEFINITION, group.offset, about);
        }
        if absent > 0 {
            self.note(rules::ABSENT_MEMBER, group.offset, about);
        }
        Members::Ranks(ranks)
    }

    pub(super) fn windows(&mut self, resolved: &mut Resolved) {
        let mut ids = Vec::new();
        for (id, row) in self.take(Space::RmaWin) {
            ids.push((id, resolved.definitions.windows.len() as u32));
            let comm = self.refer(&row, 2, &resolved.maps.comms).map(CommId);
            let name = self.text(&row, 1);
            resolved.definitions.windows.push(Window { name, comm });
        }
        resolved.maps.windows = IdMap::new(&ids);
    }

    pub(super) fn topologies(&mut self, resolved: &mut Resolved) {
        let dimensions = self.take(Space::CartDimension);
        let table = self.take(Space::CartTopology);
        let ids: Vec<(u64, u32)> = table.keys().copied().zip(0..).collect();
        let ids = IdMap::new(&ids);
        let topologies = &mut resolved.definitions.topologies;
        for row in table.values() {
            let mut topology = CartTopology {
                name: self.text(row, 1),
                comm: self.refer(row, 2, &resolved.maps.comms).map(CommId),
                ..CartTopology::default()
            };
            for id in row.list(3) {
                let Some(dimension) = dimensions.get(&id) else {
                    self.note(rules::UNRESOLVED_DEFINITION, row.offset, || {
                        format!("CartTopology {}", row.get(0))
                    });
                    continue;
                };
                topology.dimensions.push(CartDimension {
                    name: self.text(dimension, 1),
                    size: dimension.get(2) as u32,
                    periodic: dimension.byte(3) != 0,
                });
            }
            topologies.push(topology);
        }
        for row in std::mem::take(&mut self.loose) {
            if row.record.name != "CartCoordinate" {
                continue;
            }
            let owner = self.refer(&row, 0, &ids);
            if let Some(topology) = owner.and_then(|id| topologies.get_mut(id as usize)) {
                let place = row.list(2).iter().map(|at| *at as u32).collect();
                topology.coordinates.push((row.get(1) as u32, place));
            }
        }
    }
}
