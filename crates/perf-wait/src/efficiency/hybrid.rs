//! [`HybridEfficiencies`]: efficiencies of processes, their threads, and accelerators, from
//! [`ProcessTimes`] and [`DeviceTimes`] of a trace.

use super::UsefulTime;
use crate::activity::{Activities, CallKind, LocationCalls, work};
use crate::device_collectives::union;
use crate::running_state::has_states;
use crate::{Error, Result};
use perf_core::{
    Job, LocationGroupId, LocationId, LocationKind, Nanos, RegionRole, Table, Ticks, TraceView,
};
use std::collections::BTreeMap;

/// Times of a process.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ProcessTimes {
    /// Process; `None` for locations without one.
    pub process: Option<LocationGroupId>,
    /// Time of its first thread outside of MPI calls.
    pub outside_mpi: Nanos,
    /// Useful time of each thread: outside of MPI, of barriers, locks and idle time, and of calls that launch work on
    /// accelerators or wait for it. In recordings with states of threads, the time in the state `Running`.
    pub useful: Vec<(LocationId, Nanos)>,
    /// Time of all threads in calls that launch work on accelerators or wait for it.
    pub offload: Nanos,
}

/// Times of an accelerator, on any of its streams.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DeviceTimes {
    /// Accelerator; `None` for streams without one.
    pub device: Option<LocationGroupId>,
    /// Time with kernels.
    pub kernels: Nanos,
    /// Time with kernels, copies or fills.
    pub busy: Nanos,
}

/// The efficiencies of processes, threads and accelerators.
///
/// With the useful times `u_it` of thread `t` of process `i`, the time `o_i` of a process outside of MPI, and the times
/// `k_d` and `b_d` that accelerator `d` runs kernels and anything:
///
/// ```text
/// hybrid efficiency         = sum(u) / (T x threads)        = process efficiency x thread efficiency
/// process efficiency        = mean(o) / T
/// thread efficiency         = thread load balance x thread communication efficiency
/// thread load balance       = sum_i(mean_t(u)) / sum_i(max_t(u))
/// offload efficiency        = sum(u) / (sum(u) + time in launches and synchronisation)
/// device efficiency         = mean(k) / T   = load balance x communication x orchestration efficiency
/// device load balance       = mean(k) / max(k)
/// device communication      = max(k) / max(b)
/// device orchestration      = max(b) / T
/// ```
///
/// ```
/// use perf_core::{Definitions, Event, Events, Job, Location, LocationGroup, LocationGroupId, Region};
/// use perf_core::{RegionId, SystemTree, Ticks, Trace};
/// use perf_wait::efficiency::HybridEfficiencies;
/// // Two threads compute for 40 and 80 of 100 ns, and meet in a barrier.
/// let mut definitions = Definitions::default();
/// let process = vec![LocationGroup::default()];
/// let thread = |key| Location { key, group: Some(LocationGroupId(0)), ..Default::default() };
/// definitions.system = SystemTree::new(vec![], process, vec![thread(0), thread(1)], &Default::default())?;
/// definitions.regions = vec![Region::named("solve"), Region::named("!$omp barrier")];
/// let mut all = Vec::new();
/// for own in [40, 80] {
///     let mut events = Events::default();
///     for (region, enter, leave) in [(RegionId(0), 0, own), (RegionId(1), own, 100)] {
///         events.push(Ticks(enter), Event::Enter { region })?;
///         events.push(Ticks(leave), Event::Leave { region })?;
///     }
///     all.push(events);
/// }
/// let trace = Trace::new(definitions, all)?;
/// let found = HybridEfficiencies::of(trace.view(), &Job::default())?;
/// assert_eq!((found.hybrid_efficiency(), found.process_efficiency()), (0.6, 1.0));
/// assert_eq!(found.thread_load_balance(), 0.75);
/// assert!(found.devices.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct HybridEfficiencies {
    /// Run time: from the first event of the trace to the last one.
    pub runtime: Nanos,
    /// Times of the processes.
    pub processes: Vec<ProcessTimes>,
    /// Times of the accelerators.
    pub devices: Vec<DeviceTimes>,
}

