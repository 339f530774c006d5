//! Slow ranks and slow phases of [`Peers`], with the time that they lost.

use super::entries::Entries;
use super::rank_mix::Levels;
use super::slow_phases::phases;
use super::slow_ranks::{FEW, SlowEntries, with_entries};
use super::spells::{Entry, OfFunction, deviation, median};
use super::{CALLS_OF_PAIR, Peers};
use crate::FunctionId;
use crate::lost_time::own_speed::OwnAlarms;
use crate::lost_time::slowness::{PhaseStep, SlowAlarms, SlowPhase, SlowRank, SlowStep, Slowness};
use crate::lost_time::step_times::Step;
use perf_core::Nanos;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Adds the time of a function.
fn add(sums: &mut BTreeMap<FunctionId, OfFunction>, one: OfFunction) {
    let sum = sums.entry(one.function).or_insert(OfFunction {
        expected: 0.0,
        lost: 0.0,
        ..one
    });
    sum.expected += one.expected;
    sum.lost += one.lost;
}

/// Smallest change of the median rank in a slow phase, in standard errors of the changes of the ranks.
const SHARED: f64 = 4.0;

impl Peers {
    /// Returns the sums of the open blocks of a slow rank.
    fn open_steps(&self, slow: &SlowRank) -> impl Iterator<Item = (&u64, &Arc<Step>)> {
        // A message may contain steps in any order.
        let last = slow.last.max(slow.first);
        self.open
            .steps
            .range(slow.first / self.group()..=last / self.group())
    }

    /// Returns the factors by which the functions of a rank take longer than on its peers before and after it is slow; none
    /// if it is compared with its peers.
    pub(super) fn usual_factors(
        &self,
        SlowEntries {
            slow, references, ..
        }: &SlowEntries,
        levels: &Arc<Levels>,
    ) -> BTreeMap<FunctionId, f64> {
        let rank = (slow.program, slow.rank);
        let slow_steps = slow.first / self.group()..=slow.last / self.group();
        let others = self.open.steps.iter();
        let others =
            others.filter(|(number, _)| slow.usual.is_some() && !slow_steps.contains(number));
        let mut logs: BTreeMap<FunctionId, Vec<f64>> = BTreeMap::new();
        for (number, cells) in others {
            let block = self.block(*number, cells, levels);
            for one in block.of_rank(cells, rank, references) {
                let log = (one.lost / one.expected).max(-0.999_999).ln_1p();
                logs.entry(one.function).or_default().push(log);
            }
        }
        let factors = logs.into_iter();
        let factors = factors.map(|(function, mut logs)| (function, median(&mut logs).exp()));
        factors.collect()
    }

    /// Returns the functions that lost time on a slow rank. Of a closed block, only the worst function is known.
    fn slow_functions(&self, found: &SlowEntries, levels: &Arc<Levels>) -> Vec<OfFunction> {
        let slow = &found.slow;
        let rank = (slow.program, slow.rank);
        let mut sums: BTreeMap<FunctionId, OfFunction> = BTreeMap::new();
        let (open, _) = self.steps_of(self.closed);
        let closed = found.entries.iter().filter(|entry| entry.first < open);
        let closed = closed.filter_map(|entry| entry.worst);
        closed.for_each(|one| add(&mut sums, one));
        for (number, cells) in self.open_steps(slow) {
            let block = self.block(*number, cells, levels);
            let functions = block.of_rank(cells, rank, &found.references);
            functions.for_each(|one| add(&mut sums, one));
        }
        let usual = self.usual_factors(found, levels);
        for one in sums.values_mut() {
            let expected = one.expected * usual.get(&one.function).unwrap_or(&1.0);
            one.lost += one.expected - expected;
            one.expected = expected;
        }
        let after = found.after.iter();
        after.for_each(|one| add(&mut sums, *one));
        sums.retain(|function, _| found.only.is_none_or(|only| only == *function));
        sums.into_values().filter(|one| one.lost > 0.0).collect()
    }

    /// Divides the time that slow ranks lost in calls that are no alarms between their functions.
    fn divided(ranks: &[SlowEntries], alarms: &OwnAlarms) -> BTreeMap<FunctionId, Nanos> {
        let mut divided: BTreeMap<FunctionId, Nanos> = BTreeMap::new();
        for found in ranks {
            let slow = &found.slow;
            let alarms = alarms.by_function(|rank, step, _| {
                rank == (slow.program, slow.rank) && (slow.first..=slow.last).contains(&step)
            });
            let all: f64 = found.functions.iter().map(|one| one.lost).sum();
            for one in &found.functions {
                let alarmed = alarms.get(&one.function).map_or(0, |sum| sum.1);
                let lost = (slow.lost.0 as f64 * one.lost / all) as i64;
                let sum = divided.entry(one.function).or_default();
                sum.0 = sum.0.saturating_add(lost.saturating_sub(alarmed).max(0));
            }
        }
        divided
    }

