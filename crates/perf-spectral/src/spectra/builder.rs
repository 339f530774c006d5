//! [`SpectraBuilder`]: normalises views, computes their Fourier spectra and collects them, equal
//! ones once, as [`Spectra`] in memory or in a file.

use crate::axes::{Energies, roots};
use crate::fft::{Scratch, Transform};
use crate::profile::{Skipped, Unfit};
use crate::real::{Aligned, Real};
use crate::spectra::store::Store;
use crate::spectra::{Spectra, View};
use crate::{Error, Result};
use perf_core::parallel::{self, Workspaces};
use perf_core::{CancellationChecks, Job};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;

/// Collects views, see [`Spectra::builder`].
#[derive(Debug)]
pub struct SpectraBuilder<T: Real> {
    /// Transform of the shape.
    plan: Arc<Transform<T>>,
    /// Energies along the axes and those of noise. Computed with the first views, since this takes
    /// a while for a large shape.
    energies: Option<(Energies, Vec<f64>)>,
    /// Storage of the spectra.
    store: Store<T>,
    /// Views added so far.
    views: Vec<View>,
    /// Views by the hash of their values.
    known: HashMap<(u64, u64), usize>,
    /// Workspaces of the threads.
    pool: Workspaces<Space<T>>,
    /// Treatment of rows with non-finite values.
    pub(crate) unfit: Unfit,
    /// Skipped rows of profiles.
    pub(crate) skipped: Vec<Skipped>,
}

/// Buffers for preparing one view.
#[derive(Debug)]
struct Space<T: Real> {
    /// Scratch of the transform.
    scratch: Scratch<T>,
    /// Normalised values of the view.
    values: Vec<T>,
}

/// Values of a view and their mask.
struct Cells<'a> {
    /// Value of each cell.
    values: &'a [f64],
    /// `true` for each cell that holds a location; empty if all do.
    mask: &'a [bool],
}

impl Cells<'_> {
    #[inline(always)]
    fn holds(&self, at: usize) -> bool {
        self.mask.get(at).copied().unwrap_or(true)
    }

    fn count(&self) -> usize {
        if self.mask.is_empty() {
            self.values.len()
        } else {
            self.mask.iter().filter(|held| **held).count()
        }
    }

    /// Folds the values of the occupied cells, starting at 0.
    #[inline(always)]
    fn fold(
        &self,
        checks: &mut CancellationChecks<'_>,
        with: impl Fn(f64, f64) -> f64,
    ) -> Result<f64> {
        let mut folded = 0.0;
        for piece in checks.pieces(0..self.values.len()) {
            let held = piece?.filter(|at| self.holds(*at));
            folded = held.fold(folded, |folded, at| with(folded, self.values[at]));
        }
        Ok(folded)
    }
}

impl<T: Real> SpectraBuilder<T> {
    pub(crate) fn with(plan: Arc<Transform<T>>, store: Store<T>) -> Self {
        SpectraBuilder {
            energies: None,
            plan,
            store,
            views: Vec::new(),
            known: HashMap::new(),
            pool: Workspaces::new(),
            unfit: Unfit::default(),
            skipped: Vec::new(),
        }
    }

    /// Sets the treatment of rows of a profile with non-finite values; default [`Unfit::Skip`].
    pub fn unfit(mut self, unfit: Unfit) -> Self {
        self.unfit = unfit;
        self
    }

