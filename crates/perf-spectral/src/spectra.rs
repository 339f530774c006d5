//! [`Spectra`]: the spectra of many views, computed once.

use crate::energy::{Energies, roots};
use crate::par::{self, Pool};
use crate::real::{Aligned, Real};
use crate::reference::{Bound, Correlation, Reference};
use crate::store::Store;
use crate::transform::{Scratch, Transform};
use crate::{Error, Filter, Result};
use perf_core::{CancelToken, Progress};
use std::collections::HashMap;
use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;

/// What is known of a view beside its spectrum.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct View {
    /// The mean, which takes no part.
    pub mean: f64,
    /// The largest distance from the mean: the spectrum is that of `(v - mean) / scale`.
    pub scale: f64,
    /// Cells of the grid that hold no location; they count as the mean.
    pub missing: usize,
    /// The first view with the same values, where it is not this one. They share a spectrum.
    pub same_as: Option<usize>,
    /// `sum_k W_i^2 |V|^2` along each axis, in units of [`scale`](Self::scale) squared: how much
    /// varies along it.
    pub energies: Vec<f64>,
    /// `sum v^2` over `scale^2`, and the same without the mean.
    total: f64,
    varying: f64,
    /// The root of the power of the spectrum in blocks, rounded up.
    roots: Vec<f32>,
    /// Its spectrum; none where nothing varies.
    pub(crate) slot: Option<usize>,
}

impl View {
    /// Whether all values are the same.
    pub fn is_constant(&self) -> bool {
        self.slot.is_none()
    }
}

/// Collects views, see [`Spectra::builder`].
#[derive(Debug)]
pub struct SpectraBuilder<T: Real> {
    plan: Arc<Transform<T>>,
    energies: Energies,
    store: Store<T>,
    views: Vec<View>,
    /// Views by what their values hash to.
    known: HashMap<(u64, u64), usize>,
    pool: Pool<Space<T>>,
}

/// What preparing one view takes.
#[derive(Debug)]
struct Space<T: Real> {
    scratch: Scratch<T>,
    values: Vec<T>,
}

/// The spectra of many views of one shape, in memory or in a file: what correlations are computed from.
///
/// Views whose values are the same share one spectrum, and views that do not vary need none.
///
/// ```
/// use perf_spectral::{AxisFilter, RankParams, Spectra};
/// // Fig. 1 of the paper: v0 is the product of what varies along x1 and along x2.
/// let p = [6.5, 3.5, 0.5, 3.5, 6.5, 3.5, 0.5, 3.5];
/// let e = [1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0];
/// let view = |of: fn(f64, f64) -> f64| -> Vec<f64> {
///     p.iter().flat_map(|p| e.iter().map(move |e| of(*p, *e))).collect()
/// };
/// let mut builder = Spectra::<f64>::builder(&[8, 8])?;
/// builder.extend(&[view(|p, e| p * e), view(|p, _| p), view(|_, e| e)])?;
/// let spectra = builder.finish();
/// let along_x1 = AxisFilter::new(&[1.0, 0.0])?;
/// let list = spectra.rank(0, &along_x1, &RankParams::default().check()?)?;
/// assert_eq!(list.matches[0].view, 1);
/// assert!((list.matches[0].r() - 0.9129).abs() < 1e-4);
/// assert!((list.matches[0].pearson.unwrap_or(0.0) - 0.4602).abs() < 1e-4);
/// assert_eq!(list.matches[1].r(), 0.0);
/// # Ok::<(), perf_spectral::Error>(())
/// ```
#[derive(Debug)]
pub struct Spectra<T: Real> {
    pub(crate) plan: Arc<Transform<T>>,
    store: Store<T>,
    views: Vec<View>,
    /// Energies of noise along each axis.
    pub(crate) chance: Vec<f64>,
    pool: Pool<(Scratch<T>, Aligned<T>)>,
}

