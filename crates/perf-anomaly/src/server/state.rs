//! [`Server`]: merges what the ranks tell.

use super::names::NameTable;
use super::params::{CheckedServerParams, ServerParams};
use super::ranking::{Ranks, tree};
use super::statistics::FunctionStats;
use super::view::Shared;
use super::{Delta, FunctionName, Position, RankSummary, Ranking, StepStats, View};
use crate::detect::Functions;
use crate::encode::{Reader, Writer};
use crate::{Error, FunctionId, Model, Moments, Result};
use perf_core::Merge;
use std::collections::BTreeMap;
use std::sync::Arc;

/// First bytes of an encoded server.
const MAGIC: u32 = u32::from_le_bytes(*b"PKAS");
const VERSION: u16 = 4;
/// The version before, in which losses had no count of calls beyond experience, and clients no positions.
const WITHOUT_BEYOND: u16 = 3;
/// The largest number of a view that bytes or who calls may say there was: there is always a next one.
const MOST_VIEWS: u64 = 1 << 63;

/// Views that are told apart: who has none of the last ones is told all functions.
const RECENT: u64 = 16;

/// What all clients told together.
///
/// It works on messages and does no input or output: whoever carries messages (an
/// [`Exchange`](super::Exchange)) calls [`take`](Self::take) for each.
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
///     // The second rank knows the calls of the first one, too; the first call of each is not learned.
///     let known = detector.sketch(perf_anomaly::FunctionId(0)).map(|sketch| sketch.count());
///     assert_eq!(known, Some(39 * (u64::from(rank) + 1)));
/// }
/// let ranks = local.server(|server| server.ranking(Ranking::Total))?;
/// assert_eq!((ranks.len(), ranks[0].loss.calls), (2, 40));
/// # Ok::<(), perf_anomaly::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Server {
    params: ServerParams,
    names: NameTable,
    model: Option<Model>,
    published: Option<Arc<Shared>>,
    /// The number of the view, what of it is new since earlier ones, and the view in which each function
    /// changed last.
    number: u64,
    /// Views up to this one were given out by a server that this one goes on from.
    base: u64,
    news: BTreeMap<u64, Arc<Shared>>,
    changed: Functions<u64>,
    functions: Functions<FunctionStats>,
    ranks: Ranks,
    /// The last delta that was merged, and the last one that is in the view.
    clients: BTreeMap<u64, (u64, u64)>,
    /// Steps of ranks that are merged, by client.
    positions: BTreeMap<u64, Vec<Position>>,
    /// Deltas in all, and since the view was made.
    taken: u64,
    since: u64,
    refused: u64,
}

impl Default for Server {
    /// Returns a server with the default parameters that knows nothing yet.
    fn default() -> Self {
        Server::new(CheckedServerParams::default())
    }
}

impl Server {
    /// What a server keeps, to be set up and checked.
    pub fn params() -> ServerParams {
        ServerParams::default()
    }

