//! [`CriticalPath`]: the activities that determine the run time, as segments on locations, and the
//! time and imbalance of each call path on it.
//!
//! The walk begins at the end of the run and goes back in time. Within a location it follows earlier activity. At a wait
//! state it continues at the location that was waited for: at the enter of the late send or of the call that posted the
//! receive, or at the begin of the last member or the root of a collective. Waiting time is therefore never on the path.
//!
//! | extent | begin | end |
//! |---|---|---|
//! | [`Extent::Run`] | first event of the trace | last event of the trace |
//! | [`Extent::Program`] | enter of `MPI_Init` of the location that the walk ends on | latest enter of `MPI_Finalize` |
//!
//! The length of the path is the run time to the tick for [`Extent::Run`]. [`Extent::Program`] is the extent that Scalasca
//! counts. Where the clocks of two locations disagree, the path continues at the time at which the waiting ends.
//!
//! Time on the path outside of all frames has no call path: [`CriticalPath::times`] lists it, the profile does not have it,
//! and Scalasca does not count it.
//!
//! The imbalance of a call path is its time on the critical path minus its mean time over all locations, without waiting.
//! Perfect balancing of the call path alone can gain no more than this.

mod walk;

use crate::activity::Activities;
use crate::timeline::TimelineReader;
use crate::waits::{WaitState, WaitStates};
use crate::{Error, Result};
use perf_core::{
    CallPathId, Job, LocationId, Metric, MetricId, Profile, ProfileMetric, Scope, SparseRows,
    Table, Ticks, TraceView, Value, ValueType, parallel,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Part of the run that a [`CriticalPath`] covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Extent {
    /// From the first event of the trace to the last one.
    #[default]
    Run,
    /// From the enter of `MPI_Init` to the latest enter of `MPI_Finalize`, as Scalasca counts.
    Program,
}

/// A part of a critical path on one location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Segment {
    /// Location.
    pub location: LocationId,
    /// Begin.
    pub start: Ticks,
    /// End.
    pub end: Ticks,
    /// Wait state that ends where the segment begins, as its number in [`WaitStates::states`]; `None` for the first
    /// segment. The segment before is on the location that was waited for.
    pub wait: Option<u32>,
}

/// Time of a call path on the critical path.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PathTime {
    /// Call path; `None` outside of all frames.
    pub path: Option<CallPathId>,
    /// Ticks on the critical path.
    pub critical: u64,
    /// Mean ticks of a location without waiting, within the extent.
    pub mean: f64,
}

impl PathTime {
    /// Returns the ticks that perfect balancing of the call path can gain at most.
    pub fn imbalance(&self) -> f64 {
        (self.critical as f64 - self.mean).max(0.0)
    }
}

/// The critical path of a run.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct CriticalPath {
    segments: Vec<Segment>,
    times: Vec<PathTime>,
    #[cfg_attr(feature = "serde", serde(skip))]
    profile: Profile,
}

impl CriticalPath {
    /// Finds the critical path of a trace whose wait states are known.
    ///
    /// Progress is reported by location in the phase `timelines`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Nothing`] if the trace has no MPI calls, and
    /// [`Error::Cancelled`] if the job is cancelled.
    pub fn of(
        view: TraceView<'_>,
        activities: &Activities,
        waits: &WaitStates,
        extent: Extent,
        job: &Job,
    ) -> Result<Self> {
        let segments = walk::walk(activities, waits.states(), extent, job)?;
        let waiting = crate::waits::waiting_states(waits.states(), job)?;
        let times = SlotTimes::of(view, activities, &segments, &waiting, job)?;
        let mut by_path: BTreeMap<usize, u64> = BTreeMap::new();
        for ((slot, _), ticks) in &times.critical {
            *by_path.entry(*slot).or_default() += ticks;
        }
        let path_times = by_path.into_iter().map(|(slot, critical)| PathTime {
            path: times.path(slot),
            critical,
            // There are no means if the trace has no extent.
            mean: times.means.get(slot).copied().unwrap_or_default(),
        });
        Ok(CriticalPath {
            times: path_times.collect(),
            profile: profile(activities, &times, job)?,
            segments,
        })
    }

    /// Segments in order of time.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Times of the call paths on the critical path, by call path.
    pub fn times(&self) -> &[PathTime] {
        &self.times
    }

    /// Severities of the metric `critical path` by call path and location in nanoseconds, exclusive.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Returns the length in ticks.
    pub fn ticks(&self) -> u64 {
        self.segments
            .iter()
            .map(|it| it.end.saturating_since(it.start))
            .sum()
    }

    /// Returns the ticks on a location.
    pub fn ticks_on(&self, location: LocationId) -> u64 {
        let own = self.segments.iter().filter(|it| it.location == location);
        own.map(|it| it.end.saturating_since(it.start)).sum()
    }

