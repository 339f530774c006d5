//! [`Times`]: run times of a function, relative to the usual ones of each rank, in which new modes stand out;
//! [`Slow`]: slow calls.

mod far;
mod pooled;

pub(super) use far::Wide;
pub(super) use pooled::RunTimes;

use super::modes::new_mode::{Event, RankLoss, SlowCall, bin, loss_of};
use super::own_speed::{InMeans, LONGER, is_doubtful};
use super::rank_speed::{FirstCalls, QUANTILES, Speeds};
use crate::{Judgement, Label, Sample};
use far::{Far, Tick, quantile};
use perf_core::Nanos;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Fewest slow calls of a mode.
pub(super) const CALLS: u64 = 8;
/// Ratio of the calls of a mode to those in as many bins directly below or above it.
const DEPTH: u64 = 3;
/// Number of bins of a new mode, in the order in which they are tried: widths of 30, 14, 54 and 100 %. Run times with
/// deviations of 10 and 20 % need the last ones.
const WIDTHS: [usize; 4] = [6, 3, 10, MOST_WIDTH];
/// Largest width, at which most calls are no alarms but similar to recent ones: alarms alone are single calls.
const MOST_WIDTH: usize = 16;
/// Ratio of the share of a mode in the calls that were not judged to its later share from which it was
/// there since the start.
const EARLY_SHARE: f64 = 0.5;
/// Largest number of calls of a bin that are taken back from the means of ranks and steps.
const IN_MEANS: usize = 256;
/// Largest share of the calls of a function with about the same time as a call that is normal only because it takes
/// as long as those of a slow rank.
const RARE: f64 = 0.1;
/// Largest [factor](Speeds::rare) beyond which few calls of a rank are longer than its usual one. Of those that vary
/// more, the tail cannot be told from a mode.
const NOISE: f64 = 2.0;
/// Number of slow calls among the last 16 of a rank that are its speed.
const NEARLY_ALL: u32 = 14;
/// Largest number of ranks whose last calls are kept.
const MOST_RANKS: usize = 4096;
/// Largest factor between a call that is normal only because of a slow rank and the usual run time of its own rank.
/// Ranks that differ by more do other work.
const OTHER_WORK: f64 = 3.0;
/// Slow calls in a range of bins.
#[derive(Clone, Debug, Default)]
pub(super) struct Slow {
    pub(super) calls: u64,
    /// Number of those that are slow to the detector too, and not only far above the usual run times.
    noticed: u64,
    pub(super) time: i64,
    pub(super) lost: i64,
    /// Sum of the usual run times relative to those of the ranks that do not differ.
    pub(super) usual: i64,
    pub(super) alarms: u64,
    pub(super) alarmed: i64,
    pub(super) steps: Option<(u64, u64)>,
    /// Number of calls of the function before the first of them; `None` without calls.
    pub(super) before: Option<u64>,
    /// Time lost on each rank.
    pub(super) ranks: BTreeMap<(u32, u32), RankLoss>,
    /// Last calls that are no alarms, so that they are part of the means of ranks and steps.
    pub(super) in_means: VecDeque<InMeans>,
}

/// Normal call that may be in a mode of which too few are slow to the detector.
#[derive(Clone, Debug)]
struct Doubtful {
    bin: usize,
    call: InMeans,
    /// Usual run time of its rank in nanoseconds, and relative to the ranks that do not differ.
    usual: (i64, i64),
}

