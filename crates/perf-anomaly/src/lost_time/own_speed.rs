//! Run times of a rank compared with its other calls. [`at_own_speed`]: slow calls that take as long as
//! these; [`OwnAlarms`]: time lost by those of them that are alarms; [`Usual`]: expected run times of its
//! normal calls; [`Withdrawn`]: calls that turn out to be in a new mode.

use crate::detect::Functions;
use crate::{FunctionId, Judgement, Label, Sample};
use perf_core::{Merge, Nanos};
use std::collections::BTreeMap;

/// Fewest calls that show the speed of a rank in a step.
const SEVERAL: usize = 4;
/// Smallest factor by which all but a fifth of the calls of a slow rank are longer than expected.
const SLOW: f64 = 1.1;
/// Largest factor between a call and the median of its rank.
const ALIKE: f64 = 1.5;
/// Factor between a run time and the expected one from which a normal call may be one of a new mode.
const DOUBTFUL: f64 = 1.25;
/// Largest number of sums of alarms.
const MAX_SUMS: usize = 1 << 16;

/// Fewest normal calls of a mode.
const USUAL_CALLS: u64 = 2;
/// Smallest share of the normal calls of a function on a rank in a step that a mode has.
const USUAL_SHARE: f64 = 0.05;
/// Largest factor between expected run times of one mode.
pub(super) const SAME_MODE: f64 = 1.05;
/// Smallest factor between a slow call and the usual run time.
pub(super) const LONGER: f64 = 1.1;
/// Largest number of normal modes of a function.
const MODES: usize = 16;

/// Returns `true` for a call that takes longer than expected, whether or not it is reported.
pub(super) fn is_slow(sample: &Sample, judgement: &Judgement) -> bool {
    let is_longer = judgement.expected.is_some_and(|time| sample.runtime > time);
    match judgement.label {
        Label::TooSlow | Label::BeyondExperience => true,
        // Abnormal, but similar to recent calls.
        Label::NotEnoughData => is_longer,
        _ => false,
    }
}

/// Returns `true` for a normal call that takes much longer than expected, as in the tail of a mode, and than the
/// usual run time of its rank.
#[inline]
pub(super) fn is_doubtful(sample: &Sample, judgement: &Judgement, of_rank: f64) -> bool {
    let is_longer = |time: Nanos| sample.runtime.0 as f64 > DOUBTFUL * of_rank.max(time.0 as f64);
    judgement.label == Label::Normal && judgement.expected.is_some_and(is_longer)
}

/// Returns the factor between a run time and the expected one; `None` if nothing is expected.
fn factor(sample: &Sample, judgement: &Judgement) -> Option<f64> {
    let expected = judgement.expected.filter(|time| time.0 > 0)?;
    let counts = !sample.first && judgement.label != Label::Ignored;
    counts.then(|| sample.runtime.0 as f64 / expected.0 as f64)
}

/// Returns the median factor of some calls of a rank if the rank is slow in them.
fn speed(factors: &mut [f64]) -> Option<f64> {
    if factors.len() < SEVERAL {
        return None;
    }
    // Most ranks are not slow, so that one selection suffices.
    let (low, middle) = (factors.len() / 5, factors.len() / 2);
    let mut at = |index: usize| *factors.select_nth_unstable_by(index, f64::total_cmp).1;
    (at(low) >= SLOW).then(|| at(middle))
}

/// Returns the indices of the [slow](is_slow) calls of a rank in a step that take as long as its other
/// calls, in ascending order. All but a fifth of the calls of the function are slow, or of all functions
/// if it has less than four calls.
///
/// One slow rank of many has too few calls for a mode, so that its calls are abnormal. They are the speed
/// of the rank nevertheless.
pub(crate) fn at_own_speed(samples: &[Sample], judgements: &[Judgement]) -> Vec<usize> {
    let all = || samples.iter().zip(judgements);
    let mut functions: Functions<(Vec<f64>, Option<f64>)> = Functions::default();
    let mut slow = Vec::new();
    for (at, (sample, judgement)) in all().enumerate() {
        if !sample.first && is_slow(sample, judgement) {
            functions.entry(sample.function, Default::default);
            slow.push(at);
        }
    }
    if slow.is_empty() {
        return slow;
    }
    let mut factors = Vec::new();
    for (sample, judgement) in all() {
        if let Some(factor) = factor(sample, judgement) {
            factors.push(factor);
            if let Some((own, _)) = functions.get_mut(sample.function) {
                own.push(factor);
            }
        }
    }
    let mut of_all = None;
    for (_, (own, median)) in functions.entries_mut() {
        *median = if own.len() < SEVERAL {
            *of_all.get_or_insert_with(|| speed(&mut factors))
        } else {
            speed(own)
        };
    }
    slow.retain(|at| {
        let (sample, judgement) = (&samples[*at], &judgements[*at]);
        let median = functions.get(sample.function).and_then(|one| one.1);
        let factor = factor(sample, judgement);
        let both = factor.zip(median);
        both.is_some_and(|(factor, median)| factor <= ALIKE * median)
    });
    slow
}