impl<T: Real> Spectra<T> {
    /// Collects views of a shape in memory: |T| numbers each.
    ///
    /// # Errors
    /// Those of [`Transform::new`].
    pub fn builder(dims: &[usize]) -> Result<SpectraBuilder<T>> {
        Ok(SpectraBuilder::with(
            Arc::new(Transform::new(dims)?),
            Store::Memory(Vec::new()),
        ))
    }

    /// Collects views of a shape in a file, which must be open for reading and writing. It is
    /// written once, from its start, and read as spectra are needed; memory then holds a few
    /// spectra a thread, however many views there are.
    ///
    /// # Errors
    /// Those of [`Transform::new`].
    pub fn builder_in(dims: &[usize], file: File) -> Result<SpectraBuilder<T>> {
        Ok(SpectraBuilder::with(
            Arc::new(Transform::new(dims)?),
            Store::in_file(file),
        ))
    }

    /// The transform of their shape.
    pub fn plan(&self) -> &Transform<T> {
        &self.plan
    }

    /// What is known of each view.
    pub fn views(&self) -> &[View] {
        &self.views
    }

    /// The packed spectrum of a view, of `(v - mean) / scale`; `None` where nothing varies.
    ///
    /// # Errors
    /// [`Error::UnknownView`], and [`Error::Io`] if the file cannot be read.
    pub fn spectrum(&self, view: usize) -> Result<Option<Vec<T>>> {
        let Some(slot) = self.view(view)?.slot else {
            return Ok(None);
        };
        let spectrum = self.with(slot, |_, spectrum| spectrum.to_vec())?;
        Ok(Some(spectrum))
    }

    pub(crate) fn view(&self, view: usize) -> Result<&View> {
        let count = self.views.len();
        let known = self.views.get(view);
        known.ok_or(Error::UnknownView { view, count })
    }

    /// `work` with the spectrum of a slot and space for a transform.
    pub(crate) fn with<R>(
        &self,
        slot: usize,
        work: impl FnOnce(&mut Scratch<T>, &[T]) -> R,
    ) -> Result<R> {
        let new = || {
            let space = Aligned::zeros(self.store.space(self.plan.len()));
            (self.plan.scratch(), space)
        };
        self.pool.with(new, |(scratch, space)| {
            let spectrum = self.store.get(slot, space)?;
            Ok(work(scratch, spectrum))
        })
    }

    /// Prepares a view as the reference of many correlations. `None` if it has no variation that
    /// the filter lets pass: then every correlation with it is 0.
    ///
    /// # Errors
    /// [`Error::UnknownView`], [`Error::Length`] for a filter with another number of axes, [`Error::Io`].
    pub fn reference(
        &self,
        view: usize,
        filter: &(impl Filter + ?Sized),
    ) -> Result<Option<Reference<T>>> {
        let view = self.view(view)?;
        let Some(slot) = view.slot else {
            return Ok(None);
        };
        let reference = self.with(slot, |_, spectrum| self.plan.reference(spectrum, filter))??;
        Ok(self.varies(view, reference.power).then_some(reference))
    }

    /// R of a reference and a view over all shifts.
    ///
    /// # Errors
    /// [`Error::UnknownView`], and [`Error::Io`] if the file cannot be read.
    pub fn correlate(&self, reference: &Reference<T>, view: usize) -> Result<Correlation> {
        let view = self.view(view)?;
        let Some(slot) = view.slot else {
            return Ok(Correlation::default());
        };
        self.with(slot, |scratch, spectrum| {
            match self.norm(reference, view, spectrum) {
                Some(norm) => self.plan.correlate(reference, spectrum, norm, scratch),
                None => Correlation::default(),
            }
        })
    }

    /// What one pass over both spectra tells of R, without a transform.
    ///
    /// # Errors
    /// [`Error::UnknownView`], and [`Error::Io`] if the file cannot be read.
    pub fn bound(&self, reference: &Reference<T>, view: usize) -> Result<Bound> {
        let view = self.view(view)?;
        let Some(slot) = view.slot else {
            return Ok(Bound::default());
        };
        self.with(slot, |_, spectrum| {
            match self.norm(reference, view, spectrum) {
                Some(norm) => self.plan.bound(reference, spectrum, norm),
                None => Bound::default(),
            }
        })
    }

