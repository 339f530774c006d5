//! [`Records`]: converts the definitions of a trace to the records of the global definition file of
//! an archive.

use super::encode::{Arg, NONE};
use crate::otf2::codes;
use crate::otf2::schema::{self, Record};
use perf_core::{
    CartTopology, Communicator, Definitions, LocationId, Members, MetricSet, TimeRange, ValueType,
};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Definition records under construction. Strings are collected meanwhile and come first in the
/// file.
#[derive(Debug, Default)]
pub(super) struct Records {
    /// Strings by id.
    strings: Vec<String>,
    /// Ids of the strings.
    ids: HashMap<String, u64>,
    /// Records other than strings.
    records: Vec<(&'static Record, Vec<Arg>)>,
}

/// Information about the events that the definitions need.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Number of events of each location; `None` if it is not in the archive.
    pub(super) events: Vec<Option<u64>>,
    /// Keys of those locations.
    pub(super) keys: HashSet<u64>,
    /// Type of each attribute, taken from its first value.
    pub(super) attributes: Vec<Option<u8>>,
    /// Undefined regions that events refer to.
    pub(super) undefined_regions: BTreeSet<u32>,
    /// Range from the first event to just after the last one.
    pub(super) range: Option<TimeRange>,
}

/// Type of the group of all communicating locations.
const COMM_LOCATIONS: u8 = 4;
const COMM_GROUP: u8 = 5;
const COMM_SELF: u8 = 6;
const MPI: u8 = 4;

impl Records {
    fn string(&mut self, text: &str) -> Arg {
        if let Some(id) = self.ids.get(text) {
            return Arg::N(*id);
        }
        let id = self.strings.len() as u64;
        self.strings.push(text.to_string());
        self.ids.insert(text.to_string(), id);
        Arg::N(id)
    }

    fn add(&mut self, name: &str, args: Vec<Arg>) {
        if let Some(record) = schema::definition_named(name) {
            self.records.push((record, args));
        }
    }

    /// Returns all records in the order of the file.
    pub(super) fn of(definitions: &Definitions, seen: &Seen) -> Vec<(&'static Record, Vec<Arg>)> {
        let mut records = Records::default();
        records.string("");
        records.clock(definitions, seen);
        records.attributes(definitions, seen);
        records.system(definitions, seen);
        records.regions(definitions, seen);
        records.comms(definitions);
        records.windows(definitions);
        records.metrics(definitions);
        for (id, topology) in definitions.topologies.iter().enumerate() {
            records.topology(id as u64, topology, definitions);
        }
        records.contexts(definitions);
        records.in_order()
    }

    fn in_order(self) -> Vec<(&'static Record, Vec<Arg>)> {
        let mut all = Vec::new();
        let mut rest = self.records.into_iter();
        all.extend(rest.next());
        if let Some(record) = schema::definition_named("String") {
            let strings = self.strings.into_iter().enumerate();
            all.extend(strings.map(|(id, text)| (record, vec![Arg::N(id as u64), Arg::T(text)])));
        }
        all.extend(rest);
        all
    }

    fn clock(&mut self, definitions: &Definitions, seen: &Seen) {
        let clock = definitions.clock;
        let origin = clock.origin().0;
        // The range of the clock must include every event.
        let start = seen.range.map_or(origin, |range| range.start.0.min(origin));
        let end = seen.range.map_or(start, |range| range.end.0);
        // The wall-clock time belongs to the start, which may be before the origin.
        let earlier = clock.duration(origin - start).unwrap_or_default();
        let realtime = clock
            .realtime
            .map(|at| at.saturating_sub(earlier.0.cast_unsigned()));
        let args = vec![
            clock.ticks_per_second().into(),
            start.into(),
            end.saturating_sub(start).into(),
            realtime.unwrap_or(u64::MAX).into(),
        ];
        self.add("ClockProperties", args);
    }

    fn attributes(&mut self, definitions: &Definitions, seen: &Seen) {
        const U64: u8 = 4;
        for (id, attribute) in definitions.attributes.iter().enumerate() {
            // An attribute without values has no type.
            let kind = seen.attributes.get(id).copied().flatten().unwrap_or(U64);
            let name = self.string(&attribute.name);
            let description = self.string(&attribute.description);
            self.add(
                "Attribute",
                vec![Arg::N(id as u64), name, kind.into(), description],
            );
        }
    }

