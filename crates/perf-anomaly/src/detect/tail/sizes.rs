//! [`Sizes`]: models of functions whose calls are separated by the size of their messages, and the
//! decision whether the run times of a function depend on the size.
//!
//! Each call is learned twice: by the model of its size class, which is shared with other processes, and
//! by that of its function. The latter is the sum of the former, so that it is never sent.

use super::function_modes::FunctionModes;
use super::sketch::Sketch;
use crate::detect::Functions;
use crate::detect::rules::TOO_FEW;
use crate::{FunctionId, Judgement, Label};

/// Share of the pairs of calls of two classes in which the same class is slower, ties counting half,
/// from which on run times depend on the size.
const SLOWER: f64 = 0.8;
/// Number of standard deviations of this share, for classes with the same distribution, by which it must
/// differ from a half.
const DEVIATIONS: f64 = 4.0;
/// Number of calls of a class below which nothing is known about its run times. With so many calls, a
/// difference can be significant.
const SEEN: u64 = 8;
/// Multiple of the longest call of a class with few calls above which a call may be abnormal.
const LONGER: f64 = 4.0;
/// Ratio of the number of calls of a function to that at the last comparison of its classes, from which
/// on they are compared again.
const MORE: f64 = 1.25;

/// Model of the calls of a function of all sizes.
#[derive(Clone, Debug)]
pub(super) struct AllSizes {
    /// Model.
    pub(super) model: FunctionModes,
    /// Models of the size classes, each with its smallest size in bytes. The function itself is one, with the
    /// calls before the first size.
    classes: Vec<(FunctionId, u64)>,
    /// `true` if run times depend on the size.
    pub(super) depends: bool,
    /// Number of calls at the last comparison of the classes.
    compared: u64,
    /// Smallest size in bytes of the largest class that was known then.
    largest: u64,
}

/// Functions with size classes.
#[derive(Clone, Debug, Default)]
pub(super) struct Sizes {
    /// Function of each size class.
    functions: Functions<FunctionId>,
    /// Model of each function.
    models: Functions<AllSizes>,
}

impl Sizes {
    /// Adds a size class of a function, and returns the model of all its sizes;
    /// `None` if it has the class already. `own` returns the model
    /// of its calls without a size, which are the only ones before the first class.
    pub(super) fn add(
        &mut self,
        class: FunctionId,
        (function, bytes): (FunctionId, u64),
        own: impl FnOnce() -> FunctionModes,
    ) -> Option<&mut AllSizes> {
        for class in [class, function] {
            self.functions.entry(class, || function);
        }
        let all = self.models.entry(function, || AllSizes {
            model: own(),
            classes: vec![(function, 0)],
            depends: false,
            compared: 0,
            largest: 0,
        });
        let is_new = !all.classes().any(|known| known == class);
        if is_new {
            all.classes.push((class, bytes));
        }
        is_new.then_some(all)
    }

    /// Returns the model of all sizes that a call of a class belongs to, for modification; `None` for
    /// functions without classes.
    #[inline]
    pub(super) fn of_mut(&mut self, class: FunctionId) -> Option<(FunctionId, &mut AllSizes)> {
        if self.functions.is_empty() {
            return None;
        }
        let function = *self.functions.get(class)?;
        Some((function, self.models.get_mut(function)?))
    }

    /// Returns the model of all sizes that a call of a class belongs to.
    pub(super) fn of(&self, class: FunctionId) -> Option<(FunctionId, &AllSizes)> {
        let function = *self.functions.get(class)?;
        Some((function, self.models.get(function)?))
    }

    /// Returns the models of all functions with classes.
    pub(super) fn all(&self) -> impl Iterator<Item = (FunctionId, &AllSizes)> {
        self.models.iter()
    }

    /// Returns the models of all functions with classes for modification.
    pub(super) fn all_mut(&mut self) -> impl Iterator<Item = (FunctionId, &mut AllSizes)> {
        self.models.entries_mut()
    }

    /// Returns `true` if calls of a class or function are judged by its own model.
    pub(super) fn judges(&self, class: FunctionId) -> bool {
        self.of(class).is_none_or(|(_, all)| all.depends)
    }
}

impl AllSizes {
    /// Returns the models of the classes.
    pub(super) fn classes(&self) -> impl Iterator<Item = FunctionId> {
        self.classes.iter().map(|(class, _)| *class)
    }

