//! [`SystemTree`]: machine > node > process or accelerator > location.

use crate::{Error, Limits, LocationGroupId, LocationId, Properties, Result, SystemNodeId};

/// A node of the machine: the machine itself, a rack, a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SystemNode {
    /// Name, such as a host name.
    pub name: String,
    /// Class, such as `machine` or `node`.
    pub class: String,
    /// What it is part of; `None` at a root.
    pub parent: Option<SystemNodeId>,
    /// Further facts about it.
    pub properties: Properties,
}

/// What a [`LocationGroup`] is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum GroupKind {
    /// A process: its locations share an address space.
    #[default]
    Process,
    /// A device, used by the process that [`LocationGroup::creator`] names.
    Accelerator,
    /// The recording does not say, or says something newer than this crate.
    Unknown,
}

/// A process or an accelerator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LocationGroup {
    /// Name, such as `MPI Rank 3`.
    pub name: String,
    /// What it is.
    pub kind: GroupKind,
    /// Where it runs.
    pub parent: Option<SystemNodeId>,
    /// The process an accelerator works for.
    pub creator: Option<LocationGroupId>,
    /// Further facts about it.
    pub properties: Properties,
}

/// What a [`Location`] is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum LocationKind {
    /// A thread of a process.
    #[default]
    CpuThread,
    /// A queue of work on an accelerator.
    AcceleratorStream,
    /// A source of metrics that runs no code.
    Metric,
    /// The recording does not say, or says something newer than this crate.
    Unknown,
}

/// A CPU thread, an accelerator stream or a metric source: what has a stream of events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Location {
    /// Name, such as `Master thread`.
    pub name: String,
    /// What it is.
    pub kind: LocationKind,
    /// The process or accelerator it belongs to.
    pub group: Option<LocationGroupId>,
    /// What the recording calls it; keys are unique and may be sparse.
    pub key: u64,
    /// Further facts about it.
    pub properties: Properties,
}

/// The machine a program ran on: nodes, processes and accelerators, locations.
///
/// Nodes and groups form a forest; every reference in it is valid and no node is its own ancestor.
///
/// ```
/// use perf_core::{Location, LocationGroup, LocationGroupId, LocationId, SystemTree};
/// let process = |name: &str| LocationGroup { name: name.into(), ..Default::default() };
/// let thread = |group, key| Location { group: Some(LocationGroupId(group)), key, ..Default::default() };
/// let tree = SystemTree::new(
///     vec![],
///     vec![process("rank 0"), process("rank 1")],
///     vec![thread(0, 10), thread(1, 20)],
///     &Default::default(),
/// )?;
/// assert_eq!(tree.by_key(20), Some(LocationId(1)));
/// assert_eq!(tree.process(LocationId(1)), Some(LocationGroupId(1)));
/// # Ok::<(), perf_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "Parts"))]
pub struct SystemTree {
    nodes: Vec<SystemNode>,
    groups: Vec<LocationGroup>,
    locations: Vec<Location>,
    /// Locations by ascending key.
    #[cfg_attr(feature = "serde", serde(skip_serializing))]
    keys: Vec<(u64, LocationId)>,
}

/// A tree as it is stored, not yet checked.
#[cfg(feature = "serde")]
#[derive(serde::Deserialize)]
struct Parts {
    nodes: Vec<SystemNode>,
    groups: Vec<LocationGroup>,
    locations: Vec<Location>,
}

#[cfg(feature = "serde")]
impl TryFrom<Parts> for SystemTree {
    type Error = Error;

    fn try_from(parts: Parts) -> Result<Self> {
        let limits = Limits::default();
        SystemTree::new(parts.nodes, parts.groups, parts.locations, &limits)
    }
}

impl SystemTree {
    /// Puts the tree together.
    ///
    /// # Errors
    /// [`Error::Undefined`] for a parent, group or creator that is not there, [`Error::Cycle`] for
    /// a node among its own ancestors, [`Error::TooDeep`] past [`Limits::depth`],
    /// [`Error::Duplicate`] for two locations of one key, and [`Error::TooMany`] past 2^32
    /// locations.
    pub fn new(
        nodes: Vec<SystemNode>,
        groups: Vec<LocationGroup>,
        locations: Vec<Location>,
        limits: &Limits,
    ) -> Result<Self> {
        check_nodes(&nodes, limits.depth)?;
        for group in &groups {
            check(
                group.parent.map(SystemNodeId::index),
                nodes.len(),
                "system node",
            )?;
            check(
                group.creator.map(LocationGroupId::index),
                groups.len(),
                "location group",
            )?;
        }
        let mut keys = Vec::with_capacity(locations.len());
        for (index, location) in locations.iter().enumerate() {
            check(
                location.group.map(LocationGroupId::index),
                groups.len(),
                "location group",
            )?;
            let id = LocationId::from_index(index).ok_or(Error::TooMany {
                what: "locations",
                limit: u64::from(u32::MAX),
            })?;
            keys.push((location.key, id));
        }
        keys.sort_unstable();
        if let Some((key, _)) = keys
            .iter()
            .zip(keys.iter().skip(1))
            .find_map(|(one, next)| (one.0 == next.0).then_some(one))
        {
            return Err(Error::Duplicate {
                what: "location key",
                id: *key,
            });
        }
        Ok(SystemTree {
            nodes,
            groups,
            locations,
            keys,
        })
    }

    /// Nodes, by [`SystemNodeId`].
    pub fn nodes(&self) -> &[SystemNode] {
        &self.nodes
    }

    /// Processes and accelerators, by [`LocationGroupId`].
    pub fn groups(&self) -> &[LocationGroup] {
        &self.groups
    }

    /// Locations, by [`LocationId`].
    pub fn locations(&self) -> &[Location] {
        &self.locations
    }

