//! [`Spectra`]: the spectra of many views, collected by a builder or opened from a file, from which
//! correlations, bounds and filtered views follow; [`View`]: properties of one view.

pub(crate) mod builder;
mod coefficient;
pub(crate) mod file;
pub(crate) mod store;

use crate::correlation::{Bound, Correlation, Reference, TOLERANCE};
use crate::fft::{Scratch, Transform};
use crate::real::{Aligned, Real};
pub use crate::spectra::builder::SpectraBuilder;
use crate::spectra::file::{Counts, HEADER, check_order, header, read_header, read_table};
use crate::spectra::store::{Store, read};
use crate::{Error, Filter, Result, Skipped};
use perf_core::Job;
use perf_core::parallel::Workspaces;
use std::fs::File;
use std::sync::{Arc, OnceLock};

/// Properties of a view apart from its spectrum.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct View {
    /// Mean, which is removed. NaN for a skipped view.
    pub mean: f64,
    /// Largest distance from the mean. The spectrum is that of `(v - mean) / scale`.
    pub scale: f64,
    /// Number of cells of the grid that hold no location; they are set to the mean.
    pub missing: usize,
    /// First view with the same values, if it is another one. They share a spectrum.
    pub same_as: Option<usize>,
    /// `sum_k W_i^2 |V|^2` along each axis, in units of [`scale`](Self::scale) squared: the
    /// variation along it.
    pub energies: Vec<f64>,
    /// Name passed to [`SpectraBuilder::save`]; empty otherwise.
    pub name: String,
    /// `sum v^2` over `scale^2`.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(crate) total: f64,
    /// The same sum without the mean.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(crate) varying: f64,
    /// Root of the power of the spectrum in blocks, rounded up.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(crate) roots: Vec<f32>,
    /// Number of the spectrum; `None` for a constant view.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(crate) slot: Option<usize>,
}

impl View {
    /// Creates a view whose values are not all finite, for a number of axes.
    pub(crate) fn unfit(axes: usize) -> Self {
        View {
            mean: f64::NAN,
            scale: f64::NAN,
            missing: 0,
            same_as: None,
            energies: vec![0.0; axes],
            name: String::new(),
            total: 0.0,
            varying: 0.0,
            roots: Vec::new(),
            slot: None,
        }
    }

    /// Returns `true` if all values are the same.
    pub fn is_constant(&self) -> bool {
        self.slot.is_none() && !self.is_skipped()
    }

    /// Returns `true` if the view is skipped because some of its values are not finite. It then has
    /// no mean.
    pub fn is_skipped(&self) -> bool {
        self.mean.is_nan()
    }
}

/// Spectra of many views of one shape, in memory or in a file, from which correlations are
/// computed.
///
/// Views with the same values share one spectrum, and constant views have none.
///
/// ```
/// use perf_core::Job;
/// use perf_spectral::{AxisFilter, RankParams, Spectra};
/// // Fig. 1 of the paper: v0 is the product of a variation along x1 and one along x2.
/// let p = [6.5, 3.5, 0.5, 3.5, 6.5, 3.5, 0.5, 3.5];
/// let e = [1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0];
/// let view = |of: fn(f64, f64) -> f64| -> Vec<f64> {
///     p.iter().flat_map(|p| e.iter().map(move |e| of(*p, *e))).collect()
/// };
/// let mut builder = Spectra::<f64>::builder(&[8, 8])?;
/// builder.extend(&[view(|p, e| p * e), view(|p, _| p), view(|_, e| e)], &Job::default())?;
/// let spectra = builder.finish();
/// let along_x1 = AxisFilter::new(&[1.0, 0.0])?;
/// let list = spectra.rank(0, &along_x1, &Default::default(), &Job::default())?;
/// assert_eq!(list.matches[0].view, 1);
/// assert!((list.matches[0].r() - 0.9129).abs() < 1e-4);
/// assert!((list.matches[0].pearson.unwrap_or(0.0) - 0.4602).abs() < 1e-4);
/// assert_eq!(list.matches[1].r(), 0.0);
/// # Ok::<(), perf_spectral::Error>(())
/// ```
#[derive(Debug)]
pub struct Spectra<T: Real> {
    /// Transform of the shape.
    pub(crate) plan: Arc<Transform<T>>,
    /// Storage of the spectra.
    pub(crate) store: Store<T>,
    /// Properties of each view.
    pub(crate) views: Vec<View>,
    /// Energies of noise along each axis: known after construction, computed on first use for
    /// spectra from a file.
    pub(crate) chance: OnceLock<Vec<f64>>,
    /// Workspaces of the threads.
    pub(crate) pool: Workspaces<(Scratch<T>, Aligned<T>)>,
    /// Skipped rows of profiles.
    skipped: Vec<Skipped>,
}

