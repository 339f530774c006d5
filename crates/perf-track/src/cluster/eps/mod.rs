//! [`EpsSearch`]: chooses the radius of [`Dbscan`](super::Dbscan) by the k-distance graph, a sweep
//! of runs ([`EpsStep`]) and the modes of the points; [`EpsChoice`]: the result, with the reason
//! ([`EpsWhy`]).

mod knee;
mod modes;
mod noise;
mod params;

pub use knee::knee;
pub use params::{EpsChecked, EpsParams};

use super::k_distance::some_squared;
use super::tree::KdTree;
use super::{Agreement, Dbscan};
use crate::{Error, Labels, Points, Result};
use modes::Modes;
use noise::{Tried, noise_weight};
use perf_core::Job;

/// Fraction of the points that a radius below the end of a stable run may leave in noise in addition.
const MORE_NOISE: f64 = 0.01;

/// Chooses eps from the points, and reports the sensitivity of the clusters to eps.
///
/// 1. *Knee*: the distances to the neighbour that makes a point core, in descending order, have a
///    knee where noise ends and clusters begin; see [`knee`]. Radii below the
///    [resolution](EpsParams::resolution) of the points are not tried. If many values are equal, or
///    thousands of points lie on one axis, the knee is far below any distance between clusters, and
///    the resolution takes its place. The sweep then extends twice as far upwards, and not
///    downwards.
/// 2. *Modes*: the hierarchy of DBSCAN's clusters over all radii is searched for statistically
///    significant gaps. There are `n` points, `k` points in a neighbourhood, a cluster of `m` points
///    whose core distances have the geometric mean `r`, and the radius `h` that joins the cluster to
///    another. The density in the gap is lower than in the cluster by the factor `x = (h / r)^d` in
///    `d` dimensions. The gap separates two modes if, for both clusters, the logarithm of the
///    likelihood ratio of two densities against a common density,
///    `G = (m + k) ln((m + k x) / (m + k)) - k ln x`, exceeds `ln n + 3`. Among `n` points there are
///    `n` places for a gap, and one recording in 20 with a single mode has a gap by chance. `d` is
///    estimated from the ratios of the distances to the first and the last neighbour (Levina and
///    Bickel 2004). If there is no such gap, the points have one mode, and eps is the smallest radius
///    above which they are one cluster, at least the knee; step 3 then only reports the sweep.
///    If `n k` exceeds 2^26, every `s`-th point represents all, with `k / s` points in a neighbourhood, for
///    the smallest sufficient `s`.
/// 3. *Sweep*: DBSCAN runs with eps from a few octaves below the knee to a few above, in two steps per
///    octave. Neighbouring steps that agree (adjusted Rand index of at least 0.9) and separate two
///    modes or more form a stable run. The run with the largest (length in octaves) - (distance
///    from the knee in octaves) wins. All radii of the run yield nearly the same clusters, and the
///    upper end leaves the fewest points in noise. Eps is the largest radius that separates the most
///    modes among those that leave at most 1 % more of the points in noise, because modes of few
///    points may be joined within the run. Without such a run eps is the largest radius of the sweep
///    that separates the most modes.
/// 4. *Weight*, with [`choose_weighted`](Self::choose_weighted): phases with few long bursts may take
///    much of the time, but are sparse compared with phases of many short bursts, which dominate the
///    previous steps. If noise has more than a tenth of the weight, eps is increased to the smallest
///    value that leaves at most a tenth. The weight of clusters joined on the way must
///    be less than the weight of the noise taken in; otherwise the noise does not belong to
///    clusters, and the eps of step 3 is kept. Clusters with less than twice the points of a
///    neighbourhood may be joined to others, because they are usually fragments of a sparse phase.
///
/// For EPOCH with 2, 4 and 16 tasks, with bursts of 1 ms or more in one space, step 3 leaves 22, 12
/// and 1 % of the time in noise, and step 4 reduces this to 9, 1 and 1 %.
///
/// ```
/// use perf_core::Job;
/// use perf_track::{Points, cluster::EpsSearch};
/// // Three groups at distance 1, with points at distance 0.01.
/// let values: Vec<f64> = (0..60).map(|i| f64::from(i / 20) + 0.01 * f64::from(i % 20)).collect();
/// let search = EpsSearch::new(EpsSearch::params().min_points(4).check()?);
/// let choice = search.choose(Points::new(&values, 1)?, &Job::default())?;
/// assert!(choice.eps > 0.02 && choice.eps < 0.8);
/// assert_eq!(choice.clusters, 3);
/// assert_eq!(choice.sensitivity, 0.0);
/// # Ok::<(), perf_track::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EpsSearch(EpsChecked);

