//! [`WhatIf`]: replays a program, also with a given [`Dependency`] between calls, with other
//! durations; returns its run time ([`Answer`]), the cost of [`Imbalance`], and the time that
//! balancing saves.
//!
//! Each location is a sequence of bursts of computation and MPI calls. A burst lasts as long as recorded. A call ends
//! when all that it waits for has happened, and after its transfer time: the rest of its recorded duration.
//!
//! | call | waits for |
//! |---|---|
//! | receive, or the wait that completes it | enter of the call that sends |
//! | send that waited for its receive, or the wait that completes it | enter of the call that posts the receive |
//! | barrier; N-to-N with data | enter of all members |
//! | 1-to-N, member that receives data | enter of the root |
//! | N-to-1, root | enter of all members that send data |
//! | prefix operation | enter of all members of lower rank |
//! | barrier of a team | enter of all its threads |
//! | idle thread | fork of the next parallel region |
//! | acquisition of a lock | nothing: it takes its recorded time, because other times change the order of the threads |
//! | work of an accelerator | enter of the call that launches it, and the work before it on the stream |
//! | call that synchronises with an accelerator | work that it waited for |
//! | any, by [`Dependencies`] | end of another call |
//!
//! The replay with the recorded durations gives the recorded run time; [`Answer::identity`] reports it. Sends that did not
//! wait in the recording do not wait in a replay either, and neither do calls that synchronise with an accelerator after
//! its work has ended.
//!
//! Without imbalance, each burst takes the mean of its peers: the bursts before the n-th call of the same call path on all
//! locations. Each call takes the median transfer time of its call path.

mod build;
mod change;
mod teams;
mod without;

pub use change::{Change, ChangeError};
pub(crate) use without::distribute;
pub use without::{Excess, WithoutExcess};

use crate::activity::{Activities, Call, CallId, CallKind};
use crate::graph::{ActivityId, Burst, ChainGraph, Durations, Places};
use crate::timeline::TimelineReader;
use crate::{Error, Result};
use perf_core::{CallPathId, Job, LocationId, Nanos, RegionId, Table, TraceView, parallel};
use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

/// Dependency between two calls that the messages and collectives of a trace do not imply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Dependency {
    /// The call that waits. It does not end before `on` has ended.
    pub call: CallId,
    /// The call that it waits for.
    pub on: CallId,
}

/// Dependencies of a program that its recording does not contain.
pub trait Dependencies {
    /// Returns the dependencies between the calls of a trace.
    fn dependencies(&self, activities: &Activities) -> Vec<Dependency>;
}

/// A list of dependencies; the empty one for none.
impl Dependencies for [Dependency] {
    fn dependencies(&self, _: &Activities) -> Vec<Dependency> {
        self.to_vec()
    }
}

/// Call paths of the calls before and after a burst. Threads of a team have different call paths: for their barriers it is
/// the function alone.
type PeerKey = (Option<CallPathId>, Option<CallPathId>, Option<RegionId>);

/// Bursts in groups of peers, the n-th of a kind on all locations.
#[derive(Debug, Default)]
struct Peers {
    /// Activities of the bursts, one group after the other, each in the order of locations.
    bursts: Vec<ActivityId>,
    /// End of each group.
    ends: Vec<u32>,
}

impl Peers {
    fn groups(&self) -> impl Iterator<Item = &[ActivityId]> {
        let mut start = 0;
        self.ends.iter().map(move |end| {
            let group = self.bursts.get(start..*end as usize);
            start = *end as usize;
            group.unwrap_or_default()
        })
    }
}

/// Numbers of the kinds of bursts in order of their first occurrence.
#[derive(Default)]
struct KindNumbers {
    numbers: HashMap<PeerKey, usize>,
    /// Kinds that were asked for last, by the lowest bits of their call paths. Programs have few kinds in turn.
    recent: Vec<Option<(PeerKey, usize)>>,
}

