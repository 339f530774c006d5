//! [`phases`]: generated points like those of CPU bursts: a few phases of a program, each a
//! Gaussian cloud around its centre, with noise; [`Phases::bursts`]: the same points as bursts of
//! threads.

use crate::xorshift::Xorshift;

/// Number of phases.
pub const PHASES: usize = 12;
/// One point in this many belongs to no phase.
const NOISE: u64 = 100;

/// Points of the unit square, with their true phases.
#[derive(Clone, Debug, PartialEq)]
pub struct Phases {
    /// Coordinates x and y of each point.
    pub values: Vec<f64>,
    /// Phase of each point, from 1; 0 for noise.
    pub truth: Vec<u32>,
}

/// Number of threads that compute the points.
pub const THREADS: u32 = 16;

impl Phases {
    /// Returns the burst of each point: its thread, and its begin and end in nanoseconds.
    /// [`THREADS`] threads take turns.
    pub fn bursts(&self) -> impl Iterator<Item = (u32, i64, i64)> {
        (0..self.truth.len()).map(|at| {
            let (turn, thread) = (at / THREADS as usize, at % THREADS as usize);
            let begin = 1000 * turn as i64;
            (thread as u32, begin, begin + 500)
        })
    }
}

/// Generates twelve Gaussian phases of equal weight and 1 % of noise, in random order. Equal
/// arguments give equal points.
///
/// Two phases are tight (sigma 0.0022) and ten wide (0.0073), so that the ball around a point holds
/// on average 4.1 % of all points for a radius of 0.01 and 0.4 % for 0.002. This resembles scaled
/// instructions and IPC of iterative programs. With eps 0.01 and 10 points there are twelve
/// clusters.
pub fn phases(points: usize, seed: u64) -> Phases {
    let mut random = Xorshift::new(seed);
    let (mut values, mut truth) = (Vec::with_capacity(2 * points), Vec::with_capacity(points));
    for _ in 0..points {
        if random.below(NOISE) == 0 {
            values.extend([unit(&mut random), unit(&mut random)]);
            truth.push(0);
            continue;
        }
        let phase = random.below(PHASES as u64) as usize;
        let sigma = if phase < 2 { 0.0022 } else { 0.0073 };
        let (x, y) = normal(&mut random);
        // Four columns and three rows, slightly irregular.
        let (column, row) = (phase % 4, phase / 4);
        let centre_x = 0.14 + 0.24 * column as f64 + 0.02 * row as f64;
        let centre_y = 0.17 + 0.33 * row as f64 - 0.03 * column as f64;
        values.push((centre_x + sigma * x).clamp(0.0, 1.0));
        values.push((centre_y + sigma * y).clamp(0.0, 1.0));
        truth.push(phase as u32 + 1);
    }
    Phases { values, truth }
}

/// Returns a number in `0.0..1.0`.
pub fn unit(random: &mut Xorshift) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// Returns two independent numbers of mean 0 and variance 1 (Box and Muller 1958).
pub fn normal(random: &mut Xorshift) -> (f64, f64) {
    let radius = (-2.0 * (1.0 - unit(random)).ln()).sqrt();
    let (sin, cos) = (std::f64::consts::TAU * unit(random)).sin_cos();
    (radius * cos, radius * sin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbourhoods_are_as_large_as_promised() {
        const POINTS: usize = 10_000;
        let phases = phases(POINTS, 1);
        assert_eq!(phases, super::phases(POINTS, 1));
        let mean = |eps: f64| {
            let points: Vec<&[f64]> = phases.values.chunks_exact(2).collect();
            let within = |a: &[f64], b: &[f64]| {
                let (x, y) = (a[0] - b[0], a[1] - b[1]);
                x * x + y * y <= eps * eps
            };
            let some = points.iter().step_by(10);
            let pairs: usize = some
                .map(|a| points.iter().filter(|b| within(a, b)).count())
                .sum();
            pairs as f64 / (POINTS as f64 / 10.0)
        };
        let (wide, narrow) = (mean(0.01), mean(0.002));
        assert!((390.0..430.0).contains(&wide), "{wide}");
        assert!((37.0..43.0).contains(&narrow), "{narrow}");
        let noise = phases.truth.iter().filter(|&&phase| phase == 0).count();
        assert!((70..130).contains(&noise), "{noise}");
    }
}
