//! What the profile of a trace takes, from some of its locations.

use super::from_trace::Sums;
use super::{CallPathId, Profile};
use crate::{
    CallTree, CancellationChecks, Definitions, Job, Location, LocationId, MetricId, Result,
    TraceView, Unify,
};

/// Locations that are looked at.
const LOOKED_AT: usize = 16;

/// What the locations looked at come to.
#[derive(Debug, Default)]
struct Sample {
    /// Values that are not zero, by metric.
    values: [usize; 5],
    /// Call paths known after each location.
    paths: Vec<usize>,
}

impl Profile {
    /// About how many bytes [`from_trace`](Self::from_trace) takes, the profile included, from the call
    /// paths of at most 16 locations that lie evenly among those of the view: right to a fifth where the
    /// others do as these do, or become new in the same way. Properties of the machine are not counted.
    ///
    /// Costs what 16 locations of the profile cost.
    ///
    /// ```
    /// # use perf_core::{Definitions, Event, Events, Location, Region, RegionId, SystemTree, Ticks, Trace};
    /// use perf_core::Profile;
    /// # let mut definitions = Definitions::default();
    /// # definitions.system = SystemTree::new(vec![], vec![], vec![Location::default()], &Default::default())?;
    /// # definitions.regions = vec![Region::named("main"), Region::named("solve")];
    /// # let mut events = Events::default();
    /// # events.push(Ticks(0), Event::Enter { region: RegionId(0) })?;
    /// # events.push(Ticks(10), Event::Leave { region: RegionId(0) })?;
    /// # let trace = Trace::new(definitions, vec![events])?;
    /// let bytes = Profile::estimate(trace.view(), &Default::default())?;
    /// assert!((100..10_000).contains(&bytes), "{bytes}");
    /// # Ok::<(), perf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`from_trace`](Self::from_trace).
    pub fn estimate(view: TraceView<'_>, job: &Job) -> Result<usize> {
        let mut ids: Vec<LocationId> = view.ids().collect();
        ids.sort_unstable();
        ids.dedup();
        let step = ids.len().div_ceil(LOOKED_AT).max(1);
        let some: Vec<_> = ids.iter().step_by(step).copied().collect();
        let sample = Sample::of(view, &some, job)?;
        let all = |count: usize| count * ids.len() / some.len().max(1);
        let entries = sample.values.map(|count| all(count) * ENTRY);
        let largest = entries.into_iter().max().unwrap_or_default();
        // Where more than one run is sorted, all are there twice.
        let sorted = if largest > CancellationChecks::EACH * ENTRY {
            largest
        } else {
            0
        };
        let rows = entries.into_iter().sum::<usize>();
        let starts = entries.len() * size_of::<usize>();
        let paths = sample.paths(ids.len());
        // Tables that double, but rows, which grow by an eighth.
        let tables = paths.next_power_of_two() * Sums::A_PATH + CallTree::memory(paths);
        Ok(rows + rows / 16 + sorted + starts * paths + tables + copied(view.definitions()))
    }

    /// Bytes that all rows of a metric take when all are held: 8 for each value of each location and call path
    /// that has a row. One that is read when it is asked for, as those of Cube files, takes its share of it.
    ///
    /// ```
    /// # use perf_core::{Definitions, Event, Events, Job, Location, Region, RegionId, SystemTree, Ticks, Trace};
    /// use perf_core::Profile;
    /// # let mut definitions = Definitions::default();
    /// # definitions.system = SystemTree::new(vec![], vec![], vec![Location::default()], &Default::default())?;
    /// # definitions.regions = vec![Region::named("main")];
    /// # let mut events = Events::default();
    /// # events.push(Ticks(0), Event::Enter { region: RegionId(0) })?;
    /// # events.push(Ticks(10), Event::Leave { region: RegionId(0) })?;
    /// # let trace = Trace::new(definitions, vec![events])?;
    /// let (profile, _) = Profile::from_trace(trace.view(), &Job::default())?;
    /// let time = profile.metric("time").expect("one of the five");
    /// // One value, and what a row has besides.
    /// assert!((8..128).contains(&profile.memory_of_rows(time)));
    /// # Ok::<(), perf_core::Error>(())
    /// ```
    pub fn memory_of_rows(&self, metric: MetricId) -> usize {
        let about = self.metrics().get(metric.index());
        let width = about.map_or(1, |about| about.combine.width());
        let row = width.saturating_mul(8 * self.system().locations().len());
        let rows = self.paths(metric).len();
        rows.saturating_mul(row.saturating_add(ROW))
    }
}

/// Bytes of a row besides its values.
const ROW: usize = size_of::<super::Severities>() + 2 * size_of::<usize>();

/// Bytes of a value that is not zero.
const ENTRY: usize = size_of::<(CallPathId, LocationId, u64)>();

impl Sample {
    fn of(view: TraceView<'_>, some: &[LocationId], job: &Job) -> Result<Self> {
        let mut sample = Sample::default();
        let mut calls = CallTree::default();
        let mut sums = Sums::new(Unify::default(), &view.definitions().regions);
        for location in some.iter().filter_map(|id| view.location(*id)) {
            job.check()?;
            sums.add_location(view.definitions(), location, &mut calls, job)?;
            for (_, values) in sums.drain() {
                for (count, value) in sample.values.iter_mut().zip(values.values()) {
                    *count += usize::from(value != 0);
                }
            }
            sample.paths.push(calls.paths().len());
        }
        Ok(sample)
    }

    /// Call paths of so many locations: those of the others go on as the second half of these did.
    fn paths(&self, locations: usize) -> usize {
        let looked = self.paths.len();
        let Some((half, last)) = self.paths.get(looked / 2).zip(self.paths.last()) else {
            return 0;
        };
        let more = looked - looked / 2 - 1;
        last + (last - half) * (locations - looked.min(locations)) / more.max(1)
    }
}

/// What of the definitions a profile has a copy of.
fn copied(definitions: &Definitions) -> usize {
    let system = &definitions.system;
    let nodes = system.nodes().iter();
    let groups = system.groups().iter();
    let locations = system.locations().iter();
    let regions = definitions.regions.iter();
    let text = nodes
        .map(|it| it.name.len() + it.class.len())
        .sum::<usize>()
        + groups.map(|it| it.name.len()).sum::<usize>()
        + locations.map(|it| it.name.len()).sum::<usize>()
        + regions
            .map(|it| it.name.len() + it.canonical.len() + it.file.as_ref().map_or(0, String::len))
            .sum::<usize>();
    text + size_of_val(system.nodes())
        + size_of_val(system.groups())
        + (size_of::<Location>() + size_of::<(u64, LocationId)>()) * system.locations().len()
        + size_of_val(definitions.regions.as_slice())
}
