//! [`Profile::from_trace`]: computes the profile of a trace: times, visits and transferred bytes by
//! call path and location.

use crate::{
    CallPathId, CallTree, CartMembers, CartTopology, Close, Definitions, Error, Event, Job,
    LocationId, LocationView, Members, Merge, Metric, MetricId, Region, RegionId, ReplayCounts,
    Result, RmaOp, Ticks, TraceView, Unify, Value, ValueType, Visitor,
    algorithms::intervals::{Step, walk},
    replay,
};
use crate::{Profile, ProfileMetric, Scope, SparseRows};
use std::sync::Arc;

const TIME: MetricId = MetricId(0);
const EXCLUSIVE: MetricId = MetricId(1);
const VISITS: MetricId = MetricId(2);
const SENT: MetricId = MetricId(3);
const RECEIVED: MetricId = MetricId(4);

impl Profile {
    /// Computes the call-path profile of a trace, with these metrics, all `u64`:
    ///
    /// | name | unit | scope | of a call path and location |
    /// |---|---|---|---|
    /// | `time` | ns | inclusive | time in the call path and its callees |
    /// | `exclusive time` | ns | exclusive | time in the call path without its callees |
    /// | `visits` | # | exclusive | number of times that the call path was entered in the view |
    /// | `bytes sent` | bytes | exclusive | by messages, collectives, remote writes and atomics |
    /// | `bytes received` | bytes | exclusive | by messages, collectives, remote reads and atomics |
    ///
    /// Bytes of events outside of any frame, as recorded by accelerator streams, are attributed to
    /// a separate call path, so that the bytes of a profile equal the bytes of the events. Its
    /// region `(outside regions)` follows the regions of the trace and has neither time nor visits.
    /// This call path exists only if there are such bytes and no event refers to an undefined
    /// region.
    ///
    /// Regions of a location that [overlap](LocationView::overlaps), such as work of an accelerator
    /// stream, do not nest. They are read with [`intervals`](crate::intervals()). Each of these
    /// regions is a root call path, and its inclusive and exclusive time are both the sum of the
    /// lengths of its calls. If work overlaps, this sum exceeds the busy time of the stream.
    ///
    /// Regions with the same name, file and line are one function ([`Unify::Location`]) and share
    /// their call paths. [`from_trace_by`](Self::from_trace_by) accepts another rule.
    ///
    /// A profile has no communicators. Grids over the ranks of a communicator therefore become
    /// grids over its processes, or over its locations if one of these has no process. Grids are
    /// unchanged if the trace does not identify the ranks.
    ///
    /// Also returns the repairs made by [`replay`](crate::replay()). If the view has a window, only
    /// the time inside the window counts, and a frame that is open at its start counts as a visit.
    ///
    /// ```
    /// # use perf_core::{Definitions, Event, Events, Job, Location, Region, RegionId, SystemTree, Ticks, Trace};
    /// use perf_core::{CallPathId, Profile, Value};
    /// # let mut definitions = Definitions::default();
    /// # definitions.system = SystemTree::new(vec![], vec![], vec![Location::default()], &Default::default())?;
    /// # definitions.regions = vec![Region::named("main"), Region::named("solve")];
    /// # let mut events = Events::default();
    /// # events.push(Ticks(0), Event::Enter { region: RegionId(0) })?;
    /// # events.push(Ticks(2), Event::Enter { region: RegionId(1) })?;
    /// # events.push(Ticks(9), Event::Leave { region: RegionId(1) })?;
    /// # events.push(Ticks(10), Event::Leave { region: RegionId(0) })?;
    /// # let trace = Trace::new(definitions, vec![events])?;
    /// // main enters at 0 ns and leaves at 10 ns; solve within it from 2 to 9 ns.
    /// let (profile, _) = Profile::from_trace(trace.view(), &Job::default())?;
    /// let main = CallPathId(0);
    /// let metric = |name| profile.metric(name).expect("one of the five");
    /// assert_eq!(profile.total(metric("time"), main)?, Value::U64(10));
    /// assert_eq!(profile.total(metric("exclusive time"), main)?, Value::U64(3));
    /// assert_eq!(profile.calls().name(CallPathId(1), profile.regions()), "main > solve");
    /// # Ok::<(), perf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Cancelled`] if the job is cancelled, or [`Error::TooMany`] for more than
    /// 2^32 call paths.
    pub fn from_trace(view: TraceView<'_>, job: &Job) -> Result<(Profile, ReplayCounts)> {
        Self::from_trace_by(view, Unify::default(), job)
    }

