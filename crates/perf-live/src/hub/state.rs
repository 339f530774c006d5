//! [`State`]: clients, models and statistics of the parameter server in memory, changed by each
//! message; a [`Batch`] collects the additions for the database.

use super::lost_time::LostTime;
use super::params::HubParams;
use super::{Counts, HubAnswer, Message, Slow};
use crate::store::{Client, DatabaseReader, Stored, Total, Writer, append_block, fresh};
use crate::wire::{Bundle, Hello, NO_VIEW, Push};
use crate::{Error, Result};
use perf_anomaly::provenance::Entry;
use perf_anomaly::server::{
    Comparison, Delta, FunctionName, FunctionStats, RankSummary, Ranking, Server, StepStats, View,
};
use perf_anomaly::{CounterSummary, FunctionId, Model};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// State of the server.
#[derive(Debug)]
pub(super) struct State {
    /// Parameter server.
    pub(super) server: Server,
    /// Clients by number.
    pub(super) clients: HashMap<u64, Known>,
    /// Names of programs.
    pub(super) programs: BTreeMap<u32, String>,
    /// Last step of each program.
    pub(super) steps: BTreeMap<u32, u64>,
    /// Time lost in abnormal calls by rank and step.
    pub(super) lost: Arc<LostTime>,
    /// Number that changes with every change.
    pub(super) revision: u64,
    /// Counters.
    pub(super) counts: Counts,
    /// Reason why the database cannot be written; `None` if it can be written.
    pub(super) failure: Option<String>,
    /// Number of records dropped because there were too many or they were too old.
    pub(super) dropped: u64,
    /// Session.
    session: u64,
    /// Largest number of clients.
    most_clients: usize,
    /// Start of the server. It is the time of last contact of clients that have not sent a message
    /// since.
    began: Instant,
}

/// Data from which slow ranks and lost time are computed. It shares the memory of the state, so that the state
/// is locked only while the snapshot is taken.
pub(super) struct Snapshot {
    lost: Arc<LostTime>,
    ranks: Vec<RankSummary>,
    comparison: Comparison,
    names: Vec<FunctionName>,
    functions: Vec<(FunctionId, FunctionStats)>,
    /// Place, number of abnormal calls and time of waiting of steps, if no abnormal call lost time.
    waiting: Vec<((u32, u32, u64), u64, i64)>,
}

impl Snapshot {
    /// Computes what is slow, and the time lost by rank and step in abnormal calls, new modes and on slow ranks,
    /// with a row for each known rank; if no time was lost, the time of calls that wait for others. The database contains
    /// the steps of ranks and the records of calls.
    pub(super) fn compare(self, stored: Option<&DatabaseReader>) -> (Arc<Slow>, Arc<LostTime>) {
        let mut lost = Arc::unwrap_or_clone(self.lost);
        let found = self.comparison.slowness();
        for slow in &found.rank_steps {
            lost.add_slow(slow);
        }
        let mode_steps = self.comparison.mode_steps();
        // Functions of MPI that do not wait for other ranks are not compared, but lose time.
        let functions = self.functions.iter();
        let local = functions.filter(|(_, stats)| stats.loss.time > stats.loss.waiting);
        let local: BTreeSet<FunctionId> = local.map(|(function, _)| *function).collect();
        let compares = |function| self.comparison.compares(function) || local.contains(&function);
        let is_lost = self.ranks.iter().any(|rank| rank.loss.time.0 > 0)
            || !found.ranks.is_empty()
            || !found.phases.is_empty()
            || mode_steps.iter().any(|step| compares(step.function))
            || self.waiting.is_empty() && mode_steps.is_empty();
        for rank in &self.ranks {
            lost.add_rank(rank.program, rank.rank);
            lost.add_total(if is_lost {
                rank.loss.time.0
            } else {
                rank.loss.waiting.0
            });
        }
        if !is_lost {
            lost.show_waiting();
            let waiting = self.waiting.into_iter();
            waiting.for_each(|(key, anomalies, time)| lost.add_calls(key, anomalies, time));
        }
        let shown = mode_steps.iter();
        let shown = shown.filter(|step| compares(step.function) == is_lost);
        shown.for_each(|step| lost.add_modes(step));
        let functions = self.comparison.function_steps().iter();
        let functions = functions.filter(|(function, ..)| compares(*function) == is_lost);
        let functions = functions.filter_map(|(function, first, _, time)| {
            let name = self.names.get(function.0 as usize)?;
            Some((name.clone(), first, time.0))
        });
        lost.set_functions(functions.collect());
        let modes = (self.comparison.modes(), mode_steps);
        let functions = (&*self.names, &*self.functions);
        let changes = self.comparison.changes();
        let slow = Slow::of(
            found,
            modes,
            &changes,
            &self.ranks,
            functions,
            &compares,
            stored,
        );
        (Arc::new(slow), Arc::new(lost))
    }
}

