//! [`Sum`]: deltas of several clients merged to one message, for ranks that each have a copy of the
//! server; its creation and merging by a [`Server`].

use super::message::{are_below, of_client, read_changes, renumbered, write_changes};
use super::names::NameTable;
use super::{Delta, FunctionName, FunctionStats, Server, StepStats, View};
use crate::counters::Counters;
use crate::detect::Functions;
use crate::format_version::{Format, Reader, Writer};
use crate::lost_time::{FunctionSteps, ModeTimes, StepTimes};
use crate::{Change, Error, FunctionId, Model, Result};
use perf_core::Merge;
use std::collections::HashMap;

/// First bytes of an encoded sum.
const MAGIC: u32 = u32::from_le_bytes(*b"PKAU");
const VERSION: u16 = 8;
/// Earlier version without the slow calls outside of modes.
const WITHOUT_SLOW_CALLS: u16 = 7;
/// Earlier version without counters.
const WITHOUT_COUNTERS: u16 = 6;
/// Earlier version without changes of functions, in which waiting was time lost.
const WITHOUT_CHANGES: u16 = 5;
/// Earlier version without the calls of new modes.
const WITHOUT_MODE_CALLS: u16 = 4;
/// Earlier version without the time lost in new modes.
const WITHOUT_MODES: u16 = 3;
/// Earlier version without run times by step.
const WITHOUT_TIMES: u16 = 2;
/// Earlier version, in which losses had no count of calls beyond experience.
const WITHOUT_BEYOND: u16 = 1;

/// Merged deltas of several clients, for ranks that each have a copy of the server. Deltas are
/// merged along a tree, and each copy of the server [adds](Server::add) the sum of all deltas.
/// Without the statistics of single ranks, the size of a sum does not grow with the number of
/// clients.
///
/// The statistics of single ranks, which grow with the number of clients, can be
/// [removed](Self::take_ranks) on the way.
///
/// Sums of the same deltas are equal to the bit if the deltas are merged in the same grouping and
/// order. The model of [`Tail`](crate::Tail) is equal to the bit for any grouping and order;
/// statistics of functions are equal up to rounding.
///
/// ```
/// use perf_anomaly::calls::Calls;
/// use perf_anomaly::server::{Client, Delta, Exchange, Server, Sum, View};
/// use perf_anomaly::{Detector, Tail, Watch};
/// use perf_core::{Job, Nanos};
/// # #[derive(Debug, Default)]
/// # struct Kept(Vec<Delta>);
/// # impl Exchange for Kept {
/// #     fn send(&mut self, delta: &Delta) -> perf_anomaly::Result<()> {
/// #         self.0.push(delta.clone());
/// #         Ok(())
/// #     }
/// #     fn receive(&mut self) -> perf_anomaly::Result<Option<View>> { Ok(None) }
/// # }
/// # fn delta(rank: u32) -> perf_anomaly::Result<Delta> {
/// #     let mut watch = Watch::new(Calls::default(), 0, rank);
/// #     let solve = watch.region("solve");
/// #     for k in 0..10 {
/// #         watch.enter(0, solve, Nanos(1_000_000 * k));
/// #         watch.exit(0, solve, Nanos(1_000_000 * k + 50_000));
/// #     }
/// #     watch.end_step();
/// #     let mut detector = Tail::new(Tail::params().learn_first(true).check()?);
/// #     let mut judgements = Vec::new();
/// #     detector.detect(watch.sink().batch().samples(), &mut judgements, &Job::default())?;
/// #     let mut client = Client::new(rank.into(), Kept::default());
/// #     client.step(watch.sink(), &judgements, &mut detector)?;
/// #     Ok(client.exchange_mut().0.remove(0))
/// # }
/// // Deltas of two ranks of 10 calls each.
/// let deltas = [delta(0)?, delta(1)?];
/// let mut server = Server::default();
/// let mut sum = server.sum(&deltas[0])?;
/// sum.merge(&server.sum(&deltas[1])?)?;
/// server.add(&Sum::decode(&sum.encode())?)?;
/// server.publish();
/// assert_eq!((server.names().len(), server.functions()[0].1.loss.calls), (1, 20));
/// assert_eq!(server.answer(&deltas[1])?.merged, 1);
/// # Ok::<(), perf_anomaly::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sum {
    /// Number of deltas.
    deltas: u64,
    /// Number of names that the server knows; new [`names`](Self::names) have the numbers from
    /// there on.
    known: u32,
    /// New names of functions.
    names: Vec<FunctionName>,
    /// Merged model.
    model: Option<Model>,
    /// Statistics of functions.
    functions: Functions<FunctionStats>,
    /// Time lost in abnormal calls by function and step.
    losses: FunctionSteps,
    /// Statistics of steps.
    steps: Vec<StepStats>,
    /// Run times of steps.
    times: StepTimes,
    /// Changes of the time that new modes lost, by client.
    modes: Vec<(u64, ModeTimes)>,
    /// Clients, each with the number of its last delta in the sum.
    clients: Vec<(u64, u64)>,
    /// Changes of functions, by client.
    changes: Vec<(u64, Change)>,
    /// Statistics of counters.
    counters: Counters,
}

