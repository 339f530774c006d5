//! [`bind`] and [`link`]: bind flow points to calls, and create the links of a part from launches
//! to device activities and along flows.

use super::row::{Extra, Flow, FlowEnd, Role, Tag};
use perf_core::{EventId, Events, Link, LinkKind, Location, LocationGroupId, LocationId, Ticks};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap, HashSet};

/// Call to which a flow point may bind: begin and end in nanoseconds, and position if the call is in the trace.
pub(super) type Seen = (i64, i64, Option<EventId>);

/// Binds each flow point to a call of one row. `calls` must be sorted by begin.
///
/// A call on any row that begins exactly at the time of the point is preferred to a call that encloses the point. Of
/// several enclosing calls, the call that begins last is selected.
pub(super) fn bind(flows: &mut [Flow], points: &[u32], calls: &[Seen]) {
    let at = |point: &u32| flows.get(*point as usize).map_or(i64::MAX, |flow| flow.at);
    let mut points = points.to_vec();
    points.sort_by_key(at);
    // Open calls, by their index in the order of begins.
    let mut open = BTreeSet::new();
    let mut ends = BinaryHeap::new();
    let mut after = 0;
    for point in points {
        let Some(flow) = flows.get_mut(point as usize) else {
            continue;
        };
        while let Some((_, end, _)) = calls.get(after).filter(|call| call.0 <= flow.at) {
            open.insert(after);
            ends.push(Reverse((*end, after)));
            after += 1;
        }
        while let Some(Reverse((_, over))) = ends.peek().filter(|it| it.0.0 < flow.at) {
            open.remove(over);
            ends.pop();
        }
        let around = open.last().and_then(|index| calls.get(*index));
        let is_exact = around.is_some_and(|call| call.0 == flow.at);
        let found = match flow.end {
            FlowEnd::Next if !is_exact => calls.get(after),
            _ => around,
        };
        if let Some((.., Some(place))) = found {
            flow.lead(*place, is_exact);
        }
    }
}

/// Positions of the events in the trace.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spots<'a> {
    /// Locations of the trace.
    pub(super) locations: &'a [Location],
    /// Events of each location.
    pub(super) columns: &'a [Events],
}

impl Spots<'_> {
    /// Returns the process or device of a location.
    fn group(&self, id: LocationId) -> Option<LocationGroupId> {
        self.locations.get(id.index())?.group
    }

    fn time(&self, event: EventId) -> Option<Ticks> {
        let column = self.columns.get(event.location.index())?;
        column.time(event.index as usize)
    }
}

/// Result of linking: links and counts of unlinked activities.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Links of the part.
    pub(super) links: Vec<Link>,
    /// Number of activities without a launch.
    pub(super) unlinked: u64,
    /// Number of activities whose correlation id several processes use.
    pub(super) shared: u64,
    /// Number of flow points without a partner.
    pub(super) loose: u64,
}

/// Creates the links of one part. Ids of different ranks are unrelated.
pub(super) fn link(extras: &[Extra], flows: &mut [Flow], spots: Spots<'_>) -> Found {
    let mut found = Found::default();
    launches(extras, spots, &mut found);
    chains(flows, &mut found);
    found.links.sort_unstable();
    found
}

/// Correlation id, process and position of a launching call.
type Launch = ((u64, bool), Option<LocationGroupId>, EventId);

