//! [`LostTime`]: time lost by rank and step, as a matrix of bounded size for a heat map, and by function and
//! step.

use perf_anomaly::lost_time::{ModeStep, SlowStep};
use perf_anomaly::server::FunctionName;
use perf_core::Nanos;
use std::collections::BTreeMap;

/// Largest number of rows of ranks. Beyond it, neighbouring ranks share a row.
const MAX_ROWS: usize = 256;
/// Largest number of columns of steps. Beyond it, consecutive steps share a column.
const MAX_COLUMNS: u64 = 128;

/// Time lost by rank and step. Ranks are merged in groups of a power of two of consecutive numbers,
/// and steps likewise, so that the matrix has at most 256 rows and 128 columns. Cells without lost
/// time are absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LostTime {
    /// Logarithm to base 2 of the number of ranks of a row.
    rank_bits: u32,
    /// Logarithm to base 2 of the number of steps of a column.
    step_bits: u32,
    /// First and last step; `None` without steps.
    steps: Option<(u64, u64)>,
    /// First and last rank of each row that has a known rank, by program and row.
    rows: BTreeMap<(u32, u32), (u32, u32)>,
    /// Cells by program, row and column.
    cells: BTreeMap<(u32, u32, u64), LostCell>,
    /// `true` if no time was lost, so that the times are those of calls that wait for others.
    waits: bool,
    /// Time lost in abnormal calls of all ranks and steps, in nanoseconds.
    total: i64,
    /// Time lost in abnormal calls by function and step, or group of steps, in nanoseconds; `None` if a database has
    /// recorded calls only.
    functions: Option<Vec<(FunctionName, u64, i64)>>,
}

/// Time that the ranks of a row lost in the steps of a column.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct LostCell {
    /// Number of abnormal calls.
    pub(crate) anomalies: u64,
    /// Time lost in abnormal calls, in nanoseconds.
    pub(crate) calls: i64,
    /// Time lost in other calls of slow ranks, in nanoseconds.
    pub(crate) slow: i64,
    /// Time lost in other calls of new modes, in nanoseconds.
    pub(crate) modes: i64,
    /// Rank that lost the most time in one step.
    pub(crate) rank: u32,
    /// Step in which that rank lost the most time.
    pub(crate) step: u64,
    /// Time that the rank lost in that step, in nanoseconds.
    most: i64,
}

impl LostCell {
    fn add(&mut self, other: &Self) {
        self.anomalies = self.anomalies.saturating_add(other.anomalies);
        self.calls = self.calls.saturating_add(other.calls);
        self.slow = self.slow.saturating_add(other.slow);
        self.modes = self.modes.saturating_add(other.modes);
        if (self.rank, self.step) == (other.rank, other.step) {
            self.most = self.most.saturating_add(other.most);
        } else if (other.most, self.rank, self.step) > (self.most, other.rank, other.step) {
            // Of equal times the first rank and step are shown, whatever the order of messages was.
            (self.rank, self.step, self.most) = (other.rank, other.step, other.most);
        }
    }
}

impl LostTime {
    /// Adds time that a rank lost in abnormal calls of a step, or of a further part of a step.
    pub(crate) fn add_calls(
        &mut self,
        (program, rank, step): (u32, u32, u64),
        anomalies: u64,
        lost: i64,
    ) {
        let cell = LostCell {
            anomalies,
            calls: lost,
            rank,
            step,
            most: lost,
            ..LostCell::default()
        };
        self.add(program, &cell);
    }

    /// Adds the time of a slow rank.
    pub(super) fn add_slow(&mut self, one: &SlowStep) {
        let place = (one.program, one.rank);
        self.spread(place, (one.first, one.last), one.lost, |slow| LostCell {
            slow,
            ..LostCell::default()
        });
    }

    /// Adds the time of new modes.
    pub(super) fn add_modes(&mut self, one: &ModeStep) {
        let place = (one.program, one.rank);
        self.spread(place, (one.first, one.last), one.lost, |modes| LostCell {
            modes,
            ..LostCell::default()
        });
    }

    /// Adds time that a rank lost in consecutive steps, in equal parts. `cell` returns the cell of a part.
    fn spread(
        &mut self,
        (program, rank): (u32, u32),
        (first, last): (u64, u64),
        lost: Nanos,
        cell: impl Fn(i64) -> LostCell,
    ) {
        self.widen(first, last);
        let bits = self.step_bits;
        let steps = i128::from(last - first) + 1;
        // A part of the time is never larger than all of it, so it fits in 64 bits.
        let until = |step: u64| (i128::from(lost.0) * i128::from(step - first) / steps) as i64;
        for column in first >> bits..=last >> bits {
            let from = (column << bits).max(first);
            let to = (column << bits) | ((1 << bits) - 1);
            // Differences of sums, so that the parts add up to the whole.
            let end = if to < last { until(to + 1) } else { lost.0 };
            let part = end - until(from);
            let count = to.min(last) - from;
            let cell = LostCell {
                rank,
                step: from,
                most: part / i64::try_from(count).unwrap_or(i64::MAX).saturating_add(1),
                ..cell(part)
            };
            self.add(program, &cell);
        }
    }

