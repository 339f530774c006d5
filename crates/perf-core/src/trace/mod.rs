//! [`Trace`]: the events of each location and the links between them; [`Definitions`]: machine,
//! regions, metrics, communicators and clock that events refer to; submodules hold the types of
//! events, and views.

mod event;
mod events;
mod link;
mod records;
mod view;

pub use event::{AttributeValue, Collective, CollectiveOp, Event, RmaCompletion, RmaOp, Transfer};
pub use events::Events;
pub use link::{EventId, Link, LinkKind};
pub(crate) use records::RecordCounts;
pub use view::{LocationView, TraceView};

use crate::algorithms::overlap::OverlapCache;
use crate::{
    Attribute, CallTree, CartTopology, Clock, Communicator, Error, LocationId, Metric, MetricSet,
    Region, RegionId, Result, SystemTree, TimeRange, Window,
};

/// Definitions that the events of a [`Trace`] refer to. The position of an element in its table is
/// its id.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Definitions {
    /// Conversion of ticks to nanoseconds.
    pub clock: Clock,
    /// System tree.
    pub system: SystemTree,
    /// Regions, by [`RegionId`].
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
    /// Names of event kinds without a variant, by [`KindId`](crate::KindId).
    pub kinds: Vec<String>,
    /// Call paths that samples refer to.
    pub contexts: CallTree,
    /// Cartesian grids over communicators.
    pub topologies: Vec<CartTopology>,
    /// Properties of the recording as a whole, as (key, value), such as creator and machine.
    pub properties: Vec<(String, String)>,
}

impl Definitions {
    /// Returns the name of a region, or `region N` if it is not defined.
    pub fn region_name(&self, id: RegionId) -> std::borrow::Cow<'_, str> {
        match self.regions.get(id.index()) {
            Some(region) => region.name.as_str().into(),
            None => format!("region {id}").into(),
        }
    }

    /// Returns the name of the kind of an event: the name of its variant or, for [`Event::Other`],
    /// the name in [`kinds`](Self::kinds).
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

/// Recording of the events of each location, with the definitions that they refer to.
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
    /// Definitions.
    definitions: Definitions,
    /// Events by location.
    events: Vec<Events>,
    /// Links between events.
    links: Vec<Link>,
    /// Cached results of [`LocationView::overlaps`].
    overlap: OverlapCache,
}

impl Trace {
    /// Creates a trace from definitions and the events of each location.
    ///
    /// # Errors
    /// Returns [`Error::Length`] unless there is one [`Events`] for each location.
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
            overlap: OverlapCache::new(events.len()),
            definitions,
            events,
            links: Vec::new(),
        })
    }

    /// Replaces the links between the events of the trace.
    ///
    /// ```
    /// # use perf_core::{Definitions, Event, EventId, Events, Link, LinkKind, Location, LocationId};
    /// # use perf_core::{SystemTree, Ticks, Trace};
    /// # let mut definitions = Definitions::default();
    /// # let at = |key| Location { key, ..Location::default() };
    /// # definitions.system = SystemTree::new(vec![], vec![], vec![at(0), at(1)], &Default::default())?;
    /// # let mut host = Events::default();
    /// # host.push(Ticks(1), Event::CollectiveBegin)?;
    /// # let device = host.clone();
    /// # let trace = Trace::new(definitions, vec![host, device])?;
    /// let at = |location| EventId { location: LocationId(location), index: 0 };
    /// let link = Link { kind: LinkKind::Launch, from: at(0), to: at(1) };
    /// assert!(trace.clone().with_links(vec![Link { to: at(2), ..link }]).is_err());
    /// assert_eq!(trace.with_links(vec![link])?.links(), [link]);
    /// # Ok::<(), perf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Undefined`] for a link to an event that does not exist.
    pub fn with_links(mut self, links: Vec<Link>) -> Result<Self> {
        for end in links.iter().flat_map(|link| [link.from, link.to]) {
            let count = self.events.get(end.location.index()).map_or(0, Events::len);
            if end.index as usize >= count {
                return Err(Error::Undefined {
                    what: "event of a link",
                    id: u64::from(end.index),
                    count,
                });
            }
        }
        self.links = links;
        Ok(self)
    }

    /// Returns the links in the order of the recording.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Returns the definitions that the events refer to.
    pub fn definitions(&self) -> &Definitions {
        &self.definitions
    }

    /// Returns the definitions, the events of each location and the links by value.
    ///
    /// ```
    /// # use perf_core::Trace;
    /// # let trace = Trace::default();
    /// let (definitions, events, links) = trace.clone().into_parts();
    /// assert_eq!(Trace::new(definitions, events)?.with_links(links)?, trace);
    /// # Ok::<(), perf_core::Error>(())
    /// ```
    pub fn into_parts(self) -> (Definitions, Vec<Events>, Vec<Link>) {
        (self.definitions, self.events, self.links)
    }

    /// Returns the events of each location by [`LocationId`].
    pub fn events(&self) -> &[Events] {
        &self.events
    }

    /// Returns the number of events on all locations.
    pub fn len(&self) -> usize {
        self.events.iter().map(Events::len).sum()
    }

    /// Returns `true` if no location has an event.
    pub fn is_empty(&self) -> bool {
        self.events.iter().all(Events::is_empty)
    }

    /// Returns the range from the first event to one tick after the last event, or `None` without
    /// events.
    pub fn range(&self) -> Option<TimeRange> {
        self.view().range()
    }

    /// Returns the size of the events and links in bytes.
    pub fn memory(&self) -> usize {
        let events: usize = self.events.iter().map(Events::memory).sum();
        events + self.links.capacity() * size_of::<Link>()
    }

    /// Returns a view of the whole trace.
    pub fn view(&self) -> TraceView<'_> {
        TraceView::new(self)
    }

    /// Returns a view of the events of one location, or `None` if there is no such location.
    pub fn location(&self, id: LocationId) -> Option<LocationView<'_>> {
        self.view().location(id)
    }
}
