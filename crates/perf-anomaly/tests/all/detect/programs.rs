//! Programs of many functions, which learn the shapes of their tails from each other.

use super::power::most;
use crate::common::call;
use perf_anomaly::{Detector, FunctionId, Judgement, Model, Sample, Tail};
use perf_core::Job;
use perf_testdata::run_times::{HEAVY_SHAPES, Planted, SHAPES, Shape, Source};

/// Number of calls of each function before the planted one.
const CALLS: usize = 200;
/// Number of calls of each function in a step.
const STEP: usize = 20;

fn shape(name: &str) -> &'static Shape {
    let mut all = SHAPES.iter().chain(&HEAVY_SHAPES);
    all.find(|shape| shape.name == name).expect("a known shape")
}

fn judge(detector: &mut Tail, samples: &[Sample]) -> Vec<Judgement> {
    let mut judgements = Vec::new();
    detector
        .detect(samples, &mut judgements, &Job::default())
        .expect("not cancelled");
    judgements
}

fn alarms(judgements: &[Judgement]) -> usize {
    let alarms = judgements.iter().filter(|one| one.label.is_anomaly());
    alarms.count()
}

/// Returns the steps of a program with a function of each shape.
fn steps(shapes: &[&Shape], seed: u64) -> Vec<Vec<Sample>> {
    let first = 1 + seed * shapes.len() as u64;
    let mut sources: Vec<_> = (0..shapes.len() as u64)
        .map(|at| Source::new(first + at, CALLS))
        .collect();
    let step = |_| {
        let functions = sources.iter_mut().zip(shapes).enumerate();
        let calls = functions.flat_map(|(function, (source, shape))| {
            (0..STEP).map(move |_| call(function as u32, source.next(shape)))
        });
        calls.collect()
    };
    (0..CALLS / STEP).map(step).collect()
}

/// Returns a detector that has learned a program, and the number of its false alarms.
fn learned(shapes: &[&Shape], seed: u64) -> (Tail, usize) {
    let mut tail = Tail::default();
    let all = steps(shapes, seed);
    let alarms = all.iter().map(|step| alarms(&judge(&mut tail, step)));
    let alarms = alarms.sum();
    (tail, alarms)
}

/// Returns `true` if a planted call of the usual size is found in a function of a shape.
fn is_found(tail: &Tail, function: usize, shape: &Shape) -> bool {
    let planted = call(function as u32, shape.runtime(shape.usual(CALLS)));
    alarms(&judge(&mut tail.clone(), &[planted])) == 1
}

/// Returns the probability of a slow call that is abnormal.
fn rate(tail: &Tail, function: usize, shape: &Shape) -> f64 {
    let (mut low, mut high) = (1.0, 20.0);
    while high - low > 1e-6 {
        let size = f64::midpoint(low, high);
        let mut judgements = Vec::new();
        let slow = call(function as u32, shape.runtime(size));
        tail.rejudge(&[slow], &mut judgements);
        match alarms(&judgements) {
            0 => low = size,
            _ => high = size,
        }
    }
    10_f64.powf(-high)
}

/// Power of the detector in programs of some functions each.
#[derive(Debug, Default)]
struct Power {
    /// Number of functions in which a planted call is found.
    found: usize,
    /// Number of false alarms while the functions are learned.
    alarms: usize,
    /// Mean probability of an abnormal slow call; meaningless unless planted calls have a probability.
    rate: f64,
}

/// Measures programs of `many` functions each.
fn power(shape: &Shape, many: usize, functions: usize) -> Power {
    let shapes = vec![shape; many];
    let mut power = Power::default();
    for seed in 0..functions / many {
        let (tail, alarms) = learned(&shapes, seed as u64);
        power.alarms += alarms;
        let found = (0..many).filter(|function| is_found(&tail, *function, shape));
        power.found += found.count();
        let rates = (0..many).map(|function| rate(&tail, function, shape));
        power.rate += rates.sum::<f64>() / functions as f64;
    }
    power
}

