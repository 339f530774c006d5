//! [`FunctionModes`]: sketch and modes of one function's run times, when to fit the modes again, and the
//! judgement of a call by them.

use super::extrapolation::Extrapolation;
use super::fit::{Wanted, extrapolate, fit, overlaps};
use super::mixture::Room;
use super::mode::Mode;
use super::params::TailChecked;
use super::program::{Allotment, Evidence, Multipliers, Program, UNCHANGED};
use super::sketch::{Sketch, edge};
use crate::detect::rules::TOO_FEW;
use crate::{Judgement, Label};
use perf_core::Nanos;
use statrs::distribution::{ContinuousCDF, Normal};

/// Reusable buffers for fits.
#[derive(Clone, Debug, Default)]
pub(super) struct Rooms {
    /// Occupied buckets.
    filled: Vec<(usize, u64)>,
    /// Buffers of mixtures.
    mixture: Room,
}

/// Sketch of a function, and the modes derived from it.
#[derive(Clone, Debug)]
pub(super) struct FunctionModes {
    /// Modes; empty if there is not enough data.
    pub(super) modes: Vec<Mode>,
    /// Parameters of the last fit.
    wanted: Wanted,
    /// Run times.
    pub(super) sketch: Sketch,
    /// Values of the last calls that were judged.
    recent: [u64; RECENT],
    /// Index of the oldest of them.
    next: usize,
    /// Boundaries between overlapping modes.
    pub(super) cuts: Vec<usize>,
    /// Number of calls from which the last mixture was computed; 0 if there was none.
    pub(super) mixed: u64,
    /// Number of views adopted since the last mixture.
    pub(super) age: u32,
    /// Number of calls at which the modes are fitted again.
    pub(super) refit_at: u64,
    /// Number of calls below which an abnormal call may be the first one of a mode.
    single_from: u64,
    /// Resolution in nanoseconds.
    resolution: u64,
    /// Evidence of the mode with most calls for the shapes of tails, as the program has learned it.
    pub(super) evidence: Option<Box<Evidence>>,
    /// New evidence that the program has not learned yet.
    news: Option<Option<Box<Evidence>>>,
    /// Number of calls at the last update of the evidence.
    evident: u64,
    /// Factors of the weights of the shapes of slow tails.
    factors: Multipliers,
    /// Number of calls since the last allotment of the rate of false alarms.
    pub(super) unallotted: u64,
    /// Allotted rate of false alarms, as a multiple of that of the program.
    pub(super) rate: f64,
    /// Multiple that the last fit used.
    pub(super) fitted_rate: f64,
}

/// Fewest calls from which a mixture is computed.
const MIXED: u64 = 64;
/// Largest number of additional calls before the next mixture, which is otherwise computed at twice
/// the number of calls.
const MIXED_MORE: u64 = 8192;
/// Number of views after which a mixture is fitted again regardless of the number of calls.
pub(super) const MIXED_VIEWS: u32 = 16;

/// Multiple of the minimum number of calls below which a call far from the known modes may be the
/// first one of a further mode: one in 20 calls is seen among 96 calls with a probability of 99 %.
const MODES_SEEN: u64 = 3;
/// Fewest calls of a mode from which other functions learn the shape of tails.
const EVIDENT: u64 = 50;
/// Number of calls that determine the shape of a tail.
const DECISIVE: u64 = 512;
/// Share of the calls that may be a mode if they take about the same time.
const KNOWN_SHARE: f64 = 0.01;
/// Number of deviations by which the number of seen calls may be below that share by chance.
const KNOWN_SPARE: f64 = 1.0;
/// Number of calls to which the deviations do not lower it for calls beyond experience.
const KNOWN_CALLS: f64 = 2.0;
/// Number of calls with which an abnormal call is compared.
const RECENT: usize = 64;
/// Number of the last of them that show a change.
const LAST: usize = 4;
/// Fewest recent calls of a mode from which a spread is computed.
const LEAST_RECENT: usize = 16;
/// Largest ratio of the distance of a call from the median to that of the second-farthest one of
/// the last calls, at which both belong to a change.
const ALIKE: f64 = 1.25;
/// Largest ratio of times that are about the same.
const SIMILAR: f64 = 1.3;
/// Distance of the quartiles of normal times in deviations.
const QUARTILES: f64 = 1.349;
/// Number of deviations that are added to the bound of normal times for the recent calls.
const SPARE: f64 = 0.2;
/// Distance of the median of the recent calls from that of their mode, in deviations, from which on
/// the function has changed.
const MOVED: f64 = 0.4;
/// Multiple of the longest calls of a mode above which a call is beyond experience if it is
/// abnormal, and not labelled normal otherwise.
const FARTHEST: f64 = 10.0;
/// Multiple of the longest of `n` calls above which the probability of a longer call is bounded by that of
/// a tail with a finite mean: it takes `c` times as long with a probability of at most `1 / ((n + 1) c)`, as
/// [`FunctionModes::warm_up`] derives. 900 ms are thus an alarm after 196 calls of at most 1.15 ms.
const FAR_BEYOND: f64 = 30.0;
/// Share of the probability of alarms for this rule, so that both rules together do not exceed it.
const BOTH_RULES: f64 = 0.7;
/// Multiple of the longest calls of a mode above which a call is abnormal even if few calls do not
/// exclude a tail that long. A Pareto tail with exponent 1 reaches it with a probability of
/// `0.001 / n` after `n` calls.
const UNSEEN: f64 = 1000.0;

