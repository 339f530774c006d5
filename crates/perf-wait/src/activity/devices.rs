//! Accelerators: work of streams, its launches, and hosts that wait for it.

use super::regions::Regions;
use super::scan::Scanned;
use super::{Call, CallId, CallKind, CallLink};
use crate::Result;
use perf_core::{
    CallTree, Definitions, Interval, Job, LinkKind, LocationGroupId, LocationId, LocationView,
    RegionId, RegionRole, Ticks, TraceView, intervals,
};
use std::collections::BTreeMap;

/// Work of a stream. Work does not overlap: it ends at the latest where the next one begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    pub(crate) region: RegionId,
    pub(crate) start: Ticks,
    pub(crate) end: Ticks,
    /// Number of its enter on the stream.
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

/// Work of the streams of a trace.
#[derive(Debug, Default)]
pub(super) struct Streams {
    work: BTreeMap<LocationId, Vec<Work>>,
}

impl Streams {
    /// Returns the gaps before and after the work of a stream as its calls: gap `k` comes before work `k`.
    pub(super) fn scan(
        &mut self,
        stream: LocationView<'_>,
        begin: Ticks,
        regions: &Regions,
        paths: &mut CallTree,
        job: &Job,
    ) -> Result<Scanned> {
        let all = work(stream, job)?;
        let mut found = Scanned::default();
        let mut end = begin;
        for it in &all {
            let path = paths.child(None, regions.function(it.region))?;
            found.calls.push(Call {
                region: it.region,
                path: Some(path),
                kind: CallKind::DeviceGap,
                enter: end.min(it.start),
                leave: it.start,
            });
            end = it.end;
        }
        if let Some(last) = found.calls.last().copied() {
            found.calls.push(Call {
                enter: end,
                leave: end,
                ..last
            });
        }
        self.work.insert(stream.id(), all);
        Ok(found)
    }

    /// Returns the launches that work waited for, and the work that hosts waited for.
    pub(super) fn links(&self, view: TraceView<'_>, scanned: &[Scanned]) -> Vec<CallLink> {
        let mut links = self.launches(view, scanned);
        links.extend(self.synchronisations(view.definitions(), scanned));
        links
    }

    fn launches(&self, view: TraceView<'_>, scanned: &[Scanned]) -> Vec<CallLink> {
        let idle = self.idle_since(view.definitions());
        let is_launch = |link: &perf_core::Link| link.kind == LinkKind::Launch;
        if !view.trace().links().iter().any(is_launch) {
            return self.likely_launches(view.definitions(), scanned, &idle);
        }
        let mut links = Vec::new();
        for link in view.trace().links() {
            if link.kind != LinkKind::Launch {
                continue;
            }
            let work = self.work.get(&link.to.location);
            let place = work.and_then(|work| {
                let enter = link.to.index as usize;
                work.binary_search_by_key(&enter, |it| it.enter).ok()
            });
            let host = view.trace().events().get(link.from.location.index());
            let time = host.and_then(|events| events.time(link.from.index as usize));
            let (Some(place), Some(time)) = (place, time) else {
                continue;
            };
            let on = call_around(scanned, link.from.location, time);
            let (Some(on), Ok(index)) = (on, u32::try_from(place)) else {
                continue;
            };
            let call = CallId {
                location: link.to.location,
                index,
            };
            let gaps = scanned.get(call.location.index());
            let Some(gap) = gaps.and_then(|own| own.calls.get(place)) else {
                continue;
            };
            let since = idle.get(&call).copied().unwrap_or(gap.leave);
            links.push(CallLink { call, on, since });
        }
        links
    }

    /// Returns a launch for each kernel of a recording without links: the last one of the process that begins before
    /// the kernel and that no later kernel has. A kernel that was queued may get a later launch than its own.
    fn likely_launches(
        &self,
        definitions: &Definitions,
        scanned: &[Scanned],
        idle: &BTreeMap<CallId, Ticks>,
    ) -> Vec<CallLink> {
        let system = &definitions.system;
        let mut launches: BTreeMap<_, Vec<(Ticks, CallId)>> = BTreeMap::new();
        for (location, own) in (0..).map(LocationId).zip(scanned) {
            let of = launches.entry(system.process(location)).or_default();
            let calls = (0..).zip(&own.calls);
            let calls = calls.filter(|(_, it)| it.kind == CallKind::Launch);
            let calls =
                calls.filter(|(_, it)| definitions.region_name(it.region).contains("Launch"));
            of.extend(calls.map(|(index, it)| (it.enter, CallId { location, index })));
        }
        launches.values_mut().for_each(|of| of.sort_unstable());
        let mut kernels: BTreeMap<_, Vec<(Ticks, CallId)>> = BTreeMap::new();
        for (location, work) in &self.work {
            let role = |it: &Work| definitions.regions.get(it.region.index()).map(|it| it.role);
            let own = (0..).zip(work);
            let own = own.filter(|(_, it)| role(it) != Some(RegionRole::DataTransfer));
            let of = kernels.entry(system.process(*location)).or_default();
            let location = *location;
            of.extend(own.map(|(index, it)| (it.start, CallId { location, index })));
        }
        let mut links = Vec::new();
        for (process, mut kernels) in kernels {
            kernels.sort_unstable();
            let all = launches.get(&process).map_or(&[][..], Vec::as_slice);
            let mut free = all;
            for (start, call) in kernels.into_iter().rev() {
                let of = match free.first().is_some_and(|it| it.0 <= start) {
                    true => free,
                    // Clocks that disagree: any launch is better than none.
                    false => all,
                };
                let before = of.partition_point(|it| it.0 <= start);
                let Some(((_, on), rest)) = of.get(..before).and_then(<[_]>::split_last) else {
                    continue;
                };
                free = rest;
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
        for (location, work) in &self.work {
            let group = definitions
                .system
                .location(*location)
                .and_then(|it| it.group);
            let own = devices.entry(group.unwrap_or_default()).or_default();
            own.extend((0..).zip(work).map(|(index, it)| {
                let location = *location;
                (it.start, it.end, CallId { location, index })
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

    /// A call that synchronises waits for the work of its process that ends last within it.
    fn synchronisations(&self, definitions: &Definitions, scanned: &[Scanned]) -> Vec<CallLink> {
        let system = &definitions.system;
        let mut ends: BTreeMap<_, Vec<(Ticks, CallId)>> = BTreeMap::new();
        for (location, work) in &self.work {
            let own = ends.entry(system.process(*location)).or_default();
            own.extend((1..).zip(work).map(|(index, it)| {
                let location = *location;
                (it.end, CallId { location, index })
            }));
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

/// Returns the call of a location that is open at a time.
fn call_around(scanned: &[Scanned], location: LocationId, time: Ticks) -> Option<CallId> {
    let calls = &scanned.get(location.index())?.calls;
    let index = calls
        .partition_point(|it| it.enter <= time)
        .checked_sub(1)?;
    let call = calls.get(index)?;
    let index = u32::try_from(index).ok()?;
    (time <= call.leave).then_some(CallId { location, index })
}
