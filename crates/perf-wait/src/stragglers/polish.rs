//! [`decompose`]: median polish of the times of each function by rank and step, and selection of
//! the stragglers above the noise.

use super::row::{Cell, Row};
use super::sums::PeerSums;
use super::{Effect, FunctionKey, FunctionTimes, Straggler, StragglerKind, Stragglers};
use crate::{Error, Result};
use perf_core::{Job, Nanos, parallel};
use std::collections::BTreeSet;

/// Turns of a polish. Most tables do not change any more after three.
const TURNS: usize = 10;

/// Median of absolute values of a normal distribution to its standard deviation.
const MEDIAN_TO_DEVIATION: f64 = 1.4826;

/// Standard deviation of the logarithms of the steps of a function above which they do different work.
const MAX_SPREAD: f64 = 0.4;

/// Standard error of a median relative to that of a mean.
const MEDIAN_ERROR: f64 = 1.2533;

/// Times of one function as a table of ranks and steps.
struct PeerTable<'a> {
    /// Cells of each rank, by row.
    rows: Vec<(u32, &'a Row)>,
    steps: Vec<u64>,
    /// Column of each cell, row after row.
    columns: Vec<u32>,
    /// Logarithm that is left of each cell.
    rests: Vec<f64>,
    /// Start of the cells of each column in the order of columns, and the end.
    starts: Vec<u32>,
    typical: f64,
    rank_effects: Vec<f64>,
    step_effects: Vec<f64>,
}

/// Decomposes the times of all functions.
pub(super) fn decompose(sums: &PeerSums, job: &Job) -> Result<Stragglers> {
    let mut functions: Vec<FunctionKey> = sums.rows.keys().map(|key| key.0).collect();
    functions.dedup();
    let parts = parallel::try_map(functions.len(), |number| {
        job.check()?;
        let (function, mut found) = (functions[number], Stragglers::default());
        let own = sums.rows.range((function, 0)..=(function, u32::MAX));
        let own = own.map(|((_, rank), row)| (*rank, row));
        if let Some(mut table) = PeerTable::new(own.collect())? {
            table.polish(job)?;
            table.report(function, sums, &mut found);
        }
        Ok::<_, crate::Error>(found)
    })?;
    let mut found = Stragglers::default();
    for part in parts {
        found.functions.extend(part.functions);
        found.stragglers.extend(part.stragglers);
    }
    found
        .stragglers
        .sort_by_key(|it| std::cmp::Reverse(it.lost));
    Ok(found)
}

fn median(values: &mut [f64]) -> f64 {
    let (half, is_odd) = (values.len() / 2, values.len() % 2 == 1);
    if values.is_empty() {
        return 0.0;
    }
    let (low, middle, _) = values.select_nth_unstable_by(half, f64::total_cmp);
    if is_odd {
        *middle
    } else {
        let below = low.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (below + *middle) / 2.0
    }
}

