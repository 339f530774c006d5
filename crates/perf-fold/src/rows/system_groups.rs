//! [`Tree`]: builds the [`Groups`] of a level, such as node, process or device, from the system
//! tree of a recording.

use super::groups::{GroupBy, GroupId, Groups};
use crate::Timelines;
use perf_core::{GroupKind, LocationGroupId, LocationKind, SystemNodeId};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Streams by the id of their owner. `u32::MAX`, which sorts last, stands for no owner.
type Parts = BTreeMap<u32, Vec<u32>>;

const NOTHING: u32 = u32::MAX;

/// [`Sort::rank`] of annotations, after those of the three kinds of locations.
const ANNOTATIONS: usize = 3;

pub(crate) struct Tree<'a> {
    /// Timelines whose streams are grouped.
    timelines: &'a Timelines,
    /// Groups built so far.
    groups: Groups,
    /// Level and sort key of each group.
    order: Vec<(GroupBy, (u32, usize, GroupId))>,
    /// Unique process names by group id.
    processes: HashMap<u32, String>,
    /// Unique node names by node id.
    nodes: HashMap<u32, String>,
    /// Processes with locations of several kinds.
    mixed_processes: HashSet<u32>,
    /// Nodes with locations of several kinds.
    mixed_nodes: HashSet<u32>,
    /// Short names of processes with devices, such as `rank 3`, if they are unique.
    ranks: HashMap<u32, String>,
}

impl<'a> Tree<'a> {
    pub(crate) fn grow(timelines: &'a Timelines) -> Self {
        let system = timelines.system();
        let mut tree = Tree {
            timelines,
            groups: Groups::none(timelines),
            order: Vec::new(),
            processes: names(system.groups().iter().map(|group| group.name.as_str())),
            nodes: names(system.nodes().iter().map(|node| node.name.as_str())),
            mixed_processes: HashSet::new(),
            mixed_nodes: HashSet::new(),
            ranks: HashMap::new(),
        };
        let kinds = [
            LocationKind::CpuThread,
            LocationKind::AcceleratorStream,
            LocationKind::Unknown,
        ];
        let count = timelines.len() as u32;
        let of = |kind| (0..count).filter(move |stream| timelines.kind(*stream) == kind);
        let has_devices = of(LocationKind::AcceleratorStream).next().is_some();
        tree.mixed_processes = tree.mixed(|stream| tree.process(stream));
        tree.mixed_nodes = tree.mixed(|stream| tree.node(stream));
        tree.ranks = tree.ranks();
        let mut annotations = Vec::new();
        for (rank, kind) in kinds.into_iter().enumerate() {
            let is_work = |stream: &u32| {
                let is_thread = kind == LocationKind::CpuThread;
                !(is_thread && has_devices && tree.is_annotation(*stream))
            };
            let (streams, others): (Vec<u32>, Vec<u32>) = of(kind).partition(is_work);
            annotations.extend(others);
            let words = plural(kind);
            tree.kind(Sort { rank, kind, words }, streams);
        }
        let sort = Sort {
            rank: ANNOTATIONS,
            kind: LocationKind::CpuThread,
            words: "annotations",
        };
        tree.kind(sort, annotations);
        let folds = |stream: &u32| kinds.contains(&timelines.kind(*stream));
        tree.groups.left_out = (0..count).filter(|stream| !folds(stream)).collect();
        tree
    }

    /// Returns the groups. The groups of level `by` are rows, in the order of the system tree.
    /// Annotations are one row, which comes last, unless each location is a row.
    pub(crate) fn groups(mut self, by: GroupBy) -> Groups {
        let of_annotations = match by {
            GroupBy::Location => GroupBy::Location,
            _ => GroupBy::All,
        };
        let is_row = |(level, (_, rank, _)): &&(GroupBy, (u32, usize, GroupId))| {
            *level
                == if *rank == ANNOTATIONS {
                    of_annotations
                } else {
                    by
                }
        };
        let mut rows: Vec<_> = self.order.iter().filter(is_row).collect();
        rows.sort_unstable_by_key(|(_, place)| *place);
        self.groups.rows = rows.into_iter().map(|(_, (.., id))| *id).collect();
        self.groups
    }

