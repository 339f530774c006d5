//! [`NewModes`]: detects each [`NewMode`], a slow run time that repeats, with the time lost by rank and
//! step.

use super::mode_times::{ModeStep, ModeTimes};
use super::new_mode::{Accepted, Event, NewMode, RankLoss, SlowCall, bin, edge, loss_of};
use super::own_speed::{InMeans, Usual, Withdrawn, at_own_speed, differ, is_doubtful, is_slow};
use crate::detect::Functions;
use crate::{FunctionId, Judgement, Label, Sample};
use perf_core::Nanos;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Fewest slow calls of a mode.
const CALLS: u64 = 8;
/// Ratio of the calls of a mode to those in as many bins directly below or above it.
const DEPTH: u64 = 3;
/// Number of bins of a new mode, in the order in which they are tried: widths of 30, 14 and 54 %. Run times with a
/// deviation of 10 % need the last one.
const WIDTHS: [usize; 3] = [6, 3, 10];
/// Share of the calls of a function on a rank in a step from which they are the speed of the rank or
/// the step, and no mode.
const ALL: f64 = 0.8;
/// Fewest calls of a function on a rank in a step for that.
const SEVERAL: u64 = 4;
/// Ratio of the share of a mode in the calls that were not judged to its later share from which it was
/// there since the start.
const EARLY_SHARE: f64 = 0.5;
/// Largest number of new modes that are kept.
const MODES: usize = 1024;
/// Largest number of calls of a bin that are taken back from the means of ranks and steps.
const IN_MEANS: usize = 256;

/// Slow calls in a bin.
#[derive(Clone, Debug, Default)]
struct Slow {
    calls: u64,
    time: i64,
    lost: i64,
    alarms: u64,
    alarmed: i64,
    steps: Option<(u64, u64)>,
    /// Number of calls of the function before the first of them.
    before: u64,
    /// Time lost on each rank.
    ranks: BTreeMap<(u32, u32), RankLoss>,
    /// Last calls that are no alarms, so that they are part of the means of ranks and steps.
    in_means: VecDeque<InMeans>,
}

/// Run times of a function.
#[derive(Clone, Debug, Default)]
struct Times {
    /// Number of all calls by bin, from the bin `start` on.
    bins: Vec<u64>,
    /// Numbers of calls that were not judged, by bin: the first ones, of which no usual run time is known.
    early: BTreeMap<usize, u64>,
    /// Step of the first call.
    first: u64,
    /// First bin.
    start: usize,
    /// Number of all calls.
    calls: u64,
    /// Slow calls outside of known modes, by bin.
    slow: BTreeMap<usize, Slow>,
    /// Indices of its modes.
    modes: Vec<usize>,
    /// Last normal calls that may be in a mode of which too few are slow to the detector: bins, calls and
    /// usual run times.
    doubtful: VecDeque<(usize, InMeans, i64)>,
    /// Number of the last batch with its calls.
    batch: u64,
    /// Calls of that batch, and those of them that are slow or in a mode.
    batch_calls: (u64, u64),
}

/// Detection of new modes: slow run times that repeat.
///
/// A detector learns a run time that repeats, so that later calls of this run time are normal to it.
/// This type keeps count of them. A mode is new if at least eight slow calls have about the same run
/// time, and beyond eight they are three times as many as the calls to either side. All later calls of
/// this run time count, alarms or not, with the time that they lose against the expected time before.
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
/// assert_eq!(mode.sentence("solve"), sentence);
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
    /// Functions without modes.
    ignored: BTreeSet<FunctionId>,
    /// Changes of the time lost by rank and step since they were taken; `None` if they are not shared.
    changes: Option<ModeTimes>,
    /// Calls of earlier batches that turned out to be in new modes in the last batch.
    withdrawn: Vec<Withdrawn>,
}

impl Times {
    #[inline]
    fn count(&mut self, bin: usize) {
        self.calls += 1;
        let at = bin.wrapping_sub(self.start);
        match self.bins.get_mut(at) {
            Some(count) => *count += 1,
            None => self.extend(bin),
        }
    }

