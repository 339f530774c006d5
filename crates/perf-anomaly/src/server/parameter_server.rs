//! [`Server`]: merges the deltas of all clients, builds views for them, answers queries about
//! functions and ranks, and is encoded for a restart.

use super::message::{Shared, are_below, of_client, renumbered};
use super::names::NameTable;
use super::params::{CheckedServerParams, ServerParams};
use super::programs::{Comparison, Programs};
use super::ranking::{Ranks, tree};
use super::statistics::FunctionStats;
use super::{Delta, FunctionName, Position, RankSummary, Ranking, StepStats, View};
use crate::counters::{CounterSummary, Counters};
use crate::detect::Functions;
use crate::lost_time::{FunctionSteps, ModeTimes, SlowPhase, SlowRank, StepTimes};
use crate::{Change, Error, FunctionId, Model, Moments, Result};
use perf_core::Merge;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Upper bound on a decoded view number; leaves room for `+ 1`.
pub(super) const MOST_VIEWS: u64 = 1 << 63;

/// Number of recent views for which changes are tracked. Clients that are more than `RECENT`
/// versions behind receive a full snapshot.
const RECENT: u64 = 16;

/// Parameter server, which holds the merged knowledge of all clients.
///
/// The server does no input or output. The transport, an [`Exchange`](super::Exchange), calls
/// [`take`](Self::take) for each delta.
///
/// ```
/// use perf_anomaly::calls::Calls;
/// use perf_anomaly::server::{Client, Local, Ranking, Server};
/// use perf_anomaly::{Detector, Tail, Watch};
/// use perf_core::{Job, Nanos};
/// let local = Local::new(Server::default());
/// for rank in 0..2 {
///     let calls = Calls::default();
///     let mut watch = Watch::new(calls, 0, rank);
///     let solve = watch.region("solve");
///     for k in 0..40 {
///         watch.enter(0, solve, Nanos(1_000_000 * k));
///         watch.exit(0, solve, Nanos(1_000_000 * k + 50_000));
///     }
///     watch.end_step();
///     let mut detector = Tail::default();
///     let mut client = Client::new(rank.into(), local.clone());
///     let mut judgements = Vec::new();
///     detector.detect(watch.sink().batch().samples(), &mut judgements, &Job::default())?;
///     client.step(watch.sink(), &judgements, &mut detector)?;
///     // The view contains the calls of the first rank too; the first call of each is not learned.
///     let known = detector.sketch(perf_anomaly::FunctionId(0)).map(|sketch| sketch.count());
///     assert_eq!(known, Some(39 * (u64::from(rank) + 1)));
/// }
/// let ranks = local.server(|server| server.ranking(Ranking::Total))?;
/// assert_eq!((ranks.len(), ranks[0].loss.calls), (2, 40));
/// # Ok::<(), perf_anomaly::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Server {
    /// Parameters.
    pub(super) params: ServerParams,
    /// Names of functions.
    pub(super) names: NameTable,
    /// Merged model.
    pub(super) model: Option<Model>,
    /// Model of the current view.
    pub(super) published: Option<Arc<Shared>>,
    /// Number of the current view.
    pub(super) number: u64,
    /// Last view number of the earlier server that this server continues; 0 for none.
    pub(super) base: u64,
    /// Changes since earlier views, by view number.
    pub(super) news: BTreeMap<u64, Arc<Shared>>,
    /// View in which each function changed last.
    pub(super) changed: Functions<u64>,
    /// Statistics of functions.
    pub(super) functions: Functions<FunctionStats>,
    /// Statistics of ranks.
    pub(super) ranks: Ranks,
    /// Comparison of ranks and steps.
    pub(super) programs: Programs,
    /// Statistics of counters.
    pub(super) counters: Counters,
    /// For each client, the number of its last merged delta, and of its last delta in the current
    /// view.
    pub(super) clients: BTreeMap<u64, (u64, u64)>,
    /// Merged steps of ranks, by client.
    pub(super) positions: BTreeMap<u64, Vec<Position>>,
    /// Total number of merged deltas.
    pub(super) taken: u64,
    /// Number of deltas merged since the current view was built.
    pub(super) since: u64,
    /// Number of times that a function, rank or client was dropped because of a limit.
    pub(super) refused: u64,
}

