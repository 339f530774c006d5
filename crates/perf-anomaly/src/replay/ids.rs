//! [`Ids`]: translation of the ids of a recording to those of a sink.

use super::sources::Source;
use crate::calls::{CORRELATION, is_running, within};
use perf_core::{
    Definitions, Event, EventSink, LocationId, Members, MetricId, Nanos, Peer, RegionId,
    StreamEvent, StreamKey, Ticks, Transfer, Unify, Value,
};
use std::collections::HashMap;

/// Translation of the ids of the trace to those of the sink.
#[derive(Clone, Debug, Default)]
pub(super) struct Ids {
    /// Rule that decides which regions are the same function.
    pub(super) unify: Unify,
    /// Id of each region.
    regions: Vec<RegionId>,
    /// `true` for each region that is the state `Running`; empty without such regions.
    states: Vec<bool>,
    /// Ids of this state within each function.
    within: HashMap<RegionId, RegionId>,
    /// Id of each metric in the sink; `None` for a metric that is dropped.
    metrics: Vec<Option<MetricId>>,
    /// Rank and thread of each location.
    keys: Vec<StreamKey>,
    /// `true` if links connect launches and work, so that the correlation counter is not needed.
    has_launches: bool,
}

impl Ids {
    pub(super) fn new(keys: Vec<StreamKey>, has_launches: bool) -> Self {
        Ids {
            keys,
            has_launches,
            ..Ids::default()
        }
    }

    pub(super) fn ask(&mut self, definitions: &Definitions, sink: &mut dyn EventSink) {
        let labels = self.unify.labels(&definitions.regions);
        let labels = labels.iter();
        self.regions = labels.map(|label| sink.region(0, label)).collect();
        for (id, region) in self.regions.iter().zip(&definitions.regions) {
            sink.describe_region(*id, region);
        }
        self.states = definitions.regions.iter().map(is_running).collect();
        if !self.states.contains(&true) {
            self.states.clear();
        }
        let metrics = definitions.metrics.iter();
        self.metrics = metrics
            .map(|metric| {
                if self.has_launches && metric.name == CORRELATION {
                    None
                } else {
                    let id = sink.counter(&metric.name);
                    sink.describe_counter(id, &metric.unit, metric.mode);
                    Some(id)
                }
            })
            .collect();
    }

    /// Returns the id of a region. An undefined region is named by its number.
    fn region(
        &self,
        id: RegionId,
        definitions: &Definitions,
        sink: &mut dyn EventSink,
    ) -> RegionId {
        match self.regions.get(id.index()) {
            Some(known) => *known,
            None => sink.region(0, &definitions.region_name(id)),
        }
    }

    /// Returns the id of a region that a location enters.
    fn enter(
        &mut self,
        source: &mut Source,
        id: RegionId,
        definitions: &Definitions,
        sink: &mut dyn EventSink,
    ) -> RegionId {
        let own = self.region(id, definitions, sink);
        if self.states.is_empty() {
            return own;
        }
        let is_running = self.states.get(id.index()) == Some(&true);
        let outer = source.open.last().filter(|_| is_running);
        let own = outer.map_or(own, |(outer, _)| {
            *self.within.entry(*outer).or_insert_with(|| {
                let region = within(&definitions.region_name(*outer));
                let own = sink.region(0, &region.name);
                sink.describe_region(own, &region);
                own
            })
        });
        source.open.push((id, own));
        own
    }

    /// Returns the id of a region that a location leaves.
    fn leave(
        &self,
        source: &mut Source,
        id: RegionId,
        definitions: &Definitions,
        sink: &mut dyn EventSink,
    ) -> RegionId {
        match source.open.iter().rposition(|(open, _)| *open == id) {
            Some(at) => source.open.drain(at..).next().map_or(id, |(_, own)| own),
            None => self.region(id, definitions, sink),
        }
    }

    /// Returns the peer of a message with its rank, or with its number in the communicator if the
    /// rank is unknown.
    fn peer(&self, from: LocationId, transfer: Transfer, definitions: &Definitions) -> Peer {
        let rank_of = |location: LocationId| self.keys.get(location.index()).map(|key| key.rank);
        let at = |ranks: &[Option<LocationId>]| {
            let location = ranks.get(transfer.peer as usize).copied().flatten();
            location.and_then(rank_of)
        };
        let comm = definitions.comms.get(transfer.comm.index());
        let rank = match comm.map(|comm| &comm.members) {
            Some(Members::Ranks(ranks)) => at(ranks),
            Some(Members::Own) => rank_of(from),
            Some(Members::Between(first, second)) => {
                let own = rank_of(from);
                let is_first = first.iter().flatten().any(|one| rank_of(*one) == own);
                at(if is_first { second } else { first })
            }
            _ => None,
        };
        Peer {
            rank: rank.unwrap_or(transfer.peer),
            tag: transfer.tag,
            bytes: transfer.bytes,
        }
    }

    pub(super) fn push(
        &mut self,
        definitions: &Definitions,
        source: &mut Source,
        (at, event): (Ticks, Event<'_>),
        sink: &mut dyn EventSink,
    ) {
        let (from, stream) = (source.location, source.stream);
        // A time beyond 292 years is wrong, but the event is kept.
        let at = definitions.clock.nanos(at).unwrap_or(Nanos(i64::MAX));
        let event = match event {
            Event::Enter { region } => {
                StreamEvent::Enter(self.enter(source, region, definitions, sink))
            }
            Event::Leave { region } => {
                StreamEvent::Exit(self.leave(source, region, definitions, sink))
            }
            Event::Send(transfer) => StreamEvent::Send(self.peer(from, transfer, definitions)),
            Event::Recv(transfer) => StreamEvent::Receive(self.peer(from, transfer, definitions)),
            Event::CollectiveEnd(end) => StreamEvent::Bytes(end.sent.saturating_add(end.received)),
            Event::Rma { bytes, .. } => StreamEvent::Bytes(bytes),
            Event::Metric { set, values } => {
                let set = definitions.metric_sets.get(set.index());
                let members = set.map_or(&[][..], |set| &set.members);
                for (metric, bits) in members.iter().zip(values) {
                    let known = definitions.metrics.get(metric.index());
                    let id = self.metrics.get(metric.index()).copied().flatten();
                    let (Some(known), Some(id)) = (known, id) else {
                        continue;
                    };
                    let value = Value::from_bits(known.value_type, *bits);
                    sink.push(stream, at, StreamEvent::Counter(id, value));
                }
                return;
            }
            _ => return,
        };
        sink.push(stream, at, event);
    }
}
