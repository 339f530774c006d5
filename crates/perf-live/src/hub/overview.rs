//! [`Overview`]: summary of all programs and ranks, and [`Cached`], a cache for such summaries.

use super::lock;
use super::state::State;
use perf_anomaly::Loss;
use perf_anomaly::server::{RankSummary, Ranking};
use perf_core::Merge;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Summary of all programs and ranks.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Overview {
    /// Number that changes with every change of the state.
    pub revision: u64,
    /// Totals over all calls.
    pub total: Loss,
    /// Summary of each rank, sorted by program and rank.
    pub ranks: Vec<RankSummary>,
    /// Summary of each program.
    pub programs: Vec<ProgramSummary>,
    /// Number of clients. Each start of a program is a new client.
    pub clients: usize,
    /// Number of records dropped because there were too many or they were too old, see
    /// [`HubParams::keep_bytes`](super::HubParams::keep_bytes).
    pub dropped: u64,
    /// Reason why the database cannot be written; `None` if it can be written. While it cannot be
    /// written, messages are rejected and clients send them again.
    pub failure: Option<String>,
    /// Number of messages since the start of the server that were not stored because the database
    /// could not be written.
    pub unstored: u64,
}

/// Summary of a program of a workflow.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ProgramSummary {
    /// Number of the program.
    pub program: u32,
    /// Display name; empty if unknown.
    pub name: String,
    /// Number of ranks that completed calls.
    pub ranks: usize,
    /// Number of clients with a message in the last ten seconds.
    pub active: usize,
    /// Number of clients.
    pub clients: usize,
    /// Last step of the program.
    pub step: u64,
    /// Totals over all calls of the program.
    pub loss: Loss,
}

/// Time without a message after which a client is inactive.
const SILENT: Duration = Duration::from_secs(10);

impl Overview {
    pub(super) fn of(state: &State) -> Self {
        let mut overview = Self::of_ranks(state.server.ranking(Ranking::Total));
        let mut programs: BTreeMap<u32, ProgramSummary> = BTreeMap::new();
        for program in overview.programs {
            programs.insert(program.program, program);
        }
        let now = Instant::now();
        for known in state.clients.values() {
            let program = programs.entry(known.stored.program).or_default();
            program.clients += 1;
            let is_active = known.seen.is_some_and(|seen| now - seen < SILENT);
            program.active += usize::from(is_active);
        }
        for (number, program) in &mut programs {
            program.program = *number;
            // The name and the first step of a program may be unknown yet.
            program.name = state.programs.get(number).cloned().unwrap_or_default();
            program.step = state.steps.get(number).copied().unwrap_or_default();
        }
        overview.revision = state.revision;
        overview.clients = state.clients.len();
        overview.dropped = state.dropped;
        overview.failure = state.failure.clone();
        overview.unstored = state.counts.unstored;
        overview.programs = programs.into_values().collect();
        overview
    }

    /// Creates an overview from the summaries of ranks. Its programs have no names, clients and
    /// steps.
    pub(super) fn of_ranks(mut ranks: Vec<RankSummary>) -> Self {
        ranks.sort_by_key(|one| (one.program, one.rank));
        let mut overview = Overview::default();
        for rank in &ranks {
            let programs = &mut overview.programs;
            let last = programs.last().map(|last| last.program);
            if last != Some(rank.program) {
                programs.push(ProgramSummary {
                    program: rank.program,
                    ..ProgramSummary::default()
                });
            }
            if let Some(program) = programs.last_mut() {
                program.ranks += 1;
                program.loss.merge(&rank.loss);
            }
            overview.total.merge(&rank.loss);
        }
        overview.ranks = ranks;
        overview
    }

    /// Returns the ranks in descending order of a statistic. Equal values are sorted by program and
    /// rank.
    pub fn ranked(&self, by: Ranking) -> Vec<&RankSummary> {
        let ranks = self.ranks.iter();
        let mut all: Vec<_> = ranks.map(|one| (one.statistic(by), one)).collect();
        all.sort_by(|one, other| other.0.total_cmp(&one.0));
        all.into_iter().map(|(_, one)| one).collect()
    }
}

/// Cache for a value that is expensive to compute.
#[derive(Debug)]
pub(super) struct Cached<T>(Mutex<Option<Computed<T>>>);

/// Computed value.
#[derive(Debug)]
struct Computed<T> {
    /// Time at which it was complete.
    at: Instant,
    /// Time that it took.
    took: Duration,
    /// Value.
    value: Arc<T>,
}

impl<T> Default for Cached<T> {
    fn default() -> Self {
        Cached(Mutex::new(None))
    }
}

/// Largest age of a cached value.
const FRESH: Duration = Duration::from_millis(200);

/// Largest age in multiples of the time that the value takes, so that open pages leave the processor to
/// messages.
const FRESH_TIMES: u32 = 10;

impl<T> Cached<T> {
    /// Returns the cached value, or computes a new value if the cached value is too old.
    pub(super) fn get(&self, make: impl FnOnce() -> T) -> Arc<T> {
        let mut inner = lock(&self.0);
        if let Some(known) = &*inner
            && known.at.elapsed() < FRESH.max(known.took * FRESH_TIMES)
        {
            return Arc::clone(&known.value);
        }
        let began = Instant::now();
        let value = Arc::new(make());
        *inner = Some(Computed {
            at: Instant::now(),
            took: began.elapsed(),
            value: Arc::clone(&value),
        });
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf_anomaly::server::{Ranks, StepStats};
    use perf_core::Nanos;

    /// Ranks have the order of the server, for any statistic.
    #[test]
    fn ranks_have_the_order_of_the_server() {
        let mut ranks = Ranks::default();
        for (rank, step, slow, time) in [(0, 0, 9, 5), (1, 0, 3, 90), (1, 1, 4, 1), (2, 0, 5, 40)] {
            let mut part = StepStats::default();
            (part.rank, part.step) = (rank, step);
            (part.loss.calls, part.loss.too_slow) = (20, slow);
            part.loss.time = Nanos(time);
            ranks.add(&part, 4, 8);
        }
        let overview = Overview::of_ranks(ranks.ranked(Ranking::Total));
        let mut orders = Vec::new();
        for by in [
            Ranking::Total,
            Ranking::Mean,
            Ranking::Deviation,
            Ranking::Minimum,
            Ranking::Maximum,
            Ranking::TimeLost,
        ] {
            let order: Vec<u32> = overview.ranked(by).iter().map(|one| one.rank).collect();
            let known: Vec<u32> = ranks.ranked(by).iter().map(|one| one.rank).collect();
            assert_eq!(order, known, "{by:?}");
            orders.push(order);
        }
        assert!(orders.contains(&vec![0, 1, 2]) && orders.contains(&vec![1, 2, 0]));
    }
}