impl Default for Server {
    /// Returns an empty server with the default parameters.
    fn default() -> Self {
        Server::new(CheckedServerParams::default())
    }
}

impl Server {
    /// Returns the default parameters.
    pub fn params() -> ServerParams {
        ServerParams::default()
    }

    /// Creates an empty server.
    pub fn new(params: CheckedServerParams) -> Self {
        Server {
            params: params.0,
            names: NameTable::default(),
            model: None,
            published: None,
            number: 0,
            base: 0,
            news: BTreeMap::new(),
            changed: Functions::default(),
            functions: Functions::default(),
            ranks: Ranks::default(),
            programs: Programs::default(),
            counters: Counters::default(),
            clients: BTreeMap::new(),
            positions: BTreeMap::new(),
            taken: 0,
            since: 0,
            refused: 0,
        }
    }

    /// Merges a delta unless it was merged before, and returns the latest view.
    ///
    /// # Errors
    /// Returns [`Error::OtherSession`] if the delta uses numbers of another session,
    /// [`Error::OtherModel`] if the detectors differ, or [`Error::Decode`] for numbers that the
    /// server never assigned. No part of such a delta is merged.
    pub fn take(&mut self, delta: &Delta) -> Result<View> {
        self.check(delta)?;
        let is_new_client = !self.clients.contains_key(&delta.client);
        if is_new_client && self.clients.len() >= self.params.ranks {
            self.refused += 1;
            return self.view(delta);
        }
        let seen = self.clients.entry(delta.client).or_default();
        let is_new = delta.sequence > seen.0;
        if is_new {
            seen.0 = delta.sequence;
            if !delta.steps.is_empty() {
                let positions = self.positions.entry(delta.client).or_default();
                for rank in Position::add(positions, &delta.steps) {
                    self.programs.end_run(delta.client, rank);
                }
            }
            self.absorb(
                (delta.known, &delta.names),
                Some(&delta.model),
                (&delta.functions, &delta.losses),
                (&delta.steps, &delta.times),
                (&[(delta.client, delta.modes.clone())], &delta.counters),
                &of_client(delta),
            )?;
            self.count(1);
        }
        // In the first round the view is rebuilt whenever the number of deltas has doubled, so that
        // the first calls can be judged early.
        let before = self.taken - self.since;
        let round = before.min(self.clients.len() as u64);
        let is_due = self.since >= self.params.publish.unwrap_or(round);
        // A client that repeats a delta waits for a view that contains it.
        if self.since > 0 && (is_due || !is_new) {
            self.publish();
        }
        self.view(delta)
    }

    /// Validates a delta before any part of it is merged.
    pub(super) fn check(&self, delta: &Delta) -> Result<()> {
        let session = self.params.session;
        if delta.session != session && (delta.session != 0 || delta.known > 0) {
            return Err(Error::OtherSession { session });
        }
        let wrong = Err(Error::Decode {
            at: 0,
            expected: "numbers of functions that have a name",
        });
        if delta.known as usize > self.names.len() {
            return wrong;
        }
        let end = u64::from(delta.known) + delta.names.len() as u64;
        let is_named = delta.functions.is_below(end) && delta.model.is_below(end);
        let is_named = is_named && delta.losses.is_below(end);
        let is_named = is_named && are_below(&of_client(delta), end);
        let is_named = is_named && delta.counters.is_below(end);
        if !is_named || !delta.times.is_below(end) || !delta.modes.is_below(end) {
            return wrong;
        }
        self.check_model(Some(&delta.model))
    }

    /// Returns an error if a model belongs to another detector.
    pub(super) fn check_model(&self, other: Option<&Model>) -> Result<()> {
        match (&self.model, other) {
            (Some(mine), Some(other)) => mine.emptied().merge(&other.emptied()),
            _ => Ok(()),
        }
    }

