//! [`NewModes`]: detects each [`NewMode`], a slow run time that repeats, with the time lost by rank and
//! step.

pub(super) mod calls;
pub(super) mod new_mode;
mod runs;
pub(super) mod shared;
mod sharing;
pub(super) mod times;

use super::own_speed::{InMeans, Usual, Withdrawn, at_own_speed, differ, is_doubtful, is_slow};
use super::run_times::{CALLS, Times, Wide, relative_bin};
use crate::detect::Functions;
use crate::{FunctionId, Judgement, Label, Sample};
use new_mode::{Accepted, Event, NewMode, edge};
use perf_core::Nanos;
pub(crate) use runs::RunCall;
pub(super) use runs::Runs;
use std::collections::{BTreeMap, BTreeSet};
use times::{ModeStep, ModeTimes};

/// Share of the calls of a function on a rank in a step from which they are the speed of the rank or
/// the step, and no mode.
const ALL: f64 = 0.8;
/// Fewest calls of a function on a rank in a step for that.
const SEVERAL: u64 = 4;
/// Largest number of new modes that are kept.
const MODES: usize = 1024;
/// Number of first batches of a rank that show its usual run times, and of batches between later ones.
const FIRST: u64 = 4;
const BETWEEN: u64 = 7;
/// Largest number of ranks whose batches are counted.
const RANKS: usize = 1 << 16;

/// Share of modes in the calls of a function.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::lost_time) struct Share {
    /// Number of calls in modes.
    pub(in crate::lost_time) in_modes: u64,
    /// Number of all calls.
    pub(in crate::lost_time) calls: u64,
    /// Number of calls since the first one of a mode.
    pub(in crate::lost_time) since: u64,
    /// Largest number of ranks with calls of a mode.
    pub(in crate::lost_time) ranks: usize,
}

/// Detection of new modes: slow run times that repeat.
///
/// A detector learns a run time that repeats, so that later calls of this run time are normal to it.
/// This type keeps count of them. A mode is new if at least eight slow calls have about the same run
/// time, and beyond eight they are three times as many as the calls to either side. All later calls of
/// this run time count, alarms or not, with the time that they lose against the expected time before.
/// Run times count relative to the usual speed of their rank, so that a slow rank hides no mode.
///
/// A mode becomes normal by a [rule](Self::accept), or once it has half of all calls of its function.
/// A rank on which 80 % of the calls of a function in a step are slow is a slow rank, and no mode.
///
/// ```
/// use perf_anomaly::lost_time::{Beginning, NewModes};
/// use perf_anomaly::{FunctionId, Judgement, Label, Sample};
/// use perf_core::Nanos;
/// let mut modes = NewModes::default();
/// for step in 0..20 {
///     for rank in 0..8 {
///         let (mut samples, mut judgements) = (Vec::new(), Vec::new());
///         for at in 0..50 {
///             // From step 3 on, two calls take twice as long.
///             let is_slow = step >= 3 && at < 2;
///             let runtime = if is_slow { 20_000_000 } else { 10_000_000 };
///             samples.push(Sample { function: FunctionId(0), runtime: Nanos(runtime), first: false });
///             let mut judgement = Judgement::default();
///             judgement.expected = Some(Nanos(10_000_000));
///             // The detector accepts the new run time at the end of step 3.
///             if is_slow && step == 3 {
///                 judgement.label = Label::TooSlow;
///             }
///             judgements.push(judgement);
///         }
///         modes.add((0, rank), step, &samples, &judgements);
///     }
/// }
/// let mode = modes.found().next().expect("a mode");
/// assert_eq!((mode.calls, mode.ranks, mode.first), (2 * 8 * 17, 8, 3));
/// assert_eq!((mode.factor(), mode.lost), (2.0, Nanos(2_720_000_000)));
/// assert_eq!(mode.beginning(), Beginning::Appeared);
/// let sentence = "a mode at 2.0x of solve appeared in step 3: 272 calls on 8 ranks, 2.720 s lost so far";
/// assert_eq!(mode.sentence("solve", false), sentence);
/// // The calls of step 3 are alarms, which lost their time as single calls.
/// let steps: Vec<_> = modes.steps().collect();
/// assert_eq!((steps.len(), steps[0].first, steps[0].lost), (8 * 16, 4, Nanos(20_000_000)));
/// ```
#[derive(Clone, Debug, Default)]
pub struct NewModes {
    /// Run times of each function.
    functions: Functions<Times>,
    /// Modes in the order in which they were found.
    events: Vec<Event>,
    /// Number of modes that were not kept.
    dropped: u64,
    /// Number of batches so far.
    batch: u64,
    /// Index of each rank in the order of their first batches, and number of its batches.
    ranks: BTreeMap<(u32, u32), (usize, u64)>,
    /// Functions without modes.
    ignored: BTreeSet<FunctionId>,
    /// Changes of the time lost by rank and step since they were taken; `None` if they are not shared.
    changes: Option<ModeTimes>,
    /// Ranks whose slow calls outside of modes changed since then, by function.
    changed: BTreeMap<FunctionId, BTreeSet<(u32, u32)>>,
    /// Functions of which first calls may be slow.
    pending: BTreeSet<FunctionId>,
    /// Functions whose modes a rule accepts, of which a server has no slow calls.
    private: BTreeSet<FunctionId>,
    /// Calls of earlier batches that turned out to be in new modes in the last batch.
    withdrawn: Vec<Withdrawn>,
    /// Indices of the slow and doubtful calls of the last batch.
    slow: Vec<usize>,
    /// Indices of its slow calls that take as long as the other calls of their rank.
    at_own_speed: Vec<usize>,
}

