//! [`Reference`]: spectrum prepared with a filter for many correlations; [`Correlation`] with
//! another spectrum over all shifts, and its [`Bound`]s without a transform.

use crate::axes::{Run, roots};
use crate::correlation::Peak;
use crate::fft::{Scratch, Transform};
use crate::real::{Real, vectors, vectors_mut};
use crate::{Error, Filter, Result};
use perf_core::{CancellationChecks, Job};
use pulp::{Simd, WithSimd};

/// Default of [`RankParams::tolerance`](crate::RankParams::tolerance): magnitudes within 1 % count
/// as equal.
pub const TOLERANCE: f64 = 0.01;

/// Extremes of R over all shifts, its unshifted value, and the value to report (section 4).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Correlation {
    /// Maximum of R, `argmax R` in the paper. Never negative, because R sums to 0.
    pub max: Peak,
    /// Minimum of R.
    pub min: Peak,
    /// R without shift.
    pub zero: f64,
    /// Value of [`best`](Self::best).
    pub chosen: Peak,
}

impl Correlation {
    /// Returns r_f: a value of the largest magnitude within the tolerance, with its sign.
    ///
    /// Candidates are extremes along each axis that they are shifted along. Candidates whose
    /// magnitude is within the tolerance of the largest count as equal, and the one with the
    /// smallest shift is returned. A shift along an axis is thus reported only if it raises the
    /// magnitude by more than the tolerance, and for a pattern that repeats along an axis the
    /// nearest repetition is reported. Among equally small shifts, one with the sign of the
    /// unshifted value is returned, unless that value is below the tolerance; then the one of the
    /// lowest cell. The tolerance is that of [`RankParams`](crate::RankParams::tolerance) in
    /// rankings, and [`TOLERANCE`] elsewhere.
    ///
    /// ```
    /// use perf_core::Job;
    /// use perf_spectral::{AxisFilter, Spectra};
    /// // Two waves, and noise of 1 % in the second one.
    /// let wave = |x: usize| (x as f64 * std::f64::consts::FRAC_PI_4).sin();
    /// let one: Vec<f64> = (0..8).map(wave).collect();
    /// let two: Vec<f64> = (0..8).map(|x| wave(x) + [0.01, 0.0, -0.01, 0.0, 0.0, 0.0, 0.01, 0.0][x]).collect();
    /// let mut builder = Spectra::<f64>::builder(&[8])?;
    /// builder.extend(&[one, two], &Job::default())?;
    /// let spectra = builder.finish();
    /// let reference = spectra.reference(0, &AxisFilter::all(1), &Job::default())?.expect("it varies");
    /// let found = spectra.correlate(&reference, 1, &Job::default())?;
    /// assert_eq!((found.best().at, found.best().r), (0, found.zero));
    /// # Ok::<(), perf_spectral::Error>(())
    /// ```
    pub fn best(&self) -> Peak {
        self.chosen
    }

    /// Returns the maximum or the minimum, whichever has the larger magnitude. If they agree within
    /// 1e-9 the smaller shift wins.
    pub fn strict(&self) -> Peak {
        const TIE: f64 = 1e-9;
        let (high, low) = (self.max.r.abs(), self.min.r.abs());
        let nearer = (self.max.norm, self.max.at) <= (self.min.norm, self.min.at);
        if high > low + TIE || (high >= low - TIE && nearer) {
            self.max
        } else {
            self.min
        }
    }
}

/// Bounds of a correlation without a transform: `zero <= max |R| <= most`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Bound {
    /// R without shift.
    pub zero: f64,
    /// Upper bound of |R| (section 8): `sum w |A| |B|` divided by the norm.
    pub most: f64,
}

