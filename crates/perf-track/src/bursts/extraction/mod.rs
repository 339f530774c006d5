//! [`Extract::extract`] and [`Extract::unfiltered`]: extract the bursts of all threads of a trace
//! with their metrics and callers, and decide which of them a filter drops. Bursts that a filter
//! drops are kept with a mark and counted.

mod caller_texts;
mod counters;
mod params;
mod plan;
mod processes;
mod scan;

pub(crate) use caller_texts::OUTSIDE;
pub use params::{Delimiter, Extract, ExtractParams};

use crate::bursts::chains::MOST_CALLERS;
use crate::bursts::dropped::Dropped;
use crate::bursts::formula::{ZeroDivision, ratio};
use crate::bursts::unfiltered::{Filtered, Unfiltered};
use crate::{Burst, Bursts, ChainId, Kind, Position, Result, Thread};
use caller_texts::{caller_text, outside_text};
use perf_core::{
    CallPathId, CallTree, Definitions, Job, LocationId, LocationKind, LocationView, Merge, Nanos,
    RegionId, Ticks, TimeRange, TraceView, parallel,
};
use plan::{Plan, Planned, Source};
use processes::processes;
use scan::{Call, Callers, Scanned, Within, scan};
use std::collections::HashMap;

/// Bursts of one thread before they are concatenated.
struct Ready {
    /// Location of the thread.
    location: LocationId,
    /// Bursts in order of time.
    rows: Vec<Row>,
    /// Metrics of the bursts in row-major order.
    values: Vec<f64>,
    /// Call paths of the callers.
    paths: CallTree,
    /// Counts of dropped bursts.
    dropped: Dropped,
    /// Durations of bursts without a metric or with one out of its range.
    filtered: Filtered,
}

struct Row {
    /// Begin of the burst.
    begin: Nanos,
    /// End of the burst.
    end: Nanos,
    /// Callers of the call before the burst, and the called region.
    before: Option<(Callers, RegionId)>,
    /// Callers of the call after the burst, and the called region.
    after: Option<(Callers, RegionId)>,
    /// Functions that contain the burst.
    within: Within,
    /// Kind of the burst.
    kind: Kind,
}

impl Extract {
    /// Extracts the bursts of the CPU threads in view, ordered by thread and time, and counts the
    /// dropped bursts. Bursts that a filter dropped are included with their [`Kind`].
    ///
    /// If the view has a window, bursts must lie completely inside; bursts cut by an edge are counted.
    /// The process of a thread is its rank in the largest communicator if this communicator contains
    /// all threads, otherwise its index among the processes of the recording, over all applications.
    /// Threads without a burst are skipped. Chains of callers hold the innermost 256 callers.
    ///
    /// Threads are read in parallel; the result does not depend on the number of threads.
    ///
    /// # Errors
    /// Returns [`Error::NoRegion`](crate::Error::NoRegion) or
    /// [`Error::UnknownMetric`](crate::Error::UnknownMetric) for names that the recording does not
    /// have, [`Error::TooMany`](crate::Error::TooMany) for more bursts than 32 bits can count, or
    /// [`Error::Cancelled`](crate::Error::Cancelled) if the job is cancelled.
    pub fn extract(&self, view: TraceView<'_>, job: &Job) -> Result<(Bursts, Dropped)> {
        let (min, _) = self.durations;
        Ok(self.unfiltered(view, job)?.above(min))
    }

    /// Extracts bursts like [`extract`](Self::extract), but leaves the minimum duration to [`Unfiltered::above`].
    ///
    /// # Errors
    /// Returns the errors of [`extract`](Self::extract).
    pub fn unfiltered(&self, view: TraceView<'_>, job: &Job) -> Result<Unfiltered> {
        let definitions = view.definitions();
        let plan = Plan::new(self, definitions)?;
        let locations = definitions.system.locations();
        let is_thread = |id: &LocationId| {
            let kind = locations.get(id.index()).map(|location| location.kind);
            matches!(kind, Some(LocationKind::CpuThread | LocationKind::Unknown))
        };
        let ids: Vec<LocationId> = view.ids().filter(is_thread).collect();
        let total = view.len() as u64;
        let ready = parallel::try_map(ids.len(), |at| -> Result<_> {
            let Some(location) = view.location(ids[at]) else {
                return Ok(None);
            };
            let ready = self.thread(&plan, location, job)?;
            job.advance("bursts", location.len() as u64, total);
            Ok(Some(ready))
        })?;
        self.gather(&plan, ready, job)
    }