impl NewModes {
    /// Adds the calls of a rank in a step, with one judgement for each. Returns the indices of the calls
    /// in modes, in ascending order, without modes that most calls are in since the start.
    pub fn add(
        &mut self,
        rank: (u32, u32),
        step: u64,
        samples: &[Sample],
        judgements: &[Judgement],
    ) -> Vec<usize> {
        let natures = (|_| false, |_| true);
        self.add_to((rank, step), samples, judgements, natures)
    }

    /// Adds calls as [`add`](Self::add) does. `waits` returns `true` for functions that wait for others: their calls
    /// are in a mode although all of those of a rank are, because their ranks are not compared. `is_compared` returns
    /// `false` for these, and for functions whose work depends on others.
    pub(crate) fn add_to(
        &mut self,
        (rank, step): ((u32, u32), u64),
        samples: &[Sample],
        judgements: &[Judgement],
        (waits, is_compared): (impl Fn(FunctionId) -> bool, impl Fn(FunctionId) -> bool),
    ) -> Vec<usize> {
        let (mut candidates, mut counted) = (Vec::new(), Vec::new());
        let (mut doubtful, mut grown) = (Vec::new(), BTreeSet::new());
        self.batch += 1;
        self.withdrawn.clear();
        let index = self.compare(rank, samples, judgements);
        for (at, (sample, judgement)) in samples.iter().zip(judgements).enumerate() {
            if sample.first || judgement.label == Label::Ignored {
                continue;
            }
            if !self.ignored.is_empty() && self.ignored.contains(&sample.function) {
                continue;
            }
            let times = self.functions.entry(sample.function, Times::default);
            if times.calls == 0 {
                times.first = step;
            }
            if times.batch != self.batch {
                times.begin(self.batch, (rank, index), waits(sample.function));
            }
            let bin = relative_bin(sample, times.scale);
            times.count(bin);
            if judgement.expected.is_none() {
                times.count_early(bin, sample);
                if self.changes.is_some() {
                    let call = InMeans::new((rank, step), sample, (self.batch, at));
                    times.keep_unjudged(bin, call);
                    self.pending.insert(sample.function);
                }
            }
            times.batch_calls.0 += 1;
            let mode = if times.modes.is_empty() {
                None
            } else {
                times.including(bin, &mut self.events, &mut grown)
            };
            let is_noticed = mode.is_some()
                || is_slow(sample, judgement)
                || times.has_other && times.is_slow_on_its_rank(bin, sample, judgement);
            let is_slow = is_noticed || bin >= times.far.from && judgement.expected.is_some();
            times.note(is_slow);
            if is_slow {
                times.batch_calls.1 += 1;
                candidates.push((at, bin, mode, is_noticed));
            } else if is_doubtful(sample, judgement, times.slow_speed)
                || times.is_unusual(bin)
                || times
                    .modes
                    .iter()
                    .any(|mode| self.events[*mode].is_longer(bin))
            {
                doubtful.push((at, bin));
            }
        }
        let both = candidates.iter().map(|one| one.0);
        let mut slow: Vec<usize> = both.chain(doubtful.iter().map(|one| one.0)).collect();
        slow.sort_unstable();
        let usual = Usual::of(samples, judgements, slow.iter().copied());
        self.slow = slow;
        for (at, bin) in doubtful {
            let (sample, judgement) = (&samples[at], &judgements[at]);
            let of_rank = usual.below(sample.function, sample.runtime.0);
            let expected = judgement.expected.map_or(0, |time| time.0);
            let times = self.functions.entry(sample.function, Times::default);
            let usual = times.usual(sample.runtime.0, of_rank, expected);
            let usual = times.usual_of_far(bin, usual);
            let call = InMeans::new((rank, step), sample, (self.batch, at));
            times.add_doubtful(bin, call, usual);
            if self.changes.is_some() {
                if times.is_unusual(bin) {
                    self.changed
                        .entry(sample.function)
                        .or_default()
                        .insert(rank);
                } else if !times.far.is_known() {
                    self.pending.insert(sample.function);
                }
            }
        }
        self.at_own_speed = at_own_speed(samples, judgements);
        for (at, bin, mode, is_noticed) in candidates {
            let (sample, judgement) = (&samples[at], &judgements[at]);
            let times = self.functions.entry(sample.function, Times::default);
            let (calls, slow) = times.batch_calls;
            let is_speed = calls >= SEVERAL && slow as f64 >= ALL * calls as f64;
            let is_speed = is_speed || times.lasts() && is_compared(sample.function);
            let is_speed = is_speed || self.at_own_speed.binary_search(&at).is_ok();
            // Ranks are not compared in functions that wait for others.
            if is_speed && !times.waits {
                continue;
            }
            let usual = usual.below(sample.function, sample.runtime.0);
            // The mode may have been found by a call before it in the same step.
            let mode = mode.or_else(|| times.known(bin, &self.events));
            let all = (times.calls, times.waits);
            match mode {
                Some(mode) => {
                    let usual = (times.scale, usual.filter(|_| times.scale == 1.0));
                    let changes = self.changes.as_mut();
                    let call = (sample, judgement, usual);
                    if self.events[mode].add((rank, step), all, call, changes) {
                        counted.push(at);
                    }
                }
                None => {
                    let expected = judgement.expected.map_or(0, |time| time.0);
                    let is_usual = judgement.label != Label::Normal;
                    let usual = usual.filter(|time| !is_usual || differ(*time, expected));
                    let usual = times.usual(sample.runtime.0, usual, expected);
                    let usual = times.usual_of_far(bin, usual);
                    let call = InMeans::new((rank, step), sample, (self.batch, at));
                    times.add_slow(bin, call, (sample, judgement), (usual, is_noticed));
                    if self.changes.is_some() {
                        self.changed
                            .entry(sample.function)
                            .or_default()
                            .insert(rank);
                    }
                    if let Some(bins) = times.mode(bin) {
                        let bins = times.grown(bins);
                        counted.extend(self.found_near_mode(sample.function, bins));
                    } else if let Some(wide) = times.wide(bin) {
                        counted.extend(self.found_wide_mode(sample.function, wide));
                    }
                }
            }
        }
        for mode in grown {
            counted.extend(self.take_beside(mode, |_| {}));
        }
        counted.sort_unstable();
        counted.dedup();
        counted
    }