    fn add(&mut self, program: u32, cell: &LostCell) {
        if !self.add_rank(program, cell.rank) {
            return;
        }
        self.widen(cell.step, cell.step);
        let key = (
            program,
            cell.rank >> self.rank_bits,
            cell.step >> self.step_bits,
        );
        self.add_cell(key, cell);
    }

    fn add_cell(&mut self, key: (u32, u32, u64), cell: &LostCell) {
        let known = self.cells.entry(key).and_modify(|known| known.add(cell));
        known.or_insert(*cell);
    }

    /// Adds a rank, which then has a row. Returns `false` if there are more programs than rows.
    pub(super) fn add_rank(&mut self, program: u32, rank: u32) -> bool {
        let key = (program, rank >> self.rank_bits);
        if let Some((first, last)) = self.rows.get_mut(&key) {
            (*first, *last) = (rank.min(*first), rank.max(*last));
            return true;
        }
        self.rows.insert(key, (rank, rank));
        while self.rows.len() > MAX_ROWS {
            if self.rank_bits == u32::BITS - 1 {
                self.rows.remove(&(program, rank >> self.rank_bits));
                return false;
            }
            self.merge_rows();
        }
        true
    }

    fn merge_rows(&mut self) {
        self.rank_bits += 1;
        for ((program, row), (first, last)) in std::mem::take(&mut self.rows) {
            let merged = self
                .rows
                .entry((program, row >> 1))
                .or_insert((first, last));
            *merged = (first.min(merged.0), last.max(merged.1));
        }
        for ((program, row, column), cell) in std::mem::take(&mut self.cells) {
            self.add_cell((program, row >> 1, column), &cell);
        }
    }

    /// Includes steps in the range of the columns.
    fn widen(&mut self, first: u64, last: u64) {
        let known = self.steps.unwrap_or((first, last));
        let (first, last) = (first.min(known.0), last.max(known.1));
        self.steps = Some((first, last));
        while (last >> self.step_bits) - (first >> self.step_bits) >= MAX_COLUMNS {
            self.step_bits += 1;
            for ((program, row, column), cell) in std::mem::take(&mut self.cells) {
                self.add_cell((program, row, column >> 1), &cell);
            }
        }
    }

    /// Drops the counts of all cells, to which the times of calls that wait for others are added next.
    pub(super) fn show_waiting(&mut self) {
        self.waits = true;
        self.cells.clear();
    }

    /// Returns `true` if no time was lost, so that the times are those of calls that wait for others.
    pub(crate) fn waits(&self) -> bool {
        self.waits
    }

    /// Returns the number of steps of a column.
    pub(crate) fn steps_per_column(&self) -> u64 {
        1 << self.step_bits
    }

