//! [`MatchedDefinitions`]: regions, call paths and locations of several profiles, matched by name
//! and united.

use super::super::Profile;
use crate::{
    CallPath, CallPathId, CallTree, Error, Job, Limits, Location, LocationGroup, LocationGroupId,
    LocationId, Region, RegionId, Result, SystemNode, SystemNodeId, SystemTree,
};
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

/// Definitions of several profiles.
pub(super) struct MatchedDefinitions {
    /// Machine with the locations of all profiles.
    pub(super) system: SystemTree,
    /// Regions of all profiles.
    pub(super) regions: Vec<Region>,
    /// Call paths of all profiles.
    pub(super) calls: CallTree,
    /// United call path of each call path, by profile.
    pub(super) moved: Vec<Vec<CallPathId>>,
    /// United location of each location, by profile.
    pub(super) places: Vec<Vec<LocationId>>,
}

/// Numbers the elements of one profile that have equal keys, from 0.
struct Ordinals<K>(HashMap<K, usize>);

impl<K: Hash + Eq> Ordinals<K> {
    fn new() -> Self {
        Ordinals(HashMap::new())
    }

    fn next(&mut self, key: K) -> usize {
        let count = self.0.entry(key).or_default();
        *count += 1;
        *count - 1
    }
}

/// Returns the number of elements out of `all` that are in each part.
pub(super) fn common(all: usize, parts: &[Vec<usize>]) -> usize {
    let mut counts = vec![0; all];
    for part in parts {
        let once: HashSet<usize> = part.iter().copied().collect();
        for at in once {
            if let Some(count) = counts.get_mut(at) {
                *count += 1;
            }
        }
    }
    counts
        .into_iter()
        .filter(|count| *count == parts.len())
        .count()
}

fn too_many(what: &'static str) -> Error {
    let limit = u64::from(u32::MAX);
    Error::TooMany { what, limit }
}

impl MatchedDefinitions {
    /// Unites the definitions of profiles.
    pub(super) fn of(profiles: &[Profile], job: &Job) -> Result<Self> {
        let mut machine = Machine::default();
        let mut places = Vec::new();
        for profile in profiles {
            job.check()?;
            places.push(machine.add(profile.system())?);
        }
        let mut code = Code::default();
        let mut moved = Vec::new();
        for profile in profiles {
            moved.push(code.add(profile, job)?);
        }
        let limits = Limits::default().with_depth(u32::MAX);
        Ok(MatchedDefinitions {
            system: SystemTree::new(machine.nodes, machine.groups, machine.locations, &limits)?,
            regions: code.regions,
            calls: code.calls,
            moved,
            places,
        })
    }

    /// Returns the own call path of each united call path, by profile.
    pub(super) fn own_paths(&self) -> Vec<Vec<Option<CallPathId>>> {
        let own = |moved: &Vec<CallPathId>| {
            let mut own = vec![None; self.calls.paths().len()];
            for (at, to) in moved.iter().enumerate() {
                if let Some(slot) = own.get_mut(to.index()) {
                    *slot = CallPathId::from_index(at);
                }
            }
            own
        };
        self.moved.iter().map(own).collect()
    }
}

/// Regions and call paths of the profiles so far.
#[derive(Default)]
struct Code {
    /// Regions.
    regions: Vec<Region>,
    /// First region of each name.
    by_name: HashMap<String, RegionId>,
    /// Call paths.
    calls: CallTree,
    /// Call path by its caller, the first region of its name, and its number among equal ones.
    known: HashMap<(Option<CallPathId>, RegionId, usize), CallPathId>,
}

impl Code {
    /// Adds the regions and call paths of a profile, and returns the united call paths.
    fn add(&mut self, profile: &Profile, job: &Job) -> Result<Vec<CallPathId>> {
        let is_first = self.regions.is_empty();
        // The region of a name, and the region that a new call path takes.
        let mut ids = Vec::with_capacity(profile.regions().len());
        for region in profile.regions() {
            let next = RegionId::from_index(self.regions.len()).ok_or(too_many("regions"))?;
            let known = self.by_name.get(&region.name).copied();
            let named = known.unwrap_or(next);
            if known.is_none() {
                self.by_name.insert(region.name.clone(), next);
            }
            // The first profile keeps its region ids, which its properties may refer to.
            let own = if is_first { next } else { named };
            if own == next {
                self.regions.push(region.clone());
            }
            ids.push((named, own));
        }
        let mut ordinals = Ordinals::new();
        let mut moved: Vec<CallPathId> = Vec::with_capacity(profile.calls().paths().len());
        let mut checks = job.checks();
        for (at, path) in profile.calls().paths().iter().enumerate() {
            checks.next(1)?;
            let parent = path.parent.and_then(|id| moved.get(id.index()).copied());
            let Some((named, own)) = ids.get(path.region.index()).copied() else {
                return Err(Error::Undefined {
                    what: "region",
                    id: u64::from(path.region.0),
                    count: ids.len(),
                });
            };
            let key = (parent, named, ordinals.next((parent, named)));
            if let Some(id) = self.known.get(&key) {
                moved.push(*id);
                continue;
            }
            let region = own;
            let id = match self.calls.find(parent, region) {
                Some(_) => self.calls.push(CallPath { region, parent })?,
                None => self.calls.child(parent, region)?,
            };
            if let Some(own) = CallPathId::from_index(at) {
                for (name, value) in profile.calls().properties(own) {
                    self.calls.annotate(id, name.clone(), value.clone());
                }
            }
            self.known.insert(key, id);
            moved.push(id);
        }
        Ok(moved)
    }
}

