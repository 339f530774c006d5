//! [`RunTimes`]: run times of a function, which clients send to a server; modes of the slow calls of several clients.

use super::far::{Tick, WIDE_BINS};
use super::{CALLS, Doubtful, IN_MEANS, Slow, Times};
use crate::Result;
use crate::format_version::{Reader, Writer};
use crate::lost_time::modes::calls::ModeCalls;
use crate::lost_time::modes::new_mode::{SlowCall, WIDE, bin, edge};
use crate::lost_time::modes::shared::{Bins, SlowOfBin};
use crate::lost_time::own_speed::InMeans;
use perf_core::Merge;
use std::collections::{BTreeMap, BTreeSet};

/// Largest number of bins of run times: the times of an `i64` have fewer.
const MOST_BINS: u64 = 1 << 10;
/// Largest numbers of calls in a bin, of all calls and of slow ones, whose sums cannot overflow.
const MOST_CALLS: (u64, u64) = (1 << 48, 1 << 40);
/// Largest share of all calls that are in a mode of several clients.
const USUAL: f64 = 0.5;

/// Numbers of calls of a function by bin of their run times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::lost_time) struct RunTimes {
    /// `true` if the function waits for others.
    waits: bool,
    /// Tick of the clock.
    tick: Tick,
    /// First bin.
    start: usize,
    /// Numbers of calls from there on.
    bins: Vec<u64>,
}

impl RunTimes {
    /// Smallest encoded size in bytes, with the function.
    pub(in crate::lost_time) const LEAST: usize = 5;

    pub(in crate::lost_time) fn memory(&self) -> usize {
        size_of::<Self>() + self.bins.capacity() * size_of::<u64>()
    }

    pub(in crate::lost_time) fn write(&self, to: &mut Writer) {
        to.u8(self.waits.into());
        to.signed(self.tick.time());
        to.varint(self.start as u64);
        to.varint(self.bins.len() as u64);
        self.bins.iter().for_each(|calls| to.varint(*calls));
    }

    pub(in crate::lost_time) fn read(from: &mut Reader<'_>) -> Result<Self> {
        let waits = from.u8("a flag")? != 0;
        let mut tick = Tick::default();
        tick.add(from.signed("a time")?);
        let start = from.varint32("a bin")? as usize;
        let before = *from;
        let count = from.varint("a number of bins")?;
        if count > MOST_BINS {
            return Err(before.error(0, "at most 1,024 bins").into());
        }
        let bins = (0..count).map(|_| Ok(from.varint("a number of calls")?.min(MOST_CALLS.0)));
        Ok(RunTimes {
            waits,
            tick,
            start,
            bins: bins.collect::<Result<_>>()?,
        })
    }
}

/// Adds the calls of another client.
impl Merge for RunTimes {
    fn merge(&mut self, other: &Self) {
        if self.bins.is_empty() {
            self.clone_from(other);
            return;
        }
        if other.bins.is_empty() {
            return;
        }
        self.waits |= other.waits;
        self.tick.add(other.tick.time());
        let start = self.start.min(other.start);
        let end = (self.start + self.bins.len()).max(other.start + other.bins.len());
        // Bins of a damaged message may be far apart.
        if end - start > MOST_BINS as usize {
            return;
        }
        let more = self.start - start;
        self.bins.splice(0..0, std::iter::repeat_n(0, more));
        self.start = start;
        self.bins.resize(end - start, 0);
        let own = self.bins.iter_mut().skip(other.start - start);
        for (own, calls) in own.zip(&other.bins) {
            *own = own.saturating_add(*calls).min(MOST_CALLS.0);
        }
    }
}