impl KindNumbers {
    /// Number of recent kinds, a power of 2.
    const RECENT: usize = 64;

    /// Returns the number of a kind, which is the number of kinds before if it is new.
    fn number(&mut self, key: PeerKey) -> usize {
        let bits = |path: Option<CallPathId>| path.map_or(0, |path| path.index() + 1);
        let at = bits(key.1).wrapping_add(bits(key.0).wrapping_mul(7)) % Self::RECENT;
        self.recent.resize(Self::RECENT, None);
        if let Some((_, number)) = self.recent[at].filter(|it| it.0 == key) {
            return number;
        }
        let next = self.numbers.len();
        let number = *self.numbers.entry(key).or_insert(next);
        self.recent[at] = Some((key, number));
        number
    }
}

/// Number of bursts of each kind on the current location.
#[derive(Default)]
struct PlaceCounts {
    location: Option<LocationId>,
    counts: Vec<usize>,
}

impl PlaceCounts {
    /// Returns the number of earlier bursts of a kind on a location. Bursts are counted location by location.
    fn next(&mut self, location: LocationId, kind: usize) -> usize {
        if self.location.replace(location) != Some(location) {
            self.counts.fill(0);
        }
        if kind >= self.counts.len() {
            self.counts.resize(kind + 1, 0);
        }
        self.counts[kind] += 1;
        self.counts[kind] - 1
    }
}

/// A program that can be replayed with other durations.
#[derive(Debug)]
pub struct WhatIf<'a> {
    activities: &'a Activities,
    timelines: TimelineReader<'a>,
    graph: ChainGraph,
    /// Recorded duration of each activity.
    durations: Durations,
    /// Run time of the replay with the recorded durations.
    identity: Nanos,
    places: Places,
    /// Bursts before the n-th calls of a call path.
    peers: OnceLock<Peers>,
    /// The n-th bursts between calls of two call paths.
    neighbours: OnceLock<Peers>,
}

/// Answer to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Answer {
    /// Recorded run time.
    pub recorded: Nanos,
    /// Run time of the replay with the recorded durations. Its difference to the recorded run time is the error of the
    /// replay.
    pub identity: Nanos,
    /// Run time of the replay with the changes.
    pub runtime: Nanos,
}

impl Answer {
    /// Returns the time that the changes save; negative if they cost time.
    pub fn saved(&self) -> Nanos {
        self.identity.saturating_sub(self.runtime)
    }
}

/// Cost of the imbalance of a program.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Imbalance {
    /// Run time of the replay with the recorded durations.
    pub replayed: Nanos,
    /// Run time of the replay without imbalance.
    pub ideal: Nanos,
    /// Slowdown by location: the replay without imbalance but for the durations of the location, over that without.
    pub locations: Vec<(LocationId, f64)>,
    /// Slowdown by call path of the call after the burst, `None` for the end of the program.
    pub paths: Vec<(Option<CallPathId>, f64)>,
}

impl Imbalance {
    /// Returns the slowdown `S` of the program.
    pub fn slowdown(&self) -> f64 {
        self.replayed.0 as f64 / self.ideal.0 as f64
    }

    /// Returns the slowdown of each location as a table.
    pub fn table(&self, activities: &Activities) -> Table {
        let (rows, labels) = (|| self.locations.iter(), activities.labels());
        let lost = |it: &(LocationId, f64)| Nanos((self.ideal.0 as f64 * (it.1 - 1.0)) as i64);
        Table::new(
            "imbalance",
            "Slowdown with the durations of one location as recorded.",
        )
        .text(
            "location",
            rows().map(|it| labels.get(it.0.index()).map(String::as_str)),
        )
        .floats("slowdown", "", rows().map(|it| it.1))
        .times("lost", rows().map(lost))
    }
}

