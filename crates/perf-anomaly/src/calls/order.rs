//! Times that cannot be: enters and exits far from those around them.
//!
//! A clock that is read wrongly once must not cost what comes after. An event is *far* from the one
//! before if more than [`CallsParams::jump`] lies between them, and more than [`USUAL`] times the
//! longest such stretch of late. Of an event that is far the next [`LOOK`] are asked: if more of
//! them lie where the stream was before than where the event is, its time is wrong, and it is taken
//! at the time of the one before. If at least [`AGREE`] go on from there, the stream was quiet for so
//! long. Where too few follow, the event and they wait for the next step; at its end, and at that
//! of the stream, only [`CallsParams::gap`] is too long to have been quiet. A step that is before the last
//! time of the stream as a whole sets the time back, whatever was believed before.

use super::params::{CallsParams, Repair};
use super::stream::{Function, Note, Stream};
use perf_core::Nanos;
use std::collections::HashMap;

/// How many events are asked about the one before them.
const LOOK: usize = 8;
/// So many that go on from a time make it true.
const AGREE: usize = 2;
/// How much longer than usual a stretch without events is that is doubted.
const USUAL: i64 = 16;
/// Marks the number of an event that waited: the rest is its place in [`Held::ids`].
const HELD: u32 = 1 << 31;

/// Events that wait for those which show whether their time can be.
#[derive(Clone, Debug, Default)]
pub(super) struct Held {
    functions: Vec<Function>,
    /// Step and number of those that waited, of the step going on too.
    ids: Vec<(u64, u32)>,
}

/// What is thought of the time of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Right,
    /// Wrong; this is the time it is taken at.
    Wrong(i64),
    /// Nobody knows yet.
    Open,
    /// The clock went back, and stays there.
    Back,
}

/// Most an event may be away from the one before, and from its only neighbour at an end of the stream.
#[derive(Clone, Copy, Debug)]
struct Limits {
    far: i64,
    gap: i64,
    is_end: bool,
}

impl Stream {
    /// Puts the enters and exits of a step in order, with those that waited.
    pub(super) fn order(&mut self, params: &CallsParams, step: u64, is_end: bool) {
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

    /// What is far from the event before.
    fn far(&self, params: &CallsParams) -> i64 {
        params.jump.0.max(self.usual.saturating_mul(USUAL))
    }

    /// Messages and counters after the last enter or exit: few that are far from it have a wrong time,
    /// and are taken at that of the one before.
    pub(super) fn mend_notes(&mut self, notes: &mut [Note], params: &CallsParams) {
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

    /// Whether the first of events in order may be wrong, or one of the last, which too few follow.
    #[inline]
    fn is_doubtful(&self, limits: Limits) -> bool {
        let events = &self.functions;
        let is_far = |a: Nanos, b: Nanos, far: i64| b.0.saturating_sub(a.0) > far;
        let Some(first) = events.first() else {
            return false;
        };
        let is_first_far = match self.last == Self::NEVER {
            true => events
                .get(1)
                .is_some_and(|it| is_far(first.at, it.at, limits.far)),
            false => {
                is_far(first.at, self.last, limits.far)
                    || (events.len() <= AGREE && is_far(self.last, first.at, limits.far))
            }
        };
        let from = events.len().saturating_sub(AGREE + 1);
        let mut last = events.get(from..).unwrap_or_default().windows(2);
        is_first_far
            || self.is_behind()
            || last.any(|pair| matches!(pair, [a, b] if is_far(a.at, b.at, limits.far)))
    }

    /// Whether a whole step, of not too few events, is before the one that ended: then that had a time that
    /// was wrong, or the clock went back.
    fn is_behind(&self) -> bool {
        let last = self.functions.last();
        self.functions.len() > AGREE + 1 && last.is_some_and(|last| last.at < self.last)
    }

    #[cold]
    fn examine(&mut self, limits: Limits, step: u64) {
        // Events out of order were counted as they came.
        let counted = descents(&self.functions);
        let mut events = std::mem::take(&mut self.held.functions);
        events.append(&mut self.functions);
        let mut before = (self.last != Self::NEVER).then_some(self.last.0);
        let mut lowest = None;
        let mut waits = None;
        for at in 0..events.len() {
            let (known, after) = events.split_at_mut(at + 1);
            let Some(event) = known.last_mut() else { break };
            let after = after.get(..LOOK.min(after.len())).unwrap_or_default();
            // One that waited for a step has waited long enough.
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

    /// The step an event came in, and its number there.
    #[inline]
    pub(super) fn id_of(&self, event: &Function, step: u64) -> (u64, u32) {
        if event.index & HELD == 0 {
            return (step, event.index);
        }
        let held = self.held.ids.get((event.index & !HELD) as usize);
        held.copied().unwrap_or((step, 0))
    }

    /// After a step: forgets whom nobody will ask for any more.
    pub(super) fn forget_held(&mut self) {
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

    /// Events that wait for the next step.
    pub(super) fn held(&self) -> usize {
        self.held.functions.len()
    }

    /// Stable, so that events of one time keep their order. The numbers of events stay in place:
    /// they tell of the order in which a step is read.
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

/// The longest time from one event to the next.
pub(super) fn longest(events: &[Function]) -> i64 {
    let pairs = events.windows(2);
    let between = pairs.map(|pair| match pair {
        [a, b] => b.at.0.saturating_sub(a.at.0),
        _ => 0,
    });
    between.max().unwrap_or_default()
}

/// How many events are earlier than the one before.
fn descents(events: &[Function]) -> u64 {
    let pairs = events.windows(2);
    pairs
        .filter(|pair| matches!(pair, [a, b] if b.at < a.at))
        .count() as u64
}

impl Limits {
    /// What is thought of an event at `at` after one at `before`, by the events `after` it.
    fn judge(self, before: Option<i64>, at: i64, after: &[Function]) -> Verdict {
        let below = |limit: i64| after.iter().filter(|event| event.at.0 < limit).count();
        let next = after.first().map(|event| event.at.0);
        let Some(before) = before else {
            let limit = at.saturating_sub(self.far);
            let mut back = after.iter().map(|event| event.at.0);
            // The first of the stream: a clock at 0 is a likely mistake.
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
        match back > AGREE && 2 * back > after.len() {
            true => Verdict::Back,
            false => Verdict::Wrong(before),
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
        // Near: nobody is asked.
        assert_eq!(judge(Some(1000), 1100, &[]), Verdict::Right);
        assert_eq!(judge(Some(1000), 900, &[]), Verdict::Right);
        // Far ahead: alone, borne out, or not.
        assert_eq!(judge(Some(1000), 5000, &[5001]), Verdict::Open);
        assert_eq!(judge(Some(1000), 5000, &[5001, 5002]), Verdict::Right);
        assert_eq!(judge(Some(1000), 5000, &[1001]), Verdict::Wrong(1000));
        // Three of them in a row are still the few.
        let few = [6000, 6001, 1001, 1002, 1003, 1004];
        assert_eq!(judge(Some(1000), 5000, &few), Verdict::Wrong(1000));
        // Far back.
        assert_eq!(judge(Some(1000), 5, &[1001, 1002]), Verdict::Wrong(1000));
        assert_eq!(judge(Some(1000), 5, &[]), Verdict::Wrong(1000));
        assert_eq!(judge(Some(1000), 5, &[6, 7, 8, 9]), Verdict::Back);
        // The first: far ahead of the others, or a clock at 0.
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
