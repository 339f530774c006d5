//! Separation of overlapping modes at the valleys of a mixture of normal distributions of log run times.
//!
//! The counts of a sketch are put into at most 128 bins of equal width in log time. Components are
//! added one at a time, where the counts exceed the current mixture most. After each addition all
//! components are fitted with expectation maximisation (Dempster, Laird, Rubin 1977) until the
//! likelihood converges. A further component must satisfy the criterion of Schwarz (BIC, 1978): its
//! weight, mean and deviation must increase the log likelihood by more than `3/2 ln n`. The fit is
//! deterministic, and the counts of merged sketches are exact, so equal calls give equal mixtures.
//!
//! A component is not a mode, because a long tail takes several components. Modes are separated by
//! valleys, where the density of the mixture falls below 0.7 of the lower adjacent peak. The tails
//! of a mode are then estimated from its calls and not from the mixture, because a normal
//! distribution is not accurate for one call in 200,000.

use super::sketch::edge;

/// Largest number of components between two gaps.
const MAX_COMPONENTS: usize = 5;
/// Largest number of bins.
const BINS: usize = 128;
/// Largest number of steps of a fit.
const STEPS: usize = 30;
/// Gain in log likelihood of a step below which a fit ends.
const GAIN: f64 = 0.02;
/// Ratio of a valley to the lower adjacent peak below which it separates modes.
const DEPTH: f64 = 0.7;
/// Number of points between two means at which the density is evaluated to find a valley.
const POINTS: usize = 16;
/// Number of deviations from its mean beyond which a component is negligible.
const FAR: f64 = 9.0;
/// Decrease of the summed deviance at which a run of bins ends.
const CHANCE: f64 = 10.0;
/// Fewest calls of a component.
const FEW: f64 = 4.0;

/// Normal distribution of logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Component {
    /// Weight.
    weight: f64,
    /// Mean.
    mean: f64,
    /// Standard deviation.
    deviation: f64,
}

/// `1 / sqrt(2 pi)`.
const NORM: f64 = 0.398_942_280_401_432_7;

impl Component {
    #[inline]
    fn density(&self, at: f64) -> f64 {
        let z = (at - self.mean) / self.deviation;
        if z.abs() < FAR {
            self.weight * NORM / self.deviation * (-0.5 * z * z).exp()
        } else {
            0.0
        }
    }
}

/// Reusable buffers for fits.
#[derive(Clone, Debug, Default)]
pub(super) struct Room {
    /// Bins.
    bins: Vec<Bin>,
    /// Accepted components.
    components: Vec<Component>,
    /// Components of a trial fit.
    trial: Vec<Component>,
    /// Share of each component in a bin.
    shares: Vec<f64>,
}

#[derive(Clone, Copy, Debug)]
struct Bin {
    /// Midpoint in log time.
    at: f64,
    /// Width in log time.
    width: f64,
    /// Smallest deviation: half a bin, or the resolution.
    least: f64,
    /// Number of calls.
    calls: f64,
    /// Density of the mixture.
    density: f64,
}

/// Sums of one component over the bins.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    /// Number of calls.
    calls: f64,
    /// Sum of values.
    first: f64,
    /// Sum of squares.
    second: f64,
    /// Smallest deviation.
    least: f64,
}

impl Sums {
    /// Adds `calls` samples of `bin`; values are relative to `origin`.
    #[inline]
    fn add(&mut self, bin: &Bin, calls: f64, origin: f64) {
        let at = bin.at - origin;
        self.calls += calls;
        self.first += calls * at;
        self.second += calls * at * at;
        self.least += calls * bin.least;
    }

    fn component(&self, all: f64, origin: f64) -> Component {
        let mean = self.first / self.calls;
        let variance = (self.second / self.calls - mean * mean).max(0.0);
        Component {
            weight: self.calls / all,
            mean: origin + mean,
            deviation: variance.sqrt().max(self.least / self.calls),
        }
    }
}