/// Machine of the profiles so far.
#[derive(Default)]
struct Machine {
    /// Machine nodes.
    nodes: Vec<SystemNode>,
    /// Processes and accelerators.
    groups: Vec<LocationGroup>,
    /// Locations.
    locations: Vec<Location>,
    /// Location keys in use.
    keys: HashSet<u64>,
    /// Smallest key that may be free.
    next_key: u64,
    /// Node by parent, class, name and number among equal ones.
    known_nodes: HashMap<(Option<SystemNodeId>, String, String, usize), SystemNodeId>,
    /// Group by name and number among equal ones.
    known_groups: HashMap<(String, usize), LocationGroupId>,
    /// Location by names of group and location, and number among equal ones.
    known_locations: HashMap<(String, usize), LocationId>,
}

impl Machine {
    /// Adds a machine and returns the united locations.
    fn add(&mut self, system: &SystemTree) -> Result<Vec<LocationId>> {
        let nodes = self.nodes_of(system)?;
        let groups = self.groups_of(system, &nodes)?;
        let mut ordinals = Ordinals::new();
        let mut places = Vec::with_capacity(system.locations().len());
        for (id, location) in system.location_ids().zip(system.locations()) {
            let label = system.label(id);
            let key = (label.clone(), ordinals.next(label));
            let next = LocationId::from_index(self.locations.len()).ok_or(too_many("locations"))?;
            let place = *self.known_locations.entry(key).or_insert(next);
            places.push(place);
            if place == next {
                let mut own = location.clone();
                let group = location.group;
                own.group = group.and_then(|id| groups.get(id.index()).copied());
                own.key = self.free_key(location.key);
                self.locations.push(own);
            }
        }
        Ok(places)
    }

    /// Returns a key, or a free one if it is in use.
    fn free_key(&mut self, wanted: u64) -> u64 {
        let mut key = wanted;
        while !self.keys.insert(key) {
            key = self.next_key;
            self.next_key += 1;
        }
        key
    }

    fn nodes_of(&mut self, system: &SystemTree) -> Result<Vec<SystemNodeId>> {
        let count = system.nodes().len();
        let mut found: Vec<Option<SystemNodeId>> = vec![None; count];
        let mut ordinals = Ordinals::new();
        for start in 0..count {
            // A parent may follow its children. `SystemTree::new` excludes cycles.
            let mut pending = vec![start];
            while let Some(at) = pending.last().copied() {
                let Some(node) = system.nodes().get(at) else {
                    break;
                };
                let above = node.parent.map(SystemNodeId::index);
                if let Some(above) = above.filter(|above| found.get(*above) == Some(&None)) {
                    pending.push(above);
                    continue;
                }
                pending.pop();
                if found.get(at) != Some(&None) {
                    continue;
                }
                let parent = above.and_then(|above| *found.get(above)?);
                let (class, name) = (node.class.clone(), node.name.clone());
                let number = ordinals.next((parent, class.clone(), name.clone()));
                let next = SystemNodeId::from_index(self.nodes.len());
                let next = next.ok_or(too_many("machine nodes"))?;
                let key = (parent, class, name, number);
                let id = *self.known_nodes.entry(key).or_insert(next);
                if id == next {
                    let mut own = node.clone();
                    own.parent = parent;
                    self.nodes.push(own);
                }
                if let Some(slot) = found.get_mut(at) {
                    *slot = Some(id);
                }
            }
        }
        Ok(found.into_iter().flatten().collect())
    }

    fn groups_of(
        &mut self,
        system: &SystemTree,
        nodes: &[SystemNodeId],
    ) -> Result<Vec<LocationGroupId>> {
        let mut ordinals = Ordinals::new();
        let mut ids = Vec::with_capacity(system.groups().len());
        let mut added = Vec::new();
        for group in system.groups() {
            let key = (group.name.clone(), ordinals.next(group.name.clone()));
            let next = LocationGroupId::from_index(self.groups.len());
            let next = next.ok_or(too_many("processes"))?;
            let id = *self.known_groups.entry(key).or_insert(next);
            ids.push(id);
            if id == next {
                let mut own = group.clone();
                own.parent = group.parent.and_then(|id| nodes.get(id.index()).copied());
                added.push((id, group.creator));
                self.groups.push(own);
            }
        }
        // A creator may follow its accelerator.
        for (id, creator) in added {
            if let Some(group) = self.groups.get_mut(id.index()) {
                group.creator = creator.and_then(|id| ids.get(id.index()).copied());
            }
        }
        Ok(ids)
    }
}
