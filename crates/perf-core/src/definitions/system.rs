//! [`SystemTree`]: the machine nodes, the processes and accelerators on them ([`LocationGroup`]),
//! and their threads and streams ([`Location`]), as a tree.

use crate::{Error, Limits, LocationGroupId, LocationId, Properties, Result, SystemNodeId};

/// Node of the machine: the machine itself, a rack or a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SystemNode {
    /// Name, such as a host name.
    pub name: String,
    /// Class, such as `machine` or `node`.
    pub class: String,
    /// Parent node; `None` for a root.
    pub parent: Option<SystemNodeId>,
    /// Additional properties.
    pub properties: Properties,
}

/// Kind of a [`LocationGroup`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum GroupKind {
    /// Process, whose locations share an address space.
    #[default]
    Process,
    /// Device, driven by the process in [`LocationGroup::creator`].
    Accelerator,
    /// Not recorded, or a kind that this crate does not know.
    Unknown,
}

/// Process or accelerator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LocationGroup {
    /// Name, such as `MPI Rank 3`.
    pub name: String,
    /// Kind.
    pub kind: GroupKind,
    /// Node that the group belongs to, if known.
    pub parent: Option<SystemNodeId>,
    /// Process that drives the accelerator; `None` for processes, or if it is unknown.
    pub creator: Option<LocationGroupId>,
    /// Additional properties.
    pub properties: Properties,
}

/// Kind of a [`Location`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum LocationKind {
    /// Thread of a process.
    #[default]
    CpuThread,
    /// Work queue of an accelerator.
    AcceleratorStream,
    /// Source of metric values, which executes no regions.
    Metric,
    /// Not recorded, or a kind that this crate does not know.
    Unknown,
}

/// CPU thread, accelerator stream or metric source. Each location has its own sequence of events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Location {
    /// Name, such as `Master thread`.
    pub name: String,
    /// Kind.
    pub kind: LocationKind,
    /// Process or accelerator that the location belongs to, if known.
    pub group: Option<LocationGroupId>,
    /// Id in the recording. Keys are unique and may be sparse.
    pub key: u64,
    /// Additional properties.
    pub properties: Properties,
}

/// System tree of a recording: machine nodes, the processes and accelerators on them, and their
/// locations.
///
/// Nodes and groups form a forest. Every reference is valid, and no node is its own ancestor.
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
    /// Machine nodes by id.
    nodes: Vec<SystemNode>,
    /// Processes and accelerators by id.
    groups: Vec<LocationGroup>,
    /// Locations by id.
    locations: Vec<Location>,
    /// Locations in ascending order of key.
    #[cfg_attr(feature = "serde", serde(skip_serializing))]
    keys: Vec<(u64, LocationId)>,
}

/// Deserialized tree before validation.
#[cfg(feature = "serde")]
#[derive(serde::Deserialize)]
struct Parts {
    /// Machine nodes.
    nodes: Vec<SystemNode>,
    /// Processes and accelerators.
    groups: Vec<LocationGroup>,
    /// Locations.
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
    /// Creates a system tree from its parts.
    ///
    /// # Errors
    /// Returns [`Error::Undefined`] if a parent, group or creator does not exist, [`Error::Cycle`]
    /// for a node that is its own ancestor, [`Error::TooDeep`] beyond [`Limits::depth`],
    /// [`Error::Duplicate`] for two locations with the same key, and [`Error::TooMany`] for more
    /// than 2^32 locations.
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

    /// Returns the machine nodes by [`SystemNodeId`].
    pub fn nodes(&self) -> &[SystemNode] {
        &self.nodes
    }

    /// Returns the processes and accelerators by [`LocationGroupId`].
    pub fn groups(&self) -> &[LocationGroup] {
        &self.groups
    }

    /// Returns the locations by [`LocationId`].
    pub fn locations(&self) -> &[Location] {
        &self.locations
    }

    /// Returns a location by id, or `None` if there is no such location.
    pub fn location(&self, id: LocationId) -> Option<&Location> {
        self.locations.get(id.index())
    }

    /// Returns a process or accelerator by id, or `None` if there is no such group.
    pub fn group(&self, id: LocationGroupId) -> Option<&LocationGroup> {
        self.groups.get(id.index())
    }

    /// Returns a machine node by id, or `None` if there is no such node.
    pub fn node(&self, id: SystemNodeId) -> Option<&SystemNode> {
        self.nodes.get(id.index())
    }

    /// Returns the location with the given key in the recording, or `None` if there is no such
    /// location.
    pub fn by_key(&self, key: u64) -> Option<LocationId> {
        let at = self.keys.partition_point(|(other, _)| *other < key);
        let (found, id) = self.keys.get(at)?;
        (*found == key).then_some(*id)
    }

    /// Returns the ids of all locations in order.
    pub fn location_ids(&self) -> impl ExactSizeIterator<Item = LocationId> + use<> {
        // `new` ensures that there are at most 2^32 locations.
        (0..self.locations.len()).map(|index| LocationId(index as u32))
    }

    /// Returns the process of a location. For the stream of an accelerator, this is the process
    /// that created the accelerator, or the accelerator itself if the process is unknown. Returns
    /// `None` for a location without a group.
    pub fn process(&self, location: LocationId) -> Option<LocationGroupId> {
        let id = self.location(location)?.group?;
        let group = self.group(id)?;
        match group.kind {
            GroupKind::Accelerator => Some(group.creator.unwrap_or(id)),
            _ => Some(id),
        }
    }

    /// Returns a display name of the form `process, thread`, which distinguishes locations of
    /// different processes.
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

/// Checks the depth of all nodes. The walk from each node ends at the first ancestor of known
/// depth, so that each node is passed once, in trees of any depth.
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
        // Node 0 is not part of the cycle that it leads to; the depth limit ends the walk.
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