    /// Extracts the bursts of one thread.
    fn thread(&self, plan: &Plan<'_>, location: LocationView<'_>, job: &Job) -> Result<Ready> {
        let events = location.all();
        let scanned = scan(plan, location.id(), events, job)?;
        let nanos = |at: Ticks| {
            // Times beyond 292 years saturate, which keeps the order.
            let nanos = plan.definitions.clock.nanos(at);
            nanos.unwrap_or(Nanos(if at < plan.definitions.clock.origin() {
                i64::MIN
            } else {
                i64::MAX
            }))
        };
        let duration =
            |(begin, end): &(Ticks, Ticks)| Nanos(nanos(*end).0.saturating_sub(nanos(*begin).0));
        let mut dropped = Dropped {
            empty: scanned.empty,
            resets: scanned.resets,
            foreign: scanned.foreign,
            repairs: scanned.repairs,
            absent_threads: u64::from(events.is_absent()),
            ..Dropped::default()
        };
        let window = location.window();
        let overlaps = |(begin, end): &&(Ticks, Ticks)| *begin < window.end && *end > window.start;
        for burst in scanned.cut.iter().filter(overlaps) {
            dropped.cut.add(duration(burst));
        }
        for burst in scanned.interrupted.iter().filter(overlaps) {
            dropped.interrupted.add(duration(burst));
        }
        let mut filtered = Filtered::default();
        let mut rows = Vec::new();
        let mut values = Vec::new();
        let (mut row, mut stack) = (Vec::new(), Vec::new());
        let slots = plan.folds.len();
        for (index, burst) in scanned.bursts.iter().enumerate() {
            if index.is_multiple_of(BETWEEN_CHECKS) {
                job.check()?;
            }
            if !lies_in(*burst, window) {
                if overlaps(&burst) {
                    dropped.cut.add(duration(burst));
                }
                continue;
            }
            let (before, after) = around(&scanned, *burst);
            let slots = scanned.slots.get(index * slots..(index + 1) * slots);
            let known = Known {
                slots: slots.unwrap_or_default(),
                duration: duration(burst),
                before,
                after,
                zero: self.zero,
            };
            row.clear();
            for column in &plan.columns {
                let (value, by_zero) = column.formula.value(self.zero, &mut stack, |name| {
                    column
                        .sources
                        .get(name)
                        .map_or(f64::NAN, |source| known.get(*source, &row))
                });
                dropped.divisions_by_zero += u64::from(by_zero);
                row.push(value);
            }
            let kind = self.judge(plan, &known, &row, &mut dropped, &mut filtered);
            values.extend_from_slice(&row);
            rows.push(Row {
                begin: nanos(burst.0),
                end: nanos(burst.1),
                before: before.map(|call| (call.callers, call.region)),
                after: after.map(|call| (call.callers, call.region)),
                within: scanned
                    .within
                    .get(index)
                    .copied()
                    .unwrap_or(Within::Unknown),
                kind,
            });
        }
        Ok(Ready {
            location: location.id(),
            rows,
            values,
            paths: scanned.paths,
            dropped,
            filtered,
        })
    }

    /// Classifies a burst: first by the maximum duration, then by missing metrics, then by the ranges of metrics.
    fn judge(
        &self,
        plan: &Plan<'_>,
        known: &Known<'_>,
        row: &[f64],
        dropped: &mut Dropped,
        filtered: &mut Filtered,
    ) -> Kind {
        let duration = known.duration;
        dropped.found.add(duration);
        if duration > self.durations.1 {
            dropped.duration.add(duration);
            return Kind::Duration;
        }
        let columns = || plan.columns.iter().zip(row);
        let lacking = |(column, value): &(&Planned, &f64)| column.is_needed && !value.is_finite();
        if columns().any(|column| lacking(&column)) {
            let mut names = Vec::new();
            for (column, _) in columns().filter(lacking) {
                let counters = lacking_slots(plan, column, known.slots);
                if counters.is_empty() {
                    names.push(column.formula.name().to_owned())
                } else {
                    names.extend(counters)
                }
            }
            names.sort_unstable();
            names.dedup();
            filtered.missing.entry(names).or_default().push(duration);
            return Kind::Missing;
        }
        for limits in &self.ranges {
            let mut columns = columns();
            let found = columns.find(|(column, _)| column.formula.name() == limits.metric);
            let value = match found {
                Some((_, value)) => *value,
                None => duration.0 as f64,
            };
            // A missing optional metric does not violate a range.
            if value < limits.low || value > limits.high {
                let of = filtered.ranges.entry(limits.metric.clone());
                of.or_default().push(duration);
                return Kind::Range;
            }
        }
        Kind::Complete
    }