/// Run times of a function.
#[derive(Clone, Debug, Default)]
pub(super) struct Times {
    /// Number of all calls by bin, from the bin `start` on.
    bins: Vec<u64>,
    /// Numbers of calls that were not judged, by bin: the first ones, of which no usual run time is known.
    early: BTreeMap<usize, u64>,
    /// Step of the first call.
    pub(super) first: u64,
    /// First bin.
    start: usize,
    /// Number of all calls.
    pub(super) calls: u64,
    /// Slow calls outside of known modes, by bin.
    slow: BTreeMap<usize, Slow>,
    /// Indices of its modes.
    pub(super) modes: Vec<usize>,
    /// Last normal calls that may be in a mode.
    doubtful: VecDeque<Doubtful>,
    /// First calls, which were not judged, if a server knows slow ones.
    unjudged: Vec<Doubtful>,
    /// Number of the last batch with its calls.
    pub(super) batch: u64,
    /// Calls of that batch, and those of them that are slow or in a mode.
    pub(super) batch_calls: (u64, u64),
    /// Index of the rank of the batch, and its last 16 calls, a bit for each, which is 1 for a slow call.
    last: (usize, u16),
    /// Last calls of the other ranks by index, likewise.
    others: Vec<u16>,
    /// Usual run time of the ranks that do not differ relative to that of the rank of the batch.
    pub(super) scale: f64,
    /// Usual run time of the rank of the batch in nanoseconds; 0 if it does not differ from the others.
    pub(super) slow_speed: f64,
    /// `true` if calls of some ranks may be normal because of others.
    pub(super) has_other: bool,
    /// Usual run times of ranks that differ.
    pub(super) speeds: Speeds,
    /// First calls of a batch, and its number.
    pub(super) sampled: (u64, FirstCalls),
    /// Run times far above the usual ones.
    pub(super) far: Far,
    /// Number of calls at which these are determined again.
    far_at: u64,
    /// `true` if the function waits for others.
    pub(super) waits: bool,
    /// Tick of the clock.
    tick: Tick,
}

impl Slow {
    fn add(&mut self, other: Slow) {
        self.calls += other.calls;
        self.noticed += other.noticed;
        self.time = self.time.saturating_add(other.time);
        self.lost = self.lost.saturating_add(other.lost);
        self.usual = self.usual.saturating_add(other.usual);
        self.alarms += other.alarms;
        self.alarmed = self.alarmed.saturating_add(other.alarmed);
        self.in_means.extend(other.in_means);
        self.before = [self.before, other.before].into_iter().flatten().min();
        let steps = [self.steps, other.steps].into_iter().flatten();
        self.steps = steps.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)));
        for (rank, loss) in other.ranks {
            if let Some(own) = loss_of(&mut self.ranks, rank) {
                own.merge(&loss);
            }
        }
    }

    /// Adds a call of a rank with its usual run time in nanoseconds, and relative to the ranks that do not differ.
    fn call(&mut self, call: &InMeans, usual: (i64, i64), alarmed: Option<i64>) {
        let (of, time) = (&call.call, call.call.time.0);
        let lost = time.saturating_sub(usual.0).max(0);
        self.calls += 1;
        self.time = self.time.saturating_add(time);
        self.lost = self.lost.saturating_add(lost);
        self.usual = self.usual.saturating_add(usual.1);
        self.alarms += u64::from(alarmed.is_some());
        self.alarmed = self.alarmed.saturating_add(alarmed.unwrap_or(0));
        let (first, last) = self.steps.unwrap_or((of.step, of.step));
        self.steps = Some((first.min(of.step), last.max(of.step)));
        if let Some(own) = loss_of(&mut self.ranks, of.rank) {
            own.add(&SlowCall {
                step: of.step,
                time,
                lost,
                alarmed,
            });
        }
    }
}

/// Adds a call to the last ones.
fn keep<T>(calls: &mut VecDeque<T>, call: T) {
    if calls.len() >= IN_MEANS {
        calls.pop_front();
    }
    calls.push_back(call);
}

impl Times {
    /// Begins a batch of a rank, before its first call of the function.
    #[inline]
    pub(super) fn begin(&mut self, batch: u64, (rank, index): ((u32, u32), usize), waits: bool) {
        self.waits = waits;
        (self.batch, self.batch_calls) = (batch, (0, 0));
        if self.last.0 != index {
            let (before, bits) = self.last;
            self.remember(before, bits);
            self.last = (index, self.others.get(index).copied().unwrap_or_default());
        }
        let own = self.speeds.other(rank);
        self.has_other = self.speeds.is_confirmed();
        self.slow_speed = own.unwrap_or(0.0);
        self.scale = own
            .zip(self.speeds.common())
            .map_or(1.0, |(own, common)| common / own);
    }

