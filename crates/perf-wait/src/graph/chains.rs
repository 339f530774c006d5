//! [`ChainGraph`]: dependencies of a program, with activities that only follow each other joined to
//! chains, and its replay; [`Durations`]: compact durations of activities.
//!
//! Most activities of a program wait for nothing but the activity before them on their location, and nothing else waits
//! for them. Such activities are replayed as one. A graph of chains has a fraction of the nodes of an
//! [`ActivityGraph`](super::ActivityGraph), which a replay visits in the order of memory.

use super::ActivityId;
use super::builder::{list, lists};
use crate::{Error, Result};
use perf_core::{Job, Nanos, parallel};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Durations of activities. Few of them exceed two seconds; the others take four bytes each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Durations {
    short: Vec<i32>,
    long: HashMap<u32, Nanos>,
}

/// Durations of consecutive activities, which a task of its own sets.
#[derive(Debug)]
pub(crate) struct DurationsPart<'a> {
    first: u32,
    short: &'a mut [i32],
    long: Vec<(u32, Nanos)>,
}

impl DurationsPart<'_> {
    /// Sets a duration by its number in the part.
    pub(crate) fn set(&mut self, number: usize, duration: Nanos) {
        if let Some(slot) = self.short.get_mut(number) {
            *slot = i32::try_from(duration.0).unwrap_or(LONG);
            if *slot == LONG {
                self.long.push((self.first + number as u32, duration));
            }
        }
    }
}

/// Mark of a duration that is in the map.
const LONG: i32 = i32::MIN;

impl Durations {
    /// Creates durations of 0.
    pub(crate) fn zero(count: usize) -> Self {
        Durations {
            short: vec![0; count],
            long: HashMap::new(),
        }
    }

    /// Returns a duration; 0 for an activity that does not exist.
    pub(crate) fn get(&self, id: ActivityId) -> Nanos {
        match self.short.get(id.index()) {
            Some(&LONG) => self.long.get(&id.0).copied().unwrap_or_default(),
            Some(short) => Nanos(i64::from(*short)),
            None => Nanos(0),
        }
    }

    /// Replaces a duration.
    pub(crate) fn set(&mut self, id: ActivityId, duration: Nanos) {
        let Some(slot) = self.short.get_mut(id.index()) else {
            return;
        };
        *slot = i32::try_from(duration.0).unwrap_or(LONG);
        if *slot == LONG {
            self.long.insert(id.0, duration);
        }
    }

    /// Replaces the durations of consecutive parts of the activities, each in a task of its own. A part begins at each of
    /// `starts`, ascending, and `fill` sets durations by their number in the part.
    pub(crate) fn fill_parts(
        &mut self,
        starts: &[u32],
        job: &Job,
        fill: impl Fn(usize, &mut DurationsPart<'_>) + Sync,
    ) -> Result<()> {
        let mut rest = self.short.as_mut_slice();
        let mut at = 0;
        let ends = starts
            .iter()
            .skip(1)
            .map(|end| *end as usize)
            .chain([usize::MAX]);
        let mut parts = Vec::with_capacity(starts.len());
        for (start, end) in starts.iter().zip(ends) {
            let (_, own) = rest.split_at_mut((*start as usize - at).min(rest.len()));
            let length = end.saturating_sub(*start as usize).min(own.len());
            let (own, later) = own.split_at_mut(length);
            parts.push(Mutex::new(DurationsPart {
                first: *start,
                short: own,
                long: Vec::new(),
            }));
            (rest, at) = (later, *start as usize + length);
        }
        let long = parallel::try_map(parts.len(), |number| {
            job.check()?;
            let mut part = parts[number].lock().unwrap_or_else(PoisonError::into_inner);
            fill(number, &mut part);
            Ok::<_, Error>(std::mem::take(&mut part.long))
        })?;
        self.long.extend(long.into_iter().flatten());
        Ok(())
    }

    fn ids(&self) -> impl Iterator<Item = ActivityId> + use<> {
        (0..self.short.len() as u32).map(ActivityId)
    }
}

/// Set of activities that answers how many of them precede another one.
#[derive(Debug, Default)]
struct Heads {
    words: Vec<u64>,
    /// Number of activities of the set before each word.
    before: Vec<u32>,
}

impl Heads {
    fn insert(&mut self, id: u32) {
        if let Some(word) = self.words.get_mut(id as usize / 64) {
            *word |= 1 << (id % 64);
        }
    }

    fn contains(&self, id: u32) -> bool {
        let word = self.words.get(id as usize / 64);
        word.is_some_and(|word| word >> (id % 64) & 1 == 1)
    }

