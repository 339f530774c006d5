//! [`Confidence`]: p-values of correlations with a reference, from surrogates with its values and its
//! spectrum, whose number and seed [`NullParams`] set.
//!
//! Among many views some always correlate by chance. A surrogate has the power spectrum of the
//! reference, and thus the same smoothness along each axis, and its values, and thus its outliers, but
//! is unrelated to any view. The
//! p-value of one view is the fraction of surrogates that correlate with it as strongly as the
//! reference does. The p-value for the whole list uses the best view of each surrogate.

use crate::correlation::{Correlation, TOLERANCE};
use crate::correlation::{Score, check_tolerance};
use crate::fft::Transform;
use crate::real::Real;
use crate::spectra::Spectra;
use crate::{Error, Filter, Result};
use perf_core::{Job, parallel};

/// Upper bound on the number of surrogates, which allows p-values of 1e-6.
const MOST_SURROGATES: usize = 1 << 20;

perf_core::parameters! {
    /// Parameters of a null distribution. Set them, then call [`check`](Self::check).
    ///
    /// ```
    /// use perf_spectral::NullParams;
    /// let params = NullParams::default().count(199).level(0.01).seed(7);
    /// assert!(params.check().is_ok());
    /// assert!(NullParams::default().count(0).check().is_err());
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct NullParams {
        /// Sets the number of surrogates; default 99, at least 1, at most 2^20. The smallest p-value is
        /// `1 / (count + 1)`.
        count: usize = 99,
        /// Sets the level of the null band, between 0 and 1; default 0.05.
        level: f64 = 0.05,
        /// Sets the seed of the phases; default 0. The same seed gives the same result on any number of
        /// threads.
        seed: u64 = 0,
        /// Sets the score that is compared; default [`Score::Magnitude`].
        score: Score = Score::default(),
        /// Sets the tolerance of equal magnitudes, like
        /// [`RankParams::tolerance`](crate::RankParams::tolerance).
        tolerance: f64 = TOLERANCE,
    }
}

impl NullParams {
    /// Validates the parameters.
    ///
    /// # Errors
    /// Returns [`Error::Parameter`] for no surrogates or more than 2^20, for a level that is not
    /// between 0 and 1, or for a tolerance that is negative or not below 1.
    pub fn check(self) -> Result<CheckedNull> {
        if !(1..=MOST_SURROGATES).contains(&self.count) {
            return Err(Error::Parameter {
                what: "the number of surrogates",
                got: self.count as f64,
            });
        }
        check_tolerance(self.tolerance)?;
        if self.level > 0.0 && self.level < 1.0 {
            Ok(CheckedNull(self))
        } else {
            Err(Error::Parameter {
                what: "the level of the null band",
                got: self.level,
            })
        }
    }
}

/// Parameters validated by [`NullParams::check`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CheckedNull(NullParams);

/// Significance of correlations with a reference.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Confidence {
    /// p-value of each view: the fraction of surrogates that correlate with it at least as strongly
    /// as the reference does, counting the reference itself.
    pub p: Vec<f64>,
    /// p-value of each view against the best view of each surrogate, which holds for all views at
    /// once.
    pub p_of_all: Vec<f64>,
    /// Score that the best of all views reaches by chance with the probability of the level. Lower
    /// correlations lie in the null band.
    pub band: f64,
}

impl<T: Real> Spectra<T> {
    /// Computes the significance of the correlations of a reference with some views. Takes one
    /// transform for each view and surrogate, and one for each view.
    ///
    /// Progress is reported in transforms, in the phase `surrogates`.
    ///
    /// # Errors
    /// Returns [`Error::UnknownView`] for a view that does not exist, [`Error::Length`] for a
    /// filter with another number of axes, [`Error::Io`] if the file cannot be read, or
    /// [`Error::Cancelled`] if the job is cancelled.
    pub fn confidence(
        &self,
        reference: usize,
        views: &[usize],
        filter: &(impl Filter + ?Sized),
        params: &CheckedNull,
        job: &Job,
    ) -> Result<Confidence> {
        T::confidence(self, reference, views, &filter, params, job)
    }