impl FunctionModes {
    pub(super) fn new(sketch: Sketch, params: &TailChecked) -> Self {
        FunctionModes {
            modes: Vec::new(),
            wanted: params.wanted(None, 1.0, 0),
            sketch,
            recent: [0; RECENT],
            next: 0,
            cuts: Vec::new(),
            mixed: 0,
            age: 0,
            refit_at: params.minimum(),
            single_from: MODES_SEEN.saturating_mul(params.minimum()),
            resolution: params.resolution().0 as u64,
            evidence: None,
            news: None,
            evident: 0,
            factors: UNCHANGED,
            unallotted: 0,
            rate: 1.0,
            fitted_rate: 1.0,
        }
    }

    #[inline]
    pub(super) fn judge(&self, value: u64) -> Judgement {
        let at = self.modes.partition_point(|mode| mode.until < value);
        let Some(mode) = self.modes.get(at) else {
            return self.warm_up(value);
        };
        let (label, score) = if value > mode.seen || value < mode.low {
            match self.look(at, mode, value) {
                (Label::TooSlow | Label::TooFast, score)
                    if self.is_young() && !self.is_far(mode, value) =>
                {
                    (Label::NotEnoughData, score)
                }
                found => found,
            }
        } else {
            (Label::Normal, mode.score(value))
        };
        Judgement {
            label,
            score,
            expected: Some(self.time(mode.center)),
        }
    }

    /// Judges a call outside of the range of the calls of a mode.
    #[cold]
    fn look(&self, at: usize, mode: &Mode, value: u64) -> (Label, f64) {
        if value < mode.low {
            let below = at.checked_sub(1).and_then(|below| self.modes.get(below));
            let is_below = below.is_some_and(|below| {
                let tail = self.tail(at - 1, below);
                tail.probability(value as f64) >= below.probability
            });
            let mirrored = 2.0 * mode.center as f64 - value as f64;
            let is_usual =
                || self.fast_tail(at, mode).probability(mirrored) >= mode.fast_probability;
            let score = mode.score(value);
            return if is_below || is_usual() {
                (Label::Normal, score.min(-mode.fast_probability.log10()))
            } else {
                (Label::TooFast, score)
            };
        }
        let normal = mode.score(value).min(-mode.probability.log10());
        let times = value as f64 / mode.longest as f64;
        if mode.tail.get().is_none() && times <= FARTHEST && mode.is_common(value) {
            return (Label::Normal, normal);
        }
        let mut probability = self.tail(at, mode).probability(value as f64);
        if times > FAR_BEYOND {
            let bound = 1.0 / ((self.sketch.count() + 1) as f64 * times * BOTH_RULES);
            probability = probability.min(bound);
        }
        let is_above = self.modes.get(at + 1).is_some_and(|next| value >= next.low);
        let label = if is_above {
            Label::Normal
        } else if probability < mode.probability || times > UNSEEN {
            if times > FARTHEST {
                Label::BeyondExperience
            } else {
                Label::TooSlow
            }
        } else if times > FARTHEST {
            Label::NotEnoughData
        } else {
            Label::Normal
        };
        let score = match label {
            // Independent of the fits that were needed before.
            Label::Normal => normal,
            _ => -probability.max(f64::MIN_POSITIVE).log10(),
        };
        (label, score)
    }

