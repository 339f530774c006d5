//! Memory estimates: for the profile of a trace, from a sample of its locations, and for the rows of a metric.

use super::trace_profile::Sums;
use crate::{CallPathId, Profile};
use crate::{
    CallTree, CancellationChecks, Definitions, Job, Location, LocationId, MetricId, Result,
    TraceView, Unify,
};

/// Number of sampled locations.
const SAMPLED_LOCATIONS: usize = 16;

/// Totals of the sampled locations.
#[derive(Debug, Default)]
struct Sample {
    /// Number of non-zero values of each metric.
    values: [usize; 5],
    /// Number of known call paths after each sampled location.
    paths: Vec<usize>,
}

impl Profile {
    /// Estimates the memory in bytes that [`from_trace`](Self::from_trace) takes, including the
    /// profile. The estimate extrapolates from at most 16 evenly spaced locations of the view. It
    /// is within 20 % if the other locations resemble these, or add new call paths at the same
    /// rate. Properties of the machine are not counted.
    ///
    /// The estimate takes as long as a profile of 16 locations.
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
    /// Returns the errors of [`from_trace`](Self::from_trace).
    pub fn estimate(view: TraceView<'_>, job: &Job) -> Result<usize> {
        let mut ids: Vec<LocationId> = view.ids().collect();
        ids.sort_unstable();
        ids.dedup();
        let step = ids.len().div_ceil(SAMPLED_LOCATIONS).max(1);
        let some: Vec<_> = ids.iter().step_by(step).copied().collect();
        let sample = Sample::of(view, &some, job)?;
        let all = |count: usize| count * ids.len() / some.len().max(1);
        let entries = sample.values.map(|count| all(count) * ENTRY);
        let largest = entries.into_iter().max().unwrap_or_default();
        // Sorting more entries than fit in one run needs a second copy.
        let sorted = if largest > CancellationChecks::EACH * ENTRY {
            largest
        } else {
            0
        };
        let rows = entries.into_iter().sum::<usize>();
        let starts = entries.len() * size_of::<usize>();
        let paths = sample.paths(ids.len());
        // All tables double except rows, which grow by an eighth.
        let tables = paths.next_power_of_two() * Sums::A_PATH + CallTree::memory(paths);
        Ok(rows + rows / 16 + sorted + starts * paths + tables + copied(view.definitions()))
    }

    /// Returns the memory in bytes of all rows of a metric if all are loaded: 8 for each value of
    /// each location and call path that has a row. If rows are read on demand, such as those of
    /// Cube files, only the loaded rows take memory.
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
    /// // Size of one value, and of the other parts of a row.
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

/// Size in bytes of a row without its values.
const ROW: usize = size_of::<crate::Severities>() + 2 * size_of::<usize>();

/// Size in bytes of a non-zero value.
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

    /// Extrapolates the number of call paths to all locations, at the rate of the second half of
    /// the sample.
    fn paths(&self, locations: usize) -> usize {
        let looked = self.paths.len();
        let Some((half, last)) = self.paths.get(looked / 2).zip(self.paths.last()) else {
            return 0;
        };
        let more = looked - looked / 2 - 1;
        last + (last - half) * (locations - looked.min(locations)) / more.max(1)
    }
}

/// Returns the size in bytes of the definitions that a profile copies.
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
