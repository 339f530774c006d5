//! Slow phases: steps in which a function is slower on most ranks than in other steps.

use super::slow_ranks::noise_between;
use super::spells::{Bounds, Entry, NOISE, Spell, median, spells};
use crate::FunctionId;
use crate::lost_time::slowness::{PhaseStep, SlowPhase};
use perf_core::Nanos;

/// Fewest steps outside of a slow phase.
const STEPS: usize = 3;
/// Number of steps of which the fastest one is compared with the others, before the fast steps are known: those of a
/// function that is slow for most of the run are few.
pub(super) const FAST: usize = 10;
/// Fewest calls of a function with slow phases, of which fewer are not judged either.
const CALLS: f64 = 32.0;
/// Smallest relative excess of a slow phase.
const SLOW_PHASE: f64 = 0.05;
/// Smallest relative excess of phases of more than three quarters of the steps: the fast steps before may do less work.
pub(super) const FOR_MOST: f64 = 0.2;
/// Smallest distance of a slow phase from other steps, in standard errors.
pub(super) const PHASE_SCORE: f64 = 6.0;
/// Largest factor between the standard deviation of steps from the others and from their neighbours.
const MOST_NOISE: f64 = 1.5;
/// Smallest time lost in a slow phase, in standard errors of the time of its calls.
const CALLS_SCORE: f64 = 2.0;
/// Share of the differences between neighbouring steps with the same sign from which on they are a drift.
const SAME_SIGN: f64 = 0.8;
/// Largest share of slow steps of a phase with fast steps between them.
const MOST_SINGLE: f64 = 0.5;
/// Standard deviation between steps in log time above which steps do different work.
const DIFFERENT_WORK: f64 = 0.4;

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

/// Returns the indices of the slow entries of a spell: all, or only the high ones if they are at most half, such as
/// every fifth one.
fn slow_entries(entries: &[Entry], spell: &Spell, least: f64) -> Vec<usize> {
    let all = spell.from..spell.until;
    let logs = all.clone().map(|at| entries[at].log());
    let (sum, count) = logs
        .filter(|log| *log >= least)
        .fold((0.0, 0.0), |(sum, count), log| (sum + log, count + 1.0));
    let half = 0.5 * sum / f64::max(count, 1.0);
    let high: Vec<usize> = all
        .clone()
        .filter(|at| entries[*at].log() >= half)
        .collect();
    if high.is_empty() || high.len() as f64 > MOST_SINGLE * all.len() as f64 {
        all.collect()
    } else {
        high
    }
}

/// Returns the median of differences if most of them have the same sign, and 0 otherwise. A drift is no noise.
pub(super) fn drift(differences: &[f64]) -> f64 {
    let rising = differences.iter().filter(|one| **one > 0.0).count();
    let most = rising.max(differences.len() - rising);
    if most as f64 >= SAME_SIGN * differences.len() as f64 {
        median(&mut differences.to_vec())
    } else {
        0.0
    }
}

/// Returns the number of steps of entries.
fn number_of_steps(entries: &[Entry]) -> u64 {
    let steps = entries.iter().map(|one| one.last.saturating_sub(one.first));
    steps.fold(0, |sum, more| sum.saturating_add(more).saturating_add(1))
}

/// Returns the standard deviation of several groups of values around the mean of their group.
pub(super) fn within(groups: &[&[f64]]) -> f64 {
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
pub(super) fn phases(
    function: FunctionId,
    ranks: usize,
    entries: &[Entry],
    (found, found_steps): &mut (Vec<SlowPhase>, Vec<PhaseStep>),
) {
    let calls: f64 = entries.iter().map(|entry| entry.expected).sum();
    if entries.len() < STEPS + 1 || calls < CALLS {
        return;
    }
    let mean = |entry: &Entry| entry.lost / entry.expected;
    let logs: Vec<f64> = entries.iter().map(|entry| mean(entry).ln()).collect();
    let between = noise_between(&logs);
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
    let low = sorted.get(sorted.len() / FAST).copied().unwrap_or_default();
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
    let from_low = compared(low);
    let slow = spells(&from_low, &bounds).into_iter();
    let slow = slow.map(|one| (slow_entries(&from_low, &one, bounds.least), one));
    let slow: Vec<(Vec<usize>, Spell)> = slow.collect();
    let mut is_slow = vec![false; entries.len()];
    for at in slow.iter().flat_map(|(own, _)| own) {
        is_slow[*at] = true;
    }
    let rest = logs.iter().zip(&is_slow).filter(|(_, is_slow)| !**is_slow);
    let mut rest: Vec<f64> = rest.map(|(log, _)| *log).collect();
    if rest.len() < STEPS {
        return;
    }
    let outside = rest.len() as f64;
    let least = if rest.len() < entries.len() / 4 {
        FOR_MOST.ln_1p()
    } else {
        bounds.least
    };
    let excess = compared(median(&mut rest));
    let calls_variance = relative_variance(entries, ranks);
    for (own, spell) in slow {
        let part: Vec<Entry> = own.iter().map(|at| excess[*at]).collect();
        let expected: f64 = part.iter().map(|one| one.expected).sum();
        let lost: f64 = part.iter().map(|one| one.lost).sum();
        let log = (lost / expected).ln_1p();
        // Few steps may differ less from their neighbours than from the others by chance.
        let inside: Vec<f64> = own.iter().map(|at| logs[*at]).collect();
        let noise = noise.max(within(&[&inside, &rest]).min(MOST_NOISE * noise));
        let error = noise * (1.0 / part.len() as f64 + 1.0 / outside).sqrt();
        let calls: Vec<Entry> = own.iter().map(|at| entries[*at]).collect();
        let has_fast = own.len() < spell.until - spell.from;
        if log >= least
            && log / error >= bounds.score
            && !is_of_few_calls(&calls, lost, (ranks, calls_variance))
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
                steps: has_fast.then(|| number_of_steps(&part)),
                lasts: spell.lasts,
                factor: log.exp(),
                lost: Nanos(lost as i64),
                score: log / error,
            });
        }
    }
}
