//! [`ChanceBound`]: bounds of the probability that a reference and chosen views correlate by chance,
//! by the rule of [`Relations`](crate::Relations).

use super::gram::{RowLayout, Rows, Strong, dot};
use super::outliers::PairKey;
use super::probabilities;
use crate::correlation::{Match, Peak, check_dims};
use crate::real::{Aligned, Real};
use crate::spectra::store::Store;
use crate::spectra::{Spectra, View};
use crate::{Filter, Result};
use perf_core::{Job, parallel};
use std::sync::Arc;

/// Upper bound on the numbers of the spectra that are compared at once.
const MAX_NUMBERS: usize = 1 << 22;

/// Upper bounds of the probability that two views correlate by chance as strongly as they do at a
/// shift, by the rule of [`Relation::p`](crate::Relation::p).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ChanceBound {
    /// Bound at this shift alone, in `0.0..=1.0`.
    pub at_shift: f64,
    /// Bound at any shift: [`at_shift`](Self::at_shift) times the number of cells, at most 1.
    pub at_any: f64,
    /// Bound of the reported correlation: [`at_shift`](Self::at_shift) without a shift, otherwise
    /// [`at_any`](Self::at_any), because the shift is the best of all.
    pub p: f64,
}

impl ChanceBound {
    fn of(at_shift: f64, peak: Peak, cells: usize) -> Self {
        let at_any = (at_shift * cells as f64).min(1.0);
        let p = if peak.at == 0 { at_shift } else { at_any };
        ChanceBound {
            at_shift,
            at_any,
            p,
        }
    }
}

impl<T: Real> Spectra<T> {
    /// Bounds the probability that views correlate by chance as strongly with a reference as they do
    /// at the peak of their matches, by the rule of [`relations`](Self::relations).
    ///
    /// The reference is a view of these or of other spectra of the same shape. The bound of a view
    /// without variation is 1. Takes one to eight transforms for each match.
    ///
    /// ```
    /// use perf_core::Job;
    /// use perf_spectral::{AxisFilter, Kinship, RankParams, Spectra};
    /// // The second view is the opposite of the first one, with a little noise.
    /// let noise = |x: u32| f64::from(x.wrapping_mul(2654435761) >> 16) / 65536.0;
    /// let one: Vec<f64> = (0..64).map(noise).collect();
    /// let two: Vec<f64> = (0..64).map(|x| 0.1 * noise(x + 64) - noise(x)).collect();
    /// let three: Vec<f64> = (128..192).map(noise).collect();
    /// let mut builder = Spectra::<f64>::builder(&[8, 8])?;
    /// builder.extend(&[one, two, three], &Job::default())?;
    /// let (spectra, all, job) = (builder.finish(), AxisFilter::all(2), Job::default());
    /// let list = spectra.rank(0, &all, &RankParams::default().check()?, &job)?;
    /// let bounds = spectra.chance_bounds((&spectra, 0), &list.matches, &all, &job)?;
    /// let found = spectra.relations(&all, &Kinship::unrelated(3), &Default::default(), &job)?;
    /// assert!(list.matches[0].view == 1 && (bounds[0].p - found.found[0].p).abs() < 1e-12);
    /// // The third view correlates most at a shift, which is the best of 64.
    /// assert!(list.matches[1].peak.at > 0);
    /// assert_eq!(bounds[1].p, (64.0 * bounds[1].at_shift).min(1.0));
    /// # Ok::<(), perf_spectral::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::UnknownView`](crate::Error::UnknownView) or
    /// [`Error::Skipped`](crate::Error::Skipped) for a view that does not exist or is skipped,
    /// [`Error::Length`](crate::Error::Length) for a filter with another number of axes or a
    /// reference of another shape, [`Error::Io`](crate::Error::Io) if a file of spectra cannot be
    /// read, or [`Error::Cancelled`](crate::Error::Cancelled) if the job is cancelled.
    pub fn chance_bounds(
        &self,
        reference: (&Spectra<T>, usize),
        matches: &[Match],
        filter: &(impl Filter + ?Sized),
        job: &Job,
    ) -> Result<Vec<ChanceBound>> {
        T::chance_bounds(self, reference, matches, &filter, job)
    }

