//! Traces for the tests, built from lists of events.

use perf_core::{
    Definitions, Event, Events, Location, LocationGroup, LocationGroupId, LocationKind, Paradigm,
    Region, RegionId, SystemTree, Ticks, Trace,
};

/// Returns a trace with one process for each location and eight regions.
#[allow(dead_code, reason = "not every test has several locations")]
pub(crate) fn trace(locations: Vec<Events>) -> Trace {
    let mut definitions = Definitions::default();
    let groups = (0..locations.len()).map(|rank| LocationGroup {
        name: format!("rank {rank}"),
        ..Default::default()
    });
    let threads = (0..locations.len() as u32).map(|rank| Location {
        name: "thread 0".into(),
        group: Some(LocationGroupId(rank)),
        key: u64::from(rank) * 100,
        ..Default::default()
    });
    definitions.system = SystemTree::new(
        vec![],
        groups.collect(),
        threads.collect(),
        &Default::default(),
    )
    .unwrap();
    definitions.regions = (0..8).map(|id| Region::named(format!("r{id}"))).collect();
    Trace::new(definitions, locations).unwrap()
}

/// Returns a trace of one location with regions of these names; calls are time, `true` for a leave,
/// and region.
#[allow(dead_code, reason = "not every test has a device")]
pub(crate) fn one_location<const N: usize>(
    kind: LocationKind,
    paradigm: Paradigm,
    names: [&str; N],
    calls: impl IntoIterator<Item = (u64, bool, u32)>,
) -> Trace {
    let mut definitions = Definitions::default();
    let region = |name| Region {
        paradigm,
        ..Region::named(name)
    };
    definitions.regions = names.map(region).to_vec();
    let location = Location {
        kind,
        ..Location::default()
    };
    definitions.system =
        SystemTree::new(vec![], vec![], vec![location], &Default::default()).unwrap();
    let mut events = Events::default();
    for (at, is_leave, region) in calls {
        events.push_call(Ticks(at), is_leave, RegionId(region));
    }
    Trace::new(definitions, vec![events]).unwrap()
}

#[allow(dead_code, reason = "not every test has events of all kinds")]
pub(crate) fn events(list: &[(u64, Event<'_>)]) -> Events {
    let mut events = Events::default();
    for (at, event) in list {
        events.push(Ticks(*at), *event).unwrap();
    }
    events
}

#[allow(dead_code, reason = "not every test enters regions")]
pub(crate) fn enter(region: u32) -> Event<'static> {
    Event::Enter {
        region: RegionId(region),
    }
}

#[allow(dead_code, reason = "not every test leaves regions")]
pub(crate) fn leave(region: u32) -> Event<'static> {
    Event::Leave {
        region: RegionId(region),
    }
}
