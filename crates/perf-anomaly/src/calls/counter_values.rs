//! [`CounterValues`]: statistics of the counters of a stream since the last batch; [`CounterBatch`]: those of a batch.

use super::sink::Calls;
use crate::counters::{CounterStats, Counters, MAX_COUNTERS};
use perf_core::{MetricId, StreamKey, Value};
use std::collections::BTreeMap;

/// Largest number of counters of streams with statistics of their own. The values of further ones are counted for all
/// ranks together.
const MAX_CELLS: usize = 1 << 18;

/// Statistics of the counters of a stream. Counters are found by their number, without a search.
#[derive(Clone, Debug, Default)]
pub(super) struct CounterValues {
    /// Index plus 1 of the cell of each counter; 0 for none.
    slots: Vec<u32>,
    /// Counters of the stream.
    cells: Vec<Cell>,
    /// Indices of the counters with values since the last batch.
    touched: Vec<u32>,
}

/// Counter of a stream.
#[derive(Clone, Copy, Debug)]
struct Cell {
    /// Number of the counter.
    counter: u32,
    /// Last value.
    last: f64,
    /// Values since the last batch.
    stats: CounterStats,
}

impl CounterValues {
    /// Adds a value. Returns `false` if the counter has no cell yet.
    #[inline]
    fn add(&mut self, counter: u32, value: f64) -> bool {
        let slot = self.slots.get(counter as usize);
        let at = slot.copied().unwrap_or_default().wrapping_sub(1);
        let Some(cell) = self.cells.get_mut(at as usize) else {
            return false;
        };
        if cell.stats.values.count() == 0 {
            self.touched.push(at);
        }
        cell.stats.push(value, cell.last);
        cell.last = value;
        true
    }

    /// Adds a counter without values.
    fn insert(&mut self, counter: u32, value: f64) {
        let at = counter as usize;
        if self.slots.len() <= at {
            self.slots.resize(at + 1, 0);
        }
        self.cells.push(Cell {
            counter,
            last: value,
            stats: CounterStats::default(),
        });
        self.slots[at] = self.cells.len() as u32;
    }

    /// Returns the memory in bytes.
    pub(super) fn memory(&self) -> usize {
        (self.slots.capacity() + self.touched.capacity()) * size_of::<u32>()
            + self.cells.capacity() * size_of::<Cell>()
    }
}

/// Values of counters in a batch.
#[derive(Clone, Debug, Default)]
pub(super) struct CounterBatch {
    /// Program, rank and counter, with the values of a stream; no rank for streams without statistics of their own.
    all: Vec<(u32, Option<u32>, u32, CounterStats)>,
    /// Statistics since the last batch of streams without statistics of their own, by program and counter.
    rest: BTreeMap<(u32, u32), CounterStats>,
    /// Number of values without statistics, in the batch and since then.
    dropped: (u64, u64),
    /// Number of counters of streams with statistics of their own.
    cells: usize,
}

impl CounterBatch {
    /// Adds a value of a counter of a stream, which becomes part of the next batch. `is_count` is `true` for a counter of
    /// events, which are never less than none.
    #[inline]
    pub(super) fn push(
        &mut self,
        (key, values): (StreamKey, &mut CounterValues),
        counter: MetricId,
        value: Value,
        is_count: impl Fn() -> bool,
    ) {
        let is_valid = CounterStats::can_count(value);
        let value = value.as_f64();
        if !is_valid || value < 0.0 && is_count() {
            self.dropped.1 += 1;
        } else if !values.add(counter.0, value) {
            self.push_new((key, values), counter, value);
        }
    }

    #[cold]
    fn push_new(
        &mut self,
        (key, values): (StreamKey, &mut CounterValues),
        counter: MetricId,
        value: f64,
    ) {
        if counter.index() >= MAX_COUNTERS {
            self.dropped.1 += 1;
        } else if self.cells < MAX_CELLS {
            self.cells += 1;
            values.insert(counter.0, value);
            values.add(counter.0, value);
        } else {
            // Without the last value of each stream it is not known whether values rise.
            let rest = self.rest.entry((key.program, counter.0)).or_default();
            rest.push(value, value);
        }
    }

    /// Begins a batch, to which the streams [add](Self::take) their values.
    pub(super) fn begin(&mut self) {
        self.all.clear();
        for ((program, counter), stats) in std::mem::take(&mut self.rest) {
            self.all.push((program, None, counter, stats));
        }
        self.dropped = (self.dropped.1, 0);
    }

    /// Adds the values of a stream since the last batch.
    pub(super) fn take(&mut self, key: StreamKey, values: &mut CounterValues) {
        for at in values.touched.drain(..) {
            if let Some(cell) = values.cells.get_mut(at as usize) {
                let stats = std::mem::take(&mut cell.stats);
                self.all
                    .push((key.program, Some(key.rank), cell.counter, stats));
            }
        }
    }

    /// Adds the values of the batch to a table. `declared` returns `true` for a counter that is declared to accumulate,
    /// and `false` for one declared to be absolute.
    fn add_to(&self, counters: &mut Counters, declared: impl Fn(u32) -> Option<bool>) {
        for (program, rank, counter, stats) in &self.all {
            let declared = declared(*counter);
            let stats = CounterStats { declared, ..*stats };
            counters.add((*program, *rank), *counter, &stats);
        }
        counters.drop_values(self.dropped.0);
    }
}

impl Calls {
    /// Adds the counter values of the batch to a table, in which counters have the numbers of this sink.
    pub(crate) fn add_counters(&self, counters: &mut Counters) {
        let declared = |counter| self.names.accumulates(counter);
        self.counter_batch.add_to(counters, declared);
    }
}
