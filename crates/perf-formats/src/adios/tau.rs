//! [`Tables`]: reads the tables of a step of TAU's trace plug-in (enters and exits, counters,
//! messages) and converts their rows to events.

use super::bp_file::{BpFile, Step};
use super::names::{Kind, Names, Numbered, Programs};
use super::rules;
use super::step_events::{Edge, StepEvents};
use super::table::Table;
use super::variables::Variable;
use crate::{Error, Result};
use perf_core::{
    Diagnostics, EventSink, MetricId, Nanos, Peer, RegionId, Rule, StreamEvent, StreamKey, Value,
};
use std::cmp::Ordering;
use std::collections::HashMap;

/// A table of `N` columns: its variable, and the variable with its number of rows.
struct Known<const N: usize>(&'static str, &'static str);

const FUNCTIONS: Known<6> = Known("event_timestamps", "timer_event_count");
const COUNTERS: Known<6> = Known("counter_values", "counter_event_count");
const MESSAGES: Known<8> = Known("comm_timestamps", "comm_count");

/// Bound on programs and threads; higher numbers occur in corrupt streams.
const MANY: u64 = 1_000_000;

/// The tables of a step.
#[derive(Debug)]
pub(super) struct Tables {
    /// Enters and exits.
    functions: Table,
    /// Counter values.
    counters: Table,
    /// Messages.
    messages: Table,
}

/// Memory that is reused in each step.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// Buffer for a part of a table.
    part: Vec<u8>,
    /// Events of the step by stream.
    lanes: StepEvents,
}

impl Tables {
    /// Reads the tables of a step. In strict mode damage is an error; otherwise damaged parts are
    /// dropped and counted.
    pub(super) fn read(
        file: &mut BpFile,
        step: &Step,
        is_strict: bool,
        found: &mut Diagnostics,
    ) -> Result<Self> {
        Ok(Tables {
            functions: table(file, step, &FUNCTIONS, is_strict, found)?,
            counters: table(file, step, &COUNTERS, is_strict, found)?,
            messages: table(file, step, &MESSAGES, is_strict, found)?,
        })
    }

    /// Returns `true` if a table has rows.
    pub(super) fn has_rows(&self) -> bool {
        let tables = [&self.functions, &self.counters, &self.messages];
        tables.iter().any(|table| table.rows > 0)
    }

    /// Returns the error of a missing data file.
    pub(super) fn missing_file(&mut self) -> Option<Error> {
        let tables = [&mut self.functions, &mut self.counters, &mut self.messages];
        let mut errors = tables.into_iter().filter_map(|table| table.damage.take());
        errors.find(|error| matches!(error, Error::Io { .. }))
    }

    /// Pushes all events, stream by stream, in order of time as far as the rows of each table are
    /// ordered.
    ///
    /// At equal times, an enter precedes messages and counters and an exit follows them, so that
    /// they are inside the call.
    pub(super) fn push(
        &self,
        file: &mut BpFile,
        scratch: &mut Scratch,
        names: &mut Names,
        programs: &mut Programs,
        sink: &mut dyn EventSink,
        found: &mut Diagnostics,
    ) -> Result<()> {
        let Scratch { part, lanes } = scratch;
        lanes.clear();
        let facts = std::mem::take(&mut names.facts);
        let mut rows = Resolver {
            names,
            programs,
            sink,
            found,
            first: None,
            regions: Numbered::default(),
            others: HashMap::new(),
            counters: Numbered::default(),
            program: None,
            lanes,
        };
        for fact in facts {
            let key = rows.key(fact.program, fact.rank, fact.thread);
            let stream = rows.sink.stream(key);
            rows.sink.metadata(stream, &fact.name, &fact.value);
        }
        rows.all(file, part, &self.functions, &FUNCTIONS, Resolver::function)?;
        rows.all(file, part, &self.counters, &COUNTERS, Resolver::counter)?;
        rows.all(file, part, &self.messages, &MESSAGES, Resolver::message)?;
        lanes.push(sink);
        Ok(())
    }
}

/// Returns the rows of a table, up to its count. A table without rows is not written.
fn table<const N: usize>(
    file: &mut BpFile,
    step: &Step,
    known: &Known<N>,
    is_strict: bool,
    found: &mut Diagnostics,
) -> Result<Table> {
    let Known(name, count) = *known;
    let variable = |name: &str| step.variables.iter().find(|one| *one.name == *name);
    // Each of several writers has a block of its own.
    let values = |one: &Variable| -> Option<u64> {
        let mut values = one.blocks.iter().map(|block| block.value);
        values.try_fold(0_u64, |sum, value| Some(sum.saturating_add(value?)))
    };
    let count = variable(count).and_then(values);
    let Some(variable) = variable(name).filter(|_| count != Some(0)) else {
        if let Some(1..) = count {
            found.add(rules::COUNT, step.place.clone().record(name));
        }
        return Ok(Table::default());
    };
    let mut table = file.table(variable, N as u64)?;
    if let Some(error) = table.damage.take() {
        if is_strict {
            return Err(error);
        }
        let why = step.place.clone().record(error.to_string());
        found.add(rules::DAMAGED_TABLE, why);
        table.damage = Some(error);
        return Ok(table);
    }
    match count.map(|count| (count, count.cmp(&table.rows))) {
        Some((_, Ordering::Greater)) => found.add(rules::COUNT, table.place.clone()),
        Some((count, Ordering::Less)) => {
            found.add(rules::LEFTOVER, table.place.clone());
            table.rows = count;
        }
        _ => {}
    }
    Ok(table)
}

