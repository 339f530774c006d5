//! [`Trace`]: what happened, location by location, and views of parts of it.

mod columns;
mod event;
mod view;

pub use columns::Events;
pub use event::{AttributeValue, Collective, CollectiveOp, Event, RmaCompletion, RmaOp, Transfer};
pub use view::{LocationView, TraceView};

use crate::{
    Attribute, CallTree, CartTopology, Clock, Communicator, Error, LocationId, Metric, MetricSet,
    Region, RegionId, Result, SystemTree, TimeRange, Window,
};

/// What the events of a [`Trace`] refer to. Tables are indexed by the id of their kind.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Definitions {
    /// How ticks relate to nanoseconds.
    pub clock: Clock,
    /// The machine, processes and locations.
    pub system: SystemTree,
    /// Code regions, by [`RegionId`].
    pub regions: Vec<Region>,
    /// Metrics, by [`MetricId`](crate::MetricId).
    pub metrics: Vec<Metric>,
    /// Metrics sampled together, by [`MetricSetId`](crate::MetricSetId).
    pub metric_sets: Vec<MetricSet>,
    /// Communicators, by [`CommId`](crate::CommId).
    pub comms: Vec<Communicator>,
    /// Windows of remote memory access, by [`WindowId`](crate::WindowId).
    pub windows: Vec<Window>,
    /// Attributes of events, by [`AttributeId`](crate::AttributeId).
    pub attributes: Vec<Attribute>,
    /// Names of the kinds of events without a noun, by [`KindId`](crate::KindId).
    pub kinds: Vec<String>,
    /// Call paths that samples refer to.
    pub contexts: CallTree,
    /// Cartesian grids over communicators.
    pub topologies: Vec<CartTopology>,
    /// Facts about the recording as a whole, as (key, value): creator, machine, properties.
    pub properties: Vec<(String, String)>,
}

impl Definitions {
    /// The name of a region, `region N` where it is not defined.
    pub fn region_name(&self, id: RegionId) -> std::borrow::Cow<'_, str> {
        match self.regions.get(id.index()) {
            Some(region) => region.name.as_str().into(),
            None => format!("region {id}").into(),
        }
    }

    /// The name of an event's kind: that of its variant, or the one in [`kinds`](Self::kinds).
    ///
    /// ```
    /// use perf_core::{Definitions, Event, KindId};
    /// let mut definitions = Definitions::default();
    /// definitions.kinds.push("ThreadFork".into());
    /// assert_eq!(definitions.event_name(Event::CollectiveBegin), "CollectiveBegin");
    /// assert_eq!(definitions.event_name(Event::Other { kind: KindId(0), args: &[] }), "ThreadFork");
    /// ```
    pub fn event_name(&self, event: Event<'_>) -> &str {
        match event {
            Event::Enter { .. } => "Enter",
            Event::Leave { .. } => "Leave",
            Event::Send(_) => "Send",
            Event::SendComplete { .. } => "SendComplete",
            Event::RecvPost { .. } => "RecvPost",
            Event::Recv(_) => "Recv",
            Event::RequestTest { .. } => "RequestTest",
            Event::RequestCancelled { .. } => "RequestCancelled",
            Event::CollectiveBegin => "CollectiveBegin",
            Event::CollectivePost { .. } => "CollectivePost",
            Event::CollectiveEnd(_) => "CollectiveEnd",
            Event::Rma { .. } => "Rma",
            Event::RmaComplete { .. } => "RmaComplete",
            Event::Metric { .. } => "Metric",
            Event::Measuring { .. } => "Measuring",
            Event::Flush { .. } => "Flush",
            Event::Sample { .. } => "Sample",
            Event::Other { kind, .. } => {
                self.kinds.get(kind.index()).map_or("Other", String::as_str)
            }
        }
    }
}

/// What happened, location by location.
///
/// ```
/// use perf_core::{Definitions, Event, Events, Location, Region, RegionId, SystemTree, Ticks, Trace};
/// let mut definitions = Definitions::default();
/// definitions.system = SystemTree::new(vec![], vec![], vec![Location::default()], &Default::default())?;
/// definitions.regions.push(Region::named("main"));
/// let mut events = Events::default();
/// events.push(Ticks(10), Event::Enter { region: RegionId(0) })?;
/// events.push(Ticks(90), Event::Leave { region: RegionId(0) })?;
/// let trace = Trace::new(definitions, vec![events])?;
/// assert_eq!(trace.len(), 2);
/// assert_eq!(trace.range().map(|range| range.len()), Some(81));
/// # Ok::<(), perf_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    definitions: Definitions,
    events: Vec<Events>,
}

impl Trace {
    /// Puts definitions and the events of each location together.
    ///
    /// # Errors
    /// [`Error::Length`] unless there is one [`Events`] a location.
    pub fn new(definitions: Definitions, events: Vec<Events>) -> Result<Self> {
        let (expected, got) = (definitions.system.locations().len(), events.len());
        if expected != got {
            let what = "locations with events";
            return Err(Error::Length {
                what,
                expected,
                got,
            });
        }
        Ok(Trace {
            definitions,
            events,
        })
    }

    /// What the events refer to.
    pub fn definitions(&self) -> &Definitions {
        &self.definitions
    }

    /// The definitions and the events of each location, taken apart.
    pub fn into_parts(self) -> (Definitions, Vec<Events>) {
        (self.definitions, self.events)
    }

    /// The events of each location, by [`LocationId`].
    pub fn events(&self) -> &[Events] {
        &self.events
    }

    /// Number of events on all locations.
    pub fn len(&self) -> usize {
        self.events.iter().map(Events::len).sum()
    }

    /// Whether no location has an event.
    pub fn is_empty(&self) -> bool {
        self.events.iter().all(Events::is_empty)
    }

    /// From the first event to just after the last one; `None` without events.
    pub fn range(&self) -> Option<TimeRange> {
        self.view().range()
    }

    /// Bytes of memory the events take.
    pub fn memory(&self) -> usize {
        self.events.iter().map(Events::memory).sum()
    }

    /// All of it, as a view.
    pub fn view(&self) -> TraceView<'_> {
        TraceView::new(self)
    }

    /// The events of one location, as a view.
    pub fn location(&self, id: LocationId) -> Option<LocationView<'_>> {
        self.view().location(id)
    }
}
