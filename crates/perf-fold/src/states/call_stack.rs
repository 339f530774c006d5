//! [`Timelines::call_stack`]: timelines of the call stack of one location, with a stream for each
//! depth.

use crate::states::timeline_builder;
use crate::{ClassId, Classes, RegionMap, Result, StateMap, Timelines};
use perf_core::{
    Event, Job, Limits, Location, LocationId, RegionId, SystemTree, TraceView, parallel,
};

/// Largest number of depths. Deeper frames are not shown.
const MOST_DEPTHS: usize = 256;

/// Class of the frame at one depth; idle on a shallower stack.
struct Depth<'a> {
    map: &'a RegionMap,
    depth: usize,
}

impl StateMap for Depth<'_> {
    fn classes(&self) -> &Classes {
        self.map.classes()
    }

    fn class(&self, stack: &[RegionId]) -> Option<ClassId> {
        self.map.of(*stack.get(self.depth)?)
    }
}

impl Timelines {
    /// Builds timelines of the call stack of one location. Stream 0 is the outermost frame, stream 1
    /// the function that it calls, and so on; a stream is idle where the stack is shallower. The
    /// streams are called `depth 0`, `depth 1` and so on.
    ///
    /// At most 256 depths are shown. On a location whose regions
    /// [overlap](perf_core::LocationView::overlaps), the open regions are in the order of their
    /// begins. An unknown location gives no streams.
    ///
    /// ```
    /// use perf_core::{Job, LocationId, Ticks};
    /// use perf_fold::{RegionMap, Timelines};
    /// let trace = perf_core::samples::cosmo::trace();
    /// let map = RegionMap::by_name(trace.definitions())?;
    /// let stack = Timelines::call_stack(trace.view(), LocationId(0), &map, &Job::default())?;
    /// assert_eq!(stack.len(), 2);
    /// let name = |depth| stack.classes().state_name(stack.state(depth, Ticks(500), Default::default()));
    /// assert_eq!((name(0), name(1)), ("main", "COSMO"));
    /// # Ok::<(), perf_fold::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Cancelled`](crate::Error::Cancelled) if the job is cancelled.
    pub fn call_stack(
        view: TraceView<'_>,
        location: LocationId,
        map: &RegionMap,
        job: &Job,
    ) -> Result<Self> {
        let definitions = view.definitions();
        let events = view.location(location);
        let mut depths = 0;
        if let Some(events) = &events {
            let (mut open, mut checks) = (0usize, job.checks());
            let all = events.all();
            for index in 0..events.range().end {
                checks.next(1)?;
                match all.event(index) {
                    Some(Event::Enter { .. }) => {
                        open += 1;
                        depths = depths.max(open);
                    }
                    Some(Event::Leave { .. }) => open = open.saturating_sub(1),
                    _ => {}
                }
            }
        }
        let kind = definitions.system.location(location).map(|it| it.kind);
        let depths = depths.min(MOST_DEPTHS);
        let built = parallel::try_map(if events.is_some() { depths } else { 0 }, |depth| {
            let map = Depth { map, depth };
            let events = view.location(location).ok_or(perf_core::Cancelled)?;
            let (mut columns, counts) = timeline_builder::stream(events, definitions, &map, job)?;
            columns.location = LocationId(depth as u32);
            job.advance("timelines", 1, depths as u64);
            Ok::<_, crate::Error>((columns, counts))
        })?;
        let rows = (0..built.len()).map(|depth| Location {
            name: format!("depth {depth}"),
            kind: kind.unwrap_or_default(),
            key: depth as u64,
            ..Location::default()
        });
        let system = SystemTree::new(vec![], vec![], rows.collect(), &Limits::default());
        // Keys are unique and there are no references, so the tree is valid.
        let of = (system.unwrap_or_default(), definitions.clock);
        Ok(Self::assembled(built, map.classes().clone(), of))
    }
}
