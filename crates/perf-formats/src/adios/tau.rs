//! [`Tables`]: what TAU's trace plug-in writes in a step, as events.

use super::bp4::{Bp4, Step};
use super::index::Variable;
use super::names::{Kind, Names, Numbered, Programs};
use super::rules;
use crate::Result;
use perf_core::{
    Diagnostics, EventSink, MetricId, Nanos, Peer, Place, RegionId, Rule, StreamEvent, StreamKey,
    Value,
};
use std::cmp::Ordering;
use std::collections::HashMap;

/// A table: its variable, that of how many rows there are, and the number of columns.
struct Table(&'static str, &'static str, usize);

const FUNCTIONS: Table = Table("event_timestamps", "timer_event_count", 6);
const COUNTERS: Table = Table("counter_values", "counter_event_count", 6);
const MESSAGES: Table = Table("comm_timestamps", "comm_count", 8);

/// Programs and threads beyond have been seen where streams were corrupt.
const MANY: u64 = 1_000_000;

/// The tables of a step.
#[derive(Debug)]
pub(super) struct Tables {
    functions: Rows,
    counters: Rows,
    messages: Rows,
}

/// Rows of a table, and where they are.
#[derive(Debug)]
struct Rows {
    numbers: Vec<u64>,
    place: Place,
}

/// What happens when.
type Item = (Nanos, StreamEvent);

/// The events of a stream in a step.
#[derive(Debug, Default)]
struct Lane {
    key: StreamKey,
    functions: Vec<Item>,
    /// Counters and messages: each in order of time, one after the other.
    counters: Vec<Item>,
    messages: Vec<Item>,
}

impl Tables {
    /// The tables of a step. What is damaged of one is left out and counted, unless that is an error.
    pub(super) fn read(
        file: &mut Bp4,
        step: &Step,
        is_strict: bool,
        found: &mut Diagnostics,
    ) -> Result<Self> {
        let mut read = |table: Table| rows(file, step, &table, is_strict, found);
        Ok(Tables {
            functions: read(FUNCTIONS)?,
            counters: read(COUNTERS)?,
            messages: read(MESSAGES)?,
        })
    }

    /// Pushes all events: stream by stream, in order of time as far as the rows of each table are.
    ///
    /// At equal times an enter goes before messages and counters, an exit after, so that they belong
    /// to a call at both its ends.
    pub(super) fn push(
        &self,
        names: &mut Names,
        programs: &mut Programs,
        sink: &mut dyn EventSink,
        found: &mut Diagnostics,
    ) {
        let facts = std::mem::take(&mut names.facts);
        let mut rows = Resolver {
            names,
            programs,
            sink,
            found,
            regions: Numbered::default(),
            counters: Numbered::default(),
            program: None,
            lanes: Vec::new(),
            places: HashMap::new(),
            lane: 0,
        };
        for fact in facts {
            let key = rows.key(fact.program, fact.rank, fact.thread);
            let stream = rows.sink.stream(key);
            rows.sink.metadata(stream, &fact.name, &fact.value);
        }
        rows.all(&self.functions, &FUNCTIONS, Resolver::function);
        rows.all(&self.counters, &COUNTERS, Resolver::counter);
        rows.all(&self.messages, &MESSAGES, Resolver::message);
        let mut lanes = rows.lanes;
        lanes.sort_by_key(|lane| lane.key);
        for lane in lanes {
            let stream = sink.stream(lane.key);
            lane.merge(|(at, event)| sink.push(stream, at, event));
        }
    }
}