/// Reason for the value of [`EpsChoice::eps`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub enum EpsWhy {
    /// The upper end of a run of eps with nearly the same clusters that separate the most modes.
    Stable {
        /// Smallest eps of the run.
        low: f64,
        /// Chosen eps, the largest of the run that separates the most modes.
        high: f64,
    },
    /// Smallest radius that yields a single cluster, because the density of the points has one mode.
    Single,
    /// Largest radius that separates the most modes, because no stable run has two clusters or more.
    Knee,
    /// Arbitrary radius, because all points are equal.
    Resolution,
    /// The smallest radius above a stable run or the knee that leaves little enough of the weight
    /// in noise.
    Noise {
        /// Upper end of the run, or the knee.
        from: f64,
        /// Fraction of the weight that is noise at this radius, in `0.0..=1.0`.
        noise: f64,
    },
}

/// One DBSCAN run of the sweep.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct EpsStep {
    /// Radius.
    pub eps: f64,
    /// Number of clusters.
    pub clusters: usize,
    /// Fraction of the points that are noise, in `0.0..=1.0`.
    pub noise: f64,
    /// Fraction of the weight that is noise, in `0.0..=1.0`; without weights the fraction of the points.
    pub noise_weight: f64,
    /// Adjusted Rand index between this step and the next step; 1 for the last step.
    pub rand: f64,
    /// Mirkin distance between this step and the next step, in `0.0..=1.0`; 0 for the last step.
    pub mirkin: f64,
}

/// Chosen radius and the reason for it.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct EpsChoice {
    /// Radius.
    pub eps: f64,
    /// Reason for the radius.
    pub why: EpsWhy,
    /// Smallest sufficient radius: the smallest eps of the stable run that leaves no more of the
    /// weight in noise than allowed; `eps` if there is none; 0 if all points are equal.
    pub least: f64,
    /// Smallest radius that joins modes of the density which `eps` separates; infinite if `eps`
    /// separates no modes.
    pub ties: f64,
    /// Knee of the k-distance graph, or the smallest radius that is tried if it exceeds the knee.
    pub knee: f64,
    /// Number of clusters at `eps`.
    pub clusters: usize,
    /// Fraction of the points that are noise at `eps`, in `0.0..=1.0`.
    pub noise: f64,
    /// Fraction of the weight that is noise at `eps`, in `0.0..=1.0`; without weights the fraction of
    /// the points.
    pub noise_weight: f64,
    /// Sweep in ascending order of eps.
    pub sweep: Vec<EpsStep>,
    /// Sensitivity of the clusters to eps: 1 minus the mean adjusted Rand index of the clusters at
    /// `eps` with the clusters at `eps` multiplied and divided by the square root of 2. 0 means no
    /// change. At the upper end of a stable run it is about half of the change beyond the run.
    pub sensitivity: f64,
}

impl EpsChoice {
    /// Returns a common eps for experiments in one space from the choice for each experiment: the
    /// smallest [`eps`](Self::eps), or if an experiment [needs](Self::least) more, the smallest eps that
    /// suffices for all. The result is less than the radius that [joins](Self::ties) modes of any
    /// experiment, because eps must not join modes of one experiment to reduce the noise of another.
    /// `None` without experiments.
    ///
    /// Experiments with more tasks have more bursts in each phase and are denser. The sparsest
    /// experiment limits eps from below, and the densest from above.
    ///
    /// ```
    /// use perf_track::cluster::{EpsChoice, EpsWhy};
    /// let stable = |low, high| EpsChoice {
    ///     eps: high,
    ///     why: EpsWhy::Stable { low, high },
    ///     least: low,
    ///     ties: 0.07,
    ///     knee: low,
    ///     clusters: 2,
    ///     noise: 0.0,
    ///     noise_weight: 0.0,
    ///     sweep: Vec::new(),
    ///     sensitivity: 0.0,
    /// };
    /// assert_eq!(EpsChoice::shared(&[stable(0.01, 0.04), stable(0.02, 0.03)]), Some(0.03));
    /// assert_eq!(EpsChoice::shared(&[stable(0.01, 0.04), stable(0.05, 0.06)]), Some(0.05));
    /// assert!(EpsChoice::shared(&[stable(0.01, 0.04), stable(0.08, 0.09)]) < Some(0.07));
    /// ```
    pub fn shared<'c>(choices: impl IntoIterator<Item = &'c EpsChoice>) -> Option<f64> {
        let ends = choices
            .into_iter()
            .map(|choice| (choice.least, choice.eps, choice.ties));
        let (needed, allowed, ties) =
            ends.reduce(|a, b| (a.0.max(b.0), a.1.min(b.1), a.2.min(b.2)))?;
        // The neighbourhood is a closed ball, so at `ties` itself the modes are joined.
        Some(needed.max(allowed).min(ties * (1.0 - 1e-9)))
    }
}