/// Appends to `cuts` the buckets at which valleys divide the calls between two gaps. Each is the
/// lowest occupied bucket above its valley. Valleys between peaks closer than `narrowest` in log
/// time are ignored.
pub(super) fn valleys(
    filled: &[(usize, u64)],
    resolution: f64,
    narrowest: f64,
    room: &mut Room,
    cuts: &mut Vec<usize>,
) {
    fill(filled, resolution, &mut room.bins);
    fit(room);
    let mixture = &mut room.components;
    mixture.sort_by(|one, other| one.mean.total_cmp(&other.mean));
    let density = |at: f64| mixture.iter().map(|one| one.density(at)).sum::<f64>();
    let Some(first) = mixture.first() else {
        return;
    };
    let (mut peak, mut top) = (first.mean, density(first.mean));
    let (mut valley, mut low) = (peak, top);
    let mut before = first.mean;
    for one in mixture.iter().skip(1) {
        for point in 1..=POINTS {
            let at = before + (one.mean - before) * point as f64 / POINTS as f64;
            let here = density(at);
            if here < low {
                (valley, low) = (at, here);
            }
        }
        before = one.mean;
        let height = density(one.mean);
        let apart = one.mean.exp() - peak.exp();
        if low < DEPTH * top.min(height)
            && one.mean - peak >= narrowest
            && apart >= 4.0 * resolution
        {
            let time = valley.exp();
            let above = filled.iter().find(|(bucket, _)| edge(*bucket) >= time);
            cuts.extend(above.map(|(bucket, _)| *bucket));
            (peak, top) = (one.mean, height);
            (valley, low) = (peak, top);
        } else if height > top {
            (peak, top) = (one.mean, height);
            (valley, low) = (peak, top);
        }
    }
}

/// Fills at most [`BINS`] bins, each with the same number of buckets.
fn fill(filled: &[(usize, u64)], resolution: f64, bins: &mut Vec<Bin>) {
    bins.clear();
    let (Some((first, _)), Some((last, _))) = (filled.first(), filled.last()) else {
        return;
    };
    let buckets = (last - first) / BINS + 1;
    let mut filled = filled.iter().peekable();
    // End of the previous bin.
    let mut known = None;
    for start in (*first..=*last).step_by(buckets) {
        let end = start + buckets;
        let mut calls = 0;
        while let Some((_, count)) = filled.next_if(|(bucket, _)| *bucket < end) {
            calls += count;
        }
        let lower = known.unwrap_or_else(|| edge(start).max(0.5).ln());
        let upper = edge(end).max(1.0).ln();
        known = Some(upper);
        let (at, width) = ((lower + upper) / 2.0, upper - lower);
        bins.push(Bin {
            at,
            width,
            least: (width / 2.0).max(resolution / at.exp()),
            calls: calls as f64,
            density: 0.0,
        });
    }
}

/// Fits the mixture to the bins; there are no components if there are too few calls.
fn fit(room: &mut Room) {
    let Room {
        bins,
        components,
        trial,
        shares,
    } = room;
    components.clear();
    let all: f64 = bins.iter().map(|bin| bin.calls).sum();
    let origin = bins.first().map_or(0.0, |bin| bin.at);
    if all < 2.0 * FEW {
        return;
    }
    let mut sums = Sums::default();
    for bin in bins.iter() {
        sums.add(bin, bin.calls, origin);
    }
    components.push(sums.component(all, origin));
    let mut likelihood = look(bins, components);
    let cost = 1.5 * all.ln();
    while components.len() < MAX_COMPONENTS {
        let Some(further) = excess(bins, all, origin) else {
            return;
        };
        trial.clear();
        trial.extend(components.iter().map(|one| Component {
            weight: one.weight * (1.0 - further.weight),
            ..*one
        }));
        trial.push(further);
        let reached = maximise(bins, trial, shares, all, origin);
        if reached - likelihood <= cost {
            return;
        }
        likelihood = reached;
        std::mem::swap(components, trial);
    }
}

