//! Conversion of a fold to a [`Trace`], which can be written to a file for other programs.

use crate::{Cell, Fold, FoldRow, Value};
use perf_core::{
    Definitions, Event, Events, GroupKind, Limits, Location, LocationGroup, LocationGroupId,
    LocationKind, Metric, MetricId, MetricSet, MetricSetId, Region, RegionId, Result, SystemTree,
    Ticks, Trace, ValueType,
};

impl Fold {
    /// Converts the fold to a trace, which the writers of `perf-formats` can store in files.
    ///
    /// * A row becomes a process named by its label, with one location of unknown kind. Its
    ///   property `streams` is the number of folded streams.
    /// * Consecutive cells of one value become a call of the region of that name, from the first
    ///   tick of the first pixel to the end of the last; see [`edges`](Self::edges). Cells without
    ///   a class or difference, that is idle cells and numbers, produce no call. [`Value::Uniform`]
    ///   becomes a region `all equal`, [`Value::DiffersIdle`] a region `differs, idle`.
    /// * For operations that select a state, the metric `agreement` holds [`Cell::agreement`]. For
    ///   operations that compute a number, the metric `value` holds that number. Both are sampled
    ///   where they change.
    ///
    /// ```
    /// use perf_core::{Event, Job};
    /// use perf_fold::{Folder, GroupBy, Groups, Op, RegionMap, Timelines};
    /// let trace = perf_core::samples::cosmo::trace();
    /// let map = RegionMap::by_name(trace.definitions())?;
    /// let timelines = Timelines::new(trace.view(), &map, &Job::default())?;
    /// let groups = Groups::by(&timelines, GroupBy::Node);
    /// let folder = Folder::new(&timelines, groups, Folder::params().columns(800).check()?)?;
    /// let folded = folder.fold(timelines.range(), &Job::default())?.to_trace().expect("it fits");
    /// assert_eq!(folded.definitions().system.groups().len(), folder.groups().rows().len());
    /// let first = folded.events()[0].event(0);
    /// assert!(matches!(first, Some(Event::Enter { region }) if
    ///     folded.definitions().region_name(region) == "COSMO"));
    /// # Ok::<(), perf_fold::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`perf_core::Error::TooMany`] for more than [`Events::MAX_ID`] classes.
    pub fn to_trace(&self) -> Result<Trace> {
        let mut definitions = Definitions::default();
        definitions.clock = self.clock();
        let classes = self.classes().names().iter().map(String::as_str);
        let names = classes.chain([UNIFORM, DIFFERS_IDLE]);
        definitions.regions = names.map(Region::named).collect();
        definitions.metrics = ["agreement", "value"].map(metric).into();
        let set = |id| MetricSet {
            members: vec![MetricId(id)],
            ..MetricSet::default()
        };
        definitions.metric_sets = vec![set(0), set(1)];
        let (mut groups, mut locations, mut columns) = (Vec::new(), Vec::new(), Vec::new());
        for (row, number) in self.rows().zip(0..) {
            groups.push(LocationGroup {
                name: row.label().to_owned(),
                kind: GroupKind::Process,
                properties: vec![("streams".to_owned(), row.streams().to_string())].into(),
                ..LocationGroup::default()
            });
            locations.push(Location {
                name: "folded".into(),
                kind: LocationKind::Unknown,
                group: Some(LocationGroupId(number)),
                key: u64::from(number),
                ..Location::default()
            });
            columns.push(self.events_of(row)?);
        }
        let limits = Limits::default();
        definitions.system = SystemTree::new(Vec::new(), groups, locations, &limits)?;
        Trace::new(definitions, columns)
    }

    fn events_of(&self, row: FoldRow<'_>) -> Result<Events> {
        let classes = self.classes().len();
        let mut events = Events::default();
        let mut open: Option<RegionId> = None;
        let mut last = [None; 2];
        let starts = self.edges().iter().copied();
        for (cell, start) in row.cells().iter().zip(starts) {
            let region = region(cell, classes);
            if region != open {
                if let Some(region) = open {
                    events.push(start, Event::Leave { region })?;
                }
                if let Some(region) = region {
                    events.push(start, Event::Enter { region })?;
                }
                open = region;
            }
            let number = cell.value.number().map(f64::from);
            let agreement = match number {
                None => Some(cell.agreement()),
                Some(_) => None,
            };
            for ((set, last), value) in (0..).zip(&mut last).zip([agreement, number]) {
                sample(&mut events, start, MetricSetId(set), last, value)?;
            }
        }
        if let (Some(region), Some(end)) = (open, self.edges().last()) {
            events.push(*end, Event::Leave { region })?;
        }
        Ok(events)
    }
}

const UNIFORM: &str = "all equal";
const DIFFERS_IDLE: &str = "differs, idle";

fn metric(name: &str) -> Metric {
    Metric {
        name: name.into(),
        value_type: ValueType::F64,
        ..Metric::default()
    }
}

/// Returns the region that a cell shows. Regions without a class come after the classes.
fn region(cell: &Cell, classes: usize) -> Option<RegionId> {
    match cell.value {
        Value::Class(class) | Value::Differs(class) => Some(RegionId(class.0)),
        Value::Uniform => RegionId::from_index(classes),
        Value::DiffersIdle => RegionId::from_index(classes + 1),
        Value::Idle | Value::Number(_) => None,
    }
}

/// Adds a value if it differs from the previous one.
fn sample(
    events: &mut Events,
    at: Ticks,
    set: MetricSetId,
    last: &mut Option<u64>,
    value: Option<f64>,
) -> Result<()> {
    let bits = value.map(f64::to_bits);
    if let Some(bits) = bits.filter(|bits| Some(*bits) != *last) {
        let values = &[bits];
        events.push(at, Event::Metric { set, values })?;
        *last = Some(bits);
    }
    Ok(())
}
