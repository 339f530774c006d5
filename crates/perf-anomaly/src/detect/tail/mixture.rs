//! Modes that overlap: a mixture of normal distributions of log run times, and the valleys in it.
//!
//! The counts of a sketch are put into at most 128 bins of equal width in log time. Components are
//! added one at a time, where the counts exceed the mixture so far most, and all are fitted by
//! expectation and maximisation (Dempster, Laird, Rubin 1977) until the likelihood stands still. A further
//! component must earn what the criterion of Schwarz asks (BIC, 1978): more than `3/2 ln n` in log
//! likelihood for its weight, mean and deviation. Nothing is drawn at random, and the counts of sketches
//! that merge are exact: equal calls give equal mixtures.
//!
//! A component is not a mode: a long tail takes several of them. Modes are what a valley parts, that is
//! where the density of the mixture falls below 0.7 of the lower of the peaks on either side. The tails
//! of each mode are then those of its own calls, since no normal distribution tells the truth about
//! one call in 200,000.

use super::sketch::edge;

/// Most components of a stretch without a gap.
const MOST: usize = 5;
/// Most bins.
const BINS: usize = 128;
/// Steps of a fit, and the gain in log likelihood below which it is done.
const STEPS: usize = 30;
const GAIN: f64 = 0.02;
/// A valley is lower than this share of the peaks beside it.
const DEPTH: f64 = 0.7;
/// Points between two means at which a valley is looked for.
const POINTS: usize = 16;
/// Further than this many deviations from its mean a component has nothing.
const FAR: f64 = 9.0;
/// A loss of this log likelihood within a run of bins is no chance.
const CHANCE: f64 = 10.0;
/// Fewer calls are no component.
const FEW: f64 = 4.0;

/// One normal distribution of logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Component {
    weight: f64,
    mean: f64,
    deviation: f64,
}

/// `1 / sqrt(2 pi)`.
const NORM: f64 = 0.398_942_280_401_432_7;

impl Component {
    #[inline]
    fn density(&self, at: f64) -> f64 {
        let z = (at - self.mean) / self.deviation;
        match z.abs() < FAR {
            true => self.weight * NORM / self.deviation * (-0.5 * z * z).exp(),
            false => 0.0,
        }
    }
}

/// Room for fits, to be used again.
#[derive(Clone, Debug, Default)]
pub(super) struct Room {
    bins: Vec<Bin>,
    components: Vec<Component>,
    trial: Vec<Component>,
    shares: Vec<f64>,
}

#[derive(Clone, Copy, Debug)]
struct Bin {
    /// Middle and width, in log time.
    at: f64,
    width: f64,
    /// What no deviation is narrower than: half a bin, or the resolution.
    least: f64,
    calls: f64,
    /// Density of the mixture.
    density: f64,
}

/// Sums of one component over the bins.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    calls: f64,
    first: f64,
    second: f64,
    least: f64,
}

impl Sums {
    /// Of so many calls of a bin; values are taken from `origin` on.
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

/// The buckets at which valleys part the calls of a stretch without gaps; a bucket is that of the
/// first call above.
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

/// Bins of as many buckets each as makes them few.
fn fill(filled: &[(usize, u64)], resolution: f64, bins: &mut Vec<Bin>) {
    bins.clear();
    let (Some((first, _)), Some((last, _))) = (filled.first(), filled.last()) else {
        return;
    };
    let buckets = (last - first) / BINS + 1;
    let mut filled = filled.iter().peekable();
    // Where the bin before ended.
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

/// The mixture of the bins.
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
    while components.len() < MOST {
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

/// Notes the density at each bin, and gives the log likelihood of all calls.
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

/// Steps of expectation and maximisation; gives the log likelihood that is reached, whose densities
/// the bins then have.
fn maximise(
    bins: &mut [Bin],
    mixture: &mut Vec<Component>,
    shares: &mut Vec<f64>,
    all: f64,
    origin: f64,
) -> f64 {
    let mut before = f64::NEG_INFINITY;
    for _ in 0..STEPS {
        let mut sums = [Sums::default(); MOST];
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

/// A component for the run of bins in which the calls exceed the mixture most.
///
/// What a bin adds is its part of the deviance, `o ln (o / e) - (o - e)` of `o` calls where `e` are
/// expected, negative where there are too few. A run ends where it lost more than chance takes; that with
/// the largest sum is found in one pass.
fn excess(bins: &[Bin], all: f64, origin: f64) -> Option<Component> {
    let expected = |bin: &Bin| (all * bin.density * bin.width).max(1e-9);
    let (mut best, mut most) = (0..0, 0.0);
    let (mut start, mut sum, mut top) = (0, 0.0, 0.0);
    for (at, bin) in bins.iter().enumerate() {
        let (calls, expected) = (bin.calls, expected(bin));
        let log = match calls > 0.0 {
            true => calls * (calls / expected).ln(),
            false => 0.0,
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

    /// Normal quantiles at even probabilities, which is what many calls look like: Acklam's formula for
    /// the middle, good to a percent in the tails.
    fn normal(at: usize, of: usize) -> f64 {
        let p = (at as f64 + 0.5) / of as f64;
        // The logistic distribution with the deviation of a normal one is near enough here.
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
        // Times of a clock of 1 us, and all times that there are.
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

    /// Two narrow modes, and a few calls between.
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
        // What is between has a component of its own, whose few calls are no mode.
        assert_eq!(cuts, [761, 794], "{:?}", room.components);
        assert!(room.components[1].weight < 0.002);
    }
}