    fn gather(&self, plan: &Plan<'_>, ready: Vec<Option<Ready>>, job: &Job) -> Result<Unfiltered> {
        let names = plan.columns.iter();
        let names = names.map(|column| (column.formula.name(), column.unit.as_str()));
        let mut bursts = Bursts::with_units(names);
        let mut dropped = Dropped::default();
        let mut filtered = Filtered::default();
        let mut kinds = Vec::new();
        let mut named = Named::of(plan.definitions);
        let process = processes(plan.definitions);
        let columns = plan.columns.len();
        for ready in ready.into_iter().flatten() {
            dropped.merge(&ready.dropped);
            filtered.append(ready.filtered);
            if ready.rows.is_empty() {
                dropped.idle_threads += u64::from(ready.dropped.absent_threads == 0);
                continue;
            }
            let thread = bursts.add_thread(Thread {
                location: ready.location,
                name: plan.definitions.system.label(ready.location),
                // A location outside of the system tree belongs to the first process.
                process: process.get(ready.location.index()).copied().unwrap_or(0),
            })?;
            named.next_thread(&ready.paths);
            let chains = |call: Option<(Callers, RegionId)>,
                          named: &mut Named<'_>,
                          bursts: &mut Bursts| match call {
                Some((callers, region)) => {
                    let chain = named.chain(&ready.paths, callers, None, bursts)?;
                    let call = match callers {
                        Callers::Sampled(_) => {
                            named.chain(&ready.paths, callers, Some(region), bursts)?
                        }
                        // The call is the innermost of the open regions.
                        Callers::Open(_) => chain,
                    };
                    Result::Ok((Some(chain), Some(call)))
                }
                None => Ok::<_, crate::Error>((None, None)),
            };
            for (index, row) in ready.rows.iter().enumerate() {
                if index.is_multiple_of(BETWEEN_CHECKS) {
                    job.check()?;
                }
                let (before, call_before) = chains(row.before, &mut named, &mut bursts)?;
                let (after, call_after) = chains(row.after, &mut named, &mut bursts)?;
                let burst = Burst {
                    thread,
                    begin: row.begin,
                    end: row.end,
                    before,
                    after,
                    position: Position {
                        call_before,
                        call_after,
                        within: match row.within {
                            Within::Open(path) => {
                                let functions = Callers::Open(Some(path));
                                Some(named.chain(&ready.paths, functions, None, &mut bursts)?)
                            }
                            // The callers of calls say more.
                            Within::Outside(functions) if before.or(after).is_none() => {
                                named.outside(functions, &mut bursts)?
                            }
                            _ => None,
                        },
                    },
                };
                let values = ready.values.get(index * columns..(index + 1) * columns);
                bursts.push(burst, values.unwrap_or_default())?;
                kinds.push(row.kind);
            }
        }
        bursts.set_kinds(kinds)?;
        Ok(Unfiltered {
            bursts,
            dropped,
            filtered,
        })
    }
}

/// Names of the callers of bursts.
struct Named<'a> {
    /// Definitions of the recording.
    definitions: &'a Definitions,
    /// Number of the text of each region.
    texts: HashMap<RegionId, RegionId>,
    /// Chains of sampled contexts, without and with the called region.
    sampled: HashMap<(CallPathId, Option<RegionId>), ChainId>,
    /// Chains of the parts between two parallel functions.
    outside: HashMap<[Option<RegionId>; 2], ChainId>,
    /// Chains of the paths of the current thread.
    open: Vec<Option<ChainId>>,
    /// Buffer for the callers of one chain, innermost first.
    callers: Vec<RegionId>,
}

impl<'a> Named<'a> {
    fn of(definitions: &'a Definitions) -> Self {
        Named {
            definitions,
            texts: HashMap::new(),
            sampled: HashMap::new(),
            outside: HashMap::new(),
            open: Vec::new(),
            callers: Vec::new(),
        }
    }

    fn next_thread(&mut self, paths: &CallTree) {
        self.open.clear();
        self.open.resize(paths.paths().len(), None);
    }

    /// Returns the chain of the part of a thread after one parallel function and before another one;
    /// `None` for a thread without parallel functions.
    fn outside(
        &mut self,
        functions: [Option<RegionId>; 2],
        bursts: &mut Bursts,
    ) -> Result<Option<ChainId>> {
        if functions == [None; 2] {
            return Ok(None);
        }
        if let Some(known) = self.outside.get(&functions) {
            return Ok(Some(*known));
        }
        let id = bursts.add_chain(&[outside_text(self.definitions, functions)])?;
        self.outside.insert(functions, id);
        Ok(Some(id))
    }

