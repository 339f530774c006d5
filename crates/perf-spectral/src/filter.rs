//! [`Filter`]: trait for the weight of each [`Wave`] vector in a correlation; its implementations
//! [`AxisFilter`], [`Band`] and [`Harmonics`], the complement [`Without`] and the product [`Both`].

use crate::{Error, Result};

/// Unit in which frequencies are measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Frequencies {
    /// Periods over the whole axis: signed integers, as published. The length of an axis matters.
    #[default]
    Index,
    /// Periods per coordinate: index divided by axis length, at most 1/2.
    Physical,
}

/// Wave vector that a [`Filter`] weights, with one frequency for each axis.
///
/// ```
/// use perf_spectral::{Frequencies, Wave};
/// let wave = Wave { k: &[3, -4], dims: &[64, 16] };
/// assert_eq!(wave.square(Frequencies::Index), 25.0);
/// assert_eq!(wave.along(1, Frequencies::Physical), -0.25);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Wave<'a> {
    /// Signed index frequencies, from -d/2 to (d-1)/2.
    pub k: &'a [i32],
    /// Axis lengths d.
    pub dims: &'a [usize],
}

impl Wave<'_> {
    /// Returns the frequency along an axis; 0 if there is no such axis.
    pub fn along(&self, axis: usize, unit: Frequencies) -> f64 {
        let (Some(k), Some(len)) = (self.k.get(axis), self.dims.get(axis)) else {
            return 0.0;
        };
        match unit {
            Frequencies::Index => f64::from(*k),
            Frequencies::Physical => f64::from(*k) / *len as f64,
        }
    }

    /// Returns the squared length of the wave vector.
    pub fn square(&self, unit: Frequencies) -> f64 {
        let axes = 0..self.k.len();
        axes.map(|axis| self.along(axis, unit).powi(2)).sum()
    }
}

/// Weights of the frequencies in a correlation.
///
/// The weight multiplies the product of two spectra, so it is the square of the weight on each of
/// them.
///
/// ```
/// use perf_core::Job;
/// use perf_spectral::{Filter, Frequencies, Spectra, Wave};
/// /// What changes slowly: no more than twice over the whole grid.
/// struct Slow;
/// impl Filter for Slow {
///     fn weight(&self, wave: Wave<'_>) -> f64 {
///         f64::from(u8::from(wave.square(Frequencies::Index) <= 4.0))
///     }
/// }
/// let slow: Vec<f64> = (0..64).map(|x| (f64::from(x) * std::f64::consts::TAU / 64.0).cos()).collect();
/// let rough: Vec<f64> = (0..64).map(|x| slow[x] + f64::from(x as u8 % 2)).collect();
/// let mut builder = Spectra::<f64>::builder(&[64])?;
/// builder.extend(&[&slow, &rough], &Job::default())?;
/// let spectra = builder.finish();
/// let reference = spectra.reference(0, &Slow, &Job::default())?.expect("it varies");
/// assert!((spectra.correlate(&reference, 1, &Job::default())?.best().r - 1.0).abs() < 1e-9);
/// # Ok::<(), perf_spectral::Error>(())
/// ```
pub trait Filter: Sync {
    /// Returns the weight of a wave vector, in `0.0..=1.0`. It must be the same for k and -k,
    /// otherwise the result would not be real; it is requested for only one of them. The weight of
    /// k = 0 is never requested, because the constant term is excluded.
    fn weight(&self, wave: Wave<'_>) -> f64;

    /// Returns f, one weight for each axis, if the filter is `sum f_i k_i^2 / |k|^2` of index
    /// frequencies.
    fn cosine(&self) -> Option<&[f64]> {
        None
    }

    /// Checks that the filter suits these axis lengths. Called once, before any weight is
    /// requested.
    ///
    /// # Errors
    /// Returns [`Error::Length`] if the filter is for another number of axes. The default accepts
    /// any.
    fn check(&self, dims: &[usize]) -> Result<()> {
        let _ = dims;
        Ok(())
    }
}

/// Returns an error unless there is one element for each axis.
fn one_an_axis(what: &'static str, got: usize, dims: &[usize]) -> Result<()> {
    if got == dims.len() {
        Ok(())
    } else {
        Err(Error::Length {
            what,
            expected: dims.len(),
            got,
        })
    }
}

/// Filter of the paper: `w(k) = sum f_i W_i(k)^2` with the cosine weighting `W_i = k_i / |k|`. With
/// f = 1 variation along an axis counts in full, with f = 0 it is removed.
///
/// ```
/// use perf_spectral::{AxisFilter, Filter, Wave};
/// let filter = AxisFilter::new(&[1.0, 0.0])?;
/// let weight = |k: &[i32]| filter.weight(Wave { k, dims: &[8, 8] });
/// assert_eq!([weight(&[2, 0]), weight(&[0, 3]), weight(&[1, 1])], [1.0, 0.0, 0.5]);
/// assert!(AxisFilter::new(&[1.5]).is_err());
/// # Ok::<(), perf_spectral::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct AxisFilter {
    /// Weight of each axis.
    f: Vec<f64>,
    /// Unit of the frequencies.
    unit: Frequencies,
}