    /// Computes the profile like [`from_trace`](Self::from_trace), with `unify` as the rule that
    /// decides which regions are one function.
    ///
    /// # Errors
    /// Returns the errors of [`from_trace`](Self::from_trace).
    pub fn from_trace_by(
        view: TraceView<'_>,
        unify: Unify,
        job: &Job,
    ) -> Result<(Profile, ReplayCounts)> {
        let definitions = view.definitions();
        let locations = definitions.system.locations().len();
        let mut counts = ReplayCounts::default();
        let metrics = metrics();
        let mut rows = SparseRows::new(locations, vec![ValueType::U64; metrics.len()]);
        let mut calls = CallTree::default();
        let mut sums = Sums::new(unify, &definitions.regions);
        let mut outside = Vec::new();
        let mut in_order: Vec<_> = view.ids().collect();
        in_order.sort_unstable();
        in_order.dedup();
        let total = in_order.len() as u64;
        for location in in_order.into_iter().filter_map(|id| view.location(id)) {
            job.check()?;
            counts.merge(&sums.add_location(definitions, location, &mut calls, job)?);
            let clock = definitions.clock;
            let nanos = |ticks: u64| clock.total(u128::from(ticks)).0.unsigned_abs();
            job.sort_by(&mut sums.touched, Ord::cmp)?;
            let mut checks = job.checks();
            for (path, sum) in sums.drain() {
                checks.next(metrics.len())?;
                rows.push(TIME, path, location.id(), Value::U64(nanos(sum.inclusive)));
                rows.push(
                    EXCLUSIVE,
                    path,
                    location.id(),
                    Value::U64(nanos(sum.exclusive)),
                );
                rows.push(VISITS, path, location.id(), Value::U64(sum.visits));
                rows.push(SENT, path, location.id(), Value::U64(sum.sent));
                rows.push(RECEIVED, path, location.id(), Value::U64(sum.received));
            }
            let bytes = std::mem::take(&mut sums.outside);
            if bytes != (0, 0) {
                outside.push((location.id(), bytes));
            }
            job.advance("profile", 1, total);
        }
        let mut regions = definitions.regions.clone();
        if !outside.is_empty()
            && let Some(path) = outside_regions(&mut regions, &mut calls)?
        {
            for (location, (sent, received)) in outside {
                rows.push(SENT, path, location, Value::U64(sent));
                rows.push(RECEIVED, path, location, Value::U64(received));
            }
        }
        let system = definitions.system.clone();
        let rows = Arc::new(rows.finish(calls.paths().len(), job)?);
        let grids = definitions.topologies.iter();
        let grids = grids.map(|grid| over_parts(grid, definitions)).collect();
        let profile = Profile::new(system, regions, calls, metrics, rows)?.with_topologies(grids);
        Ok((profile, counts))
    }
}

/// Converts a grid over ranks to a grid over the corresponding processes or locations. Coordinates
/// of unknown ranks are dropped.
fn over_parts(grid: &CartTopology, definitions: &Definitions) -> CartTopology {
    let comm = grid.comm.filter(|_| grid.of == CartMembers::Ranks);
    let comm = comm.and_then(|id| definitions.comms.get(id.index()));
    let Some(Members::Ranks(members)) = comm.map(|comm| &comm.members) else {
        return grid.clone();
    };
    let system = &definitions.system;
    let processes = |member: &Option<LocationId>| member.map(|id| system.process(id));
    let have_processes = !members.iter().filter_map(processes).any(|it| it.is_none());
    let part = |rank: u32| {
        let location = members.get(rank as usize).copied().flatten()?;
        if have_processes {
            system.process(location).map(|process| process.0)
        } else {
            Some(location.0)
        }
    };
    let coordinates = grid.coordinates.iter();
    let coordinates = coordinates.filter_map(|(rank, at)| Some((part(*rank)?, at.clone())));
    CartTopology {
        of: if have_processes {
            CartMembers::Groups
        } else {
            CartMembers::Locations
        },
        comm: None,
        coordinates: coordinates.collect(),
        ..grid.clone()
    }
}

/// Adds the root call path for events outside of any frame, with a new region.
///
/// Returns `None` if a call path refers to an undefined region, because the new region must not
/// take the number of that region.
fn outside_regions(regions: &mut Vec<Region>, calls: &mut CallTree) -> Result<Option<CallPathId>> {
    let region = RegionId::from_index(regions.len()).ok_or(Error::TooMany {
        what: "regions",
        limit: u64::from(u32::MAX),
    })?;
    if calls.paths().iter().any(|path| path.region >= region) {
        return Ok(None);
    }
    regions.push(Region::named("(outside regions)"));
    calls.child(None, region).map(Some)
}

