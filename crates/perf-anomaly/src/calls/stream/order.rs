//! Sorting of the enters and exits of a step, and repair of implausible timestamps, which are far
//! from those of the events around them.
//!
//! A single wrong clock reading must not affect later events. An event is *far* from its
//! predecessor if the time between them exceeds both [`CallsParams::jump`] and [`USUAL`] times the
//! longest recent interval. The next [`DECIDING_EVENTS`] events decide about a far event:
//!
//! * If more of them lie near the earlier events than near the far event, its time is wrong and is
//!   replaced by that of its predecessor.
//! * If at least [`AGREE`] of them continue from the time of the far event, its time is right, and
//!   the stream was idle in between.
//! * If too few events follow, the far event and the events after it wait for the next step. An
//!   event waits only once. After that, and at the end of the stream, its time is wrong only if it
//!   is more than [`CallsParams::gap`] after its predecessor.
//!
//! A step that lies completely before the last time of the stream sets the time back.

use super::{Function, Note, Stream};
use crate::calls::params::{CallsParams, Repair};
use perf_core::Nanos;
use std::collections::HashMap;

/// Number of following events that decide about an event.
const DECIDING_EVENTS: usize = 8;
/// Number of consistent events needed to accept a jump in time.
const AGREE: usize = 2;
/// Ratio to the usual interval beyond which an interval is implausible.
const USUAL: i64 = 16;
/// Bit of the index of an event that waited; the other bits are its index in [`Held::ids`].
const HELD: u32 = 1 << 31;

/// Events that wait for the later events that decide about their time.
#[derive(Clone, Debug, Default)]
pub(in crate::calls) struct Held {
    /// Waiting enters and exits.
    functions: Vec<Function>,
    /// Step and index of arrival of each event that waits, and of those that waited until the
    /// current step.
    ids: Vec<(u64, u32)>,
}

/// Decision about the time of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// The time is plausible.
    Right,
    /// The time is wrong; holds the corrected time in nanoseconds.
    Wrong(i64),
    /// Too few events follow to decide.
    Open,
    /// The clock was permanently set back.
    Back,
}

/// Largest plausible distances of an event from its neighbours, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// Largest distance to the predecessor that needs no further evidence.
    far: i64,
    /// Largest distance at an end of the stream.
    gap: i64,
    /// `true` if the event cannot wait for further events.
    is_end: bool,
}

impl Stream {
    /// Corrects the times of the enters and exits of a step and of the events that waited, and
    /// sorts them by time.
    pub(in crate::calls) fn order(&mut self, params: &CallsParams, step: u64, is_end: bool) {
        if params.repair == Repair::Strict {
            return self.sort_functions();
        }
        let far = self.far(params);
        let limits = Limits {
            far,
            gap: params.gap.0.max(far),
            is_end,
        };
        let is_quiet = self.held.functions.is_empty() && self.functions_sorted;
        if !is_quiet || self.is_doubtful(limits) {
            self.examine(limits, step);
        }
    }

    /// Returns the distance in nanoseconds beyond which an event is far from its predecessor.
    fn far(&self, params: &CallsParams) -> i64 {
        params.jump.0.max(self.usual.saturating_mul(USUAL))
    }

    /// Corrects the times of messages and counters after the last enter or exit: if at most
    /// [`AGREE`] of them are far ahead, their times are replaced by that of the preceding event.
    pub(in crate::calls) fn mend_notes(&mut self, notes: &mut [Note], params: &CallsParams) {
        let mut last = self.last;
        if params.repair == Repair::Strict || last == Self::NEVER {
            return;
        }
        let far = self.far(params);
        let many = notes.len().saturating_sub(AGREE);
        for (at, note) in notes.iter_mut().enumerate() {
            if at >= many && note.at.0.saturating_sub(last.0) > far {
                note.at = last;
                self.health.wrong_time += 1;
            }
            last = last.max(note.at);
        }
    }

    /// Returns `true` if the time of the first of the sorted events may be wrong, or that of one of
    /// the last events, which too few others follow.
    #[inline]
    fn is_doubtful(&self, limits: Limits) -> bool {
        let events = &self.functions;
        let is_far = |a: Nanos, b: Nanos, far: i64| b.0.saturating_sub(a.0) > far;
        let Some(first) = events.first() else {
            return false;
        };
        let is_first_far = if self.last == Self::NEVER {
            events
                .get(1)
                .is_some_and(|it| is_far(first.at, it.at, limits.far))
        } else {
            is_far(first.at, self.last, limits.far)
                || (events.len() <= AGREE && is_far(self.last, first.at, limits.far))
        };
        let from = events.len().saturating_sub(AGREE + 1);
        let mut last = events[from..].windows(2);
        is_first_far
            || self.is_behind()
            || last.any(|pair| matches!(pair, [a, b] if is_far(a.at, b.at, limits.far)))
    }