impl<T: Real> Spectra<T> {
    /// Collects views of a shape in memory, |T| numbers each.
    ///
    /// # Errors
    /// Returns the errors of [`Transform::new`].
    pub fn builder(dims: &[usize]) -> Result<SpectraBuilder<T>> {
        Ok(SpectraBuilder::with(
            Arc::new(Transform::new(dims)?),
            Store::Memory(Vec::new()),
        ))
    }

    /// Collects views of a shape in a file, which must be open for reading and writing. It is
    /// written once, from its start, and read as spectra are needed. Memory then holds a few
    /// spectra for each thread, independent of the number of views. After [`SpectraBuilder::save`]
    /// the file can be reopened with [`open`](Self::open).
    ///
    /// # Errors
    /// Returns the errors of [`Transform::new`], and [`Error::Io`] if the file cannot be written.
    pub fn builder_in(dims: &[usize], file: File) -> Result<SpectraBuilder<T>> {
        T::builder_in(dims, file)
    }

    pub(crate) fn new_builder_in(dims: &[usize], file: File) -> Result<SpectraBuilder<T>> {
        let plan = Transform::new(dims)?;
        let store = Store::in_file(file, &header::<T>(&plan.layout, &Counts::default()))?;
        Ok(SpectraBuilder::with(Arc::new(plan), store))
    }

    /// Opens a file that [`SpectraBuilder::save`] wrote. It must be open for reading.
    ///
    /// # Errors
    /// Returns [`Error::Store`] with the byte offset if the file is not of this kind, has the other
    /// precision, is truncated, damaged or was never saved. The spectra themselves have no
    /// checksum. Also returns [`Error::Shape`] for invalid axis lengths and [`Error::Io`] if the
    /// file cannot be read.
    pub fn open(file: File) -> Result<Self> {
        T::open(file)
    }

    pub(crate) fn opened(file: File) -> Result<Self> {
        let length = file.metadata()?.len();
        let mut bytes = vec![0; HEADER.min(length as usize)];
        read(&file, &mut bytes, 0)?;
        let (dims, counts) = read_header::<T>(&bytes, length)?;
        let plan = Transform::new(&dims)?;
        check_order(&bytes, &plan.layout)?;
        // The length was checked against that of the file.
        let mut bytes = vec![0; counts.bytes as usize];
        read(&file, &mut bytes, counts.table)?;
        let views = read_table(&bytes, &counts, dims.len())?;
        let store = Store::opened(file, counts.spectra);
        let plan = Arc::new(plan);
        Ok(Spectra::with(plan, store, views, Vec::new(), None))
    }

    pub(crate) fn with(
        plan: Arc<Transform<T>>,
        store: Store<T>,
        views: Vec<View>,
        skipped: Vec<Skipped>,
        chance: Option<Vec<f64>>,
    ) -> Self {
        Spectra {
            chance: chance.map_or_else(OnceLock::new, OnceLock::from),
            plan,
            store,
            views,
            pool: Workspaces::new(),
            skipped,
        }
    }

    /// Returns the transform of their shape.
    pub fn plan(&self) -> &Transform<T> {
        &self.plan
    }

    /// Returns the properties of each view.
    pub fn views(&self) -> &[View] {
        &self.views
    }

