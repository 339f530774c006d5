//! [`Tail`]: detector with a stated number of false alarms per million calls.

mod extrapolation;
mod fit;
mod mixture;
mod mode;
mod params;
mod sketch;
mod tick;

pub use params::{TailChecked, TailParams};
pub use sketch::Sketch;
pub(super) use sketch::edge;

use super::LOOK;
use super::rules::{IGNORED, Rules, TOO_FEW};
use super::{Detector, Functions, Model};
use crate::{FunctionId, Judgement, Label, Result, Sample};
use extrapolation::Extrapolation;
use fit::{Wanted, extrapolate, fit, overlaps};
use mixture::Room;
use mode::Mode;
use perf_core::{Cancelled, Job, Merge, Nanos};
use statrs::distribution::{ContinuousCDF, Normal};
use tick::Tick;

/// Labels a call as abnormal if its run time lies in a far tail of the earlier run times of its
/// function. This is the default detector.
///
/// * A call is scored before it is learned, so that it cannot mask itself.
/// * Alarms are calibrated: of a million calls of an unchanged function, at most
///   [`false_positives`](TailParams::false_positives) are expected to be labelled abnormal, six of
///   ten on the slow side. The detector works in two stages. Calls within the range of earlier
///   calls are normal. For the few others, the slow tail of their mode is extrapolated with a
///   family of shapes from lighter than normal to heavier than Pareto, averaged over shapes and
///   scales by their likelihood. The uncertainty of few calls is thus part of the result; the
///   source file `tail/extrapolation.rs` has the family. The fast tail is assumed to be at most
///   exponential in time.
/// * Run times are intervals of the [`resolution`](TailParams::resolution), so that ties at the tick
///   of the clock have a tail. If most calls of a mode are ties at a few ticks, its tail consists of
///   the longer calls, however few they are. Calls are abnormal only if they are two resolutions
///   beyond.
/// * An abnormal call that takes more than ten times as long as the longest call of its mode is
///   [`Label::BeyondExperience`], a separate kind of alarm. A thousand times the longest call is
///   always an alarm. A call above ten times the longest that is not abnormal at the stated rate is
///   [`Label::NotEnoughData`].
/// * With fewer than [`minimum`](TailParams::minimum) calls the label is [`Label::NotEnoughData`],
///   unless the call takes `1 / ((n + 1) p)` times as long as the longest of `n` calls, for an
///   alarm probability of `p`. Such a call is beyond experience.
/// * A call that is no exception among the last calls is [`Label::NotEnoughData`]: two of the last
///   four are about as far from the median, or it is within the spread of the last 64 of its mode.
///   A step in speed is thus reported by its first calls, and a drift not at all; a
///   [`Drift`](crate::Drift) reports both as changes.
/// * A function may have several modes, such as for messages of two sizes. Gaps separate modes.
///   Where there is no gap, the valleys of a mixture of normal distributions of the log run time
///   separate them. A mode holds at least [`mode_share`](TailParams::mode_share) of the calls, or
///   at least [`rare_share`](TailParams::rare_share) if its calls take about the same time. Rare
///   calls that repeat the same time are therefore reported until 16 of them are known. A call
///   between two modes is abnormal if it is outside of the normal ranges of both modes. It is too
///   slow if the lower mode is nearer, otherwise too fast.
/// * Old calls have less weight: at [`memory`](TailParams::memory) calls of a function, all its
///   counts are halved.
/// * The score is `-log10` of the probability of a call so far out in its mode. The expected run
///   time is the median of the mode, within 0.8 %.
///
/// There is one model for each [`FunctionId`], which may be a function or a call path. A model
/// takes at most 30 KB, usually 3 KB. The modes of a function are refitted when the function has a
/// sixteenth more calls, at least 8 and at most 1,024 more. Its mixture is refitted when the
/// function has twice as many calls, at most 8,192 more.
///
/// Judging and learning a call takes 0.05 to 0.2 us of CPU time if each function has 20,000 calls,
/// and 0.04 to 1.2 us if it has 1,000, including all refits. Heavy tails take longest. On one core,
/// merging the sketches of 1,000 functions takes about 50 us; merging moments takes 6 us.
///
/// See [`Detector`] for an example.
#[derive(Clone, Debug)]
pub struct Tail {
    /// Parameters.
    params: TailChecked,
    /// Ignored functions and thresholds.
    rules: Rules,
    /// Model of each function.
    known: Functions<Watched>,
    /// Knowledge that has not been sent yet; `None` if nothing has been sent.
    untold: Option<Functions<Sketch>>,
    /// Tick of the clock.
    tick: Tick,
    /// Reusable buffers.
    room: Rooms,
}