impl Lane {
    /// All events in order of time. Functions stay in the order of their rows, whatever their times.
    fn merge(mut self, mut push: impl FnMut(Item)) {
        for notes in [&mut self.counters, &mut self.messages] {
            // Stable, and nothing to do as the plug-in writes them.
            notes.sort_by_key(|(at, _)| *at);
        }
        let mut counters = self.counters.into_iter().peekable();
        let mut messages = self.messages.into_iter().peekable();
        let mut notes = std::iter::from_fn(|| match (counters.peek(), messages.peek()) {
            (Some(counter), Some(message)) if message.0 < counter.0 => messages.next(),
            (Some(_), _) => counters.next(),
            (None, _) => messages.next(),
        })
        .peekable();
        for function in self.functions {
            let is_exit = matches!(function.1, StreamEvent::Exit(_));
            let goes_before = |note: &Item| match note.0.cmp(&function.0) {
                Ordering::Less => true,
                Ordering::Equal => is_exit,
                Ordering::Greater => false,
            };
            while let Some(note) = notes.next_if(goes_before) {
                push(note);
            }
            push(function);
        }
        notes.for_each(push);
    }
}

/// The rows of a table, as many as their count says. A table without rows is not written.
fn rows(
    file: &mut Bp4,
    step: &Step,
    table: &Table,
    is_strict: bool,
    found: &mut Diagnostics,
) -> Result<Rows> {
    let Table(name, count, width) = *table;
    let variable = |name: &str| step.variables.iter().find(|one| one.name == name);
    // Each of several writers has a block of its own rows.
    let values = |one: &Variable| -> Option<u64> {
        let mut values = one.blocks.iter().map(|block| block.value);
        values.try_fold(0_u64, |sum, value| Some(sum.saturating_add(value?)))
    };
    let count = variable(count).and_then(values);
    let mut rows = Rows {
        numbers: Vec::new(),
        place: step.place.clone(),
    };
    let Some(variable) = variable(name).filter(|_| count != Some(0)) else {
        if let Some(1..) = count {
            found.add(rules::COUNT, step.place.clone().record(name));
        }
        return Ok(rows);
    };
    let read = file.table(variable, width as u64)?;
    (rows.numbers, rows.place) = (read.numbers, read.place);
    if let Some(error) = read.damage {
        if is_strict {
            return Err(error);
        }
        let why = step.place.clone().record(error.to_string());
        found.add(rules::DAMAGED_TABLE, why);
        return Ok(rows);
    }
    let there = (rows.numbers.len() / width) as u64;
    match count.map(|count| count.cmp(&there)) {
        Some(Ordering::Greater) => found.add(rules::COUNT, rows.place.clone()),
        Some(Ordering::Less) => {
            found.add(rules::LEFTOVER, rows.place.clone());
            rows.numbers
                .truncate(count.unwrap_or_default() as usize * width);
        }
        _ => {}
    }
    Ok(rows)
}

/// Makes events of rows.
struct Resolver<'a> {
    names: &'a Names,
    programs: &'a mut Programs,
    sink: &'a mut dyn EventSink,
    found: &'a mut Diagnostics,
    /// The column of the last row, its number, and what the sink calls its timers.
    program: Option<(u64, u32)>,
    regions: Numbered<RegionId>,
    counters: Numbered<MetricId>,
    lanes: Vec<Lane>,
    places: HashMap<StreamKey, usize>,
    /// That of the last row.
    lane: usize,
}

