//! What-if replay: run times that a program would have had with other durations.
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
//! | acquisition of a lock | release by the thread before |
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

pub use change::{Change, ChangeError};

use crate::activity::{Activities, Call, CallId, CallKind};
use crate::graph::{ActivityGraph, ActivityId, Burst, Places};
use crate::timeline::Timelines;
use crate::{Error, Result};
use perf_core::{CallPathId, Column, Job, LocationId, Nanos, RegionId, Table, TraceView};
use std::collections::BTreeMap;
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

/// Call path of the call after a burst. Threads of a team have different call paths: for their barriers it is the function.
type PeerKey = (Option<CallPathId>, Option<RegionId>);

/// Bursts in groups of peers: those before the n-th call of a call path on all locations.
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

/// A program that can be replayed with other durations.
#[derive(Debug)]
pub struct WhatIf<'a> {
    activities: &'a Activities,
    timelines: Timelines,
    /// Activities with their recorded durations.
    graph: ActivityGraph,
    /// Run time of the replay with the recorded durations.
    identity: Nanos,
    places: Places,
    peers: OnceLock<Peers>,
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
        .with(Column::text(
            "location",
            rows().map(|it| labels.get(it.0.index()).map(String::as_str)),
        ))
        .with(Column::floats("slowdown", "", rows().map(|it| it.1)))
        .with(Column::times("lost", rows().map(lost)))
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
        view: TraceView<'_>,
        activities: &'a Activities,
        dependencies: &D,
        job: &Job,
    ) -> Result<Self> {
        let timelines = Timelines::of(view, activities, &[], job)?;
        let built = build::build(activities, &dependencies.dependencies(activities), job)?;
        let mut this = WhatIf {
            activities,
            timelines,
            identity: Nanos(0),
            graph: built.graph,
            places: built.places,
            peers: OnceLock::new(),
        };
        this.identity = this.runtime(this.durations(), &mut Vec::new(), job)?;
        Ok(this)
    }

    /// Answers a question: the run time with these changes, which apply one after the other.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Parameter`] for a factor outside of `0.0..=10_000.0`, and [`Error::Cancelled`] if the job is
    /// cancelled.
    pub fn ask(&self, changes: &[Change], job: &Job) -> Result<Answer> {
        let mut durations = self.durations().to_vec();
        for change in changes {
            job.check()?;
            self.apply(change, &mut durations)?;
        }
        let mut times = Vec::new();
        Ok(Answer {
            recorded: self.recorded()?,
            identity: self.identity,
            runtime: self.runtime(&durations, &mut times, job)?,
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
        let mut times = Vec::new();
        let equal = self.without_imbalance();
        let ideal = self.runtime(&equal, &mut times, job)?;
        let mut locations: BTreeMap<LocationId, Vec<ActivityId>> = BTreeMap::new();
        let mut paths: BTreeMap<Option<CallPathId>, Vec<ActivityId>> = BTreeMap::new();
        for (id, burst) in self.bursts() {
            locations.entry(burst.location).or_default().push(id);
            paths.entry(self.path(&burst)).or_default().push(id);
        }
        for (id, call, _) in self.calls() {
            locations.entry(call.location).or_default().push(id);
        }
        let mut durations = equal.clone();
        let mut slowdown = |group: &[ActivityId]| {
            for id in group {
                durations[id.index()] = self.durations()[id.index()];
            }
            let time = self.runtime(&durations, &mut times, job)?;
            for id in group {
                durations[id.index()] = equal[id.index()];
            }
            Ok::<_, Error>(time.0 as f64 / ideal.0 as f64)
        };
        let mut found = Imbalance {
            replayed: self.identity,
            ideal,
            locations: Vec::with_capacity(locations.len()),
            paths: Vec::with_capacity(paths.len()),
        };
        for (location, group) in locations {
            found.locations.push((location, slowdown(&group)?));
        }
        for (path, group) in paths {
            found.paths.push((path, slowdown(&group)?));
        }
        Ok(found)
    }

    /// Returns the time that a replay without transfer times saves. Begin and end of MPI take their time.
    pub(crate) fn saved_without_transfers(&self, job: &Job) -> Result<Nanos> {
        let mut durations = self.durations().to_vec();
        for (id, _, call) in self.calls() {
            let kind = call.kind;
            if !kind.is_local() && !matches!(kind, CallKind::Init | CallKind::Finalize) {
                durations[id.index()] = Nanos(0);
            }
        }
        self.saved(&durations, job)
    }

    /// Returns the time that balancing the exclusive time of a call path over all locations saves.
    pub(crate) fn saved_by_balancing(&self, path: CallPathId, job: &Job) -> Result<Nanos> {
        let mut durations = self.durations().to_vec();
        let mut own = vec![false; self.timelines.paths()];
        if let Some(own) = own.get_mut(path.index()) {
            *own = true;
        }
        self.balance(&own, &mut durations);
        self.saved(&durations, job)
    }

    /// Returns the exclusive time of a location in each call path, in ticks.
    pub(crate) fn path_times(&self, location: LocationId) -> Vec<u64> {
        let mut times = vec![0; self.timelines.width()];
        if let Some((first, last)) = self.activities.range() {
            self.timelines.add(location, first, last, &mut times);
        }
        times.truncate(self.timelines.paths());
        times
    }

    /// Returns the run time that other durations save.
    fn saved(&self, durations: &[Nanos], job: &Job) -> Result<Nanos> {
        let runtime = self.runtime(durations, &mut Vec::new(), job)?;
        Ok(self.identity.saturating_sub(runtime))
    }

    fn runtime(&self, durations: &[Nanos], ends: &mut Vec<Nanos>, job: &Job) -> Result<Nanos> {
        self.graph.length(durations, ends, job)
    }

    /// Returns the recorded duration of each activity.
    fn durations(&self) -> &[Nanos] {
        self.graph.durations()
    }

    /// Call path of the call after a burst.
    fn path(&self, burst: &Burst) -> Option<CallPathId> {
        burst
            .before
            .and_then(|call| self.activities.call(call)?.path)
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
        let mut durations = self.durations().to_vec();
        let mut sums = vec![0; self.timelines.width()];
        let own = self.bursts();
        for (id, burst) in own.filter(|it| locations.contains(&it.1.location)) {
            let slot = &mut durations[id.index()];
            let Some(path) = path else {
                *slot = Nanos(0);
                continue;
            };
            sums.fill(0);
            self.timelines
                .add(burst.location, burst.start, burst.end, &mut sums);
            let own = sums.get(path.index()).copied().unwrap_or_default();
            let time = self.activities.clock().total(u128::from(own));
            *slot = slot.saturating_sub(time);
        }
        self.saved(&durations, job)
    }

    /// Returns the bursts before the n-th call of each call path on all locations.
    fn peers(&self) -> &Peers {
        self.peers.get_or_init(|| {
            let mut numbers: BTreeMap<PeerKey, u32> = BTreeMap::new();
            let (mut counts, mut current): (Vec<u32>, _) = (Vec::new(), None);
            let mut keys: Vec<((u32, u32), ActivityId)> = Vec::new();
            for (id, burst) in self.bursts() {
                if current.replace(burst.location) != Some(burst.location) {
                    counts.fill(0);
                }
                let key = match self.path(&burst) {
                    Some(path) if self.is_team_barrier(&burst) => {
                        (None, self.activities.paths().get(path).map(|it| it.region))
                    }
                    path => (path, None),
                };
                let next = numbers.len() as u32;
                let number = *numbers.entry(key).or_insert(next);
                if number as usize >= counts.len() {
                    counts.push(0);
                }
                let count = &mut counts[number as usize];
                keys.push(((number, *count), id));
                *count += 1;
            }
            keys.sort_unstable();
            let mut peers = Peers::default();
            for (place, (key, id)) in keys.iter().enumerate() {
                if place > 0 && keys[place - 1].0 != *key {
                    peers.ends.push(place as u32);
                }
                peers.bursts.push(*id);
            }
            peers.ends.push(keys.len() as u32);
            peers
        })
    }

    /// Returns the durations without imbalance.
    fn without_imbalance(&self) -> Vec<Nanos> {
        let mut ideal = self.durations().to_vec();
        for group in self.peers().groups() {
            let times = group
                .iter()
                .map(|id| i128::from(self.durations()[id.index()].0));
            let mean = times.sum::<i128>() / group.len().max(1) as i128;
            for id in group {
                ideal[id.index()] = Nanos(i64::try_from(mean).unwrap_or(i64::MAX));
            }
        }
        let mut transfers: BTreeMap<Option<CallPathId>, Vec<ActivityId>> = BTreeMap::new();
        for (id, _, call) in self.calls() {
            transfers.entry(call.path).or_default().push(id);
        }
        for group in transfers.values() {
            let mut times: Vec<Nanos> = group
                .iter()
                .map(|id| self.durations()[id.index()])
                .collect();
            let half = times.len() / 2;
            let median = *times.select_nth_unstable(half).1;
            for id in group {
                ideal[id.index()] = median;
            }
        }
        ideal
    }
}
