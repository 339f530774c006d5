//! [`Streams`]: [`Work`] of accelerator streams and the gaps around it as calls; links to its
//! launches, to work of other streams, and from hosts that wait for it.

use super::regions::{Regions, is_collective_kernel};
use super::scan::Scanned;
use super::{Call, CallId, CallKind, CallLink};
use crate::Result;
use perf_core::{
    CallTree, Definitions, EventId, Interval, Job, LinkKind, LocationGroupId, LocationId,
    LocationView, RegionId, RegionRole, Ticks, TraceView, intervals,
};
use std::collections::BTreeMap;

/// Work of a stream. Work does not overlap: each work ends no later than the next one begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    pub(crate) region: RegionId,
    pub(crate) start: Ticks,
    pub(crate) end: Ticks,
    /// Index of the enter event on the stream.
    pub(crate) enter: usize,
}

/// Returns the work of a stream in order of time.
pub(crate) fn work(stream: LocationView<'_>, job: &Job) -> Result<Vec<Work>> {
    let mut all = Vec::new();
    let add = |it: Interval| {
        all.push(Work {
            region: it.region,
            start: it.start,
            end: it.end,
            enter: it.enter,
        });
    };
    intervals(stream, add, job)?;
    all.sort_unstable_by_key(|it| it.enter);
    let mut next = Ticks(u64::MAX);
    for it in all.iter_mut().rev() {
        it.end = it.end.min(next);
        next = it.start;
    }
    Ok(all)
}

/// Work of a stream, and its calls.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) work: Vec<Work>,
    /// Number of the gap before each work, and of the gap after the last work.
    gaps: Vec<u32>,
}

impl Stream {
    /// Returns the gap before a work.
    fn before(&self, location: LocationId, place: usize) -> Option<CallId> {
        let index = *self.gaps.get(place)?;
        Some(CallId { location, index })
    }

    /// Returns the gap after a work.
    fn after(&self, location: LocationId, place: usize) -> Option<CallId> {
        self.before(location, place + 1)
    }

    /// Returns the call of a collective operation.
    pub(super) fn collective(&self, location: LocationId, place: usize) -> Option<CallId> {
        let gap = self.before(location, place)?;
        Some(CallId {
            index: gap.index + 1,
            ..gap
        })
    }
}

/// Work of the streams of a trace.
#[derive(Debug, Default)]
pub(super) struct Streams {
    pub(super) streams: BTreeMap<LocationId, Stream>,
    /// `true` for each region that is a collective operation.
    pub(super) collectives: Vec<bool>,
}

impl Streams {
    pub(super) fn new(definitions: &Definitions) -> Self {
        let regions = definitions.regions.iter();
        Streams {
            streams: BTreeMap::new(),
            collectives: regions.map(|it| is_collective_kernel(&it.name)).collect(),
        }
    }

    pub(super) fn is_collective(&self, work: &Work) -> bool {
        let known = self.collectives.get(work.region.index()).copied();
        known.unwrap_or_default()
    }

    /// Returns the calls of a stream: the gaps before and after its work, and its collective operations.
    pub(super) fn scan(
        &self,
        stream: LocationView<'_>,
        begin: Ticks,
        regions: &Regions,
        paths: &mut CallTree,
        job: &Job,
    ) -> Result<(Scanned, Stream)> {
        let work = work(stream, job)?;
        let mut found = Scanned::default();
        let mut gaps = Vec::with_capacity(work.len() + 1);
        let mut end = begin;
        for it in &work {
            let path = paths.child(None, regions.function(it.region))?;
            // There are no more calls than events, which are numbered by 32 bits.
            gaps.push(found.calls.len() as u32);
            let gap = Call {
                path,
                kind: CallKind::DeviceGap,
                enter: end.min(it.start),
                leave: it.start,
            };
            found.calls.push(gap);
            if self.is_collective(it) {
                found.calls.push(Call {
                    kind: CallKind::DeviceCollective,
                    enter: it.start,
                    leave: it.end,
                    ..gap
                });
            }
            end = it.end;
        }
        if let Some(last) = found.calls.last().copied() {
            gaps.push(found.calls.len() as u32);
            found.calls.push(Call {
                kind: CallKind::DeviceGap,
                enter: end,
                leave: end,
                ..last
            });
        }
        Ok((found, Stream { work, gaps }))
    }

    /// Returns the launches and the work of other streams that work waited for, and the work that hosts waited for.
    pub(super) fn links(
        &self,
        view: TraceView<'_>,
        scanned: &[Scanned],
        paths: &CallTree,
    ) -> Vec<CallLink> {
        let mut links = self.launches(view, scanned, paths);
        links.extend(self.synchronisations(view.definitions(), scanned));
        links.extend(self.other_streams(view.definitions(), scanned, &links));
        links
    }

