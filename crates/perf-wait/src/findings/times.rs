//! [`Times`]: exclusive times of ranks and threads by call path; comparison of a location with its
//! [`Peers`], which depend on the kind of delay ([`HeldUpBy`]).

use crate::Result;
use crate::activity::Activities;
use crate::running_state;
use crate::waits::Pattern;
use crate::whatif::{Change, WhatIf};
use perf_core::{CallPathId, Job, LocationGroupId, LocationId, LocationKind, RegionId};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Locations that are held up by a delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum HeldUpBy {
    /// A rank that waits for another one.
    Rank,
    /// A thread that waits for another one of its team.
    Thread,
    /// A thread that waits for the next parallel region.
    Fork,
    /// An accelerator that waits for its host.
    Host,
    /// A host or stream that waits for an accelerator.
    Device,
}

impl HeldUpBy {
    /// Returns the kind of delay behind a wait state.
    pub(super) fn of(pattern: Pattern) -> Self {
        match pattern {
            Pattern::TeamBarrierWait | Pattern::LockContention => HeldUpBy::Thread,
            Pattern::IdleThread => HeldUpBy::Fork,
            Pattern::HostWait | Pattern::StreamWait => HeldUpBy::Device,
            Pattern::DeviceIdle => HeldUpBy::Host,
            _ => HeldUpBy::Rank,
        }
    }

    /// Returns `true` for threads that wait for others of their process.
    pub(super) fn is_of_threads(self) -> bool {
        matches!(self, HeldUpBy::Thread | HeldUpBy::Fork)
    }
}

/// Function whose time threads share, as its region. Call paths of the threads of a process differ. The state in which
/// a thread computes counts together with the function around it, which comes first.
pub(super) type Function = (Option<RegionId>, RegionId);

/// Locations whose times are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Peers {
    /// All ranks in a call path.
    Ranks(CallPathId),
    /// The threads of a process in a function.
    Threads(Option<LocationGroupId>, Function),
}

impl Peers {
    /// Returns the kind of waiting that delays of these peers cause.
    pub(super) fn held_up_by(self) -> HeldUpBy {
        match self {
            Peers::Ranks(_) => HeldUpBy::Rank,
            Peers::Threads(..) => HeldUpBy::Thread,
        }
    }

    /// Returns the call path or function, which is the same for the threads of all processes.
    pub(super) fn key(self) -> Self {
        match self {
            Peers::Threads(_, function) => Peers::Threads(None, function),
            ranks => ranks,
        }
    }
}

/// Exclusive times of each thread by call path, in ticks.
pub(super) struct Times<'a> {
    activities: &'a Activities,
    /// Ranks with calls, ascending.
    ranks: Vec<LocationId>,
    times: BTreeMap<LocationId, Vec<u64>>,
    /// Ascending times of all ranks in the call paths that were asked for.
    of_paths: RefCell<BTreeMap<CallPathId, Rc<[f64]>>>,
}

impl<'a> Times<'a> {
    /// Sums the times of all locations with calls.
    pub(super) fn of(activities: &'a Activities, whatif: &WhatIf<'_>, job: &Job) -> Result<Self> {
        let all = (0..).map(LocationId).zip(activities.locations());
        let with_calls = all.filter(|(_, own)| !own.calls.is_empty());
        let locations: Vec<LocationId> = with_calls.map(|it| it.0).collect();
        let times = whatif.path_times(&locations, job)?;
        let mut ranks = Change::ranks(activities);
        ranks.retain(|rank| locations.binary_search(rank).is_ok());
        ranks.sort_unstable();
        Ok(Times {
            activities,
            ranks,
            times: locations.into_iter().zip(times).collect(),
            of_paths: RefCell::default(),
        })
    }

    /// Returns the threads of a process.
    pub(super) fn threads(&self, process: Option<LocationGroupId>) -> Vec<LocationId> {
        let system = &self.activities.definitions().system;
        let threads = self.times.keys().copied();
        threads
            .filter(|it| system.process(*it) == process)
            .collect()
    }