impl Sum {
    /// Returns the number of deltas in the sum.
    pub fn deltas(&self) -> u64 {
        self.deltas
    }

    /// Returns the names of functions that the server did not know.
    pub fn names(&self) -> &[FunctionName] {
        &self.names
    }

    /// Removes and returns the data of single ranks, which are statistics and run times of steps, counters, and
    /// numbers of clients. The remaining data are by function only, and must be added to a server
    /// before those of ranks.
    pub fn take_ranks(&mut self) -> Sum {
        let times = std::mem::take(&mut self.times);
        let modes = std::mem::take(&mut self.modes);
        let changes = std::mem::take(&mut self.changes);
        let mut ranks = Sum {
            known: self.known,
            times,
            modes,
            changes,
            counters: std::mem::take(&mut self.counters),
            steps: std::mem::take(&mut self.steps),
            clients: std::mem::take(&mut self.clients),
            ..Sum::default()
        };
        if ranks.has_functions() {
            ranks.names.clone_from(&self.names);
        }
        ranks
    }

    fn is_of_ranks(&self) -> bool {
        self.deltas == 0 && self.model.is_none() && self.functions.is_empty()
    }

    /// Returns `true` if the sum contains numbers of functions.
    fn has_functions(&self) -> bool {
        let is_empty = self.times.is_empty() && self.modes.is_empty() && self.changes.is_empty();
        !self.is_of_ranks() || !is_empty || !self.counters.is_empty()
    }

    /// Adds another sum. Its steps and clients are appended.
    ///
    /// # Errors
    /// Returns [`Error::OtherModel`] if the detectors differ, or [`Error::Decode`] unless both sums
    /// are for servers that know the same number of names. The sum is then unchanged.
    pub fn merge(&mut self, other: &Sum) -> Result<()> {
        if other.has_functions() {
            self.merge_functions(other)?;
        }
        self.deltas = self.deltas.saturating_add(other.deltas);
        self.steps.extend_from_slice(&other.steps);
        self.clients.extend_from_slice(&other.clients);
        Ok(())
    }

    fn merge_functions(&mut self, other: &Sum) -> Result<()> {
        if !self.has_functions() {
            self.known = other.known;
            self.times.clone_from(&other.times);
            self.modes.clone_from(&other.modes);
            self.changes.clone_from(&other.changes);
            self.counters.clone_from(&other.counters);
            self.names.clone_from(&other.names);
            self.model.clone_from(&other.model);
            self.functions.clone_from(&other.functions);
            self.losses.clone_from(&other.losses);
            return Ok(());
        }
        if self.known != other.known {
            return Err(unknown());
        }
        if let (Some(mine), Some(theirs)) = (&self.model, &other.model) {
            mine.emptied().merge(&theirs.emptied())?;
        }
        let new = self.numbers_of(&other.names);
        let number = |function: FunctionId| match function.0.checked_sub(other.known) {
            None => Some(function),
            Some(place) => new.get(place as usize).copied(),
        };
        if let Some(model) = &other.model {
            let mine = self.model.get_or_insert_with(|| model.emptied());
            if other.names.is_empty() {
                mine.merge(model)?
            } else {
                mine.merge(&model.renumbered(number))?
            }
        }
        for (function, stats) in other.functions.unordered() {
            if let Some(function) = number(function) {
                let mine = self.functions.entry(function, FunctionStats::default);
                mine.merge(stats);
            }
        }
        self.losses.merge(&other.losses.renumbered(number));
        self.times.merge(&other.times.renumbered(number));
        let modes = other.modes.iter();
        let modes = modes.map(|(client, modes)| (*client, modes.renumbered(number)));
        self.modes.extend(modes);
        let changes = renumbered(&other.changes, number);
        self.changes.extend(changes);
        self.counters.merge(&other.counters.renumbered(number));
        Ok(())
    }