    /// Returns the slow ranks and slow phases with the time that they lost by step. The steps of a long run
    /// are added up in groups.
    pub fn slowness(&self) -> Slowness {
        let Entries {
            ranks,
            own,
            functions,
            own_alarms,
            levels,
        } = self.entries();
        let overall = ranks;
        let mut ranks = with_entries(&overall, &own);
        ranks.retain(|found| {
            let slow = &found.slow;
            // If most other ranks become faster or slower, one takes longer or shorter only in comparison.
            let change = || self.change((slow.program, slow.rank), slow.first..=slow.last);
            !found.with_own || change() >= 0.5 * slow.factor.ln()
        });
        self.add_slow_half(&mut ranks, &overall, &levels);
        if !own.is_empty() {
            self.add_slow_groups(&mut ranks, &overall);
        }
        for found in &mut ranks {
            self.add_steps_without_peers(found, &levels);
        }
        ranks.sort_by_key(|found| std::cmp::Reverse(found.slow.lost));
        for found in &mut ranks {
            found.functions = self.slow_functions(found, &levels);
            let worst = found.functions.iter();
            let worst = worst.max_by(|one, other| one.lost.total_cmp(&other.lost));
            let slow = &mut found.slow;
            if let Some(worst) = worst {
                slow.function = worst.function;
                slow.function_factor = 1.0 + worst.lost / worst.expected.max(1.0);
                slow.function_lost = Nanos(worst.lost as i64);
            }
            let rank = (slow.program, slow.rank);
            let (alarms, alarmed) = own_alarms.of_rank(rank, slow.first, slow.last);
            (slow.alarms, slow.alarmed) = (alarms, Nanos(alarmed));
        }
        ranks.retain(|found| !self.is_of_few_calls(&found.slow));
        let own_alarms = &own_alarms;
        let rank_steps = ranks.iter().flat_map(|found| {
            let slow = &found.slow;
            found.entries.iter().map(move |one| {
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
        let mut rank_steps: Vec<SlowStep> = rank_steps.filter(|step| step.lost.0 > 0).collect();
        let mut found = ranks;
        let ranks: Vec<SlowRank> = found.iter().map(|found| found.slow).collect();
        let (mut phases, mut phase_steps) = self.phases_with_steps(&functions);
        let of_ranks = |function: FunctionId, first, last| {
            let begin = functions.get(&function).and_then(|all| all.first());
            let begin = begin.map_or(0, |entry| entry.first);
            self.is_phase_of_ranks((function, first, last), begin, &ranks)
        };
        phases.retain(|one| {
            !of_ranks(one.function, one.first, one.last)
                && self.is_shared(one, &phase_steps, &levels)
        });
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
        self.find_borders_of_ranks(&mut found, &mut rank_steps, &levels);
        self.find_borders_of_phases(&mut phases, &mut phase_steps, &functions, &levels);
        Slowness {
            alarms: alarms
                .map(|(function, (calls, lost))| SlowAlarms {
                    function,
                    calls,
                    lost: Nanos(lost),
                })
                .collect(),
            rank_functions: Self::divided(&found, own_alarms),
            rank_steps,
            ranks: found.into_iter().map(|found| found.slow).collect(),
            phases,
            phase_steps,
            late: self.late,
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

    /// Returns `true` for a slow rank of two with too few calls of its worst function. Closed blocks have many.
    fn is_of_few_calls(&self, slow: &SlowRank) -> bool {
        let key = (slow.function, (slow.program, slow.rank));
        let cells = self.open_steps(slow);
        let cells = cells.filter_map(|(_, cells)| cells.get(&key));
        let calls = cells.fold(0_u64, |sum, cell| sum.saturating_add(cell.calls));
        let is_open = slow.first / self.group() >= self.closed;
        slow.peer.is_some() && is_open && calls < CALLS_OF_PAIR
    }

    /// Returns `true` for a phase of a function that ranks call since the step `begin`, if there are few ranks or half
    /// of them are slow, and the phase begins or ends when one of several slow ranks does, or that of two. Their median
    /// rises with them.
    fn is_phase_of_ranks(
        &self,
        (function, first, last): (FunctionId, u64, u64),
        begin: u64,
        slow: &[SlowRank],
    ) -> bool {
        let Some(times) = self.functions.get(&function) else {
            return false;
        };
        let near = self.group();
        let slow = slow.iter().filter(|one| {
            let overlaps = one.first <= last && first <= one.last;
            overlaps && times.ranks.contains(&(one.program, one.rank))
        });
        let slow: Vec<&SlowRank> = slow.collect();
        let begins = |one: &SlowRank| one.first > begin && one.first.abs_diff(first) <= near;
        let ends = |one: &SlowRank| !one.lasts && one.last.abs_diff(last) <= near;
        let has_pair = slow.iter().any(|one| one.peer.is_some());
        let is_median = FEW.contains(&times.ranks.len()) || 2 * slow.len() >= times.ranks.len();
        is_median && (has_pair || slow.len() > 1) && slow.iter().any(|one| begins(one) || ends(one))
    }

    /// Returns the change of the log time of the calls of a rank in some steps from its other steps.
    pub(super) fn change(&self, rank: (u32, u32), steps: RangeInclusive<u64>) -> f64 {
        let mut sums: BTreeMap<FunctionId, [(f64, f64); 2]> = BTreeMap::new();
        for (number, cells) in &self.open.steps {
            let (first, _) = self.steps_of(*number);
            let is_slow = steps.contains(&first);
            for function in self.functions.keys() {
                if let Some(cell) = cells.get(&(*function, rank)) {
                    let (time, calls) =
                        &mut sums.entry(*function).or_default()[usize::from(is_slow)];
                    (*time, *calls) = (*time + cell.time as f64, *calls + cell.calls as f64);
                }
            }
        }
        let both = sums
            .values()
            .filter(|[others, slow]| others.1 > 0.0 && slow.1 > 0.0);
        let (time, usual) = both.fold((0.0, 0.0), |(time, usual), [others, slow]| {
            (time + slow.0, usual + slow.1 * others.0 / others.1)
        });
        f64::max(time / f64::max(usual, 1.0), 1e-9).ln()
    }

    /// Returns `true` if the ranks of a slow phase become slower alike. If the work of each rank wanders, or moves between them,
    /// their median changes too.
    fn is_shared(&self, phase: &SlowPhase, steps: &[PhaseStep], levels: &Levels) -> bool {
        let steps = steps.iter().filter(|step| step.function == phase.function);
        let steps: BTreeSet<u64> = steps.map(|step| step.first).collect();
        let all = (phase.function, (0, 0))..=(phase.function, (u32::MAX, u32::MAX));
        let mut ranks: BTreeMap<(u32, u32), [Vec<f64>; 2]> = BTreeMap::new();
        for (number, cells) in &self.open.steps {
            let (first, _) = self.steps_of(*number);
            let is_slow = (phase.first..=phase.last).contains(&first) && steps.contains(&first);
            let own = cells.range(all.clone());
            let own = own.filter(|((_, rank), _)| levels.factor(phase.function, *rank).is_some());
            for ((_, rank), cell) in own {
                let [others, slow] = ranks.entry(*rank).or_default();
                let logs = if is_slow { slow } else { others };
                logs.push(cell.mean().max(1.0).ln());
            }
        }
        let changes = ranks.values_mut().filter_map(|[others, slow]| {
            let is_known = !others.is_empty() && !slow.is_empty();
            is_known.then(|| median(slow) - median(others))
        });
        let mut changes: Vec<f64> = changes.collect();
        let change = median(&mut changes);
        let spread = deviation(changes.iter().map(|one| one - change));
        // The error of a median is a quarter larger than that of a mean.
        let error = 1.25 * spread / (changes.len() as f64).sqrt();
        changes.len() <= *FEW.end() || change >= SHARED * error
    }

    /// Returns the slow phases and the time that they lost by step.
    fn phases_with_steps(
        &self,
        functions: &BTreeMap<FunctionId, Vec<Entry>>,
    ) -> (Vec<SlowPhase>, Vec<PhaseStep>) {
        let mut found = (Vec::new(), Vec::new());
        for (function, entries) in functions {
            if !self.open.without_phases.contains(function) {
                let ranks = self.functions.get(function);
                let ranks = ranks.map_or(0, |times| times.ranks.len());
                phases(*function, ranks, entries, &mut found);
            }
        }
        found
    }
}
