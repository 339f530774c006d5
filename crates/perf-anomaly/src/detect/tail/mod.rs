//! [`Tail`]: default detector, which compares each call with the modes of earlier run times, at a
//! stated rate of false alarms, and exchanges its knowledge with other processes.

mod cells;
mod extrapolation;
mod fit;
mod function_modes;
mod mixture;
mod mode;
mod params;
mod program;
mod shapes;
mod sizes;
mod sketch;
mod tick;

pub use params::{TailChecked, TailParams};
pub use sketch::Sketch;
pub(super) use sketch::{BUCKETS, bucket, edge};

use super::CALLS_PER_CHECK;
use super::rules::{IGNORED, Rules, TOO_FEW};
use super::{Detector, Functions, Model};
use crate::{FunctionId, Judgement, Result, Sample};
use function_modes::{FunctionModes, MIXED_VIEWS, Rooms};
use perf_core::{Cancelled, Job, Merge, Nanos};
use program::{Allotment, Called, Program};
use sizes::Sizes;
use tick::Tick;

/// Labels a call as abnormal if its run time lies in a far tail of the earlier run times of its
/// function. This is the default detector.
///
/// * A call is scored before it is learned, so that it cannot mask itself.
/// * Alarms are calibrated: of a million calls of an unchanged program, at most
///   [`false_positives`](TailParams::false_positives) are expected to be labelled abnormal, six of ten on the
///   slow side. Two thirds of these false alarms are allotted in proportion to calls and a third equally to
///   the functions, so that the calls of a rarely called function may have a rate up to 16 times as high. A
///   function alone has the stated rate, and so has one with a rate that was [set](Detector::set_threshold).
///   More are expected for heavy tails after few calls, and for functions with slow calls that are rarer than a
///   mode, because faults are as rare. The detector works in two stages. Calls within the range of earlier
///   calls are normal. For the few others, the slow tail of their mode is extrapolated with a family of
///   shapes from lighter than normal to heavier than Pareto, averaged over shapes and scales by their
///   likelihood. The uncertainty of few calls is thus part of the result. If as many calls as a mode requires
///   lie so far out that the tail does not explain them, they have a tail of their own. The source file
///   `tail/extrapolation.rs` has the family. A fast call is abnormal only if both an exponential tail in time
///   and the extrapolation of the mirrored run times exclude it.
/// * Functions with few calls learn the shape of their slow tail from the other functions of about the
///   same width, so that a program whose tails are light has a higher recall. A function alone is judged
///   by its own calls. Functions learn between batches and when a view is [adopted](Detector::adopt).
/// * Run times are intervals of the [`resolution`](TailParams::resolution), so that ties at the tick
///   of the clock have a tail. If most calls of a mode are ties at a few ticks, its tail consists of
///   the longer calls, however few they are. Calls are abnormal only if they are two resolutions
///   beyond.
/// * An abnormal call that takes more than ten times as long as the longest call of its mode is
///   [`Label::BeyondExperience`], a separate kind of alarm. A thousand times the longest call is always an alarm, and
///   so is `1 / (0.7 (n + 1) p)` times the longest of `n` calls from 30 times on. A call above ten times the longest
///   that is not abnormal at the stated rate is [`Label::NotEnoughData`].
/// * Calls of a mode of constant time, within eight resolutions, are compared with this time and not with
///   the bounds of the buckets of the [`Sketch`].
/// * A call without an alarm that takes longer than all earlier ones of its mode is
///   [undecided](Detector::undecided): at the end of a run it can be judged by all other calls.
/// * With fewer than [`minimum`](TailParams::minimum) calls the label is [`Label::NotEnoughData`],
///   unless the call takes `1 / ((n + 1) p)` times as long as the longest of `n` calls, for an
///   alarm probability of `p`. Such a call is beyond experience.
/// * With fewer than three times as many calls, an abnormal call is [`Label::NotEnoughData`] unless it takes ten
///   times as long as the longest call after the minimum number of calls, 3.2 times after twice as many, and less
///   with more. It may be the first call of a further mode: one call in 20 would be reported for every fifth
///   function otherwise. It counts in [`NewModes`](crate::lost_time::NewModes).
/// * A call that is no exception among the last calls is [`Label::NotEnoughData`]: two of the last
///   four are about as far from the median, or it is within the spread of the last 64 of its mode.
///   So is a call of which there are similar ones, which are abnormal too and at least 1 % of the
///   calls: they may be a mode that has not enough calls yet.
///   A step in speed is thus reported by its first calls, and a drift not at all; a
///   [`Drift`](crate::Drift) reports both as changes.
/// * A function may have several modes, such as for two kinds of work. Gaps separate modes.
///   Where there is no gap, the valleys of a mixture of normal distributions of the log run time
///   separate them. A mode holds at least [`mode_share`](TailParams::mode_share) of the calls, or
///   at least [`rare_share`](TailParams::rare_share) if its calls take about the same time. Rare
///   calls that repeat the same time are therefore reported until 16 of them are known. A call
///   between two modes is abnormal if it is outside of the normal ranges of both modes. It is too
///   slow if the lower mode is nearer, otherwise too fast.
/// * If the run times of a function depend on the size of its messages, the calls of each
///   [size class](Detector::add_size_class) have a model, and a slow call is compared with calls of its
///   size. Otherwise the classes are judged as one function.
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
///
/// [`Label::BeyondExperience`]: crate::Label::BeyondExperience
/// [`Label::NotEnoughData`]: crate::Label::NotEnoughData
#[derive(Clone, Debug)]
pub struct Tail {
    /// Parameters.
    params: TailChecked,
    /// Ignored functions and thresholds.
    rules: Rules,
    /// Model of each function, and of each size class of functions with classes.
    known: Functions<FunctionModes>,
    /// Models of functions with size classes.
    sizes: Sizes,
    /// Knowledge that has not been sent yet; `None` if nothing has been sent.
    untold: Option<Functions<Sketch>>,
    /// Tick of the clock.
    tick: Tick,
    /// Shapes of tails among all functions.
    program: Program,
    /// Rate of false alarms of each function.
    allotment: Allotment,
    /// Number of updates of functions' evidence that the program has not learned yet.
    news: usize,
    /// Numbers of the judgements in the last batch that are undecided.
    undecided: Vec<usize>,
    /// Reusable buffers.
    room: Rooms,
}

