//! Launches and the work they started, and flows.

use super::row::{Extra, Flow, FlowEnd, Role, Tag};
use perf_core::{EventId, Link, LinkKind};
use std::collections::{HashMap, HashSet};

/// How many calls are looked at for the one around a point of a flow.
const NEAR: usize = 64;

/// A call as flows look for it: begin, end and place, in order of begin.
pub(super) type Seen = (i64, i64, Option<EventId>);

/// Finds the call of each flow point among those of one row, sorted by begin.
///
/// One that begins at that very time is better than one around it, here or on another row.
pub(super) fn bind(flows: &mut [Flow], points: &[u32], calls: &[Seen]) {
    for point in points {
        let Some(flow) = flows.get_mut(*point as usize) else {
            continue;
        };
        let after = calls.partition_point(|call| call.0 <= flow.at);
        let before = calls.get(..after).unwrap_or_default();
        let near = before.iter().rev().take(NEAR);
        let mut around = near.filter(|call| call.1 >= flow.at);
        let is_exact = |call: &&Seen| call.0 == flow.at;
        let exact = around.clone().find(is_exact);
        let found = match (exact, flow.end) {
            (Some(call), _) => Some((true, call)),
            (None, FlowEnd::Next) => calls.get(after).map(|call| (false, call)),
            (None, _) => around.next().map(|call| (false, call)),
        };
        if let Some((is_exact, (.., Some(place)))) = found {
            flow.lead(*place, is_exact);
        }
    }
}

/// What was linked, and what was not.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) links: Vec<Link>,
    pub(super) unlinked: u64,
    pub(super) loose: u64,
}

/// Links of one part. Ids of different ranks have nothing to do with each other.
pub(super) fn link(extras: &[Extra], flows: &mut [Flow]) -> Found {
    let mut found = Found::default();
    launches(extras, &mut found);
    chains(flows, &mut found);
    found.links.sort_unstable();
    found
}

/// Of several calls with one id the first counts: a call of the runtime, not the one of the driver
/// that it makes.
fn launches(extras: &[Extra], found: &mut Found) {
    let mut calls: HashMap<(u64, bool), EventId> = HashMap::new();
    for extra in extras.iter().filter(|extra| extra.role == Role::Launch) {
        if let (Some(id), Some(place)) = (extra.correlation(), extra.place()) {
            let first = calls.entry(id).or_insert(place);
            *first = (*first).min(place);
        }
    }
    for extra in extras.iter().filter(|extra| extra.role == Role::Work) {
        let from = extra.correlation().and_then(|id| calls.get(&id).copied());
        match (from, extra.place()) {
            (Some(from), Some(to)) => found.links.push(Link {
                kind: LinkKind::Launch,
                from,
                to,
            }),
            (None, Some(_)) => found.unlinked += 1,
            // Outside the window, or on a location that was not asked for.
            (_, None) => {}
        }
    }
}

/// Follows each flow from point to point. What a launch says already is not said again.
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
