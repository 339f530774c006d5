//! [`Source`]: locations of a replay with their streams; launches of work on accelerators, ranks and pipeline stages.

use perf_core::{
    Definitions, EventId, EventSink, Link, LocationGroupId, LocationId, LocationKind, RegionId,
    StreamId, StreamKey, SystemTree, Trace, TraceView,
};
use std::collections::HashMap;

/// Location during the replay.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// Location.
    pub(super) location: LocationId,
    /// Identity of its stream.
    pub(super) key: StreamKey,
    /// Id of its stream in the sink.
    pub(super) stream: StreamId,
    /// Number of events already pushed.
    pub(super) done: usize,
    /// Indices of the enters that launch work, or are such work, each with the correlation id, in
    /// reverse order.
    pub(super) correlations: Vec<(u32, u64)>,
    /// Open frames with their ids in the sink; only of recordings with the state `Running`.
    pub(super) open: Vec<(RegionId, RegionId)>,
}

/// Largest number of pipeline stages.
const MAX_STAGES: u32 = 4096;

/// Returns the pairs of a launch and its work that are both in view, in ascending order, so that
/// equal launches are adjacent.
pub(super) fn launches(view: TraceView<'_>) -> Vec<(EventId, EventId)> {
    let definitions = view.definitions();
    let seen: HashMap<LocationId, std::ops::Range<usize>> = view
        .locations()
        .map(|location| (location.id(), location.range()))
        .collect();
    let is_seen = |event: EventId| {
        let range = seen.get(&event.location);
        range.is_some_and(|range| range.contains(&(event.index as usize)))
    };
    let links = view.trace().links().iter();
    // An arrow from a CPU thread to an accelerator is equivalent to a launch.
    let is_launch = |link: &&Link| {
        !is_gpu(definitions, link.from.location) && is_gpu(definitions, link.to.location)
    };
    let mut found: Vec<(EventId, EventId)> = links
        .filter(is_launch)
        .filter(|link| is_seen(link.from) && is_seen(link.to))
        .map(|link| (link.to, link.from))
        .collect();
    // Work has one launch, which is that of its first link.
    found.sort_by_key(|(work, _)| *work);
    found.dedup_by_key(|(work, _)| *work);
    let mut found: Vec<_> = found
        .into_iter()
        .map(|(work, launch)| (launch, work))
        .collect();
    found.sort_unstable();
    found
}

/// Returns the streams of the locations in view.
pub(super) fn sources(
    view: TraceView<'_>,
    ranks: &[StreamKey],
    launches: &[(EventId, EventId)],
) -> Vec<Source> {
    let mut ids: HashMap<LocationId, Vec<(u32, u64)>> = HashMap::new();
    for (id, same) in launches.chunk_by(|one, other| one.0 == other.0).enumerate() {
        let launch = same.first().map(|(launch, _)| *launch);
        for event in launch.into_iter().chain(same.iter().map(|(_, work)| *work)) {
            let of_location = ids.entry(event.location).or_default();
            of_location.push((event.index, id as u64));
        }
    }
    let mut sources: Vec<Source> = view
        .ids()
        .map(|location| Source {
            location,
            key: ranks[location.index()],
            stream: StreamId(u32::MAX),
            done: 0,
            correlations: ids.remove(&location).unwrap_or_default(),
            open: Vec::new(),
        })
        .collect();
    for source in &mut sources {
        let last_first = |one: &(u32, u64)| std::cmp::Reverse(one.0);
        source.correlations.sort_unstable_by_key(last_first);
    }
    sources.sort_by_key(|source| source.key);
    sources
}

/// Returns the ranks of the processes that the recording states, if they are all different and less than twice
/// the number of processes; numbers of processes of the operating system are larger. Empty otherwise.
fn stated_ranks(system: &SystemTree) -> HashMap<LocationGroupId, u32> {
    let processes = system.processes_by_rank();
    let ranks = system.ranks();
    let most = 2 * processes.len() as u64;
    let stated = processes.into_iter().map(|id| {
        let rank = ranks.get(id.index()).copied().flatten();
        let rank = rank.filter(|rank| *rank < most && system.stated_rank(id) == Some(*rank))?;
        Some((id, u32::try_from(rank).ok()?))
    });
    stated.collect::<Option<_>>().unwrap_or_default()
}