    /// Returns the numbers of names, and adds names that are new.
    fn numbers_of(&mut self, names: &[FunctionName]) -> Vec<FunctionId> {
        if names.is_empty() {
            return Vec::new();
        }
        let places = self.names.iter().cloned().zip(0_u32..);
        let mut places: HashMap<FunctionName, u32> = places.collect();
        let number = |name: &FunctionName| {
            let next = self.names.len() as u32;
            let place = *places.entry(name.clone()).or_insert_with(|| {
                self.names.push(name.clone());
                next
            });
            FunctionId(self.known.saturating_add(place))
        };
        names.iter().map(number).collect()
    }

    /// Encodes the sum: a magic number, a version, and the fields in order. Equal sums give equal
    /// bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut to = Writer::default();
        to.u32(MAGIC);
        to.u16(VERSION);
        to.varint(self.deltas);
        to.u32(self.known);
        FunctionName::write(&self.names, &mut to);
        to.u8(u8::from(self.model.is_some()));
        if let Some(model) = &self.model {
            model.write(&mut to);
        }
        self.functions.write(&mut to, FunctionStats::write);
        StepStats::write(&self.steps, &mut to);
        self.times.write(&mut to);
        to.u32(self.modes.len() as u32);
        for (client, modes) in &self.modes {
            to.varint(*client);
            modes.write(&mut to);
        }
        self.losses.write(&mut to);
        to.u32(self.clients.len() as u32);
        for (client, sequence) in &self.clients {
            to.varint(*client);
            to.varint(*sequence);
        }
        write_changes(&self.changes, &mut to);
        self.counters.write(&mut to);
        for (_, modes) in &self.modes {
            modes.write_slow(&mut to);
        }
        to.0
    }

    /// Decodes the bytes of [`encode`](Self::encode).
    ///
    /// # Errors
    /// Returns [`Error::Decode`] with the offset of the invalid bytes. No number in the bytes can
    /// cause an allocation larger than their content justifies.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut from = Reader::new(bytes);
        if from.u32("the signature of a sum")? != MAGIC {
            return Err(from.error(4, "the signature of a sum").into());
        }
        let version = from.u16("a version")?;
        if !(WITHOUT_BEYOND..=VERSION).contains(&version) {
            return Err(from.error(2, "version 1 to 8 of a sum").into());
        }
        from.context = Format {
            has_beyond_experience: version >= WITHOUT_TIMES,
            has_times: version >= WITHOUT_MODES,
            has_modes: version >= WITHOUT_MODE_CALLS,
            has_mode_calls: version >= WITHOUT_CHANGES,
            has_changes: version > WITHOUT_CHANGES,
            has_counters: version > WITHOUT_COUNTERS,
            has_slow_calls: version > WITHOUT_SLOW_CALLS,
            has_reports: false,
            ..Format::default()
        };
        let mut sum = Sum {
            deltas: from.varint("the number of deltas")?,
            known: from.u32("the number of known names")?,
            names: FunctionName::read(&mut from)?,
            ..Sum::default()
        };
        if from.u8("the flag for a model")? != 0 {
            sum.model = Some(Model::read(&mut from)?);
        }
        sum.functions = Functions::read(&mut from, FunctionStats::LEAST, FunctionStats::read)?;
        sum.steps = StepStats::read(&mut from)?;
        sum.times = StepTimes::read_if_present(&mut from)?;
        if from.context.has_modes {
            for _ in 0..from.count(5, "a number of clients that fits the remaining bytes")? {
                let client = from.varint("a client")?;
                sum.modes
                    .push((client, ModeTimes::read_if_present(&mut from)?));
            }
        }
        sum.losses = FunctionSteps::read_if_present(&mut from)?;
        for _ in 0..from.count(2, "a number of clients that fits the remaining bytes")? {
            let client = from.varint("a client")?;
            sum.clients.push((client, from.varint("its last delta")?));
        }
        sum.changes = read_changes(&mut from)?;
        sum.counters = Counters::read_if_present(&mut from)?;
        for (_, modes) in &mut sum.modes {
            modes.read_slow_if_present(&mut from)?;
        }
        from.end()?;
        Ok(sum)
    }
}