    fn chain(
        &mut self,
        paths: &CallTree,
        callers: Callers,
        call: Option<RegionId>,
        bursts: &mut Bursts,
    ) -> Result<ChainId> {
        let (tree, innermost, known) = match callers {
            Callers::Sampled(path) => {
                let known = self.sampled.get(&(path, call)).copied();
                (&self.definitions.contexts, Some(path), known)
            }
            Callers::Open(path) => {
                let known = path.and_then(|path| self.open.get(path.index()).copied());
                (paths, path, known.flatten())
            }
        };
        if let Some(known) = known {
            return Ok(known);
        }
        let chains = bursts.chains_mut();
        self.callers.clear();
        let mut at = innermost;
        let mut next = call;
        while self.callers.len() < MOST_CALLERS {
            let region = match next.take() {
                Some(region) => region,
                None => {
                    let Some(caller) = at.and_then(|at| tree.get(at)) else {
                        break;
                    };
                    at = caller.parent;
                    caller.region
                }
            };
            let number = match self.texts.get(&region) {
                Some(number) => *number,
                None => {
                    let text = caller_text(self.definitions, region);
                    let number = chains.number(&text)?;
                    self.texts.insert(region, number);
                    number
                }
            };
            self.callers.push(number);
        }
        let id = chains.add(self.callers.iter().rev().copied())?;
        match callers {
            Callers::Sampled(path) => drop(self.sampled.insert((path, call), id)),
            Callers::Open(path) => {
                let place = path.and_then(|path| self.open.get_mut(path.index()));
                if let Some(place) = place {
                    *place = Some(id);
                }
            }
        }
        Ok(id)
    }
}

/// Number of bursts between two cancellation checks.
const BETWEEN_CHECKS: usize = 1 << 14;

fn lies_in((begin, end): (Ticks, Ticks), window: TimeRange) -> bool {
    begin >= window.start && end <= window.end
}

/// Returns the last call that had ended when the burst began, and the first call entered at or
/// after the end of the burst.
fn around(scanned: &Scanned, (begin, end): (Ticks, Ticks)) -> (Option<&Call>, Option<&Call>) {
    let calls = &scanned.calls;
    let before = calls.partition_point(|call| call.leave <= begin);
    let after = calls.partition_point(|call| call.enter < end);
    let before = before.checked_sub(1).and_then(|index| calls.get(index));
    (before, calls.get(after))
}

/// Values of one burst that formulas may use.
struct Known<'a> {
    /// Value of each slot.
    slots: &'a [f64],
    /// Duration of the burst.
    duration: Nanos,
    /// Call before the burst.
    before: Option<&'a Call>,
    /// Call after the burst.
    after: Option<&'a Call>,
    /// Rule for divisions by 0.
    zero: ZeroDivision,
}

impl Known<'_> {
    fn get(&self, source: Source, columns: &[f64]) -> f64 {
        // Counters that the burst lacks are NaN.
        let slot = |slot: usize| self.slots.get(slot).copied().unwrap_or(f64::NAN);
        let bytes = |call: Option<&Call>, of: fn(&Call) -> u64| {
            call.map_or(f64::NAN, |call| of(call) as f64)
        };
        match source {
            Source::Slot(index) => slot(index),
            Source::Ratio(over, under) => ratio(self.zero, slot(over), slot(under)),
            Source::Column(index) => columns.get(index).copied().unwrap_or(f64::NAN),
            Source::Duration => self.duration.0 as f64,
            Source::SentBefore => bytes(self.before, |call| call.sent),
            Source::ReceivedBefore => bytes(self.before, |call| call.received),
            Source::SentAfter => bytes(self.after, |call| call.sent),
            Source::ReceivedAfter => bytes(self.after, |call| call.received),
        }
    }
}

/// Returns the names of the counters of a metric that are missing in a burst.
fn lacking_slots(plan: &Plan<'_>, column: &Planned, slots: &[f64]) -> Vec<String> {
    let mut names = Vec::new();
    let mut look = |slot: usize| {
        if let (Some(value), Some(name)) = (slots.get(slot), plan.slot_names.get(slot))
            && value.is_nan()
        {
            names.push(name.clone());
        }
    };
    for source in &column.sources {
        match source {
            Source::Slot(slot) => look(*slot),
            Source::Ratio(over, under) => [over, under].into_iter().for_each(|slot| look(*slot)),
            _ => {}
        }
    }
    names
}
