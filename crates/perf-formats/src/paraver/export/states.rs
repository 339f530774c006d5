//! [`States`]: derives the states of one thread from its stack frames.

use super::event_types::{Is, Names};
use super::steps::{Step, Steps};
use crate::paraver::names;
use perf_core::{RegionId, Ticks};
use std::collections::VecDeque;

/// A state of a thread and its time interval.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    /// Number of the state.
    pub(super) state: u32,
    /// Begin of the state.
    pub(super) begin: Ticks,
    /// End of the state.
    pub(super) end: Ticks,
}

/// States of one thread in order of time. The length of a state is known only at its end, so that this iterator is one
/// state ahead of the event lines of the thread.
#[derive(Debug)]
pub(super) struct States<'a> {
    /// Steps of the thread.
    steps: Steps<'a>,
    /// Open stack frames.
    frames: Frames,
    /// Current state and its begin.
    on: Option<(u32, Ticks)>,
    /// Time of the current instant.
    now: Ticks,
    /// Completed states that are not returned yet.
    ready: VecDeque<State>,
}

/// Open stack frames and the states derived from them.
#[derive(Debug)]
struct Frames {
    /// Open frames with their enter times.
    open: Vec<(RegionId, Ticks)>,
    /// States of the open MPI calls.
    calls: Vec<u32>,
    /// States that begin and end at the current instant.
    instant: Vec<u32>,
    /// `true` if a state begins even if it equals the current one.
    is_new: bool,
}

impl<'a> States<'a> {
    pub(super) fn new(steps: Steps<'a>) -> Self {
        States {
            steps,
            frames: Frames {
                open: Vec::new(),
                calls: Vec::new(),
                instant: Vec::new(),
                is_new: true,
            },
            on: None,
            now: Ticks(0),
            ready: VecDeque::new(),
        }
    }

    /// Returns the next state; `None` after the last.
    pub(super) fn next(&mut self, names: &Names<'_>) -> Option<State> {
        loop {
            if let Some(state) = self.ready.pop_front() {
                return Some(state);
            }
            let Some(now) = self.steps.time() else {
                let (state, begin) = self.on.take()?;
                let end = self.now;
                return Some(State { state, begin, end });
            };
            self.now = now;
            let frames = &mut self.frames;
            self.steps.instant(|step| frames.step(now, step, names));
            self.settle(names);
        }
    }

    /// Ends and begins states after an instant.
    fn settle(&mut self, names: &Names<'_>) {
        let now = self.now;
        let wanted = self.frames.wanted(names);
        let is_new = std::mem::take(&mut self.frames.is_new);
        let ended = self.on.take_if(|(state, _)| is_new || *state != wanted);
        let ended = ended.map(|(state, begin)| (state, begin, now));
        let instant = self.frames.instant.drain(..).map(|state| (state, now, now));
        let states = ended.into_iter().chain(instant);
        self.ready
            .extend(states.map(|(state, begin, end)| State { state, begin, end }));
        // No state begins at the last instant.
        if self.on.is_none() && self.steps.time().is_some() {
            self.on = Some((wanted, now));
        }
    }
}

impl Frames {
    fn step(&mut self, now: Ticks, step: Step<'_>, names: &Names<'_>) {
        match step {
            Step::Enter(region) => {
                self.open.push((region, now));
                match names.is(region) {
                    Is::State(_) => self.is_new = true,
                    Is::Call(.., state) => {
                        self.is_new = true;
                        self.calls.push(state);
                    }
                    Is::Function => {}
                }
            }
            Step::Leave(region) => {
                let entered = self.open.pop().map(|(_, at)| at);
                match names.is(region) {
                    Is::State(state) if entered == Some(now) => self.instant.push(state),
                    Is::State(_) => self.is_new = true,
                    Is::Call(..) => {
                        self.is_new = true;
                        self.calls.pop();
                    }
                    Is::Function => {}
                }
            }
            Step::Event(..) => {}
        }
    }

    /// Returns the state for the open frames.
    fn wanted(&self, names: &Names<'_>) -> u32 {
        if let Some(state) = self.calls.last() {
            return *state;
        }
        match self.open.last().map(|(region, _)| names.is(*region)) {
            Some(Is::State(state)) => state,
            Some(_) => names::RUNNING,
            None => 0,
        }
    }
}