    pub(crate) fn chances(
        &self,
        reference: usize,
        views: &[usize],
        filter: &dyn Filter,
        params: &CheckedNull,
        job: &Job,
    ) -> Result<Confidence> {
        let CheckedNull(params) = params;
        for view in views {
            self.view(*view)?;
        }
        let Some(prepared) = self.referred(reference, filter, job)? else {
            return Ok(Confidence {
                p: vec![1.0; views.len()],
                p_of_all: vec![1.0; views.len()],
                band: 0.0,
            });
        };
        let score = |correlation: Correlation| match params.score {
            Score::Magnitude => correlation.best().r.abs(),
            Score::Paper => correlation.max.r,
        };
        let template = self.template(reference, job)?;
        let own = parallel::try_map(views.len(), |at| -> Result<_> {
            job.check()?;
            Ok(score(T::correlate(
                self,
                &prepared,
                views[at],
                params.tolerance,
                job,
            )?))
        })?;
        let total = (views.len() as u64).saturating_mul(params.count as u64);
        let chance = parallel::try_map(params.count, |number| -> Result<_> {
            let random = Random::of(params.seed, number as u64);
            let surrogate = template.surrogate(&self.plan, random, job)?;
            let surrogate = self.plan.prepared(&surrogate, filter, job)?;
            let mut scores = Vec::with_capacity(views.len());
            for view in views {
                job.check()?;
                scores.push(score(T::correlate(
                    self,
                    &surrogate,
                    *view,
                    params.tolerance,
                    job,
                )?));
            }
            job.advance("surrogates", views.len() as u64, total);
            Ok(scores)
        })?;
        let mut best: Vec<f64> = chance
            .iter()
            .map(|scores| scores.iter().copied().fold(0.0, f64::max))
            .collect();
        best.sort_unstable_by(f64::total_cmp);
        // Number of scores above the band that the level allows, counting the reference.
        let above = (params.level * (params.count + 1) as f64).floor() as usize;
        let at = params.count.saturating_sub(above.max(1));
        let share = |reached: usize| (reached + 1) as f64 / (params.count + 1) as f64;
        let p = own
            .iter()
            .enumerate()
            .map(|(at, own)| share(chance.iter().filter(|scores| scores[at] >= *own).count()));
        let p_of_all = own
            .iter()
            .map(|own| share(best.iter().filter(|best| *best >= own).count()));
        Ok(Confidence {
            p: p.collect(),
            p_of_all: p_of_all.collect(),
            // Without surrogates the band is empty.
            band: best.get(at).copied().unwrap_or(0.0),
        })
    }
}

/// Number of times that a surrogate is given the spectrum and then the values of the reference again.
const ROUNDS: usize = 20;

/// View that surrogates are made of.
struct Template<T> {
    /// Spectrum without the mean.
    spectrum: Vec<T>,
    /// Values without the mean, ascending.
    sorted: Vec<T>,
}

impl<T: Real> Spectra<T> {
    fn template(&self, view: usize, job: &Job) -> Result<Template<T>> {
        let Some(slot) = self.views()[view].slot else {
            // A view without variation has no surrogates.
            return Ok(Template {
                spectrum: Vec::new(),
                sorted: Vec::new(),
            });
        };
        self.at(slot, job, |scratch, spectrum| {
            let mut sorted = vec![T::default(); spectrum.len()];
            self.plan.inverse(spectrum, &mut sorted, scratch)?;
            sorted.sort_unstable_by(compare);
            Ok(Template {
                spectrum: spectrum.to_vec(),
                sorted,
            })
        })?
    }
}

impl<T: Real> Template<T> {
    /// Returns the spectrum of a view with the values of the reference in another order, whose
    /// spectrum has nearly the magnitudes of the reference.
    ///
    /// The order begins at random. It is then alternately that of the view with the phases of the
    /// surrogate and the magnitudes of the reference, and of the values (Schreiber and Schmitz 1996).
    /// Random phases alone would turn outliers into waves, and values that are only put into the
    /// order of such a view once would lose smoothness along long axes.
    fn surrogate(&self, plan: &Transform<T>, mut random: Random, job: &Job) -> Result<Vec<T>> {
        let mut scratch = plan.scratch();
        scratch.set_job(job);
        let mut order: Vec<u32> = (0..self.sorted.len() as u32).collect();
        for at in (1..order.len()).rev() {
            order.swap(at, (random.unit() * (at + 1) as f64) as usize);
        }
        let mut values = vec![T::default(); self.sorted.len()];
        let mut spectrum = values.clone();
        for round in 0..=ROUNDS {
            job.check()?;
            for (cell, value) in order.iter().zip(&self.sorted) {
                values[*cell as usize] = *value;
            }
            plan.forward(&values, &mut spectrum, &mut scratch)?;
            if round == ROUNDS {
                break;
            }
            self.give_magnitudes(plan, &mut spectrum);
            plan.inverse(&spectrum, &mut values, &mut scratch)?;
            order.sort_unstable_by(|a, b| {
                compare(&values[*a as usize], &values[*b as usize]).then(a.cmp(b))
            });
        }
        Ok(spectrum)
    }

    /// Replaces the magnitudes of a spectrum by those of the reference, and keeps its phases.
    fn give_magnitudes(&self, plan: &Transform<T>, spectrum: &mut [T]) {
        let own = self.spectrum.as_slice();
        for run in plan.layout.runs() {
            for at in 0..run.len {
                let (re, im) = (run.re + at, run.im + at);
                let size = |of: &[T]| of[re].wide().hypot(of[im].wide());
                let (size, target) = (size(spectrum), size(own));
                if size > 0.0 {
                    let factor = target / size;
                    spectrum[re] = T::of(spectrum[re].wide() * factor);
                    spectrum[im] = T::of(spectrum[im].wide() * factor);
                }
            }
        }
        for at in plan.layout.owns().into_iter().flatten() {
            spectrum[at] = T::of(own[at].wide().abs().copysign(spectrum[at].wide()));
        }
    }
}

fn compare<T: Real>(a: &T, b: &T) -> std::cmp::Ordering {
    a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal)
}

/// Pseudo-random numbers from a seed.
pub(crate) struct Random(u64);

impl Random {
    /// Creates the generator of one of several surrogates.
    pub(crate) fn of(seed: u64, number: u64) -> Self {
        Random(mixed(seed ^ mixed(number + 1)))
    }

    /// Returns a number in `0.0..1.0`.
    pub(crate) fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        (mixed(self.0) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Applies the output function of SplitMix64.
fn mixed(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