    /// Adds a call to the last calls of the rank of the batch.
    #[inline]
    pub(super) fn note(&mut self, is_slow: bool) {
        self.last.1 = self.last.1 << 1 | u16::from(is_slow);
    }

    /// Returns `true` if nearly all of the last calls of the rank are slow: that is its speed, and no mode, also if it
    /// calls the function once in a step.
    pub(super) fn lasts(&self) -> bool {
        self.last.1.count_ones() >= NEARLY_ALL
    }

    /// Notes that slow calls are the speed of a rank, given by its index.
    pub(super) fn is_at_own_speed(&mut self, rank: usize) {
        if self.last.0 == rank {
            self.last.1 = u16::MAX;
        } else {
            self.remember(rank, u16::MAX);
        }
    }

    /// Keeps which of the last calls of a rank were slow.
    fn remember(&mut self, rank: usize, bits: u16) {
        if rank >= self.others.len() && rank < MOST_RANKS && bits != 0 {
            self.others.resize(rank + 1, 0);
        }
        if let Some(known) = self.others.get_mut(rank) {
            *known = bits;
        }
    }

    /// Returns the bin of a run time of the rank of the batch relative to its usual one.
    pub(super) fn bin(&self, time: Nanos) -> usize {
        bin_of(time, self.scale)
    }

    /// Adds the first calls of a batch of a rank, which show its usual run time.
    pub(super) fn sample(&mut self, rank: (u32, u32)) {
        let quantiles =
            || QUANTILES.map(|share| quantile((&self.bins, self.start), self.calls, share));
        self.speeds.add(rank, &self.sampled.1, quantiles);
    }