/// Converter from rows to events.
struct Resolver<'a> {
    /// Names defined by the steps so far.
    names: &'a Names,
    /// Numbers of the programs.
    programs: &'a mut Programs,
    /// Receiver of the definitions.
    sink: &'a mut dyn EventSink,
    /// Diagnostics of the conversion.
    found: &'a mut Diagnostics,
    /// Program column of the last row, and its number.
    program: Option<(u64, u32)>,
    /// Program column of the first row, usually that of all, and the regions of its timers.
    first: Option<u64>,
    /// Regions of the timers of the first program column.
    regions: Numbered<RegionId>,
    /// Regions of the timers of other program columns.
    others: HashMap<(u64, u64), RegionId>,
    /// Metrics of the counters.
    counters: Numbered<MetricId>,
    /// Receiver of the events.
    lanes: &'a mut StepEvents,
}

impl Resolver<'_> {
    fn all<const N: usize>(
        &mut self,
        file: &mut BpFile,
        part: &mut Vec<u8>,
        table: &Table,
        known: &Known<N>,
        event: impl Fn(&mut Self, &[u64; N]) -> Result<(), Rule>,
    ) -> Result<()> {
        let mut number = 0_u64;
        file.rows(table, part, |row| {
            if let Err(rule) = event(self, &row) {
                let record = format!("row {number} of `{}`", known.0);
                self.found.add(rule, table.place.clone().record(record));
            }
            number += 1;
        })
    }

    fn key(&mut self, column: u64, rank: u32, thread: u32) -> StreamKey {
        let program = match self.program {
            Some((last, program)) if last == column => program,
            _ => {
                let name = self.names.programs.get(column);
                let program = self.programs.number(name, column as u32);
                self.first.get_or_insert(column);
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

    /// Returns the stream of the first three columns and the time of the last.
    #[inline]
    fn place<const N: usize>(&mut self, row: &[u64; N]) -> Result<(StreamKey, Nanos), Rule> {
        let [program, rank, thread, .., at] = row.as_slice() else {
            return Err(rules::CORRUPT);
        };
        let rank = u32::try_from(*rank).map_err(|_| rules::CORRUPT)?;
        let at = i64::try_from(*at).ok().and_then(|at| at.checked_mul(1000));
        let (Some(at), true) = (at, *program <= MANY && *thread < MANY) else {
            return Err(rules::CORRUPT);
        };
        Ok((self.key(*program, rank, *thread as u32), Nanos(at)))
    }

    #[inline]
    fn kind(&self, number: u64) -> Result<Kind, Rule> {
        let kind = self.names.kinds.get(number).ok_or(rules::UNNAMED)?;
        kind.ok_or(rules::UNKNOWN_KIND)
    }

    #[inline]
    fn function(&mut self, row: &[u64; 6]) -> Result<(), Rule> {
        let (key, at) = self.place(row)?;
        let [program, _, _, kind, timer, _] = *row;
        let kind = self.kind(kind)?;
        let is_first = self.first == Some(program);
        let known = if is_first {
            self.regions.get(timer)
        } else {
            self.others.get(&(program, timer))
        };
        let region = match known.copied() {
            Some(region) => region,
            None => {
                let name = self.names.timers.get(timer).ok_or(rules::UNNAMED)?;
                let region = self.sink.region(key.program, name);
                if is_first {
                    // Named numbers are within the limit.
                    self.regions.insert(timer, region, u32::MAX);
                } else {
                    self.others.insert((program, timer), region);
                }
                region
            }
        };
        let is_exit = match kind {
            Kind::Enter => false,
            Kind::Exit => true,
            Kind::Send | Kind::Receive => return Err(rules::UNKNOWN_KIND),
        };
        let edge = Edge {
            at,
            region,
            is_exit,
        };
        self.lanes.of(key).edges.push(edge);
        Ok(())
    }

    fn counter(&mut self, row: &[u64; 6]) -> Result<(), Rule> {
        let (key, at) = self.place(row)?;
        let [_, _, _, counter, value, _] = *row;
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
        self.lanes.of(key).counters.push((at, event));
        Ok(())
    }

    fn message(&mut self, row: &[u64; 8]) -> Result<(), Rule> {
        let (key, at) = self.place(row)?;
        let [_, _, _, kind, tag, partner, bytes, _] = *row;
        // Ranks and tags are cast from int: negative ones are wildcards and tags of libraries.
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
        let event = match self.kind(kind)? {
            Kind::Send => StreamEvent::Send(peer),
            Kind::Receive => StreamEvent::Receive(peer),
            Kind::Enter | Kind::Exit => return Err(rules::UNKNOWN_KIND),
        };
        self.lanes.of(key).messages.push((at, event));
        Ok(())
    }
}