    /// Returns `true` if an abnormal call is no exception among the last calls of its mode: two of
    /// them are nearly as far from the median, or it is within their spread. The function has then
    /// changed, or its calls depend on each other. A call beyond experience always is an exception.
    #[cold]
    fn lasts(&self, value: u64, judgement: &Judgement) -> bool {
        let median = judgement.expected.map_or(0.0, |time| time.0 as f64) + self.resolution as f64;
        let log = |value: u64| (value.max(1) as f64).ln();
        let distance = |value: u64| match judgement.label {
            Label::TooSlow => value as f64 - median,
            Label::TooFast => median.ln() - log(value),
            _ => f64::NAN,
        };
        let own = distance(value);
        let at = self.modes.partition_point(|mode| mode.until < value);
        let below = at.checked_sub(1).and_then(|below| self.modes.get(below));
        let from = below.map_or(0, |below| below.until);
        let until = self.modes.get(at).map_or(u64::MAX, |mode| mode.until);
        let last = (1..=LAST).map(|back| self.recent[(self.next + RECENT - back) % RECENT]);
        let is_alike =
            |recent: &u64| *recent > from && *recent <= until && ALIKE * distance(*recent) >= own;
        if last.filter(is_alike).count() >= 2 || self.is_known(value, judgement.label) {
            return true;
        }
        let mut near = self.recent;
        near.sort_unstable();
        let first = near.partition_point(|recent| *recent <= from);
        let end = near.partition_point(|recent| *recent <= until);
        // No recent call is between reversed bounds.
        let near = near.get(first..end).unwrap_or_default();
        if own.is_nan() || near.len() < LEAST_RECENT {
            return false;
        }
        // Quartiles, because some of the calls may be anomalies.
        let quartile = |quarters| distance(near[near.len() * quarters / 4]);
        let deviation = (quartile(3) - quartile(1)).abs() / QUARTILES;
        let bound = SPARE - Normal::standard().inverse_cdf(self.wanted.probability);
        // The spread of few calls is uncertain. Unless their median has moved, its lower bound
        // decides, which is about one deviation lower.
        let least = if quartile(2).abs() > MOVED * deviation {
            1.0
        } else {
            1.0 - 1.0 / (near.len() as f64).sqrt()
        };
        own - quartile(2) < bound * least * deviation
    }

    /// Returns `true` if so many calls are abnormal in the same way and took about the same time that
    /// they may be 1 % of all calls, and a mode of the function that has not enough calls yet.
    fn is_known(&self, value: u64, label: Label) -> bool {
        let at = self.modes.partition_point(|mode| mode.until < value);
        let Some(mode) = self.modes.get(at) else {
            return false;
        };
        let value = value as f64;
        let share = KNOWN_SHARE * self.sketch.count() as f64;
        let floor = if value > FARTHEST * mode.longest as f64 {
            share.min(KNOWN_CALLS)
        } else {
            0.0
        };
        let least = (share - KNOWN_SPARE * share.sqrt()).max(floor);
        let are_enough = |from: f64, until: f64| {
            let near = self.sketch.filled();
            let middle = |bucket| {
                let (low, high) = self.sketch.bounds(bucket);
                f64::midpoint(low, high)
            };
            let near = near.filter(|(bucket, _)| (from..until).contains(&middle(*bucket)));
            let calls: u64 = near.map(|(_, calls)| calls).sum();
            calls > 0 && calls as f64 >= least
        };
        let (from, until) = (value / SIMILAR, value * SIMILAR);
        // The bound of normal calls is costly, and rarely needed.
        are_enough(from, until)
            && match label {
                Label::TooFast => are_enough(from, until.min(mode.low as f64)),
                _ => are_enough(from.max(self.highest(at, mode) as f64), until),
            }
    }

    /// Judges the next call: like [`judge`](Self::judge), but a call that is no exception among the
    /// last calls has not enough data.
    #[inline]
    pub(super) fn judge_next(&self, value: u64) -> Judgement {
        let mut judgement = self.judge(value);
        if judgement.label.is_anomaly() && self.lasts(value, &judgement) {
            judgement.label = Label::NotEnoughData;
        }
        judgement
    }

    /// Returns `true` if a call without an alarm takes longer than all calls of its mode, and is an exception
    /// among the last calls, so that later calls may show that it is abnormal.
    #[cold]
    pub(super) fn is_undecided(&self, value: u64, judgement: &Judgement) -> bool {
        let at = self.modes.partition_point(|mode| mode.until < value);
        let is_longest = |mode: &Mode| value > mode.longest;
        let slow = Judgement {
            label: Label::TooSlow,
            ..*judgement
        };
        self.modes.get(at).is_some_and(is_longest) && !self.lasts(value, &slow)
    }

