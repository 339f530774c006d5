//! [`Tracks`]: numbers and descriptions of the Perfetto tracks for the groups, locations, lanes and
//! metrics of a trace.

use super::proto::{Message, field};
use perf_core::{
    Definitions, GroupKind, Location, LocationGroupId, LocationId, LocationKind, Metric, TraceView,
};
use std::collections::BTreeSet;

/// Numbers of tracks: groups first, then locations, then additional ones.
#[derive(Debug)]
pub(super) struct Tracks<'a> {
    /// Definitions of the trace.
    definitions: &'a Definitions,
    /// Next free track number.
    next: u64,
}

impl<'a> Tracks<'a> {
    pub(super) fn new(definitions: &'a Definitions) -> Self {
        let system = &definitions.system;
        let taken = system.groups().len() + system.locations().len();
        Tracks {
            definitions,
            next: taken as u64 + 1,
        }
    }

    fn group_uuid(id: LocationGroupId) -> u64 {
        u64::from(id.0) + 1
    }

    /// Returns the track of a location.
    pub(super) fn location(&self, id: LocationId) -> u64 {
        self.definitions.system.groups().len() as u64 + u64::from(id.0) + 1
    }

    /// Returns a new track number.
    pub(super) fn more(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// Returns the descriptions of the groups of all locations in view, and of the processes that
    /// drive them.
    pub(super) fn groups(&self, view: TraceView<'_>) -> Vec<Message> {
        let system = &self.definitions.system;
        let own = view.ids().filter_map(|id| system.location(id)?.group);
        let mut used: BTreeSet<LocationGroupId> = own.collect();
        let creators: Vec<_> = used.iter().filter_map(|id| self.driver(*id)).collect();
        used.extend(creators);
        used.into_iter().filter_map(|id| self.group(id)).collect()
    }

    /// Returns the process that drives an accelerator, or `None` if it is unknown.
    fn driver(&self, id: LocationGroupId) -> Option<LocationGroupId> {
        let system = &self.definitions.system;
        let group = system.group(id)?;
        let driver = group
            .creator
            .filter(|_| group.kind == GroupKind::Accelerator)?;
        // An accelerator cannot drive another one, even if a file says so.
        let is_process = system.group(driver)?.kind != GroupKind::Accelerator;
        is_process.then_some(driver)
    }

    fn group(&self, id: LocationGroupId) -> Option<Message> {
        let group = self.definitions.system.group(id)?;
        let mut track = Message::default();
        track.number(field::TRACK_UUID, Self::group_uuid(id));
        if group.kind == GroupKind::Accelerator {
            track.text(field::TRACK_NAME, &group.name);
            if let Some(driver) = self.driver(id) {
                track.number(field::TRACK_PARENT, Self::group_uuid(driver));
            }
            return Some(track);
        }
        let mut process = Message::default();
        process.number(field::PROCESS_PID, u64::from(id.0) + 1);
        process.text(field::PROCESS_NAME, &group.name);
        track.message(field::TRACK_PROCESS, &process);
        Some(track)
    }

    /// Returns `true` if a location is a thread of a process.
    fn is_thread(&self, location: &Location) -> bool {
        let group = location
            .group
            .and_then(|id| self.definitions.system.group(id));
        let of_process = group.is_some_and(|group| group.kind != GroupKind::Accelerator);
        location.kind == LocationKind::CpuThread && of_process
    }

    /// Returns the description of the track of a location. Lane 0 is the track of the location
    /// itself; higher lanes are additional tracks next to it.
    pub(super) fn describe(&self, id: LocationId, uuid: u64, lane: usize) -> Message {
        let mut track = Message::default();
        track.number(field::TRACK_UUID, uuid);
        let Some(location) = self.definitions.system.location(id) else {
            return track;
        };
        if let (true, Some(group)) = (self.is_thread(location), location.group) {
            let mut thread = Message::default();
            thread.number(field::THREAD_PID, u64::from(group.0) + 1);
            thread.number(field::THREAD_TID, self.location(id));
            thread.text(field::THREAD_NAME, &location.name);
            track.message(field::TRACK_THREAD, &thread);
            return track;
        }
        match lane {
            0 => track.text(field::TRACK_NAME, &location.name),
            lane => track.text(
                field::TRACK_NAME,
                &format!("{}, lane {lane}", location.name),
            ),
        };
        self.below(location, &mut track);
        track
    }

    /// Returns the description of the track for a metric of a location.
    pub(super) fn counter(&self, id: LocationId, uuid: u64, metric: &Metric) -> Message {
        let mut counter = Message::default();
        if !metric.unit.is_empty() {
            counter.text(field::COUNTER_UNIT_NAME, &metric.unit);
        }
        let mut track = Message::default();
        track.number(field::TRACK_UUID, uuid);
        track.text(field::TRACK_NAME, &metric.name);
        if let Some(location) = self.definitions.system.location(id) {
            if self.is_thread(location) {
                track.number(field::TRACK_PARENT, self.location(id));
            } else {
                self.below(location, &mut track);
            }
        }
        track.message(field::TRACK_COUNTER, &counter);
        track
    }

    fn below(&self, location: &Location, track: &mut Message) {
        if let Some(group) = location.group {
            track.number(field::TRACK_PARENT, Self::group_uuid(group));
        }
    }
}
