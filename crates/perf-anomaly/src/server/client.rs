//! [`Client`]: sends the knowledge of ranks to the server, and gives the server's views to the
//! detector with its own function numbers; [`Synced`]: communication in a step.

use super::function_numbers::{Numbers, name, new_number, with_numbers};
use super::message::Resumed;
use super::names::NameTable;
use super::statistics::{FunctionStats, StepStats};
use super::{Delta, Exchange, Position, Schedule, View};
use crate::calls::Calls;
use crate::counters::{Counters, PendingCounters};
use crate::detect::Functions;
use crate::lost_time::{FunctionSteps, Lasting, ModeTimes, StepTimes};
use crate::{Change, Detector, Error, FunctionId, Judgement, Model, Result};
use perf_core::Merge;
use std::collections::VecDeque;
use std::ops::Range;

/// Communication of a client in a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Synced {
    /// `true` if a delta was sent.
    pub sent: bool,
    /// `true` if the detector adopted a view.
    pub adopted: bool,
}

/// Sends the knowledge of one or more ranks to the server, and gives the server's views to the
/// detector. The transport is an [`Exchange`].
///
/// Deltas that are not in a view yet are kept and added to each new view, so that local knowledge
/// is never missing. While [`in_flight`](Self::in_flight) deltas are unanswered, no further delta
/// is created and new knowledge waits in the detector. Memory is therefore bounded even if the
/// server does not respond.
///
/// ```
/// use perf_anomaly::server::{Client, Local, Server};
/// use perf_anomaly::{Monitor, Watch};
/// use perf_core::Nanos;
/// // Two ranks, and a server in the same process.
/// let local = Local::new(Server::default());
/// for rank in 0..2 {
///     let client = Client::new(u64::from(rank), local.clone());
///     let mut watch = Watch::new(Monitor::default().share(client), 0, rank);
///     let solve = watch.region("solve");
///     for at in 0..50 {
///         watch.enter(0, solve, Nanos(1_000_000 * at));
///         watch.exit(0, solve, Nanos(1_000_000 * at + 50_000));
///     }
///     watch.into_sink().finish()?;
/// }
/// assert_eq!(local.server(|server| (server.clients(), server.names().len()))?, (2, 1));
/// # Ok::<(), perf_anomaly::Error>(())
/// ```
#[derive(Debug)]
pub struct Client<E> {
    /// Exchange with the server.
    exchange: E,
    /// Number of the client.
    client: u64,
    /// Steps in which the client sends.
    schedule: Schedule,
    /// Largest number of deltas in flight.
    most: usize,
    /// Session of the server; 0 before the first answer.
    session: u64,
    /// Number of the last delta.
    sequence: u64,
    /// Number of the last complete view; 0 for none.
    view: u64,
    /// Combined model of all views, with the function numbers of the server.
    known: Option<Model>,
    /// Names of the server, by its numbers.
    names: NameTable,
    /// Numbers of functions at the server and in the detector.
    numbers: Numbers,
    /// Statistics of functions that were not sent yet, with the function numbers of the detector.
    functions: Functions<FunctionStats>,
    /// Statistics of steps that were not sent yet.
    steps: Vec<StepStats>,
    /// Run times of steps that were not sent yet, with the function numbers of the detector.
    times: StepTimes,
    /// Changes of the time lost in modes that were not sent yet, with the function numbers of the
    /// detector.
    modes: ModeTimes,
    /// Time lost by function and step that was not sent yet, with the function numbers of the detector.
    losses: FunctionSteps,
    /// Changes of functions that were not sent yet, with the function numbers of the detector.
    changes: Vec<Change>,
    /// Statistics of counters that were not sent yet.
    counters: PendingCounters,
    /// Deltas in flight with the function numbers of the detector, oldest first.
    flying: VecDeque<Flying>,
    /// State after a restart.
    resumed: Resumed,
}