    /// Returns `true` if a step with enough events lies completely before the last time of the
    /// stream. Then that time was wrong, or the clock was set back.
    fn is_behind(&self) -> bool {
        let last = self.functions.last();
        self.functions.len() > AGREE + 1 && last.is_some_and(|last| last.at < self.last)
    }

    #[cold]
    fn examine(&mut self, limits: Limits, step: u64) {
        // Unordered events were counted on arrival.
        let counted = descents(&self.functions);
        let mut events = std::mem::take(&mut self.held.functions);
        events.append(&mut self.functions);
        let mut before = (self.last != Self::NEVER).then_some(self.last.0);
        let mut lowest = None;
        let mut waits = None;
        for at in 0..events.len() {
            let (known, after) = events.split_at_mut(at + 1);
            let Some(event) = known.last_mut() else { break };
            let after = &after[..DECIDING_EVENTS.min(after.len())];
            // An event waits for one step at most.
            let is_end = limits.is_end || event.index & HELD != 0;
            let limits = Limits { is_end, ..limits };
            let verdict = limits.judge(before, event.at.0, after);
            match verdict {
                Verdict::Right => before = Some(before.map_or(event.at.0, |it| it.max(event.at.0))),
                Verdict::Wrong(instead) => {
                    event.at = Nanos(instead);
                    self.health.wrong_time += 1;
                }
                Verdict::Back => {
                    before = Some(event.at.0);
                    lowest = Some(lowest.map_or(event.at.0, |it: i64| it.min(event.at.0)));
                }
                Verdict::Open => {
                    waits = Some(at);
                    break;
                }
            }
        }
        let later = waits.map(|at| events.split_off(at));
        self.functions = events;
        let still = descents(&self.functions);
        self.functions_sorted = still == 0;
        self.health.out_of_order = (self.health.out_of_order + still).saturating_sub(counted);
        self.sort_functions();
        if self.is_behind() {
            lowest = self.functions.first().map(|first| first.at.0);
        }
        if let Some(lowest) = lowest.filter(|lowest| *lowest < self.last.0) {
            self.health.clock_back += 1;
            self.last = Nanos(lowest);
            self.end = self.last;
        }
        self.wait(later.unwrap_or_default(), step);
    }

    /// Keeps events for the next step.
    fn wait(&mut self, mut events: Vec<Function>, step: u64) {
        for event in &mut events {
            let id = self.id_of(event, step);
            let held = HELD | self.held.ids.len() as u32;
            self.held.ids.push(id);
            if let Some(correlation) = self.correlations.remove(&event.index) {
                self.correlations.insert(held, correlation);
            }
            event.index = held;
        }
        self.held.functions = events;
    }

    /// Returns the step of arrival of an event, and its index there.
    #[inline]
    pub(in crate::calls) fn id_of(&self, event: &Function, step: u64) -> (u64, u32) {
        if event.index & HELD == 0 {
            return (step, event.index);
        }
        let held = self.held.ids.get((event.index & !HELD) as usize);
        held.copied().unwrap_or((step, 0))
    }

    /// Drops the ids of events that no longer wait; called after each step.
    pub(in crate::calls) fn forget_held(&mut self) {
        let old = self.held.ids.len() - self.held.functions.len();
        self.held.ids.drain(..old);
        let mut still = HashMap::new();
        for (place, event) in self.held.functions.iter_mut().enumerate() {
            let held = HELD | place as u32;
            if let Some(correlation) = self.correlations.remove(&event.index) {
                still.insert(held, correlation);
            }
            event.index = held;
        }
        if !self.correlations.is_empty() || !still.is_empty() {
            self.correlations = still;
        }
    }

    /// Returns the number of events that wait for the next step.
    pub(in crate::calls) fn held(&self) -> usize {
        self.held.functions.len()
    }

    /// Sorts the events by time. The sort is stable, so events at equal times keep their order. The
    /// sequence of indices is unchanged: after the sort, the events are numbered in their new
    /// order.
    fn sort_functions(&mut self) {
        if self.functions_sorted {
            return;
        }
        self.functions_sorted = true;
        let is_own = |event: &&Function| event.index & HELD == 0;
        let own = self.functions.iter().filter(is_own);
        let indices: Vec<u32> = own.map(|event| event.index).collect();
        self.functions.sort_by_key(|event| event.at);
        let own = self.functions.iter_mut();
        let mut renamed = HashMap::new();
        for (event, index) in own.filter(|event| event.index & HELD == 0).zip(indices) {
            if let Some(correlation) = self.correlations.remove(&event.index) {
                renamed.insert(index, correlation);
            }
            event.index = index;
        }
        self.correlations.extend(renamed);
    }
}