    /// Counts the activities before each word, and returns their number.
    fn count(&mut self) -> u32 {
        let mut sum = 0;
        self.before.clear();
        for word in &self.words {
            self.before.push(sum);
            sum += word.count_ones();
        }
        sum
    }

    /// Returns the number of the chain of an activity. The first activity of all is in the set.
    fn chain(&self, id: u32) -> u32 {
        let at = id as usize / 64;
        let until = self.words[at] & (u64::MAX >> (63 - id % 64));
        self.before[at] + until.count_ones() - 1
    }
}

/// Activities that can never begin.
pub(super) struct Stuck {
    /// The first one.
    pub(super) activity: u32,
    /// Their number.
    pub(super) count: usize,
}

/// Chains of activities with their dependencies, in an order of replay.
#[derive(Debug)]
pub(crate) struct ChainGraph {
    /// First activity of each chain.
    heads: Heads,
    /// Place of each chain in the order of replay.
    places: Vec<u32>,
    /// Start of the dependencies of each place in `before`, and the end.
    starts: Vec<u32>,
    /// Places of the chains that each place depends on, all of them before it.
    before: Vec<u32>,
}

impl ChainGraph {
    /// Joins activities to chains and orders them.
    ///
    /// Each activity depends on the one before it, apart from the `firsts`, and on others by `edges` of an activity and
    /// one that it depends on. An activity of negative duration is a chain of its own, so that no activity of a chain
    /// ends after the chain.
    pub(super) fn new(
        durations: &Durations,
        firsts: impl Iterator<Item = u32> + Clone,
        edges: &[(u32, u32)],
        job: &Job,
    ) -> Result<std::result::Result<Self, Stuck>> {
        let count = durations.short.len();
        let mut heads = Heads {
            words: vec![0; count.div_ceil(64)],
            before: Vec::new(),
        };
        for first in firsts.clone().filter(|it| (*it as usize) < count) {
            heads.insert(first);
        }
        let insert_after = |heads: &mut Heads, id: u32| {
            if id as usize + 1 < count {
                heads.insert(id + 1);
            }
        };
        for (activity, before) in edges {
            heads.insert(*activity);
            insert_after(&mut heads, *before);
        }
        for id in durations.ids() {
            if durations.get(id) < Nanos(0) {
                heads.insert(id.0);
                insert_after(&mut heads, id.0);
            }
        }
        let chains = heads.count();
        let chain = |id: u32| heads.chain(id);
        // Chains that do not follow the one before them.
        let mut is_first = vec![false; chains as usize];
        for first in firsts.filter(|it| (*it as usize) < count) {
            is_first[chain(first) as usize] = true;
        }
        let places = {
            let reversed = edges
                .iter()
                .map(|(id, before)| (chain(*before), chain(*id)));
            let (next, after) = lists(chains as usize, reversed, job)?;
            let mut missing: Vec<u32> = is_first.iter().map(|it| u32::from(!it)).collect();
            for (id, _) in edges {
                missing[chain(*id) as usize] += 1;
            }
            // Chains that can begin. The one that follows on the same location comes next, so that neighbours in memory
            // are replayed together.
            let mut free: Vec<u32> = (0..chains)
                .filter(|it| missing[*it as usize] == 0)
                .collect();
            free.reverse();
            let mut places = vec![u32::MAX; chains as usize];
            let (mut place, mut checks) = (0, job.checks());
            while let Some(own) = free.pop() {
                checks.next(1)?;
                places[own as usize] = place;
                place += 1;
                let follower =
                    Some(own + 1).filter(|it| is_first.get(*it as usize) == Some(&false));
                for later in list(&next, &after, own).iter().copied().chain(follower) {
                    let left = &mut missing[later as usize];
                    *left -= 1;
                    if *left == 0 {
                        free.push(later);
                    }
                }
            }
            if place < chains {
                let is_stuck = |id: &ActivityId| places[chain(id.0) as usize] == u32::MAX;
                let mut stuck = durations.ids().filter(is_stuck);
                return Ok(Err(Stuck {
                    activity: stuck.next().unwrap_or_default().0,
                    count: stuck.count() + 1,
                }));
            }
            places
        };
        let place = |chain: u32| places[chain as usize];
        let followers = (1..chains).filter(|it| !is_first[*it as usize]);
        let before = followers.map(|it| (place(it), place(it - 1)));
        let before = before.chain(
            edges
                .iter()
                .map(|(id, before)| (place(chain(*id)), place(chain(*before)))),
        );
        let (starts, before) = lists(chains as usize, before, job)?;
        Ok(Ok(ChainGraph {
            heads,
            places,
            starts,
            before,
        }))
    }

