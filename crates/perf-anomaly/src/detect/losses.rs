//! [`Loss`]: counts of labels and time lost of a group of calls; [`Losses`]: their sums by
//! function, call path, rank and step, with correction of labels.

use super::Functions;
use crate::format_version::{Reader, Writer};
use crate::{FunctionId, Judgement, Label, Result, Sample};
use perf_core::{CallPathId, Merge, Nanos};
use std::collections::BTreeMap;

/// Counts of labels and time lost of a group of calls.
///
/// ```
/// use perf_anomaly::Loss;
/// use perf_core::{Merge, Nanos};
/// let mut all = Loss { calls: 900, too_slow: 2, time: Nanos(5_000_000), ..Loss::default() };
/// all.merge(&Loss { calls: 100, too_fast: 1, ..Loss::default() });
/// assert_eq!((all.calls, all.anomalies(), all.time), (1000, 3, Nanos(5_000_000)));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Loss {
    /// Number of calls.
    pub calls: u64,
    /// Number of calls that were too slow, including those beyond experience.
    pub too_slow: u64,
    /// Number of these calls that were [beyond experience](Label::BeyondExperience).
    pub beyond_experience: u64,
    /// Number of calls that were too fast.
    pub too_fast: u64,
    /// Number of calls without enough data.
    pub not_enough_data: u64,
    /// Time lost: run time minus expected run time, summed over the calls that were too slow, without those that
    /// wait for others.
    pub time: Nanos,
    /// The same sum over the calls that [wait](crate::calls::Calls::waits) for others. Their cause is elsewhere.
    pub waiting: Nanos,
}

impl Loss {
    /// Adds one call. `waits` returns `true` for functions that wait for others.
    pub fn add(
        &mut self,
        sample: &Sample,
        judgement: &Judgement,
        waits: impl Fn(FunctionId) -> bool,
    ) {
        self.calls += 1;
        match judgement.label {
            Label::TooSlow | Label::BeyondExperience => {
                self.too_slow += 1;
                self.beyond_experience += u64::from(judgement.label == Label::BeyondExperience);
                let lost = judgement.severity(sample).0;
                let sum = self.sum(waits(sample.function));
                sum.0 = sum.0.saturating_add(lost);
            }
            Label::TooFast => self.too_fast += 1,
            Label::NotEnoughData => self.not_enough_data += 1,
            Label::Normal | Label::Ignored => {}
        }
    }

    /// Returns the run time above the expected one, summed over all calls that were too slow.
    pub fn in_slow_calls(&self) -> Nanos {
        Nanos(self.time.0.saturating_add(self.waiting.0))
    }

    /// Returns the time lost in calls that wait for others, or in other calls, for modification.
    fn sum(&mut self, waits: bool) -> &mut Nanos {
        if waits {
            &mut self.waiting
        } else {
            &mut self.time
        }
    }

    pub(crate) fn encode(&self, to: &mut Writer) {
        for count in [
            self.calls,
            self.too_slow,
            self.too_fast,
            self.not_enough_data,
        ] {
            to.varint(count);
        }
        to.signed(self.time.0);
        to.varint(self.beyond_experience);
        to.signed(self.waiting.0);
    }

    /// Smallest encoded size in bytes, in any version.
    pub(crate) const LEAST: usize = 5;

    pub(crate) fn decode(from: &mut Reader<'_>) -> Result<Self> {
        const EXPECTED: &str = "counts of calls";
        let calls = from.varint(EXPECTED)?;
        let loss = Loss {
            calls,
            too_slow: from.varint(EXPECTED)?,
            too_fast: from.varint(EXPECTED)?,
            not_enough_data: from.varint(EXPECTED)?,
            time: Nanos(from.signed("the time lost")?),
            beyond_experience: if from.context.has_beyond_experience {
                from.varint(EXPECTED)?
            } else {
                0
            },
            waiting: if from.context.has_changes {
                Nanos(from.signed("the time of waiting")?)
            } else {
                Nanos(0)
            },
        };
        let named = [loss.too_slow, loss.too_fast, loss.not_enough_data];
        let named = named
            .iter()
            .try_fold(0_u64, |sum, count| sum.checked_add(*count));
        let is_part = loss.beyond_experience <= loss.too_slow;
        if named.is_some_and(|named| named <= calls)
            && is_part
            && loss.time.0.min(loss.waiting.0) >= 0
        {
            Ok(loss)
        } else {
            Err(from
                .error(
                    1,
                    "no more anomalies than calls, and time that is not negative",
                )
                .into())
        }
    }