    /// Determines the usual run times of a rank from the first calls of some batches. One rank alone is
    /// compared with no other. Returns the index of the rank, which is [`RANKS`] for all beyond that number.
    fn compare(&mut self, rank: (u32, u32), samples: &[Sample], judgements: &[Judgement]) -> usize {
        let count = self.ranks.len();
        if count >= RANKS && !self.ranks.contains_key(&rank) {
            return RANKS;
        }
        let (index, batches) = self.ranks.entry(rank).or_insert((count, 0));
        let index = *index;
        *batches += 1;
        let is_due = *batches <= FIRST || batches.is_multiple_of(BETWEEN);
        if self.ranks.len() < 2 || !is_due {
            return index;
        }
        let mut functions = Vec::new();
        for (sample, judgement) in samples.iter().zip(judgements) {
            if sample.first || judgement.label == Label::Ignored {
                continue;
            }
            let times = self.functions.entry(sample.function, Times::default);
            // Functions that wait for others take longer on fast ranks.
            if times.waits {
                continue;
            }
            let (batch, calls) = &mut times.sampled;
            if *batch != self.batch {
                *batch = self.batch;
                calls.clear();
                functions.push(sample.function);
            }
            calls.push(sample.runtime.0);
        }
        for function in functions {
            self.functions.entry(function, Times::default).sample(rank);
        }
        index
    }

