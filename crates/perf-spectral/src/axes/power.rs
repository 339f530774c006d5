//! [`Spectra::axis_power`]: share of each axis in the variation of a view, from the energies of its
//! spectrum; [`AxisPower`]: the shares, and filters that select or remove the dominant axes.

use crate::axes::Energies;
use crate::real::Real;
use crate::spectra::Spectra;
use crate::{AxisFilter, Result};
use perf_core::Job;

/// Distribution of the variation of a view over the axes.
///
/// ```
/// use perf_core::Job;
/// use perf_spectral::Spectra;
/// // On a grid of 8 x 4 the view varies along the first axis only.
/// let ramp: Vec<f64> = (0..32).map(|cell| f64::from(cell / 4)).collect();
/// let mut builder = Spectra::<f64>::builder(&[8, 4])?;
/// builder.extend(&[&ramp], &Job::default())?;
/// let power = builder.finish().axis_power(0)?;
/// assert!(power.share[0] > 0.999 && power.share[1] < 0.001);
/// // Filters for the dominant axes and for the rest.
/// assert_eq!((power.main().f(), power.rest().f()), (&[1.0, 0.0][..], &[0.0, 1.0][..]));
/// # Ok::<(), perf_spectral::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct AxisPower {
    /// Share of each axis, `sum_k W_i^2 |V|^2` over the sum of all axes; 0 if nothing varies.
    pub share: Vec<f64>,
    /// Share of each axis if the view were noise. It depends on the lengths alone: long axes have
    /// more frequencies.
    pub chance: Vec<f64>,
}

impl AxisPower {
    /// Returns the filter that selects the dominant axes: weight 1 for each axis whose share
    /// exceeds its share by chance, 0 for the others. All axes if none stands out.
    pub fn main(&self) -> AxisFilter {
        let f = self.weights(true);
        if f.contains(&1.0) {
            AxisFilter::of(f)
        } else {
            AxisFilter::all(f.len())
        }
    }

    /// Returns the complementary filter, which removes the dominant axes. All axes if no other axis
    /// is left.
    pub fn rest(&self) -> AxisFilter {
        let f = self.weights(false);
        if f.contains(&1.0) {
            AxisFilter::of(f)
        } else {
            AxisFilter::all(f.len())
        }
    }

    fn weights(&self, main: bool) -> Vec<f64> {
        let pairs = self.share.iter().zip(&self.chance);
        let stands_out = |share: f64, chance: f64| share > chance * (1.0 + 1e-9);
        pairs
            // An axis of length 1 has no variation under either filter.
            .map(|(share, chance)| *chance > 0.0 && stands_out(*share, *chance) == main)
            .map(|chosen| f64::from(u8::from(chosen)))
            .collect()
    }
}

impl<T: Real> Spectra<T> {
    /// Returns the energies of noise along each axis.
    fn chance(&self) -> Result<&[f64]> {
        if let Some(chance) = self.chance.get() {
            return Ok(chance);
        }
        let layout = &self.plan.layout;
        let job = Job::default();
        let chance = Energies::new(layout, &job)?.of_noise(layout, &job)?;
        Ok(self.chance.get_or_init(|| chance))
    }

    /// Computes the distribution of the variation of a view over the axes. It indicates the axes
    /// that may hold a sub-phenomenon, and a filter for them.
    ///
    /// # Errors
    /// Returns [`Error::UnknownView`](crate::Error::UnknownView) if there is no such view.
    pub fn axis_power(&self, view: usize) -> Result<AxisPower> {
        let shares = |energies: &[f64]| -> Vec<f64> {
            let sum: f64 = energies.iter().sum();
            let share = |energy: &f64| if sum > 0.0 { energy / sum } else { 0.0 };
            energies.iter().map(share).collect()
        };
        Ok(AxisPower {
            share: shares(&self.view(view)?.energies),
            chance: shares(self.chance()?),
        })
    }
}
