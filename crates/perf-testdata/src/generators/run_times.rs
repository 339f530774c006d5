//! [`SHAPES`]: distributions ([`Shape`]) of a function's run times, drawn with a [`Source`]; [`Planted`]: calls
//! that are too slow; [`Random`]: seeded generator of random numbers.

use crate::xorshift::Xorshift;

/// Generator of random numbers.
#[derive(Clone, Debug)]
pub struct Random(Xorshift);

impl Random {
    /// Creates a generator.
    pub fn new(seed: u64) -> Self {
        Random(Xorshift::new(seed))
    }

    /// Returns a number above 0 and below 1.
    pub fn unit(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Returns a number from 0 to `most` - 1.
    pub fn below(&mut self, most: u64) -> u64 {
        self.0.below(most)
    }

    /// Returns a standard normal number, by Box and Muller.
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.unit().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Returns a gamma distributed number with mean 4 and deviation 2.
    fn gamma(&mut self) -> f64 {
        -(0..4).map(|_| self.unit().ln()).sum::<f64>()
    }
}

/// State of a generator of run times.
#[derive(Clone, Debug)]
pub struct Source {
    random: Random,
    /// Number of calls so far.
    at: usize,
    /// Number of calls of a run.
    of: usize,
    /// Previous value of an autoregressive process.
    level: f64,
}

impl Source {
    /// Creates a generator for a run of a number of calls.
    pub fn new(seed: u64, calls: usize) -> Self {
        let mut random = Random::new(seed);
        let level = random.normal();
        Source {
            random,
            at: 0,
            of: calls,
            level,
        }
    }

    /// Returns the run time of the next call in nanoseconds.
    pub fn next(&mut self, shape: &Shape) -> f64 {
        let runtime = (shape.draw)(self);
        self.at += 1;
        runtime
    }

    /// Returns a standard normal number with the given correlation to the previous one.
    fn correlated(&mut self, correlation: f64) -> f64 {
        let new = self.random.normal() * (1.0 - correlation * correlation).sqrt();
        self.level = correlation * self.level + new;
        self.level
    }

    /// Returns the part of the run that is over.
    fn part(&self) -> f64 {
        self.at as f64 / self.of as f64
    }
}

/// Calls that are too slow for a shape.
#[derive(Clone, Copy, Debug)]
pub enum Planted {
    /// Calls of a number of deviations above the mean.
    Deviations {
        /// Mean in nanoseconds.
        mean: f64,
        /// Deviation in nanoseconds.
        deviation: f64,
    },
    /// Calls of a tail probability, which is 10 to the power of a negative number; the function
    /// returns the run time in nanoseconds that is exceeded with this probability.
    Probability(fn(f64) -> f64),
    /// Calls of a number of microseconds.
    Micros {
        /// Usual number.
        usual: f64,
    },
    /// None: only false alarms are counted, such as those of a shape that changes.
    Nothing,
}

/// Distribution of the run times of a function.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Name.
    pub name: &'static str,
    /// Calls that are too slow.
    pub planted: Planted,
    draw: fn(&mut Source) -> f64,
}

impl Shape {
    /// Returns the usual size of a planted call after a number of calls: 10, 7 and 6 deviations after
    /// 200, 2,000 and 20,000 calls, or a probability of 1e-7.
    pub fn usual(&self, calls: usize) -> f64 {
        match self.planted {
            Planted::Deviations { .. } => match calls {
                ..1_000 => 10.0,
                1_000..10_000 => 7.0,
                _ => 6.0,
            },
            Planted::Probability(_) => 7.0,
            Planted::Micros { usual } => usual,
            Planted::Nothing => 0.0,
        }
    }

    /// Returns the run time in nanoseconds of a planted call of a size: a number of deviations or
    /// microseconds, or the negative decimal logarithm of a probability. The result is 0 without
    /// planted calls.
    pub fn runtime(&self, size: f64) -> f64 {
        match self.planted {
            Planted::Deviations { mean, deviation } => mean + size * deviation,
            Planted::Probability(quantile) => quantile(size),
            Planted::Micros { .. } => 1e3 * size,
            Planted::Nothing => 0.0,
        }
    }
}

/// Returns the run time that a clock with a tick of 1 us measures.
fn whole(nanos: f64) -> f64 {
    1000.0 * (nanos / 1000.0).round().max(0.0)
}