    /// Returns the indices of the calls of the last batch that are slow, or may be in a mode, in ascending order.
    pub(in crate::lost_time) fn last_slow(&self) -> &[usize] {
        &self.slow
    }

    /// Returns the indices of the slow calls of the last batch that take as long as the other calls of their rank, in
    /// ascending order.
    pub(in crate::lost_time) fn last_at_own_speed(&self) -> &[usize] {
        &self.at_own_speed
    }

    /// Returns the calls of earlier batches that turned out to be in new modes in the last batch, and are
    /// part of the means of ranks and steps.
    pub(in crate::lost_time) fn withdrawn(&self) -> &[Withdrawn] {
        &self.withdrawn
    }

    /// Adds a mode that was found. Returns the indices of its calls in this batch.
    fn found_mode(
        &mut self,
        function: FunctionId,
        bins: (usize, usize),
        seen: Option<(usize, usize)>,
    ) -> Vec<usize> {
        let times = self.functions.entry(function, Times::default);
        let mut all = times.take(bins, None);
        let Some((mut first, last)) = all.steps.filter(|_| self.events.len() < MODES) else {
            self.dropped += 1;
            return Vec::new();
        };
        times.modes.push(self.events.len());
        if self.changes.is_some() {
            let changed = self.changed.entry(function).or_default();
            changed.extend(all.ranks.keys());
        }
        let is_early = first == times.first || times.is_early(bins, all.calls);
        if is_early {
            first = times.first;
        }
        let calls = all.calls.max(1) as i64;
        let before = all.before.filter(|_| !is_early).unwrap_or(0);
        let in_means = std::mem::take(&mut all.in_means);
        let most = times.speeds.most();
        let event = Event {
            mode: NewMode {
                function,
                from: Nanos(edge(bins.0)),
                to: Nanos(edge(bins.1)),
                usual: Nanos(all.time.saturating_sub(all.lost) / calls),
                first,
                last,
                before,
                of: times.calls,
                calls: all.calls,
                time: Nanos(all.time),
                alarms: all.alarms,
                lost: Nanos(all.lost),
                alarmed: Nanos(all.alarmed),
                ranks: all.ranks.len(),
                accepted: None,
            },
            bins,
            seen,
            id: 0,
            end: 0,
            usual: all.usual / calls,
            most,
            ranks: all.ranks,
            released: 0,
        };
        let event = event.named();
        if let Some(changes) = &mut self.changes {
            event.add_to(changes, |_| true);
        }
        self.events.push(event);
        self.in_this_batch(in_means.iter())
    }

