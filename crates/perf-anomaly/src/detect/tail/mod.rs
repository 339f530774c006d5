//! [`Tail`]: detector with a stated number of false alarms per million calls.

mod experience;
mod fit;
mod mixture;
mod mode;
mod params;
mod sketch;

pub use params::{TailChecked, TailParams};
pub use sketch::Sketch;
pub(super) use sketch::edge;

use super::LOOK;
use super::rules::{IGNORED, Rules, TOO_FEW};
use super::{Detector, Functions, Model};
use crate::{FunctionId, Judgement, Label, Result, Sample};
use experience::Experience;
use fit::{Wanted, fit, overlaps};
use mixture::Room;
use mode::Mode;
use perf_core::{Cancelled, Job, Merge, Nanos};

/// Labels a call as abnormal if its run time lies in a far tail of the earlier run times of its
/// function. This is the default detector.
///
/// * A call is scored before it is learned, so that it cannot mask itself.
/// * Alarms are calibrated: of a million calls of an unchanged function, at most
///   [`false_positives`](TailParams::false_positives) are expected to be labelled abnormal, for any
///   number of earlier calls. This holds if the tails of the run times are at most exponential. On
///   the slow side this means exponential in log time, which includes normal, lognormal, uniform
///   and Pareto run times; on the fast side it means exponential in time. The extrapolation of the
///   outermost calls accounts for the uncertainty of its estimate; the source file `tail/mode.rs`
///   has the derivation.
/// * With fewer than [`minimum`](TailParams::minimum) calls the label is [`Label::NotEnoughData`].
/// * If there are few calls, or many equal run times at the tick of the clock, the bound of the
///   tail may be far too long. A much longer call is then [`Label::BeyondExperience`], a separate
///   kind of alarm. With the default rate of false alarms, after `n` calls such a call takes at
///   least `2e6 / (n + 1)` times as long as the longest of them, and at least ten times as long. A
///   call between ten times the longest one and that limit is [`Label::NotEnoughData`]. If the
///   longest calls are outliers, the limit may be lower, because it is also computed from the
///   [`mode_calls`](TailParams::mode_calls)-th longest call.
/// * A function may have several modes, such as for messages of two sizes. Gaps separate modes.
///   Where there is no gap, the valleys of a mixture of normal distributions of the log run time
///   separate them. A mode holds at least [`mode_share`](TailParams::mode_share) of the calls, or
///   at least [`rare_share`](TailParams::rare_share) if its calls take about the same time. Rare
///   calls that repeat the same time are therefore reported until 16 of them are known. A call
///   between two modes is abnormal if it is outside of the normal ranges of both modes. It is too
///   slow if the lower mode is nearer, otherwise too fast.
/// * Old calls have less weight: at [`memory`](TailParams::memory) calls of a function, all its
///   counts are halved. If a function changes, its calls are abnormal until they are a mode. A
///   [`Drift`](crate::Drift) reports the change, and can reset the model.
/// * The score is `-log10` of the probability of a call so far out in its mode. The expected run
///   time is the median of the mode, within 0.8 %.
///
/// There is one model for each [`FunctionId`], which may be a function or a call path. A model
/// takes at most 30 KB, usually 3 KB. The modes of a function are refitted when the function has a
/// sixteenth more calls, at least 8 and at most 1,024 more. Its mixture is refitted when the
/// function has twice as many calls, at most 8,192 more.
///
/// If 100 functions are called in turn 1,000 times each, a call takes 400 instructions, including
/// all refits. With more calls it takes fewer. On one core, merging the sketches of 1,000 functions
/// takes 52 us; merging moments takes 6 us.
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
    /// Bound above which calls are beyond experience.
    experience: Experience,
    /// Run times.
    sketch: Sketch,
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

impl Watched {
    #[inline]
    fn judge(&self, value: u64) -> Judgement {
        let mode = self.modes.iter().find(|mode| value <= mode.until);
        let Some(mode) = mode else {
            return TOO_FEW;
        };
        let mut score = mode.score(value);
        let label = if value > mode.high {
            Label::TooSlow
        } else if value > self.experience.until {
            score = score.max(self.experience.score(value));
            Label::BeyondExperience
        } else if value > mode.known {
            Label::NotEnoughData
        } else if value < mode.low {
            Label::TooFast
        } else {
            Label::Normal
        };
        Judgement {
            label,
            score,
            expected: Some(Nanos(mode.center.saturating_sub(self.resolution) as i64)),
        }
    }

    #[cold]
    fn refit(&mut self, params: &TailChecked, per_million: Option<f64>, room: &mut Rooms) {
        while self.sketch.count() >= params.memory() {
            self.sketch.halve();
            self.mixed = 0;
        }
        let calls = self.sketch.count();
        if calls < params.minimum() {
            self.modes.clear();
            self.experience = Experience::default();
            self.refit_at = params.minimum();
            return;
        }
        let wanted = Wanted {
            // Two tails for each mode.
            probability: per_million.unwrap_or(params.false_positives()) / 2e6,
            mode_calls: params.mode_calls(),
            mode_share: params.mode_share(),
            rare_share: params.rare_share(),
        };
        let more = self.mixed.min(MIXED_MORE);
        if calls >= MIXED.max(self.mixed + more)
            || calls < self.mixed / 2
            || self.age >= MIXED_VIEWS
        {
            let Rooms { filled, mixture } = &mut *room;
            overlaps(&self.sketch, &wanted, filled, mixture, &mut self.cuts);
            (self.mixed, self.age) = (calls, 0);
        }
        self.modes = fit(&self.sketch, &wanted, &self.cuts, &mut room.filled);
        self.experience = Experience::of(&self.sketch, &wanted);
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
        let watched = self.known.get(function);
        let modes = watched.map_or(&[][..], |watched| &watched.modes);
        let resolution = self.params.resolution().0 as u64;
        let time = |value: u64| {
            let time = value.saturating_sub(resolution);
            Nanos(i64::try_from(time).unwrap_or(i64::MAX))
        };
        modes
            .iter()
            .map(|mode| {
                let highest = watched.map_or(u64::MAX, |watched| watched.experience.until);
                time(mode.low)..=time(mode.highest().min(highest))
            })
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
        let judgement = watched.judge(value);
        watched.sketch.add(value, 1);
        if watched.sketch.count() >= watched.refit_at {
            let per_million = self.rules.threshold(sample.function);
            watched.refit(params, per_million, &mut self.room);
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
            watched.refit(&self.params, per_million, &mut self.room);
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
            experience: Experience::default(),
            sketch,
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
        let time = |value: u64| value.saturating_sub(watched.resolution) as f64;
        let mut facts = vec![("calls".into(), watched.sketch.count() as f64)];
        for (at, mode) in watched.modes.iter().enumerate() {
            for (what, value) in [
                ("from", mode.low),
                ("median", mode.center),
                ("to", mode.highest().min(watched.experience.until)),
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
            watched.refit(&self.params, per_million, &mut self.room);
        }
        Ok(())
    }
}