fn unknown() -> Error {
    Error::Decode {
        at: 0,
        expected: "a sum for a server that knows the same names",
    }
}

impl Server {
    /// Converts a delta to a sum with the function numbers of this server; the server does not
    /// change. Returns an empty sum for a delta that was merged before.
    ///
    /// # Errors
    /// Returns the errors of [`take`](Self::take).
    pub fn sum(&self, delta: &Delta) -> Result<Sum> {
        self.check(delta)?;
        if self.has_merged(delta) {
            return Ok(Sum::default());
        }
        let known = self.names().len() as u32;
        let mut new = NameTable::default();
        let mut number = |name: &FunctionName| match self.number(name) {
            Some(number) => Some(number),
            None => {
                let place = new.number(name, usize::MAX)?;
                Some(FunctionId(known.checked_add(place.0)?))
            }
        };
        let numbers: Vec<Option<FunctionId>> = delta.names.iter().map(&mut number).collect();
        let number = |function: FunctionId| match function.0.checked_sub(delta.known) {
            None => Some(function),
            Some(place) => numbers.get(place as usize).copied().flatten(),
        };
        let mut functions = Functions::default();
        for (function, stats) in delta.functions.unordered() {
            if let Some(function) = number(function) {
                let all = functions.entry(function, FunctionStats::default);
                all.merge(stats);
            }
        }
        Ok(Sum {
            deltas: 1,
            known,
            names: new.names().to_vec(),
            model: Some(if delta.names.is_empty() {
                delta.model.clone()
            } else {
                delta.model.renumbered(number)
            }),
            functions,
            losses: delta.losses.renumbered(number),
            steps: delta.steps.clone(),
            times: delta.times.renumbered(number),
            modes: if delta.modes.is_empty() {
                Vec::new()
            } else {
                vec![(delta.client, delta.modes.renumbered(number))]
            },
            clients: vec![(delta.client, delta.sequence)],
            changes: renumbered(&of_client(delta), number),
            counters: delta.counters.renumbered(number),
        })
    }

    /// Merges the deltas of a sum. [`publish`](Self::publish) must be called afterwards to build
    /// the view.
    ///
    /// # Errors
    /// Returns [`Error::OtherModel`] if the detectors differ, or [`Error::Decode`] if the sum is
    /// for a server with another number of names. No part of such a sum is merged.
    pub fn add(&mut self, sum: &Sum) -> Result<()> {
        let known = self.names().len();
        let end = u64::from(sum.known) + sum.names.len() as u64;
        let mut modes = sum.modes.iter();
        let is_below = sum.times.is_below(end)
            && modes.all(|(_, modes)| modes.is_below(end))
            && are_below(&sum.changes, end)
            && sum.counters.is_below(end);
        if sum.known as usize > known || !is_below {
            return Err(unknown());
        }
        if !sum.is_of_ranks() {
            let is_named = |model: &Model| model.is_below(end);
            let mut functions = sum.functions.unordered();
            let is_sound = sum.known as usize == known
                && sum.model.as_ref().is_none_or(is_named)
                && sum.losses.is_below(end)
                && functions.all(|(one, _)| u64::from(one.0) < end);
            if !is_sound {
                return Err(unknown());
            }
            self.check_model(sum.model.as_ref())?;
        }
        self.absorb(
            (sum.known, &sum.names),
            sum.model.as_ref(),
            (&sum.functions, &sum.losses),
            (&sum.steps, &sum.times),
            (&sum.modes, &sum.counters),
            &sum.changes,
        )?;
        for (client, sequence) in &sum.clients {
            self.hear(*client, *sequence, false);
        }
        self.count(sum.deltas);
        Ok(())
    }

    /// Returns the view for the client of a delta in a sum, after the sum was [added](Self::add)
    /// and the view [built](Self::publish).
    ///
    /// # Errors
    /// Returns the errors of [`take`](Self::take).
    pub fn answer(&mut self, delta: &Delta) -> Result<View> {
        self.check(delta)?;
        self.hear(delta.client, delta.sequence, true);
        self.view(delta)
    }
}