    /// Returns `true` if a delta, or a later delta of its client, was merged before.
    pub(super) fn has_merged(&self, delta: &Delta) -> bool {
        let seen = self.clients.get(&delta.client);
        seen.is_some_and(|(merged, _)| *merged >= delta.sequence)
    }

    /// Stores that a client's delta was merged as a part of a sum; `is_published` states that the
    /// current view contains it.
    pub(super) fn hear(&mut self, client: u64, sequence: u64, is_published: bool) {
        if !self.clients.contains_key(&client) && self.clients.len() >= self.params.ranks {
            self.refused += 1;
            return;
        }
        let (merged, published) = self.clients.entry(client).or_default();
        *merged = sequence.max(*merged);
        if is_published {
            *published = *merged;
        }
    }

    /// Counts merged deltas.
    pub(super) fn count(&mut self, deltas: u64) {
        self.taken = self.taken.saturating_add(deltas);
        self.since = self.since.saturating_add(deltas);
    }

    /// Merges the names, model and statistics of one or several clients.
    pub(super) fn absorb(
        &mut self,
        (known, names): (u32, &[FunctionName]),
        model: Option<&Model>,
        (functions, losses): (&Functions<FunctionStats>, &FunctionSteps),
        (steps, times): (&[StepStats], &StepTimes),
        (modes, counters): (&[(u64, ModeTimes)], &Counters),
        changes: &[(u64, Change)],
    ) -> Result<()> {
        let limit = self.params.names;
        let new: Vec<Option<FunctionId>> = names
            .iter()
            .map(|name| self.names.number(name, limit))
            .collect();
        let number = |function: FunctionId| match function.0.checked_sub(known) {
            None => Some(function),
            Some(place) => new.get(place as usize).copied().flatten(),
        };
        self.refused += new.iter().filter(|number| number.is_none()).count() as u64;
        if let Some(model) = model {
            let mine = self.model.get_or_insert_with(|| model.emptied());
            if !self.params.is_frozen {
                let next = self.number + 1;
                model.each_function(|function| {
                    if let Some(function) = number(function) {
                        *self.changed.entry(function, || next) = next;
                    }
                });
                if names.is_empty() {
                    // Once a client knows all names, its numbers are those of the server.
                    mine.merge(model)?
                } else {
                    mine.merge(&model.renumbered(number))?
                }
            }
        }
        if names.is_empty() {
            self.functions.merge(functions)
        } else {
            for (function, stats) in functions.unordered() {
                if let Some(function) = number(function) {
                    self.functions
                        .entry(function, FunctionStats::default)
                        .merge(stats);
                }
            }
        }
        for step in steps {
            let taken = self.ranks.add(step, self.params.history, self.params.ranks);
            self.refused += u64::from(!taken);
        }
        self.programs.add(times, number);
        self.programs.add_losses(losses, number);
        for (client, modes) in modes {
            self.refused += self.programs.add_modes(*client, modes, number);
        }
        for (client, change) in renumbered(changes, number) {
            self.refused += u64::from(!self.programs.add_change(client, &change));
        }
        self.counters
            .add_all(counters, |_, counter| Some(number(FunctionId(counter))?.0));
        Ok(())
    }

    /// Builds a new view of the merged knowledge. [`take`](Self::take) builds views
    /// [automatically](ServerParams::publish).
    pub fn publish(&mut self) {
        if let Some(model) = &mut self.model {
            if !self.params.is_frozen {
                model.forget(self.params.memory);
            }
            self.published = Some(Shared::new(model.clone()));
            self.number += 1;
            self.news.clear();
            for (merged, published) in self.clients.values_mut() {
                *published = *merged;
            }
        }
        self.since = 0;
    }

    /// Returns the changes since a view, which are computed once for all clients with that view;
    /// `None` before the first view.
    fn news(&mut self, since: u64) -> Option<Arc<Shared>> {
        let published = self.published.as_ref()?;
        let changed = &self.changed;
        let news = self.news.entry(since).or_insert_with(|| {
            let is_new = |function| changed.get(function).is_none_or(|view| *view > since);
            Shared::new(published.model().filtered(is_new))
        });
        Some(Arc::clone(news))
    }