    /// Returns the rows of profiles that were skipped, see [`Unfit`](crate::Unfit). For spectra
    /// from a file only [`View::is_skipped`] is known.
    pub fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }

    /// Returns the packed spectrum of a view, of `(v - mean) / scale`; `None` for a constant view.
    ///
    /// # Errors
    /// Returns [`Error::UnknownView`] for a view that does not exist, or [`Error::Io`] if the file
    /// cannot be read.
    pub fn spectrum(&self, view: usize) -> Result<Option<Vec<T>>> {
        T::spectrum(self, view)
    }

    pub(crate) fn copied(&self, view: usize) -> Result<Option<Vec<T>>> {
        let Some(slot) = self.view(view)?.slot else {
            return Ok(None);
        };
        let spectrum = self.at(slot, &Job::default(), |_, spectrum| spectrum.to_vec())?;
        Ok(Some(spectrum))
    }

    /// Returns a filtered view: each coefficient is multiplied by the root of its weight, and the
    /// mean is removed.
    ///
    /// R is the normalised circular correlation of two such fields. Values have the unit of the
    /// view. All are 0 if the filter passes no variation.
    ///
    /// ```
    /// use perf_core::Job;
    /// use perf_spectral::{AxisFilter, Spectra};
    /// // A step along the first axis, and stripes along the second.
    /// let view = [5.0, 7.0, 5.0, 7.0, 1.0, 3.0, 1.0, 3.0];
    /// let mut builder = Spectra::<f64>::builder(&[2, 4])?;
    /// builder.extend(&[view], &Job::default())?;
    /// let first = builder.finish().filtered(0, &AxisFilter::new(&[1.0, 0.0])?)?;
    /// assert!(first.iter().zip([2.0, 2.0, 2.0, 2.0, -2.0, -2.0, -2.0, -2.0]).all(|(a, b)| (a - b).abs() < 1e-12));
    /// # Ok::<(), perf_spectral::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::UnknownView`] for a view that does not exist, [`Error::Skipped`] for one
    /// that is skipped, [`Error::Length`] for a filter with another number of axes, or
    /// [`Error::Io`] if the file cannot be read.
    pub fn filtered(&self, view: usize, filter: &(impl Filter + ?Sized)) -> Result<Vec<f64>> {
        T::filtered(self, view, &filter)
    }

    pub(crate) fn passed(&self, view: usize, filter: &dyn Filter) -> Result<Vec<f64>> {
        let info = self.taken(view)?;
        let job = Job::default();
        self.plan.check_filter(filter)?;
        let Some(slot) = info.slot else {
            return Ok(vec![0.0; self.plan.len()]);
        };
        let weights = self.plan.weights(filter, &job)?;
        let values = self.at(slot, &job, |scratch, spectrum| {
            let power = self.plan.power(&weights, spectrum, &job)?;
            if !self.varies(info, power) {
                return Ok(vec![T::default(); spectrum.len()]);
            }
            let pairs = spectrum.iter().zip(&weights);
            let spectrum: Vec<T> = pairs.map(|(v, w)| *v * T::of(w.wide().sqrt())).collect();
            let mut values = vec![T::default(); spectrum.len()];
            self.plan.inverse(&spectrum, &mut values, scratch)?;
            Ok::<_, Error>(values)
        })??;
        Ok(values
            .iter()
            .map(|value| value.wide() * info.scale)
            .collect())
    }

    pub(crate) fn view(&self, view: usize) -> Result<&View> {
        let count = self.views.len();
        let known = self.views.get(view);
        known.ok_or(Error::UnknownView { view, count })
    }

    /// Returns a view that exists and is not skipped.
    pub(crate) fn taken(&self, number: usize) -> Result<&View> {
        let view = self.view(number)?;
        if view.is_skipped() {
            // Rows of profiles are described by metric, call path and location.
            let row = self.skipped.iter().find(|row| row.view == number);
            let name = row.map_or_else(|| view.name.clone(), ToString::to_string);
            return Err(Error::Skipped { view: number, name });
        }
        Ok(view)
    }

    /// Calls `work` with the spectrum of a slot and a workspace for a transform.
    pub(crate) fn at<R>(
        &self,
        slot: usize,
        job: &Job,
        work: impl FnOnce(&mut Scratch<T>, &[T]) -> R,
    ) -> Result<R> {
        job.check()?;
        let new = || {
            let space = Aligned::zeros(self.store.space(self.plan.len()));
            (self.plan.scratch(), space)
        };
        self.pool.with(new, |(scratch, space)| {
            let spectrum = self.store.get(slot, space, job)?;
            scratch.set_job(job);
            Ok(work(scratch, spectrum))
        })
    }

    /// Prepares a view as the reference of many correlations. Returns `None` if it has no variation
    /// that the filter passes; every correlation with it is then 0.
    ///
    /// # Errors
    /// ```
    /// use perf_core::Job;
    /// use perf_spectral::{AxisFilter, Error, Spectra};
    /// let mut builder = Spectra::<f64>::builder(&[4])?;
    /// builder.extend(&[[1.0, 2.0, 4.0, 3.0], [2.0, 4.0, 3.0, 1.0]], &Job::default())?;
    /// let (spectra, all, job) = (builder.finish(), AxisFilter::all(1), Job::default());
    /// let reference = spectra.reference(0, &all, &job)?.expect("it varies");
    /// let found = spectra.correlate(&reference, 1, &job)?;
    /// assert!(found.max.r <= spectra.bound(&reference, 1, &job)?.most + 1e-12);
    /// job.cancel();
    /// assert!(matches!(spectra.reference(0, &all, &job), Err(Error::Cancelled(_))));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::UnknownView`] for a view that does not exist, [`Error::Skipped`] for one
    /// that is skipped, [`Error::Length`] for a filter with another number of axes, [`Error::Io`]
    /// if the file cannot be read, or [`Error::Cancelled`] if the job is cancelled.
    pub fn reference(
        &self,
        view: usize,
        filter: &(impl Filter + ?Sized),
        job: &Job,
    ) -> Result<Option<Reference<T>>> {
        T::reference(self, view, &filter, job)
    }

    pub(crate) fn referred(
        &self,
        view: usize,
        filter: &dyn Filter,
        job: &Job,
    ) -> Result<Option<Reference<T>>> {
        let view = self.taken(view)?;
        self.plan.check_filter(filter)?;
        let Some(slot) = view.slot else {
            return Ok(None);
        };
        let prepare =
            |_: &mut Scratch<T>, spectrum: &[T]| self.plan.prepared(spectrum, filter, job);
        let reference = self.at(slot, job, prepare)??;
        Ok(self.varies(view, reference.power).then_some(reference))
    }

    /// Correlates a reference and a view over all shifts. The reference may come from other spectra
    /// of the same shape.
    ///
    /// # Errors
    /// Returns [`Error::UnknownView`] for a view that does not exist, [`Error::Skipped`] for one
    /// that is skipped, [`Error::Length`] for a reference of another shape, [`Error::Io`] if the
    /// file cannot be read, or [`Error::Cancelled`] if the job is cancelled.
    pub fn correlate(
        &self,
        reference: &Reference<T>,
        view: usize,
        job: &Job,
    ) -> Result<Correlation> {
        T::correlate(self, reference, view, TOLERANCE, job)
    }

    pub(crate) fn correlated(
        &self,
        reference: &Reference<T>,
        view: usize,
        tolerance: f64,
        job: &Job,
    ) -> Result<Correlation> {
        let view = self.taken(view)?;
        reference.check(self.plan.dims())?;
        let Some(slot) = view.slot else {
            return Ok(Correlation::default());
        };
        self.at(slot, job, |scratch, spectrum| {
            let Some(norm) = self.norm(reference, view, spectrum, job)? else {
                return Ok(Correlation::default());
            };
            self.plan
                .correlate(reference, spectrum, (norm, tolerance), scratch)
        })?
    }

    /// Computes bounds of R in one pass over both spectra, without a transform.
    ///
    /// # Errors
    /// Returns [`Error::UnknownView`] for a view that does not exist, [`Error::Skipped`] for one
    /// that is skipped, [`Error::Length`] for a reference of another shape, [`Error::Io`] if the
    /// file cannot be read, or [`Error::Cancelled`] if the job is cancelled.
    pub fn bound(&self, reference: &Reference<T>, view: usize, job: &Job) -> Result<Bound> {
        T::bound(self, reference, view, job)
    }

    pub(crate) fn bounded(
        &self,
        reference: &Reference<T>,
        view: usize,
        job: &Job,
    ) -> Result<Bound> {
        let view = self.taken(view)?;
        reference.check(self.plan.dims())?;
        let Some(slot) = view.slot else {
            return Ok(Bound::default());
        };
        self.at(slot, job, |_, spectrum| {
            match self.norm(reference, view, spectrum, job)? {
                Some(norm) => self.plan.bound(reference, spectrum, norm, job),
                None => Ok(Bound::default()),
            }
        })?
    }

    /// Returns an upper bound of |R| from the stored block powers, without reading spectra.
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

    /// Returns the root of the product of the powers of reference and view; `None` if either has no
    /// variation.
    fn norm(
        &self,
        reference: &Reference<T>,
        view: &View,
        spectrum: &[T],
        job: &Job,
    ) -> Result<Option<f64>> {
        // Parseval: the energies along the axes determine the power under any cosine filter.
        let power = match (&reference.f, &reference.weights) {
            (Some(f), _) => f.iter().zip(&view.energies).map(|(f, e)| f * e).sum(),
            (None, Some(weights)) => self.plan.power(weights, spectrum, job)?,
            (None, None) => 0.0,
        };
        let norm = (power * reference.power).sqrt();
        Ok((self.varies(view, power) && norm > 0.0).then_some(norm))
    }

    /// Returns `true` if a power exceeds the rounding error of the values and of the transform
    /// (section 5).
    pub(crate) fn varies(&self, view: &View, power: f64) -> bool {
        let power = power / self.plan.len() as f64;
        power > 1e-12 * view.total && power > T::NOTHING * view.varying
    }
}
