//! Median polish of the times of functions.

use super::sums::{Cell, PeerSums};
use super::{Effect, FunctionKey, FunctionTimes, Straggler, StragglerKind, Stragglers};
use crate::Result;
use perf_core::{Job, Nanos, parallel};
use std::collections::BTreeMap;

/// Turns of a polish. Most tables do not change any more after three.
const TURNS: usize = 10;

/// Median of absolute values of a normal distribution to its standard deviation.
const MEDIAN_TO_DEVIATION: f64 = 1.4826;

/// Standard deviation of the logarithms of the steps of a function above which they do different work.
const MAX_SPREAD: f64 = 0.4;

/// Standard error of a median relative to that of a mean.
const MEDIAN_ERROR: f64 = 1.2533;

/// Times of one function as a table of ranks and steps.
struct PeerTable {
    ranks: Vec<u32>,
    steps: Vec<u64>,
    /// Row, column, time and the logarithm that is left.
    cells: Vec<(u32, u32, Cell, f64)>,
    typical: f64,
    rank_effects: Vec<f64>,
    step_effects: Vec<f64>,
}

/// Decomposes the times of all functions.
pub(super) fn decompose(sums: &PeerSums, job: &Job) -> Result<Stragglers> {
    let mut functions: Vec<FunctionKey> = sums.cells.keys().map(|key| key.0).collect();
    functions.dedup();
    let parts = parallel::try_map(functions.len(), |number| {
        job.check()?;
        let (function, mut found) = (functions[number], Stragglers::default());
        let own = sums
            .cells
            .range((function, 0, 0)..=(function, u32::MAX, u64::MAX));
        let own = own.map(|((_, rank, step), cell)| (*rank, *step, *cell));
        if let Some(mut table) = PeerTable::new(&own.collect::<Vec<_>>()) {
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

impl PeerTable {
    /// Returns `None` if the function has no peers: fewer than three ranks or calls of one step alone on two.
    fn new(cells: &[(u32, u64, Cell)]) -> Option<Self> {
        let mut ranks: BTreeMap<u32, u32> = BTreeMap::new();
        let mut steps: BTreeMap<u64, u32> = BTreeMap::new();
        for (rank, step, _) in cells {
            ranks.entry(*rank).or_default();
            steps.entry(*step).or_default();
        }
        if ranks.len() < 2 || (ranks.len() == 2 && steps.len() < 2) {
            return None;
        }
        for (row, place) in ranks.values_mut().zip(0..) {
            *row = place;
        }
        for (column, place) in steps.values_mut().zip(0..) {
            *column = place;
        }
        let place = |(rank, step, cell): &(u32, u64, Cell)| {
            let log = (cell.time.max(1) as f64).ln();
            Some((*ranks.get(rank)?, *steps.get(step)?, *cell, log))
        };
        Some(PeerTable {
            cells: cells.iter().filter_map(place).collect(),
            typical: 0.0,
            rank_effects: vec![0.0; ranks.len()],
            step_effects: vec![0.0; steps.len()],
            ranks: ranks.into_keys().collect(),
            steps: steps.into_keys().collect(),
        })
    }

    /// Takes medians of rows and columns out in turns.
    fn polish(&mut self, job: &Job) -> Result<()> {
        let mut scratch = Vec::new();
        for _ in 0..TURNS {
            job.check()?;
            let of_ranks = self.take_out(true, &mut scratch);
            let of_steps = self.take_out(false, &mut scratch);
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

    /// Takes the median of each row or column out, and returns the largest of them.
    fn take_out(&mut self, is_rank: bool, scratch: &mut Vec<f64>) -> f64 {
        let count = if is_rank {
            self.ranks.len()
        } else {
            self.steps.len()
        };
        let place = |cell: &(u32, u32, Cell, f64)| if is_rank { cell.0 } else { cell.1 } as usize;
        let mut starts = vec![0; count + 1];
        for cell in &self.cells {
            starts[place(cell) + 1] += 1;
        }
        for at in 0..count {
            starts[at + 1] += starts[at];
        }
        let mut next = starts.clone();
        scratch.resize(self.cells.len(), 0.0);
        for cell in &self.cells {
            let slot = &mut next[place(cell)];
            scratch[*slot] = cell.3;
            *slot += 1;
        }
        let lists = starts.windows(2);
        let medians: Vec<f64> = lists
            .map(|range| median(&mut scratch[range[0]..range[1]]))
            .collect();
        for (row, column, _, rest) in &mut self.cells {
            *rest -= medians[if is_rank { *row } else { *column } as usize];
        }
        let effects = if is_rank {
            &mut self.rank_effects
        } else {
            &mut self.step_effects
        };
        for (effect, median) in effects.iter_mut().zip(&medians) {
            *effect += median;
        }
        medians.into_iter().map(f64::abs).fold(0.0, f64::max)
    }

    /// Adds the effects of the function and its stragglers.
    fn report(&self, function: FunctionKey, sums: &PeerSums, found: &mut Stragglers) {
        // Each row and column has a median of exactly 0, which says nothing about the noise.
        let rests = self
            .cells
            .iter()
            .map(|it| it.3.abs())
            .filter(|rest| *rest > 1e-12);
        let mut rests: Vec<f64> = rests.collect();
        // Effects that were taken out have made the rests smaller.
        let (count, effects) = (self.cells.len(), self.ranks.len() + self.steps.len() - 1);
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
        let mut of_ranks = vec![(0_u64, 0); self.ranks.len()];
        let mut of_steps = vec![(0_u64, 0); self.steps.len()];
        for (row, column, cell, _) in &self.cells {
            for (time, count) in [
                &mut of_ranks[*row as usize],
                &mut of_steps[*column as usize],
            ] {
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
        let ranks = self.ranks.iter().zip(&self.rank_effects).zip(&of_ranks);
        let ranks: Vec<Effect> = ranks
            .map(|((rank, log), sum)| effect(u64::from(*rank), *log, *sum))
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
        let is_shared = |count: usize| self.ranks.len() > 2 && 2 * count > self.ranks.len();
        let shared = steps.iter().zip(&of_steps).filter(|it| is_shared(it.1.1));
        for it in shared
            .map(|it| it.0)
            .filter(|it| is_alike && is_straggler(it.log, it.error.max(spread)))
        {
            found
                .stragglers
                .push(straggler(StragglerKind::Step, None, Some(it.key), *it));
        }
        for (row, column, cell, rest) in &self.cells {
            if is_straggler(*rest, noise) {
                let (rank, step) = (self.ranks[*row as usize], self.steps[*column as usize]);
                let it = Effect {
                    key: step,
                    log: *rest,
                    error: noise,
                    lost: lost(cell.time, *rest),
                };
                found
                    .stragglers
                    .push(straggler(StragglerKind::Call, Some(rank), Some(step), it));
            }
        }
        found.functions.push(FunctionTimes {
            function,
            calls: self.cells.iter().map(|it| it.2.calls).sum(),
            typical: Nanos(self.typical.exp() as i64),
            noise,
            ranks,
            steps,
        });
    }
}
