//! Windows of calls of one function, their comparison with earlier calls, and the detection of a change ([`State`]).

use super::super::Sketch;
use super::super::tail::bucket;
use super::rank_sum::{rank_sum, usual};
use super::ranks::{RankCalls, Ranks};
use super::{Change, DriftChecked};
use crate::Result;
use crate::format_version::{Reader, Writer};
use perf_core::{Merge, Nanos};

/// Largest number of windows of one step that are not compared with each other.
const MOST_MIXED: u64 = 64;

/// Consecutive calls of a function.
#[derive(Clone, Debug, PartialEq)]
struct Window {
    /// Step of the first call; `u64::MAX` if there are no calls.
    since: u64,
    /// Run times of the calls.
    calls: Sketch,
    /// The same calls with their ranks.
    ranks: RankCalls,
}

/// Calls of a function since its last change.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct State {
    /// Calls with which full windows are compared.
    before: Sketch,
    /// The same calls by rank.
    ranks: Ranks,
    /// Window that is being filled.
    recent: Window,
    /// Previous windows of a step, if they were significantly slower; otherwise empty. After a merge both this
    /// window and `faster` may be filled.
    slower: Window,
    /// Previous windows of a step, if they were significantly faster; otherwise empty.
    faster: Window,
}

impl Default for Window {
    fn default() -> Self {
        Window {
            since: u64::MAX,
            calls: Sketch::default(),
            ranks: RankCalls::default(),
        }
    }
}

impl Window {
    fn new(resolution: Nanos) -> Self {
        Window {
            since: u64::MAX,
            calls: Sketch::counting(resolution),
            ranks: RankCalls::default(),
        }
    }

    fn is_empty(&self) -> bool {
        self.calls.count() == 0
    }

    /// Returns `true` if another window is of the same step, whose calls are in no order: both may contain calls before
    /// and after a change. Without a limit one long step would have no change.
    fn may_be_mixed_like(&self, other: &Self, params: &DriftChecked) -> bool {
        let most = MOST_MIXED.saturating_mul(params.window());
        self.since == other.since && self.calls.count() < most
    }
}

impl Merge for Window {
    fn merge(&mut self, other: &Self) {
        self.since = self.since.min(other.since);
        self.calls.merge(&other.calls);
        self.ranks.merge(&other.ranks);
    }
}

impl Merge for State {
    fn merge(&mut self, other: &Self) {
        self.before.merge(&other.before);
        self.ranks.merge(&other.ranks);
        self.recent.merge(&other.recent);
        self.slower.merge(&other.slower);
        self.faster.merge(&other.faster);
    }
}

impl State {
    /// Smallest encoded size in bytes.
    pub(super) const LEAST: usize = Sketch::LEAST + 3 * (Sketch::LEAST + 1);
    /// Smallest encoded size in bytes since version 2.
    pub(super) const LEAST_WITH_RANKS: usize = State::LEAST + Ranks::LEAST + 3 * RankCalls::LEAST;

    pub(super) fn new(resolution: Nanos) -> Self {
        State {
            before: Sketch::counting(resolution),
            ranks: Ranks::default(),
            recent: Window::new(resolution),
            slower: Window::new(resolution),
            faster: Window::new(resolution),
        }
    }