impl AxisFilter {
    /// Creates a filter with one weight for each axis, in `0.0..=1.0`.
    ///
    /// # Errors
    /// Returns [`Error::Weight`] for a weight outside of that range.
    pub fn new(f: &[f64]) -> Result<Self> {
        match f.iter().find(|f| !(0.0..=1.0).contains(*f)) {
            Some(weight) => Err(Error::Weight { weight: *weight }),
            None => Ok(AxisFilter {
                f: f.to_vec(),
                unit: Frequencies::Index,
            }),
        }
    }

    /// Creates a filter that passes all axes in full. The unshifted correlation is then Pearson's.
    pub fn all(axes: usize) -> Self {
        AxisFilter {
            f: vec![1.0; axes],
            unit: Frequencies::Index,
        }
    }

    /// Creates a filter from weights that are 0 or 1.
    pub(crate) fn of(f: Vec<f64>) -> Self {
        AxisFilter {
            f,
            unit: Frequencies::Index,
        }
    }

    /// Sets the unit of the frequencies. Default [`Frequencies::Index`].
    pub fn frequencies(mut self, unit: Frequencies) -> Self {
        self.unit = unit;
        self
    }

    /// Returns the weights.
    pub fn f(&self) -> &[f64] {
        &self.f
    }
}

impl Filter for AxisFilter {
    fn weight(&self, wave: Wave<'_>) -> f64 {
        let square = wave.square(self.unit);
        if square == 0.0 {
            return 0.0;
        }
        let axes = self.f.iter().enumerate();
        let sum: f64 = axes
            .map(|(axis, f)| f * wave.along(axis, self.unit).powi(2))
            .sum();
        sum / square
    }

    fn cosine(&self) -> Option<&[f64]> {
        (self.unit == Frequencies::Index).then_some(&self.f)
    }

    fn check(&self, dims: &[usize]) -> Result<()> {
        one_an_axis("weights of axes", self.f.len(), dims)
    }
}

/// Band of frequencies along one axis, or of the length of the wave vector.
#[derive(Clone, Debug, PartialEq)]
pub struct Band {
    /// Axis; `None` for |k|.
    pub axis: Option<usize>,
    /// Lowest frequency in the band; signs are ignored.
    pub low: f64,
    /// Highest frequency in the band.
    pub high: f64,
    /// Unit of both limits.
    pub unit: Frequencies,
}

impl Filter for Band {
    fn weight(&self, wave: Wave<'_>) -> f64 {
        let at = match self.axis {
            Some(axis) => wave.along(axis, self.unit).abs(),
            None => wave.square(self.unit).sqrt(),
        };
        f64::from(u8::from((self.low..=self.high).contains(&at)))
    }

    fn check(&self, dims: &[usize]) -> Result<()> {
        match self.axis {
            Some(axis) if axis >= dims.len() => Err(Error::Length {
                what: "axes that a band needs",
                expected: axis.saturating_add(1),
                got: dims.len(),
            }),
            _ => Ok(()),
        }
    }
}

/// Wave vector and its harmonics: k, 2 k, 3 k, .. and their opposites.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Harmonics {
    /// Wave vector, with one index frequency for each axis.
    pub k: Vec<i32>,
    /// Number of multiples; 1 is the wave alone.
    pub count: u32,
}