impl<'a> PeerTable<'a> {
    /// Returns `None` if the function has no peers: fewer than three ranks or calls of one step alone on two.
    fn new(rows: Vec<(u32, &'a Row)>) -> Result<Option<Self>> {
        let cells: usize = rows.iter().map(|it| it.1.len()).sum();
        if u32::try_from(cells).is_err() {
            return Err(Error::TooMany {
                what: "calls of a function",
                limit: u64::from(u32::MAX),
            });
        }
        // Most ranks have the same steps.
        let longest = rows.iter().map(|it| it.1).max_by_key(|row| row.len());
        let longest = longest.into_iter().flat_map(Row::iter);
        let mut steps: Vec<u64> = longest.map(|it| it.0).collect();
        let all = rows.iter().flat_map(|it| it.1.iter()).map(|it| it.0);
        let others = all.filter(|step| steps.binary_search(step).is_err());
        let others: BTreeSet<u64> = others.collect();
        steps.extend(others);
        steps.sort_unstable();
        if rows.len() < 2 || (rows.len() == 2 && steps.len() < 2) {
            return Ok(None);
        }
        let mut columns = Vec::with_capacity(cells);
        let mut rests = Vec::with_capacity(cells);
        let mut starts = vec![0; steps.len() + 1];
        for (_, row) in &rows {
            let mut column = 0;
            for (step, cell) in row.iter() {
                // Both are in ascending order, and each step of the row is among the steps.
                while steps.get(column).is_some_and(|it| *it < step) {
                    column += 1;
                }
                columns.push(column as u32);
                rests.push((cell.time.max(1) as f64).ln());
                starts[column + 1] += 1;
            }
        }
        for column in 0..steps.len() {
            starts[column + 1] += starts[column];
        }
        Ok(Some(PeerTable {
            typical: 0.0,
            rank_effects: vec![0.0; rows.len()],
            step_effects: vec![0.0; steps.len()],
            rows,
            steps,
            columns,
            rests,
            starts,
        }))
    }

    /// Returns the row, column, time and rest of each cell.
    fn cells(&self) -> impl Iterator<Item = (usize, usize, Cell, f64)> + '_ {
        let rows = self.rows.iter().enumerate();
        let cells = rows.flat_map(|(number, (_, row))| row.iter().map(move |it| (number, it.1)));
        let places = self.columns.iter().zip(&self.rests);
        let all = cells.zip(places);
        all.map(|((row, cell), (column, rest))| (row, *column as usize, cell, *rest))
    }

    /// Takes medians of rows and columns out in turns.
    fn polish(&mut self, job: &Job) -> Result<()> {
        let mut scratch = Vec::new();
        for _ in 0..TURNS {
            job.check()?;
            let of_ranks = self.take_out_ranks(&mut scratch);
            let of_steps = self.take_out_steps(&mut scratch);
            for effects in [&mut self.rank_effects, &mut self.step_effects] {
                let middle = median(&mut effects.clone());
                self.typical += middle;
                effects.iter_mut().for_each(|effect| *effect -= middle);
            }
            if of_ranks.max(of_steps) < 1e-9 {
                break;
            }
        }
        Ok(())
    }

    /// Takes the median of each row out, and returns the largest of them.
    fn take_out_ranks(&mut self, scratch: &mut Vec<f64>) -> f64 {
        let (mut start, mut largest) = (0, 0.0);
        for ((_, row), effect) in self.rows.iter().zip(&mut self.rank_effects) {
            let own = &mut self.rests[start..start + row.len()];
            start += row.len();
            scratch.clear();
            scratch.extend_from_slice(own);
            let median = median(scratch);
            own.iter_mut().for_each(|rest| *rest -= median);
            *effect += median;
            largest = f64::max(largest, median.abs());
        }
        largest
    }

    /// Takes the median of each column out, and returns the largest of them.
    fn take_out_steps(&mut self, scratch: &mut Vec<f64>) -> f64 {
        let mut next = self.starts.clone();
        scratch.resize(self.rests.len(), 0.0);
        for (column, rest) in self.columns.iter().zip(&self.rests) {
            let slot = &mut next[*column as usize];
            scratch[*slot as usize] = *rest;
            *slot += 1;
        }
        let columns = self.starts.windows(2);
        let medians: Vec<f64> = columns
            .map(|range| median(&mut scratch[range[0] as usize..range[1] as usize]))
            .collect();
        for (rest, column) in self.rests.iter_mut().zip(&self.columns) {
            *rest -= medians[*column as usize];
        }
        for (effect, median) in self.step_effects.iter_mut().zip(&medians) {
            *effect += median;
        }
        medians.into_iter().map(f64::abs).fold(0.0, f64::max)
    }