fn metrics() -> Vec<ProfileMetric> {
    let metric = |name: &str, unit: &str, description: &str, scope, counterpart| ProfileMetric {
        metric: Metric {
            name: name.into(),
            unit: unit.into(),
            description: description.into(),
            ..Default::default()
        },
        scope,
        counterpart,
        ..Default::default()
    };
    vec![
        metric(
            "time",
            "ns",
            "time in a call path and below",
            Scope::Inclusive,
            Some(MetricId(1)),
        ),
        metric(
            "exclusive time",
            "ns",
            "time in a call path, not below",
            Scope::Exclusive,
            Some(MetricId(0)),
        ),
        metric(
            "visits",
            "#",
            "number of visits of a call path",
            Scope::Exclusive,
            None,
        ),
        metric(
            "bytes sent",
            "bytes",
            "by messages, collectives, remote writes and atomics",
            Scope::Exclusive,
            None,
        ),
        metric(
            "bytes received",
            "bytes",
            "by messages, collectives, remote reads and atomics",
            Scope::Exclusive,
            None,
        ),
    ]
}

/// Sums of a call path on one location. Times are in ticks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    /// Inclusive time.
    inclusive: u64,
    /// Exclusive time.
    exclusive: u64,
    /// Number of visits.
    visits: u64,
    /// Bytes sent.
    sent: u64,
    /// Bytes received.
    received: u64,
}

impl Sum {
    /// Returns the five sums in the order of their metrics. Times are in ticks.
    pub(super) fn values(&self) -> [u64; 5] {
        let Sum {
            inclusive,
            exclusive,
            visits,
            sent,
            received,
        } = *self;
        [inclusive, exclusive, visits, sent, received]
    }
}

/// Sums of one location by call path.
#[derive(Debug, Default)]
pub(super) struct Sums {
    /// Sums by call path id.
    by_path: Vec<Sum>,
    /// Call paths that occur on this location.
    touched: Vec<CallPathId>,
    /// Bytes sent and received outside of any frame.
    outside: (u64, u64),
    /// Representative of each region. Call paths contain representatives only.
    functions: Vec<RegionId>,
}

impl Sums {
    /// Size in bytes of the sums of a call path.
    pub(super) const A_PATH: usize = size_of::<Sum>();

    pub(super) fn new(unify: Unify, regions: &[Region]) -> Self {
        Sums {
            functions: unify.representatives(regions),
            ..Sums::default()
        }
    }

    /// Returns the region whose call paths `region` shares.
    fn function(&self, region: RegionId) -> RegionId {
        let known = self.functions.get(region.index());
        known.copied().unwrap_or(region)
    }

    /// Adds the events of a location.
    pub(super) fn add_location(
        &mut self,
        definitions: &Definitions,
        location: LocationView<'_>,
        calls: &mut CallTree,
        job: &Job,
    ) -> Result<ReplayCounts> {
        if location.overlaps(definitions, job)? {
            self.add_work(location, calls, job)
        } else {
            self.add(location, calls, job)
        }
    }

    fn add(
        &mut self,
        location: LocationView<'_>,
        calls: &mut CallTree,
        job: &Job,
    ) -> Result<ReplayCounts> {
        let mut visitor = Summing {
            sums: self,
            calls,
            stack: Vec::new(),
            failed: None,
            lately: vec![None; CACHE_SLOTS],
        };
        let counts = replay(location, &mut visitor, job)?;
        match visitor.failed {
            Some(error) => Err(error),
            None => Ok(counts),
        }
    }

    /// Adds the events of a location with overlapping regions, as [`add`](Self::add) does for
    /// nested regions.
    fn add_work(
        &mut self,
        location: LocationView<'_>,
        calls: &mut CallTree,
        job: &Job,
    ) -> Result<ReplayCounts> {
        let mut failed = None;
        let mut path_of = |sums: &Self, region| match calls.child(None, sums.function(region)) {
            Ok(path) => Some(path),
            Err(error) => {
                failed.get_or_insert(error);
                None
            }
        };
        let counts = walk(
            location,
            |step| match step {
                Step::Begin(region) => {
                    if let Some(path) = path_of(self, region) {
                        self.visit(path);
                    }
                }
                Step::End(call) => {
                    let time = call.end.saturating_since(call.start);
                    if let Some(sum) = path_of(self, call.region).and_then(|path| self.at(path)) {
                        sum.inclusive = sum.inclusive.saturating_add(time);
                        sum.exclusive = sum.exclusive.saturating_add(time);
                    }
                }
                Step::Other(event, newest) => {
                    let path = newest.and_then(|region| path_of(self, region));
                    self.transfer(event, path);
                }
            },
            job,
        )?;
        match failed {
            Some(error) => Err(error),
            None => Ok(counts),
        }
    }

