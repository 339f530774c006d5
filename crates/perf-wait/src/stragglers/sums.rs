//! [`PeerSums`]: collects the times of functions by rank and step, call by call or from a trace;
//! [`PeerSumsParams`]: thresholds for stragglers.

use super::FunctionKey;
use super::row::{Cell, Row};
use crate::running_state::is_running;
use crate::{Error, Result};
use perf_core::{
    Close, Job, LocationId, Merge, Nanos, RegionId, Ticks, TraceView, Unify, Visitor, parallel,
    replay,
};
use std::collections::BTreeMap;

/// Parameters of [`PeerSums`]: set them, then [`check`](Self::check).
#[derive(Clone, Debug)]
pub struct PeerSumsParams {
    min_score: f64,
    min_factor: f64,
}

impl PeerSumsParams {
    /// Distance from the peers in standard errors from which a rank, step or call is a straggler, default 6.
    pub fn min_score(mut self, score: f64) -> Self {
        self.min_score = score;
        self
    }

    /// Factor from which a rank, step or call is a straggler, default 1.02.
    pub fn min_factor(mut self, factor: f64) -> Self {
        self.min_factor = factor;
        self
    }

    /// Checks the parameters.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Parameter`] for a score that is not above 0 and for a factor below 1.
    pub fn check(self) -> Result<PeerSums> {
        let fault = |name, value: f64, expected| Error::Parameter {
            name,
            value: value.to_string(),
            expected,
        };
        if !(self.min_score > 0.0 && self.min_score.is_finite()) {
            return Err(fault("min_score", self.min_score, "a number above 0"));
        }
        if !(self.min_factor >= 1.0 && self.min_factor.is_finite()) {
            return Err(fault(
                "min_factor",
                self.min_factor,
                "a number of at least 1",
            ));
        }
        Ok(PeerSums {
            min_score: self.min_score,
            min_factor: self.min_factor,
            rows: BTreeMap::new(),
        })
    }
}

/// Times of functions by rank and step.
///
/// ```
/// use perf_core::{Job, Merge, Nanos};
/// use perf_wait::stragglers::{PeerSums, StragglerKind, Stragglers};
/// // Eight ranks in 20 steps. Rank 5 takes 30 % longer in all of them.
/// let mut sums = PeerSums::default();
/// for step in 0..20 {
///     for rank in 0..8 {
///         let noise = (step * 7 + u64::from(rank) * 13) % 11;
///         let time = 1_000 + noise as i64;
///         sums.add(0, rank, step, Nanos(if rank == 5 { time * 13 / 10 } else { time }));
///     }
/// }
/// let found = Stragglers::of(&sums, &Job::default())?;
/// let first = found.stragglers[0];
/// assert_eq!((first.kind, first.rank), (StragglerKind::Rank, Some(5)));
/// assert!((first.factor - 1.3).abs() < 0.01);
/// # Ok::<(), perf_wait::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PeerSums {
    pub(super) min_score: f64,
    pub(super) min_factor: f64,
    /// Cells of each function and rank in order of step.
    pub(super) rows: BTreeMap<(FunctionKey, u32), Row>,
}

impl Default for PeerSums {
    fn default() -> Self {
        PeerSums {
            min_score: 6.0,
            min_factor: 1.02,
            rows: BTreeMap::new(),
        }
    }
}

/// Times of a cell add up. Parameters are those of the first.
impl Merge for PeerSums {
    fn merge(&mut self, other: &Self) {
        for (key, row) in &other.rows {
            let own = self.rows.entry(*key).or_default();
            for (step, cell) in row.iter() {
                own.add(step, cell);
            }
        }
    }
}

impl PeerSums {
    /// Returns the default parameters.
    pub fn params() -> PeerSumsParams {
        let PeerSums {
            min_score,
            min_factor,
            ..
        } = PeerSums::default();
        PeerSumsParams {
            min_score,
            min_factor,
        }
    }

