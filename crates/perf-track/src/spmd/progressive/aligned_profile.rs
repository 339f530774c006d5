//! [`Profile`]: group of aligned sequences; [`merge`]: alignment of two such groups; [`Sweep`]:
//! table of an alignment with affine gaps.

use super::{GAP, Worth};
use crate::Result;
use perf_core::Job;

/// Sequences in columns.
#[derive(Debug)]
pub(super) struct Profile {
    /// Column of each symbol of each sequence.
    pub(super) members: Vec<(usize, Vec<u32>)>,
    /// Symbols of each column in ascending order, each with the number of threads that have it in the
    /// column.
    pub(super) columns: Vec<Vec<(u32, u64)>>,
    /// Total number of threads.
    threads: u64,
}

impl Profile {
    /// Creates the profile of sequence number `at`, which `threads` threads have.
    pub(super) fn of(at: usize, sequence: &[u32], threads: u64) -> Self {
        Profile {
            members: vec![(at, (0..sequence.len() as u32).collect())],
            columns: sequence.iter().map(|&one| vec![(one, threads)]).collect(),
            threads,
        }
    }

    /// Returns the cost of skipping each column, in proportion to the threads in the column.
    fn gaps(&self) -> Vec<f64> {
        let share = |column: &Vec<(u32, u64)>| {
            let there: u64 = column.iter().map(|(_, count)| count).sum();
            GAP * there as f64 / self.threads.max(1) as f64
        };
        self.columns.iter().map(share).collect()
    }
}

/// Table of an alignment with affine gaps, computed row by row (Gotoh 1982). Each cell has three
/// values: 0 for a pair of the two columns, 1 for the row alone, 2 for the column alone. Gaps at
/// the ends have a separate cost.
#[derive(Debug)]
pub(super) struct Sweep<'a> {
    /// Cost of skipping each column.
    gaps: &'a [f64],
    /// Cost of a gap at an end.
    end: f64,
    /// Current row.
    rows: Row,
    /// Next row.
    next: Row,
}

type Row = [Vec<f64>; 3];

/// Returns the maximum of three values and its index, the first in a tie.
#[inline(always)]
fn best(values: [f64; 3]) -> (f64, usize) {
    let mut best = (values[0], 0);
    for (index, value) in [(1, values[1]), (2, values[2])] {
        if value > best.0 {
            best = (value, index);
        }
    }
    best
}

impl<'a> Sweep<'a> {
    /// Starts a table. `gaps` is the cost of skipping each column, and `end` the cost of each gap at an
    /// end.
    pub(super) fn new(gaps: &'a [f64], end: f64) -> Self {
        let none = vec![f64::NEG_INFINITY; gaps.len() + 1];
        let mut rows = [none.clone(), none.clone(), none];
        for (column, value) in rows[2].iter_mut().enumerate().skip(1) {
            *value = -end * column as f64;
        }
        rows[0][0] = 0.0;
        Self::behind(rows, gaps, end)
    }

    /// Continues a table after a stored row.
    fn behind(rows: Row, gaps: &'a [f64], end: f64) -> Self {
        Sweep {
            gaps,
            end,
            next: rows.clone(),
            rows,
        }
    }

    /// Computes the next row from the worth of its pairs with the columns (`scores`) and the cost of
    /// skipping the row (`gap`). `note` receives each column, from 0, and the origins of its three
    /// values.
    #[inline]
    pub(super) fn row(
        &mut self,
        scores: &[f64],
        gap: f64,
        is_last: bool,
        mut note: impl FnMut(usize, [usize; 3]),
    ) {
        let [pair, alone, other] = &mut self.next;
        let before = |column: usize| {
            let [a, b, c] = &self.rows;
            [a[column], b[column], c[column]]
        };
        let (value, from) = best(before(0));
        (pair[0], alone[0], other[0]) = (f64::NEG_INFINITY, value - self.end, f64::NEG_INFINITY);
        note(0, [0, from, 0]);
        let width = self.gaps.len();
        for column in 1..=width {
            let (value, from_pair) = best(before(column - 1));
            pair[column] = value + scores[column - 1];
            let cost = if column == width { self.end } else { gap };
            let (value, from_alone) = best(before(column));
            alone[column] = value - cost;
            let cost = if is_last {
                self.end
            } else {
                self.gaps[column - 1]
            };
            let left = [pair[column - 1], alone[column - 1], other[column - 1]];
            let (value, from_other) = best(left);
            other[column] = value - cost;
            note(column, [from_pair, from_alone, from_other]);
        }
        std::mem::swap(&mut self.rows, &mut self.next);
    }