    fn launches(
        &self,
        view: TraceView<'_>,
        scanned: &[Scanned],
        paths: &CallTree,
    ) -> Vec<CallLink> {
        let idle = self.idle_since(view.definitions());
        let is_launch = |link: &perf_core::Link| link.kind == LinkKind::Launch;
        if !view.trace().links().iter().any(is_launch) {
            return self.likely_launches(view.definitions(), (scanned, paths), &idle);
        }
        let mut links = Vec::new();
        for link in view.trace().links() {
            if link.kind != LinkKind::Launch {
                continue;
            }
            let place = self.place(link.to);
            let host = view.trace().events().get(link.from.location.index());
            let time = host.and_then(|events| events.time(link.from.index as usize));
            let (Some(place), Some(time)) = (place, time) else {
                continue;
            };
            let on = call_around(scanned, link.from.location, time);
            let stream = self.streams.get(&link.to.location);
            let call = stream.and_then(|stream| stream.before(link.to.location, place));
            let (Some(on), Some(call)) = (on, call) else {
                continue;
            };
            // A call without idle time before it was not delayed.
            let since = idle.get(&call).copied().unwrap_or(Ticks(u64::MAX));
            links.push(CallLink { call, on, since });
        }
        links
    }

    /// Returns a likely launch for each kernel of a recording without links: the last launch of the process that begins
    /// before the kernel and is not assigned to a later kernel. A queued kernel may be assigned a later launch than its
    /// own.
    fn likely_launches(
        &self,
        definitions: &Definitions,
        (scanned, paths): (&[Scanned], &CallTree),
        idle: &BTreeMap<CallId, Ticks>,
    ) -> Vec<CallLink> {
        let system = &definitions.system;
        let mut launches: BTreeMap<_, Vec<(Ticks, CallId)>> = BTreeMap::new();
        for (location, own) in (0..).map(LocationId).zip(scanned) {
            let of = launches.entry(system.process(location)).or_default();
            let calls = (0..).zip(&own.calls);
            let calls = calls.filter(|(_, it)| it.kind == CallKind::Launch);
            let name = |it: &Call| {
                let path = paths.get(it.path()?)?;
                Some(definitions.region_name(path.region))
            };
            let calls = calls.filter(|(_, it)| name(it).is_some_and(|it| it.contains("Launch")));
            of.extend(calls.map(|(index, it)| (it.enter, CallId { location, index })));
        }
        launches.values_mut().for_each(|of| of.sort_unstable());
        let mut kernels: BTreeMap<_, Vec<(Ticks, CallId)>> = BTreeMap::new();
        for (location, stream) in &self.streams {
            let role = |it: &Work| definitions.regions.get(it.region.index()).map(|it| it.role);
            let own = stream.work.iter().enumerate();
            let own = own.filter(|(_, it)| role(it) != Some(RegionRole::DataTransfer));
            let of = kernels.entry(system.process(*location)).or_default();
            of.extend(
                own.filter_map(|(place, it)| Some((it.start, stream.before(*location, place)?))),
            );
        }
        let mut links = Vec::new();
        for (process, mut kernels) in kernels {
            kernels.sort_unstable();
            let all = launches.get(&process).map_or(&[][..], Vec::as_slice);
            let mut free = all;
            for (start, call) in kernels.into_iter().rev() {
                let of = if free.first().is_some_and(|it| it.0 <= start) {
                    free
                } else {
                    // Clocks that disagree: any launch is better than none.
                    all
                };
                let before = of.partition_point(|it| it.0 <= start);
                let Some(((_, on), rest)) = of.get(..before).and_then(<[_]>::split_last) else {
                    continue;
                };
                free = rest;
                // Without an idle time before the work there was no delay.
                let since = idle.get(&call).copied().unwrap_or(start);
                links.push(CallLink {
                    call,
                    on: *on,
                    since,
                });
            }
        }
        links
    }

    /// Returns the time since which the device of each gap has no work on any stream.
    fn idle_since(&self, definitions: &Definitions) -> BTreeMap<CallId, Ticks> {
        let mut devices: BTreeMap<LocationGroupId, Vec<(Ticks, Ticks, CallId)>> = BTreeMap::new();
        for (location, stream) in &self.streams {
            let location_group = definitions
                .system
                .location(*location)
                .and_then(|it| it.group);
            let own = devices
                .entry(location_group.unwrap_or_default())
                .or_default();
            let work = stream.work.iter().enumerate();
            own.extend(work.filter_map(|(place, it)| {
                Some((it.start, it.end, stream.before(*location, place)?))
            }));
        }
        let mut since = BTreeMap::new();
        for own in devices.values_mut() {
            own.sort_unstable();
            let mut end = Ticks(0);
            for (start, own_end, id) in own {
                since.insert(*id, end.min(*start));
                end = end.max(*own_end);
            }
        }
        since
    }