    /// Returns the duration of each chain, for [`replay`](Self::replay).
    pub(crate) fn sums(&self, durations: &Durations) -> Vec<Nanos> {
        let mut sums = vec![Nanos(0); self.places.len()];
        let mut places = self.places.iter().copied();
        let (mut place, mut sum) = (0, Nanos(0));
        for id in durations.ids() {
            if self.heads.contains(id.0)
                && let Some(next) = places.next()
            {
                if let Some(slot) = sums.get_mut(place) {
                    *slot = sum;
                }
                (place, sum) = (next as usize, Nanos(0));
            }
            sum = sum.saturating_add(durations.get(id));
        }
        if let Some(slot) = sums.get_mut(place) {
            *slot = sum;
        }
        sums
    }

    /// Returns the place of an activity in the lists of [`sums`](Self::sums) and [`replay`](Self::replay).
    pub(crate) fn place(&self, id: ActivityId) -> usize {
        self.places[self.heads.chain(id.0) as usize] as usize
    }

    /// Replays the chains: replaces the duration of each by its end, and returns the latest end.
    pub(crate) fn replay(&self, times: &mut [Nanos], job: &Job) -> Result<Nanos> {
        let mut checks = job.checks();
        let mut latest: Option<Nanos> = None;
        for (place, range) in self.starts.windows(2).enumerate() {
            let before = &self.before[range[0] as usize..range[1] as usize];
            checks.next(before.len() + 1)?;
            let ends = before.iter().map(|it| times[*it as usize]);
            let end = ends.fold(Nanos(0), Nanos::max).saturating_add(times[place]);
            times[place] = end;
            latest = latest.max(Some(end));
        }
        Ok(latest.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Activities of locations of these lengths: their durations, the first of each location, and the place of each on
    /// its location.
    fn activities(lengths: &[usize], some: &[i64]) -> (Durations, Vec<u32>, Vec<usize>) {
        let places = lengths.iter().flat_map(|length| 0..*length);
        let places: Vec<usize> = places.collect();
        let mut durations = Durations::zero(places.len());
        for (id, duration) in durations.ids().zip(some.iter().cycle()) {
            durations.set(id, Nanos(*duration));
        }
        let mut sum = 0;
        let firsts = lengths.iter().map(|length| {
            sum += *length as u32;
            sum - *length as u32
        });
        (durations, firsts.collect(), places)
    }

    proptest! {
        #[test]
        fn replay_of_chains_is_that_of_their_activities(
            lengths in prop::collection::vec(0usize..12, 1..8),
            some in prop::collection::vec(prop_oneof![8 => 0i64..50, 1 => -9i64..0, 1 => Just(5_000_000_000)], 1..60),
            pairs in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..30),
        ) {
            let (durations, firsts, places) = activities(&lengths, &some);
            let count = places.len();
            prop_assume!(count > 0);
            // An activity waits for those of a lower place on their location, so that there are no cycles.
            let pairs = pairs.iter().map(|(a, b)| (a.index(count), b.index(count)));
            let edges = pairs.filter(|(a, b)| places[*b] < places[*a]);
            let edges: Vec<(u32, u32)> = edges.map(|(a, b)| (a as u32, b as u32)).collect();

            let mut ends = vec![0; count];
            let mut order: Vec<usize> = (0..count).collect();
            order.sort_by_key(|id| places[*id]);
            for id in order {
                let own = (places[id] > 0).then(|| ends[id - 1]);
                let others = edges.iter().filter(|edge| edge.0 as usize == id);
                let others = others.map(|edge| ends[edge.1 as usize]);
                let ready = others.chain(own).fold(0, i64::max);
                ends[id] = ready + durations.get(ActivityId(id as u32)).0;
            }

            let job = Job::default();
            let graph = ChainGraph::new(&durations, firsts.iter().copied(), &edges, &job).unwrap();
            let Ok(graph) = graph else { panic!("there is no cycle") };
            let mut times = graph.sums(&durations);
            let latest = graph.replay(&mut times, &job).unwrap();
            prop_assert_eq!(Some(latest.0), ends.iter().copied().max());
            for (id, end) in (0..).map(ActivityId).zip(&ends) {
                let is_last = id.index() + 1 == count || graph.heads.contains(id.0 + 1);
                prop_assert!(!is_last || times[graph.place(id)].0 == *end);
            }
        }
    }
}