/// Returns the ticks of a location in calls of these kinds, within the time of its events.
fn ticks_in(own: &LocationCalls, is_kind: impl Fn(CallKind) -> bool) -> u64 {
    let first = own.range.map_or(Ticks(0), |range| range.0);
    let calls = own.calls.iter().filter(|call| is_kind(call.kind));
    calls
        .map(|call| call.leave.saturating_since(call.enter.max(first)))
        .sum()
}

impl HybridEfficiencies {
    /// Measures the efficiencies of a trace.
    ///
    /// # Errors
    ///
    /// As [`of_activities`](Self::of_activities) and [`Activities::of`].
    pub fn of(view: TraceView<'_>, job: &Job) -> Result<Self> {
        Self::of_activities(view, &Activities::of(view, job)?, job)
    }

    /// Measures the efficiencies of a trace whose activities are known. Threads without calls do not take part.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Nothing`] if the trace has no calls, and [`Error::Cancelled`] if the job is cancelled.
    pub fn of_activities(view: TraceView<'_>, activities: &Activities, job: &Job) -> Result<Self> {
        let (begin, end) = activities
            .range()
            .filter(|_| activities.calls().next().is_some())
            .ok_or(Error::Nothing { what: "calls" })?;
        let (clock, system) = (activities.clock(), &activities.definitions().system);
        let nanos = |ticks: u64| clock.total(u128::from(ticks));
        let running = if has_states(activities.definitions()) {
            let all = (0..).map(LocationId).zip(activities.locations());
            let with_calls = all.filter(|(_, own)| !own.calls.is_empty());
            let threads: Vec<LocationId> = with_calls.map(|it| it.0).collect();
            UsefulTime::of(view, &threads, job)?
        } else {
            Vec::new()
        };
        let mut processes: BTreeMap<_, ProcessTimes> = BTreeMap::new();
        let mut work_of: BTreeMap<_, [Vec<(Ticks, Ticks)>; 2]> = BTreeMap::new();
        for (id, own) in (0..).map(LocationId).zip(activities.locations()) {
            job.check()?;
            let Some(location) = system.location(id).filter(|_| !own.calls.is_empty()) else {
                continue;
            };
            if location.kind == LocationKind::AcceleratorStream {
                let [kernels, busy] = work_of.entry(location.group).or_default();
                let all = view
                    .location(id)
                    .map(|stream| work(stream, job))
                    .transpose()?;
                for it in all.unwrap_or_default() {
                    let region = activities.definitions().regions.get(it.region.index());
                    if region.is_none_or(|it| it.role != RegionRole::DataTransfer) {
                        kernels.push((it.start, it.end));
                    }
                    busy.push((it.start, it.end));
                }
                continue;
            }
            let length = own
                .range
                .map_or(0, |range| range.1.saturating_since(range.0));
            let process = system.process(id);
            let times = processes.entry(process).or_default();
            if times.useful.is_empty() {
                let in_mpi = ticks_in(own, |kind| !kind.is_local());
                times.process = process;
                times.outside_mpi = nanos(length.saturating_sub(in_mpi));
            }
            let outside = nanos(length.saturating_sub(ticks_in(own, |_| true)));
            let useful = running.binary_search_by_key(&id, |it| it.location);
            let useful = useful.ok().and_then(|at| running.get(at));
            times
                .useful
                .push((id, useful.map_or(outside, |it| it.time)));
            let is_offload = |kind| matches!(kind, CallKind::Launch | CallKind::Synchronise);
            let offload = nanos(ticks_in(own, is_offload));
            times.offload = times.offload.saturating_add(offload);
        }
        let devices = work_of
            .into_iter()
            .map(|(device, [mut kernels, mut busy])| DeviceTimes {
                device,
                kernels: nanos(union(&mut kernels)),
                busy: nanos(union(&mut busy)),
            });
        Ok(HybridEfficiencies {
            runtime: nanos(end.saturating_since(begin)),
            processes: processes.into_values().collect(),
            devices: devices.collect(),
        })
    }

    fn threads(&self) -> usize {
        self.processes.iter().map(|it| it.useful.len()).sum()
    }

    fn total_useful(&self) -> f64 {
        let threads = self.processes.iter().flat_map(|it| &it.useful);
        threads.map(|it| it.1.0 as f64).sum()
    }

