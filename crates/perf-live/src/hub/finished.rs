//! [`Finished`]: read-only state of a finished run, loaded from its database.

use super::lost_time::LostTime;
use super::overview::Overview;
use super::params::{CheckedHubParams, HubParams};
use super::slow::Slow;
use super::state::State;
use crate::Result;
use crate::store::DatabaseReader;
use perf_anomaly::server::{FunctionName, FunctionStats, Ranking, Ranks, Server};
use perf_anomaly::{CounterSummary, FunctionId, Model};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Finished run. It has the state of a [`Hub`](super::Hub) at its end and cannot be changed.
///
/// A database written by a [`Recorder`](perf_anomaly::provenance::Recorder) without a server is
/// supported too. Such a database does not contain calls that were not recorded, so counts are
/// numbers of recorded anomalies.
///
/// ```
/// use perf_live::hub::{Finished, Hub, Message};
/// use perf_live::wire::Hello;
/// # let file = std::env::temp_dir().join(format!("perf-live-finished-{}.sqlite", std::process::id()));
/// # std::fs::remove_file(&file).ok();
/// let hub = Hub::open(&file, Default::default())?;
/// let hello = Hello { client: 7, name: "lammps".into(), ..Hello::default() };
/// hub.say(Message::Hello(hello), 64)?;
/// hub.close();
///
/// let run = Finished::open(&file, Default::default())?;
/// assert_eq!(&*run.overview().programs[0].name, "lammps");
/// assert!(run.functions().is_empty());
/// # std::fs::remove_file(&file).ok();
/// # Ok::<(), perf_live::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Finished {
    /// Path of the database.
    path: PathBuf,
    /// Overview of all ranks.
    overview: Arc<Overview>,
    /// Statistics of functions.
    functions: Arc<Vec<(FunctionName, FunctionStats)>>,
    /// Statistics of counters, and number of values that are in none.
    counters: Arc<(Vec<CounterSummary>, u64)>,
    /// Causes of lost time.
    slow: Arc<Slow>,
    /// Time lost by rank and step.
    lost_time: Arc<LostTime>,
    /// Parameter server at the end, for its model; `None` for a database without a server.
    server: Option<Arc<Server>>,
}

impl Finished {
    /// Opens a database.
    ///
    /// # Errors
    /// Returns [`Error::Store`](crate::Error::Store) if the database cannot be read, and the errors
    /// of decoding its contents.
    pub fn open(path: impl AsRef<Path>, params: CheckedHubParams) -> Result<Self> {
        let reader = DatabaseReader::open(path.as_ref())?;
        let (overview, functions, counters, slow, lost_time, server) = if reader.is_plain() {
            let (overview, functions, lost) = of_records(&reader, &params.0)?;
            let slow = Slow::of_records(&functions, &overview.ranks, &reader);
            let none = Default::default();
            (
                overview,
                functions,
                none,
                Arc::new(slow),
                Arc::new(lost),
                None,
            )
        } else {
            let mut state = State::new(&params.0, reader.load()?)?;
            reader.each_logged(|bytes| state.again(bytes))?;
            let lost = Arc::make_mut(&mut state.lost);
            reader.each_step(|key, anomalies, time| lost.add_calls(key, anomalies, time))?;
            let (slow, lost) = state.snapshot().compare(Some(&reader));
            let (overview, functions) = (Overview::of(&state), state.functions());
            let counters = state.counters();
            let server = Some(Arc::new(state.server));
            (overview, functions, counters, slow, lost, server)
        };
        Ok(Finished {
            path: path.as_ref().into(),
            overview: Arc::new(overview),
            functions: Arc::new(functions),
            counters: Arc::new(counters),
            slow,
            lost_time,
            server,
        })
    }

    /// Returns the overview of all ranks.
    pub fn overview(&self) -> Arc<Overview> {
        Arc::clone(&self.overview)
    }

    /// Returns the statistics of each function on all ranks, in descending order of time lost.
    pub fn functions(&self) -> Arc<Vec<(FunctionName, FunctionStats)>> {
        Arc::clone(&self.functions)
    }

    /// Returns the statistics of each counter on all ranks, and the number of values that are in none; none for a
    /// database without a server.
    pub fn counters(&self) -> Arc<(Vec<CounterSummary>, u64)> {
        Arc::clone(&self.counters)
    }

    /// Returns the ranks, phases and modes that are slow, and the causes of lost time; none for a database without a
    /// server.
    pub fn slow(&self) -> Arc<Slow> {
        Arc::clone(&self.slow)
    }

    /// Returns the time lost by rank and step.
    pub(crate) fn lost_time(&self) -> Arc<LostTime> {
        Arc::clone(&self.lost_time)
    }

    /// Returns the number of a function, and the model of all ranks with this function alone.
    pub(crate) fn model_of(&self, name: &FunctionName) -> Option<(FunctionId, Model)> {
        State::model_of(self.server.as_ref()?, name)
    }

    /// Returns the path of the database.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

type Known = (Overview, Vec<(FunctionName, FunctionStats)>, LostTime);

/// Computes the state from recorded anomalies.
fn of_records(reader: &DatabaseReader, params: &HubParams) -> Result<Known> {
    let mut ranks = Ranks::default();
    let (mut lost, mut waiting) = (LostTime::default(), LostTime::default());
    waiting.show_waiting();
    reader.each_recorded_step(|step| {
        let key = (step.program, step.rank, step.step);
        lost.add_calls(key, step.loss.anomalies(), step.loss.time.0);
        lost.add_total(step.loss.time.0);
        waiting.add_calls(key, step.loss.anomalies(), step.loss.waiting.0);
        waiting.add_total(step.loss.waiting.0);
        ranks.add(&step, params.history, params.clients);
    })?;
    let mut overview = Overview::of_ranks(ranks.ranked(Ranking::Total));
    overview.revision = 1;
    let is_lost = overview.ranks.iter().any(|rank| rank.loss.time.0 > 0);
    let lost = if is_lost { lost } else { waiting };
    Ok((overview, reader.recorded_functions()?, lost))
}