/// Reusable buffers for fits.
#[derive(Clone, Debug, Default)]
struct Rooms {
    /// Occupied buckets.
    filled: Vec<(usize, u64)>,
    /// Buffers of mixtures.
    mixture: Room,
}

/// Sketch of a function, and the modes derived from it.
#[derive(Clone, Debug)]
struct Watched {
    /// Modes; empty if there is not enough data.
    modes: Vec<Mode>,
    /// Parameters of the last fit.
    wanted: Wanted,
    /// Run times.
    sketch: Sketch,
    /// Values of the last calls that were judged.
    recent: [u64; RECENT],
    /// Index of the oldest of them.
    next: usize,
    /// Boundaries between overlapping modes.
    cuts: Vec<usize>,
    /// Number of calls from which the last mixture was computed; 0 if there was none.
    mixed: u64,
    /// Number of views adopted since the last mixture.
    age: u32,
    /// Number of calls at which the modes are fitted again.
    refit_at: u64,
    /// Resolution in nanoseconds.
    resolution: u64,
}

/// Fewest calls from which a mixture is computed.
const MIXED: u64 = 64;
/// Largest number of additional calls before the next mixture, which is otherwise computed at twice
/// the number of calls.
const MIXED_MORE: u64 = 8192;
/// Number of views after which a mixture is fitted again regardless of the number of calls.
const MIXED_VIEWS: u32 = 16;

/// Number of calls with which an abnormal call is compared.
const RECENT: usize = 64;
/// Number of the last of them that show a change.
const LAST: usize = 4;
/// Fewest recent calls of a mode from which a spread is computed.
const LEAST_RECENT: usize = 16;
/// Largest ratio of the distance of a call from the median to that of the second-farthest one of
/// the last calls, at which both belong to a change.
const ALIKE: f64 = 1.25;
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
/// Multiple of the longest calls of a mode above which a call is abnormal even if few calls do not
/// exclude a tail that long. A Pareto tail with exponent 1 reaches it with a probability of
/// `0.001 / n` after `n` calls.
const UNSEEN: f64 = 1000.0;

