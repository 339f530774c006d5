//! Collects the devices of a trace, the pieces of work on their streams, and the host calls that
//! launched them.

use super::Piece;
use super::classification::WorkTable;
use crate::Result;
use perf_core::{
    Close, Definitions, Event, EventId, GroupKind, Interval, Job, Link, LinkKind, LocationGroupId,
    LocationId, LocationView, Merge, RegionId, ReplayCounts, SystemTree, Ticks, TraceView, Visitor,
    intervals, parallel, replay,
};
use std::collections::BTreeMap;

/// The streams of one device.
#[derive(Debug)]
pub(super) struct Part {
    /// Location group of the device.
    pub(super) group: Option<LocationGroupId>,
    /// Process that drives the device.
    pub(super) process: Option<LocationGroupId>,
    /// Rank of the process.
    pub(super) rank: Option<u64>,
    /// Display name.
    pub(super) name: String,
    /// Streams of the device.
    pub(super) streams: Vec<LocationId>,
}

/// Work on the streams of one device.
#[derive(Debug)]
pub(super) struct Gathered {
    /// Pieces of work, sorted by begin.
    pub(super) pieces: Vec<Piece>,
    /// Repairs made while pairing enters and leaves.
    pub(super) repairs: ReplayCounts,
    /// Number of events on the streams, for progress reports.
    pub(super) events: u64,
}

/// Returns the devices of a view.
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

/// Returns the rank in the properties of a location, of its group or of its process.
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

/// Host call that launched a piece of work.
#[derive(Clone, Copy, Debug)]
pub(super) struct Launch {
    /// Kind of the link.
    kind: LinkKind,
    /// Begin of the call.
    begin: Ticks,
    /// End of the call. It equals `begin` until [`add_ends`] has been called, and for links that do
    /// not start at a call.
    end: Ticks,
    /// Event that the link leads from.
    from: EventId,
}

/// Launches by location and index of the enter event of the launched work.
pub(super) type Launches = BTreeMap<LocationId, Vec<(u32, Launch)>>;

/// Collects the launches of all work from links of the accepted kinds. A link of kind `Launch`
/// takes precedence over others, and the first link over later ones.
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
    let mut found = Launches::new();
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
        let launch = Launch {
            kind: link.kind,
            begin: at,
            end: at,
            from: link.from,
        };
        let of = found.entry(link.to.location).or_default();
        of.push((link.to.index, launch));
    }
    let order = |(index, it): &(u32, Launch)| {
        let is_other = it.kind != LinkKind::Launch;
        (*index, is_other, it.begin, it.from)
    };
    for all in found.values_mut() {
        job.sort_by(all, |a, b| order(a).cmp(&order(b)))?;
        all.dedup_by_key(|(index, _)| *index);
    }
    Ok(found)
}

/// Adds the ends of the calls that links of kind `Launch` lead from.
pub(super) fn add_ends(view: TraceView<'_>, launches: &mut Launches, job: &Job) -> Result<()> {
    let mut looks = job.checks();
    let mut calls: BTreeMap<LocationId, Vec<usize>> = BTreeMap::new();
    let all = launches.values().flatten().map(|(_, launch)| launch);
    for launch in all.filter(|launch| launch.kind == LinkKind::Launch) {
        looks.next(1)?;
        let of = calls.entry(launch.from.location).or_default();
        of.push(launch.from.index as usize);
    }
    let calls: Vec<_> = calls.into_iter().collect();
    let ends = parallel::try_map(calls.len(), |at| -> Result<_> {
        let (id, enters) = &calls[at];
        let mut enters = enters.clone();
        job.sort_by(&mut enters, Ord::cmp)?;
        enters.dedup();
        let mut ends: Vec<(usize, Ticks)> = Vec::with_capacity(enters.len());
        if let Some(location) = view.trace().location(*id) {
            frames(location, job, |call, _| {
                if enters.binary_search(&call.enter).is_ok() {
                    ends.push((call.enter, call.end));
                }
            })?;
        }
        job.sort_by(&mut ends, Ord::cmp)?;
        Ok((*id, ends))
    })?;
    let ends: BTreeMap<_, _> = ends.into_iter().collect();
    let all = launches.values_mut().flatten().map(|(_, launch)| launch);
    for launch in all.filter(|launch| launch.kind == LinkKind::Launch) {
        looks.next(1)?;
        let enter = launch.from.index as usize;
        if let Some(of) = ends.get(&launch.from.location)
            && let Ok(at) = of.binary_search_by_key(&enter, |(enter, _)| *enter)
            && let Some((_, end)) = of.get(at)
        {
            launch.end = *end;
        }
    }
    Ok(())
}

/// Collects the work of one device.
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

/// Calls `tell` for each piece of work of one device and its region, stream by stream.
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
                launch: at.map(|(_, launch)| launch.begin.0),
                launch_end: at.map_or(0, |(_, launch)| launch.end.0),
                stream,
                work: table.work(call.region),
            };
            tell(piece, call.region);
        })?;
        repairs.merge(&counts);
    }
    Ok(repairs)
}

/// Finds the work of a stream. If regions are nested, only the outermost region is work; the inner
/// regions are its calls.
fn offloads(
    definitions: &Definitions,
    location: LocationView<'_>,
    job: &Job,
    mut found: impl FnMut(Interval),
) -> Result<ReplayCounts> {
    if location.overlaps(definitions, job)? {
        return Ok(intervals(location, found, job)?);
    }
    frames(location, job, |call, depth| {
        if depth == 0 {
            found(call);
        }
    })
}

/// Finds the stack frames of a whole location, with their depths.
fn frames(
    location: LocationView<'_>,
    job: &Job,
    found: impl FnMut(Interval, usize),
) -> Result<ReplayCounts> {
    let events = location.all();
    let is_enter = |index: &usize| matches!(events.event(*index), Some(Event::Enter { .. }));
    let mut frames = Frames {
        enters: location.range().filter(is_enter),
        open: Vec::new(),
        found,
    };
    Ok(replay(location, &mut frames, job)?)
}

/// Finds stack frames with the indices of their enter events.
struct Frames<I, F> {
    /// Indices of the remaining enter events.
    enters: I,
    /// Time and index of the enter event of each open stack frame.
    open: Vec<(Ticks, Option<usize>)>,
    /// Callback for each stack frame.
    found: F,
}

impl<I: Iterator<Item = usize>, F: FnMut(Interval, usize)> Visitor for Frames<I, F> {
    fn enter(&mut self, at: Ticks, _region: RegionId, _depth: usize) {
        self.open.push((at, self.enters.next()));
    }

    fn leave(&mut self, at: Ticks, region: RegionId, depth: usize, why: Close) {
        if let Some((start, Some(enter))) = self.open.pop() {
            let call = Interval {
                region,
                start,
                end: at,
                enter,
                why,
            };
            (self.found)(call, depth);
        }
    }
}