    fn visit(&mut self, path: CallPathId) {
        let Some(sum) = self.at(path) else { return };
        sum.visits += 1;
        if sum.visits == 1 {
            self.touched.push(path);
        }
    }

    /// Adds the bytes of an event to a call path, or to the sum outside of any frame.
    fn transfer(&mut self, event: Event<'_>, path: Option<CallPathId>) {
        let (sent, received) = match event {
            Event::Send(transfer) => (transfer.bytes, 0),
            Event::Recv(transfer) => (0, transfer.bytes),
            Event::CollectiveEnd(end) => (end.sent, end.received),
            Event::Rma {
                op: RmaOp::Put,
                bytes,
                ..
            } => (bytes, 0),
            Event::Rma {
                op: RmaOp::Get,
                bytes,
                ..
            } => (0, bytes),
            Event::Rma {
                op: RmaOp::Atomic { received, .. },
                bytes,
                ..
            } => (bytes, received),
            _ => return,
        };
        let (all_sent, all_received) = match path {
            None => (&mut self.outside.0, &mut self.outside.1),
            Some(path) => match self.at(path) {
                Some(sum) => (&mut sum.sent, &mut sum.received),
                None => return,
            },
        };
        *all_sent = all_sent.saturating_add(sent);
        *all_received = all_received.saturating_add(received);
    }

    fn at(&mut self, path: CallPathId) -> Option<&mut Sum> {
        if path.index() >= self.by_path.len() {
            self.by_path.resize(path.index() + 1, Sum::default());
        }
        self.by_path.get_mut(path.index())
    }

    /// Returns and resets the sums, in the order of [`touched`](Self::touched).
    pub(super) fn drain(&mut self) -> impl Iterator<Item = (CallPathId, Sum)> {
        let by_path = &mut self.by_path;
        self.touched
            .drain(..)
            .filter_map(move |path| Some((path, std::mem::take(by_path.get_mut(path.index())?))))
    }
}

/// Open frame.
#[derive(Clone, Copy, Debug)]
struct Frame {
    /// Call path of the frame.
    path: CallPathId,
    /// Time of the enter.
    entered: Ticks,
    /// Ticks spent in callees.
    below: u64,
}

struct Summing<'a> {
    /// Target of the sums.
    sums: &'a mut Sums,
    /// Call tree of the profile.
    calls: &'a mut CallTree,
    /// Open frames, outermost first.
    stack: Vec<Frame>,
    /// First error, returned at the end of the replay.
    failed: Option<Error>,
    /// Recently found call paths by parent and region, because programs enter the same call paths
    /// again and again. Without this cache the profile of the bundled 64-rank recording takes 34.3
    /// million instructions instead of 18.2 million.
    lately: Vec<Option<(Option<CallPathId>, RegionId, CallPathId)>>,
}

/// Number of cache slots for call paths, a power of two.
const CACHE_SLOTS: usize = 1024;

impl Summing<'_> {
    fn child(&mut self, parent: Option<CallPathId>, region: RegionId) -> Result<CallPathId> {
        let mixed = parent
            .map_or(u32::MAX, |path| path.0)
            .wrapping_mul(0x9e37_79b9)
            ^ region.0;
        let slot = self.lately.get_mut(mixed as usize % CACHE_SLOTS);
        if let Some(Some((of, into, path))) = &slot
            && (*of, *into) == (parent, region)
        {
            return Ok(*path);
        }
        let path = self.calls.child(parent, self.sums.function(region))?;
        if let Some(slot) = slot {
            *slot = Some((parent, region, path));
        }
        Ok(path)
    }
}

impl Visitor for Summing<'_> {
    fn enter(&mut self, at: Ticks, region: RegionId, _depth: usize) {
        let parent = self.stack.last().map(|frame| frame.path);
        let path = match self.child(parent, region) {
            Ok(path) => path,
            Err(error) => {
                self.failed.get_or_insert(error);
                return;
            }
        };
        self.stack.push(Frame {
            path,
            entered: at,
            below: 0,
        });
        self.sums.visit(path);
    }

    fn leave(&mut self, at: Ticks, _region: RegionId, _depth: usize, _why: Close) {
        let Some(frame) = self.stack.pop() else {
            return;
        };
        let time = at.saturating_since(frame.entered);
        if let Some(caller) = self.stack.last_mut() {
            caller.below += time;
        }
        if let Some(sum) = self.sums.at(frame.path) {
            sum.inclusive += time;
            sum.exclusive += time.saturating_sub(frame.below);
        }
    }

    fn event(&mut self, _at: Ticks, event: Event<'_>, _index: usize) {
        let path = self.stack.last().map(|frame| frame.path);
        self.sums.transfer(event, path);
    }
}