/// Returns the number that a variable exceeds with a probability of 10 to the power of `-size`.
fn quantile(size: f64, survival: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 1000.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if survival(middle) > 10_f64.powf(-size) {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// Returns the standard normal number of a probability, by Laplace's continued fraction of the tail,
/// whose error is below 1e-3 for sizes from 3 on.
fn normal_quantile(size: f64) -> f64 {
    quantile(size, |z| {
        let fraction = (1..=30).rev().fold(z, |sum, at| z + f64::from(at) / sum);
        (-z * z / 2.0).exp() / (std::f64::consts::TAU.sqrt() * fraction)
    })
}

/// Returns the gamma distributed number of a probability.
fn gamma_quantile(size: f64) -> f64 {
    quantile(size, |x| {
        (-x).exp() * (1.0 + x + x * x / 2.0 + x * x * x / 6.0)
    })
}

const fn deviations(mean: f64, deviation: f64) -> Planted {
    Planted::Deviations { mean, deviation }
}

const fn shape(name: &'static str, planted: Planted, draw: fn(&mut Source) -> f64) -> Shape {
    Shape {
        name,
        planted,
        draw,
    }
}

/// Shapes. Run times of clocks with a tick of 1 us are multiples of it.
pub const SHAPES: [Shape; 18] = [
    shape("normal, 10 %", deviations(1e6, 1e5), |s| {
        1e6 + 1e5 * s.random.normal()
    }),
    shape("normal, 1 %", deviations(1e7, 1e5), |s| {
        1e7 + 1e5 * s.random.normal()
    }),
    shape("lognormal, 0.1", deviations(1.005e6, 1.0076e5), |s| {
        1e6 * (0.1 * s.random.normal()).exp()
    }),
    shape("two modes", deviations(2e6, 4e4), |s| {
        [1e6, 2e6][s.random.below(2) as usize] * (1.0 + 0.02 * s.random.normal())
    }),
    shape(
        "two modes, 1 in 20",
        Planted::Micros { usual: 20_000.0 },
        |s| {
            let usual = if s.random.below(20) == 0 { 8e6 } else { 1e6 };
            usual * (1.0 + 0.02 * s.random.normal())
        },
    ),
    // 1,234 us are in a bucket of the sketch that is 16 us wide.
    shape("constant, 10 to 6 ticks", deviations(1.234e6, 1e3), |_| {
        1.234e6
    }),
    shape(
        "lognormal, 0.3",
        Planted::Probability(|size| 1e6 * (0.3 * normal_quantile(size)).exp()),
        |s| 1e6 * (0.3 * s.random.normal()).exp(),
    ),
    shape(
        "lognormal, 1",
        Planted::Probability(|size| 1e6 * normal_quantile(size).exp()),
        |s| 1e6 * s.random.normal().exp(),
    ),
    shape(
        "Pareto, 1.5",
        Planted::Probability(|size| 1e6 * 10_f64.powf(size / 1.5)),
        |s| 1e6 * s.random.unit().powf(-1.0 / 1.5),
    ),
    shape(
        "gamma of 40 us, ticks",
        Planted::Probability(|size| 1e4 * gamma_quantile(size)),
        |s| whole(1e4 * s.random.gamma()),
    ),
    shape(
        "gamma of 2 us, ticks",
        Planted::Micros { usual: 50.0 },
        |s| whole(500.0 * s.random.gamma()),
    ),
    shape("0 or 1 us", Planted::Micros { usual: 50.0 }, |s| {
        1000.0 * s.random.below(2) as f64
    }),
    shape("drift by 50 %", Planted::Nothing, |s| {
        1e6 * (1.0 + 0.5 * s.part() + 0.05 * s.random.normal())
    }),
    shape("autocorrelated, 0.9", Planted::Nothing, |s| {
        1e6 * (1.0 + 0.05 * s.correlated(0.9))
    }),
    shape("autocorrelated, 0.999", Planted::Nothing, |s| {
        1e6 * (1.0 + 0.05 * s.correlated(0.999))
    }),
    shape("slow sine", Planted::Nothing, |s| {
        let wave = (std::f64::consts::TAU * s.part()).sin();
        1e6 * (1.0 + 0.3 * wave + 0.02 * s.random.normal())
    }),
    shape("step by 30 %", Planted::Nothing, |s| {
        1e6 * ([1.0, 1.3][usize::from(s.part() > 0.5)] + 0.05 * s.random.normal())
    }),
    shape("bursts of 50 in 500", Planted::Nothing, |s| {
        1e6 * ([1.0, 2.0][usize::from(s.at % 500 >= 450)] + 0.05 * s.random.normal())
    }),
];

/// Returns a function of which one call in `one_in` takes eight times as long.
fn second_mode(source: &mut Source, one_in: u64) -> f64 {
    let usual = if source.random.below(one_in) == 0 {
        8e6
    } else {
        1e6
    };
    usual * (1.0 + 0.02 * source.random.normal())
}

/// Returns a function of which one call in `one_in` has an interrupt of 500 us on average.
fn interrupts(source: &mut Source, one_in: u64) -> f64 {
    let interrupt = if source.random.below(one_in) == 0 {
        -5e5 * source.random.unit().ln()
    } else {
        0.0
    };
    1e6 * (1.0 + 0.05 * source.random.normal()) + interrupt
}

/// Returns normal times with a deviation of 5 %, or of 15 % in one of `one_in` calls.
fn two_deviations(source: &mut Source, one_in: u64) -> f64 {
    let wide = if source.random.below(one_in) == 0 {
        3.0
    } else {
        1.0
    };
    1e6 * (1.0 + 0.05 * wide * source.random.normal())
}

/// Returns a number with Student's t distribution of three degrees of freedom.
fn student(source: &mut Source) -> f64 {
    let squares = (0..3).map(|_| source.random.normal().powi(2)).sum::<f64>();
    source.random.normal() / (squares / 3.0).sqrt()
}

/// Shapes that do not change and whose calls are independent, with heavy tails or tails of two parts.
pub const HEAVY_SHAPES: [Shape; 11] = [
    shape("Student's t, 3 degrees, 5 %", Planted::Nothing, |s| {
        (1e6 * (1.0 + 0.05 * student(s))).max(0.0)
    }),
    shape("Student's t, 3 degrees, 1 %", Planted::Nothing, |s| {
        (1e6 * (1.0 + 0.01 * student(s))).max(0.0)
    }),
    shape(
        "normal, 1 in 10 three times as wide",
        Planted::Nothing,
        |s| two_deviations(s, 10),
    ),
    shape(
        "normal, 1 in 50 three times as wide",
        Planted::Nothing,
        |s| two_deviations(s, 50),
    ),
    shape("interrupts, 1 in 100", Planted::Nothing, |s| {
        interrupts(s, 100)
    }),
    shape("interrupts, 1 in 1,000", Planted::Nothing, |s| {
        interrupts(s, 1000)
    }),
    shape("second mode, 1 in 30", Planted::Nothing, |s| {
        second_mode(s, 30)
    }),
    shape("second mode, 1 in 100", Planted::Nothing, |s| {
        second_mode(s, 100)
    }),
    shape("second mode, 1 in 300", Planted::Nothing, |s| {
        second_mode(s, 300)
    }),
    shape("0 us or lognormal, 1", Planted::Nothing, |s| {
        let long = s.random.below(2) as f64;
        whole(long * 2e4 * s.random.normal().exp())
    }),
    shape("0 us in 9 of 10, or lognormal, 1", Planted::Nothing, |s| {
        let long = f64::from(u8::from(s.random.below(10) == 0));
        whole(long * 2e4 * s.random.normal().exp())
    }),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planted_calls_have_their_probability() {
        assert!((normal_quantile(7.0) - 5.1993).abs() < 1e-3);
        assert!((normal_quantile(3.0) - 3.0902).abs() < 1e-3);
        // As many calls are longer as their probability says.
        const CALLS: usize = 200_000;
        for shape in &SHAPES {
            let Planted::Probability(quantile) = shape.planted else {
                continue;
            };
            let mut source = Source::new(1, CALLS);
            let bound = quantile(3.0);
            let longer = (0..CALLS).filter(|_| source.next(shape) > bound);
            let longer = longer.count();
            assert!((150..250).contains(&longer), "{}: {longer}", shape.name);
        }
    }
}