impl<'a> WhatIf<'a> {
    /// Builds the graph of a trace whose activities are known.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Nothing`] if the trace has no MPI calls, [`Error::Cycle`] with the place of a call that waits for
    /// itself, [`Error::UnknownActivity`] for a dependency of a call that does not exist, and [`Error::Cancelled`] if the
    /// job is cancelled.
    pub fn of<D: Dependencies + ?Sized>(
        view: TraceView<'a>,
        activities: &'a Activities,
        dependencies: &D,
        job: &Job,
    ) -> Result<Self> {
        let built = build::build(activities, &dependencies.dependencies(activities), job)?;
        let mut this = WhatIf {
            activities,
            timelines: TimelineReader::new(view, activities),
            identity: Nanos(0),
            graph: built.graph,
            durations: built.durations,
            places: built.places,
            peers: OnceLock::new(),
            neighbours: OnceLock::new(),
        };
        this.identity = this.runtime(&this.durations, job)?;
        Ok(this)
    }

    /// Answers a question: the run time with these changes, which apply one after the other.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Parameter`] for a factor outside of `0.0..=10_000.0`, and [`Error::Cancelled`] if the job is
    /// cancelled.
    pub fn ask(&self, changes: &[Change], job: &Job) -> Result<Answer> {
        let mut durations = self.durations.clone();
        for change in changes {
            job.check()?;
            self.apply(change, &mut durations, job)?;
        }
        Ok(Answer {
            recorded: self.recorded()?,
            identity: self.identity,
            runtime: self.runtime(&durations, job)?,
        })
    }

    /// Returns the recorded run time.
    pub(crate) fn recorded(&self) -> Result<Nanos> {
        let range = self.activities.range();
        let (first, last) = range.ok_or(Error::Nothing { what: "events" })?;
        let ticks = last.saturating_since(first);
        Ok(self.activities.clock().total(u128::from(ticks)))
    }

