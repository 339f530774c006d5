//! [`Tail`]: a stated number of false alarms per million calls.

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

/// Calls in the far tails of what their function took so far: the default detector.
///
/// * A call is scored before it is learned, so that it cannot hide itself.
/// * Alarms are calibrated: of a million calls of a function that goes on as before, at most
///   [`false_positives`](TailParams::false_positives) are expected to be abnormal, however few calls
///   were seen, as long as their run times have tails that are at most exponential: in log time on
///   the slow side (normal, lognormal, uniform, up to Pareto), in time on the fast side. How is
///   told in the source of the fit: an extrapolation of the outermost calls that takes the
///   uncertainty of its own estimate into account.
/// * With fewer than [`minimum`](TailParams::minimum) calls it says
///   [`Label::NotEnoughData`].
/// * Where the tail of few calls, or of calls that are ties at the step of the clock, is too uncertain to be a
///   bound, a much longer call is [`Label::BeyondExperience`], an alarm of its own. Of `n` calls, it takes
///   `2e6 / (n + 1)` times as long as the longest one, and at least ten times (with the default rate of false
///   alarms). A call that takes more than ten times as long as any other and less than that is
///   [`Label::NotEnoughData`].
/// * A function may have several modes, such as messages of two sizes, which may overlap: where no gap
///   parts them, the valleys of a mixture of normal distributions of the log run time do. A mode holds at
///   least [`mode_share`](TailParams::mode_share) of the calls, or [`rare_share`](TailParams::rare_share) where
///   they take about as long each time: what is rare but repeats is told until 16 calls of it are known. A
///   call between two modes is abnormal if both find it so, too slow for the one below or too fast for the
///   one above, whichever is nearer.
/// * The past counts less: at [`memory`](TailParams::memory) calls all counts are halved. Where a
///   function changes, its calls are abnormal until they are a mode; a [`Drift`](crate::Drift) tells of
///   the change, and can let the model start over.
/// * The score is `-log10` of the probability of a call that far out in its mode. The expected run
///   time is the median of the mode, within 0.8 %.
///
/// One model a [`FunctionId`], which may stand for a function or for a call path: at most 30 KB, usually
/// 3 KB. Models are refitted when a function has a sixteenth more calls, or 1,024; mixtures when it has
/// twice as many, or 8,192 more.
///
/// 100 functions in turn, 1,000 calls each: 400 instructions a call, refits and mixtures included, and
/// fewer with more calls; on one core a merge of sketches of 1,000 functions takes 52 us, one of moments
/// 6 us.
///
/// See [`Detector`] for an example.
#[derive(Clone, Debug)]
pub struct Tail {
    params: TailChecked,
    rules: Rules,
    known: Functions<Watched>,
    /// What nobody was told yet; `None` as long as that is everything.
    untold: Option<Functions<Sketch>>,
    room: Rooms,
}

/// Room for fits, to be used again.
#[derive(Clone, Debug, Default)]
struct Rooms {
    filled: Vec<(usize, u64)>,
    mixture: Room,
}

/// What is known of a function, and what follows from it.
#[derive(Clone, Debug)]
struct Watched {
    /// None as long as there is not enough data.
    modes: Vec<Mode>,
    experience: Experience,
    sketch: Sketch,
    /// Where modes overlap, and of how many calls that is known.
    cuts: Vec<usize>,
    mixed: u64,
    /// Views since then.
    age: u32,
    /// Calls at which the modes are fitted anew.
    refit_at: u64,
    resolution: u64,
}

/// Fewest calls of a mixture.
const MIXED: u64 = 64;
/// A mixture is of twice as many calls as the one before, but at most of so many more.
const MIXED_MORE: u64 = 8192;
/// Views after which a mixture is fitted anew however many calls there are.
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
            // Two tails a mode.
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
    /// Returns a detector with the default parameters that knows nothing yet.
    fn default() -> Self {
        Tail::new(TailChecked::default())
    }
}

impl Tail {
    /// Parameters with their defaults.
    pub fn params() -> TailParams {
        TailParams::default()
    }

    /// A detector that knows nothing yet.
    pub fn new(params: TailChecked) -> Self {
        Tail {
            params,
            rules: Rules::default(),
            known: Functions::default(),
            untold: None,
            room: Rooms::default(),
        }
    }

    /// The run times of a function.
    pub fn sketch(&self, function: FunctionId) -> Option<&Sketch> {
        self.known.get(function).map(|watched| &watched.sketch)
    }

    /// The ranges of run times that are normal for a function, shortest first; none as long as there
    /// is not enough data.
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

    /// Judges a call where asked, then learns it.
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

    /// Knows what `view` says and nothing else.
    fn know(&mut self, view: &Functions<Sketch>) {
        let known = std::mem::take(&mut self.known);
        for (function, theirs) in view.iter() {
            // Values are counted with the resolution of this detector.
            let mut sketch = Sketch::new(self.params.resolution());
            sketch.merge_into_own(theirs);
            while sketch.count() >= self.params.memory() {
                sketch.halve();
            }
            let mut watched = Watched::new(sketch, &self.params);
            if let Some(before) = known.get(function).filter(|before| before.mixed > 0) {
                // Where modes overlap is not asked at each view, nor of all functions at the same one.
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
        // What nobody was told yet is still to be told.
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