    /// Adds a call. Returns a change if the call completes the window that confirms it.
    #[inline]
    pub(super) fn add(
        &mut self,
        (step, rank): (u64, u32),
        runtime: Nanos,
        params: &DriftChecked,
    ) -> Option<Change> {
        self.recent.since = self.recent.since.min(step);
        self.recent.calls.push(runtime);
        let value = self.recent.calls.value(runtime);
        self.recent.ranks.add(rank, bucket(value));
        if self.recent.calls.count() < params.window() {
            None
        } else {
            self.look(step, params)
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
    fn look(&mut self, step: u64, params: &DriftChecked) -> Option<Change> {
        let empty = || Window::new(params.resolution());
        let recent = std::mem::replace(&mut self.recent, empty());
        let slower = std::mem::replace(&mut self.slower, empty());
        let faster = std::mem::replace(&mut self.faster, empty());
        let found = self.compare(&recent, params);
        let (suspect, other) = match found {
            Some(change) if change.is_slower() => (slower, faster),
            _ => (faster, slower),
        };
        // A deviating window that the next window does not confirm was a disturbance.
        self.keep(&other);
        let outcome = match found {
            None => {
                self.keep(&suspect);
                self.keep(&recent);
                None
            }
            Some(change) if suspect.is_empty() || suspect.may_be_mixed_like(&recent, params) => {
                let of = if change.is_slower() {
                    &mut self.slower
                } else {
                    &mut self.faster
                };
                let is_first = suspect.is_empty();
                *of = suspect;
                of.merge(&recent);
                // More calls of the later step may be mixed.
                if is_first && of.since.saturating_add(1) == step {
                    of.since = step;
                }
                None
            }
            Some(change) => {
                self.start_from(&recent);
                Some(Change {
                    step: suspect.since,
                    until: step.max(suspect.since),
                    ..change
                })
            }
        };
        while self.before.count() > params.memory() {
            self.before.halve();
            self.ranks.halve();
        }
        outcome
    }

    /// Returns the change of the last step, which no later one confirms: at least two windows of it differ.
    pub(super) fn end(&mut self, params: &DriftChecked) -> Option<Change> {
        let empty = || Window::new(params.resolution());
        let windows = [&mut self.slower, &mut self.faster];
        let windows = windows.map(|window| std::mem::replace(window, empty()));
        let mut full = windows.into_iter();
        let last = full.find(|one| one.calls.count() >= params.window().saturating_mul(2))?;
        let change = self.compare(&last, params)?;
        self.start_from(&last);
        Some(Change {
            step: last.since,
            until: last.since,
            ..change
        })
    }

    /// Compares later windows with a window after a change.
    fn start_from(&mut self, window: &Window) {
        self.before = window.calls.clone();
        self.ranks = Ranks::default();
        self.ranks.add(&window.ranks);
    }

    /// Adds the calls of a window to the earlier calls.
    fn keep(&mut self, window: &Window) {
        self.before.merge(&window.calls);
        self.ranks.add(&window.ranks);
    }

    /// Returns the change if a window differs from the earlier calls significantly, and its ranks from
    /// their own earlier calls in the same direction and by the smallest relevant change.
    fn compare(&self, window: &Window, params: &DriftChecked) -> Option<Change> {
        if self.before.count() < params.window() {
            return None;
        }
        let score = rank_sum(&self.before, &window.calls);
        if score.abs() < params.bound() {
            return None;
        }
        let (from, to) = self.ranks.compare(&window.ranks, params.resolution())?;
        let (short, long) = if score > 0.0 { (from, to) } else { (to, from) };
        let difference = long.0.saturating_sub(short.0);
        // Negative if the ranks changed in the other direction.
        let is_enough = difference as f64 >= short.0 as f64 * params.least()
            && difference > params.resolution().0.saturating_mul(2);
        is_enough.then_some(Change {
            from,
            to,
            calls: self.before.count(),
            ranks: self.ranks.count(),
            score,
            ..Change::default()
        })
    }

    pub(super) fn encode(&self, to: &mut Writer) {
        self.before.encode(to);
        self.ranks.encode(to);
        for window in [&self.recent, &self.slower, &self.faster] {
            to.varint(window.since.wrapping_add(1));
            window.calls.encode(to);
            window.ranks.encode(to);
        }
    }

    pub(super) fn decode(from: &mut Reader<'_>, has_ranks: bool) -> Result<Self> {
        let before = Sketch::decode(from)?;
        let ranks = if has_ranks {
            Ranks::decode(from)?
        } else {
            Ranks::default()
        };
        let mut windows = [(); 3].map(|()| Window::default());
        for window in &mut windows {
            // The largest number is encoded as 0, which takes one byte.
            window.since = from.varint("a step")?.wrapping_sub(1);
            window.calls = Sketch::decode(from)?;
            if has_ranks {
                window.ranks = RankCalls::decode(from)?;
            }
            if (window.since == u64::MAX) != window.is_empty() {
                return Err(from.error(0, "a step where there are calls").into());
            }
        }
        let [recent, slower, faster] = windows;
        Ok(State {
            before,
            ranks,
            recent,
            slower,
            faster,
        })
    }
}