    /// Returns `true` for a stream of an accelerator.
    pub(super) fn is_stream(&self, location: LocationId) -> bool {
        let location = self.activities.definitions().system.location(location);
        location.is_some_and(|it| it.kind == LocationKind::AcceleratorStream)
    }

    /// Returns the peers of a location, without itself.
    fn peers(&self, location: LocationId, by: HeldUpBy) -> Vec<LocationId> {
        let system = &self.activities.definitions().system;
        let others = self.times.keys().copied().filter(|it| *it != location);
        match by {
            HeldUpBy::Thread | HeldUpBy::Fork => others
                .filter(|it| !self.is_stream(*it))
                .filter(|it| system.process(*it) == system.process(location))
                .collect(),
            _ if self.is_stream(location) => {
                let name = |it: LocationId| system.location(it).map(|it| &it.name);
                others.filter(|it| name(*it) == name(location)).collect()
            }
            _ => others
                .filter(|it| self.ranks.binary_search(it).is_ok())
                .collect(),
        }
    }

    /// Returns the time of a location in a call path, the median of its peers, and their number. Threads of a process
    /// have different call paths: their time in the function counts.
    pub(super) fn own_and_peers(
        &self,
        location: LocationId,
        path: Option<CallPathId>,
        by: HeldUpBy,
    ) -> (f64, f64, usize) {
        let is_thread = by.is_of_threads();
        if let (false, false, Some(path)) = (is_thread, self.is_stream(location), path) {
            return self.own_and_ranks(location, path);
        }
        let function = path.filter(|_| is_thread);
        let function = function.and_then(|path| self.function(path));
        let inside = function.map(|it| self.ends_in(it));
        let time = |location: &LocationId| match (self.times.get(location), &inside) {
            (Some(times), Some(inside)) => {
                let own = times.iter().zip(inside).filter(|it| *it.1);
                own.map(|(ticks, _)| *ticks as f64).sum()
            }
            _ => path.map_or(0, |path| self.ticks(*location, path)) as f64,
        };
        let mut others: Vec<f64> = self.peers(location, by).iter().map(time).collect();
        others.sort_by(f64::total_cmp);
        // Without others to compare with, the median is 0.
        let median = others.get(others.len() / 2).copied().unwrap_or_default();
        (time(&location), median, others.len())
    }

    /// Returns the same for a call path of ranks, whose times are sorted once for all of them.
    fn own_and_ranks(&self, location: LocationId, path: CallPathId) -> (f64, f64, usize) {
        let own = self.ticks(location, path) as f64;
        let mut of_paths = self.of_paths.borrow_mut();
        let all = of_paths.entry(path).or_insert_with(|| {
            let mut times: Vec<f64> = self.of_ranks(path).map(|it| it.1).collect();
            times.sort_by(f64::total_cmp);
            times.into()
        });
        let is_among = self.ranks.binary_search(&location).is_ok();
        let count = all.len() - usize::from(is_among);
        let half = count / 2;
        // The list without the time of the location itself.
        let place = all.partition_point(|time| *time < own);
        let skips = is_among && place <= half;
        let median = all.get(half + usize::from(skips)).copied();
        (own, median.unwrap_or_default(), count)
    }
}

