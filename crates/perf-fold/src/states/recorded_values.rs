//! Timelines of recorded values instead of the call stack: event types, sampled functions, ranges of a counter.

use super::class::code;
use super::timeline_builder::lifetime;
use super::timelines::Columns;
use crate::{ClassId, Classes, Counter, Error, RegionMap, Result, State, StateMap, Timelines};
use perf_core::{
    Event, Job, KindId, LocationId, LocationKind, LocationView, SystemTree, Ticks, TraceView,
    parallel,
};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

/// Largest number of values of an event kind that are a class each. The other values share one.
const MOST_VALUES: usize = 10_000;

impl Timelines {
    /// Builds timelines from the transitions that `states` returns for each location: times and the
    /// state from that time on. They must be in order of time; the last transition of a time wins. A
    /// stream is idle from its first event to its first transition, and absent before its first event
    /// and from its last.
    ///
    /// Progress is reported in events, in the phase `timelines`.
    ///
    /// ```
    /// use perf_core::{Event, Job, LocationView, Ticks};
    /// use perf_fold::{Classes, State, Timelines};
    /// let trace = perf_core::samples::cosmo::trace();
    /// // Streams are busy after their tenth event.
    /// let mut classes = Classes::default();
    /// let busy = State::Class(classes.add("busy")?);
    /// let states = |location: LocationView<'_>| Ok(vec![(location.times()[9], busy)]);
    /// let timelines = Timelines::from_states(trace.view(), &classes, states, &Job::default())?;
    /// assert_eq!(timelines.state(0, Ticks(0), Default::default()), State::Idle);
    /// # Ok::<(), perf_fold::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of `states`, [`Error::UnknownClass`] for a class that is not in `classes`,
    /// and [`Error::Cancelled`] if the job is cancelled.
    pub fn from_states<F>(
        view: TraceView<'_>,
        classes: &Classes,
        states: F,
        job: &Job,
    ) -> Result<Self>
    where
        F: Fn(LocationView<'_>) -> Result<Vec<(Ticks, State)>> + Sync,
    {
        let locations: Vec<_> = view.locations().collect();
        let total = locations.iter().map(|location| location.len() as u64).sum();
        let built = parallel::try_map(locations.len(), |at| {
            let location = locations[at];
            job.check()?;
            let built = columns(location, classes, &states(location)?)?;
            job.advance("timelines", location.len() as u64, total);
            Ok::<_, Error>((built, Default::default()))
        })?;
        let definitions = view.definitions();
        let of = (definitions.system.clone(), definitions.clock);
        Ok(Self::assembled(built, classes.clone(), of))
    }

    /// Builds timelines whose state is the latest value of an event kind, as in views of Paraver by
    /// event type. A value of 0 ends the state. `name` returns the name of a value; the other values
    /// are called `value N`.
    ///
    /// The kinds of a trace are in [`Definitions::kinds`](perf_core::Definitions::kinds). Of more than
    /// 10,000 values, the rarest share the state `other values`.
    ///
    /// ```
    /// use perf_core::{Definitions, Event, Events, Job, KindId, Location, SystemTree, Ticks, Trace};
    /// use perf_fold::Timelines;
    /// let mut definitions = Definitions::default();
    /// definitions.kinds.push("Iteration (4000)".into());
    /// definitions.system = SystemTree::new(vec![], vec![], vec![Location::default()], &Default::default())?;
    /// let mut events = Events::default();
    /// for (at, value) in [(0, 7), (10, 0), (20, 9), (30, 0)] {
    ///     events.push(Ticks(at), Event::Other { kind: KindId(0), args: &[value] })?;
    /// }
    /// let trace = Trace::new(definitions, vec![events])?;
    /// let name = |value| (value == 7).then(|| "first step".to_string());
    /// let timelines = Timelines::of_events(trace.view(), KindId(0), name, &Job::default())?;
    /// assert_eq!(timelines.classes().names(), ["first step", "value 9"]);
    /// assert_eq!(timelines.state(0, Ticks(12), Default::default()), perf_fold::State::Idle);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Cancelled`] if the job is cancelled.
    pub fn of_events(
        view: TraceView<'_>,
        kind: KindId,
        name: impl Fn(u64) -> Option<String>,
        job: &Job,
    ) -> Result<Self> {
        let locations: Vec<_> = view.locations().collect();
        let counted = parallel::try_map(locations.len(), |at| {
            let (mut counts, mut checks) = (HashMap::<u64, u64>::new(), job.checks());
            for (_, event) in locations[at].iter() {
                checks.next(1)?;
                if let Some(value) = value_of(event, kind) {
                    *counts.entry(value).or_default() += 1;
                }
            }
            Ok::<_, Error>(counts)
        })?;
        let mut counts = BTreeMap::<u64, u64>::new();
        for (value, count) in counted.into_iter().flatten() {
            *counts.entry(value).or_default() += count;
        }
        counts.remove(&0);
        let mut values: Vec<(u64, u64)> = counts.into_iter().collect();
        values.sort_by_key(|(value, count)| (Reverse(*count), *value));
        let has_others = values.len() > MOST_VALUES;
        values.truncate(MOST_VALUES);
        values.sort_unstable();
        let mut classes = Classes::default();
        let mut ids = HashMap::<u64, ClassId>::new();
        for (value, _) in values {
            let name = name(value).filter(|name| !name.is_empty());
            let name = name.unwrap_or_else(|| format!("value {}", value.cast_signed()));
            ids.insert(value, classes.add(&name)?);
        }
        let others = if has_others {
            Some(classes.add("other values")?)
        } else {
            None
        };
        let states = |location: LocationView<'_>| {
            let (mut found, mut checks) = (Vec::new(), job.checks());
            for (at, event) in location.iter() {
                checks.next(1)?;
                if let Some(value) = value_of(event, kind) {
                    let class = ids.get(&value).copied().or(others);
                    let class = class.filter(|_| value != 0);
                    found.push((at, class.map_or(State::Idle, State::Class)));
                }
            }
            Ok(found)
        };
        Self::from_states(view, &classes, states, job)
    }