    fn system(&mut self, definitions: &Definitions, seen: &Seen) {
        let system = &definitions.system;
        for (id, node) in system.nodes().iter().enumerate() {
            let (name, class) = (self.string(&node.name), self.string(&node.class));
            let parent = node.parent.map_or(NONE, |id| id.0.into());
            self.add(
                "SystemTreeNode",
                vec![Arg::N(id as u64), name, class, Arg::N(parent)],
            );
            for (key, value) in &node.properties {
                const STRING: u8 = 11;
                let (key, value) = (self.string(key), self.string(value));
                let bits = if let Arg::N(id) = value { id } else { NONE };
                let args = vec![Arg::N(id as u64), key, value, Arg::V(STRING, bits)];
                self.add("SystemTreeNodeProperty", args);
            }
        }
        let in_a_node = system.groups().iter().all(|group| group.parent.is_some());
        let orphans = system
            .locations()
            .iter()
            .any(|location| location.group.is_none());
        let root = system.nodes().len() as u64;
        if !in_a_node || orphans {
            // In OTF2, a location group must have a system tree node.
            let (name, class) = (self.string("machine"), self.string("machine"));
            self.add(
                "SystemTreeNode",
                vec![Arg::N(root), name, class, Arg::N(NONE)],
            );
        }
        for (id, group) in system.groups().iter().enumerate() {
            let name = self.string(&group.name);
            let args = vec![
                Arg::N(id as u64),
                name,
                codes::of_group_kind(group.kind).into(),
                Arg::N(group.parent.map_or(root, |id| id.0.into())),
                Arg::N(group.creator.map_or(NONE, |id| id.0.into())),
            ];
            self.add("LocationGroup", args);
        }
        let process = system.groups().len() as u64;
        if orphans {
            let name = self.string("process");
            let kind = codes::of_group_kind(perf_core::GroupKind::Process);
            let args = vec![
                Arg::N(process),
                name,
                kind.into(),
                Arg::N(root),
                Arg::N(NONE),
            ];
            self.add("LocationGroup", args);
        }
        for (location, events) in system.locations().iter().zip(&seen.events) {
            let Some(events) = events else {
                continue;
            };
            let name = self.string(&location.name);
            let args = vec![
                location.key.into(),
                name,
                codes::of_location_kind(location.kind).into(),
                (*events).into(),
                Arg::N(location.group.map_or(process, |id| id.0.into())),
            ];
            self.add("Location", args);
        }
    }

    fn regions(&mut self, definitions: &Definitions, seen: &Seen) {
        for (id, region) in definitions.regions.iter().enumerate() {
            let (begin, end) = region.lines.unwrap_or_default();
            let file = region.file.as_deref().map(|file| self.string(file));
            let args = vec![
                Arg::N(id as u64),
                self.string(&region.name),
                self.string(""),
                0u8.into(),
                file.unwrap_or(Arg::N(NONE)),
                begin.into(),
                end.into(),
                self.string(&region.canonical),
                codes::of_role(region.role).into(),
                codes::of_paradigm(region.paradigm).into(),
                Arg::N(0),
            ];
            self.add("Region", args);
        }
        for id in &seen.undefined_regions {
            let name = self.string(&format!("region {id}"));
            let none = || Arg::N(NONE);
            let (zero, unknown) = (|| Arg::N(0), 0u8);
            let args = vec![
                (*id).into(),
                name.clone(),
                self.string(""),
                unknown.into(),
                none(),
                zero(),
                zero(),
                name,
                unknown.into(),
                unknown.into(),
                zero(),
            ];
            self.add("Region", args);
        }
    }

    fn comms(&mut self, definitions: &Definitions) {
        if definitions.comms.is_empty() {
            return;
        }
        let system = &definitions.system;
        let listed = |comm: &Communicator| match &comm.members {
            Members::Ranks(ranks) => vec![ranks.clone()],
            Members::Between(first, second) => vec![first.clone(), second.clone()],
            Members::Own | Members::Unknown => Vec::new(),
        };
        let all: Vec<Vec<Vec<Option<LocationId>>>> = definitions.comms.iter().map(listed).collect();
        let talking: BTreeSet<LocationId> =
            all.iter().flatten().flatten().flatten().copied().collect();
        let places: HashMap<LocationId, u64> = talking.iter().copied().zip(0..).collect();
        let keys = talking
            .iter()
            .filter_map(|id| system.location(*id))
            .map(|location| vec![Arg::N(location.key)]);
        let mut next = 0;
        let world = keys.collect();
        self.group(&mut next, COMM_LOCATIONS, world);
        for (id, (comm, sides)) in definitions.comms.iter().zip(all).enumerate() {
            let mut groups = Vec::new();
            for ranks in sides {
                let place = |rank: Option<LocationId>| rank.and_then(|id| places.get(&id).copied());
                let members = ranks
                    .into_iter()
                    .map(|rank| vec![Arg::N(place(rank).unwrap_or(u64::MAX))]);
                groups.push(self.group(&mut next, COMM_GROUP, members.collect()));
            }
            if comm.members == Members::Own {
                groups.push(self.group(&mut next, COMM_SELF, Vec::new()));
            }
            let name = self.string(&comm.name);
            let parent = Arg::N(comm.parent.map_or(NONE, |id| id.0.into()));
            let id = Arg::N(id as u64);
            match groups.as_slice() {
                [first, second] => {
                    let groups = [Arg::N(*first), Arg::N(*second)];
                    let [first, second] = groups;
                    self.add(
                        "InterComm",
                        vec![id, name, first, second, parent, Arg::N(0)],
                    );
                }
                groups => {
                    let group = Arg::N(groups.first().copied().unwrap_or(NONE));
                    self.add("Comm", vec![id, name, group, parent, Arg::N(0)]);
                }
            }
        }
    }