    /// Returns the number of calls that were too slow or too fast.
    pub fn anomalies(&self) -> u64 {
        self.too_slow.saturating_add(self.too_fast)
    }
}

/// Call that was judged again: the old and the new label, each with the time lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Relabelled {
    /// `true` if the call waits for others.
    pub(crate) waits: bool,
    /// Old label and time lost.
    pub(crate) was: (Label, Nanos),
    /// New label and time lost.
    pub(crate) is: (Label, Nanos),
}

impl Relabelled {
    /// Returns the change in the number of anomalies: 1, 0 or -1.
    pub(crate) fn more_anomalies(&self) -> f64 {
        let count = |label: Label| f64::from(u8::from(label.is_anomaly()));
        count(self.is.0) - count(self.was.0)
    }

    /// Moves the call to its new label.
    pub(crate) fn apply(&self, loss: &mut Loss) {
        for ((label, time), is_new) in [(self.was, false), (self.is, true)] {
            let change = |count: &mut u64| {
                if is_new {
                    *count += 1;
                } else {
                    *count = count.saturating_sub(1);
                }
            };
            if label == Label::BeyondExperience {
                change(&mut loss.beyond_experience);
            }
            let count = match label {
                Label::TooSlow | Label::BeyondExperience => &mut loss.too_slow,
                Label::TooFast => &mut loss.too_fast,
                Label::NotEnoughData => &mut loss.not_enough_data,
                Label::Normal | Label::Ignored => continue,
            };
            change(count);
            if label.is_slow() {
                let sum = loss.sum(self.waits);
                let changed = if is_new {
                    sum.0.saturating_add(time.0)
                } else {
                    sum.0.saturating_sub(time.0)
                };
                sum.0 = changed.max(0);
            }
        }
    }
}

impl Merge for Loss {
    fn merge(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.too_slow = self.too_slow.saturating_add(other.too_slow);
        let beyond = other.beyond_experience;
        self.beyond_experience = self.beyond_experience.saturating_add(beyond);
        self.too_fast = self.too_fast.saturating_add(other.too_fast);
        self.not_enough_data = self.not_enough_data.saturating_add(other.not_enough_data);
        self.time.0 = self.time.0.saturating_add(other.time.0);
        self.waiting.0 = self.waiting.0.saturating_add(other.waiting.0);
    }
}

/// Rank and step of a batch of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Place {
    /// Program.
    pub program: u32,
    /// Rank in the program.
    pub rank: u32,
    /// Step.
    pub step: u64,
}

/// Time lost by function, call path, rank and step. [`Merge`] is exact.
///
/// Only the last 1,024 steps are kept, so that memory does not grow with the stream; earlier steps
/// remain in all other sums.
///
/// ```
/// use perf_anomaly::{FunctionId, Judgement, Label, Losses, Place, Sample};
/// use perf_core::Nanos;
/// let sample = Sample { function: FunctionId(2), runtime: Nanos(900), first: false };
/// let judgement = Judgement { label: Label::TooSlow, score: 7.0, expected: Some(Nanos(100)) };
/// let mut losses = Losses::default();
/// losses.add(Place { rank: 5, ..Place::default() }, &[sample], &[judgement], [], |_| false);
/// let (function, loss) = losses.worst_functions()[0];
/// assert_eq!((function, loss.time, loss.too_slow), (FunctionId(2), Nanos(800), 1));
/// assert_eq!(losses.worst_ranks()[0].0, (0, 5));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Losses {
    /// Sum over all calls.
    total: Loss,
    /// Sums by function.
    functions: Functions<Loss>,
    /// Sums by call path, whose numbers are as dense as those of functions.
    paths: Functions<Loss>,
    /// Sums by program and rank.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serialize::by_rank"))]
    ranks: BTreeMap<(u32, u32), Loss>,
    /// Sums of the last [`STEPS`] steps.
    steps: BTreeMap<u64, Loss>,
}

/// Number of steps that are kept.
const STEPS: usize = 1024;