/// Number of multiples up to which a linear search is faster than division.
const FEW: u32 = 8;

impl Harmonics {
    /// Returns `true` if the multiple `times` of k, with either sign, is the wave vector.
    fn is_hit(&self, wave: Wave<'_>, times: i64) -> bool {
        let mut axes = wave.k.iter().zip(&self.k).zip(wave.dims);
        // No product exceeds 2^31 (2^32 - 1).
        axes.all(|((k, own), len)| {
            let len = (*len as i64).max(1);
            (i64::from(*k) - i64::from(*own) * times).rem_euclid(len) == 0
        })
    }

    /// Tests all multiples by division. Along the axes so far, the matching multiples are `first`
    /// plus multiples of `period`; each axis adds one linear congruence.
    fn is_any_hit(&self, wave: Wave<'_>) -> bool {
        let most = i128::from(self.count);
        let (mut first, mut period) = (0_i128, 1_i128);
        for ((k, own), len) in wave.k.iter().zip(&self.k).zip(wave.dims) {
            let (k, own) = (i128::from(*k), i128::from(*own));
            let len = i128::from((*len as i64).max(1));
            // Solves own (first + s period) = k.
            let missing = (k - own * first).rem_euclid(len);
            let (common, inverse) = divisor((own * period).rem_euclid(len), len);
            if missing % common != 0 {
                return false;
            }
            let own_period = len / common;
            let s = (missing / common * inverse).rem_euclid(own_period);
            (first, period) = (first + s * period, period * own_period);
            if period > 2 * most {
                // The multiple of smallest magnitude decides; it may be 0.
                let near = if first <= most { first } else { first - period };
                let is_near = near != 0 && near.abs() <= most;
                return is_near && self.is_hit(wave, near as i64);
            }
        }
        let nearest = match first {
            0 => period,
            _ => first.min(period - first),
        };
        nearest <= most
    }
}

/// Returns the greatest common divisor of a number and a larger length, and the factor by which the
/// number must be multiplied to yield it modulo the length.
fn divisor(number: i128, len: i128) -> (i128, i128) {
    let (mut a, mut b) = ((number, 1), (len, 0));
    while b.0 != 0 {
        let times = a.0 / b.0;
        (a, b) = (b, (a.0 - times * b.0, a.1 - times * b.1));
    }
    a
}

impl Filter for Harmonics {
    fn weight(&self, wave: Wave<'_>) -> f64 {
        let mut multiples = 1..=i64::from(self.count);
        let found = self.k.len() == wave.k.len()
            && if self.count <= FEW {
                multiples.any(|times| self.is_hit(wave, times) || self.is_hit(wave, -times))
            } else {
                self.is_any_hit(wave)
            };
        f64::from(u8::from(found))
    }

    fn check(&self, dims: &[usize]) -> Result<()> {
        one_an_axis("frequencies of a wave vector", self.k.len(), dims)
    }
}

/// Complement of another filter: `1 - w`. A notch filter is `Without(Band { .. })`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Without<F>(pub F);

impl<F: Filter> Filter for Without<F> {
    fn weight(&self, wave: Wave<'_>) -> f64 {
        1.0 - self.0.weight(wave)
    }

    fn check(&self, dims: &[usize]) -> Result<()> {
        self.0.check(dims)
    }
}

/// Two filters in series: the product of their weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Both<A, B>(pub A, pub B);

impl<A: Filter, B: Filter> Filter for Both<A, B> {
    fn weight(&self, wave: Wave<'_>) -> f64 {
        self.0.weight(wave) * self.1.weight(wave)
    }

    fn check(&self, dims: &[usize]) -> Result<()> {
        self.0.check(dims)?;
        self.1.check(dims)
    }
}

impl<F: Filter + ?Sized> Filter for &F {
    fn weight(&self, wave: Wave<'_>) -> f64 {
        (**self).weight(wave)
    }

    fn cosine(&self) -> Option<&[f64]> {
        (**self).cosine()
    }

    fn check(&self, dims: &[usize]) -> Result<()> {
        (**self).check(dims)
    }
}