/// Number of abnormal calls, and the time that they lost in nanoseconds.
pub(super) type AlarmSum = (u64, i64);

/// Abnormal calls that are part of the means of ranks because they take as long as the other calls of
/// their rank, by rank, step and function.
#[derive(Clone, Debug, Default)]
pub(super) struct OwnAlarms {
    /// Sums by rank, then by step and function.
    ranks: BTreeMap<(u32, u32), BTreeMap<(u64, FunctionId), AlarmSum>>,
    /// Number of sums.
    count: usize,
}

impl OwnAlarms {
    /// Adds alarms, unless there are too many sums.
    pub(super) fn add(
        &mut self,
        rank: (u32, u32),
        step: u64,
        function: FunctionId,
        alarms: AlarmSum,
    ) {
        if alarms.0 == 0 || self.count >= MAX_SUMS {
            return;
        }
        let own = self.ranks.entry(rank).or_default();
        let count = own.len();
        let sum = own.entry((step, function)).or_default();
        *sum = (
            sum.0.saturating_add(alarms.0),
            sum.1.saturating_add(alarms.1),
        );
        self.count += own.len() - count;
    }

    /// Returns all sums with their ranks, steps and functions.
    pub(super) fn iter(&self) -> impl Iterator<Item = ((u32, u32), u64, FunctionId, AlarmSum)> {
        self.ranks.iter().flat_map(|(rank, own)| {
            let sums = own.iter();
            sums.map(|((step, function), sum)| (*rank, *step, *function, *sum))
        })
    }

    /// Returns the number of sums.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Returns the alarms of a rank in a range of steps.
    pub(super) fn of_rank(&self, rank: (u32, u32), first: u64, last: u64) -> AlarmSum {
        let own = self.ranks.get(&rank).into_iter();
        let own =
            own.flat_map(|own| own.range((first, FunctionId(0))..=(last, FunctionId(u32::MAX))));
        own.fold((0, 0), |sum, (_, one)| {
            (sum.0.saturating_add(one.0), sum.1.saturating_add(one.1))
        })
    }

    /// Returns the sums of the ranks, steps and functions for which `is_wanted` returns `true`, by
    /// function.
    pub(super) fn by_function(
        &self,
        is_wanted: impl Fn((u32, u32), u64, FunctionId) -> bool,
    ) -> BTreeMap<FunctionId, AlarmSum> {
        let mut all: BTreeMap<FunctionId, AlarmSum> = BTreeMap::new();
        for (rank, step, function, one) in self.iter() {
            if is_wanted(rank, step, function) {
                let sum = all.entry(function).or_default();
                *sum = (sum.0.saturating_add(one.0), sum.1.saturating_add(one.1));
            }
        }
        all
    }
}

impl Merge for OwnAlarms {
    fn merge(&mut self, other: &Self) {
        for (rank, step, function, sum) in other.iter() {
            self.add(rank, step, function, sum);
        }
    }
}

/// Returns `true` if two run times differ by more than a tenth.
pub(super) fn differ(one: i64, other: i64) -> bool {
    one.max(other) as f64 > LONGER * one.min(other).max(1) as f64
}

/// Expected run times of the normal calls of a rank in a step, with the number of calls, for functions
/// with slow calls. Slow calls are compared with them: the mode below a slow call may consist of the
/// calls of another rank, which is slow.
#[derive(Clone, Debug, Default)]
pub(super) struct Usual(Functions<Vec<(i64, u64)>>);