    /// Returns the useful share of the time of all threads.
    pub fn hybrid_efficiency(&self) -> f64 {
        self.total_useful() / (self.runtime.0 as f64 * self.threads() as f64)
    }

    /// Returns the share of the run time that the processes are outside of MPI.
    pub fn process_efficiency(&self) -> f64 {
        let outside: f64 = self
            .processes
            .iter()
            .map(|it| it.outside_mpi.0 as f64)
            .sum();
        outside / self.processes.len() as f64 / self.runtime.0 as f64
    }

    /// Returns the hybrid efficiency over the process efficiency.
    pub fn thread_efficiency(&self) -> f64 {
        self.hybrid_efficiency() / self.process_efficiency()
    }

    /// Returns the balance of useful time between the threads of the processes.
    pub fn thread_load_balance(&self) -> f64 {
        let (mut means, mut maxima) = (0.0, 0.0);
        for process in &self.processes {
            let times = || process.useful.iter().map(|it| it.1.0 as f64);
            means += times().sum::<f64>() / process.useful.len().max(1) as f64;
            maxima += times().fold(0.0, f64::max);
        }
        means / maxima
    }

    /// Returns the thread efficiency over the balance of the threads.
    pub fn thread_communication_efficiency(&self) -> f64 {
        self.thread_efficiency() / self.thread_load_balance()
    }

    /// Returns the useful share of useful time and of calls that launch work on accelerators or wait for it.
    pub fn offload_efficiency(&self) -> f64 {
        let offload: f64 = self.processes.iter().map(|it| it.offload.0 as f64).sum();
        self.total_useful() / (self.total_useful() + offload)
    }

    /// Returns mean and maximum of the time with kernels, and the maximum of the busy time.
    fn device_times(&self) -> (f64, f64, f64) {
        let kernels = || self.devices.iter().map(|it| it.kernels.0 as f64);
        let mean = kernels().sum::<f64>() / self.devices.len() as f64;
        let busy = self.devices.iter().map(|it| it.busy.0 as f64);
        (
            mean,
            kernels().fold(0.0, f64::max),
            busy.fold(0.0, f64::max),
        )
    }

    /// Returns the share of the run time that the accelerators run kernels; not a number without accelerators.
    pub fn device_efficiency(&self) -> f64 {
        self.device_times().0 / self.runtime.0 as f64
    }

    /// Returns the balance of the time with kernels between the accelerators.
    pub fn device_load_balance(&self) -> f64 {
        let (mean, most, _) = self.device_times();
        mean / most
    }

    /// Returns the share of kernels in the busy time of the accelerators.
    pub fn device_communication_efficiency(&self) -> f64 {
        let (_, most, busy) = self.device_times();
        most / busy
    }

    /// Returns the share of the run time that the busiest accelerator has work.
    pub fn device_orchestration_efficiency(&self) -> f64 {
        self.device_times().2 / self.runtime.0 as f64
    }

    /// Returns the efficiencies as a table: one row each, in per cent. The rows of threads are missing if no process
    /// has several threads, and those of accelerators if there are none.
    pub fn table(&self) -> Table {
        let mut rows = vec![("hybrid efficiency", self.hybrid_efficiency())];
        rows.push(("process efficiency", self.process_efficiency()));
        if self.processes.iter().any(|it| it.useful.len() > 1) {
            rows.extend([
                ("thread efficiency", self.thread_efficiency()),
                ("thread load balance", self.thread_load_balance()),
                (
                    "thread communication efficiency",
                    self.thread_communication_efficiency(),
                ),
            ]);
        }
        if !self.devices.is_empty() {
            rows.extend([
                ("offload efficiency", self.offload_efficiency()),
                ("device efficiency", self.device_efficiency()),
                ("device load balance", self.device_load_balance()),
                (
                    "device communication efficiency",
                    self.device_communication_efficiency(),
                ),
                (
                    "device orchestration efficiency",
                    self.device_orchestration_efficiency(),
                ),
            ]);
        }
        let about = "Efficiencies of processes, threads and accelerators.";
        Table::new("hybrid efficiencies", about)
            .text("efficiency", rows.iter().map(|row| row.0))
            .floats("value", "%", rows.iter().map(|row| row.1 * 100.0))
    }
}
