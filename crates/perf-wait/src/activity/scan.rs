//! Frames of a location to calls.

use super::{Call, CallKind};
use crate::Result;
use perf_core::{
    CallPathId, CallTree, Close, Definitions, Event, Job, LocationView, RegionId, ReplayCounts,
    Ticks, Unify, Visitor, replay,
};

/// Facts about each region that the scan needs for every frame.
#[derive(Debug)]
pub(super) struct Regions {
    /// Region that has the call paths of each region.
    functions: Vec<RegionId>,
    /// Role of each region, `None` for one that is not MPI.
    kinds: Vec<Option<CallKind>>,
}

impl Regions {
    pub(super) fn new(definitions: &Definitions) -> Self {
        let kind = |region: &perf_core::Region| {
            let is_mpi = region.is_mpi() || region.name.to_ascii_lowercase().starts_with("mpi_");
            is_mpi.then(|| CallKind::of(&region.name))
        };
        Regions {
            functions: Unify::default().representatives(&definitions.regions),
            kinds: definitions.regions.iter().map(kind).collect(),
        }
    }

    fn kind(&self, region: RegionId) -> Option<CallKind> {
        self.kinds.get(region.index()).copied().flatten()
    }

    fn function(&self, region: RegionId) -> RegionId {
        self.functions
            .get(region.index())
            .copied()
            .unwrap_or(region)
    }
}

/// Calls of one location.
#[derive(Debug, Default)]
pub(super) struct Scanned {
    /// Calls in order of time.
    pub(super) calls: Vec<Call>,
    /// Numbers of the first and last communication record of each call that has some, and the number of the call.
    pub(super) records: Vec<(u32, u32, u32)>,
    /// Numbers of the calls that wait for requests.
    pub(super) waits: Vec<u32>,
    /// Repairs of the frames.
    pub(super) repairs: ReplayCounts,
}

impl Scanned {
    /// Returns the number of the call that contains a communication record.
    pub(super) fn call_of(&self, record: usize) -> Option<u32> {
        let record = u32::try_from(record).ok()?;
        let after = self.records.partition_point(|it| it.0 <= record);
        let (_, last, call) = self.records.get(after.checked_sub(1)?).copied()?;
        (record <= last).then_some(call)
    }
}

/// Visitor that collects the calls of one location.
struct Scan<'a> {
    regions: &'a Regions,
    paths: &'a mut CallTree,
    found: Scanned,
    /// Open frames as region and call path, the outermost first.
    stack: Vec<(RegionId, CallPathId)>,
    /// Depth of the frame of the call that is open.
    open: Option<usize>,
    failed: Option<perf_core::Error>,
}

impl Visitor for Scan<'_> {
    fn enter(&mut self, at: Ticks, region: RegionId, depth: usize) {
        let parent = self.stack.last().map(|frame| frame.1);
        match self.paths.child(parent, self.regions.function(region)) {
            Ok(path) => self.stack.push((region, path)),
            Err(error) => {
                self.failed.get_or_insert(error);
                self.stack.push((region, CallPathId(0)));
            }
        }
        if self.open.is_none()
            && let Some(kind) = self.regions.kind(region)
        {
            self.open = Some(depth);
            self.found.calls.push(Call {
                region,
                path: self.stack.last().map(|frame| frame.1),
                kind,
                enter: at,
                leave: at,
            });
            let number = u32::try_from(self.found.calls.len() - 1);
            if let (true, Ok(number)) = (kind.is_wait(), number) {
                self.found.waits.push(number);
            }
        }
    }

    fn leave(&mut self, at: Ticks, _: RegionId, depth: usize, _: Close) {
        self.stack.pop();
        if self.open == Some(depth) {
            self.open = None;
            if let Some(call) = self.found.calls.last_mut() {
                call.leave = at;
            }
        }
    }

    fn event(&mut self, at: Ticks, event: Event<'_>, index: usize) {
        let Ok(index) = u32::try_from(index) else {
            self.failed.get_or_insert(perf_core::Error::TooMany {
                what: "events of a location",
                limit: u64::from(u32::MAX),
            });
            return;
        };
        if !is_communication(event) {
            return;
        }
        if self.open.is_none() {
            let frame = self.stack.last().copied();
            self.found.calls.push(Call {
                region: frame.map_or(RegionId(u32::MAX), |frame| frame.0),
                path: frame.map(|frame| frame.1),
                kind: CallKind::Other,
                enter: at,
                leave: at,
            });
        }
        let Some(call) = self.found.calls.len().checked_sub(1) else {
            return;
        };
        // There are no more calls than events, which were counted above.
        let call = call as u32;
        match self.found.records.last_mut() {
            Some((_, last, of)) if *of == call => *last = index,
            _ => self.found.records.push((index, index, call)),
        }
    }
}

/// Returns `true` for events of messages and collectives.
fn is_communication(event: Event<'_>) -> bool {
    matches!(
        event,
        Event::Send(_)
            | Event::SendComplete { .. }
            | Event::RecvPost { .. }
            | Event::Recv(_)
            | Event::CollectiveBegin
            | Event::CollectivePost { .. }
            | Event::CollectiveEnd(_)
    )
}

/// Returns the calls of a location, and adds the call paths of its frames to `paths`.
pub(super) fn scan(
    location: LocationView<'_>,
    regions: &Regions,
    paths: &mut CallTree,
    job: &Job,
) -> Result<Scanned> {
    let mut scan = Scan {
        regions,
        paths,
        found: Scanned::default(),
        stack: Vec::new(),
        open: None,
        failed: None,
    };
    scan.found.repairs = replay(location, &mut scan, job)?;
    match scan.failed {
        Some(error) => Err(error.into()),
        None => Ok(scan.found),
    }
}