    pub(crate) fn bounds_of(
        &self,
        (others, reference): (&Spectra<T>, usize),
        matches: &[Match],
        filter: &dyn Filter,
        job: &Job,
    ) -> Result<Vec<ChanceBound>> {
        check_dims(others.plan.dims(), self.plan.dims())?;
        let layout = self.row_layout(filter, job)?;
        let cells = self.plan.len();
        let mut bounds = Vec::with_capacity(matches.len());
        for some in matches.chunks((MAX_NUMBERS / cells).max(1)) {
            let views = parallel::try_map(some.len() + 1, |at| match at.checked_sub(1) {
                None => others.moved(reference, Peak::default(), job),
                Some(at) => self.moved(some[at].view, some[at].peak, job),
            })?;
            let at_shift = self.bounds_of_others(&layout, views, job)?;
            let each = some.iter().zip(at_shift);
            bounds.extend(each.map(|(found, p)| ChanceBound::of(p, found.peak, cells)));
        }
        Ok(bounds)
    }

    /// Returns the bound of the correlation of the first view with each other one.
    fn bounds_of_others(
        &self,
        layout: &RowLayout<T>,
        views: Vec<(View, Aligned<T>)>,
        job: &Job,
    ) -> Result<Vec<f64>> {
        let (views, spectra): (_, Vec<Aligned<T>>) = views.into_iter().unzip();
        let mut views: Vec<View> = views;
        for (at, view) in views.iter_mut().enumerate() {
            // Identical views share no spectrum here.
            (view.slot, view.same_as) = (view.slot.map(|_| at), None);
        }
        let mut bounds = vec![1.0; views.len().saturating_sub(1)];
        let plan = Arc::clone(&self.plan);
        let spectra = Spectra::with(plan, Store::Memory(spectra), views, Vec::new(), None);
        let rows = spectra.rows(layout, job)?;
        if rows.views.first() != Some(&0) {
            return Ok(bounds);
        }
        let pair = |other: usize| Strong {
            one: 0,
            other: other as u32,
            r: dot(rows.row(0), rows.row(other)).clamp(-1.0, 1.0),
        };
        let pairs: Vec<Strong> = (1..rows.views.len()).map(pair).collect();
        let mut tested = probabilities(&rows, &pairs, job)?;
        spectra.raise(layout, &rows, &mut tested, job)?;
        for (p, pair) in tested {
            bounds[rows.views[pair.other as usize] - 1] = p;
        }
        Ok(bounds)
    }

    /// Returns a view whose cells are those that lie a shift further along the axes, with its spectrum.
    fn moved(&self, view: usize, shift: Peak, job: &Job) -> Result<(View, Aligned<T>)> {
        let about = self.taken(view)?;
        let mut moved = Aligned::zeros(self.plan.len());
        if let (Some(slot), 0) = (about.slot, shift.at) {
            self.at(slot, job, |_, spectrum| {
                moved.get_mut().copy_from_slice(spectrum)
            })?;
        } else {
            self.with_values(view, job, |scratch, values| {
                let mut inner = 1;
                for (len, by) in self.plan.dims().iter().zip(self.plan.shift(shift)).rev() {
                    for part in values.chunks_exact_mut(len * inner) {
                        part.rotate_left(by * inner);
                    }
                    inner *= len;
                }
                self.plan.forward(values, moved.get_mut(), scratch)
            })?;
        }
        Ok((about.clone(), moved))
    }

    /// Raises the p-values of pairs under random phases to the bounds of views that these do not
    /// describe: of outliers and of long tails. Returns the pairs that outliers raise, each with the
    /// cell that deviates most.
    pub(super) fn raise(
        &self,
        layout: &RowLayout<T>,
        rows: &Rows,
        pairs: &mut [(f64, Strong)],
        job: &Job,
    ) -> Result<Vec<(PairKey, usize)>> {
        let outliers = self.raise_to_outliers(layout, rows, pairs, job)?;
        self.raise_to_ranks(layout, rows, pairs, job)?;
        Ok(outliers)
    }
}