#[derive(Clone, Debug)]
struct Flying {
    /// Number of the delta.
    sequence: u64,
    /// `true` if the exchange accepted it.
    is_sent: bool,
    /// Model of the delta.
    model: Model,
    /// Statistics of its functions.
    functions: Functions<FunctionStats>,
    /// Statistics of its steps.
    steps: Vec<StepStats>,
    /// Run times of its steps.
    times: StepTimes,
    /// Changes of the time lost in modes.
    modes: ModeTimes,
    /// Time lost by function and step.
    losses: FunctionSteps,
    /// Changes of functions.
    changes: Vec<Change>,
    /// Statistics of counters.
    counters: Counters,
}

/// Largest number of steps that wait to be sent; earlier steps are dropped, and remain only in the
/// sums of functions.
const STEPS: usize = 65_536;
/// Largest number of sums of run times that wait to be sent; beyond it, neighbouring steps share them.
const TIMES: usize = 1 << 17;
/// Largest number of changes of functions that wait to be sent; further ones are dropped.
const CHANGES: usize = 1024;

impl<E: Exchange> Client<E> {
    /// Creates a client of a server. Clients of a server must have different numbers; the ranks of
    /// a single program may use their rank numbers.
    pub fn new(client: u64, exchange: E) -> Self {
        Client {
            exchange,
            client,
            schedule: Schedule::default(),
            most: 4,
            session: 0,
            sequence: 0,
            view: 0,
            known: None,
            names: NameTable::default(),
            numbers: Numbers::default(),
            functions: Functions::default(),
            steps: Vec::new(),
            times: StepTimes::default(),
            modes: ModeTimes::default(),
            losses: FunctionSteps::default(),
            changes: Vec::new(),
            counters: PendingCounters::default(),
            flying: VecDeque::new(),
            resumed: Resumed::default(),
        }
    }

    /// Resumes the work of an earlier client with the same number. `sequence` is the number of its
    /// last delta that the server merged ([`Server::sequence`](super::Server::sequence)).
    /// `positions` are the last merged steps of its ranks
    /// ([`Server::positions`](super::Server::positions)).
    ///
    /// The client must read the stream from its beginning. The detector learns it again, but calls
    /// of merged steps are not sent again. If the first step of a rank begins at another time than
    /// before, the rank belongs to another run, and all its steps are sent.
    pub fn resume(mut self, sequence: u64, positions: &[Position]) -> Self {
        self.sequence = sequence;
        self.resumed.positions = positions.iter().map(|one| (*one, None)).collect();
        self.resumed.wants_view = !positions.is_empty();
        self
    }

    /// Returns the rows of the batch that the server has already merged, as ranges in ascending
    /// order, each of one stream. [`count`](Self::count) skips these rows. Must be called before
    /// the calls are judged.
    pub(crate) fn merged_rows(&mut self, calls: &Calls) -> Vec<Range<usize>> {
        self.resumed.find(calls)
    }

    /// Requests a view once, before the first calls that must be sent are learned, so that these
    /// calls are judged as they would be without the interruption.
    ///
    /// # Errors
    /// Returns the errors of [`step`](Self::step).
    pub(crate) fn catch_up(&mut self, calls: &Calls, detector: &mut dyn Detector) -> Result<()> {
        if std::mem::take(&mut self.resumed.wants_view) {
            self.sync(calls, detector).map(drop)
        } else {
            Ok(())
        }
    }

    /// Keeps merged calls that are learned again out of the next delta. Must be called before they
    /// are learned, which sets unsent knowledge aside, and after it with `is_over`, which drops the
    /// new knowledge.
    ///
    /// # Errors
    /// Returns [`Error::OtherModel`] if the detector changed its kind of model.
    pub(crate) fn learn_apart(&mut self, detector: &mut dyn Detector, is_over: bool) -> Result<()> {
        let learned = detector.take_delta();
        match (&mut self.resumed.aside, is_over) {
            (_, true) => Ok(()),
            (Some(aside), false) => aside.merge(&learned),
            (none, false) => {
                *none = Some(learned);
                Ok(())
            }
        }
    }

