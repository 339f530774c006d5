//! [`Peers`]: compares the run times of functions between ranks and between steps, and finds each slow rank
//! and each slow phase, with the time that they lose.

use super::own_speed::{OwnAlarms, Withdrawn};
use super::slow_ranks::FEW;
use super::slowness::{PhaseStep, SlowAlarms, SlowPhase, SlowRank, SlowStep, Slowness};
use super::spells::{Bounds, Entry, NOISE, Series, deviation, median, spells};
use super::step_times::{Step, StepTimes, cells};
use crate::{FunctionId, Judgement, Sample};
use perf_core::{Merge, Nanos};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Number of steps before the last one whose calls may still arrive.
const OPEN: u64 = 8;
/// Fewest ranks of which one can be slow.
pub(super) const RANKS: usize = 3;
/// Fewest steps outside of a slow phase.
const STEPS: usize = 3;
/// Smallest relative excess of a slow phase.
const SLOW_PHASE: f64 = 0.05;
/// Smallest distance of a slow phase from other steps, in standard errors.
const PHASE_SCORE: f64 = 6.0;
/// Largest factor between the standard deviation of steps from the others and from their neighbours.
const MOST_NOISE: f64 = 1.5;
/// Smallest time lost in a slow phase, in standard errors of the time of its calls.
const CALLS_SCORE: f64 = 2.0;
/// Standard deviation between steps in log time above which steps do different work.
const DIFFERENT_WORK: f64 = 0.4;

/// Decomposition of the time of functions by rank and step.
///
/// The mean run time of a function on a rank in a step is compared with its peers: the median of the
/// ranks in the same step, and that median in other steps.
///
/// ```text
/// log(mean of function f on rank r in step s) = typical(f) + step(f, s) + rank(r, s) + rest
/// ```
///
/// * A [slow rank](SlowRank) takes longer than the median rank, over all functions, in consecutive
///   steps. Its calls are compared with at least two other ranks.
///   More than half of the ranks that call a function must do so in a step.
/// * A [slow phase](SlowPhase) of a function is a range of consecutive steps in which its median
///   over ranks is above that of other steps.
///
/// Abnormal calls, first calls, and calls of MPI are not part of the means. Calls of MPI take longer
/// where a rank waits for a slow one. Abnormal calls that take as long as the other calls of their rank
/// are part of them: one slow rank of many is abnormal in all its calls.
///
/// The median of three or four ranks contains a slow one if two are slow. Then ranks are compared with the
/// two fastest of four, or the fastest of three, and a slow rank of four takes 10 % longer in at least
/// three steps, one of three 20 %.
///
/// The calls of a step may arrive until the eighth later step. Their [`Merge`]d sums do not depend
/// on the order. Memory is bounded for each rank and for each function: of more than 512 steps,
/// neighbours are added up.
///
/// ```
/// use perf_anomaly::lost_time::Peers;
/// use perf_anomaly::{FunctionId, Judgement, Sample};
/// use perf_core::Nanos;
/// let mut peers = Peers::default();
/// for step in 0..2 {
///     for rank in 0..8 {
///         let slow: i64 = if rank == 5 { 13 } else { 10 };
///         let call = |at: i64| Sample {
///             function: FunctionId(0),
///             runtime: Nanos(slow * (100_000 + at * 37 % 1000)),
///             first: false,
///         };
///         let calls: Vec<Sample> = (0..100).map(call).collect();
///         peers.add((0, rank), step, (&calls, &[Judgement::default(); 100]), &[], |_| true);
///     }
///     peers.end_step(step);
/// }
/// let [slow] = peers.slow_ranks()[..] else { panic!("one slow rank") };
/// assert_eq!((slow.rank, slow.first, slow.lasts), (5, 0, true));
/// assert!((slow.factor - 1.3).abs() < 0.001);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Peers {
    /// Steps whose calls may still arrive.
    pub(super) open: StepTimes,
    /// Step before which all steps are closed.
    pub(super) closed: u64,
    /// Times compared with the median rank, by program and rank.
    pub(super) ranks: BTreeMap<(u32, u32), Arc<Series>>,
    /// Median times by function.
    pub(super) functions: BTreeMap<FunctionId, Arc<FunctionTimes>>,
    /// Number of calls that arrived after their step was closed.
    pub(super) late: u64,
    /// Abnormal calls that are part of the means.
    pub(super) own_alarms: OwnAlarms,
}

/// Times of a function.
#[derive(Clone, Debug, Default)]
pub(super) struct FunctionTimes {
    /// Times by step.
    pub(super) series: Series,
    /// Ranks that called it, by program and number.
    pub(super) ranks: BTreeSet<(u32, u32)>,
}