    /// Judges a call like [`judge`](Self::judge), but it is [`Label::NotEnoughData`] if similar calls are known.
    pub(super) fn judge_again(&self, value: u64) -> Judgement {
        let mut judgement = self.judge(value);
        if judgement.label.is_anomaly() && self.is_known(value, judgement.label) {
            judgement.label = Label::NotEnoughData;
        }
        judgement
    }

    /// Returns the model of all calls but one.
    pub(super) fn without(
        &self,
        value: u64,
        params: &TailChecked,
        (per_million, tick): (Option<f64>, u64),
        room: &mut Rooms,
    ) -> Self {
        let mut others = self.clone();
        others.sketch.remove(value);
        others.refit(params, per_million, tick, room);
        others
    }

    /// Learns a call, and returns `true` if the modes must be fitted again.
    #[inline]
    pub(super) fn learn(&mut self, value: u64) -> bool {
        self.recent[self.next] = value;
        self.next = (self.next + 1) % RECENT;
        self.sketch.add(value, 1);
        self.unallotted += 1;
        self.sketch.count() >= self.refit_at
    }

    /// Returns `true` if an abnormal call may be the first one of a mode.
    pub(super) fn is_young(&self) -> bool {
        self.sketch.count() < self.single_from
    }

    /// Returns `true` if a call of a function with few calls is too long to be the first one of a
    /// further mode: ten times the longest call at the minimum number of calls, and less with more.
    #[cold]
    fn is_far(&self, mode: &Mode, value: u64) -> bool {
        let missing = self.single_from.saturating_sub(self.sketch.count()) as f64;
        let all = self.single_from as f64 * (1.0 - 1.0 / MODES_SEEN as f64);
        value as f64 > FARTHEST.powf(missing / all) * mode.longest as f64
    }

    /// Judges one of the first calls of a function, which are too few for a fit.
    ///
    /// Let `x` be the longest of `n` calls, and `S` the survival function of the run times. If `x
    /// S(x)` does not increase beyond `x`, the tail is at most a Pareto tail with exponent 1, the
    /// limit of tails with a finite mean. The mean of `S(x)` is `1 / (n + 1)`, so that a new call
    /// exceeds `c x` with a probability of at most `1 / ((n + 1) c)`.
    #[cold]
    fn warm_up(&self, value: u64) -> Judgement {
        let calls = self.sketch.count();
        let probability = self.longest() / value as f64 / (calls + 1) as f64;
        if calls == 0 || probability >= self.wanted.probability {
            return TOO_FEW;
        }
        Judgement {
            label: Label::BeyondExperience,
            score: -probability.log10(),
            expected: self.sketch.quantile(0.5),
        }
    }

    /// Returns the upper edge of the bucket of the longest call; 0 without calls.
    pub(super) fn longest(&self) -> f64 {
        let last = self.sketch.filled().next_back();
        last.map_or(0.0, |(bucket, _)| edge(bucket + 1))
    }

    /// Returns the slow tail of a mode.
    fn tail<'a>(&'a self, at: usize, mode: &'a Mode) -> &'a Extrapolation {
        mode.tail.get_or_init(|| self.extrapolate(at, mode, None))
    }

    /// Returns the tail of the fast calls of a mode, mirrored at the median.
    fn fast_tail<'a>(&'a self, at: usize, mode: &'a Mode) -> &'a Extrapolation {
        mode.fast_tail
            .get_or_init(|| self.extrapolate(at, mode, Some(mode.center)))
    }

    fn extrapolate(&self, at: usize, mode: &Mode, median: Option<u64>) -> Box<Extrapolation> {
        let below = at.checked_sub(1).and_then(|below| self.modes.get(below));
        let range = (below.map_or(0, |below| below.until), mode.until);
        let (sketch, wanted) = (&self.sketch, &self.wanted);
        Box::new(extrapolate(sketch, wanted, range, median, &self.factors))
    }

    /// Returns the lowest normal value of a mode.
    pub(super) fn lowest(&self, at: usize, mode: &Mode) -> u64 {
        // Conversions saturate.
        let mirrored = self.fast_tail(at, mode).bound(mode.fast_probability) as u64;
        mode.low
            .min(mode.center.saturating_mul(2).saturating_sub(mirrored))
    }