    /// Returns the owners that have streams of several kinds.
    fn mixed(&self, owner: impl Fn(u32) -> u32) -> HashSet<u32> {
        let mut kinds: HashMap<u32, LocationKind> = HashMap::new();
        let mut mixed = HashSet::new();
        let streams = 0..self.timelines.len() as u32;
        let known = |stream: &u32| self.timelines.kind(*stream) != LocationKind::Metric;
        for stream in streams.filter(known) {
            let (owner, kind) = (owner(stream), self.timelines.kind(stream));
            if *kinds.entry(owner).or_insert(kind) != kind {
                mixed.insert(owner);
            }
        }
        mixed
    }

    /// Returns the part before the comma of names such as `rank 3, python (59813)` for processes with
    /// devices, if no two of these processes share it.
    fn ranks(&self) -> HashMap<u32, String> {
        let streams = 0..self.timelines.len() as u32;
        let with_devices = streams.filter(|stream| self.device(*stream) != NOTHING);
        let owners: BTreeSet<u32> = with_devices.map(|stream| self.process(stream)).collect();
        let rank = |id: &u32| {
            let (rank, _) = self.processes.get(id)?.split_once(", ")?;
            rank.starts_with("rank ").then(|| (*id, rank.to_owned()))
        };
        let found: HashMap<u32, String> = owners.iter().filter_map(rank).collect();
        let unique: HashSet<&String> = found.values().collect();
        if unique.len() == owners.len() {
            found
        } else {
            HashMap::new()
        }
    }

    /// Returns `true` for a thread of a process that the profiler made up to hold annotations, such
    /// as `Spans` of Kineto: its process identifier is not a number.
    fn is_annotation(&self, stream: u32) -> bool {
        let process = LocationGroupId(self.process(stream));
        let process = self.timelines.system().group(process);
        let id = process.and_then(|process| process.properties.get("process"));
        id.is_some_and(|id| id.parse::<i128>().is_err())
    }

    fn kind(&mut self, sort: Sort, streams: Vec<u32>) {
        let Sort { rank, kind, words } = sort;
        if streams.is_empty() {
            return;
        }
        let mut nodes = Vec::new();
        for (node, streams) in parts(&streams, |stream| self.node(stream)) {
            let mut processes = Vec::new();
            for (process, streams) in parts(&streams, |stream| self.process(stream)) {
                processes.push(self.one_process(sort, process, streams));
            }
            let name = self.nodes.get(&node).map_or("No node", String::as_str);
            let label = if self.mixed_nodes.contains(&node) {
                format!("{name}, {words}")
            } else {
                name.to_owned()
            };
            let level = Some(GroupBy::Node);
            let id = self.groups.push(label, kind, level, streams, processes);
            self.order.push((GroupBy::Node, (node, rank, id)));
            nodes.push(id);
        }
        let label = format!("All {words}");
        let id = self
            .groups
            .push(label, kind, Some(GroupBy::All), streams, nodes);
        let last = match rank {
            ANNOTATIONS => NOTHING,
            _ => 0,
        };
        self.order.push((GroupBy::All, (last, rank, id)));
    }