impl Peers {
    /// Sets the number of steps that are compared as one, default 1. Use it if most functions have less
    /// than a few calls on a rank in a step.
    pub fn grouped(mut self, steps: u64) -> Self {
        self.open.set_group(steps);
        self
    }

    /// Adds calls of a rank, given by program and number, in a step. Normal calls of the functions for
    /// which `takes_part` returns `true` are compared, without those at the indices `skipped`, which
    /// are in ascending order.
    pub fn add(
        &mut self,
        rank: (u32, u32),
        step: u64,
        judged: (&[Sample], &[Judgement]),
        skipped: &[usize],
        takes_part: impl Fn(FunctionId) -> bool,
    ) {
        let step = step / self.group();
        let cells = cells(judged, skipped);
        let cells = cells
            .unordered()
            .filter(|(function, _)| takes_part(*function));
        if step < self.closed {
            self.late += cells.map(|(_, cell)| cell.calls).sum::<u64>();
            return;
        }
        let open = self.open.step(step);
        for (function, cell) in cells {
            open.entry((function, rank)).or_default().merge(cell);
        }
    }

    /// Returns the number of steps that are compared as one.
    pub(crate) fn group(&self) -> u64 {
        self.open.group()
    }

    /// Takes calls back that are part of new modes, if their steps are open.
    pub(super) fn withdraw(&mut self, calls: &[Withdrawn]) {
        for call in calls {
            let step = call.step / self.group();
            let key = (call.function, call.rank);
            let Some(open) = self.open.steps.get_mut(&step) else {
                continue;
            };
            let open = Arc::make_mut(open);
            if let Some(cell) = open.get_mut(&key) {
                cell.remove(u64::try_from(call.time.0).unwrap_or_default());
                if cell.calls == 0 {
                    open.remove(&key);
                }
            }
        }
    }

    /// Ends a step. Calls of steps that are eight steps older are closed.
    pub fn end_step(&mut self, step: u64) {
        let step = step / self.group();
        while self
            .first_open()
            .is_some_and(|first| first.saturating_add(OPEN) <= step)
        {
            self.close_first();
        }
    }

    /// Returns the number of the first group of steps whose calls may still arrive.
    pub(crate) fn first_open(&self) -> Option<u64> {
        self.open.steps.keys().next().copied()
    }

    /// Returns the number of sums of open steps.
    pub(crate) fn open_sums(&self) -> usize {
        self.open.len()
    }

    /// Closes the first open step.
    pub(crate) fn close_first(&mut self) {
        if let Some((number, cells)) = self.open.steps.pop_first() {
            self.close(number, &cells);
            self.closed = number.saturating_add(1);
        }
    }

    /// Adds sums of steps from other ranks. The first ones decide how many steps are compared as one.
    pub(crate) fn add_times(&mut self, times: &StepTimes) {
        if self.closed == 0 {
            self.open.set_group(times.group);
        }
        // The first step that is open, in the groups of the other ranks.
        let first = self.closed.saturating_mul(self.group());
        let first = first.div_ceil(times.group());
        let late = times
            .steps
            .range(..first)
            .flat_map(|(_, cells)| cells.values());
        self.late = late.fold(self.late, |sum, cell| sum.saturating_add(cell.calls));
        self.open.add_from(times, first);
    }

