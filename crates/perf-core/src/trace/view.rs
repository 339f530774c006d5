//! [`TraceView`] and [`LocationView`]: parts of a trace by location and time, without copying events.

use super::{Definitions, Event, Events, Trace};
use crate::algorithms::overlap::is_seen;
use crate::{Cancelled, Job, LocationId, Ticks, TimeRange};
use std::ops::Range;
use std::sync::OnceLock;

/// Part of a [`Trace`]: some locations, within a window of time. A view is `Copy` and does not copy
/// events.
///
/// ```
/// # use perf_core::{Definitions, Event, Events, Location, RegionId, SystemTree, Ticks, TimeRange, Trace};
/// # let mut definitions = Definitions::default();
/// # definitions.system = SystemTree::new(vec![], vec![], vec![Location::default()], &Default::default())?;
/// # let mut events = Events::default();
/// # for at in 0..10 { events.push(Ticks(at), Event::CollectiveBegin)?; }
/// # let trace = Trace::new(definitions, vec![events])?;
/// let window = TimeRange::new(Ticks(2), Ticks(5)).expect("ordered");
/// let part = trace.view().between(window);
/// assert_eq!(part.locations().map(|location| location.len()).sum::<usize>(), 3);
/// # Ok::<(), perf_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TraceView<'a> {
    /// Trace that is viewed.
    trace: &'a Trace,
    /// Window of time.
    window: TimeRange,
    /// Locations in view; `None` for all.
    only: Option<&'a [LocationId]>,
}

impl<'a> TraceView<'a> {
    pub(super) fn new(trace: &'a Trace) -> Self {
        TraceView {
            trace,
            window: TimeRange::ALL,
            only: None,
        }
    }

    /// Restricts the view to `window`.
    pub fn between(self, window: TimeRange) -> Self {
        let nothing = TimeRange {
            start: window.start,
            end: window.start,
        };
        TraceView {
            window: self.window.intersect(window).unwrap_or(nothing),
            ..self
        }
    }

    /// Restricts the view to the locations `only`, in that order.
    pub fn only(self, only: &'a [LocationId]) -> Self {
        TraceView {
            only: Some(only),
            ..self
        }
    }

    /// Returns the definitions that the events refer to.
    pub fn definitions(&self) -> &'a Definitions {
        self.trace.definitions()
    }

    /// Returns the trace that is viewed.
    pub fn trace(&self) -> &'a Trace {
        self.trace
    }

    /// Returns the window: all ticks unless [`between`](Self::between) restricted it.
    pub fn window(&self) -> TimeRange {
        self.window
    }

    /// Returns one location within the window, even if [`only`](Self::only) excludes it, or `None`
    /// if there is no such location.
    pub fn location(&self, id: LocationId) -> Option<LocationView<'a>> {
        let events = self.trace.events().get(id.index())?;
        Some(LocationView {
            id,
            events,
            window: self.window,
            range: Place::of(events, self.window),
            overlap: self.trace.overlap.of(id),
        })
    }

    /// Returns the ids of the locations in view. Ids of [`only`](Self::only) that do not exist are
    /// dropped.
    pub fn ids(&self) -> impl Iterator<Item = LocationId> + use<'a> {
        let all = self.trace.definitions().system.location_ids();
        let count = all.len();
        let (all, some) = match self.only {
            Some(some) => (None, some),
            None => (Some(all), [].as_slice()),
        };
        let exists = move |id: &LocationId| id.index() < count;
        all.into_iter()
            .flatten()
            .chain(some.iter().copied().filter(exists))
    }

    /// Returns the locations in view.
    pub fn locations(&self) -> impl Iterator<Item = LocationView<'a>> + use<'a> {
        let view = *self;
        self.ids().filter_map(move |id| view.location(id))
    }

    /// Returns the number of events in view.
    pub fn len(&self) -> usize {
        self.locations().map(|location| location.len()).sum()
    }

    /// Returns `true` if no event is in view.
    pub fn is_empty(&self) -> bool {
        self.locations().all(|location| location.is_empty())
    }

    /// Returns the range from the first event in view to one tick after the last event in view, or
    /// `None` without events.
    pub fn range(&self) -> Option<TimeRange> {
        let ends = |location: LocationView<'a>| {
            let times = location.times();
            Some((*times.first()?, *times.last()?))
        };
        let (start, last) = self
            .locations()
            .filter_map(ends)
            .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
        TimeRange::new(start, Ticks(last.0.saturating_add(1)))
    }
}

/// Events of one location within a window. A view is `Copy` and does not copy events.
#[derive(Clone, Copy, Debug)]
pub struct LocationView<'a> {
    /// Location.
    id: LocationId,
    /// All events of the location.
    events: &'a Events,
    /// Window of time.
    window: TimeRange,
    /// Indices of the events in view.
    range: Place,
    /// Cache of the trace for [`overlaps`](Self::overlaps); `None` for a view without a trace.
    overlap: Option<&'a OnceLock<bool>>,
}