    #[cold]
    fn extend(&mut self, bin: usize) {
        if self.bins.is_empty() {
            self.start = bin;
        }
        let more = self.start.saturating_sub(bin);
        self.bins.splice(0..0, std::iter::repeat_n(0, more));
        self.start -= more;
        let at = bin - self.start;
        if self.bins.len() <= at {
            self.bins.resize(at + 1, 0);
        }
        self.bins[at] += 1;
    }

    /// Returns `true` if calls in a range of bins had a similar share in the first calls, which were not
    /// judged, as `calls` have in the later ones.
    fn is_early(&self, (from, until): (usize, usize), calls: u64) -> bool {
        let early: u64 = self.early.values().sum();
        let own: u64 = self.early.range(from..until).map(|(_, count)| count).sum();
        let later = self.calls.saturating_sub(early).max(1);
        own > 0 && own as f64 / early as f64 >= EARLY_SHARE * calls as f64 / later as f64
    }

    /// Returns the index of the mode with a bin.
    fn known(&self, bin: usize, events: &[Event]) -> Option<usize> {
        let mut modes = self.modes.iter().copied();
        modes.find(|mode| (events[*mode].bins.0..events[*mode].bins.1).contains(&bin))
    }

    /// Returns the index of the mode of a call relative to the usual run time of its rank.
    fn relative(&self, sample: &Sample, usual: Option<i64>, events: &[Event]) -> Option<usize> {
        let usual = usual?;
        let mut modes = self.modes.iter().copied();
        modes.find(|mode| events[*mode].is_relative(sample.runtime.0, usual))
    }

    /// Returns the number of calls in a range of bins.
    fn between(&self, from: usize, until: usize) -> u64 {
        let range = from.saturating_sub(self.start)..until.saturating_sub(self.start);
        let end = range.end.min(self.bins.len());
        let bins = self.bins.get(range.start.min(end)..end);
        bins.unwrap_or_default().iter().sum()
    }