    #[inline]
    pub(super) fn count(&mut self, bin: usize) {
        self.calls += 1;
        if self.calls >= self.far_at {
            self.update_far();
        }
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

    /// Counts a call that was not judged.
    pub(super) fn count_early(&mut self, bin: usize, sample: &Sample) {
        self.tick.add(sample.runtime.0);
        *self.early.entry(bin).or_default() += 1;
    }

    /// Returns `true` if calls in a range of bins had a similar share in the first calls, which were not
    /// judged, as `calls` have in the later ones.
    pub(super) fn is_early(&self, (from, until): (usize, usize), calls: u64) -> bool {
        let early: u64 = self.early.values().sum();
        let own: u64 = self.early.range(from..until).map(|(_, count)| count).sum();
        let later = self.calls.saturating_sub(early).max(1);
        own > 0 && own as f64 / early as f64 >= EARLY_SHARE * calls as f64 / later as f64
    }

    /// Returns the index of the mode with a bin, which is added to `grown` if it extends to it.
    pub(super) fn including(
        &self,
        bin: usize,
        events: &mut [Event],
        grown: &mut BTreeSet<usize>,
    ) -> Option<usize> {
        let mut modes = self.modes.iter().copied();
        if let Some(mode) = modes.find(|mode| events[*mode].has(bin)) {
            if events[mode].new_range().is_some() {
                grown.insert(mode);
            }
            return Some(mode);
        }
        if bin < self.far.tail {
            return None;
        }
        let mut modes = self.modes.iter().copied();
        let mode = modes
            .find(|mode| events[*mode].extends(bin, |from, until| self.between(from, until)))?;
        grown.insert(mode);
        Some(mode)
    }

    /// Returns the index of the mode with a bin.
    pub(super) fn known(&self, bin: usize, events: &[Event]) -> Option<usize> {
        let mut modes = self.modes.iter().copied();
        modes.find(|mode| (events[*mode].bins.0..events[*mode].bins.1).contains(&bin))
    }

    /// Returns `true` for a call in a bin that is normal only because ranks differ: by calls of a slow rank, the
    /// detector learns that such run times occur. Shapes of their run times alone show whether they are a mode.
    pub(super) fn is_slow_on_its_rank(
        &self,
        bin: usize,
        sample: &Sample,
        judgement: &Judgement,
    ) -> bool {
        if judgement.label != Label::Normal {
            return false;
        }
        let expected = judgement.expected.map(|time| time.0 as f64);
        let (Some(common), Some(expected)) = (self.speeds.common(), expected) else {
            return false;
        };
        let (own, time) = (common / self.scale, sample.runtime.0 as f64);
        let rare = self.speeds.rare();
        let is_of_none = || {
            rare <= NOISE && time > rare * own && is_doubtful(sample, judgement, self.slow_speed)
        };
        let is_of_other = || {
            time > LONGER * own
                && self.is_of_other_rank(expected)
                && self.between(bin.saturating_sub(1), bin + 2) as f64 <= RARE * self.calls as f64
        };
        is_of_none() || is_of_other()
    }

    /// Returns the usual run time of a call that takes `time`, in nanoseconds: that of the normal calls of its rank, if
    /// known, or the expected one, unless it is that of another rank; and at least that of its rank if it is slow.
    pub(super) fn usual(&self, time: i64, of_rank: Option<i64>, expected: i64) -> i64 {
        let own = self
            .speeds
            .common()
            .map(|common| (common / self.scale) as i64);
        let is_of_other = |own: &i64| {
            expected as f64 > LONGER * *own as f64 && self.is_of_other_rank(expected as f64)
        };
        let usual = of_rank.or(own.filter(is_of_other)).unwrap_or(expected);
        let own = own.filter(|own| self.scale != 1.0 && (usual..time).contains(own));
        own.unwrap_or(usual)
    }

    /// Returns `true` for an expected time that is usual on other ranks, and longer than on that of the batch.
    fn is_of_other_rank(&self, expected: f64) -> bool {
        let own = self.speeds.common().map(|common| common / self.scale);
        let is_longer = |own: f64| expected > own && expected <= OTHER_WORK * own;
        self.speeds.is_confirmed() && own.is_some_and(is_longer) && self.speeds.is_usual(expected)
    }

    /// Returns the number of calls in a range of bins.
    pub(super) fn between(&self, from: usize, until: usize) -> u64 {
        let range = from.saturating_sub(self.start)..until.saturating_sub(self.start);
        let end = range.end.min(self.bins.len());
        let bins = self.bins.get(range.start.min(end)..end);
        bins.unwrap_or_default().iter().sum()
    }

    /// Returns the bins of a new mode that includes a bin: the first width of which a range stands out, and the
    /// one with the most slow calls among ranges of equal width.
    pub(super) fn mode(&self, bin: usize) -> Option<(usize, usize)> {
        // Sums of the slow calls and alarms before each bin in reach.
        let first = (bin + 1).saturating_sub(MOST_WIDTH);
        let mut sums = [(0, 0); 2 * MOST_WIDTH];
        for (at, slow) in self.slow.range(first..bin + MOST_WIDTH) {
            sums[at - first + 1] = (slow.noticed, slow.alarms);
        }
        for at in 1..sums.len() {
            let before = sums[at - 1];
            sums[at] = (sums[at].0 + before.0, sums[at].1 + before.1);
        }
        WIDTHS.into_iter().find_map(|width| {
            let slow = |from: usize| sums[from + width - first].0 - sums[from - first].0;
            let starts = (bin + 1).saturating_sub(width)..=bin;
            let (calls_slow, from) = starts.map(|from| (slow(from), from)).max()?;
            let alarms = sums[from + width - first].1 - sums[from - first].1;
            if calls_slow < CALLS || (width == MOST_WIDTH && 2 * alarms > calls_slow) {
                return None;
            }
            let until = from + width;
            let calls = self.between(from, until);
            // Below, half of the width: calls of a slow rank may be there.
            let beside = self
                .between(from.saturating_sub(width / 2), from)
                .max(self.between(until, until + width));
            // Most of them are slow calls, and not the tail of normal ones.
            let is_mode = 2 * calls_slow >= calls && calls >= CALLS + DEPTH * beside;
            is_mode.then_some((from, until))
        })
    }

    /// Returns the bins of a mode with the neighbouring ones to which it extends.
    pub(super) fn grown(&self, (mut from, mut until): (usize, usize)) -> (usize, usize) {
        loop {
            let least = from.saturating_sub(until - from).max(self.far.tail);
            let below = (least..from).rev();
            let above = until..until + (until - from);
            let mut beside = below
                .chain(above)
                .filter(|bin| self.between(*bin, bin + 1) > 0);
            let grown = beside.find_map(|bin| {
                Event::extended((from, until), bin, |from, until| self.between(from, until))
            });
            match grown {
                Some(bins) => (from, until) = bins,
                None => return (from, until),
            }
        }
    }

    /// Adds a slow call outside of known modes, with its usual run time in nanoseconds. `is_noticed` is `false` for a call
    /// that is only far above the usual run times.
    pub(super) fn add_slow(
        &mut self,
        bin: usize,
        call: InMeans,
        (sample, judgement): (&Sample, &Judgement),
        (usual, is_noticed): (i64, bool),
    ) {
        let before = self.calls.saturating_sub(1);
        self.tick.add(sample.runtime.0);
        let usual = (usual, self.relative(usual));
        let slow = self.slow.entry(bin).or_default();
        slow.before = slow.before.or(Some(before));
        let alarmed = judgement.severity(sample).0;
        slow.noticed += u64::from(is_noticed);
        slow.call(&call, usual, judgement.label.is_slow().then_some(alarmed));
        if !judgement.label.is_anomaly() {
            keep(&mut slow.in_means, call);
        }
    }

    /// Adds a normal call that may be in a mode, with its usual run time in nanoseconds.
    pub(super) fn add_doubtful(&mut self, bin: usize, call: InMeans, usual: i64) {
        let usual = (usual, self.relative(usual));
        keep(&mut self.doubtful, Doubtful { bin, call, usual });
    }

    /// Returns a time of the rank of the batch relative to the ranks that do not differ.
    fn relative(&self, time: i64) -> i64 {
        if self.scale == 1.0 {
            return time;
        }
        (time as f64 * self.scale) as i64
    }

    /// Takes the slow and doubtful calls in bins that are part of a mode from now on. Doubtful ones count since a
    /// step, or since the first slow call.
    pub(super) fn take(&mut self, (from, until): (usize, usize), since: Option<u64>) -> Slow {
        let bins: Vec<usize> = self.slow.range(from..until).map(|one| *one.0).collect();
        let mut all = Slow::default();
        for slow in bins.iter().filter_map(|bin| self.slow.remove(bin)) {
            all.add(slow);
        }
        let first = since.or(all.steps.map(|steps| steps.0)).unwrap_or(0);
        self.doubtful.retain(|one| {
            let is_in_mode = (from..until).contains(&one.bin);
            if is_in_mode && one.call.call.step >= first {
                all.call(&one.call, one.usual, None);
                all.in_means.push_back(one.call);
            }
            !is_in_mode
        });
        all
    }
}

/// Returns the bin of the run time of a call relative to the usual one of its rank.
#[inline]
pub(super) fn relative_bin(sample: &Sample, scale: f64) -> usize {
    bin_of(sample.runtime, scale)
}

#[inline]
fn bin_of(time: Nanos, scale: f64) -> usize {
    if scale == 1.0 {
        return bin(time.0);
    }
    bin((time.0 as f64 * scale) as i64)
}