/// Client with its time of last contact.
#[derive(Debug)]
pub(super) struct Known {
    /// Stored state of the client.
    pub(super) stored: Client,
    /// Time of the last message; `None` if the client has not sent a message since the start of the
    /// server.
    pub(super) seen: Option<Instant>,
    /// `true` if the client sent a second hello. The records that it sends may then already be
    /// stored.
    is_resumed: bool,
}

/// Additions of a batch of messages to the database, except records.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// Logged deltas.
    log: Vec<u8>,
    /// Totals by program and step.
    totals: BTreeMap<(u32, u64), Total>,
}

impl Batch {
    /// Writes the additions.
    pub(super) fn store(&self, writer: &mut Writer) -> Result<()> {
        if !self.log.is_empty() {
            writer.log(&self.log)?;
        }
        for (key, total) in &self.totals {
            writer.total(*key, total)?;
        }
        Ok(())
    }

    pub(super) fn bytes(&self) -> u64 {
        self.log.len() as u64
    }
}

impl State {
    /// Loads the state from a database. Also returns the size of the log in bytes.
    pub(super) fn load(params: &HubParams, writer: &mut Writer) -> Result<(Self, u64)> {
        let stored = writer.load()?;
        let logged = stored.log;
        let mut state = Self::new(params, stored)?;
        writer.each_logged(|bytes| state.again(bytes))?;
        let lost = Arc::make_mut(&mut state.lost);
        writer.each_step(|key, anomalies, time| lost.add_calls(key, anomalies, time))?;
        let clients = &state.clients;
        state
            .server
            .retain_clients(|client| clients.contains_key(&client));
        // The earlier server may have published more views than replaying the log does, so their
        // numbers must not be used again.
        state.server.go_on_from(fresh());
        Ok((state, logged))
    }

    /// Creates the state from the stored state, without the log.
    pub(super) fn new(params: &HubParams, stored: Stored) -> Result<Self> {
        let checked = params.server(stored.session)?;
        let server = match &stored.state {
            Some(bytes) => Server::decode(checked, bytes)?,
            None => Server::new(checked),
        };
        let known = |stored| Known {
            stored,
            seen: None,
            is_resumed: false,
        };
        let clients = stored.clients.into_iter();
        Ok(State {
            server,
            clients: clients.map(|(number, one)| (number, known(one))).collect(),
            programs: stored.programs,
            steps: stored.steps,
            lost: Arc::default(),
            session: stored.session,
            revision: fresh(),
            counts: Counts::default(),
            failure: None,
            most_clients: params.clients,
            dropped: stored.dropped,
            began: Instant::now(),
        })
    }

    /// Returns the statistics of each function, in descending order of time lost.
    pub(super) fn functions(&self) -> Vec<(FunctionName, FunctionStats)> {
        let names = self.server.names();
        let all = self.server.functions().into_iter();
        let named = all.filter_map(|(id, stats)| Some((names.get(id.0 as usize)?.clone(), stats)));
        named.collect()
    }

    /// Returns the statistics of each counter, and the number of values that are in none.
    pub(super) fn counters(&self) -> (Vec<CounterSummary>, u64) {
        let dropped = self.server.dropped_counter_values();
        (self.server.counters(), dropped)
    }

