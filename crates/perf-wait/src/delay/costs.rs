//! [`costs`]: computes the short-term and long-term costs of all delays from wait states and
//! timelines, and propagates them through wait states back in time.

use super::DelayCost;
use super::synchronisation::{Searched, Synchronisations, cause_time};
use crate::activity::{Activities, Call};
use crate::search::up_to;
use crate::timeline::Timelines;
use crate::waits::{Pattern, WaitState};
use crate::{Error, Result};
use perf_core::{CallPathId, Job, LocationId, Ticks, parallel};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;

/// Cause of a wait state: a location, between two times.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cause {
    location: LocationId,
    /// Call path of the call that was waited for.
    path: Option<CallPathId>,
    since: Ticks,
    until: Ticks,
}

impl Cause {
    /// Slot of the call that was waited for.
    fn slot(&self, timelines: &Timelines) -> usize {
        self.path.map_or(timelines.paths(), |path| path.index())
    }
}

/// Cost rates of the wait states, by kind. Rates are added to ranges of wait states. Each wait state is read once,
/// those of a location from the last one to the first.
struct Rates {
    kinds: usize,
    /// Change of the rate between a wait state and the one after it, by place and kind.
    changes: Vec<f64>,
    /// Rate of the last wait state of each location that was read, by kind.
    current: Vec<f64>,
    /// Places of the wait states of each location.
    places_of: Vec<Range<usize>>,
    /// Lowest place of each location that was read; the end of its places before the first read.
    read: Vec<usize>,
    /// Rates that were added to wait states after they had been read, as differences in a binary indexed tree by place
    /// and kind; empty if there are none.
    late: Vec<f64>,
    places: usize,
}

impl Rates {
    /// Creates rates of 0 for `count` wait states.
    fn new(count: usize, kinds: usize, places_of: Vec<Range<usize>>) -> Self {
        Rates {
            kinds,
            changes: vec![0.0; (count + 1) * kinds],
            current: vec![0.0; places_of.len() * kinds],
            read: places_of.iter().map(|places| places.end).collect(),
            places_of,
            late: Vec::new(),
            places: count,
        }
    }

    fn add(&mut self, kind: usize, location: LocationId, places: Range<usize>, rate: f64) {
        let read = self.read[location.index()];
        let unread = places.start..places.end.min(read);
        if !unread.is_empty() {
            // Reading goes down: the rate begins at the end of the range. Places at the border of two locations have no
            // changes.
            if unread.end == read {
                self.current[location.index() * self.kinds + kind] += rate;
            } else {
                self.changes[unread.end * self.kinds + kind] += rate;
            }
            if unread.start > self.places_of[location.index()].start {
                self.changes[unread.start * self.kinds + kind] -= rate;
            }
        }
        let late = places.start.max(read)..places.end;
        if !late.is_empty() {
            self.add_late(kind, late.start, rate);
            self.add_late(kind, late.end, -rate);
        }
    }

    /// Adds a rate of each kind to a range of wait states of a location, and sets `rates` to 0.
    fn add_all(&mut self, rates: &mut [f64], location: LocationId, places: &Range<usize>) {
        for (kind, rate) in rates.iter_mut().enumerate() {
            let rate = std::mem::take(rate);
            if rate != 0.0 && !places.is_empty() {
                self.add(kind, location, places.clone(), rate);
            }
        }
    }

    /// Returns the rates of a wait state, by kind. All later wait states of its location have been read.
    fn read(&mut self, location: LocationId, place: usize) -> &[f64] {
        let own = location.index() * self.kinds..(location.index() + 1) * self.kinds;
        let current = &mut self.current[own];
        // A change belongs to the place after it.
        while self.read[location.index()] > place {
            let at = self.read[location.index()];
            for (kind, rate) in current.iter_mut().enumerate() {
                *rate += std::mem::take(&mut self.changes[at * self.kinds + kind]);
            }
            self.read[location.index()] -= 1;
        }
        current
    }

    fn add_late(&mut self, kind: usize, from: usize, rate: f64) {
        if self.late.is_empty() {
            self.late = vec![0.0; (self.places + 2) * self.kinds];
        }
        let mut at = from + 1;
        while let Some(slot) = self.late.get_mut(at * self.kinds + kind) {
            *slot += rate;
            at += at & at.wrapping_neg();
        }
    }

    /// Returns the rate that a wait state got after it had been read.
    fn late(&self, kind: usize, place: usize) -> f64 {
        let (mut at, mut sum) = (place + 1, 0.0);
        while at > 0 {
            sum += self
                .late
                // The tree is empty until a rate is added late.
                .get(at * self.kinds + kind)
                .copied()
                .unwrap_or_default();
            at &= at - 1;
        }
        sum
    }
}

/// Key of a cost: kind, location and slot of the timelines.
type Key = (Pattern, LocationId, usize);