    /// Sets the steps in which the client sends. Default: each step.
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.schedule = schedule;
        self
    }

    /// Sets the largest number of deltas in flight. Default: 4; at least 1.
    pub fn in_flight(mut self, deltas: usize) -> Self {
        self.most = deltas.max(1);
        self
    }

    /// Returns the exchange.
    pub fn exchange(&self) -> &E {
        &self.exchange
    }

    /// Returns the exchange for modification.
    pub fn exchange_mut(&mut self) -> &mut E {
        &mut self.exchange
    }

    /// Counts the calls of a step after they were judged. If the step is due by the schedule, sends
    /// new knowledge, and gives a view that arrived to the detector.
    ///
    /// # Errors
    /// Returns the errors of the exchange, and [`Error::OtherModel`] if the server has models of
    /// another detector. No knowledge is lost: the next step sends it again.
    pub fn step(
        &mut self,
        calls: &Calls,
        judgements: &[Judgement],
        detector: &mut dyn Detector,
    ) -> Result<Synced> {
        self.count(calls, judgements);
        self.sync_if_due(calls, detector)
    }

    /// Sends new knowledge if the step is due by the schedule.
    ///
    /// # Errors
    /// Returns the errors of [`step`](Self::step).
    pub(crate) fn sync_if_due(
        &mut self,
        calls: &Calls,
        detector: &mut dyn Detector,
    ) -> Result<Synced> {
        // Merged steps need not be sent.
        if self.schedule.is_due() && !self.resumed.wants_view {
            self.sync(calls, detector)
        } else {
            Ok(Synced::default())
        }
    }

    /// Sends new knowledge regardless of the schedule, and gives a view that arrived to the
    /// detector.
    ///
    /// # Errors
    /// Returns the errors of [`step`](Self::step).
    pub fn sync(&mut self, calls: &Calls, detector: &mut dyn Detector) -> Result<Synced> {
        self.sync_within(self.most, calls, detector)
    }

    /// Sends new knowledge like [`sync`](Self::sync), but regardless of the number of deltas [in
    /// flight](Self::in_flight). Must be called once, after the last step.
    ///
    /// # Errors
    /// Returns the errors of [`step`](Self::step).
    pub fn finish(&mut self, calls: &Calls, detector: &mut dyn Detector) -> Result<Synced> {
        self.counters.finish();
        self.sync_within(usize::MAX, calls, detector)
    }

    fn sync_within(
        &mut self,
        most: usize,
        calls: &Calls,
        detector: &mut dyn Detector,
    ) -> Result<Synced> {
        let mut synced = Synced::default();
        // A late view makes room for new knowledge.
        synced.adopted |= self.receive(calls, detector)?;
        if self.flying.len() < most {
            self.sequence += 1;
            let mut model = detector.take_delta();
            if let Some(aside) = self.resumed.aside.take() {
                model.merge(&aside)?;
            }
            self.flying.push_back(Flying {
                sequence: self.sequence,
                is_sent: false,
                model,
                functions: std::mem::take(&mut self.functions),
                steps: std::mem::take(&mut self.steps),
                times: std::mem::take(&mut self.times),
                modes: std::mem::take(&mut self.modes),
                losses: std::mem::take(&mut self.losses),
                changes: std::mem::take(&mut self.changes),
                counters: self.counters.take(),
            });
        } else if let Some(latest) = self.flying.back_mut() {
            // Repeating a delta requests a view that contains it.
            latest.is_sent = false;
        }
        synced.sent = self.send(calls)?;
        synced.adopted |= self.receive(calls, detector)?;
        Ok(synced)
    }

    /// Sends all deltas that the exchange has not accepted yet, in order.
    fn send(&mut self, calls: &Calls) -> Result<bool> {
        match self.send_once(calls) {
            Err(Error::OtherSession { .. }) => {
                // The new server knows neither the numbers nor the deltas in flight; names are
                // still valid.
                self.start_session(0);
                for one in &mut self.flying {
                    one.is_sent = false;
                }
                self.send_once(calls)
            }
            outcome => outcome,
        }
    }

    fn send_once(&mut self, calls: &Calls) -> Result<bool> {
        let mut sent = false;
        for place in 0..self.flying.len() {
            let Some(one) = self.flying.get(place).filter(|one| !one.is_sent) else {
                continue;
            };
            self.numbers.update(calls, &self.names);
            self.exchange.send(&self.delta(one, calls))?;
            if let Some(one) = self.flying.get_mut(place) {
                one.is_sent = true;
            }
            sent = true;
        }
        Ok(sent)
    }

    fn delta(&self, flying: &Flying, calls: &Calls) -> Delta {
        let known = self.names.len() as u32;
        let mut new = NameTable::default();
        let mut used = flying.model.functions();
        used.extend(flying.functions.iter().map(|(function, _)| function));
        used.extend(flying.times.functions());
        used.extend(flying.modes.functions());
        used.extend(flying.changes.iter().map(|change| change.function));
        let mut numbers = Functions::<Option<FunctionId>>::default();
        for function in used {
            numbers.entry(function, || {
                let known = self.numbers.of(function);
                known.or_else(|| new_number(&name(calls, function), &self.names, &mut new))
            });
        }
        let counters = with_numbers(&flying.counters, calls, &self.names, &mut new);
        let number = |function| numbers.get(function).copied().flatten();
        let mut functions = Functions::default();
        for (function, stats) in flying.functions.iter() {
            if let Some(function) = number(function) {
                functions
                    .entry(function, FunctionStats::default)
                    .merge(stats);
            }
        }
        let changes = flying.changes.iter().filter_map(|change| {
            let function = number(change.function)?;
            Some(Change {
                function,
                ..*change
            })
        });
        Delta {
            session: self.session,
            client: self.client,
            sequence: flying.sequence,
            view: self.view,
            known,
            names: new.names().to_vec(),
            model: flying.model.renumbered(number),
            functions,
            steps: flying.steps.clone(),
            times: flying.times.renumbered(number),
            modes: flying.modes.renumbered(number),
            losses: flying.losses.renumbered(number),
            changes: changes.collect(),
            counters,
        }
    }

    /// Gives a view that arrived to the detector, without sending. A call before the calls of a
    /// step are judged makes use of views that arrive between two steps. Returns `true` if the
    /// detector adopted a view.
    ///
    /// # Errors
    /// Returns the errors of the exchange, and [`Error::OtherModel`] if the server has models of
    /// another detector.
    pub fn receive(&mut self, calls: &Calls, detector: &mut dyn Detector) -> Result<bool> {
        let Some(view) = self.exchange.receive()? else {
            return Ok(false);
        };
        self.adopt(&view, calls, detector)
    }

    /// Begins another session, in which the earlier numbers of functions and views are invalid.
    fn start_session(&mut self, session: u64) {
        self.session = session;
        self.view = 0;
        self.known = None;
        self.names = NameTable::default();
        self.numbers = Numbers::default();
    }

    /// Combines a view with the earlier views. Returns `true` if the combined model is complete and
    /// new.
    fn complete(&mut self, view: &View) -> Result<bool> {
        if view.since > self.view {
            // The earlier view that this one extends is missing, so all functions are requested
            // again.
            self.view = 0;
            return Ok(false);
        }
        // Views may arrive out of order; an older view contains nothing new.
        if view.number < self.view {
            return Ok(false);
        }
        match &mut self.known {
            Some(known) if view.since > 0 => known.replace(view.model())?,
            known => *known = Some(view.model().clone()),
        }
        self.view = view.number;
        Ok(true)
    }

    fn adopt(&mut self, view: &View, calls: &Calls, detector: &mut dyn Detector) -> Result<bool> {
        if view.session != self.session {
            self.start_session(view.session);
        }
        // Views may arrive out of order; each contains the names that the client did not know when
        // it sent its delta.
        let new = (self.names.len() as u32).checked_sub(view.first);
        for name in view.names.iter().skip(new.unwrap_or_default() as usize) {
            if new.is_some() {
                self.names.number(name, usize::MAX);
            }
        }
        self.flying.retain(|one| one.sequence > view.merged);
        self.numbers.update(calls, &self.names);
        if !self.complete(view)? {
            return Ok(false);
        }
        let all = self.known.as_ref().unwrap_or(view.model());
        let mut known = all.renumbered(|number| self.numbers.own(number));
        for one in &self.flying {
            known.merge(&one.model)?;
        }
        detector.adopt(&known)?;
        Ok(true)
    }

    /// Counts the calls of a part of a step ([`Calls::flush`]) after they were judged, without
    /// sending. They are sent with the step.
    pub fn count(&mut self, calls: &Calls, judgements: &[Judgement]) {
        self.count_without(calls, judgements, &[]);
    }

    /// Counts calls like [`count`](Self::count), and the time that they lost in modes. Ranks are compared
    /// without the calls of modes.
    pub(crate) fn count_lasting(
        &mut self,
        calls: &Calls,
        judgements: &[Judgement],
        lasting: &mut Lasting,
    ) {
        self.times.set_group(lasting.steps_of_group());
        self.count_without(calls, judgements, lasting.skipped());
        let at_own_speed = lasting.at_own_speed().iter();
        let at_own_speed = at_own_speed.filter(|one| !self.resumed.ranks.contains(&one.rank()));
        self.times.add_run(at_own_speed);
        let step = calls.batch().step();
        let mut changes = lasting.modes_mut().take_changes();
        for (position, is_same) in &self.resumed.positions {
            let rank = (position.program, position.rank);
            if *is_same == Some(true) && !self.resumed.with_modes.contains(&rank) {
                // The server has the modes of merged steps. They are found again, and then replace
                // those that the earlier client found.
                let is_new = step > position.last;
                let all = is_new.then(|| lasting.modes().all_of(rank));
                changes.replace(rank, all);
                if is_new {
                    self.resumed.with_modes.insert(rank);
                }
            }
        }
        self.modes.merge(&changes);
    }

    /// Adds changes of functions that the calls of the batch confirmed. Changes that merged steps confirmed are known
    /// to the server.
    pub(crate) fn add_changes(&mut self, calls: &Calls, changes: &[Change]) {
        let merged: usize = self.resumed.rows.iter().map(Range::len).sum();
        if merged < calls.batch().len() {
            let free = CHANGES.saturating_sub(self.changes.len());
            self.changes.extend(changes.iter().take(free));
        }
    }

    /// Counts calls. Ranks are compared without the rows `skipped` of the batch, which are in ascending
    /// order.
    fn count_without(&mut self, calls: &Calls, judgements: &[Judgement], skipped: &[usize]) {
        self.counters.add(calls, &self.resumed.ranks);
        let known = self.steps.len();
        for part in StepStats::of(calls, judgements) {
            if self.resumed.ranks.contains(&(part.program, part.rank)) {
                continue;
            }
            // A further part of a step is added to the statistics of that step.
            let of_step = self.steps.iter_mut().take(known).rev();
            let mut of_step = of_step.take_while(|one| one.step == part.step);
            match of_step.find(|one| (one.program, one.rank) == (part.program, part.rank)) {
                Some(step) => step.add(&part),
                None => self.steps.push(part),
            }
        }
        let old = self.steps.len().saturating_sub(STEPS);
        self.steps.drain(..old);
        let batch = calls.batch();
        for (stream, rows) in batch.streams() {
            let key = calls.stream_key(*stream).unwrap_or_default();
            let rank = (key.program, key.rank);
            if !self.resumed.ranks.contains(&rank)
                && let Some(judgements) = judgements.get(rows.clone())
            {
                let judged = (&batch.samples()[rows.clone()], judgements);
                let skipped = skipped.iter().filter(|row| rows.contains(row));
                let skipped: Vec<usize> = skipped.map(|row| row - rows.start).collect();
                self.times.add(rank, batch.step(), judged, &skipped, calls);
            }
        }
        self.times.limit(TIMES);
        let all = batch.calls().iter().zip(batch.samples()).zip(judgements);
        let rows = &self.resumed.rows;
        let is_merged = |row: usize| rows.iter().any(|merged| merged.contains(&row));
        for (row, ((call, sample), judgement)) in all.enumerate() {
            if !rows.is_empty() && is_merged(row) {
                continue;
            }
            let function = self
                .functions
                .entry(sample.function, FunctionStats::default);
            let waits = |function| calls.waits(function);
            function.add((call, sample), judgement, batch.step(), waits);
            let lost = judgement.severity(sample).0;
            if lost != 0 {
                self.losses.add(sample.function, batch.step(), lost);
            }
        }
    }
}