    /// Returns the call paths as a table, those with the largest imbalance first.
    pub fn table(&self, activities: &Activities) -> Table {
        let definitions = activities.definitions();
        let mut rows: Vec<&PathTime> = self.times.iter().collect();
        rows.sort_by(|a, b| b.imbalance().total_cmp(&a.imbalance()));
        let name = |it: &PathTime| {
            it.path
                .map(|path| activities.paths().name(path, &definitions.regions))
        };
        let time = |ticks: f64| definitions.clock.total(ticks.max(0.0) as u128);
        let rows = || rows.iter().copied();
        Table::new(
            "critical path",
            "Time on the critical path, and the gain of balancing.",
        )
        .text("call path", rows().map(name))
        .times("critical", rows().map(|it| time(it.critical as f64)))
        .times("mean of locations", rows().map(|it| time(it.mean)))
        .times("imbalance", rows().map(|it| time(it.imbalance())))
    }
}

/// Times by slot of the timelines.
struct SlotTimes {
    /// Number of call paths, whose slots come first.
    paths: usize,
    /// Ticks on the critical path by slot and location.
    critical: BTreeMap<(usize, LocationId), u64>,
    /// Mean ticks of the locations with calls within the extent of the path, by slot.
    means: Vec<f64>,
}

impl SlotTimes {
    /// Sums the times of each location, whose timeline is then freed.
    fn of(
        view: TraceView<'_>,
        activities: &Activities,
        segments: &[Segment],
        waits: &[&WaitState],
        job: &Job,
    ) -> Result<Self> {
        let reader = TimelineReader::new(view, activities);
        let mut own: Vec<&Segment> = segments.iter().collect();
        own.sort_by_key(|segment| segment.location);
        let extent = segments.first().zip(segments.last());
        let extent = extent.map(|(first, last)| (first.start, last.end));
        let total = activities.locations().len();
        let used = |sums: Vec<u64>| -> Vec<(usize, u64)> {
            sums.into_iter().enumerate().filter(|it| it.1 > 0).collect()
        };
        let found = parallel::try_map(total, |number| {
            job.check()?;
            let (mut critical, mut all) = (vec![0; reader.width()], vec![0; reader.width()]);
            if let Some(id) = LocationId::from_index(number) {
                let timeline = reader.read(id, waits, job)?;
                let from = own.partition_point(|segment| segment.location < id);
                let to = own.partition_point(|segment| segment.location <= id);
                for segment in &own[from..to] {
                    timeline.add(segment.start, segment.end, &mut critical);
                }
                let has_calls = !activities.locations()[number].calls.is_empty();
                if let Some((start, end)) = extent.filter(|_| has_calls) {
                    timeline.add(start, end, &mut all);
                }
            }
            job.advance("timelines", 1, total as u64);
            Ok::<_, Error>((used(critical), used(all)))
        })?;
        let mut sums = vec![0; reader.width()];
        let mut critical = BTreeMap::new();
        for (location, (own, all)) in (0..).map(LocationId).zip(found) {
            critical.extend(
                own.into_iter()
                    .map(|(slot, ticks)| ((slot, location), ticks)),
            );
            for (slot, ticks) in all {
                sums[slot] += ticks;
            }
        }
        let locations = activities.locations().iter();
        let count = locations.filter(|own| !own.calls.is_empty()).count().max(1);
        let means = sums.into_iter().map(|sum| sum as f64 / count as f64);
        Ok(SlotTimes {
            paths: reader.paths(),
            critical,
            means: if extent.is_some() {
                means.collect()
            } else {
                Vec::new()
            },
        })
    }

    /// Returns the call path of a slot.
    fn path(&self, slot: usize) -> Option<CallPathId> {
        CallPathId::from_index(slot).filter(|_| slot < self.paths)
    }
}

fn profile(activities: &Activities, times: &SlotTimes, job: &Job) -> Result<Profile> {
    let metric = ProfileMetric {
        metric: Metric {
            name: "critical path".into(),
            unit: "ns".into(),
            description: "time on the critical path".into(),
            ..Metric::default()
        },
        scope: Scope::Exclusive,
        ..ProfileMetric::default()
    };
    let definitions = activities.definitions();
    let locations = definitions.system.locations().len();
    let mut rows = SparseRows::new(locations, vec![ValueType::U64]);
    for ((slot, location), ticks) in &times.critical {
        let nanos = definitions.clock.total(u128::from(*ticks)).0.unsigned_abs();
        if let Some(path) = times.path(*slot) {
            rows.push(MetricId(0), path, *location, Value::U64(nanos));
        }
    }
    let paths = activities.paths();
    let rows = rows.finish(paths.paths().len(), job)?;
    let (system, regions) = (definitions.system.clone(), definitions.regions.clone());
    Ok(Profile::new(
        system,
        regions,
        paths.clone(),
        vec![metric],
        Arc::new(rows),
    )?)
}

/// Returns the end of the waiting of a wait state.
fn wait_end(state: &WaitState) -> Ticks {
    Ticks(state.start.0.saturating_add(state.ticks))
}
