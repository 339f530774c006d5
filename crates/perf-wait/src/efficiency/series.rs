//! [`Series`]: efficiencies of several runs of one program, and their strong or weak [`Scaling`]
//! relative to the first run, as a [`SeriesRow`] for each.

use super::Efficiencies;
use crate::{Error, Result};
use perf_core::{Nanos, Table};

/// Work that a run of a series is expected to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Scaling {
    /// All runs do the same work (strong scaling).
    #[default]
    Strong,
    /// Work grows with the number of processes (weak scaling).
    Weak,
}

/// Efficiencies and scaling of one run of a [`Series`]. All factors are relative to the first run.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SeriesRow {
    /// Number of processes.
    pub processes: usize,
    /// Run time.
    pub runtime: Nanos,
    /// Parallel efficiency.
    pub parallel: f64,
    /// Load balance.
    pub load_balance: f64,
    /// Communication efficiency.
    pub communication: f64,
    /// Serialisation efficiency.
    pub serialisation: f64,
    /// Transfer efficiency.
    pub transfer: f64,
    /// Computation scaling: useful time of the first run over that of this one.
    pub computation_scaling: f64,
    /// IPC scaling, where instructions and cycles were counted.
    pub ipc_scaling: Option<f64>,
    /// Instruction scaling, where instructions were counted.
    pub instruction_scaling: Option<f64>,
    /// Frequency scaling, where cycles were counted.
    pub frequency_scaling: Option<f64>,
    /// Global efficiency: parallel efficiency times computation scaling.
    pub global: f64,
    /// Speedup: run time of the first run over that of this one, times the growth of the work.
    pub speedup: f64,
}

/// Efficiencies and scaling of several runs of one program.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Series {
    /// Runs in the order that was given. The first one is the reference.
    pub rows: Vec<SeriesRow>,
}

impl Series {
    /// Compares runs with the first of them.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Nothing`] without runs.
    pub fn of(runs: &[Efficiencies], scaling: Scaling) -> Result<Self> {
        let first = runs.first().ok_or(Error::Nothing { what: "runs" })?;
        let row = |run: &Efficiencies| {
            let processes = |run: &Efficiencies| run.processes.len() as f64;
            let work = match scaling {
                Scaling::Strong => 1.0,
                Scaling::Weak => processes(run) / processes(first),
            };
            let ratio = |value: Option<f64>, reference: Option<f64>| Some(value? / reference?);
            let computation_scaling = first.total_useful() * work / run.total_useful();
            SeriesRow {
                processes: run.processes.len(),
                runtime: run.runtime,
                parallel: run.parallel_efficiency(),
                load_balance: run.load_balance(),
                communication: run.communication_efficiency(),
                serialisation: run.serialisation_efficiency(),
                transfer: run.transfer_efficiency(),
                computation_scaling,
                ipc_scaling: ratio(run.ipc(), first.ipc()),
                instruction_scaling: ratio(first.instructions(), run.instructions())
                    .map(|ratio| ratio * work),
                frequency_scaling: ratio(run.frequency(), first.frequency()),
                global: run.parallel_efficiency() * computation_scaling,
                speedup: first.runtime.0 as f64 * work / run.runtime.0 as f64,
            }
        };
        Ok(Series {
            rows: runs.iter().map(row).collect(),
        })
    }

    /// Returns the series as a table: one row for each run, factors in per cent.
    pub fn table(&self) -> Table {
        let rows = || self.rows.iter();
        let mut table = Table::new(
            "efficiencies",
            "Efficiencies and scaling of a series of runs.",
        )
        .unsigned("processes", "", rows().map(|row| row.processes as u64))
        .times("run time", rows().map(|row| row.runtime))
        .floats("speedup", "", rows().map(|row| row.speedup));
        type Factor = (&'static str, fn(&SeriesRow) -> Option<f64>);
        let factors: [Factor; 10] = [
            ("global efficiency", |row| Some(row.global)),
            ("parallel efficiency", |row| Some(row.parallel)),
            ("load balance", |row| Some(row.load_balance)),
            ("communication efficiency", |row| Some(row.communication)),
            ("serialisation efficiency", |row| Some(row.serialisation)),
            ("transfer efficiency", |row| Some(row.transfer)),
            ("computation scaling", |row| Some(row.computation_scaling)),
            ("IPC scaling", |row| row.ipc_scaling),
            ("instruction scaling", |row| row.instruction_scaling),
            ("frequency scaling", |row| row.frequency_scaling),
        ];
        for (name, factor) in factors {
            let cells = rows().map(|row| factor(row).map(|value| value * 100.0));
            table = table.floats(name, "%", cells);
        }
        table
    }
}