#[test]
fn functions_with_the_same_tail_need_fewer_calls() {
    const FUNCTIONS: usize = 200;
    for (name, least) in [
        ("lognormal, 0.1", 0.98),
        ("lognormal, 0.3", 0.75),
        ("lognormal, 1", 0.58),
        ("Pareto, 1.5", 0.8),
        ("gamma of 40 us, ticks", 0.42),
    ] {
        let alone = power(shape(name), 1, FUNCTIONS);
        let together = power(shape(name), 50, FUNCTIONS);
        println!("{name}: alone {alone:?}, together {together:?} of {FUNCTIONS}");
        assert!(together.found as f64 >= least * FUNCTIONS as f64, "{name}");
        assert!(together.found >= alone.found, "{name}");
        let rate = 1e-5 * (FUNCTIONS * CALLS) as f64;
        assert!(together.alarms as f64 <= most(rate), "{name}");
        if matches!(shape(name).planted, Planted::Probability(_)) {
            // Those 200 functions alone have up to twice the stated rate.
            assert!(together.rate < 1.1 * alone.rate.max(1e-5), "{name}");
        }
    }
}

/// A program of eleven functions with 30 calls in a step, and one with one call.
#[test]
fn rarely_called_functions_have_a_higher_rate() {
    const PROGRAMS: u64 = 20;
    const FREQUENT: usize = 11;
    for (name, more) in [("lognormal, 1", 8), ("Pareto, 1.5", 1)] {
        let shape = shape(name);
        let (mut alone, mut together, mut restored) = (0, 0, 0);
        let (mut alarms, mut calls) = (0, 0);
        for seed in 0..PROGRAMS {
            let source = |at: usize| Source::new(1 + 100 * seed + at as u64, CALLS);
            let mut sources: Vec<_> = (0..=FREQUENT).map(source).collect();
            let (mut program, mut one) = (Tail::default(), Tail::default());
            for _ in 0..CALLS {
                let functions = sources.iter_mut().enumerate();
                let step = functions.flat_map(|(at, source)| {
                    let count = if at < FREQUENT { 30 } else { 1 };
                    (0..count).map(move |_| call(at as u32, source.next(shape)))
                });
                let step: Vec<_> = step.collect();
                alarms += self::alarms(&judge(&mut program, &step));
                calls += step.len();
                judge(&mut one, &step[30 * FREQUENT..]);
            }
            alone += usize::from(is_found(&one, FREQUENT, shape));
            together += usize::from(is_found(&program, FREQUENT, shape));
            // A view has the same counts.
            let mut other = Tail::default();
            other.restore(&program.snapshot()).expect("of one kind");
            restored += usize::from(is_found(&other, FREQUENT, shape));
        }
        println!(
            "{name}: alone {alone}, together {together}, restored {restored} of {PROGRAMS}; {alarms} alarms in {calls} calls"
        );
        for found in [together, restored] {
            assert!(found >= alone + more, "{name}: {alone}, then {found}");
        }
        assert!(
            alarms as f64 <= most(1e-5 * calls as f64),
            "{name}: {alarms}"
        );
    }
}

#[test]
fn a_light_tail_among_heavy_ones_is_as_sensitive_as_alone() {
    const PROGRAMS: u64 = 60;
    for light in ["normal, 10 %", "lognormal, 0.1"].map(shape) {
        for heavy in [
            "lognormal, 1",
            "Pareto, 1.5",
            "Student's t, 3 degrees, 5 %",
            "normal, 1 in 10 three times as wide",
            "interrupts, 1 in 100",
        ] {
            let mut shapes = vec![light];
            shapes.resize(31, shape(heavy));
            let is_found = |seed: &u64| is_found(&learned(&shapes, *seed).0, 0, light);
            let found = (0..PROGRAMS).filter(is_found).count();
            println!("{} among {heavy}: {found} of {PROGRAMS}", light.name);
            assert!(found >= 58, "{} among {heavy}: {found}", light.name);
        }
    }
}