    /// Returns the bins of a new mode that includes a bin: the first width of which a range stands out, and the
    /// one with the most slow calls among ranges of equal width.
    fn mode(&self, bin: usize) -> Option<(usize, usize)> {
        WIDTHS.into_iter().find_map(|width| {
            let slow = |from: usize| -> u64 {
                let slow = self.slow.range(from..from + width);
                slow.map(|(_, slow)| slow.calls).sum()
            };
            let starts = (bin + 1).saturating_sub(width)..=bin;
            let (calls_slow, from) = starts.map(|from| (slow(from), from)).max()?;
            let until = from + width;
            let calls = self.between(from, until);
            // Below, half of the width: calls of a slow rank may be there.
            let beside = self
                .between(from.saturating_sub(width / 2), from)
                .max(self.between(until, until + width));
            // Most of them are slow calls, and not the tail of normal ones.
            let is_mode =
                calls_slow >= CALLS && 2 * calls_slow >= calls && calls >= CALLS + DEPTH * beside;
            is_mode.then_some((from, until))
        })
    }
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
        let (mut candidates, mut counted) = (Vec::new(), Vec::new());
        let mut doubtful = Vec::new();
        self.batch += 1;
        self.withdrawn.clear();
        for (at, (sample, judgement)) in samples.iter().zip(judgements).enumerate() {
            if sample.first || judgement.label == Label::Ignored {
                continue;
            }
            if !self.ignored.is_empty() && self.ignored.contains(&sample.function) {
                continue;
            }
            let times = self.functions.entry(sample.function, Times::default);
            let bin = bin(sample.runtime.0);
            if times.calls == 0 {
                times.first = step;
            }
            times.count(bin);
            if judgement.expected.is_none() {
                *times.early.entry(bin).or_default() += 1;
            }
            if times.batch != self.batch {
                (times.batch, times.batch_calls) = (self.batch, (0, 0));
            }
            times.batch_calls.0 += 1;
            let mut modes = times.modes.iter().copied();
            let between = |from, until| times.between(from, until);
            let mode = modes.find(|mode| self.events[*mode].includes(bin, between));
            if mode.is_some() || is_slow(sample, judgement) {
                times.batch_calls.1 += 1;
                candidates.push((at, bin, mode));
            } else if is_doubtful(sample, judgement)
                || times
                    .modes
                    .iter()
                    .any(|mode| sample.runtime > self.events[*mode].mode.from)
            {
                doubtful.push((at, bin, None));
            }
        }
        let both = candidates.iter().chain(&doubtful);
        let mut slow: Vec<usize> = both.map(|one| one.0).collect();
        slow.sort_unstable();
        let usual = Usual::of(samples, judgements, slow.iter().copied());
        for (at, bin, mode) in doubtful {
            let (sample, judgement) = (&samples[at], &judgements[at]);
            let of_rank = usual.below(sample.function, sample.runtime.0);
            let times = self.functions.entry(sample.function, Times::default);
            let mode = mode.or_else(|| times.relative(sample, of_rank, &self.events));
            if mode.is_some() {
                times.batch_calls.1 += 1;
                candidates.push((at, bin, mode));
            } else if is_doubtful(sample, judgement) {
                if times.doubtful.len() >= IN_MEANS {
                    times.doubtful.pop_front();
                }
                let call = InMeans::new((rank, step), sample, (self.batch, at));
                let usual = of_rank.or(judgement.expected.map(|time| time.0));
                times
                    .doubtful
                    .push_back((bin, call, usual.unwrap_or_default()));
            }
        }
        candidates.sort_unstable_by_key(|one| one.0);
        let at_own_speed = at_own_speed(samples, judgements);
        for (at, bin, mode) in candidates {
            let (sample, judgement) = (&samples[at], &judgements[at]);
            let times = self.functions.entry(sample.function, Times::default);
            let (calls, slow) = times.batch_calls;
            let is_speed = calls >= SEVERAL && slow as f64 >= ALL * calls as f64;
            if is_speed || at_own_speed.binary_search(&at).is_ok() {
                continue;
            }
            let usual = usual.below(sample.function, sample.runtime.0);
            // The mode may have been found by a call before it in the same step.
            let mode = mode.or_else(|| times.known(bin, &self.events));
            let mode = mode.or_else(|| times.relative(sample, usual, &self.events));
            let all = times.calls;
            match mode {
                Some(mode) => {
                    let changes = self.changes.as_mut();
                    let call = (sample, judgement, usual);
                    if self.events[mode].add((rank, step), all, call, changes) {
                        counted.push(at);
                    }
                }
                None => {
                    let found = self.add_slow((rank, step), (at, bin), (sample, judgement), usual);
                    counted.extend(found);
                }
            }
        }
        counted.sort_unstable();
        counted.dedup();
        counted
    }

    /// Returns the calls of earlier batches that turned out to be in new modes in the last batch, and are
    /// part of the means of ranks and steps.
    pub(super) fn withdrawn(&self) -> &[Withdrawn] {
        &self.withdrawn
    }

    /// Adds a slow call outside of known modes. Returns the indices of the calls of this batch that are in
    /// a new mode.
    fn add_slow(
        &mut self,
        (rank, step): ((u32, u32), u64),
        (at, bin): (usize, usize),
        (sample, judgement): (&Sample, &Judgement),
        usual: Option<i64>,
    ) -> Vec<usize> {
        let times = self.functions.entry(sample.function, Times::default);
        let slow = times.slow.entry(bin).or_default();
        let expected = judgement.expected.map_or(0, |time| time.0);
        let usual = usual.filter(|time| differ(*time, expected));
        let usual = usual.unwrap_or(expected);
        let lost = sample.runtime.0.saturating_sub(usual).max(0);
        if slow.calls == 0 {
            slow.before = times.calls.saturating_sub(1);
        }
        slow.calls += 1;
        slow.time = slow.time.saturating_add(sample.runtime.0);
        slow.lost = slow.lost.saturating_add(lost);
        slow.alarms += u64::from(judgement.label.is_slow());
        let alarmed = judgement.severity(sample).0;
        slow.alarmed = slow.alarmed.saturating_add(alarmed);
        if !judgement.label.is_anomaly() {
            if slow.in_means.len() >= IN_MEANS {
                slow.in_means.pop_front();
            }
            let call = InMeans::new((rank, step), sample, (self.batch, at));
            slow.in_means.push_back(call);
        }
        let (first, last) = slow.steps.unwrap_or((step, step));
        slow.steps = Some((first.min(step), last.max(step)));
        if let Some(own) = loss_of(&mut slow.ranks, rank) {
            own.add(&SlowCall {
                step,
                time: sample.runtime.0,
                lost,
                alarmed: judgement.label.is_slow().then_some(alarmed),
            });
        }
        let Some((from, until)) = times.mode(bin) else {
            return Vec::new();
        };
        let bins: Vec<usize> = times.slow.range(from..until).map(|one| *one.0).collect();
        let mut all = Slow {
            before: u64::MAX,
            ..Slow::default()
        };
        for slow in bins.iter().filter_map(|bin| times.slow.remove(bin)) {
            all.calls += slow.calls;
            all.time = all.time.saturating_add(slow.time);
            all.lost = all.lost.saturating_add(slow.lost);
            all.alarms += slow.alarms;
            all.alarmed = all.alarmed.saturating_add(slow.alarmed);
            all.in_means.extend(slow.in_means);
            all.before = all.before.min(slow.before);
            let (first, last) = slow.steps.unwrap_or((step, step));
            let (known, until) = all.steps.unwrap_or((first, last));
            all.steps = Some((known.min(first), until.max(last)));
            for (rank, loss) in slow.ranks {
                if let Some(own) = loss_of(&mut all.ranks, rank) {
                    own.merge(&loss);
                }
            }
        }
        let (first, _) = all.steps.unwrap_or((step, step));
        for (bin, one, usual) in std::mem::take(&mut times.doubtful) {
            let call = one.call;
            if (from..until).contains(&bin) && call.step >= first {
                let lost = call.time.0.saturating_sub(usual).max(0);
                all.calls += 1;
                all.time = all.time.saturating_add(call.time.0);
                all.lost = all.lost.saturating_add(lost);
                if let Some(own) = loss_of(&mut all.ranks, call.rank) {
                    own.add(&SlowCall {
                        step: call.step,
                        time: call.time.0,
                        lost,
                        alarmed: None,
                    });
                }
                all.in_means.push_back(one);
            }
        }
        if self.events.len() >= MODES {
            self.dropped += 1;
            return Vec::new();
        }
        let (now, before): (Vec<InMeans>, Vec<InMeans>) = all
            .in_means
            .iter()
            .partition(|one| one.batch.0 == self.batch);
        self.withdrawn.extend(before.iter().map(|one| one.call));
        times.modes.push(self.events.len());
        let (mut first, last) = all.steps.unwrap_or((step, step));
        if first == times.first || times.is_early((from, until), all.calls) {
            (first, all.before) = (times.first, 0);
        }
        let event = Event {
            mode: NewMode {
                function: sample.function,
                from: Nanos(edge(from)),
                to: Nanos(edge(until)),
                usual: Nanos(all.time.saturating_sub(all.lost) / all.calls.max(1) as i64),
                first,
                last,
                before: all.before,
                of: times.calls,
                calls: all.calls,
                time: Nanos(all.time),
                alarms: all.alarms,
                lost: Nanos(all.lost),
                alarmed: Nanos(all.alarmed),
                ranks: all.ranks.len(),
                accepted: None,
            },
            bins: (from, until),
            id: from as u32,
            usual: all.time.saturating_sub(all.lost) / all.calls.max(1) as i64,
            ranks: all.ranks,
        };
        if let Some(changes) = &mut self.changes {
            event.add_to(changes, |_| true);
        }
        self.events.push(event);
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
        self.events.iter().map(|event| &event.mode)
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

    /// Keeps changes of the time lost by rank and step from now on.
    pub(crate) fn keep_changes(&mut self) {
        self.changes = Some(ModeTimes::default());
    }

    /// Returns the changes of the time lost by rank and step since the last call.
    pub(crate) fn take_changes(&mut self) -> ModeTimes {
        self.changes
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default()
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

    /// Returns the number of modes that were found but not kept, beyond 1,024.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}
