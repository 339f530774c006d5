//! The work of each device, with what launched it.

use super::Piece;
use super::work::WorkTable;
use crate::Result;
use perf_core::{
    Close, Definitions, Event, GroupKind, Interval, Job, Link, LinkKind, LocationGroupId,
    LocationId, LocationView, Merge, RegionId, ReplayCounts, SystemTree, Ticks, TraceView, Visitor,
    intervals, replay,
};
use std::collections::BTreeMap;

/// The streams of one device.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) group: Option<LocationGroupId>,
    pub(super) process: Option<LocationGroupId>,
    pub(super) rank: Option<u64>,
    pub(super) name: String,
    pub(super) streams: Vec<LocationId>,
}

/// What happened on them, sorted by begin.
#[derive(Debug)]
pub(super) struct Gathered {
    pub(super) pieces: Vec<Piece>,
    pub(super) repairs: ReplayCounts,
    pub(super) events: u64,
}

/// The devices of a view.
pub(super) fn parts(view: TraceView<'_>) -> Vec<Part> {
    let system = &view.definitions().system;
    let mut parts: BTreeMap<(bool, Option<LocationGroupId>), Vec<LocationId>> = BTreeMap::new();
    for id in view.ids() {
        let location = system.location(id);
        if let Some(location) = location.filter(|location| location.kind.may_overlap()) {
            let key = (location.group.is_none(), location.group);
            parts.entry(key).or_default().push(id);
        }
    }
    let part = |((_, group), streams): ((bool, Option<LocationGroupId>), Vec<LocationId>)| {
        let first = streams.first().copied();
        Part {
            group,
            process: first.and_then(|id| system.process(id)).filter(|id| {
                system
                    .group(*id)
                    .is_some_and(|it| it.kind == GroupKind::Process)
            }),
            rank: first.and_then(|id| rank(system, id)),
            name: name(system, group, &streams),
            streams,
        }
    };
    parts.into_iter().map(part).collect()
}

/// The rank that a location, its group or its process is said to be of.
pub(super) fn rank(system: &SystemTree, id: LocationId) -> Option<u64> {
    let location = system.location(id)?;
    let group = location.group.and_then(|id| system.group(id));
    let process = system.process(id).and_then(|id| system.group(id));
    let said = location.properties.get("rank");
    let said = said.or_else(|| group?.properties.get("rank"));
    let said = said.or_else(|| process?.properties.get("rank"));
    said?.parse().ok()
}

fn name(system: &SystemTree, group: Option<LocationGroupId>, streams: &[LocationId]) -> String {
    let group = group.and_then(|id| system.group(id));
    let said = group.and_then(|group| group.properties.get("device"));
    let first = streams.first().and_then(|id| system.location(*id));
    let said = said.or_else(|| first?.properties.get("device"));
    let said = said.or(group.map(|group| group.name.as_str()));
    said.unwrap_or_default().to_owned()
}

/// When the launch of work began, by location and number of its enter.
pub(super) type Launches = BTreeMap<LocationId, Vec<(u32, Ticks)>>;

/// The launches of all work that links of these kinds tell. One of kind `Launch` counts before any
/// other, the first before later.
pub(super) fn launches(
    view: TraceView<'_>,
    counts: fn(LinkKind) -> bool,
    job: &Job,
) -> Result<Launches> {
    let trace = view.trace();
    let system = &view.definitions().system;
    let is_stream = |id| {
        let location = system.location(id);
        location.is_some_and(|location| location.kind.may_overlap())
    };
    let mut found: BTreeMap<LocationId, Vec<(u32, bool, Ticks)>> = BTreeMap::new();
    let from_host = |link: &&Link| {
        let is_launch = is_stream(link.to.location) && !is_stream(link.from.location);
        is_launch && counts(link.kind)
    };
    let mut checks = job.checks();
    for link in trace.links().iter().filter(from_host) {
        checks.next(1)?;
        let events = trace.events().get(link.from.location.index());
        let Some(at) = events.and_then(|events| events.time(link.from.index as usize)) else {
            continue;
        };
        let of = found.entry(link.to.location).or_default();
        of.push((link.to.index, link.kind != LinkKind::Launch, at));
    }
    let first = |mut all: Vec<(u32, bool, Ticks)>| {
        job.sort_by(&mut all, Ord::cmp)?;
        all.dedup_by_key(|(index, ..)| *index);
        let all = all.into_iter().map(|(index, _, at)| (index, at));
        Ok::<Vec<(u32, Ticks)>, crate::Error>(all.collect())
    };
    let found = found.into_iter();
    found.map(|(id, all)| Ok((id, first(all)?))).collect()
}