    /// Returns the highest normal value of a mode.
    pub(super) fn highest(&self, at: usize, mode: &Mode) -> u64 {
        // The conversion saturates.
        let bound = self.tail(at, mode).bound(mode.probability) as u64;
        let known = (FARTHEST * mode.longest as f64) as u64;
        bound.min(known).max(mode.seen).min(mode.until)
    }

    /// Takes over what the program knows about tails, and returns `true` if the function has new
    /// evidence for it. The evidence is updated at twice the number of calls, and
    /// eight times once there are [`DECISIVE`] calls, because each update costs a fit.
    pub(super) fn exchange(&mut self, program: &Program) -> bool {
        self.learn_from(program);
        let calls = self.sketch.count();
        let largest = self.modes.iter().enumerate();
        let largest = largest.max_by_key(|(at, mode)| (mode.calls, usize::MAX - at));
        let times = if self.evident < DECISIVE { 2 } else { 8 };
        let is_due = calls >= times * self.evident || calls < self.evident / 2;
        match largest {
            Some((at, mode)) if is_due && mode.calls >= EVIDENT => {
                let new = self.tail(at, mode).evidence().cloned();
                self.news = Some(new.map(Box::new));
                self.evident = calls;
                true
            }
            _ => false,
        }
    }

    /// Copies the evidence of an earlier model of the same function.
    pub(super) fn keep_evidence(&mut self, before: &FunctionModes) {
        self.evidence.clone_from(&before.evidence);
        self.news.clone_from(&before.news);
        self.evident = before.evident;
    }

    /// Returns the evidence, including the news, which the program is about to learn.
    pub(super) fn publish(&mut self) -> Option<&mut Evidence> {
        if let Some(new) = self.news.take() {
            self.evidence = new;
        }
        self.evidence.as_deref_mut()
    }

    /// Takes over what the program knows about tails, and drops the tails with other weights.
    pub(super) fn learn_from(&mut self, program: &Program) {
        let evidence = self.evidence.as_deref();
        let factors = evidence.map_or(UNCHANGED, |one| program.multipliers(one));
        if factors != std::mem::replace(&mut self.factors, factors) {
            for mode in &mut self.modes {
                mode.tail.take();
            }
        }
    }

    pub(super) fn time(&self, value: u64) -> Nanos {
        let time = value.saturating_sub(self.resolution);
        Nanos(i64::try_from(time).unwrap_or(i64::MAX))
    }

    #[cold]
    pub(super) fn refit(
        &mut self,
        params: &TailChecked,
        per_million: Option<f64>,
        tick: u64,
        room: &mut Rooms,
    ) {
        let has_new_tick = self.wanted.tick != tick.max(self.resolution) as f64;
        if has_new_tick {
            // Distances of modes depend on the tick.
            self.mixed = 0;
        }
        while self.sketch.count() >= params.memory() {
            self.sketch.halve();
            self.mixed = 0;
        }
        let calls = self.sketch.count();
        let before = calls.saturating_sub(self.unallotted);
        // A rate that was set for the function is not multiplied.
        let rate = || Allotment::lowered(self.rate, before, calls);
        self.fitted_rate = per_million.map_or_else(rate, |_| 1.0);
        let wanted = params.wanted(per_million, self.fitted_rate, tick);
        self.wanted = wanted;
        if calls < params.minimum() {
            self.modes.clear();
            self.refit_at = params.minimum();
            return;
        }
        let more = self.mixed.min(MIXED_MORE);
        if calls >= MIXED.max(self.mixed + more)
            || calls < self.mixed / 2
            || self.age >= MIXED_VIEWS
        {
            let Rooms { filled, mixture } = &mut *room;
            overlaps(&self.sketch, &wanted, filled, mixture, &mut self.cuts);
            (self.mixed, self.age) = (calls, 0);
        }
        let modes = fit(&self.sketch, &wanted, &self.cuts, &mut room.filled);
        let earlier = std::mem::replace(&mut self.modes, modes);
        // Tails of another tick describe other ties.
        if earlier.len() == self.modes.len() && !has_new_tick {
            for (mode, earlier) in self.modes.iter_mut().zip(earlier) {
                mode.keep(earlier);
            }
        }
        self.refit_at = (calls + (calls / 16).clamp(8, 1024)).min(params.memory());
    }
}