    fn one_process(
        &mut self,
        Sort { rank, kind, words }: Sort,
        process: u32,
        streams: Vec<u32>,
    ) -> GroupId {
        let name = self.processes.get(&process).cloned();
        let name = name.unwrap_or_else(|| "No process".into());
        let mut devices = Vec::new();
        let mut children = Vec::new();
        for (device, streams) in parts(&streams, |stream| self.device(stream)) {
            let mut leaves = Vec::with_capacity(streams.len());
            for stream in &streams {
                let id = self.groups.leaf(self.timelines, *stream);
                self.order.push((GroupBy::Location, (process, rank, id)));
                leaves.push(id);
            }
            if device == NOTHING {
                children.extend(leaves);
                continue;
            }
            let device = self.processes.get(&device).map_or("", String::as_str);
            // Annotations of a device are stored next to its streams but are not work. They
            // therefore get a separate row.
            // A process without a rank keeps its name.
            let owner = self.ranks.get(&process).unwrap_or(&name);
            let label = match kind {
                LocationKind::AcceleratorStream => of_process(owner, device),
                _ => format!("{}, other {words}", of_process(owner, device)),
            };
            let level = Some(GroupBy::Device);
            let id = self.groups.push(label, kind, level, streams, leaves);
            self.order.push((GroupBy::Device, (process, rank, id)));
            devices.push(id);
        }
        let without_devices = devices.is_empty();
        devices.extend(children);
        let label = if self.mixed_processes.contains(&process) {
            format!("{name}, {words}")
        } else {
            name
        };
        let level = Some(GroupBy::Process);
        let id = self.groups.push(label, kind, level, streams, devices);
        self.order.push((GroupBy::Process, (process, rank, id)));
        if without_devices {
            self.order.push((GroupBy::Device, (process, rank, id)));
        }
        id
    }

    fn process(&self, stream: u32) -> u32 {
        let location = self.timelines.location(stream);
        let process = location.and_then(|id| self.timelines.system().process(id));
        process.map_or(NOTHING, |id| id.0)
    }

    /// Returns the node of the process, or the node of the device if the process has none.
    fn node(&self, stream: u32) -> u32 {
        let system = self.timelines.system();
        let process = system.group(LocationGroupId(self.process(stream)));
        let node = process.and_then(|process| process.parent);
        let own = || self.group(stream).and_then(|id| system.group(id)?.parent);
        node.or_else(own).map_or(NOTHING, |SystemNodeId(id)| id)
    }

    /// Returns the accelerator that a stream belongs to, or [`NOTHING`] if the recording does not
    /// define it.
    fn device(&self, stream: u32) -> u32 {
        let device = self.group(stream).filter(|id| {
            let group = self.timelines.system().group(*id);
            group.is_some_and(|group| group.kind == GroupKind::Accelerator)
        });
        device.map_or(NOTHING, |id| id.0)
    }

    fn group(&self, stream: u32) -> Option<LocationGroupId> {
        let location = self.timelines.location(stream)?;
        self.timelines.system().location(location)?.group
    }
}

/// Streams that share the groups of the system tree.
#[derive(Clone, Copy)]
struct Sort {
    /// Position among the rows of one owner.
    rank: usize,
    /// Kind of all locations.
    kind: LocationKind,
    /// Name of several such locations.
    words: &'static str,
}

fn parts(streams: &[u32], of: impl Fn(u32) -> u32) -> Parts {
    let mut parts = Parts::new();
    for stream in streams {
        parts.entry(of(*stream)).or_default().push(*stream);
    }
    parts
}

/// Returns names by id. The second use of a name becomes `name (2)`, so that rows can be
/// distinguished.
fn names<'a>(all: impl Iterator<Item = &'a str>) -> HashMap<u32, String> {
    let mut seen: HashMap<&str, u32> = HashMap::new();
    let mut names = HashMap::new();
    for (id, name) in (0..).zip(all) {
        let times = seen.entry(name).or_default();
        *times += 1;
        let unique = match *times {
            1 => name.to_owned(),
            times => format!("{name} ({times})"),
        };
        names.insert(id, unique);
    }
    names
}

/// Returns the label of a device of a process. A common prefix of both names, such as `rank 0, `,
/// appears once.
fn of_process(process: &str, device: &str) -> String {
    let own = device.split_once(", ").filter(|(first, _)| {
        let rest = process.strip_prefix(first);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(", "))
    });
    let own = own.map_or(device, |(_, own)| own);
    format!("{process}, {own}")
}

fn plural(kind: LocationKind) -> &'static str {
    match kind {
        LocationKind::CpuThread => "threads",
        LocationKind::AcceleratorStream => "streams",
        LocationKind::Metric => "metrics",
        _ => "locations",
    }
}