/// Stores the density of the mixture in each bin, and returns the log likelihood of all calls.
fn look(bins: &mut [Bin], mixture: &[Component]) -> f64 {
    let mut sum = 0.0;
    for bin in bins {
        bin.density = mixture.iter().map(|one| one.density(bin.at)).sum();
        if bin.calls > 0.0 {
            sum += bin.calls * bin.density.max(f64::MIN_POSITIVE).ln();
        }
    }
    sum
}

/// Runs expectation maximisation. Returns the final log likelihood, and stores the final densities
/// in the bins.
fn maximise(
    bins: &mut [Bin],
    mixture: &mut Vec<Component>,
    shares: &mut Vec<f64>,
    all: f64,
    origin: f64,
) -> f64 {
    let mut before = f64::NEG_INFINITY;
    for _ in 0..STEPS {
        let mut sums = [Sums::default(); MAX_COMPONENTS];
        let mut likelihood = 0.0;
        for bin in bins.iter().filter(|bin| bin.calls > 0.0) {
            shares.clear();
            shares.extend(mixture.iter().map(|one| one.density(bin.at)));
            let density = shares.iter().sum::<f64>().max(f64::MIN_POSITIVE);
            likelihood += bin.calls * density.ln();
            let scale = bin.calls / density;
            for (sum, share) in sums.iter_mut().zip(shares.iter()) {
                if *share > 0.0 {
                    sum.add(bin, scale * share, origin);
                }
            }
        }
        if likelihood - before < GAIN {
            break;
        }
        before = likelihood;
        let fitted = mixture.iter_mut().zip(&sums);
        for (one, sum) in fitted.filter(|(_, sum)| sum.calls > 0.0) {
            *one = sum.component(all, origin);
        }
        mixture.retain(|one| one.weight * all >= FEW / 2.0);
    }
    look(bins, mixture)
}

/// Proposes a component for the run of bins in which the calls exceed the mixture most.
///
/// Each bin contributes its part of the deviance, `o ln (o / e) - (o - e)` for `o` calls where `e`
/// are expected; the contribution is negative if there are fewer calls than expected. A run ends
/// where its sum has decreased by more than [`CHANCE`]. The run with the largest sum is found in
/// one pass.
fn excess(bins: &[Bin], all: f64, origin: f64) -> Option<Component> {
    let expected = |bin: &Bin| (all * bin.density * bin.width).max(1e-9);
    let (mut best, mut most) = (0..0, 0.0);
    let (mut start, mut sum, mut top) = (0, 0.0, 0.0);
    for (at, bin) in bins.iter().enumerate() {
        let (calls, expected) = (bin.calls, expected(bin));
        let log = if calls > 0.0 {
            calls * (calls / expected).ln()
        } else {
            0.0
        };
        let deviance = log - (calls - expected);
        sum += if calls > expected {
            deviance
        } else {
            -deviance
        };
        top = sum.max(top);
        if sum <= 0.0 || sum < top - CHANCE {
            (start, sum, top) = (at + 1, 0.0, 0.0);
        } else if sum > most {
            (best, most) = (start..at + 1, sum);
        }
    }
    let mut sums = Sums::default();
    for bin in bins.get(best)? {
        sums.add(bin, (bin.calls - expected(bin)).max(0.0), origin);
    }
    (sums.calls >= FEW).then(|| sums.component(all, origin))
}

#[cfg(test)]
mod tests {
    use super::super::sketch::Sketch;
    use super::*;
    use perf_core::Nanos;

    /// Returns quantiles at even probabilities, as an idealised sample of a distribution close to
    /// the normal one.
    fn normal(at: usize, of: usize) -> f64 {
        let p = (at as f64 + 0.5) / of as f64;
        // The logistic distribution with the deviation of a normal one is close enough here.
        (p / (1.0 - p)).ln() * 3.0_f64.sqrt() / std::f64::consts::PI
    }