    /// Adds a complete step to the series of ranks and functions.
    fn close(&mut self, step: u64, cells: &Step) {
        let group = self.group();
        let first = step.saturating_mul(group);
        let last = first.saturating_add(group - 1);
        let mut ranks: BTreeMap<(u32, u32), Entry> = BTreeMap::new();
        let cells: Vec<_> = cells.iter().collect();
        for own in cells.chunk_by(|one, other| one.0.0 == other.0.0) {
            let Some(((function, _), _)) = own.first() else {
                continue;
            };
            let mut means: Vec<f64> = own.iter().map(|(_, cell)| cell.mean()).collect();
            let typical = median(&mut means).max(1.0);
            let calls: u64 = own.iter().map(|(_, cell)| cell.calls).sum();
            let variance: f64 = own.iter().map(|(_, cell)| cell.variance()).sum();
            let times = Arc::make_mut(self.functions.entry(*function).or_default());
            times.ranks.extend(own.iter().map(|((_, rank), _)| *rank));
            for ((_, rank), cell) in own {
                let lost = i64::try_from(cell.alarmed).unwrap_or(i64::MAX);
                let sum = (cell.alarms, lost);
                self.own_alarms.add(*rank, first, *function, sum);
            }
            // The median of few ranks depends on which they are.
            if 2 * own.len() <= times.ranks.len() {
                continue;
            }
            times.series.push(Entry {
                first,
                last,
                // Times are per call until they are compared with other steps.
                expected: calls as f64,
                lost: typical * calls as f64,
                variance,
                worst: None,
            });
            if own.len() < RANKS {
                continue;
            }
            // If several of few ranks are slow, the median is slow too.
            let fastest = own.iter().map(|(_, cell)| cell.mean());
            let fastest = fastest.fold(f64::INFINITY, f64::min);
            let compared = if FEW.contains(&own.len()) {
                fastest
            } else {
                typical
            };
            for ((_, rank), cell) in own {
                let expected = typical * cell.calls as f64;
                let lost = cell.time as f64 - expected;
                let entry = ranks.entry(*rank).or_default();
                (entry.first, entry.last) = (first, last);
                entry.expected += expected;
                entry.lost += lost;
                entry.variance += cell.variance();
                let excess = cell.time as f64 - compared * cell.calls as f64;
                entry.add_worst(*function, excess);
            }
        }
        for (rank, entry) in ranks {
            Arc::make_mut(self.ranks.entry(rank).or_default()).push(entry);
        }
    }

    /// Returns the series of the open steps, for results before the end of a run.
    fn of_open_steps(&self) -> Self {
        let known = |(function, times): (&FunctionId, &Arc<FunctionTimes>)| {
            let ranks = times.ranks.clone();
            let series = Series::default();
            (*function, Arc::new(FunctionTimes { series, ranks }))
        };
        let mut open = Peers {
            functions: self.functions.iter().map(known).collect(),
            ..Peers::default()
        };
        open.open.set_group(self.group());
        for (step, cells) in &self.open.steps {
            open.close(*step, cells);
        }
        open
    }

    /// Returns the slow ranks and slow phases with the time that they lost by step. The steps of a long run
    /// are added up in groups.
    pub fn slowness(&self) -> Slowness {
        let open = self.of_open_steps();
        let mut ranks = self.ranks_with_entries(&open);
        ranks.sort_by_key(|(slow, _)| std::cmp::Reverse(slow.lost));
        let mut own_alarms = self.own_alarms.clone();
        own_alarms.merge(&open.own_alarms);
        for (slow, _) in &mut ranks {
            let rank = (slow.program, slow.rank);
            let (alarms, alarmed) = own_alarms.of_rank(rank, slow.first, slow.last);
            (slow.alarms, slow.alarmed) = (alarms, Nanos(alarmed));
        }
        let own_alarms = &own_alarms;
        let rank_steps = ranks.iter().flat_map(|(slow, entries)| {
            entries.iter().map(|one| {
                let rank = (slow.program, slow.rank);
                let alarmed = own_alarms.of_rank(rank, one.first, one.last).1;
                SlowStep {
                    program: slow.program,
                    rank: slow.rank,
                    first: one.first,
                    last: one.last,
                    lost: Nanos((one.lost as i64).saturating_sub(alarmed)),
                }
            })
        });
        let rank_steps = rank_steps.filter(|step| step.lost.0 > 0).collect();
        let ranks: Vec<SlowRank> = ranks.into_iter().map(|(slow, _)| slow).collect();
        let (mut phases, mut phase_steps) = self.phases_with_steps(&open);
        let of_ranks = |function: FunctionId, first, last| {
            self.is_phase_of_ranks((function, first, last), &ranks)
        };
        phases.retain(|one| !of_ranks(one.function, one.first, one.last));
        let is_kept = |step: &PhaseStep| {
            let mut phases = phases.iter();
            phases.any(|one| {
                one.function == step.function && (one.first..=one.last).contains(&step.first)
            })
        };
        phase_steps.retain(is_kept);
        phases.sort_by_key(|slow| std::cmp::Reverse(slow.lost));
        let is_of_rank = |rank: (u32, u32), step: u64| {
            ranks.iter().any(|slow| {
                (slow.program, slow.rank) == rank && (slow.first..=slow.last).contains(&step)
            })
        };
        for one in &mut phase_steps {
            let of_step = own_alarms.by_function(|rank, step, function| {
                function == one.function
                    && (one.first..=one.last).contains(&step)
                    && !is_of_rank(rank, step)
            });
            let alarmed: i64 = of_step.values().map(|sum| sum.1).sum();
            one.lost.0 = one.lost.0.saturating_sub(alarmed);
        }
        phase_steps.retain(|step| step.lost.0 > 0);
        let alarms = own_alarms.by_function(|rank, step, function| {
            let is_of_phase = |slow: &SlowPhase| {
                slow.function == function && (slow.first..=slow.last).contains(&step)
            };
            is_of_rank(rank, step) || phases.iter().any(is_of_phase)
        });
        let alarms = alarms.into_iter();
        Slowness {
            alarms: alarms
                .map(|(function, (calls, lost))| SlowAlarms {
                    function,
                    calls,
                    lost: Nanos(lost),
                })
                .collect(),
            rank_steps,
            ranks,
            phases,
            phase_steps,
        }
    }

