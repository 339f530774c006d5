//! [`SystemTree`]: the machine nodes, the processes and accelerators on them ([`LocationGroup`]),
//! and their threads and streams ([`Location`]), as a tree.

use crate::{Error, Limits, LocationGroupId, LocationId, Properties, Result, SystemNodeId};
use std::collections::HashSet;

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

    /// Returns the rank that the recording states for a process: its property `rank`, otherwise the
    /// only number in its name. Returns `None` without either.
    pub fn stated_rank(&self, id: LocationGroupId) -> Option<u64> {
        let group = self.group(id)?;
        stated_number(&group.name, &group.properties)
    }

    /// Returns the ranks of the groups by [`LocationGroupId`]; `None` for accelerators. These are the
    /// [stated](Self::stated_rank) ones if every process has one and no two are the same. Otherwise
    /// processes are numbered from 0 in the order of their ids.
    ///
    /// ```
    /// use perf_core::{LocationGroup, SystemTree};
    /// let process = |name: &str| LocationGroup { name: name.into(), ..Default::default() };
    /// let system = |names: [&str; 2]| {
    ///     SystemTree::new(vec![], names.map(process).into(), vec![], &Default::default())
    /// };
    /// assert_eq!(system(["MPI Rank 5", "MPI Rank 3"])?.ranks(), [Some(5), Some(3)]);
    /// assert_eq!(system(["solver", "MPI Rank 3"])?.ranks(), [Some(0), Some(1)]);
    /// # Ok::<(), perf_core::Error>(())
    /// ```
    pub fn ranks(&self) -> Vec<Option<u64>> {
        let is_process = |group: &LocationGroup| group.kind != GroupKind::Accelerator;
        let groups = || self.groups.iter().map(is_process);
        let stated = (0..).map(LocationGroupId).zip(groups());
        let stated = stated.map(|(id, is_process)| is_process.then(|| self.stated_rank(id)));
        let stated: Vec<Option<Option<u64>>> = stated.collect();
        let mut seen = HashSet::new();
        let mut all = stated.iter().flatten();
        if all.all(|rank| rank.is_some_and(|rank| seen.insert(rank))) {
            return stated.into_iter().map(Option::flatten).collect();
        }
        let mut next = 0..;
        let numbered = groups().map(|is_process| if is_process { next.next() } else { None });
        numbered.collect()
    }

    /// Returns the processes in the order of their [`ranks`](Self::ranks), without accelerators.
    pub fn processes_by_rank(&self) -> Vec<LocationGroupId> {
        let ranks = (0..).map(LocationGroupId).zip(self.ranks());
        let mut order: Vec<_> = ranks.filter_map(|(id, rank)| Some((rank?, id))).collect();
        order.sort_unstable();
        order.into_iter().map(|(_, id)| id).collect()
    }

    /// Returns the ids of all locations in the order of the [`ranks`](Self::ranks) of their processes,
    /// and of their ids within a process. Locations without a process come last.
    pub fn locations_by_rank(&self) -> Vec<LocationId> {
        let ranks = self.ranks();
        let rank = |id: &LocationId| {
            let rank = self
                .process(*id)
                .and_then(|process| ranks.get(process.index()));
            rank.copied().flatten().unwrap_or(u64::MAX)
        };
        let mut order: Vec<_> = self.location_ids().collect();
        order.sort_by_cached_key(rank);
        order
    }

    /// Returns the numbers of some threads of one process: those that the recording states, as a
    /// property `rank` or the only number in the name, if every thread has one and no two are the
    /// same. Otherwise threads are numbered from 0 in order.
    pub fn thread_numbers(&self, threads: &[LocationId]) -> Vec<u64> {
        let stated = threads.iter().map(|id| {
            let own = self.location(*id)?;
            stated_number(&own.name, &own.properties)
        });
        let stated: Option<Vec<u64>> = stated.collect();
        let are_distinct = |numbers: &Vec<u64>| {
            let distinct: HashSet<_> = numbers.iter().collect();
            distinct.len() == numbers.len()
        };
        let stated = stated.filter(are_distinct);
        stated.unwrap_or_else(|| (0..threads.len() as u64).collect())
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

/// Returns the property `rank`, otherwise the only number in the name.
fn stated_number(name: &str, properties: &Properties) -> Option<u64> {
    if let Some(rank) = properties.get("rank") {
        return rank.parse().ok();
    }
    let is_other = |letter: char| !letter.is_ascii_digit();
    let mut numbers = name.split(is_other).filter(|part| !part.is_empty());
    let first = numbers.next()?.parse().ok();
    first.filter(|_| numbers.next().is_none())
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
    fn ranks_are_the_stated_ones_if_all_are_distinct() {
        let process = |rank: &str| LocationGroup {
            properties: [("rank", rank)].into(),
            ..Default::default()
        };
        let device = LocationGroup {
            kind: GroupKind::Accelerator,
            ..process("3")
        };
        let of = |ranks: [&str; 3]| {
            let mut groups: Vec<_> = ranks.map(process).into();
            groups.insert(1, device.clone());
            let own = |group| Location {
                name: format!("thread {}", 9 - group),
                group: Some(LocationGroupId(group)),
                key: group.into(),
                ..Default::default()
            };
            let locations = (0..4).map(own).collect();
            SystemTree::new(vec![], groups, locations, &Limits::default()).unwrap()
        };
        let stated = of(["3", "0", "7"]);
        assert_eq!(stated.ranks(), [Some(3), None, Some(0), Some(7)]);
        let ids = |ids: [u32; 3]| ids.map(LocationGroupId).to_vec();
        assert_eq!(stated.processes_by_rank(), ids([2, 0, 3]));
        let locations = [2, 0, 3, 1].map(LocationId).to_vec();
        assert_eq!(stated.locations_by_rank(), locations);
        for unclear in [of(["3", "3", "7"]), of(["3", "x", "7"])] {
            assert_eq!(unclear.ranks(), [Some(0), None, Some(1), Some(2)]);
            assert_eq!(unclear.processes_by_rank(), ids([0, 2, 3]));
        }
        let number = |name| stated_number(name, &Properties::new());
        assert_eq!((number("MPI Rank 12"), number("P#3")), (Some(12), Some(3)));
        assert_eq!((number("node 1, rank 2"), number("main")), (None, None));
        assert_eq!(stated.thread_numbers(&locations), [7, 9, 6, 8]);
        let twice = [LocationId(2), LocationId(2)];
        assert_eq!(stated.thread_numbers(&twice), [0, 1]);
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