    /// No |R| of a reference and a view is larger, from what is kept of both without their spectra.
    pub(crate) fn coarse(&self, reference: &Reference<T>, view: usize) -> f64 {
        let (Some(view), Some(f)) = (self.views.get(view), &reference.f) else {
            return 1.0;
        };
        let power: f64 = f.iter().zip(&view.energies).map(|(f, e)| f * e).sum();
        let norm = (power * reference.power).sqrt();
        if !self.varies(view, power) || norm <= 0.0 {
            return 0.0;
        }
        let pairs = reference.roots.iter().zip(&view.roots);
        let sum: f64 = pairs.map(|(a, b)| a * f64::from(*b)).sum();
        (sum / norm).min(1.0)
    }

    /// The root of the product of the powers of reference and view; `None` where either is nothing.
    fn norm(&self, reference: &Reference<T>, view: &View, spectrum: &[T]) -> Option<f64> {
        // Parseval: the energies along the axes give the power under any cosine filter.
        let power = match (&reference.f, &reference.weights) {
            (Some(f), _) => f.iter().zip(&view.energies).map(|(f, e)| f * e).sum(),
            (None, Some(weights)) => self.plan.power(weights, spectrum),
            (None, None) => 0.0,
        };
        let norm = (power * reference.power).sqrt();
        (self.varies(view, power) && norm > 0.0).then_some(norm)
    }

    /// Whether a power is more than what rounding leaves of nothing: of the values themselves, and
    /// of the transform (section 5).
    fn varies(&self, view: &View, power: f64) -> bool {
        let power = power / self.plan.len() as f64;
        power > 1e-12 * view.total && power > T::NOTHING * view.varying
    }
}

impl<T: Real> SpectraBuilder<T> {
    fn with(plan: Arc<Transform<T>>, store: Store<T>) -> Self {
        SpectraBuilder {
            energies: Energies::new(&plan.layout),
            plan,
            store,
            views: Vec::new(),
            known: HashMap::new(),
            pool: Pool::new(),
        }
    }

    /// Adds views without missing cells, each |T| values, the last axis the fastest.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::NotFinite`], [`Error::Io`]. Some views before the bad one are then
    /// added and others not, see [`len`](Self::len).
    pub fn extend<V: AsRef<[f64]> + Sync>(&mut self, views: &[V]) -> Result<()> {
        self.extend_with(views, &[], &(), &CancelToken::new())
    }

    /// As [`extend`](Self::extend), with a mask of the cells that hold a location, one for all;
    /// empty if all do. Others count as the mean of the view: no variation. Reports views of the
    /// phase `spectra`, and can be stopped.
    ///
    /// # Errors
    /// As [`extend`](Self::extend), and [`Error::Cancelled`].
    pub fn extend_with<V: AsRef<[f64]> + Sync>(
        &mut self,
        views: &[V],
        mask: &[bool],
        progress: &dyn Progress,
        cancel: &CancelToken,
    ) -> Result<()> {
        // A few at a time, so that memory holds no more spectra than that beside the store.
        const BATCH: usize = 16;
        for batch in views.chunks(BATCH) {
            cancel.check()?;
            let hashes = par::map(batch.len(), |at| self.look(batch[at].as_ref(), mask))?;
            // What a batch that failed left behind is no view.
            let count = self.views.len();
            self.known.retain(|_, number| *number < count);
            let mut fresh = Vec::new();
            for (at, hash) in hashes.iter().enumerate() {
                let number = self.views.len() + at;
                if *self.known.entry(*hash).or_insert(number) == number {
                    fresh.push(at);
                }
            }
            let done = par::map(fresh.len(), |at| {
                self.prepare(batch[fresh[at]].as_ref(), mask)
            })?;
            let mut done = done.into_iter();
            for hash in &hashes {
                let number = self.views.len();
                let first = self.known.get(hash).copied().unwrap_or(number);
                if first < number {
                    let same = View {
                        same_as: Some(first),
                        ..self.views[first].clone()
                    };
                    self.views.push(same);
                } else if let Some((mut view, spectrum)) = done.next() {
                    if let Some(mut spectrum) = spectrum {
                        view.slot = Some(self.store.push(&mut spectrum)?);
                    }
                    self.views.push(view);
                }
            }
            progress.advance("spectra", batch.len() as u64, views.len() as u64);
        }
        Ok(())
    }