    /// Returns the index of the best of the three values at the end.
    pub(super) fn best(&self) -> usize {
        let last = self.gaps.len();
        let [a, b, c] = &self.rows;
        best([a[last], b[last], c[last]]).1
    }
}

/// Merges two profiles. The directions of a block of rows take about `memory` bytes. The rows of each
/// block are recomputed from the stored row before it.
pub(super) fn merge(
    a: Profile,
    b: Profile,
    worth: &Worth,
    memory: usize,
    job: &Job,
) -> Result<Profile> {
    job.check()?;
    let (rows, gaps) = (a.gaps(), b.gaps());
    let width = b.columns.len() + 1;
    // A block has as many rows as fit, but so many that the stored rows do not take more memory.
    let even = (8.0 * rows.len() as f64).sqrt() as usize;
    let block = (memory / (3 * width)).max(even);
    let block = block.clamp(1, rows.len().max(1));
    let pairs = 1.0 / (a.threads.max(1) as f64 * b.threads.max(1) as f64);
    let mut with = vec![0.0; worth.symbols()];
    let mut scores = vec![0.0; b.columns.len()];
    // The entries of all columns of `b` are visited for each row, as are the cells of the row.
    let entries: usize = b.columns.iter().map(Vec::len).sum();
    let work = |row: usize| width + entries + a.columns[row].len() * worth.symbols();
    let mut checks = job.checks();
    let mut step = |sweep: &mut Sweep<'_>, row: usize, note: &mut dyn FnMut(usize, [usize; 3])| {
        for (symbol, value) in with.iter_mut().enumerate() {
            let column = a.columns[row].iter();
            *value = column
                .map(|&(own, count)| count as f64 * worth.pair(own as usize, symbol))
                .sum();
        }
        for (score, column) in scores.iter_mut().zip(&b.columns) {
            let column = column.iter();
            let sum: f64 = column
                .map(|&(symbol, count)| count as f64 * with[symbol as usize])
                .sum();
            *score = sum * pairs;
        }
        sweep.row(&scores, rows[row], row + 1 == rows.len(), note);
    };
    let mut sweep = Sweep::new(&gaps, worth.end);
    let mut kept = Vec::with_capacity(rows.len() / block + 1);
    for row in 0..rows.len() {
        checks.next(work(row))?;
        if row.is_multiple_of(block) {
            kept.push(sweep.rows.clone());
        }
        step(&mut sweep, row, &mut |_, _| {});
    }
    let (mut state, mut column) = (sweep.best(), width - 1);
    let mut path = Vec::with_capacity(rows.len() + width);
    let mut directions: Vec<[u8; 3]> = Vec::new();
    for (number, before) in kept.into_iter().enumerate().rev() {
        let mut sweep = Sweep::behind(before, &gaps, worth.end);
        let start = number * block;
        let end = (start + block).min(rows.len());
        directions.clear();
        directions.resize((end - start) * width, [0; 3]);
        for row in start..end {
            checks.next(work(row))?;
            let base = (row - start) * width;
            step(&mut sweep, row, &mut |column, from| {
                directions[base + column] = from.map(|from| from as u8);
            });
        }
        let mut row = end;
        while row > start {
            let from = directions[(row - 1 - start) * width + column];
            path.push(state);
            (row, column) = match state {
                0 => (row - 1, column - 1),
                1 => (row - 1, column),
                _ => (row, column - 1),
            };
            state = usize::from(from[state]);
        }
    }
    path.extend(std::iter::repeat_n(2, column));
    path.reverse();
    Ok(joined(a, b, &path))
}

/// Joins the columns of both profiles in the order of a path.
fn joined(a: Profile, b: Profile, path: &[usize]) -> Profile {
    let mut columns = Vec::with_capacity(path.len());
    let (mut of_a, mut of_b) = (Vec::new(), Vec::new());
    let (mut left, mut right) = (a.columns.into_iter(), b.columns.into_iter());
    for (place, &step) in (0_u32..).zip(path) {
        let mut column = Vec::new();
        if step != 2 {
            column = left.next().unwrap_or_default();
            of_a.push(place);
        }
        if step != 1 {
            of_b.push(place);
            for (symbol, count) in right.next().unwrap_or_default() {
                match column.binary_search_by_key(&symbol, |(known, _)| *known) {
                    Ok(at) => column[at].1 += count,
                    Err(at) => column.insert(at, (symbol, count)),
                }
            }
        }
        columns.push(column);
    }
    let mut members = Vec::with_capacity(a.members.len() + b.members.len());
    for (all, new) in [(a.members, of_a), (b.members, of_b)] {
        for (member, mut places) in all {
            for place in &mut places {
                *place = new[*place as usize];
            }
            members.push((member, places));
        }
    }
    Profile {
        members,
        columns,
        threads: a.threads + b.threads,
    }
}
