//! [`Program`]: prior weights of the shapes of slow tails, learned from all functions of a program;
//! [`Allotment`]: rate of false alarms of each function.
//!
//! 200 calls of one function do not determine the shape of its tail, but 200 calls each of 50
//! functions do. Empirical Bayes: the weights of the shapes are the mixture under which the calls of
//! all other functions are likeliest, by expectation maximisation. The [fixed
//! weights](super::extrapolation) of a function count as much as [`FIXED_FUNCTIONS`] further
//! functions, so that a function alone has exactly the fixed weights, and the calls of a function
//! never count twice.
//!
//! Functions learn from those of about the same width, because narrow and wide modes have tails of
//! different kinds. A function has a share in the two nearest of [`WIDTHS`] widths.
//!
//! Functions do not learn that tails are heavier than lognormal ones. A few hundred calls do not show
//! that a function has as heavy a tail as the others, and an abnormal call would be normal if it had. No
//! shape above [`LOGNORMAL`] therefore gets more weight relative to a lighter one, and generalised Pareto
//! distributions never more than the fixed one: if they could get five times as much, delays of 100 us
//! were found in 8 instead of 9 of 11 functions of a rank of LAMMPS. In programs whose tails are heavier than
//! lognormal, these shapes have one common factor, because none of them excludes the next heavier one: with
//! a factor of its own for each, 50 Pareto functions had 14 instead of 8 false alarms in a million after 200 calls.
//! Lighter shapes get the weight that
//! the other functions show, whether it is more or less. If they also could not gain relative to each
//! other, programs of 50 normal or lognormal functions had 1.3 to 2.6 times as many false alarms after
//! 200 calls. No shape has less than [`LEAST`] of its fixed weight, so that a heavy tail among light ones
//! is still expected.
//!
//! Sums are integers, so that they do not depend on the order of functions, ranks or merges.

use super::shapes::{COUNT, LOG_SHAPES, SHAPES};

/// Factors by which the fixed weights of the shapes are multiplied.
pub(super) type Multipliers = [f64; COUNT];
/// Factors that leave the fixed weights as they are.
pub(super) const UNCHANGED: Multipliers = [1.0; COUNT];

/// Number of functions that the fixed weights count for.
const FIXED_FUNCTIONS: f64 = 1.0;
/// Number of widths, an octave apart. The first one is [`NARROWEST`].
const WIDTHS: usize = 12;
/// Distance of the quartiles in log time that belongs to the first width.
const NARROWEST: f64 = 1.0 / 256.0;
/// Shape of lognormal times.
const LOGNORMAL: f64 = 1.0;
/// Smallest factor of a weight. With 0.1, 4 % more of planted calls are found in programs of lognormal
/// functions, and a Pareto function among them has a third more false alarms.
const LEAST: f64 = 0.2;
/// Fixed weight below which a shape is left as it is.
const NEGLIGIBLE: f64 = 1e-12;
/// Number of steps of expectation maximisation.
const ROUNDS: usize = 16;
/// Sum of the shares of one function.
const WHOLE: f64 = (1_u64 << 32) as f64;

/// Likelihood of the calls of one function for each shape of its tail.
#[derive(Clone, Debug)]
pub(super) struct Evidence {
    /// Fixed weights, averaged over scales; their sum is 1.
    fixed: [f64; COUNT],
    /// Likelihoods, multiplied by the fixed weights.
    likelihood: [f64; COUNT],
    /// Posterior probabilities of the shapes.
    posterior: [f64; COUNT],
    /// Distance of the quartiles in log time; 0 until it is set.
    pub(super) spread: f64,
}

impl Evidence {
    /// Creates evidence from fixed weights with any sum, and likelihoods multiplied by them.
    pub(super) fn new(fixed: [f64; COUNT], likelihood: [f64; COUNT]) -> Self {
        let mut evidence = Evidence {
            fixed: scaled(fixed),
            likelihood,
            posterior: [0.0; COUNT],
            spread: 0.0,
        };
        evidence.update(&UNCHANGED);
        evidence
    }