    fn cuts(modes: &[(usize, f64, f64)]) -> Vec<f64> {
        let mut sketch = Sketch::new(Nanos(1000));
        for (calls, median, deviation) in modes {
            for at in 0..*calls {
                let runtime = median * (deviation * normal(at, *calls)).exp();
                sketch.push(Nanos(runtime as i64));
            }
        }
        let filled: Vec<_> = sketch.filled().collect();
        let mut cuts = Vec::new();
        valleys(&filled, 1000.0, 0.15, &mut Room::default(), &mut cuts);
        cuts.into_iter().map(edge).collect()
    }

    #[test]
    fn modes_that_overlap_are_told_apart_at_the_valley() {
        let [cut] = cuts(&[(5000, 1e5, 0.1), (5000, 1.6e5, 0.1)])[..] else {
            panic!("two modes")
        };
        assert!((1.2e5..1.35e5).contains(&cut), "{cut}");
        let three = cuts(&[(8000, 1e5, 0.1), (2000, 1.7e5, 0.1), (4000, 3e5, 0.12)]);
        let [one, other] = three[..] else {
            panic!("three modes, not {three:?}")
        };
        assert!(
            (1.2e5..1.5e5).contains(&one) && (2e5..2.5e5).contains(&other),
            "{three:?}"
        );
    }

    #[test]
    fn one_mode_is_not_cut() {
        for modes in [
            &[(10_000, 1e5, 0.02)][..],
            &[(10_000, 1e5, 0.5)],
            &[(10_000, 1e5, 0.1), (10_000, 1.05e5, 0.3)],
            &[(10_000, 1e5, 0.1), (9_000, 1.12e5, 0.1)],
            &[(7, 1e5, 0.1)],
            &[],
        ] {
            assert!(cuts(modes).is_empty(), "{modes:?}: {:?}", cuts(modes));
        }
        // Times of a clock with a tick of 1 us, then exact times.
        let mut sketch = Sketch::new(Nanos(1000));
        for (ticks, calls) in [(1, 500), (2, 900), (3, 500), (4, 200), (5, 60), (6, 10)] {
            (0..calls).for_each(|_| sketch.push(Nanos(1000 * ticks)));
        }
        let filled: Vec<_> = sketch.filled().collect();
        let mut found = Vec::new();
        valleys(&filled, 1000.0, 0.15, &mut Room::default(), &mut found);
        assert!(found.is_empty(), "{found:?}");
        let mut all = Sketch::new(Nanos(1));
        (0..63).for_each(|bit| (0..50).for_each(|_| all.push(Nanos(1 << bit))));
        let filled: Vec<_> = all.filled().collect();
        valleys(&filled, 1.0, 0.15, &mut Room::default(), &mut found);
        assert!(found.len() < 5);
    }

    /// Two narrow modes, and a few calls between them.
    #[test]
    fn few_calls_between_two_modes_do_not_join_them() {
        let filled = [
            (731, 5),
            (732, 19),
            (733, 106),
            (734, 305),
            (735, 802),
            (736, 1522),
            (737, 2314),
            (738, 2799),
            (739, 2620),
            (740, 1800),
            (741, 994),
            (742, 422),
            (743, 156),
            (744, 34),
            (745, 7),
            (761, 1),
            (767, 1),
            (768, 2),
            (769, 2),
            (772, 2),
            (773, 3),
            (774, 2),
            (775, 1),
            (776, 2),
            (777, 2),
            (779, 1),
            (780, 2),
            (781, 1),
            (782, 1),
            (783, 1),
            (784, 1),
            (794, 2),
            (795, 6),
            (796, 38),
            (797, 182),
            (798, 504),
            (799, 1123),
            (800, 2029),
            (801, 2624),
            (802, 2766),
            (803, 2186),
            (804, 1404),
            (805, 701),
            (806, 245),
            (807, 78),
            (808, 13),
            (809, 4),
        ];
        let mut cuts = Vec::new();
        let mut room = Room::default();
        valleys(&filled, 1000.0, 0.15, &mut room, &mut cuts);
        // The calls in between have a component of their own, whose few calls are not a mode.
        assert_eq!(cuts, [761, 794], "{:?}", room.components);
        assert!(room.components[1].weight < 0.002);
    }
}