    /// Builds timelines whose state is a function of the latest sampled call path: the innermost for
    /// level 0, its caller for level 1, and so on. A shorter call path is idle.
    ///
    /// A sample at the begin of a region, such as the callers of an MPI call, ends with that region.
    /// Any other sample holds until the next.
    ///
    /// # Errors
    /// Returns [`Error::Cancelled`] if the job is cancelled.
    pub fn of_samples(
        view: TraceView<'_>,
        level: usize,
        map: &RegionMap,
        job: &Job,
    ) -> Result<Self> {
        let contexts = &view.definitions().contexts;
        let state = |context| {
            let mut paths =
                std::iter::successors(Some(context), |path| contexts.get(*path)?.parent);
            let path = paths.nth(level);
            let region = path.and_then(|path| Some(contexts.get(path)?.region));
            let class = region.and_then(|region| map.of(region));
            class.map_or(State::Idle, State::Class)
        };
        let states = |location: LocationView<'_>| {
            let (mut found, mut checks) = (Vec::new(), job.checks());
            let mut depth = 0u64;
            // Time of the last sample, and the depth of the region that begins at that time.
            let (mut sampled, mut within) = (None, None);
            for (at, event) in location.iter() {
                checks.next(1)?;
                match event {
                    Event::Sample { context } => {
                        found.push((at, state(context)));
                        (sampled, within) = (Some(at), None);
                    }
                    Event::Enter { .. } => {
                        depth += 1;
                        if sampled == Some(at) && within.is_none() {
                            within = Some(depth);
                        }
                    }
                    Event::Leave { .. } => {
                        if within == Some(depth) && sampled.is_some_and(|sampled| sampled < at) {
                            found.push((at, State::Idle));
                            within = None;
                        }
                        depth = depth.saturating_sub(1);
                    }
                    _ => {}
                }
            }
            Ok(found)
        };
        Self::from_states(view, map.classes(), states, job)
    }

    /// Builds timelines whose state is the range of a counter: below the first bound, from it to the
    /// second, and so on. Bounds that are no number are skipped, and equal bounds count once.
    ///
    /// Streams without the counter are absent. Sources of metric values count as locations of unknown
    /// kind, so that they have rows.
    ///
    /// # Errors
    /// Returns [`Error::Cancelled`] if the job is cancelled.
    pub fn of_counter(
        view: TraceView<'_>,
        counter: &Counter,
        bounds: &[f64],
        job: &Job,
    ) -> Result<Self> {
        let mut bounds: Vec<f64> = bounds.iter().copied().filter(|it| !it.is_nan()).collect();
        bounds.sort_by(f64::total_cmp);
        bounds.dedup();
        let (name, unit) = (&counter.name, &counter.unit);
        let unit = match unit.as_str() {
            "" => String::new(),
            unit if unit.starts_with('/') => unit.to_owned(),
            unit => format!(" {unit}"),
        };
        // Large bounds such as 3e9 are hard to read with all their zeros.
        let write = |bound: &f64| match bound.abs() {
            size if (1e-3..1e6).contains(&size) || size == 0.0 => bound.to_string(),
            _ => format!("{bound:e}"),
        };
        let mut classes = Classes::default();
        let mut ranges = Vec::new();
        for at in 0..=bounds.len() {
            let below = at.checked_sub(1).and_then(|at| bounds.get(at));
            let range = match (below, bounds.get(at)) {
                (None, None) => name.clone(),
                (None, Some(high)) => format!("{name} < {}{unit}", write(high)),
                (Some(low), Some(high)) => {
                    format!("{} <= {name} < {}{unit}", write(low), write(high))
                }
                (Some(low), None) => format!("{name} >= {}{unit}", write(low)),
            };
            ranges.push(classes.add(&range)?);
        }
        let range = |value: f64| ranges.get(bounds.partition_point(|bound| *bound <= value));
        let series: HashMap<LocationId, _> =
            counter.series.iter().map(|of| (of.location, of)).collect();
        let window = view.window();
        let locations: Vec<LocationId> = view.ids().collect();
        let built = parallel::try_map(locations.len(), |at| {
            job.check()?;
            let mut columns = Columns::absent(locations[at]);
            let steps = series.get(&locations[at]).map(|of| of.steps(window));
            let mut end = None;
            for (piece, value) in steps.unwrap_or_default() {
                if let Some(end) = end.filter(|end| *end < piece.start) {
                    columns.push(end, code::ABSENT);
                }
                let state = range(value).map_or(State::Absent, |class| State::Class(*class));
                columns.push(piece.start, code::of(state));
                end = Some(piece.end);
            }
            if let Some(end) = end {
                columns.push(end, code::ABSENT);
            }
            Ok::<_, Error>((columns, Default::default()))
        })?;
        let definitions = view.definitions();
        let of = (visible(&definitions.system), definitions.clock);
        Ok(Self::assembled(built, classes, of))
    }
}