    /// Returns the view for the client of a delta.
    pub(super) fn view(&mut self, delta: &Delta) -> Result<View> {
        // A client with a recent view of this session receives only the changes.
        let is_known = delta.session == self.params.session && delta.view <= self.number;
        let is_recent =
            delta.view > self.base && self.number - delta.view.min(self.number) < RECENT;
        let mut since = if is_known && is_recent { delta.view } else { 0 };
        if since > 0 {
            let views = self.changed.unordered().map(|(_, view)| *view);
            if 2 * views.filter(|view| *view > since).count() > self.changed.len() {
                // Most functions changed, and the complete view exists already.
                since = 0;
            }
        }
        // Nothing of a new client was merged.
        let (_, merged) = self.clients.get(&delta.client).copied().unwrap_or_default();
        let news = match since {
            0 => self.published.clone(),
            since => self.news(since),
        };
        let model = news.unwrap_or_else(|| Shared::new(delta.model.emptied()));
        let names = self.names.names().get(delta.known as usize..);
        let names = (delta.known, names.unwrap_or_default().to_vec());
        let number = (self.number, since);
        Ok(View::new(self.params.session, merged, number, names, model))
    }

    /// Returns the number of the latest view.
    pub fn latest(&self) -> u64 {
        self.number
    }

    /// Gives further views numbers above `number`, which is limited to 2^63. A server that
    /// continues from bytes, and merges later deltas again, builds other views than the earlier
    /// server did. With new numbers, all clients receive complete views.
    ///
    /// ```
    /// use perf_anomaly::server::Server;
    /// let mut server = Server::default();
    /// server.go_on_from(1000);
    /// assert_eq!(server.latest(), 1000);
    /// server.go_on_from(7);
    /// assert_eq!(server.latest(), 1000);
    /// ```
    pub fn go_on_from(&mut self, number: u64) {
        self.number = self.number.max(number.min(MOST_VIEWS));
        self.base = self.number;
        self.news.clear();
    }

    /// Drops the state of the clients for which `is_kept` returns `false`. Their merged knowledge
    /// is kept. If such a client returns, all its deltas count as new.
    pub fn retain_clients(&mut self, is_kept: impl Fn(u64) -> bool) {
        self.clients.retain(|client, _| is_kept(*client));
        self.positions.retain(|client, _| is_kept(*client));
    }

    /// Returns the merged model of all ranks, for a snapshot or to judge early calls again; `None`
    /// before the first delta.
    pub fn model(&self) -> Option<&Model> {
        self.model.as_ref()
    }

    /// Merges the model of another run. `names` are the names of its functions in order of their
    /// numbers.
    ///
    /// # Errors
    /// Returns [`Error::OtherModel`] if the server has a model of another detector.
    pub fn learn(&mut self, names: &[FunctionName], model: &Model) -> Result<()> {
        let limit = self.params.names;
        let numbers: Vec<_> = names
            .iter()
            .map(|name| self.names.number(name, limit))
            .collect();
        let model = model.renumbered(|one| numbers.get(one.0 as usize).copied().flatten());
        match &mut self.model {
            Some(mine) => mine.merge(&model)?,
            None => self.model = Some(model.clone()),
        }
        let next = self.number + 1;
        model.each_function(|function| *self.changed.entry(function, || next) = next);
        self.publish();
        Ok(())
    }

    /// Returns the names of functions in order of their numbers.
    pub fn names(&self) -> &[FunctionName] {
        self.names.names()
    }

    /// Returns the number of a function; `None` if the name is unknown.
    pub fn number(&self, name: &FunctionName) -> Option<FunctionId> {
        self.names.get(name)
    }

    /// Returns the statistics of a function over all ranks; `None` if it was not called.
    pub fn function(&self, function: FunctionId) -> Option<&FunctionStats> {
        self.functions.get(function)
    }

    /// Returns all called functions in descending order of time lost.
    pub fn functions(&self) -> Vec<(FunctionId, FunctionStats)> {
        let all = self.functions.iter();
        let mut all: Vec<_> = all.map(|(id, stats)| (id, *stats)).collect();
        all.sort_by_key(|(id, stats)| {
            let loss = stats.loss;
            (
                std::cmp::Reverse((loss.time, loss.waiting, loss.anomalies())),
                *id,
            )
        });
        all
    }

