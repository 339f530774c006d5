//! [`Steps`]: iterates instant by instant over the [`Step`]s of a location (enters, leaves, other
//! events), which is split into lanes, one for each thread, if its calls overlap.

use crate::lanes::Lanes;
use perf_core::{
    Cancelled, Event, FrameStack, Interval, Job, LocationView, RegionId, Ticks, intervals,
};
use std::rc::Rc;

/// Change of the call stack, or another event.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step<'a> {
    /// A stack frame of this region is entered.
    Enter(RegionId),
    /// The innermost stack frame, which has this region, is left.
    Leave(RegionId),
    /// Another event with its index on the location.
    Event(Event<'a>, usize),
}

/// Steps of a location in the order of [`replay`](perf_core::replay), or of one of its lanes if calls overlap. Unlike
/// `replay`, the iteration stops after each instant, so that several locations can be merged in order of time.
#[derive(Clone, Debug)]
pub(super) enum Steps<'a> {
    Nested(Nested<'a>),
    Laid(Laid<'a>),
}

impl<'a> Steps<'a> {
    /// Creates the steps of a location with nested stack frames.
    pub(super) fn nested(location: LocationView<'a>) -> Self {
        let (all, range) = (location.all(), location.range());
        let last = all.times().last().copied().unwrap_or_default();
        let mut stack = FrameStack::default();
        // If the last event is before the window, it closes all frames that are still open.
        if last >= location.window().start {
            for index in 0..range.start {
                match all.event(index) {
                    Some(Event::Enter { region }) => stack.enter(region),
                    Some(Event::Leave { region }) => stack.leave(region, |_, _, _| ()),
                    _ => {}
                }
            }
        }
        Steps::Nested(Nested {
            is_new: !stack.frames().is_empty(),
            close: last.min(location.window().end),
            next: range.start,
            end: range.end,
            stack,
            location,
        })
    }

    /// Creates the lanes of a location with overlapping calls, as many as there are calls open at once. The first lane
    /// also has all other events.
    pub(super) fn lanes(location: LocationView<'a>, job: &Job) -> Result<Vec<Self>, Cancelled> {
        let mut calls = Vec::new();
        intervals(location, |call| calls.push(call), job)?;
        calls.sort_by_key(|call| (call.start, call.enter));
        let mut lanes = Lanes::default();
        let mut laid: Vec<Vec<Interval>> = vec![Vec::new()];
        for call in calls {
            let lane = lanes.take(call.start, call.end);
            if lane >= laid.len() {
                laid.push(Vec::new());
            }
            if let Some(lane) = laid.get_mut(lane) {
                lane.push(call);
            }
        }
        let range = location.range();
        let laid = laid.into_iter().enumerate().map(|(lane, calls)| {
            let mut laid = Laid {
                location,
                calls: calls.into(),
                call: 0,
                is_open: false,
                next: if lane == 0 { range.start } else { range.end },
                end: range.end,
            };
            laid.skip();
            Steps::Laid(laid)
        });
        Ok(laid.collect())
    }

    pub(super) fn location(&self) -> LocationView<'a> {
        match self {
            Steps::Nested(nested) => nested.location,
            Steps::Laid(laid) => laid.location,
        }
    }

    /// Returns the time of the next step; `None` at the end.
    pub(super) fn time(&self) -> Option<Ticks> {
        match self {
            Steps::Nested(nested) => nested.time(),
            Steps::Laid(laid) => laid.time(),
        }
    }

    /// Passes all steps at the time of the next step to `tell`, and returns their number.
    pub(super) fn instant(&mut self, mut tell: impl FnMut(Step<'a>)) -> u64 {
        let mut count = 0;
        let tell = |step: Step<'a>| {
            count += 1;
            tell(step);
        };
        match self {
            Steps::Nested(nested) => nested.instant(tell),
            Steps::Laid(laid) => laid.instant(tell),
        }
        count
    }
}

#[derive(Clone, Debug)]
pub(super) struct Nested<'a> {
    /// View of the location.
    location: LocationView<'a>,
    /// Call stack.
    stack: FrameStack,
    /// `true` until the frames open at the start of the window have been reported.
    is_new: bool,
    /// Index of the next event.
    next: usize,
    /// Index after the last event.
    end: usize,
    /// Time at which the remaining stack frames are closed.
    close: Ticks,
}

impl<'a> Nested<'a> {
    fn time(&self) -> Option<Ticks> {
        if self.is_new {
            return Some(self.location.window().start);
        }
        if self.next < self.end {
            return self.location.all().time(self.next);
        }
        (!self.stack.frames().is_empty()).then_some(self.close)
    }

    fn instant(&mut self, mut tell: impl FnMut(Step<'a>)) {
        let Some(now) = self.time() else {
            return;
        };
        if std::mem::take(&mut self.is_new) {
            let frames = self.stack.frames().iter();
            frames.for_each(|&region| tell(Step::Enter(region)));
        }
        let all = self.location.all();
        while self.next < self.end && self.time() == Some(now) {
            match all.event(self.next) {
                Some(Event::Enter { region }) => {
                    self.stack.enter(region);
                    tell(Step::Enter(region));
                }
                Some(Event::Leave { region }) => {
                    self.stack
                        .leave(region, |region, _, _| tell(Step::Leave(region)));
                }
                Some(event) => tell(Step::Event(event, self.next)),
                None => {}
            }
            self.next += 1;
        }
        if self.next >= self.end && self.time() == Some(now) {
            while let Some(region) = self.stack.frames().last().copied() {
                self.stack
                    .leave(region, |region, _, _| tell(Step::Leave(region)));
            }
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Laid<'a> {
    /// View of the location.
    location: LocationView<'a>,
    /// Calls of the lane; none begins before the previous one ends.
    calls: Rc<[Interval]>,
    /// Index of the current or next call.
    call: usize,
    /// `true` if the current call is open.
    is_open: bool,
    /// Index of the next event other than enter or leave.
    next: usize,
    /// Index after the last event.
    end: usize,
}

impl<'a> Laid<'a> {
    fn skip(&mut self) {
        let all = self.location.all();
        let is_call = |index: usize| {
            let event = all.event(index);
            matches!(
                event,
                Some(Event::Enter { .. } | Event::Leave { .. }) | None
            )
        };
        while self.next < self.end && is_call(self.next) {
            self.next += 1;
        }
    }

    fn boundary(&self) -> Option<Ticks> {
        let call = self.calls.get(self.call)?;
        Some(if self.is_open { call.end } else { call.start })
    }

    fn other(&self) -> Option<Ticks> {
        let is_left = self.next < self.end;
        is_left.then(|| self.location.all().time(self.next))?
    }

    fn time(&self) -> Option<Ticks> {
        let both = [self.boundary(), self.other()];
        both.into_iter().flatten().min()
    }

    fn instant(&mut self, mut tell: impl FnMut(Step<'a>)) {
        let Some(now) = self.time() else {
            return;
        };
        while self.other() == Some(now) {
            if let Some(event) = self.location.all().event(self.next) {
                tell(Step::Event(event, self.next));
            }
            self.next += 1;
            self.skip();
        }
        while self.boundary() == Some(now)
            && let Some(call) = self.calls.get(self.call)
        {
            if self.is_open {
                tell(Step::Leave(call.region));
                self.call += 1;
            } else {
                tell(Step::Enter(call.region));
            }
            self.is_open = !self.is_open;
        }
    }
}