    /// Computes the posterior probabilities from factors of the fixed weights.
    fn update(&mut self, factors: &Multipliers) {
        self.posterior = scaled(std::array::from_fn(|shape| {
            self.likelihood[shape] * factors[shape]
        }));
    }

    /// Returns the nearest width below, and the share of the function in the one above it.
    fn width(&self) -> (usize, f64) {
        let octaves = (self.spread.max(NARROWEST) / NARROWEST).log2();
        let below = (octaves as usize).min(WIDTHS - 2);
        (below, (octaves - below as f64).min(1.0))
    }

    /// Returns the contribution of the function to the width below and to the one above.
    fn contribution(&self, part: f64) -> [[u64; COUNT]; 2] {
        [1.0 - part, part].map(|part| self.posterior.map(|share| (part * share * WHOLE) as u64))
    }
}

/// Returns weights with the sum 1, or equal ones if their sum is 0.
fn scaled(weights: [f64; COUNT]) -> [f64; COUNT] {
    let sum: f64 = weights.iter().sum();
    if sum > 0.0 {
        weights.map(|weight| weight / sum)
    } else {
        [1.0 / COUNT as f64; COUNT]
    }
}

/// Returns the mean of factors by their weights.
fn mean(factors: &[f64], weights: &[f64]) -> f64 {
    let pairs = factors.iter().zip(weights);
    let (sum, all) = pairs.fold((0.0, 0.0), |(sum, all), (factor, weight)| {
        (sum + factor * weight, all + weight)
    });
    sum / all.max(NEGLIGIBLE)
}

/// Frequencies of the shapes of slow tails among the functions of a program.
#[derive(Clone, Debug, Default)]
pub(super) struct Program {
    /// Number of functions with each shape, in units of 1 / [`WHOLE`], for each width.
    sums: [[u64; COUNT]; WIDTHS],
}

impl Program {
    /// Computes the frequencies and the posterior probabilities of each function.
    pub(super) fn learn(&mut self, functions: &mut [&mut Evidence]) {
        functions.iter_mut().for_each(|one| one.update(&UNCHANGED));
        for round in 0..ROUNDS {
            if round > 0 {
                for one in functions.iter_mut() {
                    one.update(&self.learned(one));
                }
            }
            self.sums = [[0; COUNT]; WIDTHS];
            for one in functions.iter() {
                let (width, part) = one.width();
                for (sums, own) in self.sums[width..].iter_mut().zip(one.contribution(part)) {
                    sums.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
                }
            }
        }
    }

    /// Returns the factors of the weights that follow from the other functions, without limits.
    fn learned(&self, of: &Evidence) -> Multipliers {
        let (width, part) = of.width();
        let own = of.contribution(part);
        let others: [f64; COUNT] = std::array::from_fn(|shape| {
            let other = |at: usize| self.sums[width + at][shape].saturating_sub(own[at][shape]);
            ((1.0 - part) * other(0) as f64 + part * other(1) as f64) / WHOLE
        });
        let all: f64 = FIXED_FUNCTIONS + others.iter().sum::<f64>();
        std::array::from_fn(|shape| match of.fixed[shape] {
            fixed if fixed > NEGLIGIBLE => (FIXED_FUNCTIONS + others[shape] / fixed) / all,
            _ => FIXED_FUNCTIONS / all,
        })
    }

    /// Returns the factors of the weights of a function that follow from the other functions.
    pub(super) fn multipliers(&self, of: &Evidence) -> Multipliers {
        let mut factors = self.learned(of);
        let heavy = SHAPES.partition_point(|shape| *shape <= LOGNORMAL)..LOG_SHAPES;
        let common = mean(&factors[heavy.clone()], &of.fixed[heavy.clone()]);
        for factor in &mut factors[heavy.clone()] {
            let part = common.min(1.0);
            *factor = factor.powf(1.0 - part) * common.powf(part);
        }
        let mut heavier: f64 = 0.0;
        for (shape, factor) in factors[..LOG_SHAPES].iter_mut().enumerate().rev() {
            *factor = heavier.max(*factor);
            if heavy.contains(&shape) {
                heavier = *factor;
            }
        }
        let unit = mean(&factors[..LOG_SHAPES], &of.fixed[..LOG_SHAPES]);
        std::array::from_fn(|shape| {
            let most = if shape < LOG_SHAPES { f64::MAX } else { 1.0 };
            (factors[shape] / unit).clamp(LEAST, most)
        })
    }
}