#[test]
fn a_faulty_function_makes_the_others_no_less_sensitive_than_alone() {
    let one = shape("lognormal, 0.3");
    let shapes = [one; 30];
    let (mut before, mut after) = (0, 0);
    for seed in 0..5 {
        let (mut healthy, mut faulty) = (Tail::default(), Tail::default());
        for (at, step) in steps(&shapes, seed).into_iter().enumerate() {
            judge(&mut healthy, &step);
            // One call in four of the first function takes up to 100 times as long.
            let fault = |(number, mut sample): (usize, Sample)| {
                if sample.function == FunctionId(0) && number % 4 == 0 {
                    sample.runtime.0 *= (10 + 9 * ((at + number) % 11)) as i64;
                }
                sample
            };
            let step: Vec<_> = step.into_iter().enumerate().map(fault).collect();
            judge(&mut faulty, &step);
        }
        for function in 1..shapes.len() {
            before += usize::from(is_found(&healthy, function, one));
            after += usize::from(is_found(&faulty, function, one));
        }
    }
    // Of the functions that are measured here, as many as alone.
    let alone = power(one, 1, 5 * 29).found;
    println!("{before} found without the fault, {after} with it, {alone} alone");
    assert!(after >= alone + 15, "{alone} alone, {after}");
    assert!(after * 10 >= before * 8, "{before}, then {after}");
}

#[test]
fn a_late_fault_of_all_functions_is_an_alarm_in_each() {
    let one = shape("lognormal, 0.1");
    let shapes = [one; 30];
    let (mut tail, _) = learned(&shapes, 3);
    let mut sources: Vec<_> = (0..30).map(|at| Source::new(500 + at, CALLS)).collect();
    for slow in [4e6, 6e6, 9e6] {
        let faults: Vec<_> = (0..30).map(|function| call(function, slow)).collect();
        assert_eq!(alarms(&judge(&mut tail, &faults)), 30, "{slow} ns");
        // As many usual calls as make the functions learn again.
        let functions = sources.iter_mut().enumerate();
        let usual = functions.flat_map(|(function, source)| {
            (0..CALLS).map(move |_| call(function as u32, source.next(one)))
        });
        let usual: Vec<_> = usual.collect();
        judge(&mut tail, &usual);
    }
}

#[test]
fn a_function_among_others_without_evidence_is_judged_as_alone() {
    let shapes = ["lognormal, 1", "normal, 10 %", "0 or 1 us"].map(shape);
    let (mut alone, mut program) = (Tail::default(), Tail::default());
    for step in steps(&shapes, 1) {
        let is_first = |sample: &&Sample| sample.function == FunctionId(0);
        let first: Vec<_> = step.iter().filter(is_first).copied().collect();
        // Ties at a tick have no shape, and functions of another width teach nothing.
        let judged = judge(&mut program, &step);
        assert_eq!(judge(&mut alone, &first), judged[..STEP]);
    }
}

#[test]
fn a_merged_model_has_the_same_judgements_in_any_order() {
    let shapes = [shape("lognormal, 0.3"); 20];
    let [one, other] = [1, 2].map(|seed| learned(&shapes, seed).0.snapshot());
    let merged = |mut first: Model, second: &Model| {
        first.merge(second).expect("of one kind");
        first
    };
    let planted = |number: &dyn Fn(u32) -> u32| -> Vec<_> {
        let calls = (0..20)
            .flat_map(|function| (10..80).map(move |size| (function, 1e5 * f64::from(size))));
        calls
            .map(|(function, runtime)| call(number(function), runtime))
            .collect()
    };
    let judged = |model: &Model, samples: &[Sample]| {
        let mut tail = Tail::default();
        tail.restore(model).expect("of one kind");
        let mut judgements = Vec::new();
        tail.rejudge(samples, &mut judgements);
        judgements
    };
    let both = merged(one.clone(), &other);
    let expected = judged(&both, &planted(&|function| function));
    assert!((1..expected.len()).contains(&alarms(&expected)));
    let reversed = merged(other, &one);
    assert_eq!(judged(&reversed, &planted(&|function| function)), expected);
    // Other numbers, and so another order of the functions.
    let renumbered = both.renumbered(|function| Some(FunctionId(1000 - function.0)));
    assert_eq!(
        judged(&renumbered, &planted(&|function| 1000 - function)),
        expected
    );
}