impl Times<'_> {
    /// Returns the function of a call path; see [`Function`].
    pub(super) fn function(&self, path: CallPathId) -> Option<Function> {
        let (paths, definitions) = (self.activities.paths(), self.activities.definitions());
        let region = paths.get(path)?.region;
        let around = match running_state::function(paths, definitions, path) {
            Some(own) if own == path => None,
            around => around.and_then(|it| paths.get(it)).map(|it| it.region),
        };
        Some((around, region))
    }

    /// Returns `true` for each call path that ends in a function.
    pub(super) fn ends_in(&self, function: Function) -> Vec<bool> {
        let paths = (0..self.activities.paths().paths().len()).filter_map(CallPathId::from_index);
        paths
            .map(|path| self.function(path) == Some(function))
            .collect()
    }

    /// Returns the locations that a delay in a call path is compared with, if several of them are in it.
    pub(super) fn peers_in(
        &self,
        location: LocationId,
        path: Option<CallPathId>,
        by: HeldUpBy,
    ) -> Option<Peers> {
        match by {
            HeldUpBy::Rank => Some(Peers::Ranks(path?)),
            HeldUpBy::Thread => {
                let process = self.activities.definitions().system.process(location);
                let peers = Peers::Threads(process, self.function(path?)?);
                let inside = self.of_peers(peers).into_iter().filter(|it| it.1 > 0.0);
                (inside.count() > 1).then_some(peers)
            }
            _ => None,
        }
    }

    /// Returns the time of each of some peers.
    pub(super) fn of_peers(&self, peers: Peers) -> Vec<(LocationId, f64)> {
        match peers {
            Peers::Ranks(path) => self.of_ranks(path).collect(),
            Peers::Threads(process, function) => {
                let inside = self.ends_in(function);
                let threads = self.threads(process).into_iter();
                let time = |id: &LocationId| {
                    let times = self.times.get(id).into_iter().flatten().zip(&inside);
                    let times = times.filter(|it| *it.1).map(|it| *it.0 as f64);
                    times.sum::<f64>()
                };
                let threads = threads.filter(|it| !self.is_stream(*it));
                threads.map(|id| (id, time(&id))).collect()
            }
        }
    }

    /// Returns the time of each rank in a call path.
    fn of_ranks(&self, path: CallPathId) -> impl Iterator<Item = (LocationId, f64)> + '_ {
        self.ranks
            .iter()
            .map(move |rank| (*rank, self.ticks(*rank, path) as f64))
    }

    /// Returns the time of a location in a call path, in ticks.
    fn ticks(&self, location: LocationId, path: CallPathId) -> u64 {
        let times = self.times.get(&location);
        let own = times.and_then(|times| times.get(path.index()).copied());
        own.unwrap_or_default()
    }
}

/// Returns the locations that take long: more than half way from the mean to the maximum. Few locations that are never
/// in the call path have another role, such as that of a master, and do not count.
pub(super) fn slow(times: &[(LocationId, f64)]) -> Vec<LocationId> {
    let inside = times.iter().filter(|it| it.1 > 0.0).count();
    let is_role = 2 * inside > times.len();
    let times = times.iter().filter(|it| !is_role || it.1 > 0.0);
    let times: Vec<&(LocationId, f64)> = times.collect();
    let mean = times.iter().map(|it| it.1).sum::<f64>() / times.len().max(1) as f64;
    let most = times.iter().map(|it| it.1).fold(0.0, f64::max);
    let limit = mean + (most - mean) / 2.0;
    let slow = times.into_iter().filter(|it| it.1 > limit);
    slow.map(|it| it.0).collect()
}

/// Returns the mean and the largest of some times.
pub(super) fn mean_and_most(times: &[(LocationId, f64)]) -> (f64, f64) {
    let mean = times.iter().map(|it| it.1).sum::<f64>() / times.len().max(1) as f64;
    (mean, times.iter().map(|it| it.1).fold(0.0, f64::max))
}

/// Returns the mean time of some locations, and the median of all others.
pub(super) fn slow_and_others(times: &[(LocationId, f64)], slow: &[LocationId]) -> (f64, f64) {
    let (inside, others): (Vec<_>, Vec<_>) = times
        .iter()
        .copied()
        .partition(|it: &(LocationId, f64)| slow.contains(&it.0));
    let sum: f64 = inside.iter().map(|it| it.1).sum();
    let mut others: Vec<f64> = others.into_iter().map(|it| it.1).collect();
    others.sort_by(f64::total_cmp);
    // Without others to compare with, the median is 0.
    let median = others.get(others.len() / 2).copied().unwrap_or_default();
    (sum / inside.len().max(1) as f64, median)
}