    /// Returns the slow ranks, the one with the most time lost first.
    pub fn slow_ranks(&self) -> Vec<SlowRank> {
        self.slowness().ranks
    }

    /// Returns the time that slow ranks lost by step. The steps of a long run are added up in groups.
    pub fn slow_steps(&self) -> Vec<SlowStep> {
        self.slowness().rank_steps
    }

    /// Returns the slow phases, the one with the most time lost first.
    pub fn slow_phases(&self) -> Vec<SlowPhase> {
        self.slowness().phases
    }

    /// Returns `true` for a phase of a function that few ranks call, if it begins when one of several slow
    /// ranks does. Their median rises with them.
    fn is_phase_of_ranks(
        &self,
        (function, first, last): (FunctionId, u64, u64),
        slow: &[SlowRank],
    ) -> bool {
        let Some(times) = self.functions.get(&function) else {
            return false;
        };
        if !FEW.contains(&times.ranks.len()) {
            return false;
        }
        let (near, of_run) = (self.group(), times.series.entries().first());
        let begin = of_run.map_or(0, |entry| entry.first);
        let slow = slow.iter().filter(|one| {
            let overlaps = one.first <= last && first <= one.last;
            overlaps && times.ranks.contains(&(one.program, one.rank))
        });
        let slow: Vec<u64> = slow.map(|one| one.first).collect();
        let begins = |start: &u64| *start > begin && start.abs_diff(first) <= near;
        slow.len() > 1 && slow.iter().any(begins)
    }

    /// Excludes a function from the slow phases because it does different work in other steps.
    pub(crate) fn ignore_phases(&mut self, function: FunctionId) {
        self.open.without_phases.insert(function);
    }

    /// Returns the slow phases and the time that they lost by step.
    fn phases_with_steps(&self, open: &Self) -> (Vec<SlowPhase>, Vec<PhaseStep>) {
        let keys = self.functions.keys().chain(open.functions.keys());
        let keys: BTreeSet<FunctionId> = keys.copied().collect();
        let mut found = (Vec::new(), Vec::new());
        for function in keys.difference(&self.open.without_phases).copied() {
            let entries = entries(&self.functions, &open.functions, &function, |one| {
                &one.series
            });
            let calling = [&self.functions, &open.functions]
                .into_iter()
                .filter_map(|all| all.get(&function))
                .map(|times| times.ranks.len());
            let ranks = calling.max().unwrap_or_default();
            phases(function, ranks, &entries, &mut found);
        }
        found
    }

    /// Returns the number of calls that arrived more than eight steps late, and were not compared.
    pub fn late(&self) -> u64 {
        self.late
    }
}

/// Returns the entries of a series of closed steps, and then those of open steps.
pub(super) fn entries<K: Ord, T>(
    closed: &BTreeMap<K, T>,
    open: &BTreeMap<K, T>,
    key: &K,
    series: impl Fn(&T) -> &Series,
) -> Vec<Entry> {
    let both = [closed.get(key), open.get(key)].into_iter().flatten();
    both.flat_map(|one| series(one).entries())
        .copied()
        .collect()
}

/// Returns `true` if the time lost in a phase is that of a few long calls, as when each rank makes its one
/// long call in the same step. Ranks make such calls together. Their deviations therefore add up, and
/// not their variances. Calls of a step vary at least as those of other steps do, so that few calls of other
/// work in each step are no phase.
fn is_of_few_calls(part: &[Entry], lost: f64, (ranks, relative): (usize, f64)) -> bool {
    let variance = part.iter().map(|entry| {
        let of_others = relative * entry.lost * entry.lost / entry.expected.max(1.0);
        entry.variance.max(of_others)
    });
    lost < CALLS_SCORE * (ranks as f64 * variance.sum::<f64>()).sqrt()
}

/// Returns the mean squared coefficient of variation of the calls of a step, of which some ranks make one
/// each.
fn relative_variance(entries: &[Entry], ranks: usize) -> f64 {
    let (mut sum, mut weights) = (0.0, 0.0);
    for entry in entries {
        let weight = (entry.expected - ranks as f64).max(0.0);
        sum += weight * entry.variance * entry.expected / (entry.lost * entry.lost).max(1.0);
        weights += weight;
    }
    sum / f64::max(weights, 1.0)
}