impl Resolver<'_> {
    fn all(
        &mut self,
        rows: &Rows,
        table: &Table,
        event: fn(&mut Self, &[u64]) -> Result<(), Rule>,
    ) {
        for (number, row) in rows.numbers.chunks_exact(table.2).enumerate() {
            if let Err(rule) = event(self, row) {
                let record = format!("row {number} of `{}`", table.0);
                self.found.add(rule, rows.place.clone().record(record));
            }
        }
    }

    /// The events of a stream; an event is mostly of the stream of the one before.
    #[inline]
    fn lane(&mut self, key: StreamKey) -> &mut Lane {
        if self.lanes.get(self.lane).is_none_or(|lane| lane.key != key) {
            let next = self.lanes.len();
            self.lane = *self.places.entry(key).or_insert(next);
            if self.lane == next {
                self.lanes.push(Lane {
                    key,
                    ..Lane::default()
                });
            }
        }
        let last = self.lane;
        &mut self.lanes[last]
    }

    fn key(&mut self, column: u64, rank: u32, thread: u32) -> StreamKey {
        let program = match self.program {
            Some((last, program)) if last == column => program,
            _ => {
                let name = self.names.programs.get(column);
                let program = self.programs.number(name, column as u32);
                self.regions.clear();
                self.program = Some((column, program));
                program
            }
        };
        StreamKey {
            program,
            rank,
            thread,
        }
    }

    /// Who, of the first three columns, and when, of the last.
    fn place(&mut self, row: &[u64]) -> Result<(StreamKey, Nanos), Rule> {
        let [program, rank, thread, .., at] = row else {
            return Err(rules::CORRUPT);
        };
        let rank = u32::try_from(*rank).map_err(|_| rules::CORRUPT)?;
        let at = i64::try_from(*at).ok().and_then(|at| at.checked_mul(1000));
        let (Some(at), true) = (at, *program <= MANY && *thread < MANY) else {
            return Err(rules::CORRUPT);
        };
        Ok((self.key(*program, rank, *thread as u32), Nanos(at)))
    }

    fn kind(&self, row: &[u64]) -> Result<Kind, Rule> {
        let number = row.get(3).ok_or(rules::CORRUPT)?;
        let kind = self.names.kinds.get(*number).ok_or(rules::UNNAMED)?;
        kind.ok_or(rules::UNKNOWN_KIND)
    }

    fn function(&mut self, row: &[u64]) -> Result<(), Rule> {
        let (key, at) = self.place(row)?;
        let kind = self.kind(row)?;
        let timer = row.get(4).copied().unwrap_or_default();
        let region = match self.regions.get(timer) {
            Some(region) => *region,
            None => {
                let name = self.names.timers.get(timer).ok_or(rules::UNNAMED)?;
                let region = self.sink.region(key.program, name);
                // Numbers that have names are within the limit.
                self.regions.insert(timer, region, u32::MAX);
                region
            }
        };
        let event = match kind {
            Kind::Enter => StreamEvent::Enter(region),
            Kind::Exit => StreamEvent::Exit(region),
            Kind::Send | Kind::Receive => return Err(rules::UNKNOWN_KIND),
        };
        self.lane(key).functions.push((at, event));
        Ok(())
    }

    fn counter(&mut self, row: &[u64]) -> Result<(), Rule> {
        let (key, at) = self.place(row)?;
        let [_, _, _, counter, value, _] = *row else {
            return Err(rules::CORRUPT);
        };
        let counter = match self.counters.get(counter) {
            Some(known) => *known,
            None => {
                let name = self.names.counters.get(counter).ok_or(rules::UNNAMED)?;
                let known = self.sink.counter(name);
                self.counters.insert(counter, known, u32::MAX);
                known
            }
        };
        let event = StreamEvent::Counter(counter, Value::U64(value));
        self.lane(key).counters.push((at, event));
        Ok(())
    }

    fn message(&mut self, row: &[u64]) -> Result<(), Rule> {
        let (key, at) = self.place(row)?;
        let [_, _, _, _, tag, partner, bytes, _] = *row else {
            return Err(rules::CORRUPT);
        };
        // Ranks and tags are casts of int: those below zero are wildcards and tags of libraries.
        let number = |cast: u64| {
            let number = u32::try_from(cast).ok();
            let negative = || {
                i32::try_from(cast.cast_signed())
                    .ok()
                    .map(i32::cast_unsigned)
            };
            number.or_else(negative).ok_or(rules::CORRUPT)
        };
        let peer = Peer {
            rank: number(partner)?,
            tag: number(tag)?,
            bytes,
        };
        let event = match self.kind(row)? {
            Kind::Send => StreamEvent::Send(peer),
            Kind::Receive => StreamEvent::Receive(peer),
            Kind::Enter | Kind::Exit => return Err(rules::UNKNOWN_KIND),
        };
        self.lane(key).messages.push((at, event));
        Ok(())
    }
}