/// Range that is `Copy`.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// First index.
    start: usize,
    /// Index after the last index.
    end: usize,
}

impl Place {
    fn of(events: &Events, window: TimeRange) -> Self {
        if window == TimeRange::ALL {
            // A half-open window cannot contain the last tick, so the full window is a special
            // case.
            return Place {
                start: 0,
                end: events.len(),
            };
        }
        let Range { start, end } = events.range(window);
        Place { start, end }
    }
}

impl<'a> LocationView<'a> {
    /// Returns a view of all events of a location without a [`Trace`], for code that produces or
    /// writes one location after the other.
    ///
    /// ```
    /// use perf_core::{Event, Events, LocationId, LocationView, Ticks};
    /// let mut events = Events::default();
    /// events.push(Ticks(4), Event::CollectiveBegin)?;
    /// assert_eq!(LocationView::whole(LocationId(7), &events).len(), 1);
    /// # Ok::<(), perf_core::Error>(())
    /// ```
    pub fn whole(id: LocationId, events: &'a Events) -> Self {
        LocationView {
            id,
            events,
            window: TimeRange::ALL,
            range: Place::of(events, TimeRange::ALL),
            overlap: None,
        }
    }

    /// Returns the id of the location.
    pub fn id(&self) -> LocationId {
        self.id
    }

    /// Returns all events of the location, inside and outside of the window.
    pub fn all(&self) -> &'a Events {
        self.events
    }

    /// Returns the window.
    pub fn window(&self) -> TimeRange {
        self.window
    }

    /// Returns the indices, in [`all`](Self::all), of the events in view.
    pub fn range(&self) -> Range<usize> {
        self.range.start..self.range.end
    }

    /// Returns `true` if regions of the location overlap although neither calls the other.
    ///
    /// The regions of a location nest unless an overlap is found. Only accelerator streams are
    /// searched ([`LocationKind::may_overlap`](crate::LocationKind::may_overlap)). The search
    /// covers all events of the location and not only the window, so that the result does not
    /// depend on the window. Either of these is an overlap:
    ///
    /// * A region is left while a region that was entered after it is open, and this inner region
    ///   is left later.
    /// * A kernel or copy of CUDA, HIP or OpenCL begins while another kernel or copy runs, because
    ///   kernels do not call kernels.
    ///
    /// Read a location that overlaps with [`intervals()`](crate::intervals()), and any other
    /// location with [`replay()`](crate::replay()). A missing leave is not an overlap: `replay`
    /// repairs it.
    ///
    /// The first call searches the events up to the first overlap. The result is cached in the
    /// trace. A view [without a trace](Self::whole) searches at each call.
    ///
    /// ```
    /// # use perf_core::{Job, Definitions, Events, Location, LocationId, LocationKind, Region};
    /// # use perf_core::{RegionId, SystemTree, Ticks, Trace};
    /// # let mut definitions = Definitions::default();
    /// # let stream = Location { kind: LocationKind::AcceleratorStream, ..Location::default() };
    /// # definitions.system = SystemTree::new(vec![], vec![], vec![stream], &Default::default())?;
    /// # definitions.regions = ["offload", "loop"].map(Region::named).to_vec();
    /// let (offload, inner) = (RegionId(0), RegionId(1));
    /// let overlaps = |leaves: [RegionId; 2]| {
    ///     let mut events = Events::default();
    ///     events.push_enter(Ticks(0), offload);
    ///     events.push_enter(Ticks(5), inner);
    ///     events.push_leave(Ticks(9), leaves[0]);
    ///     events.push_leave(Ticks(15), leaves[1]);
    ///     let trace = Trace::new(definitions.clone(), vec![events])?;
    ///     let location = trace.location(LocationId(0)).expect("there is one");
    ///     Ok::<_, perf_core::Error>(location.overlaps(trace.definitions(), &Job::default())?)
    /// };
    /// assert!(!overlaps([inner, offload])?);
    /// assert!(overlaps([offload, inner])?);
    /// # Ok::<(), perf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Cancelled`] if the job is cancelled.
    pub fn overlaps(&self, definitions: &Definitions, job: &Job) -> Result<bool, Cancelled> {
        if let Some(known) = self.overlap.and_then(OnceLock::get) {
            return Ok(*known);
        }
        let seen = is_seen(definitions, self.id, self.events, job)?;
        Ok(self.overlap.map_or(seen, |cell| *cell.get_or_init(|| seen)))
    }

    /// Returns the number of events in view.
    pub fn len(&self) -> usize {
        self.range.end - self.range.start
    }

    /// Returns `true` if no event is in view.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the times of the events in view, in ascending order.
    pub fn times(&self) -> &'a [Ticks] {
        &self.events.times()[self.range()]
    }

    /// Returns the events in view with their times, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Ticks, Event<'a>)> + use<'a> {
        let events = self.events;
        self.range()
            .filter_map(move |index| Some((events.time(index)?, events.event(index)?)))
    }
}