impl EpsSearch {
    /// Returns parameters with their default values.
    pub fn params() -> EpsParams {
        EpsParams::default()
    }

    /// Creates a search with these parameters.
    pub fn new(params: EpsChecked) -> Self {
        EpsSearch(params)
    }

    /// Chooses eps for these points by steps 1 to 3.
    ///
    /// # Errors
    /// Returns [`Error::NoScale`] for fewer points than a neighbourhood needs, or
    /// [`Error::Cancelled`] if the job is cancelled. Points that are all equal are one cluster with
    /// any radius, and get the radius 1, or [`floor`](EpsParams::floor) if that is greater than 0.
    pub fn choose(&self, points: Points<'_>, job: &Job) -> Result<EpsChoice> {
        let same = vec![1.0; points.len()];
        self.find((points, &same), false, job)
    }

    /// Chooses eps for points with weights, such as the durations of bursts, by all steps.
    ///
    /// # Errors
    /// Returns the errors of [`choose`](Self::choose), and an error if there is not one weight for
    /// each point, or a weight is negative or not finite.
    pub fn choose_weighted(
        &self,
        points: Points<'_>,
        weights: &[f64],
        job: &Job,
    ) -> Result<EpsChoice> {
        if weights.len() != points.len() {
            return Err(Error::Length {
                what: "weights of points",
                expected: points.len(),
                got: weights.len(),
            });
        }
        let wrong = |weight: &&f64| !(weight.is_finite() && **weight >= 0.0);
        if let Some(weight) = weights.iter().find(wrong) {
            return Err(Error::Parameter {
                name: "weight of a point",
                value: weight.to_string(),
                range: "finite and at least 0",
            });
        }
        self.find((points, weights), true, job)
    }