    /// Returns the data from which slow ranks and lost time are computed.
    pub(super) fn snapshot(&self) -> Snapshot {
        let ranks = self.server.ranking(Ranking::Total);
        Snapshot {
            lost: Arc::clone(&self.lost),
            waiting: self.waiting(&ranks),
            ranks,
            comparison: self.server.comparison(),
            names: self.server.names().to_vec(),
            functions: self.server.functions(),
        }
    }

    /// Returns the program, rank and step, the number of abnormal calls and the time of those that wait for others, of
    /// the last steps of all ranks, if no abnormal call lost time.
    fn waiting(&self, ranks: &[RankSummary]) -> Vec<((u32, u32, u64), u64, i64)> {
        if ranks.iter().any(|rank| rank.loss.time.0 > 0) {
            return Vec::new();
        }
        let steps = |rank: &RankSummary| {
            let steps = self.server.steps(rank.program, rank.rank);
            let steps = steps.filter(|step| step.loss.waiting.0 > 0);
            let cell = |step: &StepStats| {
                let key = (step.program, step.rank, step.step);
                (key, step.loss.anomalies(), step.loss.waiting.0)
            };
            steps.map(cell).collect::<Vec<_>>()
        };
        ranks.iter().flat_map(steps).collect()
    }

    /// Returns the number of a function, and the model of all ranks with this function alone; `None` if its name is
    /// unknown or there is no model.
    pub(super) fn model_of(server: &Server, name: &FunctionName) -> Option<(FunctionId, Model)> {
        let function = server.number(name)?;
        let model = server.model()?;
        let model = model.renumbered(|one| (one == function).then_some(one));
        Some((function, model))
    }

    /// Applies a delta of the log, which was accepted before.
    pub(super) fn again(&mut self, bytes: &[u8]) {
        let Ok(delta) = Delta::decode(bytes) else {
            return;
        };
        if self.server.take(&delta).is_ok()
            && let Some(known) = self.clients.get_mut(&delta.client)
        {
            known.stored.delta = known.stored.delta.max(delta.sequence);
        }
    }

    /// Applies a message. The changes must not be visible to other threads before they are stored.
    pub(super) fn take(
        &mut self,
        message: Message,
        batch: &mut Batch,
        writer: &mut Writer,
    ) -> Result<HubAnswer> {
        self.revision += 1;
        match message {
            Message::Hello(hello) => self.hello(&hello, writer),
            Message::Push(push, raw) => self.push(*push, &raw, batch, writer),
        }
    }

    /// Returns the client with a number, after adding it if it is new, and `true` if it is new.
    fn client(&mut self, number: u64) -> Result<(&mut Known, bool)> {
        let count = self.clients.len();
        match self.clients.entry(number) {
            std::collections::hash_map::Entry::Occupied(known) => {
                let known = known.into_mut();
                known.seen = Some(Instant::now());
                Ok((known, false))
            }
            std::collections::hash_map::Entry::Vacant(_) if count >= self.most_clients => {
                self.counts.refused += 1;
                Err(Error::TooMany(self.most_clients))
            }
            std::collections::hash_map::Entry::Vacant(new) => {
                let known = new.insert(Known {
                    stored: Client::default(),
                    seen: Some(Instant::now()),
                    is_resumed: false,
                });
                Ok((known, true))
            }
        }
    }

    fn hello(&mut self, hello: &Hello, writer: &mut Writer) -> Result<HubAnswer> {
        let (known, is_new) = self.client(hello.client)?;
        let has_records = known.stored.records > 0 || known.stored.delta > 0;
        known.is_resumed |= !is_new && has_records;
        known.stored.program = hello.program;
        known.stored.rank = hello.rank;
        writer.hello(hello)?;
        if !hello.name.is_empty() {
            self.programs.insert(hello.program, hello.name.clone());
        }
        self.counts.hellos += 1;
        let mut answer = self.answer_to(hello.client);
        answer.positions = self.server.positions(hello.client).to_vec();
        Ok(answer)
    }