impl Times {
    /// Returns the run times of all calls so far, as on most ranks.
    pub(in crate::lost_time) fn run_times(&self) -> RunTimes {
        let most = self.speeds.most();
        let mut all = RunTimes {
            waits: self.waits,
            tick: self.tick,
            start: self.start,
            bins: self.bins.clone(),
        };
        if most != 1.0 && !self.bins.is_empty() {
            all.start = moved(self.start, most);
            let end = moved(self.start + self.bins.len() - 1, most) + 1;
            all.bins = vec![0; end - all.start];
            for (calls, at) in self.bins.iter().zip(self.start..) {
                all.bins[moved(at, most) - all.start] += calls;
            }
        }
        all
    }

    /// Keeps a call that was not judged, because it may be slow.
    #[cold]
    pub(in crate::lost_time) fn keep_unjudged(&mut self, bin: usize, call: InMeans) {
        if self.unjudged.len() < IN_MEANS {
            let usual = (0, 0);
            self.unjudged.push(Doubtful { bin, call, usual });
        }
    }

    /// Returns the normal calls and those that were not judged above the tail of the usual run times, by program and rank.
    fn late(&self) -> impl Iterator<Item = ((u32, u32), &Doubtful)> {
        let all = self.doubtful.iter().chain(&self.unjudged);
        let late = all.filter(|one| self.is_unusual(one.bin));
        late.map(|one| (one.call.call.rank, one))
    }

    /// Returns the ranks with such calls; `None` while the usual run times are not known.
    pub(in crate::lost_time) fn late_ranks(&self) -> Option<BTreeSet<(u32, u32)>> {
        self.far
            .is_known()
            .then(|| self.late().map(|(rank, _)| rank).collect())
    }

    /// Returns the slow calls of ranks outside of modes, by rank and bin of their run times as on most ranks.
    pub(in crate::lost_time) fn slow_on(
        &self,
        ranks: &BTreeSet<(u32, u32)>,
    ) -> BTreeMap<(u32, u32), Bins> {
        let most = self.speeds.most();
        let mut all: BTreeMap<(u32, u32), Bins> =
            ranks.iter().map(|rank| (*rank, Bins::new())).collect();
        for (at, slow) in &self.slow {
            let bin = moved(*at, most) as u32;
            for (rank, own) in &slow.ranks {
                let Some(bins) = all.get_mut(rank) else {
                    continue;
                };
                let calls = own.calls.of_calls(slow.before.unwrap_or(0), self.calls);
                let noticed = slow.noticed.saturating_mul(calls.calls);
                bins.entry(bin).or_default().add(&SlowOfBin {
                    calls,
                    noticed: noticed.div_ceil(slow.calls.max(1)),
                    steps: own.steps.clone(),
                    ..SlowOfBin::default()
                });
            }
            for one in slow.in_means.iter().map(|one| one.call) {
                let own = all.get_mut(&one.rank);
                if let Some(known) = own.and_then(|bins| bins.get_mut(&bin)) {
                    known.in_means.add(one.step, one.time.0);
                }
            }
        }
        for (rank, one) in self.late() {
            let Some(bins) = all.get_mut(&rank) else {
                continue;
            };
            let (step, time) = (one.call.call.step, one.call.call.time.0);
            let usual = match one.usual.0 {
                0 => self.far.usual,
                usual => usual,
            };
            let lost = time.saturating_sub(usual).max(0);
            let call = SlowCall {
                step,
                time,
                lost,
                alarmed: None,
            };
            let mut slow = SlowOfBin {
                calls: ModeCalls::of(&call).of_calls(0, self.calls),
                ..SlowOfBin::default()
            };
            slow.steps.add(step, lost);
            slow.in_means.add(step, time);
            let bin = moved(one.bin, most) as u32;
            bins.entry(bin).or_default().add(&slow);
        }
        all
    }

    /// Creates the run times of the calls of several clients.
    pub(in crate::lost_time) fn pooled(all: &RunTimes) -> Self {
        let mut times = Times {
            bins: all.bins.clone(),
            start: all.start,
            calls: all.bins.iter().sum(),
            waits: all.waits,
            tick: all.tick,
            scale: 1.0,
            ..Times::default()
        };
        times.update_far();
        times
    }