    /// Returns the program, the first and the last rank of each row, in order.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (u32, u32, u32)> {
        let rows = self.rows.iter();
        rows.map(|((program, _), (first, last))| (*program, *first, *last))
    }

    /// Returns the cells with the index of their row and the first step of their column.
    pub(crate) fn cells(&self) -> impl Iterator<Item = (usize, u64, &LostCell)> {
        let rows = self.rows.keys().enumerate();
        let rows: BTreeMap<(u32, u32), usize> = rows.map(|(at, key)| (*key, at)).collect();
        let cells = self.cells.iter();
        cells.filter_map(move |((program, row, column), cell)| {
            Some((
                *rows.get(&(*program, *row))?,
                column << self.step_bits,
                cell,
            ))
        })
    }

    /// Sets the time that functions lost in abnormal calls of steps, or of groups of steps, each with its first step.
    pub(super) fn set_functions(&mut self, lost: Vec<(FunctionName, u64, i64)>) {
        self.functions = Some(lost);
    }

    /// Returns the time lost in abnormal calls by function and groups of `group` steps, which are named by
    /// their first step, in descending order of time lost. `None` if a database has recorded calls only.
    pub(crate) fn functions(&self, group: u64) -> Option<Vec<(&FunctionName, u64, i64)>> {
        let mut sums: BTreeMap<(&FunctionName, u64), i64> = BTreeMap::new();
        for (name, step, lost) in self.functions.as_ref()? {
            let sum = sums.entry((name, step - step % group)).or_default();
            *sum = sum.saturating_add(*lost);
        }
        let sums = sums.into_iter();
        let mut all: Vec<_> = sums
            .map(|((name, step), lost)| (name, step, lost))
            .collect();
        all.sort_by_key(|(_, step, lost)| (std::cmp::Reverse(*lost), *step));
        Some(all)
    }

    /// Adds the time that a rank lost in abnormal calls of all steps, in nanoseconds, which cells
    /// should add up to.
    pub(super) fn add_total(&mut self, lost: i64) {
        self.total = self.total.saturating_add(lost);
    }

    /// Returns the time lost in abnormal calls that is in no cell, in nanoseconds: that of steps
    /// that the database dropped before the server was started, and of programs without a row.
    pub(crate) fn missing(&self) -> i64 {
        let calls = self.cells.values().map(|cell| cell.calls);
        let calls = calls.fold(0, i64::saturating_add);
        self.total.saturating_sub(calls).max(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(of: &LostTime) -> (u64, i64, i64) {
        let cells = of.cells();
        cells.fold((0, 0, 0), |(anomalies, calls, slow), (_, _, cell)| {
            (
                anomalies + cell.anomalies,
                calls + cell.calls,
                slow + cell.slow,
            )
        })
    }

    /// All sums are kept while rows and columns are merged, and the worst rank and step are those
    /// of a matrix that is not merged.
    #[test]
    fn merged_cells_keep_sums_and_the_worst_rank() {
        let mut lost = LostTime::default();
        for step in 0..1000 {
            for rank in 0..1000 {
                let is_worst = (rank, step) == (777, 333);
                lost.add_calls((0, rank, step), 2, if is_worst { 500 } else { 3 });
            }
        }
        assert_eq!(sums(&lost), (2_000_000, 3_000_497, 0));
        lost.add_total(3_000_500);
        assert_eq!(lost.missing(), 3);
        assert_eq!((lost.rows().count(), lost.steps_per_column()), (250, 8));
        assert_eq!(lost.rows().nth(1), Some((0, 4, 7)));
        assert_eq!(lost.cells().count(), 250 * 125);
        let worst = lost.cells().max_by_key(|(_, _, cell)| cell.calls);
        let (row, step, cell) = worst.expect("there are cells");
        assert_eq!((row, step, cell.rank, cell.step), (194, 328, 777, 333));
        assert_eq!(cell.calls, 31 * 3 + 500);
    }

    /// The order of the additions is irrelevant, as after a restart.
    #[test]
    fn the_order_of_additions_is_irrelevant() {
        let all: Vec<(u32, u64)> = (0..600)
            .flat_map(|rank| [(rank, 7), (rank, 4000)])
            .collect();
        let mut both = [LostTime::default(), LostTime::default()];
        for (rank, step) in &all {
            both[0].add_calls((1, *rank, *step), 1, i64::from(*rank) + 1);
        }
        for (rank, step) in all.iter().rev() {
            both[1].add_calls((1, *rank, *step), 1, i64::from(*rank) + 1);
        }
        assert_eq!(both[0], both[1]);
    }

    /// The time of slow ranks is spread over the columns without a remainder.
    #[test]
    fn slow_ranks_are_spread_over_their_steps() {
        let mut lost = LostTime::default();
        lost.add_calls((0, 2, 300), 1, 5);
        lost.spread((0, 2), (10, 19), Nanos(1003), |slow| LostCell {
            slow,
            ..LostCell::default()
        });
        assert_eq!(sums(&lost), (1, 5, 1003));
        // Columns of four steps: 10 to 11, 12 to 15, and 16 to 19.
        let slow: Vec<_> = lost
            .cells()
            .map(|(_, step, cell)| (step, cell.slow))
            .collect();
        assert_eq!(slow, [(8, 200), (12, 401), (16, 402), (300, 0)]);
    }

    /// Any numbers in messages cost no more than the bound.
    #[test]
    fn extreme_numbers_are_bounded() {
        let mut lost = LostTime::default();
        for program in 0..1000 {
            lost.add_calls((program, u32::MAX, u64::MAX), 1, i64::MAX);
            lost.add_calls((program, 0, 0), u64::MAX, i64::MAX);
            lost.spread((program, 1), (0, u64::MAX), Nanos(i64::MAX), |modes| {
                LostCell {
                    modes,
                    ..LostCell::default()
                }
            });
        }
        assert_eq!(lost.rows().count(), MAX_ROWS);
        assert!(lost.cells().count() <= 2 * MAX_ROWS * MAX_COLUMNS as usize);
        assert_eq!(lost.missing(), 0);
    }
}