impl Losses {
    /// Adds the calls of a batch with their judgements. `paths` holds the call paths of the
    /// samples, or is empty; `waits` returns `true` for functions that wait for others.
    pub fn add(
        &mut self,
        place: Place,
        samples: &[Sample],
        judgements: &[Judgement],
        paths: impl IntoIterator<Item = CallPathId>,
        waits: impl Fn(FunctionId) -> bool,
    ) {
        let mut batch = Loss::default();
        let mut paths = paths.into_iter();
        for (sample, judgement) in samples.iter().zip(judgements) {
            batch.add(sample, judgement, &waits);
            let function = self.functions.entry(sample.function, Loss::default);
            function.add(sample, judgement, &waits);
            if let Some(path) = paths.next() {
                let path = self.paths.entry(FunctionId(path.0), Loss::default);
                path.add(sample, judgement, &waits);
            }
        }
        let rank = (place.program, place.rank);
        self.ranks.entry(rank).or_default().merge(&batch);
        self.steps.entry(place.step).or_default().merge(&batch);
        self.total.merge(&batch);
        self.forget();
    }

    /// Drops the oldest steps.
    fn forget(&mut self) {
        while self.steps.len() > STEPS {
            self.steps.pop_first();
        }
    }

    /// Moves a call to its new label in all sums; `path` is its call path, if known.
    pub(crate) fn relabel(
        &mut self,
        place: Place,
        (function, path): (FunctionId, Option<CallPathId>),
        change: &Relabelled,
    ) {
        let rank = self.ranks.get_mut(&(place.program, place.rank));
        let path = path.and_then(|path| self.paths.get_mut(FunctionId(path.0)));
        let all = [
            Some(&mut self.total),
            self.functions.get_mut(function),
            path,
            rank,
            self.steps.get_mut(&place.step),
        ];
        for loss in all.into_iter().flatten() {
            change.apply(loss);
        }
    }

    /// Returns the sum over all calls.
    pub fn total(&self) -> Loss {
        self.total
    }

    /// Returns the sum of one function.
    pub fn function(&self, function: FunctionId) -> Loss {
        // A function that was never called has lost no time.
        self.functions.get(function).copied().unwrap_or_default()
    }

    /// Returns the functions in descending order of time lost.
    pub fn worst_functions(&self) -> Vec<(FunctionId, Loss)> {
        worst(self.functions.iter().map(|(id, loss)| (id, *loss)))
    }

    /// Returns the call paths in descending order of time lost.
    pub fn worst_paths(&self) -> Vec<(CallPathId, Loss)> {
        worst(
            self.paths
                .iter()
                .map(|(id, loss)| (CallPathId(id.0), *loss)),
        )
    }

    /// Returns the ranks as program and rank, in descending order of time lost.
    pub fn worst_ranks(&self) -> Vec<((u32, u32), Loss)> {
        worst(self.ranks.iter().map(|(rank, loss)| (*rank, *loss)))
    }

    /// Returns the last steps, at most 1,024, in ascending order.
    pub fn steps(&self) -> impl Iterator<Item = (u64, Loss)> {
        self.steps.iter().map(|(step, loss)| (*step, *loss))
    }
}

/// Sorts by descending time lost, time of waiting and number of anomalies, then ascending key.
fn worst<K: Ord + Copy>(all: impl Iterator<Item = (K, Loss)>) -> Vec<(K, Loss)> {
    let mut all: Vec<_> = all.collect();
    all.sort_by_key(|(key, loss)| {
        let reversed = (loss.time, loss.waiting, loss.anomalies());
        (std::cmp::Reverse(reversed), *key)
    });
    all
}

fn merge_maps<K: Ord + Copy>(into: &mut BTreeMap<K, Loss>, from: &BTreeMap<K, Loss>) {
    for (key, loss) in from {
        into.entry(*key).or_default().merge(loss);
    }
}

