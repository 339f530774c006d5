//! Traces for the tests, from lists of events.

use perf_core::{
    Definitions, Event, Events, Location, LocationGroup, LocationGroupId, Region, RegionId,
    SystemTree, Ticks, Trace,
};

/// One process a location, eight regions.
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