    /// Returns the bursts with their activities.
    fn bursts(&self) -> impl Iterator<Item = (ActivityId, Burst)> + '_ {
        self.places.bursts(self.activities)
    }

    /// Returns the calls with their activities.
    fn calls(&self) -> impl Iterator<Item = (ActivityId, CallId, &Call)> + '_ {
        self.places.calls(self.activities)
    }

    /// Measures the cost of imbalance. Takes one replay for each location and call path, and two more.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Cancelled`] if the job is cancelled.
    pub fn imbalance(&self, job: &Job) -> Result<Imbalance> {
        let equal = self.without_imbalance();
        let sums = self.graph.sums(&equal);
        let ideal = self.graph.replay(&mut sums.clone(), job)?;
        let mut locations: BTreeMap<LocationId, Vec<ActivityId>> = BTreeMap::new();
        let mut paths: BTreeMap<Option<CallPathId>, Vec<ActivityId>> = BTreeMap::new();
        for (id, burst) in self.bursts() {
            locations.entry(burst.location).or_default().push(id);
            paths.entry(self.path(&burst)).or_default().push(id);
        }
        for (id, call, _) in self.calls() {
            locations.entry(call.location).or_default().push(id);
        }
        let slowdowns = |groups: Vec<&Vec<ActivityId>>| {
            parallel::try_map(groups.len(), |number| {
                let mut times = sums.clone();
                for id in groups[number] {
                    let slot = &mut times[self.graph.place(*id)];
                    let more = self.durations.get(*id).saturating_sub(equal.get(*id));
                    *slot = slot.saturating_add(more);
                }
                let time = self.graph.replay(&mut times, job)?;
                Ok::<_, Error>(time.0 as f64 / ideal.0 as f64)
            })
        };
        let of_locations = slowdowns(locations.values().collect())?;
        let of_paths = slowdowns(paths.values().collect())?;
        Ok(Imbalance {
            replayed: self.identity,
            ideal,
            locations: locations.into_keys().zip(of_locations).collect(),
            paths: paths.into_keys().zip(of_paths).collect(),
        })
    }

    /// Returns the time that a replay without transfer times saves. Begin and end of MPI take their time.
    pub(crate) fn saved_without_transfers(&self, job: &Job) -> Result<Nanos> {
        let mut durations = self.durations.clone();
        for (id, _, call) in self.calls() {
            let kind = call.kind;
            if !kind.is_local() && !matches!(kind, CallKind::Init | CallKind::Finalize) {
                durations.set(id, Nanos(0));
            }
        }
        self.saved(&durations, job)
    }

    /// Returns the time that balancing the exclusive time of a call path over all locations saves.
    pub(crate) fn saved_by_balancing(&self, path: CallPathId, job: &Job) -> Result<Nanos> {
        let balanced = self.balance(&self.only(path), &self.durations, job)?;
        self.saved(&balanced, job)
    }

    /// Returns the time that a run saves in which the exclusive time of a call path is multiplied by a factor of at most 1:
    /// that of one location, or of all that are in the call path.
    pub(crate) fn saved_by_scaling(
        &self,
        path: CallPathId,
        of: Option<LocationId>,
        factor: f64,
        job: &Job,
    ) -> Result<Nanos> {
        let all = (0..).map(LocationId).zip(self.activities.locations());
        let inside = self.only(path);
        let mut durations = self.durations.clone();
        for (location, _) in all.filter(|(it, _)| of.is_none_or(|of| of == *it)) {
            let times = self.burst_times(location, &inside, job)?;
            let bursts = self.places.bursts_of(self.activities, location);
            for ((id, _), time) in bursts.zip(times) {
                let less = Nanos((time.0 as f64 * (1.0 - factor)) as i64);
                durations.set(id, durations.get(id).saturating_sub(less));
            }
        }
        self.saved(&durations, job)
    }

    /// Returns the exclusive time of locations in each call path, in ticks.
    pub(crate) fn path_times(&self, of: &[LocationId], job: &Job) -> Result<Vec<Vec<u64>>> {
        parallel::try_map(of.len(), |number| {
            self.timelines.path_times(of[number], job)
        })
    }

    /// Returns the run time that other durations save.
    fn saved(&self, durations: &Durations, job: &Job) -> Result<Nanos> {
        Ok(self.identity.saturating_sub(self.runtime(durations, job)?))
    }

    fn runtime(&self, durations: &Durations, job: &Job) -> Result<Nanos> {
        self.graph.replay(&mut self.graph.sums(durations), job)
    }

    /// Call path of the call after a burst.
    fn path(&self, burst: &Burst) -> Option<CallPathId> {
        burst
            .before
            .and_then(|call| self.activities.call(call)?.path())
    }

    fn is_team_barrier(&self, burst: &Burst) -> bool {
        let kind = burst.before.map(|call| self.activities.kind(call));
        kind == Some(CallKind::TeamBarrier)
    }

    /// Returns the time that a run without the computation of these locations would save, or without that in a call path.
    pub(crate) fn saved_without(
        &self,
        locations: &[LocationId],
        path: Option<CallPathId>,
        job: &Job,
    ) -> Result<Nanos> {
        let mut durations = self.durations.clone();
        for location in locations {
            let times = path.map(|path| self.burst_times(*location, &self.only(path), job));
            let times = times.transpose()?;
            let bursts = self.places.bursts_of(self.activities, *location);
            for ((id, _), number) in bursts.zip(0..) {
                let time = times.as_ref().map(|times| times.get(number).copied());
                durations.set(
                    id,
                    match time {
                        Some(time) => durations.get(id).saturating_sub(time.unwrap_or_default()),
                        None => Nanos(0),
                    },
                );
            }
        }
        self.saved(&durations, job)
    }

    /// Returns `true` for one call path, and `false` for all others.
    fn only(&self, path: CallPathId) -> Vec<bool> {
        (0..self.timelines.paths())
            .map(|it| it == path.index())
            .collect()
    }

    /// Returns the time of each burst of a location in some call paths.
    fn burst_times(&self, location: LocationId, inside: &[bool], job: &Job) -> Result<Vec<Nanos>> {
        let clock = self.activities.clock();
        let timeline = self.timelines.read(location, &[], job)?;
        let bursts = self.places.bursts_of(self.activities, location);
        let bursts = bursts.map(|(_, burst)| (burst.start, burst.end));
        let times = timeline.times_in(inside, bursts);
        Ok(times.map(|ticks| clock.total(u128::from(ticks))).collect())
    }

    /// Returns the bursts before the n-th call of each call path on all locations.
    fn peers(&self) -> &Peers {
        self.peers.get_or_init(|| self.groups(false))
    }

    /// Returns the n-th bursts between calls of two call paths on all locations.
    fn neighbours(&self) -> &Peers {
        self.neighbours.get_or_init(|| self.groups(true))
    }

    /// Returns the bursts in groups: the n-th before a call path, and after the same one if `is_between`.
    fn groups(&self, is_between: bool) -> Peers {
        // Kind of each burst, and the number of bursts of a kind that are the n-th of it on their location.
        let mut numbers = KindNumbers::default();
        let mut kinds: Vec<u32> = Vec::new();
        let mut sizes: Vec<Vec<u32>> = Vec::new();
        let mut counts = PlaceCounts::default();
        let mut last: Option<(LocationId, Option<CallPathId>)> = None;
        for (_, burst) in self.bursts() {
            let path = self.path(&burst);
            let before = last.replace((burst.location, path));
            let before = before.filter(|it| is_between && it.0 == burst.location);
            let key = match path {
                Some(path) if self.is_team_barrier(&burst) => {
                    let function = self.activities.paths().get(path).map(|it| it.region);
                    (None, None, function)
                }
                path => (before.and_then(|it| it.1), path, None),
            };
            let kind = numbers.number(key);
            if kind == sizes.len() {
                sizes.push(Vec::new());
            }
            let place = counts.next(burst.location, kind);
            if place == sizes[kind].len() {
                sizes[kind].push(0);
            }
            sizes[kind][place] += 1;
            kinds.push(kind as u32);
        }
        let mut peers = Peers {
            bursts: vec![ActivityId::default(); kinds.len()],
            ends: Vec::new(),
        };
        // The sizes become the next place of each group.
        let mut end = 0;
        for size in sizes.iter_mut().flatten() {
            let start = end;
            end += std::mem::replace(size, start);
            peers.ends.push(end);
        }
        let mut counts = PlaceCounts::default();
        for ((id, burst), kind) in self.bursts().zip(kinds) {
            let place = counts.next(burst.location, kind as usize);
            let next = &mut sizes[kind as usize][place];
            peers.bursts[*next as usize] = id;
            *next += 1;
        }
        peers
    }

    /// Returns the durations without imbalance.
    fn without_imbalance(&self) -> Durations {
        let mut ideal = self.durations.clone();
        for group in self.peers().groups() {
            let times = group.iter().map(|id| i128::from(self.durations.get(*id).0));
            let mean = times.sum::<i128>() / group.len().max(1) as i128;
            for id in group {
                ideal.set(*id, Nanos(i64::try_from(mean).unwrap_or(i64::MAX)));
            }
        }
        let mut transfers: BTreeMap<Option<CallPathId>, Vec<ActivityId>> = BTreeMap::new();
        for (id, _, call) in self.calls() {
            transfers.entry(call.path()).or_default().push(id);
        }
        for group in transfers.values() {
            let times = group.iter().map(|id| self.durations.get(*id));
            let mut times: Vec<Nanos> = times.collect();
            let half = times.len() / 2;
            let median = *times.select_nth_unstable(half).1;
            for id in group {
                ideal.set(*id, median);
            }
        }
        ideal
    }
}