    fn find(
        &self,
        (points, weights): (Points<'_>, &[f64]),
        is_weighted: bool,
        job: &Job,
    ) -> Result<EpsChoice> {
        let spread = spread(points);
        let least = self.0.floor().max(spread * self.0.resolution());
        let bend = self.knee(points, job)?;
        let knee = match bend.map_or(least, |bend| bend.max(least)) {
            // All points are equal.
            0.0 => 1.0,
            knee => knee,
        };
        let sweep = self.sweep((points, weights), (knee, least), job)?;
        let modes = self.modes(points, least, job)?;
        let (eps, mut why) = if spread == 0.0 {
            (knee, EpsWhy::Resolution)
        } else {
            self.decide(&sweep, knee, &modes)
        };
        let mut found = self.tried((points, weights), eps, job)?;
        // The radius of a part of the points is not exact.
        let mut steps = 0;
        while why == EpsWhy::Single && found.labels.clusters() > 1 && steps < 16 {
            found = self.tried((points, weights), found.eps * 2.0_f64.powf(1.0 / 16.0), job)?;
            steps += 1;
        }
        if is_weighted && let Some(more) = self.take_in((points, weights), &found, &sweep, job)? {
            let noise = found.noise;
            why = EpsWhy::Noise { from: eps, noise };
            found = more;
        }
        let Tried { eps, labels, noise } = found;
        let mut sensitivity = 0.0;
        for factor in [std::f64::consts::FRAC_1_SQRT_2, std::f64::consts::SQRT_2] {
            let beside = (eps * factor).clamp(1e-150, 1e150);
            let other = self.cluster(points, beside, job)?;
            sensitivity += (1.0 - Agreement::new(&labels, &other)?.adjusted_rand()) / 2.0;
        }
        let least = match why {
            EpsWhy::Stable { low, .. } => {
                let mut run = sweep.iter().filter(|step| step.eps >= low);
                let will_do = run.find(|step| step.noise_weight <= self.0.noise());
                will_do.map_or(eps, |step| step.eps.min(eps))
            }
            // Equal points are one cluster with any radius.
            EpsWhy::Resolution if spread == 0.0 => 0.0,
            _ => eps,
        };
        Ok(EpsChoice {
            eps,
            why,
            least,
            ties: modes.ties(eps),
            knee,
            clusters: labels.clusters(),
            noise: labels.noise() as f64 / points.len() as f64,
            noise_weight: noise,
            sweep,
            sensitivity,
        })
    }

    /// Returns the knee of the k-distance graph; `None` if the graph has no knee.
    fn knee(&self, points: Points<'_>, job: &Job) -> Result<Option<f64>> {
        job.check()?;
        let params = &self.0;
        if points.len() < params.min_points() {
            return Err(Error::NoScale);
        }
        let k = params.min_points().saturating_sub(1).max(1);
        let step = points.len().div_ceil(params.queries()).max(1);
        let tree = KdTree::new(points, job)?;
        let squared = some_squared(&tree, k, step, job)?;
        let mut distances: Vec<f64> = squared.into_iter().map(f64::sqrt).collect();
        distances.sort_unstable_by(|a, b| b.total_cmp(a));
        Ok(knee(&distances))
    }

    fn sweep(
        &self,
        (points, weights): (Points<'_>, &[f64]),
        (knee, least): (f64, f64),
        job: &Job,
    ) -> Result<Vec<EpsStep>> {
        let steps = (2.0 * self.0.octaves()).round() as i32;
        let (mut sweep, mut before): (Vec<EpsStep>, Option<Labels>) = (Vec::new(), None);
        // Steps below the smallest radius are moved above it.
        let most = if knee > least { steps } else { 2 * steps };
        for step in -steps..=most {
            let eps = knee * 2.0_f64.powf(f64::from(step) / 2.0);
            if !(1e-150..=1e150).contains(&eps) || eps < least * (1.0 - 1e-9) {
                continue;
            }
            let labels = self.cluster(points, eps, job)?;
            if let (Some(before), Some(last)) = (&before, sweep.last_mut()) {
                let agreement = Agreement::new(before, &labels)?;
                (last.rand, last.mirkin) = (agreement.adjusted_rand(), agreement.mirkin());
            }
            sweep.push(EpsStep {
                eps,
                clusters: labels.clusters(),
                noise: labels.noise() as f64 / points.len() as f64,
                noise_weight: noise_weight(&labels, weights),
                rand: 1.0,
                mirkin: 0.0,
            });
            before = Some(labels);
            job.advance("eps sweep", 1, 2 * steps as u64 + 1);
        }
        Ok(sweep)
    }

    fn cluster(&self, points: Points<'_>, eps: f64, job: &Job) -> Result<Labels> {
        let params = Dbscan::params().eps(eps).min_points(self.0.min_points());
        let scan = Dbscan::new(params.check()?).scan(points, &job.without_progress())?;
        Ok(scan.into_labels())
    }

    fn decide(&self, sweep: &[EpsStep], knee: f64, modes: &Modes) -> (f64, EpsWhy) {
        if modes.is_single() {
            return (modes.single().max(knee) * (1.0 + 1e-9), EpsWhy::Single);
        }
        let (mut best, mut start): (Option<(f64, f64, f64)>, usize) = (None, 0);
        for at in 0..sweep.len() {
            let is_apart = |step: &EpsStep| step.clusters >= 2 && modes.at(step.eps) >= 2;
            let holds = sweep[at].rand >= self.0.alike()
                && is_apart(&sweep[at])
                && sweep.get(at + 1).is_some_and(is_apart);
            if holds {
                continue;
            }
            let (low, high) = (sweep[start].eps, sweep[at].eps);
            if at > start {
                let away = (low / knee).log2().max((knee / high).log2()).max(0.0);
                let score = (high / low).log2() - away;
                // In a tie takes the run nearer to the knee, then the smaller radius. The scores
                // are multiples of half an octave up to rounding.
                let rank = ((4.0 * score).round(), -(4.0 * away).round());
                let known = best.map(|(score, low, high)| {
                    let away = (low / knee).log2().max((knee / high).log2()).max(0.0);
                    (score, -(4.0 * away).round())
                });
                if known.is_none_or(|known| rank > known) {
                    best = Some((rank.0, low, high));
                }
            }
            start = at + 1;
        }
        match best {
            Some((_, low, high)) => {
                // Modes of few points may be joined within the run, because that hardly changes its agreement.
                let run = || sweep.iter().filter(|step| (low..=high).contains(&step.eps));
                let noise = run().next_back().map_or(0.0, |step| step.noise);
                let enough = run().filter(|step| step.noise <= noise + MORE_NOISE);
                // The last of equal ones.
                let high = enough.max_by_key(|step| modes.at(step.eps));
                let high = high.map_or(low, |step| step.eps);
                (high, EpsWhy::Stable { low, high })
            }
            None => {
                let steps = sweep.iter().map(|step| (modes.at(step.eps), step.eps));
                let most = steps.max_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
                (most.map_or(knee, |most| most.1), EpsWhy::Knee)
            }
        }
    }
}

/// Returns the largest range of an axis between its 1 % and 99 % quantiles; between all values of an
/// axis if these quantiles are equal.
fn spread(points: Points<'_>) -> f64 {
    let of_axis = |axis: usize| {
        let mut values: Vec<f64> = points.iter().map(|point| point[axis]).collect();
        values.sort_unstable_by(f64::total_cmp);
        let hundredth = values.len() / 100;
        let inner = values.get(hundredth..values.len() - hundredth);
        [inner.unwrap_or_default(), &values]
            .into_iter()
            .filter_map(|values| Some(values.last()? - values.first()?))
            .find(|spread| *spread > 0.0)
            .unwrap_or(0.0)
    };
    (0..points.dimensions()).map(of_axis).fold(0.0, f64::max)
}