    /// Judges a call of a class: by the calls of its class if run times depend on the size, and otherwise by
    /// those of all sizes.
    ///
    /// A class with few calls is judged by those of all sizes. If run times depend on the size, or if
    /// nothing is known about the class, these do not show that a call is slow for its size. It must then
    /// also be [`LONGER`] than the calls of its class, or than those of all sizes if times grow in
    /// proportion to the size.
    pub(super) fn judge(
        &self,
        (class, own): (FunctionId, &FunctionModes),
        value: u64,
        by: fn(&FunctionModes, u64) -> Judgement,
    ) -> Judgement {
        let is_young = own.is_young();
        if !is_young && self.depends {
            return by(own, value);
        }
        let judgement = by(&self.model, value);
        let is_unknown = is_young && (self.depends || own.sketch.count() < SEEN);
        if !is_unknown || self.largest == 0 || !judgement.label.is_anomaly() {
            return judgement;
        }
        let by_own = by(own, value);
        let is_longer = |longest: f64| longest > 0.0 && value as f64 > LONGER * longest;
        let is_slow =
            || is_longer(own.longest()) || is_longer(self.growth(class) * self.model.longest());
        if by_own.label == Label::BeyondExperience {
            by_own
        } else if judgement.label.is_slow() && is_slow() {
            judgement
        } else {
            TOO_FEW
        }
    }

    /// Returns the ratio of the size of a class to the largest one that is known; at least 1.
    fn growth(&self, class: FunctionId) -> f64 {
        let mut all = self.classes.iter();
        let bytes = all.find_map(|(one, bytes)| (*one == class).then_some(*bytes));
        (bytes.unwrap_or(0) as f64 / self.largest as f64).max(1.0)
    }

    /// Replaces the model.
    pub(super) fn set(&mut self, model: FunctionModes) {
        (self.model, self.compared) = (model, 0);
    }

    /// Decides whether run times depend on the size, if there are enough new calls, of all sizes or of
    /// `class`.
    pub(super) fn compare(&mut self, class: u64, known: &Functions<FunctionModes>) {
        let calls = self.model.sketch.count();
        let is_due = calls as f64 >= MORE * self.compared as f64 || calls < self.compared / 2;
        let is_new = class >= SEEN && class.is_power_of_two();
        if !is_due && !is_new {
            return;
        }
        self.compared = calls;
        let sketches = self.classes.iter();
        let sketches =
            sketches.filter_map(|(class, bytes)| Some((&known.get(*class)?.sketch, *bytes)));
        let sketches: Vec<_> = sketches.filter(|(one, _)| one.count() >= SEEN).collect();
        let sizes = sketches.iter().map(|(_, bytes)| *bytes);
        self.largest = sizes.max().unwrap_or(0);
        let mut pairs = sketches.iter().enumerate().flat_map(|(at, one)| {
            let others = sketches.iter().take(at);
            others.map(move |other| (one, other))
        });
        self.depends = pairs.any(|((one, _), (other, _))| differ(one, other));
    }
}

/// Returns `true` if the run times of two classes differ.
fn differ(one: &Sketch, other: &Sketch) -> bool {
    let (calls, others) = (one.count() as f64, other.count() as f64);
    let deviation = ((calls + others + 1.0) / (12.0 * calls * others)).sqrt();
    let least = (SLOWER - 0.5).max(DEVIATIONS * deviation);
    least < 0.5 && (slower_share(one, other) - 0.5).abs() >= least
}

/// Returns the share of the pairs of calls in which that of `one` is slower, where ties count half.
fn slower_share(one: &Sketch, other: &Sketch) -> f64 {
    let mut others = other.filled().peekable();
    let (mut below, mut wins) = (0.0, 0.0);
    for (bucket, calls) in one.filled() {
        while let Some((_, faster)) = others.next_if(|(at, _)| *at < bucket) {
            below += faster as f64;
        }
        let ties = others.peek().filter(|(at, _)| *at == bucket);
        wins += calls as f64 * (below + ties.map_or(0.0, |(_, ties)| *ties as f64 / 2.0));
    }
    wins / (one.count() as f64 * other.count() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf_core::Nanos;

    #[test]
    fn the_slower_of_two_distributions_wins() {
        let sketch = |from: i64| {
            let mut sketch = Sketch::new(Nanos(1));
            (0..100).for_each(|at| sketch.push(Nanos(100_000 + from + 1_000 * at)));
            sketch
        };
        assert_eq!(slower_share(&sketch(0), &sketch(0)), 0.5);
        assert_eq!(slower_share(&sketch(200_000), &sketch(0)), 1.0);
        assert_eq!(slower_share(&sketch(0), &sketch(200_000)), 0.0);
        // Half of the range overlaps: 1 - 0.5^2 / 2.
        let half = slower_share(&sketch(50_000), &sketch(0));
        assert!((half - 0.875).abs() < 0.02, "{half}");
    }
}
