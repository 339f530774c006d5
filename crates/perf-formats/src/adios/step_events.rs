//! [`StepEvents`]: collects the events of a step in a [`Lane`] for each stream (program, rank and
//! thread), merges each lane by time, and pushes all to an [`EventSink`].

use perf_core::{EventSink, Nanos, RegionId, StreamEvent, StreamKey};
use std::collections::HashMap;

/// The events of each stream in a step. The memory is reused in the next step.
#[derive(Debug, Default)]
pub(super) struct StepEvents {
    /// Lanes in use.
    lanes: Vec<Lane>,
    /// Index of the lane of each stream.
    places: HashMap<StreamKey, usize>,
    /// Lane of the last event.
    last: usize,
    /// Empty lanes for reuse.
    spare: Vec<Lane>,
}

/// The events of a stream.
#[derive(Debug, Default)]
pub(super) struct Lane {
    /// Stream of the lane.
    key: StreamKey,
    /// Enters and exits.
    pub(super) edges: Vec<Edge>,
    /// Counters and messages: first all counters, then all messages, each in order of time.
    pub(super) counters: Vec<Note>,
    /// Messages in order of time.
    pub(super) messages: Vec<Note>,
}

/// An enter or exit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    /// Time of the event.
    pub(super) at: Nanos,
    /// Entered or left region.
    pub(super) region: RegionId,
    /// `true` for an exit.
    pub(super) is_exit: bool,
}

/// A counter or message.
pub(super) type Note = (Nanos, StreamEvent);

/// Maximum number of empty lanes that are kept.
const SPARE: usize = 256;

impl StepEvents {
    /// Returns the lane of a stream. Consecutive events mostly belong to the same stream.
    #[inline]
    pub(super) fn of(&mut self, key: StreamKey) -> &mut Lane {
        if self.lanes.get(self.last).is_none_or(|lane| lane.key != key) {
            self.find(key);
        }
        &mut self.lanes[self.last]
    }

    #[cold]
    fn find(&mut self, key: StreamKey) {
        let next = self.lanes.len();
        self.last = *self.places.entry(key).or_insert(next);
        if self.last == next {
            let mut lane = self.spare.pop().unwrap_or_default();
            lane.key = key;
            self.lanes.push(lane);
        }
    }

    /// Clears all events.
    pub(super) fn clear(&mut self) {
        self.places.clear();
        let room = SPARE.saturating_sub(self.spare.len());
        for mut lane in self.lanes.drain(..).take(room) {
            lane.edges.clear();
            lane.counters.clear();
            lane.messages.clear();
            self.spare.push(lane);
        }
    }

    /// Pushes all events, stream by stream, and clears them.
    pub(super) fn push(&mut self, sink: &mut dyn EventSink) {
        self.lanes.sort_by_key(|lane| lane.key);
        for lane in &mut self.lanes {
            let stream = sink.stream(lane.key);
            lane.merge(|at, event| sink.push(stream, at, event));
        }
        self.clear();
    }
}

impl Lane {
    /// Merges all events by time. Functions keep the order of their rows, regardless of their
    /// times.
    fn merge(&mut self, mut push: impl FnMut(Nanos, StreamEvent)) {
        for notes in [&mut self.counters, &mut self.messages] {
            // The plug-in writes them in order, so this is usually not needed.
            if !notes.is_sorted_by_key(|(at, _)| *at) {
                notes.sort_by_key(|(at, _)| *at);
            }
        }
        let mut counters = self.counters.iter().peekable();
        let mut messages = self.messages.iter().peekable();
        let mut notes = std::iter::from_fn(|| match (counters.peek(), messages.peek()) {
            (Some(counter), Some(message)) if message.0 < counter.0 => messages.next(),
            (Some(_), _) => counters.next(),
            (None, _) => messages.next(),
        });
        let mut note = notes.next();
        for edge in &self.edges {
            while let Some((at, event)) = note
                && (*at < edge.at || (*at == edge.at && edge.is_exit))
            {
                push(*at, *event);
                note = notes.next();
            }
            let event = if edge.is_exit {
                StreamEvent::Exit(edge.region)
            } else {
                StreamEvent::Enter(edge.region)
            };
            push(edge.at, event);
        }
        while let Some((at, event)) = note {
            push(*at, *event);
            note = notes.next();
        }
    }
}