impl Watched {
    #[inline]
    fn judge(&self, value: u64) -> Judgement {
        let at = self.modes.partition_point(|mode| mode.until < value);
        let Some(mode) = self.modes.get(at) else {
            return self.warm_up(value);
        };
        let (label, score) = if value > mode.seen || value < mode.low {
            self.look(at, mode, value)
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
            let label = if is_below {
                Label::Normal
            } else {
                Label::TooFast
            };
            return (label, mode.score(value));
        }
        let normal = mode.score(value).min(-mode.probability.log10());
        let times = value as f64 / mode.longest as f64;
        if mode.tail.get().is_none() && times <= FARTHEST && mode.is_common(value) {
            return (Label::Normal, normal);
        }
        let probability = self.tail(at, mode).probability(value as f64);
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
        if last.filter(is_alike).count() >= 2 {
            return true;
        }
        let mut near = self.recent;
        near.sort_unstable();
        let first = near.partition_point(|recent| *recent <= from);
        let end = near.partition_point(|recent| *recent <= until);
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

    #[inline]
    fn remember(&mut self, value: u64) {
        self.recent[self.next] = value;
        self.next = (self.next + 1) % RECENT;
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
    fn longest(&self) -> f64 {
        let last = self.sketch.filled().next_back();
        last.map_or(0.0, |(bucket, _)| edge(bucket + 1))
    }

    /// Returns the slow tail of a mode.
    fn tail<'a>(&'a self, at: usize, mode: &'a Mode) -> &'a Extrapolation {
        mode.tail.get_or_init(|| {
            let below = at.checked_sub(1).and_then(|below| self.modes.get(below));
            let from = below.map_or(0, |below| below.until);
            let range = (from, mode.until);
            Box::new(extrapolate(&self.sketch, &self.wanted, range))
        })
    }

    /// Returns the highest normal value of a mode.
    fn highest(&self, at: usize, mode: &Mode) -> u64 {
        // The conversion saturates.
        let bound = self.tail(at, mode).bound(mode.probability) as u64;
        let known = (FARTHEST * mode.longest as f64) as u64;
        bound.min(known).max(mode.seen).min(mode.until)
    }

    fn time(&self, value: u64) -> Nanos {
        let time = value.saturating_sub(self.resolution);
        Nanos(i64::try_from(time).unwrap_or(i64::MAX))
    }

    #[cold]
    fn refit(
        &mut self,
        params: &TailChecked,
        per_million: Option<f64>,
        tick: u64,
        room: &mut Rooms,
    ) {
        while self.sketch.count() >= params.memory() {
            self.sketch.halve();
            self.mixed = 0;
        }
        let wanted = params.wanted(per_million, tick);
        self.wanted = wanted;
        let calls = self.sketch.count();
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
        if earlier.len() == self.modes.len() {
            for (mode, earlier) in self.modes.iter_mut().zip(earlier) {
                mode.keep(earlier);
            }
        }
        self.refit_at = (calls + (calls / 16).clamp(8, 1024)).min(params.memory());
    }
}

impl Default for Tail {
    /// Returns a detector with the default parameters and an empty model.
    fn default() -> Self {
        Tail::new(TailChecked::default())
    }
}

impl Tail {
    /// Returns parameters with their default values.
    pub fn params() -> TailParams {
        TailParams::default()
    }

    /// Creates a detector with an empty model.
    pub fn new(params: TailChecked) -> Self {
        Tail {
            params,
            rules: Rules::default(),
            known: Functions::default(),
            untold: None,
            tick: Tick::default(),
            room: Rooms::default(),
        }
    }

    /// Returns the sketch of a function's run times; `None` if no call of the function was learned.
    pub fn sketch(&self, function: FunctionId) -> Option<&Sketch> {
        self.known.get(function).map(|watched| &watched.sketch)
    }

    /// Returns the ranges of normal run times of a function in ascending order, one for each mode;
    /// empty if there is not enough data.
    pub fn normal(&self, function: FunctionId) -> Vec<std::ops::RangeInclusive<Nanos>> {
        let Some(watched) = self.known.get(function) else {
            return Vec::new();
        };
        let modes = watched.modes.iter().enumerate();
        modes
            .map(|(at, mode)| watched.time(mode.low)..=watched.time(watched.highest(at, mode)))
            .collect()
    }

    /// Judges a call and then learns it, unless the call is ignored or a first call.
    #[inline]
    fn step(&mut self, sample: &Sample) -> Judgement {
        if self.rules.ignored(sample.function) {
            return IGNORED;
        }
        if sample.first && !self.params.learns_first() {
            return TOO_FEW;
        }
        let params = &self.params;
        let watched = self.known.entry(sample.function, || {
            Watched::new(Sketch::new(params.resolution()), params)
        });
        let value = watched.sketch.value(sample.runtime);
        self.tick.add(sample.runtime.0.max(0) as u64);
        let mut judgement = watched.judge(value);
        if judgement.label.is_anomaly() && watched.lasts(value, &judgement) {
            judgement.label = Label::NotEnoughData;
        }
        watched.remember(value);
        watched.sketch.add(value, 1);
        if watched.sketch.count() >= watched.refit_at {
            let per_million = self.rules.threshold(sample.function);
            watched.refit(params, per_million, self.tick.nanos(), &mut self.room);
        }
        if let Some(untold) = &mut self.untold {
            let sketch = untold.entry(sample.function, || Sketch::new(params.resolution()));
            sketch.add(value, 1);
        }
        judgement
    }

    fn sketches(&self) -> Functions<Sketch> {
        let mut sketches = Functions::default();
        for (function, watched) in self.known.iter() {
            sketches.entry(function, || watched.sketch.clone());
        }
        sketches
    }

    /// Replaces the model by the sketches of `view`, and refits all modes.
    fn know(&mut self, view: &Functions<Sketch>) {
        let known = std::mem::take(&mut self.known);
        for (function, theirs) in view.iter() {
            // Values use the resolution of this detector.
            let mut sketch = Sketch::new(self.params.resolution());
            sketch.merge_into_own(theirs);
            while sketch.count() >= self.params.memory() {
                sketch.halve();
            }
            let mut watched = Watched::new(sketch, &self.params);
            if let Some(before) = known.get(function).filter(|before| before.mixed > 0) {
                // Mixtures are not recomputed at each view, nor for all functions at the same view.
                watched.cuts.clone_from(&before.cuts);
                (watched.mixed, watched.age) = (before.mixed, before.age + 1);
            }
            let per_million = self.rules.threshold(function);
            watched.refit(&self.params, per_million, self.tick.nanos(), &mut self.room);
            if known.get(function).is_none() {
                watched.age = function.0 % MIXED_VIEWS;
            }
            self.known.entry(function, || watched);
        }
    }
}

impl Watched {
    fn new(sketch: Sketch, params: &TailChecked) -> Self {
        Watched {
            modes: Vec::new(),
            wanted: params.wanted(None, 0),
            sketch,
            recent: [0; RECENT],
            next: 0,
            cuts: Vec::new(),
            mixed: 0,
            age: 0,
            refit_at: params.minimum(),
            resolution: params.resolution().0 as u64,
        }
    }
}

impl Detector for Tail {
    fn name(&self) -> &'static str {
        "tail"
    }

    fn options(&self) -> Vec<(String, String)> {
        self.params.options()
    }

    fn detect(
        &mut self,
        samples: &[Sample],
        judgements: &mut Vec<Judgement>,
        job: &Job,
    ) -> std::result::Result<(), Cancelled> {
        judgements.reserve(samples.len());
        for some in samples.chunks(LOOK) {
            job.check()?;
            judgements.extend(some.iter().map(|sample| self.step(sample)));
        }
        Ok(())
    }

    fn learn(&mut self, samples: &[Sample]) {
        for sample in samples {
            self.step(sample);
        }
    }

    fn rejudge(&self, samples: &[Sample], judgements: &mut Vec<Judgement>) {
        judgements.extend(samples.iter().map(|sample| {
            if self.rules.ignored(sample.function) {
                return IGNORED;
            }
            match self.known.get(sample.function) {
                Some(watched) if !sample.first || self.params.learns_first() => {
                    watched.judge(watched.sketch.value(sample.runtime))
                }
                _ => TOO_FEW,
            }
        }));
    }

    fn snapshot(&self) -> Model {
        Model::Tail(self.sketches())
    }

    fn take_delta(&mut self) -> Model {
        match self.untold.replace(Functions::default()) {
            Some(untold) => Model::Tail(untold),
            None => self.snapshot(),
        }
    }

    fn adopt(&mut self, view: &Model) -> Result<()> {
        let mut view = view.as_tail()?.clone();
        let untold = match self.untold.take() {
            Some(untold) => untold,
            None => self.sketches(),
        };
        view.merge(&untold);
        self.untold = Some(untold);
        self.know(&view);
        Ok(())
    }

    fn restore(&mut self, snapshot: &Model) -> Result<()> {
        let snapshot = snapshot.as_tail()?;
        self.know(snapshot);
        self.untold = Some(Functions::default());
        Ok(())
    }

    fn describe(&self, function: FunctionId) -> Vec<(String, f64)> {
        let Some(watched) = self.known.get(function) else {
            return Vec::new();
        };
        let time = |value| watched.time(value).0 as f64;
        let mut facts = vec![("calls".into(), watched.sketch.count() as f64)];
        for (at, mode) in watched.modes.iter().enumerate() {
            for (what, value) in [
                ("from", mode.low),
                ("median", mode.center),
                ("to", watched.highest(at, mode)),
            ] {
                facts.push((format!("mode {} {what}", at + 1), time(value)));
            }
            let share = mode.calls as f64 / watched.sketch.count().max(1) as f64;
            facts.push((
                format!("mode {} share", at + 1),
                (share * 1e4).round() / 1e4,
            ));
        }
        facts
    }

    fn forget(&mut self, function: FunctionId) {
        // Knowledge that has not been sent must be kept for the server.
        if self.untold.is_none() {
            self.untold = Some(self.sketches());
        }
        if let Some(watched) = self.known.get_mut(function) {
            *watched = Watched::new(Sketch::new(self.params.resolution()), &self.params);
        }
    }

    fn ignore(&mut self, function: FunctionId, ignored: bool) {
        self.rules.ignore(function, ignored);
    }

    fn set_threshold(&mut self, function: FunctionId, per_million: Option<f64>) -> Result<()> {
        per_million.map_or(Ok(()), params::check_false_positives)?;
        self.rules.set_threshold(function, per_million);
        if let Some(watched) = self.known.get_mut(function) {
            watched.refit(&self.params, per_million, self.tick.nanos(), &mut self.room);
        }
        Ok(())
    }
}