impl Usual {
    /// Returns the usual run times of functions with calls at the indices `slow`, which are in ascending
    /// order, from the other calls.
    pub(super) fn of(
        samples: &[Sample],
        judgements: &[Judgement],
        slow: impl Iterator<Item = usize> + Clone,
    ) -> Self {
        let mut all: Functions<Vec<(i64, u64)>> = Functions::default();
        for sample in slow.clone().filter_map(|at| samples.get(at)) {
            all.entry(sample.function, Vec::new);
        }
        let mut slow = slow.peekable();
        if slow.peek().is_none() {
            return Usual(all);
        }
        for (at, (sample, judgement)) in samples.iter().zip(judgements).enumerate() {
            if slow.next_if(|slow| *slow == at).is_some()
                || sample.first
                || judgement.label != Label::Normal
            {
                continue;
            }
            let (Some(expected), Some(modes)) = (judgement.expected, all.get_mut(sample.function))
            else {
                continue;
            };
            let time = expected.0.max(1);
            let is_alike = |known: &&mut (i64, u64)| {
                let factor = known.0.max(time) as f64 / known.0.min(time) as f64;
                factor <= SAME_MODE
            };
            if let Some((_, calls)) = modes.iter_mut().find(is_alike) {
                *calls += 1;
            } else if modes.len() < MODES {
                modes.push((time, 1));
            }
        }
        Usual(all)
    }

    /// Returns the usual run times of a function.
    fn usual(&self, function: FunctionId) -> impl Iterator<Item = i64> {
        let modes = self.0.get(function).map_or(&[][..], Vec::as_slice);
        let calls: u64 = modes.iter().map(|(_, calls)| calls).sum();
        let least = (USUAL_SHARE * calls as f64).max(USUAL_CALLS as f64);
        let usual = modes
            .iter()
            .filter(move |(_, calls)| *calls as f64 >= least);
        usual.map(|(time, _)| *time)
    }

    /// Returns the longest usual run time of a function, in nanoseconds, that is shorter than `runtime`;
    /// `None` without such calls.
    pub(super) fn below(&self, function: FunctionId, runtime: i64) -> Option<i64> {
        let usual = self.usual(function);
        let shorter = usual.filter(|time| *time as f64 * LONGER <= runtime as f64);
        shorter.max()
    }
}

/// Call that is part of the means of ranks and steps although it may be one of a new mode.
#[derive(Clone, Copy, Debug)]
pub(super) struct InMeans {
    /// The call.
    pub(super) call: Withdrawn,
    /// Number of its batch, and its index there.
    pub(super) batch: (u64, usize),
}

impl InMeans {
    pub(super) fn new(
        (rank, step): ((u32, u32), u64),
        sample: &Sample,
        batch: (u64, usize),
    ) -> Self {
        InMeans {
            call: Withdrawn {
                rank,
                step,
                function: sample.function,
                time: sample.runtime,
            },
            batch,
        }
    }
}

/// Call of a new mode that is part of the means of ranks and steps, because the mode was not yet known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Withdrawn {
    /// Program and rank.
    pub(crate) rank: (u32, u32),
    /// Step.
    pub(super) step: u64,
    /// Function.
    pub(super) function: FunctionId,
    /// Run time.
    pub(super) time: Nanos,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls with the given run times, of which 100 us are expected. The slow ones are alarms.
    fn judged(times: &[i64]) -> (Vec<Sample>, Vec<Judgement>) {
        let sample = |time: &i64| Sample {
            function: FunctionId(0),
            runtime: Nanos(1000 * time),
            first: false,
        };
        let judge = |time: &i64| Judgement {
            label: if *time > 120 {
                Label::TooSlow
            } else {
                Label::Normal
            },
            score: 0.0,
            expected: Some(Nanos(100_000)),
        };
        let samples = times.iter().map(sample).collect();
        (samples, times.iter().map(judge).collect())
    }

    #[test]
    fn calls_as_slow_as_the_others_of_their_rank_are_its_speed() {
        let indices = |times: &[i64]| {
            let (samples, judgements) = judged(times);
            at_own_speed(&samples, &judgements)
        };
        // A call that takes longer than the slow rank does remains an exception.
        assert_eq!(indices(&[118, 130, 115, 900, 126]), [1, 4]);
        assert!(indices(&[100, 130, 101, 900, 99]).is_empty());
        // Three calls do not show the speed of a rank.
        assert!(indices(&[130, 131, 132]).is_empty());
        assert!(indices(&[]).is_empty());
    }
}