    fn windows(&mut self, definitions: &Definitions) {
        for (id, window) in definitions.windows.iter().enumerate() {
            let name = self.string(&window.name);
            let comm = Arg::N(window.comm.map_or(NONE, |id| id.0.into()));
            self.add("RmaWin", vec![Arg::N(id as u64), name, comm, Arg::N(0)]);
        }
    }

    fn group(&mut self, next: &mut u64, kind: u8, members: Vec<Vec<Arg>>) -> u64 {
        let id = *next;
        *next += 1;
        let name = self.string("");
        let args = vec![
            Arg::N(id),
            name,
            kind.into(),
            Arg::L(members),
            kind.into(),
            MPI.into(),
            Arg::N(0),
        ];
        self.add("Group", args);
        id
    }

    fn metrics(&mut self, definitions: &Definitions) {
        const PAPI: u8 = 0;
        const BASE_TEN: u8 = 1;
        const SYNCHRONOUS: u8 = 1;
        for (id, metric) in definitions.metrics.iter().enumerate() {
            let args = vec![
                Arg::N(id as u64),
                self.string(&metric.name),
                self.string(&metric.description),
                PAPI.into(),
                codes::of_metric_mode(metric.mode).into(),
                value_type(metric.value_type).into(),
                BASE_TEN.into(),
                Arg::N(0),
                self.string(&metric.unit),
            ];
            self.add("MetricMember", args);
        }
        for (set, id) in definitions.metric_sets.iter().zip(metric_ids(definitions)) {
            let scope = set.scope.and_then(|id| definitions.system.location(id));
            let class = if scope.is_some() { id - 1 } else { id };
            let members = set.members.iter().map(|id| vec![Arg::from(id.0)]).collect();
            let args = vec![
                Arg::N(class),
                Arg::L(members),
                SYNCHRONOUS.into(),
                0u8.into(),
            ];
            self.add("MetricClass", args);
            if let Some(location) = scope {
                let key = || Arg::N(location.key);
                let args = vec![Arg::N(id), Arg::N(class), key(), 0u8.into(), key()];
                self.add("MetricInstance", args);
            }
        }
    }

    fn topology(&mut self, id: u64, topology: &CartTopology, definitions: &Definitions) {
        let before = definitions.topologies.iter().take(id as usize);
        let first: usize = before.map(|topology| topology.dimensions.len()).sum();
        for (at, dimension) in topology.dimensions.iter().enumerate() {
            let name = self.string(&dimension.name);
            let periodic = u8::from(dimension.periodic);
            let args = vec![
                Arg::N((first + at) as u64),
                name,
                dimension.size.into(),
                periodic.into(),
            ];
            self.add("CartDimension", args);
        }
        let dimensions = (0..topology.dimensions.len()).map(|at| vec![Arg::N((first + at) as u64)]);
        let name = self.string(&topology.name);
        let comm = Arg::N(topology.comm.map_or(NONE, |id| id.0.into()));
        let args = vec![Arg::N(id), name, comm, Arg::L(dimensions.collect())];
        self.add("CartTopology", args);
        for (rank, coordinates) in &topology.coordinates {
            let coordinates = coordinates.iter().map(|at| vec![Arg::from(*at)]).collect();
            self.add(
                "CartCoordinate",
                vec![Arg::N(id), (*rank).into(), Arg::L(coordinates)],
            );
        }
    }

    fn contexts(&mut self, definitions: &Definitions) {
        if definitions.contexts.paths().is_empty() {
            return;
        }
        let name = self.string("samples");
        // One generator for all samples: mode "count", base ten, period unknown.
        let args = vec![
            Arg::N(0),
            name,
            1u8.into(),
            1u8.into(),
            Arg::N(0),
            Arg::N(0),
        ];
        self.add("InterruptGenerator", args);
        for (id, path) in definitions.contexts.paths().iter().enumerate() {
            let parent = path.parent.map_or(NONE, |id| id.0.into());
            let args = vec![
                Arg::N(id as u64),
                path.region.0.into(),
                Arg::N(NONE),
                Arg::N(parent),
            ];
            self.add("CallingContext", args);
        }
    }
}

/// Returns the ids of the metric sets in the archive: that of the class or, for a set about another
/// location, that of the instance, which follows its class. Ids ascend in the order of the file.
pub(super) fn metric_ids(definitions: &Definitions) -> Vec<u64> {
    let mut next = 0;
    let id_of = |set: &MetricSet| {
        let scoped = set.scope.and_then(|id| definitions.system.location(id));
        next += if scoped.is_some() { 2 } else { 1 };
        next - 1
    };
    definitions.metric_sets.iter().map(id_of).collect()
}

/// Returns the type codes of the values of a set.
pub(super) fn value_types(set: &MetricSet, definitions: &Definitions) -> Vec<u8> {
    let metric = |id: &perf_core::MetricId| definitions.metrics.get(id.index());
    let kind = |id| metric(id).map_or(ValueType::U64, |metric| metric.value_type);
    set.members.iter().map(|id| value_type(kind(id))).collect()
}

fn value_type(kind: ValueType) -> u8 {
    match kind {
        ValueType::U64 => 4,
        ValueType::I64 => 8,
        ValueType::F64 => 10,
    }
}