/// Returns the standard deviation of several groups of values around the mean of their group.
fn within(groups: &[&[f64]]) -> f64 {
    let squares = groups.iter().map(|group| {
        let mean = group.iter().sum::<f64>() / group.len().max(1) as f64;
        group.iter().map(|one| (one - mean).powi(2)).sum::<f64>()
    });
    let values: usize = groups.iter().map(|group| group.len()).sum();
    let free = values.saturating_sub(groups.len()).max(1);
    (squares.sum::<f64>() / free as f64).sqrt()
}

/// Adds the slow phases of a function that some ranks call. Entries hold the number of calls as the
/// expected time, and the time of the median rank as the lost one.
fn phases(
    function: FunctionId,
    ranks: usize,
    entries: &[Entry],
    (found, found_steps): &mut (Vec<SlowPhase>, Vec<PhaseStep>),
) {
    if entries.len() < STEPS + 1 {
        return;
    }
    let mean = |entry: &Entry| entry.lost / entry.expected;
    let logs: Vec<f64> = entries.iter().map(|entry| mean(entry).ln()).collect();
    let steps = logs.windows(2).map(|pair| pair[1] - pair[0]);
    let between = deviation(steps) / std::f64::consts::SQRT_2;
    let mut errors: Vec<f64> = entries
        .iter()
        .map(|entry| entry.variance.sqrt() / entry.lost.max(1.0))
        .collect();
    // The error of a median is a quarter larger than that of a mean.
    let noise = between.max(1.25 * median(&mut errors)).max(NOISE);
    if noise > DIFFERENT_WORK {
        return;
    }
    let mut sorted = logs.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    // Without entries there are no phases.
    let low = sorted.get(sorted.len() / 4).copied().unwrap_or_default();
    let compared = |usual: f64| -> Vec<Entry> {
        let typical = usual.exp();
        let of = |entry: &Entry| Entry {
            expected: typical * entry.expected,
            lost: entry.lost - typical * entry.expected,
            variance: 0.0,
            ..*entry
        };
        entries.iter().map(of).collect()
    };
    let bounds = Bounds {
        least: SLOW_PHASE.ln_1p(),
        score: PHASE_SCORE,
        noise,
        spread: 0.0,
    };
    let slow = spells(&compared(low), &bounds);
    let is_slow = |at: usize| slow.iter().any(|one| (one.from..one.until).contains(&at));
    let rest = logs.iter().enumerate().filter(|(at, _)| !is_slow(*at));
    let mut rest: Vec<f64> = rest.map(|(_, log)| *log).collect();
    if rest.len() < STEPS {
        return;
    }
    let outside = rest.len() as f64;
    let excess = compared(median(&mut rest));
    let calls_variance = relative_variance(entries, ranks);
    for spell in slow {
        let part = &excess[spell.from..spell.until];
        let expected: f64 = part.iter().map(|one| one.expected).sum();
        let lost: f64 = part.iter().map(|one| one.lost).sum();
        let log = (lost / expected).ln_1p();
        // Few steps may differ less from their neighbours than from the others by chance.
        let inside = &logs[spell.from..spell.until];
        let noise = noise.max(within(&[inside, &rest]).min(MOST_NOISE * noise));
        let error = noise * (1.0 / part.len() as f64 + 1.0 / outside).sqrt();
        let calls = &entries[spell.from..spell.until];
        if log >= bounds.least
            && log / error >= bounds.score
            && !is_of_few_calls(calls, lost, (ranks, calls_variance))
        {
            // Steps of a phase may be faster than other steps.
            let positive: f64 = part.iter().map(|one| one.lost.max(0.0)).sum();
            let share = lost / positive.max(1.0);
            found_steps.extend(part.iter().map(|one| PhaseStep {
                function,
                first: one.first,
                last: one.last,
                lost: Nanos((one.lost * share) as i64),
            }));
            found.push(SlowPhase {
                function,
                first: spell.sum.first,
                last: spell.sum.last,
                lasts: spell.lasts,
                factor: log.exp(),
                lost: Nanos(lost as i64),
                score: log / error,
            });
        }
    }
}

/// Adds the calls of open steps. Steps that are closed in one of the two cannot be compared with the
/// ranks of the other.
impl Merge for Peers {
    fn merge(&mut self, other: &Self) {
        self.late = self.late.saturating_add(other.late);
        self.add_times(&other.open);
    }
}