/// Spectrum and filter, prepared for correlation with many others.
#[derive(Debug)]
pub struct Reference<T: Real> {
    /// Axis lengths. The following fields are in the order of packed spectra of this shape.
    dims: Vec<usize>,
    /// `w conj(A)`, packed; `w A` for real places.
    pub(crate) product: Vec<T>,
    /// `w |A|` of the runs.
    magnitude: Vec<T>,
    /// `sum w |A|^2`.
    pub(crate) power: f64,
    /// Weights, unless the power of other spectra follows from their energies.
    pub(crate) weights: Option<Vec<T>>,
    /// Axis weights of a cosine filter.
    pub(crate) f: Option<Vec<f64>>,
    /// Root of the power of `w A` in blocks.
    pub(crate) roots: Vec<f64>,
}

impl<T: Real> Reference<T> {
    /// Returns an error unless the reference has this shape. Another shape with the same number of
    /// points has another order.
    pub(crate) fn check(&self, dims: &[usize]) -> Result<()> {
        check_dims(&self.dims, dims)
    }
}

/// Returns an error unless the axis lengths of a reference are those of the views, `dims`.
pub(crate) fn check_dims(own: &[usize], dims: &[usize]) -> Result<()> {
    if own.len() != dims.len() {
        return Err(Error::Length {
            what: "axes of a reference",
            expected: dims.len(),
            got: own.len(),
        });
    }
    match dims.iter().zip(own).find(|(here, own)| here != own) {
        Some((&expected, &got)) => Err(Error::Length {
            what: "length of an axis of a reference",
            expected,
            got,
        }),
        None => Ok(()),
    }
}

impl<T: Real> Transform<T> {
    /// Prepares a spectrum as the reference of many correlations.
    ///
    /// # Errors
    /// Returns [`Error::Length`] if the spectrum does not have |T| reals, or the filter is for
    /// another number of axes.
    pub fn reference(
        &self,
        spectrum: &[T],
        filter: &(impl Filter + ?Sized),
    ) -> Result<Reference<T>> {
        T::prepare(self, spectrum, &filter, &Job::default())
    }

    /// Prepares a reference, with cancellation checks between the passes over the spectrum.
    pub(crate) fn prepared(
        &self,
        spectrum: &[T],
        filter: &dyn Filter,
        job: &Job,
    ) -> Result<Reference<T>> {
        self.check("values of a spectrum", spectrum.len())?;
        self.check_filter(filter)?;
        let f = filter.cosine().map(<[f64]>::to_vec);
        let weights = self.weights(filter, job)?;
        let power = self.power(&weights, spectrum, job)?;
        let mut checks = job.checks();
        let mut product: Vec<T> = Vec::with_capacity(self.len());
        for piece in checks.pieces(0..self.len()) {
            let piece = piece?;
            let pairs = weights[piece.clone()].iter().zip(&spectrum[piece]);
            product.extend(pairs.map(|(w, a)| *w * *a));
        }
        let mut magnitude = Vec::with_capacity(self.len().div_ceil(2));
        for Run { re, im, len } in self.layout.runs() {
            let (re, im) = (&product[re..re + len], &product[im..im + len]);
            for (re, im) in re
                .chunks(CancellationChecks::EACH)
                .zip(im.chunks(CancellationChecks::EACH))
            {
                checks.next(re.len())?;
                let pairs = re.iter().zip(im);
                magnitude.extend(pairs.map(|(re, im)| T::of(re.wide().hypot(im.wide()))));
            }
        }
        for Run { im, len, .. } in self.layout.runs() {
            for piece in checks.pieces(im..im + len) {
                for im in &mut product[piece?] {
                    *im = T::default() - *im;
                }
            }
        }
        Ok(Reference {
            dims: self.dims().to_vec(),
            roots: roots(&self.layout, &product, job)?,
            product,
            magnitude,
            power,
            weights: f.is_none().then_some(weights),
            f,
        })
    }

    /// Returns an error unless the filter suits these axes.
    pub(crate) fn check_filter(&self, filter: &dyn Filter) -> Result<()> {
        filter.check(self.dims())?;
        match filter.cosine() {
            Some(f) if f.len() != self.dims().len() => Err(Error::Length {
                what: "weights of axes",
                expected: self.dims().len(),
                got: f.len(),
            }),
            _ => Ok(()),
        }
    }