    /// Adds a call. Several calls of a function on a rank in a step count as one. Times below 0 count as 0.
    pub fn add(&mut self, function: FunctionKey, rank: u32, step: u64, time: Nanos) {
        let time = u64::try_from(time.0).unwrap_or_default();
        let row = self.rows.entry((function, rank)).or_default();
        row.add(step, Cell { calls: 1, time });
    }

    /// Adds the calls of a trace: functions are regions, ranks are locations, and the step of a call is its number
    /// among the calls of the function on the location. Times are exclusive. MPI and the measurement system do not take
    /// part, since their times follow from those of others. The state `Running` of Paraver belongs to the function around
    /// it, and is a function of its own outside of all.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Cancelled`] if the job is cancelled.
    pub fn add_trace(&mut self, view: TraceView<'_>, job: &Job) -> Result<()> {
        let definitions = view.definitions();
        let functions = Unify::default().representatives(&definitions.regions);
        let is_code = |region: &perf_core::Region| {
            !region.is_mpi() && region.paradigm != perf_core::Paradigm::Measurement
        };
        let code: Vec<bool> = definitions.regions.iter().map(is_code).collect();
        let running: Vec<bool> = definitions.regions.iter().map(is_running).collect();
        let ids: Vec<LocationId> = view.ids().collect();
        let found = parallel::try_map(ids.len(), |number| {
            job.check()?;
            let mut calls = Calls {
                view,
                functions: &functions,
                code: &code,
                running: &running,
                stack: Vec::new(),
                rows: BTreeMap::new(),
            };
            if let Some(location) = view.location(ids[number])
                && !location.overlaps(definitions, job)?
            {
                replay(location, &mut calls, job)?;
            }
            calls.rows.values_mut().for_each(Row::shrink_to_fit);
            Ok::<_, Error>(calls.rows)
        })?;
        for (id, rows) in ids.iter().zip(found) {
            for (function, row) in rows {
                let own = self.rows.entry((function.0, id.0)).or_default();
                if own.is_empty() {
                    *own = row;
                    continue;
                }
                for (step, cell) in row.iter() {
                    own.add(step, cell);
                }
            }
        }
        Ok(())
    }

    /// Drops the calls of earlier steps.
    pub fn forget_before(&mut self, step: u64) {
        self.rows.retain(|_, row| {
            row.forget_before(step);
            !row.is_empty()
        });
    }

    /// Number of cells of function, rank and step. A cell takes 8 bytes if it is one call and
    /// follows the step before, otherwise 24.
    pub fn len(&self) -> usize {
        self.rows.values().map(Row::len).sum()
    }

    /// Returns `true` without calls.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// Visitor that adds the calls of one location.
struct Calls<'a> {
    view: TraceView<'a>,
    functions: &'a [RegionId],
    code: &'a [bool],
    /// `true` for each region that is the state in which a thread computes.
    running: &'a [bool],
    /// Enter of each open frame, and the ticks below it.
    stack: Vec<(Ticks, u64)>,
    /// Exclusive times of the calls of each function, in nanoseconds.
    rows: BTreeMap<RegionId, Row>,
}

impl Visitor for Calls<'_> {
    fn enter(&mut self, at: Ticks, _: RegionId, _: usize) {
        self.stack.push((at, 0));
    }

    fn leave(&mut self, at: Ticks, region: RegionId, _: usize, _: Close) {
        let Some((enter, below)) = self.stack.pop() else {
            return;
        };
        let time = at.saturating_since(enter);
        let is_running = self.running.get(region.index()) == Some(&true);
        if is_running && !self.stack.is_empty() {
            return;
        }
        if let Some(parent) = self.stack.last_mut() {
            parent.1 = parent.1.saturating_add(time);
        }
        if self.code.get(region.index()) != Some(&true) {
            return;
        }
        // A region without a definition stands for itself.
        let function = self
            .functions
            .get(region.index())
            .copied()
            .unwrap_or(region);
        let row = self.rows.entry(function).or_default();
        let clock = self.view.definitions().clock;
        let own = clock.total(u128::from(time.saturating_sub(below)));
        let time = u64::try_from(own.0).unwrap_or_default();
        row.add(row.len() as u64, Cell { calls: 1, time });
    }
}