/// The work of one device.
pub(super) fn pieces(
    view: TraceView<'_>,
    part: &Part,
    launches: &Launches,
    table: &WorkTable<'_>,
    job: &Job,
) -> Result<Gathered> {
    let mut gathered = Gathered {
        pieces: Vec::new(),
        repairs: ReplayCounts::default(),
        events: 0,
    };
    let events = |id: &LocationId| view.trace().location(*id).map_or(0, |it| it.len());
    gathered.events = part.streams.iter().map(|id| events(id) as u64).sum();
    gathered.pieces.reserve(gathered.events as usize / 2);
    gathered.repairs = each(view, part, (launches, table), job, |piece, _| {
        gathered.pieces.push(piece);
    })?;
    let order = |it: &Piece| (it.start, it.end, it.stream, it.work, it.launch);
    job.sort_by(&mut gathered.pieces, |a, b| order(a).cmp(&order(b)))?;
    Ok(gathered)
}

/// Tells the work of one device stream by stream, with its region.
pub(super) fn each(
    view: TraceView<'_>,
    part: &Part,
    (launches, table): (&Launches, &WorkTable<'_>),
    job: &Job,
    mut tell: impl FnMut(Piece, RegionId),
) -> Result<ReplayCounts> {
    let mut repairs = ReplayCounts::default();
    for (stream, id) in (0..).zip(&part.streams) {
        let Some(location) = view.trace().location(*id) else {
            continue;
        };
        let launches = launches.get(id).map_or(&[][..], Vec::as_slice);
        let counts = offloads(view.definitions(), location, job, |call| {
            let index = u32::try_from(call.enter).ok();
            let at = index.and_then(|index| {
                let at = launches.binary_search_by_key(&index, |(index, _)| *index);
                launches.get(at.ok()?)
            });
            let piece = Piece {
                start: call.start.0,
                end: call.end.0,
                launch: at.map(|(_, at)| at.0),
                stream,
                work: table.work(call.region),
            };
            tell(piece, call.region);
        })?;
        repairs.merge(&counts);
    }
    Ok(repairs)
}

/// Finds the work of a stream. Of regions that nest only the outermost is work, since the others are calls of it.
fn offloads(
    definitions: &Definitions,
    location: LocationView<'_>,
    job: &Job,
    found: impl FnMut(Interval),
) -> Result<ReplayCounts> {
    if location.overlaps(definitions, job)? {
        return Ok(intervals(location, found, job)?);
    }
    let events = location.all();
    let is_enter = |index: &usize| matches!(events.event(*index), Some(Event::Enter { .. }));
    let mut outermost = Outermost {
        enters: location.range().filter(is_enter),
        begun: None,
        found,
    };
    Ok(replay(location, &mut outermost, job)?)
}

/// Finds the outermost frames of a whole location.
struct Outermost<I, F> {
    /// Numbers of the enters that are still to come.
    enters: I,
    /// Time and number of the enter of the open frame.
    begun: Option<(Ticks, usize)>,
    found: F,
}

impl<I: Iterator<Item = usize>, F: FnMut(Interval)> Visitor for Outermost<I, F> {
    fn enter(&mut self, at: Ticks, _region: RegionId, depth: usize) {
        let enter = self.enters.next();
        if depth == 0 {
            self.begun = enter.map(|enter| (at, enter));
        }
    }

    fn leave(&mut self, at: Ticks, region: RegionId, depth: usize, why: Close) {
        if depth > 0 {
            return;
        }
        if let Some((start, enter)) = self.begun.take() {
            (self.found)(Interval {
                region,
                start,
                end: at,
                enter,
                why,
            });
        }
    }
}