    /// Returns the rows of profiles skipped so far, with their view numbers.
    pub fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }

    /// Adds views without missing cells, each with |T| values, the last axis varying fastest.
    ///
    /// # Errors
    /// Returns [`Error::Length`] for a view of another length, [`Error::NotFinite`] for a value
    /// that is infinite or NaN, [`Error::Io`] if the file cannot be written, or
    /// [`Error::Cancelled`] if the job is cancelled. Some of the views before the invalid one may
    /// have been added, see [`len`](Self::len).
    pub fn extend<V: AsRef<[f64]> + Sync>(&mut self, views: &[V], job: &Job) -> Result<()> {
        self.extend_masked(views, &[], job)
    }

    /// Adds views like [`extend`](Self::extend), with a common mask of the cells that hold a
    /// location.
    ///
    /// An empty mask means that all cells do. Other cells are set to the mean of the view and thus
    /// add no variation. Progress is reported in views, in the phase `spectra`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`extend`](Self::extend).
    pub fn extend_masked<V: AsRef<[f64]> + Sync>(
        &mut self,
        views: &[V],
        mask: &[bool],
        job: &Job,
    ) -> Result<()> {
        let views: Vec<&[f64]> = views.iter().map(AsRef::as_ref).collect();
        T::extend(self, &views, mask, job)
    }

    pub(crate) fn add(&mut self, views: &[&[f64]], mask: &[bool], job: &Job) -> Result<()> {
        // Limits the number of spectra in memory besides those of the store.
        const BATCH: usize = 16;
        for batch in views.chunks(BATCH) {
            job.check()?;
            let some: Vec<Option<&[f64]>> = batch.iter().map(|view| Some(*view)).collect();
            self.add_batch(&some, mask, job)?;
            job.advance("spectra", batch.len() as u64, views.len() as u64);
        }
        Ok(())
    }

    /// Adds some views; `None` is a view that is skipped.
    pub(crate) fn add_batch(
        &mut self,
        views: &[Option<&[f64]>],
        mask: &[bool],
        job: &Job,
    ) -> Result<()> {
        let result = self.try_batch(views, mask, job);
        if result.is_err() {
            // Removes the views of a batch that failed.
            let count = self.views.len();
            self.known.retain(|_, number| *number < count);
        }
        result
    }

    fn try_batch(&mut self, views: &[Option<&[f64]>], mask: &[bool], job: &Job) -> Result<()> {
        let count = self.views.len();
        if self.energies.is_none() && !views.is_empty() {
            let energies = Energies::new(&self.plan.layout, job)?;
            let noise = energies.of_noise(&self.plan.layout, job)?;
            self.energies = Some((energies, noise));
        }
        let hashes = parallel::try_map(views.len(), |at| match views[at] {
            Some(values) => self.look(count + at, values, mask, job).map(Some),
            None => Ok(None),
        })?;
        let mut fresh = Vec::new();
        for (at, (hash, values)) in hashes.iter().zip(views).enumerate() {
            if let (Some(hash), Some(values)) = (hash, values)
                && *self.known.entry(*hash).or_insert(count + at) == count + at
            {
                fresh.push(*values);
            }
        }
        let done = parallel::try_map(fresh.len(), |at| self.prepare(fresh[at], mask, job))?;
        let mut done = done.into_iter();
        for hash in &hashes {
            let number = self.views.len();
            let Some(hash) = hash else {
                self.views.push(View::unfit(self.plan.dims().len()));
                continue;
            };
            // A view that is not known is the first of its kind.
            let first = self.known.get(hash).copied().unwrap_or(number);
            if first < number {
                let same = View {
                    same_as: Some(first),
                    ..self.views[first].clone()
                };
                self.views.push(same);
            } else if let Some((mut view, spectrum)) = done.next() {
                if let Some(spectrum) = spectrum {
                    view.slot = Some(self.store.push(spectrum, job)?);
                }
                self.views.push(view);
            }
        }
        Ok(())
    }

    /// Returns the axis lengths.
    pub fn dims(&self) -> &[usize] {
        self.plan.dims()
    }

    /// Returns the number of views added so far.
    pub fn len(&self) -> usize {
        self.views.len()
    }

    /// Returns `true` if no views have been added.
    pub fn is_empty(&self) -> bool {
        self.views.is_empty()
    }

    /// Finishes the collection. A file of spectra can only be used by this run, unless it is
    /// [saved](Self::save).
    pub fn finish(self) -> Spectra<T> {
        T::finish(self)
    }

    pub(crate) fn finished(self) -> Spectra<T> {
        let chance = self.energies.map(|(_, noise)| noise);
        Spectra::with(self.plan, self.store, self.views, self.skipped, chance)
    }

    /// Finishes the collection like [`finish`](Self::finish), and appends the table of views to
    /// their file, so that [`Spectra::open`] can open it. `names` holds one name for each view, or
    /// is empty. For spectra in memory only the names are stored.
    ///
    /// ```
    /// use perf_core::Job;
    /// # let path = std::env::temp_dir().join(format!("perf-spectral-doc-{}", std::process::id()));
    /// use perf_spectral::Spectra;
    /// let mut open = std::fs::OpenOptions::new();
    /// let file = open.read(true).write(true).create(true).truncate(true).open(&path)?;
    /// let mut builder = Spectra::<f32>::builder_in(&[2, 3], file)?;
    /// builder.extend(&[[1.0, 0.0, 2.0, 5.0, 3.0, 1.0]], &Job::default())?;
    /// builder.save(&["time / main"])?;
    ///
    /// let again = Spectra::<f32>::open(std::fs::File::open(&path)?)?;
    /// assert_eq!(again.views()[0].name, "time / main");
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Length`] for another number of names, or [`Error::Io`] if the file cannot
    /// be written.
    pub fn save<N: AsRef<str>>(self, names: &[N]) -> Result<Spectra<T>> {
        let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        T::save(self, &names)
    }

    pub(crate) fn saved(mut self, names: &[&str]) -> Result<Spectra<T>> {
        if !names.is_empty() && names.len() != self.views.len() {
            return Err(Error::Length {
                what: "names of views",
                expected: self.views.len(),
                got: names.len(),
            });
        }
        for (view, name) in self.views.iter_mut().zip(names) {
            view.name = (*name).into();
        }
        self.store.save(&self.plan, &self.views)?;
        Ok(self.finish())
    }

    /// Validates a view and returns a 128-bit hash that identifies equal views.
    fn look(&self, view: usize, values: &[f64], mask: &[bool], job: &Job) -> Result<(u64, u64)> {
        self.plan.check("values of a view", values.len())?;
        if !mask.is_empty() {
            self.plan.check("mask of a view", mask.len())?;
        }
        let mut checks = job.checks();
        for piece in checks.pieces(0..values.len()) {
            for at in piece? {
                let value = values[at];
                if !value.is_finite() {
                    return Err(Error::NotFinite { view, at, value });
                }
            }
        }
        let (mut one, mut two) = (DefaultHasher::new(), DefaultHasher::new());
        two.write_u8(1);
        for (at, value) in values.iter().enumerate() {
            checks.next(1)?;
            // An empty mask holds all cells.
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

    fn prepare(
        &self,
        values: &[f64],
        mask: &[bool],
        job: &Job,
    ) -> Result<(View, Option<Aligned<T>>)> {
        job.check()?;
        let mut checks = job.checks();
        let cells = Cells { values, mask };
        let count = cells.count();
        let largest = cells.fold(&mut checks, |most, value| most.max(value.abs()))?;
        // Normalised by the largest value, so that sums of squares cannot overflow.
        let unit = if largest > 0.0 { largest } else { 1.0 };
        let sum = cells.fold(&mut checks, |sum, value| sum + value / unit)?;
        let mean = unit * (sum / count.max(1) as f64);
        let half = |value: f64| value / 2.0 - mean / 2.0;
        let scale = 2.0 * cells.fold(&mut checks, |most, value| most.max(half(value).abs()))?;
        let part = |value: f64| half(value) / (scale / 2.0);
        let mut view = View {
            mean,
            scale,
            missing: values.len() - count,
            same_as: None,
            energies: vec![0.0; self.plan.dims().len()],
            name: String::new(),
            total: 0.0,
            varying: 0.0,
            roots: Vec::new(),
            slot: None,
        };
        // Rounding of the mean leaves a residue of about this size for a constant view.
        if scale <= 1e-14 * largest || !scale.is_finite() {
            return Ok((view, None));
        }
        view.total = cells.fold(&mut checks, |sum, value| sum + (value / scale).powi(2))?;
        view.varying = cells.fold(&mut checks, |sum, value| sum + part(value).powi(2))?;
        let new = || Space {
            scratch: self.plan.scratch(),
            values: vec![T::default(); self.plan.len()],
        };
        let mut spectrum = Aligned::zeros(self.plan.len());
        self.pool.with(new, |space| {
            for piece in checks.pieces(0..values.len()) {
                for at in piece? {
                    space.values[at] = if cells.holds(at) {
                        T::of(part(values[at]))
                    } else {
                        T::default()
                    };
                }
            }
            space.scratch.set_job(job);
            self.plan
                .forward(&space.values, spectrum.get_mut(), &mut space.scratch)
        })?;
        let layout = &self.plan.layout;
        let roots = roots(layout, spectrum.get(), job)?.into_iter();
        view.roots = roots.map(|root| (root * (1.0 + 1e-6)) as f32).collect();
        if let Some((energies, _)) = &self.energies {
            view.energies = energies.of(layout, spectrum.get(), job)?;
        }
        Ok((view, Some(spectrum)))
    }
}