/// Returns the pipeline stages of locations, if the names of all locations state one and there are several.
pub(super) fn stages(system: &SystemTree) -> HashMap<LocationId, u32> {
    let stage = |id| {
        let (_, rest) = system.location(id)?.name.split_once("PP rank ")?;
        let number = rest.split(|it: char| !it.is_ascii_digit()).next()?;
        let stage = number.parse().ok().filter(|stage| *stage < MAX_STAGES)?;
        Some((id, stage))
    };
    let all: Option<HashMap<LocationId, u32>> = system.location_ids().map(stage).collect();
    all.filter(|all| all.values().any(|stage| *stage > 0))
        .unwrap_or_default()
}

/// Returns rank and thread of all locations. Processes have the [`stated_ranks`], otherwise they are numbered
/// in the order of their locations; a location without a process is a separate rank. An accelerator stream belongs to the
/// rank that launches its first work, or if there is none, to the rank of its process.
pub(super) fn ranks(
    trace: &Trace,
    launches: &[(EventId, EventId)],
    stages: &HashMap<LocationId, u32>,
) -> Vec<StreamKey> {
    let system = &trace.definitions().system;
    let mut launcher: HashMap<LocationId, (EventId, LocationId)> = HashMap::new();
    for (launch, work) in launches {
        let first = launcher.entry(work.location);
        let first = first.or_insert((*work, launch.location));
        if work.index < first.0.index {
            *first = (*work, launch.location);
        }
    }
    let mut order: Vec<(bool, LocationId)> = system
        .location_ids()
        .map(|id| (is_gpu(trace.definitions(), id), id))
        .collect();
    order.sort_unstable();
    let mut of_group = stated_ranks(system);
    let mut next = of_group.values().max().map_or(0, |most| most + 1);
    let mut new = || {
        next += 1;
        next - 1
    };
    let count = stages.values().max().map_or(1, |most| most + 1);
    let mut threads: HashMap<u32, u32> = HashMap::new();
    let mut keys = vec![StreamKey::default(); order.len()];
    for (_, id) in order {
        let launcher = launcher.get(&id).map(|(_, launcher)| *launcher);
        let process = launcher.and_then(|id| system.process(id));
        let rank = match process.or_else(|| system.process(id)) {
            Some(group) => *of_group.entry(group).or_insert_with(&mut new),
            None => new(),
        };
        let stage = stages.get(&id).copied().unwrap_or_default();
        let rank = rank.saturating_mul(count).saturating_add(stage);
        let own = threads.entry(rank).or_default();
        let thread = *own;
        *own += 1;
        if let Some(key) = keys.get_mut(id.index()) {
            *key = StreamKey {
                program: 0,
                rank,
                thread,
            };
        }
    }
    keys
}

pub(super) fn is_gpu(definitions: &Definitions, id: LocationId) -> bool {
    let location = definitions.system.location(id);
    location.is_some_and(|location| location.kind == LocationKind::AcceleratorStream)
}

/// Sends the properties of a location to the sink.
pub(super) fn describe(
    definitions: &Definitions,
    id: LocationId,
    stream: StreamId,
    sink: &mut dyn EventSink,
) {
    let Some(location) = definitions.system.location(id) else {
        return;
    };
    sink.metadata(stream, "Location", &location.name);
    if is_gpu(definitions, id) {
        sink.metadata(stream, "Accelerator Stream", &location.name);
    }
    for (name, value) in &location.properties {
        sink.metadata(stream, name, value);
    }
    let group = location
        .group
        .and_then(|group| definitions.system.group(group));
    let node = group.and_then(|group| definitions.system.node(group.parent?));
    if let Some(node) = node {
        sink.metadata(stream, "Hostname", &node.name);
    }
}