/// Costs by kind, location and slot of the timelines. Those that were added to last are found without a hash function.
#[derive(Default)]
struct Sums {
    places: HashMap<Key, usize>,
    sums: Vec<(f64, f64)>,
    recent: Vec<Option<(Key, usize)>>,
}

impl Sums {
    /// Number of recent keys, a power of 2.
    const RECENT: usize = 1 << 14;

    /// Returns the short-term and the long-term cost.
    fn get(&mut self, key: Key) -> &mut (f64, f64) {
        let (pattern, location, slot) = key;
        let at = slot
            .wrapping_mul(1_031)
            .wrapping_add(location.index().wrapping_mul(8_209))
            .wrapping_add(pattern as usize);
        self.recent.resize(Self::RECENT, None);
        let recent = &mut self.recent[at % Self::RECENT];
        let place = match recent.filter(|it| it.0 == key) {
            Some((_, place)) => place,
            None => {
                let next = self.sums.len();
                let place = *self.places.entry(key).or_insert(next);
                if place == next {
                    self.sums.push((0.0, 0.0));
                }
                *recent = Some((key, place));
                place
            }
        };
        &mut self.sums[place]
    }
}

/// Largest cost in ticks that is treated as a rounding error.
const ROUNDING: f64 = 1e-6;

/// Largest number of wait states whose excesses are found at once.
const MAX_BATCH: usize = 1 << 15;
/// Number of batches below the largest ones. Excesses take more memory than their wait states.
const BATCHES: usize = 32;
/// Number of wait states of a task.
const TASK: usize = 1 << 11;

/// Wait states in order of location and time, and the locations that they wait for.
struct Waits<'a> {
    activities: &'a Activities,
    states: &'a [&'a WaitState],
    /// Begin of each wait state.
    starts: Vec<Ticks>,
    /// Last synchronisation before each wait state.
    since: Vec<Ticks>,
    /// Places of the wait states of each location.
    places_of: Vec<Range<usize>>,
}

impl<'a> Waits<'a> {
    fn of(activities: &'a Activities, states: &'a [&'a WaitState], job: &Job) -> Result<Self> {
        let places_of = places_of(states, activities.locations().len());
        Ok(Waits {
            activities,
            states,
            starts: states.iter().map(|wait| wait.start).collect(),
            since: since(activities, states, &places_of, job)?,
            places_of,
        })
    }

    /// Returns the cause of a wait state.
    fn cause(&self, place: usize) -> Option<Cause> {
        let wait = self.states.get(place)?;
        let call = wait.cause?;
        Some(Cause {
            location: call.location,
            path: self.activities.call(call).and_then(Call::path),
            since: self.since[place],
            until: cause_time(self.activities, wait),
        })
    }

    /// Returns the places of the wait states of a cause.
    fn places(&self, cause: &Cause) -> Range<u32> {
        let all = self.places_of[cause.location.index()].clone();
        let own = &self.starts[all.clone()];
        let before = |time: Ticks| match time.0.checked_sub(1) {
            Some(before) => up_to(own, |start| start.0, before),
            None => 0,
        };
        let from = before(cause.since);
        let to = before(cause.until).max(from);
        // There are fewer than 2^32 wait states.
        (all.start + from) as u32..(all.start + to) as u32
    }
}

/// Excess of time of the causes of some wait states over the waiting locations.
#[derive(Default)]
struct Excesses {
    /// Cause of each wait state.
    causes: Vec<Option<Cause>>,
    /// Slots with an excess, one wait state after the other.
    slots: Vec<(u32, f64)>,
    /// End of the slots of each wait state, and the sum of its excesses.
    ends: Vec<(usize, f64)>,
    /// Places of the wait states of the cause since the last synchronisation.
    earlier: Vec<Range<u32>>,
}

impl Excesses {
    /// Finds the excesses of wait states, in their order.
    fn of(order: &[u32], waits: &Waits<'_>, timelines: &Timelines, job: &Job) -> Result<Self> {
        let mut found = Excesses::default();
        let (mut own, mut other) = (vec![0; timelines.width()], vec![0; timelines.width()]);
        // The members of a collective have one cause, and follow each other.
        let mut known: Option<Cause> = None;
        let mut checks = job.checks();
        for place in order {
            checks.next(64)?;
            let mut all = 0.0;
            let mut earlier = found.earlier.last().cloned().unwrap_or_default();
            let cause = waits.cause(*place as usize);
            found.causes.push(cause);
            if let Some(cause) = cause {
                let wait = waits.states[*place as usize];
                if known.replace(cause) != Some(cause) {
                    own.fill(0);
                    timelines.add(cause.location, cause.since, cause.until, &mut own);
                    earlier = waits.places(&cause);
                }
                other.fill(0);
                timelines.add(wait.call.location, cause.since, wait.start, &mut other);
                let slots = own.iter().zip(&other).take(timelines.paths());
                for ((own, other), slot) in slots.zip(0..) {
                    let excess = own.saturating_sub(*other) as f64;
                    if excess > 0.0 {
                        found.slots.push((slot, excess));
                        all += excess;
                    }
                }
            }
            found.ends.push((found.slots.len(), all));
            found.earlier.push(earlier);
        }
        Ok(found)
    }