    /// Returns the counters of each program over all ranks, those of which ranks
    /// [differ](CounterSummary::difference) most first.
    pub fn counters(&self) -> Vec<CounterSummary> {
        let names = self.names.names();
        self.counters.summaries(|program, counter| {
            let name = names.get(counter as usize)?.name.clone();
            Some(FunctionName { program, name })
        })
    }

    /// Returns the number of counter values that are in no statistics, because they are invalid (no numbers, negative
    /// numbers of PAPI events, or the values of failed counters, which are all bits or the sign bit), or because there are
    /// more than 4,096 counters.
    pub fn dropped_counter_values(&self) -> u64 {
        self.counters.dropped()
    }

    /// Returns all ranks in descending order of a criterion.
    pub fn ranking(&self, by: Ranking) -> Vec<RankSummary> {
        self.ranks.ranked(by)
    }

    /// Returns a snapshot of the comparison of ranks and steps.
    ///
    /// Ranks may report their steps in any order. [`Peers`](crate::lost_time::Peers) describes the memory.
    pub fn comparison(&self) -> Comparison {
        Comparison(self.programs.clone())
    }

    /// Returns the slow ranks, the one with the most time lost first, with the server's function numbers.
    pub fn slow_ranks(&self) -> Vec<SlowRank> {
        self.comparison().slowness().ranks
    }

    /// Returns the slow phases, the one with the most time lost first, with the server's function numbers.
    pub fn slow_phases(&self) -> Vec<SlowPhase> {
        self.comparison().slowness().phases
    }

    /// Returns the last steps of a rank, at most [`ServerParams::history`], oldest first.
    pub fn steps(&self, program: u32, rank: u32) -> impl Iterator<Item = &StepStats> {
        self.ranks.steps(program, rank)
    }

    /// Returns the moments of the number of anomalies in one step, over the ranks that reported the
    /// step. A rank far above the mean deserves attention.
    pub fn across_ranks(&self, step: u64) -> Moments {
        self.ranks.across(step)
    }

    /// Returns the number of the last merged delta of a client; 0 for none.
    pub fn sequence(&self, client: u64) -> u64 {
        self.clients.get(&client).map_or(0, |(merged, _)| *merged)
    }

    /// Returns the merged steps of the ranks of a client, for a client that reads the same stream
    /// again, see [`Client::resume`](super::Client::resume).
    pub fn positions(&self, client: u64) -> &[Position] {
        self.positions.get(&client).map_or(&[], Vec::as_slice)
    }

    /// Returns the number of clients that sent a delta.
    pub fn clients(&self) -> usize {
        self.clients.len()
    }

    /// Returns the memory in bytes: names, the model twice (merged and published), recent changes,
    /// statistics of functions, and the steps that are kept for each rank
    /// ([`ServerParams::history`](super::ServerParams::history)). While a view is built there is
    /// one more copy of the model. Memory depends on the numbers of functions and ranks, not on the
    /// number of deltas.
    ///
    /// ```
    /// use perf_anomaly::server::Server;
    /// let server = Server::default();
    /// assert_eq!(server.memory(), 0);
    /// ```
    pub fn memory(&self) -> usize {
        let views = self.published.iter().chain(self.news.values());
        self.names.memory()
            + self.model.as_ref().map_or(0, Model::memory)
            + views.map(|view| view.memory()).sum::<usize>()
            + self.changed.memory(|_| 0)
            + self.functions.memory(|_| 0)
            + self.ranks.memory()
            + self.programs.memory()
            + self.counters.memory()
            + tree(self.clients.len(), size_of::<(u64, (u64, u64))>())
            + tree(self.positions.len(), size_of::<(u64, Vec<Position>)>())
            + self
                .positions
                .values()
                .map(|all| all.capacity() * size_of::<Position>())
                .sum::<usize>()
    }

    /// Returns the number of times that a function, rank or client was dropped because of a limit.
    pub fn refused(&self) -> u64 {
        self.refused
    }
}