/// Returns the value of an event of a kind.
fn value_of(event: Event<'_>, wanted: KindId) -> Option<u64> {
    match event {
        Event::Other { kind, args } if kind == wanted => args.first().copied(),
        _ => None,
    }
}

/// Returns the system tree with sources of metric values as locations of unknown kind.
fn visible(system: &SystemTree) -> SystemTree {
    let mut locations = system.locations().to_vec();
    for location in &mut locations {
        if location.kind == LocationKind::Metric {
            location.kind = LocationKind::Unknown;
        }
    }
    let (nodes, groups) = (system.nodes().to_vec(), system.groups().to_vec());
    // The tree differs in kinds only, so it stays valid.
    let limits = perf_core::Limits::default();
    SystemTree::new(nodes, groups, locations, &limits).unwrap_or_else(|_| system.clone())
}

/// Returns the columns of a location with the given transitions, cut to the window of the view.
fn columns(
    location: LocationView<'_>,
    classes: &Classes,
    states: &[(Ticks, State)],
) -> Result<Columns> {
    let mut columns = Columns::absent(location.id());
    let Some(lifetime) = lifetime(location) else {
        return Ok(columns);
    };
    columns.push(lifetime.start, code::IDLE);
    let mut last = lifetime.start;
    for (at, state) in states {
        if let State::Class(class) = state
            && class.index() >= classes.len()
        {
            let count = classes.len();
            return Err(Error::UnknownClass {
                class: class.0,
                count,
            });
        }
        last = last.max(*at).min(lifetime.end);
        columns.push(last, code::of(*state));
    }
    columns.push(lifetime.end, code::ABSENT);
    Ok(columns)
}