    /// Adds a mode of similar run times that was found, or extends the wide mode that adjoins it. Returns the indices of
    /// its calls in this batch.
    fn found_near_mode(&mut self, function: FunctionId, bins: (usize, usize)) -> Vec<usize> {
        let times = self.functions.entry(function, Times::default);
        let mut modes = times.modes.iter().copied();
        match modes.find(|mode| self.events[*mode].is_wide_beside(bins)) {
            Some(mode) => self.take_beside(mode, |event| event.widen(&Wide::part(bins))),
            None => self.found_mode(function, bins, None),
        }
    }

    /// Adds a wide mode that was found, or extends a mode that is a part of it. Returns the indices of its calls in this
    /// batch.
    fn found_wide_mode(&mut self, function: FunctionId, wide: Wide) -> Vec<usize> {
        let times = self.functions.entry(function, Times::default);
        let mut modes = times.modes.iter().copied();
        match modes.find(|mode| wide.includes(&self.events[*mode])) {
            Some(mode) => self.take_beside(mode, |event| event.widen(&wide)),
            None => self.found_mode(function, wide.bins, wide.seen),
        }
    }

    /// Adds the earlier calls of the neighbouring bins to which a mode now extends. Returns the indices of its calls in
    /// this batch.
    fn take_beside(&mut self, mode: usize, extend: impl FnOnce(&mut Event)) -> Vec<usize> {
        let event = &mut self.events[mode];
        let times = self.functions.entry(event.mode.function, Times::default);
        if let Some(changes) = &mut self.changes {
            event.take_back(changes);
        }
        extend(event);
        let all = times.take(event.bins, Some(event.mode.first));
        if self.changes.is_some() {
            let changed = self.changed.entry(event.mode.function).or_default();
            changed.extend(all.ranks.keys());
        }
        let in_means = event.extend(all);
        event.renumber();
        if let Some(changes) = &mut self.changes {
            event.add_to(changes, |_| true);
        }
        self.in_this_batch(in_means.iter())
    }