    /// Returns the excesses of a wait state.
    fn get(&self, place: usize) -> Excess<'_> {
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before].0);
        let (end, all) = self.ends[place];
        let earlier = &self.earlier[place];
        Excess {
            slots: &self.slots[start..end],
            all,
            earlier: earlier.start as usize..earlier.end as usize,
        }
    }
}

/// Excess of time of the cause of a wait state.
struct Excess<'a> {
    slots: &'a [(u32, f64)],
    /// Sum of all slots.
    all: f64,
    /// Places of the wait states of the cause since the last synchronisation.
    earlier: Range<usize>,
}

/// Returns the places of the wait states of each location.
fn places_of(waits: &[&WaitState], locations: usize) -> Vec<Range<usize>> {
    let mut places = vec![0..0; locations];
    for (place, wait) in waits.iter().enumerate() {
        if let Some(own) = places.get_mut(wait.call.location.index()) {
            if own.end == 0 {
                own.start = place;
            }
            own.end = place + 1;
        }
    }
    places
}

/// Returns the places of the wait states by descending end. The places of one location are in descending order.
fn by_end(waits: &[&WaitState], job: &Job) -> Result<Vec<u32>> {
    let mut order: Vec<(Reverse<u64>, Reverse<u32>)> = Vec::with_capacity(waits.len());
    let mut before: Option<(LocationId, u64)> = None;
    for (wait, place) in waits.iter().zip(0..) {
        let own = wait.start.0.saturating_add(wait.ticks);
        let earlier = before.filter(|(location, _)| *location == wait.call.location);
        let end = earlier.map_or(own, |(_, end)| own.max(end));
        before = Some((wait.call.location, end));
        order.push((Reverse(end), Reverse(place)));
    }
    parallel::sort(&mut order, job)?;
    Ok(order.into_iter().map(|(_, place)| place.0).collect())
}

/// Returns the costs of all delays. `waits` are in order of location and time.
pub(super) fn costs(
    activities: &Activities,
    waits: &[&WaitState],
    timelines: &Timelines,
    job: &Job,
) -> Result<Vec<DelayCost>> {
    if u32::try_from(waits.len()).is_err() {
        return Err(Error::TooMany {
            what: "wait states",
            limit: u64::from(u32::MAX),
        });
    }
    let all = Waits::of(activities, waits, job)?;
    let mut before = Vec::with_capacity(waits.len() + 1);
    let mut sum = 0_u64;
    before.push(sum);
    for wait in waits {
        sum = sum.saturating_add(wait.ticks);
        before.push(sum);
    }
    let order = by_end(waits, job)?;
    let kinds = Pattern::ALL.into_iter();
    let kinds: Vec<Pattern> = kinds
        .filter(|kind| waits.iter().any(|wait| wait.pattern == *kind))
        .collect();
    let mut costing = Costing {
        waits,
        timelines,
        rates: Rates::new(waits.len(), kinds.len(), all.places_of.clone()),
        pending: vec![0.0; kinds.len()],
        kinds,
        sums: Sums::default(),
        known: None,
        earlier: 0..0,
        waiting: 0.0,
    };
    let find = |batch: &[u32]| {
        parallel::try_map(parallel::chunk_count(batch.len(), TASK), |number| {
            let own = &batch[parallel::chunk(batch.len(), TASK, number)];
            Excesses::of(own, &all, timelines, job)
        })
    };
    // The excesses of the next batch are found while the costs of one are added.
    let batch = (order.len() / BATCHES).clamp(2 * TASK, MAX_BATCH);
    let mut batches = order.chunks(batch);
    let mut batch = batches.next().unwrap_or_default();
    let mut found = find(batch);
    while !batch.is_empty() {
        let excesses = found?;
        let next = batches.next().unwrap_or_default();
        let (mut later, mut added) = (Ok(Vec::new()), Ok(()));
        parallel::join(&mut || later = find(next), &mut || {
            added = costing.add_batch(batch, &excesses, &before, job);
        });
        added?;
        (batch, found) = (next, later);
    }
    costing.finish(&all, job)
}

/// Costs of the delays so far. Wait states are added by descending end.
struct Costing<'a> {
    waits: &'a [&'a WaitState],
    timelines: &'a Timelines,
    kinds: Vec<Pattern>,
    rates: Rates,
    sums: Sums,
    /// Cause of the last wait state.
    known: Option<Cause>,
    /// Places of the wait states of this cause since the last synchronisation.
    earlier: Range<usize>,
    /// Time of these wait states in ticks.
    waiting: f64,
    /// Rates that the wait states of this cause propagate to its `earlier` wait states, by kind.
    pending: Vec<f64>,
}