/// Score from which on a call without an alarm may be undecided.
const UNDECIDED: f64 = 2.0;

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
            sizes: Sizes::default(),
            untold: None,
            tick: Tick::default(),
            program: Program::default(),
            allotment: Allotment::default(),
            news: 0,
            undecided: Vec::new(),
            room: Rooms::default(),
        }
    }

    /// Returns the sketch of a function's run times; `None` if no call of the function was learned.
    pub fn sketch(&self, function: FunctionId) -> Option<&Sketch> {
        self.model(function).map(|watched| &watched.sketch)
    }

    /// Returns the model by which calls of a function or size class are judged.
    fn model(&self, function: FunctionId) -> Option<&FunctionModes> {
        match self.sizes.of(function) {
            Some((whole, all)) if whole == function || !all.depends => Some(&all.model),
            _ => self.known.get(function),
        }
    }

    /// Returns the ranges of normal run times of a function in ascending order, one for each mode;
    /// empty if there is not enough data.
    pub fn normal(&self, function: FunctionId) -> Vec<std::ops::RangeInclusive<Nanos>> {
        let Some(watched) = self.model(function) else {
            return Vec::new();
        };
        let modes = watched.modes.iter().enumerate();
        modes
            .map(|(at, mode)| {
                watched.time(watched.lowest(at, mode))..=watched.time(watched.highest(at, mode))
            })
            .collect()
    }

    /// Judges a call and then learns it, unless the call is ignored or a first call. `at` is the number of its
    /// judgement.
    #[inline]
    fn step(&mut self, at: usize, sample: &Sample) -> Judgement {
        if self.rules.ignored(sample.function) {
            return IGNORED;
        }
        if sample.first && !self.params.learns_first() {
            return TOO_FEW;
        }
        let params = &self.params;
        let watched = self.known.entry(sample.function, || {
            FunctionModes::new(Sketch::new(params.resolution()), params)
        });
        let value = watched.sketch.value(sample.runtime);
        self.tick.add(sample.runtime.0.max(0) as u64);
        let mut sized = self.sizes.of_mut(sample.function);
        let judgement = match &sized {
            None => watched.judge_next(value),
            Some((_, all)) => {
                let own = (sample.function, &*watched);
                all.judge(own, value, FunctionModes::judge_next)
            }
        };
        if judgement.score >= UNDECIDED && !judgement.label.is_anomaly() {
            let model = match &sized {
                Some((_, all)) if !all.depends => &all.model,
                _ => &*watched,
            };
            if model.is_undecided(value, &judgement) {
                self.undecided.push(at);
            }
        }
        let (rules, tick, program) = (&self.rules, self.tick.nanos(), &self.program);
        let refit = |function, model: &mut FunctionModes, room: &mut Rooms, judges| {
            model.refit(params, rules.threshold(function), tick, room);
            usize::from(model.exchange(program) && judges)
        };
        if watched.learn(value) {
            let judges = sized.as_ref().is_none_or(|(_, all)| all.depends);
            self.news += refit(sample.function, watched, &mut self.room, judges);
        }
        if let Some((function, all)) = &mut sized {
            let calls = watched.sketch.count();
            if all.model.learn(value) {
                self.news += refit(*function, &mut all.model, &mut self.room, !all.depends);
            }
            all.compare(calls, &self.known);
        }
        if let Some(untold) = &mut self.untold {
            let sketch = untold.entry(sample.function, || Sketch::new(params.resolution()));
            sketch.add(value, 1);
        }
        judgement
    }

    /// Learns the shapes of tails from all functions if there is new evidence of half of them.
    ///
    /// This happens between batches, so that judgements within a batch do not depend on the order of
    /// functions. Of functions with size classes, only the models that judge calls take part.
    fn learn_shapes(&mut self) {
        if self.news == 0 {
            return;
        }
        let sizes = &self.sizes;
        let known = self.known.entries_mut();
        let known = known.filter(|(function, _)| sizes.judges(*function));
        let mut judging: Vec<_> = known.map(|(_, model)| model).collect();
        let sized = self.sizes.all_mut().filter(|(_, all)| !all.depends);
        judging.extend(sized.map(|(_, all)| &mut all.model));
        if 2 * self.news >= judging.len() {
            let evidence = judging.into_iter().filter_map(FunctionModes::publish);
            self.program.learn(&mut evidence.collect::<Vec<_>>());
            self.news = 0;
        }
    }

    /// Allots the rate of false alarms to the functions.
    ///
    /// Like the shapes, the rates follow from whole batches and from the models that judge calls.
    fn allot(&mut self) {
        let (params, sizes) = (&self.params, &self.sizes);
        let known = self.known.unordered();
        let known = known.filter(|(function, _)| sizes.judges(*function));
        let sized = sizes.all().filter(|(_, all)| !all.depends);
        let judging = known.map(|(_, model)| model);
        let judging = judging.chain(sized.map(|(_, all)| &all.model));
        let called = judging.map(|model| Called {
            calls: params.weighed(model.sketch.count()),
            new: model.unallotted,
            rate: model.fitted_rate,
        });
        self.allotment.learn_calls(&called.collect::<Vec<_>>());
        let known = self.known.entries_mut().map(|(_, model)| model);
        for model in known.chain(self.sizes.all_mut().map(|(_, all)| &mut all.model)) {
            model.unallotted = 0;
            model.rate = self.allotment.rate(params.weighed(model.sketch.count()));
        }
    }

    fn sketches(&self) -> Functions<Sketch> {
        let mut sketches = Functions::default();
        for (function, watched) in self.known.iter() {
            sketches.entry(function, || watched.sketch.clone());
        }
        sketches
    }

    /// Counts the calls of the functions in `view` that judge calls.
    fn count(&mut self, view: &Functions<Sketch>) {
        let (params, sizes) = (&self.params, &self.sizes);
        let calls = |function| view.get(function).map_or(0, Sketch::count);
        let own = view.unordered();
        let own = own.filter(|(function, _)| sizes.judges(*function));
        let own = own.map(|(_, sketch)| sketch.count());
        let sized = sizes.all().filter(|(_, all)| !all.depends);
        let sized = sized.map(|(_, all)| all.classes().map(calls).sum::<u64>());
        let all = own.chain(sized).map(|calls| params.weighed(calls));
        self.allotment.count(all);
    }

    /// Replaces the model by the sketches of `view`, and refits all modes.
    fn know(&mut self, view: &Functions<Sketch>) {
        // The calls so far count with their rates, and the next rates follow from the view.
        self.allot();
        self.count(view);
        let known = std::mem::take(&mut self.known);
        for (function, theirs) in view.iter() {
            let watched = self.fitted(function, [theirs], known.get(function));
            self.known.entry(function, || watched);
        }
        let mut sizes = std::mem::take(&mut self.sizes);
        for (function, all) in sizes.all_mut() {
            let classes = all.classes().filter_map(|class| view.get(class));
            all.set(self.fitted(function, classes, Some(&all.model)));
            all.compare(0, &self.known);
        }
        self.sizes = sizes;
        self.news = self.known.len();
        self.learn_shapes();
        let known = self.known.entries_mut().map(|(_, model)| model);
        for model in known.chain(self.sizes.all_mut().map(|(_, all)| &mut all.model)) {
            model.learn_from(&self.program);
        }
    }

    /// Returns the model of a function with the calls of `sketches`. `before` is its earlier model.
    fn fitted<'a>(
        &mut self,
        function: FunctionId,
        sketches: impl IntoIterator<Item = &'a Sketch>,
        before: Option<&FunctionModes>,
    ) -> FunctionModes {
        // Values use the resolution of this detector.
        let mut sketch = Sketch::new(self.params.resolution());
        for theirs in sketches {
            sketch.merge_into_own(theirs);
        }
        while sketch.count() >= self.params.memory() {
            sketch.halve();
        }
        let mut watched = FunctionModes::new(sketch, &self.params);
        if let Some(before) = before.filter(|before| before.mixed > 0) {
            // Mixtures are not recomputed at each view, nor for all functions at the same view.
            watched.cuts.clone_from(&before.cuts);
            (watched.mixed, watched.age) = (before.mixed, before.age + 1);
            watched.keep_evidence(before);
        }
        let per_million = self.rules.threshold(function);
        watched.rate = self
            .allotment
            .rate(self.params.weighed(watched.sketch.count()));
        watched.refit(&self.params, per_million, self.tick.nanos(), &mut self.room);
        if before.is_none() {
            watched.age = function.0 % MIXED_VIEWS;
        }
        watched.exchange(&Program::default());
        watched
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
        self.undecided.clear();
        for some in samples.chunks(CALLS_PER_CHECK) {
            job.check()?;
            for sample in some {
                let judgement = self.step(judgements.len(), sample);
                judgements.push(judgement);
            }
            if self.allotment.is_due(some.len(), self.known.len()) {
                self.allot();
            }
            self.learn_shapes();
        }
        Ok(())
    }

    fn learn(&mut self, samples: &[Sample]) {
        for some in samples.chunks(CALLS_PER_CHECK) {
            for sample in some {
                self.step(0, sample);
            }
            self.undecided.clear();
            if self.allotment.is_due(some.len(), self.known.len()) {
                self.allot();
            }
            self.learn_shapes();
        }
    }

    fn rejudge(&self, samples: &[Sample], judgements: &mut Vec<Judgement>) {
        judgements.extend(samples.iter().map(|sample| {
            if self.rules.ignored(sample.function) {
                return IGNORED;
            }
            match self.model(sample.function) {
                Some(model) if !sample.first || self.params.learns_first() => {
                    let value = model.sketch.value(sample.runtime);
                    match self.sizes.of(sample.function) {
                        Some((whole, all)) if whole != sample.function => {
                            all.judge((sample.function, model), value, FunctionModes::judge)
                        }
                        _ => model.judge(value),
                    }
                }
                _ => TOO_FEW,
            }
        }));
    }

    fn undecided(&self) -> &[usize] {
        &self.undecided
    }

    fn judge_again(&self, samples: &[Sample], judgements: &mut Vec<Judgement>) {
        let (mut room, tick) = (Rooms::default(), self.tick.nanos());
        let mut without = |function, model: &FunctionModes, value| {
            let limits = (self.rules.threshold(function), tick);
            model.without(value, &self.params, limits, &mut room)
        };
        for sample in samples {
            let function = sample.function;
            if self.rules.ignored(function) {
                judgements.push(IGNORED);
                continue;
            }
            let class = self.sizes.of(function).filter(|(all, _)| *all != function);
            let own = match class {
                None => self.model(function),
                Some(_) => self.known.get(function),
            };
            let learns = !sample.first || self.params.learns_first();
            let Some(own) = own.filter(|_| learns) else {
                judgements.push(TOO_FEW);
                continue;
            };
            let value = own.sketch.value(sample.runtime);
            let own = without(function, own, value);
            judgements.push(match class {
                None => own.judge_again(value),
                Some((whole, all)) => {
                    let mut all = all.clone();
                    all.model = without(whole, &all.model, value);
                    all.judge((function, &own), value, FunctionModes::judge_again)
                }
            });
        }
    }

    fn snapshot(&self) -> Model {
        let mut sketches = Functions::default();
        for (function, model) in self.known.iter() {
            if self.sizes.judges(function) {
                sketches.entry(function, || model.sketch.clone());
            }
        }
        for (function, all) in self.sizes.all().filter(|(_, all)| !all.depends) {
            sketches.entry(function, || all.model.sketch.clone());
        }
        Model::Tail(sketches)
    }

    fn take_delta(&mut self) -> Model {
        match self.untold.replace(Functions::default()) {
            Some(untold) => Model::Tail(untold),
            None => Model::Tail(self.sketches()),
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
        let Some(watched) = self.model(function) else {
            return Vec::new();
        };
        let time = |value| watched.time(value).0 as f64;
        let mut facts = vec![("calls".into(), watched.sketch.count() as f64)];
        for (at, mode) in watched.modes.iter().enumerate() {
            for (what, value) in [
                ("from", watched.lowest(at, mode)),
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
        let new = || FunctionModes::new(Sketch::new(self.params.resolution()), &self.params);
        let mut classes = vec![function];
        if let Some((whole, all)) = self.sizes.of_mut(function)
            && whole == function
        {
            all.model = new();
            classes.extend(all.classes());
        }
        for class in classes {
            if let Some(watched) = self.known.get_mut(class) {
                *watched = new();
            }
        }
    }

    fn ignore(&mut self, function: FunctionId, ignored: bool) {
        self.rules.ignore(function, ignored);
    }

    fn set_threshold(&mut self, function: FunctionId, per_million: Option<f64>) -> Result<()> {
        per_million.map_or(Ok(()), params::check_false_positives)?;
        self.rules.set_threshold(function, per_million);
        let all = self.sizes.of_mut(function);
        let all = all.filter(|(whole, _)| *whole == function);
        let all = all.map(|(_, all)| &mut all.model);
        for model in self.known.get_mut(function).into_iter().chain(all) {
            model.refit(&self.params, per_million, self.tick.nanos(), &mut self.room);
        }
        Ok(())
    }

    fn separates_sizes(&self) -> bool {
        true
    }

    fn add_size_class(&mut self, class: FunctionId, function: FunctionId, bytes: u64) {
        let new = || FunctionModes::new(Sketch::new(self.params.resolution()), &self.params);
        let own = self.known.get(function);
        let own = || own.cloned().unwrap_or_else(new);
        let all = self.sizes.add(class, (function, bytes), own);
        // A restored model may have calls of the class.
        if let (Some(all), Some(restored)) = (all, self.known.get(class)) {
            all.model.sketch.merge_into_own(&restored.sketch);
        }
    }

    fn judged_by(&self, class: FunctionId) -> FunctionId {
        let is_young = || self.known.get(class).is_none_or(FunctionModes::is_young);
        match self.sizes.of(class) {
            Some((function, all)) if !all.depends || is_young() => function,
            _ => class,
        }
    }
}
