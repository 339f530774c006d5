//! Windows of calls of one function, their comparison with earlier calls, and the detection of a change ([`State`]).

use super::super::Sketch;
use super::rank_sum::{rank_sum, usual};
use super::{Change, DriftChecked};
use crate::Result;
use crate::format_version::{Reader, Writer};
use perf_core::{Merge, Nanos};

/// Consecutive calls of a function.
#[derive(Clone, Debug, PartialEq)]
struct Window {
    /// Step of the first call; `u64::MAX` if there are no calls.
    since: u64,
    /// Run times of the calls.
    calls: Sketch,
}

/// Calls of a function since its last change.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct State {
    /// Calls with which full windows are compared.
    before: Sketch,
    /// Window that is being filled.
    recent: Window,
    /// Previous window, if it was significantly slower; otherwise empty. After a merge both this
    /// window and `faster` may be filled.
    slower: Window,
    /// Previous window, if it was significantly faster; otherwise empty.
    faster: Window,
}

impl Default for Window {
    fn default() -> Self {
        Window {
            since: u64::MAX,
            calls: Sketch::default(),
        }
    }
}

impl Window {
    fn new(resolution: Nanos) -> Self {
        Window {
            since: u64::MAX,
            calls: Sketch::counting(resolution),
        }
    }

    fn is_empty(&self) -> bool {
        self.calls.count() == 0
    }
}

impl Merge for Window {
    fn merge(&mut self, other: &Self) {
        self.since = self.since.min(other.since);
        self.calls.merge(&other.calls);
    }
}

impl Merge for State {
    fn merge(&mut self, other: &Self) {
        self.before.merge(&other.before);
        self.recent.merge(&other.recent);
        self.slower.merge(&other.slower);
        self.faster.merge(&other.faster);
    }
}

impl State {
    /// Smallest encoded size in bytes.
    pub(super) const LEAST: usize = Sketch::LEAST + 3 * (Sketch::LEAST + 1);

    pub(super) fn new(resolution: Nanos) -> Self {
        State {
            before: Sketch::counting(resolution),
            recent: Window::new(resolution),
            slower: Window::new(resolution),
            faster: Window::new(resolution),
        }
    }

    /// Adds a call. Returns a change if the call completes the window that confirms it.
    #[inline]
    pub(super) fn add(
        &mut self,
        step: u64,
        runtime: Nanos,
        params: &DriftChecked,
    ) -> Option<Change> {
        self.recent.since = self.recent.since.min(step);
        self.recent.calls.push(runtime);
        if self.recent.calls.count() < params.window() {
            None
        } else {
            self.look(params)
        }
    }

    pub(super) fn usual(&self, params: &DriftChecked) -> Option<Nanos> {
        if self.before.count() < params.window() {
            None
        } else {
            usual(&self.before)
        }
    }

    /// Evaluates a full window.
    #[cold]
    fn look(&mut self, params: &DriftChecked) -> Option<Change> {
        let empty = || Window::new(params.resolution());
        let recent = std::mem::replace(&mut self.recent, empty());
        let slower = std::mem::replace(&mut self.slower, empty());
        let faster = std::mem::replace(&mut self.faster, empty());
        let found = self.compare(&recent.calls, params);
        let (suspect, other) = match found {
            Some(change) if change.is_slower() => (slower, faster),
            _ => (faster, slower),
        };
        // A deviating window that the next window does not confirm was a disturbance.
        self.before.merge(&other.calls);
        let outcome = match found {
            None => {
                self.before.merge(&suspect.calls);
                self.before.merge(&recent.calls);
                None
            }
            Some(change) if suspect.is_empty() => {
                if change.is_slower() {
                    self.slower = recent;
                } else {
                    self.faster = recent;
                }
                None
            }
            Some(change) => {
                self.before = recent.calls;
                Some(Change {
                    step: suspect.since,
                    ..change
                })
            }
        };
        while self.before.count() > params.memory() {
            self.before.halve();
        }
        outcome
    }

    /// Returns the change if a window differs from the earlier calls significantly and by the
    /// smallest relevant change.
    fn compare(&self, window: &Sketch, params: &DriftChecked) -> Option<Change> {
        if self.before.count() < params.window() {
            return None;
        }
        let score = rank_sum(&self.before, window);
        if score.abs() < params.bound() {
            return None;
        }
        let (from, to) = (usual(&self.before)?, usual(window)?);
        let (short, long) = if score > 0.0 { (from, to) } else { (to, from) };
        let difference = long.0.saturating_sub(short.0);
        let is_enough = difference as f64 >= short.0 as f64 * params.least()
            && difference > params.resolution().0.saturating_mul(2);
        is_enough.then_some(Change {
            from,
            to,
            calls: self.before.count(),
            score,
            ..Change::default()
        })
    }

    pub(super) fn encode(&self, to: &mut Writer) {
        self.before.encode(to);
        for window in [&self.recent, &self.slower, &self.faster] {
            to.varint(window.since.wrapping_add(1));
            window.calls.encode(to);
        }
    }

    pub(super) fn decode(from: &mut Reader<'_>) -> Result<Self> {
        let before = Sketch::decode(from)?;
        let mut windows = [(); 3].map(|()| Window::default());
        for window in &mut windows {
            // The largest number is encoded as 0, which takes one byte.
            window.since = from.varint("a step")?.wrapping_sub(1);
            window.calls = Sketch::decode(from)?;
            if (window.since == u64::MAX) != window.is_empty() {
                return Err(from.error(0, "a step where there are calls").into());
            }
        }
        let [recent, slower, faster] = windows;
        Ok(State {
            before,
            recent,
            slower,
            faster,
        })
    }
}