    /// Adds slow calls of a client.
    pub(in crate::lost_time) fn add_pooled(&mut self, bin: usize, slow: &SlowOfBin) {
        self.slow.entry(bin).or_default().add(Slow {
            calls: slow.calls.calls.min(MOST_CALLS.1),
            noticed: slow.noticed.min(MOST_CALLS.1),
            alarms: slow.calls.alarms.min(slow.calls.calls).min(MOST_CALLS.1),
            ..Slow::default()
        });
    }

    /// Returns the bins of the modes that the slow calls of several clients are in: those of single clients, given with the
    /// numbers of their calls, and modes of the slow calls together.
    pub(in crate::lost_time) fn pooled_modes(
        mut self,
        known: impl Iterator<Item = ((usize, usize), u64)> + Clone,
    ) -> Vec<(usize, usize)> {
        let mut ranges: Vec<(usize, usize)> = Vec::new();
        for (bins, _) in known.clone() {
            let is_wide = edge(bins.1) as f64 >= WIDE * edge(bins.0) as f64;
            let bins = if is_wide { self.widened(bins) } else { bins };
            add_range(&mut ranges, self.grown(bins));
        }
        for range in &ranges {
            self.slow.retain(|bin, _| !(range.0..range.1).contains(bin));
        }
        let slow = self.slow.iter();
        let slow = slow.map(|(bin, slow)| (*bin, (slow.calls, slow.noticed)));
        let all: BTreeMap<usize, (u64, u64)> = slow.collect();
        // Calls above the tail of the usual run times are slow, whether or not a client knew.
        let (far, waits) = (self.far, self.waits);
        for (bin, slow) in &mut self.slow {
            if far.is_unusual(*bin, waits) {
                slow.noticed = slow.calls;
            }
        }
        for bin in all.keys() {
            let found = if !self.slow.contains_key(bin) {
                None
            } else if let Some(bins) = self.mode(*bin) {
                Some(self.grown(bins))
            } else {
                self.wide(*bin).map(|wide| wide.bins)
            };
            let Some((from, until)) = found else {
                continue;
            };
            // Most calls there are slow ones: otherwise they are the speed of ranks or steps.
            let own = all.range(from..until).map(|one| one.1);
            let (own, noticed) = own.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
            let in_known = known
                .clone()
                .filter(|(bins, _)| bins.0 < until && from < bins.1);
            let own = in_known.fold(own, |sum, one| sum.saturating_add(one.1));
            let calls = self.between(from, until);
            if noticed < CALLS
                || 2 * own.min(calls) < calls
                || calls as f64 > USUAL * self.calls as f64
            {
                continue;
            }
            self.slow.retain(|bin, _| !(from..until).contains(bin));
            add_range(&mut ranges, (from, until));
        }
        ranges
    }

    /// Returns the bins of a wide mode: all run times far above the usual ones.
    fn widened(&self, bins: (usize, usize)) -> (usize, usize) {
        let from = self.far.from;
        if !self.far.is_known() {
            return bins;
        }
        (bins.0.min(from), bins.1.max(from.saturating_add(WIDE_BINS)))
    }
}

/// Adds bins to ranges, of which those that overlap are one.
fn add_range(ranges: &mut Vec<(usize, usize)>, mut bins: (usize, usize)) {
    ranges.retain(|one| {
        let is_apart = one.1 <= bins.0 || bins.1 <= one.0;
        if !is_apart {
            bins = (bins.0.min(one.0), bins.1.max(one.1));
        }
        is_apart
    });
    ranges.push(bins);
}

/// Returns the bin of the run times of a bin on ranks that take `factor` times as long.
fn moved(at: usize, factor: f64) -> usize {
    if factor == 1.0 {
        return at;
    }
    bin((edge(at) as f64 * factor) as i64)
}
