//! [`State`]: state of a location before a window: open calls, switches, and values that hold; [`OpenCalls`]: its open
//! calls.

use crate::{
    Event, Events, FrameStack, MetricMode, MetricSetId, OpenIntervals, RegionId, Ticks, Trace,
};
use std::collections::BTreeMap;

/// State of a location at a point in time.
pub(super) struct State {
    /// Open calls.
    pub(super) open: OpenCalls,
    /// `true` if recording is switched off.
    pub(super) is_off: bool,
    /// End of the last flush of a buffer.
    pub(super) flush: Option<Ticks>,
    /// Index of the last sample of each set whose values hold until the next sample.
    pub(super) samples: BTreeMap<MetricSetId, usize>,
}

impl State {
    pub(super) fn new(overlaps: bool) -> Self {
        State {
            open: OpenCalls::new(overlaps),
            is_off: false,
            flush: None,
            samples: BTreeMap::new(),
        }
    }

    /// Processes event `index` of the location.
    pub(super) fn event(&mut self, all: &Events, index: usize, trace: &Trace) {
        match all.event(index) {
            Some(Event::Measuring { on }) => self.is_off = !on,
            Some(Event::Flush { until }) => self.flush = Some(until),
            Some(Event::Metric { set, .. }) if holds_its_values(trace, set) => {
                self.samples.insert(set, index);
            }
            _ => self.open.event(index, all, |_, _| ()),
        }
    }
}

/// Returns `true` if all values of a set of metrics hold until the next sample.
fn holds_its_values(trace: &Trace, set: MetricSetId) -> bool {
    let definitions = trace.definitions();
    let set = definitions.metric_sets.get(set.index());
    set.is_some_and(|set| {
        let mut members = set.members.iter();
        members.all(|id| {
            let metric = definitions.metrics.get(id.index());
            metric.is_some_and(|metric| metric.mode == MetricMode::Absolute)
        })
    })
}

/// Open calls of a location, with the index of the enter event of each.
#[derive(Clone)]
pub(super) enum OpenCalls {
    /// Calls that nest.
    Nested(FrameStack, Vec<usize>),
    /// Calls that overlap.
    Overlapping(OpenIntervals<usize>),
}

impl OpenCalls {
    pub(super) fn new(overlaps: bool) -> Self {
        if overlaps {
            OpenCalls::Overlapping(OpenIntervals::default())
        } else {
            OpenCalls::Nested(FrameStack::default(), Vec::new())
        }
    }

    /// Processes event `index` of the location. Calls `closed` with the region and the index of the enter event of each
    /// call that it ends.
    pub(super) fn event(
        &mut self,
        index: usize,
        all: &Events,
        mut closed: impl FnMut(RegionId, usize),
    ) {
        match (self, all.event(index)) {
            (OpenCalls::Nested(stack, enters), Some(Event::Enter { region })) => {
                stack.enter(region);
                enters.push(index);
            }
            (OpenCalls::Nested(stack, enters), Some(Event::Leave { region })) => {
                stack.leave(region, |region, _, _| {
                    if let Some(enter) = enters.pop() {
                        closed(region, enter);
                    }
                });
            }
            (OpenCalls::Overlapping(open), Some(Event::Enter { region })) => {
                open.enter(region, index);
            }
            (OpenCalls::Overlapping(open), Some(Event::Leave { region })) => {
                if let Some((region, enter, _)) = open.leave(region) {
                    closed(region, enter);
                }
            }
            _ => {}
        }
    }

    /// Returns the region and the index of the enter event of each call, in the order in which they were entered.
    pub(super) fn iter(&self) -> Box<dyn DoubleEndedIterator<Item = (RegionId, usize)> + '_> {
        match self {
            OpenCalls::Nested(stack, enters) => {
                let frames = stack.frames().iter().copied();
                Box::new(frames.zip(enters.iter().copied()))
            }
            OpenCalls::Overlapping(open) => {
                Box::new(open.iter().map(|(region, index)| (region, *index)))
            }
        }
    }

    /// Returns the call that was entered last.
    pub(super) fn innermost(&self) -> Option<(RegionId, usize)> {
        self.iter().next_back()
    }
}