    /// Withdraws calls of earlier batches that are in a mode. Returns the indices of those of this batch.
    fn in_this_batch<'a>(&mut self, calls: impl Iterator<Item = &'a InMeans>) -> Vec<usize> {
        let (now, before): (Vec<&InMeans>, Vec<&InMeans>) =
            calls.partition(|one| one.batch.0 == self.batch);
        self.withdrawn.extend(before.iter().map(|one| one.call));
        now.iter().map(|one| one.batch.1).collect()
    }

    /// Excludes a function whose calls do different work.
    pub(crate) fn ignore(&mut self, function: FunctionId) {
        self.ignored.insert(function);
    }

    /// Returns the modes that lose time, in the order in which they were found.
    pub fn found(&self) -> impl Iterator<Item = &NewMode> {
        self.all().filter(|mode| mode.accepted.is_none())
    }

    /// Returns all modes, including those that were accepted as normal.
    pub fn all(&self) -> impl Iterator<Item = &NewMode> {
        let all = self.events.iter().map(|event| &event.mode);
        all.filter(|mode| mode.calls > 0)
    }

    /// Returns the time that the modes [found](Self::found) lost on each rank, given by program and number.
    pub fn found_by_rank(&self) -> impl Iterator<Item = (&NewMode, (u32, u32), Nanos)> {
        let found = self.events.iter();
        let found = found.filter(|event| event.mode.accepted.is_none());
        found.flat_map(|event| {
            let ranks = event.ranks.iter();
            ranks.map(|(rank, loss)| (&event.mode, *rank, loss.calls.lost))
        })
    }

    /// Returns the time that the modes [found](Self::found) lost by rank, function and step, in calls that
    /// are no alarms. With the time lost in alarms it adds up to the time lost in single calls and modes:
    /// the alarms of modes that a [rule](Self::accept) accepts have a time below zero.
    pub fn steps(&self) -> impl Iterator<Item = ModeStep> {
        let steps: Vec<ModeStep> = self.times(|_| true).iter().collect();
        steps.into_iter()
    }

    /// Returns the times of [`steps`](Self::steps) for some ranks.
    pub(crate) fn times(&self, is_wanted: impl Fn((u32, u32)) -> bool) -> ModeTimes {
        let mut all = ModeTimes::default();
        for event in &self.events {
            event.add_to(&mut all, &is_wanted);
        }
        all
    }

    /// Accepts all present modes of a function as normal, for a reason.
    pub fn accept(&mut self, function: FunctionId, reason: &str) {
        for event in &mut self.events {
            if event.mode.function == function && event.mode.accepted.is_none() {
                if let Some(changes) = &mut self.changes {
                    event.take_back(changes);
                }
                event.mode.accepted = Some(Accepted::Rule(reason.into()));
                if let Some(changes) = &mut self.changes {
                    event.add_to(changes, |_| true);
                }
            }
        }
    }

    /// Returns the share of modes in the calls of a function.
    pub(in crate::lost_time) fn share(&self, function: FunctionId) -> Share {
        let Some(times) = self.functions.get(function) else {
            return Share::default();
        };
        let modes = times.modes.iter().map(|mode| &self.events[*mode].mode);
        let before = modes.clone().map(|mode| mode.before).min();
        let mut share = Share {
            calls: times.calls,
            since: times.calls.saturating_sub(before.unwrap_or(0)),
            ..Share::default()
        };
        for mode in modes {
            share.in_modes = share.in_modes.saturating_add(mode.calls);
            share.ranks = share.ranks.max(mode.ranks);
        }
        share
    }

    /// Returns `true` if a call of the rank of the last batch has the run time of a mode.
    pub(in crate::lost_time) fn is_in_mode(&self, function: FunctionId, time: Nanos) -> bool {
        let times = self.functions.get(function);
        times.is_some_and(|times| times.known(times.bin(time), &self.events).is_some())
    }

    /// Notes that slow calls of ranks are their speed.
    pub(in crate::lost_time) fn are_at_own_speed(&mut self, calls: &[RunCall]) {
        for one in calls {
            let rank = self.ranks.get(&one.rank());
            let times = self.functions.get_mut(one.call.function);
            if let (Some((rank, _)), Some(times)) = (rank, times) {
                times.is_at_own_speed(*rank);
            }
        }
    }

    /// Takes calls of the rank of the last batch that are its speed from their modes. A mode with too few other calls,
    /// or fewer than those, is none. Returns the functions that have no modes any more.
    pub(in crate::lost_time) fn release(&mut self, calls: &[RunCall]) -> BTreeSet<FunctionId> {
        self.are_at_own_speed(calls);
        let mut without = BTreeSet::new();
        for one in calls {
            let function = one.call.function;
            let Some(times) = self.functions.get_mut(function) else {
                continue;
            };
            let Some(mode) = times.known(times.bin(one.call.time), &self.events) else {
                continue;
            };
            let event = &mut self.events[mode];
            if event.mode.accepted.is_some() {
                continue;
            }
            if let Some(changes) = &mut self.changes {
                event.take_back(changes);
            }
            event.release(one, times.scale);
            if event.mode.calls < CALLS.max(event.released) {
                event.dissolve();
                times.modes.retain(|one| *one != mode);
                if times.modes.is_empty() {
                    without.insert(function);
                }
            } else if let Some(changes) = &mut self.changes {
                event.add_to(changes, |_| true);
            }
        }
        without
    }

    /// Returns the number of modes that were found but not kept, beyond 1,024.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}
