//! [`PeerSums`]: times of functions by rank and step.

use super::FunctionKey;
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
            cells: BTreeMap::new(),
        })
    }
}

/// Times of one function on one rank in one step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) calls: u64,
    pub(super) time: u64,
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
    /// By function, rank and step.
    pub(super) cells: BTreeMap<(FunctionKey, u32, u64), Cell>,
}

impl Default for PeerSums {
    fn default() -> Self {
        PeerSums {
            min_score: 6.0,
            min_factor: 1.02,
            cells: BTreeMap::new(),
        }
    }
}

/// Times of a cell add up. Parameters are those of the first.
impl Merge for PeerSums {
    fn merge(&mut self, other: &Self) {
        for (key, cell) in &other.cells {
            let own = self.cells.entry(*key).or_default();
            own.calls += cell.calls;
            own.time = own.time.saturating_add(cell.time);
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
        let cell = self.cells.entry((function, rank, step)).or_default();
        cell.calls += 1;
        let time = u64::try_from(time.0).unwrap_or_default();
        cell.time = cell.time.saturating_add(time);
    }

    /// Adds the calls of a trace: functions are regions, ranks are locations, and the step of a call is its number
    /// among the calls of the function on the location. Times are exclusive. MPI and the measurement system do not take
    /// part, since their times follow from those of others.
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
        let ids: Vec<LocationId> = view.ids().collect();
        let found = parallel::try_map(ids.len(), |number| {
            job.check()?;
            let mut calls = Calls {
                view,
                functions: &functions,
                code: &code,
                stack: Vec::new(),
                steps: BTreeMap::new(),
                found: Vec::new(),
            };
            if let Some(location) = view.location(ids[number])
                && !location.overlaps(definitions, job)?
            {
                replay(location, &mut calls, job)?;
            }
            Ok::<_, Error>(calls.found)
        })?;
        let cells = ids.iter().zip(found).flat_map(|(id, calls)| {
            let rank = id.0;
            calls.into_iter().map(move |(function, step, time)| {
                ((function, rank, step), Cell { calls: 1, time })
            })
        });
        if self.cells.is_empty() {
            // Building a map at once is faster than adding to it.
            self.cells = cells.collect();
            return Ok(());
        }
        for (key, cell) in cells {
            let own = self.cells.entry(key).or_default();
            own.calls += cell.calls;
            own.time = own.time.saturating_add(cell.time);
        }
        Ok(())
    }

    /// Drops the calls of earlier steps.
    pub fn forget_before(&mut self, step: u64) {
        self.cells.retain(|key, _| key.2 >= step);
    }

    /// Number of cells of function, rank and step. A cell takes about 48 bytes.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Returns `true` without calls.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }
}

/// Visitor that adds the calls of one location.
struct Calls<'a> {
    view: TraceView<'a>,
    functions: &'a [RegionId],
    code: &'a [bool],
    /// Enter of each open frame, and the ticks below it.
    stack: Vec<(Ticks, u64)>,
    /// Number of calls of each function so far.
    steps: BTreeMap<RegionId, u64>,
    /// Function, number and exclusive time of each call, in nanoseconds.
    found: Vec<(FunctionKey, u64, u64)>,
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
        if let Some(parent) = self.stack.last_mut() {
            parent.1 = parent.1.saturating_add(time);
        }
        if self.code.get(region.index()) != Some(&true) {
            return;
        }
        let function = self
            .functions
            .get(region.index())
            .copied()
            .unwrap_or(region);
        let step = self.steps.entry(function).or_default();
        let clock = self.view.definitions().clock;
        let own = clock.total(u128::from(time.saturating_sub(below)));
        let own = u64::try_from(own.0).unwrap_or_default();
        self.found.push((function.0, *step, own));
        *step += 1;
    }
}