    /// Returns the place of the work that begins with an event.
    pub(super) fn place(&self, enter: EventId) -> Option<usize> {
        let stream = self.streams.get(&enter.location)?;
        let index = enter.index as usize;
        let found = stream.work.binary_search_by_key(&index, |it| it.enter);
        found.ok()
    }

    /// Returns the work of other streams that work waited for. Collective operations run on streams of their own, and
    /// other work waits for them. If work begins later than its launch and later than the end of the work before it, it
    /// waits for the work of another stream of its device that ends last before it, provided that one of the two is a
    /// collective operation.
    fn other_streams(
        &self,
        definitions: &Definitions,
        scanned: &[Scanned],
        launches: &[CallLink],
    ) -> Vec<CallLink> {
        let launches: BTreeMap<CallId, CallId> =
            launches.iter().map(|link| (link.call, link.on)).collect();
        let mut devices: BTreeMap<_, Vec<LocationId>> = BTreeMap::new();
        for location in self.streams.keys() {
            let group = definitions
                .system
                .location(*location)
                .and_then(|it| it.group);
            devices.entry(group).or_default().push(*location);
        }
        let mut links = Vec::new();
        for streams in devices.values().filter(|it| it.len() > 1) {
            let mut ends = Vec::new();
            for location in streams {
                let Some(stream) = self.streams.get(location) else {
                    continue;
                };
                for (place, it) in stream.work.iter().enumerate() {
                    let after = stream.after(*location, place);
                    ends.extend(after.map(|after| (it.end, after, self.is_collective(it))));
                }
            }
            if !ends.iter().any(|it| it.2) {
                continue;
            }
            ends.sort_unstable();
            for location in streams {
                let Some(stream) = self.streams.get(location) else {
                    continue;
                };
                let mut end = Ticks(0);
                for (place, it) in stream.work.iter().enumerate() {
                    let before = std::mem::replace(&mut end, it.end);
                    let Some(call) = stream.before(*location, place) else {
                        continue;
                    };
                    let launch = launches.get(&call).and_then(|on| {
                        scanned
                            .get(on.location.index())?
                            .calls
                            .get(on.index as usize)
                    });
                    let since = before.max(launch.map_or(Ticks(0), |launch| launch.enter));
                    let after = ends.partition_point(|end| end.0 <= it.start);
                    let own = self.is_collective(it);
                    let others = ends[..after].iter().rev();
                    let mut others = others.take_while(|end| end.0 > since);
                    let other = others.find(|end| end.1.location != *location && (own || end.2));
                    links.extend(other.map(|(_, on, _)| CallLink {
                        call,
                        on: *on,
                        since,
                    }));
                }
            }
        }
        links
    }

    /// Returns the work that calls waited for: a call that synchronises waits for the work of its process that ends
    /// last within it.
    fn synchronisations(&self, definitions: &Definitions, scanned: &[Scanned]) -> Vec<CallLink> {
        let system = &definitions.system;
        let mut ends: BTreeMap<_, Vec<(Ticks, CallId)>> = BTreeMap::new();
        for (location, stream) in &self.streams {
            let own = ends.entry(system.process(*location)).or_default();
            let work = stream.work.iter().enumerate();
            own.extend(
                work.filter_map(|(place, it)| Some((it.end, stream.after(*location, place)?))),
            );
        }
        for own in ends.values_mut() {
            own.sort_unstable();
        }
        // Devices without a known process belong to the only one there is.
        let only = ends
            .get(&None)
            .or_else(|| ends.values().next().filter(|_| ends.len() == 1));
        let mut links = Vec::new();
        for (location, own) in (0..).map(LocationId).zip(scanned) {
            let Some(ends) = ends.get(&system.process(location)).or(only) else {
                continue;
            };
            let calls = (0..).zip(&own.calls);
            for (index, call) in calls.filter(|(_, it)| it.kind == CallKind::Synchronise) {
                let after = ends.partition_point(|it| it.0 <= call.leave);
                let last = after.checked_sub(1).and_then(|at| ends.get(at));
                if let Some((_, on)) = last.filter(|it| it.0 > call.enter) {
                    links.push(CallLink {
                        call: CallId { location, index },
                        on: *on,
                        since: call.enter,
                    });
                }
            }
        }
        links
    }
}

/// Returns the call of a location that is open at a time, if any.
fn call_around(scanned: &[Scanned], location: LocationId, time: Ticks) -> Option<CallId> {
    let calls = &scanned.get(location.index())?.calls;
    let index = calls
        .partition_point(|it| it.enter <= time)
        .checked_sub(1)?;
    let call = calls.get(index)?;
    let index = u32::try_from(index).ok()?;
    (time <= call.leave).then_some(CallId { location, index })
}