/// Returns the longest time between consecutive events in nanoseconds.
pub(in crate::calls) fn longest(events: &[Function]) -> i64 {
    let pairs = events.windows(2);
    let between = pairs.map(|pair| match pair {
        [a, b] => b.at.0.saturating_sub(a.at.0),
        _ => 0,
    });
    between.max().unwrap_or_default()
}

/// Returns the number of events earlier than their predecessor.
fn descents(events: &[Function]) -> u64 {
    let pairs = events.windows(2);
    pairs
        .filter(|pair| matches!(pair, [a, b] if b.at < a.at))
        .count() as u64
}

impl Limits {
    /// Decides about an event at `at` after one at `before`, based on the events `after` it.
    fn judge(self, before: Option<i64>, at: i64, after: &[Function]) -> Verdict {
        let below = |limit: i64| after.iter().filter(|event| event.at.0 < limit).count();
        let next = after.first().map(|event| event.at.0);
        let Some(before) = before else {
            let limit = at.saturating_sub(self.far);
            let mut back = after.iter().map(|event| event.at.0);
            // For the first event of the stream, a clock reading of 0 is a likely error.
            return match (back.find(|back| *back < limit), next) {
                (Some(back), _) if 2 * below(limit) > after.len() => Verdict::Wrong(back),
                (_, Some(next))
                    if after.len() > AGREE && below(at.saturating_add(self.gap)) == 0 =>
                {
                    Verdict::Wrong(next)
                }
                _ => Verdict::Right,
            };
        };
        if at > before.saturating_add(self.far) {
            let back = below(at.saturating_sub(self.far));
            let on = after.len() - back;
            return match () {
                () if back > on => Verdict::Wrong(before),
                () if on >= AGREE => Verdict::Right,
                () if !self.is_end => Verdict::Open,
                () if at.saturating_sub(before) > self.gap => Verdict::Wrong(before),
                () => Verdict::Right,
            };
        }
        let limit = before.saturating_sub(self.far);
        if at >= limit {
            return Verdict::Right;
        }
        let back = below(limit);
        if back > AGREE && 2 * back > after.len() {
            Verdict::Back
        } else {
            Verdict::Wrong(before)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(times: &[i64]) -> Vec<Function> {
        let event = |at: &i64| Function {
            at: Nanos(*at),
            word: 0,
            index: 0,
        };
        times.iter().map(event).collect()
    }

    #[test]
    fn those_after_it_say_whether_a_time_can_be() {
        let limits = Limits {
            far: 100,
            gap: 10_000,
            is_end: false,
        };
        let judge = |before, time, after: &[i64]| limits.judge(before, time, &at(after));
        // Near: no further event is needed.
        assert_eq!(judge(Some(1000), 1100, &[]), Verdict::Right);
        assert_eq!(judge(Some(1000), 900, &[]), Verdict::Right);
        // Far ahead: alone, confirmed, or refuted.
        assert_eq!(judge(Some(1000), 5000, &[5001]), Verdict::Open);
        assert_eq!(judge(Some(1000), 5000, &[5001, 5002]), Verdict::Right);
        assert_eq!(judge(Some(1000), 5000, &[1001]), Verdict::Wrong(1000));
        // Three of them in a row are still the minority.
        let few = [6000, 6001, 1001, 1002, 1003, 1004];
        assert_eq!(judge(Some(1000), 5000, &few), Verdict::Wrong(1000));
        // Far back.
        assert_eq!(judge(Some(1000), 5, &[1001, 1002]), Verdict::Wrong(1000));
        assert_eq!(judge(Some(1000), 5, &[]), Verdict::Wrong(1000));
        assert_eq!(judge(Some(1000), 5, &[6, 7, 8, 9]), Verdict::Back);
        // The first event: far ahead of the others, or a clock reading of 0.
        assert_eq!(judge(None, 5000, &[10, 11]), Verdict::Wrong(10));
        assert_eq!(judge(None, 0, &[5000, 5001, 5002]), Verdict::Right);
        assert_eq!(
            judge(None, 0, &[50_000, 50_001, 50_002]),
            Verdict::Wrong(50_000)
        );
        let last = Limits {
            is_end: true,
            ..limits
        };
        assert_eq!(last.judge(Some(1000), 9000, &[]), Verdict::Right);
        assert_eq!(last.judge(Some(1000), 90_000, &[]), Verdict::Wrong(1000));
    }
}