    fn push(
        &mut self,
        push: Push,
        raw: &[u8],
        batch: &mut Batch,
        writer: &mut Writer,
    ) -> Result<HubAnswer> {
        let (known, is_new) = self.client(push.client)?;
        if is_new {
            let first = push.delta.as_ref().and_then(|delta| delta.steps.first());
            known.stored.program = first.map_or(0, |step| step.program);
            known.stored.rank = first.map_or(0, |step| step.rank);
            writer.client(push.client, &known.stored)?;
        }
        let mut view = None;
        if let Some(delta) = &push.delta {
            view = Some(self.delta(delta, raw, batch, writer)?);
        }
        if let Some(bundle) = push.records {
            self.records(push.client, bundle, writer)?;
        }
        let mut answer = self.answer_to(push.client);
        let is_wanted = push.view != NO_VIEW && push.view != answer.number;
        answer.view = view.filter(|_| is_wanted);
        self.counts.views += u64::from(answer.view.is_some());
        Ok(answer)
    }

    fn delta(
        &mut self,
        delta: &Delta,
        raw: &[u8],
        batch: &mut Batch,
        writer: &mut Writer,
    ) -> Result<View> {
        let taken = self.server.take(delta);
        let view = taken.inspect_err(|_| self.counts.refused += 1)?;
        let known = self.clients.get_mut(&delta.client);
        let last = known.map(|known| &mut known.stored.delta);
        match last {
            Some(last) if *last < delta.sequence => *last = delta.sequence,
            _ => {
                self.counts.repeated += 1;
                return Ok(view);
            }
        }
        self.counts.deltas += 1;
        append_block(&mut batch.log, raw);
        for step in &delta.steps {
            let loss = &step.loss;
            let total = batch.totals.entry((step.program, step.step)).or_default();
            total.calls = total.calls.saturating_add(loss.calls);
            total.slow = total.slow.saturating_add(loss.too_slow);
            total.fast = total.fast.saturating_add(loss.too_fast);
            total.time = total.time.saturating_add(loss.time.0);
            let last = self.steps.entry(step.program).or_default();
            *last = step.step.max(*last);
            if loss.anomalies() > 0 {
                writer.step(step)?;
                let key = (step.program, step.rank, step.step);
                let lost = Arc::make_mut(&mut self.lost);
                lost.add_calls(key, loss.anomalies(), loss.time.0);
            }
        }
        Ok(view)
    }

    fn records(&mut self, client: u64, bundle: Bundle, writer: &mut Writer) -> Result<()> {
        let known = self.clients.get_mut(&client);
        let is_resumed = known.as_ref().is_some_and(|known| known.is_resumed);
        let last = known.map(|known| &mut known.stored.records);
        match last {
            Some(last) if *last < bundle.sequence => *last = bundle.sequence,
            _ => {
                self.counts.repeated += 1;
                return Ok(());
            }
        }
        self.counts.bundles += 1;
        self.counts.records += bundle.entries.len() as u64;
        for entry in bundle.entries {
            if is_resumed
                && let Entry::Call(record) = &entry
                && writer.has(record)?
            {
                continue;
            }
            writer.entry(client, entry)?;
        }
        writer.bundle(client, bundle.sequence)
    }

    /// Forgets clients that have been silent for at least `after`. Their counts are kept.
    pub(super) fn forget(&mut self, after: Duration, writer: &mut Writer) -> Result<()> {
        let now = Instant::now();
        let began = self.began;
        let is_silent = |known: &Known| now - known.seen.unwrap_or(began) >= after;
        let mut silent = Vec::new();
        for (client, known) in &self.clients {
            if is_silent(known) {
                writer.forget(*client)?;
                silent.push(*client);
            }
        }
        if silent.is_empty() {
            return Ok(());
        }
        for client in &silent {
            self.clients.remove(client);
        }
        let clients = &self.clients;
        self.server
            .retain_clients(|client| clients.contains_key(&client));
        self.counts.forgotten += silent.len() as u64;
        self.revision += 1;
        Ok(())
    }

    /// Returns the answer to a client without a view.
    pub(super) fn answer_to(&self, client: u64) -> HubAnswer {
        let stored = self.clients.get(&client).map(|known| known.stored);
        let stored = stored.unwrap_or_default();
        HubAnswer {
            session: self.session,
            delta: stored.delta,
            records: stored.records,
            number: self.server.latest(),
            view: None,
            positions: Vec::new(),
        }
    }
}