impl Merge for Losses {
    fn merge(&mut self, other: &Self) {
        self.total.merge(&other.total);
        self.functions.merge(&other.functions);
        self.paths.merge(&other.paths);
        merge_maps(&mut self.ranks, &other.ranks);
        merge_maps(&mut self.steps, &other.steps);
        // A step that is among the last steps of the union is among the last steps of one of the
        // two.
        self.forget();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a call that took 900 ns instead of 100 ns.
    fn slow() -> (Sample, Judgement) {
        let sample = Sample {
            runtime: Nanos(900),
            ..Sample::default()
        };
        let judgement = Judgement {
            label: Label::TooSlow,
            score: 7.0,
            expected: Some(Nanos(100)),
        };
        (sample, judgement)
    }

    fn one(step: u64) -> Losses {
        let (sample, judgement) = slow();
        let mut losses = Losses::default();
        let place = Place {
            step,
            ..Place::default()
        };
        losses.add(place, &[sample], &[judgement], [CallPathId(0)], |_| false);
        losses
    }

    #[test]
    fn memory_does_not_depend_on_the_number_of_steps_and_no_order_matters() {
        let steps: Vec<u64> = (0..5_000).map(|at| at * 2_003 % 5_000).collect();
        let merged = |steps: &mut dyn Iterator<Item = &u64>| {
            let mut all = Losses::default();
            for step in steps {
                all.merge(&one(*step));
            }
            all
        };
        let all = merged(&mut steps.iter());
        assert_eq!(all.steps().count(), STEPS);
        assert_eq!(all.steps().next().map(|(step, _)| step), Some(3_976));
        assert_eq!(all.total().calls, 5_000);
        assert_eq!(all, merged(&mut steps.iter().rev()));
        let (left, right) = steps.split_at(1_700);
        let mut parts = merged(&mut left.iter());
        parts.merge(&merged(&mut right.iter()));
        assert_eq!(all, parts);
    }

    #[test]
    fn losses_of_earlier_versions_lack_counts() {
        let loss = Loss {
            calls: 900,
            too_slow: 3,
            beyond_experience: 2,
            time: Nanos(70),
            waiting: Nanos(6),
            ..Loss::default()
        };
        let mut to = Writer::default();
        loss.encode(&mut to);
        let read = |bytes: &[u8], has_beyond_experience, has_changes| {
            let mut from = Reader::new(bytes);
            from.context.has_beyond_experience = has_beyond_experience;
            from.context.has_changes = has_changes;
            let loss = Loss::decode(&mut from)?;
            from.end()?;
            Ok::<_, crate::Error>(loss)
        };
        assert_eq!(read(&to.0, true, true).ok(), Some(loss));
        to.0.pop();
        let waiting = Nanos(0);
        let earlier = Loss { waiting, ..loss };
        assert_eq!(read(&to.0, true, false).ok(), Some(earlier));
        assert!(read(&to.0, true, true).is_err());
        to.0.pop();
        let earliest = Loss {
            beyond_experience: 0,
            ..earlier
        };
        assert_eq!(read(&to.0, false, false).ok(), Some(earliest));
        assert!(read(&to.0, true, false).is_err());
        // More calls beyond experience than too slow is an invalid encoding.
        to.0.push(4);
        assert!(read(&to.0, true, false).is_err());
    }

    /// The time of a call that waits is not time lost.
    #[test]
    fn waiting_is_a_sum_of_its_own() {
        let (sample, judgement) = slow();
        let mut losses = Losses::default();
        let place = Place::default();
        losses.add(place, &[sample], &[judgement], [CallPathId(0)], |_| true);
        let loss = losses.total();
        assert_eq!(
            (loss.time, loss.waiting, loss.too_slow),
            (Nanos(0), Nanos(800), 1)
        );
        let change = Relabelled {
            waits: true,
            was: (Label::TooSlow, Nanos(800)),
            is: (Label::TooSlow, Nanos(300)),
        };
        losses.relabel(place, (FunctionId(0), Some(CallPathId(0))), &change);
        assert_eq!(losses.total().waiting, Nanos(300));
        assert_eq!(losses.worst_ranks()[0].1.waiting, Nanos(300));
    }

    #[test]
    fn a_call_that_is_normal_after_all_leaves_nothing() {
        let mut losses = one(3);
        let change = Relabelled {
            waits: false,
            was: (Label::TooSlow, Nanos(800)),
            is: (Label::Normal, Nanos(0)),
        };
        let place = Place {
            step: 3,
            ..Place::default()
        };
        losses.relabel(place, (FunctionId(0), Some(CallPathId(0))), &change);
        assert_eq!(change.more_anomalies(), -1.0);
        let calls = Loss {
            calls: 1,
            ..Loss::default()
        };
        assert_eq!(losses.total(), calls);
        assert_eq!(losses.function(FunctionId(0)), calls);
        assert_eq!(losses.worst_paths()[0].1, calls);
        assert_eq!(losses.worst_ranks()[0].1, calls);
        assert_eq!(losses.steps().next(), Some((3, calls)));
    }
}