    /// The axis lengths.
    pub fn dims(&self) -> &[usize] {
        self.plan.dims()
    }

    /// Views added so far.
    pub fn len(&self) -> usize {
        self.views.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.views.is_empty()
    }

    /// All views are there.
    pub fn finish(self) -> Spectra<T> {
        Spectra {
            chance: self.energies.of_noise(&self.plan.layout),
            plan: self.plan,
            store: self.store,
            views: self.views,
            pool: Pool::new(),
        }
    }

    /// Checks a view; 128 bits that tell different ones apart.
    fn look(&self, values: &[f64], mask: &[bool]) -> Result<(u64, u64)> {
        self.plan.check("values of a view", values.len())?;
        if !mask.is_empty() {
            self.plan.check("mask of a view", mask.len())?;
        }
        if let Some(at) = values.iter().position(|value| !value.is_finite()) {
            let value = values[at];
            return Err(Error::NotFinite { at, value });
        }
        let (mut one, mut two) = (DefaultHasher::new(), DefaultHasher::new());
        two.write_u8(1);
        for (at, value) in values.iter().enumerate() {
            let held = mask.get(at).copied().unwrap_or(true);
            // 0 and -0 are the same value.
            let bits = if held {
                (value + 0.0).to_bits()
            } else {
                u64::MAX
            };
            one.write_u64(bits);
            two.write_u64(bits);
        }
        Ok((one.finish(), two.finish()))
    }

    fn prepare(&self, values: &[f64], mask: &[bool]) -> Result<(View, Option<Aligned<T>>)> {
        let held = |at: usize| mask.get(at).copied().unwrap_or(true);
        let all = || {
            (0..values.len())
                .filter(|at| held(*at))
                .map(|at| values[at])
        };
        let count = all().count();
        let largest = all().fold(0.0, |most: f64, value| most.max(value.abs()));
        // By the largest, so that sums of squares of large numbers are no infinity.
        let unit = if largest > 0.0 { largest } else { 1.0 };
        let mean = unit * (all().map(|value| value / unit).sum::<f64>() / count.max(1) as f64);
        let scale = all().fold(0.0, |most: f64, value| {
            most.max((value / 2.0 - mean / 2.0).abs())
        }) * 2.0;
        let part = |value: f64| (value / 2.0 - mean / 2.0) / (scale / 2.0);
        let mut view = View {
            mean,
            scale,
            missing: values.len() - count,
            same_as: None,
            energies: vec![0.0; self.plan.dims().len()],
            total: 0.0,
            varying: 0.0,
            roots: Vec::new(),
            slot: None,
        };
        // Rounding of the mean leaves about this much of a constant.
        if scale <= 1e-14 * largest || !scale.is_finite() {
            return Ok((view, None));
        }
        view.total = all().map(|value| (value / scale).powi(2)).sum();
        view.varying = all().map(|value| part(value).powi(2)).sum();
        let new = || Space {
            scratch: self.plan.scratch(),
            values: vec![T::default(); self.plan.len()],
        };
        let mut spectrum = Aligned::zeros(self.plan.len());
        self.pool.with(new, |space| {
            for (at, (to, value)) in space.values.iter_mut().zip(values).enumerate() {
                *to = if held(at) {
                    T::of(part(*value))
                } else {
                    T::default()
                };
            }
            self.plan
                .forward(&space.values, spectrum.get_mut(), &mut space.scratch)
        })?;
        let roots = roots(&self.plan.layout, spectrum.get()).into_iter();
        view.roots = roots.map(|root| (root * (1.0 + 1e-6)) as f32).collect();
        view.energies = self.energies.of(&self.plan.layout, spectrum.get());
        Ok((view, Some(spectrum)))
    }
}
