//! [`UsefulTime`]: time that a process computes, outside of MPI, and its instructions and cycles in
//! that time, from the events of a trace.

use crate::running_state::{has_states, is_running};
use crate::{Error, Result};
use perf_core::{
    Close, Definitions, Event, Job, LocationId, MetricMode, Nanos, Paradigm, RegionId, Ticks,
    TraceView, Value, Visitor, parallel, replay,
};

/// Useful time of a process, and the increase of its counters in that time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct UsefulTime {
    /// Location of the process.
    pub location: LocationId,
    /// Useful time.
    pub time: Nanos,
    /// Instructions in useful time; `None` if they were not counted.
    pub instructions: Option<f64>,
    /// Cycles in useful time; `None` if they were not counted.
    pub cycles: Option<f64>,
}

/// Sums of instructions and cycles in useful time.
struct Counters<'a> {
    definitions: &'a Definitions,
    /// Last value of each accumulated counter.
    last: [Option<f64>; 2],
    /// Time of the last reading of each counter.
    read: [Option<Ticks>; 2],
    sums: [Option<f64>; 2],
}

/// Names of the counters, without their descriptions.
const NAMES: [&str; 2] = ["PAPI_TOT_INS", "PAPI_TOT_CYC"];

impl Counters<'_> {
    fn add(&mut self, at: Ticks, event: Event<'_>, is_useful: bool) {
        let Event::Metric { set, values } = event else {
            return;
        };
        let Some(set) = self.definitions.metric_sets.get(set.index()) else {
            return;
        };
        for (id, bits) in set.members.iter().zip(values) {
            let Some(metric) = self.definitions.metrics.get(id.index()) else {
                continue;
            };
            let name = metric.name.split_whitespace().next().unwrap_or_default();
            let Some(which) = NAMES.iter().position(|it| *it == name) else {
                continue;
            };
            let value = Value::from_bits(metric.value_type, *bits).as_f64();
            let amount = match metric.mode {
                MetricMode::Relative => value,
                MetricMode::Accumulated => {
                    let last = self.last[which].replace(value);
                    last.map_or(0.0, |last| value - last)
                }
                _ => continue,
            };
            let sum = self.sums[which].get_or_insert(0.0);
            // Another reading at the same instant covers an interval of zero duration.
            let is_first = self.read[which].replace(at) != Some(at);
            if is_useful && is_first {
                *sum += amount;
            }
        }
    }
}

/// Sums the time in useful frames. A counter that is read in a useful frame counted in it.
struct Summing<'a> {
    /// `true` for each region whose frames are useful.
    useful: &'a [bool],
    /// `true` if useful frames are states; time outside of frames is then not useful.
    has_states: bool,
    stack: Vec<bool>,
    since: Ticks,
    time: u64,
    counters: Counters<'a>,
}

impl Summing<'_> {
    fn is_useful(&self) -> bool {
        self.stack.last().copied().unwrap_or(!self.has_states)
    }

    fn pass(&mut self, at: Ticks) {
        if self.is_useful() {
            self.time = self.time.saturating_add(at.saturating_since(self.since));
        }
        self.since = at;
    }
}

impl Visitor for Summing<'_> {
    fn enter(&mut self, at: Ticks, region: RegionId, _: usize) {
        self.pass(at);
        let own = self.useful.get(region.index()).copied();
        // States are innermost frames; without them, what MPI calls is not useful.
        let is_inside = self.has_states || self.is_useful();
        self.stack.push(is_inside && own.unwrap_or_default());
    }

    fn leave(&mut self, at: Ticks, _: RegionId, _: usize, _: Close) {
        self.pass(at);
        self.stack.pop();
    }

    fn event(&mut self, at: Ticks, event: Event<'_>, _: usize) {
        let is_useful = self.is_useful();
        self.counters.add(at, event, is_useful);
    }
}

/// Returns `true` for each region in which time is useful.
fn useful_regions(definitions: &Definitions) -> Vec<bool> {
    let regions = &definitions.regions;
    let has_states = has_states(definitions);
    let is_useful = |region: &perf_core::Region| {
        if has_states {
            is_running(region)
        } else {
            !region.is_mpi() && region.paradigm != Paradigm::Measurement
        }
    };
    regions.iter().map(is_useful).collect()
}

impl UsefulTime {
    /// Returns the useful time of each of these locations; locations outside of the view are skipped. Progress is
    /// reported by location in the phase `useful time`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Cancelled`](crate::Error::Cancelled) if the job is cancelled.
    pub fn of(view: TraceView<'_>, locations: &[LocationId], job: &Job) -> Result<Vec<Self>> {
        let definitions = view.definitions();
        let useful = useful_regions(definitions);
        let found = parallel::try_map(locations.len(), |number| {
            let Some(location) = view.location(locations[number]) else {
                return Ok(None);
            };
            let mut summing = Summing {
                useful: &useful,
                has_states: has_states(definitions),
                stack: Vec::new(),
                since: location.times().first().copied().unwrap_or_default(),
                time: 0,
                counters: Counters {
                    definitions,
                    last: [None; 2],
                    read: [None; 2],
                    sums: [None; 2],
                },
            };
            replay(location, &mut summing, job)?;
            let [instructions, cycles] = summing.counters.sums;
            job.advance("useful time", 1, locations.len() as u64);
            Ok::<_, Error>(Some(UsefulTime {
                location: locations[number],
                time: definitions.clock.total(u128::from(summing.time)),
                instructions,
                cycles,
            }))
        })?;
        Ok(found.into_iter().flatten().collect())
    }
}