/// Calls of one function.
#[derive(Clone, Copy, Debug)]
pub(super) struct Called {
    /// Number of calls in its model.
    pub(super) calls: u64,
    /// Number of calls since the last allotment.
    pub(super) new: u64,
    /// Multiple of the rate of false alarms by which these calls were judged.
    pub(super) rate: f64,
}

/// Division of the false alarms of a program among its functions.
///
/// The stated rate `p` holds for all calls of a program. Two thirds of the false alarms are allotted in
/// proportion to calls and a third equally to the `F` functions, so that a call of a function with `n` of `N`
/// calls has the rate `p (2 + s N / (F n)) / 3`. The factor `s` is 1 as long as the functions keep their shares
/// of the calls: the mean rate of all calls is then `p`. Otherwise, such as if a function with few calls begins
/// to be called often, `s` decreases until the rates of all calls so far have a mean of at most `p`.
///
/// Sums are integers, so that they do not depend on the order of functions.
#[derive(Clone, Debug, Default)]
pub(super) struct Allotment {
    /// Number of calls of all functions.
    calls: u64,
    /// Number of functions.
    functions: u64,
    /// `1 - s`.
    withheld: f64,
    /// Number of judged calls.
    judged: u64,
    /// Sum of their rates, in units of `p` / [`UNIT`].
    spent: u64,
    /// Number of calls since the last allotment.
    new: u64,
}

/// Part of the false alarms that is allotted equally to the functions. With a half, delays of 1 ms after 30 % of a
/// run of LAMMPS are found in 11 instead of 12 functions, because often called functions have a lower rate.
const EQUAL_PART: f64 = 1.0 / 3.0;
/// Fewest calls of a function with an allotted rate; the others have that of the program.
const FEWEST: u64 = 32;
/// Largest rate of a function, as a multiple of that of the program.
const MOST: f64 = 16.0;
/// Number of calls of each function between two allotments, so that they cost less than judgements.
const CALLS_PER_ALLOTMENT: u64 = 8;
/// Part of the judged calls in which a difference of their rates from `p` is made up for.
const PERIOD: f64 = 0.125;
/// Number of units of a rate.
const UNIT: f64 = (1_u64 << 16) as f64;

impl Allotment {
    /// Adds `new` calls, and returns `true` if there are enough for an allotment to `functions` functions.
    pub(super) fn is_due(&mut self, new: usize, functions: usize) -> bool {
        self.new += new as u64;
        self.new >= CALLS_PER_ALLOTMENT.saturating_mul(functions as u64)
    }

    /// Counts the calls of models, each given by its number of calls.
    pub(super) fn count(&mut self, models: impl Iterator<Item = u64>) {
        (self.calls, self.functions) = (0, 0);
        for calls in models.filter(|calls| *calls >= FEWEST) {
            self.calls = self.calls.saturating_add(calls);
            self.functions += 1;
        }
    }

    /// Computes the allotment from the functions that judge calls.
    pub(super) fn learn_calls(&mut self, functions: &[Called]) {
        self.count(functions.iter().map(|one| one.calls));
        self.new = 0;
        self.withheld = 0.0;
        let (mut new, mut equal) = (0, 0);
        for one in functions {
            let units = |rate: f64| (one.new as f64 * rate * UNIT) as u64;
            self.spent = self.spent.saturating_add(units(one.rate));
            new += one.new;
            equal += units(self.rate(one.calls) - (1.0 - EQUAL_PART));
        }
        self.judged += new;
        // Rates of the next calls if they are distributed like the last ones.
        let (equal, new) = (equal as f64 / UNIT, new as f64);
        let spare = self.judged as f64 - self.spent as f64 / UNIT;
        let period = (PERIOD * self.judged as f64).max(new);
        let allowed = new * (EQUAL_PART + spare / period);
        if equal > allowed {
            self.withheld = 1.0 - (allowed / equal).max(0.0);
        }
    }