    /// A server that knows nothing yet.
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
            clients: BTreeMap::new(),
            positions: BTreeMap::new(),
            taken: 0,
            since: 0,
            refused: 0,
        }
    }

    /// Merges a delta, and gives the latest view.
    ///
    /// # Errors
    /// [`Error::OtherSession`] if the delta counts on numbers of another session,
    /// [`Error::OtherModel`] if the detectors differ, [`Error::Decode`] for numbers that the server
    /// never gave out. Nothing of such a delta is taken.
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
            self.absorb(
                (delta.known, &delta.names),
                Some(&delta.model),
                &delta.functions,
                &delta.steps,
            )?;
            if !delta.steps.is_empty() {
                let positions = self.positions.entry(delta.client).or_default();
                Position::add(positions, &delta.steps);
            }
            self.count(1);
        }
        // In the first round the view is made anew whenever as much again is known, so that the first
        // calls can be judged soon.
        let before = self.taken - self.since;
        let round = before.min(self.clients.len() as u64);
        let is_due = self.since >= self.params.publish.unwrap_or(round);
        // A client that asks again waits for what it told to be in a view.
        if self.since > 0 && (is_due || !is_new) {
            self.publish();
        }
        self.view(delta)
    }

    /// Nothing is taken of what does not fit.
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
        if !delta.functions.is_below(end) || !delta.model.is_below(end) {
            return wrong;
        }
        self.check_model(Some(&delta.model))
    }

    /// Whether a model is of the same detector.
    pub(super) fn check_model(&self, other: Option<&Model>) -> Result<()> {
        match (&self.model, other) {
            (Some(mine), Some(other)) => mine.emptied().merge(&other.emptied()),
            _ => Ok(()),
        }
    }

    /// Whether a delta came before.
    pub(super) fn has_merged(&self, delta: &Delta) -> bool {
        let seen = self.clients.get(&delta.client);
        seen.is_some_and(|(merged, _)| *merged >= delta.sequence)
    }

    /// A client told what is in a sum, which may be in the view.
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

    /// Counts deltas that were merged.
    pub(super) fn count(&mut self, deltas: u64) {
        self.taken = self.taken.saturating_add(deltas);
        self.since = self.since.saturating_add(deltas);
    }

    /// Adds what one client told, or several.
    pub(super) fn absorb(
        &mut self,
        (known, names): (u32, &[FunctionName]),
        model: Option<&Model>,
        functions: &Functions<FunctionStats>,
        steps: &[StepStats],
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
                match names.is_empty() {
                    // Once a client knows all names, its numbers are those of the server.
                    true => mine.merge(model)?,
                    false => mine.merge(&model.renumbered(number))?,
                }
            }
        }
        match names.is_empty() {
            true => self.functions.merge(functions),
            false => {
                for (function, stats) in functions.unordered() {
                    if let Some(function) = number(function) {
                        self.functions
                            .entry(function, FunctionStats::default)
                            .merge(stats);
                    }
                }
            }
        }
        for step in steps {
            let taken = self.ranks.add(step, self.params.history, self.params.ranks);
            self.refused += u64::from(!taken);
        }
        Ok(())
    }

    /// Makes the view of what was merged until now; [`take`](Self::take) does so by itself
    /// [now and then](ServerParams::publish).
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

    /// What is new since a view, made once for all who have that one.
    fn news(&mut self, since: u64) -> Option<Arc<Shared>> {
        let published = self.published.as_ref()?;
        let changed = &self.changed;
        let news = self.news.entry(since).or_insert_with(|| {
            let is_new = |function| changed.get(function).is_none_or(|view| *view > since);
            Shared::new(published.model().filtered(is_new))
        });
        Some(Arc::clone(news))
    }

    /// What is new to the client of a delta.
    pub(super) fn view(&mut self, delta: &Delta) -> Result<View> {
        // Whoever has a view of this session, and not one from before too long, is told what is new.
        let is_known = delta.session == self.params.session && delta.view <= self.number;
        let is_recent =
            delta.view > self.base && self.number - delta.view.min(self.number) < RECENT;
        let mut since = if is_known && is_recent { delta.view } else { 0 };
        if since > 0 {
            let views = self.changed.unordered().map(|(_, view)| *view);
            if 2 * views.filter(|view| *view > since).count() > self.changed.len() {
                // Most is new: the view that all others get is there already.
                since = 0;
            }
        }
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

    /// The number of the latest view.
    pub fn latest(&self) -> u64 {
        self.number
    }

    /// Views from here on have numbers above one, or above 2^63 if it is larger. A server that goes on from bytes
    /// and from deltas that came after them makes other views of them than the one before did: under other
    /// numbers, all are told anew.
    ///
    /// ```
    /// use perf_anomaly::server::Server;
    /// let mut server = Server::default();
    /// server.go_on_from(1000);
    /// assert_eq!(server.latest(), 1000);
    /// server.go_on_from(7);
    /// assert_eq!(server.latest(), 1000);
    /// # Ok::<(), perf_anomaly::Error>(())
    /// ```
    pub fn go_on_from(&mut self, number: u64) {
        self.number = self.number.max(number.min(MOST_VIEWS));
        self.base = self.number;
        self.news.clear();
    }

    /// Keeps clients of some numbers alone. What the others told stays; should one of them come again, all its
    /// deltas are new.
    pub fn retain_clients(&mut self, is_kept: impl Fn(u64) -> bool) {
        self.clients.retain(|client, _| is_kept(*client));
        self.positions.retain(|client, _| is_kept(*client));
    }

    /// The model of all ranks, as of now: for a snapshot, or to judge anew what was judged too early.
    pub fn model(&self) -> Option<&Model> {
        self.model.as_ref()
    }

    /// Goes on from the model of another run, whose functions have these names, in order of their
    /// numbers in it.
    ///
    /// # Errors
    /// [`Error::OtherModel`] if the server has a model of another detector.
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

    /// Names of functions, in order of their numbers.
    pub fn names(&self) -> &[FunctionName] {
        self.names.names()
    }

    /// The number of a function.
    pub fn number(&self, name: &FunctionName) -> Option<FunctionId> {
        self.names.get(name)
    }

    /// What the calls of a function were, on all ranks.
    pub fn function(&self, function: FunctionId) -> Option<&FunctionStats> {
        self.functions.get(function)
    }

    /// All functions that were called, most time lost first.
    pub fn functions(&self) -> Vec<(FunctionId, FunctionStats)> {
        let mut all: Vec<_> = self
            .functions
            .iter()
            .map(|(id, stats)| (id, *stats))
            .collect();
        all.sort_by_key(|(id, stats)| {
            let loss = stats.loss;
            (std::cmp::Reverse((loss.time, loss.anomalies())), *id)
        });
        all
    }

    /// All ranks by their anomalies a step, the highest first.
    pub fn ranking(&self, by: Ranking) -> Vec<RankSummary> {
        self.ranks.ranked(by)
    }

    /// The last steps of a rank, the oldest first.
    pub fn steps(&self, program: u32, rank: u32) -> impl Iterator<Item = &StepStats> {
        self.ranks.steps(program, rank)
    }

    /// Anomalies a rank in one step, over the ranks that have told of it: a rank far above the mean
    /// is one to look at.
    pub fn across_ranks(&self, step: u64) -> Moments {
        self.ranks.across(step)
    }

    /// The last delta of a client that is merged; 0 for none.
    pub fn sequence(&self, client: u64) -> u64 {
        self.clients.get(&client).map_or(0, |(merged, _)| *merged)
    }

    /// How far the steps of a client's ranks are merged: for a client that starts again on the same stream, see
    /// [`Client::resume`](super::Client::resume).
    pub fn positions(&self, client: u64) -> &[Position] {
        self.positions.get(&client).map_or(&[], Vec::as_slice)
    }

    /// How many clients sent something.
    pub fn clients(&self) -> usize {
        self.clients.len()
    }

    /// Bytes in use: names, the model twice, as it is and as it was told last, what of it is new to whom,
    /// statistics of functions, and for each rank the steps that are kept
    /// ([`ServerParams::history`](super::ServerParams::history)). While a view is made, the model is there once more.
    /// Depends on how many functions and ranks there are, not on how much they told.
    ///
    /// ```
    /// use perf_anomaly::server::Server;
    /// let server = Server::default();
    /// assert_eq!(server.memory(), 0);
    /// # Ok::<(), perf_anomaly::Error>(())
    /// ```
    pub fn memory(&self) -> usize {
        let views = self.published.iter().chain(self.news.values());
        self.names.memory()
            + self.model.as_ref().map_or(0, Model::memory)
            + views.map(|view| view.memory()).sum::<usize>()
            + self.changed.memory(|_| 0)
            + self.functions.memory(|_| 0)
            + self.ranks.memory()
            + tree(self.clients.len(), size_of::<(u64, (u64, u64))>())
            + tree(self.positions.len(), size_of::<(u64, Vec<Position>)>())
            + self
                .positions
                .values()
                .map(|all| all.capacity() * size_of::<Position>())
                .sum::<usize>()
    }

    /// Functions, ranks and clients that were left out since there were too many, each time.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// All that the server knows as bytes, to go on from after a restart. The same server gives the
    /// same bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut to = Writer::default();
        to.u32(MAGIC);
        to.u16(VERSION);
        to.u64(self.params.session);
        to.u64(self.number);
        FunctionName::write(self.names.names(), &mut to);
        to.u8(u8::from(self.model.is_some()));
        if let Some(model) = &self.model {
            model.write(&mut to);
        }
        self.functions.write(&mut to, FunctionStats::write);
        self.ranks.write(&mut to);
        to.u32(self.clients.len() as u32);
        for (client, (merged, _)) in &self.clients {
            to.u64(*client);
            to.u64(*merged);
        }
        to.u32(self.positions.len() as u32);
        for (client, positions) in &self.positions {
            to.u64(*client);
            Position::write(positions, &mut to);
        }
        to.0
    }

    /// From the bytes of [`encode`](Self::encode). The session is that of the bytes, so that clients
    /// notice nothing.
    ///
    /// # Errors
    /// [`Error::Decode`] with the place of what is wrong.
    pub fn decode(params: CheckedServerParams, bytes: &[u8]) -> Result<Self> {
        let mut from = Reader::new(bytes);
        if from.u32("a server")? != MAGIC {
            return Err(from.error(4, "a server").into());
        }
        from.context.has_beyond_experience = match from.u16("a version")? {
            VERSION => true,
            WITHOUT_BEYOND => false,
            _ => return Err(from.error(2, "version 3 or 4 of a server").into()),
        };
        let mut server = Server::new(params);
        server.params.session = from.u64("a session")?;
        // Which functions are new to whom is not kept: everybody is told all of them once.
        server.base = from.u64("the number of a view")?;
        if server.base > MOST_VIEWS {
            return Err(from.error(8, "the number of a view, at most 2^63").into());
        }
        for name in FunctionName::read(&mut from)? {
            server.names.number(&name, usize::MAX);
        }
        if from.u8("whether there is a model")? != 0 {
            server.model = Some(Model::read(&mut from)?);
        }
        server.functions = Functions::read(&mut from, FunctionStats::LEAST, FunctionStats::read)?;
        server.ranks = Ranks::read(&mut from, server.params.history)?;
        for _ in 0..from.count(16, "as many clients as there are")? {
            let client = from.u64("a client")?;
            server
                .clients
                .insert(client, (from.u64("the last delta")?, 0));
        }
        if from.context.has_beyond_experience {
            for _ in 0..from.count(12, "as many clients as there are")? {
                let client = from.u64("a client")?;
                let positions = Position::read(&mut from)?;
                server.positions.insert(client, positions);
            }
        }
        from.end()?;
        server.publish();
        server.number = server.base;
        Ok(server)
    }
}