    /// A location by id.
    pub fn location(&self, id: LocationId) -> Option<&Location> {
        self.locations.get(id.index())
    }

    /// A group by id.
    pub fn group(&self, id: LocationGroupId) -> Option<&LocationGroup> {
        self.groups.get(id.index())
    }

    /// A node by id.
    pub fn node(&self, id: SystemNodeId) -> Option<&SystemNode> {
        self.nodes.get(id.index())
    }

    /// The location the recording calls `key`.
    pub fn by_key(&self, key: u64) -> Option<LocationId> {
        let at = self.keys.partition_point(|(other, _)| *other < key);
        let (found, id) = self.keys.get(at)?;
        (*found == key).then_some(*id)
    }

    /// The ids of all locations, in order.
    pub fn location_ids(&self) -> impl ExactSizeIterator<Item = LocationId> + use<> {
        // `new` saw to it that there are at most 2^32 locations.
        (0..self.locations.len()).map(|index| LocationId(index as u32))
    }

    /// The process a location belongs to; for the stream of an accelerator the process that
    /// created the accelerator, where the recording tells.
    pub fn process(&self, location: LocationId) -> Option<LocationGroupId> {
        let id = self.location(location)?.group?;
        let group = self.group(id)?;
        match group.kind {
            GroupKind::Accelerator => Some(group.creator.unwrap_or(id)),
            _ => Some(id),
        }
    }

    /// `process, thread`: a name for people that tells locations of different processes apart.
    pub fn label(&self, id: LocationId) -> String {
        let Some(location) = self.location(id) else {
            return format!("location {id}");
        };
        match location.group.and_then(|group| self.group(group)) {
            Some(group) => format!("{}, {}", group.name, location.name),
            None => location.name.clone(),
        }
    }
}

/// Each node is walked up to the first ancestor whose depth is known, so that the whole costs
/// one step a node however deep the tree is.
fn check_nodes(nodes: &[SystemNode], limit: u32) -> Result<()> {
    const UNKNOWN: u32 = u32::MAX;
    let what = "system node";
    let mut depths = vec![UNKNOWN; nodes.len()];
    let mut climbed = Vec::new();
    for start in 0..nodes.len() {
        let mut at = Some(start);
        while let Some(id) = at.filter(|id| depths[*id] == UNKNOWN) {
            if climbed.len() > limit as usize {
                let cycle = climbed.contains(&id);
                let id = start as u64;
                return Err(if cycle {
                    Error::Cycle { what, id }
                } else {
                    Error::TooDeep { what, id, limit }
                });
            }
            climbed.push(id);
            at = nodes[id].parent.map(SystemNodeId::index);
            check(at, nodes.len(), what)?;
        }
        let mut depth = at.map_or(0, |id| depths[id] + 1);
        while let Some(id) = climbed.pop() {
            if depth > limit {
                return Err(Error::TooDeep {
                    what,
                    id: id as u64,
                    limit,
                });
            }
            depths[id] = depth;
            depth += 1;
        }
    }
    Ok(())
}

fn check(id: Option<usize>, count: usize, what: &'static str) -> Result<()> {
    match id {
        Some(id) if id >= count => Err(Error::Undefined {
            what,
            id: id as u64,
            count,
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(parent: Option<u32>) -> SystemNode {
        SystemNode {
            parent: parent.map(SystemNodeId),
            ..Default::default()
        }
    }

    fn tree(nodes: Vec<SystemNode>) -> Result<SystemTree> {
        SystemTree::new(nodes, vec![], vec![], &Limits::default().with_depth(3))
    }

    #[test]
    fn cycles_strangers_and_deep_trees_are_errors() {
        assert!(matches!(
            tree(vec![node(Some(0))]),
            Err(Error::Cycle { id: 0, .. })
        ));
        assert!(matches!(
            tree(vec![node(Some(1)), node(Some(0))]),
            Err(Error::Cycle { .. })
        ));
        // Node 0 is no part of the cycle it leads to; the depth limit ends the walk.
        let into_cycle = vec![node(Some(1)), node(Some(2)), node(Some(1))];
        assert!(tree(into_cycle).is_err());
        assert!(matches!(
            tree(vec![node(Some(7))]),
            Err(Error::Undefined { id: 7, .. })
        ));
        let deep = (0..5u32).map(|id| node(id.checked_sub(1))).collect();
        assert!(matches!(tree(deep), Err(Error::TooDeep { id: 4, .. })));
    }

    #[test]
    fn two_locations_of_one_key_are_an_error() {
        let with = |key| Location {
            key,
            ..Default::default()
        };
        let tree = |keys: [u64; 3]| {
            let locations = keys.map(with).into();
            SystemTree::new(vec![], vec![], locations, &Limits::default())
        };
        let error = tree([7, 3, 7]).unwrap_err();
        assert!(matches!(error, Error::Duplicate { id: 7, .. }));
        assert_eq!(error.to_string(), "location key 7 is defined twice");
        assert!(tree([7, 3, 8]).is_ok());
    }

    #[test]
    fn streams_belong_to_the_process_that_made_their_device() {
        let device = LocationGroup {
            kind: GroupKind::Accelerator,
            creator: Some(LocationGroupId(0)),
            ..Default::default()
        };
        let stream = Location {
            kind: LocationKind::AcceleratorStream,
            group: Some(LocationGroupId(1)),
            ..Default::default()
        };
        let groups = vec![LocationGroup::default(), device];
        let tree = SystemTree::new(vec![], groups, vec![stream], &Limits::default()).unwrap();
        assert_eq!(tree.process(LocationId(0)), Some(LocationGroupId(0)));
        assert_eq!(tree.process(LocationId(9)), None);
    }
}