/// Links launches with their activities. Of several calls of a process with the same id, the first is used, which is a
/// call of the runtime instead of the call of the driver inside it. Different processes have separate ids.
fn launches(extras: &[Extra], spots: Spots<'_>, found: &mut Found) {
    let launch = |extra: &Extra| {
        let (id, place) = (extra.correlation()?, extra.place()?);
        Some((id, spots.group(place.location), place))
    };
    let calls = extras.iter().filter(|extra| extra.role == Role::Launch);
    let mut calls: Vec<Launch> = calls.filter_map(launch).collect();
    calls.sort_unstable();
    calls.dedup_by_key(|(id, process, _)| (*id, *process));
    let of = |id: (u64, bool)| {
        let from = calls.partition_point(|call| call.0 < id);
        let rest = &calls[from..];
        let count = rest.partition_point(|call| call.0 == id);
        &rest[..count]
    };
    let mut link = |from: EventId, to: EventId| {
        found.links.push(Link {
            kind: LinkKind::Launch,
            from,
            to,
        });
    };
    // Number of activities of each device by launching process, from activities whose id only one process uses.
    let mut drivers: HashMap<_, HashMap<_, u64>> = HashMap::new();
    let mut shared = Vec::new();
    for extra in extras.iter().filter(|extra| extra.role == Role::Work) {
        // The activity is outside the window or on an unselected location.
        let Some(to) = extra.place() else {
            continue;
        };
        match extra.correlation().map_or(&[][..], of) {
            [] => found.unlinked += 1,
            [(_, process, from)] => {
                link(*from, to);
                let of_device = drivers.entry(spots.group(to.location)).or_default();
                *of_device.entry(*process).or_default() += 1;
            }
            several => shared.push((several, to)),
        }
    }
    found.shared = shared.len() as u64;
    // A device is driven by the process that launched most of its activities.
    let drivers: HashMap<_, _> = drivers
        .into_iter()
        .filter_map(|(device, of)| {
            let most = of.into_iter().max_by_key(|(id, count)| (*count, *id));
            Some((device, most?.0))
        })
        .collect();
    let mut by_time = HashMap::new();
    for (several, to) in shared {
        let driver = drivers.get(&spots.group(to.location));
        let own = driver.and_then(|driver| {
            let at = several.binary_search_by_key(driver, |call| call.1).ok()?;
            several.get(at)
        });
        let from = own.map(|call| call.2).or_else(|| {
            let id = several.first()?.0;
            let times = by_time.entry(id).or_insert_with(|| times(several, spots));
            before(times, spots.time(to)).or(several.first().map(|call| call.2))
        });
        if let Some(from) = from {
            link(from, to);
        }
    }
}

/// Returns the times and positions of calls with the same id, in order of time.
fn times(several: &[Launch], spots: Spots<'_>) -> Vec<(Option<Ticks>, EventId)> {
    let mut times: Vec<_> = several
        .iter()
        .map(|call| (spots.time(call.2), call.2))
        .collect();
    times.sort_by_key(|(time, _)| *time);
    times
}

/// Returns the last call that is not later than `time`; `None` if all are later.
fn before(times: &[(Option<Ticks>, EventId)], time: Option<Ticks>) -> Option<EventId> {
    let count = times.partition_point(|(own, _)| *own <= time);
    Some(times.get(count.checked_sub(1)?)?.1)
}

/// Follows each flow from point to point. Links that duplicate a launch are dropped.
fn chains(flows: &mut [Flow], found: &mut Found) {
    let said: HashSet<(EventId, EventId)> = found
        .links
        .iter()
        .map(|link| (link.from, link.to))
        .collect();
    let is_end = |end: FlowEnd| matches!(end, FlowEnd::Around | FlowEnd::Next);
    flows.sort_by_key(|flow| {
        (
            flow.tag(),
            flow.at,
            flow.end != FlowEnd::Start,
            is_end(flow.end),
        )
    });
    let mut before: Option<(Tag, Option<EventId>)> = None;
    let mut has_start = false;
    for flow in flows.iter() {
        let place = flow.place();
        let last = before.filter(|(of, _)| *of == flow.tag());
        if flow.end == FlowEnd::Start {
            found.loose += u64::from(has_start);
            has_start = true;
            before = Some((flow.tag(), place));
            continue;
        }
        if last.is_none() {
            found.loose += u64::from(has_start) + 1;
            has_start = false;
            before = None;
            continue;
        }
        has_start = false;
        match (last.and_then(|(_, place)| place), place) {
            (Some(from), Some(to)) => {
                if !said.contains(&(from, to)) {
                    found.links.push(Link {
                        kind: LinkKind::Flow,
                        from,
                        to,
                    });
                }
            }
            _ => found.loose += 1,
        }
        if !is_end(flow.end) {
            before = Some((flow.tag(), place));
        }
    }
    found.loose += u64::from(has_start);
}