    /// Adds the effects of the function and its stragglers.
    fn report(&self, function: FunctionKey, sums: &PeerSums, found: &mut Stragglers) {
        // Each row and column has a median of exactly 0, which says nothing about the noise.
        let rests = self.rests.iter().map(|rest| rest.abs());
        let rests = rests.filter(|rest| *rest > 1e-12);
        let mut rests: Vec<f64> = rests.collect();
        // Effects that were taken out have made the rests smaller.
        let (count, effects) = (self.rests.len(), self.rows.len() + self.steps.len() - 1);
        let free = count.saturating_sub(effects).max(1) as f64;
        // Times are whole nanoseconds: a rest below one of them is no noise.
        let resolution = (-self.typical).exp();
        let noise = median(&mut rests) * MEDIAN_TO_DEVIATION * (count as f64 / free).sqrt();
        let noise = noise.max(resolution);
        let lost = |time: u64, log: f64| {
            if log > 0.0 {
                Nanos((time as f64 * (1.0 - (-log).exp())) as i64)
            } else {
                Nanos(0)
            }
        };
        let error = |count: usize| MEDIAN_ERROR * noise / (count.max(1) as f64).sqrt();
        let mut of_ranks = vec![(0_u64, 0); self.rows.len()];
        let mut of_steps = vec![(0_u64, 0); self.steps.len()];
        for (row, column, cell, _) in self.cells() {
            for (time, count) in [&mut of_ranks[row], &mut of_steps[column]] {
                *time = time.saturating_add(cell.time);
                *count += 1;
            }
        }
        let effect = |key: u64, log: f64, (time, count): (u64, usize)| Effect {
            key,
            log,
            error: error(count),
            lost: lost(time, log),
        };
        let ranks = self.rows.iter().zip(&self.rank_effects).zip(&of_ranks);
        let ranks: Vec<Effect> = ranks
            .map(|(((rank, _), log), sum)| effect(u64::from(*rank), *log, *sum))
            .collect();
        let steps = self.steps.iter().zip(&self.step_effects).zip(&of_steps);
        let steps: Vec<Effect> = steps
            .map(|((step, log), sum)| effect(*step, *log, *sum))
            .collect();
        let is_straggler =
            |log: f64, error: f64| log >= sums.min_factor.ln() && log / error >= sums.min_score;
        let straggler = |kind, rank, step, it: Effect| Straggler {
            kind,
            function,
            rank,
            step,
            factor: it.log.exp(),
            score: it.log / it.error,
            lost: it.lost,
        };
        for it in ranks.iter().filter(|it| is_straggler(it.log, it.error)) {
            let rank = u32::try_from(it.key).ok();
            found
                .stragglers
                .push(straggler(StragglerKind::Rank, rank, None, *it));
        }
        // Calls of one function that do different work differ from step to step without being slow.
        let mut spread: Vec<f64> = self.step_effects.iter().map(|log| log.abs()).collect();
        let spread = median(&mut spread) * MEDIAN_TO_DEVIATION;
        let is_alike = spread <= MAX_SPREAD;
        // A step of few ranks says nothing about the others.
        let ranks_count = self.rows.len();
        let is_shared = |count: usize| ranks_count > 2 && 2 * count > ranks_count;
        let shared = steps.iter().zip(&of_steps).filter(|it| is_shared(it.1.1));
        for it in shared
            .map(|it| it.0)
            .filter(|it| is_alike && is_straggler(it.log, it.error.max(spread)))
        {
            found
                .stragglers
                .push(straggler(StragglerKind::Step, None, Some(it.key), *it));
        }
        for (row, column, cell, rest) in self.cells() {
            if is_straggler(rest, noise) {
                let (rank, step) = (self.rows[row].0, self.steps[column]);
                let it = Effect {
                    key: step,
                    log: rest,
                    error: noise,
                    lost: lost(cell.time, rest),
                };
                found
                    .stragglers
                    .push(straggler(StragglerKind::Call, Some(rank), Some(step), it));
            }
        }
        found.functions.push(FunctionTimes {
            function,
            calls: self.cells().map(|it| it.2.calls).sum(),
            typical: Nanos(self.typical.exp() as i64),
            noise,
            ranks,
            steps,
        });
    }
}
