//! Efficiencies of the POP methodology: [`Efficiencies`] of one run, [`Series`] of several runs,
//! and [`HybridEfficiencies`] with threads and accelerators.
//!
//! With the useful time `u_i` of process `i`, the run time `T`, and `T*`, `u*` of a replay on an ideal network:
//!
//! ```text
//! parallel efficiency      = mean(u) / T  = load balance x communication efficiency
//! load balance             = mean(u) / max(u)
//! communication efficiency = max(u) / T   = serialisation efficiency x transfer efficiency
//! serialisation efficiency = u* / T*
//! transfer efficiency      = communication efficiency / serialisation efficiency
//! computation scaling      = sum(u_ref) / sum(u) = IPC x instruction x frequency scaling
//! global efficiency        = parallel efficiency x computation scaling
//! ```
//!
//! Useful time is the time in the state `Running` if the recording has it (Paraver). Otherwise it is the time between
//! the first and the last event of a process outside of MPI and of the measurement system. `u*` is the largest sum of
//! the bursts between MPI calls of a process and not its useful time. See [`IdealNetwork`] for the rules of the replay
//! and for the operations for which they have not been compared with Dimemas. Each process is represented by its first
//! thread; other threads do not take part. [`HybridEfficiencies`] include threads and accelerators, without a replay.

mod hybrid;
mod ideal;
mod network;
mod series;
mod useful;

pub use hybrid::{DeviceTimes, HybridEfficiencies, ProcessTimes};
pub use ideal::IdealRun;
pub use network::{BroadcastRule, IdealNetwork, IdealNetworkParams};
pub use series::{Scaling, Series, SeriesRow};
pub use useful::UsefulTime;

use crate::activity::Activities;
use crate::{Error, Result};
use perf_core::{Job, Nanos, Table, TraceView};

/// The efficiencies of one run.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Efficiencies {
    /// Run time `T`: from the first event of the trace to the last one.
    pub runtime: Nanos,
    /// Useful time and counters of each process.
    pub processes: Vec<UsefulTime>,
    /// Replay on an ideal network.
    pub ideal: IdealRun,
}

impl Efficiencies {
    /// Measures the efficiencies of a trace.
    ///
    /// Times before the first and after the last event of the view do not count. Progress is reported by location in
    /// the phases `messages`, `calls` and `useful time`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Nothing`] if the trace has no MPI calls, [`Error::Cycle`] if its calls cannot be replayed, and
    /// [`Error::Cancelled`] if the job is cancelled.
    pub fn of(view: TraceView<'_>, network: &IdealNetwork, job: &Job) -> Result<Self> {
        let activities = Activities::of_mpi(view, job)?;
        Self::of_activities(view, &activities, network, job)
    }

    /// Measures the efficiencies of a trace whose activities are known. Those of threads and accelerators do not
    /// count.
    ///
    /// # Errors
    ///
    /// As [`of`](Self::of).
    pub fn of_activities(
        view: TraceView<'_>,
        activities: &Activities,
        network: &IdealNetwork,
        job: &Job,
    ) -> Result<Self> {
        if activities.is_hybrid() {
            return Self::of(view, network, job);
        }
        let ideal = network.replay(activities, job)?;
        let locations: Vec<_> = ideal.locations.clone();
        let processes = UsefulTime::of(view, &locations, job)?;
        let (start, end) = activities
            .range()
            .ok_or(Error::Nothing { what: "events" })?;
        let runtime = activities
            .clock()
            .total(u128::from(end.saturating_since(start)));
        Ok(Efficiencies {
            runtime,
            processes,
            ideal,
        })
    }

    /// Returns the mean useful time of a process in nanoseconds.
    pub fn mean_useful(&self) -> f64 {
        self.total_useful() / self.processes.len().max(1) as f64
    }

    /// Returns the sum of the useful times in nanoseconds.
    pub fn total_useful(&self) -> f64 {
        self.processes.iter().map(|it| it.time.0 as f64).sum()
    }

    /// Returns the largest useful time of a process.
    pub fn max_useful(&self) -> Nanos {
        let times = self.processes.iter().map(|it| it.time);
        times.max().unwrap_or_default()
    }

    /// Returns `mean(u) / T`.
    pub fn parallel_efficiency(&self) -> f64 {
        self.mean_useful() / self.runtime.0 as f64
    }

    /// Returns `mean(u) / max(u)`.
    pub fn load_balance(&self) -> f64 {
        self.mean_useful() / self.max_useful().0 as f64
    }

    /// Returns `max(u) / T`.
    pub fn communication_efficiency(&self) -> f64 {
        self.max_useful().0 as f64 / self.runtime.0 as f64
    }

    /// Returns `u* / T*`.
    pub fn serialisation_efficiency(&self) -> f64 {
        self.ideal.max_computation().0 as f64 / self.ideal.runtime.0 as f64
    }

    /// Returns the communication efficiency divided by the serialisation efficiency, which is not `T* / T`.
    pub fn transfer_efficiency(&self) -> f64 {
        self.communication_efficiency() / self.serialisation_efficiency()
    }

    /// Returns the instructions of all processes in useful time, where they were counted.
    pub fn instructions(&self) -> Option<f64> {
        self.processes.iter().map(|it| it.instructions).sum()
    }

    /// Returns the cycles of all processes in useful time, where they were counted.
    pub fn cycles(&self) -> Option<f64> {
        self.processes.iter().map(|it| it.cycles).sum()
    }

    /// Returns the instructions per cycle in useful time, where both were counted.
    pub fn ipc(&self) -> Option<f64> {
        Some(self.instructions()? / self.cycles()?)
    }

    /// Returns the cycles per nanosecond of useful time (GHz), where they were counted.
    pub fn frequency(&self) -> Option<f64> {
        Some(self.cycles()? / self.total_useful())
    }

    /// Returns the efficiencies as a table: one row each, in per cent.
    pub fn table(&self) -> Table {
        let rows = [
            ("parallel efficiency", self.parallel_efficiency()),
            ("load balance", self.load_balance()),
            ("communication efficiency", self.communication_efficiency()),
            ("serialisation efficiency", self.serialisation_efficiency()),
            ("transfer efficiency", self.transfer_efficiency()),
        ];
        Table::new("efficiencies", "Efficiencies of the POP methodology.")
            .text("efficiency", rows.map(|row| row.0))
            .floats("value", "%", rows.map(|row| row.1 * 100.0))
    }
}