    /// Returns the rate of a function that had `before` calls when `rate` was allotted and has `calls` now: a
    /// function that begins to be called often does not keep a high rate until the next allotment.
    pub(super) fn lowered(rate: f64, before: u64, calls: u64) -> f64 {
        let equal = (rate - (1.0 - EQUAL_PART)) * before as f64 / calls.max(1) as f64;
        rate.min((1.0 - EQUAL_PART + equal).max(1.0))
    }

    /// Returns the rate of a function with a number of calls, as a multiple of that of the program.
    pub(super) fn rate(&self, calls: u64) -> f64 {
        if calls < FEWEST || self.functions <= 1 {
            return 1.0;
        }
        let equal = self.calls as f64 / (self.functions as f64 * calls as f64);
        (1.0 - EQUAL_PART + EQUAL_PART * (1.0 - self.withheld) * equal).min(MOST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf_testdata::run_times::Random;

    /// Returns the evidence of a function whose likeliest shape is `best`.
    fn evidence(best: usize, spread: f64) -> Evidence {
        let likelihood =
            std::array::from_fn(|shape| (-0.5 * (shape as f64 - best as f64).powi(2)).exp());
        let mut evidence = Evidence::new([1.0; COUNT], likelihood);
        evidence.spread = spread;
        evidence
    }

    fn learned(functions: &mut [Evidence]) -> Program {
        let mut program = Program::default();
        program.learn(&mut functions.iter_mut().collect::<Vec<_>>());
        program
    }

    /// Returns the mean rate of the calls of a program, the largest mean of the first 20,000 or more, and the
    /// rate of each function at the end. `next` returns the function of a call. Batches have 1,000 calls, and
    /// rates are used from the next fit on, as for models.
    fn mean_rate(calls: u64, next: impl Fn(u64, &mut Random) -> usize) -> ([f64; 2], Vec<f64>) {
        const FUNCTIONS: usize = 2000;
        let new = Called {
            calls: 0,
            new: 0,
            rate: 1.0,
        };
        let (mut functions, mut fits) = (vec![new; FUNCTIONS], [32; FUNCTIONS]);
        let mut rates = vec![1.0; FUNCTIONS];
        let (mut allotment, mut random, mut sum) = (Allotment::default(), Random::new(5), 0.0);
        let (mut most, mut known): (f64, usize) = (0.0, 0);
        for at in 0..calls {
            let function = next(at, &mut random);
            known += usize::from(functions[function].calls == 0);
            let one = &mut functions[function];
            sum += one.rate;
            (one.calls, one.new) = (one.calls + 1, one.new + 1);
            if one.calls >= fits[function] {
                fits[function] += (one.calls / 16).clamp(8, 1024);
                one.rate = Allotment::lowered(rates[function], one.calls - one.new, one.calls);
            }
            if at >= 20_000 {
                most = most.max(sum / (at + 1) as f64);
            }
            if at % 1000 == 999 && allotment.is_due(1000, known) {
                allotment.learn_calls(&functions);
                for (one, rate) in functions.iter_mut().zip(&mut rates) {
                    (one.new, *rate) = (0, allotment.rate(one.calls));
                }
            }
        }
        ([sum / calls as f64, most], rates)
    }

    #[test]
    fn the_rates_of_all_calls_have_at_most_the_stated_mean() {
        // Of 1,000 calls, 2 are of the last function.
        let rarely = |random: &mut Random| match random.below(1000) {
            0 | 1 => 9,
            other => other as usize % 9,
        };
        let ([mean, most], rates) = mean_rate(400_000, |_, random| rarely(random));
        assert!(
            (0.97..=1.0).contains(&mean) && most < 1.01,
            "{mean}, {most}"
        );
        assert_eq!(rates[9], MOST);
        assert!((0.9..1.0).contains(&rates[0]), "{}", rates[0]);
        type Schedule = fn(u64, &mut Random) -> usize;
        let schedules: [(&str, Schedule); 7] = [
            ("one function", |_, _| 0),
            ("from 50,000 calls to 50", |_, random| {
                (12.0 * random.unit() * random.unit()) as usize
            }),
            ("other functions from a quarter on", |at, random| {
                random.below(10) as usize + if at < 100_000 { 0 } else { 10 }
            }),
            ("other functions every 20,000 calls", |at, random| {
                random.below(10) as usize + 10 * (at / 20_000) as usize
            }),
            (
                "a rare function that is called often at last",
                |at, random| match random.below(500) {
                    0 => 9,
                    _ if at >= 300_000 => 9,
                    other => other as usize % 9,
                },
            ),
            ("functions called in bursts", |at, random| {
                match at % 50_000 {
                    ..2000 => 10 + (at / 50) as usize % 20,
                    _ => random.below(10) as usize,
                }
            }),
            (
                "many functions of 1 to 100 calls",
                |at, random| match random.below(3) {
                    0 => 10 + ((at / 40_000) * 200 + random.below(199)) as usize % 1990,
                    _ => random.below(10) as usize,
                },
            ),
        ];
        for (name, next) in schedules {
            let ([mean, most], _) = mean_rate(400_000, next);
            println!("{name}: {mean:.4}, at most {most:.4}");
            assert!(mean <= 1.001 && most <= 1.03, "{name}: {mean}, {most}");
        }
    }

    #[test]
    fn a_function_alone_has_the_fixed_weights() {
        for spread in [0.0, 0.01, 0.3, 1e3] {
            let mut functions = [evidence(3, spread)];
            let program = learned(&mut functions);
            assert_eq!(program.multipliers(&functions[0]), UNCHANGED);
        }
    }

    #[test]
    fn functions_of_the_same_width_exclude_heavy_shapes_for_each_other() {
        let mut functions: Vec<_> = (0..30).map(|_| evidence(3, 0.5)).collect();
        functions.push(evidence(3, 0.02));
        let program = learned(&mut functions);
        let factors = program.multipliers(&functions[0]);
        assert!(factors[3] > 2.0, "{factors:?}");
        assert_eq!(factors[LOG_SHAPES - 1], LEAST);
        // The narrow one has no other function of its width.
        assert_eq!(program.multipliers(&functions[30]), UNCHANGED);
    }

    #[test]
    fn functions_do_not_learn_to_expect_heavy_tails() {
        let mut functions: Vec<_> = (0..30).map(|_| evidence(LOG_SHAPES - 1, 0.1)).collect();
        functions.push(evidence(3, 0.1));
        let program = learned(&mut functions);
        for factors in functions.iter().map(|one| program.multipliers(one)) {
            let is_lighter = factors
                .windows(2)
                .take(LOG_SHAPES - 1)
                .all(|pair| pair[0] >= pair[1]);
            assert!(is_lighter, "{factors:?}");
            assert!(factors[LOG_SHAPES..].iter().all(|factor| *factor <= 1.0));
        }
    }

    #[test]
    fn the_order_of_functions_does_not_matter() {
        let mut functions: Vec<_> = (0..40)
            .map(|at| evidence(at % LOG_SHAPES, 0.01 * 1.2_f64.powi(at as i32)))
            .collect();
        let program = learned(&mut functions);
        let mut reversed: Vec<_> = functions.iter().rev().cloned().collect();
        assert_eq!(learned(&mut reversed).sums, program.sums);
        let factors = functions.iter().map(|one| program.multipliers(one));
        let others = reversed.iter().rev().map(|one| program.multipliers(one));
        assert!(factors.eq(others));
    }
}