    /// Returns `sum w |V|^2` over all frequencies.
    pub(crate) fn power(&self, weights: &[T], spectrum: &[T], job: &Job) -> Result<f64> {
        let term = |at: usize| weights[at].wide() * spectrum[at].wide().powi(2);
        let mut checks = job.checks();
        let mut sum = 0.0;
        for Run { re, im, len } in self.layout.runs() {
            for part in [re, im] {
                for piece in checks.pieces(part..part + len) {
                    for at in piece? {
                        sum += term(at);
                    }
                }
            }
        }
        sum *= 2.0;
        for own in self.layout.owns() {
            sum += own.map(term).sum::<f64>();
        }
        Ok(sum)
    }

    /// Correlates a reference and a spectrum over all shifts. `norm` is the root of the product of
    /// their powers. Does not allocate. Fails only if the job of `scratch` is cancelled.
    pub(crate) fn correlate(
        &self,
        reference: &Reference<T>,
        spectrum: &[T],
        (norm, tolerance): (f64, f64),
        scratch: &mut Scratch<T>,
    ) -> Result<Correlation> {
        let layout = &self.layout;
        let a = reference.product.as_slice();
        let count = layout.pairs.len();
        let product = |re: usize, im: usize| {
            let (ar, ai, br, bi) = (a[re], a[im], spectrum[re], spectrum[im]);
            [ar * br - ai * bi, ar * bi + ai * br]
        };
        match layout.real_axis {
            Some(_) => {
                for (at, pair) in layout.pairs.iter().enumerate() {
                    if at.is_multiple_of(CancellationChecks::EACH) {
                        scratch.check()?;
                    }
                    let low = product(at, at + count);
                    let high = product(at + 2 * count, at + 3 * count);
                    self.mix(pair, low, high, &mut scratch.first);
                }
                let [low, high] = layout.owns();
                for ((own, low), high) in layout.own.iter().zip(low).zip(high) {
                    let to = own.first as usize;
                    scratch.first[0][to] = a[low] * spectrum[low];
                    scratch.first[1][to] = a[high] * spectrum[high];
                }
            }
            None => {
                scratch.first[0][0] = T::default();
                scratch.first[1][0] = T::default();
                for (at, pair) in layout.pairs.iter().enumerate() {
                    if at.is_multiple_of(CancellationChecks::EACH) {
                        scratch.check()?;
                    }
                    let [one, two] = pair.map(|place| place.first as usize);
                    let value = product(at + 1, at + 1 + count);
                    scratch.first[0][one] = value[0];
                    scratch.first[1][one] = value[1];
                    scratch.first[0][two] = value[0];
                    scratch.first[1][two] = T::default() - value[1];
                }
            }
        }
        self.inverse_tiles(scratch, |tile, re, im| {
            let columns = tile.columns;
            let start = tile.at * layout.rows * 2;
            let size = layout.rows * columns;
            let (a, b) = (
                &a[start..start + 2 * size],
                &spectrum[start..start + 2 * size],
            );
            let (a, b) = (a.split_at(size), b.split_at(size));
            if columns == layout.width {
                T::product(Product { a, b, re, im });
            } else {
                let one = a.0.iter().zip(a.1).zip(b.0.iter().zip(b.1));
                for (at, ((ar, ai), (br, bi))) in one.enumerate() {
                    let to = at / columns * layout.width + at % columns;
                    re[to] = *ar * *br - *ai * *bi;
                    im[to] = *ar * *bi + *ai * *br;
                }
            }
        });
        self.extremes(scratch, norm, tolerance)
    }