impl Costing<'_> {
    /// Adds the costs of wait states whose excesses were found in tasks.
    fn add_batch(
        &mut self,
        batch: &[u32],
        found: &[Excesses],
        before: &[u64],
        job: &Job,
    ) -> Result<()> {
        let mut checks = job.checks();
        for (own, excesses) in batch.chunks(TASK).zip(found) {
            for (number, place) in own.iter().enumerate() {
                checks.next(8)?;
                if let Some(cause) = excesses.causes[number] {
                    self.add(*place as usize, cause, before, excesses.get(number));
                }
            }
        }
        Ok(())
    }

    /// Adds the costs of a wait state with these excesses.
    fn add(&mut self, place: usize, cause: Cause, before: &[u64], excess: Excess<'_>) {
        let wait = self.waits[place];
        if self.known != Some(cause) {
            if let Some(known) = self.known.replace(cause) {
                let earlier = self.earlier.clone();
                self.rates
                    .add_all(&mut self.pending, known.location, &earlier);
            }
            self.earlier = excess.earlier;
            self.waiting = (before[self.earlier.end] - before[self.earlier.start]) as f64;
        }
        let all = excess.all + self.waiting;
        let rates = self.rates.read(wait.call.location, place);
        for ((kind, pattern), rate) in self.kinds.iter().enumerate().zip(rates) {
            // Rates are sums and differences: what rounding leaves of them is no cost.
            let cost = Some(rate * wait.ticks as f64).filter(|cost| cost.abs() > ROUNDING);
            let cost = cost.unwrap_or_default();
            let short = if *pattern == wait.pattern {
                wait.ticks as f64
            } else {
                0.0
            };
            if short + cost <= 0.0 {
                continue;
            }
            let sums = &mut self.sums;
            let mut add = |slot: usize, share: f64| {
                let sum = sums.get((*pattern, cause.location, slot));
                *sum = (sum.0 + short * share, sum.1 + cost * share);
            };
            if all <= 0.0 {
                add(cause.slot(self.timelines), 1.0);
                continue;
            }
            for (slot, excess) in excess.slots {
                add(*slot as usize, excess / all);
            }
            self.pending[kind] += (short + cost) / all;
        }
    }

    /// Returns the costs by kind, location and call path.
    fn finish(mut self, waits: &Waits<'_>, job: &Job) -> Result<Vec<DelayCost>> {
        if let Some(known) = self.known {
            let earlier = self.earlier.clone();
            self.rates
                .add_all(&mut self.pending, known.location, &earlier);
        }
        // Where clocks disagree, a wait state may get costs after it has passed them on.
        if !self.rates.late.is_empty() {
            let mut checks = job.checks();
            for (place, wait) in self.waits.iter().enumerate() {
                checks.next(64)?;
                let Some(cause) = waits.cause(place) else {
                    continue;
                };
                for (kind, pattern) in self.kinds.iter().enumerate() {
                    let rest = self.rates.late(kind, place) * wait.ticks as f64;
                    if rest.abs() > wait.ticks as f64 * 1e-9 {
                        let key = (*pattern, cause.location, cause.slot(self.timelines));
                        self.sums.get(key).1 += rest;
                    }
                }
            }
        }
        let Sums { places, sums, .. } = self.sums;
        let sums = places.into_iter().map(|(key, place)| (key, sums[place]));
        let mut sums: Vec<_> = sums.collect();
        sums.sort_unstable_by_key(|it| it.0);
        let cost = |((pattern, location, slot), (short, long))| DelayCost {
            pattern,
            location,
            path: self.timelines.path(slot),
            short,
            long,
        };
        Ok(sums.into_iter().map(cost).collect())
    }
}

/// Returns the last synchronisation before each wait state. Those of a location are found together.
fn since(
    activities: &Activities,
    waits: &[&WaitState],
    places_of: &[Range<usize>],
    job: &Job,
) -> Result<Vec<Ticks>> {
    let synchronisations = Synchronisations::of(activities, waits, places_of, job)?;
    let parts = parallel::try_map(places_of.len(), |number| {
        let own = &waits[places_of[number].clone()];
        let mut searched = Searched::new();
        let mut checks = job.checks();
        let mut found = Vec::with_capacity(own.len());
        for wait in own {
            checks.next(8)?;
            found.push(wait.cause.map_or(Ticks(0), |call| {
                let until = cause_time(activities, wait);
                synchronisations.before(wait, call.location, until, &mut searched)
            }));
        }
        Ok::<_, Error>(found)
    })?;
    Ok(parts.concat())
}
