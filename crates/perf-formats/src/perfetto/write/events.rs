//! Methods of the [`Writer`] for the packets of single events: begins and ends of slices, instants,
//! and values of counters.

use super::{COUNTER, INSTANT, NEEDS_NAMES, SEQUENCE, Writer, nanos};
use crate::perfetto::proto::{Message, field};
use perf_core::{Event, EventId, LocationId, LocationView, MetricSetId, Ticks, Value};
use std::collections::HashMap;

impl Writer<'_, '_> {
    pub(super) fn flows_at(
        &self,
        location: LocationId,
        index: Option<usize>,
    ) -> (Vec<u64>, Vec<u64>) {
        let index = index.and_then(|index| u32::try_from(index).ok());
        let Some(index) = index else {
            return Default::default();
        };
        let id = EventId { location, index };
        let of = |flows: &HashMap<EventId, Vec<u64>>| flows.get(&id).cloned().unwrap_or_default();
        (of(&self.flows.from), of(&self.flows.to))
    }

    /// Writes an event with the fields that `more` adds.
    pub(super) fn event(
        &mut self,
        track: u64,
        at: Ticks,
        kind: u64,
        name: Option<&str>,
        more: impl FnOnce(&mut Message),
    ) {
        let mut packet = Message::default();
        let time = nanos(self.definitions, at) - self.start;
        packet.number(field::PACKET_TIMESTAMP, u64::try_from(time).unwrap_or(0));
        packet.number(field::PACKET_SEQUENCE, SEQUENCE);
        let mut event = Message::default();
        event.number(field::EVENT_TYPE, kind);
        event.number(field::EVENT_TRACK_UUID, track);
        if let Some(name) = name {
            let iid = self.name(name, &mut packet);
            event.number(field::EVENT_NAME_IID, iid);
            packet.number(field::PACKET_SEQUENCE_FLAGS, NEEDS_NAMES);
        }
        more(&mut event);
        packet.message(field::PACKET_TRACK_EVENT, &event);
        self.packet(&packet);
    }

    /// Returns the number of a name; a new one is defined in the packet.
    fn name(&mut self, name: &str, packet: &mut Message) -> u64 {
        if let Some(known) = self.names.get(name) {
            return *known;
        }
        let iid = self.names.len() as u64 + 1;
        self.names.insert(name.to_owned(), iid);
        let (mut own, mut data) = (Message::default(), Message::default());
        own.number(field::NAME_IID, iid);
        own.text(field::NAME_TEXT, name);
        data.message(field::INTERNED_EVENT_NAMES, &own);
        packet.message(field::PACKET_INTERNED_DATA, &data);
        iid
    }

    /// Writes an event other than a call.
    pub(super) fn note(
        &mut self,
        location: LocationView<'_>,
        track: u64,
        event: Event<'_>,
        index: usize,
    ) {
        let at = location.all().time(index).unwrap_or_default();
        match event {
            Event::Metric { set, values } => self.samples(location.id(), at, set, values),
            Event::Other { .. } => {
                self.written.instants += 1;
                let name = self.definitions.event_name(event).to_owned();
                let (from, to) = self.flows_at(location.id(), Some(index));
                self.event(track, at, INSTANT, Some(&name), |event| {
                    flows(event, &from, &to)
                });
            }
            other => {
                let (from, to) = self.flows_at(location.id(), Some(index));
                if from.is_empty() && to.is_empty() {
                    self.written.left_out += 1;
                    return;
                }
                self.written.instants += 1;
                let name = self.definitions.event_name(other).to_owned();
                self.event(track, at, INSTANT, Some(&name), |event| {
                    flows(event, &from, &to)
                });
            }
        }
    }

    fn samples(&mut self, id: LocationId, at: Ticks, set: MetricSetId, values: &[u64]) {
        let definitions = self.definitions;
        let members = definitions.metric_sets.get(set.index());
        let members = members.map_or(&[][..], |set| &set.members);
        for (metric, bits) in members.iter().zip(values) {
            let Some(known) = definitions.metrics.get(metric.index()) else {
                continue;
            };
            let track = match self.counters.get(&(id, *metric)) {
                Some(track) => *track,
                None => {
                    let track = self.tracks.more();
                    let description = self.tracks.counter(id, track, known);
                    self.describe(&description);
                    self.counters.insert((id, *metric), track);
                    track
                }
            };
            self.written.samples += 1;
            let value = Value::from_bits(known.value_type, *bits);
            self.event(track, at, COUNTER, None, |event| {
                match value {
                    Value::U64(value) => match i64::try_from(value) {
                        Ok(value) => event.signed(field::EVENT_COUNTER, value),
                        Err(_) => event.double(field::EVENT_DOUBLE_COUNTER, value as f64),
                    },
                    Value::I64(value) => event.signed(field::EVENT_COUNTER, value),
                    Value::F64(value) => event.double(field::EVENT_DOUBLE_COUNTER, value),
                };
            });
        }
    }
}

pub(super) fn flows(event: &mut Message, from: &[u64], to: &[u64]) {
    for flow in from {
        event.fixed(field::EVENT_FLOWS, *flow);
    }
    for flow in to {
        event.fixed(field::EVENT_LAST_FLOWS, *flow);
    }
}