    /// Computes the bounds in one pass over both spectra, without a transform (section 8).
    pub(crate) fn bound(
        &self,
        reference: &Reference<T>,
        spectrum: &[T],
        norm: f64,
        job: &Job,
    ) -> Result<Bound> {
        let mut checks = job.checks();
        let a = reference.product.as_slice();
        let mut magnitudes = reference.magnitude.as_slice();
        let (mut zero, mut most) = (0.0, 0.0);
        for Run { re, im, len } in self.layout.runs() {
            let (magnitude, rest) = magnitudes.split_at(len);
            magnitudes = rest;
            // Partial sums of this length are accurate enough in single precision.
            const PIECE: usize = 1024;
            for from in (0..len).step_by(PIECE) {
                let to = (from + PIECE).min(len);
                checks.next(2 * (to - from))?;
                let sums = T::sums(Sums {
                    a: [&a[re + from..re + to], &a[im + from..im + to]],
                    b: [&spectrum[re + from..re + to], &spectrum[im + from..im + to]],
                    magnitude: &magnitude[from..to],
                });
                zero += 2.0 * sums.0;
                most += 2.0 * sums.1;
            }
        }
        for own in self.layout.owns() {
            for at in own {
                let product = a[at].wide() * spectrum[at].wide();
                zero += product;
                most += product.abs();
            }
        }
        Ok(Bound {
            zero: (zero / norm).clamp(-1.0, 1.0),
            most: (most / norm).clamp(0.0, 1.0),
        })
    }
}

/// Product of two spectra, written to a tile.
#[derive(Debug)]
pub struct Product<'a, T> {
    /// Planes of the first spectrum.
    a: (&'a [T], &'a [T]),
    /// Planes of the second spectrum.
    b: (&'a [T], &'a [T]),
    /// Real parts of the product.
    re: &'a mut [T],
    /// Imaginary parts of the product.
    im: &'a mut [T],
}

impl<T: Real> WithSimd for Product<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) {
        let a = vectors(s, self.a.0).iter().zip(vectors(s, self.a.1));
        let b = vectors(s, self.b.0).iter().zip(vectors(s, self.b.1));
        let to = vectors_mut(s, self.re)
            .iter_mut()
            .zip(vectors_mut(s, self.im));
        for (((ar, ai), (br, bi)), (re, im)) in a.zip(b).zip(to) {
            let less = T::vsub(s, T::splat(s, T::default()), *ai);
            *re = T::mul_add(s, *ar, *br, T::vmul(s, less, *bi));
            *im = T::mul_add(s, *ar, *bi, T::vmul(s, *ai, *br));
        }
    }
}

/// `sum Re(a b)` and `sum m |b|` over a run.
#[derive(Debug)]
pub struct Sums<'a, T> {
    /// Planes of the reference.
    a: [&'a [T]; 2],
    /// Planes of the other spectrum.
    b: [&'a [T]; 2],
    /// Magnitudes of the reference.
    magnitude: &'a [T],
}

impl<T: Real> WithSimd for Sums<'_, T> {
    type Output = (f64, f64);

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) -> (f64, f64) {
        let whole = self.magnitude.len() / T::COLUMNS * T::COLUMNS;
        let zero = T::splat(s, T::default());
        let (mut near, mut far, mut most) = (zero, zero, zero);
        let ar = vectors(s, &self.a[0][..whole]);
        let ai = vectors(s, &self.a[1][..whole]);
        let br = vectors(s, &self.b[0][..whole]);
        let bi = vectors(s, &self.b[1][..whole]);
        let m = vectors(s, &self.magnitude[..whole]);
        for ((((ar, ai), br), bi), m) in ar.iter().zip(ai).zip(br).zip(bi).zip(m) {
            near = T::mul_add(s, *ar, *br, near);
            far = T::mul_add(s, *ai, *bi, far);
            let square = T::mul_add(s, *br, *br, T::vmul(s, *bi, *bi));
            most = T::mul_add(s, *m, T::root(s, square), most);
        }
        let total = |v: T::V<S>| -> f64 {
            let all = [v];
            let lanes: &[T] = bytemuck::try_cast_slice(&all).unwrap_or_default();
            let mut sum = 0.0;
            for lane in lanes {
                sum += lane.wide();
            }
            sum
        };
        let (mut zero, mut sum) = (total(near) - total(far), total(most));
        for at in whole..self.magnitude.len() {
            let (br, bi) = (self.b[0][at].wide(), self.b[1][at].wide());
            zero += self.a[0][at].wide() * br - self.a[1][at].wide() * bi;
            sum += self.magnitude[at].wide() * br.hypot(bi);
        }
        (zero, sum)
    }
}
